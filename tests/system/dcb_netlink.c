/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Preloaded into lldpad, which speaks DCBX only for interfaces whose driver has the kernel's DCB operations; no virtual
 * interface has them. This answers the DCB requests on a netlink socket in the kernel's place, for every interface, and
 * writes what the program sets to the file named by DCB_NETLINK_LOG: "ets PRIO_TC BW TSA", "pfc MASK",
 * "app SELECTOR PROTOCOL PRIORITY", "del SELECTOR PROTOCOL PRIORITY".
 */
#include <dlfcn.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLASSES 8
#define APPS 64

/* The kernel's table of applications: what an agent sends is what it finds here. */
static struct dcb_app table[APPS];
static unsigned int num_apps;

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len);
int connect(int fd, const struct sockaddr *to, socklen_t to_len);

static void
put(struct nlmsghdr *h, uint16_t type, const void *data, uint16_t len)
{
	struct nlattr *a = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));

	a->nla_type = type;
	a->nla_len = (uint16_t)(NLA_HDRLEN + len);
	memcpy((char *)a + NLA_HDRLEN, data, len);
	h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + NLA_ALIGN(a->nla_len);
}

static void
put_ieee(struct nlmsghdr *h)
{
	struct nlattr *nest = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));
	struct ieee_ets ets = {.ets_cap = CLASSES};
	struct ieee_pfc pfc = {.pfc_cap = CLASSES};
	uint32_t at = h->nlmsg_len, apps_at;
	struct nlattr *apps;
	unsigned int i;

	put(h, DCB_ATTR_IEEE, "", 0);
	put(h, DCB_ATTR_IEEE_ETS, &ets, sizeof(ets));
	put(h, DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc));
	apps = (void *)((char *)h + h->nlmsg_len);
	apps_at = h->nlmsg_len;
	put(h, DCB_ATTR_IEEE_APP_TABLE, "", 0);
	for (i = 0; i < num_apps; i++)
		put(h, DCB_ATTR_IEEE_APP, &table[i], sizeof(table[i]));
	apps->nla_len = (uint16_t)(h->nlmsg_len - apps_at);
	nest->nla_len = (uint16_t)(h->nlmsg_len - at);
}

static void
app_set(const struct dcb_app *app, bool del)
{
	unsigned int i;

	for (i = 0; i < num_apps && memcmp(&table[i], app, sizeof(*app)) != 0; i++)
		;
	if (del && i < num_apps)
		table[i] = table[--num_apps];
	else if (!del && i == num_apps && num_apps < APPS)
		table[num_apps++] = *app;
}

static void
log_table(FILE *f, const uint8_t *v)
{
	unsigned int i;

	for (i = 0; i < CLASSES; i++)
		fprintf(f, "%s%u", i == 0 ? " " : ",", v[i]);
}

static void
log_attrs(FILE *f, const struct nlattr *a, int len, bool del)
{
	for (; len >= (int)NLA_HDRLEN && a->nla_len >= NLA_HDRLEN && a->nla_len <= len;
	     len -= NLA_ALIGN(a->nla_len), a = (const void *)((const char *)a + NLA_ALIGN(a->nla_len))) {
		const void *v = (const char *)a + NLA_HDRLEN;
		const struct ieee_ets *ets = v;
		const struct ieee_pfc *pfc = v;
		const struct dcb_app *app = v;

		switch (a->nla_type & NLA_TYPE_MASK) {
		case DCB_ATTR_IEEE_ETS:
			fprintf(f, "ets");
			log_table(f, ets->prio_tc);
			log_table(f, ets->tc_tx_bw);
			log_table(f, ets->tc_tsa);
			fputc('\n', f);
			break;
		case DCB_ATTR_IEEE_PFC: fprintf(f, "pfc %u\n", pfc->pfc_en); break;
		case DCB_ATTR_IEEE_APP_TABLE:
			app = (const void *)((const char *)v + NLA_HDRLEN);
			app_set(app, del);
			fprintf(f, "%s %u %u %u\n", del ? "del" : "app", app->selector, app->protocol, app->priority);
			break;
		default: break;
		}
	}
}

static void
log_set(const struct nlmsghdr *req, bool del)
{
	const char *path = getenv("DCB_NETLINK_LOG");
	FILE *f = path == NULL ? NULL : fopen(path, "a");
	int len = (int)req->nlmsg_len - (int)NLMSG_LENGTH(sizeof(struct dcbmsg));
	const struct nlattr *a = (const void *)((const char *)req + NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct dcbmsg)));

	for (; f != NULL && len >= (int)NLA_HDRLEN && a->nla_len >= NLA_HDRLEN && a->nla_len <= len;
	     len -= NLA_ALIGN(a->nla_len), a = (const void *)((const char *)a + NLA_ALIGN(a->nla_len)))
		if ((a->nla_type & NLA_TYPE_MASK) == DCB_ATTR_IEEE)
			log_attrs(f, (const void *)((const char *)a + NLA_HDRLEN), a->nla_len - (int)NLA_HDRLEN, del);
	if (f != NULL)
		fclose(f);
}

/* The reply goes to the program's own socket, as from the kernel: root may send netlink messages to anybody. */
static void
reply(int fd, const struct nlmsghdr *h)
{
	struct sockaddr_nl to = {0};
	socklen_t len = sizeof(to);
	ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) =
		(__typeof__(real))dlsym(RTLD_NEXT, "sendto");
	int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (getsockname(fd, (struct sockaddr *)&to, &len) != 0 ||
	    real(s, h, h->nlmsg_len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		perror("dcb_netlink: reply");
	close(s);
}

static bool
answered(int fd, const struct nlmsghdr *req)
{
	union {
		struct nlmsghdr h;
		char room[4096];
	} r = {{0}};
	const struct dcbmsg *in = (const void *)((const char *)req + NLMSG_HDRLEN);
	const uint8_t mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE, good = 0;

	if (req->nlmsg_type != RTM_GETDCB && req->nlmsg_type != RTM_SETDCB)
		return false;
	r.h = *req;
	r.h.nlmsg_flags = 0;
	r.h.nlmsg_len = NLMSG_LENGTH(sizeof(*in));
	memcpy(NLMSG_DATA(&r.h), in, sizeof(*in));
	switch (in->cmd) {
	case DCB_CMD_GDCBX: put(&r.h, DCB_ATTR_DCBX, &mode, 1); break;
	case DCB_CMD_SDCBX: put(&r.h, DCB_ATTR_DCBX, &good, 1); break;
	case DCB_CMD_IEEE_GET: put_ieee(&r.h); break;
	case DCB_CMD_IEEE_SET:
	case DCB_CMD_IEEE_DEL:
		log_set(req, in->cmd == DCB_CMD_IEEE_DEL);
		put(&r.h, DCB_ATTR_IEEE, &good, 1);
		break;
	default: return false;
	}
	reply(fd, &r.h);
	return true;
}

static bool
is_netlink(const struct sockaddr *to)
{
	return to != NULL && to->sa_family == AF_NETLINK;
}

ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int) = (__typeof__(real))dlsym(RTLD_NEXT, "sendmsg");

	if (is_netlink(msg->msg_name) && msg->msg_iovlen == 1 && msg->msg_iov[0].iov_len >= NLMSG_HDRLEN &&
	    answered(fd, msg->msg_iov[0].iov_base))
		return (ssize_t)msg->msg_iov[0].iov_len;
	return real(fd, msg, flags);
}

ssize_t
sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) =
		(__typeof__(real))dlsym(RTLD_NEXT, "sendto");

	if (is_netlink(to) && len >= NLMSG_HDRLEN && answered(fd, buf))
		return (ssize_t)len;
	return real(fd, buf, len, flags, to, to_len);
}

/* A netlink socket that is connected to the kernel takes no other replies: leave it unconnected. */
int
connect(int fd, const struct sockaddr *to, socklen_t to_len)
{
	int (*real)(int, const struct sockaddr *, socklen_t) = (__typeof__(real))dlsym(RTLD_NEXT, "connect");
	struct sockaddr_nl any = {.nl_family = AF_NETLINK};

	if (is_netlink(to))
		return bind(fd, (const struct sockaddr *)&any, sizeof(any));
	return real(fd, to, to_len);
}
