/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The specifications of a steering rule [DP 9.3], as software writes them. */
#include "steer_rule.h"

/* What follows VXLAN describes the frame inside; software names its destination at most. */
static void
spec_inner_eth(struct tpm_match *mt, const uint8_t *s)
{
	memcpy(mt->in_dmac, s + MLX4_SPEC_ETH_DMAC, 6);
	memcpy(mt->in_dmac_m, s + MLX4_SPEC_ETH_DMAC_MASK, 6);
}

static void
spec_vxlan(struct tpm_match *mt, const uint8_t *s)
{
	mt->has_vxlan = true;
	mt->vni = prm_get(s, MLX4_SPEC_VXLAN_VNI);
	mt->vni_m = prm_get(s, MLX4_SPEC_VXLAN_VNI_MASK);
}

static uint8_t
spec_eth(struct tpm_match *mt, const uint8_t *s)
{
	memcpy(mt->dmac, s + MLX4_SPEC_ETH_DMAC, 6);
	memcpy(mt->dmac_m, s + MLX4_SPEC_ETH_DMAC_MASK, 6);
	memcpy(mt->smac, s + MLX4_SPEC_ETH_SMAC, 6);
	memcpy(mt->smac_m, s + MLX4_SPEC_ETH_SMAC_MASK, 6);
	mt->has_etype = prm_get(s, MLX4_SPEC_ETH_TYPE_EN) != 0;
	mt->etype = (uint16_t)prm_get(s, MLX4_SPEC_ETH_TYPE);
	mt->vlan_m = (uint16_t)prm_get(s, MLX4_SPEC_ETH_VLAN_MASK);
	mt->vlan = (uint16_t)prm_get(s, MLX4_SPEC_ETH_VLAN);
	return MLX4_SPEC_ETH_SIZE;
}

static uint8_t
spec_ipv4(struct tpm_match *mt, const uint8_t *s)
{
	mt->has_ipv4 = true;
	mt->dip = prm_get(s, MLX4_SPEC_IPV4_DST);
	mt->dip_m = prm_get(s, MLX4_SPEC_IPV4_DST_MASK);
	mt->sip = prm_get(s, MLX4_SPEC_IPV4_SRC);
	mt->sip_m = prm_get(s, MLX4_SPEC_IPV4_SRC_MASK);
	return MLX4_SPEC_IPV4_SIZE;
}

static void
spec_ib(struct tpm_rule *r, const uint8_t *s)
{
	r->is_ib = true;
	for (unsigned int i = 0; i < MLX4_MCG_KEY_SIZE; i++) {
		r->gid_m[i] = s[MLX4_SPEC_IB_DGID_MASK + i];
		r->gid[i] = s[MLX4_SPEC_IB_DGID + i] & r->gid_m[i];
	}
}

static uint8_t
spec_l4(struct tpm_match *mt, const uint8_t *s, uint8_t proto)
{
	mt->has_l4 = true;
	mt->proto = proto;
	mt->dport = (uint16_t)prm_get(s, MLX4_SPEC_L4_DPORT);
	mt->dport_m = (uint16_t)prm_get(s, MLX4_SPEC_L4_DPORT_MASK);
	mt->sport = (uint16_t)prm_get(s, MLX4_SPEC_L4_SPORT);
	mt->sport_m = (uint16_t)prm_get(s, MLX4_SPEC_L4_SPORT_MASK);
	return MLX4_SPEC_L4_SIZE;
}

/* Bytes that a specification should have, 0 when it is not one that rules know. */
static uint32_t
spec_size(uint32_t id)
{
	switch (id) {
	case MLX4_SPEC_ETH: return MLX4_SPEC_ETH_SIZE;
	case MLX4_SPEC_IPV4: return MLX4_SPEC_IPV4_SIZE;
	case MLX4_SPEC_TCP:
	case MLX4_SPEC_UDP: return MLX4_SPEC_L4_SIZE;
	case MLX4_SPEC_VXLAN: return MLX4_SPEC_VXLAN_SIZE;
	case MLX4_SPEC_IB: return MLX4_SPEC_IB_SIZE;
	default: return 0;
	}
}

static bool
compares_nothing(const uint8_t *s, uint32_t size)
{
	uint8_t any = 0;

	while (size-- > MLX4_SPEC_HEAD)
		any |= s[size];
	return any == 0;
}

bool
tpm_steer_specs(struct tp_model *m, const uint8_t *mbox, uint32_t len, struct tpm_rule *r)
{
	uint32_t off = MLX4_DMFS_CTRL_SIZE, size, id;

	while (off < len) {
		if (len - off < 4) {
			tpm_violate(m, TPM_V_STEER_SPEC, "port", r->port, "rule ends in the middle of a specification");
			return false;
		}
		id = prm_get(mbox + off, MLX4_SPEC_ID);
		size = prm_get(mbox + off, MLX4_SPEC_SIZE) * 4;
		if (spec_size(id) == 0 || size != spec_size(id) || size > len - off) {
			tpm_violate(m, TPM_V_STEER_SPEC, "port", r->port,
				    "specification 0x%x of %u bytes with %u left, wanted %u", id, size, len - off,
				    spec_size(id));
			return false;
		}
		switch (id) {
		case MLX4_SPEC_ETH:
			if (r->mt.has_vxlan)
				spec_inner_eth(&r->mt, mbox + off);
			else
				spec_eth(&r->mt, mbox + off);
			if (tpm_quirk(m, MLX4_QUIRK_RULE_NO_ADDRESS) != 0 && compares_nothing(mbox + off, size)) {
				tpm_violate(m, TPM_V_STEER_SPEC, "port", r->port,
					    "an Ethernet specification that compares nothing, wanted none");
				return false;
			}
			break;
		case MLX4_SPEC_VXLAN: spec_vxlan(&r->mt, mbox + off); break;
		case MLX4_SPEC_IB: spec_ib(r, mbox + off); break;
		case MLX4_SPEC_IPV4: spec_ipv4(&r->mt, mbox + off); break;
		case MLX4_SPEC_TCP: spec_l4(&r->mt, mbox + off, TPM_PROTO_TCP); break;
		default: spec_l4(&r->mt, mbox + off, TPM_PROTO_UDP); break;
		}
		off += size;
	}
	if (r->mt.has_l4 && !r->mt.has_ipv4 && tpm_quirk(m, MLX4_QUIRK_RULE_L4) != 0)
		r->mt.has_ipv4 = true;
	for (unsigned int i = 0; i < 6; i++) {
		r->mt.dmac[i] &= r->mt.dmac_m[i];
		r->mt.smac[i] &= r->mt.smac_m[i];
		r->mt.in_dmac[i] &= r->mt.in_dmac_m[i];
	}
	return true;
}
