/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ethernet or InfiniBand: by device argument, else by the wire, else by what the card has stored [CP 4.1, 4.5, V-1]. */
#include <errno.h>

#include "drivers/mlx4/hca/core.h"
#include "type.h"

#define PORTS_1_ETH_2_IB 2u /* as ib_ports */

const char *const mlx4_port_want_names[MLX4_PORT_WANTS] = {
	[MLX4_PORT_WANT_AUTO] = "auto", [MLX4_PORT_WANT_ETH] = "eth", [MLX4_PORT_WANT_IB] = "ib"};

static bool
has_flag(const struct mlx4_hca *hca, enum mlx4_dev_flag flag)
{
	return ((hca->caps.flags >> flag) & 1) != 0;
}

/* A port that can be both is what its partner is; without a partner what the card has stored. */
static bool
is_sensed_ib(struct mlx4_hca *hca, unsigned int port)
{
	uint32_t type = MLX4_SENSE_NONE;

	if (has_flag(hca, MLX4_DEV_FLAG_SENSE) && mlx4_port_sense(hca, port, &type) == 0) {
		if (type == MLX4_SENSE_IB || type == MLX4_SENSE_ETH)
			return type == MLX4_SENSE_IB;
		if (type != MLX4_SENSE_NONE)
			HCA_LOG(hca, WARNING, "port %u: the firmware senses type %u, wanted 0..2", port, type);
	}
	HCA_LOG(hca, INFO, "port %u: no partner was sensed; its stored type is %s", port,
		hca->port[port - 1].suggested_eth ? "eth" : "ib");
	return !hca->port[port - 1].suggested_eth;
}

static int
choose_one(struct mlx4_hca *hca, unsigned int port, enum mlx4_port_want want, bool *ib)
{
	const struct mlx4_port_info *info = &hca->port[port - 1];

	*ib = want == MLX4_PORT_WANT_AUTO ? !info->type_eth : want == MLX4_PORT_WANT_IB;
	if (want == MLX4_PORT_WANT_AUTO && info->type_eth && info->type_ib) {
		hca->sensed_ports |= 1u << (port - 1);
		*ib = is_sensed_ib(hca, port);
	}
	if (*ib ? info->type_ib : info->type_eth)
		return 0;
	HCA_LOG(hca, ERR, "port-type%u=%s: port %u can be %s only", port - 1, mlx4_port_want_names[want], port,
		info->type_eth  ? "eth"
		: info->type_ib ? "ib"
				: "nothing");
	return -EINVAL;
}

/* What the choice of each port by itself does not show. */
static int
check_pair(const struct mlx4_hca *hca)
{
	bool sensed = hca->sensed_ports != 0;

	if (hca->caps.num_ports < 2 || hca->ib_ports == 0 || hca->ib_ports == 3)
		return 0;
	if (!has_flag(hca, MLX4_DEV_FLAG_DPDP)) {
		HCA_LOG(hca, ERR,
			"port 1 is %s and port 2 %s%s, but the firmware takes one type for both: give port-type0 and "
			"port-type1 the same",
			(hca->ib_ports & 1) != 0 ? "ib" : "eth", (hca->ib_ports & 2) != 0 ? "ib" : "eth",
			sensed ? ", as the wires say" : "");
		return -EINVAL;
	}
	if (hca->ib_ports != PORTS_1_ETH_2_IB || hca->caps.roce)
		return 0;
	HCA_LOG(hca, ERR,
		"[port-type-refused] port 1 is eth without RoCE, which the firmware lacks, and port 2 ib%s; wanted "
		"RoCE on "
		"port 1, or another type of one of them (port-type0, port-type1)",
		sensed ? ", as the wires say" : "");
	return -ENOTSUP;
}

int
mlx4_port_types_choose(struct mlx4_hca *hca, const uint8_t want[MLX4_MAX_PORTS])
{
	unsigned int port;
	bool ib;
	int rc;

	hca->ib_ports = hca->sensed_ports = 0;
	for (port = 1; port <= hca->caps.num_ports; port++) {
		rc = choose_one(hca, port, want[port - 1], &ib);
		if (rc != 0)
			return rc;
		hca->ib_ports |= ib ? 1u << (port - 1) : 0;
	}
	for (; port <= MLX4_MAX_PORTS; port++)
		if (want[port - 1] != MLX4_PORT_WANT_AUTO) {
			HCA_LOG(hca, ERR, "port-type%u=%s: the card has %u port(s)", port - 1,
				mlx4_port_want_names[want[port - 1]], hca->caps.num_ports);
			return -EINVAL;
		}
	return check_pair(hca);
}
