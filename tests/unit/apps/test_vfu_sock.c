/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* vfio-user over a socket: a client in this program, with the octets and descriptors that it sends and gets. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "vfu_rig.h"

static struct rig rig;
static struct vfu_conn conn;
static char folder[] = "/tmp/triplane-vfu.XXXXXX";
static char place[64];

static int
up(void **state)
{
	(void)state;
	rig_up(&rig);
	memset(&conn, 0, sizeof(conn));
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(place, sizeof(place), "%s/card", folder);
	assert_int_equal(vfu_listen(&conn, place), 0);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	if (conn.fd >= 0)
		vfu_hangup(&rig.server, &conn, "the test ends");
	close(conn.listen_fd);
	unlink(place);
	rmdir(folder);
	rig_down(&rig);
	return 0;
}

static int
join(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(sa.sun_path, place);
	assert_int_equal(connect(fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	vfu_accept(&rig.server, &conn);
	assert_true(conn.fd >= 0);
	assert_string_equal(rig.said, "client attached");
	return fd;
}

static void
put(int fd, const void *data, size_t len, const int *fds, unsigned int nfds)
{
	union {
		char buf[CMSG_SPACE(64 * sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	struct iovec iov = {(void *)(uintptr_t)data, len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfds != 0) {
		mh.msg_control = control.buf;
		mh.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, nfds * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &mh, 0), (ssize_t)len);
}

/* A message: header with this id, and payload. Its length. */
static uint32_t
message(uint8_t *to, uint16_t id, uint16_t cmd, const void *data, uint32_t len)
{
	const struct vfu_header h = {.id = id, .cmd = cmd, .size = 16 + len};

	memcpy(to, &h, 16);
	if (len != 0)
		memcpy(to + 16, data, len);
	return h.size;
}

/* The answer to a message with this id: its error. fd: a descriptor that came along, -1 for none. */
static uint32_t
answer_to(int fd, uint16_t id, int *came)
{
	union {
		char buf[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	uint8_t b[8192];
	struct iovec iov = {b, sizeof(b)};
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf, .msg_controllen = sizeof(control.buf)};
	ssize_t n;

	iov.iov_len = 16;
	n = recvmsg(fd, &mh, MSG_DONTWAIT);
	assert_int_equal(n, 16);
	assert_int_equal(rig_u16(b), id);
	if (rig_u32(b + 4) > 16)
		assert_int_equal(recv(fd, b + 16, rig_u32(b + 4) - 16, MSG_DONTWAIT), rig_u32(b + 4) - 16);
	if (came != NULL) {
		*came = -1;
		if (CMSG_FIRSTHDR(&mh) != NULL) {
			assert_int_equal(CMSG_FIRSTHDR(&mh)->cmsg_len, CMSG_LEN(sizeof(int)));
			memcpy(came, CMSG_DATA(CMSG_FIRSTHDR(&mh)), sizeof(int));
		}
	} else {
		assert_null(CMSG_FIRSTHDR(&mh));
	}
	return rig_u32(b + 12);
}

static void
assert_nothing_more(int fd)
{
	uint8_t b;

	assert_int_equal(recv(fd, &b, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void
assert_gone(int fd)
{
	uint8_t b[4096];
	ssize_t n;

	assert_int_equal(conn.fd, -1);
	do {
		n = recv(fd, b, sizeof(b), MSG_DONTWAIT);
	} while (n > 0);
	assert_true(n == 0 || errno == ECONNRESET);
	assert_false(rig.server.version_done);
	close(fd);
}

static const uint8_t hello_text[] = "\0\0\0\0{\"capabilities\":{\"max_msg_fds\":16,\"triplane_shared_uar\":true}}";

static int
join_and_agree(void)
{
	uint8_t b[256];
	int fd = join();

	put(fd, b, message(b, 1, 1, hello_text, sizeof(hello_text)), NULL, 0);
	assert_true(vfu_input(&rig.server, &conn));
	assert_int_equal(answer_to(fd, 1, NULL), 0);
	return fd;
}

static void
where_a_server_listens(void **state)
{
	struct vfu_conn other;
	char path[160];
	int fd, plain;

	(void)state;
	/* Somebody listens there. */
	assert_int_equal(vfu_listen(&other, place), -EADDRINUSE);
	assert_int_equal(other.listen_fd, -1);
	assert_int_equal(other.fd, -1);
	/* Nobody does any more: the name is taken over. */
	close(conn.listen_fd);
	assert_int_equal(vfu_listen(&conn, place), 0);
	assert_true(conn.listen_fd >= 0);
	assert_int_equal(conn.fd, -1);
	assert_true((fcntl(conn.listen_fd, F_GETFD) & FD_CLOEXEC) != 0);
	/* Nobody waits: the caller does not, either. */
	vfu_accept(&rig.server, &conn);
	assert_int_equal(conn.fd, -1);
	assert_int_equal(rig.lines, 0);
	fd = join();
	assert_true((fcntl(conn.fd, F_GETFD) & FD_CLOEXEC) != 0);
	close(fd);
	assert_false(vfu_input(&rig.server, &conn));
	/* A file is somebody's. */
	snprintf(path, sizeof(path), "%s/file", folder);
	plain = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(vfu_listen(&other, path), -EEXIST);
	assert_int_equal(access(path, F_OK), 0);
	close(plain);
	unlink(path);
	snprintf(path, sizeof(path), "%s/no/folder", folder);
	assert_int_equal(vfu_listen(&other, path), -ENOENT);
	assert_int_equal(other.listen_fd, -1);
	/* Names of sockets have 107 characters. */
	snprintf(path, sizeof(path), "%s/%0*d", folder, (int)(107 - strlen(folder) - 1), 0);
	assert_int_equal(strlen(path), 107);
	assert_int_equal(vfu_listen(&other, path), 0);
	close(other.listen_fd);
	unlink(path);
	strcat(path, "0");
	assert_int_equal(vfu_listen(&other, path), -ENAMETOOLONG);
}

static void
messages_in_pieces_and_in_heaps(void **state)
{
	static const uint8_t info[16] = {16};
	uint8_t b[64 * 32];
	uint32_t len = 0;
	int fd = join_and_agree();

	(void)state;
	for (uint32_t n = message(b, 7, 4, info, 16), at = 0; at < n; at++) {
		assert_nothing_more(fd);
		put(fd, b + at, 1, NULL, 0);
		assert_true(vfu_input(&rig.server, &conn));
	}
	assert_int_equal(answer_to(fd, 7, NULL), 0);
	/* A message without payload is complete with its header. */
	put(fd, b, message(b, 8, 13, NULL, 0), NULL, 0);
	assert_true(vfu_input(&rig.server, &conn));
	assert_int_equal(answer_to(fd, 8, NULL), 0);
	/* Thirty at once, read in one go: each takes two reads, and the caller's turn is 64 of them. */
	for (uint16_t i = 0; i < 30; i++)
		len += message(b + len, 100 + i, 4, info, 16);
	put(fd, b, len, NULL, 0);
	assert_true(vfu_input(&rig.server, &conn));
	for (uint16_t i = 0; i < 30; i++)
		assert_int_equal(answer_to(fd, 100 + i, NULL), 0);
	assert_nothing_more(fd);
	/* Forty are more than one turn: 32 of them are answered, then the others. */
	len = 0;
	for (uint16_t i = 0; i < 40; i++)
		len += message(b + len, i, 4, info, 16);
	put(fd, b, len, NULL, 0);
	assert_true(vfu_input(&rig.server, &conn));
	for (uint16_t i = 0; i < 32; i++)
		assert_int_equal(answer_to(fd, i, NULL), 0);
	assert_nothing_more(fd);
	assert_true(vfu_input(&rig.server, &conn));
	for (uint16_t i = 32; i < 40; i++)
		assert_int_equal(answer_to(fd, i, NULL), 0);
	assert_nothing_more(fd);
	/* Nothing to read is no reason to go. */
	assert_true(vfu_input(&rig.server, &conn));
	close(fd);
	assert_false(vfu_input(&rig.server, &conn));
	assert_string_equal(rig.said, "client detached: it closed the socket");
	assert_int_equal(conn.fd, -1);
}

static void
impossible_sizes(void **state)
{
	static const struct {
		uint32_t size;
		bool possible;
	} row[] = {
		{0, false},          {15, false}, {16, true}, {16 + 16 + 65536, true}, {16 + 16 + 65537, false},
		{UINT32_MAX, false},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		const struct vfu_header h = {.id = 2, .cmd = 4, .size = row[i].size};
		uint64_t bad;
		int fd = join_and_agree();

		bad = rig.server.malformed;
		put(fd, &h, 16, NULL, 0);
		assert_int_equal(vfu_input(&rig.server, &conn), row[i].possible);
		if (row[i].possible) {
			close(fd);
			assert_false(vfu_input(&rig.server, &conn));
			continue;
		}
		assert_string_equal(rig.said, "client detached: a message has an impossible size");
		assert_int_equal(rig.server.malformed, bad + 1);
		assert_gone(fd);
	}
}

static void
who_breaks_the_protocol_goes(void **state)
{
	static const uint8_t info[16] = {16};
	uint8_t b[64];
	int fd = join();

	(void)state;
	put(fd, b, message(b, 5, 4, info, 16), NULL, 0);
	assert_false(vfu_input(&rig.server, &conn));
	/* It is told why. */
	assert_int_equal(answer_to(fd, 5, NULL), EINVAL);
	assert_string_equal(rig.said, "client detached: it broke the protocol");
	assert_gone(fd);
	/* The next one is served. */
	fd = join_and_agree();
	/* One that is no more there when it is answered. */
	put(fd, b, message(b, 6, 4, info, 16), NULL, 0);
	close(fd);
	assert_false(vfu_input(&rig.server, &conn));
	assert_string_equal(rig.said, "client detached: it takes no answer");
	assert_int_equal(conn.fd, -1);
}

static void
descriptors_travel(void **state)
{
	const struct vfu_dma_map map = {.argsz = 32, .flags = 3, .iova = 0x10000, .size = 4096};
	const uint32_t region[8] = {32, 0, 2}, irqs[5] = {20, 0x24, 2, 0, 16};
	int fds[16], came, fd = join_and_agree(), mem = memfd_create("vfu-sock", 0);
	uint8_t b[256];
	struct stat st;

	(void)state;
	assert_int_equal(ftruncate(mem, 8192), 0);
	put(fd, b, message(b, 2, 2, &map, 32), &mem, 1);
	assert_true(vfu_input(&rig.server, &conn));
	assert_int_equal(answer_to(fd, 2, NULL), 0);
	assert_int_equal(rig.server.num_win, 1);
	/* Sixteen with a header, its payload later. */
	for (unsigned int i = 0; i < 16; i++)
		fds[i] = eventfd(0, 0);
	(void)message(b, 3, 8, irqs, 20);
	put(fd, b, 16, fds, 16);
	assert_true(vfu_input(&rig.server, &conn));
	put(fd, b + 16, 20, NULL, 0);
	assert_true(vfu_input(&rig.server, &conn));
	assert_int_equal(answer_to(fd, 3, NULL), 0);
	for (unsigned int i = 0; i < 16; i++) {
		assert_true(rig_is_open(rig.server.msix[i]));
		assert_true((fcntl(rig.server.msix[i], F_GETFD) & FD_CLOEXEC) != 0);
	}
	assert_int_equal(rig.server.msix[16], -1);
	/* Those of one message are not those of the next. */
	put(fd, b, message(b, 4, 8, irqs, 20), NULL, 0);
	assert_true(vfu_input(&rig.server, &conn));
	assert_int_equal(answer_to(fd, 4, NULL), 0);
	assert_int_equal(rig.server.msix[0], -1);
	/* One comes back: the doorbells. */
	put(fd, b, message(b, 5, 5, region, 32), NULL, 0);
	assert_true(vfu_input(&rig.server, &conn));
	assert_int_equal(answer_to(fd, 5, &came), 0);
	assert_true(came >= 0);
	assert_int_equal(fstat(came, &st), 0);
	assert_int_equal(st.st_size, 8 << 20);
	close(came);
	/* Seventeen in pieces of one message. */
	(void)message(b, 6, 8, irqs, 20);
	put(fd, b, 16, fds, 16);
	assert_true(vfu_input(&rig.server, &conn));
	put(fd, b + 16, 20, fds, 1);
	assert_false(vfu_input(&rig.server, &conn));
	assert_string_equal(rig.said, "client detached: too many descriptors with one message");
	assert_int_equal(conn.nfds, 0);
	assert_gone(fd);
	/* Seventeen at once. */
	fd = join_and_agree();
	came = open("/dev/null", O_RDONLY);
	for (unsigned int i = 0; i < 16; i++)
		assert_true(rig_is_open(fds[i]));
	{
		int many[17];

		for (unsigned int i = 0; i < 17; i++)
			many[i] = fds[i % 16];
		put(fd, b, 16, many, 17);
	}
	assert_false(vfu_input(&rig.server, &conn));
	assert_string_equal(rig.said, "client detached: too many descriptors with one message");
	assert_gone(fd);
	close(came);
	/* Nothing that came is left open: the lowest descriptor that is free is the one that was. */
	for (unsigned int i = 0; i < 16; i++)
		close(fds[i]);
	close(mem);
}

/* Descriptors of a message that never becomes whole are closed with its client. */
static void
half_a_message(void **state)
{
	int fd = join_and_agree(), event = eventfd(0, 0), kept;
	const uint32_t irqs[5] = {20, 0x24, 2, 0, 1};
	uint8_t b[64];

	(void)state;
	(void)message(b, 3, 8, irqs, 20);
	put(fd, b, 20, &event, 1);
	assert_true(vfu_input(&rig.server, &conn));
	assert_int_equal(conn.nfds, 1);
	kept = conn.fds[0];
	assert_true(rig_is_open(kept));
	close(fd);
	assert_false(vfu_input(&rig.server, &conn));
	assert_false(rig_is_open(kept));
	assert_int_equal(conn.nfds, 0);
	/* The next client's first octet begins a message. */
	fd = join_and_agree();
	close(fd);
	close(event);
}

static void
a_client_that_cuts_its_file(void **state)
{
	const struct vfu_dma_map map = {.argsz = 32, .flags = 3, .iova = 0x10000, .size = 4096};
	static const uint8_t info[16] = {16};
	int fd = join_and_agree();
	uint8_t b[64];

	(void)state;
	atomic_store(&rig.server.lost, true);
	put(fd, b, message(b, 3, 4, info, 16), NULL, 0);
	assert_false(vfu_input(&rig.server, &conn));
	assert_string_equal(rig.said, "client detached: it cut a file short that the card had mapped");
	assert_gone(fd);
	assert_int_equal(rig.server.num_win, 0);
	fd = join_and_agree();
	put(fd, b, message(b, 3, 2, &map, 32), NULL, 0);
	assert_true(vfu_input(&rig.server, &conn));
	assert_int_equal(answer_to(fd, 3, NULL), 0);
	close(fd);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(where_a_server_listens),
		T(messages_in_pieces_and_in_heaps),
		T(impossible_sizes),
		T(who_breaks_the_protocol_goes),
		T(descriptors_travel),
		T(half_a_message),
		T(a_client_that_cuts_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
