/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The thread that writes a file, and the same for what is in memory. Packets of several queues, and times of two clocks, come out
 * of order: they are sorted while they wait a moment, where the ring has room for that.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_priv.h"

#define IDLE_US 1000
#define WAIT_NS UINT64_C(20000000) /* that a packet is waited for which has an earlier time */

struct cap_pending {
	uint64_t ns, pos;
	struct cap_slot *s;
};

static int
earlier(const void *a, const void *b)
{
	const struct cap_pending *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

static uint64_t
time_of(struct cap_clock *clock, const struct cap_slot *s)
{
	/* The port was told to stamp packets after the capture began. */
	if (s->card && !clock->card)
		cap_clock_init(clock, clock->port, true);
	return cap_clock_ns(clock, s);
}

/* What has come since the last time. */
static uint32_t
gather(struct tp_capture *c)
{
	const uint32_t had = c->num_pending;
	struct cap_pending *p;
	bool sorted = true;

	while (c->num_pending < c->ring.count) {
		p = &c->pending[c->num_pending];
		p->s = cap_ring_next(&c->ring, &p->pos);
		if (p->s == NULL)
			break;
		p->ns = time_of(&c->clock, p->s);
		sorted &= c->num_pending == 0 || earlier(p - 1, p) < 0;
		c->num_pending++;
	}
	if (!sorted)
		qsort(c->pending, c->num_pending, sizeof(*c->pending), earlier);
	return c->num_pending - had;
}

/* Packets up to a time. */
static void
write_until(struct tp_capture *c, uint64_t ns)
{
	uint32_t i;

	for (i = 0; i < c->num_pending && c->pending[i].ns <= ns; i++) {
		cap_file_packet(&c->file, c->pending[i].s, c->pending[i].ns);
		cap_ring_give(&c->ring, c->pending[i].s, c->pending[i].pos);
	}
	c->num_pending -= i;
	memmove(c->pending, c->pending + i, c->num_pending * sizeof(*c->pending));
}

static void
look_at_file(struct tp_capture *c)
{
	if (c->file.error == 0 || c->failed)
		return;
	__atomic_store_n(&c->failed, true, __ATOMIC_RELEASE);
	CAP_LOG(ERR, "port %u: %s: %s; the capture writes no more packets\n", c->port, c->conf.file,
		strerror(c->file.error));
}

static void *
writer(void *arg)
{
	struct tp_capture *c = arg;
	uint64_t now;
	bool stop;

	do {
		/* Asked for before the ring is looked at: what is in it then is written. */
		stop = __atomic_load_n(&c->stop, __ATOMIC_ACQUIRE);
		cap_clock_tick(&c->clock);
		now = cap_clock_now(&c->clock);
		const uint32_t came = gather(c);

		write_until(c, stop || c->num_pending >= c->ring.count / 2 ? UINT64_MAX : now - WAIT_NS);
		if (came != 0 && !stop)
			continue;
		cap_file_flush(&c->file);
		look_at_file(c);
		if (!stop)
			usleep(IDLE_US);
	} while (!stop);
	return NULL;
}

/* Also of a full disk: the last blocks gave their room back. */
static void
finish(struct cap_file *f, const struct cap_clock *clock, uint64_t began, const struct tp_capture_stats *st)
{
	const int error = f->error;

	f->error = 0;
	cap_file_stats(f, began, cap_clock_now(clock), st);
	cap_file_flush(f);
	f->error = error != 0 ? error : f->error;
}

int
cap_writer_start(struct tp_capture *c)
{
	sigset_t all, was;
	int ret;

	c->pending = calloc(c->ring.count, sizeof(*c->pending));
	if (c->pending == NULL)
		return -ENOMEM;
	c->began = cap_clock_now(&c->clock);
	/* Signals are the program's, and a pipe that is closed is an error like others. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	ret = pthread_create(&c->writer, NULL, writer, c);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	c->has_writer = ret == 0;
	if (ret == 0)
		(void)pthread_setname_np(c->writer, "capture");
	return -ret;
}

void
cap_writer_stop(struct tp_capture *c)
{
	struct tp_capture_stats st;

	if (c->has_writer) {
		__atomic_store_n(&c->stop, true, __ATOMIC_RELEASE);
		pthread_join(c->writer, NULL);
		c->has_writer = false;
		cap_stats(c, &st);
		finish(&c->file, &c->clock, c->began, &st);
	}
	free(c->pending);
	c->pending = NULL;
}

uint64_t
cap_write_memory(struct tp_capture *c, struct cap_file *f)
{
	const uint64_t head = __atomic_load_n(&c->ring.head, __ATOMIC_ACQUIRE);
	uint64_t pos = head > c->ring.count ? head - c->ring.count : 0;
	struct cap_pending *p = calloc(c->ring.count, sizeof(*p));
	uint8_t *copies = malloc(c->ring.stride * c->ring.count);
	struct tp_capture_stats st;
	uint32_t n = 0, i;

	for (; p != NULL && copies != NULL && pos < head; pos++) {
		p[n].s = (struct cap_slot *)(void *)(copies + n * c->ring.stride);
		if (!cap_ring_peek(&c->ring, pos, p[n].s))
			continue;
		p[n].ns = time_of(&c->clock, p[n].s);
		p[n].pos = pos;
		n++;
	}
	if (p == NULL || copies == NULL)
		f->error = ENOMEM;
	else
		qsort(p, n, sizeof(*p), earlier);
	for (i = 0; i < n; i++)
		cap_file_packet(f, p[i].s, p[i].ns);
	cap_file_flush(f);
	cap_stats(c, &st);
	st.packets = f->packets;
	finish(f, &c->clock, c->began, &st);
	free(copies);
	free(p);
	return f->packets;
}
