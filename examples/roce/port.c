/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "port.h"

/* One queue each way, as the RoCE library wants them: it sends and receives on queue 0. */
static int
start(uint16_t id)
{
	struct rte_eth_conf conf = {0};
	struct rte_mempool *pool;
	int rc;

	pool = rte_pktmbuf_pool_create("packets", 8191, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		return -ENOMEM;
	rc = rte_eth_dev_configure(id, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(id, 0, 1024, SOCKET_ID_ANY, NULL, pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(id, 0, 1024, SOCKET_ID_ANY, NULL);
	return rc == 0 ? rte_eth_dev_start(id) : rc;
}

int
port_sockaddr(const char *ip, uint16_t number, struct sockaddr_in *addr)
{
	*addr = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(number)};
	return inet_pton(AF_INET, ip, &addr->sin_addr) == 1 ? 0 : -1;
}

struct ibv_context *
port_open(const char *address)
{
	uint16_t id = (uint16_t)rte_eth_find_next(0);
	struct ibv_context *ctx;
	struct sockaddr_in sin;
	char ip[32];
	int rc, len;

	len = (int)strcspn(address, "/");
	snprintf(ip, sizeof(ip), "%.*s", len, address);
	if (address[len] != '/' || port_sockaddr(ip, 0, &sin) != 0) {
		fprintf(stderr, "'%s' is not like 192.0.2.1/24\n", address);
		return NULL;
	}
	rc = id < RTE_MAX_ETHPORTS ? start(id) : -ENODEV;
	if (rc != 0) {
		fprintf(stderr, "no port, or it does not start: %s\n", strerror(-rc));
		return NULL;
	}
	ctx = tp_roce_open(id, NULL);
	if (ctx == NULL)
		return NULL; /* the library said why */
	rc = tp_roce_addr_add(ctx, (struct sockaddr *)&sin, (unsigned int)atoi(address + len + 1), TP_ROCE_NO_VLAN);
	if (rc == 0)
		return ctx;
	tp_roce_close_device(ctx);
	return NULL;
}

void
port_close(struct ibv_context *ctx)
{
	uint16_t id = tp_roce_port_id(ctx);
	struct rte_eth_dev_info info;

	tp_roce_close_device(ctx);
	/*
	 * net_memif frees its rings when it is stopped and, in the interrupt thread, when the other end leaves, without a lock between
	 * the two; and both ends leave at the same time here. It is left to the end of the process.
	 */
	if (rte_eth_dev_info_get(id, &info) != 0 || strcmp(info.driver_name, "net_memif") != 0)
		rte_eth_dev_stop(id);
}
