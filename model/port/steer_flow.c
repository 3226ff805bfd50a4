/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Where rules look at more than the address, as those of programs of sockets do: what they say of a frame of TCP or UDP over IPv4
 * is remembered by all that they may look at, until a rule changes.
 */
#include <stdlib.h>

#include "port.h"

#define LG_LINES 14u /* the flows of 10,000 connections; pages that are not used take no memory */
#define PROTO_AT 23u
#define ADDRS_AT 26u
#define PORTS_AT 34u

struct tpm_flow_line {
	uint64_t macs, addrs; /* as they lie in the frame */
	uint32_t mac, ports, qpn, gen;
	uint8_t proto;
};

static uint32_t
ask(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f)
{
	struct tpm_steer_hit hit;
	uint8_t buf[TPM_PARSE_MAX];
	struct tpm_pkt k;
	uint32_t hlen;
	const uint8_t *h = tpm_frame_head(f, buf, &hlen);

	tpm_parse(h, hlen, f->len, &k);
	/* A rule may look inside. */
	if (k.proto == TPM_PROTO_UDP && tpm_load16(h + PORTS_AT + 2) == m->vxlan_port)
		return TPM_STEER_SLOW;
	tpm_steer_lookup(p, h, hlen, &k, &hit);
	return hit.n == 1 ? hit.qpn[0] : TPM_STEER_SLOW;
}

uint32_t
tpm_steer_flow(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f)
{
	struct tpm_steer_cache *c = (struct tpm_steer_cache *)p->steer;
	const uint8_t *d = f->seg[0].data;
	const struct tpm_flow_line of = {.macs = tpm_raw64(d),
					 .addrs = tpm_raw64(d + ADDRS_AT),
					 .mac = tpm_raw32(d + sizeof(uint64_t)),
					 .ports = tpm_raw32(d + PORTS_AT),
					 .gen = c->gen,
					 .proto = d[PROTO_AT]};
	const uint64_t mix = (of.addrs ^ (uint64_t)of.ports << 16) * UINT64_C(0x9e3779b97f4a7c15) + of.ports;
	struct tpm_flow_line *l;

	if (!c->flows || (d[0] & 1) != 0)
		return TPM_STEER_SLOW;
	if (tpm_unlikely(c->flow == NULL))
		c->flow = calloc((size_t)1 << LG_LINES, sizeof(*c->flow));
	if (tpm_unlikely(c->flow == NULL))
		return TPM_STEER_SLOW;
	l = &c->flow[mix * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LG_LINES)];
	if (tpm_unlikely(l->gen != of.gen || l->macs != of.macs || l->mac != of.mac || l->addrs != of.addrs ||
			 l->ports != of.ports || l->proto != of.proto)) {
		*l = of;
		l->qpn = ask(m, p, f);
	}
	return l->qpn;
}
