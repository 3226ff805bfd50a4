/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What can be watched of a card: its commands as text, its cable, its clock, the rules that were broken. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/card/model_priv.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- commands as text --- */

static void
commands_as_text(void **state)
{
	struct card *c = *state;
	char *text = NULL, want[1024];
	size_t len;
	FILE *f = open_memstream(&text, &len);
	uint8_t *in = card_in(c);

	tp_model_trace(c->m, f);
	/* Without mailboxes, by number where there is no name, and an answer of 64 bits. */
	assert_int_equal(card_cmd(c, MLX4_CMD_NOP, 3, 0x1f, 0x1122, 0), 0);
	assert_int_equal(card_cmd_none(c, 0x7ff, 0, 0), MLX4_STAT_BAD_OP);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_SENSE_PORT, 0, 1), 0);
	/* The dwords of a mailbox that are not all zero in a line of four. */
	prm_set32(in, 0x00c, 0x01020304);
	prm_set32(in, 0x030, 0xffffffff);
	prm_set32(in, 0xff4, 5);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_NODE, 0, 1, c->in, 0), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_FUNC, 0, 0), 0);
	snprintf(want, sizeof(want),
		 "dump command NOP(0x31) INPUT: op_modifier 0x3 in_modifier 0x1f in_param 0x1122 out_param 0x0\n"
		 "dump command NOP(0x31) OUTPUT: status 0x0\n"
		 "dump command unknown(0x7ff) INPUT: op_modifier 0x0 in_modifier 0x0 in_param 0x0 out_param 0x0\n"
		 "dump command unknown(0x7ff) OUTPUT: status 0x2\n"
		 "dump command SENSE_PORT(0x4d) INPUT: op_modifier 0x0 in_modifier 0x1 in_param 0x0 out_param 0x0\n"
		 "dump command SENSE_PORT(0x4d) OUTPUT: status 0x0 immediate 0x2\n"
		 "dump command SET_NODE(0x5a) INPUT: op_modifier 0x0 in_modifier 0x1 in_param 0x%llx out_param 0x0\n"
		 "000: 00000000 00000000 00000000 01020304\n"
		 "030: ffffffff 00000000 00000000 00000000\n"
		 "ff0: 00000000 00000005 00000000 00000000\n"
		 "dump command SET_NODE(0x5a) OUTPUT: status 0x0\n"
		 "dump command QUERY_FUNC(0x56) INPUT: op_modifier 0x0 in_modifier 0x0 in_param 0x0 out_param 0x%llx\n"
		 "dump command QUERY_FUNC(0x56) OUTPUT: status 0x0\n"
		 "000: 00000000 00040020 00000001 00000000\n",
		 (unsigned long long)c->in, (unsigned long long)c->out);
	assert_string_equal(text, want);
	/* One that is completed by event says so. */
	rewind(f);
	tp_model_bar0_write32(c->m, MLX4_REG_HCR + MLX4_HCR_TOKEN, 0);
	for (uint32_t off = 0; off < MLX4_HCR_TOKEN; off += 4)
		tp_model_bar0_write32(c->m, MLX4_REG_HCR + off, 0);
	tp_model_bar0_write32(c->m, MLX4_REG_HCR + MLX4_HCR_CTRL, MLX4_HCR_GO | MLX4_HCR_EVENT | MLX4_CMD_NOP);
	assert_memory_equal(
		text,
		"dump command NOP(0x31) INPUT: op_modifier 0x0 in_modifier 0x0 in_param 0x0 out_param 0x0 event\n", 95);
	/* Nobody listens any more. */
	rewind(f);
	tp_model_trace(c->m, NULL);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_SENSE_PORT, 0, 1), 0);
	fflush(f);
	assert_int_equal(len, 0);
	fclose(f);
	free(text);
}

/* --- the cable --- */

static const uint8_t *
cable(struct card *c, uint32_t port, uint8_t i2c, uint8_t page, uint16_t off, uint16_t size, uint32_t status)
{
	uint8_t *in = card_in(c);

	memcpy(in, "\x01\x01\x01\x01", 4);
	in[0x10] = 0xff;
	in[0x11] = 0x60;
	in[0x40] = i2c;
	in[0x41] = page;
	in[0x42] = (uint8_t)(off >> 8);
	in[0x43] = (uint8_t)off;
	in[0x46] = (uint8_t)(size >> 8);
	in[0x47] = (uint8_t)size;
	memset(in + 0x50, 0xa5, 48);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAD_IFC, 0, port, c->in, c->out), 0);
	assert_int_equal(card_out(c)[3], 0x81);
	/* The status of the datagram has it in its upper octet [CP 4.9]. */
	assert_int_equal(card_out(c)[4], status);
	assert_int_equal(card_out(c)[5], 0);
	return card_out(c) + 0x50;
}

/* SFF-8636: a passive copper cable of one metre for 40GBASE-CR4. */
static void
what_a_cable_says(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t value;
	} row[] = {
		{0, 0x0d},   {1, 0x03},  {2, 0x04}, {128, 0x0d}, {130, 0x23},
		{131, 0x08}, {140, 103}, {146, 1},  {147, 0xa0},
	};
	uint8_t want[256] = {0}, got[256], sum;
	struct card *c = *state;

	assert_int_equal(tp_model_wire_cross(c->m), 0);
	for (unsigned int i = 0; i < COUNT(row); i++)
		want[row[i].at] = row[i].value;
	memcpy(want + 148, "Triplane        ", 16);
	memcpy(want + 168, "MODEL-CABLE-1M  ", 16);
	memcpy(want + 212, "260101  ", 8);
	for (uint32_t port = 1; port <= 2; port++) {
		memcpy(want + 196, port == 1 ? "0002C90300A1B201" : "0002C90300A1B202", 16);
		/* CC_BASE of 128..190 and CC_EXT of 192..222: the low octets of sums. */
		sum = 0;
		for (unsigned int i = 128; i < 191; i++)
			sum = (uint8_t)(sum + want[i]);
		want[191] = sum;
		sum = 0;
		for (unsigned int i = 192; i < 223; i++)
			sum = (uint8_t)(sum + want[i]);
		want[223] = sum;
		for (uint16_t off = 0; off < 256; off = (uint16_t)(off + 32))
			memcpy(got + off, cable(c, port, 0x50, 0, off, 32, 0), 32);
		assert_memory_equal(got, want, 256);
	}
	/* A piece of any size, and nothing behind it. */
	assert_memory_equal(cable(c, 1, 0x50, 0, 147, 3, 0), "\xa0Tr\0\0\0", 6);
	assert_memory_equal(cable(c, 1, 0x50, 0, 148, 48, 0), want + 148, 43);
}

static void
what_a_cable_refuses(void **state)
{
	static const struct {
		uint8_t i2c, page;
		uint16_t off, size;
		uint32_t status;
	} row[] = {
		{0x51, 0, 0, 1, 7},   {0x4f, 0, 0, 1, 7},    {0x50, 1, 0, 1, 5},    {0x50, 0, 0, 0, 6},
		{0x50, 0, 0, 48, 0},  {0x50, 0, 0, 49, 6},   {0x50, 0, 255, 1, 0},  {0x50, 0, 255, 2, 6},
		{0x50, 0, 256, 1, 6}, {0x50, 0, 208, 48, 0}, {0x50, 0, 209, 48, 6}, {0x50, 0, 0xffff, 1, 6},
	};
	static const uint8_t zero[48];
	struct card *c = *state;

	assert_int_equal(tp_model_wire_loopback(c->m, 1), 0);
	assert_int_equal(tp_model_wire_loopback(c->m, 2), 0);
	for (unsigned int i = 0; i < COUNT(row); i++) {
		const uint8_t *data = cable(c, 2, row[i].i2c, row[i].page, row[i].off, row[i].size, row[i].status);

		if (row[i].status != 0)
			assert_memory_equal(data, zero, 48);
	}
	/* Nothing is plugged in. */
	assert_int_equal(tp_model_cable(c->m, 2, false), 0);
	assert_memory_equal(cable(c, 2, 0x50, 0, 0, 8, 3), zero, 48);
	cable(c, 1, 0x50, 0, 0, 8, 0);
	assert_int_equal(tp_model_cable(c->m, 2, true), 0);
	cable(c, 2, 0x50, 0, 0, 8, 0);
	assert_int_equal(tp_model_wire_none(c->m, 2), 0);
	cable(c, 2, 0x50, 0, 0, 8, 3);
}

/* --- the clock --- */

/* 427 MHz, 48 bits [CP 1.7]: the core's clock at 0x1f0a0, its upper dword first. */
static void
clock_in_virtual_time(void **state)
{
	static const struct {
		uint64_t ns, cycles;
	} row[] = {
		{0, 0},
		{2, 0},
		{3, 1},
		{1000, 427},
		{1999, 427 + 426},
		{1000000000, 427000000},
		{UINT64_C(600000000000000), UINT64_C(256200000000000)},
		{UINT64_C(660000000000000), UINT64_C(281820000000000) - (UINT64_C(1) << 48)},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint64_t hi, lo;

		tp_model_set_time(c->m, row[i].ns);
		hi = tp_model_bar0_read32(c->m, 0x1f0a0);
		lo = tp_model_bar0_read32(c->m, 0x1f0a4);
		assert_true((hi << 32 | lo) == (row[i].cycles & ((UINT64_C(1) << 48) - 1)));
	}
}

/* That of the machine, between two looks at it. */
static void
clock_of_the_machine(void **state)
{
	struct card *c = *state;
	uint64_t hi, lo, cycles, before, after;
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		hi = tp_model_bar0_read32(c->m, 0x1f0a0);
		lo = tp_model_bar0_read32(c->m, 0x1f0a4);
	} while (tp_model_bar0_read32(c->m, 0x1f0a0) != hi);
	clock_gettime(CLOCK_MONOTONIC, &b);
	cycles = hi << 32 | lo;
	before = (uint64_t)a.tv_sec * 427000000 + (uint64_t)a.tv_nsec * 427 / 1000;
	after = (uint64_t)b.tv_sec * 427000000 + (uint64_t)b.tv_nsec * 427 / 1000 + 1;
	assert_in_range(cycles, before, after);
}

/* --- rules --- */

static void
names_of_rules(void **state)
{
	unsigned int n = tp_model_violation_count();
	struct card *c = *state;
	char text[64] = "x", one[1] = {'x'};

	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(tp_model_violation_by_name(tp_model_violation_name(i)), (int)i);
		assert_non_null(tp_model_violation_text(i));
		assert_int_equal(tp_model_violations(c->m, i), 0);
	}
	assert_null(tp_model_violation_name(n));
	assert_null(tp_model_violation_text(n));
	assert_int_equal(tp_model_violation_class(n), TP_RULE_VIOLATION);
	assert_int_equal(tp_model_violations(c->m, n), 0);
	assert_int_equal(tp_model_violation_by_name("no such rule"), -1);
	assert_int_equal(tp_model_violation_by_name(""), -1);
	tp_model_last_violation(c->m, text, sizeof(text));
	assert_string_equal(text, "");
	/* Each class has its own last one and its own sum; a text that is too long is cut. */
	tpm_violate(c->m, TPM_V_BAR_RANGE, "thing", 0x12, "found %u, wanted %u", 3, 4);
	tpm_violate(c->m, TPM_V_MCG_ENTRY, "table", 0x34, "small");
	tpm_violate(c->m, TPM_V_BAR_RANGE, "thing", 0x13, "found %u", 5);
	tp_model_last_violation(c->m, text, sizeof(text));
	assert_string_equal(text, "bar-range: thing 0x13: found 5");
	tp_model_last_violation(c->m, text, 10);
	assert_string_equal(text, "bar-range");
	tp_model_last_violation(c->m, one, 0);
	assert_int_equal(one[0], 'x');
	tp_model_last_advice(c->m, text, sizeof(text));
	assert_string_equal(text, "steering-entry: table 0x34: small");
	assert_int_equal(tp_model_violations_total(c->m), 2);
	assert_int_equal(tp_model_advice_total(c->m), 1);
	assert_int_equal(tp_model_violations(c->m, TPM_V_BAR_RANGE), 2);
}

struct heard {
	enum tp_model_line kind[8];
	char line[8][300];
	unsigned int num;
};

static void
hear(void *arg, enum tp_model_line kind, const char *line)
{
	struct heard *h = arg;

	h->kind[h->num] = kind;
	snprintf(h->line[h->num++], sizeof(h->line[0]), "%s", line);
}

static void
lines_of_the_log(void **state)
{
	struct card *c = *state;
	struct heard h = {.num = 0};
	char longer[400];

	memset(longer, 'y', sizeof(longer));
	longer[399] = '\0';
	tpm_note(c->m, "nobody hears this");
	tp_model_set_log(c->m, hear, &h);
	tpm_note(c->m, "note %d", 1);
	tpm_violate(c->m, TPM_V_BAR_RANGE, "a", 1, "b");
	tpm_violate(c->m, TPM_V_MCG_ENTRY, "c", 2, "d");
	tpm_note(c->m, "%s", longer);
	/* A command that fails is a line of its own: what it was, and what its status says. */
	card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0);
	tp_model_set_log(c->m, NULL, NULL);
	tpm_note(c->m, "nor this");
	assert_int_equal(h.num, 6);
	assert_int_equal(h.kind[0], TP_LINE_NOTE);
	assert_string_equal(h.line[0], "note 1");
	assert_int_equal(h.kind[1], TP_LINE_VIOLATION);
	assert_string_equal(h.line[1], "bar-range: a 0x1: b");
	assert_int_equal(h.kind[2], TP_LINE_ADVICE);
	assert_string_equal(h.line[2], "steering-entry: c 0x2: d");
	assert_int_equal(strlen(h.line[3]), 255);
	assert_int_equal(h.kind[4], TP_LINE_VIOLATION);
	assert_int_equal(h.kind[5], TP_LINE_NOTE);
	assert_string_equal(h.line[5],
			    "command 0x3 (QUERY_DEV_CAP) ends with status 0x4: illegal in the current bring-up state");
	tp_model_set_log(c->m, hear, &h);
	h.num = 0;
	card_cmd_none(c, 0x7ff, 0, 0);
	assert_string_equal(h.line[h.num - 1],
			    "command 0x7ff (unknown) ends with status 0x2: operation not supported or not allowed now");
	tp_model_set_log(c->m, NULL, NULL);
}

int
main(void)
{
#define ON(f) cmocka_unit_test_setup_teardown(f, setup_power_on, teardown_card)
#define UP(f) cmocka_unit_test_setup_teardown(f, setup_booted, teardown_card)
	const struct CMUnitTest tests[] = {
		UP(commands_as_text),     UP(what_a_cable_says), UP(what_a_cable_refuses), ON(clock_in_virtual_time),
		ON(clock_of_the_machine), ON(names_of_rules),    ON(lines_of_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
