/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * From a port to receive queues: what the port takes in, steering, RSS, counters [DP 8]. Plain frames are collected in
 * runs, one for each QP of a burst; tags, group addresses, several copies and damaged frames go one at a time, behind
 * all runs before them.
 */
#include <rte_common.h>

#include "model/ib/ib.h"
#include "model/port/port.h"
#include "model/qos/qos.h"
#include "rx.h"

/* Where the UDP destination port lies behind an IP header without options. */
#define ROCE_PORT_AT_V4 36u
#define ROCE_PORT_AT_V6 56u

#define MIN_TYPE 0x600u /* below it is a length */
#define MAX_LENGTH_FIELD 1500u
#define MIN_DATA (TPM_ETH_ZLEN - TPM_ETH_HLEN)

/* --- from the port to a QP -------------------------------------------------------------------------------- */

/* Says what is wrong with the ring of a parent. */
static struct tpm_qp *
ring_wrong(struct tp_model *m, const struct tpm_qp *parent, uint32_t child, const struct tpm_qp *ring)
{
	tpm_violate(m, TPM_V_RSS_RANGE, "QP", parent->qpn, "its ring QP 0x%x is %s", child,
		    ring == NULL   ? "not there"
		    : ring->is_rss ? "a parent itself"
				   : "not ready to receive");
	return NULL;
}

/* The slow road to a ring: whatever the frame is. */
static uint32_t
ring_by_parser(const struct tp_model *m, const struct tpm_qp *parent, const uint8_t *h, uint32_t hlen, uint32_t len,
	       uint32_t *hash)
{
	const uint8_t inside = tpm_quirk(m, MLX4_QUIRK_INNER_RSS) == 0 ? MLX4_RSS_F_INNER : MLX4_RSS_F_INNER_IP;
	struct tpm_pkt k, inner;

	tpm_parse(h, hlen, len, &k);
	if ((parent->rss.flags & inside) == inside &&
	    tpm_tunnel_parse(m, &m->port[parent->port - 1], h, hlen, &k, &inner) != TPM_TUNNEL_NONE)
		k = inner;
	return tpm_rss_select(m, parent, h, &k, hash);
}

/* The ring of a parent by its number, if it takes frames. tell: say so when it is wrong. */
static inline struct tpm_qp *
ring_ready(struct tp_model *m, const struct tpm_qp *parent, uint32_t child, bool tell)
{
	struct tpm_qp *ring = tpm_qp_get(m, child);

	if (tpm_unlikely(ring == NULL || ring->is_rss || !tpm_qp_can_receive(ring)))
		return tell ? ring_wrong(m, parent, child, ring) : NULL;
	return ring;
}

/* The QP of a rule when it takes frames, itself or by its rings. */
static inline struct tpm_qp *
rule_qp(struct tp_model *m, uint32_t qpn)
{
	struct tpm_qp *qp = tpm_qp_get(m, qpn);

	return qp != NULL && qp->eth && tpm_qp_can_receive(qp) ? qp : NULL;
}

/* The QP that a rule's QPN means for this frame, through its RSS parent; NULL when nothing takes it. */
static struct tpm_qp *
frame_qp(struct tp_model *m, uint32_t qpn, const uint8_t *h, uint32_t hlen, uint32_t len, uint32_t *hash)
{
	struct tpm_qp *qp = rule_qp(m, qpn);

	*hash = 0;
	if (qp == NULL || !qp->is_rss)
		return qp;
	return ring_ready(m, qp, ring_by_parser(m, qp, h, hlen, len, hash), true);
}

static void
count_rx(struct tpm_port *p, const struct tp_frame *f, const uint8_t *h, const struct tpm_pkt *k)
{
	struct tpm_port_counters *c = &p->c;
	unsigned int slot = k->cvlan ? k->tci >> 13 : MLX4_STATS_NOVLAN;
	uint32_t flen = f->len + TPM_FCS_LEN;

	c->rx_size[tpm_size_block(p, flen)][slot]++;
	c->rx_frames[slot]++;
	c->rx_oct[slot] += flen;
	if (k->cvlan)
		c->rx_tagged[slot]++;
	if ((h[0] & 1) == 0)
		c->rx_ucast[slot]++;
	else if ((h[0] & h[1] & h[2] & h[3] & h[4] & h[5]) == 0xff)
		c->rx_bcast[slot]++;
	else
		c->rx_mcast[slot]++;
}

/* A frame above the MTU: a jabber when its FCS is wrong, too, else the last block of the histogram [DP 13.1]. */
static void
count_too_long(struct tpm_port *p, const struct tp_frame *f)
{
	uint8_t buf[TPM_PARSE_MAX];
	uint32_t hlen;
	const uint8_t *h = tpm_frame_head(f, buf, &hlen);
	bool tagged = hlen > TPM_ETH_HLEN && tpm_load16(h + 12) == TPM_ETYPE_CVLAN;

	p->c.rx_too_long++;
	p->rx_too_long++;
	if ((f->flags & TP_FRAME_BAD_FCS) != 0)
		p->c.rx_jabber++;
	else
		p->c.rx_size[MLX4_STATS_SIZE_BLOCKS - 1][tagged ? h[14] >> 5 : MLX4_STATS_NOVLAN]++;
}

/*
 * A length field that says otherwise than the frame is long (IEEE 802.3, 30.3.1.1.23), or neither a length nor a type
 * (30.3.1.1.24). Wires bring frames without their padding.
 */
static void
count_length_field(struct tpm_port *p, const struct tp_frame *f, const uint8_t *h, const struct tpm_pkt *k)
{
	uint32_t head = TPM_ETH_HLEN + k->tags * TPM_VLAN_HLEN, said = tpm_load16(h + head - 2);
	uint32_t has = (f->len < TPM_ETH_ZLEN ? TPM_ETH_ZLEN : f->len) - head;

	if (said > MAX_LENGTH_FIELD)
		p->c.rx_out_range++;
	else if (has < said || (has > said && has > MIN_DATA))
		p->c.rx_in_range++;
}

/* Does the port take the frame in? [DP 13.1] */
static bool
port_accepts(const struct tp_model *m, struct tpm_port *p, const struct tp_frame *f)
{
	if ((f->flags & TPM_FRAME_CODE) != 0) {
		p->c.rx_pcs++;
		return false;
	}
	if (f->len < TPM_ETH_HLEN || (f->flags & TPM_FRAME_SHORT) != 0) {
		*((f->flags & TP_FRAME_BAD_FCS) != 0 ? &p->c.rx_runt : &p->c.rx_short) += 1;
		if ((f->flags & TP_FRAME_BAD_FCS) != 0 && tpm_quirk(m, MLX4_QUIRK_SHORT_FRAMES) != 0)
			p->c.rx_crc++;
		return false;
	}
	if (f->len + TPM_FCS_LEN > p->max_frame) {
		count_too_long(p, f);
		return false;
	}
	if ((f->flags & TP_FRAME_BAD_FCS) != 0 && !p->ignore_fcs) {
		p->c.rx_crc++;
		p->rx_bad_fcs++;
		return false;
	}
	return true;
}

/* What a QP sent stays away from QPs that check for their own traffic [DP 8.7] */
static bool
source_checked(const struct tpm_qp *qp, const struct tpm_qp *from, bool mcast)
{
	return from != NULL && qp->counter == from->counter && (mcast ? qp->lb_check_mc : qp->lb_check_uc);
}

static void rx_one(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, const struct tpm_qp *from);

/* A port with congestion notification: true when the frame is done with, as a message, or without its tag. */
static bool
rx_notified(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, const uint8_t *h, uint32_t hlen)
{
	struct tp_frame_seg seg[TPM_CN_SEGS];
	struct tp_frame plain;
	uint32_t tag;

	if (tpm_cn_rx(m, p, h, hlen, &tag))
		return true;
	if (tag == 0 || f->nseg + 1u > TPM_CN_SEGS)
		return false;
	tpm_cn_strip(f, tag, seg, &plain);
	rx_one(m, p, &plain, NULL);
	return true;
}

static void
rx_one(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, const struct tpm_qp *from)
{
	uint8_t buf[TPM_PARSE_MAX];
	struct tpm_steer_hit hit;
	struct tpm_pkt k;
	uint32_t hlen, hash;
	const uint8_t *h;

	if (!port_accepts(m, p, f))
		return;
	h = tpm_frame_head(f, buf, &hlen);
	if (tpm_unlikely(tpm_is_mac_control(h)) && from == NULL) {
		tpm_pause_rx(m, p, h, hlen);
		return;
	}
	if (tpm_unlikely(p->qos->cn.on != 0) && from == NULL && rx_notified(m, p, f, h, hlen))
		return;
	tpm_parse(h, hlen, f->len, &k);
	count_rx(p, f, h, &k);
	if (tpm_unlikely(k.enc != 0))
		count_length_field(p, f, h, &k);
	m->st.port[p->num - 1].rx_frames++;
	m->st.port[p->num - 1].rx_bytes += f->len;
	if (tpm_unlikely(p->roce_qps != 0) && tpm_roce_receive(m, p, f, h, hlen, &k))
		return;
	if (k.cvlan && p->vlan_filter_on && (p->vlan_bitmap[(k.tci & 0xfff) / 32] >> (k.tci % 32) & 1) == 0) {
		p->rx_vlan_filtered++;
		return;
	}
	tpm_steer_lookup(p, h, hlen, &k, &hit);
	if (hit.n == 0)
		p->rx_no_rule++;
	for (uint32_t i = 0; i < hit.n; i++) {
		struct tpm_qp *qp = frame_qp(m, hit.qpn[i], h, hlen, f->len, &hash);

		if (qp == NULL)
			p->c.rx_drop++;
		else if (!source_checked(qp, from, (h[0] & 1) != 0))
			tpm_receive_slow(m, p, qp, f, hash);
	}
}

/* What may be for the port's transport is looked at closely; so is what may have a frame inside. */
static bool
maybe_roce(const struct tp_model *m, const struct tp_frame *f)
{
	const uint8_t *d = f->seg[0].data;

	if (f->seg[0].len < ROCE_PORT_AT_V6 + 2)
		return true;
	switch (tpm_load16(d + 2 * TPM_ETH_ALEN)) {
	case TPM_ETYPE_ROCE: return true;
	case TPM_ETYPE_IPV4: return tpm_load16(d + ROCE_PORT_AT_V4) == m->roce_port;
	case TPM_ETYPE_IPV6: return tpm_load16(d + ROCE_PORT_AT_V6) == m->roce_port;
	default: return false;
	}
}

static bool
maybe_special(const struct tp_model *m, const struct tpm_port *p, const struct tp_frame *f)
{
	return (p->roce_qps != 0 && maybe_roce(m, f)) || (p->tunnels && tpm_tunnel_maybe(m, f)) ||
	       (p->qos->cn.on != 0 && f->seg[0].data[2 * TPM_ETH_ALEN] == TQAU_ETYPE_TAG >> 8);
}

/*
 * Untagged in one piece, of good size and FCS, with a type: what bursts are made of, unless it is for a group. Where the sender's
 * hardware wrote the checksum, all headers are in the first piece, and the others need not be read.
 */
static inline bool
is_plain(const struct tpm_port *p, const struct tp_frame *f)
{
	const uint8_t *d = f->seg[0].data;

	return (f->nseg == 1 || ((f->flags & TPM_FRAME_L4_OK) != 0 && f->len > TPM_ALIKE_SMALL)) &&
	       f->len >= TPM_ALIKE_MIN && f->len + TPM_FCS_LEN <= p->max_frame &&
	       (f->flags & (TPM_FRAME_BAD | TPM_FRAME_LOOP)) == 0 && d[12] >= MIN_TYPE >> 8 &&
	       !(d[12] == 0x81 && d[13] == 0);
}

#define NO_KEY UINT64_MAX /* no address */

/* Open runs, and what the frame before brought: its address, its QP and that one's run. */
struct runs {
	bool alone; /* the only one may begin to wait: nothing may overtake it */
	uint64_t key;
	struct tpm_qp *open; /* never NULL */
	struct tpm_rx_run *last;
	struct tpm_rss_way way; /* of the kind and the parent before */
	struct tpm_rx_runs to;
};

static struct tpm_qp nobody = {.qpn = UINT32_MAX};

/* Whatever is delivered may take a QP to another state: all is decided anew. */
static void
runs_begin(struct runs *r)
{
	r->to.n = 0;
	r->alone = false;
	r->key = NO_KEY;
	r->open = &nobody;
	r->last = r->to.run;
	r->last->n = 0;
}

static void
flush_runs(struct tp_model *m, struct tpm_port *p, struct runs *r)
{
	tpm_rx_runs_flush(m, p, &r->to);
	runs_begin(r);
}

/* Opens the run that takes a frame for the QP next; false: frames wait, each is looked at on its own. */
static bool
open_run(struct tp_model *m, struct tpm_port *p, struct runs *r, struct tpm_qp *qp)
{
	struct tpm_rx_run *run = &r->to.run[qp->rx_run];

	if (qp->rx_run >= r->to.n || run->qp != qp) {
		if (r->alone || qp->delay_drop != 0 || p->rx_waits)
			flush_runs(m, p, r);
		if (tpm_unlikely(p->rx_waits))
			return false;
		qp->rx_run = (uint8_t)r->to.n++;
		p->rx_run[qp->qpn % TPM_MAX_RSS] = qp->rx_run;
		run = &r->to.run[qp->rx_run];
		run->qp = qp;
		run->qpn = qp->qpn;
		run->n = 0;
		r->alone = qp->delay_drop != 0;
		tpm_rx_run_prefetch(qp);
	}
	r->open = qp;
	r->last = run;
	return true;
}

/*
 * The ring that a parent, which takes frames, gives this one. The fast road asks without telling what is wrong and leaves that to
 * the slow one. A ring with an open run takes frames. What the port remembers of runs may be of another burst.
 */
static inline struct tpm_qp *
ring_of(struct tp_model *m, const struct tpm_port *p, struct runs *r, const struct tpm_qp *parent, const uint8_t *d,
	const struct tpm_alike *a, uint32_t *hash)
{
	struct tpm_rx_run *run;
	uint32_t child;

	if (tpm_likely(r->way.tables != NULL)) {
		*hash = tpm_rss_hash(&r->way, d);
		child = r->way.base + (*hash & r->way.mask);
	} else if (!tpm_rss_select_alike(parent, a, d, &child, hash)) {
		child = ring_by_parser(m, parent, d, a->head, a->len, hash);
	}
	run = &r->to.run[p->rx_run[child % TPM_MAX_RSS]];
	if (tpm_likely(p->rx_run[child % TPM_MAX_RSS] < r->to.n && run->qpn == child)) {
		r->last = run;
		r->open = run->qp;
		return run->qp;
	}
	return ring_ready(m, parent, child, false);
}

static void
rx_alone(struct tp_model *m, struct tpm_port *p, struct runs *r, const struct tp_frame *f)
{
	flush_runs(m, p, r);
	rx_one(m, p, f, NULL);
}

/* Kinds of frames of a burst, each frame's like those before it or new; the last few are remembered. */
#define RECENT 4u
struct kinds {
	unsigned int n;
	struct tpm_alike kind[TPM_BURST];
};

static const struct tpm_alike *
kind_of(struct kinds *k, const struct tp_frame *f)
{
	for (unsigned int i = k->n; i > 0 && k->n - i < RECENT; i--)
		if (tpm_is_alike(&k->kind[i - 1], f, f->seg[0].data))
			return &k->kind[i - 1];
	tpm_alike_make(&k->kind[k->n], f);
	return &k->kind[k->n++];
}

/* Plain frames in a row that are of one length. */
static void
count_row(struct tpm_port *p, uint32_t len, uint64_t same, uint64_t *plain, uint64_t *oct)
{
	p->c.rx_size[tpm_size_block(p, len + TPM_FCS_LEN)][MLX4_STATS_NOVLAN] += same;
	*plain += same;
	*oct += same * len;
}

/* Of at most TPM_BURST frames. */
static void
rx_burst(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n)
{
	static const struct tpm_alike none; /* a frame has a piece */
	struct tpm_port_counters *c = &p->c;
	const uint64_t mac = rte_cpu_to_le_64(UINT64_C(0xffffffffffff));
	bool look = p->roce_qps != 0 || p->tunnels || p->qos->cn.on != 0; /* only commands change them */
	uint64_t same = 0, oct = 0, plain = 0;
	const struct tpm_alike *a = &none;
	const struct tpm_qp *parent = NULL;
	struct tpm_qp *qp = NULL;
	uint32_t hash = 0;
	struct kinds kinds;
	struct runs r;

	kinds.n = 0;
	r.to.max = 0;
	r.to.f = f;
	r.way.kind = NULL;
	runs_begin(&r);
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *d = f[i].seg[0].data;
		struct tpm_rx_run *run;
		uint64_t key;

		/* What is like the frame before, which was plain, is plain. */
		if (look || tpm_unlikely(!tpm_is_alike(a, &f[i], d))) {
			count_row(p, a->len, same, &plain, &oct);
			same = 0;
			if (tpm_unlikely(!is_plain(p, &f[i]) || (look && maybe_special(m, p, &f[i])))) {
				rx_alone(m, p, &r, &f[i]);
				a = &none;
				continue;
			}
			a = kind_of(&kinds, &f[i]);
			if (tpm_unlikely((a->check & (TPM_ALIKE_PIECES | TPM_ALIKE_PARSE)) ==
					 (TPM_ALIKE_PIECES | TPM_ALIKE_PARSE))) {
				rx_alone(m, p, &r, &f[i]);
				a = &none;
				continue;
			}
			r.to.max = RTE_MAX(r.to.max, a->len);
		}
		key = tpm_raw64(d) & mac;
		if (tpm_unlikely(key != r.key)) {
			uint32_t qpn = (d[0] & 1) != 0 ? TPM_STEER_SLOW : tpm_steer_fast(p, rte_le_to_cpu_64(key));

			r.key = key;
			if (qpn == TPM_STEER_SLOW && a->v4) {
				/* Addresses and ports of the next frame may be others. */
				qpn = tpm_steer_flow(m, p, &f[i]);
				r.key = NO_KEY;
			}
			hash = 0;
			qp = qpn != TPM_STEER_SLOW ? rule_qp(m, qpn) : NULL;
			if (parent != qp)
				r.way.kind = NULL;
			parent = qp != NULL && qp->is_rss ? qp : NULL;
		}
		if (parent != NULL) {
			if (tpm_unlikely(a != r.way.kind))
				tpm_rss_way(parent, a, &r.way);
			qp = ring_of(m, p, &r, parent, d, a, &hash);
		}
		if (qp != r.open) {
			if (tpm_unlikely(qp == NULL || qp->fcs_keep)) {
				rx_alone(m, p, &r, &f[i]);
				continue;
			}
			if (tpm_unlikely(!open_run(m, p, &r, qp))) {
				rx_one(m, p, &f[i], NULL);
				continue;
			}
		}
		same++;
		run = r.last;
		run->at[run->n++] = (uint8_t)i;
		r.to.data[i] = d;
		r.to.like[i] = a;
		r.to.hash[i] = hash;
	}
	count_row(p, a->len, same, &plain, &oct);
	flush_runs(m, p, &r);
	c->rx_frames[MLX4_STATS_NOVLAN] += plain;
	c->rx_ucast[MLX4_STATS_NOVLAN] += plain;
	c->rx_oct[MLX4_STATS_NOVLAN] += oct + plain * TPM_FCS_LEN;
	m->st.port[p->num - 1].rx_frames += plain;
	m->st.port[p->num - 1].rx_bytes += oct;
}

/* What finds no receive WQE there is not copied; the frame itself goes its way. */
void
tpm_port_mirror(struct tp_model *m, struct tpm_port *p, bool sent, const struct tp_frame *f, unsigned int n)
{
	struct tpm_steer_hit hit;
	uint8_t buf[TPM_PARSE_MAX];
	struct tpm_qp *qp;
	uint32_t hlen, hash;

	tpm_steer_mirror(p, sent, &hit);
	for (unsigned int i = 0; i < n && hit.n != 0; i++) {
		const uint8_t *h = tpm_frame_head(&f[i], buf, &hlen);

		if (f[i].len < TPM_ETH_HLEN || (f[i].flags & TPM_FRAME_BAD) != 0)
			continue;
		for (uint32_t k = 0; k < hit.n; k++) {
			qp = frame_qp(m, hit.qpn[k], h, hlen, f[i].len, &hash);
			if (qp != NULL)
				(void)tpm_receive_now(m, p, qp, &f[i], hash);
		}
	}
}

void
tpm_port_rx(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n, const struct tpm_qp *from)
{
	if (tpm_unlikely(!p->link && from == NULL)) {
		p->rx_link_down += n;
		return;
	}
	if (tpm_unlikely(p->ib)) {
		tpm_ib_receive(m, p, f, n);
		return;
	}
	if (from == NULL) {
		if (tpm_unlikely(p->mirrored))
			tpm_port_mirror(m, p, false, f, n);
		for (unsigned int k; n != 0; f += k, n -= k) {
			k = RTE_MIN(n, TPM_BURST);
			rx_burst(m, p, f, k);
		}
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		rx_one(m, p, &f[i], from);
}

/* Frames of priorities with a CN-TAG get it on their way out. */
static unsigned int
send_tagged(struct tpm_port *p, const struct tp_frame *f, unsigned int n)
{
	struct tp_frame_seg seg[TPM_CN_SEGS];
	uint8_t tag[TQAU_TAG_LEN];
	struct tp_frame tagged;
	unsigned int i = 0;

	while (i < n && p->wire->ops->send(p->wire, tpm_cn_tag(p, &f[i], tag, seg, &tagged) ? &tagged : &f[i], 1) == 1)
		i++;
	return i;
}

const struct tpm_port_ops tpm_port_ops = {
	.deliver = tpm_port_rx, .mirror = tpm_port_mirror, .send_tagged = send_tagged};
