/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Event and completion queues where their indexes wrap, and each doorbell that says what it may not [CP 8, 9, DP 2.4, 6.5]. */
#include "harness.h"

#include <string.h>
#include <unistd.h>

#include "model/event/event.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct tpm_eq *
eq_of(struct card *c)
{
	return c->m->eq[CARD_EQN];
}

static struct tpm_cq *
cq_of(struct card *c)
{
	return c->m->cq[CARD_CQN];
}

static uint64_t
fired(struct card *c)
{
	uint64_t n = 0;

	return read(c->irq_fd, &n, sizeof(n)) == (ssize_t)sizeof(n) ? n : 0;
}

static const uint8_t *
eqe(struct card *c, uint32_t i)
{
	return card_ptr(c, c->eq_buf + i % 256 * 32);
}

/* --- event queues --- */

/* Indexes have 24 bits: the ring of 256 entries goes on over their end. */
static void
events_over_the_end_of_the_index(void **state)
{
	struct card *c = *state;
	struct tpm_eq *eq = eq_of(c);

	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << 9, 0), 0);
	eq->pi = eq->ci = 0xffffff;
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_ACTIVE);
	assert_int_equal(eqe(c, 255)[3], 4);
	assert_int_equal(eqe(c, 255)[0x1f], 0x80); /* an odd pass */
	tpm_event_port(c->m, 2, MLX4_PORT_CHANGE_DOWN);
	assert_int_equal(eqe(c, 0)[3], 1);
	assert_int_equal(eqe(c, 0)[0x1f], 0);
	assert_int_equal(fired(c), 1);
	tpm_eq_doorbell(c->m, CARD_EQN, 0x80000000);
	assert_int_equal(eq->ci & 0xffffff, 0);
	assert_int_equal(fired(c), 1);
	tpm_eq_doorbell(c->m, CARD_EQN, 0x80000001);
	assert_int_equal(fired(c), 0);
	card_expect_clean(c);
	/* What it cannot have seen, one too far or one back. */
	tpm_eq_doorbell(c->m, CARD_EQN, 2);
	tpm_eq_doorbell(c->m, CARD_EQN, 0);
	assert_int_equal(card_violations(c, "doorbell-eq-ci"), 2);
	assert_int_equal(eq->ci & 0xffffff, 1);
	/* Half of the ring, and all of it, over the end. */
	eq->pi = eq->ci = 0xffffc0;
	for (unsigned int i = 0; i < 256; i++)
		tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_ACTIVE);
	assert_int_equal(card_violations(c, "eq-overrun"), 0);
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_ACTIVE);
	assert_int_equal(card_violations(c, "eq-overrun"), 1);
	assert_int_equal(eq->status, 9); /* overflow [CP 5.1] */
	tpm_eq_doorbell(c->m, CARD_EQN, 0xc0);
	assert_int_equal(eq->ci & 0xffffff, 0xc0);
	assert_int_equal(card_violations(c, "doorbell-eq-ci"), 2);
}

/* A queue that may overwrite never overflows. */
static void
events_that_overwrite(void **state)
{
	struct card *c = *state;

	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << 9, 0), 0);
	eq_of(c)->oi = true;
	for (unsigned int i = 0; i < 300; i++)
		tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_ACTIVE);
	card_expect_clean(c);
	assert_int_equal(eq_of(c)->pi, 300);
	assert_int_equal(eqe(c, 299)[0x1f], 0x80);
	assert_int_equal(eqe(c, 44)[0x1f], 0);
}

static void
states_of_arming(void **state)
{
	static const struct {
		uint8_t before;
		uint32_t doorbell; /* arms: bit 31 */
		uint8_t after;
		unsigned int fires; /* with one event that is not seen */
	} row[] = {
		{MLX4_EQ_STATE_ARMED, 0, MLX4_EQ_STATE_ARMED, 0},
		{MLX4_EQ_STATE_FIRED, 0, MLX4_EQ_STATE_FIRED, 0},
		{MLX4_EQ_STATE_FIRED, 0x80000000, MLX4_EQ_STATE_FIRED, 1},
		{MLX4_EQ_STATE_ALWAYS_ARMED, 0x80000000, MLX4_EQ_STATE_ALWAYS_ARMED, 1},
		{MLX4_EQ_STATE_ALWAYS_ARMED, 0, MLX4_EQ_STATE_ALWAYS_ARMED, 0},
	};
	struct card *c = *state;
	struct tpm_eq *eq = eq_of(c);

	for (unsigned int i = 0; i < COUNT(row); i++) {
		eq->pi = 1;
		eq->ci = 0;
		eq->state = row[i].before;
		tpm_eq_doorbell(c->m, CARD_EQN, row[i].doorbell);
		assert_int_equal(eq->state, row[i].after);
		assert_int_equal(fired(c), row[i].fires);
		/* With none it waits for the next one. */
		eq->state = row[i].before;
		tpm_eq_doorbell(c->m, CARD_EQN, row[i].doorbell | 1);
		assert_int_equal(fired(c), 0);
		assert_int_equal(eq->state, row[i].before == MLX4_EQ_STATE_FIRED && row[i].doorbell != 0
						    ? MLX4_EQ_STATE_ARMED
						    : row[i].before);
	}
}

/* Each kind of event by the number of its type; what no queue was given is nobody's. */
static void
kinds_of_events(void **state)
{
	struct card *c = *state;
	uint8_t any[32] = {0};

	tpm_event(c->m, 0, any);
	tpm_event(c->m, 63, any);
	tpm_event(c->m, 64, any);
	tpm_event(c->m, 255, any);
	assert_int_equal(eq_of(c)->pi, 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, ~UINT64_C(1), 0), 0);
	tpm_event_qp(c->m, 0x05, 0x123456);
	assert_int_equal(eqe(c, 0)[1], 0x05);
	assert_int_equal(prm_get32(eqe(c, 0), 4) & 0xffffff, 0x123456);
	tpm_event_srq(c->m, 0x13, 0x345678);
	assert_int_equal(eqe(c, 1)[1], 0x13);
	assert_int_equal(prm_get32(eqe(c, 1), 4) & 0xffffff, 0x345678);
	tpm_event_cq_error(c->m, 0x99, 2);
	assert_int_equal(eqe(c, 2)[1], 0x04);
	assert_int_equal(prm_get32(eqe(c, 2), 4) & 0xffffff, 0x99);
	assert_int_equal(eqe(c, 2)[0x0f], 2);
	tpm_event(c->m, 63, any);
	assert_int_equal(eq_of(c)->pi, 4);
	tpm_event(c->m, 0, any);
	tpm_event(c->m, 64, any);
	assert_int_equal(eq_of(c)->pi, 4);
	/* One type given back: the others stay. */
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN | 1u << 31, UINT64_C(1) << 63, 0), 0);
	tpm_event(c->m, 63, any);
	tpm_event(c->m, 62, any);
	assert_int_equal(eq_of(c)->pi, 5);
	card_expect_clean(c);
	/* A card that dies says so in its buffer, and tells it. */
	tpm_die(c->m, 0x1234, "the test");
	assert_int_equal(eqe(c, 5)[1], 0x08);
	assert_int_equal(tp_model_bar0_read32(c->m, 0x1f020), 0x1234);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_NOP, 0, 0), -1);
}

static void
doorbells_of_event_queues(void **state)
{
	static const struct {
		uint32_t eqn, value;
		const char *rule; /* NULL: none */
	} row[] = {
		{CARD_EQN, 0, NULL},
		{CARD_EQN, 0x80000000, NULL},
		{CARD_EQN, 0x01000000, "doorbell-reserved"},
		{CARD_EQN, 0x40000000, "doorbell-reserved"},
		{CARD_EQN, 0x20000000, "doorbell-reserved"},
		{CARD_EQN, 1, "doorbell-eq-ci"},
		{CARD_EQN, 0x800000, "doorbell-eq-ci"},
		{CARD_EQN, 0xffffff, "doorbell-eq-ci"},
		{CARD_EQN + 1, 0, "doorbell-eqn"},
		{31, 0, "doorbell-eqn"},
		{32, 0, "doorbell-eqn"},
		{511, 0, "doorbell-eqn"},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint64_t before = tp_model_violations_total(c->m),
			 of = row[i].rule != NULL ? card_violations(c, row[i].rule) : 0;

		tpm_eq_doorbell(c->m, row[i].eqn, row[i].value);
		assert_int_equal(tp_model_violations_total(c->m), before + (row[i].rule != NULL));
		if (row[i].rule != NULL)
			assert_int_equal(card_violations(c, row[i].rule), of + 1);
	}
}

/* Four queues have their doorbells on one page, 8 octets apart from 0x800 on: EQ 4 is the first one of page 1. */
static void
doorbells_on_a_page(void **state)
{
	struct card *c = *state;
	uint8_t *page = (uint8_t *)tp_model_uar(c->m, NULL) + 4096;

	for (uint32_t n = 1; n < 4; n++) {
		card_eq_ctx(c, card_in(c), card_alloc(c, 8192, 4096), 8, 0);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN + n), 0);
	}
	for (uint32_t n = 0; n < 4; n++) {
		c->m->eq[CARD_EQN + n]->pi = 100;
		prm_set32(page, 0x800 + 8 * n, 10 + n);
	}
	prm_set32(page, 0x820, 99); /* behind the last one: no doorbell */
	assert_int_equal(tpm_uar_poll_eqs(c->m, 1), 4);
	for (uint32_t n = 0; n < 4; n++) {
		assert_int_equal(c->m->eq[CARD_EQN + n]->ci, 10 + n);
		assert_int_equal(prm_get32(page, 0x800 + 8 * n), 0);
	}
	assert_int_equal(prm_get32(page, 0x820), 99);
	assert_int_equal(tpm_uar_poll_eqs(c->m, 1), 0);
	/* By message: 4 or 8 octets, each at its place. */
	for (uint32_t n = 0; n < 4; n++) {
		const uint8_t db[8] = {0, 0, 0, (uint8_t)(20 + n)};

		assert_int_equal(tp_model_uar_write(c->m, 0x1800 + 8 * n, db, n % 2 == 0 ? 4 : 8), 0);
		assert_int_equal(c->m->eq[CARD_EQN + n]->ci, 20 + n);
		assert_int_equal(tp_model_uar_write(c->m, 0x1804 + 8 * n, db, 4), -22);
		assert_int_equal(tp_model_uar_write(c->m, 0x1800 + 8 * n, db, 2), -22);
	}
	assert_int_equal(tp_model_uar_write(c->m, 0x1820, "\0\0\0\1", 4), -22);
	assert_int_equal(tp_model_uar_write(c->m, 0x17f8, "\0\0\0\1", 4), -22);
	card_expect_clean(c);
}

/* --- completion queues --- */

static void
record(struct card *c, uint32_t ci)
{
	prm_set32(card_ptr(c, c->cq_dbrec), 0, ci);
}

/* Room is what software gave back by its record: indexes of 24 bits in a count of 32. */
static void
room_over_the_end_of_the_index(void **state)
{
	static const uint32_t at[] = {256, 0x00ffff80, 0x00ffffff, 0x01000000, 0x12ffff80, 0xffffff80};
	struct card *c = *state;
	struct tpm_cq *cq = cq_of(c);

	for (unsigned int i = 0; i < COUNT(at); i++) {
		cq->pi = at[i];
		cq->ci = at[i] - 255;
		record(c, cq->ci & 0xffffff);
		assert_true(tpm_cq_room(c->m, cq));
		/* 256 wait: the record decides. */
		cq->pi++;
		record(c, (at[i] - 254) & 0xffffff);
		assert_true(tpm_cq_room(c->m, cq));
		assert_int_equal(cq->ci, at[i] - 254);
		/* All were taken. */
		cq->ci = cq->pi - 256;
		record(c, cq->pi & 0xffffff);
		assert_true(tpm_cq_room(c->m, cq));
		assert_int_equal(cq->ci, cq->pi);
	}
	card_expect_clean(c);
}

static void
records_that_cannot_be(void **state)
{
	struct card *c = *state;

	for (unsigned int i = 0; i < 3; i++) {
		struct tpm_cq *cq = cq_of(c);

		cq->status = 0;
		cq->pi = 1256;
		cq->ci = 1000;
		record(c, i == 0 ? 1257 : i == 1 ? 999 : 0x01000000 | 1100);
		assert_false(tpm_cq_room(c->m, cq));
		assert_int_equal(cq->ci, 1000);
		assert_int_equal(card_violations(c, "dbrec-cq"), i + 1);
		assert_int_equal(card_violations(c, "cq-overrun"), i + 1);
		assert_int_equal(cq->status, 9); /* overflow [CP 5.2] */
		/* What is lost stays lost. */
		record(c, 1256);
		assert_false(tpm_cq_room(c->m, cq));
	}
}

/* A queue that overwrites, or that collapses into one entry, always has room. */
static void
completions_that_overwrite(void **state)
{
	struct card *c = *state;
	struct tpm_cq *cq = cq_of(c);

	for (unsigned int i = 0; i < 2; i++) {
		cq->oi = i == 0;
		cq->cc = i == 1;
		cq->ci = 0;
		cq->pi = 5000;
		assert_true(tpm_cq_room(c->m, cq));
		assert_int_equal(cq->ci, 5000 - 255);
	}
	card_expect_clean(c);
}

static void
completions_with_errors(void **state)
{
	struct card *c = *state;
	uint8_t *e = card_ptr(c, c->cq_buf), want[32] = {0};

	memset(e, 0xee, 64);
	assert_true(tpm_cqe_error(c->m, cq_of(c), 0x123456, 0x789a, 0x22, true));
	prm_set32(want, 0, 0x123456);
	want[0x18] = 0x78;
	want[0x19] = 0x9a;
	want[0x1b] = 0x22;
	want[0x1f] = 0x5e; /* error, of a send, first pass [DP 6.4] */
	assert_memory_equal(e, want, 32);
	assert_true(tpm_cqe_error(c->m, cq_of(c), 0x123456, 0x789a, 0x22, false));
	want[0x1f] = 0x1e;
	assert_memory_equal(e + 32, want, 32);
	assert_false(tpm_cqe_error(c->m, NULL, 1, 2, 3, true));
}

/* Bits 47:16 and, apart, 15:0 of the clock, so that they fit a CQE [DP 6.2]. */
static void
stamps(void **state)
{
	struct card *c = *state;
	uint8_t *e = card_ptr(c, c->cq_buf);

	/* 427 cycles a microsecond: 65536 * 1000 us are 427 * 65536000 cycles, a multiple of 65536. */
	tp_model_set_time(c->m, UINT64_C(65536000000));
	tpm_cqe_stamp(c->m, (struct mlx4_cqe *)(void *)e);
	assert_int_equal(prm_get(e, MLX4_CQE_STAMP_H), 427000 - 1);
	assert_int_equal(prm_get(e, MLX4_CQE_STAMP_LH), 0);
	assert_int_equal(prm_get(e, MLX4_CQE_STAMP_LL), 0);
	tp_model_set_time(c->m, UINT64_C(65536001000));
	tpm_cqe_stamp(c->m, (struct mlx4_cqe *)(void *)e);
	assert_int_equal(prm_get(e, MLX4_CQE_STAMP_H), 427000);
	assert_int_equal(prm_get(e, MLX4_CQE_STAMP_LH), 427 >> 8);
	assert_int_equal(prm_get(e, MLX4_CQE_STAMP_LL), 427 & 0xff);
}

static void
doorbells_of_completion_queues(void **state)
{
	static const struct {
		uint32_t page, hi, lo;
		const char *rule; /* NULL: none */
	} row[] = {
		{CARD_UAR, 0x12000080, 0, NULL}, /* sequence 1, next completion */
		{CARD_UAR, 0x21000080, 0, NULL}, /* solicited */
		{CARD_UAR, 0x13000080, 0, NULL},
		{CARD_UAR, 0x10000080, 0, "doorbell-reserved"},
		{CARD_UAR, 0x14000080, 0, "doorbell-reserved"},
		{CARD_UAR, 0x17000080, 0, "doorbell-reserved"},
		{CARD_UAR, 0x1a000080, 0, "doorbell-reserved"}, /* bits 27, 30 and 31 */
		{CARD_UAR, 0x52000080, 0, "doorbell-reserved"},
		{CARD_UAR, 0x92000080, 0, "doorbell-reserved"},
		{CARD_UAR, 0x12000080, 0x01000000, "doorbell-reserved"},
		{CARD_UAR, 0x12000080, 0x80000000, "doorbell-reserved"},
		{CARD_UAR, 0x12000080, 1, "dbrec-cq"},
		{CARD_UAR + 1, 0x12000080, 0, "doorbell-page"},
		{CARD_UAR, 0x12000081, 0, "doorbell-cqn"},
		{CARD_UAR, 0x12000200, 0, "doorbell-cqn"},
		{CARD_UAR, 0x12ffffff, 0, "doorbell-cqn"},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint64_t before = tp_model_violations_total(c->m),
			 of = row[i].rule != NULL ? card_violations(c, row[i].rule) : 0;

		cq_of(c)->arm = 0;
		tpm_cq_doorbell(c->m, row[i].page, row[i].hi, row[i].lo);
		assert_int_equal(tp_model_violations_total(c->m), before + (row[i].rule != NULL));
		if (row[i].rule != NULL)
			assert_int_equal(card_violations(c, row[i].rule), of + 1);
		/* Who breaks a rule arms nothing. */
		if (row[i].rule != NULL)
			assert_int_equal(cq_of(c)->arm, 0);
		else if (i == 0)
			assert_int_equal(cq_of(c)->arm, MLX4_CQ_STATE_ARMED);
	}
}

#define ARM(sn, cmd) ((uint32_t)(sn) << 28 | (uint32_t)(cmd) << 24 | CARD_CQN)

/* An arming is answered by one event: at once when there is something new already, or with the next completion. */
static void
arming(void **state)
{
	struct card *c = *state;
	struct tpm_cq *cq = cq_of(c);

	cq->pi = cq->ci = 0x01000005;
	tpm_cq_doorbell(c->m, CARD_UAR, ARM(1, 2), 5);
	assert_int_equal(eq_of(c)->pi, 0);
	cq->pi++;
	tpm_cq_notify(c->m, cq, false);
	assert_int_equal(eq_of(c)->pi, 1);
	assert_int_equal(eqe(c, 0)[1], 0);
	assert_int_equal(prm_get32(eqe(c, 0), 4) & 0xffffff, CARD_CQN);
	assert_int_equal(cq->last_notified, 0x01000006);
	/* No second one, and none for the same number again. */
	tpm_cq_notify(c->m, cq, true);
	tpm_cq_doorbell(c->m, CARD_UAR, ARM(1, 2), 6);
	cq->pi++;
	tpm_cq_notify(c->m, cq, true);
	assert_int_equal(eq_of(c)->pi, 1);
	/* Armed at an index behind what came: at once. */
	tpm_cq_doorbell(c->m, CARD_UAR, ARM(2, 2), 6);
	assert_int_equal(eq_of(c)->pi, 2);
	/* Solicited ones alone. */
	tpm_cq_doorbell(c->m, CARD_UAR, ARM(3, 1), 7);
	cq->pi++;
	tpm_cq_notify(c->m, cq, false);
	assert_int_equal(eq_of(c)->pi, 2);
	tpm_cq_notify(c->m, cq, true);
	assert_int_equal(eq_of(c)->pi, 3);
	/* One that came between the look and the arming. */
	cq->pi++;
	tpm_cq_notify(c->m, cq, true);
	tpm_cq_doorbell(c->m, CARD_UAR, ARM(0, 1), 8);
	assert_int_equal(eq_of(c)->pi, 4);
	tpm_cq_doorbell(c->m, CARD_UAR, ARM(1, 1), 9);
	assert_int_equal(eq_of(c)->pi, 4);
	card_expect_clean(c);
}

/* By count or by time, whichever comes first; a period of 0 is over at once. */
static void
moderation(void **state)
{
	static const struct {
		uint16_t count, period_us;
		unsigned int silent; /* completions that come without an event */
	} row[] = {{0, 0, 0}, {5, 0, 0}, {1, 100, 0}, {2, 100, 1}, {5, 100, 4}};
	struct card *c = *state;
	struct tpm_cq *cq = cq_of(c);
	uint64_t now = 1000000;
	uint8_t sn = 0;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint32_t events = eq_of(c)->pi;

		tp_model_set_time(c->m, now);
		cq->mod_count = row[i].count;
		cq->mod_period_us = row[i].period_us;
		sn = (sn + 1) & 3;
		tpm_cq_doorbell(c->m, CARD_UAR, ARM(sn, 2), cq->pi & 0xffffff);
		for (unsigned int n = 0; n < row[i].silent; n++) {
			cq->pi++;
			tpm_cq_notify(c->m, cq, false);
			assert_int_equal(eq_of(c)->pi, events);
		}
		cq->pi++;
		tpm_cq_notify(c->m, cq, false);
		assert_int_equal(eq_of(c)->pi, events + 1);
		tpm_cq_timers(c->m);
		assert_int_equal(c->m->num_timers, 0);
		assert_int_equal(eq_of(c)->pi, events + 1);
	}
	/* By time: 100 us after the first one that was not told. */
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t events = eq_of(c)->pi;

		cq->mod_count = 0;
		cq->mod_period_us = 100;
		sn = (sn + 1) & 3;
		tpm_cq_doorbell(c->m, CARD_UAR, ARM(sn, i == 0 ? 2 : 1), cq->pi & 0xffffff);
		cq->pi++;
		tpm_cq_notify(c->m, cq, true);
		tp_model_set_time(c->m, now + 50000);
		cq->pi++;
		tpm_cq_notify(c->m, cq, true);
		tp_model_set_time(c->m, now + 99999);
		tpm_cq_timers(c->m);
		assert_int_equal(eq_of(c)->pi, events);
		assert_int_equal(c->m->num_timers, 1);
		tp_model_set_time(c->m, now + 100000);
		tpm_cq_timers(c->m);
		assert_int_equal(eq_of(c)->pi, events + 1);
		assert_int_equal(c->m->num_timers, 0);
		now += 200000;
		tp_model_set_time(c->m, now);
	}
	/* A queue that is gone has no timer. */
	sn = (sn + 1) & 3;
	tpm_cq_doorbell(c->m, CARD_UAR, ARM(sn, 2), cq->pi & 0xffffff);
	cq->pi++;
	tpm_cq_notify(c->m, cq, false);
	assert_int_equal(c->m->num_timers, 1);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN), 0);
	tp_model_set_time(c->m, now + 1000000);
	tpm_cq_timers(c->m);
	assert_int_equal(c->m->num_timers, 0);
	card_expect_clean(c);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup_objects, teardown_card)
	const struct CMUnitTest tests[] = {
		T(events_over_the_end_of_the_index),
		T(events_that_overwrite),
		T(states_of_arming),
		T(kinds_of_events),
		T(doorbells_of_event_queues),
		T(doorbells_on_a_page),
		T(room_over_the_end_of_the_index),
		T(records_that_cannot_be),
		T(completions_that_overwrite),
		T(completions_with_errors),
		T(stamps),
		T(doorbells_of_completion_queues),
		T(arming),
		T(moderation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
