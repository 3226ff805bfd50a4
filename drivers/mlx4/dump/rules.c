/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Single rules of rte_flow and groups of queues, as the driver has them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/mlx4/flow/flow.h"
#include "drivers/mlx4/group/group.h"
#include "dump.h"

static void
dump_id(struct mlx4_dump_out *o, const char *key, uint64_t rule)
{
	if (rule != MLX4_NO_RULE)
		mlx4_dump_hex(o, key, rule);
}

static void
dump_fate(const struct mlx4_eth *eth, const struct mlx4_flow_target *t, struct mlx4_dump_out *o)
{
	const struct mlx4_flow_fate *f = &t->fate;
	uint64_t packets, bytes;
	uint16_t i;

	mlx4_dump_bool(o, "drops", f->n == 0);
	mlx4_dump_array(o, "queue_of_ring");
	for (i = 0; i < f->n; i++)
		mlx4_dump_u64(o, NULL, f->queue[i]);
	mlx4_dump_end(o);
	mlx4_dump_hex(o, "types", f->hash);
	if (f->mark)
		mlx4_dump_u64(o, "mark", f->mark_id);
	mlx4_dump_bool(o, "rings_up", t->rings != NULL);
	mlx4_dump_u64(o, "rules_of_target", t->refs);
	mlx4_flow_target_count(eth, t, &packets, &bytes);
	mlx4_dump_u64(o, "packets", packets);
	mlx4_dump_u64(o, "octets", bytes);
}

static void
dump_flows(const struct mlx4_eth *eth, struct mlx4_dump_out *o)
{
	const struct rte_flow *f;
	uint64_t n = 0;

	mlx4_dump_array(o, "flow_rules");
	TAILQ_FOREACH(f, &eth->flows->list, next)
	{
		mlx4_dump_item(o, "rule", n++);
		mlx4_dump_u64(o, "priority", f->prio);
		dump_id(o, "card_rule", f->id);
		dump_id(o, "next_card_rule", f->next_id);
		mlx4_dump_bytes(o, "match", f->match.spec, f->match.len);
		dump_fate(eth, f->target, o);
		mlx4_dump_end(o);
	}
	mlx4_dump_end(o);
}

static int
dump_group(const struct mlx4_group *g, uint64_t number, struct mlx4_dump_out *o)
{
	char *words = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&words, &len);

	if (f == NULL)
		return -ENOMEM;
	tp_group_print(&g->conf, true, f);
	if (fclose(f) != 0) {
		free(words);
		return -ENOMEM;
	}
	mlx4_dump_item(o, "group", number);
	mlx4_dump_str(o, "name", g->conf.name);
	mlx4_dump_bool(o, "on_card", g->spread != NULL);
	if (g->spread != NULL) {
		mlx4_dump_u64(o, "rings", g->spread->conf.table);
		mlx4_dump_hex(o, "base_qp", g->spread->base_qpn);
	}
	mlx4_dump_bool(o, "rules_up", g->rules.up);
	if (g->rules.up) {
		dump_id(o, "unicast_rule", g->rules.unicast);
		dump_id(o, "broadcast_rule", g->rules.bcast);
		dump_id(o, "multicast_rule", g->rules.mcast);
	}
	mlx4_dump_u64(o, "flood_drops", g->flood_drops);
	mlx4_dump_lines(o, "declaration", words);
	mlx4_dump_end(o);
	free(words);
	return 0;
}

int
mlx4_dump_rules(const struct mlx4_eth *eth, struct mlx4_dump_out *o)
{
	unsigned int i;
	int rc = 0;

	dump_flows(eth, o);
	mlx4_dump_array(o, "groups");
	for (i = 0; i < eth->groups->num && rc == 0; i++)
		rc = dump_group(eth->groups->g[i], i, o);
	mlx4_dump_end(o);
	return rc;
}
