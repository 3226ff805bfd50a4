/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Answers of the small administrator. */
#include "sm_priv.h"

#include <stdlib.h>

#include <rte_common.h>

uint8_t
sm_port_mtu(const struct sm_port *p)
{
	return p->info[SM_PI_MTU_SL] >> 4;
}

/* Lanes by 2.5, 5 or 10 Gb/s, or lanes by an extended speed (9.11.1): codes are those of enum ibv_rate. */
uint8_t
sm_port_rate(const struct sm_port *p)
{
	static const struct {
		uint8_t lanes_by_speed, rate;
	} known[] = {{1, 2}, {2, 5}, {4, 3}, {8, 6}, {12, 4}, {16, 7}, {24, 8}, {32, 9}, {48, 10}};
	static const struct {
		uint8_t lanes, fdr, edr;
	} extended[] = {{1, 11, 15}, {4, 12, 16}, {8, 13, 17}, {12, 14, 18}};
	uint8_t width = p->info[SM_PI_WIDTH], lanes = width == 8 ? 12 : width == 4 ? 8 : width == 2 ? 4 : 1;
	uint8_t value = (uint8_t)(lanes * (p->info[SM_PI_SPEED] >> 4)), ext = p->info[SM_PI_EXT_SPEED] >> 4;

	for (unsigned int i = 0; ext != 0 && i < RTE_DIM(extended); i++) {
		if (extended[i].lanes == lanes)
			return ext == 1 ? extended[i].fdr : extended[i].edr;
	}

	for (unsigned int i = 0; i < RTE_DIM(known); i++) {
		if (known[i].lanes_by_speed == value)
			return known[i].rate;
	}
	return 2;
}

uint32_t
sm_rate_order(uint8_t code)
{
	static const uint16_t by_code[] = {
		[IBV_RATE_2_5_GBPS] = 25,   [IBV_RATE_5_GBPS] = 50,     [IBV_RATE_10_GBPS] = 100,
		[IBV_RATE_14_GBPS] = 140,   [IBV_RATE_20_GBPS] = 200,   [IBV_RATE_25_GBPS] = 250,
		[IBV_RATE_30_GBPS] = 300,   [IBV_RATE_40_GBPS] = 400,   [IBV_RATE_56_GBPS] = 560,
		[IBV_RATE_60_GBPS] = 600,   [IBV_RATE_80_GBPS] = 800,   [IBV_RATE_100_GBPS] = 1000,
		[IBV_RATE_112_GBPS] = 1120, [IBV_RATE_120_GBPS] = 1200, [IBV_RATE_168_GBPS] = 1680,
		[IBV_RATE_200_GBPS] = 2000, [IBV_RATE_300_GBPS] = 3000,
	};

	return code < RTE_DIM(by_code) ? by_code[code] : 0;
}

void
sm_answer(struct tp_sm *sm, const struct tp_mad_msg *msg, uint16_t status, const uint8_t *records, uint32_t stride,
	  uint32_t n)
{
	bool table = msg->data[MAD_METHOD_AT] == SA_GET_TABLE;
	uint32_t bytes = status == 0 ? stride * n : 0;
	struct tp_mad_packet to;
	uint8_t *mad = calloc(1, MAD_SIZE + bytes);

	if (mad == NULL)
		return;
	sm->stats.sa_refused += status != 0;
	tp_mad_reply_to(msg->pkt, &to);
	memcpy(mad, msg->data, SA_RECORD_AT);
	mad[MAD_METHOD_AT] =
		msg->data[MAD_METHOD_AT] == MAD_SET ? MAD_GET | MAD_RESPONSE : msg->data[MAD_METHOD_AT] | MAD_RESPONSE;
	ib_put16(mad + MAD_STATUS_AT, status);
	ib_put16(mad + SA_ATTR_OFFSET_AT, (uint16_t)(stride / 8));
	memset(mad + RMPP_VERSION_AT, 0, RMPP_DATA_AT - RMPP_VERSION_AT);
	if (table && status == 0) {
		mad[RMPP_VERSION_AT] = RMPP_VERSION;
		mad[RMPP_FLAGS_AT] = RMPP_ACTIVE;
	}
	if (bytes != 0)
		memcpy(mad + SA_RECORD_AT, records, bytes);
	(void)tp_mad_send(sm->sa, &to, mad, table && status == 0 ? SA_RECORD_AT + bytes : MAD_SIZE, 0, 3);
	free(mad);
}

void
sm_answer_found(struct tp_sm *sm, const struct tp_mad_msg *msg, const uint8_t *records, uint32_t stride, uint32_t n)
{
	bool table = msg->data[MAD_METHOD_AT] == SA_GET_TABLE;

	if (n == 0 && !table)
		sm_answer(sm, msg, SA_ST_NO_RECORDS, NULL, 0, 0);
	else if (!table && n > 1)
		sm_answer(sm, msg, SA_ST_MANY_RECORDS, NULL, 0, 0);
	else
		sm_answer(sm, msg, 0, records, stride, n);
}
