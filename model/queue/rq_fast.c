/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Plain frames into receive queues [DP 5, 6]. They come in runs that share a QP and are handled in two passes: first the receive
 * WQEs of all runs are read and their buffers prefetched, then the frames are copied. So what one queue waits for comes while
 * others are looked at. What is the same for a run is looked up once; each WQE and each frame is checked. Everything else takes
 * the slow road (rq.c) one frame at a time.
 */
#include "model/event/event.h"
#include "rq.h"

#define FEW 4u /* frames of a run */

/* --- completion ------------------------------------------------------------------------------------------- */

/* The checksum field above a status word. */
#define WITH_CSUM(status, csum) ((uint64_t)(csum) << 32 | (status))

/* Status, extension mask and flags of the CQE as its dword at 0x10, and its checksum field above them. */
static uint64_t
status_other(const struct tpm_port *p, const struct tp_frame *f)
{
	uint8_t buf[TPM_PARSE_MAX];
	struct tpm_pkt k;
	uint32_t status, hlen;
	const uint8_t *h = tpm_frame_head(f, buf, &hlen);
	uint16_t csum;

	tpm_parse(h, hlen, f->len, &k);
	status = tpm_rq_status(p, f, h, &k, &csum);
	return WITH_CSUM(status, csum);
}

/*
 * Status and length as they lie in the third double dword of the entry of a frame that begins at d; *csum: the checksum field.
 * summed: that of TCP or UDP was found right. sums: the field is wanted without TCP and UDP, too. The parser looks at what is
 * neither, and at frames with wrong checksums.
 */
static inline __attribute__((always_inline)) rte_be64_t
frame_status(const struct tpm_port *p, const struct tp_frame *f, const struct tpm_alike *a, const uint8_t *d,
	     bool summed, bool sums, uint32_t *csum)
{
	const uint8_t check = a->check;
	uint64_t status;

	if (tpm_likely((check & (TPM_ALIKE_SUM_IP | TPM_ALIKE_PARSE)) == 0 ||
		       ((check & TPM_ALIKE_PARSE) == 0 && tpm_alike_ip_right(d)))) {
		*csum = MLX4_CQE_CSUM_OK;
		if ((check & TPM_ALIKE_SUM_L4) == 0)
			return a->summed;
		if (tpm_raw16(d + a->csum_at) == 0) {
			*csum = 0;
			if (!sums)
				return a->unsummed;
		} else if (tpm_likely(summed || tpm_alike_l4_right(a, d))) {
			return a->summed;
		}
	}
	status = status_other(p, f);
	*csum = (uint32_t)(status >> 32);
	return rte_cpu_to_be_64(status << 32 | a->len);
}

/* --- buffers ---------------------------------------------------------------------------------------------- */

/* Buffer of a receive WQE when its first element alone takes len bytes. */
static inline uint8_t *
first_buffer(struct tp_model *m, struct tpm_qp *qp, const uint8_t *w, uint32_t len, struct tpm_stretch *s)
{
	uint32_t count = prm_get32(w, 0), n = len;
	uint64_t va = prm_get64(w, 8);
	enum tpm_xlat_err err;
	uint8_t *dst;

	/* Taken as an unsigned number a byte count with the inline bit is too large to be one. A plain frame is not empty. */
	if (tpm_unlikely(count < len || count > MLX4_DATA_LEN_MASK))
		return NULL;
	dst = tpm_stretch_at(m, &qp->tlb, s, tpm_raw32(w + 4), va, len, TPM_ACC_LW);
	if (tpm_likely(dst != NULL))
		return dst;
	dst = tpm_mr_translate(m, &qp->tlb, prm_get32(w, 4), qp->pd, va, &n, TPM_ACC_LW, &err);
	return n == len ? dst : NULL;
}

/*
 * All of a small frame is loaded before anything is stored: who made the frame may be the one who gets it. A long one is summed up
 * on its way: true when its checksum was found right; what else is to be summed up is so later.
 */
static inline bool
copy_frame(const struct tp_frame *f, const struct tpm_alike *a, uint8_t *dst, const uint8_t *src)
{
	const uint32_t len = a->len;

	typedef uint64_t vec __attribute__((vector_size(16), aligned(1), may_alias));

	if (tpm_likely(len - 32 <= 32)) {
		const vec v0 = *(const vec *)(const void *)src, v1 = *(const vec *)(const void *)(src + 16);
		const vec v2 = *(const vec *)(const void *)(src + len - 32),
			  v3 = *(const vec *)(const void *)(src + len - 16);

		*(vec *)(void *)dst = v0;
		*(vec *)(void *)(dst + 16) = v1;
		*(vec *)(void *)(dst + len - 32) = v2;
		*(vec *)(void *)(dst + len - 16) = v3;
	} else if ((a->check & TPM_ALIKE_RUN) != 0 && tpm_raw16(src + a->csum_at) != 0) {
		return tpm_alike_copy(a, dst, src);
	} else if (tpm_likely((a->check & TPM_ALIKE_PIECES) == 0)) {
		memcpy(dst, src, len);
	} else {
		tpm_frame_copy(f, 0, dst, len);
	}
	return false;
}

/* What WQEs before had in common, of whatever run: who is in the same protection domain sees the same by a key. */
struct seen {
	uint32_t pd;
	uint64_t like;   /* length and key of one that takes any frame */
	uint64_t starts; /* where in the stretch such a one may begin: below this place; 0: there was none */
	struct tpm_stretch s;
};

/*
 * The same of frames from..end - 1 of the run, at least one, whose receive WQEs are from w on in one row. Returns the first frame that
 * has none of its own.
 */
static inline unsigned int
buffers_in_row(struct tp_model *m, const struct tpm_rx_runs *r, const struct tpm_rx_run *run, const uint8_t *w,
	       unsigned int from, unsigned int end, struct seen *seen, uint8_t **dst)
{
	const uint32_t stride = 1u << run->qp->rq_lg_stride, max = r->max;
	uint64_t like = seen->like, starts = seen->starts;
	unsigned int i;

	for (i = from;; w += stride) {
		const uint64_t this = tpm_raw64(w), at = prm_get64(w, 8) - seen->s.lo;

		rte_prefetch0(w + 256);
		if (tpm_likely(this == like && at < starts)) {
			dst[i] = seen->s.host + at;
		} else {
			dst[i] = first_buffer(m, run->qp, w, r->like[run->at[i]]->len, &seen->s);
			if (tpm_unlikely(dst[i] == NULL))
				break;
			starts = 0;
			if (seen->s.key == tpm_raw32(w + 4) && seen->s.len >= max && prm_get32(w, 0) >= max) {
				like = this;
				starts = seen->s.len - max + 1;
			}
		}
		tpm_prefetchw(dst[i]);
		if (++i == end)
			break;
	}
	seen->like = like;
	seen->starts = starts;
	return i;
}

/*
 * Buffers of frames from..have - 1 of the run, up to the first that has none of its own, which is returned. All that will be written
 * comes from the other side's cache, so it is fetched at once.
 */
static inline unsigned int
find_buffers(struct tp_model *m, const struct tpm_rx_runs *r, const struct tpm_rx_run *run, unsigned int from,
	     struct seen *seen, uint8_t **dst)
{
	const struct tpm_qp *qp = run->qp;
	const struct tpm_cq *cq = qp->rcq;
	const uint32_t mask = qp->rq_mask, head = qp->rq_head - from;
	const unsigned int have = run->have;
	unsigned int i, end;

	/* A ring that is not in one piece takes the slow road. */
	if (tpm_unlikely(qp->ring.flat == NULL))
		return from;
	if (tpm_unlikely(seen->pd != qp->pd))
		*seen = (struct seen){.pd = qp->pd};
	for (i = 0; i < have - from; i += 2)
		tpm_prefetchw(tpm_ring_at(&cq->ring, ((cq->pi + i) & cq->mask) << cq->lg_stride));
	for (i = from; i < have; i = end) {
		unsigned int found;

		end = i + RTE_MIN(have - i, mask + 1 - ((head + i) & mask));
		found = buffers_in_row(m, r, run, tpm_rq_wqe(qp, head + i), i, end, seen, dst);
		if (tpm_unlikely(found < end))
			return found;
	}
	return i;
}

/* The first pass over a run. */
static __attribute__((noinline)) void
run_find(struct tp_model *m, const struct tpm_rx_runs *r, struct tpm_rx_run *run, struct seen *seen, uint8_t **dst)
{
	struct tpm_qp *qp = run->qp;
	struct seen now = *seen;

	run->have = run->found = 0;
	if (tpm_unlikely(!tpm_rq_ready(m, qp))) {
		run->n = 0;
		return;
	}
	run->have = (uint8_t)tpm_rq_posted(m, qp, run->n);
	if (tpm_likely(run->have != 0 && tpm_qp_can_receive(qp)))
		run->found = (uint8_t)find_buffers(m, r, run, 0, &now, dst);
	*seen = now;
}

/* The same of a few frames that find what those before found; false: look closer. */
static inline bool
few_find(const struct tp_model *m, struct tpm_rx_run *run, const struct seen *seen, uint8_t **dst)
{
	const struct tpm_qp *qp = run->qp;
	const struct tpm_cq *cq = qp->rcq;
	const unsigned int n = run->n;

	if (tpm_unlikely(n > FEW || qp->ring.gen != m->tpt_gen || !qp->ring.valid || qp->ring.flat == NULL ||
			 (uint16_t)(qp->rq_tail - (uint16_t)qp->rq_head) < n || seen->pd != qp->pd ||
			 !tpm_qp_can_receive(qp)))
		return false;
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *w = qp->ring.flat + qp->rq_off + (((qp->rq_head + i) & qp->rq_mask) << qp->rq_lg_stride);
		const uint64_t at = prm_get64(w, 8) - seen->s.lo;

		if (tpm_unlikely(tpm_raw64(w) != seen->like || at >= seen->starts))
			return false;
		dst[i] = seen->s.host + at;
		tpm_prefetchw(dst[i]);
	}
	if (tpm_likely(cq->ring.flat != NULL))
		tpm_prefetchw(cq->ring.flat + ((size_t)(cq->pi & cq->mask) << cq->lg_stride));
	run->have = run->found = (uint8_t)n;
	return true;
}

/* --- frames ----------------------------------------------------------------------------------------------- */

/* An entry, the double dword with the owner bit last. what: the third one as it lies there. */
static inline void
cqe_plain(uint8_t *e, rte_be32_t qpn, uint32_t hash, rte_be64_t what, uint32_t csum, uint16_t index, uint8_t last)
{
	uint64_t *w = (uint64_t *)(void *)e;
	uint32_t *first = (uint32_t *)(void *)e;

	__atomic_store_n(&first[0], qpn, __ATOMIC_RELAXED);
	__atomic_store_n(&first[1], rte_cpu_to_be_32(hash), __ATOMIC_RELAXED);
	__atomic_store_n(&w[1], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&w[2], what, __ATOMIC_RELAXED);
	__atomic_store_n(&w[3], rte_cpu_to_be_64((uint64_t)index << 48 | (uint64_t)csum << 32 | last),
			 __ATOMIC_RELEASE);
}

/* Takes it entries that are written here? */
static inline bool
cq_plain(const struct tp_model *m, const struct tpm_cq *cq)
{
	return cq->ring.flat != NULL && cq->ring.gen == m->tpt_gen && cq->ring.valid && !cq->stamp &&
	       cq->status == MLX4_CTX_STATUS_OK;
}

/*
 * Frames from..end - 1 of the run into their buffers, up to the end of the CQ's ring and as long as it has room as far as the card
 * knows. Returns how many; what the loop needs is kept where stores cannot change it.
 */
static inline unsigned int
fill_plain(struct tp_model *m, struct tpm_port *p, const struct tpm_rx_runs *r, const struct tpm_rx_run *run,
	   uint8_t *const *dst, unsigned int from, unsigned int end, uint64_t *bytes)
{
	struct tpm_qp *qp = run->qp;
	struct tpm_cq *cq = qp->rcq;
	const uint32_t mask = cq->mask, pi = cq->pi, stride = 1u << cq->lg_stride;
	const rte_be32_t qpn = rte_cpu_to_be_32(qp->qpn);
	const uint32_t room = RTE_MIN(mask + 1 - (pi - cq->ci), mask + 1 - (pi & mask));
	const uint8_t last = MLX4_CQE_RECV_SEND | ((pi & (mask + 1)) != 0 ? MLX4_CQE_OWNER : 0);
	const bool sums = (p->rx_csum_mode & 1) != 0;
	uint32_t head = qp->rq_head;
	uint64_t sum = 0;
	unsigned int i;
	uint8_t *e;

	if (tpm_unlikely(!cq_plain(m, cq) || pi - cq->ci > mask))
		return 0;
	e = cq->ring.flat + cq->cqe_off + ((size_t)(pi & mask) << cq->lg_stride);
	end = end - from < room ? end : from + room;
	for (i = from; i < end; i++, head++, e += stride) {
		const unsigned int at = run->at[i];
		const struct tpm_alike *a = r->like[at];
		const uint8_t *d = r->data[at];
		const uint32_t len = a->len;
		rte_be64_t what;
		uint32_t csum;
		bool summed;

		if (len > 64 && i + TPM_PREFETCH_AHEAD < end) {
			const unsigned int next = run->at[i + TPM_PREFETCH_AHEAD];

			tpm_prefetch_rest(r->data[next], r->like[next]->len, dst[i + TPM_PREFETCH_AHEAD]);
		}
		summed = copy_frame(&r->f[at], a, dst[i], d);
		what = frame_status(p, &r->f[at], a, d, summed, sums, &csum);
		cqe_plain(e, qpn, r->hash[at], what, csum, (uint16_t)head, last);
		sum += len;
	}
	cq->pi = pi + (i - from);
	qp->rq_head = head;
	*bytes += sum;
	return i - from;
}

/* Another frame of the run; false: the CQ takes no more. */
static bool
fill_one(struct tp_model *m, struct tpm_port *p, const struct tpm_rx_runs *r, const struct tpm_rx_run *run,
	 uint8_t *const *dst, unsigned int i, uint64_t *bytes)
{
	const unsigned int at = run->at[i];
	const struct tp_frame *f = &r->f[at];
	struct tpm_qp *qp = run->qp;
	struct mlx4_cqe *c = tpm_cqe_next(m, qp->rcq);
	const uint8_t *d = r->data[at];
	rte_be64_t what;
	uint32_t csum;
	bool summed;

	if (c == NULL)
		return false;
	summed = copy_frame(f, r->like[at], dst[i], d);
	what = frame_status(p, f, r->like[at], d, summed, (p->rx_csum_mode & 1) != 0, &csum);
	tpm_rq_cqe(m, qp, c, f->len, r->hash[at], (uint32_t)(rte_be_to_cpu_64(what) >> 32), (uint16_t)csum, 0, 0);
	*bytes += f->len;
	return true;
}

/* Counts what a queue pair got, and tells of it. */
static inline void
delivered(struct tp_model *m, struct tpm_qp *qp, uint64_t frames, uint64_t bytes)
{
	m->counter[qp->counter].rx_frames += frames;
	m->counter[qp->counter].rx_bytes += bytes;
	/* Not solicited: nothing is to be told otherwise. */
	if (frames != 0 && tpm_unlikely(qp->rcq->arm == MLX4_CQ_STATE_ARMED))
		tpm_cq_notify(m, qp->rcq, false);
}

/*
 * The second pass over a run of a few frames, all of which have buffers: to begin the loop of fill_plain() takes more than it saves.
 * Returns how many it took.
 */
static __attribute__((noinline)) unsigned int
few_fill(struct tp_model *m, struct tpm_port *p, const struct tpm_rx_runs *r, const struct tpm_rx_run *run,
	 uint8_t *const *dst)
{
	struct tpm_qp *qp = run->qp;
	struct tpm_cq *cq = qp->rcq;
	const bool sums = (p->rx_csum_mode & 1) != 0;
	uint64_t bytes = 0;
	unsigned int i;

	if (tpm_unlikely(!cq_plain(m, cq) || !tpm_qp_can_receive(qp)))
		return 0;
	for (i = 0; i < run->found; i++) {
		const unsigned int at = run->at[i];
		const struct tpm_alike *a = r->like[at];
		const uint32_t pi = cq->pi;
		rte_be64_t what;
		uint32_t csum;
		bool summed;

		if (tpm_unlikely(pi - cq->ci > cq->mask))
			break;
		summed = copy_frame(&r->f[at], a, dst[i], r->data[at]);
		what = frame_status(p, &r->f[at], a, r->data[at], summed, sums, &csum);
		cqe_plain(cq->ring.flat + cq->cqe_off + ((size_t)(pi & cq->mask) << cq->lg_stride),
			  rte_cpu_to_be_32(qp->qpn), r->hash[at], what, csum, (uint16_t)qp->rq_head,
			  MLX4_CQE_RECV_SEND | ((pi & (cq->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0));
		cq->pi = pi + 1;
		qp->rq_head++;
		bytes += a->len;
	}
	delivered(m, qp, i, bytes);
	return i;
}

/* The second pass over any run, from a frame on. What was found stays so: who moves the queue meanwhile takes its QP to the error state. */
static __attribute__((noinline)) void
run_fill(struct tp_model *m, struct tpm_port *p, const struct tpm_rx_runs *r, const struct tpm_rx_run *run,
	 unsigned int i, uint8_t **dst)
{
	struct seen seen = {.pd = UINT32_MAX};
	struct tpm_qp *qp = run->qp;
	const unsigned int have = run->have;
	unsigned int found = run->found, k;
	uint64_t bytes = 0, frames = 0;
	bool room = true;

	while (room && i < have && tpm_qp_can_receive(qp)) {
		while (room && i < found) {
			k = fill_plain(m, p, r, run, dst, i, found, &bytes);
			if (tpm_unlikely(k == 0))
				k = room = fill_one(m, p, r, run, dst, i, &bytes);
			frames += k;
			i += k;
		}
		if (tpm_unlikely(room && i < have)) {
			tpm_receive_slow(m, p, qp, &r->f[run->at[i]], r->hash[run->at[i]]);
			i++;
			found = i < have && tpm_qp_can_receive(qp) ? find_buffers(m, r, run, i, &seen, dst) : i;
		}
	}
	delivered(m, qp, frames, bytes);
	for (i = have; i < run->n; i++)
		tpm_rq_none(m, p, qp, &r->f[run->at[i]], r->hash[run->at[i]]);
}

void
tpm_rx_runs_flush(struct tp_model *m, struct tpm_port *p, struct tpm_rx_runs *r)
{
	struct seen seen = {.pd = UINT32_MAX}; /* no protection domain */
	struct tpm_rx_run *const end = r->run + r->n;
	uint8_t *dst[TPM_BURST], **d = dst;

	for (struct tpm_rx_run *run = r->run; run != end; d += run->n, run++)
		if (!few_find(m, run, &seen, d))
			run_find(m, r, run, &seen, d);
	d = dst;
	for (struct tpm_rx_run *run = r->run; run != end; d += run->n, run++) {
		unsigned int done = run->n <= FEW && run->found == run->n ? few_fill(m, p, r, run, d) : 0;

		if (done != run->n)
			run_fill(m, p, r, run, done, d);
	}
}
