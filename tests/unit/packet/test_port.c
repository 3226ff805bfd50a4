/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Both bursts of a port. A pair of sockets stands for the interface: what one end sends, the other one has as it was sent. */
#include <errno.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_mempool.h>

#include "drivers/packet/packet.h"
#include "rows.h"
#include "tests/unit/eal.h"

#define ROOM 4400u /* of a buffer */
#define BURST 7u

int pkt_logtype;

static struct rte_mempool *pool;
static struct pkt_port port;
static struct pkt_txq *tx;
static struct pkt_rxq *rx;
static bool old_kernel; /* it knows no joined frames */

int __real_sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags);

int
__wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags)
{
	for (unsigned int i = 0; old_kernel && i < n; i++) {
		const struct virtio_net_hdr *v = msg[i].msg_hdr.msg_iov[0].iov_base;

		if (v->gso_type != VIRTIO_NET_HDR_GSO_UDP_L4)
			continue;
		if (i == 0)
			errno = EINVAL;
		return i == 0 ? -1 : __real_sendmmsg(fd, msg, i, flags);
	}
	return __real_sendmmsg(fd, msg, n, flags);
}

static int
set_up(void **state)
{
	static const int room = 4 << 20;
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
	(void)setsockopt(fd[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	memset(&port, 0, sizeof(port));
	strcpy(port.iface, "pair");
	port.gso = PKT_GSO_ON;
	tx = calloc(1, sizeof(*tx));
	rx = calloc(1, sizeof(*rx));
	assert_true(tx != NULL && rx != NULL);
	tx->port = rx->port = &port;
	tx->fd = fd[0];
	rx->fd = fd[1];
	rx->pool = pool;
	rx->room = ROOM;
	old_kernel = false;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	pkt_rx_free(rx);
	close(rx->fd);
	close(tx->fd);
	free(rx);
	free(tx);
	/* Nothing is left anywhere. */
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	return 0;
}

static struct rte_mbuf *
packet(const uint8_t *p, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), p, len);
	return m;
}

static void
send_all(struct rte_mbuf **pkts, uint16_t n)
{
	assert_int_equal(pkt_tx_burst(tx, pkts, n), n);
}

static void
send_parts(const struct row *r)
{
	struct rte_mbuf **pkts = calloc(r->num, sizeof(*pkts));
	const uint8_t *part = r->parts;

	assert_non_null(pkts);
	for (uint32_t k = 0; k < r->num; part += r->lens[k++])
		pkts[k] = packet(part, r->lens[k]);
	send_all(pkts, (uint16_t)r->num);
	free(pkts);
}

/* The packets of a frame, in their order; sums are told to be right. */
static void
expect_parts(const struct row *r, uint64_t flags)
{
	const uint8_t *part = r->parts;
	struct rte_mbuf *pkts[BURST];
	uint32_t k = 0;

	while (k < r->num) {
		uint16_t n = pkt_rx_burst(rx, pkts, BURST);

		assert_true(n != 0);
		for (uint16_t i = 0; i < n; i++, part += r->lens[k++]) {
			assert_true(k < r->num);
			assert_int_equal(pkts[i]->pkt_len, r->lens[k]);
			assert_int_equal(pkts[i]->data_len, r->lens[k]);
			assert_int_equal(pkts[i]->ol_flags, flags);
			assert_memory_equal(rte_pktmbuf_mtod(pkts[i], void *), part, r->lens[k]);
			rte_pktmbuf_free(pkts[i]);
		}
	}
	assert_int_equal(pkt_rx_burst(rx, pkts, BURST), 0);
}

#define GOOD (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)

/* As few frames as there can be; read to where they stay from the second frame of a kind on. */
static void
there_and_back(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];
		uint64_t frames = tx->joined, packets = rx->packets, copied;

		if (!r->roce || r->num > PKT_SEGS)
			continue;
		send_parts(r);
		expect_parts(r, GOOD);
		copied = rx->copied;
		send_parts(r);
		expect_parts(r, GOOD);
		assert_int_equal(rx->copied, copied);
		assert_int_equal(tx->joined, frames + 2);
		assert_int_equal(rx->packets, packets + 2 * r->num);
	}
	assert_int_equal(rx->joined, tx->joined);
	assert_int_equal(rx->packets, tx->sent);
	assert_int_equal(rx->bytes, tx->bytes);
	assert_int_equal(rx->joined_packets, tx->joined_packets);
}

/* More packets than a frame has: 64 and the rest; others between them. */
static void
several_frames(void **state)
{
	struct rte_mbuf *pkts[BURST];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];
		uint64_t frames = tx->joined;

		if (!r->roce || r->num <= PKT_SEGS)
			continue;
		send_parts(r);
		expect_parts(r, GOOD);
		assert_int_equal(tx->joined, frames + 2);
		/* The same packet twice: no two of them follow each other. */
		pkts[0] = packet(r->parts, r->lens[0]);
		pkts[1] = packet(r->parts, r->lens[0]);
		if (be16(r->parts + 12) == 0x0800) {
			send_all(pkts, 2);
			assert_int_equal(tx->joined, frames + 2);
			assert_int_equal(pkt_rx_burst(rx, pkts, BURST), 1);
			assert_int_equal(pkt_rx_burst(rx, pkts + 1, BURST - 1), 1);
		}
		rte_pktmbuf_free(pkts[0]);
		rte_pktmbuf_free(pkts[1]);
	}
}

/* Frames of others: TCP, UDP with sums, tags; each twice. */
static void
of_others(void **state)
{
	uint8_t *p = malloc(sizeof(struct virtio_net_hdr) + PKT_READ);

	(void)state;
	assert_non_null(p);
	for (unsigned int i = 0; i < 2 * RTE_DIM(rows); i++) {
		const struct row *r = &rows[i / 2];
		struct virtio_net_hdr v = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
					   .gso_type = r->type,
					   .gso_size = r->seg,
					   .csum_start = r->start,
					   .csum_offset = r->offset};

		memcpy(p, &v, sizeof(v));
		memcpy(p + sizeof(v), r->whole, r->len);
		assert_int_equal(send(tx->fd, p, sizeof(v) + r->len, 0), sizeof(v) + r->len);
		expect_parts(r, GOOD);
	}
	assert_int_equal(rx->refused, 0);
	free(p);
}

static void
put_raw(const struct virtio_net_hdr *v, const uint8_t *frame, uint32_t len)
{
	struct iovec iov[2] = {{(void *)(uintptr_t)v, sizeof(*v)}, {(void *)(uintptr_t)frame, len}};

	assert_int_equal(writev(tx->fd, iov, 2), sizeof(*v) + len);
}

/* What no packet can be made of is counted, and the next one comes. */
static void
refused(void **state)
{
	static uint8_t zeros[ROOM + 1];
	const struct row *r = &rows[1];
	struct virtio_net_hdr v = {.gso_type = VIRTIO_NET_HDR_GSO_UDP, .gso_size = 1000};
	struct rte_mbuf *m;

	(void)state;
	put_raw(&v, r->whole, r->len); /* fragments */
	v = (struct virtio_net_hdr){.gso_type = VIRTIO_NET_HDR_GSO_NONE};
	put_raw(&v, zeros, ROOM + 1); /* longer than a buffer */
	put_raw(&v, zeros, 14);       /* no frame */
	v.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	v.csum_start = 2000;
	put_raw(&v, r->parts, r->lens[0]); /* a sum behind its end */
	v = (struct virtio_net_hdr){.gso_type = r->type, .gso_size = ROOM};
	put_raw(&v, r->whole, r->len - 1); /* lengths that differ */
	v = (struct virtio_net_hdr){.gso_type = r->type, .gso_size = 1};
	put_raw(&v, r->whole, r->len); /* 3001 packets */
	m = packet(r->parts, r->lens[0]);
	send_all(&m, 1);
	assert_int_equal(pkt_rx_burst(rx, &m, 1), 1);
	assert_int_equal(m->pkt_len, r->lens[0]);
	rte_pktmbuf_free(m);
	assert_int_equal(rx->refused, 6);
	assert_int_equal(rx->packets, 1);
}

/* A sum that a sender left to the interface is made; one that is known to be right is told. */
static void
left_sums(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];
		struct virtio_net_hdr v = {
			.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = r->start, .csum_offset = r->offset};
		uint8_t *p;
		struct rte_mbuf *m;

		if (r->len > ROOM)
			continue;
		p = malloc(r->len);
		assert_non_null(p);
		memcpy(p, r->whole, r->len);
		put_pseudo(r, p);
		for (unsigned int turn = 0; turn < 3; turn++) {
			put_raw(&v, turn == 0 ? p : r->whole, r->len);
			assert_int_equal(pkt_rx_burst(rx, &m, 1), 1);
			assert_int_equal(m->ol_flags, turn == 2 ? 0 : RTE_MBUF_F_RX_L4_CKSUM_GOOD);
			assert_int_equal(m->pkt_len, r->len);
			assert_memory_equal(rte_pktmbuf_mtod(m, void *), r->whole, r->len);
			rte_pktmbuf_free(m);
			v.flags = turn == 0 ? VIRTIO_NET_HDR_F_DATA_VALID : 0;
		}
		free(p);
	}
	assert_true(rx->sums > 10);
}

/* To whom frames of several packets go: who said so for the address, until another owner of it does not. */
static void
peers(void **state)
{
	static const struct {
		const uint8_t *p;
		uint32_t len;
		unsigned int row; /* the first of IPv4, of IPv6 */
	} t[] = {{arp_ask, sizeof(arp_ask), 1}, {nd_ask, sizeof(nd_ask), 0}, {nd_tell, sizeof(nd_tell), 0}};
	unsigned int v6 = 1;

	(void)state;
	while (!rows[v6].roce || be16(rows[v6].whole + 12) != 0x86dd || rows[v6].num != 4)
		v6++;
	port.gso = PKT_GSO_AUTO;
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		const struct row *r = &rows[t[i].row != 0 ? t[i].row : v6];
		uint64_t frames;
		struct rte_mbuf *m;

		for (unsigned int turn = 0; turn < 3; turn++) {
			frames = tx->joined;
			send_parts(r);
			expect_parts(r, turn == 1 ? GOOD : 0);
			assert_int_equal(tx->joined, frames + (turn == 1));
			/* A port that joins none does not say that it takes them. */
			port.gso = turn == 0 ? PKT_GSO_AUTO : PKT_GSO_OFF;
			m = packet(t[i].p, t[i].len);
			send_all(&m, 1);
			port.gso = PKT_GSO_AUTO;
			assert_int_equal(pkt_rx_burst(rx, &m, 1), 1);
			assert_int_equal(m->pkt_len, t[i].len + (turn == 0 ? PKT_MARK_LEN : 0));
			assert_memory_equal(rte_pktmbuf_mtod(m, void *), t[i].p, t[i].len);
			rte_pktmbuf_free(m);
		}
	}
	port.gso = PKT_GSO_OFF;
	send_parts(&rows[1]);
	expect_parts(&rows[1], 0);
}

/* A kernel without such frames: each packet goes by itself, from the first one on. */
static void
older_kernel(void **state)
{
	(void)state;
	old_kernel = true;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		if (!rows[i].roce)
			continue;
		send_parts(&rows[i]);
		assert_true(port.refused);
		expect_parts(&rows[i], 0);
	}
	assert_int_equal(tx->joined, 0);
	assert_int_equal(tx->refused, 0);
	assert_int_equal(tx->sent, rx->packets);
}

/* What finds no room stays the caller's. */
static void
full(void **state)
{
	static const int little = 100000;
	const struct row *r = &rows[5]; /* 15 packets of RoCE, 4 KiB each */
	struct rte_mbuf *pkts[BURST];
	uint16_t sent, total = 0;
	const uint8_t *part;

	(void)state;
	assert_int_equal(setsockopt(tx->fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)), 0);
	do {
		part = r->parts;
		for (unsigned int k = 0; k < BURST; part += r->lens[k++])
			pkts[k] = packet(part, r->lens[k]);
		sent = pkt_tx_burst(tx, pkts, BURST);
		total += sent;
		assert_true(total < 1000);
	} while (sent == BURST);
	rte_pktmbuf_free_bulk(pkts + sent, BURST - sent);
	assert_true(total > 0);
	assert_int_equal(tx->sent, total);
	assert_int_equal(tx->refused, 0);
	while (total > 0) {
		uint16_t n = pkt_rx_burst(rx, pkts, BURST);

		assert_true(n > 0 && n <= total);
		rte_pktmbuf_free_bulk(pkts, n);
		total -= n;
	}
	assert_int_equal(pkt_rx_burst(rx, pkts, BURST), 0);
}

/* Frames wait in the socket until there are buffers; a joined one that finds too few is lost, and each of its packets counted. */
static void
no_buffers(void **state)
{
	const struct row *r = &rows[1];
	struct rte_mbuf *m, *all[1024];
	unsigned int n = 0;

	(void)state;
	m = packet(r->parts, r->lens[0]);
	send_all(&m, 1);
	send_parts(r);
	while (n < RTE_DIM(all) && (all[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	assert_int_equal(pkt_rx_burst(rx, &m, 1), 0);
	assert_int_equal(rx->no_mbuf, 1);
	rte_pktmbuf_free(all[--n]);
	assert_int_equal(pkt_rx_burst(rx, &m, 1), 1);
	rte_pktmbuf_free(m);
	/* One buffer is there, the frame takes four more beside it. */
	assert_int_equal(pkt_rx_burst(rx, &m, 1), 0);
	assert_int_equal(rx->no_mbuf, 1 + r->num);
	rte_pktmbuf_free_bulk(all, n);
	send_parts(r);
	expect_parts(r, GOOD);
}

/* In pieces: as one frame, or refused if there are too many. */
static void
pieces(void **state)
{
	const struct row *r = &rows[1];
	struct rte_mbuf *m, *last;

	(void)state;
	for (unsigned int n = 2; n <= PKT_SEGS + 1; n += PKT_SEGS - 1) {
		uint32_t at = 100;

		m = last = packet(r->parts, at);
		for (unsigned int k = 1; k < n; k++) {
			uint32_t len = k + 1 == n ? r->lens[0] - at : 3;

			last->next = packet(r->parts + at, len);
			last = last->next;
			m->nb_segs++;
			m->pkt_len += len;
			at += len;
		}
		send_all(&m, 1);
		if (n > PKT_SEGS)
			break;
		assert_int_equal(pkt_rx_burst(rx, &m, 1), 1);
		assert_int_equal(m->pkt_len, r->lens[0]);
		assert_memory_equal(rte_pktmbuf_mtod(m, void *), r->parts, r->lens[0]);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(tx->refused, 1);
	assert_int_equal(pkt_rx_burst(rx, &m, 1), 0);
}

static void
arguments(void **state)
{
	static const char *const bad[] = {"",
					  "iface=",
					  "gso=on",
					  "iface=abcdefghijklmnop",
					  "iface=a,b",
					  "iface=a,x=1",
					  "iface=a,gso=yes",
					  "iface=a,gso=",
					  "iface",
					  "iface=a,gso=0",
					  "iface=a,framesz=1",
					  "iface=a,qdisc_bypass=2"};
	struct pkt_port p = {.iface = ""};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(bad); i++) {
		memset(&p, 0, sizeof(p));
		if (pkt_conf_parse(bad[i], &p) != -EINVAL)
			fail_msg("'%s'", bad[i]);
	}
	memset(&p, 0, sizeof(p));
	assert_int_equal(pkt_conf_parse(NULL, &p), -EINVAL);
	assert_int_equal(pkt_conf_parse("iface=abcdefghijklmno", &p), 0);
	assert_string_equal(p.iface, "abcdefghijklmno");
	assert_int_equal(p.gso, PKT_GSO_AUTO);
	assert_false(p.bypass);
	assert_int_equal(pkt_conf_parse("gso=off,iface=v0,qdisc_bypass=1", &p), 0);
	assert_string_equal(p.iface, "v0");
	assert_int_equal(p.gso, PKT_GSO_OFF);
	assert_true(p.bypass);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(there_and_back), TEST(several_frames), TEST(of_others),    TEST(refused),
		TEST(left_sums),      TEST(peers),          TEST(older_kernel), TEST(full),
		TEST(no_buffers),     TEST(pieces),         TEST(arguments),
	};
	static char words[] = "packet\0--no-huge\0--no-shconf\0--no-telemetry\0--no-pci\0-m\00064\0--"
			      "log-level=alert\0";
	char *argv[16];
	int argc = 0;

	for (char *w = words; *w != '\0'; w += strlen(w) + 1)
		argv[argc++] = w;
	argv[argc++] = (char *)(uintptr_t) "--lcores";
	argv[argc++] = unit_lcores("0");
	if (rte_eal_init(argc, argv) < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("packet", 1023, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
