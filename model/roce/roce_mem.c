/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory of verbs queue pairs: every byte is reached by a key, with the checks of the key's entry [CP 5.8]. */
#include "lib/roce/engine/place.h"
#include "roce.h"

/* The error that follows takes the queue pair out of service: a line for each stays readable. */
static uint8_t *
tell(const struct tpm_roce *r, const char *whose, uint32_t key, uint64_t va, uint32_t len, enum tpm_xlat_err err)
{
	tpm_note(r->m, "QP 0x%x: %s key 0x%x, [0x%llx, +%u): %s", r->qp->qpn, whose, key, (unsigned long long)va, len,
		 tpm_xlat_text(err));
	return NULL;
}

static uint8_t *
reach(struct tpm_roce *r, uint32_t key, uint64_t va, uint32_t *len, uint32_t access)
{
	enum tpm_xlat_err err;
	uint8_t *p = tpm_mr_translate(r->m, &r->qp->tlb, key, r->qp->pd, va, len, access, &err);

	return p != NULL ? p : tell(r, "local", key, va, *len, err);
}

/* By a key that the peer gave: a region's, or a window's over one. */
static uint8_t *
reach_remote(struct tpm_roce *r, uint32_t key, uint64_t va, uint32_t *len, uint32_t access)
{
	enum tpm_xlat_err err;
	uint8_t *p = tpm_mr_translate(r->m, &r->qp->tlb, key, r->qp->pd, va, len, access, &err);

	if (p != NULL)
		return p;
	if (err != TPM_XLAT_KEY || !tpm_roce_window(r, &key, &va, *len, access))
		return tell(r, "remote", key, va, *len, err);
	/* Its rights were judged when it was bound. */
	return reach(r, key, va, len, access == TPM_ACC_RR ? TPM_ACC_LR : TPM_ACC_LW);
}

/* The element of a list that holds off; false: the list is shorter. */
static bool
find(const struct tre_sge *sge, uint32_t n, uint32_t *off, uint32_t *i)
{
	for (*i = 0; *i < n; (*i)++) {
		if (*off < sge[*i].len)
			return true;
		*off -= sge[*i].len;
	}
	return false;
}

/* All of it in one piece: for lists of more pieces than a packet may have. */
static int
gather_copy(struct tpm_roce *r, const struct tre_wqe *w, uint32_t i, uint32_t off, uint32_t len, struct iovec *iov)
{
	uint32_t done = 0;

	for (; done < len; i++, off = 0) {
		while (off < w->sge[i].len && done < len) {
			uint32_t n = w->sge[i].len - off;
			uint8_t *p;

			n = n < len - done ? n : len - done;
			p = reach(r, w->sge[i].lkey, w->sge[i].addr + off, &n, TPM_ACC_LR);
			if (p == NULL)
				return -IBV_WC_LOC_PROT_ERR;
			memcpy(r->bounce + done, p, n);
			done += n;
			off += n;
		}
	}
	iov[0].iov_base = r->bounce;
	iov[0].iov_len = len;
	return 1;
}

int
tpm_roce_gather(struct tre_qp *e, const struct tre_wqe *w, uint32_t off, uint32_t len, struct iovec *iov)
{
	struct tpm_roce *r = e->home;
	uint32_t i, first, first_off, left = len;
	int n = 0;

	if (!find(w->sge, w->num_sge, &off, &i))
		return -IBV_WC_LOC_LEN_ERR;
	first = i;
	first_off = off;
	for (; left != 0; i++, off = 0) {
		while (left != 0 && off < w->sge[i].len) {
			uint32_t part = w->sge[i].len - off;
			uint8_t *p;

			if (n == (int)TRE_MAX_IOV)
				return gather_copy(r, w, first, first_off, len, iov);
			part = part < left ? part : left;
			p = reach(r, w->sge[i].lkey, w->sge[i].addr + off, &part, TPM_ACC_LR);
			if (p == NULL)
				return -IBV_WC_LOC_PROT_ERR;
			iov[n].iov_base = p;
			iov[n++].iov_len = part;
			off += part;
			left -= part;
		}
	}
	return n;
}

static int
scatter(struct tpm_roce *r, const struct tre_sge *sge, uint32_t num, uint32_t off, const uint8_t *data, uint32_t len)
{
	uint32_t i;

	while (len != 0) {
		uint32_t at = off, n;
		uint8_t *p;

		if (!find(sge, num, &at, &i))
			return -IBV_WC_LOC_LEN_ERR;
		n = sge[i].len - at;
		n = n < len ? n : len;
		p = reach(r, sge[i].lkey, sge[i].addr + at, &n, TPM_ACC_LW);
		if (p == NULL)
			return -IBV_WC_LOC_PROT_ERR;
		tre_place(p, data, n);
		off += n;
		data += n;
		len -= n;
	}
	return 0;
}

int
tpm_roce_scatter_wqe(struct tre_qp *e, const struct tre_wqe *w, uint32_t off, const void *data, uint32_t len)
{
	return scatter(e->home, w->sge, w->num_sge, off, data, len);
}

int
tpm_roce_scatter_recv(struct tre_qp *e, const struct tre_rwqe *w, uint32_t off, const void *data, uint32_t len)
{
	return scatter(e->home, w->sge, w->num_sge, off, data, len);
}

static uint32_t
granted(int access)
{
	switch (access) {
	case IBV_ACCESS_REMOTE_WRITE: return TPM_ACC_RW;
	case IBV_ACCESS_REMOTE_READ: return TPM_ACC_RR;
	default: return TPM_ACC_ATOMIC;
	}
}

/* The bounds are judged for the whole range with the first byte's translation; what is not mapped shows when touched. */
int
tpm_roce_remote_check(struct tre_qp *e, uint32_t rkey, uint64_t va, uint32_t len, int access)
{
	return reach_remote(e->home, rkey, va, &len, granted(access)) == NULL ? -1 : 0;
}

int
tpm_roce_remote_write(struct tre_qp *e, uint32_t rkey, uint64_t va, const void *data, uint32_t len)
{
	const uint8_t *from = data;

	while (len != 0) {
		uint32_t n = len;
		uint8_t *p = reach_remote(e->home, rkey, va, &n, TPM_ACC_RW);

		if (p == NULL)
			return -1;
		tre_place(p, from, n);
		from += n;
		va += n;
		len -= n;
	}
	return 0;
}

int
tpm_roce_remote_read(struct tre_qp *e, uint32_t rkey, uint64_t va, uint32_t len, struct iovec *iov)
{
	int n = 0;

	/* A packet crosses few pages; one of the smallest pages each still fits. */
	for (; len != 0; n++) {
		uint32_t part = len;
		uint8_t *p = n < (int)TRE_MAX_IOV ? reach_remote(e->home, rkey, va, &part, TPM_ACC_RR) : NULL;

		if (p == NULL)
			return -1;
		iov[n].iov_base = p;
		iov[n].iov_len = part;
		va += part;
		len -= part;
	}
	return n;
}

int
tpm_roce_remote_atomic(struct tre_qp *e, uint32_t rkey, uint64_t va, enum tre_atomic op, uint64_t compare_add,
		       uint64_t swap, uint64_t *old)
{
	uint32_t n = sizeof(*old);
	uint64_t *p = (uint64_t *)(void *)reach_remote(e->home, rkey, va, &n, TPM_ACC_ATOMIC);

	if (p == NULL || n != sizeof(*old))
		return -1;
	/* Atomic towards the host's own accesses too: stronger than what the card promises. */
	if (op == TRE_FETCH_ADD) {
		*old = __atomic_fetch_add(p, compare_add, __ATOMIC_SEQ_CST);
		return 0;
	}
	*old = compare_add;
	__atomic_compare_exchange_n(p, old, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return 0;
}
