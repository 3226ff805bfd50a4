/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections of guests: commands of the kernel's rdma_cm as calls of tp_rdma.h. */
#ifndef SHARE_CM_H
#define SHARE_CM_H

#include <rdma/rdma_cma_abi.h>

#include "lib/roce/rdma/rdma_guest.h"

#include "share_priv.h"

/* A command. in: its structure, with zeros where the guest's was shorter; more: what came behind it. */
struct share_cm_call {
	struct share_guest *s;
	uint32_t events; /* the channel it came by */
	struct rdma_event_channel *channel;
	void *in;
	uint8_t *more;
	uint32_t num_more;
	void *out; /* zeros */
	uint16_t num_out;
};

/* --- cm.c --- */
/* The id of that number on the channel. 0; ENOENT; EINVAL: it belongs to another channel. */
int share_cm_id(const struct share_cm_call *k, uint32_t handle, struct share_obj **obj);
/* 0; ENOBUFS and a line: the guest does not fetch what it asks for. */
int share_cm_room(const struct share_cm_call *k, const struct share_obj *o);
int share_cm_create(struct share_cm_call *k);
int share_cm_destroy(struct share_cm_call *k);
int share_cm_migrate(struct share_cm_call *k);
int share_cm_join(struct share_cm_call *k);
int share_cm_join_ip(struct share_cm_call *k);
int share_cm_leave(struct share_cm_call *k);
int share_cm_event(struct share_cm_call *k);

/* --- cm_abi.c: between structures of the kernel and of librdmacm --- */
/* Octets of an address by its family; 0: of no family that there is. */
socklen_t share_cm_addr_len(const struct sockaddr *addr);
int share_cm_query(struct share_cm_call *k);
int share_cm_query_route(struct share_cm_call *k);
struct rdma_conn_param share_cm_param(const struct ucma_abi_conn_param *p);
void share_cm_qp_attr(const struct ibv_qp_attr *a, int mask, struct ib_uverbs_qp_attr *out);
/* datagram: which of the event's parameters there are */
void share_cm_event_out(const struct rdma_cm_event *e, bool datagram, struct ucma_abi_event_resp *out);

#endif /* SHARE_CM_H */
