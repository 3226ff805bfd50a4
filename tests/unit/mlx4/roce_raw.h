/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What tests of raw packet queue pairs share: frames, which are scapy's, ends, rules; the other port's ethdev is the other end. */
#ifndef ROCE_RAW_H
#define ROCE_RAW_H

#include "roce_rig.h"

#define LEN 64u
#define UDP_PORT 5000u
#define MTU 1500u

/* Ether / IP(10.0.0.1 > 10.0.0.2) / UDP(1000 > 5000) / 22 octets that count up, from 02:..:77 to 02:..:aa */
static const uint8_t udp[LEN] = {0x02, 0x00, 0x00, 0x00, 0x00, 0xaa, 0x02, 0x00, 0x00, 0x00, 0x00, 0x77, 0x08,
				 0x00, 0x45, 0x00, 0x00, 0x32, 0x12, 0x34, 0x00, 0x00, 0x40, 0x11, 0x54, 0x85,
				 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0x03, 0xe8, 0x13, 0x88, 0x00,
				 0x1e, 0x65, 0xc6, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
				 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15};
#define IP_SUM 24u
#define UDP_SUM 40u
#define UDP_DPORT 36u
/* The same with Dot1Q(vlan=100, prio=5), TCP(1000 > 80) and "abcdef" */
static const uint8_t tcp[LEN] = {0x02, 0x00, 0x00, 0x00, 0x00, 0xaa, 0x02, 0x00, 0x00, 0x00, 0x00, 0x77, 0x81,
				 0x00, 0xa0, 0x64, 0x08, 0x00, 0x45, 0x00, 0x00, 0x2e, 0x12, 0x34, 0x00, 0x00,
				 0x40, 0x06, 0x54, 0x94, 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0x03,
				 0xe8, 0x00, 0x50, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x50, 0x02,
				 0x20, 0x00, 0x4d, 0x74, 0x00, 0x00, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66};

/* --- ends ---------------------------------------------------------------------------------------------------------- */

static inline void
ready(struct rr_end *e)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	assert_int_equal(tp_roce_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_PORT), 0);
	rr_state(e, IBV_QPS_RTR);
	rr_state(e, IBV_QPS_RTS);
}

static inline void
raw_end(struct rr_end *e, unsigned int port)
{
	rr_end(e, port);
	rr_qp(e, IBV_QPT_RAW_PACKET, NULL);
	/* Ethernet frames leave by numbers with bits 7:6 clear [CP 5.10]. */
	assert_int_equal(e->qp->qp_num & 0xc0, 0);
	ready(e);
}

/* The queues of an ethdev have nothing else; the port's thread would take it. */
static inline void
ethdev_got(uint16_t port, const uint8_t *want, uint32_t len)
{
	struct rte_mbuf *m[2];

	rig_run(port);
	assert_int_equal(rte_eth_rx_burst(port, 0, m, 2), 1);
	assert_int_equal(rte_pktmbuf_pkt_len(m[0]), len);
	assert_memory_equal(rte_pktmbuf_mtod(m[0], void *), want, len);
	rte_pktmbuf_free(m[0]);
}

static inline void
ethdev_sends(uint16_t port, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig_pool());

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), frame, len);
	rig_send(port, m);
}

/* The place of a receive request is its number, and has room for it. */
#define ROOM 2048u
static inline void
wants(struct rr_end *e, unsigned int n)
{
	unsigned int i;

	memset(e->mem, 0xee, RR_MEM);
	for (i = 0; i < n; i++)
		assert_int_equal(rr_recv(e, i * ROOM, ROOM), 0);
}

static inline struct ibv_wc
got(struct rr_end *e, unsigned int nth, const uint8_t *want, uint32_t len)
{
	struct ibv_wc wc = rr_expect(e, IBV_WC_SUCCESS, IBV_WC_RECV, nth * ROOM);

	assert_int_equal(wc.byte_len, len);
	assert_memory_equal(e->mem + nth * ROOM, want, len);
	assert_int_equal(e->mem[nth * ROOM + len], 0xee);
	return wc;
}

/* --- rules --------------------------------------------------------------------------------------------------------- */

struct rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
	struct ibv_flow_spec_ipv4 ip;
	struct ibv_flow_spec_tcp_udp l4;
};

static inline struct rule
rule_of(unsigned int specs)
{
	static const uint16_t end[] = {offsetof(struct rule, eth), offsetof(struct rule, ip), offsetof(struct rule, l4),
				       sizeof(struct rule)};

	return (struct rule){
		.attr = {.size = end[specs], .num_of_specs = (uint8_t)specs, .port = 1},
		.eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(struct ibv_flow_spec_eth)},
		.ip = {.type = IBV_FLOW_SPEC_IPV4, .size = sizeof(struct ibv_flow_spec_ipv4)},
		.l4 = {.type = IBV_FLOW_SPEC_UDP, .size = sizeof(struct ibv_flow_spec_tcp_udp)},
	};
}

static inline struct rule
to_mac(const uint8_t *mac)
{
	struct rule r = rule_of(1);

	memcpy(r.eth.val.dst_mac, mac, RTE_ETHER_ADDR_LEN);
	memset(r.eth.mask.dst_mac, 0xff, RTE_ETHER_ADDR_LEN);
	return r;
}

static inline struct rule
to_port(uint16_t dport)
{
	struct rule r = rule_of(3);

	r.l4.val.dst_port = rte_cpu_to_be_16(dport);
	r.l4.mask.dst_port = UINT16_MAX;
	return r;
}

static inline struct ibv_flow *
bring(struct rr_end *e, const struct rule *r)
{
	struct rule copy = *r;
	struct ibv_flow *f = tp_roce_create_flow(e->qp, &copy.attr);

	assert_non_null(f);
	return f;
}

/* Since rig_log_begin(), one line was logged, with these words. */
static inline void
roce_said(const char *words)
{
	unsigned int lines;
	char *text = rig_log_end(&lines);

	if (strncmp(text, "roce: port ", 11) != 0 || strstr(text, words) == NULL ||
	    strchr(text, '\n') != text + strlen(text) - 1)
		fail_msg("wanted one line with \"%s\":\n%s", words, text);
	free(text);
}

static inline void
refused(struct rr_end *e, struct ibv_flow_attr *attr, int err, const char *words)
{
	rig_log_begin();
	errno = 0;
	assert_null(tp_roce_create_flow(e->qp, attr));
	assert_int_equal(errno, err);
	roce_said(words);
}

#endif /* ROCE_RAW_H */
