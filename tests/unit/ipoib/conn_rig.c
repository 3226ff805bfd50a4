/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections between the rig's interfaces: a pair of ends, whose words take as long as the administrator's. */
#include <errno.h>
#include <stdlib.h>

#include "link_rig.h"

#define FIRST_QPN 0x400u

struct word {
	uint64_t at;
	unsigned int node;
	enum { OPENED, REFUSED, PEER_GONE, GONE } what;
	struct ipoib_conn *conn;
};
static struct word words[RIG_QUEUE];
static unsigned int num_words;
static uint32_t next_qpn = FIRST_QPN;

/* Ends that belong together. */
static struct {
	struct ipoib_conn *end[2];
	unsigned int node[2];
} pairs[RIG_QUEUE];
static unsigned int num_pairs;

static struct word *
say(struct rig_node *n, int what, struct ipoib_conn *conn)
{
	assert_true(num_words < RIG_QUEUE);
	words[num_words] =
		(struct word){.at = n->rig->now + n->rig->sa_delay, .node = n->index, .what = what, .conn = conn};
	return &words[num_words++];
}

/* The other end; NULL: it is gone. */
static struct ipoib_conn *
other(const struct ipoib_conn *conn, unsigned int *node, bool forget)
{
	unsigned int i, k;

	for (i = 0; i < num_pairs; i++) {
		for (k = 0; k < 2; k++) {
			struct ipoib_conn *peer = pairs[i].end[1 - k];

			if (pairs[i].end[k] != conn)
				continue;
			*node = pairs[i].node[1 - k];
			if (forget)
				pairs[i] = pairs[--num_pairs];
			return peer;
		}
	}
	return NULL;
}

int
rig_conn_open(void *arg, struct ipoib_conn *conn)
{
	struct rig_node *n = arg;

	n->conns_asked++;
	if (n->rig->cm_call != 0)
		return n->rig->cm_call;
	if (!n->rig->cm_silent)
		say(n, OPENED, conn);
	return 0;
}

void
rig_conn_close(void *arg, struct ipoib_conn *conn)
{
	struct rig_node *n = arg;
	struct ipoib_conn *peer;
	unsigned int node, i;

	assert_true(conn->closing);
	for (i = 0; i < num_words;) {
		if (words[i].conn == conn)
			words[i] = words[--num_words];
		else
			i++;
	}
	peer = other(conn, &node, true);
	if (peer != NULL)
		say(&n->rig->node[node], PEER_GONE, peer);
	say(n, GONE, conn);
}

void
rig_conn_send(void *arg, struct ipoib_conn *conn, struct rte_mbuf *m)
{
	struct rig_node *n = arg;
	unsigned int node = 0;
	struct ipoib_conn *peer = other(conn, &node, false);

	assert_true(conn->up && !conn->closing && !conn->passive);
	n->conn_sent++;
	if (peer != NULL) {
		const struct ipoib_meta meta = {.by_conn = peer->qpn};
		struct rte_mbuf *copy = rte_pktmbuf_copy(m, n->rig->pool, 0, UINT32_MAX);

		assert_non_null(copy);
		assert_non_null(rte_pktmbuf_prepend(copy, IB_GRH_LEN));
		ipoib_core_rx(n->rig->node[node].core, copy, &meta);
	}
	rte_pktmbuf_free(m);
}

/* The request comes to the peer, whose answer is here at once. */
static void
opened(struct rig *r, unsigned int from, struct ipoib_conn *conn)
{
	struct ipoib_hw hw = ipoib_own_hw(r->node[from].core);
	struct ipoib_conn *peer = NULL;
	unsigned int i;

	for (i = 0; i < RIG_NODES; i++) {
		struct ipoib_core *c = r->node[i].core;

		if (memcmp(c->place.gid, ipoib_hw_gid(&conn->remote->hw), 16) == 0 && c->place.active) {
			peer = ipoib_conn_request(c, &hw, r->node[from].core->conf.cm_mtu);
			break;
		}
	}
	if (peer == NULL) {
		ipoib_conn_over(r->node[from].core, conn, true);
		return;
	}
	assert_true(num_pairs < RIG_QUEUE);
	pairs[num_pairs].end[0] = conn;
	pairs[num_pairs].end[1] = peer;
	pairs[num_pairs].node[0] = from;
	pairs[num_pairs++].node[1] = i;
	ipoib_conn_up(r->node[i].core, peer, next_qpn++, r->node[from].core->conf.cm_mtu);
	ipoib_conn_up(r->node[from].core, conn, next_qpn++, r->node[i].core->conf.cm_mtu);
}

void
rig_conns_run(struct rig *r)
{
	unsigned int i;

	for (i = 0; i < num_words;) {
		struct word w = words[i];

		if (w.at > r->now) {
			i++;
			continue;
		}
		words[i] = words[--num_words];
		if (w.what == OPENED)
			opened(r, w.node, w.conn);
		else if (w.what == GONE)
			ipoib_conn_gone(r->node[w.node].core, w.conn);
		else
			ipoib_conn_over(r->node[w.node].core, w.conn, false);
		i = 0;
	}
}

void
rig_conns_end(struct rig *r)
{
	r->now += r->sa_delay;
	while (num_words != 0) {
		rig_conns_run(r);
		r->now += r->sa_delay;
	}
	assert_int_equal(num_pairs, 0);
}
