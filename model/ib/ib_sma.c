/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The subnet management agent of the firmware: attributes of a port are read and set [WF 9.2]. The same answers go to the
 * host (MAD_IFC) and to the wire.
 */
#include "model/port/port.h"
#include "ib.h"

#define MKEY_PROTECT_GET 2u /* from this level on, reading needs the key too */

/* --- get -------------------------------------------------------------------------------------------------- */

static void
node_info(const struct tp_model *m, const struct tpm_port *p, uint8_t *d)
{
	prm_set(d, IB_NI_BASE_VERSION, 1);
	prm_set(d, IB_NI_CLASS_VERSION, 1);
	prm_set(d, IB_NI_TYPE, IB_NI_TYPE_CA);
	prm_set(d, IB_NI_PORTS, m->cfg.num_ports);
	prm_set64(d, IB_NI_SYS_GUID, m->cfg.guid + 3);
	prm_set64(d, IB_NI_NODE_GUID, m->cfg.guid);
	prm_set64(d, IB_NI_PORT_GUID, m->cfg.guid + p->num);
	prm_set(d, IB_NI_PKEYS, p->ibp.num_pkeys);
	prm_set(d, IB_NI_DEVICE, m->cfg.device_id);
	prm_set(d, IB_NI_LOCAL_PORT, p->num);
	prm_set(d, IB_NI_VENDOR, IB_VENDOR_MELLANOX);
}

static uint16_t
saturated(uint64_t v)
{
	return v < UINT16_MAX ? (uint16_t)v : UINT16_MAX;
}

void
tpm_ib_info_get(const struct tpm_ib *ib, uint8_t state, uint8_t *d)
{
	uint32_t down = ib->disabled ? IB_PHYS_DISABLED : IB_PHYS_POLLING;

	memcpy(d, ib->info, IB_SMP_DATA_SIZE);
	prm_set(d, IB_PI_STATE, state);
	prm_set(d, IB_PI_PHYS, state != IB_PORT_DOWN ? (uint32_t)IB_PHYS_LINK_UP : down);
	prm_set(d, IB_PI_PKEY_VIOLATIONS, saturated(ib->pkey_bad));
	prm_set(d, IB_PI_QKEY_VIOLATIONS, saturated(ib->qkey_bad));
}

/* An Ethernet port has no such state; its link is what counts. */
static void
port_info(const struct tpm_port *p, uint8_t *d)
{
	tpm_ib_info_get(&p->ibp, p->ib ? p->ibp.state : (uint8_t)(p->link ? IB_PORT_ACTIVE : IB_PORT_DOWN), d);
	prm_set(d, IB_PI_LOCAL_PORT, p->num);
}

uint32_t
tpm_ib_pkeys(struct tpm_ib *ib, bool set, uint32_t block, uint8_t *d)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < IB_PKEYS_BLOCK; i++) {
		uint16_t *k = &ib->pkey[block * IB_PKEYS_BLOCK + i];
		uint16_t v = (uint16_t)prm_get(d, PRM_H(2 * i, 15, 0));

		if (!set) {
			prm_set(d, PRM_H(2 * i, 15, 0), *k);
			continue;
		}
		mask |= (uint32_t)(*k != v) << i;
		*k = v;
	}
	return mask;
}

uint16_t
tpm_ib_vlarb(struct tpm_ib *ib, bool set, uint32_t which, uint8_t *d)
{
	uint8_t *table;

	if (which < 1 || which > IB_VLARB_BLOCKS)
		return IB_MAD_S_BAD_VALUE;
	table = ib->vlarb[which - 1];
	memcpy(set ? table : d, set ? d : table, IB_VLARB_SIZE);
	return 0;
}

/* What is enabled counts when the link trains again. */
void
tpm_ib_ext_info(struct tpm_ib *ib, bool set, uint8_t *d)
{
	if (set && (prm_get(d, IB_XPI_CHANGES) & IB_XPI_CHANGES_SPEED) != 0)
		ib->fdr10_enabled = (prm_get(d, IB_XPI_SPEED_ENABLED) & IB_XPI_SPEED_FDR10) != 0;
	memset(d, 0, IB_SMP_DATA_SIZE);
	prm_set(d, IB_XPI_SPEED_SUPPORTED, ib->fdr10 ? IB_XPI_SPEED_FDR10 : 0);
	prm_set(d, IB_XPI_SPEED_ENABLED, ib->fdr10 && ib->fdr10_enabled ? IB_XPI_SPEED_FDR10 : 0);
	prm_set(d, IB_XPI_SPEED_ACTIVE, ib->fdr10_active ? IB_XPI_SPEED_FDR10 : 0);
}

static uint16_t
get(const struct tp_model *m, struct tpm_port *p, uint32_t attr, uint32_t mod, uint8_t *d)
{
	struct tpm_ib *ib = &p->ibp;
	uint32_t block = mod & 0xffff;

	memset(d, 0, IB_SMP_DATA_SIZE);
	switch (attr) {
	case IB_ATTR_NODE_DESC: memcpy(d, m->ctl->node_desc, IB_SMP_DATA_SIZE); return 0;
	case IB_ATTR_NODE_INFO: node_info(m, p, d); return 0;
	case IB_ATTR_PORT_INFO: port_info(p, d); return 0;
	case IB_ATTR_GUID_INFO:
		if (mod >= TPM_IB_GUIDS / IB_GUIDS_BLOCK)
			return IB_MAD_S_BAD_VALUE;
		for (uint32_t i = 0; i < IB_GUIDS_BLOCK; i++)
			prm_set64(d, 8 * i, ib->guid[mod * IB_GUIDS_BLOCK + i]);
		return 0;
	case IB_ATTR_PKEY_TABLE:
		if (block >= ib->num_pkeys / IB_PKEYS_BLOCK)
			return IB_MAD_S_BAD_VALUE;
		tpm_ib_pkeys(ib, false, block, d);
		return 0;
	case IB_ATTR_SL2VL: memcpy(d, ib->sl2vl, sizeof(ib->sl2vl)); return 0;
	case IB_ATTR_VLARB: return tpm_ib_vlarb(ib, false, mod >> 16, d);
	case IB_ATTR_MLNX_PORT_INFO: tpm_ib_ext_info(ib, false, d); return 0;
	default: return IB_MAD_S_BAD_ATTR;
	}
}

/* --- set -------------------------------------------------------------------------------------------------- */

bool
tpm_ib_info_valid(const struct tpm_ib *ib, const uint8_t *d)
{
	uint32_t lid = prm_get(d, IB_PI_LID), sm = prm_get(d, IB_PI_SM_LID), mtu = prm_get(d, IB_PI_MTU),
		 lmc = prm_get(d, IB_PI_LMC), vls = prm_get(d, IB_PI_OPER_VLS), state = prm_get(d, IB_PI_STATE);

	if (lid >= IB_LID_MCAST || (lid & ((1u << lmc) - 1)) != 0 || sm >= IB_LID_MCAST)
		return false;
	if (mtu > prm_get(ib->info, IB_PI_MTU_CAP) || vls > prm_get(ib->info, IB_PI_VL_CAP))
		return false;
	switch (state) {
	case IB_PORT_NO_CHANGE:
	case IB_PORT_DOWN: return true;
	case IB_PORT_ARMED: return ib->state == IB_PORT_INIT || ib->state == IB_PORT_ARMED;
	case IB_PORT_ACTIVE: return ib->state == IB_PORT_ARMED || ib->state == IB_PORT_ACTIVE;
	default: return false;
	}
}

/* Fields that a Set takes as they are. */
static const uint32_t plain_fields[] = {IB_PI_LID,       IB_PI_SM_LID, IB_PI_MKEY_LEASE,    IB_PI_MKEY_PROTECT,
					IB_PI_LMC,       IB_PI_SM_SL,  IB_PI_VL_HIGH_LIMIT, IB_PI_SUBNET_TIMEOUT,
					IB_PI_ERR_LIMITS};
/* Fields where 0 means that nothing changes. */
static const uint32_t kept_fields[] = {IB_PI_DOWN_DEFAULT, IB_PI_MTU, IB_PI_OPER_VLS};
/* Masks: 0 changes nothing, and bits that the port does not support are left out. */
static const struct {
	uint32_t enabled, supported;
} masks[] = {{IB_PI_WIDTH_ENABLED, IB_PI_WIDTH_SUPPORTED},
	     {IB_PI_SPEED_ENABLED, IB_PI_SPEED_SUPPORTED},
	     {IB_PI_EXT_SPEED_ENABLED, IB_PI_EXT_SPEED_SUPPORTED}};

void
tpm_ib_info_apply(struct tpm_ib *ib, const uint8_t *d)
{
	prm_set64(ib->info, IB_PI_MKEY, prm_get64(d, IB_PI_MKEY));
	prm_set64(ib->info, IB_PI_GID_PREFIX, prm_get64(d, IB_PI_GID_PREFIX));
	for (unsigned int i = 0; i < sizeof(plain_fields) / sizeof(plain_fields[0]); i++)
		prm_set(ib->info, plain_fields[i], prm_get(d, plain_fields[i]));
	for (unsigned int i = 0; i < sizeof(kept_fields) / sizeof(kept_fields[0]); i++)
		if (prm_get(d, kept_fields[i]) != 0 && prm_get(d, kept_fields[i]) != PRM_MAX(kept_fields[i]))
			prm_set(ib->info, kept_fields[i], prm_get(d, kept_fields[i]));
	for (unsigned int i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		if (prm_get(d, masks[i].enabled) != 0)
			prm_set(ib->info, masks[i].enabled,
				prm_get(d, masks[i].enabled) & prm_get(ib->info, masks[i].supported));
	/* Violation counters are only ever cleared. */
	if (prm_get(d, IB_PI_PKEY_VIOLATIONS) == 0)
		ib->pkey_bad = 0;
	if (prm_get(d, IB_PI_QKEY_VIOLATIONS) == 0)
		ib->qkey_bad = 0;
	ib->lid = (uint16_t)prm_get(ib->info, IB_PI_LID);
	ib->lmc = (uint8_t)prm_get(ib->info, IB_PI_LMC);
	ib->mtu = 128u << prm_get(ib->info, IB_PI_MTU);
}

static uint32_t
changes(const struct tpm_ib *ib, const uint8_t *old, bool reregister)
{
	const uint8_t *now = ib->info;
	uint32_t c = reregister ? MLX4_MNG_REREGISTER : 0;

	if (prm_get(old, IB_PI_SM_LID) != prm_get(now, IB_PI_SM_LID))
		c |= MLX4_MNG_SM_LID;
	if (prm_get(old, IB_PI_SM_SL) != prm_get(now, IB_PI_SM_SL))
		c |= MLX4_MNG_SM_SL;
	if (prm_get(old, IB_PI_LID) != prm_get(now, IB_PI_LID))
		c |= MLX4_MNG_LID;
	if (prm_get64(old, IB_PI_GID_PREFIX) != prm_get64(now, IB_PI_GID_PREFIX))
		c |= MLX4_MNG_GID_PREFIX;
	return c;
}

static void
update_links(struct tp_model *m)
{
	for (unsigned int i = 0; i < m->cfg.num_ports; i++)
		tpm_port_update_link(m, &m->port[i]);
}

/* What a Set asks of the state; the physical state counts only together with "down". */
static void
move(struct tp_model *m, struct tpm_port *p, uint32_t state, uint32_t phys)
{
	struct tpm_ib *ib = &p->ibp;

	if (state == IB_PORT_ARMED || state == IB_PORT_ACTIVE) {
		tpm_ib_set_state(m, p, (enum ib_port_state)state);
		return;
	}
	if (phys == IB_PHYS_DISABLED) {
		ib->disabled = true;
	} else if (phys == IB_PHYS_POLLING || state == IB_PORT_DOWN) {
		ib->disabled = false;
		ib->retrain = true;
	} else {
		return;
	}
	update_links(m);
}

static uint16_t
set_port_info(struct tp_model *m, struct tpm_port *p, uint8_t *d)
{
	struct tpm_ib *ib = &p->ibp;
	uint32_t state = prm_get(d, IB_PI_STATE), phys = prm_get(d, IB_PI_PHYS);
	bool reregister = prm_get(d, IB_PI_REREGISTER) != 0;
	uint8_t old[IB_SMP_DATA_SIZE];

	if (!tpm_ib_info_valid(ib, d)) {
		port_info(p, d);
		return IB_MAD_S_BAD_VALUE;
	}
	memcpy(old, ib->info, sizeof(old));
	tpm_ib_info_apply(ib, d);
	tpm_ib_event_info(m, p, changes(ib, old, reregister));
	move(m, p, state, phys);
	port_info(p, d);
	return 0;
}

static uint16_t
set_guids(struct tp_model *m, struct tpm_port *p, uint32_t block, uint8_t *d)
{
	uint32_t mask = 0;
	uint64_t *g;

	if (block >= TPM_IB_GUIDS / IB_GUIDS_BLOCK)
		return IB_MAD_S_BAD_VALUE;
	g = &p->ibp.guid[block * IB_GUIDS_BLOCK];
	/* The first is the card's own and cannot be written. */
	for (uint32_t i = block == 0 ? 1 : 0; i < IB_GUIDS_BLOCK; i++) {
		mask |= (uint32_t)(g[i] != prm_get64(d, 8 * i)) << i;
		g[i] = prm_get64(d, 8 * i);
	}
	tpm_ib_event_table(m, p, MLX4_PORT_MNG_GUID, block, mask);
	return get(m, p, IB_ATTR_GUID_INFO, block, d);
}

static uint16_t
set_pkeys(struct tp_model *m, struct tpm_port *p, uint32_t block, uint8_t *d)
{
	if (block >= p->ibp.num_pkeys / IB_PKEYS_BLOCK)
		return IB_MAD_S_BAD_VALUE;
	tpm_ib_event_table(m, p, MLX4_PORT_MNG_PKEY, block, tpm_ib_pkeys(&p->ibp, true, block, d));
	return 0;
}

static uint16_t
set(struct tp_model *m, struct tpm_port *p, uint32_t attr, uint32_t mod, uint8_t *d)
{
	struct tpm_ib *ib = &p->ibp;

	switch (attr) {
	case IB_ATTR_PORT_INFO: return set_port_info(m, p, d);
	case IB_ATTR_GUID_INFO: return set_guids(m, p, mod, d);
	case IB_ATTR_PKEY_TABLE: return set_pkeys(m, p, mod & 0xffff, d);
	case IB_ATTR_NODE_DESC: memcpy(m->ctl->node_desc, d, IB_SMP_DATA_SIZE); return 0;
	case IB_ATTR_SL2VL:
		if (memcmp(ib->sl2vl, d, sizeof(ib->sl2vl)) != 0) {
			memcpy(ib->sl2vl, d, sizeof(ib->sl2vl));
			tpm_ib_event_sl2vl(m, p);
		}
		return 0;
	case IB_ATTR_VLARB: return tpm_ib_vlarb(ib, true, mod >> 16, d);
	case IB_ATTR_MLNX_PORT_INFO: tpm_ib_ext_info(ib, true, d); return 0;
	default: return IB_MAD_S_BAD_ATTR;
	}
}

bool
tpm_ib_mkey_good(struct tpm_ib *ib, const uint8_t *mad, bool reads)
{
	uint64_t key = prm_get64(ib->info, IB_PI_MKEY);

	if (key == 0 || key == prm_get64(mad, IB_SMP_MKEY) ||
	    (reads && prm_get(ib->info, IB_PI_MKEY_PROTECT) < MKEY_PROTECT_GET))
		return true;
	if (prm_get(ib->info, IB_PI_MKEY_VIOLATIONS) != PRM_MAX(IB_PI_MKEY_VIOLATIONS))
		prm_set(ib->info, IB_PI_MKEY_VIOLATIONS, prm_get(ib->info, IB_PI_MKEY_VIOLATIONS) + 1);
	return false;
}

bool
tpm_ib_sma(struct tp_model *m, struct tpm_port *p, uint8_t *mad, bool check_mkey)
{
	uint32_t method = prm_get(mad, IB_MAD_METHOD), attr = prm_get(mad, IB_MAD_ATTR),
		 mod = prm_get(mad, IB_MAD_MODIFIER);
	uint8_t *d = mad + IB_SMP_DATA;
	uint16_t st;

	if (check_mkey && !tpm_ib_mkey_good(&p->ibp, mad, method == IB_METHOD_GET))
		return false;
	if (prm_get(mad, IB_MAD_CLASS_VERSION) != 1 || prm_get(mad, IB_MAD_BASE_VERSION) != 1)
		st = IB_MAD_S_BAD_VERSION;
	else if (method == IB_METHOD_GET)
		st = get(m, p, attr, mod, d);
	else
		st = set(m, p, attr, mod, d);
	prm_set(mad, IB_MAD_METHOD, IB_METHOD_GET | IB_METHOD_RESP);
	prm_set(mad, IB_MAD_STATUS, st);
	return true;
}
