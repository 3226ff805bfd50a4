/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 8: IP over InfiniBand between two ports of the card. */
#include <string.h>

#include <rte_cycles.h>

#include "joined.h"
#include "tp_ipoib.h"

#define WAIT_MS 30000u
#define NAP_US 1000u
#define FRAME_ARP 0x0806u
#define MTU 2044u

struct ends {
	struct ck *c;
	struct subnet net;
	struct port p[2];
	bool added[2];
};

static bool
begin(struct ends *x, unsigned int i)
{
	struct tp_ipoib_conf conf = {.mtu = MTU};
	struct tp_ipoib_info info;
	struct port_limit until = port_in(WAIT_MS);
	uint16_t id;
	int rc;

	snprintf(conf.device, sizeof(conf.device), "%s", x->net.name[i]);
	rc = tp_ipoib_add(&conf, &id);
	if (rc != 0) {
		ck_say(x->c, CK_FAIL, "ipoib", "no port on %s: %s", x->net.name[i], strerror(-rc));
		return false;
	}
	x->p[i].id = id;
	x->added[i] = true;
	x->p[i].mark = 0x300000 * (i + 1);
	if (!port_start(&x->p[i], x->c, id, 1, NULL))
		return false;
	do {
		memset(&info, 0, sizeof(info));
		rc = tp_ipoib_info(id, &info);
		if (rc == 0 && info.state == TP_IPOIB_UP)
			return true;
		rte_delay_us_sleep(NAP_US);
	} while (port_waits(&until));
	ck_say(x->c, CK_FAIL, "ipoib", "port %u is %s after %u s", i + 1, tp_ipoib_state_name(info.state),
	       WAIT_MS / 1000);
	return false;
}

/* ARP of Ethernet (RFC 826), which the port translates (RFC 4391). op 1: a question to all. */
static void
arp(struct frame *f, const struct port *from, const struct port *to, uint8_t op, uint8_t host)
{
	const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0, op};
	uint8_t *b = f->b;

	memset(f, 0, sizeof(*f));
	f->len = 60;
	memset(b, 0xff, 6);
	if (op != 1)
		memcpy(b, to->mac.addr_bytes, 6);
	memcpy(b + 6, from->mac.addr_bytes, 6);
	b[12] = FRAME_ARP >> 8;
	b[13] = FRAME_ARP & 0xff;
	memcpy(b + 14, head, sizeof(head));
	memcpy(b + 22, from->mac.addr_bytes, 6);
	memcpy(b + 28, (const uint8_t[]){192, 0, 2, host}, 4);
	if (op != 1)
		memcpy(b + 32, to->mac.addr_bytes, 6);
	memcpy(b + 38, (const uint8_t[]){192, 0, 2, (uint8_t)(3 - host)}, 4);
}

/* From one to the other, with the sender's own address; the first frame of this type that comes is looked at. */
static const struct port_got *
across(struct port *from, struct port *to, const struct frame *f)
{
	memcpy(to->from, f->b + 6, 6);
	if (!port_send(from, 0, port_mbuf(from, f, NULL, 0)) || port_wait(to, 1) != 1)
		return NULL;
	return &to->got[0];
}

static bool
datagram(struct port *from, struct port *to, uint32_t payload, uint8_t host)
{
	struct frame_spec s;
	static struct frame f;
	const struct port_got *g;
	struct frame_view v;

	memcpy(from->from, from->mac.addr_bytes, 6);
	s = port_spec(from, &to->mac, FRAME_IPV4);
	s.payload = payload;
	s.ip_src[3] = host;
	s.ip_dst[3] = (uint8_t)(3 - host);
	frame_make(&f, &s);
	g = across(from, to, &f);
	return g != NULL && frame_parse(g->b, g->len, &v) && v.proto == FRAME_UDP && v.ip_sum && v.l4_sum &&
	       v.payload_len == payload && memcmp(v.payload, f.b + f.l2_len + f.l3_len + f.l4_len, payload) == 0;
}

static void
ipoib(struct ends *x)
{
	static const uint32_t sizes[] = {18, 100, 1000, 1472, MTU - 28};
	struct port *a = &x->p[0], *b = &x->p[1];
	unsigned int i, good = 0;
	static struct frame f;
	bool asked, told;

	ck_step(x->c, "makes IPoIB ports");
	if (!begin(x, 0) || !begin(x, 1))
		return;
	ck_say(x->c, CK_PASS, "ipoib", "both ports have joined their broadcast group");
	ck_step(x->c, "asks for an address over IPoIB");
	arp(&f, a, b, 1, 1);
	asked = across(a, b, &f) != NULL && b->got[0].b[21] == 1 && memcmp(b->got[0].b + 28, f.b + 28, 4) == 0;
	arp(&f, b, a, 2, 2);
	told = asked && across(b, a, &f) != NULL && a->got[0].b[21] == 2 && memcmp(a->got[0].b + 28, f.b + 28, 4) == 0;
	ck_judge(x->c, asked && told, "ipoib-arp", "a question of port 1 %s, the answer of port 2 %s",
		 asked ? "came" : "did not come", told ? "came" : "did not come");
	if (!told)
		return;
	ck_step(x->c, "sends datagrams over IPoIB");
	for (i = 0; i < RTE_DIM(sizes); i++)
		good += datagram(a, b, sizes[i], 1) && datagram(b, a, sizes[i], 2);
	ck_judge(x->c, good == RTE_DIM(sizes), "ipoib-datagrams",
		 "%u of %zu datagrams of 18 to %u octets came unchanged, from both ends", good, RTE_DIM(sizes),
		 MTU - 28);
}

static void
end(struct ends *x)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (!x->added[i])
			continue;
		port_end(&x->p[i]);
		tp_ipoib_rem(x->p[i].id);
		rte_mempool_free(x->p[i].pool);
	}
	subnet_close(&x->net);
}

void
ipoib_stage(struct ck *c)
{
	static const struct subnet_conf conf;
	char why[CK_TEXT];
	struct tp_sm_stats st;
	static struct ends x;

	memset(&x, 0, sizeof(x));
	x.c = c;
	if (subnet_open(&x.net, c, &conf, why)) {
		tp_sm_stats_get(x.net.sm, &st);
		ck_say(c, CK_PASS, "subnet", "%s and %s: LIDs %u and %u, both ports active", x.net.name[0],
		       x.net.name[1], x.net.attr[0].lid, x.net.attr[1].lid);
		ck_say(c, CK_INFO, "subnet-manager", "%s, %u nodes, %u requests, %u without an answer",
		       tp_sm_role_name(st.role), st.nodes, (unsigned int)st.requests, (unsigned int)st.failed);
		ipoib(&x);
	} else {
		ck_say(c, CK_FAIL, "subnet", "%s", why);
	}
	end(&x);
}
