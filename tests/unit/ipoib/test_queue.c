/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port's queue pairs and the registrations of its pools, on a card that keeps to the states of 10.3.1 and may refuse. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "link_rig.h"
#include "port.h"

#define POOLS 40

int ipoib_logtype;
static struct rig rig;
static struct ipoib_port port;
static struct ipoib_rxq rxq;
static struct ipoib_txq txq;

/* --- the card ---------------------------------------------------------------------------------------------------------- */

static struct {
	struct ibv_context ctx;
	struct ibv_pd pd;
	unsigned int pds, cqs, qps, mrs; /* that there are */
	uint32_t keys;                   /* given out so far */
	unsigned int fail;               /* which of the next changes of a queue pair fails, 0: none */
	int reg_err;
	uint64_t sent[4];
	unsigned int num_sent, num_done;
} card;

struct ibv_pd *
tp_roce_alloc_pd(struct ibv_context *ctx)
{
	card.pds++;
	card.pd.context = ctx;
	return &card.pd;
}

int
tp_roce_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	card.pds--;
	return 0;
}

struct ibv_cq *
tp_roce_create_cq(struct ibv_context *ctx, int cqe, void *cq_context, struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *cq = calloc(1, sizeof(*cq));

	(void)cqe, (void)cq_context, (void)channel, (void)comp_vector;
	assert_non_null(cq);
	cq->context = ctx;
	card.cqs++;
	return cq;
}

int
tp_roce_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	card.cqs--;
	return 0;
}

struct ibv_qp *
tp_roce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = calloc(1, sizeof(*qp));

	assert_int_equal(attr->qp_type, IBV_QPT_UD);
	assert_non_null(qp);
	qp->context = pd->context;
	qp->qp_num = 0x40 + card.qps++;
	return qp;
}

struct ibv_qp *
tp_roce_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	(void)ctx, (void)attr;
	errno = EOPNOTSUPP;
	return NULL;
}

int
tp_roce_destroy_qp(struct ibv_qp *qp)
{
	free(qp);
	card.qps--;
	return 0;
}

int
tp_roce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	static const enum ibv_qp_state before[] = {
		[IBV_QPS_INIT] = IBV_QPS_RESET, [IBV_QPS_RTR] = IBV_QPS_INIT, [IBV_QPS_RTS] = IBV_QPS_RTR};

	assert_true((mask & IBV_QP_STATE) != 0);
	if (card.fail != 0 && --card.fail == 0)
		return EIO;
	if (attr->qp_state != IBV_QPS_RESET && attr->qp_state != IBV_QPS_ERR && qp->state != before[attr->qp_state])
		return EINVAL;
	qp->state = attr->qp_state;
	return 0;
}

struct ibv_mr *
tp_roce_reg_mempool(struct ibv_pd *pd, struct rte_mempool *pool, int access)
{
	struct ibv_mr *mr;

	(void)pd, (void)pool;
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	errno = card.reg_err;
	if (card.reg_err != 0)
		return NULL;
	mr = calloc(1, sizeof(*mr));
	assert_non_null(mr);
	mr->lkey = ++card.keys;
	card.mrs++;
	return mr;
}

int
tp_roce_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	card.mrs--;
	return 0;
}

static int
post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	assert_int_equal(qp->state, IBV_QPS_RTS);
	assert_true(card.num_sent < RTE_DIM(card.sent));
	card.sent[card.num_sent++] = wr->wr_id;
	return 0;
}

static int
poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	assert_true(n > 0);
	if (cq != port.slow_cq || card.num_done == card.num_sent)
		return 0;
	wc[0] = (struct ibv_wc){.wr_id = card.sent[card.num_done++]};
	return 1;
}

/* --- the rest of the port ---------------------------------------------------------------------------------------------- */

struct ibv_context *
ipoib_device_ctx(struct ipoib_device *d)
{
	(void)d;
	return &card.ctx;
}

const char *
ipoib_device_name(const struct ipoib_device *d)
{
	(void)d;
	return "card/1";
}

void
ipoib_device_lock(struct ipoib_device *d)
{
	(void)d;
}

void
ipoib_device_unlock(struct ipoib_device *d)
{
	(void)d;
}

struct ipoib_port *
ipoib_port_of(uint16_t port_id)
{
	(void)port_id;
	return &port;
}

/* Bursts have done nothing, so the rings are empty. */
void
ipoib_rx_fill(struct ipoib_rxq *q)
{
	assert_int_equal(q->qp->state, IBV_QPS_RTS);
}

void
ipoib_tx_reap(struct ipoib_txq *q)
{
	(void)q;
}

void
ipoib_tx_forget(struct ipoib_txq *q)
{
	(void)q;
}

static int
setup(void **state)
{
	(void)state;
	rig_open(&rig);
	memset(&card, 0, sizeof(card));
	memset(&port, 0, sizeof(port));
	memset(&rxq, 0, sizeof(rxq));
	memset(&txq, 0, sizeof(txq));
	card.ctx.ops.post_send = post_send;
	card.ctx.ops.poll_cq = poll_cq;
	pthread_mutex_init(&port.mr_lock, NULL);
	port.rxq = &rxq;
	port.txq = &txq;
	rxq.pool = rig.pool;
	rxq.size = txq.size = 64;
	assert_int_equal(ipoib_queues_open(&port), 0);
	assert_int_equal(card.mrs, 1);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	ipoib_queues_close(&port);
	assert_int_equal(card.pds + card.cqs + card.qps + card.mrs, 0);
	pthread_mutex_destroy(&port.mr_lock);
	rig_close(&rig);
	return 0;
}

/* --- tests ------------------------------------------------------------------------------------------------------------- */

/* Whichever of the six steps fails, the next try begins anew and succeeds. */
static void
a_start_that_fails(void **state)
{
	(void)state;
	for (unsigned int step = 1; step <= 6; step++) {
		card.fail = step;
		assert_int_equal(ipoib_queues_ready(&port), -EIO);
		assert_false(port.ready);
		assert_int_equal(rxq.qp->state, IBV_QPS_RESET);
		assert_int_equal(port.slow_qp->state, IBV_QPS_RESET);
		assert_int_equal(ipoib_queues_ready(&port), 0);
		assert_true(port.ready);
		assert_int_equal(port.slow_qp->state, IBV_QPS_RTS);
		ipoib_queues_reset(&port);
	}
}

static struct rte_mempool *
pool_new(const char *name)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(name, 31, 0, 0, 256, SOCKET_ID_ANY);

	assert_non_null(pool);
	return pool;
}

/* A pool's registration goes with it; one that is made later, at the same address perhaps, has its own. */
static void
pools_come_and_go(void **state)
{
	struct rte_mempool *pool = pool_new("first"), *other = pool_new("other");
	uint32_t first, again;

	(void)state;
	assert_int_equal(ipoib_pool_lkey(&port, pool, &first), 0);
	assert_int_equal(ipoib_pool_lkey(&port, pool, &again), 0);
	assert_int_equal(first, again);
	assert_int_equal(card.mrs, 2);
	txq.last_pool = pool;
	rte_mempool_free(other);
	assert_ptr_equal(txq.last_pool, pool);
	rte_mempool_free(pool);
	assert_null(txq.last_pool);
	assert_int_equal(card.mrs, 1);
	pool = pool_new("first");
	assert_int_equal(ipoib_pool_lkey(&port, pool, &again), 0);
	assert_int_not_equal(first, again);
	assert_int_equal(card.mrs, 2);
	rte_mempool_free(pool);
}

static void
many_pools(void **state)
{
	struct rte_mempool *pool[POOLS];
	uint32_t key[POOLS], again;
	char name[16];

	(void)state;
	for (unsigned int i = 0; i < POOLS; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		pool[i] = pool_new(name);
		assert_int_equal(ipoib_pool_lkey(&port, pool[i], &key[i]), 0);
	}
	for (unsigned int i = 0; i < POOLS; i++) {
		assert_int_equal(ipoib_pool_lkey(&port, pool[i], &again), 0);
		assert_int_equal(again, key[i]);
		rte_mempool_free(pool[i]);
	}
	assert_int_equal(card.mrs, 1);
}

/* A refusal is told once, not with each packet, and holds as long as the pool. */
static void
a_pool_that_is_refused(void **state)
{
	struct rte_mempool *pool = pool_new("refused");
	unsigned int lines = 0;
	char *text = NULL;
	size_t len = 0;
	uint32_t key;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_non_null(f);
	assert_int_equal(rte_openlog_stream(f), 0);
	card.reg_err = EFAULT;
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(ipoib_pool_lkey(&port, pool, &key), -EFAULT);
	assert_int_equal(rte_openlog_stream(NULL), 0);
	fclose(f);
	for (const char *s = text; (s = strstr(s, "pool refused cannot be registered")) != NULL; s++)
		lines++;
	free(text);
	assert_int_equal(lines, 1);
	card.reg_err = 0;
	rte_mempool_free(pool);
	pool = pool_new("refused");
	assert_int_equal(ipoib_pool_lkey(&port, pool, &key), 0);
	rte_mempool_free(pool);
}

static void
stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
	assert_int_equal(ipoib_stats_get(dev, stats, NULL), 0);
#else
	assert_int_equal(ipoib_stats_get(dev, stats), 0);
#endif
}

/* What the control thread sends is counted as what the queue sends is: with an Ethernet header, 10 octets longer. */
static void
octets_of_the_control_thread(void **state)
{
	struct rte_eth_dev_data data = {.dev_private = &port};
	struct rte_eth_dev dev = {.data = &data};
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	struct rte_eth_stats stats;

	(void)state;
	assert_non_null(m);
	rig_room(m, 60);
	txq.packets = 2;
	txq.bytes = 200;
	assert_int_equal(ipoib_queues_ready(&port), 0);
	ipoib_slow_send(&port, NULL, 0x48, m);
	stats_get(&dev, &stats);
	assert_int_equal(stats.opackets, 2 + 1);
	assert_int_equal(stats.obytes, 200 + 60 + 10);
	ipoib_slow_reap(&port);
	assert_int_equal(ipoib_stats_reset(&dev), 0);
	stats_get(&dev, &stats);
	assert_int_equal(stats.opackets, 0);
	assert_int_equal(stats.obytes, 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_start_that_fails),           T(pools_come_and_go), T(many_pools), T(a_pool_that_is_refused),
		T(octets_of_the_control_thread),
	};

	return cmocka_run_group_tests_name("ipoib queue", tests, NULL, NULL);
}
