/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Delay drop as a driver sees it: by commands, with its timer, its event, its end and its new beginning. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "mlx4_prm_qos.h"
#include "model/card/model_priv.h"

#define US UINT64_C(1000)
#define UNITS 50u /* 5 ms */
#define SLACK (2 * MLX4_DELAY_DROP_UNIT_US * US)
#define RQ_LG 4u
#define BUF 256u

struct fix {
	struct card *c;
	uint64_t dbrec, bufs, now;
	uint8_t ctx[MLX4_QPC_SIZE];
	uint16_t posted;
	uint32_t eqes;
};

static void
run(struct fix *f, uint64_t ns)
{
	f->now += ns;
	tp_model_set_time(f->c->m, f->now);
	while (tp_model_step(f->c->m, 64) != 0)
		continue;
}

static void
rule(struct card *c, unsigned int port)
{
	uint8_t *in = card_in(c);

	prm_set(in, MLX4_DMFS_PRIORITY, MLX4_DMFS_PRIO_NIC);
	prm_set(in, MLX4_DMFS_TYPE, MLX4_DMFS_ALL_DEFAULT);
	prm_set(in, MLX4_DMFS_PORT, port);
	prm_set(in, MLX4_DMFS_QPN, CARD_QPN);
	assert_int_equal(card_cmd(c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0, 4, c->in, 0), 0);
}

/* A receive queue of 16 buffers on port 2, with so many units. */
static void
queue(struct fix *f, uint16_t units)
{
	struct card *c = f->c;
	uint32_t size = card_qp_buf_size(0, RQ_LG, 4);
	uint64_t ring = card_alloc(c, size, CARD_PAGE);

	f->dbrec = card_alloc(c, 8, 8);
	f->bufs = card_alloc(c, BUF << RQ_LG, CARD_PAGE);
	memset(f->ctx, 0, sizeof(f->ctx));
	card_qp_ctx(c, f->ctx, CARD_QPN, 2, ring, 0, RQ_LG, 4, f->dbrec);
	prm_set(f->ctx, MLX4_QPC_DELAY_DROP, units);
	assert_int_equal(card_qp_up(c, CARD_QPN, f->ctx), 0);
	for (uint32_t i = 0; i < 1u << RQ_LG; i++) {
		/* Behind the send queue's one entry. */
		uint8_t *w = card_ptr(c, ring + 64 + 16 * i);

		prm_set32(w, 0, BUF);
		prm_set32(w, 4, CARD_KEY);
		prm_set64(w, 8, f->bufs + i * BUF);
	}
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << MLX4_EVENT_RECOVERABLE, 0), 0);
	rule(c, 2);
	assert_int_equal(tp_model_wire_loopback(c->m, 2), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 2), 0);
}

static int
up(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	*state = f;
	if (f == NULL)
		return -1;
	f->c = card_new(NULL);
	card_boot(f->c, CARD_DMFS);
	card_objects(f->c);
	run(f, 1000);
	return 0;
}

static int
down(void **state)
{
	struct fix *f = *state;

	card_free(f->c);
	free(f);
	return 0;
}

static void
arrive(struct fix *f, unsigned int n)
{
	uint8_t b[60] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9, 0x88, 0xb5};
	struct tp_frame_seg seg = {.data = b, .len = sizeof(b)};
	struct tp_frame fr = {.seg = &seg, .nseg = 1, .len = sizeof(b)};

	for (; n != 0; n--)
		tp_model_port_receive(f->c->m, 2, &fr, 1);
}

static void
post(struct fix *f, unsigned int n)
{
	f->posted = (uint16_t)(f->posted + n);
	prm_set32(card_ptr(f->c, f->dbrec), 0, f->posted);
	run(f, 0);
}

static uint32_t
received(struct fix *f)
{
	return f->c->m->counter[0].rx_frames;
}

static uint16_t
field(struct fix *f)
{
	assert_int_equal(card_cmd_out(f->c, MLX4_CMD_QUERY_QP, 0, CARD_QPN), 0);
	return (uint16_t)prm_get(card_out(f->c) + MLX4_QP_MBOX_CTX, MLX4_QPC_DELAY_DROP);
}

static void
update(struct fix *f, uint16_t units, int status)
{
	uint8_t *in = card_in(f->c);

	prm_set64(in, MLX4_UPDATE_QP_MASK, MLX4_UPDATE_QP_DELAY_DROP);
	prm_set(in + MLX4_UPDATE_QP_CTX, MLX4_QPC_DELAY_DROP, units);
	assert_int_equal(card_cmd_in(f->c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN), status);
}

/* The next event, which must be that the queue's time was over. */
static bool
event(struct fix *f)
{
	const uint8_t *e = card_ptr(f->c, f->c->eq_buf) + f->c->eqe_size * (f->eqes & 255) + f->c->eqe_off;

	if ((e[31] >> 7) != (f->eqes >> 8 & 1))
		return false;
	f->eqes++;
	while (e[1] == MLX4_EVENT_PORT_CHANGE || e[1] == MLX4_EVENT_COMP)
		return event(f);
	assert_int_equal(e[0] | e[2] | e[4] | e[5] | e[6], 0);
	assert_int_equal(e[1], 0x3e);
	assert_int_equal(e[3], 0x10);
	assert_int_equal(e[7], 2);
	assert_int_equal(prm_get32(e, 8), CARD_QPN);
	return true;
}

static uint64_t
lost(struct fix *f)
{
	struct tp_model_stats st;

	tp_model_get_stats(f->c->m, &st);
	return st.port[1].rx_no_wqe;
}

/* Frames wait until their time is over, to within two units; then the queue drops, and says so once. */
static void
timer(void **state)
{
	struct fix *f = *state;

	queue(f, UNITS);
	assert_int_equal(field(f), UNITS);
	arrive(f, 3);
	run(f, UNITS * 100 * US - SLACK);
	assert_false(event(f));
	assert_int_equal(lost(f), 0);
	run(f, 2 * SLACK);
	assert_true(event(f));
	assert_false(event(f));
	assert_int_equal(lost(f), 3);
	assert_int_equal(field(f), 0);
	/* From now on as any other queue. */
	arrive(f, 2);
	assert_int_equal(lost(f), 5);
	post(f, 1);
	arrive(f, 1);
	assert_int_equal(received(f), 1);
	/* Armed again it waits again. */
	update(f, UNITS, 0);
	arrive(f, 2);
	run(f, UNITS * 100 * US - SLACK);
	assert_int_equal(lost(f), 5);
	post(f, 2);
	assert_int_equal(received(f), 3);
	run(f, 2 * SLACK);
	assert_false(event(f));
	assert_int_equal(field(f), UNITS);
	card_expect_clean(f->c);
}

/* Each frame that is delivered gives the next one its full time. */
static void
progress(void **state)
{
	struct fix *f = *state;

	queue(f, UNITS);
	arrive(f, 4);
	for (unsigned int i = 0; i < 3; i++) {
		run(f, UNITS * 100 * US - SLACK);
		post(f, 1);
	}
	assert_int_equal(received(f), 3);
	assert_false(event(f));
	run(f, UNITS * 100 * US - SLACK);
	assert_false(event(f));
	run(f, 2 * SLACK);
	assert_true(event(f));
	assert_int_equal(lost(f), 1);
}

static void
for_ever(void **state)
{
	struct fix *f = *state;

	queue(f, MLX4_DELAY_DROP_FOREVER);
	arrive(f, 5);
	for (unsigned int i = 0; i < 100; i++)
		run(f, 1000000 * US);
	assert_int_equal(lost(f), 0);
	/* A new, shorter time begins when it is given. */
	update(f, 10, 0);
	run(f, 1000 * US - SLACK);
	assert_int_equal(lost(f), 0);
	post(f, 2);
	assert_int_equal(received(f), 2);
	update(f, 0, 0);
	run(f, 0);
	assert_int_equal(lost(f), 3);
	assert_false(event(f));
}

/* A queue in trouble is nothing to the other port, nor to a queue of its own port in another priority. */
static void
other_port(void **state)
{
	struct fix *f = *state;
	uint8_t b[60] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9, 0x88, 0xb5};
	struct tp_frame_seg seg = {.data = b, .len = sizeof(b)};
	struct tp_frame fr = {.seg = &seg, .nseg = 1, .len = sizeof(b)};
	struct tp_model_stats st;

	queue(f, MLX4_DELAY_DROP_FOREVER);
	assert_int_equal(tp_model_wire_loopback(f->c->m, 1), 0);
	assert_int_equal(card_cmd_none(f->c, MLX4_CMD_INIT_PORT, 0, 1), 0);
	arrive(f, 1);
	tp_model_port_receive(f->c->m, 1, &fr, 1);
	tp_model_get_stats(f->c->m, &st);
	assert_int_equal(st.port[0].rx_no_rule, 1);
	assert_int_equal(f->c->m->port[1].rx_waits, true);
	assert_int_equal(f->c->m->port[0].rx_waits, false);
	/* Reset of the queue frees what waits. */
	assert_int_equal(card_cmd_none(f->c, MLX4_CMD_2RST_QP, 2, CARD_QPN), 0);
	run(f, 0);
	assert_int_equal(f->c->m->port[1].rx_waits, false);
	assert_int_equal(f->c->m->port[1].c.rx_drop, 1);
}

/* The time runs on under commands about other things; its last nanosecond counts; frames that leave are work done. */
static void
exact(void **state)
{
	struct fix *f = *state;

	queue(f, UNITS);
	arrive(f, 3);
	run(f, UNITS * 100 * US / 2);
	assert_int_equal(card_cmd(f->c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN, (card_in(f->c), f->c->in), 0), 0);
	run(f, UNITS * 100 * US / 2 - 1);
	assert_false(event(f));
	f->posted = 2;
	prm_set32(card_ptr(f->c, f->dbrec), 0, f->posted);
	assert_int_equal(tp_model_step(f->c->m, 64), 2);
	assert_int_equal(tp_model_step(f->c->m, 64), 0);
	run(f, UNITS * 100 * US - 1);
	assert_false(event(f));
	run(f, 1);
	assert_true(event(f));
	assert_int_equal(lost(f), 1);
}

static void
firmware(void **state)
{
	struct tp_model_config cfg;
	struct fix f = {0};

	(void)state;
	tp_model_config_default(&cfg);
	cfg.fw_major = 2;
	cfg.fw_minor = 31;
	cfg.fw_subminor = 5049;
	f.c = card_new(&cfg);
	card_boot(f.c, CARD_DMFS);
	card_objects(f.c);
	queue(&f, 0);
	update(&f, 50, MLX4_STAT_BAD_PARAM);
	card_expect(f.c, "delay-drop-firmware", 1);
	assert_int_equal(field(&f), 0);
	assert_int_equal(card_cmd_none(f.c, MLX4_CMD_2RST_QP, 2, CARD_QPN), 0);
	prm_set(f.ctx, MLX4_QPC_DELAY_DROP, 50);
	assert_int_equal(card_qp_step(f.c, MLX4_CMD_RST2INIT_QP, CARD_QPN, f.ctx), MLX4_STAT_BAD_PARAM);
	card_expect(f.c, "delay-drop-firmware", 2);
	assert_int_equal(card_cmd_out(f.c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), 0);
	assert_int_equal(prm_get(card_out(f.c), MLX4_CAP_RECOVER_EVENT), 0);
	card_free(f.c);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
	const struct CMUnitTest tests[] = {T(timer),      T(progress), T(for_ever),
					   T(other_port), T(exact),    cmocka_unit_test(firmware)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
