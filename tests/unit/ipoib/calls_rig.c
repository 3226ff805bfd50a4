/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "calls_rig.h"

int ipoib_logtype;

struct ipoib_port port;
struct ipoib_rxq rxq;
struct ipoib_remote remote;
static struct ibv_qp rc_qp, dgram_qp = {.qp_num = QPN};
struct tcm_conn tcm_conn;
static struct tcm *const manager = (struct tcm *)&port; /* nobody looks into it */
struct calls did;

/* A millisecond of the code is 40 of the clock, so that nothing here is too slow. */
uint64_t
rte_get_tsc_hz(void)
{
	return UINT64_C(100000000000);
}

uint64_t
now(void)
{
	return rte_get_timer_cycles() / (rte_get_tsc_hz() / 1000);
}

/* --- the connection manager -------------------------------------------------------------------------------------------- */

struct ibv_context *
ipoib_device_ctx(struct ipoib_device *d)
{
	return (struct ibv_context *)d;
}

struct tcm *
troce_cm_ib_lock(struct ibv_context *ctx)
{
	assert_ptr_equal(ctx, port.device);
	assert_int_equal(did.locked++, 0);
	return manager;
}

void
troce_cm_ib_unlock(void)
{
	assert_int_equal(did.locked--, 1);
}

int
troce_cm_ib_listen(struct ibv_context *ctx, struct troce_cm_service *service)
{
	did.service = service->id;
	did.listening += did.listen_err == 0;
	return did.listen_err;
}

void
troce_cm_ib_unlisten(struct ibv_context *ctx, struct troce_cm_service *service)
{
	assert_int_equal(service->id, did.service);
	did.listening--;
}

int
tcm_connect(struct tcm *cm, const struct troce_path *path, struct cm_req *req, void *owner, struct tcm_conn **conn)
{
	assert_ptr_equal(cm, manager);
	assert_int_equal(did.locked, 1);
	assert_ptr_equal(owner, &did.rc->owner);
	did.way = *path;
	did.req = *req;
	if (did.connect_err == 0)
		*conn = &tcm_conn;
	return did.connect_err;
}

int
tcm_accept(struct tcm_conn *c, struct cm_rep *rep)
{
	assert_ptr_equal(c, &tcm_conn);
	assert_int_equal(did.locked, 1);
	/* Packets may come before the peer's last word. */
	assert_int_equal(did.ups, 1);
	did.rep = *rep;
	return did.accept_err;
}

int
tcm_rtu(struct tcm_conn *c, const void *private_data, uint32_t len)
{
	assert_ptr_equal(c, &tcm_conn);
	assert_int_equal(did.locked, 1);
	assert_int_equal(len, 0);
	/* The queue pair is ready before the peer is told so. */
	assert_int_equal(did.dest, PEER_RC);
	did.rtus++;
	return did.rtu_err;
}

int
tcm_reject(struct tcm_conn *c, uint16_t reason, const void *ari, uint32_t ari_len, const void *private_data,
	   uint32_t len)
{
	assert_ptr_equal(c, &tcm_conn);
	assert_int_equal(ari_len + len, 0);
	did.rejects++;
	did.reason = reason;
	return 0;
}

void
tcm_release(struct tcm_conn *c)
{
	assert_ptr_equal(c, &tcm_conn);
	assert_int_equal(did.locked, 1);
	did.released++;
}

/* --- queue pairs ------------------------------------------------------------------------------------------------------- */

int
ipoib_cm_queues_open(struct ipoib_cm *cm)
{
	did.queues += did.queues_err == 0;
	cm->num_slots = IPOIB_RC_SLOTS;
	return did.queues_err;
}

void
ipoib_cm_queues_close(struct ipoib_cm *cm)
{
	did.queues = 0;
}

int
ipoib_rc_qp_open(struct ipoib_rc *rc, bool passive)
{
	did.passive = passive;
	did.rc = rc;
	/* One that could not be brought to INIT is there all the same. */
	rc->qp = &rc_qp;
	did.qps++;
	return did.open_err;
}

int
ipoib_rc_qp_ready(struct ipoib_rc *rc, uint32_t dest_qpn, uint32_t sq_psn, uint8_t rnr_retry)
{
	did.av = rc->av;
	did.mtu = rc->mtu;
	did.timeout = rc->timeout;
	did.dest = dest_qpn;
	did.psn = sq_psn;
	did.rnr = rnr_retry;
	return did.ready_err;
}

void
ipoib_rc_qp_error(struct ipoib_rc *rc)
{
	did.errors++;
}

void
ipoib_rc_qp_close(struct ipoib_rc *rc)
{
	assert_ptr_equal(rc->qp, &rc_qp);
	/* Bursts have no snapshot. */
	assert_true(did.published != 0);
	rc->qp = NULL;
	did.qps--;
}

int
tp_roce_destroy_qp(struct ibv_qp *qp)
{
	assert_ptr_equal(qp, &rc_qp);
	did.qps--;
	return 0;
}

void
ipoib_cm_reap(struct ipoib_cm *cm)
{
	assert_true(did.published != 0);
	did.reaped++;
	if (cm->num_slots != IPOIB_RC_SLOTS)
		cm->num_slots++;
}

bool
ipoib_cm_stalled(struct ipoib_rc *rc, uint64_t now_ms)
{
	return did.stalled;
}

/* --- the interface ----------------------------------------------------------------------------------------------------- */

void
ipoib_publish(struct ipoib_port *p, struct ipoib_view *v)
{
	assert_ptr_equal(p, &port);
	assert_null(v);
	did.published++;
}

struct ipoib_conn *
ipoib_conn_request(struct ipoib_core *c, const struct ipoib_hw *hw, uint32_t mtu)
{
	did.hw = *hw;
	did.peer_mtu = mtu;
	did.requests++;
	return did.full ? NULL : &did.conn;
}

void
ipoib_conn_up(struct ipoib_core *c, struct ipoib_conn *conn, uint32_t qpn, uint32_t mtu)
{
	assert_ptr_equal(conn, &did.conn);
	did.ups++;
	did.up_qpn = qpn;
	did.up_mtu = mtu;
}

/* As the interface does. */
void
ipoib_conn_over(struct ipoib_core *c, struct ipoib_conn *conn, bool refused)
{
	assert_ptr_equal(c, &port.core);
	did.overs++;
	did.refused = refused;
	ipoib_cm_conn_close(&port, conn);
}

void
ipoib_conn_gone(struct ipoib_core *c, struct ipoib_conn *conn)
{
	assert_ptr_equal(conn, &did.conn);
	did.gones++;
}

void
ipoib_conns_close(struct ipoib_core *c)
{
	did.closed_all++;
}

/* --- the port ---------------------------------------------------------------------------------------------------------- */

const union ibv_gid own = {.raw = {0xfe, 0x80, [8] = 0, 2, 0xc9, 3, 0, 1, 2, 3}},
		    peer = {.raw = {0xfe, 0x80, [8] = 0, 2, 0xc9, 3, 0, 9, 8, 7}};

int
calls_open(void **state)
{
	memset(&did, 0, sizeof(did));
	memset(&port, 0, sizeof(port));
	memset(&remote, 0, sizeof(remote));
	memset(&rxq, 0, sizeof(rxq));
	port.rxq[0] = &rxq;
	rc_qp.qp_num = RC_QPN;
	port.device = (struct ipoib_device *)&dgram_qp;
	port.qp = &dgram_qp;
	port.pkey_index = 3;
	port.pkey_used = 0x8123;
	port.core.place.lid = 0x40;
	port.core.place.lmc = LMC;
	port.core.place.qpn = QPN;
	memcpy(port.core.place.gid, own.raw, sizeof(own.raw));
	port.core.conf.cm_mtu = 9000;
	remote.qpn = PEER_QPN;
	remote.path = (struct tp_sa_path){.dgid = peer,
					  .dlid = 0x55,
					  .slid = 0x43,
					  .sl = 5,
					  .mtu = 4,
					  .rate = 7,
					  .lifetime = 18,
					  .traffic_class = 0x28,
					  .hop_limit = 64,
					  .flow_label = 0x12345};
	did.conn.remote = &remote;
	assert_int_equal(ipoib_cm_open(&port), 0);
	/* RFC 4755, 3.5; Linux has zeros between. */
	assert_true(did.service == (UINT64_C(0x1000000000000000) | QPN));
	assert_int_equal(did.listening, 1);
	return 0;
}

int
calls_close(void **state)
{
	if (port.cm != NULL) {
		ipoib_cm_close(&port);
		assert_int_equal(did.closed_all, 1);
	}
	assert_null(port.cm);
	assert_int_equal(did.listening, 0);
	assert_int_equal(did.queues, 0);
	assert_int_equal(did.qps, 0);
	assert_int_equal(did.locked, 0);
	return 0;
}

void
say(enum tcm_event_type type, const union cm_any *msg)
{
	struct tcm_event ev = {.type = type, .conn = &tcm_conn, .msg = msg};

	did.rc->owner.event(&did.rc->owner, &ev);
}

union cm_any
answer(void)
{
	union cm_any m = {.rep = {.qpn = PEER_RC, .psn = 0x765432, .rnr_retry = 5}};

	memcpy(m.rep.private_data, "\0\x11\x22\x33\0\0\x1f\x44", 8); /* 8000 octets of IP and 4 */
	return m;
}

union cm_any
question(void)
{
	union cm_any m = {.req = {.qpn = PEER_RC, .psn = 0x654321, .mtu = 4, .init_depth = 3, .resp_res = 2}};

	m.req.path = (struct cm_path){.local_lid = 0x55,
				      .remote_lid = 0x43,
				      .sl = 6,
				      .rate = 3,
				      .ack_timeout = 17,
				      .flow_label = 0x54321,
				      .hop_limit = 33,
				      .tclass = 0x48};
	memcpy(m.req.path.local_gid, peer.raw, sizeof(peer.raw));
	memcpy(m.req.private_data, "\0\x11\x22\x33\0\0\x1f\x44", 8);
	return m;
}

void
ask(const union cm_any *msg)
{
	struct tcm_event ev = {.type = TCM_EV_REQ, .conn = &tcm_conn, .msg = msg};
	struct troce_cm_owner *service = &port.cm->service.owner;

	tcm_conn.owner = NULL;
	service->event(service, &ev);
	assert_non_null(tcm_conn.owner);
	assert_ptr_not_equal(tcm_conn.owner, service);
}

void
goes(void)
{
	unsigned int before = did.gones;

	assert_true(did.rc->closing);
	did.rc->until_ms = 0;
	assert_true(ipoib_cm_work(&port) >= 1);
	assert_int_equal(did.gones, before + 1);
	assert_true(TAILQ_EMPTY(&port.cm->rcs));
}
