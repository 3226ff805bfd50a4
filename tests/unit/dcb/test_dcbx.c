/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* DCBX's state machines in virtual time. TLVs of the peer are written here octet by octet, from IEEE 802.1Q annex D. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tp_dcbx.h"

static const uint8_t own_mac[6] = {0x02, 0, 0, 0, 0, 0x10};
#define LOWER 0x05 /* peers 02:00:00:00:00:05 and :20 */
#define HIGHER 0x20

static struct tp_dcbx d;
static uint8_t out[TP_LLDP_MAX_FRAME];

/* The port's own: priorities 0..3 in class 0 (ETS 40), 4..7 in class 1 (ETS 60), PFC on 3, RoCEv2 on 3. */
static const struct tp_dcbx_params own = {
	.ets = {.max_tc = 4, .prio_tc = {0, 0, 0, 0, 1, 1, 1, 1}, .bw = {40, 60}, .tsa = {2, 2}},
	.pfc = {.cap = 2, .enable = 0x08},
	.apps = {.n = 1, .app = {{.sel = 3, .prio = 3, .proto = 4791}}},
};

/* What peers say: willing or not, the tables below, PFC on 4, HTTP on priority 2. */
#define ETS(willing)                                                                                                   \
	0xfe, 0x19, 0x00, 0x80, 0xc2, 0x09, (willing) << 7, 0x01, 0x22, 0x00, 0x00, 20, 30, 50, 0, 0, 0, 0, 0, 2, 2,   \
		2, 0, 0, 0, 0, 0
#define REC                                                                                                            \
	0xfe, 0x19, 0x00, 0x80, 0xc2, 0x0a, 0x00, 0x01, 0x22, 0x00, 0x00, 20, 30, 50, 0, 0, 0, 0, 0, 2, 2, 2, 0, 0, 0, \
		0, 0
#define PFC(willing) 0xfe, 0x06, 0x00, 0x80, 0xc2, 0x0b, (willing) << 7 | 8, 0x10
#define APP 0xfe, 0x08, 0x00, 0x80, 0xc2, 0x0c, 0x00, 2 << 5 | 2, 0x00, 0x50
#define END 0x00, 0x00

static void
hears(uint8_t id, uint16_t ttl, uint64_t now, const uint8_t *tlvs, size_t n)
{
	static const uint8_t head[] = {
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x88, 0xcc, 0x02, 0x07, 0x04,
		0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x07, 0x03, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x02,
	};
	uint8_t f[1514];

	memcpy(f, head, sizeof(head));
	f[11] = f[22] = f[31] = id;
	f[34] = (uint8_t)(ttl >> 8);
	f[35] = (uint8_t)ttl;
	memcpy(f + 36, tlvs, n);
	assert_int_equal(tp_lldp_input(&d.lldp, f, 36 + n, now), 0);
}
#define HEARS(id, ...) hears(id, 120, 0, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void
start(bool willing)
{
	struct tp_lldp_conf c;

	tp_lldp_conf_default(&c, own_mac);
	assert_int_equal(tp_dcbx_init(&d, &c, &own), 0);
	assert_int_equal(d.status, TP_DCBX_OFF);
	tp_lldp_port_set(&d.lldp, true);
	tp_dcbx_set(&d, true, willing);
	assert_int_equal(d.status, TP_DCBX_NO_PEER);
}

static void
uses_own(enum tp_dcbx_feature_id f)
{
	assert_false(d.feature[f].from_peer);
	if (f == TP_DCBX_ETS)
		assert_memory_equal(&d.oper.ets, &own.ets, sizeof(own.ets));
	else if (f == TP_DCBX_PFC)
		assert_int_equal(d.oper.pfc.enable, 0x08);
	else
		assert_int_equal(d.oper.apps.app[0].proto, 4791);
}

static void
uses_peers_ets(void)
{
	static const struct tp_dcbx_ets want = {
		.max_tc = 4, .prio_tc = {0, 1, 2, 2, 0, 0, 0, 0}, .bw = {20, 30, 50}, .tsa = {2, 2, 2}};

	assert_true(d.feature[TP_DCBX_ETS].from_peer);
	assert_memory_equal(&d.oper.ets, &want, sizeof(want));
}

static void
off_by_default(void **state)
{
	struct tp_lldp_conf c;

	(void)state;
	tp_lldp_conf_default(&c, own_mac);
	assert_int_equal(tp_dcbx_init(&d, &c, &own), 0);
	tp_lldp_port_set(&d.lldp, true);
	assert_int_equal(tp_lldp_poll(&d.lldp, 0, out), 0);
	assert_int_equal(d.status, TP_DCBX_OFF);
	assert_memory_equal(&d.oper, &own, sizeof(own));
}

static void
frame_says_what_is_in_use(void **state)
{
	static const uint8_t want[] = {
		0xfe, 0x19, 0x00, 0x80, 0xc2, 0x09, 0x84, 0x00, 0x00, 0x11, 0x11, 40, 60, 0,
		0,    0,    0,    0,    0,    2,    2,    0,    0,    0,    0,    0,  0, /* configuration: willing, 4 classes */
		0xfe, 0x19, 0x00, 0x80, 0xc2, 0x0a, 0x00, 0x00, 0x00, 0x11, 0x11, 40, 60, 0,
		0,    0,    0,    0,    0,    2,    2,    0,    0,    0,    0,    0,  0, /* recommendation */
		0xfe, 0x06, 0x00, 0x80, 0xc2, 0x0b, 0x82, 0x08,                          /* PFC: willing, 2 at a time */
		0xfe, 0x08, 0x00, 0x80, 0xc2, 0x0c, 0x00, 0x63, 0x12, 0xb7,              /* UDP 4791: 3 */
		0x00, 0x00,
	};

	(void)state;
	start(true);
	assert_int_equal(tp_lldp_poll(&d.lldp, 0, out), 42 + sizeof(want));
	assert_memory_equal(out + 42, want, sizeof(want));
	assert_int_equal(d.stats.tx_tlvs, 4);

	HEARS(HIGHER, ETS(0), REC, PFC(0), APP, END);
	assert_true(tp_lldp_poll(&d.lldp, 0, out) > 0);
	assert_int_equal(out[42 + 6], 0x84);
	assert_memory_equal(out + 42 + 7, ((const uint8_t[]){0x01, 0x22, 0x00, 0x00, 20, 30, 50}), 7); /* the peer's */
	assert_memory_equal(out + 69, want + 27, 27);                                                  /* still own */
	assert_int_equal(out[42 + 54 + 7], 0x10);
}

static void
not_willing(void **state)
{
	unsigned int f;

	(void)state;
	start(false);
	HEARS(HIGHER, ETS(0), REC, PFC(0), APP, END);
	assert_int_equal(d.status, TP_DCBX_UP);
	for (f = 0; f < TP_DCBX_FEATURES; f++) {
		uses_own(f);
		assert_false(d.feature[f].synced);
	}
	HEARS(HIGHER, PFC(1), END);
	uses_own(TP_DCBX_PFC);
	/* The port's own entry with another one behind it, and alone. */
	HEARS(HIGHER, 0xfe, 0x0b, 0x00, 0x80, 0xc2, 0x0c, 0x00, 0x63, 0x12, 0xb7, 0x42, 0x00, 0x50, END);
	assert_false(d.feature[TP_DCBX_APP].synced);
	HEARS(HIGHER, 0xfe, 0x08, 0x00, 0x80, 0xc2, 0x0c, 0x00, 0x63, 0x12, 0xb7, END);
	assert_true(d.feature[TP_DCBX_APP].synced);
	assert_int_equal(d.stats.changes, 0);
}

static void
willing(void **state)
{
	(void)state;
	start(true);
	HEARS(HIGHER, ETS(0), REC, PFC(0), APP, END);
	uses_peers_ets();
	assert_true(d.feature[TP_DCBX_ETS].synced);
	assert_int_equal(d.oper.pfc.enable, 0x10);
	assert_true(d.feature[TP_DCBX_PFC].synced);
	assert_int_equal(d.oper.apps.n, 1);
	assert_int_equal(d.oper.apps.app[0].proto, 80);
	assert_int_equal(d.oper.apps.app[0].sel, 2);
	assert_int_equal(d.oper.apps.app[0].prio, 2);
	assert_int_equal(d.stats.changes, 1);
	HEARS(HIGHER, ETS(0), REC, PFC(0), APP, END);
	assert_int_equal(d.stats.changes, 1);
	tp_dcbx_refuse(&d, TP_DCBX_APP);
	uses_own(TP_DCBX_APP);
}

/* 38.4.1: only a recommendation changes ETS, and both sides willing take each other's. */
static void
ets_wants_a_recommendation(void **state)
{
	(void)state;
	start(true);
	HEARS(HIGHER, ETS(0), END);
	uses_own(TP_DCBX_ETS);
	HEARS(HIGHER, ETS(1), REC, END);
	uses_peers_ets();
}

/* 38.4.2: of two willing sides the lower address yields. */
static void
tie_break(void **state)
{
	(void)state;
	start(true);
	HEARS(HIGHER, PFC(1), END);
	assert_true(d.feature[TP_DCBX_PFC].from_peer);
	assert_int_equal(d.oper.pfc.enable, 0x10);
	start(true);
	HEARS(0x11, PFC(1), END); /* higher by one */
	assert_int_equal(d.oper.pfc.enable, 0x10);
	start(true);
	HEARS(0x0f, PFC(1), END);
	uses_own(TP_DCBX_PFC);
	start(true);
	HEARS(LOWER, PFC(1), END);
	uses_own(TP_DCBX_PFC);
	start(true);
	HEARS(LOWER, PFC(0), END); /* one that is not willing wins whatever its address */
	assert_int_equal(d.oper.pfc.enable, 0x10);
	start(true);
	HEARS(0x10, PFC(1), END); /* the same address: a loop, nothing is taken */
	uses_own(TP_DCBX_PFC);
}

static void
peer_ages(void **state)
{
	static const uint8_t tlvs[] = {ETS(0), REC, PFC(0), APP, END};
	unsigned int f;

	(void)state;
	start(true);
	hears(HIGHER, 3, 1000, tlvs, sizeof(tlvs));
	uses_peers_ets();
	(void)tp_lldp_poll(&d.lldp, 3999, out);
	uses_peers_ets();
	(void)tp_lldp_poll(&d.lldp, 4000, out);
	assert_int_equal(d.status, TP_DCBX_NO_PEER);
	for (f = 0; f < TP_DCBX_FEATURES; f++)
		uses_own(f);
	hears(HIGHER, 3, 5000, tlvs, sizeof(tlvs));
	uses_peers_ets();
	hears(HIGHER, 0, 5100, tlvs, sizeof(tlvs)); /* good-bye */
	uses_own(TP_DCBX_ETS);
	assert_int_equal(d.status, TP_DCBX_NO_PEER);
}

/* 38.3: with several peers none counts; with one left it does again. A neighbour without DCBX is no peer. */
static void
several_peers(void **state)
{
	(void)state;
	start(true);
	HEARS(HIGHER, REC, PFC(0), END);
	HEARS(0x30, 0x0a, 0x01, 'x', END);
	assert_int_equal(d.status, TP_DCBX_UP);
	uses_peers_ets();
	HEARS(0x31, PFC(1), END);
	assert_int_equal(d.status, TP_DCBX_MANY_PEERS);
	uses_own(TP_DCBX_ETS);
	uses_own(TP_DCBX_PFC);
	assert_int_equal(d.stats.many_peers, 1);
	HEARS(0x31, END);
	assert_int_equal(d.status, TP_DCBX_UP);
	uses_peers_ets();
}

/* Recommendations that the port cannot follow leave its own in force and say why. */
static void
cannot_follow(void **state)
{
	static const struct {
		size_t at; /* in REC */
		uint8_t value;
		enum tp_dcbx_error error;
	} c[] = {
		{8, 0x24, TP_DCBX_E_CLASS}, /* priority 3 in class 4 of 4 */
		{7, 0xf1, TP_DCBX_E_CLASS}, /* class 15, as real switches send it */
		{11, 21, TP_DCBX_E_SHARES}, /* 101 per cent */
		{21, 0, TP_DCBX_E_SHARES},  /* 50 of them on a strict class */
		{19, 1, TP_DCBX_E_TSA},     /* credit-based shaper */
		{20, 255, TP_DCBX_E_TSA},   /* vendor's */
	};
	const uint8_t good[] = {REC, END};
	uint8_t tlvs[sizeof(good)];
	size_t i;

	(void)state;
	start(true);
	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		memcpy(tlvs, good, sizeof(tlvs));
		tlvs[c[i].at] = c[i].value;
		hears(HIGHER, 120, 0, tlvs, sizeof(tlvs));
		uses_own(TP_DCBX_ETS);
		assert_int_equal(d.feature[TP_DCBX_ETS].error, c[i].error);
	}
	HEARS(HIGHER, REC, END);
	uses_peers_ets();
	assert_int_equal(d.feature[TP_DCBX_ETS].error, TP_DCBX_OK);
	HEARS(HIGHER, 0xfe, 0x06, 0x00, 0x80, 0xc2, 0x0b, 8, 0x07, END); /* three at a time, the port can two */
	uses_own(TP_DCBX_PFC);
	assert_int_equal(d.feature[TP_DCBX_PFC].error, TP_DCBX_E_PFC_CAP);
}

static void
port_refuses(void **state)
{
	uint32_t seq;

	(void)state;
	start(true);
	HEARS(HIGHER, REC, PFC(0), END);
	seq = d.oper_seq;
	tp_dcbx_refuse(&d, TP_DCBX_PFC);
	uses_own(TP_DCBX_PFC);
	uses_peers_ets();
	assert_int_equal(d.oper_seq, seq + 1);
	assert_int_equal(d.feature[TP_DCBX_PFC].error, TP_DCBX_E_PORT);
	HEARS(HIGHER, REC, PFC(0), END); /* the same again */
	uses_own(TP_DCBX_PFC);
	HEARS(HIGHER, REC, PFC(0), APP, END); /* something new: another try */
	assert_int_equal(d.oper.pfc.enable, 0x10);
}

static void
local_change(void **state)
{
	struct tp_dcbx_params p = own;

	(void)state;
	start(true);
	assert_true(tp_lldp_poll(&d.lldp, 0, out) > 0);
	p.pfc.enable = 0x03;
	tp_dcbx_local_set(&d, &p);
	assert_int_equal(d.oper.pfc.enable, 0x03);
	assert_int_equal(tp_lldp_next(&d.lldp), 0);
	assert_true(tp_lldp_poll(&d.lldp, 100, out) > 0);
	assert_int_equal(out[42 + 54 + 7], 0x03);
	tp_dcbx_local_set(&d, &p); /* the same: nothing to say */
	assert_int_equal(tp_lldp_poll(&d.lldp, 200, out), 0);
	/* What is recommended is the port's own, though it uses the peer's. */
	HEARS(HIGHER, ETS(0), REC, PFC(0), APP, END);
	(void)tp_lldp_poll(&d.lldp, 300, out);
	assert_int_equal(tp_lldp_poll(&d.lldp, 400, out), 0);
	p.ets.bw[0] = 41;
	p.ets.bw[1] = 59;
	tp_dcbx_local_set(&d, &p);
	assert_true(tp_lldp_poll(&d.lldp, 500, out) > 0);
	assert_int_equal(out[69 + 11], 41);
}

/* Wrong lengths and second TLVs are discarded and counted; the first good one counts. */
static void
malformed(void **state)
{
	(void)state;
	start(true);
	HEARS(HIGHER, 0xfe, 0x05, 0x00, 0x80, 0xc2, 0x0b, 0x00, END);             /* PFC of 5 */
	HEARS(HIGHER, 0xfe, 0x07, 0x00, 0x80, 0xc2, 0x0b, 0x00, 0x10, 0x00, END); /* of 7 */
	HEARS(HIGHER, 0xfe, 0x04, 0x00, 0x80, 0xc2, 0x0c, END);                   /* APP of 4 */
	HEARS(HIGHER, 0xfe, 0x07, 0x00, 0x80, 0xc2, 0x0c, 0x00, 0x43, 0x12, END); /* half an entry */
	HEARS(HIGHER, 0xfe, 0x06, 0x00, 0x80, 0xc2, 0x09, 0x80, 0x00, 0xfe, 0x04, 0x00, 0x80, 0xc2, 0x0a,
	      END); /* ETS */
	assert_int_equal(d.stats.rx_bad, 6);
	assert_int_equal(d.lldp.stats.rx_tlvs_discarded, 6);
	assert_int_equal(d.lldp.stats.rx_errors, 5);
	assert_int_equal(d.status, TP_DCBX_NO_PEER);
	HEARS(HIGHER, 0xfe, 0x05, 0x00, 0x80, 0xc2, 0x0b, 0x00, PFC(0), 0xfe, 0x06, 0x00, 0x80, 0xc2, 0x0b, 0x08, 0x02,
	      END);
	assert_int_equal(d.stats.rx_bad, 8);
	assert_int_equal(d.peer.pfc.enable, 0x10);
	assert_int_equal(d.stats.rx_tlvs[TP_DCBX_PFC], 1);
	HEARS(HIGHER, 0xfe, 0x05, 0x00, 0x80, 0xc2, 0x0c, 0x00, END); /* an empty table is one */
	assert_true(d.peer.has_apps);
	assert_int_equal(d.oper.apps.n, 0);
}

/* A table of 168 entries, the longest that fits a TLV: 64 are kept. */
static void
long_table(void **state)
{
	uint8_t tlvs[2 + 5 + 168 * 3 + 2] = {0xff, 0xfd, 0x00, 0x80, 0xc2, 0x0c, 0x00};
	size_t i;

	(void)state;
	for (i = 0; i < 168; i++) {
		tlvs[7 + 3 * i] = 0x43;
		tlvs[7 + 3 * i + 2] = (uint8_t)i;
	}
	start(true);
	hears(HIGHER, 120, 0, tlvs, sizeof(tlvs));
	assert_int_equal(d.peer.apps.n, TP_DCBX_APPS);
	assert_int_equal(d.peer.apps_left_out, 168 - TP_DCBX_APPS);
	assert_int_equal(d.peer.apps.app[63].proto, 63);
}

/* The pre-standard DCBX is seen and not spoken. Congestion notification (8) is no feature of ours. */
static void
cee(void **state)
{
	(void)state;
	start(true);
	HEARS(HIGHER, 0xfe, 0x10, 0x00, 0x1b, 0x21, 0x02, 0x02, 0x0a, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, END);
	assert_int_equal(d.stats.rx_cee, 1);
	assert_int_equal(d.status, TP_DCBX_NO_PEER);
	assert_int_equal(d.lldp.stats.rx_tlvs_unrecognised, 0);
	HEARS(HIGHER, 0xfe, 0x04, 0x00, 0x1b, 0x21, 0x01, 0xfe, 0x04, 0x00, 0x1b, 0x21, 0x03, END);
	assert_int_equal(d.stats.rx_cee, 2);
	HEARS(HIGHER, 0xfe, 0x06, 0x00, 0x80, 0xc2, 0x08, 0x00, 0x00, 0xfe, 0x04, 0x00, 0x12, 0x0f, 0x01, END);
	assert_int_equal(d.lldp.stats.rx_tlvs_unrecognised, 1 + 2);
	assert_int_equal(d.status, TP_DCBX_NO_PEER);
}

static void
from_a_port(void **state)
{
	static const struct tp_qos_limits lim = {.max_tc = 8, .pfc = true, .ets = true};
	static const struct tp_qos_port q = {
		.rx_pfc = 0x18,
		.tx_pfc = 0x08,
		.prio_tc = {0, 0, 0, 1, 0, 0, 0, 2},
		.tc = {{.tsa = 2, .bw_pct = 40}, {.tsa = 2, .bw_pct = 60}},
		.num_rules = 5,
		.rule = {{.match = TP_MATCH_UDP_PORT, .prio = 3, .lo = 4791, .hi = 4792},
			 {.match = TP_MATCH_TCP_PORT, .prio = 4, .lo = 3260, .hi = 3260},
			 {.match = TP_MATCH_RDMA, .prio = 5, .lo = 1, .hi = 2},
			 {.match = TP_MATCH_TCP, .prio = 1},
			 {.match = TP_MATCH_DEFAULT, .prio = 6}},
	};
	static const struct tp_dcbx_app want[] = {{.sel = 3, .prio = 3, .proto = 4791},
						  {.sel = 3, .prio = 3, .proto = 4792},
						  {.sel = 2, .prio = 4, .proto = 3260},
						  {.sel = 1, .prio = 6, .proto = 0}};
	struct tp_dcbx_params p;

	(void)state;
	tp_dcbx_from_qos(&q, &lim, &p);
	assert_int_equal(p.ets.prio_tc[3], 1);
	assert_int_equal(p.ets.prio_tc[7], 2);
	assert_int_equal(p.ets.bw[1], 60);
	assert_int_equal(p.ets.tsa[1], 2);
	assert_int_equal(p.ets.tsa[2], 0);
	assert_int_equal(p.ets.max_tc, 8);
	assert_int_equal(p.pfc.enable, 0x08); /* only what works both ways */
	assert_int_equal(p.pfc.cap, 8);
	assert_int_equal(p.apps.n, 4);
	assert_memory_equal(p.apps.app, want, sizeof(want));
}

static void
to_a_port(void **state)
{
	struct tp_qos_port q = {.rx_pause = true, .tx_pause = true, .num_rules = 1};
	struct tp_dcbx_params p = {.ets = {.prio_tc = {0, 1, 2}, .bw = {20, 30, 50}, .tsa = {2, 2, 2}},
				   .pfc = {.enable = 0x10},
				   .apps = {.n = 5,
					    .app = {{.sel = 1, .prio = 4, .proto = 0x8906},
						    {.sel = 4, .prio = 2, .proto = 80},
						    {.sel = 1, .prio = 1, .proto = 0},
						    {.sel = 5, .prio = 1, .proto = 46},
						    {.sel = 3, .prio = 3, .proto = 4791}}}};

	(void)state;
	q.rule[0] = (struct tp_qos_rule){.match = TP_MATCH_TCP_PORT, .prio = 7, .lo = 80, .hi = 80};
	assert_int_equal(tp_dcbx_to_qos(&p, 1u << TP_DCBX_ETS, &q), 0);
	assert_int_equal(q.prio_tc[2], 2);
	assert_int_equal(q.tc[2].bw_pct, 50);
	assert_int_equal(q.tc[2].tsa, TP_TSA_ETS);
	assert_int_equal(q.rx_pfc, 0);
	assert_true(q.rx_pause);
	assert_int_equal(tp_dcbx_to_qos(&p, 1u << TP_DCBX_PFC | 1u << TP_DCBX_APP, &q), 2); /* FCoE and DSCP 46 */
	assert_int_equal(q.rx_pfc, 0x10);
	assert_int_equal(q.tx_pfc, 0x10);
	assert_false(q.rx_pause || q.tx_pause);
	assert_int_equal(q.num_rules, 5);
	assert_int_equal(q.rule[0].match, TP_MATCH_TCP_PORT);
	assert_int_equal(q.rule[0].prio, 2); /* before the port's own for port 80 */
	assert_int_equal(q.rule[1].match, TP_MATCH_UDP_PORT);
	assert_int_equal(q.rule[2].lo, 4791);
	assert_int_equal(q.rule[3].prio, 7);
	assert_int_equal(q.rule[4].match, TP_MATCH_DEFAULT);
	assert_int_equal(q.rule[4].prio, 1);
	assert_int_equal(q.rule[4].dscp, -1);
}

/* Bit by bit: willing, credit-based shaper, classes of which 0 are eight (D.2.8); willing, MACsec, classes (D.2.10). */
static void
fields(void **state)
{
	static const struct {
		uint8_t octet, max_tc;
		bool willing, cbs;
	} ets[] = {{0x00, 8, false, false}, {0x87, 7, true, false},  {0x44, 4, false, true},
		   {0xc1, 1, true, true},   {0x38, 8, false, false}, {0x02, 2, false, false}};
	static const struct {
		uint8_t octet, cap;
		bool willing, mbc;
	} pfc[] = {{0x00, 0, false, false}, {0x88, 8, true, false},  {0x4f, 15, false, true},
		   {0xc1, 1, true, true},   {0x30, 0, false, false}, {0x06, 6, false, false}};
	static const struct {
		uint8_t octet, prio, sel;
	} app[] = {{0x00, 0, 0}, {0xff, 7, 7}, {0x18, 0, 0}, {0xe4, 7, 4}, {0x83, 4, 3}, {0x22, 1, 2}};
	struct tp_dcbx_peer p;

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		uint8_t tlvs[] = {ETS(0), PFC(0), APP, END};

		tlvs[6] = ets[i].octet;
		tlvs[27 + 6] = pfc[i].octet;
		tlvs[27 + 8 + 7] = app[i].octet;
		tlvs[27 + 8 + 8] = 0x12;
		memset(&p, 0xff, sizeof(p));
		tp_dcbx_peer_parse(tlvs, sizeof(tlvs), &p);
		assert_true(p.has_ets && p.has_pfc && p.has_apps);
		assert_false(p.has_rec || p.has_cee);
		assert_int_equal(p.ets_willing, ets[i].willing);
		assert_int_equal(p.ets.cbs, ets[i].cbs);
		assert_int_equal(p.ets.max_tc, ets[i].max_tc);
		assert_int_equal(p.pfc_willing, pfc[i].willing);
		assert_int_equal(p.pfc.mbc, pfc[i].mbc);
		assert_int_equal(p.pfc.cap, pfc[i].cap);
		assert_int_equal(p.apps.n, 1);
		assert_int_equal(p.apps.app[0].prio, app[i].prio);
		assert_int_equal(p.apps.app[0].sel, app[i].sel);
		assert_int_equal(p.apps.app[0].proto, 0x1250);
		assert_memory_equal(p.rec.bw, ((const uint8_t[8]){0}), 8);
	}
}

/* What is counted is counted as what it is; three octets of an organisation are no TLV of it, whatever stands behind them. */
static void
kinds(void **state)
{
	static const uint8_t cut[] = {0xfe, 0x03, 0x00, 0x1b, 0x21, 0x02, 0x00, PFC(0), END};
	struct tp_dcbx_peer p;

	(void)state;
	start(true);
	HEARS(HIGHER, REC, END);
	assert_int_equal(d.stats.rx_rec, 1);
	assert_int_equal(d.stats.rx_tlvs[TP_DCBX_ETS], 0);
	HEARS(HIGHER, ETS(0), PFC(0), APP, END);
	assert_int_equal(d.stats.rx_rec, 1);
	for (unsigned int f = 0; f < TP_DCBX_FEATURES; f++)
		assert_int_equal(d.stats.rx_tlvs[f], 1);
	tp_dcbx_peer_parse(cut, sizeof(cut), &p);
	assert_false(p.has_cee);
	assert_true(p.has_pfc);
}

/* A rule for many ports is as many entries as there is room for; what a port does not say is 0. */
static void
from_a_port_with_ranges(void **state)
{
	static const struct tp_qos_limits lim = {.max_tc = 4};
	static const struct tp_qos_port q = {
		.num_rules = 2,
		.rule = {{.match = TP_MATCH_UDP_PORT, .prio = 3, .lo = 100, .hi = 1000},
			 {.match = TP_MATCH_TCP_PORT, .prio = 4, .lo = 1, .hi = 1}},
	};
	struct {
		struct tp_dcbx_params p;
		uint8_t behind[64];
	} all;

	(void)state;
	memset(&all, 0xff, sizeof(all));
	tp_dcbx_from_qos(&q, &lim, &all.p);
	assert_int_equal(all.p.apps.n, TP_DCBX_APPS);
	for (unsigned int i = 0; i < TP_DCBX_APPS; i++)
		assert_int_equal(all.p.apps.app[i].proto, 100 + i);
	assert_int_equal(all.behind[0], 0xff);
	assert_int_equal(all.p.pfc.enable, 0);
	assert_false(all.p.pfc.mbc);
	assert_false(all.p.ets.cbs);
	assert_int_equal(all.p.ets.max_tc, 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_by_default),
		cmocka_unit_test(frame_says_what_is_in_use),
		cmocka_unit_test(not_willing),
		cmocka_unit_test(willing),
		cmocka_unit_test(ets_wants_a_recommendation),
		cmocka_unit_test(tie_break),
		cmocka_unit_test(peer_ages),
		cmocka_unit_test(several_peers),
		cmocka_unit_test(cannot_follow),
		cmocka_unit_test(port_refuses),
		cmocka_unit_test(local_change),
		cmocka_unit_test(malformed),
		cmocka_unit_test(long_table),
		cmocka_unit_test(cee),
		cmocka_unit_test(from_a_port),
		cmocka_unit_test(to_a_port),
		cmocka_unit_test(fields),
		cmocka_unit_test(kinds),
		cmocka_unit_test(from_a_port_with_ranges),
	};

	return cmocka_run_group_tests_name("dcbx", tests, NULL, NULL);
}
