/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* SipHash-2-4 of 16 octets. */
#ifndef TCP_BASE_SIPHASH_H
#define TCP_BASE_SIPHASH_H

#include <stdint.h>

uint64_t tcp_siphash(const uint64_t key[2], uint64_t a, uint64_t b);

#endif /* TCP_BASE_SIPHASH_H */
