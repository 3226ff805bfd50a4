/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Writes the same content as indented text and as JSON. Errors of files are looked at when they are closed. */
#ifndef MLX4_DUMP_OUT_H
#define MLX4_DUMP_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MLX4_DUMP_DEPTH 12

struct mlx4_dump_out {
	FILE *text, *json;
	unsigned int depth, indent;
	bool first[MLX4_DUMP_DEPTH], array[MLX4_DUMP_DEPTH];
	unsigned int differences;
};

/* The document is an object. */
void mlx4_dump_begin(struct mlx4_dump_out *o);
void mlx4_dump_done(struct mlx4_dump_out *o);
/* key NULL: an element of an array. */
void mlx4_dump_object(struct mlx4_dump_out *o, const char *key);
void mlx4_dump_array(struct mlx4_dump_out *o, const char *key);
/* An element of an array that has a number: "queue 3:", and "queue": 3. */
void mlx4_dump_item(struct mlx4_dump_out *o, const char *label, uint64_t number);
void mlx4_dump_end(struct mlx4_dump_out *o);
void mlx4_dump_u64(struct mlx4_dump_out *o, const char *key, uint64_t v);
void mlx4_dump_int(struct mlx4_dump_out *o, const char *key, int64_t v);
void mlx4_dump_hex(struct mlx4_dump_out *o, const char *key, uint64_t v);
void mlx4_dump_bool(struct mlx4_dump_out *o, const char *key, bool v);
void mlx4_dump_str(struct mlx4_dump_out *o, const char *key, const char *v);
void mlx4_dump_bytes(struct mlx4_dump_out *o, const char *key, const void *data, size_t len);
/* Since 1970, as UTC. */
void mlx4_dump_time(struct mlx4_dump_out *o, const char *key, uint64_t us);
/* An array of the lines of a text, which is cut into them. */
void mlx4_dump_lines(struct mlx4_dump_out *o, const char *key, char *text);
/* What the driver believes beside what the card says. */
void mlx4_dump_both(struct mlx4_dump_out *o, const char *key, uint64_t driver, uint64_t card);

#endif /* MLX4_DUMP_OUT_H */
