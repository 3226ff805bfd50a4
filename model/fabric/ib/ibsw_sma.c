/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The subnet management agent of the InfiniBand switch [WF 9.2, IBTA 14.2.5]. */
#include "model/ib/ib.h"
#include "ibsw.h"

#define DEVICE_ID 0xc738u    /* a switch of 36 ports of the same vendor, with FDR10 and FDR */
#define CAP_MASK 0x00004840u /* SL mapping, system image GUID, extended speeds: of all ports */
#define LFT_BLOCK 64u
#define MFT_BLOCK 32u
#define MFT_PORTS 16u
#define LIFE_TIME 18u
#define HOQ_LIFE 18u /* 1.07 s */

void
ibsw_info_init(struct ibsw *sw)
{
	memset(sw->lft, IBSW_DROP, sizeof(sw->lft));
	prm_set(sw->info, IB_SI_LFT_CAP, IBSW_LIDS);
	prm_set(sw->info, IB_SI_MFT_CAP, IBSW_MLIDS);
	prm_set(sw->info, IB_SI_LIFE_TIME, LIFE_TIME);
	prm_set(sw->info, IB_SI_ENFORCE_CAP, IBSW_PKEYS);
	snprintf((char *)sw->desc, sizeof(sw->desc), "Triplane switch %s", sw->name);
	for (unsigned int i = 0; i <= TP_IBSWITCH_PORTS; i++) {
		struct ibsw_port *p = &sw->port[i];

		p->sw = sw;
		p->num = (uint8_t)i;
		tpm_ib_init(&p->ib, sw->guid, TP_IB_FDR);
		prm_set(p->ib.info, IB_PI_CAP_MASK, i == 0 ? CAP_MASK : 0);
		prm_set(p->ib.info, IB_PI_HOQ_LIFE, HOQ_LIFE);
		for (unsigned int in = 0; in <= TP_IBSWITCH_PORTS; in++)
			memcpy(p->sl2vl[in], p->ib.sl2vl, sizeof(p->ib.sl2vl));
	}
	sw->port[0].ib.state = IB_PORT_ACTIVE;
}

static void
node_info(const struct ibsw_port *in, uint8_t *d)
{
	prm_set(d, IB_NI_BASE_VERSION, 1);
	prm_set(d, IB_NI_CLASS_VERSION, 1);
	prm_set(d, IB_NI_TYPE, IB_NI_TYPE_SWITCH);
	prm_set(d, IB_NI_PORTS, in->sw->num_ports);
	prm_set64(d, IB_NI_SYS_GUID, in->sw->guid);
	prm_set64(d, IB_NI_NODE_GUID, in->sw->guid);
	prm_set64(d, IB_NI_PORT_GUID, in->sw->guid);
	prm_set(d, IB_NI_PKEYS, IBSW_PKEYS);
	prm_set(d, IB_NI_DEVICE, DEVICE_ID);
	prm_set(d, IB_NI_LOCAL_PORT, in->num);
	prm_set(d, IB_NI_VENDOR, IB_VENDOR_MELLANOX);
}

static void
set_switch_info(struct ibsw *sw, const uint8_t *d)
{
	static const uint32_t fields[] = {IB_SI_LFT_TOP, IB_SI_DEFAULT_PORT, IB_SI_DEFAULT_MC_PRIMARY,
					  IB_SI_DEFAULT_MC_OTHER, IB_SI_LIFE_TIME};

	for (unsigned int i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		prm_set(sw->info, fields[i], prm_get(d, fields[i]));
	/* Writing 1 says that the change was seen. */
	if (prm_get(d, IB_SI_STATE_CHANGE) != 0)
		sw->changed = false;
}

static void
get_port_info(const struct ibsw_port *in, const struct ibsw_port *p, uint8_t *d)
{
	tpm_ib_info_get(&p->ib, p->ib.state, d);
	prm_set(d, IB_PI_LOCAL_PORT, in->num);
}

/* The state of a port; its cable is the card's to unplug, so that a link that is to go is only shown as gone. */
static void
move(struct ibsw_port *p, uint32_t state, uint32_t phys)
{
	if (state == IB_PORT_ARMED || state == IB_PORT_ACTIVE) {
		p->sw->changed |= p->ib.state != state;
		p->ib.state = (uint8_t)state;
	} else if (phys == IB_PHYS_DISABLED) {
		p->ib.disabled = true;
	} else if (phys == IB_PHYS_POLLING || state == IB_PORT_DOWN) {
		p->ib.disabled = false;
		p->ib.retrain = p->link;
	}
}

static uint16_t
port_info(struct ibsw_port *in, bool set, uint32_t num, uint8_t *d)
{
	struct ibsw_port *p = num <= in->sw->num_ports ? &in->sw->port[num] : NULL;
	uint32_t state = prm_get(d, IB_PI_STATE), phys = prm_get(d, IB_PI_PHYS);
	uint16_t st = 0;

	if (p == NULL)
		return IB_MAD_S_BAD_VALUE;
	if (set && !tpm_ib_info_valid(&p->ib, d)) {
		st = IB_MAD_S_BAD_VALUE;
	} else if (set) {
		tpm_ib_info_apply(&p->ib, d);
		prm_set(p->ib.info, IB_PI_HOQ_LIFE, prm_get(d, IB_PI_HOQ_LIFE));
		prm_set(p->ib.info, IB_PI_VL_STALL, prm_get(d, IB_PI_VL_STALL));
		prm_set(p->ib.info, IB_PI_ENFORCE, prm_get(d, IB_PI_ENFORCE));
		if (num != 0)
			move(p, state, phys);
	}
	get_port_info(in, p, d);
	return st;
}

static uint16_t
linear(struct ibsw *sw, bool set, uint32_t block, uint8_t *d)
{
	if (block >= IBSW_LIDS / LFT_BLOCK)
		return IB_MAD_S_BAD_VALUE;
	memcpy(set ? sw->lft + block * LFT_BLOCK : d, set ? d : sw->lft + block * LFT_BLOCK, LFT_BLOCK);
	return 0;
}

/* The modifier: 16 ports of a group in bits 31:28, block of LIDs below. */
static uint16_t
groups(struct ibsw *sw, bool set, uint32_t mod, uint8_t *d)
{
	uint32_t block = mod & 0x1ff, shift = (mod >> 28) * MFT_PORTS;

	if (block >= IBSW_MLIDS / MFT_BLOCK || shift > TP_IBSWITCH_PORTS)
		return IB_MAD_S_BAD_VALUE;
	for (uint32_t i = 0; i < MFT_BLOCK; i++) {
		uint64_t *m = &sw->mft[block * MFT_BLOCK + i];

		if (set)
			*m = (*m & ~(UINT64_C(0xffff) << shift)) | (uint64_t)prm_get(d, PRM_H(2 * i, 15, 0)) << shift;
		else
			prm_set(d, PRM_H(2 * i, 15, 0), (uint32_t)(*m >> shift & 0xffff));
	}
	return 0;
}

/*
 * Tables of a port: partitions (modifier: port, block), arbitration and extended state (port in the low half), lanes
 * (from, to).
 */
static uint16_t
tables(struct ibsw *sw, bool set, uint32_t attr, uint32_t mod, uint8_t *d)
{
	uint32_t low = mod & 0xff, high = mod >> 8 & 0xff;

	if (attr == IB_ATTR_PKEY_TABLE) {
		if (mod >> 16 > sw->num_ports || (mod & 0xffff) != 0)
			return IB_MAD_S_BAD_VALUE;
		tpm_ib_pkeys(&sw->port[mod >> 16].ib, set, 0, d);
		return 0;
	}
	if (low > sw->num_ports || high > sw->num_ports)
		return IB_MAD_S_BAD_VALUE;
	if (attr == IB_ATTR_VLARB)
		return tpm_ib_vlarb(&sw->port[low].ib, set, mod >> 16, d);
	if (attr == IB_ATTR_MLNX_PORT_INFO) {
		tpm_ib_ext_info(&sw->port[low].ib, set, d);
		return 0;
	}
	memcpy(set ? sw->port[low].sl2vl[high] : d, set ? d : sw->port[low].sl2vl[high], IB_SLS / 2);
	return 0;
}

static uint16_t
attribute(struct ibsw_port *in, bool set, uint32_t attr, uint32_t mod, uint8_t *d)
{
	struct ibsw *sw = in->sw;

	if (!set && attr != IB_ATTR_PORT_INFO)
		memset(d, 0, IB_SMP_DATA_SIZE);
	switch (attr) {
	case IB_ATTR_NODE_DESC: memcpy(set ? sw->desc : d, set ? d : sw->desc, sizeof(sw->desc)); return 0;
	case IB_ATTR_SWITCH_INFO:
		if (set)
			set_switch_info(sw, d);
		memcpy(d, sw->info, IB_SMP_DATA_SIZE);
		prm_set(d, IB_SI_STATE_CHANGE, sw->changed);
		return 0;
	case IB_ATTR_PORT_INFO: return port_info(in, set, mod & 0xff, d);
	case IB_ATTR_PKEY_TABLE:
	case IB_ATTR_VLARB:
	case IB_ATTR_MLNX_PORT_INFO:
	case IB_ATTR_SL2VL: return tables(sw, set, attr, mod, d);
	case IB_ATTR_LFT: return linear(sw, set, mod, d);
	case IB_ATTR_MFT: return groups(sw, set, mod, d);
	default: break;
	}
	if (set)
		return IB_MAD_S_BAD_ATTR;
	if (attr == IB_ATTR_NODE_INFO) {
		node_info(in, d);
		return 0;
	}
	if (attr == IB_ATTR_GUID_INFO && mod == 0) {
		prm_set64(d, 0, sw->guid);
		return 0;
	}
	return IB_MAD_S_BAD_ATTR;
}

bool
ibsw_sma(struct ibsw_port *in, uint8_t *mad)
{
	bool set = prm_get(mad, IB_MAD_METHOD) == IB_METHOD_SET;
	uint16_t st = IB_MAD_S_BAD_VERSION;

	if (!tpm_ib_mkey_good(&in->sw->port[0].ib, mad, !set))
		return false;
	if (prm_get(mad, IB_MAD_CLASS_VERSION) == 1 && prm_get(mad, IB_MAD_BASE_VERSION) == 1)
		st = attribute(in, set, prm_get(mad, IB_MAD_ATTR), prm_get(mad, IB_MAD_MODIFIER), mad + IB_SMP_DATA);
	prm_set(mad, IB_MAD_METHOD, IB_METHOD_GET | IB_METHOD_RESP);
	prm_set(mad, IB_MAD_STATUS, st);
	return true;
}
