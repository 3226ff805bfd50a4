/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive queues: receive WQEs, scattering, completions [DP 5, 6], of any frame into any scatter list. Runs of plain frames take
 * the fast road (rq_fast.c).
 */
#include "model/event/event.h"
#include "model/qos/qos.h"
#include "rq.h"

/* --- receive queue ---------------------------------------------------------------------------------------- */

static void
rq_fail(struct tp_model *m, struct tpm_qp *qp, uint8_t event)
{
	tpm_qp_to_error(m, qp);
	tpm_event_qp(m, event, qp->qpn);
}

/* How many receive WQEs are posted, as far as anybody wants to know. */
unsigned int
tpm_rq_posted(struct tp_model *m, struct tpm_qp *qp, unsigned int want)
{
	uint16_t posted = (uint16_t)(qp->rq_tail - (uint16_t)qp->rq_head);
	uint32_t found;

	if (tpm_likely(posted >= want))
		return want;
	if (!qp->has_rq)
		return 0;
	if (qp->dbrec == NULL || qp->dbrec_gen != m->tpt_gen) {
		qp->dbrec = (rte_be32_t *)tpm_dma(m, qp->dbrec_addr, 4, TP_DMA_READ, "RQ doorbell record");
		qp->dbrec_gen = m->tpt_gen;
		if (qp->dbrec == NULL)
			return 0;
	}
	found = rte_be_to_cpu_32(__atomic_load_n(qp->dbrec, __ATOMIC_ACQUIRE));
	posted = (uint16_t)(found - qp->rq_head);
	if (posted > qp->rq_mask + 1 || found > UINT16_MAX) {
		/* A flush looks again at what was told before. */
		if (qp->state == MLX4_QP_ERR)
			return 0;
		tpm_violate(m, TPM_V_DBREC_RQ, "QP", qp->qpn,
			    "doorbell record 0x%x with 0x%x consumed of %u entries: %u posted", found,
			    (uint16_t)qp->rq_head, qp->rq_mask + 1, posted);
		rq_fail(m, qp, MLX4_EVENT_WQ_CATAS);
		return 0;
	}
	qp->rq_tail = (uint16_t)found;
	return posted < want ? posted : want;
}

void
tpm_rq_flush(struct tp_model *m, struct tpm_qp *qp)
{
	while (qp->has_rq && tpm_rq_posted(m, qp, 1) == 1) {
		if (!tpm_cqe_error(m, qp->rcq, qp->qpn, (uint16_t)qp->rq_head, MLX4_SYND_WR_FLUSH, false))
			return;
		qp->rq_head++;
		m->port[qp->port - 1].flushed_rq++;
	}
	if (qp->rcq != NULL)
		tpm_cq_notify(m, qp->rcq, true);
}

bool
tpm_rq_ready(struct tp_model *m, struct tpm_qp *qp)
{
	if (tpm_likely(qp->ring.gen == m->tpt_gen && qp->ring.valid))
		return true;
	if (qp->ring.gen != m->tpt_gen && tpm_ring_resolve(m, &qp->ring, "QP", qp->qpn) == 0)
		return true;
	rq_fail(m, qp, MLX4_EVENT_WQ_CATAS);
	return false;
}

const uint8_t *
tpm_rq_peek(struct tp_model *m, struct tpm_qp *qp)
{
	if (!tpm_rq_ready(m, qp) || tpm_rq_posted(m, qp, 1) == 0)
		return NULL;
	return tpm_rq_wqe(qp, qp->rq_head);
}

/* --- completion ------------------------------------------------------------------------------------------- */

/* Status, extension mask and flags of the CQE as its dword at 0x10; *csum: its checksum field. */
uint32_t
tpm_rq_status(const struct tpm_port *p, const struct tp_frame *f, const uint8_t *h, const struct tpm_pkt *k,
	      uint16_t *csum)
{
	uint32_t status = k->status, enc = k->enc;
	bool l4 = (f->flags & TPM_FRAME_L4_OK) != 0 && (k->status & (MLX4_CQE_ST_TCP | MLX4_CQE_ST_UDP)) != 0;

	if (tpm_csum_ip_good(f, h, k))
		status |= MLX4_CQE_ST_IP_OK;
	if ((f->flags & TP_FRAME_BAD_FCS) != 0)
		enc |= MLX4_CQE_BAD_FCS;
	*csum = 0;
	if (l4 || tpm_csum_l4_good(f, h, k)) {
		enc |= MLX4_CQE_L4_OK;
		*csum = MLX4_CQE_CSUM_OK;
	} else if ((p->rx_csum_mode & 1) != 0) {
		*csum = tpm_csum_partial(f, h, k);
	}
	return status << 16 | (uint32_t)k->ext << 8 | enc;
}

/* What status and flags say of checksums, each in the other's place. */
static uint32_t
swap_sums(uint32_t status, uint32_t *flags)
{
	const uint32_t ip = (uint32_t)MLX4_CQE_ST_IP_OK << 16, l4 = MLX4_CQE_L4_OK;
	uint32_t outer =
		((*flags & MLX4_CQE_TUNNEL_IP_OK) != 0 ? ip : 0) | ((*flags & MLX4_CQE_TUNNEL_UDP_OK) != 0 ? l4 : 0);

	*flags &= ~(MLX4_CQE_TUNNEL_IP_OK | MLX4_CQE_TUNNEL_UDP_OK);
	*flags |= ((status & ip) != 0 ? MLX4_CQE_TUNNEL_IP_OK : 0) | ((status & l4) != 0 ? MLX4_CQE_TUNNEL_UDP_OK : 0);
	return (status & ~(ip | l4)) | outer;
}

/*
 * The same for a frame that may have another one inside, which status and checksum then are about; *flags: what the first
 * dword says of the outer one.
 */
static uint32_t
status_deep(const struct tp_model *m, const struct tpm_port *p, const struct tpm_qp *qp, const struct tp_frame *f,
	    const uint8_t *h, uint32_t hlen, const struct tpm_pkt *k, uint16_t *csum, uint32_t *flags)
{
	struct tp_frame in = *f;
	struct tpm_pkt inner;
	uint32_t status;
	enum tpm_tunnel kind = qp->tunnels ? tpm_tunnel_parse(m, p, h, hlen, k, &inner) : TPM_TUNNEL_NONE;

	/* Of IP in IP no reader of completions knows anything. */
	if (kind == TPM_TUNNEL_NONE || kind == TPM_TUNNEL_IPIP)
		return tpm_rq_status(p, f, h, k, csum);
	*flags |= tpm_tunnel_status(f, h, k);
	/* What the sender's hardware vouches for are outer headers. */
	in.flags &= TP_FRAME_BAD_FCS;
	status = tpm_rq_status(p, &in, h, &inner, csum);
	return tpm_quirk(m, MLX4_QUIRK_TUNNEL_SUMS) == 0 ? status : swap_sums(status, flags);
}

void
tpm_rq_cqe(struct tp_model *m, struct tpm_qp *qp, struct mlx4_cqe *c, uint32_t len, uint32_t hash, uint32_t status,
	   uint16_t csum, uint32_t vlan_flags, uint16_t tci)
{
	rte_be32_t st = rte_cpu_to_be_32(status);

	c->vlan_my_qpn = rte_cpu_to_be_32(qp->qpn | vlan_flags);
	c->immed_rss = rte_cpu_to_be_32(hash);
	c->g_mlpath_rqpn = 0;
	c->sl_vid = rte_cpu_to_be_16(tci);
	c->rlid = 0;
	memcpy(&c->status, &st, sizeof(st));
	c->byte_cnt = rte_cpu_to_be_32(len);
	c->wqe_index = rte_cpu_to_be_16((uint16_t)qp->rq_head);
	c->checksum = rte_cpu_to_be_16(csum);
	memset(c->rsvd, 0, sizeof(c->rsvd));
	if (tpm_unlikely(qp->rcq->stamp))
		tpm_cqe_stamp(m, c);
	tpm_cqe_commit(qp->rcq, c, MLX4_CQE_RECV_SEND);
	qp->rq_head++;
}

/* --- the slow road: any frame into any scatter list ------------------------------------------------------- */

struct scatter {
	uint32_t off; /* of the frame, copied so far */
	uint8_t syndrome;
};

/* One element of the list; false when the list ends here. */
static bool
scatter_one(struct tp_model *m, struct tpm_qp *qp, const uint8_t *e, unsigned int i, const struct tp_frame *f,
	    struct scatter *s)
{
	uint32_t count = prm_get32(e, 0), key = prm_get32(e, 4);
	uint64_t va = prm_get64(e, 8);

	if (key == MLX4_LKEY_INVALID && count == 0)
		return false;
	if (count == 0 || (count & MLX4_DATA_INLINE) != 0) {
		tpm_violate(m, TPM_V_RQ_SCATTER, "QP", qp->qpn,
			    "receive WQE 0x%x element %u: byte count 0x%x, wanted 1..2^31 - 1", (uint16_t)qp->rq_head,
			    i, count);
		s->syndrome = MLX4_SYND_LOCAL_PROT;
		return false;
	}
	while (count != 0 && s->off < f->len) {
		uint32_t n = f->len - s->off < count ? f->len - s->off : count;
		enum tpm_xlat_err err;
		uint8_t *dst = tpm_mr_translate(m, &qp->tlb, key, qp->pd, va, &n, TPM_ACC_LW, &err);

		if (dst == NULL) {
			tpm_violate(m, tpm_xlat_violation(err), "QP", qp->qpn,
				    "receive WQE 0x%x element %u: key 0x%x, address 0x%llx, %u bytes: %s",
				    (uint16_t)qp->rq_head, i, key, (unsigned long long)va, count, tpm_xlat_text(err));
			s->syndrome = MLX4_SYND_LOCAL_PROT;
			return false;
		}
		tpm_frame_copy(f, s->off, dst, n);
		s->off += n;
		va += n;
		count -= n;
	}
	return true;
}

static uint8_t
scatter_frame(struct tp_model *m, struct tpm_qp *qp, const struct tp_frame *f)
{
	const uint8_t *w = tpm_rq_wqe(qp, qp->rq_head);
	unsigned int max = 1u << (qp->rq_lg_stride - 4), i;
	struct scatter s = {0};

	for (i = 0; i < max && s.off < f->len; i++)
		if (!scatter_one(m, qp, w + i * MLX4_DS_SIZE, i, f, &s))
			break;
	if (s.syndrome != 0)
		return s.syndrome;
	if (i == 0)
		tpm_violate(m, TPM_V_RQ_SCATTER, "QP", qp->qpn, "receive WQE 0x%x has no buffer, wanted 1..%u elements",
			    (uint16_t)qp->rq_head, max);
	return s.off < f->len ? MLX4_SYND_LOCAL_LENGTH : 0;
}

/* The frame as this QP wants it: without its tag, with its FCS. */
static void
shape_frame(const struct tpm_qp *qp, const struct tp_frame *in, const uint8_t *h, const struct tpm_pkt *k, bool strip,
	    struct tp_frame *out, uint8_t fcs[TPM_FCS_LEN])
{
	uint32_t skip = 0;
	unsigned int n = 0;

	out->flags = in->flags;
	out->len = in->len;
	if (strip) {
		out->seg[n++] = (struct tp_frame_seg){.data = h, .len = 2 * TPM_ETH_ALEN};
		skip = 2 * TPM_ETH_ALEN + TPM_VLAN_HLEN;
		out->len -= TPM_VLAN_HLEN;
	}
	for (unsigned int i = 0; i < in->nseg; i++) {
		uint32_t cut = skip < in->seg[i].len ? skip : in->seg[i].len;

		skip -= cut;
		if (in->seg[i].len != cut)
			out->seg[n++] =
				(struct tp_frame_seg){.data = in->seg[i].data + cut, .len = in->seg[i].len - cut};
	}
	if (qp->fcs_keep) {
		uint32_t crc = tpm_frame_fcs(in) ^ ((in->flags & TP_FRAME_BAD_FCS) != 0 ? UINT32_MAX : 0);
		rte_le32_t wire = rte_cpu_to_le_32(crc);

		memcpy(fcs, &wire, TPM_FCS_LEN);
		out->seg[n++] = (struct tp_frame_seg){.data = fcs, .len = TPM_FCS_LEN};
		out->len += TPM_FCS_LEN;
	}
	out->nseg = (uint16_t)n;
}

bool
tpm_receive_now(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *in, uint32_t hash)
{
	bool strip;
	struct tp_frame_seg seg[TP_FRAME_SEGS + 2];
	struct tp_frame f = {.seg = seg};
	uint8_t buf[TPM_PARSE_MAX], fcs[TPM_FCS_LEN], synd;
	struct mlx4_cqe *c;
	struct tpm_pkt k;
	uint32_t hlen, status, flags;
	const uint8_t *h = tpm_frame_head(in, buf, &hlen);
	uint16_t csum;

	if (!tpm_rq_ready(m, qp))
		return true;
	if (tpm_rq_posted(m, qp, 1) == 0)
		return false;
	tpm_parse(h, hlen, in->len, &k);
	strip = k.cvlan && !qp->vlan_keep;
	shape_frame(qp, in, h, &k, strip, &f, fcs);
	synd = scatter_frame(m, qp, &f);
	if (synd != 0) {
		if (tpm_cqe_error(m, qp->rcq, qp->qpn, (uint16_t)qp->rq_head, synd, false)) {
			qp->rq_head++;
			tpm_cq_notify(m, qp->rcq, true);
		}
		if (synd == MLX4_SYND_LOCAL_LENGTH)
			p->c.rx_length++;
		else
			rq_fail(m, qp, MLX4_EVENT_WQ_ACCESS);
		return true;
	}
	c = tpm_cqe_next(m, qp->rcq);
	if (c == NULL)
		return true;
	flags = k.cvlan ? MLX4_CQE_CVLAN : 0;
	status = status_deep(m, p, qp, in, h, hlen, &k, &csum, &flags);
	tpm_rq_cqe(m, qp, c, f.len, hash, status, csum, flags, k.tci);
	m->counter[qp->counter].rx_frames++;
	m->counter[qp->counter].rx_bytes += in->len;
	tpm_cq_notify(m, qp->rcq, false);
	return true;
}

/* A frame that finds no receive WQE waits for one, or is lost. */
void
tpm_rq_none(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *in, uint32_t hash)
{
	if (qp->delay_drop != 0 && tpm_qp_can_receive(qp)) {
		if (tpm_rxbuf_put(m, p, qp, in, hash))
			tpm_delay_start(m, qp);
		return;
	}
	p->rx_no_wqe++;
	p->c.rx_drop++;
}

void
tpm_receive_slow(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *in, uint32_t hash)
{
	if (tpm_unlikely(p->rx_waits) && tpm_rxbuf_behind(p, in))
		tpm_rxbuf_put(m, p, qp, in, hash);
	else if (tpm_receive_now(m, p, qp, in, hash))
		qp->delay_runs = false;
	else
		tpm_rq_none(m, p, qp, in, hash);
}
