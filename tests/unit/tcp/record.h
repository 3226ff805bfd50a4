/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A connection of two stacks whose frames are written down, each with its time. Behind cmocka.h. */
#ifndef TCP_RECORD_H
#define TCP_RECORD_H

#include <string.h>

#include <rte_byteorder.h>

#include "octets.h"
#include "rig.h"

#define MS UINT64_C(1000)
#define S UINT64_C(1000000)
#define LOG 256u

/* Frames that a side sent. */
struct entry {
	uint64_t at;
	uint32_t seq, ack, len, wnd;
	uint8_t flags;
};
struct record {
	struct entry e[LOG];
	uint32_t n;
	bool lose;          /* all */
	bool lose_data;     /* those with data */
	uint32_t lose_next; /* so many of these */
	uint8_t last[128];  /* what the last began with */
};
#define SYN 2u
#define FIN 1u
#define RST 4u
#define ACK 16u

static struct rig r;
static struct record rec[2];
static struct tcp_conn *c[2];

static inline bool
tap(struct rig_side *side, const uint8_t *frame, uint32_t len)
{
	struct record *k = side->tap_arg;
	const uint8_t *t = frame + 34;
	struct entry *e = &k->e[k->n < LOG - 1 ? k->n++ : LOG - 1];

	memset(k->last, 0, sizeof(k->last));
	memcpy(k->last, frame, RTE_MIN(len, (uint32_t)sizeof(k->last)));
	*e = (struct entry){.at = side->r->now,
			    .seq = get32(t + 4),
			    .ack = get32(t + 8),
			    .len = len - 34 - (t[12] >> 4) * 4u,
			    .wnd = (uint32_t)t[14] << 8 | t[15],
			    .flags = t[13]};
	if (k->lose_next != 0 && e->len != 0) {
		k->lose_next--;
		return true;
	}
	return k->lose || (k->lose_data && e->len != 0);
}

static const struct tcp_conf plain[2] = {{0}};

static inline void
start(const struct tcp_conf conf[2], uint64_t delay_us)
{
	const struct rig_wire wire[2] = {{.delay_us = delay_us}, {.delay_us = delay_us}};
	const uint16_t mtu[2] = {1500, 1500};
	int i;

	rig_start(&r, 42, conf, wire, mtu);
	memset(rec, 0, sizeof(rec));
	for (i = 0; i < 2; i++) {
		r.side[i].tap = tap;
		r.side[i].tap_arg = &rec[i];
	}
}

static inline void
connected(const struct tcp_conf conf[2], uint64_t delay_us)
{
	start(conf, delay_us);
	if (!rig_connect(&r, c))
		fail_msg("%s", r.why);
	rig_until(&r, r.now + 300 * MS);
	rec[0].n = rec[1].n = 0;
}

static inline void
end(void)
{
	if (!rig_end(&r))
		fail_msg("%s", r.why);
}

static inline ssize_t
put(int n, size_t len)
{
	static uint8_t buf[65536];

	return tcp_send(c[n], &(struct iovec){buf, len}, 1, 0);
}

static inline ssize_t
get(int n, size_t len)
{
	static uint8_t buf[65536];

	return tcp_recv(c[n], &(struct iovec){buf, len}, 1, 0);
}

/* A segment as if the peer had sent it, with olen octets of options and len of data. */
static inline void
forge(int to, uint8_t flags, uint32_t seq, uint32_t ack, uint16_t wnd, const uint8_t *opt, uint32_t olen, uint32_t len)
{
	uint8_t f[2048] = {0};

	r.free_window = true; /* the rig does not know what the other end meant to say */
	memcpy(f, rec[!to].last, 54);
	f[16] = (uint8_t)((40 + olen + len) >> 8);
	f[17] = (uint8_t)(40 + olen + len);
	put32(f + 38, seq);
	put32(f + 42, ack);
	f[46] = (uint8_t)((5 + olen / 4) << 4);
	f[47] = flags;
	f[48] = (uint8_t)(wnd >> 8);
	f[49] = (uint8_t)wnd;
	if (olen != 0)
		memcpy(f + 54, opt, olen);
	rig_inject(&r, to, f, 54 + olen + len);
}

static inline void
near(uint64_t is, uint64_t should)
{
	/* A tick of the wheel. */
	if (is < should || is > should + 16)
		fail_msg("%lu us instead of %lu", (unsigned long)is, (unsigned long)should);
}

#endif /* TCP_RECORD_H */
