/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which lcore has which streams. */
#include <errno.h>
#include <stdlib.h>

#include "fwd.h"

/* Behind the last transmit queue of a stream. */
static unsigned int
tx_end(const struct fwd_stream *s)
{
	return s->tx_queue + RTE_MAX(s->choice.num, 1u);
}

static bool
share_tx(const struct fwd_stream *a, const struct fwd_stream *b)
{
	return a->mode->sends && b->mode->sends && a->tx_port == b->tx_port && a->tx_queue < tx_end(b) &&
	       b->tx_queue < tx_end(a);
}

static bool
share_rx(const struct fwd_stream *a, const struct fwd_stream *b)
{
	return a->has_rx && b->has_rx && a->rx_port == b->rx_port && a->rx_queue == b->rx_queue;
}

/* All that a RoCE port receives is one lcore's, as the transport is. */
static bool
share_roce(const struct fwd_stream *a, const struct fwd_stream *b)
{
	return a->roce != NULL && a->roce == b->roce;
}

static unsigned int
first_of(const unsigned int *joins, unsigned int i)
{
	while (joins[i] != i)
		i = joins[i];
	return i;
}

/* joins[i]: an earlier stream that has the same lcore as stream i, or itself. */
static void
join_streams(const struct fwd *fwd, unsigned int *joins)
{
	unsigned int i, k, a, b;

	for (i = 0; i < fwd->num_streams; i++) {
		const struct fwd_stream *s = &fwd->stream[i];

		joins[i] = i;
		for (k = 0; k < i; k++) {
			const struct fwd_stream *o = &fwd->stream[k];

			if (!share_tx(s, o) && !share_rx(s, o) && !share_roce(s, o))
				continue;
			a = first_of(joins, i);
			b = first_of(joins, k);
			joins[RTE_MAX(a, b)] = RTE_MIN(a, b);
		}
	}
}

/* Streams in turn to lcores in turn; those that share something stay together. */
int
fwd_assign(struct fwd *fwd, const uint32_t *cores, unsigned int num_cores)
{
	unsigned int *joins = calloc(fwd->num_streams, sizeof(*joins)), i, next = 0;

	if (joins == NULL)
		return app_err(-ENOMEM, "no memory for %u streams", fwd->num_streams);
	join_streams(fwd, joins);
	for (i = 0; i < fwd->num_streams; i++) {
		struct fwd_stream *s = &fwd->stream[i];

		if (joins[i] != i) {
			s->lcore = fwd->stream[first_of(joins, i)].lcore;
		} else {
			s->lcore = next;
			next = (next + 1) % num_cores;
		}
		fwd->lcore[s->lcore].num++;
		fwd->num_lcores = RTE_MAX(fwd->num_lcores, s->lcore + 1);
	}
	free(joins);
	for (i = 0; i < fwd->num_lcores; i++) {
		struct fwd_lcore *lc = &fwd->lcore[i];

		lc->id = cores[i];
		lc->stream = calloc(lc->num, sizeof(lc->stream[0]));
		if (lc->stream == NULL)
			return app_err(-ENOMEM, "no memory for %u streams", lc->num);
		lc->num = 0;
	}
	for (i = 0; i < fwd->num_streams; i++) {
		struct fwd_lcore *lc = &fwd->lcore[fwd->stream[i].lcore];

		lc->stream[lc->num++] = &fwd->stream[i];
	}
	return 0;
}
