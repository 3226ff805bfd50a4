/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Regions of the card behind vfio-user: what may be read and written, and what writes of doorbells do. */
#include "vfu_greeted.h"

#define BAR2_SIZE (8u << 20)

/* --- regions --- */

static uint32_t
read_at(uint32_t region, uint64_t off, uint32_t count)
{
	uint8_t in[16];

	memcpy(in, &off, 8);
	memcpy(in + 8, &region, 4);
	memcpy(in + 12, &count, 4);
	if (rig_ask(&rig, 9, in, 16, 16 + count) != 0)
		return rig_u32(rig.reply.buf + 12);
	assert_memory_equal(payload(), in, 16);
	return 0;
}

static uint32_t
write_at(uint32_t region, uint64_t off, uint32_t count, const void *data, uint32_t len)
{
	static uint8_t in[16 + 8192];

	memcpy(in, &off, 8);
	memcpy(in + 8, &region, 4);
	memcpy(in + 12, &count, 4);
	memcpy(in + 16, data, len);
	if (rig_ask(&rig, 10, in, 16 + len, 16) != 0)
		return rig_u32(rig.reply.buf + 12);
	assert_memory_equal(payload(), in, 16);
	return 0;
}

static void
region_sizes(void **state)
{
	static const uint64_t size[9] = {[0] = 1u << 20, [2] = BAR2_SIZE, [7] = 4096};
	uint32_t in[8] = {32};

	(void)state;
	for (uint32_t i = 0; i < 9; i++) {
		const uint32_t want[8] = {32, size[i] != 0 ? 3 : 0, i, 0, (uint32_t)size[i], 0, 0, 0};

		in[2] = i;
		assert_int_equal(rig_ask(&rig, 5, in, 32, 32), 0);
		assert_memory_equal(payload(), want, 32);
		assert_int_equal(rig.reply.fd, -1);
	}
	in[2] = 9;
	assert_int_equal(rig_ask(&rig, 5, in, 32, 32), EINVAL);
	in[2] = 0;
	in[0] = 31;
	assert_int_equal(rig_ask(&rig, 5, in, 32, 32), EINVAL);
	in[0] = 33;
	assert_int_equal(rig_ask(&rig, 5, in, 32, 32), 0);
	assert_int_equal(rig_u32(payload()), 32);
}

/* Who gives each queue a page of its own may have the doorbells as memory; the other regions never are. */
static void
doorbells_as_memory(void **state)
{
	uint32_t in[8] = {32};

	(void)state;
	vfu_detach(&rig.server);
	assert_int_equal(rig_version(&rig, "{\"capabilities\":{\"triplane_shared_uar\":true}}"), 0);
	for (uint32_t i = 0; i < 9; i++) {
		in[2] = i;
		assert_int_equal(rig_ask(&rig, 5, in, 32, 32), 0);
		assert_int_equal(rig.reply.fd, i == 2 ? tp_model_uar_fd(rig.model) : -1);
		assert_int_equal(rig_u32(payload() + 4), i == 2 ? 7 : i == 0 || i == 7 ? 3 : 0);
	}
	/* It stays the card's: a refusal does not hand it out, and it is open. */
	assert_true(rig_is_open(tp_model_uar_fd(rig.model)));
	in[2] = 9;
	assert_int_equal(rig_ask(&rig, 5, in, 32, 32), EINVAL);
	assert_int_equal(rig.reply.fd, -1);
}

static void
accesses_inside_and_outside(void **state)
{
	static const struct {
		uint32_t region;
		uint64_t off;
		uint32_t count, error;
	} row[] = {
		{0, 0, 4, 0},
		{0, 0, 8, 0},
		{0, 0, 1, 0},
		{0, 0, 9, EINVAL},
		{0, 0, 0, EINVAL},
		{0, 0xffffc, 4, 0},
		{0, 0xfffff, 1, 0},
		{0, 0xffffd, 4, EINVAL},
		{0, 0x100000, 1, EINVAL},
		{0, 0x100001, 1, EINVAL},
		{0, UINT64_C(1) << 32, 4, EINVAL},
		{0, UINT64_MAX, 4, EINVAL},
		{2, BAR2_SIZE - 8, 8, 0},
		{2, BAR2_SIZE - 7, 8, EINVAL},
		{2, 0, 9, EINVAL},
		{7, 0, 4096, 0},
		{7, 0, 4097, EINVAL},
		{7, 1, 4095, 0},
		{7, 1, 4096, EINVAL},
		{7, 4096, 1, EINVAL},
		{1, 0, 4, EINVAL},
		{3, 0, 4, EINVAL},
		{6, 0, 4, EINVAL},
		{8, 0, 4, EINVAL},
		{9, 0, 4, EINVAL},
		{UINT32_MAX, 0, 4, EINVAL},
	};
	static const uint8_t zero[16];

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		assert_int_equal(read_at(row[i].region, row[i].off, row[i].count), row[i].error);
		if (row[i].error != 0 && row[i].count <= sizeof(zero))
			assert_int_equal(write_at(row[i].region, row[i].off, row[i].count, zero, row[i].count), EINVAL);
	}
	assert_int_equal(rig.server.malformed, 0);
	/* A write has as many octets as it says. */
	assert_int_equal(write_at(7, 0x3c, 2, zero, 1), EINVAL);
	assert_int_equal(rig.server.malformed, 1);
	assert_int_equal(write_at(7, 0x3c, 2, zero, 3), EINVAL);
	assert_int_equal(rig.server.malformed, 2);
	assert_int_equal(write_at(7, 0x3c, 2, zero, 2), 0);
	assert_int_equal(rig.server.malformed, 2);
}

static void
no_more_than_was_agreed(void **state)
{
	(void)state;
	vfu_detach(&rig.server);
	assert_int_equal(rig_version(&rig, "{\"capabilities\":{\"max_data_xfer_size\":100}}"), 0);
	assert_int_equal(read_at(7, 0, 100), 0);
	assert_int_equal(read_at(7, 0, 101), EINVAL);
}

/* Dwords are big-endian, so the first octet of one is its most significant; an access may begin and end inside. */
static void
octets_of_registers(void **state)
{
	/* The card's identity of a Pro, 0x1f7, at 0xf0014 [CP 1.3], between registers that read 0. */
	static const uint8_t around[12] = {0, 0, 0, 0, 0, 0, 1, 0xf7, 0, 0, 0, 0};

	(void)state;
	for (uint32_t at = 0; at < 12; at++)
		for (uint32_t count = 1; count <= 8 && at + count <= 12; count++) {
			assert_int_equal(read_at(0, 0xf0010 + at, count), 0);
			assert_memory_equal(payload() + 16, around + at, count);
		}
	/* Configuration space is little-endian: vendor 15b3, device 1007. */
	assert_int_equal(read_at(7, 0, 4), 0);
	assert_memory_equal(payload() + 16, "\xb3\x15\x07\x10", 4);
	assert_int_equal(read_at(7, 1, 2), 0);
	assert_memory_equal(payload() + 16, "\x15\x07", 2);
}

/* The table of MSI-X vectors is memory, octet by octet; registers are written as dwords only. */
static void
writes_of_pieces(void **state)
{
	static const struct {
		uint64_t off;
		uint32_t count, error;
	} row[] = {
		{0x7c000, 1, 0},      {0x7c003, 2, 0},      {0x7c7fb, 5, 0},      {0x7d00f, 1, 0},
		{0x7d00c, 4, 0},      {0x7d00f, 2, EINVAL}, {0x7d010, 1, EINVAL}, {0x7bfff, 1, EINVAL},
		{0x7bffe, 4, EINVAL}, {0x80680, 2, EINVAL}, {0x80680, 3, EINVAL}, {0x80680, 5, EINVAL},
		{0x80682, 4, EINVAL}, {0x80680, 4, 0},      {0x80680, 8, 0},
	};
	static const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++)
		assert_int_equal(write_at(0, row[i].off, row[i].count, data, row[i].count), row[i].error);
	/* 1 at 0x7c000; 1 2 at 0x7c003 across two dwords; the rest as it was. */
	assert_int_equal(read_at(0, 0x7c000, 8), 0);
	assert_memory_equal(payload() + 16, "\1\0\0\1\2\0\0\0", 8);
	assert_int_equal(read_at(0, 0x7c7f8, 8), 0);
	assert_memory_equal(payload() + 16, "\0\0\0\1\2\3\4\5", 8);
	assert_int_equal(read_at(0, 0x7d008, 8), 0);
	assert_memory_equal(payload() + 16, "\0\0\0\0\1\2\3\4", 8);
	assert_int_equal(read_at(0, 0x80680, 8), 0);
	assert_memory_equal(payload() + 16, data, 8);
	/* Configuration space takes octets: the interrupt line is the system's to write. */
	assert_int_equal(write_at(7, 0x3c, 1, "\x2a", 1), 0);
	assert_int_equal(read_at(7, 0x3c, 1), 0);
	assert_int_equal(payload()[16], 0x2a);
}

/* --- doorbells --- */

static struct tp_model_stats
counted(void)
{
	struct tp_model_stats st;

	tp_model_get_stats(rig.model, &st);
	return st;
}

/* Page 128 is the first that is no event queue's; its send doorbell is at 0x14, the arm of its CQs at 0x20 [CP 8]. */
static void
doorbell_writes(void **state)
{
	static const struct {
		uint64_t off;
		uint32_t count, error;
		bool rings;
	} row[] = {
		{0x80014, 4, 0, true},       {0x80014, 8, EINVAL, false}, {0x80010, 8, 0, false},
		{0x80018, 4, 0, false},      {0x80014, 3, EINVAL, false}, {0x80014, 2, EINVAL, false},
		{0x80016, 4, EINVAL, false}, {0x80014, 1, EINVAL, false},
	};
	static const uint8_t qp[8] = {0, 0, 0x50, 0};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint64_t before = counted().doorbells + tp_model_violations_total(rig.model);

		assert_int_equal(write_at(2, row[i].off, row[i].count, qp, row[i].count), row[i].error);
		assert_int_equal(counted().doorbells + tp_model_violations_total(rig.model) > before, row[i].rings);
	}
	/* What was written is gone: a doorbell reads as the memory behind it, which messages do not touch. */
	assert_int_equal(read_at(2, 0x80014, 4), 0);
	assert_int_equal(rig_u32(payload() + 16), 0);
	*(uint8_t *)((uint8_t *)tp_model_uar(rig.model, NULL) + 0x81003) = 0x77;
	assert_int_equal(read_at(2, 0x81000, 8), 0);
	assert_memory_equal(payload() + 16, "\0\0\0\x77\0\0\0\0", 8);
}

/* One 8-octet piece of a copy at the BlueFlame register of page 128. */
static void
bf_piece(uint32_t half, uint32_t at, uint32_t ds)
{
	uint8_t w[8] = {0};

	if (at == 0) {
		w[6] = 0x50; /* QP 0x50 does not exist: the card says so when the copy is whole */
		w[7] = (uint8_t)ds;
	}
	assert_int_equal(write_at(2, BAR2_SIZE / 2 + 128 * 4096 + half * 256 + at, 8, w, 8), 0);
}

/* A copy has the whole 64-octet blocks that its control segment counts in units of 16; it is rung when the last one came. */
static void
copies_of_wqes(void **state)
{
	static const struct {
		uint32_t ds, octets;
	} row[] = {{1, 64}, {4, 64}, {5, 128}, {8, 128}, {9, 192}, {16, 256}, {17, 256}, {63, 256}, {0, 256}};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint64_t before = counted().bf_doorbells;
		unsigned int lines = rig.lines;

		for (uint32_t at = 0; at < row[i].octets; at += 8) {
			assert_int_equal(counted().bf_doorbells, before);
			bf_piece(i % 2, at, row[i].ds);
		}
		assert_int_equal(counted().bf_doorbells, before + 1);
		assert_int_equal(rig.lines, lines);
		/* A piece behind the end belongs to no copy. */
		bf_piece(i % 2, row[i].octets % 256 == 0 ? 8 : row[i].octets, 1);
		assert_int_equal(rig.lines, lines + 1);
		assert_int_equal(counted().bf_doorbells, before + 1);
	}
}

static void
copies_that_are_mixed(void **state)
{
	(void)state;
	/* Two registers at a time. */
	for (uint32_t at = 0; at < 64; at += 8) {
		bf_piece(0, at, 4);
		bf_piece(1, at, 4);
	}
	assert_int_equal(counted().bf_doorbells, 2);
	assert_int_equal(rig.lines, 0);
	/* One that begins again. */
	bf_piece(0, 0, 4);
	bf_piece(0, 8, 4);
	for (uint32_t at = 0; at < 64; at += 8)
		bf_piece(0, at, 4);
	assert_int_equal(counted().bf_doorbells, 3);
	assert_int_equal(rig.lines, 0);
	/* One with a hole is not rung, and its next piece after the hole is. */
	bf_piece(0, 0, 4);
	bf_piece(0, 16, 4);
	assert_int_equal(rig.lines, 1);
	for (uint32_t at = 8; at < 64; at += 8)
		bf_piece(0, at, 4);
	assert_int_equal(counted().bf_doorbells, 4);
	/* Sixteen may be on their way. The seventeenth takes the place of the first. */
	for (uint32_t half = 0; half < 17; half++)
		bf_piece(half, 0, 4);
	for (uint32_t half = 1; half < 17; half++)
		for (uint32_t at = 8; at < 64; at += 8)
			bf_piece(half, at, 4);
	assert_int_equal(counted().bf_doorbells, 20);
	assert_int_equal(rig.lines, 1);
	bf_piece(0, 8, 4);
	assert_int_equal(rig.lines, 2);
	/* A client that goes takes its half copies along. */
	bf_piece(0, 0, 4);
	vfu_detach(&rig.server);
	rig_hello(&rig);
	bf_piece(0, 8, 4);
	assert_int_equal(rig.lines, 3);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(region_sizes),
		T(doorbells_as_memory),
		T(accesses_inside_and_outside),
		T(no_more_than_was_agreed),
		T(octets_of_registers),
		T(writes_of_pieces),
		T(doorbell_writes),
		T(copies_of_wqes),
		T(copies_that_are_mixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
