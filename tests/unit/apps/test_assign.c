/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Streams on lcores: a queue, or all that a RoCE port receives, is never two lcores'. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "apps/triplane/fwd/fwd.h"

#define MAX 8u

static const struct fwd_mode forwards = {.name = "io", .sends = true};
static const struct fwd_mode catches = {.name = "catch", .control = true, .catches = true};
static const struct fwd_mode drives = {.name = "roce", .control = true};
static const uint32_t cores[] = {3, 5, 7};

struct plan {
	struct fwd fwd;
	struct fwd_stream stream[MAX];
};

/* Of the program, in this test: nothing is said. */
void
app_err_line(const char *fmt, ...)
{
	(void)fmt;
}

static struct plan *
plan_new(void)
{
	void *p = NULL;

	assert_int_equal(posix_memalign(&p, RTE_CACHE_LINE_SIZE, sizeof(struct plan)), 0);
	memset(p, 0, sizeof(struct plan));
	((struct plan *)p)->fwd.stream = ((struct plan *)p)->stream;
	return p;
}

static void
plan_free(struct plan *p)
{
	unsigned int i;

	for (i = 0; i < p->fwd.num_lcores; i++)
		free(p->fwd.lcore[i].stream);
	free(p);
}

static void
stream(struct plan *p, uint16_t rx_port, uint16_t rx_queue, uint16_t tx_port, uint16_t tx_queue, void *roce)
{
	p->stream[p->fwd.num_streams++] = (struct fwd_stream){.mode = &forwards,
							      .rx_port = rx_port,
							      .rx_queue = rx_queue,
							      .has_rx = true,
							      .tx_port = tx_port,
							      .tx_queue = tx_queue,
							      .roce = roce};
}

static void
assign(struct plan *p, unsigned int num_cores)
{
	unsigned int i, n = 0;

	assert_int_equal(fwd_assign(&p->fwd, cores, num_cores), 0);
	for (i = 0; i < p->fwd.num_lcores; i++) {
		assert_int_equal(p->fwd.lcore[i].id, cores[i]);
		n += p->fwd.lcore[i].num;
	}
	assert_int_equal(n, p->fwd.num_streams);
}

static void
in_turn(void **state)
{
	struct plan *p = plan_new();
	uint16_t i;

	(void)state;
	for (i = 0; i < 5; i++)
		stream(p, i, 0, i, 0, NULL);
	assign(p, 3);
	for (i = 0; i < 5; i++)
		assert_int_equal(p->stream[i].lcore, i % 3);
	plan_free(p);
}

static void
shared_queue(void **state)
{
	struct plan *p = plan_new();

	(void)state;
	stream(p, 0, 0, 9, 0, NULL);
	stream(p, 1, 0, 9, 1, NULL);
	stream(p, 2, 0, 9, 0, NULL);
	assign(p, 3);
	assert_int_equal(p->stream[0].lcore, p->stream[2].lcore);
	assert_int_not_equal(p->stream[0].lcore, p->stream[1].lcore);
	plan_free(p);
}

/* The last one has its transmit queue with the first and its RoCE port with the second: all three are one lcore's. */
static void
by_others(void **state)
{
	struct plan *p = plan_new();
	int roce;

	(void)state;
	stream(p, 0, 0, 9, 0, NULL);
	stream(p, 1, 0, 9, 1, &roce);
	stream(p, 2, 0, 9, 2, NULL);
	stream(p, 1, 1, 9, 0, &roce);
	p->stream[p->fwd.num_streams++] =
		(struct fwd_stream){.mode = &drives, .rx_port = 1, .tx_port = 1, .roce = (void *)&roce};
	assign(p, 3);
	assert_int_equal(p->stream[1].lcore, p->stream[0].lcore);
	assert_int_equal(p->stream[3].lcore, p->stream[0].lcore);
	assert_int_equal(p->stream[4].lcore, p->stream[0].lcore);
	assert_int_not_equal(p->stream[2].lcore, p->stream[0].lcore);
	plan_free(p);
}

/* A stream that chooses among queues has all of them. */
static void
chosen_queues(void **state)
{
	struct plan *p = plan_new();

	(void)state;
	stream(p, 0, 0, 9, 0, NULL);
	stream(p, 1, 0, 9, 4, NULL);
	stream(p, 2, 0, 9, 3, NULL);
	stream(p, 3, 0, 8, 2, NULL);
	p->stream[0].choice.num = 4;
	assign(p, 3);
	assert_int_equal(p->stream[2].lcore, p->stream[0].lcore);
	assert_int_not_equal(p->stream[1].lcore, p->stream[0].lcore);
	assert_int_not_equal(p->stream[3].lcore, p->stream[0].lcore);
	plan_free(p);
}

/* The stream before it takes from a reserve, which this one fills. */
static void
catcher(struct plan *p, struct fwd_reserve *r, void *roce)
{
	struct fwd_stream *s = &p->stream[p->fwd.num_streams - 1];

	s->reserve = r;
	p->stream[p->fwd.num_streams++] = (struct fwd_stream){.mode = &catches,
							      .rx_port = s->rx_port,
							      .rx_queue = s->rx_queue,
							      .has_rx = true,
							      .reserve = r,
							      .roce = roce};
}

/* All that catch are on one lcore, which no other stream has, behind those of the others. */
static void
catchers_apart(void **state)
{
	static struct fwd_reserve r[3];
	struct plan *p = plan_new();
	int roce;

	(void)state;
	stream(p, 0, 0, 9, 0, NULL);
	catcher(p, &r[0], NULL);
	stream(p, 1, 0, 9, 1, NULL);
	catcher(p, &r[1], &roce);
	stream(p, 2, 0, 9, 2, NULL);
	p->stream[p->fwd.num_streams++] =
		(struct fwd_stream){.mode = &drives, .rx_port = 1, .tx_port = 1, .roce = (void *)&roce};
	assign(p, 3);
	assert_int_equal(p->stream[0].lcore, 0);
	assert_int_equal(p->stream[2].lcore, 1);
	assert_int_equal(p->stream[4].lcore, 0);
	assert_int_equal(p->stream[1].lcore, 2);
	assert_int_equal(p->stream[3].lcore, 2);
	assert_int_equal(p->stream[5].lcore, 2); /* RoCE of a port is where the port's ring is emptied */
	assert_ptr_equal(p->fwd.catcher, &p->fwd.lcore[2]);
	plan_free(p);
}

/* Lcores that nothing is left for do not run. */
static void
catchers_of_few(void **state)
{
	static struct fwd_reserve r;
	struct plan *p = plan_new();

	(void)state;
	stream(p, 0, 0, 9, 0, NULL);
	catcher(p, &r, NULL);
	assign(p, 3);
	assert_int_equal(p->fwd.num_lcores, 2);
	assert_int_equal(p->stream[0].lcore, 0);
	assert_int_equal(p->stream[1].lcore, 1);
	plan_free(p);
	p = plan_new();
	stream(p, 0, 0, 9, 0, NULL);
	catcher(p, &r, NULL);
	assert_int_equal(fwd_assign(&p->fwd, cores, 1), -EINVAL);
	plan_free(p);
}

/* Streams 1 and 3 are of groups that want lcores; the others take their turns as ever. */
static void
wanted(void **state)
{
	struct plan *p = plan_new();
	uint16_t i;

	(void)state;
	for (i = 0; i < 5; i++)
		stream(p, 0, i, 9, i, NULL);
	p->stream[1].wanted = 7 + 1;
	p->stream[3].wanted = 3 + 1;
	assign(p, 3);
	assert_int_equal(p->stream[0].lcore, 0);
	assert_int_equal(p->stream[1].lcore, 2);
	assert_int_equal(p->stream[2].lcore, 1);
	assert_int_equal(p->stream[3].lcore, 0);
	assert_int_equal(p->stream[4].lcore, 2);
	plan_free(p);
}

/* What shares a queue with a stream of a group goes where the group wants; an lcore before it may have nothing. */
static void
wanted_together(void **state)
{
	struct plan *p = plan_new();

	(void)state;
	stream(p, 0, 0, 9, 0, NULL);
	stream(p, 1, 0, 9, 0, NULL);
	p->stream[1].wanted = 5 + 1;
	assign(p, 3);
	assert_int_equal(p->stream[0].lcore, 1);
	assert_int_equal(p->stream[1].lcore, 1);
	assert_int_equal(p->fwd.lcore[0].num, 0);
	assert_int_equal(p->fwd.num_lcores, 2);
	plan_free(p);
}

static void
wanted_in_vain(void **state)
{
	struct plan *p = plan_new();

	(void)state;
	stream(p, 0, 0, 9, 0, NULL);
	stream(p, 1, 0, 9, 0, NULL);
	p->stream[0].wanted = 5 + 1;
	p->stream[1].wanted = 7 + 1;
	assert_int_equal(fwd_assign(&p->fwd, cores, 3), -EINVAL); /* two lcores for one transmit queue */
	p->stream[1].wanted = 0;
	p->stream[0].wanted = 4 + 1;
	assert_int_equal(fwd_assign(&p->fwd, cores, 3), -EINVAL); /* it does not forward */
	plan_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_turn),       cmocka_unit_test(shared_queue),    cmocka_unit_test(by_others),
		cmocka_unit_test(chosen_queues), cmocka_unit_test(catchers_apart),  cmocka_unit_test(catchers_of_few),
		cmocka_unit_test(wanted),        cmocka_unit_test(wanted_together), cmocka_unit_test(wanted_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
