/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Management of the InfiniBand ports of this program: lent to programs of libibumad by a thread that serves a socket. */
#ifndef TRIPLANE_PORT_IB_H
#define TRIPLANE_PORT_IB_H

#include <tp_ipoib.h>
#include <tp_mad_service.h>
#include <tp_umad.h>

#include "apps/triplane/app/app.h"

/* Names of the InfiniBand ports, max at most. Returns how many there are. */
unsigned int ib_devices(char (*names)[64], unsigned int max);
/* Lends all of them at a socket, while they are not lent. 0 or a negative errno, which was said. */
int ib_lend(const char *path);
/*
 * What IPoIB ports are made with, as words NAME VALUE: the arguments of net_ipoib, and "mode connected". 0, or -EINVAL, which was
 * said.
 */
int ib_conf_words(const char *words, struct tp_ipoib_conf *conf);
/* What serves programs; NULL: nothing is lent. */
struct tp_umad *ib_lent(void);
/* A lent port's management, else NULL. */
struct tp_mad_service *ib_service(const char *device);
/* Takes back what is lent. */
void ib_stop(void);

#endif /* TRIPLANE_PORT_IB_H */
