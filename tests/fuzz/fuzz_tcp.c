/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A stack among a peer that says anything: segments near and far from what is expected, any options, any frames, calls in any
 * order, pools that run dry, a card that takes nothing, paths that come and go. Whatever happens, frames are well-formed, what
 * is due gets done, and each mbuf is accounted for at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <rte_eal.h>
#include <rte_ip.h>

#include "bytes.h"
#include "lib/tcp/tcp_priv.h"
#include "tests/unit/eal.h"

#define MBUFS 1023
#define CONNS 8
#define STEPS 300
#define OWN RTE_BE32(0x0a000001)
#define PEER RTE_BE32(0x0a000002)

#define MUST(x)                                                                                                        \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                              \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* What the peer knows of a connection, and may use: the numbers that are next. */
struct flow {
	uint32_t peer_seq, own_seq;
};

static struct world {
	struct tcp_stack *s;
	struct bytes in;
	uint64_t now;
	struct tcp_conn *conn[CONNS], *listener;
	struct flow flow[2][CONNS]; /* to the listener's port, and to ports that connect */
	uint32_t tsval;
	struct rte_mbuf *held[64];
	uint32_t nheld;
	uint8_t mood; /* bits: tx takes little, no path, mbufs are held */
} w;
static struct rte_mempool *pool, *rx_pool;

static void
look(const struct rte_mbuf *m)
{
	static uint8_t buf[65536 + 128];
	const uint8_t *p = rte_pktmbuf_read(m, 0, m->pkt_len, buf);
	const struct rte_ipv4_hdr *ip = (const void *)(p + RTE_ETHER_HDR_LEN);
	const struct rte_tcp_hdr *th = (const void *)(ip + 1);
	const uint32_t head = RTE_ETHER_HDR_LEN + sizeof(*ip) + (uint32_t)(th->data_off >> 4) * 4;
	struct flow *fl = &w.flow[th->src_port != RTE_BE16(80)][rte_be_to_cpu_16(th->dst_port) % CONNS];
	const char *why = "";

	MUST(rte_mbuf_check(m, 1, &why) == 0);
	MUST(m->pkt_len == RTE_ETHER_HDR_LEN + (uint32_t)rte_be_to_cpu_16(ip->total_length));
	MUST((uint32_t)(th->data_off >> 4) * 4 >= sizeof(*th) && head <= m->pkt_len);
	MUST((m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 || m->pkt_len <= 1500 + RTE_ETHER_HDR_LEN);
	if ((th->tcp_flags & RTE_TCP_RST_FLAG) != 0)
		return;
	fl->own_seq = rte_be_to_cpu_32(th->sent_seq) + m->pkt_len - head + ((th->tcp_flags & RTE_TCP_SYN_FLAG) != 0) +
		      ((th->tcp_flags & RTE_TCP_FIN_FLAG) != 0);
	if ((th->tcp_flags & RTE_TCP_ACK_FLAG) != 0)
		fl->peer_seq = rte_be_to_cpu_32(th->recv_ack);
}

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	uint16_t i;

	(void)home;
	if ((w.mood & 1) != 0)
		n = RTE_MIN(n, (uint16_t)(bytes_u8(&w.in) % 3));
	for (i = 0; i < n; i++) {
		look(m[i]);
		if ((w.mood & 4) != 0 && w.nheld < RTE_DIM(w.held))
			w.held[w.nheld++] = m[i];
		else
			rte_pktmbuf_free(m[i]);
	}
	return n;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	(void)home, (void)local, (void)remote;
	if ((w.mood & 2) != 0)
		return bytes_u8(&w.in) & 1 ? -EAGAIN : -EHOSTUNREACH;
	path->local = OWN;
	path->mtu = (w.mood & 8) != 0 ? 576 : 1500;
	path->vlan = 0;
	return 0;
}

static bool
home_local(void *home, rte_be32_t ip)
{
	(void)home;
	return ip == OWN;
}

static void
home_event(void *home, struct tcp_conn *conn, void *user, unsigned int events)
{
	(void)home, (void)user;
	MUST(conn != NULL && events != 0);
}

static uint32_t
home_random(void *home)
{
	(void)home;
	return 0x01234567;
}

static struct rte_mbuf *
chain(const uint8_t *p, uint32_t len, uint32_t piece)
{
	struct rte_mbuf *m = NULL, *k;

	do {
		const uint32_t n = RTE_MIN(len, piece);

		k = rte_pktmbuf_alloc(rx_pool);
		if (k == NULL)
			break;
		memcpy(rte_pktmbuf_append(k, (uint16_t)n), p, n);
		p += n;
		len -= n;
		if (m == NULL)
			m = k;
		else if (rte_pktmbuf_chain(m, k) != 0)
			MUST(false);
	} while (len != 0);
	return m;
}

/* A segment with numbers near those that are in use. */
static void
segment(void)
{
	static uint8_t f[20000];
	const uint8_t who = bytes_u8(&w.in), how = bytes_u8(&w.in), shape = bytes_u8(&w.in);
	const uint32_t olen = (shape & 3) == 0 ? 0 : (bytes_u8(&w.in) % 11) * 4;
	const uint32_t len = (shape & 4) != 0 ? bytes_u16(&w.in) % 4000 : bytes_u8(&w.in) % 16;
	struct rte_ipv4_hdr *ip = (void *)(f + RTE_ETHER_HDR_LEN);
	struct rte_tcp_hdr *th = (void *)(ip + 1);
	uint8_t *opt = (uint8_t *)(th + 1);
	const struct flow *fl = &w.flow[(who & 0x80) == 0][who % CONNS];
	struct rte_mbuf *m;
	uint32_t piece = (shape & 8) != 0 ? 200 : 2000;

	memset(f, 0, RTE_ETHER_HDR_LEN);
	f[12] = 8;
	*ip = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
				    .type_of_service = shape >> 6, /* of ECN */
				    .total_length = rte_cpu_to_be_16((uint16_t)(40 + olen + len)),
				    .next_proto_id = IPPROTO_TCP,
				    .src_addr = PEER,
				    .dst_addr = OWN};
	*th = (struct rte_tcp_hdr){
		.src_port = rte_cpu_to_be_16(2000 + who % CONNS),
		.dst_port = rte_cpu_to_be_16((who & 0x80) != 0 ? 80 : 3000 + who % CONNS),
		.sent_seq = rte_cpu_to_be_32(fl->peer_seq + (uint32_t)((how & 1) != 0 ? (int16_t)bytes_u16(&w.in) : 0)),
		.recv_ack = rte_cpu_to_be_32(fl->own_seq + (uint32_t)((how & 2) != 0 ? (int16_t)bytes_u16(&w.in) : 0)),
		.data_off = (uint8_t)((20 + olen) << 2),
		.tcp_flags = (how & 4) != 0 ? bytes_u8(&w.in) : RTE_TCP_ACK_FLAG,
		.rx_win = (how & 8) != 0 ? rte_cpu_to_be_16(bytes_u16(&w.in)) : RTE_BE16(20000),
	};
	bytes_copy(&w.in, opt, olen);
	if (olen >= 12 && (how & 0x10) != 0) {
		memcpy(opt, (const uint8_t[]){1, 1, 8, 10}, 4);
		w.tsval += how >> 5;
		opt[4] = 0;
		opt[7] = (uint8_t)w.tsval;
	}
	if (olen >= 12 && (how & 0x30) == 0x20) {
		/* SACK of something near */
		const uint32_t from = fl->own_seq - 3000 + bytes_u16(&w.in) % 6000, to = from + bytes_u16(&w.in) % 3000;
		const rte_be32_t b[2] = {rte_cpu_to_be_32(from), rte_cpu_to_be_32(to)};

		memcpy(opt, (const uint8_t[]){1, 1, 5, 10}, 4);
		memcpy(opt + 4, b, 8);
	}
	memset(opt + olen, how, len);
	m = chain(f, 54 + olen + len, piece);
	if (m == NULL)
		return;
	m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	tcp_input(w.s, &m, 1, w.now);
}

/* A router's word about a segment near those that are under way. */
static void
too_large(void)
{
	const uint8_t who = bytes_u8(&w.in), how = bytes_u8(&w.in);
	const struct flow *fl = &w.flow[(who & 0x80) == 0][who % CONNS];
	const uint32_t len = RTE_ETHER_HDR_LEN + 56; /* of TCP's header the first 8 octets */
	uint8_t f[RTE_ETHER_HDR_LEN + 48 + sizeof(struct rte_tcp_hdr)] = {0};
	struct rte_ipv4_hdr *ip = (void *)(f + RTE_ETHER_HDR_LEN), *in = (void *)(f + RTE_ETHER_HDR_LEN + 28);
	struct rte_tcp_hdr *th = (void *)(in + 1);
	struct rte_mbuf *m;
	uint16_t sum;

	f[12] = 8;
	*ip = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
				    .total_length = RTE_BE16(56),
				    .next_proto_id = IPPROTO_ICMP,
				    .src_addr = RTE_BE32(0x0a0000fe),
				    .dst_addr = OWN};
	*in = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
				    .total_length =
					    (how & 1) != 0 ? RTE_BE16(1500) : rte_cpu_to_be_16(bytes_u16(&w.in)),
				    .next_proto_id = IPPROTO_TCP,
				    .src_addr = OWN,
				    .dst_addr = PEER};
	th->src_port = rte_cpu_to_be_16((who & 0x80) != 0 ? 80 : 3000 + who % CONNS);
	th->dst_port = rte_cpu_to_be_16(2000 + who % CONNS);
	th->sent_seq = rte_cpu_to_be_32(fl->own_seq - 1 - ((how & 2) != 0 ? bytes_u16(&w.in) : 0));
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	f[RTE_ETHER_HDR_LEN + 20] = 3;
	f[RTE_ETHER_HDR_LEN + 21] = 4;
	if ((how & 4) != 0)
		bytes_copy(&w.in, f + RTE_ETHER_HDR_LEN + 26, 2);
	sum = (uint16_t)~rte_raw_cksum(f + RTE_ETHER_HDR_LEN + 20, 36);
	memcpy(f + RTE_ETHER_HDR_LEN + 22, &sum, sizeof(sum));
	m = chain(f, len, 2000);
	if (m != NULL)
		tcp_input(w.s, &m, 1, w.now);
}

/* Any octets. */
static void
frame(void)
{
	uint8_t f[200];
	const uint32_t len = bytes_u8(&w.in) % sizeof(f), piece = 1 + bytes_u8(&w.in);
	struct rte_mbuf *m;

	bytes_copy(&w.in, f, len);
	if (len > 24) {
		f[12] = 8;
		f[13] = 0;
		f[23] = (piece & 4) != 0 ? IPPROTO_ICMP : IPPROTO_TCP;
	}
	m = chain(f, len, piece);
	if (m == NULL)
		return;
	if ((piece & 1) != 0)
		m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	tcp_input(w.s, &m, 1, w.now);
}

static void
open_one(uint32_t i)
{
	const struct tcp_addr from = {0, rte_cpu_to_be_16((uint16_t)(3000 + i))};
	const struct tcp_addr to = {PEER, rte_cpu_to_be_16((uint16_t)(2000 + i))};
	int err = 0;

	if (w.conn[i] != NULL)
		return;
	if (w.listener != NULL && (bytes_u8(&w.in) & 1) != 0)
		w.conn[i] = tcp_accept(w.listener, NULL);
	else
		w.conn[i] = tcp_connect(w.s, &from, &to, NULL, &err);
	MUST(err <= 0);
}

static void
call(void)
{
	static uint8_t buf[70000];
	const uint8_t which = bytes_u8(&w.in), what = bytes_u8(&w.in);
	const uint32_t i = which % CONNS;
	struct tcp_conn *c = w.conn[i];
	const struct iovec iov[2] = {{buf, bytes_u8(&w.in)}, {buf, bytes_u16(&w.in)}};
	static const int names[] = {TCP_NODELAY, TCP_CORK, TCP_QUICKACK, TCP_MAXSEG, TCP_USER_TIMEOUT, TCP_KEEPIDLE};
	struct tcp_info info;

	if (c == NULL) {
		open_one(i);
		return;
	}
	switch (what % 12) {
	case 0:
	case 1:
	case 2: tcp_send(c, iov, 2, (which & 0x80) != 0 ? MSG_MORE : 0); break;
	case 3:
	case 4: tcp_recv(c, iov, 2, (which & 0x80) != 0 ? MSG_PEEK : 0); break;
	case 5: tcp_shutdown(c, which >> 4 & 3); break;
	case 6:
		tcp_close(c);
		w.conn[i] = NULL;
		break;
	case 7:
		tcp_abort(c);
		w.conn[i] = NULL;
		break;
	case 8: tcp_opt_set(c, IPPROTO_TCP, names[which % RTE_DIM(names)], bytes_u16(&w.in) & 0x7ff); break;
	case 9:
		tcp_opt_set(c, SOL_SOCKET, which & 1 ? SO_KEEPALIVE : SO_RCVBUF,
			    which & 1 ? 1 : 4096 + bytes_u16(&w.in));
		break;
	case 10: tcp_cc_set(c, which % 3); break;
	default:
		tcp_info_get(c, &info);
		MUST(tcp_error(c) >= 0);
		break;
	}
}

static void
listener(void)
{
	const struct tcp_addr own = {0, RTE_BE16(80)};
	int err;

	if (w.listener == NULL) {
		w.listener = tcp_listen(w.s, &own, 3, NULL, &err);
		MUST(w.listener != NULL);
	} else if ((bytes_u8(&w.in) & 7) == 0) {
		tcp_close(w.listener);
		w.listener = NULL;
	}
}

static void
pass_time(void)
{
	const uint8_t how = bytes_u8(&w.in);
	const uint64_t at = tcp_deadline(w.s);

	if ((how & 1) != 0 && at != TCP_NEVER)
		w.now = RTE_MAX(w.now, at);
	else
		w.now += UINT64_C(1) << (how % 36);
	tcp_run(w.s, w.now);
	/* What could be done is done. */
	MUST((w.mood & 1) != 0 || tcp_deadline(w.s) > w.now || tcp_deadline(w.s) == TCP_NEVER);
}

static void
step(void)
{
	const uint8_t what = bytes_u8(&w.in);

	switch (what % 12) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4: segment(); break;
	case 5:
		if ((what & 0x40) != 0)
			too_large();
		else
			frame();
		break;
	case 6:
	case 7: call(); break;
	case 8: listener(); break;
	case 9:
	case 10: pass_time(); break;
	default:
		w.mood = bytes_u8(&w.in);
		if ((w.mood & 0x10) != 0)
			tcp_paths_changed(w.s);
		while ((w.mood & 0x20) != 0 && w.nheld != 0)
			rte_pktmbuf_free(w.held[--w.nheld]);
		break;
	}
	if ((what & 0x80) != 0)
		tcp_run(w.s, w.now);
}

/* Not with the first input, whose time is limited. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	MUST(unit_eal("fuzz", "64", NULL) >= 0);
	pool = rte_pktmbuf_pool_create("tx", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	rx_pool = rte_pktmbuf_pool_create("rx", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	MUST(pool != NULL && rx_pool != NULL);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tcp_home ops = {home_tx, home_path, home_local, home_event, home_random};
	struct tcp_conf conf = {
		.pool = pool, .max_conns = 16, .max_time_wait = 4, .max_ooo_mbufs = 64, .rcvbuf = 20000};
	uint32_t steps, i;
	uint8_t how;
	int err;

	memset(&w, 0, sizeof(w));
	w.in = (struct bytes){data, size};
	w.now = UINT64_C(1) << 40;
	how = bytes_u8(&w.in);
	conf.tx_checksum = conf.tso = (how & 1) != 0;
	conf.cc = how % 3;
	conf.no_sack = (how & 8) != 0;
	conf.no_timestamps = (how & 16) != 0;
	conf.ecn = (how >> 5 & 3) % 3;
	if ((how & 4) != 0) {
		conf.rx_pool = rx_pool;
		conf.reserve = MBUFS / 2;
		conf.max_copied = 2000;
	}
	w.s = tcp_stack_create(&conf, &ops, NULL, w.now, &err);
	MUST(w.s != NULL);
	for (steps = 0; w.in.left != 0 && steps < STEPS; steps++)
		step();
	if ((how & 0x80) != 0) {
		for (i = 0; i < CONNS; i++)
			if (w.conn[i] != NULL)
				tcp_abort(w.conn[i]);
		if (w.listener != NULL)
			tcp_close(w.listener);
		w.mood = 0;
		tcp_run(w.s, w.now);
	}
	tcp_stack_destroy(w.s);
	while (w.nheld != 0)
		rte_pktmbuf_free(w.held[--w.nheld]);
	MUST(rte_mempool_avail_count(pool) == MBUFS && rte_mempool_avail_count(rx_pool) == MBUFS);
	return 0;
}
