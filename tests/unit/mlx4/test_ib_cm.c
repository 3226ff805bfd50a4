/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections between services of two InfiniBand ports over a cable: requests by path records, answers to LIDs. */
#include <infiniband/verbs.h>
#include <rte_byteorder.h>

#include "lib/roce/rdma/cm_ib.h"
#include "ib_rig.h"

#define SERVICE UINT64_C(0x1000000000000048)
#define PKEY2 0x8123u
#define LEN 6000u
#define AT 8192u
#define ROUNDS 400

/* One who connects or is connected, and what it was told. */
struct side {
	struct troce_cm_owner owner;
	struct troce_cm_service service;
	struct tcm_conn *conn;
	struct ir_end end;
	union cm_any msg;
	enum tcm_event_type type;
	uint16_t reason;
	unsigned int told;
};
static struct side a, b;

static void
note(struct side *s, const struct tcm_event *ev)
{
	s->type = ev->type;
	s->reason = ev->reason;
	s->told++;
	if (ev->msg != NULL)
		s->msg = *ev->msg;
}

static void
on_conn(struct troce_cm_owner *owner, const struct tcm_event *ev)
{
	note((struct side *)owner, ev);
}

/* A request becomes b's. */
static void
on_request(struct troce_cm_owner *owner, const struct tcm_event *ev)
{
	(void)owner;
	assert_int_equal(ev->type, TCM_EV_REQ);
	b.conn = ev->conn;
	ev->conn->owner = &b.owner;
	note(&b, ev);
}

static void
wait_for(const struct side *s, unsigned int told)
{
	int i;

	for (i = 0; i < ROUNDS && s->told < told; i++)
		ir_run();
	assert_int_equal(s->told, told);
}

static int
setup(void **state)
{
	ir_setup_active(state);
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	a.owner.event = b.owner.event = on_conn;
	b.service = (struct troce_cm_service){.id = SERVICE, .owner = {.event = on_request}};
	assert_int_equal(troce_cm_ib_listen(ir_ctx[1], &b.service), 0);
	ir_end(&a.end, 0, IBV_QPT_RC);
	ir_end(&b.end, 1, IBV_QPT_RC);
	return 0;
}

static void
release(struct side *s, unsigned int port)
{
	(void)troce_cm_ib_lock(ir_ctx[port]);
	if (s->conn != NULL)
		tcm_release(s->conn);
	s->conn = NULL;
	troce_cm_ib_unlock();
	ir_run();
}

static int
teardown(void **state)
{
	release(&a, 0);
	release(&b, 1);
	troce_cm_ib_unlisten(ir_ctx[1], &b.service);
	ir_end_free(&a.end);
	ir_end_free(&b.end);
	return ir_teardown(state);
}

static void
path_to(struct troce_path *p, unsigned int from, unsigned int to, bool grh)
{
	memset(p, 0, sizeof(*p));
	p->type = IBV_GID_TYPE_IB;
	p->vlan = TP_ROCE_NO_VLAN;
	p->dlid = IR_LID(to);
	p->slid = IR_LID(from);
	p->prio = 3;
	p->grh = grh;
	p->hop_limit = grh ? 9 : 0;
	p->flow_label = grh ? 0xa5a5a : 0;
	p->tclass = grh ? 0x6c : 0;
	assert_int_equal(tp_roce_query_gid(ir_ctx[from], 1, 0, &p->sgid), 0);
	assert_int_equal(tp_roce_query_gid(ir_ctx[to], 1, 0, &p->dgid), 0);
}

static int
ask(const struct troce_path *path, uint64_t service)
{
	struct cm_req req = {.service_id = service,
			     .qpn = a.end.qp->qp_num,
			     .psn = 7,
			     .remote_timeout = 18,
			     .local_timeout = 18,
			     .retry = 7,
			     .rnr_retry = 7,
			     .pkey = 0xffff,
			     .mtu = IBV_MTU_2048,
			     .max_retries = 3,
			     .srq = 1,
			     .path = {.ack_timeout = 14, .rate = IBV_RATE_10_GBPS},
			     .private_data = {0, 0, 0, 0x48, 0, 0, 0xff, 0xf4}};
	int rc = tcm_connect(troce_cm_ib_lock(ir_ctx[0]), path, &req, &a.owner, &a.conn);

	troce_cm_ib_unlock();
	return rc;
}

static void
take_it(void)
{
	struct cm_rep rep = {.qpn = b.end.qp->qp_num, .psn = 7, .private_data = {0, 0, 0, 0x49, 0, 0, 0xff, 0xf4}};

	(void)troce_cm_ib_lock(ir_ctx[1]);
	assert_int_equal(tcm_accept(b.conn, &rep), 0);
	troce_cm_ib_unlock();
}

static void
connect_both(bool grh)
{
	struct troce_path path;
	struct ibv_ah_attr av;

	path_to(&path, 0, 1, grh);
	assert_int_equal(ask(&path, SERVICE), 0);
	wait_for(&b, 1);
	assert_int_equal(b.type, TCM_EV_REQ);
	ir_av(&av, 0, grh);
	ir_rts(&b.end, 0, &av, b.msg.req.qpn);
	take_it();
	wait_for(&a, 1);
	assert_int_equal(a.type, TCM_EV_REP);
	ir_av(&av, 1, grh);
	ir_rts(&a.end, 0, &av, a.msg.rep.qpn);
	(void)troce_cm_ib_lock(ir_ctx[0]);
	assert_int_equal(tcm_rtu(a.conn, NULL, 0), 0);
	troce_cm_ib_unlock();
	wait_for(&b, 2);
	assert_int_equal(b.type, TCM_EV_ESTABLISHED);
}

static void
life(bool grh)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	union ibv_gid gid[2];
	unsigned int p;

	connect_both(grh);
	/* The request has the path as it is, and both sides each other's word. */
	for (p = 0; p < 2; p++)
		assert_int_equal(tp_roce_query_gid(ir_ctx[p], 1, 0, &gid[p]), 0);
	assert_int_equal(a.msg.rep.private_data[3], 0x49);
	(void)troce_cm_ib_lock(ir_ctx[1]);
	assert_int_equal(b.conn->service_id, SERVICE);
	assert_int_equal(b.conn->out.path.dlid, IR_LID(0));
	assert_int_equal(b.conn->out.path.prio, 3);
	assert_int_equal(b.conn->out.path.grh, grh);
	assert_int_equal(b.conn->out.path.flow_label, grh ? 0xa5a5a : 0);
	assert_int_equal(b.conn->out.path.tclass, grh ? 0x6c : 0);
	if (grh)
		assert_memory_equal(&b.conn->out.path.dgid, &gid[0], sizeof(gid[0]));
	troce_cm_ib_unlock();
	ir_recv(&b.end, AT, LEN);
	ir_send(&a.end, &wr, 0, LEN);
	assert_int_equal(ir_wc(&a.end).opcode, IBV_WC_SEND);
	assert_int_equal(ir_wc(&b.end).byte_len, LEN);
	(void)troce_cm_ib_lock(ir_ctx[0]);
	assert_int_equal(tcm_disconnect(a.conn, NULL, 0), 0);
	troce_cm_ib_unlock();
	wait_for(&b, 3);
	assert_int_equal(b.type, TCM_EV_DISCONNECTED);
	wait_for(&a, 2);
	assert_int_equal(a.type, TCM_EV_DISCONNECTED);
}

static void
test_life(void **state)
{
	(void)state;
	life(false);
}

static void
test_life_with_grh(void **state)
{
	(void)state;
	life(true);
}

static void
test_request_fields(void **state)
{
	struct troce_path path;
	const struct cm_req *r = &b.msg.req;

	(void)state;
	path_to(&path, 0, 1, false);
	assert_int_equal(ask(&path, SERVICE), 0);
	wait_for(&b, 1);
	assert_int_equal(r->path.local_lid, IR_LID(0));
	assert_int_equal(r->path.remote_lid, IR_LID(1));
	assert_memory_equal(r->path.local_gid, path.sgid.raw, 16);
	assert_memory_equal(r->path.remote_gid, path.dgid.raw, 16);
	assert_int_equal(r->path.sl, 3);
	assert_int_equal(r->path.rate, IBV_RATE_10_GBPS);
	assert_int_equal(r->path.subnet_local, 1);
	assert_int_equal(r->mtu, IBV_MTU_2048);
	assert_int_equal(r->srq, 1);
	assert_memory_equal(r->private_data, "\0\0\0\x48\0\0\xff\xf4", 8);
	/* The peer gives up before it is answered: nothing is left of it. */
	release(&a, 0);
	wait_for(&b, 2);
	assert_int_equal(b.type, TCM_EV_REJECTED);
	assert_int_equal(b.reason, CM_REJ_TIMEOUT);
}

static void
test_refusals(void **state)
{
	struct troce_cm_service twice = {.id = SERVICE};
	struct troce_path path;

	(void)state;
	assert_int_equal(troce_cm_ib_listen(ir_ctx[1], &twice), EADDRINUSE);
	path_to(&path, 0, 1, false);
	assert_int_equal(ask(&path, SERVICE + 1), 0);
	wait_for(&a, 1);
	assert_int_equal(a.type, TCM_EV_REJECTED);
	assert_int_equal(a.reason, CM_REJ_SERVICE_ID);
	release(&a, 0);
	/* Another's GID: the datagram came to a port that it is not meant for. */
	path.dgid.raw[15] ^= 1;
	assert_int_equal(ask(&path, SERVICE), 0);
	wait_for(&a, 2);
	assert_int_equal(a.reason, CM_REJ_GID);
	assert_int_equal(a.msg.rej.ari_len, 16);
	path.dgid.raw[15] ^= 1;
	assert_memory_equal(a.msg.rej.ari, path.dgid.raw, 16);
	release(&a, 0);
	/* The owner's word. */
	assert_int_equal(ask(&path, SERVICE), 0);
	wait_for(&b, 1);
	(void)troce_cm_ib_lock(ir_ctx[1]);
	assert_int_equal(tcm_reject(b.conn, CM_REJ_CONSUMER, NULL, 0, "no", 2), 0);
	troce_cm_ib_unlock();
	wait_for(&a, 3);
	assert_int_equal(a.reason, CM_REJ_CONSUMER);
	assert_memory_equal(a.msg.rej.private_data, "no", 2);
}

/* In a partition that the first entries of the tables are not: datagrams of both sides carry its key. */
static void
test_partition(void **state)
{
	struct troce_path path;

	(void)state;
	ir_set_pkey(0, 3, PKEY2);
	ir_set_pkey(1, 2, PKEY2);
	path_to(&path, 0, 1, false);
	path.pkey_index = 3;
	assert_int_equal(ask(&path, SERVICE), 0);
	wait_for(&b, 1);
	(void)troce_cm_ib_lock(ir_ctx[1]);
	assert_int_equal(b.conn->out.path.pkey_index, 2);
	troce_cm_ib_unlock();
	take_it();
	wait_for(&a, 1);
	assert_int_equal(a.type, TCM_EV_REP);
}

static uint64_t
counter(unsigned int port, const char *name)
{
	uint64_t v = UINT64_MAX;

	assert_int_equal(tp_roce_stat(ir_ctx[port], name, &v), 0);
	return v;
}

/* Datagrams that wait to be sent, at most; and how many ask at once. */
#define WAITING 256u
#define MANY 300u
#define FIRST_QPN 0x1000u
static struct {
	struct tcm_conn *conn, *asked;
	unsigned int rejected;
} many[MANY];
static unsigned int num_asked;

static void
on_answer(struct troce_cm_owner *owner, const struct tcm_event *ev)
{
	(void)owner;
	assert_int_equal(ev->type, TCM_EV_REJECTED);
	assert_int_equal(ev->reason, CM_REJ_CONSUMER);
	for (unsigned int i = 0; i < MANY; i++)
		many[i].rejected += many[i].conn == ev->conn;
}
static struct troce_cm_owner answered = {.event = on_answer};

static void
on_nothing(struct troce_cm_owner *owner, const struct tcm_event *ev)
{
	(void)owner, (void)ev;
	fail();
}
static struct troce_cm_owner undecided = {.event = on_nothing};

/* The queue pair's number says who asks. */
static void
on_many(struct troce_cm_owner *owner, const struct tcm_event *ev)
{
	const uint32_t n = ev->msg->req.qpn - FIRST_QPN;

	(void)owner;
	assert_int_equal(ev->type, TCM_EV_REQ);
	assert_in_range(n, 0, MANY - 1);
	assert_null(many[n].asked);
	many[n].asked = ev->conn;
	ev->conn->owner = &undecided;
	num_asked++;
}

static int
ask_as(struct tcm *core, unsigned int i, const struct troce_path *path)
{
	/* A minute for an answer: nobody asks again within the test. */
	struct cm_req req = {.service_id = SERVICE,
			     .qpn = FIRST_QPN + i,
			     .remote_timeout = 24,
			     .local_timeout = 24,
			     .pkey = 0xffff,
			     .mtu = IBV_MTU_2048,
			     .max_retries = 3,
			     .path = {.ack_timeout = 14, .rate = IBV_RATE_10_GBPS}};

	return tcm_connect(core, path, &req, &answered, &many[i].conn);
}

/*
 * Requests that are made at once, before the first of them is sent: the last ones find no room, are counted, and are those that the
 * other port does not hear of. So is one that the port does not take.
 */
static void
test_lost(void **state)
{
	struct troce_path path;
	struct tcm *core;

	(void)state;
	memset(many, 0, sizeof(many));
	num_asked = 0;
	b.service.owner.event = on_many;
	path_to(&path, 0, 1, false);
	core = troce_cm_ib_lock(ir_ctx[0]);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(ask_as(core, i, &path), 0);
	troce_cm_ib_unlock();
	assert_int_equal(counter(0, "cm_initiated"), MANY);
	assert_int_equal(counter(0, "cm_lost"), MANY - WAITING);
	ir_run();
	assert_int_equal(num_asked, WAITING);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(many[i].asked != NULL, i < WAITING);
	assert_int_equal(counter(1, "cm_rx"), WAITING);
	/* As many answers as there is room for. */
	(void)troce_cm_ib_lock(ir_ctx[1]);
	for (unsigned int i = 0; i < WAITING; i++) {
		assert_int_equal(tcm_reject(many[i].asked, CM_REJ_CONSUMER, NULL, 0, NULL, 0), 0);
		tcm_release(many[i].asked);
	}
	troce_cm_ib_unlock();
	ir_run();
	assert_int_equal(counter(1, "cm_lost"), 0);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(many[i].rejected, i < WAITING);
	(void)troce_cm_ib_lock(ir_ctx[0]);
	for (unsigned int i = 0; i < MANY; i++)
		tcm_release(many[i].conn);
	troce_cm_ib_unlock();
	ir_run();
	assert_int_equal(counter(0, "cm_lost"), MANY - WAITING);
	/* Those that nobody heard of were given up, which needs no room. */
	assert_int_equal(counter(1, "cm_rx"), MANY);
	/* There is no such entry of the table of partitions. */
	path.pkey_index = UINT16_MAX;
	assert_int_equal(ask(&path, SERVICE), 0);
	assert_int_equal(counter(0, "cm_lost"), MANY - WAITING + 1);
	ir_run();
	assert_int_equal(counter(1, "cm_rx"), MANY);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_life_with_grh, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_partition, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
	};

	if (rig_eal("ut-ib-cm", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-ib-cm", tests, NULL, NULL);
}
