/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * datapath list | DIRECTION CASE [BURSTS]: runs bursts of 32, or of one, on fabricated rings and prints how many packets went through;
 * of a case with a number of packets there are no more when it is called, as of a queue that is one of many.
 * The instructions are counted from outside (callgrind, collecting only inside burst functions); what the card would do
 * happens between the bursts and is not counted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_io.h>

#include "mlx4_prm_wqe.h"

#include "datapath.h"

#define BURST 32
#define DESC 512
#define BUFS 8192
#define CACHE 256
#define SMALL_ROOM 1024u /* of a buffer, where a frame takes two */
#define TCI 0x6abc
#define L2_LEN 14u
#define L3_LEN 20u
#define TCP_LEN 20u
#define MSS 1460u

enum { RX = 1, TX = 2, FWD = RX | TX, EMPTY = 4 };

static const struct bench_case {
	const char *direction, *name;
	unsigned int way, what;
	uint32_t frame;
	uint32_t burst; /* 0: BURST */
	uint32_t there; /* packets that a receive burst finds; 0: all that it asks for */
} cases[] = {
	{"rx", "plain", RX, 0, 64},
	{"rx", "csum", RX, BENCH_CSUM, 64},
	{"rx", "rss", RX, BENCH_RSS, 64},
	{"rx", "vlan", RX, BENCH_VLAN, 64},
	{"rx", "2-segment", RX, BENCH_SEGS, 1500},
	{"rx", "1500", RX, 0, 1500},
	{"rx", "scalar", RX, BENCH_SCALAR, 64},
	{"rx", "empty", RX | EMPTY, 0, 64},
	{"rx", "1-there", RX, 0, 64, .there = 1},
	{"rx", "2-there", RX, 0, 64, .there = 2},
	{"rx", "4-there", RX, 0, 64, .there = 4},
	{"tx", "plain", TX, 0, 64},
	{"tx", "csum", TX, BENCH_CSUM, 64},
	{"tx", "vlan", TX, BENCH_VLAN, 64},
	{"tx", "2-segment", TX, BENCH_SEGS, 1500},
	{"tx", "tso", TX, BENCH_TSO | BENCH_SEGS, 2000},
	{"tx", "inline", TX, BENCH_INLINE, 64},
	{"tx", "one", TX, 0, 64, 1},
	{"tx", "one-blueflame", TX, BENCH_BF, 64, 1},
	{"tx", "one-inline", TX, BENCH_INLINE, 64, 1},
	{"tx", "one-inline-blueflame", TX, BENCH_INLINE | BENCH_BF, 64, 1},
	{"tx", "1500", TX, 0, 1500},
	{"forward", "plain", FWD, 0, 64},
	{"forward", "csum", FWD, BENCH_CSUM, 64},
	{"forward", "rss", FWD, BENCH_RSS, 64},
	{"forward", "vlan", FWD, BENCH_VLAN, 64},
	{"forward", "2-segment", FWD, BENCH_SEGS, 1500},
	{"forward", "inline", FWD, BENCH_INLINE, 64},
	{"forward", "1500", FWD, 0, 1500},
	{"forward", "scalar", FWD, BENCH_SCALAR, 64},
};

struct run {
	const struct bench_case *c;
	struct rte_mempool *mp;
	struct bench_ring rx, tx;
	uint32_t burst;
	uint64_t packets, cycles;
};

static struct mlx4_cqe *
cqe_at(const struct bench_ring *r, uint32_t index)
{
	return (struct mlx4_cqe *)(void *)(r->cqes + (size_t)(index & r->cqmask) * sizeof(struct mlx4_cqe));
}

static void
write_cqe(struct bench_ring *r, const struct bench_case *c, uint8_t op)
{
	uint32_t index = r->cq_pi++;
	struct mlx4_cqe *cqe = cqe_at(r, index);

	memset(cqe, 0, sizeof(*cqe) - 1);
	cqe->vlan_my_qpn = RTE_BE32(0x40) | (c->what & BENCH_VLAN ? RTE_BE32(MLX4_CQE_CVLAN) : 0);
	cqe->immed_rss = rte_cpu_to_be_32(0x12345678u + index);
	cqe->sl_vid = c->what & BENCH_VLAN ? RTE_BE16(TCI) : 0;
	cqe->status = RTE_BE16(MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK);
	cqe->badfcs_enc = MLX4_CQE_L4_OK;
	cqe->byte_cnt = rte_cpu_to_be_32(c->frame);
	cqe->wqe_index = rte_cpu_to_be_16((uint16_t)index);
	cqe->checksum = RTE_BE16(MLX4_CQE_CSUM_OK);
	rte_io_wmb();
	cqe->owner_sr_opcode = op | (index & (r->cqmask + 1) ? MLX4_CQE_OWNER : 0);
}

static uint32_t
there(const struct run *x)
{
	return x->c->there != 0 ? x->c->there : x->burst;
}

/* Every entry belongs to the card before the first pass. */
static void
init_cq(const struct bench_ring *r)
{
	uint32_t i;

	for (i = 0; i <= r->cqmask; i++)
		cqe_at(r, i)->owner_sr_opcode = MLX4_CQE_OWNER;
}

static int
receive(struct run *x, struct rte_mbuf **pkts)
{
	const struct bench_case *c = x->c;
	uint16_t n, segs = c->what & BENCH_SEGS ? 2 : 1;
	uint64_t t;
	uint32_t i;

	for (i = 0; i < there(x); i++)
		write_cqe(&x->rx, c, MLX4_CQE_RECV_SEND);
	t = rte_rdtsc_precise();
	n = x->rx.burst(x->rx.queue, pkts, (uint16_t)x->burst);
	x->cycles += rte_rdtsc_precise() - t;
	if (n != there(x)) {
		fprintf(stderr, "%u packets received, wanted %u\n", n, there(x));
		return -EIO;
	}
	for (i = 0; i < n; i++) {
		const struct rte_mbuf *m = pkts[i];
		uint64_t want = (c->what & BENCH_CSUM ? RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0) |
				(c->what & BENCH_RSS ? RTE_MBUF_F_RX_RSS_HASH : 0) |
				(c->what & BENCH_VLAN ? RTE_MBUF_F_RX_VLAN_STRIPPED : 0);

		if (m->pkt_len != c->frame || m->nb_segs != segs || (m->ol_flags & want) != want ||
		    (c->what & BENCH_VLAN && m->vlan_tci != TCI)) {
			fprintf(stderr,
				"packet of %u bytes in %u segments, flags 0x%" PRIx64 ", wanted %u in %u, 0x%" PRIx64
				"\n",
				m->pkt_len, m->nb_segs, m->ol_flags, c->frame, segs, want);
			return -EIO;
		}
	}
	return 0;
}

/* What an application asks for a packet. */
static void
ask(const struct bench_case *c, struct rte_mbuf *m)
{
	m->ol_flags = 0;
	m->l2_len = L2_LEN;
	m->l3_len = L3_LEN;
	if (c->what & BENCH_CSUM)
		m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV4;
	if (c->what & BENCH_VLAN) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = TCI;
	}
	if (c->what & BENCH_TSO) {
		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4;
		m->l4_len = TCP_LEN;
		m->tso_segsz = MSS;
	}
}

static int
make(struct run *x, struct rte_mbuf **pkts)
{
	struct rte_mbuf *more[BURST];
	uint32_t i;

	if (rte_pktmbuf_alloc_bulk(x->mp, pkts, x->burst) != 0 || rte_pktmbuf_alloc_bulk(x->mp, more, x->burst) != 0)
		return -ENOMEM;
	for (i = 0; i < x->burst; i++) {
		uint32_t first = x->c->what & BENCH_SEGS ? RTE_MIN(SMALL_ROOM, x->c->frame) : x->c->frame;

		pkts[i]->data_len = (uint16_t)first;
		pkts[i]->pkt_len = first;
		if (x->c->what & BENCH_SEGS) {
			more[i]->data_len = (uint16_t)(x->c->frame - first);
			more[i]->pkt_len = more[i]->data_len;
			if (rte_pktmbuf_chain(pkts[i], more[i]) != 0)
				return -EINVAL;
		} else {
			rte_pktmbuf_free(more[i]);
		}
	}
	return 0;
}

/* Executes one WQE as the card would: looks at what is asked, completes. Returns its blocks, 0: it is not as asked. */
static uint32_t
execute(struct run *x)
{
	unsigned int what = x->c->what;
	const struct mlx4_wqe_ctrl *c =
		(const void *)(x->tx.sq + ((size_t)(x->tx.sq_ci & x->tx.sqmask) << MLX4_LG_TXBB));
	uint32_t dw0 = rte_be_to_cpu_32(c->owner_opcode), dw1 = rte_be_to_cpu_32(c->vlan_ds);
	uint32_t flags = rte_be_to_cpu_32(c->flags), opcode = what & BENCH_TSO ? MLX4_OP_LSO : MLX4_OP_SEND;
	bool tagged = (dw1 & MLX4_CTRL_INS_CVLAN) != 0 && dw1 >> MLX4_CTRL_VLAN_SHIFT == TCI;
	bool own = (x->tx.sq_ci & (x->tx.sqmask + 1)) != 0;

	if ((dw0 & MLX4_CTRL_OPCODE_MASK) != opcode || ((dw0 & MLX4_CTRL_OWN) != 0) != own ||
	    ((flags & MLX4_CTRL_L4_CSUM) != 0) != ((what & (BENCH_CSUM | BENCH_TSO)) != 0) ||
	    tagged != ((what & BENCH_VLAN) != 0)) {
		fprintf(stderr, "block %u is not as asked: 0x%08x 0x%08x 0x%08x\n", x->tx.sq_ci, dw0, dw1, flags);
		return 0;
	}
	if ((flags & MLX4_CTRL_CQE_MASK) == MLX4_CTRL_CQE)
		write_cqe(&x->tx, x->c, (uint8_t)(opcode | MLX4_CQE_IS_SEND));
	return ((dw1 & MLX4_CTRL_DS_MASK) + 3) / 4;
}

static int
transmit(struct run *x, struct rte_mbuf **pkts)
{
	uint64_t t;
	uint32_t i, blocks;
	uint16_t n;

	for (i = 0; i < x->burst; i++)
		ask(x->c, pkts[i]);
	t = rte_rdtsc_precise();
	n = x->tx.burst(x->tx.queue, pkts, (uint16_t)x->burst);
	x->cycles += rte_rdtsc_precise() - t;
	if (n != x->burst) {
		fprintf(stderr, "%u packets taken, wanted %u\n", n, x->burst);
		return -EIO;
	}
	for (i = 0; i < x->burst; i++, x->tx.sq_ci += blocks) {
		blocks = execute(x);
		if (blocks == 0)
			return -EIO;
	}
	return 0;
}

static int
empty_polls(struct run *x)
{
	struct rte_mbuf *pkts[BURST];
	uint64_t t = rte_rdtsc_precise();
	uint32_t i;
	uint16_t n = 0;

	for (i = 0; i < x->burst; i++)
		n |= x->rx.burst(x->rx.queue, pkts, (uint16_t)x->burst);
	x->cycles += rte_rdtsc_precise() - t;
	return n == 0 ? 0 : -EIO;
}

static int
one_burst(struct run *x)
{
	struct rte_mbuf *pkts[BURST];
	int rc;

	x->packets += there(x);
	if (x->c->way & EMPTY)
		return empty_polls(x);
	rc = x->c->way & RX ? receive(x, pkts) : make(x, pkts);
	if (rc != 0)
		return rc;
	if (x->c->way & TX)
		return transmit(x, pkts);
	rte_pktmbuf_free_bulk(pkts, there(x));
	return 0;
}

static int
prepare(struct run *x)
{
	uint16_t room = x->c->what & BENCH_SEGS && x->c->way & RX ? SMALL_ROOM + RTE_PKTMBUF_HEADROOM
								  : RTE_MBUF_DEFAULT_BUF_SIZE;
	int rc = 0;

	x->mp = rte_pktmbuf_pool_create("bench", BUFS - 1, CACHE, 0, room, SOCKET_ID_ANY);
	if (x->mp == NULL)
		return -rte_errno;
	if (x->c->way & RX)
		rc = bench_rx_queue(x->mp, DESC, x->c->what, &x->rx);
	if (rc == 0 && x->c->way & TX)
		rc = bench_tx_queue(DESC, x->c->what, &x->tx);
	if (rc == 0 && x->c->way & RX)
		init_cq(&x->rx);
	if (rc == 0 && x->c->way & TX)
		init_cq(&x->tx);
	return rc;
}

static int
measure(const struct bench_case *c, uint32_t bursts)
{
	struct run x = {.c = c, .burst = c->burst != 0 ? c->burst : BURST};
	int rc = prepare(&x);

	if (rc == -ENOTSUP) {
		printf("%s %s %s n/a\n", bench_driver, c->direction, c->name);
		return 0;
	}
	for (; rc == 0 && bursts != 0; bursts--)
		rc = one_burst(&x);
	if (rc != 0) {
		fprintf(stderr, "%s %s %s: %s\n", bench_driver, c->direction, c->name, strerror(-rc));
		return 1;
	}
	printf("%s %s %s packets %" PRIu64 " cycles_per_packet %.1f\n", bench_driver, c->direction, c->name, x.packets,
	       (double)x.cycles / (double)x.packets);
	return 0;
}

int
main(int argc, char **argv)
{
	char *eal[] = {argv[0],
		       (char *)(uintptr_t) "--no-huge",
		       (char *)(uintptr_t) "-m",
		       (char *)(uintptr_t) "128",
		       (char *)(uintptr_t) "--no-shconf",
		       (char *)(uintptr_t) "--no-telemetry",
		       (char *)(uintptr_t) "--no-pci",
		       (char *)(uintptr_t) "--log-level=error",
		       (char *)(uintptr_t) "-l",
		       (char *)(uintptr_t) "0"};
	uint32_t bursts = argc > 3 ? (uint32_t)atoi(argv[3]) : 4096;
	size_t i;

	if (argc == 2 && strcmp(argv[1], "list") == 0) {
		for (i = 0; i < RTE_DIM(cases); i++)
			printf("%s %s\n", cases[i].direction, cases[i].name);
		return 0;
	}
	for (i = 0; argc > 2 && i < RTE_DIM(cases); i++) {
		if (strcmp(cases[i].direction, argv[1]) != 0 || strcmp(cases[i].name, argv[2]) != 0)
			continue;
		if (rte_eal_init(RTE_DIM(eal), eal) < 0) {
			fprintf(stderr, "rte_eal_init failed: %s\n", rte_strerror(rte_errno));
			return 1;
		}
		return measure(&cases[i], bursts);
	}
	fprintf(stderr, "usage: %s list | DIRECTION CASE [BURSTS]\n", argv[0]);
	return 2;
}
