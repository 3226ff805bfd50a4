/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The state machines of DCBX (IEEE 802.1Q-2018, 38.4): whose setting of each feature is in use. */
#include <string.h>

#include "dcbx.h"

static void
ets_default(struct tp_dcbx_ets *e)
{
	memset(e, 0, sizeof(*e));
	e->max_tc = TP_TCS;
}

void
tp_dcbx_params_default(struct tp_dcbx_params *p)
{
	memset(p, 0, sizeof(*p));
	ets_default(&p->ets);
	p->pfc.cap = TP_TCS;
}

/* Can the port do what the peer recommends? */
static enum tp_dcbx_error
judge_ets(const struct tp_dcbx_ets *rec, const struct tp_dcbx_ets *local)
{
	unsigned int i, sum = 0, used = 0;
	bool any = false;

	for (i = 0; i < TP_PRIOS; i++) {
		if (rec->prio_tc[i] >= local->max_tc)
			return TP_DCBX_E_CLASS;
		used |= 1u << rec->prio_tc[i];
	}
	for (i = 0; i < TP_TCS; i++) {
		bool ets = rec->tsa[i] == TP_TSA_ETS;

		if (!ets && rec->tsa[i] != TP_TSA_STRICT && (used & 1u << i) != 0)
			return TP_DCBX_E_TSA;
		if (ets && i >= local->max_tc && rec->bw[i] != 0)
			return TP_DCBX_E_CLASS;
		any |= ets;
		sum += ets ? rec->bw[i] : 0;
	}
	return any && sum != 100 ? TP_DCBX_E_SHARES : TP_DCBX_OK;
}

static enum tp_dcbx_error
judge_pfc(const struct tp_dcbx_pfc *peer, const struct tp_dcbx_pfc *local)
{
	return __builtin_popcount(peer->enable) > local->cap ? TP_DCBX_E_PFC_CAP : TP_DCBX_OK;
}

/* What the peer recommends, in a form that a port can have: shares only where ETS is. */
static void
take_ets(struct tp_dcbx_params *o, const struct tp_dcbx_ets *rec)
{
	unsigned int i;

	memcpy(o->ets.prio_tc, rec->prio_tc, sizeof(o->ets.prio_tc));
	for (i = 0; i < TP_TCS; i++) {
		bool ets = rec->tsa[i] == TP_TSA_ETS && i < o->ets.max_tc;

		o->ets.tsa[i] = ets ? TP_TSA_ETS : TP_TSA_STRICT;
		o->ets.bw[i] = ets ? rec->bw[i] : 0;
	}
}

/* 38.4.1: asymmetric. */
static void
run_ets(struct tp_dcbx *d, struct tp_dcbx_params *o)
{
	struct tp_dcbx_feature *f = &d->feature[TP_DCBX_ETS];
	bool up = d->status == TP_DCBX_UP;

	f->from_peer = false;
	if (up && f->willing && d->peer.has_rec) {
		if (f->error != TP_DCBX_E_PORT)
			f->error = judge_ets(&d->peer.rec, &d->local.ets);
		f->from_peer = f->error == TP_DCBX_OK;
	}
	if (f->from_peer)
		take_ets(o, &d->peer.rec);
	f->synced = up && d->peer.has_ets && memcmp(d->peer.ets.prio_tc, o->ets.prio_tc, sizeof(o->ets.prio_tc)) == 0 &&
		    memcmp(d->peer.ets.bw, o->ets.bw, sizeof(o->ets.bw)) == 0 &&
		    memcmp(d->peer.ets.tsa, o->ets.tsa, sizeof(o->ets.tsa)) == 0;
}

/* 38.4.2: symmetric. Of two willing sides the lower address yields. */
static void
run_pfc(struct tp_dcbx *d, struct tp_dcbx_params *o)
{
	struct tp_dcbx_feature *f = &d->feature[TP_DCBX_PFC];
	bool up = d->status == TP_DCBX_UP && d->peer.has_pfc;
	bool yield = up && f->willing &&
		     (!d->peer.pfc_willing || memcmp(d->lldp.conf.mac, d->peer.mac, sizeof(d->peer.mac)) < 0);

	f->from_peer = false;
	if (yield) {
		if (f->error != TP_DCBX_E_PORT)
			f->error = judge_pfc(&d->peer.pfc, &d->local.pfc);
		f->from_peer = f->error == TP_DCBX_OK;
	}
	if (f->from_peer)
		o->pfc.enable = d->peer.pfc.enable;
	f->synced = up && d->peer.pfc.enable == o->pfc.enable;
}

static void
run_apps(struct tp_dcbx *d, struct tp_dcbx_params *o)
{
	struct tp_dcbx_feature *f = &d->feature[TP_DCBX_APP];
	bool up = d->status == TP_DCBX_UP && d->peer.has_apps;

	f->from_peer = up && f->willing && f->error == TP_DCBX_OK;
	if (f->from_peer)
		o->apps = d->peer.apps;
	f->synced = up && d->peer.apps.n == o->apps.n &&
		    memcmp(d->peer.apps.app, o->apps.app, o->apps.n * sizeof(o->apps.app[0])) == 0;
}

static bool
params_equal(const struct tp_dcbx_params *a, const struct tp_dcbx_params *b)
{
	return memcmp(&a->ets, &b->ets, sizeof(a->ets)) == 0 && memcmp(&a->pfc, &b->pfc, sizeof(a->pfc)) == 0 &&
	       a->apps.n == b->apps.n && memcmp(a->apps.app, b->apps.app, a->apps.n * sizeof(a->apps.app[0])) == 0;
}

static void
run(struct tp_dcbx *d)
{
	struct tp_dcbx_params o = d->local;
	unsigned int i;

	for (i = 0; i < TP_DCBX_FEATURES; i++)
		if (d->feature[i].error != TP_DCBX_E_PORT)
			d->feature[i].error = TP_DCBX_OK;
	run_ets(d, &o);
	run_pfc(d, &o);
	run_apps(d, &o);
	if (params_equal(&o, &d->oper))
		return;
	d->oper = o;
	d->oper_seq++;
	d->stats.changes++;
	tp_lldp_local_changed(&d->lldp);
}

/* Who of the neighbours speaks DCBX? More than one: as if none did (38.3). */
static void
remote_changed(void *arg)
{
	struct tp_dcbx *d = arg;
	struct tp_dcbx_peer p;
	unsigned int i, n = 0;

	for (i = 0; i < TP_LLDP_NEIGHBOURS; i++) {
		const struct tp_lldp_neighbour *nb = &d->lldp.neighbour[i];

		if (!nb->used)
			continue;
		tp_dcbx_peer_parse(nb->pdu, nb->pdu_len, &p);
		if (!p.has_ets && !p.has_rec && !p.has_pfc && !p.has_apps)
			continue;
		memcpy(p.mac, nb->mac, sizeof(p.mac));
		d->peer = p;
		n++;
	}
	if (n > 1 && d->status != TP_DCBX_MANY_PEERS)
		d->stats.many_peers++;
	d->status = d->lldp.admin == TP_LLDP_OFF ? TP_DCBX_OFF
		    : n == 0                     ? TP_DCBX_NO_PEER
		    : n == 1                     ? TP_DCBX_UP
						 : TP_DCBX_MANY_PEERS;
	for (i = 0; i < TP_DCBX_FEATURES; i++)
		d->feature[i].error = TP_DCBX_OK; /* what was refused may have changed */
	run(d);
}

int
tp_dcbx_init(struct tp_dcbx *d, const struct tp_lldp_conf *conf, const struct tp_dcbx_params *local)
{
	const struct tp_lldp_client client = {
		.arg = d, .build = dcbx_build, .judge = dcbx_judge, .changed = remote_changed};

	memset(d, 0, sizeof(*d));
	d->local = d->oper = *local;
	return tp_lldp_init(&d->lldp, conf, &client);
}

void
tp_dcbx_set(struct tp_dcbx *d, bool on, bool willing)
{
	bool changed = d->feature[TP_DCBX_ETS].willing != willing;
	unsigned int i;

	for (i = 0; i < TP_DCBX_FEATURES; i++)
		d->feature[i].willing = willing;
	tp_lldp_admin_set(&d->lldp, on ? TP_LLDP_RX_TX : TP_LLDP_OFF);
	if (changed)
		tp_lldp_local_changed(&d->lldp);
	remote_changed(d);
}

void
tp_dcbx_local_set(struct tp_dcbx *d, const struct tp_dcbx_params *local)
{
	if (params_equal(&d->local, local))
		return;
	d->local = *local;
	tp_lldp_local_changed(&d->lldp);
	remote_changed(d); /* judges the peer's settings anew */
}

void
tp_dcbx_refuse(struct tp_dcbx *d, enum tp_dcbx_feature_id f)
{
	d->feature[f].error = TP_DCBX_E_PORT;
	run(d);
}

const char *
tp_dcbx_status_text(enum tp_dcbx_status s)
{
	static const char *const text[] = {
		[TP_DCBX_OFF] = "off",
		[TP_DCBX_NO_PEER] = "no peer",
		[TP_DCBX_UP] = "up",
		[TP_DCBX_MANY_PEERS] = "several peers",
	};

	return text[s];
}

const char *
tp_dcbx_error_text(enum tp_dcbx_error e)
{
	static const char *const text[] = {
		[TP_DCBX_OK] = "none",
		[TP_DCBX_E_CLASS] = "a class that the port has not",
		[TP_DCBX_E_TSA] = "a selection algorithm that the port has not",
		[TP_DCBX_E_SHARES] = "shares do not add up to 100",
		[TP_DCBX_E_PFC_CAP] = "more priorities with PFC than the port can have",
		[TP_DCBX_E_PORT] = "refused by the port",
	};

	return text[e];
}

const char *
tp_dcbx_feature_text(enum tp_dcbx_feature_id f)
{
	static const char *const text[] = {[TP_DCBX_ETS] = "ets", [TP_DCBX_PFC] = "pfc", [TP_DCBX_APP] = "app"};

	return text[f];
}
