/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Names of hosts and services to addresses, as librdmacm's getaddrinfo. */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "rdma_priv.h"

static int
copy(struct sockaddr **to, socklen_t *len, const struct sockaddr *from, socklen_t from_len)
{
	*to = malloc(from_len);
	if (*to == NULL)
		return ENOMEM;
	memcpy(*to, from, from_len);
	*len = from_len;
	return 0;
}

static int
fill(struct rdma_addrinfo *r, const struct rdma_addrinfo *hints, const struct addrinfo *found)
{
	r->ai_flags = hints->ai_flags;
	r->ai_family = found->ai_family;
	r->ai_port_space = hints->ai_port_space != 0 ? hints->ai_port_space : RDMA_PS_TCP;
	if (hints->ai_qp_type != 0)
		r->ai_qp_type = hints->ai_qp_type;
	else
		r->ai_qp_type = r->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	if ((hints->ai_flags & RAI_PASSIVE) != 0)
		return copy(&r->ai_src_addr, &r->ai_src_len, found->ai_addr, found->ai_addrlen);
	if (hints->ai_src_addr != NULL && copy(&r->ai_src_addr, &r->ai_src_len, hints->ai_src_addr, hints->ai_src_len))
		return ENOMEM;
	return copy(&r->ai_dst_addr, &r->ai_dst_len, found->ai_addr, found->ai_addrlen);
}

int
tp_rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		    struct rdma_addrinfo **res)
{
	static const struct rdma_addrinfo none;
	struct addrinfo ask = {.ai_socktype = SOCK_STREAM}, *found;
	int err;

	if (hints == NULL)
		hints = &none;
	ask.ai_family = hints->ai_family;
	ask.ai_flags = (hints->ai_flags & RAI_PASSIVE) != 0 ? AI_PASSIVE : 0;
	if ((hints->ai_flags & RAI_NUMERICHOST) != 0)
		ask.ai_flags |= AI_NUMERICHOST;
	err = getaddrinfo(node, service, &ask, &found);
	if (err != 0)
		return err;
	*res = calloc(1, sizeof(**res));
	err = *res == NULL ? ENOMEM : fill(*res, hints, found);
	freeaddrinfo(found);
	if (err == 0)
		return 0;
	tp_rdma_freeaddrinfo(*res);
	*res = NULL;
	return EAI_MEMORY;
}

void
tp_rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	if (res == NULL)
		return;
	free(res->ai_src_addr);
	free(res->ai_dst_addr);
	free(res);
}
