/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * MAD_IFC: software hands management datagrams over, its own or such as came for its port, and the firmware answers
 * [CP 4.9].
 */
#include <string.h>

#include "model/ib/ib.h"
#include "model/port/port.h"
#include "cmd.h"

static bool
class_known(uint32_t class)
{
	return class == IB_CLASS_SUBN || class == IB_CLASS_SUBN_DR || class == IB_CLASS_PERF ||
	       class == IB_CLASS_VENDOR1 || class == IB_CLASS_VENDOR2 || class == IB_CLASS_CONG;
}

static bool
method_known(uint32_t method)
{
	return method == IB_METHOD_GET || method == IB_METHOD_SET || method == IB_METHOD_TRAP_REPRESS;
}

/* A datagram of a class that the firmware has no agent for. */
static void
refuse(uint8_t *mad)
{
	prm_set(mad, IB_MAD_METHOD, IB_METHOD_GET | IB_METHOD_RESP);
	prm_set(mad, IB_MAD_STATUS, IB_MAD_S_BAD_ATTR);
}

uint8_t
tpm_cmd_mad_ifc(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_port *p = tpm_cmd_port(m, "MAD_IFC", c->in_modifier & 0xff);
	uint32_t class = prm_get(c->in, IB_MAD_CLASS), method = prm_get(c->in, IB_MAD_METHOD),
		 version = prm_get(c->in, IB_MAD_BASE_VERSION);

	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	if (version != 1 || !class_known(class) || !method_known(method))
		return tpm_fail(
			m, BAD_PKT, CMD_PARAM, "MAD_IFC", p->num,
			"version %u, class 0x%02x, method 0x%02x: wanted 1; 0x01, 0x04, 0x09, 0x0a, 0x21 or 0x81; "
			"0x01, 0x02 or 0x07",
			version, class, method);
	memcpy(c->out, c->in, IB_MAD_SIZE);
	/* The sender of a trap is told that it was heard; there is no answer to that. */
	if (method == IB_METHOD_TRAP_REPRESS)
		return MLX4_STAT_OK;
	if (class == IB_CLASS_PERF) {
		tpm_ib_pma(m, p, c->out);
	} else if (class != IB_CLASS_SUBN && class != IB_CLASS_SUBN_DR) {
		refuse(c->out);
	} else if (class == IB_CLASS_SUBN && method == IB_METHOD_GET &&
		   prm_get(c->in, IB_MAD_ATTR) == MLX4_MAD_ATTR_CABLE) {
		prm_set(c->out, IB_MAD_METHOD, IB_METHOD_GET | IB_METHOD_RESP);
		prm_set(c->out, IB_MAD_STATUS, (uint32_t)tpm_cable_get(m, p, c->out) << MLX4_MAD_STATUS_CABLE_SHIFT);
	} else if (!tpm_ib_sma(m, p, c->out, (c->op_modifier & MLX4_MAD_IFC_NO_MKEY) == 0)) {
		return MLX4_STAT_BAD_PKT;
	}
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_set_node(struct tp_model *m, struct tpm_cmd *c)
{
	memcpy(m->ctl->node_desc, c->in, sizeof(m->ctl->node_desc));
	return MLX4_STAT_OK;
}
