/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Steering by groups [CP 6.1, 6.2]: a destination address is looked up in the multicast-group table, unicast as well as
 * multicast, and every member of its entry gets the frame. What has no entry goes to the members of the port's default
 * group. The table is what software wrote into ICM with WRITE_MCG; nothing is kept beside it.
 */
#include "model/mem/mem.h"
#include "port.h"

#define CHAIN_MAX 4096u /* a chain that is longer runs in a circle */

uint32_t
tpm_group_hash(const struct tp_model *m, const uint8_t *key)
{
	uint32_t lg_hash = prm_get(m->hca, MLX4_HCA_MC_LG_HASH), hash = 0;

	/* The card's own function is not public; software only ever uses what MGID_HASH answers. */
	for (uint32_t i = 0; i < MLX4_MCG_KEY_SIZE; i++)
		hash = hash * 31 + key[i];
	return (hash ^ hash >> 16) & ((1u << lg_hash) - 1) & 0xffff;
}

static const uint8_t *
find(struct tp_model *m, uint32_t proto, const uint8_t *key)
{
	uint32_t bytes = 1u << m->ctl->mc_lg_entry, index = tpm_group_hash(m, key);

	for (uint32_t i = 0; i < CHAIN_MAX; i++) {
		const uint8_t *e = tpm_icm_at(m, m->ctl->mc_base + (uint64_t)index * bytes, bytes, "MCG");

		if (e == NULL)
			return NULL;
		if (prm_get(e, MLX4_MCG_COUNT) != 0 && prm_get(e, MLX4_MCG_PROTO) == proto &&
		    memcmp(e + MLX4_MCG_GID, key, MLX4_MCG_KEY_SIZE) == 0)
			return e;
		index = prm_get(e, MLX4_MCG_NEXT);
		if (index == 0 || index >= 1u << m->ctl->mc_lg_table)
			return NULL;
	}
	return NULL;
}

static void
add_members(const struct tp_model *m, const uint8_t *e, struct tpm_steer_hit *hit)
{
	uint32_t n = prm_get(e, MLX4_MCG_COUNT), max = (1u << m->ctl->mc_lg_entry) / 4 - 8;

	for (uint32_t i = 0; i < n && i < max && hit->n < TPM_STEER_MAX_QPS; i++)
		hit->qpn[hit->n++] = prm_get32(e, MLX4_MCG_MEMBER(i)) & MLX4_MCG_MEMBER_QPN;
}

void
tpm_group_lookup(struct tp_model *m, const struct tpm_port *p, const uint8_t *h, const struct tpm_pkt *k,
		 struct tpm_steer_hit *hit)
{
	bool mc = (h[0] & 1) != 0;
	uint8_t key[MLX4_MCG_KEY_SIZE] = {0};
	const uint8_t *e = NULL;

	key[MLX4_MCG_KEY_PORT] = (uint8_t)p->num;
	key[MLX4_MCG_KEY_FLAGS] = mc ? 0 : MLX4_MCG_KEY_UNICAST;
	memcpy(key + MLX4_MCG_KEY_MAC, h, TPM_ETH_ALEN);
	if (k->cvlan) {
		/* An entry for the VLAN is closer than one for the address alone. */
		key[MLX4_MCG_KEY_FLAGS] |= MLX4_MCG_KEY_VLAN;
		tpm_store16(key + MLX4_MCG_KEY_VID, k->tci & 0xfff);
		e = find(m, MLX4_MCG_PROTO_ETH, key);
		key[MLX4_MCG_KEY_FLAGS] &= (uint8_t)~MLX4_MCG_KEY_VLAN;
		tpm_store16(key + MLX4_MCG_KEY_VID, 0);
	}
	if (e == NULL)
		e = find(m, MLX4_MCG_PROTO_ETH, key);
	hit->by_rule = e != NULL;
	/* The netdev's own entries let a port hear itself, as its rules do. */
	hit->allow_lb = hit->by_rule;
	add_members(m, e != NULL ? e : m->ctl->default_group[p->num - 1][!mc], hit);
}

void
tpm_group_lookup_ib(struct tp_model *m, const uint8_t *gid, struct tpm_steer_hit *hit)
{
	const uint8_t *e = find(m, MLX4_MCG_PROTO_IB, gid);

	if (e != NULL)
		add_members(m, e, hit);
}
