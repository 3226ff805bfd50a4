/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Messages of connections on the wire: what is no request of ours is refused for its reason, what one says of its sender, which
 * are counted and change nothing; and who listens for which addresses.
 */
#include <errno.h>
#include <poll.h>

#include <rte_mbuf.h>

#include "lib/roce/wire/icrc.h"
#include "lib/roce/wire/wire.h"
#include "conn.h"

/* Octets in front of a message's own fields: Ethernet, IPv4, UDP; BTH, DETH; the common header (13.4.2). */
#define BTH_AT 42u
#define DATA_AT (BTH_AT + 12u + 8u + 24u)
#define ATTR_AT (BTH_AT + 12u + 8u + 16u)
#define ATTR_REQ 0x10u
#define ATTR_REP 0x13u
#define ATTR_RTU 0x14u
#define ATTR_DREQ 0x15u
#define ATTR_SIDR_REQ 0x17u

static struct change {
	uint8_t attr;         /* low octet of the attribute that is changed */
	uint8_t at[2], to[2]; /* octets behind the common header */
	unsigned int done;
	unsigned int from; /* node */
} change;

static unsigned int
alter(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *), *bth = f + BTH_AT;
	uint32_t end = m->data_len - 4u;

	if (from != change.from || m->data_len != DATA_AT + 232 + 4 || f[12] != 8 || f[ATTR_AT + 1] != change.attr)
		return 1;
	for (unsigned int i = 0; i < 2; i++)
		f[DATA_AT + change.at[i]] = change.to[i];
	troce_icrc_put(troce_crc32(troce_icrc_start(TROCE_ICRC_IPV4_UDP, f + 14, bth), bth + 12, end - BTH_AT - 12),
		       f + end);
	change.done++;
	return 1;
}

/*
 * A service is a port space and a port (A11.2); private data begins with a version and the kind of IP addresses (A11.3): in a REQ
 * the service is at 8 and private data at 140, in a SIDR_REQ at 8 and 16.
 */
static void
changed_requests(void **state)
{
	static const struct {
		enum rdma_port_space ps;
		struct change change;
		int status;
	} t[] = {
		/* No such service, whatever else it says; a header that is none; addresses of no kind */
		{RDMA_PS_TCP, {ATTR_REQ, {8 + 5, 140}, {0x07, 0}, 0}, 8},
		{RDMA_PS_TCP, {ATTR_REQ, {8 + 5, 140}, {0x07, 0xff}, 0}, 8},
		{RDMA_PS_TCP, {ATTR_REQ, {140, 141}, {0x10, 0x40}, 0}, 28},
		{RDMA_PS_TCP, {ATTR_REQ, {140, 141}, {0, 0x50}, 0}, 28},
		{RDMA_PS_UDP, {ATTR_SIDR_REQ, {8 + 5, 16}, {0x07, 0}, 0}, 1},
		{RDMA_PS_UDP, {ATTR_SIDR_REQ, {8 + 5, 16}, {0x07, 0xff}, 0}, 1},
		{RDMA_PS_UDP, {ATTR_SIDR_REQ, {16, 17}, {0, 0x50}, 0}, 2},
		/* Connections are no datagrams, and datagrams are no connections. */
		{RDMA_PS_TCP, {ATTR_REQ, {8 + 5, 140}, {0x11, 0}, 0}, 8},
		{RDMA_PS_UDP, {ATTR_SIDR_REQ, {8 + 5, 16}, {0x06, 0}, 0}, 1},
	};
	struct pair *p = *state;

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		struct rdma_cm_id *l = conn_listening(1, t[i].ps, conn_address(PAIR_V4, 1, CONN_SERVICE), 4);
		struct rdma_cm_id *a = conn_routed(p, t[i].ps, conn_address(PAIR_V4, 1, CONN_SERVICE));

		conn_with_qp(p, 0, a);
		change = t[i].change;
		p->wire = alter;
		assert_int_equal(tp_rdma_connect(a, NULL), 0);
		conn_expect_status(p, 0, t[i].ps == RDMA_PS_TCP ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE,
				   t[i].status);
		assert_int_equal(change.done, 1);
		p->wire = NULL;
		conn_silence(p, 1);
		conn_destroy(a);
		assert_int_equal(tp_rdma_destroy_id(l), 0);
	}
}

/* --- messages that are counted and change nothing ------------------------------------------------------------------- */

#define MAD_AT (BTH_AT + 12u + 8u)
#define FRAME_LEN (DATA_AT + 232u + 4u)

/* The requester's REQ and RTU, as they were. */
static uint8_t seen_req[FRAME_LEN], seen_rtu[FRAME_LEN];

static unsigned int
see_both(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	if (from != 0 || m->data_len != FRAME_LEN || f[12] != 8)
		return 1;
	if (f[ATTR_AT + 1] == ATTR_REQ)
		memcpy(seen_req, f, FRAME_LEN);
	if (f[ATTR_AT + 1] == ATTR_RTU)
		memcpy(seen_rtu, f, FRAME_LEN);
	return 1;
}

#define OTHER (-1) /* than it was: numbers of connections are random */

/* The same comes to the other end once more, with one octet changed. */
static void
comes_again(struct pair *p, const uint8_t *frame, uint32_t at, int to)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(troce_dev_of(p->n[1].ctx)->conf.pool);
	uint8_t *f;

	assert_non_null(m);
	f = rte_pktmbuf_mtod(m, uint8_t *);
	m->data_len = m->pkt_len = FRAME_LEN;
	memcpy(f, frame, FRAME_LEN);
	f[at] = to == OTHER ? (uint8_t)~f[at] : (uint8_t)to;
	troce_icrc_put(troce_crc32(troce_icrc_start(TROCE_ICRC_IPV4_UDP, f + 14, f + BTH_AT), f + BTH_AT + 12,
				   FRAME_LEN - 4 - BTH_AT - 12),
		       f + FRAME_LEN - 4);
	assert_int_equal(tp_roce_input(p->n[1].ctx, &m, 1), 0);
	conn_silence(p, 10);
}

/* Each under a name of its own, at the end that it came to; the connection stays. */
static void
counted(void **state)
{
	static const struct {
		const uint8_t *frame;
		uint32_t at;
		int to;
		const char *name;
	} t[] = {
		{seen_req, MAD_AT + 2, 9, "cm_bad_version"},
		{seen_req, ATTR_AT + 1, 0x99, "cm_malformed"},
		{seen_req, ATTR_AT + 1, ATTR_REQ, "cm_duplicates"},
		{seen_rtu, ATTR_AT + 1, ATTR_RTU, "cm_duplicates"},
		/* No such connection; who accepted hears no REP; one to end is that of a queue pair */
		{seen_rtu, DATA_AT + 7, OTHER, "cm_unknown"},
		{seen_rtu, ATTR_AT + 1, ATTR_REP, "cm_unexpected"},
		{seen_rtu, ATTR_AT + 1, ATTR_DREQ, "cm_foreign"},
	};
	static const char *const all[] = {"cm_bad_version", "cm_malformed", "cm_duplicates", "cm_unknown",
					  "cm_unexpected",  "cm_foreign",   "cm_stale",      "cm_timeouts"};
	struct pair *p = *state;
	struct conn_both c;

	p->wire = see_both;
	c = conn_connected(p, PAIR_V4);
	p->wire = NULL;
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint64_t was[RTE_DIM(all)];

		for (unsigned int k = 0; k < RTE_DIM(all); k++)
			was[k] = pair_stat(p, 1, all[k]);
		comes_again(p, t[i].frame, t[i].at, t[i].to);
		for (unsigned int k = 0; k < RTE_DIM(all); k++)
			if (pair_stat(p, 1, all[k]) - was[k] != (strcmp(all[k], t[i].name) == 0))
				fail_msg("message %u: %s", i, all[k]);
		assert_int_equal(pair_stat(p, 1, "cm_active"), 1);
	}
	conn_disconnected(p, &c);
}

/* 12.7.34: a peer that says that it takes no time adds none to the time for an ACK. */
static void
peer_without_delay(void **state)
{
	static const uint8_t asked = 1;
	struct pair *p = *state;
	struct conn_both c = {.l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4)};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	c.a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	assert_int_equal(tp_rdma_set_option(c.a, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, (void *)(uintptr_t)&asked,
					    sizeof(asked)),
			 0);
	conn_with_qp(p, 0, c.a);
	/* Of a REP, the delay is in the high bits of octet 26, beside end-to-end credits. */
	change = (struct change){.attr = ATTR_REP, .at = {26, 26}, .to = {1, 1}, .from = 1};
	p->wire = alter;
	assert_int_equal(tp_rdma_connect(c.a, NULL), 0);
	c.b = conn_request(p, c.l);
	conn_with_qp(p, 1, c.b);
	assert_int_equal(tp_rdma_accept(c.b, NULL), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	p->wire = NULL;
	assert_int_equal(change.done, 1);
	assert_int_equal(tp_roce_query_qp(c.a->qp, &a, IBV_QP_TIMEOUT, &init), 0);
	assert_int_equal(a.timeout, 1);
	conn_disconnected(p, &c);
}

static unsigned int
cut(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	(void)p, (void)from, (void)m;
	return 0;
}

static struct rdma_cm_id *
looks_for(unsigned int node, struct sockaddr_in *to)
{
	struct rdma_cm_id *id = conn_new_id(node, RDMA_PS_TCP);

	assert_int_equal(tp_rdma_resolve_addr(id, conn_address(PAIR_V4, node, 0), (struct sockaddr *)to, 60000), 0);
	return id;
}

/* What one port knows is nothing to an address that another one looks for. */
static void
other_port_knows(void **state)
{
	struct sockaddr_in gone = *(struct sockaddr_in *)(void *)conn_address(PAIR_V4, 0, CONN_SERVICE), nobody = gone;
	struct pair *p = *state;
	struct rdma_cm_id *id[3];

	/* One that node 0 had for a while, so that node 1 knows whose it was. */
	gone.sin_addr.s_addr ^= RTE_BE32(0x40);
	nobody.sin_addr.s_addr ^= RTE_BE32(0x80);
	assert_int_equal(tp_roce_addr_add(p->n[0].ctx, (struct sockaddr *)&gone, 24, TP_ROCE_NO_VLAN), 0);
	id[0] = looks_for(1, &gone);
	conn_expect_status(p, 1, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(tp_roce_addr_del(p->n[0].ctx, (struct sockaddr *)&gone), 0);
	p->wire = cut;
	id[1] = looks_for(0, &gone);
	id[2] = looks_for(1, &nobody);
	conn_silence(p, 20);
	p->wire = NULL;
	for (unsigned int i = 0; i < RTE_DIM(id); i++)
		assert_int_equal(tp_rdma_destroy_id(id[i]), 0);
}

static uint8_t guid[8];

static unsigned int
see_guid(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	if (from == 0 && m->data_len == DATA_AT + 232 + 4 && f[ATTR_AT + 1] == ATTR_REQ)
		memcpy(guid, f + DATA_AT + 16, sizeof(guid));
	return 1;
}

/* 12.6.5: who asks names its channel adapter. */
static void
adapter(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	struct ibv_device_attr attr;

	assert_int_equal(tp_roce_query_device(p->n[0].ctx, &attr), 0);
	conn_with_qp(p, 0, a);
	p->wire = see_guid;
	assert_int_equal(tp_rdma_connect(a, NULL), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 8);
	p->wire = NULL;
	assert_memory_equal(guid, &attr.node_guid, 8);
	/* That of the MAC 02:00:00:00:00:01 */
	assert_memory_equal(guid, "\2\0\0\xff\xfe\0\0\1", 8);
	conn_destroy(a);
}

/* As with sockets: who listens on all of IPv6 hears IPv4, too, unless it says no. */
static void
all_of_ipv6(void **state)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = RTE_BE16(CONN_SERVICE)};
	struct pair *p = *state;

	for (int only = 0; only < 2; only++) {
		for (unsigned int net = PAIR_V4; net <= PAIR_V6; net++) {
			struct rdma_cm_id *l = conn_new_id(1, RDMA_PS_TCP), *a, *b;

			assert_int_equal(
				tp_rdma_set_option(l, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only)), 0);
			assert_int_equal(tp_rdma_bind_addr(l, (struct sockaddr *)&any), 0);
			assert_int_equal(tp_rdma_listen(l, 1), 0);
			a = conn_routed(p, RDMA_PS_TCP, conn_address((enum pair_net)net, 1, CONN_SERVICE));
			conn_with_qp(p, 0, a);
			assert_int_equal(tp_rdma_connect(a, NULL), 0);
			if (only == 0 || net == PAIR_V6) {
				b = conn_request(p, l);
				assert_int_equal(tp_rdma_destroy_id(b), 0);
				conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
			} else {
				conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 8);
			}
			conn_destroy(a);
			assert_int_equal(tp_rdma_destroy_id(l), 0);
		}
	}
}

/* A16.5: on RoCE v1 a group of IPv4 is one of IPv6, with its address at the end of a mapped one. */
static void
group_of_v1(void **state)
{
	static const uint8_t mgid[16] = {0xff, 0x0e, [10] = 0xff, 0xff, 224, 1, 2, 3};
	struct sockaddr_in group = {.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(0xe0010203)};
	const struct tp_roce_conf v1 = {.provider = "sw", .mtu = 1024, .mode = TP_ROCE_V1}, v2 = {.provider = "sw"};
	struct pair *p = *state;
	struct node *n = &p->n[0];
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;

	for (unsigned int turn = 0; turn < 2; turn++) {
		assert_int_equal(tp_roce_destroy_cq(n->cq), 0);
		assert_int_equal(tp_roce_dereg_mr(n->mr), 0);
		assert_int_equal(tp_roce_dealloc_pd(n->pd), 0);
		assert_int_equal(tp_roce_close_device(n->ctx), 0);
		n->ctx = tp_roce_open(n->port, turn == 0 ? &v1 : &v2);
		assert_non_null(n->ctx);
		n->pd = tp_roce_alloc_pd(n->ctx);
		n->mr = tp_roce_reg_mr(n->pd, n->mem, PAIR_MEM, PAIR_ALL);
		n->cq = tp_roce_create_cq(n->ctx, 16, NULL, NULL, 0);
		assert_int_equal(tp_roce_addr_add(n->ctx, conn_address(PAIR_V4, 0, 0), 24, TP_ROCE_NO_VLAN), 0);
		id = conn_new_id(0, RDMA_PS_UDP);
		assert_int_equal(tp_rdma_bind_addr(id, conn_address(PAIR_V4, 0, 0)), 0);
		conn_with_qp(p, 0, id);
		assert_int_equal(tp_rdma_join_multicast(id, (struct sockaddr *)&group, NULL), 0);
		e = conn_expect(p, 0, RDMA_CM_EVENT_MULTICAST_JOIN);
		if (turn == 0)
			assert_memory_equal(e->param.ud.ah_attr.grh.dgid.raw, mgid, 16);
		else
			assert_memory_equal(e->param.ud.ah_attr.grh.dgid.raw + 2, mgid + 2, 14);
		assert_int_equal(e->param.ud.ah_attr.grh.dgid.raw[0], turn == 0 ? 0xff : 0);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
		conn_destroy(id);
	}
}

/* The port has no place for one group more: who would join hears why, and is not in it. */
static void
no_place_for_a_group(void **state)
{
	struct sockaddr_in group = {.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(0xe0010203)};
	const struct qp_conf ud = {.type = IBV_QPT_UD};
	union ibv_gid gid = {.raw = {0xff, 0x0e}};
	struct pair *p = *state;
	struct rdma_cm_id *id = conn_new_id(0, RDMA_PS_UDP);
	struct ibv_qp *qp = pair_qp(p, 0, &ud);
	struct ibv_device_attr attr;

	assert_int_equal(tp_roce_query_device(p->n[0].ctx, &attr), 0);
	for (unsigned int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < attr.max_mcast_grp; i++) {
			gid.raw[14] = (uint8_t)(i >> 8);
			gid.raw[15] = (uint8_t)i;
			assert_int_equal(
				turn == 0 ? tp_roce_attach_mcast(qp, &gid, 0) : tp_roce_detach_mcast(qp, &gid, 0), 0);
		}
		if (turn == 0) {
			assert_int_equal(tp_rdma_bind_addr(id, conn_address(PAIR_V4, 0, 0)), 0);
			conn_with_qp(p, 0, id);
		}
		assert_int_equal(tp_rdma_join_multicast(id, (struct sockaddr *)&group, NULL), 0);
		if (turn == 0)
			conn_expect_status(p, 0, RDMA_CM_EVENT_MULTICAST_ERROR, -ENOMEM);
		else
			conn_expect_status(p, 0, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
		assert_int_equal(tp_rdma_leave_multicast(id, (struct sockaddr *)&group), 0);
	}
	conn_destroy(id);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/*
 * A listener for all addresses takes those of IPv4, too; its channel can be waited for with poll(). The event of a request has all
 * 56 octets of private data behind the addresses (A11.3), used or not.
 */
static void
listener_of_all(void **state)
{
	struct sockaddr_in6 all = {.sin6_family = AF_INET6, .sin6_port = rte_cpu_to_be_16(CONN_SERVICE)};
	struct rdma_conn_param param = {.private_data = "all", .private_data_len = 3};
	struct pair *p = *state;
	struct rdma_cm_id *l = conn_listening(1, RDMA_PS_TCP, (struct sockaddr *)&all, 4);

	for (unsigned int net = PAIR_V4; net <= PAIR_V6; net++) {
		struct rdma_cm_id *a = conn_routed(p, RDMA_PS_TCP, conn_address((enum pair_net)net, 1, CONN_SERVICE));
		struct pollfd fd = {.fd = conn_ch[1]->fd, .events = POLLIN};
		struct rdma_cm_event *e;
		struct rdma_cm_id *b;

		conn_with_qp(p, 0, a);
		assert_int_equal(poll(&fd, 1, 0), 0);
		assert_int_equal(tp_rdma_connect(a, &param), 0);
		for (unsigned int i = 0; i < 1000 && poll(&fd, 1, 0) == 0; i++)
			pair_run(p, 1);
		assert_int_equal(fd.revents, POLLIN);
		e = conn_expect(p, 1, RDMA_CM_EVENT_CONNECT_REQUEST);
		b = e->id;
		assert_ptr_equal(e->listen_id, l);
		assert_int_equal(e->param.conn.private_data_len, 56);
		assert_memory_equal(e->param.conn.private_data, "all\0\0", 5);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
		assert_int_equal(poll(&fd, 1, 0), 0);
		assert_int_equal(tp_rdma_reject(b, NULL, 0), 0);
		conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
		conn_destroy(b);
		conn_destroy(a);
	}
	assert_int_equal(tp_rdma_destroy_id(l), 0);
}

static void
event_names(void **state)
{
	(void)state;
	assert_string_equal(tp_rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT), "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	assert_string_equal(tp_rdma_event_str((enum rdma_cm_event_type)(RDMA_CM_EVENT_TIMEWAIT_EXIT + 1)),
			    "UNKNOWN EVENT");
	assert_string_equal(tp_rdma_event_str((enum rdma_cm_event_type) - 1), "UNKNOWN EVENT");
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, conn_setup, conn_teardown)
	const struct CMUnitTest tests[] = {
		T(changed_requests), T(peer_without_delay),
		T(counted),          T(other_port_knows),
		T(adapter),          T(all_of_ipv6),
		T(group_of_v1),      T(no_place_for_a_group),
		T(listener_of_all),  cmocka_unit_test(event_names),
	};

	return cmocka_run_group_tests_name("rdma_wire", tests, NULL, NULL);
}
