/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Plain datagrams on their way out: in one piece, to another port by its LID, nothing to be computed inside them. They wait for
 * no answer, so that they are made in bursts beside the transport. A burst is a row of WQEs that are alike but for the data that
 * they name: to one address, with the same flags. Where nobody sees what is on the wire, the port at its other end takes a row
 * as it is, and no packets are made of it. All else is left where it is in the send queue, for the transport.
 */
#include <rte_common.h>
#include <rte_prefetch.h>

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include "lib/roce/wire/opcode.h"
#include "model/frame/ib_wire.h"
#include "model/port/port.h"
#include "ib.h"

#define WQE (sizeof(struct mlx4_wqe_ctrl) + MLX4_DGRAM_SIZE + MLX4_DS_SIZE)
#define FLAGS_AT 8u
#define ADDRESS_AT sizeof(struct mlx4_wqe_ctrl)
#define DATA_AT (ADDRESS_AT + MLX4_DGRAM_SIZE)
#define HEAD (IB_LRH_SIZE + IB_BTH_LEN + IB_DETH_LEN)
#define BTH IB_LRH_SIZE
#define TAIL (IB_ICRC_LEN + IB_VCRC_SIZE)
#define LRH_WORDS_AT 4u
#define BTH_FLAGS_AT (BTH + 1u)
#define BTH_PSN_AT (BTH + 8u)
#define AHEAD 8u /* WQEs */
#define ARENA 16384u
#define CSUMS (MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM)

#define PLAIN_OP rte_cpu_to_be_32(MLX4_OP_SEND)
#define PLAIN_DS rte_cpu_to_be_32((uint32_t)(WQE / MLX4_DS_SIZE))
#define OWN_BIT rte_cpu_to_be_32(MLX4_CTRL_OWN)
#define CQE_BITS rte_cpu_to_be_32(MLX4_CTRL_CQE_MASK)

/* Datagrams to one address: their headers, but for what each has of its own. */
struct flow {
	uint8_t address[MLX4_DGRAM_SIZE] __attribute__((aligned(16))); /* as WQEs have it */
	rte_be32_t flags;                                              /* theirs, but for that of completions */
	bool known, solicited;
	uint8_t vl;
	uint8_t head[HEAD];
};

struct out {
	struct tp_model *m;
	struct tpm_port *p;
	struct tpm_qp *qp;
	struct flow flow;
	struct tpm_stretch data;
	/* The burst. */
	unsigned int n, told;
	uint32_t longest; /* none is longer */
	uint64_t payload;
	struct tp_frame_seg d[TPM_BURST];
	uint16_t index[TPM_BURST]; /* of those that want a completion */
	/* Packets of it. */
	struct tp_frame f[TPM_BURST];
	struct tp_frame_seg seg[TPM_BURST];
	uint8_t packets[ARENA];
};

/* --- WQEs ------------------------------------------------------------------------------------------------- */

/* Has a WQE the address of the flow? */
static inline bool
same_address(const struct flow *fl, const uint8_t *w)
{
	const uint8_t *d = w + ADDRESS_AT;
#ifdef __SSE4_1__
	const __m128i *want = (const __m128i *)(const void *)fl->address;
	__m128i differ = _mm_setzero_si128();

	for (unsigned int i = 0; i < MLX4_DGRAM_SIZE / 16; i++)
		differ = _mm_or_si128(differ,
				      _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)d + i), want[i]));
	return _mm_testz_si128(differ, differ) != 0;
#else
	uint64_t differ = 0;

	for (unsigned int i = 0; i < MLX4_DGRAM_SIZE; i += 8)
		differ |= tpm_raw64(fl->address + i) ^ tpm_raw64(d + i);
	return differ == 0;
#endif
}

/* A flow of WQEs like this one. False: it is for the transport, to send or to refuse it. */
static bool
new_flow(const struct out *o, const uint8_t *w, struct flow *fl)
{
	const struct tpm_ib *ib = &o->p->ibp;
	const uint8_t *d = w + ADDRESS_AT;
	const uint32_t qkey = prm_get(d, MLX4_DGRAM_QKEY), flags = prm_get32(w, FLAGS_AT);
	struct tpm_roce_path path;
	uint8_t *at;

	fl->known = false;
	tpm_roce_ib_address(d, &path);
	fl->vl = tpm_ib_vl_of(ib, path.sl);
	if ((flags & CSUMS) != 0 || prm_get(d, MLX4_AV_PD) != o->qp->pd || path.grh || path.loop ||
	    fl->vl == IB_VL_MGMT || tpm_ib_is_mcast(path.dlid) || tpm_ib_own_lid(ib, path.dlid))
		return false;
	at = tpm_ib_put_headers(ib, &path, fl->vl, 0, fl->head);
	ib_bth_put(at, IB_TR_UD | IB_OP_SEND_ONLY, false, 0, tpm_ib_pkey_of(ib, o->qp), prm_get(d, MLX4_DGRAM_QPN),
		   false, 0);
	at += IB_BTH_LEN;
	/* A key with the top bit set stands for the QP's own (10.2.5). */
	ib_put32(at, (qkey & IB_QKEY_PRIVILEGED) != 0 ? o->qp->roce->e.a.qkey : qkey);
	ib_put32(at + 4, o->qp->qpn & IB_QPN_MASK);
	memcpy(fl->address, d, sizeof(fl->address));
	fl->flags = tpm_raw32(w + FLAGS_AT) & ~CQE_BITS;
	fl->solicited = (flags & MLX4_CTRL_SOLICITED) != 0;
	fl->known = true;
	return true;
}

/* Is a WQE, posted and of one element, like those of the flow? */
static inline bool
is_like(const struct flow *fl, const uint8_t *w)
{
	return (tpm_raw32(w + FLAGS_AT) & ~CQE_BITS) == fl->flags && same_address(fl, w);
}

/* What a WQE's data segment names, of len octets; NULL: it is not there in one piece. The stretch is where it lies. */
static inline const uint8_t *
data_of(const struct out *o, struct tpm_stretch *s, const uint8_t *seg, uint32_t len)
{
	const uint64_t va = prm_get64(seg, 8);
	const uint8_t *p = tpm_stretch_at(o->m, &o->qp->tlb, s, tpm_raw32(seg + 4), va, len, TPM_ACC_LR);
	enum tpm_xlat_err err;
	uint32_t n = len;

	if (tpm_likely(p != NULL))
		return p;
	p = tpm_mr_translate(o->m, &o->qp->tlb, prm_get32(seg, 4), o->qp->pd, va, &n, TPM_ACC_LR, &err);
	/* Now the TLB has it. */
	return p != NULL && n == len ? tpm_stretch_at(o->m, &o->qp->tlb, s, tpm_raw32(seg + 4), va, len, TPM_ACC_LR)
				     : NULL;
}

static inline uint32_t
strides_of(const struct tpm_qp *qp)
{
	return ((uint32_t)WQE + (1u << qp->sq_lg_stride) - 1) >> qp->sq_lg_stride;
}

/*
 * WQEs from where the send queue stands, max at most, as long as they are plain and like the first one: what they name is the
 * burst. ahead: so many may be posted behind the first ones. What the loop needs is kept where stores cannot change it.
 */
static void
gather(struct out *o, unsigned int max, unsigned int ahead)
{
	const struct tpm_qp *qp = o->qp;
	const uint32_t head = qp->sq_head, mask = qp->sq_mask, at = (head & mask) << qp->sq_lg_stride;
	const uint32_t strides = strides_of(qp), step = strides << qp->sq_lg_stride, mtu = qp->roce->e.a.mtu;
	/* To the end of the ring at most: so far owner bits are the same. */
	const unsigned int end = RTE_MIN(max, (((mask + 1) << qp->sq_lg_stride) - at) / step);
	const rte_be32_t want[2] = {PLAIN_OP | ((head & (mask + 1)) != 0 ? OWN_BIT : 0), PLAIN_DS};
	const uint64_t first = tpm_raw64((const uint8_t *)want);
	const uint8_t *w = qp->ring.flat + qp->sq_off + at;
	struct tpm_stretch s = o->data;
	/* Length and key of the WQE before; how far into the stretch the data of one like it may begin. */
	uint64_t like = ~tpm_raw64(w + DATA_AT), slack = 0;
	uint64_t payload = 0;
	uint32_t len = 0, longest = 0;
	unsigned int i, told = 0;

	for (i = 0; i < end; i++, w += step) {
		const uint8_t *data;
		uint64_t this, from;

		if (__atomic_load_n((const uint64_t *)(const void *)w, __ATOMIC_ACQUIRE) != first)
			break;
		if (tpm_unlikely(i == 0 && !(o->flow.known && is_like(&o->flow, w))) && !new_flow(o, w, &o->flow))
			break;
		if (tpm_unlikely(!is_like(&o->flow, w)))
			break;
		if (i < ahead) {
			rte_prefetch0(w + (size_t)AHEAD * step);
			rte_prefetch0(w + (size_t)AHEAD * step + DATA_AT);
		}
		this = tpm_raw64(w + DATA_AT);
		from = prm_get64(w, DATA_AT + 8) - s.lo;
		if (tpm_likely(this == like && from <= slack)) {
			data = s.host + from;
		} else {
			len = prm_get32(w, DATA_AT);
			if (tpm_unlikely(len - 1 >= mtu))
				break;
			data = data_of(o, &s, w + DATA_AT, len);
			if (tpm_unlikely(data == NULL))
				break;
			like = this;
			slack = s.len - len;
			longest = RTE_MAX(longest, len);
		}
		rte_prefetch0(data);
		o->d[i].data = data;
		o->d[i].len = len;
		payload += len;
		if (tpm_unlikely((tpm_raw32(w + FLAGS_AT) & CQE_BITS) == rte_cpu_to_be_32(MLX4_CTRL_CQE)))
			o->index[told++] = (uint16_t)(head + i * strides);
	}
	o->n = i;
	o->told = told;
	o->longest = longest;
	o->payload = payload;
	o->data = s;
}

/* --- packets ---------------------------------------------------------------------------------------------- */

static inline void
copy(uint8_t *to, const uint8_t *from, uint32_t len)
{
	typedef uint64_t vec __attribute__((vector_size(16), aligned(1), may_alias));

	if (tpm_likely(len - 32 <= 32)) {
		*(vec *)(void *)to = *(const vec *)(const void *)from;
		*(vec *)(void *)(to + 16) = *(const vec *)(const void *)(from + 16);
		*(vec *)(void *)(to + len - 32) = *(const vec *)(const void *)(from + len - 32);
		*(vec *)(void *)(to + len - 16) = *(const vec *)(const void *)(from + len - 16);
	} else {
		memcpy(to, from, len);
	}
}

/* Returns the length through the VCRC. Without seal the place of the CRCs has zeros. */
static inline uint32_t
put_packet(const struct flow *fl, uint8_t *packet, const uint8_t *data, uint32_t len, uint32_t psn, bool seal)
{
	const uint32_t pad = -len & 3u, all = HEAD + len + pad;

	memcpy(packet, fl->head, HEAD);
	tpm_store16(packet + LRH_WORDS_AT, (uint16_t)((all + IB_ICRC_LEN) / 4));
	packet[BTH_FLAGS_AT] = (uint8_t)((fl->solicited ? IB_BTH_SE : 0) | IB_BTH_MIGREQ | pad << 4);
	ib_put32(packet + BTH_PSN_AT, psn);
	copy(packet + HEAD, data, len);
	memset(packet + HEAD + len, 0, 4); /* more than the pad, where the CRCs come */
	if (tpm_likely(seal))
		return tpm_ib_seal(packet, all, false);
	memset(packet + all, 0, TAIL);
	return all + TAIL;
}

/* Makes packets of the burst from its datagram number from on, n at most, and sends them. Returns how many; *bytes grows. */
static unsigned int
send_packets(struct out *o, unsigned int from, unsigned int n, uint32_t psn, uint64_t *bytes)
{
	/* Nobody sees what is in those of a row that the other port takes by its transport. */
	const bool seal = !tpm_ib_is_direct(o->p);
	uint32_t used = 0;
	unsigned int i;

	for (i = 0; i < n && used + TPM_IB_AROUND + o->d[from + i].len + 4 <= ARENA; i++) {
		const struct tp_frame_seg *d = &o->d[from + i];
		uint8_t *packet = o->packets + used;
		uint32_t len = put_packet(&o->flow, packet, d->data, d->len, ib_psn_add(psn, from + i), seal);

		o->seg[i] = (struct tp_frame_seg){.data = packet, .len = len};
		o->f[i] = (struct tp_frame){.seg = &o->seg[i], .nseg = 1, .len = len, .flags = TPM_FRAME_CRC_OK};
		used += len;
	}
	*bytes += used;
	tpm_ib_send(o->m, o->p, o->f, i, o->flow.vl, false);
	return i;
}

/* --- without packets -------------------------------------------------------------------------------------- */

/* Gives the burst from a datagram on to the port at the other end. Returns how many it took; *bytes grows. */
static unsigned int
hand_over(struct out *o, unsigned int from, uint64_t *bytes)
{
	const struct tpm_ib_row r = {.head = o->flow.head, .d = o->d + from, .n = o->n - from, .longest = o->longest};
	struct tpm_port *p = o->p;
	uint64_t sent = 0;
	unsigned int n;

	if (!tpm_ib_is_direct(p) || o->flow.solicited)
		return 0;
	n = tpm_ib_hand_over(o->m, p->direct, &r, &sent);
	p->ibp.pm.c.tx_packets += n;
	p->ibp.pm.c.tx_bytes += sent;
	o->m->st.port[p->num - 1].tx_frames += n;
	o->m->st.port[p->num - 1].tx_bytes += sent;
	*bytes += sent;
	return n;
}

/* --- bursts ----------------------------------------------------------------------------------------------- */

/* Sends and completes the burst. */
static void
flush(struct out *o)
{
	struct tpm_roce *r = o->qp->roce;
	const uint32_t psn = r->e.next_psn;
	unsigned int done = 0, n;
	uint64_t bytes = 0;

	tre_ud_sent(&r->e, o->n, o->payload);
	while (done < o->n) {
		n = hand_over(o, done, &bytes);
		done += n;
		/* What is not taken by the first one is by none; behind others it may be the only one. */
		if (tpm_unlikely(done < o->n))
			done += send_packets(o, done, n == 0 ? o->n - done : 1, psn, &bytes);
	}
	o->m->counter[o->qp->counter].tx_frames += o->n;
	o->m->counter[o->qp->counter].tx_bytes += bytes;
	o->p->roce_tx += o->n;
	for (unsigned int i = 0; i < o->told; i++)
		tpm_roce_sent(r, o->index[i], MLX4_OP_SEND, 0);
}

unsigned int
tpm_ib_datagrams(struct tp_model *m, struct tpm_qp *qp, unsigned int budget)
{
	struct tpm_port *p = &m->port[qp->port - 1];
	/* Where the far end counts what it has room for, each packet is on its way before the next one asks. */
	const bool rooms = p->wire != NULL && p->wire->ops->room != NULL;
	const uint32_t strides = strides_of(qp);
	struct tre_qp *e = &qp->roce->e;
	unsigned int done = 0;
	struct out o;

	if (qp->ring.flat == NULL)
		return 0;
	o.m = m;
	o.p = p;
	o.qp = qp;
	o.flow.known = false;
	o.data = (struct tpm_stretch){0};
	do {
		gather(&o, RTE_MIN(rooms ? 1 : TPM_BURST, budget - done),
		       qp->last_turn - RTE_MIN(qp->last_turn, done + AHEAD));
		if (o.n == 0 || (tpm_unlikely(rooms) && !tpm_ib_room(p, o.flow.vl, tpm_ib_wire_len(o.longest))))
			break;
		qp->sq_head += o.n * strides;
		flush(&o);
		done += o.n;
	} while (done < budget && tre_ud_may_send(e));
	return done;
}
