/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The socket that programs connect to, and what they may ask on it. */
#include "umad_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/mad/agent/mad_fmt.h"

#define BACKLOG 16

/* --- programs that come and go ----------------------------------------------------------------------------------- */

static void
agent_free(struct umad_agent *a)
{
	if (a->agent != NULL)
		tp_mad_unregister(a->agent);
	a->agent = NULL;
}

static void
client_free(struct tp_umad *u, struct umad_client *c)
{
	for (unsigned int i = 0; i < TP_UMAD_AGENTS; i++)
		agent_free(&c->agent[i]);
	if (c->data_fd >= 0)
		close(c->data_fd);
	close(c->ask_fd);
	TAILQ_REMOVE(&u->clients, c, next);
	u->num_clients--;
	free(c);
}

static unsigned int
accept_client(struct tp_umad *u)
{
	int fd = accept4(u->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct umad_client *c;

	if (fd < 0)
		return 0;
	c = u->num_clients < TP_UMAD_CLIENTS ? calloc(1, sizeof(*c)) : NULL;
	if (c == NULL) {
		u->stats.refused++;
		close(fd);
		return 0;
	}
	c->umad = u;
	c->ask_fd = fd;
	c->data_fd = -1;
	for (uint32_t i = 0; i < TP_UMAD_AGENTS; i++) {
		c->agent[i].client = c;
		c->agent[i].id = i;
	}
	TAILQ_INSERT_TAIL(&u->clients, c, next);
	u->num_clients++;
	u->stats.clients++;
	return 1;
}

/* --- questions --------------------------------------------------------------------------------------------------- */

static int
list(struct tp_umad *u, struct umad_proto_answer *ans)
{
	for (unsigned int i = 0; i < u->num_ports && i < UMAD_PROTO_PORTS; i++)
		u->port[i].p.describe(u->port[i].p.arg, &ans->port[ans->num_ports++]);
	return 0;
}

static void
wide(int fd)
{
	int size = UMAD_PROTO_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) != 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int
open_port(struct umad_client *c, const struct umad_proto_request *q, int *theirs)
{
	struct tp_umad *u = c->umad;
	int fds[2];

	if (c->port != NULL)
		return -EBUSY;
	for (unsigned int i = 0; i < u->num_ports; i++) {
		struct lent_port *p = &u->port[i];

		if (strncmp(p->ca, q->ca, sizeof(p->ca)) != 0 || p->num != q->port)
			continue;
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
			return -errno;
		wide(fds[0]);
		wide(fds[1]);
		c->port = p;
		c->data_fd = fds[0];
		*theirs = fds[1];
		u->stats.opened++;
		return 0;
	}
	return -ENODEV;
}

static int
add_agent(struct umad_client *c, const struct umad_proto_request *q, uint32_t *id)
{
	struct tp_mad_agent_conf conf = {.qpn = mad_is_smp(q->mgmt_class) ? 0 : 1,
					 .mgmt_class = q->mgmt_class,
					 .class_version = q->class_version,
					 .methods = {q->methods[0], q->methods[1]},
					 .oui = q->oui,
					 .rmpp_version = q->flags != 0 ? 0 : q->rmpp_version,
					 .recv = umad_to_program};

	if (c->port == NULL || q->flags > 1)
		return -EINVAL;
	for (uint32_t i = 0; i < TP_UMAD_AGENTS; i++) {
		if (c->agent[i].agent != NULL)
			continue;
		conf.arg = &c->agent[i];
		*id = i;
		return tp_mad_register(c->port->p.mad, &conf, &c->agent[i].agent);
	}
	return -ENOSPC;
}

static int
remove_agent(struct umad_client *c, uint32_t id)
{
	if (id >= TP_UMAD_AGENTS || c->agent[id].agent == NULL)
		return -EINVAL;
	agent_free(&c->agent[id]);
	return 0;
}

/* The answer, and with it the other end of a connection. */
static bool
reply(struct umad_client *c, const struct umad_proto_answer *ans, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl = {{0}};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)ans, .iov_len = sizeof(*ans)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *h = &ctl.align;

		m.msg_control = ctl.buf;
		m.msg_controllen = sizeof(ctl.buf);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	}
	return sendmsg(c->ask_fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* One question. false: the program is gone, or does not speak as it should. */
static bool
question(struct umad_client *c, unsigned int *done)
{
	struct umad_proto_answer ans = {0};
	struct umad_proto_request q;
	ssize_t n = recv(c->ask_fd, &q, sizeof(q), MSG_DONTWAIT | MSG_TRUNC);
	int fd = -1;
	bool ok;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n != sizeof(q) || q.version != UMAD_PROTO_VERSION)
		return false;
	++*done;
	q.ca[sizeof(q.ca) - 1] = '\0';
	switch (q.op) {
	case UMAD_OP_PORTS: ans.err = list(c->umad, &ans); break;
	case UMAD_OP_OPEN: ans.err = open_port(c, &q, &fd); break;
	case UMAD_OP_REGISTER: ans.err = add_agent(c, &q, &ans.agent); break;
	case UMAD_OP_UNREGISTER: ans.err = remove_agent(c, q.agent); break;
	default: ans.err = -EOPNOTSUPP;
	}
	if (ans.err != 0)
		c->umad->stats.refused++;
	ok = reply(c, &ans, fd);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* --- the server -------------------------------------------------------------------------------------------------- */

int
umad_clear(const char *path, mode_t type)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if ((st.st_mode & S_IFMT) != type)
		return -EEXIST;
	return unlink(path) == 0 ? 0 : -errno;
}

/* A socket whose server is gone is nobody's. */
static bool
served(const struct sockaddr_un *sa)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool yes = fd >= 0 && connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0;

	if (fd >= 0)
		close(fd);
	return yes;
}

static int
bind_path(struct tp_umad *u)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int err;

	memcpy(sa.sun_path, u->path, sizeof(sa.sun_path));
	if (served(&sa))
		return -EADDRINUSE;
	err = umad_clear(u->path, S_IFSOCK);
	if (err != 0)
		return err;
	u->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (u->fd < 0)
		return -errno;
	if (bind(u->fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0 && listen(u->fd, BACKLOG) == 0)
		return 0;
	return -errno;
}

int
tp_umad_create(const char *path, struct tp_umad **out)
{
	struct tp_umad *u;
	int err;

	if (path == NULL || path[0] == '\0')
		return -EINVAL;
	if (strlen(path) >= sizeof(u->path))
		return -ENAMETOOLONG;
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return -ENOMEM;
	TAILQ_INIT(&u->clients);
	u->fd = -1;
	memcpy(u->path, path, strlen(path));
	u->buf = malloc(UMAD_PROTO_HEADER + TP_MAD_MESSAGE);
	err = u->buf == NULL ? -ENOMEM : bind_path(u);
	if (err == 0) {
		*out = u;
		return 0;
	}
	if (u->fd >= 0)
		close(u->fd);
	free(u->buf);
	free(u);
	return err;
}

void
tp_umad_destroy(struct tp_umad *u)
{
	if (u == NULL)
		return;
	while (!TAILQ_EMPTY(&u->clients))
		client_free(u, TAILQ_FIRST(&u->clients));
	for (unsigned int i = 0; i < u->num_ports; i++)
		umad_issm_close(&u->port[i]);
	close(u->fd);
	unlink(u->path);
	free(u->buf);
	free(u);
}

int
tp_umad_add(struct tp_umad *u, const struct tp_umad_port *port)
{
	struct tp_umad_desc desc = {{0}};
	struct lent_port *p = &u->port[u->num_ports];
	int err;

	if (u->num_ports == TP_UMAD_PORTS)
		return -ENOSPC;
	port->describe(port->arg, &desc);
	for (unsigned int i = 0; i < u->num_ports; i++) {
		if (strncmp(u->port[i].ca, desc.ca, sizeof(desc.ca)) == 0 && u->port[i].num == desc.port)
			return -EEXIST;
	}
	*p = (struct lent_port){.p = *port, .num = desc.port};
	memcpy(p->ca, desc.ca, sizeof(p->ca) - 1);
	err = umad_issm_open(u, p);
	if (err == 0)
		u->num_ports++;
	return err;
}

static void
wait_for_programs(struct tp_umad *u, unsigned int wait_us)
{
	struct timespec ts = {.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000};
	struct pollfd fds[1 + 2 * TP_UMAD_CLIENTS] = {{.fd = u->fd, .events = POLLIN}};
	struct umad_client *c;
	nfds_t n = 1;

	TAILQ_FOREACH(c, &u->clients, next)
	{
		fds[n++] = (struct pollfd){.fd = c->ask_fd, .events = POLLIN};
		fds[n++] = (struct pollfd){.fd = c->data_fd, .events = POLLIN};
	}
	(void)ppoll(fds, n, &ts, NULL);
}

unsigned int
tp_umad_progress(struct tp_umad *u, unsigned int wait_us)
{
	struct umad_client *c, *after;
	unsigned int done;

	if (wait_us != 0)
		wait_for_programs(u, wait_us);
	done = accept_client(u);
	for (c = TAILQ_FIRST(&u->clients); c != NULL; c = after) {
		bool stays = question(c, &done);

		if (stays && c->data_fd >= 0)
			stays = umad_from_program(c, &done);
		after = TAILQ_NEXT(c, next);
		if (!stays)
			client_free(u, c);
	}
	umad_issm_poll(u);
	return done;
}

void
tp_umad_stats_get(const struct tp_umad *u, struct tp_umad_stats *stats)
{
	*stats = u->stats;
}
