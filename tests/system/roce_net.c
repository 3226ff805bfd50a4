/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A RoCE port that lines on its standard input command, for tests/system/test_roce_net.py: roce_net EAL-ARGUMENTS --
 * [mode=N] [netdev=NAME] [netdev_ms=N]. Each command is answered by lines, the last of them "=".
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include "tp_roce.h"

#define BUFS 4096u
#define RESOLVE_NS UINT64_C(60000000000) /* three questions take four seconds */

static struct ibv_context *ctx;

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* "192.0.2.1", "2001:db8::1" */
static struct sockaddr *
to_sockaddr(const char *text)
{
	static struct sockaddr_storage ss;
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

	memset(&ss, 0, sizeof(ss));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		ss.ss_family = AF_INET;
	} else {
		memset(&ss, 0, sizeof(ss));
		if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
			ss.ss_family = AF_INET6;
	}
	return (struct sockaddr *)&ss;
}

static void
show_gids(void)
{
	struct ibv_gid_entry e;
	char s[INET6_ADDRSTRLEN];
	unsigned int i;

	for (i = 0; i < TP_ROCE_GIDS; i++)
		if (tp_roce_query_gid_ex(ctx, 1, i, &e) == 0)
			printf("%u %s v%u\n", i, inet_ntop(AF_INET6, e.gid.raw, s, sizeof(s)),
			       e.gid_type == IBV_GID_TYPE_ROCE_V2 ? 2u : 1u);
}

static void
resolve(unsigned int index, const char *dgid)
{
	uint64_t t0 = now_ns();
	union ibv_gid gid;
	uint8_t m[6];
	int rc = EINVAL;

	if (inet_pton(AF_INET6, dgid, gid.raw) == 1)
		while ((rc = tp_roce_resolve(ctx, index, &gid, m)) == EINPROGRESS && now_ns() - t0 < RESOLVE_NS)
			tp_roce_progress(ctx);
	if (rc == 0)
		printf("%02x:%02x:%02x:%02x:%02x:%02x\n", m[0], m[1], m[2], m[3], m[4], m[5]);
	else
		printf("%s\n", strerrorname_np(rc));
}

static void
show_stat(void *arg, const char *name, uint64_t value)
{
	printf("%s %" PRIu64 "\n", name, value);
}

static void
show_events(void)
{
	struct pollfd fd = {.fd = ctx->async_fd, .events = POLLIN};
	struct ibv_async_event ev;

	while (poll(&fd, 1, 0) == 1 && tp_roce_get_async_event(ctx, &ev) == 0) {
		printf("%d\n", ev.event_type);
		tp_roce_ack_async_event(&ev);
	}
}

static void
set_mac(const char *text)
{
	struct rte_ether_addr mac;

	if (rte_ether_unformat_addr(text, &mac) == 0)
		printf("%d\n", rte_eth_dev_default_mac_addr_set(tp_roce_port_id(ctx), &mac));
}

/* false: it was the last one */
static bool
command(char *line)
{
	char word[16] = "", a[64] = "";
	unsigned int n = 0, vlan = TP_ROCE_NO_VLAN;

	if (sscanf(line, "%15s", word) != 1)
		return true;
	if (strcmp(word, "quit") == 0)
		return false;
	if (sscanf(line, "add %63s %u %u", a, &n, &vlan) >= 2)
		printf("%d\n", tp_roce_addr_add(ctx, to_sockaddr(a), n, (uint16_t)vlan));
	else if (sscanf(line, "del %63s", a) == 1)
		printf("%d\n", tp_roce_addr_del(ctx, to_sockaddr(a)));
	else if (sscanf(line, "gateway %63s", a) == 1)
		printf("%d\n", tp_roce_gateway(ctx, to_sockaddr(a)));
	else if (sscanf(line, "resolve %u %63s", &n, a) == 2)
		resolve(n, a);
	else if (sscanf(line, "mac %63s", a) == 1)
		set_mac(a);
	else if (sscanf(line, "capture %63s %u", a, &n) == 2)
		printf("%s\n", strerrorname_np(tp_roce_capture_start(ctx, a, n)));
	else if (strcmp(word, "stop") == 0)
		printf("%s\n", strerrorname_np(tp_roce_capture_stop(ctx, NULL, NULL)));
	else if (strcmp(word, "gids") == 0)
		show_gids();
	else if (strcmp(word, "stats") == 0)
		tp_roce_stats(ctx, show_stat, NULL);
	else if (strcmp(word, "events") == 0)
		show_events();
	else
		printf("? %s\n", line);
	printf("=\n");
	fflush(stdout);
	return true;
}

/* Works for the port, and looks for a command now and then. */
static void
serve(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[256];
	unsigned int i;

	setvbuf(stdin, NULL, _IONBF, 0);
	for (;;) {
		for (i = 0; i < 64; i++)
			tp_roce_progress(ctx);
		if (poll(&in, 1, 1) > 0 && (fgets(line, sizeof(line), stdin) == NULL || !command(line)))
			return;
	}
}

static bool
start_port(struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};

	return rte_eth_dev_configure(0, 1, 1, &conf) == 0 && rte_eth_rx_queue_setup(0, 0, 512, 0, NULL, pool) == 0 &&
	       rte_eth_tx_queue_setup(0, 0, 512, 0, NULL) == 0 && rte_eth_dev_start(0) == 0;
}

int
main(int argc, char **argv)
{
	struct tp_roce_conf conf = {.provider = "sw"};
	struct rte_mempool *pool;
	int i = rte_eal_init(argc, argv);

	if (i < 0)
		return 1;
	for (i++; i < argc; i++) {
		if (strncmp(argv[i], "mode=", 5) == 0)
			conf.mode = (enum tp_roce_mode)atoi(argv[i] + 5);
		else if (strncmp(argv[i], "netdev=", 7) == 0)
			conf.netdev = argv[i] + 7;
		else if (strncmp(argv[i], "netdev_ms=", 10) == 0)
			conf.netdev_ms = (uint32_t)strtoul(argv[i] + 10, NULL, 10);
	}
	pool = rte_pktmbuf_pool_create("rx", BUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (pool == NULL || !start_port(pool))
		return 1;
	ctx = tp_roce_open(0, &conf);
	if (ctx == NULL) {
		printf("open: %s\n", strerror(errno));
		return 1;
	}
	printf("=\n");
	fflush(stdout);
	serve();
	if (tp_roce_close_device(ctx) != 0)
		return 1;
	(void)rte_eth_dev_stop(0);
	(void)rte_eth_dev_close(0);
	(void)rte_eal_cleanup();
	return 0;
}
