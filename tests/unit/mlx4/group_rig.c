/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "group_rig.h"

#define NUMBER_AT 20u /* behind header, tag and type of either kind of frame */
#define MAGIC 0x54504752u
#define POLLS 6u
#define POOL_SIZE 49151u

enum { NOBODY = -1, SEEN = -2, UNSET = -3 };

static int16_t expected[GROUP_MAX_FRAMES];
static uint32_t numbers;

struct rte_mempool *
group_pool(void)
{
	static struct rte_mempool *mp;

	if (mp == NULL)
		mp = rte_pktmbuf_pool_create("group", POOL_SIZE, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(mp);
	return mp;
}

void
group_start(uint16_t queues, const struct rte_eth_conf *conf)
{
	rig_start(0, 1, NULL);
	assert_int_equal(rig_configure(1, queues, queues, conf, group_pool()), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	group_account_reset();
}

int
group_open(void **state)
{
	rig_open("");
	return 0;
}

int
group_close(void **state)
{
	rig_close();
	assert_int_equal(rte_mempool_in_use_count(group_pool()), 0);
	return 0;
}

struct rte_ether_addr
group_mac(unsigned int n)
{
	return (struct rte_ether_addr){{0x02, 0xaa, 0, 0, (uint8_t)(n >> 8), (uint8_t)n}};
}

struct tp_group
group_conf(const char *name, unsigned int mac, uint16_t vlan, uint16_t first, uint16_t num)
{
	struct rte_ether_addr addr = group_mac(mac);
	struct tp_group g;
	uint16_t i;

	tp_group_default(&g);
	snprintf(g.name, sizeof(g.name), "%s", name);
	memcpy(g.mac, addr.addr_bytes, sizeof(g.mac));
	g.vlan = vlan;
	g.flood = false;
	g.rss = 0;
	g.num_queues = num;
	for (i = 0; i < num; i++)
		g.queue[i] = (uint16_t)(first + i);
	return g;
}

void
group_add(const struct tp_group *g, int used)
{
	char err[TP_ERR_LEN];
	int ret = rte_pmd_mlx4_group_add(1, g, err);

	if (ret != used)
		fail_msg("group %s: %d, wanted %d: %s", g->name, ret, used, err);
}

void
group_modify(const struct tp_group *g, int used)
{
	char err[TP_ERR_LEN];
	int ret = rte_pmd_mlx4_group_modify(1, g, err);

	if (ret != used)
		fail_msg("group %s: %d, wanted %d: %s", g->name, ret, used, err);
}

void
group_remove(const char *name)
{
	char err[TP_ERR_LEN];
	int ret = rte_pmd_mlx4_group_remove(1, name, err);

	if (ret != 0)
		fail_msg("group %s: %d: %s", name, ret, err);
}

void
group_refused(const struct tp_group *g, int error, const char *word1, const char *word2)
{
	struct rte_pmd_mlx4_model before, after;
	char err[TP_ERR_LEN];
	int ret;

	assert_int_equal(rte_pmd_mlx4_model_get(1, &before), 0);
	ret = rte_pmd_mlx4_group_add(1, g, err);
	if (ret != error || strstr(err, word1) == NULL || strstr(err, word2) == NULL || strchr(err, '\n') != NULL)
		fail_msg("%d \"%s\", wanted %d with \"%s\" and \"%s\"", ret, err, error, word1, word2);
	assert_int_equal(rte_pmd_mlx4_model_get(1, &after), 0);
	assert_int_equal(after.qps, before.qps);
	assert_int_equal(after.cqs, before.cqs);
	assert_int_equal(after.rules, before.rules);
}

struct rte_mbuf *
group_frame(const struct rte_ether_addr *dst, uint16_t vlan, uint32_t *number)
{
	struct rte_mbuf *m = rig_frame(dst, RIG_FRAME + 4);
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t id[2] = {MAGIC, numbers};

	assert_true(numbers < GROUP_MAX_FRAMES);
	if (vlan != 0xffff) {
		p[12] = 0x81;
		p[13] = 0x00;
		p[14] = (uint8_t)(vlan >> 8);
		p[15] = (uint8_t)vlan;
		p[16] = 0x88;
		p[17] = 0xb5;
	}
	memcpy(p + NUMBER_AT, id, sizeof(id));
	expected[numbers] = UNSET;
	*number = numbers++;
	return m;
}

void
group_account_reset(void)
{
	numbers = 0;
}

void
group_tx(struct rte_mbuf *m)
{
	while (rte_eth_tx_burst(0, 0, &m, 1) == 0)
		tp_model_step(rig_model(0), 16);
}

void
group_expect(uint32_t number, int queue)
{
	expected[number] = (int16_t)queue;
}

static void
judge(uint16_t queue, struct rte_mbuf *m)
{
	uint32_t id[2];

	memcpy(id, rte_pktmbuf_mtod_offset(m, uint8_t *, NUMBER_AT), sizeof(id));
	if (id[0] != MAGIC || id[1] >= numbers)
		fail_msg("queue %u: not one of our frames", queue);
	if (expected[id[1]] != queue)
		fail_msg("frame %u came to queue %u, wanted %d (-1 nobody, -2 it came before)", id[1], queue,
			 expected[id[1]]);
	expected[id[1]] = SEEN;
	rte_pktmbuf_free(m);
}

unsigned int
group_poll(void)
{
	uint16_t queues = rte_eth_devices[1].data->nb_rx_queues, q, n, i;
	unsigned int round, sum = 0;
	struct rte_mbuf *m[32];

	/* After a change a poll or two go to the old rings. */
	for (round = 0; round < POLLS; round++)
		for (q = 0; q < queues; q++)
			while ((n = rte_eth_rx_burst(1, q, m, RTE_DIM(m))) != 0) {
				for (i = 0; i < n; i++)
					judge(q, m[i]);
				sum += n;
			}
	return sum;
}

unsigned int
group_drain(uint16_t queue)
{
	unsigned int round, sum = 0;

	for (round = 0; round < POLLS; round++)
		sum += rig_drain(1, queue);
	return sum;
}

unsigned int
group_missing(void)
{
	unsigned int n = 0;
	uint32_t i;

	for (i = 0; i < numbers; i++)
		n += expected[i] >= 0;
	return n;
}
