/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "sm_rig.h"

#include <stdlib.h>
#include <string.h>

#define SWITCH_PORTS 8

struct fab fab;

/* --- fabrics ------------------------------------------------------------------------------------------------------ */

void
sm_star(unsigned int n)
{
	fab_up(&fab);
	fab_switch(&fab, 0, SWITCH(1), SWITCH_PORTS);
	for (unsigned int i = 1; i <= n; i++) {
		fab_adapter(&fab, i, GUID(i), 1);
		fab_cable(&fab, i, 1, 0, i);
	}
}

void
sm_ring(void)
{
	fab_up(&fab);
	for (unsigned int i = 0; i < 3; i++)
		fab_switch(&fab, i, SWITCH(i + 1), SWITCH_PORTS);
	for (unsigned int i = 0; i < 3; i++) {
		fab_cable(&fab, i, 7, (i + 1) % 3, 8);
		for (unsigned int k = 0; k < 2; k++) {
			unsigned int a = 3 + 2 * i + k;

			fab_adapter(&fab, a, GUID(a), 1);
			fab_cable(&fab, a, 1, i, k + 1);
		}
	}
	fab_cable(&fab, 0, 5, 1, 6);
}

struct tp_sm *
sm_manage(unsigned int node, uint8_t priority)
{
	const struct tp_sm_conf conf = {.sweep_ms = 100, .priority = priority};
	struct tp_sm *sm;

	assert_int_equal(tp_sm_create(fab_mad(&fab, node, 1), &conf, &sm), 0);
	return sm;
}

struct tp_sm_stats
sm_stats(struct tp_sm *sm)
{
	struct tp_sm_stats st;

	tp_sm_stats_get(sm, &st);
	return st;
}

void
assert_whole(unsigned int first, unsigned int last)
{
	for (unsigned int a = first; a <= last; a++) {
		assert_int_equal(fab_state(&fab, a, 1), 4);
		assert_int_not_equal(fab_lid(&fab, a, 1), 0);
		for (unsigned int b = first; b <= last; b++) {
			if (a == b)
				continue;
			assert_int_not_equal(fab_lid(&fab, a, 1), fab_lid(&fab, b, 1));
			assert_ptr_equal(fab_unicast(&fab, fab_port(&fab, a, 1), fab_lid(&fab, b, 1)),
					 fab_port(&fab, b, 1));
		}
	}
}

/* --- asking the administrator --------------------------------------------------------------------------------------- */

static void
path_told(void *arg, int status, const struct tp_sa_path *path)
{
	struct answer *a = arg;

	a->calls++;
	a->status = status;
	if (path != NULL)
		a->path = *path;
}

static void
member_told(void *arg, int status, const struct tp_sa_member *m)
{
	struct answer *a = arg;

	a->calls++;
	a->status = status;
	if (m != NULL)
		a->member = *m;
}

static void
records_told(void *arg, int status, const uint8_t *records, uint32_t stride, uint32_t n)
{
	struct answer *a = arg;

	a->calls++;
	a->status = status;
	a->stride = stride;
	a->n = n;
	free(a->records);
	a->records = n == 0 ? NULL : malloc((size_t)stride * n);
	if (a->records != NULL)
		memcpy(a->records, records, (size_t)stride * n);
}

struct tp_sa *
sm_client(unsigned int node)
{
	struct tp_sa *sa;

	assert_int_equal(tp_sa_create(fab_mad(&fab, node, 1), NULL, &sa), 0);
	return sa;
}

static union ibv_gid
gid_of(unsigned int node)
{
	union ibv_gid g;

	ib_put64(g.raw, 0xfe80000000000000ull);
	ib_put64(g.raw + 8, GUID(node) + 1);
	return g;
}

int
sm_ask_path(struct tp_sa *sa, unsigned int node, uint16_t pkey, struct tp_sa_path *path)
{
	union ibv_gid g = gid_of(node);
	struct answer a = {0};

	tp_sa_forget(sa, NULL);
	assert_int_equal(tp_sa_path(sa, &g, pkey, path_told, &a), 0);
	fab_run(&fab, 50);
	assert_int_equal(a.calls, 1);
	if (path != NULL)
		*path = a.path;
	return a.status;
}

struct answer
sm_ask(struct tp_sa *sa, uint8_t method, uint16_t attr, uint64_t mask, const uint8_t *record, uint32_t len)
{
	struct answer a = {0};

	assert_int_equal(tp_sa_request(sa, method, attr, mask, record, len, records_told, &a), 0);
	fab_run(&fab, 50);
	assert_int_equal(a.calls, 1);
	return a;
}

const union ibv_gid broadcast = {.raw = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}};

struct tp_sa_member
sm_group(uint8_t last, uint8_t join_state)
{
	struct tp_sa_member m = {.mgid = broadcast, .qkey = 0x0b1b, .pkey = 0xffff, .join_state = join_state};

	m.mgid.raw[15] = last;
	return m;
}

int
sm_join(struct tp_sa *sa, const struct tp_sa_member *want, uint64_t mask, struct tp_sa_member *got)
{
	struct answer a = {0};

	assert_int_equal(tp_sa_join(sa, want, mask, member_told, &a), 0);
	fab_run(&fab, 50);
	assert_int_equal(a.calls, 1);
	if (got != NULL)
		*got = a.member;
	return a.status;
}

int
sm_leave(struct tp_sa *sa, const union ibv_gid *mgid, uint8_t join_state)
{
	struct answer a = {0};

	assert_int_equal(tp_sa_leave(sa, mgid, join_state, member_told, &a), 0);
	fab_run(&fab, 50);
	assert_int_equal(a.calls, 1);
	return a.status;
}

unsigned int
sm_copies_from(unsigned int node, uint16_t mlid)
{
	unsigned int copies;

	for (unsigned int i = 0; i < FAB_NODES; i++)
		fab.node[i].port[1].rx = 0;
	assert_true(fab_multicast(&fab, fab_port(&fab, node, 1), mlid, &copies));
	for (unsigned int i = 0; i < FAB_NODES; i++)
		assert_in_range(fab.node[i].port[1].rx, 0, 1);
	return copies;
}

/* --- octets of questions and answers --------------------------------------------------------------------------------- */

static void
reply_told(void *arg, const struct tp_mad_msg *msg)
{
	struct sm_reply *r = arg;

	assert_int_equal(msg->status, 0);
	assert_in_range(msg->len, MAD_DATA_AT, sizeof(r->data));
	r->calls++;
	r->status = ib_get16(msg->data + MAD_STATUS_AT);
	r->len = msg->len;
	memcpy(r->data, msg->data, msg->len);
}

const struct sm_reply *
sm_raw(unsigned int node, uint8_t method, uint16_t attr, uint64_t key, uint64_t mask, const uint8_t *record,
       uint32_t len)
{
	static struct sm_reply r;
	const struct tp_mad_agent_conf conf = {
		.qpn = 1, .mgmt_class = MAD_CLASS_SA, .rmpp_version = 1, .recv = reply_told, .arg = &r};
	struct tp_mad_packet to = {.remote_qpn = 1, .qkey = MAD_QP1_QKEY};
	struct tp_mad_agent *agent;
	uint8_t mad[MAD_SIZE];

	memset(&r, 0, sizeof(r));
	to.dlid = ib_get16(fab.node[node].port[1].info + 18);
	mad_init(mad, MAD_CLASS_SA, SA_CLASS_VERSION, method, attr, 0x51);
	ib_put64(mad + SA_SM_KEY_AT, key);
	ib_put64(mad + SA_MASK_AT, mask);
	memcpy(mad + SA_RECORD_AT, record, len);
	/* A header of segments that is not in force says nothing. */
	mad[RMPP_VERSION_AT] = RMPP_VERSION;
	memset(mad + RMPP_TYPE_AT, 0xa8, RMPP_DATA_AT - RMPP_TYPE_AT);
	assert_int_equal(tp_mad_register(fab_mad(&fab, node, 1), &conf, &agent), 0);
	assert_int_equal(tp_mad_send(agent, &to, mad, sizeof(mad), 100, 0), 0);
	fab_run(&fab, 50);
	tp_mad_unregister(agent);
	assert_int_equal(r.calls, 1);
	return &r;
}
