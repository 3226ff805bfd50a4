/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What both RoCE examples need before anything interesting happens: a started ethdev, open for RoCE, with an address. */
#ifndef EXAMPLE_PORT_H
#define EXAMPLE_PORT_H

#include <netinet/in.h>

#include "tp_rdma.h"

/* Opens the first ethdev and gives it "192.0.2.1/24". @return NULL: it said why. */
struct ibv_context *port_open(const char *address);
void port_close(struct ibv_context *ctx);

/* An IPv4 address and a port number for the calls of tp_rdma.h. @return -1: ip is none. */
int port_sockaddr(const char *ip, uint16_t number, struct sockaddr_in *addr);

#endif /* EXAMPLE_PORT_H */
