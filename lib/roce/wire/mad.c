/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "mad.h"

#include <rte_common.h>

#define PERF_CLASS_VERSION 1u
#define PERF_ALL_PORTS 0xffu
/* Capability of the class: all counters of one port at once, extended counters without the ones of unicast. */
#define PERF_CAP_EXT_WIDTH_NOIETF 0x0400u
#define PERF_RESP_TIME 18u /* 4.096 us * 2^18: a second */

void
mad_init(uint8_t mad[MAD_SIZE], uint8_t class, uint8_t class_version, uint8_t method, uint16_t attr, uint64_t tid)
{
	memset(mad, 0, MAD_SIZE);
	mad[MAD_BASE_VERSION_AT] = MAD_BASE_VERSION;
	mad[MAD_CLASS_AT] = class;
	mad[MAD_CLASS_VERSION_AT] = class_version;
	mad[MAD_METHOD_AT] = method;
	ib_put64(mad + MAD_TID_AT, tid);
	ib_put16(mad + MAD_ATTR_AT, attr);
}

/* --- performance management (16.1): of a RoCE port, what went through it --- */

static void
put32_max(uint8_t *p, uint64_t v)
{
	ib_put32(p, (uint32_t)RTE_MIN(v, (uint64_t)UINT32_MAX));
}

static void
put16_max(uint8_t *p, uint64_t v)
{
	ib_put16(p, (uint16_t)RTE_MIN(v, (uint64_t)UINT16_MAX));
}

/* 16.1.3.5: counters stop at their greatest value; data count in words of four bytes. */
static void
port_counters(uint8_t *d, const struct mad_port_counters *c)
{
	put16_max(d + 8, c->rx_errors);
	put16_max(d + 14, c->tx_discards);
	put32_max(d + 24, c->tx_bytes / 4);
	put32_max(d + 28, c->rx_bytes / 4);
	put32_max(d + 32, c->tx_packets);
	put32_max(d + 36, c->rx_packets);
}

static void
port_counters_ext(uint8_t *d, const struct mad_port_counters *c)
{
	ib_put64(d + 8, c->tx_bytes / 4);
	ib_put64(d + 16, c->rx_bytes / 4);
	ib_put64(d + 24, c->tx_packets);
	ib_put64(d + 32, c->rx_packets);
}

static uint16_t
perf_get(uint8_t *mad, const struct mad_port_counters *c)
{
	uint16_t attr = ib_get16(mad + MAD_ATTR_AT);
	uint8_t *d = mad + MAD_PMA_DATA_AT, port = d[1];

	if (attr != MAD_ATTR_CLASS_PORT_INFO && attr != MAD_ATTR_PORT_COUNTERS && attr != MAD_ATTR_PORT_COUNTERS_EXT)
		return MAD_BAD_METHOD_ATTR;
	if (attr != MAD_ATTR_CLASS_PORT_INFO && port != 1 && port != PERF_ALL_PORTS)
		return MAD_BAD_VALUE;
	memset(d, 0, MAD_SIZE - MAD_PMA_DATA_AT);
	if (attr == MAD_ATTR_CLASS_PORT_INFO) {
		d[0] = MAD_BASE_VERSION;
		d[1] = PERF_CLASS_VERSION;
		ib_put16(d + 2, PERF_CAP_EXT_WIDTH_NOIETF);
		ib_put32(d + 4, PERF_RESP_TIME);
		return MAD_OK;
	}
	d[1] = port;
	if (attr == MAD_ATTR_PORT_COUNTERS)
		port_counters(d, c);
	else
		port_counters_ext(d, c);
	return MAD_OK;
}

/* Counters are read; nobody out on the wire clears or sets them. */
static uint16_t
perf(uint8_t *mad, const struct mad_port_counters *c)
{
	if (mad[MAD_CLASS_VERSION_AT] != PERF_CLASS_VERSION)
		return MAD_BAD_VERSION;
	if (mad[MAD_METHOD_AT] == MAD_GET)
		return perf_get(mad, c);
	return mad[MAD_METHOD_AT] == MAD_SET ? MAD_BAD_METHOD_ATTR : MAD_BAD_METHOD;
}

/* Answers of ours must never be answered: two ends would do that for ever (13.4.5, 13.5.3). */
static bool
wants_answer(uint8_t method)
{
	return (method & MAD_RESPONSE) == 0 && method != MAD_SEND && method != MAD_TRAP && method != MAD_TRAP_REPRESS &&
	       method != 0;
}

enum mad_verdict
mad_receive(uint8_t mad[MAD_SIZE], const struct mad_port_counters *port)
{
	uint8_t class = mad[MAD_CLASS_AT], method = mad[MAD_METHOD_AT];
	uint16_t status;

	if (mad[MAD_BASE_VERSION_AT] != MAD_BASE_VERSION)
		return MAD_MALFORMED;
	/* Subnet management is QP0's. */
	if (class == MAD_CLASS_SMP || class == MAD_CLASS_SMP_DIRECTED)
		return MAD_MALFORMED;
	if (class == MAD_CLASS_CM)
		return method == MAD_SEND ? MAD_TO_CM : MAD_MALFORMED;
	if (!wants_answer(method))
		return MAD_DROP;
	/* A class that nobody serves has no method either (13.4.7: version or class unknown). */
	status = class == MAD_CLASS_PERF ? perf(mad, port) : MAD_BAD_VERSION;
	mad[MAD_METHOD_AT] = method == MAD_SET ? MAD_GET | MAD_RESPONSE : method | MAD_RESPONSE;
	ib_put16(mad + MAD_STATUS_AT, status);
	return MAD_ANSWER;
}
