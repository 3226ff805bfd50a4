/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The interface as rtnetlink(7) shows it, in the network namespace where it is: the thread goes there, since an interface may be
 * moved and what happens to it is told only there.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/rtnetlink.h>
#include <net/if.h>

#include "kernel_priv.h"

#ifndef IFLA_GSO_MAX_SIZE
#define IFLA_GSO_MAX_SIZE 41
#endif
#define ANSWER_S 1 /* most that the kernel takes for an answer */

struct request {
	struct nlmsghdr head;
	struct ifinfomsg info;
	char attrs[64];
};

static void
add(struct request *r, unsigned short type, const void *data, size_t len)
{
	struct rtattr *a = (void *)((char *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	r->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(a->rta_len));
}

static int
netlink(unsigned int groups)
{
	const struct sockaddr_nl local = {.nl_family = AF_NETLINK, .nl_groups = groups};
	const struct timeval patience = {.tv_sec = ANSWER_S};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), ret;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&local, sizeof(local)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

/* Asks about the interface, or changes it. The answer is in buf; its length, or a negative errno. */
static int
call(const struct tp_kernel *k, struct request *r, char *buf, size_t size)
{
	struct nlmsghdr *head = (void *)buf;
	const struct nlmsgerr *err;
	ssize_t len;

	r->head.nlmsg_flags |= NLM_F_REQUEST;
	r->info.ifi_index = (int)k->index;
	while (recv(k->ask, buf, size, MSG_DONTWAIT) >= 0) /* late answers */
		;
	if (send(k->ask, r, r->head.nlmsg_len, 0) < 0)
		return -errno;
	len = recv(k->ask, buf, size, 0);
	if (len < 0)
		return -errno;
	if (!NLMSG_OK(head, (size_t)len))
		return -EPROTO;
	err = NLMSG_DATA(head);
	return head->nlmsg_type == NLMSG_ERROR ? err->error : (int)len;
}

/* A kernel that cannot tell the namespace keeps the interface where it was made. */
static int
go_there(struct tp_kernel *k)
{
	struct stat there, here;
	int fd = tpk_tap_netns(k->tap), ret = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &there) == 0 && stat("/proc/thread-self/ns/net", &here) == 0 && there.st_ino != here.st_ino &&
	    setns(fd, CLONE_NEWNET) != 0)
		ret = -errno;
	close(fd);
	if (ret != 0 && !k->shut_out)
		TPK_LOG(WARNING, "%s: its namespace cannot be entered (%s); changes there are not followed\n", k->name,
			strerror(-ret));
	k->shut_out = ret != 0;
	return ret;
}

int
tpk_link_open(struct tp_kernel *k)
{
	int ret;

	tpk_link_close(k);
	ret = tpk_tap_name(k->tap, k->name);
	if (ret == 0)
		ret = go_there(k);
	if (ret != 0)
		return ret;
	k->index = if_nametoindex(k->name);
	if (k->index == 0)
		return -ENODEV;
	k->news = netlink(RTMGRP_LINK);
	k->ask = netlink(0);
	if (k->news >= 0 && k->ask >= 0)
		return 0;
	ret = k->news < 0 ? k->news : k->ask;
	tpk_link_close(k);
	return ret;
}

void
tpk_link_close(struct tp_kernel *k)
{
	if (k->news >= 0)
		close(k->news);
	if (k->ask >= 0)
		close(k->ask);
	k->news = k->ask = -1;
}

int
tpk_link_get(struct tp_kernel *k, struct tpk_link *l)
{
	struct request r = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(r.info)), .nlmsg_type = RTM_GETLINK}};
	struct ifinfomsg *info;
	char buf[16384] __rte_aligned(NLMSG_ALIGNTO);
	struct rtattr *a;
	int ret = call(k, &r, buf, sizeof(buf)), left;

	if (ret <= 0)
		return ret == 0 ? -EPROTO : ret;
	info = NLMSG_DATA((struct nlmsghdr *)buf);
	memset(l, 0, sizeof(*l));
	l->flags = info->ifi_flags;
	left = (int)IFLA_PAYLOAD((struct nlmsghdr *)buf);
	for (a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		switch (a->rta_type) {
		case IFLA_MTU: memcpy(&l->mtu, RTA_DATA(a), sizeof(l->mtu)); break;
		case IFLA_PROMISCUITY: memcpy(&l->promiscuity, RTA_DATA(a), sizeof(l->promiscuity)); break;
		case IFLA_ADDRESS: memcpy(&l->mac, RTA_DATA(a), sizeof(l->mac)); break;
		default: break;
		}
	}
	return 0;
}

static int
change(struct tp_kernel *k, unsigned short type, uint32_t value)
{
	struct request r = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(r.info)),
				     .nlmsg_type = RTM_NEWLINK,
				     .nlmsg_flags = NLM_F_ACK}};
	char buf[1024] __rte_aligned(NLMSG_ALIGNTO);

	add(&r, type, &value, sizeof(value));
	return call(k, &r, buf, sizeof(buf));
}

int
tpk_link_mtu(struct tp_kernel *k, uint16_t mtu)
{
	return change(k, IFLA_MTU, mtu);
}

int
tpk_link_gso(struct tp_kernel *k, uint32_t max)
{
	return change(k, IFLA_GSO_MAX_SIZE, max);
}
