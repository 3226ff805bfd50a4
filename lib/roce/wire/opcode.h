/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The table of opcodes (IBTA 9.2.1, table 38): what each of the 256 values is, which headers follow the BTH, and where
 * the packet stands in its message. Every value has an entry; undefined ones say so.
 */
#ifndef ROCE_WIRE_OPCODE_H
#define ROCE_WIRE_OPCODE_H

#include <stdint.h>

/* Transport: the high three bits. */
enum ib_transport {
	IB_TR_RC = 0x00,
	IB_TR_UC = 0x20,
	IB_TR_RD = 0x40,
	IB_TR_UD = 0x60,
	IB_TR_CNP = 0x80,
	IB_TR_XRC = 0xa0,
};
#define IB_TR_MASK 0xe0u

/* Operation: the low five. */
enum ib_op {
	IB_OP_SEND_FIRST = 0x00,
	IB_OP_SEND_MIDDLE = 0x01,
	IB_OP_SEND_LAST = 0x02,
	IB_OP_SEND_LAST_IMM = 0x03,
	IB_OP_SEND_ONLY = 0x04,
	IB_OP_SEND_ONLY_IMM = 0x05,
	IB_OP_WRITE_FIRST = 0x06,
	IB_OP_WRITE_MIDDLE = 0x07,
	IB_OP_WRITE_LAST = 0x08,
	IB_OP_WRITE_LAST_IMM = 0x09,
	IB_OP_WRITE_ONLY = 0x0a,
	IB_OP_WRITE_ONLY_IMM = 0x0b,
	IB_OP_READ_REQUEST = 0x0c,
	IB_OP_READ_RESP_FIRST = 0x0d,
	IB_OP_READ_RESP_MIDDLE = 0x0e,
	IB_OP_READ_RESP_LAST = 0x0f,
	IB_OP_READ_RESP_ONLY = 0x10,
	IB_OP_ACK = 0x11,
	IB_OP_ATOMIC_ACK = 0x12,
	IB_OP_CMP_SWAP = 0x13,
	IB_OP_FETCH_ADD = 0x14,
	IB_OP_SEND_LAST_INV = 0x16,
	IB_OP_SEND_ONLY_INV = 0x17,
};
#define IB_OPCODE_CNP 0x81u

/* What an opcode is; flags of struct ib_opcode. */
#define IB_F_VALID 0x0001u
#define IB_F_SEND 0x0002u
#define IB_F_WRITE 0x0004u
#define IB_F_READ 0x0008u
#define IB_F_ATOMIC 0x0010u
#define IB_F_RESPONSE 0x0020u /* goes to the requester */
#define IB_F_START 0x0040u    /* first or only packet of a message */
#define IB_F_END 0x0080u      /* last or only */
#define IB_F_PAYLOAD 0x0100u
#define IB_F_RETH 0x0200u
#define IB_F_AETH 0x0400u
#define IB_F_ATOMIC_ETH 0x0800u
#define IB_F_ATOMIC_ACK 0x1000u
#define IB_F_IMM 0x2000u
#define IB_F_IETH 0x4000u
#define IB_F_DETH 0x8000u

struct ib_opcode {
	const char *name; /* such as "RC SEND First"; of an undefined value "undefined" */
	uint16_t flags;
	uint8_t hlen; /* BTH and what follows it up to the payload, 0: undefined */
	uint8_t reth; /* offset of RETH, AtomicETH or AETH, 0: none; */
	uint8_t aack; /* of AtomicAckETH */
	uint8_t imm;  /* of ImmDt or IETH */
	uint8_t deth; /* of DETH */
};

extern const struct ib_opcode ib_opcodes[256];

#endif /* ROCE_WIRE_OPCODE_H */
