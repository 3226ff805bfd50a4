/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Shared by the files that implement the control calls of tp_roce.h. */
#ifndef TP_ROCE_FRONT_H
#define TP_ROCE_FRONT_H

#include "net.h"
#include "provider.h"

/* --- registry.c ------------------------------------------------------------------------------------------------- */

/* The provider that serves a port best, or the one of that name; NULL: none does. */
const struct tp_roce_provider *tp_roce_provider_find(uint16_t port_id, const char *name);
/* The device that stands for an ethdev, with its name; the same at each call. */
struct ibv_device *tp_roce_device_of(uint16_t port_id);
struct ibv_device *tp_roce_device_of_ib(const struct tp_roce_ib_port *port);
/* With the list of open ports locked; NULL: there is none of that name. */
const struct tp_roce_ib_port *tp_roce_ib_find(const char *name);
/* The list of open ports; it is locked between begin and end. */
struct tp_roce_dev *tp_roce_open_find(uint16_t port_id);
struct tp_roce_dev *tp_roce_open_find_ib(const struct tp_roce_ib_port *port);
void tp_roce_open_begin(void);
void tp_roce_open_end(void);
/* Calls fn for each open port; for none while ports are opened or closed. */
void tp_roce_open_each(void (*fn)(struct tp_roce_dev *dev, void *arg), void *arg);
void tp_roce_open_add(struct tp_roce_dev *dev);
void tp_roce_open_remove(struct tp_roce_dev *dev);

/* --- telemetry.c ------------------------------------------------------------------------------------------------ */

void tp_roce_telemetry_init(void);

/* --- query.c ---------------------------------------------------------------------------------------------------- */

/*
 * The tables of a context that inline functions of <infiniband/verbs.h> call through. Before the provider's open, which
 * adds the operations of the datapath.
 */
void tp_roce_context_init(struct tp_roce_dev *dev);

/* --- conf.c ----------------------------------------------------------------------------------------------------- */

/* Checks what the application asks for and fills in defaults; conf's strings are copies. 0 or a positive errno. */
int tp_roce_conf_init(struct tp_roce_dev *dev, const struct tp_roce_conf *asked);
void tp_roce_conf_free(struct tp_roce_dev *dev);

/* --- progress.c ------------------------------------------------------------------------------------------------- */

/*
 * The path of an address vector, waiting for the neighbour (see tp_roce_modify_qp). Without the port's lock.
 * 0, EINVAL, EHOSTUNREACH, EAGAIN: the calling thread is the one that would have to receive the answer.
 */
int tp_roce_path_wait(struct tp_roce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport, struct tp_roce_path *path);

/* Nobody else drives the port: no thread, or the caller's own. */
bool tp_roce_needs_work(const struct tp_roce_dev *dev);
/*
 * Lets the port work for a moment. 0, or EAGAIN: it is the caller who would have to show it the packets, or who was
 * called by it.
 */
int tp_roce_let_work(struct tp_roce_dev *dev);

/* --- ib.c, mad_port.c: ports of InfiniBand ---------------------------------------------------------------------- */

/* What an address vector with LIDs says. 0, EINVAL with a line that names the attribute. */
int tp_roce_ib_path(struct tp_roce_dev *dev, const struct ibv_ah_attr *av, struct tp_roce_path *path);
/* As tp_roce_init_ah_from_wc(). */
int tp_roce_ib_av_from_wc(struct tp_roce_dev *dev, uint8_t port, const struct ibv_wc *wc, const struct ibv_grh *grh,
			  struct ibv_ah_attr *attr);
int tp_roce_smi_init(struct tp_roce_dev *dev);
void tp_roce_smi_fini(struct tp_roce_dev *dev);
void tp_roce_smi_stats(struct tp_roce_dev *dev, tp_roce_stat_fn fn, void *arg);

/* --- qp.c ------------------------------------------------------------------------------------------------------- */

/* What a queue pair has besides its attributes: qpn of a ring, the others have none. */
struct tp_roce_qp_more {
	uint16_t max_tso_header;
	enum tp_roce_qp_role role;
	uint32_t qpn;
};
struct ibv_qp *tp_roce_qp_make(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, const struct tp_roce_qp_more *more);

/* --- objects ---------------------------------------------------------------------------------------------------- */

/* Zeroed memory for an object of size octets, at least least; on the port's NUMA node. */
void *tp_roce_obj_alloc(struct tp_roce_dev *dev, size_t size, size_t least);
void tp_roce_obj_free(void *obj);
/* The end of making an object: itself, or (err is not 0) NULL and errno; it is freed then. */
void *tp_roce_made(void *obj, int err);
/* The end of destroying one: err, and it is freed when that is 0. */
int tp_roce_gone(void *obj, int err);
/* Waits until all events that were fetched are acknowledged, and destroys the two. */
void tp_roce_settle(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		    const unsigned int *delivered);

/* One more object of a kind, of max; ENOMEM and a line: there are as many as there may be. */
int tp_roce_room(struct tp_roce_dev *dev, const char *what, unsigned int have, int max);

/* A refusal: a line that begins with the port, and errno's value. */
#define TP_ROCE_REFUSE(dev, err, fmt, ...)                                                                             \
	({                                                                                                             \
		TP_ROCE_LOG(ERR, "%s: " fmt, (dev)->where, ##__VA_ARGS__);                                             \
		(err);                                                                                                 \
	})

static inline void
tp_roce_lock(struct tp_roce_dev *dev)
{
	pthread_mutex_lock(&dev->lock);
}
static inline void
tp_roce_unlock(struct tp_roce_dev *dev)
{
	pthread_mutex_unlock(&dev->lock);
}

/* --- bell.c ----------------------------------------------------------------------------------------------------- */

int tp_roce_bell_open(struct tp_roce_bell *bell);
void tp_roce_bell_close(struct tp_roce_bell *bell);
void tp_roce_bell_ring(struct tp_roce_bell *bell);
/* Takes the ring back, if no thread did: the queue is empty. */
void tp_roce_bell_hush(struct tp_roce_bell *bell);
/* After tp_roce_bell_wait, when an event was taken out of the queue. */
void tp_roce_bell_taken(struct tp_roce_bell *bell, bool empty);
/* Waits for a ring and takes it, unless the descriptor does not block. 0, or -1 and errno. */
int tp_roce_bell_wait(struct tp_roce_bell *bell);

/* --- event.c, channel.c ----------------------------------------------------------------------------------------- */

int tp_roce_async_init(struct tp_roce_dev *dev);
void tp_roce_async_fini(struct tp_roce_dev *dev);
/* Forgets events of an object that nobody fetched. After this, its count of fetched ones stands. */
void tp_roce_async_discard(struct tp_roce_dev *dev, const void *obj);
uint64_t tp_roce_async_lost(struct tp_roce_dev *dev);
void tp_roce_channel_discard(struct tp_roce_cq *cq);

#endif /* TP_ROCE_FRONT_H */
