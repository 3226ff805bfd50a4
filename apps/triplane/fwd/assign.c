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
	return fwd_polls(a) && fwd_polls(b) && a->rx_port == b->rx_port && a->rx_queue == b->rx_queue;
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

/* Whether one of those that stay together with stream i catches. */
static bool
group_catches(const struct fwd *fwd, const unsigned int *joins, unsigned int i)
{
	const unsigned int first = first_of(joins, i);
	unsigned int k;

	for (k = first; k < fwd->num_streams; k++)
		if (fwd->stream[k].mode->catches && first_of(joins, k) == first)
			return true;
	return false;
}

/* Streams in turn to lcores in turn; those that share something stay together. Those that catch have an lcore behind the others'. */
static int
give(struct fwd *fwd, const unsigned int *joins, unsigned int num_cores)
{
	unsigned int i, next = 0, used = 0, catching = 0;

	for (i = 0; i < fwd->num_streams; i++)
		catching += fwd->stream[i].mode->catches;
	if (catching != 0 && num_cores < 2)
		return app_err(-EINVAL, "burst-buffer wants 2 forwarding lcores or more, one to empty the rings; there "
					"is 1, --lcores gives more");
	num_cores -= catching != 0;
	for (i = 0; i < fwd->num_streams; i++) {
		if (joins[i] != i) {
			fwd->stream[i].lcore = fwd->stream[first_of(joins, i)].lcore;
		} else if (catching != 0 && group_catches(fwd, joins, i)) {
			fwd->stream[i].lcore = num_cores;
		} else {
			fwd->stream[i].lcore = next;
			used = RTE_MAX(used, next + 1);
			next = (next + 1) % num_cores;
		}
	}
	for (i = 0; i < fwd->num_streams; i++) {
		struct fwd_stream *s = &fwd->stream[i];

		if (catching != 0 && s->lcore == num_cores)
			s->lcore = used;
		fwd->lcore[s->lcore].num++;
		fwd->num_lcores = RTE_MAX(fwd->num_lcores, s->lcore + 1);
	}
	fwd->catcher = catching != 0 ? &fwd->lcore[used] : NULL;
	return 0;
}

int
fwd_assign(struct fwd *fwd, const uint32_t *cores, unsigned int num_cores)
{
	unsigned int *joins = calloc(fwd->num_streams, sizeof(*joins)), i;
	int ret;

	if (joins == NULL)
		return app_err(-ENOMEM, "no memory for %u streams", fwd->num_streams);
	join_streams(fwd, joins);
	ret = give(fwd, joins, num_cores);
	free(joins);
	if (ret != 0)
		return ret;
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
