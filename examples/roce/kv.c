/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A key-value store whose readers never wake its server: they read its hash table by RDMA READ.
 *
 * The server has ten thousand keys, k0 to k9999. A client asks for three; the two are joined by memif:
 *
 *   $ rm -f /tmp/roce_kv.sock; roce_kv -l 0 --no-huge -m 64 --no-shconf --file-prefix=server --no-pci \
 *     --vdev=net_memif0,role=server,socket=/tmp/roce_kv.sock,socket-abstract=no -- 192.0.2.1/24 >/tmp/roce_kv.log &
 *   $ until grep -q keys /tmp/roce_kv.log; do sleep 0.1; done
 *   $ roce_kv -l 1 --no-huge -m 64 --no-shconf --file-prefix=client --no-pci \
 *     --vdev=net_memif0,role=client,socket=/tmp/roce_kv.sock,socket-abstract=no -- 192.0.2.2/24 192.0.2.1 k1 k77 k9999
 *
 * --no-huge needs no hugepages set up. Two processes want two CPUs and two file prefixes, and the client a server that
 * is there.
 *
 * What a client must know (where the table is, its key, how many slots) comes with the answer to its connection request, as
 * private data. A slot is written by the server while clients read, and nothing says in which order: it carries a sum of
 * its contents, and a client that finds another one than it computes reads again.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_jhash.h>
#include <rte_malloc.h>

#include "port.h"

#define SERVICE 7778
#define SLOTS (1u << 15) /* a power of two, and more than there are keys */
#define KEYS 10000u
#define CLIENTS 64u

struct slot {
	char key[24]; /* "": the slot is free */
	char value[36];
	uint32_t sum;
};
_Static_assert(sizeof(struct slot) == 64, "one cache line");

struct table_at {
	rte_be64_t addr;
	rte_be32_t rkey, slots;
};

/* Where a key is looked for first; in the next slots after that. */
static uint32_t
home(const char *key, uint32_t slots)
{
	return rte_jhash(key, (uint32_t)strlen(key), 0) & (slots - 1);
}

static uint32_t
sum_of(const struct slot *s)
{
	return rte_jhash(s, offsetof(struct slot, sum), 1);
}

static void
put(struct slot *table, const char *key, const char *value)
{
	struct slot *s;
	uint32_t i;

	for (i = home(key, SLOTS);; i++) {
		s = &table[i & (SLOTS - 1)];
		if (s->key[0] == '\0' || strncmp(s->key, key, sizeof(s->key)) == 0)
			break;
	}
	snprintf(s->key, sizeof(s->key), "%s", key);
	snprintf(s->value, sizeof(s->value), "%s", value);
	s->sum = sum_of(s);
}

/* Values change all the time, one key at a time, so that clients have something to get wrong. */
static void
change(struct slot *table, uint32_t n)
{
	char key[24], value[36];

	snprintf(key, sizeof(key), "k%u", n % KEYS);
	snprintf(value, sizeof(value), "value %u", n / KEYS);
	put(table, key, value);
}

/* A queue pair that only answers needs no receive requests, and its completion queue stays empty. */
static int
make_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

	return tp_rdma_create_qp(id, pd, &init);
}

static int
serve(struct ibv_context *ctx, struct rdma_event_channel *channel, struct rdma_cm_id *listener)
{
	struct slot *table = rte_zmalloc("table", SLOTS * sizeof(*table), 64);
	struct ibv_pd *pd = tp_roce_alloc_pd(ctx);
	struct ibv_mr *mr = tp_roce_reg_mr(pd, table, SLOTS * sizeof(*table), IBV_ACCESS_REMOTE_READ);
	struct ibv_cq *cq = tp_roce_create_cq(ctx, 16, NULL, NULL, 0);
	struct rdma_conn_param param = {.responder_resources = 16};
	struct rdma_cm_event *ev, copy;
	struct table_at at;
	uint32_t n;

	if (mr == NULL || cq == NULL || tp_rdma_listen(listener, CLIENTS) != 0)
		return -1;
	at = (struct table_at){rte_cpu_to_be_64((uintptr_t)table), rte_cpu_to_be_32(mr->rkey), rte_cpu_to_be_32(SLOTS)};
	param.private_data = &at;
	param.private_data_len = sizeof(at);
	for (n = 0; n < KEYS; n++)
		change(table, n);
	printf("%u keys in %u slots\n", KEYS, SLOTS);
	for (;; n++) {
		tp_roce_progress(ctx);
		change(table, n);
		if (tp_rdma_get_cm_event(channel, &ev) != 0)
			continue;
		copy = *ev;
		tp_rdma_ack_cm_event(ev);
		if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			if (make_qp(copy.id, pd, cq) != 0 || tp_rdma_accept(copy.id, &param) != 0)
				tp_rdma_reject(copy.id, NULL, 0);
		} else if (copy.event == RDMA_CM_EVENT_DISCONNECTED) {
			tp_rdma_disconnect(copy.id);
			tp_rdma_destroy_qp(copy.id);
			tp_rdma_destroy_id(copy.id);
		}
	}
}

/* A client's view of a table far away. */
struct remote {
	struct ibv_context *ctx;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct slot *slot; /* where what is read arrives */
	uint64_t addr, reads;
	uint32_t rkey, slots;
};

static int
read_slot(struct remote *r, uint32_t i)
{
	struct ibv_sge sge = {(uintptr_t)r->slot, sizeof(*r->slot), r->mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_READ,
				 .send_flags = IBV_SEND_SIGNALED,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .wr.rdma = {r->addr + (uint64_t)i * sizeof(*r->slot), r->rkey}},
			   *bad;
	struct ibv_wc wc;

	if (ibv_post_send(r->id->qp, &wr, &bad) != 0)
		return -1;
	while (ibv_poll_cq(r->cq, 1, &wc) == 0)
		tp_roce_progress(r->ctx);
	r->reads++;
	return wc.status == IBV_WC_SUCCESS ? 0 : -1;
}

/* The value of a key; NULL: there is none, or the connection failed. */
static const char *
get(struct remote *r, const char *key)
{
	uint32_t i = home(key, r->slots), probes;

	for (probes = 0; probes < r->slots; probes++, i = (i + 1) & (r->slots - 1)) {
		do {
			if (read_slot(r, i) != 0)
				return NULL;
			if (r->slot->key[0] == '\0' && r->slot->sum == 0)
				return NULL;
		} while (r->slot->sum != sum_of(r->slot));
		if (strncmp(r->slot->key, key, sizeof(r->slot->key)) == 0)
			return r->slot->value;
	}
	return NULL;
}

static int
next_event(struct remote *r, struct rdma_event_channel *channel, enum rdma_cm_event_type want, struct table_at *at)
{
	struct rdma_cm_event *ev;
	int rc;

	while (tp_rdma_get_cm_event(channel, &ev) != 0)
		tp_roce_progress(r->ctx);
	rc = ev->event == want ? 0 : -1;
	if (rc != 0)
		fprintf(stderr, "%s\n", tp_rdma_event_str(ev->event));
	if (rc == 0 && at != NULL && ev->param.conn.private_data_len >= sizeof(*at))
		memcpy(at, ev->param.conn.private_data, sizeof(*at));
	tp_rdma_ack_cm_event(ev);
	return rc;
}

static int
connect_to(struct remote *r, struct rdma_event_channel *channel, struct sockaddr_in *server)
{
	struct rdma_conn_param param = {.initiator_depth = 16, .retry_count = 7};
	struct table_at at = {0};
	struct ibv_pd *pd;

	if (tp_rdma_resolve_addr(r->id, NULL, (struct sockaddr *)server, 5000) != 0 ||
	    next_event(r, channel, RDMA_CM_EVENT_ADDR_RESOLVED, NULL) != 0 || tp_rdma_resolve_route(r->id, 1000) != 0 ||
	    next_event(r, channel, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL) != 0)
		return -1;
	pd = tp_roce_alloc_pd(r->ctx);
	r->slot = rte_zmalloc("slot", sizeof(*r->slot), 64);
	r->mr = tp_roce_reg_mr(pd, r->slot, sizeof(*r->slot), IBV_ACCESS_LOCAL_WRITE);
	r->cq = tp_roce_create_cq(r->ctx, 16, NULL, NULL, 0);
	if (r->mr == NULL || r->cq == NULL || make_qp(r->id, pd, r->cq) != 0 || tp_rdma_connect(r->id, &param) != 0 ||
	    next_event(r, channel, RDMA_CM_EVENT_ESTABLISHED, &at) != 0)
		return -1;
	r->addr = rte_be_to_cpu_64(at.addr);
	r->rkey = rte_be_to_cpu_32(at.rkey);
	r->slots = rte_be_to_cpu_32(at.slots);
	return r->slots != 0 && (r->slots & (r->slots - 1)) == 0 ? 0 : -1;
}

static int
ask(struct remote *r, int n, char **keys)
{
	uint64_t begun = rte_get_tsc_cycles();
	const char *value;
	int i;

	for (i = 0; i < n; i++) {
		value = get(r, keys[i]);
		printf("%s: %s\n", keys[i], value == NULL ? "(none)" : value);
	}
	printf("%" PRIu64 " reads in %.1f us\n", r->reads,
	       (double)(rte_get_tsc_cycles() - begun) * 1e6 / (double)rte_get_tsc_hz());
	return 0;
}

int
main(int argc, char **argv)
{
	struct rdma_event_channel *channel;
	struct remote r = {0};
	struct sockaddr_in addr;
	int used, rc;

	used = rte_eal_init(argc, argv);
	if (used < 0) {
		fprintf(stderr, "EAL does not start, it said why; without a hugetlbfs it needs --no-huge -m 64\n");
		return 2;
	}
	argc -= used;
	argv += used;
	if (argc < 2 || port_sockaddr(argc > 2 ? argv[2] : "0.0.0.0", SERVICE, &addr) != 0) {
		fprintf(stderr, "usage: roce_kv EAL... -- ADDRESS/LEN [SERVER KEY...]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	r.ctx = port_open(argv[1]);
	channel = r.ctx == NULL ? NULL : tp_rdma_create_event_channel();
	if (channel == NULL || tp_rdma_create_id(channel, &r.id, NULL, RDMA_PS_TCP) != 0)
		return 1;
	fcntl(channel->fd, F_SETFL, O_NONBLOCK); /* events are looked for while the port is driven */
	if (argc == 2) {
		rc = tp_rdma_bind_addr(r.id, (struct sockaddr *)&addr);
		return rc == 0 ? serve(r.ctx, channel, r.id) : 1;
	}
	rc = connect_to(&r, channel, &addr);
	if (rc == 0)
		rc = ask(&r, argc - 3, argv + 3);
	/* The server hears of it; what is left goes with the process. */
	if (rc == 0 && tp_rdma_disconnect(r.id) == 0)
		next_event(&r, channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	return rc == 0 ? 0 : 1;
}
