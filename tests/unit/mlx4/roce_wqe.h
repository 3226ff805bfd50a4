/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Work requests as the card sees them: where they lie, dwords as numbers. */
#ifndef ROCE_WQE_H
#define ROCE_WQE_H

#include "roce_rig.h"
#include "drivers/mlx4/verbs/verbs.h"

#define SIGNALLED 0xcu   /* [DP 3.1] C = 3 */
#define STAMP UINT32_MAX /* no request of any pass begins like that */

static inline struct mlx4_roce_qp *
qp_of(const struct rr_end *e)
{
	return (struct mlx4_roce_qp *)(void *)e->qp;
}

/* A request by its place in the ring. */
static inline uint8_t *
wqe_at(const struct rr_end *e, uint32_t index)
{
	const struct mlx4_roce_qp *q = qp_of(e);

	return q->sq + (size_t)index * (1u << q->lg_sq_stride);
}

static inline uint32_t
dword(const uint8_t *p, unsigned int i)
{
	return (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
}

static inline void
check_dwords(const char *what, const uint8_t *p, const uint32_t *want, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (dword(p, i) != want[i])
			fail_msg("%s: dword %u is 0x%08x, wanted 0x%08x", what, i, dword(p, i), want[i]);
}
#define CHECK(what, p, ...)                                                                                            \
	check_dwords(what, p, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static inline uint32_t
hi(uint64_t v)
{
	return (uint32_t)(v >> 32);
}

static inline uint32_t
lo(uint64_t v)
{
	return (uint32_t)v;
}

/* An end that may send, and nobody who executes it: the card does not move. */
static inline void
lone(struct rr_end *a, struct rr_end *b, enum ibv_qp_type type, const struct ibv_qp_cap *caps)
{
	struct rr_end *e[2] = {a, b};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		rr_end(e[i], i);
		rr_qp(e[i], type, caps);
		rr_init(e[i]);
	}
	for (i = 0; i < 2; i++) {
		rr_rtr(e[i], e[!i], RR_IPV4_V2);
		rr_rts(e[i]);
	}
}

static inline int
post(struct rr_end *e, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int rc = ibv_post_send(e->qp, wr, &bad);

	assert_ptr_equal(bad, rc == 0 ? NULL : wr);
	return rc;
}

#endif /* ROCE_WQE_H */
