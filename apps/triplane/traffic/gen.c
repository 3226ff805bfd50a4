/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <string.h>

#include "gen.h"

#define GEN_TTL 64
/* RFC 2544 appendix C.2.6.1: addresses for benchmarks; RFC 863: the discard port */
#define GEN_SRC_IP RTE_IPV4(198u, 18, 0, 0)
#define GEN_DST_IP RTE_IPV4(198u, 19, 0, 1)
#define GEN_DST_PORT 9
#define GEN_SRC_PORT_FIRST 1024

void
gen_conf_default(struct gen_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->seg[0] = RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN;
	conf->num_segs = 1;
	conf->flows = 1024;
	conf->seed = 1;
	conf->src_ip = GEN_SRC_IP;
	conf->dst_ip = GEN_DST_IP;
	conf->dst_port = GEN_DST_PORT;
}

unsigned int
gen_frame_len(const struct gen_conf *conf)
{
	unsigned int i, len = 0;

	for (i = 0; i < conf->num_segs; i++)
		len += conf->seg[i];
	return len;
}

void
gen_template(const struct gen_conf *conf, const struct rte_ether_addr *src, const struct rte_ether_addr *dst,
	     struct gen_hdr *hdr)
{
	unsigned int len = gen_frame_len(conf);

	memset(hdr, 0, sizeof(*hdr));
	hdr->eth.src_addr = *src;
	hdr->eth.dst_addr = *dst;
	hdr->eth.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	hdr->ip.version_ihl = RTE_IPV4_VHL_DEF;
	hdr->ip.total_length = rte_cpu_to_be_16((uint16_t)(len - sizeof(hdr->eth)));
	hdr->ip.time_to_live = GEN_TTL;
	hdr->ip.next_proto_id = IPPROTO_UDP;
	hdr->ip.src_addr = rte_cpu_to_be_32(conf->src_ip);
	hdr->ip.dst_addr = rte_cpu_to_be_32(conf->dst_ip);
	hdr->udp.dst_port = rte_cpu_to_be_16(conf->dst_port);
	hdr->udp.dgram_len = rte_cpu_to_be_16((uint16_t)(len - sizeof(hdr->eth) - sizeof(hdr->ip)));
}

/* splitmix64: a fixed, well mixed function of seed and index, so that a flow is the same wherever it is asked for. */
static uint64_t
mix(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* One's complement sum of the payload: segments are the pattern from their start, the first after the headers. */
static uint32_t
payload_sum(const struct gen_conf *conf)
{
	unsigned int s, i, at = 0;
	uint64_t sum = 0;

	for (s = 0; s < conf->num_segs; s++) {
		for (i = s == 0 ? GEN_MIN_FRAME : 0; i < conf->seg[s]; i++, at++)
			sum += at % 2 == 0 ? (uint32_t)gen_pattern(i) << 8 : gen_pattern(i);
	}
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)sum;
}

static uint16_t
fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

void
gen_flow(const struct gen_conf *conf, const struct gen_hdr *tmpl, uint32_t i, struct gen_flow *flow)
{
	struct gen_hdr hdr = *tmpl;
	uint64_t r = mix(conf->seed, i), sum;
	uint32_t src = (conf->src_ip & 0xffff0000u) | (uint32_t)(r & 0xffff);
	uint16_t port = (uint16_t)(GEN_SRC_PORT_FIRST + (r >> 16) % (UINT16_MAX + 1 - GEN_SRC_PORT_FIRST));
	uint16_t len = rte_be_to_cpu_16(hdr.udp.dgram_len);

	hdr.ip.src_addr = rte_cpu_to_be_32(src);
	flow->src_ip = hdr.ip.src_addr;
	flow->src_port = rte_cpu_to_be_16(port);
	flow->ip_cksum = rte_ipv4_cksum(&hdr.ip);
	/* RFC 768: pseudo header, then header and payload; zero is sent as all ones */
	sum = (uint64_t)(src >> 16) + (src & 0xffff) + (conf->dst_ip >> 16) + (conf->dst_ip & 0xffff) + IPPROTO_UDP +
	      len;
	sum += (uint64_t)port + conf->dst_port + len + payload_sum(conf);
	sum = (uint16_t)~fold(sum);
	flow->udp_cksum = rte_cpu_to_be_16(sum == 0 ? UINT16_MAX : (uint16_t)sum);
}

void
gen_mbuf_init(struct rte_mempool *mp, void *arg, void *obj, unsigned int idx)
{
	struct rte_mbuf *m = obj;
	uint8_t *data;
	unsigned int i;

	rte_pktmbuf_init(mp, arg, obj, idx);
	data = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;
	for (i = 0; i + RTE_PKTMBUF_HEADROOM < m->buf_len; i++)
		data[i] = gen_pattern(i);
}
