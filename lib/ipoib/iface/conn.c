/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "conn.h"

#include <stdlib.h>

static struct ipoib_conn *
conn_new(struct ipoib_core *c, struct ipoib_remote *r, bool passive, uint32_t mtu)
{
	struct ipoib_conn *conn = c->num_conns < IPOIB_CONNS ? calloc(1, sizeof(*conn)) : NULL;

	if (conn == NULL)
		return NULL;
	conn->remote = r;
	conn->passive = passive;
	conn->mtu = mtu;
	TAILQ_INSERT_TAIL(&c->conns, conn, next);
	c->num_conns++;
	return conn;
}

void
ipoib_conn_gone(struct ipoib_core *c, struct ipoib_conn *conn)
{
	TAILQ_REMOVE(&c->conns, conn, next);
	c->num_conns--;
	c->dirty = true;
	/* The snapshot in use points into it. */
	c->io.retire(c->io.arg, conn);
}

static void
close_one(struct ipoib_core *c, struct ipoib_conn *conn)
{
	struct ipoib_remote *r = conn->remote;

	if (conn->closing)
		return;
	conn->closing = true;
	c->dirty = true;
	c->stats.conns_closed += conn->up;
	if (r != NULL && r->conn == conn)
		r->conn = NULL;
	c->io.conn_close(c->io.arg, conn);
}

/* --- to send by ------------------------------------------------------------------------------------------------------- */

bool
ipoib_conn_wanted(const struct ipoib_core *c, const struct ipoib_remote *r)
{
	return c->conf.connected && c->up && r->conn == NULL && (r->hw.b[0] & IPOIB_HW_RC) != 0 &&
	       r->state == IPOIB_PATH_KNOWN && c->now_ms >= r->conn_hold_ms;
}

static void
hold(struct ipoib_core *c, struct ipoib_remote *r, bool refused)
{
	r->conn_refused = refused;
	r->conn_backoff_ms =
		r->conn_backoff_ms == 0 ? IPOIB_CM_HOLD_MS : RTE_MIN(2 * r->conn_backoff_ms, IPOIB_CM_HOLD_MAX_MS);
	r->conn_hold_ms = c->now_ms + r->conn_backoff_ms;
	c->conn_hold_ms = RTE_MIN(c->conn_hold_ms, r->conn_hold_ms);
	c->dirty = true;
}

static void
ask(struct ipoib_core *c, struct ipoib_remote *r)
{
	struct ipoib_conn *conn = conn_new(c, r, false, 0);

	if (conn == NULL) {
		hold(c, r, true);
		return;
	}
	r->conn = conn;
	c->dirty = true;
	c->stats.conns_asked++;
	if (c->io.conn_open(c->io.arg, conn) == 0)
		return;
	c->stats.conns_failed++;
	r->conn = NULL;
	hold(c, r, true);
	ipoib_conn_gone(c, conn);
}

/*
 * Who offers connections and does not answer is most likely away for a moment. A sender that is told of a shorter path then
 * goes by that for minutes (RFC 1191, 6.3), long after the peer is back.
 */
static bool
silent(const struct ipoib_core *c, const struct ipoib_remote *r)
{
	return c->conf.connected && (r->hw.b[0] & IPOIB_HW_RC) != 0 && c->now_ms < r->conn_hold_ms && !r->conn_refused;
}

bool
ipoib_conn_send(struct ipoib_core *c, struct ipoib_remote *r, struct rte_mbuf *m)
{
	uint32_t len = m->pkt_len - IPOIB_ENCAP_LEN;

	if (ipoib_conn_wanted(c, r))
		ask(c, r);
	if (len <= c->mtu)
		return false;
	if (r->conn == NULL && silent(c, r)) {
		ipoib_drop(c, IPOIB_DROP_TX_NO_CONN, m);
	} else if (r->conn == NULL) {
		ipoib_too_big(c, r, m, c->mtu);
	} else if (!r->conn->up) {
		ipoib_wait_put(c, &r->wait, m);
	} else if (len > r->conn->mtu) {
		ipoib_too_big(c, r, m, r->conn->mtu);
	} else {
		r->conn->touched = 1;
		c->io.conn_send(c->io.arg, r->conn, m);
	}
	return true;
}

void
ipoib_conn_up(struct ipoib_core *c, struct ipoib_conn *conn, uint32_t qpn, uint32_t mtu)
{
	struct ipoib_remote *r = conn->remote;

	conn->qpn = qpn;
	conn->mtu = RTE_MIN(mtu, c->conf.cm_mtu);
	conn->up = true;
	conn->touched = 1;
	c->dirty = true;
	if (conn->passive) {
		c->stats.conns_accepted++;
		return;
	}
	c->stats.conns_up++;
	r->conn_backoff_ms = 0;
	ipoib_remote_wait_again(c, r);
}

void
ipoib_conn_over(struct ipoib_core *c, struct ipoib_conn *conn, bool refused)
{
	struct ipoib_remote *r = conn->remote;
	bool mine = r != NULL && r->conn == conn;

	if (conn->closing)
		return;
	c->stats.conns_refused += refused;
	c->stats.conns_failed += !refused && !conn->up;
	close_one(c, conn);
	if (!mine)
		return;
	/* It may come again at once when it was in use; who does not answer or refuses is left in peace for a while. */
	if (!conn->up)
		hold(c, r, refused);
	ipoib_remote_wait_again(c, r);
}

/* --- that peers send by ----------------------------------------------------------------------------------------------- */

struct ipoib_conn *
ipoib_conn_request(struct ipoib_core *c, const struct ipoib_hw *hw, uint32_t mtu)
{
	struct ipoib_conn *conn = NULL;
	struct ipoib_remote *r;

	if (c->conf.connected && !c->conf.refuse_incoming && c->up && ipoib_hw_valid(hw)) {
		r = ipoib_remote_get(c, hw);
		conn = r != NULL ? conn_new(c, r, true, mtu) : NULL;
	}
	c->stats.conns_declined += conn == NULL;
	return conn;
}

struct ipoib_remote *
ipoib_conn_sender(struct ipoib_core *c, uint32_t qpn)
{
	struct ipoib_conn *conn;

	TAILQ_FOREACH(conn, &c->conns, next)
	{
		if (conn->passive && conn->up && conn->qpn == qpn)
			return conn->remote;
	}
	return NULL;
}

/* --- when others change ----------------------------------------------------------------------------------------------- */

void
ipoib_conn_moved(struct ipoib_core *c, struct ipoib_remote *r)
{
	if (r->conn != NULL)
		close_one(c, r->conn);
}

void
ipoib_conn_forget(struct ipoib_core *c, struct ipoib_remote *r)
{
	struct ipoib_conn *conn;

	TAILQ_FOREACH(conn, &c->conns, next)
	{
		if (conn->remote != r)
			continue;
		close_one(c, conn);
		conn->remote = NULL;
	}
}

void
ipoib_conns_close(struct ipoib_core *c)
{
	struct ipoib_conn *conn;

	TAILQ_FOREACH(conn, &c->conns, next)
	close_one(c, conn);
}

void
ipoib_conns_age(struct ipoib_core *c)
{
	struct ipoib_conn *conn;

	TAILQ_FOREACH(conn, &c->conns, next)
	{
		conn->idle = conn->touched != 0 ? 0 : conn->idle + 1;
		if (conn->touched != 0 && conn->remote != NULL)
			conn->remote->touched = 1;
		conn->touched = 0;
		if (!conn->up || conn->idle < c->conf.age)
			continue;
		c->stats.aged += !conn->closing;
		close_one(c, conn);
	}
}

/* Peers whose time is over may be asked again: the datapath hears of it by its snapshot. */
void
ipoib_conns_tick(struct ipoib_core *c)
{
	unsigned int i;

	if (c->now_ms < c->conn_hold_ms)
		return;
	c->dirty = true;
	c->conn_hold_ms = UINT64_MAX;
	for (i = 0; i < IPOIB_REMOTES; i++) {
		const struct ipoib_remote *r = c->remote[i];

		if (r != NULL && r->conn_hold_ms > c->now_ms)
			c->conn_hold_ms = RTE_MIN(c->conn_hold_ms, r->conn_hold_ms);
	}
}
