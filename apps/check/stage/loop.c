/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 6: one port alone. What it sends to its own address the card loops back before the wire. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_flow.h>

#include "loop.h"

#define FIRST_MTU 1500u
#define LARGE_MTU 9000u
#define RULE_PORT 7777u
#define DROP_PORT 7778u
#define MARKER_PORT 7779u
#define RULE_QUEUE 3

bool
loop_first(struct port *p)
{
	struct frame_spec s = port_spec(p, &p->mac, FRAME_TEST);
	static struct frame f;
	const struct port_got *g;

	ck_step(p->c, "sends a first frame");
	s.payload = 100;
	frame_make(&f, &s);
	g = port_echo(p, "first-frame", &f, 0, 0);
	return g != NULL && ck_judge(p->c, port_same(g, &f), "first-frame", "%u octets came back, %s", g->len,
				     port_same(g, &f) ? "the same" : "others than those that were sent");
}

void
loop_sizes(struct port *p, const char *name)
{
	static const uint16_t sizes[] = {14,  15,  31,  32,  44,  45,  46,  59,  60,  61,   63,   64,   65,   92,  103,
					 104, 105, 120, 127, 128, 255, 256, 511, 512, 1023, 1024, 1500, 1513, 1514};
	struct frame_spec s;
	static struct frame f;
	const struct port_got *g;
	unsigned int i, good = 0;

	ck_step(p->c, "sends frames of %zu sizes (%s)", RTE_DIM(sizes), name);
	for (i = 0; i < RTE_DIM(sizes); i++) {
		s = port_spec(p, &p->mac, FRAME_TEST);
		s.payload = sizes[i] - 14u;
		frame_make(&f, &s);
		g = port_echo(p, name, &f, 0, 0);
		if (g == NULL)
			return;
		if (port_same(g, &f))
			good++;
		else
			ck_say(p->c, CK_FAIL, name, "of %u octets %u came back, not the same", f.len, g->len);
	}
	ck_judge(p->c, good == RTE_DIM(sizes), name, "frames of %u sizes, 14 to 1514 octets, came back the same", good);
}

void
loop_segments(struct port *p)
{
	static const struct {
		uint32_t len;
		unsigned int n;
		uint16_t piece[8];
	} shapes[] = {
		{64, 2, {14, 50}},
		{200, 3, {14, 1, 185}},
		{1514, 4, {60, 400, 400, 654}},
		{1514, 8, {14, 20, 20, 64, 128, 256, 512, 500}},
		{777, 5, {1, 13, 63, 65, 635}},
	};
	struct frame_spec s;
	static struct frame f;
	unsigned int i, good = 0;

	ck_step(p->c, "sends frames in several segments");
	for (i = 0; i < RTE_DIM(shapes); i++) {
		s = port_spec(p, &p->mac, FRAME_TEST);
		s.payload = shapes[i].len - 14;
		frame_make(&f, &s);
		if (!port_send(p, 0, port_mbuf(p, &f, shapes[i].piece, shapes[i].n)) || port_wait(p, 1) != 1)
			ck_say(p->c, CK_FAIL, "segments", "a frame of %u segments did not come back", shapes[i].n);
		else if (!port_same(&p->got[0], &f))
			ck_say(p->c, CK_FAIL, "segments", "a frame of %u segments came back changed", shapes[i].n);
		else
			good++;
	}
	ck_judge(p->c, good == RTE_DIM(shapes), "segments", "%u of %zu frames of 2 to 8 segments came back the same",
		 good, RTE_DIM(shapes));
}

static bool
is_marker(const struct port_got *g)
{
	struct frame_view v;

	return frame_parse(g->b, g->len, &v) && v.proto == FRAME_UDP && v.dport == MARKER_PORT;
}

/* Sends f and then a marker to the own address; true: f came before it. *lost: not even the marker came. */
static bool
arrives(struct port *p, const struct frame *f, bool *lost)
{
	struct frame_spec s = port_spec(p, &p->mac, FRAME_IPV4);
	static struct frame m;
	unsigned int i;
	bool came = false;

	s.dport = MARKER_PORT;
	s.payload = 64;
	frame_make(&m, &s);
	if (!port_send(p, 0, port_mbuf(p, f, NULL, 0)) || !port_send(p, 0, port_mbuf(p, &m, NULL, 0)) ||
	    !port_until(p, is_marker)) {
		*lost = true;
		return false;
	}
	for (i = 0; i < p->num; i++)
		came = came || port_same(&p->got[i], f);
	return came;
}

static struct frame *
to(struct port *p, const uint8_t mac[6])
{
	static struct frame f;
	struct rte_ether_addr a;
	struct frame_spec s;

	memcpy(a.addr_bytes, mac, 6);
	s = port_spec(p, &a, FRAME_IPV4);
	s.payload = 80;
	frame_make(&f, &s);
	return &f;
}

void
loop_filter(struct port *p)
{
	static const uint8_t other[6] = {0x02, 0x54, 0x50, 0x43, 0x4b, 0x99};
	struct rte_ether_addr mac;
	bool lost = false, before, with, after;
	int rc;

	ck_step(p->c, "adds an address and takes it away");
	memcpy(mac.addr_bytes, other, 6);
	before = arrives(p, to(p, other), &lost);
	rc = rte_eth_dev_mac_addr_add(p->id, &mac, 0);
	if (rc != 0) {
		ck_say(p->c, CK_FAIL, "addresses", "an address is refused: %s", rte_strerror(-rc));
		return;
	}
	with = arrives(p, to(p, other), &lost);
	rc = rte_eth_dev_mac_addr_remove(p->id, &mac);
	after = arrives(p, to(p, other), &lost);
	ck_judge(p->c, !lost && rc == 0 && !before && with && !after, "addresses",
		 "a frame to another address %s; after the address was added it %s, after it was removed it %s%s",
		 before ? "came (wanted: not)" : "did not come", with ? "came" : "did not come (wanted: it does)",
		 after ? "came (wanted: not)" : "did not come", lost ? "; frames to the own address were lost" : "");
}

struct rte_flow *
loop_rule(struct port *p, const struct loop_match *m, int queue, char why[CK_TEXT])
{
	const struct rte_flow_attr attr = {.ingress = 1, .priority = m->priority};
	const struct rte_flow_item_udp udp = {.hdr = {.dst_port = rte_cpu_to_be_16(m->dport)}},
				       udp_mask = {.hdr = {.dst_port = UINT16_MAX}};
	const struct rte_flow_item_tcp tcp = {.hdr = {.dst_port = rte_cpu_to_be_16(m->dport)}},
				       tcp_mask = {.hdr = {.dst_port = UINT16_MAX}};
	const struct rte_flow_item_eth eth = {.hdr = {.dst_addr = p->mac}},
				       eth_mask = {.hdr = {.dst_addr = {.addr_bytes = "\xff\xff\xff\xff\xff\xff"}}};
	const struct rte_flow_action_queue to = {.index = (uint16_t)queue};
	const struct rte_flow_action actions[] = {
		{.type = queue < 0 ? RTE_FLOW_ACTION_TYPE_DROP : RTE_FLOW_ACTION_TYPE_QUEUE,
		 .conf = queue < 0 ? NULL : &to},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_item items[4] = {{.type = RTE_FLOW_ITEM_TYPE_ETH}};
	struct rte_flow_error e = {.message = NULL};
	struct rte_flow *f;
	unsigned int n = 1;

	if (!m->any_address) {
		items[0].spec = &eth;
		items[0].mask = &eth_mask;
	}
	if (!m->any_ip)
		items[n++].type = RTE_FLOW_ITEM_TYPE_IPV4;
	if (m->proto == FRAME_TCP)
		items[n++] = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_TCP, .spec = &tcp, .mask = &tcp_mask};
	else
		items[n++] = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask};
	items[n].type = RTE_FLOW_ITEM_TYPE_END;
	f = rte_flow_create(p->id, &attr, items, actions, &e);
	if (f == NULL)
		snprintf(why, CK_TEXT, "%s", e.message != NULL ? e.message : "no reason was given");
	return f;
}

static struct frame *
datagram(struct port *p, uint16_t dport)
{
	static struct frame f;
	struct frame_spec s = port_spec(p, &p->mac, FRAME_IPV4);

	s.dport = dport;
	s.payload = 90;
	frame_make(&f, &s);
	return &f;
}

void
loop_rules(struct port *p)
{
	const struct loop_match to_queue = {.proto = FRAME_UDP, .dport = RULE_PORT},
				drop = {.proto = FRAME_UDP, .dport = DROP_PORT};
	struct rte_flow_error e;
	struct rte_flow *f[2];
	const struct port_got *g;
	char why[CK_TEXT] = "";
	bool lost = false, came;

	ck_step(p->c, "steers datagrams by rules");
	f[0] = loop_rule(p, &to_queue, RULE_QUEUE, why);
	f[1] = f[0] != NULL ? loop_rule(p, &drop, -1, why) : NULL;
	if (f[1] == NULL) {
		ck_say(p->c, CK_FAIL, "rules", "a rule is refused: %s", why);
	} else {
		g = port_echo(p, "rule-queue", datagram(p, RULE_PORT), 0, 0);
		if (g != NULL)
			ck_judge(p->c, g->queue == RULE_QUEUE, "rule-queue", "a datagram came to queue %u, wanted %d",
				 g->queue, RULE_QUEUE);
		came = arrives(p, datagram(p, DROP_PORT), &lost);
		ck_judge(p->c, !came && !lost, "rule-drop", "a datagram that a rule drops %s%s",
			 came ? "came" : "did not come", lost ? ", and the one behind it was lost, too" : "");
	}
	if (f[0] != NULL)
		rte_flow_destroy(p->id, f[0], &e);
	if (f[1] != NULL) {
		rte_flow_destroy(p->id, f[1], &e);
		came = arrives(p, datagram(p, DROP_PORT), &lost);
		ck_judge(p->c, came && !lost, "rule-removed", "without the rule the datagram %s",
			 came ? "comes again" : "does not come");
	}
}

/* --- the stage ------------------------------------------------------------------------------------------------------ */

static struct rte_eth_conf
plain_conf(void)
{
	struct rte_eth_conf conf = {
		.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .mtu = FIRST_MTU},
		.rx_adv_conf = {.rss_conf = {.rss_key_len = 40,
					     .rss_hf = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP}},
	};

	/* The structure's key is no const; nobody writes to it. */
	conf.rx_adv_conf.rss_conf.rss_key = (uint8_t *)(uintptr_t)loop_rss_key;
	conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
			       RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
			       RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
	return conf;
}

static bool
can(struct ck *c, uint16_t id, struct rte_eth_conf *conf)
{
	struct rte_eth_dev_info info;
	uint64_t rx, tx;

	if (rte_eth_dev_info_get(id, &info) != 0)
		return false;
	rx = conf->rxmode.offloads & ~info.rx_offload_capa;
	tx = conf->txmode.offloads & ~info.tx_offload_capa;
	if (rx != 0 || tx != 0)
		ck_say(c, CK_WARN, "offloads", "not offered, and not tried: receive 0x%" PRIx64 ", transmit 0x%" PRIx64,
		       rx, tx);
	conf->rxmode.offloads &= ~rx;
	conf->txmode.offloads &= ~tx;
	conf->rx_adv_conf.rss_conf.rss_hf &= info.flow_type_rss_offloads;
	return true;
}

static bool
plain(struct port *p, struct ck *c, uint16_t id)
{
	struct rte_eth_conf conf = plain_conf();

	if (!can(c, id, &conf) || !port_start(p, c, id, PORT_QUEUES, &conf))
		return false;
	if (!loop_first(p)) {
		ck_say(c, CK_SKIP, "loopback", "as the first frame does not come back, nothing else is tried");
		return false;
	}
	loop_sizes(p, "sizes");
	loop_segments(p);
	loop_tx_sums(p);
	loop_rx_sums(p);
	if ((conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0)
		loop_large_sends(p);
	loop_tags(p);
	loop_rss(p);
	loop_filter(p);
	loop_rules(p);
	return true;
}

/* Tags taken off, filtered VLANs, the FCS kept, large frames in several buffers. */
static void
stripped(struct port *p, struct ck *c, uint16_t id)
{
	struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE, .mtu = LARGE_MTU}};

	conf.rxmode.offloads =
		RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port_stop(p);
	if (can(c, id, &conf) && port_start(p, c, id, 1, &conf))
		loop_tags_off(p);
}

/* false: nothing came back. */
static bool
run(struct ck *c, const char *args, bool (*fn)(struct port *p, struct ck *c, uint16_t id), const char *capture)
{
	struct port p = {.mark = 0};
	struct mlx4_hca *hca;
	unsigned int port;
	int id = -1;
	bool came;

	hca = ck_ports(c, args);
	if (hca == NULL)
		return false;
	for (port = 1; port <= hca->caps.num_ports && id < 0; port++)
		id = ck_port_id(hca, port);
	port_capture(&p, c, capture);
	came = fn(&p, c, (uint16_t)id);
	if (came && fn == plain)
		stripped(&p, c, (uint16_t)id);
	port_end(&p);
	ck_finish(c, hca);
	rte_mempool_free(p.pool);
	return came;
}

static bool
short_frames(struct port *p, struct ck *c, uint16_t id)
{
	struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE}};

	if (!port_start(p, c, id, 1, &conf) || !loop_first(p))
		return false;
	loop_sizes(p, "inline-and-blueflame");
	return true;
}

void
ck_stage_loop(struct ck *c)
{
	if (run(c, "mac-loopback=1", plain, "loopback.pcap"))
		run(c, "mac-loopback=1,bf=1,tx-inline=104", short_frames, "loopback-inline.pcap");
}
