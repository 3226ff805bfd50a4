/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Joined segments octet by octet against the packets that scapy builds of the same data. */
#include <rte_ip.h>
#include <rte_tcp.h>

#include "rings.h"
#include "drivers/mlx4/rx/lro.h"
#include "drivers/mlx4/rx/sides.h"

struct frame {
	const uint8_t *data;
	uint32_t len;
	bool v6, tcp, bad;
	unsigned int segments; /* that it is made of */
};
struct lro_case {
	const char *name;
	const struct frame *in;
	unsigned int n;
	const struct frame *out;
	unsigned int out_n, aborts;
};
#include "lro_packets.h"

#define BURST 64u
#define BUF 1536u

static struct rte_mbuf *wire[BURST];
static unsigned int wire_n, wire_at;

/* In the place of the driver's own bursts: gives what the test has laid down. */
uint16_t
mlx4_rx_burst_sides(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i;

	(void)rxq;
	for (i = 0; i < n && wire_at < wire_n; i++)
		pkts[i] = wire[wire_at++];
	return i;
}

/* Octets of a frame's headers by its own fields. */
static uint32_t
headers(const struct frame *f)
{
	uint32_t l2 = RTE_ETHER_HDR_LEN + (f->data[12] == 0x81 ? RTE_VLAN_HLEN : 0);
	uint32_t l4 = l2 + (f->v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr));

	return f->tcp ? l4 + (f->data[l4 + 12] >> 4) * 4u : l4;
}

/* As the card gives a frame: in buffers of BUF octets, or a first one as long as asked for, with what it says of it. */
static struct rte_mbuf *
received(struct rte_mempool *pool, const struct frame *f, uint32_t first)
{
	struct rte_mbuf *head = NULL, *m, *tail = NULL;
	uint32_t at, part;

	for (at = 0; at < f->len; at += part) {
		part = RTE_MIN(f->len - at, at == 0 ? first : BUF);
		m = rte_pktmbuf_alloc(pool);
		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, (uint16_t)part), f->data + at, part);
		if (head == NULL)
			head = m;
		else
			tail->next = m;
		tail = m;
		head->nb_segs += m != head;
	}
	head->pkt_len = f->len;
	head->packet_type = RTE_PTYPE_L2_ETHER | (f->v6 ? RTE_PTYPE_L3_IPV6_EXT_UNKNOWN : RTE_PTYPE_L3_IPV4) |
			    (f->tcp ? RTE_PTYPE_L4_TCP : RTE_PTYPE_L4_UDP);
	head->ol_flags = (f->v6 ? 0 : RTE_MBUF_F_RX_IP_CKSUM_GOOD) |
			 (f->bad ? RTE_MBUF_F_RX_L4_CKSUM_BAD : RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	head->tx_offload = UINT64_MAX;
	return head;
}

static void
lay(struct rte_mempool *pool, const struct lro_case *c)
{
	wire_at = 0;
	for (wire_n = 0; wire_n < c->n; wire_n++)
		wire[wire_n] = received(pool, &c->in[wire_n], BUF);
}

/* The same, split so many octets behind the headers of each. */
static void
lay_split(struct rte_mempool *pool, const struct lro_case *c, uint32_t behind)
{
	wire_at = 0;
	for (wire_n = 0; wire_n < c->n; wire_n++)
		wire[wire_n] = received(pool, &c->in[wire_n], headers(&c->in[wire_n]) + behind);
}

static void
compare(const struct lro_case *c, unsigned int i, const struct rte_mbuf *m)
{
	static uint8_t copy[MLX4_LRO_MAX_LEN];
	const struct frame *want = &c->out[i];

	rte_mbuf_sanity_check(m, 1);
	if (m->pkt_len != want->len || memcmp(rte_pktmbuf_read(m, 0, m->pkt_len, copy), want->data, want->len) != 0)
		fail_msg("%s: packet %u of %u octets is not the %u octets of scapy's", c->name, i, m->pkt_len,
			 want->len);
	assert_int_equal((m->ol_flags & RTE_MBUF_F_RX_LRO) != 0, want->segments > 1);
	if (want->segments > 1)
		assert_true(m->tx_offload >> RTE_MBUF_TSO_SEGSZ_OFS != 0 && m->l2_len + m->l3_len + m->l4_len == 0);
}

static void
joins(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *pkts[BURST];
	unsigned int k, i, packets, events;

	for (k = 0; k < RTE_DIM(lro_cases); k++) {
		const struct lro_case *c = &lro_cases[k];
		struct mlx4_lro lro = {.max_len = MLX4_LRO_MAX_LEN};

		r->rxq.lro = &lro;
		lay(r->pool, c);
		assert_int_equal(mlx4_rx_burst_lro(&r->rxq, pkts, BURST), c->out_n);
		for (i = packets = events = 0; i < c->out_n; i++) {
			compare(c, i, pkts[i]);
			packets += c->out[i].segments > 1 ? c->out[i].segments : 0;
			events += c->out[i].segments > 1;
		}
		rte_pktmbuf_free_bulk(pkts, c->out_n);
		assert_int_equal(lro.n.packets, packets);
		assert_int_equal(lro.n.events, events);
		if (lro.n.aborts != c->aborts)
			fail_msg("%s: %u aborts, wanted %u", c->name, (unsigned int)lro.n.aborts, c->aborts);
	}
	r->rxq.lro = NULL;
}

/*
 * Split at the end of the headers, as scapy builds it, too, with no buffer that is empty and none kept; a few octets behind it as
 * before. Of the packets that reach their limit of buffers there are others.
 */
static void
split_headers(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *pkts[BURST];
	const struct rte_mbuf *m;
	unsigned int k, i, free_before = rte_mempool_avail_count(r->pool);
	uint32_t behind;

	for (k = 0; k < 2 * RTE_DIM(lro_cases); k++) {
		const struct lro_case *c = &lro_cases[k / 2];
		struct mlx4_lro lro = {.max_len = MLX4_LRO_MAX_LEN};

		if (strcmp(c->name, "buffers") == 0 || strcmp(c->name, "octets") == 0)
			continue;
		behind = k % 2 == 0 ? 0 : 10;
		if (behind != 0 && strstr(c->name, "padding") != NULL)
			continue;
		r->rxq.lro = &lro;
		lay_split(r->pool, c, behind);
		assert_int_equal(mlx4_rx_burst_lro(&r->rxq, pkts, BURST), c->out_n);
		for (i = 0; i < c->out_n; i++) {
			compare(c, i, pkts[i]);
			for (m = pkts[i]; m != NULL; m = m->next)
				assert_int_not_equal(m->data_len, 0);
		}
		rte_pktmbuf_free_bulk(pkts, c->out_n);
		assert_int_equal(lro.n.aborts, c->aborts);
		assert_int_equal(rte_mempool_avail_count(r->pool), free_before);
	}
	/* Its first buffer of headers, then one of each of 40 segments. */
	for (k = 0; strcmp(lro_cases[k].name, "buffers") != 0; k++)
		;
	r->rxq.lro = &(struct mlx4_lro){.max_len = MLX4_LRO_MAX_LEN};
	lay_split(r->pool, &lro_cases[k], 0);
	assert_int_equal(mlx4_rx_burst_lro(&r->rxq, pkts, BURST), 2);
	assert_int_equal(pkts[0]->nb_segs, MLX4_LRO_SEGS);
	assert_int_equal(pkts[0]->pkt_len, 54 + 40 * 1000);
	rte_pktmbuf_free_bulk(pkts, 2);
	r->rxq.lro = NULL;
}

/* Bursts of any size: each frame comes once, joined or not, and room in the burst is used. */
static void
small_bursts(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *pkts[BURST];
	struct mlx4_lro lro;
	uint64_t single;
	unsigned int k;
	uint16_t n, got, i;

	r->rxq.lro = &lro;

	for (n = 1; n <= 9; n++) {
		for (k = 0; k < RTE_DIM(lro_cases); k++) {
			lro = (struct mlx4_lro){.max_len = MLX4_LRO_MAX_LEN};
			single = 0;
			lay(r->pool, &lro_cases[k]);
			while ((got = mlx4_rx_burst_lro(&r->rxq, pkts, n)) != 0) {
				for (i = 0; i < got; i++)
					single += (pkts[i]->ol_flags & RTE_MBUF_F_RX_LRO) == 0;
				rte_pktmbuf_free_bulk(pkts, got);
			}
			assert_int_equal(lro.n.packets + single, lro_cases[k].n);
		}
	}
	/* Four segments fill one place of two. */
	lay(r->pool, &lro_cases[0]);
	assert_int_equal(mlx4_rx_burst_lro(&r->rxq, pkts, 2), 1);
	assert_true((pkts[0]->ol_flags & RTE_MBUF_F_RX_LRO) != 0);
	rte_pktmbuf_free(pkts[0]);
	r->rxq.lro = NULL;
}

/* Limits that an application set; marks and tags that the card gave. */
static void
told_apart(void **state)
{
	const struct lro_case *four = &lro_cases[0];
	struct mlx4_lro lro = {.max_len = 54 + 2500};
	struct rings *r = *state;
	struct rte_mbuf *pkts[BURST];

	r->rxq.lro = &lro;
	lay(r->pool, four);
	assert_int_equal(mlx4_rx_burst_lro(&r->rxq, pkts, BURST), 2);
	assert_int_equal(pkts[0]->pkt_len, 54 + 2000);
	assert_int_equal(lro.n.aborts, 0);
	rte_pktmbuf_free_bulk(pkts, 2);
	lro.max_len = MLX4_LRO_MAX_LEN;

	lay(r->pool, four);
	wire[0]->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
	wire[1]->ol_flags = wire[2]->ol_flags = wire[3]->ol_flags = wire[0]->ol_flags;
	wire[0]->hash.fdir.hi = wire[1]->hash.fdir.hi = 5;
	wire[2]->hash.fdir.hi = wire[3]->hash.fdir.hi = 6;
	assert_int_equal(mlx4_rx_burst_lro(&r->rxq, pkts, BURST), 2);
	assert_int_equal(pkts[1]->hash.fdir.hi, 6);
	rte_pktmbuf_free_bulk(pkts, 2);

	lay(r->pool, four);
	wire[0]->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	wire[1]->ol_flags = wire[2]->ol_flags = wire[0]->ol_flags;
	wire[0]->vlan_tci = wire[1]->vlan_tci = 7;
	wire[2]->vlan_tci = 8;
	assert_int_equal(mlx4_rx_burst_lro(&r->rxq, pkts, BURST), 3);
	assert_int_equal(pkts[0]->pkt_len, 54 + 2000);
	rte_pktmbuf_free_bulk(pkts, 3);
	r->rxq.lro = NULL;
}

/* Headers that the first buffer has only a part of, and lengths that lie: the frame goes up as it came. */
static void
cut_headers(void **state)
{
	struct mlx4_lro lro = {.max_len = MLX4_LRO_MAX_LEN};
	struct rings *r = *state;
	struct rte_mbuf *pkts[BURST];
	unsigned int k;
	uint16_t len;

	r->rxq.lro = &lro;
	for (k = 0; k < 4; k++) {
		for (len = 1; len < 90; len++) {
			lay(r->pool, &lro_cases[k]);
			wire[1]->data_len = len;
			wire[1]->pkt_len = len;
			wire_n = 2;
			assert_int_equal(mlx4_rx_burst_lro(&r->rxq, pkts, BURST), 2);
			assert_int_equal(pkts[1]->pkt_len, len);
			rte_pktmbuf_free_bulk(pkts, 2);
			rte_pktmbuf_free_bulk(&wire[2], lro_cases[k].n - 2);
		}
	}
	assert_int_equal(lro.n.events, 0);
	r->rxq.lro = NULL;
}

static void
others_are_not_asked(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *pkts[BURST];

	lay(r->pool, &lro_cases[0]);
	assert_int_equal(mlx4_rx_burst_lro(&r->rxq, pkts, BURST), 4);
	rte_pktmbuf_free_bulk(pkts, 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(joins, rings_setup, rings_teardown),
		cmocka_unit_test_setup_teardown(split_headers, rings_setup, rings_teardown),
		cmocka_unit_test_setup_teardown(small_bursts, rings_setup, rings_teardown),
		cmocka_unit_test_setup_teardown(told_apart, rings_setup, rings_teardown),
		cmocka_unit_test_setup_teardown(cut_headers, rings_setup, rings_teardown),
		cmocka_unit_test_setup_teardown(others_are_not_asked, rings_setup, rings_teardown),
	};

	return rings_eal() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
