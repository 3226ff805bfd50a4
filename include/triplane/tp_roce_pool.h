/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Queue pairs that are made ahead of their connections.
 *
 * A pool keeps queue pairs, each with a completion queue of its own where none is named, in the INIT state. Whoever needs one
 * takes it and waits for nothing. When fewer than the threshold are left, a thread of the pool makes new ones, while
 * the port's thread goes on. A queue pair that comes back is destroyed by that thread, too: its number rests
 * until peers have forgotten it (IBTA 1.4, 12.9.8.4), so that it is not used again.
 */
#ifndef TP_ROCE_POOL_H
#define TP_ROCE_POOL_H

#include <rdma/rdma_cma.h>

#include "tp_roce.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TP_ROCE_POOL_MAX 4096u

struct tp_roce_qp_pool;

struct tp_roce_qp_pool_conf {
	struct ibv_pd *pd;
	/** IBV_QPT_RC or _UC. send_cq and recv_cq NULL: one CQ for both directions is made with each queue pair. */
	struct ibv_qp_init_attr init;
	unsigned int size;      /**< how many are kept ready, 1..TP_ROCE_POOL_MAX */
	unsigned int threshold; /**< with fewer than that the pool is filled up, 1..size; 0: half of size */
};

struct tp_roce_qp_pool_stats {
	unsigned int ready, out; /**< now: to be taken, taken */
	uint64_t taken, returned;
	uint64_t misses;  /**< taken when none was ready: made there and then */
	uint64_t refills; /**< times that the thread filled the pool up */
	uint64_t made, destroyed, failures;
};

/**
 * Makes a pool and fills it.
 * @return NULL and errno: EINVAL a value out of its range, or what tp_roce_create_cq() and tp_roce_create_qp() say of the
 *   first queue pair that cannot be made.
 */
struct tp_roce_qp_pool *tp_roce_qp_pool_create(const struct tp_roce_qp_pool_conf *conf);
/** @return 0, EBUSY: queue pairs of it are taken. */
int tp_roce_qp_pool_destroy(struct tp_roce_qp_pool *pool);

/**
 * A queue pair in INIT, with the right of remote writes only. Any thread. Its CQ is qp->send_cq.
 * @return NULL and errno as tp_roce_create_qp(), when none is ready and none can be made.
 */
struct ibv_qp *tp_roce_qp_pool_get(struct tp_roce_qp_pool *pool);
/** Gives one back, in any state. Any thread; what is still in its CQ is lost. */
void tp_roce_qp_pool_put(struct tp_roce_qp_pool *pool, struct ibv_qp *qp);
void tp_roce_qp_pool_stats(struct tp_roce_qp_pool *pool, struct tp_roce_qp_pool_stats *stats);

/**
 * As tp_rdma_create_qp(), with a queue pair of the pool, to which tp_rdma_destroy_qp() gives it back.
 * @return 0; -1: EINVAL the pool is of another port, or of datagrams; as tp_roce_qp_pool_get().
 */
int tp_rdma_create_qp_pooled(struct rdma_cm_id *id, struct tp_roce_qp_pool *pool);

#ifdef __cplusplus
}
#endif

#endif /* TP_ROCE_POOL_H */
