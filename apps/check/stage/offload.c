/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 6: what the card does to frames: checksums, large sends, tags, the hash. */
#include <inttypes.h>
#include <string.h>

#include <arpa/inet.h>

#include <rte_errno.h>

#include "lib/reta/toeplitz_vectors.h"
#include "loop.h"

#define TCI 0x6123u
#define STRIP_VID 0x123u
#define MSS 1000u
#define LARGE 5300u
#define TCP_FIN 0x01u
#define TCP_PSH 0x08u
#define PROTO_NONE 253u /* for experiments (RFC 3692) */

static const char *
kind_of(uint16_t type, uint8_t proto)
{
	static const char *const names[2][2] = {{"udp4", "tcp4"}, {"udp6", "tcp6"}};

	return names[type == FRAME_IPV6][proto == FRAME_TCP];
}

/* --- checksums that the card makes ----------------------------------------------------------------------------------- */

static void
tx_sum(struct port *p, uint16_t type, uint8_t proto)
{
	static const uint32_t payloads[] = {0, 1, 18, 100, 999, 1400};
	const uint64_t flags = (type == FRAME_IPV6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM) |
			       (proto == FRAME_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM);
	char name[32];
	struct frame_view v;
	static struct frame f, wanted;
	unsigned int i, good = 0;

	snprintf(name, sizeof(name), "tx-checksum-%s", kind_of(type, proto));
	for (i = 0; i < RTE_DIM(payloads); i++) {
		struct frame_spec s = port_spec(p, &p->mac, type);
		const struct port_got *g;

		s.proto = proto;
		s.payload = payloads[i];
		frame_make(&wanted, &s);
		s.no_ip_sum = s.no_l4_sum = true;
		frame_make(&f, &s);
		g = port_echo(p, name, &f, flags, 0);
		if (g == NULL)
			return;
		if (!frame_parse(g->b, g->len, &v) || !v.ip_sum || !v.l4_sum)
			ck_say(p->c, CK_FAIL, name, "with %u octets of payload: %s checksum is wrong", payloads[i],
			       v.ip_sum ? "the transport's" : "the header's");
		else if (!port_same(g, &wanted))
			ck_say(p->c, CK_FAIL, name, "with %u octets of payload more than the checksums changed",
			       payloads[i]);
		else
			good++;
	}
	ck_judge(p->c, good == RTE_DIM(payloads), name, "%u of %zu frames came back with right checksums", good,
		 RTE_DIM(payloads));
}

void
loop_tx_sums(struct port *p)
{
	ck_step(p->c, "has the card make checksums");
	tx_sum(p, FRAME_IPV4, FRAME_UDP);
	tx_sum(p, FRAME_IPV4, FRAME_TCP);
	tx_sum(p, FRAME_IPV6, FRAME_UDP);
	tx_sum(p, FRAME_IPV6, FRAME_TCP);
}

/* --- checksums that the card looks at -------------------------------------------------------------------------------- */

/* What was said of a frame: wrong is 0 none, 1 the header's, 2 the transport's. */
static void
rx_sum(struct port *p, uint16_t type, uint8_t proto, unsigned int wrong)
{
	static const char *const what[] = {"right", "a wrong header checksum", "a wrong transport checksum"};
	struct frame_spec s = port_spec(p, &p->mac, type);
	uint64_t ip, l4;
	static struct frame f;
	const struct port_got *g;
	char name[32];
	bool ok;

	snprintf(name, sizeof(name), "rx-checksum-%s", kind_of(type, proto));
	s.proto = proto;
	s.payload = 200;
	frame_make(&f, &s);
	if (wrong == 1)
		f.b[f.l2_len + 10] ^= 0x55;
	else if (wrong == 2)
		f.b[f.len - 1] ^= 0x55;
	g = port_echo(p, name, &f, 0, 0);
	if (g == NULL)
		return;
	ip = g->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	l4 = g->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	ok = port_same(g, &f);
	if (wrong == 1)
		ok = ok && ip == RTE_MBUF_F_RX_IP_CKSUM_BAD;
	else
		ok = ok && (type == FRAME_IPV6 || ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD) &&
		     (wrong != 2 ? l4 == RTE_MBUF_F_RX_L4_CKSUM_GOOD
				 /* The card says the same of UDP without a checksum, so nothing is what may be said. */
				 : l4 != RTE_MBUF_F_RX_L4_CKSUM_GOOD &&
					   (proto == FRAME_UDP || l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD));
	ck_judge(p->c, ok, name, "%s: header %s, transport %s", what[wrong],
		 ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD  ? "good"
		 : ip == RTE_MBUF_F_RX_IP_CKSUM_BAD ? "bad"
						    : "not looked at",
		 l4 == RTE_MBUF_F_RX_L4_CKSUM_GOOD  ? "good"
		 : l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD ? "bad"
						    : "not looked at");
}

void
loop_rx_sums(struct port *p)
{
	static const uint8_t protos[] = {FRAME_UDP, FRAME_TCP};
	unsigned int i;

	ck_step(p->c, "sends right and wrong checksums");
	for (i = 0; i < RTE_DIM(protos); i++) {
		rx_sum(p, FRAME_IPV4, protos[i], 0);
		rx_sum(p, FRAME_IPV4, protos[i], 1);
		rx_sum(p, FRAME_IPV4, protos[i], 2);
		rx_sum(p, FRAME_IPV6, protos[i], 0);
		rx_sum(p, FRAME_IPV6, protos[i], 2);
	}
}

/* --- large sends ------------------------------------------------------------------------------------------------------ */

/* Why segment number i is not what it should be, NULL: it is. */
static const char *
segment_fault(const struct port_got *g, const struct frame_spec *s, unsigned int i, unsigned int n)
{
	const uint32_t want = i + 1 < n ? MSS : LARGE - (n - 1) * MSS;
	struct frame_view v;
	uint32_t k;

	if (!frame_parse(g->b, g->len, &v) || v.proto != FRAME_TCP)
		return "no TCP segment";
	if (!v.lengths)
		return "lengths that do not agree";
	if (!v.ip_sum || !v.l4_sum)
		return "a wrong checksum";
	if (v.payload_len != want)
		return "another length";
	if (v.seq != s->seq + i * MSS)
		return "another sequence number";
	if (s->type == FRAME_IPV4 && v.ip_id != ((s->mark + i) & 0xffff))
		return "another IP identification";
	if (((v.tcp_flags & TCP_PSH) != 0) != (i + 1 == n))
		return "PSH that is not the last one's alone";
	for (k = 0; k < v.payload_len; k++)
		if (v.payload[k] != frame_octet(s->mark, i * MSS + k))
			return "other octets";
	return NULL;
}

static void
large(struct port *p, uint16_t type, const uint16_t *piece, unsigned int pieces, const char *shape)
{
	const unsigned int n = (LARGE + MSS - 1) / MSS;
	struct frame_spec s = port_spec(p, &p->mac, type);
	static struct frame f;
	struct rte_mbuf *m;
	const char *why = NULL;
	unsigned int i, got;
	char name[32];

	snprintf(name, sizeof(name), "large-send-%s", kind_of(type, FRAME_TCP));
	s.proto = FRAME_TCP;
	s.seq = 0xfffff000u;
	s.payload = LARGE;
	s.no_ip_sum = s.no_l4_sum = true;
	frame_make(&f, &s);
	m = port_mbuf(p, &f, piece, pieces);
	if (m != NULL) {
		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG |
			       (type == FRAME_IPV6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM);
		m->tso_segsz = MSS;
	}
	if (!port_send(p, 0, m)) {
		ck_say(p->c, CK_FAIL, name, "a send of %u octets was not taken (%s)", f.len, shape);
		return;
	}
	got = port_wait(p, n);
	for (i = 0; i < got && why == NULL; i++)
		why = i < n ? segment_fault(&p->got[i], &s, i, n) : "one too many";
	ck_judge(p->c, got == n && why == NULL, name, "%s: %u of %u segments came back%s%s", shape, got, n,
		 why != NULL ? ", one with "
			     : ", each with the sequence number, flags, sums and octets that it should have",
		 why != NULL ? why : "");
}

void
loop_large_sends(struct port *p)
{
	static const uint16_t plain[] = {1024, 1024, 1024, 1024, 1024}, head4[] = {54, 2000, 2000, 1300},
			      head6[] = {74, 1, 1999, 2000, 1300};

	ck_step(p->c, "has the card cut large sends");
	large(p, FRAME_IPV4, plain, RTE_DIM(plain), "headers and data together");
	large(p, FRAME_IPV4, head4, RTE_DIM(head4), "headers in a buffer of their own");
	large(p, FRAME_IPV6, plain, RTE_DIM(plain), "headers and data together");
	large(p, FRAME_IPV6, head6, RTE_DIM(head6), "headers in a buffer of their own");
}

/* --- tags -------------------------------------------------------------------------------------------------------------- */

void
loop_tags(struct port *p)
{
	struct frame_spec s = port_spec(p, &p->mac, FRAME_IPV4);
	static struct frame f, wanted;
	const struct port_got *g;

	ck_step(p->c, "sends with tags");
	s.payload = 100;
	frame_make(&f, &s);
	s.vlan = true;
	s.tci = TCI;
	frame_make(&wanted, &s);
	g = port_echo(p, "vlan-insert", &f, RTE_MBUF_F_TX_VLAN, TCI);
	if (g != NULL)
		ck_judge(p->c, port_same(g, &wanted), "vlan-insert", "%s",
			 port_same(g, &wanted) ? "the card put the tag in"
					       : "what came back is not the frame with the tag");
	g = port_echo(p, "vlan-in-frame", &wanted, 0, 0);
	if (g != NULL)
		ck_judge(p->c, port_same(g, &wanted), "vlan-in-frame", "%s",
			 port_same(g, &wanted) ? "a tag in the frame stayed" : "a tag in the frame did not stay");
}

static bool
is_last(const struct port_got *g)
{
	struct frame_view v;

	return frame_parse(g->b, g->len, &v) && v.tags == 0 && v.type == FRAME_TEST;
}

static void
filtered(struct port *p, uint16_t vid, bool pass)
{
	struct rte_ether_addr mac = p->mac;
	struct frame_spec s = port_spec(p, &mac, FRAME_IPV4), last = port_spec(p, &mac, FRAME_TEST);
	static struct frame f, m;
	unsigned int i, n = 0;

	s.vlan = true;
	s.tci = vid;
	last.payload = s.payload = 60;
	frame_make(&f, &s);
	frame_make(&m, &last);
	if (!port_send(p, 0, port_mbuf(p, &f, NULL, 0)) || !port_send(p, 0, port_mbuf(p, &m, NULL, 0)) ||
	    !port_until(p, is_last)) {
		ck_say(p->c, CK_FAIL, "vlan-filter", "a frame without a tag did not come back");
		return;
	}
	for (i = 0; i < p->num; i++)
		n += !is_last(&p->got[i]);
	ck_judge(p->c, n == (pass ? 1u : 0u), "vlan-filter", "VLAN %u, which is %s: %u frames came", vid,
		 pass ? "chosen" : "not chosen", n);
}

void
loop_tags_off(struct port *p)
{
	static const uint32_t sizes[] = {1514, 2000, 4096, 9014};
	struct frame_spec s = port_spec(p, &p->mac, FRAME_IPV4);
	static struct frame f, wanted;
	const struct port_got *g;
	unsigned int i, good = 0;
	int rc;

	ck_step(p->c, "takes tags off");
	rc = rte_eth_dev_vlan_filter(p->id, STRIP_VID, 1);
	if (rc != 0) {
		ck_say(p->c, CK_FAIL, "vlan-filter", "VLAN %u is refused: %s", STRIP_VID, rte_strerror(-rc));
		return;
	}
	s.payload = 100;
	frame_make(&wanted, &s);
	s.vlan = true;
	s.tci = (TCI & 0xe000) | STRIP_VID;
	frame_make(&f, &s);
	g = port_echo(p, "vlan-strip", &f, 0, 0);
	if (g != NULL)
		ck_judge(p->c,
			 port_same(g, &wanted) && (g->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 && g->tci == s.tci,
			 "vlan-strip", "the tag 0x%04x came beside the frame as 0x%04x, the frame %s it", s.tci, g->tci,
			 port_same(g, &wanted) ? "without" : "changed or with");
	filtered(p, STRIP_VID, true);
	filtered(p, STRIP_VID + 1, false);
	ck_step(p->c, "sends large frames");
	for (i = 0; i < RTE_DIM(sizes); i++) {
		s = port_spec(p, &p->mac, FRAME_TEST);
		s.payload = sizes[i] - 14;
		frame_make(&f, &s);
		g = port_echo(p, "large-frames", &f, 0, 0);
		if (g != NULL && port_same(g, &f))
			good++;
		else if (g != NULL)
			ck_say(p->c, CK_FAIL, "large-frames", "of %u octets %u came back, not the same", f.len, g->len);
	}
	ck_judge(p->c, good == RTE_DIM(sizes), "large-frames",
		 "%u of %zu frames of up to 9014 octets came back the same, in several buffers", good, RTE_DIM(sizes));
}

/* --- the hash ---------------------------------------------------------------------------------------------------------- */

const uint8_t *const loop_rss_key = toeplitz_key;
const unsigned int loop_rss_key_len = sizeof(toeplitz_key);

static uint16_t
queue_of(struct port *p, uint32_t hash)
{
	struct rte_eth_rss_reta_entry64 reta[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];
	struct rte_eth_dev_info info;
	unsigned int i;

	for (i = 0; i < RTE_DIM(reta); i++)
		reta[i].mask = UINT64_MAX;
	if (rte_eth_dev_info_get(p->id, &info) != 0 || info.reta_size == 0 ||
	    rte_eth_dev_rss_reta_query(p->id, reta, info.reta_size) != 0)
		return UINT16_MAX;
	i = hash % info.reta_size;
	return reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
}

/* Vectors of one kind of packets; proto 0: addresses alone count. */
static void
vectors(struct port *p, bool v6, uint8_t proto)
{
	unsigned int i, n = 0, good = 0;
	char name[32];

	snprintf(name, sizeof(name), "rss-%s",
		 proto != 0 ? kind_of(v6 ? FRAME_IPV6 : FRAME_IPV4, proto)
		 : v6       ? "ip6"
			    : "ip4");
	for (i = 0; i < RTE_DIM(toeplitz_vec); i++) {
		struct frame_spec s = port_spec(p, &p->mac, v6 ? FRAME_IPV6 : FRAME_IPV4);
		const uint32_t hash = proto != 0 ? toeplitz_vec[i].l4 : toeplitz_vec[i].ip;
		static struct frame f;
		const struct port_got *g;

		if (inet_pton(v6 ? AF_INET6 : AF_INET, toeplitz_vec[i].src, s.ip_src) != 1 ||
		    inet_pton(v6 ? AF_INET6 : AF_INET, toeplitz_vec[i].dst, s.ip_dst) != 1)
			continue;
		n++;
		s.proto = proto != 0 ? proto : PROTO_NONE;
		s.sport = toeplitz_vec[i].sport;
		s.dport = toeplitz_vec[i].dport;
		s.payload = 64;
		frame_make(&f, &s);
		g = port_echo(p, name, &f, 0, 0);
		if (g == NULL)
			return;
		if ((g->ol_flags & RTE_MBUF_F_RX_RSS_HASH) == 0)
			ck_say(p->c, CK_FAIL, name, "from %s: no hash, wanted 0x%08x", toeplitz_vec[i].src, hash);
		else if (g->hash != hash)
			ck_say(p->c, CK_FAIL, name, "from %s: hash 0x%08x, wanted 0x%08x", toeplitz_vec[i].src, g->hash,
			       hash);
		else if (g->queue != queue_of(p, hash))
			ck_say(p->c, CK_FAIL, name, "from %s: queue %u, wanted %u of hash 0x%08x", toeplitz_vec[i].src,
			       g->queue, queue_of(p, hash), hash);
		else
			good++;
	}
	ck_judge(p->c, n > 0 && good == n, name, "%u of %u published vectors: hash and queue are right", good, n);
}

void
loop_rss(struct port *p)
{
	unsigned int v6;

	ck_step(p->c, "compares hashes with published ones");
	for (v6 = 0; v6 < 2; v6++) {
		vectors(p, v6 != 0, 0);
		vectors(p, v6 != 0, FRAME_TCP);
		vectors(p, v6 != 0, FRAME_UDP);
	}
}
