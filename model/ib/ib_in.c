/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Plain datagrams on their way in: for a queue pair with a receive queue of its own, whose next buffer takes all of it. What the
 * headers of several have in common, whose they are first of all, is looked up once; both CRCs (of what came by a wire to other
 * cards), lengths, buffers and the checksums of IP inside are those of each. Whatever is not as it should be is left to who looks
 * at packets one by one and says why. What the card's other port sends without impairment on the way comes before it is packets.
 */
#include <stdalign.h>
#include <stdlib.h>

#include <rte_common.h>

#include "lib/roce/engine/place.h"
#include "lib/roce/wire/opcode.h"
#include "model/event/event.h"
#include "model/frame/alike.h"
#include "model/frame/ib_wire.h"
#include "model/port/port.h"
#include "model/queue/rq.h"
#include "ib.h"

#define BTH IB_LRH_SIZE
#define DETH (BTH + IB_BTH_LEN)
#define HEAD (DETH + IB_DETH_LEN)
#define TAIL (IB_ICRC_LEN + IB_VCRC_SIZE)
#define LRH_WORDS_AT 4u
#define LRH_WORDS_MASK 0x7ffu
#define ENCAP 4u                      /* type of what is inside, and two octets of zero */
#define INSIDE (TPM_ETH_HLEN - ENCAP) /* so far in front of a datagram an Ethernet header would begin */
#define TYPE_AT (2 * TPM_ETH_ALEN)

/* Octets that all packets of a row have alike: not lengths, pads and sequence numbers. */
static const uint8_t alike_mask[HEAD] = {
	0xff, 0xff, 0xff, 0xff, 0,    0,    0xff, 0xff,                /* LRH */
	0xff, 0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, /* BTH */
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,                /* DETH */
};

/* IP inside: what the parser says of a packet, as of a frame whose type stands where a datagram has zero. */
struct kind {
	struct tpm_alike a;
	uint16_t type; /* of the packet */
	uint32_t len;  /* and its length; 0: there was none */
	/* The third double dword of a completion as it lies in memory, when the checksums are right; when UDP has none. */
	rte_be64_t summed, unsummed;
};

/* Of packets that a queue pair received. Nothing but what is in a packet has a say in it, so that it holds as long as that. */
#define KINDS 4u
struct tpm_ib_kinds {
	struct kind kind[KINDS];
	const struct kind *last; /* that of the packet before */
	unsigned int next;       /* which one gives way to a new one */
};

struct in {
	struct tp_model *m;
	struct tpm_port *p;
	struct tpm_qp *qp; /* that the row is for, NULL: there is none */
	uint8_t want[HEAD];
	unsigned int posted; /* receive WQEs that are left, as far as is known */
	bool sums;           /* IP inside is looked at */
	struct tpm_ib_kinds *kinds;
	rte_be64_t like[2]; /* what their completions have alike */
	struct tpm_stretch buffer;
	/* The row so far. */
	unsigned int n;
	uint64_t bytes, payload;
};

static void
begin(struct in *in, struct tp_model *m, struct tpm_port *p)
{
	in->m = m;
	in->p = p;
	in->qp = NULL;
	in->sums = prm_get(m->hca, MLX4_HCA_F_CSUM) != 0;
	in->n = 0;
	in->bytes = in->payload = 0;
}

/* --- IP inside --- */

/* Of a completion: its third double dword, with this status, of len octets of datagram. */
static inline rte_be64_t
third(uint32_t status, uint32_t len)
{
	return rte_cpu_to_be_64((uint64_t)status << 32 | (IB_GRH_LEN + len));
}

/* Does it hold for a packet? */
static inline bool
is_of(const struct kind *k, const uint8_t *d, uint32_t len)
{
	return len == k->len && tpm_raw16(d) == k->type && tpm_is_alike_within(&k->a, d - INSIDE);
}

/* What the parser says of a frame with this packet inside. False: it is no packet of IP. */
static bool
new_kind(struct kind *k, const uint8_t *d, uint32_t len)
{
	uint8_t buf[TPM_PARSE_MAX] = {0};
	struct tp_frame_seg seg = {.data = buf, .len = INSIDE + len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = seg.len};
	struct tpm_alike *a = &k->a;

	if (len < ENCAP + TPM_ALIKE_OCTETS || tpm_raw16(d + 2) != 0)
		return false;
	/* What is looked at is a copy: the sender's program may change it meanwhile. */
	memcpy(buf + TYPE_AT, d, 2);
	if (tpm_load16(buf + TYPE_AT) != TPM_ETYPE_IPV4 && tpm_load16(buf + TYPE_AT) != TPM_ETYPE_IPV6)
		return false;
	memcpy(buf + TPM_ETH_HLEN, d + ENCAP, RTE_MIN(len - ENCAP, TPM_PARSE_MAX - TPM_ETH_HLEN));
	tpm_alike_make(a, &f);
	k->type = tpm_raw16(buf + TYPE_AT);
	k->len = len;
	/* In the type's place the datagram has zero. */
	memset(a->want, 0, 2);
	if (a->at == TYPE_AT)
		a->two = 0;
	if (a->csum_at == TYPE_AT)
		a->csum_at = TPM_ETH_HLEN;
	if ((a->check & TPM_ALIKE_PARSE) == 0) {
		k->summed = third((uint32_t)(rte_be_to_cpu_64(a->summed) >> 32), len);
		k->unsummed = third((uint32_t)(rte_be_to_cpu_64(a->unsummed) >> 32), len);
	}
	return true;
}

/* The kind of a packet that is not of the last one's; NULL: it is no packet of IP. */
static __rte_noinline const struct kind *
other_kind(struct tpm_ib_kinds *ks, const uint8_t *d, uint32_t len)
{
	for (unsigned int i = 0; i < KINDS; i++)
		if (is_of(&ks->kind[i], d, len))
			return ks->last = &ks->kind[i];
	if (!new_kind(&ks->kind[ks->next], d, len))
		return NULL;
	ks->last = &ks->kind[ks->next];
	ks->next = (ks->next + 1) % KINDS;
	return ks->last;
}

/* Of a completion: its third double dword as it lies in memory, and its checksum field. */
struct says {
	rte_be64_t third;
	uint16_t csum;
};

static __rte_noinline struct says
by_parser(const uint8_t *d, uint32_t len)
{
	struct says s;

	s.third = third(tpm_ipoib_status(d, len, &s.csum), len);
	return s;
}

/* The same of a datagram with IP inside that does not begin like one that is right, which goes where it goes. */
static __rte_noinline struct says
place_odd(const struct kind *k, uint8_t *to, const uint8_t *d, uint32_t len)
{
	tre_place(to, d, len);
	if (k == NULL || (k->a.check & TPM_ALIKE_PARSE) != 0 || tpm_raw16(d - INSIDE + k->a.csum_at) != 0 ||
	    ((k->a.check & TPM_ALIKE_SUM_IP) != 0 && !tpm_alike_ip_right(d - INSIDE)))
		return by_parser(d, len);
	return (struct says){.third = k->unsummed};
}

/* Puts len octets of datagram where they go, and says of their completion. */
static inline struct says
place_ip(struct tpm_ib_kinds *ks, uint8_t *to, const uint8_t *d, uint32_t len)
{
	const struct kind *k = ks->last;
	const uint8_t *f = d - INSIDE;
	bool ok;

	if (tpm_unlikely(!is_of(k, d, len)))
		k = other_kind(ks, d, len);
	if (tpm_unlikely(k == NULL || (k->a.check & TPM_ALIKE_PARSE) != 0 || tpm_raw16(f + k->a.csum_at) == 0 ||
			 ((k->a.check & TPM_ALIKE_SUM_IP) != 0 && !tpm_alike_ip_right(f))))
		return place_odd(k, to, d, len);
	/* A long one is summed up on its way. */
	if ((k->a.check & TPM_ALIKE_RUN) != 0) {
		ok = tpm_alike_place(&k->a, to - INSIDE, f, INSIDE);
	} else {
		tre_place(to, d, len);
		ok = tpm_alike_l4_right(&k->a, f);
	}
	return tpm_likely(ok) ? (struct says){.third = k->summed, .csum = MLX4_CQE_CSUM_OK} : by_parser(d, len);
}

/* The same of a whole message, with the place of a GRH in front, which the packet has not. */
static inline struct says
place(const struct in *in, uint8_t *to, const uint8_t *d, uint32_t len)
{
	static const uint8_t no_grh[IB_GRH_LEN];

	tre_place(to, no_grh, sizeof(no_grh));
	if (tpm_likely(in->sums && len != 0))
		return place_ip(in->kinds, to + IB_GRH_LEN, d, len);
	tre_place(to + IB_GRH_LEN, d, len);
	return (struct says){.third = third(0, len)};
}

/* --- a row of datagrams that are alike --- */

static inline bool
is_alike(const struct in *in, const uint8_t *d)
{
	const uint8_t *w = in->want, *k = alike_mask;

	return (((tpm_raw64(d) ^ tpm_raw64(w)) & tpm_raw64(k)) |
		((tpm_raw64(d + 8) ^ tpm_raw64(w + 8)) & tpm_raw64(k + 8)) |
		((tpm_raw64(d + 16) ^ tpm_raw64(w + 16)) & tpm_raw64(k + 16)) |
		(tpm_raw32(d + 24) ^ tpm_raw32(w + 24))) == 0;
}

static void
count(struct in *in)
{
	in->p->ibp.pm.c.rx_packets += in->n;
	in->p->ibp.pm.c.rx_bytes += in->bytes;
	in->p->roce_rx += in->n;
	in->m->counter[in->qp->counter].rx_frames += in->n;
	in->m->counter[in->qp->counter].rx_bytes += in->bytes - (uint64_t)in->n * IB_VCRC_SIZE;
	tre_ud_received(&in->qp->roce->e, in->n, in->payload);
	in->n = 0;
	in->bytes = in->payload = 0;
}

/* The counters of a row, and its event. */
static void
row_end(struct in *in)
{
	if (in->qp == NULL || in->n == 0)
		return;
	count(in);
	tpm_cq_notify(in->m, in->qp->rcq, false);
}

/* Completions of datagrams like this one begin so, as those do that the transport writes (roce.c). */
static void
like_of(const struct in *in, const uint8_t *d, uint32_t pkey_index, rte_be64_t like[2])
{
	const uint32_t path = prm_get(d, IB_LRH_DLID) & ((1u << in->p->ibp.lmc) - 1);
	const uint32_t imm = tpm_quirk(in->m, MLX4_QUIRK_PKEY_INDEX) == 0 ? pkey_index : MLX4_CQE_PKEY_INDEX_MASK;
	const uint32_t from = path << MLX4_CQE_PATH_BITS_SHIFT | ib_get24(d + DETH + 5);
	const uint32_t sl = prm_get(d, IB_LRH_SL) << MLX4_CQE_SL_SHIFT;

	like[0] = rte_cpu_to_be_64((uint64_t)in->qp->qpn << 32 | imm);
	like[1] = rte_cpu_to_be_64((uint64_t)from << 32 | sl << 16 | prm_get(d, IB_LRH_SLID));
}

/* What is remembered of a queue pair's packets; false: there is no memory for it. */
static inline bool
find_kinds(struct in *in, struct tpm_roce *r)
{
	if (tpm_unlikely(r->kinds == NULL)) {
		r->kinds = aligned_alloc(alignof(struct tpm_ib_kinds), sizeof(*r->kinds));
		if (r->kinds != NULL) {
			memset(r->kinds, 0, sizeof(*r->kinds));
			r->kinds->last = r->kinds->kind;
		}
	}
	in->kinds = r->kinds;
	return r->kinds != NULL;
}

/* Begins a row with a packet whose lengths are not known to be right yet; false: it is none of a row. */
static bool
row_begin(struct in *in, const uint8_t *d, unsigned int n)
{
	const uint8_t *bth = d + BTH;
	const struct tpm_ib *ib = &in->p->ibp;
	const uint16_t dlid = (uint16_t)prm_get(d, IB_LRH_DLID);
	struct tpm_qp *qp;
	uint32_t at;

	row_end(in);
	in->qp = NULL;
	if (prm_get(d, IB_LRH_VERSION) != 0 || prm_get(d, IB_LRH_LNH) != IB_LNH_BTH ||
	    prm_get(d, IB_LRH_VL) == IB_VL_MGMT || ib_bth_opcode(bth) != (IB_TR_UD | IB_OP_SEND_ONLY) ||
	    ib_bth_solicited(bth) || ib_bth_tver(bth) != 0 || ib_bth_qpn(bth) <= 1 || ib->state != IB_PORT_ACTIVE ||
	    tpm_ib_is_mcast(dlid) || !tpm_ib_own_lid(ib, dlid))
		return false;
	qp = tpm_ib_destination(in->m, in->p, ib_bth_qpn(bth));
	if (qp == NULL || qp->service != MLX4_QP_ST_UD || qp->is_rss || qp->srq != NULL || qp->roce->running ||
	    !tre_ud_may_receive(&qp->roce->e) || ib_get32(d + DETH) != qp->roce->e.a.qkey)
		return false;
	at = prm_get(qp->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX);
	if (!tpm_ib_pkey_fits(ib, ib_bth_pkey(bth), at) || !tpm_rq_ready(in->m, qp) || qp->ring.flat == NULL ||
	    !find_kinds(in, qp->roce))
		return false;
	in->qp = qp;
	in->posted = tpm_rq_posted(in->m, qp, n);
	in->buffer = (struct tpm_stretch){0};
	memcpy(in->want, d, sizeof(in->want));
	like_of(in, d, at, in->like);
	return true;
}

/* Both CRCs, unless they were made for this very packet, and the length that the header gives. */
static inline bool
is_whole(const struct tp_frame *f, const uint8_t *d)
{
	const uint32_t all = f->len - IB_VCRC_SIZE;

	return (tpm_load16(d + LRH_WORDS_AT) & LRH_WORDS_MASK) * 4 == all &&
	       ((f->flags & TPM_FRAME_CRC_OK) != 0 || tpm_ib_crcs_good(d, all));
}

/* Where len octets go by a receive WQE; NULL: its first element does not take them in one piece. */
static inline uint8_t *
buffer_of(struct in *in, const uint8_t *w, uint32_t len)
{
	const uint64_t va = prm_get64(w, 8);
	const uint32_t count = prm_get32(w, 0);
	enum tpm_xlat_err err;
	uint32_t n = len;
	uint8_t *p;

	if (tpm_unlikely(count < len || count > MLX4_DATA_LEN_MASK))
		return NULL;
	p = tpm_stretch_at(in->m, &in->qp->tlb, &in->buffer, tpm_raw32(w + 4), va, len, TPM_ACC_LW);
	if (tpm_likely(p != NULL))
		return p;
	p = tpm_mr_translate(in->m, &in->qp->tlb, prm_get32(w, 4), in->qp->pd, va, &n, TPM_ACC_LW, &err);
	return n == len ? p : NULL;
}

/* An entry in whole words, the one with the owner bit last. */
static inline void
put_entry(uint8_t *e, const rte_be64_t like[2], struct says what, uint16_t index, uint8_t last)
{
	uint64_t *w = (uint64_t *)(void *)e;

	__atomic_store_n(&w[0], like[0], __ATOMIC_RELAXED);
	__atomic_store_n(&w[1], like[1], __ATOMIC_RELAXED);
	__atomic_store_n(&w[2], what.third, __ATOMIC_RELAXED);
	__atomic_store_n(&w[3], rte_cpu_to_be_64((uint64_t)index << 48 | (uint64_t)what.csum << 32 | last),
			 __ATOMIC_RELEASE);
}

static inline uint8_t
last_octet(const struct tpm_cq *cq)
{
	return MLX4_CQE_RECV_SEND | ((cq->pi & (cq->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0);
}

/* Receives one datagram of the row, which has a receive WQE. False: it is to be looked at on its own. */
static inline bool
take(struct in *in, const uint8_t *d, uint32_t len)
{
	struct tpm_qp *qp = in->qp;
	struct tpm_cq *cq = qp->rcq;
	uint8_t *to = buffer_of(in, tpm_rq_wqe(qp, qp->rq_head), IB_GRH_LEN + len), *e;
	struct says what;
	uint16_t index;

	if (tpm_unlikely(to == NULL))
		return false;
	what = place(in, to, d, len);
	index = (uint16_t)qp->rq_head++;
	in->posted--;
	in->n++;
	in->payload += len;
	in->bytes += tpm_ib_wire_len(len);
	e = (uint8_t *)tpm_cqe_next(in->m, cq);
	if (tpm_unlikely(e == NULL))
		return true;
	put_entry(e, in->like, what, index, last_octet(cq));
	cq->pi++;
	return true;
}

/* --- packets --- */

/* False: the packet is to be looked at on its own. */
static inline bool
receive_one(struct in *in, const struct tp_frame *f, unsigned int left)
{
	const uint8_t *d = f->seg[0].data;
	const uint32_t len = f->len;
	uint32_t inside, pad;

	if (tpm_unlikely(f->nseg != 1 || (f->flags & TP_FRAME_BAD_FCS) != 0 || len < HEAD + TAIL ||
			 len > TPM_IB_PACKET))
		return false;
	if (tpm_unlikely(in->qp == NULL || !is_alike(in, d)) && !row_begin(in, d, left))
		return false;
	inside = len - HEAD - TAIL;
	pad = ib_bth_pad(d + BTH);
	if (tpm_unlikely(pad > inside || inside - pad > in->qp->roce->e.a.mtu || in->posted == 0 ||
			 !tpm_qp_can_receive(in->qp) || !is_whole(f, d)))
		return false;
	return take(in, d + HEAD, inside - pad);
}

unsigned int
tpm_ib_receive_plain(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n)
{
	unsigned int i = 0;
	struct in in;

	begin(&in, m, p);
	while (i < n && receive_one(&in, &f[i], n - i))
		i++;
	row_end(&in);
	return i;
}

/* --- rows that are no packets yet --- */

/*
 * Buffers of datagrams, whose receive WQEs lie in one row, up to the first that has none of its own; returns how many. All that
 * will be written comes from the other side's cache, so it is fetched at once.
 */
static inline unsigned int
find_buffers(struct in *in, const struct tp_frame_seg *d, unsigned int n, uint32_t longest, uint8_t **to)
{
	const struct tpm_qp *qp = in->qp;
	const uint32_t stride = 1u << qp->rq_lg_stride, most = IB_GRH_LEN + longest;
	const uint8_t *w = tpm_rq_wqe(qp, qp->rq_head);
	const struct tpm_stretch *s = &in->buffer;
	/* Length and key of a WQE before, which takes any of them; how far into the stretch it may begin. */
	uint64_t like = ~tpm_raw64(w), slack = 0;
	unsigned int i;

	for (i = 0; i < n; i++, w += stride) {
		const uint64_t this = tpm_raw64(w), at = prm_get64(w, 8) - s->lo;

		rte_prefetch0(w + 256);
		if (tpm_likely(this == like && at <= slack)) {
			to[i] = s->host + at;
		} else {
			to[i] = buffer_of(in, w, IB_GRH_LEN + d[i].len);
			if (tpm_unlikely(to[i] == NULL))
				break;
			like = ~this;
			if (s->key == tpm_raw32(w + 4) && s->len >= most && prm_get32(w, 0) >= most) {
				like = this;
				slack = s->len - most;
			}
		}
		tpm_prefetchw(to[i]);
		tpm_prefetchw(to[i] + 64);
	}
	return i;
}

/*
 * Datagrams into their buffers, up to the ends of both rings, and as long as the CQ has room as far as the card knows. Returns how
 * many; 0: the first one is to be looked at on its own.
 */
static inline unsigned int
fill(struct in *in, const struct tp_frame_seg *d, unsigned int n, uint32_t longest)
{
	struct tpm_qp *qp = in->qp;
	struct tpm_cq *cq = qp->rcq;
	const uint32_t mask = cq->mask, pi = cq->pi, head = qp->rq_head, stride = 1u << cq->lg_stride;
	const rte_be64_t like[2] = {in->like[0], in->like[1]};
	const uint8_t last = last_octet(cq);
	uint8_t *to[TPM_BURST], *e;
	uint64_t payload = 0;
	unsigned int i;

	if (tpm_unlikely(cq->ring.flat == NULL || cq->ring.gen != in->m->tpt_gen || !cq->ring.valid ||
			 cq->status != MLX4_CTX_STATUS_OK || pi - cq->ci > mask))
		return 0;
	n = RTE_MIN(n, qp->rq_mask + 1 - (head & qp->rq_mask));
	n = RTE_MIN(n, mask + 1 - (pi - cq->ci));
	n = RTE_MIN(n, mask + 1 - (pi & mask));
	e = cq->ring.flat + cq->cqe_off + ((size_t)(pi & mask) << cq->lg_stride);
	for (i = 0; i < n; i += 2)
		tpm_prefetchw(e + (size_t)i * stride);
	n = find_buffers(in, d, n, longest, to);
	for (i = 0; i < n; i++, e += stride) {
		const uint32_t len = d[i].len;
		struct says what;

		if (len > 64 && i + TPM_PREFETCH_AHEAD < n)
			tpm_prefetch_rest(d[i + TPM_PREFETCH_AHEAD].data, d[i + TPM_PREFETCH_AHEAD].len,
					  to[i + TPM_PREFETCH_AHEAD]);
		what = place(in, to[i], d[i].data, len);
		put_entry(e, like, what, (uint16_t)(head + i), last);
		payload += len;
	}
	cq->pi = pi + n;
	qp->rq_head = head + n;
	in->posted -= n;
	in->n += n;
	in->payload += payload;
	if (tpm_likely(payload == (uint64_t)n * longest))
		in->bytes += (uint64_t)n * tpm_ib_wire_len(longest);
	else
		for (i = 0; i < n; i++)
			in->bytes += tpm_ib_wire_len(d[i].len);
	return n;
}

/* Datagrams that find no receive WQE are lost, and counted as the transport counts them. Returns octets of their packets. */
static uint64_t
discard(struct in *in, const struct tp_frame_seg *d, unsigned int n)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < n; i++) {
		in->payload += d[i].len;
		bytes += tpm_ib_wire_len(d[i].len);
	}
	in->n = n;
	in->bytes = bytes;
	tre_ud_discarded(&in->qp->roce->e, n);
	count(in);
	return bytes;
}

unsigned int
tpm_ib_hand_over(struct tp_model *m, struct tpm_port *p, const struct tpm_ib_row *r, uint64_t *bytes)
{
	unsigned int i = 0, n;
	struct in in;

	begin(&in, m, p);
	if (!row_begin(&in, r->head, r->n) || r->longest > in.qp->roce->e.a.mtu)
		return 0;
	while (i < r->n && tpm_qp_can_receive(in.qp)) {
		/* More may have been posted since the row began. */
		if (tpm_unlikely(in.posted == 0))
			in.posted = tpm_rq_posted(m, in.qp, r->n - i);
		if (tpm_unlikely(in.posted == 0))
			break;
		n = fill(&in, r->d + i, RTE_MIN(r->n - i, in.posted), r->longest);
		if (tpm_unlikely(n == 0))
			n = take(&in, r->d[i].data, r->d[i].len);
		if (tpm_unlikely(n == 0))
			break;
		i += n;
	}
	*bytes = in.bytes;
	row_end(&in);
	if (tpm_unlikely(i < r->n && in.posted == 0 && tpm_qp_can_receive(in.qp))) {
		*bytes += discard(&in, r->d + i, r->n - i);
		i = r->n;
	}
	return i;
}
