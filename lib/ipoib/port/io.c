/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What an interface asks the subnet administrator and the card for. Answers come in other threads and with others' locks held:
 * they are noted here, and the control thread passes them on.
 */
#include <errno.h>
#include <stdlib.h>

#include "tp_sa.h"
#include "cm.h"
#include "port.h"
#include "tp_roce.h"

struct ipoib_answer {
	TAILQ_ENTRY(ipoib_answer) next; /* of asked, then of answers */
	struct ipoib_port *port;
	bool is_path;
	uint32_t token;
	int status;
	union {
		struct tp_sa_path path;
		struct tp_sa_member member;
	};
};

static struct ipoib_answer *
question(struct ipoib_port *p, bool is_path, uint32_t token)
{
	struct ipoib_answer *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->port = p;
	a->is_path = is_path;
	a->token = token;
	pthread_mutex_lock(&p->answer_lock);
	TAILQ_INSERT_TAIL(&p->asked, a, next);
	pthread_mutex_unlock(&p->answer_lock);
	return a;
}

static void
question_drop(struct ipoib_port *p, struct ipoib_answer *a)
{
	pthread_mutex_lock(&p->answer_lock);
	TAILQ_REMOVE(&p->asked, a, next);
	pthread_mutex_unlock(&p->answer_lock);
	free(a);
}

static void
answered(struct ipoib_answer *a, int status)
{
	struct ipoib_port *p = a->port;

	a->status = status;
	pthread_mutex_lock(&p->answer_lock);
	TAILQ_REMOVE(&p->asked, a, next);
	TAILQ_INSERT_TAIL(&p->answers, a, next);
	pthread_mutex_unlock(&p->answer_lock);
}

static void
path_cb(void *arg, int status, const struct tp_sa_path *path)
{
	struct ipoib_answer *a = arg;

	if (status == 0)
		a->path = *path;
	answered(a, status);
}

static void
member_cb(void *arg, int status, const struct tp_sa_member *member)
{
	struct ipoib_answer *a = arg;

	if (status == 0)
		a->member = *member;
	answered(a, status);
}

static int
io_path(void *arg, const uint8_t dgid[16], uint32_t token)
{
	struct ipoib_port *p = arg;
	struct ipoib_answer *a = question(p, true, token);
	union ibv_gid gid;
	int ret;

	if (a == NULL)
		return -ENOMEM;
	memcpy(gid.raw, dgid, sizeof(gid.raw));
	ret = tp_sa_path(ipoib_device_sa(p->device), &gid, p->pkey_used, path_cb, a);
	if (ret != 0)
		question_drop(p, a);
	return ret;
}

static int
io_join(void *arg, const struct tp_sa_member *want, uint64_t mask, uint32_t token)
{
	struct ipoib_port *p = arg;
	struct ipoib_answer *a = question(p, false, token);
	int ret;

	if (a == NULL)
		return -ENOMEM;
	ret = tp_sa_join(ipoib_device_sa(p->device), want, mask, member_cb, a);
	if (ret != 0)
		question_drop(p, a);
	return ret;
}

static void
io_leave(void *arg, const uint8_t mgid[16], uint8_t join_state)
{
	struct ipoib_port *p = arg;
	union ibv_gid gid;

	memcpy(gid.raw, mgid, sizeof(gid.raw));
	tp_sa_leave(ipoib_device_sa(p->device), &gid, join_state, NULL, NULL);
}

static int
io_attach(void *arg, const uint8_t mgid[16], uint16_t mlid)
{
	struct ipoib_port *p = arg;
	union ibv_gid gid;

	memcpy(gid.raw, mgid, sizeof(gid.raw));
	return -tp_roce_attach_mcast(p->qp, &gid, mlid);
}

static void
io_detach(void *arg, const uint8_t mgid[16], uint16_t mlid)
{
	struct ipoib_port *p = arg;
	union ibv_gid gid;

	memcpy(gid.raw, mgid, sizeof(gid.raw));
	tp_roce_detach_mcast(p->qp, &gid, mlid);
}

static struct ibv_ah *
io_ah_create(void *arg, const struct ibv_ah_attr *attr)
{
	struct ipoib_port *p = arg;
	struct ibv_ah_attr copy = *attr;

	return tp_roce_create_ah(p->pd, &copy);
}

static void
retire(struct ipoib_port *p, struct ibv_ah *ah, void *memory)
{
	struct ipoib_retired *r = malloc(sizeof(*r));

	if (r == NULL) {
		/* Rather a leak than memory that a burst still reads. */
		IPOIB_LOG(ERR, "port %u: no memory to put an object aside", p->port_id);
		return;
	}
	*r = (struct ipoib_retired){.next = p->retired, .ah = ah, .memory = memory};
	p->retired = r;
}

static void
io_ah_retire(void *arg, struct ibv_ah *ah)
{
	retire(arg, ah, NULL);
}

static void
io_retire(void *arg, void *memory)
{
	retire(arg, NULL, memory);
}

static void
io_send(void *arg, struct ibv_ah *ah, uint32_t qpn, struct rte_mbuf *m)
{
	ipoib_slow_send(arg, ah, qpn, m);
}

static void
io_deliver(void *arg, struct rte_mbuf *m)
{
	struct ipoib_port *p = arg;

	m->port = p->port_id;
	m->ol_flags = 0;
	if (rte_ring_sp_enqueue(p->rxq[ipoib_rss_serving(p, p->deliver_to)]->inject, m) != 0)
		ipoib_drop(&p->core, IPOIB_DROP_RX_RING_FULL, m);
}

static void
io_link(void *arg, const struct tp_sa_member *broadcast)
{
	struct ipoib_port *p = arg;

	if (broadcast != NULL) {
		int ret = ipoib_queues_qkey(p, broadcast->qkey);

		if (ret != 0)
			IPOIB_LOG(ERR, "port %u: Q_Key 0x%x is refused: %s", p->port_id, broadcast->qkey,
				  strerror(-ret));
		else if (p->core.mtu < p->mtu && !p->mtu_open)
			IPOIB_LOG(NOTICE, "port %u: the broadcast group takes %u octets, less than the MTU of %u",
				  p->port_id, p->core.mtu, p->mtu);
		/* Applications ask for it; one that they set stays what they set. */
		if (p->mtu_open && !p->conf.connected)
			p->eth->data->mtu = (uint16_t)p->core.mtu;
	}
	ipoib_link_update(p);
}

static int
io_conn_open(void *arg, struct ipoib_conn *conn)
{
	return ipoib_cm_conn_open(arg, conn);
}

static void
io_conn_close(void *arg, struct ipoib_conn *conn)
{
	ipoib_cm_conn_close(arg, conn);
}

static void
io_conn_send(void *arg, struct ipoib_conn *conn, struct rte_mbuf *m)
{
	ipoib_cm_send(arg, conn, m);
}

void
ipoib_io_init(struct ipoib_port *p, struct ipoib_io *io)
{
	*io = (struct ipoib_io){
		.arg = p,
		.path = io_path,
		.join = io_join,
		.leave = io_leave,
		.attach = io_attach,
		.detach = io_detach,
		.ah_create = io_ah_create,
		.ah_retire = io_ah_retire,
		.retire = io_retire,
		.send = io_send,
		.deliver = io_deliver,
		.link = io_link,
		.conn_open = io_conn_open,
		.conn_close = io_conn_close,
		.conn_send = io_conn_send,
	};
}

static struct ipoib_answer *
answer_take(struct ipoib_port *p)
{
	struct ipoib_answer *a;

	pthread_mutex_lock(&p->answer_lock);
	a = TAILQ_FIRST(&p->answers);
	if (a != NULL)
		TAILQ_REMOVE(&p->answers, a, next);
	pthread_mutex_unlock(&p->answer_lock);
	return a;
}

/* A burst of each queue's packets. */
static unsigned int
handed_over(struct ipoib_port *p)
{
	struct rte_mbuf *m[IPOIB_BURST];
	unsigned int done = 0, n, i, k;

	for (k = 0; k < p->num_rx; k++) {
		n = rte_ring_sc_dequeue_burst(p->rxq[k]->slow, (void **)m, IPOIB_BURST, NULL);
		p->deliver_to = (uint16_t)k;
		for (i = 0; i < n; i++) {
			struct ipoib_meta meta = *ipoib_meta_of(m[i]);

			ipoib_core_rx(&p->core, m[i], &meta);
		}
		done += n;
	}
	p->deliver_to = 0;
	for (k = 0; k < p->num_tx; k++) {
		n = rte_ring_sc_dequeue_burst(p->txq[k]->slow, (void **)m, IPOIB_BURST, NULL);
		for (i = 0; i < n; i++)
			ipoib_core_tx(&p->core, m[i]);
		done += n;
	}
	return done;
}

unsigned int
ipoib_io_work(struct ipoib_port *p)
{
	struct ipoib_answer *a;
	unsigned int done = 0;

	while ((a = answer_take(p)) != NULL) {
		if (a->is_path)
			ipoib_core_path(&p->core, a->token, a->status, &a->path);
		else
			ipoib_core_member(&p->core, a->token, a->status, &a->member);
		free(a);
		done++;
	}
	done += handed_over(p);
	ipoib_slow_reap(p);
	return done + ipoib_cm_work(p);
}

void
ipoib_io_cancel(struct ipoib_port *p)
{
	struct ipoib_answer *a;

	/* Without our lock: who calls back holds another one and waits for ours. */
	for (;;) {
		pthread_mutex_lock(&p->answer_lock);
		a = TAILQ_FIRST(&p->asked);
		pthread_mutex_unlock(&p->answer_lock);
		if (a == NULL)
			break;
		if (tp_sa_cancel(ipoib_device_sa(p->device), a) != 0)
			question_drop(p, a);
	}
	while ((a = answer_take(p)) != NULL)
		free(a);
}
