/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Writes what a switch sends to a pcap file for a judge from outside: PFC off and on, 802.3x off and on, marked packets. */
#include <stdio.h>

#include "frames.h"
#include "switch_rig.h"

static FILE *out;

static void
put32(uint32_t v)
{
	fwrite(&v, sizeof(v), 1, out);
}

/* All that a port gives now. */
static void
capture(struct swrig *r, unsigned int i)
{
	while (swrig_recv(r, i) != 0)
		for (unsigned int k = 0; k < r->n; k++) {
			put32((uint32_t)(r->now / 1000000000));
			put32((uint32_t)(r->now % 1000000000 / 1000));
			put32(r->got[k].len);
			put32(r->got[k].len);
			fwrite(r->got[k].seg[0].data, r->got[k].len, 1, out);
		}
}

/* Fills priority 3 until the sender has to pause, and empties it. */
static void
pause_and_go(struct swrig *r)
{
	for (unsigned int n = 0; n < 10; n++)
		swrig_send(r, 0, 2, 1, 3, 1000);
	capture(r, 0);
	swrig_drain(r, 1);
	capture(r, 0);
}

static void
marked(struct swrig *r)
{
	uint8_t *h = swrig_frame(r, 2, 1, UNTAGGED, 0);

	memcpy(h, frame_udp4, sizeof(frame_udp4));
	for (unsigned int ecn = 0; ecn < 4; ecn++) {
		uint16_t sum;

		h[15] = (uint8_t)ecn;
		h[24] = h[25] = 0;
		sum = (uint16_t)~plain_sum(0, h + 14, 20);
		h[24] = (uint8_t)(sum >> 8);
		h[25] = (uint8_t)sum;
		swrig_send_buf(r, 0, sizeof(frame_udp4), 0);
		capture(r, 1);
	}
}

int
main(int argc, char **argv)
{
	void *state;
	struct swrig *r;

	out = argc == 2 ? fopen(argv[1], "wb") : NULL;
	if (out == NULL || swrig_up(&state) != 0)
		return 1;
	r = state;
	put32(0xa1b2c3d4);
	put32(2 | 4 << 16);
	put32(0);
	put32(0);
	put32(65535);
	put32(1);
	swrig_word(r, 0, "xon:2000");
	swrig_word(r, 0, "xoff:5000");
	swrig_word(r, 0, "lossless:3");
	swrig_word(r, 0, "ecn:0+0+0");
	swrig_word(r, 0, "ecn-prio:0");
	swrig_teach(r);
	pause_and_go(r);
	swrig_word(r, 1, "flow:pause");
	pause_and_go(r);
	marked(r);
	swrig_down(&state);
	return fclose(out) == 0 ? 0 : 1;
}
