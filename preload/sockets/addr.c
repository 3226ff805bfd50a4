/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Addresses of IPv4, and those of shadows. */
#include <string.h>

#include "sockets.h"

bool
addr_inet(const struct sockaddr *sa, socklen_t len, struct tcp_addr *addr)
{
	struct sockaddr_in in;

	if (sa == NULL || len < sizeof(in) || sa->sa_family != AF_INET)
		return false;
	memcpy(&in, sa, sizeof(in));
	*addr = (struct tcp_addr){in.sin_addr.s_addr, in.sin_port};
	return true;
}

bool
addr_loopback(rte_be32_t ip)
{
	return rte_be_to_cpu_32(ip) >> 24 == 127;
}

void
addr_put(const struct tcp_addr *addr, struct sockaddr *sa, socklen_t *len)
{
	const struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = addr->ip, .sin_port = addr->port};

	if (sa == NULL || len == NULL)
		return;
	memcpy(sa, &in, RTE_MIN((size_t)*len, sizeof(in)));
	*len = sizeof(in);
}

bool
addr_bound(int fd, struct tcp_addr *addr)
{
	struct sockaddr_in in = {0};
	socklen_t len = sizeof(in);

	if (real()->getsockname(fd, (struct sockaddr *)&in, &len) != 0 || in.sin_family != AF_INET || in.sin_port == 0)
		return false;
	*addr = (struct tcp_addr){in.sin_addr.s_addr, in.sin_port};
	return true;
}

void
addr_foreign(int fd)
{
	const int one = 1;

	(void)real()->setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one));
}
