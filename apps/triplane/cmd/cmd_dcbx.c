/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of DCBX. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tp_dcbx_port.h>

#include "apps/triplane/port/dcbx.h"
#include "apps/triplane/settings/settings.h"
#include "commands.h"

static int
dcbx_change(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];

	return dcbx_port_want(app, p, cmd_is(a, "state", "on"),
			      cmd_has(a, "willing") ? cmd_is(a, "willing", "willing") : p->dcbx_willing);
}

static int
do_dcbx(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"dcbx", "dcbx-willing", NULL};

	return settings_noted(arg, a, names, dcbx_change);
}

static int
do_times(void *arg, const struct cmd_args *a)
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PORT, .port = (uint16_t)cmd_num(a, "port", 0)};
	int ret = setting_set(arg, &at, "dcbx-interval", cmd_text(a, "interval"));

	return ret != 0 ? ret : setting_set(arg, &at, "dcbx-hold", cmd_text(a, "hold"));
}

static void
list(struct out *o, const char *key, const uint8_t *v, unsigned int n)
{
	char text[8 * 4 + 1] = "";
	size_t at = 0;
	unsigned int i;

	for (i = 0; i < n && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u", i == 0 ? "" : ",", v[i]);
	out_str(o, key, text);
}

static void
show_ets(struct out *o, const char *key, const struct tp_dcbx_ets *e)
{
	out_object(o, key);
	list(o, "prio_tc", e->prio_tc, TP_PRIOS);
	list(o, "bw", e->bw, TP_TCS);
	list(o, "tsa", e->tsa, TP_TCS);
	if (e->max_tc != 0)
		out_u64(o, "max_tc", e->max_tc);
	out_end(o);
}

static void
show_pfc(struct out *o, const struct tp_dcbx_pfc *p)
{
	char text[TP_PRIOS * 2 + 1] = "";
	unsigned int i;

	for (i = 0; i < TP_PRIOS; i++)
		if ((p->enable & 1u << i) != 0)
			snprintf(text + strlen(text), 3, "%s%u", text[0] == '\0' ? "" : ",", i);
	out_object(o, "pfc");
	out_str(o, "priorities", text);
	out_u64(o, "max", p->cap);
	out_end(o);
}

static void
show_apps(struct out *o, const struct tp_dcbx_apps *t)
{
	uint16_t i;

	out_array(o, "app");
	for (i = 0; i < t->n; i++) {
		out_item(o, "entry", i);
		out_u64(o, "selector", t->app[i].sel);
		out_u64(o, "protocol", t->app[i].proto);
		out_u64(o, "priority", t->app[i].prio);
		out_end(o);
	}
	out_end(o);
}

static void
show_params(struct out *o, const char *key, const struct tp_dcbx_params *p)
{
	out_object(o, key);
	show_ets(o, "ets", &p->ets);
	show_pfc(o, &p->pfc);
	show_apps(o, &p->apps);
	out_end(o);
}

static void
show_peer(struct out *o, const struct tp_dcbx_peer *p)
{
	struct rte_ether_addr mac;

	out_object(o, "peer");
	memcpy(&mac, p->mac, sizeof(mac));
	out_mac(o, "mac", &mac);
	if (p->has_ets) {
		out_bool(o, "ets_willing", p->ets_willing);
		show_ets(o, "ets", &p->ets);
	}
	if (p->has_rec)
		show_ets(o, "ets_recommended", &p->rec);
	if (p->has_pfc) {
		out_bool(o, "pfc_willing", p->pfc_willing);
		show_pfc(o, &p->pfc);
	}
	if (p->has_apps)
		show_apps(o, &p->apps);
	/* Seen and not spoken: a peer that has both is one of the standard's. */
	out_bool(o, "cee", p->has_cee);
	out_end(o);
}

static void
show_features(struct out *o, const struct tp_dcbx *d)
{
	unsigned int i;

	out_object(o, "features");
	for (i = 0; i < TP_DCBX_FEATURES; i++) {
		const struct tp_dcbx_feature *f = &d->feature[i];

		out_object(o, tp_dcbx_feature_text((enum tp_dcbx_feature_id)i));
		out_bool(o, "willing", f->willing);
		out_str(o, "from", f->from_peer ? "peer" : "local");
		out_bool(o, "synced", f->synced);
		out_str(o, "error", tp_dcbx_error_text(f->error));
		out_end(o);
	}
	out_end(o);
}

/* A TLV's text with what terminals must not see replaced. */
static void
show_text(struct out *o, const char *key, const struct tp_lldp_neighbour *n, uint8_t type)
{
	char text[256];
	struct tp_lldp_tlv tlv;
	uint16_t i;

	if (!tp_lldp_find(n, type, &tlv) || tlv.len >= sizeof(text))
		return;
	for (i = 0; i < tlv.len; i++)
		text[i] = (char)(tlv.info[i] >= 0x20 && tlv.info[i] < 0x7f ? tlv.info[i] : '.');
	text[tlv.len] = '\0';
	out_str(o, key, text);
}

static void
show_neighbours(struct out *o, const struct tp_lldp *a)
{
	struct rte_ether_addr mac;
	struct tp_lldp_tlv tlv;
	unsigned int i;
	char id[300];

	out_array(o, "neighbours");
	for (i = 0; i < TP_LLDP_NEIGHBOURS; i++) {
		const struct tp_lldp_neighbour *n = &a->neighbour[i];

		if (!n->used)
			continue;
		out_item(o, "neighbour", i);
		memcpy(&mac, n->mac, sizeof(mac));
		out_mac(o, "mac", &mac);
		if (tp_lldp_find(n, TP_LLDP_CHASSIS, &tlv)) {
			tp_lldp_id_text(TP_LLDP_CHASSIS, &tlv, id, sizeof(id));
			out_str(o, "chassis", id);
		}
		if (tp_lldp_find(n, TP_LLDP_PORT, &tlv)) {
			tp_lldp_id_text(TP_LLDP_PORT, &tlv, id, sizeof(id));
			out_str(o, "port_id", id);
		}
		out_u64(o, "ttl", n->ttl_s);
		show_text(o, "system_name", n, TP_LLDP_SYS_NAME);
		show_text(o, "port_description", n, TP_LLDP_PORT_DESC);
		out_end(o);
	}
	out_end(o);
}

static void
show_counters(struct out *o, const struct tp_dcbx_report *r)
{
	const struct tp_lldp_stats *l = &r->dcbx.lldp.stats;
	const struct tp_dcbx_stats *d = &r->dcbx.stats;

	out_object(o, "lldp");
	out_u64(o, "tx_frames", l->tx_frames);
	out_u64(o, "tx_lost", r->tx_lost);
	out_u64(o, "rx_frames", l->rx_frames);
	out_u64(o, "rx_lost", r->rx_lost);
	out_u64(o, "rx_discarded", l->rx_discarded);
	out_u64(o, "rx_errors", l->rx_errors);
	out_u64(o, "rx_tlvs_discarded", l->rx_tlvs_discarded);
	out_u64(o, "rx_tlvs_unrecognised", l->rx_tlvs_unrecognised);
	out_u64(o, "inserts", l->inserts);
	out_u64(o, "deletes", l->deletes);
	out_u64(o, "drops", l->drops);
	out_u64(o, "ageouts", l->ageouts);
	out_bool(o, "too_many_neighbours", r->dcbx.lldp.too_many);
	out_end(o);
	out_object(o, "dcbx");
	out_u64(o, "tx_tlvs", d->tx_tlvs);
	out_u64(o, "rx_ets", d->rx_tlvs[TP_DCBX_ETS]);
	out_u64(o, "rx_ets_recommended", d->rx_rec);
	out_u64(o, "rx_pfc", d->rx_tlvs[TP_DCBX_PFC]);
	out_u64(o, "rx_app", d->rx_tlvs[TP_DCBX_APP]);
	out_u64(o, "rx_bad", d->rx_bad);
	out_u64(o, "rx_cee", d->rx_cee);
	out_u64(o, "changes", d->changes);
	out_u64(o, "many_peers", d->many_peers);
	out_u64(o, "applied", r->applied);
	out_u64(o, "refused", r->refused);
	out_u64(o, "apps_without_rule", r->apps_unruled);
	if (r->refusal[0] != '\0')
		out_str(o, "refusal", r->refusal);
	out_end(o);
}

static void
show_port(struct out *o, const struct app_port *p, struct tp_dcbx_report *r)
{
	out_item(o, "port", p->id);
	if (p->dcbx == NULL) {
		out_str(o, "state", tp_dcbx_status_text(TP_DCBX_OFF));
		out_end(o);
		return;
	}
	tp_dcbx_report(p->dcbx, r);
	out_str(o, "state", tp_dcbx_status_text(r->dcbx.status));
	out_bool(o, "willing", r->willing);
	out_bool(o, "link", r->link);
	out_u64(o, "rx_untaken", __atomic_load_n(&p->dcbx_untaken, __ATOMIC_RELAXED));
	show_features(o, &r->dcbx);
	show_params(o, "local", &r->dcbx.local);
	if (r->dcbx.status == TP_DCBX_UP)
		show_peer(o, &r->dcbx.peer);
	show_params(o, "operational", &r->dcbx.oper);
	show_neighbours(o, &r->dcbx.lldp);
	show_counters(o, r);
	out_end(o);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct tp_dcbx_report *r = malloc(sizeof(*r));
	struct app *app = arg;
	struct out o;
	unsigned int i;

	if (r == NULL)
		return app_err(-ENOMEM, "no memory for the state of DCBX");
	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n; i++)
		show_port(&o, &app->port[ports->list[i]], r);
	out_end(&o);
	out_done(&o);
	free(r);
	return 0;
}

static const struct cmd table[] = {
	{"DCBX", "dcbx {port:port} {state:on|off} [{willing:willing|not-willing}]",
	 "Lets a port talk LLDP and DCBX with its peer, and take the peer's settings if willing. It begins while "
	 "forwarding is stopped.",
	 do_dcbx, false},
	{"DCBX", "set dcbx-times {port:port} {interval:1..3600} {hold:1..100}",
	 "Sets the seconds between LLDP frames and for how many intervals peers keep them; the standard says 30 and 4.",
	 do_times, false},
	{"DCBX", "show dcbx {ports:ports}",
	 "Shows state, settings (local, the peer's, in use), neighbours and counters of LLDP and DCBX.", do_show, true},
};

int
cmd_dcbx_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
