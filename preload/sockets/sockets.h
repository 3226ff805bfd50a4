/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Functions of libc in front of libc's, for a program that knows nothing of DPDK. Each socket of the program is one of the operating
 * system, too, its shadow: the number is the shadow's, and so are its place in fstat(2), the port that it holds, and options that
 * the engine does not know. What a rule or the destination leaves to the operating system is the shadow alone.
 */
#ifndef PRELOAD_SOCKETS_SOCKETS_H
#define PRELOAD_SOCKETS_SOCKETS_H

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "conf/conf.h"
#include "home.h"

#define EXPORT __attribute__((visibility("default")))

/* --- real.c: libc's own --- */
struct real {
	__typeof__(socket) *socket;
	__typeof__(close) *close;
	int (*bind)(int, const struct sockaddr *, socklen_t);
	int (*connect)(int, const struct sockaddr *, socklen_t);
	__typeof__(listen) *listen;
	int (*accept4)(int, struct sockaddr *, socklen_t *, int);
	__typeof__(shutdown) *shutdown;
	int (*getsockname)(int, struct sockaddr *, socklen_t *);
	int (*getpeername)(int, struct sockaddr *, socklen_t *);
	int (*getsockopt)(int, int, int, void *, socklen_t *);
	int (*setsockopt)(int, int, int, const void *, socklen_t);
	int (*fcntl)(int, int, ...);
	int (*ioctl)(int, unsigned long, ...);
	__typeof__(read) *read;
	__typeof__(write) *write;
	ssize_t (*readv)(int, const struct iovec *, int);
	ssize_t (*writev)(int, const struct iovec *, int);
	ssize_t (*recv)(int, void *, size_t, int);
	ssize_t (*recvfrom)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
	ssize_t (*recvmsg)(int, struct msghdr *, int);
	int (*recvmmsg)(int, struct mmsghdr *, unsigned int, int, struct timespec *);
	ssize_t (*send)(int, const void *, size_t, int);
	ssize_t (*sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
	ssize_t (*sendmsg)(int, const struct msghdr *, int);
	int (*sendmmsg)(int, struct mmsghdr *, unsigned int, int);
	ssize_t (*sendfile)(int, int, off64_t *, size_t);
	ssize_t (*splice)(int, off64_t *, int, off64_t *, size_t, unsigned int);
	__typeof__(ppoll) *ppoll;
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
	int (*epoll_create1)(int);
	int (*epoll_ctl)(int, int, int, struct epoll_event *);
	int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
	__typeof__(dup) *dup;
	__typeof__(dup2) *dup2;
	int (*dup3)(int, int, int);
	int (*close_range)(unsigned int, unsigned int, int);
	__typeof__(_exit) *exit;
	long (*syscall)(long, ...);
};
extern const struct real *_Atomic real_known; /* NULL: nobody has looked for them */
const struct real *real_find(void);
static inline const struct real *
real(void)
{
	const struct real *r = atomic_load_explicit(&real_known, memory_order_acquire);

	return __builtin_expect(r != NULL, 1) ? r : real_find();
}

/* --- table.c: descriptors --- */

struct ep;
struct dgram;

/* A socket of the program: what the descriptors that are copies of each other share. */
struct file {
	atomic_int refs;
	struct sock *_Atomic s; /* NULL: it is the shadow's alone */
	atomic_bool nonblock;
	atomic_bool forced;  /* the shadow does not block, whatever the program said */
	atomic_bool wants;   /* it listens or hears, and so shall the engine from the first call on that looks */
	atomic_bool looked;  /* a call of this process has looked for connections */
	atomic_uint touched; /* options that were set: of streams by their place in opt.c, of datagrams any */
	atomic_bool rcvbuf;  /* of datagrams: this among them */
	atomic_int backlog;
	atomic_int claim;                              /* of a port that comes here, -1: none */
	atomic_int waits;                              /* for a port of TCP that another process has, -1: for none */
	void (*_Atomic ends)(struct file *f);          /* of a listener: who wants its port gets it now; */
	void (*_Atomic freed)(int fd, struct file *f); /* its port may be free. NULL: it is none */
	struct dgram *dgram;                           /* NULL: it is one of streams */
	struct sock_stat_socket *_Atomic stat;         /* NULL: nobody counts */
	atomic_bool unlisted;                          /* there was no place for counters */
	pthread_mutex_t lock;                          /* of s, when it begins */
	atomic_uint items;                             /* of epoll sets, more or less */
	LIST_HEAD(, item) in;                          /* these: a set with thousands is not searched for one */
};

enum fork_step { FORK_PREPARE, FORK_PARENT, FORK_CHILD };
void state_fork(enum fork_step step);
void table_fork(enum fork_step step);
/* Of each socket, held. */
void file_each(void (*fn)(int fd, struct file *f));
void ep_fork(enum fork_step step);

/* What a number is. */
enum kind { NONE, SOCKET, EPOLL, OWN };

/* A socket of the program, held; NULL: it is none that this library knows. */
struct file *file_get(int fd);
void file_put(struct file *f);
/* The number stands for it still. */
bool file_is(int fd, const struct file *f);
/* One that was made just now. 0 or -1: no memory; what is not known is the operating system's. */
int file_add(int fd, struct file *f);
struct file *file_new(bool nonblock);
enum kind kind_of(int fd);
/* An epoll set of the program, held: ep_put(). */
struct ep *ep_get(int fd);
int ep_put_at(int fd, struct ep *e);
/* A descriptor that the program must not close, in this process; it is closed here alone. */
void own_add(int fd);
void own_close(int fd);
bool own_is(int fd);
/* The number stands for nothing from now on; what it was, *what is the caller's. */
enum kind fd_take(int fd, void **what);
/* A number is another one's copy. */
void fd_copy(int fd, int from);
bool fd_any_own(unsigned int first, unsigned int last, unsigned int *at);
unsigned int fd_max(void);

/* --- state.c: the engine of this process --- */
/* It is started when it is not; NULL: there is none, which was said. */
struct sock_net *net_start(void);
/* The program ends: what was sent goes out, and peers hear of it. */
void state_end(void);
/* NULL: it has not been started. */
struct sock_net *net_now(void);
/* An address of the port's. The engine may be started to know. */
bool net_has(rte_be32_t ip);
/* From where to an address; 0: no way leads there. */
rte_be32_t net_from(rte_be32_t remote);
/*
 * Which process has what comes to a port is the first that asks. A descriptor that stands for it; -1: another one has it, and *waits, if
 * that is asked for, can be read when it has it no more, or is -1.
 */
int net_claim(bool udp, rte_be16_t port, int *waits);
/*
 * A listener of TCP ends. What stands from now on for the rule of its port, and can be read when another process wants that: the same
 * descriptor where one waits already. Else the port can be claimed, and who does so waits until the rule is given away.
 */
int net_unclaim(int fd, rte_be16_t port);

/* --- signals.c --- */
enum sock_handlers handlers_now(void);

/* --- rules.c --- */
enum role { TCP_SERVER, TCP_CLIENT, UDP_SENDER, UDP_RECEIVER, UDP_CONNECT };
/* The engine shall have it. local, remote: as far as they are known, else 0. */
bool rules_engine(enum role role, const struct tcp_addr *addr);

/* --- calls.c --- */
/* A call looks for connections: a listener that has not begun begins; others are left alone. */
void file_begin(int fd, struct file *f);
/* A number that this library does not know, held, where it listens: one that the process has from before exec, or from another process. */
struct file *file_adopt(int fd);
/* The process is about to fork: a listener that it never looked at may be the child's. */
void file_leave(int fd, struct file *f);

/* --- addr.c --- */
/* An address of IPv4; false: it is none. */
bool addr_inet(const struct sockaddr *sa, socklen_t len, struct tcp_addr *addr);
bool addr_loopback(rte_be32_t ip);
void addr_put(const struct tcp_addr *addr, struct sockaddr *sa, socklen_t *len);
/* Where the shadow is bound; false: nowhere. */
bool addr_bound(int fd, struct tcp_addr *addr);
/* The kernel may know nothing of the port's addresses. */
void addr_foreign(int fd);

/* errno and -1 of a negative errno, else the value. */
static inline ssize_t
result(ssize_t rc)
{
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

/* --- epoll.c --- */
/* What an epoll set begins with: who has it holds it. */
struct ep_head {
	atomic_uint refs;
};
void ep_put(struct ep *e);
/* Its number is closed, and what held it for that is put. */
void ep_free(struct ep *e);
/* The number is closed: sets that have it lose it. The file's socket began: sets that had the shadow have it now. */
void ep_closed(int fd, struct file *f);
void ep_began(struct file *f);
/* Another set or poll(2) has it. */
void ep_nested(int fd);

/* --- stat.c: counters for a viewer --- */
/* NULL: there are none. */
struct sock_stat *stat_page(void);
void stat_fork_child(void);
/* A socket and its first number; its last one is gone. */
void stat_open(int fd, struct file *f);
void stat_close(struct file *f);
/* The engine's half began. Its addresses may be others now. */
void stat_began(struct file *f);
void stat_named(int fd, struct file *f);
/* What a call of the operating system returned; first: SOCK_OS_RX_PACKETS, SOCK_OS_TX_PACKETS. It is returned, and errno is kept. */
ssize_t stat_os_socket(int fd, unsigned int first, ssize_t rc);
static inline ssize_t
stat_os(int fd, unsigned int first, ssize_t rc)
{
	return __builtin_expect(kind_of(fd) == SOCKET, 0) ? stat_os_socket(fd, first, rc) : rc;
}
void stat_group(rte_be32_t group, bool on);

/* --- opt.c --- */
/* Options of a shadow that was told some go to the socket of the engine. */
void opt_carry(int fd, const struct file *f, struct sock *s);
/* Which were set of one that was another program's. */
void opt_adopt(int fd, struct file *f);
/* And from one shadow, of a file, to another. */
void opt_copy(const struct file *f, int from, int to);

#endif /* PRELOAD_SOCKETS_SOCKETS_H */
