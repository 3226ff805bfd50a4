/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 7: two Ethernet ports of one card with a cable between. */
#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>

#include "apps/check/joined/joined.h"

#define TRIPS 200u

static const uint16_t sizes[] = {60, 64, 128, 256, 512, 1024, 1514};

static void
all_sizes(struct ck *c, struct port *from, struct port *to, const char *name)
{
	unsigned int i, good = 0;

	ck_step(c, "sends frames of %zu sizes (%s)", RTE_DIM(sizes), name);
	for (i = 0; i < RTE_DIM(sizes); i++)
		good += pair_frame(from, to, 0, sizes[i]);
	ck_judge(c, good == RTE_DIM(sizes), name, "%u of %zu frames arrived unchanged", good, RTE_DIM(sizes));
}

static void
round_trips(struct ck *c, struct port *a, struct port *b)
{
	uint64_t least = UINT64_MAX, sum = 0, since, took;
	unsigned int i;

	ck_step(c, "measures %u round trips", TRIPS);
	for (i = 0; i < TRIPS; i++) {
		since = rte_get_timer_cycles();
		if (!pair_frame(a, b, 0, 64) || !pair_frame(b, a, 0, 64)) {
			ck_say(c, CK_FAIL, "round-trips", "of round trip %u a frame was lost", i);
			return;
		}
		took = rte_get_timer_cycles() - since;
		least = RTE_MIN(least, took);
		sum += took;
	}
	ck_say(c, CK_PASS, "round-trips",
	       "%u of 64 octets: %.1f us on average, %.1f us at least, with naps of the waiter", TRIPS,
	       (double)sum / TRIPS * 1e6 / (double)rte_get_timer_hz(),
	       (double)least * 1e6 / (double)rte_get_timer_hz());
}

void
ck_stage_cable(struct ck *c)
{
	char why[CK_TEXT];
	struct pair x;

	if (!pair_open(&x, c, NULL, why)) {
		if (!far_stage(c))
			ck_say(c, CK_SKIP, "cable", "%s, and no reflector answers", why);
		return;
	}
	ck_say(c, CK_PASS, "cable", "port 1 reaches port 2");
	port_capture(&x.p[1], c, "cable.pcap");
	all_sizes(c, &x.p[0], &x.p[1], "first-to-second");
	all_sizes(c, &x.p[1], &x.p[0], "second-to-first");
	pair_rate(c, &x.p[0], &x.p[1], &x.p[1].mac, 1514, "rate");
	pair_rate(c, &x.p[0], &x.p[1], &x.p[1].mac, 60, "rate-small");
	round_trips(c, &x.p[0], &x.p[1]);
	pause_stage(&x);
	roce_stage(&x);
	pair_close(&x, true);
}
