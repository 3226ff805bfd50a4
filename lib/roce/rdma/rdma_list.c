/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Which connections there are, also in DPDK's telemetry:
 *   /triplane/rdma/connections         how many, by state
 *   /triplane/rdma/connection,NUMBER   one of them, from 0 on
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "lib/roce/port/tel_uint.h"
#include "rdma_priv.h"

static const char *const states[] = {
	[TRD_IDLE] = "idle",     [TRD_BOUND] = "bound",      [TRD_RESOLVING] = "resolving", [TRD_RESOLVED] = "resolved",
	[TRD_ROUTED] = "routed", [TRD_LISTEN] = "listening", [TRD_CONNECT] = "connecting",  [TRD_DONE] = "done",
};

static void
device_name(char name[64], const struct troce_dev *dev)
{
	snprintf(name, 64, "%s", dev == NULL ? "" : dev->vctx.context.device->name);
}

static void
from_core(struct tp_rdma_conn *to, const struct tcm_conn *c)
{
	to->state = tcm_state_str(c->state);
	to->passive = c->passive;
	to->dgram = c->dgram;
	to->service_id = c->service_id;
	to->local_qpn = c->local_qpn;
	to->remote_qpn = c->remote_qpn;
}

static void
address(struct sockaddr_storage *to, const struct sockaddr *from)
{
	if (trd_addr_ok(from))
		memcpy(to, from, trd_addr_len(from));
}

struct ask {
	tp_rdma_conn_fn fn;
	void *arg;
	const struct troce_dev *dev;
};

static void
tell_id(const struct ask *ask, const struct trd_id *id)
{
	struct tp_rdma_conn c = {.kind = "rdma_cm", .state = states[id->state], .pending = id->pending};

	if (id->conn != NULL)
		from_core(&c, id->conn);
	else
		c.dgram = id->v.ps == RDMA_PS_UDP;
	device_name(c.device, id->dev);
	address(&c.local, &id->v.route.addr.src_addr);
	address(&c.remote, &id->v.route.addr.dst_addr);
	if (id->v.qp != NULL)
		c.local_qpn = id->v.qp->qp_num;
	ask->fn(ask->arg, &c);
}

static void
tell_service(void *arg, const struct tcm_conn *conn)
{
	struct tp_rdma_conn c = {.kind = "ib-service"};
	const struct ask *ask = arg;

	from_core(&c, conn);
	device_name(c.device, ask->dev);
	c.remote_lid = conn->out.path.dlid;
	ask->fn(ask->arg, &c);
}

void
tp_rdma_connections(tp_rdma_conn_fn fn, void *arg)
{
	struct ask ask = {.fn = fn, .arg = arg};
	const struct troce_cm *cm;
	const struct trd_id *id;

	trd_lock();
	TAILQ_FOREACH(id, &trd_ids, next)
	tell_id(&ask, id);
	/* Those of Ethernet are ids'. */
	TAILQ_FOREACH(cm, &trd_cms, next)
	{
		ask.dev = cm->dev;
		if (cm->core.ops == &trd_ib_ops)
			tcm_each(&cm->core, tell_service, &ask);
	}
	trd_unlock();
}

/* --- telemetry ------------------------------------------------------------------------------------------------------ */

#define STATES_MAX 32u

struct sums {
	uint64_t all;
	unsigned int n;
	struct {
		const char *state;
		uint64_t count;
	} by[STATES_MAX];
};

static void
add(void *arg, const struct tp_rdma_conn *c)
{
	struct sums *s = arg;
	unsigned int i = 0;

	s->all++;
	while (i < s->n && strcmp(s->by[i].state, c->state) != 0)
		i++;
	if (i == STATES_MAX)
		return;
	if (i == s->n)
		s->by[s->n++].state = c->state;
	s->by[i].count++;
}

static int
tell_sums(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct sums s = {0};
	char name[64];
	unsigned int i, k;

	(void)cmd;
	(void)params;
	tp_rdma_connections(add, &s);
	rte_tel_data_start_dict(d);
	tel_dict_uint(d, "connections", s.all);
	for (i = 0; i < s.n; i++) {
		snprintf(name, sizeof(name), "state_%s", s.by[i].state);
		for (k = 0; name[k] != '\0'; k++)
			if (name[k] == '-' || name[k] == ' ')
				name[k] = '_';
		tel_dict_uint(d, name, s.by[i].count);
	}
	return 0;
}

struct find {
	unsigned long wanted, at;
	bool found;
	struct tp_rdma_conn conn;
};

static void
find(void *arg, const struct tp_rdma_conn *c)
{
	struct find *f = arg;

	if (f->at++ != f->wanted)
		return;
	f->found = true;
	f->conn = *c;
}

static void
tell_address(struct rte_tel_data *d, const char *name, const struct sockaddr_storage *a)
{
	char text[INET6_ADDRSTRLEN + 16] = "", ip[INET6_ADDRSTRLEN] = "";
	const struct sockaddr *sa = (const struct sockaddr *)a;

	if (a->ss_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, ip, sizeof(ip));
	else if (a->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, ip, sizeof(ip));
	if (ip[0] != '\0')
		snprintf(text, sizeof(text), a->ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", ip, trd_port(sa));
	rte_tel_data_add_dict_string(d, name, text);
}

static int
tell_one(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct find f = {0};
	char *end;

	(void)cmd;
	if (params == NULL || *params < '0' || *params > '9')
		return -EINVAL;
	f.wanted = strtoul(params, &end, 10);
	if (*end != '\0')
		return -EINVAL;
	tp_rdma_connections(find, &f);
	if (!f.found)
		return -ENOENT;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "device", f.conn.device);
	rte_tel_data_add_dict_string(d, "kind", f.conn.kind);
	rte_tel_data_add_dict_string(d, "state", f.conn.state);
	tel_dict_uint(d, "passive", f.conn.passive);
	tel_dict_uint(d, "dgram", f.conn.dgram);
	tell_address(d, "local", &f.conn.local);
	tell_address(d, "remote", &f.conn.remote);
	tel_dict_uint(d, "service_id", f.conn.service_id);
	tel_dict_uint(d, "local_qpn", f.conn.local_qpn);
	tel_dict_uint(d, "remote_qpn", f.conn.remote_qpn);
	tel_dict_uint(d, "remote_lid", f.conn.remote_lid);
	tel_dict_uint(d, "pending", f.conn.pending);
	return 0;
}

RTE_INIT(trd_telemetry_init)
{
	rte_telemetry_register_cmd("/triplane/rdma/connections", tell_sums, "How many connections of RDMA there are");
	rte_telemetry_register_cmd("/triplane/rdma/connection", tell_one, "One of them. Parameter: its number, from 0");
}
