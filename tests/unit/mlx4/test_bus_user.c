/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The bus of a card behind a vfio-user socket: each message in bytes, and what a server may say that is wrong. */
#include <errno.h>
#include <stdlib.h>

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "drivers/mlx4/bus/user.h"
#include "rig.h"
#include "vfio_user.h"

#define MESSAGES 4096u
#define UAR_LEN 16384u
#define FDS 64u

/* What the server does wrong at the next message of this kind. */
enum wrong {
	NOTHING,
	ERRNO,
	ERRNO_0,
	ERRNO_LARGE,
	ERROR_WITH_MORE,
	OTHER_ID,
	OTHER_CMD,
	NO_REPLY_BIT,
	OTHER_TYPE, /* the lowest of its four bits is a reply's */
	SHORT,
	LONG,
	CUT,
	HALF, /* of the answer, and the server goes */
	LEAVE
};

struct message {
	uint16_t cmd;
	uint32_t len, num_fds;
	uint8_t data[64]; /* the first ones of the payload */
};

static struct {
	int listener, fd, uar, fds[FDS];
	char path[64];
	pthread_t thread;
	struct message m[MESSAGES];
	unsigned int num, num_fds;
	uint16_t wrong_cmd;
	enum wrong wrong;
	unsigned int skip; /* so many of them are right before */
	uint16_t id[2];    /* of the configuration space */
	const char *json;
	uint32_t region_flags;
	bool no_fd;
	uint64_t region_size;
	uint8_t answer[8192]; /* to reads */
} srv;

static struct mlx4_bus *bus;
static struct rte_device dev;

static bool
receive(void *p, size_t len, struct message *m)
{
	size_t got = 0;

	while (got < len) {
		union {
			char buf[CMSG_SPACE(16 * sizeof(int))];
			struct cmsghdr align;
		} control;
		struct iovec iov = {(uint8_t *)p + got, len - got};
		struct msghdr mh = {.msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control.buf,
				    .msg_controllen = sizeof(control.buf)};
		ssize_t n = recvmsg(srv.fd, &mh, MSG_CMSG_CLOEXEC);
		struct cmsghdr *cm = n > 0 ? CMSG_FIRSTHDR(&mh) : NULL;

		if (n <= 0)
			return false;
		if (cm != NULL) {
			unsigned int i, k = (unsigned int)((cm->cmsg_len - CMSG_LEN(0)) / sizeof(int));

			m->num_fds += k;
			for (i = 0; i < k; i++) {
				int fd;

				memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int), sizeof(fd));
				if (m->cmd == VFU_DMA_MAP || srv.num_fds == FDS)
					close(fd);
				else
					srv.fds[srv.num_fds++] = fd;
			}
		}
		got += (size_t)n;
	}
	return true;
}

/* In two pieces, as a stream may come. */
static void
reply(const struct vfu_header *h, const void *data, size_t len, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	struct iovec iov = {(void *)(uintptr_t)h, 7};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		mh.msg_control = control.buf;
		mh.msg_controllen = sizeof(control.buf);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	if (sendmsg(srv.fd, &mh, MSG_NOSIGNAL) != 7 ||
	    send(srv.fd, (const uint8_t *)h + 7, sizeof(*h) - 7, MSG_NOSIGNAL) < 0)
		return;
	if (len > 1 && send(srv.fd, data, 1, MSG_NOSIGNAL) == 1)
		send(srv.fd, (const uint8_t *)data + 1, len - 1, MSG_NOSIGNAL);
	else if (len == 1)
		send(srv.fd, data, 1, MSG_NOSIGNAL);
}

/* The reply to a message that is right: its length. */
static size_t
answer_to(const struct message *m, const uint8_t *data, uint8_t *out, int *fd)
{
	struct vfu_region_info info = {.argsz = 32, .flags = srv.region_flags, .index = 2, .size = srv.region_size};
	uint32_t count;

	switch (m->cmd) {
	case VFU_VERSION:
		memset(out, 0, 4);
		memcpy(out + 4, srv.json, strlen(srv.json) + 1);
		return 4 + strlen(srv.json) + 1;
	case VFU_DEVICE_GET_REGION_INFO:
		memcpy(out, &info, sizeof(info));
		*fd = srv.no_fd ? -1 : srv.uar;
		return sizeof(info);
	case VFU_REGION_READ:
		memcpy(&count, data + 12, sizeof(count));
		memcpy(out, data, 16);
		if (data[8] == 7 && data[0] == 0 && count <= 4)
			memcpy(out + 16, srv.id, sizeof(srv.id));
		else
			memcpy(out + 16, srv.answer, count);
		return 16 + count;
	case VFU_REGION_WRITE: memcpy(out, data, 16); return 16;
	case VFU_DMA_UNMAP: memcpy(out, data, 24); return 24;
	default: return 0;
	}
}

/* The header and the length as they are to be sent. False: the server goes. */
static bool
do_wrong(enum wrong w, struct vfu_header *h, size_t *len)
{
	switch (w) {
	case ERRNO: h->flags |= 0x20, h->error = EBUSY, *len = 0; break;
	case ERRNO_0: h->flags |= 0x20, *len = 0; break;
	case ERRNO_LARGE: h->flags |= 0x20, h->error = 4096, *len = 0; break;
	case ERROR_WITH_MORE: h->flags |= 0x20, h->error = EBUSY, *len = 1; break;
	case OTHER_ID: h->id ^= 1; break;
	case OTHER_CMD: h->cmd ^= 1; break;
	case NO_REPLY_BIT: h->flags = 0; break;
	case OTHER_TYPE: h->flags |= 8; break;
	case SHORT: *len -= 1; break;
	case LONG: *len += 4096; break;
	case LEAVE: return false;
	default: break;
	}
	h->size = (uint32_t)(w == CUT ? 15 : sizeof(*h) + *len);
	return true;
}

static void *
serve(void *arg)
{
	static uint8_t data[8192], out[16384];
	struct vfu_header h;

	srv.fd = accept(srv.listener, NULL, NULL);
	for (;;) {
		struct message *m = &srv.m[srv.num];
		enum wrong w = NOTHING;
		size_t len;
		int fd = -1;

		memset(m, 0, sizeof(*m));
		m->cmd = VFU_DMA_MAP; /* whose fds come with the header are closed, until it is known */
		if (recv(srv.fd, &h, sizeof(h), MSG_PEEK | MSG_WAITALL) != sizeof(h))
			break;
		m->cmd = h.cmd;
		if (!receive(&h, sizeof(h), m) || h.flags != 0)
			break;
		m->len = h.size - (uint32_t)sizeof(h);
		if (m->len > sizeof(data) || !receive(data, m->len, m))
			break;
		memcpy(m->data, data, RTE_MIN(m->len, sizeof(m->data)));
		if (h.cmd == srv.wrong_cmd && srv.wrong != NOTHING && srv.skip-- == 0) {
			w = srv.wrong;
			srv.wrong = NOTHING;
		}
		h.flags = 1;
		len = answer_to(m, data, out, &fd);
		__atomic_store_n(&srv.num, srv.num + 1, __ATOMIC_RELEASE);
		if (!do_wrong(w, &h, &len))
			break;
		reply(&h, out, w == HALF ? len / 2 : len, fd);
		if (w == HALF)
			break;
	}
	close(srv.fd);
	return NULL;
}

static int
setup(void **state)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	memset(&srv, 0, sizeof(srv));
	snprintf(srv.path, sizeof(srv.path), "/tmp/mlx4-bus-user-%d", (int)getpid());
	unlink(srv.path);
	memcpy(sa.sun_path, srv.path, strlen(srv.path));
	srv.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	srv.uar = memfd_create("uar", MFD_CLOEXEC);
	assert_int_equal(ftruncate(srv.uar, UAR_LEN), 0);
	assert_int_equal(bind(srv.listener, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(srv.listener, 1), 0);
	srv.id[0] = 0x15b3, srv.id[1] = 0x1003;
	srv.json = "{\"capabilities\":{\"triplane_shared_uar\":true}}";
	srv.region_flags = 7, srv.region_size = UAR_LEN;
	srv.wrong_cmd = UINT16_MAX;
	assert_int_equal(pthread_create(&srv.thread, NULL, serve, NULL), 0);
	bus = NULL;
	return 0;
}

static int
teardown(void **state)
{
	unsigned int i;

	if (bus != NULL)
		bus->ops->close(bus);
	shutdown(srv.listener, SHUT_RDWR);
	assert_int_equal(pthread_join(srv.thread, NULL), 0);
	for (i = 0; i < srv.num_fds; i++)
		close(srv.fds[i]);
	close(srv.listener);
	close(srv.uar);
	unlink(srv.path);
	return 0;
}

static int
open_bus(void)
{
	return mlx4_bus_user_open(&dev, "net_mlx4_user0", srv.path, &bus);
}

static unsigned int
fds(void)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < 256; i++)
		n += lseek(i, 0, SEEK_CUR) >= 0 || errno != EBADF;
	return n;
}

static void
payload_is(const struct message *m, uint16_t cmd, const uint32_t *want, unsigned int n)
{
	unsigned int i;

	assert_int_equal(m->cmd, cmd);
	for (i = 0; i < n; i++) {
		uint32_t v;

		memcpy(&v, m->data + 4 * i, sizeof(v));
		if (v != want[i])
			fail_msg("message %u: dword %u is 0x%x, wanted 0x%x", cmd, i, v, want[i]);
	}
}

#define PAYLOAD(m, cmd, ...)                                                                                           \
	payload_is(m, cmd, (const uint32_t[]){__VA_ARGS__}, RTE_DIM(((const uint32_t[]){__VA_ARGS__})))

static void
test_open(void **state)
{
	struct rte_malloc_socket_stats heap;
	uint64_t bytes = 0, last = 0;
	unsigned int i;

	assert_int_equal(open_bus(), 0);
	assert_string_equal(bus->ops->name, "user");
	assert_int_equal(bus->device_id, 0x1003);
	assert_int_equal(bus->uar_len, UAR_LEN);
	assert_int_equal(bus->max_vectors, 128);
	assert_int_equal(bus->cmd_timeout_ms, 5000);
	assert_int_equal(bus->reset_wait_us, 0);
	assert_ptr_equal(bus->dev, &dev);
	assert_string_equal(bus->where, "net_mlx4_user0");
	/* Its doorbell pages are the server's file. */
	bus->uar[5] = 0x77;
	assert_int_equal(pread(srv.uar, &bytes, 1, 5), 1);
	assert_int_equal(bytes, 0x77);
	/* Version 0.0 with capabilities, the identity, the pages, and all of EAL's memory. */
	PAYLOAD(&srv.m[0], VFU_VERSION, 0);
	assert_memory_equal(srv.m[0].data + 4, "{\"capabilities\":", 16);
	PAYLOAD(&srv.m[1], VFU_REGION_READ, 0, 0, 7, 4);
	PAYLOAD(&srv.m[2], VFU_DEVICE_GET_REGION_INFO, 32, 0, 2, 0, 0, 0);
	for (i = 3, bytes = 0; i < srv.num; i++) {
		uint64_t w[3];

		PAYLOAD(&srv.m[i], VFU_DMA_MAP, 32, 3);
		assert_int_equal(srv.m[i].len, 32);
		assert_int_equal(srv.m[i].num_fds, 1);
		memcpy(w, srv.m[i].data + 8, sizeof(w)); /* offset, address, size */
		assert_true(w[1] >= last);
		last = w[1] + w[2];
		bytes += w[2];
	}
	assert_int_equal(rte_malloc_get_socket_stats(0, &heap), 0);
	assert_true(bytes >= heap.heap_totalsz_bytes);
	/* Pages of one file in one piece. */
	assert_in_range(srv.num, 4, 12);
}

static void
test_registers(void **state)
{
	unsigned int n;

	assert_int_equal(open_bus(), 0);
	n = srv.num;
	memcpy(srv.answer, "\xca\xfe\xba\xbe", 4);
	assert_int_equal(bus->ops->read32(bus, 0x80698), 0xcafebabe);
	PAYLOAD(&srv.m[n], VFU_REGION_READ, 0x80698, 0, 0, 4);
	assert_int_equal(srv.m[n].len, 16);
	bus->ops->write32(bus, 0xf0010, 0x12345678);
	PAYLOAD(&srv.m[n + 1], VFU_REGION_WRITE, 0xf0010, 0, 0, 4);
	assert_int_equal(srv.m[n + 1].len, 20);
	assert_memory_equal(srv.m[n + 1].data + 16, "\x12\x34\x56\x78", 4);
}

static void
test_config(void **state)
{
	uint8_t d[4097];
	unsigned int n;

	assert_int_equal(open_bus(), 0);
	n = srv.num;
	memset(srv.answer, 0x3c, sizeof(srv.answer));
	assert_int_equal(bus->ops->cfg_read(bus, 0x60, d, 4096), 0);
	assert_int_equal(d[4095], 0x3c);
	PAYLOAD(&srv.m[n], VFU_REGION_READ, 0x60, 0, 7, 4096);
	assert_int_equal(bus->ops->cfg_read(bus, 0x60, d, 4097), -EINVAL);
	assert_int_equal(srv.num, n + 1);
	assert_int_equal(bus->ops->cfg_write(bus, 0x70, "\1\2\3", 3), 0);
	PAYLOAD(&srv.m[n + 1], VFU_REGION_WRITE, 0x70, 0, 7, 3);
	assert_memory_equal(srv.m[n + 1].data + 16, "\1\2\3", 3);
	/* An answer of another length; it is a whole one, so that the next is understood. */
	srv.wrong_cmd = VFU_REGION_READ;
	srv.wrong = SHORT;
	assert_int_equal(bus->ops->cfg_read(bus, 0x60, d, 16), -EPROTO);
	assert_int_equal(bus->ops->reset_done(bus), 0);
	srv.id[0] = 0xffff;
	assert_int_equal(bus->ops->reset_done(bus), -ETIMEDOUT);
	/* What an application brings is no file. */
	rig_log_begin();
	assert_int_equal(bus->ops->dma_map(bus, d, 0x1000, 4096), -ENOTSUP);
	rig_log_one("net_mlx4_user0: 4096 bytes at", "are the application's own");
	assert_int_equal(bus->ops->dma_unmap(bus, d, 0x1000, 4096), -ENOTSUP);
}

static bool
fires(unsigned int vector, int fd)
{
	uint64_t v = 1;

	assert_int_equal(write(srv.fds[vector], &v, sizeof(v)), sizeof(v));
	return read(fd, &v, sizeof(v)) == sizeof(v);
}

/* Event fds go with messages of up to 16; the first is the handle's own. */
static void
test_vectors(void **state)
{
	unsigned int n, before, i;

	assert_int_equal(open_bus(), 0);
	before = fds();
	n = srv.num;
	assert_int_equal(bus->ops->irq_setup(bus, 1), 0);
	PAYLOAD(&srv.m[n], VFU_DEVICE_SET_IRQS, 20, 0x24, 2, 0, 1);
	assert_int_equal(srv.m[n].num_fds, 1);
	assert_true(fires(0, rte_intr_fd_get(bus->intr)));
	assert_int_equal(rte_intr_nb_efd_get(bus->intr), 0);
	assert_int_equal(bus->ops->irq_setup(bus, 40), 0);
	PAYLOAD(&srv.m[n + 1], VFU_DEVICE_SET_IRQS, 20, 0x24, 2, 1, 16);
	PAYLOAD(&srv.m[n + 2], VFU_DEVICE_SET_IRQS, 20, 0x24, 2, 17, 16);
	PAYLOAD(&srv.m[n + 3], VFU_DEVICE_SET_IRQS, 20, 0x24, 2, 33, 7);
	assert_int_equal(srv.num, n + 4);
	assert_int_equal(srv.m[n + 3].num_fds, 7);
	assert_int_equal(srv.num_fds, 40);
	assert_int_equal(rte_intr_nb_efd_get(bus->intr), 39);
	for (i = 1; i < 40; i++)
		assert_true(fires(i, rte_intr_efds_index_get(bus->intr, (int)i - 1)));
	/* Taken: the next read finds nothing. */
	assert_int_equal(write(srv.fds[0], &(uint64_t){1}, 8), 8);
	bus->ops->irq_ack(bus);
	assert_true(read(rte_intr_fd_get(bus->intr), &(uint64_t){0}, 8) < 0);
	/* More that are refused: those that are there stay. */
	srv.wrong_cmd = VFU_DEVICE_SET_IRQS;
	srv.wrong = ERRNO;
	srv.skip = 1;
	assert_int_equal(bus->ops->irq_setup(bus, 60), -EBUSY);
	assert_int_equal(rte_intr_nb_efd_get(bus->intr), 39);
	assert_true(fires(39, rte_intr_efds_index_get(bus->intr, 38)));
	n = srv.num;
	assert_int_equal(bus->ops->irq_setup(bus, 0), 0);
	PAYLOAD(&srv.m[n], VFU_DEVICE_SET_IRQS, 20, 0x21, 2, 0, 0);
	assert_int_equal(srv.m[n].num_fds, 0);
	assert_int_equal(rte_intr_fd_get(bus->intr), -1);
	assert_int_equal(bus->ops->irq_setup(bus, 0), 0);
	assert_int_equal(srv.num, n + 1);
	assert_int_equal(fds(), before + srv.num_fds);
}

/* An error that is told is that of the call; anything else ends the connection, since what follows could belong to anything. */
static void
test_wrong_answers(void **state)
{
	static const struct {
		enum wrong wrong;
		int rc;
	} row[] = {
		{ERRNO, -EBUSY},  {ERRNO_0, -EIO},   {ERRNO_LARGE, -EIO}, {ERROR_WITH_MORE, -EIO},
		{OTHER_ID, -EIO}, {OTHER_CMD, -EIO}, {LONG, -EIO},        {NO_REPLY_BIT, -EIO},
		{CUT, -EIO},      {LEAVE, -EIO},     {OTHER_TYPE, -EIO},  {HALF, -EIO},
	};
	unsigned int i, n;
	uint8_t d[4];

	for (i = 0; i < RTE_DIM(row); i++) {
		unsigned int lines;
		char *text;

		if (i != 0) {
			teardown(NULL);
			setup(NULL);
		}
		bus = NULL;
		assert_int_equal(open_bus(), 0);
		srv.wrong_cmd = VFU_REGION_READ;
		srv.wrong = row[i].wrong;
		rig_log_begin();
		assert_int_equal(bus->ops->cfg_read(bus, 0x60, d, 4), row[i].rc);
		text = rig_log_end(&lines);
		assert_int_equal(lines, row[i].rc == -EIO);
		assert_true(lines == 0 || strstr(text, "process is gone or does not answer within 5 s") != NULL);
		free(text);
		n = srv.num;
		if (row[i].rc != -EIO) {
			assert_int_equal(bus->ops->cfg_read(bus, 0x60, d, 4), 0);
			continue;
		}
		assert_int_equal(bus->ops->cfg_read(bus, 0x60, d, 4), -EIO);
		assert_int_equal(bus->ops->cfg_write(bus, 0x60, d, 4), -EIO);
		assert_int_equal(bus->ops->read32(bus, 0x80698), UINT32_MAX);
		assert_int_equal(bus->ops->reset_done(bus), -EIO);
		assert_int_equal(srv.num, n);
	}
}

/* A server that cannot be the card's: refused, with a line that says what is wrong, and nothing is left open. */
static void
test_refused(void **state)
{
	static const struct {
		uint16_t cmd, vendor;
		enum wrong wrong;
		const char *json;
		uint32_t flags;
		bool no_fd;
		uint64_t size;
		int rc;
		const char *word;
	} row[] = {
		{VFU_VERSION, 0x15b3, ERRNO, "", 7, false, 4096, -EBUSY, "no agreement on vfio-user 0.0"},
		{0, 0x15b3, NOTHING, "{}", 7, false, 4096, -ENOTSUP, "does not share its doorbell pages; wanted"},
		{0, 0x15b4, NOTHING, NULL, 7, false, 4096, -ENODEV, "wanted vendor 15b3"},
		{0, 0x15b3, NOTHING, NULL, 3, false, 4096, -ENOTSUP, "does not share its doorbell pages"},
		{0, 0x15b3, NOTHING, NULL, 7, true, 4096, -ENOTSUP, "does not share its doorbell pages"},
		{0, 0x15b3, NOTHING, NULL, 7, false, 0, -ENOTSUP, "does not share its doorbell pages"},
		{VFU_DEVICE_GET_REGION_INFO, 0x15b3, ERRNO, NULL, 7, false, 4096, -EBUSY, NULL},
		{VFU_REGION_READ, 0x15b3, ERRNO, NULL, 7, false, 4096, -EBUSY, NULL},
		{VFU_DMA_MAP, 0x15b3, ERRNO, NULL, 7, false, 4096, -EBUSY, "cannot open"},
	};
	size_t heap = rig_heap();
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		unsigned int lines;
		char *text;
		int rc;

		if (i != 0) {
			teardown(NULL);
			setup(NULL);
		}
		print_message("row %u\n", i);
		srv.wrong_cmd = row[i].cmd;
		srv.wrong = row[i].wrong;
		srv.id[0] = row[i].vendor;
		srv.json = row[i].json != NULL ? row[i].json : srv.json;
		srv.region_flags = row[i].flags;
		srv.no_fd = row[i].no_fd;
		srv.region_size = row[i].size;
		rig_log_begin();
		rc = open_bus();
		text = rig_log_end(&lines);
		assert_int_equal(rc, row[i].rc);
		assert_int_equal(lines, row[i].word != NULL);
		if (lines != 0 && strstr(text, row[i].word) == NULL)
			fail_msg("%s", text);
		free(text);
		bus = NULL;
		assert_int_equal(rig_heap(), heap);
	}
}

/* A heap that an application brought is no file: it cannot be the card's, and nothing is begun without it. */
static void
test_heap(void **state)
{
	const size_t len = 2u << 20;
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t heap = rig_heap();

	assert_true(mem != MAP_FAILED);
	assert_int_equal(rte_malloc_heap_create("brought"), 0);
	assert_int_equal(rte_malloc_heap_memory_add("brought", mem, len, NULL, 0, 4096), 0);
	rig_log_begin();
	assert_int_equal(open_bus(), -ENOTSUP);
	rig_log_one("is no file that another process could map", "without memory of the application's own");
	bus = NULL;
	assert_int_equal(rig_heap(), heap);
	assert_int_equal(rte_malloc_heap_memory_remove("brought", mem, len), 0);
	assert_int_equal(rte_malloc_heap_destroy("brought"), 0);
	munmap(mem, len);
}

static void
test_no_server(void **state)
{
	char path[120];

	memset(path, 'y', sizeof(path));
	path[108] = '\0';
	rig_log_begin();
	assert_int_equal(mlx4_bus_user_open(&dev, "u", path, &bus), -ENAMETOOLONG);
	rig_log_one("108 characters", "wanted at most 107");
	path[107] = '\0';
	rig_log_begin();
	assert_int_equal(mlx4_bus_user_open(&dev, "u", path, &bus), -ENOENT);
	rig_log_one("wanted the socket of a running triplane-hca", "yyy: No such file");
	bus = NULL;
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_open),    T(test_heap),          T(test_registers), T(test_config),
		T(test_vectors), T(test_wrong_answers), T(test_refused),   T(test_no_server),
	};

	if (rig_eal("mlx4user", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
