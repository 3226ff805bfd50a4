/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>

#include "drivers/mlx4/bus/log.h"
#include "lib/trace/trace.h"

struct mlx4_trace {
	pthread_mutex_t lock;
	FILE *f;
	/* The register of the last line, while the same comes again. */
	const char *way;
	uint32_t off, val;
	uint64_t again;
};

int
mlx4_trace_open(const char *path, const char *where, struct mlx4_trace **out)
{
	struct mlx4_trace *t;
	int rc;

	*out = NULL;
	if (path[0] == '\0')
		return 0;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	t->f = fopen(path, "w");
	if (t->f == NULL) {
		rc = -errno;
		MLX4_LOG(ERR, "%s: trace=%s: %s", where, path, rte_strerror(-rc));
		free(t);
		return rc;
	}
	pthread_mutex_init(&t->lock, NULL);
	*out = t;
	return 0;
}

/* Of a process that dies there is all that came before. */
static void
end_line(struct mlx4_trace *t)
{
	fflush(t->f);
	pthread_mutex_unlock(&t->lock);
}

static void
again_put(struct mlx4_trace *t)
{
	if (t->again != 0)
		fprintf(t->f, "# the same %llu times more\n", (unsigned long long)t->again);
	t->again = 0;
	t->way = NULL;
}

void
mlx4_trace_close(struct mlx4_trace *t)
{
	if (t == NULL)
		return;
	again_put(t);
	if (fclose(t->f) != 0)
		MLX4_LOG(ERR, "the trace is not whole: %s", rte_strerror(errno));
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void
mlx4_trace_reg(struct mlx4_trace *t, const char *way, uint32_t off, uint32_t val)
{
	if (t == NULL)
		return;
	pthread_mutex_lock(&t->lock);
	if (t->way == way && t->off == off && t->val == val) {
		t->again++;
	} else {
		again_put(t);
		t->way = way;
		t->off = off;
		t->val = val;
		trace_put_reg(t->f, way, off, val);
	}
	end_line(t);
}

void
mlx4_trace_cmd(struct mlx4_trace *t, const struct trace_cmd *c)
{
	if (t == NULL)
		return;
	pthread_mutex_lock(&t->lock);
	again_put(t);
	trace_put_input(t->f, c);
	if (c->answered)
		trace_put_output(t->f, c);
	end_line(t);
}

void
mlx4_trace_mtt(struct mlx4_trace *t, uint64_t off, uint64_t val, uint64_t step, uint32_t n)
{
	uint32_t i;

	if (t == NULL)
		return;
	pthread_mutex_lock(&t->lock);
	again_put(t);
	for (i = 0; i < n; i++)
		trace_put_mtt(t->f, off + i * sizeof(uint64_t), val + i * step);
	end_line(t);
}

void
mlx4_trace_ring(struct mlx4_trace *t, const char *kind, uint32_t num, const void *ring, size_t stride, uint32_t used,
		uint8_t *done)
{
	if (t == NULL || *done >= RTE_MIN(used, MLX4_TRACE_ENTRIES))
		return;
	pthread_mutex_lock(&t->lock);
	again_put(t);
	for (; *done < RTE_MIN(used, MLX4_TRACE_ENTRIES); ++*done) {
		fprintf(t->f, "entry %s 0x%x %u\n", kind, num, *done);
		trace_put_box(t->f, (const uint8_t *)ring + *done * stride, (uint32_t)stride);
	}
	end_line(t);
}
