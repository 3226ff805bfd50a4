/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * From a pattern to the specifications of a steering rule [CP 6.3, DP 9.3]. Which fields the card compares is a table;
 * whatever else a mask asks for is refused with its name. A rule always begins with an Ethernet specification. There is none
 * for IPv6, which is known by its EtherType alone.
 */
#include "flow.h"

#include <errno.h>
#include <stddef.h>

enum compare {
	NEVER, /* the card does not look at it */
	WHOLE, /* all bits or none */
	BITS,
};

struct field {
	const char *name;
	uint8_t off, len;
	enum compare compare;
};

/* The order of items; what a pattern has reached. */
enum stage { AT_START, AT_ETH, AT_VLAN, AT_L3, AT_L4, AT_TUNNEL, AT_INNER };

#define NO_PROTO (-1)

struct parse {
	const struct mlx4_eth *eth;
	struct mlx4_flow_match *m;
	struct rte_flow_error *e;
	const struct rte_flow_item *item;
	enum stage stage;
	bool has_etype, has_ip, has_l4; /* has_ip: by a specification, which is IPv4's */
	uint16_t etype;                 /* behind tags, as the pattern says or means */
	int proto;                      /* of IP, as a field says */
};

struct item_kind {
	enum rte_flow_item_type type;
	const char *name;
	enum stage stage;
	const void *default_mask;
	const struct field *fields;
	const char *(*flag)(const void *mask); /* one that is masked in, which the card never knows; NULL: none */
	int (*fill)(struct parse *p, const uint8_t *spec, const uint8_t *mask);
};

static const struct field eth_fields[] = {
	{"dst", 0, 6, BITS},
	{"src", 6, 6, BITS},
	{"type", 12, 2, WHOLE},
	{0},
};
static const struct field vlan_fields[] = {
	{"tci", 0, 2, BITS},
	{"inner_type", 2, 2, WHOLE},
	{0},
};
static const struct field ipv4_fields[] = {
	{"version_ihl", 0, 1, NEVER},
	{"tos", 1, 1, NEVER},
	{"length", 2, 2, NEVER},
	{"packet_id", 4, 2, NEVER},
	{"fragment", 6, 2, NEVER},
	{"ttl", 8, 1, NEVER},
	{"proto", 9, 1, WHOLE},
	{"checksum", 10, 2, NEVER},
	{"src", 12, 4, BITS},
	{"dst", 16, 4, BITS},
	{0},
};
static const struct field ipv6_fields[] = {
	{"tc or flow", 0, 4, NEVER},
	{"length", 4, 2, NEVER},
	{"proto", 6, 1, WHOLE},
	{"hop", 7, 1, NEVER},
	{"src", 8, 16, NEVER},
	{"dst", 24, 16, NEVER},
	{0},
};
static const struct field udp_fields[] = {
	{"src", 0, 2, BITS}, {"dst", 2, 2, BITS}, {"length", 4, 2, NEVER}, {"checksum", 6, 2, NEVER}, {0},
};
static const struct field tcp_fields[] = {
	{"src", 0, 2, BITS},        {"dst", 2, 2, BITS},
	{"seq", 4, 4, NEVER},       {"ack", 8, 4, NEVER},
	{"data_off", 12, 1, NEVER}, {"flags", 13, 1, NEVER},
	{"window", 14, 2, NEVER},   {"checksum", 16, 2, NEVER},
	{"urgent", 18, 2, NEVER},   {0},
};
static const struct field vxlan_fields[] = {
	{"flags", 0, 1, NEVER}, {"reserved", 1, 3, NEVER}, {"vni", 4, 3, BITS}, {"last reserved", 7, 1, NEVER}, {0},
};

static uint16_t
be16_at(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t
be32_at(const uint8_t *p)
{
	return (uint32_t)be16_at(p) << 16 | be16_at(p + 2);
}

static bool
is_zero(const uint8_t *p, uint32_t len)
{
	uint8_t any = 0;

	while (len-- != 0)
		any |= p[len];
	return any == 0;
}

static int
refuse_item(const struct parse *p, const char *name, const char *why)
{
	return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, p->item, "%s: %s", name, why);
}

/* Room for one more; behind the Ethernet specification, which is there from the start. */
static uint8_t *
add_spec(struct parse *p, enum mlx4_dmfs_spec id, uint8_t size)
{
	uint8_t *s = p->m->spec + p->m->len;

	prm_set(s, MLX4_SPEC_SIZE, size / 4);
	prm_set(s, MLX4_SPEC_ID, id);
	p->m->len = (uint16_t)(p->m->len + size);
	return s;
}

/* --- what items say --------------------------------------------------------------------------------------- */

static int
say_etype(struct parse *p, const char *name, uint16_t etype)
{
	if (p->has_etype && p->etype != etype)
		return mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC, p->item,
					"%s: EtherType 0x%04x, but 0x%04x before it", name, etype, p->etype);
	p->has_etype = true;
	p->etype = etype;
	return 0;
}

static void
masked_copy(uint8_t *dst, const uint8_t *spec, const uint8_t *mask, uint32_t len)
{
	while (len-- != 0)
		dst[len] = spec[len] & mask[len];
}

static int
fill_eth(struct parse *p, const uint8_t *spec, const uint8_t *mask)
{
	uint8_t *s = p->m->spec;

	if (p->stage == AT_INNER) {
		if (!is_zero(mask + 6, 8))
			return refuse_item(p, "eth",
					   "source and type inside a tunnel, want the destination alone there");
		s = add_spec(p, MLX4_SPEC_ETH, MLX4_SPEC_ETH_SIZE);
	}
	masked_copy(s + MLX4_SPEC_ETH_DMAC, spec, mask, RTE_ETHER_ADDR_LEN);
	memcpy(s + MLX4_SPEC_ETH_DMAC_MASK, mask, RTE_ETHER_ADDR_LEN);
	masked_copy(s + MLX4_SPEC_ETH_SMAC, spec + 6, mask + 6, RTE_ETHER_ADDR_LEN);
	memcpy(s + MLX4_SPEC_ETH_SMAC_MASK, mask + 6, RTE_ETHER_ADDR_LEN);
	return is_zero(mask + 12, 2) ? 0 : say_etype(p, "eth", be16_at(spec + 12));
}

static int
fill_vlan(struct parse *p, const uint8_t *spec, const uint8_t *mask)
{
	uint16_t tci_mask = be16_at(mask);

	/* What the Ethernet item called its type is the tag's own then. */
	if (p->has_etype && p->etype != RTE_ETHER_TYPE_VLAN)
		return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_SPEC, p->item,
					"vlan: a tag of type 0x%04x, the card knows 0x8100", p->etype);
	p->has_etype = false;
	if (tci_mask == 0)
		return refuse_item(p, "vlan", "tci mask 0, want some bits of it: the card cannot ask for any tag");
	prm_set(p->m->spec, MLX4_SPEC_ETH_VLAN, be16_at(spec) & tci_mask);
	prm_set(p->m->spec, MLX4_SPEC_ETH_VLAN_MASK, tci_mask);
	return is_zero(mask + 2, 2) ? 0 : say_etype(p, "vlan", be16_at(spec + 2));
}

static int
say_proto(struct parse *p, const char *name, uint8_t proto, uint8_t mask)
{
	if (mask == 0)
		return 0;
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_SPEC, p->item,
					"%s: proto %u, the card compares 6 (TCP) and 17 (UDP)", name, proto);
	p->proto = proto;
	return 0;
}

static int
fill_ipv4(struct parse *p, const uint8_t *spec, const uint8_t *mask)
{
	uint8_t *s = add_spec(p, MLX4_SPEC_IPV4, MLX4_SPEC_IPV4_SIZE);
	bool named = p->has_etype;
	int rc = say_etype(p, "ipv4", RTE_ETHER_TYPE_IPV4);

	/* The specification says it. */
	p->has_etype = named;
	p->has_ip = true;
	prm_set(s, MLX4_SPEC_IPV4_SRC, be32_at(spec + 12) & be32_at(mask + 12));
	prm_set(s, MLX4_SPEC_IPV4_SRC_MASK, be32_at(mask + 12));
	prm_set(s, MLX4_SPEC_IPV4_DST, be32_at(spec + 16) & be32_at(mask + 16));
	prm_set(s, MLX4_SPEC_IPV4_DST_MASK, be32_at(mask + 16));
	return rc != 0 ? rc : say_proto(p, "ipv4", spec[9], mask[9]);
}

static int
fill_ipv6(struct parse *p, const uint8_t *spec, const uint8_t *mask)
{
	int rc = say_etype(p, "ipv6", RTE_ETHER_TYPE_IPV6);

	return rc != 0 ? rc : say_proto(p, "ipv6", spec[6], mask[6]);
}

static int
fill_l4(struct parse *p, const uint8_t *spec, const uint8_t *mask)
{
	bool udp = p->item->type == RTE_FLOW_ITEM_TYPE_UDP;
	uint8_t *s;

	if (p->proto != NO_PROTO && p->proto != (udp ? IPPROTO_UDP : IPPROTO_TCP))
		return mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, p->item, "%s: behind IP proto %d",
					udp ? "udp" : "tcp", p->proto);
	p->proto = NO_PROTO;
	p->has_l4 = true;
	s = add_spec(p, udp ? MLX4_SPEC_UDP : MLX4_SPEC_TCP, MLX4_SPEC_L4_SIZE);
	prm_set(s, MLX4_SPEC_L4_SPORT, be16_at(spec) & be16_at(mask));
	prm_set(s, MLX4_SPEC_L4_SPORT_MASK, be16_at(mask));
	prm_set(s, MLX4_SPEC_L4_DPORT, be16_at(spec + 2) & be16_at(mask + 2));
	prm_set(s, MLX4_SPEC_L4_DPORT_MASK, be16_at(mask + 2));
	return 0;
}

static int
fill_vxlan(struct parse *p, const uint8_t *spec, const uint8_t *mask)
{
	uint32_t vni_mask = be32_at(mask + 4) >> 8;
	uint8_t *s;

	if (!p->eth->hca->caps.vxlan)
		return refuse_item(p, "vxlan", "this card knows no tunnels, a ConnectX-3 Pro does");
	if (!p->eth->tunnels)
		return refuse_item(p, "vxlan", "the card was given no UDP port of VXLAN, add one first");
	s = add_spec(p, MLX4_SPEC_VXLAN, MLX4_SPEC_VXLAN_SIZE);
	prm_set(s, MLX4_SPEC_VXLAN_VNI, be32_at(spec + 4) >> 8 & vni_mask);
	prm_set(s, MLX4_SPEC_VXLAN_VNI_MASK, vni_mask);
	return 0;
}

static const char *
eth_flag(const void *mask)
{
	return ((const struct rte_flow_item_eth *)mask)->has_vlan ? "has_vlan" : NULL;
}

static const char *
vlan_flag(const void *mask)
{
	return ((const struct rte_flow_item_vlan *)mask)->has_more_vlan ? "has_more_vlan" : NULL;
}

static const char *
ipv6_flag(const void *mask)
{
	const struct rte_flow_item_ipv6 *m = mask;
	bool any = m->has_hop_ext | m->has_route_ext | m->has_frag_ext | m->has_auth_ext | m->has_esp_ext |
		   m->has_dest_ext | m->has_mobil_ext | m->has_hip_ext | m->has_shim6_ext;

	return any ? "an extension flag" : NULL;
}

static const char *
no_flag(const void *mask)
{
	RTE_SET_USED(mask);
	return NULL;
}

static const struct item_kind kinds[] = {
	{RTE_FLOW_ITEM_TYPE_ETH, "eth", AT_ETH, &rte_flow_item_eth_mask, eth_fields, eth_flag, fill_eth},
	{RTE_FLOW_ITEM_TYPE_VLAN, "vlan", AT_VLAN, &rte_flow_item_vlan_mask, vlan_fields, vlan_flag, fill_vlan},
	{RTE_FLOW_ITEM_TYPE_IPV4, "ipv4", AT_L3, &rte_flow_item_ipv4_mask, ipv4_fields, no_flag, fill_ipv4},
	{RTE_FLOW_ITEM_TYPE_IPV6, "ipv6", AT_L3, &rte_flow_item_ipv6_mask, ipv6_fields, ipv6_flag, fill_ipv6},
	{RTE_FLOW_ITEM_TYPE_TCP, "tcp", AT_L4, &rte_flow_item_tcp_mask, tcp_fields, no_flag, fill_l4},
	{RTE_FLOW_ITEM_TYPE_UDP, "udp", AT_L4, &rte_flow_item_udp_mask, udp_fields, no_flag, fill_l4},
	{RTE_FLOW_ITEM_TYPE_VXLAN, "vxlan", AT_TUNNEL, &rte_flow_item_vxlan_mask, vxlan_fields, no_flag, fill_vxlan},
};

/* --- what is the same for all items ----------------------------------------------------------------------- */

static const struct item_kind *
find_kind(enum rte_flow_item_type type)
{
	uint32_t i;

	for (i = 0; i < RTE_DIM(kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

static int
refuse_field(const struct parse *p, const struct item_kind *k, const char *name)
{
	return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, p->item,
				"%s: %s is masked in, want mask 0: the card does not compare it", k->name, name);
}

static int
check_mask(const struct parse *p, const struct item_kind *k, const uint8_t *mask)
{
	const struct field *f;
	uint32_t i;

	if (k->flag(mask) != NULL)
		return refuse_field(p, k, k->flag(mask));
	for (f = k->fields; f->name != NULL; f++) {
		if (is_zero(mask + f->off, f->len) || f->compare == BITS)
			continue;
		if (f->compare == NEVER)
			return refuse_field(p, k, f->name);
		for (i = 0; i < f->len; i++)
			if (mask[f->off + i] != 0xff)
				return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, p->item,
							"%s: octet 0x%02x in the mask of %s, want all bits or none",
							k->name, mask[f->off + i], f->name);
	}
	return 0;
}

static int
advance(struct parse *p, const struct item_kind *k)
{
	enum stage next = k->stage;

	if (k->stage == AT_ETH && p->stage == AT_TUNNEL)
		next = AT_INNER;
	else if (p->stage >= k->stage)
		return refuse_item(p, k->name,
				   p->stage >= AT_TUNNEL ? "behind a tunnel the card compares an address alone"
							 : "want eth, vlan, ipv4 or ipv6, tcp or udp, vxlan in that "
							   "order, each once");
	p->stage = next;
	return 0;
}

static int
take_item(struct parse *p)
{
	const struct rte_flow_item *item = p->item;
	const struct item_kind *k = find_kind(item->type);
	uint8_t none[sizeof(struct rte_flow_item_ipv6) + sizeof(struct rte_flow_item_tcp)] = {0};
	char name[MLX4_FLOW_NAME];
	const uint8_t *mask;
	int rc;

	if (k == NULL)
		return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, item,
					"%s: the card compares eth, vlan, ipv4, ipv6, tcp, udp, vxlan",
					mlx4_flow_item_name((int)item->type, name));
	rc = advance(p, k);
	if (rc != 0)
		return rc;
	if (item->last != NULL)
		return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_LAST, item,
					"%s: last: the card compares no ranges", k->name);
	if (item->spec == NULL && item->mask != NULL)
		return mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC, item, "%s: a mask without spec",
					k->name);
	if (item->spec == NULL)
		return k->fill(p, none, none);
	mask = item->mask != NULL ? item->mask : k->default_mask;
	rc = check_mask(p, k, mask);
	return rc != 0 ? rc : k->fill(p, item->spec, mask);
}

static int
finish(struct parse *p)
{
	if (p->proto != NO_PROTO) {
		add_spec(p, p->proto == IPPROTO_UDP ? MLX4_SPEC_UDP : MLX4_SPEC_TCP, MLX4_SPEC_L4_SIZE);
		p->has_l4 = true;
	}
	if (p->has_l4 && !p->has_ip && mlx4_quirk(p->eth->hca, MLX4_QUIRK_RULE_L4) != 0)
		return refuse_item(p, "tcp or udp", "want ipv4 in front: this card compares them in no other (F-41:b)");
	if (!p->has_etype)
		return 0;
	if (p->etype == RTE_ETHER_TYPE_VLAN || p->etype == RTE_ETHER_TYPE_QINQ)
		return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, p->item,
					"eth: type 0x%04x is a tag's, want the type behind it, or a vlan item",
					p->etype);
	prm_set(p->m->spec, MLX4_SPEC_ETH_TYPE_EN, 1);
	prm_set(p->m->spec, MLX4_SPEC_ETH_TYPE, p->etype);
	return 0;
}

int
mlx4_flow_match(const struct mlx4_eth *eth, const struct rte_flow_item *items, struct mlx4_flow_match *m,
		struct rte_flow_error *e)
{
	struct parse p = {.eth = eth, .m = m, .e = e, .item = items, .proto = NO_PROTO};
	int rc = 0;

	memset(m, 0, sizeof(*m));
	add_spec(&p, MLX4_SPEC_ETH, MLX4_SPEC_ETH_SIZE);
	if (items == NULL)
		return mlx4_flow_refuse(e, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_NUM, NULL, "no pattern");
	for (; rc == 0 && p.item->type != RTE_FLOW_ITEM_TYPE_END; p.item++)
		if (p.item->type != RTE_FLOW_ITEM_TYPE_VOID)
			rc = take_item(&p);
	return rc != 0 ? rc : finish(&p);
}
