/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The exchange and the round trips. The server sends back what came, from where it came; so the client knows what must
 * come back, byte for byte, whoever the server is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "pingpong.h"
#include "apps/roce_common/stats.h"

#define GRH 40u /* in front of what UD receives */
#define SEND_DEPTH 64u
#define SIGNAL_EVERY 16u /* of the sends; a completion per message would be one more to poll */
#define QKEY 0x11111111u
#define RETRIES 7u
#define ALL_MAX (1u << 20)
#define LOST_US 5000000u /* no answer for so long: lost, where the transport does not repeat */

enum { WR_RECV = 1, WR_SEND };
#define WR_COUNT_SHIFT 8 /* of a send: so many are done with it */

struct pp {
	struct rend *e;
	const struct pp_conf *conf;
	enum ibv_qp_type type;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct rdest mine, theirs;
	uint8_t *rx, *tx;
	uint32_t max_size, hdr, inl;
	uint32_t posted_rx, unsignalled, in_sq; /* sends posted, completion not seen */
	uint64_t *times;
};

static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

static int
post_recv(struct pp *p, uint32_t n)
{
	struct ibv_sge sge = {(uintptr_t)p->rx, p->hdr + p->max_size, p->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = WR_RECV, .sg_list = &sge, .num_sge = 1}, *bad;
	int rc = 0;

	for (; n > 0 && rc == 0; n--) {
		rc = ibv_post_recv(p->qp, &wr, &bad);
		p->posted_rx += rc == 0;
	}
	return rc == 0 ? 0 : rend_fail(rc, "receive request: %s", strerror(rc));
}

static int
post_send(struct pp *p, const uint8_t *from, uint32_t size, bool last)
{
	struct ibv_sge sge = {(uintptr_t)from, size, p->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	int rc;

	if (++p->unsignalled == SIGNAL_EVERY || last) {
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr_id = WR_SEND | (uint64_t)p->unsignalled << WR_COUNT_SHIFT;
		p->unsignalled = 0;
	}
	if (size <= p->inl)
		wr.send_flags |= IBV_SEND_INLINE;
	if (p->type == IBV_QPT_UD) {
		wr.wr.ud.ah = p->ah;
		wr.wr.ud.remote_qpn = p->theirs.qpn;
		wr.wr.ud.remote_qkey = QKEY;
	}
	rc = ibv_post_send(p->qp, &wr, &bad);
	p->in_sq++;
	return rc == 0 ? 0 : rend_fail(rc, "send request of %u bytes: %s", size, strerror(rc));
}

/* Until a message has come, where one is to, and of those sent at most so many are under way. */
static int
await(struct pp *p, bool message, uint32_t size, uint32_t idle_us, uint32_t under_way)
{
	struct ibv_wc wc[4];
	bool came = !message;
	int n, i;

	while (!came || p->in_sq > under_way) {
		n = rend_wait(p->e, p->cq, p->channel, wc, 4, idle_us);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				return rend_wc_fail(&wc[i]);
			if (wc[i].wr_id != WR_RECV) {
				p->in_sq -= (uint32_t)(wc[i].wr_id >> WR_COUNT_SHIFT);
				continue;
			}
			if (wc[i].byte_len != size + p->hdr)
				return rend_fail(EPROTO, "%u bytes came, %u were to", wc[i].byte_len, size + p->hdr);
			p->posted_rx--;
			came = true;
		}
	}
	return 0;
}

static int
refill(struct pp *p)
{
	return p->posted_rx < p->conf->rx_depth / 2 ? post_recv(p, p->conf->rx_depth - p->posted_rx) : 0;
}

static int
lost(int rc, uint32_t i)
{
	return rc == -ETIMEDOUT ? rend_fail(ETIMEDOUT, "message %u or its answer is lost: nothing came for %u s", i + 1,
					    LOST_US / 1000000)
				: rc;
}

static int
client(struct pp *p, uint32_t size)
{
	const uint32_t idle = p->type == IBV_QPT_RC ? 0 : LOST_US;
	uint32_t i, k;
	uint64_t t;
	int rc;

	/* Zero where a page begins, which is what ibv_rc_pingpong looks at. */
	for (k = 0; k < size; k++)
		p->tx[k] = k % 4096 == 0 ? 0 : (uint8_t)(k * 31 + size);
	for (i = 0; i < p->conf->iters; i++) {
		t = rte_rdtsc();
		rc = post_send(p, p->tx, size, i + 1 == p->conf->iters);
		if (rc == 0)
			rc = lost(await(p, true, size, idle, SEND_DEPTH - 1), i);
		if (rc != 0)
			return rc;
		p->times[i] = rte_rdtsc() - t;
		if (p->conf->check != 0) {
			if (memcmp(p->rx + p->hdr, p->tx, size) != 0)
				return rend_fail(EILSEQ, "message %u of %u bytes came back changed", i + 1, size);
			memset(p->rx, 0xee, p->hdr + size);
		}
		rc = refill(p);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
server(struct pp *p, uint32_t size)
{
	uint32_t i;
	int rc;

	for (i = 0; i < p->conf->iters; i++) {
		rc = lost(await(p, true, size, i == 0 || p->type == IBV_QPT_RC ? 0 : LOST_US, SEND_DEPTH - 1), i);
		if (rc == 0)
			rc = post_send(p, p->rx + p->hdr, size, i + 1 == p->conf->iters);
		if (rc == 0)
			rc = refill(p);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static void
report(const struct pp *p, uint32_t size)
{
	/* there and back: one way is half of it */
	const double us = 1e6 / (double)rte_get_tsc_hz() / 2;
	const uint32_t n = p->conf->iters;
	struct rstat s;
	double q[4];

	rstat_sort(p->times, n);
	rstat_of(p->times, n, &s);
	q[0] = (double)rstat_percentile(p->times, n, 50) * us;
	q[1] = (double)rstat_percentile(p->times, n, 90) * us;
	q[2] = (double)rstat_percentile(p->times, n, 99) * us;
	q[3] = (double)rstat_percentile(p->times, n, 99.9) * us;
	if (p->conf->json != 0) {
		printf("{\"bytes\": %u, \"iterations\": %u, \"min_us\": %.3f, \"p50_us\": %.3f, \"p90_us\": %.3f, "
		       "\"p99_us\": %.3f, \"p999_us\": %.3f, \"max_us\": %.3f, \"mean_us\": %.3f}\n",
		       size, n, s.min * us, q[0], q[1], q[2], q[3], s.max * us, s.mean * us);
		return;
	}
	printf(" %-9u %-11u %10.2f %10.2f %10.2f %10.2f %12.2f %10.2f %10.2f\n", size, n, s.min * us, q[0], q[1], q[2],
	       q[3], s.max * us, s.mean * us);
	if (p->conf->histogram != 0)
		rstat_histogram(stdout, p->times, n, us, "usec one way");
}

static int
run_sizes(struct pp *p)
{
	uint32_t size = p->conf->all != 0 ? 1 : p->max_size;
	bool says = !p->e->server && !p->e->quiet;
	int rc;

	if (says && p->conf->json == 0)
		printf(" #bytes    #iterations t_min[usec] p50[usec]  p90[usec]  p99[usec]  p99.9[usec] t_max[usec] "
		       "t_avg[usec]\n");
	for (; size <= p->max_size; size *= 2) {
		rc = p->e->server ? server(p, size) : client(p, size);
		if (rc != 0)
			return rc;
		if (says)
			report(p, size);
	}
	return 0;
}

static void
say_dest(const struct pp *p, const char *which, const struct rdest *d)
{
	char gid[64];

	if (!p->e->quiet && p->conf->json == 0)
		printf("  %s address: LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s\n", which, d->lid, d->qpn, d->psn,
		       rend_gid_str(&d->gid, gid));
}

/*
 * The server is connected before it answers, and waits for the client's last word, so that nobody sends to a queue pair
 * that is not ready.
 */
static int
exchange(struct pp *p, const struct rqp_conf *qc)
{
	char out[EXCH_PP_LEN], in[EXCH_PP_LEN], done[sizeof(EXCH_PP_DONE)] = EXCH_PP_DONE;
	int rc;

	say_dest(p, "local ", &p->mine);
	exch_pp_put(out, &p->mine);
	rc = rend_connect(p->e);
	if (rc == 0 && !p->e->server)
		rc = rend_send(p->e, out, sizeof(out));
	if (rc == 0)
		rc = rend_recv(p->e, in, sizeof(in));
	if (rc == 0 && exch_pp_get(in, &p->theirs) != 0)
		rc = rend_fail(EPROTO, "the other end's address '%.*s' is not LID:QPN:PSN:GID", (int)sizeof(in) - 1,
			       in);
	if (rc != 0)
		return rc;
	say_dest(p, "remote", &p->theirs);
	if (!p->e->server)
		rc = rend_send(p->e, done, sizeof(done));
	if (rc == 0)
		rc = rqp_connect(p->e, p->qp, qc, &p->mine, &p->theirs, &p->ah);
	if (rc == 0 && p->e->server) {
		rc = rend_send(p->e, out, sizeof(out));
		if (rc == 0)
			rc = rend_recv(p->e, done, sizeof(done));
	}
	return rc;
}

static enum ibv_mtu
mtu_code(uint32_t bytes)
{
	enum ibv_mtu m = IBV_MTU_256;

	while (m < IBV_MTU_4096 && (128u << m) < bytes)
		m++;
	return m;
}

/* Memory, queues, the queue pair in INIT with its receive requests. */
static int
make(struct pp *p, struct rqp_conf *qc)
{
	struct ibv_qp_init_attr init = {.qp_type = p->type,
					.cap = {.max_send_wr = SEND_DEPTH,
						.max_recv_wr = p->conf->rx_depth,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = p->inl}};
	size_t len = p->hdr + p->max_size;
	struct ibv_context *ctx = p->e->port.ctx;
	struct ibv_port_attr port;
	int rc;

	rc = tp_roce_query_port(ctx, 1, &port);
	if (rc != 0)
		return rend_fail(rc, "port attributes: %s", strerror(rc));
	qc->mtu = RTE_MIN(mtu_code(p->conf->mtu), port.active_mtu);
	if (p->type == IBV_QPT_UD && p->max_size > (128u << qc->mtu)) {
		if (p->conf->all == 0)
			return rend_fail(EINVAL, "--size: %u is more than a datagram of this port holds, 1..%u",
					 p->max_size, 128u << qc->mtu);
		p->max_size = 128u << qc->mtu;
	}
	p->times = calloc(p->conf->iters, sizeof(*p->times));
	p->rx = rend_alloc(2 * RTE_ALIGN(len, 4096));
	if (p->times == NULL || p->rx == NULL)
		return rend_fail(ENOMEM, "no memory for two messages of %u bytes", p->max_size);
	p->tx = p->rx + RTE_ALIGN(len, 4096);
	p->pd = tp_roce_alloc_pd(ctx);
	if (p->pd != NULL)
		p->mr = tp_roce_reg_mr(p->pd, p->rx, 2 * RTE_ALIGN(len, 4096), IBV_ACCESS_LOCAL_WRITE);
	if (p->mr != NULL && p->conf->events != 0)
		p->channel = tp_roce_create_comp_channel(ctx);
	if (p->mr != NULL && (p->channel != NULL || p->conf->events == 0))
		p->cq = tp_roce_create_cq(ctx, (int)(SEND_DEPTH + p->conf->rx_depth), p, p->channel, 0);
	init.send_cq = init.recv_cq = p->cq;
	if (p->cq != NULL)
		p->qp = tp_roce_create_qp(p->pd, &init);
	if (p->qp == NULL)
		return rend_fail(errno, "queue pair and what it needs: %s", strerror(errno));
	p->mine.qpn = p->qp->qp_num;
	p->mine.psn = (uint32_t)rte_rdtsc() & 0xffffff;
	p->mine.gid = p->e->port.gid.gid;
	rc = rqp_init(p->qp, qc);
	return rc != 0 ? rc : post_recv(p, p->conf->rx_depth);
}

static void
unmake(struct pp *p)
{
	if (p->qp != NULL)
		tp_roce_destroy_qp(p->qp);
	if (p->ah != NULL)
		tp_roce_destroy_ah(p->ah);
	if (p->cq != NULL)
		tp_roce_destroy_cq(p->cq);
	if (p->channel != NULL)
		tp_roce_destroy_comp_channel(p->channel);
	if (p->mr != NULL)
		tp_roce_dereg_mr(p->mr);
	if (p->pd != NULL)
		tp_roce_dealloc_pd(p->pd);
	rend_free(p->rx);
	free(p->times);
}

/* Until the other end, too, has all it waits for: a transport that repeats needs our answers to the last packets. */
static int
finish(struct pp *p)
{
	int rc = await(p, false, 0, LOST_US, 0);

	if (rc == 0)
		rend_linger(p->e);
	return rc == -ETIMEDOUT ? rend_fail(ETIMEDOUT, "the last message is lost: no acknowledgement came for %u s",
					    LOST_US / 1000000)
				: rc;
}

int
pp_run(struct rend *e)
{
	const struct pp_conf *conf = e->arg;
	struct pp p = {.e = e, .conf = conf, .type = types[conf->type], .inl = conf->inl};
	struct rqp_conf qc = {.type = p.type,
			      .sl = (uint8_t)conf->sl,
			      .tclass = (uint8_t)conf->tclass,
			      .timeout = (uint8_t)conf->timeout,
			      .retry_cnt = RETRIES,
			      .rnr_retry = RETRIES,
			      .rd_atomic = 1,
			      .dest_rd_atomic = 1,
			      .access = IBV_ACCESS_LOCAL_WRITE,
			      .qkey = QKEY};
	uint64_t begun;
	double s;
	int rc;

	p.hdr = p.type == IBV_QPT_UD ? GRH : 0;
	p.max_size = conf->all != 0 ? ALL_MAX : conf->size;
	rc = make(&p, &qc);
	if (rc == 0)
		rc = exchange(&p, &qc);
	begun = rte_get_tsc_cycles();
	if (rc == 0)
		rc = run_sizes(&p);
	s = (double)(rte_get_tsc_cycles() - begun) / (double)rte_get_tsc_hz();
	if (rc == 0 && !e->quiet && conf->json == 0 && conf->all == 0) {
		printf("%.0f bytes in %.2f seconds = %.2f Mbit/sec\n", 2.0 * conf->size * conf->iters, s,
		       16e-6 * conf->size * conf->iters / s);
		printf("%u iters in %.2f seconds = %.2f usec/iter\n", conf->iters, s, 1e6 * s / conf->iters);
	}
	if (rc == 0)
		rc = finish(&p);
	unmake(&p);
	return rc;
}
