/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Functions of libibverbs that there are no objects for here. They must not reach libibverbs, which would look for its driver behind
 * the objects of this library. Of the inline functions of <infiniband/verbs.h> those without an entry in struct verbs_context refuse
 * by themselves. docs/verbs-functions.md names them all.
 */
#include "verbs_client.h"

static void *
no_object(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/* An open device is a connection of one process. */
VC_EXPORT struct ibv_context *
ibv_import_device(int fd)
{
	return no_object();
}

VC_EXPORT struct ibv_pd *
ibv_import_pd(struct ibv_context *ctx, uint32_t handle)
{
	return no_object();
}

VC_EXPORT struct ibv_mr *
ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	return no_object();
}

VC_EXPORT struct ibv_dm *
ibv_import_dm(struct ibv_context *ctx, uint32_t handle)
{
	return no_object();
}

/* Nothing was imported. */
VC_EXPORT void
ibv_unimport_pd(struct ibv_pd *pd)
{
}

VC_EXPORT void
ibv_unimport_mr(struct ibv_mr *mr)
{
}

VC_EXPORT void
ibv_unimport_dm(struct ibv_dm *dm)
{
}

VC_EXPORT struct ibv_mr *
ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	return no_object();
}
