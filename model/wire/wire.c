/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Wires inside the card: loopback, cross, none. A frame goes straight from the sender's memory to the receiver.
 * Frames of all other wires enter through tp_model_port_receive.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/ib/ib.h"
#include "model/port/port.h"
#include "wire.h"

struct inner_wire {
	struct tp_wire w;
	struct tp_model *m;
	struct tpm_port *from;   /* whose side this is */
	struct tpm_port *to;     /* who receives what it sends */
	struct inner_wire *peer; /* the other side, NULL when it was unplugged; itself for loopback */
};

static unsigned int
inner_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	struct inner_wire *i = (struct inner_wire *)w;

	if (i->peer == NULL)
		return 0;
	tpm_port_arrive(i->m, i->to, f, n);
	return n;
}

static bool
loopback_link(struct tp_wire *w)
{
	return true;
}

/* The other port's side is there and its laser is on. */
static bool
cross_link(struct tp_wire *w)
{
	const struct inner_wire *i = (const struct inner_wire *)w;

	return i->peer != NULL && tpm_port_lit(i->to) && i->to->ib == i->from->ib;
}

static uint32_t
cross_train(struct tp_wire *w, uint32_t speeds)
{
	return speeds & tpm_ib_speeds(&((const struct inner_wire *)w)->to->ibp);
}

static void
inner_destroy(struct tp_wire *w)
{
	struct inner_wire *i = (struct inner_wire *)w;

	if (i->peer != NULL) {
		i->peer->from->direct = NULL;
		i->peer->peer = NULL;
	}
	free(i);
}

static const struct tp_wire_ops loopback_ops = {
	.name = "loopback", .send = inner_send, .link = loopback_link, .destroy = inner_destroy};
static const struct tp_wire_ops cross_ops = {
	.name = "cross", .send = inner_send, .link = cross_link, .train = cross_train, .destroy = inner_destroy};

/* The card's other port says what it is by being of one type, or by having been set up. */
static enum tp_sense
cross_sense(const struct inner_wire *i)
{
	enum tp_port_type type = i->m->cfg.port_type[i->to->num - 1];

	if (i->peer == NULL || (type == TP_PORT_AUTO && !i->to->open))
		return TP_SENSE_NONE;
	if (type == TP_PORT_AUTO)
		return i->to->ib ? TP_SENSE_IB : TP_SENSE_ETH;
	return type == TP_PORT_IB ? TP_SENSE_IB : TP_SENSE_ETH;
}

enum tp_sense
tpm_wire_sense(const struct tpm_port *p)
{
	const struct tp_wire *w = p->wire;

	if (w == NULL || w->ops == &loopback_ops)
		return TP_SENSE_NONE;
	if (w->ops == &cross_ops)
		return cross_sense((const struct inner_wire *)w);
	return w->ops->media == TP_WIRE_IB ? TP_SENSE_IB : w->ops->media == TP_WIRE_ETH ? TP_SENSE_ETH : TP_SENSE_NONE;
}

static struct inner_wire *
inner_create(struct tp_model *m, const struct tp_wire_ops *ops, struct tpm_port *from, struct tpm_port *to)
{
	struct inner_wire *i = calloc(1, sizeof(*i));

	if (i == NULL)
		return NULL;
	i->w.ops = ops;
	i->m = m;
	i->from = from;
	i->to = to;
	i->peer = i;
	return i;
}

void
tpm_wire_detach(struct tpm_port *p)
{
	struct tp_wire *w = p->wire;

	p->wire = NULL;
	p->direct = NULL;
	if (w != NULL && w->ops->destroy != NULL)
		w->ops->destroy(w);
}

static void
update_links(struct tp_model *m)
{
	for (unsigned int i = 0; i < m->cfg.num_ports; i++)
		tpm_port_update_link(m, &m->port[i]);
}

int
tp_model_wire_attach(struct tp_model *m, unsigned int port, struct tp_wire *w)
{
	if (port < 1 || port > TP_MODEL_PORTS)
		return -EINVAL;
	tpm_lock(&m->lock);
	tpm_wire_detach(&m->port[port - 1]);
	m->port[port - 1].wire = w;
	/* The far end of the new cable learns of a link that stays up. */
	if (m->port[port - 1].link && w != NULL && w->ops->carrier != NULL)
		w->ops->carrier(w, true);
	update_links(m);
	tpm_unlock(&m->lock);
	return 0;
}

int
tp_model_wire_none(struct tp_model *m, unsigned int port)
{
	return tp_model_wire_attach(m, port, NULL);
}

int
tp_model_wire_loopback(struct tp_model *m, unsigned int port)
{
	struct inner_wire *i;

	if (port < 1 || port > m->cfg.num_ports)
		return -EINVAL;
	i = inner_create(m, &loopback_ops, &m->port[port - 1], &m->port[port - 1]);
	if (i == NULL)
		return -ENOMEM;
	return tp_model_wire_attach(m, port, &i->w);
}

int
tp_model_wire_cross(struct tp_model *m)
{
	struct inner_wire *a, *b;

	if (m->cfg.num_ports != 2)
		return -EINVAL;
	a = inner_create(m, &cross_ops, &m->port[0], &m->port[1]);
	b = inner_create(m, &cross_ops, &m->port[1], &m->port[0]);
	if (a == NULL || b == NULL) {
		free(a);
		free(b);
		return -ENOMEM;
	}
	a->peer = b;
	b->peer = a;
	tpm_lock(&m->lock);
	tpm_wire_detach(&m->port[0]);
	tpm_wire_detach(&m->port[1]);
	m->port[0].wire = &a->w;
	m->port[1].wire = &b->w;
	m->port[0].direct = &m->port[1];
	m->port[1].direct = &m->port[0];
	update_links(m);
	tpm_unlock(&m->lock);
	return 0;
}

unsigned int
tp_model_port_receive(struct tp_model *m, unsigned int port, const struct tp_frame *f, unsigned int n)
{
	struct tp_frame burst[TPM_BURST];
	unsigned int i, k = 0;
	struct tpm_port *p;
	uint64_t before;

	if (port < 1 || port > m->cfg.num_ports)
		return 0;
	p = &m->port[port - 1];
	before = p->rx_link_down;
	for (i = 0; i < n; i++) {
		if (f[i].nseg == 0 || f[i].nseg > TP_FRAME_SEGS)
			continue;
		burst[k] = f[i];
		burst[k++].flags &= TP_FRAME_BAD_FCS; /* only the flags that a wire may know */
		if (k == TPM_BURST) {
			tpm_port_arrive(m, p, burst, k);
			k = 0;
		}
	}
	if (k != 0)
		tpm_port_arrive(m, p, burst, k);
	return p->rx_link_down == before ? n : 0;
}
