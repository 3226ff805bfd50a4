/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The thread of a port's service: it polls, and sleeps a little when nothing comes. */
#include "service_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/thread/ctrl_thread.h"

#define ROUNDS 256 /* without work, before it sleeps */
#define SLEEP_US 100

static void
events(struct tp_mad_service *s)
{
	struct ibv_async_event ev;

	while (tp_roce_get_async_event(s->ctx, &ev) == 0) {
		tp_mad_lock(s->mad);
		s->fresh_until = 0;
		tp_sa_event(s->sa, ev.event_type);
		/* From the last one: who takes himself away has the last one's place taken by one that was told. */
		for (unsigned int i = s->num_listeners; i-- > 0;)
			s->listener[i].cb(s->listener[i].arg, &ev);
		tp_mad_unlock(s->mad);
		tp_roce_ack_async_event(&ev);
	}
}

static ctrl_thread_end
run(void *arg)
{
	struct tp_mad_service *s = arg;
	unsigned int idle = 0, rounds = 0;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		unsigned int done = tp_roce_progress(s->ctx);

		done += mad_service_progress(s);
		idle = done != 0 ? 0 : idle + 1;
		/* To look for events is a system call. */
		if (++rounds % ROUNDS == 0)
			events(s);
		if (idle >= ROUNDS) {
			events(s);
			usleep(SLEEP_US);
		}
	}
	return (ctrl_thread_end)0;
}

static int
open_one(const char *device, struct tp_mad_service **service)
{
	struct ibv_context *ctx = tp_roce_open_ib(device, NULL);
	struct tp_mad_service *s;
	int err;

	if (ctx == NULL)
		return errno != 0 ? -errno : -EIO;
	(void)fcntl(ctx->async_fd, F_SETFL, fcntl(ctx->async_fd, F_GETFL) | O_NONBLOCK);
	err = mad_service_new(ctx, &s);
	if (err == 0) {
		err = -ctrl_thread_create(&s->tid, "tp-mad", run, s);
		if (err != 0)
			mad_service_free(s);
	}
	if (err != 0)
		(void)tp_roce_close_device(ctx);
	else
		*service = s;
	return err;
}

int
tp_mad_service_open(const char *device, struct tp_mad_service **service)
{
	int err = 0;

	mad_services_lock();
	*service = mad_service_find(device);
	if (*service != NULL)
		(*service)->refs++;
	else
		err = open_one(device, service);
	mad_services_unlock();
	return err;
}

void
tp_mad_service_close(struct tp_mad_service *s)
{
	struct ibv_context *ctx = s->ctx;

	mad_services_lock();
	if (--s->refs == 0) {
		atomic_store(&s->stop, true);
		pthread_join(s->tid, NULL);
		mad_service_free(s);
		(void)tp_roce_close_device(ctx);
	}
	mad_services_unlock();
}

int
tp_mad_service_listen(struct tp_mad_service *s, tp_mad_event_cb cb, void *arg)
{
	int err = 0;

	tp_mad_lock(s->mad);
	if (s->num_listeners == TP_MAD_LISTENERS)
		err = -ENOSPC;
	else
		s->listener[s->num_listeners++] = (struct mad_listener){.cb = cb, .arg = arg};
	tp_mad_unlock(s->mad);
	return err;
}

void
tp_mad_service_unlisten(struct tp_mad_service *s, tp_mad_event_cb cb, const void *arg)
{
	tp_mad_lock(s->mad);
	for (unsigned int i = 0; i < s->num_listeners; i++) {
		if (s->listener[i].cb != cb || s->listener[i].arg != arg)
			continue;
		s->listener[i] = s->listener[--s->num_listeners];
		break;
	}
	tp_mad_unlock(s->mad);
}
