/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A card's life: what a new one is, what is left of a used one after its reset, its own thread's settings, its doorbell pages. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/card/ctl.h"
#include "model/event/event.h"
#include "model/life/life.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- reset --- */

/* All that software, wires and frames change of a port. */
static void
use_port(struct tpm_port *p)
{
	p->open = true;
	p->max_frame = 9000;
	p->user_mtu = 1;
	p->ignore_fcs = p->rx_pause = p->tx_pause = p->vlan_filter_on = p->mcast_filter = p->tunnels = true;
	p->rx_pfc = p->tx_pfc = 0xff;
	memset(p->prio2tc, 7, sizeof(p->prio2tc));
	memset(p->mac_table, 0xff, sizeof(p->mac_table));
	memset(p->vlan_table, 0xff, sizeof(p->vlan_table));
	memset(p->vlan_bitmap, 0xff, sizeof(p->vlan_bitmap));
	memset(&p->c, 0xff, sizeof(p->c));
	p->flushed_sq = p->flushed_rq = 5;
	p->mac = 0;
	p->ib = !p->ib;
	p->ibp.lid = 7;
}

static bool
all_are(const void *at, size_t len, uint8_t value)
{
	for (size_t i = 0; i < len; i++)
		if (((const uint8_t *)at)[i] != value)
			return false;
	return true;
}

static void
a_reset_leaves_nothing(void **state)
{
	struct card *c = *state;
	struct tp_model *m = c->m;
	struct tp_model_stats st;

	card_boot(c, CARD_DMFS);
	card_objects(c);
	for (unsigned int i = 0; i < 2; i++)
		use_port(&m->port[i]);
	memset(m->counter, 0xff, sizeof(m->counter));
	memset(m->ctl->node_desc, 'x', sizeof(m->ctl->node_desc));
	m->vxlan_port = m->roce_port = 1;
	m->special_qp_base = 128;
	m->db_messages = true;
	memset((uint8_t *)tp_model_uar(m, NULL) + 0x400000, 0xff, 64);
	tp_model_bar0_write32(m, 0x7d000, 0xffffffff);
	tp_model_bar0_write32(m, 0x7c00c, 0);
	tp_model_reset(m);
	for (unsigned int i = 0; i < 2; i++) {
		struct tpm_port *p = &m->port[i];

		assert_false(p->open || p->link || p->ignore_fcs || p->rx_pause || p->tx_pause || p->vlan_filter_on ||
			     p->mcast_filter || p->tunnels || p->ib);
		assert_int_equal(p->max_frame, 1522);
		assert_int_equal(p->user_mtu, 0);
		assert_int_equal(p->rx_pfc | p->tx_pfc, 0);
		assert_true(all_are(p->prio2tc, sizeof(p->prio2tc), 0));
		assert_true(all_are(p->mac_table, sizeof(p->mac_table), 0));
		assert_true(all_are(p->vlan_table, sizeof(p->vlan_table), 0));
		assert_true(all_are(p->vlan_bitmap, sizeof(p->vlan_bitmap), 0));
		assert_true(all_are(&p->c, sizeof(p->c), 0));
		assert_int_equal(p->flushed_sq | p->flushed_rq, 0);
		assert_true(p->mac == UINT64_C(0x0002c9a1b201) + i);
		assert_int_equal(p->ibp.lid, 0);
		assert_int_equal(p->num, i + 1);
		assert_true(p->cable);
	}
	assert_true(all_are(m->counter, sizeof(m->counter), 0));
	assert_string_equal((const char *)m->ctl->node_desc, "Triplane ConnectX-3 model");
	assert_int_equal(m->ctl->node_desc[63], 0);
	assert_int_equal(m->vxlan_port | m->roce_port, 0);
	assert_int_equal(m->special_qp_base, 0);
	assert_false(m->db_messages);
	assert_true(all_are((uint8_t *)tp_model_uar(m, NULL) + 0x400000, 64, 0));
	assert_int_equal(tp_model_bar0_read32(m, 0x7d000), 0);
	assert_int_equal(tp_model_bar0_read32(m, 0x7c00c), 0x01000000);
	tp_model_get_stats(m, &st);
	assert_int_equal(st.fw_pages + st.aux_pages + st.icm_pages, 0);
	assert_int_equal(st.qps + st.cqs + st.eqs + st.mpts + st.rules, 0);
	assert_int_equal(m->uar_count, 0);
	/* Interrupts and windows are the host's and stay. */
	assert_int_equal(m->irq_fd[0], c->irq_fd);
	assert_int_equal(st.dma_windows, 1);
}

static void
a_new_card(void **state)
{
	struct tp_model_config cfg;
	struct tp_model *m;
	struct stat st;
	size_t len = 0;
	int fd;

	(void)state;
	tp_model_config_default(&cfg);
	cfg.port_type[1] = TP_PORT_IB;
	assert_int_equal(tp_model_create(&cfg, &m), 0);
	for (unsigned int v = 0; v < 128; v++)
		assert_int_equal(m->irq_fd[v], -1);
	assert_false(m->port[0].ib);
	assert_true(m->port[1].ib);
	assert_int_equal(tp_model_irq_set(m, 127, 5), 0);
	assert_int_equal(m->irq_fd[127], 5);
	assert_int_equal(tp_model_irq_set(m, 128, 5), -EINVAL);
	assert_int_equal(tp_model_irq_set(m, 127, -1), 0);
	/* The doorbells are a file of 8 MiB that nobody makes shorter or longer, and that goes with the card. */
	assert_non_null(tp_model_uar(m, &len));
	assert_int_equal(len, 8 << 20);
	fd = tp_model_uar_fd(m);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 8 << 20);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(ftruncate(fd, 16 << 20), -1);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	tp_model_destroy(m);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	tp_model_destroy(NULL);
}

/* A page of another file is the card's while it is lent, and no other page of that file. */
static void
pages_of_others(void **state)
{
	const uint32_t page = 200;
	struct tp_model_config cfg;
	struct tp_model *m;
	uint8_t *uar, *file;
	int fd = memfd_create("pages", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, 4 << 20), 0);
	file = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(file != MAP_FAILED);
	tp_model_config_default(&cfg);
	assert_int_equal(tp_model_create(&cfg, &m), 0);
	uar = tp_model_uar(m, NULL);
	assert_int_equal(tp_model_uar_lend(m, 127, fd), -EINVAL); /* of event queues */
	assert_int_equal(tp_model_uar_lend(m, 1024, fd), -EINVAL);
	assert_int_equal(tp_model_uar_lend(m, page, fd), 0);
	for (uint32_t i = page - 1; i <= page + 1; i++)
		file[i * 4096 + 0x14] = 1;
	assert_int_equal(uar[page * 4096 + 0x14], 1);
	assert_int_equal(uar[(page - 1) * 4096 + 0x14], 0);
	assert_int_equal(uar[(page + 1) * 4096 + 0x14], 0);
	/* A reset takes nothing back; it is the lender who does. */
	tp_model_reset(m);
	assert_int_equal(uar[page * 4096 + 0x14], 1);
	assert_int_equal(tp_model_uar_lend(m, page, -1), 0);
	assert_int_equal(uar[page * 4096 + 0x14], 0);
	file[page * 4096 + 0x14] = 2;
	assert_int_equal(uar[page * 4096 + 0x14], 0);
	tp_model_destroy(m);
	munmap(file, 4 << 20);
	close(fd);
}

/* --- faults --- */

static void
faults_that_may_be_asked_for(void **state)
{
	static const struct {
		unsigned int kind;
		uint16_t opcode;
		uint32_t nth;
		uint8_t status;
		int rc;
	} row[] = {
		{TP_FAULT_STATUS, MLX4_CMD_NOP, 1, 1, 0},         {TP_FAULT_STATUS, MLX4_CMD_NOP, 1, 0, -EINVAL},
		{TP_FAULT_STATUS, MLX4_CMD_NOP, 0, 0, 0}, /* none */
		{TP_FAULT_TIMEOUT, MLX4_CMD_NOP, 1, 0, 0},        {TP_FAULT_CATAS, MLX4_CMD_NOP, 1, 0, 0},
		{TP_FAULT_SLOW + 1, MLX4_CMD_NOP, 1, 1, -EINVAL}, {TP_FAULT_STATUS, 0, 1, 1, 0}, /* any command */
		{TP_FAULT_STATUS, 0x7ff, 1, 1, -EINVAL},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++)
		assert_int_equal(
			tp_model_fault(c->m, (enum tp_fault)row[i].kind, row[i].opcode, row[i].nth, row[i].status),
			row[i].rc);
	/* The third NOP, and it alone; other commands do not count. */
	assert_int_equal(tp_model_fault(c->m, TP_FAULT_STATUS, MLX4_CMD_HW_HEALTH_CHECK, 3, 0x40), 0);
	for (unsigned int i = 1; i <= 5; i++) {
		assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_FW, 0, 0), 0);
		assert_int_equal(card_cmd_none(c, MLX4_CMD_HW_HEALTH_CHECK, 0, 0), i == 3 ? 0x40 : 0);
	}
}

/* --- the card's own thread --- */

static void
settings_of_the_thread(void **state)
{
	static const struct {
		int cpu;
		uint32_t wake_us;
		int rc;
	} row[] = {
		{-1, 0, -EINVAL},          {-1, 1, 0},         {-1, 1000000, 0},
		{-1, 1000001, -EINVAL},    {-2, 100, -EINVAL}, {CPU_SETSIZE, 100, -EINVAL},
		{INT32_MAX, 100, -EINVAL},
	};
	struct card *c = *state;
	cpu_set_t set;
	int cpu = 0;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		assert_int_equal(tp_model_thread_start(c->m, row[i].cpu, row[i].wake_us), row[i].rc);
		if (row[i].rc == 0)
			assert_int_equal(tp_model_thread_start(c->m, row[i].cpu, row[i].wake_us), -EBUSY);
		/* One that stops may start again; one that never ran may be stopped. */
		tp_model_thread_stop(c->m);
		tp_model_thread_stop(c->m);
	}
	/* On the CPU that it is told. */
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	assert_int_equal(tp_model_thread_start(c->m, cpu, 100), 0);
	assert_int_equal(pthread_getaffinity_np(c->m->thread, sizeof(set), &set), 0);
	assert_int_equal(CPU_COUNT(&set), 1);
	assert_true(CPU_ISSET(cpu, &set));
	tp_model_thread_stop(c->m);
}

/* --- doorbell pages --- */

static void
put_cq(struct card *c, uint32_t cqn, uint32_t page)
{
	uint8_t *in = card_in(c);

	card_cq_ctx(c, in, card_alloc(c, 8192, 4096), 8, CARD_EQN, card_alloc(c, 8, 8));
	prm_set(in, MLX4_CQC_UAR, page);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, cqn), 0);
}

/* Pages that contexts name are looked at, each once, in their order, as long as one names them. */
static void
pages_that_are_looked_at(void **state)
{
	struct card *c = *state;
	uint8_t *uar = tp_model_uar(c->m, NULL);
	uint32_t before = c->m->uar_count;

	put_cq(c, CARD_CQN + 1, 1023);
	assert_int_equal(c->m->uar_count, before + 1);
	put_cq(c, CARD_CQN + 2, 200);
	put_cq(c, CARD_CQN + 3, 200);
	assert_int_equal(c->m->uar_count, before + 2);
	assert_int_equal(c->m->uar_list[before], 200);
	assert_int_equal(c->m->uar_list[before + 1], 1023);
	/* An arm in the memory of a page. */
	prm_set32(uar + 1023 * 4096, 0x24, 0);
	prm_set32(uar + 1023 * 4096, 0x20, 1u << 28 | 2u << 24 | (CARD_CQN + 1));
	assert_int_equal(tp_model_step(c->m, 64), 1);
	assert_int_equal(c->m->cq[CARD_CQN + 1]->arm, MLX4_CQ_STATE_ARMED);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN + 2), 0);
	assert_int_equal(c->m->uar_count, before + 2);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN + 3), 0);
	assert_int_equal(c->m->uar_count, before + 1);
	assert_int_equal(c->m->uar_list[before], 1023);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN + 1), 0);
	assert_int_equal(c->m->uar_count, before);
	card_expect_clean(c);
}

static void *
store(void *at)
{
	*(volatile uint32_t *)at = 1;
	return NULL;
}

/* A store that stops at a watched page goes on when the card looks, also where it thinks that nothing is protected any more, and when the
 * watch ends, as it does when a page is lent. */
static void
stores_go_on(void **state)
{
	struct tp_model *m = ((struct card *)*state)->m;
	struct pollfd p = {.events = POLLIN};
	struct timespec end;
	pthread_t thread;
	uint8_t *uar = mmap(NULL, TPM_BAR2_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int rc;

	assert_true(uar != MAP_FAILED);
	rc = tp_model_watch(m, uar);
	if (rc != 0) {
		printf("skip stores_go_on: no userfaultfd: %s\n", strerror(-rc));
		munmap(uar, TPM_BAR2_SIZE);
		skip();
	}
	p.fd = m->watch.fd;
	for (unsigned int i = 0; i < 3; i++) {
		assert_true(tpm_watch_arm(m));
		assert_int_equal(
			pthread_create(&thread, NULL, store, uar + (size_t)m->uar_list[0] * MLX4_UAR_PAGE_SIZE), 0);
		assert_int_equal(poll(&p, 1, 60000), 1);
		m->watch.armed = i != 1;
		if (i < 2)
			tpm_watch_take(m);
		else
			tp_model_unwatch(m);
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_sec += 60;
		assert_int_equal(pthread_timedjoin_np(thread, NULL, &end), 0);
	}
	tpm_watch_disarm(m);
	munmap(uar, TPM_BAR2_SIZE);
}

/* A doorbell that waits in its page counts before the command that came after it. */
static void
doorbells_before_commands(void **state)
{
	struct card *c = *state;
	uint8_t *page = (uint8_t *)tp_model_uar(c->m, NULL) + 4096;

	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << 9, 0), 0);
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_ACTIVE);
	prm_set32(page, 0x800, 0x80000001);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_EQ, 0, CARD_EQN), 0);
	assert_int_equal(prm_get32(card_out(c), 0x28), 1);
	assert_int_equal(prm_get32(page, 0x800), 0);
	card_expect_clean(c);
}

struct heard {
	unsigned int lines;
};

static void
hear(void *arg, enum tp_model_line kind, const char *line)
{
	(void)kind;
	(void)line;
	((struct heard *)arg)->lines++;
}

/* A vector that nobody connected is raised silently. */
static void
interrupts_without_a_listener(void **state)
{
	struct card *c = *state;
	struct heard h = {0};
	struct tp_model_stats before, st;

	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << 9, 0), 0);
	assert_int_equal(tp_model_irq_set(c->m, 0, -1), 0);
	tp_model_get_stats(c->m, &before);
	tp_model_set_log(c->m, hear, &h);
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_ACTIVE);
	tp_model_get_stats(c->m, &st);
	assert_int_equal(st.interrupts, before.interrupts + 1);
	assert_int_equal(h.lines, 0);
	tp_model_set_log(c->m, NULL, NULL);
}

int
main(void)
{
#define ON(f) cmocka_unit_test_setup_teardown(f, setup_power_on, teardown_card)
#define OBJ(f) cmocka_unit_test_setup_teardown(f, setup_objects, teardown_card)
	const struct CMUnitTest tests[] = {
		ON(a_reset_leaves_nothing),       cmocka_unit_test(a_new_card),       cmocka_unit_test(pages_of_others),
		ON(faults_that_may_be_asked_for), ON(settings_of_the_thread),         OBJ(pages_that_are_looked_at),
		OBJ(doorbells_before_commands),   OBJ(interrupts_without_a_listener), OBJ(stores_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
