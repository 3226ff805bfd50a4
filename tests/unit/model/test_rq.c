/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive: scatter lists, frames that do not fit, FCS, the VLAN filter, damaged checksums, flush. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_rig.h"
#include "frames.h"

struct fix {
	struct rig r;
	struct rig_q q;
	uint64_t rule;
};

static int
up(void **state)
{
	static const uint8_t mac2[6] = {2, 0, 0, 0, 0, 2};
	struct fix *f = calloc(1, sizeof(*f));

	*state = f;
	if (rig_open(&f->r) != 0)
		return -1;
	rig_qp(&f->r, &f->q, 9, 2, 64, true);
	rig_up(&f->r);
	return rig_rule(&f->r, 2, mac2, 9, &f->rule);
}

static int
down(void **state)
{
	struct fix *f = *state;

	rig_close(&f->r);
	free(f);
	return 0;
}

static const struct mlx4_cqe *
arrive(struct fix *f, const uint8_t *d, uint32_t len)
{
	struct tp_frame_seg seg = {.data = d, .len = len};
	struct tp_frame fr = {.seg = &seg, .nseg = 1, .len = len};

	tp_model_port_receive(f->r.m, 2, &fr, 1);
	return rig_poll(f->q.rcq, 64, &f->q.rci, f->q.rcq_rec);
}

static void
checksum_status(void **state)
{
	struct fix *f = *state;
	uint8_t d[sizeof(frame_udp4)];
	const struct mlx4_cqe *c;

	c = arrive(f, frame_udp4, sizeof(frame_udp4));
	assert_int_equal(rte_be_to_cpu_32(c->byte_cnt), sizeof(frame_udp4));
	assert_int_equal(rte_be_to_cpu_16(c->status), MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK);
	assert_int_equal(c->badfcs_enc, MLX4_CQE_L4_OK);
	assert_int_equal(rte_be_to_cpu_16(c->checksum), MLX4_CQE_CSUM_OK);
	memcpy(d, frame_udp4, sizeof(d));
	d[50] ^= 1;
	c = arrive(f, d, sizeof(d));
	assert_int_equal(rte_be_to_cpu_16(c->status), MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK);
	assert_int_equal(c->badfcs_enc, 0);
	assert_int_equal(c->checksum, 0);
	memcpy(d, frame_udp4, sizeof(d));
	d[22] ^= 1;
	c = arrive(f, d, sizeof(d));
	assert_int_equal(rte_be_to_cpu_16(c->status), MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP);
	/* No checksum at all, which UDP allows: nothing was verified, nothing is wrong. */
	memcpy(d, frame_udp4, sizeof(d));
	tpm_store16(d + 40, 0);
	c = arrive(f, d, sizeof(d));
	assert_int_equal(rte_be_to_cpu_16(c->status), MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK);
	assert_int_equal(c->badfcs_enc, 0);
	assert_int_equal(c->checksum, 0);
}

/* A list of three small buffers; then one that is too short for the frame. */
static void
scatter(void **state)
{
	struct fix *f = *state;
	struct tpm_qp *qp = f->q.qp;
	const struct mlx4_err_cqe *e;
	static const uint32_t part[4] = {10, 30, 1000, 0};

	qp->rq_lg_stride = 6;
	qp->rq_mask = 15;
	*f->q.dbrec = rte_cpu_to_be_32(2);
	for (unsigned int i = 0; i < 4; i++) {
		prm_set32(f->q.rq, 16 * i, part[i]);
		prm_set32(f->q.rq, 16 * i + 4, part[i] != 0 ? RIG_KEY : MLX4_LKEY_INVALID);
		prm_set64(f->q.rq, 16 * i + 8, (uintptr_t)(f->q.bufs + i * RIG_BUF));
	}
	memcpy(f->q.rq + 64, f->q.rq, 64);
	prm_set32(f->q.rq, 64 + 32, 0);
	prm_set32(f->q.rq, 64 + 36, MLX4_LKEY_INVALID);
	assert_non_null(arrive(f, frame_tcp6, sizeof(frame_tcp6)));
	assert_memory_equal(f->q.bufs, frame_tcp6, 10);
	assert_memory_equal(f->q.bufs + RIG_BUF, frame_tcp6 + 10, 30);
	assert_memory_equal(f->q.bufs + 2 * RIG_BUF, frame_tcp6 + 40, sizeof(frame_tcp6) - 40);
	e = (const struct mlx4_err_cqe *)(const void *)arrive(f, frame_tcp6, sizeof(frame_tcp6));
	assert_non_null(e);
	assert_int_equal(e->owner_sr_opcode & 0x7f, MLX4_CQE_ERROR);
	assert_int_equal(e->syndrome, MLX4_SYND_LOCAL_LENGTH);
	assert_int_equal(qp->state, MLX4_QP_RTS);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* The FCS follows the frame, least significant byte first. */
static void
keep_fcs(void **state)
{
	struct tp_frame_seg seg = {.data = frame_tcp6, .len = sizeof(frame_tcp6)};
	struct tp_frame fr = {.seg = &seg, .nseg = 1, .len = sizeof(frame_tcp6)};
	struct fix *f = *state;
	const struct mlx4_cqe *c;
	uint32_t residue;

	f->q.qp->fcs_keep = true;
	c = arrive(f, frame_tcp6, sizeof(frame_tcp6));
	assert_int_equal(rte_be_to_cpu_32(c->byte_cnt), sizeof(frame_tcp6) + 4);
	/* A frame with its own FCS behind it always has this residue. */
	residue = tpm_crc32(0, f->q.bufs, sizeof(frame_tcp6) + 4);
	assert_int_equal(residue, 0x2144df1c);
	/* One that came with a wrong FCS, on a port that lets them in, has one that is wrong. */
	f->r.m->port[1].ignore_fcs = true;
	fr.flags = TP_FRAME_BAD_FCS;
	tp_model_port_receive(f->r.m, 2, &fr, 1);
	c = rig_poll(f->q.rcq, 64, &f->q.rci, f->q.rcq_rec);
	assert_non_null(c);
	assert_int_equal(rte_be_to_cpu_32(c->byte_cnt), sizeof(frame_tcp6) + 4);
	assert_memory_equal(f->q.bufs + RIG_BUF, frame_tcp6, sizeof(frame_tcp6));
	assert_int_not_equal(tpm_crc32(0, f->q.bufs + RIG_BUF, sizeof(frame_tcp6) + 4), 0x2144df1c);
}

static void
vlan_filter(void **state)
{
	struct fix *f = *state;
	struct tpm_port *p = &f->r.m->port[1];
	uint8_t d[64] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0x00, 0x64};

	p->vlan_filter_on = true;
	assert_null(arrive(f, d, sizeof(d)));
	assert_int_equal(p->rx_vlan_filtered, 1);
	p->vlan_bitmap[100 / 32] = 1u << (100 % 32);
	assert_non_null(arrive(f, d, sizeof(d)));
	assert_non_null(arrive(f, frame_tcp6, sizeof(frame_tcp6)));
	assert_int_equal(p->rx_vlan_filtered, 1);
}

static void
not_taken(void **state)
{
	struct fix *f = *state;
	struct tpm_port *p = &f->r.m->port[1];
	uint8_t d[1600] = {2, 0, 0, 0, 0, 3};
	struct tp_frame_seg seg = {.data = d, .len = sizeof(d)};
	struct tp_frame fr = {.seg = &seg, .nseg = 1, .len = sizeof(d)};

	assert_null(arrive(f, d, 60));
	assert_int_equal(p->rx_no_rule, 1);
	assert_null(arrive(f, d, 1519));
	assert_int_equal(p->rx_too_long, 1);
	assert_int_equal(p->c.rx_size[9][MLX4_STATS_NOVLAN], 1);
	memcpy(d + 12, (const uint8_t[]){0x81, 0, 0xa0, 7}, 4);
	assert_null(arrive(f, d, 1519));
	assert_int_equal(p->c.rx_size[9][5], 1);
	fr.flags = TP_FRAME_BAD_FCS;
	tp_model_port_receive(f->r.m, 2, &fr, 1);
	assert_int_equal(p->c.rx_jabber, 1);
	assert_int_equal(p->c.rx_size[9][MLX4_STATS_NOVLAN] + p->c.rx_size[9][5], 2);
	assert_null(arrive(f, d, 13));
	assert_int_equal(p->c.rx_short, 1);
	tp_model_cable(f->r.m, 2, false);
	assert_null(arrive(f, frame_tcp6, sizeof(frame_tcp6)));
	assert_int_equal(p->rx_link_down, 1);
}

static void
flush(void **state)
{
	struct fix *f = *state;

	tpm_qp_to_error(f->r.m, f->q.qp);
	for (unsigned int i = 0; i < 64; i++) {
		const struct mlx4_err_cqe *e =
			(const struct mlx4_err_cqe *)(const void *)rig_poll(f->q.rcq, 64, &f->q.rci, f->q.rcq_rec);

		assert_non_null(e);
		assert_int_equal(e->syndrome, MLX4_SYND_WR_FLUSH);
		assert_int_equal(rte_be_to_cpu_16(e->wqe_index), i);
	}
	assert_null(rig_poll(f->q.rcq, 64, &f->q.rci, f->q.rcq_rec));
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* 427 cycles a microsecond: after 20 s 0x1_fd06_0f00, after 65536 us just wrapped, with the high part of before. */
static void
timestamps(void **state)
{
	struct fix *f = *state;
	uint8_t d[sizeof(frame_udp4)];
	const struct mlx4_cqe *c;

	memcpy(d, frame_udp4, sizeof(d));
	f->q.qp->rcq->stamp = true;
	tp_model_set_time(f->r.m, UINT64_C(65536000));
	c = arrive(f, d, sizeof(d));
	assert_non_null(c);
	assert_memory_equal((const uint8_t *)c + 0x0c, "\0\0\x01\xaa", 4);
	assert_memory_equal((const uint8_t *)c + 0x1c, "\0\0\0", 3);
	tp_model_set_time(f->r.m, UINT64_C(20000000000));
	c = arrive(f, d, sizeof(d));
	assert_non_null(c);
	assert_memory_equal((const uint8_t *)c + 0x0c, "\0\x01\xfd\x06", 4);
	assert_memory_equal((const uint8_t *)c + 0x1c, "\0\x0f\0", 3);
	assert_int_equal(rte_be_to_cpu_32(c->byte_cnt), sizeof(d));
}

#define ROUNDS 400u
#define BURST 32u
#define LONGEST 1514u

/* UDP or TCP over IPv4 or IPv6 with right checksums, of a few lengths, with some octets behind the packet. */
static uint32_t
make_frame(uint8_t *d)
{
	static const uint16_t sizes[] = {9, 10, 60, 64, 200, 333, 1400};
	const bool v6 = rand() % 3 == 0, udp = rand() % 2 == 0;
	const uint32_t l4 = v6 ? 54 : 34, data = sizes[(unsigned int)rand() % 7], more = udp ? 8 : 20;
	const uint32_t end = l4 + more + data, len = rand() % 4 == 0 ? end + (uint32_t)rand() % 60 : end;
	struct tp_frame_seg seg = {.data = d, .len = len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = len};

	for (uint32_t i = 0; i < len; i++)
		d[i] = (uint8_t)rand();
	memcpy(d, v6 ? frame_tcp6 : frame_udp4, v6 ? 20 : 18);
	tpm_store16(d + (v6 ? 18 : 16), (uint16_t)(end - (v6 ? 54 : 14)));
	if (!v6) {
		d[20] &= 0xc0;
		d[21] = 0;
	}
	d[v6 ? 20 : 23] = udp ? TPM_PROTO_UDP : TPM_PROTO_TCP;
	if (udp)
		tpm_store16(d + l4 + 4, (uint16_t)(8 + data));
	assert_true(tpm_csum_insert(&f, d, len, MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM));
	return len;
}

/* Is the checksum of TCP or UDP there, and right? For frames that were made by make_frame() and changed behind their headers. */
static bool
l4_right(const uint8_t *d)
{
	const bool v6 = d[12] == 0x86;
	const uint32_t l4 = v6 ? 54 : 34, from = v6 ? 22 : 26, proto = d[v6 ? 20 : 23];
	const uint32_t len = tpm_load16(d + (v6 ? 18 : 16)) - (v6 ? 0 : 20);

	if (proto == TPM_PROTO_UDP && tpm_load16(d + l4 + 6) == 0)
		return false;
	return plain_sum(proto + len, d + from, l4 - from + len) == 0xffff;
}

/* Changes a bit of the headers; both sums of UDP over IPv4 are made right again, so that they do not tell. */
static void
spoil(uint8_t *d, uint32_t len)
{
	uint32_t total;

	d[12 + rand() % 48] ^= (uint8_t)(1 << rand() % 8);
	total = tpm_load16(d + 16);
	if (tpm_load16(d + 12) != TPM_ETYPE_IPV4 || d[14] != 0x45 || rand() % 4 == 0)
		return;
	tpm_store16(d + 24, 0);
	tpm_store16(d + 24, (uint16_t)~plain_sum(0, d + 14, 20));
	if (d[23] != TPM_PROTO_UDP || total < 28 || total + 14 > len)
		return;
	tpm_store16(d + 40, 0);
	tpm_store16(d + 40, (uint16_t)~plain_sum(TPM_PROTO_UDP + total - 20, d + 26, total - 12));
}

/* What is compared of an entry: status, length, checksum. */
struct told {
	uint8_t what[8], csum[2];
};

static bool
take(struct fix *f, const uint8_t *d, struct told *t)
{
	const struct mlx4_cqe *c = rig_poll(f->q.rcq, 64, &f->q.rci, f->q.rcq_rec);
	const uint8_t *e = (const uint8_t *)c;

	if (c == NULL)
		return false;
	memcpy(t->what, e + 0x10, sizeof(t->what));
	memcpy(t->csum, &c->checksum, sizeof(t->csum));
	assert_int_equal(rte_be_to_cpu_32(c->vlan_my_qpn) & MLX4_QPN_MASK, 9);
	/* But for the tag, which is taken off. */
	assert_memory_equal(f->q.bufs + (size_t)(rte_be_to_cpu_16(c->wqe_index) % 64) * RIG_BUF, d, 12);
	if ((rte_be_to_cpu_32(c->vlan_my_qpn) & MLX4_CQE_CVLAN) == 0)
		assert_memory_equal(f->q.bufs + (size_t)(rte_be_to_cpu_16(c->wqe_index) % 64) * RIG_BUF, d,
				    rte_be_to_cpu_32(c->byte_cnt));
	*f->q.dbrec = rte_cpu_to_be_32((rte_be_to_cpu_32(*f->q.dbrec) + 1) & 0xffff);
	return true;
}

/*
 * Bursts of frames of a few kinds, some with a changed octet. What a frame says of itself is the same when it comes alone in two
 * pieces, which the parser looks at; what is said of TCP and UDP is what the sum by 16-bit words says.
 */
static void
alike(void **state)
{
	static uint8_t d[BURST][LONGEST + 60];
	struct fix *f = *state;
	struct tp_frame_seg seg[BURST], two[2];
	struct tp_frame fr[BURST], cut = {.seg = two, .nseg = 2};
	struct told fast[BURST], slow;
	bool came[BURST], whole[BURST];
	unsigned int right = 0, wrong = 0;
	uint32_t at;

	f->r.m->port[1].max_frame = LONGEST + 64;
	srand(11);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		f->r.m->port[1].rx_csum_mode = (uint8_t)(round % 2);
		for (unsigned int i = 0; i < BURST; i++) {
			seg[i] = (struct tp_frame_seg){.data = d[i], .len = make_frame(d[i])};
			fr[i] = (struct tp_frame){.seg = &seg[i], .nseg = 1, .len = seg[i].len};
			whole[i] = rand() % 3 != 0;
			at = (uint32_t)rand() % seg[i].len;
			if (!whole[i])
				spoil(d[i], seg[i].len);
			else if (rand() % 2 == 0 && at >= (d[i][12] == 0x86 ? 62u : 42u))
				d[i][at] ^= (uint8_t)(1 << rand() % 8);
		}
		assert_int_equal(tp_model_port_receive(f->r.m, 2, fr, BURST), BURST);
		for (unsigned int i = 0; i < BURST; i++)
			came[i] = take(f, d[i], &fast[i]);
		for (unsigned int i = 0; i < BURST; i++) {
			at = 14 + (uint32_t)rand() % 40;
			two[0] = (struct tp_frame_seg){.data = d[i], .len = at};
			two[1] = (struct tp_frame_seg){.data = d[i] + at, .len = seg[i].len - at};
			cut.len = seg[i].len;
			assert_int_equal(tp_model_port_receive(f->r.m, 2, &cut, 1), 1);
			assert_int_equal(take(f, d[i], &slow), came[i]);
			assert_memory_equal(&slow, &fast[i], sizeof(slow));
			if (!whole[i])
				continue;
			assert_int_equal((fast[i].what[3] & MLX4_CQE_L4_OK) != 0, l4_right(d[i]));
			*(l4_right(d[i]) ? &right : &wrong) += 1;
		}
	}
	assert_true(right > 1000 && wrong > 1000);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
	const struct CMUnitTest tests[] = {T(checksum_status), T(scatter), T(keep_fcs),   T(vlan_filter),
					   T(not_taken),       T(flush),   T(timestamps), T(alike)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
