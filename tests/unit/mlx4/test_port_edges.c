/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Where an operation of a port ends: at the queue next to it, at one that is missing, at a card that refuses, at what is said. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/mman.h>

#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_io.h>

#include "drivers/mlx4/bus/uar_map.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"
#include "flow_rig.h"
#include "group_rig.h"
#include "rte_pmd_mlx4.h"
#include "tp_roce.h"

#define GIB (UINT64_C(1) << 30)
#define RULES 150u /* that are broken at once */

static struct mlx4_eth *
eth_of(uint16_t port)
{
	return rte_eth_devices[port].data->dev_private;
}

/* A queue's stripping is its own, on a port that is started and on one that is not. */
static void
test_strip_one(void **state)
{
	unsigned int started, q, other;

	rig_open_pair("", 3, NULL);
	for (started = 2; started-- != 0;) {
		for (q = 0; q < 3; q++) {
			assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(1, (uint16_t)q, 1), 0);
			for (other = 0; other < 3; other++)
				assert_int_equal(eth_of(1)->rxqs[other]->vlan_strip, other == q);
			assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(1, (uint16_t)q, 0), 0);
			assert_false(eth_of(1)->rxqs[q]->vlan_strip);
		}
		assert_int_equal(rte_eth_dev_stop(1), 0);
	}
	/* Before its queues are set up: they get it then. */
	assert_int_equal(rte_eth_dev_configure(1, 2, 1, &(struct rte_eth_conf){0}), 0);
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	assert_int_equal(rte_eth_rx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool()), 0);
	assert_true(eth_of(1)->rxqs[0]->vlan_strip);
	rig_close();
}

/* A port does not start without each of its queues; which one is missing is said. */
static void
test_missing_queue(void **state)
{
	rig_open("");
	assert_int_equal(rte_eth_dev_configure(0, 2, 2, &(struct rte_eth_conf){0}), 0);
	for (uint16_t q = 0; q < 4; q++) {
		const char *words[] = {"receive queue 0 of 2", "receive queue 1 of 2", "transmit queue 0 of 2",
				       "transmit queue 1 of 2"};

		rig_log_begin();
		assert_int_equal(rte_eth_dev_start(0), -EINVAL);
		rig_log_one(words[q], "was not set up");
		if (q < 2)
			assert_int_equal(rte_eth_rx_queue_setup(0, q, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool()), 0);
		else
			assert_int_equal(rte_eth_tx_queue_setup(0, q - 2, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
	}
	assert_int_equal(rte_eth_dev_start(0), 0);
	rig_close();
}

static void
key_of(uint16_t port, uint8_t key[40])
{
	struct rte_eth_rss_conf rss = {.rss_key = key, .rss_key_len = 40};

	memset(key, 0, 40);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(port, &rss), 0);
}

/* A key without a length is none: the port keeps the one that it has. */
static void
test_key_without_length(void **state)
{
	uint8_t junk[40] = {1, 2, 3}, usual[40], got[40];
	struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
				    .rx_adv_conf.rss_conf = {.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP}};
	struct rte_eth_rss_conf rss = {.rss_key = junk, .rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP};

	rig_open_pair("", 2, &conf);
	key_of(1, usual);
	assert_memory_not_equal(usual, junk, sizeof(usual));
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &rss), 0);
	key_of(1, got);
	assert_memory_equal(got, usual, sizeof(got));
	assert_int_equal(rte_eth_dev_stop(1), 0);
	conf.rx_adv_conf.rss_conf.rss_key = junk;
	assert_int_equal(rte_eth_dev_configure(1, 2, 2, &conf), 0);
	key_of(1, got);
	assert_memory_equal(got, usual, sizeof(got));
	rig_close();
}

/* A card that is to serve groups (rss-or-vmq=vmq) spreads nothing over the others' queues, whatever is asked for. */
static void
test_groups_before_rss(void **state)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
					  .rx_adv_conf.rss_conf = {.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP}};

	for (unsigned int vmq = 0; vmq < 2; vmq++) {
		unsigned int n[4] = {0};

		rig_open_pair(vmq != 0 ? "rss-or-vmq=vmq" : "", 4, &conf);
		for (uint16_t i = 0; i < 64; i++)
			rig_send(0, rig_ipv4(IPPROTO_TCP, 0x0a000001, 0x0a000002, (uint16_t)(1000 + i), 80));
		for (uint16_t q = 0; q < 4; q++)
			n[q] = rig_drain(1, q);
		assert_int_equal(n[0] + n[1] + n[2] + n[3], 64);
		assert_int_equal(n[0] == 64, vmq != 0);
		rig_close();
	}
}

/* What a group says of its transmit queues is theirs while it has them. */
static void
test_lifetime_of_group(void **state)
{
	struct tp_group g = group_conf("timed", 1, TP_VLAN_ANY, 1, 2);

	group_start(4, NULL);
	g.hol_lifetime_us = 200000;
	g.rss = TP_RSS_TCP4;
	group_add(&g, 2);
	for (unsigned int q = 0; q < 4; q++)
		assert_int_equal(eth_of(1)->txqs[q]->hol_lifetime_us, q == 1 || q == 2 ? 200000 : 0);
	g.hol_lifetime_us = 300000;
	group_modify(&g, 2);
	assert_int_equal(eth_of(1)->txqs[1]->hol_lifetime_us, 300000);
	g.num_queues = 1;
	group_modify(&g, 1);
	assert_int_equal(eth_of(1)->txqs[1]->hol_lifetime_us, 300000);
	assert_int_equal(eth_of(1)->txqs[2]->hol_lifetime_us, 0);
	group_remove("timed");
	assert_int_equal(eth_of(1)->txqs[1]->hol_lifetime_us, 0);
}

static uint32_t
rules(void)
{
	struct rte_pmd_mlx4_model m;

	assert_int_equal(rte_pmd_mlx4_model_get(1, &m), 0);
	return m.rules;
}

/* Whichever rule of a group the card refuses: none of the others stays on it. */
static void
test_rules_of_group(void **state)
{
	struct tp_group g = group_conf("flooded", 1, 100, 1, 2);
	char err[TP_ERR_LEN];
	struct rte_flow_error e;
	unsigned int n, refused = 0;
	uint32_t before;
	int rc;

	group_start(4, NULL);
	before = rules();
	g.flood = true;
	for (n = 1; n < 20; n++) {
		assert_int_equal(tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_QP_FLOW_STEERING_ATTACH, n,
						MLX4_STAT_BAD_PARAM),
				 0);
		rc = rte_pmd_mlx4_group_add(1, &g, err);
		tp_model_fault(rig_model(1), TP_FAULT_STATUS, 0, 0, 0);
		if (rc >= 0)
			break;
		assert_int_equal(rules(), before);
		refused++;
	}
	assert_in_range(refused, 1, 18);
	assert_true(rules() > before);
	/* Where flow rules alone say what comes, there are no groups. */
	assert_true(rte_flow_isolate(1, 1, &e) < 0);
	assert_non_null(strstr(e.message, "group"));
	assert_int_equal(rte_flow_isolate(1, 0, &e), 0);
	group_remove("flooded");
	assert_int_equal(rules(), before);
}

struct use {
	uint64_t cqs, qps, mtts, heap;
};

static struct use
in_use(void)
{
	struct rte_pmd_mlx4_device d;

	assert_int_equal(rte_pmd_mlx4_device_get(1, &d), 0);
	return (struct use){d.cqs, d.qps, d.mtts, rig_heap()};
}

static void
same(const struct use *was)
{
	struct use is = in_use();

	assert_int_equal(is.cqs, was->cqs);
	assert_int_equal(is.qps, was->qps);
	assert_int_equal(is.mtts, was->mtts);
	assert_int_equal(is.heap, was->heap);
}

/* The queue without buffers takes numbers of the card while there is a rule that drops, and gives them back with the start. */
static void
test_what_is_given_back(void **state)
{
	static const uint16_t all[] = {0, 1};
	const struct rte_flow_action_rss rss = {.queue = all, .queue_num = 2, .types = RTE_ETH_RSS_NONFRAG_IPV4_TCP};
	const struct rte_flow_attr attr = {.ingress = 1};
	struct rte_flow *f;
	struct use was;

	rig_open_pair("", 2, NULL);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	was = in_use();
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(rte_eth_dev_start(1), 0);
		f = flow_add(0, TO_PORT(9), ACTIONS(ACTION(DROP)));
		assert_true(in_use().cqs > was.cqs);
		flow_remove(f);
		assert_int_equal(rte_eth_dev_stop(1), 0);
		same(&was);
	}
	/* A rule that the card refuses leaves nothing. */
	assert_int_equal(rte_eth_dev_start(1), 0);
	was = in_use();
	assert_int_equal(
		tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 1, MLX4_STAT_BAD_PARAM),
		0);
	assert_null(rte_flow_create(1, &attr, TO_PORT(7), ACTIONS(MARK(1), ACTION(RSS, .conf = &rss)), NULL));
	assert_true(rte_errno != 0);
	tp_model_fault(rig_model(1), TP_FAULT_STATUS, 0, 0, 0);
	/* The bursts leave its rings, the next call frees them. */
	for (uint16_t q = 0; q < 2; q++)
		rig_drain(1, q);
	rte_flow_validate(1, &attr, TO_PORT(3), ACTIONS(QUEUE(1)), NULL);
	same(&was);
	rig_close();
}

/* --- the bus ------------------------------------------------------------------------------------------------------- */

static int
end_of(const struct rte_memseg_list *msl, void *arg)
{
	uint64_t *end = arg;

	if (!msl->external)
		*end = RTE_MAX(*end, (uint64_t)(uintptr_t)msl->base_va + msl->len);
	return 0;
}

/* Where other processes are likely to have room, too: at a whole TiB behind EAL's memory; anywhere, when all that is taken. */
static void
test_place_of_doorbells(void **state)
{
	int fd = memfd_create("doorbells", MFD_CLOEXEC);
	uint8_t *first, *other, *behind;
	uint64_t end = 0;
	void *taken;

	assert_int_equal(ftruncate(fd, 8192), 0);
	rte_memseg_list_walk(end_of, &end);
	end = RTE_ALIGN_CEIL(end, 1024 * GIB);
	taken = mmap((void *)(uintptr_t)end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	/* A sanitizer may have its own tables there. */
	if (taken == MAP_FAILED) {
		close(fd);
		printf("skip test_place_of_doorbells: something else lies behind the memory of EAL\n");
		skip();
	}
	assert_int_equal(munmap(taken, 4096), 0);
	first = mlx4_uar_map(fd, 4096, 4096);
	assert_non_null(first);
	assert_int_equal((uintptr_t)first, end);
	behind = mlx4_uar_map(fd, 4096, 4096);
	assert_ptr_equal(behind, first + GIB);
	assert_int_equal(munmap(behind, 4096), 0);
	/* All that it looks at. */
	taken = mmap(first + GIB, 80 * GIB, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(taken, first + GIB);
	other = mlx4_uar_map(fd, 4096, 4096);
	assert_non_null(other);
	assert_int_not_equal((uintptr_t)other % GIB, 0);
	/* All are the file's second page. */
	first[7] = 0x5a;
	assert_int_equal(other[7], 0x5a);
	assert_int_equal(pread(fd, &other[8], 1, 4096 + 7), 1);
	assert_int_equal(first[8], 0x5a);
	assert_int_equal(munmap(taken, 80 * GIB), 0);
	assert_int_equal(munmap(other, 4096), 0);
	assert_int_equal(munmap(first, 4096), 0);
	/* What is no file can be mapped nowhere. */
	close(fd);
	rte_errno = 0;
	assert_null(mlx4_uar_map(fd, 4096, 4096));
	assert_int_equal(rte_errno, EBADF);
}

/* Programs may break rules without end: the log has a hundred lines at once, the counter has all. */
static void
test_lines_of_broken_rules(void **state)
{
	const uint64_t began = rte_get_timer_cycles();
	struct rte_pmd_mlx4_model m;
	unsigned int n = 0, lines, slow;
	const char *p;
	char *text;

	rig_open_pair("", 1, NULL);
	rig_log_begin();
	/* Doorbells of a queue pair that nobody has, at a page that is somebody's. */
	for (unsigned int i = 0; i < RULES; i++) {
		rte_write32(rte_cpu_to_be_32(0xabcu << 8), eth_of(0)->txqs[0]->db);
		rig_run(0);
	}
	text = rig_log_end(&lines);
	for (p = text; (p = strstr(p, "no such send queue")) != NULL; p++)
		n++;
	free(text);
	/* Five more for each second that went by. */
	slow = (unsigned int)((rte_get_timer_cycles() - began) / rte_get_timer_hz() + 1) * 5;
	assert_in_range(n, 100, 100 + slow);
	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	assert_int_equal(m.violations, RULES);
	rig_unplug(RIG_DEV);
}

/* Memory that an application registers twice is refused with the reason. */
static void
test_memory_twice(void **state)
{
	struct rte_device *dev;
	uint8_t *mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(mem != MAP_FAILED);
	rig_open("");
	dev = rte_eth_devices[0].device;
	assert_int_equal(rte_extmem_register(mem, 65536, NULL, 0, 4096), 0);
	assert_int_equal(rte_dev_dma_map(dev, mem, (uintptr_t)mem, 65536), 0);
	rte_errno = 0;
	assert_int_equal(rte_dev_dma_map(dev, mem, (uintptr_t)mem, 65536), -1);
	assert_int_equal(rte_errno, EEXIST);
	assert_int_equal(rte_dev_dma_unmap(dev, mem, (uintptr_t)mem, 65536), 0);
	rte_errno = 0;
	/* Addresses that begin anew behind the last one. */
	assert_int_equal(rte_dev_dma_unmap(dev, mem, UINT64_MAX - 4095, 65536), -1);
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(rte_extmem_unregister(mem, 65536), 0);
	munmap(mem, 65536);
	rig_close();
}

static void
freed(void *addr, void *arg)
{
	(void)addr;
	*(bool *)arg = true;
}

/* A heap that an application brought before there was a card: its memory is the card's, too. */
static void
test_heap_before_card(void **state)
{
	struct rte_mbuf_ext_shared_info info = {.free_cb = freed};
	const size_t len = 2u << 20;
	uint8_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *data;
	struct rte_mbuf *m, *got = NULL;
	struct rte_ether_addr dst;
	bool gone = false;

	assert_true(mem != MAP_FAILED);
	assert_int_equal(rte_malloc_heap_create("brought"), 0);
	assert_int_equal(rte_malloc_heap_memory_add("brought", mem, len, NULL, 0, 4096), 0);
	rig_open_pair("", 1, NULL);
	dst = rig_mac(1);
	data = rte_malloc_socket(NULL, 1000, 0, rte_malloc_heap_get_socket("brought"));
	assert_in_range((uintptr_t)data, (uintptr_t)mem, (uintptr_t)mem + len - 1000);
	memset(data, 0x5a, 1000);
	memcpy(data, &dst, sizeof(dst));
	info.fcb_opaque = &gone;
	rte_mbuf_ext_refcnt_set(&info, 1);
	m = rte_pktmbuf_alloc(rig_pool());
	assert_non_null(m);
	rte_pktmbuf_attach_extbuf(m, data, (uintptr_t)data, 1000, &info);
	m->data_len = 1000;
	m->pkt_len = 1000;
	rig_send(0, m);
	assert_int_equal(rte_eth_rx_burst(1, 0, &got, 1), 1);
	assert_int_equal(got->pkt_len, 1000);
	assert_memory_equal(rte_pktmbuf_mtod(got, uint8_t *), data, 1000);
	rte_pktmbuf_free(got);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_true(gone);
	rte_free(data);
	rig_close();
	assert_int_equal(rte_malloc_heap_memory_remove("brought", mem, len), 0);
	assert_int_equal(rte_malloc_heap_destroy("brought"), 0);
	munmap(mem, len);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strip_one),
		cmocka_unit_test(test_missing_queue),
		cmocka_unit_test(test_key_without_length),
		cmocka_unit_test(test_groups_before_rss),
		cmocka_unit_test_setup_teardown(test_lifetime_of_group, group_open, group_close),
		cmocka_unit_test_setup_teardown(test_rules_of_group, group_open, group_close),
		cmocka_unit_test(test_what_is_given_back),
		cmocka_unit_test(test_place_of_doorbells),
		cmocka_unit_test(test_lines_of_broken_rules),
		cmocka_unit_test(test_memory_twice),
		cmocka_unit_test(test_heap_before_card),
	};

	if (rig_eal("mlx4_port_edges", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-port-edges", tests, NULL, NULL);
}
