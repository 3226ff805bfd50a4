/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "sa_record.h"

#include "lib/roce/wire/wire.h"

#define REVERSIBLE 0x80u
#define CODE 0x3fu /* of an MTU, rate or lifetime, below its selector */
#define FLOW 0xfffffu

void
sa_path_put(const struct tp_sa_path *p, uint8_t num, uint8_t r[SA_PATH_LEN])
{
	memset(r, 0, SA_PATH_LEN);
	memcpy(r + 8, p->dgid.raw, 16);
	memcpy(r + 24, p->sgid.raw, 16);
	ib_put16(r + 40, p->dlid);
	ib_put16(r + 42, p->slid);
	ib_put32(r + 44, (p->flow_label & FLOW) << 8 | p->hop_limit);
	r[48] = p->traffic_class;
	r[49] = (uint8_t)((p->reversible ? REVERSIBLE : 0) | (num & 0x7f));
	ib_put16(r + 50, p->pkey);
	ib_put16(r + 52, p->sl & 0xf);
	r[54] = (uint8_t)(TP_SA_EXACTLY << 6 | (p->mtu & CODE));
	r[55] = (uint8_t)(TP_SA_EXACTLY << 6 | (p->rate & CODE));
	r[56] = (uint8_t)(TP_SA_EXACTLY << 6 | (p->lifetime & CODE));
}

void
sa_path_take(const uint8_t r[SA_PATH_LEN], struct tp_sa_path *p)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->dgid.raw, r + 8, 16);
	memcpy(p->sgid.raw, r + 24, 16);
	p->dlid = ib_get16(r + 40);
	p->slid = ib_get16(r + 42);
	p->flow_label = ib_get32(r + 44) >> 8 & FLOW;
	p->hop_limit = r[47];
	p->traffic_class = r[48];
	p->reversible = (r[49] & REVERSIBLE) != 0;
	p->pkey = ib_get16(r + 50);
	p->sl = r[53] & 0xf;
	p->mtu = r[54] & CODE;
	p->rate = r[55] & CODE;
	p->lifetime = r[56] & CODE;
}

void
sa_member_put(const struct tp_sa_member *m, uint8_t r[SA_MEMBER_LEN])
{
	memset(r, 0, SA_MEMBER_LEN);
	memcpy(r, m->mgid.raw, 16);
	memcpy(r + 16, m->port_gid.raw, 16);
	ib_put32(r + 32, m->qkey);
	ib_put16(r + 36, m->mlid);
	r[38] = (uint8_t)(m->mtu_selector << 6 | (m->mtu & CODE));
	r[39] = m->traffic_class;
	ib_put16(r + 40, m->pkey);
	r[42] = (uint8_t)(m->rate_selector << 6 | (m->rate & CODE));
	r[43] = (uint8_t)(m->lifetime_selector << 6 | (m->lifetime & CODE));
	ib_put32(r + 44, (uint32_t)(m->sl & 0xf) << 28 | (m->flow_label & FLOW) << 8 | m->hop_limit);
	r[48] = (uint8_t)(m->scope << 4 | (m->join_state & 0xf));
	r[49] = m->proxy_join ? 0x80 : 0;
}

void
sa_member_take(const uint8_t r[SA_MEMBER_LEN], struct tp_sa_member *m)
{
	memset(m, 0, sizeof(*m));
	memcpy(m->mgid.raw, r, 16);
	memcpy(m->port_gid.raw, r + 16, 16);
	m->qkey = ib_get32(r + 32);
	m->mlid = ib_get16(r + 36);
	m->mtu_selector = r[38] >> 6;
	m->mtu = r[38] & CODE;
	m->traffic_class = r[39];
	m->pkey = ib_get16(r + 40);
	m->rate_selector = r[42] >> 6;
	m->rate = r[42] & CODE;
	m->lifetime_selector = r[43] >> 6;
	m->lifetime = r[43] & CODE;
	m->sl = r[44] >> 4;
	m->flow_label = ib_get32(r + 44) >> 8 & FLOW;
	m->hop_limit = r[47];
	m->scope = r[48] >> 4;
	m->join_state = r[48] & 0xf;
	m->proxy_join = (r[49] & 0x80) != 0;
}
