/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A card from its reset to its reset, by the commands that it gets [CP 7.3, 7.4]. */
#include <errno.h>
#include <stdlib.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "fake_card.h"

static struct fake_card card;
static struct mlx4_hca *hca;
static const struct mlx4_hca_config config = {.check_fw = true, .poll_cmd = true};
static size_t heap;

/* Firmware 2.42.5000 of 16 pages; two ports; 32-byte events; limits and sizes as seen cards have them. */
static void
lay_down(struct fake_card *c)
{
	static const struct fake_dword cap[] = {
		{0x10, 0x0e0e0617}, {0x14, 0x60150000}, {0x18, 0x00160716}, {0x1c, 0x14130309}, {0x20, 0x40000800},
		{0x2c, 0x00111700}, {0x34, 0x000f0002}, {0x40, 0x08000000}, {0x44, 0x40010000}, {0x48, 0x20020000},
		{0x50, 0x003e03f0}, {0x54, 0x00200200}, {0x64, 0x40000000}, {0x74, 0x000080f8}, {0x80, 0x00200100},
		{0x84, 0x00010040}, {0x88, 0x00800080}, {0x8c, 0x00800040}, {0x90, 0x00080040}, {0x94, 0x20080000},
		{0x9c, 0x00000080}, {0xa0, 0x00100000},
	};
	struct fake_answer *a = fake_answer(c, 0x004, FAKE_ALWAYS);
	unsigned int i;

	prm_set32(a->box, 0x00, 16u << 16 | 2);
	prm_set32(a->box, 0x04, 5000u << 16 | 42);
	prm_set32(a->box, 0x08, 3);
	a = fake_answer(c, 0x003, FAKE_ALWAYS);
	for (i = 0; i < RTE_DIM(cap); i++)
		prm_set32(a->box, cap[i].off, cap[i].value);
	fake_answer(c, 0x043, FAKE_ALWAYS)->box[0] = 0x02;
	a = fake_answer(c, 0x034, FAKE_ALWAYS);
	prm_set32(a->box, 0x14, 0x0002c903);
	prm_set32(a->box, 0x1c, 0x00a0b001);
	fake_answer(c, 0xffd, FAKE_ALWAYS)->imm = 1;
}

static void
put_in(struct fake_card *c)
{
	fake_open(c);
	lay_down(c);
	c->bus.intr = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	assert_non_null(c->bus.intr);
	rte_intr_fd_set(c->bus.intr, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	rte_intr_type_set(c->bus.intr, RTE_INTR_HANDLE_EXT);
}

static void
take_out(struct fake_card *c)
{
	close(rte_intr_fd_get(c->bus.intr));
	rte_intr_instance_free(c->bus.intr);
	fake_close(c);
}

static int
setup(void **state)
{
	heap = rig_heap();
	put_in(&card);
	hca = NULL;
	return 0;
}

static int
teardown(void **state)
{
	if (hca != NULL)
		mlx4_hca_close(hca);
	take_out(&card);
	assert_int_equal(rig_heap(), heap);
	return 0;
}

/* A command so many times. */
struct step {
	uint16_t op;
	unsigned int times;
};

static void
steps_are(const struct step *s, unsigned int n)
{
	unsigned int i, k, at = 0;

	for (i = 0; i < n; i++)
		for (k = 0; k < s[i].times; k++, at++)
			if (at >= card.num_cmds || card.cmd[at].op != s[i].op)
				fail_msg("command %u is 0x%03x, wanted 0x%03x", at, card.cmd[at].op, s[i].op);
	assert_int_equal(card.num_cmds, at);
}

static const struct step up[] = {
	{0x004, 1},  /* QUERY_FW */
	{0xfff, 1},  /* MAP_FA */
	{0xff6, 1},  /* RUN_FW */
	{0x034, 1},  /* pages of 4 KiB */
	{0x003, 1},  /* QUERY_DEV_CAP */
	{0x043, 4},  /* QUERY_PORT, for an answer that is none, and for what it says */
	{0x034, 1},  /* GUID */
	{0xffd, 1},  /* SET_ICM_SIZE */
	{0xffc, 1},  /* MAP_ICM_AUX */
	{0xffa, 14}, /* MAP_ICM */
	{0x007, 1},  /* INIT_HCA */
	{0x006, 1},  /* QUERY_ADAPTER */
	{0x013, 32}, /* SW2HW_EQ: one for each vector */
	{0x012, 1},  /* MAP_EQ */
	{0x023, 1},  /* CONF_SPECIAL_QP */
	{0x00d, 1},  /* SW2HW_MPT */
};
static const struct step down[] = {
	{0x00a, 2}, {0x00f, 1}, {0x023, 1}, {0x012, 1}, {0x014, 32}, {0x008, 1}, {0xff9, 14}, {0xffb, 1}, {0xffe, 1},
};

static void
test_up_and_down(void **state)
{
	unsigned int i;

	assert_int_equal(mlx4_hca_open(&card.bus, &config, &hca), 0);
	steps_are(up, RTE_DIM(up));
	assert_int_equal(card.resets, 1);
	assert_true(hca->up && !hca->dead);
	assert_int_equal(hca->node_guid, UINT64_C(0x0002c90300a0b000));
	assert_int_equal(hca->pd, 4);
	/* Behind the eight that are reserved: that of events, two of verbs with more room, those of receive queues. */
	for (i = 0; i < 32; i++) {
		const struct fake_cmd *cmd = fake_nth(&card, 0x013, i);

		assert_int_equal(cmd->in_modifier, 8 + i);
		assert_int_equal(prm_get32(cmd->box, 0x0c), (i == 0 ? 9u : i < 3 ? 10u : 8u) << 24);
		assert_int_equal(prm_get32(cmd->box, 0x14), i);
	}
	assert_int_equal(fake_nth(&card, 0x012, 0)->in_modifier, 8);
	assert_int_equal(fake_nth(&card, 0x012, 0)->in_param, UINT64_C(0x40000000281f473c));
	/* The first and the verbs' vectors; the others with the first port that wants them. */
	assert_int_equal(card.irqs, 3);
	assert_int_equal(mlx4_verbs_vector(hca, 1), 0);
	assert_int_equal(mlx4_verbs_vector(hca, 2), 1);
	assert_int_equal(mlx4_rx_vectors_connect(hca), 0);
	assert_int_equal(card.irqs, 32);
	assert_int_equal(hca->num_vectors, 32);
	card.irqs = 0;
	assert_int_equal(mlx4_rx_vectors_connect(hca), 0);
	assert_int_equal(card.irqs, 0);
	fake_forget(&card);
	mlx4_hca_close(hca);
	hca = NULL;
	steps_are(down, RTE_DIM(down));
	assert_int_equal(card.cmd[0].in_modifier, 1);
	assert_int_equal(card.cmd[1].in_modifier, 2);
	assert_int_equal(fake_nth(&card, 0x012, 0)->in_modifier, 0x80000008);
	/* Event queues in reverse, that of events last. */
	for (i = 0; i < 32; i++)
		assert_int_equal(fake_nth(&card, 0x014, i)->in_modifier, i == 31 ? 8 : 39 - i);
	assert_int_equal(card.resets, 2);
	assert_int_equal(card.irqs, 0);
}

/* Any command is refused once: what was done is undone in reverse, the card is reset, and no memory stays. */
static void
test_each_refused(void **state)
{
	unsigned int total = 0, i, lines;

	for (i = 0; i < RTE_DIM(up); i++)
		total += up[i].times;
	for (i = 0; i < total; i++) {
		size_t before = rig_heap();
		unsigned int k;
		int rc;

		fake_forget(&card);
		card.resets = 0;
		card.refuse_at = i + 1;
		rig_log_begin();
		rc = mlx4_hca_open(&card.bus, &config, &hca);
		free(rig_log_end(&lines));
		/* Neither the size of pages nor the GUID need be known. */
		if (card.cmd[i].op == 0x034) {
			assert_int_equal(rc, 0);
			mlx4_hca_close(hca);
			hca = NULL;
			continue;
		}
		assert_int_equal(rc, -EINVAL);
		assert_int_equal(card.resets, 2);
		assert_int_equal(card.irqs, 0);
		assert_int_equal(rig_heap(), before);
		/* No command to take back what never was: as many as there were. */
		assert_int_equal(fake_count(&card, 0x014), i < 28 ? 0 : i < 60 ? i - 28 : 32);
		assert_int_equal(fake_count(&card, 0xff9), fake_count(&card, 0xffa));
		assert_int_equal(fake_count(&card, 0xffb), fake_count(&card, 0xffc));
		assert_int_equal(fake_count(&card, 0xffe), i >= 1);
		assert_int_equal(fake_count(&card, 0x008), i >= 27);
		for (k = 0; k < card.num_cmds; k++)
			if (card.cmd[k].op == 0xffe)
				assert_int_equal(k, card.num_cmds - 1);
		hca = NULL;
	}
}

static void
test_not_ours(void **state)
{
	static struct fake_card second;
	struct mlx4_hca *other;

	card.owner = 1;
	rig_log_begin();
	assert_int_equal(mlx4_hca_open(&card.bus, &config, &hca), -EBUSY);
	rig_log_one("fake0", "the card is owned by another driver");
	assert_int_equal(card.num_cmds, 0);
	hca = NULL;
	card.owner = 0;
	assert_int_equal(mlx4_hca_open(&card.bus, &config, &hca), 0);
	/* Two with one GUID; of one that does not tell there may be any number. */
	put_in(&second);
	second.bus.where = "fake1";
	rig_log_begin();
	assert_int_equal(mlx4_hca_open(&second.bus, &config, &other), -EADDRINUSE);
	rig_log_one("fake1: its GUID 0x0002c90300a0b000 is that of fake0", "GUIDs must differ");
	prm_set32(second.answer[3].box, 0x1c, 0x00a0b002);
	fake_forget(&second);
	assert_int_equal(mlx4_hca_open(&second.bus, &config, &other), 0);
	mlx4_hca_close(other);
	mlx4_hca_close(hca);
	memset(card.answer[3].box, 0, sizeof(card.answer[3].box));
	memset(second.answer[3].box, 0, sizeof(second.answer[3].box));
	fake_forget(&card);
	fake_forget(&second);
	assert_int_equal(mlx4_hca_open(&card.bus, &config, &hca), 0);
	assert_int_equal(mlx4_hca_open(&second.bus, &config, &other), 0);
	mlx4_hca_close(other);
	take_out(&second);
}

static void
test_usage(void **state)
{
	struct mlx4_limits used, limits;
	uint64_t commands;
	uint32_t eqs;

	assert_int_equal(mlx4_hca_open(&card.bus, &config, &hca), 0);
	mlx4_hca_usage(hca, &used, &eqs, &commands);
	assert_int_equal(used.qps, 8); /* QP0 and QP1 of both ports, and what lies between */
	assert_int_equal(used.cqs, 0);
	assert_int_equal(used.srqs, 0);
	assert_int_equal(used.keys, 1);
	assert_int_equal(used.mtts, 32);
	assert_int_equal(used.pds, 0);
	assert_int_equal(eqs, 32);
	assert_int_equal(commands, card.num_cmds);
	mlx4_hca_limits(hca, &limits);
	assert_int_equal(limits.qps, 4096);
	assert_int_equal(limits.cqs, 2048);
	assert_int_equal(limits.srqs, 256);
	assert_int_equal(limits.keys, 4096);
	assert_int_equal(limits.mtts, 262144);
	assert_int_equal(limits.pds, 32768);
}

/* Behind its death a card comes back as it was, or stays dead and may be tried again. */
static void
test_revive(void **state)
{
	struct mlx4_limits limits;

	assert_int_equal(mlx4_hca_open(&card.bus, &config, &hca), 0);
	mlx4_hca_mark_dead(hca, "the test says so");
	hca->tunnel.users = 3;
	fake_forget(&card);
	assert_int_equal(mlx4_hca_revive(hca, &config), 0);
	assert_true(hca->up && !hca->dead && !hca->quiet);
	assert_int_equal(hca->tunnel.users, 0);
	/* The dead one got no commands. */
	steps_are(up, RTE_DIM(up));
	mlx4_hca_mark_dead(hca, "the test says so");
	fake_forget(&card);
	fake_forget(&card);
	card.refuse_at = 3;
	assert_int_equal(mlx4_hca_revive(hca, &config), -EINVAL);
	assert_true(!hca->up && hca->dead);
	mlx4_hca_limits(hca, &limits);
	assert_int_equal(limits.qps, 0);
	card.owner = 1;
	assert_int_equal(mlx4_hca_revive(hca, &config), -EBUSY);
	card.owner = 0;
	card.sem = 1;
	card.sem_reads = 3;
	fake_forget(&card);
	assert_int_equal(mlx4_hca_revive(hca, &config), 0);
	assert_true(hca->up && !hca->dead);
}

/* Firmware that shares event queues out says which are ours. */
static void
test_shared_eqs(void **state)
{
	struct fake_answer *a = fake_answer(&card, 0x056, FAKE_ALWAYS);
	unsigned int i;

	prm_set32(card.answer[1].box, 0x24, 64);
	prm_set32(a->box, 0x04, 20u << 16 | 24);
	assert_int_equal(mlx4_hca_open(&card.bus, &config, &hca), 0);
	assert_int_equal(fake_count(&card, 0x013), 5);
	for (i = 0; i < 5; i++)
		assert_int_equal(fake_nth(&card, 0x013, i)->in_modifier, 20 + i);
	mlx4_hca_close(hca);
	hca = NULL;
	prm_set32(a->box, 0x04, 20u << 16 | 19);
	fake_forget(&card);
	rig_log_begin();
	assert_int_equal(mlx4_hca_open(&card.bus, &config, &hca), -ENOSPC);
	rig_log_one("no event queue is left: the first free one is 20", "the limit 20");
	hca = NULL;
	a->status = 2;
	fake_forget(&card);
	assert_int_equal(mlx4_hca_open(&card.bus, &config, &hca), -ENOTSUP);
	hca = NULL;
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_up_and_down), T(test_each_refused), T(test_not_ours),
		T(test_usage),       T(test_revive),       T(test_shared_eqs),
	};

	if (rig_eal("mlx4life", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
