/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Management of the InfiniBand ports of this program: lent to programs of libibumad by a thread that serves a socket. */
#ifndef TRI_IB_H
#define TRI_IB_H

#include "app.h"

/* Names of the InfiniBand ports, max at most. Returns how many there are. */
unsigned int ib_devices(char (*names)[64], unsigned int max);
/* Before the program ends: what is lent, and subnet managers. */
void ib_stop(void);
void sm_stop(void);

#endif /* TRI_IB_H */
