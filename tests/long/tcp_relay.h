/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A TAP in a network namespace of its own, with Linux's TCP behind it: what programs beside lib/tcp share. */
#ifndef LONG_TCP_RELAY_H
#define LONG_TCP_RELAY_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#define RELAY_FRAME_MAX 2048u

static inline void
relay_die(const char *what)
{
	printf("not ok %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline uint64_t
relay_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline struct sockaddr
relay_addr(uint32_t ip, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
	struct sockaddr any;

	memcpy(&any, &at, sizeof(any));
	return any;
}

/* A new namespace, and in it a TAP that is up with an address: its descriptor, and its MAC address. */
static inline int
relay_tap(uint32_t ip, struct rte_ether_addr *mac)
{
	struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int fd, s;

	if (unshare(CLONE_NEWNET) != 0)
		relay_die("unshare");
	s = socket(AF_INET, SOCK_DGRAM, 0);
	strcpy(r.ifr_name, "tp0");
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	if (s < 0 || fd < 0 || ioctl(fd, TUNSETIFF, &r) != 0 || ioctl(s, SIOCGIFHWADDR, &r) != 0)
		relay_die("TAP");
	memcpy(mac, r.ifr_hwaddr.sa_data, sizeof(*mac));
	r.ifr_addr = relay_addr(ip, 0);
	if (ioctl(s, SIOCSIFADDR, &r) != 0)
		relay_die("address");
	r.ifr_netmask = relay_addr(0xffffff00, 0);
	if (ioctl(s, SIOCSIFNETMASK, &r) != 0)
		relay_die("netmask");
	r.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(s, SIOCSIFFLAGS, &r) != 0)
		relay_die("link");
	close(s);
	return fd;
}

/* In the namespace of now: who has an address there. */
static inline void
relay_neighbour(uint32_t ip, const struct rte_ether_addr *mac)
{
	struct arpreq a = {.arp_flags = ATF_PERM | ATF_COM, .arp_dev = "tp0"};
	const int s = socket(AF_INET, SOCK_DGRAM, 0);

	a.arp_pa = relay_addr(ip, 0);
	a.arp_ha.sa_family = ARPHRD_ETHER;
	memcpy(a.arp_ha.sa_data, mac, sizeof(*mac));
	if (ioctl(s, SIOCSARP, &a) != 0)
		relay_die("neighbour");
	close(s);
}

/* A setting of the namespace of now. */
static inline void
relay_setting(const char *name, const char *value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	f = fopen(path, "w");
	if (f == NULL || fputs(value, f) < 0 || fclose(f) != 0)
		relay_die(name);
}

/* A counter of Linux's TCP: a file of /proc/net of the namespace. */
static inline uint64_t
relay_counter(const char *file, const char *name)
{
	char names[4096], values[4096], *n, *v, *n_rest, *v_rest;
	FILE *f = fopen(file, "r");
	uint64_t is = UINT64_MAX;

	if (f == NULL)
		relay_die(file);
	while (is == UINT64_MAX && fgets(names, sizeof(names), f) != NULL && fgets(values, sizeof(values), f) != NULL) {
		n = strtok_r(names, " \n", &n_rest);
		v = strtok_r(values, " \n", &v_rest);
		for (; n != NULL && v != NULL; n = strtok_r(NULL, " \n", &n_rest), v = strtok_r(NULL, " \n", &v_rest))
			if (strcmp(n, name) == 0)
				is = strtoull(v, NULL, 10);
	}
	fclose(f);
	return is;
}

static inline struct rte_mempool *
relay_pool(uint32_t mbufs)
{
	char *eal[] = {(char *)(uintptr_t) "relay",       (char *)(uintptr_t) "--no-huge",
		       (char *)(uintptr_t) "-m",          (char *)(uintptr_t) "256",
		       (char *)(uintptr_t) "--no-shconf", (char *)(uintptr_t) "--no-telemetry",
		       (char *)(uintptr_t) "--no-pci",    (char *)(uintptr_t) "--log-level=error"};
	struct rte_mempool *pool;

	if (rte_eal_init(RTE_DIM(eal), eal) < 0)
		relay_die("EAL");
	pool = rte_pktmbuf_pool_create("pool", mbufs, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (pool == NULL) {
		errno = rte_errno;
		relay_die("pool");
	}
	return pool;
}

#endif /* LONG_TCP_RELAY_H */
