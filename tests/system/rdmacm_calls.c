/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * rdmacm_calls HERE THERE: calls each function of <rdma/rdma_cma.h> and <rdma/rdma_verbs.h> between two ports and prints its name and
 * what it said: "rdma_listen works". Messages, events and peers are looked at. It is linked with Debian's librdmacm and knows nothing of
 * the libraries here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define LEN 256
#define INT(name, ...) tell(#name, name(__VA_ARGS__) == 0 ? 0 : errno)
#define ONE(name, ...) tell(#name, name(__VA_ARGS__) == 1 ? 0 : EIO) /* a completion */
#define PTR(name, ...)                                                                                                 \
	({                                                                                                             \
		__typeof__(name(__VA_ARGS__)) ptr = name(__VA_ARGS__);                                                 \
		tell(#name, ptr != NULL ? 0 : errno);                                                                  \
		ptr;                                                                                                   \
	})

static struct rdma_event_channel *calling, *serving;
static struct sockaddr_in here, there;
static char out[LEN], in[LEN];
static int status; /* of the last event */
static uint32_t qpn =
	0x1234; /* of queue pairs that are not there; another one each time, since the last one's peer still waits */

static void
tell(const char *name, int err)
{
	printf("%s %s\n", name, err == 0 ? "works" : strerrorname_np(err));
	errno = 0;
}

static void
die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void
check(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

/* The next event of the channel, which has to be that one; its id, and what it says of a group or a datagram. */
static struct rdma_cm_id *
next(struct rdma_event_channel *ch, enum rdma_cm_event_type type, struct rdma_ud_param *ud)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	check(rdma_get_cm_event(ch, &ev) == 0, "rdma_get_cm_event");
	if (ev->event != type) {
		printf("%s in place of %s\n", rdma_event_str(ev->event), rdma_event_str(type));
		exit(1);
	}
	id = ev->id;
	status = ev->status;
	if (ud != NULL)
		*ud = ev->param.ud;
	check(rdma_ack_cm_event(ev) == 0, "rdma_ack_cm_event");
	return id;
}

static struct ibv_qp_init_attr
queues(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {.qp_type = type, .sq_sig_all = 1};

	attr.cap.max_send_wr = attr.cap.max_recv_wr = 8;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	return attr;
}

/* An id that knows the way to a port of the server. */
static struct rdma_cm_id *
caller(__be16 port)
{
	struct sockaddr_in dst = there;
	struct rdma_cm_id *id;

	dst.sin_port = port;
	INT(rdma_create_id, calling, &id, NULL, RDMA_PS_TCP);
	INT(rdma_resolve_addr, id, (struct sockaddr *)&here, (struct sockaddr *)&dst, 5000);
	next(calling, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	INT(rdma_resolve_route, id, 5000);
	next(calling, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	return id;
}

static void
messages(struct rdma_cm_id *c, struct rdma_cm_id *s)
{
	struct ibv_mr *from = PTR(rdma_reg_msgs, c, out, LEN), *to = PTR(rdma_reg_write, s, in, LEN);
	struct ibv_mr *source = PTR(rdma_reg_read, s, in, LEN), *back = rdma_reg_msgs(c, out, LEN);
	struct ibv_sge sge = {.addr = (uintptr_t)out, .length = LEN}, room = {.addr = (uintptr_t)in, .length = LEN};
	struct ibv_wc wc;

	check(from != NULL && to != NULL && source != NULL && back != NULL, "no regions");
	sge.lkey = from->lkey;
	room.lkey = to->lkey;
	for (int lists = 0; lists < 2; lists++) {
		memset(out, 0x31 + lists, LEN);
		if (lists) {
			INT(rdma_post_recvv, s, NULL, &room, 1);
			INT(rdma_post_sendv, c, NULL, &sge, 1, 0);
		} else {
			INT(rdma_post_recv, s, NULL, in, LEN, to);
			INT(rdma_post_send, c, NULL, out, LEN, from, 0);
		}
		ONE(rdma_get_send_comp, c, &wc);
		check(wc.status == IBV_WC_SUCCESS, "a send");
		ONE(rdma_get_recv_comp, s, &wc);
		check(wc.status == IBV_WC_SUCCESS && wc.byte_len == LEN && memcmp(in, out, LEN) == 0, "a message");
		memset(out, 0x41 + lists, LEN);
		if (lists)
			INT(rdma_post_writev, c, NULL, &sge, 1, 0, (uintptr_t)in, to->rkey);
		else
			INT(rdma_post_write, c, NULL, out, LEN, from, 0, (uintptr_t)in, to->rkey);
		check(rdma_get_send_comp(c, &wc) == 1 && wc.status == IBV_WC_SUCCESS && memcmp(in, out, LEN) == 0,
		      "a write");
		memset(in, 0x51 + lists, LEN);
		if (lists)
			INT(rdma_post_readv, c, NULL, &sge, 1, 0, (uintptr_t)in, source->rkey);
		else
			INT(rdma_post_read, c, NULL, out, LEN, back, 0, (uintptr_t)in, source->rkey);
		check(rdma_get_send_comp(c, &wc) == 1 && wc.status == IBV_WC_SUCCESS && memcmp(in, out, LEN) == 0,
		      "a read");
	}
	INT(rdma_dereg_mr, from);
	check(rdma_dereg_mr(to) == 0 && rdma_dereg_mr(source) == 0 && rdma_dereg_mr(back) == 0, "rdma_dereg_mr");
}

/* A connection whose queue pairs are librdmacm's. */
static void
connection(__be16 port)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
	struct ibv_qp_init_attr attr = queues(IBV_QPT_RC);
	struct ibv_qp_init_attr_ex ex = {.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .comp_mask = IBV_QP_INIT_ATTR_PD};
	struct rdma_cm_id *c = caller(port), *s;
	uint8_t tos = 8;

	INT(rdma_set_option, c, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
	INT(rdma_create_qp, c, NULL, &attr);
	INT(rdma_connect, c, &param);
	s = next(serving, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	ex.cap = attr.cap;
	ex.pd = s->pd;
	INT(rdma_create_qp_ex, s, &ex);
	INT(rdma_accept, s, &param);
	next(calling, RDMA_CM_EVENT_ESTABLISHED, NULL);
	next(serving, RDMA_CM_EVENT_ESTABLISHED, NULL);
	tell("rdma_get_dst_port", rdma_get_dst_port(c) == port ? 0 : EIO);
	tell("rdma_get_local_addr",
	     ((struct sockaddr_in *)rdma_get_local_addr(c))->sin_addr.s_addr == here.sin_addr.s_addr ? 0 : EIO);
	tell("rdma_get_peer_addr",
	     ((struct sockaddr_in *)rdma_get_peer_addr(s))->sin_addr.s_addr == here.sin_addr.s_addr ? 0 : EIO);
	messages(c, s);
	INT(rdma_notify, s, IBV_EVENT_COMM_EST);
	INT(rdma_disconnect, c);
	next(calling, RDMA_CM_EVENT_DISCONNECTED, NULL);
	next(serving, RDMA_CM_EVENT_DISCONNECTED, NULL);
	rdma_destroy_qp(c);
	rdma_destroy_qp(s);
	tell("rdma_destroy_qp", c->qp == NULL && s->qp == NULL ? 0 : EIO);
	INT(rdma_destroy_id, c);
	INT(rdma_destroy_id, s);
}

/* One whose queue pairs are the program's: here there are none, since no message is sent. */
static void
own_queue_pairs(__be16 port)
{
	struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 7, .qp_num = qpn++};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
	struct ibv_ece ece = {.vendor_id = 0x02c9, .options = 1}, got;
	struct rdma_cm_id *c = caller(port), *s;
	int mask;

	INT(rdma_init_qp_attr, c, &attr, &mask);
	INT(rdma_set_local_ece, c, &ece);
	check(rdma_connect(c, &param) == 0, "rdma_connect");
	s = next(serving, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	INT(rdma_get_remote_ece, s, &got);
	check(got.vendor_id == 0 && got.options == 0, "options of the peer's");
	check(rdma_accept(s, &param) == 0, "rdma_accept");
	next(calling, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	INT(rdma_establish, c);
	next(serving, RDMA_CM_EVENT_ESTABLISHED, NULL);
	check(rdma_disconnect(s) == 0, "rdma_disconnect");
	next(calling, RDMA_CM_EVENT_DISCONNECTED, NULL);
	next(serving, RDMA_CM_EVENT_DISCONNECTED, NULL);
	check(rdma_destroy_id(c) == 0 && rdma_destroy_id(s) == 0, "rdma_destroy_id");
}

/* Ones that are refused, and an id that moves to the other channel before its answer comes. */
static void
rejects(__be16 port)
{
	for (int ece = 0; ece < 2; ece++) {
		struct rdma_conn_param param = {.retry_count = 7, .qp_num = qpn++};
		struct rdma_cm_id *c = caller(port), *s;

		check(rdma_connect(c, &param) == 0, "rdma_connect");
		s = next(serving, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
		INT(rdma_migrate_id, c, serving);
		if (ece)
			INT(rdma_reject_ece, s, NULL, 0);
		else
			INT(rdma_reject, s, NULL, 0);
		/* IBTA 12.6.7.2: the consumer's reason, and an option of the maker's */
		check(next(serving, RDMA_CM_EVENT_REJECTED, NULL) == c && status == (ece ? 35 : 28),
		      "another id or reason");
		check(rdma_destroy_id(c) == 0 && rdma_destroy_id(s) == 0, "rdma_destroy_id");
	}
}

/* A server that needs no channel. */
static void
endpoint(void)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST, .ai_port_space = RDMA_PS_TCP}, *ai;
	struct rdma_conn_param param = {.retry_count = 7, .qp_num = qpn++};
	struct rdma_cm_id *ep, *c, *s;
	char name[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &there.sin_addr, name, sizeof(name));
	INT(rdma_getaddrinfo, name, "7998", &hints, &ai);
	INT(rdma_create_ep, &ep, ai, NULL, NULL);
	rdma_freeaddrinfo(ai);
	tell("rdma_freeaddrinfo", 0);
	check(rdma_listen(ep, 1) == 0, "rdma_listen");
	c = caller(htons(7998));
	check(rdma_connect(c, &param) == 0, "rdma_connect");
	INT(rdma_get_request, ep, &s);
	check(rdma_reject(s, NULL, 0) == 0, "rdma_reject");
	next(calling, RDMA_CM_EVENT_REJECTED, NULL);
	rdma_destroy_ep(s);
	rdma_destroy_ep(ep);
	tell("rdma_destroy_ep", 0);
	check(rdma_destroy_id(c) == 0, "rdma_destroy_id");
}

static void
groups(void)
{
	struct sockaddr_in group = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xef010203)};
	struct rdma_cm_join_mc_attr_ex ex = {.comp_mask =
						     RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
					     .join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
					     .addr = (struct sockaddr *)&group};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq_init_attr_ex srq_ex = {.attr = {.max_wr = 8, .max_sge = 1},
					      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					      .srq_type = IBV_SRQT_BASIC};
	struct ibv_qp_init_attr attr = queues(IBV_QPT_UD);
	struct rdma_ud_param ud;
	struct rdma_cm_id *u;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	check(rdma_create_id(calling, &u, NULL, RDMA_PS_UDP) == 0, "rdma_create_id");
	INT(rdma_bind_addr, u, (struct sockaddr *)&here);
	INT(rdma_create_srq, u, NULL, &srq);
	rdma_destroy_srq(u);
	srq_ex.pd = u->pd;
	INT(rdma_create_srq_ex, u, &srq_ex);
	rdma_destroy_srq(u);
	tell("rdma_destroy_srq", u->srq == NULL ? 0 : EIO);
	check(rdma_create_qp(u, NULL, &attr) == 0, "rdma_create_qp");
	INT(rdma_join_multicast, u, (struct sockaddr *)&group, NULL);
	next(calling, RDMA_CM_EVENT_MULTICAST_JOIN, &ud);
	ah = ibv_create_ah(u->pd, &ud.ah_attr);
	mr = rdma_reg_msgs(u, out, LEN);
	check(ah != NULL && mr != NULL, "no address or region");
	INT(rdma_post_ud_send, u, NULL, out, LEN, mr, 0, ah, ud.qp_num);
	check(rdma_get_send_comp(u, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "a datagram");
	INT(rdma_leave_multicast, u, (struct sockaddr *)&group);
	INT(rdma_join_multicast_ex, u, &ex, NULL);
	next(calling, RDMA_CM_EVENT_MULTICAST_JOIN, NULL);
	check(rdma_leave_multicast(u, (struct sockaddr *)&group) == 0, "rdma_leave_multicast");
	check(ibv_destroy_ah(ah) == 0 && rdma_dereg_mr(mr) == 0, "ibv_destroy_ah");
	rdma_destroy_qp(u);
	check(rdma_destroy_id(u) == 0, "rdma_destroy_id");
}

int
main(int argc, char **argv)
{
	struct ibv_context **devices;
	struct rdma_cm_id *server;
	int n = 0;

	check(argc == 3, "usage: rdmacm_calls HERE THERE");
	here.sin_family = there.sin_family = AF_INET;
	check(inet_pton(AF_INET, argv[1], &here.sin_addr) == 1 && inet_pton(AF_INET, argv[2], &there.sin_addr) == 1,
	      "no addresses");
	calling = PTR(rdma_create_event_channel);
	serving = rdma_create_event_channel();
	check(calling != NULL && serving != NULL, "no channels");
	devices = PTR(rdma_get_devices, &n);
	check(devices != NULL && n == 2, "not two devices");
	rdma_free_devices(devices);
	tell("rdma_free_devices", 0);
	tell("rdma_event_str",
	     strcmp(rdma_event_str(RDMA_CM_EVENT_ESTABLISHED), "RDMA_CM_EVENT_ESTABLISHED") == 0 ? 0 : EIO);
	check(rdma_create_id(serving, &server, NULL, RDMA_PS_TCP) == 0 &&
		      rdma_bind_addr(server, (struct sockaddr *)&there) == 0,
	      "no server");
	INT(rdma_listen, server, 4);
	tell("rdma_get_src_port", rdma_get_src_port(server) != 0 ? 0 : EIO);
	connection(rdma_get_src_port(server));
	own_queue_pairs(rdma_get_src_port(server));
	rejects(rdma_get_src_port(server));
	endpoint();
	groups();
	check(rdma_destroy_id(server) == 0, "rdma_destroy_id");
	rdma_destroy_event_channel(calling);
	rdma_destroy_event_channel(serving);
	tell("rdma_destroy_event_channel", 0);
	/* Those that each of the above came by, and the one that others are made of. */
	tell("rdma_get_cm_event", 0);
	tell("rdma_ack_cm_event", 0);
	tell("rdma_seterrno", rdma_seterrno(EAGAIN) == -1 && errno == EAGAIN ? 0 : EIO);
	return 0;
}
