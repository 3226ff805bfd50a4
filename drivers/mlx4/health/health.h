/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The watch over a port's health. A thread of its own looks at each port now and then: bursts know nothing of it. What stands
 * still for too long is an alarm: it is logged and told, a dump is written, the port is restarted, as the masks say.
 *
 * A look holds the lock of quality of service, as the watch over stalls does. A restart and a dump hold the port's control lock,
 * which is waited for only as long as the port stays.
 */
#ifndef MLX4_HEALTH_HEALTH_H
#define MLX4_HEALTH_HEALTH_H

#include <sys/queue.h>

#include "drivers/mlx4/port/port.h"

#define MLX4_HEALTH_PERIOD_MAX 3600u
#define MLX4_HEALTH_CHECKS_MAX 1000u

/* In the order of their bits. */
enum mlx4_sensor {
	MLX4_SENSOR_TX_STUCK,
	MLX4_SENSOR_TX_COMPLETION,
	MLX4_SENSOR_RX_COMPLETION,
	MLX4_SENSOR_RX_ERROR,
	MLX4_SENSOR_TX_ERROR,
	MLX4_SENSOR_COMMAND,
	MLX4_SENSOR_EVENT,
	MLX4_SENSORS
};
_Static_assert(MLX4_SENSORS == RTE_PMD_MLX4_SENSORS, "each has a place in the report");

struct mlx4_sensor_info {
	const char *name, *text;
	uint32_t bit;
	uint32_t
		times; /* the number of looks that make an alarm, as a multiple of those of the configuration; 0: one */
};
extern const struct mlx4_sensor_info mlx4_sensor_info[MLX4_SENSORS];

/* What one look found of a sensor. */
struct mlx4_finding {
	uint32_t idle;  /* of the worst queue */
	uint16_t queue; /* that one */
	bool restart;   /* a restart is what helps */
};

struct mlx4_sensor_state {
	uint64_t alarms;
	uint32_t idle;
	uint16_t queue;
	bool alarm;
};

struct mlx4_health {
	TAILQ_ENTRY(mlx4_health) next; /* of those that the thread looks at */
	struct mlx4_eth *eth;
	uint64_t due_us;
	bool busy, leaving; /* with the list's lock */
	/* with the lock of quality of service */
	struct rte_pmd_mlx4_health_conf conf;
	struct mlx4_sensor_state sensor[MLX4_SENSORS];
	uint64_t looks, restarts, restarts_failed, restarts_refused, dumps, dumps_failed;
	uint64_t rx_failed, tx_failed; /* queues of which the card said that they failed */
	uint64_t rx_failed_seen, tx_failed_seen, timeouts_seen, lost_seen;
	uint64_t pauses[TP_PRIOS]; /* that the peer sent, as seen last */
	struct {
		uint64_t alarms[MLX4_SENSORS], restarts, dumps, lost;
	} base; /* at the last reset of the port's counters */
	char last[256];
};

/* --- sensor.c --- */
/* One look of a running port, with its lock: fills a finding for each sensor. */
void mlx4_health_find(struct mlx4_health *h, struct mlx4_finding f[MLX4_SENSORS]);
/* The port was started: what was seen before says nothing. */
void mlx4_health_forget(struct mlx4_eth *eth);

/* --- health.c --- */
/* With the port; conf was checked. */
int mlx4_health_create(struct mlx4_eth *eth, const struct rte_pmd_mlx4_health_conf *conf);
/* The port goes: when this returns nobody looks at it. Not with a lock of the port, which a look may want. */
void mlx4_health_leave_port(struct mlx4_eth *eth);
/* Behind that, when the card tells the port nothing any more. */
void mlx4_health_destroy(struct mlx4_eth *eth);
/* The card says that a queue pair or a completion queue failed. */
void mlx4_health_event(struct mlx4_eth *eth, uint8_t type, const uint8_t *eqe);
/* One look and what follows from it; by the thread, and by tests that have no time to wait. */
void mlx4_health_look(struct mlx4_eth *eth);
/* The port's counters begin at zero; what rte_pmd_mlx4_health_get() tells goes on. */
void mlx4_health_counts_reset(struct mlx4_eth *eth);
/* What the defaults of the device arguments are. */
void mlx4_health_default(struct rte_pmd_mlx4_health_conf *conf);
int mlx4_health_check(const struct rte_pmd_mlx4_health_conf *conf, char err[TP_ERR_LEN]);

/*
 * Stops and starts the port while it may be polled. asks: the queue whose frames nobody takes, -1: another reason; it is refused
 * with -EAGAIN when that queue is not polled. With the control lock; not with that of quality of service.
 */
typedef int (*mlx4_restart_fn)(struct mlx4_eth *eth, int asks, char err[TP_ERR_LEN]);
/* Whoever has the port's operations says how it is done. */
void mlx4_health_restart_by(mlx4_restart_fn fn);

/* --- thread.c --- */
/* The port is looked at from now on; the first one starts the thread. 0 or negative errno. */
int mlx4_health_join(struct mlx4_health *h);
/* When it returns no look is under way; the last one ends the thread. */
void mlx4_health_leave(struct mlx4_health *h);
/* The time between looks was changed. */
void mlx4_health_retime(struct mlx4_health *h);
/* The control lock, unless the port goes: false. */
bool mlx4_health_lock(struct mlx4_health *h);

#endif /* MLX4_HEALTH_HEALTH_H */
