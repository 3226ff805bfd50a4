/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What frames that are alike have in common, by the parser's word. */
#include "alike.h"

#define OCTETS_AT (2 * TPM_ETH_ALEN)
#define V4_L4 (TPM_ETH_HLEN + 20u)
#define V6_L4 (TPM_ETH_HLEN + 40u)
#define V4_ADDRS (TPM_ETH_HLEN + 12u)
#define V6_ADDRS (TPM_ETH_HLEN + 8u)
#define UDP_LEN 4u
#define UDP_CSUM 6u

/* All octets that the parser looks at in a frame without tags, IP options and extension headers, but for UDP's length. */
static const uint8_t mask_other[TPM_ALIKE_OCTETS] = {0xff, 0xff};
/* Type; version and header length; length; fragments; protocol. */
static const uint8_t mask_v4[TPM_ALIKE_OCTETS] = {0xff, 0xff, 0xff, 0, 0xff, 0xff, 0, 0, 0x3f, 0xff, 0, 0xff};
/* Type; version; length; next header. */
static const uint8_t mask_v6[TPM_ALIKE_OCTETS] = {0xff, 0xff, 0xf0, 0, 0, 0, 0xff, 0xff, 0xff};

static void
sum_l4(struct tpm_alike *a, const struct tpm_pkt *k, uint32_t from)
{
	const uint32_t len = k->l4 + k->l4_len - from, whole = (len - 1) & ~7u;

	a->pseudo = (uint64_t)rte_cpu_to_be_16((uint16_t)k->l4_len) + rte_cpu_to_be_16(k->proto);
	a->from = (uint16_t)from;
	a->end128 = from + (whole & ~127u);
	a->end32 = from + (whole & ~31u);
	a->end8 = from + whole;
	a->end = from + len;
	a->shift = (uint8_t)(8 * (8 - (len - whole)));
}

void
tpm_alike_make(struct tpm_alike *a, const struct tp_frame *f)
{
	const uint8_t *d = f->seg[0].data;
	struct tpm_pkt k;
	uint32_t good;
	bool v4, udp;

	tpm_parse(d, RTE_MIN(f->len, TPM_PARSE_MAX), f->len, &k);
	v4 = k.etype == TPM_ETYPE_IPV4;
	udp = (k.status & MLX4_CQE_ST_UDP) != 0;
	memcpy(a->want, d + OCTETS_AT, TPM_ALIKE_OCTETS);
	memcpy(a->mask, mask_other, TPM_ALIKE_OCTETS);
	a->shape = tpm_frame_shape(f);
	a->len = f->len;
	a->at = a->csum_at = OCTETS_AT;
	a->two = tpm_raw16(d + OCTETS_AT);
	a->check = TPM_ALIKE_PARSE;
	if ((k.status & (MLX4_CQE_ST_TCP | MLX4_CQE_ST_UDP)) == 0 || k.l3 != TPM_ETH_HLEN ||
	    k.l4 != (v4 ? V4_L4 : V6_L4) || (udp && tpm_load16(d + k.l4 + UDP_LEN) != k.l4_len))
		return;
	memcpy(a->mask, v4 ? mask_v4 : mask_v6, TPM_ALIKE_OCTETS);
	a->check = (v4 && (f->flags & TPM_FRAME_IP_OK) == 0 ? TPM_ALIKE_SUM_IP : 0) |
		   ((f->flags & TPM_FRAME_L4_OK) == 0 ? TPM_ALIKE_SUM_L4 : 0);
	if (udp) {
		a->at = (uint16_t)(k.l4 + UDP_LEN);
		a->two = tpm_raw16(d + a->at);
		a->csum_at = (uint16_t)(k.l4 + UDP_CSUM);
	}
	good = (uint32_t)(k.status | MLX4_CQE_ST_IP_OK) << 16;
	a->unsummed = rte_cpu_to_be_64((uint64_t)good << 32 | f->len);
	a->summed = rte_cpu_to_be_64((uint64_t)(good | MLX4_CQE_L4_OK) << 32 | f->len);
	sum_l4(a, &k, v4 ? V4_ADDRS : V6_ADDRS);
}
