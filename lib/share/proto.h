/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Between a process that has ports and its guests: what goes over the socket. A connection is one open device, as a kernel's
 * uverbs file is, or all event channels of a program, files of a kernel's rdma_cm. The guest asks, the owner answers, one at a
 * time; each way a message of the same fixed size (SOCK_SEQPACKET), with descriptors where they are named. Events come by sockets
 * of their own.
 *
 * Objects have numbers, which the owner gives. A guest can name its own alone.
 */
#ifndef SHARE_PROTO_H
#define SHARE_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "tp_share.h"

#define SHARE_VERSION 4u
#define SHARE_SOCKET TP_SHARE_PATH /* where one side listens and the other calls, unless told otherwise */
#define SHARE_ENV "TRIPLANE_SHARE" /* names another one */
#define SHARE_DGRAM 48u

enum share_op {
	SHARE_HELLO, /* the first; and the device at a place in the list */
	SHARE_OPEN,  /* descriptors: of doorbell pages, of asynchronous events */
	SHARE_QUERY_PORT,
	SHARE_QUERY_GID,
	SHARE_QUERY_PKEY,
	SHARE_ALLOC_PD,
	SHARE_DEALLOC_PD,
	SHARE_REG_MR, /* descriptors: of the memory, one a piece */
	SHARE_DEREG_MR,
	SHARE_ALLOC_MW,
	SHARE_DEALLOC_MW,
	SHARE_CREATE_CHANNEL, /* descriptor: of its events */
	SHARE_DESTROY_CHANNEL,
	SHARE_CREATE_CQ,
	SHARE_MODIFY_CQ,
	SHARE_DESTROY_CQ,
	SHARE_CREATE_SRQ,
	SHARE_MODIFY_SRQ,
	SHARE_QUERY_SRQ,
	SHARE_DESTROY_SRQ,
	SHARE_CREATE_QP,
	SHARE_MODIFY_QP,
	SHARE_QUERY_QP,
	SHARE_DESTROY_QP,
	SHARE_CREATE_AH,
	SHARE_DESTROY_AH,
	SHARE_INIT_AH,
	SHARE_ATTACH_MCAST,
	SHARE_DETACH_MCAST,
	SHARE_CM_OPEN, /* an event channel; descriptor: readable while there is an event */
	SHARE_CM_CLOSE,
	SHARE_CM_COMMAND,
	SHARE_REREG_MR, /* descriptors: as of SHARE_REG_MR, when there is other memory */
	SHARE_CREATE_FLOW,
	SHARE_DESTROY_FLOW,
	SHARE_RESIZE_CQ,
	SHARE_COUNTERS, /* of a device by its name, which need not be open */
	SHARE_RESOLVE,
	SHARE_OWN_VECTOR, /* descriptor: an eventfd, readable after completions of queues that were made for SHARE_VECTOR_OWN */
	SHARE_OPS
};

/* Where an object's rings lie: in memory that the owner gave; fd says that its descriptor comes with this answer. */
struct share_mem {
	uint32_t chunk, fd;
	uint64_t chunk_len, off;
};

struct share_hello {
	uint32_t version, index; /* of the list of devices */
	char name[IBV_SYSFS_NAME_MAX];
	uint32_t infiniband;
	__be64 guid;
	uint32_t ibdev; /* the device's own number, which stays */
};

struct share_open {
	char name[IBV_SYSFS_NAME_MAX];
	uint64_t uar_len; /* of the file with pages of doorbells */
	uint32_t qp_numbers, num_comp_vectors, infiniband;
	uint32_t max_tso; /* octets of a large send of raw packets, 0: there is none */
	struct ibv_device_attr attr;
	char board_id[32]; /* empty: it has none */
};

struct share_gid {
	uint32_t index;
	struct ibv_gid_entry entry;
};

/* A region of pieces of files that lie one behind the other from addr on, in whole pages. */
#define SHARE_PIECES 16u
struct share_piece {
	uint64_t off, len; /* in the file of its descriptor */
};
struct share_mr {
	uint32_t pd, key, num, access;
	uint64_t addr, len, iova;
	uint64_t flags; /* of SHARE_REREG_MR: IBV_REREG_MR_CHANGE_*, which say what of these is meant */
	struct share_piece piece[SHARE_PIECES];
};

#define SHARE_VECTOR_OWN INT32_MAX
struct share_cq {
	int32_t cqe;
	uint32_t channel; /* 0: none */
	int32_t vector;   /* SHARE_VECTOR_OWN: that of this connection, without a channel */
	uint32_t cqn, uar, entries, dbrec;
	struct share_mem mem;
	uint16_t count, period; /* of SHARE_MODIFY_CQ */
};

struct share_srq {
	uint32_t pd, mask;
	struct ibv_srq_attr attr;
	uint32_t srqn, entries, dbrec;
	uint16_t sges;
	uint8_t lg_stride;
	struct share_mem mem;
};

struct share_qp {
	uint32_t pd, send_cq, recv_cq, srq; /* srq 0: none */
	uint32_t type, sq_sig_all;
	struct ibv_qp_cap cap;
	uint32_t qpn, uar, sq, rq, dbrec, sq_entries, rq_entries, max_inline;
	uint16_t sq_sges, rq_sges;
	uint8_t lg_sq_stride, lg_rq_stride;
	uint16_t mtu; /* of the port: raw packets are that long */
	uint16_t max_tso_header;
	struct share_mem mem;
};

/* A steering rule with its specifications behind it, as verbs have them. */
#define SHARE_FLOW_MAX 256u
struct share_flow {
	uint32_t qp, len;
	uint8_t attr[SHARE_FLOW_MAX];
};

/* mask: of struct ibv_qp_attr; state: where the guest has seen that the queue pair is. */
struct share_qp_attr {
	uint32_t mask, state;
	struct ibv_qp_attr attr;
	struct ibv_qp_cap cap; /* of the answer to SHARE_QUERY_QP */
	uint32_t sq_sig_all;
};

struct share_ah {
	uint32_t pd;
	struct ibv_ah_attr attr;
	uint8_t dgram[SHARE_DGRAM];
};

/* The way back to whom a datagram came from. */
struct share_from_wc {
	uint32_t port;
	struct ibv_wc wc;
	struct ibv_grh grh;
	struct ibv_ah_attr attr;
};

/*
 * The MAC towards a destination, without waiting. state: 0: mac is it; EINPROGRESS: it was asked for; EHOSTUNREACH: it does not
 * answer; ENETUNREACH: neither a network of the port's nor a router leads there.
 */
struct share_resolve {
	uint32_t sgid_index, state;
	union ibv_gid dgid;
	uint8_t mac[6];
};

struct share_mcast {
	union ibv_gid gid;
	uint16_t lid;
};

/*
 * A command of <rdma/rdma_user_cm.h>, header and structure, of len octets, to the event channel that the message names. Pointers
 * in it mean nothing here: what one points to, an option's value, comes behind the structure; a descriptor is the number of its
 * channel. The answer is what the kernel would write, at most out octets; there are len of them.
 */
#define SHARE_CM_DATA 512u
struct share_cm {
	uint32_t cmd;
	uint16_t len, out;
	uint8_t data[SHARE_CM_DATA];
};

/* Counters of a port from the first-th on, num of them, with names as files below ports/1 of a kernel's device. None: that is all. */
#define SHARE_COUNTERS_NUM 8u
#define SHARE_COUNTER_NAME 48u
struct share_counters {
	char device[IBV_SYSFS_NAME_MAX];
	uint32_t first, num;
	struct {
		char name[SHARE_COUNTER_NAME];
		uint64_t value;
	} one[SHARE_COUNTERS_NUM];
};

/* handle: of the object that is meant, or that was made. err: 0 or a positive errno, of answers. */
struct share_msg {
	uint32_t op, handle;
	int32_t err;
	uint32_t pad;
	union {
		struct share_hello hello;
		struct share_open open;
		struct ibv_port_attr port;
		struct share_gid gid;
		struct {
			uint32_t index, pkey;
		} pkey;
		struct share_mr mr;
		struct {
			uint32_t pd, type, key;
		} mw;
		struct share_cq cq;
		struct share_srq srq;
		struct share_qp qp;
		struct share_qp_attr qp_attr;
		struct share_ah ah;
		struct share_from_wc from_wc;
		struct share_mcast mcast;
		struct share_cm cm;
		struct share_flow flow;
		struct share_counters counters;
		struct share_resolve resolve;
	};
};

/* What each version has in its place, whatever the length of its messages: SHARE_HELLO, err, and the version. */
#define SHARE_HELLO_LEN offsetof(struct share_msg, hello.index)

/* Of a channel: a completion queue that was armed has something. */
struct share_cq_event {
	uint32_t handle;
};
struct share_async {
	uint32_t type, handle; /* handle 0: the port's */
};

#endif /* SHARE_PROTO_H */
