/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Groups that come, change and go while frames arrive: every frame comes once, to a queue that its group had between
 * sending and receiving. The same on a stepped card, where changes fall between frames in the middle of the card, and
 * on a card with its own thread, where they fall anywhere.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "group_rig.h"

#define QUEUES 14u
#define STABLE 3u /* groups that nobody touches, on queues 1.. */
#define MOVING 3u /* groups that change, on queues 4.. */
#define MOVING_QUEUE 4u
#define SHARE 3u     /* queues that a moving group chooses from */
#define ADDRESSES 3u /* that a moving group chooses from */
#define CHANGES 1000u
#define BURST 24u
#define NOT_YET UINT32_MAX
#define SETTLE_MS 30000u
#define MAX_FRAMES (CHANGES * BURST)

/* An address of the test: who has it, and in which round each queue was last right for it. */
struct address {
	uint32_t last_right[QUEUES];
};

static struct address addr[STABLE + MOVING * ADDRESSES];
static struct tp_group moving[MOVING];
static bool up[MOVING];
static uint32_t sent_round[MAX_FRAMES], sent, received, round_now;
static uint8_t sent_to[MAX_FRAMES];
static bool seen[MAX_FRAMES];
static uint64_t per_queue[QUEUES];

static void
right_now(unsigned int a, uint16_t queue)
{
	addr[a].last_right[queue] = round_now;
}

/* What is right in this round, by the declarations alone. */
static void
note_right(void)
{
	unsigned int i, k;
	uint16_t q;

	for (i = 0; i < STABLE; i++)
		right_now(i, (uint16_t)(1 + i));
	for (i = 0; i < MOVING; i++)
		for (k = 0; k < ADDRESSES; k++) {
			unsigned int a = STABLE + i * ADDRESSES + k;
			struct rte_ether_addr mac = group_mac(a);

			if (!up[i] || memcmp(mac.addr_bytes, moving[i].mac, sizeof(moving[i].mac)) != 0 ||
			    moving[i].vlan <= 4095)
				right_now(a, GROUP_DEFAULT_QUEUE);
			else
				for (q = 0; q < (moving[i].rss != 0 ? moving[i].num_queues : 1); q++)
					right_now(a, moving[i].queue[q]);
		}
}

static void
declare_moving(unsigned int i)
{
	unsigned int n = 1 + (unsigned int)rand() % SHARE;
	char name[TP_GROUP_NAME];

	snprintf(name, sizeof(name), "moving%u", i);
	moving[i] =
		group_conf(name, STABLE + i * ADDRESSES + (unsigned int)rand() % ADDRESSES, TP_VLAN_ANY,
			   (uint16_t)(MOVING_QUEUE + i * SHARE + (unsigned int)rand() % (SHARE - n + 1)), (uint16_t)n);
	moving[i].rss = rand() % 2 == 0 ? 0 : TP_RSS_TCP4;
	if (rand() % 4 == 0)
		moving[i].vlan = TP_VLAN_NONE;
	else if (rand() % 4 == 0)
		moving[i].vlan = 77; /* the frames have no tag: they are not its */
	moving[i].antispoof_mac = rand() % 2 == 0;
	moving[i].lookahead = rand() % 3 == 0 ? 64 : 0;
}

static void
change(void)
{
	unsigned int i = (unsigned int)rand() % MOVING;
	int used;

	if (up[i] && rand() % 3 == 0) {
		up[i] = false;
		group_remove(moving[i].name);
		return;
	}
	declare_moving(i);
	used = moving[i].rss != 0 ? moving[i].num_queues : 1;
	if (up[i])
		group_modify(&moving[i], used);
	else
		group_add(&moving[i], used);
	up[i] = true;
}

static void
send_some(void)
{
	unsigned int i;

	for (i = 0; i < BURST; i++) {
		unsigned int a = (unsigned int)rand() % RTE_DIM(addr);
		struct rte_mbuf *m = rig_ipv4(IPPROTO_TCP, sent, RTE_IPV4(10, 0, 0, 1), (uint16_t)rand(), 80);
		struct rte_ether_addr mac = group_mac(a);

		rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr = mac;
		sent_to[sent] = (uint8_t)a;
		sent_round[sent] = round_now;
		sent++;
		group_tx(m);
	}
}

static void
judge(uint16_t queue, struct rte_mbuf *m)
{
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN);
	uint32_t n = rte_be_to_cpu_32(ip->src_addr);

	if (n >= sent || seen[n])
		fail_msg("frame %u came twice or was never sent", n);
	if (addr[sent_to[n]].last_right[queue] == NOT_YET || addr[sent_to[n]].last_right[queue] < sent_round[n])
		fail_msg("frame %u of address %u, sent in round %u, came to queue %u in round %u", n, sent_to[n],
			 sent_round[n], queue, round_now);
	seen[n] = true;
	received++;
	per_queue[queue]++;
	rte_pktmbuf_free(m);
}

static void
poll_all(unsigned int times)
{
	struct rte_mbuf *m[32];
	uint16_t q, n, i;

	for (; times != 0; times--)
		for (q = 0; q < QUEUES; q++) {
			n = rte_eth_rx_burst(1, q, m, RTE_DIM(m));
			for (i = 0; i < n; i++)
				judge(q, m[i]);
		}
}

static void
live(bool stepped)
{
	struct rte_pmd_mlx4_group_stats st;
	struct rte_pmd_mlx4_device d[2];
	char name[TP_GROUP_NAME];
	struct tp_group g;
	unsigned int i;
	uint64_t end;

	srand(stepped ? 11 : 12);
	memset(seen, 0, sizeof(seen));
	memset(up, 0, sizeof(up));
	memset(addr, 0xff, sizeof(addr));
	memset(per_queue, 0, sizeof(per_queue));
	sent = received = round_now = 0;
	group_start(QUEUES, NULL);
	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	for (i = 0; i < STABLE; i++) {
		snprintf(name, sizeof(name), "stable%u", i);
		g = group_conf(name, i, TP_VLAN_ANY, (uint16_t)(1 + i), 1);
		group_add(&g, 1);
	}
	assert_int_equal(rte_pmd_mlx4_device_get(1, &d[0]), 0);
	poll_all(4);
	for (round_now = 0; round_now < CHANGES; round_now++) {
		note_right();
		send_some();
		if (stepped)
			tp_model_step(rig_model(0), 1 + (unsigned int)rand() % 16);
		change();
		note_right();
		if (stepped)
			tp_model_step(rig_model(0), (unsigned int)rand() % 32);
		poll_all(1 + (unsigned int)rand() % 2);
	}
	if (stepped)
		rig_run(0);
	end = rte_get_timer_cycles() + rte_get_timer_hz() * SETTLE_MS / 1000;
	while (received < sent && (stepped ? end-- % 64 != 0 : rte_get_timer_cycles() < end))
		poll_all(1);
	poll_all(4);
	assert_int_equal(received, sent);
	for (i = 0; i < STABLE; i++) {
		snprintf(name, sizeof(name), "stable%u", i);
		assert_int_equal(rte_pmd_mlx4_group_stats(1, name, &st), 0);
		assert_int_equal(st.rx_frames, per_queue[1 + i]);
		assert_int_equal(st.queues_used, 1);
	}
	/* A thousand changes leave what one leaves. */
	for (i = 0; i < MOVING; i++)
		if (up[i])
			group_remove(moving[i].name);
	poll_all(4);
	g = group_conf("last", 50, TP_VLAN_ANY, QUEUES - 1, 1);
	group_add(&g, 1);
	poll_all(4);
	group_remove("last");
	assert_int_equal(rte_pmd_mlx4_device_get(1, &d[1]), 0);
	assert_int_equal(d[1].qps, d[0].qps);
	assert_in_range(d[1].cqs, d[0].cqs - STABLE, d[0].cqs + 1);
}

static void
test_stepped(void **state)
{
	rig_open("");
	live(true);
	rig_close();
}

static void
test_threaded(void **state)
{
	assert_int_equal(rig_plug(RIG_DEV, "run=thread,wake-us=100"), 0);
	live(false);
	rig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_stepped), cmocka_unit_test(test_threaded)};

	if (rig_eal("mlx4grpl", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
