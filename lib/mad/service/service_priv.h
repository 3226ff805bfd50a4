/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The service of an open port: service.c (what it is), thread.c (who runs it). */
#ifndef MAD_SERVICE_SERVICE_PRIV_H
#define MAD_SERVICE_SERVICE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/mad/agent/mad_fmt.h"
#include "tp_mad_service.h"

struct mad_listener {
	tp_mad_event_cb cb;
	void *arg;
};

#define MAD_SERVICE_INPUT 512u

/* What has come in and waits for the service's work: who brings it holds locks of the card, which senders take too. */
struct mad_service_input {
	pthread_mutex_t lock;
	struct tp_mad_packet pkt[MAD_SERVICE_INPUT];
	unsigned int head, num;
	uint64_t dropped;
};

struct tp_mad_service {
	TAILQ_ENTRY(tp_mad_service) next;
	struct ibv_context *ctx;
	struct tp_mad *mad;
	struct tp_sa *sa;
	unsigned int refs, managers;
	struct mad_service_input in;
	uint64_t fresh_until; /* of port_info */
	uint8_t node_info[SMP_DATA_LEN], port_info[SMP_DATA_LEN];
	pthread_t tid;
	atomic_bool stop;
	struct mad_listener listener[TP_MAD_LISTENERS];
	unsigned int num_listeners;
};

/* All services of the process; the lock is held for the calls below it. */
void mad_services_lock(void);
void mad_services_unlock(void);
struct tp_mad_service *mad_service_find(const char *device);
int mad_service_new(struct ibv_context *ctx, struct tp_mad_service **service);
void mad_service_free(struct tp_mad_service *s);

/* What has come in, times and retries of the service. Returns how much was done. */
unsigned int mad_service_progress(struct tp_mad_service *s);

#endif /* MAD_SERVICE_SERVICE_PRIV_H */
