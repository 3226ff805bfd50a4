/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The small administrator: what it knows of nodes, ports and managers (15.2.5). */
#include "sm_priv.h"

#include <stdlib.h>

#include <rte_common.h>

#define NODE_STRIDE 112u
#define PORT_STRIDE 72u
#define MANAGER_STRIDE 32u
#define MAX_PORTS (TP_SM_NODES * (TP_SM_PORTS + 1u))
#define RESP_TIME 16u

/* Components that narrow what is asked for. */
#define MASK_LID 1u
#define MASK_PORT 2u
#define MASK_NODE_GUID (1u << 7)
#define MASK_PORT_GUID (1u << 8)
#define MASK_CAPS (1u << 7) /* of a port's record: the capability mask, whose bits all must be there */

static void
class_port_info(struct tp_sm *sm, const struct tp_mad_msg *msg)
{
	uint8_t rec[SA_RECORD_LEN] = {MAD_BASE_VERSION, SA_CLASS_VERSION};

	ib_put32(rec + 4, RESP_TIME);
	sm_answer(sm, msg, 0, rec, SA_RECORD_LEN, 1);
}

/* --- nodes, ports, managers -------------------------------------------------------------------------------------- */

static void
put_node(const struct sm_node *n, unsigned int port, uint8_t *rec)
{
	ib_put16(rec, n->lid[port]);
	memcpy(rec + 4, n->info, 40);
	ib_put64(rec + 4 + SM_NI_PORT_GUID, n->port_guid[port]);
	rec[4 + SM_NI_PORT] = (uint8_t)port;
	memcpy(rec + 44, n->desc, SMP_DATA_LEN);
}

static bool
node_wanted(const struct sm_node *n, unsigned int port, uint64_t mask, const uint8_t *want)
{
	return n->lid[port] != 0 && ((mask & MASK_LID) == 0 || n->lid[port] == ib_get16(want)) &&
	       ((mask & MASK_NODE_GUID) == 0 || n->guid == ib_get64(want + 4 + SM_NI_NODE_GUID)) &&
	       ((mask & MASK_PORT_GUID) == 0 || n->port_guid[port] == ib_get64(want + 4 + SM_NI_PORT_GUID));
}

static void
nodes(struct tp_sm *sm, const struct tp_mad_msg *msg, uint8_t *buf)
{
	uint64_t mask = ib_get64(msg->data + SA_MASK_AT);
	uint32_t num = 0;

	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		const struct sm_node *n = &sm->node[i];

		for (unsigned int p = 0; p <= n->ports; p++) {
			if (node_wanted(n, p, mask, msg->data + SA_RECORD_AT))
				put_node(n, p, buf + NODE_STRIDE * num++);
		}
	}
	sm_answer_found(sm, msg, buf, NODE_STRIDE, num);
}

static bool
port_wanted(const struct sm_node *n, unsigned int port, uint64_t mask, const uint8_t *want)
{
	uint16_t lid = n->lid[n->is_switch ? 0 : port];
	uint32_t caps = ib_get32(want + 4 + SM_PI_CAPS);

	return lid != 0 && n->port[port].known && ((mask & MASK_LID) == 0 || lid == ib_get16(want)) &&
	       ((mask & MASK_PORT) == 0 || port == want[2]) &&
	       ((mask & MASK_CAPS) == 0 || (ib_get32(n->port[port].info + SM_PI_CAPS) & caps) == caps);
}

static void
ports(struct tp_sm *sm, const struct tp_mad_msg *msg, uint8_t *buf)
{
	uint64_t mask = ib_get64(msg->data + SA_MASK_AT);
	uint32_t num = 0;

	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		const struct sm_node *n = &sm->node[i];

		for (unsigned int p = 0; p <= n->ports; p++) {
			uint8_t *rec = buf + PORT_STRIDE * num;

			if (!port_wanted(n, p, mask, msg->data + SA_RECORD_AT))
				continue;
			ib_put16(rec, n->lid[n->is_switch ? 0 : p]);
			rec[2] = (uint8_t)p;
			memcpy(rec + 4, n->port[p].info, SMP_DATA_LEN);
			/* A key is nobody's business (14.2.4). */
			ib_put64(rec + 4, 0);
			num++;
		}
	}
	sm_answer_found(sm, msg, buf, PORT_STRIDE, num);
}

/* Ourselves, and those who stand by. */
static void
managers(struct tp_sm *sm, const struct tp_mad_msg *msg, uint8_t *buf)
{
	uint64_t mask = ib_get64(msg->data + SA_MASK_AT), guid = sm_own_guid(sm);
	uint16_t want = ib_get16(msg->data + SA_RECORD_AT);
	uint32_t num = 0;

	for (unsigned int i = 0; i <= sm->num_peers; i++) {
		const struct sm_peer *peer = i == 0 ? NULL : &sm->peer[i - 1];
		uint8_t *rec = buf + MANAGER_STRIDE * num, port;
		const struct sm_node *node;

		if (!sm_find_guid(sm, peer == NULL ? guid : peer->guid, &node, &port) ||
		    ((mask & MASK_LID) != 0 && want != node->lid[port]))
			continue;
		ib_put16(rec, node->lid[port]);
		ib_put64(rec + 4, node->port_guid[port]);
		ib_put32(rec + 20, peer == NULL ? (uint32_t)sm->stats.requests : 0);
		rec[24] = (uint8_t)(sm->conf.priority << 4 | sm->role);
		if (peer != NULL)
			rec[24] = (uint8_t)(peer->priority << 4 | peer->state);
		num++;
	}
	sm_answer_found(sm, msg, buf, MANAGER_STRIDE, num);
}

/* --- all --------------------------------------------------------------------------------------------------------- */

static void
read_records(struct tp_sm *sm, const struct tp_mad_msg *msg, uint16_t attr)
{
	uint8_t *buf = calloc(MAX_PORTS, NODE_STRIDE);

	if (buf == NULL)
		sm_answer(sm, msg, SA_ST_RESOURCES, NULL, 0, 0);
	else if (attr == SA_ATTR_NODE)
		nodes(sm, msg, buf);
	else if (attr == SA_ATTR_PORT_INFO)
		ports(sm, msg, buf);
	else
		managers(sm, msg, buf);
	free(buf);
}

/* Who is not master answers nobody: requests go to the one that is. */
void
sm_sa_input(void *arg, const struct tp_mad_msg *msg)
{
	struct tp_sm *sm = arg;
	uint8_t method = msg->pkt->data[MAD_METHOD_AT];
	uint16_t attr = ib_get16(msg->pkt->data + MAD_ATTR_AT);
	bool reads = method == MAD_GET || method == SA_GET_TABLE;

	if (msg->status != 0 || mad_is_response(msg->data) || sm->role != TP_SM_MASTER || msg->len < MAD_SIZE)
		return;
	sm->stats.sa_requests++;
	if (attr == SA_ATTR_MEMBER)
		sm_member(sm, msg);
	else if (reads && (attr == SA_ATTR_NODE || attr == SA_ATTR_PORT_INFO || attr == SA_ATTR_SM_INFO))
		read_records(sm, msg, attr);
	else if (reads && attr == SA_ATTR_PATH)
		sm_paths(sm, msg);
	else if (method == MAD_GET && attr == MAD_ATTR_CLASS_PORT_INFO)
		class_port_info(sm, msg);
	else
		sm_answer(sm, msg, MAD_BAD_METHOD_ATTR, NULL, 0, 0);
}
