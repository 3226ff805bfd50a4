/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Both ends of a port in a secondary process, in one process: this program carries the messages in EAL's place, and gives the
 * second end a struct rte_eth_dev of its own, over the data that processes share. What really takes two is a system test.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_string_fns.h>

#include "drivers/mlx4/port/share.h"
#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"
#include "rig.h"

#define PORTS 2u

/* --- in EAL's and ethdev's place ------------------------------------------------------------------------------------ */

enum fate { PASSED, REFUSED, LOST, OTHER_BUILD };

static rte_mp_t on_ask;
static struct rte_mp_msg told;
static enum fate fate;
static bool without_file; /* as if EAL had mapped the pages itself */
static bool short_file;
static uint64_t pages_at; /* where the primary says that they are, 0: where they are */
static int last_fd;

int
rte_mp_action_register(const char *name, rte_mp_t action)
{
	if (strcmp(name, MLX4_SHARE_NAME) == 0)
		on_ask = action;
	return 0;
}

int
rte_mp_reply(struct rte_mp_msg *msg, const char *peer)
{
	int i;

	told = *msg;
	for (i = 0; i < msg->num_fds; i++)
		told.fds[i] = dup(msg->fds[i]); /* as one that came through a socket */
	return 0;
}

static void
change_answer(const struct mlx4_ask *q)
{
	struct mlx4_answer a;

	memcpy(&a, told.param, sizeof(a));
	if (without_file && q->what == MLX4_ASK_SEAT && told.num_fds != 0) {
		close(told.fds[0]);
		told.num_fds = 0;
	}
	if (pages_at != 0)
		a.uar = pages_at;
	if (short_file && told.num_fds != 0)
		assert_int_equal(ftruncate(told.fds[0], 1), 0);
	memcpy(told.param, &a, sizeof(a));
	if (fate == OTHER_BUILD)
		told.len_param--;
	last_fd = told.num_fds != 0 ? told.fds[0] : -1;
}

int
rte_mp_request_sync(struct rte_mp_msg *req, struct rte_mp_reply *reply, const struct timespec *ts)
{
	struct mlx4_ask q;

	memset(reply, 0, sizeof(*reply));
	if (strcmp(req->name, MLX4_SHARE_NAME) != 0)
		return 0;
	assert_in_range(ts->tv_sec, 1, 60);
	if (fate == REFUSED) {
		rte_errno = EHOSTDOWN;
		return -1;
	}
	if (fate == LOST)
		return 0;
	assert_int_equal(on_ask(req, "peer"), 0);
	assert_string_equal(told.name, MLX4_SHARE_NAME);
	memcpy(&q, req->param, sizeof(q));
	change_answer(&q);
	reply->nb_sent = reply->nb_received = 1;
	reply->msgs = malloc(sizeof(told));
	reply->msgs[0] = told;
	return 0;
}

/* The second end of each port. */
static struct rte_eth_dev second[PORTS];
static struct rte_device device;

struct rte_eth_dev *
rte_eth_dev_attach_secondary(const char *name)
{
	uint16_t id;

	if (rte_eth_dev_get_port_by_name(name, &id) != 0)
		return NULL;
	memset(&second[id], 0, sizeof(second[id]));
	second[id].data = rte_eth_devices[id].data;
	TAILQ_INIT(&second[id].link_intr_cbs);
	return &second[id];
}

/* --- the rig -------------------------------------------------------------------------------------------------------- */

static const struct mlx4_bus *
bus(void)
{
	return ((struct mlx4_eth *)rte_eth_devices[0].data->dev_private)->hca->bus;
}

static const void *
pages(void)
{
	return (const void *)(uintptr_t)bus()->uar;
}

static int
setup(void **state)
{
	fate = PASSED;
	without_file = true;
	short_file = false;
	pages_at = 0;
	memset(second, 0, sizeof(second));
	rig_open_pair("", 1, NULL);
	assert_int_equal(mlx4_second_attach(&device, RIG_DEV, pages()), 0);
	return 0;
}

static int
teardown(void **state)
{
	unsigned int p;

	for (p = 0; p < PORTS; p++)
		mlx4_second_release(&second[p]);
	rig_close();
	return 0;
}

/* --- attaching ------------------------------------------------------------------------------------------------------ */

static void
test_attach(void **state)
{
	unsigned int p;

	for (p = 0; p < PORTS; p++) {
		assert_ptr_equal(second[p].device, &device);
		assert_ptr_equal(second[p].dev_ops, &mlx4_second_ops);
		assert_int_equal(second[p].state, RTE_ETH_DEV_ATTACHED);
		assert_true(mlx4_second_alive(&second[p]));
		/* Until ethdev asks again nobody finds a burst by the device. */
		assert_int_equal(second[p].rx_pkt_burst(NULL, NULL, 1), 0);
		assert_int_equal(second[p].tx_pkt_burst(NULL, NULL, 1), 0);
	}
	/* The pages are somewhere else in this process. */
	rig_log_begin();
	assert_int_equal(mlx4_second_attach(&device, RIG_DEV, (const uint8_t *)pages() + 4096), -EADDRNOTAVAIL);
	rig_log_one("doorbell pages are at", "in the primary process");
	/* A card that the primary has not */
	rig_log_begin();
	assert_int_equal(mlx4_second_attach(&device, "net_mlx4_model7", NULL), 0);
	rig_log_one("net_mlx4_model7", "no Ethernet port of this card");
	/* Another build, and a primary that is gone */
	fate = OTHER_BUILD;
	rig_log_begin();
	assert_int_equal(mlx4_second_attach(&device, RIG_DEV, pages()), -EPROTO);
	rig_log_one("gives no ports", "of another build");
	fate = REFUSED;
	rig_log_begin();
	assert_int_equal(mlx4_second_attach(&device, RIG_DEV, pages()), -EHOSTDOWN);
	rig_log_one("gives no ports", RIG_DEV);
}

/* Pages that this process maps: where the primary has them, nowhere else, and no longer than one of its ports needs them. */
static void
test_pages(void **state)
{
	size_t len = bus()->uar_len;
	void *at;
	unsigned int p;

	for (p = 0; p < PORTS; p++)
		mlx4_second_release(&second[p]);
	without_file = false;
	rig_log_begin();
	assert_int_equal(mlx4_second_attach(&device, RIG_DEV, NULL), -EEXIST);
	rig_log_one("cannot map the doorbell pages", "something else is there");
	at = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(munmap(at, len), 0);
	pages_at = (uintptr_t)at;
	assert_int_equal(mlx4_second_attach(&device, RIG_DEV, NULL), 0);
	/* The file was closed, and the pages are the card's. */
	assert_int_equal(fcntl(last_fd, F_GETFD), -1);
	((volatile uint32_t *)bus()->uar)[0x400] = 0x15b3;
	assert_int_equal(((volatile uint32_t *)at)[0x400], 0x15b3);
	((volatile uint32_t *)bus()->uar)[0x400] = 0;
	mlx4_second_release(&second[0]);
	assert_null(second[0].process_private);
	assert_int_equal(msync(at, 4096, MS_ASYNC), 0);
	mlx4_second_release(&second[0]);
	assert_int_equal(msync(at, 4096, MS_ASYNC), 0);
	mlx4_second_release(&second[1]);
	assert_int_equal(msync(at, 4096, MS_ASYNC), -1);
	assert_int_equal(errno, ENOMEM);
}

/* --- bursts --------------------------------------------------------------------------------------------------------- */

static void
test_bursts(void **state)
{
	const struct rte_eth_fp_ops *tx = &rte_eth_fp_ops[0], *rx = &rte_eth_fp_ops[1];
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_mbuf *m[4], *got[8];
	unsigned int i;

	for (i = 0; i < RTE_DIM(m); i++)
		m[i] = rig_frame(&mac, RIG_FRAME);
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, 0), RTE_ETH_TX_DESC_DONE);
	assert_int_equal(tx->tx_pkt_prepare(tx->txq.data[0], m, 4), 4);
	assert_int_equal(tx->tx_pkt_burst(tx->txq.data[0], m, 4), 4);
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, 0), RTE_ETH_TX_DESC_FULL);
	rig_run(0);
	assert_int_equal(rx->rx_queue_count(rx->rxq.data[0]), 4);
	assert_int_equal(rx->rx_descriptor_status(rx->rxq.data[0], 3), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rx->rx_descriptor_status(rx->rxq.data[0], 4), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rx->rx_pkt_burst(rx->rxq.data[0], got, 8), 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(got[i]->pkt_len, RIG_FRAME);
	rte_pktmbuf_free_bulk(got, 4);
	/* A queue that was never set up */
	assert_int_equal(tx->tx_pkt_burst(tx->txq.data[1], m, 4), 0);
	assert_int_equal(tx->tx_pkt_prepare(tx->txq.data[1], m, 4), 0);
	assert_int_equal(tx->tx_descriptor_status(tx->txq.data[1], 0), -ENODEV);
	assert_int_equal(rx->rx_pkt_burst(rx->rxq.data[1], got, 8), 0);
	assert_int_equal(rx->rx_queue_count(rx->rxq.data[1]), 0);
	assert_int_equal(rx->rx_descriptor_status(rx->rxq.data[1], 0), -ENODEV);
}

/* Ethdev took the bursts away; the answer to a stop is that they are there again. */
static void
test_stop_is_refused(void **state)
{
	struct rte_eth_fp_ops *fp = &rte_eth_fp_ops[0];
	eth_tx_burst_t tx = fp->tx_pkt_burst;
	eth_rx_burst_t rx = fp->rx_pkt_burst;
	void **rxq = fp->rxq.data, **txq = fp->txq.data;

	memset(fp, 0, sizeof(*fp));
	rig_log_begin();
	assert_int_equal(second[0].dev_ops->dev_stop(&second[0]), -EPERM);
	rig_log_one("port 0: stop", "only the primary process");
	assert_ptr_equal(fp->tx_pkt_burst, tx);
	assert_ptr_equal(fp->rx_pkt_burst, rx);
	assert_ptr_equal(fp->rxq.data, rxq);
	assert_ptr_equal(fp->txq.data, txq);
	assert_ptr_equal(fp->rxq.clbk, second[0].post_rx_burst_cbs);
	assert_ptr_equal(fp->txq.clbk, second[0].pre_tx_burst_cbs);
}

/* A burst that takes lists which control code may replace says which process it is in; nobody does afterwards. */
static void
test_poller(void **state)
{
	struct mlx4_eth *eth = rte_eth_devices[1].data->dev_private;
	const struct rte_eth_fp_ops *fp = &rte_eth_fp_ops[1];
	struct rte_mbuf *got[8];

	eth->rxqs[0]->poller = 77;
	assert_int_equal(fp->rx_pkt_burst(fp->rxq.data[0], got, 8), 0);
	assert_int_equal(eth->rxqs[0]->poller, 77); /* the plain one has no list */
	eth->rx_way = MLX4_RX_SCATTERED + 1;
	assert_int_equal(fp->rx_pkt_burst(fp->rxq.data[0], got, 8), 0);
	assert_int_equal(eth->rxqs[0]->poller, 0);
}

/* The primary closes its ports: the second end has nothing, says so, and can be closed. */
static void
test_primary_closes(void **state)
{
	const struct eth_dev_ops *ops = &mlx4_second_ops;
	struct rte_eth_rxq_info rxq = {.nb_desc = 9};
	struct rte_eth_txq_info txq = {.nb_desc = 9};
	struct rte_eth_dev_info info = {0};
	struct rte_eth_burst_mode mode;
	struct rte_eth_stats stats;
	struct rte_mbuf *got[1];
	struct mlx4_ends *ends;
	uint64_t clock;
	char text[32];
	void *rx, *tx;

	rx = rte_eth_fp_ops[0].rxq.data[0];
	tx = rte_eth_fp_ops[0].txq.data[0];
	ends = mlx4_ends_create(&second[0]);
	assert_true(mlx4_ends_alive(ends));
	mlx4_ends_show(&second[0], ends);
	{
		const struct rte_eth_fp_ops fp = rte_eth_fp_ops[0];

		assert_int_equal(rte_eth_dev_stop(0), 0);
		assert_int_equal(rte_eth_dev_close(0), 0);
		assert_int_equal(fp.rx_pkt_burst(rx, got, 1), 0);
		assert_int_equal(fp.tx_pkt_burst(tx, got, 1), 0);
		assert_int_equal(fp.tx_pkt_prepare(tx, got, 1), 0);
		assert_int_equal(fp.rx_queue_count(rx), 0);
		assert_int_equal(fp.rx_descriptor_status(rx, 0), -ENODEV);
		assert_int_equal(fp.tx_descriptor_status(tx, 0), -ENODEV);
	}
	assert_false(mlx4_ends_alive(ends));
	mlx4_ends_free(ends);
	assert_false(mlx4_second_alive(&second[0]));
	assert_true(mlx4_second_alive(&second[1]));
	assert_int_equal(ops->is_removed(&second[0]), 1);
	assert_int_equal(ops->is_removed(&second[1]), 0);
	((struct mlx4_eth *)rte_eth_devices[1].data->dev_private)->hca->dead = true;
	assert_int_equal(ops->is_removed(&second[1]), 1);
	((struct mlx4_eth *)rte_eth_devices[1].data->dev_private)->hca->dead = false;
	assert_int_equal(ops->stats_get(&second[0], &stats), -ENODEV);
	assert_int_equal(ops->stats_reset(&second[0]), -ENODEV);
	assert_int_equal(ops->link_update(&second[0], 0), -ENODEV);
	assert_int_equal(ops->read_clock(&second[0], &clock), -ENODEV);
	assert_int_equal(ops->dev_infos_get(&second[0], &info), -ENODEV);
	assert_int_equal(ops->fw_version_get(&second[0], text, sizeof(text)), -ENODEV);
	assert_int_equal(ops->rx_burst_mode_get(&second[0], 0, &mode), -ENODEV);
	assert_int_equal(ops->tx_burst_mode_get(&second[0], 0, &mode), -ENODEV);
	assert_null(ops->dev_supported_ptypes_get(&second[0]));
	ops->rxq_info_get(&second[0], 0, &rxq);
	ops->txq_info_get(&second[0], 0, &txq);
	assert_int_equal(rxq.nb_desc + txq.nb_desc, 18);
	assert_int_equal(ops->dev_close(&second[0]), 0);
	assert_null(second[0].process_private);
	assert_false(mlx4_second_alive(&second[0]));
	assert_int_equal(ops->dev_close(&second[0]), 0);
	/* The other port's answers are of the card that is left. */
	assert_int_equal(ops->stats_get(&second[1], &stats), 0);
	mlx4_second_release(&second[1]);
	rig_unplug(RIG_DEV);
}

/* --- operations ----------------------------------------------------------------------------------------------------- */

static void
test_answers(void **state)
{
	const struct eth_dev_ops *ops = &mlx4_second_ops;
	int n = rte_eth_xstats_get_names(1, NULL, 0), own = ops->xstats_get(&second[1], NULL, 0), i;
	struct rte_eth_xstat *xs = calloc((size_t)n, sizeof(*xs)), *want = calloc((size_t)n, sizeof(*want));
	struct rte_eth_xstat_name *names = calloc((size_t)n, sizeof(*names));
	struct rte_eth_stats stats, port;
	struct rte_eth_rxq_info rxq = {0};
	struct rte_eth_txq_info txq = {0};
	struct rte_eth_dev_info info = {0};
	struct rte_eth_burst_mode mode;
	struct rte_ether_addr mac = rig_mac(1);
	uint64_t clock[2] = {0};
	char text[32];

	rig_send(0, rig_frame(&mac, RIG_FRAME));
	assert_int_equal(rig_drain(1, 0), 1);
	assert_int_equal(ops->stats_get(&second[1], &stats), 0);
	assert_int_equal(rte_eth_stats_get(1, &port), 0);
	assert_int_equal(stats.ipackets, 1);
	assert_int_equal(stats.ibytes, RIG_FRAME);
	assert_memory_equal(&stats, &port, sizeof(stats));
	assert_in_range(own, 50, n);
	assert_int_equal(ops->xstats_get(&second[1], xs, (unsigned int)own - 1), own);
	assert_int_equal(xs[0].value, 0);
	assert_int_equal(ops->xstats_get(&second[1], xs, (unsigned int)own), own);
	assert_int_equal(rte_eth_devices[1].dev_ops->xstats_get(&rte_eth_devices[1], want, (unsigned int)own), own);
	assert_int_equal(rte_eth_xstats_get_names(1, names, (unsigned int)n), n);
	for (i = 0; i < own; i++)
		if (strcmp(names[n - own + i].name, "device_commands") == 0) /* a question is some commands more */
			assert_in_range(want[i].value, xs[i].value + 1, xs[i].value + 100);
		else
			assert_int_equal(xs[i].value, want[i].value);
	free(names);
	assert_int_equal(xs[0].value, 1); /* rx_port_packets */
	assert_int_equal(ops->stats_reset(&second[1]), 0);
	assert_int_equal(rte_eth_stats_get(1, &port), 0);
	assert_int_equal(port.ipackets, 0);
	/* The primary looks at the cable. */
	assert_int_equal(tp_model_cable(rig_model(0), 2, false), 0);
	second[1].data->dev_link.link_status = RTE_ETH_LINK_UP;
	assert_int_equal(ops->link_update(&second[1], 0), 0);
	assert_int_equal(second[1].data->dev_link.link_status, RTE_ETH_LINK_DOWN);
	assert_int_equal(ops->read_clock(&second[1], &clock[0]), 0);
	assert_int_equal(rte_eth_read_clock(1, &clock[1]), 0);
	assert_true(clock[0] <= clock[1]);
	/* What shared memory tells */
	assert_int_equal(ops->dev_infos_get(&second[1], &info), 0);
	assert_int_equal(info.max_mac_addrs, MLX4_ETH_MAX_UC_MACS);
	assert_int_equal(ops->fw_version_get(&second[1], text, sizeof(text)), 0);
	assert_string_equal(text, "2.42.5000");
	assert_int_equal(ops->rx_burst_mode_get(&second[1], 0, &mode), 0);
	assert_int_equal(ops->tx_burst_mode_get(&second[1], 0, &mode), 0);
	assert_string_equal(mode.info, "Scalar");
	ops->rxq_info_get(&second[1], 0, &rxq);
	ops->txq_info_get(&second[1], 0, &txq);
	assert_int_equal(rxq.nb_desc, RIG_DESC);
	assert_int_equal(txq.nb_desc, RIG_DESC);
	assert_int_equal(ops->dev_supported_ptypes_get(&second[1])[0], RTE_PTYPE_L2_ETHER);
	free(xs);
	free(want);
}

#define REFUSED_OP(word, call)                                                                                         \
	do {                                                                                                           \
		rig_log_begin();                                                                                       \
		assert_int_equal(call, -EPERM);                                                                        \
		rig_log_one("port 1: " word ": only the primary process can do this", "");                             \
	} while (0)

static void
test_refused_operations(void **state)
{
	const struct eth_dev_ops *ops = &mlx4_second_ops;
	struct rte_eth_dev *dev = &second[1];

	REFUSED_OP("start", ops->dev_start(dev));
	REFUSED_OP("reset", ops->dev_reset(dev));
	REFUSED_OP("link up", ops->dev_set_link_up(dev));
	REFUSED_OP("link down", ops->dev_set_link_down(dev));
	REFUSED_OP("promiscuous mode", ops->promiscuous_enable(dev));
	REFUSED_OP("promiscuous mode", ops->promiscuous_disable(dev));
	REFUSED_OP("all-multicast mode", ops->allmulticast_enable(dev));
	REFUSED_OP("all-multicast mode", ops->allmulticast_disable(dev));
	REFUSED_OP("MTU", ops->mtu_set(dev, 2000));
	REFUSED_OP("another MAC address", ops->mac_addr_add(dev, NULL, 1, 0));
	REFUSED_OP("the MAC address", ops->mac_addr_set(dev, NULL));
	REFUSED_OP("multicast addresses", ops->set_mc_addr_list(dev, NULL, 0));
	REFUSED_OP("VLAN filter", ops->vlan_filter_set(dev, 1, 1));
	REFUSED_OP("RSS indirection table", ops->reta_update(dev, NULL, 0));
	REFUSED_OP("RSS hash", ops->rss_hash_update(dev, NULL));
	REFUSED_OP("start or stop of a queue", ops->rx_queue_start(dev, 0));
	REFUSED_OP("start or stop of a queue", ops->tx_queue_stop(dev, 0));
	REFUSED_OP("receive interrupts", ops->rx_queue_intr_enable(dev, 0));
	REFUSED_OP("flow control", ops->flow_ctrl_set(dev, NULL));
	REFUSED_OP("priority flow control", ops->priority_flow_ctrl_set(dev, NULL));
	REFUSED_OP("rate limit of a queue", ops->set_queue_rate_limit(dev, 0, 0));
	REFUSED_OP("UDP port of tunnels", ops->udp_tunnel_port_add(dev, NULL));
}

/* --- messages ------------------------------------------------------------------------------------------------------- */

static int
ask(uint32_t what, uint16_t port, struct mlx4_answer *a, void *out, size_t len)
{
	struct mlx4_ask q;

	mlx4_ask_init(&q, (enum mlx4_ask_what)what, port, MLX4_SHARE_SIZES);
	rte_strscpy(q.device, RIG_DEV, sizeof(q.device));
	return mlx4_second_ask(&q, a, out, len, NULL);
}

static void
test_questions(void **state)
{
	struct mlx4_answer a;
	struct mlx4_ask q;
	uint8_t out[4];
	uint64_t clock = 0;
	unsigned int i;

	without_file = false;
	assert_int_equal(ask(99, 0, &a, NULL, 0), -EOPNOTSUPP);
	assert_int_equal(ask(MLX4_ASK_STATS_RESET, 2, &a, NULL, 0), -ENODEV);
	assert_int_equal(ask(MLX4_ASK_STATS_RESET, RTE_MAX_ETHPORTS, &a, NULL, 0), -ENODEV);
	assert_int_equal(ask(MLX4_ASK_STATS_RESET, UINT16_MAX, &a, NULL, 0), -ENODEV);
	assert_int_equal(ask(MLX4_ASK_CLOCK, 0, &a, &clock, sizeof(clock)), 0);
	assert_int_equal(a.len, 8);
	assert_int_equal(fcntl(last_fd, F_GETFD), -1);
	/* No more than there is room for, and no less than was promised */
	memset(out, 0, sizeof(out));
	assert_int_equal(ask(MLX4_ASK_CLOCK, 0, &a, out, sizeof(out)), 0);
	short_file = true;
	assert_int_equal(ask(MLX4_ASK_CLOCK, 0, &a, &clock, sizeof(clock)), -EIO);
	assert_int_equal(fcntl(last_fd, F_GETFD), -1);
	short_file = false;
	/* Any struct of another size */
	for (i = 0; i < MLX4_SHARE_STRUCTS; i++) {
		mlx4_ask_init(&q, MLX4_ASK_STATS_RESET, 0, MLX4_SHARE_SIZES);
		q.size[i]++;
		assert_int_equal(mlx4_second_ask(&q, &a, NULL, 0, NULL), -EPROTO);
	}
	fate = OTHER_BUILD;
	assert_int_equal(ask(MLX4_ASK_CLOCK, 0, &a, &clock, sizeof(clock)), -EPROTO);
	assert_int_equal(fcntl(last_fd, F_GETFD), -1);
	fate = LOST;
	assert_int_equal(ask(MLX4_ASK_CLOCK, 0, &a, &clock, sizeof(clock)), -ETIMEDOUT);
	fate = REFUSED;
	assert_int_equal(ask(MLX4_ASK_CLOCK, 0, &a, &clock, sizeof(clock)), -EHOSTDOWN);
}

/* A message that is no question of ours is answered, too. */
static void
test_other_messages(void **state)
{
	struct rte_mp_msg msg = {.len_param = sizeof(struct mlx4_ask) - 1};
	struct mlx4_answer a;

	assert_int_equal(on_ask(&msg, "peer"), 0);
	assert_int_equal(told.len_param, sizeof(a));
	memcpy(&a, told.param, sizeof(a));
	assert_int_equal(a.rc, -EPROTO);
}

/* Both ports of a card, and where its pages are; without a port that was closed. */
static void
test_seat(void **state)
{
	const struct mlx4_bus *b = bus();
	struct mlx4_answer a;

	assert_int_equal(ask(MLX4_ASK_SEAT, 0, &a, NULL, 0), 0);
	assert_int_equal(a.ports, 3);
	assert_int_equal(a.uar, (uintptr_t)b->uar);
	assert_int_equal(a.uar_len, b->uar_len);
	assert_int_equal(a.uar_off, b->share_off);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	mlx4_second_release(&second[0]);
	assert_int_equal(rte_eth_dev_close(0), 0);
	assert_int_equal(ask(MLX4_ASK_SEAT, 0, &a, NULL, 0), 0);
	assert_int_equal(a.ports, 2);
	assert_int_equal(ask(MLX4_ASK_STATS_RESET, 0, &a, NULL, 0), -ENODEV);
	assert_int_equal(ask(MLX4_ASK_STATS_RESET, 1, &a, NULL, 0), 0);
	mlx4_second_release(&second[1]);
	rig_unplug(RIG_DEV);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_attach),
		TEST(test_pages),
		TEST(test_bursts),
		TEST(test_stop_is_refused),
		TEST(test_poller),
		cmocka_unit_test_setup(test_primary_closes, setup),
		TEST(test_answers),
		TEST(test_refused_operations),
		TEST(test_questions),
		TEST(test_other_messages),
		cmocka_unit_test_setup(test_seat, setup),
	};

	if (rig_eal("mlx4_second", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-second", tests, NULL, NULL);
}
