/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * verbs_mem DEVICE DEVICE GID_INDEX: memory that changes between two ports: windows of both types, regions that get other memory,
 * rights and protection domains. It is linked with Debian's libibverbs and knows nothing of the libraries here.
 */
#include <sys/mman.h>
#include <sys/shm.h>

#include "verbs_ends.h"

/* A window of type 1 opens 64 octets, which a second binding takes elsewhere; its region stays meanwhile. */
static const char *
window_of_ibv_bind_mw(struct end *a, struct end *b)
{
	struct ibv_mw *mw = need(ibv_alloc_mw(b->pd, IBV_MW_TYPE_1), "window");
	struct ibv_mw_bind bind = {.bind_info = {b->mr, 0, 64, IBV_ACCESS_REMOTE_WRITE}};
	uint32_t before = mw->rkey;
	const char *why = NULL;

	fill(a, b);
	for (uint64_t i = 0; i < 2 && why == NULL; i++) {
		bind.wr_id = 80 + i;
		bind.bind_info.addr = (uintptr_t)b->mem + 1000 * (i + 1);
		if (ibv_bind_mw(b->rc, mw, &bind) != 0 || mw->rkey == before)
			return "bind_mw";
		before = mw->rkey;
		why = completed(b, IBV_WC_BIND_MW, 80 + i);
		ibv_wr_start(a->rcx);
		a->rcx->wr_id = 90;
		a->rcx->wr_flags = 0;
		ibv_wr_rdma_write(a->rcx, mw->rkey, bind.bind_info.addr);
		ibv_wr_set_sge(a->rcx, a->mr->lkey, (uintptr_t)a->mem, 64);
		if (ibv_wr_complete(a->rcx) != 0)
			return "write";
		if (why == NULL)
			why = completed(a, IBV_WC_RDMA_WRITE, 90);
		if (why == NULL && memcmp(b->mem + 1000 * (i + 1), a->mem, 64) != 0)
			why = "data";
	}
	if (why == NULL && (ibv_dereg_mr(b->mr) != EBUSY || ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
									 0, 0) != IBV_REREG_MR_ERR_INPUT))
		why = "the region of a window can go";
	done(ibv_dealloc_mw(mw), "dealloc_mw");
	return why;
}

/* A window of type 2 opens 64 octets, and the peer's SEND with its key closes it. */
static const char *
window(struct end *a, struct end *b)
{
	struct ibv_mw *mw = need(ibv_alloc_mw(b->pd, IBV_MW_TYPE_2), "window");
	struct ibv_mw_bind_info info = {b->mr, (uintptr_t)b->mem + 512, 64, IBV_ACCESS_REMOTE_WRITE};
	uint32_t key = ibv_inc_rkey(mw->rkey);
	const char *why;

	fill(a, b);
	ibv_wr_start(b->rcx);
	b->rcx->wr_id = 60;
	b->rcx->wr_flags = 0;
	ibv_wr_bind_mw(b->rcx, mw, key, &info);
	if (ibv_wr_complete(b->rcx) != 0)
		return "bind";
	why = completed(b, IBV_WC_BIND_MW, 60);
	post_recv(b, b->rc, 4000, 100, 62);
	ibv_wr_start(a->rcx);
	a->rcx->wr_flags = 0;
	a->rcx->wr_id = 61;
	ibv_wr_rdma_write(a->rcx, key, (uintptr_t)b->mem + 512);
	ibv_wr_set_sge(a->rcx, a->mr->lkey, (uintptr_t)a->mem, 64);
	a->rcx->wr_id = 62;
	ibv_wr_send_inv(a->rcx, key);
	ibv_wr_set_sge(a->rcx, a->mr->lkey, (uintptr_t)a->mem, 1);
	if (ibv_wr_complete(a->rcx) != 0)
		return "write";
	if (why == NULL)
		why = completed(a, IBV_WC_RDMA_WRITE, 61);
	if (why == NULL)
		why = completed(a, IBV_WC_SEND, 62);
	if (why == NULL && !polled(b))
		return "no completion";
	if (why == NULL) {
		if (ibv_wc_read_wc_flags(b->cq) != IBV_WC_WITH_INV || ibv_wc_read_invalidated_rkey(b->cq) != key)
			why = "the key that was closed";
		ibv_end_poll(b->cq);
	}
	if (why == NULL && (memcmp(b->mem + 512, a->mem, 64) != 0 || b->mem[576] != 0))
		why = "data";
	/* Again, closed by who bound it. */
	mw->rkey = key;
	key = ibv_inc_rkey(key);
	ibv_wr_start(b->rcx);
	b->rcx->wr_id = 63;
	ibv_wr_bind_mw(b->rcx, mw, key, &info);
	b->rcx->wr_id = 64;
	ibv_wr_local_inv(b->rcx, key);
	if (ibv_wr_complete(b->rcx) != 0)
		return "bind and local_inv";
	if (why == NULL)
		why = completed(b, IBV_WC_BIND_MW, 63);
	if (why == NULL)
		why = completed(b, IBV_WC_LOCAL_INV, 64);
	done(ibv_dealloc_mw(mw), "dealloc_mw");
	return why;
}

/* --- regions that change --------------------------------------------------------------------------------------------- */

#define ALL                                                                                                            \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |        \
	 IBV_ACCESS_MW_BIND)

/* How a write of 64 octets ends; after an error both queue pairs are made new. */
static enum ibv_wc_status
write_to(struct end *a, struct end *b, void *there)
{
	enum ibv_wc_status status;

	ibv_wr_start(a->rcx);
	a->rcx->wr_id = 1;
	a->rcx->wr_flags = 0;
	ibv_wr_rdma_write(a->rcx, b->mr->rkey, (uintptr_t)there);
	ibv_wr_set_sge(a->rcx, a->mr->lkey, (uintptr_t)a->mem, 64);
	if (ibv_wr_complete(a->rcx) != 0 || !polled(a))
		return IBV_WC_GENERAL_ERR;
	status = a->cq->status;
	ibv_end_poll(a->cq);
	if (status != IBV_WC_SUCCESS)
		again(a, b);
	return status;
}

static const char *
region_that_changes(struct end *a, struct end *b)
{
	uint8_t *other = need(calloc(1, 3 * MEM), "memory"), stack[64];
	struct ibv_pd *pd = need(ibv_alloc_pd(b->ctx), "protection domain");
	uint32_t key = b->mr->rkey;
	const char *why = NULL;

	fill(a, b);
	/* Other memory under the same key. */
	if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, 3 * MEM, 0) != 0)
		why = "other memory";
	else if (b->mr->rkey != key || b->mr->lkey != key || b->mr->addr != other || b->mr->length != 3 * MEM)
		why = "what the region says of itself";
	else if (write_to(a, b, other + 2 * MEM) != IBV_WC_SUCCESS || memcmp(other + 2 * MEM, a->mem, 64) != 0)
		why = "a write into other memory";
	else if (write_to(a, b, b->mem) == IBV_WC_SUCCESS || b->mem[0] != 0)
		why = "the memory before is open";
	if (why != NULL)
		return why;
	/* Other rights, and all at once. */
	if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE) != 0)
		why = "other rights";
	else if (write_to(a, b, other) != IBV_WC_REM_ACCESS_ERR || other[0] != 0)
		why = "a write without the right";
	else if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, ALL) != 0)
		why = "another protection domain";
	else if (b->mr->pd != pd || ibv_dealloc_pd(pd) != EBUSY)
		why = "the protection domain that the region has";
	else if (write_to(a, b, other) != IBV_WC_REM_ACCESS_ERR || other[0] != 0)
		why = "a write through another protection domain";
	if (why != NULL)
		return why;
	/* What is refused leaves it as it was. */
	if (ibv_rereg_mr(b->mr, 0, NULL, NULL, 0, 0) != IBV_REREG_MR_ERR_INPUT || errno != EINVAL)
		why = "no flag";
	else if (ibv_rereg_mr(b->mr, 64, NULL, NULL, 0, 0) != IBV_REREG_MR_ERR_INPUT || errno != EINVAL)
		why = "an unknown flag";
	else if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_PD, a->pd, NULL, 0, 0) != IBV_REREG_MR_ERR_INPUT ||
		 errno != EINVAL)
		why = "a protection domain of another device";
	else if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b->mem, 0, 0) != IBV_REREG_MR_ERR_INPUT ||
		 errno != EINVAL)
		why = "no octets";
	else if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, stack, 64, 0) != IBV_REREG_MR_ERR_INPUT ||
		 errno != EFAULT)
		why = "memory on the stack";
	else if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE) !=
			 IBV_REREG_MR_ERR_INPUT ||
		 errno != EINVAL)
		why = "remote writing without local writing";
	else if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_PD, b->pd, NULL, 0, 0) != 0 ||
		 write_to(a, b, other) != IBV_WC_SUCCESS || memcmp(other, a->mem, 64) != 0)
		why = "the region after what was refused";
	if (why == NULL && ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b->mem, MEM, 0) != 0)
		why = "the memory that it had";
	done(ibv_dealloc_pd(pd), "dealloc_pd");
	free(other);
	return why;
}

/* --- where memory comes from ------------------------------------------------------------------------------------------ */

#define LARGE (2u << 20)

static void *
sysv(int flags, int *id)
{
	void *at;

	*id = shmget(IPC_PRIVATE, 2 * LARGE, IPC_CREAT | 0600 | flags);
	if (*id < 0)
		return NULL;
	at = shmat(*id, NULL, 0);
	return at == (void *)-1 ? NULL : at;
}

/* A part of it is registered, then one that reaches into its second half: what was there before stays, and writes come. */
static const char *
parts_of(struct end *a, struct end *b, uint8_t *mem)
{
	const size_t at[] = {LARGE / 2 + 100, LARGE - 4096 + 10};
	const char *why = NULL;

	memset(mem, 7, 2 * LARGE);
	fill(a, b);
	for (unsigned int i = 0; i < 2 && why == NULL; i++) {
		if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem + at[i], MEM, 0) != 0)
			return strerror(errno);
		if (write_to(a, b, mem + at[i]) != IBV_WC_SUCCESS || memcmp(mem + at[i], a->mem, 64) != 0)
			why = "data";
		else if (mem[at[i] - 1] != 7 || mem[at[i] + 64] != 7 || mem[0] != 7 || mem[2 * LARGE - 1] != 7)
			why = "what lies beside it";
	}
	if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b->mem, MEM, 0) != 0 && why == NULL)
		why = "the memory that it had";
	return why;
}

/* None of its pages is there any more. */
static const char *
detached(uint8_t *mem)
{
	unsigned char in[1];

	if (shmdt(mem) != 0)
		return "shmdt";
	for (size_t at = 0; at < 2 * LARGE; at += 4096)
		if (mincore(mem + at, 4096, in) == 0 || errno != ENOMEM)
			return "pages that are still there";
	return shmdt(mem) != 0 && errno == EINVAL ? NULL : "it is detached twice";
}

static const char *
small_segment(struct end *a, struct end *b)
{
	uint8_t *mem, *again;
	const char *why;
	int id;

	mem = need(sysv(0, &id), "segment of System V");
	again = shmat(id, NULL, 0);
	/* The other mapping would not follow. */
	if (ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, MEM, 0) == 0 || errno != EFAULT)
		return "one that is attached twice";
	done(shmdt(again), "shmdt");
	done(shmctl(id, IPC_RMID, NULL), "shmctl");
	why = parts_of(a, b, mem);
	return why != NULL ? why : detached(mem);
}

static const char *
large_segment(struct end *a, struct end *b)
{
	const char *why;
	uint8_t *mem;
	int id;

	mem = need(sysv(SHM_HUGETLB, &id), "segment of large pages");
	done(shmctl(id, IPC_RMID, NULL), "shmctl");
	why = parts_of(a, b, mem);
	return why != NULL ? why : detached(mem);
}

static const char *
large_pages(struct end *a, struct end *b)
{
	uint8_t *mem = mmap(NULL, 2 * LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	const char *why = mem == MAP_FAILED ? "mmap" : parts_of(a, b, mem);

	if (mem != MAP_FAILED)
		munmap(mem, 2 * LARGE);
	return why;
}

static const char *
shared_with_others(struct end *a, struct end *b)
{
	void *mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)a;
	if (mem == MAP_FAILED)
		return "mmap";
	return ibv_rereg_mr(b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, MEM, 0) != 0 && errno == EFAULT
		       ? NULL
		       : "it was taken";
}

/* Large pages are of the machine: there may be none. */
static bool
has_large_pages(void)
{
	void *mem = mmap(NULL, 2 * LARGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (mem != MAP_FAILED)
		munmap(mem, 2 * LARGE);
	return mem != MAP_FAILED;
}

int
main(int argc, char **argv)
{
	struct end a = {0}, b = {0};

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_end(&a, argv[1], atoi(argv[3]), 0);
	open_end(&b, argv[2], atoi(argv[3]), 0);
	rc_up(&a, &b);
	rc_up(&b, &a);
	say("window-type1", window_of_ibv_bind_mw(&a, &b));
	say("window-type2", window(&a, &b));
	say("changed-region", region_that_changes(&a, &b));
	say("segment", small_segment(&a, &b));
	say("shared", shared_with_others(&a, &b));
	if (has_large_pages()) {
		say("large-segment", large_segment(&a, &b));
		say("large-pages", large_pages(&a, &b));
	} else {
		printf("skip large-pages: the machine has no huge pages that are free\n");
	}
	close_end(&a);
	close_end(&b);
	say("closed", NULL);
	return failed != 0;
}
