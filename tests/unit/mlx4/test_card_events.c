/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Events of a card, in bytes as it writes them [CP 9.2, 9.3]: who hears of them, and what is said. */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "fake_card.h"

#define EQN 8u
#define MARK 0x55

static struct fake_card card;
static struct mlx4_hca *hca;

static struct {
	unsigned int heard[3][MLX4_CLIENTS]; /* by port and client */
	unsigned int marks;
	uint8_t type, eqe[MLX4_EQE_SIZE];
	uint64_t seq;
} told;

static void
on_event(struct mlx4_hca *h, unsigned int port, const struct mlx4_async_event *e, void *arg)
{
	assert_ptr_equal(h, hca);
	if (e->type == 0x1d && e->eqe[4] == MARK) {
		__atomic_add_fetch(&told.marks, (uintptr_t)arg == 1, __ATOMIC_RELEASE);
		return;
	}
	told.type = e->type;
	told.seq = e->seq;
	memcpy(told.eqe, e->eqe, sizeof(told.eqe));
	__atomic_add_fetch(&told.heard[port][(uintptr_t)arg], 1, __ATOMIC_RELEASE);
}

/* Two ports without RoCE: a vector for events, one for receive queues. */
static int
setup(void **state)
{
	fake_open(&card);
	hca = &card.hca;
	card.bus.intr = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	assert_non_null(card.bus.intr);
	rte_intr_fd_set(card.bus.intr, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	rte_intr_type_set(card.bus.intr, RTE_INTR_HANDLE_EXT);
	hca->caps.rsvd_eqs = EQN;
	card.bus.max_vectors = 2;
	assert_int_equal(mlx4_icm_create(hca), 0);
	assert_int_equal(mlx4_numbers_create("MTTs", 0x10, 0x1000, 0, &hca->mtts), 0);
	assert_int_equal(mlx4_events_start(hca), 0);
	memset(&told, 0, sizeof(told));
	mlx4_hca_on_event(hca, 1, MLX4_CLIENT_ETH, on_event, (void *)0);
	mlx4_hca_on_event(hca, 1, MLX4_CLIENT_ROCE, on_event, (void *)1);
	mlx4_hca_on_event(hca, 2, MLX4_CLIENT_ETH, on_event, (void *)0);
	return 0;
}

static int
teardown(void **state)
{
	mlx4_events_stop(hca);
	assert_int_equal(mlx4_numbers_used(hca->mtts), 0);
	mlx4_numbers_destroy(hca->mtts);
	mlx4_icm_destroy(hca);
	close(rte_intr_fd_get(card.bus.intr));
	rte_intr_instance_free(card.bus.intr);
	fake_close(&card);
	return 0;
}

/* The entry that is next, as the card writes it. */
static void
put(struct mlx4_eq *eq, uint64_t at, const uint8_t eqe[MLX4_EQE_SIZE])
{
	uint8_t *e = (uint8_t *)eq->buf.va + at % eq->entries * 32;

	memcpy(e, eqe, 31);
	__atomic_store_n(&e[31], (uint8_t)((at & eq->entries) != 0 ? 0x80 : 0), __ATOMIC_RELEASE);
}

static void
interrupt(void)
{
	assert_int_equal(write(rte_intr_fd_get(card.bus.intr), &(uint64_t){1}, 8), 8);
}

/* An event, and a mark behind it for port 1: when that is heard, the one before it was dealt with. */
static void
event(const uint8_t eqe[MLX4_EQE_SIZE])
{
	static const uint8_t mark[MLX4_EQE_SIZE] = {[1] = 0x1d, [4] = MARK, [7] = 1};
	uint64_t at = hca->async_eq->ci;
	unsigned int before = told.marks;

	put(hca->async_eq, at + 1, mark);
	put(hca->async_eq, at, eqe);
	interrupt();
	while (__atomic_load_n(&told.marks, __ATOMIC_ACQUIRE) == before)
		rte_delay_us_sleep(50);
}

static void
test_events(void **state)
{
	static const struct {
		uint8_t eqe[16];
		unsigned int heard[2]; /* by the clients of port 1, of port 2 */
		const char *words;
	} row[] = {
		{{[1] = 0x09, [3] = 4, [12] = 0x10}, {1, 0}, NULL},
		{{[1] = 0x09, [3] = 1, [12] = 0x20}, {0, 1}, NULL},
		{{[1] = 0x1d, [3] = 0x15, [7] = 2}, {0, 1}, NULL},
		{{[1] = 0x04, [5] = 0x12, [6] = 0x34, [7] = 0x56, [15] = 1}, {1, 1}, "CQ 0x123456 failed: overrun"},
		{{[1] = 0x04, [7] = 0x56, [15] = 2}, {1, 1}, "CQ 0x56 failed: access violation"},
		{{[1] = 0x05, [7] = 0x77}, {1, 1}, "QP 0x77 went to the error state: work queue error"},
		{{[1] = 0x10, [7] = 0x78}, {1, 1}, "QP 0x78 went to the error state: invalid request"},
		{{[1] = 0x11, [7] = 0x79}, {1, 1}, "QP 0x79 went to the error state: access violation"},
		{{[1] = 0x12, [7] = 0x41}, {1, 1}, "SRQ 0x41 went to the error state"},
		{{[1] = 0x02, [7] = 0x41}, {1, 1}, NULL},
		{{[1] = 0x03, [7] = 0x41}, {1, 1}, NULL},
		{{[1] = 0x13, [7] = 0x41}, {1, 1}, NULL},
		{{[1] = 0x14, [7] = 0x41}, {1, 1}, NULL},
		{{[1] = 0x1b}, {1, 1}, "[card-hot] the card warns of its temperature"},
		{{[1] = 0x3e, [3] = 0x10, [7] = 2}, {0, 1}, NULL},
		{{[1] = 0x3e, [3] = 0x01, [7] = 2}, {0, 1}, "[module-unusable] port 2: the card finds a fault in what"},
		{{[1] = 0x3e, [3] = 0x02, [7] = 1}, {1, 0}, "port 1: the card does not support what is plugged in"},
		{{[1] = 0x3e, [3] = 0x05, [7] = 2}, {1, 1}, "[card-error] port 2: recoverable error, sub-type 0x05"},
		/* Of no use to anybody. */
		{{[1] = 0x0e}, {0, 0}, NULL},
		{{[1] = 0x55}, {0, 0}, NULL},
	};
	unsigned int i, lines;
	char *text;

	for (i = 0; i < RTE_DIM(row); i++) {
		uint8_t eqe[MLX4_EQE_SIZE] = {[20] = 0x99};

		print_message("row %u\n", i);
		memcpy(eqe, row[i].eqe, sizeof(row[i].eqe));
		memset(told.heard, 0, sizeof(told.heard));
		rig_log_begin();
		event(eqe);
		text = rig_log_end(&lines);
		assert_int_equal(lines, row[i].words != NULL);
		if (lines != 0 && strstr(text, row[i].words) == NULL)
			fail_msg("%s", text);
		free(text);
		assert_int_equal(told.heard[1][0], row[i].heard[0]);
		assert_int_equal(told.heard[1][1], row[i].heard[0]);
		assert_int_equal(told.heard[2][0], row[i].heard[1]);
		assert_int_equal(told.heard[2][1], 0); /* nobody is there */
		if (row[i].heard[0] + row[i].heard[1] == 0)
			continue;
		assert_int_equal(told.type, eqe[1]);
		assert_memory_equal(told.eqe, eqe, 31);
	}
	assert_int_equal(hca->qp_errors, 3);
	assert_false(hca->dead);
	/* The doorbell: the entries taken, armed. */
	assert_int_equal(rte_be_to_cpu_32(*hca->async_eq->db), 0x80000000u | 2 * RTE_DIM(row));
	/* Who is gone hears nothing. */
	mlx4_hca_on_event(hca, 1, MLX4_CLIENT_ETH, NULL, NULL);
	memset(told.heard, 0, sizeof(told.heard));
	event((const uint8_t[MLX4_EQE_SIZE]){[1] = 0x09, [12] = 0x10});
	assert_int_equal(told.heard[1][0], 0);
	assert_int_equal(told.heard[1][1], 1);
}

/* The card says that it failed: each port is told once, and no command goes to it. */
static void
test_fatal(void **state)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {[1] = 0x08};
	unsigned int lines;
	char *text;

	rig_log_begin();
	put(hca->async_eq, hca->async_eq->ci, eqe);
	interrupt();
	while (__atomic_load_n(&told.heard[2][0], __ATOMIC_ACQUIRE) == 0)
		rte_delay_us_sleep(50);
	mlx4_hca_mark_dead(hca, "again");
	text = rig_log_end(&lines);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(text, "it reports a fatal error"));
	free(text);
	assert_int_equal(told.type, 0x08);
	assert_int_equal(told.heard[1][0], 1);
	assert_int_equal(told.heard[2][0], 1);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), -EIO);
}

/* One that cannot say so is looked at now and then. */
static void
test_watch(void **state)
{
	hca->caps.catas_off = 0x1f020;
	rig_log_begin();
	card.catas = 0x12345678;
	while (__atomic_load_n(&told.heard[1][1], __ATOMIC_ACQUIRE) == 0)
		rte_delay_us_sleep(1000);
	rig_log_one("it reports a fatal error in its error buffer", "fake0");
	assert_true(hca->dead);
}

/* A thread that waits for a command leaves what else it finds to the interrupt thread. */
static void
test_found_by_others(void **state)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {[1] = 0x09, [12] = 0x10};

	put(hca->async_eq, 0, eqe);
	eqe[12] = 0x20;
	put(hca->async_eq, 1, eqe);
	mlx4_events_poll_cmd(hca);
	assert_int_equal(hca->async_eq->ci, 2);
	while (__atomic_load_n(&told.heard[2][0], __ATOMIC_ACQUIRE) == 0)
		rte_delay_us_sleep(50);
	assert_int_equal(told.heard[1][0], 1);
	assert_memory_equal(told.eqe, eqe, 31);
	assert_int_equal(told.seq, 1); /* by its place in the EQ, not by the time */
}

/* What was written, and nobody has looked at, counts. */
static void
test_seq(void **state)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {[1] = 0x09, [12] = 0x10};
	uint64_t at;

	assert_int_equal(mlx4_events_seq(hca), 0);
	for (at = 0; at < 70; at++)
		put(hca->async_eq, at, eqe);
	assert_int_equal(mlx4_events_seq(hca), 70);
	assert_int_equal(mlx4_events_seq(hca), 70);
	while (__atomic_load_n(&told.heard[1][0], __ATOMIC_ACQUIRE) < 64)
		rte_delay_us_sleep(50);
	event(eqe);
	assert_int_equal(told.seq, 70);
}

static sem_t answered;

/* A program's function for links that wants a lock, which the thread that waits for a command has. */
static void
on_link(struct mlx4_hca *h, unsigned int port, const struct mlx4_async_event *e, void *arg)
{
	while (sem_wait(&answered) != 0)
		assert_int_equal(errno, EINTR);
	on_event(h, port, e, arg);
}

/* The card wrote of a link and then of the command, before the interrupt thread looks. */
static void
link_and_command(struct mlx4_hca *h)
{
	static const uint8_t link[MLX4_EQE_SIZE] = {[1] = 0x09, [12] = 0x10};
	bool both;

	pthread_mutex_lock(&card.lock);
	both = card.num_eqes != 0;
	if (both) {
		put(h->async_eq, h->async_eq->ci + 1, card.eqe[--card.num_eqes]);
		put(h->async_eq, h->async_eq->ci, link);
	}
	pthread_mutex_unlock(&card.lock);
	if (both)
		interrupt();
}

/* One interrupt brings both: the command is answered while the function for links is at work. */
static void
test_command_behind_link(void **state)
{
	int rc;

	assert_int_equal(sem_init(&answered, 0, 0), 0);
	hca->caps.max_cmds = 1;
	mlx4_hca_on_event(hca, 1, MLX4_CLIENT_ETH, on_link, (void *)0);
	/* Its first command, and another one. */
	rc = mlx4_cmd_use_events(hca, link_and_command);
	sem_post(&answered);
	assert_int_equal(rc, 0);
	rig_handled();
	assert_int_equal(told.heard[1][0], 1);
	rc = mlx4_cmd(hca, MLX4_CMD_NOP, 0, MLX4_NOP_MODIFIER, NULL, 0, NULL, 0);
	sem_post(&answered);
	assert_int_equal(rc, 0);
	rig_handled();
	assert_int_equal(told.heard[1][0], 2);
	mlx4_cmd_use_polling(hca);
	sem_destroy(&answered);
}

static uint32_t cqns[64];
static unsigned int num_cqns;

static void
on_cq(void *arg, uint32_t cqn)
{
	assert_ptr_equal(arg, &card);
	cqns[num_cqns++] = cqn;
}

/* Completion queues that have something, in their order, however many; then the event queue is armed. */
static void
test_completions(void **state)
{
	struct mlx4_eq *eq = hca->comp_eq[0];
	unsigned int i;

	assert_int_equal(hca->num_comp_eq, 1);
	assert_int_equal(eq->eqn, EQN + 1);
	num_cqns = 0;
	mlx4_comp_eq_rearm(hca, 0, on_cq, &card);
	assert_int_equal(num_cqns, 0);
	assert_int_equal(rte_be_to_cpu_32(*eq->db), 0x80000000);
	for (i = 0; i < 40; i++)
		put(eq, i, (const uint8_t[MLX4_EQE_SIZE]){[1] = i == 5 ? 9 : 0, [5] = 0xab, [7] = (uint8_t)i});
	mlx4_comp_eq_rearm(hca, 0, on_cq, &card);
	assert_int_equal(num_cqns, 39);
	for (i = 0; i < 39; i++)
		assert_int_equal(cqns[i], 0xab0000 | (i < 5 ? i : i + 1));
	assert_int_equal(rte_be_to_cpu_32(*eq->db), 0x80000028);
}

/* Vectors that cannot be had: said, and nothing is left. */
static void
test_no_vectors(void **state)
{
	const uint32_t used = mlx4_numbers_used(hca->mtts);

	mlx4_events_stop(hca);
	assert_int_equal(mlx4_numbers_used(hca->mtts), 0);
	card.irq_setup_rc = -EIO;
	rig_log_begin();
	assert_int_equal(mlx4_events_start(hca), -EIO);
	rig_log_one("cannot connect 1 MSI-X vectors", "Input/output error");
	assert_int_equal(mlx4_numbers_used(hca->mtts), 0);
	assert_null(hca->events);
	card.irq_setup_rc = 0;
	assert_int_equal(mlx4_events_start(hca), 0);
	assert_int_equal(mlx4_numbers_used(hca->mtts), used);
	assert_int_equal(card.irqs, 1);
	card.irq_setup_rc = -ENOSPC;
	assert_int_equal(mlx4_rx_vectors_connect(hca), -ENOSPC);
	assert_int_equal(hca->num_vectors, 1);
}

/* --- clients ----------------------------------------------------------------------------------------------- */

static char calls[256];
static int rc_of[2];

static int
call(const char *what, unsigned int client, unsigned int port)
{
	size_t len = strlen(calls);

	snprintf(calls + len, sizeof(calls) - len, "%s%u.%u ", what, client, port);
	return rc_of[client];
}

#define CLIENT(n)                                                                                                      \
	static int create##n(struct mlx4_hca *h, unsigned int port, const struct mlx4_eth_args *args)                  \
	{                                                                                                              \
		return call("create", n, port);                                                                        \
	}                                                                                                              \
	static void down##n(struct mlx4_hca *h, unsigned int port)                                                     \
	{                                                                                                              \
		call("down", n, port);                                                                                 \
	}                                                                                                              \
	static int up##n(struct mlx4_hca *h, unsigned int port)                                                        \
	{                                                                                                              \
		return call("up", n, port);                                                                            \
	}                                                                                                              \
	static int remove##n(const struct rte_device *dev)                                                             \
	{                                                                                                              \
		return call("remove", n, 0);                                                                           \
	}
CLIENT(0)
CLIENT(1)

static void
called(const char *want)
{
	assert_string_equal(calls, want);
	calls[0] = '\0';
}

/* Each makes its ports in order; what goes goes in reverse, since one may build on another. */
static void
test_clients(void **state)
{
	static struct mlx4_client_ops first = {create0, down0, up0, remove0}, second = {create1, down1, up1, remove1};

	mlx4_client_register(MLX4_CLIENT_ETH, &first);
	mlx4_client_register(MLX4_CLIENT_ROCE, &second);
	assert_int_equal(mlx4_clients_create(hca, NULL), 0);
	called("create0.1 create1.1 create0.2 create1.2 ");
	mlx4_clients_down(hca);
	called("down1.1 down0.1 down1.2 down0.2 ");
	mlx4_clients_leave(hca, 2, MLX4_CLIENT_ETH);
	called("down1.2 ");
	mlx4_clients_leave(hca, 1, MLX4_CLIENT_ROCE);
	called("down0.1 ");
	assert_int_equal(mlx4_clients_up(hca), 0);
	called("up0.1 up1.1 up0.2 up1.2 ");
	assert_int_equal(mlx4_clients_remove(NULL), 0);
	called("remove0.0 remove1.0 ");
	/* Making ends at the first that fails; the others go on, and the first error is told. */
	rc_of[1] = -5;
	assert_int_equal(mlx4_clients_create(hca, NULL), -5);
	called("create0.1 create1.1 ");
	rc_of[0] = -6;
	assert_int_equal(mlx4_clients_up(hca), -6);
	called("up0.1 up1.1 up0.2 up1.2 ");
	assert_int_equal(mlx4_clients_remove(NULL), -6);
	called("remove0.0 remove1.0 ");
	rc_of[0] = 0;
	assert_int_equal(mlx4_clients_remove(NULL), -5);
	called("remove0.0 remove1.0 ");
	first.up = NULL;
	rc_of[1] = 0;
	assert_int_equal(mlx4_clients_up(hca), 0);
	called("up1.1 up1.2 ");
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_events),      T(test_fatal),      T(test_watch),   T(test_found_by_others),     T(test_seq),
		T(test_completions), T(test_no_vectors), T(test_clients), T(test_command_behind_link),
	};

	if (rig_eal("mlx4cevt", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
