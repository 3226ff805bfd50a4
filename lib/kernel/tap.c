/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The TAP: packets with a virtio header in front of each, so that checksums and TCP's segments need not be made twice. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>

#include "kernel_priv.h"

#ifndef TUNGETDEVNETNS
#define TUNGETDEVNETNS _IO('T', 227)
#endif
#define SEGS_MOST 64 /* of a received packet */

int
tpk_tap_open(const char *name, int *tap)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	const int size = sizeof(struct virtio_net_hdr);
	int fd, ret;

	/* A TAP that a process left behind for others would be taken over. */
	if (if_nametoindex(name) != 0)
		return -EEXIST;
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &ifr) != 0 || ioctl(fd, TUNSETVNETHDRSZ, &size) != 0) {
		ret = errno == EBUSY ? -EEXIST : -errno;
		close(fd);
		return ret;
	}
	*tap = fd;
	return 0;
}

int
tpk_tap_name(int tap, char name[TP_KERNEL_NAME])
{
	struct ifreq ifr = {.ifr_flags = 0};

	if (ioctl(tap, TUNGETIFF, &ifr) != 0)
		return -errno;
	snprintf(name, TP_KERNEL_NAME, "%s", ifr.ifr_name);
	return 0;
}

int
tpk_tap_carrier(int tap, bool on)
{
	const int carrier = on;

	return ioctl(tap, TUNSETCARRIER, &carrier) != 0 ? -errno : 0;
}

int
tpk_tap_mac(int tap, const struct rte_ether_addr *mac)
{
	struct ifreq ifr = {.ifr_hwaddr.sa_family = ARPHRD_ETHER};

	memcpy(ifr.ifr_hwaddr.sa_data, mac, sizeof(*mac));
	return ioctl(tap, SIOCSIFHWADDR, &ifr) != 0 ? -errno : 0;
}

int
tpk_tap_offload(int tap, bool csum, bool tso)
{
	const unsigned long flags = (csum ? TUN_F_CSUM : 0) | (tso ? TUN_F_TSO4 | TUN_F_TSO6 : 0);

	return ioctl(tap, TUNSETOFFLOAD, flags) != 0 ? -errno : 0;
}

int
tpk_tap_netns(int tap)
{
	int fd = ioctl(tap, TUNGETDEVNETNS);

	return fd < 0 ? -errno : fd;
}

int
tpk_tap_read(int tap, struct virtio_net_hdr *h, struct rte_mbuf *const *mbuf, unsigned int n)
{
	struct iovec iov[TPK_SEGS + 1];
	unsigned int i;
	ssize_t len;

	iov[0] = (struct iovec){h, sizeof(*h)};
	for (i = 0; i < n; i++)
		iov[i + 1] = (struct iovec){rte_pktmbuf_mtod(mbuf[i], void *), rte_pktmbuf_tailroom(mbuf[i])};
	len = readv(tap, iov, (int)n + 1);
	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return len <= (ssize_t)(sizeof(*h) + RTE_ETHER_HDR_LEN) ? -EPROTO : (int)len - (int)sizeof(*h);
}

int
tpk_tap_write(int tap, const struct virtio_net_hdr *h, const struct rte_mbuf *m)
{
	struct iovec iov[SEGS_MOST + 1];
	int n = 1;

	iov[0] = (struct iovec){(void *)(uintptr_t)h, sizeof(*h)};
	for (; m != NULL && n <= SEGS_MOST; m = m->next)
		iov[n++] = (struct iovec){rte_pktmbuf_mtod(m, void *), m->data_len};
	if (m != NULL)
		return -EMSGSIZE;
	return writev(tap, iov, n) < 0 ? -errno : 0;
}
