/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A program's side of the socket, by hand: the order in which a port changes and sends. */
#include "rig.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "tp_umad.h"
#include "lib/mad/umad/umad_proto.h"

struct fixture {
	struct rig rig;
	char dir[32], path[64];
	struct tp_umad *umad;
	int ask, data;
	uint32_t agent;
	bool issm;
	uint64_t sent_then; /* datagrams that had left when it was told */
};

static void
describe(void *arg, struct tp_umad_desc *port)
{
	(void)arg;
	snprintf(port->ca, sizeof(port->ca), "rig");
	port->port = 1;
	port->ports = 1;
}

static void
issm(void *arg, bool on)
{
	struct fixture *f = arg;

	f->issm = on;
	f->sent_then = f->rig.sent;
}

static struct umad_proto_answer
ask(struct fixture *f, const struct umad_proto_request *q, int *fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl;
	struct umad_proto_answer ans;
	struct iovec iov = {&ans, sizeof(ans)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf)};

	assert_int_equal(send(f->ask, q, sizeof(*q), 0), sizeof(*q));
	for (int i = 0; i < 2; i++)
		tp_umad_progress(f->umad, 0);
	assert_int_equal(recvmsg(f->ask, &m, MSG_DONTWAIT), sizeof(ans));
	assert_int_equal(ans.err, 0);
	if (fd != NULL) {
		assert_non_null(CMSG_FIRSTHDR(&m));
		memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(*fd));
	}
	return ans;
}

static int
up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct umad_proto_request q = {.version = UMAD_PROTO_VERSION, .op = UMAD_OP_OPEN, .ca = "rig", .port = 1};

	assert_non_null(f);
	rig_up(&f->rig);
	strcpy(f->dir, "/tmp/tpumadXXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/s", f->dir);
	assert_int_equal(tp_umad_create(f->path, &f->umad), 0);

	struct tp_umad_port port = {.mad = f->rig.port[0].mad, .describe = describe, .issm = issm, .arg = f};

	assert_int_equal(tp_umad_add(f->umad, &port), 0);
	f->ask = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	memcpy(sa.sun_path, f->path, sizeof(f->path));
	assert_int_equal(connect(f->ask, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ask(f, &q, &f->data);
	q.op = UMAD_OP_REGISTER;
	q.mgmt_class = 0x81;
	q.class_version = 1;
	f->agent = ask(f, &q, NULL).agent;
	*state = f;
	return 0;
}

static int
down(void **state)
{
	struct fixture *f = *state;

	close(f->data);
	close(f->ask);
	tp_umad_destroy(f->umad);
	rig_down(&f->rig);
	assert_int_equal(rmdir(f->dir), 0);
	free(f);
	return 0;
}

static void
say(struct fixture *f)
{
	uint8_t buf[UMAD_PROTO_HEADER + MAD_SIZE] = {0};
	struct ib_user_mad um = {.agent_id = f->agent, .addr = {.lid = 0xffff}};
	uint8_t *mad = buf + sizeof(um);

	memcpy(buf, &um, sizeof(um));
	mad[0] = 1;
	mad[MAD_CLASS_AT] = 0x81;
	mad[2] = 1;
	mad[MAD_METHOD_AT] = MAD_GET;
	mad[7] = 1; /* one hop, by port 1 */
	mad[129] = 1;
	ib_put16(mad + MAD_ATTR_AT, SMP_ATTR_NODE_DESC);
	assert_int_equal(send(f->data, buf, sizeof(buf), 0), sizeof(buf));
}

/* What a manager asks after it has said what it is finds its port so, however late the server comes to both. */
static void
manager_before_its_datagrams(void **state)
{
	struct fixture *f = *state;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), UMAD_PROTO_ISSM, f->path, "rig", 1u);
	say(f);
	tp_umad_progress(f->umad, 0);
	rig_run(&f->rig, 0);
	assert_int_equal(f->rig.sent, 1);
	assert_false(f->issm);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	say(f);
	tp_umad_progress(f->umad, 0);
	rig_run(&f->rig, 0);
	assert_int_equal(f->rig.sent, 2);
	assert_true(f->issm);
	assert_int_equal(f->sent_then, 1);
	close(fd);
	say(f);
	tp_umad_progress(f->umad, 0);
	assert_false(f->issm);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(manager_before_its_datagrams, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
