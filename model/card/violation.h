/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The rules of the programming interface that the model checks, with stable names. */
#ifndef MODEL_CARD_VIOLATION_H
#define MODEL_CARD_VIOLATION_H

/* X(enum, "stable-name", "what the rule asks for") */
#define TPM_VIOLATIONS(X)                                                                                              \
	X(BAR_RANGE, "bar-range", "register accesses stay inside the BAR")                                             \
	X(HCR_BUSY, "hcr-busy", "the HCR is written only while no command is executing")                               \
	X(HCR_RSVD, "hcr-reserved", "reserved bits of the HCR control dword are zero")                                 \
	X(CMD_UNKNOWN, "cmd-unknown", "the opcode is one that the firmware knows")                                     \
	X(CMD_STATE, "cmd-state", "the command is legal in the current bring-up state")                                \
	X(CMD_PARAM, "cmd-param", "command parameters are well formed")                                                \
	X(CMD_INDEX, "cmd-index", "object numbers are inside the table and not reserved")                              \
	X(CMD_RES_STATE, "cmd-resource-state", "the object is owned by the side that the command needs")               \
	X(CMD_BUSY, "cmd-resource-busy", "an object is taken back only when nothing uses it")                          \
	X(CMD_QP_STATE, "cmd-qp-state", "the QP is in the state that the transition needs")                            \
	X(CMD_LIMIT, "cmd-limit", "sizes stay inside the limits of QUERY_DEV_CAP")                                     \
	X(CMD_EVENT, "cmd-event", "a command that completes by event has an EQ for it")                                \
	X(MBOX_ALIGN, "mailbox-align", "mailboxes are 4 KiB aligned")                                                  \
	X(MAP_ALIGN, "map-align", "chunks given by MAP_* are aligned to their size")                                   \
	X(CTX_RSVD, "context-reserved", "reserved fields of a context are zero")                                       \
	X(DMA_UNMAPPED, "dma-unmapped", "DMA goes only to windows that are open")                                      \
	X(ICM_UNMAPPED, "icm-unmapped", "contexts and translation tables lie in mapped ICM")                           \
	X(ICM_OVERLAP, "icm-overlap", "an aligned ICM chunk lies inside the ICM address space")                        \
	X(MTT_ABSENT, "mtt-absent", "an MTT entry that is used is present")                                            \
	X(DB_PAGE, "doorbell-page", "a doorbell is rung on the UAR page of the queue's context")                       \
	X(DB_QPN, "doorbell-qpn", "a send doorbell names a QP that exists")                                            \
	X(DB_QP_STATE, "doorbell-qp-state", "a send doorbell names a QP in RTS")                                       \
	X(DB_RSVD, "doorbell-reserved", "reserved bits of doorbells are zero")                                         \
	X(DB_CQN, "doorbell-cqn", "a CQ arm names a CQ that exists")                                                   \
	X(DB_EQN, "doorbell-eqn", "an EQ doorbell names an EQ that exists")                                            \
	X(DB_EQ_CI, "doorbell-eq-ci", "the EQ consumer index moves forward and not past the producer")                 \
	X(DBREC_CQ, "dbrec-cq", "the CQ consumer index moves forward and not past the producer")                       \
	X(DBREC_RQ, "dbrec-rq", "no more receive WQEs are posted than the ring holds")                                 \
	X(WQE_OPCODE, "wqe-opcode", "the opcode is one that the QP's service has")                                     \
	X(WQE_SIZE, "wqe-size", "a WQE has 1 to 63 units of 16 bytes and fits its ring")                               \
	X(WQE_RSVD, "wqe-reserved", "reserved bits of WQE segments are zero")                                          \
	X(WQE_OWNER, "wqe-owner", "a doorbell covers WQEs whose owner bit is of this pass")                            \
	X(WQE_STAMP, "wqe-stamp", "blocks beyond the last WQE do not look posted")                                     \
	X(WQE_CQE, "wqe-cqe-bits", "the completion field of a WQE is 0 or 3")                                          \
	X(WQE_LKEY, "wqe-lkey", "keys of data segments are valid for the QP's PD")                                     \
	X(WQE_BOUNDS, "wqe-bounds", "data segments stay inside their memory region")                                   \
	X(WQE_ACCESS, "wqe-access", "the memory region allows the access")                                             \
	X(WQE_ZERO_LEN, "wqe-zero-length", "a data segment is not empty (0 means 2^31 bytes)")                         \
	X(WQE_INLINE, "wqe-inline", "an inline segment stays inside its 64-byte block and its WQE")                    \
	X(WQE_INLINE_MIN, "wqe-inline-min", "an inline Ethernet frame has at least 17 bytes")                          \
	X(WQE_LSO, "wqe-lso", "an LSO WQE has headers, MSS, bit 6 and at least one data segment")                      \
	X(WQE_LENGTH, "wqe-length", "a frame is at least 14 bytes and fits the port")                                  \
	X(WQE_CSUM, "wqe-csum", "checksum insertion is asked for frames that the parser knows")                        \
	X(WQE_ROCE, "wqe-roce", "a packet of QP1 on an Ethernet port has RoCE headers")                                \
	X(WQE_LRH, "wqe-lrh", "a packet of QP0 or QP1 on an InfiniBand port has an LRH that says its length and goal") \
	X(WQE_VLAN_BF, "wqe-vlan-bf", "VLAN insertion is not combined with BlueFlame")                                 \
	X(BF_COPY, "bf-copy", "a BlueFlame copy equals the WQE in the ring and names its QP")                          \
	X(RQ_SCATTER, "rq-scatter", "a receive scatter list has a buffer and ends properly")                           \
	X(CQ_OVERRUN, "cq-overrun", "a CQ has room for every completion")                                              \
	X(EQ_OVERRUN, "eq-overrun", "an EQ has room for every event")                                                  \
	X(RSS_RANGE, "rss-range", "an RSS parent's rings exist and are aligned to the table")                          \
	X(STEER_QPN, "steer-qpn", "a steering rule names a QP that exists")                                            \
	X(STEER_SPEC, "steer-spec", "steering specifications are known and well formed")                               \
	X(SCHED_SHARES, "scheduler-shares", "the shares of the classes in the ETS group add up to 100")                \
	X(DELAY_DROP_FW, "delay-drop-firmware", "delay drop is asked of firmware from 2.31.5050 on")                   \
	X(RESET_BUSY, "reset-semaphore", "a reset is done by the holder of the reset semaphore")

enum tpm_violation {
#define TPM_V_ENUM(e, name, text) TPM_V_##e,
	TPM_VIOLATIONS(TPM_V_ENUM)
#undef TPM_V_ENUM
		TPM_V_COUNT
};

#endif /* MODEL_CARD_VIOLATION_H */
