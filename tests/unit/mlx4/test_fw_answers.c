/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the firmware is given, and what it says of itself, in bytes [CP 3.2..3.5]. */
#include <errno.h>

#include "fake_one.h"

#define QUERY_DEV_CAP 0x003
#define QUERY_FW 0x004
#define QUERY_ADAPTER 0x006
#define MOD_STAT_CFG 0x034
#define QUERY_PORT 0x043
#define RUN_FW 0xff6
#define MAP_ICM 0xffa
#define MAP_ICM_AUX 0xffc
#define UNMAP_FA 0xffe
#define MAP_FA 0xfff

/* Pieces are powers of two, aligned at both ends; 256 at most go with a command. */
static void
test_map(void **state)
{
	struct mlx4_dma d = {.iova = 0x10000, .len = 0x10000};
	const struct fake_cmd *cmd;

	assert_int_equal(mlx4_fw_map(hca, MLX4_CMD_MAP_FA, 0, &d), 0);
	assert_int_equal(fake_last(&card, MAP_FA)->in_modifier, 1);
	FAKE_BOX(fake_last(&card, MAP_FA), {12, 0x10004});
	d = (struct mlx4_dma){.iova = UINT64_C(0x500003000), .len = 0x5000};
	assert_int_equal(mlx4_fw_map(hca, MLX4_CMD_MAP_FA, 0, &d), 0);
	assert_int_equal(fake_last(&card, MAP_FA)->in_modifier, 2);
	FAKE_BOX(fake_last(&card, MAP_FA), {8, 5}, {12, 0x3000}, {24, 5}, {28, 0x4002});
	d = (struct mlx4_dma){.iova = 0, .len = 0x3000};
	assert_int_equal(mlx4_fw_map(hca, MLX4_CMD_MAP_ICM_AUX, 0, &d), 0);
	FAKE_BOX(fake_last(&card, MAP_ICM_AUX), {12, 0x0001}, {28, 0x2000});
	d = (struct mlx4_dma){.iova = 0x10000, .len = 0x4000};
	assert_int_equal(mlx4_fw_map(hca, MLX4_CMD_MAP_ICM, UINT64_C(0x700002000), &d), 0);
	FAKE_BOX(fake_last(&card, MAP_ICM), {0, 7}, {4, 0x2000}, {12, 0x10001}, {16, 7}, {20, 0x4000}, {28, 0x12001});
	/* Places that differ by a page leave single pages. */
	fake_forget(&card);
	d = (struct mlx4_dma){.iova = 0x2000, .len = 300 * 4096};
	assert_int_equal(mlx4_fw_map(hca, MLX4_CMD_MAP_ICM, 0x1000, &d), 0);
	assert_int_equal(card.num_cmds, 2);
	assert_int_equal(card.cmd[0].in_modifier, 256);
	assert_int_equal(prm_get32(card.cmd[0].box, 255 * 16 + 4), 0x1000 + 255 * 4096);
	assert_int_equal(prm_get32(card.cmd[0].box, 255 * 16 + 12), 0x2000 + 255 * 4096);
	cmd = &card.cmd[1];
	assert_int_equal(cmd->in_modifier, 44);
	assert_int_equal(prm_get32(cmd->box, 4), 0x1000 + 256 * 4096);
	assert_int_equal(prm_get32(cmd->box, 12), 0x2000 + 256 * 4096);
	assert_int_equal(prm_get32(cmd->box, 43 * 16 + 12), 0x2000 + 299 * 4096);
	fake_bytes_are(cmd->box + 44 * 16, 4096 - 44 * 16, NULL, 0);
	fake_forget(&card);
	d.len = 256 * 4096;
	assert_int_equal(mlx4_fw_map(hca, MLX4_CMD_MAP_ICM, 0x1000, &d), 0);
	assert_int_equal(card.num_cmds, 1);
	/* What is refused is not gone on with. */
	fake_forget(&card);
	fake_refuse(&card, MAP_ICM, 1, 0x0c);
	d.len = 300 * 4096;
	assert_int_equal(mlx4_fw_map(hca, MLX4_CMD_MAP_ICM, 0x1000, &d), -EIO);
	assert_int_equal(card.num_cmds, 1);
}

/* QUERY_FW: firmware 2.42.5000, revision 3, 2^5 commands; the error buffer at 0x1f020, 16 dwords, the clock at 0x12340. */
static struct fake_answer *
query_fw(uint16_t pages, uint16_t rev)
{
	struct fake_answer *a = fake_answer(&card, QUERY_FW, 1);

	prm_set32(a->box, 0x00, (uint32_t)pages << 16 | 2);
	prm_set32(a->box, 0x04, 5000u << 16 | 42);
	prm_set32(a->box, 0x08, rev);
	prm_set32(a->box, 0x0c, 5);
	prm_set32(a->box, 0x34, 0x1f020);
	prm_set32(a->box, 0x38, 16);
	prm_set32(a->box, 0x54, 0x12340);
	return a;
}

/* 1030 pages in pieces of 2 MiB: each byte once. */
static void
test_start(void **state)
{
	uint64_t pages = 0;
	unsigned int i, k;

	query_fw(1030, 3);
	assert_int_equal(mlx4_fw_start(hca, true), 0);
	assert_int_equal(hca->caps.fw_major, 2);
	assert_int_equal(hca->caps.fw_minor, 42);
	assert_int_equal(hca->caps.fw_subminor, 5000);
	assert_int_equal(hca->caps.fw_pages, 1030);
	assert_int_equal(hca->caps.cmd_if_rev, 3);
	assert_int_equal(hca->caps.max_cmds, 32);
	assert_int_equal(hca->caps.catas_off, 0x1f020);
	assert_int_equal(hca->caps.catas_dwords, 16);
	assert_int_equal(hca->caps.clock_off, 0x12340);
	assert_int_equal(hca->num_fw_area, 3);
	assert_int_equal(hca->fw_area[0].len, 2 << 20);
	assert_int_equal(hca->fw_area[1].len, 2 << 20);
	assert_int_equal(hca->fw_area[2].len, 6 * 4096);
	assert_int_equal(fake_count(&card, MAP_FA), 3);
	for (i = 0; i < 3; i++) {
		const struct fake_cmd *cmd = fake_nth(&card, MAP_FA, i);
		uint64_t at = hca->fw_area[i].iova;

		for (k = 0; k < cmd->in_modifier; k++) {
			uint64_t pa = prm_get64(cmd->box, k * 16 + 8);

			assert_int_equal(pa & ~UINT64_C(0xfff), at);
			at += UINT64_C(4096) << (pa & 0x3f);
			pages += UINT64_C(1) << (pa & 0x3f);
		}
	}
	assert_int_equal(pages, 1030);
	/* A whole piece lies so that one entry says it. */
	assert_int_equal(fake_nth(&card, MAP_FA, 0)->in_modifier, 1);
	fake_last(&card, RUN_FW);
	mlx4_fw_stop(hca);
	fake_last(&card, UNMAP_FA);
	assert_int_equal(card.resets, 0);
	assert_int_equal(hca->num_fw_area, 0);
}

/* A step that fails: the memory comes back, by a reset where the firmware does not give it. */
static void
test_start_fails(void **state)
{
	const struct {
		uint16_t op;
		unsigned int nth, unmaps;
	} row[] = {{QUERY_FW, 0, 0}, {MAP_FA, 0, 1}, {MAP_FA, 1, 1}, {RUN_FW, 0, 1}};
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(row); i++) {
		fake_forget(&card);
		card.num_answers = 0;
		if (row[i].op != QUERY_FW)
			query_fw(1030, 3);
		for (k = 0; k < row[i].nth; k++)
			fake_answer(&card, row[i].op, 1);
		fake_refuse(&card, row[i].op, 1, 0x06);
		assert_int_equal(mlx4_fw_start(hca, true), -EBUSY);
		assert_int_equal(fake_count(&card, UNMAP_FA), row[i].unmaps);
		assert_int_equal(card.resets, 0);
		assert_null(hca->fw_area);
	}
	query_fw(1, 3);
	assert_int_equal(mlx4_fw_start(hca, true), 0);
	fake_refuse(&card, UNMAP_FA, 1, 1);
	mlx4_fw_stop(hca);
	assert_int_equal(card.resets, 1);
	assert_true(hca->dead);
	/* Once is enough. */
	mlx4_hca_stop_dma(hca);
	assert_int_equal(card.resets, 1);
}

static void
test_interface_revision(void **state)
{
	const uint16_t rev[] = {0, 2, 4};
	char word[64];
	unsigned int i;

	for (i = 0; i < RTE_DIM(rev); i++) {
		query_fw(1, rev[i]);
		snprintf(word, sizeof(word), "has command interface revision %u, wanted 3", rev[i]);
		rig_log_begin();
		assert_int_equal(mlx4_fw_start(hca, false), -ENOTSUP);
		rig_log_one("firmware 2.42.5000", word);
	}
}

/* Registers in another BAR, or at no place of this one, are none. */
static void
test_error_buffer(void **state)
{
	const struct {
		uint64_t off;
		uint32_t bar, clock_bar;
		uint64_t want, want_clock;
	} row[] = {
		{0xffffc, 0, 0, 0xffffc, 0x12340},  {0x100000, 0, 0, 0, 0x12340},
		{0x1f021, 0, 0, 0, 0x12340},        {0x1f022, 0, 0, 0, 0x12340},
		{0x1f020, 1u << 30, 0, 0, 0x12340}, {0x1f020, 1u << 31, 1u << 31, 0, 0},
		{0x1f020, 0, 1u << 30, 0x1f020, 0}, {UINT64_C(0x10001f020), 0, 0, 0, 0x12340},
	};
	struct fake_answer *a;
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		memset(&hca->caps, 0, sizeof(hca->caps));
		card.num_answers = 0;
		a = query_fw(0, 3);
		prm_set64(a->box, 0x30, row[i].off);
		prm_set32(a->box, 0x3c, row[i].bar);
		prm_set32(a->box, 0x58, row[i].clock_bar);
		prm_set32(a->box, 0x0c, 20);
		assert_int_equal(mlx4_fw_start(hca, true), 0);
		assert_int_equal(hca->caps.catas_off, row[i].want);
		assert_int_equal(hca->caps.clock_off, row[i].want_clock);
		assert_int_equal(hca->caps.max_cmds, 1 << 16);
		mlx4_fw_stop(hca);
	}
}

/* An answer to QUERY_DEV_CAP with other numbers in each field. */
static void
dev_cap(uint8_t *b)
{
	static const struct fake_dword d[] = {
		{0x10, 0x0d0ef617}, /* lg SRQ WQEs 13, lg QP WQEs 14, lg reserved QPs 6, lg QPs 23 */
		{0x14, 0x50150000}, /* lg reserved SRQs 5 */
		{0x18, 0x0316f716}, /* reserved EQs 3, lg CQEs 22, lg reserved CQs 7, lg CQs 22 */
		{0x1c, 0x1413f209}, /* lg MPTs 19, lg reserved EQs 2, lg EQs 9 */
		{0x20, 0x40000800}, /* lg reserved MTTs 4, lg reserved MPTs 8 */
		{0x28, 0x00070006}, /* lg RDMA requester 7, responder 6 */
		{0x2c, 0x00113700}, /* lg LSO 17, XOR, Toeplitz, lg RSS 7 */
		{0x34, 0x806f0002}, /* beacon, ack delay 15, ports 2 */
		{0x38, 0x1e000000}, /* lg message 30 */
		{0x3c, 0x1c678000}, /* static rates, CQ time stamps */
		{0x40, 0x08010100}, /* flags 59, 48, 40 */
		{0x44, 0x40010000}, /* flags 30, 16 */
		{0x48, 0x20020000}, /* reserved UARs 2, 4 MiB of them */
		{0x4c, 0x80090300}, /* BlueFlame of 512 bytes, 8 a page */
		{0x50, 0x003e03f0}, /* 62 S/G in 1008 bytes */
		{0x54, 0x00200200}, /* 32 in 512 */
		{0x64, 0x40000000}, /* reserved PDs 4 */
		{0x68, 0x000000ff}, /* counters */
		{0x70, 0x10090000}, /* PFC counters, source check, UPDATE_QP */
		{0x74, 0x000080f8}, /* DMFS, 248 QPs an entry */
		{0x80, 0x00200100}, /* RDMARC 32, QPC 256 */
		{0x84, 0x00010040}, /* AUXC 1, ALTC 64 */
		{0x88, 0x00800400}, /* EQC 128, CQC 1024 */
		{0x8c, 0x02000040}, /* SRQC 512, cMPT 64 */
		{0x90, 0x00080020}, /* MTT 8, dMPT 32 */
		{0x94, 0x24080a42}, /* CONFIG_DEV, ignore FCS, RoCE v1 and v2, fast register, type 2, local invalidate, 2B */
		{0x9c, 0x00022880}, /* counters of a port, ETS, VXLAN, recoverable errors */
		{0xa0, 0x00123456}, {0xa4, 0x789ab000}, {0xcc, 0x00ab0000}, /* rates of queue pairs */
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(d); i++)
		prm_set32(b, d[i].off, d[i].value);
}

/* The one that there is, to be changed. */
static struct fake_answer *
only_dev_cap(void)
{
	card.num_answers = 0;
	dev_cap(fake_answer(&card, QUERY_DEV_CAP, 1)->box);
	return &card.answer[0];
}

static void
test_caps(void **state)
{
	struct mlx4_caps *c = &hca->caps;

	memset(c, 0, sizeof(*c));
	only_dev_cap();
	fake_refuse(&card, MOD_STAT_CFG, 1, 2);
	assert_int_equal(mlx4_fw_query_caps(hca), 0);
	/* Pages of 4 KiB first; a refusal does not matter. */
	assert_int_equal(card.cmd[0].op, MOD_STAT_CFG);
	assert_int_equal(card.cmd[0].op_modifier, 0);
	assert_int_equal(card.cmd[0].in_modifier, 0);
	FAKE_BOX(&card.cmd[0], {0, 0x00000100});
	assert_int_equal(card.num_cmds, 2);
#define IS(field, value) assert_int_equal(c->field, value)
	IS(max_srq_wqes, 1 << 13);
	IS(max_qp_wqes, 1 << 14);
	IS(rsvd_qps, 1 << 6);
	IS(max_qps, 1 << 23);
	IS(rsvd_srqs, 1 << 5);
	IS(rsvd_eqs, 8); /* the largest of 3, 1 << 2 and four for each of two UARs */
	IS(max_cqes, 1 << 22);
	IS(rsvd_cqs, 1 << 7);
	IS(max_cqs, 1 << 22);
	IS(max_mpts, 1 << 19);
	IS(max_eqs, 1 << 9);
	IS(rsvd_mtts, 1 << 4);
	IS(rsvd_mpts, 1 << 8);
	IS(sys_eqs, 0);
	IS(max_rdma_req, 1 << 7);
	IS(max_rdma_rsp, 1 << 6);
	IS(max_gso, 1 << 17);
	IS(max_rss, 1 << 7);
	IS(ack_delay, 15);
	IS(num_ports, 2);
	IS(lg_max_msg, 30);
	IS(static_rates, 0x1c67);
	IS(flags, UINT64_C(0x0801010040010000));
	IS(rsvd_uars, 2);
	IS(num_uars, 1024);
	IS(bf_reg_size, 512);
	IS(bf_regs_page, 8);
	IS(max_sq_sge, 62);
	IS(max_sq_desc, 1008);
	IS(max_rq_sge, 32);
	IS(max_rq_desc, 512);
	IS(rsvd_pds, 4);
	IS(max_counters, 255);
	IS(dmfs_max_qps, 248);
	IS(sz_rdmarc, 32);
	IS(sz_qpc, 256);
	IS(sz_auxc, 1);
	IS(sz_altc, 64);
	IS(sz_eqc, 128);
	IS(sz_cqc, 1024);
	IS(sz_srqc, 512);
	IS(sz_cmpt, 64);
	IS(sz_mtt, 8);
	IS(sz_dmpt, 32);
	IS(max_icm, UINT64_C(0x123456789ab000));
	IS(num_qp_rates, 0xab);
	assert_true(c->rss_toeplitz && c->rss_xor && c->udp_rss && c->dmfs && c->bf && c->vxlan && c->pfc_counters);
	assert_true(c->cq_timestamp && c->ets && c->config_dev && c->ignore_fcs && c->update_qp && c->lb_src_check);
	assert_true(c->recover_event && c->port_mng_event && c->roce && c->roce_v2 && c->mw && c->mw2 && c->mw2b);
	assert_true(c->local_inv && c->fast_reg && c->diag_port && c->beacon);
#undef IS
}

/* What hangs on something else is not there without it; a bit next to the right one says nothing. */
static void
test_caps_that_hang_on_others(void **state)
{
	const struct {
		uint16_t off;
		uint32_t value;
		size_t cap;
	} row[] = {
#define CAP(f) offsetof(struct mlx4_caps, f)
		{0x94, 0x04080a42, CAP(vxlan)},       {0x94, 0x04080a42, CAP(roce_v2)}, /* no CONFIG_DEV */
		{0x9c, 0x00022080, CAP(vxlan)},       {0x44, 0x80010000, CAP(roce)},
		{0x44, 0x80010000, CAP(roce_v2)},     {0x94, 0x24000a42, CAP(roce_v2)},
		{0x44, 0x40020000, CAP(mw)},          {0x44, 0x40020000, CAP(mw2)},
		{0x44, 0x40020000, CAP(mw2b)},        {0x94, 0x24080842, CAP(mw2)},
		{0x94, 0x24080842, CAP(mw2b)},        {0x94, 0x24080a40, CAP(mw2b)},
		{0x40, 0x08010200, CAP(udp_rss)},     {0x40, 0x04010100, CAP(port_mng_event)},
		{0x2c, 0x00002700, CAP(max_gso)},     {0x2c, 0x00112700, CAP(rss_toeplitz)},
		{0x2c, 0x00111700, CAP(rss_xor)},     {0x2c, 0x00113000, CAP(max_rss)},
		{0x4c, 0x00030300, CAP(bf_reg_size)}, {0x4c, 0x00030300, CAP(bf_regs_page)},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		struct fake_answer *a = only_dev_cap();

		print_message("row %u\n", i);
		prm_set32(a->box, row[i].off, row[i].value);
		memset(&hca->caps, 0xff, sizeof(hca->caps));
		assert_int_equal(mlx4_fw_query_caps(hca), 0);
		assert_int_equal(((const uint8_t *)&hca->caps)[row[i].cap], 0);
	}
}

/* Two ways to say how many event queues are reserved, and the UAR pages that are: the largest holds. */
static void
test_reserved_eqs(void **state)
{
	const struct {
		uint32_t d18, d1c, d48, want;
	} row[] = {
		{0x0916f716, 0x1413f209, 0x20020000, 9},
		{0x0316f716, 0x1413f409, 0x20020000, 16},
		{0x0316f716, 0x1413f209, 0x50020000, 20},
		{0x0316f716, 0x1413f209, 0x00020000, 4},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		struct fake_answer *a = only_dev_cap();

		prm_set32(a->box, 0x18, row[i].d18);
		prm_set32(a->box, 0x1c, row[i].d1c);
		prm_set32(a->box, 0x48, row[i].d48);
		prm_set32(a->box, 0x24, 0x00000123);
		assert_int_equal(mlx4_fw_query_caps(hca), 0);
		assert_int_equal(hca->caps.rsvd_eqs, row[i].want);
		assert_int_equal(hca->caps.sys_eqs, 0x123);
	}
}

/* Answers that no driver can work with. */
static void
test_caps_refused(void **state)
{
	const struct {
		uint16_t off;
		uint32_t value;
		int rc;
		const char *word;
	} row[] = {
		{0x80, 0x00200000, -EIO, "a QP context has 0 bytes"},
		{0x80, 0x00200180, -EIO, "a QP context has 384 bytes, wanted a power of two"},
		{0x84, 0x00010060, -EIO, "alternate path context has 96"},
		{0x84, 0x00030040, -EIO, "auxiliary context has 3"},
		{0x8c, 0x02010040, -EIO, "SRQ context has 513"},
		{0x88, 0x00800000, -EIO, "a CQ context has 0"},
		{0x88, 0x00a00400, -EIO, "EQ context has 160"},
		{0x8c, 0x02000000, -EIO, "protection context has 0"},
		{0x90, 0x00000020, -EIO, "MTT context has 0"},
		{0x90, 0x00080018, -EIO, "MPT context has 24"},
		{0x34, 0x806f0000, -EIO, "0 ports, wanted 1..2"},
		{0x34, 0x806f0003, -EIO, "3 ports, wanted 1..2"},
		{0x74, 0x000000f8, -ENOTSUP, "no device-managed flow steering"},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		struct fake_answer *a = only_dev_cap();

		prm_set32(a->box, row[i].off, row[i].value);
		rig_log_begin();
		assert_int_equal(mlx4_fw_query_caps(hca), row[i].rc);
		rig_log_one("fake0: the firmware", row[i].word);
	}
	prm_set32(only_dev_cap()->box, 0x34, 0x806f0001);
	assert_int_equal(mlx4_fw_query_caps(hca), 0);
	fake_refuse(&card, QUERY_DEV_CAP, 1, 1);
	assert_int_equal(mlx4_fw_query_caps(hca), -EIO);
}

/* An answer of zeros is asked for again, twice. */
static void
test_empty_answers(void **state)
{
	fake_answer(&card, QUERY_DEV_CAP, 2);
	dev_cap(fake_answer(&card, QUERY_DEV_CAP, 1)->box);
	assert_int_equal(mlx4_fw_query_caps(hca), 0);
	assert_int_equal(fake_count(&card, QUERY_DEV_CAP), 3);
	rig_log_begin();
	assert_int_equal(mlx4_fw_query_caps(hca), -EIO);
	rig_log_one("QUERY_DEV_CAP answers with an empty mailbox", "3 times");
	assert_int_equal(fake_count(&card, QUERY_DEV_CAP), 6);
	/* Any byte will do. */
	fake_answer(&card, QUERY_PORT, 1)->box[0xff] = 1;
	assert_int_equal(mlx4_fw_check_port(hca, 2), 0);
	assert_int_equal(fake_last(&card, QUERY_PORT)->in_modifier, 2);
	fake_answer(&card, QUERY_PORT, 1)->box[0] = 1;
	assert_int_equal(mlx4_fw_check_port(hca, 1), 0);
	fake_refuse(&card, QUERY_PORT, 1, 0x0a);
	assert_int_equal(mlx4_fw_check_port(hca, 1), -EBADF);
	assert_int_equal(fake_count(&card, QUERY_PORT), 3);
}

static void
test_guid(void **state)
{
	struct fake_answer *a = fake_answer(&card, MOD_STAT_CFG, 1);

	prm_set32(a->box, 0x14, 0x0002c903);
	prm_set32(a->box, 0x1c, 0x00a0b001);
	assert_int_equal(mlx4_fw_query_guid(hca), 0);
	assert_int_equal(fake_last(&card, MOD_STAT_CFG)->op_modifier, 2);
	assert_int_equal(fake_last(&card, MOD_STAT_CFG)->in_modifier, 0x100);
	/* That of port 1 is one more than the card's. */
	assert_int_equal(hca->node_guid, UINT64_C(0x0002c90300a0b000));
	assert_int_equal(mlx4_fw_query_guid(hca), 0);
	assert_int_equal(hca->node_guid, 0);
	hca->node_guid = 5;
	fake_refuse(&card, MOD_STAT_CFG, 1, 2);
	assert_int_equal(mlx4_fw_query_guid(hca), 0);
	hca->dead = true;
	assert_int_equal(mlx4_fw_query_guid(hca), -EIO);
}

static void
test_board(void **state)
{
	memcpy(fake_answer(&card, QUERY_ADAPTER, 1)->box + 0xf0, "1_TM10901002\0\0\09", 16);
	assert_int_equal(mlx4_fw_query_board(hca), 0);
	assert_string_equal(hca->caps.board_id, "MT_1090120019");
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_up, fake_down)
	const struct CMUnitTest tests[] = {
		T(test_map),
		T(test_start),
		T(test_start_fails),
		T(test_interface_revision),
		T(test_error_buffer),
		T(test_caps),
		T(test_caps_that_hang_on_others),
		T(test_reserved_eqs),
		T(test_caps_refused),
		T(test_empty_answers),
		T(test_guid),
		T(test_board),
	};

	if (rig_eal("mlx4fwa", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
