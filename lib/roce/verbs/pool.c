/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs made ahead. The lock is held for moments; queue pairs are made and destroyed without it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/roce/port/front.h"
#include "tp_rdma.h"

struct tp_roce_qp_pool {
	struct tp_roce_qp_pool_conf conf;
	struct troce_dev *dev;
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t thread;
	bool stop, own_cqs;
	unsigned int num_ready, num_back;
	struct tp_roce_qp_pool_stats stats;
	struct ibv_qp **ready; /* the last one is taken first: its memory is the warmest */
	struct ibv_qp **back;  /* given back, to be destroyed */
	unsigned int back_room;
};

/* --- one queue pair --- */

static int
to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	return tp_roce_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static struct ibv_cq *
make_cq(const struct tp_roce_qp_pool *p)
{
	const struct ibv_qp_cap *cap = &p->conf.init.cap;
	uint32_t recv = p->conf.init.srq != NULL ? 0 : cap->max_recv_wr;

	return tp_roce_create_cq(p->conf.pd->context, (int)RTE_MAX(cap->max_send_wr + recv, 1u), NULL, NULL, 0);
}

static void
unmake(const struct tp_roce_qp_pool *p, struct ibv_qp *qp)
{
	struct ibv_cq *cq = p->own_cqs ? qp->send_cq : NULL;

	(void)tp_roce_destroy_qp(qp);
	if (cq != NULL)
		(void)tp_roce_destroy_cq(cq);
}

/* NULL and errno */
static struct ibv_qp *
make(const struct tp_roce_qp_pool *p)
{
	struct ibv_qp_init_attr init = p->conf.init;
	struct ibv_qp *qp;
	int err;

	if (p->own_cqs) {
		init.send_cq = init.recv_cq = make_cq(p);
		if (init.send_cq == NULL)
			return NULL;
	}
	qp = tp_roce_create_qp(p->conf.pd, &init);
	if (qp == NULL) {
		err = errno;
		if (p->own_cqs)
			(void)tp_roce_destroy_cq(init.send_cq);
		errno = err;
		return NULL;
	}
	err = to_init(qp);
	if (err != 0) {
		unmake(p, qp);
		errno = err;
		return NULL;
	}
	return qp;
}

/* --- the thread; with the lock, which is given back meanwhile --- */

static void
destroy_one(struct tp_roce_qp_pool *p)
{
	struct ibv_qp *qp = p->back[--p->num_back];

	pthread_mutex_unlock(&p->lock);
	unmake(p, qp);
	pthread_mutex_lock(&p->lock);
	p->stats.destroyed++;
}

/* false: it cannot be made now. */
static bool
make_one(struct tp_roce_qp_pool *p)
{
	struct ibv_qp *qp;

	pthread_mutex_unlock(&p->lock);
	qp = make(p);
	pthread_mutex_lock(&p->lock);
	if (qp == NULL) {
		p->stats.failures++;
		return false;
	}
	p->stats.made++;
	p->ready[p->num_ready++] = qp;
	return true;
}

static void *
run(void *arg)
{
	struct tp_roce_qp_pool *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		bool fill = p->num_ready < p->conf.threshold;

		while (p->num_back != 0)
			destroy_one(p);
		p->stats.refills += fill;
		while (fill && !p->stop && p->num_ready < p->conf.size)
			fill = make_one(p);
		/* What could not be made is tried again when the next one is taken or comes back. */
		if (!p->stop && p->num_back == 0 && (p->num_ready >= p->conf.threshold || !fill))
			pthread_cond_wait(&p->work, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* --- calls --- */

static int
check(const struct tp_roce_qp_pool_conf *c)
{
	struct troce_dev *dev;

	if (c->pd == NULL)
		return EINVAL;
	dev = troce_dev_of(c->pd->context);
	if (c->size == 0 || c->size > TP_ROCE_POOL_MAX)
		return TROCE_REFUSE(dev, EINVAL, "pool: size %u is not in 1..%u", c->size, TP_ROCE_POOL_MAX);
	if (c->threshold > c->size)
		return TROCE_REFUSE(dev, EINVAL, "pool: threshold %u is not in 0..%u", c->threshold, c->size);
	if (c->init.qp_type != IBV_QPT_RC && c->init.qp_type != IBV_QPT_UC)
		return TROCE_REFUSE(dev, EINVAL, "pool: queue pair type %d is neither %d (RC) nor %d (UC)",
				    c->init.qp_type, IBV_QPT_RC, IBV_QPT_UC);
	if ((c->init.send_cq == NULL) != (c->init.recv_cq == NULL))
		return TROCE_REFUSE(dev, EINVAL, "pool: one completion queue is named; name both or none");
	return 0;
}

static void
unmake_all(struct tp_roce_qp_pool *p)
{
	while (p->num_ready != 0)
		unmake(p, p->ready[--p->num_ready]);
	while (p->num_back != 0)
		unmake(p, p->back[--p->num_back]);
}

static void
pool_free(struct tp_roce_qp_pool *p)
{
	unmake_all(p);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->work);
	free(p->ready);
	free(p->back);
	free(p);
}

static int
pool_fill(struct tp_roce_qp_pool *p)
{
	while (p->num_ready < p->conf.size) {
		struct ibv_qp *qp = make(p);

		if (qp == NULL)
			return errno;
		p->ready[p->num_ready++] = qp;
		p->stats.made++;
	}
	return 0;
}

struct tp_roce_qp_pool *
tp_roce_qp_pool_create(const struct tp_roce_qp_pool_conf *conf)
{
	int err = check(conf);
	struct tp_roce_qp_pool *p;

	p = err == 0 ? calloc(1, sizeof(*p)) : NULL;
	if (p == NULL) {
		errno = err != 0 ? err : ENOMEM;
		return NULL;
	}
	p->conf = *conf;
	if (p->conf.threshold == 0)
		p->conf.threshold = (conf->size + 1) / 2;
	p->own_cqs = conf->init.send_cq == NULL;
	p->dev = troce_dev_of(conf->pd->context);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	p->ready = calloc(conf->size, sizeof(struct ibv_qp *));
	err = p->ready == NULL ? ENOMEM : pool_fill(p);
	if (err == 0)
		err = pthread_create(&p->thread, NULL, run, p);
	if (err != 0) {
		pool_free(p);
		errno = err;
		return NULL;
	}
	return p;
}

int
tp_roce_qp_pool_destroy(struct tp_roce_qp_pool *p)
{
	unsigned int out;

	pthread_mutex_lock(&p->lock);
	out = p->stats.out;
	p->stop = out == 0;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	if (out != 0)
		return TROCE_REFUSE(p->dev, EBUSY, "pool: %u queue pair(s) are taken", out);
	pthread_join(p->thread, NULL);
	pool_free(p);
	return 0;
}

struct ibv_qp *
tp_roce_qp_pool_get(struct tp_roce_qp_pool *p)
{
	struct ibv_qp *qp = NULL;
	bool miss;

	pthread_mutex_lock(&p->lock);
	miss = p->num_ready == 0;
	if (!miss)
		qp = p->ready[--p->num_ready];
	p->stats.taken++;
	p->stats.out++;
	p->stats.misses += miss;
	if (p->num_ready < p->conf.threshold)
		pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	if (!miss)
		return qp;
	qp = make(p);
	pthread_mutex_lock(&p->lock);
	p->stats.made += qp != NULL;
	if (qp == NULL) {
		p->stats.failures++;
		p->stats.taken--;
		p->stats.out--;
	}
	pthread_mutex_unlock(&p->lock);
	return qp;
}

void
tp_roce_qp_pool_put(struct tp_roce_qp_pool *p, struct ibv_qp *qp)
{
	struct ibv_qp **more = NULL;
	bool kept = true;

	pthread_mutex_lock(&p->lock);
	p->stats.returned++;
	p->stats.out--;
	if (p->num_back == p->back_room) {
		more = realloc(p->back, (p->back_room + 64) * sizeof(struct ibv_qp *));
		kept = more != NULL;
	}
	if (more != NULL) {
		p->back = more;
		p->back_room += 64;
	}
	if (kept)
		p->back[p->num_back++] = qp;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	if (!kept)
		unmake(p, qp);
}

void
tp_roce_qp_pool_stats(struct tp_roce_qp_pool *p, struct tp_roce_qp_pool_stats *stats)
{
	pthread_mutex_lock(&p->lock);
	*stats = p->stats;
	stats->ready = p->num_ready;
	pthread_mutex_unlock(&p->lock);
}
