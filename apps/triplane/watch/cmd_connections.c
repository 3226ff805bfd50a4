/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections: of rdma_cm, of IPoIB, queue pairs of the program, and TCP of the programs that have sockets on its ports. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <tp_rdma.h>

#include "apps/common/sock_programs.h"
#include "apps/triplane/app/share.h"
#include "apps/triplane/port/roce.h"
#include "watch.h"

static void
show_address(struct out *o, const char *key, const struct sockaddr_storage *a)
{
	char ip[INET6_ADDRSTRLEN] = "", text[INET6_ADDRSTRLEN + 16];
	uint16_t port = 0;

	if (a->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)a;

		inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
		port = ntohs(in->sin_port);
	} else if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)a;

		inet_ntop(AF_INET6, &in->sin6_addr, ip, sizeof(ip));
		port = ntohs(in->sin6_port);
	}
	if (ip[0] == '\0')
		return;
	snprintf(text, sizeof(text), a->ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", ip, port);
	out_str(o, key, text);
}

struct shown {
	struct out *o;
	uint64_t n;
};

static void
show_one(void *arg, const struct tp_rdma_conn *c)
{
	struct shown *s = arg;
	struct out *o = s->o;

	out_item(o, "connection", s->n++);
	out_str(o, "kind", c->kind);
	if (c->device[0] != '\0')
		out_str(o, "device", c->device);
	out_str(o, "state", c->state);
	out_str(o, "asked_by", c->passive ? "peer" : "this side");
	out_str(o, "service", c->dgram ? "datagram" : "connection");
	show_address(o, "local", &c->local);
	show_address(o, "remote", &c->remote);
	if (c->service_id != 0)
		out_hex(o, "service_id", c->service_id, 16);
	if (c->local_qpn != 0)
		out_u64(o, "local_qpn", c->local_qpn);
	if (c->remote_qpn != 0)
		out_u64(o, "remote_qpn", c->remote_qpn);
	if (c->remote_lid != 0)
		out_u64(o, "remote_lid", c->remote_lid);
	if (c->pending != 0)
		out_u64(o, "pending", c->pending);
	out_end(o);
}

/* Queue pairs of the program that were told their peer. */
static void
show_qps(struct shown *s, const struct roce_port *r)
{
	const struct roce_qp *q;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	char gid[INET6_ADDRSTRLEN];

	TAILQ_FOREACH(q, &r->qps, next)
	{
		if (!q->peer.known || tp_roce_query_qp(q->qp, &attr, IBV_QP_STATE, &init) != 0)
			continue;
		out_item(s->o, "connection", s->n++);
		out_str(s->o, "kind", "queue-pair");
		out_str(s->o, "device", r->ctx->device->name);
		out_str(s->o, "state",
			attr.qp_state == IBV_QPS_RTS   ? "ready to send"
			: attr.qp_state == IBV_QPS_ERR ? "error"
						       : "not ready");
		out_str(s->o, "service", q->type == IBV_QPT_UD ? "datagram" : "connection");
		if (inet_ntop(AF_INET6, q->peer.gid.raw, gid, sizeof(gid)) != NULL)
			out_str(s->o, "remote", gid);
		out_u64(s->o, "local_qpn", q->qp->qp_num);
		out_u64(s->o, "remote_qpn", q->peer.qpn);
		out_end(s->o);
	}
}

static void
show_ip4(struct out *o, const char *key, uint32_t ip, uint16_t port)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&a;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = ip;
	in->sin_port = port;
	show_address(o, key, &a);
}

/* What a program wrote down of itself: of TCP, and on the port. */
static void
show_sockets(struct shown *s, const struct sock_page *p, const char *device)
{
	for (unsigned int i = 0; i < SOCK_STAT_SOCKETS; i++) {
		const struct sock_stat_socket *t = &p->stat.socket[i];

		if (t->used == 0 || t->engine == 0 || t->type != SOCK_STREAM ||
		    (t->listens == 0 && t->remote_port == 0))
			continue;
		out_item(s->o, "connection", s->n++);
		out_str(s->o, "kind", "tcp");
		out_str(s->o, "device", device);
		out_str(s->o, "state", sock_page_state(t->state));
		out_u64(s->o, "pid", (uint64_t)p->stat.pid);
		out_str(s->o, "program", p->name);
		out_u64(s->o, "fd", (uint64_t)t->fd);
		show_ip4(s->o, "local", t->local_ip, t->local_port);
		if (t->listens == 0)
			show_ip4(s->o, "remote", t->remote_ip, t->remote_port);
		out_end(s->o);
	}
}

/* Of programs that are connected to what is shared here; one has a connection for each device that it opened. */
static void
show_programs(struct shown *s)
{
	static struct tp_share_guest guest[TP_SHARE_GUESTS];
	struct tp_share *share = share_of();
	unsigned int n = share == NULL ? 0 : tp_share_guests_get(share, guest, TP_SHARE_GUESTS), i, k;

	n = RTE_MIN(n, TP_SHARE_GUESTS);
	for (i = 0; i < n; i++) {
		struct programs p = {0};

		for (k = 0; k < i && guest[k].pid != guest[i].pid; k++)
			;
		if (k < i)
			continue;
		programs_read((int)guest[i].pid, &p);
		for (k = 0; k < p.num; k++)
			show_sockets(s, p.one[k], guest[i].device);
		programs_free(&p);
	}
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct shown s = {0};
	unsigned int i;
	struct out o;

	out_init(&o, stdout, app->json || a->json);
	s.o = &o;
	out_array(&o, "connections");
	tp_rdma_connections(show_one, &s);
	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present && app->port[i].roce != NULL && app->port[i].roce->ctx != NULL)
			show_qps(&s, app->port[i].roce);
	show_programs(&s);
	out_end(&o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"Show", "show connections",
	 "Shows connections and ids of rdma_cm, of this process and of programs on its shared ports, and connections "
	 "of "
	 "IPoIB ports, queue pairs of this program that know their peer, and TCP of programs with sockets on its "
	 "ports.",
	 do_show, true},
};

int
cmd_connections_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
