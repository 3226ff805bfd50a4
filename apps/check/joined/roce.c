/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs of RoCE between two ports. Messages are judged by the octets in the memory of who got them. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "joined.h"
#include "tp_roce.h"

#define NETWORK 0xc6120000u /* 198.18.0.0/24 */
#define NETWORK_VLAN 0x100u /* 198.18.1.0/24 */
#define WRS 16u
#define CQES 127
#define QKEY 0x54504c31u
#define GRH 40u
#define SLOT (ROCE_MEM / 4) /* what is sent; what comes; what others write and read, and half of that for words */
#define AT_SEND 0u
#define AT_RECV SLOT
#define AT_REMOTE (2 * SLOT)
#define AT_WORD (3 * SLOT)
#define MTU IBV_MTU_1024
#define MTU_OCTETS 1024u
#define WAIT_MS 8000u
#define NAP_US 20u
#define TIMEOUT 14 /* 67 ms */
#define RETRIES 7
#define ATOMICS 4
#define TRIPS 200u

const char *
roce_kind(int type)
{
	return type == IBV_QPT_RC ? "rc" : type == IBV_QPT_UC ? "uc" : "ud";
}

/* --- ports ------------------------------------------------------------------------------------------------------------ */

static bool
pick_gid(struct roce_end *e, const struct sockaddr_in *a)
{
	const uint32_t want = tp_roce_mode_get(e->ctx) == TP_ROCE_V2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	struct ibv_gid_entry g;
	uint32_t i;

	for (i = 0; i < TP_ROCE_GIDS; i++) {
		if (tp_roce_query_gid_ex(e->ctx, 1, i, &g) != 0 || g.gid_type != want ||
		    memcmp(g.gid.raw + 12, &a->sin_addr, 4) != 0 || g.gid.raw[10] != 0xff)
			continue;
		e->gid_index = (uint8_t)i;
		memcpy(e->own.gid, g.gid.raw, sizeof(e->own.gid));
		return true;
	}
	errno = ENOENT;
	return false;
}

bool
roce_open(struct roce_end *e, struct port *p, const struct roce_conf *conf, const char *name)
{
	const struct tp_roce_conf how = {.tx_queue = PAIR_ROCE, .rest = conf->rest, .rest_arg = conf->arg};
	struct sockaddr_in a = {.sin_family = AF_INET};

	memset(e, 0, sizeof(*e));
	e->c = p->c;
	a.sin_addr.s_addr = htonl(NETWORK + (conf->vlan != 0 ? NETWORK_VLAN : 0) + conf->host);
	e->ctx = tp_roce_open(p->id, &how);
	if (e->ctx != NULL)
		errno = tp_roce_addr_add(e->ctx, (struct sockaddr *)&a, 24,
					 conf->vlan != 0 ? conf->vlan : TP_ROCE_NO_VLAN);
	if (e->ctx != NULL && errno == 0 && pick_gid(e, &a))
		e->pd = tp_roce_alloc_pd(e->ctx);
	if (e->pd != NULL)
		e->mem = rte_zmalloc("check_roce", ROCE_MEM, 4096);
	if (e->mem != NULL)
		e->mr = tp_roce_reg_mr(e->pd, e->mem, ROCE_MEM,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
					       IBV_ACCESS_REMOTE_ATOMIC);
	if (e->mr != NULL)
		e->cq = tp_roce_create_cq(e->ctx, CQES, e, NULL, 0);
	if (e->mr != NULL && e->cq != NULL) {
		e->own.addr = (uintptr_t)e->mem;
		e->own.rkey = e->mr->rkey;
		return true;
	}
	ck_say(e->c, CK_FAIL, name, "port %u does not open for RoCE: %s", p->id, strerror(errno));
	roce_close(e);
	return false;
}

void
roce_close(struct roce_end *e)
{
	roce_destroy(e);
	if (e->cq != NULL)
		tp_roce_destroy_cq(e->cq);
	if (e->mr != NULL)
		tp_roce_dereg_mr(e->mr);
	rte_free(e->mem);
	if (e->pd != NULL)
		tp_roce_dealloc_pd(e->pd);
	if (e->ctx != NULL)
		tp_roce_close_device(e->ctx);
	memset(e, 0, sizeof(*e));
}

static bool
receive(struct roce_end *e)
{
	struct ibv_sge sge = {(uintptr_t)e->mem + AT_RECV, SLOT, e->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(e->qp, &wr, &bad) == 0;
}

bool
roce_create(struct roce_end *e, int type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.qp_type = (enum ibv_qp_type)type,
		.cap = {.max_send_wr = WRS, .max_recv_wr = WRS, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	int rc;

	roce_destroy(e);
	e->type = type;
	e->qp = tp_roce_create_qp(e->pd, &init);
	if (e->qp == NULL)
		return false;
	e->own.qpn = e->qp->qp_num;
	e->own.psn = (uint32_t)rte_rdtsc() & 0xffffff;
	/* Of a UC queue pair nobody reads. */
	if (type == IBV_QPT_UC)
		a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	rc = tp_roce_modify_qp(e->qp, &a,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	errno = rc;
	return rc == 0 && receive(e);
}

void
roce_destroy(struct roce_end *e)
{
	struct ibv_wc wc;

	if (e->qp != NULL)
		tp_roce_destroy_qp(e->qp);
	e->qp = NULL;
	if (e->ah != NULL)
		tp_roce_destroy_ah(e->ah);
	e->ah = NULL;
	while (e->cq != NULL && ibv_poll_cq(e->cq, 1, &wc) > 0)
		;
}

/* Questions for addresses are answered by the other end, if it is one of ours. */
static bool
resolved(struct roce_end *e, struct roce_end *other)
{
	struct port_limit until = port_in(WAIT_MS);
	union ibv_gid gid;
	uint8_t mac[6];
	int rc;

	memcpy(gid.raw, e->peer.gid, sizeof(gid.raw));
	do {
		rc = tp_roce_resolve(e->ctx, e->gid_index, &gid, mac);
		tp_roce_progress(e->ctx);
		if (other != NULL)
			tp_roce_progress(other->ctx);
		if (rc != 0)
			rte_delay_us_sleep(NAP_US);
	} while (rc != 0 && port_waits(&until));
	errno = rc;
	return rc == 0;
}

bool
roce_connect(struct roce_end *e, const struct roce_addr *peer, struct roce_end *other)
{
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR, .path_mtu = MTU, .min_rnr_timer = 12};
	const bool rc = e->type == IBV_QPT_RC, ud = e->type == IBV_QPT_UD;
	int mask = IBV_QP_STATE;

	e->peer = *peer;
	ah.grh.hop_limit = 64;
	ah.grh.sgid_index = e->gid_index;
	memcpy(ah.grh.dgid.raw, peer->gid, sizeof(ah.grh.dgid.raw));
	if (!resolved(e, other))
		return false;
	a.ah_attr = ah;
	a.dest_qp_num = peer->qpn;
	a.rq_psn = peer->psn;
	a.max_dest_rd_atomic = ATOMICS;
	if (!ud)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (rc)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	errno = tp_roce_modify_qp(e->qp, &a, mask);
	if (errno != 0)
		return false;
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .sq_psn = e->own.psn,
				 .timeout = TIMEOUT,
				 .retry_cnt = RETRIES,
				 .rnr_retry = RETRIES,
				 .max_rd_atomic = ATOMICS};
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (rc)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	errno = tp_roce_modify_qp(e->qp, &a, mask);
	if (errno != 0 || !ud)
		return errno == 0;
	e->ah = tp_roce_create_ah(e->pd, &ah);
	return e->ah != NULL;
}

bool
roce_both(struct roce_end *a, struct roce_end *b, int type)
{
	return roce_create(a, type) && roce_create(b, type) && roce_connect(a, &b->own, b) &&
	       roce_connect(b, &a->own, a);
}

/* --- messages ----------------------------------------------------------------------------------------------------------- */

/* The next completion of an end within some seconds; the other one, if it is ours, goes on meanwhile. */
static bool
completes(struct roce_end *e, struct roce_end *other, struct ibv_wc *wc)
{
	struct port_limit until = port_in(WAIT_MS);

	do {
		if (ibv_poll_cq(e->cq, 1, wc) == 1)
			return wc->status == IBV_WC_SUCCESS;
		tp_roce_progress(e->ctx);
		if (other != NULL)
			tp_roce_progress(other->ctx);
		rte_delay_us_sleep(NAP_US);
	} while (port_waits(&until));
	wc->status = IBV_WC_GENERAL_ERR;
	return false;
}

static void
fill(uint8_t *b, uint32_t len, uint32_t mark)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		b[i] = frame_octet(mark, i);
}

static bool
filled(const uint8_t *b, uint32_t len, uint32_t mark)
{
	uint32_t i;

	for (i = 0; i < len && b[i] == frame_octet(mark, i); i++)
		;
	return i == len;
}

static bool
post(struct roce_end *e, enum ibv_wr_opcode op, uint32_t at, uint32_t len, uint32_t to)
{
	struct ibv_sge sge = {(uintptr_t)e->mem + at, len, e->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = op, .send_flags = IBV_SEND_SIGNALED}, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = e->peer.addr + to;
		wr.wr.atomic.rkey = e->peer.rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 1000;
	} else if (e->type == IBV_QPT_UD) {
		wr.wr.ud.ah = e->ah;
		wr.wr.ud.remote_qpn = e->peer.qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else {
		wr.wr.rdma.remote_addr = e->peer.addr + to;
		wr.wr.rdma.rkey = e->peer.rkey;
	}
	return ibv_post_send(e->qp, &wr, &bad) == 0;
}

bool
roce_message(struct roce_end *from, struct roce_end *to, uint32_t len)
{
	const uint32_t head = from->type == IBV_QPT_UD ? GRH : 0;
	struct ibv_wc wc;

	fill(from->mem + AT_SEND, len, len);
	memset(to->mem + AT_RECV, 0, SLOT);
	return post(from, IBV_WR_SEND, AT_SEND, len, 0) && completes(to, from, &wc) && wc.byte_len == head + len &&
	       filled(to->mem + AT_RECV + head, len, len) && receive(to) && completes(from, to, &wc);
}

static void
sends(struct roce_end e[2])
{
	static const uint32_t sizes[] = {1, 60, 256, 1023, 1024, 1025, 8192, 65536};
	const uint32_t most = e[0].type == IBV_QPT_UD ? MTU_OCTETS : SLOT;
	unsigned int i, k, n = 0, good = 0;
	char name[32];

	snprintf(name, sizeof(name), "roce-%s-send", roce_kind(e[0].type));
	for (i = 0; i < RTE_DIM(sizes) && sizes[i] <= most; i++)
		for (k = 0; k < 2; k++, n++)
			good += good == n && roce_message(&e[k], &e[!k], sizes[i]);
	ck_judge(e[0].c, good == n, name, "%u of %u messages of 1 to %u octets came unchanged, from both ends", good, n,
		 sizes[i - 1]);
}

static void
writes(struct roce_end e[2])
{
	static const uint32_t sizes[] = {1, 1024, 5000, 65536};
	unsigned int i, good = 0;
	struct ibv_wc wc;
	char name[32];

	snprintf(name, sizeof(name), "roce-%s-write", roce_kind(e[0].type));
	for (i = 0; i < RTE_DIM(sizes); i++) {
		fill(e[0].mem + AT_SEND, sizes[i], 7 + i);
		memset(e[1].mem + AT_REMOTE, 0, SLOT);
		if (!post(&e[0], IBV_WR_RDMA_WRITE, AT_SEND, sizes[i], AT_REMOTE) || !completes(&e[0], &e[1], &wc))
			break;
		/* Of UC nobody says that it arrived: the message behind it does. */
		if (!roce_message(&e[0], &e[1], 8))
			break;
		good += filled(e[1].mem + AT_REMOTE, sizes[i], 7 + i) &&
			(sizes[i] == SLOT || e[1].mem[AT_REMOTE + sizes[i]] == 0);
	}
	ck_judge(e[0].c, good == RTE_DIM(sizes), name, "%u of %zu writes of 1 to 65536 octets are in the other memory",
		 good, RTE_DIM(sizes));
}

static void
reads(struct roce_end e[2])
{
	static const uint32_t sizes[] = {1, 1024, 5000, 65536};
	unsigned int i, good = 0;
	struct ibv_wc wc;

	for (i = 0; i < RTE_DIM(sizes); i++) {
		fill(e[1].mem + AT_REMOTE, sizes[i], 77 + i);
		memset(e[0].mem + AT_SEND, 0, SLOT);
		if (!post(&e[0], IBV_WR_RDMA_READ, AT_SEND, sizes[i], AT_REMOTE) || !completes(&e[0], &e[1], &wc))
			break;
		good += filled(e[0].mem + AT_SEND, sizes[i], 77 + i);
	}
	ck_judge(e[0].c, good == RTE_DIM(sizes), "roce-rc-read", "%u of %zu reads of 1 to 65536 octets are right", good,
		 RTE_DIM(sizes));
}

/* The word is of this machine's byte order. */
static void
atomics(struct roce_end e[2])
{
	uint64_t *word = (uint64_t *)(void *)(e[1].mem + AT_WORD), *was = (uint64_t *)(void *)e[0].mem;
	struct ibv_wc wc;
	bool add, swap;

	*word = 0;
	*was = 99;
	add = post(&e[0], IBV_WR_ATOMIC_FETCH_AND_ADD, AT_SEND, 8, AT_WORD) && completes(&e[0], &e[1], &wc) &&
	      *was == 0 && *word == 5;
	*was = 99;
	swap = add && post(&e[0], IBV_WR_ATOMIC_CMP_AND_SWP, AT_SEND, 8, AT_WORD) && completes(&e[0], &e[1], &wc) &&
	       *was == 5 && *word == 1000;
	ck_judge(e[0].c, add && swap, "roce-rc-atomic", "5 added to 0: %s; then 5 against 1000: %s",
		 add ? "right" : "wrong", swap ? "right" : "wrong");
}

static void
say_latency(struct ck *c, uint64_t sum, uint64_t least)
{
	ck_say(c, CK_PASS, "roce-latency",
	       "%u round trips of 64 octets over RC: %.1f us on average, %.1f us at least, with naps of the waiter",
	       TRIPS, (double)sum / TRIPS * 1e6 / (double)rte_get_timer_hz(),
	       (double)least * 1e6 / (double)rte_get_timer_hz());
}

static void
latency(struct roce_end e[2])
{
	uint64_t since, took, least = UINT64_MAX, sum = 0;
	unsigned int i;

	for (i = 0; i < TRIPS; i++) {
		since = rte_get_timer_cycles();
		if (!roce_message(&e[0], &e[1], 64) || !roce_message(&e[1], &e[0], 64)) {
			ck_say(e[0].c, CK_FAIL, "roce-latency", "message %u was lost", i);
			return;
		}
		took = rte_get_timer_cycles() - since;
		least = RTE_MIN(least, took);
		sum += took;
	}
	say_latency(e[0].c, sum, least);
}

/* --- with a reflector ----------------------------------------------------------------------------------------------- */

unsigned int
roce_serve(struct roce_end *e)
{
	const uint32_t head = e->type == IBV_QPT_UD ? GRH : 0;
	unsigned int n = 0;
	struct ibv_wc wc;

	tp_roce_progress(e->ctx);
	while (e->qp != NULL && ibv_poll_cq(e->cq, 1, &wc) == 1) {
		uint32_t len;

		if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_RECV)
			continue;
		len = RTE_MIN(wc.byte_len - head, SLOT - head);
		memcpy(e->mem + AT_SEND, e->mem + AT_RECV + head, len);
		n += receive(e) && post(e, IBV_WR_SEND, AT_SEND, len, 0);
	}
	return n;
}

/* A message goes there and comes back unchanged. */
static bool
echoed(struct roce_end *e, uint32_t len)
{
	const uint32_t head = e->type == IBV_QPT_UD ? GRH : 0;
	bool came = false, sent = false;
	struct ibv_wc wc;

	fill(e->mem + AT_SEND, len, len);
	memset(e->mem + AT_RECV, 0, SLOT);
	if (!post(e, IBV_WR_SEND, AT_SEND, len, 0))
		return false;
	while (!came || !sent) {
		if (!completes(e, NULL, &wc))
			return false;
		came = came || (wc.opcode == IBV_WC_RECV && wc.byte_len == head + len);
		sent = sent || wc.opcode == IBV_WC_SEND;
	}
	return filled(e->mem + AT_RECV + head, len, len) && receive(e);
}

static void
far_sends(struct roce_end *e)
{
	static const uint32_t sizes[] = {1, 60, 256, 1023, 1024, 1025, 8192, 65000};
	const uint32_t most = e->type == IBV_QPT_UD ? MTU_OCTETS : SLOT;
	unsigned int i, good = 0;
	char name[32];

	snprintf(name, sizeof(name), "roce-%s-send", roce_kind(e->type));
	for (i = 0; i < RTE_DIM(sizes) && sizes[i] <= most; i++)
		good += good == i && echoed(e, sizes[i]);
	ck_judge(e->c, good == i, name, "%u of %u messages of 1 to %u octets came back unchanged", good, i,
		 sizes[i - 1]);
}

/* What was written there is read again from there. */
static void
far_memory(struct roce_end *e)
{
	static const uint32_t sizes[] = {1, 1024, 5000, 65536};
	uint64_t *word = (uint64_t *)(void *)(e->mem + AT_SEND), was[2] = {0, 0};
	unsigned int i, good = 0;
	struct ibv_wc wc;

	for (i = 0; i < RTE_DIM(sizes); i++) {
		fill(e->mem + AT_SEND, sizes[i], 7 + i);
		if (!post(e, IBV_WR_RDMA_WRITE, AT_SEND, sizes[i], AT_REMOTE) || !completes(e, NULL, &wc))
			break;
		memset(e->mem + AT_SEND, 0, SLOT);
		if (!post(e, IBV_WR_RDMA_READ, AT_SEND, sizes[i], AT_REMOTE) || !completes(e, NULL, &wc))
			break;
		good += filled(e->mem + AT_SEND, sizes[i], 7 + i);
	}
	ck_judge(e->c, good == RTE_DIM(sizes), "roce-rc-write-read",
		 "%u of %zu writes of 1 to 65536 octets are read again", good, RTE_DIM(sizes));
	for (i = 0; i < 2; i++) {
		if (!post(e, IBV_WR_ATOMIC_FETCH_AND_ADD, AT_SEND, 8, AT_WORD) || !completes(e, NULL, &wc))
			break;
		was[i] = *word;
	}
	ck_judge(e->c, i == 2 && was[1] == was[0] + 5, "roce-rc-atomic", "of 5 added twice %u were done, right: %s", i,
		 was[1] == was[0] + 5 ? "yes" : "no");
}

static void
far_latency(struct roce_end *e)
{
	uint64_t since, took, least = UINT64_MAX, sum = 0;
	unsigned int i;

	for (i = 0; i < TRIPS; i++) {
		since = rte_get_timer_cycles();
		if (!echoed(e, 64)) {
			ck_say(e->c, CK_FAIL, "roce-latency", "message %u was lost", i);
			return;
		}
		took = rte_get_timer_cycles() - since;
		least = RTE_MIN(least, took);
		sum += took;
	}
	say_latency(e->c, sum, least);
}

void
roce_far(struct roce_end *e)
{
	far_sends(e);
	if (e->type != IBV_QPT_RC)
		return;
	far_memory(e);
	far_latency(e);
}

/* --- between two ports ----------------------------------------------------------------------------------------------- */

void
roce_stage(struct pair *x)
{
	static const int types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	struct roce_end e[2];
	char name[32];
	unsigned int i;

	ck_step(x->c, "opens both ports for RoCE");
	if (!roce_open(&e[0], &x->p[0], &(struct roce_conf){.host = 1}, "roce"))
		return;
	if (roce_open(&e[1], &x->p[1], &(struct roce_conf){.host = 2}, "roce")) {
		for (i = 0; i < RTE_DIM(types); i++) {
			snprintf(name, sizeof(name), "roce-%s", roce_kind(types[i]));
			ck_step(x->c, "joins queue pairs of the ports (%s)", name);
			if (!roce_both(&e[0], &e[1], types[i])) {
				ck_say(x->c, CK_FAIL, name, "two queue pairs cannot be joined: %s", strerror(errno));
				continue;
			}
			sends(e);
			if (types[i] != IBV_QPT_UD)
				writes(e);
			if (types[i] != IBV_QPT_RC)
				continue;
			reads(e);
			atomics(e);
			latency(e);
		}
		roce_close(&e[1]);
	}
	roce_close(&e[0]);
}
