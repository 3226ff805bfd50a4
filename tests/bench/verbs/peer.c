/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * rdma-core's own provider for these cards, as Debian ships it, without a card and without its kernel driver: libibverbs finds
 * a card in a sysfs of ours, and what it asks the kernel is answered here, by the calls that it makes: the device file is
 * /dev/null, commands are those of <rdma/ib_user_verbs.h>. The provider makes its rings in memory as always.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/mlx4dv.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>

#include "rings.h"

#define DEV_DIR "/dev/infiniband/"
#define PAGE 4096u
#define QPN 0x40u
#define QPS (1u << 16)
#define BF_REG 512u
#define CQE_LEN 32u
#define RDMA_NETLINK 20
#define IN(type) const struct type *in = (const void *)p

const char rings_driver[] = "rdma-core-mlx4";

static int dev_fd = -1;
static bool use_bf;
static uint8_t *bf_page;
static uint32_t next_handle = 1;

/* --- the device file ------------------------------------------------------------------------------------------- */

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static bool
is_dev(const char *path)
{
	return strncmp(path, DEV_DIR, strlen(DEV_DIR)) == 0;
}

int
open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if (is_dev(path))
		return dev_fd = REAL(open)("/dev/null", flags);
	va_start(ap, flags);
	if ((flags & (O_CREAT | O_TMPFILE)) != 0)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return REAL(open)(path, flags, mode);
}

int
stat(const char *path, struct stat *st)
{
	return REAL(stat)(is_dev(path) ? "/dev/null" : path, st);
}

/* Devices are looked for in sysfs. */
int
socket(int domain, int type, int protocol)
{
	if (domain != AF_NETLINK || protocol != RDMA_NETLINK)
		return REAL(socket)(domain, type, protocol);
	errno = EPROTONOSUPPORT;
	return -1;
}

void *
mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	void *page;

	if (fd < 0 || fd != dev_fd)
		return REAL(mmap)(addr, len, prot, flags, fd, off);
	page = REAL(mmap)(addr, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (off == PAGE)
		bf_page = page;
	return page;
}

/* What the kernel answers to one command: 0 or an errno. */
static int
answer(uint32_t command, const uint8_t *p, void *out, size_t out_len)
{
	memset(out, 0, out_len);
	switch (command) {
	case IB_USER_VERBS_CMD_GET_CONTEXT: {
		struct ib_uverbs_get_context_resp *r = out;
		struct mlx4_ib_alloc_ucontext_resp *m = (void *)(r + 1);

		r->async_fd = (uint32_t)REAL(open)("/dev/null", O_RDWR);
		r->num_comp_vectors = 1;
		m->qp_tab_size = QPS;
		m->bf_reg_size = use_bf ? BF_REG : 0;
		m->bf_regs_per_page = PAGE / BF_REG;
		m->cqe_size = CQE_LEN;
		return 0;
	}
	case IB_USER_VERBS_CMD_QUERY_DEVICE: {
		struct ib_uverbs_query_device_resp *r = out;

		r->max_qp_wr = 16351;
		r->max_sge = 32;
		r->max_srq_wr = 16351;
		r->max_srq_sge = 31;
		r->max_cqe = 1 << 22;
		r->phys_port_cnt = 1;
		return 0;
	}
	case IB_USER_VERBS_CMD_QUERY_PORT: {
		struct ib_uverbs_query_port_resp *r = out;

		r->state = IBV_PORT_ACTIVE;
		r->max_mtu = r->active_mtu = IBV_MTU_2048;
		r->link_layer = IBV_LINK_LAYER_INFINIBAND;
		return 0;
	}
	case IB_USER_VERBS_CMD_ALLOC_PD: ((struct ib_uverbs_alloc_pd_resp *)out)->pd_handle = next_handle++; return 0;
	case IB_USER_VERBS_CMD_CREATE_CQ: {
		IN(ib_uverbs_create_cq);
		struct ib_uverbs_create_cq_resp *r = out;

		r->cq_handle = next_handle++;
		r->cqe = in->cqe;
		return 0;
	}
	case IB_USER_VERBS_CMD_CREATE_SRQ: {
		IN(ib_uverbs_create_srq);
		struct ib_uverbs_create_srq_resp *r = out;

		r->srq_handle = next_handle++;
		r->max_wr = in->max_wr;
		r->max_sge = in->max_sge;
		return 0;
	}
	case IB_USER_VERBS_CMD_CREATE_QP: {
		IN(ib_uverbs_create_qp);
		struct ib_uverbs_create_qp_resp *r = out;

		r->qp_handle = next_handle++;
		r->qpn = QPN;
		r->max_send_wr = in->max_send_wr;
		r->max_recv_wr = in->max_recv_wr;
		r->max_send_sge = in->max_send_sge;
		r->max_recv_sge = in->max_recv_sge;
		r->max_inline_data = in->max_inline_data;
		return 0;
	}
	case IB_USER_VERBS_CMD_MODIFY_QP: return 0;
	default: return EOPNOTSUPP;
	}
}

ssize_t
write(int fd, const void *buf, size_t n)
{
	const struct ib_uverbs_cmd_hdr *h = buf;
	const uint8_t *req = (const uint8_t *)(h + 1);
	uint64_t out;
	int err;

	if (fd < 0 || fd != dev_fd)
		return REAL(write)(fd, buf, n);
	if ((h->command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0) {
		errno = EOPNOTSUPP;
		return -1;
	}
	/* Where the answer goes, is the first field of every command that has one. */
	memcpy(&out, req, sizeof(out));
	err = answer(h->command, req, (void *)(uintptr_t)out,
		     h->command == IB_USER_VERBS_CMD_MODIFY_QP ? 0 : 4u * h->out_words);
	if (err == 0)
		return (ssize_t)n;
	errno = err;
	return -1;
}

/* --- sysfs ------------------------------------------------------------------------------------------------------- */

static int
put_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;
	char *p;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (p = path + strlen(dir) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	if (f == NULL)
		return -errno;
	fprintf(f, "%s\n", text);
	return fclose(f) == 0 ? 0 : -errno;
}

static struct ibv_context *ctx;
static struct ibv_pd *pd;

int
rings_init(bool bf)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{"class/infiniband_verbs/abi_version", "6"},
		{"class/infiniband_verbs/uverbs0/ibdev", "mlx4_0"},
		{"class/infiniband_verbs/uverbs0/abi_version", "4"},
		{"class/infiniband_verbs/uverbs0/dev", "1:3"}, /* /dev/null */
		{"class/infiniband/mlx4_0/node_type", "1: CA"},
		{"class/infiniband/mlx4_0/node_guid", "0002:c903:0000:0001"},
		{"class/infiniband/mlx4_0/device/modalias", "pci:v000015B3d00001003sv000015B3sd00000051bc02sc80i00"},
	};
	char dir[] = "/tmp/rings.XXXXXX", rm[64];
	struct ibv_device **list;
	int rc = mkdtemp(dir) == NULL ? -errno : 0;

	use_bf = bf;
	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]) && rc == 0; i++)
		rc = put_file(dir, files[i].name, files[i].text);
	if (rc != 0)
		return rc;
	setenv("SYSFS_PATH", dir, 1);
	/* One thread; the provider is told so. */
	setenv("MLX4_SINGLE_THREADED", "1", 0);
	list = ibv_get_device_list(NULL);
	ctx = list == NULL || list[0] == NULL ? NULL : ibv_open_device(list[0]);
	rc = ctx == NULL ? -errno : 0;
	pd = ctx == NULL ? NULL : ibv_alloc_pd(ctx);
	snprintf(rm, sizeof(rm), "rm -rf %s", dir);
	return system(rm) == 0 && pd != NULL ? 0 : rc != 0 ? rc : -EIO;
}

/* --- queues ------------------------------------------------------------------------------------------------------ */

static int
make_cq(struct rings_cq *c)
{
	struct mlx4dv_cq dv = {.comp_mask = 0};
	struct mlx4dv_obj obj = {.cq = {.out = &dv}};

	c->cq = obj.cq.in = ibv_create_cq(ctx, RINGS_WRS, NULL, NULL, 0);
	if (c->cq == NULL || mlx4dv_init_obj(&obj, MLX4DV_OBJ_CQ) != 0 || dv.cqe_size != CQE_LEN)
		return -EIO;
	c->cqes = dv.buf.buf;
	c->mask = dv.cqe_cnt - 1;
	return 0;
}

int
rings_make(enum ibv_qp_type type, bool srq, struct rings_qp *q)
{
	struct ibv_srq_init_attr shared = {.attr = {.max_wr = RINGS_WRS, .max_sge = 1}};
	struct ibv_qp_init_attr init = {.qp_type = type,
					.cap = {.max_send_wr = RINGS_WRS,
						.max_recv_wr = RINGS_WRS,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = RINGS_LEN}};
	struct ibv_ah_attr ah = {.dlid = 1, .port_num = 1};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct mlx4dv_qp dv = {.comp_mask = 0};
	struct mlx4dv_srq sdv = {.comp_mask = 0};
	struct mlx4dv_obj obj = {.qp = {.out = &dv}, .srq = {.out = &sdv}};

	if (make_cq(&q->send) != 0 || make_cq(&q->recv) != 0)
		return -EIO;
	q->srq = init.srq = srq ? ibv_create_srq(pd, &shared) : NULL;
	obj.srq.in = q->srq;
	init.send_cq = q->send.cq;
	init.recv_cq = q->recv.cq;
	q->qp = obj.qp.in = ibv_create_qp(pd, &init);
	q->ah = ibv_create_ah(pd, &ah);
	if (q->qp == NULL || q->ah == NULL || (srq && q->srq == NULL) ||
	    mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | (srq ? MLX4DV_OBJ_SRQ : 0)) != 0)
		return -EIO;
	for (; a.qp_state <= IBV_QPS_RTS; a.qp_state++)
		if (ibv_modify_qp(q->qp, &a, IBV_QP_STATE | (a.qp_state == IBV_QPS_INIT ? IBV_QP_PORT : 0)) != 0)
			return -errno;
	q->qpn = q->qp->qp_num;
	q->sq = (uint8_t *)dv.buf.buf + dv.sq.offset;
	q->lg_stride = (unsigned int)dv.sq.wqe_shift;
	q->sq_mask = dv.sq.wqe_cnt - 1;
	q->rq = (uint8_t *)dv.buf.buf + dv.rq.offset;
	q->lg_rq_stride = (unsigned int)dv.rq.wqe_shift;
	q->rq_mask = dv.rq.wqe_cnt - 1;
	if (srq) {
		q->rq = sdv.buf.buf;
		q->lg_rq_stride = (unsigned int)sdv.wqe_shift;
		q->rq_mask = (uint32_t)(sdv.buf.length >> sdv.wqe_shift) - 1;
	}
	q->doorbell = (volatile uint32_t *)dv.sdb;
	q->bf = use_bf ? bf_page : NULL;
	q->bf_len = BF_REG / 2;
	return 0;
}
