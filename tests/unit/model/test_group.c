/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Steering by groups: buckets, chains, VLAN keys, default groups. */
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(groups), cmocka_unit_test(circle)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
