/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The queue pair: memory, frames both ways, neighbours. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/verbs/verbs_client.h"

#include "sockets.h"
#include "steer.h"

#define RECVS_MAX 2048u /* more than a peer may send before it is answered */
#define SENDS 1024u
#define BURST 32u
#define SIGNAL_EVERY 16u
/* Of a frame, of which one of more is copied, and of a large send; a WQE has 256 octets. */
#define PIECES 8u
#define LARGE_HEADER (RTE_ETHER_HDR_LEN + 80u)
#define LARGE_MAX 65536u
#define HEADERS (RTE_ETHER_HDR_LEN + 4u) /* with a tag */
/* A neighbour's MAC is asked for again after so long, and one that did not answer after a shorter time. */
#define FRESH_US UINT64_C(10000000)
#define RETRY_US UINT64_C(1000)
#define NEIGHBOURS 1024u /* a power of two: an entry has one place */

struct neighbour {
	rte_be32_t ip; /* 0: free */
	struct rte_ether_addr mac;
	const struct home_addr *from; /* our address that was asked by; NULL: none was */
	bool known;
	int err; /* -EAGAIN while it is asked for */
	uint64_t again;
};

struct home {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int vector_fd;                    /* the card tells by it alone, -1: */
	struct ibv_comp_channel *channel; /* by the owner, and this */
	bool tso;
	/* Apart, so that a frame that has left wakes nobody. */
	struct ibv_cq *cq, *send_cq;
	struct ibv_qp *qp;
	uint8_t *mem;
	size_t mem_len;
	struct rte_mempool *pool, *rx_pool; /* neither can take the other's: what is sent, and what comes */
	uint16_t mtu, mtu_max;              /* of the port; of what is sent, if that is less */
	unsigned int num_addrs;
	struct home_addr addr[HOME_ADDRS];
	struct rte_ether_addr mac;
	/* Frames under way. Sends complete in order, one of several tells. */
	struct rte_mbuf *sent[SENDS];
	uint32_t send_head, send_tail, unsignaled;
	uint32_t recvs, posted; /* receive requests that the card may have, and has */
	struct steer *steer;
	struct neighbour neigh[NEIGHBOURS];
};

/* --- frames in ------------------------------------------------------------------------------------------------------ */

static void
refill(struct home *h)
{
	struct ibv_recv_wr wr[BURST], *bad;
	struct rte_mbuf *m[BURST];
	struct ibv_sge sge[BURST];

	while (h->recvs - h->posted >= BURST && rte_pktmbuf_alloc_bulk(h->rx_pool, m, BURST) == 0) {
		for (unsigned int i = 0; i < BURST; i++) {
			sge[i] = (struct ibv_sge){(uintptr_t)rte_pktmbuf_mtod(m[i], void *),
						  m[i]->buf_len - (uint32_t)m[i]->data_off, h->mr->lkey};
			wr[i] = (struct ibv_recv_wr){.wr_id = (uintptr_t)m[i],
						     .next = i + 1 < BURST ? &wr[i + 1] : NULL,
						     .sg_list = &sge[i],
						     .num_sge = 1};
		}
		if (ibv_post_recv(h->qp, wr, &bad) != 0) {
			for (unsigned int i = (unsigned int)(bad - wr); i < BURST; i++)
				rte_pktmbuf_free(m[i]);
			h->posted += (uint32_t)(bad - wr);
			return;
		}
		h->posted += BURST;
	}
}

static struct neighbour *
place_of(struct home *h, rte_be32_t ip)
{
	const uint32_t v = rte_be_to_cpu_32(ip);

	return &h->neigh[(v ^ v >> 10 ^ v >> 20) & (NEIGHBOURS - 1)];
}

/* A peer that calls, or sends a datagram, is answered the way it came, until it is asked for. */
static void
learn(struct home *h, const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);
	const struct rte_tcp_hdr *th = (const struct rte_tcp_hdr *)(ip + 1);
	const bool udp = ip->next_proto_id == IPPROTO_UDP;
	struct neighbour *n;

	if (m->data_len < sizeof(*eth) + sizeof(*ip) + (udp ? sizeof(struct rte_udp_hdr) : sizeof(*th)) ||
	    eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4) || ip->version_ihl != RTE_IPV4_VHL_DEF ||
	    (!udp && (th->tcp_flags & (RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG)) != RTE_TCP_SYN_FLAG) ||
	    !rte_is_unicast_ether_addr(&eth->src_addr) || !rte_is_unicast_ether_addr(&eth->dst_addr))
		return;
	n = place_of(h, ip->src_addr);
	if (n->ip == ip->src_addr && n->known)
		return;
	*n = (struct neighbour){.ip = ip->src_addr, .mac = eth->src_addr, .known = true};
}

static struct rte_mbuf *
frame_of(struct home *h, const struct ibv_wc *wc)
{
	struct rte_mbuf *m = (struct rte_mbuf *)(uintptr_t)wc->wr_id;

	h->posted--;
	if (wc->status != IBV_WC_SUCCESS) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	m->data_len = (uint16_t)wc->byte_len;
	m->pkt_len = wc->byte_len;
	/* What the card did not find right is looked at by the engine. */
	m->ol_flags =
		(wc->wc_flags & IBV_WC_IP_CSUM_OK) != 0 ? RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0;
	learn(h, m);
	return m;
}

/* Frames that have left are free again. */
static void
sends_done(struct home *h)
{
	struct ibv_wc wc[BURST];
	int n = h->send_head == h->send_tail ? 0 : ibv_poll_cq(h->send_cq, BURST, wc);

	/* The last one tells of those before it. */
	while (n > 0 && h->send_tail != (uint32_t)wc[n - 1].wr_id) {
		rte_pktmbuf_free(h->sent[h->send_tail & (SENDS - 1)]);
		h->send_tail++;
	}
}

static uint16_t
home_rx(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct home *h = home;
	struct ibv_wc wc[BURST];
	uint16_t k = 0, most;
	int got;

	sends_done(h);
	/* Fewer than there is room for means that no more have come. */
	do {
		most = (uint16_t)RTE_MIN((unsigned int)(n - k), BURST);
		got = ibv_poll_cq(h->cq, most, wc);
		for (int i = 0; i < got; i++) {
			m[k] = frame_of(h, &wc[i]);
			k += m[k] != NULL;
		}
	} while (got == most && k < n);
	if (h->recvs - h->posted >= BURST)
		refill(h);
	return k;
}

/* --- frames out ----------------------------------------------------------------------------------------------------- */

/* Many small writes behind each other: one mbuf. False: there is none. */
static bool
flatten(struct home *h, struct rte_mbuf **m)
{
	const bool fits = (*m)->nb_segs <= PIECES || ((*m)->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
	struct rte_mbuf *one = fits ? *m : rte_pktmbuf_alloc(h->pool);

	if (one == *m)
		return true;
	if (one == NULL)
		return false;
	for (const struct rte_mbuf *s = *m; s != NULL; s = s->next)
		memcpy(rte_pktmbuf_append(one, s->data_len), rte_pktmbuf_mtod(s, const void *), s->data_len);
	rte_pktmbuf_free(*m);
	*m = one;
	return true;
}

/* A frame, or a large send: its headers are what the card makes those of the segments of. */
static void
request(const struct home *h, const struct rte_mbuf *m, struct ibv_sge *sge, struct ibv_send_wr *wr)
{
	const uint32_t skip = (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 ? m->l2_len + m->l3_len + m->l4_len : 0;

	*wr = (struct ibv_send_wr){.sg_list = sge, .opcode = IBV_WR_SEND};
	if ((m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0)
		wr->send_flags = IBV_SEND_IP_CSUM;
	if (skip != 0) {
		wr->opcode = IBV_WR_TSO;
		wr->tso.hdr = rte_pktmbuf_mtod(m, void *);
		wr->tso.hdr_sz = (uint16_t)skip;
		wr->tso.mss = m->tso_segsz;
	}
	sge[0] = (struct ibv_sge){(uintptr_t)rte_pktmbuf_mtod(m, uint8_t *) + skip, m->data_len - skip, h->mr->lkey};
	/* The headers may be alone in the first. */
	wr->num_sge = sge[0].length != 0;
	for (m = m->next; m != NULL; m = m->next)
		sge[wr->num_sge++] = (struct ibv_sge){(uintptr_t)rte_pktmbuf_mtod(m, void *), m->data_len, h->mr->lkey};
}

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct home *h = home;
	struct ibv_send_wr wr[BURST], *bad;
	struct ibv_sge sge[BURST][PIECES];
	uint32_t k;

	if (unlikely(SENDS - (h->send_head - h->send_tail) < BURST))
		sends_done(h);
	n = (uint16_t)RTE_MIN(RTE_MIN(n, BURST), SENDS - (h->send_head - h->send_tail));
	for (k = 0; k < n && flatten(h, &m[k]); k++)
		;
	n = (uint16_t)k;
	for (k = 0; k < n; k++) {
		const bool tell = ++h->unsignaled == SIGNAL_EVERY || k + 1 == n;

		request(h, m[k], sge[k], &wr[k]);
		wr[k].wr_id = h->send_head + k + 1;
		wr[k].next = k + 1U < n ? &wr[k + 1] : NULL;
		if (!tell)
			continue;
		h->unsignaled = 0;
		wr[k].send_flags |= IBV_SEND_SIGNALED;
	}
	if (n == 0)
		return 0;
	if (ibv_post_send(h->qp, wr, &bad) != 0)
		n = (uint16_t)(bad - wr);
	for (k = 0; k < n; k++)
		h->sent[h->send_head++ & (SENDS - 1)] = m[k];
	return n;
}

static bool
home_sent(void *home)
{
	const struct home *h = home;

	return h->send_head == h->send_tail;
}

/* --- events --------------------------------------------------------------------------------------------------------- */

static void
home_arm(void *home)
{
	struct home *h = home;

	(void)ibv_req_notify_cq(h->cq, 0);
	/* What waits for room goes on when there is some; an answer need not come before. */
	if (h->send_head - h->send_tail > SENDS / 2)
		(void)ibv_req_notify_cq(h->send_cq, 0);
}

static int
home_event_fd(void *home)
{
	const struct home *h = home;

	return h->vector_fd >= 0 ? h->vector_fd : h->channel->fd;
}

static void
home_event(void *home)
{
	struct home *h = home;
	struct ibv_cq *cq;
	uint64_t count;
	void *ctx;

	if (h->vector_fd >= 0) {
		/* Looked at behind this: what comes later tells again. */
		(void)!read(h->vector_fd, &count, sizeof(count));
		vc_cq_told(h->cq);
		vc_cq_told(h->send_cq);
		return;
	}
	if (ibv_get_cq_event(h->channel, &cq, &ctx) == 0)
		ibv_ack_cq_events(cq, 1);
}

/* --- ways ----------------------------------------------------------------------------------------------------------- */

static const struct home_addr *
addr_of(const struct home *h, rte_be32_t ip)
{
	for (unsigned int i = 0; i < h->num_addrs; i++)
		if (h->addr[i].ip == ip || ip == 0)
			return &h->addr[i];
	return NULL;
}

static union ibv_gid
gid_of(rte_be32_t ip)
{
	union ibv_gid gid = {.raw = {0}};

	gid.raw[10] = gid.raw[11] = 0xff;
	memcpy(gid.raw + 12, &ip, sizeof(ip));
	return gid;
}

static int
resolve(struct home *h, const struct home_addr *from, struct neighbour *n, uint64_t now)
{
	const union ibv_gid gid = gid_of(n->ip);
	int err = vc_resolve(h->ctx, from->gid, &gid, n->mac.addr_bytes);

	n->from = from;
	switch (err) {
	case 0:
		n->known = true;
		n->again = now + FRESH_US;
		return 0;
	case EINPROGRESS: n->again = now + RETRY_US; return -EAGAIN;
	case EIO: return -ENETDOWN; /* the owner is gone */
	default: n->again = now + RETRY_US; return -err;
	}
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	struct home *h = home;
	const struct home_addr *from = addr_of(h, local);
	struct neighbour *n = place_of(h, remote);
	const uint64_t now = sock_now();

	if (from == NULL)
		return -EADDRNOTAVAIL;
	if (local == 0 && n->ip == remote && n->from != NULL)
		from = n->from;
	*path = (struct tcp_path){.src = h->mac, .local = from->ip, .mtu = RTE_MIN(h->mtu, h->mtu_max)};
	if ((remote & RTE_BE32(0xf0000000)) == RTE_BE32(0xe0000000))
		return 0; /* a group has its MAC by itself */
	if (n->ip != remote)
		*n = (struct neighbour){.ip = remote};
	/* That the networks of one address lead nowhere says nothing of another's. */
	if (now >= n->again || (n->from != from && n->err == -ENETUNREACH))
		n->err = resolve(h, from, n, now);
	for (unsigned int i = 0; local == 0 && n->err == -ENETUNREACH && i < h->num_addrs; i++)
		n->err = resolve(h, &h->addr[i], n, now);
	if (local == 0 && n->from != NULL)
		path->local = n->from->ip;
	/* One that was known is used until another is. */
	n->known &= n->err != -EHOSTUNREACH;
	if (!n->known)
		return n->err;
	path->dst = n->mac;
	return 0;
}

static bool
home_local(void *home, rte_be32_t ip)
{
	return ip != 0 && addr_of(home, ip) != NULL;
}

static int
home_steer(void *home, bool udp, rte_be16_t port, bool on)
{
	return steer_port(((struct home *)home)->steer, udp, port, on);
}

static int
home_steer_conn(void *home, const struct tcp_addr *local, const struct tcp_addr *remote, bool on)
{
	return steer_conn(((struct home *)home)->steer, local, remote, on);
}

static int
home_steer_group(void *home, rte_be32_t group, bool on)
{
	int err = steer_group(((struct home *)home)->steer, group, on);

	if (err == 0)
		stat_group(group, on);
	return err;
}

const struct sock_home home_ops = {
	.rx = home_rx,
	.tx = home_tx,
	.sent = home_sent,
	.arm = home_arm,
	.event_fd = home_event_fd,
	.event = home_event,
	.path = home_path,
	.local = home_local,
	.steer = home_steer,
	.steer_conn = home_steer_conn,
	.steer_group = home_steer_group,
};

/* --- opening -------------------------------------------------------------------------------------------------------- */

static struct ibv_context *
device_open(unsigned int index, const char **why)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device **list;
	int num;

	list = ibv_get_device_list(&num);
	if (list == NULL)
		return NULL;
	if (num == 0)
		*why = "no process shares a port there";
	else if ((unsigned int)num <= index)
		*why = "the process there shares fewer ports than that";
	else
		ctx = ibv_open_device(list[index]);
	if (ctx == NULL && num > 0 && (unsigned int)num > index && errno == EAGAIN)
		*why = "the program may not begin a thread";
	ibv_free_device_list(list);
	return ctx;
}

/* Addresses without a tag. */
static void
addrs_read(struct home *h)
{
	struct ibv_gid_entry e[256];
	ssize_t n = ibv_query_gid_table(h->ctx, e, 256, 0);
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1};
	uint16_t vid;

	for (ssize_t i = 0; i < n && h->num_addrs < HOME_ADDRS; i++) {
		const union ibv_gid like = gid_of(0);

		if (e[i].gid_type != IBV_GID_TYPE_ROCE_V2 || memcmp(e[i].gid.raw, like.raw, 12) != 0)
			continue;
		ah.grh.dgid = e[i].gid;
		ah.grh.sgid_index = (uint8_t)e[i].gid_index;
		/* An address of ours is at our MAC. */
		if (ibv_resolve_eth_l2_from_gid(h->ctx, &ah, h->mac.addr_bytes, &vid) != 0 || vid != 0xffff)
			continue;
		memcpy(&h->addr[h->num_addrs].ip, e[i].gid.raw + 12, 4);
		h->addr[h->num_addrs++].gid = e[i].gid_index;
	}
}

static bool
memory(struct home *h, unsigned int mbufs)
{
	const unsigned int room = RTE_MAX(TCP_MBUF_FRONT, (unsigned int)RTE_PKTMBUF_HEADROOM) + h->mtu + HEADERS;

	h->mem_len = RTE_ALIGN_CEIL(pool_size(mbufs, room), 4096);
	h->mem = mmap(NULL, h->mem_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (h->mem == MAP_FAILED)
		return false;
	h->pool = pool_make(h->mem, mbufs - mbufs / 8 * 5, room);
	h->rx_pool = pool_make(h->mem + pool_size(mbufs - mbufs / 8 * 5, room), mbufs / 8 * 5, room);
	h->mr = ibv_reg_mr(h->pd, h->mem, h->mem_len, IBV_ACCESS_LOCAL_WRITE);
	/* A child of fork() has no use for frames of its parent. */
	return h->pool != NULL && h->rx_pool != NULL && h->mr != NULL &&
	       madvise(h->mem, h->mem_len, MADV_DONTFORK) == 0;
}

/* By a vector of this process's own where there is one left: nobody else has to run before this process is woken. */
static bool
completions(struct home *h)
{
	if (vc_own_vector(h->ctx, &h->vector_fd) == 0) {
		h->cq = vc_create_cq_own(h->ctx, (int)h->recvs);
		h->send_cq = vc_create_cq_own(h->ctx, SENDS);
		return h->cq != NULL && h->send_cq != NULL;
	}
	h->vector_fd = -1;
	h->channel = ibv_create_comp_channel(h->ctx);
	if (h->channel == NULL || fcntl(h->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return false;
	h->cq = ibv_create_cq(h->ctx, (int)h->recvs, NULL, h->channel, 0);
	h->send_cq = ibv_create_cq(h->ctx, SENDS, NULL, h->channel, 0);
	return h->cq != NULL && h->send_cq != NULL;
}

static bool
queues(struct home *h)
{
	struct ibv_qp_init_attr a = {.cap = {SENDS, h->recvs, PIECES, 1, 0}, .qp_type = IBV_QPT_RAW_PACKET};
	struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	if (!completions(h))
		return false;
	a.send_cq = h->send_cq;
	a.recv_cq = h->cq;
	if (vc_of(h->ctx)->hca.caps.max_gso >= LARGE_MAX)
		h->qp = vc_create_qp(h->pd, &a, LARGE_HEADER);
	h->tso = h->qp != NULL;
	/* Not all cards make segments, or take headers with options. */
	if (!h->tso)
		h->qp = ibv_create_qp(h->pd, &a);
	if (h->qp == NULL || ibv_modify_qp(h->qp, &to, IBV_QP_STATE | IBV_QP_PORT) != 0)
		return false;
	h->mtu = ((const struct vc_qp *)h->qp)->mtu;
	to.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(h->qp, &to, IBV_QP_STATE) != 0)
		return false;
	to.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(h->qp, &to, IBV_QP_STATE) == 0;
}

static void
home_close(struct home *h)
{
	if (h->qp != NULL)
		(void)ibv_destroy_qp(h->qp);
	if (h->cq != NULL)
		(void)ibv_destroy_cq(h->cq);
	if (h->send_cq != NULL)
		(void)ibv_destroy_cq(h->send_cq);
	if (h->channel != NULL)
		(void)ibv_destroy_comp_channel(h->channel);
	if (h->mr != NULL)
		(void)ibv_dereg_mr(h->mr);
	if (h->pd != NULL)
		(void)ibv_dealloc_pd(h->pd);
	if (h->ctx != NULL)
		(void)ibv_close_device(h->ctx);
	steer_free(h->steer);
	free(h);
}

struct home *
home_open(unsigned int index, unsigned int mbufs, unsigned int mtu, const char **why)
{
	struct home *h = calloc(1, sizeof(*h));

	*why = "no memory";
	if (h == NULL)
		return NULL;
	vc_never_nap();                           /* each call looks, also of a program that only sends */
	h->recvs = RTE_MIN(RECVS_MAX, mbufs / 4); /* the rest of 5/8 is for what was not read */
	h->mtu_max = mtu == 0 ? UINT16_MAX : (uint16_t)mtu;
	h->ctx = device_open(index, why);
	if (h->ctx != NULL)
		addrs_read(h);
	if (h->ctx != NULL && h->num_addrs == 0)
		*why = "the port has no address of IPv4";
	if (h->num_addrs != 0) {
		*why = "the port's owner does not give a queue pair";
		h->pd = ibv_alloc_pd(h->ctx);
		if (h->pd != NULL && queues(h) && memory(h, mbufs))
			h->steer = steer_new(h->qp, &h->mac, h->addr, h->num_addrs);
		if (h->steer != NULL) {
			refill(h);
			return h;
		}
	}
	home_close(h);
	return NULL;
}

unsigned int
home_addrs(const struct home *h, struct home_addr addr[HOME_ADDRS])
{
	memcpy(addr, h->addr, sizeof(h->addr));
	return h->num_addrs;
}

struct rte_mempool *
home_pool(struct home *h, bool rx)
{
	return rx ? h->rx_pool : h->pool;
}

uint8_t
home_large(const struct home *h)
{
	return h->tso ? PIECES : 0;
}

unsigned int
home_fds(const struct home *h, int fds[4])
{
	fds[0] = h->ctx->cmd_fd;
	fds[1] = h->ctx->async_fd;
	fds[2] = h->vector_fd >= 0 ? h->vector_fd : h->channel->fd;
	return 3;
}
