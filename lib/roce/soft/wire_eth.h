/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What stands in front of the BTH on Ethernet, in numbers (annexes A16, A17). */
#ifndef ROCE_SOFT_WIRE_ETH_H
#define ROCE_SOFT_WIRE_ETH_H

#include <string.h>

#include <rte_ether.h>

#include "lib/roce/wire/wire.h"
#include "sw.h"

#define RSW_ETYPE_ROCE 0x8915u
#define RSW_NEXT_IBA 0x1bu /* GRH: a BTH follows */
#define RSW_PROTO_UDP 17u
#define RSW_TAG_LEN 4u
#define RSW_IPV4_LEN 20u
#define RSW_IPV6_LEN 40u
#define RSW_UDP_LEN 8u
#define RSW_IPV4_DF 0x4000u
#define RSW_IPV4_FRAGMENT 0x3fffu /* more fragments, or an offset */
#define RSW_ECN_MASK 3u
#define RSW_ECN_CE 3u
#define RSW_ECN_ECT0 2u

static const uint8_t rsw_ipv4_gid[12] = {[10] = 0xff, [11] = 0xff};

static inline bool
rsw_gid_is_ipv4(const union ibv_gid *gid)
{
	return memcmp(gid->raw, rsw_ipv4_gid, sizeof(rsw_ipv4_gid)) == 0;
}

static inline uint16_t
rsw_sum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

/* From the queue pair's peer, to its own address (9.6.1.2.3)? */
static inline bool
rsw_on_route(const struct rsw_route *r, const struct rsw_rx *rx)
{
	uint8_t at = rx->kind == TROCE_ICRC_IPV4_UDP ? 12 : 8;

	if (rx->kind != r->kind || rx->vlan != r->vlan)
		return false;
	if (rx->kind == TROCE_ICRC_IPV4_UDP)
		return memcmp(rx->net + at, r->dgid.raw + 12, 4) == 0 &&
		       memcmp(rx->net + at + 4, r->sgid.raw + 12, 4) == 0;
	return memcmp(rx->net + at, &r->dgid, sizeof(r->dgid)) == 0 &&
	       memcmp(rx->net + at + sizeof(r->dgid), &r->sgid, sizeof(r->sgid)) == 0;
}

/* The register of the CRC in front of the BTH. */
static inline uint32_t
rsw_icrc_net(struct rsw_dev *d, const struct rsw_rx *rx)
{
	/* What may change on the way counts as ones: type of service, time to live, both checksums. The number is put in behind. */
	static const uint8_t may[RSW_IPV4_LEN + RSW_UDP_LEN] = {
		[1] = 0xff, [4] = 0xff, [5] = 0xff, [8] = 0xff, [10] = 0xff, [11] = 0xff, [26] = 0xff, [27] = 0xff};
	struct rsw_net *known = &d->nets[rx->len / 4 % RSW_NETS], n;
	uint64_t w, m;
	uint32_t id;

	if (rx->kind != TROCE_ICRC_IPV4_UDP)
		return troce_icrc_net(rx->kind, rx->net);
	id = troce_icrc_id(ib_get16(rx->net + 4));
	for (unsigned int i = 0; i < RTE_DIM(n.word); i++) {
		memcpy(&w, rx->net + 8 * i, sizeof(w));
		memcpy(&m, may + 8 * i, sizeof(m));
		n.word[i] = w | m;
	}
	memcpy(&n.rest, rx->net + 24, sizeof(n.rest));
	memcpy(&n.reg, may + 24, sizeof(n.reg));
	n.rest |= n.reg;
	if (__builtin_expect(known->word[0] != n.word[0] || known->word[1] != n.word[1] ||
				     known->word[2] != n.word[2] || known->rest != n.rest,
			     0)) {
		n.reg = troce_icrc_net(rx->kind, rx->net) ^ id;
		*known = n;
	}
	return known->reg ^ id;
}

static inline bool
rsw_icrc_ok(struct rsw_dev *d, const struct rsw_rx *rx)
{
	uint8_t *bth = rx->bth, congestion = bth[4], want[IB_ICRC_LEN];
	uint32_t len = rx->len - IB_ICRC_LEN, reg = rsw_icrc_net(d, rx);

	bth[4] = 0xff;
	troce_icrc_put(troce_crc32(reg, bth, len), want);
	bth[4] = congestion;
	return memcmp(want, bth + len, IB_ICRC_LEN) == 0;
}

#endif /* ROCE_SOFT_WIRE_ETH_H */
