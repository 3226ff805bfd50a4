/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The socket that guests call at. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/roce/net/net.h"

#include "share_priv.h"

#define BACKLOG 64
#define AGAIN_MS 100

/* --- guests --- */

static int
start_thread(struct share_guest *s)
{
	pthread_t thread;
	char name[16];

	snprintf(name, sizeof(name), "share-%d", s->pid);
	return ctrl_thread_create(&thread, name, share_guest_main, s);
}

static _Atomic uint64_t ids = 1;

static int
take(struct tp_share *h, int fd)
{
	struct share_guest *s = calloc(1, sizeof(*s));
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);
	int err;

	if (s == NULL)
		return ENOMEM;
	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	s->share = h;
	s->fd = fd;
	s->pid = cred.pid;
	s->uid = (int)cred.uid;
	s->gid = (int)cred.gid;
	s->async_fd = s->vector_fd = -1;
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = s->wake < 0 ? errno : share_fd_room(s, s->wake);
	if (err != 0) {
		if (s->wake >= 0)
			close(s->wake);
		free(s);
		return err;
	}
	pthread_mutex_init(&s->arena, NULL);
	/* The thread of one that leaves at once may not end before who makes it is done with it: it needs this lock for that. */
	pthread_mutex_lock(&h->lock);
	err = h->num_guests < atomic_load(&h->limit[TP_SHARE_CONNECTIONS]) ? 0 : EUSERS;
	if (err == 0) {
		s->id = atomic_fetch_add(&ids, 1);
		err = start_thread(s);
	}
	if (err == 0) {
		TAILQ_INSERT_TAIL(&h->guests, s, next);
		h->num_guests++;
		h->stats.connected++;
	}
	pthread_mutex_unlock(&h->lock);
	if (err == 0)
		return 0;
	pthread_mutex_destroy(&s->arena);
	close(s->wake);
	free(s);
	return err;
}

/* Its first question is answered before it is asked. */
static void
turn_away(struct tp_share *h, int fd, int err)
{
	const struct share_msg m = {.op = SHARE_HELLO, .err = err, .hello = {.version = SHARE_VERSION}};
	struct troce_talk begun = share_talk_begin(&h->say);
	unsigned int guests;
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);
	char unread;

	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	pthread_mutex_lock(&h->lock);
	h->stats.refused++;
	guests = h->num_guests;
	pthread_mutex_unlock(&h->lock);
	if (err == EUSERS)
		atomic_fetch_add(&h->limited[TP_SHARE_CONNECTIONS], 1);
	TROCE_LOG(ERR, "%s: process %d of user %u is turned away: %s (%u connections of %" PRIu64 ")", h->addr.sun_path,
		  cred.pid, cred.uid, strerror(err), guests, atomic_load(&h->limit[TP_SHARE_CONNECTIONS]));
	share_talk_end(&h->say, begun, true);
	/* Who closes a socket with something unread in it takes its own words back. */
	(void)shutdown(fd, SHUT_RD);
	while (recv(fd, &unread, sizeof(unread), MSG_DONTWAIT) > 0)
		;
	(void)send(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

/* False: who calls cannot be taken now, whoever it is. */
static bool
accept_one(struct tp_share *h)
{
	int fd = accept4(h->fd, NULL, NULL, SOCK_CLOEXEC), err;

	if (fd < 0)
		return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS;
	err = take(h, fd);
	if (err != 0)
		turn_away(h, fd, err);
	return true;
}

static ctrl_thread_end
listen_main(void *arg)
{
	struct tp_share *h = arg;

	for (;;) {
		struct pollfd fds[2] = {{.fd = h->fd, .events = POLLIN}, {.fd = h->stop, .events = POLLIN}};

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents != 0)
			return 0;
		/* The process has no descriptor left: it is looked again, but not all the time. */
		if (!accept_one(h))
			(void)poll(&fds[1], 1, AGAIN_MS);
	}
}

/* --- life --- */

static int
conf_init(struct tp_share *h, struct tp_share_conf *c)
{
	int rc = share_limits_check(c);

	if (rc != 0)
		return rc;
	share_limits_set(h, c);
	c->path = c->path != NULL ? c->path : TP_SHARE_PATH;
	if (strlen(c->path) >= sizeof(h->addr.sun_path)) {
		TROCE_LOG(ERR, "share: socket '%s' has more than %zu characters", c->path,
			  sizeof(h->addr.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	h->addr.sun_family = AF_UNIX;
	memcpy(h->addr.sun_path, c->path, strlen(c->path));
	return 0;
}

/* A socket whose owner is gone is nobody's. */
static int
clear(const struct tp_share *h)
{
	const struct sockaddr *sa = (const void *)&h->addr;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool served = fd >= 0 && connect(fd, sa, sizeof(h->addr)) == 0;
	struct stat st;

	if (fd >= 0)
		close(fd);
	if (served)
		return -EADDRINUSE;
	if (lstat(h->addr.sun_path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if ((st.st_mode & S_IFMT) != S_IFSOCK)
		return -EEXIST;
	return unlink(h->addr.sun_path) == 0 ? 0 : -errno;
}

/* The folder of the socket that everybody knows. */
static void
folder(const struct tp_share *h)
{
	static const char dir[] = "/run/triplane";

	if (strncmp(h->addr.sun_path, dir, sizeof(dir) - 1) == 0 && h->addr.sun_path[sizeof(dir) - 1] == '/')
		(void)mkdir(dir, 0755);
}

static int
serve(struct tp_share *h, const struct tp_share_conf *conf)
{
	int rc;

	folder(h);
	rc = clear(h);
	if (rc != 0)
		return rc;
	h->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	h->stop = eventfd(0, EFD_CLOEXEC);
	if (h->fd < 0 || h->stop < 0 || bind(h->fd, (const void *)&h->addr, sizeof(h->addr)) != 0)
		return -errno;
	/* Nobody calls before it is said who may. */
	rc = share_door(h, conf);
	if (rc == 0 && listen(h->fd, BACKLOG) != 0)
		rc = -errno;
	if (rc != 0) {
		unlink(h->addr.sun_path);
		return rc;
	}
	rc = -ctrl_thread_create(&h->listener, "share", listen_main, h);
	if (rc != 0)
		unlink(h->addr.sun_path);
	return rc;
}

static void
share_free(struct tp_share *h)
{
	if (h->fd >= 0)
		close(h->fd);
	if (h->stop >= 0)
		close(h->stop);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->gone);
	free(h);
}

#define NO_PAGES "its card has no page of doorbells for each program alone"

/* Who looks for a port in vain finds why. */
static void
say_what_cannot(struct troce_dev *dev, void *arg)
{
	struct troce_view_uars v;

	(void)arg;
	if (share_can(dev, &v) != EOPNOTSUPP)
		return;
	if (dev->ib != NULL)
		TROCE_LOG(WARNING, "%s: not shared: " NO_PAGES, dev->where);
	else
		TROCE_LOG(WARNING, "%s, %s: not shared: " NO_PAGES "; RoCE in software is shared ('roce %u on v2 sw')",
			  dev->where, dev->vctx.context.device->name, dev->port_id);
}

int
tp_share_start(const struct tp_share_conf *conf, struct tp_share **share)
{
	struct tp_share *h = calloc(1, sizeof(*h));
	struct tp_share_conf c = conf == NULL ? (struct tp_share_conf){0} : *conf;
	int rc;

	if (h == NULL)
		return -ENOMEM;
	h->fd = h->stop = -1;
	h->group = -1;
	TAILQ_INIT(&h->guests);
	share_say_init(&h->say);
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->gone, NULL);
	rc = conf_init(h, &c);
	if (rc == 0)
		rc = serve(h, &c);
	if (rc != 0) {
		share_free(h);
		return rc;
	}
	share_tel_add(h);
	/* Whose programs are gone, or not there yet, tells those who call. */
	troce_refuse_tcp(true);
	troce_open_all(say_what_cannot, NULL);
	*share = h;
	return 0;
}

int
tp_share_change(struct tp_share *h, const struct tp_share_conf *conf)
{
	struct tp_share_conf c = *conf;
	int rc = share_limits_check(&c);

	if (rc == 0)
		rc = share_door(h, &c);
	if (rc == 0)
		share_limits_set(h, &c);
	return rc;
}

void
tp_share_stop(struct tp_share *h)
{
	const uint64_t one = 1;
	struct share_guest *s;

	if (h == NULL)
		return;
	share_tel_del(h);
	troce_refuse_tcp(false);
	while (write(h->stop, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	(void)pthread_join(h->listener, NULL);
	pthread_mutex_lock(&h->lock);
	TAILQ_FOREACH(s, &h->guests, next)
	share_guest_leave(&s->g);
	while (!TAILQ_EMPTY(&h->guests))
		pthread_cond_wait(&h->gone, &h->lock);
	pthread_mutex_unlock(&h->lock);
	unlink(h->addr.sun_path);
	share_say_end(&h->say);
	share_free(h);
}

/* --- what there is --- */

void
tp_share_stats_get(struct tp_share *h, struct tp_share_stats *stats)
{
	struct share_guest *s;

	pthread_mutex_lock(&h->lock);
	*stats = h->stats;
	pthread_mutex_lock(&h->say.lock);
	stats->unsaid = h->say.unsaid_ever;
	pthread_mutex_unlock(&h->say.lock);
	for (unsigned int i = 0; i < TP_SHARE_LIMITS; i++)
		stats->limited[i] = atomic_load(&h->limited[i]);
	TAILQ_FOREACH(s, &h->guests, next)
	{
		stats->guests += s->dev != NULL;
		stats->ids += s->count[SHARE_ID];
		stats->calls += s->calls;
		stats->calls_per_s += share_rate(s);
		stats->failed += s->failed;
		stats->ring_bytes += s->ring_bytes;
		stats->region_bytes += s->region_bytes;
		for (unsigned int i = 0; i < SHARE_KINDS; i++)
			stats->objects += s->count[i];
	}
	pthread_mutex_unlock(&h->lock);
}

unsigned int
tp_share_guests_get(struct tp_share *h, struct tp_share_guest *guest, unsigned int max)
{
	unsigned int n = 0;
	struct share_guest *s;

	pthread_mutex_lock(&h->lock);
	TAILQ_FOREACH(s, &h->guests, next)
	{
		if (s->name[0] == '\0')
			continue;
		if (n < max) {
			guest[n] = (struct tp_share_guest){
				.pid = s->pid,
				.uid = (uid_t)s->uid,
				.gid = (gid_t)s->gid,
				.qps = s->count[SHARE_QP],
				.cqs = s->count[SHARE_CQ],
				.srqs = s->count[SHARE_SRQ],
				.mrs = s->count[SHARE_MR],
				.ids = s->count[SHARE_ID],
				.listening = s->listening,
				.ahs = s->count[SHARE_AH],
				.ring_bytes = s->ring_bytes,
				.region_bytes = s->region_bytes,
				.calls = s->calls,
				.failed = s->failed,
				.calls_per_s = share_rate(s),
			};
			memcpy(guest[n].device, s->name, sizeof(guest[n].device));
		}
		n++;
	}
	pthread_mutex_unlock(&h->lock);
	return n;
}
