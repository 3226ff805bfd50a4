/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Cases of sock_udp: flags, what comes beside datagrams, options, groups, a socket that is full. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sock_udp.h"

#define GROUP "239.7.7.7"

/* --- flags --- */

void
case_flags(bool calls)
{
	const struct timeval t = {0, 30000};
	struct iovec iov[2] = {{text, 2}, {text + 10, 3}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	struct mmsghdr many[4];
	struct iovec each[4];
	struct timespec ts = {60, 0};
	int n = -1;

	meet(calls);
	if (calls) {
		for (int i = 0; i < 11; i++)
			put(fd, &where, "abcdefgh", 8);
		take();
		memset(many, 0, sizeof(many));
		for (int i = 0; i < 3; i++) {
			each[i] = (struct iovec){text, (size_t)i + 1};
			many[i].msg_hdr = (struct msghdr){
				.msg_name = &where, .msg_namelen = sizeof(where), .msg_iov = &each[i], .msg_iovlen = 1};
		}
		tell("sendmmsg", sendmmsg(fd, many, 3, 0));
		printf("lengths %u %u %u\n", many[0].msg_len, many[1].msg_len, many[2].msg_len);
		take();
		return;
	}
	tell("peek", recv(fd, text, 4, MSG_PEEK));
	tell("peek all", recv(fd, text, 4, MSG_PEEK | MSG_TRUNC));
	tell("waiting octets", ioctl(fd, FIONREAD, &n) == 0 ? n : -1);
	tell("short", recv(fd, text, 4, 0));
	tell("its length", recv(fd, text, 4, MSG_TRUNC));
	tell("read", read(fd, text, 4));
	tell("no octets by read", read(fd, text, 0));
	tell("no octets", recv(fd, text, 0, 0));
	tell("wait for all", recv(fd, text, 100, MSG_WAITALL));
	tell("recvmsg", recvmsg(fd, &msg, 0));
	printf("flags %#x, octets %.2s%.3s\n", (unsigned int)msg.msg_flags, text, text + 10);
	msg.msg_flags = 0;
	tell("and its length", recvmsg(fd, &msg, MSG_TRUNC));
	printf("flags %#x\n", (unsigned int)msg.msg_flags);
	tell("readv", readv(fd, iov, 2));
	tell("urgent", recv(fd, text, 8, MSG_OOB));
	memset(many, 0, sizeof(many));
	for (int i = 0; i < 4; i++) {
		each[i] = (struct iovec){text + 100 * i, 100};
		many[i].msg_hdr = (struct msghdr){.msg_iov = &each[i], .msg_iovlen = 1};
	}
	tell("two", recvmmsg(fd, many, 2, 0, NULL));
	printf("lengths %u %u\n", many[0].msg_len, many[1].msg_len);
	tell("nothing", recv(fd, text, 8, MSG_DONTWAIT));
	tell("none", recvmmsg(fd, many, 2, MSG_DONTWAIT, NULL));
	tell("errors", recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT));
	put(fd, &peer, "g", 1);
	tell("first of many", recvmmsg(fd, many, 1, MSG_WAITFORONE, &ts));
	tell("the others", recvmmsg(fd, many, 2, 0, &ts));
	printf("lengths %u %u, seconds left %d\n", many[0].msg_len, many[1].msg_len, ts.tv_sec >= 3);
	put(fd, &peer, "e", 1);
	tell("SO_RCVTIMEO", setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
	tell("in time", recv(fd, text, 1, 0));
}

/* --- what comes beside --- */

static void
show_beside(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		const size_t len = c->cmsg_len - CMSG_LEN(0);
		struct in_pktinfo info;
		struct timespec now, ts;
		struct timeval tv;

		printf("  level %d, type %d, %zu octets", c->cmsg_level, c->cmsg_type, len);
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO && len == sizeof(info)) {
			memcpy(&info, CMSG_DATA(c), sizeof(info));
			printf(", to %d, by %d", info.ipi_addr.s_addr == where.sin_addr.s_addr,
			       info.ipi_spec_dst.s_addr == where.sin_addr.s_addr);
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_ORIGDSTADDR) {
			printf(", %d", is((const struct sockaddr_in *)(const void *)CMSG_DATA(c), &where));
		} else if (c->cmsg_level == IPPROTO_IP) {
			printf(", %d", *CMSG_DATA(c));
		} else if (c->cmsg_level == SOL_SOCKET &&
			   (c->cmsg_type == SO_TIMESTAMP || c->cmsg_type == SO_TIMESTAMPNS)) {
			clock_gettime(CLOCK_REALTIME, &now);
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			memcpy(&tv, CMSG_DATA(c), sizeof(tv));
			/* The same number of microseconds would be as many nanoseconds. */
			printf(", not long ago %d",
			       ts.tv_sec <= now.tv_sec && ts.tv_sec > now.tv_sec - 60 && tv.tv_usec < 1000000000);
		}
		printf("\n");
	}
}

static void
show_msg(const char *what, size_t room)
{
	union {
		struct cmsghdr align;
		char octet[512];
	} control;
	struct iovec iov = {text, sizeof(text)};
	struct msghdr m = {.msg_name = &peer,
			   .msg_namelen = sizeof(peer),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = room};

	tell(what, recvmsg(fd, &m, 0));
	printf("  name %u octets, control %d, flags %#x\n", m.msg_namelen, m.msg_controllen != 0,
	       (unsigned int)m.msg_flags);
	show_beside(&m);
}

static void
beside_send(const char *what, int type, const void *value, size_t len)
{
	union {
		struct cmsghdr head;
		char octet[CMSG_SPACE(sizeof(struct in_pktinfo))];
	} control = {{0}};
	struct iovec iov = {text, 10};
	struct msghdr m = {.msg_name = &where,
			   .msg_namelen = sizeof(where),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = CMSG_LEN(len)};

	control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(len), .cmsg_level = IPPROTO_IP, .cmsg_type = type};
	memcpy(CMSG_DATA(&control.head), value, len);
	tell(what, sendmsg(fd, &m, 0));
}

void
case_beside(bool calls)
{
	struct in_pktinfo info = {0};
	struct sockaddr_in own;
	socklen_t len = sizeof(own);
	int v;

	if (!calls) {
		on("IP_PKTINFO", IPPROTO_IP, IP_PKTINFO, 1);
		on("IP_RECVTTL", IPPROTO_IP, IP_RECVTTL, 1);
		on("IP_RECVTOS", IPPROTO_IP, IP_RECVTOS, 1);
		on("SO_TIMESTAMP", SOL_SOCKET, SO_TIMESTAMP, 1);
	}
	meet(calls);
	if (!calls) {
		show_msg("plain", 512);
		on("IP_RECVORIGDSTADDR", IPPROTO_IP, IP_RECVORIGDSTADDR, 1);
		on("SO_TIMESTAMPNS", SOL_SOCKET, SO_TIMESTAMPNS, 1);
		put(fd, &peer, "g", 1);
		show_msg("a ttl", 512);
		show_msg("a tos", 512);
		show_msg("from an address", 512);
		show_msg("of the socket", 512);
		show_msg("little room", 40);
		show_msg("less room", 8);
		on("no IP_PKTINFO", IPPROTO_IP, IP_PKTINFO, 0);
		on("no SO_TIMESTAMPNS", SOL_SOCKET, SO_TIMESTAMPNS, 0);
		put(fd, &peer, "h", 1);
		show_msg("fewer", 512);
		put(fd, &peer, "i", 1);
		return;
	}
	put(fd, &where, "plain", 5);
	take();
	v = 33;
	beside_send("a ttl", IP_TTL, &v, sizeof(v));
	v = 0x20;
	beside_send("a tos", IP_TOS, &v, sizeof(v));
	v = 0;
	beside_send("no ttl", IP_TTL, &v, sizeof(v));
	v = 300;
	beside_send("too much", IP_TOS, &v, sizeof(v));
	beside_send("short", IP_TTL, &v, 2);
	beside_send("short info", IP_PKTINFO, &v, sizeof(v));
	/* Where this end is, by a connection of another socket. */
	v = make(0);
	if (connect(v, (const struct sockaddr *)&where, sizeof(where)) != 0 ||
	    getsockname(v, (struct sockaddr *)&own, &len) != 0)
		fatal("connect");
	close(v);
	info.ipi_spec_dst = own.sin_addr;
	beside_send("an address", IP_PKTINFO, &info, sizeof(info));
	on("IP_TTL", IPPROTO_IP, IP_TTL, 77);
	on("IP_TOS", IPPROTO_IP, IP_TOS, 0x48);
	for (int i = 0; i < 3; i++)
		put(fd, &where, "ten octets", 10);
	take();
	put(fd, &where, "z", 1);
	take();
}

/* --- options --- */

void
case_options(bool calls)
{
	static const struct {
		const char *name;
		int level, option, value;
	} o[] = {
		{"SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, 100000},
		{"SO_RCVBUF of nothing", SOL_SOCKET, SO_RCVBUF, 0},
		{"SO_SNDBUF", SOL_SOCKET, SO_SNDBUF, 100000},
		{"SO_BROADCAST", SOL_SOCKET, SO_BROADCAST, 7},
		{"SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR, 1},
		{"SO_TIMESTAMP", SOL_SOCKET, SO_TIMESTAMP, 1},
		{"SO_RXQ_OVFL", SOL_SOCKET, SO_RXQ_OVFL, 1},
		{"SO_PRIORITY", SOL_SOCKET, SO_PRIORITY, 3},
		{"IP_TTL", IPPROTO_IP, IP_TTL, 9},
		{"IP_TTL of nothing", IPPROTO_IP, IP_TTL, 0},
		{"IP_TTL too large", IPPROTO_IP, IP_TTL, 256},
		{"IP_TOS", IPPROTO_IP, IP_TOS, 0x10},
		{"IP_PKTINFO", IPPROTO_IP, IP_PKTINFO, 1},
		{"IP_RECVTTL", IPPROTO_IP, IP_RECVTTL, 1},
		{"IP_MULTICAST_TTL", IPPROTO_IP, IP_MULTICAST_TTL, 5},
		{"IP_MULTICAST_TTL too large", IPPROTO_IP, IP_MULTICAST_TTL, 256},
		{"IP_MULTICAST_LOOP", IPPROTO_IP, IP_MULTICAST_LOOP, 0},
		{"IP_MTU_DISCOVER", IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO},
		{"IP_MTU_DISCOVER as name servers have it", IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_OMIT},
		{"IP_MTU_DISCOVER of nothing", IPPROTO_IP, IP_MTU_DISCOVER, 99},
		{"UDP_CORK", IPPROTO_UDP, UDP_CORK, 0},
		{"none", SOL_SOCKET, 9999, 1},
		{"none of UDP", IPPROTO_UDP, 9999, 1},
	};
	static const struct {
		const char *name;
		int option;
	} got[] = {{"SO_TYPE", SO_TYPE},
		   {"SO_PROTOCOL", SO_PROTOCOL},
		   {"SO_ERROR", SO_ERROR},
		   {"SO_ACCEPTCONN", SO_ACCEPTCONN}};
	socklen_t len;
	int v;

	meet(calls);
	for (size_t i = 0; i < sizeof(o) / sizeof(o[0]); i++) {
		on(o[i].name, o[i].level, o[i].option, o[i].value);
		len = sizeof(v);
		v = -1;
		if (o[i].level == IPPROTO_UDP)
			continue;
		tell("  get", getsockopt(fd, o[i].level, o[i].option, &v, &len));
		printf("  value %d, %u octets\n", v, len);
	}
	for (size_t i = 0; i < sizeof(got) / sizeof(got[0]); i++) {
		len = sizeof(v);
		tell(got[i].name, getsockopt(fd, SOL_SOCKET, got[i].option, &v, &len) == 0 ? v : -1);
	}
}

/* --- a socket that is full --- */

#define MANY 300
#define LONG 1000

void
case_drops(bool calls)
{
	struct sockaddr_in behind = {.sin_family = AF_INET, .sin_addr = where.sin_addr};
	union {
		struct cmsghdr head;
		char octet[64];
	} control;
	struct iovec iov = {text, sizeof(text)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	const struct timeval t = {60, 0};
	socklen_t len = sizeof(behind);
	uint32_t lost = 0, n = 0;
	ssize_t last;
	int other;

	if (calls) {
		meet(calls);
		take();
		memcpy(&behind.sin_port, text, sizeof(behind.sin_port));
		for (int i = 0; i < MANY; i++)
			put(fd, &where, text, LONG);
		put(fd, &behind, "e", 1);
		tell("all are sent", MANY);
		tell("the server has read", take());
		put(fd, &where, "last", 4);
		tell("the server ends", take());
		return;
	}
	on("SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, 10000);
	on("SO_RXQ_OVFL", SOL_SOCKET, SO_RXQ_OVFL, 1);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	/* Another one has room for the word that comes behind all: what did not fit into this one is gone then. */
	other = make(0);
	setsockopt(other, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	tell("bind", bind(other, (const struct sockaddr *)&behind, sizeof(behind)));
	tell("getsockname", getsockname(other, (struct sockaddr *)&behind, &len));
	meet(calls);
	put(fd, &peer, (const char *)&behind.sin_port, sizeof(behind.sin_port));
	tell("behind all", recv(other, text, sizeof(text), 0));
	while (recv(fd, text, sizeof(text), MSG_DONTWAIT) >= 0)
		n++;
	put(fd, &peer, "g", 1);
	for (;; n++) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		last = recvmsg(fd, &m, 0);
		if (last != LONG)
			break;
	}
	tell("the last", last);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL)
			memcpy(&lost, CMSG_DATA(c), sizeof(lost));
	tell("some came", n > 3);
	tell("some did not", lost > 200);
	tell("together", n + lost);
	put(fd, &peer, "e", 1);
}

/* --- groups --- */

void
case_groups(bool calls)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = where.sin_port}, own = {0};
	socklen_t len = sizeof(own);
	struct ip_mreq g;
	int probe, n;

	inet_pton(AF_INET, GROUP, &to.sin_addr);
	g.imr_multiaddr = to.sin_addr;
	if (!calls) {
		/* Bound to its address, it would not hear a group. */
		close(fd);
		fd = make(0);
		own = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = where.sin_port};
		tell("bind", bind(fd, (const struct sockaddr *)&own, sizeof(own)));
		g.imr_interface = where.sin_addr;
		tell("join", setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &g, sizeof(g)));
		tell("join again", setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &g, sizeof(g)));
		on("IP_RECVTTL", IPPROTO_IP, IP_RECVTTL, 1);
		printf("listens\n");
		fflush(stdout);
		for (n = 0; n < 2; n++)
			show_msg("to the group", 512);
		put(fd, &peer, "g", 1);
		tell("leave", setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &g, sizeof(g)));
		tell("leave again", setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &g, sizeof(g)));
		put(fd, &peer, "h", 1);
		show_msg("to the host", 512);
		return;
	}
	probe = make(0);
	if (connect(probe, (const struct sockaddr *)&where, sizeof(where)) != 0 ||
	    getsockname(probe, (struct sockaddr *)&own, &len) != 0)
		fatal("connect");
	close(probe);
	fd = make(0);
	tell("IP_MULTICAST_IF", setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &own.sin_addr, sizeof(own.sin_addr)));
	len = sizeof(g.imr_interface);
	tell("  get", getsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &g.imr_interface, &len));
	printf("  the same %d, %u octets\n", g.imr_interface.s_addr == own.sin_addr.s_addr, len);
	tell("sendto", sendto(fd, "one", 3, 0, (const struct sockaddr *)&to, sizeof(to)));
	on("IP_MULTICAST_TTL", IPPROTO_IP, IP_MULTICAST_TTL, 5);
	tell("sendto", sendto(fd, "five!", 5, 0, (const struct sockaddr *)&to, sizeof(to)));
	take();
	take();
	put(fd, &to, "nobody", 6);
	put(fd, &where, "host", 4);
}
