/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Rules of rte_flow in testpmd's words. A port's rules have numbers, from 0 up, that are not given twice. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/app/app.h"
#include "apps/triplane/port/flow_words.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/cli/out.h"
#include "apps/triplane/port/flow_rules.h"
#include "commands.h"

/* The driver's reason. */
static int
refused(uint16_t port, const char *what, const struct rte_flow_error *e, int ret)
{
	return app_err(ret != 0 ? ret : -EIO, "port %u: flow %s: %s", port, what,
		       e->message != NULL ? e->message : rte_strerror(-ret));
}

/* Queues that the port has not: what gives it more the driver does not know. */
static int
check_queues(const struct app_port *p, const struct rte_flow_action *action)
{
	const struct rte_flow_action_rss *rss;
	unsigned int most = 0;
	uint32_t i;
	char err[256];
	int ret;

	for (; action->type != RTE_FLOW_ACTION_TYPE_END; action++) {
		if (action->type == RTE_FLOW_ACTION_TYPE_QUEUE)
			most = RTE_MAX(most, ((const struct rte_flow_action_queue *)action->conf)->index);
		if (action->type != RTE_FLOW_ACTION_TYPE_RSS)
			continue;
		rss = action->conf;
		for (i = 0; i < rss->queue_num; i++)
			most = RTE_MAX(most, rss->queue[i]);
	}
	if (most == 0 || most < p->rxq)
		return 0;
	ret = port_queue_refuse(p, "flow: queue", most, err, sizeof(err));
	return app_err(ret, "%s", err);
}

static int
do_create(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	struct app_port *p = &((struct app *)arg)->port[port];
	const char *text = cmd_text(a, "rule");
	struct app_flow *f;
	char err[FLOW_ERR_LEN] = "";
	struct rte_flow_error e = {0};
	struct flow_rule r;
	int ret;

	ret = flow_words(text, &r, err);
	if (ret != 0)
		return app_err(ret, "port %u: flow: %s", port, err);
	ret = check_queues(p, r.action);
	if (ret != 0)
		return ret;
	if (cmd_has(a, "validate")) {
		ret = rte_flow_validate(port, &r.attr, r.item, r.action, &e);
		if (ret != 0)
			return refused(port, "validate", &e, ret);
		app_say(arg, "Flow rule validated\n");
		return 0;
	}
	f = flow_room(text);
	if (f == NULL)
		return app_err(-ENOMEM, "port %u: flow: no memory", port);
	f->flow = rte_flow_create(port, &r.attr, r.item, r.action, &e);
	if (f->flow == NULL) {
		free(f);
		return refused(port, "create", &e, -rte_errno);
	}
	flow_add(p, f);
	app_say(arg, "Flow rule #%u created\n", f->id);
	return 0;
}

static int
no_rule(uint16_t port, uint64_t id)
{
	return app_err(-ENOENT, "port %u: flow rule %" PRIu64 ", want one that 'flow list %u' names", port, id, port);
}

static int
do_destroy(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	struct app_port *p = &((struct app *)arg)->port[port];
	const uint64_t id = cmd_num(a, "id", 0);
	struct app_flow **at = flow_find(p, id), *f = *at;
	struct rte_flow_error e = {0};
	int ret;

	if (f == NULL)
		return no_rule(port, id);
	ret = rte_flow_destroy(port, f->flow, &e);
	if (ret != 0)
		return refused(port, "destroy", &e, ret);
	*at = f->next;
	free(f);
	app_say(arg, "Flow rule #%" PRIu64 " destroyed\n", id);
	return 0;
}

static int
do_flush(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	struct rte_flow_error e = {0};
	int ret = rte_flow_flush(port, &e);

	if (ret != 0)
		return refused(port, "flush", &e, ret);
	flows_forget(&((struct app *)arg)->port[port]);
	return 0;
}

static int
do_isolate(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	struct rte_flow_error e = {0};
	int ret = rte_flow_isolate(port, cmd_num(a, "on", 0) != 0, &e);

	(void)arg;
	return ret != 0 ? refused(port, "isolate", &e, ret) : 0;
}

static int
do_query(void *arg, const struct cmd_args *a)
{
	const struct rte_flow_action count = {.type = RTE_FLOW_ACTION_TYPE_COUNT};
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	const uint64_t id = cmd_num(a, "id", 0);
	const struct app_flow *f = *flow_find(&((struct app *)arg)->port[port], id);
	struct rte_flow_query_count q = {0};
	struct rte_flow_error e = {0};
	struct out o;
	int ret;

	if (f == NULL)
		return no_rule(port, id);
	ret = rte_flow_query(port, f->flow, &count, &q, &e);
	if (ret != 0)
		return refused(port, "query", &e, ret);
	out_init(&o, stdout, a->json);
	out_u64(&o, "hits", q.hits);
	out_u64(&o, "bytes", q.bytes);
	out_done(&o);
	return 0;
}

static int
do_list(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	const struct app_flow *f;
	struct out o;

	out_init(&o, stdout, a->json);
	out_array(&o, "rules");
	for (f = ((struct app *)arg)->port[port].flows; f != NULL; f = f->next) {
		out_item(&o, "rule", f->id);
		out_str(&o, "words", f->text);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"Flow rules", "flow validate {port:port} {rule:rest}", "Says whether a rule would be taken, and if not, why.",
	 do_create, false},
	{"Flow rules", "flow create {port:port} {rule:rest}",
	 "Adds a rule, in testpmd's words: [group N] [priority N] ingress pattern eth / ipv4 src spec 10.0.0.0 src "
	 "prefix 8 / "
	 "udp dst is 53 / end actions mark id 7 / queue index 1 / end. Items: eth, vlan, ipv4, ipv6, tcp, udp, vxlan; "
	 "actions: "
	 "queue index, rss queues ... end, drop, mark id, flag, count.",
	 do_create, false},
	{"Flow rules", "flow destroy {port:port} rule {id:0..4294967295}", "Takes a rule away.", do_destroy, false},
	{"Flow rules", "flow flush {port:port}", "Takes all rules of a port away.", do_flush, false},
	{"Flow rules", "flow query {port:port} {id:0..4294967295} count",
	 "Shows what a rule with the action count has counted.", do_query, true},
	{"Flow rules", "flow list {port:port}", "Shows the rules of a port.", do_list, true},
	{"Flow rules", "flow isolate {port:port} {on:0..1}",
	 "With 1 a port receives only what its rules name, with 0 what its addresses and modes say, too. Refused while "
	 "the port has groups other than the default one, as such a group is on an isolated port.",
	 do_isolate, false},
};

int
cmd_flow_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
