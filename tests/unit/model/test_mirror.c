/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Rules that copy what a port receives or sends to a queue [CP 6.3, types 4 and 5]. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"

#define LEN 90u

static uint8_t
mirror(struct fix *f, unsigned int port, uint8_t type, uint32_t qpn, uint64_t *id)
{
	uint8_t box[MLX4_DMFS_CTRL_SIZE] = {0};

	prm_set(box, MLX4_DMFS_TYPE, type);
	prm_set(box, MLX4_DMFS_PORT, port);
	prm_set(box, MLX4_DMFS_QPN, qpn);
	return tpm_steer_attach(f->r.m, box, sizeof(box) / 4, id);
}

/* Frames from port 1 to port 2, told apart by their last byte; the destination is mac2 but for the byte. */
static void
send_n(struct fix *f, unsigned int n, uint8_t to)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint8_t *d = f->tx.bufs + (size_t)i * RIG_BUF;

		memset(d, 0x5a, LEN);
		memcpy(d, mac2, sizeof(mac2));
		d[5] = to;
		d[LEN - 1] = (uint8_t)i;
		rig_data(&f->tx, 1, d, LEN);
		rig_post(&f->tx, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC);
	}
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 64);
}

/* The next n frames of a queue are those that were sent, whole and in order, and there are no more. */
static void
expect(struct fix *f, struct rig_q *q, unsigned int n)
{
	const struct mlx4_cqe *c;
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint32_t at = q->rci & (q->n - 1);

		c = rig_poll(q->rcq, q->n, &q->rci, q->rcq_rec);
		assert_non_null(c);
		assert_int_equal(rte_be_to_cpu_32(c->byte_cnt), LEN);
		assert_memory_equal(q->bufs + (size_t)at * RIG_BUF, f->tx.bufs + (size_t)i * RIG_BUF, LEN);
	}
	assert_null(rig_poll(q->rcq, q->n, &q->rci, q->rcq_rec));
}

static void
both_ways(void **state)
{
	struct fix *f = *state;
	uint64_t sx, rx, wrong_way;
	struct rig_q out, in, none;

	rig_qp(&f->r, &out, 10, 1, 64, true);
	rig_qp(&f->r, &in, 11, 2, 64, true);
	rig_qp(&f->r, &none, 12, 1, 64, true);
	assert_int_equal(mirror(f, 1, MLX4_DMFS_MIRROR_SX, 10, &sx), 0);
	assert_int_equal(mirror(f, 2, MLX4_DMFS_MIRROR_RX, 11, &rx), 0);
	assert_int_equal(mirror(f, 1, MLX4_DMFS_MIRROR_RX, 12, &wrong_way), 0);
	send_n(f, 8, mac2[5]);
	expect(f, &f->rx, 8);
	expect(f, &out, 8);
	expect(f, &in, 8);
	/* Also what nobody else takes. */
	send_n(f, 2, 0x77);
	expect(f, &f->rx, 0);
	expect(f, &out, 2);
	expect(f, &in, 2);
	expect(f, &none, 0);
	assert_int_equal(tpm_steer_detach(f->r.m, sx), 0);
	send_n(f, 3, mac2[5]);
	expect(f, &f->rx, 3);
	expect(f, &out, 0);
	expect(f, &in, 3);
	assert_int_equal(tpm_steer_detach(f->r.m, rx), 0);
	assert_int_equal(tpm_steer_detach(f->r.m, wrong_way), 0);
	send_n(f, 3, mac2[5]);
	expect(f, &f->rx, 3);
	expect(f, &in, 0);
	assert_false(f->r.m->port[0].mirrored);
	assert_false(f->r.m->port[1].mirrored);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* Who watches too slowly misses frames; nobody else does. */
static void
full(void **state)
{
	struct fix *f = *state;
	struct rig_q out;
	uint64_t id;

	rig_qp(&f->r, &out, 10, 1, 4, true);
	assert_int_equal(mirror(f, 1, MLX4_DMFS_MIRROR_SX, 10, &id), 0);
	send_n(f, 8, mac2[5]);
	expect(f, &f->rx, 8);
	expect(f, &out, 4);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

static void
refused(void **state)
{
	struct fix *f = *state;
	uint64_t id;

	assert_int_equal(mirror(f, 1, 2, 8, &id), MLX4_STAT_BAD_PARAM);
	assert_int_equal(mirror(f, 1, 8, 8, &id), MLX4_STAT_BAD_PARAM);
	assert_int_equal(mirror(f, 1, MLX4_DMFS_MIRROR_RX, 99, &id), MLX4_STAT_BAD_PARAM);
	assert_int_equal(tp_model_violations_total(f->r.m), 3);
	assert_false(f->r.m->port[0].mirrored);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_ways, up, down),
		cmocka_unit_test_setup_teardown(full, up, down),
		cmocka_unit_test_setup_teardown(refused, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
