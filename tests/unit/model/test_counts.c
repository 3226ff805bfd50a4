/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* All counters of a card, by command and for an observer: each has a number of its own, and its place [CP 4.6 .. 4.8]. */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "model/card/model_priv.h"
#include "model/roce/roce.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Every counter of a port has a number of its own: block * 100 + priority. */
static void
number_counters(struct tpm_port_counters *k)
{
	for (uint64_t i = 0; i < 9; i++) {
		for (uint64_t b = 0; b < 10; b++)
			k->rx_size[b][i] = 1000 + b * 100 + i;
		k->rx_bcast[i] = 2000 + i;
		k->rx_mcast[i] = 2100 + i;
		k->rx_ucast[i] = 2200 + i;
		k->rx_oct[i] = 230000 + i;
		k->rx_frames[i] = 2400 + i;
		k->rx_tagged[i] = 2500 + i;
	}
	for (uint64_t i = 0; i < 10; i++) {
		for (uint64_t b = 0; b < 10; b++)
			k->tx_size[b][i] = 3000 + b * 100 + i;
		k->tx_bcast[i] = 4000 + i;
		k->tx_mcast[i] = 4100 + i;
		k->tx_ucast[i] = 4200 + i;
		k->tx_oct[i] = 430000 + i;
		k->tx_frames[i] = 4400 + i;
		k->tx_tagged[i] = 4500 + i;
	}
	k->rx_control = 51;
	k->rx_in_range = 52;
	k->rx_out_range = 53;
	k->rx_too_long = 54;
	k->rx_pcs = 55;
	k->rx_jabber = 61;
	k->rx_crc = 62;
	k->rx_runt = 63;
	k->rx_short = 64;
	k->rx_drop = 65;
	k->rx_overflow = 66;
	k->rx_length = 67;
	k->tx_drop = 68;
}

/* The box of [CP 4.7], each octet of it. */
static void
counters_of_a_port(void **state)
{
	struct card *c = *state;
	uint8_t want[0xbb0] = {0};

	number_counters(&c->m->port[1].c);
	for (uint32_t i = 0; i < 9; i++) {
		for (uint32_t b = 0; b < 10; b++)
			prm_set64(want, 0x48 * b + 8 * i, 1000 + b * 100 + i);
		prm_set64(want, 0x2d0 + 8 * i, 2000 + i);
		prm_set64(want, 0x318 + 8 * i, 2100 + i);
		prm_set64(want, 0x360 + 8 * i, 2200 + i);
		prm_set64(want, 0x3a8 + 0x18 * i, 230000 + i);
		prm_set64(want, 0x3b0 + 0x18 * i, 230000 + i - (2400 + i) * 18); /* 14 of the header, 4 of the FCS */
		prm_set64(want, 0x3b8 + 0x18 * i, 230000 + i);
		prm_set64(want, 0x480 + 0x18 * i, 2400 + i);
		prm_set64(want, 0x488 + 0x18 * i, 2500 + i);
	}
	for (uint32_t i = 0; i < 10; i++) {
		for (uint32_t b = 0; b < 10; b++)
			prm_set64(want, 0x598 + 0x50 * b + 8 * i, 3000 + b * 100 + i);
		prm_set64(want, 0x8b8 + 8 * i, 4000 + i);
		prm_set64(want, 0x908 + 8 * i, 4100 + i);
		prm_set64(want, 0x958 + 8 * i, 4200 + i);
		prm_set64(want, 0x9a8 + 0x18 * i, 430000 + i);
		prm_set64(want, 0x9b0 + 0x18 * i, 430000 + i - (4400 + i) * 18);
		prm_set64(want, 0x9b8 + 0x18 * i, 430000 + i);
		prm_set64(want, 0xa98 + 0x18 * i, 4400 + i);
		prm_set64(want, 0xaa0 + 0x18 * i, 4500 + i);
	}
	prm_set64(want, 0x558, 51);
	prm_set64(want, 0x578, 52);
	prm_set64(want, 0x580, 53);
	prm_set64(want, 0x588, 54);
	prm_set64(want, 0x590, 55);
	for (uint32_t i = 0; i < 7; i++)
		prm_set32(want, 0xb88 + 4 * i, 61 + i);
	/* Good frames: three kinds of nine priorities. */
	prm_set32(want, 0xba4, (2000 + 2100 + 2200) * 9 + 3 * 36);
	prm_set32(want, 0xba8, 68);
	memset(card_out(c), 0xa5, 4096);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 2), 0);
	for (uint32_t at = 0; at < sizeof(want); at += 4)
		if (memcmp(card_out(c) + at, want + at, 4) != 0)
			fail_msg("0x%x: %u, wanted %u", at, prm_get32(card_out(c), at), prm_get32(want, at));
	/* Fewer octets than headers alone have: none without them. */
	memset(&c->m->port[0].c, 0, sizeof(c->m->port[0].c));
	c->m->port[0].c.rx_frames[2] = 3;
	c->m->port[0].c.rx_oct[2] = 54;
	c->m->port[0].c.tx_frames[2] = 3;
	c->m->port[0].c.tx_oct[2] = 55;
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 1), 0);
	assert_int_equal(prm_get64(card_out(c), 0x3b0 + 0x18 * 2), 0);
	assert_int_equal(prm_get64(card_out(c), 0x9b0 + 0x18 * 2), 1);
	/* The one that is reset is reset, and no other. */
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 1 | 1 << 8), 0);
	assert_int_equal(c->m->port[0].c.rx_frames[2], 0);
	assert_int_equal(c->m->port[1].c.rx_frames[2], 2402);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 0), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 3), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 1 | 1 << 9), MLX4_STAT_BAD_PARAM);
}

static void
counters_of_an_interface(void **state)
{
	struct card *c = *state;

	for (uint32_t i = 0; i < 256; i++)
		c->m->counter[i] = (struct tpm_if_counter){1000 + i, 2000 + i, 3000 + i, 4000 + i};
	for (uint32_t i = 0; i < 256; i += 51) {
		uint8_t want[0x100] = {0};

		prm_set32(want, 4, 1);
		for (uint32_t k = 0; k < 4; k++)
			prm_set64(want, 0x10 + 8 * k, 1000 * (k + 1) + i);
		memset(card_out(c), 0xa5, 4096);
		assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_IF_STAT, 0, i), 0);
		assert_memory_equal(card_out(c), want, sizeof(want));
		assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_IF_STAT, 0, i | 1u << 31), 0);
		assert_memory_equal(card_out(c), want, sizeof(want));
		memset(want + 0x10, 0, 0x20);
		assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_IF_STAT, 0, i), 0);
		assert_memory_equal(card_out(c), want, sizeof(want));
	}
	assert_int_equal(c->m->counter[1].rx_frames, 1001);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_IF_STAT, 0, 256), MLX4_STAT_BAD_INDEX);
}

/* [CP 4.8]: RQ is the responder, SQ the requester. */
static void
counters_of_the_transport(void **state)
{
	static struct tre_stats of[2];
	static const struct {
		uint16_t at;
		uint64_t *from;
	} row[] = {
		{0x00, &of[1].rs_len_err},        {0x04, &of[1].rq_len_err},        {0x08, &of[1].rs_op_err},
		{0x0c, &of[1].rq_op_err},         {0x18, &of[1].rs_prot_err},       {0x1c, &of[1].rq_prot_err},
		{0x20, &of[1].rs_flush_err},      {0x24, &of[1].rq_flush_err},      {0x34, &of[1].rq_bad_response},
		{0x44, &of[1].rq_remote_invalid}, {0x48, &of[1].rs_remote_invalid}, {0x4c, &of[1].rq_remote_access},
		{0x50, &of[1].rs_remote_access},  {0x54, &of[1].rq_remote_op},      {0x5c, &of[1].rq_retry_exceeded},
		{0x64, &of[1].rq_rnr_exceeded},   {0x68, &of[1].rs_rnr_nak},        {0x6c, &of[1].rq_rnr_nak},
		{0x100, &of[1].rs_out_of_order},  {0x104, &of[1].rq_out_of_order},  {0x118, &of[1].rs_ud_discarded},
		{0x120, &of[1].rs_uc_discarded},  {0x130, &of[1].rs_duplicate},     {0x134, &of[1].rq_timeout},
		{0x2c, &of[1].rq_bind_err},       {0x58, &of[1].rs_remote_op},
	};
	struct card *c = *state;
	struct tre_stats *was = c->m->roce_stats;
	uint8_t want[0x200] = {0};

	memset(of, 0, sizeof(of));
	for (uint32_t i = 0; i < COUNT(row); i++) {
		*row[i].from = 1000 + i;
		prm_set32(want, row[i].at, 1000 + i);
	}
	c->m->roce_stats = of;
	/* What was flushed without a look adds to both. */
	c->m->port[1].flushed_rq = 7;
	c->m->port[1].flushed_sq = 8;
	prm_set32(want, 0x20, prm_get32(want, 0x20) + 7);
	prm_set32(want, 0x24, prm_get32(want, 0x24) + 8);
	c->m->port[1].roce_no_group = 6;
	prm_set32(want, 0x108, 6);
	c->m->violation[TPM_V_CQ_OVERRUN] = 21;
	c->m->violation[TPM_V_EQ_OVERRUN] = 22;
	c->m->violation[TPM_V_DB_PAGE] = 1;
	c->m->violation[TPM_V_DB_QPN] = 2;
	c->m->violation[TPM_V_DB_CQN] = 4;
	c->m->violation[TPM_V_DB_EQN] = 8;
	prm_set32(want, 0x1a0, 21);
	prm_set32(want, 0x1a4, 22);
	prm_set32(want, 0x1a8, 15);
	memset(card_out(c), 0xa5, 4096);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DIAG_RPRT, 2, 2), 0);
	assert_memory_equal(card_out(c), want, sizeof(want));
	/* Of both ports, which is those of the second since the first has none; and of the first. */
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DIAG_RPRT, 2, 0), 0);
	assert_memory_equal(card_out(c), want, sizeof(want));
	of[0].rs_len_err = 5;
	c->m->port[0].flushed_rq = 9;
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DIAG_RPRT, 2, 0), 0);
	assert_int_equal(prm_get32(card_out(c), 0), 1005);
	assert_int_equal(prm_get32(card_out(c), 0x20), 1006 + 7 + 9);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DIAG_RPRT, 2, 1), 0);
	assert_int_equal(prm_get32(card_out(c), 0), 5);
	assert_int_equal(prm_get32(card_out(c), 4), 0);
	assert_int_equal(prm_get32(card_out(c), 0x20), 9);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DIAG_RPRT, 2, 3), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DIAG_RPRT, 0, 1), MLX4_STAT_BAD_PARAM);
	c->m->roce_stats = was;
}

static void
what_an_observer_sees(void **state)
{
	struct card *c = *state;
	struct tp_model_stats st;
	struct tpm_port *p = &c->m->port[1];

	number_counters(&p->c);
	p->tx_ip_sums = 1;
	p->tx_l4_sums = 2;
	p->wire_drops = 3;
	p->rx_no_rule = 4;
	p->rx_vlan_filtered = 5;
	p->rx_no_wqe = 6;
	p->rx_too_long = 7;
	p->rx_bad_fcs = 8;
	p->rx_link_down = 9;
	p->tx_no_transport = 10;
	p->roce_tx = 11;
	p->roce_rx = 12;
	p->roce_bad_icrc = 13;
	p->roce_no_qp = 14;
	p->roce_no_gid = 15;
	p->roce_malformed = 16;
	p->beacon_s = 17;
	assert_int_equal(tp_model_wire_loopback(c->m, 2), 0);
	assert_int_equal(tp_model_wire_none(c->m, 1), 0);
	tp_model_get_stats(c->m, &st);
	/* What was sent to the wire: without what turned round in the card. Sums of priorities and of frames without a tag. */
	assert_int_equal(st.port[1].tx_frames, 4400 * 9 + 36);
	assert_int_equal(st.port[1].tx_bytes, 430000 * 9 + 36);
	assert_int_equal(st.port[1].rx_frames, 2400 * 9 + 36);
	assert_int_equal(st.port[1].rx_bytes, 230000 * 9 + 36);
	assert_int_equal(st.port[1].tx_ip_sums, 1);
	assert_int_equal(st.port[1].tx_l4_sums, 2);
	assert_int_equal(st.port[1].wire_drops, 3);
	assert_int_equal(st.port[1].rx_no_rule, 4);
	assert_int_equal(st.port[1].rx_vlan_filtered, 5);
	assert_int_equal(st.port[1].rx_no_wqe, 6);
	assert_int_equal(st.port[1].rx_too_long, 7);
	assert_int_equal(st.port[1].rx_bad_fcs, 8);
	assert_int_equal(st.port[1].rx_link_down, 9);
	assert_int_equal(st.port[1].tx_no_transport, 10);
	assert_int_equal(st.port[1].roce_tx, 11);
	assert_int_equal(st.port[1].roce_rx, 12);
	assert_int_equal(st.port[1].roce_bad_icrc, 13);
	assert_int_equal(st.port[1].roce_no_qp, 14);
	assert_int_equal(st.port[1].roce_no_gid, 15);
	assert_int_equal(st.port[1].roce_malformed, 16);
	assert_int_equal(st.port[1].beacon_s, 17);
	assert_string_equal(st.port[1].wire, "loopback");
	assert_string_equal(st.port[0].wire, "none");
	assert_false(st.port[0].link_up);
	assert_int_equal(st.port[0].rx_frames, 0);
	/* One window of 64 MiB, the firmware's area, and what SET_ICM_SIZE asked for beside it. */
	assert_int_equal(st.dma_windows, 1);
	assert_int_equal(st.dma_bytes_mapped, 64 << 20);
	assert_int_equal(st.fw_pages, 1024);
	assert_int_equal(st.aux_pages, c->m->aux_pages);
	assert_true(st.aux_pages > 0);
	/* An InfiniBand port counts packets of its own. */
	p->ib = true;
	p->ibp.pm.c.tx_packets = 21;
	p->ibp.pm.c.tx_bytes = 22;
	p->ibp.pm.c.rx_packets = 23;
	p->ibp.pm.c.rx_bytes = 24;
	tp_model_get_stats(c->m, &st);
	assert_int_equal(st.port[1].tx_frames, 21);
	assert_int_equal(st.port[1].tx_bytes, 22);
	assert_int_equal(st.port[1].rx_frames, 23);
	assert_int_equal(st.port[1].rx_bytes, 24);
	p->ib = false;
	assert_int_equal(tp_model_cable(c->m, 2, true), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 2), 0);
	tp_model_get_stats(c->m, &st);
	assert_true(st.port[1].link_up);
}

struct counted {
	char name[16][32];
	uint64_t n[16];
	unsigned int num;
};

static void
take_count(void *arg, const char *name, uint64_t n)
{
	struct counted *k = arg;

	snprintf(k->name[k->num], sizeof(k->name[0]), "%s", name);
	k->n[k->num++] = n;
}

static void
counts_of_commands(void **state)
{
	struct card *c = *state;
	struct counted k = {.num = 0};

	card_cmd_out(c, MLX4_CMD_QUERY_FW, 0, 0);
	card_cmd_none(c, MLX4_CMD_HW_HEALTH_CHECK, 0, 0);
	card_cmd_out(c, MLX4_CMD_QUERY_FW, 0, 0);
	card_cmd_none(c, 0x7ff, 0, 0);
	tp_model_each_command(c->m, take_count, &k);
	assert_int_equal(k.num, 2);
	assert_string_equal(k.name[0], "QUERY_FW");
	assert_int_equal(k.n[0], 2);
	assert_string_equal(k.name[1], "HW_HEALTH_CHECK");
	assert_int_equal(k.n[1], 1);
	/* One that is refused is counted, too; in the order of their numbers. */
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), MLX4_STAT_BAD_SYS_STATE);
	k.num = 0;
	tp_model_each_command(c->m, take_count, &k);
	assert_int_equal(k.num, 3);
	assert_string_equal(k.name[0], "QUERY_DEV_CAP");
	assert_int_equal(k.n[0], 1);
}

int
main(void)
{
#define ON(f) cmocka_unit_test_setup_teardown(f, setup_power_on, teardown_card)
#define UP(f) cmocka_unit_test_setup_teardown(f, setup_booted, teardown_card)
	const struct CMUnitTest tests[] = {
		UP(counters_of_a_port),    UP(counters_of_an_interface), UP(counters_of_the_transport),
		UP(what_an_observer_sees), ON(counts_of_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
