/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Device-managed flow steering of one port [CP 6.3][DP 9.3].
 *
 * Rules that name one full destination address and nothing else are found by a hash, those that name one destination port,
 * among others, by another; the rest is in a list ordered by priority. Defaults take what no regular rule takes. Rules with equal priority and equal specifications share
 * the frame: each of their QPs gets a copy. A small cache answers for untagged frames as long as the address alone
 * decides.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "model/mem/mem.h"
#include "port.h"
#include "steer_rule.h"

#define MAC_BUCKETS 4096u
#define ID_BUCKETS 4096u
#define PORT_BUCKETS 4096u
#define UDP_HLEN 8u
#define VXLAN_HLEN 8u
#define KEY_MASK UINT64_C(0xffffffffffff)

struct tpm_steer {
	struct tpm_steer_cache cache; /* first: tpm_steer_fast looks at nothing else */
	struct tp_model *m;
	enum tpm_steer_by by; /* the mode that INIT_HCA chose */
	struct tpm_rule *mac[MAC_BUCKETS];
	struct tpm_rule *dport[PORT_BUCKETS]; /* regular rules that name one destination port, by priority */
	struct tpm_rule *list;                /* other regular rules that are not by_mac, by priority */
	uint32_t others;                      /* regular rules that are not by_mac */
	struct tpm_rule *all, *mc;            /* defaults */
	struct tpm_rule *uc_sn, *mc_sn;       /* sniffers */
	struct tpm_rule *mirror[2];           /* of what is received, of what is sent */
	struct tpm_rule *ib;
	struct tpm_rule *ids[ID_BUCKETS];
};

static_assert(offsetof(struct tpm_steer, cache) == 0, "the cache is the first member");

int
tpm_steer_init(struct tpm_port *p)
{
	p->steer = calloc(1, sizeof(*p->steer));
	if (p->steer == NULL)
		return -ENOMEM;
	p->steer->cache.gen = 1;
	return 0;
}

static void
changed(struct tpm_steer *s)
{
	s->cache.gen += s->cache.gen == UINT32_MAX ? 2 : 1;
	s->cache.flows = s->by == TPM_STEER_BY_RULES && s->others != 0;
}

static uint64_t
mac_key(const uint8_t *mac)
{
	uint64_t key = 0;

	memcpy(&key, mac, TPM_ETH_ALEN);
	return key;
}

static uint32_t
mac_bucket(uint64_t key)
{
	return (uint32_t)((key & KEY_MASK) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % MAC_BUCKETS;
}

static bool
by_dport(const struct tpm_match *mt)
{
	return mt->has_l4 && mt->dport_m == UINT16_MAX;
}

static bool
is_other(const struct tpm_rule *r)
{
	return r->type == MLX4_DMFS_REGULAR && !r->is_ib && !r->by_mac;
}

/* The list that a rule lives in. */
static struct tpm_rule **
rule_list(struct tpm_steer *s, const struct tpm_rule *r)
{
	switch (r->type) {
	case MLX4_DMFS_ALL_DEFAULT: return &s->all;
	case MLX4_DMFS_MC_DEFAULT: return &s->mc;
	case MLX4_DMFS_UC_SNIFFER: return &s->uc_sn;
	case MLX4_DMFS_MC_SNIFFER: return &s->mc_sn;
	case MLX4_DMFS_MIRROR_RX:
	case MLX4_DMFS_MIRROR_SX: return &s->mirror[r->type == MLX4_DMFS_MIRROR_SX];
	default:
		if (r->is_ib)
			return &s->ib;
		if (r->by_mac)
			return &s->mac[mac_bucket(mac_key(r->mt.dmac))];
		return by_dport(&r->mt) ? &s->dport[r->mt.dport % PORT_BUCKETS] : &s->list;
	}
}

static void
free_list(struct tpm_rule **list)
{
	while (*list != NULL) {
		struct tpm_rule *r = *list;

		*list = r->next;
		free(r);
	}
}

static void
flush(struct tpm_steer *s)
{
	for (unsigned int i = 0; i < MAC_BUCKETS; i++)
		free_list(&s->mac[i]);
	for (unsigned int i = 0; i < PORT_BUCKETS; i++)
		free_list(&s->dport[i]);
	free_list(&s->list);
	s->others = 0;
	free_list(&s->all);
	free_list(&s->mc);
	free_list(&s->uc_sn);
	free_list(&s->mc_sn);
	free_list(&s->mirror[0]);
	free_list(&s->mirror[1]);
	free_list(&s->ib);
	memset(s->ids, 0, sizeof(s->ids));
	changed(s);
}

void
tpm_steer_fini(struct tpm_port *p)
{
	if (p->steer != NULL) {
		flush(p->steer);
		free(p->steer->cache.flow);
	}
	free(p->steer);
	p->steer = NULL;
}

void
tpm_steer_flush(struct tp_model *m)
{
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++)
		if (m->port[i].steer != NULL) {
			flush(m->port[i].steer);
			m->port[i].mirrored = false;
		}
	m->st.rules = 0;
}

void
tpm_steer_mode(struct tp_model *m, enum tpm_steer_by by)
{
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		m->port[i].steer->m = m;
		m->port[i].steer->by = by;
		changed(m->port[i].steer);
	}
}

/* --- attach and detach ------------------------------------------------------------------------------------ */

static bool
only_dmac(const struct tpm_match *mt)
{
	static const uint8_t ones[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, zero[6];

	return memcmp(mt->dmac_m, ones, 6) == 0 && memcmp(mt->smac_m, zero, 6) == 0 && !mt->has_etype &&
	       mt->vlan_m == 0 && !mt->has_ipv4 && !mt->has_l4 && !mt->has_vxlan;
}

/* Behind rules of the same priority: first attached, first asked. */
static void
insert(struct tpm_steer *s, struct tpm_rule *r)
{
	struct tpm_rule **at = rule_list(s, r);

	while (*at != NULL && (*at)->prio <= r->prio)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	r->id_next = s->ids[r->id % ID_BUCKETS];
	s->ids[r->id % ID_BUCKETS] = r;
	s->others += is_other(r);
	changed(s);
}

static void
set_mirrored(struct tpm_port *p)
{
	p->mirrored = p->steer->mirror[0] != NULL || p->steer->mirror[1] != NULL;
}

uint8_t
tpm_steer_attach(struct tp_model *m, const uint8_t *mbox, uint32_t ndwords, uint64_t *id)
{
	struct tpm_rule *r, t = {0};

	if (ndwords * 4 < MLX4_DMFS_CTRL_SIZE || ndwords * 4 > MLX4_MAILBOX_SIZE) {
		tpm_violate(m, TPM_V_STEER_SPEC, "rule", 0, "%u dwords, wanted 4..%u", ndwords, MLX4_MAILBOX_SIZE / 4);
		return MLX4_STAT_BAD_PARAM;
	}
	t.prio = (uint16_t)prm_get(mbox, MLX4_DMFS_PRIORITY);
	if (tpm_quirk(m, MLX4_QUIRK_RULE_ORDER) != 0)
		t.prio ^= MLX4_DMFS_PRIO_IN_DOMAIN;
	t.type = (uint8_t)prm_get(mbox, MLX4_DMFS_TYPE);
	t.port = (uint8_t)prm_get(mbox, MLX4_DMFS_PORT);
	t.qpn = prm_get(mbox, MLX4_DMFS_QPN);
	t.allow_lb = prm_get(mbox, MLX4_DMFS_F_ALLOW_LB) != 0;
	if (t.port < 1 || t.port > m->cfg.num_ports) {
		tpm_violate(m, TPM_V_STEER_SPEC, "rule", 0, "port %u, wanted 1..%u", t.port, m->cfg.num_ports);
		return MLX4_STAT_BAD_PARAM;
	}
	if (t.type != MLX4_DMFS_REGULAR && t.type != MLX4_DMFS_ALL_DEFAULT &&
	    (t.type < MLX4_DMFS_MC_DEFAULT || t.type > MLX4_DMFS_MC_SNIFFER)) {
		tpm_violate(m, TPM_V_STEER_SPEC, "port", t.port, "rule type %u, wanted 0, 1 or 3..7", t.type);
		return MLX4_STAT_BAD_PARAM;
	}
	if (tpm_qp_get(m, t.qpn) == NULL) {
		tpm_violate(m, TPM_V_STEER_QPN, "QP", t.qpn, "a rule of port %u names a QP that does not exist",
			    t.port);
		return MLX4_STAT_BAD_PARAM;
	}
	if (!tpm_steer_specs(m, mbox, ndwords * 4, &t))
		return MLX4_STAT_BAD_PARAM;
	if (m->st.rules >= TPM_MAX_RULES)
		return MLX4_STAT_EXCEED_LIM;
	r = malloc(sizeof(*r));
	if (r == NULL)
		return MLX4_STAT_INTERNAL_ERR;
	*r = t;
	r->by_mac = r->type == MLX4_DMFS_REGULAR && !r->is_ib && only_dmac(&r->mt);
	r->id = *id = ++m->next_rule_id;
	insert(m->port[r->port - 1].steer, r);
	set_mirrored(&m->port[r->port - 1]);
	m->st.rules++;
	return MLX4_STAT_OK;
}

static bool
detach(struct tpm_steer *s, uint64_t id)
{
	struct tpm_rule **at = &s->ids[id % ID_BUCKETS], *r;

	while (*at != NULL && (*at)->id != id)
		at = &(*at)->id_next;
	r = *at;
	if (r == NULL)
		return false;
	*at = r->id_next;
	for (at = rule_list(s, r); *at != r; at = &(*at)->next)
		continue;
	*at = r->next;
	s->others -= is_other(r);
	free(r);
	changed(s);
	return true;
}

uint8_t
tpm_steer_detach(struct tp_model *m, uint64_t id)
{
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		if (m->port[i].steer != NULL && detach(m->port[i].steer, id)) {
			set_mirrored(&m->port[i]);
			m->st.rules--;
			return MLX4_STAT_OK;
		}
	}
	return MLX4_STAT_BAD_PARAM;
}

/* --- lookup ----------------------------------------------------------------------------------------------- */

static bool
mac_matches(const uint8_t *mac, const uint8_t *val, const uint8_t *mask)
{
	uint8_t diff = 0;

	for (unsigned int i = 0; i < 6; i++)
		diff |= (uint8_t)((mac[i] & mask[i]) ^ val[i]);
	return diff == 0;
}

static bool
ip_matches(const struct tpm_match *mt, const uint8_t *h, uint32_t hlen, const struct tpm_pkt *k)
{
	uint32_t sip, dip;

	if (k->etype != TPM_ETYPE_IPV4 || k->l3 + 20u > hlen)
		return false;
	sip = prm_get32(h, k->l3 + 12u);
	dip = prm_get32(h, k->l3 + 16u);
	return ((sip ^ mt->sip) & mt->sip_m) == 0 && ((dip ^ mt->dip) & mt->dip_m) == 0;
}

static bool
l4_matches(const struct tpm_match *mt, const uint8_t *h, const struct tpm_pkt *k)
{
	if (k->proto != mt->proto || (k->status & (MLX4_CQE_ST_TCP | MLX4_CQE_ST_UDP)) == 0)
		return false;
	return ((tpm_load16(h + k->l4) ^ mt->sport) & mt->sport_m) == 0 &&
	       ((tpm_load16(h + k->l4 + 2) ^ mt->dport) & mt->dport_m) == 0;
}

static bool
vxlan_matches(const struct tpm_steer *s, const struct tpm_match *mt, const uint8_t *h, uint32_t hlen,
	      const struct tpm_pkt *k)
{
	uint32_t at = k->l4 + UDP_HLEN, inner = at + VXLAN_HLEN;

	if (k->proto != TPM_PROTO_UDP || (k->status & MLX4_CQE_ST_UDP) == 0 || inner + TPM_ETH_HLEN > hlen ||
	    s->m == NULL || tpm_load16(h + k->l4 + 2) != s->m->vxlan_port)
		return false;
	return ((prm_get32(h, at + 4) >> 8 ^ mt->vni) & mt->vni_m) == 0 &&
	       mac_matches(h + inner, mt->in_dmac, mt->in_dmac_m);
}

static bool
matches(const struct tpm_steer *s, const struct tpm_match *mt, const uint8_t *h, uint32_t hlen, const struct tpm_pkt *k)
{
	if (!mac_matches(h, mt->dmac, mt->dmac_m) || !mac_matches(h + 6, mt->smac, mt->smac_m))
		return false;
	if (mt->has_etype && mt->etype != k->etype)
		return false;
	if (mt->vlan_m != 0 && (!k->cvlan || ((k->tci ^ mt->vlan) & mt->vlan_m) != 0))
		return false;
	return (!mt->has_ipv4 || ip_matches(mt, h, hlen, k)) && (!mt->has_l4 || l4_matches(mt, h, k)) &&
	       (!mt->has_vxlan || vxlan_matches(s, mt, h, hlen, k));
}

static void
add_hit(struct tpm_steer_hit *hit, const struct tpm_rule *r)
{
	for (uint32_t i = 0; i < hit->n; i++)
		if (hit->qpn[i] == r->qpn)
			return;
	if (hit->n < TPM_STEER_MAX_QPS)
		hit->qpn[hit->n++] = r->qpn;
}

static void
add_all(struct tpm_steer_hit *hit, const struct tpm_rule *r)
{
	for (; r != NULL; r = r->next)
		add_hit(hit, r);
}

/* Of the defaults those of the best priority, as with other rules; the list is ordered. */
static void
add_best(struct tpm_steer_hit *hit, const struct tpm_rule *list)
{
	const struct tpm_rule *r;

	for (r = list; r != NULL && r->prio == list->prio; r = r->next)
		add_hit(hit, r);
}

/* The first rule of a list that a frame matches, if it is asked before by_mac and before best; else best. */
static const struct tpm_rule *
first_match(const struct tpm_steer *s, const struct tpm_rule *r, const struct tpm_rule *by_mac,
	    const struct tpm_rule *best, const uint8_t *h, uint32_t hlen, const struct tpm_pkt *k)
{
	for (; r != NULL && (by_mac == NULL || r->prio < by_mac->prio); r = r->next) {
		if (best != NULL && (r->prio > best->prio || (r->prio == best->prio && r->id > best->id)))
			break;
		if (matches(s, &r->mt, h, hlen, k))
			return r;
	}
	return best;
}

/* Best rule and all with its priority and specifications. */
static void
lookup_regular(struct tpm_steer *s, const uint8_t *h, uint32_t hlen, const struct tpm_pkt *k, struct tpm_steer_hit *hit)
{
	uint64_t key = mac_key(h);
	const struct tpm_rule *by_mac = s->mac[mac_bucket(key)], *best;

	while (by_mac != NULL && mac_key(by_mac->mt.dmac) != key)
		by_mac = by_mac->next;
	best = first_match(s, s->list, by_mac, NULL, h, hlen, k);
	if ((k->status & (MLX4_CQE_ST_TCP | MLX4_CQE_ST_UDP)) != 0)
		best = first_match(s, s->dport[tpm_load16(h + k->l4 + 2) % PORT_BUCKETS], by_mac, best, h, hlen, k);
	if (best == NULL)
		best = by_mac;
	if (best == NULL)
		return;
	hit->by_rule = true;
	hit->allow_lb = best->allow_lb;
	for (const struct tpm_rule *r = best; r != NULL && r->prio == best->prio; r = r->next)
		if (memcmp(&r->mt, &best->mt, sizeof(r->mt)) == 0)
			add_hit(hit, r);
}

void
tpm_steer_lookup(struct tpm_port *p, const uint8_t *h, uint32_t hlen, const struct tpm_pkt *k,
		 struct tpm_steer_hit *hit)
{
	struct tpm_steer *s = p->steer;
	bool mc = (h[0] & 1) != 0;

	hit->n = 0;
	hit->by_rule = hit->allow_lb = false;
	if (s->by != TPM_STEER_BY_RULES) {
		(s->by == TPM_STEER_BY_GROUPS ? tpm_group_lookup : tpm_calc_lookup)(s->m, p, h, k, hit);
		return;
	}
	lookup_regular(s, h, hlen, k, hit);
	if (hit->n == 0 && mc)
		add_best(hit, s->mc);
	if (hit->n == 0)
		add_best(hit, s->all);
	add_all(hit, mc ? s->mc_sn : s->uc_sn);
}

void
tpm_steer_group(struct tpm_port *p, const uint8_t *gid, struct tpm_steer_hit *hit)
{
	struct tpm_steer *s = p->steer;

	hit->n = 0;
	hit->by_rule = hit->allow_lb = true;
	if (s->by != TPM_STEER_BY_RULES) {
		tpm_group_lookup_ib(s->m, gid, hit);
		return;
	}
	for (const struct tpm_rule *r = s->ib; r != NULL; r = r->next) {
		uint8_t diff = 0;

		for (unsigned int i = 0; i < MLX4_MCG_KEY_SIZE; i++)
			diff |= (uint8_t)((gid[i] & r->gid_m[i]) ^ r->gid[i]);
		if (diff == 0)
			add_hit(hit, r);
	}
}

void
tpm_steer_mirror(struct tpm_port *p, bool sent, struct tpm_steer_hit *hit)
{
	hit->n = 0;
	hit->by_rule = hit->allow_lb = true;
	for (const struct tpm_rule *r = p->steer->mirror[sent]; r != NULL; r = r->next)
		add_hit(hit, r);
}

uint32_t
tpm_steer_fast_miss(struct tpm_port *p, uint64_t key)
{
	struct tpm_steer *s = p->steer;
	struct tpm_steer_line *l = &s->cache.line[(key >> 40 ^ key >> 24) % TPM_STEER_CACHE];
	struct tpm_steer_hit hit;
	struct tpm_pkt k = {0};
	uint8_t h[TPM_ETH_HLEN] = {0};

	if (s->others != 0 || s->by != TPM_STEER_BY_RULES)
		return TPM_STEER_SLOW;
	memcpy(h, &key, TPM_ETH_ALEN);
	tpm_steer_lookup(p, h, sizeof(h), &k, &hit);
	if (hit.n != 1)
		return TPM_STEER_SLOW;
	*l = (struct tpm_steer_line){.key = key, .qpn = hit.qpn[0], .gen = s->cache.gen};
	return hit.qpn[0];
}
