/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The rules of the programming interface that the model checks, with stable names. */
#ifndef MODEL_CARD_VIOLATION_H
#define MODEL_CARD_VIOLATION_H

/*
 * X(enum, class, "stable-name", "what the rule asks for"). Who breaks a VIOLATION gets from a card an error, silence or wrong
 * data; ADVICE is what the reference asks for and cards do not: shipping drivers go without.
 */
#define TPM_VIOLATIONS(X)                                                                                              \
	X(BAR_RANGE, VIOLATION, "bar-range", "register accesses stay inside the BAR")                                  \
	X(HCR_BUSY, VIOLATION, "hcr-busy", "the HCR is written only while no command is executing")                    \
	X(HCR_RSVD, VIOLATION, "hcr-reserved", "reserved bits of the HCR control dword are zero")                      \
	X(CMD_UNKNOWN, VIOLATION, "cmd-unknown", "the opcode is one that the firmware knows")                          \
	X(CMD_STATE, VIOLATION, "cmd-state", "the command is legal in the current bring-up state")                     \
	X(CMD_PARAM, VIOLATION, "cmd-param", "command parameters are well formed")                                     \
	X(CMD_INDEX, VIOLATION, "cmd-index", "object numbers are inside the table and not reserved")                   \
	X(CMD_RES_STATE, VIOLATION, "cmd-resource-state", "the object is owned by the side that the command needs")    \
	X(CMD_BUSY, VIOLATION, "cmd-resource-busy", "an object is taken back only when nothing uses it")               \
	X(CMD_QP_STATE, VIOLATION, "cmd-qp-state", "the QP is in the state that the transition needs")                 \
	X(CMD_LIMIT, VIOLATION, "cmd-limit", "sizes stay inside the limits of QUERY_DEV_CAP")                          \
	X(CMD_EVENT, VIOLATION, "cmd-event", "a command that completes by event has an EQ for it")                     \
	X(MBOX_ALIGN, VIOLATION, "mailbox-align", "mailboxes are 4 KiB aligned")                                       \
	X(MAP_ALIGN, VIOLATION, "map-align", "chunks given by MAP_* are aligned to their size")                        \
	X(CTX_RSVD, VIOLATION, "context-reserved", "reserved fields of a context are zero")                            \
	X(DMA_UNMAPPED, VIOLATION, "dma-unmapped", "DMA goes only to windows that are open")                           \
	X(ICM_UNMAPPED, VIOLATION, "icm-unmapped", "contexts and translation tables lie in mapped ICM")                \
	X(ICM_OVERLAP, VIOLATION, "icm-overlap", "an aligned ICM chunk lies inside the ICM address space")             \
	X(MTT_ABSENT, VIOLATION, "mtt-absent", "an MTT entry that is used is present")                                 \
	X(DB_PAGE, VIOLATION, "doorbell-page", "a doorbell is rung on the UAR page of the queue's context")            \
	X(DB_QPN, VIOLATION, "doorbell-qpn", "a send doorbell names a QP that exists")                                 \
	X(DB_QP_STATE, VIOLATION, "doorbell-qp-state", "a send doorbell names a QP in RTS")                            \
	X(DB_RSVD, VIOLATION, "doorbell-reserved", "reserved bits of doorbells are zero")                              \
	X(DB_CQN, VIOLATION, "doorbell-cqn", "a CQ arm names a CQ that exists")                                        \
	X(DB_EQN, VIOLATION, "doorbell-eqn", "an EQ doorbell names an EQ that exists")                                 \
	X(DB_EQ_CI, VIOLATION, "doorbell-eq-ci", "the EQ consumer index moves forward and not past the producer")      \
	X(DBREC_CQ, VIOLATION, "dbrec-cq", "the CQ consumer index moves forward and not past the producer")            \
	X(DBREC_RQ, VIOLATION, "dbrec-rq", "no more receive WQEs are posted than the ring holds")                      \
	X(WQE_OPCODE, VIOLATION, "wqe-opcode", "the opcode is one that the QP's service has")                          \
	X(WQE_SIZE, VIOLATION, "wqe-size", "a WQE has 1 to 63 units of 16 bytes and fits its ring")                    \
	X(WQE_RSVD, VIOLATION, "wqe-reserved", "reserved bits of WQE segments are zero")                               \
	X(WQE_OWNER, VIOLATION, "wqe-owner", "a doorbell covers WQEs whose owner bit is of this pass")                 \
	X(WQE_STAMP, VIOLATION, "wqe-stamp", "blocks beyond the last WQE do not look posted")                          \
	X(WQE_CQE, VIOLATION, "wqe-cqe-bits", "the completion field of a WQE is 0 or 3")                               \
	X(WQE_LKEY, VIOLATION, "wqe-lkey", "keys of data segments are valid for the QP's PD")                          \
	X(WQE_BOUNDS, VIOLATION, "wqe-bounds", "data segments stay inside their memory region")                        \
	X(WQE_ACCESS, VIOLATION, "wqe-access", "the memory region allows the access")                                  \
	X(WQE_ZERO_LEN, VIOLATION, "wqe-zero-length", "a data segment is not empty (0 means 2^31 bytes)")              \
	X(WQE_INLINE, VIOLATION, "wqe-inline", "an inline segment stays inside its 64-byte block and its WQE")         \
	X(WQE_INLINE_MIN, VIOLATION, "wqe-inline-min", "an inline Ethernet frame has at least 17 bytes")               \
	X(WQE_LSO, VIOLATION, "wqe-lso", "an LSO WQE has headers, MSS, bit 6 and at least one data segment")           \
	X(WQE_LENGTH, VIOLATION, "wqe-length", "a frame is at least 14 bytes and fits the port")                       \
	X(WQE_CSUM, VIOLATION, "wqe-csum", "checksum insertion is asked for frames that the parser knows")             \
	X(WQE_ROCE, VIOLATION, "wqe-roce", "a packet of QP1 on an Ethernet port has RoCE headers")                     \
	X(WQE_LRH, VIOLATION, "wqe-lrh",                                                                               \
	  "a packet of QP0 or QP1 on an InfiniBand port has an LRH that says its length and goal")                     \
	X(WQE_VLAN_BF, VIOLATION, "wqe-vlan-bf", "VLAN insertion is not combined with BlueFlame")                      \
	X(BF_COPY, VIOLATION, "bf-copy", "a BlueFlame copy equals the WQE in the ring and names its QP")               \
	X(RQ_SCATTER, VIOLATION, "rq-scatter", "a receive scatter list has a buffer and ends properly")                \
	X(CQ_OVERRUN, VIOLATION, "cq-overrun", "a CQ has room for every completion")                                   \
	X(EQ_OVERRUN, VIOLATION, "eq-overrun", "an EQ has room for every event")                                       \
	X(RSS_RANGE, VIOLATION, "rss-range", "an RSS parent's rings exist and are aligned to the table")               \
	X(STEER_QPN, VIOLATION, "steer-qpn", "a steering rule names a QP that exists")                                 \
	X(STEER_SPEC, VIOLATION, "steer-spec", "steering specifications are known and well formed")                    \
	X(SCHED_SHARES, VIOLATION, "scheduler-shares", "the shares of the classes in the ETS group add up to 100")     \
	X(DELAY_DROP_FW, VIOLATION, "delay-drop-firmware", "delay drop is asked of firmware from 2.31.5050 on")        \
	X(RESET_BUSY, ADVICE, "reset-semaphore", "a reset is done by the holder of the reset semaphore")               \
	X(MCG_ENTRY, ADVICE, "steering-entry",                                                                         \
	  "an entry of the steering table has at least 128 bytes, as Linux gives it")                                  \
	X(QP_NUMBER, ADVICE, "qp-number", "a QP number has no bits above those of its place in the table")             \
	X(PATH_LINK, ADVICE, "path-link", "the path of a raw Ethernet queue pair names an Ethernet link")              \
	X(PKEY_TABLE, ADVICE, "pkey-table", "a port keeps a whole block of P_Keys")                                    \
	X(WQE_CRC, ADVICE, "wqe-crc", "a packet that software built has a segment of its own for the CRC")             \
	X(OUTBOX, ADVICE, "command-outbox", "a command whose answer is not wanted says so in its op_modifier")         \
	X(EQ_MASK, ADVICE, "event-mask", "MAP_EQ leaves out completions, whose EQ is in the context of their CQ")      \
	X(WQE_STAMP_DATA, ADVICE, "wqe-stamp-data", "blocks of data beyond the last WQE do not look ready")

enum tpm_violation {
#define TPM_V_ENUM(e, class, name, text) TPM_V_##e,
	TPM_VIOLATIONS(TPM_V_ENUM)
#undef TPM_V_ENUM
		TPM_V_COUNT
};

#endif /* MODEL_CARD_VIOLATION_H */
