/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Sockets of streams on TCP of lib/tcp (those of datagrams are in dgram.h): what blocks and for how long, what is ready, errors and options as Linux has them. There
 * are no descriptors here and no functions of libc in front of others: that is who calls. Any thread may call; a net has one lock.
 *
 * Frames come and go by a home. Whoever calls moves the net on by what has come so far. Who waits looks for frames itself, and
 * sleeps until one comes. While nobody calls or waits, and for timers, there is a thread.
 *
 * Addresses and ports are in network order. What returns int or ssize_t returns a negative errno on failure.
 */
#ifndef SOCK_SOCK_H
#define SOCK_SOCK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#include "lib/tcp/tcp.h"
#include "lib/udp/udp.h"

#include "stat.h"

struct sock_net;
struct sock;

/* Where frames come from and go to. Each is called with the net's lock; none may call the net. */
struct sock_home {
	/* Frames that have come, at most n. */
	uint16_t (*rx)(void *home, struct rte_mbuf **m, uint16_t n);
	/* As struct tcp_home's. */
	uint16_t (*tx)(void *home, struct rte_mbuf **m, uint16_t n);
	/* Frames that tx took have all left. */
	bool (*sent)(void *home);
	/* event_fd() becomes readable once with the next frame that comes; what has come is looked for after this. */
	void (*arm)(void *home);
	int (*event_fd)(void *home);
	/* Takes what made event_fd() readable. */
	void (*event)(void *home);
	/* 0; -EAGAIN: it was asked for; -ENETUNREACH: there is no way; -EHOSTUNREACH. local may be 0. */
	int (*path)(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path);
	bool (*local)(void *home, rte_be32_t ip);
	/* Frames to a port of ours, of UDP or else of TCP, come here, or come no more. */
	int (*steer)(void *home, bool udp, rte_be16_t port, bool on);
	/* Those of one connection of TCP, whoever else has its port. */
	int (*steer_conn)(void *home, const struct tcp_addr *local, const struct tcp_addr *remote, bool on);
	/* Frames to a group, of whatever port. */
	int (*steer_group)(void *home, rte_be32_t group, bool on);
};

/* What handlers of signals do to a call of the operating system that sleeps. */
enum sock_handlers {
	SOCK_HANDLERS_END,   /* it ends: EINTR */
	SOCK_HANDLERS_GO_ON, /* all have SA_RESTART: it goes on, if it has no time to end at */
	SOCK_HANDLERS_BOTH,  /* some this, some that */
};

struct sock_conf {
	struct tcp_conf tcp;
	/* 0..1000000: so long a call looks for frames before it sleeps, at most; where this brings nothing it does so seldom */
	uint32_t spin_us;
	uint32_t spin_looks;                  /* and so often at most, 0: as often as it can */
	enum sock_handlers (*handlers)(void); /* of now; NULL: SOCK_HANDLERS_BOTH */
	void (*scarce)(void); /* once: what came had to wait for mbufs (tcp_conf's reserve); NULL: nobody hears */
	/* What a socket stands by for can be read; on the net's thread, without the lock. NULL: nobody hears. */
	void (*freed)(void);
	void (*unclaim)(int claim); /* closes one of sock_leave_port()'s; it may not call the net */
	struct udp_conf udp;        /* a net without datagrams has none of this */
	struct sock_stat *stat;     /* gets the counters of all sockets, as long as the net; NULL: nobody looks */
};

/* NULL and *err: -EINVAL, -ENOMEM, -EAGAIN (no thread). */
struct sock_net *sock_net_create(const struct sock_conf *conf, const struct sock_home *ops, void *home, int *err);
/* The program ends: connections end in order as far as their peers answer, at most so long. */
void sock_net_end(struct sock_net *n, uint32_t ms);
/* The lock of a net, for what sock_watch and sock_wait call; and around fork(): a child forgets the net, whose thread it has not. */
void sock_net_lock(struct sock_net *n);
void sock_net_unlock(struct sock_net *n);

/* Descriptors of its own, that a program should not close. */
#define SOCK_FDS 3u
void sock_fds(const struct sock_net *n, int fds[SOCK_FDS]);
/* Time of CLOCK_MONOTONIC in microseconds; a moment that never comes is TCP_NEVER. */
uint64_t sock_now(void);

/* --- sockets ------------------------------------------------------------------------------------------------------ */

/* NULL: no memory. */
struct sock *sock_new(struct sock_net *n);
/* Its counters are in count, SOCK_COUNTS of them, from now on until NULL is set, or it is closed. */
void sock_count_in(struct sock *s, uint64_t *count);
/* Likewise the state of its connection, as Linux's TCP_ESTABLISHED ... TCP_CLOSING. */
void sock_state_in(struct sock *s, uint32_t *state);
/* The last word of the program: as close(2), with SO_LINGER. */
void sock_close(struct sock *s);
/* The same for a listener that never had a connection, whose port another process gets now. */
void sock_hand_over(struct sock *s);
/*
 * A listener hears no more, and its port may be another process's, which says so by claim: as soon as that can be read, new connections
 * are the other one's, and those that are stay. claim is the net's from now on, until then or until nothing uses the port.
 */
void sock_leave_port(struct sock *s, int claim);

/*
 * Begins: 0; -EALREADY, -EISCONN; what keeps it from beginning, -ENETUNREACH among it; -EADDRINUSE. Then sock_connected() says how
 * it went: -EINPROGRESS while it is under way.
 */
int sock_connect(struct sock *s, const struct tcp_addr *local, const struct tcp_addr *remote);
int sock_connected(struct sock *s);
/* Again: another backlog is no other one. */
int sock_listen(struct sock *s, const struct tcp_addr *local, uint32_t backlog);
/* The same while another process has the port: only the other half hears, until sock_listen(). fd: see freed(); it is the caller's. */
int sock_stand_by(struct sock *s, const struct tcp_addr *local, int fd);
/* *out: a connection. -EAGAIN: none waits; -EINVAL: it does not listen. */
int sock_accept(struct sock *s, struct sock **out);

/*
 * A listener's other half: a socket of the operating system that listens, too, and does not block. sock_os_ready(): it may have a connection; the
 * answer is true once for each time that it told so, and after sock_os_again().
 */
int sock_os_listen(struct sock *s, int fd);
bool sock_os_ready(struct sock *s);
void sock_os_again(struct sock *s);
/* What the way from an address of ours to another one is: as struct sock_home's path says. */
int sock_route(struct sock_net *n, rte_be32_t local, rte_be32_t remote);

/*
 * flags: MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL; MSG_PEEK, MSG_WAITALL, MSG_TRUNC. Without MSG_DONTWAIT they wait as SO_SNDTIMEO and SO_RCVTIMEO say. -EINTR:
 * a signal came before the first byte. A broken pipe is a signal of this thread, too. -EOPNOTSUPP: MSG_OOB.
 */
ssize_t sock_send(struct sock *s, const struct iovec *iov, int n, int flags);
ssize_t sock_recv(struct sock *s, const struct iovec *iov, int n, int flags);
int sock_shutdown(struct sock *s, int how);
/* Bytes to read; bytes that the peer has not acknowledged. */
int sock_inq(struct sock *s);
/* The two ends. remote: -ENOTCONN. */
int sock_name(struct sock *s, struct tcp_addr *local, struct tcp_addr *remote);

/* Options that the engine knows, as setsockopt(2). -ENOPROTOOPT: not one of these. */
int sock_opt_set(struct sock *s, int level, int name, const void *value, uint32_t len);
int sock_opt_get(struct sock *s, int level, int name, void *value, uint32_t *len);

/* --- readiness ------------------------------------------------------------------------------------------------------ */

/* Hears of each change that may have made a socket ready. fn runs with the lock of the net, and may not call it. */
struct sock_watch {
	LIST_ENTRY(sock_watch) next;
	void (*fn)(struct sock_watch *w);
};
/* With the lock. */
void sock_watch_add(struct sock *s, struct sock_watch *w);
void sock_watch_del(struct sock_watch *w);
/* EPOLLIN and others of epoll(7), as they are now; with the lock. */
uint32_t sock_ready_now(struct sock *s);

/* A wait. */
struct sock_wait {
	bool (*done)(void *arg); /* with the lock of the net: what it is for has come */
	/* With the lock, behind a done() that was false: changes are told to who sleeps from now on, or no more. NULL: none is. */
	void (*asleep)(void *arg, bool is);
	/*
	 * Without the lock, when looking brought nothing. 0, or a negative errno, which ends the wait; -EAGAIN: the time has come. It
	 * returns also when frames->fd can be read, and leaves in frames->revents whether it can; an fd of -1 stands for none.
	 */
	int (*sleep)(void *arg, uint64_t until, struct pollfd *frames);
	void *arg;
	bool looks;             /* sleep() looks at frames->fd at all */
	uint64_t *const *count; /* where those of whose wait this is are, looked at with the lock; NULL: of several */
};
/* until: see sock_now(). 0: done() is true; -EAGAIN: the time has come; or what sleep() said. */
int sock_wait(struct sock_net *n, const struct sock_wait *w, uint64_t until);
/* From now until a moment, as ppoll(2) takes it: NULL for TCP_NEVER, else *t. */
const struct timespec *sock_left(uint64_t until, struct timespec *t);
/* Until the socket has one of these events. -EAGAIN, -EINTR. */
int sock_wait_ready(struct sock *s, uint32_t events, uint64_t until);
/* SO_RCVTIMEO, SO_SNDTIMEO as a moment from now on. */
uint64_t sock_until(struct sock *s, bool recv);

#endif /* SOCK_SOCK_H */
