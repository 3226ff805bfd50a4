/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What processes have in common: doorbell pages at one address, bursts whose process dies. The rest is a system test. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/mlx4/port/handover.h"
#include "rig.h"
#include "drivers/mlx4/bus/uar_map.h"
#include "drivers/mlx4/port/share.h"

#define LEN 65536u

/* What lies in memory of two processes. */
struct common {
	void *busy;
	int32_t poller;
	int ready;
};

static int
file_of(size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	return fd;
}

/* Another process maps the same pages at the same address and sees what is written; not where something else is. */
static void
test_pages_at_one_address(void **state)
{
	int fd = file_of(LEN), status;
	uint32_t *pages = mlx4_uar_map(fd, 0, LEN);
	pid_t child;

	assert_non_null(pages);
	pages[3] = 0x15b3;
	assert_int_equal(mlx4_uar_map_at(fd, 0, LEN, pages), -EEXIST);
	assert_int_equal(pages[3], 0x15b3);
	child = fork();
	if (child == 0) {
		if (munmap(pages, LEN) != 0 || mlx4_uar_map_at(fd, 0, LEN, pages) != 0 || pages[3] != 0x15b3)
			_exit(1);
		pages[4] = 0x1003;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(pages[4], 0x1003);
	munmap(pages, LEN);
	close(fd);
}

/* Two cards have pages beside each other. */
static void
test_pages_of_two_files(void **state)
{
	int a = file_of(LEN), b = file_of(LEN);
	uint32_t *first = mlx4_uar_map(a, 0, LEN), *second = mlx4_uar_map(b, 0, LEN);

	assert_non_null(first);
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	first[0] = 1;
	assert_int_equal(second[0], 0);
	munmap(first, LEN);
	munmap(second, LEN);
	close(a);
	close(b);
}

/* A process in a burst: it ends the burst when it is told to, or dies in it. */
static pid_t
poller(struct common *c, void *list)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	__atomic_store_n(&c->poller, (int32_t)getpid(), __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->busy, list, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&c->ready, __ATOMIC_SEQ_CST) == 1)
		usleep(1000);
	usleep(20000);
	__atomic_store_n(&c->busy, NULL, __ATOMIC_SEQ_CST);
	pause();
	_exit(0);
}

static void
test_burst_waited_for(void **state)
{
	struct common *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int list, status;
	pid_t child;

	assert_ptr_not_equal(c, MAP_FAILED);
	child = poller(c, &list);
	while (__atomic_load_n(&c->ready, __ATOMIC_SEQ_CST) == 0)
		usleep(1000);
	/* It lives: its burst is waited for. */
	__atomic_store_n(&c->ready, 2, __ATOMIC_SEQ_CST);
	mlx4_burst_wait(&c->busy, &list, &c->poller);
	assert_null(c->busy);
	/* It dies in a burst, which never ends. */
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	c->busy = &list;
	mlx4_burst_wait(&c->busy, &list, &c->poller);
	assert_ptr_equal(c->busy, &list);
	munmap(c, sizeof(*c));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_at_one_address),
		cmocka_unit_test(test_pages_of_two_files),
		cmocka_unit_test(test_burst_waited_for),
	};

	if (rig_eal("mlx4sec", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
