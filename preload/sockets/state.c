/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The engine of this process: it begins with the first socket that needs it, in this process, not in its parent. */
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "preload/sock/owner.h"
#include "sockets.h"

#define CLAIM_WAIT 4096 /* processes that wait for a port, at most */
#define CLAIM_TRIES 1000u
#define LEFT_MS 1000 /* a process that had a port has so long to give it away */
#define END_MS 5000u /* a program's end waits so long for peers to take what was sent */

static struct {
	pthread_mutex_t lock;
	struct sock_net *_Atomic net;
	struct home *home;
	unsigned int num_addrs;
	struct home_addr addr[HOME_ADDRS];
	bool tried;
	struct sock_settings set; /* since it was tried */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static_assert(TCP_CC_CUBIC == 0 && TCP_CC_RENO == 1 && TCP_CC_NONE == 2, "their words are in this order");
static_assert(TCP_ECN_PASSIVE == 0 && TCP_ECN_ON == 1 && TCP_ECN_OFF == 2, "their words are in this order");

/* --- fork and the end --- */

void
state_fork(enum fork_step step)
{
	if (step == FORK_PREPARE) {
		pthread_mutex_lock(&state.lock);
		return;
	}
	/* Sockets of the parent's engine are none here; one of its own begins with the next socket. */
	if (step == FORK_CHILD) {
		state.net = NULL;
		state.tried = false;
	}
	pthread_mutex_unlock(&state.lock);
}

static void
ends(int fd, struct file *f)
{
	(void)fd;
	if (f->ends != NULL)
		f->ends(f);
}

void
state_end(void)
{
	if (state.net == NULL)
		return;
	/* Who wants a port needs not wait for our peers. */
	file_each(ends);
	sock_net_end(state.net, END_MS);
}

/* --- the beginning --- */

static void
own_fds(void)
{
	int fds[4];
	unsigned int n = home_fds(state.home, fds);

	for (unsigned int i = 0; i < n; i++)
		own_add(fds[i]);
	sock_fds(state.net, fds);
	for (unsigned int i = 0; i < SOCK_FDS; i++)
		own_add(fds[i]);
}

static void
look(int fd, struct file *f)
{
	if (f->freed != NULL)
		f->freed(fd, f);
}

/* Ports that other processes had may be free. */
static void
look_all(void)
{
	file_each(look);
}

static void
scarce(void)
{
	say("data waits, since what the program has not read has nearly all of %u frames for it; "
	    "TRIPLANE_SOCKETS_MBUFS=%u gives more",
	    state.set.mbufs / 8 * 5, RTE_MIN(4 * state.set.mbufs, 1048576u));
}

static struct sock_net *
start(void)
{
	static bool once;
	struct sock_settings *const set = &state.set;
	struct sock_conf conf = {
		.handlers = handlers_now,
		.scarce = scarce,
		.freed = look_all,
		.unclaim = own_close,
		.tcp = {.tx_checksum = true},
		.udp = {.tx_checksum = true},
	};
	const char *why;
	int err = 0;

	settings_get(set);
	conf.spin_us = set->spin;
	conf.spin_looks = set->looks;
	state.home = home_open(set->port, set->mbufs, set->mtu, &why);
	if (state.home == NULL) {
		say("%s, port %u: %s; sockets are the operating system's", owner_path(), set->port, why);
		return NULL;
	}
	state.num_addrs = home_addrs(state.home, state.addr);
	conf.tcp.pool = conf.udp.pool = home_pool(state.home, false);
	conf.tcp.rx_pool = home_pool(state.home, true);
	conf.tcp.tso_mbufs = home_large(state.home);
	conf.tcp.tso = conf.tcp.tso_mbufs != 0;
	/* A buffer of an idle program's connections must not take all frames. */
	conf.tcp.sndbuf = conf.tcp.rcvbuf = 1u << 20;
	conf.udp.max_queued = conf.tcp.max_ooo_mbufs = set->mbufs / 4;
	conf.tcp.reserve = set->mbufs / 16;
	conf.tcp.max_copied = set->mbufs * 2048; /* about as much as the frames take */
	conf.tcp.cc = (enum tcp_cc)set->cc;
	conf.tcp.ecn = (enum tcp_ecn)set->ecn;
	conf.tcp.no_wscale = set->wscale == 0;
	conf.stat = stat_page();
	conf.tcp.max_conns = SOCK_STAT_CONNS;
	if (conf.stat != NULL) {
		conf.tcp.notes = sock_stat_notes(conf.stat);
		conf.stat->port = set->port;
		conf.stat->spin_us = conf.spin_us;
		conf.stat->mbufs = set->mbufs;
	}
	state.net = sock_net_create(&conf, &home_ops, state.home, &err);
	if (state.net == NULL) {
		say("the engine does not start: %s; sockets are the operating system's", strerror(-err));
		return NULL;
	}
	own_fds();
	if (!once)
		(void)atexit(state_end);
	once = true;
	return state.net;
}

struct sock_net *
net_start(void)
{
	struct sock_net *n;
	const int saved = errno;

	if (state.net != NULL)
		return state.net;
	pthread_mutex_lock(&state.lock);
	n = state.net != NULL ? state.net : state.tried ? NULL : start();
	state.tried = true;
	pthread_mutex_unlock(&state.lock);
	errno = saved;
	return n;
}

struct sock_net *
net_now(void)
{
	return state.net;
}

bool
net_has(rte_be32_t ip)
{
	if (net_start() == NULL)
		return false;
	for (unsigned int i = 0; i < state.num_addrs; i++)
		if (state.addr[i].ip == ip)
			return true;
	return false;
}

rte_be32_t
net_from(rte_be32_t remote)
{
	if (net_start() == NULL || net_has(remote))
		return 0;
	for (unsigned int i = 0; i < state.num_addrs; i++)
		if (sock_route(state.net, state.addr[i].ip, remote) != -ENETUNREACH)
			return state.addr[i].ip;
	return 0;
}

/* --- who has a port --- */

/*
 * Names of no file, which go with the process that has them: a socket listens there, and who waits is connected to it. One is of who
 * listens to the port, another one of who did, and has connections there still.
 */
enum claim { CLAIM_TCP, CLAIM_TCP_LEFT, CLAIM_UDP };

static const char *const claims[] = {[CLAIM_TCP] = "", [CLAIM_TCP_LEFT] = "left/", [CLAIM_UDP] = "udp/"};

/* A socket of that name, or (has: false) one that is connected there; -1 and errno. */
static int
claim_try(bool has, enum claim what, rte_be16_t port)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "triplane-sockets/%s%u/%u%s", claims[what],
			 state.set.port, rte_be_to_cpu_16(port), owner_path());
	const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					  (size_t)RTE_MIN(n, (int)sizeof(sa.sun_path) - 2));
	int fd = real()->socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc, err;

	if (fd < 0)
		return -1;
	rc = has ? real()->bind(fd, (const struct sockaddr *)&sa, len)
		 : real()->connect(fd, (const struct sockaddr *)&sa, len);
	if (rc == 0 && has)
		rc = real()->listen(fd, CLAIM_WAIT);
	if (rc == 0) {
		own_add(fd);
		return fd;
	}
	err = errno;
	real()->close(fd);
	errno = err;
	return -1;
}

/* Who had the port before gives it away now. */
static void
claim_settle(rte_be16_t port)
{
	struct pollfd p = {.fd = claim_try(false, CLAIM_TCP_LEFT, port), .events = POLLIN};

	if (p.fd >= 0)
		(void)real()->poll(&p, 1, LEFT_MS);
	own_close(p.fd);
}

int
net_claim(bool udp, rte_be16_t port, int *waits)
{
	const enum claim what = udp ? CLAIM_UDP : CLAIM_TCP;
	int fd = -1;

	for (unsigned int i = 0; i < CLAIM_TRIES; i++) {
		fd = claim_try(true, what, port);
		if (fd >= 0 || waits == NULL)
			break;
		*waits = claim_try(false, what, port);
		/* Who has it lets go of it just now, or does not listen yet. */
		if (*waits >= 0 || errno != ECONNREFUSED)
			break;
		(void)sched_yield();
	}
	if (fd >= 0 && !udp)
		claim_settle(port);
	return fd;
}

int
net_unclaim(int fd, rte_be16_t port)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int left = real()->poll(&p, 1, 0) == 1 ? -1 : claim_try(true, CLAIM_TCP_LEFT, port);

	if (left < 0)
		return fd;
	own_close(fd);
	return left;
}
