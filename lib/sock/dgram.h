/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Sockets of datagrams on lib/udp, in the same net as those of streams. They are struct sock, too: sock_close, sock_watch,
 * sock_ready_now, sock_wait_ready and SO_RCVTIMEO, SO_SNDTIMEO of sock_opt_set are for both.
 */
#ifndef SOCK_DGRAM_H
#define SOCK_DGRAM_H

#include "lib/udp/udp.h"
#include "sock.h"

/* NULL and *err: -ENOMEM, -ENFILE; -ECONNABORTED: the net has ended. */
struct sock *sock_dgram_new(struct sock_net *n, int *err);
/* As udp_bind; local has a port. hears: what comes to the port comes here, see sock_dgram_hear. */
int sock_dgram_bind(struct sock *s, const struct tcp_addr *local, bool share, bool hears);
/* Frames to its port come to the net, or come no more; groups do without. -EINVAL: it has no port. */
int sock_dgram_hear(struct sock *s, bool on);
/* As udp_connect. */
int sock_dgram_connect(struct sock *s, const struct tcp_addr *remote);
void sock_dgram_name(struct sock *s, struct tcp_addr *local, struct tcp_addr *remote);
/* As udp_join and udp_leave. */
int sock_dgram_join(struct sock *s, rte_be32_t group, rte_be32_t source, bool on);

/*
 * As udp_send. What waits for a neighbour's address has been sent, as far as who sends is told; an error comes later, to those that are
 * connected. flags: MSG_DONTWAIT. -EAGAIN: the card takes no more, and with SO_SNDTIMEO took none for so long; -EINTR; -EPIPE.
 */
ssize_t sock_dgram_send(struct sock *s, const struct iovec *iov, int n, int flags, const struct udp_tx *tx);
/* As udp_recv; it does not wait. -ESHUTDOWN: there is nothing, and never will be. */
ssize_t sock_dgram_recv(struct sock *s, const struct iovec *iov, int n, int flags, struct udp_meta *meta);
int sock_dgram_shutdown(struct sock *s, int how);
/* SO_ERROR of this half; 0: none. */
int sock_dgram_error(struct sock *s);
/* Octets of the next datagram, -1: none is there. */
int sock_dgram_inq(struct sock *s);
uint32_t sock_dgram_drops(struct sock *s);
/* What udp_opt_set knows. */
int sock_dgram_opt(struct sock *s, int level, int name, int value);

/* Its other half is a socket of the operating system; -1: it has none any more. */
int sock_dgram_os(struct sock *s, int fd);
/* It may have a datagram or an error; the answer is true once. */
bool sock_dgram_os_take(struct sock *s);
/* What it has now. */
void sock_dgram_os_has(struct sock *s, bool data, bool error);
/* It has an error. */
bool sock_dgram_os_bad(const struct sock *s);
/* It has the operating system's half alone, for as long as it is connected there. */
int sock_dgram_os_only(struct sock *s, bool on);

#endif /* SOCK_DGRAM_H */
