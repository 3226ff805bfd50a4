/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sockets of datagrams begin: bind, connect, groups; and their names. */
#include <stdlib.h>

#include "dgram.h"

#define CLAIM_US UINT64_C(100000) /* between questions for a port that another process has */

struct dgram *
dgram_new(void (*began)(struct file *f))
{
	struct dgram *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->began = began;
	pthread_mutex_init(&d->more_lock, NULL);
	return d;
}

bool
dgram_port_addr(rte_be32_t ip)
{
	return ip != 0 && !addr_loopback(ip) && net_has(ip);
}

static bool
flag_of(int fd, int name)
{
	int on = 0;
	socklen_t len = sizeof(on);

	return real()->getsockopt(fd, SOL_SOCKET, name, &on, &len) == 0 && on != 0;
}

/* --- the engine's half ------------------------------------------------------------------------------------------------ */

/* The shadow has a port, or gets one: at an address, 0: any. */
static bool
have_port(int fd, rte_be32_t ip, struct tcp_addr *local)
{
	const struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = ip};

	if (addr_bound(fd, local))
		return true;
	if (ip != 0)
		addr_foreign(fd);
	return real()->bind(fd, (const struct sockaddr *)&in, sizeof(in)) == 0 && addr_bound(fd, local);
}

/* Of several processes that have one socket, as a parent and its children, the first that asks hears what comes to the port. */
static bool
claimed(struct file *f, rte_be16_t port)
{
	if (f->claim >= 0)
		return true;
	f->dgram->claimed = sock_now();
	f->claim = net_claim(true, port, NULL);
	return f->claim >= 0;
}

bool
dgram_begin(int fd, struct file *f)
{
	struct dgram *d = f->dgram;
	struct sock_net *n;
	struct tcp_addr local;
	struct sock *s;
	int err;

	if (f->s != NULL)
		return true;
	n = net_start();
	if (n == NULL || !have_port(fd, 0, &local) ||
	    (local.ip != 0 && !IN_MULTICAST(ntohl(local.ip)) && !dgram_port_addr(local.ip)))
		return false;
	s = sock_dgram_new(n, &err);
	if (s == NULL)
		return false;
	if (sock_dgram_bind(s, &local, flag_of(fd, SO_REUSEADDR) || flag_of(fd, SO_REUSEPORT),
			    claimed(f, local.port)) != 0 ||
	    sock_dgram_os(s, fd) != 0) {
		sock_close(s);
		own_close(f->claim);
		f->claim = -1;
		return false;
	}
	f->s = s;
	if (f->stat == NULL)
		stat_open(fd, f);
	dgram_carry(fd, f);
	for (unsigned int i = 0; i < d->num_groups; i++)
		(void)sock_dgram_join(s, d->group[i].group, d->group[i].source, true);
	if (d->connected && sock_dgram_connect(s, &d->remote) != 0)
		d->connected = false;
	if (d->os_connected)
		(void)sock_dgram_os_only(s, true);
	d->began(f);
	return true;
}

void
dgram_wanted(int fd, struct file *f)
{
	struct tcp_addr local = {0, 0};

	(void)addr_bound(fd, &local);
	if (!f->dgram->os_connected && !addr_loopback(local.ip) && rules_engine(UDP_RECEIVER, &local))
		(void)dgram_begin(fd, f);
}

void
dgram_start(int fd, struct file *f)
{
	if (!f->wants)
		return;
	pthread_mutex_lock(&f->lock);
	if (f->wants)
		dgram_wanted(fd, f);
	f->wants = false;
	pthread_mutex_unlock(&f->lock);
}

void
dgram_again(struct file *f)
{
	struct tcp_addr local, remote;

	if (f->s == NULL || f->claim >= 0 || f->dgram->os_connected || sock_now() - f->dgram->claimed < CLAIM_US)
		return;
	pthread_mutex_lock(&f->lock);
	sock_dgram_name(f->s, &local, &remote);
	if (claimed(f, local.port))
		(void)sock_dgram_hear(f->s, true);
	pthread_mutex_unlock(&f->lock);
}

void
dgram_bound(int fd, struct file *f)
{
	struct tcp_addr local;

	if (!addr_bound(fd, &local) || addr_loopback(local.ip) || !rules_engine(UDP_RECEIVER, &local))
		return;
	pthread_mutex_lock(&f->lock);
	(void)dgram_begin(fd, f);
	pthread_mutex_unlock(&f->lock);
}

/* --- connect ------------------------------------------------------------------------------------------------------------ */

/* No half is connected any more. */
static void
dissolve(int fd, struct file *f)
{
	struct dgram *d = f->dgram;

	if (f->s != NULL) {
		(void)sock_dgram_connect(f->s, NULL);
		(void)sock_dgram_os(f->s, fd);
		if (d->os_connected)
			(void)sock_dgram_os_only(f->s, false);
	}
	d->connected = d->os_connected = false;
	d->remote = (struct tcp_addr){0, 0};
}

/* 0; 1: it is not for the engine; a negative errno. */
static int
connect_engine(int fd, struct file *f, const struct tcp_addr *remote, const struct sockaddr *sa, socklen_t len)
{
	struct dgram *d = f->dgram;
	const bool group = IN_MULTICAST(ntohl(remote->ip));
	struct tcp_addr local = {0};
	rte_be32_t from;
	int rc;

	if (remote->port == 0 || remote->ip == 0 || remote->ip == INADDR_BROADCAST || addr_loopback(remote->ip) ||
	    !rules_engine(UDP_CONNECT, remote) || net_start() == NULL || net_has(remote->ip) || (group && d->via_os))
		return 1;
	from = group ? 0 : net_from(remote->ip);
	if ((!group && from == 0) || !have_port(fd, from, &local) || !dgram_begin(fd, f))
		return 1;
	dissolve(fd, f);
	rc = sock_dgram_connect(f->s, remote);
	if (rc != 0)
		return rc == -ENETUNREACH || rc == -EAGAIN ? 1 : rc;
	d->connected = true;
	d->remote = *remote;
	/* Where the kernel has no way there, nothing comes by it. */
	if (real()->connect(fd, sa, len) != 0)
		(void)sock_dgram_os(f->s, -1);
	return 0;
}

int
dgram_connect(int fd, struct file *f, const struct sockaddr *sa, socklen_t len)
{
	struct dgram *d = f->dgram;
	struct tcp_addr remote;
	int rc = 1;

	pthread_mutex_lock(&f->lock);
	if (addr_inet(sa, len, &remote))
		rc = connect_engine(fd, f, &remote, sa, len);
	if (rc == 1) {
		rc = real()->connect(fd, sa, len);
		if (rc == 0) {
			dissolve(fd, f);
			d->os_connected = sa->sa_family == AF_INET;
			if (d->os_connected && f->s != NULL)
				(void)sock_dgram_os_only(f->s, true);
		}
	} else {
		rc = (int)result(rc);
	}
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/* --- groups, the end, names ---------------------------------------------------------------------------------------------- */

int
dgram_join(int fd, struct file *f, rte_be32_t group, rte_be32_t source, bool on)
{
	struct dgram *d = f->dgram;
	struct tcp_addr local = {0};
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	(void)addr_bound(fd, &local);
	if (f->s == NULL && on && rules_engine(UDP_RECEIVER, &local) && local.port != 0)
		(void)dgram_begin(fd, f);
	if (f->s != NULL)
		rc = sock_dgram_join(f->s, group, source, on);
	for (unsigned int i = 0; rc == 0 && !on && i < d->num_groups; i++)
		if (d->group[i].group == group && d->group[i].source == source)
			d->group[i--] = d->group[--d->num_groups];
	if (rc == 0 && on && d->num_groups < DGRAM_GROUPS)
		d->group[d->num_groups++] = (struct dgram_group){group, source};
	else if (rc == 0 && on)
		rc = -ENOBUFS;
	pthread_mutex_unlock(&f->lock);
	return rc;
}

int
dgram_shutdown(int fd, struct file *f, int how)
{
	int os = real()->shutdown(fd, how), err = errno;
	int rc = f->s == NULL ? 1 : sock_dgram_shutdown(f->s, how);

	if (rc != 1 && f->dgram->connected)
		return (int)result(rc);
	errno = err;
	return os;
}

int
dgram_name(struct file *f, struct tcp_addr *local, struct tcp_addr *remote)
{
	if (f->s == NULL || !f->dgram->connected)
		return 1;
	sock_dgram_name(f->s, local, remote);
	return 0;
}
