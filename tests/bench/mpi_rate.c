/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * mpi_rate ROUNDS: of two ranks the time one way of a message of 8 B and of 64 KiB there and back, and of an allreduce of 8 B, the
 * medians in us. Each answer is looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#define LARGE (64 << 10)

static int me, rounds;
static double *took;
static unsigned char out[LARGE], in[LARGE];

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
tell(const char *name, double share)
{
	qsort(took, (size_t)rounds, sizeof(*took), by_size);
	if (me == 0)
		printf("%s %.2f\n", name, took[rounds / 2] * 1e6 * share);
}

static void
wrong(const char *what)
{
	fprintf(stderr, "rank %d: %s: another answer\n", me, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void
ping_pong(const char *name, int len)
{
	for (int i = 0; i < rounds; i++) {
		double begun = MPI_Wtime();

		memset(out, i & 0xff, (size_t)len);
		if (me == 0) {
			MPI_Send(out, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
			MPI_Recv(in, len, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(in, len, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(in, len, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
		}
		took[i] = MPI_Wtime() - begun;
		if (memcmp(in, out, (size_t)len) != 0)
			wrong(name);
	}
	tell(name, 0.5);
}

static void
allreduce(void)
{
	for (int i = 0; i < rounds; i++) {
		long mine = me + i, sum = 0;
		double begun = MPI_Wtime();

		MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		took[i] = MPI_Wtime() - begun;
		if (sum != 1 + 2 * i)
			wrong("allreduce");
	}
	tell("allreduce", 1);
}

int
main(int argc, char **argv)
{
	int ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	rounds = argc == 2 ? atoi(argv[1]) : 0;
	took = rounds > 0 ? calloc((size_t)rounds, sizeof(*took)) : NULL;
	if (ranks != 2 || took == NULL) {
		fprintf(stderr, "usage: mpi_rate ROUNDS, with two ranks\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	ping_pong("8_B", 8);
	ping_pong("64_KiB", LARGE);
	allreduce();
	free(took);
	MPI_Finalize();
	return 0;
}
