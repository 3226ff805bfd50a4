/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Management of an open port: its QP1 and its connections, for the rest of the library. What comes in for
 * QP1 enters by troce_mad_input() of provider.h.
 */
#ifndef ROCE_RDMA_CM_PORT_H
#define ROCE_RDMA_CM_PORT_H

#include "lib/roce/port/provider.h"

/*
 * Connections of a port, and counters of them (R-11: "RDMA activity"). fini tells what is bound to the port that it is gone;
 * progress runs timers and sends datagrams that found no room.
 */
extern const struct troce_side_ops troce_cm_side;
/* Before a close asks for objects that are left: those that nobody but connection management knows of go. */
void troce_cm_tidy(struct troce_dev *dev);

#endif /* ROCE_RDMA_CM_PORT_H */
