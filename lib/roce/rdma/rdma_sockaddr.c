/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Addresses and ports in struct sockaddr, as GIDs and back. */
#include <string.h>

#include "lib/roce/net/net_priv.h"
#include "rdma_priv.h"

bool
trd_addr_ok(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET || addr->sa_family == AF_INET6)
		return true;
	TROCE_LOG(ERR, "address family %u is neither %d (AF_INET) nor %d (AF_INET6)", addr->sa_family, AF_INET,
		  AF_INET6);
	return false;
}

socklen_t
trd_addr_len(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static const struct sockaddr_in *
in4(const struct sockaddr *addr)
{
	return (const struct sockaddr_in *)addr;
}

static const struct sockaddr_in6 *
in6(const struct sockaddr *addr)
{
	return (const struct sockaddr_in6 *)addr;
}

bool
trd_addr_any(const struct sockaddr *addr)
{
	uint32_t v4;

	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&in6(addr)->sin6_addr) || IN6_IS_ADDR_LOOPBACK(&in6(addr)->sin6_addr);
	v4 = rte_be_to_cpu_32(in4(addr)->sin_addr.s_addr);
	return v4 == 0 || v4 >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

union ibv_gid
trd_gid(const struct sockaddr *addr)
{
	union ibv_gid gid;

	if (addr->sa_family == AF_INET)
		return trn_gid_v4(in4(addr)->sin_addr.s_addr);
	memcpy(gid.raw, &in6(addr)->sin6_addr, sizeof(gid));
	return gid;
}

bool
trd_addr_equal(const struct sockaddr *a, const struct sockaddr *b)
{
	const union ibv_gid x = trd_gid(a), y = trd_gid(b);

	return trn_gid_equal(&x, &y);
}

/* The port is at the same place in both. */
uint16_t
trd_port(const struct sockaddr *addr)
{
	return rte_be_to_cpu_16(in4(addr)->sin_port);
}

void
trd_port_set(struct sockaddr *addr, uint16_t port)
{
	((struct sockaddr_in *)addr)->sin_port = rte_cpu_to_be_16(port);
}

void
trd_addr_from(struct sockaddr_storage *to, uint8_t family, const uint8_t addr[16], uint16_t port)
{
	memset(to, 0, sizeof(*to));
	if (family == 4) {
		to->ss_family = AF_INET;
		memcpy(&((struct sockaddr_in *)to)->sin_addr, addr + 12, 4);
	} else {
		to->ss_family = AF_INET6;
		memcpy(&((struct sockaddr_in6 *)to)->sin6_addr, addr, 16);
	}
	trd_port_set((struct sockaddr *)to, port);
}

int
trd_sgid(struct troce_dev *dev, const struct sockaddr *addr)
{
	const union ibv_gid want = trd_gid(addr);
	struct troce_gid g;

	for (uint32_t i = 0; i < TP_ROCE_GIDS; i++) {
		if (troce_gid_get(dev, i, &g) && g.type == trd_gid_type(dev) && trn_gid_equal(&g.gid, &want))
			return (int)i;
	}
	return -1;
}
