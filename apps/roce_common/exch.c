/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exch.h"

/* The next hexadecimal number, 1 to max_digits of them, and the character behind it. */
static int
number(const char **at, const char *end, unsigned int max_digits, char sep, uint64_t *v)
{
	unsigned int n;

	*v = 0;
	for (n = 0; *at < end && n <= max_digits; n++, (*at)++) {
		const char c = **at;

		if (c >= '0' && c <= '9')
			*v = *v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*v = *v << 4 | (uint64_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			*v = *v << 4 | (uint64_t)(c - 'A' + 10);
		else
			break;
	}
	if (n == 0 || n > max_digits || *at >= end || **at != sep)
		return -EPROTO;
	(*at)++;
	return 0;
}

static int
number32(const char **at, const char *end, unsigned int max_digits, char sep, uint32_t *v)
{
	uint64_t w;
	int rc = number(at, end, max_digits, sep, &w);

	*v = (uint32_t)w;
	return rc;
}

void
exch_pp_put(char out[EXCH_PP_LEN], const struct rdest *d)
{
	int n = snprintf(out, EXCH_PP_LEN, "%04x:%06x:%06x:", d->lid & 0xffff, d->qpn & 0xffffff, d->psn & 0xffffff);
	unsigned int i;

	for (i = 0; i < sizeof(d->gid.raw); i++)
		n += snprintf(out + n, EXCH_PP_LEN - (size_t)n, "%02x", d->gid.raw[i]);
}

int
exch_pp_get(const char in[EXCH_PP_LEN], struct rdest *d)
{
	const char *at = in, *end = in + EXCH_PP_LEN;
	char pair[3] = "";
	unsigned int i;
	uint64_t v;

	memset(d, 0, sizeof(*d));
	if (number32(&at, end, 4, ':', &d->lid) != 0 || number32(&at, end, 6, ':', &d->qpn) != 0 ||
	    number32(&at, end, 6, ':', &d->psn) != 0)
		return -EPROTO;
	for (i = 0; i < sizeof(d->gid.raw); i++) {
		const char *p = pair;

		if (end - at < 3)
			return -EPROTO;
		memcpy(pair, at, 2);
		if (number(&p, pair + sizeof(pair), 2, '\0', &v) != 0 || p != pair + 3)
			return -EPROTO;
		d->gid.raw[i] = (uint8_t)v;
		at += 2;
	}
	return *at == '\0' ? 0 : -EPROTO;
}

void
exch_pt_put(char out[EXCH_PT_LEN], const struct rdest *d)
{
	int n = snprintf(out, EXCH_PT_LEN, "%04x:%04x:%06x:%06x:%08x:%016" PRIx64 ":", d->lid & 0xffff,
			 d->out_reads & 0xffff, d->qpn & 0xffffff, d->psn & 0xffffff, d->rkey, d->vaddr);
	unsigned int i;

	for (i = 0; i < sizeof(d->gid.raw); i++)
		n += snprintf(out + n, EXCH_PT_LEN - (size_t)n, "%02x:", d->gid.raw[i]);
	snprintf(out + n, EXCH_PT_LEN - (size_t)n, "%08x:", d->srqn);
}

int
exch_pt_get(const char in[EXCH_PT_LEN], struct rdest *d)
{
	const char *at = in, *end = in + EXCH_PT_LEN;
	unsigned int i;
	uint32_t v;

	memset(d, 0, sizeof(*d));
	if (number32(&at, end, 4, ':', &d->lid) != 0 || number32(&at, end, 4, ':', &d->out_reads) != 0 ||
	    number32(&at, end, 6, ':', &d->qpn) != 0 || number32(&at, end, 6, ':', &d->psn) != 0 ||
	    number32(&at, end, 8, ':', &d->rkey) != 0 || number(&at, end, 16, ':', &d->vaddr) != 0)
		return -EPROTO;
	for (i = 0; i < sizeof(d->gid.raw); i++) {
		if (number32(&at, end, 2, ':', &v) != 0)
			return -EPROTO;
		d->gid.raw[i] = (uint8_t)v;
	}
	return number32(&at, end, 8, ':', &d->srqn);
}

static void
put64(uint8_t *at, uint64_t v)
{
	v = htobe64(v);
	memcpy(at, &v, sizeof(v));
}

static uint64_t
get64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return be64toh(v);
}

static void
put32(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}

static uint32_t
get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return be32toh(v);
}

void
exch_cm_put(uint8_t out[EXCH_CM_LEN], const struct rdest *d)
{
	memset(out, 0, EXCH_CM_LEN);
	put32(out, d->lid);
	put32(out + 4, d->out_reads);
	put32(out + 8, d->qpn);
	put32(out + 12, d->psn);
	put32(out + 16, d->rkey);
	put64(out + 24, d->vaddr);
	memcpy(out + 32, d->gid.raw, sizeof(d->gid.raw));
	put32(out + 48, d->srqn);
}

void
exch_cm_get(const uint8_t in[EXCH_CM_LEN], struct rdest *d)
{
	*d = (struct rdest){.lid = get32(in),
			    .out_reads = get32(in + 4),
			    .qpn = get32(in + 8),
			    .psn = get32(in + 12),
			    .rkey = get32(in + 16),
			    .vaddr = get64(in + 24),
			    .srqn = get32(in + 48)};
	memcpy(d->gid.raw, in + 32, sizeof(d->gid.raw));
}

/* IEEE 754 in network order: what the byte swap of a double's bits gives. */
static void
put_double(uint8_t *at, double d)
{
	uint64_t v;

	memcpy(&v, &d, sizeof(v));
	put64(at, v);
}

static double
get_double(const uint8_t *at)
{
	uint64_t v = get64(at);
	double d;

	memcpy(&d, &v, sizeof(d));
	return d;
}

void
exch_pt_report_put(uint8_t out[EXCH_PT_REPORT_LEN], const struct rreport *r)
{
	put64(out, r->size);
	put64(out + 8, r->iters);
	put_double(out + 16, r->peak);
	put_double(out + 24, r->avg);
	put_double(out + 32, r->rate);
}

void
exch_pt_report_get(const uint8_t in[EXCH_PT_REPORT_LEN], struct rreport *r)
{
	r->size = get64(in);
	r->iters = get64(in + 8);
	r->peak = get_double(in + 16);
	r->avg = get_double(in + 24);
	r->rate = get_double(in + 32);
}
