/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sequence numbers (RFC 9293 3.4). */
#ifndef TCP_BASE_SEQ_H
#define TCP_BASE_SEQ_H

#include <stdbool.h>
#include <stdint.h>

static inline bool
seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}
static inline bool
seq_leq(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}
static inline uint32_t
seq_max(uint32_t a, uint32_t b)
{
	return seq_lt(a, b) ? b : a;
}

#endif /* TCP_BASE_SEQ_H */
