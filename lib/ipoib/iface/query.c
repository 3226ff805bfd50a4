/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Asking the hosts behind the port for their groups. */
#include "core.h"
#include "lib/ipoib/wire/snoop.h"

void
ipoib_query(struct ipoib_core *c, bool ipv6)
{
	static const uint8_t all_hosts[6] = {0x01, 0, 0x5e, 0, 0, 1}, all_nodes[6] = {0x33, 0x33, 0, 0, 0, 1};
	struct rte_mbuf *m = rte_pktmbuf_alloc(c->pool);
	uint8_t l3[IPOIB_QUERY_MAX], *p;
	unsigned int n;

	if (m == NULL) {
		c->stats.drop[IPOIB_DROP_RX_NO_MBUF]++;
		return;
	}
	n = ipv6 ? ipoib_query_v6(c->guid, l3) : ipoib_query_v4(l3);
	p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(RTE_ETHER_HDR_LEN + n));
	if (p == NULL) {
		ipoib_drop(c, IPOIB_DROP_RX_NO_MBUF, m);
		return;
	}
	memcpy(p, ipv6 ? all_nodes : all_hosts, sizeof(all_nodes));
	memcpy(p + 6, &c->mac, 6);
	p[11] ^= 1; /* a query of its own address would look like a loop to the host */
	ib_put16(p + 12, ipv6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
	memcpy(p + RTE_ETHER_HDR_LEN, l3, n);
	c->stats.queries++;
	c->io.deliver(c->io.arg, m);
}
