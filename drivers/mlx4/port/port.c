/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Finding a port by its number, and its locks. */
#include "port.h"

#include <stdio.h>

static const struct eth_dev_ops *port_ops;

void
mlx4_port_ops_set(const struct eth_dev_ops *ops)
{
	port_ops = ops;
}

struct mlx4_eth *
mlx4_eth_by_port(uint16_t port_id)
{
	if (!rte_eth_dev_is_valid_port(port_id) || rte_eth_devices[port_id].dev_ops != port_ops)
		return NULL;
	return rte_eth_devices[port_id].data->dev_private;
}

struct mlx4_eth *
mlx4_eth_asked(uint16_t port_id, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	err[0] = '\0';
	if (eth == NULL)
		snprintf(err, TP_ERR_LEN, "port %u is not a port of this driver", port_id);
	return eth;
}

void
mlx4_control_lock(struct mlx4_eth *eth)
{
	pthread_mutex_lock(&eth->control);
}

void
mlx4_control_unlock(struct mlx4_eth *eth)
{
	pthread_mutex_unlock(&eth->control);
}

void
mlx4_qos_lock(struct mlx4_eth *eth)
{
	pthread_mutex_lock(&eth->qos_lock);
}

void
mlx4_qos_unlock(struct mlx4_eth *eth)
{
	pthread_mutex_unlock(&eth->qos_lock);
}

void
mlx4_port_locks_init(struct mlx4_eth *eth)
{
	pthread_mutexattr_t attr;

	/* Who is told of an event may ask for the state. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&eth->qos_lock, &attr);
	pthread_mutex_init(&eth->control, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_mutex_init(&eth->sets_lock, NULL);
}

void
mlx4_port_locks_fini(struct mlx4_eth *eth)
{
	pthread_mutex_destroy(&eth->sets_lock);
	pthread_mutex_destroy(&eth->control);
	pthread_mutex_destroy(&eth->qos_lock);
}
