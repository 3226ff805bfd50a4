/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stages 4 and 5: interrupts; link, module and counters of each port. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_interrupts.h>

#include "port.h"

#define NOPS 64u
#define IRQ_MS 5000
#define LINK_MS 12000u
#define LINK_MS_MODEL 1500u
#define EEPROM 256u

/* --- stage 4 --------------------------------------------------------------------------------------------------------- */

static void
commands_by_event(struct ck *c, struct mlx4_hca *hca)
{
	const uint64_t lost = hca->lost_events;
	unsigned int i;
	int rc = 0;

	ck_step(c, "has %u commands end by event", NOPS);
	for (i = 0; i < NOPS && rc == 0; i++)
		rc = mlx4_cmd(hca, MLX4_CMD_NOP, 0, MLX4_NOP_MODIFIER, NULL, 0, NULL, 0);
	ck_judge(c, rc == 0, "command-events", "%u of %u NOP commands ended by event%s%s", rc == 0 ? i : i - 1, NOPS,
		 rc == 0 ? "" : ": ", rc == 0 ? "" : rte_strerror(-rc));
	mlx4_events_check(hca);
	/* The thread of interrupts counts what it finds and was not told of. */
	rte_delay_us_sleep(200000);
	ck_judge(c, hca->lost_events == lost, "event-interrupts", "%" PRIu64 " events of which no interrupt told",
		 hca->lost_events - lost);
}

static bool
all_to(uint16_t id, uint16_t queue)
{
	struct rte_eth_rss_reta_entry64 reta[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];
	struct rte_eth_dev_info info;
	unsigned int i, k;

	if (rte_eth_dev_info_get(id, &info) != 0 || info.reta_size == 0)
		return false;
	for (i = 0; i < RTE_DIM(reta); i++) {
		reta[i].mask = UINT64_MAX;
		for (k = 0; k < RTE_ETH_RETA_GROUP_SIZE; k++)
			reta[i].reta[k] = queue;
	}
	return rte_eth_dev_rss_reta_update(id, reta, info.reta_size) == 0;
}

/* false: frames do not come back, so that other queues are not worth a try. */
static bool
queue_interrupt(struct port *p, uint16_t q)
{
	struct frame_spec s = port_spec(p, &p->mac, FRAME_IPV4);
	static struct frame f;
	struct rte_epoll_event ev;
	char name[32];
	int rc, n;

	snprintf(name, sizeof(name), "queue-%u-interrupt", q);
	ck_step(p->c, "asks queue %u for an interrupt", q);
	s.payload = 64;
	frame_make(&f, &s);
	rc = all_to(p->id, q) ? rte_eth_dev_rx_intr_ctl_q(p->id, q, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL)
			      : -EIO;
	if (rc == 0)
		rc = rte_eth_dev_rx_intr_enable(p->id, q);
	if (rc != 0) {
		ck_say(p->c, CK_FAIL, name, "the queue has none: %s", rte_strerror(-rc));
		return true;
	}
	n = port_send(p, 0, port_mbuf(p, &f, NULL, 0)) ? rte_epoll_wait(RTE_EPOLL_PER_THREAD, &ev, 1, IRQ_MS) : -1;
	rte_eth_dev_rx_intr_disable(p->id, q);
	rte_eth_dev_rx_intr_ctl_q(p->id, q, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, NULL);
	if (port_wait(p, 1) != 1) {
		ck_say(p->c, CK_FAIL, name, "the frame did not come back, with or without an interrupt");
		return false;
	}
	ck_judge(p->c, n == 1 && p->got[0].queue == q, name,
		 n == 1 ? "an interrupt told of a frame; it was in queue %u, wanted %u"
			: "a frame came to queue %u (wanted %u), and no interrupt told of it",
		 p->got[0].queue, q);
	return true;
}

void
ck_stage_interrupts(struct ck *c)
{
	struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS}, .intr_conf = {.rxq = 1}};
	struct rte_eth_dev_info info;
	struct port p = {.mark = 0};
	struct mlx4_hca *hca;
	unsigned int port;
	uint16_t q;
	int id;

	hca = ck_ports(c, "mac-loopback=1");
	if (hca == NULL)
		return;
	commands_by_event(c, hca);
	for (port = 1, id = -1; port <= hca->caps.num_ports && id < 0; port++)
		id = ck_port_id(hca, port);
	if (rte_eth_dev_info_get((uint16_t)id, &info) == 0)
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & RTE_ETH_RSS_IP;
	if (port_start(&p, c, (uint16_t)id, PORT_QUEUES, &conf))
		for (q = 0; q < PORT_QUEUES && queue_interrupt(&p, q); q++)
			;
	port_end(&p);
	ck_finish(c, hca);
}

/* --- stage 5 --------------------------------------------------------------------------------------------------------- */

/* Text of a module, without the blanks behind it. */
static void
module_text(char to[20], const uint8_t *from)
{
	unsigned int i, n = 0;

	for (i = 0; i < 16; i++) {
		to[i] = isprint(from[i]) ? (char)from[i] : '?';
		if (from[i] != ' ' && from[i] != 0)
			n = i + 1;
	}
	to[n] = '\0';
}

static void
module(struct ck *c, uint16_t id, const char *name)
{
	static const struct {
		uint32_t type;
		const char *what;
		unsigned int vendor, part, serial;
	} kinds[] = {
		{RTE_ETH_MODULE_SFF_8079, "SFP (SFF-8079)", 20, 40, 68},
		{RTE_ETH_MODULE_SFF_8472, "SFP (SFF-8472)", 20, 40, 68},
		{RTE_ETH_MODULE_SFF_8436, "QSFP (SFF-8436)", 148, 168, 196},
		{RTE_ETH_MODULE_SFF_8636, "QSFP (SFF-8636)", 148, 168, 196},
	};
	struct rte_eth_dev_module_info info = {0};
	uint8_t data[EEPROM] = {0};
	struct rte_dev_eeprom_info e = {.data = data, .length = sizeof(data)};
	char vendor[20], part[20];
	unsigned int i;
	int rc = rte_eth_dev_get_module_info(id, &info);

	if (rc == 0) {
		e.length = RTE_MIN(info.eeprom_len, EEPROM);
		rc = rte_eth_dev_get_module_eeprom(id, &e);
	}
	if (rc != 0) {
		ck_say(c, CK_INFO, name, "no module can be read: %s", rte_strerror(-rc));
		return;
	}
	for (i = 0; i < RTE_DIM(kinds) && kinds[i].type != info.type; i++)
		;
	if (i == RTE_DIM(kinds)) {
		ck_say(c, CK_WARN, name, "a module of an unknown type %u", info.type);
		return;
	}
	ck_identity(c, "serial", data + kinds[i].serial, 16);
	module_text(vendor, data + kinds[i].vendor);
	module_text(part, data + kinds[i].part);
	ck_say(c, CK_PASS, name, "%s %s, %s", vendor, part, kinds[i].what);
}

static void
link_of(struct ck *c, struct port *p, const char *name)
{
	const uint64_t ms = c->o->dev.bus == CK_BUS_PCI ? LINK_MS : LINK_MS_MODEL;
	struct port_limit until = port_in(ms);
	struct rte_eth_link l;

	ck_step(c, "waits for the link of port %u", p->id);
	do {
		if (rte_eth_link_get_nowait(p->id, &l) != 0)
			l.link_status = RTE_ETH_LINK_DOWN;
		if (l.link_status == RTE_ETH_LINK_DOWN)
			rte_delay_us_sleep(20000);
	} while (l.link_status == RTE_ETH_LINK_DOWN && port_waits(&until));
	if (l.link_status == RTE_ETH_LINK_DOWN)
		ck_say(c, CK_WARN, name, "no link: is a cable plugged in at both ends?");
	else
		ck_judge(c,
			 l.link_speed == RTE_ETH_SPEED_NUM_10G || l.link_speed == RTE_ETH_SPEED_NUM_40G ||
				 l.link_speed == RTE_ETH_SPEED_NUM_56G || l.link_speed == RTE_ETH_SPEED_NUM_1G ||
				 l.link_speed == RTE_ETH_SPEED_NUM_20G || l.link_speed == RTE_ETH_SPEED_NUM_100M,
			 name, "up at %u Mb/s, wanted a speed of the card: 100, 1000, 10000, 20000, 40000 or 56000",
			 l.link_speed);
}

/* After a reset nothing was counted; what is counted as wrong is a bad cable, or a counter in a place where none is. */
static void
counters(struct ck *c, uint16_t id, const char *name)
{
	struct rte_eth_stats st;
	int n = rte_eth_xstats_get(id, NULL, 0);
	int rc = rte_eth_stats_get(id, &st);

	if (rc != 0 || n <= 0) {
		ck_say(c, CK_FAIL, name, "they cannot be read: %s", rte_strerror(rc != 0 ? -rc : EIO));
		return;
	}
	ck_judge(c, st.ierrors == 0 && st.oerrors == 0, name,
		 "%d counters; %" PRIu64 " frames received with errors, %" PRIu64 " not sent, wanted none", n,
		 st.ierrors, st.oerrors);
}

static void
one_port(struct ck *c, struct port *p, unsigned int port)
{
	struct rte_eth_dev_info info;
	char name[32], path[RTE_PMD_MLX4_DUMP_PATH], err[TP_ERR_LEN];

	snprintf(name, sizeof(name), "port-%u-link", port);
	link_of(c, p, name);
	snprintf(name, sizeof(name), "port-%u-module", port);
	module(c, p->id, name);
	snprintf(name, sizeof(name), "port-%u-counters", port);
	counters(c, p->id, name);
	snprintf(name, sizeof(name), "port-%u-limits", port);
	if (rte_eth_dev_info_get(p->id, &info) == 0)
		ck_say(c, CK_INFO, name, "MTU %u..%u, %u receive and %u transmit queues, %u addresses", info.min_mtu,
		       info.max_mtu, info.max_rx_queues, info.max_tx_queues, info.max_mac_addrs);
	if (c->o->bundle != NULL && rte_pmd_mlx4_dump(p->id, c->o->bundle, "check", path, err) != 0)
		ck_say(c, CK_WARN, "dump", "%s", err);
}

void
ck_stage_ports(struct ck *c)
{
	struct port p[MLX4_MAX_PORTS] = {{.mark = 0}};
	struct mlx4_hca *hca;
	unsigned int i;
	int id;

	hca = ck_ports(c, "");
	if (hca == NULL)
		return;
	/* All of them first: a cable between two comes up with the second. */
	for (i = 0; i < hca->caps.num_ports; i++) {
		id = ck_port_id(hca, i + 1);
		if (id < 0)
			ck_say(c, CK_SKIP, "port", "port %u is InfiniBand", i + 1);
		else
			port_start(&p[i], c, (uint16_t)id, 1, NULL);
	}
	for (i = 0; i < hca->caps.num_ports; i++) {
		if (p[i].started)
			one_port(c, &p[i], i + 1);
	}
	for (i = 0; i < hca->caps.num_ports; i++)
		port_end(&p[i]);
	ck_finish(c, hca);
}
