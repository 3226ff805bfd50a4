/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A queue pair whose rings another process has: the test is that process, and writes requests, doorbell records and the doorbell as
 * the reference of the card's data path has them (its sections in brackets). The peer is an ordinary queue pair.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/roce/verbs/verbs.h"

#include "pair.h"

#define PAGE 4096u
#define ENTRIES 16u /* of the completion queue */
#define CROWD 600u  /* more than a turn looks at */

struct rig {
	struct troce_guest g;
	struct pair *p;
	uint8_t *page, *record;      /* record: of the completion queue */
	unsigned int events, failed; /* completions told, and errors of the queue */
	struct ibv_cq *cq;
	struct ibv_qp *qp, *peer;
	struct troce_view_cq cv;
	struct troce_view_qp qv;
	uint32_t posted, received, seen;
};

static void *
mem_get(struct troce_guest *g, size_t len, size_t align)
{
	size_t all = RTE_ALIGN_CEIL(len, (size_t)PAGE);
	void *mem = aligned_alloc(PAGE, all);

	assert_true(align <= PAGE);
	memset(mem, 0, all);
	return mem;
}

static void
mem_put(struct troce_guest *g, void *mem, size_t len)
{
	free(mem);
}

static void
cq_event(struct troce_guest *g, struct troce_cq *cq)
{
	((struct rig *)g)->events++;
}

static void
async(struct troce_guest *g, enum ibv_event_type type, void *obj)
{
	((struct rig *)g)->failed += type == IBV_EVENT_CQ_ERR;
}

static void
put32(void *at, uint32_t v)
{
	v = htonl(v);
	memcpy(at, &v, 4);
}

static uint32_t
get32(const void *at)
{
	uint32_t v;

	memcpy(&v, at, 4);
	return ntohl(v);
}

/* Queue pairs of the same process, and completion queues on its channel, in front of the ones that are used. */
struct crowd {
	struct ibv_qp *qp[CROWD];
	struct ibv_cq *cq[CROWD];
};

static void
gather(struct rig *r, struct crowd *c)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD, .cap = {1, 1, 1, 1, 0}};

	for (unsigned int i = 0; i < CROWD; i++) {
		c->cq[i] = troce_cq_make(r->p->n[0].ctx, 1, &(struct troce_cq_more){.guest = &r->g, .events = true});
		assert_non_null(c->cq[i]);
		init.send_cq = init.recv_cq = c->cq[i];
		c->qp[i] = troce_qp_make(r->p->n[0].pd, &init, &(struct troce_qp_more){.guest = &r->g});
		assert_non_null(c->qp[i]);
	}
}

static void
scatter(struct crowd *c)
{
	for (unsigned int i = 0; i < CROWD; i++) {
		assert_int_equal(tp_roce_destroy_qp(c->qp[i]), 0);
		assert_int_equal(tp_roce_destroy_cq(c->cq[i]), 0);
	}
}

static void
begin_among(struct rig *r, struct pair *p, struct crowd *crowd)
{
	const struct qp_conf c = {.type = IBV_QPT_RC};
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {8, 4, 2, 2, 0}};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	memset(r, 0, sizeof(*r));
	r->p = p;
	r->g = (struct troce_guest){.uar_fd = memfd_create("page", 0),
				    .mem_get = mem_get,
				    .mem_put = mem_put,
				    .cq_event = cq_event,
				    .async = async};
	assert_int_equal(ftruncate(r->g.uar_fd, PAGE), 0);
	r->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->g.uar_fd, 0);
	if (crowd != NULL)
		gather(r, crowd);
	r->cq = troce_cq_make(p->n[0].ctx, ENTRIES - 1, &(struct troce_cq_more){.guest = &r->g, .events = true});
	assert_non_null(r->cq);
	init.send_cq = init.recv_cq = r->cq;
	r->qp = troce_qp_make(p->n[0].pd, &init, &(struct troce_qp_more){.guest = &r->g});
	assert_non_null(r->qp);
	assert_int_equal(
		tp_roce_modify_qp(r->qp, &a, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS), 0);
	r->peer = pair_qp(p, 1, &c);
	pair_connect(p, r->qp, r->peer, &c);
	troce_dev_of(p->n[0].ctx)->prov->view_cq((struct troce_cq *)r->cq, &r->cv);
	troce_dev_of(p->n[0].ctx)->prov->view_qp((struct troce_qp *)r->qp, &r->qv);
	assert_int_equal(r->cv.entries, ENTRIES);
	r->record = (uint8_t *)r->cv.mem + r->cv.dbrec;
}

static void
begin(struct rig *r, struct pair *p)
{
	begin_among(r, p, NULL);
}

static void
end(struct rig *r)
{
	if (r->qp != NULL)
		assert_int_equal(tp_roce_destroy_qp(r->qp), 0);
	assert_int_equal(tp_roce_destroy_cq(r->cq), 0);
	assert_int_equal(tp_roce_destroy_qp(r->peer), 0);
	munmap(r->page, PAGE);
	close(r->g.uar_fd);
}

/* [3.1, 3.6, 4.2] A SEND of one element; the owner bit last. */
static void
send_one(struct rig *r, uint32_t len, uint32_t op)
{
	const struct node *n = &r->p->n[0];
	uint8_t *w = (uint8_t *)r->qv.mem + r->qv.sq + ((r->posted % r->qv.sq_entries) << r->qv.lg_sq_stride);
	uint64_t va = (uintptr_t)n->mem;

	put32(w + 4, 2);
	put32(w + 8, 0x0c);
	put32(w + 12, 0);
	put32(w + 16, len);
	put32(w + 20, n->mr->lkey);
	put32(w + 24, (uint32_t)(va >> 32));
	put32(w + 28, (uint32_t)va);
	put32(w, (r->posted / r->qv.sq_entries % 2 != 0 ? 0x80000000 : 0) | op);
	r->posted++;
}

/* [2.2] */
static void
ring(struct rig *r)
{
	put32(r->page + 0x14, r->qp->qp_num << 8);
}

/* [5.1, 2.3] */
static void
recv_one(struct rig *r, uint32_t off, uint32_t len)
{
	const struct node *n = &r->p->n[0];
	uint8_t *w = (uint8_t *)r->qv.mem + r->qv.rq + ((r->received % r->qv.rq_entries) << r->qv.lg_rq_stride);
	uint64_t va = (uintptr_t)n->mem + off;

	put32(w, len);
	put32(w + 4, n->mr->lkey);
	put32(w + 8, (uint32_t)(va >> 32));
	put32(w + 12, (uint32_t)va);
	put32(w + 16, 0);
	put32(w + 20, 0x100);
	r->received++;
	put32((uint8_t *)r->qv.mem + r->qv.dbrec, r->received & 0xffff);
}

/* [6.2, 6.5] The next completion, NULL: none; the record says that it is taken. */
static const uint8_t *
next(struct rig *r)
{
	const uint8_t *c = (uint8_t *)r->cv.mem + (r->seen % r->cv.entries) * 32;

	if ((c[31] >> 7) != (r->seen / r->cv.entries) % 2)
		return NULL;
	r->seen++;
	put32(r->record, r->seen & 0xffffff);
	return c;
}

/* Opcode and error syndrome of the next completion. */
static void
completes(struct rig *r, uint8_t kind, uint8_t syndrome)
{
	const uint8_t *c;

	for (unsigned int i = 0; (c = next(r)) == NULL && i < 100000; i++)
		pair_step(r->p);
	assert_non_null(c);
	assert_int_equal(c[31] & 0x7f, kind);
	assert_int_equal(get32(c), r->qp->qp_num);
	if (kind == 0x5e || kind == 0x1e)
		assert_int_equal(c[0x1b], syndrome);
}

/* [2.3, 2.4] */
static void
arm(struct rig *r, uint32_t sn, uint32_t cmd)
{
	put32(r->record + 4, sn << 28 | cmd << 24 | (r->seen & 0xffffff));
}

/* Several passes over both rings and the queue. */
static void
passes(void **state)
{
	struct rig r;
	struct ibv_wc wc;

	begin(&r, *state);
	for (unsigned int i = 0; i < 5 * r.qv.sq_entries; i++) {
		pair_recv(r.p, 1, r.peer, i, 4096, 64);
		pair_fill(r.p, 0, 0, 64, i);
		send_one(&r, 64, 0x0a);
		ring(&r);
		completes(&r, 0x4a, 0);
		pair_wait(r.p, r.p->n[1].cq, 1, &wc);
		pair_same(r.p, 0, 4096, 64);
		recv_one(&r, 8192, 100);
		pair_fill(r.p, 1, 0, 77, i);
		pair_send(r.p, 1, r.peer, i, 0, 77);
		completes(&r, 0x01, 0);
		pair_wait(r.p, r.p->n[1].cq, 1, &wc);
		assert_memory_equal(r.p->n[0].mem + 8192, r.p->n[1].mem, 77);
	}
	assert_int_equal(r.events, 0);
	assert_int_equal(pair_stat(r.p, 0, "guest_bad_requests"), 0);
	end(&r);
}

/* Nobody looks at a ring before the bell. */
static void
bell(void **state)
{
	struct rig r;

	begin(&r, *state);
	pair_recv(r.p, 1, r.peer, 1, 4096, 64);
	/* It had a turn when it came to this state. */
	pair_run(r.p, 1);
	send_one(&r, 8, 0x0a);
	pair_run(r.p, 5);
	assert_null(next(&r));
	ring(&r);
	completes(&r, 0x4a, 0);
	end(&r);
}

/* [2.4, 6.6] One event for one arming, at once when there is something already. */
static void
events(void **state)
{
	struct rig r;

	begin(&r, *state);
	recv_one(&r, 0, 64);
	recv_one(&r, 0, 64);
	recv_one(&r, 0, 64);
	arm(&r, 1, 2);
	pair_run(r.p, 5);
	assert_int_equal(r.events, 0);
	pair_send(r.p, 1, r.peer, 1, 0, 8);
	completes(&r, 0x01, 0);
	assert_int_equal(r.events, 1);
	pair_send(r.p, 1, r.peer, 1, 0, 8);
	completes(&r, 0x01, 0);
	pair_run(r.p, 5);
	assert_int_equal(r.events, 1);
	/* It came before the arming, which says that it was not seen. */
	r.seen--;
	arm(&r, 2, 2);
	pair_run(r.p, 5);
	assert_int_equal(r.events, 2);
	r.seen++;
	/* Only what the sender marked. */
	arm(&r, 3, 1);
	pair_send(r.p, 1, r.peer, 1, 0, 8);
	completes(&r, 0x01, 0);
	pair_run(r.p, 5);
	assert_int_equal(r.events, 2);
	pair_wait(r.p, r.p->n[1].cq, 3, NULL);
	end(&r);
}

/* What is no request ends with an error, and with it all that wait. */
static void
no_request(void **state)
{
	struct rig r;

	begin(&r, *state);
	recv_one(&r, 0, 64);
	send_one(&r, 8, 0x1f);
	send_one(&r, 8, 0x0a);
	ring(&r);
	completes(&r, 0x5e, 0x02);
	completes(&r, 0x5e, 0x05);
	completes(&r, 0x1e, 0x05);
	assert_int_equal(pair_stat(r.p, 0, "guest_bad_requests"), 1);
	/* What comes late is flushed, without a bell for what receives. */
	recv_one(&r, 0, 64);
	completes(&r, 0x1e, 0x05);
	send_one(&r, 8, 0x0a);
	ring(&r);
	completes(&r, 0x5e, 0x05);
	end(&r);
}

/* A record that says more than there can be says nothing. */
static void
record(void **state)
{
	struct rig r;

	begin(&r, *state);
	recv_one(&r, 0, 64);
	put32((uint8_t *)r.qv.mem + r.qv.dbrec, r.qv.rq_entries + 1);
	pair_send(r.p, 1, r.peer, 1, 0, 8);
	pair_run(r.p, 5);
	assert_null(next(&r));
	put32((uint8_t *)r.qv.mem + r.qv.dbrec, 1);
	completes(&r, 0x01, 0);
	pair_wait(r.p, r.p->n[1].cq, 1, NULL);
	end(&r);
}

/* Who does not take completions fails alone, and is told. */
static void
full(void **state)
{
	struct rig r;

	begin(&r, *state);
	for (unsigned int i = 0; i < ENTRIES + 1 && r.failed == 0; i++) {
		pair_recv(r.p, 1, r.peer, i, 4096, 64);
		send_one(&r, 8, 0x0a);
		ring(&r);
		pair_run(r.p, 5);
	}
	assert_int_equal(r.failed, 1);
	assert_int_equal(r.posted, ENTRIES + 1);
	assert_int_equal(pair_state(r.qp), IBV_QPS_ERR);
	end(&r);
}

/* The bell is the last that there is of a queue pair. */
static void
ended(void **state)
{
	struct rig r;
	struct ibv_wc wc;

	begin(&r, *state);
	pair_recv(r.p, 1, r.peer, 7, 4096, 64);
	send_one(&r, 8, 0x0a);
	ring(&r);
	assert_int_equal(tp_roce_destroy_qp(r.qp), 0);
	r.qp = NULL;
	pair_wait(r.p, r.p->n[1].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 7);
	end(&r);
}

/* 10.3.1: what is posted in error is flushed; to receive, without a bell. */
static void
posted_in_error(void **state)
{
	struct rig r;

	begin(&r, *state);
	pair_to_error(r.qp);
	pair_run(r.p, 1);
	assert_null(next(&r));
	for (unsigned int i = 0; i < 2; i++) {
		recv_one(&r, 4096, 64);
		completes(&r, 0x1e, 0x05);
	}
	send_one(&r, 8, 0x0a);
	ring(&r);
	completes(&r, 0x5e, 0x05);
	assert_null(next(&r));
	end(&r);
}

/* [3.2, 10.1] Datagrams say where they go, each by itself, also in the place of one that went elsewhere. */
static void
datagrams(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_UD};
	struct pair *p = *state;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD, .cap = {8, 0, 1, 0, 0}};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1234};
	struct ibv_qp *rc, *peer = pair_qp(p, 1, &c);
	union ibv_gid gid[2] = {pair_gid(p, 1, PAIR_V4), pair_gid(p, 1, PAIR_V6)};
	struct troce_provider const *prov = troce_dev_of(p->n[0].ctx)->prov;
	struct ibv_ah *ah[2];
	struct rig r;

	begin(&r, p);
	rc = r.qp;
	init.send_cq = init.recv_cq = r.cq;
	r.qp = troce_qp_make(p->n[0].pd, &init, &(struct troce_qp_more){.guest = &r.g});
	assert_non_null(r.qp);
	assert_int_equal(tp_roce_modify_qp(r.qp, &a, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY), 0);
	prov->view_qp((struct troce_qp *)r.qp, &r.qv);
	pair_connect(p, r.qp, r.qp, &c);
	pair_connect(p, peer, peer, &c);
	for (unsigned int v6 = 0; v6 < 2; v6++)
		ah[v6] = pair_ah(p, 0, &gid[v6], v6 != 0 ? PAIR_V6 : PAIR_V4);
	for (unsigned int i = 0; i < 4 * r.qv.sq_entries; i++) {
		uint8_t *w = (uint8_t *)r.qv.mem + r.qv.sq + ((r.posted % r.qv.sq_entries) << r.qv.lg_sq_stride), d[48];
		unsigned int v6 = i / 3 % 2;
		struct ibv_wc wc;

		pair_recv(p, 1, peer, i, 4096, 1024);
		prov->view_ah((struct troce_ah *)ah[v6], d);
		assert_int_equal(d[5] >> 7, 1); /* with a GRH, as all of RoCE */
		put32(d + 32, peer->qp_num);
		put32(d + 36, 0x1234);
		/* The data comes behind the address; what a SEND has in front of it is written last. */
		put32(w + 64, 10 + i);
		put32(w + 68, p->n[0].mr->lkey);
		put32(w + 72, (uint32_t)((uintptr_t)p->n[0].mem >> 32));
		put32(w + 76, (uint32_t)(uintptr_t)p->n[0].mem);
		memcpy(w + 16, d, sizeof(d));
		put32(w + 4, 5);
		put32(w + 8, 0x0c);
		put32(w + 12, 0);
		put32(w, (r.posted++ / r.qv.sq_entries % 2 != 0 ? 0x80000000 : 0) | 0x0a);
		ring(&r);
		completes(&r, 0x4a, 0);
		pair_wait(p, p->n[1].cq, 1, &wc);
		assert_int_equal(wc.byte_len, 40 + 10 + i);
		assert_int_equal(p->n[1].mem[4096] >> 4, v6 != 0 ? 6 : 0);
	}
	for (unsigned int v6 = 0; v6 < 2; v6++)
		assert_int_equal(tp_roce_destroy_ah(ah[v6]), 0);
	assert_int_equal(tp_roce_destroy_qp(peer), 0);
	assert_int_equal(tp_roce_destroy_qp(rc), 0);
	end(&r);
}

/* A turn looks at some of many; each has its look in the end, also when one in the middle goes. */
static void
among_many(void **state)
{
	static struct crowd crowd;
	struct rig r;

	begin_among(&r, *state, &crowd);
	pair_run(r.p, 5);
	for (unsigned int i = 0; i < 20; i++) {
		pair_recv(r.p, 1, r.peer, i, 4096, 64);
		arm(&r, (i + 1) & 3, 2);
		send_one(&r, 8, 0x0a);
		ring(&r);
		completes(&r, 0x4a, 0);
		assert_int_equal(r.events, i + 1);
	}
	/* Where the looking stands is somewhere in the crowd. */
	for (unsigned int i = 0; i < 3; i++) {
		pair_recv(r.p, 1, r.peer, i, 4096, 64);
		send_one(&r, 8, 0x0a);
		ring(&r);
		tp_roce_progress(r.p->n[0].ctx);
	}
	scatter(&crowd);
	for (unsigned int i = 0; i < 3; i++)
		completes(&r, 0x4a, 0);
	pair_wait(r.p, r.p->n[1].cq, 23, NULL);
	end(&r);
}

/* [6.7] Another ring: the word of the move takes a number, and what waits comes behind it. */
static int
resize(struct rig *r, int cqe)
{
	uint32_t was = r->cv.entries;
	int err = tp_roce_resize_cq(r->cq, cqe);

	if (err != 0)
		return err;
	troce_dev_of(r->p->n[0].ctx)->prov->view_cq((struct troce_cq *)r->cq, &r->cv);
	if (r->cv.entries == was)
		return 0;
	r->seen++;
	put32(r->record, r->seen & 0xffffff);
	return 0;
}

static void
sizes(void **state)
{
	static const uint8_t waits[] = {0, 1, 7, 3};
	static const struct {
		int asked;
		uint32_t entries;
	} to[] = {{100, 128}, {7, 8}, {8, 16}, {31, 32}};
	struct rig r;
	uint32_t n = 0;

	begin(&r, *state);
	for (unsigned int i = 0; i < 40; i++) {
		unsigned int waiting = waits[i % 4];

		for (unsigned int k = 0; k < waiting; k++, n++) {
			pair_recv(r.p, 1, r.peer, n, 4096, 64);
			send_one(&r, 1 + n % 60, 0x0a);
			ring(&r);
			pair_wait(r.p, r.p->n[1].cq, 1, NULL);
			pair_run(r.p, 1);
		}
		/* Four entries have no room for seven. */
		if (waiting == 7)
			assert_int_equal(resize(&r, 3), EINVAL);
		assert_int_equal(resize(&r, to[(i + i / 4) % 4].asked), 0);
		assert_int_equal(r.cv.entries, to[(i + i / 4) % 4].entries);
		assert_int_equal(r.cq->cqe, to[(i + i / 4) % 4].entries - 1);
		for (unsigned int k = 0; k < waiting; k++) {
			const uint8_t *c = next(&r);

			assert_non_null(c);
			assert_int_equal(c[31] & 0x7f, 0x4a);
			assert_int_equal(get32(c + 0x14), 1 + (n - waiting + k) % 60);
		}
		assert_null(next(&r));
		/* It goes on there, more than once round. */
		for (unsigned int k = 0; k < 20; k++, n++) {
			pair_recv(r.p, 1, r.peer, n, 4096, 64);
			send_one(&r, 1 + n % 60, 0x0a);
			ring(&r);
			completes(&r, 0x4a, 0);
			pair_wait(r.p, r.p->n[1].cq, 1, NULL);
		}
	}
	/* The largest that the port offers is one that it has. */
	assert_int_equal(resize(&r, troce_dev_of(r.p->n[0].ctx)->attr.max_cqe), 0);
	assert_int_equal(r.cq->cqe, troce_dev_of(r.p->n[0].ctx)->attr.max_cqe);
	/* The same size is no move, and events go on. */
	assert_int_equal(tp_roce_resize_cq(r.cq, r.cq->cqe), 0);
	arm(&r, 1, 2);
	pair_recv(r.p, 1, r.peer, n, 4096, 64);
	send_one(&r, 1, 0x0a);
	ring(&r);
	completes(&r, 0x4a, 0);
	assert_int_equal(r.events, 1);
	pair_wait(r.p, r.p->n[1].cq, 1, NULL);
	end(&r);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(passes),    T(bell),       T(events), T(no_request),
					   T(record),    T(full),       T(ended),  T(posted_in_error),
					   T(datagrams), T(among_many), T(sizes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
