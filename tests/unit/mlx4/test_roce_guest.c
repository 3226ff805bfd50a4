/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Queues of the card that another process has: the test is that process. It writes requests and the doorbell, and reads completions,
 * as the reference of the data path has them (its sections in brackets); the peer is an ordinary queue pair.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/roce/verbs/verbs.h"

#include "drivers/mlx4/verbs/verbs.h"
#include "roce_rig.h"

#define PAGE 4096u
#define ENTRIES 16u

struct guest {
	struct troce_guest g;
	struct troce_dev *dev;
	unsigned int pieces; /* of memory */
};

static void *
mem_get(struct troce_guest *g, size_t len, size_t align)
{
	struct guest *s = (struct guest *)g;
	size_t all = RTE_ALIGN_CEIL(len, (size_t)PAGE);
	void *mem = NULL;

	/* The caller holds locks. */
	if (posix_memalign(&mem, RTE_MAX(align, (size_t)PAGE), all) != 0)
		return NULL;
	memset(mem, 0, all);
	if (s->dev->prov->mem_open(s->dev, mem, all) != 0) {
		free(mem);
		return NULL;
	}
	s->pieces++;
	return mem;
}

static void
mem_put(struct troce_guest *g, void *mem, size_t len)
{
	struct guest *s = (struct guest *)g;

	s->dev->prov->mem_close(s->dev, mem, RTE_ALIGN_CEIL(len, (size_t)PAGE));
	free(mem);
	s->pieces--;
}

static void
cq_event(struct troce_guest *g, struct troce_cq *cq)
{
	fail_msg("nobody has asked for events");
}

static void
async(struct troce_guest *g, enum ibv_event_type type, void *obj)
{
	fail_msg("event %d", type);
}

static void
put32(uint8_t *at, uint32_t v)
{
	v = rte_cpu_to_be_32(v);
	memcpy(at, &v, sizeof(v));
}

/* [3.1, 3.6, 4.2] A SEND of one element in the ring, then its doorbell [2.2]. */
static void
send_one(const struct troce_view_qp *qv, uint8_t *pages, const struct rr_end *e, uint32_t no, uint32_t len)
{
	uint8_t *w = (uint8_t *)qv->mem + qv->sq + ((no % qv->sq_entries) << qv->lg_sq_stride);

	put32(w + 4, 2);
	put32(w + 8, 0x0c);
	put32(w + 12, 0);
	put32(w + 16, len);
	put32(w + 20, e->mr->lkey);
	put32(w + 24, (uint32_t)((uintptr_t)e->mem >> 32));
	put32(w + 28, (uint32_t)(uintptr_t)e->mem);
	put32(w, (no / qv->sq_entries % 2 != 0 ? 0x80000000 : 0) | 0x0a);
	put32(pages + qv->uar * PAGE + 0x14, qv->qpn << 8);
}

static void
test_sends(void **state)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {8, 4, 2, 2, 0}};
	struct guest s = {.g = {.mem_get = mem_get, .mem_put = mem_put, .cq_event = cq_event, .async = async}};
	struct troce_view_uars vu;
	struct troce_view_qp qv;
	struct troce_view_cq cv;
	struct rr_end a, b;
	struct ibv_cq *cq;
	uint8_t *pages;

	s.dev = troce_dev_of(rr_ctx[0]);
	assert_int_equal(s.dev->prov->view_uars(s.dev, &vu), 0);
	s.g.uar_fd = memfd_create("doorbells", MFD_CLOEXEC);
	assert_int_equal(ftruncate(s.g.uar_fd, (off_t)vu.len), 0);
	pages = mmap(NULL, vu.len, PROT_READ | PROT_WRITE, MAP_SHARED, s.g.uar_fd, 0);
	assert_true(pages != MAP_FAILED);
	rr_end(&a, 0);
	rr_end(&b, 1);
	rr_qp(&b, IBV_QPT_RC, NULL);
	cq = troce_cq_make(rr_ctx[0], ENTRIES - 1, &(struct troce_cq_more){.guest = &s.g, .events = true});
	assert_non_null(cq);
	init.send_cq = init.recv_cq = cq;
	a.qp = troce_qp_make(rr_pd[0], &init, &(struct troce_qp_more){.guest = &s.g});
	assert_non_null(a.qp);
	assert_int_equal(s.pieces, 2);
	s.dev->prov->view_cq((struct troce_cq *)cq, &cv);
	s.dev->prov->view_qp((struct troce_qp *)a.qp, &qv);
	assert_int_equal(cv.entries, ENTRIES);
	assert_int_equal(qv.qpn, a.qp->qp_num);
	assert_true(qv.sq_entries >= 8 && (qv.sq_entries & (qv.sq_entries - 1)) == 0);
	assert_true(qv.sq + ((size_t)qv.sq_entries << qv.lg_sq_stride) <= qv.len);
	rr_init(&a);
	rr_init(&b);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rtr(&b, &a, RR_IPV4_V2);
	rr_rts(&a);
	rr_rts(&b);
	rr_fill(a.mem, 1000, 5);
	for (uint32_t i = 0; i < 2 * qv.sq_entries; i++) {
		const uint8_t *c = (const uint8_t *)cv.mem + (i % ENTRIES) * 32;

		assert_int_equal(rr_recv(&b, 0, 4096), 0);
		send_one(&qv, pages, &a, i, 100 + i);
		rr_run();
		assert_int_equal(rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 0).byte_len, 100 + i);
		assert_memory_equal(b.mem, a.mem, 100 + i);
		/* [6.2, 6.5] It is complete, in its pass; the record says that it is taken. */
		assert_int_equal(c[31], (i / ENTRIES % 2 != 0 ? 0x80 : 0) | 0x40 | 0x0a);
		put32((uint8_t *)cv.mem + cv.dbrec, (i + 1) & 0xffffff);
	}
	assert_int_equal(tp_roce_destroy_qp(a.qp), 0);
	a.qp = NULL;
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
	assert_int_equal(s.pieces, 0);
	rr_end_free(&a);
	rr_end_free(&b);
	munmap(pages, vu.len);
	close(s.g.uar_fd);
}

/* [10.1] An address as datagrams have it. */
static void
test_address(void **state)
{
	const struct rte_ether_addr mac = rig_mac(1);
	struct troce_dev *dev = troce_dev_of(rr_ctx[0]);
	struct ibv_ah_attr at;
	struct ibv_ah *ah;
	uint8_t d[TROCE_VIEW_AH];

	rr_attr(&at, 1, RR_IPV4_V2);
	at.sl = 0;
	at.grh.traffic_class = 0x2c;
	at.grh.hop_limit = 77;
	at.grh.flow_label = 0x12345;
	ah = tp_roce_create_ah(rr_pd[0], &at);
	assert_non_null(ah);
	dev->prov->view_ah((struct troce_ah *)ah, d);
	assert_int_equal(d[9], at.grh.sgid_index);
	assert_int_equal(d[11], 77);
	assert_memory_equal(d + 12, "\x02\xc1\x23\x45", 4); /* priority, traffic class, flow label */
	assert_memory_equal(d + 16, at.grh.dgid.raw, 16);
	assert_memory_equal(d + 42, &mac, 6);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sends, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_address, rr_setup, rr_teardown),
	};

	if (rig_eal("mlx4_roce_guest", "0") < 0)
		return 1;
	return cmocka_run_group_tests_name("roce_guest", tests, NULL, NULL);
}
