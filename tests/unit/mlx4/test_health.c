/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The watch over health, look by look: each sensor with a fault of its own in the card, and nothing else. A stepped card is not
 * looked at by the thread.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/resource.h>

#include "drivers/mlx4/health/health.h"
#include "drivers/mlx4/tx/queue.h"
#include "rig.h"

#define CHECKS 4 /* looks that make an alarm, at first */

static struct {
	unsigned int recovering, success, failed, reset;
} told[2];

static int
on_event(uint16_t port, enum rte_eth_event_type event, void *arg, void *param)
{
	switch (event) {
	case RTE_ETH_EVENT_ERR_RECOVERING: told[port].recovering++; break;
	case RTE_ETH_EVENT_RECOVERY_SUCCESS: told[port].success++; break;
	case RTE_ETH_EVENT_RECOVERY_FAILED: told[port].failed++; break;
	default: told[port].reset++; break;
	}
	return 0;
}

static struct mlx4_eth *
eth(uint16_t port)
{
	return rte_eth_devices[port].data->dev_private;
}

static struct rte_pmd_mlx4_health
health(uint16_t port)
{
	struct rte_pmd_mlx4_health h;

	assert_int_equal(rte_pmd_mlx4_health_get(port, &h), 0);
	return h;
}

static void
looks(uint16_t port, unsigned int n)
{
	while (n-- != 0)
		mlx4_health_look(eth(port));
}

static void
masks(uint16_t port, uint32_t restart, uint32_t dump)
{
	struct rte_pmd_mlx4_health_conf conf;
	char err[TP_ERR_LEN];

	assert_int_equal(rte_pmd_mlx4_health_conf_get(port, &conf), 0);
	conf.restart_mask = restart;
	conf.dump_mask = dump;
	assert_int_equal(rte_pmd_mlx4_health_conf_set(port, &conf, err), 0);
}

static int
setup(void **state)
{
	static const enum rte_eth_event_type events[] = {RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_SUCCESS,
							 RTE_ETH_EVENT_RECOVERY_FAILED, RTE_ETH_EVENT_INTR_RESET};
	unsigned int i, p;

	memset(told, 0, sizeof(told));
	rig_open_pair("", 1, NULL);
	for (p = 0; p < 2; p++)
		for (i = 0; i < RTE_DIM(events); i++)
			assert_int_equal(rte_eth_dev_callback_register((uint16_t)p, events[i], on_event, NULL), 0);
	/* The links come up, and that is known. */
	rig_settle(0);
	return 0;
}

/* Of tests that break rules. */
static int
unplug(void **state)
{
	rig_unplug(RIG_DEV);
	return 0;
}

static void
offer(uint16_t port, unsigned int n)
{
	struct rte_ether_addr mac = rig_mac(!port);

	while (n-- != 0) {
		struct rte_mbuf *m = rig_frame(&mac, RIG_FRAME);

		assert_int_equal(rte_eth_tx_burst(port, 0, &m, 1), 1);
	}
	rig_run(port);
}

static void
well(uint16_t port)
{
	struct rte_pmd_mlx4_health h = health(port);

	if (h.alarms != 0 || h.last[0] != '\0')
		fail_msg("port %u: %s", port, h.last);
	assert_int_equal(h.restarts + h.restarts_failed + h.restarts_refused + h.dumps, 0);
}

/* Nothing to find: no alarm, and the card is not asked. What is sent and received between looks is none, either. */
static void
test_well(void **state)
{
	struct rte_pmd_mlx4_device before, after;
	unsigned int i;

	assert_int_equal(rte_pmd_mlx4_device_get(0, &before), 0);
	looks(0, 50);
	looks(1, 50);
	assert_int_equal(rte_pmd_mlx4_device_get(0, &after), 0);
	/* The two reports ask for the port themselves. */
	assert_in_range(after.commands - before.commands, 0, 2);
	for (i = 0; i < 100; i++) {
		offer(0, i % 5 == 0 ? 40 : 1);
		offer(1, 1);
		rig_drain(1, 0);
		rig_drain(0, 0);
		looks(0, 1);
		looks(1, 1);
	}
	/* The last frames that were sent are given back when more are: that is no fault. */
	looks(0, 50);
	well(0);
	well(1);
}

/* A send queue that the card does not go on with: found after so many looks, and healed by a restart of this port alone. */
static void
test_tx_stuck(void **state)
{
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_pmd_mlx4_health h;

	offer(0, 3);
	assert_int_equal(rig_drain(1, 0), 3);
	offer(1, 7);
	assert_int_equal(tp_model_break(rig_model(0), TP_BREAK_SQ, 1, 1), 0);
	offer(0, 2);
	assert_int_equal(rig_drain(1, 0), 0);
	looks(0, CHECKS);
	looks(1, CHECKS + 1);
	well(0);
	looks(0, 1);
	h = health(0);
	assert_int_equal(h.sensor[MLX4_SENSOR_TX_STUCK].alarms, 1);
	/* The one that nobody polls is found as well, and no reason not to restart. */
	assert_non_null(strstr(h.last, "Rx queue 0: rx-completion"));
	assert_int_equal(h.restarts, 1);
	assert_int_equal(told[0].recovering, 1);
	assert_int_equal(told[0].success, 1);
	assert_int_equal(told[0].failed + told[0].reset, 0);
	assert_int_equal(rig_xstat(0, "health_tx_stuck"), 1);
	assert_int_equal(rig_xstat(0, "health_restarts"), 1);
	/* What waited is counted; what the port had received and nobody had taken, too. */
	assert_int_equal(rig_xstat(0, "tx_stop_drops"), 2);
	assert_int_equal(rig_xstat(0, "rx_stop_drops"), 7);
	assert_int_equal(rig_reaches(&mac), 1);
	looks(0, 10);
	assert_int_equal(health(0).alarms, 0);
	assert_int_equal(health(0).restarts, 1);
	/* The other port lost nothing and heard nothing. */
	well(1);
	assert_int_equal(told[1].recovering, 0);
	assert_int_equal(rig_xstat(1, "rx_stop_drops"), 0);
}

/* A completion that the card forgot: twice as many looks. */
static void
test_tx_completion(void **state)
{
	struct rte_ether_addr mac = rig_mac(1);
	unsigned int i;

	assert_int_equal(tp_model_break(rig_model(0), TP_BREAK_CQE, 1, 1), 0);
	offer(0, 40);
	assert_int_equal(rig_drain(1, 0), 40);
	looks(0, 2 * CHECKS - 1);
	well(0);
	looks(0, 1);
	assert_int_equal(health(0).sensor[MLX4_SENSOR_TX_COMPLETION].alarms, 1);
	assert_int_equal(rig_xstat(0, "health_tx_completion"), 1);
	assert_int_equal(health(0).restarts, 1);
	assert_int_equal(rig_reaches(&mac), 1);
	looks(0, 20);
	assert_int_equal(health(0).alarms, 0);
	/* One of a queue that goes on sending is missed as well: the others come one too late for ever. */
	masks(0, 0, 0);
	assert_int_equal(tp_model_break(rig_model(0), TP_BREAK_CQE, 1, 2), 0);
	for (i = 0; i < 2 * CHECKS + 2; i++) {
		offer(0, 40);
		rig_drain(1, 0);
		looks(0, 1);
	}
	assert_int_equal(health(0).sensor[MLX4_SENSOR_TX_COMPLETION].alarms, 2);
	assert_int_equal(told[0].reset, 1);
}

/* A consumer that sleeps: a restart would only throw its packets away, so there is none until it polls. */
static void
test_rx_completion(void **state)
{
	offer(0, 5);
	looks(1, CHECKS);
	well(1);
	looks(1, 1);
	assert_int_equal(health(1).sensor[MLX4_SENSOR_RX_COMPLETION].alarms, 1);
	assert_int_equal(health(1).alarms, RTE_PMD_MLX4_SENSOR_RX_COMPLETION);
	assert_int_equal(rig_xstat(1, "health_rx_completion"), 1);
	assert_int_equal(health(1).restarts, 0);
	assert_int_equal(health(1).restarts_refused, 1);
	assert_int_equal(told[1].recovering, 1);
	assert_int_equal(told[1].success, 1);
	/* Said once, however long it sleeps. */
	looks(1, 30);
	assert_int_equal(health(1).sensor[MLX4_SENSOR_RX_COMPLETION].alarms, 1);
	assert_int_equal(health(1).restarts_refused, 1);
	assert_int_equal(rig_drain(1, 0), 5);
	looks(1, 1);
	assert_int_equal(health(1).alarms, 0);
	well(0);
}

/* An interrupt that does not come: the event is found at the next look, and told. */
static void
test_event(void **state)
{
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get_nowait(0, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	rig_handled();
	assert_int_equal(tp_model_break(rig_model(0), TP_BREAK_IRQ, 1, 1), 0);
	assert_int_equal(tp_model_cable(rig_model(0), 1, false), 0);
	rig_settle(0);
	assert_int_equal(rte_eth_devices[0].data->dev_link.link_status, RTE_ETH_LINK_UP);
	looks(0, 1);
	rig_handled();
	rig_handled();
	assert_int_equal(rte_eth_devices[0].data->dev_link.link_status, RTE_ETH_LINK_DOWN);
	looks(0, 1);
	assert_int_equal(health(0).lost_events, 1);
	assert_int_equal(health(0).sensor[MLX4_SENSOR_EVENT].alarms, 1);
	assert_int_equal(rig_xstat(0, "device_lost_events"), 1);
	assert_int_equal(rig_xstat(0, "health_event"), 1);
	assert_int_equal(health(0).restarts, 0);
	/* Interrupts that come are none. */
	assert_int_equal(tp_model_cable(rig_model(0), 1, true), 0);
	rig_settle(0);
	looks(0, 2);
	rig_handled();
	looks(0, 1);
	assert_int_equal(health(0).lost_events, 1);
}

/* A command that is not answered: the card is given up, which a restart of a port does not heal. */
static void
test_command(void **state)
{
	char err[TP_ERR_LEN];

	rig_kill_card(TP_FAULT_TIMEOUT);
	rig_handled();
	looks(0, 1);
	looks(1, 1);
	assert_int_equal(health(0).sensor[MLX4_SENSOR_COMMAND].alarms, 1);
	assert_int_equal(health(1).sensor[MLX4_SENSOR_COMMAND].alarms, 1);
	assert_int_equal(health(0).cmd_timeouts, 1);
	assert_int_equal(health(0).restarts + health(0).restarts_failed, 0);
	assert_int_equal(rte_pmd_mlx4_restart(0, err), -EIO);
	assert_non_null(strstr(err, "given up"));
	looks(0, 20);
	assert_int_equal(health(0).sensor[MLX4_SENSOR_COMMAND].alarms, 1);
}

/* A queue that the card has failed, and that the driver takes back itself, is told and not restarted. */
static void
test_tx_error(void **state)
{
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&mac, RIG_FRAME);
	const rte_iova_t was = rte_mbuf_iova_get(m);

	/* A buffer that the card may not read. */
	rte_mbuf_iova_set(m, UINT64_C(1) << 60);
	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 1);
	rig_run(0);
	rte_mbuf_iova_set(m, was);
	m = rig_frame(&mac, RIG_FRAME);
	if (rte_eth_tx_burst(0, 0, &m, 1) == 0)
		rte_pktmbuf_free(m);
	looks(0, 1);
	assert_int_equal(health(0).sensor[MLX4_SENSOR_TX_ERROR].alarms, 1);
	assert_int_equal(rig_xstat(0, "health_tx_error"), 1);
	assert_int_equal(health(0).restarts, 0);
}

/* A link that is down, and a peer that pauses, are reasons to wait. */
static void
test_reasons(void **state)
{
	assert_int_equal(tp_model_break(rig_model(0), TP_BREAK_SQ, 1, 1), 0);
	offer(0, 2);
	assert_int_equal(tp_model_cable(rig_model(0), 1, false), 0);
	rig_settle(0);
	looks(0, 20);
	well(0);
	assert_int_equal(tp_model_cable(rig_model(0), 1, true), 0);
	rig_settle(0);
	looks(0, CHECKS);
	assert_int_equal(health(0).sensor[MLX4_SENSOR_TX_STUCK].alarms, 1);
}

static void
test_conf(void **state)
{
	struct rte_pmd_mlx4_health_conf conf, bad;
	char err[TP_ERR_LEN];

	assert_int_equal(rte_pmd_mlx4_health_conf_get(0, &conf), 0);
	assert_int_equal(conf.period_s, 4);
	assert_int_equal(conf.checks, CHECKS);
	assert_int_equal(conf.restart_mask, 0xf0058);
	assert_int_equal(conf.dump_mask, 0);
#define REFUSED(field, value, word)                                                                                    \
	do {                                                                                                           \
		bad = conf;                                                                                            \
		bad.field = value;                                                                                     \
		assert_int_equal(rte_pmd_mlx4_health_conf_set(0, &bad, err), -EINVAL);                                 \
		assert_non_null(strstr(err, word));                                                                    \
	} while (0)
	REFUSED(period_s, 3601, "3601");
	REFUSED(checks, 0, "1..1000");
	REFUSED(checks, 1001, "1001");
	REFUSED(restart_mask, 1, "0xf0058");
	REFUSED(dump_mask, 0x100000, "0x100000");
	REFUSED(dump_path[0], 'x', "begins with /");
	assert_int_equal(rte_pmd_mlx4_health_conf_set(9, &conf, err), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_restart(9, err), -ENODEV);
	/* One look makes an alarm. */
	conf.checks = 1;
	assert_int_equal(rte_pmd_mlx4_health_conf_set(0, &conf, err), 0);
	assert_int_equal(tp_model_break(rig_model(0), TP_BREAK_SQ, 1, 1), 0);
	offer(0, 1);
	looks(0, 2);
	assert_int_equal(health(0).restarts, 1);
	assert_int_equal(tp_model_break(rig_model(0), TP_BREAKS, 1, 1), -EINVAL);
	assert_int_equal(tp_model_break(rig_model(0), TP_BREAK_SQ, 3, 1), -EINVAL);
}

/* A restart on request keeps what was set: addresses, modes, queues that were stopped alone; the card fails in it, and says so. */
static void
test_restart(void **state)
{
	struct rte_ether_addr extra = {{0x02, 1, 2, 3, 4, 5}}, mac = rig_mac(1);
	char err[TP_ERR_LEN];

	assert_int_equal(rte_eth_dev_mac_addr_add(1, &extra, 0), 0);
	assert_int_equal(rte_pmd_mlx4_restart(1, err), 0);
	assert_int_equal(rig_reaches(&extra), 1);
	assert_int_equal(rig_reaches(&mac), 1);
	assert_int_equal(rte_eth_dev_tx_queue_stop(0, 0), 0);
	assert_int_equal(rte_pmd_mlx4_restart(0, err), 0);
	assert_false(eth(0)->txqs[0]->started);
	assert_int_equal(rte_eth_dev_tx_queue_start(0, 0), 0);
	assert_int_equal(rig_reaches(&mac), 1);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_pmd_mlx4_restart(0, err), -EINVAL);
	assert_int_equal(rte_eth_dev_start(0), 0);
	assert_int_equal(rig_reaches(&mac), 1);
	assert_int_equal(told[0].failed, 0);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_INIT_PORT, 1, MLX4_STAT_INTERNAL_ERR),
			 0);
	assert_true(rte_pmd_mlx4_restart(0, err) < 0);
	assert_non_null(strstr(err, "does not start"));
	assert_int_equal(told[0].failed, 1);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	assert_int_equal(rig_reaches(&mac), 1);
}

/* --- dumps ------------------------------------------------------------------------------------------------- */

static char base[] = "/tmp/tp-health-XXXXXX";

static int
setup_dump(void **state)
{
	snprintf(base, sizeof(base), "/tmp/tp-health-XXXXXX");
	assert_non_null(mkdtemp(base));
	return setup(state);
}

static int
no_dot(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Names in the folder of dumps in the order of their times; how many. */
static int
dumps(char name[200][256])
{
	struct dirent **list;
	int i, n = scandir(base, &list, no_dot, alphasort);

	assert_in_range(n, 0, 199);
	for (i = 0; i < n; i++) {
		snprintf(name[i], 256, "%s", list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return n;
}

static int
teardown_dump(void **state)
{
	char name[200][256], path[1024];
	int n = dumps(name);
	static const char *const files[] = {"dump.txt", "dump.json", ""};
	unsigned int i;

	while (n-- > 0)
		for (i = 0; i < RTE_DIM(files); i++) {
			snprintf(path, sizeof(path), "%s/%s/%s", base, name[n], files[i]);
			(void)remove(path);
		}
	assert_int_equal(rmdir(base), 0);
	return rig_teardown(state);
}

static char *
file_of(const char *dump, const char *name)
{
	char path[1024], *text;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dump, name);
	f = fopen(path, "r");
	assert_non_null(f);
	text = calloc(1, 1 << 20);
	assert_non_null(text);
	n = fread(text, 1, (1 << 20) - 1, f);
	assert_in_range(n, 1, (1 << 20) - 2);
	fclose(f);
	return text;
}

/* A dump names what is, in both files; a port that is well has no difference to the card. */
static void
test_dump(void **state)
{
	char path[RTE_PMD_MLX4_DUMP_PATH], err[TP_ERR_LEN], *text, *json, word[64];

	offer(0, 3);
	assert_int_equal(rte_pmd_mlx4_dump(0, base, NULL, path, err), 0);
	assert_non_null(strstr(path, "/dmn-net_mlx4_model0_p0-eth-command-request--20"));
	text = file_of(path, "dump.txt");
	json = file_of(path, "dump.json");
	assert_null(strstr(text, "differs"));
	assert_null(strstr(json, "\"differs\": true"));
	assert_non_null(strstr(json, "\"differences\": 0"));
	snprintf(word, sizeof(word), "\"target_qp\": \"0x%x\"", eth(0)->target_qpn);
	assert_non_null(strstr(json, word));
	assert_non_null(strstr(json, "\"tx_port_packets\": 3"));
	assert_non_null(strstr(json, "\"command\": \"RTR2RTS_QP\""));
	free(text);
	free(json);
	/* What the driver believes of a queue pair, and the card does not. */
	eth(0)->txqs[0]->qp.state = MLX4_QP_INIT;
	assert_int_equal(rte_pmd_mlx4_dump(0, base, "two words", path, err), 0);
	eth(0)->txqs[0]->qp.state = MLX4_QP_RTS;
	assert_non_null(strstr(path, "-command-two_words--"));
	text = file_of(path, "dump.txt");
	assert_non_null(strstr(text, "state: driver 1, card 3   <-- differs"));
	assert_non_null(strstr(text, "differences: 1"));
	free(text);
	assert_int_equal(health(0).dumps, 2);
	assert_int_equal(rig_xstat(0, "health_dumps"), 2);
}

/* 128 stay; the first 8 of all, and the last ones. */
static void
test_dump_room(void **state)
{
	char first[200][256], last[200][256], path[RTE_PMD_MLX4_DUMP_PATH], err[TP_ERR_LEN];
	int i, n;

	for (i = 0; i < 128; i++)
		assert_int_equal(rte_pmd_mlx4_dump(0, base, NULL, path, err), 0);
	assert_int_equal(dumps(first), 128);
	for (i = 0; i < 3; i++)
		assert_int_equal(rte_pmd_mlx4_dump(0, base, NULL, path, err), 0);
	n = dumps(last);
	assert_int_equal(n, 128);
	for (i = 0; i < 8; i++)
		assert_string_equal(first[i], last[i]);
	for (i = 8; i < n - 3; i++)
		assert_string_equal(first[i + 3], last[i]);
	assert_non_null(strstr(path, last[n - 1]));
}

/* By an alarm, of a card that answers and of one that does not; nothing stays of one that cannot be written. */
static void
test_dump_alarm(void **state)
{
	static const struct rlimit little = {.rlim_cur = 8192, .rlim_max = RLIM_INFINITY};
	char name[200][256], path[RTE_PMD_MLX4_DUMP_PATH], err[TP_ERR_LEN], *json;
	struct rte_pmd_mlx4_health_conf conf;
	struct rlimit before;
	int rc;

	assert_int_equal(rte_pmd_mlx4_health_conf_get(0, &conf), 0);
	conf.dump_mask = RTE_PMD_MLX4_SENSOR_TX_STUCK | RTE_PMD_MLX4_SENSOR_COMMAND;
	snprintf(conf.dump_path, sizeof(conf.dump_path), "%s", base);
	assert_int_equal(rte_pmd_mlx4_health_conf_set(0, &conf, err), 0);
	assert_int_equal(tp_model_break(rig_model(0), TP_BREAK_SQ, 1, 1), 0);
	offer(0, 2);
	looks(0, CHECKS + 1);
	assert_int_equal(health(0).dumps, 1);
	assert_int_equal(health(0).restarts, 1);
	assert_int_equal(dumps(name), 1);
	assert_memory_equal(name[0], "dmn-net_mlx4_model0_p0-eth-sensor-tx_stuck--", 44);
	snprintf(path, sizeof(path), "%s/%s", base, name[0]);
	/* Before the restart. */
	json = file_of(path, "dump.json");
	assert_non_null(strstr(json, "\"card_has_to_send\": 2"));
	free(json);

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	rc = rte_pmd_mlx4_dump(0, base, NULL, path, err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(err, base));
	assert_int_equal(rte_pmd_mlx4_dump(0, "/proc/none", NULL, path, err), -ENOENT);
	assert_non_null(strstr(err, "/proc/none"));
	assert_int_equal(rte_pmd_mlx4_dump(0, "", NULL, path, err), -EINVAL);
	assert_int_equal(health(0).dumps_failed, 2);
	assert_int_equal(dumps(name), 1);

	rig_kill_card(TP_FAULT_TIMEOUT);
	rig_handled();
	looks(0, 1);
	assert_int_equal(health(0).dumps, 2);
	assert_int_equal(dumps(name), 2);
	snprintf(path, sizeof(path), "%s/%s", base, strstr(name[0], "command") != NULL ? name[0] : name[1]);
	json = file_of(path, "dump.json");
	assert_non_null(strstr(json, "\"card_given_up\": true"));
	assert_non_null(strstr(json, "\"command\": \"DUMP_ETH_STATS\""));
	free(json);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_well, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_tx_stuck, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_tx_completion, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_rx_completion, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_event, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_command, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_tx_error, setup, unplug),
		cmocka_unit_test_setup_teardown(test_reasons, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_conf, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_dump, setup_dump, teardown_dump),
		cmocka_unit_test_setup_teardown(test_dump_room, setup_dump, teardown_dump),
		cmocka_unit_test_setup_teardown(test_dump_alarm, setup_dump, teardown_dump),
	};

	if (rig_eal("mlx4health", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
