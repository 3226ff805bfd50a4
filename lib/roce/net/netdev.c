/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Follows the addresses of a kernel interface, and of the VLAN interfaces on it, in the network namespace of the thread that
 * opened the port. A thread of its own looks when the kernel says that an address changed, and every netdev_ms, unless
 * that is off; so the port's thread makes no system call. What the application added by itself stays as it is.
 */
#include <ifaddrs.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>

#include "net_priv.h"

#define LOCK_MS 10 /* until the port's lock is tried again */

struct trn_netdev {
	pthread_t thread;
	int stop;  /* eventfd */
	int news;  /* netlink socket, -1: only the period */
	int ctl;   /* for questions about VLANs */
	bool full; /* said that there is no room */
};

/* The VLAN of a VLAN interface on base; 0: it is another interface. */
static uint16_t
vlan_on(int ctl, const char *name, const char *base)
{
	struct vlan_ioctl_args args = {.cmd = GET_VLAN_REALDEV_NAME_CMD};

	snprintf(args.device1, sizeof(args.device1), "%s", name);
	if (ioctl(ctl, SIOCGIFVLAN, &args) != 0 || strcmp(args.u.device2, base) != 0)
		return 0;
	args.cmd = GET_VLAN_VID_CMD;
	if (ioctl(ctl, SIOCGIFVLAN, &args) != 0 || args.u.VID < 1 || args.u.VID > 4094)
		return 0;
	return (uint16_t)args.u.VID;
}

static unsigned int
mask_bits(const uint8_t *mask, unsigned int bytes)
{
	unsigned int i, n = 0;

	for (i = 0; i < bytes; i++)
		n += (unsigned int)__builtin_popcount(mask[i]);
	return n;
}

/* One of the interface's addresses as one of ours; false: not for us. */
static bool
to_addr(const struct ifaddrs *ifa, uint16_t vlan, struct trn_addr *addr)
{
	struct sockaddr_in in, in_mask;
	struct sockaddr_in6 in6, in6_mask;

	*addr = (struct trn_addr){.vlan = vlan, .valid = true, .kernel = true};
	if (ifa->ifa_addr == NULL || ifa->ifa_netmask == NULL || (ifa->ifa_flags & IFF_UP) == 0)
		return false;
	if (ifa->ifa_addr->sa_family == AF_INET) {
		memcpy(&in, ifa->ifa_addr, sizeof(in));
		memcpy(&in_mask, ifa->ifa_netmask, sizeof(in_mask));
		addr->gid = trn_gid_v4(in.sin_addr.s_addr);
		addr->prefix = (uint8_t)(96 + mask_bits((const uint8_t *)&in_mask.sin_addr, 4));
	} else if (ifa->ifa_addr->sa_family == AF_INET6) {
		memcpy(&in6, ifa->ifa_addr, sizeof(in6));
		memcpy(&in6_mask, ifa->ifa_netmask, sizeof(in6_mask));
		memcpy(addr->gid.raw, &in6.sin6_addr, sizeof(addr->gid.raw));
		addr->prefix = (uint8_t)mask_bits((const uint8_t *)&in6_mask.sin6_addr, 16);
	} else {
		return false;
	}
	return trn_is_host(&addr->gid);
}

/* The addresses that the kernel has now; how many, -1: it does not say. */
static int
look(struct troce_dev *dev, struct trn_addr *list, unsigned int max)
{
	const char *base = dev->conf.netdev;
	struct ifaddrs *all, *ifa;
	unsigned int n = 0;
	uint16_t vlan;

	if (getifaddrs(&all) != 0)
		return -1;
	for (ifa = all; ifa != NULL && n < max; ifa = ifa->ifa_next) {
		vlan = TP_ROCE_NO_VLAN;
		if (strcmp(ifa->ifa_name, base) != 0) {
			vlan = vlan_on(dev->net->netdev->ctl, ifa->ifa_name, base);
			if (vlan == 0)
				continue;
		}
		if (to_addr(ifa, vlan, &list[n]))
			n++;
	}
	freeifaddrs(all);
	return (int)n;
}

static bool
listed(const struct trn_addr *list, unsigned int n, const struct trn_addr *addr)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (list[i].vlan == addr->vlan && list[i].prefix == addr->prefix &&
		    trn_gid_equal(&list[i].gid, &addr->gid))
			return true;
	return false;
}

bool
trn_follow(struct trn_addrs *a, enum tp_roce_mode mode, const struct trn_addr *list, unsigned int n, bool *full)
{
	bool changed = false;
	unsigned int i;
	int rc;

	*full = false;
	for (i = 0; i < TP_ROCE_GIDS; i++)
		if (a->addr[i].valid && a->addr[i].kernel && !listed(list, n, &a->addr[i])) {
			trn_addrs_del(a, i);
			changed = true;
		}
	for (i = 0; i < n; i++) {
		rc = trn_addrs_add(a, mode, &list[i]);
		changed |= rc == 0;
		*full |= rc == ENOSPC;
	}
	return changed;
}

/* The port's lock is held by whoever closes the port, too, and waits for this thread: never wait for it. */
static bool
lock_port(struct troce_dev *dev)
{
	struct pollfd stop = {.fd = dev->net->netdev->stop, .events = POLLIN};

	while (pthread_mutex_trylock(&dev->lock) != 0)
		if (poll(&stop, 1, LOCK_MS) > 0)
			return false;
	return true;
}

static void
update(struct troce_dev *dev)
{
	struct trn_netdev *nd = dev->net->netdev;
	struct trn_addr list[2 * TP_ROCE_GIDS];
	struct trn_addrs next;
	bool full;
	int n = look(dev, list, RTE_DIM(list));

	if (n < 0 || !lock_port(dev))
		return;
	next = dev->net->a;
	if (trn_follow(&next, dev->mode, list, (unsigned int)n, &full))
		(void)trn_commit(dev, &next);
	pthread_mutex_unlock(&dev->lock);
	if (full && !nd->full)
		TROCE_LOG(ERR, "%s: %s has more addresses than the GID table's %u entries can hold", dev->where,
			  dev->conf.netdev, TP_ROCE_GIDS);
	nd->full = full;
}

static void *
follow(void *arg)
{
	struct troce_dev *dev = arg;
	struct trn_netdev *nd = dev->net->netdev;
	struct pollfd fds[2] = {{.fd = nd->stop, .events = POLLIN}, {.fd = nd->news, .events = POLLIN}};
	char drop[4096];
	int wait = dev->conf.netdev_ms == TP_ROCE_NO_GID_POLL ? -1 : (int)dev->conf.netdev_ms;

	/* Nobody would tell. */
	if (nd->news < 0 && wait < 0)
		wait = TP_ROCE_GID_POLL_MS;
	do {
		/* One look covers all that was said so far, also what did not fit into the socket's buffer. */
		while (nd->news >= 0 && (recv(nd->news, drop, sizeof(drop), MSG_DONTWAIT) > 0 || errno == ENOBUFS))
			;
		update(dev);
	} while (poll(fds, RTE_DIM(fds), wait) >= 0 && fds[0].revents == 0);
	return NULL;
}

/* Tells of addresses that come and go, and of interfaces that do. */
static int
open_news(void)
{
	struct sockaddr_nl local = {.nl_family = AF_NETLINK,
				    .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&local, sizeof(local)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void
close_netdev(struct trn_netdev *nd)
{
	if (nd->stop >= 0)
		close(nd->stop);
	if (nd->news >= 0)
		close(nd->news);
	if (nd->ctl >= 0)
		close(nd->ctl);
	free(nd);
}

int
trn_netdev_start(struct troce_dev *dev)
{
	struct trn_netdev *nd;
	int rc;

	if (strlen(dev->conf.netdev) >= IF_NAMESIZE || if_nametoindex(dev->conf.netdev) == 0) {
		TROCE_LOG(ERR, "netdev %s: not an interface of this network namespace", dev->conf.netdev);
		return EINVAL;
	}
	nd = calloc(1, sizeof(*nd));
	if (nd == NULL)
		return ENOMEM;
	nd->stop = eventfd(0, EFD_CLOEXEC);
	nd->ctl = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	nd->news = open_news();
	rc = nd->stop < 0 || nd->ctl < 0 ? errno : 0;
	if (rc != 0)
		goto err;
	dev->net->netdev = nd;
	rc = pthread_create(&nd->thread, NULL, follow, dev);
	if (rc != 0)
		goto err;
	(void)pthread_setname_np(nd->thread, "roce-netdev");
	return 0;

err:
	TROCE_LOG(ERR, "netdev %s: cannot be followed: %s", dev->conf.netdev, strerror(rc));
	dev->net->netdev = NULL;
	close_netdev(nd);
	return rc;
}

void
trn_netdev_stop(struct troce_dev *dev)
{
	struct trn_netdev *nd = dev->net->netdev;
	const uint64_t one = 1;

	if (nd == NULL)
		return;
	while (write(nd->stop, &one, sizeof(one)) != sizeof(one))
		;
	pthread_join(nd->thread, NULL);
	dev->net->netdev = NULL;
	close_netdev(nd);
}
