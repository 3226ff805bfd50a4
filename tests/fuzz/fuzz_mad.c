/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Datagrams for QP1, and owners of connections that do anything at any moment. An input is a list of records: a message whose
 * fields are the input's, but whose identifiers, GUIDs and GIDs name what is there more often than not; raw octets; calls of
 * an owner; time. At the end everybody lets go, and nothing may be left.
 */
#include "tests/unit/roce/cm_rig.h"
#include "bytes.h"

#define MAX_RECORDS 200
#define OWNED 32

static struct rig r;
static struct tcm_conn *owned[OWNED];
static struct bytes *input;

/* false: there are enough of them. */
static bool
keep(struct tcm_conn *c)
{
	for (unsigned int i = 0; i < OWNED; i++)
		if (owned[i] == NULL) {
			owned[i] = c;
			return true;
		}
	tcm_release(c);
	return false;
}

static void
forget(unsigned int i)
{
	struct tcm_conn *c = owned[i];

	owned[i] = NULL;
	if (c != NULL)
		tcm_release(c);
}

/* A word of an owner, in whatever state the connection is. */
static void
say(struct tcm_conn *c, uint8_t what)
{
	struct cm_rep rep = {.qpn = 2u + what};
	struct cm_sidr_rep sidr = {.qpn = 2u + what, .status = what & 3};

	switch (what & 7) {
	case 0: (void)tcm_accept(c, &rep); break;
	case 1: (void)tcm_rtu(c, "x", 1); break;
	case 2: (void)tcm_reject(c, CM_REJ_CONSUMER, "a", 1, "x", 1); break;
	case 3: (void)tcm_established(c); break;
	case 4: (void)tcm_disconnect(c, NULL, 0); break;
	case 5: (void)tcm_sidr_answer(c, &sidr); break;
	default: break;
	}
}

/* Within an event too: an owner may give its connection up there and then. */
static void
heard(struct rig_end *e, const struct tcm_event *ev)
{
	uint8_t what = bytes_u8(input);

	(void)e;
	if (ev->type == TCM_EV_REQ || ev->type == TCM_EV_SIDR_REQ) {
		if ((what & 0x80) != 0) {
			tcm_release(ev->conn);
			return;
		}
		if (!keep(ev->conn))
			return;
	}
	say(ev->conn, what);
}

static struct tcm_conn *
some(uint8_t n)
{
	return owned[n % OWNED];
}

/* Names of what is there, in the fields that carry names. */
static void
aim(enum cm_msg msg, union cm_any *m, const struct tcm_conn *c)
{
	const struct troce_path path = rig_path(1);

	if (msg == CM_REQ) {
		memcpy(m->req.path.local_gid, path.sgid.raw, 16);
		memcpy(m->req.path.remote_gid, path.dgid.raw, 16);
		m->req.service_id = RIG_SERVICE;
		m->req.service &= 1;
		m->req.mtu = 1 + m->req.mtu % 4;
		m->req.local_id %= 8;
		m->req.ca_guid %= 2;
		m->req.qpn = 2 + m->req.qpn % 16;
	} else if (msg == CM_SIDR_REQ) {
		m->sidr_req.request_id %= 8;
		m->sidr_req.service_id = RIG_SERVICE;
	} else if (c != NULL && msg == CM_SIDR_REP) {
		m->sidr_rep.request_id = c->local_id;
	} else if (c != NULL) {
		m->rtu.remote_id = c->local_id;
		m->rtu.local_id = c->has_remote_id ? c->remote_id : m->rtu.local_id % 8;
		if (msg == CM_DREQ)
			m->dreq.remote_qpn = c->local_qpn;
		if (msg == CM_REP)
			m->rep.qpn = 2 + m->rep.qpn % 16;
	}
}

static void
message(struct bytes *b, uint8_t k)
{
	struct troce_mad mad = {.path = rig_path(0), .remote_qpn = 1};
	enum cm_msg msg = (enum cm_msg)(bytes_u8(b) % CM_MSGS);
	uint8_t who = bytes_u8(b), tid = bytes_u8(b);
	const struct tcm_conn *c = some(who);
	union cm_any m;

	bytes_copy(b, mad.data + MAD_DATA_AT, CM_DATA_LEN / 4 + bytes_u8(b) % (CM_DATA_LEN / 2));
	cm_get(msg, mad.data, &m);
	if ((k & 0x10) == 0)
		aim(msg, &m, c);
	assert_int_equal(cm_put(msg, &m, c != NULL && (tid & 1) == 0 ? c->tid : tid, mad.data, NULL), 0);
	if (c != NULL && msg == CM_DREP && (tid & 1) == 0)
		memcpy(mad.data + MAD_TID_AT, c->out.data + MAD_TID_AT, 8);
	if ((k & 0x20) != 0)
		mad.path.dgid.raw[15] ^= tid;
	if ((k & 0x40) != 0)
		mad.data[MAD_CLASS_VERSION_AT] = tid;
	tcm_input(&r.end[0].cm, &mad);
}

/* Any octets for QP1, judged as the port does. */
static void
raw(struct bytes *b)
{
	static const struct mad_port_counters counters = {.tx_bytes = UINT64_MAX, .rx_packets = 1};
	struct troce_mad mad = {.path = rig_path(0), .remote_qpn = 1};

	bytes_copy(b, mad.data, MAD_SIZE);
	if (mad_receive(mad.data, &counters) == MAD_TO_CM)
		tcm_input(&r.end[0].cm, &mad);
}

static void
ask(struct bytes *b)
{
	const struct troce_path path = rig_path(0);
	struct cm_req req = rig_req(2 + bytes_u8(b));
	struct cm_sidr_req sidr = {.service_id = RIG_SERVICE};
	struct tcm_conn *c = NULL;

	if (bytes_u8(b) & 1)
		(void)tcm_connect(&r.end[0].cm, &path, &req, &r, &c);
	else
		(void)tcm_sidr_connect(&r.end[0].cm, &path, &sidr, &r, &c);
	if (c != NULL)
		(void)keep(c);
}

static void
record(struct bytes *b)
{
	uint8_t k = bytes_u8(b), n;

	switch (k & 7) {
	case 0:
	case 1:
	case 2: message(b, k); break;
	case 3: raw(b); break;
	case 4: ask(b); break;
	case 5:
		n = bytes_u8(b);
		if (some(n) != NULL)
			say(some(n), bytes_u8(b));
		break;
	case 6: forget(bytes_u8(b) % OWNED); break;
	default: rig_run(&r, (uint64_t)bytes_u8(b) << (bytes_u8(b) & 31)); break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size}, none = {data, 0};

	memset(owned, 0, sizeof(owned));
	input = &b;
	rig_up(&r, 1);
	r.cut = true;
	r.end[0].on_event = heard;
	for (unsigned int i = 0; i < MAX_RECORDS && b.left != 0; i++)
		record(&b);
	input = &none;
	for (unsigned int i = 0; i < OWNED; i++)
		forget(i);
	r.end[0].on_event = NULL;
	/* The longest that a peer can keep us. */
	rig_run(&r, 3600ull * 1000 * RIG_MS);
	assert_int_equal(r.end[0].cm.conns, 0);
	assert_int_equal(r.end[0].cm.half_open, 0);
	assert_int_equal(r.end[0].cm.heap_len, 0);
	rig_down(&r);
	return 0;
}
