/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The order of a test, which is perftest's, so that either end may be its program: versions, buffer geometry and MTU are
 * told, then each queue pair's destination, and the same message again wherever one end must wait for the other.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "perf.h"

#define QKEY 0x11111111u
#define CYCLE 4096u
#define CACHE_LINE 64u
#define TIMES_MAX (1u << 22) /* messages whose times are kept */
#define READS 16u

static int
swap(struct perf *p, const void *mine, void *theirs, size_t len)
{
	return p->cm != NULL ? perf_cm_swap(p, mine, theirs, len) : rend_swap(p->e, mine, theirs, len);
}

/* All but MTU and geometry is checked by the other end, too; what differs shows when the first bytes do not fit. */
static int
agree(struct perf *p, uint32_t port_mtu)
{
	char mine[EXCH_PT_VERSION_LEN] = EXCH_PT_VERSION, theirs[EXCH_PT_VERSION_LEN + 1] = "";
	uint32_t geometry[2] = {htobe32(CYCLE), htobe32(CACHE_LINE)}, other[2];
	char mtu[2] = {0}, their_mtu[2];
	unsigned int i;
	int rc;

	rc = swap(p, mine, theirs, sizeof(mine));
	if (rc == 0 && atof(theirs) < EXCH_PT_OLDEST)
		return rend_fail(EPROTO, "the other end is of version '%s', %.2f or later is needed", theirs,
				 EXCH_PT_OLDEST);
	for (i = 0; i < 2 && rc == 0; i++)
		rc = swap(p, &geometry[i], &other[i], sizeof(geometry[i]));
	mtu[0] = (char)('0' + port_mtu);
	if (rc == 0)
		rc = swap(p, mtu, their_mtu, sizeof(mtu));
	if (rc != 0)
		return rc;
	p->cycle = RTE_MAX(CYCLE, be32toh(other[0]));
	p->line = RTE_MAX(CACHE_LINE, be32toh(other[1]));
	if (p->cycle > PERF_MAX_SIZE || p->line > p->cycle || (p->line & (p->line - 1)) != 0)
		return rend_fail(EPROTO, "the other end rotates over %u bytes by %u; a power of two up to %u was due",
				 be32toh(other[0]), be32toh(other[1]), PERF_MAX_SIZE);
	p->mtu = (enum ibv_mtu)port_mtu;
	if (their_mtu[0] >= '1' && their_mtu[0] <= '5' && their_mtu[0] < mtu[0])
		p->mtu = (enum ibv_mtu)(their_mtu[0] - '0');
	return 0;
}

static int
own_mtu(struct perf *p, uint32_t *code)
{
	struct ibv_port_attr attr;
	int rc = tp_roce_query_port(p->e->port.ctx, 1, &attr);

	if (rc != 0)
		return rend_fail(rc, "port attributes: %s", strerror(rc));
	*code = attr.active_mtu;
	if (p->conf->mtu > 128u << attr.active_mtu)
		return rend_fail(EINVAL, "--mtu: %u is more than the port's, 256..%u", p->conf->mtu,
				 128u << attr.active_mtu);
	while (p->conf->mtu != 0 && 128u << *code > p->conf->mtu)
		(*code)--;
	return 0;
}

/* The text of a destination, or on a connection of RDMA CM its numbers. */
static int
shake_text(struct perf *p, uint32_t i)
{
	char mine[EXCH_PT_LEN], theirs[EXCH_PT_LEN];
	int rc;

	exch_pt_put(mine, &p->qp[i].mine);
	rc = swap(p, mine, theirs, sizeof(mine));
	if (rc == 0 && exch_pt_get(theirs, &p->qp[i].theirs) != 0)
		rc = rend_fail(EPROTO, "the other end's address '%.*s' is not perftest's", (int)sizeof(theirs) - 1,
			       theirs);
	return rc;
}

/* Both tell where they are; or wait for each other, when they knew. */
static int
shake(struct perf *p, uint32_t i)
{
	uint8_t mine[EXCH_CM_LEN], theirs[EXCH_CM_LEN];
	int rc;

	if (p->cm == NULL)
		return shake_text(p, i);
	exch_cm_put(mine, &p->qp[i].mine);
	rc = swap(p, mine, theirs, sizeof(mine));
	if (rc == 0)
		exch_cm_get(theirs, &p->qp[i].theirs);
	return rc;
}

static int
shake_all(struct perf *p)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < p->conf->qps && rc == 0; i++)
		rc = shake(p, i);
	return rc;
}

/* Field by field, as the other end may be a program that writes and reads one after the other. */
static int
swap_reports(struct perf *p)
{
	uint8_t mine[EXCH_PT_REPORT_LEN], theirs[EXCH_PT_REPORT_LEN];
	unsigned int i;
	int rc = 0;

	exch_pt_report_put(mine, &p->mine);
	for (i = 0; i < EXCH_PT_REPORT_LEN && rc == 0; i += 8)
		rc = swap(p, mine + i, theirs + i, 8);
	if (rc == 0)
		exch_pt_report_get(theirs, &p->theirs);
	return rc;
}

static void
set_mine(struct perf *p)
{
	uint64_t seed = rte_rdtsc();
	uint32_t i;

	for (i = 0; i < p->conf->qps; i++) {
		struct perf_qp *q = &p->qp[i];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		q->mine = (struct rdest){.qpn = q->qp->qp_num,
					 .psn = (uint32_t)(seed >> 40),
					 .gid = p->e->port.gid.gid,
					 .out_reads = p->reads,
					 .rkey = p->mr->rkey,
					 .vaddr = (uintptr_t)q->rx};
	}
}

static int
connect_all(struct perf *p)
{
	struct rqp_conf qc = {.type = p->type,
			      .mtu = p->mtu,
			      .sl = (uint8_t)p->conf->sl,
			      .tclass = (uint8_t)p->conf->tclass,
			      .timeout = (uint8_t)p->conf->timeout,
			      .retry_cnt = (uint8_t)p->conf->retry,
			      .rnr_retry = 7,
			      .dest_rd_atomic = (uint8_t)p->reads,
			      .qkey = QKEY};
	uint32_t i;
	int rc = 0;

	for (i = 0; i < p->conf->qps && rc == 0; i++) {
		qc.rd_atomic = (uint8_t)RTE_MIN(RTE_MAX(p->qp[i].theirs.out_reads, 1u), p->reads);
		rc = rqp_connect(p->e, p->qp[i].qp, &qc, &p->qp[i].mine, &p->qp[i].theirs, &p->qp[i].ah);
	}
	return rc;
}

/* Times of the messages of a run. */
static int
keep_times(struct perf *p)
{
	const struct perf_conf *c = p->conf;
	uint64_t n = (uint64_t)c->iters * c->qps;

	/* Of lanes that end when they do there is no order, and no peak. */
	if (c->duration != 0 || (!c->lat && (c->no_peak != 0 || c->port.lanes > 1 || n > TIMES_MAX)))
		return 0;
	p->t_post = calloc(n, sizeof(*p->t_post));
	p->t_done = c->lat ? NULL : calloc(n, sizeof(*p->t_done));
	return p->t_post == NULL || (!c->lat && p->t_done == NULL)
		       ? rend_fail(ENOMEM, "no memory for the times of %llu messages", (unsigned long long)n)
		       : 0;
}

static int
run_bw(struct perf *p)
{
	const struct perf_conf *c = p->conf;
	const bool sync = c->verb == PERF_SEND || c->bidir != 0;
	int rc = sync ? shake(p, 0) : 0;

	perf_prepare(p);
	if (rc == 0)
		rc = perf_lanes(p);
	if (rc != 0)
		return rc;
	/* a receiver posted nothing of which there were times */
	if (p->e->server && c->bidir == 0) {
		free(p->t_post);
		p->t_post = NULL;
	}
	if (c->all != 0 && c->bidir != 0 && c->verb != PERF_SEND)
		rc = shake(p, 0);
	perf_rate(p);
	if (c->bidir != 0 && (c->verb != PERF_SEND || c->duration == 0)) {
		struct rreport sum;

		if (rc == 0)
			rc = swap_reports(p);
		sum = perf_sum(&p->mine, &p->theirs);
		perf_say_bw(p, &sum);
		if (c->both != 0) {
			perf_say_bw(p, &p->mine);
			perf_say_bw(p, &p->theirs);
		}
	} else {
		perf_say_bw(p, &p->mine);
	}
	if (rc == 0 && c->all != 0 && c->verb == PERF_SEND)
		rc = shake(p, 0);
	return rc;
}

static int
run_lat(struct perf *p)
{
	int rc = p->conf->verb == PERF_SEND ? shake(p, 0) : 0;

	perf_prepare(p);
	if (rc == 0)
		rc = p->conf->verb == PERF_SEND    ? perf_lat_send(p)
		     : p->conf->verb == PERF_WRITE ? perf_lat_write(p)
						   : perf_lat_ask(p);
	if (rc == 0)
		perf_say_lat(p);
	return rc;
}

static int
run_sizes(struct perf *p, uint32_t max)
{
	int rc = 0;

	p->size = p->conf->all != 0 ? 2 : max;
	perf_say_head(p);
	for (; p->size <= max && rc == 0; p->size *= 2)
		rc = p->conf->lat ? run_lat(p) : run_bw(p);
	p->size = max;
	perf_say_line(p);
	return rc;
}

/* A server that only answers: reads, writes and atomics reach its memory without it, until the client is done. */
static int
serve(struct perf *p)
{
	int rc = 0;

	if (!p->conf->lat) {
		rc = shake(p, 0);
		if (rc == 0)
			rc = swap_reports(p);
		perf_say_head(p);
		if (rc == 0)
			perf_say_bw(p, &p->theirs);
		perf_say_line(p);
	}
	return rc == 0 ? shake(p, 0) : rc;
}

static int
measure(struct perf *p, uint32_t max)
{
	const struct perf_conf *c = p->conf;
	const bool oneway = c->verb >= PERF_READ || (c->verb == PERF_WRITE && !c->lat);
	int rc;

	if (oneway && p->e->server && c->bidir == 0)
		return serve(p);
	rc = run_sizes(p, max);
	if (rc == 0 && oneway && !c->lat && c->bidir == 0) {
		rc = shake(p, 0);
		if (rc == 0)
			rc = swap_reports(p);
	}
	if (rc != 0)
		return rc;
	/* A write latency test ends without a last word: the other end may still wait for what we are to acknowledge. */
	return c->lat && c->verb == PERF_WRITE ? perf_lat_end(p) : shake(p, 0);
}

/* perftest's own programs differ in where they wait for each other. */
static int
meet(struct perf *p)
{
	const struct perf_conf *c = p->conf;
	uint32_t i;
	int rc = 0;

	set_mine(p);
	perf_say_test(p);
	if (c->lat && c->verb != PERF_SEND)
		rc = shake(p, 0);
	if (rc == 0)
		rc = shake_all(p);
	if (rc == 0 && p->cm == NULL)
		rc = connect_all(p);
	if (rc == 0 && c->verb == PERF_SEND)
		rc = shake(p, 0);
	for (i = 0; i < c->qps && rc == 0; i++)
		perf_say_dest(p, " local", &p->qp[i].mine);
	if (rc == 0)
		rc = shake_all(p);
	for (i = 0; i < c->qps && rc == 0; i++)
		perf_say_dest(p, "remote", &p->qp[i].theirs);
	if (rc == 0 && c->verb != PERF_SEND)
		rc = shake(p, 0);
	return rc;
}

static int
limits(const struct perf *p)
{
	if (p->conf->lat || p->e->server)
		return 0;
	if (p->mine.avg < p->conf->min_bw)
		return rend_fail(ERANGE, "average bandwidth %.2f is below --limit_bw %u", p->mine.avg, p->conf->min_bw);
	if (p->mine.rate < p->conf->min_rate)
		return rend_fail(ERANGE, "message rate %.6f is below --limit_msgrate %u", p->mine.rate,
				 p->conf->min_rate);
	return 0;
}

/* The ends wait for each other before they connect the queue pairs, and after. */
static int
join_queues(struct perf *p)
{
	int rc = shake(p, 0);

	if (rc == 0)
		rc = perf_cm_connect(p);
	return rc == 0 ? shake(p, 0) : rc;
}

static void
end(struct perf *p, bool well)
{
	if (p->cm != NULL)
		perf_cm_close(p, well);
	perf_unmake(p);
}

int
perf_run(struct rend *e)
{
	struct perf p = {.e = e, .conf = e->arg, .reads = 1};
	uint32_t max, mtu = IBV_MTU_256;
	struct ibv_device_attr attr;
	int rc, done;

	p.type = perf_qp_type(p.conf);
	p.hdr = p.type == IBV_QPT_UD ? 40 : 0;
	rc = tp_roce_query_device(e->port.ctx, &attr);
	if (rc == 0 && p.conf->verb >= PERF_READ)
		p.reads = RTE_MIN(p.conf->outs, RTE_MIN((uint32_t)attr.max_qp_rd_atom, READS));
	rc = own_mtu(&p, &mtu);
	if (rc == 0)
		rc = p.conf->rdma_cm != 0 ? perf_cm_open(&p) : rend_connect(e);
	if (rc == 0)
		rc = agree(&p, mtu);
	if (rc != 0) {
		end(&p, false);
		return rc;
	}
	max = p.conf->all != 0 ? PERF_MAX_SIZE : p.conf->size;
	if (p.type == IBV_QPT_UD && max > 128u << p.mtu) {
		if (p.conf->all == 0)
			rend_fail(0, "a datagram holds %u bytes at most; that is the size now", 128u << p.mtu);
		max = 128u << p.mtu;
	}
	rc = perf_make(&p, max);
	if (rc == 0 && p.cm != NULL)
		rc = join_queues(&p);
	if (rc == 0)
		rc = keep_times(&p);
	if (rc == 0)
		rc = perf_series_open(&p);
	if (rc == 0)
		rc = meet(&p);
	if (rc == 0)
		rc = measure(&p, max);
	done = perf_series_close(&p, rc == 0);
	rc = rc != 0 ? rc : done;
	end(&p, rc == 0);
	return rc == 0 ? limits(&p) : rc;
}
