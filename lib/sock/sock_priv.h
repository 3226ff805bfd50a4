/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef SOCK_SOCK_PRIV_H
#define SOCK_SOCK_PRIV_H

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock.h"

#define SOCK_PORTS 65536u
#define SOCK_RESOLVE_US 1000u /* between questions for a neighbour */
/* So long frames to a port come here after its last socket: a peer's last FIN may come again. */
#define SOCK_PORT_US UINT64_C(2000000)

enum sock_state {
	SOCK_NEW,       /* neither connected nor listening */
	SOCK_RESOLVING, /* the neighbour is asked for */
	SOCK_CONNECTING,
	SOCK_CONNECTED,
	SOCK_LISTENING,
};

struct sock {
	struct sock_net *net;
	struct tcp_conn *conn;
	enum sock_state state;
	struct tcp_addr local, remote;
	int err; /* that ended it and was not told yet, positive */
	bool shut_rd, shut_wr, steered;
	struct linger linger;
	uint64_t rcvtimeo_us, sndtimeo_us; /* 0: none */
	_Atomic uint32_t seq;              /* of changes; a futex */
	uint32_t waiters;                  /* that sleep, */
	uint32_t lookers;                  /* and may look for frames: who does hears of changes by the net's bell */
	struct sock *ready;                /* of a listener: a connection that nobody took yet */
	int os_fd;                         /* of a listener: its other half, -1: none */
	bool os_ready;
	/* Of datagrams; conn is NULL then. */
	struct udp_sock *udp;
	_Atomic bool os_bad; /* the other half has an error; looked at without the lock */
	bool hears;          /* what comes to its port comes to the net */
	bool full;           /* the card took no more */
	bool closed;         /* and is here as long as datagrams wait */
	uint32_t late;       /* datagrams that wait for a neighbour's address */
	LIST_HEAD(, sock_watch) watches;
	LIST_ENTRY(sock) next;    /* of all */
	LIST_ENTRY(sock) resolve; /* in SOCK_RESOLVING */
	LIST_ENTRY(sock) os_next; /* with os_fd */
	uint64_t *count;          /* by enum sock_count; NULL: nobody looks */
	uint32_t *told;           /* the state of TCP; NULL: nobody looks */
	/* Options that a connection does not have before it is one. */
	struct {
		bool is;
		int value;
	} preset[16];
};

/*
 * What ends after SOCK_PORT_US: a use of a port; its rule, where others have it; a connection's own rule, if it is over then; a claim
 * that nobody wanted, if the port has no use then.
 */
enum sock_end_kind { SOCK_END_USE, SOCK_END_RULE, SOCK_END_CONN, SOCK_END_CLAIM };

struct sock_port_end {
	uint64_t at;
	enum sock_end_kind kind;
	struct tcp_addr local, remote;
	int claim;
	STAILQ_ENTRY(sock_port_end) next;
};

/* What a net with datagrams does with them (dgram.c); with the lock. */
struct sock_udp_ops {
	/* As udp_input. */
	uint16_t (*input)(struct sock_net *n, struct rte_mbuf **m, uint16_t k);
	/* What is due; when to look again. */
	void (*look)(struct sock_net *n);
	uint64_t (*next)(const struct sock_net *n);
	/* A datagram waits for a neighbour. */
	bool (*late)(const struct sock_net *n);
	uint32_t (*ready)(struct sock *s);
	/* It is closed, but for what waits. */
	void (*end)(struct sock *s);
};

struct sock_net {
	pthread_mutex_t lock;
	struct sock_home ops;
	void *home;
	struct tcp_stack *stack;
	uint32_t spin_us, spin_looks;
	enum sock_handlers (*handlers)(void);
	void (*scarce)(void); /* nobody was told yet */
	void (*freed)(void);
	bool let_go; /* freed() has not been told */
	void (*unclaim)(int claim);
	struct sock_stat *stat; /* NULL: nobody looks */
	uint64_t now;           /* of the last call */
	uint64_t looked;        /* when frames were looked for last */
	uint64_t until;         /* the thread sleeps so long */
	uint64_t calls;         /* that moved the net on */
	bool full;              /* the card took no more of it, the last time */
	bool armed, ends, dead, stop, sleeping;
	/* Calls that wait. One that sleeps alone looks for frames itself; where several do, the thread does. */
	uint32_t sleepers;
	bool led, deep;      /* one looks itself; the thread sleeps meanwhile, and nobody else would look */
	uint64_t many_until; /* several slept at once a short time before */
	/* How often looking brought nothing, and so many waits do not look for that. crowded: others needed the CPU at the last look. */
	uint32_t misses, skips;
	bool crowded;
	int wake; /* the thread should look again */
	int bell; /* of the one call on a socket that looks for frames itself */
	int os;   /* an epoll set of listeners' other halves, and of what tells that a port is free or wanted */
	pthread_t thread;
	LIST_HEAD(, sock) socks;
	LIST_HEAD(, sock) resolving, os_socks;
	STAILQ_HEAD(, sock_port_end) port_ends;
	uint32_t *port_refs;  /* by port; see port.c */
	struct sock_udp *udp; /* NULL: there are no datagrams */
	const struct sock_udp_ops *udp_ops;
	struct udp_conf udp_conf;
};

/* --- net.c: with the lock --- */
/* Takes the lock, and frames that have come. */
void sock_enter(struct sock_net *n);
/* The same of a call that may have what it wants without: it takes them only once in a while. True: it did. Else sock_look() does. */
bool sock_enter_busy(struct sock_net *n);
void sock_look(struct sock_net *n);
/* As sock_enter(), with the lock. */
void sock_move_on(struct sock_net *n);
/* Sends what is due; gives the lock back. */
void sock_leave(struct sock_net *n);
/* From now on a frame that comes wakes who sleeps. */
void sock_arm(struct sock_net *n);
/* What event_fd() told. */
void sock_event(struct sock_net *n);
/* The thread looks again. */
static inline void
sock_wake(struct sock_net *n)
{
	const uint64_t one = 1;

	n->until = 0;
	(void)!write(n->wake, &one, sizeof(one));
}
/* Somebody may want to hear of it. */
void sock_changed(struct sock *s);
uint16_t sock_home_tx(void *home, struct rte_mbuf **m, uint16_t n);
int sock_home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path);
bool sock_home_local(void *home, rte_be32_t ip);
uint32_t sock_home_random(void *home);
void sock_home_state(void *home, void *user, int state); /* conn.c */

/* With the lock: a call of size octets is done; rc: what it moved, or a negative errno. first: SOCK_RX_PACKETS, SOCK_TX_PACKETS. */
static inline void
sock_count(struct sock *s, enum sock_count first, ssize_t moved, ssize_t rc)
{
	uint64_t *c = s->count;

	if (c == NULL)
		return;
	c += first;
	c[0] += moved > 0 || (rc >= 0 && s->udp != NULL);
	c[1] += (uint64_t)moved;
	c[2] += rc < 0 && rc != -EAGAIN;
	c[3] += rc == -EAGAIN;
}

/* --- port.c: with the lock --- */
int sock_port_get(struct sock_net *n, rte_be16_t port);
void sock_port_put(struct sock_net *n, rte_be16_t port);
/* Without the time that sock_port_put() leaves. */
void sock_port_drop(struct sock_net *n, rte_be16_t port);
/* Those whose time is over. */
void sock_ports_end(struct sock_net *n);
/* When claim can be read, what comes to the port is another process's, but for the connections that there are. */
void sock_port_leave(struct sock_net *n, rte_be16_t port, int claim);
/* A descriptor of the net's set can be read. False: it is no claim. */
bool sock_port_wanted(struct sock_net *n, int fd);
/* As tcp_home's quiet. */
bool sock_port_quiet(void *home, rte_be16_t port);

/* --- conn.c: with the lock --- */
/* The neighbour may be known now. */
void sock_resolve(struct sock *s);
/* As sock_close(), now. */
void sock_end(struct sock *s);
/* A listener ends, and who waits to be accepted; the socket stays. */
void sock_deaf(struct sock *s);
/* It has no other half any more. */
void sock_os_end(struct sock *s);
/* What the engine knows of an error comes here. */
void sock_pull_error(struct sock *s);
/* A child of fork() or a net that has ended has none. */
static inline bool
sock_dead(const struct sock *s)
{
	return s->net->dead;
}

/* --- ready.c --- */
long sock_futex(_Atomic uint32_t *at, int op, uint32_t value, const struct timespec *until);

/* --- opt.c --- */
void sock_presets(struct sock *s);

/* --- conn.c: a connection waits to be accepted --- */
bool sock_has_ready(struct sock *s);

#endif /* SOCK_SOCK_PRIV_H */
