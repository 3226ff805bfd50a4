/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames: what is in them, their checksums, segments and tunnels, frames that wait. */
#ifndef MODEL_FRAME_FRAME_H
#define MODEL_FRAME_FRAME_H

#include <assert.h>

#include "model/card/model_priv.h"

#define TPM_ETH_HLEN 14u
#define TPM_ETH_ALEN 6u
#define TPM_VLAN_HLEN 4u
#define TPM_FCS_LEN 4u
#define TPM_ETH_ZLEN 60u /* shortest frame on a wire, without FCS */
#define TPM_ETYPE_IPV4 0x0800u
#define TPM_ETYPE_IPV6 0x86ddu
#define TPM_ETYPE_CVLAN 0x8100u
#define TPM_ETYPE_SVLAN 0x88a8u
#define TPM_PROTO_TCP 6u
#define TPM_PROTO_UDP 17u

#define TPM_BURST 64u /* frames that the card handles at once */
#define TPM_ETYPE_ROCE 0x8915u

/* Flags of a frame inside the card, above those of tp_model.h */
#define TPM_FRAME_IP_OK 0x100u /* the sender's hardware computed the IPv4 header checksum of this very frame ... */
#define TPM_FRAME_L4_OK 0x200u /* ... and its TCP/UDP checksum */
#define TPM_FRAME_LOOP 0x400u  /* looped inside the card, never on a wire */
#define TPM_FRAME_SHORT 0x800u /* came without the octets up to 64 that a wire else is taken to have padded */
#define TPM_FRAME_CODE 0x1000u /* came with a code error of the line */
/* The port that sent it made the ICRC of this very packet, on InfiniBand the VCRC, too; or nobody is to look at them. */
#define TPM_FRAME_CRC_OK 0x2000u
#define TPM_FRAME_BAD (TP_FRAME_BAD_FCS | TPM_FRAME_SHORT | TPM_FRAME_CODE)

/* splitmix64: short, seedable, good enough for coin tosses. */
static inline uint64_t
tpm_random(uint64_t *s)
{
	uint64_t z = *s += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* True in ppm of a million tosses. */
#define TPM_PPM 1000000u
static inline bool
tpm_toss(uint64_t *s, uint64_t ppm)
{
	return (tpm_random(s) >> 32) * TPM_PPM >> 32 < ppm;
}

/* As they lie in memory: to compare with what else lies so. */
static inline uint16_t
tpm_raw16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
tpm_raw32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t
tpm_raw64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Pieces, flags and length of a frame, as one number. */
static_assert(offsetof(struct tp_frame, len) + 4 == offsetof(struct tp_frame, nseg) + sizeof(uint64_t),
	      "they lie together");
static inline uint64_t
tpm_frame_shape(const struct tp_frame *f)
{
	return tpm_raw64((const uint8_t *)&f->nseg);
}

/* --- parsing ---------------------------------------------------------------------------------------------- */

#define TPM_PARSE_MAX 256u /* headers beyond this are not looked at */

struct tpm_pkt {
	uint16_t etype;    /* behind the tags */
	uint16_t tci;      /* of the outer C-tag */
	uint16_t status;   /* MLX4_CQE_ST_* without IP_OK */
	uint16_t l3, l4;   /* offsets, 0: none */
	uint32_t l4_len;   /* bytes that the IP header promises behind l4 */
	uint8_t proto;     /* what follows the IP headers, 0: none */
	uint8_t tags;      /* VLAN tags of any kind */
	uint8_t enc;       /* MLX4_CQE_LLC, MLX4_CQE_SNAP */
	uint8_t ext;       /* MLX4_CQE_EXT_* */
	bool cvlan;        /* the outer tag is a C-tag */
	bool frag, len_ok; /* len_ok: version and lengths of the IP header fit the frame */
};

/* hdr: the first hlen bytes (all of it, or TPM_PARSE_MAX) of a frame of len bytes. */
void tpm_parse(const uint8_t *hdr, uint32_t hlen, uint32_t len, struct tpm_pkt *k);
/* The part of it from the IP header on: etype and l3 are known. */
void tpm_parse_ip(const uint8_t *hdr, uint32_t hlen, uint32_t len, struct tpm_pkt *k);
/* The first bytes of a frame, contiguous: its own first piece, or gathered into buf. */
const uint8_t *tpm_frame_head(const struct tp_frame *f, uint8_t buf[TPM_PARSE_MAX], uint32_t *hlen);
/* Copies len bytes from off. */
void tpm_frame_copy(const struct tp_frame *f, uint32_t off, uint8_t *dst, uint32_t len);

static inline uint16_t
tpm_load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void
tpm_store16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* --- checksums and segmentation (offload.c) ---------------------------------------------------------------- */

/* One's-complement sums are kept as host-order words over memory order: only tpm_csum_fold knows the difference. */
static inline uint64_t
tpm_csum_add(uint64_t sum, uint64_t v)
{
	sum += v;
	return sum + (sum < v);
}

struct tpm_32 {
	uint8_t b[32];
};
struct tpm_128 {
	uint8_t b[128];
};

/* Adds 32 bytes. */
static inline __attribute__((always_inline)) uint64_t
tpm_csum_32(uint64_t sum, const uint8_t *p)
{
#ifdef __x86_64__
	/* One chain of carries: compilers make two instructions more of each addition. */
	__asm__("addq 0(%1), %0\n\tadcq 8(%1), %0\n\tadcq 16(%1), %0\n\tadcq 24(%1), %0\n\tadcq $0, %0"
		: "+r"(sum)
		: "r"(p), "m"(*(const struct tpm_32 *)(const void *)p)
		: "cc");
#else
	uint64_t v[4];

	memcpy(v, p, sizeof(v));
	for (unsigned int i = 0; i < 4; i++)
		sum = tpm_csum_add(sum, v[i]);
#endif
	return sum;
}

static inline __attribute__((always_inline)) uint64_t
tpm_csum_bytes(uint64_t sum, const uint8_t *p, uint32_t len)
{
	uint64_t v64;

	for (; len >= 32; p += 32, len -= 32)
		sum = tpm_csum_32(sum, p);
	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&v64, p, 8);
		sum = tpm_csum_add(sum, v64);
	}
	if ((len & 4) != 0) {
		uint32_t v32;

		memcpy(&v32, p, 4);
		sum = tpm_csum_add(sum, v32);
		p += 4;
	}
	if ((len & 2) != 0) {
		uint16_t v16;

		memcpy(&v16, p, 2);
		sum = tpm_csum_add(sum, v16);
		p += 2;
	}
	if ((len & 1) != 0)
		sum = tpm_csum_add(sum, rte_le_to_cpu_16(*p));
	return sum;
}

/* Adds 128 bytes. */
static inline __attribute__((always_inline)) uint64_t
tpm_csum_128(uint64_t sum, const uint8_t *p)
{
#ifdef __x86_64__
	__asm__("addq 0(%1), %0\n\tadcq 8(%1), %0\n\tadcq 16(%1), %0\n\tadcq 24(%1), %0\n\t"
		"adcq 32(%1), %0\n\tadcq 40(%1), %0\n\tadcq 48(%1), %0\n\tadcq 56(%1), %0\n\t"
		"adcq 64(%1), %0\n\tadcq 72(%1), %0\n\tadcq 80(%1), %0\n\tadcq 88(%1), %0\n\t"
		"adcq 96(%1), %0\n\tadcq 104(%1), %0\n\tadcq 112(%1), %0\n\tadcq 120(%1), %0\n\tadcq $0, %0"
		: "+r"(sum)
		: "r"(p), "m"(*(const struct tpm_128 *)(const void *)p)
		: "cc");
#else
	for (unsigned int i = 0; i < 128; i += 32)
		sum = tpm_csum_32(sum, p + i);
#endif
	return sum;
}

/* Is it the sum, never 0, of bytes with a checksum among them that is right? As tpm_csum_fold(sum) == 0xffff. */
static inline bool
tpm_csum_right(uint64_t sum)
{
	/* Compilers make a multiplication of it. */
	return sum % 0xffff == 0;
}

/* The sum as the 16-bit number that its two bytes in memory order are. */
static inline uint16_t
tpm_csum_fold(uint64_t sum)
{
	uint32_t s32 = (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);

	/* Adding the halves crosswise leaves the end-around carry in the upper half. */
	return rte_be_to_cpu_16((uint16_t)((s32 + (s32 << 16 | s32 >> 16)) >> 16));
}

/* Sum of len bytes of a frame from off, whatever its pieces. */
uint64_t tpm_csum_frame(const struct tp_frame *f, uint32_t off, uint32_t len);
uint64_t tpm_csum_pseudo(const uint8_t *hdr, const struct tpm_pkt *k, uint32_t l4_len);
/* True when the frame's TCP/UDP checksum was computed and is right. A UDP checksum of 0 was not computed. */
bool tpm_csum_l4_good(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *k);
/* Value of the CQE's checksum field for other frames [DP 8.4] */
uint16_t tpm_csum_partial(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *k);
/* True when the IP header of k is right; of IPv4 with its checksum, which the sender's hardware may vouch for. */
bool tpm_csum_ip_good(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *k);
/* Writes the checksums of one IP header and what follows it. False: k has no such header. */
bool tpm_csum_insert_at(const struct tp_frame *f, uint8_t *hdr, const struct tpm_pkt *k, bool ip, bool l4);
/* Writes the checksums that ctrl_flags (MLX4_CTRL_*_CSUM) ask for into hdr, which is the frame's first piece. */
bool tpm_csum_insert(const struct tp_frame *f, uint8_t *hdr, uint32_t hlen, uint32_t ctrl_flags);
uint32_t tpm_crc32(uint32_t crc, const uint8_t *p, uint32_t len);
uint32_t tpm_frame_fcs(const struct tp_frame *f);
#define TPM_ICRC_LEN 4u
/* The invariant CRC, as it lies on the wire, of a RoCE frame whose last bytes are the room for it; false: no RoCE. */
bool tpm_icrc(const struct tp_frame *f, uint8_t icrc[TPM_ICRC_LEN]);
/* Turns a copy of the LSO header template into the header of one segment. */
void tpm_lso_header(uint8_t *hdr, const struct tpm_pkt *k, uint32_t hlen, uint32_t off, uint32_t len, uint32_t index,
		    bool last);
/* Writes length and identification of an IP header, and the length of UDP behind it, for the index-th segment. */
void tpm_lso_lengths(uint8_t *hdr, const struct tpm_pkt *k, uint32_t frame_len, uint32_t index);

/* --- tunnels (tunnel.c) ------------------------------------------------------------------------------------ */

enum tpm_tunnel { TPM_TUNNEL_NONE, TPM_TUNNEL_VXLAN, TPM_TUNNEL_NVGRE, TPM_TUNNEL_IPIP };

/*
 * The frame inside a tunnel; offsets of inner count from the first byte of the outer one. NONE, with inner not written: it
 * has none, or the port does not look.
 */
enum tpm_tunnel tpm_tunnel_parse(const struct tp_model *m, const struct tpm_port *p, const uint8_t *hdr, uint32_t hlen,
				 const struct tpm_pkt *outer, struct tpm_pkt *inner);
/* A frame in one piece that may be a tunnel's; false is certain. */
bool tpm_tunnel_maybe(const struct tp_model *m, const struct tp_frame *f);
/* tpm_csum_insert for WQEs with MLX4_CTRL_IIP or MLX4_CTRL_ILP in control dword 0. */
bool tpm_tunnel_insert(const struct tp_model *m, const struct tpm_port *p, const struct tp_frame *f, uint8_t *hdr,
		       uint32_t hlen, uint32_t dw0, uint32_t ctrl_flags);
/* What a CQE's first dword says of the outer headers. */
uint32_t tpm_tunnel_status(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *outer);

/* --- frames that wait (held.c) ------------------------------------------------------------------------------- */

/* A copy of a frame, in one piece. */
struct tpm_held {
	struct tpm_held *next;
	uint64_t due_ns;
	uint32_t len;
	uint16_t flags;
	/* of receive buffers: whose space it takes, and the queue that it is for */
	uint8_t pool;
	uint32_t qpn, hash;
	uint8_t data[];
};
struct tpm_held_list {
	struct tpm_held *head, *tail;
	uint32_t count;
};
/* NULL when there is no memory. */
struct tpm_held *tpm_hold(const struct tp_frame *f);
void tpm_held_add(struct tpm_held_list *l, struct tpm_held *h);
/* Takes the first one out. */
struct tpm_held *tpm_held_take(struct tpm_held_list *l);
void tpm_held_clear(struct tpm_held_list *l);

/* Histogram block of a frame, flen with FCS [DP 13.1] */
static inline unsigned int
tpm_size_block(const struct tpm_port *p, uint32_t flen)
{
	if (tpm_likely(flen <= 64))
		return 0;
	if (flen < 1024)
		return (unsigned int)(31 - __builtin_clz(flen)) - 5;
	if (flen <= 1518)
		return 5;
	if (flen <= 1522)
		return 6;
	if (flen <= 1548)
		return 7;
	return flen <= p->max_frame ? 8 : 9;
}

#endif /* MODEL_FRAME_FRAME_H */
