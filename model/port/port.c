/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports: link, what leaves, counters [DP 13]. */
#include <errno.h>

#include "mlx4_prm_qos.h"
#include "model/event/event.h"
#include "port.h"

void
tpm_port_set_link(struct tpm_port *p, bool up)
{
	if (up == p->link)
		return;
	p->link = up;
	if (p->wire != NULL && p->wire->ops->carrier != NULL)
		p->wire->ops->carrier(p->wire, up);
}

void
tpm_port_update_link(struct tp_model *m, struct tpm_port *p)
{
	bool up = tpm_port_lit(p) && p->wire != NULL && tpm_wire_fits(p) && p->wire->ops->link(p->wire);

	/* Both ends saw the link go: it may come back. */
	if (p->ibp.retrain && !p->link && !up)
		p->ibp.retrain = false;
	if (up == p->link)
		return;
	tpm_port_set_link(p, up);
	tpm_note(m, "port %u: link %s", p->num, up ? "up" : "down");
	tpm_link(m, p)->changed(m, p, up);
}

static bool
mac_is_broadcast(const uint8_t *d)
{
	return (d[0] & d[1] & d[2] & d[3] & d[4] & d[5]) == 0xff;
}

static void
count_tx(struct tpm_port *p, const struct tp_frame *f, unsigned int slot)
{
	struct tpm_port_counters *c = &p->c;
	uint32_t flen = f->len + TPM_FCS_LEN;
	uint8_t d[TPM_ETH_HLEN + 2] = {0};

	tpm_frame_copy(f, 0, d, sizeof(d));
	if (tpm_load16(d + 12) == TPM_ETYPE_CVLAN) {
		if (slot != MLX4_STATS_LOOPBACK)
			slot = d[14] >> 5;
		c->tx_tagged[slot]++;
	}
	c->tx_size[tpm_size_block(p, flen)][slot]++;
	c->tx_frames[slot]++;
	c->tx_oct[slot] += flen;
	if ((d[0] & 1) == 0)
		c->tx_ucast[slot]++;
	else if (mac_is_broadcast(d))
		c->tx_bcast[slot]++;
	else
		c->tx_mcast[slot]++;
}

static void
count_row(struct tpm_port *p, uint32_t len, uint64_t run, uint64_t *plain, uint64_t *oct)
{
	p->c.tx_size[tpm_size_block(p, len + TPM_FCS_LEN)][MLX4_STATS_NOVLAN] += run;
	*plain += run;
	*oct += run * len;
}

/* Frames like their neighbours are counted together: untagged unicast of one size. */
static void
count_tx_burst(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n)
{
	uint64_t run = 0, oct = 0, bytes = 0, plain = 0, shape = 0;
	uint32_t len = 0; /* of the run's frames */

	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *d = f[i].seg[0].data;

		if (tpm_unlikely(tpm_frame_shape(&f[i]) != shape)) {
			count_row(p, len, run, &plain, &oct);
			run = 0;
			len = f[i].len;
			shape = f[i].nseg == 1 && len >= TPM_ETH_HLEN ? tpm_frame_shape(&f[i]) : 0;
		}
		if (tpm_unlikely((shape == 0 && f[i].seg[0].len < TPM_ETH_HLEN) || (d[0] & 1) != 0 ||
				 tpm_raw16(d + 12) == RTE_BE16(TPM_ETYPE_CVLAN))) {
			count_tx(p, &f[i], MLX4_STATS_NOVLAN);
			bytes += f[i].len;
		} else {
			run++;
		}
	}
	count_row(p, len, run, &plain, &oct);
	p->c.tx_frames[MLX4_STATS_NOVLAN] += plain;
	p->c.tx_ucast[MLX4_STATS_NOVLAN] += plain;
	p->c.tx_oct[MLX4_STATS_NOVLAN] += oct + plain * TPM_FCS_LEN;
	bytes += oct;
	m->st.port[p->num - 1].tx_frames += n;
	m->st.port[p->num - 1].tx_bytes += bytes;
}

void
tpm_port_send(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n)
{
	unsigned int sent;

	if (tpm_unlikely(!p->link)) {
		p->c.tx_drop += n;
		return;
	}
	count_tx_burst(m, p, f, n);
	if (tpm_unlikely(p->mirrored))
		m->port_ops->mirror(m, p, true, f, n);
	sent = tpm_unlikely(p->cn_tags) ? m->port_ops->send_tagged(p, f, n) : p->wire->ops->send(p->wire, f, n);
	if (tpm_unlikely(sent < n))
		p->wire_drops += n - sent;
}

void
tpm_port_count_loop(struct tpm_port *p, const struct tp_frame *f)
{
	count_tx(p, f, MLX4_STATS_LOOPBACK);
}

int
tp_model_cable(struct tp_model *m, unsigned int port, bool plugged)
{
	if (port < 1 || port > TP_MODEL_PORTS)
		return -EINVAL;
	tpm_lock(&m->lock);
	m->port[port - 1].cable = plugged;
	m->port[port - 1].cable_bad = false;
	tpm_port_update_link(m, &m->port[port - 1]);
	/* The far end of a wire between the card's own ports sees it too. */
	tpm_port_update_link(m, &m->port[2 - port]);
	tpm_unlock(&m->lock);
	return 0;
}

int
tp_model_cable_unsupported(struct tp_model *m, unsigned int port)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	if (port < 1 || port > TP_MODEL_PORTS)
		return -EINVAL;
	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_RECOVERABLE);
	prm_set(eqe, MLX4_EQE_SUBTYPE, MLX4_EQE_RECOVERABLE_UNSUPPORTED_CABLE);
	prm_set(eqe, MLX4_EQE_MNG_PORT, port);
	tpm_lock(&m->lock);
	m->port[port - 1].cable = true;
	m->port[port - 1].cable_bad = true;
	tpm_port_update_link(m, &m->port[port - 1]);
	tpm_port_update_link(m, &m->port[2 - port]);
	tpm_event(m, MLX4_EVENT_RECOVERABLE, eqe);
	tpm_unlock(&m->lock);
	return 0;
}
