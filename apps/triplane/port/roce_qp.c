/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs of the program: made and changed by the main lcore. */
#include <errno.h>
#include <string.h>

#include "apps/roce_common/end.h"

#include "roce.h"

#define RD_ATOMIC 4u    /* READs at a time */
#define RETRIES 7u      /* 7 for a receiver that is not ready: for ever */
#define ACK_TIMEOUT 17u /* half a second, like the connection manager's: an end may have no CPU for a while */
#define QKEY 0x11111111u

/* The attributes that do not come from the user. */
static int
conf_of(const struct roce_qp *q, struct rqp_conf *conf)
{
	struct ibv_port_attr port;
	int err = tp_roce_query_port(q->port->ctx, 1, &port);

	*conf = (struct rqp_conf){.type = q->type,
				  .timeout = ACK_TIMEOUT,
				  .retry_cnt = RETRIES,
				  .rnr_retry = RETRIES,
				  .rd_atomic = RD_ATOMIC,
				  .dest_rd_atomic = RD_ATOMIC,
				  .access = IBV_ACCESS_LOCAL_WRITE,
				  .qkey = QKEY};
	if (q->type != IBV_QPT_UD)
		conf->access |= IBV_ACCESS_REMOTE_WRITE;
	if (q->type == IBV_QPT_RC)
		conf->access |= IBV_ACCESS_REMOTE_READ;
	if (err != 0)
		return app_err(-err, "port %u: %s", q->port->id, strerror(err));
	conf->mtu = port.active_mtu;
	return 0;
}

/* Nothing is posted or polled any more, and nobody will: as after RESET. */
static void
forget(struct roce_qp *q)
{
	q->receives = false;
	q->rx_posted = q->rx_done = q->tx_posted = q->tx_done = 0;
	q->tx_seq = q->rx_seq = 0;
	q->peer.known = q->peer.memory = false;
	q->traffic.on = false;
}

static int
to_init(struct roce_qp *q)
{
	struct rqp_conf conf;
	int ret = conf_of(q, &conf);

	if (ret == 0)
		ret = rqp_init(q->qp, &conf);
	if (ret != 0)
		return ret;
	rte_spinlock_lock(&q->port->lock);
	q->receives = true;
	rte_spinlock_unlock(&q->port->lock);
	return 0;
}

/* Memory, completions and the pair itself; what is there after a failure is the caller's to free. */
static int
make(struct roce_qp *q)
{
	const size_t len = (size_t)q->depth * (2 * q->size + sizeof(struct ibv_grh)) + q->size;
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_qp_init_attr attr = {
		.qp_type = q->type,
		.cap = {.max_send_wr = q->depth, .max_recv_wr = q->depth, .max_send_sge = 1, .max_recv_sge = 1}};
	struct roce_port *r = q->port;

	q->mem = rend_alloc(len);
	if (q->mem == NULL)
		return app_err(-ENOMEM, "port %u: no memory for %zu octets of messages; want a smaller size or depth",
			       r->id, len);
	q->mr = tp_roce_reg_mr(r->pd, q->mem, len, access);
	if (q->mr == NULL)
		return app_err(-errno, "port %u: registration of %zu octets: %s", r->id, len, strerror(errno));
	q->cq = tp_roce_create_cq(r->ctx, (int)(2 * q->depth), NULL, NULL, 0);
	if (q->cq == NULL)
		return app_err(-errno, "port %u: completion queue: %s", r->id, strerror(errno));
	attr.send_cq = attr.recv_cq = q->cq;
	q->qp = tp_roce_create_qp(r->pd, &attr);
	if (q->qp == NULL)
		return app_err(-errno, "port %u: queue pair: %s", r->id, strerror(errno));
	return 0;
}

static int
unmake(struct roce_qp *q)
{
	int err = 0;

	if (q->ah != NULL)
		err = tp_roce_destroy_ah(q->ah);
	if (err == 0 && q->qp != NULL)
		err = tp_roce_destroy_qp(q->qp);
	if (err == 0 && q->cq != NULL)
		err = tp_roce_destroy_cq(q->cq);
	if (err == 0 && q->mr != NULL)
		err = tp_roce_dereg_mr(q->mr);
	/* Memory that the home still has must not be used by anybody else. */
	if (err == 0)
		rend_free(q->mem);
	else
		err = app_err(-err, "port %u: queue pair: %s", q->port->id, strerror(err));
	free(q);
	return err;
}

static struct roce_qp *
by_id(const struct roce_port *r, unsigned int id)
{
	struct roce_qp *q;

	TAILQ_FOREACH(q, &r->qps, next)
	if (q->id == id)
		break;
	return q;
}

struct roce_qp *
roce_qp_create(struct roce_port *r, enum ibv_qp_type type, uint32_t size, uint32_t depth)
{
	struct roce_qp *q = calloc(1, sizeof(*q));

	if (q == NULL) {
		app_err(-ENOMEM, "port %u: no memory for a queue pair", r->id);
		return NULL;
	}
	q->port = r;
	q->type = type;
	q->size = size;
	q->depth = depth;
	while (by_id(r, q->id) != NULL)
		q->id++;
	if (make(q) != 0 || to_init(q) != 0) {
		(void)unmake(q);
		return NULL;
	}
	rte_spinlock_lock(&r->lock);
	TAILQ_INSERT_TAIL(&r->qps, q, next);
	rte_spinlock_unlock(&r->lock);
	return q;
}

int
roce_qp_destroy(struct roce_qp *q)
{
	struct roce_port *r = q->port;

	rte_spinlock_lock(&r->lock);
	TAILQ_REMOVE(&r->qps, q, next);
	rte_spinlock_unlock(&r->lock);
	return unmake(q);
}

void
roce_qps_destroy(struct roce_port *r)
{
	struct roce_qp *q, *next;

	for (q = TAILQ_FIRST(&r->qps); q != NULL; q = next) {
		next = TAILQ_NEXT(q, next);
		(void)roce_qp_destroy(q);
	}
}

struct roce_qp *
roce_qp_find(const struct roce_port *r, unsigned int id)
{
	struct roce_qp *q = by_id(r, id);

	if (q == NULL)
		app_err(-ENOENT, "port %u: no queue pair %u; 'show roce qp %u' lists them", r->id, id, r->id);
	return q;
}

/* --- connections --- */

static bool
is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

static bool
is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* An own GID that goes with a peer's: of its kind, and of the type that the port sends. */
static bool
gid_fits(const struct roce_port *r, uint32_t i, const union ibv_gid *peer, struct ibv_gid_entry *e)
{
	uint32_t type = tp_roce_mode_get(r->ctx) == TP_ROCE_V2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;

	return tp_roce_query_gid_ex(r->ctx, 1, i, e) == 0 && e->gid_type == type &&
	       (peer == NULL || (is_ipv4(&e->gid) == is_ipv4(peer) && is_link_local(&e->gid) == is_link_local(peer)));
}

/* Its index, or -ENOENT. */
static int
gid_for(const struct roce_port *r, const union ibv_gid *peer, struct ibv_gid_entry *e)
{
	uint32_t i;

	for (i = 0; i < TP_ROCE_GIDS; i++)
		if (gid_fits(r, i, peer, e))
			return (int)i;
	return -ENOENT;
}

int
roce_qp_connect(struct roce_qp *q, const struct roce_peer *peer)
{
	const struct rdest mine = {.psn = peer->sq_psn},
			   theirs = {.qpn = peer->qpn, .psn = peer->rq_psn, .gid = peer->gid};
	struct rend end = {.port = {.ctx = q->port->ctx}};
	struct ibv_gid_entry own;
	struct rqp_conf conf;
	char text[64];
	int ret = peer->own_gid >= 0 ? peer->own_gid : gid_for(q->port, &peer->gid, &own);

	if (ret < 0)
		return app_err(ret, "port %u has no address to reach %s from; 'roce addr add %u ...' first",
			       q->port->id, rend_gid_str(&peer->gid, text), q->port->id);
	end.port.gid_index = (uint8_t)ret;
	ret = conf_of(q, &conf);
	if (ret == 0)
		ret = rqp_connect(&end, q->qp, &conf, &mine, &theirs, &q->ah);
	if (ret != 0)
		return ret;
	rte_spinlock_lock(&q->port->lock);
	q->peer.known = true;
	q->peer.qpn = peer->qpn;
	q->peer.gid = peer->gid;
	rte_spinlock_unlock(&q->port->lock);
	return 0;
}

static void
peer_memory(struct roce_qp *q, const struct roce_qp *of)
{
	rte_spinlock_lock(&q->port->lock);
	q->peer.memory = true;
	q->peer.addr = (uintptr_t)roce_qp_target(of);
	q->peer.rkey = of->mr->rkey;
	rte_spinlock_unlock(&q->port->lock);
}

/* An address of each port, of one kind. Link-local ones are there without being declared: the last choice. */
static bool
common_gids(const struct roce_port *a, const struct roce_port *b, union ibv_gid *of_a, union ibv_gid *of_b)
{
	struct ibv_gid_entry ea, eb;
	uint32_t i;

	for (i = 0; i < 2 * TP_ROCE_GIDS; i++) {
		if (!gid_fits(a, i % TP_ROCE_GIDS, NULL, &ea) || (i < TP_ROCE_GIDS && is_link_local(&ea.gid)) ||
		    gid_for(b, &ea.gid, &eb) < 0)
			continue;
		*of_a = ea.gid;
		*of_b = eb.gid;
		return true;
	}
	return false;
}

int
roce_qp_pair(struct roce_qp *a, struct roce_qp *b)
{
	struct roce_peer of_a = {.qpn = b->qp->qp_num, .own_gid = -1}, of_b = {.qpn = a->qp->qp_num, .own_gid = -1};
	int ret;

	if (!common_gids(a->port, b->port, &of_b.gid, &of_a.gid))
		return app_err(-ENOENT, "ports %u and %u have no addresses of one kind; 'roce addr add' first",
			       a->port->id, b->port->id);
	ret = roce_qp_connect(a, &of_a);
	if (ret == 0)
		ret = roce_qp_connect(b, &of_b);
	if (ret != 0)
		return ret;
	peer_memory(a, b);
	peer_memory(b, a);
	return 0;
}

int
roce_qp_state(struct roce_qp *q, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int err;

	rte_spinlock_lock(&q->port->lock);
	if (state != IBV_QPS_RTS)
		roce_traffic_stop(q);
	if (state == IBV_QPS_RESET || state == IBV_QPS_ERR)
		q->receives = false;
	rte_spinlock_unlock(&q->port->lock);
	err = tp_roce_modify_qp(q->qp, &attr, IBV_QP_STATE);
	if (err != 0)
		return app_err(-err, "port %u: queue pair %u: %s", q->port->id, q->id, strerror(err));
	if (state != IBV_QPS_RESET)
		return 0;
	if (q->ah != NULL && tp_roce_destroy_ah(q->ah) == 0)
		q->ah = NULL;
	rte_spinlock_lock(&q->port->lock);
	forget(q);
	rte_spinlock_unlock(&q->port->lock);
	return to_init(q);
}
