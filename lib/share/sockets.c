/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Sockets of programs on shared ports, by the programs' own counters, in DPDK's telemetry:
 *   /triplane/sockets/list           processes
 *   /triplane/sockets/info,PID       one of them: rings, TCP, what sockets had that are closed; numbers of its sockets
 *   /triplane/sockets/socket,PID,FD  a socket
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <rte_telemetry.h>

#include "lib/roce/port/tel_uint.h"
#include "lib/sock/page/page.h"

#include "share_priv.h"

#define PIDS 256u /* as many as telemetry has room for */
#define FDS 256u

struct pids {
	unsigned int n;
	int pid[PIDS];
};

/* A program may have several connections. */
static void
note(const struct share_guest *s, void *arg)
{
	struct pids *p = arg;

	for (unsigned int i = 0; i < p->n; i++)
		if (p->pid[i] == (int)s->pid)
			return;
	if (p->n < PIDS)
		p->pid[p->n++] = (int)s->pid;
}

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct pids p = {0};

	(void)cmd, (void)params;
	share_tel_each(note, &p);
	rte_tel_data_start_array(d, TEL_UINT);
	for (unsigned int i = 0; i < p.n; i++) {
		struct sock_page *page = sock_page_of(p.pid[i]);

		if (page != NULL)
			tel_array_uint(d, (uint64_t)(unsigned int)p.pid[i]);
		sock_page_free(page);
	}
	return 0;
}

/* Processes that have no port of ours are not ours to tell of. NULL: it is none. */
static struct sock_page *
page_of(const char *params, char **rest)
{
	struct pids p = {0};
	unsigned long pid = params == NULL ? 0 : strtoul(params, rest, 10);

	if (params == NULL || *rest == params)
		return NULL;
	share_tel_each(note, &p);
	for (unsigned int i = 0; i < p.n; i++)
		if ((unsigned long)p.pid[i] == pid)
			return sock_page_of(p.pid[i]);
	return NULL;
}

static void
counts(struct rte_tel_data *d, const char *before, const char *const *names, const uint64_t *count, unsigned int n)
{
	char name[RTE_TEL_MAX_STRING_LEN];

	for (unsigned int i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "%s%s", before, names[i]);
		tel_dict_uint(d, name, count[i]);
	}
}

static int
info(const char *cmd, const char *params, struct rte_tel_data *d)
{
	char *rest = NULL;
	struct sock_page *p = page_of(params, &rest);
	struct rte_tel_data *fds = rte_tel_data_alloc();
	unsigned int n = 0, told = 0;

	(void)cmd;
	if (p == NULL || fds == NULL || *rest != '\0') {
		sock_page_free(p);
		rte_tel_data_free(fds);
		return -ENOENT;
	}
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "name", p->name);
	tel_dict_uint(d, "port", p->stat.port);
	tel_dict_uint(d, "spin_us", p->stat.spin_us);
	tel_dict_uint(d, "mbufs", p->stat.mbufs);
	counts(d, "", sock_ring_names, p->stat.ring, SOCK_RING_COUNTS);
	counts(d, "tcp_", sock_tcp_names, p->stat.tcp, SOCK_TCP_COUNTS);
	counts(d, "closed_", sock_count_names, p->stat.ended, SOCK_COUNTS);
	rte_tel_data_start_array(fds, TEL_UINT);
	for (unsigned int i = 0; i < SOCK_STAT_SOCKETS; i++) {
		if (p->stat.socket[i].used == 0)
			continue;
		n++;
		if (told++ < FDS)
			tel_array_uint(fds, (uint64_t)(uint32_t)p->stat.socket[i].fd);
	}
	tel_dict_uint(d, "sockets", n + (uint64_t)p->stat.unlisted);
	rte_tel_data_add_dict_container(d, "fds", fds, 0);
	sock_page_free(p);
	return 0;
}

static int
one(const char *cmd, const char *params, struct rte_tel_data *d)
{
	char *rest = NULL, *end = NULL, text[SOCK_ADDR_LEN];
	struct sock_page *p = page_of(params, &rest);
	const struct sock_stat_socket *t = NULL;
	long fd = -1;

	(void)cmd;
	if (p != NULL && *rest == ',')
		fd = strtol(rest + 1, &end, 10);
	for (unsigned int i = 0; fd >= 0 && *end == '\0' && t == NULL && i < SOCK_STAT_SOCKETS; i++)
		if (p->stat.socket[i].used != 0 && p->stat.socket[i].fd == fd)
			t = &p->stat.socket[i];
	if (t != NULL) {
		rte_tel_data_start_dict(d);
		rte_tel_data_add_dict_string(d, "type", t->type == SOCK_STREAM ? "tcp" : "udp");
		rte_tel_data_add_dict_string(d, "whose", t->engine != 0 ? "port" : "os");
		rte_tel_data_add_dict_string(d, "state", sock_page_state(t->state));
		tel_dict_uint(d, "listens", t->listens);
		sock_page_addr(t->local_ip, t->local_port, text);
		rte_tel_data_add_dict_string(d, "local", text);
		sock_page_addr(t->remote_ip, t->remote_port, text);
		rte_tel_data_add_dict_string(d, "remote", text);
		counts(d, "", sock_count_names, t->count, SOCK_COUNTS);
	}
	sock_page_free(p);
	return t == NULL ? -ENOENT : 0;
}

RTE_INIT(share_sockets_telemetry)
{
	rte_telemetry_register_cmd("/triplane/sockets/list", list,
				   "Processes with sockets on shared ports. No parameters");
	rte_telemetry_register_cmd("/triplane/sockets/info", info, "One of them. Parameter: its number");
	rte_telemetry_register_cmd("/triplane/sockets/socket", one,
				   "A socket. Parameters: the process's number, the descriptor");
}
