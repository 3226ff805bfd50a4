/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * DCBX agents of ports. An agent lives while its port is started and the user wants it. While forwarding runs, the lcore
 * that owns the port's transmit queue 0 polls it, as a stream of its own; while it does not, an alarm polls agent and port.
 */
#ifndef TRIPLANE_PORT_DCBX_H
#define TRIPLANE_PORT_DCBX_H

#include <tp_qos.h>

#include "apps/triplane/app/app.h"
#include "stream.h"

extern const struct fwd_mode dcbx_mode;

/* After a port was started: an agent, if one is wanted. Before it stops: the agent takes its leave. */
int dcbx_port_up(struct app_port *p);
void dcbx_port_down(struct app_port *p);

/* What the user wants; an agent begins while forwarding is stopped. Says why not. */
int dcbx_port_want(struct app *app, struct app_port *p, bool on, bool willing);

/* An agent's stream. */
void dcbx_stream_init(struct fwd_stream *s, const struct app_port *p);

/* What the user declared for a port: with an agent, what a peer taught it is in force beside that. */
int dcbx_qos_get(const struct app_port *p, struct tp_qos_port *q);
int dcbx_qos_set(const struct app_port *p, const struct tp_qos_port *q, char err[TP_ERR_LEN]);

/* Off before lcores poll ports, on again after: agents of ports that nobody polls are woken by time. */
void dcbx_ticks(struct app *app, bool on);

#endif /* TRIPLANE_PORT_DCBX_H */
