/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <string.h>

#include "pair_state.h"

void
ipoib_pair_reset(struct ipoib_pair_state *s, bool failback, uint32_t failback_ms)
{
	memset(s, 0, sizeof(*s));
	s->failback = failback;
	s->failback_ms = failback_ms;
}

static void
move(struct ipoib_pair_state *s, unsigned int to, bool kept, uint64_t now_ms)
{
	s->active = to;
	s->kept = kept;
	s->notices = IPOIB_PAIR_NOTICES;
	s->notice_ms = now_ms;
}

enum ipoib_pair_why
ipoib_pair_step(struct ipoib_pair_state *s, const bool up[IPOIB_PAIR_MEMBERS], uint64_t now_ms)
{
	unsigned int i;

	for (i = 0; i < IPOIB_PAIR_MEMBERS; i++) {
		if (up[i] && !s->up[i])
			s->up_ms[i] = now_ms;
		s->up[i] = up[i];
	}
	if (!s->up[s->active]) {
		s->kept = false;
		if (!s->up[s->active ^ 1])
			return IPOIB_PAIR_STAY;
		move(s, s->active ^ 1, false, now_ms);
		return IPOIB_PAIR_FAILOVER;
	}
	if (s->failback && !s->kept && s->active != 0 && s->up[0] && now_ms - s->up_ms[0] >= s->failback_ms) {
		move(s, 0, false, now_ms);
		return IPOIB_PAIR_FAILBACK;
	}
	return IPOIB_PAIR_STAY;
}

int
ipoib_pair_ask(struct ipoib_pair_state *s, unsigned int member, uint64_t now_ms)
{
	if (!s->up[member])
		return -ENETDOWN;
	if (member == s->active)
		s->kept = true;
	else
		move(s, member, true, now_ms);
	return 0;
}

bool
ipoib_pair_notice(struct ipoib_pair_state *s, uint64_t now_ms)
{
	if (s->notices == 0 || !s->up[s->active] || now_ms < s->notice_ms)
		return false;
	s->notices--;
	s->notice_ms = now_ms + IPOIB_PAIR_NOTICE_MS;
	return true;
}
