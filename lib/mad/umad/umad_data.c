/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Datagrams between programs and the port's service, in the words of <infiniband/umad.h>. */
#include "umad_priv.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <infiniband/umad.h>
#include <rte_common.h>

#include "lib/mad/agent/mad_fmt.h"

static_assert(sizeof(struct ib_user_mad) == UMAD_PROTO_HEADER, "what programs compiled in");

#define ETIMEDOUT_STATUS 110u /* what programs look for, on every architecture */

static void
put_addr(const struct tp_mad_packet *pkt, ib_mad_addr_t *a)
{
	memset(a, 0, sizeof(*a));
	a->qpn = htobe32(pkt->remote_qpn);
	a->qkey = htobe32(pkt->qkey);
	a->lid = htobe16(pkt->slid);
	a->sl = pkt->sl;
	a->path_bits = pkt->path_bits;
	a->pkey_index = pkt->pkey_index;
	a->grh_present = pkt->has_grh;
	if (!pkt->has_grh)
		return;
	a->hop_limit = pkt->grh.hop_limit;
	a->traffic_class = (uint8_t)(be32toh(pkt->grh.version_tclass_flow) >> 20);
	a->flow_label = pkt->grh.version_tclass_flow & htobe32(0xfffff);
	memcpy(a->gid, pkt->grh.sgid.raw, sizeof(a->gid));
}

static void
take_addr(const ib_mad_addr_t *a, const struct tp_mad_port_state *port, struct tp_mad_packet *pkt)
{
	memset(pkt, 0, offsetof(struct tp_mad_packet, data));
	pkt->remote_qpn = be32toh(a->qpn) & 0xffffff;
	pkt->qkey = be32toh(a->qkey);
	pkt->dlid = be16toh(a->lid);
	pkt->sl = a->sl & 0xf;
	pkt->path_bits = a->path_bits & 0x7f;
	pkt->pkey_index = a->pkey_index;
	pkt->has_grh = a->grh_present != 0;
	if (!pkt->has_grh)
		return;
	pkt->grh.hop_limit = a->hop_limit;
	pkt->grh.version_tclass_flow =
		htobe32(6u << 28 | (uint32_t)a->traffic_class << 20 | (be32toh(a->flow_label) & 0xfffff));
	pkt->grh.sgid = port->gid;
	memcpy(pkt->grh.dgid.raw, a->gid, sizeof(pkt->grh.dgid));
}

/*
 * What ran out of time comes back as the header of what was sent; other ends of a message are told to nobody, as Linux does.
 */
void
umad_to_program(void *arg, const struct tp_mad_msg *msg)
{
	struct umad_agent *a = arg;
	struct umad_client *c = a->client;
	struct ib_user_mad um = {.agent_id = a->id};
	struct iovec iov[2] = {{.iov_base = &um, .iov_len = sizeof(um)}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};

	if (msg->status != 0 && msg->status != -ETIMEDOUT)
		return;
	put_addr(msg->pkt, &um.addr);
	if (msg->status == 0) {
		iov[1] = (struct iovec){.iov_base = (void *)(uintptr_t)msg->data, .iov_len = msg->len};
	} else {
		um.status = ETIMEDOUT_STATUS;
		um.addr.lid = htobe16(msg->pkt->dlid);
		iov[1] = (struct iovec){.iov_base = (void *)(uintptr_t)msg->pkt->data, .iov_len = MAD_DATA_AT};
	}
	um.length = (uint32_t)(sizeof(um) + iov[1].iov_len);
	/* Each port has a thread of its own, which comes here. */
	if (sendmsg(c->data_fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		__atomic_fetch_add(&c->umad->stats.dropped, 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&c->umad->stats.to_programs, 1, __ATOMIC_RELAXED);
}

/* A program that may not send what it wanted learns by the time-out of its request. */
static int
one(struct umad_client *c, const uint8_t *buf, size_t len)
{
	struct tp_mad_port_state port;
	struct tp_mad_packet to;
	struct ib_user_mad um;

	if (len < sizeof(um) + MAD_DATA_AT)
		return -EINVAL;
	memcpy(&um, buf, sizeof(um));
	if (um.agent_id >= TP_UMAD_AGENTS || c->agent[um.agent_id].agent == NULL)
		return -EINVAL;
	tp_mad_port_state_get(c->port->p.mad, &port);
	take_addr(&um.addr, &port, &to);
	return tp_mad_send(c->agent[um.agent_id].agent, &to, buf + sizeof(um), (uint32_t)(len - sizeof(um)),
			   um.timeout_ms, um.retries);
}

/* The request comes back as one that nobody answered. */
static void
bounce(struct umad_client *c, const uint8_t *buf, size_t len)
{
	struct tp_mad_packet pkt = {0};
	struct tp_mad_msg msg = {.status = -ETIMEDOUT, .pkt = &pkt};
	struct ib_user_mad um;

	c->umad->stats.refused++;
	if (len < sizeof(um) + MAD_DATA_AT)
		return;
	memcpy(&um, buf, sizeof(um));
	if (um.agent_id >= TP_UMAD_AGENTS || um.timeout_ms == 0)
		return;
	memcpy(pkt.data, buf + sizeof(um), MAD_DATA_AT);
	pkt.dlid = be16toh(um.addr.lid);
	umad_to_program(&c->agent[um.agent_id], &msg);
}

bool
umad_from_program(struct umad_client *c, unsigned int *done)
{
	uint8_t *buf = c->umad->buf;

	/* Others have their turn too. */
	for (unsigned int i = 0; i < 64; i++) {
		ssize_t n = recv(c->data_fd, buf, UMAD_PROTO_HEADER + TP_MAD_MESSAGE, MSG_DONTWAIT);

		if (n == 0)
			return false;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		++*done;
		c->umad->stats.from_programs++;
		umad_issm_look(c->umad);
		if (one(c, buf, (size_t)n) != 0)
			bounce(c, buf, (size_t)n);
	}
	return true;
}
