/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ids of other processes, whose side of librdmacm asks for what an application here reads in the id itself. */
#ifndef ROCE_RDMA_RDMA_GUEST_H
#define ROCE_RDMA_RDMA_GUEST_H

#include "tp_rdma.h"

/* Where an id stands. device is empty, and what follows it zeros, while the id has no port. */
struct trd_view {
	struct sockaddr_storage src, dst; /* family 0: none */
	char device[IBV_SYSFS_NAME_MAX];
	__be64 node_guid;
	uint8_t port_num;
	union ibv_gid sgid, dgid;
	struct ibv_sa_path_rec path; /* num_paths 0: not known yet */
	unsigned int num_paths;
};
/* A port may go meanwhile. */
void trd_view(struct rdma_cm_id *id, struct trd_view *view);

/* The next event; EAGAIN: there is none. Never waits, whatever the flags of the channel's descriptor are. */
int trd_event_now(struct rdma_event_channel *channel, struct rdma_cm_event **event);

/* tp_rdma_reject() for a reason of IBTA 12.6.7.2. Datagrams have none: their status is the same. */
int trd_reject(struct rdma_cm_id *id, uint16_t reason, const void *private_data, uint8_t len);

#endif /* ROCE_RDMA_RDMA_GUEST_H */
