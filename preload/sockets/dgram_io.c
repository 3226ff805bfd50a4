/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Datagrams: which half sends each, what comes by both, and what comes with it. */
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "dgram.h"

#define DATA_MAX 65507u

/* --- out -------------------------------------------------------------------------------------------------------------- */

/* What is said beside the data. 0 or a negative errno. */
static int
said(const struct msghdr *msg, struct udp_tx *tx)
{
	const struct cmsghdr *c;
	struct in_pktinfo info;
	int v;

	for (c = CMSG_FIRSTHDR(msg); c != NULL;
	     c = CMSG_NXTHDR((struct msghdr *)(uintptr_t)msg, (struct cmsghdr *)(uintptr_t)c)) {
		const size_t len = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_len < CMSG_LEN(0) || c->cmsg_level == IPPROTO_UDP)
			return -EINVAL;
		if (c->cmsg_level != IPPROTO_IP)
			continue;
		if (c->cmsg_type == IP_PKTINFO) {
			if (len != sizeof(info))
				return -EINVAL;
			memcpy(&info, CMSG_DATA(c), sizeof(info));
			tx->from = info.ipi_spec_dst.s_addr;
			continue;
		}
		if (len != sizeof(int) && !(len == 1 && c->cmsg_type == IP_TOS))
			return -EINVAL;
		v = *CMSG_DATA(c);
		if (len == sizeof(int))
			memcpy(&v, CMSG_DATA(c), sizeof(v));
		if (c->cmsg_type == IP_TTL && v >= 1 && v <= 255)
			tx->ttl = v;
		else if (c->cmsg_type == IP_TOS && v >= 0 && v <= 255)
			tx->tos = v;
		else
			return -EINVAL;
	}
	return 0;
}

/* Does the engine's half send to this address? It begins if it has not. */
static bool
engine_sends(int fd, struct file *f, const struct tcp_addr *to)
{
	const bool group = IN_MULTICAST(ntohl(to->ip));

	if (to->port == 0 || to->ip == 0 || to->ip == INADDR_BROADCAST || addr_loopback(to->ip) ||
	    !rules_engine(UDP_SENDER, to) || net_start() == NULL || net_has(to->ip) || (group && f->dgram->via_os))
		return false;
	if (f->s != NULL)
		return true;
	if (!group && net_from(to->ip) == 0)
		return false;
	pthread_mutex_lock(&f->lock);
	(void)dgram_begin(fd, f);
	pthread_mutex_unlock(&f->lock);
	return f->s != NULL;
}

/* What came by ICMP to the kernel, where a port has an interface of it. */
static int
os_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return real()->getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 ? -err : 0;
}

static ssize_t
send_engine(int fd, struct file *f, const struct msghdr *msg, const struct tcp_addr *to, int flags)
{
	struct udp_tx tx = {.to = to, .ttl = -1, .tos = -1};
	int rc = said(msg, &tx);

	if (rc != 0)
		return rc;
	if (tx.from != 0 && !dgram_port_addr(tx.from))
		return -ENETUNREACH;
	if ((flags & MSG_OOB) != 0)
		return -EOPNOTSUPP;
	if (sock_dgram_os_bad(f->s)) {
		(void)sock_dgram_os_take(f->s);
		rc = os_error(fd);
		if (rc != 0)
			return rc;
	}
	if (tx.from == 0 && to != NULL && IN_MULTICAST(ntohl(to->ip)))
		tx.from = f->dgram->via;
	return sock_dgram_send(f->s, msg->msg_iov, (int)msg->msg_iovlen, flags | (f->nonblock ? MSG_DONTWAIT : 0), &tx);
}

static ssize_t
send_msg(int fd, struct file *f, const struct msghdr *msg, int flags)
{
	struct tcp_addr to = {0, 0};
	ssize_t rc = -ENETUNREACH;

	if (msg->msg_name == NULL || msg->msg_namelen == 0) {
		if (f->dgram->connected && f->s != NULL)
			rc = send_engine(fd, f, msg, NULL, flags);
	} else if (addr_inet(msg->msg_name, msg->msg_namelen, &to) && engine_sends(fd, f, &to)) {
		rc = send_engine(fd, f, msg, &to, flags);
	}
	/* The port has no way there: the kernel may have one, and tells if not. */
	return rc == -ENETUNREACH || rc == -ECONNABORTED
		       ? stat_os(fd, SOCK_OS_TX_PACKETS, real()->sendmsg(fd, msg, flags))
		       : result(rc);
}

/* MSG_MORE, UDP_CORK: one datagram of several calls, sent by the first without. */
static ssize_t
send_more(int fd, struct file *f, const struct msghdr *msg, int flags)
{
	struct dgram *d = f->dgram;
	struct msghdr all = *msg;
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct iovec iov;
	size_t len = 0;
	ssize_t rc;

	for (size_t i = 0; i < msg->msg_iovlen; i++)
		len += msg->msg_iov[i].iov_len;
	if (d->more_len + len > DATA_MAX)
		return result(-EMSGSIZE);
	if (d->more == NULL)
		d->more = malloc(DATA_MAX);
	if (d->more == NULL)
		return result(-ENOMEM);
	if (d->more_len == 0 && !addr_inet(msg->msg_name, msg->msg_namelen, &d->more_to))
		d->more_to = (struct tcp_addr){0, 0};
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		memcpy(d->more + d->more_len, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
		d->more_len += msg->msg_iov[i].iov_len;
	}
	if (d->corked || (flags & MSG_MORE) != 0)
		return (ssize_t)len;
	iov = (struct iovec){d->more, d->more_len};
	in.sin_addr.s_addr = d->more_to.ip;
	in.sin_port = d->more_to.port;
	all.msg_iov = &iov;
	all.msg_iovlen = 1;
	all.msg_name = d->more_to.port == 0 ? NULL : &in;
	all.msg_namelen = d->more_to.port == 0 ? 0 : sizeof(in);
	d->more_len = 0;
	rc = send_msg(fd, f, &all, flags);
	return rc < 0 ? rc : (ssize_t)len;
}

void
dgram_uncork(int fd, struct file *f)
{
	const struct msghdr none = {0};

	f->dgram->corked = false;
	if (f->dgram->more_len != 0)
		(void)send_more(fd, f, &none, 0);
}

ssize_t
dgram_out(int fd, struct file *f, const struct msghdr *msg, int flags)
{
	ssize_t rc;

	if (unlikely((flags & MSG_MORE) != 0 || f->dgram->corked || f->dgram->more_len != 0)) {
		pthread_mutex_lock(&f->dgram->more_lock);
		rc = send_more(fd, f, msg, flags);
		pthread_mutex_unlock(&f->dgram->more_lock);
	} else {
		rc = send_msg(fd, f, msg, flags);
	}
	file_put(f);
	return rc;
}

ssize_t
dgram_out_iov(int fd, struct file *f, const struct iovec *iov, int n, int flags)
{
	const struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};

	return dgram_out(fd, f, &msg, flags);
}

/* --- in --------------------------------------------------------------------------------------------------------------- */

/* A message beside the data. */
static void
tell(struct msghdr *msg, size_t *used, int level, int type, const void *data, size_t len)
{
	const size_t room = msg->msg_controllen - *used;
	struct cmsghdr c = {.cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type};
	uint8_t *at = (uint8_t *)msg->msg_control + *used;

	if (room < sizeof(c)) {
		msg->msg_flags |= MSG_CTRUNC;
		return;
	}
	if (room < CMSG_LEN(len)) {
		msg->msg_flags |= MSG_CTRUNC;
		c.cmsg_len = room;
		len = room - CMSG_LEN(0);
	}
	memcpy(at, &c, sizeof(c));
	memcpy(at + CMSG_LEN(0), data, len);
	*used += RTE_MIN(CMSG_SPACE(len), room);
}

static void
stamp(struct msghdr *msg, size_t *used, int name, uint64_t us)
{
	const bool ns = name == SO_TIMESTAMPNS_OLD || name == SO_TIMESTAMPNS_NEW;
	const uint64_t ago = sock_now() - us;
	struct timespec t;
	struct timeval v;
	uint64_t at;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	at = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - ago * 1000;
	t = (struct timespec){(time_t)(at / 1000000000), (long)(at % 1000000000)};
	v = (struct timeval){t.tv_sec, (suseconds_t)(t.tv_nsec / 1000)};
	if (ns)
		tell(msg, used, SOL_SOCKET, name, &t, sizeof(t));
	else
		tell(msg, used, SOL_SOCKET, name, &v, sizeof(v));
}

/* The kernel's interface that has an address; 0: none has. */
static int
interface_of(rte_be32_t ip)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static rte_be32_t last_ip;
	static uint64_t last_at;
	static int last;
	struct ifaddrs *all, *i;

	pthread_mutex_lock(&lock);
	if (last_ip != ip || sock_now() - last_at > 1000000) {
		last_ip = ip;
		last_at = sock_now();
		last = 0;
		if (getifaddrs(&all) == 0) {
			for (i = all; i != NULL && last == 0; i = i->ifa_next)
				if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET &&
				    ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr == ip)
					last = (int)if_nametoindex(i->ifa_name);
			freeifaddrs(all);
		}
	}
	pthread_mutex_unlock(&lock);
	return last;
}

/* In Linux's order. */
static void
beside(struct file *f, struct msghdr *msg, const struct udp_meta *meta)
{
	const struct dgram *d = f->dgram;
	struct in_pktinfo info = {.ipi_addr.s_addr = meta->to.ip};
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = meta->to.ip, .sin_port = meta->to.port};
	const uint32_t drops = d->ovfl ? sock_dgram_drops(f->s) : 0;
	const int ttl = meta->ttl;
	size_t used = 0;

	if (d->stamp != 0)
		stamp(msg, &used, d->stamp, meta->us);
	if (drops != 0)
		tell(msg, &used, SOL_SOCKET, SO_RXQ_OVFL, &drops, sizeof(drops));
	if (d->pktinfo) {
		info.ipi_spec_dst.s_addr = IN_MULTICAST(ntohl(meta->to.ip)) ? net_from(meta->from.ip) : meta->to.ip;
		info.ipi_ifindex = interface_of(info.ipi_spec_dst.s_addr);
		tell(msg, &used, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	}
	if (d->recvttl)
		tell(msg, &used, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	if (d->recvtos)
		tell(msg, &used, IPPROTO_IP, IP_TOS, &meta->tos, 1);
	if (d->recvorig)
		tell(msg, &used, IPPROTO_IP, IP_ORIGDSTADDR, &to, sizeof(to));
	msg->msg_controllen = used;
}

static ssize_t
got(struct file *f, struct msghdr *msg, int flags, ssize_t rc, const struct udp_meta *meta)
{
	msg->msg_flags = meta->len > (size_t)rc ? MSG_TRUNC : 0;
	if (msg->msg_name != NULL)
		addr_put(&meta->from, msg->msg_name, &msg->msg_namelen);
	else
		msg->msg_namelen = 0;
	if (msg->msg_control != NULL)
		beside(f, msg, meta);
	else
		msg->msg_controllen = 0;
	return (flags & MSG_TRUNC) != 0 ? (ssize_t)meta->len : rc;
}

/* More of what was there once is told by nobody. */
void
dgram_os_look(int fd, struct file *f)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (real()->poll(&p, 1, 0) == 1)
		sock_dgram_os_has(f->s, (p.revents & POLLIN) != 0, (p.revents & POLLERR) != 0);
}

/* What the other half has; -EAGAIN: nothing. */
static ssize_t
recv_os(int fd, struct file *f, struct msghdr *msg, int flags)
{
	ssize_t rc = stat_os(fd, SOCK_OS_RX_PACKETS, real()->recvmsg(fd, msg, flags | MSG_DONTWAIT));
	const int err = rc < 0 ? errno : 0;

	dgram_os_look(fd, f);
	return rc < 0 ? -err : rc;
}

static ssize_t
recv_one(int fd, struct file *f, struct msghdr *msg, int flags)
{
	const struct msghdr asked = *msg;
	struct udp_meta meta;
	ssize_t rc = -EAGAIN;

	if (sock_dgram_os_bad(f->s) && sock_dgram_os_take(f->s))
		rc = recv_os(fd, f, msg, flags);
	if (rc != -EAGAIN)
		return rc;
	*msg = asked;
	rc = sock_dgram_recv(f->s, msg->msg_iov, (int)msg->msg_iovlen, flags & MSG_PEEK, &meta);
	if (rc >= 0)
		return got(f, msg, flags, rc, &meta);
	if (rc == -EAGAIN && sock_dgram_os_take(f->s)) {
		rc = recv_os(fd, f, msg, flags);
		if (rc == -EAGAIN)
			*msg = asked;
	}
	return rc;
}

static ssize_t
recv_both(int fd, struct file *f, struct msghdr *msg, int flags)
{
	const bool wait = !f->nonblock && (flags & MSG_DONTWAIT) == 0;
	uint64_t until = 0;
	ssize_t rc;

	for (;;) {
		rc = recv_one(fd, f, msg, flags);
		if (rc == -ESHUTDOWN)
			return wait ? 0 : -EAGAIN;
		if (rc != -EAGAIN || !wait)
			return rc;
		if (until == 0)
			until = sock_until(f->s, true);
		rc = sock_wait_ready(f->s, EPOLLIN, until);
		if (rc != 0)
			return rc;
	}
}

ssize_t
dgram_in(int fd, struct file *f, struct msghdr *msg, int flags)
{
	ssize_t rc;

	dgram_start(fd, f);
	if (f->s == NULL || (flags & MSG_ERRQUEUE) != 0) {
		file_put(f);
		return stat_os(fd, SOCK_OS_RX_PACKETS, real()->recvmsg(fd, msg, flags));
	}
	dgram_again(f);
	rc = recv_both(fd, f, msg, flags);
	file_put(f);
	return result(rc);
}

ssize_t
dgram_in_iov(int fd, struct file *f, const struct iovec *iov, int n, int flags)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};

	return dgram_in(fd, f, &msg, flags);
}

/* The time is looked at after each datagram, as Linux does; it ends no wait. */
int
dgram_in_many(int fd, struct file *f, struct mmsghdr *msg, unsigned int n, int flags, struct timespec *timeout)
{
	uint64_t until = TCP_NEVER, now;
	unsigned int i;
	ssize_t rc = 0;

	if (timeout != NULL)
		until = sock_now() + (uint64_t)timeout->tv_sec * 1000000 + (uint64_t)timeout->tv_nsec / 1000;
	for (i = 0; i < n; i++) {
		f->refs++;
		rc = dgram_in(fd, f, &msg[i].msg_hdr, flags & ~MSG_WAITFORONE);
		if (rc < 0)
			break;
		msg[i].msg_len = (unsigned int)rc;
		if ((flags & MSG_WAITFORONE) != 0)
			flags |= MSG_DONTWAIT;
		now = sock_now();
		if (timeout != NULL) {
			timeout->tv_sec = now >= until ? 0 : (time_t)((until - now) / 1000000);
			timeout->tv_nsec = now >= until ? 0 : (long)((until - now) % 1000000 * 1000);
		}
		if (now >= until) {
			i++;
			break;
		}
	}
	file_put(f);
	return i != 0 || rc >= 0 ? (int)i : -1;
}

/* Of no octets read(2) takes no datagram. */
ssize_t
dgram_read(int fd, struct file *f, const struct iovec *iov, int n)
{
	for (int i = 0; i < n; i++)
		if (iov[i].iov_len != 0)
			return dgram_in_iov(fd, f, iov, n, 0);
	file_put(f);
	return 0;
}

int
dgram_inq(int fd, struct file *f)
{
	int n = sock_dgram_inq(f->s);

	if (n < 0 && real()->ioctl(fd, FIONREAD, &n) != 0)
		n = 0;
	return n;
}
