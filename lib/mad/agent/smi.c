/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Directed routes at a channel adapter's port: what 14.2.2 has it do to hop pointer and path. */
#include "mad_priv.h"

static bool
returning(const uint8_t *smp)
{
	return (ib_get16(smp + MAD_STATUS_AT) & SMP_DIRECTION) != 0;
}

/* The route ends where the directed part does: nothing LID routed follows it. */
static bool
ends(const uint8_t *smp, unsigned int lid_at)
{
	return ib_get16(smp + lid_at) == MAD_LID_PERMISSIVE;
}

enum smi_verdict
smi_out(uint8_t *smp, uint8_t port_num)
{
	uint8_t hops = smp[SMP_HOP_COUNT_AT], *at = &smp[SMP_HOP_POINTER_AT];

	if (hops >= SMP_MAX_HOPS)
		return SMI_DROP;
	if (!returning(smp)) {
		if (*at != 0)
			return SMI_DROP;
		*at = 1;
		if (hops == 0)
			return ends(smp, SMP_DR_DLID_AT) ? SMI_HERE : SMI_DROP;
		return smp[SMP_INITIAL_PATH_AT + 1] == port_num ? SMI_WIRE : SMI_DROP;
	}
	if (hops == 0) {
		*at = 0;
		return ends(smp, SMP_DR_SLID_AT) ? SMI_HERE : SMI_DROP;
	}
	if (*at != hops + 1)
		return SMI_DROP;
	*at = hops;
	return smp[SMP_RETURN_PATH_AT + hops] == port_num ? SMI_WIRE : SMI_DROP;
}

enum smi_verdict
smi_in(uint8_t *smp, uint8_t port_num)
{
	uint8_t hops = smp[SMP_HOP_COUNT_AT], *at = &smp[SMP_HOP_POINTER_AT];

	if (hops >= SMP_MAX_HOPS)
		return SMI_DROP;
	if (!returning(smp)) {
		if (hops == 0 || *at != hops || !ends(smp, SMP_DR_DLID_AT))
			return SMI_DROP;
		smp[SMP_RETURN_PATH_AT + hops] = port_num;
		*at = (uint8_t)(hops + 1);
		return SMI_HERE;
	}
	if (*at > 1 || !ends(smp, SMP_DR_SLID_AT))
		return SMI_DROP;
	*at = 0;
	return SMI_HERE;
}
