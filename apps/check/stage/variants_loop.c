/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* By frames that the card loops back inside. */
#include <string.h>

#include "loop.h"
#include "variants.h"

#define ORDER_PORT 7801u
#define TCP_PORT 7802u
#define ANY_PORT 7803u

static void
drop(struct port *p, struct rte_flow *f)
{
	struct rte_flow_error e;

	if (f != NULL)
		rte_flow_destroy(p->id, f, &e);
}

/* The queue by which a segment or datagram to this port comes, -1: by none. */
static int
comes_to(struct port *p, uint16_t type, uint8_t proto, uint16_t dport)
{
	struct frame_spec s = port_spec(p, &p->mac, type);
	static struct frame f;

	s.proto = proto;
	s.dport = dport;
	s.payload = 80;
	frame_make(&f, &s);
	if (!port_send(p, 0, port_mbuf(p, &f, NULL, 0)) || port_wait(p, 1) != 1)
		return -1;
	return p->got[0].queue;
}

static void
no_address(struct variants *s, struct port *p, struct mlx4_hca *hca)
{
	const struct loop_match m = {.any_address = true, .proto = FRAME_UDP, .dport = ANY_PORT};
	char why[2][CK_TEXT] = {"", ""};
	struct rte_flow *f;

	ck_step(s->c, "makes a rule that names no address");
	f = loop_rule(p, &m, 1, why[0]);
	if (f != NULL) {
		variant_found(s, MLX4_QUIRK_RULE_NO_ADDRESS, 0, "certain",
			      "such a rule was taken; a datagram came to queue %d",
			      comes_to(p, FRAME_IPV4, FRAME_UDP, ANY_PORT));
	} else {
		hca->quirks.v[MLX4_QUIRK_RULE_NO_ADDRESS] = 1;
		f = loop_rule(p, &m, 1, why[1]);
		if (f != NULL)
			variant_found(s, MLX4_QUIRK_RULE_NO_ADDRESS, 1, "certain",
				      "such a rule was refused, without it taken");
		else
			variant_open(s, MLX4_QUIRK_RULE_NO_ADDRESS, "refused both ways: %.100s; %.100s", why[0],
				     why[1]);
		hca->quirks = s->q;
	}
	drop(p, f);
}

static void
order(struct variants *s, struct port *p)
{
	struct loop_match m = {.proto = FRAME_UDP, .dport = ORDER_PORT};
	struct rte_flow *f[2];
	char why[CK_TEXT] = "";
	int queue;

	ck_step(s->c, "makes two rules for one datagram");
	f[0] = loop_rule(p, &m, 1, why);
	m.priority = 1;
	f[1] = loop_rule(p, &m, 2, why);
	queue = f[0] != NULL && f[1] != NULL ? comes_to(p, FRAME_IPV4, FRAME_UDP, ORDER_PORT) : -1;
	if (queue == 1 || queue == 2)
		variant_found(s, MLX4_QUIRK_RULE_ORDER, queue == 2, "certain",
			      "of two rules for one datagram that with the %s priority number took it",
			      queue == 1 ? "lower" : "higher");
	else
		variant_open(s, MLX4_QUIRK_RULE_ORDER, "the datagram came to queue %d, wanted 1 or 2%s%.200s", queue,
			     why[0] != '\0' ? ": " : "", why);
	drop(p, f[0]);
	drop(p, f[1]);
}

static void
transport(struct variants *s, struct port *p)
{
	const struct loop_match m = {.any_ip = true, .proto = FRAME_TCP, .dport = TCP_PORT};
	char why[CK_TEXT] = "";
	struct rte_flow *f;
	/* Where these go without a rule: the card has four queues, and one of them must not be the rule's. */
	int four, six, before = comes_to(p, FRAME_IPV6, FRAME_TCP, TCP_PORT), queue = before == 3 ? 2 : 3;

	ck_step(s->c, "makes a rule for TCP over any IP");
	f = loop_rule(p, &m, queue, why);
	if (f == NULL) {
		variant_open(s, MLX4_QUIRK_RULE_L4, "such a rule is refused: %.200s", why);
		return;
	}
	four = comes_to(p, FRAME_IPV4, FRAME_TCP, TCP_PORT);
	six = comes_to(p, FRAME_IPV6, FRAME_TCP, TCP_PORT);
	if (before >= 0 && four == queue && (six == queue || six == before))
		variant_found(s, MLX4_QUIRK_RULE_L4, six != queue, "certain",
			      "the rule to queue %d took a segment over IPv4; one over IPv6 came to queue %d, without "
			      "the rule to %d",
			      queue, six, before);
	else
		variant_open(s, MLX4_QUIRK_RULE_L4, "a segment over IPv4 came to queue %d, over IPv6 to %d, wanted %d",
			     four, six, queue);
	drop(p, f);
}

static bool
start(struct variants *s, struct port *p, const struct mlx4_hca *hca)
{
	struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS}};
	struct rte_eth_dev_info info;
	unsigned int port;
	int id = -1;

	for (port = 1; port <= hca->caps.num_ports && id < 0; port++)
		id = ck_port_id(hca, port);
	if (id < 0 || rte_eth_dev_info_get((uint16_t)id, &info) != 0)
		return false;
	conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP);
	return port_start(p, s->c, (uint16_t)id, PORT_QUEUES, &conf) &&
	       comes_to(p, FRAME_IPV4, FRAME_UDP, ORDER_PORT) >= 0;
}

static void
rules(struct variants *s, struct port *p, struct mlx4_hca *hca)
{
	no_address(s, p, hca);
	order(s, p);
	transport(s, p);
}

/* A port with BlueFlame, then one without; true: a frame came back. */
static bool
with(struct variants *s, const char *args, bool *offered)
{
	struct port p = {.mark = 0}, second = {.mark = 0x200000};
	struct mlx4_hca *hca;
	bool came;

	hca = ck_ports_as(s->c, args, &s->q);
	if (hca == NULL)
		return false;
	*offered = hca->caps.bf;
	came = start(s, &p, hca);
	if (came && *offered)
		variant_found(s, MLX4_QUIRK_BF_PLACE, 0, "certain", "a frame that was written there came back");
	if (came) {
		rules(s, &p, hca);
		variants_tunnels(s, &p, hca);
	}
	port_end(&p);
	if (came)
		variants_counter(s, hca, &second);
	ck_ports_end(s->c);
	rte_mempool_free(p.pool);
	rte_mempool_free(second.pool);
	return came;
}

void
variants_by_frames(struct variants *s)
{
	bool offered = false, unused;

	if (with(s, "mac-loopback=1,bf=1", &offered))
		return;
	s->q.v[MLX4_QUIRK_BF_PLACE] = 1;
	if (with(s, "mac-loopback=1", &unused) && offered)
		variant_found(
			s, MLX4_QUIRK_BF_PLACE, 1, "certain",
			"a frame that was written behind the UAR pages did not come back, one with a doorbell did");
	else
		s->q.v[MLX4_QUIRK_BF_PLACE] = 0;
}
