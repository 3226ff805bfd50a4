/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory as the engine reaches it: by keys, with the checks of 10.6.3 (key, protection domain, bounds, access). */
#include "lib/roce/engine/place.h"
#include "sw.h"

/* [va, va + len) as an address of this process; NULL: the key does not open it. */
static inline uint8_t *
reach(const struct rsw_qp *qp, const struct rsw_key *k, uint32_t key, uint64_t va, uint32_t len, uint32_t access)
{
	uint64_t off;

	if (k == NULL || k->key != key || !k->valid || k->pd != qp->q.v.pd || (k->access & access) != access)
		return NULL;
	off = va - k->start;
	if (off > k->len || len > k->len - off)
		return NULL;
	return (uint8_t *)((uintptr_t)va + k->shift);
}

/* A region; windows have no local key. */
static inline uint8_t *
local(const struct rsw_qp *qp, uint32_t key, uint64_t va, uint32_t len, uint32_t access)
{
	const struct rsw_key *k = qp->d->keys[RSW_KEY_INDEX(key)];

	return k != NULL && k->window != 0 ? NULL : reach(qp, k, key, va, len, access);
}

static inline uint8_t *
remote(const struct rsw_qp *qp, uint32_t key, uint64_t va, uint32_t len, uint32_t access)
{
	const struct rsw_key *k = qp->d->keys[RSW_KEY_INDEX(key)];

	if (k != NULL && k->window == IBV_MW_TYPE_2 && k->qpn != qp->q.v.qp_num)
		return NULL;
	return reach(qp, k, key, va, len, access);
}

int
rsw_gather(struct tre_qp *e, const struct tre_wqe *w, uint32_t off, uint32_t len, struct iovec *iov)
{
	const struct tre_sge *s = w->sge, *end = s + w->num_sge;
	int n = 0;

	for (; s != end && off >= s->len; s++)
		off -= s->len;
	for (; len != 0 && s != end; s++, off = 0) {
		uint32_t part = s->len - off;
		uint8_t *p;

		if (part == 0)
			continue;
		part = part < len ? part : len;
		p = local(e->home, s->lkey, s->addr + off, part, 0);
		if (p == NULL)
			return -IBV_WC_LOC_PROT_ERR;
		iov[n].iov_base = p;
		iov[n++].iov_len = part;
		len -= part;
	}
	return len == 0 ? n : -IBV_WC_LOC_LEN_ERR;
}

static int
scatter(const struct rsw_qp *qp, const struct tre_sge *s, uint32_t num, uint32_t off, const uint8_t *data, uint32_t len)
{
	const struct tre_sge *end = s + num;

	for (; s != end && off >= s->len; s++)
		off -= s->len;
	for (; len != 0 && s != end; s++, off = 0) {
		uint32_t part = s->len - off;
		uint8_t *p;

		if (part == 0)
			continue;
		part = part < len ? part : len;
		p = local(qp, s->lkey, s->addr + off, part, IBV_ACCESS_LOCAL_WRITE);
		if (p == NULL)
			return -IBV_WC_LOC_PROT_ERR;
		tre_place(p, data, part);
		data += part;
		len -= part;
	}
	return len == 0 ? 0 : -IBV_WC_LOC_LEN_ERR;
}

int
rsw_scatter_wqe(struct tre_qp *e, const struct tre_wqe *w, uint32_t off, const void *data, uint32_t len)
{
	return scatter(e->home, w->sge, w->num_sge, off, data, len);
}

int
rsw_scatter_recv(struct tre_qp *e, const struct tre_rwqe *w, uint32_t off, const void *data, uint32_t len)
{
	return scatter(e->home, w->sge, w->num_sge, off, data, len);
}

int
rsw_remote_check(struct tre_qp *e, uint32_t rkey, uint64_t va, uint32_t len, int access)
{
	return remote(e->home, rkey, va, len, (uint32_t)access) == NULL ? -1 : 0;
}

int
rsw_remote_write(struct tre_qp *e, uint32_t rkey, uint64_t va, const void *data, uint32_t len)
{
	uint8_t *p = remote(e->home, rkey, va, len, IBV_ACCESS_REMOTE_WRITE);

	if (p == NULL)
		return -1;
	tre_place(p, data, len);
	return 0;
}

int
rsw_remote_read(struct tre_qp *e, uint32_t rkey, uint64_t va, uint32_t len, struct iovec *iov)
{
	iov->iov_base = remote(e->home, rkey, va, len, IBV_ACCESS_REMOTE_READ);
	iov->iov_len = len;
	return iov->iov_base == NULL ? -1 : 1;
}

int
rsw_remote_atomic(struct tre_qp *e, uint32_t rkey, uint64_t va, enum tre_atomic op, uint64_t compare_add, uint64_t swap,
		  uint64_t *old)
{
	uint64_t *p = (uint64_t *)(void *)remote(e->home, rkey, va, sizeof(*old), IBV_ACCESS_REMOTE_ATOMIC);

	/* The address on the wire is a multiple of 8; that of the memory need not be. */
	if (p == NULL || ((uintptr_t)p & 7) != 0)
		return -1;
	if (op == TRE_FETCH_ADD) {
		*old = __atomic_fetch_add(p, compare_add, __ATOMIC_SEQ_CST);
		return 0;
	}
	*old = compare_add;
	__atomic_compare_exchange_n(p, old, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return 0;
}
