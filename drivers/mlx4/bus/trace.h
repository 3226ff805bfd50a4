/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the driver did to a card, as text (docs/traces.md): commands with their mailboxes, registers, and the first entries of
 * queues. It is in the file when the function returns: it outlives a process that is killed. Any thread.
 */
#ifndef MLX4_BUS_TRACE_H
#define MLX4_BUS_TRACE_H

#include <stddef.h>
#include <stdint.h>

#define MLX4_TRACE_ENTRIES 16u

struct mlx4_trace;
struct trace_cmd;

/* Makes the file anew. 0, or negative errno after a line that says why; an empty path: no trace, NULL. */
int mlx4_trace_open(const char *path, const char *where, struct mlx4_trace **out);
void mlx4_trace_close(struct mlx4_trace *t);
/* A register; reads of one that say the same again are one line. t may be NULL, here and below. */
void mlx4_trace_reg(struct mlx4_trace *t, const char *way, uint32_t off, uint32_t val);
void mlx4_trace_cmd(struct mlx4_trace *t, const struct trace_cmd *c);
/* Entries of the translation table: the first one's offset in bytes, and the address of a page each, with its flags; step 0: all have val. */
void mlx4_trace_mtt(struct mlx4_trace *t, uint64_t off, uint64_t val, uint64_t step, uint32_t n);
/*
 * The first of what a ring was given, up to MLX4_TRACE_ENTRIES, each once; kind: sq, rq, cq. stride: bytes, a multiple of 16. used: of
 * the ring, all that there is. done: how many of them are written; one thread at a time has it.
 */
void mlx4_trace_ring(struct mlx4_trace *t, const char *kind, uint32_t num, const void *ring, size_t stride,
		     uint32_t used, uint8_t *done);

#endif /* MLX4_BUS_TRACE_H */
