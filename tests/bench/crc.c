/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * How fast the invariant CRC of a packet's payload is computed, beside the way of CPUs without VPCLMULQDQ and zlib's CRC-32, on the
 * same buffers: GB/s by size.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <zlib.h>

#include "lib/roce/wire/crc32.h"

#define SECONDS 0.2
#define WAYS 3u

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t
ours(const uint8_t *p, size_t len)
{
	return ~troce_crc32(TROCE_CRC32_INIT, p, len);
}

static uint32_t
narrow(const uint8_t *p, size_t len)
{
	return ~troce_crc32_narrow(TROCE_CRC32_INIT, p, len);
}

static uint32_t
theirs(const uint8_t *p, size_t len)
{
	return (uint32_t)crc32(0, p, (uInt)len);
}

/* GB/s; *sum says that it was the same that was computed. */
static double
rate(uint32_t (*fn)(const uint8_t *, size_t), uint8_t *buf, size_t len, uint32_t *sum)
{
	double begun = now(), t;
	uint64_t n = 0;

	*sum = fn(buf, len);
	do {
		for (unsigned int i = 0; i < 64; i++, n++)
			buf[0] = (uint8_t)fn(buf, len);
		t = now() - begun;
	} while (t < SECONDS);
	return (double)n * (double)len / t / 1e9;
}

int
main(void)
{
	static const size_t sizes[] = {64, 256, 1024, 4096};
	static uint32_t (*const ways[WAYS])(const uint8_t *, size_t) = {ours, narrow, theirs};
	uint8_t *buf = aligned_alloc(64, 4096);
	size_t i, k;

	if (buf == NULL)
		return 1;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t sum[WAYS];
		double found[WAYS];

		for (unsigned int w = 0; w < WAYS; w++) {
			for (k = 0; k < sizes[i]; k++)
				buf[k] = (uint8_t)(k * 31);
			found[w] = rate(ways[w], buf, sizes[i], &sum[w]);
			if (sum[w] != sum[0]) {
				fprintf(stderr, "%zu bytes: %08x, way %u says %08x\n", sizes[i], sum[0], w, sum[w]);
				return 1;
			}
		}
		printf("%zu %.3f %.3f %.3f\n", sizes[i], found[0], found[1], found[2]);
	}
	free(buf);
	return 0;
}
