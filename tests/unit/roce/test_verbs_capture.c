/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Captures: which packets are in the file, whole or cut, and who may start and stop one. The file is read as pcapng has it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "verbs_qp.h"

#define ENHANCED_PACKET 6u
#define FRAME 100u

static int fd;
static char path[64];

static int
open_file(void **state)
{
	fd = memfd_create("capture", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return setup(state);
}

static int
close_file(void **state)
{
	close(fd);
	return teardown(state);
}

/* Of Ethernet II (0), 802.1Q (tag), IPv4 with so many words of header, IPv6. port: the UDP destination */
struct frame {
	uint16_t type;
	bool tag;
	uint8_t words, proto;
	uint16_t port, len;
	bool kept;
};

static const struct frame frames[] = {
	{0x8915, false, 0, 0, 0, 60, true},
	{0x8915, false, 0, 0, 0, 18, true},
	{0x8915, false, 0, 0, 0, 17, false},
	{0x8915, true, 0, 0, 0, 60, true},
	{0x8916, false, 0, 0, 0, 60, false},
	{0x0806, false, 5, 17, 4791, 60, false},
	{0x0800, false, 5, 17, 4791, 100, true},
	{0x0800, false, 5, 17, 4791, 42, true},
	{0x0800, false, 5, 17, 4791, 41, false},
	{0x0800, false, 5, 17, 4791, 33, false},
	{0x0800, false, 5, 6, 4791, 100, false},
	{0x0800, false, 5, 17, 4790, 100, false},
	{0x0800, false, 5, 17, 4791 + 256, 100, false},
	{0x0800, false, 6, 17, 4791, 46, true},
	{0x0800, false, 6, 17, 4791, 45, false},
	{0x0800, false, 15, 17, 4791, 100, true},
	{0x0800, true, 5, 17, 4791, 46, true},
	{0x0800, true, 5, 17, 4791, 45, false},
	{0x86dd, false, 10, 17, 4791, 62, true},
	{0x86dd, false, 10, 17, 4791, 61, false},
	{0x86dd, false, 10, 17, 4791, 53, false},
	{0x86dd, false, 10, 0, 4791, 100, false},
	{0x86dd, true, 10, 17, 4791, 66, true},
	{0x86dd, true, 10, 17, 53, 66, false},
};

static void
fill(uint8_t *p, const struct frame *f, uint8_t mark)
{
	uint32_t off = f->tag ? 18 : 14;

	/* Whatever is behind the frame's end says RoCE, too. */
	memset(p, 0, FRAME);
	p[0] = mark;
	p[12] = 0x81;
	p[off - 2] = (uint8_t)(f->type >> 8);
	p[off - 1] = (uint8_t)f->type;
	p[off] = (uint8_t)((f->type == 0x86dd ? 0x60 : 0x40) | (f->words & 0xf));
	p[off + (f->type == 0x86dd ? 6 : 9)] = f->proto;
	p[off + f->words * 4u + 2] = (uint8_t)(f->port >> 8);
	p[off + f->words * 4u + 3] = (uint8_t)f->port;
}

static void
hand_in(const struct frame *f, uint8_t mark)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(troce_dev_of(ctx)->conf.pool);

	assert_non_null(m);
	fill(rte_pktmbuf_mtod(m, uint8_t *), f, mark);
	m->data_len = f->len;
	m->pkt_len = f->len;
	assert_int_equal(tp_roce_input(ctx, &m, 1), 1);
	rte_pktmbuf_free(m);
}

/* The next packet in the file behind this place; 0: none. */
static size_t
next_packet(const uint8_t *file, size_t size, size_t at, uint32_t *len, uint32_t *whole, const uint8_t **data)
{
	while (at + 12 <= size) {
		uint32_t type, block;

		memcpy(&type, file + at, 4);
		memcpy(&block, file + at + 4, 4);
		assert_true(block >= 12 && block % 4 == 0 && block <= size - at);
		if (type == ENHANCED_PACKET) {
			memcpy(len, file + at + 20, 4);
			memcpy(whole, file + at + 24, 4);
			*data = file + at + 28;
			assert_true(*len + 32 <= block);
		}
		at += block;
		if (type == ENHANCED_PACKET)
			return at;
	}
	return 0;
}

/* Only RoCE is kept, as far as snaplen goes, in order. */
static void
test_packets(void **state)
{
	static const uint32_t snaplen[] = {64, 0, 4352};
	static uint8_t file[65536];

	for (unsigned int s = 0; s < RTE_DIM(snaplen); s++) {
		uint64_t captured = 99, lost = 99, kept = 0;
		uint32_t len, whole;
		const uint8_t *data;
		size_t at = 0, size;

		assert_int_equal(tp_roce_capture_start(ctx, path, snaplen[s]), 0);
		for (unsigned int i = 0; i < RTE_DIM(frames); i++) {
			hand_in(&frames[i], (uint8_t)i);
			kept += frames[i].kept;
		}
		assert_int_equal(tp_roce_capture_stop(ctx, &captured, &lost), 0);
		assert_int_equal(captured, kept);
		assert_int_equal(lost, 0);
		/* What comes now is in no file. */
		hand_in(&frames[0], 0);
		size = (size_t)pread(fd, file, sizeof(file), 0);
		for (unsigned int i = 0; i < RTE_DIM(frames); i++) {
			uint8_t want[FRAME];

			if (!frames[i].kept)
				continue;
			at = next_packet(file, size, at, &len, &whole, &data);
			assert_true(at != 0);
			fill(want, &frames[i], (uint8_t)i);
			assert_int_equal(whole, frames[i].len);
			assert_int_equal(len, snaplen[s] == 64 ? RTE_MIN(frames[i].len, 64u) : frames[i].len);
			assert_memory_equal(data, want, len);
		}
		assert_int_equal(next_packet(file, size, at, &len, &whole, &data), 0);
	}
}

static void
test_calls(void **state)
{
	struct troce_dev *dev = troce_dev_of(ctx);

	assert_int_equal(tp_roce_capture_stop(ctx, NULL, NULL), ENOENT);
	REFUSED_INT(tp_roce_capture_start(ctx, NULL, 0), EINVAL, "no file is named");
	REFUSED_INT(tp_roce_capture_start(ctx, path, 63), EINVAL, "snaplen 63 is not 0 or 64..4352");
	REFUSED_INT(tp_roce_capture_start(ctx, path, 4353), EINVAL, "snaplen 4353 is not 0 or 64..4352");
	REFUSED_INT(tp_roce_capture_start(ctx, "/proc/self/none/x", 0), ENOENT,
		    "capture to /proc/self/none/x: No such file");
	dev->ib = &(const struct troce_ib_port){.prov = dev->prov};
	REFUSED_INT(tp_roce_capture_start(ctx, path, 0), ENOTSUP, "an InfiniBand port shows no packets");
	dev->ib = NULL;
	assert_int_equal(tp_roce_capture_start(ctx, path, 0), 0);
	REFUSED_INT(tp_roce_capture_start(ctx, path, 0), EBUSY, "a capture runs already");
	assert_int_equal(tp_roce_capture_stop(ctx, NULL, NULL), 0);
	assert_int_equal(tp_roce_capture_stop(ctx, NULL, NULL), ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_packets, open_file, close_file),
		cmocka_unit_test_setup_teardown(test_calls, open_file, close_file),
	};

	return fake_eal("--no-telemetry") != 0 ? 1
					       : cmocka_run_group_tests_name("roce_verbs_capture", tests, NULL, NULL);
}
