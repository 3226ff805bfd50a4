/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Plain datagrams on their way out: in one piece, to another port by its LID, nothing to be computed inside them. They wait for
 * no answer, so that they are made in bursts beside the transport. What the addresses of several have in common is looked
 * up once. All else is left where it is in the send queue, for the transport.
 */
#include <rte_common.h>
#include <rte_prefetch.h>

#include "lib/roce/wire/opcode.h"
#include "model/frame/ib_wire.h"
#include "model/port/port.h"
#include "ib.h"

#define WQE (sizeof(struct mlx4_wqe_ctrl) + MLX4_DGRAM_SIZE + MLX4_DS_SIZE)
#define ADDRESS_AT sizeof(struct mlx4_wqe_ctrl)
#define DATA_AT (ADDRESS_AT + MLX4_DGRAM_SIZE)
#define HEAD (IB_LRH_SIZE + IB_BTH_LEN + IB_DETH_LEN)
#define BTH IB_LRH_SIZE
#define TAIL (IB_ICRC_LEN + IB_VCRC_SIZE)
#define LRH_WORDS_AT 4u
#define BTH_FLAGS_AT (BTH + 1u)
#define BTH_PSN_AT (BTH + 8u)
#define AHEAD 4u
#define ARENA 16384u
#define CSUMS (MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM)

#define PLAIN_OP rte_cpu_to_be_32(MLX4_OP_SEND)
#define PLAIN_DS rte_cpu_to_be_32((uint32_t)(WQE / MLX4_DS_SIZE))
#define OWN_BIT rte_cpu_to_be_32(MLX4_CTRL_OWN)

/* Datagrams to one address: their headers, but for what each has of its own. */
struct flow {
	bool known;
	uint8_t vl;
	uint8_t address[MLX4_DGRAM_SIZE]; /* as WQEs have it */
	uint8_t head[HEAD];
};

struct out {
	struct tp_model *m;
	struct tpm_port *p;
	struct tpm_qp *qp;
	struct flow flow;
	struct tpm_stretch data;
	unsigned int n, told;
	uint64_t payload;
	uint32_t used;
	struct tp_frame f[TPM_BURST];
	struct tp_frame_seg seg[TPM_BURST];
	uint16_t index[TPM_BURST]; /* of those that want a completion */
	uint8_t packets[ARENA];
};

static inline bool
same_address(const struct flow *fl, const uint8_t *d)
{
	uint64_t differ = 0;

	if (!fl->known)
		return false;
	for (unsigned int i = 0; i < MLX4_DGRAM_SIZE; i += 8)
		differ |= tpm_raw64(fl->address + i) ^ tpm_raw64(d + i);
	return differ == 0;
}

/* False: it is for the transport, to send or to refuse it. */
static bool
new_flow(const struct out *o, const uint8_t *d, struct flow *fl)
{
	const struct tpm_ib *ib = &o->p->ibp;
	const uint32_t qkey = prm_get(d, MLX4_DGRAM_QKEY);
	struct tpm_roce_path path;
	uint8_t *at;

	fl->known = false;
	tpm_roce_ib_address(d, &path);
	fl->vl = tpm_ib_vl_of(ib, path.sl);
	if (prm_get(d, MLX4_AV_PD) != o->qp->pd || path.grh || path.loop || fl->vl == IB_VL_MGMT ||
	    tpm_ib_is_mcast(path.dlid) || tpm_ib_own_lid(ib, path.dlid))
		return false;
	at = tpm_ib_put_headers(ib, &path, fl->vl, 0, fl->head);
	ib_bth_put(at, IB_TR_UD | IB_OP_SEND_ONLY, false, 0, tpm_ib_pkey_of(ib, o->qp), prm_get(d, MLX4_DGRAM_QPN),
		   false, 0);
	at += IB_BTH_LEN;
	/* A key with the top bit set stands for the QP's own (10.2.5). */
	ib_put32(at, (qkey & IB_QKEY_PRIVILEGED) != 0 ? o->qp->roce->e.a.qkey : qkey);
	ib_put32(at + 4, o->qp->qpn & IB_QPN_MASK);
	memcpy(fl->address, d, sizeof(fl->address));
	fl->known = true;
	return true;
}

/* What a WQE's data segment names, of len bytes; NULL: it is not there in one piece. */
static inline const uint8_t *
data_of(struct out *o, const uint8_t *seg, uint32_t len)
{
	const uint64_t va = prm_get64(seg, 8);
	const uint8_t *p = tpm_stretch_at(o->m, &o->qp->tlb, &o->data, tpm_raw32(seg + 4), va, len, TPM_ACC_LR);
	enum tpm_xlat_err err;
	uint32_t n = len;

	if (tpm_likely(p != NULL))
		return p;
	p = tpm_mr_translate(o->m, &o->qp->tlb, prm_get32(seg, 4), o->qp->pd, va, &n, TPM_ACC_LR, &err);
	return n == len ? p : NULL;
}

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

/* Returns the length through the VCRC. */
static inline uint32_t
put_packet(const struct flow *fl, uint8_t *packet, const uint8_t *data, uint32_t len, uint32_t psn, bool solicited)
{
	const uint32_t pad = -len & 3u, all = HEAD + len + pad;

	memcpy(packet, fl->head, HEAD);
	tpm_store16(packet + LRH_WORDS_AT, (uint16_t)((all + IB_ICRC_LEN) / 4));
	packet[BTH_FLAGS_AT] = (uint8_t)((solicited ? IB_BTH_SE : 0) | IB_BTH_MIGREQ | pad << 4);
	ib_put32(packet + BTH_PSN_AT, psn);
	copy(packet + HEAD, data, len);
	memset(packet + HEAD + len, 0, 4); /* more than the pad, where the CRCs come */
	return tpm_ib_seal(packet, all, false);
}

/* The next WQE's packet behind those of the burst; false: it is not a plain one, or there is no room. */
static inline bool
gather_one(struct out *o, uint32_t head, uint32_t psn)
{
	const struct tpm_qp *qp = o->qp;
	const uint32_t at = (head & qp->sq_mask) << qp->sq_lg_stride;
	const uint8_t *w = qp->ring.flat + qp->sq_off + at, *data;
	const rte_be32_t own = (head & (qp->sq_mask + 1)) != 0 ? OWN_BIT : 0;
	const rte_be32_t want[2] = {PLAIN_OP | own, PLAIN_DS};
	uint8_t *packet = o->packets + o->used;
	uint32_t flags, len;

	if (__atomic_load_n((const uint64_t *)(const void *)w, __ATOMIC_ACQUIRE) != tpm_raw64((const uint8_t *)want) ||
	    tpm_unlikely(at + WQE > (qp->sq_mask + 1) << qp->sq_lg_stride))
		return false;
	flags = prm_get32(w, 8);
	len = prm_get32(w, DATA_AT);
	if (tpm_unlikely((flags & CSUMS) != 0 || len - 1 >= qp->roce->e.a.mtu ||
			 o->used + HEAD + len + 4 + TAIL > ARENA))
		return false;
	if (tpm_unlikely(!same_address(&o->flow, w + ADDRESS_AT))) {
		/* Those of the burst are of one lane. */
		uint8_t vl = o->flow.vl;

		if (!new_flow(o, w + ADDRESS_AT, &o->flow) || (o->n != 0 && o->flow.vl != vl)) {
			o->flow.vl = vl;
			o->flow.known = false;
			return false;
		}
	}
	data = data_of(o, w + DATA_AT, len);
	if (tpm_unlikely(data == NULL))
		return false;
	if (tpm_unlikely(o->p->wire != NULL && o->p->wire->ops->room != NULL) &&
	    !tpm_ib_room(o->p, o->flow.vl, HEAD + len + (-len & 3u) + TAIL))
		return false;
	rte_prefetch0(w + ((size_t)AHEAD << qp->sq_lg_stride));
	o->seg[o->n].data = packet;
	o->seg[o->n].len = put_packet(&o->flow, packet, data, len, psn, (flags & MLX4_CTRL_SOLICITED) != 0);
	o->f[o->n] =
		(struct tp_frame){.seg = &o->seg[o->n], .nseg = 1, .len = o->seg[o->n].len, .flags = TPM_FRAME_CRC_OK};
	o->used += o->seg[o->n].len;
	o->payload += len;
	o->n++;
	if ((flags & MLX4_CTRL_CQE_MASK) == MLX4_CTRL_CQE)
		o->index[o->told++] = (uint16_t)head;
	return true;
}

/* Sends and completes the burst. */
static void
flush(struct out *o)
{
	struct tpm_roce *r = o->qp->roce;
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < o->n; i++)
		bytes += o->f[i].len;
	tre_ud_sent(&r->e, o->n, o->payload);
	o->m->counter[o->qp->counter].tx_frames += o->n;
	o->m->counter[o->qp->counter].tx_bytes += bytes;
	o->p->roce_tx += o->n;
	tpm_ib_send(o->m, o->p, o->f, o->n, o->flow.vl, false);
	for (unsigned int i = 0; i < o->told; i++)
		tpm_roce_sent(r, o->index[i], MLX4_OP_SEND, 0);
}

unsigned int
tpm_ib_datagrams(struct tp_model *m, struct tpm_qp *qp, unsigned int budget)
{
	const uint32_t strides = ((uint32_t)WQE + (1u << qp->sq_lg_stride) - 1) >> qp->sq_lg_stride;
	struct tpm_port *p = &m->port[qp->port - 1];
	/* Where the far end counts what it has room for, each packet is on its way before the next one asks. */
	const unsigned int most = p->wire != NULL && p->wire->ops->room != NULL ? 1 : TPM_BURST;
	struct tre_qp *e = &qp->roce->e;
	unsigned int done = 0;
	struct out o;

	if (qp->ring.flat == NULL)
		return 0;
	o.m = m;
	o.p = p;
	o.qp = qp;
	o.flow.known = false;
	o.flow.vl = 0;
	o.data = (struct tpm_stretch){0};
	do {
		o.n = o.told = o.used = 0;
		o.payload = 0;
		while (o.n < RTE_MIN(most, budget - done) && gather_one(&o, qp->sq_head, ib_psn_add(e->next_psn, o.n)))
			qp->sq_head += strides;
		if (o.n != 0)
			flush(&o);
		done += o.n;
	} while (o.n != 0 && done < budget && tre_ud_may_send(e));
	return done;
}
