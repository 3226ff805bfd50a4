/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Parts of opening a port. */
#ifndef ROCE_DEVICE_DEVICE_H
#define ROCE_DEVICE_DEVICE_H

#include "lib/roce/port/front.h"

/*
 * The tables of a context that inline functions of <infiniband/verbs.h> call through. Before the provider's open, which
 * adds the operations of the datapath.
 */
void troce_context_init(struct troce_dev *dev);

/* Checks what the application asks for and fills in defaults; conf's strings are copies. 0 or a positive errno. */
int troce_conf_init(struct troce_dev *dev, const struct tp_roce_conf *asked);
void troce_conf_free(struct troce_dev *dev);

#endif /* ROCE_DEVICE_DEVICE_H */
