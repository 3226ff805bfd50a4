/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Questions about a device to the owner of the port. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs_client.h"

int
vc_call(struct vc_context *c, struct share_msg *m, const int *send, unsigned int num_send, int *fds,
	unsigned int num_fds)
{
	int err;

	pthread_mutex_lock(&c->lock);
	err = c->hca.dead ? EIO : owner_ask(c->fd, m, send, num_send, fds, num_fds);
	pthread_mutex_unlock(&c->lock);
	return err;
}

int
vc_ask(struct vc_context *c, enum share_op op, uint32_t handle, struct share_msg *m)
{
	m->op = op;
	m->handle = handle;
	return vc_call(c, m, NULL, 0, NULL, 0);
}

static int
chunk_add(struct vc_context *c, const struct share_mem *mem, int fd)
{
	struct vc_chunk *all;
	void *va;

	if (fd < 0 || mem->chunk != c->num_chunks)
		return EPROTO;
	all = realloc(c->chunk, (c->num_chunks + 1) * sizeof(*all));
	if (all == NULL)
		return ENOMEM;
	c->chunk = all;
	va = mmap(NULL, mem->chunk_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (va == MAP_FAILED)
		return errno;
	/* What a child writes into queues of its parent would reach the card. */
	(void)madvise(va, mem->chunk_len, MADV_DONTFORK);
	all[c->num_chunks++] = (struct vc_chunk){va, mem->chunk_len};
	return 0;
}

void *
vc_mem(struct vc_context *c, const struct share_mem *mem, int fd)
{
	void *va = NULL;
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (mem->chunk >= c->num_chunks)
		err = chunk_add(c, mem, fd);
	if (err == 0)
		va = c->chunk[mem->chunk].va + mem->off;
	pthread_mutex_unlock(&c->lock);
	if (fd >= 0)
		close(fd);
	errno = err;
	return va;
}
