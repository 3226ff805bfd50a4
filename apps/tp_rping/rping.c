/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Who calls whom: events of connections, on one thread with the port and all completions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "rping.h"

#define WAIT_MS 2000
#define AGAIN_MS 100u    /* until somebody who did not answer is called again */
#define GOODBYE_MS 3000u /* how long a client waits for the server's goodbye */
#define LINGER_MS 100u   /* the other end may ask again for what was lost */
#define RETRIES 7u

struct rping {
	struct rend *e;
	const struct rping_conf *conf;
	bool server;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id; /* listens, or is the client's connection */
	struct rping_conn *conns[RPING_MAX_CONNS];
	unsigned int n, served;
	int status;
	bool leaving, gone;               /* the client said goodbye; the server answered, or went first */
	struct sockaddr_storage to, from; /* whom the client calls, and by which address */
	uint64_t again, until;            /* when it calls again, 0: not; and no more */
};

static const struct rdma_conn_param param = {.responder_resources = 1,
					     .initiator_depth = 1,
					     .retry_count = RETRIES,
					     .rnr_retry_count = RETRIES,
					     .flow_control = 1};

static struct rping_conn *
add_conn(struct rping *r, struct rdma_cm_id *id)
{
	struct rping_conn *c;

	if (r->n == RPING_MAX_CONNS) {
		rend_fail(EMFILE, "a client is turned away: %u connections are as many as there can be", r->n);
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	*c = (struct rping_conn){.conf = r->conf, .e = r->e, .id = id, .server = r->server, .quiet = r->e->quiet};
	if (rping_conn_open(c) != 0) {
		rping_conn_close(c);
		free(c);
		return NULL;
	}
	id->context = c;
	r->conns[r->n++] = c;
	return c;
}

static void
drop_conn(struct rping *r, unsigned int i)
{
	struct rping_conn *c = r->conns[i];

	r->conns[i] = r->conns[--r->n];
	if (c->connected)
		tp_rdma_disconnect(c->id);
	rping_conn_close(c);
	tp_rdma_destroy_id(c->id);
	if (c->id == r->id)
		r->id = NULL;
	if (c->status != 0)
		r->status = c->status;
	free(c);
	r->served++;
}

static int
requested(struct rping *r, struct rdma_cm_id *id)
{
	struct rdma_conn_param p = param;
	struct rping_conn *c;

	c = add_conn(r, id);
	if (c == NULL) {
		tp_rdma_reject(id, NULL, 0);
		tp_rdma_destroy_id(id);
		return 0;
	}
	if (tp_rdma_accept(id, &p) == 0)
		return 0;
	c->status = rend_fail(errno, "accept: %s", strerror(errno));
	c->over = true;
	return 0;
}

static int
step(int rc, const char *what)
{
	return rc == 0 ? 0 : rend_fail(errno, "%s: %s", what, strerror(errno));
}

static uint64_t
in_ms(unsigned int ms)
{
	return rte_get_tsc_cycles() + rte_get_tsc_hz() / 1000 * ms;
}

/* Asks for the way to the server. */
static int
find(struct rping *r)
{
	r->again = 0;
	return tp_rdma_resolve_addr(r->id, r->from.ss_family != 0 ? (struct sockaddr *)&r->from : NULL,
				    (struct sockaddr *)&r->to, WAIT_MS);
}

/* Nobody answers: the server may be on its way up for as long as its link may be. False: it had that time. */
static bool
later(struct rping *r)
{
	if (rte_get_tsc_cycles() >= r->until)
		return false;
	r->again = in_ms(AGAIN_MS);
	return true;
}

static int
find_again(struct rping *r)
{
	if (r->again == 0 || rte_get_tsc_cycles() < r->again)
		return 0;
	/* There was a route: a neighbour that did not answer is left alone for a while. */
	return find(r) == 0 || (errno == ENODEV && later(r)) ? 0 : step(-1, "address");
}

/* Reached: queues are made on the port that leads there. */
static int
resolved(struct rping *r)
{
	struct rdma_conn_param p = param;

	if (add_conn(r, r->id) == NULL)
		return -ENOMEM;
	return step(tp_rdma_connect(r->id, &p), "connect");
}

static int
on_event(struct rping *r, const struct rdma_cm_event *ev)
{
	struct rping_conn *c = ev->event == RDMA_CM_EVENT_CONNECT_REQUEST ? NULL : ev->id->context;

	if (r->conf->debug != 0)
		printf("event %s, status %d\n", tp_rdma_event_str(ev->event), ev->status);
	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST: return requested(r, ev->id);
	case RDMA_CM_EVENT_ADDR_RESOLVED: return step(tp_rdma_resolve_route(ev->id, WAIT_MS), "route");
	case RDMA_CM_EVENT_ROUTE_RESOLVED: return resolved(r);
	case RDMA_CM_EVENT_ADDR_ERROR:
		if (!r->server && later(r))
			return 0;
		break;
	case RDMA_CM_EVENT_ESTABLISHED: c->connected = true; return r->server ? 0 : rping_conn_begin(c);
	case RDMA_CM_EVENT_DISCONNECTED:
		c->over = r->gone = true;
		if (!r->server && !r->leaving)
			c->status = rend_fail(ECONNRESET, "the server left after %u pings", c->pings);
		return 0;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT: return 0;
	case RDMA_CM_EVENT_ADDR_CHANGE: return 0;
	default: break;
	}
	if (c != NULL) {
		c->over = true;
		c->status = -ECONNABORTED;
	}
	rend_fail(0, "%s, status %d", tp_rdma_event_str(ev->event), ev->status);
	return r->server ? 0 : -ECONNREFUSED;
}

static int
events(struct rping *r)
{
	struct rdma_cm_event *ev, copy;
	int rc = 0;

	/* An id cannot go while its event is not acknowledged; what is needed of it is in the copy. */
	while (rc == 0 && tp_rdma_get_cm_event(r->channel, &ev) == 0) {
		copy = *ev;
		tp_rdma_ack_cm_event(ev);
		rc = on_event(r, &copy);
	}
	return rc;
}

static int
turn(struct rping *r)
{
	unsigned int i;
	int rc;

	rend_idle(r->e);
	rc = events(r);
	for (i = 0; i < r->n; i++)
		rping_conn_poll(r->conns[i]);
	for (i = r->n; r->server && i-- > 0;) {
		if (r->conns[i]->over)
			drop_conn(r, i);
	}
	return rc;
}

/* Answers for a while more; a client only until the server's goodbye. */
static void
linger(struct rping *r, unsigned int ms)
{
	const uint64_t until = in_ms(ms);

	while (rte_get_tsc_cycles() < until && !(r->leaving && r->gone))
		turn(r);
}

/* "-a" with the port's number. */
static int
sock_addr(const struct rping *r, const char *text, uint32_t port, struct sockaddr_storage *a)
{
	unsigned int prefix;
	int rc;

	memset(a, 0, sizeof(*a));
	if (text == NULL)
		a->ss_family = r->e->port.addr.ss_family == AF_INET6 ? AF_INET6 : AF_INET;
	else if ((rc = rport_addr_parse(text, a, &prefix)) != 0)
		return rend_fail(-rc, "'%s' is no address", text);
	if (a->ss_family == AF_INET)
		((struct sockaddr_in *)a)->sin_port = rte_cpu_to_be_16((uint16_t)port);
	else
		((struct sockaddr_in6 *)a)->sin6_port = rte_cpu_to_be_16((uint16_t)port);
	return 0;
}

static int
serve(struct rping *r)
{
	struct sockaddr_storage at;
	char ready = 1;
	int rc;

	rc = sock_addr(r, r->conf->port.self != 0 ? NULL : r->conf->addr, r->conf->tcp_port, &at);
	if (rc == 0 && r->conf->addr == NULL)
		rc = step(tp_rdma_bind_port(r->id, r->e->port.ctx), "port");
	if (rc == 0)
		rc = step(tp_rdma_bind_addr(r->id, (struct sockaddr *)&at), "address");
	if (rc == 0)
		rc = step(tp_rdma_listen(r->id, 0), "listen");
	if (rc == 0 && r->conf->verbose != 0) {
		printf("listening on port %u\n", r->conf->tcp_port);
		fflush(stdout);
	}
	if (rc == 0 && r->e->sock >= 0)
		rc = rend_send(r->e, &ready, 1);
	while (rc == 0 && !rend_stopping() && (r->conf->persistent != 0 || r->served == 0))
		rc = turn(r);
	if (rc == 0 && r->conf->persistent == 0)
		rc = r->status;
	return rc;
}

static int
call(struct rping *r)
{
	char to[64] = "";
	char ready;
	int rc = 0;

	if (r->e->sock >= 0)
		rc = rend_recv(r->e, &ready, 1);
	snprintf(to, sizeof(to), "%s", r->conf->addr != NULL ? r->conf->addr : r->conf->port.self_addr[0]);
	to[strcspn(to, "/")] = '\0';
	if (rc == 0)
		rc = sock_addr(r, to, r->conf->tcp_port, &r->to);
	if (rc == 0 && r->conf->source != NULL)
		rc = sock_addr(r, r->conf->source, 0, &r->from);
	r->until = in_ms(1000 * r->conf->port.link_wait);
	if (rc == 0)
		rc = step(find(r), "address");
	while (rc == 0 && !rend_stopping() && !(r->n == 1 && r->conns[0]->over)) {
		rc = turn(r);
		if (rc == 0)
			rc = find_again(r);
	}
	/* A server that went first has said so. */
	if (r->n == 1 && r->conns[0]->connected && !r->gone) {
		r->leaving = true;
		tp_rdma_disconnect(r->id);
		r->conns[0]->connected = false;
		linger(r, GOODBYE_MS);
	}
	return rc != 0 || r->n == 0 ? rc : r->conns[0]->status;
}

int
rping_run(struct rend *e)
{
	struct rping r = {.e = e, .conf = e->arg};
	uint32_t pings;
	int rc;

	r.server = e->quiet || r.conf->server != 0;
	r.channel = tp_rdma_create_event_channel();
	if (r.channel == NULL || fcntl(r.channel->fd, F_SETFL, O_NONBLOCK) != 0 ||
	    tp_rdma_create_id(r.channel, &r.id, NULL, RDMA_PS_TCP) != 0)
		return rend_fail(errno, "event channel: %s", strerror(errno));
	rc = r.server ? serve(&r) : call(&r);
	linger(&r, LINGER_MS);
	pings = r.n == 1 ? r.conns[0]->pings : 0;
	while (r.n > 0)
		drop_conn(&r, r.n - 1);
	if (r.id != NULL)
		tp_rdma_destroy_id(r.id);
	tp_rdma_destroy_event_channel(r.channel);
	/* The server answers for a while after the goodbye. */
	if (rc == 0 && !r.server && e->sock < 0)
		rport_outwait(&e->port, LINGER_MS + GOODBYE_MS);
	if (rc == 0 && !r.server)
		printf("%u pings of %u bytes\n", pings, r.conf->size);
	return rc;
}
