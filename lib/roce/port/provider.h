/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Between lib/roce and the homes of its queue pairs: what a provider offers, and what it may call.
 *
 * The library checks arguments and states, counts references, resolves addresses and keeps GIDs, events and channels;
 * a provider does what its home must be told. The library allocates each object (zeroed, the size that the provider
 * says, its public part filled in), calls the provider's create, and frees the object after the provider's destroy.
 * The public parts come first, so that a provider's object begins with the library's, and that with the verbs type.
 *
 * Control operations of a provider are called with the port's lock held, except progress, input, mad_send. They return 0
 * or a positive errno. Operations that are NULL are not offered: EOPNOTSUPP.
 */
#ifndef ROCE_PORT_PROVIDER_H
#define ROCE_PORT_PROVIDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_log.h>

#include "tp_mad_port.h"
#include "tp_roce.h"

#include "lib/roce/cc/cc.h"
#include "guest.h"
#include "hush.h"

extern int troce_logtype;
#define TROCE_LOG(level, fmt, ...)                                                                                     \
	((void)(troce_talk.lines++,                                                                                    \
		troce_talk.hush ? 0 : rte_log(RTE_LOG_##level, troce_logtype, "roce: " fmt "\n", ##__VA_ARGS__)))

struct troce_dev;
struct troce_net;     /* net_priv.h: addresses, GIDs, neighbours */
struct troce_async;   /* event.c */
struct troce_capture; /* capture.c */
struct troce_cm;      /* rdma_priv.h: connection management of the port */
struct troce_smi;     /* mad_port.c: the management service of an InfiniBand port */

/* An entry of the GID table; type IBV_GID_TYPE_ROCE_V1 or _V2. */
struct troce_gid {
	union ibv_gid gid;
	enum ibv_gid_type type;
	uint16_t vlan; /* TP_ROCE_NO_VLAN: none */
	bool valid;
};

/* A port of InfiniBand that a provider has: no ethdev, but a name. Linked by the library, which owns it until it is gone. */
struct troce_ib_port {
	char name[IBV_SYSFS_NAME_MAX];
	const struct troce_provider *prov;
	void *home; /* the provider's */
	int numa_node;
};

/* Where packets go, resolved: what an address vector becomes. On InfiniBand there are LIDs in place of MACs. */
struct troce_path {
	struct rte_ether_addr dmac, smac;
	union ibv_gid sgid, dgid;
	enum ibv_gid_type type;
	uint8_t sgid_index, tclass, hop_limit;
	uint8_t prio; /* 802.1p: the SL, or by a rule, or the port's; InfiniBand: the SL */
	bool decided; /* it is the SL, or by a rule */
	bool untag;   /* without a VLAN there is no tag, whatever the priority is */
	uint32_t flow_label;
	uint16_t vlan;       /* TP_ROCE_NO_VLAN */
	uint16_t sport;      /* UDP source port of v2 */
	uint16_t dlid, slid; /* slid: in requests of connections */
	uint16_t pkey_index; /* of management datagrams */
	uint8_t path_bits;   /* of the source LID */
	uint8_t rate;        /* enum ibv_rate, 0: as fast as the port */
	bool grh;            /* always on Ethernet */
};

/* What a port says of the packets of a connection to an RDMA port, or with service 0 of others. */
struct troce_marks {
	bool ruled; /* a rule names prio and, unless it is -1, dscp */
	bool untag; /* a priority alone makes no tag */
	uint8_t prio;
	int8_t dscp;
};

struct troce_pd {
	struct ibv_pd v;
	unsigned int refs;
};
struct troce_mr {
	struct ibv_mr v;
	uint64_t iova;
	int access;
	unsigned int windows; /* bound: it cannot go */
	bool opened;          /* its memory is of mem_open, not of the EAL */
	uint32_t pages;       /* most that a fast registration may have; 0: an ordinary region */
};
/*
 * The work request of tp_roce_fast_reg_mr(): bind_mw has the region in bind_info.mr, its address, length and rights, and its
 * next key in rkey; the only element of the list, where the memory lies. Its completion is IBV_WC_DRIVER1.
 */
#define TROCE_WR_FAST_REG IBV_WR_DRIVER1
struct troce_mw {
	struct ibv_mw v;
};
/*
 * A descriptor to wait by (bell.c). It is readable while events wait and no thread is already fetching them.
 */
struct troce_bell {
	int fd, ring_fd;
};
struct troce_channel {
	struct ibv_comp_channel v;
	struct troce_bell bell;
	pthread_mutex_t lock; /* of ready, and of events, delivered and queued of the CQs */
	STAILQ_HEAD(, troce_cq) ready;
};
/* ex: v with what extended verbs add, of programs of libibverbs (preload/verbs). */
struct troce_cq {
	union {
		struct ibv_cq v;
		struct ibv_cq_ex ex;
	};
	struct troce_guest *guest; /* whose it is, NULL: this process's */
	uint16_t vector;           /* as it was asked for */
	unsigned int refs, async_events;
	unsigned int events;         /* that wait in the channel; the rest is v.comp_events_completed's business */
	unsigned int delivered;      /* handed to the application */
	STAILQ_ENTRY(troce_cq) next; /* in the channel's list, when queued */
	bool queued;
};
struct troce_srq {
	struct ibv_srq v;
	struct troce_guest *guest;
	uint32_t max_wr, max_sge;
	unsigned int refs, async_events;
};
struct troce_group; /* mcast.c */
enum troce_qp_role { TROCE_QP_PLAIN, TROCE_QP_RING, TROCE_QP_PARENT };
/* Rings of an RSS parent, with consecutive numbers. */
struct tp_roce_table {
	struct troce_dev *dev;
	uint32_t base, num;
	unsigned int parents; /* that name it */
	struct ibv_qp *qp[];
};
struct troce_qp {
	union {
		struct ibv_qp v; /* v.state: the provider sets it when the home moved the queue pair by itself */
		struct ibv_qp_ex ex;
	};
	struct troce_guest *guest;
	struct ibv_qp_init_attr init; /* as granted */
	struct ibv_qp_attr attr;      /* as set so far */
	struct troce_path path;
	uint16_t sport;              /* asked for, 0: of the queue pair's number */
	uint16_t service;            /* RDMA port of its connection, 0: none */
	bool no_credits;             /* its connection does without end-to-end flow control */
	uint16_t max_tso_header;     /* of large sends of datagrams, 0: none; the provider refuses what it has not */
	enum troce_qp_role role;     /* of a ring v.qp_num is given; neither it nor a parent sends */
	struct tp_roce_table *table; /* of a parent, with the next two; NULL: none yet */
	uint32_t rss_types;          /* enum tp_roce_rss_type */
	uint8_t rss_key[TP_ROCE_RSS_KEY];
	unsigned int refs, async_events;
	SLIST_HEAD(, troce_group) groups;
};
/* A steering rule of a raw packet queue pair. */
struct troce_flow {
	struct ibv_flow v;
	struct troce_qp *qp;
};
struct troce_ah {
	struct ibv_ah v;
	struct ibv_ah_attr attr;
	struct troce_path path;
};

#define TROCE_MAD_SIZE 256u

/* A management datagram of QP1 and where it came from, or goes. */
struct troce_mad {
	struct troce_path path; /* from our side: dmac and dgid are the peer's */
	uint32_t remote_qpn;
	uint8_t data[TROCE_MAD_SIZE];
};

/* Congestion control of a priority. */
struct troce_cc {
	struct tcc_conf conf;
	bool on;
};

struct troce_provider {
	const char *name;
	size_t dev_size; /* of the provider's part of a port, dev->home */
	size_t pd_size, mr_size, mw_size, cq_size, qp_size, srq_size, ah_size, flow_size;

	/* How well the provider serves a port: 0 not at all; the highest wins. */
	unsigned int (*serves)(uint16_t port_id);
	/* What an ethdev of this driver says of packets of RoCE, whatever home sends them; false: it is not its. May be NULL. */
	bool (*marks)(uint16_t port_id, bool v2, uint16_t service, struct troce_marks *marks);
	/*
	 * Fills dev->attr and dev->port, dev->max_inline, dev->rss, what datapath operations dev->vctx.context.ops has, and
	 * num_comp_vectors. dev->conf is complete. dev->mode may be lowered to what the home has.
	 */
	int (*open)(struct troce_dev *dev);
	void (*close)(struct troce_dev *dev);
	/* state, active_mtu, active_speed, active_width, phys_state of dev->port as they are now */
	int (*query_port)(struct troce_dev *dev, struct ibv_port_attr *attr);
	/* The whole table, TP_ROCE_GIDS entries; and the port's MAC */
	int (*set_gids)(struct troce_dev *dev, const struct troce_gid *table);

	int (*alloc_pd)(struct troce_pd *pd);
	int (*dealloc_pd)(struct troce_pd *pd);
	int (*reg_mr)(struct troce_mr *mr); /* sets v.lkey, v.rkey */
	/* mr becomes what to says: v.pd, v.addr, v.length, iova, access, opened. Its keys stay; on an error it is as it was, but EIO. */
	int (*rereg_mr)(struct troce_mr *mr, const struct troce_mr *to);
	int (*dereg_mr)(struct troce_mr *mr);
	int (*alloc_mr)(
		struct troce_mr *mr); /* of mr->pages, without memory; sets v.lkey, v.rkey. dereg_mr takes it, too */
	int (*alloc_mw)(struct troce_mw *mw); /* sets v.rkey */
	int (*dealloc_mw)(struct troce_mw *mw);

	/* v.cqe: asked for, then granted; vector -1: no channel, TROCE_VECTOR_OWN: its guest's own */
	int (*create_cq)(struct troce_cq *cq, int vector);
	int (*modify_cq)(struct troce_cq *cq, uint16_t count, uint16_t period_us);
	/* v.cqe becomes what is granted; nobody polls it meanwhile. EINVAL: what was not polled does not fit. */
	int (*resize_cq)(struct troce_cq *cq, int cqe);
	int (*destroy_cq)(struct troce_cq *cq);

	int (*create_srq)(struct troce_srq *srq, struct ibv_srq_attr *attr); /* attr: as granted */
	int (*modify_srq)(struct troce_srq *srq, const struct ibv_srq_attr *attr, int mask);
	int (*query_srq)(struct troce_srq *srq, struct ibv_srq_attr *attr);
	int (*destroy_srq)(struct troce_srq *srq);
	/* Calls fn for what was posted and has not completed; no queue pair uses the queue, nothing is posted any more. */
	int (*recall_srq)(struct troce_srq *srq, void (*fn)(void *arg, uint64_t wr_id), void *arg);

	/* Sets v.qp_num, but a ring's; qp->init.cap: asked for, then granted */
	int (*create_qp)(struct troce_qp *qp);
	/* n numbers, aligned to n, a power of two: each goes to the ring that is made with it, or back. NULL: no rings. */
	int (*reserve_qpns)(struct troce_dev *dev, uint32_t n, uint32_t *base);
	void (*release_qpns)(struct troce_dev *dev, uint32_t base, uint32_t n);
	/*
	 * attr and mask were checked against the state table; qp->attr has the values of attr merged in, qp->path is
	 * resolved when mask has IBV_QP_AV. On success the library sets v.state, unless the provider did.
	 */
	int (*modify_qp)(struct troce_qp *qp, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state from,
			 enum ibv_qp_state to);
	/* What the home alone knows: sq_psn, rq_psn, sq_draining, state */
	int (*query_qp)(struct troce_qp *qp, struct ibv_qp_attr *attr);
	int (*destroy_qp)(struct troce_qp *qp);

	int (*create_ah)(struct troce_ah *ah); /* ah->path is resolved */
	int (*destroy_ah)(struct troce_ah *ah);
	/* mac: of Ethernet's groups */
	int (*attach_mcast)(struct troce_qp *qp, const union ibv_gid *gid, const struct rte_ether_addr *mac);
	int (*detach_mcast)(struct troce_qp *qp, const union ibv_gid *gid, const struct rte_ether_addr *mac);

	/*
	 * Steering rules of raw packet queue pairs; attr is well formed, its specifications are Ethernet's, IPv4's, TCP's and UDP's.
	 * NULL: there are no such queue pairs.
	 */
	int (*create_flow)(struct troce_flow *flow, const struct ibv_flow_attr *attr);
	int (*destroy_flow)(struct troce_flow *flow);

	/* A datagram from our QP1 to remote_qpn's; the Q_Key is the well-known one. Any thread. EAGAIN: no room now. */
	int (*mad_send)(struct troce_dev *dev, const struct troce_mad *mad);
	/* The port's thread: what the home needs done regularly; and its QP1. Returns how much was done. */
	unsigned int (*progress)(struct troce_dev *dev);
	/*
	 * Lanes behind the first, of a home that has more than one; both or neither. lane_progress: the lane's thread, receiving and
	 * all. passed: packets that lane from received and that are for the port's thread to take; returns how many.
	 */
	unsigned int (*lane_progress)(struct troce_dev *dev, uint16_t lane);
	uint16_t (*passed)(struct troce_dev *dev, uint16_t from, struct rte_mbuf **pkts, uint16_t n);
	/* Takes packets of the transport out of a burst, returns how many are left, in front. NULL: the home sees its own. */
	uint16_t (*input)(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n);
	int (*stats)(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg);
	/* Congestion control of RoCE v2, by priority 0..7. NULL: the home has none. EOPNOTSUPP: this port has none. */
	int (*cc_get)(struct troce_dev *dev, unsigned int prio, struct troce_cc *cc);
	int (*cc_set)(struct troce_dev *dev, unsigned int prio, const struct troce_cc *cc);
	/* As it was before the first cc_set(). */
	int (*cc_restore)(struct troce_dev *dev, unsigned int prio);
	/* Counters start again. EINVAL: not those of so few priorities. */
	int (*cc_clear)(struct troce_dev *dev, uint8_t prios);
	/* Queue pairs that are limited, the slowest first. NULL: the home does not say. */
	void (*cc_limited)(struct troce_dev *dev, struct tp_roce_cc_limited *list, unsigned int max, unsigned int *n);
	/* Is it a parameter there? NULL: all are. */
	bool (*cc_has)(const char *param);
	/*
	 * A home whose packets do not pass through the ethdev's queues shows them by troce_capture_burst() between on and
	 * off, from its progress. NULL: what it receives is shown by the library, what it sends by the home.
	 */
	int (*capture)(struct troce_dev *dev, bool on);

	/*
	 * Guests; NULL: the home has none. mem_open: memory that the EAL does not have, whole pages, opened to the card under the
	 * addresses of this process. The views are of objects that were made with a guest, whose rings are of its mem_get.
	 */
	int (*mem_open)(struct troce_dev *dev, void *mem, size_t len);
	void (*mem_close)(struct troce_dev *dev, void *mem, size_t len);
	/*
	 * An interrupt vector of the guest's own, see struct troce_guest: completions of queues that were made for it make fd, an eventfd,
	 * readable, and nothing else tells of them. NULL: the home has none to give. 0 or a positive errno. Its queues go before it.
	 */
	int (*vector_get)(struct troce_dev *dev, struct troce_guest *guest, int fd);
	void (*vector_put)(struct troce_dev *dev, struct troce_guest *guest);
	int (*view_uars)(struct troce_dev *dev, struct troce_view_uars *view);
	void (*view_cq)(const struct troce_cq *cq, struct troce_view_cq *view);
	void (*view_qp)(const struct troce_qp *qp, struct troce_view_qp *view);
	void (*view_srq)(const struct troce_srq *srq, struct troce_view_srq *view);
	void (*view_ah)(const struct troce_ah *ah, uint8_t dgram[TROCE_VIEW_AH]);

	/*
	 * Ports of InfiniBand (dev->ib is not NULL): all operations but serves, set_gids and mad_send serve them, too, and these.
	 * Entries of their tables, as the subnet manager set them: index is in range.
	 */
	int (*query_gid)(struct troce_dev *dev, uint32_t index, union ibv_gid *gid);
	int (*query_pkey)(struct troce_dev *dev, uint32_t index, uint16_t *pkey);
	/* mad_port.h. What comes in goes to troce_mad_port_input(). packet_send, packet_process: any thread, no lock. */
	int (*packet_send)(struct troce_dev *dev, const struct tp_mad_packet *pkt);
	int (*packet_process)(struct troce_dev *dev, const struct tp_mad_packet *in, struct tp_mad_packet *out);
	int (*packet_qp0)(struct troce_dev *dev, bool on);
	int (*port_caps)(struct troce_dev *dev, uint32_t set, uint32_t clear);
};

/*
 * What a port does besides the transport, as rows that device.c gives it. Operations may be NULL, but init, fini and stats.
 * input and progress are called by the port's thread.
 */
struct troce_side_ops {
	/* After the provider's open. 0 or a positive errno. */
	int (*init)(struct troce_dev *dev);
	/* Before the provider's close. */
	void (*fini)(struct troce_dev *dev);
	/* Takes packets that are no transport's, as tp_roce_input(): returns how many are left, in front. */
	uint16_t (*input)(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n, uint64_t now_ns);
	/* Called when due has come or woken is not 0. Returns how much was done. */
	unsigned int (*progress)(struct troce_dev *dev, uint64_t now_ns);
	/* Something happened to the port: addresses, state, the device. Any thread, any locks: it only takes a note. */
	void (*port_event)(struct troce_dev *dev, enum ibv_event_type type);
	/* Counters, as tp_roce_stats(). */
	void (*stats)(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg);
};
enum {
	TROCE_SIDE_LINK, /* Ethernet: addresses and neighbours; InfiniBand: management datagrams */
	TROCE_SIDE_CM,   /* connections */
	TROCE_SIDES
};
/* A port that has nothing to do costs two loads a side. */
struct troce_side {
	const struct troce_side_ops *ops; /* NULL: not open */
	_Atomic uint64_t due;             /* when progress is next wanted, as troce_now_ns() */
	_Atomic uint32_t woken;           /* progress is wanted now; the side says why */
};
#define TROCE_SIDE_NEVER UINT64_MAX

/* An open port. */
struct troce_dev {
	struct verbs_context vctx; /* the application has &vctx.context */
	const struct troce_provider *prov;
	void *home;                     /* the provider's, dev_size bytes */
	uint16_t port_id;               /* RTE_MAX_ETHPORTS: of InfiniBand */
	const struct troce_ib_port *ib; /* NULL: of Ethernet */
	char where[IBV_SYSFS_NAME_MAX]; /* its name in the log: "port 0", or that of the InfiniBand port */
	int numa_node;
	struct tp_roce_conf conf; /* complete: no zeros that stand for defaults */
	bool own_pool;            /* conf.pool is the library's */
	enum tp_roce_mode mode;
	enum tp_roce_status status; /* as it was told */
	struct rte_ether_addr mac;
	struct ibv_device_attr attr;
	char board_id[32]; /* empty: it has none */
	struct ibv_port_attr port;
	uint32_t max_inline;
	uint32_t max_tso; /* octets of a large send of raw packets, 0: there is none */
	struct tp_roce_rss_caps rss;

	pthread_mutex_t lock; /* of control operations */
	/*
	 * The port's thread, the one that last called progress or input; 0: none did. Without one, control calls drive the
	 * port, one at a time under the mutex; the thread takes it once, when it becomes the port's.
	 */
	_Atomic pthread_t thread;
	_Atomic pthread_t lane_thread[TP_ROCE_LANES]; /* of the lanes behind the first, in the same way */
	pthread_mutex_t drive;
	uint64_t cycles_to_ns;                                     /* 32.32 */
	unsigned int pds, mrs, mws, cqs, qps, srqs, ahs, channels; /* objects */
	struct troce_side side[TROCE_SIDES];
	struct troce_net *net; /* NULL on InfiniBand */
	struct troce_async *async;
	struct troce_guests guests; /* under the lock of async, as closing: there will be no more of them */
	bool closing;
	struct troce_cm *cm;
	struct troce_smi *smi; /* NULL on Ethernet */
	atomic_bool capturing;
	pthread_mutex_t capture_lock; /* of capture */
	struct troce_capture *capture;
	TAILQ_ENTRY(troce_dev) next;

	/* What the port's thread writes in each turn is apart from what other lanes read. */
	_Atomic pthread_t worker __rte_cache_aligned; /* is inside the port's work now; 0: nobody */
	uint32_t full_polls;                          /* in a row that found more frames than they take */
	uint64_t rest_freed;                          /* packets that were nobody's */
};

#define TROCE_FULL_POLLS 128u /* as many as a ring of 4096 frames is behind, by bursts of 32 */

/*
 * Frames have come that were not looked at yet, perhaps the answers that somebody waits for. Not for ever: where more come all the
 * time, these are others by now.
 */
static inline bool
troce_behind(uint32_t full_polls)
{
	return full_polls != 0 && full_polls <= TROCE_FULL_POLLS;
}

static inline struct troce_dev *
troce_dev_of(struct ibv_context *ctx)
{
	return (struct troce_dev *)((char *)ctx - offsetof(struct troce_dev, vctx.context));
}

/* Time of timers and of what takes now_ns: any beginning, does not go back. */
static inline uint64_t
troce_now_ns(const struct troce_dev *dev)
{
	return (uint64_t)(((unsigned __int128)rte_rdtsc() * dev->cycles_to_ns) >> 32);
}

/* The calling thread is the one that polls the port. */
static inline bool
troce_on_thread(const struct troce_dev *dev)
{
	return atomic_load_explicit(&dev->thread, memory_order_relaxed) == pthread_self();
}

/* Makes a provider known; from a constructor. */
void troce_provider_register(const struct troce_provider *prov);
/* What the driver of its ethdev says; nothing: all zero, and dscp -1. */
struct troce_marks troce_marks_of(const struct troce_dev *dev, bool v2, uint16_t service);
/*
 * mbuf.ol_flags of transmitted frames whose priority and DSCP were decided for their connection: rules for frames leave them as
 * they are, and find the priority in the upper three bits of vlan_tci. 0: no flag is free.
 */
uint64_t troce_decided_flag(void);
#define TROCE_PROVIDER(p)                                                                                              \
	__attribute__((constructor)) static void p##_register(void)                                                    \
	{                                                                                                              \
		troce_provider_register(&(p));                                                                         \
	}

/* --- what a provider may call ----------------------------------------------------------------------------------- */

/*
 * An asynchronous event about a queue pair, completion queue, shared receive queue, or (obj NULL) the port. Any thread,
 * no lock of the library may be held by the caller but the port's.
 */
void troce_async_event(struct troce_dev *dev, enum ibv_event_type type, void *obj);
/* The completion queue was armed and has something. Any thread. */
void troce_cq_event(struct troce_cq *cq);
void troce_capture_put(struct troce_dev *dev, struct rte_mbuf *const *pkts, unsigned int n, bool out);
/* Packets that come or (out) go, for a capture if there is one; each once, whole. The port's thread. */
static inline void
troce_capture_burst(struct troce_dev *dev, struct rte_mbuf *const *pkts, unsigned int n, bool out)
{
	if (unlikely(atomic_load_explicit(&dev->capturing, memory_order_relaxed)))
		troce_capture_put(dev, pkts, n, out);
}
/* A datagram came for QP1 of an Ethernet port. The port's thread. */
void troce_mad_input(struct troce_dev *dev, const struct troce_mad *mad);
/* One came for QP0 or QP1 of an InfiniBand port. The port's thread, no lock. */
void troce_mad_port_input(struct troce_dev *dev, const struct tp_mad_packet *pkt);

/*
 * An InfiniBand port is there from now on; its name must be new. 0, EEXIST, ENOSPC. Any thread that may block.
 */
int troce_ib_add(const struct troce_ib_port *port);
/* It is gone: nobody opens it any more. An open one stays until its application closes it. */
void troce_ib_del(const char *name);

#endif /* ROCE_PORT_PROVIDER_H */
