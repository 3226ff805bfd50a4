/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Who executes a command, in which state of the card [CP 3.1]. */
#include "cmd.h"

#define FW_HCA (TPM_IN_FW | TPM_IN_HCA)
#define ANY (TPM_IN_RESET | FW_HCA)
#define H(name, states, fn)                                                                                            \
	{                                                                                                              \
		MLX4_CMD_##name, states, tpm_cmd_##fn                                                                  \
	}

static const struct tpm_cmd_handler handlers[] = {
	H(QUERY_FW, ANY, query_fw),
	H(MAP_FA, TPM_IN_RESET, map_fa),
	H(UNMAP_FA, TPM_IN_RESET | TPM_IN_FW, unmap_fa),
	H(RUN_FW, TPM_IN_RESET, run_fw),
	H(MOD_STAT_CFG, FW_HCA, mod_stat_cfg),
	H(QUERY_DEV_CAP, FW_HCA, query_dev_cap),
	H(QUERY_ADAPTER, FW_HCA, query_adapter),
	H(SET_ICM_SIZE, TPM_IN_FW, set_icm_size),
	H(MAP_ICM_AUX, TPM_IN_FW, map_icm_aux),
	H(UNMAP_ICM_AUX, TPM_IN_FW, unmap_icm_aux),
	H(MAP_ICM, FW_HCA, map_icm),
	H(UNMAP_ICM, FW_HCA, unmap_icm),
	H(INIT_HCA, TPM_IN_FW, init_hca),
	H(QUERY_HCA, FW_HCA, query_hca),
	H(CLOSE_HCA, TPM_IN_HCA, close_hca),
	H(QUERY_FUNC, TPM_IN_HCA, query_func),
	H(CONFIG_DEV, FW_HCA, config_dev),
	H(NOP, FW_HCA, nop),
	H(HW_HEALTH_CHECK, ANY, health_check),
	H(SW2HW_MPT, TPM_IN_HCA, sw2hw_mpt),
	H(QUERY_MPT, TPM_IN_HCA, query_mpt),
	H(HW2SW_MPT, TPM_IN_HCA, hw2sw_mpt),
	H(WRITE_MTT, TPM_IN_HCA, write_mtt),
	H(SYNC_TPT, TPM_IN_HCA, sync_tpt),
	H(MAP_EQ, TPM_IN_HCA, map_eq),
	H(SW2HW_EQ, TPM_IN_HCA, sw2hw_eq),
	H(HW2SW_EQ, TPM_IN_HCA, hw2sw_eq),
	H(QUERY_EQ, TPM_IN_HCA, query_eq),
	H(SW2HW_CQ, TPM_IN_HCA, sw2hw_cq),
	H(HW2SW_CQ, TPM_IN_HCA, hw2sw_cq),
	H(QUERY_CQ, TPM_IN_HCA, query_cq),
	H(MODIFY_CQ, TPM_IN_HCA, modify_cq),
	H(RST2INIT_QP, TPM_IN_HCA, qp_modify),
	H(INIT2INIT_QP, TPM_IN_HCA, qp_modify),
	H(INIT2RTR_QP, TPM_IN_HCA, qp_modify),
	H(RTR2RTS_QP, TPM_IN_HCA, qp_modify),
	H(RTS2RTS_QP, TPM_IN_HCA, qp_modify),
	H(SQERR2RTS_QP, TPM_IN_HCA, qp_modify),
	H(2ERR_QP, TPM_IN_HCA, qp_modify),
	H(RTS2SQD_QP, TPM_IN_HCA, qp_modify),
	H(SQD2SQD_QP, TPM_IN_HCA, qp_modify),
	H(SQD2RTS_QP, TPM_IN_HCA, qp_modify),
	H(2RST_QP, TPM_IN_HCA, qp_2rst),
	H(QUERY_QP, TPM_IN_HCA, query_qp),
	H(UPDATE_QP, TPM_IN_HCA, update_qp),
	H(CONF_SPECIAL_QP, TPM_IN_HCA, conf_special_qp),
	H(SW2HW_SRQ, TPM_IN_HCA, sw2hw_srq),
	H(HW2SW_SRQ, TPM_IN_HCA, hw2sw_srq),
	H(QUERY_SRQ, TPM_IN_HCA, query_srq),
	H(ACCESS_REG, FW_HCA, access_reg),
	H(ARM_SRQ, TPM_IN_HCA, arm_srq),
	H(QUERY_PORT, FW_HCA, query_port),
	H(INIT_PORT, TPM_IN_HCA, init_port),
	H(CLOSE_PORT, TPM_IN_HCA, close_port),
	H(SET_PORT, TPM_IN_HCA, set_port),
	H(SENSE_PORT, FW_HCA, sense_port),
	H(SET_VLAN_FLTR, TPM_IN_HCA, set_vlan_fltr),
	H(SET_MCAST_FLTR, TPM_IN_HCA, set_mcast_fltr),
	H(DUMP_ETH_STATS, TPM_IN_HCA, dump_eth_stats),
	H(QUERY_IF_STAT, TPM_IN_HCA, query_if_stat),
	H(DIAG_RPRT, TPM_IN_HCA, diag_rprt),
	H(MAD_IFC, TPM_IN_HCA, mad_ifc),
	H(SET_NODE, TPM_IN_HCA, set_node),
	H(READ_MCG, TPM_IN_HCA, read_mcg),
	H(WRITE_MCG, TPM_IN_HCA, write_mcg),
	H(MGID_HASH, TPM_IN_HCA, mgid_hash),
	H(QP_FLOW_STEERING_ATTACH, TPM_IN_HCA, flow_attach),
	H(QP_FLOW_STEERING_DETACH, TPM_IN_HCA, flow_detach),
	H(CONGESTION_CTRL, TPM_IN_HCA, congestion_ctrl),
};

const struct tpm_cmd_handler *
tpm_cmd_handler(uint16_t opcode)
{
	for (unsigned int i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (handlers[i].opcode == opcode)
			return &handlers[i];
	return NULL;
}
