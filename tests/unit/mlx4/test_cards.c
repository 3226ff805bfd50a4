/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Several cards, a card on a service core, a card that its pollers run, memory of the application, and what an idle card costs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_service.h>

#include "rig.h"

#define SECOND "net_mlx4_model1"
#define SERVICE_CORE 2u
#define FRAMES 2000u
#define TIMEOUT_S 20
#define EXT_LEN (UINT64_C(2) << 20)
#define IDLE_S 2

/* Passes frames from one port to another and checks their order; returns how many arrived. */
static unsigned int
pass(uint16_t from, uint16_t to, unsigned int frames)
{
	uint64_t end = rte_get_tsc_cycles() + rte_get_tsc_hz() * TIMEOUT_S;
	struct rte_ether_addr dst = rig_mac(to);
	struct rte_mbuf *m, *rx[32];
	unsigned int sent = 0, got = 0, i, n;

	while (got < frames && rte_get_tsc_cycles() < end) {
		if (sent < frames && sent - got < 200) {
			m = rig_frame(&dst, RIG_FRAME);
			memcpy(rte_pktmbuf_mtod_offset(m, void *, 20), &sent, sizeof(sent));
			if (rte_eth_tx_burst(from, 0, &m, 1) == 1)
				sent++;
			else
				rte_pktmbuf_free(m);
		}
		n = rte_eth_rx_burst(to, 0, rx, RTE_DIM(rx));
		for (i = 0; i < n; i++, got++)
			assert_memory_equal(rte_pktmbuf_mtod_offset(rx[i], void *, 20), &got, sizeof(got));
		rte_pktmbuf_free_bulk(rx, n);
	}
	return got;
}

static void
check_counts(uint16_t from, uint16_t to)
{
	struct rte_eth_stats tx, rx;

	assert_int_equal(rte_eth_stats_get(from, &tx), 0);
	assert_int_equal(rte_eth_stats_get(to, &rx), 0);
	assert_int_equal(tx.opackets, rx.ipackets);
	assert_int_equal(tx.q_opackets[0], tx.opackets);
	assert_int_equal(rx.q_ipackets[0], rx.ipackets);
	assert_int_equal(rx.ibytes, rx.ipackets * RIG_FRAME);
	assert_int_equal(rx.imissed + rx.ierrors + rx.rx_nombuf + tx.oerrors, 0);
}

static void
test_two_cards(void **state)
{
	uint16_t p;

	assert_int_equal(rig_plug(RIG_DEV, ""), 0);
	assert_int_equal(rig_plug(SECOND, ""), 0);
	assert_int_equal(rte_eth_dev_count_avail(), 4);
	for (p = 0; p < 4; p++)
		rig_start(p, 1, NULL);
	for (p = 0; p < 4; p++) {
		assert_int_equal(pass(p, p ^ 1, FRAMES), FRAMES);
		check_counts(p, p ^ 1);
	}
	rig_no_violations(0);
	rig_no_violations(2);
	rig_unplug(SECOND);
	rig_unplug(RIG_DEV);
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

static int
forward(void *stop)
{
	unsigned int sum = 0;

	while (!__atomic_load_n((bool *)stop, __ATOMIC_ACQUIRE))
		sum += pass(2, 3, 50);
	return (int)sum;
}

/* A card goes, with its ports started, while the other one works on another lcore. */
static void
test_unplug_one(void **state)
{
	unsigned int round, sum;
	bool stop = false;
	uint16_t p;

	assert_int_equal(rig_plug(RIG_DEV, ""), 0);
	assert_int_equal(rig_plug(SECOND, ""), 0);
	for (p = 0; p < 4; p++)
		rig_start(p, 1, NULL);
	assert_int_equal(rte_eal_remote_launch(forward, &stop, 1), 0);
	for (round = 0; round < 5; round++) {
		assert_int_equal(pass(0, 1, 100), 100);
		assert_int_equal(rte_dev_remove(rte_eth_devices[0].device), 0);
		assert_int_equal(rte_eth_dev_count_avail(), 2);
		assert_int_equal(rig_plug(RIG_DEV, ""), 0);
		rig_start(0, 1, NULL);
		rig_start(1, 1, NULL);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	sum = (unsigned int)rte_eal_wait_lcore(1);
	assert_true(sum >= 50);
	assert_int_equal(sum % 50, 0);
	check_counts(2, 3);
	rig_no_violations(2);
	rig_unplug(RIG_DEV);
	rig_unplug(SECOND);
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

static void
test_service(void **state)
{
	uint32_t id;

	assert_int_equal(rte_service_lcore_add(SERVICE_CORE), 0);
	assert_int_equal(rig_plug(RIG_DEV, "run=service"), 0);
	assert_int_equal(rte_service_get_by_name(RIG_DEV, &id), 0);
	assert_int_equal(rte_service_runstate_get(id), 1);
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	assert_int_equal(pass(0, 1, FRAMES), FRAMES);
	assert_int_equal(pass(1, 0, FRAMES), FRAMES);
	rig_no_violations(0);
	rig_unplug(RIG_DEV);
	assert_int_not_equal(rte_service_get_by_name(RIG_DEV, &id), 0);
	/* Without a core the card would never move. */
	assert_int_equal(rte_service_lcore_stop(SERVICE_CORE), 0);
	assert_int_equal(rte_service_lcore_del(SERVICE_CORE), 0);
	rig_log_begin();
	assert_int_not_equal(rig_plug(RIG_DEV, "run=service"), 0);
	{
		unsigned int lines;
		char *text = rig_log_end(&lines);

		assert_non_null(strstr(text, "no service core"));
		free(text);
	}
}

/* --- a card that is run by who polls it --------------------------------------------------------------------- */

static uint64_t
rounds(void)
{
	struct rte_pmd_mlx4_model m;

	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	return m.steps;
}

#define CALLS 1000u
#define TRIES 1000u

static void
poll_empty(void)
{
	struct rte_mbuf *m;

	assert_int_equal(rte_eth_rx_burst(0, 0, &m, 1), 0);
}

static void
send_nothing(void)
{
	struct rte_mbuf *m = NULL;

	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 0), 0);
}

/* Each call is one round of the card, and nobody else makes any: once at least, since this thread may be kept from its CPU. */
static void
each_call_runs(void (*call)(void))
{
	uint64_t before, n = 0;
	unsigned int try, i;

	call(); /* a burst that sends behind one that received runs nothing */
	for (try = 0; try < TRIES && n != CALLS; try++) {
		before = rounds();
		for (i = 0; i < CALLS; i++)
			call();
		n = rounds() - before;
	}
	assert_int_equal(n, CALLS);
}

/* Without a poll or a send: the card's thread takes over. */
static void
wait_received(uint16_t port, int n)
{
	uint64_t end = rte_get_tsc_cycles() + rte_get_tsc_hz() * TIMEOUT_S;

	while (rte_eth_rx_queue_count(port, 0) != n && rte_get_tsc_cycles() < end)
		usleep(100);
	assert_int_equal(rte_eth_rx_queue_count(port, 0), n);
}

static uint16_t
count_calls(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, uint16_t max, void *arg)
{
	++*(unsigned int *)arg;
	return n;
}

/* The card is told, and not run. */
static void
post(uint16_t port, const struct rte_ether_addr *dst)
{
	struct rte_mbuf *m = rig_frame(dst, RIG_FRAME);

	assert_int_equal(rte_eth_tx_burst(port, 0, &m, 1), 1);
}

static void
test_polled(void **state)
{
	const struct rte_eth_rxtx_callback *in_front, *behind;
	unsigned int calls = 0, more = 0;
	struct rte_ether_addr dst;

	assert_int_equal(rig_plug(RIG_DEV, "run=poll"), 0);
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	dst = rig_mac(1);
	assert_int_equal(pass(0, 1, FRAMES), FRAMES);
	assert_int_equal(pass(1, 0, FRAMES), FRAMES);
	each_call_runs(poll_empty);
	each_call_runs(send_nothing);
	poll_empty();
	post(0, &dst);
	wait_received(1, 1);
	assert_int_equal(pass(1, 0, FRAMES), FRAMES);
	/* Functions of the application live beside ours, in front of them and behind. */
	in_front = rte_eth_add_first_rx_callback(0, 0, count_calls, &calls);
	behind = rte_eth_add_rx_callback(0, 0, count_calls, &more);
	assert_non_null(in_front);
	assert_non_null(behind);
	poll_empty();
	assert_int_equal(calls, 1);
	assert_int_equal(more, 1);
	each_call_runs(poll_empty);
	assert_int_equal(rte_eth_remove_rx_callback(0, 0, behind), 0);
	each_call_runs(poll_empty);
	/* Started again, it is run by its polls again. */
	assert_int_equal(rte_eth_dev_stop(0), 0);
	rig_start(0, 1, NULL);
	each_call_runs(poll_empty);
	assert_int_equal(rte_eth_remove_rx_callback(0, 0, in_front), 0);
	rig_no_violations(0);
	rig_unplug(RIG_DEV);
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
	/* Nothing of the old port is left in the new one. */
	assert_int_equal(rig_plug(RIG_DEV, "run=step"), 0);
	assert_null(rte_eth_devices[0].post_rx_burst_cbs[0]);
	assert_null(rte_eth_devices[0].pre_tx_burst_cbs[0]);
	rig_unplug(RIG_DEV);
}

/* Who sleeps until an interrupt polls no more: the thread must not wait for its polls. */
static void
test_polled_sleeper(void **state)
{
	struct rte_eth_conf with = {.intr_conf.rxq = 1};
	struct rte_epoll_event ev;
	struct rte_ether_addr dst;
	struct rte_mbuf *m;
	unsigned int i, k;

	assert_int_equal(rig_plug(RIG_DEV, "run=poll"), 0);
	rig_start(0, 1, NULL);
	rig_start(1, 1, &with);
	dst = rig_mac(1);
	assert_int_equal(rte_eth_dev_rx_intr_ctl_q(1, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL), 0);
	for (i = 0; i < 50; i++) {
		for (k = 0; k < 100; k++)
			assert_int_equal(rte_eth_rx_burst(1, 0, &m, 1), 0);
		assert_int_equal(rte_eth_dev_rx_intr_enable(1, 0), 0);
		post(0, &dst);
		assert_int_equal(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &ev, 1, TIMEOUT_S * 1000), 1);
		assert_int_equal(rte_eth_dev_rx_intr_disable(1, 0), 0);
		assert_int_equal(rte_eth_rx_burst(1, 0, &m, 1), 1);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rte_eth_dev_rx_intr_ctl_q(1, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, NULL), 0);
	rig_no_violations(0);
	rig_unplug(RIG_DEV);
}

static int
pass_back(void *arg)
{
	return (int)pass(1, 0, FRAMES);
}

/* Two lcores poll ports of one card: one runs it at a time, the other does not wait. Then two cards on a switch. */
static void
test_polled_by_two(void **state)
{
	uint16_t p;

	assert_int_equal(rig_plug(RIG_DEV, "run=poll"), 0);
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	assert_int_equal(rte_eal_remote_launch(pass_back, NULL, 1), 0);
	assert_int_equal(pass(0, 1, FRAMES), FRAMES);
	assert_int_equal(rte_eal_wait_lcore(1), FRAMES);
	check_counts(0, 1);
	check_counts(1, 0);
	rig_no_violations(0);
	rig_unplug(RIG_DEV);
	assert_int_equal(rig_plug(RIG_DEV, "ports=1,run=poll,wire0=switch:polled"), 0);
	assert_int_equal(rig_plug(SECOND, "ports=1,run=poll,wire0=switch:polled"), 0);
	for (p = 0; p < 2; p++)
		rig_start(p, 1, NULL);
	for (p = 0; p < 2; p++)
		assert_int_equal(pass(p, p ^ 1, FRAMES), FRAMES);
	rig_no_violations(0);
	rig_no_violations(1);
	rig_unplug(SECOND);
	rig_unplug(RIG_DEV);
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

static void
ext_free(void *addr, void *arg)
{
	++*(unsigned int *)arg;
}

static uint64_t
windows(void)
{
	struct rte_pmd_mlx4_model m;

	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	return m.dma_windows;
}

/* A frame whose bytes are in memory of the application: the card reaches it only when it was opened. */
static void
test_external_memory(void **state)
{
	static struct rte_mbuf_ext_shared_info info;
	unsigned int freed = 0, i;
	struct rte_mbuf *m, *got = NULL;
	struct rte_ether_addr dst;
	struct rte_device *dev;
	uint64_t before;
	uint8_t *mem;

	rig_open_pair("", 1, NULL);
	dev = rte_eth_devices[0].device;
	dst = rig_mac(1);
	before = windows();
	mem = mmap(NULL, EXT_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(mem != MAP_FAILED);
	assert_int_equal(rte_extmem_register(mem, EXT_LEN, NULL, 0, 4096), 0);
	assert_int_equal(windows(), before);
	assert_int_equal(rte_dev_dma_map(dev, mem, (uintptr_t)mem, EXT_LEN), 0);
	assert_int_equal(windows(), before + 1);
	for (i = 0; i < 1000; i++)
		mem[EXT_LEN - 1000 + i] = (uint8_t)(i * 3);
	memcpy(mem + EXT_LEN - 1000, &dst, sizeof(dst));
	info.free_cb = ext_free;
	info.fcb_opaque = &freed;
	rte_mbuf_ext_refcnt_set(&info, 1);
	m = rte_pktmbuf_alloc(rig_pool());
	assert_non_null(m);
	rte_pktmbuf_attach_extbuf(m, mem + EXT_LEN - 1000, (uintptr_t)mem + EXT_LEN - 1000, 1000, &info);
	m->data_len = 1000;
	m->pkt_len = 1000;
	rig_send(0, m);
	assert_int_equal(rte_eth_rx_burst(1, 0, &got, 1), 1);
	assert_int_equal(got->pkt_len, 1000);
	assert_memory_equal(rte_pktmbuf_mtod(got, uint8_t *), mem + EXT_LEN - 1000, 1000);
	rte_pktmbuf_free(got);
	assert_int_equal(rte_eth_tx_done_cleanup(0, 0, 0) >= 0, 1);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(freed, 1);
	assert_int_equal(rte_dev_dma_unmap(dev, mem, (uintptr_t)mem, EXT_LEN), 0);
	assert_int_equal(windows(), before);
	assert_int_equal(rte_extmem_unregister(mem, EXT_LEN), 0);
	munmap(mem, EXT_LEN);
	rig_close();
}

/*
 * An idle card makes one round per sleep of wake-us at the most, however fast or busy the machine is; the link watch of
 * the ports may add a few. Its share of a CPU is measured by the bench.
 */
static void
test_idle(void **state)
{
	uint64_t before, n, began, ms;
	unsigned int started, i;

	assert_int_equal(rig_plug(RIG_DEV, "wake-us=2000"), 0);
	for (started = 0; started < 2; started++) {
		if (started != 0) {
			rig_start(0, 1, NULL);
			rig_start(1, 1, NULL);
		}
		sleep(1);
		began = rte_get_tsc_cycles();
		before = rounds();
		/* The card's thread may have no CPU for that long. */
		for (i = 0, n = 0; i < TIMEOUT_S && n == 0; i++) {
			sleep(IDLE_S);
			n = rounds() - before;
		}
		ms = (rte_get_tsc_cycles() - began) * 1000 / rte_get_tsc_hz();
		print_message("idle card, ports %s: %" PRIu64 " rounds in %" PRIu64 " ms\n",
			      started ? "started" : "stopped", n, ms);
		assert_in_range(n, 1, ms / 2 + 10);
	}
	rig_close();
}

static struct tp_model_stats
stats(void)
{
	struct mlx4_bus *bus = mlx4_eth_by_port(0)->hca->bus;
	struct tp_model_stats st;

	tp_model_get_stats(bus->ops->model(bus), &st);
	return st;
}

/* Waits for one more sleep that a doorbell ends. */
static void
wait_armed(uint64_t before)
{
	uint64_t end = rte_get_tsc_cycles() + rte_get_tsc_hz() * TIMEOUT_S;

	while (stats().watch_arms == before && rte_get_tsc_cycles() < end)
		usleep(1000);
	assert_int_not_equal(stats().watch_arms, before);
}

#define WAKES 20u

/*
 * An event that the interrupt thread takes may wake the card between two looks, and the frame then finds it awake. arms: how often
 * the card had gone to sleep before it was woken last, which is returned for the next call.
 */
static uint64_t
frames_wake(uint64_t arms)
{
	struct rte_ether_addr dst = rig_mac(1);
	unsigned int i, woken = 0;
	struct rte_mbuf *m;

	for (i = 0; i < 10 * WAKES && woken < WAKES; i++) {
		struct tp_model_stats st;

		wait_armed(arms);
		st = stats();
		arms = st.watch_arms;
		post(0, &dst);
		wait_received(1, 1);
		assert_int_equal(rte_eth_rx_burst(1, 0, &m, 1), 1);
		rte_pktmbuf_free(m);
		woken += stats().watch_wakes != st.watch_wakes;
	}
	assert_int_equal(woken, WAKES);
	return arms;
}

/* A card that sleeps is woken by who is about to ring a doorbell, or by the doorbell: its sleeps would be up to a second long. */
static void
test_woken(void **state)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct tp_model_stats st;
	struct mlx4_bus *bus;
	uint64_t arms;
	uint16_t p;

	if (fd < 0) {
		printf("skip test_woken: no userfaultfd: %s\n", strerror(errno));
		skip();
	}
	close(fd);
	assert_int_equal(rig_plug(RIG_DEV, "wake-us=1000000"), 0);
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	arms = frames_wake(0);
	/* By the doorbell alone, as that of another queue than an ethdev's. */
	bus = mlx4_eth_by_port(0)->hca->bus;
	for (p = 0; p < 2; p++)
		bus->ops->leave(bus, &rte_eth_devices[p]);
	assert_null(rte_eth_devices[0].pre_tx_burst_cbs[0]);
	frames_wake(arms);
	/* Without it the card looks now and then. */
	tp_model_unwatch(bus->ops->model(bus));
	st = stats();
	assert_int_equal(pass(0, 1, 100), 100);
	assert_int_equal(stats().watch_wakes, st.watch_wakes);
	rig_no_violations(0);
	rig_unplug(RIG_DEV);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_cards),
		cmocka_unit_test(test_unplug_one),
		cmocka_unit_test(test_external_memory),
		cmocka_unit_test(test_service),
		cmocka_unit_test(test_polled),
		cmocka_unit_test(test_polled_sleeper),
		cmocka_unit_test(test_polled_by_two),
		cmocka_unit_test(test_woken),
		cmocka_unit_test(test_idle),
	};

	/* They float over the CPUs, of which there may be less. */
	if (rig_eal("mlx4crd", "(0-2)") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
