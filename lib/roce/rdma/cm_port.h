/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Management of an open port: its QP1 (mad.c) and its connections (cm.c), for the rest of the library. What comes in for
 * QP1 enters by tp_roce_mad_input() of provider.h.
 */
#ifndef TP_ROCE_CM_H
#define TP_ROCE_CM_H

#include "provider.h"

/* With the port, when GIDs and provider are there: dev->cm. 0 or a positive errno. */
int tp_roce_cm_init(struct tp_roce_dev *dev);
/* Before the provider's close. What is bound to the port is told that it is gone. */
void tp_roce_cm_fini(struct tp_roce_dev *dev);
/* Before a close asks for objects that are left: those that nobody but connection management knows of go. */
void tp_roce_cm_tidy(struct tp_roce_dev *dev);
/* Timers, datagrams that found no room. The port's thread. Costs two loads when nothing is due. Returns how much was done. */
unsigned int tp_roce_cm_progress(struct tp_roce_dev *dev, uint64_t now_ns);
/*
 * Something happened to the port (obj of tp_roce_async_event is NULL): addresses, state, the device. Only notes it for
 * tp_roce_cm_progress(): any thread, any locks; also before tp_roce_cm_init() and after tp_roce_cm_fini().
 */
void tp_roce_cm_port_event(struct tp_roce_dev *dev, enum ibv_event_type type);
/* Counters of management and connections (R-11: "RDMA activity"). */
void tp_roce_cm_stats(struct tp_roce_dev *dev, tp_roce_stat_fn fn, void *arg);

#endif /* TP_ROCE_CM_H */
