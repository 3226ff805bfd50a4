/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdlib.h>

#include <errno.h>

#include <rte_eal.h>

#include "link_rig.h"
#include "tests/unit/eal.h"

uint64_t
rig_guid(unsigned int node)
{
	return UINT64_C(0xf452140300010001) + node;
}

uint32_t
rig_qpn(unsigned int node)
{
	return 0x48 + node;
}

static void
gid_of(unsigned int node, uint8_t gid[16])
{
	ib_put64(gid, UINT64_C(0xfe80000000000000));
	ib_put64(gid + 8, rig_guid(node));
}

static struct rig_answer *
answer_new(struct rig_node *n, uint32_t token)
{
	struct rig *r = n->rig;
	struct rig_answer *a = &r->answer[r->answers];

	assert_true(r->answers < RIG_QUEUE);
	*a = (struct rig_answer){.at = r->now + r->sa_delay, .node = n->index, .token = token};
	r->answers += !r->sa_silent;
	return a;
}

static int
io_path(void *arg, const uint8_t dgid[16], uint32_t token)
{
	struct rig_node *n = arg;
	struct rig_answer *a;
	unsigned int i;

	n->path_asked++;
	if (n->rig->sa_call != 0)
		return n->rig->sa_call;
	a = answer_new(n, token);
	a->path = true;
	a->status = n->rig->sa_path_status != 0 ? n->rig->sa_path_status : -ENOENT;
	for (i = 0; i < RIG_NODES; i++) {
		uint8_t gid[16];

		gid_of(i, gid);
		if (memcmp(gid, dgid, 16) != 0 || !n->rig->node[i].core->place.active || n->rig->sa_path_status != 0)
			continue;
		a->status = 0;
		a->p.dlid = n->rig->node[i].core->place.lid;
		a->p.slid = n->core->place.lid;
		a->p.mtu = n->rig->mtu_code;
		memcpy(a->p.dgid.raw, dgid, 16);
	}
	return 0;
}

static int
io_join(void *arg, const struct tp_sa_member *want, uint64_t mask, uint32_t token)
{
	struct rig_node *n = arg;
	struct rig *r = n->rig;
	struct rig_answer *a;
	unsigned int i;

	n->join_asked++;
	if (r->sa_call != 0)
		return r->sa_call;
	a = answer_new(n, token);
	a->status = r->sa_join_status;
	/* The mask of the specification: the broadcast group is named, others are described. */
	if (ib_get32(want->mgid.raw + 12) == UINT32_MAX)
		assert_int_equal(mask, 0x10083);
	else
		assert_int_equal(mask, 0x10083 | 0x4 | 0x30 | 0x40 | 0x300 | 0x1000 | 0x2000 | 0x4000);
	a->m = *want;
	a->m.qkey = RIG_QKEY;
	a->m.mtu = r->mtu_code;
	/* One LID for a group, on all nodes. */
	a->m.mlid = 0xc000;
	for (i = 0; i < 16; i++)
		a->m.mlid = (uint16_t)(0xc000 | ((a->m.mlid * 31 + want->mgid.raw[i]) & 0x3fff));
	for (i = 0; i < n->groups; i++) {
		if (memcmp(n->group[i].mgid, want->mgid.raw, 16) == 0)
			break;
	}
	assert_true(i < RTE_DIM(n->group));
	if (i == n->groups)
		n->groups++;
	memcpy(n->group[i].mgid, want->mgid.raw, 16);
	n->group[i].member = true;
	return 0;
}

static int
group_index(struct rig_node *n, const uint8_t mgid[16])
{
	unsigned int i;

	for (i = 0; i < n->groups; i++) {
		if (memcmp(n->group[i].mgid, mgid, 16) == 0)
			return (int)i;
	}
	return -1;
}

static void
io_leave(void *arg, const uint8_t mgid[16], uint8_t join_state)
{
	struct rig_node *n = arg;
	int i = group_index(n, mgid);

	assert_true(i >= 0);
	assert_int_equal(join_state, 1);
	n->group[i].member = false;
	n->left++;
}

static int
io_attach(void *arg, const uint8_t mgid[16], uint16_t mlid)
{
	struct rig_node *n = arg;
	int i = group_index(n, mgid);

	assert_true(i >= 0 && n->group[i].member && !n->group[i].attached);
	n->group[i].attached = true;
	n->group[i].mlid = mlid;
	return 0;
}

static void
io_detach(void *arg, const uint8_t mgid[16], uint16_t mlid)
{
	struct rig_node *n = arg;
	int i = group_index(n, mgid);

	assert_true(i >= 0 && n->group[i].attached && n->group[i].mlid == mlid);
	n->group[i].attached = false;
	n->detached++;
}

static struct ibv_ah *
io_ah_create(void *arg, const struct ibv_ah_attr *attr)
{
	struct rig_node *n = arg;
	struct rig_ah *ah = calloc(1, sizeof(*ah));

	assert_non_null(ah);
	ah->attr = *attr;
	n->ahs++;
	return &ah->ah;
}

static void
io_ah_retire(void *arg, struct ibv_ah *ah)
{
	struct rig_node *n = arg;

	assert_true(n->ahs > 0);
	n->ahs--;
	free(ah);
}

static void
io_retire(void *arg, void *memory)
{
	(void)arg;
	free(memory);
}

uint8_t *
rig_room(struct rte_mbuf *m, uint32_t len)
{
	assert_true(len <= rte_pktmbuf_tailroom(m));
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	return rte_pktmbuf_mtod(m, uint8_t *);
}

static void
arrive(struct rig *r, unsigned int to, unsigned int from, const struct rig_ah *ah, const struct rte_mbuf *m)
{
	struct ipoib_meta meta = {
		.qpn = rig_qpn(from), .slid = r->node[from].core->place.lid, .grh = ah->attr.is_global != 0};
	struct rte_mbuf *copy = rte_pktmbuf_alloc(r->pool);
	uint8_t *p;

	assert_non_null(copy);
	p = rig_room(copy, IB_GRH_LEN + m->pkt_len);
	memset(p, 0x5a, IB_GRH_LEN);
	if (meta.grh) {
		memcpy(p + 24, ah->attr.grh.dgid.raw, 16);
		gid_of(from, p + 8);
	}
	memcpy(p + IB_GRH_LEN, rte_pktmbuf_mtod(m, void *), m->pkt_len);
	ipoib_core_rx(r->node[to].core, copy, &meta);
}

static void
io_send(void *arg, struct ibv_ah *ah, uint32_t qpn, struct rte_mbuf *m)
{
	struct rig_node *n = arg;
	struct rig *r = n->rig;
	const struct rig_ah *to = (const struct rig_ah *)ah;
	unsigned int i;
	int g;

	n->sent++;
	n->sent_flags = m->ol_flags;
	for (i = 0; i < RIG_NODES; i++) {
		struct rig_node *peer = &r->node[i];

		if (i == n->index || !peer->core->place.active)
			continue;
		if (to->attr.dlid >= 0xc000) {
			assert_int_equal(qpn, 0xffffff);
			assert_true(to->attr.is_global);
			g = group_index(peer, to->attr.grh.dgid.raw);
			if (g >= 0 && peer->group[g].attached && peer->group[g].mlid == to->attr.dlid)
				arrive(r, i, n->index, to, m);
		} else if (peer->core->place.lid == to->attr.dlid && qpn == rig_qpn(i)) {
			arrive(r, i, n->index, to, m);
		}
	}
	rte_pktmbuf_free(m);
}

static void
io_deliver(void *arg, struct rte_mbuf *m)
{
	struct rig_node *n = arg;

	assert_true(n->napp < RIG_QUEUE);
	n->app[n->napp++] = m;
}

static void
io_link(void *arg, const struct tp_sa_member *broadcast)
{
	struct rig_node *n = arg;

	assert_int_equal(n->core->up, broadcast != NULL);
	if (broadcast == NULL) {
		n->down_calls++;
		return;
	}
	assert_int_equal(broadcast->qkey, RIG_QKEY);
	n->up_calls++;
}

void
rig_open(struct rig *r)
{
	static const struct ipoib_core_conf conf = {
		.pkey = 0xffff,
		.scope = 2,
		.age_interval_ms = 60000,
		.age = 5,
		.monitor_ms = 30000,
		.query_runs = 3,
		.leave_runs = 2,
	};
	static struct rte_mempool *pool;
	unsigned int i;

	if (pool == NULL) {
		assert_true(unit_eal("test", "64", NULL) >= 0);
		pool = rte_pktmbuf_pool_create("ipoib", 2047, 256, 0, RTE_PKTMBUF_HEADROOM + 4352, 0);
		assert_non_null(pool);
	}
	memset(r, 0, sizeof(*r));
	r->pool = pool;
	r->now = 1000;
	r->sa_delay = 2;
	r->mtu_code = IBV_MTU_2048;
	for (i = 0; i < RIG_NODES; i++) {
		struct rig_node *n = &r->node[i];
		const struct ipoib_io io = {
			.arg = n,
			.path = io_path,
			.join = io_join,
			.leave = io_leave,
			.attach = io_attach,
			.detach = io_detach,
			.ah_create = io_ah_create,
			.ah_retire = io_ah_retire,
			.retire = io_retire,
			.send = io_send,
			.deliver = io_deliver,
			.link = io_link,
			.conn_open = rig_conn_open,
			.conn_close = rig_conn_close,
			.conn_send = rig_conn_send,
		};

		n->rig = r;
		n->index = i;
		n->core = calloc(1, sizeof(*n->core));
		assert_non_null(n->core);
		ipoib_core_init(n->core, &conf, &io, pool, rig_guid(i), NULL, 4092);
	}
	rig_run(r, 0);
}

void
rig_close(struct rig *r)
{
	unsigned int i, k;

	for (i = 0; i < RIG_NODES; i++)
		ipoib_core_fini(r->node[i].core);
	rig_conns_end(r);
	for (i = 0; i < RIG_NODES; i++) {
		struct rig_node *n = &r->node[i];

		assert_int_equal(n->ahs, 0);
		for (k = 0; k < n->groups; k++)
			assert_false(n->group[k].attached);
		for (k = 0; k < n->napp; k++)
			rte_pktmbuf_free(n->app[k]);
		free(n->core);
	}
	/* Nothing is lost. */
	assert_int_equal(rte_mempool_in_use_count(r->pool), 0);
}

void
rig_run(struct rig *r, uint64_t ms)
{
	uint64_t until = r->now + ms;
	unsigned int i;

	for (;;) {
		for (i = 0; i < RIG_NODES; i++)
			ipoib_core_tick(r->node[i].core, r->now);
		rig_conns_run(r);
		for (i = 0; i < r->answers;) {
			struct rig_answer a = r->answer[i];

			if (a.at > r->now) {
				i++;
				continue;
			}
			r->answer[i] = r->answer[--r->answers];
			if (a.path)
				ipoib_core_path(r->node[a.node].core, a.token, a.status, &a.p);
			else
				ipoib_core_member(r->node[a.node].core, a.token, a.status, &a.m);
		}
		if (r->now >= until)
			return;
		/* Long spans in steps that no timer of the code is shorter than. */
		r->now += until - r->now > 20000 ? 500 : 1;
	}
}

void
rig_up(struct rig *r, unsigned int node, uint16_t lid)
{
	struct ipoib_place place = {.active = true, .lid = lid, .qpn = rig_qpn(node)};

	gid_of(node, place.gid);
	ipoib_core_place(r->node[node].core, &place);
}

void
rig_all_up(struct rig *r)
{
	unsigned int i;

	for (i = 0; i < RIG_NODES; i++)
		rig_up(r, i, (uint16_t)(i + 1));
	rig_run(r, 20);
	for (i = 0; i < RIG_NODES; i++)
		assert_true(r->node[i].core->up);
}

void
rig_send(struct rig *r, unsigned int node, const struct rte_ether_addr *dst, uint16_t etype, const void *l3,
	 uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);
	uint8_t *p;

	assert_non_null(m);
	p = rig_room(m, 14 + len);
	memcpy(p, dst, 6);
	memcpy(p + 6, &r->node[node].core->mac, 6);
	ib_put16(p + 12, etype);
	memcpy(p + 14, l3, len);
	ipoib_core_tx(r->node[node].core, m);
}

struct rte_mbuf *
rig_take(struct rig *r, unsigned int node)
{
	struct rig_node *n = &r->node[node];
	struct rte_mbuf *m = n->app[0];

	if (n->napp == 0)
		return NULL;
	memmove(n->app, n->app + 1, --n->napp * sizeof(n->app[0]));
	return m;
}

void
rig_arp(struct rig *r, unsigned int node, uint16_t op, uint32_t sip, uint32_t tip, const struct rte_ether_addr *tha)
{
	static const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	uint8_t p[28] = {0, 1, 8, 0, 6, 4, 0, (uint8_t)op};

	memcpy(p + 8, &r->node[node].core->mac, 6);
	ib_put32(p + 14, sip);
	if (tha != NULL)
		memcpy(p + 18, tha, 6);
	ib_put32(p + 24, tip);
	rig_send(r, node, tha == NULL ? &all : tha, 0x0806, p, sizeof(p));
}
