/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a pattern becomes for the card, in bytes [CP 6.3], and each one that is refused, with the words that say why. */
#include <errno.h>

#include <rte_errno.h>

#include "drivers/mlx4/flow/flow.h"
#include "fake_card.h"
#include "flow_rig.h"

static struct mlx4_hca hca;
static struct mlx4_eth eth = {.hca = &hca};

/* A ConnectX-3 Pro that was given a UDP port of VXLAN. */
static int
setup(void **state)
{
	hca.caps.vxlan = true;
	eth.tunnels = true;
	return 0;
}

static void
becomes(const struct rte_flow_item *items, uint16_t len, const struct fake_dword *want, unsigned int n)
{
	struct rte_flow_error e = {0};
	struct mlx4_flow_match m;

	memset(&m, 0xff, sizeof(m));
	if (mlx4_flow_match(&eth, items, &m, &e) != 0)
		fail_msg("%s", e.message);
	assert_int_equal(m.len, len);
	fake_bytes_are(m.spec, sizeof(m.spec), want, n);
}

#define BECOMES(items, len, ...)                                                                                       \
	becomes(items, len, (const struct fake_dword[]){__VA_ARGS__},                                                  \
		RTE_DIM(((const struct fake_dword[]){__VA_ARGS__})))

static void
refused(const struct rte_flow_item *items, int code, enum rte_flow_error_type type, const char *word)
{
	struct rte_flow_error e = {0};
	struct mlx4_flow_match m;

	assert_int_equal(mlx4_flow_match(&eth, items, &m, &e), -code);
	assert_int_equal(rte_errno, code);
	if (e.type != type || e.message == NULL || strstr(e.message, word) == NULL)
		fail_msg("error of type %d, \"%s\"; wanted type %d with \"%s\"", (int)e.type, e.message, (int)type,
			 word);
}

#define NO_ITEM RTE_FLOW_ERROR_TYPE_ITEM
#define NO_SPEC RTE_FLOW_ERROR_TYPE_ITEM_SPEC
#define NO_MASK RTE_FLOW_ERROR_TYPE_ITEM_MASK
#define S(t) (const struct rte_flow_item_##t)
/* An EtherType, compared whole. */
#define ETYPE(t)                                                                                                       \
	ITEM(ETH, .spec = &S(eth){.hdr.ether_type = RTE_BE16(t)}, .mask = &S(eth){.hdr.ether_type = RTE_BE16(0xffff)})

static void
test_ethernet(void **state)
{
	const struct rte_flow_item_eth spec = {.hdr = {.dst_addr = {{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}},
						       .src_addr = {{0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f}},
						       .ether_type = RTE_BE16(0x88b5)}};
	const struct rte_flow_item_eth mask = {.hdr = {.dst_addr = {{0xff, 0xff, 0xff, 0, 0, 0x0f}},
						       .src_addr = {{0xf0, 0xff, 0xff, 0xff, 0xff, 0xff}},
						       .ether_type = RTE_BE16(0xffff)}};

	BECOMES(PATTERN({.type = RTE_FLOW_ITEM_TYPE_VOID}), 48, {0, 0x0c00e001});
	BECOMES(PATTERN(ITEM(ETH)), 48, {0, 0x0c00e001});
	BECOMES(PATTERN(ITEM(ETH, .spec = &spec, .mask = &mask)), 48, {0x00, 0x0c00e001}, {0x08, 0x00000211},
		{0x0c, 0x22000005}, {0x10, 0x0000ffff}, {0x14, 0xff00000f}, {0x18, 0x0000000b}, {0x1c, 0x0c0d0e0f},
		{0x20, 0x0000f0ff}, {0x24, 0xffffffff}, {0x28, 0x000188b5});
	/* DPDK's own mask: both addresses. */
	BECOMES(PATTERN(ITEM(ETH, .spec = &spec)), 48, {0x00, 0x0c00e001}, {0x08, 0x00000211}, {0x0c, 0x22334455},
		{0x10, 0x0000ffff}, {0x14, 0xffffffff}, {0x18, 0x00000a0b}, {0x1c, 0x0c0d0e0f}, {0x20, 0x0000ffff},
		{0x24, 0xffffffff});
}

static void
test_vlan(void **state)
{
	const struct rte_flow_item_vlan tag = {.hdr = {.vlan_tci = RTE_BE16(0xa123), .eth_proto = RTE_BE16(0x88b6)}};
	const struct rte_flow_item_vlan whole = {.hdr = {.vlan_tci = RTE_BE16(0xffff), .eth_proto = RTE_BE16(0xffff)}};
	const struct rte_flow_item_vlan prio = {.hdr.vlan_tci = RTE_BE16(0xe000)};

	BECOMES(PATTERN(ITEM(ETH), ITEM(VLAN, .spec = &tag)), 48, {0, 0x0c00e001}, {0x2c, 0x0fff0123});
	BECOMES(PATTERN(ITEM(VLAN, .spec = &tag, .mask = &whole)), 48, {0, 0x0c00e001}, {0x28, 0x000188b6},
		{0x2c, 0xffffa123});
	/* The tag's own type is no type behind it. */
	BECOMES(PATTERN(ETYPE(0x8100), ITEM(VLAN, .spec = &tag, .mask = &prio)), 48, {0, 0x0c00e001},
		{0x2c, 0xe000a000});
	BECOMES(PATTERN(ETYPE(0x8100), ITEM(VLAN, .spec = &tag, .mask = &whole)), 48, {0, 0x0c00e001},
		{0x28, 0x000188b6}, {0x2c, 0xffffa123});
}

static void
test_ip(void **state)
{
	const struct rte_flow_item_ipv4 spec = {.hdr = {.src_addr = RTE_BE32(0x0a0b0c0d),
							.dst_addr = RTE_BE32(0xc0a80102),
							.next_proto_id = IPPROTO_TCP}};
	const struct rte_flow_item_ipv4 mask = {
		.hdr = {.src_addr = RTE_BE32(0xffff0000), .dst_addr = RTE_BE32(0xffffff0f), .next_proto_id = 0xff}};
	const struct rte_flow_item_ipv6 six = {.hdr.proto = IPPROTO_UDP}, six_mask = {.hdr.proto = 0xff};

	/* The kind of specification says that it is IPv4. */
	BECOMES(PATTERN(ITEM(ETH), ITEM(IPV4)), 72, {0, 0x0c00e001}, {48, 0x0600e002});
	BECOMES(PATTERN(ITEM(IPV4, .spec = &spec)), 72, {0, 0x0c00e001}, {48, 0x0600e002}, {56, 0xc0a80102},
		{60, 0xffffffff}, {64, 0x0a0b0c0d}, {68, 0xffffffff});
	/* A protocol alone is a specification of it without ports. */
	BECOMES(PATTERN(ITEM(IPV4, .spec = &spec, .mask = &mask)), 96, {0, 0x0c00e001}, {48, 0x0600e002},
		{56, 0xc0a80102}, {60, 0xffffff0f}, {64, 0x0a0b0000}, {68, 0xffff0000}, {72, 0x0600e004});
	BECOMES(PATTERN(ETYPE(0x0800), ITEM(IPV4)), 72, {0, 0x0c00e001}, {0x28, 0x00010800}, {48, 0x0600e002});
	/* IPv6 is its EtherType. */
	BECOMES(PATTERN(ITEM(IPV6)), 48, {0, 0x0c00e001}, {0x28, 0x000186dd});
	BECOMES(PATTERN(ETYPE(0x86dd), ITEM(IPV6, .spec = &six, .mask = &six_mask)), 72, {0, 0x0c00e001},
		{0x28, 0x000186dd}, {48, 0x0600e006});
}

static void
test_ports(void **state)
{
	const struct rte_flow_item_udp udp = {.hdr = {.src_port = RTE_BE16(0x1234), .dst_port = RTE_BE16(0x5678)}};
	const struct rte_flow_item_udp udp_mask = {.hdr = {.src_port = RTE_BE16(0xff00), .dst_port = RTE_BE16(0x0ff0)}};
	const struct rte_flow_item_tcp tcp = {.hdr = {.src_port = RTE_BE16(0x1234), .dst_port = RTE_BE16(0x5678)}};
	const struct rte_flow_item_ipv4 is_udp = {.hdr.next_proto_id = IPPROTO_UDP},
					proto = {.hdr.next_proto_id = 0xff};
	const struct rte_flow_item_ipv6 is_tcp = {.hdr.proto = IPPROTO_TCP}, proto6 = {.hdr.proto = 0xff};

	BECOMES(PATTERN(ITEM(UDP, .spec = &udp, .mask = &udp_mask)), 72, {0, 0x0c00e001}, {48, 0x0600e006},
		{56, 0x00000670}, {60, 0x00000ff0}, {64, 0x00001200}, {68, 0x0000ff00});
	BECOMES(PATTERN(ITEM(TCP, .spec = &tcp)), 72, {0, 0x0c00e001}, {48, 0x0600e004}, {56, 0x00005678},
		{60, 0x0000ffff}, {64, 0x00001234}, {68, 0x0000ffff});
	/* What the IP header says is said once. */
	BECOMES(PATTERN(ITEM(IPV4, .spec = &is_udp, .mask = &proto), ITEM(UDP)), 96, {0, 0x0c00e001}, {48, 0x0600e002},
		{72, 0x0600e006});
	BECOMES(PATTERN(ITEM(IPV6, .spec = &is_tcp, .mask = &proto6), ITEM(TCP)), 72, {0, 0x0c00e001},
		{0x28, 0x000186dd}, {48, 0x0600e004});
}

static void
test_tunnel(void **state)
{
	const struct rte_flow_item_vxlan vni = {.vni = {0x12, 0x34, 0x56}}, mask = {.vni = {0xff, 0x0f, 0xff}};
	const struct rte_flow_item_eth in = {
		.hdr = {.dst_addr = {{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}}, .src_addr = {{1, 2, 3, 4, 5, 6}}}};
	const struct rte_flow_item_eth in_mask = {.hdr.dst_addr = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xf0}}};

	BECOMES(PATTERN(ITEM(ETH), ITEM(VXLAN, .spec = &vni)), 64, {0, 0x0c00e001}, {48, 0x0400e008}, {56, 0x12345600},
		{60, 0xffffff00});
	BECOMES(PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP), ITEM(VXLAN, .spec = &vni, .mask = &mask),
			ITEM(ETH, .spec = &in, .mask = &in_mask)),
		160, {0, 0x0c00e001}, {48, 0x0600e002}, {72, 0x0600e006}, {96, 0x0400e008}, {104, 0x12045600},
		{108, 0xff0fff00}, {112, 0x0c00e001}, {120, 0x00000211}, {124, 0x22334450}, {128, 0x0000ffff},
		{132, 0xfffffff0});
	BECOMES(PATTERN(ITEM(VXLAN), ITEM(ETH)), 112, {0, 0x0c00e001}, {48, 0x0400e008}, {64, 0x0c00e001});
	refused(PATTERN(ITEM(VXLAN), ITEM(ETH, .spec = &in)), ENOTSUP, NO_ITEM, "source and type inside a tunnel");
	refused(PATTERN(ITEM(VXLAN), ETYPE(0x0800)), ENOTSUP, NO_ITEM, "source and type inside a tunnel");
	refused(PATTERN(ITEM(VXLAN), ITEM(ETH), ITEM(ETH)), ENOTSUP, NO_ITEM, "eth: behind a tunnel");
	refused(PATTERN(ITEM(VXLAN), ITEM(ETH), ITEM(IPV4)), ENOTSUP, NO_ITEM, "ipv4: behind a tunnel");
	refused(PATTERN(ITEM(VXLAN), ITEM(UDP)), ENOTSUP, NO_ITEM, "udp: behind a tunnel");
	refused(PATTERN(ITEM(VXLAN), ITEM(VXLAN)), ENOTSUP, NO_ITEM, "vxlan: behind a tunnel");
	eth.tunnels = false;
	refused(PATTERN(ITEM(VXLAN)), ENOTSUP, NO_ITEM, "was given no UDP port of VXLAN");
	hca.caps.vxlan = false;
	refused(PATTERN(ITEM(VXLAN)), ENOTSUP, NO_ITEM, "this card knows no tunnels, a ConnectX-3 Pro does");
}

static void
test_order(void **state)
{
	const struct rte_flow_item_vlan tag = {.hdr.vlan_tci = RTE_BE16(5)};
	const char *const word = "want eth, vlan, ipv4 or ipv6, tcp or udp, vxlan in that order, each once";

	refused(NULL, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_NUM, "no pattern");
	refused(PATTERN(ITEM(ETH), ITEM(ETH)), ENOTSUP, NO_ITEM, word);
	refused(PATTERN(ITEM(VLAN, .spec = &tag), ITEM(VLAN, .spec = &tag)), ENOTSUP, NO_ITEM, word);
	refused(PATTERN(ITEM(VLAN, .spec = &tag), ITEM(ETH)), ENOTSUP, NO_ITEM, word);
	refused(PATTERN(ITEM(IPV4), ITEM(VLAN, .spec = &tag)), ENOTSUP, NO_ITEM, word);
	refused(PATTERN(ITEM(IPV4), ITEM(IPV6)), ENOTSUP, NO_ITEM, word);
	refused(PATTERN(ITEM(UDP), ITEM(IPV4)), ENOTSUP, NO_ITEM, word);
	refused(PATTERN(ITEM(UDP), ITEM(TCP)), ENOTSUP, NO_ITEM, word);
	refused(PATTERN(ITEM(ETH, .mask = &S(eth){.hdr.ether_type = 1})), EINVAL, NO_SPEC, "eth: a mask without spec");
	refused(PATTERN(ITEM(ETH, .spec = &S(eth){.hdr.ether_type = 1}, .last = &S(eth){.hdr.ether_type = 2})), ENOTSUP,
		RTE_FLOW_ERROR_TYPE_ITEM_LAST, "eth: last: the card compares no ranges");
	/* A pattern ends at the first that is refused. */
	refused(PATTERN(ITEM(ICMP), ITEM(E_TAG)), ENOTSUP, NO_ITEM, "item icmp");
}

static void
test_contradictions(void **state)
{
	const struct rte_flow_item_vlan tag = {.hdr = {.vlan_tci = RTE_BE16(5), .eth_proto = RTE_BE16(0x86dd)}};
	const struct rte_flow_item_vlan double_tag = {.hdr = {.vlan_tci = RTE_BE16(5), .eth_proto = RTE_BE16(0x8100)}};
	const struct rte_flow_item_vlan whole = {.hdr = {.vlan_tci = RTE_BE16(0xffff), .eth_proto = RTE_BE16(0xffff)}};
	const struct rte_flow_item_vlan none = {.hdr.eth_proto = RTE_BE16(0xffff)};
	const struct rte_flow_item_ipv4 icmp = {.hdr.next_proto_id = 1}, tcp = {.hdr.next_proto_id = 6},
					udp = {.hdr.next_proto_id = 17}, proto = {.hdr.next_proto_id = 0xff};
	const struct rte_flow_item_ipv6 icmp6 = {.hdr.proto = 58}, proto6 = {.hdr.proto = 0xff};

	refused(PATTERN(ETYPE(0x0800), ITEM(IPV6)), EINVAL, NO_SPEC, "ipv6: EtherType 0x86dd, but 0x0800 before it");
	refused(PATTERN(ETYPE(0x86dd), ITEM(IPV4)), EINVAL, NO_SPEC, "ipv4: EtherType 0x0800, but 0x86dd before it");
	refused(PATTERN(ITEM(VLAN, .spec = &tag, .mask = &whole), ITEM(IPV4)), EINVAL, NO_SPEC,
		"EtherType 0x0800, but 0x86dd");
	refused(PATTERN(ETYPE(0x88a8), ITEM(VLAN, .spec = &tag)), ENOTSUP, NO_SPEC,
		"a tag of type 0x88a8, the card knows 0x8100");
	refused(PATTERN(ITEM(VLAN)), ENOTSUP, NO_ITEM, "vlan: tci mask 0");
	refused(PATTERN(ITEM(VLAN, .spec = &tag, .mask = &none)), ENOTSUP, NO_ITEM, "vlan: tci mask 0");
	refused(PATTERN(ETYPE(0x8100)), ENOTSUP, NO_ITEM, "type 0x8100 is a tag's");
	refused(PATTERN(ETYPE(0x88a8)), ENOTSUP, NO_ITEM, "type 0x88a8 is a tag's");
	refused(PATTERN(ITEM(VLAN, .spec = &double_tag, .mask = &whole)), ENOTSUP, NO_ITEM, "type 0x8100 is a tag's");
	refused(PATTERN(ITEM(IPV4, .spec = &icmp, .mask = &proto)), ENOTSUP, NO_SPEC,
		"ipv4: proto 1, the card compares 6 (TCP) and 17 (UDP)");
	refused(PATTERN(ITEM(IPV6, .spec = &icmp6, .mask = &proto6)), ENOTSUP, NO_SPEC, "ipv6: proto 58, the card");
	refused(PATTERN(ITEM(IPV4, .spec = &tcp, .mask = &proto), ITEM(UDP)), EINVAL, NO_ITEM,
		"udp: behind IP proto 6");
	refused(PATTERN(ITEM(IPV4, .spec = &udp, .mask = &proto), ITEM(TCP)), EINVAL, NO_ITEM,
		"tcp: behind IP proto 17");
}

/* Each octet of a header: one bit of it in the mask is taken, or refused by the name of its field. */
static void
test_fields(void **state)
{
	static const struct {
		enum rte_flow_item_type type;
		uint8_t len;
		const char *name[40]; /* of the field that begins at this octet; the ones behind it are of the same */
	} h[] = {
		{RTE_FLOW_ITEM_TYPE_ETH, 14, {[0] = "", [12] = "octet 0x01 in the mask of type"}},
		{RTE_FLOW_ITEM_TYPE_IPV4,
		 20,
		 {"ipv4: version_ihl is", "tos is", "length is", [4] = "packet_id is", [6] = "fragment is",
		  [8] = "ttl is", [9] = "octet 0x01 in the mask of proto", [10] = "checksum is", [12] = ""}},
		{RTE_FLOW_ITEM_TYPE_IPV6,
		 40,
		 {"ipv6: tc or flow is", [4] = "length is", [6] = "octet 0x01 in the mask of proto", [7] = "hop is",
		  [8] = "src is", [24] = "dst is"}},
		{RTE_FLOW_ITEM_TYPE_UDP, 8, {"", [4] = "udp: length is", [6] = "checksum is"}},
		{RTE_FLOW_ITEM_TYPE_TCP,
		 20,
		 {"", [4] = "tcp: seq is", [8] = "ack is", [12] = "data_off is", [13] = "flags is", [14] = "window is",
		  [16] = "checksum is", [18] = "urgent is"}},
		{RTE_FLOW_ITEM_TYPE_VXLAN, 8, {"vxlan: flags is", "reserved is", [4] = "", [7] = "last reserved is"}},
	};
	static uint8_t spec[64], mask[64];
	unsigned int i, at;
	const char *name = NULL;

	for (i = 0; i < RTE_DIM(h); i++)
		for (at = 0; at < h[i].len; at++) {
			const struct rte_flow_item items[] = {{.type = h[i].type, .spec = spec, .mask = mask},
							      {.type = RTE_FLOW_ITEM_TYPE_END}};
			struct rte_flow_error e = {0};
			struct mlx4_flow_match m;

			name = h[i].name[at] != NULL ? h[i].name[at] : name;
			memset(mask, 0, sizeof(mask));
			mask[at] = 1;
			/* The rest of a field that is compared whole does not help. */
			if (h[i].type == RTE_FLOW_ITEM_TYPE_ETH && at >= 12)
				mask[25 - at] = 0xff;
			if (name[0] == '\0') {
				assert_int_equal(mlx4_flow_match(&eth, items, &m, &e), 0);
				continue;
			}
			refused(items, ENOTSUP, NO_MASK, name);
		}
}

static void
test_flags(void **state)
{
	struct rte_flow_item_ipv6 six = {0}, six_mask;
	const struct rte_flow_item_eth e = {.has_vlan = 1};
	const struct rte_flow_item_vlan v = {.hdr.vlan_tci = RTE_BE16(5), .has_more_vlan = 1};
	unsigned int i;

	refused(PATTERN(ITEM(ETH, .spec = &e, .mask = &e)), ENOTSUP, NO_MASK,
		"eth: has_vlan is masked in, want mask 0");
	refused(PATTERN(ITEM(VLAN, .spec = &v, .mask = &v)), ENOTSUP, NO_MASK, "vlan: has_more_vlan is masked in");
	for (i = 0; i < 9; i++) {
		memset(&six_mask, 0, sizeof(six_mask));
		six_mask.has_hop_ext = i == 0;
		six_mask.has_route_ext = i == 1;
		six_mask.has_frag_ext = i == 2;
		six_mask.has_auth_ext = i == 3;
		six_mask.has_esp_ext = i == 4;
		six_mask.has_dest_ext = i == 5;
		six_mask.has_mobil_ext = i == 6;
		six_mask.has_hip_ext = i == 7;
		six_mask.has_shim6_ext = i == 8;
		refused(PATTERN(ITEM(IPV6, .spec = &six, .mask = &six_mask)), ENOTSUP, NO_MASK,
			"ipv6: an extension flag is masked in");
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_ethernet), T(test_vlan),           T(test_ip),     T(test_ports), T(test_tunnel),
		T(test_order),    T(test_contradictions), T(test_fields), T(test_flags),
	};

	if (rig_eal("mlx4fspec", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
