/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which interrupt vectors are connected: those of receive queues when the first port wants them, and what goes on beside it. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_epoll.h>
#include <rte_interrupts.h>

#include "rig.h"

#define PORTS 2u
#define VERBS PORTS      /* one of each port */
#define RX (32u * PORTS) /* as many as a port has queues with interrupts */
#define WAIT_MS 30000

static const struct rte_eth_conf with = {.intr_conf = {.rxq = 1}};

static int
setup(void **state)
{
	rig_open_pair("", 1, NULL);
	return 0;
}

/* Event fds of this process. */
static unsigned int
eventfds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	char text[64];
	unsigned int n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, text, sizeof(text) - 1);

		if (len > 0) {
			text[len] = 0;
			n += strcmp(text, "anon_inode:[eventfd]") == 0;
		}
	}
	closedir(dir);
	return n;
}

static int
listen_to(uint16_t port, int op)
{
	return rte_eth_dev_rx_intr_ctl_q(port, 0, RTE_EPOLL_PER_THREAD, op, NULL);
}

static void
wakes(uint16_t port)
{
	struct rte_ether_addr dst = rig_mac(port);
	struct rte_epoll_event ev;

	assert_int_equal(rte_eth_dev_rx_intr_enable(port, 0), 0);
	rig_run(0);
	rig_send(1 - port, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &ev, 1, WAIT_MS), 1);
	assert_int_equal(rte_eth_dev_rx_intr_disable(port, 0), 0);
	assert_int_equal(rig_drain(port, 0), 1);
}

static void
test_on_demand(void **state)
{
	unsigned int all, n = eventfds();

	(void)state;
	assert_true(listen_to(1, RTE_INTR_EVENT_ADD) < 0);
	assert_int_equal(rte_eth_dev_rx_intr_enable(1, 0), -EINVAL);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 1, &with);
	all = eventfds();
	assert_int_equal(all - n, RX);
	assert_int_equal(listen_to(1, RTE_INTR_EVENT_ADD), 0);
	wakes(1);
	/* The other port's are connected by now, which disturbs nobody who waits. */
	assert_int_equal(rte_eth_dev_rx_intr_enable(1, 0), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	rig_start(0, 1, &with);
	assert_int_equal(eventfds(), all);
	wakes(1);
	assert_int_equal(listen_to(1, RTE_INTR_EVENT_DEL), 0);
	assert_int_equal(listen_to(0, RTE_INTR_EVENT_ADD), 0);
	wakes(0);
	assert_int_equal(listen_to(0, RTE_INTR_EVENT_DEL), 0);
	/* They stay until the card is closed. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 1, NULL);
	assert_int_equal(eventfds(), all);
	rig_close();
	assert_true(eventfds() <= n - 1 - VERBS);
	setup(NULL);
	assert_int_equal(eventfds(), n);
}

static void
limit_fds(rlim_t cur)
{
	struct rlimit lim;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	lim.rlim_cur = cur != 0 ? cur : lim.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
}

/* Refused with a reason, nothing leaks, the port works without; then there is room. */
static void
test_no_more_fds(void **state)
{
	unsigned int n = eventfds();
	int next = dup(0);

	(void)state;
	assert_true(next >= 0);
	close(next);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	limit_fds((rlim_t)next + RX / 2);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_configure(1, 1, 1, &with), -EMFILE);
	rig_log_one("67 MSI-X vectors", "Too many open files");
	limit_fds(0);
	assert_int_equal(eventfds(), n);
	rig_start(1, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_model_cable(1, false), 0);
	rig_run(0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_pmd_mlx4_model_cable(1, true), 0);
	rig_start(1, 1, &with);
	assert_int_equal(eventfds() - n, RX);
	assert_int_equal(listen_to(1, RTE_INTR_EVENT_ADD), 0);
	wakes(1);
	assert_int_equal(listen_to(1, RTE_INTR_EVENT_DEL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_on_demand, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_no_more_fds, setup, rig_teardown),
	};

	if (rig_eal("mlx4vec", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
