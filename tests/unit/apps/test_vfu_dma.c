/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * DMA windows of a vfio-user client. What the card reaches by a window is compared with what the kernel says is in the
 * file, by pread() and pwrite(); how often a file is mapped, with /proc/self/maps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/triplane-hca/vfu.h"
#include "model/mem/mem.h"

#define PAGES 100u
#define NAME "triplane-vfu-dma"
#define RW (VFU_DMA_F_READ | VFU_DMA_F_WRITE)
#define AT 0x100000u /* where a test's windows begin */
#define P VFU_PAGE

static struct tp_model *model;
static struct vfu server;
static int file;

/* Page n of a file begins with this octet. */
static uint8_t
mark(unsigned int n)
{
	return (uint8_t)(n * 3 + 1);
}

static int
make_file(unsigned int pages)
{
	int fd = memfd_create(NAME, 0);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)pages * P), 0);
	for (unsigned int n = 0; n < pages; n++) {
		uint8_t m = mark(n);

		assert_int_equal(pwrite(fd, &m, 1, (off_t)n * P), 1);
	}
	return fd;
}

static int
up(void **state)
{
	struct tp_model_config cfg;

	(void)state;
	tp_model_config_default(&cfg);
	assert_int_equal(tp_model_create(&cfg, &model), 0);
	memset(&server, 0, sizeof(server));
	assert_int_equal(vfu_init(&server, model, NULL, NULL), 0);
	server.caps.max_dma_maps = PAGES;
	file = make_file(PAGES);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	vfu_fini(&server);
	tp_model_destroy(model);
	close(file);
	return 0;
}

static int
map_args(const struct vfu_dma_map *map, int fd)
{
	struct vfu_request rq = {
		.data = (const uint8_t *)map, .len = sizeof(*map), .fds = &fd, .nfds = fd >= 0 ? 1 : 0};
	struct vfu_reply rp;
	uint32_t len = 0;

	return vfu_dma_map(&server, &rq, &rp, &len);
}

static int
map(int fd, uint64_t iova, uint64_t size, uint64_t offset, uint32_t flags)
{
	const struct vfu_dma_map m = {.argsz = sizeof(m), .flags = flags, .offset = offset, .iova = iova, .size = size};

	return map_args(&m, fd);
}

static int
unmap(uint64_t iova, uint64_t size, uint32_t flags)
{
	const struct vfu_dma_unmap un = {.argsz = sizeof(un), .flags = flags, .iova = iova, .size = size};
	struct vfu_request rq = {.data = (const uint8_t *)&un, .len = sizeof(un)};
	struct vfu_reply rp;
	uint32_t len = 0;
	int rc = vfu_dma_unmap(&server, &rq, &rp, &len);

	assert_int_equal(len, rc == 0 ? sizeof(un) : 0);
	if (rc == 0)
		assert_memory_equal(vfu_payload(&rp), &un, sizeof(un));
	return rc;
}

/* What the card sees there; NULL: nothing. */
static uint8_t *
card(uint64_t iova, uint64_t len, uint32_t prot)
{
	return tpm_dma_probe(model, iova, len, prot, NULL);
}

static void
assert_page(uint64_t iova, unsigned int page)
{
	const uint8_t *p = card(iova, P, TP_DMA_READ);

	assert_non_null(p);
	assert_int_equal(*p, mark(page));
}

/* How often the kernel has the file mapped. */
static unsigned int
mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, NAME) != NULL;
	fclose(f);
	return n;
}

static void
windows_show_the_file(void **state)
{
	uint8_t octet = 0x5a;

	(void)state;
	/* Each page in a window of its own, from the last one down and then the odd ones between. */
	for (unsigned int n = PAGES; n-- > 0;) {
		if (n % 2 == 0)
			assert_int_equal(map(file, AT + n * P, P, (uint64_t)(PAGES - 1 - n) * P, RW), 0);
	}
	for (unsigned int n = 1; n < PAGES; n += 2)
		assert_int_equal(map(file, AT + n * P, P, (uint64_t)(PAGES - 1 - n) * P, RW), 0);
	for (unsigned int n = 0; n < PAGES; n++)
		assert_page(AT + n * P, PAGES - 1 - n);
	assert_int_equal(mappings(), 1);
	assert_null(card(AT - 1, 1, TP_DMA_READ));
	assert_null(card(AT + PAGES * P, 1, TP_DMA_READ));
	*card(AT + 7, 1, TP_DMA_WRITE) = octet;
	octet = 0;
	assert_int_equal(pread(file, &octet, 1, (off_t)(PAGES - 1) * P + 7), 1);
	assert_int_equal(octet, 0x5a);
	assert_int_equal(map(file, AT + PAGES * P, P, 0, RW), -ENOSPC);
	assert_int_equal(unmap(0, 0, VFU_DMA_UNMAP_F_ALL), 0);
	assert_int_equal(mappings(), 0);
	assert_null(card(AT, 1, TP_DMA_READ));
	/* And again. */
	assert_int_equal(map(file, AT, 2 * P, P, RW), 0);
	assert_page(AT, 1);
	assert_page(AT + P, 2);
}

static void
wrong_requests(void **state)
{
	const struct vfu_dma_map good = {.argsz = sizeof(good), .flags = RW, .offset = 0, .iova = AT, .size = P};
	struct vfu_dma_map bad[10];
	int pipes[2];

	(void)state;
	for (unsigned int i = 0; i < 10; i++)
		bad[i] = good;
	bad[0].argsz--;
	bad[1].flags |= 4;
	bad[2].size = 0;
	bad[3].iova++;
	bad[4].size += 512;
	bad[5].offset = 8;
	bad[6].iova = UINT64_MAX - P + 1;
	bad[6].size = 2 * P;
	bad[7].offset = UINT64_MAX - P + 1;
	bad[8].size = (PAGES + 1) * P;
	bad[9].offset = PAGES * P;
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(map_args(&bad[i], file), -EINVAL);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(map_args(&good, pipes[0]), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(mappings(), 0);
	/* Without a file there is nothing for the card. */
	assert_int_equal(map_args(&good, -1), 0);
	assert_null(card(AT, 1, TP_DMA_READ));
	assert_int_equal(map_args(&good, file), 0);
	assert_page(AT, 0);
}

static void
windows_do_not_overlap(void **state)
{
	static const struct {
		uint64_t iova, size;
		int rc;
	} others[] = {
		{AT + 2 * P, P, -EEXIST},
		{AT + 4 * P, P, -EEXIST},
		{AT + P, 2 * P, -EEXIST},
		{AT + 4 * P, 9 * P, -EEXIST},
		{AT, 9 * P, -EEXIST},
		{AT + 3 * P, P, -EEXIST},
		{AT + P, P, 0},
		{AT + 5 * P, P, 0},
		{AT + 9 * P, P, 0},
		{AT + 8 * P, 2 * P, -EEXIST},
		{AT + 6 * P, 4 * P, -EEXIST},
		{AT + 6 * P, 3 * P, 0},
	};

	(void)state;
	assert_int_equal(map(file, AT + 2 * P, 3 * P, 0, RW), 0);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(map(file, others[i].iova, others[i].size, 10 * P, RW), others[i].rc);
	assert_page(AT + 2 * P, 0);
	assert_page(AT + 4 * P, 2);
	assert_page(AT + P, 10);
	assert_page(AT + 8 * P, 12);
	assert_int_equal(mappings(), 1);
}

static void
rights_of_windows_and_files(void **state)
{
	char path[64];
	int ro, wo;

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	ro = open(path, O_RDONLY);
	wo = open(path, O_WRONLY);
	assert_true(ro >= 0 && wo >= 0);
	assert_int_equal(map(wo, AT, P, 0, VFU_DMA_F_WRITE), -EACCES);
	assert_int_equal(map(ro, AT, P, 0, RW), -EACCES);
	assert_int_equal(map(ro, AT, P, 0, VFU_DMA_F_READ), 0);
	assert_page(AT, 0);
	assert_null(card(AT, 1, TP_DMA_WRITE));
	/* What may be written needs a mapping of its own; what is only read does with either. */
	assert_int_equal(map(file, AT + P, P, P, VFU_DMA_F_WRITE), 0);
	assert_non_null(card(AT + P, P, TP_DMA_WRITE));
	assert_null(card(AT + P, P, TP_DMA_READ));
	assert_int_equal(mappings(), 2);
	assert_int_equal(map(ro, AT + 2 * P, P, 2 * P, VFU_DMA_F_READ), 0);
	assert_int_equal(mappings(), 2);
	*card(AT + P, 1, TP_DMA_WRITE) = 0x77;
	close(ro);
	close(wo);
}

static void
a_file_that_grows_is_mapped_again(void **state)
{
	int fd = make_file(2), another = make_file(2);
	uint8_t m = mark(2);

	(void)state;
	assert_int_equal(map(fd, AT, P, 0, RW), 0);
	assert_int_equal(map(fd, AT + P, 2 * P, P, RW), -EINVAL);
	assert_int_equal(ftruncate(fd, 3 * P), 0);
	assert_int_equal(pwrite(fd, &m, 1, 2 * P), 1);
	assert_int_equal(map(fd, AT + P, 2 * P, P, RW), 0);
	assert_page(AT, 0);
	assert_page(AT + 2 * P, 2);
	assert_int_equal(mappings(), 2);
	/* A file of the same size is another one. */
	m = 0xee;
	assert_int_equal(pwrite(another, &m, 1, 0), 1);
	assert_int_equal(map(another, AT + 4 * P, P, 0, RW), 0);
	assert_int_equal(*card(AT + 4 * P, P, TP_DMA_READ), 0xee);
	assert_int_equal(mappings(), 3);
	/* With its last window a mapping goes, and no sooner. */
	assert_int_equal(map(fd, AT + 5 * P, P, 2 * P, RW), 0);
	assert_int_equal(unmap(AT + P, 2 * P, 0), 0);
	assert_int_equal(mappings(), 3);
	assert_int_equal(unmap(AT, P, 0), 0);
	assert_int_equal(unmap(AT + 4 * P, P, 0), 0);
	assert_page(AT + 5 * P, 2);
	assert_int_equal(mappings(), 1);
	assert_int_equal(unmap(AT + 5 * P, P, 0), 0);
	assert_int_equal(mappings(), 0);
	close(fd);
	close(another);
}

static void
ranges_are_closed_whole(void **state)
{
	static const struct {
		uint64_t iova, size;
		uint32_t flags;
		int rc;
		unsigned int left; /* bit n: window n is there */
	} steps[] = {
		{AT, 0, 0, -EINVAL, 0xf},
		{AT + 1, P, 0, -EINVAL, 0xf},
		{AT, P + 1, 0, -EINVAL, 0xf},
		{UINT64_MAX - P + 1, 2 * P, 0, -EINVAL, 0xf},
		{AT, P, 4, -EINVAL, 0xf},
		{AT, 0, VFU_DMA_UNMAP_F_ALL, -EINVAL, 0xf},
		{0, P, VFU_DMA_UNMAP_F_ALL, -EINVAL, 0xf},
		{AT, P, 0, -EINVAL, 0xf},         /* its first half */
		{AT + P, P, 0, -EINVAL, 0xf},     /* its second half */
		{AT - P, 2 * P, 0, -EINVAL, 0xf}, /* and what is before */
		{AT, 4 * P, 0, -EINVAL, 0xf},     /* one, and half of the next */
		{AT + 2 * P, P, 0, 0, 0xf},       /* nothing is there */
		{AT + 3 * P, 4 * P, 0, 0, 0x9},   /* two, and what is behind them */
		{AT + 3 * P, 4 * P, 0, 0, 0x9},   /* again */
		{AT + 8 * P, 8 * P, 0, 0, 0x1},   /* more than there is */
		{0, UINT64_MAX - P + 1, 0, 0, 0}, /* nearly everything */
		{0, 0, VFU_DMA_UNMAP_F_ALL, 0, 0},
	};
	static const uint64_t at[] = {AT, AT + 3 * P, AT + 5 * P, AT + 8 * P};

	(void)state;
	for (unsigned int n = 0; n < 4; n++)
		assert_int_equal(map(file, at[n], n == 0 || n == 1 ? 2 * P : P, n * P, RW), 0);
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_int_equal(unmap(steps[i].iova, steps[i].size, steps[i].flags), steps[i].rc);
		for (unsigned int n = 0; n < 4; n++) {
			if ((steps[i].left >> n & 1) != 0)
				assert_page(at[n], n);
			else
				assert_null(card(at[n], 1, TP_DMA_READ));
		}
		assert_int_equal(mappings(), steps[i].left != 0);
	}
}

/* A file that is cut short ends its client, and no one else. */
static void
lost_files(void **state)
{
	int fd = make_file(2), status;
	volatile uint8_t *p;
	pid_t pid;

	/* cmocka has put its own handler in front of that of the setup. */
	(void)down(state);
	(void)up(state);
	assert_int_equal(map(fd, AT, 2 * P, 0, RW), 0);
	assert_int_equal(map(file, AT + 2 * P, P, 5 * P, RW), 0);
	p = card(AT, 2 * P, TP_DMA_READ);
	assert_false(vfu_dma_lost(&server));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(p[2 * P - 1], 0);
	assert_int_equal(p[0], 0);
	assert_true(vfu_dma_lost(&server));
	assert_false(vfu_dma_lost(&server));
	assert_page(AT + 2 * P, 5);
	/* Memory of others is not its business: the access ends the process, as it does without a server. */
	pid = fork();
	if (pid == 0) {
		int own = memfd_create("own", 0);
		volatile uint8_t *q;

		if (ftruncate(own, P) != 0)
			_exit(1);
		q = mmap(NULL, P, PROT_READ, MAP_SHARED, own, 0);
		if (ftruncate(own, 0) != 0)
			_exit(1);
		_exit(q[0]);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	close(fd);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(windows_show_the_file),
		T(wrong_requests),
		T(windows_do_not_overlap),
		T(rights_of_windows_and_files),
		T(a_file_that_grows_is_mapped_again),
		T(ranges_are_closed_whole),
		T(lost_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
