/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options of sockets of datagrams. The shadow looks at each value first, and has it, too: what comes by it is as what comes here. */
#include <string.h>

#include "dgram.h"

#ifndef UDP_CORK
#define UDP_CORK 1
#endif
#define UDP_SEGMENT_NAME 103
#define UDP_GRO_NAME 104

/* Numbers that lib/udp knows, and its range: what Linux takes beyond becomes the nearer end. */
static const struct {
	int level, name, min, max;
} numbers[] = {
	{SOL_SOCKET, SO_RCVBUF, 4096, 16777216},
	{SOL_SOCKET, SO_BROADCAST, 0, 1},
	{IPPROTO_IP, IP_TTL, 1, 255},
	{IPPROTO_IP, IP_TOS, 0, 255},
	{IPPROTO_IP, IP_MULTICAST_TTL, 0, 255},
	{IPPROTO_IP, IP_MULTICAST_LOOP, 0, 1},
	{IPPROTO_IP, IP_MTU_DISCOVER, 0, IP_PMTUDISC_OMIT},
};

static void
number(int fd, const struct file *f, unsigned int i)
{
	int v = 0;
	socklen_t len = sizeof(v);

	if (f->s == NULL || real()->getsockopt(fd, numbers[i].level, numbers[i].name, &v, &len) != 0)
		return;
	v = RTE_MIN(RTE_MAX(v, numbers[i].min), numbers[i].max);
	(void)sock_dgram_opt(f->s, numbers[i].level, numbers[i].name, v);
}

static void
timeout(int fd, const struct file *f, int name)
{
	char value[64];
	socklen_t len = sizeof(value);

	if (f->s != NULL && real()->getsockopt(fd, SOL_SOCKET, name, value, &len) == 0)
		(void)sock_opt_set(f->s, SOL_SOCKET, name, value, len);
}

void
dgram_carry(int fd, const struct file *f)
{
	for (unsigned int i = 0; f->touched != 0 && i < RTE_DIM(numbers); i++)
		if (numbers[i].name != SO_RCVBUF || numbers[i].level != SOL_SOCKET || f->rcvbuf)
			number(fd, f, i);
	if (f->touched != 0) {
		timeout(fd, f, SO_RCVTIMEO);
		timeout(fd, f, SO_SNDTIMEO);
	}
}

/* What comes beside each datagram. */
static atomic_bool *
beside(struct dgram *d, int level, int name)
{
	if (level == SOL_SOCKET)
		return name == SO_RXQ_OVFL ? &d->ovfl : NULL;
	if (level != IPPROTO_IP)
		return NULL;
	switch (name) {
	case IP_PKTINFO: return &d->pktinfo;
	case IP_RECVTTL: return &d->recvttl;
	case IP_RECVTOS: return &d->recvtos;
	case IP_RECVORIGDSTADDR: return &d->recvorig;
	default: return NULL;
	}
}

static bool
is_stamp(int level, int name)
{
	return level == SOL_SOCKET && (name == SO_TIMESTAMP_OLD || name == SO_TIMESTAMP_NEW ||
				       name == SO_TIMESTAMPNS_OLD || name == SO_TIMESTAMPNS_NEW);
}

/* --- groups --- */

/* The address of the interface that a struct names; false: it is named by its number, or the struct is short. */
static bool
interface(const void *value, socklen_t len, rte_be32_t *ip, rte_be32_t *group)
{
	struct ip_mreqn n = {0};

	if (len < sizeof(struct ip_mreq))
		return false;
	memcpy(&n, value, RTE_MIN((size_t)len, sizeof(n)));
	*ip = n.imr_address.s_addr;
	*group = n.imr_multiaddr.s_addr;
	return len < sizeof(n) || n.imr_ifindex == 0;
}

/* The port's, if it is not one that the kernel alone has. The kernel is told, too; it may know no such address. */
static int
member(int fd, struct file *f, int name, const void *value, socklen_t len)
{
	const bool on = name == IP_ADD_MEMBERSHIP || name == IP_ADD_SOURCE_MEMBERSHIP;
	struct ip_mreq_source with = {0};
	rte_be32_t ip = 0, group = 0;
	int rc, mine = -ENETUNREACH;

	if (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP) {
		if (!interface(value, len, &ip, &group))
			group = 0;
	} else if (len >= sizeof(with)) {
		memcpy(&with, value, sizeof(with));
		ip = with.imr_interface.s_addr;
		group = with.imr_multiaddr.s_addr;
	}
	if (IN_MULTICAST(ntohl(group)) && (ip == 0 || dgram_port_addr(ip)) && net_start() != NULL)
		mine = dgram_join(fd, f, group, with.imr_sourceaddr.s_addr, on);
	rc = real()->setsockopt(fd, IPPROTO_IP, name, value, len);
	if (mine == -ENETUNREACH)
		return rc;
	return mine == 0 ? 0 : (int)result(mine);
}

static int
via(int fd, struct file *f, const void *value, socklen_t len)
{
	struct dgram *d = f->dgram;
	rte_be32_t ip = 0, group;
	bool named = true;
	int rc;

	if (len >= sizeof(struct ip_mreq))
		named = interface(value, len, &ip, &group);
	else if (len >= sizeof(ip))
		memcpy(&ip, value, sizeof(ip));
	rc = real()->setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, value, len);
	if (named && ip != 0 && dgram_port_addr(ip)) {
		d->via = ip;
		d->via_os = false;
		return 0;
	}
	if (rc == 0) {
		d->via = 0;
		d->via_os = ip != 0 || !named;
	}
	return rc;
}

/* --- the calls --- */

static bool
refused(int level, int name)
{
	return level == SOL_SOCKET && (name == SO_ZEROCOPY || name == SO_BINDTODEVICE || name == SO_TXTIME ||
				       name == SO_TIMESTAMPING_OLD || name == SO_TIMESTAMPING_NEW);
}

static void
took(int fd, struct file *f, int level, int name)
{
	struct dgram *d = f->dgram;
	atomic_bool *on = beside(d, level, name);
	int v = 0;
	socklen_t len = sizeof(v);

	f->touched = 1;
	f->rcvbuf |= level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_RCVBUFFORCE);
	if (level == SOL_SOCKET && name == SO_RCVBUFFORCE)
		name = SO_RCVBUF;
	for (unsigned int i = 0; i < RTE_DIM(numbers); i++)
		if (numbers[i].level == level && numbers[i].name == name)
			number(fd, f, i);
	if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
		timeout(fd, f, name);
	if ((on == NULL && !is_stamp(level, name)) || real()->getsockopt(fd, level, name, &v, &len) != 0)
		return;
	if (on != NULL)
		*on = v != 0;
	else if (v != 0)
		d->stamp = name;
	else
		d->stamp = 0;
}

static int
cork(int fd, struct file *f, const void *value, socklen_t len)
{
	int on;

	if (len < sizeof(on))
		return (int)result(-EINVAL);
	memcpy(&on, value, sizeof(on));
	pthread_mutex_lock(&f->dgram->more_lock);
	f->dgram->corked = on != 0;
	if (on == 0)
		dgram_uncork(fd, f);
	pthread_mutex_unlock(&f->dgram->more_lock);
	return 0;
}

int
dgram_setsockopt(int fd, struct file *f, int level, int name, const void *value, socklen_t len)
{
	int rc;

	if (level == IPPROTO_UDP && name == UDP_CORK)
		return cork(fd, f, value, len);
	/* Who asks for it goes on without. */
	if (level == IPPROTO_UDP && (name == UDP_SEGMENT_NAME || name == UDP_GRO_NAME))
		return (int)result(-ENOPROTOOPT);
	if (f->s != NULL && refused(level, name))
		return (int)result(-EOPNOTSUPP);
	if (level == IPPROTO_IP && (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP ||
				    name == IP_ADD_SOURCE_MEMBERSHIP || name == IP_DROP_SOURCE_MEMBERSHIP))
		return member(fd, f, name, value, len);
	if (level == IPPROTO_IP && name == IP_MULTICAST_IF)
		return via(fd, f, value, len);
	rc = real()->setsockopt(fd, level, name, value, len);
	if (rc == 0)
		took(fd, f, level, name);
	return rc;
}

int
dgram_getsockopt(int fd, struct file *f, int level, int name, void *value, socklen_t *len)
{
	const rte_be32_t via = f->dgram->via;
	int err;

	if (level == SOL_SOCKET && name == SO_ERROR && f->s != NULL) {
		err = sock_dgram_error(f->s);
		if (err != 0) {
			*len = RTE_MIN(*len, (socklen_t)sizeof(err));
			memcpy(value, &err, *len);
			return 0;
		}
		(void)sock_dgram_os_take(f->s);
		err = real()->getsockopt(fd, level, name, value, len);
		dgram_os_look(fd, f);
		return err;
	}
	if (level == IPPROTO_IP && name == IP_MULTICAST_IF && via != 0) {
		*len = RTE_MIN(*len, (socklen_t)sizeof(via));
		memcpy(value, &via, *len);
		return 0;
	}
	return real()->getsockopt(fd, level, name, value, len);
}
