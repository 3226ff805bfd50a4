/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * mpi_checks: point to point, collectives and one-sided communication in plain MPI; each rank knows by numbers what must arrive.
 * Rank 0 says "ok NAME" or "not ok NAME: so many ranks"; the others say what they found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#define ROUNDS 100

static int me, ranks, failed;

static void
say(const char *name, const char *why)
{
	int bad = why != NULL, all = 0;

	if (why != NULL)
		printf("# rank %d: %s: %s\n", me, name, why);
	fflush(stdout);
	MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (me == 0 && all == 0)
		printf("ok %s\n", name);
	else if (me == 0)
		printf("not ok %s: %d rank(s)\n", name, all);
	fflush(stdout);
	failed += all;
}

static void *
need(size_t len)
{
	void *p = malloc(len + 1);

	if (p == NULL)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return p;
}

/* What a rank sends: by its number, the place, and a turn. */
static unsigned char
octet(int from, size_t at, int turn)
{
	return (unsigned char)(from * 31 + turn * 17 + (int)(at % 251));
}

static void
fill(unsigned char *p, size_t len, int turn)
{
	for (size_t i = 0; i < len; i++)
		p[i] = octet(me, i, turn);
}

static int
is_of(const unsigned char *p, size_t len, int from, int turn)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != octet(from, i, turn))
			return 0;
	return 1;
}

/* --- point to point --- */

/* To the next rank, from the one before, of sizes on both sides of each limit of a transport. */
static const char *
ring(void)
{
	static const int sizes[] = {0, 1, 8, 63, 1000, 4096, 8193, 65536, 1 << 20, 1 << 23};
	int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
	const char *why = NULL;

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		int len = sizes[s], got, turns = len > 1 << 16 ? 3 : 20;
		unsigned char *out = need((size_t)len), *in = need((size_t)len);

		for (int t = 0; t < turns; t++) {
			MPI_Request r[2];
			MPI_Status st[2];

			fill(out, (size_t)len, t);
			memset(in, 0, (size_t)len);
			MPI_Irecv(in, len, MPI_BYTE, before, t, MPI_COMM_WORLD, &r[0]);
			MPI_Isend(out, len, MPI_BYTE, next, t, MPI_COMM_WORLD, &r[1]);
			MPI_Waitall(2, r, st);
			MPI_Get_count(&st[0], MPI_BYTE, &got);
			if (got != len)
				why = "another length";
			else if (!is_of(in, (size_t)len, before, t))
				why = "other octets";
		}
		free(out);
		free(in);
	}
	return why;
}

/* All to rank 0, which takes them as they come: those of one rank come in order. */
static const char *
from_any(void)
{
	const char *why = NULL;
	int *seen;

	if (me != 0) {
		for (int i = 0; i < ROUNDS; i++) {
			int v[2] = {me, i};

			MPI_Send(v, 2, MPI_INT, 0, me, MPI_COMM_WORLD);
		}
		return NULL;
	}
	seen = need(sizeof(*seen) * (size_t)ranks);
	memset(seen, 0, sizeof(*seen) * (size_t)ranks);
	for (int i = 0; i < ROUNDS * (ranks - 1); i++) {
		MPI_Status st;
		int v[2];

		MPI_Recv(v, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
		if (st.MPI_SOURCE != v[0] || st.MPI_TAG != v[0] || seen[v[0]]++ != v[1])
			why = "another source, tag or order";
	}
	free(seen);
	return why;
}

/* A receiver that is late, and messages that nobody waits for yet. */
static const char *
unexpected(void)
{
	const int len = 200000;
	int peer = me ^ 1;
	const char *why = NULL;
	unsigned char *out, *in;
	MPI_Request r[ROUNDS];

	if (peer >= ranks)
		return NULL;
	out = need((size_t)len);
	in = need((size_t)len);
	fill(out, (size_t)len, 0);
	for (int i = 0; i < ROUNDS; i++)
		MPI_Isend(out, i % 2 == 0 ? len : 40, MPI_BYTE, peer, i, MPI_COMM_WORLD, &r[i]);
	/* The last one first. */
	for (int i = ROUNDS; i-- != 0;) {
		MPI_Recv(in, len, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (!is_of(in, i % 2 == 0 ? (size_t)len : 40, peer, 0))
			why = "other octets";
	}
	MPI_Waitall(ROUNDS, r, MPI_STATUSES_IGNORE);
	free(out);
	free(in);
	return why;
}

/* --- collectives --- */

static const char *
sums(void)
{
	const int n = 100000;
	long *a = need(sizeof(*a) * (size_t)n), *b = need(sizeof(*b) * (size_t)n), one = me + 1, all, part;
	const char *why = NULL;

	for (int i = 0; i < n; i++)
		a[i] = (long)(me + 1) * i;
	MPI_Allreduce(a, b, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		if (b[i] != (long)ranks * (ranks + 1) / 2 * i)
			why = "allreduce";
	MPI_Reduce(&one, &all, 1, MPI_LONG, MPI_PROD, ranks - 1, MPI_COMM_WORLD);
	part = 1;
	for (int i = 1; i <= ranks; i++)
		part *= i;
	if (me == ranks - 1 && all != part)
		why = "reduce";
	MPI_Scan(&one, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (all != (long)(me + 1) * (me + 2) / 2)
		why = "scan";
	MPI_Reduce_scatter_block(a, b, n / ranks, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n / ranks; i++)
		if (b[i] != (long)ranks * (ranks + 1) / 2 * (me * (n / ranks) + i))
			why = "reduce_scatter";
	free(a);
	free(b);
	return why;
}

static const char *
moves(void)
{
	const int n = 5000;
	int *a = need(sizeof(*a) * (size_t)(n * ranks)), *b = need(sizeof(*b) * (size_t)(n * ranks));
	int *len = need(sizeof(*len) * (size_t)ranks), *at = need(sizeof(*at) * (size_t)ranks), sum = 0;
	const char *why = NULL;

	for (int root = 0; root < ranks; root++) {
		for (int i = 0; i < n; i++)
			a[i] = me == root ? root * 1000000 + i : -1;
		MPI_Bcast(a, n, MPI_INT, root, MPI_COMM_WORLD);
		for (int i = 0; i < n; i++)
			if (a[i] != root * 1000000 + i)
				why = "bcast";
	}
	for (int i = 0; i < n * ranks; i++)
		a[i] = me * 1000000 + i;
	MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < n * ranks; i++)
		if (b[i] != i / n * 1000000 + me * n + i % n)
			why = "alltoall";
	MPI_Allgather(a, n, MPI_INT, b, n, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < n * ranks; i++)
		if (b[i] != i / n * 1000000 + i % n)
			why = "allgather";
	for (int i = 0; i < ranks; i++) {
		len[i] = i + 1;
		at[i] = sum;
		sum += len[i];
	}
	MPI_Gatherv(a, len[me], MPI_INT, b, len, at, MPI_INT, 0, MPI_COMM_WORLD);
	for (int r = 0; me == 0 && r < ranks; r++)
		for (int i = 0; i < len[r]; i++)
			if (b[at[r] + i] != r * 1000000 + i)
				why = "gatherv";
	for (int i = 0; i < ROUNDS; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	free(a);
	free(b);
	free(len);
	free(at);
	return why;
}

/* --- one-sided --- */

#define CELLS 10000

static const char *
put_and_get(void)
{
	const char *why = NULL;
	MPI_Win win;
	long *mem, *in = need(sizeof(*in) * CELLS);

	MPI_Win_allocate((MPI_Aint)(sizeof(*mem) * CELLS * (size_t)ranks), sizeof(*mem), MPI_INFO_NULL, MPI_COMM_WORLD,
			 &mem, &win);
	for (int i = 0; i < CELLS; i++)
		in[i] = (long)me * 1000000 + i;
	MPI_Win_fence(0, win);
	for (int r = 0; r < ranks; r++)
		MPI_Put(in, CELLS, MPI_LONG, r, (MPI_Aint)me * CELLS, CELLS, MPI_LONG, win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	for (int i = 0; i < CELLS * ranks; i++)
		if (mem[i] != (long)(i / CELLS) * 1000000 + i % CELLS)
			why = "put";
	MPI_Barrier(MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++) {
		memset(in, 0, sizeof(*in) * CELLS);
		MPI_Win_lock(MPI_LOCK_SHARED, r, 0, win);
		MPI_Get(in, CELLS, MPI_LONG, r, (MPI_Aint)((r + 1) % ranks) * CELLS, CELLS, MPI_LONG, win);
		MPI_Win_unlock(r, win);
		for (int i = 0; i < CELLS; i++)
			if (in[i] != (long)((r + 1) % ranks) * 1000000 + i)
				why = "get";
	}
	MPI_Win_free(&win);
	free(in);
	return why;
}

/* Counters of rank 0: each rank adds; tickets are all different; sums of arrays. */
static const char *
atomics(void)
{
	const char *why = NULL;
	long *mem, one = 1, old, expect, last = -1, add[8];
	MPI_Win win;

	MPI_Win_allocate(sizeof(*mem) * 16, sizeof(*mem), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
	MPI_Win_lock_all(0, win);
	memset(mem, 0, sizeof(*mem) * 16);
	MPI_Win_sync(win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
		if (old <= last || old >= (long)ROUNDS * ranks)
			why = "fetch_and_op";
		last = old;
	}
	/* Another counter, by comparing. */
	for (int i = 0; i < 10; i++) {
		expect = 0;
		for (;;) {
			long to = expect + 1;

			MPI_Compare_and_swap(&to, &expect, &old, MPI_LONG, 0, 1, win);
			MPI_Win_flush(0, win);
			if (old == expect)
				break;
			expect = old;
		}
	}
	for (int i = 0; i < 8; i++)
		add[i] = (long)(me + 1) * (i + 1);
	for (int i = 0; i < 10; i++)
		MPI_Accumulate(add, 8, MPI_LONG, 0, 2, 8, MPI_LONG, MPI_SUM, win);
	MPI_Win_flush(0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(win);
	if (me == 0 && mem[0] != (long)ROUNDS * ranks)
		why = "the sum of fetch_and_op";
	if (me == 0 && mem[1] != 10L * ranks)
		why = "compare_and_swap";
	for (int i = 0; me == 0 && i < 8; i++)
		if (mem[2 + i] != 10L * ranks * (ranks + 1) / 2 * (i + 1))
			why = "accumulate";
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	return why;
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	say("ring", ring());
	say("any-source", from_any());
	say("unexpected", unexpected());
	say("sums", sums());
	say("moves", moves());
	say("put-and-get", put_and_get());
	say("atomics", atomics());
	say("ring-again", ring());
	MPI_Finalize();
	return failed != 0;
}
