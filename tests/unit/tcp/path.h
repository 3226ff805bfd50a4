/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What routers do to packets of the rig, and what they may expect of them: marks of ECN, sizes, ICMP. */
#ifndef TCP_PATH_H
#define TCP_PATH_H

#include <string.h>

#include "octets.h"
#include "rig.h"

#define PATH_ICMP_LEN (14u + 20 + 8 + 28)

/* RFC 3168 5: a packet that says it can be marked is. */
static inline void
path_mark(uint8_t *ip)
{
	if ((ip[1] & 3) == 0)
		return;
	ip[1] |= 3;
	put16(ip + 10, 0);
	put16(ip + 10, ~fold(add(ip, 20, 0)));
}

/* RFC 1191 4: to the sender of a frame that is too large for mtu. */
static inline void
path_too_large(const uint8_t *frame, uint32_t mtu, uint8_t out[PATH_ICMP_LEN])
{
	uint8_t *ip = out + 14, *icmp = ip + 20;

	memset(out, 0, PATH_ICMP_LEN);
	out[12] = 8;
	ip[0] = 0x45;
	put16(ip + 2, PATH_ICMP_LEN - 14);
	ip[8] = 64;
	ip[9] = 1;
	put32(ip + 12, 0x0a0000fe);
	memcpy(ip + 16, frame + 14 + 12, 4);
	put16(ip + 10, ~fold(add(ip, 20, 0)));
	icmp[0] = 3;
	icmp[1] = 4;
	put16(icmp + 6, mtu);
	memcpy(icmp + 8, frame + 14, 28);
	put16(icmp + 2, ~fold(add(icmp, 36, 0)));
}

/* RFC 1191 3, RFC 3168 6.1: what is wrong with a packet that was sent, NULL: nothing. Behind its SYN the side's numbers are known. */
static inline const char *
path_wrong(struct rig_side *a, const uint8_t *ip, uint32_t len)
{
	const struct rig_side *b = &a->r->side[!a->n];
	const uint8_t *t = ip + 20, ecn = ip[1] & 3, flags = t[13];
	const bool agreed =
		(a->ecn_said == 0xc0 && b->ecn_said == 0x50) || (a->ecn_said == 0x50 && b->ecn_said == 0xc0);

	if ((ip[6] & 0x40) == 0)
		return "routers may cut it";
	if ((flags & 2) != 0) {
		/* ECE, CWR and ACK; the first one says it. */
		if (!a->syn_seen)
			a->ecn_said = flags & 0xd0;
		return ecn != 0 ? "SYN says it can be marked" : NULL;
	}
	if (!agreed)
		return ecn != 0 || (flags & 0xc0) != 0 ? "ECN, which was not agreed on" : NULL;
	if (ecn != 0 && ecn != 2)
		return "it is marked already";
	if (ecn != 0 && len == 0)
		return "no data, and it says it can be marked";
	if (ecn != 0 && !a->r->free_window && (int32_t)(get32(t + 4) - a->high_seq) < 0)
		return "sent again, and it says it can be marked";
	return NULL;
}

#endif /* TCP_PATH_H */
