/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * InfiniBand ports: bring-up [CP 4.2, 7.3], and what the firmware tells and does by management datagrams [CP 4.9]. The
 * port's state, addresses and tables are the subnet manager's; the driver reads them.
 */
#include <errno.h>
#include <string.h>

#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/hca/port/ib.h"

#define VLS_MAX 8u
#define MTU_4096 5u
#define RATE_CODE_MIN 7u /* 2.5 Gb/s */
#define RATE_CODE_MAX 15u

static void
request(uint8_t *mad, uint32_t attr, uint32_t modifier)
{
	memset(mad, 0, MLX4_MAD_SIZE);
	prm_set(mad, MLX4_MAD_BASE_VERSION, 1);
	prm_set(mad, MLX4_MAD_CLASS, MLX4_MAD_CLASS_LID_ROUTED);
	prm_set(mad, MLX4_MAD_CLASS_VERSION, 1);
	prm_set(mad, MLX4_MAD_METHOD, MLX4_MAD_METHOD_GET);
	prm_set(mad, MLX4_MAD_ATTR, attr);
	prm_set(mad, MLX4_MAD_MODIFIER, modifier);
}

int
mlx4_port_ib_try(struct mlx4_hca *hca, unsigned int port, uint32_t attr, uint32_t modifier, uint8_t *mad)
{
	uint8_t in[MLX4_MAD_SIZE];
	int rc;

	request(in, attr, modifier);
	rc = mlx4_cmd(hca, MLX4_CMD_MAD_IFC, MLX4_MAD_IFC_NO_KEYS, port, in, sizeof(in), mad, MLX4_MAD_SIZE);
	if (rc != 0)
		return rc;
	return prm_get(mad, MLX4_MAD_STATUS) == 0 ? 0 : -ENOTSUP;
}

int
mlx4_port_ib_get(struct mlx4_hca *hca, unsigned int port, uint32_t attr, uint32_t modifier, uint8_t *mad)
{
	int rc = mlx4_port_ib_try(hca, port, attr, modifier, mad);

	if (rc != -ENOTSUP)
		return rc;
	HCA_LOG(hca, ERR, "port %u: the firmware does not tell attribute 0x%04x, modifier 0x%x: status 0x%04x", port,
		attr, modifier, prm_get(mad, MLX4_MAD_STATUS));
	return -EIO;
}

int
mlx4_port_ib_mad_ifc(struct mlx4_hca *hca, unsigned int port, const uint8_t *in, const struct mlx4_mad_from *from,
		     uint8_t *out)
{
	uint8_t box[MLX4_MAD_EXT_SIZE] = {0};
	uint8_t op = MLX4_MAD_IFC_NO_KEYS;
	uint32_t mod = port;

	memcpy(box, in, MLX4_MAD_SIZE);
	if (from != NULL) {
		op = MLX4_MAD_IFC_EXT;
		mod |= (uint32_t)from->slid << MLX4_MAD_IFC_SLID_SHIFT;
		prm_set(box, MLX4_MAD_EXT_MY_QPN, from->my_qpn);
		prm_set(box, MLX4_MAD_EXT_RQPN, from->remote_qpn);
		prm_set(box, MLX4_MAD_EXT_SL, from->sl);
		prm_set(box, MLX4_MAD_EXT_PATH_BITS, from->path_bits);
		prm_set(box, MLX4_MAD_EXT_PKEY_INDEX, from->pkey_index);
		if (from->grh != NULL) {
			prm_set(box, MLX4_MAD_EXT_GRH, 1);
			memcpy(box + MLX4_MAD_EXT_GRH_AT, from->grh, MLX4_MAD_GRH_SIZE);
		}
	}
	/* What comes from the wire may be anything: that the firmware refuses it is no line in the log. */
	return mlx4_cmd_try(hca, MLX4_CMD_MAD_IFC, op, mod, box, sizeof(box), out, MLX4_MAD_SIZE);
}

int
mlx4_port_ib_info(struct mlx4_hca *hca, unsigned int port, struct mlx4_port_ib_info *i)
{
	uint8_t mad[MLX4_MAD_SIZE];
	int rc = mlx4_port_ib_get(hca, port, MLX4_MAD_ATTR_PORT_INFO, port, mad);

	if (rc != 0)
		return rc;
	*i = (struct mlx4_port_ib_info){
		.prefix = prm_get64(mad, MLX4_PINFO_GID_PREFIX),
		.lid = (uint16_t)prm_get(mad, MLX4_PINFO_LID),
		.sm_lid = (uint16_t)prm_get(mad, MLX4_PINFO_SM_LID),
		.cap_mask = prm_get(mad, MLX4_PINFO_CAP_MASK),
		.width = (uint8_t)prm_get(mad, MLX4_PINFO_WIDTH),
		.speed = (uint8_t)prm_get(mad, MLX4_PINFO_SPEED),
		.ext_speed = (uint8_t)prm_get(mad, MLX4_PINFO_EXT_SPEED),
		.state = (uint8_t)prm_get(mad, MLX4_PINFO_STATE),
		.phys_state = (uint8_t)prm_get(mad, MLX4_PINFO_PHYS_STATE),
		.lmc = (uint8_t)prm_get(mad, MLX4_PINFO_LMC),
		.mtu = (uint8_t)prm_get(mad, MLX4_PINFO_MTU),
		.mtu_cap = (uint8_t)prm_get(mad, MLX4_PINFO_MTU_CAP),
		.sm_sl = (uint8_t)prm_get(mad, MLX4_PINFO_SM_SL),
		.vl_cap = (uint8_t)prm_get(mad, MLX4_PINFO_VL_CAP),
		.init_reply = (uint8_t)prm_get(mad, MLX4_PINFO_INIT_REPLY),
		.bad_pkeys = (uint16_t)prm_get(mad, MLX4_PINFO_BAD_PKEYS),
		.bad_qkeys = (uint16_t)prm_get(mad, MLX4_PINFO_BAD_QKEYS),
		.guids = (uint8_t)prm_get(mad, MLX4_PINFO_GUIDS),
		.subnet_timeout = (uint8_t)prm_get(mad, MLX4_PINFO_SUBNET_TIMEOUT),
	};
	return 0;
}

int
mlx4_port_ib_caps(struct mlx4_hca *hca, unsigned int port, uint32_t cap_mask)
{
	uint8_t box[MLX4_SPIB_SIZE] = {0};

	prm_set(box, MLX4_SPIB_CAP_MASK, cap_mask);
	return mlx4_cmd(hca, MLX4_CMD_SET_PORT, MLX4_SET_PORT_OPM_IB, port, box, sizeof(box), NULL, 0);
}

/* The most virtual lanes that the firmware has buffers for, beside the largest MTU. */
static int
set_port(struct mlx4_hca *hca, unsigned int port, uint32_t cap_mask)
{
	uint8_t box[MLX4_SPIB_SIZE] = {0};
	uint32_t vls;
	int rc = -EINVAL;

	prm_set(box, MLX4_SPIB_V_MTU_CAP, 1);
	prm_set(box, MLX4_SPIB_MTU_CAP, MTU_4096);
	prm_set(box, MLX4_SPIB_V_PKEYS, 1);
	prm_set(box, MLX4_SPIB_MAX_PKEYS, 1u << hca->port[port - 1].lg_pkeys);
	prm_set(box, MLX4_SPIB_V_VL_CAP, 1);
	prm_set(box, MLX4_SPIB_CAP_MASK, cap_mask);
	for (vls = VLS_MAX; vls != 0; vls /= 2) {
		prm_set(box, MLX4_SPIB_VL_CAP, vls);
		rc = mlx4_cmd_try(hca, MLX4_CMD_SET_PORT, MLX4_SET_PORT_OPM_IB, port, box, sizeof(box), NULL, 0);
		if (rc == 0)
			return 0;
	}
	HCA_LOG(hca, ERR, "port %u: the firmware takes no number of virtual lanes from %u down to 1, with MTU 4096",
		port, VLS_MAX);
	return rc;
}

uint8_t
mlx4_port_ib_rate(const struct mlx4_hca *hca, uint8_t rate)
{
	uint32_t code = rate + MLX4_STATIC_RATE_OFFSET;

	if (rate == 0)
		return 0;
	/* The card has a bit for each code up to 15 [DP 10.6]; what it lacks is served by the next smaller one. */
	while (code > RATE_CODE_MIN && (code > RATE_CODE_MAX || (hca->caps.static_rates >> code & 1) == 0))
		code--;
	return (uint8_t)code;
}

int
mlx4_port_ib_up(struct mlx4_hca *hca, unsigned int port)
{
	struct mlx4_port_ib_info info;
	int rc;

	rc = mlx4_port_ib_info(hca, port, &info);
	if (rc == 0)
		rc = set_port(hca, port, info.cap_mask);
	return rc == 0 ? mlx4_port_init(hca, port) : rc;
}
