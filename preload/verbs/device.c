/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Devices: the ports of the owner; and what they say of themselves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/share/name.h"
#include "verbs_client.h"

#define DEVICES 64u

/* --- the list --- */

/* As with libibverbs, a device is the same one in all lists while somebody has it. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, vc_device) known = LIST_HEAD_INITIALIZER(known);

static void
device_put(struct vc_device *d)
{
	pthread_mutex_lock(&list_lock);
	if (--d->refs == 0) {
		LIST_REMOVE(d, next);
		free(d);
	}
	pthread_mutex_unlock(&list_lock);
}

static void
device_take(struct vc_device *d)
{
	pthread_mutex_lock(&list_lock);
	d->refs++;
	pthread_mutex_unlock(&list_lock);
}

static struct vc_device *
device_make(const struct share_hello *h)
{
	struct vc_device *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->guid = h->guid;
	d->index = (int)h->ibdev;
	d->v.node_type = IBV_NODE_CA;
	d->v.transport_type = IBV_TRANSPORT_IB;
	snprintf(d->owner_name, sizeof(d->owner_name), "%s", h->name);
	share_name(d->v.name, h->name, h->ibdev, getenv(SHARE_NAMES_ENV));
	snprintf(d->v.dev_name, sizeof(d->v.dev_name), "uverbs%u", h->ibdev);
	snprintf(d->v.dev_path, sizeof(d->v.dev_path), "/sys/class/infiniband_verbs/uverbs%u", h->ibdev);
	snprintf(d->v.ibdev_path, sizeof(d->v.ibdev_path), "/sys/class/infiniband/%s", d->v.name);
	return d;
}

static struct vc_device *
device_of(const struct share_hello *h)
{
	struct vc_device *d;

	pthread_mutex_lock(&list_lock);
	LIST_FOREACH(d, &known, next)
	{
		if (d->index == (int)h->ibdev && d->guid == h->guid && strcmp(d->owner_name, h->name) == 0)
			break;
	}
	if (d == NULL) {
		d = device_make(h);
		if (d != NULL)
			LIST_INSERT_HEAD(&known, d, next);
	}
	if (d != NULL)
		d->refs++;
	pthread_mutex_unlock(&list_lock);
	return d;
}

VC_EXPORT void
ibv_free_device_list(struct ibv_device **list)
{
	for (unsigned int i = 0; list[i] != NULL; i++)
		device_put((struct vc_device *)list[i]);
	free(list);
}

VC_EXPORT struct ibv_device **
ibv_get_device_list(int *num)
{
	struct ibv_device **list = calloc(DEVICES + 1, sizeof(*list));
	unsigned int n = 0;
	int fd, err = 0;

	if (num != NULL)
		*num = 0;
	if (list == NULL)
		return NULL;
	fd = owner_connect(owner_path());
	/* No owner: no devices, as without a driver. */
	if (fd < 0 && errno == EACCES)
		fprintf(stderr, "triplane: the socket of the ports' owner is not for this user\n");
	while (fd >= 0 && err == 0 && n < DEVICES) {
		struct share_msg m = {.op = SHARE_HELLO, .hello = {.version = SHARE_VERSION, .index = n}};

		err = owner_ask(fd, &m, NULL, 0, NULL, 0);
		if (err == 0) {
			list[n] = (struct ibv_device *)device_of(&m.hello);
			err = list[n] == NULL ? ENOMEM : 0;
			n += err == 0;
		}
		if (err == EPROTO)
			fprintf(stderr, "triplane: the owner of the ports speaks version %u, this program %u\n",
				m.hello.version, SHARE_VERSION);
		if (err == EUSERS)
			fprintf(stderr, "triplane: the owner of the ports has as many connections as it takes\n");
	}
	if (fd >= 0)
		close(fd);
	if (num != NULL)
		*num = (int)n;
	return list;
}

VC_EXPORT const char *
ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

VC_EXPORT int
ibv_get_device_index(struct ibv_device *device)
{
	return ((struct vc_device *)device)->index;
}

VC_EXPORT __be64
ibv_get_device_guid(struct ibv_device *device)
{
	return ((struct vc_device *)device)->guid;
}

/* --- opening --- */

static int query_port_ex(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr, size_t len);
static int query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t len);

static void
tables(struct vc_context *c)
{
	struct ibv_context *ctx = &c->vctx.context;

	ctx->device = &c->device->v;
	ctx->abi_compat = __VERBS_ABI_IS_EXTENDED;
	ctx->cmd_fd = c->fd;
	ctx->ops.post_send = vc_post_send;
	ctx->ops.post_recv = vc_post_recv;
	ctx->ops.post_srq_recv = vc_post_srq_recv;
	ctx->ops.poll_cq = vc_poll_cq;
	ctx->ops.req_notify_cq = vc_req_notify_cq;
	ctx->ops.alloc_mw = vc_alloc_mw;
	ctx->ops.dealloc_mw = vc_dealloc_mw;
	ctx->ops.bind_mw = vc_bind_mw;
	c->vctx.sz = sizeof(c->vctx);
	c->vctx.query_port = query_port_ex;
	c->vctx.modify_cq = vc_modify_cq;
	c->vctx.create_cq_ex = vc_create_cq_ex;
	c->vctx.create_qp_ex = vc_create_qp_ex;
	c->vctx.query_device_ex = query_device_ex;
	c->vctx.ibv_create_flow = vc_create_flow;
	c->vctx.ibv_destroy_flow = vc_destroy_flow;
	pthread_mutex_init(&ctx->mutex, NULL);
}

static int
home_init(struct vc_context *c, const struct share_open *o)
{
	struct mlx4_roce *r = &c->home;
	size_t len = (size_t)o->qp_numbers * sizeof(*r->qp_of);

	r->hca = &c->hca;
	r->num_qps = o->qp_numbers;
	c->hca.caps.max_gso = o->max_tso;
	pthread_mutex_init(&r->tables, NULL);
	/* Only pages of it that are used take memory. */
	r->qp_of = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return r->qp_of == MAP_FAILED ? errno : 0;
}

/*
 * A child of fork() has no device: with its copies of the sockets it would answer for its parent, and keep the parent's objects
 * when that ends.
 */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, vc_context) opened = LIST_HEAD_INITIALIZER(opened);

static void
fork_prepare(void)
{
	pthread_mutex_lock(&open_lock);
	pthread_mutex_lock(&list_lock);
}

static void
fork_parent(void)
{
	pthread_mutex_unlock(&list_lock);
	pthread_mutex_unlock(&open_lock);
}

static void
fork_child(void)
{
	struct vc_context *c;

	LIST_FOREACH(c, &opened, next)
	{
		c->hca.dead = true;
		close(c->fd);
		close(c->vctx.context.async_fd);
		close(c->stop);
		c->fd = c->vctx.context.async_fd = c->stop = -1;
		/* Another thread of the parent may have had it. */
		pthread_mutex_init(&c->lock, NULL);
	}
	pthread_mutex_unlock(&list_lock);
	pthread_mutex_unlock(&open_lock);
}

static void __attribute__((constructor)) fork_init(void)
{
	(void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static int
open_it(struct vc_context *c)
{
	struct share_msg m = {.op = SHARE_OPEN};
	int fds[VC_FDS], err;

	snprintf(m.open.name, sizeof(m.open.name), "%s", c->device->owner_name);
	err = owner_ask(c->fd, &m, NULL, 0, fds, VC_FDS);
	if (err != 0)
		return err;
	if (fds[0] < 0 || fds[1] < 0)
		return EPROTO;
	c->vctx.context.async_fd = fds[1];
	c->vctx.context.num_comp_vectors = (int)m.open.num_comp_vectors;
	c->infiniband = m.open.infiniband != 0;
	c->attr = m.open.attr;
	c->uars_len = m.open.uar_len;
	c->uars = mmap(NULL, c->uars_len, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	close(fds[0]);
	if (c->uars == MAP_FAILED)
		return errno;
	(void)madvise(c->uars, c->uars_len, MADV_DONTFORK);
	return home_init(c, &m.open);
}

static void
context_free(struct vc_context *c)
{
	for (uint32_t i = 0; i < c->num_chunks; i++)
		munmap(c->chunk[i].va, c->chunk[i].len);
	if (c->home.qp_of != NULL && c->home.qp_of != MAP_FAILED)
		munmap(c->home.qp_of, (size_t)c->home.num_qps * sizeof(*c->home.qp_of));
	if (c->uars != NULL && c->uars != MAP_FAILED)
		munmap(c->uars, c->uars_len);
	if (c->vctx.context.async_fd >= 0)
		close(c->vctx.context.async_fd);
	if (c->vector_fd >= 0)
		close(c->vector_fd);
	if (c->fd >= 0)
		close(c->fd);
	device_put(c->device);
	free(c->chunk);
	free(c->obj);
	free(c);
}

VC_EXPORT struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	struct vc_context *c = calloc(1, sizeof(*c));
	int err = 0;

	if (c == NULL)
		return NULL;
	c->device = (struct vc_device *)device;
	device_take(c->device);
	c->vctx.context.async_fd = c->vector_fd = -1;
	pthread_mutex_init(&c->lock, NULL);
	c->fd = owner_connect(owner_path());
	if (c->fd < 0)
		err = errno;
	if (err == 0)
		err = open_it(c);
	if (err == 0) {
		tables(c);
		err = vc_watch_start(c);
	}
	if (err == 0) {
		pthread_mutex_lock(&open_lock);
		LIST_INSERT_HEAD(&opened, c, next);
		pthread_mutex_unlock(&open_lock);
		return &c->vctx.context;
	}
	context_free(c);
	errno = err;
	return NULL;
}

VC_EXPORT int
ibv_close_device(struct ibv_context *ctx)
{
	struct vc_context *c = vc_of(ctx);

	pthread_mutex_lock(&open_lock);
	LIST_REMOVE(c, next);
	pthread_mutex_unlock(&open_lock);
	vc_watch_stop(c);
	context_free(c);
	return 0;
}

/* --- questions --- */

VC_EXPORT int
ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	*attr = vc_of(ctx)->attr;
	return 0;
}

/* What there is not, stays zero: paging on demand, stamps of time, large sends of frames, hashing, tags. */
static int
query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr,
		size_t len)
{
	const struct ibv_device_attr *a = &vc_of(ctx)->attr;
	struct ibv_device_attr_ex x = {.orig_attr = *a,
				       .device_cap_flags_ex = a->device_cap_flags,
				       .cq_mod_caps = {UINT16_MAX, UINT16_MAX},
				       .phys_port_cnt_ex = a->phys_port_cnt};

	(void)input;
	if (!vc_of(ctx)->infiniband)
		x.raw_packet_caps = IBV_RAW_PACKET_CAP_IP_CSUM;
	x.tso_caps.max_tso = vc_of(ctx)->hca.caps.max_gso;
	if (x.tso_caps.max_tso != 0)
		x.tso_caps.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
	if (len < offsetof(struct ibv_device_attr_ex, comp_mask) + sizeof(x.comp_mask))
		return EINVAL;
	memset(attr, 0, len);
	memcpy(attr, &x, RTE_MIN(len, sizeof(x)));
	return 0;
}

static int
query_port_ex(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr, size_t len)
{
	struct share_msg m = {0};
	int err = port == 1 ? vc_ask(vc_of(ctx), SHARE_QUERY_PORT, 0, &m) : EINVAL;

	if (err == 0) {
		memset(attr, 0, len);
		memcpy(attr, &m.port, RTE_MIN(len, sizeof(m.port)));
	}
	return err;
}

/* The old form ends where link_layer, flags and port_cap_flags2 were added, in padding. */
VC_EXPORT int
ibv_query_port(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return query_port_ex(ctx, port, (struct ibv_port_attr *)attr, offsetof(struct ibv_port_attr, port_cap_flags2));
}

static int
gid_entry(struct ibv_context *ctx, uint32_t index, struct ibv_gid_entry *entry)
{
	struct share_msg m = {.gid = {.index = index}};
	int err = vc_ask(vc_of(ctx), SHARE_QUERY_GID, 0, &m);

	if (err == 0)
		*entry = m.gid.entry;
	return err;
}

VC_EXPORT int
ibv_query_gid(struct ibv_context *ctx, uint8_t port, int index, union ibv_gid *gid)
{
	struct ibv_gid_entry e = {0};
	int err = port == 1 && index >= 0 ? gid_entry(ctx, (uint32_t)index, &e) : EINVAL;

	/* An empty entry is read as zeros. */
	if (err == ENODATA)
		err = 0;
	if (err == 0)
		*gid = e.gid;
	errno = err;
	return err == 0 ? 0 : -1;
}

VC_EXPORT int
_ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index, struct ibv_gid_entry *entry, uint32_t flags,
		  size_t size)
{
	struct ibv_gid_entry e = {0};
	int err;

	if (flags != 0)
		return EOPNOTSUPP;
	err = port == 1 ? gid_entry(ctx, index, &e) : EINVAL;
	if (err == 0)
		memcpy(entry, &e, RTE_MIN(size, sizeof(e)));
	return err;
}

VC_EXPORT ssize_t
_ibv_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *entries, size_t max, uint32_t flags, size_t size)
{
	struct ibv_port_attr attr;
	ssize_t n = 0;
	int err;

	if (flags != 0)
		return -EOPNOTSUPP;
	err = query_port_ex(ctx, 1, &attr, sizeof(attr));
	if (err != 0)
		return -err;
	for (int i = 0; i < attr.gid_tbl_len; i++) {
		struct ibv_gid_entry e = {0};

		if (gid_entry(ctx, (uint32_t)i, &e) != 0)
			continue;
		if ((size_t)n == max)
			return -EINVAL;
		memcpy((uint8_t *)entries + (size_t)n++ * size, &e, RTE_MIN(size, sizeof(e)));
	}
	return n;
}

VC_EXPORT int ibv_query_gid_type(struct ibv_context *ctx, uint8_t port, unsigned int index, unsigned int *type);

/* Part of libibverbs' private interface, which ibv_devinfo uses; 0: InfiniBand or RoCE v1, 1: RoCE v2. */
VC_EXPORT int
ibv_query_gid_type(struct ibv_context *ctx, uint8_t port, unsigned int index, unsigned int *type)
{
	struct ibv_gid_entry e = {0};
	int err = port == 1 ? gid_entry(ctx, index, &e) : EINVAL;

	errno = err;
	if (err != 0 && err != ENODATA)
		return -1;
	*type = e.gid_type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

VC_EXPORT int
ibv_query_pkey(struct ibv_context *ctx, uint8_t port, int index, __be16 *pkey)
{
	struct share_msg m = {.pkey = {.index = (uint32_t)index}};
	int err = port == 1 ? vc_ask(vc_of(ctx), SHARE_QUERY_PKEY, 0, &m) : EINVAL;

	if (err == 0)
		*pkey = (__be16)m.pkey.pkey;
	errno = err;
	return err == 0 ? 0 : -1;
}

VC_EXPORT int
ibv_get_pkey_index(struct ibv_context *ctx, uint8_t port, __be16 pkey)
{
	__be16 have;

	for (int i = 0; ibv_query_pkey(ctx, port, i, &have) == 0; i++)
		if (have == pkey)
			return i;
	return -1;
}

VC_EXPORT int
ibv_fork_init(void)
{
	return 0;
}

VC_EXPORT enum ibv_fork_status
ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
