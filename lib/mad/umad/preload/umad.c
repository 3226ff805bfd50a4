/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A library to preload into programs of libibumad: the calls that would reach the kernel go to a process with InfiniBand
 * ports instead (umad_proto.h), by the socket that TP_UMAD_SOCKET names. What only looks into a buffer stays libibumad's.
 *
 * When that process is gone, calls fail slowly: programs whose threads read for ever would fill their logs.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "lib/mad/umad/umad_proto.h"

#define OPEN_PORTS 64
#define GONE_MS 10000 /* between errors of a reader that waits for ever */
#define GONE_SEND_MS 100

/* Open ports are known by the descriptor of their datagrams, so that a program may wait on it. */
static struct {
	int ask_fd, data_fd;
} open_ports[OPEN_PORTS];
static unsigned int num_open;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int
fail(int err)
{
	errno = err;
	return -err;
}

/* --- questions --------------------------------------------------------------------------------------------------- */

static const char *
socket_path(void)
{
	const char *path = getenv(UMAD_PROTO_ENV);

	return path == NULL || path[0] == '\0' ? TP_UMAD_PATH : path;
}

static int
dial(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	const char *path = socket_path();
	int fd;

	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0)
		return fd;
	close(fd);
	return -ENODEV;
}

/* fd: where to put a descriptor that comes along; NULL: none is expected. */
static int
ask(int conn, struct umad_proto_request *q, struct umad_proto_answer *ans, int *fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = {.iov_base = ans, .iov_len = sizeof(*ans)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf)};
	struct cmsghdr *h;

	q->version = UMAD_PROTO_VERSION;
	if (send(conn, q, sizeof(*q), MSG_NOSIGNAL) != (ssize_t)sizeof(*q) ||
	    recvmsg(conn, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*ans))
		return -EIO;
	h = CMSG_FIRSTHDR(&m);
	if (fd != NULL && ans->err == 0) {
		if (h == NULL || h->cmsg_type != SCM_RIGHTS)
			return -EIO;
		memcpy(fd, CMSG_DATA(h), sizeof(*fd));
	}
	return ans->err;
}

static int
ports(struct umad_proto_answer *ans)
{
	struct umad_proto_request q = {.op = UMAD_OP_PORTS};
	int fd = dial(), err;

	ans->num_ports = 0;
	if (fd < 0)
		return fd;
	err = ask(fd, &q, ans, NULL);
	close(fd);
	return err;
}

static bool
is_ca(const struct tp_umad_desc *p, const char *ca)
{
	return ca == NULL || strncmp(p->ca, ca, sizeof(p->ca)) == 0;
}

/* 4: active. */
static const struct tp_umad_desc *
pick(const struct umad_proto_answer *ans, const char *ca, int num)
{
	const struct tp_umad_desc *best = NULL;

	for (uint32_t i = 0; i < ans->num_ports; i++) {
		const struct tp_umad_desc *p = &ans->port[i];

		if (!is_ca(p, ca) || (num > 0 && p->port != (uint32_t)num))
			continue;
		if (best == NULL || (best->state < p->state))
			best = p;
	}
	return best;
}

/* --- adapters and ports ------------------------------------------------------------------------------------------ */

int
umad_init(void)
{
	return 0;
}

int
umad_done(void)
{
	return 0;
}

static int
add_name(char cas[][UMAD_CA_NAME_LEN], int n, int max, const char *name)
{
	for (int i = 0; i < n; i++) {
		if (strcmp(cas[i], name) == 0)
			return n;
	}
	if (n == max)
		return n;
	memcpy(cas[n], name, UMAD_CA_NAME_LEN);
	return n + 1;
}

int
umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	struct umad_proto_answer ans;
	int n = 0;

	if (ports(&ans) != 0)
		return 0;
	for (uint32_t i = 0; i < ans.num_ports; i++)
		n = add_name(cas, n, max, ans.port[i].ca);
	return n;
}

static int
fill_port(const struct tp_umad_desc *p, umad_port_t *port)
{
	memset(port, 0, sizeof(*port));
	memcpy(port->ca_name, p->ca, sizeof(port->ca_name));
	port->portnum = (int)p->port;
	port->base_lid = p->lid;
	port->lmc = p->lmc;
	port->sm_lid = p->sm_lid;
	port->sm_sl = p->sm_sl;
	port->state = p->state;
	port->phys_state = p->phys_state;
	port->rate = p->rate;
	port->capmask = htobe32(p->capmask);
	port->gid_prefix = htobe64(p->gid_prefix);
	port->port_guid = htobe64(p->port_guid);
	strcpy(port->link_layer, "InfiniBand");
	port->pkeys = calloc(TP_UMAD_PKEYS, sizeof(*port->pkeys));
	if (port->pkeys == NULL)
		return -ENOMEM;
	port->pkeys_size = p->num_pkeys;
	memcpy(port->pkeys, p->pkeys, sizeof(p->pkeys));
	return 0;
}

int
umad_release_port(umad_port_t *port)
{
	free(port->pkeys);
	port->pkeys = NULL;
	port->pkeys_size = 0;
	return 0;
}

int
umad_get_port(const char *ca_name, int portnum, umad_port_t *port)
{
	const struct tp_umad_desc *p;
	struct umad_proto_answer ans;

	if (ports(&ans) != 0)
		return fail(ENODEV);
	p = pick(&ans, ca_name, portnum);
	return p == NULL ? fail(ENODEV) : fill_port(p, port);
}

int
umad_release_ca(umad_ca_t *ca)
{
	/* The analyzer does not see that each port has a place of its own. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	for (int i = 0; i < UMAD_CA_MAX_PORTS; i++) {
		if (ca->ports[i] == NULL)
			continue;
		umad_release_port(ca->ports[i]);
		free(ca->ports[i]);
		ca->ports[i] = NULL;
	}
	return 0;
}

int
umad_get_ca(const char *ca_name, umad_ca_t *ca)
{
	const struct tp_umad_desc *first;
	struct umad_proto_answer ans;

	if (ports(&ans) != 0)
		return fail(ENODEV);
	first = pick(&ans, ca_name, 0);
	if (first == NULL)
		return fail(ENODEV);
	memset(ca, 0, sizeof(*ca));
	memcpy(ca->ca_name, first->ca, sizeof(ca->ca_name));
	ca->node_type = 1;
	ca->numports = (int)first->ports;
	memcpy(ca->fw_ver, first->fw_ver, sizeof(ca->fw_ver));
	memcpy(ca->hw_ver, first->hw_ver, sizeof(ca->hw_ver));
	memcpy(ca->ca_type, first->ca_type, sizeof(ca->ca_type));
	ca->node_guid = htobe64(first->node_guid);
	ca->system_guid = htobe64(first->system_guid);
	/* Each port has a place of its own in ca. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	for (uint32_t i = 0; i < ans.num_ports; i++) {
		const struct tp_umad_desc *p = &ans.port[i];
		umad_port_t *port;

		if (!is_ca(p, first->ca) || p->port >= UMAD_CA_MAX_PORTS || ca->ports[p->port] != NULL)
			continue;
		port = calloc(1, sizeof(*port));
		if (port == NULL || fill_port(p, port) != 0) {
			free(port);
			umad_release_ca(ca);
			return fail(ENOMEM);
		}
		ca->ports[p->port] = port;
	}
	return 0;
}

/* By port number; an adapter has no port 0. */
int
umad_get_ca_portguids(const char *ca_name, __be64 *portguids, int max)
{
	umad_ca_t ca;
	int n = 0;

	if (umad_get_ca(ca_name, &ca) != 0)
		return -ENODEV;
	if (portguids != NULL && ca.numports + 1 > max) {
		umad_release_ca(&ca);
		return -ENOMEM;
	}
	for (; portguids != NULL && n <= ca.numports; n++)
		portguids[n] = ca.ports[n] == NULL ? 0 : ca.ports[n]->port_guid;
	umad_release_ca(&ca);
	return n;
}

int
umad_get_issm_path(const char *ca_name, int portnum, char path[], int max)
{
	const struct tp_umad_desc *p;
	struct umad_proto_answer ans;

	if (ports(&ans) != 0)
		return fail(ENODEV);
	p = pick(&ans, ca_name, portnum);
	if (p == NULL)
		return fail(ENODEV);
	snprintf(path, (size_t)max, UMAD_PROTO_ISSM, socket_path(), p->ca, p->port);
	return 0;
}

/* The first ones have the ports that are up, as libibumad puts them. */
struct umad_device_node *
umad_get_ca_device_list(void)
{
	char cas[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	int n = umad_get_cas_names(cas, UMAD_MAX_DEVICES);
	struct umad_device_node *head = NULL;

	errno = 0;
	while (n-- > 0) {
		struct umad_device_node *node = malloc(sizeof(*node));
		char *name = strndup(cas[n], UMAD_CA_NAME_LEN - 1);

		if (node == NULL || name == NULL) {
			free(node);
			free(name);
			umad_free_ca_device_list(head);
			errno = ENOMEM;
			head = NULL;
			break;
		}
		*node = (struct umad_device_node){.next = head, .ca_name = name};
		head = node;
	}
	return head; /* NOLINT(clang-analyzer-unix.Malloc): the caller frees the list */
}

void
umad_free_ca_device_list(struct umad_device_node *head)
{
	while (head != NULL) {
		struct umad_device_node *next = head->next;

		free((void *)(uintptr_t)head->ca_name);
		free(head);
		head = next;
	}
}

int
umad_sort_ca_device_list(struct umad_device_node **head, size_t size)
{
	(void)head, (void)size;
	return 0;
}

/* --- open ports -------------------------------------------------------------------------------------------------- */

static int
ask_fd_of(int portid)
{
	int fd = -EINVAL;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < num_open; i++) {
		if (open_ports[i].data_fd == portid)
			fd = open_ports[i].ask_fd;
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

static int
keep(int ask_fd, int data_fd)
{
	int err = 0;

	pthread_mutex_lock(&lock);
	if (num_open == OPEN_PORTS) {
		err = -ENOMEM;
	} else {
		open_ports[num_open].ask_fd = ask_fd;
		open_ports[num_open++].data_fd = data_fd;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int
umad_open_port(const char *ca_name, int portnum)
{
	struct umad_proto_request q = {.op = UMAD_OP_OPEN};
	const struct tp_umad_desc *p;
	struct umad_proto_answer ans;
	int conn, fd = -1, err;

	if (ports(&ans) != 0)
		return fail(ENODEV);
	p = pick(&ans, ca_name, portnum);
	if (p == NULL)
		return fail(ca_name == NULL || pick(&ans, ca_name, 0) == NULL ? ENODEV : EINVAL);
	memcpy(q.ca, p->ca, sizeof(q.ca));
	q.port = p->port;
	conn = dial();
	if (conn < 0)
		return fail(EIO);
	err = ask(conn, &q, &ans, &fd);
	if (err == 0)
		err = keep(conn, fd);
	if (err == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	close(conn);
	return fail(EIO);
}

int
umad_close_port(int portid)
{
	int err = -EINVAL;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < num_open; i++) {
		if (open_ports[i].data_fd != portid)
			continue;
		close(open_ports[i].ask_fd);
		close(open_ports[i].data_fd);
		open_ports[i] = open_ports[--num_open];
		err = 0;
		break;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int
umad_get_fd(int portid)
{
	return ask_fd_of(portid) < 0 ? -EINVAL : portid;
}

int
umad_poll(int portid, int timeout_ms)
{
	struct pollfd pfd = {.fd = portid, .events = POLLIN};
	int n = poll(&pfd, 1, timeout_ms);

	if (n == 0)
		return fail(ETIMEDOUT);
	return n == 1 && (pfd.revents & POLLIN) != 0 ? 0 : fail(EIO);
}

int
umad_send(int portid, int agentid, void *umad, int length, int timeout_ms, int retries)
{
	struct ib_user_mad *um = umad;
	size_t len = sizeof(*um) + (size_t)length;

	if (agentid < 0 || length < 0)
		return fail(EINVAL);
	um->agent_id = (uint32_t)agentid;
	um->timeout_ms = (uint32_t)timeout_ms;
	um->retries = (uint32_t)retries;
	if (send(portid, um, len, MSG_NOSIGNAL) == (ssize_t)len)
		return 0;
	if (errno == EPIPE || errno == ECONNRESET)
		(void)poll(NULL, 0, GONE_SEND_MS);
	return fail(EIO);
}

/* An error after as long as the caller wanted to wait, but not for ever. */
static int
gone(int timeout_ms)
{
	(void)poll(NULL, 0, timeout_ms < 0 || timeout_ms > GONE_MS ? GONE_MS : timeout_ms);
	return fail(EIO);
}

int
umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	struct ib_user_mad *um = umad;
	ssize_t n;
	int err;

	if (umad == NULL || length == NULL || *length < 0)
		return fail(EINVAL);
	if (timeout_ms != 0) {
		err = umad_poll(portid, timeout_ms);
		if (err != 0 && err != -EIO)
			return err;
	}
	n = recv(portid, um, sizeof(*um), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return fail(EWOULDBLOCK);
	if (n < (ssize_t)sizeof(*um))
		return gone(timeout_ms);
	if ((size_t)n > sizeof(*um) + (size_t)*length) {
		*length = (int)((size_t)n - sizeof(*um));
		return fail(ENOSPC);
	}
	n = recv(portid, um, sizeof(*um) + (size_t)*length, MSG_DONTWAIT);
	if (n < (ssize_t)sizeof(*um))
		return fail(n < 0 && errno == EAGAIN ? EWOULDBLOCK : EIO);
	*length = (int)((size_t)n - sizeof(*um));
	return (int)um->agent_id;
}

/* --- agents ------------------------------------------------------------------------------------------------------ */

static int
add_agent(int portid, struct umad_proto_request *q, uint32_t *id)
{
	struct umad_proto_answer ans;
	int conn = ask_fd_of(portid), err;

	if (conn < 0)
		return -EINVAL;
	q->op = UMAD_OP_REGISTER;
	ans.agent = 0;
	/* One question at a time on a connection. */
	pthread_mutex_lock(&lock);
	err = ask(conn, q, &ans, NULL);
	pthread_mutex_unlock(&lock);
	*id = ans.agent;
	return err;
}

/* The number of a new agent, or what umad_register() says. */
static int
register_agent(int portid, struct umad_proto_request *q, const long *method_mask)
{
	uint32_t id;
	int err;

	if (method_mask != NULL)
		memcpy(q->methods, method_mask, sizeof(q->methods));
	err = add_agent(portid, q, &id);
	if (err == 0)
		return (int)id;
	return err == -EINVAL ? fail(EINVAL) : fail(EPERM);
}

int
umad_register(int portid, int mgmt_class, int mgmt_version, uint8_t rmpp_version, long method_mask[16 / sizeof(long)])
{
	struct umad_proto_request q = {.mgmt_class = (uint8_t)mgmt_class,
				       .class_version = (uint8_t)mgmt_version,
				       .rmpp_version = rmpp_version};

	return register_agent(portid, &q, method_mask);
}

int
umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3], long method_mask[16 / sizeof(long)])
{
	struct umad_proto_request q = {.mgmt_class = (uint8_t)mgmt_class,
				       .class_version = 1,
				       .rmpp_version = rmpp_version,
				       .oui = (uint32_t)oui[0] << 16 | (uint32_t)oui[1] << 8 | oui[2]};

	if (mgmt_class < 0x30 || mgmt_class > 0x4f)
		return fail(EINVAL);
	return register_agent(portid, &q, method_mask);
}

int
umad_register2(int port_fd, struct umad_reg_attr *attr, uint32_t *agent_id)
{
	struct umad_proto_request q;

	if (attr == NULL || agent_id == NULL)
		return EINVAL;
	if ((attr->flags & ~(uint32_t)UMAD_USER_RMPP) != 0) {
		attr->flags = UMAD_USER_RMPP;
		return EINVAL;
	}
	q = (struct umad_proto_request){.mgmt_class = attr->mgmt_class,
					.class_version = attr->mgmt_class_version,
					.rmpp_version = attr->rmpp_version,
					.flags = attr->flags,
					.oui = attr->oui,
					.methods = {attr->method_mask[0], attr->method_mask[1]}};
	return -add_agent(port_fd, &q, agent_id);
}

int
umad_unregister(int portid, int agentid)
{
	struct umad_proto_request q = {.op = UMAD_OP_UNREGISTER, .agent = (uint32_t)agentid};
	struct umad_proto_answer ans;
	int conn = ask_fd_of(portid), err;

	if (conn < 0)
		return fail(EINVAL);
	pthread_mutex_lock(&lock);
	err = ask(conn, &q, &ans, NULL);
	pthread_mutex_unlock(&lock);
	return err == 0 ? 0 : fail(EINVAL);
}
