/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Generated traffic: Ethernet, IPv4, UDP with valid checksums.
 *
 * Payloads hardly change: the buffers of a generator's pool are filled once, octet i of each segment with i mod 256,
 * and nobody else allocates from that pool; only where headers were may need the pattern again. What differs between packets are the 42 octets of headers, and of those
 * only addresses, ports and checksums (struct gen_flow), worked out before the first packet.
 */
#ifndef TRIPLANE_TRAFFIC_GEN_H
#define TRIPLANE_TRAFFIC_GEN_H

#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#define GEN_MAX_SEGS 8
#define GEN_MAX_FLOWS (1u << 20)
#define GEN_MAX_FRAME 65534 /* the longest packet of IPoIB, 65520, behind an Ethernet header */

struct gen_conf {
	uint16_t seg[GEN_MAX_SEGS]; /* octets of each segment, without FCS */
	unsigned int num_segs;
	uint32_t flows; /* 1..GEN_MAX_FLOWS */
	uint64_t seed;
	uint32_t src_ip, dst_ip; /* host order; the low 16 bits of src_ip vary with the flow */
	uint16_t dst_port;
};

struct gen_hdr {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
} __attribute__((packed, aligned(2)));

#define GEN_MIN_FRAME ((unsigned int)sizeof(struct gen_hdr))

struct gen_flow {
	rte_be32_t src_ip;
	rte_be16_t src_port;
	uint16_t ip_cksum, udp_cksum;
};

void gen_conf_default(struct gen_conf *conf);
unsigned int gen_frame_len(const struct gen_conf *conf);
/* The headers that all flows share, with checksums of zero. */
void gen_template(const struct gen_conf *conf, const struct rte_ether_addr *src, const struct rte_ether_addr *dst,
		  struct gen_hdr *hdr);
/* What is special about flow i. */
void gen_flow(const struct gen_conf *conf, const struct gen_hdr *tmpl, uint32_t i, struct gen_flow *flow);

/* Writes the headers of a packet. */
static inline void
gen_write(struct gen_hdr *dst, const struct gen_hdr *tmpl, const struct gen_flow *flow)
{
	*dst = *tmpl;
	dst->ip.src_addr = flow->src_ip;
	dst->ip.hdr_checksum = flow->ip_cksum;
	dst->udp.src_port = flow->src_port;
	dst->udp.dgram_cksum = flow->udp_cksum;
}

/* mempool object initialiser: an mbuf whose data is the pattern. */
void gen_mbuf_init(struct rte_mempool *mp, void *arg, void *obj, unsigned int idx);
static inline uint8_t
gen_pattern(unsigned int offset)
{
	return (uint8_t)offset;
}

#endif /* TRIPLANE_TRAFFIC_GEN_H */
