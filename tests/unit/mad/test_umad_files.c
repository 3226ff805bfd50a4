/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Files of the server for programs of libibumad: which of them it may take the place of. */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tp_umad.h"
#include "lib/mad/umad/umad_proto.h"

static char dir[64], path[96], fifo[160];
static struct rig r;

static int
up(void **state)
{
	(void)state;
	rig_up(&r);
	snprintf(dir, sizeof(dir), "%s", "/tmp/tp-umad-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
	snprintf(fifo, sizeof(fifo), UMAD_PROTO_ISSM, path, "card", 1u);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	unlink(path);
	unlink(fifo);
	rmdir(dir);
	rig_down(&r);
	return 0;
}

static void
put_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "keep", 4), 4);
	close(fd);
}

static void
assert_kept(const char *name)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_size, 4);
}

static void
describe(void *arg, struct tp_umad_desc *port)
{
	(void)arg;
	snprintf(port->ca, sizeof(port->ca), "card");
	port->port = 1;
}

static void
files_of_others_stay(void **state)
{
	const struct tp_umad_port port = {.mad = r.port[0].mad, .describe = describe};
	struct tp_umad *u = NULL;

	(void)state;
	put_file(path);
	assert_int_equal(tp_umad_create(path, &u), -EEXIST);
	assert_kept(path);
	assert_int_equal(unlink(path), 0);
	put_file(fifo);
	assert_int_equal(tp_umad_create(path, &u), 0);
	assert_int_equal(tp_umad_add(u, &port), -EEXIST);
	tp_umad_destroy(u);
	assert_kept(fifo);
}

/* A server that was killed leaves both behind. */
static void
what_an_earlier_server_left_is_taken_over(void **state)
{
	const struct tp_umad_port port = {.mad = r.port[0].mad, .describe = describe};
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct tp_umad *u = NULL, *second = NULL;
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)state;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	close(fd);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(tp_umad_create(path, &u), 0);
	assert_int_equal(tp_umad_add(u, &port), 0);
	/* A file of the server's own, for this user alone. */
	assert_int_equal(stat(fifo, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(tp_umad_add(u, &port), -EEXIST);
	assert_int_equal(tp_umad_create(path, &second), -EADDRINUSE);
	tp_umad_destroy(u);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(fifo, F_OK), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_of_others_stay, up, down),
		cmocka_unit_test_setup_teardown(what_an_earlier_server_left_is_taken_over, up, down),
	};

	return cmocka_run_group_tests_name("umad server", tests, NULL, NULL);
}
