/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Management datagrams (IBTA 1.4, chapter 13): the common header, and what QP1 answers by itself. A datagram is always
 * TROCE_MAD_SIZE bytes. Pure code: nothing here sends or keeps state.
 */
#ifndef ROCE_WIRE_MAD_H
#define ROCE_WIRE_MAD_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

#define MAD_SIZE 256u
#define MAD_BASE_VERSION 1u

/* Byte offsets of the common header (13.4.2). */
enum mad_at {
	MAD_BASE_VERSION_AT = 0,
	MAD_CLASS_AT = 1,
	MAD_CLASS_VERSION_AT = 2,
	MAD_METHOD_AT = 3,
	MAD_STATUS_AT = 4,
	MAD_CLASS_SPECIFIC_AT = 6,
	MAD_TID_AT = 8,
	MAD_ATTR_AT = 16,
	MAD_ATTR_MOD_AT = 20,
	MAD_DATA_AT = 24,
	MAD_PMA_DATA_AT = 64, /* of performance management (16.1.1) */
};

enum mad_class {
	MAD_CLASS_SMP = 0x01,
	MAD_CLASS_SA = 0x03,
	MAD_CLASS_PERF = 0x04,
	MAD_CLASS_CM = 0x07,
	MAD_CLASS_SMP_DIRECTED = 0x81,
};

/* Methods (13.4.5); an answer has the highest bit. */
enum mad_method {
	MAD_GET = 0x01,
	MAD_SET = 0x02,
	MAD_SEND = 0x03,
	MAD_TRAP = 0x05,
	MAD_REPORT = 0x06,
	MAD_TRAP_REPRESS = 0x07,
	MAD_RESPONSE = 0x80,
};

/* Status bits (13.4.7): codes of invalid fields are in bits 4:2. */
enum mad_status {
	MAD_OK = 0,
	MAD_BAD_VERSION = 1 << 2,
	MAD_BAD_METHOD = 2 << 2,
	MAD_BAD_METHOD_ATTR = 3 << 2,
	MAD_BAD_VALUE = 7 << 2,
};

#define MAD_ATTR_CLASS_PORT_INFO 0x0001u
#define MAD_ATTR_PORT_COUNTERS 0x0012u
#define MAD_ATTR_PORT_COUNTERS_EXT 0x001du

/* What PortCounters say of a RoCE port: what went through, in packets and bytes (16.1.3.5). */
struct mad_port_counters {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, rx_errors, tx_discards;
};

/* What is to be done with a datagram that came in. */
enum mad_verdict {
	MAD_TO_CM,     /* for connection management */
	MAD_ANSWER,    /* *mad was made the answer: send it back */
	MAD_DROP,      /* an answer to nothing, a one-way message of a class that nobody serves */
	MAD_MALFORMED, /* not a datagram of this standard */
};

/*
 * Judges a datagram and, where the standard wants an answer, makes it in place. Any bytes may come.
 * port: counters of the port, read only for performance management
 */
enum mad_verdict mad_receive(uint8_t mad[MAD_SIZE], const struct mad_port_counters *port);

/* The common header of a datagram; the rest is cleared. */
void mad_init(uint8_t mad[MAD_SIZE], uint8_t class, uint8_t class_version, uint8_t method, uint16_t attr, uint64_t tid);

#endif /* ROCE_WIRE_MAD_H */
