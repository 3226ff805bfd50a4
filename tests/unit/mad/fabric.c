/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "fabric.h"

#include <errno.h>
#include <string.h>

enum { DOWN = 1, INIT = 2, ARMED = 3, ACTIVE = 4 };
#define CAPS 0x02110868u /* reregistration, traps, SL mapping ... */
#define REREGISTER 0x80

/* --- what is where ------------------------------------------------------------------------------------------------ */

struct fab_port *
fab_port(struct fab *f, unsigned int node, unsigned int port)
{
	return &f->node[node].port[port];
}

struct tp_mad *
fab_mad(struct fab *f, unsigned int node, unsigned int port)
{
	return f->node[node].port[port].mad;
}

unsigned int
fab_state(struct fab *f, unsigned int node, unsigned int port)
{
	return f->node[node].port[port].info[32] & 0xf;
}

static void
set_state(struct fab_port *p, unsigned int state)
{
	p->info[32] = (uint8_t)((p->info[32] & 0xf0) | state);
}

uint16_t
fab_lid(struct fab *f, unsigned int node, unsigned int port)
{
	return ib_get16(f->node[node].port[port].info + 16);
}

/* --- the agent of subnet management, of adapters and switches (14.2.5) -------------------------------------------- */

static void
node_info(const struct fab_node *n, const struct fab_port *in, uint8_t *d)
{
	memset(d, 0, 64);
	d[0] = d[1] = 1;
	d[2] = n->is_switch ? 2 : 1;
	d[3] = n->says_none ? 0 : n->says_ports != 0 ? n->says_ports : (uint8_t)n->ports;
	ib_put64(d + 4, n->guid);
	ib_put64(d + 12, n->guid);
	ib_put64(d + 20, n->guid + (n->is_switch ? 0 : in->num));
	ib_put16(d + 28, 128);
	d[36] = (uint8_t)in->num;
}

static bool
set_port_info(struct fab_port *p, const uint8_t *d)
{
	unsigned int now = p->info[32] & 0xf, want = d[32] & 0xf;
	bool good = want == 0 || want == now || (now == INIT && want == ARMED) || (now == ARMED && want == ACTIVE) ||
		    (want == DOWN);

	if (p->num_set < 8)
		memcpy(p->set[p->num_set++], d, 64);
	if (!good || (d[36] >> 4) > 5)
		return false;
	memcpy(p->info + 8, d + 8, 12);
	p->info[34] = d[34];
	p->info[36] = d[36];
	p->registered += (d[51] & REREGISTER) != 0;
	if (want > DOWN)
		set_state(p, want);
	return true;
}

static bool
table(uint8_t *own, uint8_t *d, uint32_t len, bool set)
{
	memcpy(set ? own : d, set ? d : own, len);
	return true;
}

static bool
groups(struct fab_node *n, uint32_t mod, uint8_t *d, bool set)
{
	uint32_t first = (mod & 0x1ff) * 32, shift = (mod >> 28) * 16;

	if (first >= FAB_GROUPS || shift > FAB_PORTS)
		return false;
	for (uint32_t i = 0; i < 32; i++) {
		uint64_t *m = &n->mft[first + i];

		if (set)
			*m = (*m & ~(0xffffull << shift)) | (uint64_t)ib_get16(d + 2 * i) << shift;
		ib_put16(d + 2 * i, (uint16_t)(*m >> shift));
	}
	return true;
}

static bool
attribute(struct fab_node *n, struct fab_port *in, uint16_t attr, uint32_t mod, uint8_t *d, bool set)
{
	struct fab_port *p = attr == 0x15 && mod != 0 && mod <= n->ports ? &n->port[mod] : in;

	/* NodeDescription, NodeInfo and SwitchInfo are one each (14.2.5). */
	if (attr <= 0x12)
		assert_int_equal(mod, 0);
	switch (attr) {
	case 0x10: memcpy(d, n->is_switch ? "switch" : "adapter", 7); return !set;
	case 0x11: node_info(n, in, d); return !set;
	case 0x12: return n->is_switch && (set ? memcpy(n->switch_set, d, 64) : memset(d, 0x11, 64)) != NULL;
	case 0x15:
		if (n->is_switch)
			p = mod > n->ports ? NULL : &n->port[mod];
		if (p == NULL || (set && !set_port_info(p, d)))
			return false;
		memcpy(d, p->info, 64);
		d[28] = (uint8_t)in->num;
		return true;
	case 0x16: return mod == 0 && table(p->pkeys, d, 64, set);
	case 0x19: return n->is_switch && mod < FAB_LIDS / 64 && table(n->lft + 64 * mod, d, 64, set);
	case 0x1b: return n->is_switch && groups(n, mod, d, set);
	default: return false;
	}
}

static void
agent(struct fab_port *in, uint8_t *mad)
{
	struct fab *f = in->fab;
	bool set = mad[MAD_METHOD_AT] == MAD_SET;
	bool good = attribute(&f->node[in->node], in, ib_get16(mad + MAD_ATTR_AT), ib_get32(mad + MAD_ATTR_MOD_AT),
			      mad + SMP_DATA_AT, set);

	f->smps++;
	mad[MAD_METHOD_AT] = MAD_GET | MAD_RESPONSE;
	ib_put16(mad + MAD_STATUS_AT, good ? 0 : MAD_BAD_VALUE);
}

/* --- cables and switches ------------------------------------------------------------------------------------------- */

static void
put(struct fab *f, const struct fab_port *out, const struct tp_mad_packet *pkt)
{
	unsigned int at = (f->head + f->num) % 512;

	if (out->peer < 0 || f->num == 512) {
		f->lost++;
		return;
	}
	f->wire[at].pkt = *pkt;
	f->wire[at].node = (unsigned int)out->peer;
	f->wire[at].port = out->peer_port;
	f->num++;
}

/* 14.2.2: a switch in the middle of a route, at its end, on the way back. */
static void
directed(struct fab_node *n, struct fab_port *in, struct tp_mad_packet *pkt)
{
	uint8_t *m = pkt->data, *at = &m[SMP_HOP_POINTER_AT], hops = m[SMP_HOP_COUNT_AT];
	unsigned int out = in->num;

	if ((ib_get16(m + MAD_STATUS_AT) & SMP_DIRECTION) != 0) {
		assert_in_range(*at, 2, hops);
		out = m[SMP_RETURN_PATH_AT + --*at];
	} else {
		assert_in_range(*at, 1, hops);
		m[SMP_RETURN_PATH_AT + *at] = (uint8_t)in->num;
		if (*at < hops) {
			out = m[SMP_INITIAL_PATH_AT + ++*at];
		} else if (!n->deaf) {
			agent(in, m);
			m[MAD_STATUS_AT] |= SMP_DIRECTION >> 8;
		} else {
			return;
		}
	}
	if (out >= 1 && out <= n->ports)
		put(in->fab, &n->port[out], pkt);
	else
		in->fab->lost++;
}

static void
arrive(struct fab *f, struct fab_port *in, struct tp_mad_packet *pkt)
{
	struct fab_node *n = &f->node[in->node];

	if (!n->is_switch) {
		if (!n->deaf)
			tp_mad_input(in->mad, pkt);
		return;
	}
	if (pkt->data[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED) {
		directed(n, in, pkt);
	} else if (pkt->dlid < FAB_LIDS && n->lft[pkt->dlid] >= 1 && n->lft[pkt->dlid] <= n->ports &&
		   (n->port[n->lft[pkt->dlid]].info[32] & 0xf) == ACTIVE) {
		put(f, &n->port[n->lft[pkt->dlid]], pkt);
	} else {
		f->lost++;
	}
}

/* --- an adapter's port: home of its service ------------------------------------------------------------------------ */

static int
transmit(void *home, const struct tp_mad_packet *pkt)
{
	struct fab_port *p = home;
	struct tp_mad_packet out = *pkt;

	if (pkt->dlid != MAD_LID_PERMISSIVE) {
		out.slid = ib_get16(p->info + 16);
		out.remote_qpn = pkt->qpn;
	}
	/* To itself, by a queue pair: inside the adapter. */
	if (pkt->qpn == 1 && pkt->dlid == ib_get16(p->info + 16)) {
		unsigned int at = (p->fab->head + p->fab->num) % 512;

		assert_true(p->fab->num < 512);
		p->fab->wire[at].pkt = out;
		p->fab->wire[at].node = p->node;
		p->fab->wire[at].port = p->num;
		p->fab->num++;
		return 0;
	}
	put(p->fab, p, &out);
	return 0;
}

static int
firmware(void *home, const struct tp_mad_packet *in, struct tp_mad_packet *out)
{
	if (in->data[MAD_METHOD_AT] == MAD_TRAP_REPRESS)
		return 0;
	if (!mad_is_smp(in->data[MAD_CLASS_AT]))
		return -ENODATA;
	memcpy(out->data, in->data, MAD_SIZE);
	agent(home, out->data);
	return 1;
}

static void
port_state(void *home, struct tp_mad_port_state *s)
{
	const struct fab_port *p = home;

	*s = (struct tp_mad_port_state){.lid = ib_get16(p->info + 16),
					.sm_lid = ib_get16(p->info + 18),
					.port_num = (uint8_t)p->num,
					.active = (p->info[32] & 0xf) == ACTIVE};
	ib_put64(s->gid.raw, 0xfe80000000000000ull);
	ib_put64(s->gid.raw + 8, p->fab->node[p->node].guid + p->num);
}

static uint64_t
now_ns(void *home)
{
	return ((struct fab_port *)home)->fab->now;
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static void
node_up(struct fab *f, unsigned int node, uint64_t guid, unsigned int ports, bool is_switch)
{
	struct fab_node *n = &f->node[node];

	n->used = true;
	n->is_switch = is_switch;
	n->guid = guid;
	n->ports = ports;
	memset(n->lft, 0xff, sizeof(n->lft));
	for (unsigned int i = 0; i <= ports; i++) {
		struct fab_port *p = &n->port[i];

		p->fab = f;
		p->node = node;
		p->num = i;
		p->peer = -1;
		ib_put32(p->info + 20, CAPS);
		p->info[31] = 2;    /* 4 lanes */
		p->info[35] = 0x44; /* of 10 Gb/s */
		p->info[36] = 0x40; /* 2048 */
		p->info[41] = 5;    /* could 4096 */
		set_state(p, is_switch && i == 0 ? ACTIVE : DOWN);
	}
}

void
fab_switch(struct fab *f, unsigned int node, uint64_t guid, unsigned int ports)
{
	node_up(f, node, guid, ports, true);
}

void
fab_adapter(struct fab *f, unsigned int node, uint64_t guid, unsigned int ports)
{
	static const struct tp_mad_ops ops = {transmit, firmware, port_state, now_ns};

	node_up(f, node, guid, ports, false);
	for (unsigned int i = 1; i <= ports; i++) {
		f->node[node].port[i].mad = tp_mad_create(&ops, &f->node[node].port[i]);
		assert_non_null(f->node[node].port[i].mad);
	}
}

void
fab_cable(struct fab *f, unsigned int a, unsigned int port_a, unsigned int b, unsigned int port_b)
{
	struct fab_port *p = fab_port(f, a, port_a), *q = fab_port(f, b, port_b);

	p->peer = (int)b;
	p->peer_port = port_b;
	q->peer = (int)a;
	q->peer_port = port_a;
	set_state(p, INIT);
	set_state(q, INIT);
}

void
fab_cut(struct fab *f, unsigned int node, unsigned int port)
{
	struct fab_port *p = fab_port(f, node, port), *q = fab_port(f, (unsigned int)p->peer, p->peer_port);

	p->peer = q->peer = -1;
	set_state(p, DOWN);
	set_state(q, DOWN);
}

void
fab_up(struct fab *f)
{
	memset(f, 0, sizeof(*f));
	f->now = 1;
}

void
fab_down(struct fab *f)
{
	for (unsigned int i = 0; i < FAB_NODES; i++) {
		for (unsigned int p = 1; p <= f->node[i].ports; p++)
			tp_mad_destroy(f->node[i].port[p].mad);
	}
}

static unsigned int
step(struct fab *f, uint64_t *due)
{
	unsigned int done = 0;

	*due = UINT64_MAX;
	while (f->num != 0 && done < 512) {
		struct tp_mad_packet pkt = f->wire[f->head].pkt;
		struct fab_port *in = fab_port(f, f->wire[f->head].node, f->wire[f->head].port);

		f->head = (f->head + 1) % 512;
		f->num--;
		done++;
		arrive(f, in, &pkt);
	}
	for (unsigned int i = 0; i < FAB_NODES; i++) {
		for (unsigned int p = 1; p <= f->node[i].ports; p++) {
			struct tp_mad *mad = f->node[i].port[p].mad;

			if (mad == NULL)
				continue;
			done += tp_mad_progress(mad);
			if (tp_mad_deadline(mad) < *due)
				*due = tp_mad_deadline(mad);
		}
	}
	return done;
}

void
fab_run(struct fab *f, uint64_t ms)
{
	uint64_t until = f->now + ms * FAB_MS, due;

	while (f->now < until) {
		unsigned int quiet = 0;

		while (step(f, &due) != 0)
			assert_true(quiet++ < 100000);
		f->now = due <= f->now ? f->now + 1 : due < until ? due : until;
	}
}

/* --- packets of others --------------------------------------------------------------------------------------------- */

struct fab_port *
fab_unicast(struct fab *f, struct fab_port *from, uint16_t dlid)
{
	struct fab_port *p = from;

	for (unsigned int hops = 0; hops < FAB_NODES && p->peer >= 0 && (p->info[32] & 0xf) == ACTIVE; hops++) {
		struct fab_node *n = &f->node[p->peer];
		uint8_t out;

		if (!n->is_switch)
			return &n->port[p->peer_port];
		out = dlid < FAB_LIDS ? n->lft[dlid] : 0xff;
		if (out == 0)
			return &n->port[0];
		if (out > n->ports)
			return NULL;
		p = &n->port[out];
	}
	return NULL;
}

bool
fab_multicast(struct fab *f, struct fab_port *from, uint16_t mlid, unsigned int *copies)
{
	struct fab_port *at[256] = {from};
	unsigned int num = 1;

	*copies = 0;
	for (unsigned int i = 0; i < num; i++) {
		struct fab_node *n = at[i]->peer < 0 ? NULL : &f->node[at[i]->peer];

		if (n == NULL || (at[i]->info[32] & 0xf) != ACTIVE)
			continue;
		if (!n->is_switch) {
			n->port[at[i]->peer_port].rx++;
			++*copies;
			continue;
		}
		for (unsigned int p = 1; p <= n->ports; p++) {
			if (p == at[i]->peer_port || (n->mft[mlid - 0xc000] >> p & 1) == 0)
				continue;
			if (num == 256)
				return false;
			at[num++] = &n->port[p];
		}
	}
	return true;
}
