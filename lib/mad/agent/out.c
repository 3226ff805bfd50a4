/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ways of a datagram out of the port and to agents; the lock and the time, which all parts use. */
#include "mad_priv.h"

#include <errno.h>
#include <stdlib.h>

void
tp_mad_lock(struct tp_mad *m)
{
	pthread_mutex_lock(&m->lock);
}

void
tp_mad_unlock(struct tp_mad *m)
{
	pthread_mutex_unlock(&m->lock);
}

uint64_t
mad_now(struct tp_mad *m)
{
	return m->ops.now_ns(m->home);
}

uint64_t
tp_mad_now(struct tp_mad *m)
{
	return mad_now(m);
}

void
tp_mad_port_state_get(struct tp_mad *m, struct tp_mad_port_state *state)
{
	memset(state, 0, sizeof(*state));
	m->ops.port(m->home, state);
}

bool
mad_queue_add(struct mad_queue *q, const struct tp_mad_packet *pkt)
{
	struct mad_wait *w;

	if (q->num == MAD_WAITING)
		return false;
	w = malloc(sizeof(*w));
	if (w == NULL)
		return false;
	w->pkt = *pkt;
	STAILQ_INSERT_TAIL(&q->list, w, next);
	q->num++;
	return true;
}

void
mad_queue_pop(struct mad_queue *q)
{
	struct mad_wait *w = STAILQ_FIRST(&q->list);

	STAILQ_REMOVE_HEAD(&q->list, next);
	q->num--;
	free(w);
}

void
mad_queue_clear(struct mad_queue *q)
{
	while (q->num != 0)
		mad_queue_pop(q);
}

void
mad_transmit(struct tp_mad *m, const struct tp_mad_packet *pkt)
{
	int err = m->out.num != 0 ? -EAGAIN : m->ops.send(m->home, pkt);

	if (err == -EAGAIN && mad_queue_add(&m->out, pkt))
		return;
	if (err == 0)
		m->stats.sent++;
	else if (err == -EAGAIN)
		m->stats.send_full++;
	else
		m->stats.send_errors++;
}

/* Datagrams of subnet management for our own LID need no wire, and may come before there is one. */
static bool
own_lid(const struct tp_mad_packet *pkt, const struct tp_mad_port_state *port)
{
	return pkt->qpn == 0 && port->lid != 0 && (pkt->dlid & ~((1u << port->lmc) - 1)) == port->lid;
}

int
mad_route_out(struct tp_mad *m, struct tp_mad_packet *pkt)
{
	struct tp_mad_port_state port;
	bool here;

	tp_mad_port_state_get(m, &port);
	here = own_lid(pkt, &port);
	if (pkt->data[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED) {
		enum smi_verdict v = smi_out(pkt->data, port.port_num);

		if (v == SMI_DROP)
			return -EINVAL;
		here = v == SMI_HERE;
	}
	if (!here) {
		mad_transmit(m, pkt);
		return 0;
	}
	pkt->slid = pkt->data[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED ? MAD_LID_PERMISSIVE : port.lid;
	if (!mad_queue_add(&m->local, pkt))
		m->stats.send_full++;
	return 0;
}

void
tp_mad_reply_to(const struct tp_mad_packet *from, struct tp_mad_packet *to)
{
	struct ibv_grh grh = from->grh;
	struct tp_mad_packet r = {.qpn = from->qpn,
				  .remote_qpn = from->remote_qpn,
				  .qkey = from->qpn == 0 ? 0 : MAD_QP1_QKEY,
				  .dlid = from->slid,
				  .pkey_index = from->pkey_index,
				  .sl = from->sl,
				  .path_bits = from->path_bits,
				  .has_grh = from->has_grh,
				  .grh = from->grh};

	if (from->qpn == 0 && from->data[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED)
		r.slid = MAD_LID_PERMISSIVE;
	r.grh.sgid = grh.dgid;
	r.grh.dgid = grh.sgid;
	r.grh.hop_limit = 0xff;
	memcpy(r.data, from->data, sizeof(r.data));
	*to = r;
}

void
mad_agent_free(struct tp_mad_agent *a)
{
	if (a->gone && a->busy == 0)
		free(a);
}

bool
mad_deliver(struct tp_mad_agent *a, const struct tp_mad_packet *pkt, const uint8_t *data, uint32_t len, int status)
{
	const struct tp_mad_msg msg = {.status = status, .pkt = pkt, .data = data, .len = len};
	bool here;

	if (a->gone)
		return false;
	a->busy++;
	a->conf.recv(a->conf.arg, &msg);
	a->busy--;
	here = !a->gone;
	mad_agent_free(a);
	return here;
}
