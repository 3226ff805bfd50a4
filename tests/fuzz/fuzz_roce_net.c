/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * ARP, neighbour discovery and echo of a RoCE port: an input is a list of steps, frames that come, questions of ours, time
 * that passes. Whatever came, an address of ours is never learnt, the table keeps its order, and each frame that leaves is
 * one that another port takes without a complaint.
 */
#include <stdlib.h>

#include <netinet/in.h>

#include <rte_ip.h>

#include "bytes.h"
#include "lib/roce/net/net_priv.h"

#define MAX_STEPS 64

static struct troce_net net, judge;
static uint64_t now;
static const struct rte_ether_addr us = {{2, 0, 0, 0, 0, 0xaa}}, other = {{2, 0, 0, 0, 0, 0xcc}};
int troce_logtype;
__thread struct troce_talk troce_talk;

static void
need(bool good)
{
	if (!good)
		abort();
}

static void
give(struct troce_net *n, const struct rte_ether_addr *mac, uint8_t last)
{
	struct trn_addr v4 = {trn_gid_v4(rte_cpu_to_be_32(UINT32_C(0xc0000200) | last)), 120, TP_ROCE_NO_VLAN, true,
			      false};
	struct trn_addr v6 = {{.raw = {0x20, 0x01, 0x0d, 0xb8, [15] = last}}, 64, TP_ROCE_NO_VLAN, true, false};

	memset(n, 0, sizeof(*n));
	trn_neigh_init(&n->neighs);
	n->mac = *mac;
	n->due = TRN_NEVER;
	n->answers = (struct trn_rate){1000000, 200000000, 0};
	trn_addrs_init(&n->a, TP_ROCE_V2, mac);
	need(trn_addrs_add(&n->a, TP_ROCE_V2, &v4) == 0 && trn_addrs_add(&n->a, TP_ROCE_V2, &v6) == 0);
	v4.vlan = v6.vlan = 42;
	need(trn_addrs_add(&n->a, TP_ROCE_V2, &v4) == 0 && trn_addrs_add(&n->a, TP_ROCE_V2, &v6) == 0);
}

static void
check_sent(void *arg, const struct trn_out *sent)
{
	struct trn_out answer;
	struct trn_frame f;

	need(sent->len >= 60 && sent->len <= TRN_FRAME_MAX);
	need(trn_classify(sent->data, sent->len, 0, false, &f));
	need(rte_is_same_ether_addr(f.src, &us) && rte_is_valid_assigned_ether_addr(f.src));
	judge.count.malformed = 0;
	(void)trn_input(&judge, &f, now, &answer);
	need(judge.count.malformed == 0);
}

/* A checksum is more than a fuzzer can guess. */
static void
repair(uint8_t *data, const struct trn_frame *f)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)(data + (f->l3 - data));
	uint8_t *msg = (uint8_t *)(ip + 1);
	uint16_t sum;

	if (f->type != RTE_ETHER_TYPE_IPV6 || f->len < sizeof(*ip) + 4 || rte_be_to_cpu_16(ip->payload_len) < 4 ||
	    rte_be_to_cpu_16(ip->payload_len) > f->len - sizeof(*ip))
		return;
	memset(msg + 2, 0, sizeof(sum));
	sum = rte_ipv6_udptcp_cksum(ip, msg);
	memcpy(msg + 2, &sum, sizeof(sum));
}

static void
frame_in(struct bytes *b)
{
	size_t len = bytes_u8(b);
	uint8_t how = bytes_u8(b);
	uint16_t tci = (how & 1) != 0 ? 42 : 0;
	uint8_t *data = malloc(len + 1); /* exact, but for one: malloc(0) */
	struct trn_out out = {.len = 0};
	struct trn_frame f;

	need(data != NULL);
	bytes_copy(b, data, len);
	if (trn_classify(data, (uint32_t)len, tci, true, &f)) {
		enum trn_verdict v = TRN_OTHER;

		if ((how & 2) != 0)
			repair(data, &f);
		if (f.type != RTE_ETHER_TYPE_IPV4)
			v = trn_input(&net, &f, now, &out);
		if (out.len != 0)
			check_sent(NULL, &out);
		if (v == TRN_OTHER && f.type != RTE_ETHER_TYPE_ARP)
			(void)trn_echo(&net, (struct rte_ether_hdr *)data, data + (f.l3 - data), f.len, f.type, f.vlan);
	} else if (trn_is_tcp(&f, UINT64_MAX)) {
		need(!trn_refuse(&net, &f, &out) ||
		     (out.len >= RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN && out.len <= sizeof(out.data)));
	}
	free(data);
}

static void
check_table(void)
{
	unsigned int i, used = 0, free_ones = 0;
	uint16_t k;

	for (i = 0; i < TRN_NEIGHS; i++) {
		const struct trn_neigh *n = &net.neighs.e[i];

		if (n->state == TRN_FREE)
			continue;
		used++;
		need(n->due >= net.neighs.due);
		need(trn_is_host(&n->addr));
		need(n->state == TRN_INCOMPLETE || n->state == TRN_FAILED || rte_is_valid_assigned_ether_addr(&n->mac));
		need(trn_addrs_find(&net.a, &n->addr, n->vlan) < 0);
	}
	for (k = net.neighs.free; k != TRN_NEIGH_NONE; k = net.neighs.e[k].next)
		free_ones++;
	need(used + free_ones == TRN_NEIGHS);
}

static void
ask(struct bytes *b)
{
	uint8_t host = bytes_u8(b);
	uint16_t vlan = (bytes_u8(b) & 1) != 0 ? 42 : TP_ROCE_NO_VLAN;
	const struct trn_addr *src = &net.a.addr[host & 0x80 ? 1 : 2];
	union ibv_gid gid = src->gid;
	struct rte_ether_addr mac;

	gid.raw[15] = host & 0x7f;
	if (trn_addrs_find(&net.a, &gid, vlan) < 0)
		(void)trn_neigh_lookup(&net.neighs, &gid, vlan, &src->gid, &mac);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	unsigned int i;

	now = 1000;
	rte_log_set_global_level(RTE_LOG_EMERG);
	give(&net, &us, 1);
	give(&judge, &other, 9);
	for (i = 0; i < MAX_STEPS && b.left != 0; i++) {
		switch (bytes_u8(&b) & 7) {
		case 0: now += (uint64_t)bytes_u16(&b) * 10000000; break;
		case 1: ask(&b); break;
		case 2: (void)trn_run(&net, now, check_sent, NULL); break;
		default: frame_in(&b); break;
		}
		check_table();
	}
	return 0;
}
