/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Connections between the interface and the connection manager: what is asked for and answered field by field, and what becomes
 * of a connection at each refusal.
 */
#include <errno.h>

#include "calls_rig.h"

/* The request (IBTA 12.6.5) as Linux makes it, the way as the path record says, and the queue pair by the answer. */
static void
asks(void **state)
{
	union cm_any rep = answer();
	uint64_t before;

	for (unsigned int grh = 0; grh < 2; grh++) {
		did.ups = did.rtus = did.dest = 0;
		remote.path.hop_limit = grh != 0 ? 2 : 1;
		remote.path.lifetime = grh != 0 ? 18 : 31;
		assert_int_equal(ipoib_cm_conn_open(&port, &did.conn), 0);
		assert_ptr_equal(did.conn.home, did.rc);
		assert_false(did.passive);
		assert_true(did.req.service_id == (UINT64_C(0x1000000000000000) | PEER_QPN));
		assert_int_equal(did.req.qpn, RC_QPN);
		assert_int_equal(did.req.psn, did.rc->psn);
		assert_int_equal(did.rc->psn >> 24, 0);
		assert_int_equal(did.req.resp_res, 4);
		assert_int_equal(did.req.init_depth, 0);
		assert_int_equal(did.req.remote_timeout, 18);
		assert_int_equal(did.req.local_timeout, 18);
		assert_int_equal(did.req.flow_control, 1);
		assert_int_equal(did.req.retry, 7);
		assert_int_equal(did.req.rnr_retry, RNR_FOREVER);
		assert_int_equal(did.req.pkey, 0x8123);
		assert_int_equal(did.req.mtu, 4);
		assert_int_equal(did.req.max_retries, 3);
		assert_int_equal(did.req.srq, 1);
		/* Twice the life of a packet (12.7.34): one more, in five bits. */
		assert_int_equal(did.req.path.ack_timeout, grh != 0 ? 19 : 31);
		assert_int_equal(did.req.path.rate, 7);
		assert_memory_equal(did.req.private_data, "\0\x34\x56\x78\0\0\x23\x2c", 8);
		assert_int_equal(did.way.type, IBV_GID_TYPE_IB);
		assert_int_equal(did.way.vlan, TP_ROCE_NO_VLAN);
		assert_memory_equal(did.way.dgid.raw, peer.raw, 16);
		assert_memory_equal(did.way.sgid.raw, own.raw, 16);
		assert_int_equal(did.way.prio, 5);
		assert_int_equal(did.way.dlid, 0x55);
		assert_int_equal(did.way.slid, 0x43);
		assert_int_equal(did.way.pkey_index, 3);
		assert_int_equal(did.way.path_bits, 3); /* the lower two bits of 0x43 */
		assert_int_equal(did.way.grh, grh);
		assert_int_equal(did.way.hop_limit, grh + 1);
		assert_int_equal(did.way.tclass, 0x28);
		assert_int_equal(did.way.flow_label, 0x12345);
		assert_int_equal(did.ups, 0);

		before = now();
		say(TCM_EV_REP, &rep);
		assert_int_equal(did.ups, 0); /* it is only noted */
		assert_int_equal(ipoib_cm_work(&port), 1);
		assert_int_equal(did.rtus, 1);
		assert_int_equal(did.ups, 1);
		assert_int_equal(did.up_qpn, RC_QPN);
		assert_int_equal(did.up_mtu, 8000);
		assert_int_equal(did.psn, 0x765432);
		assert_int_equal(did.rnr, 5);
		assert_int_equal(did.mtu, 4);
		assert_int_equal(did.timeout, grh != 0 ? 19 : 31);
		assert_int_equal(did.av.dlid, 0x55);
		assert_int_equal(did.av.sl, 5);
		assert_int_equal(did.av.static_rate, 7);
		assert_int_equal(did.av.src_path_bits, 3);
		assert_int_equal(did.av.port_num, 1);
		assert_int_equal(did.av.is_global, grh);
		assert_memory_equal(did.av.grh.dgid.raw, grh != 0 ? peer.raw : (const uint8_t[16]){0}, 16);
		assert_int_equal(did.av.grh.flow_label, grh != 0 ? 0x12345 : 0);
		assert_int_equal(did.av.grh.hop_limit, grh != 0 ? 2 : 0);
		assert_int_equal(did.av.grh.traffic_class, grh != 0 ? 0x28 : 0);
		assert_in_range(did.rc->stall_ms, before + 10000, now() + 10000);

		/* It ends: what has come is taken for a while, then the queue pair goes. */
		before = now();
		say(TCM_EV_DISCONNECTED, NULL);
		assert_int_equal(ipoib_cm_work(&port), 1);
		assert_int_equal(did.overs, grh + 1);
		assert_false(did.refused);
		assert_int_equal(did.errors, grh + 1);
		assert_int_equal(did.released, grh + 1);
		assert_in_range(did.rc->until_ms, before + 100, now() + 100);
		assert_int_equal(did.qps, 1);
		goes();
		assert_int_equal(did.qps, 0);
	}
}

static void
asks_in_vain(void **state)
{
	union cm_any rep = answer();

	did.open_err = -EINVAL;
	assert_int_equal(ipoib_cm_conn_open(&port, &did.conn), -EINVAL);
	did.open_err = 0;
	did.connect_err = -ENOSPC;
	assert_int_equal(ipoib_cm_conn_open(&port, &did.conn), -ENOSPC);
	did.connect_err = 0;
	assert_int_equal(did.qps, 0);
	assert_true(TAILQ_EMPTY(&port.cm->rcs));
	/* The peer says no; it says nothing; it has no room for a packet; the card refuses; it is gone when it is told. */
	for (unsigned int i = 0; i < 5; i++) {
		did.dest = 0;
		assert_int_equal(ipoib_cm_conn_open(&port, &did.conn), 0);
		rep = answer();
		if (i == 2)
			memcpy(rep.rep.private_data + 4, "\0\0\0\4", 4);
		did.ready_err = i == 3 ? -EIO : 0;
		did.rtu_err = i == 4 ? -EINVAL : 0;
		say(i == 0 ? TCM_EV_REJECTED : i == 1 ? TCM_EV_UNREACHABLE : TCM_EV_REP, i < 2 ? NULL : &rep);
		assert_int_equal(ipoib_cm_work(&port), 1);
		assert_int_equal(did.overs, i + 1);
		assert_int_equal(did.refused, i == 0);
		assert_int_equal(did.ups, 0);
		goes();
	}
	/* What is told of its life otherwise is no matter. */
	assert_int_equal(ipoib_cm_conn_open(&port, &did.conn), 0);
	say(TCM_EV_TIMEWAIT_EXIT, NULL);
	assert_int_equal(ipoib_cm_work(&port), 1);
	assert_int_equal(did.overs, 5);
	/* What was told and not looked at is forgotten with the connection. */
	say(TCM_EV_REJECTED, NULL);
	say(TCM_EV_REJECTED, NULL);
	ipoib_cm_conn_close(&port, &did.conn);
	assert_true(TAILQ_EMPTY(&port.cm->notes));
	assert_int_equal(ipoib_cm_work(&port), 0);
	assert_int_equal(did.overs, 5);
	goes();
}

/* A peer's request: the way back, its GID for the neighbour, and the answer. */
static void
is_asked(void **state)
{
	const uint8_t hw[20] = {0x80, 0x11, 0x22, 0x33};
	union cm_any req = question();

	for (unsigned int grh = 0; grh < 2; grh++) {
		req.req.path.subnet_local = grh == 0;
		did.ups = 0;
		ask(&req);
		assert_int_equal(did.qps, 0); /* it is only noted */
		assert_int_equal(ipoib_cm_work(&port), 1);
		assert_true(did.passive);
		assert_int_equal(did.requests, grh + 1);
		assert_memory_equal(did.hw.b, hw, 4);
		assert_memory_equal(did.hw.b + 4, peer.raw, 16);
		assert_int_equal(did.peer_mtu, 8000);
		assert_int_equal(did.dest, PEER_RC);
		assert_int_equal(did.psn, 0x654321);
		assert_int_equal(did.rnr, RNR_FOREVER);
		assert_int_equal(did.mtu, 4);
		assert_int_equal(did.timeout, 17);
		assert_int_equal(did.av.dlid, 0x55);
		assert_int_equal(did.av.sl, 6);
		assert_int_equal(did.av.static_rate, 3);
		assert_int_equal(did.av.src_path_bits, 3);
		assert_int_equal(did.av.port_num, 1);
		assert_int_equal(did.av.is_global, grh);
		assert_memory_equal(did.av.grh.dgid.raw, grh != 0 ? peer.raw : (const uint8_t[16]){0}, 16);
		assert_int_equal(did.av.grh.flow_label, grh != 0 ? 0x54321 : 0);
		assert_int_equal(did.av.grh.hop_limit, grh != 0 ? 33 : 0);
		assert_int_equal(did.av.grh.traffic_class, grh != 0 ? 0x48 : 0);
		assert_int_equal(did.ups, 1);
		assert_int_equal(did.up_qpn, RC_QPN);
		assert_int_equal(did.up_mtu, 8000);
		assert_int_equal(did.rep.qpn, RC_QPN);
		assert_int_equal(did.rep.psn, did.rc->psn);
		assert_int_equal(did.rep.resp_res, 3);
		assert_int_equal(did.rep.init_depth, 2);
		assert_int_equal(did.rep.ack_delay, 15);
		assert_int_equal(did.rep.rnr_retry, RNR_FOREVER);
		assert_int_equal(did.rep.srq, 1);
		assert_memory_equal(did.rep.private_data, "\0\x34\x56\x78\0\0\x23\x2c", 8);
		assert_int_equal(did.rejects, 0);
		assert_ptr_equal(did.conn.home, did.rc);
		say(TCM_EV_DISCONNECTED, NULL);
		assert_int_equal(ipoib_cm_work(&port), 1);
		goes();
	}
	/* The peer has gone when it is answered: the connection is over as any other. */
	did.accept_err = -EINVAL;
	did.ups = 0;
	ask(&req);
	assert_int_equal(ipoib_cm_work(&port), 1);
	assert_int_equal(did.overs, 3);
	assert_int_equal(did.rejects, 0);
	goes();
}

/* A request that is refused: why, and what is left of it. */
static void
is_asked_in_vain(void **state)
{
	static const struct {
		const char *octets; /* that the peer takes */
		int open, ready;
		bool full;
		uint16_t reason; /* 12.6.7.2: 3 no resources, 28 the consumer's */
	} rows[] = {
		{"\0\0\0\4", 0, 0, false, 28},
		{"\0\0\x1f\x44", -ENOMEM, 0, false, 3},
		{"\0\0\x1f\x44", 0, -EINVAL, false, 3},
		{"\0\0\x1f\x44", 0, 0, true, 28},
	};

	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		union cm_any req = question();

		did.published = 0;
		port.core.dirty = false;
		memcpy(req.req.private_data + 4, rows[i].octets, 4);
		did.open_err = rows[i].open;
		did.ready_err = rows[i].ready;
		did.full = rows[i].full;
		ask(&req);
		assert_int_equal(ipoib_cm_work(&port), 1);
		assert_int_equal(did.rejects, i + 1);
		assert_int_equal(did.reason, rows[i].reason);
		assert_int_equal(did.released, i + 1);
		assert_int_equal(did.qps, 0);
		assert_int_equal(did.ups, 0);
		/* Bursts had to give their snapshot back for the queue pair. */
		assert_int_equal(port.core.dirty, i != 0);
		assert_int_equal(did.published, i != 0);
		assert_true(TAILQ_EMPTY(&port.cm->rcs));
	}
}

/* A connection that broke or stalls is ended by us, and waits for what the card has of it. */
static void
ends(void **state)
{
	union cm_any rep = answer();

	for (unsigned int stalls = 0; stalls < 2; stalls++) {
		did.dest = 0;
		assert_int_equal(ipoib_cm_conn_open(&port, &did.conn), 0);
		say(TCM_EV_REP, &rep);
		assert_int_equal(ipoib_cm_work(&port), 1);
		/* Nobody has said that one broke. */
		did.rc->broken = stalls == 0;
		assert_int_equal(ipoib_cm_work(&port), 0);
		assert_false(did.rc->closing);
		/* Another one has broken. */
		did.rc->broken = false;
		port.cm->trouble = true;
		assert_int_equal(ipoib_cm_work(&port), 0);
		assert_int_equal(did.overs, stalls);
		assert_false(did.rc->closing);
		assert_false(port.cm->trouble);
		did.rc->broken = stalls == 0;
		did.published = did.reaped = 0;
		did.rc->inflight = 1;
		port.cm->trouble = stalls == 0;
		did.stalled = stalls != 0;
		assert_int_equal(ipoib_cm_work(&port), 0);
		assert_int_equal(did.overs, stalls + 1);
		assert_true(did.rc->closing);
		assert_false(port.cm->trouble);
		/* Not before its time. */
		assert_int_equal(ipoib_cm_work(&port), 0);
		assert_int_equal(did.overs, stalls + 1);
		assert_int_equal(did.published, 0);
		/* Then bursts stay away from it; for a second the card may give back what it has. */
		port.core.dirty = false;
		did.rc->until_ms = now() - 100;
		assert_int_equal(ipoib_cm_work(&port), 0);
		assert_int_equal(did.published, 1);
		assert_true(port.core.dirty);
		assert_int_equal(did.reaped, 1);
		assert_int_equal(did.gones, stalls);
		did.stalled = false;
		if (stalls != 0)
			did.rc->until_ms = now() - 1000;
		else
			did.rc->inflight = 0;
		assert_int_equal(ipoib_cm_work(&port), 1);
		assert_int_equal(did.gones, stalls + 1);
		assert_int_equal(did.qps, 0);
	}
}

/* Connected mode ends: with a connection, a request that nobody has looked at, and packets that were received and not taken. */
static void
closes(void **state)
{
	union cm_any req = question();

	assert_int_equal(ipoib_cm_conn_open(&port, &did.conn), 0);
	say(TCM_EV_REJECTED, NULL);
	ask(&req);
	port.cm->num_held = 4;
	port.cm->num_slots = IPOIB_RC_SLOTS - 3;
	port.core.dirty = false;
	ipoib_cm_close(&port);
	assert_int_equal(did.closed_all, 1);
	assert_int_equal(did.released, 1); /* of the request; the connection is the interface's to end */
	assert_int_equal(did.reaped, 3);
	assert_int_equal(did.gones, 1);
	assert_int_equal(rxq.n.drop[IPOIB_DROP_RX_CONN], 4);
	assert_true(port.core.dirty);
	assert_null(port.cm);
	/* Without it there is nothing to do. */
	assert_int_equal(ipoib_cm_work(&port), 0);
	ipoib_cm_close(&port);
	assert_int_equal(did.closed_all, 1);
	/* It does not begin where queues or the service are refused. */
	did.queues_err = -ENOMEM;
	assert_int_equal(ipoib_cm_open(&port), -ENOMEM);
	assert_null(port.cm);
	assert_int_equal(did.listening, 0);
	did.queues_err = 0;
	did.listen_err = EADDRINUSE;
	assert_int_equal(ipoib_cm_open(&port), -EADDRINUSE);
	assert_null(port.cm);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, calls_open, calls_close)
	const struct CMUnitTest tests[] = {T(asks), T(asks_in_vain), T(is_asked), T(is_asked_in_vain),
					   T(ends), T(closes)};

	return cmocka_run_group_tests_name("ipoib-cm_calls", tests, NULL, NULL);
}
