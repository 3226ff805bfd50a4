/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * verbs_resize DEVICE DEVICE GID_INDEX: completion queues get other sizes while two threads use them: one sends and polls, the
 * other receives and sleeps until the next event. Each completion comes once, in order. It is linked with Debian's libibverbs and
 * knows nothing of the libraries here.
 */
#include <limits.h>
#include <poll.h>
#include <pthread.h>

#include "verbs_ends.h"

#define RESIZES 200u
#define LEN 32u

static bool stop; /* no more sizes */
static uint32_t sent, received, last = UINT32_MAX;

static struct ibv_cq *
cq_of(const struct end *e)
{
	return ibv_cq_ex_to_cq(e->cq);
}

static void
post_send(struct end *e, uint32_t id)
{
	uint8_t *mem = e->mem + id % DEPTH * LEN;
	struct ibv_sge sge = {(uintptr_t)mem, LEN, e->mr->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};

	memcpy(mem, &id, sizeof(id));
	done(ibv_post_send(e->rc, &wr, &bad), "post_send");
}

static void
receive(struct end *e, uint32_t id)
{
	post_recv(e, e->rc, id % DEPTH * LEN, LEN, id);
}

/* Polled in its turn; NULL, or what is wrong. */
static const char *
next_is(struct end *e, uint32_t id)
{
	static char text[80];
	struct ibv_wc wc;

	if (!completes(cq_of(e), &wc))
		return "no completion";
	if (wc.status == IBV_WC_SUCCESS && wc.wr_id == id)
		return NULL;
	snprintf(text, sizeof(text), "%s of %lu where %u was due", ibv_wc_status_str(wc.status),
		 (unsigned long)wc.wr_id, id);
	return text;
}

/* --- sizes that cannot be ---------------------------------------------------------------------------------------- */

static const char *
refused(struct end *a, struct end *b)
{
	static const int sizes[] = {0, -1, INT_MAX, INT_MIN, 1, 7};
	static char text[80];
	int was = cq_of(b)->cqe, err;

	for (uint32_t i = 0; i < 8; i++)
		receive(b, i);
	for (uint32_t i = 0; i < 8; i++)
		post_send(a, i);
	/* Who receives has its completion before the sender hears of it. */
	for (uint32_t i = 0; i < 8; i++) {
		const char *why = next_is(a, i);

		if (why != NULL)
			return why;
	}
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		err = ibv_resize_cq(cq_of(b), sizes[i]);
		snprintf(text, sizeof(text), "%d entries: %s", sizes[i], strerror(err));
		if (err != EINVAL)
			return text;
	}
	if (cq_of(b)->cqe != was)
		return "another size";
	for (uint32_t i = 0; i < 8; i++) {
		const char *why = next_is(b, i);

		if (why != NULL)
			return why;
	}
	return ibv_resize_cq(cq_of(b), was) == 0 && cq_of(b)->cqe == was ? NULL : "the size that it has";
}

/* --- under traffic ----------------------------------------------------------------------------------------------- */

static void *
send_all(void *arg)
{
	struct end *e = arg;
	uint32_t got = 0;
	const char *why = NULL;

	while (why == NULL && (!__atomic_load_n(&stop, __ATOMIC_RELAXED) || got != sent)) {
		while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) && sent - got < DEPTH &&
		       sent < __atomic_load_n(&received, __ATOMIC_ACQUIRE) + DEPTH)
			post_send(e, sent++);
		if (got != sent)
			why = next_is(e, got++);
	}
	return (void *)(uintptr_t)why;
}

static const char *
take(struct end *e, const struct ibv_wc *wc)
{
	uint32_t id;

	memcpy(&id, e->mem + received % DEPTH * LEN, sizeof(id));
	if (wc->status != IBV_WC_SUCCESS)
		return ibv_wc_status_str(wc->status);
	if (wc->wr_id != received || id != received)
		return wc->wr_id > received ? "a completion is lost" : "a completion comes again";
	receive(e, received + DEPTH);
	__atomic_store_n(&received, received + 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Until nothing is there, which is the truth once the queue is armed. */
static const char *
take_all(struct end *e)
{
	struct ibv_wc wc[3];
	const char *why = NULL;
	int n;

	while (why == NULL && (n = ibv_poll_cq(cq_of(e), 3, wc)) > 0)
		for (int i = 0; i < n && why == NULL; i++)
			why = take(e, &wc[i]);
	return why;
}

/* Each event is followed by a look; who ends it sends one message more. */
static void *
receive_all(void *arg)
{
	struct end *e = arg;
	struct pollfd fd = {.fd = e->channel->fd, .events = POLLIN};
	const char *why = NULL;

	for (;;) {
		struct ibv_cq *cq;
		void *context;

		done(ibv_req_notify_cq(cq_of(e), 0), "req_notify_cq");
		why = take_all(e);
		if (why != NULL || received == __atomic_load_n(&last, __ATOMIC_ACQUIRE))
			break;
		if (poll(&fd, 1, LIMIT_S * 1000) != 1) {
			why = "no event";
			break;
		}
		done(ibv_get_cq_event(e->channel, &cq, &context), "get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
	return (void *)(uintptr_t)why;
}

/* Sizes that have room for all that may wait; each is granted. */
static const char *
resize(struct end *e, unsigned int i)
{
	static const int sizes[] = {2 * DEPTH, 1000, 4 * DEPTH, 100, 8192, 3 * DEPTH};
	int size = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))], err = ibv_resize_cq(cq_of(e), size);

	if (err != 0)
		return strerror(err);
	return cq_of(e)->cqe >= size ? NULL : "fewer entries than were asked for";
}

static const char *
traffic(struct end *a, struct end *b)
{
	const char *why = NULL, *whys, *whyr;
	void *end_of;
	uint32_t between = 0;
	pthread_t s, r;

	for (uint32_t i = 0; i < DEPTH; i++)
		receive(b, i);
	done(pthread_create(&s, NULL, send_all, a), "thread");
	done(pthread_create(&r, NULL, receive_all, b), "thread");
	for (unsigned int i = 0; i < RESIZES && why == NULL; i++) {
		uint32_t before = __atomic_load_n(&received, __ATOMIC_RELAXED);
		time_t end = time(NULL) + LIMIT_S;

		why = resize(i % 2 == 0 ? a : b, i / 2);
		/* Some go through each ring. */
		while (why == NULL && (between = __atomic_load_n(&received, __ATOMIC_RELAXED) - before) < 5 * DEPTH)
			why = time(NULL) > end ? "nothing comes any more" : NULL;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	done(pthread_join(s, &end_of), "join");
	whys = end_of;
	/* The last one wakes who sleeps. */
	__atomic_store_n(&last, sent + 1, __ATOMIC_RELEASE);
	if (whys == NULL) {
		post_send(a, sent);
		whys = next_is(a, sent);
	}
	done(pthread_join(r, &end_of), "join");
	whyr = end_of;
	if (why == NULL)
		why = whys != NULL ? whys : whyr;
	if (why == NULL && (!is_idle(a) || !is_idle(b)))
		why = "a completion more than was sent";
	return why;
}

int
main(int argc, char **argv)
{
	struct end a = {0}, b = {.events = true};

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_end(&a, argv[1], atoi(argv[3]), 0);
	open_end(&b, argv[2], atoi(argv[3]), 0);
	rc_up(&a, &b);
	rc_up(&b, &a);
	say("refused", refused(&a, &b));
	say("traffic", traffic(&a, &b));
	close_end(&a);
	close_end(&b);
	say("closed", NULL);
	return failed != 0;
}
