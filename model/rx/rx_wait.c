/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames leave the receive buffers: to the queue that they wait for, or lost. */
#include "model/qos/qos.h"
#include "model/queue/queue.h"
#include "rx.h"

/* The first frame is delivered or lost; false: it goes on waiting. */
static bool
head_goes(struct tp_model *m, struct tpm_port *p, struct tpm_held *h)
{
	struct tp_frame_seg seg = {.data = h->data, .len = h->len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .flags = h->flags, .len = h->len};
	struct tpm_qp *qp = tpm_qp_get(m, h->qpn);

	if (qp == NULL || !tpm_qp_can_receive(qp)) {
		p->c.rx_drop++;
		return true;
	}
	if (tpm_receive_now(m, p, qp, &f, h->hash)) {
		qp->delay_runs = false;
		return true;
	}
	if (tpm_qp_can_receive(qp) && tpm_delay_waits(m, p, qp))
		return false;
	p->rx_no_wqe++;
	p->c.rx_drop++;
	return true;
}

unsigned int
tpm_rxbuf_poll(struct tp_model *m, struct tpm_port *p)
{
	struct tpm_qos *q = p->qos;
	unsigned int done = 0;
	bool waits = false;

	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		struct tpm_held_list *l = &q->rx_held[i];

		while (l->head != NULL && head_goes(m, p, l->head)) {
			tpm_rxbuf_take(q, l);
			done++;
		}
		waits |= l->head != NULL;
	}
	tpm_rxbuf_check(m, p);
	p->rx_waits = waits;
	m->waits |= waits;
	return done;
}
