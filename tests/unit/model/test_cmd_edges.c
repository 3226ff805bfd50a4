/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands and registers at their edges: each reserved bit, numbers with bits that are left out, what is kept and what is not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#include "model/event/event.h"
#include "model/port/port.h"
#include "model/qos/qos.h"
#include "model/queue/queue.h"

/* --- the command register --------------------------------------------------------------------------------------------------- */

/* A NOP with these bits more in the control dword and the dword of the token; it is executed all the same [CP 2.2]. */
static void
nop(struct card *c, uint32_t ctrl, uint32_t token)
{
	tp_model_bar0_write32(c->m, MLX4_REG_HCR + MLX4_HCR_TOKEN, MLX4_HCR_TOKEN_POLL << 16 | token);
	tp_model_bar0_write32(c->m, MLX4_REG_HCR + MLX4_HCR_CTRL,
			      MLX4_HCR_GO | (c->toggle != 0 ? MLX4_HCR_TOGGLE : 0) | ctrl | MLX4_CMD_NOP);
	while ((tp_model_bar0_read32(c->m, MLX4_REG_HCR + MLX4_HCR_CTRL) & MLX4_HCR_GO) != 0)
		;
	c->toggle ^= 1;
}

static void
test_reserved_bits_of_the_register(void **state)
{
	struct card *c = *state;

	card_boot(c, CARD_DMFS);
	nop(c, 0, 0);
	card_expect_clean(c);
	for (unsigned int bit = 16; bit <= 20; bit++) {
		nop(c, 1u << bit, 0);
		card_expect(c, "hcr-reserved", bit - 15);
	}
	for (unsigned int bit = 0; bit < 16; bit++) {
		nop(c, 0, 1u << bit);
		card_expect(c, "hcr-reserved", 6 + bit);
	}
	/* Four bits of the modifier lie below. */
	for (unsigned int bit = 12; bit <= 15; bit++)
		nop(c, 1u << bit, 0);
	card_expect(c, "hcr-reserved", 21);
}

/* --- numbers --------------------------------------------------------------------------------------------------------------------- */

static void
test_ports_that_are_none(void **state)
{
	static const struct {
		uint16_t op;
		bool in, out;
		uint32_t mod; /* of port 0 */
		unsigned int shift;
		uint8_t op_mod;
	} row[] = {
		{MLX4_CMD_QUERY_PORT, false, true, 0, 0, 0},      {MLX4_CMD_INIT_PORT, false, false, 0, 0, 0},
		{MLX4_CMD_CLOSE_PORT, false, false, 0, 0, 0},     {MLX4_CMD_SENSE_PORT, false, false, 0, 0, 0},
		{MLX4_CMD_SET_PORT, true, false, 0, 0, 1},        {MLX4_CMD_SET_VLAN_FLTR, true, false, 0, 0, 0},
		{MLX4_CMD_SET_MCAST_FLTR, false, false, 0, 0, 1}, {MLX4_CMD_DUMP_ETH_STATS, false, true, 0, 0, 0},
		{MLX4_CMD_MAD_IFC, true, true, 0, 0, 3},
	};
	static const uint32_t port[] = {0, 3, 0x81, 0x82, 0x41, 0xff};
	struct card *c = *state;

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		for (unsigned int k = 0; k < sizeof(port) / sizeof(port[0]); k++) {
			(void)card_in(c);
			assert_int_equal(card_cmd(c, row[i].op, row[i].op_mod, row[i].mod | port[k] << row[i].shift,
						  row[i].in ? c->in : 0, row[i].out ? c->out : 0),
					 MLX4_STAT_BAD_INDEX);
		}
	}
	card_expect(c, "cmd-index", sizeof(row) / sizeof(row[0]) * sizeof(port) / sizeof(port[0]));
}

/* A rule's mailbox has 1024 dwords at most, and its control segment at least. */
static void
test_lengths_of_rules(void **state)
{
	static const uint32_t dwords[] = {0, 1, 3, 1025, 0x40000001, UINT32_MAX};
	struct card *c = *state;

	for (unsigned int i = 0; i < sizeof(dwords) / sizeof(dwords[0]); i++) {
		(void)card_in(c);
		assert_int_equal(card_cmd(c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0, dwords[i], c->in, 0),
				 MLX4_STAT_BAD_PARAM);
		card_expect(c, "cmd-param", i + 1);
	}
	/* All of it is one: what is wrong then is the rule. */
	(void)card_in(c);
	assert_int_equal(card_cmd(c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0, 1024, c->in, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "cmd-param"), sizeof(dwords) / sizeof(dwords[0]));
}

/* 512 addresses a port, each port its own; bit 63 empties the list before [CP 4.5]. */
static void
test_multicast_lists(void **state)
{
	const uint64_t first = UINT64_C(0x01005e000000), clear = UINT64_C(1) << 63;
	struct card *c = *state;

	for (uint64_t i = 0; i < 512; i++)
		assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_CONFIG, 1, first + i, 0), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_CONFIG, 1, first + 7, 0),
			 0); /* is there */
	card_expect_clean(c);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_CONFIG, 1, first + 512, 0),
			 MLX4_STAT_EXCEED_LIM);
	card_expect(c, "cmd-limit", 1);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_CONFIG, 2, first + 512, 0), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_CONFIG, 1, clear | (first + 512), 0), 0);
	for (uint64_t i = 0; i < 511; i++)
		assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_CONFIG, 1, first + i, 0), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_CONFIG, 1, first + 511, 0),
			 MLX4_STAT_EXCEED_LIM);
	card_expect(c, "cmd-limit", 2);
	/* Nothing but an end of the list is no entry of the next one. */
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_CONFIG, 1, clear, 0), 0);
	for (uint64_t i = 0; i < 512; i++)
		assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_CONFIG, 1, first + i, 0), 0);
}

/* Pages of regions from 4 KiB to 2 GiB, where there are pages. */
static void
test_page_sizes(void **state)
{
	static const struct {
		uint32_t lg;
		bool good;
	} row[] = {{0, false}, {8, false}, {9, true}, {12, true}, {31, true}, {32, false}, {63, false}};
	struct card *c = *state;
	unsigned int bad = 0;

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t *in = card_in(c);
		uint32_t mpt = CARD_MPT + 1 + i;

		card_mr_ctx(c, in, mpt << 8, 0x1000, 0x1000, false);
		prm_set(in, MLX4_MPT_ENTITY, row[i].lg);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, mpt), row[i].good ? 0 : MLX4_STAT_BAD_PARAM);
		bad += !row[i].good;
		card_expect(c, "cmd-param", bad);
	}
}

/* The table of interrupts is memory, 16 octets a vector, and what is behind it is not [CP 1.4]. */
static void
test_table_of_interrupts(void **state)
{
	const uint32_t end = MLX4_REG_MSIX_TABLE + 16 * MLX4_MSIX_VECTORS;
	struct card *c = *state;

	for (uint32_t off = end - 16; off < end + 16; off += 4) {
		tp_model_bar0_write32(c->m, off, 0x5a5a0000 | off);
		assert_int_equal(tp_model_bar0_read32(c->m, off), off < end ? 0x5a5a0000 | off : 0);
	}
}

/* A command that never ends leaves the register busy: it is not to be written [CP 2.2]. */
static void
test_commands_that_never_end(void **state)
{
	for (unsigned int kind = 0; kind < 2; kind++) {
		struct card *c = card_new(NULL);

		card_boot(c, CARD_DMFS);
		assert_int_equal(
			tp_model_fault(c->m, kind == 0 ? TP_FAULT_TIMEOUT : TP_FAULT_CATAS, MLX4_CMD_NOP, 1, 0), 0);
		assert_int_equal(card_cmd_none(c, MLX4_CMD_NOP, 0, 0), -1);
		card_expect_clean(c);
		tp_model_bar0_write32(c->m, MLX4_REG_HCR, 0);
		card_expect(c, "hcr-busy", 1);
		card_free(c);
	}
	*state = NULL;
}

/* Addresses of chunks have twelve bits that say other things; entries fit the mailbox. */
static void
test_chunks(void **state)
{
	struct card *c = *state;
	uint64_t at = card_alloc(c, CARD_PAGE, CARD_PAGE);

	for (unsigned int bit = 0; bit < 12; bit++) {
		uint8_t *in = card_in(c);

		prm_set64(in, MLX4_MAP_VA, UINT64_C(1) << bit);
		prm_set64(in, MLX4_MAP_PA, at);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_MAP_FA, 0, 1), MLX4_STAT_BAD_PARAM);
		card_expect(c, "cmd-param", bit + 1);
	}
	for (uint32_t n = MLX4_MAP_ENTRIES_MAX; n <= MLX4_MAP_ENTRIES_MAX + 1; n++) {
		uint8_t *in = card_in(c);

		for (uint32_t i = 0; i < MLX4_MAP_ENTRIES_MAX; i++)
			prm_set64(in + i * MLX4_MAP_ENTRY_SIZE, MLX4_MAP_PA, at);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_MAP_FA, 0, n),
				 n == MLX4_MAP_ENTRIES_MAX ? MLX4_STAT_OK : MLX4_STAT_BAD_PARAM);
	}
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MAP_FA, 0, 0), MLX4_STAT_BAD_PARAM);
}

/* --- queues ---------------------------------------------------------------------------------------------------------------------- */

/* Events of a queue that was taken back are nobody's, though another one has its number. */
static void
test_events_of_a_queue_that_went(void **state)
{
	struct card *c = *state;
	const uint8_t *e = card_ptr(c, c->eq_buf);

	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << 9, 0), 0);
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_DOWN);
	assert_int_equal(e[0x1f] & 0x80, 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_EQ, 1, CARD_EQN), 0);
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_DOWN);
	card_eq_ctx(c, card_in(c), c->eq_buf, 8, 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN), MLX4_STAT_OK);
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_DOWN);
	assert_int_equal(e[0x1f] & 0x80, 0x80);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << 9, 0), 0);
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_DOWN);
	assert_int_equal(e[0x1f] & 0x80, 0);
	card_expect_clean(c);
}

/* A context begins with status and with no collapsing, each alone [CP 5.1]. */
static void
test_contexts_of_event_queues(void **state)
{
	static const struct {
		uint32_t field, value;
	} row[] = {{MLX4_EQC_STATUS, 9}, {MLX4_EQC_STATUS, 1}, {MLX4_EQC_EC, 1}};
	struct card *c = *state;

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t *in = card_in(c);

		card_eq_ctx(c, in, c->eq_buf, 8, 0);
		prm_set(in, row[i].field, row[i].value);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN + 1), MLX4_STAT_BAD_PARAM);
		card_expect(c, "context-reserved", i + 1);
	}
}

/* One completion wakes as many do. */
static void
test_one_completion(void **state)
{
	struct card *c = *state;
	uint64_t buf = card_alloc(c, card_qp_buf_size(4, 0, 0), CARD_PAGE), dbrec = card_alloc(c, 8, 8);
	const uint8_t *e = card_ptr(c, c->eq_buf);
	uint8_t ctx[MLX4_QPC_SIZE] = {0}, db[8], *w = card_ptr(c, buf);

	for (unsigned int i = 0; i < 16; i++)
		prm_set32(w, 64 * i, UINT32_MAX);
	card_qp_ctx(c, ctx, CARD_QPN, 1, buf, 4, 0, 0, dbrec);
	assert_int_equal(card_qp_up(c, CARD_QPN, ctx), 0);
	prm_set32(db, 0, 1u << MLX4_CQ_ARM_SN_SHIFT | MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT | CARD_CQN);
	prm_set32(db, 4, 0);
	assert_int_equal(tp_model_uar_write(c->m, CARD_UAR * 4096 + MLX4_UAR_CQ_ARM, db, 8), 0);
	prm_set32(w, 4, 1);
	prm_set32(w, 8, MLX4_CTRL_CQE);
	prm_set32(w, 12, 0);
	prm_set32(w, 0, MLX4_OP_NOP);
	prm_set32(db, 0, CARD_QPN << 8);
	assert_int_equal(tp_model_uar_write(c->m, CARD_UAR * 4096 + MLX4_UAR_SEND_DB, db, 4), 0);
	while (tp_model_step(c->m, 32) != 0)
		;
	assert_int_equal(e[0x1f] & 0x80, 0);
	assert_int_equal(e[1], MLX4_EVENT_COMP);
	assert_int_equal(prm_get32(e, 4) & 0xffffff, CARD_CQN);
	assert_int_equal(e[32 + 0x1f] & 0x80, 0x80);
	card_expect_clean(c);
}

/* --- wires ----------------------------------------------------------------------------------------------------------------------- */

static unsigned int destroyed[2];

struct tap {
	struct tp_wire w;
	unsigned int i;
};

static bool
tap_link(struct tp_wire *w)
{
	(void)w;
	return true;
}

static unsigned int
tap_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	(void)w, (void)f;
	return n;
}

static void
tap_destroy(struct tp_wire *w)
{
	destroyed[((struct tap *)w)->i]++;
	free(w);
}

static bool
link_up(struct card *c, unsigned int port)
{
	struct tp_model_stats st;

	tp_model_get_stats(c->m, &st);
	return st.port[port - 1].link_up;
}

/* A cable joins ports of one kind; what was plugged there before is taken out, at either end. */
static void
test_cables(void **state)
{
	static const struct tp_wire_ops any = {
		.name = "tap", .send = tap_send, .link = tap_link, .destroy = tap_destroy};
	static const struct tp_wire_ops eth = {
		.name = "tap", .media = TP_WIRE_ETH, .send = tap_send, .link = tap_link, .destroy = tap_destroy};
	static const struct tp_wire_ops ib = {
		.name = "tap", .media = TP_WIRE_IB, .send = tap_send, .link = tap_link, .destroy = tap_destroy};
	static const struct tp_wire_ops *const ops[] = {&any, &eth, &ib};

	for (unsigned int types = 0; types < 4; types++) {
		enum tp_port_type type[2] = {(types & 1) != 0 ? TP_PORT_IB : TP_PORT_ETH,
					     (types & 2) != 0 ? TP_PORT_IB : TP_PORT_ETH};
		struct tp_model_config cfg;
		struct card *c;

		tp_model_config_default(&cfg);
		memcpy(cfg.port_type, type, sizeof(type));
		c = card_new(&cfg);
		card_boot(c, CARD_DMFS);
		for (unsigned int p = 1; p <= 2; p++)
			assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, p), 0);
		for (unsigned int k = 0; k < 3; k++) {
			memset(destroyed, 0, sizeof(destroyed));
			for (unsigned int i = 0; i < 2; i++) {
				struct tap *t = calloc(1, sizeof(*t));
				bool fits = k == 0 || (k == 2) == (type[i] == TP_PORT_IB);

				assert_non_null(t);
				t->w.ops = ops[k];
				t->i = i;
				assert_int_equal(tp_model_wire_attach(c->m, i + 1, &t->w), 0);
				assert_int_equal(link_up(c, i + 1), fits);
			}
			assert_int_equal(destroyed[0] + destroyed[1], 0);
			assert_int_equal(tp_model_wire_cross(c->m), 0);
			assert_int_equal(destroyed[0], 1);
			assert_int_equal(destroyed[1], 1);
			for (unsigned int p = 1; p <= 2; p++)
				assert_int_equal(link_up(c, p), type[0] == type[1]);
		}
		card_expect_clean(c);
		card_free(c);
	}
	*state = NULL;
}

/* --- what is written down -------------------------------------------------------------------------------------------------------- */

/* Of a command without a mailbox the parameter is a number, though memory may lie there. */
static void
test_trace_of_numbers(void **state)
{
	struct card *c = *state;
	char text[4096];
	size_t n;
	FILE *f = tmpfile();

	assert_non_null(f);
	memset(card_in(c), 0x5a, 64);
	tp_model_trace(c->m, f);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, c->in, 0), 0);
	tp_model_trace(c->m, NULL);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	assert_non_null(strstr(text, "MAP_EQ"));
	assert_null(strstr(text, "5a5a5a5a"));
}

/* A line of a mailbox is written when one of its four dwords is not zero. */
static void
test_trace_of_a_mailbox(void **state)
{
	struct card *c = *state;
	char text[16384], *at;
	uint8_t *in = card_in(c);
	size_t n;
	FILE *f = tmpfile();

	assert_non_null(f);
	memset(in, 0, CARD_PAGE);
	for (uint32_t i = 0; i < 4; i++)
		prm_set32(in, 0x100 + 0x10 * i + 4 * i, 0xa0 + i);
	prm_set32(in, 0xffc, 0xdeadbeef);
	tp_model_trace(c->m, f);
	/* It is written as it came, whatever becomes of it. */
	assert_int_not_equal(card_cmd(c, MLX4_CMD_SW2HW_MPT, 0, 0xffffff, c->in, 0), 0);
	tp_model_trace(c->m, NULL);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	/* Before it stands what software had written to the translation table until then. */
	at = strstr(text, " INPUT: ");
	assert_non_null(at);
	at = strchr(at, '\n');
	assert_non_null(at);
	*strstr(at + 1, "dump command") = '\0';
	assert_string_equal(at + 1, "100: 000000a0 00000000 00000000 00000000\n"
				    "110: 00000000 000000a1 00000000 00000000\n"
				    "120: 00000000 00000000 000000a2 00000000\n"
				    "130: 00000000 00000000 00000000 000000a3\n"
				    "ff0: 00000000 00000000 00000000 deadbeef\n");
}

/* The UDP ports of VXLAN and of RoCE are set each by its own bit, to what the command says. */
static void
test_udp_ports(void **state)
{
	struct card *c = *state;
	uint16_t vxlan = c->m->vxlan_port, roce = c->m->roce_port;

	for (unsigned int i = 0; i < 4; i++) {
		uint8_t *in = card_in(c);

		prm_set(in, MLX4_CFGDEV_V_VXLAN, i & 1);
		prm_set(in, MLX4_CFGDEV_V_ROCE, i >> 1);
		prm_set(in, MLX4_CFGDEV_VXLAN_PORT, 0x8123 + i);
		prm_set(in, MLX4_CFGDEV_ROCE_PORT, 0x9234 + i);
		vxlan = (i & 1) != 0 ? (uint16_t)(0x8123 + i) : vxlan;
		roce = i >> 1 != 0 ? (uint16_t)(0x9234 + i) : roce;
		assert_int_equal(card_cmd_in(c, MLX4_CMD_CONFIG_DEV, 0, 0), 0);
		assert_int_equal(c->m->vxlan_port, vxlan);
		assert_int_equal(c->m->roce_port, roce);
	}
	card_expect_clean(c);
}

/* A queue pair looks into tunnels where its context says so. */
static void
test_tunnel_mode(void **state)
{
	struct card *c = *state;
	uint8_t ctx[MLX4_QPC_SIZE];

	for (uint32_t i = 0; i < 2; i++) {
		uint64_t buf = card_alloc(c, card_qp_buf_size(4, 4, 4), CARD_PAGE);

		memset(ctx, 0, sizeof(ctx));
		card_qp_ctx(c, ctx, CARD_QPN + i, 1, buf, 4, 4, 4, card_alloc(c, 8, 8));
		prm_set(ctx, MLX4_QPC_TUNNEL_MODE, i == 0 ? 0 : MLX4_QPC_TUNNEL_ALL);
		assert_int_equal(card_qp_up(c, CARD_QPN + i, ctx), 0);
		assert_int_equal(tpm_qp_get(c->m, CARD_QPN + i)->tunnels, i == 1);
	}
}

/* Who is told to pause: each priority by its bit, and all by a global pause. */
static void
test_who_is_stopped(void **state)
{
	struct card *c = *state;
	struct tp_model_qos s;

	for (unsigned int prio = 0; prio < 9; prio++) {
		c->m->port[1].qos->stopped = 1u << prio;
		assert_int_equal(tp_model_get_qos(c->m, 2, &s), 0);
		assert_int_equal(s.rx_paused, prio == TPM_POOL_GLOBAL ? 0xff : 1u << prio);
		assert_int_equal(tp_model_get_qos(c->m, 1, &s), 0);
		assert_int_equal(s.rx_paused, 0);
	}
	assert_int_equal(tp_model_get_qos(c->m, 0, &s), -EINVAL);
	assert_int_equal(tp_model_get_qos(c->m, 3, &s), -EINVAL);
	c->m->port[1].qos->stopped = 0;
}

int
main(void)
{
#define OBJECTS(f) cmocka_unit_test_setup_teardown(f, setup_objects, teardown_card)
#define BOOTED(f) cmocka_unit_test_setup_teardown(f, setup_booted, teardown_card)
#define POWER(f) cmocka_unit_test_setup_teardown(f, setup_power_on, teardown_card)
	const struct CMUnitTest tests[] = {
		POWER(test_reserved_bits_of_the_register),
		BOOTED(test_ports_that_are_none),
		BOOTED(test_lengths_of_rules),
		BOOTED(test_multicast_lists),
		BOOTED(test_page_sizes),
		POWER(test_table_of_interrupts),
		cmocka_unit_test(test_commands_that_never_end),
		POWER(test_chunks),
		OBJECTS(test_events_of_a_queue_that_went),
		OBJECTS(test_contexts_of_event_queues),
		OBJECTS(test_one_completion),
		cmocka_unit_test(test_cables),
		OBJECTS(test_trace_of_numbers),
		OBJECTS(test_trace_of_a_mailbox),
		BOOTED(test_udp_ports),
		BOOTED(test_who_is_stopped),
		OBJECTS(test_tunnel_mode),
	};

	return cmocka_run_group_tests_name("cmd_edges", tests, NULL, NULL);
}
