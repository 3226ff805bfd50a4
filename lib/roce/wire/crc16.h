/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The variant CRC of InfiniBand links (IBTA 7.8.2) in pieces: the register goes in and out as it is, without the last complement. */
#ifndef ROCE_WIRE_CRC16_H
#define ROCE_WIRE_CRC16_H

#include <stddef.h>
#include <stdint.h>

#define TROCE_CRC16_INIT 0xffffu

/* By carry-less multiplication where the CPU has it and the piece is long enough, else by tables. Any thread. */
uint16_t troce_crc16(uint16_t reg, const void *p, size_t len);
/* Of four octets, as a number of which the lowest one is the first. */
uint16_t troce_crc16_4(uint16_t reg, uint32_t octets);
/* With multiplications of 16 bytes at most, as CPUs without VPCLMULQDQ do it; by tables alone: what the first is compared with. */
uint16_t troce_crc16_narrow(uint16_t reg, const void *p, size_t len);
uint16_t troce_crc16_scalar(uint16_t reg, const void *p, size_t len);

#endif /* ROCE_WIRE_CRC16_H */
