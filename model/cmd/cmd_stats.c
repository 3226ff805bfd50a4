/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters that software reads by command [CP 4.6 .. 4.8]. */
#include <string.h>

#include "model/qos/qos.h"
#include "model/roce/roce.h"
#include "cmd.h"

#define PORT_MASK 0xffu
#define FRAMING 18u /* Ethernet header and FCS */
#define DIAG_OPM_QUERY 2u
#define DIAG_BAD_DOORBELLS 0x1a8u
#define DIAG_RQ_FLUSH 0x20u
#define DIAG_SQ_FLUSH 0x24u
#define DIAG_RQ_MCAST 0x108u
#define DIAG_CQ_OVERFLOW 0x1a0u
#define DIAG_EQ_OVERFLOW 0x1a4u

static uint64_t
without_framing(uint64_t octets, uint64_t frames)
{
	return octets > frames * FRAMING ? octets - frames * FRAMING : 0;
}

static void
dump_rx(const struct tpm_port_counters *k, uint8_t *out)
{
	for (uint32_t i = 0; i <= MLX4_STATS_NOVLAN; i++) {
		for (uint32_t b = 0; b < MLX4_STATS_SIZE_BLOCKS; b++)
			prm_set64(out, MLX4_STATS_RX_SIZE(b, i), k->rx_size[b][i]);
		prm_set64(out, MLX4_STATS_RX_BCAST(i), k->rx_bcast[i]);
		prm_set64(out, MLX4_STATS_RX_MCAST(i), k->rx_mcast[i]);
		prm_set64(out, MLX4_STATS_RX_UCAST(i), k->rx_ucast[i]);
		prm_set64(out, MLX4_STATS_RX_OCT_TOTAL(i), k->rx_oct[i]);
		prm_set64(out, MLX4_STATS_RX_OCT_NOFRM(i), without_framing(k->rx_oct[i], k->rx_frames[i]));
		prm_set64(out, MLX4_STATS_RX_OCT_GOOD(i), k->rx_oct[i]);
		prm_set64(out, MLX4_STATS_RX_FRAMES(i), k->rx_frames[i]);
		prm_set64(out, MLX4_STATS_RX_TAGGED(i), k->rx_tagged[i]);
	}
	prm_set64(out, MLX4_STATS_RX_CONTROL, k->rx_control);
	prm_set64(out, MLX4_STATS_RX_INRANGE_LEN, k->rx_in_range);
	prm_set64(out, MLX4_STATS_RX_OUTRANGE_LEN, k->rx_out_range);
	prm_set64(out, MLX4_STATS_RX_TOO_LONG, k->rx_too_long);
	prm_set64(out, MLX4_STATS_RX_PCS, k->rx_pcs);
}

static void
dump_tx(const struct tpm_port_counters *k, uint8_t *out)
{
	for (uint32_t i = 0; i <= MLX4_STATS_LOOPBACK; i++) {
		for (uint32_t b = 0; b < MLX4_STATS_SIZE_BLOCKS; b++)
			prm_set64(out, MLX4_STATS_TX_SIZE(b, i), k->tx_size[b][i]);
		prm_set64(out, MLX4_STATS_TX_BCAST(i), k->tx_bcast[i]);
		prm_set64(out, MLX4_STATS_TX_MCAST(i), k->tx_mcast[i]);
		prm_set64(out, MLX4_STATS_TX_UCAST(i), k->tx_ucast[i]);
		prm_set64(out, MLX4_STATS_TX_OCT_TOTAL(i), k->tx_oct[i]);
		prm_set64(out, MLX4_STATS_TX_OCT_NOFRM(i), without_framing(k->tx_oct[i], k->tx_frames[i]));
		prm_set64(out, MLX4_STATS_TX_OCT_GOOD(i), k->tx_oct[i]);
		prm_set64(out, MLX4_STATS_TX_FRAMES(i), k->tx_frames[i]);
		prm_set64(out, MLX4_STATS_TX_TAGGED(i), k->tx_tagged[i]);
	}
}

static void
dump_errors(const struct tpm_port_counters *k, uint8_t *out)
{
	uint64_t good = 0;

	for (uint32_t i = 0; i <= MLX4_STATS_NOVLAN; i++)
		good += k->rx_ucast[i] + k->rx_mcast[i] + k->rx_bcast[i];
	prm_set32(out, MLX4_STATS_RX_JABBER, k->rx_jabber);
	prm_set32(out, MLX4_STATS_RX_CRC, k->rx_crc);
	prm_set32(out, MLX4_STATS_RX_RUNT, k->rx_runt);
	prm_set32(out, MLX4_STATS_RX_SHORT, k->rx_short);
	prm_set32(out, MLX4_STATS_RX_DROP, k->rx_drop);
	prm_set32(out, MLX4_STATS_RX_OVERFLOW, k->rx_overflow);
	prm_set32(out, MLX4_STATS_RX_LENGTH, k->rx_length);
	prm_set32(out, MLX4_STATS_RX_TOTAL32, (uint32_t)good);
	prm_set32(out, MLX4_STATS_TX_DROP, k->tx_drop);
}

uint8_t
tpm_cmd_dump_eth_stats(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t known = PORT_MASK | MLX4_STATS_RESET | MLX4_STATS_MOD_FLOW;
	struct tpm_port *p = tpm_cmd_port(m, "DUMP_ETH_STATS", c->in_modifier & PORT_MASK);

	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	if ((c->in_modifier & ~known) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "DUMP_ETH_STATS", p->num, "in_modifier 0x%x, known bits 0x%x",
				c->in_modifier, known);
	if ((c->in_modifier & MLX4_STATS_MOD_FLOW) != 0) {
		tpm_dump_flow(m, p, (c->in_modifier & MLX4_STATS_RESET) != 0, c->out);
		return MLX4_STAT_OK;
	}
	memset(c->out, 0, MLX4_STATS_SIZE);
	dump_rx(&p->c, c->out);
	dump_tx(&p->c, c->out);
	dump_errors(&p->c, c->out);
	if ((c->in_modifier & MLX4_STATS_RESET) != 0)
		memset(&p->c, 0, sizeof(p->c));
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_query_if_stat(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t i = c->in_modifier & ~MLX4_IF_STAT_CLEAR;
	struct tpm_if_counter *k;

	if (i >= TPM_MAX_COUNTERS)
		return tpm_fail(m, BAD_INDEX, CMD_INDEX, "counter", i, "wanted 0..%u", TPM_MAX_COUNTERS - 1);
	k = &m->counter[i];
	memset(c->out, 0, MLX4_IF_STAT_SIZE);
	prm_set(c->out, MLX4_IF_STAT_NUM, 1);
	prm_set64(c->out, MLX4_IF_STAT_RX_FRAMES, k->rx_frames);
	prm_set64(c->out, MLX4_IF_STAT_RX_BYTES, k->rx_bytes);
	prm_set64(c->out, MLX4_IF_STAT_TX_FRAMES, k->tx_frames);
	prm_set64(c->out, MLX4_IF_STAT_TX_BYTES, k->tx_bytes);
	if ((c->in_modifier & MLX4_IF_STAT_CLEAR) != 0)
		memset(k, 0, sizeof(*k));
	return MLX4_STAT_OK;
}

/* Counters of the transport; "rq" of the reference is the responder, "sq" the requester [DP 13.3]. */
#define ST(f) ((uint16_t)offsetof(struct tre_stats, f))
static const struct {
	uint16_t at, from;
} diag[] = {
	{0x00, ST(rs_len_err)},
	{0x04, ST(rq_len_err)},
	{0x08, ST(rs_op_err)},
	{0x0c, ST(rq_op_err)},
	{0x18, ST(rs_prot_err)},
	{0x1c, ST(rq_prot_err)},
	{DIAG_RQ_FLUSH, ST(rs_flush_err)},
	{DIAG_SQ_FLUSH, ST(rq_flush_err)},
	{0x2c, ST(rq_bind_err)},
	{0x34, ST(rq_bad_response)},
	{0x44, ST(rq_remote_invalid)},
	{0x48, ST(rs_remote_invalid)},
	{0x4c, ST(rq_remote_access)},
	{0x50, ST(rs_remote_access)},
	{0x54, ST(rq_remote_op)},
	{0x58, ST(rs_remote_op)},
	{0x5c, ST(rq_retry_exceeded)},
	{0x64, ST(rq_rnr_exceeded)},
	{0x68, ST(rs_rnr_nak)},
	{0x6c, ST(rq_rnr_nak)},
	{0x100, ST(rs_out_of_order)},
	{0x104, ST(rq_out_of_order)},
	{0x118, ST(rs_ud_discarded)},
	{0x120, ST(rs_uc_discarded)},
	{0x130, ST(rs_duplicate)},
	{0x134, ST(rq_timeout)},
};

static void
diag_transport(const struct tp_model *m, unsigned int port, uint8_t *out)
{
	struct tre_stats st;
	uint64_t no_group = 0;

	tpm_roce_stats(m, port, &st);
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		if (port != 0 && port != i + 1)
			continue;
		st.rs_flush_err += m->port[i].flushed_rq;
		st.rq_flush_err += m->port[i].flushed_sq;
		no_group += m->port[i].roce_no_group;
	}
	for (unsigned int i = 0; i < sizeof(diag) / sizeof(diag[0]); i++) {
		uint64_t v;

		memcpy(&v, (const uint8_t *)&st + diag[i].from, sizeof(v));
		prm_set32(out, diag[i].at, (uint32_t)v);
	}
	prm_set32(out, DIAG_RQ_MCAST, (uint32_t)no_group);
}

uint8_t
tpm_cmd_diag_rprt(struct tp_model *m, struct tpm_cmd *c)
{
	uint64_t bad_db = m->violation[TPM_V_DB_PAGE] + m->violation[TPM_V_DB_QPN] + m->violation[TPM_V_DB_CQN] +
			  m->violation[TPM_V_DB_EQN];

	if (c->op_modifier != DIAG_OPM_QUERY)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "DIAG_RPRT", c->opcode, "op_modifier %u, wanted %u",
				c->op_modifier, DIAG_OPM_QUERY);
	if (c->in_modifier != 0 && tpm_cmd_port(m, "DIAG_RPRT", c->in_modifier) == NULL)
		return MLX4_STAT_BAD_INDEX;
	memset(c->out, 0, MLX4_DIAG_SIZE);
	diag_transport(m, c->in_modifier, c->out);
	prm_set32(c->out, DIAG_CQ_OVERFLOW, (uint32_t)m->violation[TPM_V_CQ_OVERRUN]);
	prm_set32(c->out, DIAG_EQ_OVERFLOW, (uint32_t)m->violation[TPM_V_EQ_OVERRUN]);
	prm_set32(c->out, DIAG_BAD_DOORBELLS, (uint32_t)bad_db);
	return MLX4_STAT_OK;
}
