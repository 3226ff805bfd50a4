/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What follows from a look: alarms, and what is done about them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "drivers/mlx4/dump/dump.h"
#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/rx/sides.h"
#include "health.h"

#define PERIOD_S 4u
#define CHECKS 4u
#define DUMP_PATH "/var/tmp/triplane-dumps"

const struct mlx4_sensor_info mlx4_sensor_info[MLX4_SENSORS] = {
	[MLX4_SENSOR_TX_STUCK] = {"tx-stuck", "frames wait in a transmit queue, and the card does not go on with it",
				  RTE_PMD_MLX4_SENSOR_TX_STUCK, 1},
	[MLX4_SENSOR_TX_COMPLETION] = {"tx-completion", "the card sent frames, and their completions do not come",
				       RTE_PMD_MLX4_SENSOR_TX_COMPLETION, 2},
	[MLX4_SENSOR_RX_COMPLETION] = {"rx-completion", "received frames wait, and nobody takes them",
				       RTE_PMD_MLX4_SENSOR_RX_COMPLETION, 1},
	[MLX4_SENSOR_RX_ERROR] = {"rx-error", "a receive queue failed", RTE_PMD_MLX4_SENSOR_RX_ERROR, 0},
	[MLX4_SENSOR_TX_ERROR] = {"tx-error", "a transmit queue failed", RTE_PMD_MLX4_SENSOR_TX_ERROR, 0},
	[MLX4_SENSOR_COMMAND] = {"command", "a firmware command was not answered", RTE_PMD_MLX4_SENSOR_COMMAND, 0},
	[MLX4_SENSOR_EVENT] = {"event", "an event was lost, or no interrupt told of it", RTE_PMD_MLX4_SENSOR_EVENT, 0},
};

static mlx4_restart_fn restart_by;

void
mlx4_health_restart_by(mlx4_restart_fn fn)
{
	restart_by = fn;
}

void
mlx4_health_default(struct rte_pmd_mlx4_health_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->period_s = PERIOD_S;
	conf->checks = CHECKS;
	conf->restart_mask = RTE_PMD_MLX4_SENSOR_ALL;
	snprintf(conf->dump_path, sizeof(conf->dump_path), "%s", DUMP_PATH);
}

static int
refuse_number(const char *what, uint32_t value, uint32_t max, char err[TP_ERR_LEN])
{
	snprintf(err, TP_ERR_LEN, "%s %u: wanted %s1..%u", what, value,
		 max == MLX4_HEALTH_PERIOD_MAX ? "0 (never), " : "", max);
	return -EINVAL;
}

static int
check_mask(const char *what, uint32_t mask, char err[TP_ERR_LEN])
{
	if ((mask & ~RTE_PMD_MLX4_SENSOR_ALL) == 0)
		return 0;
	snprintf(err, TP_ERR_LEN, "%s 0x%x: wanted bits of 0x%x, sensors", what, mask, RTE_PMD_MLX4_SENSOR_ALL);
	return -EINVAL;
}

int
mlx4_health_check(const struct rte_pmd_mlx4_health_conf *conf, char err[TP_ERR_LEN])
{
	int rc;

	if (conf->period_s > MLX4_HEALTH_PERIOD_MAX)
		return refuse_number("seconds between two looks", conf->period_s, MLX4_HEALTH_PERIOD_MAX, err);
	if (conf->checks < 1 || conf->checks > MLX4_HEALTH_CHECKS_MAX)
		return refuse_number("looks that make an alarm", conf->checks, MLX4_HEALTH_CHECKS_MAX, err);
	rc = check_mask("restart mask", conf->restart_mask, err);
	if (rc == 0)
		rc = check_mask("dump mask", conf->dump_mask, err);
	if (rc == 0 && (conf->dump_path[0] != '/' || memchr(conf->dump_path, '\0', sizeof(conf->dump_path)) == NULL)) {
		snprintf(err, TP_ERR_LEN,
			 "folder of dumps '%.60s': wanted a path that begins with /, of up to %d octets",
			 conf->dump_path, RTE_PMD_MLX4_PATH - 1);
		rc = -EINVAL;
	}
	return rc;
}

/* --- alarms ------------------------------------------------------------------------------------------------ */

static uint32_t
limit_of(const struct mlx4_health *h, unsigned int i)
{
	return mlx4_sensor_info[i].times == 0 ? 1 : h->conf.checks * mlx4_sensor_info[i].times;
}

/* Of the whole card, not of a queue. */
static bool
of_card(unsigned int i)
{
	return i == MLX4_SENSOR_COMMAND || i == MLX4_SENSOR_EVENT;
}

static void
raise_alarm(struct mlx4_health *h, unsigned int i, const struct mlx4_finding *f)
{
	const struct mlx4_sensor_info *s = &mlx4_sensor_info[i];
	char queue[32] = "";

	h->sensor[i].alarms++;
	h->sensor[i].alarm = true;
	h->sensor[i].queue = f->queue;
	if (!of_card(i))
		snprintf(queue, sizeof(queue), " %s queue %u",
			 i == MLX4_SENSOR_RX_COMPLETION || i == MLX4_SENSOR_RX_ERROR ? "Rx" : "Tx", f->queue);
	snprintf(h->last, sizeof(h->last), "port %u%s: %s: %s", h->eth->dev->data->port_id, queue, s->name, s->text);
	mlx4_qos_tell(h->eth, RTE_PMD_MLX4_EVENT_HEALTH_ALARM, f->queue, "%s", h->last);
}

/* Bits of sensors that have just come into alarm. */
static uint32_t
judge(struct mlx4_health *h, const struct mlx4_finding f[MLX4_SENSORS])
{
	uint32_t raised = 0;
	unsigned int i;

	for (i = 0; i < MLX4_SENSORS; i++) {
		struct mlx4_sensor_state *s = &h->sensor[i];

		s->idle = f[i].idle;
		if (f[i].idle >= limit_of(h, i) && (!s->alarm || mlx4_sensor_info[i].times == 0)) {
			raise_alarm(h, i, &f[i]);
			raised |= mlx4_sensor_info[i].bit;
		} else if (f[i].idle == 0 && s->alarm) {
			s->alarm = false;
			if (mlx4_sensor_info[i].times != 0)
				mlx4_qos_tell(h->eth, RTE_PMD_MLX4_EVENT_HEALTH_CLEARED, s->queue,
					      "port %u: %s is over", h->eth->dev->data->port_id,
					      mlx4_sensor_info[i].name);
		}
	}
	return raised;
}

/* --- what is done about them ------------------------------------------------------------------------------- */

static void
dump_done(struct mlx4_health *h, int rc, const char *where, const char *err)
{
	mlx4_qos_lock(h->eth);
	h->dumps += rc == 0;
	h->dumps_failed += rc != 0;
	if (rc == 0)
		mlx4_qos_tell(h->eth, RTE_PMD_MLX4_EVENT_DUMP_WRITTEN, 0, "port %u: %s", h->eth->dev->data->port_id,
			      where);
	else
		MLX4_LOG(ERR, "[dump-failed] port %u: no dump: %s", h->eth->dev->data->port_id, err);
	mlx4_qos_unlock(h->eth);
}

static void
dump(struct mlx4_health *h, const char *folder, const char *reason)
{
	char err[TP_ERR_LEN], where[RTE_PMD_MLX4_DUMP_PATH];
	int rc;

	if (!mlx4_health_lock(h))
		return;
	rc = mlx4_dump(h->eth, folder, "sensor", reason, where, err);
	mlx4_control_unlock(h->eth);
	dump_done(h, rc, where, err);
}

static void
restart_done(struct mlx4_health *h, int rc, const char *err)
{
	mlx4_qos_lock(h->eth);
	h->restarts += rc == 0;
	h->restarts_refused += rc == -EAGAIN;
	h->restarts_failed += rc != 0 && rc != -EAGAIN;
	if (rc == 0)
		mlx4_qos_tell(h->eth, RTE_PMD_MLX4_EVENT_PORT_RESTARTED, 0, "port %u: %s", h->eth->dev->data->port_id,
			      err[0] == '\0' ? "stopped and started alone" : err);
	else
		MLX4_LOG(WARNING, "[port-not-restarted] port %u is not restarted: %s", h->eth->dev->data->port_id, err);
	mlx4_qos_unlock(h->eth);
	/* A port that stays as it was before has recovered from what was done to it. */
	rte_eth_dev_callback_process(
		h->eth->dev, rc == 0 || rc == -EAGAIN ? RTE_ETH_EVENT_RECOVERY_SUCCESS : RTE_ETH_EVENT_RECOVERY_FAILED,
		NULL);
}

static void
restart(struct mlx4_health *h, int asks)
{
	char err[TP_ERR_LEN] = "";
	int rc;

	rte_eth_dev_callback_process(h->eth->dev, RTE_ETH_EVENT_ERR_RECOVERING, NULL);
	if (!mlx4_health_lock(h))
		return;
	rc = restart_by(h->eth, asks, err);
	mlx4_control_unlock(h->eth);
	restart_done(h, rc, err);
}

static void
act(struct mlx4_health *h, uint32_t raised, const struct mlx4_finding f[MLX4_SENSORS])
{
	struct rte_pmd_mlx4_health_conf conf;
	uint32_t helps = 0, bits;
	unsigned int i;

	mlx4_qos_lock(h->eth);
	conf = h->conf;
	mlx4_qos_unlock(h->eth);

	for (i = 0; i < MLX4_SENSORS; i++) {
		if ((raised & conf.dump_mask & mlx4_sensor_info[i].bit) != 0)
			dump(h, conf.dump_path, mlx4_sensor_info[i].name);
		if (f[i].restart)
			helps |= raised & mlx4_sensor_info[i].bit;
	}
	bits = helps & conf.restart_mask;
	if (bits != 0)
		restart(h, bits == RTE_PMD_MLX4_SENSOR_RX_COMPLETION ? f[MLX4_SENSOR_RX_COMPLETION].queue : -1);
	else if (helps != 0)
		rte_eth_dev_callback_process(h->eth->dev, RTE_ETH_EVENT_INTR_RESET, NULL);
}

void
mlx4_health_look(struct mlx4_eth *eth)
{
	struct mlx4_health *h = eth->health;
	struct mlx4_finding f[MLX4_SENSORS];
	uint32_t raised;

	mlx4_qos_lock(eth);
	h->looks++;
	mlx4_health_find(h, f);
	raised = judge(h, f);
	mlx4_qos_unlock(eth);
	if (raised != 0)
		act(h, raised, f);
}

/* --- what the card says ------------------------------------------------------------------------------------ */

static bool
is_tx(const struct mlx4_txq *q, bool cq, uint32_t number)
{
	return q != NULL && number == (cq ? q->cq.cqn : q->qpn);
}

static bool
find_txq(const struct mlx4_eth *eth, bool cq, uint32_t number)
{
	unsigned int p;
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
		if (is_tx(eth->txqs[i], cq, number))
			return true;
		for (p = 0; eth->txqs[i] != NULL && p < MLX4_PRIOS; p++)
			if (is_tx(eth->txqs[i]->lane[p], cq, number))
				return true;
	}
	return false;
}

static bool
is_rx(const struct mlx4_rx_set *s, bool cq, uint32_t number)
{
	uint16_t i;

	for (i = 0; !cq && i < s->num_rings; i++)
		if (s->ring[i].qp.qpn == number)
			return true;
	return cq && s->has_cq && s->cq.cqn == number;
}

static bool
find_rxq(struct mlx4_eth *eth, bool cq, uint32_t number)
{
	const struct mlx4_rx_set *s;
	bool found = false;
	uint16_t i, side;

	pthread_mutex_lock(&eth->sets_lock);
	for (i = 0; i < eth->dev->data->nb_rx_queues && !found; i++)
		for (s = NULL, side = 0;
		     eth->rxqs[i] != NULL && !found && (s = mlx4_rxq_next_set(eth->rxqs[i], s, &side)) != NULL;)
			found = is_rx(s, cq, number);
	pthread_mutex_unlock(&eth->sets_lock);
	return found;
}

void
mlx4_health_event(struct mlx4_eth *eth, uint8_t type, const uint8_t *eqe)
{
	bool cq = type == MLX4_EVENT_CQ_ERROR;
	uint32_t number;

	if (!cq && type != MLX4_EVENT_WQ_CATAS && type != MLX4_EVENT_WQ_INVAL_REQ && type != MLX4_EVENT_WQ_ACCESS)
		return;
	number = prm_get(eqe, MLX4_EQE_QPN); /* that of a completion queue is in the same place */
	mlx4_qos_lock(eth);
	if (find_txq(eth, cq, number))
		eth->health->tx_failed++;
	else if (find_rxq(eth, cq, number))
		eth->health->rx_failed++;
	mlx4_qos_unlock(eth);
}

/* --- life -------------------------------------------------------------------------------------------------- */

int
mlx4_health_create(struct mlx4_eth *eth, const struct rte_pmd_mlx4_health_conf *conf)
{
	struct mlx4_health *h = calloc(1, sizeof(*h));
	int rc;

	if (h == NULL)
		return -ENOMEM;
	h->eth = eth;
	h->conf = *conf;
	h->lost_seen = __atomic_load_n(&eth->hca->lost_events, __ATOMIC_RELAXED);
	h->timeouts_seen = __atomic_load_n(&eth->hca->cmd_timeouts, __ATOMIC_RELAXED);
	eth->health = h;
	/* What runs in virtual time is looked at by who moves it. */
	rc = eth->hca->bus->stepped ? 0 : mlx4_health_join(h);
	if (rc == 0)
		return 0;
	MLX4_LOG(ERR, "port %u: no thread to watch over its health: %s", eth->dev->data->port_id, rte_strerror(-rc));
	eth->health = NULL;
	free(h);
	return rc;
}

void
mlx4_health_leave_port(struct mlx4_eth *eth)
{
	if (!eth->hca->bus->stepped)
		mlx4_health_leave(eth->health);
}

void
mlx4_health_destroy(struct mlx4_eth *eth)
{
	free(eth->health);
	eth->health = NULL;
}

void
mlx4_health_counts_reset(struct mlx4_eth *eth)
{
	struct mlx4_health *h = eth->health;
	unsigned int i;

	mlx4_qos_lock(eth);
	for (i = 0; i < MLX4_SENSORS; i++)
		h->base.alarms[i] = h->sensor[i].alarms;
	h->base.restarts = h->restarts;
	h->base.dumps = h->dumps;
	h->base.lost = __atomic_load_n(&eth->hca->lost_events, __ATOMIC_RELAXED);
	mlx4_qos_unlock(eth);
}

/* --- the public functions ---------------------------------------------------------------------------------- */

int
rte_pmd_mlx4_health_conf_get(uint16_t port_id, struct rte_pmd_mlx4_health_conf *conf)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	mlx4_qos_lock(eth);
	*conf = eth->health->conf;
	mlx4_qos_unlock(eth);
	return 0;
}

int
rte_pmd_mlx4_health_conf_set(uint16_t port_id, const struct rte_pmd_mlx4_health_conf *conf, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	rc = mlx4_health_check(conf, err);
	if (rc != 0)
		return rc;
	mlx4_qos_lock(eth);
	eth->health->conf = *conf;
	mlx4_qos_unlock(eth);
	if (!eth->hca->bus->stepped)
		mlx4_health_retime(eth->health);
	return 0;
}

int
rte_pmd_mlx4_health_get(uint16_t port_id, struct rte_pmd_mlx4_health *out)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	const struct mlx4_health *h;
	unsigned int i;

	if (eth == NULL)
		return -ENODEV;
	memset(out, 0, sizeof(*out));
	mlx4_qos_lock(eth);
	h = eth->health;
	for (i = 0; i < MLX4_SENSORS; i++) {
		out->sensor[i] = (struct rte_pmd_mlx4_sensor){
			.name = mlx4_sensor_info[i].name,
			.text = mlx4_sensor_info[i].text,
			.bit = mlx4_sensor_info[i].bit,
			.idle = h->sensor[i].idle,
			.limit = limit_of(h, i),
			.queue = h->sensor[i].queue,
			.alarm = h->sensor[i].alarm,
			.alarms = h->sensor[i].alarms,
		};
		out->alarms |= h->sensor[i].alarm ? mlx4_sensor_info[i].bit : 0;
	}
	out->looks = h->looks;
	out->restarts = h->restarts;
	out->restarts_failed = h->restarts_failed;
	out->restarts_refused = h->restarts_refused;
	out->dumps = h->dumps;
	out->dumps_failed = h->dumps_failed;
	out->lost_events = __atomic_load_n(&eth->hca->lost_events, __ATOMIC_RELAXED);
	out->cmd_timeouts = __atomic_load_n(&eth->hca->cmd_timeouts, __ATOMIC_RELAXED);
	snprintf(out->last, sizeof(out->last), "%s", h->last);
	mlx4_qos_unlock(eth);
	return 0;
}

int
rte_pmd_mlx4_restart(uint16_t port_id, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	if (!eth->dev->data->dev_started) {
		snprintf(err, TP_ERR_LEN, "port %u is not started", port_id);
		return -EINVAL;
	}
	rte_eth_dev_callback_process(eth->dev, RTE_ETH_EVENT_ERR_RECOVERING, NULL);
	mlx4_control_lock(eth);
	rc = restart_by(eth, -1, err);
	mlx4_control_unlock(eth);
	restart_done(eth->health, rc, err);
	return rc;
}

int
rte_pmd_mlx4_dump(uint16_t port_id, const char *folder, const char *reason, char path[RTE_PMD_MLX4_DUMP_PATH],
		  char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	struct rte_pmd_mlx4_health_conf conf;
	int rc;

	if (eth == NULL)
		return -ENODEV;
	rc = rte_pmd_mlx4_health_conf_get(port_id, &conf);
	if (rc == 0 && folder != NULL && (folder[0] == '\0' || strlen(folder) >= RTE_PMD_MLX4_PATH)) {
		snprintf(err, TP_ERR_LEN, "folder '%.80s': wanted a path of 1..%d octets", folder,
			 RTE_PMD_MLX4_PATH - 1);
		rc = -EINVAL;
	}
	if (rc != 0)
		return rc;
	mlx4_control_lock(eth);
	rc = mlx4_dump(eth, folder != NULL ? folder : conf.dump_path, "command", reason != NULL ? reason : "request",
		       path, err);
	mlx4_control_unlock(eth);
	dump_done(eth->health, rc, path, err);
	return rc;
}
