/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * RoCE queue pairs on a DPDK port, in the words of verbs (InfiniBand architecture 1.4, chapters 10 and 11).
 *
 * Objects are libibverbs' own types. A port that was opened by tp_roce_open() is a struct ibv_context, and the calls of
 * the datapath are the inline functions of <infiniband/verbs.h>: ibv_post_send(), ibv_post_recv(), ibv_post_srq_recv(),
 * ibv_poll_cq(), ibv_req_notify_cq(). Each control call of verbs is here under its name with tp_roce_ in place of ibv_,
 * with the same arguments and results. Nothing is linked from libibverbs and nothing asks the kernel.
 *
 * Errors: functions that return int give 0 or a positive errno, as verbs do; those that return a pointer give NULL and
 * set errno. A refusal is one line in the log that names the value and the allowed range.
 *
 * Threads: control calls may be made from any thread. A queue pair, shared receive queue or completion queue is used by
 * one thread at a time on the datapath. tp_roce_progress() and tp_roce_input() of a port are one thread's: the port's. In
 * software a port may have several lanes, each with a thread of its own: see tp_roce_progress_lane().
 */
#ifndef TP_ROCE_H
#define TP_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_ROCE_UDP_PORT 4791u     /**< RoCEv2, default (IBTA annex A17) */
#define TP_ROCE_UDP_PORT_PRE 1021u /**< before the standard */
#define TP_ROCE_TTL 16u            /**< default time to live, or hop limit */
#define TP_ROCE_GIDS 128u          /**< entries of a port's GID table */
#define TP_ROCE_NO_VLAN 0xffffu
#define TP_ROCE_LANES 16u /**< of a port, at most */
#define TP_ROCE_GID_POLL_MS 3000u
#define TP_ROCE_NO_GID_POLL UINT32_MAX /**< the kernel's word alone counts (R-1) */

/** Which GIDs a port has, and so which packets it sends by default. */
enum tp_roce_mode {
	TP_ROCE_V2 = 0, /**< addresses, over UDP; each address has a v1 GID beside it */
	TP_ROCE_V1,     /**< addresses, as Ethertype 0x8915 */
	TP_ROCE_V1_MAC, /**< one GID of the MAC, as Ethertype 0x8915 */
	TP_ROCE_OFF,    /**< no GID, no queue pair but those of raw packets */
};

/** How a port is opened; all zero is the default of everything. */
struct tp_roce_conf {
	const char *provider;   /**< "mlx4", "sw"; NULL: the card's transport where the port has one, else software */
	enum tp_roce_mode mode; /**< what the home lacks falls back to the best it has, with a line in the log */
	/**
	 * Queues of the ethdev for what is not the transport's own: ARP, neighbour discovery, and in software all packets. The
	 * transmit queue is the library's alone. The application must have configured and started the port.
	 */
	uint16_t rx_queue, tx_queue;
	/**
	 * false: tp_roce_progress() polls rx_queue; what is not for RoCE goes to rest(), or is freed and counted.
	 * true: the application polls its queues and shows each burst to tp_roce_input().
	 */
	bool app_rx;
	bool host_tcp; /**< a host's TCP is behind the port, as by tp_kernel.h: while ports are shared, no connection is refused for it */
	/**
	 * In software: how many threads may share the port by queue pairs, a power of two up to TP_ROCE_LANES; 0: 1. Lane i has the
	 * queues rx_queue + i and tx_queue + i. Not with app_rx.
	 */
	uint16_t lanes;
	/** Frames that are not for RoCE; takes the mbufs. Called by tp_roce_progress(); opens and closes no port. NULL: freed. */
	void (*rest)(void *arg, struct rte_mbuf **pkts, uint16_t n);
	void *rest_arg;
	uint16_t udp_port;  /**< destination port of RoCEv2, 1..65535; 0: TP_ROCE_UDP_PORT */
	uint8_t ttl;        /**< 1..255; 0: TP_ROCE_TTL */
	uint16_t mtu;       /**< RoCE MTU 256, 512, 1024, 2048, 4096; 0: the largest that fits the port's (R-4) */
	uint8_t prio;       /**< 802.1p priority of packets for which neither address vector nor rule names one, 0..7 */
	uint8_t dscp;       /**< 0..63: DSCP where neither address vector nor rule names one */
	const char *netdev; /**< follow the addresses of this kernel interface (of a TAP port, say); NULL: none */
	/**
	 * How often to look at the addresses of netdev, besides at each change that the kernel tells: 1..10000 ms, or
	 * TP_ROCE_NO_GID_POLL; 0: TP_ROCE_GID_POLL_MS.
	 */
	uint32_t netdev_ms;
	struct rte_mempool *pool; /**< of the packets that the library sends; NULL: one of its own */
	/**
	 * Ethernet MTU, where the application knows it better than ethdev, which tells 1500 of net_memif and net_af_packet:
	 * the first passes frames of any length, the other those that its interface has. 0: what ethdev tells.
	 */
	uint16_t eth_mtu;
};

/* --- devices --------------------------------------------------------------------------------------------------- */

/**
 * The ports that a provider serves; each is a device of one port (number 1) whose name is the ethdev's, or, for an InfiniBand
 * port of a card, that of the card with the number of the port: "net_mlx4_model0/2".
 * @param[out] num their number
 * @return NULL-terminated list, to be given to tp_roce_free_device_list(); NULL: ENOMEM.
 */
struct ibv_device **tp_roce_get_device_list(int *num);
void tp_roce_free_device_list(struct ibv_device **list);

/** Opens a device of the list with all defaults. @return NULL and errno as tp_roce_open(). */
struct ibv_context *tp_roce_open_device(struct ibv_device *device);

/**
 * Opens an ethdev for RoCE.
 * @param port_id an ethdev that is configured and started
 * @param conf NULL: all defaults
 * @return NULL and errno: ENODEV no such port or no provider for it, EBUSY open already, EINVAL a value out of its range
 *   or a port that is not started, ENOTSUP the card has no RoCE, ENOMEM.
 */
struct ibv_context *tp_roce_open(uint16_t port_id, const struct tp_roce_conf *conf);
/**
 * Opens an InfiniBand port of a card. Address vectors have LIDs (is_global: and a GRH); nothing of conf but the provider is
 * looked at. Its address, state and P_Keys are the subnet manager's: tp_roce_query_port() and asynchronous events tell of them.
 * @param device name, as the list of devices has it
 * @return NULL and errno: ENODEV no such port, EBUSY open already, ENOMEM, EIO the card does not bring it up.
 */
struct ibv_context *tp_roce_open_ib(const char *device, const struct tp_roce_conf *conf);
/** @return 0, EBUSY: there are objects left (their numbers are logged). */
int tp_roce_close_device(struct ibv_context *ctx);

/** The ethdev behind an open port; RTE_MAX_ETHPORTS: InfiniBand has none. */
uint16_t tp_roce_port_id(const struct ibv_context *ctx);
/** "mlx4" or "sw". */
const char *tp_roce_provider_name(const struct ibv_context *ctx);
/** The mode in force; it may be less than what was asked for. */
enum tp_roce_mode tp_roce_mode_get(const struct ibv_context *ctx);

/** What a device is for its users (V-8). */
enum tp_roce_status {
	TP_ROCE_UP = 1,        /**< opened: requests are taken */
	TP_ROCE_ADAPTER_DOWN,  /**< reset, removed or given up: requests end "flushed in error", new ones are refused */
	TP_ROCE_RDMA_DISABLED, /**< closed */
};
/**
 * Called at each change, by the thread that opens or closes the device, or that hears of the loss, such as the interrupt
 * thread. It calls no function of this file, and is short.
 */
typedef void (*tp_roce_status_cb)(void *arg, struct ibv_device *device, enum tp_roce_status status);
/** For all devices of the process, also those that open later. @return 0, EINVAL no cb, EEXIST, ENOSPC 64 are registered. */
int tp_roce_status_register(tp_roce_status_cb cb, void *arg);
/** When it returns, cb is not called any more. Not from cb. @return 0, ENOENT. */
int tp_roce_status_unregister(tp_roce_status_cb cb, const void *arg);

/**
 * The port's background work: received packets of rx_queue (unless app_rx), timers, address resolution, management
 * packets, and in software the whole transport. Call it in the loop of the port's lcore, or from a thread of its own.
 * @return how much was done, 0: nothing.
 */
unsigned int tp_roce_progress(struct ibv_context *ctx);

/**
 * The work of one lane of a port: its own receive queue, and the transport of its queue pairs. A completion queue is of the lane
 * that its comp_vector names, a queue pair of that of its completion queues, a shared receive queue of that of the queue pairs that
 * have it. Each lane is one thread's at a time, and all of them must be polled, since packets come to any queue. What comes to
 * another lane's than its own is passed on. Lane 0 is tp_roce_progress(), with all that the port does besides the transport.
 * @param lane 0..lanes - 1
 * @return how much was done, 0: nothing, or there is no such lane.
 */
unsigned int tp_roce_progress_lane(struct ibv_context *ctx, uint16_t lane);

/**
 * Takes the packets that are RoCE's own out of a burst.
 * @param[in,out] pkts the burst; on return the first ones are those that are left, in their order
 * @return how many are left.
 */
uint16_t tp_roce_input(struct ibv_context *ctx, struct rte_mbuf **pkts, uint16_t n);

int tp_roce_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr);
int tp_roce_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr);
int tp_roce_query_gid(struct ibv_context *ctx, uint8_t port, int index, union ibv_gid *gid);
/** @return 0, ENODATA: the entry is empty, EINVAL. */
int tp_roce_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index, struct ibv_gid_entry *entry);
int tp_roce_query_pkey(struct ibv_context *ctx, uint8_t port, int index, __be16 *pkey);

/* --- addresses -------------------------------------------------------------------------------------------------- */

/**
 * Gives the port an IPv4 or IPv6 address; its GIDs appear, with IBV_EVENT_GID_CHANGE.
 * @param addr struct sockaddr_in or sockaddr_in6
 * @param prefix length of the network's prefix, 0..32 or 0..128
 * @param vlan 1..4094, TP_ROCE_NO_VLAN
 * @return 0, EINVAL, EEXIST, ENOSPC (the GID table is full).
 */
int tp_roce_addr_add(struct ibv_context *ctx, const struct sockaddr *addr, unsigned int prefix, uint16_t vlan);
/** Takes it away; queue pairs that use its GIDs can send no more. @return 0, ENOENT. */
int tp_roce_addr_del(struct ibv_context *ctx, const struct sockaddr *addr);
/** The router towards networks that no prefix covers; NULL takes it away. @return 0, EINVAL. */
int tp_roce_gateway(struct ibv_context *ctx, const struct sockaddr *addr);

/**
 * Asks for the neighbour of a destination, without waiting: ARP (RFC 826) or neighbour discovery (RFC 4861).
 * @param sgid_index whose network
 * @param[out] mac filled when 0 is returned
 * @return 0; EINPROGRESS: asked, call again; EHOSTUNREACH: no answer, or no route; EINVAL.
 */
int tp_roce_resolve(struct ibv_context *ctx, uint32_t sgid_index, const union ibv_gid *dgid, uint8_t mac[6]);

/** UDP source port of a connection by R-2: (src XOR dst) OR 0xc000. */
static inline uint16_t
tp_roce_udp_sport(uint16_t src, uint16_t dst)
{
	return (uint16_t)((src ^ dst) | 0xc000);
}

/* --- protection domains, memory --------------------------------------------------------------------------------- */

struct ibv_pd *tp_roce_alloc_pd(struct ibv_context *ctx);
int tp_roce_dealloc_pd(struct ibv_pd *pd);
/**
 * Registers memory: hugepages of DPDK, or external memory that the application gave to EAL (rte_extmem_register,
 * rte_dev_dma_map). @return NULL and errno: EINVAL, EFAULT (the card cannot reach it), ENOMEM.
 */
struct ibv_mr *tp_roce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
struct ibv_mr *tp_roce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access);
/**
 * Registers all memory of a pool of mbufs once: one region whose addresses are those of the mbufs' data, so that
 * { rte_pktmbuf_mtod(m), len, lkey } is a scatter/gather entry of a work request.
 * @return NULL and errno: EFAULT there is no memory of EAL between the pool's chunks, EPERM there is memory of others between
 *   them and access is open from afar, otherwise as tp_roce_reg_mr().
 */
struct ibv_mr *tp_roce_reg_mempool(struct ibv_pd *pd, struct rte_mempool *pool, int access);
/**
 * Gives a region other memory, another protection domain or other rights, under the keys that it has (11.2.8.8). No request may
 * be using it.
 * @param flags what is to change, at least one of IBV_REREG_MR_CHANGE_TRANSLATION (addr, length), _CHANGE_PD and _CHANGE_ACCESS;
 *   arguments of what is not to change are not looked at
 * @return 0; IBV_REREG_MR_ERR_INPUT and errno, the region is as it was: EINVAL, EBUSY windows are bound to it, EOPNOTSUPP, EFAULT,
 *   ENOMEM; IBV_REREG_MR_ERR_CMD and EIO: the card is lost, or has the region no more, which can only be deregistered.
 */
int tp_roce_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access);
int tp_roce_dereg_mr(struct ibv_mr *mr);
/** Most pages of a region for fast registration. */
#define TP_ROCE_FAST_REG_PAGES 511u
/**
 * A region without memory, for fast registration (IBTA 10.6.4.3): tp_roce_fast_reg_mr() gives it some by a work request,
 * IBV_WR_LOCAL_INV or the peer's IBV_WR_SEND_WITH_INV takes it away again, and no command of the card is needed. Without
 * memory its keys open nothing. tp_roce_dereg_mr() ends it.
 * @param max_pages of its memory, 1..TP_ROCE_FAST_REG_PAGES. The largest pages that fit are taken, of 4 KiB at least: memory of a
 *   hugepage may need one, any other of N octets at most N / 4096 + 2.
 * @return NULL and errno: EINVAL, ENOMEM, EOPNOTSUPP without IBV_DEVICE_MEM_MGT_EXTENSIONS.
 */
struct ibv_mr *tp_roce_alloc_mr(struct ibv_pd *pd, uint32_t max_pages);
struct tp_roce_fast_reg {
	uint64_t wr_id;
	unsigned int send_flags; /**< IBV_SEND_SIGNALED, IBV_SEND_FENCE */
	int access;              /**< IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_* */
	void *addr;              /**< the memory, as tp_roce_reg_mr() takes it */
	size_t length;           /**< octets, from 1 */
	uint64_t iova; /**< address of its first octet in work requests; the same place in a page of 4 KiB as addr */
};
/**
 * Posts the request, which completes with IBV_WC_DRIVER1, or with IBV_WC_MW_BIND_ERR when the region has memory already. Requests
 * behind it in the queue may use the region by the lkey and rkey that mr has when the call returns: of the same
 * number, with another last byte. Call it again for the same region only when a completion has shown that this request is over.
 * @param qp an RC queue pair of the region's protection domain
 * @return as ibv_post_send(), and EINVAL, EPERM, EOPNOTSUPP another right. EINVAL also: the memory has more pages than the region
 *   takes, or is none that the card can reach.
 */
int tp_roce_fast_reg_mr(struct ibv_qp *qp, struct ibv_mr *mr, const struct tp_roce_fast_reg *reg);
/** Type 1 or 2 (10.6.7.2). @return NULL and errno: EOPNOTSUPP the home has none. */
struct ibv_mw *tp_roce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int tp_roce_dealloc_mw(struct ibv_mw *mw);
/** Binds a window of type 1; type 2 is bound by IBV_WR_BIND_MW. @return as ibv_post_send(). */
int tp_roce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* --- completion queues ------------------------------------------------------------------------------------------ */

struct ibv_comp_channel *tp_roce_create_comp_channel(struct ibv_context *ctx);
int tp_roce_destroy_comp_channel(struct ibv_comp_channel *channel);
struct ibv_cq *tp_roce_create_cq(struct ibv_context *ctx, int cqe, void *cq_context, struct ibv_comp_channel *channel,
				 int comp_vector);
/**
 * Moderation: the event of a queue that is armed waits until cq_period us after its first completion, or for cq_count of
 * them; 0..65535 each. A count of 0 is no number; a period of 0 is over at once. @return 0, errno.
 */
int tp_roce_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
/**
 * Makes room for cqe completions, 1..max_cqe, or for fewer than before; as many as there is room for then are in cq->cqe. What was
 * not polled stays, and what comes meanwhile is not lost. Nobody polls the queue or arms it during the call (11.2.8.3).
 * @return 0; EINVAL: cqe is out of range, or less than what waits to be polled; ENOMEM; EIO: the port has lost its card.
 */
int tp_roce_resize_cq(struct ibv_cq *cq, int cqe);
int tp_roce_destroy_cq(struct ibv_cq *cq);
/**
 * Waits, unless the channel's descriptor does not block. Each event must be acknowledged, or destroying its queue waits.
 * @return 0, or -1 and errno: EAGAIN, EINTR.
 */
int tp_roce_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
void tp_roce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

/* --- queue pairs ------------------------------------------------------------------------------------------------ */

struct ibv_qp *tp_roce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
/** In device_cap_flags: datagrams of IPoIB are cut into segments by the card. Linux's number, which verbs.h has no name for. */
#define TP_ROCE_DEVICE_UD_TSO (1u << 19)
/**
 * The same for datagrams or raw packets with large sends (IBV_WR_TSO): comp_mask has IBV_QP_INIT_ATTR_PD and
 * IBV_QP_INIT_ATTR_MAX_TSO_HEADER and nothing else. A request has the headers in tso.hdr, at most max_tso_header octets, those of
 * datagrams from the four octets of RFC 4391 on, of raw packets from the destination's MAC on, and payload of TCP in its list; each
 * segment gets tso.mss octets of it, the headers with their lengths, numbers and checksums.
 * @return NULL and errno: as tp_roce_create_qp(); EOPNOTSUPP for another type, for datagrams without TP_ROCE_DEVICE_UD_TSO, or where
 *   the card makes no segments; EINVAL another bit in comp_mask or a longer header than the card takes, 128 or 60.
 */
struct ibv_qp *tp_roce_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr);
/**
 * States and attributes of 10.3.1 and 11.2.5.2. With IBV_QP_AV of a destination whose neighbour is not known yet the call
 * resolves it, for 3 s at most: it drives the port if the calling thread is the port's or there is none, or else waits for
 * that thread. It cannot wait where the caller itself would have to bring the answer: on the port's thread with app_rx, and
 * within a callback.
 * @return 0, EINVAL (which attribute is missing, illegal or out of range is logged), EHOSTUNREACH, EAGAIN: the neighbour
 *   was asked, call again when the port has received more.
 */
int tp_roce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
int tp_roce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr);
int tp_roce_destroy_qp(struct ibv_qp *qp);
/** The UDP source port of a RoCEv2 queue pair, before RTR. @return 0, EINVAL below 0xc000 or in another state. */
int tp_roce_set_udp_sport(struct ibv_qp *qp, uint16_t port);

/*
 * Raw packets (IBV_QPT_RAW_PACKET): a queue pair of an Ethernet port of a card whose requests are whole frames, from the destination
 * address on and without FCS. Its states are RESET, INIT (port_num alone), RTR and RTS (nothing), ERR. IBV_WR_SEND is its only
 * opcode; a frame has 14 octets at least, 17 inline, and 22 more than the MTU at most; the card pads short ones. IBV_SEND_IP_CSUM:
 * the card puts in the sums of IPv4, TCP and UDP. A received frame has its tags; IBV_WC_IP_CSUM_OK says that the sums of IPv4 and
 * of the TCP or UDP over it are right. A frame that is longer than its receive request ends it with IBV_WC_LOC_LEN_ERR,
 * and the queue pair goes on; where the card has put it into ERR, no receive request is taken. Frames go
 * to the wire, not to queues of the same port.
 */

/**
 * Gives frames to a raw packet queue pair, which receives none without a rule, until the rule is destroyed. Frames that agree with
 * all specifications in the bits of their masks go to it and to nobody else, not to the queues of the ethdev either: these rules
 * come before those of rte_flow and the port's addresses. Two rules of one priority that say the same give each a copy.
 * @param attr type IBV_FLOW_ATTR_NORMAL, port 1, flags 0, priority 0 (first) .. 4095; behind it at most one IBV_FLOW_SPEC_ETH, _IPV4
 *   or _IPV4_EXT, and _TCP or _UDP, in this order; ether_type is the one behind the tag where vlan_tag is masked in.
 *   No specification: all frames.
 * @param qp not in RESET
 * @return NULL and errno: EINVAL a value out of its range, or another type of queue pair; EOPNOTSUPP what the card does not compare;
 *   ENOMEM, EIO.
 */
struct ibv_flow *tp_roce_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
/** The queue pair can go when its rules have gone. @return 0. */
int tp_roce_destroy_flow(struct ibv_flow *flow);

struct ibv_srq *tp_roce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int tp_roce_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask);
int tp_roce_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int tp_roce_destroy_srq(struct ibv_srq *srq);

/**
 * Gives back what was posted to a shared receive queue that no queue pair uses any more: calls fn with the wr_id of each request
 * that has not completed. Nothing may be posted to it afterwards, it can only be destroyed.
 * @return 0, EBUSY: queue pairs use it, EOPNOTSUPP, ENOMEM.
 */
int tp_roce_recall_srq(struct ibv_srq *srq, void (*fn)(void *arg, uint64_t wr_id), void *arg);

/** Resolves the neighbour as tp_roce_modify_qp() does. @return NULL and errno: EINVAL, EHOSTUNREACH, EAGAIN, ENOMEM. */
struct ibv_ah *tp_roce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int tp_roce_init_ah_from_wc(struct ibv_context *ctx, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh,
			    struct ibv_ah_attr *attr);
struct ibv_ah *tp_roce_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port);
int tp_roce_destroy_ah(struct ibv_ah *ah);
int tp_roce_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int tp_roce_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* --- receive-side scaling of datagrams (InfiniBand) ------------------------------------------------------------- */

/*
 * A parent is a queue pair of datagrams without queues: what is sent to its number, or to groups that it is attached to, is
 * received by a ring of a table, by the Toeplitz hash of the packet of IP that follows the four octets of RFC 4391. What is not
 * hashed goes to ring 0. A ring is a queue pair of datagrams, too: partition and Q_Key of parent and ring must fit.
 */

/** What is hashed, a set of these: addresses of IP; of TCP and UDP addresses and ports. Fragments are hashed as IP or not at all. */
enum tp_roce_rss_type {
	TP_ROCE_RSS_IPV4 = 1 << 0,
	TP_ROCE_RSS_TCP_IPV4 = 1 << 1,
	TP_ROCE_RSS_UDP_IPV4 = 1 << 2,
	TP_ROCE_RSS_IPV6 = 1 << 3,
	TP_ROCE_RSS_TCP_IPV6 = 1 << 4,
	TP_ROCE_RSS_UDP_IPV6 = 1 << 5,
};
#define TP_ROCE_RSS_KEY 40u /* octets of a key */

struct tp_roce_rss_caps {
	uint32_t max_rings; /* of a table; 0: there are none */
	uint32_t types;     /* enum tp_roce_rss_type */
};
/** What tables the port has. */
void tp_roce_query_rss(struct ibv_context *ctx, struct tp_roce_rss_caps *caps);

/** Where a ring receives: buffers of srq, completions in cq; rings may share both. */
struct tp_roce_ring {
	struct ibv_cq *cq;
	struct ibv_srq *srq;
};
struct tp_roce_table;
/**
 * Rings with consecutive numbers, in RESET.
 * @param num a power of two, 2..max_rings
 * @return NULL and errno: EINVAL, EOPNOTSUPP the port has no tables, ENOMEM no memory or no numbers, EIO.
 */
struct tp_roce_table *tp_roce_create_table(struct ibv_pd *pd, const struct tp_roce_ring *rings, uint32_t num);
/** As tp_roce_modify_qp(), of each ring; those before the one that fails are changed. */
int tp_roce_modify_table(struct tp_roce_table *table, struct ibv_qp_attr *attr, int attr_mask);
/**
 * What its rings have completed must have been polled before; their completion queues may be polled meanwhile.
 * @return 0, EBUSY: a parent names it.
 */
int tp_roce_destroy_table(struct tp_roce_table *table);

/**
 * A parent, in RESET, without a table; its completion queue gets nothing. It is changed, attached and destroyed as any queue pair.
 * @return NULL and errno: as tp_roce_create_qp(), EOPNOTSUPP the port has no tables.
 */
struct ibv_qp *tp_roce_create_parent(struct ibv_pd *pd, struct ibv_cq *cq);
/**
 * What a parent, in RESET, does from its next RTR on; rings may then not be in RESET.
 * @param table NULL: takes it from the old one, which may then go
 * @param key TP_ROCE_RSS_KEY octets
 * @return 0, EINVAL: not a parent, not in RESET, types that the port has not.
 */
int tp_roce_set_table(struct ibv_qp *parent, struct tp_roce_table *table, const uint8_t *key, uint32_t types);

/* --- asynchronous events ---------------------------------------------------------------------------------------- */

/** Waits, unless ctx->async_fd does not block; each event must be acknowledged. @return 0, or -1 and errno: EAGAIN, EINTR. */
int tp_roce_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event);
void tp_roce_ack_async_event(struct ibv_async_event *event);

/* --- statistics (R-11) ------------------------------------------------------------------------------------------ */

typedef void (*tp_roce_stat_fn)(void *arg, const char *name, uint64_t value);
/** Calls fn for each counter of the port, always the same ones in the same order. @return 0, EIO. */
int tp_roce_stats(struct ibv_context *ctx, tp_roce_stat_fn fn, void *arg);
/**
 * The same for those alone that the home of the queue pairs counts, a card: of all that use the port, since the card was
 * started, modulo 2^32; no call resets them. @return 0, ENOTSUP: it counts nothing, EIO.
 */
int tp_roce_home_stats(struct ibv_context *ctx, tp_roce_stat_fn fn, void *arg);
/**
 * One counter of the port by its name; names are the same in both homes, where they count the same: req_* of requesters, resp_* of
 * responders. The names that software had before (requester_*, responder_*, ud_discarded ...) are understood.
 * @return 0, ENOENT no such counter, EIO.
 */
int tp_roce_stat(struct ibv_context *ctx, const char *name, uint64_t *value);

/* --- congestion control (R-9) ----------------------------------------------------------------------------------- */

#define TP_ROCE_PRIOS 8 /**< priorities of Ethernet, 0..7 */

/**
 * DCQCN of RoCE v2, by priority: packets say that they know ECN (RFC 3168), who receives marked ones tells the sender by CNPs
 * (IBTA annex A17.9), and the sender limits its queue pair, of datagrams to all destinations. Off at first. In software, address
 * handles have what was on when they were made; on the card, datagrams say nothing.
 * @param prios bit n: priority n
 * @return 0, EOPNOTSUPP the home of the port, or its firmware, has none; EIO.
 */
int tp_roce_cc_enable(struct ibv_context *ctx, uint8_t prios, bool on);
bool tp_roce_cc_enabled(struct ibv_context *ctx, unsigned int prio);

/**
 * Published algorithms differ in more than parameters: "card" is as the card's manual has it, "paper" as the paper, "vendor-hpcc"
 * ("vendor", too) as simulators have later cards. @return the name of variant i, from 0; NULL behind the last.
 */
const char *tp_roce_cc_variant_name(unsigned int i);
/**
 * Another variant, with the defaults that it has for all parameters. What is on stays on.
 * @return 0, ENOENT no such variant, EOPNOTSUPP (also of another than "card" where the card does it), EIO.
 */
int tp_roce_cc_set_variant(struct ibv_context *ctx, uint8_t prios, const char *name);
/** @return its name, NULL as tp_roce_cc_get() fails. */
const char *tp_roce_cc_variant(struct ibv_context *ctx, unsigned int prio);

/** A parameter of it. */
struct tp_roce_cc_param {
	const char *name; /**< the vendor's: "ai-rate", ... */
	const char *ofed; /**< that of its driver for Linux, which calls take, too: "rpgAiRate"; "": none */
	const char *unit; /**< "us", "Mb/s", "%", ...; "" for a number */
	uint64_t min, max;
	bool line; /**< a rate: at most that of the line, which is then max */
};
/** Parameter i, from 0; @return NULL behind the last. */
const struct tp_roce_cc_param *tp_roce_cc_param(unsigned int i);
/**
 * Sets it, live. A rate above the line's becomes the line's, and that is said in the log.
 * @return 0, ENOENT no such parameter, ERANGE, EOPNOTSUPP (also of a parameter that the card has not: initial-alpha,
 *	rate-reduce-monitor-period, cnp-prio-mode), EIO; the log names value and range.
 */
int tp_roce_cc_set(struct ibv_context *ctx, uint8_t prios, const char *name, uint64_t value);
/** @return 0, ENOENT, EINVAL no such priority, EOPNOTSUPP. */
int tp_roce_cc_get(struct ibv_context *ctx, unsigned int prio, const char *name, uint64_t *value);
/** All parameters as its variant has them; what is on stays on. @return as tp_roce_cc_enable(). */
int tp_roce_cc_defaults(struct ibv_context *ctx, uint8_t prios);
/**
 * Parameters and switch as they were before they were first changed here: off with the defaults, or what a card has stored.
 * @return as tp_roce_cc_enable().
 */
int tp_roce_cc_restore(struct ibv_context *ctx, uint8_t prios);
/**
 * Its counters of these priorities start again; what is limited stays so.
 * @return 0, EINVAL in software those of all priorities are one (0xff), EOPNOTSUPP, EIO.
 */
int tp_roce_cc_clear(struct ibv_context *ctx, uint8_t prios);

/** A queue pair that it limits now. */
struct tp_roce_cc_limited {
	uint32_t qp_num;
	uint32_t dest_qp_num;                /**< the peer's; 0 of datagrams */
	unsigned int prio;                   /**< whose parameters limit it */
	uint64_t kbps, target_kbps;          /**< its rate, and where increases lead it */
	unsigned int alpha;                  /**< 1/1024 */
	unsigned int time_stage, byte_stage; /**< since the last cut */
	uint32_t requests;                   /**< send requests that wait or are on their way */
	bool shared;                         /**< of a program on shared ports, whose requests are not known */
};
/**
 * Those of the port, the slowest first, by now. Its thread waits for as long as this looks.
 * @param max room of list; n: how many there are, of which the first max are in list
 * @return 0, EOPNOTSUPP a card does not say which they are.
 */
int tp_roce_cc_limited(struct ibv_context *ctx, struct tp_roce_cc_limited *list, unsigned int max, unsigned int *n);

/* --- capture (O-5) ---------------------------------------------------------------------------------------------- */

/**
 * Writes all RoCE packets of the port, those that come and those that go, to a pcapng file, with time and direction. Packets
 * between queue pairs of the same port are on no wire and in no file. It costs the port's thread a copy of each packet.
 * @param file is made, or overwritten
 * @param snaplen octets of each packet that are kept, 64..4352; 0: all
 * @return 0, EINVAL, EBUSY a capture runs already, ENOTSUP the home does not show its packets, ENOMEM, or what open() says.
 */
int tp_roce_capture_start(struct ibv_context *ctx, const char *file, uint32_t snaplen);
/**
 * Ends it; the file is complete when it returns. Closing the device does it, too.
 * @param[out] captured packets in the file, NULL: not wanted
 * @param[out] lost packets that came faster than they could be written, NULL: not wanted
 * @return 0, ENOENT no capture runs, EIO not all could be written.
 */
int tp_roce_capture_stop(struct ibv_context *ctx, uint64_t *captured, uint64_t *lost);

#ifdef __cplusplus
}
#endif

#endif /* TP_ROCE_H */
