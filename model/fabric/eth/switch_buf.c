/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The buffer: what a frame is charged to, when it is dropped, when a sender has to pause, when a packet is marked. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "switch.h"

#define ECN_MASK 3u
#define ECN_CE 3u

static const uint32_t class_size[SW_CLASSES] = {256, 2048, 16000};

int
sw_pools(const struct tp_switch_config *cfg, uint32_t ports, uint64_t *shared, char err[TP_SWITCH_TEXT])
{
	uint64_t of_port = (uint64_t)TP_SWITCH_PRIOS * cfg->reserve_bytes +
			   (uint64_t)__builtin_popcount(cfg->lossless) * cfg->headroom_bytes;

	if (ports * of_port >= cfg->buffer_bytes) {
		snprintf(err, TP_SWITCH_TEXT,
			 "buffer %u: reserves and headroom of %u ports take %" PRIu64
			 " bytes; wanted a larger buffer, or less of these",
			 cfg->buffer_bytes, ports, ports * of_port);
		return -ENOSPC;
	}
	*shared = cfg->buffer_bytes - ports * of_port;
	return 0;
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

static struct sw_buf *
buf_alloc(struct tp_switch *sw, uint32_t len)
{
	unsigned int c = 0;
	struct sw_buf *b;

	while (c + 1 < SW_CLASSES && class_size[c] < len)
		c++;
	b = sw->spare[c];
	if (tpm_likely(b != NULL)) {
		sw->spare[c] = b->next;
		return b;
	}
	b = malloc(sizeof(*b) + class_size[c]);
	if (b != NULL)
		b->size_class = (uint8_t)c;
	return b;
}

void
sw_buf_free(struct tp_switch *sw, struct sw_buf *b)
{
	b->next = sw->spare[b->size_class];
	sw->spare[b->size_class] = b;
}

void
sw_buf_fini(struct tp_switch *sw)
{
	for (unsigned int c = 0; c < SW_CLASSES; c++)
		while (sw->spare[c] != NULL) {
			struct sw_buf *b = sw->spare[c];

			sw->spare[c] = b->next;
			free(b);
		}
}

/* --- charging --------------------------------------------------------------------------------------------------- */

static uint64_t
shared_free(const struct tp_switch *sw)
{
	/* Less than nothing after settings that made the pool smaller. */
	return sw->shared_size > sw->shared_used ? sw->shared_size - sw->shared_used : 0;
}

/* Where a frame is charged; false: nowhere, because of *why. */
static bool
decide(const struct tp_switch_port *in, const struct sw_class *tc, unsigned int prio, uint32_t len,
       enum sw_charge *charge, enum tp_switch_drop *why)
{
	const struct tp_switch *sw = in->sw;
	const struct sw_ingress *g = &in->in[prio];
	uint64_t room = shared_free(sw);

	*charge = SW_SHARED;
	if ((sw->cfg.lossless >> prio & 1) != 0) {
		*why = TP_SWITCH_DROP_HEADROOM;
		if (g->bytes - g->headroom + len <= sw->cfg.xoff_bytes && len <= room)
			return true;
		*charge = SW_HEADROOM;
		return g->headroom + len <= sw->cfg.headroom_bytes;
	}
	if (tc->reserve + len <= sw->cfg.reserve_bytes) {
		*charge = SW_RESERVE;
		return true;
	}
	*why = len > room ? TP_SWITCH_DROP_BUFFER : TP_SWITCH_DROP_QUEUE;
	return len <= room && tc->shared + len <= room * sw->alpha >> 10;
}

static void
peak(uint64_t *max, uint64_t v)
{
	if (v > *max)
		*max = v;
}

static void
charge_buf(struct tp_switch_port *in, struct tp_switch_port *out, const struct sw_buf *b)
{
	struct tp_switch_prio_stats *st = &in->st.prio[b->prio];
	struct sw_ingress *g = &in->in[b->prio];
	struct sw_class *tc = &out->tc[b->tc];
	struct tp_switch *sw = in->sw;

	tc->bytes += b->len;
	g->bytes += b->len;
	sw->used += b->len;
	sw->queued++;
	switch ((enum sw_charge)b->charge) {
	case SW_RESERVE:
		tc->reserve += b->len;
		sw->reserve_used += b->len;
		break;
	case SW_SHARED:
		tc->shared += b->len;
		sw->shared_used += b->len;
		peak(&sw->st.shared_peak, sw->shared_used);
		break;
	case SW_HEADROOM:
		g->headroom += b->len;
		sw->headroom_used += b->len;
		peak(&st->headroom_peak, g->headroom);
		break;
	}
	peak(&sw->st.used_peak, sw->used);
	peak(&st->in_peak, g->bytes);
	if ((sw->cfg.lossless >> b->prio & 1) != 0 && !g->xoff &&
	    (g->bytes >= sw->cfg.xoff_bytes || b->charge == SW_HEADROOM))
		sw_xoff(in, b->prio);
}

void
sw_uncharge(struct tp_switch *sw, struct tp_switch_port *out, const struct sw_buf *b)
{
	struct tp_switch_port *in = b->in < TP_SWITCH_PORTS ? sw->port[b->in] : NULL;
	struct sw_class *tc = &out->tc[b->tc];

	tc->bytes -= b->len;
	out->out_bytes[b->prio] -= b->len;
	out->out_frames[b->prio]--;
	sw->used -= b->len;
	sw->queued--;
	if (b->charge == SW_RESERVE) {
		tc->reserve -= b->len;
		sw->reserve_used -= b->len;
	} else if (b->charge == SW_SHARED) {
		tc->shared -= b->len;
		sw->shared_used -= b->len;
	} else {
		sw->headroom_used -= b->len;
	}
	if (in == NULL)
		return;
	in->in[b->prio].bytes -= b->len;
	if (b->charge == SW_HEADROOM)
		in->in[b->prio].headroom -= b->len;
	if (in->in[b->prio].xoff && in->in[b->prio].bytes <= sw->cfg.xon_bytes && in->in[b->prio].headroom == 0)
		sw_xon(in, b->prio);
}

/* --- marking ---------------------------------------------------------------------------------------------------- */

static bool
toss(struct tp_switch *sw, uint32_t depth)
{
	const struct tp_switch_config *c = &sw->cfg;
	uint64_t ppm;

	if (depth < c->ecn_kmin_bytes)
		return false;
	if (depth >= c->ecn_kmax_bytes)
		return true;
	ppm = (uint64_t)c->ecn_pmax_ppm * (depth - c->ecn_kmin_bytes) / (c->ecn_kmax_bytes - c->ecn_kmin_bytes);
	return tpm_toss(&sw->rng, ppm);
}

/* Sets "congestion experienced" (RFC 3168, 5) in a packet whose sender understands it. */
static bool
mark(struct sw_buf *b, unsigned int l3)
{
	uint8_t *h = b->data + l3;
	bool v4 = h[0] >> 4 == 4;
	/* The low two bits of the traffic class, which IPv6 has four bits further left. */
	unsigned int shift = v4 ? 0 : 4, ecn = h[1] >> shift & ECN_MASK;
	uint16_t old = tpm_load16(h);
	uint32_t sum;

	if (ecn == 0 || ecn == ECN_CE)
		return false;
	h[1] |= (uint8_t)(ECN_CE << shift);
	if (v4) {
		/* RFC 1624, equation 3 */
		sum = (uint16_t)~tpm_load16(h + 10) + (uint32_t)(uint16_t)~old + tpm_load16(h);
		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		tpm_store16(h + 10, (uint16_t)~sum);
	}
	return true;
}

/* --- queues ----------------------------------------------------------------------------------------------------- */

static void
drop(struct tp_switch_port *in, unsigned int prio, enum tp_switch_drop why)
{
	in->st.prio[prio].drop[why]++;
}

void
sw_enqueue(struct tp_switch_port *in, struct tp_switch_port *out, const struct tp_frame *f, const struct sw_key *k)
{
	unsigned int prio = k->prio, class = out->cfg.prio_tc[prio];
	struct sw_class *tc = &out->tc[class];
	struct tp_switch *sw = in->sw;
	enum tp_switch_drop why;
	enum sw_charge charge;
	struct sw_buf *b;

	if (!decide(in, tc, prio, f->len, &charge, &why)) {
		drop(in, prio, why);
		return;
	}
	b = buf_alloc(sw, f->len);
	if (b == NULL) {
		drop(in, prio, TP_SWITCH_DROP_MEMORY);
		return;
	}
	b->at_ps = sw->now_ps;
	b->seq = sw->seq++;
	b->len = f->len;
	b->in = in->index;
	b->prio = (uint8_t)prio;
	b->tc = (uint8_t) class;
	b->charge = (uint8_t)charge;
	tpm_frame_copy(f, 0, b->data, f->len);
	if (k->l3 != 0 && (sw->cfg.ecn_prios >> prio & 1) != 0 && toss(sw, tc->bytes) && mark(b, k->l3))
		out->st.prio[prio].ecn_marks++;
	charge_buf(in, out, b);
	out->out_bytes[prio] += b->len;
	out->out_frames[prio]++;
	peak(&out->st.prio[prio].out_peak, out->out_bytes[prio]);
	sw_append(&out->q[prio], b);
	out->busy |= (uint8_t)(1u << prio);
	sw_changed(out);
	if (tpm_unlikely((sw->cfg.cn_prios >> prio & 1) != 0))
		sw_cn_frame(in, out, b, k);
}

static void
discard(struct tp_switch_port *p, struct sw_buf *b, enum tp_switch_drop why)
{
	struct tp_switch *sw = p->sw;

	sw_uncharge(sw, p, b);
	drop(b->in < TP_SWITCH_PORTS && sw->port[b->in] != NULL ? sw->port[b->in] : p, b->prio, why);
	sw_buf_free(sw, b);
}

void
sw_flush(struct tp_switch_port *p, enum tp_switch_drop why)
{
	if (p->current != NULL)
		discard(p, p->current, why);
	p->current = NULL;
	for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++) {
		struct sw_buf *b;

		while ((b = p->q[prio].head) != NULL) {
			p->q[prio].head = b->next;
			discard(p, b, why);
		}
		p->q[prio].tail = NULL;
	}
	p->busy = 0;
}
