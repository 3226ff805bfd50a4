/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of RoCE queue pairs and their traffic. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "apps/roce_common/end.h"

#include "apps/triplane/port/roce.h"
#include "commands.h"

#define SIZE_DEFAULT 4096
#define DEPTH_DEFAULT 64
#define STOP_MS 1000u
#define LOOK_MS 10u

static const struct {
	const char *name;
	enum ibv_qp_type type;
} types[] = {{"rc", IBV_QPT_RC}, {"uc", IBV_QPT_UC}, {"ud", IBV_QPT_UD}};

static const struct {
	const char *name;
	enum ibv_qp_state state;
} states[] = {{"reset", IBV_QPS_RESET}, {"rts", IBV_QPS_RTS}, {"sqd", IBV_QPS_SQD}, {"error", IBV_QPS_ERR},
	      {"init", IBV_QPS_INIT},   {"rtr", IBV_QPS_RTR}, {"sqe", IBV_QPS_SQE}};

static const struct {
	const char *name;
	enum ibv_wr_opcode op;
} ops[] = {{"send", IBV_WR_SEND}, {"write", IBV_WR_RDMA_WRITE}, {"read", IBV_WR_RDMA_READ}};

/* The queue pair that the command names; NULL: there is none, which was said. */
static struct roce_qp *
qp_named(struct app *app, const struct cmd_args *a, const char *port, const char *qp)
{
	struct roce_port *r = roce_open_of(&app->port[cmd_num(a, port, 0)]);

	return r == NULL ? NULL : roce_qp_find(r, (unsigned int)cmd_num(a, qp, 0));
}

/* Neighbours answer and messages go only while an lcore drives the ports. */
static int
must_run(const struct app *app)
{
	return app->fwd_runs ? 0 : app_err(-ENETDOWN, "forwarding is stopped, and RoCE with it; 'start' first");
}

static int
do_create(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct roce_port *r = roce_open_of(&app->port[cmd_num(a, "port", 0)]);
	struct roce_qp *q;
	unsigned int i;
	struct out o;

	if (r == NULL)
		return -ENETDOWN;
	for (i = 0; !cmd_is(a, "type", types[i].name); i++)
		;
	q = roce_qp_create(r, types[i].type, (uint32_t)cmd_num(a, "size", SIZE_DEFAULT),
			   (uint32_t)cmd_num(a, "depth", DEPTH_DEFAULT));
	if (q == NULL)
		return -EIO;
	out_init(&o, stdout, app->json || a->json);
	out_u64(&o, "port", r->id);
	out_u64(&o, "qp", q->id);
	out_u64(&o, "qpn", q->qp->qp_num);
	out_done(&o);
	return 0;
}

static int
do_destroy(void *arg, const struct cmd_args *a)
{
	struct roce_qp *q = qp_named(arg, a, "port", "qp");

	return q == NULL ? -ENOENT : roce_qp_destroy(q);
}

static int
gid_of(const char *text, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (inet_pton(AF_INET, text, gid->raw + 12) == 1) {
		memset(gid->raw + 10, 0xff, 2);
		return 0;
	}
	if (inet_pton(AF_INET6, text, gid->raw) == 1)
		return 0;
	return app_err(-EINVAL, "peer: '%s', want its address or GID, as 192.0.2.2 or fe80::1", text);
}

static int
do_connect(void *arg, const struct cmd_args *a)
{
	struct roce_peer peer = {.qpn = (uint32_t)cmd_num(a, "peer-qpn", 0),
				 .rq_psn = (uint32_t)cmd_num(a, "rq-psn", 0),
				 .sq_psn = (uint32_t)cmd_num(a, "sq-psn", 0),
				 .own_gid = cmd_has(a, "gid") ? (int)cmd_num(a, "gid", 0) : -1};
	struct roce_qp *q = qp_named(arg, a, "port", "qp");
	int ret;

	if (q == NULL)
		return -ENOENT;
	ret = gid_of(cmd_text(a, "peer"), &peer.gid);
	if (ret == 0)
		ret = must_run(arg);
	return ret != 0 ? ret : roce_qp_connect(q, &peer);
}

static int
do_pair(void *arg, const struct cmd_args *a)
{
	struct roce_qp *q = qp_named(arg, a, "port", "qp"), *peer;
	int ret;

	if (q == NULL)
		return -ENOENT;
	peer = qp_named(arg, a, "peer-port", "peer-qp");
	if (peer == NULL)
		return -ENOENT;
	if (q->type != peer->type)
		return app_err(-EINVAL, "queue pairs %u of port %u and %u of port %u are of different types", q->id,
			       q->port->id, peer->id, peer->port->id);
	ret = must_run(arg);
	return ret != 0 ? ret : roce_qp_pair(q, peer);
}

static int
do_modify(void *arg, const struct cmd_args *a)
{
	struct roce_qp *q = qp_named(arg, a, "port", "qp");
	unsigned int i;

	if (q == NULL)
		return -ENOENT;
	for (i = 0; !cmd_is(a, "state", states[i].name); i++)
		;
	return roce_qp_state(q, states[i].state);
}

static int
do_remote(void *arg, const struct cmd_args *a)
{
	struct roce_qp *q = qp_named(arg, a, "port", "qp");

	if (q == NULL)
		return -ENOENT;
	rte_spinlock_lock(&q->port->lock);
	q->peer.memory = true;
	q->peer.addr = cmd_num(a, "address", 0);
	q->peer.rkey = (uint32_t)cmd_num(a, "rkey", 0);
	rte_spinlock_unlock(&q->port->lock);
	return 0;
}

/* --- traffic --- */

static int
do_start(void *arg, const struct cmd_args *a)
{
	struct roce_qp *q = qp_named(arg, a, "port", "qp");
	unsigned int i;
	int ret;

	if (q == NULL)
		return -ENOENT;
	for (i = 0; !cmd_is(a, "op", ops[i].name); i++)
		;
	ret = must_run(arg);
	return ret != 0 ? ret
			: roce_traffic_start(q, ops[i].op, (uint32_t)cmd_num(a, "size", 0), cmd_num(a, "rate", 0),
					     cmd_num(a, "count", 0));
}

static bool
is_on(const struct roce_qp *q)
{
	return __atomic_load_n(&q->traffic.on, __ATOMIC_ACQUIRE);
}

/* What is on its way ends by itself, unless nobody drives the port. */
static int
do_stop(void *arg, const struct cmd_args *a)
{
	struct roce_qp *q = qp_named(arg, a, "port", "qp");
	struct app *app = arg;
	unsigned int ms = 0;
	bool left;

	if (q == NULL)
		return -ENOENT;
	do {
		rte_spinlock_lock(&q->port->lock);
		roce_traffic_stop(q);
		left = q->tx_posted != q->tx_done;
		rte_spinlock_unlock(&q->port->lock);
		ms += LOOK_MS;
	} while (left && app->fwd_runs && ms <= STOP_MS && app_sleep_ms(app, LOOK_MS));
	return 0;
}

static int
do_wait(void *arg, const struct cmd_args *a)
{
	struct roce_qp *q = qp_named(arg, a, "port", "qp");
	uint64_t left = cmd_num(a, "seconds", 0) * (1000 / LOOK_MS);

	if (q == NULL)
		return -ENOENT;
	while (is_on(q))
		if (left-- == 0 || !app_sleep_ms(arg, LOOK_MS))
			return app_err(-ETIMEDOUT, "port %u: queue pair %u sends still after %s s", q->port->id, q->id,
				       cmd_text(a, "seconds"));
	if (stat_read(&q->count.errors) == 0)
		return 0;
	return app_err(-EIO, "port %u: queue pair %u: %s", q->port->id, q->id, rend_wc_str(q->count.first_error));
}

/* --- what there is --- */

static const char *
state_name(const struct roce_qp *q)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	unsigned int i;

	if (tp_roce_query_qp(q->qp, &attr, IBV_QP_STATE, &init) != 0)
		return "unknown";
	for (i = 0; i < RTE_DIM(states); i++)
		if (states[i].state == attr.qp_state)
			return states[i].name;
	return "unknown";
}

static void
show_traffic(struct out *o, const struct roce_qp *q)
{
	const struct roce_traffic *t = &q->traffic;
	uint64_t end = is_on(q) ? rte_rdtsc() : t->ended;
	double seconds = (double)(end - t->begun) / (double)rte_get_tsc_hz();
	uint64_t msgs = stat_read(&q->count.tx_msgs) - t->base_msgs;
	unsigned int i;

	if (t->begun == 0)
		return;
	for (i = 0; ops[i].op != t->op; i++)
		;
	out_object(o, "traffic");
	out_bool(o, "on", is_on(q));
	out_str(o, "op", ops[i].name);
	out_u64(o, "size", t->size);
	out_u64(o, "messages", msgs);
	out_real(o, "seconds", seconds, 3);
	out_real(o, "messages_per_second", seconds > 0 ? (double)msgs / seconds : 0, 0);
	out_real(o, "mbit_per_second",
		 seconds > 0 ? (double)(stat_read(&q->count.tx_bytes) - t->base_bytes) * 8 / seconds / 1e6 : 0, 1);
	out_end(o);
}

static void
show_qp(struct out *o, const struct roce_qp *q)
{
	const struct roce_counters *c = &q->count;
	unsigned int i;
	char text[64];

	for (i = 0; types[i].type != q->type; i++)
		;
	out_item(o, "qp", q->id);
	out_u64(o, "qpn", q->qp->qp_num);
	out_str(o, "type", types[i].name);
	out_str(o, "state", state_name(q));
	out_u64(o, "size", q->size);
	out_u64(o, "depth", q->depth);
	out_u64(o, "address", (uintptr_t)roce_qp_target(q));
	out_u64(o, "rkey", q->mr->rkey);
	if (q->peer.known) {
		out_object(o, "peer");
		out_str(o, "gid", rend_gid_str(&q->peer.gid, text));
		out_u64(o, "qpn", q->peer.qpn);
		out_end(o);
	}
	out_u64(o, "tx_messages", stat_read(&c->tx_msgs));
	out_u64(o, "tx_bytes", stat_read(&c->tx_bytes));
	out_u64(o, "rx_messages", stat_read(&c->rx_msgs));
	out_u64(o, "rx_bytes", stat_read(&c->rx_bytes));
	out_u64(o, "rx_lost", stat_read(&c->lost));
	out_u64(o, "rx_late", stat_read(&c->late));
	out_u64(o, "errors", stat_read(&c->errors));
	if (stat_read(&c->errors) != 0)
		out_str(o, "first_error", rend_wc_str(c->first_error));
	show_traffic(o, q);
	out_end(o);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;
	struct roce_qp *q;
	struct out o;
	unsigned int i;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n; i++) {
		const struct roce_port *r = app->port[ports->list[i]].roce;

		out_item(&o, "port", ports->list[i]);
		out_array(&o, "qps");
		if (r != NULL)
			TAILQ_FOREACH(q, &r->qps, next)
		show_qp(&o, q);
		out_end(&o);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

#define QP "{qp:0..65535}"

/* --- captures to files that Wireshark opens (O-5) --- */

static int
do_capture_start(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	const struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	struct roce_port *r = roce_open_of(&app->port[p->id]);
	int ret;

	if (r == NULL)
		return -ENETDOWN;
	ret = tp_roce_capture_start(r->ctx, cmd_text(a, "file"), (uint32_t)cmd_num(a, "snaplen", 0));
	if (ret == 0)
		return 0;
	if (ret == EBUSY)
		return app_err(-EBUSY, "port %u: a capture runs; 'roce capture stop %u' first", p->id, p->id);
	return app_err(-ret, "port %u: %s: %s", p->id, cmd_text(a, "file"), strerror(ret));
}

static int
do_capture_stop(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	const struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	struct roce_port *r = roce_open_of(&app->port[p->id]);
	uint64_t captured, lost;
	struct out o;
	int ret;

	if (r == NULL)
		return -ENETDOWN;
	ret = tp_roce_capture_stop(r->ctx, &captured, &lost);
	if (ret == ENOENT)
		return app_err(-ENOENT, "port %u: no capture runs; 'roce capture start %u FILE' begins one", p->id,
			       p->id);
	out_init(&o, stdout, app->json || a->json);
	out_u64(&o, "packets", captured);
	out_u64(&o, "lost", lost);
	out_done(&o);
	return ret == 0 ? 0 : app_err(-ret, "port %u: the capture is not whole: %s", p->id, strerror(ret));
}

static const struct cmd table[] = {
	{"RoCE", "roce qp create {port:port} {type:rc|uc|ud} [{size:1..1048576} [{depth:1..1024}]]",
	 "Makes a queue pair for messages up to so many octets, so many at a time, with receives for as many; shows "
	 "its "
	 "number.",
	 do_create, true},
	{"RoCE", "roce qp destroy {port:port} " QP, "Destroys a queue pair.", do_destroy, false},
	{"RoCE",
	 "roce qp connect {port:port} " QP " {peer:str} {peer-qpn:0..0xffffff} "
	 "[{rq-psn:0..0xffffff} [{sq-psn:0..0xffffff} [{gid:0..127}]]]",
	 "Connects a queue pair to one of a peer, by the peer's address or GID; the first sequence numbers are 0 "
	 "unless "
	 "said. Asks for the peer's MAC, so forwarding must run.",
	 do_connect, false},
	{"RoCE", "roce qp pair {port:port} " QP " {peer-port:port} {peer-qp:0..65535}",
	 "Connects two queue pairs of this program to each other, with their memory.", do_pair, false},
	{"RoCE", "roce qp modify {port:port} " QP " {state:reset|sqd|rts|error}",
	 "Drains the sends of a queue pair, lets it send again, stops it, or makes it as new.", do_modify, false},
	{"RoCE", "roce qp remote {port:port} " QP " {address:0..0xffffffffffffffff} {rkey:0..0xffffffff}",
	 "Says where a peer's memory is that writes and reads go to.", do_remote, false},
	{"RoCE", "show roce qp {ports:ports}",
	 "Shows queue pairs: state, peer, memory for peers, messages, what was lost, traffic.", do_show, true},
	{"RoCE",
	 "roce traffic start {port:port} " QP " {op:send|write|read} {size:1..1048576} "
	 "[{rate:0..1000000000} [{count:1..1000000000000}]]",
	 "Sends messages of so many octets: at so many a second (0: as fast as they go), until stopped or so many.",
	 do_start, false},
	{"RoCE", "roce traffic stop {port:port} " QP, "Stops it.", do_stop, false},
	{"RoCE", "roce traffic wait {port:port} " QP " {seconds:0..3600}",
	 "Waits until counted traffic is done; fails when it is not in time, or failed.", do_wait, false},
	{"RoCE", "roce capture start {port:port} {file:str} [{snaplen:64..4352}]",
	 "Writes the RoCE packets that a port sends and receives to a pcapng file, or so many octets of each, until "
	 "stopped or the port is.",
	 do_capture_start, false},
	{"RoCE", "roce capture stop {port:port}",
	 "Ends it, and shows how many packets are in the file and how many came too fast.", do_capture_stop, true},
};

int
cmd_roce_qp_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
