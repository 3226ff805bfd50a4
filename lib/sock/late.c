/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Datagrams that wait for a neighbour's address, as Linux keeps them: who sent one does not wait. */
#include <stdlib.h>
#include <string.h>

#include "dgram_priv.h"

#define LATE_MAX 128u

static void
forget(struct sock_udp *u, struct sock_late *l)
{
	struct sock *s = l->s;

	STAILQ_REMOVE(&u->late, l, sock_late, next);
	u->num_late--;
	free(l);
	if (--s->late == 0 && s->closed)
		sock_dgram_free(s);
}

int
sock_late_add(struct sock *s, const struct iovec *iov, int n, const struct udp_tx *tx)
{
	struct sock_udp *u = s->net->udp;
	struct tcp_addr local, remote;
	struct sock_late *l;
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	l = malloc(sizeof(*l) + len);
	if (l == NULL)
		return -ENOMEM;
	udp_addrs(s->udp, &local, &remote);
	*l = (struct sock_late){.s = s, .to = remote, .ttl = -1, .tos = -1};
	if (tx != NULL) {
		l->to = tx->to != NULL ? *tx->to : remote;
		l->from = tx->from;
		l->ttl = tx->ttl;
		l->tos = tx->tos;
	}
	for (int i = 0; i < n; i++) {
		memcpy(l->data + l->len, iov[i].iov_base, iov[i].iov_len);
		l->len += iov[i].iov_len;
	}
	if (u->num_late == LATE_MAX)
		forget(u, STAILQ_FIRST(&u->late));
	STAILQ_INSERT_TAIL(&u->late, l, next);
	u->num_late++;
	s->late++;
	if (s->net->sleeping && s->net->now + SOCK_RESOLVE_US < s->net->until)
		sock_wake(s->net);
	return 0;
}

void
sock_late_look(struct sock_net *n)
{
	struct sock_late *l, *next;
	struct tcp_addr local, remote;

	for (l = STAILQ_FIRST(&n->udp->late); l != NULL; l = next) {
		const struct udp_tx tx = {.to = &l->to, .from = l->from, .ttl = l->ttl, .tos = l->tos};
		const struct iovec iov = {l->data, l->len};
		const ssize_t rc = udp_send(l->s->udp, &iov, 1, &tx);

		next = STAILQ_NEXT(l, next);
		if (rc == -EAGAIN || rc == -ENOBUFS)
			continue;
		/* Nobody answers: one that is connected there hears of it. */
		udp_addrs(l->s->udp, &local, &remote);
		if (rc < 0 && remote.ip == l->to.ip && remote.port == l->to.port) {
			l->s->err = (int)-rc;
			sock_changed(l->s);
		}
		forget(n->udp, l);
	}
}

void
sock_late_drop(struct sock_net *n, const struct sock *s)
{
	struct sock_late *l, *next;

	for (l = STAILQ_FIRST(&n->udp->late); l != NULL; l = next) {
		next = STAILQ_NEXT(l, next);
		if (s != NULL ? l->s == s : l->s->closed)
			forget(n->udp, l);
	}
}
