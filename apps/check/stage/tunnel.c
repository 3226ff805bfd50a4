/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* By frames inside frames that the card loops back, and by what it counts of them. */
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>

#include "loop.h"
#include "variants.h"

#define VNI 0x54504cu
#define FLOWS 8u
#define INNER 120u
#define COUNTED 4u

/* A tunnelled segment; flow: of the inner one, the outer one is always the same. NULL: it did not come back. */
static const struct port_got *
through(struct port *p, uint16_t flow, bool wrong)
{
	struct frame_spec in = port_spec(p, &p->mac, FRAME_IPV4), out = port_spec(p, &p->mac, FRAME_IPV4);
	static struct frame inner, f;

	in.proto = FRAME_TCP;
	in.sport = (uint16_t)(in.sport + flow);
	in.payload = INNER;
	frame_make(&inner, &in);
	if (wrong)
		inner.b[inner.len - 1] ^= 0x55;
	frame_wrap(&f, &out, VNI, &inner);
	return port_send(p, 0, port_mbuf(p, &f, NULL, 0)) ? port_comes(p, &f) : NULL;
}

#define INNER_SUM RTE_MBUF_F_RX_L4_CKSUM_MASK
#define OUTER_SUM RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK

static const char *
word(uint64_t flags, uint64_t good, uint64_t bad)
{
	return flags == good ? "good" : flags == bad ? "bad" : "nothing";
}

static void
sums(struct variants *s, struct port *p)
{
	const struct port_got *g;
	uint64_t inner[2], outer[2];
	unsigned int i;
	bool a, b;

	ck_step(s->c, "sends tunnelled segments, of which one has a wrong checksum inside");
	for (i = 0; i < 2; i++) {
		g = through(p, 0, i != 0);
		if (g == NULL) {
			variant_open(s, MLX4_QUIRK_TUNNEL_SUMS, "a tunnelled frame did not come back");
			return;
		}
		inner[i] = g->ol_flags & INNER_SUM;
		outer[i] = g->ol_flags & OUTER_SUM;
	}
	a = inner[1] == RTE_MBUF_F_RX_L4_CKSUM_BAD && outer[1] == RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD;
	b = inner[1] == RTE_MBUF_F_RX_L4_CKSUM_GOOD && outer[1] != RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD;
	if (inner[0] == RTE_MBUF_F_RX_L4_CKSUM_GOOD && outer[0] == RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD && a != b)
		variant_found(
			s, MLX4_QUIRK_TUNNEL_SUMS, b, "certain",
			"of a frame with a wrong inner checksum, read as by variant a, the inner one is said to be "
			"%s",
			b ? "good and the outer one not" : "bad and the outer one good");
	else
		variant_open(s, MLX4_QUIRK_TUNNEL_SUMS,
			     "of a right frame it says inner %s, outer %s; of one that is wrong inside inner %s, outer "
			     "%s",
			     word(inner[0], RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_BAD),
			     word(outer[0], RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD, RTE_MBUF_F_RX_OUTER_L4_CKSUM_BAD),
			     word(inner[1], RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_BAD),
			     word(outer[1], RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD, RTE_MBUF_F_RX_OUTER_L4_CKSUM_BAD));
}

/* How many hashes there are among flows between two hosts of the tunnel; 0: a frame was lost. */
static unsigned int
hashes(struct port *p)
{
	uint32_t hash[FLOWS];
	unsigned int i, k, n = 0;

	for (i = 0; i < FLOWS; i++) {
		const struct port_got *g = through(p, (uint16_t)i, false);

		if (g == NULL)
			return 0;
		hash[i] = g->hash;
		for (k = 0; k < i && hash[k] != hash[i]; k++)
			;
		n += k == i;
	}
	return n;
}

static void
inner_hash(struct variants *s, struct port *p, struct mlx4_hca *hca, const struct rte_eth_conf *conf)
{
	struct rte_eth_rss_conf rss = conf->rx_adv_conf.rss_conf;
	unsigned int first, second = 0;
	int rc = 0;

	ck_step(s->c, "sends tunnelled segments of %u flows", FLOWS);
	first = hashes(p);
	if (first == 1) {
		hca->quirks.v[MLX4_QUIRK_INNER_RSS] = 1;
		rc = rte_eth_dev_rss_hash_update(p->id, &rss);
		second = rc == 0 ? hashes(p) : 0;
		hca->quirks = s->q;
	}
	if (first > FLOWS / 2)
		variant_found(s, MLX4_QUIRK_INNER_RSS, 0, "certain", "with it %u tunnelled flows have %u hashes", FLOWS,
			      first);
	else if (second > FLOWS / 2)
		variant_found(s, MLX4_QUIRK_INNER_RSS, 1, "certain",
			      "with it %u tunnelled flows have %u hashes, with 0x80 alone one", FLOWS, second);
	else
		variant_open(s, MLX4_QUIRK_INNER_RSS, "%u tunnelled flows have %u hashes with 0x80, %u with 0xc0%s%s",
			     FLOWS, first, second, rc != 0 ? ": " : "", rc != 0 ? rte_strerror(-rc) : "");
}

void
variants_tunnels(struct variants *s, struct port *p, struct mlx4_hca *hca)
{
	struct rte_eth_conf conf = {
		.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS,
			   .offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH |
				       RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM},
		.rx_adv_conf = {.rss_conf = {.rss_key = (uint8_t *)(uintptr_t)loop_rss_key,
					     .rss_key_len = (uint8_t)loop_rss_key_len,
					     .rss_hf = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_LEVEL_INNERMOST}},
	};
	struct rte_eth_dev_info info;

	if (!hca->caps.vxlan || rte_eth_dev_info_get(p->id, &info) != 0) {
		variant_open(s, MLX4_QUIRK_TUNNEL_SUMS, "the card knows no tunnels: it is no Pro");
		variant_open(s, MLX4_QUIRK_INNER_RSS, "the card knows no tunnels: it is no Pro");
		return;
	}
	conf.rx_adv_conf.rss_conf.rss_hf &= info.flow_type_rss_offloads | RTE_ETH_RSS_LEVEL_MASK;
	port_stop(p);
	if (!port_start(p, s->c, p->id, PORT_QUEUES, &conf))
		return;
	sums(s, p);
	inner_hash(s, p, hca, &conf);
}

/* Frames that a counter of the card has, both ways; UINT64_MAX: it cannot be read. */
static uint64_t
counted(struct mlx4_hca *hca, uint32_t counter)
{
	uint8_t box[MLX4_IF_STAT_SIZE];

	if (mlx4_cmd(hca, MLX4_CMD_QUERY_IF_STAT, 0, counter, NULL, 0, box, sizeof(box)) != 0)
		return UINT64_MAX;
	return prm_get64(box, MLX4_IF_STAT_RX_FRAMES) + prm_get64(box, MLX4_IF_STAT_TX_FRAMES);
}

static bool
echoes(struct port *p)
{
	struct frame_spec s = port_spec(p, &p->mac, FRAME_TEST);
	static struct frame f;

	s.payload = INNER;
	frame_make(&f, &s);
	return port_send(p, 0, port_mbuf(p, &f, NULL, 0)) && port_comes(p, &f) != NULL;
}

/* Where the index is not, there is 0: the first port's counter. So only the second port's own one, number 1, tells. */
void
variants_counter(struct variants *s, struct mlx4_hca *hca, struct port *p)
{
	const int id = hca->caps.num_ports > 1 ? ck_port_id(hca, 2) : -1;
	uint64_t before[2], more[2];
	unsigned int i, came = 0;

	if (id < 0 || ((hca->caps.flags >> MLX4_DEV_FLAG_COUNTERS) & 1) == 0 || hca->caps.max_counters < 3) {
		variant_open(s, MLX4_QUIRK_COUNTER_PLACE, "there is no second Ethernet port with a counter of its own");
		return;
	}
	ck_step(s->c, "looks where frames of the second port are counted");
	if (port_start(p, s->c, (uint16_t)id, 1, NULL)) {
		before[0] = counted(hca, 0);
		before[1] = counted(hca, 1);
		for (i = 0; i < COUNTED; i++)
			came += echoes(p);
		for (i = 0; i < 2; i++)
			more[i] = counted(hca, i) - before[i];
		if (came == COUNTED && (more[0] == 0) != (more[1] == 0))
			variant_found(s, MLX4_QUIRK_COUNTER_PLACE, more[1] == 0, "certain",
				      "of %u frames that the second port sent to itself counter 0 has %" PRIu64
				      ", counter 1 %" PRIu64,
				      COUNTED, more[0], more[1]);
		else
			variant_open(s, MLX4_QUIRK_COUNTER_PLACE,
				     "%u of %u frames came back; counter 0 has %" PRIu64 ", counter 1 %" PRIu64
				     ", wanted one of them",
				     came, COUNTED, more[0], more[1]);
	}
	port_end(p);
}
