/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * longrun EAL-ARGUMENTS -- [seed=N] [ops=N] [seconds=N] [check=N] [lose=N], for tests/system/test_longrun.py: two ports of a
 * card that are joined send numbered frames to each other while seeded control operations change everything. After every
 * check=N operations the traffic rests, and each frame must be accounted for: in what left, on the wire, and in what
 * arrived, by counters with names. Prints what was done as "NAME COUNT" lines; exit status 1 and a reason when a
 * frame is missing. seconds=N: for so long instead of so many operations. lose=N: one frame is lost on purpose.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "longrun.h"
#include "rte_pmd_mlx4.h"

#define BUFS 65535u

struct options {
	uint64_t seed, ops, seconds, check, lose;
};

/* Where frames of one direction went. */
struct term {
	const char *name;
	uint64_t n;
};

static uint64_t operations, checks, accounted;

static uint64_t
xstat(uint16_t port, const char *name)
{
	uint64_t id, value = 0;

	if (rte_eth_xstats_get_id_by_name(port, name, &id) != 0 || rte_eth_xstats_get_by_id(port, &id, &value, 1) != 1)
		rte_exit(EXIT_FAILURE, "port %u has no counter %s\n", port, name);
	return value;
}

/* All that one side counted must be what the other side counts. */
static bool
balances(uint16_t from, const char *what, uint64_t total, const struct term *t, unsigned int n)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		sum += t[i].n;
	if (sum == total)
		return true;
	printf("from port %u after %" PRIu64 " operations: %s %" PRIu64 ", but", from, operations, what, total);
	for (i = 0; i < n; i++)
		printf(" %s %" PRIu64, t[i].name, t[i].n);
	printf(": %" PRId64 " missing\n", (int64_t)(total - sum));
	return false;
}

static bool
direction(uint16_t a, const struct rte_pmd_mlx4_model m[PORTS])
{
	const uint16_t b = (uint16_t)(1 - a);
	const uint64_t left = xstat(a, "tx_port_packets"), arrived = xstat(b, "rx_port_packets");
	const struct term leaving[] = {
		{"left the port", left},
		{"tx_port_discards", xstat(a, "tx_port_discards")},
		{"tx_stop_drops", xstat(a, "tx_stop_drops")},
	};
	const struct term wire[] = {
		{"reached the port", arrived},
		{"wire_drops", m[a].wire_drops},
		{"impair_drops", m[b].impair_drops},
		{"rx_link_down", m[b].rx_link_down},
		{"rx_port_too_long_errors", xstat(b, "rx_port_too_long_errors")},
		{"rx_port_crc_errors", xstat(b, "rx_port_crc_errors")},
	};
	const struct term arriving[] = {
		{"were received", lr_traffic.count[b].received},
		{"rx_port_discards", xstat(b, "rx_port_discards")},
		{"rx_port_overflow_discards", xstat(b, "rx_port_overflow_discards")},
		{"rx_no_rule", m[b].rx_no_rule},
		{"rx_vlan_filtered", m[b].rx_vlan_filtered},
		{"rx_stop_drops", xstat(b, "rx_stop_drops")},
	};

	accounted += lr_traffic.count[a].sent;
	return balances(a, "sent", lr_traffic.count[a].sent, leaving, RTE_DIM(leaving)) &&
	       balances(a, "left the port", left, wire, RTE_DIM(wire)) &&
	       balances(a, "reached the peer", arrived, arriving, RTE_DIM(arriving));
}

static bool
check(void)
{
	struct rte_pmd_mlx4_model m[PORTS];
	struct rte_eth_stats st;
	bool good = true;
	uint16_t p;

	lr_settle();
	accounted = 0;
	for (p = 0; p < PORTS; p++)
		if (rte_pmd_mlx4_model_get(p, &m[p]) != 0)
			rte_exit(EXIT_FAILURE, "port %u is not one of a model\n", p);
	for (p = 0; p < PORTS; p++) {
		const struct lr_count *c = &lr_traffic.count[p];

		good &= direction(p, m);
		if (c->twice != 0 || c->foreign != 0 || c->damaged != 0) {
			printf("port %u received %" PRIu64 " twice, %" PRIu64 " foreign, %" PRIu64 " damaged\n", p,
			       c->twice, c->foreign, c->damaged);
			good = false;
		}
		if (rte_eth_stats_get(p, &st) != 0 || st.oerrors != xstat(p, "tx_port_discards")) {
			printf("port %u: %" PRIu64 " errors in sending\n", p, st.oerrors);
			good = false;
		}
	}
	if (m[0].violations != 0) {
		printf("%" PRIu64 " rules of the card were broken: %s\n", m[0].violations, m[0].last_violation);
		good = false;
	}
	checks++;
	lr_resume();
	return good;
}

/* Only what stops a queue may lose what waits in it. */
static uint64_t
stop_drops(void)
{
	uint64_t sum = 0;
	uint16_t p;

	for (p = 0; p < PORTS; p++)
		sum += xstat(p, "rx_stop_drops") + xstat(p, "tx_stop_drops");
	return sum;
}

static bool
operate(const struct options *o)
{
	const uint64_t end = rte_get_timer_cycles() + o->seconds * rte_get_timer_hz();
	bool good = true;

	while (good && (o->seconds != 0 ? rte_get_timer_cycles() < end : operations < o->ops)) {
		struct lr_port *p = &lr_port[lr_random(PORTS)];
		struct lr_op *op = &lr_ops[lr_random(lr_num_ops)];
		const uint64_t before = stop_drops();
		int ret = op->run(p);

		operations++;
		if (ret == 0 && !op->stops && stop_drops() != before) {
			printf("port %u: operation %" PRIu64 ", %s, threw %" PRIu64 " frames away\n", p->id, operations,
			       op->name, stop_drops() - before);
			return false;
		}
		if (ret != 0) {
			printf("port %u: operation %" PRIu64 ", %s: %s\n", p->id, operations, op->name,
			       rte_strerror(-ret));
			return false;
		}
		op->done++;
		lr_told(); /* frames pass between two operations, however busy the machine is */
		if (operations % o->check == 0)
			good = check();
	}
	return good && check();
}

static void
report(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < lr_num_ops; i++)
		printf("%s %" PRIu64 "\n", lr_ops[i].name, lr_ops[i].done);
	for (i = 0; i < PORTS; i++)
		sum += lr_traffic.count[i].received;
	printf("operations %" PRIu64 "\nchecks %" PRIu64 "\nsent %" PRIu64 "\nreceived %" PRIu64 "\n", operations,
	       checks, accounted, sum);
}

static void
parse(int argc, char **argv, struct options *o)
{
	const struct {
		const char *name;
		uint64_t *value;
	} known[] = {{"seed=", &o->seed},
		     {"ops=", &o->ops},
		     {"seconds=", &o->seconds},
		     {"check=", &o->check},
		     {"lose=", &o->lose}};
	unsigned int k;
	int i;

	for (i = 1; i < argc; i++) {
		for (k = 0; k < RTE_DIM(known); k++)
			if (strncmp(argv[i], known[k].name, strlen(known[k].name)) == 0)
				break;
		if (k == RTE_DIM(known))
			rte_exit(EXIT_FAILURE, "'%s', want seed=, ops=, seconds=, check= or lose=\n", argv[i]);
		*known[k].value = strtoull(argv[i] + strlen(known[k].name), NULL, 0);
	}
	if (o->check == 0)
		rte_exit(EXIT_FAILURE, "check=0, want 1 or more\n");
}

int
main(int argc, char **argv)
{
	struct options o = {.seed = 1, .ops = 200, .check = 50};
	unsigned int worker;
	bool good = true;
	uint16_t p;
	int n = rte_eal_init(argc, argv);

	if (n < 0)
		rte_exit(EXIT_FAILURE, "EAL: %s\n", rte_strerror(rte_errno));
	parse(argc - n, argv + n, &o);
	worker = rte_get_next_lcore(-1, 1, 0);
	lr_traffic.pool = rte_pktmbuf_pool_create("longrun", BUFS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (worker == RTE_MAX_LCORE || lr_traffic.pool == NULL)
		rte_exit(EXIT_FAILURE, "want a second lcore and memory for %u buffers\n", BUFS);
	lr_traffic.seed = o.seed;
	lr_traffic.lose = o.lose;
	lr_seed(o.seed);
	for (p = 0; p < PORTS; p++) {
		lr_port[p].id = p;
		lr_traffic.rest[p] = true;
		if (rte_eth_macaddr_get(p, &lr_traffic.mac[p]) != 0)
			rte_exit(EXIT_FAILURE, "want two ports\n");
	}
	rte_eal_remote_launch(lr_worker, NULL, worker);
	for (p = 0; p < PORTS && good; p++)
		good = lr_up(&lr_port[p], 4) == 0;
	lr_resume();
	for (p = 0; p < PORTS; p++)
		lr_traffic.rest[p] = false;
	good = good && operate(&o);
	report();
	lr_traffic.quit = true;
	rte_eal_mp_wait_lcore();
	for (p = 0; p < PORTS; p++)
		if (rte_eth_dev_stop(p) != 0 || rte_eth_dev_close(p) != 0)
			good = false;
	if (rte_mempool_in_use_count(lr_traffic.pool) != 0) {
		printf("%u buffers did not come back\n", rte_mempool_in_use_count(lr_traffic.pool));
		good = false;
	}
	rte_eal_cleanup();
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
