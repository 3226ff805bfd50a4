/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* capture_burst ended|kept|filtered|full [BURSTS]: bursts of 32 packets of 60 octets in a capture's callback. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/capture/capture_priv.h"

#define BURST 32u
#define OCTETS 60u
#define SLOTS 64u

int
main(int argc, char **argv)
{
	/* To UDP port 80. */
	static const uint8_t udp[OCTETS] = {0x02, 0, 0,   0,  1,   1, 0x02, 0,   0,  0,  0, 1, 8,   0,
					    0x45, 0, 0,   46, 0,   1, 0,    0,   64, 17, 0, 0, 192, 0,
					    2,    1, 198, 51, 100, 1, 3,    232, 0,  80, 0, 26};
	const char *what = argc > 1 ? argv[1] : "kept";
	const unsigned long bursts = argc > 2 ? strtoul(argv[2], NULL, 10) : 2048;
	static struct tp_capture c;
	static struct cap_hook h;
	struct rte_mbuf mbuf[BURST], *pkts[BURST];
	uint8_t frame[BURST][64];
	char err[TP_CAPTURE_ERR];
	struct cap_slot *s;
	unsigned long b;
	unsigned int i;
	uint64_t pos;

	memset(mbuf, 0, sizeof(mbuf));
	tp_capture_conf_default(TP_CAPTURE_FILE, &c.conf);
	c.keep = 128;
	if (cap_ring_init(&c.ring, c.keep, SLOTS, false) != 0 ||
	    (strcmp(what, "filtered") == 0 && cap_filter_make("udp dst port 53", &c.filter, err) != 0))
		return EXIT_FAILURE;
	h.c = strcmp(what, "ended") == 0 ? NULL : &c;
	for (i = 0; i < BURST; i++) {
		memcpy(frame[i], udp, sizeof(udp));
		mbuf[i].buf_addr = frame[i];
		mbuf[i].data_len = OCTETS;
		mbuf[i].pkt_len = OCTETS;
		mbuf[i].nb_segs = 1;
		pkts[i] = &mbuf[i];
	}
	for (b = 0; b < bursts; b++) {
		if (cap_burst(&h, pkts, BURST) != BURST)
			return EXIT_FAILURE;
		while (strcmp(what, "full") != 0 && (s = cap_ring_next(&c.ring, &pos)) != NULL)
			cap_ring_give(&c.ring, s, pos);
	}
	printf("packets %lu\n", bursts * BURST);
	return EXIT_SUCCESS;
}
