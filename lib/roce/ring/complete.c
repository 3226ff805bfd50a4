/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive requests and completions [DP 5, 6]. */
#include <string.h>

#include "ring.h"

uint32_t
troce_ring_list(const uint8_t *wqe, uint32_t max, struct tre_sge *sge, uint32_t *len)
{
	uint64_t sum = 0;
	uint32_t n;

	for (n = 0; n < max; n++, wqe += MLX4_DS_SIZE) {
		struct mlx4_wqe_data d;

		memcpy(&d, wqe, sizeof(d));
		sge[n] = (struct tre_sge){.addr = rte_be_to_cpu_64(d.addr),
					  .len = rte_be_to_cpu_32(d.byte_count),
					  .lkey = rte_be_to_cpu_32(d.lkey)};
		if (sge[n].lkey == MLX4_LKEY_INVALID && sge[n].len == 0)
			break;
		/* An element of nothing is written with the inline bit [DP 3.6]. */
		sge[n].len &= MLX4_DATA_LEN_MASK;
		sum += sge[n].len;
	}
	*len = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	return n;
}

static uint8_t
syndrome_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_LOC_LEN_ERR: return MLX4_SYND_LOCAL_LENGTH;
	case IBV_WC_LOC_QP_OP_ERR: return MLX4_SYND_LOCAL_QP_OP;
	case IBV_WC_LOC_PROT_ERR: return MLX4_SYND_LOCAL_PROT;
	case IBV_WC_WR_FLUSH_ERR: return MLX4_SYND_WR_FLUSH;
	case IBV_WC_MW_BIND_ERR: return MLX4_SYND_MW_BIND;
	case IBV_WC_BAD_RESP_ERR: return MLX4_SYND_BAD_RESP;
	case IBV_WC_LOC_ACCESS_ERR: return MLX4_SYND_LOCAL_ACCESS;
	case IBV_WC_REM_INV_REQ_ERR: return MLX4_SYND_REMOTE_INVAL_REQ;
	case IBV_WC_REM_ACCESS_ERR: return MLX4_SYND_REMOTE_ACCESS;
	case IBV_WC_REM_OP_ERR: return MLX4_SYND_REMOTE_OP;
	case IBV_WC_RETRY_EXC_ERR: return MLX4_SYND_RETRY_EXC;
	case IBV_WC_RNR_RETRY_EXC_ERR: return MLX4_SYND_RNR_RETRY_EXC;
	default: return MLX4_SYND_REMOTE_ABORTED;
	}
}

static uint8_t
send_opcode(enum ibv_wc_opcode opcode)
{
	static const uint8_t of[] = {
		[IBV_WC_SEND] = MLX4_OP_SEND,           [IBV_WC_RDMA_WRITE] = MLX4_OP_RDMA_WRITE,
		[IBV_WC_RDMA_READ] = MLX4_OP_RDMA_READ, [IBV_WC_COMP_SWAP] = MLX4_OP_ATOMIC_CS,
		[IBV_WC_FETCH_ADD] = MLX4_OP_ATOMIC_FA, [IBV_WC_BIND_MW] = MLX4_OP_BIND_MW,
		[IBV_WC_LOCAL_INV] = MLX4_OP_LOCAL_INV,
	};

	return of[opcode];
}

static uint8_t
recv_opcode(const struct ibv_wc *wc)
{
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return MLX4_CQE_RECV_WRITE_IMM;
	if ((wc->wc_flags & IBV_WC_WITH_INV) != 0)
		return MLX4_CQE_RECV_SEND_INV;
	return (wc->wc_flags & IBV_WC_WITH_IMM) != 0 ? MLX4_CQE_RECV_SEND_IMM : MLX4_CQE_RECV_SEND;
}

void
troce_ring_cqe(struct mlx4_cqe *cqe, const struct ibv_wc *wc, uint16_t index, bool owner)
{
	bool send = (wc->opcode & IBV_WC_RECV) == 0;
	struct mlx4_cqe c = {
		.vlan_my_qpn = rte_cpu_to_be_32(wc->qp_num),
		.g_mlpath_rqpn = rte_cpu_to_be_32(wc->src_qp | ((wc->wc_flags & IBV_WC_GRH) != 0 ? MLX4_CQE_GRH : 0)),
		.sl_vid = rte_cpu_to_be_16((uint16_t)(wc->sl << 13)),
		.byte_cnt = rte_cpu_to_be_32(wc->byte_len),
		.wqe_index = rte_cpu_to_be_16(index),
	};
	uint8_t op = send ? send_opcode(wc->opcode) : recv_opcode(wc);

	c.immed_rss = (wc->wc_flags & IBV_WC_WITH_INV) != 0 ? rte_cpu_to_be_32(wc->invalidated_rkey) : wc->imm_data;
	if (wc->status != IBV_WC_SUCCESS) {
		struct mlx4_err_cqe e = {
			.my_qpn = c.vlan_my_qpn, .wqe_index = c.wqe_index, .syndrome = syndrome_of(wc->status)};

		memcpy(&c, &e, sizeof(c));
		op = MLX4_CQE_ERROR;
	}
	memcpy(cqe, &c, offsetof(struct mlx4_cqe, owner_sr_opcode));
	__atomic_store_n(&cqe->owner_sr_opcode,
			 (uint8_t)(op | (send ? MLX4_CQE_IS_SEND : 0) | (owner ? MLX4_CQE_OWNER : 0)),
			 __ATOMIC_RELEASE);
}
