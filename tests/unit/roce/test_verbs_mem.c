/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Protection domains, memory regions, pools, windows: what is refused, what the provider is told, who is in use. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_malloc.h>

#include "fake.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static uint8_t buf[4096];

static int
setup(void **state)
{
	fake_reset();
	ctx = fake_open(NULL);
	pd = tp_roce_alloc_pd(ctx);
	return pd == NULL;
}

static int
teardown(void **state)
{
	fake_reset();
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	fake_close(ctx);
	return 0;
}

static void
test_pd(void **state)
{
	struct ibv_pd *more[100];
	struct ibv_mr *mr = tp_roce_reg_mr(pd, buf, sizeof(buf), 0);

	REFUSED_INT(tp_roce_dealloc_pd(pd), EBUSY, "has 1 object(s)");
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	for (unsigned int i = 1; i < 100; i++) {
		more[i] = tp_roce_alloc_pd(ctx);
		assert_non_null(more[i]);
		assert_ptr_equal(more[i]->context, ctx);
	}
	REFUSED_PTR(tp_roce_alloc_pd(ctx), ENOMEM, "there are 100 protection domains already");
	for (unsigned int i = 1; i < 100; i++)
		assert_int_equal(tp_roce_dealloc_pd(more[i]), 0);

	fake.fail_op = "alloc_pd";
	fake.fail_err = ENOSPC;
	assert_null(tp_roce_alloc_pd(ctx));
	assert_int_equal(errno, ENOSPC);
	/* what could not be given back is still there */
	fake.fail_op = "dealloc_pd";
	assert_int_equal(tp_roce_dealloc_pd(pd), ENOSPC);
}

static void
test_mr(void **state)
{
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	struct ibv_mr *mr;

	fake_reset();
	mr = tp_roce_reg_mr(pd, buf, 100, all);
	assert_non_null(mr);
	assert_string_equal(fake.last_op, "reg_mr");
	assert_ptr_equal(mr->addr, buf);
	assert_int_equal(mr->length, 100);
	assert_ptr_equal(mr->pd, pd);
	assert_ptr_equal(mr->context, ctx);
	assert_int_equal(mr->lkey, 0x1200);
	assert_int_equal(((struct troce_mr *)mr)->iova, (uintptr_t)buf);
	assert_int_equal(((struct troce_mr *)mr)->access, all);
	((struct troce_mr *)mr)->windows = 2;
	REFUSED_INT(tp_roce_dereg_mr(mr), EBUSY, "memory region 0x1200 has 2 bound window(s)");
	((struct troce_mr *)mr)->windows = 0;
	fake_reset();
	fake.fail_op = "dereg_mr";
	fake.fail_err = EIO;
	assert_int_equal(tp_roce_dereg_mr(mr), EIO);
	fake_reset();
	assert_int_equal(tp_roce_dereg_mr(mr), 0);

	/* addresses of the application's choice, from 0, and a hint that is none of our business */
	mr = tp_roce_reg_mr_iova(pd, buf, 100, 0x123456789000, 0);
	assert_int_equal(((struct troce_mr *)mr)->iova, 0x123456789000);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	mr = tp_roce_reg_mr(pd, buf, 100, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_RELAXED_ORDERING);
	assert_int_equal(((struct troce_mr *)mr)->iova, 0);
	assert_int_equal(((struct troce_mr *)mr)->access, IBV_ACCESS_ZERO_BASED);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);

	REFUSED_PTR(tp_roce_reg_mr(pd, buf, 0, 0), EINVAL, "length 0 of a memory region is not in 1..1099511627776");
	REFUSED_PTR(tp_roce_reg_mr(pd, buf, (1ull << 40) + 1, 0), EINVAL, "length 1099511627777");
	REFUSED_PTR(tp_roce_reg_mr(pd, (void *)(UINTPTR_MAX - 10), 100, 0), EINVAL, "end behind the last address");
	REFUSED_PTR(tp_roce_reg_mr_iova(pd, buf, 100, UINT64_MAX - 10, 0), EINVAL, "end behind the last address");
	REFUSED_PTR(tp_roce_reg_mr(pd, buf, 100, IBV_ACCESS_REMOTE_WRITE), EINVAL, "needs local writing");
	REFUSED_PTR(tp_roce_reg_mr(pd, buf, 100, IBV_ACCESS_REMOTE_ATOMIC), EINVAL, "needs local writing");
	REFUSED_PTR(tp_roce_reg_mr(pd, buf, 100, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP, "access flags 0x40");
	fake_reset();
	fake.fail_op = "reg_mr";
	fake.fail_err = EFAULT;
	assert_null(tp_roce_reg_mr(pd, buf, 100, 0));
	assert_int_equal(errno, EFAULT);
}

/* Each buffer of the pool lies in the region. */
static void
check_in(struct rte_mempool *pool, void *arg, void *obj, unsigned int i)
{
	const struct rte_mbuf *m = obj;
	const struct ibv_mr *mr = arg;

	assert_true((uint8_t *)m->buf_addr >= (uint8_t *)mr->addr);
	assert_true((uint8_t *)m->buf_addr + m->buf_len <= (uint8_t *)mr->addr + mr->length);
}

static void
test_mempool(void **state)
{
	const int remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct rte_mempool *pool = rte_pktmbuf_pool_create("mr", 500, 0, 0, 2048, 0);
	struct ibv_mr *mr;

	assert_non_null(pool);
	mr = tp_roce_reg_mempool(pd, pool, remote);
	assert_non_null(mr);
	assert_int_equal(rte_mempool_obj_iter(pool, check_in, mr), 500);
	/* and not much more than the pool */
	assert_true(mr->length < 500 * (2048 + 512) + (2u << 20));
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	fake_reset();
	fake.fail_op = "reg_mr";
	fake.fail_err = EFAULT;
	assert_null(tp_roce_reg_mempool(pd, pool, remote));
	assert_int_equal(errno, EFAULT);
	rte_mempool_free(pool);
}

/* A pool of two chunks: at and at + far, each of half octets. */
static struct rte_mempool *
chunks(const char *name, uint8_t *at, size_t far, size_t half)
{
	struct rte_pktmbuf_pool_private priv = {.mbuf_data_room_size = 512};
	struct rte_mempool *pool =
		rte_mempool_create_empty(name, 20, 512 + sizeof(struct rte_mbuf), 0, sizeof(priv), 0, 0);

	assert_non_null(pool);
	rte_pktmbuf_pool_init(pool, &priv);
	/* the further one first: the order is not that of addresses */
	assert_true(rte_mempool_populate_iova(pool, (char *)at + far, RTE_BAD_IOVA, half, NULL, NULL) > 0);
	assert_true(rte_mempool_populate_iova(pool, (char *)at, RTE_BAD_IOVA, half, NULL, NULL) > 0);
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

static void
test_mempool_chunks(void **state)
{
	const size_t half = 12 * 1024;
	uint8_t *eal = rte_malloc("gap", 64 * 1024, 4096), *foreign;
	struct rte_mempool *pool;
	struct ibv_mr *mr;

	/* side by side: one range */
	assert_non_null(eal);
	pool = chunks("beside", eal, half, half);
	mr = tp_roce_reg_mempool(pd, pool, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, eal);
	assert_int_equal(mr->length, 2 * half);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	rte_mempool_free(pool);

	/* EAL's memory between them: for own use only */
	pool = chunks("apart", eal, 40 * 1024, half);
	mr = tp_roce_reg_mempool(pd, pool, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, eal);
	assert_int_equal(mr->length, 40 * 1024 + half);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	REFUSED_PTR(tp_roce_reg_mempool(pd, pool, IBV_ACCESS_REMOTE_READ), EPERM, "memory of others");
	rte_mempool_free(pool);

	/* something else between them: never */
	foreign = mmap(NULL, 64 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(foreign != MAP_FAILED);
	pool = chunks("foreign", foreign, 40 * 1024, half);
	REFUSED_PTR(tp_roce_reg_mempool(pd, pool, IBV_ACCESS_LOCAL_WRITE), EFAULT, "pool foreign");
	rte_mempool_free(pool);
	munmap(foreign, 64 * 1024);

	pool = rte_mempool_create_empty("empty", 20, 512 + sizeof(struct rte_mbuf), 0,
					sizeof(struct rte_pktmbuf_pool_private), 0, 0);
	rte_pktmbuf_pool_init(pool, NULL);
	REFUSED_PTR(tp_roce_reg_mempool(pd, pool, 0), EINVAL, "pool empty has no buffers");
	rte_mempool_free(pool);
	rte_free(eal);
}

/* Buffers of the application's memory: the region is that memory, not the pool's. */
static void
test_mempool_outside(void **state)
{
	struct rte_pktmbuf_extmem ext = {.buf_iova = RTE_BAD_IOVA, .buf_len = 100 * 2304, .elt_size = 2304};
	struct rte_mempool *pool;
	struct ibv_mr *mr;

	ext.buf_ptr = mmap(NULL, ext.buf_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(ext.buf_ptr != MAP_FAILED);
	pool = rte_pktmbuf_pool_create_extbuf("outside", 100, 0, 0, 2304, 0, &ext, 1);
	assert_non_null(pool);
	mr = tp_roce_reg_mempool(pd, pool, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, ext.buf_ptr);
	assert_int_equal(mr->length, 100 * 2304);
	assert_int_equal(rte_mempool_obj_iter(pool, check_in, mr), 100);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	rte_mempool_free(pool);
	munmap(ext.buf_ptr, ext.buf_len);
}

static void
test_mw(void **state)
{
	struct ibv_pd *other = tp_roce_alloc_pd(ctx);
	struct ibv_cq *cq = tp_roce_create_cq(ctx, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq};
	struct ibv_qp *qp = tp_roce_create_qp(pd, &a);
	struct ibv_mr *mr = tp_roce_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mr *wrong = tp_roce_reg_mr(other, buf, sizeof(buf), IBV_ACCESS_MW_BIND);
	struct ibv_mw_bind bind = {.wr_id = 1, .bind_info = {.mr = mr, .addr = (uintptr_t)buf, .length = 64}};
	struct ibv_mw *mw, *two;

	REFUSED_PTR(tp_roce_alloc_mw(pd, 3), EINVAL, "type 3 of a memory window is not 1 or 2");
	/* through the context's table, as ibv_alloc_mw() does */
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	two = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	assert_non_null(mw);
	assert_non_null(two);
	assert_int_equal(mw->type, IBV_MW_TYPE_1);
	assert_ptr_equal(mw->pd, pd);

	/* the next key: the low octet goes on and stays an octet */
	assert_int_equal(mw->rkey, 0x34ff);
	assert_int_equal(ibv_bind_mw(qp, mw, &bind), 0);
	assert_int_equal(fake.bound_key, 0x3400);
	assert_int_equal(mw->rkey, 0x3400);
	assert_ptr_equal(fake.bound.mr, mr);
	assert_int_equal(fake.bound.length, 64);
	/* one that was not posted leaves the key */
	fake.fail_op = "post_send";
	fake.fail_err = ENOMEM;
	assert_int_equal(ibv_bind_mw(qp, mw, &bind), ENOMEM);
	assert_int_equal(mw->rkey, 0x3400);
	REFUSED_INT(tp_roce_bind_mw(qp, two, &bind), EINVAL, "is of type 2");
	bind.bind_info.mr = wrong;
	REFUSED_INT(tp_roce_bind_mw(qp, mw, &bind), EPERM, "not of one protection domain");

	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dealloc_mw(two), 0);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	assert_int_equal(tp_roce_dereg_mr(wrong), 0);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
	assert_int_equal(tp_roce_dealloc_pd(other), 0);
}

#define MOVE IBV_REREG_MR_CHANGE_TRANSLATION
#define GO IBV_REREG_MR_CHANGE_PD
#define OPEN IBV_REREG_MR_CHANGE_ACCESS
#define INPUT IBV_REREG_MR_ERR_INPUT

/* Of a region what is named changes, and nothing else; what is refused reaches nobody. */
static void
test_rereg_mr(void **state)
{
	struct ibv_pd *other = tp_roce_alloc_pd(ctx);
	struct ibv_mr *mr = tp_roce_reg_mr(pd, buf, 100, IBV_ACCESS_LOCAL_WRITE);
	struct troce_mr *t = (struct troce_mr *)mr;

	assert_non_null(mr);
	assert_int_equal(tp_roce_rereg_mr(mr, MOVE, other, buf + 50, 20, IBV_ACCESS_REMOTE_READ), 0);
	assert_string_equal(fake.last_op, "rereg_mr");
	assert_ptr_equal(fake.region.v.addr, buf + 50);
	assert_int_equal(fake.region.iova, (uintptr_t)buf + 50);
	assert_int_equal(fake.region.access, IBV_ACCESS_LOCAL_WRITE);
	assert_ptr_equal(mr->addr, buf + 50);
	assert_int_equal(mr->length, 20);
	assert_ptr_equal(mr->pd, pd);
	assert_int_equal(t->access, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(tp_roce_rereg_mr(mr, GO | OPEN, other, NULL, 0, IBV_ACCESS_REMOTE_READ), 0);
	assert_ptr_equal(mr->pd, other);
	assert_int_equal(mr->length, 20);
	assert_int_equal(t->access, IBV_ACCESS_REMOTE_READ);
	REFUSED_INT(tp_roce_dealloc_pd(other), EBUSY, "has 1 object(s)");
	assert_int_equal(tp_roce_rereg_mr(mr, MOVE | OPEN, NULL, buf, 30, IBV_ACCESS_ZERO_BASED), 0);
	assert_int_equal(t->iova, 0);

	REFUSED_INT(tp_roce_rereg_mr(mr, 0, pd, buf, 1, 0), INPUT, "flags 0x0 of a change");
	assert_int_equal(errno, EINVAL);
	REFUSED_INT(tp_roce_rereg_mr(mr, 16, pd, buf, 1, 0), INPUT, "flags 0x10 of a change");
	REFUSED_INT(tp_roce_rereg_mr(mr, MOVE, pd, buf, 0, 0), INPUT, "length 0 of a memory region");
	REFUSED_INT(tp_roce_rereg_mr(mr, GO, NULL, buf, 1, 0), INPUT, "no protection domain of its device");
	REFUSED_INT(tp_roce_rereg_mr(mr, OPEN, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE), INPUT, "needs local writing");
	t->windows = 1;
	REFUSED_INT(tp_roce_rereg_mr(mr, GO, pd, NULL, 0, 0), INPUT, "has 1 bound window(s)");
	assert_int_equal(errno, EBUSY);
	t->windows = 0;
	fake_reset();
	fake.fail_op = "rereg_mr";
	fake.fail_err = EIO;
	assert_int_equal(tp_roce_rereg_mr(mr, GO, pd, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EIO);
	assert_ptr_equal(mr->pd, other);
	fake_reset();
	assert_int_equal(tp_roce_rereg_mr(mr, GO, pd, NULL, 0, 0), 0);
	assert_int_equal(tp_roce_dealloc_pd(other), 0);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mr, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rereg_mr, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mempool, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mempool_chunks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mempool_outside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mw, setup, teardown),
	};

	return fake_eal("--no-telemetry") != 0 ? 1 : cmocka_run_group_tests_name("roce_verbs_mem", tests, NULL, NULL);
}
