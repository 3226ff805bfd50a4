/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Steering without rules. By groups: buckets, chains, VLAN keys, default groups. By QP numbers that are computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/port/port.h"
#include "harness.h"

static const uint8_t uc[6] = {0, 2, 0xc9, 1, 2, 3}, mc[6] = {1, 0, 0x5e, 1, 2, 3}, other[6] = {2, 9, 9, 9, 9, 9};

/* An Ethernet key of port 1 as the reference writes it: byte 5 port, byte 7 unicast 2 and VLAN 1, VID, address. */
static void
key_of(uint8_t key[16], const uint8_t mac[6], uint8_t flags, uint16_t vid)
{
	memset(key, 0, 16);
	key[5] = 1;
	key[7] = flags;
	key[8] = (uint8_t)(vid >> 8);
	key[9] = (uint8_t)vid;
	memcpy(key + 10, mac, 6);
}

static uint32_t
bucket(struct card *c, const uint8_t key[16])
{
	memcpy(card_in(c), key, 16);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MGID_HASH, 1, 0), 0);
	return (uint32_t)c->imm;
}

static void
write_entry(struct card *c, uint8_t op_mod, uint32_t index, const uint8_t key[16], uint32_t next, uint32_t qpn)
{
	uint8_t *in = card_in(c);

	memset(in, 0, 128);
	prm_set32(in, 0, next << 6);
	prm_set32(in, 4, 1u << 30 | (qpn != 0));
	if (key != NULL)
		memcpy(in + 0x10, key, 16);
	prm_set32(in, 0x20, qpn);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MCG, op_mod, index), 0);
}

/* The one QP that gets a frame, 0: none. */
static uint32_t
taker(struct card *c, const uint8_t mac[6], int vid)
{
	uint8_t f[64] = {0};
	struct tpm_steer_hit h;
	struct tpm_pkt k;

	memcpy(f, mac, 6);
	memcpy(f + 6, other, 6);
	if (vid >= 0) {
		memcpy(f + 12, "\x81\x00", 2);
		f[14] = (uint8_t)(vid >> 8);
		f[15] = (uint8_t)vid;
	}
	tpm_parse(f, sizeof(f), sizeof(f), &k);
	tpm_steer_lookup(&c->m->port[0], f, sizeof(f), &k, &h);
	assert_true(h.n <= 1);
	return h.n == 1 ? h.qpn[0] : 0;
}

static void
groups(void **state)
{
	struct card *c = card_new(NULL);
	uint8_t k_uc[16], k_mc[16], k_vlan[16];
	uint32_t b;

	card_boot(c, CARD_GROUPS);
	key_of(k_uc, uc, 2, 0);
	key_of(k_mc, mc, 0, 0);
	key_of(k_vlan, uc, 3, 5);
	assert_int_equal(taker(c, uc, -1), 0);
	b = bucket(c, k_uc);
	write_entry(c, 0, b, k_uc, 0, 0x50);
	assert_int_equal(taker(c, uc, -1), 0x50);
	assert_int_equal(taker(c, uc, 5), 0x50);
	assert_int_equal(taker(c, mc, -1), 0);
	/* another key at the head of the chain: found behind it, in the table's second half */
	write_entry(c, 0, 1u << (CARD_LG_MCGS - 1), k_uc, 0, 0x51);
	write_entry(c, 0, b, k_mc, 1u << (CARD_LG_MCGS - 1), 0x52);
	assert_int_equal(taker(c, uc, -1), 0x51);
	/* an entry for the VLAN is closer */
	b = bucket(c, k_vlan);
	write_entry(c, 0, b, k_vlan, 0, 0x53);
	assert_int_equal(taker(c, uc, 5), 0x53);
	assert_int_equal(taker(c, uc, 6), taker(c, uc, -1));
	/* in all twelve bits of its number */
	for (unsigned int bit = 3; bit < 12; bit++) {
		uint16_t vid = (uint16_t)(1u << bit | 5);

		key_of(k_vlan, uc, 3, vid);
		write_entry(c, 0, bucket(c, k_vlan), k_vlan, 0, 0x70 + bit);
		assert_int_equal(taker(c, uc, vid), 0x70 + bit);
		assert_int_equal(taker(c, uc, vid ^ 1 << bit) == 0x70 + bit, false);
	}
	/* defaults, of port 1: multicast 0x10000, unicast 0x10002 */
	write_entry(c, 1, 0x10000, NULL, 0, 0x60);
	assert_int_equal(taker(c, other, -1), 0);
	write_entry(c, 1, 0x10002, NULL, 0, 0x61);
	assert_int_equal(taker(c, other, -1), 0x61);
	assert_int_equal(taker(c, (const uint8_t[6]){1, 1, 1, 1, 1, 1}, -1), 0x60);
	card_expect_clean(c);
	write_entry(c, 1, 0x10002, NULL, 0, 0);
	assert_int_equal(taker(c, other, -1), 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MCG, 1, 0x30000), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MCG, 1, 0x810000), MLX4_STAT_BAD_INDEX);
	/* an entry without members is none */
	write_entry(c, 1, 0x10002, NULL, 0, 0x61);
	key_of(k_uc, other, 2, 0);
	write_entry(c, 0, bucket(c, k_uc), k_uc, 0, 0);
	assert_int_equal(taker(c, other, -1), 0x61);
	card_free(c);
}

/* SET_PORT RQP_CALC as the reference writes it: QP numbers from places in the MAC and VLAN tables of port 1. */
static void
calc(struct card *c, uint32_t base, uint32_t lg, uint32_t promisc, uint32_t mc_mode)
{
	uint8_t *in = card_in(c);

	prm_set32(in, 0x00, base);
	prm_set32(in, 0x04, lg);
	prm_set32(in, 0x0c, 1u << 16 | 3); /* untagged frames are VLAN 1, unknown VIDs are 3 */
	prm_set32(in, 0x14, promisc);
	prm_set32(in, 0x18, mc_mode << 30 | 0x77);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 1 << 8 | 1), 0);
}

static void
computed(void **state)
{
	struct card *c = card_new(NULL);
	uint8_t k_mc[16];

	card_boot(c, 0);
	assert_int_equal(taker(c, uc, -1), 0);
	prm_set64(card_in(c), 8 * 2, UINT64_C(1) << 63 | UINT64_C(0x0002c9010203));
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 2 << 8 | 1), 0);
	prm_set32(card_in(c), 4 * 2, 1u << 31 | 5);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 3 << 8 | 1), 0);
	/* place 2 of 4 addresses, then 2 bits of VLANs */
	calc(c, 0x100, 2 << 16 | 2 << 8, 0x70, 0);
	assert_int_equal(taker(c, uc, -1), 0x100 + 2 + (1 << 2));
	assert_int_equal(taker(c, uc, 5), 0x100 + 2 + (2 << 2));
	assert_int_equal(taker(c, uc, 6), 0x100 + 2 + (3 << 2));
	/* no bits: one QP for all of them */
	calc(c, 0x100, 0, 0x70, 0);
	assert_int_equal(taker(c, uc, 5), 0x100);
	/* another address goes to the promiscuous QP, when there is one */
	assert_int_equal(taker(c, other, -1), 0);
	calc(c, 0x100, 0, 1u << 31 | 0x70, 0);
	assert_int_equal(taker(c, other, -1), 0x70);
	assert_int_equal(taker(c, uc, -1), 0x100);
	/* multicast: the group table alone, it first, or one QP */
	assert_int_equal(taker(c, mc, -1), 0);
	calc(c, 0x100, 0, 0x70, 1);
	assert_int_equal(taker(c, mc, -1), 0x77);
	key_of(k_mc, mc, 0, 0);
	write_entry(c, 0, bucket(c, k_mc), k_mc, 0, 0x52);
	assert_int_equal(taker(c, mc, -1), 0x52);
	calc(c, 0x100, 0, 0x70, 2);
	assert_int_equal(taker(c, mc, -1), 0x77);
	card_expect_clean(c);
	/* the next INIT_HCA begins with nothing */
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 0, 0), 0);
	card_fill_init_hca(c, card_in(c), 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), 0);
	assert_int_equal(taker(c, mc, -1), 0);
	card_free(c);
}

/* A chain that runs in a circle ends. */
static void
circle(void **state)
{
	struct card *c = card_new(NULL);
	uint8_t k_uc[16], k_mc[16];
	uint32_t b, over = 1u << (CARD_LG_MCGS - 1);

	card_boot(c, CARD_GROUPS);
	key_of(k_uc, uc, 2, 0);
	key_of(k_mc, mc, 0, 0);
	b = bucket(c, k_uc);
	write_entry(c, 0, b, k_mc, over, 0x50);
	write_entry(c, 0, over, k_mc, over, 0x50);
	assert_int_equal(taker(c, uc, -1), 0);
	card_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(groups), cmocka_unit_test(computed),
					   cmocka_unit_test(circle)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
