/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What a card counts of connections when packets are lost: each figure is that of IBA 9.7 for the packets that the wire took
 * away, on the side where it happens and on no other.
 */
#include "ib_rig.h"

#define LEN 6000u /* three packets */
#define TIMEOUT_NS 20000000u
#define RNR_NS 2000000u
#define AT(i) (8192u * (i))

static struct ir_end from, to;

enum what { TIMEOUTS, REQ_OUT_OF_ORDER, REQ_RNR, RESP_OUT_OF_ORDER, DUPLICATES, RESP_RNR, UD_DROPPED, NUM };
static const char *const names[NUM] = {"req_timeouts",    "req_out_of_order", "req_rnr_naks",   "resp_out_of_order",
				       "resp_duplicates", "resp_rnr_naks",    "resp_ud_dropped"};

struct counts {
	uint64_t n[NUM];
	unsigned int seen;
};

static void
note(void *arg, const char *name, uint64_t value)
{
	struct counts *c = arg;
	unsigned int i;

	for (i = 0; i < NUM; i++) {
		if (strcmp(name, names[i]) == 0) {
			c->n[i] = value;
			c->seen++;
		}
	}
}

/* A port has counted this, and nothing else. */
static void
counted(unsigned int port, const struct counts *want)
{
	struct counts c = {0};
	unsigned int i;

	assert_int_equal(tp_roce_home_stats(ir_ctx[port], note, &c), 0);
	assert_int_equal(c.seen, NUM);
	for (i = 0; i < NUM; i++) {
		if (c.n[i] != want->n[i])
			fail_msg("port %u counts %s as %" PRIu64 ", want %" PRIu64, port, names[i], c.n[i], want->n[i]);
	}
}
#define COUNTED(port, ...) counted(port, &(const struct counts){.n = {__VA_ARGS__}})

/* What arrives at a port is lost, or not. */
static void
deaf(unsigned int port, bool is)
{
	const struct tp_impair imp = {.drop_ppm = is ? 1000000 : 0};

	assert_int_equal(tp_model_impair(ir_model(), port + 1, &imp), 0);
}

static int
setup(void **state)
{
	struct ibv_ah_attr av;

	ir_setup_active(state);
	ir_end(&from, 0, IBV_QPT_RC);
	ir_end(&to, 1, IBV_QPT_RC);
	ir_av(&av, 1, false);
	ir_rts(&from, 0, &av, to.qp->qp_num);
	ir_av(&av, 0, false);
	ir_rts(&to, 0, &av, from.qp->qp_num);
	return 0;
}

static int
teardown(void **state)
{
	ir_end_free(&from);
	ir_end_free(&to);
	return ir_teardown(state);
}

static void
message(unsigned int i)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};

	ir_send(&from, &wr, AT(i), LEN);
}

static void
arrived(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		assert_int_equal(ir_wc(&from).wr_id, AT(i));
		assert_int_equal(ir_wc(&to).byte_len, LEN);
	}
	ir_no_wc(&from);
	ir_no_wc(&to);
}

static void
nothing_is_lost(void **state)
{
	(void)state;
	ir_recv(&to, AT(0), LEN);
	message(0);
	ir_pass(TIMEOUT_NS);
	arrived(1);
	COUNTED(0, 0);
	COUNTED(1, 0);
}

static void
a_message_is_lost(void **state)
{
	(void)state;
	ir_recv(&to, AT(0), LEN);
	deaf(1, true);
	message(0);
	deaf(1, false);
	ir_no_wc(&from);
	COUNTED(0, 0);
	ir_pass(TIMEOUT_NS);
	arrived(1);
	COUNTED(0, [TIMEOUTS] = 1);
	COUNTED(1, 0);
}

static void
the_next_one_arrives(void **state)
{
	(void)state;
	ir_recv(&to, AT(0), LEN);
	ir_recv(&to, AT(1), LEN);
	deaf(1, true);
	message(0);
	deaf(1, false);
	/* Its three packets are behind a gap, for which there is one NAK (9.7.5.2.8); all is sent again at once. */
	message(1);
	arrived(2);
	COUNTED(0, [REQ_OUT_OF_ORDER] = 1);
	COUNTED(1, [RESP_OUT_OF_ORDER] = 3);
}

static void
an_acknowledgement_is_lost(void **state)
{
	(void)state;
	ir_recv(&to, AT(0), LEN);
	deaf(0, true);
	message(0);
	deaf(0, false);
	ir_no_wc(&from);
	ir_pass(TIMEOUT_NS);
	arrived(1);
	COUNTED(0, [TIMEOUTS] = 1);
	/* All three packets come again, since none was acknowledged. */
	COUNTED(1, [DUPLICATES] = 3);
}

static void
a_buffer_is_missing(void **state)
{
	(void)state;
	message(0);
	/* The first packet is refused, the other two are behind it. */
	COUNTED(0, [REQ_RNR] = 1);
	COUNTED(1, [RESP_RNR] = 1, [RESP_OUT_OF_ORDER] = 2);
	ir_recv(&to, AT(0), LEN);
	ir_pass(RNR_NS);
	arrived(1);
	COUNTED(0, [REQ_RNR] = 1);
	COUNTED(1, [RESP_RNR] = 1, [RESP_OUT_OF_ORDER] = 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(a_message_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(the_next_one_arrives, setup, teardown),
		cmocka_unit_test_setup_teardown(an_acknowledgement_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(a_buffer_is_missing, setup, teardown),
	};

	if (rig_eal("ut-ib-counts", "0") < 0)
		return 1;
	return cmocka_run_group_tests_name("mlx4-ib-counts", tests, NULL, NULL);
}
