/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * libibverbs' functions for a program that knows nothing of DPDK: objects are made by the process that has the port, which is
 * asked over a socket (lib/share/proto.h); their rings lie in memory of both, and the card's own datapath runs on them here.
 */
#ifndef PRELOAD_VERBS_CLIENT_H
#define PRELOAD_VERBS_CLIENT_H

#include <errno.h>
#include <stdlib.h>

#include <rte_spinlock.h>

#include "drivers/mlx4/verbs/verbs.h"

#include "preload/sock/owner.h"

/* Functions that verbs.h hides behind macros. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port
#undef ibv_get_device_list

#define VC_FDS 2u /* of an answer, at most three: two and that of memory */
#define VC_EXPORT __attribute__((visibility("default")))

/* Programs compare fields that only libibverbs and its drivers know, behind the public ones: they find zeros. */
#define VC_PRIVATE 1024u
struct vc_device {
	struct ibv_device v;
	uint8_t hidden[VC_PRIVATE];
	__be64 guid;
	int index;
	char owner_name[IBV_SYSFS_NAME_MAX]; /* what the owner calls it */
	unsigned int refs;                   /* lists and open devices */
	LIST_ENTRY(vc_device) next;
};

/* Memory of queues that the owner gave. */
struct vc_chunk {
	uint8_t *va;
	size_t len;
};

struct vc_context {
	uint8_t hidden[VC_PRIVATE]; /* in front: struct verbs_context grows upwards */
	struct verbs_context vctx;
	struct vc_device *device;
	int fd;
	pthread_mutex_t lock; /* of the socket and of what follows */
	struct vc_chunk *chunk;
	uint32_t num_chunks;
	int vector_fd; /* of a vector of its own, -1: it has none */
	uint8_t *uars;
	size_t uars_len;
	void **obj; /* by number: who may have events */
	uint32_t num_obj;
	bool infiniband;
	struct ibv_device_attr attr;
	rte_spinlock_t srq_lock; /* of the lists of free entries */
	/* What the datapath looks at: a home of its own, which has a card while the owner lives. */
	struct mlx4_roce home;
	struct mlx4_hca hca;
	pthread_t watch;
	int stop;
	LIST_HEAD(, vc_channel) channels;
	LIST_ENTRY(vc_context) next; /* of all that are open */
};

struct vc_channel {
	struct ibv_comp_channel v;
	uint32_t handle;
	LIST_ENTRY(vc_channel) next;
};
struct vc_cq {
	struct mlx4_roce_cq c;
	rte_spinlock_t lock;
	pthread_t inside;       /* has it from start_poll to end_poll; 0: nobody */
	struct ibv_wc wc;       /* what start_poll or next_poll found */
	uint32_t empty;         /* polls in a row that found nothing, */
	uint32_t empty_at;      /* and where */
	unsigned int delivered; /* events that the program fetched */
	/* Of one that a vector of its own tells of: armed, and where its next completion was to come. */
	bool armed;
	uint32_t armed_at;
};
struct vc_qp {
	struct mlx4_roce_qp q;
	rte_spinlock_t send, recv;
	/* From wr_start to wr_complete, with the lock of send; see wr.c. */
	struct ibv_send_wr wr; /* the last request */
	uint32_t head;         /* requests in the ring, those that are not the card's among them */
	unsigned int wanted;   /* what the last one still lacks */
	int err;
	bool extended; /* it is a struct ibv_qp_ex */
	uint16_t mtu;  /* of raw packets */
};
struct vc_mr {
	struct mlx4_roce_mr m; /* no list: not for fast registration */
};

static inline struct vc_context *
vc_of(struct ibv_context *ctx)
{
	return (struct vc_context *)((char *)ctx - offsetof(struct vc_context, vctx.context));
}

/* --- sock.c --- */
/* What is asked for becomes its answer. 0 or a positive errno; EIO: the owner is gone. fds: of the answer, -1 for none. */
int vc_call(struct vc_context *c, struct share_msg *m, const int *send, unsigned int num_send, int *fds,
	    unsigned int num_fds);
/* The same without descriptors. */
int vc_ask(struct vc_context *c, enum share_op op, uint32_t handle, struct share_msg *m);
/* Where an answer's memory is here; fd: came with it, is taken. NULL and errno. */
void *vc_mem(struct vc_context *c, const struct share_mem *mem, int fd);

/* --- table.c --- */
/* An object that events name. 0, ENOMEM. */
int vc_obj_put(struct vc_context *c, uint32_t handle, void *obj);
void vc_obj_del(struct vc_context *c, uint32_t handle);
void *vc_obj_get(struct vc_context *c, uint32_t handle);

/* --- event.c --- */
int vc_watch_start(struct vc_context *c);
void vc_watch_stop(struct vc_context *c);

/* --- pages.c, mem.c --- */
/* Pages of [addr, addr + len) as pieces of files that the owner can map; fds[i] of piece[i], to be closed. 0 or errno. */
int vc_pages_share(const void *addr, size_t len, struct share_piece *piece, int *fds, uint32_t *num);

struct ibv_mw *vc_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vc_dealloc_mw(struct ibv_mw *mw);
int vc_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* --- queue.c --- */
int vc_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_cq_ex *vc_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr);

/*
 * A vector of this context's own: the card makes fd readable without anybody in between. A queue that is made for it is armed as
 * others are; when fd was readable, and was read, vc_cq_told() of each such queue comes before it is armed again. 0 or a positive
 * errno: EOPNOTSUPP, ENOSPC among them, and then there are channels.
 */
int vc_own_vector(struct ibv_context *ctx, int *fd);
struct ibv_cq *vc_create_cq_own(struct ibv_context *ctx, int cqe);
void vc_cq_told(struct ibv_cq *cq);

/* --- qp.c --- */
/* As ibv_create_qp(). max_tso_header: of large sends (IBV_WR_TSO), octets; 0: there are none. */
struct ibv_qp *vc_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, uint16_t max_tso_header);
struct ibv_flow *vc_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int vc_destroy_flow(struct ibv_flow *flow);
/* As SHARE_RESOLVE has it: 0, EINPROGRESS, EHOSTUNREACH, ENETUNREACH, or what is wrong with the question. */
int vc_resolve(struct ibv_context *ctx, uint32_t sgid_index, const union ibv_gid *dgid, uint8_t mac[ETHERNET_LL_SIZE]);

/* --- wr.c --- */
struct ibv_qp *vc_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr);

/* --- datapath.c --- */
/* Polls that find nothing are not for waiting: none of this process gives the CPU away. */
void vc_never_nap(void);
/* Whoever has it may wait for a CPU. */
void vc_lock_slow(rte_spinlock_t *l);
static __rte_always_inline void
vc_lock(rte_spinlock_t *l)
{
	if (unlikely(rte_spinlock_trylock(l) == 0))
		vc_lock_slow(l);
}
/* Without the exchange that DPDK's has: a store is enough here [SDM 8.2.2]. */
static __rte_always_inline void
vc_unlock(rte_spinlock_t *l)
{
	__atomic_store_n(&l->locked, 0, __ATOMIC_RELEASE);
}
int vc_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int vc_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int vc_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* Around the list of free entries. */
void vc_srq_enter(struct mlx4_roce_srq *s);
void vc_srq_leave(struct mlx4_roce_srq *s);
int vc_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int vc_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/* A thread may call this between start_poll and end_poll, where it has the queue's lock. False: it has. */
bool vc_cq_enter(struct vc_cq *q);
void vc_cq_leave(struct vc_cq *q, bool entered);
/* Forgets completions of a queue pair that is in RST. */
void vc_cq_clean(struct ibv_cq *cq, const struct mlx4_roce_qp *qp);

/* What polls it one by one; flags: of enum ibv_create_cq_wc_flags, single: one thread at a time. */
void vc_cq_ex_init(struct vc_cq *q, uint64_t flags, bool single);

/* err: a positive errno; an object as libibverbs gives it. */
static inline void *
vc_made(void *obj, int err)
{
	if (err == 0)
		return obj;
	free(obj);
	errno = err;
	return NULL;
}

#endif /* PRELOAD_VERBS_CLIENT_H */
