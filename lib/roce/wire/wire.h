/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Headers of the InfiniBand transport as they lie on a wire (IBTA 1.4, chapter 9). Fields are read and written by name;
 * nothing here keeps state.
 */
#ifndef ROCE_WIRE_WIRE_H
#define ROCE_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#define IB_BTH_LEN 12u
#define IB_DETH_LEN 8u
#define IB_RETH_LEN 16u
#define IB_ATOMIC_ETH_LEN 28u
#define IB_AETH_LEN 4u
#define IB_ATOMIC_ACK_LEN 8u
#define IB_IMM_LEN 4u
#define IB_IETH_LEN 4u
#define IB_GRH_LEN 40u
#define IB_ICRC_LEN 4u
/* The longest chain of headers behind the BTH: AtomicETH, or RETH with ImmDt. */
#define IB_HDR_MAX (IB_BTH_LEN + IB_ATOMIC_ETH_LEN)

#define IB_MSN_MASK 0xffffffu
#define IB_PSN_MASK 0xffffffu
#define IB_QPN_MASK 0xffffffu
#define IB_PKEY_MASK 0x7fffu
#define IB_PKEY_FULL 0x8000u
#define IB_QKEY_PRIVILEGED 0x80000000u
#define IB_MCAST_QPN 0xffffffu

static inline uint32_t
ib_get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline void
ib_put24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

static inline uint16_t
ib_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void
ib_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline uint32_t
ib_get32(const uint8_t *p)
{
	rte_be32_t v;

	memcpy(&v, p, sizeof(v));
	return rte_be_to_cpu_32(v);
}

static inline void
ib_put32(uint8_t *p, uint32_t v)
{
	rte_be32_t be = rte_cpu_to_be_32(v);

	memcpy(p, &be, sizeof(be));
}

static inline uint64_t
ib_get64(const uint8_t *p)
{
	rte_be64_t v;

	memcpy(&v, p, sizeof(v));
	return rte_be_to_cpu_64(v);
}

static inline void
ib_put64(uint8_t *p, uint64_t v)
{
	rte_be64_t be = rte_cpu_to_be_64(v);

	memcpy(p, &be, sizeof(be));
}

/* Distance of two 24-bit sequence numbers, -2^23 .. 2^23 - 1 (9.7.2) */
static inline int32_t
ib_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t
ib_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & IB_PSN_MASK;
}

/* --- base transport header (9.2) --- */
#define IB_BTH_SE 0x80u
#define IB_BTH_MIGREQ 0x40u
#define IB_BTH_FECN 0x80u
#define IB_BTH_BECN 0x40u
#define IB_BTH_ACKREQ 0x80u

static inline uint8_t
ib_bth_opcode(const uint8_t *b)
{
	return b[0];
}

static inline bool
ib_bth_solicited(const uint8_t *b)
{
	return (b[1] & IB_BTH_SE) != 0;
}

static inline uint32_t
ib_bth_pad(const uint8_t *b)
{
	return b[1] >> 4 & 3u;
}

static inline uint32_t
ib_bth_tver(const uint8_t *b)
{
	return b[1] & 0xfu;
}

static inline uint16_t
ib_bth_pkey(const uint8_t *b)
{
	return ib_get16(b + 2);
}

static inline uint32_t
ib_bth_qpn(const uint8_t *b)
{
	return ib_get32(b + 4) & IB_QPN_MASK;
}

static inline bool
ib_bth_ackreq(const uint8_t *b)
{
	return (b[8] & IB_BTH_ACKREQ) != 0;
}

static inline uint32_t
ib_bth_psn(const uint8_t *b)
{
	return ib_get32(b + 8) & IB_PSN_MASK;
}

static inline void
ib_bth_put(uint8_t *b, uint8_t opcode, bool solicited, uint32_t pad, uint16_t pkey, uint32_t qpn, bool ackreq,
	   uint32_t psn)
{
	ib_put32(b, (uint32_t)opcode << 24 | ((solicited ? IB_BTH_SE : 0) | IB_BTH_MIGREQ | pad << 4) << 16 | pkey);
	ib_put32(b + 4, qpn & IB_QPN_MASK);
	ib_put32(b + 8, (ackreq ? IB_BTH_ACKREQ << 24 : 0) | (psn & IB_PSN_MASK));
}

/* Both keys name one partition and at least one of the two is a full member (10.9.3). */
static inline bool
ib_pkey_match(uint16_t a, uint16_t b)
{
	return ((a ^ b) & IB_PKEY_MASK) == 0 && (a & IB_PKEY_MASK) != 0 && ((a | b) & IB_PKEY_FULL) != 0;
}

/* --- AETH syndromes (9.7.5.2) --- */
#define IB_AETH_TYPE 0xe0u
#define IB_AETH_ACK 0x00u
#define IB_AETH_RNR 0x20u
#define IB_AETH_NAK 0x60u
#define IB_AETH_VALUE 0x1fu
#define IB_CREDITS_NONE 0x1fu /* the responder does not count credits */
enum ib_nak {
	IB_NAK_PSN = 0x60,
	IB_NAK_INVALID = 0x61,
	IB_NAK_ACCESS = 0x62,
	IB_NAK_OPERATION = 0x63,
	IB_NAK_INVALID_RD = 0x64,
};

#endif /* ROCE_WIRE_WIRE_H */
