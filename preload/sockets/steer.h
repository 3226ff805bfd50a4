/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which frames come to a queue pair. */
#ifndef PRELOAD_SOCKETS_STEER_H
#define PRELOAD_SOCKETS_STEER_H

#include <infiniband/verbs.h>

#include "home.h"

struct steer;

/* NULL: no memory. addr stays. */
struct steer *steer_new(struct ibv_qp *qp, const struct rte_ether_addr *mac, const struct home_addr *addr,
			unsigned int num_addrs);
/* With its queue pair all its rules are gone. */
void steer_free(struct steer *s);
/* Those to a port of each address, udp or else TCP, come or come no more. 0 or a negative errno. */
int steer_port(struct steer *s, bool udp, rte_be16_t port, bool on);
/* Those of one connection of TCP, in front of the rules of ports. */
int steer_conn(struct steer *s, const struct tcp_addr *local, const struct tcp_addr *remote, bool on);
/* Those to a group, its fragments among them. */
int steer_group(struct steer *s, rte_be32_t group, bool on);

#endif /* PRELOAD_SOCKETS_STEER_H */
