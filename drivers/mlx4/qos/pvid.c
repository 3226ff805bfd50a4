/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* ethdev's words for the port VLAN: the tag of frames that are sent without one. Nothing of it touches received frames. */
#include <errno.h>

#include "qos.h"

int
mlx4_vlan_pvid_set(struct rte_eth_dev *dev, uint16_t vid, int on)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct tp_qos_port q;
	char err[TP_ERR_LEN];
	int rc;

	mlx4_qos_lock(eth);
	q = eth->qos->conf;
	if (on != 0) {
		q.port_vlan = vid;
		q.tag_untagged |= TP_TAG_VLAN;
	} else {
		q.port_vlan = 0;
		q.tag_untagged &= (uint8_t)~TP_TAG_VLAN;
	}
	rc = mlx4_qos_apply(eth, &q, err);
	mlx4_qos_unlock(eth);
	if (rc != 0)
		MLX4_LOG(ERR, "port %u: %s", dev->data->port_id, err);
	return rc;
}
