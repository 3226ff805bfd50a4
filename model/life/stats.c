/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What an observer sees of the card. */
#include "model/cmd/cmd.h"

static uint64_t
sum(const uint64_t *v, unsigned int n)
{
	uint64_t s = 0;

	for (unsigned int i = 0; i < n; i++)
		s += v[i];
	return s;
}

void
tp_model_get_stats(struct tp_model *m, struct tp_model_stats *st)
{
	tpm_lock(&m->lock);
	*st = m->st;
	st->watch_arms = atomic_load_explicit(&m->watch.arms, memory_order_relaxed);
	st->watch_wakes = atomic_load_explicit(&m->watch.wakes, memory_order_relaxed);
	st->fw_pages = m->fw_pages;
	st->aux_pages = m->aux_pages;
	st->dma_windows = m->num_win;
	st->dma_bytes_mapped = 0;
	for (uint32_t i = 0; i < m->num_win; i++)
		st->dma_bytes_mapped += m->win[i].len;
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		const struct tpm_port *p = &m->port[i];

		st->port[i].tx_frames = sum(p->c.tx_frames, MLX4_STATS_LOOPBACK);
		st->port[i].tx_bytes = sum(p->c.tx_oct, MLX4_STATS_LOOPBACK);
		st->port[i].rx_frames = sum(p->c.rx_frames, MLX4_STATS_NOVLAN + 1);
		st->port[i].rx_bytes = sum(p->c.rx_oct, MLX4_STATS_NOVLAN + 1);
		if (p->ib) {
			st->port[i].tx_frames = p->ibp.pm.c.tx_packets;
			st->port[i].tx_bytes = p->ibp.pm.c.tx_bytes;
			st->port[i].rx_frames = p->ibp.pm.c.rx_packets;
			st->port[i].rx_bytes = p->ibp.pm.c.rx_bytes;
		}
		st->port[i].tx_ip_sums = p->tx_ip_sums;
		st->port[i].tx_l4_sums = p->tx_l4_sums;
		st->port[i].wire_drops = p->wire_drops;
		st->port[i].rx_no_rule = p->rx_no_rule;
		st->port[i].rx_vlan_filtered = p->rx_vlan_filtered;
		st->port[i].rx_no_wqe = p->rx_no_wqe;
		st->port[i].rx_too_long = p->rx_too_long;
		st->port[i].rx_bad_fcs = p->rx_bad_fcs;
		st->port[i].rx_link_down = p->rx_link_down;
		st->port[i].tx_no_transport = p->tx_no_transport;
		st->port[i].roce_tx = p->roce_tx;
		st->port[i].roce_rx = p->roce_rx;
		st->port[i].roce_bad_icrc = p->roce_bad_icrc;
		st->port[i].roce_no_qp = p->roce_no_qp;
		st->port[i].roce_no_gid = p->roce_no_gid;
		st->port[i].roce_malformed = p->roce_malformed;
		st->port[i].wire = p->wire == NULL ? "none" : p->wire->ops->name;
		st->port[i].link_up = p->link;
		st->port[i].beacon_s = p->beacon_s;
	}
	tpm_unlock(&m->lock);
}

void
tp_model_each_command(struct tp_model *m, void (*fn)(void *arg, const char *name, uint64_t count), void *arg)
{
	for (unsigned int i = 0; i < tpm_cmd_info_count; i++) {
		uint64_t n;

		tpm_lock(&m->lock);
		n = m->cmd_count[i];
		tpm_unlock(&m->lock);
		if (n != 0)
			fn(arg, tpm_cmd_info[i].name, n);
	}
}
