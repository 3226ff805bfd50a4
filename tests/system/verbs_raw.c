/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * verbs_raw DEVICE DEVICE GID_INDEX: whole frames between two ports, octet by octet, and the rules that bring them. It is linked with
 * Debian's libibverbs and knows nothing of the libraries here.
 */
#include <sys/types.h>
#include <unistd.h>

#include "verbs_end.h"

#define DEPTH 8u
#define MEM 4096u
#define HEADER 14u
#define NOBODY 65534

struct raw {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t *mem;
	struct ibv_mr *mr;
};

/* A rule for what comes in packets of UDP, or has a type of service. */
struct ip_rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_ipv4_ext ip;
} __attribute__((packed));

/* A rule and its only specification. */
struct rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
} __attribute__((packed));

static const uint8_t here[6] = {2, 0, 0, 0, 0, 1}, there[6] = {2, 0, 0, 0, 0, 2}, elsewhere[6] = {2, 0, 0, 0, 0, 3};

static struct ibv_qp *
make(struct raw *r)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.cap = {DEPTH, DEPTH, 2, 1, 100},
		.qp_type = IBV_QPT_RAW_PACKET,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = r->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	return ibv_create_qp_ex(r->ctx, &init);
}

static void
open_raw(struct raw *r, const char *name)
{
	r->ctx = open_device(name);
	r->pd = need(ibv_alloc_pd(r->ctx), "protection domain");
	r->cq = need(ibv_create_cq(r->ctx, 4 * DEPTH, NULL, NULL, 0), "completion queue");
	r->qp = need(make(r), "raw packet queue pair");
	r->mem = need(malloc(MEM), "memory");
	r->mr = need(ibv_reg_mr(r->pd, r->mem, MEM, IBV_ACCESS_LOCAL_WRITE), "region");
}

static void
up(struct raw *r)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	done(ibv_modify_qp(r->qp, &a, IBV_QP_STATE | IBV_QP_PORT), "INIT");
	a.qp_state = IBV_QPS_RTR;
	done(ibv_modify_qp(r->qp, &a, IBV_QP_STATE), "RTR");
	a.qp_state = IBV_QPS_RTS;
	done(ibv_modify_qp(r->qp, &a, IBV_QP_STATE), "RTS");
}

static struct rule
rule_of(const uint8_t *mac)
{
	struct rule r = {
		.attr = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(r), .num_of_specs = 1, .port = 1},
		.eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(r.eth)},
	};

	memcpy(r.eth.val.dst_mac, mac, 6);
	memset(r.eth.mask.dst_mac, 0xff, 6);
	return r;
}

/* A frame of len octets at the beginning of the memory, told as one piece, as two, or as octets. */
static void
send_frame(struct raw *r, const uint8_t *to, uint32_t len, unsigned int pieces)
{
	struct ibv_qp_ex *x = need(ibv_qp_to_qp_ex(r->qp), "ibv_qp_to_qp_ex");
	struct ibv_sge list[2] = {{(uintptr_t)r->mem, 20, r->mr->lkey},
				  {(uintptr_t)r->mem + 20, len - 20, r->mr->lkey}};
	struct ibv_wc wc;

	for (uint32_t i = 0; i < len; i++)
		r->mem[i] = (uint8_t)(i * 3 + len);
	memcpy(r->mem, to, 6);
	memcpy(r->mem + 6, here, 6);
	r->mem[12] = 0x88;
	r->mem[13] = 0xb5;
	ibv_wr_start(x);
	x->wr_id = len;
	x->wr_flags = 0;
	ibv_wr_send(x);
	if (pieces == 0)
		ibv_wr_set_inline_data(x, r->mem, len);
	else if (pieces == 1)
		ibv_wr_set_sge(x, r->mr->lkey, (uintptr_t)r->mem, len);
	else
		ibv_wr_set_sge_list(x, 2, list);
	done(ibv_wr_complete(x), "wr_complete");
	if (!completes(r->cq, &wc) || wc.status != IBV_WC_SUCCESS || wc.wr_id != len) {
		printf("not ok send: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
}

static void
post_recv(struct raw *r)
{
	struct ibv_sge sge = {(uintptr_t)r->mem, MEM, r->mr->lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};

	done(ibv_post_recv(r->qp, &wr, &bad), "post_recv");
}

/* What b receives next is what a has sent last. */
static const char *
arrives(struct raw *a, struct raw *b, uint32_t len)
{
	struct ibv_wc wc;

	if (!completes(b->cq, &wc) || wc.status != IBV_WC_SUCCESS)
		return "no frame";
	if (wc.byte_len != len || wc.opcode != IBV_WC_RECV || wc.qp_num != b->qp->qp_num)
		return "the length of the frame";
	return memcmp(a->mem, b->mem, len) == 0 ? NULL : "the octets of the frame";
}

/* Frames to other addresses are not b's: the one behind them comes first. */
static const char *
frames(struct raw *a, struct raw *b)
{
	static const uint32_t lengths[] = {60, 100, 61, 1514, 99, 1000};
	const char *why = NULL;

	for (unsigned int i = 0; i < 60 && why == NULL; i++) {
		uint32_t len = lengths[i % 6];

		post_recv(b);
		send_frame(a, elsewhere, 200, 1);
		send_frame(a, there, len, len <= 100 ? i % 3 : 1 + i % 2);
		why = arrives(a, b, len);
	}
	return why;
}

static const char *
rules(struct raw *a, struct raw *b, struct ibv_flow **flow)
{
	struct rule other = rule_of(elsewhere), first = rule_of(there);
	struct ibv_flow *f = ibv_create_flow(b->qp, &other.attr);
	const char *why;

	if (f == NULL)
		return "a second rule";
	post_recv(b);
	send_frame(a, elsewhere, 80, 1);
	why = arrives(a, b, 80);
	if (why == NULL && ibv_destroy_qp(b->qp) != EBUSY)
		why = "a queue pair with rules can go";
	/* The rule goes: what it brought does not come any more. */
	done(ibv_destroy_flow(f), "destroy_flow");
	if (why == NULL)
		why = frames(a, b);
	done(ibv_destroy_flow(*flow), "destroy_flow");
	*flow = need(ibv_create_flow(b->qp, &first.attr), "the rule again");
	return why == NULL ? frames(a, b) : why;
}

/* The protocol of IP is compared; what the card does not compare is refused. */
static const char *
ip_rules(struct raw *r)
{
	struct ip_rule rule = {
		.attr = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 1, .port = 1},
		.ip = {.type = IBV_FLOW_SPEC_IPV4_EXT,
		       .size = sizeof(rule.ip),
		       .val = {.proto = 17},
		       .mask = {.proto = 255}},
	};
	struct ibv_flow *f = ibv_create_flow(r->qp, &rule.attr);
	const char *why = NULL;

	if (f == NULL)
		return "a rule for UDP";
	done(ibv_destroy_flow(f), "destroy_flow");
	/* libibverbs goes by the sizes of the specifications, and some programs by that. */
	rule.attr.size = sizeof(rule.attr);
	f = ibv_create_flow(r->qp, &rule.attr);
	if (f == NULL)
		return "a rule that counts itself alone";
	done(ibv_destroy_flow(f), "destroy_flow");
	for (unsigned int i = 0; i < 4 && why == NULL; i++) {
		uint8_t *mask = &rule.ip.mask.proto + i;

		memset(&rule.ip.mask, 0, sizeof(rule.ip.mask));
		*mask = 1;
		if (ibv_create_flow(r->qp, &rule.attr) != NULL || errno == 0)
			why = "a rule for a bit of the protocol, a type of service, a time to live or flags";
	}
	return why;
}

static const char *
refused(struct raw *r)
{
	struct ibv_qp_init_attr ud = {
		.send_cq = r->cq, .recv_cq = r->cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_UD};
	struct ibv_qp *qp = need(ibv_create_qp(r->pd, &ud), "queue pair");
	struct rule rule = rule_of(there);
	const char *why = NULL;

	if (ibv_create_flow(qp, &rule.attr) != NULL || errno != EINVAL)
		why = "a rule for datagrams";
	rule.attr.type = IBV_FLOW_ATTR_SNIFFER;
	if (why == NULL && (ibv_create_flow(r->qp, &rule.attr) != NULL || errno != EOPNOTSUPP))
		why = "a sniffer";
	rule = rule_of(there);
	rule.eth.size = 4;
	if (why == NULL && (ibv_create_flow(r->qp, &rule.attr) != NULL || errno != EINVAL))
		why = "a specification that is too short";
	rule.eth.size = 60000;
	if (why == NULL && (ibv_create_flow(r->qp, &rule.attr) != NULL || errno != EINVAL))
		why = "a specification that is too long";
	done(ibv_destroy_qp(qp), "destroy_qp");
	return why;
}

/* --- large sends --- */

#define TCP_HEADER 54u /* Ethernet, IPv4, TCP */
#define PIECE 500u
#define PIECES 4u
#define PAYLOAD ((PIECES - 1) * PIECE + 100)
#define FIRST_SEQ 0xfffffe00u /* it wraps */

static struct ibv_qp *
make_large(struct raw *r, enum ibv_qp_type type, uint16_t header)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.cap = {DEPTH, DEPTH, 2, 1, 0},
		.qp_type = type,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		.pd = r->pd,
		.max_tso_header = header,
	};

	return ibv_create_qp_ex(r->ctx, &init);
}

static uint32_t
sum(const uint8_t *p, uint32_t len, uint32_t s)
{
	for (uint32_t i = 0; i < len; i++)
		s += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (s >> 16 != 0)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

static uint32_t
be(const uint8_t *p, unsigned int n)
{
	uint32_t v = 0;

	while (n-- > 0)
		v = v << 8 | *p++;
	return v;
}

static void
put_be(uint8_t *p, uint32_t v, unsigned int n)
{
	for (; n > 0; n--, v >>= 8)
		p[n - 1] = (uint8_t)v;
}

static void
headers(uint8_t *h)
{
	memset(h, 0, TCP_HEADER);
	memcpy(h, there, 6);
	memcpy(h + 6, here, 6);
	put_be(h + 12, 0x0800, 2);
	put_be(h + 14, 0x45000000, 4);
	put_be(h + 18, 0x00074000, 4);
	put_be(h + 22, 0x40060000, 4);
	put_be(h + 26, 0xc0000201, 4);
	put_be(h + 30, 0xc0000202, 4);
	put_be(h + 34, 0x04000050, 4);
	put_be(h + 38, FIRST_SEQ, 4);
	put_be(h + 46, 0x50180100, 4); /* PSH, ACK */
}

/* The n-th segment, by RFC 791 and 9293. */
static const char *
segment(const uint8_t *f, unsigned int n, const uint8_t *data)
{
	const uint32_t len = n + 1 == PIECES ? 100 : PIECE;
	uint8_t pseudo[12] = {0};

	memcpy(pseudo, f + 26, 8);
	put_be(pseudo + 8, 6, 2);
	put_be(pseudo + 10, 20 + len, 2);
	if (be(f + 16, 2) != 40 + len || be(f + 38, 4) != (uint32_t)(FIRST_SEQ + n * PIECE))
		return "length or number of a segment";
	if (f[47] != (n + 1 == PIECES ? 0x18 : 0x10))
		return "flags of a segment";
	if (sum(f + 14, 20, 0) != 0xffff || sum(f + 34, 20 + len, sum(pseudo, 12, 0)) != 0xffff)
		return "a sum of a segment";
	return memcmp(f + TCP_HEADER, data + n * PIECE, len) == 0 ? NULL : "data of a segment";
}

static const char *
segments(struct raw *a, struct raw *b, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	const char *why = NULL;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < PIECES; i++) {
		struct ibv_sge sge = {(uintptr_t)b->mem + i * (MEM / PIECES), MEM / PIECES, b->mr->lkey};
		struct ibv_recv_wr *bad_recv, recv = {.wr_id = i, .sg_list = &sge, .num_sge = 1};

		done(ibv_post_recv(b->qp, &recv, &bad_recv), "post_recv");
	}
	done(ibv_post_send(a->qp, wr, &bad), "post_send");
	if (!completes(a->cq, &wc) || wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_TSO)
		return "the completion of a large send";
	for (unsigned int i = 0; i < PIECES && why == NULL; i++) {
		if (!completes(b->cq, &wc) || wc.status != IBV_WC_SUCCESS || wc.wr_id != i)
			return "no segment";
		why = segment(b->mem + i * (MEM / PIECES), i, a->mem);
	}
	return why;
}

/* One request is four frames. What is no such request is refused. */
static const char *
large(struct raw *a, struct raw *b)
{
	struct ibv_qp *qp = a->qp;
	uint8_t h[128];
	struct ibv_sge list[2] = {{(uintptr_t)a->mem, 700, a->mr->lkey},
				  {(uintptr_t)a->mem + 700, PAYLOAD - 700, a->mr->lkey}};
	struct ibv_send_wr *bad,
		wr = {.sg_list = list, .num_sge = 2, .opcode = IBV_WR_TSO, .tso = {h, TCP_HEADER, PIECE}};
	const struct {
		uint16_t header, mss;
		int num_sge;
		const char *why;
	} wrong[] = {
		{TCP_HEADER - 1, PIECE, 2, "headers without all of TCP's"},
		{67, PIECE, 2, "headers longer than was said"},
		{TCP_HEADER, 0, 2, "segments without data"},
		{TCP_HEADER, 1500, 2, "segments longer than the port's MTU"},
		{TCP_HEADER, PIECE, 0, "no data"},
	};
	const char *why;

	headers(h);
	for (uint32_t i = 0; i < PAYLOAD; i++)
		a->mem[i] = (uint8_t)(i * 5 + i / 256);
	if (ibv_post_send(qp, &wr, &bad) != EINVAL)
		return "a large send of a queue pair without";
	if (make_large(a, IBV_QPT_UD, 66) != NULL || errno != EOPNOTSUPP)
		return "large sends of datagrams";
	if (make_large(a, IBV_QPT_RAW_PACKET, 193) != NULL || errno != EINVAL)
		return "headers longer than the card takes";
	a->qp = need(make_large(a, IBV_QPT_RAW_PACKET, 66), "queue pair with large sends");
	up(a);
	why = segments(a, b, &wr);
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]) && why == NULL; i++) {
		struct ibv_send_wr no = wr;

		no.tso.hdr_sz = wrong[i].header;
		no.tso.mss = wrong[i].mss;
		no.num_sge = wrong[i].num_sge;
		if (ibv_post_send(a->qp, &no, &bad) != EINVAL || bad != &no)
			why = wrong[i].why;
	}
	if (why == NULL)
		why = segments(a, b, &wr);
	done(ibv_destroy_qp(a->qp), "destroy_qp");
	a->qp = qp;
	return why;
}

/* Linux gives frames to who has CAP_NET_RAW; here to the user who has the port, and to user 0. */
static const char *
other_user(const char *name)
{
	struct raw r = {0};
	const char *why = NULL;

	done(seteuid(NOBODY) == 0 ? 0 : errno, "seteuid");
	r.ctx = open_device(name);
	r.pd = need(ibv_alloc_pd(r.ctx), "protection domain");
	r.cq = need(ibv_create_cq(r.ctx, 4, NULL, NULL, 0), "completion queue");
	r.qp = make(&r);
	if (r.qp != NULL || errno != EPERM)
		why = "a raw packet queue pair of another user";
	done(ibv_destroy_cq(r.cq), "destroy_cq");
	done(ibv_dealloc_pd(r.pd), "dealloc_pd");
	done(ibv_close_device(r.ctx), "close_device");
	done(seteuid(0) == 0 ? 0 : errno, "seteuid");
	return why;
}

static void
close_raw(struct raw *r)
{
	done(ibv_destroy_qp(r->qp), "destroy_qp");
	done(ibv_destroy_cq(r->cq), "destroy_cq");
	done(ibv_dereg_mr(r->mr), "dereg_mr");
	done(ibv_dealloc_pd(r->pd), "dealloc_pd");
	done(ibv_close_device(r->ctx), "close_device");
	free(r->mem);
}

int
main(int argc, char **argv)
{
	struct rule rule = rule_of(there);
	struct raw a = {0}, b = {0};
	struct ibv_flow *flow;

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_raw(&a, argv[1]);
	open_raw(&b, argv[2]);
	up(&a);
	up(&b);
	flow = need(ibv_create_flow(b.qp, &rule.attr), "rule");
	say("frames", frames(&a, &b));
	say("rules", rules(&a, &b, &flow));
	say("ip-rules", ip_rules(&b));
	say("refused", refused(&b));
	say("large", large(&a, &b));
	if (geteuid() == 0)
		say("other-user", other_user(argv[1]));
	else
		printf("skip other-user: only root can become another user\n");
	done(ibv_destroy_flow(flow), "destroy_flow");
	close_raw(&a);
	close_raw(&b);
	say("closed", NULL);
	return failed != 0;
}
