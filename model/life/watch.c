/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Doorbells that wake a sleeping card. They are stores into memory, which tell nobody. So before the card's thread sleeps, the
 * pages that it polls are write-protected where software writes them (userfaultfd): the first store stops, tells the thread, and
 * goes on when the thread took the protection away. A card that is awake has no protected page. What other processes write, and
 * pages that were taken into use since, is seen when the sleep ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "life.h"

static int
protect(struct tp_model *m, uint32_t first, uint32_t end, bool on)
{
	/* Doorbells, then the BlueFlame registers of the same pages. */
	for (uint32_t half = 0; half < 2; half++) {
		struct uffdio_writeprotect wp = {
			.range = {.start = (uintptr_t)m->watch.uar + (half * TPM_NUM_UARS + first) * MLX4_UAR_PAGE_SIZE,
				  .len = (uint64_t)(end - first) * MLX4_UAR_PAGE_SIZE},
			.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0};

		if (ioctl(m->watch.fd, UFFDIO_WRITEPROTECT, &wp) != 0)
			return -errno;
	}
	return 0;
}

static void
unregister(struct tp_model *m)
{
	struct uffdio_range r = {.start = (uintptr_t)m->watch.uar, .len = TPM_BAR2_SIZE};

	/* Takes each protection away; it wakes nobody who waits at a page that is protected, but not missing. */
	ioctl(m->watch.fd, UFFDIO_UNREGISTER, &r);
	ioctl(m->watch.fd, UFFDIO_WAKE, &r);
}

int
tp_model_watch(struct tp_model *m, void *uar)
{
	struct uffdio_api api = {.api = UFFD_API,
				 .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
	struct uffdio_register reg = {.range = {.start = (uintptr_t)uar, .len = TPM_BAR2_SIZE},
				      .mode = UFFDIO_REGISTER_MODE_WP};
	int rc = 0;

	if (atomic_load(&m->thread_on) || m->watch.fd >= 0)
		return -EBUSY;
	/* Stores of programs only: for these no privilege is needed. */
	m->watch.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (m->watch.fd < 0)
		return -errno;
	if (ioctl(m->watch.fd, UFFDIO_API, &api) != 0 || ioctl(m->watch.fd, UFFDIO_REGISTER, &reg) != 0)
		rc = -errno;
	if (rc != 0) {
		close(m->watch.fd);
		m->watch.fd = -1;
		return rc;
	}
	m->watch.uar = uar;
	atomic_store(&m->watch.on, true);
	return 0;
}

void
tp_model_unwatch(struct tp_model *m)
{
	if (atomic_exchange(&m->watch.on, false))
		unregister(m);
}

/* The watch's lock is held. */
static bool
disarm(struct tp_model *m)
{
	if (!atomic_exchange(&m->watch.armed, false))
		return false;
	/* No protection is left behind whatever happens. */
	if (protect(m, m->watch.first, m->watch.end, false) != 0 && atomic_exchange(&m->watch.on, false))
		unregister(m);
	return true;
}

/* Likewise. */
static bool
arm(struct tp_model *m, uint32_t first, uint32_t end)
{
	if (m->watch.armed && first >= m->watch.first && end <= m->watch.end)
		return false;
	disarm(m);
	if (first == end)
		return false;
	if (protect(m, first, end, true) != 0) {
		tp_model_unwatch(m);
		return false;
	}
	m->watch.first = first;
	m->watch.end = end;
	m->watch.armed = true;
	return true;
}

bool
tpm_watch_arm(struct tp_model *m)
{
	uint32_t first = 0, end = 0;
	bool done;

	if (!atomic_load(&m->watch.on))
		return false;
	tpm_lock(&m->lock);
	if (m->uar_count != 0) {
		first = m->uar_list[0];
		end = m->uar_list[m->uar_count - 1] + 1;
	}
	tpm_unlock(&m->lock);
	tpm_lock(&m->watch.lock);
	done = arm(m, first, end);
	tpm_unlock(&m->watch.lock);
	if (done)
		atomic_fetch_add_explicit(&m->watch.arms, 1, memory_order_relaxed);
	return done;
}

/* Who sees that another one takes the protection away does not wait for it; who protects again does. */
bool
tpm_watch_disarm(struct tp_model *m)
{
	bool done;

	if (!atomic_load(&m->watch.armed))
		return false;
	tpm_lock(&m->watch.lock);
	done = disarm(m);
	tpm_unlock(&m->watch.lock);
	return done;
}

void
tpm_watch_take(struct tp_model *m)
{
	struct uffd_msg msg;
	bool any = false;

	while (read(m->watch.fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg)) {
		/* A store may stop when the protection that it met is away already: nothing else would wake it. */
		struct uffdio_writeprotect wp = {
			.range = {.start = msg.arg.pagefault.address / MLX4_UAR_PAGE_SIZE * MLX4_UAR_PAGE_SIZE,
				  .len = MLX4_UAR_PAGE_SIZE}};

		ioctl(m->watch.fd, UFFDIO_WRITEPROTECT, &wp);
		any = true;
	}
	if (any)
		atomic_fetch_add_explicit(&m->watch.wakes, 1, memory_order_relaxed);
	tpm_watch_disarm(m);
}

void
tpm_watch_fini(struct tp_model *m)
{
	tp_model_unwatch(m);
	if (m->watch.fd >= 0)
		close(m->watch.fd);
}
