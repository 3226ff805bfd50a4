/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The options of a port that all RoCE programs have. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "end.h"

#define LINK_WAIT_S 20u

static const char *const modes[] = {"v2", "v1", "v1-mac", NULL};

#define AT(f) offsetof(struct rport_conf, f)
const struct ropt rport_opts[] = {
	{'d', "ib-dev", ROPT_STR, AT(dev), 0, 0, NULL, "NAME", "ethdev to use (the first one)"},
	{0, "addr", ROPT_LIST, AT(addr), 0, REND_ADDRS, NULL, "IP/LEN", "address of the port; up to four"},
	{0, "gateway", ROPT_STR, AT(gateway), 0, 0, NULL, "IP", "router towards other networks"},
	{0, "vlan", ROPT_U32, AT(vlan), 1, 4094, NULL, "ID", "VLAN of the addresses (none)"},
	{0, "netdev", ROPT_STR, AT(netdev), 0, 0, NULL, "NAME", "follow the addresses of a kernel interface"},
	{0, "provider", ROPT_STR, AT(provider), 0, 0, NULL, "NAME", "mlx4 or sw (the card's where there is one)"},
	{0, "mode", ROPT_WORD, AT(mode), 0, 0, modes, "MODE", "v2, v1 or v1-mac (v2)"},
	{0, "udp-port", ROPT_U32, AT(udp_port), 1, 65535, NULL, "N", "destination port of RoCEv2 (4791)"},
	{0, "eth-mtu", ROPT_U32, AT(mtu), 576, 9600, NULL, "N", "MTU of the port (its own)"},
	{0, "prio", ROPT_U32, AT(prio), 0, 7, NULL, "N", "802.1p priority (0)"},
	{0, "dscp", ROPT_U32, AT(dscp), 0, 63, NULL, "N", "DSCP (0)"},
	{0, "qos", ROPT_LIST, AT(qos), 0, REND_QOS, NULL, "KEY=VALUE",
	 "quality of service of a card's ports; up to 16"},
	{0, "cc", ROPT_LIST, AT(cc), 0, REND_CC, NULL, "on|NAME=VALUE",
	 "congestion control of all priorities, a variant or a parameter of it; up to 24"},
	{0, "hop-limit", ROPT_U32, AT(ttl), 1, 255, NULL, "N", "hop limit, or time to live (16)"},
	{'x', "gid-index", ROPT_U32, AT(gid_index), 0, TP_ROCE_GIDS - 1, NULL, "N",
	 "GID to use (of the first address)"},
	{0, "capture", ROPT_STR, AT(capture), 0, 0, NULL, "FILE", "write the port's RoCE packets to a pcapng file"},
	{0, "link-wait", ROPT_U32, AT(link_wait), 0, 3600, NULL, "S", "how long to wait for the link (20)"},
	{0, "self", ROPT_FLAG, AT(self), 0, 0, NULL, NULL, "both ends here, on two ports and two lcores"},
	{0, "self-dev", ROPT_STR, AT(self_dev), 0, 0, NULL, "NAME", "ethdev of the server of --self (the second one)"},
	{0, "self-addr", ROPT_LIST, AT(self_addr), 0, REND_ADDRS, NULL, "IP/LEN", "its address; up to four"},
};
const unsigned int rport_nopts = RTE_DIM(rport_opts);

void
rport_conf_init(struct rport_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->vlan = TP_ROCE_NO_VLAN;
	conf->gid_index = RPORT_ANY_GID;
	conf->link_wait = LINK_WAIT_S;
	conf->lanes = 1;
}

int
rport_addr_parse(const char *text, struct sockaddr_storage *addr, unsigned int *prefix)
{
	struct sockaddr_in6 *in6 = (void *)addr;
	struct sockaddr_in *in = (void *)addr;
	char ip[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t len = slash == NULL ? strlen(text) : (size_t)(slash - text);
	unsigned long p;
	char *end;

	memset(addr, 0, sizeof(*addr));
	if (len >= sizeof(ip))
		return -EINVAL;
	memcpy(ip, text, len);
	ip[len] = '\0';
	if (inet_pton(AF_INET, ip, &in->sin_addr) == 1)
		in->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, ip, &in6->sin6_addr) == 1)
		in6->sin6_family = AF_INET6;
	else
		return -EINVAL;
	*prefix = addr->ss_family == AF_INET ? 32 : 128;
	if (slash == NULL)
		return 0;
	p = strtoul(slash + 1, &end, 10);
	if (slash[1] < '0' || slash[1] > '9' || *end != '\0' || p > *prefix)
		return -EINVAL;
	*prefix = (unsigned int)p;
	return 0;
}
