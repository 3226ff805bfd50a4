/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include "lib/roce/rdma/cm_port.h"
#include "fake.h"
#include "tests/unit/eal.h"

struct fake fake;
uint16_t fake_port, fake_port2;

/* The log is a memory file of the test's. */
static FILE *log_file;
static char *log_text;
static size_t log_len;

/* Writes down a call. */
static int
seen(const char *op, void *obj)
{
	fake.calls++;
	fake.last_op = op;
	fake.last_obj = obj;
	if (fake.fail_op == NULL || strcmp(fake.fail_op, op) != 0)
		return 0;
	return fake.fail_after == 0 ? fake.fail_err : (fake.fail_after--, 0);
}

static unsigned int
serves(uint16_t port_id)
{
	return port_id == fake_port || (port_id == fake_port2 && fake.both) ? 7 : 0;
}

static int
fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	fake.bound = wr->bind_mw.bind_info;
	fake.bound_key = wr->bind_mw.rkey;
	return seen("post_send", qp);
}

static int
prov_open(struct troce_dev *dev)
{
	struct ibv_device_attr *a = &dev->attr;

	a->max_mr_size = 1ull << 40;
	a->max_qp = a->max_cq = a->max_mr = a->max_pd = a->max_mw = a->max_ah = a->max_srq = 100;
	a->max_qp_wr = a->max_cqe = a->max_srq_wr = FAKE_MAX_WR;
	a->max_sge = a->max_srq_sge = FAKE_MAX_SGE;
	a->max_qp_rd_atom = FAKE_MAX_RD;
	a->max_qp_init_rd_atom = FAKE_MAX_INIT_RD;
	dev->max_inline = FAKE_MAX_INLINE;
	dev->vctx.context.num_comp_vectors = 2;
	dev->vctx.context.ops.post_send = fake_post_send;
	dev->mode = RTE_MAX(dev->mode, fake.best);
	return seen("open", dev);
}

static void
prov_close(struct troce_dev *dev)
{
	seen("close", dev);
}

static int
query_port(struct troce_dev *dev, struct ibv_port_attr *attr)
{
	attr->state = IBV_PORT_DOWN;
	return seen("query_port", dev);
}

#define PLAIN(name, type)                                                                                              \
	static int name(type *obj)                                                                                     \
	{                                                                                                              \
		return seen(#name, obj);                                                                               \
	}
static int
rereg_mr(struct troce_mr *mr, const struct troce_mr *to)
{
	fake.region = *to;
	return seen("rereg_mr", mr);
}

PLAIN(alloc_pd, struct troce_pd)
PLAIN(dealloc_pd, struct troce_pd)
PLAIN(dereg_mr, struct troce_mr)
PLAIN(dealloc_mw, struct troce_mw)
PLAIN(destroy_cq, struct troce_cq)
PLAIN(destroy_srq, struct troce_srq)
PLAIN(destroy_qp, struct troce_qp)
PLAIN(create_ah, struct troce_ah)
PLAIN(destroy_ah, struct troce_ah)

static int
reg_mr(struct troce_mr *mr)
{
	mr->v.lkey = mr->v.rkey = 0x1200;
	return seen("reg_mr", mr);
}

static int
alloc_mw(struct troce_mw *mw)
{
	mw->v.rkey = 0x34ff;
	return seen("alloc_mw", mw);
}

static int
create_cq(struct troce_cq *cq, int vector)
{
	fake.vector = vector;
	cq->v.cqe = (int)rte_align32pow2((uint32_t)cq->v.cqe + 1) - 1;
	return seen("create_cq", cq);
}

static int
modify_cq(struct troce_cq *cq, uint16_t count, uint16_t period_us)
{
	fake.count = count;
	fake.period = period_us;
	return seen("modify_cq", cq);
}

static int
resize_cq(struct troce_cq *cq, int cqe)
{
	cq->v.cqe = (int)rte_align32pow2((uint32_t)cqe + 1) - 1;
	return seen("resize_cq", cq);
}

static int
create_srq(struct troce_srq *srq, struct ibv_srq_attr *attr)
{
	fake.srq_limit = attr->srq_limit;
	attr->max_wr = rte_align32pow2(attr->max_wr);
	return seen("create_srq", srq);
}

static int
modify_srq(struct troce_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	return seen("modify_srq", srq);
}

static int
query_srq(struct troce_srq *srq, struct ibv_srq_attr *attr)
{
	attr->srq_limit = 3;
	return seen("query_srq", srq);
}

static int
create_qp(struct troce_qp *qp)
{
	static uint32_t qpn = 0x40;

	/* Of a ring it is one that was reserved. */
	if (qp->role != TROCE_QP_RING)
		qp->v.qp_num = qpn++;
	qp->init.cap.max_send_wr = rte_align32pow2(qp->init.cap.max_send_wr);
	return seen("create_qp", qp);
}

static int
modify_qp(struct troce_qp *qp, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state from, enum ibv_qp_state to)
{
	fake.mask = mask;
	fake.from = from;
	fake.to = to;
	fake.seen = qp->attr;
	fake.path = qp->path;
	if (fake.fails_meanwhile)
		qp->v.state = IBV_QPS_ERR;
	return seen("modify_qp", qp);
}

static int
query_qp(struct troce_qp *qp, struct ibv_qp_attr *attr)
{
	attr->sq_psn = 0x777;
	return seen("query_qp", qp);
}

static int
attach_mcast(struct troce_qp *qp, const union ibv_gid *gid, const struct rte_ether_addr *mac)
{
	fake.mac = *mac;
	return seen("attach_mcast", qp);
}

static int
detach_mcast(struct troce_qp *qp, const union ibv_gid *gid, const struct rte_ether_addr *mac)
{
	fake.mac = *mac;
	return seen("detach_mcast", qp);
}

static int
reserve_qpns(struct troce_dev *dev, uint32_t n, uint32_t *base)
{
	*base = 0x4000;
	return seen("reserve_qpns", dev);
}

static void
release_qpns(struct troce_dev *dev, uint32_t base, uint32_t n)
{
	fake.qpns_back = base;
	fake.num_qpns_back = n;
	seen("release_qpns", dev);
}

static int
create_flow(struct troce_flow *flow, const struct ibv_flow_attr *attr)
{
	return seen("create_flow", flow);
}

static int
destroy_flow(struct troce_flow *flow)
{
	return seen("destroy_flow", flow);
}

static unsigned int
prov_progress(struct troce_dev *dev)
{
	fake.progressed++;
	if (fake.in_progress != NULL)
		fake.in_progress(dev);
	return 0;
}

static uint16_t
input(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t took = RTE_MIN(fake.take, n);

	rte_pktmbuf_free_bulk(pkts, took);
	memmove(pkts, pkts + took, (n - took) * sizeof(*pkts));
	return (uint16_t)(n - took);
}

static int
stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	fn(arg, "fake_counter", 42);
	return seen("stats", dev);
}

static const struct troce_provider prov = {
	.name = "fake",
	.dev_size = 64,
	.qp_size = sizeof(struct troce_qp) + 100,
	.flow_size = sizeof(struct troce_flow) + 10,
	.serves = serves,
	.open = prov_open,
	.close = prov_close,
	.query_port = query_port,
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.reg_mr = reg_mr,
	.rereg_mr = rereg_mr,
	.dereg_mr = dereg_mr,
	.alloc_mw = alloc_mw,
	.dealloc_mw = dealloc_mw,
	.create_cq = create_cq,
	.modify_cq = modify_cq,
	.resize_cq = resize_cq,
	.destroy_cq = destroy_cq,
	.create_srq = create_srq,
	.modify_srq = modify_srq,
	.query_srq = query_srq,
	.destroy_srq = destroy_srq,
	.create_qp = create_qp,
	.modify_qp = modify_qp,
	.query_qp = query_qp,
	.destroy_qp = destroy_qp,
	.reserve_qpns = reserve_qpns,
	.release_qpns = release_qpns,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
	.attach_mcast = attach_mcast,
	.detach_mcast = detach_mcast,
	.create_flow = create_flow,
	.destroy_flow = destroy_flow,
	.progress = prov_progress,
	.input = input,
	.stats = stats,
};
TROCE_PROVIDER(prov)

/* --- the network ------------------------------------------------------------------------------------------------- */

static int
net_init(struct troce_dev *dev)
{
	return seen("net_init", dev);
}

static void
net_fini(struct troce_dev *dev)
{
	seen("net_fini", dev);
}

static void
net_stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	fn(arg, "net_counter", 1);
}

const struct troce_side_ops troce_net_side = {.init = net_init, .fini = net_fini, .stats = net_stats};

/* Entries 0 (v1), 1 (v2) are fe80::1, 3 is 192.0.2.1 of v2. */
bool
troce_gid_get(struct troce_dev *dev, uint32_t index, struct troce_gid *gid)
{
	*gid = (struct troce_gid){.type = index == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2,
				  .vlan = TP_ROCE_NO_VLAN,
				  .valid = index < 2 || index == 3};
	if (index < 2) {
		gid->gid.raw[0] = 0xfe;
		gid->gid.raw[1] = 0x80;
		gid->gid.raw[15] = 1;
	} else {
		memcpy(gid->gid.raw + 10, (const uint8_t[]){0xff, 0xff, 192, 0, 2, 1}, 6);
	}
	return gid->valid;
}

int
troce_path_resolve(struct troce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport, uint16_t service,
		   struct troce_path *path)
{
	atomic_fetch_add(&fake.resolves, 1);
	if (fake.unresolved > 0) {
		fake.unresolved--;
		return EINPROGRESS;
	}
	*path = (struct troce_path){.dgid = av->grh.dgid, .sport = sport, .dmac = {{2, 0, 0, 0, 0, 9}}};
	return fake.resolve;
}

void
troce_mcast_mac(const union ibv_gid *gid, struct rte_ether_addr *mac)
{
	*mac = (struct rte_ether_addr){{0x33, 0x33, gid->raw[12], gid->raw[13], gid->raw[14], gid->raw[15]}};
}

uint16_t
troce_sport(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn)
{
	return (uint16_t)(0xc000 | (local_qpn ^ remote_qpn));
}

uint16_t
troce_mtu_fit(uint16_t eth_mtu)
{
	return fake.fit;
}

/* --- connections: none ------------------------------------------------------------------------------------------- */

static int
cm_init(struct troce_dev *dev)
{
	return seen("cm_init", dev);
}

static void
cm_fini(struct troce_dev *dev)
{
	seen("cm_fini", dev);
}

void
troce_cm_tidy(struct troce_dev *dev)
{
}

static void
cm_stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	fn(arg, "cm_counter", 1);
}

const struct troce_side_ops troce_cm_side = {.init = cm_init, .fini = cm_fini, .stats = cm_stats};

/* --- the test's side --------------------------------------------------------------------------------------------- */

static uint16_t
port_start(const char *name, struct rte_mempool *pool)
{
	static const struct rte_eth_conf conf;
	uint16_t port;

	assert_int_equal(rte_eth_dev_get_port_by_name(name, &port), 0);
	assert_int_equal(rte_eth_dev_configure(port, 2, 2, &conf), 0);
	for (uint16_t q = 0; q < 2; q++) {
		assert_int_equal(rte_eth_rx_queue_setup(port, q, 64, 0, NULL, pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(port, q, 64, 0, NULL), 0);
	}
	assert_int_equal(rte_eth_dev_start(port), 0);
	return port;
}

int
fake_eal(const char *telemetry)
{
	struct rte_mempool *pool;
	static char prefix[64];
	const char *const words[] = {"test",
				     "--no-huge",
				     "-m",
				     "64",
				     "--no-shconf",
				     "--no-pci",
				     "--lcores",
				     unit_lcores("0"),
				     "--vdev=net_null0",
				     "--vdev=net_null1",
				     "--log-level=lib.roce:debug",
				     prefix,
				     telemetry};
	char *argv[RTE_DIM(words)];

	snprintf(prefix, sizeof(prefix), "--file-prefix=fake%d", (int)getpid());
	for (unsigned int i = 0; i < RTE_DIM(words); i++)
		argv[i] = (char *)(uintptr_t)words[i];
	if (rte_eal_init((int)RTE_DIM(argv), argv) < 0)
		return -1;
	log_file = open_memstream(&log_text, &log_len);
	rte_openlog_stream(log_file);
	pool = rte_pktmbuf_pool_create("rx", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	assert_non_null(pool);
	fake_port = port_start("net_null0", pool);
	fake_port2 = port_start("net_null1", pool);
	fake_reset();
	return 0;
}

void
fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.fit = 1024;
	rewind(log_file);
	fflush(log_file);
}

unsigned int
fake_lines(void)
{
	unsigned int n = 0;

	fflush(log_file);
	for (size_t i = 0; i < log_len; i++)
		n += log_text[i] == '\n';
	return n;
}

bool
fake_said(const char *words)
{
	fflush(log_file);
	return memmem(log_text, log_len, words, strlen(words)) != NULL;
}

void
fake_refused(const char *words, const char *file, int line)
{
	if (fake_lines() == 1 && fake_said(words) && fake.calls == 0)
		return;
	print_error("wanted \"%s\" and no call, got %u calls (%s) and: %.*s\n", words, fake.calls,
		    fake.calls == 0 ? "" : fake.last_op, (int)log_len, log_text);
	_fail(file, line);
}

struct ibv_context *
fake_open(const struct tp_roce_conf *conf)
{
	struct ibv_context *ctx = tp_roce_open(fake_port, conf);

	assert_non_null(ctx);
	return ctx;
}

void
fake_close(struct ibv_context *ctx)
{
	assert_int_equal(tp_roce_close_device(ctx), 0);
}
