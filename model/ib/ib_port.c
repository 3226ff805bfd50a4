/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* State of an InfiniBand port: down, init, armed, active [WF 9.2]; what software is told of its changes [CP 9.3]. */
#include "model/event/event.h"
#include "ib.h"

#define VL_CAP_8 4u
#define WIDTH_4X 2u
#define WIDTHS_TO_4X 3u
#define VLARB_ENTRIES 8u
#define GID_PREFIX UINT64_C(0xfe80000000000000)
/*
 * Traps, migration, SL mapping, system image GUID, CM, vendor class, notices of this mask, client reregistration: what cards
 * say of themselves (docs/fidelity.md).
 */
#define CAP_MASK 0x02510868u

enum tp_ib_speed
tp_model_ib_speed(const char *word)
{
	static const char *const names[] = {[TP_IB_SDR] = "sdr",
					    [TP_IB_DDR] = "ddr",
					    [TP_IB_QDR] = "qdr",
					    [TP_IB_FDR10] = "fdr10",
					    [TP_IB_FDR] = "fdr"};
	enum tp_ib_speed s = TP_IB_FDR;

	while (s > TP_IB_SPEED_DEFAULT && strcmp(names[s], word) != 0)
		s--;
	return s;
}

/* The codes of PortInfo for SDR, DDR and QDR are bits in their order. */
#define BASE_SPEED(s) (1u << ((s)-TP_IB_SDR))

static void
speeds_init(struct tpm_ib *ib, enum tp_ib_speed top)
{
	uint32_t base = 2 * BASE_SPEED(top < TP_IB_QDR ? top : TP_IB_QDR) - 1,
		 ext = top == TP_IB_FDR ? IB_PI_EXT_SPEED_FDR : 0;
	uint8_t *d = ib->info;

	prm_set(d, IB_PI_SPEED_SUPPORTED, base);
	prm_set(d, IB_PI_SPEED_ENABLED, base);
	prm_set(d, IB_PI_EXT_SPEED_SUPPORTED, ext);
	prm_set(d, IB_PI_EXT_SPEED_ENABLED, ext);
	prm_set(d, IB_PI_CAP_MASK, CAP_MASK | (ext != 0 ? IB_CAP_EXT_SPEEDS : 0));
	ib->fdr10 = ib->fdr10_enabled = top >= TP_IB_FDR10;
	tpm_ib_train(ib, UINT32_MAX);
}

uint32_t
tpm_ib_speeds(const struct tpm_ib *ib)
{
	const uint8_t *d = ib->info;
	uint32_t base = prm_get(d, IB_PI_SPEED_ENABLED) & prm_get(d, IB_PI_SPEED_SUPPORTED);
	uint32_t ext = prm_get(d, IB_PI_EXT_SPEED_ENABLED) & prm_get(d, IB_PI_EXT_SPEED_SUPPORTED);

	return base << TP_IB_SDR | (uint32_t)(ib->fdr10 && ib->fdr10_enabled) << TP_IB_FDR10 | ext << TP_IB_FDR;
}

/* Every port can SDR, also one whose manager and partner leave nothing in common. */
void
tpm_ib_train(struct tpm_ib *ib, uint32_t speeds)
{
	enum tp_ib_speed s = TP_IB_FDR;

	speeds &= tpm_ib_speeds(ib);
	while (s > TP_IB_SDR && (speeds >> s & 1) == 0)
		s--;
	prm_set(ib->info, IB_PI_SPEED_ACTIVE, BASE_SPEED(s < TP_IB_QDR ? s : TP_IB_QDR));
	prm_set(ib->info, IB_PI_EXT_SPEED_ACTIVE, s == TP_IB_FDR ? IB_PI_EXT_SPEED_FDR : 0);
	ib->fdr10_active = s == TP_IB_FDR10;
}

void
tpm_ib_init(struct tpm_ib *ib, uint64_t guid, enum tp_ib_speed top)
{
	uint8_t *d = ib->info;

	memset(ib, 0, sizeof(*ib));
	ib->num_pkeys = TPM_IB_PKEYS;
	ib->pkey[0] = IB_PKEY_DEFAULT;
	ib->guid[0] = guid;
	ib->state = IB_PORT_DOWN;
	ib->mtu = 4096;
	for (unsigned int sl = 0; sl < IB_SLS; sl++)
		ib->sl2vl[sl / 2] |= (uint8_t)((sl & 7) << (sl % 2 == 0 ? 4 : 0));
	prm_set64(d, IB_PI_GID_PREFIX, GID_PREFIX);
	speeds_init(ib, top == TP_IB_SPEED_DEFAULT ? TP_IB_QDR : top);
	prm_set(d, IB_PI_WIDTH_ENABLED, WIDTHS_TO_4X);
	prm_set(d, IB_PI_WIDTH_SUPPORTED, WIDTHS_TO_4X);
	prm_set(d, IB_PI_WIDTH_ACTIVE, WIDTH_4X);
	prm_set(d, IB_PI_DOWN_DEFAULT, IB_PHYS_POLLING);
	prm_set(d, IB_PI_MTU, 5);
	prm_set(d, IB_PI_MTU_CAP, 5);
	prm_set(d, IB_PI_VL_CAP, VL_CAP_8);
	prm_set(d, IB_PI_OPER_VLS, VL_CAP_8);
	prm_set(d, IB_PI_VLARB_HIGH_CAP, VLARB_ENTRIES);
	prm_set(d, IB_PI_VLARB_LOW_CAP, VLARB_ENTRIES);
	prm_set(d, IB_PI_GUID_CAP, TPM_IB_GUIDS);
}

void
tpm_ib_reset(struct tp_model *m, struct tpm_port *p)
{
	tpm_ib_init(&p->ibp, m->cfg.guid + p->num, m->cfg.ib_speed[p->num - 1]);
}

void
tpm_ib_event_info(struct tp_model *m, const struct tpm_port *p, uint32_t changed)
{
	const uint8_t *d = p->ibp.info;
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	if (changed == 0)
		return;
	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_PORT_MNG);
	prm_set(eqe, MLX4_EQE_SUBTYPE, MLX4_PORT_MNG_INFO);
	prm_set(eqe, MLX4_EQE_MNG_PORT, p->num);
	prm_set(eqe, MLX4_EQE_MNG_SM_LID, prm_get(d, IB_PI_SM_LID));
	prm_set(eqe, MLX4_EQE_MNG_LID, p->ibp.lid);
	prm_set(eqe, MLX4_EQE_MNG_CHANGED, changed);
	prm_set(eqe, MLX4_EQE_MNG_SM_SL, prm_get(d, IB_PI_SM_SL));
	prm_set64(eqe, MLX4_EQE_MNG_GID_PREFIX, prm_get64(d, IB_PI_GID_PREFIX));
	tpm_event(m, MLX4_EVENT_PORT_MNG, eqe);
}

void
tpm_ib_event_table(struct tp_model *m, const struct tpm_port *p, uint8_t subtype, uint32_t block, uint32_t mask)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	if (mask == 0)
		return;
	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_PORT_MNG);
	prm_set(eqe, MLX4_EQE_SUBTYPE, subtype);
	prm_set(eqe, MLX4_EQE_MNG_PORT, p->num);
	prm_set(eqe, MLX4_EQE_MNG_BLOCK, block);
	prm_set(eqe, MLX4_EQE_MNG_ENTRIES, mask);
	tpm_event(m, MLX4_EVENT_PORT_MNG, eqe);
}

void
tpm_ib_event_sl2vl(struct tp_model *m, const struct tpm_port *p)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_PORT_MNG);
	prm_set(eqe, MLX4_EQE_SUBTYPE, MLX4_PORT_MNG_SL2VL);
	prm_set(eqe, MLX4_EQE_MNG_PORT, p->num);
	memcpy(eqe + 8, p->ibp.sl2vl, sizeof(p->ibp.sl2vl));
	tpm_event(m, MLX4_EVENT_PORT_MNG, eqe);
}

/* Software learns of a port that can carry data, and of one that no longer can. */
void
tpm_ib_set_state(struct tp_model *m, struct tpm_port *p, enum ib_port_state state)
{
	enum ib_port_state old = p->ibp.state;
	static const char *const name[] = {"", "down", "init", "armed", "active"};

	if (old == state)
		return;
	p->ibp.state = state;
	tpm_note(m, "port %u: %s", p->num, name[state]);
	if (state == IB_PORT_ACTIVE)
		tpm_event_port(m, p->num, MLX4_PORT_CHANGE_ACTIVE);
	else if (old == IB_PORT_ACTIVE)
		tpm_event_port(m, p->num, MLX4_PORT_CHANGE_DOWN);
}

void
tpm_ib_link(struct tp_model *m, struct tpm_port *p, bool up)
{
	if (!up && p->ibp.state != IB_PORT_DOWN)
		p->ibp.pm.c.link_downed++;
	if (up)
		tpm_ib_train(&p->ibp, p->wire->ops->train != NULL ? p->wire->ops->train(p->wire, tpm_ib_speeds(&p->ibp))
								  : UINT32_MAX);
	tpm_ib_set_state(m, p, up ? IB_PORT_INIT : IB_PORT_DOWN);
}
