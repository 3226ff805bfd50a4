/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive buffers of a port. A frame stays in them only while the queue that it is for has no receive WQE and is told to
 * let frames wait (delay.c), or behind such a frame of its own priority; other priorities go on. A lossless buffer that
 * fills up pauses the sender, by PFC or by global pause; what finds its buffer full is lost and counted.
 */
#include <stdlib.h>

#include "qos.h"

#define QUANTA_MAX 0xffffu

/* --- settings --------------------------------------------------------------------------------------------- */

static uint32_t
xoff_of(const struct tp_model_config *cfg, uint32_t size)
{
	return cfg->xoff_bytes != 0 ? cfg->xoff_bytes : size / 2;
}

static uint32_t
xon_of(const struct tp_model_config *cfg, uint32_t size)
{
	uint32_t xoff = xoff_of(cfg, size);

	if (cfg->xon_bytes != 0)
		return cfg->xon_bytes;
	return size / 4 < xoff ? size / 4 : xoff;
}

bool
tpm_rxbuf_config_valid(const struct tp_model_config *cfg)
{
	uint32_t size = cfg->rxbuf_bytes != 0 ? cfg->rxbuf_bytes : TP_RXBUF_DEFAULT;

	return size >= TP_RXBUF_MIN && size <= TP_RXBUF_MAX && xoff_of(cfg, size) <= size &&
	       xon_of(cfg, size) <= xoff_of(cfg, size);
}

void
tpm_rxbuf_init(struct tpm_port *p, const struct tp_model_config *cfg)
{
	p->qos->rx_size = cfg->rxbuf_bytes != 0 ? cfg->rxbuf_bytes : TP_RXBUF_DEFAULT;
	p->qos->rx_xoff = xoff_of(cfg, p->qos->rx_size);
	p->qos->rx_xon = xon_of(cfg, p->qos->rx_size);
}

void
tpm_rxbuf_reset(struct tpm_port *p)
{
	p->rx_waits = false;
	for (unsigned int i = 0; i < sizeof(p->qos->dscp_prio); i++)
		p->qos->dscp_prio[i] = (uint8_t)(i / MLX4_PRIOS);
}

/* --- priority --------------------------------------------------------------------------------------------- */

unsigned int
tpm_qos_rx_prio(const struct tpm_port *p, const struct tpm_pkt *k, const uint8_t *h)
{
	const struct tpm_qos *q = p->qos;

	if (q->trust == MLX4_PRIOMAP_TRUST_DSCP && k->len_ok && k->etype == TPM_ETYPE_IPV4)
		return q->dscp_prio[h[k->l3 + 1] >> 2];
	if (q->trust == MLX4_PRIOMAP_TRUST_DSCP && k->len_ok)
		return q->dscp_prio[tpm_load16(h + k->l3) >> 6 & 0x3f];
	return k->cvlan ? k->tci >> 13 : q->untagged_prio;
}

/* The priority of a frame, by what the port trusts; *pool: whose space it takes. */
static unsigned int
frame_prio(const struct tpm_port *p, const struct tp_frame *f, uint8_t *pool)
{
	const struct tpm_qos *q = p->qos;
	uint8_t buf[TPM_PARSE_MAX], prio;
	struct tpm_pkt k;
	uint32_t hlen;
	const uint8_t *h = tpm_frame_head(f, buf, &hlen);

	tpm_parse(h, hlen, f->len, &k);
	prio = (uint8_t)tpm_qos_rx_prio(p, &k, h);
	if (p->tx_pause)
		*pool = TPM_POOL_GLOBAL;
	else if ((p->tx_pfc >> prio & 1) != 0 && (k.cvlan || q->untagged_lossless))
		*pool = prio;
	else
		*pool = TPM_POOL_LOSSY;
	return prio;
}

/* --- telling the peer ------------------------------------------------------------------------------------- */

/* Does the port send pause frames for what is in this pool? */
static bool
generates(const struct tpm_port *p, unsigned int pool)
{
	return pool == TPM_POOL_GLOBAL ? p->tx_pause : pool < MLX4_PRIOS && (p->tx_pfc >> pool & 1) != 0;
}

static void
tell(struct tp_model *m, struct tpm_port *p, unsigned int pool, uint16_t quanta)
{
	bool global = pool == TPM_POOL_GLOBAL;

	p->qos->refresh[pool] = tpm_now(m) + tpm_quanta_ns(p, quanta / 2);
	tpm_pause_send(m, p, global, global ? 0 : (uint8_t)(1u << pool), quanta);
}

static void
pool_check(struct tp_model *m, struct tpm_port *p, unsigned int pool)
{
	struct tpm_qos *q = p->qos;
	uint16_t bit = (uint16_t)(1u << pool);
	struct tpm_flow *flow = &q->tx[pool % MLX4_PRIOS];

	if ((q->stopped & bit) == 0) {
		if (q->rx_fill[pool] < q->rx_xoff || !generates(p, pool))
			return;
		q->stopped |= bit;
		tpm_flow_start(flow, tpm_now(m));
		tell(m, p, pool, QUANTA_MAX);
	} else if (q->rx_fill[pool] <= q->rx_xon) {
		q->stopped &= (uint16_t)~bit;
		tpm_flow_stop(flow, tpm_now(m));
		tell(m, p, pool, 0);
	} else if (tpm_now(m) >= q->refresh[pool]) {
		tell(m, p, pool, QUANTA_MAX);
	}
}

void
tpm_rxbuf_config(struct tp_model *m, struct tpm_port *p)
{
	for (unsigned int pool = 0; pool < TPM_POOL_LOSSY; pool++) {
		uint16_t bit = (uint16_t)(1u << pool);

		if (generates(p, pool) || (p->qos->stopped & bit) == 0)
			continue;
		/* Who sends no pause frames sends none that ends a pause: the peer goes on when its time is over. */
		p->qos->stopped &= (uint16_t)~bit;
		tpm_flow_stop(&p->qos->tx[pool % MLX4_PRIOS], tpm_now(m));
	}
}

/* --- in and out ------------------------------------------------------------------------------------------- */

bool
tpm_rxbuf_behind(const struct tpm_port *p, const struct tp_frame *f)
{
	uint8_t pool;

	return p->qos->rx_held[frame_prio(p, f, &pool)].head != NULL;
}

bool
tpm_rxbuf_put(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *f, uint32_t hash)
{
	struct tpm_qos *q = p->qos;
	uint8_t pool;
	unsigned int prio = frame_prio(p, f, &pool);
	uint32_t len = f->len + TPM_FCS_LEN;
	struct tpm_held *h = len <= q->rx_size - q->rx_fill[pool] ? tpm_hold(f) : NULL;

	if (h == NULL) {
		p->c.rx_overflow++;
		q->rx_overflow[prio]++;
		return false;
	}
	h->pool = pool;
	h->qpn = qp->qpn;
	h->hash = hash;
	tpm_held_add(&q->rx_held[prio], h);
	q->rx_fill[pool] += len;
	p->rx_waits = true;
	pool_check(m, p, pool);
	return true;
}

void
tpm_rxbuf_take(struct tpm_qos *q, struct tpm_held_list *l)
{
	struct tpm_held *h = tpm_held_take(l);

	q->rx_fill[h->pool] -= h->len + TPM_FCS_LEN;
	free(h);
}

void
tpm_rxbuf_check(struct tp_model *m, struct tpm_port *p)
{
	for (unsigned int pool = 0; pool < TPM_POOL_LOSSY; pool++)
		pool_check(m, p, pool);
}

void
tpm_rxbuf_forget(struct tp_model *m, const struct tpm_qp *qp)
{
	for (unsigned int n = 0; n < TP_MODEL_PORTS; n++) {
		struct tpm_qos *q = m->port[n].qos;

		for (unsigned int i = 0; m->port[n].rx_waits && i < MLX4_PRIOS; i++) {
			/* Once round: who stays goes to the end. */
			for (uint32_t k = q->rx_held[i].count; k != 0; k--) {
				if (q->rx_held[i].head->qpn == qp->qpn) {
					tpm_rxbuf_take(q, &q->rx_held[i]);
					m->port[n].c.rx_drop++;
				} else {
					tpm_held_add(&q->rx_held[i], tpm_held_take(&q->rx_held[i]));
				}
			}
		}
	}
}
