/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The calls of RFC 9293 3.10.1 to 3.10.6. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "tcp_priv.h"

struct tcp_conn *
tcp_listen(struct tcp_stack *s, const struct tcp_addr *local, uint32_t backlog, void *user, int *err)
{
	struct tcp_listener **at = &s->listener[rte_be_to_cpu_16(local->port) % TCP_LISTEN_BUCKETS], *l;

	*err = -EINVAL;
	if (local->port == 0 || backlog == 0 || backlog > 65535)
		return NULL;
	*err = -EADDRINUSE;
	for (l = *at; l != NULL; l = l->next)
		if (l->c.n.lport == local->port && l->c.n.laddr == local->ip)
			return NULL;
	*err = -ENOMEM;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	*err = 0;
	tcp_conn_presets(s, &l->c);
	l->c.n.laddr = local->ip;
	l->c.n.lport = local->port;
	l->c.n.state = TCP_LISTEN;
	l->c.user = user;
	l->c.listener = l;
	l->backlog = backlog;
	l->next = *at;
	*at = l;
	return &l->c;
}

/* RFC 6056 3.3.3: a start that depends on the peer and a secret, then the next ones. */
static int
choose_port(struct tcp_stack *s, struct tcp_node *n)
{
	const uint32_t range = (uint32_t)s->conf.port_max - s->conf.port_min + 1;
	const uint64_t a = (uint64_t)n->raddr << 32 | n->laddr;
	const uint32_t first = (uint32_t)tcp_siphash(s->key, a, n->rport);
	uint32_t i;

	for (i = 0; i < range; i++) {
		const uint32_t p = s->conf.port_min + (first + s->port_step++) % range;

		n->lport = rte_cpu_to_be_16((uint16_t)p);
		if (tcp_find(s, n->laddr, n->raddr, n->lport, n->rport) == NULL &&
		    tcp_find_listener(s, n->laddr, n->lport) == NULL)
			return 0;
	}
	return -EADDRNOTAVAIL;
}

struct tcp_conn *
tcp_connect(struct tcp_stack *s, const struct tcp_addr *local, const struct tcp_addr *remote, void *user, int *err)
{
	struct tcp_conn *c = tcp_conn_new(s, NULL);

	*err = s->conns >= s->conf.max_conns ? -ENFILE : -ENOMEM;
	if (c == NULL)
		return NULL;
	if (local != NULL) {
		c->n.laddr = local->ip;
		c->n.lport = local->port;
	}
	c->n.raddr = remote->ip;
	c->n.rport = remote->port;
	*err = remote->port == 0 || remote->ip == 0 ? -EINVAL : tcp_path_get(c);
	/* A neighbour that is not known yet: SYN goes out later, but the address must be known. */
	if (*err == -EAGAIN && c->n.laddr != 0)
		*err = 0;
	if (*err == 0 && c->n.lport == 0)
		*err = choose_port(s, &c->n);
	else if (*err == 0 && tcp_find(s, c->n.laddr, c->n.raddr, c->n.lport, c->n.rport) != NULL)
		*err = -EADDRINUSE;
	if (*err != 0) {
		tcp_conn_free(c);
		return NULL;
	}
	if (c->mtu == 0)
		c->mtu = 1500;
	c->user = user;
	tcp_enter(c, TCP_SYN_SENT);
	tcp_open(c, tcp_isn(s, &c->n));
	return c;
}

struct tcp_conn *
tcp_accept(struct tcp_conn *listener, void *user)
{
	struct tcp_listener *l = (struct tcp_listener *)listener;
	struct tcp_conn *c;

	if (listener->n.state != TCP_LISTEN || l->head == NULL)
		return NULL;
	c = l->head;
	l->head = c->accept_next;
	l->waiting--;
	l->ready--;
	c->accept_next = NULL;
	c->listener = NULL;
	c->in_accept = false;
	c->user = user;
	return c;
}

/* The window opens by two segments or half of the buffer: the peer should know (3.8.6.2.2). */
static __rte_noinline void
window_opens(struct tcp_conn *c)
{
	const uint32_t told = tcp_rx_told(c), more = RTE_MIN(2u * c->mss, c->rcvbuf / 2);

	if (!c->hashed || tcp_rx_window(c) < told + more || c->fin_rcvd)
		return;
	/* A peer that has half of it open needs no packet of its own for that. */
	if (told < c->rcvbuf / 2 || c->ack_delayed) {
		c->ack_now = true;
		tcp_dirty(c);
	}
}

static inline ssize_t
have_read(struct tcp_conn *c, uint32_t done)
{
	if (unlikely(c->rcvbuf >= c->rcv_queued + (c->rcv_adv - c->rcv_nxt) + RTE_MIN(2u * c->mss, c->rcvbuf / 2)) ||
	    unlikely(seq_lt(c->rcv_adv, c->rcv_nxt)))
		window_opens(c);
	return done;
}

static __rte_noinline ssize_t
recv_any(struct tcp_conn *c, const struct iovec *iov, int n, int flags)
{
	if (c->rx_head == NULL) {
		if (c->fin_rcvd || (c->read_shut && c->n.state != TCP_CLOSE))
			return 0;
		switch (c->n.state) {
		case TCP_SYN_SENT:
		case TCP_SYN_RECV:
		case TCP_ESTABLISHED:
		case TCP_FIN_WAIT1:
		case TCP_FIN_WAIT2: return -EAGAIN;
		case TCP_CLOSE: return tcp_told_error(c, 0);
		case TCP_LISTEN: return -ENOTCONN;
		default: return 0;
		}
	}
	return have_read(c, tcp_rx_copy(c, iov, n, (flags & MSG_PEEK) != 0));
}

ssize_t
tcp_recv(struct tcp_conn *c, const struct iovec *iov, int n, int flags)
{
	struct rte_mbuf *m = c->rx_head;
	uint32_t done;

	/* What one mbuf has. */
	if (unlikely(m == NULL || n != 1 || (flags & MSG_PEEK) != 0))
		return recv_any(c, iov, n, flags);
	if (iov->iov_len < m->data_len) {
		done = (uint32_t)iov->iov_len;
		memcpy(iov->iov_base, rte_pktmbuf_mtod(m, const void *), done);
		m->data_off += (uint16_t)done;
		m->data_len -= (uint16_t)done;
		c->rcv_queued -= done;
		return have_read(c, done);
	}
	done = m->data_len;
	if (m->next == NULL) {
		c->rx_head = c->rx_tail = NULL;
		c->rx_mbufs = c->rcv_queued = 0;
	} else if (iov->iov_len == done && m->pool != NULL) {
		c->rx_head = m->next;
		c->rx_mbufs -= c->rx_mbufs != 0;
		c->rcv_queued -= done;
	} else {
		return recv_any(c, iov, n, flags);
	}
	memcpy(iov->iov_base, rte_pktmbuf_mtod(m, const void *), done);
	rte_pktmbuf_free_seg(m);
	return have_read(c, done);
}

int
tcp_shutdown(struct tcp_conn *c, int how)
{
	switch (c->n.state) {
	case TCP_CLOSE:
	case TCP_LISTEN:
	case TCP_SYN_SENT: return -ENOTCONN;
	default: break;
	}
	/* As Linux has it: what came can be read, and what comes while our end is open. */
	if (how == SHUT_RD || how == SHUT_RDWR)
		c->read_shut = true;
	if (how == SHUT_RD || c->fin_wanted)
		return 0;
	c->fin_wanted = true;
	c->more = c->cork = false;
	if (c->unsent == NULL && tcp_flight(c) == 0)
		c->progress_us = c->s->now;
	if (c->n.state == TCP_ESTABLISHED)
		tcp_enter(c, TCP_FIN_WAIT1);
	else if (c->n.state == TCP_CLOSE_WAIT)
		tcp_enter(c, TCP_LAST_ACK);
	tcp_dirty(c);
	return 0;
}

static void
close_listener(struct tcp_listener *l)
{
	struct tcp_stack *s = l->c.s;
	struct tcp_listener **at = &s->listener[rte_be_to_cpu_16(l->c.n.lport) % TCP_LISTEN_BUCKETS];
	struct tcp_conn *c;
	uint32_t i;

	while (*at != NULL && *at != l)
		at = &(*at)->next;
	if (*at != NULL)
		*at = l->next;
	while ((c = tcp_accept(&l->c, NULL)) != NULL)
		tcp_abort(c);
	/* Those under way: 3.10.4 deletes them all. Rare, so the table is walked. */
	for (i = 0; l->waiting != 0 && i <= s->mask; i++) {
		struct tcp_node *n = s->table[i], *next;

		for (; n != NULL; n = next) {
			next = n->next;
			c = (struct tcp_conn *)n;
			if (n->kind != TCP_NODE_CONN || c->listener != l)
				continue;
			c->listener = NULL;
			l->waiting--;
			tcp_abort(c);
		}
	}
	free(l);
}

void
tcp_abort(struct tcp_conn *c)
{
	if (c->n.state == TCP_LISTEN) {
		close_listener((struct tcp_listener *)c);
		return;
	}
	/* 3.10.5: states in which the peer knows of us. */
	if (c->hashed && c->n.state != TCP_SYN_SENT)
		tcp_send_control(c, c->snd_nxt, RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG);
	c->orphan = true;
	tcp_end(c, 0, false);
}

void
tcp_close(struct tcp_conn *c)
{
	switch (c->n.state) {
	case TCP_LISTEN: close_listener((struct tcp_listener *)c); return;
	case TCP_CLOSE:
	case TCP_TIME_WAIT:
		c->orphan = true;
		tcp_rx_free(c);
		tcp_dirty(c);
		return;
	case TCP_SYN_SENT: tcp_abort(c); return;
	default: break;
	}
	if (c->rcv_queued != 0) {
		tcp_abort(c);
		return;
	}
	tcp_shutdown(c, SHUT_RDWR);
	c->orphan = true;
	tcp_note(c);
	if (c->n.state == TCP_FIN_WAIT2)
		tcp_timer(c, TCP_T_KEEP, c->s->now + c->linger2_s * TCP_US_PER_S);
}

int
tcp_error(struct tcp_conn *c)
{
	const int error = c->error;

	c->error = 0;
	return error;
}
