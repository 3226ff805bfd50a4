/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports that cannot be opened, and what of a port's counters is missing or fails. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "lib/roce/port/front.h"

#include "verbs_qp.h"

/* The library receives and sends on the port's queues: one with none of a kind is of no use. */
static void
test_queues(void **state)
{
	static const struct rte_eth_conf conf;
	struct rte_mempool *pool = rte_mempool_lookup("rx");

	(void)state;
	for (uint16_t rx = 0; rx < 2; rx++) {
		char words[128];

		assert_int_equal(rte_eth_dev_stop(fake_port2), 0);
		assert_int_equal(rte_eth_dev_configure(fake_port2, rx, (uint16_t)!rx, &conf), 0);
		if (rx != 0)
			assert_int_equal(rte_eth_rx_queue_setup(fake_port2, 0, 64, 0, NULL, pool), 0);
		else
			assert_int_equal(rte_eth_tx_queue_setup(fake_port2, 0, 64, 0, NULL), 0);
		assert_int_equal(rte_eth_dev_start(fake_port2), 0);
		snprintf(words, sizeof(words), "it has %u receive and %u send queues", rx, !rx);
		fake_reset();
		fake.both = true;
		errno = 0;
		assert_null(tp_roce_open(fake_port2, NULL));
		assert_int_equal(errno, EINVAL);
		assert_int_equal(fake_lines(), 1);
		assert_true(fake_said(words));
		assert_int_equal(fake.calls, 0);
	}
}

/* An InfiniBand port is one of the list, and its provider's. */
static void
test_infiniband(void **state)
{
	struct troce_ib_port port = {.name = "ib7", .prov = troce_dev_of(ctx)->prov};
	struct tp_roce_conf conf = {.provider = "mlx4"};

	(void)state;
	REFUSED_PTR(tp_roce_open_ib("ib7", NULL), ENODEV, "ib7: no such InfiniBand port");
	conf.provider = "fake";
	REFUSED_PTR(tp_roce_open_ib("ib7", &conf), ENODEV, "ib7: no such InfiniBand port of provider fake");
	assert_int_equal(troce_ib_add(&port), 0);
	conf.provider = "mlx4";
	REFUSED_PTR(tp_roce_open_ib("ib7", &conf), ENODEV, "ib7: no such InfiniBand port of provider mlx4");
	REFUSED_PTR(tp_roce_open_ib("ib8", NULL), ENODEV, "ib8: no such InfiniBand port");
	troce_ib_del("ib7");
}

static void
count_names(void *arg, const char *name, uint64_t value)
{
	++*(unsigned int *)arg;
}

/* A provider that counts nothing is none that fails. */
static void
test_stats(void **state)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	const struct troce_provider *was = dev->prov;
	struct troce_provider none = *was;
	unsigned int all = 0, some = 0;

	(void)state;
	assert_int_equal(tp_roce_stats(ctx, count_names, &all), 0);
	none.stats = NULL;
	dev->prov = &none;
	assert_int_equal(tp_roce_stats(ctx, count_names, &some), 0);
	assert_int_equal(tp_roce_home_stats(ctx, count_names, &some), ENOTSUP);
	dev->prov = was;
	assert_int_equal(some, all - 1); /* "fake_counter" */
	fake_reset();
	fake.fail_op = "stats";
	fake.fail_err = EIO;
	assert_int_equal(tp_roce_stats(ctx, count_names, &all), EIO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues),
		cmocka_unit_test_setup_teardown(test_infiniband, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stats, setup, teardown),
	};

	return fake_eal("--no-telemetry") != 0 ? 1 : cmocka_run_group_tests_name("roce_verbs_ends", tests, NULL, NULL);
}
