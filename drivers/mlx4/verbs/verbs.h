/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card as a home of RoCE queue pairs: the provider "mlx4" of lib/roce. Each object begins with the library's; hot
 * fields follow, and what only control calls touch comes last.
 *
 * Objects outlive the card: when the port is closed or the card is reset under them, they are taken back from it
 * (mlx4_roce_detach). Then requests are refused, what was posted is flushed by poll_cq, and destroying them gives back
 * memory alone.
 */
#ifndef MLX4_VERBS_VERBS_H
#define MLX4_VERBS_VERBS_H

#include "lib/roce/port/provider.h"

#include "drivers/mlx4/port/port.h"

#define MLX4_ROCE_SMALL_MIN 60u       /* see wqe.h */
#define MLX4_ROCE_SMALL_WRITE_MIN 44u /* with an address before the data */
#define MLX4_ROCE_SMALL_LG 7u         /* of their WQEs */
#define MLX4_ROCE_SPARE(lg_stride) ((MLX4_SQ_PREFETCH_BYTES >> (lg_stride)) + 1u)
#define MLX4_ROCE_SMALL_MAX 104u        /* two blocks */
#define MLX4_ROCE_FRAME_HEADER_MAX 192u /* of large frames: two stacks of headers, and options */
#define MLX4_ROCE_LG_SEND_MAX 10u       /* a send WQE has 1008 bytes at most */

struct mlx4_roce;
struct mlx4_roce_srq;
struct mlx4_mad_end;      /* mad.h */
struct mlx4_roce_capture; /* capture.c */

/* How a work completion begins when all went well. */
struct mlx4_roce_done {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
};
static_assert(offsetof(struct ibv_wc, wr_id) == offsetof(struct mlx4_roce_done, wr_id) &&
		      offsetof(struct ibv_wc, status) == offsetof(struct mlx4_roce_done, status) &&
		      offsetof(struct ibv_wc, opcode) == offsetof(struct mlx4_roce_done, opcode),
	      "it is copied as it is");

/* A WQE of a send queue: what posting it and its completion need, found once. */
struct mlx4_roce_slot {
	uint8_t *wqe;
	struct mlx4_roce_done done;
	rte_be32_t owner; /* owner bit of the last pass */
	uint32_t op;      /* of a WQE that waits for its owner bit; and a place is a shift */
};

struct mlx4_roce_fast; /* fast/send.c */

struct mlx4_roce_qp {
	struct troce_qp q;
	/* send */
	/* By its type and the length of its WQEs; what it looks opcodes up in. */
	int (*post)(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	const struct mlx4_roce_fast *fast;
	/* The first sq_spare ones are there again at the end, with their WQEs. */
	struct mlx4_roce_slot *slots;
	volatile rte_be32_t *db;
	rte_be32_t db_val;
	uint32_t sq_head; /* running: posted */
	uint16_t sq_tail; /* completed, as the card counts: modulo 65536 */
	uint16_t sq_room; /* WQEs that may wait; 0: none may be posted now */
	uint32_t sq_mask; /* WQEs of the ring - 1 */
	uint8_t lg_sq_stride;
	uint8_t services;          /* bit of its type in the table of opcodes */
	uint16_t sq_sges;          /* that a request may have */
	uint16_t sq_spare;         /* WQEs that stay free: so far the card looks ahead [DP 4.3] */
	uint32_t max_inline;       /* bytes */
	uint32_t small_span;       /* lengths from MLX4_ROCE_SMALL_MIN on that the short way takes */
	uint32_t small_write_span; /* the same of WRITEs */
	uint16_t lso_hdr;          /* bytes of headers that a large send may have, 0: there is none */
	rte_be32_t csum;      /* bits of the control segment for IBV_SEND_IP_CSUM: of datagrams with IP on InfiniBand */
	rte_be32_t flags[4];  /* of the control segment, by IBV_SEND_SIGNALED and _SOLICITED */
	volatile uint8_t *bf; /* BlueFlame register, NULL: not used */
	uint32_t bf_off, bf_half;
	uint32_t qpn;
	/* receive */
	uint8_t *rq;
	uint64_t *rq_wrid;
	volatile rte_be32_t *rq_dbrec;
	uint32_t rq_head, rq_tail, rq_room, rq_mask;
	uint16_t rq_sges;
	uint8_t lg_rq_stride;
	bool ud, ib;
	bool raw;        /* whole Ethernet frames */
	bool more_recv;  /* ud or raw: a received message has more to tell than its length */
	bool plain_recv; /* a connection with a receive queue of its own */
	struct mlx4_roce_srq *srq;
	/* control */
	struct mlx4_roce *home;
	struct mlx4_qp hw;
	uint8_t *sq;
	uint32_t uar, sq_cap, rq_cap; /* sq_cap, rq_cap: of sq_room and rq_room while posting is allowed */
	bool live;                    /* the card has it */
	/*
	 * An event with a seq below created_seq is of an earlier queue pair that had this number, one below reset_seq is of the time
	 * before the last reset. The lock is that of the home's tables.
	 */
	uint64_t created_seq, reset_seq;
	bool own_uar;
	LIST_ENTRY(mlx4_roce_qp) next;
	LIST_HEAD(, mlx4_roce_group) groups;
	const uint16_t *mtu; /* raw: the port's, as it is now */
	LIST_HEAD(, mlx4_roce_flow) flows;
};

/* A steering rule of a raw packet queue pair. */
struct mlx4_roce_flow {
	struct troce_flow f;
	uint64_t rule; /* MLX4_NO_RULE: the card has it no more */
	LIST_ENTRY(mlx4_roce_flow) next;
};

/* A multicast group that a queue pair is attached to. */
struct mlx4_roce_group {
	LIST_ENTRY(mlx4_roce_group) next;
	union ibv_gid gid;
	uint64_t rule;
};

struct mlx4_roce_cq {
	struct troce_cq c;
	struct mlx4_cqe *cqes;
	struct mlx4_roce_qp *const *qp_of; /* the home's */
	volatile rte_be32_t *dbrec;
	uint32_t ci, mask; /* ci: running */
	uint8_t phase;     /* owner bit of the entry at ci when it is ours */
	bool dead;         /* the card will complete nothing any more */
	/* arming */
	uint32_t cqn;
	_Atomic uint32_t arm_sn;
	volatile uint64_t *arm_db;
	/* control */
	struct mlx4_roce *home;
	struct mlx4_cq hw;
	uint32_t uar;
	bool live;
	LIST_ENTRY(mlx4_roce_cq) next;
};

struct mlx4_roce_srq {
	struct troce_srq s;
	uint8_t *wqes;
	uint64_t *wrid;
	volatile rte_be32_t *dbrec;
	uint32_t head, tail; /* entries: the next to post, the last of the free ones */
	uint32_t counter;    /* running, posted */
	uint32_t mask;
	uint16_t sges;
	uint8_t lg_stride;
	bool refuse; /* nothing may be posted */
	/* Around what is done to the list of free entries by who polls; NULL: nobody posts meanwhile. */
	void (*enter)(struct mlx4_roce_srq *s), (*leave)(struct mlx4_roce_srq *s);
	/* control */
	struct mlx4_roce *home;
	struct mlx4_srq hw;
	bool live;
	LIST_ENTRY(mlx4_roce_srq) next;
};

struct mlx4_roce_ah {
	struct troce_ah a;
	uint8_t dgram[MLX4_DGRAM_SIZE]; /* all but the queue pair's number and key */
};

struct mlx4_roce_pd {
	struct troce_pd p;
	uint32_t pd;
	bool live;
	LIST_ENTRY(mlx4_roce_pd) next;
};

/* A region or a window. */
struct mlx4_roce_key {
	struct mlx4_mkey hw;
	struct mlx4_roce *home;
	bool live;
	LIST_ENTRY(mlx4_roce_key) next;
};
struct mlx4_roce_mr {
	struct troce_mr m;
	struct mlx4_roce_key key;
	/* For fast registration, or NULL: what the last request told, for the card to fetch. */
	rte_be64_t *list;
	rte_iova_t list_iova;
	uint32_t lg_page;
};
struct mlx4_roce_mw {
	struct troce_mw m;
	struct mlx4_roce_key key;
};

extern const struct troce_provider mlx4_roce_provider; /* provider.c */

/* An open port: dev->home. */
struct mlx4_roce {
	struct troce_dev *dev;
	struct mlx4_hca *hca; /* NULL: detached */
	_Atomic(struct mlx4_bus *)
		polled_bus; /* of a card that is run by who polls it, until it is detached; NULL: of another */
	atomic_uint inside; /* threads that use it just now */
	unsigned int port;
	bool bf; /* BlueFlame is used */
	/* Tables by number; events look into them, so that an entry goes under the lock. */
	pthread_mutex_t tables;
	struct mlx4_roce_qp **qp_of;
	struct mlx4_roce_cq **cq_of;
	struct mlx4_roce_srq **srq_of;
	uint32_t num_qps, num_cqs, num_srqs; /* sizes, powers of two */
	struct mlx4_limits limits;
	LIST_HEAD(, mlx4_roce_qp) qps;
	LIST_HEAD(, mlx4_roce_cq) cqs;
	LIST_HEAD(, mlx4_roce_srq) srqs;
	LIST_HEAD(, mlx4_roce_key) mrs, mws;
	LIST_HEAD(, mlx4_roce_pd) pds;
	uint16_t vlan[MLX4_VLAN_TABLE_ENTRIES]; /* as in the card */
	struct mlx4_mad_end *qp0, *qp1;         /* QP0: of InfiniBand, while there is a management service */
	atomic_uint lid;                        /* of InfiniBand, as last heard */
	pthread_mutex_t mads;                   /* of both on InfiniBand */
	struct mlx4_ib_batch *batch;            /* where what is received goes, ib.c */
	pthread_mutex_t capture_lock;           /* of capture */
	struct mlx4_roce_capture *capture;
	struct rte_intr_handle *comp_intr; /* of the vector of its completion queues */
	int vector;                        /* -1: none */
	bool dead;                         /* it was told to the application */
	LIST_ENTRY(mlx4_roce) next;        /* of open.c */
};

static inline struct mlx4_roce *
mlx4_roce_of(struct ibv_context *ctx)
{
	return troce_dev_of(ctx)->home;
}

/* A positive errno, as verbs have it. */
static inline int
mlx4_roce_errno(int rc)
{
	return rc < 0 ? -rc : rc;
}

/* --- open.c --- */
void mlx4_roce_open_add(struct mlx4_roce *r);
void mlx4_roce_open_del(struct mlx4_roce *r);
/* What is open on a port, 0: on any port of the card. NULL: nothing. */
struct mlx4_roce *mlx4_roce_open_find(const struct mlx4_hca *hca, unsigned int port);

/* --- provider.c --- */
/* An open port loses its card. NULL: none is open. */
void mlx4_roce_detach(struct mlx4_roce *r);

/* --- datapath: post.c, poll.c --- */
int mlx4_roce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* Requests of any kind; head: where they begin, what is before it was put into the ring by this call. */
int mlx4_roce_post_any(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, uint32_t head);
/* WQEs up to head are the card's, and it is told; 0. There is one or more. */
int mlx4_roce_post_end(struct mlx4_roce_qp *q, uint32_t head);
/* Of programs that have no EAL to ask. */
static inline bool
mlx4_cpu_avx2(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2") != 0;
#else
	return false;
#endif
}
/* fast/send.c: how a queue pair posts, when its rings are as they will be; avx2: it may by such instructions. */
void mlx4_roce_post_choose(struct mlx4_roce_qp *q, bool avx2);
int mlx4_roce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int mlx4_roce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int mlx4_roce_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int mlx4_roce_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/* ... of a card that is run by who polls it (bus.h); it is, from mlx4_roce_polled_start() on. After the stop nobody touches the bus. */
void mlx4_roce_polled_start(struct mlx4_roce *r, struct mlx4_bus *bus);
void mlx4_roce_polled_stop(struct mlx4_roce *r);
int mlx4_roce_poll_cq_run(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int mlx4_roce_req_notify_cq_rest(struct ibv_cq *cq, int solicited_only);
/* Forgets completions of a queue pair that is in RST. */
void mlx4_roce_cq_clean(struct mlx4_roce_cq *cq, uint32_t qpn, struct mlx4_roce_srq *srq);
/*
 * When it gets another ring: completions that were not polled; what is left of the old ring goes to the new one, up to where the
 * card went on; and polling goes on there.
 */
uint32_t mlx4_roce_cq_waiting(const struct mlx4_roce_cq *c);
void mlx4_roce_cq_carry(const struct mlx4_roce_cq *c, struct mlx4_cqe *to, uint32_t mask);
void mlx4_roce_cq_moved(struct mlx4_roce_cq *c, struct mlx4_cqe *to, uint32_t mask);
/* entry follows the one at tail in the list of free ones of a shared receive queue. */
static __rte_always_inline void
mlx4_roce_srq_link(struct mlx4_roce_srq *s, uint32_t tail, rte_be16_t entry)
{
	static_assert(MLX4_SRQ_WQE_NEXT == PRM_D(PRM_OFF(MLX4_SRQ_WQE_NEXT), 15, 0), "the low half of its word");
	memcpy(s->wqes + ((size_t)tail << s->lg_stride) + PRM_OFF(MLX4_SRQ_WQE_NEXT) + 2, &entry, sizeof(entry));
}
static __rte_always_inline void
mlx4_roce_srq_put(struct mlx4_roce_srq *s, uint32_t entry)
{
	mlx4_roce_srq_link(s, s->tail, rte_cpu_to_be_16((uint16_t)entry));
	s->tail = entry;
}
/* Where others may post meanwhile. */
static __rte_noinline __rte_unused void
mlx4_roce_srq_put_locked(struct mlx4_roce_srq *s, uint32_t entry)
{
	s->enter(s);
	mlx4_roce_srq_put(s, entry);
	s->leave(s);
}
/* An entry of a shared receive queue is free again. */
static __rte_always_inline void
mlx4_roce_srq_free(struct mlx4_roce_srq *s, uint32_t entry)
{
	if (unlikely(s->enter != NULL))
		mlx4_roce_srq_put_locked(s, entry);
	else
		mlx4_roce_srq_put(s, entry);
}

/* Completions of any kind; done: how many there are before wc. */
int mlx4_roce_poll_any(struct mlx4_roce_cq *cq, int n, struct ibv_wc *wc, int done);

/* The entry at ci when it is ours, or NULL: the owner bit changes with each pass [DP 6.5]. */
static __rte_always_inline const struct mlx4_cqe *
mlx4_roce_next_cqe(const struct mlx4_roce_cq *cq, uint32_t ci, unsigned int *op)
{
	const struct mlx4_cqe *cqe = &cq->cqes[ci & cq->mask];

	/* Without the owner bit, if it is ours. */
	*op = *(const volatile uint8_t *)&cqe->owner_sr_opcode ^ cq->phase;
	if ((*op & MLX4_CQE_OWNER) != 0)
		return NULL;
	rte_io_rmb();
	return cqe;
}

static __rte_always_inline void
mlx4_roce_cq_advance(struct mlx4_roce_cq *cq)
{
	if (unlikely((++cq->ci & cq->mask) == 0))
		cq->phase ^= MLX4_CQE_OWNER;
}

static __rte_always_inline void
mlx4_roce_cq_publish(struct mlx4_roce_cq *cq)
{
	*cq->dbrec = rte_cpu_to_be_32(cq->ci & MLX4_CQ_CI_MASK);
}

/* One WQE at the place that the CQE names is done, and with it all before it [DP 4.6]. */
static __rte_always_inline void
mlx4_roce_send_done(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, struct ibv_wc *wc)
{
	uint32_t index = rte_be_to_cpu_16(cqe->wqe_index);

	q->sq_tail = (uint16_t)(index + 1);
	memcpy(wc, &q->slots[index & q->sq_mask].done, sizeof(struct mlx4_roce_done));
}

/* A message of a connection with a receive queue of its own, which it fills in order. */
static __rte_always_inline void
mlx4_roce_plain_recv(struct mlx4_roce_qp *q, struct ibv_wc *wc)
{
	const struct mlx4_roce_done ok = {q->rq_wrid[q->rq_tail++ & q->rq_mask], IBV_WC_SUCCESS, IBV_WC_RECV};

	memcpy(wc, &ok, sizeof(ok));
}

/* No vendor's error, and the length. */
static __rte_always_inline void
mlx4_roce_put_length(struct ibv_wc *wc, rte_be32_t byte_cnt)
{
	uint64_t v = rte_be_to_cpu_64(byte_cnt);

	static_assert(offsetof(struct ibv_wc, byte_len) == offsetof(struct ibv_wc, vendor_err) + 4,
		      "one store writes both");
	memcpy(&wc->vendor_err, &v, sizeof(v));
}

/* All but the number, of a send that succeeded or a plain message. False: it is another kind. */
static __rte_always_inline bool
mlx4_roce_take_plain(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, unsigned int op, struct ibv_wc *wc)
{
	const unsigned int kind = op & (MLX4_CQE_IS_SEND | MLX4_CQE_OPCODE_MASK);

	if (kind == MLX4_CQE_RECV_SEND && likely(q->plain_recv))
		mlx4_roce_plain_recv(q, wc);
	else if (kind - MLX4_CQE_IS_SEND < MLX4_CQE_ERROR)
		mlx4_roce_send_done(q, cqe, wc);
	else
		return false;
	mlx4_roce_put_length(wc, cqe->byte_cnt);
	wc->wc_flags = 0;
	return true;
}

/*
 * Sends that succeeded, and plain messages of connections, take a way without calls. False: a completion of another kind is next,
 * or the card is lost, and mlx4_roce_poll_any() goes on from *wc. Who has a lock calls that at its end, so that nothing is kept
 * for afterwards on the short way.
 */
static __rte_always_inline bool
mlx4_roce_poll_plain(struct mlx4_roce_cq *cq, int n, struct ibv_wc **at, int *count)
{
	struct ibv_wc *wc = *at;
	int done;

	for (done = 0; done < n; done++, wc++) {
		struct mlx4_roce_qp *q;
		uint32_t qpn;
		unsigned int op;
		const struct mlx4_cqe *cqe = mlx4_roce_next_cqe(cq, cq->ci, &op);

		if (cqe == NULL) {
			if (unlikely(cq->dead))
				goto other;
			break;
		}
		qpn = rte_be_to_cpu_32(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK;
		/* Early: nothing has to keep it. */
		wc->qp_num = qpn;
		q = cq->qp_of[qpn];
		if (unlikely(q == NULL) || !mlx4_roce_take_plain(q, cqe, op, wc))
			goto other;
		mlx4_roce_cq_advance(cq);
	}
	if (done != 0)
		mlx4_roce_cq_publish(cq);
	*count = done;
	return true;
other:
	*at = wc;
	*count = done;
	return false;
}

/* --- guest.c --- */
/* Where the rings of a guest's object come from; NULL: it is this process's. */
const struct mlx4_dma_pool *mlx4_roce_pool(struct troce_guest *guest, struct mlx4_dma_pool *pool);
int mlx4_roce_mem_open(struct troce_dev *dev, void *mem, size_t len);
void mlx4_roce_mem_close(struct troce_dev *dev, void *mem, size_t len);
/* A page of doorbells for one queue, which the guest has, too; NULL: nobody has. 0 or negative errno. */
int mlx4_roce_uar_get(struct mlx4_roce *r, const struct troce_guest *guest, uint32_t *page);
void mlx4_roce_uar_put(struct mlx4_roce *r, const struct troce_guest *guest, uint32_t page);
int mlx4_roce_vector_get(struct troce_dev *dev, struct troce_guest *guest, int fd);
void mlx4_roce_vector_put(struct troce_dev *dev, struct troce_guest *guest);
int mlx4_roce_view_uars(struct troce_dev *dev, struct troce_view_uars *view);
void mlx4_roce_view_cq(const struct troce_cq *cq, struct troce_view_cq *view);
void mlx4_roce_view_qp(const struct troce_qp *qp, struct troce_view_qp *view);
void mlx4_roce_view_srq(const struct troce_srq *srq, struct troce_view_srq *view);
void mlx4_roce_view_ah(const struct troce_ah *ah, uint8_t dgram[TROCE_VIEW_AH]);

/* --- capture.c --- */
int mlx4_roce_capture(struct troce_dev *dev, bool on);
/* The card is about to go. With the port's lock. */
void mlx4_roce_capture_stop(struct mlx4_roce *r);
unsigned int mlx4_roce_capture_poll(struct mlx4_roce *r);

/* --- mr.c --- */
int mlx4_roce_alloc_pd(struct troce_pd *pd);
int mlx4_roce_dealloc_pd(struct troce_pd *pd);
int mlx4_roce_reg_mr(struct troce_mr *mr);
int mlx4_roce_rereg_mr(struct troce_mr *mr, const struct troce_mr *to);
int mlx4_roce_dereg_mr(struct troce_mr *mr);
int mlx4_roce_alloc_mr(struct troce_mr *mr);
/* Puts the pages of a request into the list of its region. False: it has none, or they do not fit. */
bool mlx4_roce_fast_pages(struct mlx4_roce_mr *m, const struct ibv_send_wr *wr);
int mlx4_roce_alloc_mw(struct troce_mw *mw);
int mlx4_roce_dealloc_mw(struct troce_mw *mw);
void mlx4_roce_keys_detach(struct mlx4_roce *r);
static inline uint32_t
mlx4_roce_pdn(const struct ibv_pd *pd)
{
	return ((const struct mlx4_roce_pd *)(const void *)pd)->pd;
}

/* --- cq.c --- */
int mlx4_roce_create_cq(struct troce_cq *cq, int vector);
int mlx4_roce_modify_cq(struct troce_cq *cq, uint16_t count, uint16_t period_us);
int mlx4_roce_resize_cq(struct troce_cq *cq, int cqe);
int mlx4_roce_destroy_cq(struct troce_cq *cq);
void mlx4_roce_cq_detach(struct mlx4_roce_cq *cq);

/* --- srq.c --- */
int mlx4_roce_create_srq(struct troce_srq *srq, struct ibv_srq_attr *attr);
int mlx4_roce_modify_srq(struct troce_srq *srq, const struct ibv_srq_attr *attr, int mask);
int mlx4_roce_query_srq(struct troce_srq *srq, struct ibv_srq_attr *attr);
int mlx4_roce_destroy_srq(struct troce_srq *srq);
int mlx4_roce_recall_srq(struct troce_srq *srq, void (*fn)(void *arg, uint64_t wr_id), void *arg);
void mlx4_roce_srq_detach(struct mlx4_roce_srq *srq);

/* --- qp.c --- */
int mlx4_roce_create_qp(struct troce_qp *qp);
int mlx4_roce_modify_qp(struct troce_qp *qp, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state from,
			enum ibv_qp_state to);
int mlx4_roce_query_qp(struct troce_qp *qp, struct ibv_qp_attr *attr);
int mlx4_roce_destroy_qp(struct troce_qp *qp);
void mlx4_roce_qp_detach(struct mlx4_roce_qp *qp);
/* The first entries of its rings, for a trace, where there is one. */
void mlx4_roce_qp_trace(const struct mlx4_roce_qp *qp);
/* The most inline bytes that a WQE of so many bytes has room for behind a header of hdr bytes. */
uint32_t mlx4_roce_inline_fit(uint32_t hdr, uint32_t wqe);

/* --- rss.c --- */
void mlx4_roce_rss_caps(const struct mlx4_roce *r, struct tp_roce_rss_caps *caps);
int mlx4_roce_reserve_qpns(struct troce_dev *dev, uint32_t n, uint32_t *base);
void mlx4_roce_release_qpns(struct troce_dev *dev, uint32_t base, uint32_t n);
/* A parent's part of the context. -EINVAL: it has no table. */
int mlx4_roce_fill_rss(const struct mlx4_roce_qp *q, uint8_t *ctx);

/* --- ah.c --- */
int mlx4_roce_create_ah(struct troce_ah *ah);
int mlx4_roce_destroy_ah(struct troce_ah *ah);
int mlx4_roce_attach_mcast(struct troce_qp *qp, const union ibv_gid *gid, const struct rte_ether_addr *mac);
int mlx4_roce_detach_mcast(struct troce_qp *qp, const union ibv_gid *gid, const struct rte_ether_addr *mac);
void mlx4_roce_mcast_drop(struct mlx4_roce_qp *qp);

/* --- raw.c --- */
/* 0, or EINVAL and a line: it has not been in INIT since RESET. */
int mlx4_roce_on_card(const struct mlx4_roce_qp *q, const char *what);
int mlx4_roce_create_flow(struct troce_flow *flow, const struct ibv_flow_attr *attr);
int mlx4_roce_destroy_flow(struct troce_flow *flow);
/* Takes the rules of a queue pair from the card. */
void mlx4_roce_flows_drop(struct mlx4_roce_qp *q);

/* --- gid.c --- */
int mlx4_roce_gids_init(struct mlx4_roce *r);
int mlx4_roce_set_gids(struct troce_dev *dev, const struct troce_gid *table);
/* Place of a VLAN in the card's table; 0: it has none. */
uint32_t mlx4_roce_vlan_index(const struct mlx4_roce *r, uint16_t vid);

/* --- ib.c --- */
unsigned int mlx4_ib_progress(struct mlx4_roce *r);

/* --- qp1.c --- */
int mlx4_roce_qp1_create(struct mlx4_roce *r);
void mlx4_roce_qp1_destroy(struct mlx4_roce *r);
int mlx4_roce_mad_send(struct troce_dev *dev, const struct troce_mad *mad);
unsigned int mlx4_roce_progress(struct troce_dev *dev);

/* --- event.c --- */
int mlx4_roce_events_start(struct mlx4_roce *r);
void mlx4_roce_events_stop(struct mlx4_roce *r);
/* It was reset: what the card has told so far moves its state no more. */
void mlx4_roce_qp_forget(struct mlx4_roce_qp *q);
/* Nothing completes any more: posts are refused, polls flush, waiters are woken. */
void mlx4_roce_dead(struct mlx4_roce *r);

/* --- stats.c --- */
int mlx4_roce_stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg);

/* The field of an address path with the index of its VLAN. */
static inline uint32_t
mlx4_roce_path_vlan(const struct mlx4_hca *hca)
{
	return mlx4_quirk(hca, MLX4_QUIRK_VLAN_PLACE) == 0 ? MLX4_PATH_VLAN_INDEX : MLX4_PATH_VLAN_INDEX_2007;
}

/* Messages of these lengths have a way of their own, where a WQE has two blocks; lg: of its length. */
static inline void
mlx4_roce_small_spans(struct mlx4_roce_qp *q, uint32_t lg)
{
	if (lg != MLX4_ROCE_SMALL_LG || q->max_inline < MLX4_ROCE_SMALL_MIN)
		return;
	q->small_span = RTE_MIN(q->max_inline, MLX4_ROCE_SMALL_MAX) - MLX4_ROCE_SMALL_MIN + 1;
	q->small_write_span =
		RTE_MIN(q->max_inline, MLX4_ROCE_SMALL_MAX - MLX4_RADDR_SIZE) - MLX4_ROCE_SMALL_WRITE_MIN + 1;
}

#endif /* MLX4_VERBS_VERBS_H */
