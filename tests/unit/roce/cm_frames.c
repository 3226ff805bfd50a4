/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * cm_frames SEED: messages of connection management with random numbers in all fields, for other people's dissectors. A line
 * a message: its name, the datagram in hexadecimal, then NAME=VALUE of each field (more than 64 bits: hexadecimal).
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/roce/wire/cm_wire.h"

static uint64_t rng;

static uint64_t
random64(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static void
hex(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", p[i]);
}

static void
fill(const struct cm_layout *l, void *m)
{
	for (unsigned int i = 0; i < l->num_fields; i++) {
		const struct cm_field *f = &l->fields[i];
		uint8_t *p = (uint8_t *)m + f->at;
		uint64_t v = random64();

		if (f->width < 64)
			v &= (UINT64_C(1) << f->width) - 1;
		if (f->width > 64)
			for (unsigned int k = 0; k < f->size; k++)
				p[k] = (uint8_t)random64();
		else if (f->size == 1)
			*p = (uint8_t)v;
		else if (f->size == 2)
			*(uint16_t *)(void *)p = (uint16_t)v;
		else if (f->size == 4)
			*(uint32_t *)(void *)p = (uint32_t)v;
		else
			*(uint64_t *)(void *)p = v;
	}
}

static void
show(const struct cm_layout *l, const void *m)
{
	for (unsigned int i = 0; i < l->num_fields; i++) {
		const struct cm_field *f = &l->fields[i];
		const uint8_t *p = (const uint8_t *)m + f->at;

		printf(" %s=", f->name);
		if (f->width > 64)
			hex(p, f->size);
		else if (f->size == 1)
			printf("%u", *p);
		else if (f->size == 2)
			printf("%u", *(const uint16_t *)(const void *)p);
		else if (f->size == 4)
			printf("%u", *(const uint32_t *)(const void *)p);
		else
			printf("%llu", (unsigned long long)*(const uint64_t *)(const void *)p);
	}
}

/* Every other REQ is one between IP addresses (annex A11). */
static void
with_addresses(struct cm_req *r, unsigned int turn)
{
	struct cm_ip_hdr h = {.version = turn % 4 == 0 ? 4 : 6, .port = (uint16_t)random64()};

	for (unsigned int i = h.version == 4 ? 12 : 0; i < 16; i++) {
		h.src[i] = (uint8_t)random64();
		h.dst[i] = (uint8_t)random64();
	}
	r->service_id = CM_IP_SERVICE(0x0106, random64() & 0xffff);
	cm_ip_put(&h, r->private_data);
	printf(" ip.version=%u ip.sport=%u ip.src=", h.version, h.port);
	hex(h.src, 16);
	printf(" ip.dst=");
	hex(h.dst, 16);
}

int
main(int argc, char **argv)
{
	rng = argc > 1 ? strtoull(argv[1], NULL, 0) | 1 : 1;
	for (unsigned int turn = 0; turn < 20; turn++)
		for (unsigned int m = 0; m < CM_MSGS; m++) {
			const struct cm_layout *l = &cm_layouts[m];
			uint8_t mad[MAD_SIZE];
			uint64_t tid = random64();
			union cm_any any;

			fill(l, &any);
			printf("%s tid=%llu", l->name, (unsigned long long)tid);
			if (m == CM_REQ && turn % 2 == 0)
				with_addresses(&any.req, turn);
			if (cm_put((enum cm_msg)m, &any, tid, mad, NULL) != 0)
				return 1;
			show(l, &any);
			printf(" mad=");
			hex(mad, sizeof(mad));
			printf("\n");
		}
	return 0;
}
