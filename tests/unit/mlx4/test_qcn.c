/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * 802.1Qau by the driver: what the card's mailboxes hold after each call, by number; a message from the wire, which the card
 * counts; and what the counters of all of congestion control are when they have been cleared.
 */
#include <string.h>

#include "rig.h"

#include "drivers/mlx4/hca/core.h"
#include "rte_pmd_mlx4_qos.h"

#define CMD 0x68
#define PRIO 5u

static struct mlx4_hca *
hca(void)
{
	return ((struct mlx4_eth *)rte_eth_devices[0].data->dev_private)->hca;
}

/* A dword of the parameters of 802.1Qau of a port's (1, 2) priority, as the card has them. */
static uint32_t
param(unsigned int port, unsigned int prio, uint32_t off)
{
	uint8_t box[0x108];

	assert_int_equal(mlx4_cmd(hca(), CMD, 0, 1u << (8 + prio) | port, NULL, 0, box, sizeof(box)), 0);
	return (uint32_t)box[off] << 24 | (uint32_t)box[off + 1] << 16 | (uint32_t)box[off + 2] << 8 | box[off + 3];
}

static uint64_t
get(uint16_t port, unsigned int prio, const char *name)
{
	uint64_t v = UINT64_MAX;

	assert_int_equal(rte_pmd_mlx4_qcn_get(port, prio, name, &v), 0);
	return v;
}

static const struct {
	const char *name;
	uint32_t off, bit; /* bit 32: the dword */
	uint32_t def, value;
} words[] = {
	{"rpg_enable", 0x0c, 31, 0, 1},
	{"cn_tag", 0x0c, 30, 0, 1},
	{"rppp_max_rps", 0x10, 32, 1, 3},
	{"rpg_time_reset", 0x14, 32, 15000, 14000},
	{"rpg_byte_reset", 0x18, 32, 150000, 4294967295},
	{"rpg_threshold", 0x1c, 32, 5, 6},
	{"rpg_max_rate", 0x20, 32, 0, 39000},
	{"rpg_ai_rate", 0x24, 32, 5, 7},
	{"rpg_hai_rate", 0x28, 32, 50, 70},
	{"rpg_gd", 0x2c, 32, 7, 8},
	{"rpg_min_dec_fac", 0x30, 32, 50, 100},
	{"rpg_min_rate", 0x34, 32, 10, 20},
};

static uint32_t
card_has(unsigned int port, unsigned int prio, unsigned int i)
{
	uint32_t v = param(port, prio, words[i].off);

	return words[i].bit == 32 ? v : v >> words[i].bit & 1;
}

/* Each in its place and no other; of the priorities that were named, on that port; back to the standard's; through a reset. */
static void
test_words(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(words); i++) {
		assert_int_equal(get(1, PRIO, words[i].name), words[i].def);
		assert_int_equal(rte_pmd_mlx4_qcn_set(1, 1u << PRIO | 1u << 7, words[i].name, words[i].value), 0);
		for (unsigned int k = 0; k < RTE_DIM(words); k++) {
			assert_int_equal(card_has(2, PRIO, k), k <= i ? words[k].value : words[k].def);
			assert_int_equal(card_has(2, 7, k), k <= i ? words[k].value : words[k].def);
			assert_int_equal(card_has(2, 6, k), words[k].def);
			assert_int_equal(card_has(1, PRIO, k), words[k].def);
		}
		assert_int_equal(get(1, PRIO, words[i].name), words[i].value);
	}
	assert_int_equal(rte_pmd_mlx4_qcn_defaults(1, 1u << 7), 0);
	for (unsigned int k = 0; k < RTE_DIM(words); k++) {
		assert_int_equal(card_has(2, 7, k), words[k].def);
		assert_int_equal(card_has(2, PRIO, k), words[k].value);
	}
	mlx4_hca_mark_dead(hca(), "the test says so");
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_int_equal(rte_eth_dev_reset(1), 0);
	for (unsigned int k = 0; k < RTE_DIM(words); k++) {
		assert_int_equal(card_has(2, 7, k), words[k].def);
		assert_int_equal(card_has(2, PRIO, k), words[k].value);
		assert_int_equal(card_has(2, 6, k), words[k].def);
	}
}

/* The rule that one flag switches is of all priorities. */
static void
test_rule(void **state)
{
	(void)state;
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 1, "disable_32_14_4e", 1), 0);
	for (unsigned int prio = 0; prio < 8; prio++) {
		assert_int_equal(param(1, prio, 0x0c), 1u << 22);
		assert_int_equal(get(0, prio, "disable_32_14_4e"), 1);
		assert_int_equal(param(2, prio, 0x0c), 0);
	}
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 0x80, "disable_32_14_4e", 0), 0);
	assert_int_equal(param(1, 0, 0x0c), 0);
}

static void
count_cc(void *arg, const char *name, uint64_t count)
{
	if (strcmp(name, "CONGESTION_CTRL") == 0)
		*(uint64_t *)arg = count;
}

static uint64_t
asked(void)
{
	uint64_t n = 0;

	tp_model_each_command(rig_model(0), count_cc, &n);
	return n;
}

static unsigned int
place(const char *name)
{
	const struct rte_pmd_mlx4_qcn_param *p;
	unsigned int i;

	for (i = 0; (p = rte_pmd_mlx4_qcn_param(i)) != NULL && strcmp(p->name, name) != 0; i++)
		;
	assert_non_null(p);
	return i;
}

/*
 * All at once, by one command, of the priorities that were named; the rule of all priorities stays. What was told is known without
 * a question to the card. Refused, by us or by the card, nothing changes.
 */
static void
test_all_at_once(void **state)
{
	uint32_t value[RTE_PMD_MLX4_QCN_PARAMS] = {0}, is[RTE_PMD_MLX4_QCN_PARAMS];
	const unsigned int rule = place("disable_32_14_4e");
	uint64_t before;

	(void)state;
	assert_int_equal(rte_pmd_mlx4_qcn_set(1, 1, "disable_32_14_4e", 1), 0);
	for (unsigned int k = 0; k < RTE_DIM(words); k++) {
		assert_int_equal(rte_pmd_mlx4_qcn_param(place(words[k].name))->def, words[k].def);
		value[place(words[k].name)] = words[k].value;
	}
	before = asked();
	assert_int_equal(rte_pmd_mlx4_qcn_told(1, PRIO, is), 0);
	assert_int_equal(is[place("rpg_gd")], 7);
	assert_int_equal(is[rule], 1);
	assert_int_equal(asked(), before);
	assert_int_equal(rte_pmd_mlx4_qcn_put(1, 1u << PRIO | 1u << 7, value), 0);
	assert_int_equal(asked(), before + 1);
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int k = 0; k < RTE_DIM(words); k++) {
			assert_int_equal(card_has(2, PRIO, k), words[k].value);
			assert_int_equal(card_has(2, 7, k), words[k].value);
			assert_int_equal(card_has(2, 6, k), words[k].def);
			assert_int_equal(card_has(1, PRIO, k), words[k].def);
		}
		assert_int_equal(get(1, PRIO, "disable_32_14_4e"), 1);
		assert_int_equal(rte_pmd_mlx4_qcn_told(1, PRIO, is), 0);
		value[rule] = 1;
		assert_memory_equal(is, value, sizeof(is));
		value[rule] = 0;
		mlx4_hca_mark_dead(hca(), "the test says so");
		assert_int_equal(rte_pmd_mlx4_qcn_put(1, 1u << 6, value), -EIO);
		assert_int_equal(rte_pmd_mlx4_qcn_told(1, 6, is), 0);
		assert_int_equal(is[place("rpg_gd")], 7);
		assert_int_equal(rte_eth_dev_reset(0), 0);
		assert_int_equal(rte_eth_dev_reset(1), 0);
	}
	value[place("rpg_min_dec_fac")] = 101;
	value[place("rpg_gd")] = 9;
	assert_int_equal(rte_pmd_mlx4_qcn_put(1, 1u << PRIO, value), -ERANGE);
	assert_int_equal(get(1, PRIO, "rpg_gd"), 8);
	value[place("rpg_min_dec_fac")] = 100;
	assert_int_equal(rte_pmd_mlx4_qcn_put(1, 0, value), 0);
	assert_int_equal(get(1, PRIO, "rpg_gd"), 8);
	/* Defaults of some priorities leave the rule of all; those of all do not. */
	assert_int_equal(rte_pmd_mlx4_qcn_defaults(1, 0x7f), 0);
	for (unsigned int prio = 0; prio < 8; prio++)
		assert_int_equal(param(2, prio, 0x0c), prio == 7 ? 0xc0400000 : 0x00400000);
	assert_int_equal(rte_pmd_mlx4_qcn_defaults(1, 0xff), 0);
	for (unsigned int prio = 0; prio < 8; prio++)
		assert_int_equal(param(2, prio, 0x0c), 0);
}

static void
test_refused(void **state)
{
	uint32_t value[RTE_PMD_MLX4_QCN_PARAMS] = {0};
	struct rte_pmd_mlx4_qcn_stats st;
	const struct rte_pmd_mlx4_qcn_param *p;
	unsigned int n = 0;
	uint64_t v;

	(void)state;
	for (; (p = rte_pmd_mlx4_qcn_param(n)) != NULL; n++)
		if ((uint64_t)p->max + 1 <= UINT32_MAX)
			assert_int_equal(rte_pmd_mlx4_qcn_set(0, 1, p->name, (uint64_t)p->max + 1), -ERANGE);
	assert_int_equal(n, RTE_DIM(words) + 1);
	assert_int_equal(n, RTE_PMD_MLX4_QCN_PARAMS);
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 1, "rpg_min_dec_fac", 101), -ERANGE);
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 1, "rpg_gd", UINT64_C(1) << 32), -ERANGE);
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 1, "ai-rate", 1), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_qcn_get(0, 1, "ai-rate", &v), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_qcn_get(0, 8, "rpg_gd", &v), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_qcn_stats(0, 8, &st), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_qcn_set(31, 1, "rpg_gd", 1), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_qcn_get(31, 1, "rpg_gd", &v), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_qcn_put(31, 1, value), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_qcn_told(31, 1, value), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_qcn_told(0, 8, value), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_qcn_defaults(31, 1), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_qcn_stats(31, 1, &st), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_qcn_clear(31, 1), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_cc_clear(31, 1), -ENODEV);
	/* Of no priority, nothing happens. */
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 0, "rpg_gd", 1), 0);
	assert_int_equal(rte_pmd_mlx4_qcn_defaults(0, 0), 0);
	assert_int_equal(rte_pmd_mlx4_qcn_clear(0, 0), 0);
	assert_int_equal(rte_pmd_mlx4_cc_clear(0, 0), 0);
	assert_int_equal(param(1, 0, 0x2c), 7);
}

static void
test_not_offered(void **state)
{
	uint32_t value[RTE_PMD_MLX4_QCN_PARAMS] = {0};
	struct rte_pmd_mlx4_qcn_stats st;
	uint64_t v;

	(void)state;
	rig_open("congestion=0");
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 1, "rpg_gd", 1), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_qcn_get(0, 1, "rpg_gd", &v), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_qcn_put(0, 1, value), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_qcn_told(0, 1, value), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_qcn_defaults(0, 1), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_qcn_stats(0, 1, &st), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_qcn_clear(0, 1), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_cc_clear(0, 1), -ENOTSUP);
	rig_close();
	/* A card without RoCE v2 has it. */
	rig_open("type=cx3");
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 1u << PRIO, "rpg_ai_rate", 9), 0);
	assert_int_equal(param(1, PRIO, 0x24), 9);
	assert_int_equal(rte_pmd_mlx4_cc_clear(0, 1), -ENOTSUP);
	rig_close();
}

/* A message about this priority, from port 1's side: how bad it is at most (63). */
static void
notify(unsigned int prio)
{
	struct rte_ether_addr to = rig_mac(0);
	struct rte_mbuf *m = rig_frame(&to, 64);
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	memset(f + 12, 0, 64 - 12);
	f[12] = 0x22;
	f[13] = 0xe7;
	f[15] = 63;
	f[14 + 14] = (uint8_t)(prio << 5);
	rig_send(1, m);
}

/* A message takes 63/128 of 40 Gb/s: 20.3125 are left, and without stages of time stay. Counters start again when they are told to. */
static void
test_counters(void **state)
{
	struct rte_pmd_mlx4_qcn_stats st;

	(void)state;
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 1u << PRIO, "rpg_time_reset", 0), 0);
	assert_int_equal(rte_pmd_mlx4_qcn_set(0, 1u << PRIO, "rpg_enable", 1), 0);
	notify(PRIO);
	notify(PRIO - 1);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(rte_pmd_mlx4_qcn_stats(0, PRIO, &st), 0);
		assert_int_equal(st.cnms_handled, i == 0);
		assert_int_equal(st.created, i == 0);
		assert_int_equal(st.rate_min, i == 0 ? 20312 : 0);
		assert_int_equal(st.rate_max, i == 0 ? 20312 : 0);
		assert_int_equal(st.cnms_ignored, 0);
		assert_int_equal(rte_pmd_mlx4_qcn_stats(0, PRIO - 1, &st), 0);
		assert_int_equal(st.cnms_handled, 0);
		/* Its counters are its own. */
		assert_int_equal(st.cnms_ignored, 1);
		assert_int_equal(rte_pmd_mlx4_qcn_stats(1, PRIO, &st), 0);
		assert_int_equal(st.cnms_handled + st.cnms_ignored, 0);
		assert_int_equal(rte_pmd_mlx4_qcn_clear(0, 1u << PRIO), 0);
	}
	assert_int_equal(rte_pmd_mlx4_qcn_clear(0, 0xff), 0);
	assert_int_equal(rte_pmd_mlx4_qcn_stats(0, PRIO - 1, &st), 0);
	assert_int_equal(st.cnms_ignored, 0);
	/* It is limited as before. */
	notify(PRIO);
	assert_int_equal(rte_pmd_mlx4_qcn_stats(0, PRIO, &st), 0);
	assert_int_equal(st.cnms_handled, 1);
	assert_int_equal(st.rate_max, 10314);
	assert_int_equal(st.created, 0);
}

static int
setup(void **state)
{
	(void)state;
	rig_open("");
	return 0;
}

static int
setup_pair(void **state)
{
	const struct rte_eth_conf conf = {0};

	(void)state;
	rig_open_pair("", 1, &conf);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_words, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_rule, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_all_at_once, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, rig_teardown),
		cmocka_unit_test(test_not_offered),
		cmocka_unit_test_setup_teardown(test_counters, setup_pair, rig_teardown),
	};

	if (rig_eal("mlx4qcn", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
