/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What goes over a program's two sockets: questions and how they are refused, and datagrams in the words of libibumad. */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "tp_umad.h"
#include "lib/mad/umad/umad_proto.h"

#define M(method) (1ull << (method))
#define VENDOR 0x0a

static struct rig r;
static char dir[32], path[64];
static struct tp_umad *u;
static int ask_fd, data_fd;
static unsigned int issm_calls;
static bool issm_on;

static void
describe(void *arg, struct tp_umad_desc *port)
{
	snprintf(port->ca, sizeof(port->ca), "card");
	port->port = (uint32_t)(uintptr_t)arg;
	port->ports = 2;
	port->lid = 0x10 * port->port;
}

static void
issm(void *arg, bool on)
{
	(void)arg;
	issm_calls++;
	issm_on = on;
}

static void
progress(void)
{
	while (tp_umad_progress(u, 0) != 0)
		;
}

static int
call(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_true(fd >= 0);
	memcpy(sa.sun_path, path, sizeof(path));
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static struct umad_proto_answer
ask(struct umad_proto_request *q, uint32_t op, int *fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl;
	struct umad_proto_answer ans;
	struct iovec iov = {&ans, sizeof(ans)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf)};

	q->version = UMAD_PROTO_VERSION;
	q->op = op;
	assert_int_equal(send(ask_fd, q, sizeof(*q), 0), sizeof(*q));
	progress();
	assert_int_equal(recvmsg(ask_fd, &m, MSG_DONTWAIT), sizeof(ans));
	assert_int_equal(CMSG_FIRSTHDR(&m) != NULL, op == UMAD_OP_OPEN && ans.err == 0);
	if (CMSG_FIRSTHDR(&m) != NULL)
		memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(*fd));
	return ans;
}

static int
wire_up(void **state)
{
	(void)state;
	rig_up(&r);
	issm_calls = 0;
	data_fd = -1;
	strcpy(dir, "/tmp/tpumadXXXXXX");
	assert_non_null(mkdtemp(dir));
	memset(path, 0, sizeof(path));
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(tp_umad_create(path, &u), 0);
	for (unsigned int i = 0; i < 2; i++) {
		const struct tp_umad_port port = {.mad = r.port[i].mad,
						  .describe = describe,
						  .issm = i == 0 ? issm : NULL,
						  .arg = (void *)(uintptr_t)(i + 1)};

		assert_int_equal(tp_umad_add(u, &port), 0);
	}
	ask_fd = call();
	return 0;
}

static int
wire_down(void **state)
{
	(void)state;
	if (data_fd >= 0)
		close(data_fd);
	close(ask_fd);
	tp_umad_destroy(u);
	rig_down(&r);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static void
open_card(uint32_t port)
{
	struct umad_proto_request q = {.ca = "card", .port = port};

	assert_int_equal(ask(&q, UMAD_OP_OPEN, &data_fd).err, 0);
}

static uint32_t
agent(uint8_t mgmt_class, uint64_t methods)
{
	struct umad_proto_request q = {.mgmt_class = mgmt_class, .class_version = 1, .methods = {methods, 0}};
	struct umad_proto_answer a = ask(&q, UMAD_OP_REGISTER, NULL);

	assert_int_equal(a.err, 0);
	return a.agent;
}

static struct tp_umad_stats
stats(void)
{
	struct tp_umad_stats st;

	tp_umad_stats_get(u, &st);
	return st;
}

/* --- questions ------------------------------------------------------------------------------------------------------------ */

static void
ports_are_listed_and_opened_once(void **state)
{
	static const struct {
		const char *ca;
		uint32_t port;
		int err;
	} row[] = {{"card", 3, -ENODEV},  {"card", 0, -ENODEV}, {"car", 1, -ENODEV},
		   {"cards", 1, -ENODEV}, {"card", 2, 0},       {"card", 1, -EBUSY}};
	struct umad_proto_request q = {.ca = ""};
	struct umad_proto_answer a = ask(&q, UMAD_OP_PORTS, NULL);

	(void)state;
	assert_int_equal(a.err, 0);
	assert_int_equal(a.num_ports, 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_string_equal(a.port[i].ca, "card");
		assert_int_equal(a.port[i].port, i + 1);
		assert_int_equal(a.port[i].lid, 0x10 * (i + 1));
	}
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		memset(q.ca, 0, sizeof(q.ca));
		snprintf(q.ca, sizeof(q.ca), "%s", row[i].ca);
		q.port = row[i].port;
		assert_int_equal(ask(&q, UMAD_OP_OPEN, &data_fd).err, row[i].err);
	}
	assert_int_equal(stats().opened, 1);
	assert_int_equal(stats().clients, 1);
	assert_int_equal(stats().refused, 5);
	assert_int_equal(ask(&q, 5, NULL).err, -EOPNOTSUPP);
	assert_int_equal(ask(&q, 0, NULL).err, -EOPNOTSUPP);
	/* Datagrams may be long: the buffers of both ends are larger than the usual ones. */
	{
		int size = 0, usual = 0, plain = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		socklen_t len = sizeof(size);

		assert_int_equal(getsockopt(data_fd, SOL_SOCKET, SO_SNDBUF, &size, &len), 0);
		assert_int_equal(getsockopt(plain, SOL_SOCKET, SO_SNDBUF, &usual, &len), 0);
		assert_true(size >= usual);
		close(plain);
	}
}

/* Who speaks another language, or too little or too much, is not served any more; others are. */
static void
strangers_are_hung_up_on(void **state)
{
	struct {
		struct umad_proto_request q;
		uint8_t more;
	} all = {.q = {.version = UMAD_PROTO_VERSION, .op = UMAD_OP_PORTS}};
	struct umad_proto_request q = {.version = 0};
	char c;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		const size_t len = i == 0 ? sizeof(all.q) - 1 : i == 1 ? sizeof(all.q) + 1 : sizeof(all.q);
		int fd = call();

		all.q.version = i == 2 ? UMAD_PROTO_VERSION + 1 : i == 3 ? UMAD_PROTO_VERSION - 1 : UMAD_PROTO_VERSION;
		progress();
		assert_int_equal(send(fd, &all, len, 0), len);
		progress();
		assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), 0);
		close(fd);
	}
	assert_int_equal(ask(&q, UMAD_OP_PORTS, NULL).num_ports, 2);
	/* With both of its sockets. */
	open_card(1);
	assert_int_equal(send(ask_fd, "", 1, 0), 1);
	progress();
	assert_int_equal(recv(data_fd, &c, 1, MSG_DONTWAIT), 0);
}

static void
agents_are_numbered(void **state)
{
	struct umad_proto_request q = {.mgmt_class = VENDOR, .class_version = 1};

	(void)state;
	assert_int_equal(ask(&q, UMAD_OP_REGISTER, NULL).err, -EINVAL); /* of which port? */
	open_card(1);
	for (uint32_t i = 0; i < TP_UMAD_AGENTS; i++)
		assert_int_equal(agent(VENDOR, 0), i);
	assert_int_equal(ask(&q, UMAD_OP_REGISTER, NULL).err, -ENOSPC);
	q.agent = TP_UMAD_AGENTS;
	assert_int_equal(ask(&q, UMAD_OP_UNREGISTER, NULL).err, -EINVAL);
	q.agent = 7;
	assert_int_equal(ask(&q, UMAD_OP_UNREGISTER, NULL).err, 0);
	assert_int_equal(ask(&q, UMAD_OP_UNREGISTER, NULL).err, -EINVAL);
	q.flags = 2;
	assert_int_equal(ask(&q, UMAD_OP_REGISTER, NULL).err, -EINVAL);
	q.flags = 0;
	assert_int_equal(agent(VENDOR, M(MAD_GET)), 7);
	q.agent = 8;
	assert_int_equal(ask(&q, UMAD_OP_UNREGISTER, NULL).err, 0);
	/* What another agent serves is taken. */
	q.methods[0] = M(MAD_GET);
	assert_int_equal(ask(&q, UMAD_OP_REGISTER, NULL).err, -EBUSY);
	/* A class without segments cannot have them, unless the program cuts by itself, which it says. */
	q.methods[0] = M(MAD_SET);
	q.rmpp_version = 1;
	assert_int_equal(ask(&q, UMAD_OP_REGISTER, NULL).err, -EINVAL);
	q.flags = 1;
	assert_int_equal(ask(&q, UMAD_OP_REGISTER, NULL).err, 0);
}

/* --- datagrams --------------------------------------------------------------------------------------------------------------- */

struct both {
	struct ib_user_mad um;
	uint8_t mad[MAD_SIZE];
};

static void
what_comes_names_its_sender(void **state)
{
	struct tp_mad_packet in = {.qpn = 1,
				   .remote_qpn = 0x123456,
				   .qkey = 0x80010000,
				   .slid = 0x2021,
				   .dlid = 0x10,
				   .sl = 9,
				   .path_bits = 5,
				   .pkey_index = 0x0102,
				   .has_grh = true,
				   .grh = {.version_tclass_flow = htobe32(0x6a5fedcb), .hop_limit = 61}};
	struct both got;
	uint32_t id;

	(void)state;
	open_card(1);
	(void)agent(VENDOR, 0);
	id = agent(VENDOR, M(MAD_SEND));
	memset(in.grh.sgid.raw, 0x71, 16);
	memset(in.grh.dgid.raw, 0x72, 16);
	for (unsigned int i = 0; i < 2; i++) {
		mad_init(in.data, VENDOR, 1, MAD_SEND, 7, 0x99);
		in.data[255] = 0x5a;
		in.has_grh = i == 0;
		tp_mad_input(r.port[0].mad, &in);
		memset(&got, 0xee, sizeof(got));
		assert_int_equal(recv(data_fd, &got, sizeof(got), MSG_DONTWAIT), sizeof(got));
		assert_int_equal(got.um.agent_id, id);
		assert_int_equal(got.um.status, 0);
		assert_int_equal(got.um.length, 64 + 256);
		assert_int_equal(be32toh(got.um.addr.qpn), 0x123456);
		assert_int_equal(be32toh(got.um.addr.qkey), 0x80010000);
		assert_int_equal(be16toh(got.um.addr.lid), 0x2021);
		assert_int_equal(got.um.addr.sl, 9);
		assert_int_equal(got.um.addr.path_bits, 5);
		assert_int_equal(got.um.addr.pkey_index, 0x0102);
		assert_int_equal(got.um.addr.grh_present, i == 0);
		assert_int_equal(got.um.addr.hop_limit, i == 0 ? 61 : 0);
		assert_int_equal(got.um.addr.traffic_class, i == 0 ? 0xa5 : 0);
		assert_int_equal(be32toh(got.um.addr.flow_label), i == 0 ? 0xfedcb : 0);
		assert_int_equal(got.um.addr.gid[0], i == 0 ? 0x71 : 0);
		assert_int_equal(got.um.addr.gid[15], i == 0 ? 0x71 : 0);
		assert_memory_equal(got.mad, in.data, MAD_SIZE);
	}
	assert_int_equal(stats().to_programs, 2);
	assert_int_equal(stats().dropped, 0);
}

static void
what_goes_is_addressed(void **state)
{
	struct both out = {.um = {.addr = {.qpn = htobe32(0xff923456),
					   .qkey = htobe32(0x80010000),
					   .lid = htobe16(0x2021),
					   .sl = 0xf9,
					   .path_bits = 0xff,
					   .grh_present = 1,
					   .hop_limit = 61,
					   .traffic_class = 0xa5,
					   .flow_label = htobe32(0xfffedcb9),
					   .pkey_index = 0x0102}}};
	const struct tp_mad_packet *got = &r.log[0];

	(void)state;
	open_card(1);
	out.um.agent_id = agent(VENDOR, 0);
	memset(out.um.addr.gid, 0x71, 16);
	mad_init(out.mad, VENDOR, 1, MAD_SEND, 7, 0x99);
	out.mad[255] = 0x5a;
	for (unsigned int i = 0; i < 2; i++) {
		static const uint8_t zero[16];

		r.logged = 0;
		out.um.addr.grh_present = i == 0 ? 2 : 0;
		assert_int_equal(send(data_fd, &out, sizeof(out), 0), sizeof(out));
		progress();
		assert_int_equal(r.logged, 1);
		assert_int_equal(got->qpn, 1);
		assert_int_equal(got->remote_qpn, 0x923456);
		assert_int_equal(got->qkey, 0x80010000);
		assert_int_equal(got->dlid, 0x2021);
		assert_int_equal(got->sl, 9);
		assert_int_equal(got->path_bits, 0x7f);
		assert_int_equal(got->pkey_index, 0x0102);
		assert_int_equal(got->has_grh, i == 0);
		assert_int_equal(got->grh.hop_limit, i == 0 ? 61 : 0);
		assert_int_equal(be32toh(got->grh.version_tclass_flow), i == 0 ? 0x6a5edcb9 : 0);
		assert_memory_equal(got->grh.sgid.raw, i == 0 ? r.port[0].state.gid.raw : zero, 16);
		assert_memory_equal(got->grh.dgid.raw, i == 0 ? out.um.addr.gid : zero, 16);
		assert_int_equal(got->data[255], 0x5a);
	}
	assert_int_equal(stats().from_programs, 2);
	assert_int_equal(stats().refused, 0);
}

/* A program that says much at once loses nothing, and stays. */
static void
many_go_at_once(void **state)
{
	struct both out = {.um = {.addr = {.qpn = htobe32(1), .lid = htobe16(0x20)}}};
	struct umad_proto_request q = {.ca = ""};

	(void)state;
	open_card(1);
	out.um.agent_id = agent(VENDOR, 0);
	for (uint32_t i = 0; i < 200; i++) {
		mad_init(out.mad, VENDOR, 1, MAD_SEND, 7, i);
		assert_int_equal(send(data_fd, &out, sizeof(out), 0), sizeof(out));
	}
	/* Others have their turn in between. */
	assert_in_range(tp_umad_progress(u, 0), 1, 199);
	progress();
	assert_int_equal(r.logged, 200);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(ib_get32(r.log[i].data + MAD_TID_AT + 4), i);
	assert_int_equal(stats().from_programs, 200);
	assert_int_equal(ask(&q, UMAD_OP_PORTS, NULL).num_ports, 2);
}

/* A request that has no answer comes back as its header, with ETIMEDOUT of Linux; so does one that cannot be sent. */
static void
requests_come_back(void **state)
{
	struct both out = {.um = {.timeout_ms = 100, .retries = 1, .addr = {.lid = htobe16(0x2021)}}}, got;
	uint32_t id;

	(void)state;
	open_card(1);
	id = agent(VENDOR, 0);
	mad_init(out.mad, VENDOR, 1, MAD_GET, 7, 0x99);
	for (unsigned int i = 0; i < 2; i++) {
		/* One that is there, and the last one that could be. */
		out.um.agent_id = i == 0 ? id : TP_UMAD_AGENTS - 1;
		assert_int_equal(send(data_fd, &out, sizeof(out), 0), sizeof(out));
		progress();
		if (i == 0) {
			rig_run(&r, 199 * RIG_MS);
			assert_int_equal(recv(data_fd, &got, sizeof(got), MSG_DONTWAIT), -1);
			assert_int_equal(r.sent, 2);
			rig_run(&r, 2 * RIG_MS);
		}
		memset(&got, 0xee, sizeof(got));
		assert_int_equal(recv(data_fd, &got, sizeof(got), MSG_DONTWAIT), 64 + 24);
		assert_int_equal(got.um.agent_id, out.um.agent_id);
		assert_int_equal(got.um.status, 110);
		assert_int_equal(got.um.length, 64 + 24);
		assert_int_equal(be16toh(got.um.addr.lid), 0x2021);
		assert_int_equal(got.mad[MAD_CLASS_AT], VENDOR);
		assert_int_equal(got.mad[MAD_METHOD_AT], MAD_GET);
		assert_int_equal(ib_get32(got.mad + MAD_TID_AT + 4), 0x99);
		assert_int_equal(stats().refused, i);
	}
	/* Nobody waits for those that want no answer; of no agent, or without a header, they are of nobody. */
	for (unsigned int i = 0; i < 3; i++) {
		size_t len = i == 2 ? 64 + 23 : sizeof(out);

		out.um.agent_id = i == 1 ? TP_UMAD_AGENTS : TP_UMAD_AGENTS - 1;
		out.um.timeout_ms = i == 0 ? 0 : 100;
		assert_int_equal(send(data_fd, &out, len, 0), len);
		progress();
		assert_int_equal(recv(data_fd, &got, sizeof(got), MSG_DONTWAIT), -1);
		assert_int_equal(stats().refused, 2 + i);
	}
	assert_int_equal(r.sent, 2);
}

/* A program that reads nothing loses what it is sent, which is counted; one that ends takes its agents with it. */
static void
programs_that_do_not_read(void **state)
{
	struct tp_mad_packet in = {.qpn = 1, .remote_qpn = 1, .slid = 0x20, .dlid = 0x10};
	struct tp_mad_stats st;
	unsigned int n = 0;

	(void)state;
	open_card(1);
	(void)agent(VENDOR, M(MAD_SEND));
	mad_init(in.data, VENDOR, 1, MAD_SEND, 7, 0x99);
	while (stats().dropped == 0 && n++ < 200000)
		tp_mad_input(r.port[0].mad, &in);
	assert_int_equal(stats().dropped, 1);
	assert_int_equal(stats().to_programs, n - 1);
	assert_true(n > 100);
	close(data_fd);
	data_fd = -1;
	progress();
	tp_mad_input(r.port[0].mad, &in);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.unmatched, 1);
}

/* --- who is a subnet manager -------------------------------------------------------------------------------------------------- */

/* The file of a port is open: it is told once that there is a manager, and once that there is none, when the server ends, too. */
static void
managers_come_and_go(void **state)
{
	struct umad_proto_request q = {.ca = ""};
	char name[128];
	int fd;

	(void)state;
	open_card(1);
	(void)ask(&q, UMAD_OP_PORTS, NULL);
	assert_int_equal(issm_calls, 0);
	for (unsigned int i = 0; i < 2; i++) {
		/* The second port tells nobody. */
		int other;

		snprintf(name, sizeof(name), UMAD_PROTO_ISSM, path, "card", 2u);
		other = open(name, O_RDONLY | O_NONBLOCK);
		snprintf(name, sizeof(name), UMAD_PROTO_ISSM, path, "card", 1u);
		fd = open(name, O_RDONLY | O_NONBLOCK);
		assert_true(fd >= 0 && other >= 0);
		for (unsigned int k = 0; k < 3; k++) {
			assert_int_equal(send(data_fd, "", 1, 0), 1);
			progress();
			assert_int_equal(issm_calls, 2 * i + 1);
			assert_true(issm_on);
		}
		close(other);
		if (i == 1)
			break;
		close(fd);
		for (unsigned int k = 0; k < 3; k++) {
			assert_int_equal(send(data_fd, "", 1, 0), 1);
			progress();
			assert_int_equal(issm_calls, 2);
			assert_false(issm_on);
		}
	}
	tp_umad_destroy(u);
	assert_int_equal(issm_calls, 4);
	assert_false(issm_on);
	close(fd);
	assert_int_equal(access(name, F_OK), -1);
	assert_int_equal(tp_umad_create(path, &u), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, wire_up, wire_down)
	const struct CMUnitTest tests[] = {
		T(ports_are_listed_and_opened_once),
		T(strangers_are_hung_up_on),
		T(agents_are_numbered),
		T(what_comes_names_its_sender),
		T(what_goes_is_addressed),
		T(many_go_at_once),
		T(requests_come_back),
		T(programs_that_do_not_read),
		T(managers_come_and_go),
	};

	return cmocka_run_group_tests_name("programs of libibumad", tests, NULL, NULL);
}
