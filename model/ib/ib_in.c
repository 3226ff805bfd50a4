/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Plain datagrams on their way in: for a queue pair with a receive queue of its own, whose next buffer takes all of it. What the
 * headers of several have in common, whose they are first of all, is looked up once; both CRCs (of what came by a wire to other
 * cards), lengths, buffers and the checksums of IP inside are those of each. Whatever is not as it should be is left to who looks at packets one by one and says why.
 */
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

struct in {
	struct tp_model *m;
	struct tpm_port *p;
	struct tpm_qp *qp; /* that the row is for, NULL: there is none */
	uint8_t want[HEAD];
	unsigned int posted; /* receive WQEs that are left, as far as is known */
	bool sums;           /* IP inside is looked at */
	rte_be64_t like[2];  /* what their completions have alike */
	struct tpm_stretch buffer;
	/* IP inside: the kind of the packet before, as of a frame whose type stands where a datagram has zero. */
	struct tpm_alike kind;
	uint16_t type; /* of that packet, 0: there was none */
	struct tp_frame frame;
	/* The row so far. */
	unsigned int n;
	uint64_t bytes, payload;
};

/* --- IP inside --- */

/* What the parser says of a frame with this packet inside becomes the kind of those to come. */
static void
new_kind(struct in *in, const uint8_t *d, uint32_t len)
{
	uint8_t buf[TPM_PARSE_MAX] = {0};
	struct tp_frame_seg seg = {.data = buf, .len = INSIDE + len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = seg.len};
	struct tpm_alike *a = &in->kind;

	memcpy(buf + TYPE_AT, d, 2);
	memcpy(buf + TPM_ETH_HLEN, d + ENCAP, RTE_MIN(len - ENCAP, TPM_PARSE_MAX - TPM_ETH_HLEN));
	tpm_alike_make(a, &f);
	in->type = tpm_raw16(d);
	/* In the type's place the datagram has zero. */
	memset(a->want, 0, 2);
	if (a->at == TYPE_AT)
		a->two = 0;
	if (a->csum_at == TYPE_AT)
		a->csum_at = TPM_ETH_HLEN;
}

/* Of a completion: its dword at 0x10, and the checksum field. */
static inline uint32_t
status_of(struct in *in, const uint8_t *d, uint32_t len, uint16_t *csum)
{
	const struct tpm_alike *a = &in->kind;
	const uint8_t *f = d - INSIDE;
	rte_be64_t what;

	in->frame.len = INSIDE + len;
	if (tpm_unlikely(in->type == 0 || tpm_raw16(d) != in->type || !tpm_is_alike(a, &in->frame, f))) {
		if (len < ENCAP + TPM_ALIKE_OCTETS || tpm_raw16(d + 2) != 0 ||
		    (tpm_load16(d) != TPM_ETYPE_IPV4 && tpm_load16(d) != TPM_ETYPE_IPV6))
			return tpm_ipoib_status(d, len, csum);
		new_kind(in, d, len);
	}
	if ((a->check & TPM_ALIKE_PARSE) != 0 || ((a->check & TPM_ALIKE_SUM_IP) != 0 && !tpm_alike_ip_right(f)))
		return tpm_ipoib_status(d, len, csum);
	if (tpm_raw16(f + a->csum_at) == 0) {
		what = a->unsummed;
		*csum = 0;
	} else {
		if (tpm_unlikely(!tpm_alike_l4_right(a, f)))
			return tpm_ipoib_status(d, len, csum);
		what = a->summed;
		*csum = MLX4_CQE_CSUM_OK;
	}
	return (uint32_t)(rte_be_to_cpu_64(what) >> 32);
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

/* The counters of a row, and its event. */
static void
row_end(struct in *in)
{
	if (in->qp == NULL || in->n == 0)
		return;
	in->p->ibp.pm.c.rx_packets += in->n;
	in->p->ibp.pm.c.rx_bytes += in->bytes;
	in->p->roce_rx += in->n;
	in->m->counter[in->qp->counter].rx_frames += in->n;
	in->m->counter[in->qp->counter].rx_bytes += in->bytes - (uint64_t)in->n * IB_VCRC_SIZE;
	tre_ud_received(&in->qp->roce->e, in->n, in->payload);
	tpm_cq_notify(in->m, in->qp->rcq, false);
	in->n = 0;
	in->bytes = in->payload = 0;
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
	if (!tpm_ib_pkey_fits(ib, ib_bth_pkey(bth), at) || !tpm_rq_ready(in->m, qp) || qp->ring.flat == NULL)
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

/* Where len octets go by the next receive WQE; NULL: its first element does not take them in one piece. */
static inline uint8_t *
buffer_of(struct in *in, uint32_t len)
{
	const uint8_t *w = tpm_rq_wqe(in->qp, in->qp->rq_head);
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

/* In whole words, the one with the owner bit last. */
static inline void
complete(struct in *in, uint32_t len, uint32_t status, uint16_t csum)
{
	struct tpm_qp *qp = in->qp;
	struct tpm_cq *cq = qp->rcq;
	const uint16_t index = (uint16_t)qp->rq_head++;
	uint64_t *w = (uint64_t *)(void *)tpm_cqe_next(in->m, cq);
	const uint8_t last = MLX4_CQE_RECV_SEND | ((cq->pi & (cq->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0);

	if (tpm_unlikely(w == NULL))
		return;
	__atomic_store_n(&w[0], in->like[0], __ATOMIC_RELAXED);
	__atomic_store_n(&w[1], in->like[1], __ATOMIC_RELAXED);
	__atomic_store_n(&w[2], rte_cpu_to_be_64((uint64_t)status << 32 | len), __ATOMIC_RELAXED);
	__atomic_store_n(&w[3], rte_cpu_to_be_64((uint64_t)index << 48 | (uint64_t)csum << 32 | last),
			 __ATOMIC_RELEASE);
	cq->pi++;
}

/* False: the packet is to be looked at on its own. */
static inline bool
receive_one(struct in *in, const struct tp_frame *f, unsigned int left)
{
	static const uint8_t no_grh[IB_GRH_LEN];
	const uint8_t *d = f->seg[0].data;
	const uint32_t len = f->len;
	uint32_t inside, payload, status = 0;
	uint16_t csum = 0;
	uint8_t *to;

	if (tpm_unlikely(f->nseg != 1 || (f->flags & TP_FRAME_BAD_FCS) != 0 || len < HEAD + TAIL ||
			 len > TPM_IB_PACKET))
		return false;
	if (tpm_unlikely(in->qp == NULL || !is_alike(in, d)) && !row_begin(in, d, left))
		return false;
	inside = len - HEAD - TAIL;
	payload = inside - ib_bth_pad(d + BTH);
	if (tpm_unlikely(payload > in->qp->roce->e.a.mtu || in->posted == 0 || !tpm_qp_can_receive(in->qp) ||
			 !is_whole(f, d)))
		return false;
	to = buffer_of(in, IB_GRH_LEN + payload);
	if (tpm_unlikely(to == NULL))
		return false;
	if (in->sums && inside != 0)
		status = status_of(in, d + HEAD, inside, &csum);
	tre_place(to, no_grh, sizeof(no_grh));
	tre_place(to + IB_GRH_LEN, d + HEAD, payload);
	complete(in, IB_GRH_LEN + payload, status, csum);
	in->posted--;
	in->n++;
	in->bytes += len;
	in->payload += payload;
	return true;
}

unsigned int
tpm_ib_receive_plain(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n)
{
	unsigned int i = 0;
	struct in in;

	in.m = m;
	in.p = p;
	in.qp = NULL;
	in.sums = prm_get(m->hca, MLX4_HCA_F_CSUM) != 0;
	in.type = 0;
	in.n = 0;
	in.bytes = in.payload = 0;
	in.frame = (struct tp_frame){.nseg = 1};
	while (i < n && receive_one(&in, &f[i], n - i))
		i++;
	row_end(&in);
	return i;
}
