/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Between a process that has InfiniBand ports and programs that would use libibumad: a Unix socket of packets. A program asks
 * on its connection and gets one answer a question; opening a port brings a second connection, a descriptor in the answer, which
 * carries datagrams only: struct ib_user_mad of <infiniband/umad.h> with what belongs to it, in both directions. Both ends are
 * on one machine and of one release: host order, no padding.
 */
#ifndef MAD_UMAD_UMAD_PROTO_H
#define MAD_UMAD_UMAD_PROTO_H

#include <stdint.h>

#include "tp_umad.h"

#define UMAD_PROTO_VERSION 1u
#define UMAD_PROTO_PORTS 16u
#define UMAD_PROTO_HEADER 64u        /* sizeof(struct ib_user_mad) */
#define UMAD_PROTO_BUFFER (8u << 20) /* of a connection, where the system allows it */
#define UMAD_PROTO_ENV "TP_UMAD_SOCKET"
#define UMAD_PROTO_ISSM "%s.issm-%s-%u" /* socket, adapter, port: a FIFO; whoever has it open is a subnet manager */

enum umad_proto_op { UMAD_OP_PORTS = 1, UMAD_OP_OPEN, UMAD_OP_REGISTER, UMAD_OP_UNREGISTER };

struct umad_proto_request {
	uint32_t version, op;
	char ca[TP_UMAD_NAME]; /* OPEN */
	uint32_t port;
	uint32_t agent; /* UNREGISTER */
	/* REGISTER: as in struct umad_reg_attr */
	uint8_t mgmt_class, class_version, rmpp_version, pad;
	uint32_t flags, oui;
	uint64_t methods[2];
};

struct umad_proto_answer {
	int32_t err;    /* 0 or a negative errno */
	uint32_t agent; /* REGISTER */
	uint32_t num_ports, pad;
	struct tp_umad_desc port[UMAD_PROTO_PORTS];
};

#endif /* MAD_UMAD_UMAD_PROTO_H */
