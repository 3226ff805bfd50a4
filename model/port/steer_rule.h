/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A steering rule, and how software writes one: what steer.c and steer_spec.c share. */
#ifndef TPM_PORT_STEER_RULE_H
#define TPM_PORT_STEER_RULE_H

#include <assert.h>

#include "port.h"

/* Value and mask, as they lie in the frame. Without padding, since rules are compared as memory. */
struct tpm_match {
	uint8_t dmac[6], dmac_m[6], smac[6], smac_m[6];
	uint16_t etype, vlan, vlan_m, dport, dport_m, sport, sport_m;
	uint16_t proto;
	uint8_t in_dmac[6], in_dmac_m[6]; /* of the frame inside the tunnel */
	bool has_etype, has_ipv4, has_l4, has_vxlan;
	uint32_t dip, dip_m, sip, sip_m;
	uint32_t vni, vni_m;
};
static_assert(sizeof(struct tpm_match) == 6 * 6 + 8 * 2 + 4 + 6 * 4, "no padding");

struct tpm_rule {
	struct tpm_rule *next;    /* bucket, list or defaults */
	struct tpm_rule *id_next; /* bucket of rules by id */
	uint64_t id;
	struct tpm_match mt;
	uint32_t qpn;
	uint16_t prio;
	uint8_t type, port;
	bool by_mac, allow_lb;
	bool is_ib; /* a group of RoCE datagrams, by GID; nothing else is compared */
	uint8_t gid[MLX4_MCG_KEY_SIZE], gid_m[MLX4_MCG_KEY_SIZE];
};

/* Reads the specifications behind the control segment of a rule of len bytes; false: a violation was told. */
bool tpm_steer_specs(struct tp_model *m, const uint8_t *mbox, uint32_t len, struct tpm_rule *r);

#endif /* TPM_PORT_STEER_RULE_H */
