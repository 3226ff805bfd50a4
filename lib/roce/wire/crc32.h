/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* CRC-32 of IEEE 802.3 in pieces: the register goes in and out as it is, without the first and last complement. */
#ifndef ROCE_WIRE_CRC32_H
#define ROCE_WIRE_CRC32_H

#include <stddef.h>
#include <stdint.h>

#define TROCE_CRC32_INIT 0xffffffffu

/* By carry-less multiplication where the CPU has it and the piece is long enough, else by zlib. Any thread. */
uint32_t troce_crc32(uint32_t reg, const void *p, size_t len);
/* With multiplications of 16 bytes at most, as CPUs without VPCLMULQDQ do it; by zlib alone: what the first is compared with. */
uint32_t troce_crc32_narrow(uint32_t reg, const void *p, size_t len);
uint32_t troce_crc32_scalar(uint32_t reg, const void *p, size_t len);
/* Of at least TROCE_CRC_MASK octets; bits of the first of them that the mask has count as ones. */
#define TROCE_CRC_MASK 16u
uint32_t troce_crc32_masked(uint32_t reg, const uint8_t mask[TROCE_CRC_MASK], const void *p, size_t len);

#endif /* ROCE_WIRE_CRC32_H */
