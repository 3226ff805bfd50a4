/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A DCBX agent: an input is a list of steps, frames with the right Ethernet header, time that passes, changes of the
 * administrator's mind. After each step what the agent sends must be a good LLDPDU of its own, and the settings in use
 * must be ones that a port can have.
 */
#include <stdlib.h>

#include "bytes.h"
#include "tp_dcbx.h"

#define MAX_STEPS 64
#define LONGEST 1600

static struct tp_dcbx d;
static uint64_t now;

static void
need(bool good)
{
	if (!good)
		abort();
}

static void
frame_in(struct bytes *b, uint8_t head)
{
	static const uint8_t group[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
	size_t len = 14 + bytes_u16(b) % (LONGEST - 14);
	uint8_t *f = malloc(len); /* exact: one octet too far is seen */

	need(f != NULL);
	bytes_copy(b, f, len);
	if ((head & 0x80) == 0) {
		memcpy(f, group, sizeof(group));
		f[12] = 0x88;
		f[13] = 0xcc;
	}
	(void)tp_lldp_input(&d.lldp, f, len, now);
	free(f);
}

static void
check_sent(void)
{
	static struct tp_lldp judge;
	uint8_t out[TP_LLDP_MAX_FRAME];
	struct tp_dcbx_peer said;
	size_t n;

	while ((n = tp_lldp_poll(&d.lldp, now, out)) > 0) {
		struct tp_lldp_conf c;
		static const uint8_t mac[6] = {2};

		tp_lldp_conf_default(&c, mac);
		need(tp_lldp_init(&judge, &c, NULL) == 0);
		tp_lldp_admin_set(&judge, TP_LLDP_RX_ONLY);
		need(tp_lldp_input(&judge, out, n, now) == 0);
		need(judge.stats.rx_errors == 0);
		tp_dcbx_peer_parse(out + 14, n - 14, &said);
		need(!said.has_ets || (said.has_rec && said.has_pfc));
	}
}

static void
check_settings(void)
{
	const struct tp_dcbx_params *o = &d.oper;
	unsigned int i, sum = 0, ets = 0;

	for (i = 0; i < TP_TCS; i++) {
		need(o->ets.prio_tc[i] < d.local.ets.max_tc);
		need(o->ets.tsa[i] == TP_TSA_ETS || (o->ets.tsa[i] == TP_TSA_STRICT && o->ets.bw[i] == 0));
		ets += o->ets.tsa[i] == TP_TSA_ETS;
		sum += o->ets.bw[i];
	}
	need(sum == (ets == 0 ? 0 : 100));
	need(__builtin_popcount(o->pfc.enable) <= d.local.pfc.cap);
	need(o->apps.n <= TP_DCBX_APPS);
	need(tp_lldp_neighbours(&d.lldp) <= TP_LLDP_NEIGHBOURS);
}

static void
to_a_port(void)
{
	struct tp_qos_port q = {.num_rules = 60};
	unsigned int left = tp_dcbx_to_qos(&d.oper, 7, &q);

	need(q.num_rules <= TP_QOS_RULES && left <= d.oper.apps.n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x10};
	struct bytes b = {data, size};
	struct tp_dcbx_params local;
	struct tp_lldp_conf conf;
	unsigned int i;

	now = 1000;
	tp_lldp_conf_default(&conf, mac);
	tp_dcbx_params_default(&local);
	local.ets.max_tc = 4;
	local.pfc.cap = 4;
	need(tp_dcbx_init(&d, &conf, &local) == 0);
	tp_lldp_port_set(&d.lldp, true);
	tp_dcbx_set(&d, true, true);
	for (i = 0; i < MAX_STEPS && b.left != 0; i++) {
		uint8_t head = bytes_u8(&b);

		switch (head & 0x07) {
		case 0: now += bytes_u16(&b); break;
		case 1: tp_dcbx_set(&d, (head & 0x10) != 0, (head & 0x20) != 0); break;
		case 2: tp_lldp_port_set(&d.lldp, (head & 0x10) != 0); break;
		case 3: tp_dcbx_refuse(&d, (enum tp_dcbx_feature_id)((head >> 4) % TP_DCBX_FEATURES)); break;
		default: frame_in(&b, head); break;
		}
		check_sent();
		check_settings();
		to_a_port();
	}
	return 0;
}
