/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Counters by name: those of a port, and those that the card keeps of its connections and datagrams. Cards do not count for
 * a queue pair but for a port, so that these are of all IPoIB ports and verbs programs on it. In DPDK's telemetry:
 *   /triplane/ipoib/list            numbers of the ports
 *   /triplane/ipoib/counters,PORT   counters; of a failover pair those of the port that carries
 */
#include <errno.h>
#include <stdlib.h>

#include "pair.h"
#include "lib/roce/port/tel_uint.h"

/* What it means for packets, by the name that the provider has for it. */
static const struct {
	const char *is, *name, *text;
} card_rows[] = {
	{"req_timeouts", "card_req_timeouts",
	 "time-outs of the sender: no acknowledgement came, packets were sent again"},
	{"req_out_of_order", "card_req_out_of_order",
	 "NAKs received for packets that were missing, which were sent again"},
	{"req_rnr_naks", "card_req_rnr_naks",
	 "NAKs received of receivers that had no buffer, packets were sent again later"},
	{"req_retries_exceeded", "card_req_retries_exceeded", "connections that broke: nobody acknowledged"},
	{"req_rnr_retries_exceeded", "card_req_rnr_retries_exceeded",
	 "connections that broke: the receiver had no buffer"},
	{"resp_out_of_order", "card_resp_out_of_order", "packets received of connections behind one that was missing"},
	{"resp_duplicates", "card_resp_duplicates", "packets received of connections once more"},
	{"resp_rnr_naks", "card_resp_rnr_naks", "packets received of connections without a buffer for them"},
	{"resp_ud_dropped", "card_resp_ud_dropped", "datagrams received without a buffer for them"},
};

struct card_values {
	uint64_t value[RTE_DIM(card_rows)];
};

static void
note(void *arg, const char *name, uint64_t value)
{
	struct card_values *v = arg;
	unsigned int i;

	for (i = 0; i < RTE_DIM(card_rows); i++) {
		if (strcmp(card_rows[i].is, name) == 0)
			v->value[i] = value;
	}
}

int
tp_ipoib_counters(uint16_t port_id, tp_ipoib_counter_fn fn, void *arg)
{
	const struct ipoib_port *p = ipoib_port_of(port_id);
	struct card_values v = {0};
	unsigned int i;

	if (p == NULL)
		return -ENODEV;
	ipoib_own_counters(p, fn, arg);
	if (tp_roce_home_stats(ipoib_device_ctx(p->device), note, &v) != 0)
		return -EIO;
	for (i = 0; i < RTE_DIM(card_rows); i++)
		fn(arg, card_rows[i].name, card_rows[i].text, v.value[i]);
	return 0;
}

/* --- telemetry --------------------------------------------------------------------------------------------------------- */

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	uint16_t id;

	(void)cmd, (void)params;
	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	RTE_ETH_FOREACH_DEV(id)
	{
		if (ipoib_port_of(id) != NULL || ipoib_pair_of(id) != NULL)
			rte_tel_data_add_array_int(d, id);
	}
	return 0;
}

static void
add(void *arg, const char *name, const char *text, uint64_t value)
{
	(void)text;
	tel_dict_uint(arg, name, value);
}

static int
counters(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct tp_ipoib_pair_info pair;
	unsigned long id;
	char *end;

	(void)cmd;
	if (params == NULL)
		return -EINVAL;
	id = strtoul(params, &end, 10);
	if (end == params || *end != '\0' || id >= RTE_MAX_ETHPORTS)
		return -EINVAL;
	if (tp_ipoib_pair_info((uint16_t)id, &pair) == 0)
		id = pair.member[pair.active];
	rte_tel_data_start_dict(d);
	return tp_ipoib_counters((uint16_t)id, add, d);
}

RTE_INIT(ipoib_telemetry_init)
{
	rte_telemetry_register_cmd("/triplane/ipoib/list", list, "Numbers of IPoIB ports and their failover pairs");
	rte_telemetry_register_cmd("/triplane/ipoib/counters", counters,
				   "Counters of an IPoIB port, or of the port of a pair that carries. Parameter: port");
}
