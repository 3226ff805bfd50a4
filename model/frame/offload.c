/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Checksums both ways, FCS, and the headers of segments [DP 3.5, 8.4, 8.5, 8.6]. */
#include "lib/roce/wire/crc32.h"
#include "frame.h"

#define IPV4_CSUM 10u
#define TCP_CSUM 16u
#define UDP_CSUM 6u
#define TCP_FIN 0x01u
#define TCP_PSH 0x08u
#define TCP_CWR 0x80u

uint64_t
tpm_csum_frame(const struct tp_frame *f, uint32_t off, uint32_t len)
{
	uint64_t sum = 0;
	bool odd = false;

	for (unsigned int i = 0; i < f->nseg && len != 0; i++) {
		uint32_t n = f->seg[i].len;
		uint64_t part;

		if (off >= n) {
			off -= n;
			continue;
		}
		n = n - off < len ? n - off : len;
		part = tpm_csum_bytes(0, f->seg[i].data + off, n);
		/* A piece that starts at an odd place has its bytes in the other half of each word. */
		sum = tpm_csum_add(sum, odd ? part << 8 | part >> 56 : part);
		odd ^= (n & 1) != 0;
		len -= n;
		off = 0;
	}
	return sum;
}

uint64_t
tpm_csum_pseudo(const uint8_t *hdr, const struct tpm_pkt *k, uint32_t l4_len)
{
	uint64_t sum = k->etype == TPM_ETYPE_IPV4 ? tpm_csum_bytes(0, hdr + k->l3 + 12, 8)
						  : tpm_csum_bytes(0, hdr + k->l3 + 8, 32);

	return tpm_csum_add(sum, (uint64_t)rte_cpu_to_be_32(l4_len) + rte_cpu_to_be_32((uint32_t)k->proto));
}

bool
tpm_csum_ip_good(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *k)
{
	return k->len_ok && (k->etype == TPM_ETYPE_IPV6 || (f->flags & TPM_FRAME_IP_OK) != 0 ||
			     tpm_csum_fold(tpm_csum_bytes(0, hdr + k->l3, (hdr[k->l3] & 15u) * 4u)) == 0xffff);
}

bool
tpm_csum_l4_good(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *k)
{
	uint32_t len = k->l4_len;

	if ((k->status & MLX4_CQE_ST_UDP) != 0) {
		uint32_t ulen = tpm_load16(hdr + k->l4 + 4);

		if (tpm_load16(hdr + k->l4 + UDP_CSUM) == 0 || ulen < 8 || ulen > len)
			return false;
		len = ulen;
	} else if ((k->status & MLX4_CQE_ST_TCP) == 0) {
		return false;
	}
	return tpm_csum_fold(tpm_csum_add(tpm_csum_pseudo(hdr, k, len), tpm_csum_frame(f, k->l4, len))) == 0xffff;
}

uint16_t
tpm_csum_partial(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *k)
{
	uint64_t sum;

	if (!k->len_ok || k->l4 == 0)
		return 0;
	if (k->etype == TPM_ETYPE_IPV4)
		return tpm_csum_fold(
			tpm_csum_add(tpm_csum_pseudo(hdr, k, k->l4_len), tpm_csum_frame(f, k->l4, k->l4_len)));
	/* From the payload length on, without the word of next header and hop limit. */
	sum = tpm_csum_frame(f, k->l3 + 8u, f->len - k->l3 - 8u);
	return tpm_csum_fold(tpm_csum_bytes(sum, hdr + k->l3 + 4, 2));
}

static void
store_csum(uint8_t *at, uint64_t sum)
{
	tpm_store16(at, (uint16_t)~tpm_csum_fold(sum));
}

static void
insert_ipv4(uint8_t *ip)
{
	tpm_store16(ip + IPV4_CSUM, 0);
	store_csum(ip + IPV4_CSUM, tpm_csum_bytes(0, ip, (ip[0] & 15u) * 4u));
}

static void
insert_l4(const struct tp_frame *f, uint8_t *hdr, const struct tpm_pkt *k)
{
	bool udp = (k->status & MLX4_CQE_ST_UDP) != 0;
	uint8_t *at = hdr + k->l4 + (udp ? UDP_CSUM : TCP_CSUM);

	tpm_store16(at, 0);
	store_csum(at, tpm_csum_add(tpm_csum_pseudo(hdr, k, k->l4_len), tpm_csum_frame(f, k->l4, k->l4_len)));
	/* A computed 0 would mean "no checksum" in UDP. */
	if (udp && at[0] == 0 && at[1] == 0)
		tpm_store16(at, 0xffff);
}

bool
tpm_csum_insert_at(const struct tp_frame *f, uint8_t *hdr, const struct tpm_pkt *k, bool ip, bool l4)
{
	if (!k->len_ok)
		return false;
	if (ip && k->etype == TPM_ETYPE_IPV4)
		insert_ipv4(hdr + k->l3);
	if (!l4)
		return true;
	if ((k->status & (MLX4_CQE_ST_TCP | MLX4_CQE_ST_UDP)) == 0)
		return false;
	insert_l4(f, hdr, k);
	return true;
}

bool
tpm_csum_insert(const struct tp_frame *f, uint8_t *hdr, uint32_t hlen, uint32_t ctrl_flags)
{
	struct tpm_pkt k;

	tpm_parse(hdr, hlen, f->len, &k);
	return tpm_csum_insert_at(f, hdr, &k, (ctrl_flags & MLX4_CTRL_IP_CSUM) != 0,
				  (ctrl_flags & MLX4_CTRL_L4_CSUM) != 0);
}

uint32_t
tpm_crc32(uint32_t crc, const uint8_t *p, uint32_t len)
{
	return ~troce_crc32(~crc, p, len);
}

uint32_t
tpm_frame_fcs(const struct tp_frame *f)
{
	uint32_t crc = 0;

	for (unsigned int i = 0; i < f->nseg; i++)
		crc = tpm_crc32(crc, f->seg[i].data, f->seg[i].len);
	return crc;
}

void
tpm_lso_lengths(uint8_t *hdr, const struct tpm_pkt *k, uint32_t frame_len, uint32_t index)
{
	uint8_t *ip = hdr + k->l3;
	uint32_t l3_len = frame_len - k->l3;

	if (k->etype == TPM_ETYPE_IPV4) {
		tpm_store16(ip + 2, (uint16_t)l3_len);
		tpm_store16(ip + 4, (uint16_t)(tpm_load16(ip + 4) + index));
	} else {
		tpm_store16(ip + 4, (uint16_t)(l3_len - 40));
	}
	if ((k->status & MLX4_CQE_ST_UDP) != 0)
		tpm_store16(hdr + k->l4 + 4, (uint16_t)(frame_len - k->l4));
}

void
tpm_lso_header(uint8_t *hdr, const struct tpm_pkt *k, uint32_t hlen, uint32_t off, uint32_t len, uint32_t index,
	       bool last)
{
	uint8_t *tcp = hdr + k->l4;

	tpm_lso_lengths(hdr, k, hlen + len, index);
	prm_set32(tcp, 4, prm_get32(tcp, 4) + off);
	if (!last)
		tcp[13] &= (uint8_t) ~(TCP_FIN | TCP_PSH);
	if (index != 0)
		tcp[13] &= (uint8_t)~TCP_CWR;
}
