/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the log and the application are told of a port: events, and each value of a declaration that has changed. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qos.h"

static const char *const names[RTE_PMD_MLX4_EVENTS] = {
	[RTE_PMD_MLX4_EVENT_DROPLESS_ENTERED] = "dropless-entered",
	[RTE_PMD_MLX4_EVENT_DROPLESS_EXITED] = "dropless-exited",
	[RTE_PMD_MLX4_EVENT_DROPLESS_TIMEOUT] = "dropless-timeout",
	[RTE_PMD_MLX4_EVENT_RX_STALL_BEGIN] = "rx-stall-begin",
	[RTE_PMD_MLX4_EVENT_RX_STALL_END] = "rx-stall-end",
	[RTE_PMD_MLX4_EVENT_TC_STALL_BEGIN] = "tc-stall-begin",
	[RTE_PMD_MLX4_EVENT_TC_STALL_END] = "tc-stall-end",
	[RTE_PMD_MLX4_EVENT_PORT_SETTING] = "port-setting",
	[RTE_PMD_MLX4_EVENT_GROUP_SETTING] = "group-setting",
	[RTE_PMD_MLX4_EVENT_RXQ_SETTING] = "rxq-setting",
	[RTE_PMD_MLX4_EVENT_TXQ_SETTING] = "txq-setting",
	[RTE_PMD_MLX4_EVENT_PORT_TYPE_REFUSED] = "port-type-refused",
	[RTE_PMD_MLX4_EVENT_HEALTH_ALARM] = "health-alarm",
	[RTE_PMD_MLX4_EVENT_HEALTH_CLEARED] = "health-cleared",
	[RTE_PMD_MLX4_EVENT_PORT_RESTARTED] = "port-restarted",
	[RTE_PMD_MLX4_EVENT_DUMP_WRITTEN] = "dump-written",
};

struct change {
	struct mlx4_eth *eth;
	const struct tp_group *group; /* NULL: of the port */
};

const char *
rte_pmd_mlx4_qos_event_name(enum rte_pmd_mlx4_qos_event event)
{
	return (unsigned int)event < RTE_PMD_MLX4_EVENTS ? names[event] : "";
}

void
mlx4_qos_tell(struct mlx4_eth *eth, enum rte_pmd_mlx4_qos_event event, uint16_t index, const char *fmt, ...)
{
	struct mlx4_qos *qos = eth->qos;
	char *text;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	MLX4_LOG(NOTICE, "[%s] %s", names[event], text);
	if (qos->event_fn != NULL)
		qos->event_fn(eth->dev->data->port_id, event, index, text, qos->event_arg);
	free(text);
}

static const char *
shown(const char *value)
{
	return value[0] != '\0' ? value : "''";
}

static void
setting_changed(void *arg, const char *key, const char *was, const char *is)
{
	const struct change *c = arg;
	uint16_t port = c->eth->dev->data->port_id;

	if (c->group == NULL)
		mlx4_qos_tell(c->eth, RTE_PMD_MLX4_EVENT_PORT_SETTING, 0, "port %u: %s: %s -> %s", port, key,
			      shown(was), shown(is));
	else
		mlx4_qos_tell(c->eth, RTE_PMD_MLX4_EVENT_GROUP_SETTING, c->group->queue[0],
			      "port %u group %s: %s: %s -> %s", port, c->group->name, key, shown(was), shown(is));
}

void
mlx4_tell_port(struct mlx4_eth *eth, const struct tp_qos_port *was, const struct tp_qos_port *is)
{
	struct change c = {.eth = eth};

	tp_qos_port_changes(was, is, setting_changed, &c);
}

/* A group that is new or gone is one line with all that is not a default. */
static void
tell_whole(struct mlx4_eth *eth, const struct tp_group *g, const char *what)
{
	char *words = NULL, *end;
	size_t len = 0;
	FILE *f = open_memstream(&words, &len);

	if (f == NULL)
		return;
	tp_group_print(g, false, f);
	if (fclose(f) == 0) {
		for (end = words; (end = strchr(end, '\n')) != NULL;)
			*end = end[1] == '\0' ? '\0' : ' ';
		mlx4_qos_tell(eth, RTE_PMD_MLX4_EVENT_GROUP_SETTING, g->queue[0], "port %u group %s: %s: %s",
			      eth->dev->data->port_id, g->name, what, words);
	}
	free(words);
}

void
mlx4_tell_group(struct mlx4_eth *eth, const struct tp_group *was, const struct tp_group *is)
{
	struct change c = {.eth = eth, .group = is};

	if (was == NULL)
		tell_whole(eth, is, "added");
	else if (is == NULL)
		tell_whole(eth, was, "removed");
	else
		tp_group_changes(was, is, setting_changed, &c);
}

void
mlx4_tell_rxq(const struct mlx4_rxq *q, const char *what, uint32_t was, uint32_t is)
{
	if (was != is)
		mlx4_qos_tell(q->eth, RTE_PMD_MLX4_EVENT_RXQ_SETTING, q->queue_id, "port %u Rx queue %u: %s: %u -> %u",
			      q->eth->dev->data->port_id, q->queue_id, what, was, is);
}

void
mlx4_tell_txq(const struct mlx4_txq *q, const char *what, uint32_t was, uint32_t is)
{
	if (was != is)
		mlx4_qos_tell(q->eth, RTE_PMD_MLX4_EVENT_TXQ_SETTING, q->queue_id, "port %u Tx queue %u: %s: %u -> %u",
			      q->eth->dev->data->port_id, q->queue_id, what, was, is);
}
