/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A stack of datagrams among hosts that send anything: frames of any octets, datagrams, fragments that fit and overlap, ICMP about
 * what was sent and what was not; calls in any order, a pool that runs dry, a card that takes nothing. Frames that leave are well-formed, and each
 * mbuf is accounted for at the end.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <rte_eal.h>
#include <rte_icmp.h>

#include "bytes.h"
#include "lib/udp/udp_priv.h"
#include "tests/unit/eal.h"

#define MBUFS 511
#define SOCKS 6
#define STEPS 300
#define OWN RTE_BE32(0x0a000001)
#define PEER RTE_BE32(0x0a000002)
#define GROUP RTE_BE32(0xef010101)

#define MUST(x)                                                                                                        \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                              \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

static struct world {
	struct udp_stack *s;
	struct bytes in;
	uint64_t now;
	struct udp_sock *sock[SOCKS];
	uint8_t mood; /* bits: tx takes little, no path, a narrow path */
} w;
static struct rte_mempool *pool, *rx_pool;

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	static uint8_t buf[65536 + 128];

	(void)home;
	if ((w.mood & 1) != 0)
		n = RTE_MIN(n, (uint16_t)(bytes_u8(&w.in) & 1));
	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *p = rte_pktmbuf_read(m[i], 0, m[i]->pkt_len, buf);
		const struct rte_ipv4_hdr *ip = (const void *)(p + RTE_ETHER_HDR_LEN);
		const char *why = "";

		MUST(rte_mbuf_check(m[i], 1, &why) == 0);
		MUST(m[i]->pkt_len == RTE_ETHER_HDR_LEN + (uint32_t)rte_be_to_cpu_16(ip->total_length));
		MUST(m[i]->pkt_len <= 1500 + RTE_ETHER_HDR_LEN && rte_raw_cksum(ip, rte_ipv4_hdr_len(ip)) == 0xffff);
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
	path->mtu = (w.mood & 4) != 0 ? 576 : 1500;
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
home_event(void *home, struct udp_sock *u, void *user, unsigned int events)
{
	(void)home, (void)user;
	MUST(u != NULL && events != 0);
}

static uint32_t
home_random(void *home)
{
	(void)home;
	return 0x01234567;
}

static void
give(const uint8_t *p, uint32_t len, uint32_t piece, bool good)
{
	struct rte_mbuf *m = NULL, *k;

	while (len != 0) {
		const uint32_t n = RTE_MIN(len, piece);

		k = rte_pktmbuf_alloc(rx_pool);
		if (k == NULL)
			break;
		memcpy(rte_pktmbuf_append(k, (uint16_t)n), p, n);
		p += n;
		len -= n;
		if (m == NULL)
			m = k;
		else
			MUST(rte_pktmbuf_chain(m, k) == 0);
	}
	if (m == NULL)
		return;
	if (good)
		m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	if (udp_input(w.s, &m, 1, w.now) != 0)
		rte_pktmbuf_free(m);
}

static uint8_t frame[4096];

static struct rte_ipv4_hdr *
head(uint8_t proto, uint32_t len)
{
	struct rte_ipv4_hdr *ip = (void *)(frame + RTE_ETHER_HDR_LEN);

	memset(frame, 0, RTE_ETHER_HDR_LEN);
	frame[0] = bytes_u8(&w.in) & 1;
	frame[12] = 8;
	*ip = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
				    .total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + len)),
				    .time_to_live = 9,
				    .next_proto_id = proto,
				    .src_addr = PEER,
				    .dst_addr = frame[0] != 0 ? GROUP : OWN};
	return ip;
}

/* A datagram, or a fragment of one with any place. */
static void
datagram(void)
{
	const uint8_t how = bytes_u8(&w.in);
	const uint32_t len = (how & 1) != 0 ? bytes_u16(&w.in) % 2000 : bytes_u8(&w.in) % 40;
	struct rte_ipv4_hdr *ip = head(IPPROTO_UDP, sizeof(struct rte_udp_hdr) + len);
	struct rte_udp_hdr *uh = (void *)(ip + 1);

	*uh = (struct rte_udp_hdr){.src_port = rte_cpu_to_be_16(2000 + bytes_u8(&w.in) % 3),
				   .dst_port = rte_cpu_to_be_16(3000 + bytes_u8(&w.in) % SOCKS),
				   .dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(*uh) + len))};
	if ((how & 2) != 0) {
		ip->packet_id = rte_cpu_to_be_16(bytes_u8(&w.in) & 3);
		ip->fragment_offset = rte_cpu_to_be_16((uint16_t)((how & 4) != 0 ? RTE_IPV4_HDR_MF_FLAG : 0) |
						       bytes_u8(&w.in) % ((how & 8) != 0 ? 4 : 255));
		/* Of a whole that might fit: its pieces have 24 octets. */
		if ((how & 16) != 0)
			ip->total_length = RTE_BE16(sizeof(*ip) + 24);
		if ((how & 32) != 0)
			uh->dgram_len = rte_cpu_to_be_16(24 * (2 + bytes_u8(&w.in) % 4));
	} else if ((how & 4) != 0) {
		uh->dgram_len = rte_cpu_to_be_16(bytes_u16(&w.in));
	}
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	give(frame, RTE_ETHER_HDR_LEN + sizeof(*ip) + sizeof(*uh) + len, (how & 64) != 0 ? 100 : 2048,
	     (how & 128) != 0);
}

static void
icmp(void)
{
	const uint8_t how = bytes_u8(&w.in);
	const uint32_t quoted = sizeof(struct rte_ipv4_hdr) + 8, len = sizeof(struct rte_icmp_hdr) + quoted;
	struct rte_ipv4_hdr *ip = head(IPPROTO_ICMP, len);
	struct rte_icmp_hdr *e = (void *)(ip + 1);
	struct rte_ipv4_hdr *in = (void *)(e + 1);
	struct rte_udp_hdr *uh = (void *)(in + 1);

	*e = (struct rte_icmp_hdr){.icmp_type = (how & 1) != 0 ? bytes_u8(&w.in) : 3,
				   .icmp_code = bytes_u8(&w.in) % 16};
	e->icmp_seq_nb = rte_cpu_to_be_16(bytes_u16(&w.in));
	*in = (struct rte_ipv4_hdr){.version_ihl = (how & 2) != 0 ? bytes_u8(&w.in) : RTE_IPV4_VHL_DEF,
				    .next_proto_id = IPPROTO_UDP,
				    .src_addr = OWN,
				    .dst_addr = PEER};
	*uh = (struct rte_udp_hdr){.src_port = rte_cpu_to_be_16(3000 + bytes_u8(&w.in) % SOCKS),
				   .dst_port = rte_cpu_to_be_16(2000 + bytes_u8(&w.in) % 3)};
	e->icmp_cksum = (how & 4) != 0 ? 0 : (uint16_t)~rte_raw_cksum(e, len);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	give(frame, RTE_ETHER_HDR_LEN + sizeof(*ip) + len - how / 16, (how & 8) != 0 ? 20 : 2048, false);
}

static void
octets(void)
{
	const uint32_t len = bytes_u8(&w.in) % 200, piece = 1 + bytes_u8(&w.in);

	bytes_copy(&w.in, frame, len);
	if (len > 24) {
		frame[12] = 8;
		frame[13] = 0;
		frame[23] = (piece & 2) != 0 ? IPPROTO_UDP : IPPROTO_ICMP;
	}
	give(frame, len, piece, (piece & 1) != 0);
}

static void
call(void)
{
	static uint8_t buf[70000];
	const uint8_t which = bytes_u8(&w.in), what = bytes_u8(&w.in);
	struct udp_sock **at = &w.sock[which % SOCKS], *u = *at;
	const struct tcp_addr own = {(which & 0x10) != 0 ? OWN : 0, rte_cpu_to_be_16(3000 + which % SOCKS)};
	const struct tcp_addr to = {
		(which & 0x20) != 0 ? GROUP : PEER,
		rte_cpu_to_be_16((uint16_t)((which & 0x20) != 0 ? 3000 + what % SOCKS : 2000 + what % 3))};
	const struct iovec iov[2] = {{buf, bytes_u8(&w.in)}, {buf, (which & 0x40) != 0 ? bytes_u16(&w.in) : 0}};
	const struct udp_tx tx = {.to = &to, .ttl = -1, .tos = -1};
	struct udp_meta meta;
	rte_be32_t group;
	int err;

	if (u == NULL) {
		*at = udp_open(w.s, NULL, &err);
		if (*at != NULL && (which & 0x80) != 0)
			(void)udp_bind(*at, &own, true);
		return;
	}
	switch (what % 12) {
	case 0:
	case 1:
	case 2: MUST(udp_send(u, iov, 2, (which & 0x80) != 0 ? &tx : NULL) <= 65507); break;
	case 3:
	case 4: MUST(udp_recv(u, iov, 2, (which & 0x80) != 0 ? MSG_PEEK : 0, &meta) <= 65535 + 255); break;
	case 5: (void)udp_connect(u, (which & 0x80) != 0 ? &to : NULL); break;
	case 6: (void)udp_join(u, GROUP, (which & 0x80) != 0 ? PEER : 0); break;
	case 7: (void)udp_leave_any(u, &group); break;
	case 8: (void)udp_opt_set(u, SOL_SOCKET, SO_RCVBUF, 4096 + bytes_u16(&w.in)); break;
	case 9: (void)udp_opt_set(u, IPPROTO_IP, IP_MTU_DISCOVER, which % 6); break;
	case 10: MUST(udp_error(u) >= 0 && !udp_failed(u)); break;
	default:
		udp_close(u);
		*at = NULL;
		break;
	}
}

static void
pass_time(void)
{
	const uint8_t how = bytes_u8(&w.in);
	const uint64_t at = udp_deadline(w.s);

	if ((how & 1) != 0 && at != TCP_NEVER)
		w.now = RTE_MAX(w.now, at);
	else
		w.now += UINT64_C(1) << (how % 30);
	udp_run(w.s, w.now);
	MUST(udp_deadline(w.s) > w.now);
}

static void
step(void)
{
	switch (bytes_u8(&w.in) % 10) {
	case 0:
	case 1:
	case 2: datagram(); break;
	case 3: icmp(); break;
	case 4: octets(); break;
	case 5:
	case 6:
	case 7: call(); break;
	case 8: pass_time(); break;
	default:
		w.mood = bytes_u8(&w.in);
		if ((w.mood & 8) != 0)
			udp_paths_changed(w.s);
		break;
	}
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
	static const struct udp_home ops = {home_tx, home_path, home_local, home_event, home_random};
	struct udp_conf conf = {.pool = pool, .max_fragmented = 4, .max_socks = SOCKS - 1, .max_queued = 64};
	uint32_t steps;
	int err;

	memset(&w, 0, sizeof(w));
	w.in = (struct bytes){data, size};
	w.now = UINT64_C(1) << 40;
	w.s = udp_stack_create(&conf, &ops, NULL, w.now, &err);
	MUST(w.s != NULL);
	for (steps = 0; w.in.left != 0 && steps < STEPS; steps++)
		step();
	MUST(w.s->queued <= 2 * 64 + 64 && w.s->nfrags <= 4);
	udp_stack_destroy(w.s);
	MUST(rte_mempool_avail_count(pool) == MBUFS && rte_mempool_avail_count(rx_pool) == MBUFS);
	return 0;
}
