/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* MAD_IFC: the management datagrams that the firmware answers for a port itself [CP 4.9]. */
#include <string.h>

#include "ctl.h"

#define MAD_BASE_VERSION 0x00u
#define MAD_CLASS 0x01u
#define MAD_CLASS_VERSION 0x02u
#define MAD_METHOD 0x03u
#define MAD_STATUS PRM_H(0x04, 15, 0)
#define MAD_ATTR PRM_H(0x10, 15, 0)
#define MAD_MODIFIER PRM_D(0x14, 31, 0)
#define MAD_DATA 0x40u
#define MAD_DATA_SIZE 64u
#define CLASS_SUBN_LID 0x01u
#define CLASS_SUBN_DIRECTED 0x81u
#define CLASS_PERF 0x04u
#define PERF_CLASS_INFO 0x0001u
#define PERF_COUNTERS 0x0012u
#define PERF_COUNTERS_EXT 0x001du
#define PERF_PORT_SELECT 0x41u
#define PERF_EXT_WIDTH 0x0200u /* capability: extended counters */
#define METHOD_GET 0x01u
#define METHOD_SET 0x02u
#define METHOD_GET_RESP 0x81u
#define STATUS_BAD_ATTR (3u << 2) /* method and attribute combination not supported */
#define GUID_TABLE 128u
#define GUIDS_PER_BLOCK 8u
#define PKEY_TABLE 128u
#define PKEYS_PER_BLOCK 32u
#define PKEY_DEFAULT 0xffffu
#define GID_PREFIX UINT64_C(0xfe80000000000000)

static void
node_info(const struct tp_model *m, uint32_t port, uint8_t *mad)
{
	uint8_t *d = mad + MAD_DATA;

	d[0] = 1; /* base version */
	d[1] = 1; /* class version */
	d[2] = 1; /* channel adapter */
	d[3] = m->cfg.num_ports;
	prm_set64(mad, 0x44, m->cfg.guid + 3);
	prm_set64(mad, 0x4c, m->cfg.guid);
	prm_set64(mad, 0x54, m->cfg.guid + port);
	prm_set(mad, PRM_H(0x5c, 15, 0), PKEY_TABLE);
	prm_set(mad, PRM_H(0x5e, 15, 0), m->cfg.device_id);
	prm_set32(mad, 0x60, 0);
	prm_set32(mad, 0x64, port << 24 | 0x0002c9);
}

static void
port_info(const struct tp_model *m, const struct tpm_port *p, uint8_t *mad)
{
	prm_set64(mad, 0x48, GID_PREFIX);
	prm_set32(mad, 0x54, m->ctl->port[p->num - 1].ib_cap);
	prm_set(mad, PRM_B(0x5c, 7, 0), p->num);
	prm_set(mad, PRM_B(0x5d, 7, 0), 3);               /* width enabled: 1X, 4X */
	prm_set(mad, PRM_B(0x5e, 7, 0), 3);               /* width supported */
	prm_set(mad, PRM_B(0x5f, 7, 0), 2);               /* width active: 4X */
	prm_set(mad, PRM_B(0x60, 3, 0), p->link ? 4 : 1); /* active, down */
	prm_set(mad, PRM_B(0x60, 7, 4), 7);               /* speeds supported: SDR, DDR, QDR */
	prm_set(mad, PRM_B(0x61, 7, 4), p->link ? 5 : 2); /* physical: link up, polling */
	prm_set(mad, PRM_B(0x63, 7, 4), 4);               /* speed active: QDR */
	prm_set(mad, PRM_B(0x64, 7, 4), 5);               /* MTU active: 4096 */
	prm_set(mad, PRM_B(0x65, 7, 4), 4);               /* VL0..VL7 */
	prm_set(mad, PRM_B(0x69, 3, 0), 5);               /* MTU supported: 4096 */
	prm_set(mad, PRM_B(0x72, 7, 0), GUID_TABLE);
}

/* Fills the attribute; false when the firmware does not know it. */
static bool
attribute_get(const struct tp_model *m, const struct tpm_port *p, uint8_t *mad)
{
	uint32_t block = prm_get(mad, MAD_MODIFIER);

	memset(mad + MAD_DATA, 0, MAD_DATA_SIZE);
	switch (prm_get(mad, MAD_ATTR)) {
	case MLX4_MAD_ATTR_NODE_DESC: memcpy(mad + MAD_DATA, m->ctl->node_desc, MAD_DATA_SIZE); return true;
	case MLX4_MAD_ATTR_NODE_INFO: node_info(m, p->num, mad); return true;
	case MLX4_MAD_ATTR_PORT_INFO: port_info(m, p, mad); return true;
	case MLX4_MAD_ATTR_GUID_INFO:
		if (block >= GUID_TABLE / GUIDS_PER_BLOCK)
			return false;
		if (block == 0)
			prm_set64(mad, MAD_DATA, m->cfg.guid + p->num);
		return true;
	case MLX4_MAD_ATTR_PKEY_TABLE:
		if ((block & 0xffff) >= PKEY_TABLE / PKEYS_PER_BLOCK)
			return false;
		if ((block & 0xffff) == 0)
			prm_set(mad, PRM_H(MAD_DATA, 15, 0), PKEY_DEFAULT);
		return true;
	default: return false;
	}
}

/*
 * Performance management. An InfiniBand port of this card carries nothing but what the firmware answers itself, so that
 * its counters are 0.
 */
static bool
perf_get(const struct tpm_port *p, uint8_t *mad)
{
	uint32_t attr = prm_get(mad, MAD_ATTR);

	memset(mad + MAD_DATA, 0, MAD_DATA_SIZE);
	switch (attr) {
	case PERF_CLASS_INFO:
		mad[MAD_DATA] = mad[MAD_DATA + 1] = 1; /* base and class version */
		prm_set(mad, PRM_H(0x42, 15, 0), PERF_EXT_WIDTH);
		return true;
	case PERF_COUNTERS:
	case PERF_COUNTERS_EXT: mad[PERF_PORT_SELECT] = (uint8_t)p->num; return true;
	default: return false;
	}
}

static bool
class_known(uint8_t class)
{
	return class == CLASS_SUBN_LID || class == CLASS_SUBN_DIRECTED || class == CLASS_PERF;
}

uint8_t
tpm_cmd_mad_ifc(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_port *p = tpm_cmd_port(m, "MAD_IFC", c->in_modifier & 0xff);
	uint8_t class = c->in[MAD_CLASS], method = c->in[MAD_METHOD];

	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	if (c->in[MAD_BASE_VERSION] != 1 || c->in[MAD_CLASS_VERSION] != 1 || !class_known(class) ||
	    (method != METHOD_GET && method != METHOD_SET))
		return tpm_fail(
			m, BAD_PKT, CMD_PARAM, "MAD_IFC", p->num,
			"version %u, class 0x%02x version %u, method 0x%02x: wanted 1, 0x01, 0x04 or 0x81 version 1, "
			"0x01 or 0x02",
			c->in[MAD_BASE_VERSION], class, c->in[MAD_CLASS_VERSION], method);
	memcpy(c->out, c->in, MLX4_MAD_SIZE);
	c->out[MAD_METHOD] = METHOD_GET_RESP;
	if (class == CLASS_SUBN_LID && method == METHOD_GET && prm_get(c->in, MAD_ATTR) == MLX4_MAD_ATTR_CABLE) {
		prm_set(c->out, MAD_STATUS, (uint32_t)tpm_cable_get(m, p, c->out) << MLX4_MAD_STATUS_CABLE_SHIFT);
		return MLX4_STAT_OK;
	}
	/* Nothing of a port can be set by datagram: that is a subnet manager's business on a real fabric. */
	if (method == METHOD_SET || !(class == CLASS_PERF ? perf_get(p, c->out) : attribute_get(m, p, c->out)))
		prm_set(c->out, MAD_STATUS, STATUS_BAD_ATTR);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_set_node(struct tp_model *m, struct tpm_cmd *c)
{
	memcpy(m->ctl->node_desc, c->in, sizeof(m->ctl->node_desc));
	return MLX4_STAT_OK;
}
