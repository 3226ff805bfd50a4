/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "opcode.h"
#include "wire.h"

#define AT IB_BTH_LEN

#define PLAIN(tr, op, text, f) [(tr) | (op)] = {.name = text, .flags = IB_F_VALID | (f), .hlen = AT}
#define WITH_IMM(tr, op, text, f)                                                                                      \
	[(tr) | (op)] = {.name = text, .flags = IB_F_VALID | IB_F_IMM | (f), .hlen = AT + IB_IMM_LEN, .imm = AT}
#define WITH_IETH(tr, op, text, f)                                                                                     \
	[(tr) | (op)] = {.name = text, .flags = IB_F_VALID | IB_F_IETH | (f), .hlen = AT + IB_IETH_LEN, .imm = AT}
#define WITH_RETH(tr, op, text, f)                                                                                     \
	[(tr) | (op)] = {.name = text, .flags = IB_F_VALID | IB_F_RETH | (f), .hlen = AT + IB_RETH_LEN, .reth = AT}
#define WITH_AETH(op, text, f)                                                                                         \
	[IB_TR_RC | (op)] = {.name = text,                                                                             \
			     .flags = IB_F_VALID | IB_F_AETH | IB_F_RESPONSE | (f),                                    \
			     .hlen = AT + IB_AETH_LEN,                                                                 \
			     .reth = AT}
#define ATOMIC(op, text)                                                                                               \
	[IB_TR_RC | (op)] = {.name = text,                                                                             \
			     .flags = IB_F_VALID | IB_F_ATOMIC | IB_F_ATOMIC_ETH | IB_F_START | IB_F_END,              \
			     .hlen = AT + IB_ATOMIC_ETH_LEN,                                                           \
			     .reth = AT}

/* RC and UC have these in common. */
#define CONNECTED(tr, T)                                                                                               \
	PLAIN(tr, IB_OP_SEND_FIRST, T " SEND First", IB_F_SEND | IB_F_START | IB_F_PAYLOAD),                           \
		PLAIN(tr, IB_OP_SEND_MIDDLE, T " SEND Middle", IB_F_SEND | IB_F_PAYLOAD),                              \
		PLAIN(tr, IB_OP_SEND_LAST, T " SEND Last", IB_F_SEND | IB_F_END | IB_F_PAYLOAD),                       \
		WITH_IMM(tr, IB_OP_SEND_LAST_IMM, T " SEND Last with Immediate", IB_F_SEND | IB_F_END | IB_F_PAYLOAD), \
		PLAIN(tr, IB_OP_SEND_ONLY, T " SEND Only", IB_F_SEND | IB_F_START | IB_F_END | IB_F_PAYLOAD),          \
		WITH_IMM(tr, IB_OP_SEND_ONLY_IMM, T " SEND Only with Immediate",                                       \
			 IB_F_SEND | IB_F_START | IB_F_END | IB_F_PAYLOAD),                                            \
		WITH_RETH(tr, IB_OP_WRITE_FIRST, T " RDMA WRITE First", IB_F_WRITE | IB_F_START | IB_F_PAYLOAD),       \
		PLAIN(tr, IB_OP_WRITE_MIDDLE, T " RDMA WRITE Middle", IB_F_WRITE | IB_F_PAYLOAD),                      \
		PLAIN(tr, IB_OP_WRITE_LAST, T " RDMA WRITE Last", IB_F_WRITE | IB_F_END | IB_F_PAYLOAD),               \
		WITH_IMM(tr, IB_OP_WRITE_LAST_IMM, T " RDMA WRITE Last with Immediate",                                \
			 IB_F_WRITE | IB_F_END | IB_F_PAYLOAD),                                                        \
		WITH_RETH(tr, IB_OP_WRITE_ONLY, T " RDMA WRITE Only",                                                  \
			  IB_F_WRITE | IB_F_START | IB_F_END | IB_F_PAYLOAD),                                          \
		[(tr) | IB_OP_WRITE_ONLY_IMM] = {.name = T " RDMA WRITE Only with Immediate",                          \
						 .flags = IB_F_VALID | IB_F_WRITE | IB_F_START | IB_F_END |            \
							  IB_F_PAYLOAD | IB_F_RETH | IB_F_IMM,                         \
						 .hlen = AT + IB_RETH_LEN + IB_IMM_LEN,                                \
						 .reth = AT,                                                           \
						 .imm = AT + IB_RETH_LEN}

#define UNDEFINED                                                                                                      \
	{                                                                                                              \
		.name = "undefined"                                                                                    \
	}

/*
 * The first lines give every value an answer; later designators replace it. RD and XRC are not spoken: their values stay
 * undefined and are dropped and counted like any other.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
const struct ib_opcode ib_opcodes[256] = {
	[0 ... 255] = UNDEFINED,
	CONNECTED(IB_TR_RC, "RC"),
	WITH_RETH(IB_TR_RC, IB_OP_READ_REQUEST, "RC RDMA READ Request", IB_F_READ | IB_F_START | IB_F_END),
	WITH_AETH(IB_OP_READ_RESP_FIRST, "RC RDMA READ Response First", IB_F_READ | IB_F_START | IB_F_PAYLOAD),
	PLAIN(IB_TR_RC, IB_OP_READ_RESP_MIDDLE, "RC RDMA READ Response Middle",
	      IB_F_READ | IB_F_RESPONSE | IB_F_PAYLOAD),
	WITH_AETH(IB_OP_READ_RESP_LAST, "RC RDMA READ Response Last", IB_F_READ | IB_F_END | IB_F_PAYLOAD),
	WITH_AETH(IB_OP_READ_RESP_ONLY, "RC RDMA READ Response Only", IB_F_READ | IB_F_START | IB_F_END | IB_F_PAYLOAD),
	WITH_AETH(IB_OP_ACK, "RC Acknowledge", IB_F_START | IB_F_END),
	[IB_TR_RC | IB_OP_ATOMIC_ACK] = {.name = "RC ATOMIC Acknowledge",
					 .flags = IB_F_VALID | IB_F_ATOMIC | IB_F_RESPONSE | IB_F_AETH |
						  IB_F_ATOMIC_ACK | IB_F_START | IB_F_END,
					 .hlen = AT + IB_AETH_LEN + IB_ATOMIC_ACK_LEN,
					 .reth = AT,
					 .aack = AT + IB_AETH_LEN},
	ATOMIC(IB_OP_CMP_SWAP, "RC Compare and Swap"),
	ATOMIC(IB_OP_FETCH_ADD, "RC Fetch and Add"),
	WITH_IETH(IB_TR_RC, IB_OP_SEND_LAST_INV, "RC SEND Last with Invalidate", IB_F_SEND | IB_F_END | IB_F_PAYLOAD),
	WITH_IETH(IB_TR_RC, IB_OP_SEND_ONLY_INV, "RC SEND Only with Invalidate",
		  IB_F_SEND | IB_F_START | IB_F_END | IB_F_PAYLOAD),
	CONNECTED(IB_TR_UC, "UC"),
	[IB_TR_UD |
		IB_OP_SEND_ONLY] = {.name = "UD SEND Only",
				    .flags = IB_F_VALID | IB_F_SEND | IB_F_START | IB_F_END | IB_F_PAYLOAD | IB_F_DETH,
				    .hlen = AT + IB_DETH_LEN,
				    .deth = AT},
	[IB_TR_UD | IB_OP_SEND_ONLY_IMM] = {.name = "UD SEND Only with Immediate",
					    .flags = IB_F_VALID | IB_F_SEND | IB_F_START | IB_F_END | IB_F_PAYLOAD |
						     IB_F_DETH | IB_F_IMM,
					    .hlen = AT + IB_DETH_LEN + IB_IMM_LEN,
					    .imm = AT + IB_DETH_LEN,
					    .deth = AT},
	[IB_OPCODE_CNP] = {.name = "CNP", .flags = IB_F_VALID | IB_F_START | IB_F_END | IB_F_PAYLOAD, .hlen = AT},
};
#pragma GCC diagnostic pop
