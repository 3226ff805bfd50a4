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

unsigned int
fwd_first_of(const unsigned int *joins, unsigned int i)
{
	while (joins[i] != i)
		i = joins[i];
	return i;
}

void
fwd_join(const struct fwd *fwd, unsigned int *joins)
{
	unsigned int i, k, a, b;

	for (i = 0; i < fwd->num_streams; i++) {
		const struct fwd_stream *s = &fwd->stream[i];

		joins[i] = i;
		for (k = 0; k < i; k++) {
			const struct fwd_stream *o = &fwd->stream[k];

			if (!share_tx(s, o) && !share_rx(s, o) && !share_roce(s, o))
				continue;
			a = fwd_first_of(joins, i);
			b = fwd_first_of(joins, k);
			joins[RTE_MAX(a, b)] = RTE_MIN(a, b);
		}
	}
}

/* Whether one of those that stay together with stream i catches. */
static bool
group_catches(const struct fwd *fwd, const unsigned int *joins, unsigned int i)
{
	const unsigned int first = fwd_first_of(joins, i);
	unsigned int k;

	for (k = first; k < fwd->num_streams; k++)
		if (fwd->stream[k].mode->catches && fwd_first_of(joins, k) == first)
			return true;
	return false;
}

int
fwd_wanted(const struct fwd *fwd, const unsigned int *joins, unsigned int first, char err[TP_ERR_LEN])
{
	uint32_t wanted = 0;
	unsigned int i;

	for (i = first; i < fwd->num_streams; i++) {
		const struct fwd_stream *s = &fwd->stream[i];

		if (s->wanted == 0 || fwd_first_of(joins, i) != first)
			continue;
		if (wanted != 0 && s->wanted != wanted) {
			snprintf(err, TP_ERR_LEN,
				 "lcore: %u for queue %u, which shares a transmit queue or a RoCE port with a queue "
				 "whose group wants %u; want the same",
				 s->wanted - 1, s->rx_queue, wanted - 1);
			return -EINVAL;
		}
		wanted = s->wanted;
	}
	return (int)wanted;
}

unsigned int
fwd_place(uint32_t lcore, const uint32_t *cores, unsigned int num)
{
	unsigned int i = 0;

	while (i < num && cores[i] != lcore)
		i++;
	return i;
}

/* The lcore of those that stay together with stream i, which is their first: the one that is wanted, or the next in turn. */
static int
give_first(struct fwd *fwd, const unsigned int *joins, unsigned int i, const uint32_t *cores, unsigned int num,
	   unsigned int *next)
{
	char err[TP_ERR_LEN];
	const int wanted = fwd_wanted(fwd, joins, i, err);

	if (wanted < 0)
		return app_err(wanted, "port %u: %s", fwd->stream[i].rx_port, err);
	if (wanted == 0) {
		fwd->stream[i].lcore = *next;
		*next = (*next + 1) % num;
		return 0;
	}
	fwd->stream[i].lcore = fwd_place((uint32_t)wanted - 1, cores, num);
	if (fwd->stream[i].lcore == num)
		return app_err(-EINVAL,
			       "port %u queue %u: its group wants lcore %d, which does not forward; 'set corelist' "
			       "with it, or 'group modify' with lcore=any",
			       fwd->stream[i].rx_port, fwd->stream[i].rx_queue, wanted - 1);
	return 0;
}

/* Streams in turn to lcores in turn; those that share something stay together. Those that catch have an lcore behind the others'. */
static int
give(struct fwd *fwd, const unsigned int *joins, const uint32_t *cores, unsigned int num_cores)
{
	unsigned int i, next = 0, used = 0, catching = 0;
	int ret;

	for (i = 0; i < fwd->num_streams; i++)
		catching += fwd->stream[i].mode->catches;
	if (catching != 0 && num_cores < 2)
		return app_err(-EINVAL, "burst-buffer wants 2 forwarding lcores or more, one to empty the rings; there "
					"is 1, --lcores gives more");
	num_cores -= catching != 0;
	for (i = 0; i < fwd->num_streams; i++) {
		if (joins[i] != i) {
			fwd->stream[i].lcore = fwd->stream[fwd_first_of(joins, i)].lcore;
		} else if (catching != 0 && group_catches(fwd, joins, i)) {
			fwd->stream[i].lcore = num_cores;
		} else {
			ret = give_first(fwd, joins, i, cores, num_cores, &next);
			if (ret != 0)
				return ret;
			used = RTE_MAX(used, fwd->stream[i].lcore + 1);
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
	fwd_join(fwd, joins);
	ret = give(fwd, joins, cores, num_cores);
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
