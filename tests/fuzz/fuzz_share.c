/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What programs ask the owner of ports for. An input is one connection: which kind, then a list of messages. A message is one
 * that a library would send, with handles of what the connection made before, in which the input changes words; some come with
 * descriptors that the owner may map and some with others. At the end the connection goes, and the owner has nothing of it left.
 * The card, whose commands these become, has nothing to complain about.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <sanitizer/lsan_interface.h>

#include "bytes.h"
#include "lib/share/proto.h"
#include "tests/unit/mlx4/roce_rig.h"

#define MAX_MESSAGES 64
#define KEPT 4
#define FILE_LEN (UINT64_C(1) << 62) /* nothing in it, so that no sum of lengths is too large for it */
#define REGION 65536u
#define QKEY 0x1234u

static struct tp_share *owner;
static struct sockaddr_un where = {.sun_family = AF_UNIX};
static int sealed, unsealed;

/* Handles of the last of each kind, by the call that made them. */
struct program {
	int fd;
	uint32_t made[SHARE_OPS][KEPT];
	unsigned int num_made[SHARE_OPS];
	char device[IBV_SYSFS_NAME_MAX];
};

static void
end(void)
{
	tp_share_stop(owner);
	rr_close();
	/* The owner has taken its socket away. */
	*strrchr(where.sun_path, '/') = '\0';
	(void)rmdir(where.sun_path);
}

static void
begin(void)
{
	/* Few of each, so that an input comes to the limits. */
	struct tp_share_conf conf = {
		.path = where.sun_path,
		.limit = {[TP_SHARE_OBJECTS] = 24,
			  [TP_SHARE_QUEUE_BYTES] = 4 << 20,
			  [TP_SHARE_REGION_BYTES] = 4 * REGION},
	};
	char dir[] = "/tmp/fuzz-share.XXXXXX";
	int rc;

	assert_true(rig_eal("fuzz_share", "0") >= 0);
	rr_open("", NULL);
	assert_non_null(mkdtemp(dir));
	snprintf(where.sun_path, sizeof(where.sun_path), "%s/share", dir);
	rc = tp_share_start(&conf, &owner);
	assert_int_equal(rc, 0);
	(void)atexit(end);
	rte_log_set_global_level(RTE_LOG_EMERG);
	sealed = memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	unsealed = memfd_create("fuzz", MFD_CLOEXEC);
	assert_int_equal(ftruncate(sealed, FILE_LEN) | ftruncate(unsealed, FILE_LEN), 0);
	assert_int_equal(fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
}

/* --- the connection --- */

/* False: the owner has ended it. */
static bool
send_it(const struct program *p, const struct share_msg *m, size_t len, const int *fds, unsigned int num)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * 2 * SHARE_PIECES)];
		struct cmsghdr align;
	} ctl = {{0}};
	struct iovec iov = {(void *)(uintptr_t)m, len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (num != 0) {
		h.msg_control = ctl.buf;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * num);
		ctl.align.cmsg_level = SOL_SOCKET;
		ctl.align.cmsg_type = SCM_RIGHTS;
		ctl.align.cmsg_len = CMSG_LEN(sizeof(int) * num);
		memcpy(CMSG_DATA(&ctl.align), fds, sizeof(int) * num);
	}
	/* libFuzzer looks at its clock by a signal, which ends calls that wait. */
	do
		n = sendmsg(p->fd, &h, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n >= 0;
}

static bool
answer(const struct program *p, struct share_msg *m)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * SHARE_PIECES)];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf)};
	ssize_t n;

	do
		n = recvmsg(p->fd, &h, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); n >= 0 && c != NULL; c = CMSG_NXTHDR(&h, c)) {
		int fds[SHARE_PIECES];
		size_t len = c->cmsg_len - CMSG_LEN(0);

		memcpy(fds, CMSG_DATA(c), len);
		for (size_t i = 0; i < len / sizeof(int); i++)
			close(fds[i]);
	}
	return n == sizeof(*m);
}

static uint64_t
turned_away(void)
{
	struct tp_share_stats st;

	tp_share_stats_get(owner, &st);
	return st.refused;
}

/* The first question; connections of inputs before, which had no port, may not have come to their ends yet. */
static struct share_msg
call(struct program *p, const struct share_msg *first)
{
	struct share_msg m;
	uint64_t before;
	bool answered;

	do {
		before = turned_away();
		m = *first;
		p->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(p->fd, (const void *)&where, sizeof(where)), 0);
		answered = send_it(p, &m, sizeof(m), NULL, 0) && answer(p, &m);
		if (answered && m.err == 0)
			return m;
		close(p->fd);
		rte_delay_us_sleep(1000);
	} while (turned_away() != before);
	fail_msg("the first question of a connection: %s", answered ? strerror(m.err) : "no answer");
	return m;
}

/* A connection has a port, has connections of librdmacm, or has nothing yet. */
static void
dial(struct program *p, unsigned int kind)
{
	struct share_msg m = {.op = SHARE_HELLO, .hello = {.version = SHARE_VERSION, .index = kind & 1}};

	if (kind % 5 == 0) {
		p->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(p->fd, (const void *)&where, sizeof(where)), 0);
		return;
	}
	if (kind % 5 == 1) {
		m = (struct share_msg){.op = SHARE_CM_OPEN};
		m = call(p, &m);
		p->made[SHARE_CM_OPEN][0] = m.handle;
		p->num_made[SHARE_CM_OPEN] = 1;
		return;
	}
	m = call(p, &m);
	memcpy(p->device, m.hello.name, sizeof(p->device));
	m = (struct share_msg){.op = SHARE_OPEN};
	memcpy(m.open.name, p->device, sizeof(m.open.name));
	assert_true(send_it(p, &m, sizeof(m), NULL, 0) && answer(p, &m));
	assert_int_equal(m.err, 0);
}

/* --- messages as libraries send them --- */

static uint32_t
made(const struct program *p, enum share_op op, unsigned int which)
{
	unsigned int n = p->num_made[op];

	return n == 0 ? 0 : p->made[op][which % (n < KEPT ? n : KEPT)];
}

/* Which call makes what this one is about. */
static enum share_op
maker(uint32_t op)
{
	switch (op) {
	case SHARE_DEALLOC_PD: return SHARE_ALLOC_PD;
	case SHARE_DEREG_MR:
	case SHARE_REREG_MR: return SHARE_REG_MR;
	case SHARE_DEALLOC_MW: return SHARE_ALLOC_MW;
	case SHARE_DESTROY_CHANNEL: return SHARE_CREATE_CHANNEL;
	case SHARE_MODIFY_CQ:
	case SHARE_RESIZE_CQ:
	case SHARE_DESTROY_CQ: return SHARE_CREATE_CQ;
	case SHARE_MODIFY_SRQ:
	case SHARE_QUERY_SRQ:
	case SHARE_DESTROY_SRQ: return SHARE_CREATE_SRQ;
	case SHARE_DESTROY_AH: return SHARE_CREATE_AH;
	case SHARE_DESTROY_FLOW: return SHARE_CREATE_FLOW;
	case SHARE_CM_CLOSE:
	case SHARE_CM_COMMAND: return SHARE_CM_OPEN;
	default: return SHARE_CREATE_QP;
	}
}

static struct ibv_ah_attr
path(unsigned int how)
{
	struct ibv_ah_attr a = {.is_global = 1, .port_num = 1};

	a.grh.sgid_index = how & 7;
	(void)tp_roce_query_gid(rr_ctx[how >> 3 & 1], 1, how & 7, &a.grh.dgid);
	return a;
}

static void
modify(struct share_qp_attr *r, unsigned int how)
{
	static const int mask[] = {
		IBV_QP_STATE,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		IBV_QP_STATE,
		IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC,
		IBV_QP_STATE | IBV_QP_SQ_PSN,
	};
	static const enum ibv_qp_state to[] = {IBV_QPS_ERR, IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPS_RTR,
					       IBV_QPS_RTR, IBV_QPS_RTR,  IBV_QPS_RTS,  IBV_QPS_RTS};

	r->mask = (uint32_t)mask[how & 7];
	r->attr = (struct ibv_qp_attr){.qp_state = to[how & 7],
				       .path_mtu = IBV_MTU_1024,
				       .qkey = QKEY,
				       .dest_qp_num = 0x40,
				       .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
				       .max_rd_atomic = 1,
				       .max_dest_rd_atomic = 1,
				       .min_rnr_timer = 12,
				       .port_num = 1,
				       .timeout = 14,
				       .retry_cnt = 7,
				       .rnr_retry = 7,
				       .ah_attr = path(how >> 3)};
}

static void
rule(const struct program *p, struct share_flow *r, unsigned int how)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} f = {
		.attr = {.size = sizeof(f), .num_of_specs = 1, .port = 1},
		.eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(struct ibv_flow_spec_eth)},
	};

	memset(f.eth.mask.dst_mac, 0xff, sizeof(f.eth.mask.dst_mac));
	f.eth.val.dst_mac[0] = 2;
	f.eth.val.dst_mac[5] = (uint8_t)how;
	r->qp = made(p, SHARE_CREATE_QP, how);
	r->len = sizeof(f);
	memcpy(r->attr, &f, sizeof(f));
}

static void
region(const struct program *p, struct share_mr *r, unsigned int how)
{
	r->pd = made(p, SHARE_ALLOC_PD, how);
	r->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	r->num = 1 + how % 3;
	r->addr = r->iova = 0x7f0000000000 + how % 5;
	r->len = (uint64_t)r->num * 8192 - how % 5;
	r->flags = how >> 4 & 7;
	for (unsigned int i = 0; i < r->num; i++)
		r->piece[i] = (struct share_piece){i * 8192, 8192};
	if ((how & 0x80) == 0)
		return;
	/* Their sum is right in 64 bits, and the first is longer than the region. */
	r->num = 5;
	r->len = 8192 - how % 5;
	for (unsigned int i = 0; i < r->num; i++)
		r->piece[i] = (struct share_piece){0, FILE_LEN};
	r->piece[0].len = 1 << 30;
	r->piece[4].len = FILE_LEN - (1 << 30) + 8192;
}

static void
as_usual(const struct program *p, struct share_msg *m, unsigned int how)
{
	static const enum ibv_qp_type type[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET};

	m->handle = made(p, maker(m->op), how);
	switch (m->op) {
	case SHARE_HELLO: m->hello = (struct share_hello){.version = SHARE_VERSION, .index = how}; break;
	case SHARE_OPEN: memcpy(m->open.name, p->device, sizeof(m->open.name)); break;
	case SHARE_QUERY_GID: m->gid.index = how; break;
	case SHARE_REG_MR:
	case SHARE_REREG_MR: region(p, &m->mr, how); break;
	case SHARE_ALLOC_MW:
		m->mw.pd = made(p, SHARE_ALLOC_PD, how);
		m->mw.type = IBV_MW_TYPE_1 + (how & 1);
		break;
	case SHARE_CREATE_CQ:
		m->cq.cqe = 1 + (int)how;
		m->cq.channel = (how & 1) != 0 ? made(p, SHARE_CREATE_CHANNEL, how) : 0;
		break;
	case SHARE_RESIZE_CQ: m->cq.cqe = 1 + (int)how; break;
	case SHARE_CREATE_SRQ:
		m->srq.pd = made(p, SHARE_ALLOC_PD, how);
		m->srq.attr = (struct ibv_srq_attr){.max_wr = 1 + how, .max_sge = 2};
		break;
	case SHARE_MODIFY_SRQ:
		m->srq.mask = IBV_SRQ_LIMIT;
		m->srq.attr.srq_limit = how;
		break;
	case SHARE_CREATE_QP:
		m->qp = (struct share_qp){.pd = made(p, SHARE_ALLOC_PD, how),
					  .send_cq = made(p, SHARE_CREATE_CQ, how),
					  .recv_cq = made(p, SHARE_CREATE_CQ, how >> 1),
					  .srq = (how & 0x40) != 0 ? made(p, SHARE_CREATE_SRQ, how) : 0,
					  .type = type[how >> 4 & 3],
					  .cap = {16, 16, 2, 2, 64}};
		break;
	case SHARE_MODIFY_QP: modify(&m->qp_attr, how); break;
	case SHARE_QUERY_QP: m->qp_attr.mask = UINT32_MAX; break;
	case SHARE_CREATE_AH:
		m->ah.pd = made(p, SHARE_ALLOC_PD, how);
		m->ah.attr = path(how);
		break;
	case SHARE_INIT_AH: m->from_wc.port = 1; break;
	case SHARE_ATTACH_MCAST:
	case SHARE_DETACH_MCAST:
		m->mcast.gid.raw[0] = 0xff;
		m->mcast.gid.raw[15] = (uint8_t)how;
		break;
	case SHARE_COUNTERS:
		memcpy(m->counters.device, p->device, sizeof(m->counters.device));
		m->counters.first = how;
		break;
	case SHARE_CREATE_FLOW: rule(p, &m->flow, how); break;
	default: break;
	}
}

/* --- the input --- */

/* Words that are the ends of something more often than not. */
static uint64_t
word(struct bytes *b)
{
	static const uint64_t ends[] = {0,       1,          0x7f,       0xff,       0x1000,     0xffff,
					1 << 16, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX, (uint64_t)1 << 63};
	uint8_t k = bytes_u8(b);

	return k < RTE_DIM(ends) ? ends[k] : k < 0x80 ? (uint64_t)bytes_u32(b) << 12 : bytes_u32(b);
}

static void
change(struct share_msg *m, struct bytes *b)
{
	static const size_t sizes[] = {1, 2, 4, 8};
	uint16_t at = bytes_u16(b);
	size_t size = sizes[at >> 14];
	uint64_t w = word(b);

	/* The operation is chosen before. */
	at = (uint16_t)(offsetof(struct share_msg, handle) +
			(at & 0x3fff) % (sizeof(*m) - offsetof(struct share_msg, handle)));
	memcpy((uint8_t *)m + at, &w, size < sizeof(*m) - at ? size : sizeof(*m) - at);
}

/* False: the connection is over. */
static bool
message(struct program *p, struct bytes *b)
{
	uint8_t op = bytes_u8(b), how = bytes_u8(b), more = bytes_u8(b);
	struct share_msg m = {.op = op % (SHARE_OPS + 1)};
	int fds[2 * SHARE_PIECES];
	unsigned int num = 0;

	if (m.op == SHARE_CM_COMMAND) {
		m.handle = made(p, SHARE_CM_OPEN, how);
		m.cm.cmd = how % 24;
		m.cm.len = bytes_u16(b) % (SHARE_CM_DATA + 1);
		m.cm.out = SHARE_CM_DATA;
		bytes_copy(b, m.cm.data, m.cm.len);
	} else {
		as_usual(p, &m, how);
	}
	if (m.op == SHARE_REG_MR || m.op == SHARE_REREG_MR)
		num = m.mr.num;
	for (unsigned int i = more & 7; i > 0; i--)
		change(&m, b);
	if ((more & 0x38) == 0x38)
		num = bytes_u8(b) % (2 * SHARE_PIECES);
	for (unsigned int i = 0; i < num; i++)
		fds[i] = (more & 0x40) != 0 ? unsealed : sealed;
	op = (uint8_t)m.op;
	if (!send_it(p, &m, (more & 0xb8) == 0xb0 ? bytes_u16(b) % sizeof(m) : sizeof(m), fds, num) || !answer(p, &m))
		return false;
	if (m.err == 0 && op < SHARE_OPS && m.handle != 0)
		p->made[op][p->num_made[op]++ % KEPT] = m.handle;
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	struct program p = {0};
	struct tp_share_stats st;

	if (owner == NULL) {
		/* What the card has lies in memory of the EAL's, where nobody looks for pointers. */
		__lsan_disable();
		begin();
		__lsan_enable();
	}
	dial(&p, bytes_u8(&b));
	for (unsigned int i = 0; i < MAX_MESSAGES && b.left != 0; i++)
		if (!message(&p, &b))
			break;
	close(p.fd);
	while (tp_share_guests_get(owner, NULL, 0) != 0)
		rte_delay_us_sleep(20);
	tp_share_stats_get(owner, &st);
	assert_int_equal(st.objects, 0);
	assert_int_equal(st.ring_bytes, 0);
	assert_int_equal(st.region_bytes, 0);
	rr_run();
	rig_no_violations(0);
	return 0;
}
