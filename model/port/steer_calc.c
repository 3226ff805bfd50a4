/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Steering by computed QP numbers [CP 4.3, 6.1], the mode of a card that was given neither rules nor group steering. The place
 * of the destination in the port's MAC table and of the VID in its VLAN table give the QP. An address that is in no entry goes
 * to the promiscuous QP, or nowhere.
 */
#include "port.h"

static uint64_t
mac_entry(const uint8_t *mac)
{
	return MLX4_MAC_TABLE_VALID | (uint64_t)tpm_load16(mac) << 32 | (uint64_t)tpm_load16(mac + 2) << 16 |
	       tpm_load16(mac + 4);
}

/* Index of the address in the MAC table; MLX4_MAC_TABLE_ENTRIES: it is not there. */
static uint32_t
mac_index(const struct tpm_port *p, const uint8_t *mac)
{
	uint64_t e = mac_entry(mac);
	uint32_t i = 0;

	while (i < MLX4_MAC_TABLE_ENTRIES && (p->mac_table[i] & (MLX4_MAC_TABLE_VALID | MLX4_MAC_MASK)) != e)
		i++;
	return i;
}

static uint32_t
vlan_index(const struct tpm_port *p, const uint8_t *calc, const struct tpm_pkt *k)
{
	uint32_t e = MLX4_VLAN_TABLE_VALID | (k->tci & 0xfffu);

	if (!k->cvlan)
		return prm_get(calc, MLX4_RQP_NO_VLAN_INDEX);
	for (uint32_t i = MLX4_VLAN_TABLE_FIRST; i < MLX4_VLAN_TABLE_ENTRIES; i++)
		if ((p->vlan_table[i] & (MLX4_VLAN_TABLE_VALID | 0xfffu)) == e)
			return i;
	return prm_get(calc, MLX4_RQP_VLAN_MISS_INDEX);
}

/* The low bits of a value, above what is there already. */
static uint32_t
append(uint32_t *shift, uint32_t value, uint32_t bits)
{
	uint32_t v = (value & ((1u << bits) - 1)) << *shift;

	*shift += bits;
	return v;
}

static void
unicast(const struct tpm_port *p, const uint8_t *calc, const uint8_t *h, const struct tpm_pkt *k,
	struct tpm_steer_hit *hit)
{
	uint32_t mac = mac_index(p, h), prio = k->cvlan ? k->tci >> 13 : prm_get(calc, MLX4_RQP_NO_VLAN_PRIO),
		 shift = 0;

	hit->by_rule = hit->allow_lb = mac < MLX4_MAC_TABLE_ENTRIES;
	if (hit->by_rule) {
		hit->qpn[0] = prm_get(calc, MLX4_RQP_BASE_QPN) + append(&shift, mac, prm_get(calc, MLX4_RQP_LG_MACS)) +
			      append(&shift, vlan_index(p, calc, k), prm_get(calc, MLX4_RQP_LG_VLANS)) +
			      append(&shift, prio, prm_get(calc, MLX4_RQP_LG_PRIOS));
		hit->n = 1;
	} else if (prm_get(calc, MLX4_RQP_PROMISC) != 0) {
		hit->qpn[0] = prm_get(calc, MLX4_RQP_PROMISC_QPN);
		hit->n = 1;
	}
}

void
tpm_calc_lookup(struct tp_model *m, const struct tpm_port *p, const uint8_t *h, const struct tpm_pkt *k,
		struct tpm_steer_hit *hit)
{
	const uint8_t *calc = m->ctl->port[p->num - 1].rqp_calc;
	uint32_t mode = prm_get(calc, MLX4_RQP_MC_MODE);

	if ((h[0] & 1) == 0) {
		unicast(p, calc, h, k, hit);
		return;
	}
	if (mode != MLX4_RQP_MC_DEFAULT)
		tpm_group_lookup(m, p, h, k, hit);
	if (hit->n == 0 && mode != MLX4_RQP_MC_DIRECT_ONLY) {
		hit->qpn[0] = prm_get(calc, MLX4_RQP_MC_QPN);
		hit->n = 1;
	}
}
