/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of a port: what it is configured with, what it takes in, what is done with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/fwd/fwd.h"
#include "settings.h"
#include "apps/triplane/port/port.h"

enum {
	RX_QUEUES,
	TX_QUEUES,
	RX_RING,
	TX_RING,
	MTU,
	PROMISC,
	ALLMULTI,
	MODE,
	PEER,
	ETH_PEER,
	WORK,
	TX_CHOICE,
	IGNORE_FCS,
	WAKE_ON_LAN,
	HEADER_SPLIT
};

#define OFFLOAD_TX 0x100u /* beside the index of its table */

/* By TP_TXQ_BY_*. */
static const char *const tx_choices[] = {"off", "size", "hash", "both"};

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct app_port *p = &app->port[at->port];
	unsigned int num = 0;
	uint16_t mtu = 0;
	bool on = false;

	switch (row->id) {
	case RX_QUEUES: num = p->rxq; break;
	case TX_QUEUES: num = p->txq; break;
	case RX_RING: num = p->rxd; break;
	case TX_RING: num = p->txd; break;
	case PEER: num = p->peer; break;
	case WORK: num = p->work; break;
	case MTU:
		if (p->mtu == 0 && rte_eth_dev_get_mtu(p->id, &mtu) != 0)
			return -ENOTSUP;
		num = p->mtu != 0 ? p->mtu : mtu;
		break;
	case PROMISC: snprintf(value, TP_SETTING_VALUE, "%s", p->promisc ? "on" : "off"); return 0;
	case ALLMULTI:
		if (p->allmulti_fixed)
			return -ENOTSUP;
		snprintf(value, TP_SETTING_VALUE, "%s", p->allmulti ? "on" : "off");
		return 0;
	case IGNORE_FCS:
		if (rte_pmd_mlx4_ignore_fcs_get(p->id, &on) != 0)
			return -ENOTSUP;
		snprintf(value, TP_SETTING_VALUE, "%s", on ? "on" : "off");
		return 0;
	case HEADER_SPLIT:
		if (rte_pmd_mlx4_header_split_get(p->id, &on) != 0)
			return -ENOTSUP;
		snprintf(value, TP_SETTING_VALUE, "%s", on ? "on" : "off");
		return 0;
	case WAKE_ON_LAN:
		if (rte_pmd_mlx4_wake_on_lan_get(p->id, &on) != 0)
			return -ENOTSUP;
		snprintf(value, TP_SETTING_VALUE, "%s", on ? "magic" : "off");
		return 0;
	case MODE: snprintf(value, TP_SETTING_VALUE, "%s", fwd_modes[p->mode].name); return 0;
	case TX_CHOICE: snprintf(value, TP_SETTING_VALUE, "%s", tx_choices[p->tx_choice]); return 0;
	case ETH_PEER: rte_ether_format_addr(value, RTE_ETHER_ADDR_FMT_SIZE, &p->eth_peer); return 0;
	default: break;
	}
	snprintf(value, TP_SETTING_VALUE, "%u", num);
	return 0;
}

/* What the device has no room for. */
static int
within(const struct app_port *p, const struct tp_setting *row, unsigned int v, unsigned int min, unsigned int max,
       char *err)
{
	if (v >= min && v <= max)
		return 0;
	snprintf(err, TP_SETTING_ERR, "port %u: %s %u, want %u..%u, what the device has", p->id, row->name, v, min,
		 max);
	return -EINVAL;
}

static int
refused(const struct app_port *p, const struct tp_setting *row, const char *value, int ret, char *err)
{
	if (ret == -EBUSY && p->started)
		snprintf(err, TP_SETTING_ERR, "port %u: %s %s: not while it is started; 'port stop %u' first", p->id,
			 row->name, value, p->id);
	else if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s %s: %s", p->id, row->name, value, rte_strerror(-ret));
	return ret;
}

static enum tp_setting_when
mtu_needs(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	const struct app *app = ctx;

	return port_mtu_live(app, &app->port[at->port], (uint16_t)tp_setting_num(value)) ? TP_WHEN_LIVE : row->when;
}

/* A started port takes another one if its buffers have room for it. */
static int
set_mtu(struct app_port *p, const struct tp_setting *row, const char *value, char *err)
{
	const unsigned int v = (unsigned int)tp_setting_num(value);
	int ret = within(p, row, v, p->info.min_mtu, p->info.max_mtu, err);

	if (ret == 0)
		ret = refused(p, row, value, rte_eth_dev_set_mtu(p->id, (uint16_t)v), err);
	if (ret == 0)
		p->mtu = (uint16_t)v;
	return ret;
}

static int
set_count(const struct app *app, struct app_port *p, const struct tp_setting *row, const char *value, char *err)
{
	const struct rte_eth_dev_info *in = &p->info;
	const unsigned int v = (unsigned int)tp_setting_num(value);
	int ret = 0;

	if (row->id == MTU && p->started)
		return set_mtu(p, row, value, err);
	ret = port_check_stopped(app, p, err, TP_SETTING_ERR);
	if (ret != 0)
		return ret;
	switch (row->id) {
	case RX_QUEUES: ret = within(p, row, v, 1, in->max_rx_queues, err); break;
	case TX_QUEUES: ret = within(p, row, v, 1, in->max_tx_queues, err); break;
	case RX_RING: ret = within(p, row, v, in->rx_desc_lim.nb_min, in->rx_desc_lim.nb_max, err); break;
	case TX_RING: ret = within(p, row, v, in->tx_desc_lim.nb_min, in->tx_desc_lim.nb_max, err); break;
	default: ret = within(p, row, v, in->min_mtu, in->max_mtu, err); break;
	}
	if (ret != 0)
		return ret;
	*(row->id == RX_QUEUES   ? &p->rxq
	  : row->id == TX_QUEUES ? &p->txq
	  : row->id == RX_RING   ? &p->rxd
	  : row->id == TX_RING   ? &p->txd
				 : &p->mtu) = (uint16_t)v;
	p->dirty = true;
	return 0;
}

static int
set_taken(struct app_port *p, const struct tp_setting *row, const char *value, char *err)
{
	const bool on = tp_setting_on(value);
	int ret;

	if (row->id == ALLMULTI)
		ret = port_allmulti_put(p, on);
	else
		ret = port_promisc_put(p, on);
	if (ret == 0)
		*(row->id == ALLMULTI ? &p->allmulti : &p->promisc) = on;
	return refused(p, row, value, ret, err);
}

static int
set_forwarding(struct app *app, struct app_port *p, const struct tp_setting *row, const char *value, char *err)
{
	const uint64_t peer = tp_setting_num(value);

	if (app->fwd_runs)
		return setting_not_while_forwarding(err);
	switch (row->id) {
	case MODE: p->mode = (unsigned int)fwd_mode_by_name(value); return 0;
	case ETH_PEER: return rte_ether_unformat_addr(value, &p->eth_peer);
	case WORK: p->work = (uint32_t)tp_setting_num(value); return 0;
	case TX_CHOICE:
		p->tx_choice = 0;
		while (strcmp(tx_choices[p->tx_choice], value) != 0)
			p->tx_choice++;
		return 0;
	default: break;
	}
	if (!app->port[peer].present) {
		snprintf(err, TP_SETTING_ERR, "port %u: peer %s, want a port that is there", p->id, value);
		return -ENODEV;
	}
	p->peer = (uint16_t)peer;
	return 0;
}

/* Its packets take more buffers. */
static int
set_header_split(const struct app *app, struct app_port *p, const struct tp_setting *row, const char *value, char *err)
{
	int ret = port_check_stopped(app, p, err, TP_SETTING_ERR);

	if (ret != 0)
		return ret;
	p->dirty = true;
	return refused(p, row, value, rte_pmd_mlx4_header_split_set(p->id, tp_setting_on(value)), err);
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];

	switch (row->id) {
	case PROMISC:
	case ALLMULTI: return set_taken(p, row, value, err);
	case IGNORE_FCS: return refused(p, row, value, rte_pmd_mlx4_ignore_fcs_set(p->id, tp_setting_on(value)), err);
	case HEADER_SPLIT: return set_header_split(app, p, row, value, err);
	case WAKE_ON_LAN:
		return refused(p, row, value, rte_pmd_mlx4_wake_on_lan_set(p->id, strcmp(value, "magic") == 0), err);
	case MODE:
	case PEER:
	case ETH_PEER:
	case TX_CHOICE:
	case WORK: return set_forwarding(app, p, row, value, err);
	default: return set_count(app, p, row, value, err);
	}
}

static int
judge_mac(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct rte_ether_addr mac;

	if (rte_ether_unformat_addr(value, &mac) == 0) {
		rte_ether_format_addr(value, RTE_ETHER_ADDR_FMT_SIZE, &mac);
		return 0;
	}
	return setting_refuse(row, value, err);
}

/* --- offloads ------------------------------------------------------------------------------------------------ */

static const struct app_offload *
offload_of(const struct tp_setting *row)
{
	return row->id >= OFFLOAD_TX ? &app_tx_offloads[row->id - OFFLOAD_TX] : &app_rx_offloads[row->id];
}

static int
offload_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct app_port *p = &app->port[at->port];
	const bool tx = row->id >= OFFLOAD_TX;
	const uint64_t bit = offload_of(row)->bit;

	if (((tx ? p->info.tx_offload_capa : p->info.rx_offload_capa) & bit) == 0)
		return -ENOTSUP;
	snprintf(value, TP_SETTING_VALUE, "%s", ((tx ? p->tx_offloads : p->rx_offloads) & bit) != 0 ? "on" : "off");
	return 0;
}

/* Those of VLANs on a started port. */
static int
set_vlan(const struct app_port *p, uint64_t bit, bool on)
{
	const int flag =
		bit == RTE_ETH_RX_OFFLOAD_VLAN_STRIP ? RTE_ETH_VLAN_STRIP_OFFLOAD : RTE_ETH_VLAN_FILTER_OFFLOAD;
	const int mask = rte_eth_dev_get_vlan_offload(p->id);

	return mask < 0 ? mask : rte_eth_dev_set_vlan_offload(p->id, on ? mask | flag : mask & ~flag);
}

static int
offload_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];
	uint64_t *field = row->id >= OFFLOAD_TX ? &p->tx_offloads : &p->rx_offloads;
	const uint64_t bit = offload_of(row)->bit;
	const bool on = tp_setting_on(value), live = row->when == TP_WHEN_LIVE && p->started;
	int ret;

	if (live)
		ret = refused(p, row, value, set_vlan(p, bit, on), err);
	else
		ret = port_check_stopped(app, p, err, TP_SETTING_ERR);
	if (ret != 0)
		return ret;
	*field = on ? *field | bit : *field & ~bit;
	p->dirty |= !live;
	return live ? refused(p, row, value, port_vlans_put(p), err) : 0;
}

static int
offload_rows(struct app_settings *s)
{
	const unsigned int n = app_num_rx_offloads + app_num_tx_offloads;
	unsigned int i;

	s->offloads = calloc(n, sizeof(s->offloads[0]));
	if (s->offloads == NULL)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const bool tx = i >= app_num_rx_offloads;
		const struct app_offload *o = tx ? &app_tx_offloads[i - app_num_rx_offloads] : &app_rx_offloads[i];
		const uint64_t vlans = tx ? 0 : RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_FILTER;

		s->offloads[i] = (struct tp_setting){
			.name = o->setting,
			.vendor = o->vendor,
			.unit = "",
			.def = "off",
			.help = o->help,
			.scope = TP_SCOPE_PORT,
			.type = TP_SETTING_SWITCH,
			.when = (o->bit & vlans) != 0 ? TP_WHEN_LIVE : TP_WHEN_STOPPED,
			.get = offload_get,
			.set = offload_set,
			.id = tx ? OFFLOAD_TX + i - app_num_rx_offloads : i,
		};
	}
	return (int)n;
}

/* --- the table ----------------------------------------------------------------------------------------------- */

#define ROW(text, vendor_, unit_, type_, when_, def_, names_, lo, hi, id_, help_)                                      \
	{                                                                                                              \
		.name = text, .vendor = vendor_, .unit = unit_, .def = def_, .help = help_, .names = names_,           \
		.scope = TP_SCOPE_PORT, .type = type_, .when = when_, .min = lo, .max = hi, .get = get, .set = set,    \
		.id = id_                                                                                              \
	}
#define COUNT(text, vendor_, unit_, def_, lo, hi, id_, help_)                                                          \
	ROW(text, vendor_, unit_, TP_SETTING_NUMBER, TP_WHEN_STOPPED, def_, NULL, lo, hi, id_, help_)

static const struct tp_setting rows[] = {
	COUNT("rx-queues", "*NumRSSQueues", "queues", "1", 1, APP_MAX_QUEUES, RX_QUEUES,
	      "Receive queues; what no group takes is spread over them by RSS"),
	COUNT("tx-queues", "", "queues", "1", 1, APP_MAX_QUEUES, TX_QUEUES, "Transmit queues"),
	COUNT("rx-ring", "*ReceiveBuffers", "descriptors", "512", APP_RING_LEAST, APP_RING_MOST, RX_RING,
	      "Descriptors of each receive queue, rounded up to a power of two by the card"),
	COUNT("tx-ring", "*TransmitBuffers", "descriptors", "512", APP_RING_LEAST, APP_RING_MOST, TX_RING,
	      "Descriptors of each transmit queue"),
	{.name = "mtu",
	 .vendor = "*JumboPacket",
	 .unit = "octets",
	 .def = "1500",
	 .help = "Octets of a frame behind its 14 octets of header",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_NUMBER,
	 .when = TP_WHEN_STOPPED,
	 .min = APP_MTU_MIN,
	 .max = APP_MTU_MAX,
	 .get = get,
	 .set = set,
	 .id = MTU,
	 .needs = mtu_needs,
	 .needs_text = "live while it fits the buffers, else port stopped"},
	ROW("promiscuous", "", "", TP_SETTING_SWITCH, TP_WHEN_LIVE, "on", NULL, 0, 0, PROMISC, "Receives every frame"),
	ROW("all-multicast", "", "", TP_SETTING_SWITCH, TP_WHEN_LIVE, "off", NULL, 0, 0, ALLMULTI,
	    "Receives every multicast frame"),
	ROW("mode", "", "", TP_SETTING_CHOICE, TP_WHEN_IDLE, "io", NULL, 0, 0, MODE,
	    "What is done with received packets"),
	ROW("peer", "", "", TP_SETTING_NUMBER, TP_WHEN_IDLE, "", NULL, 0, RTE_MAX_ETHPORTS - 1, PEER,
	    "Port that packets go to; its default is what topology says"),
	{.name = "eth-peer",
	 .vendor = "",
	 .unit = "",
	 .def = "",
	 .help = "Destination of what mac, txonly and flowgen send; 02:00:00:00:00 and the port at first",
	 .names = "an address such as 02:00:00:00:00:01",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_IDLE,
	 .get = get,
	 .set = set,
	 .judge = judge_mac,
	 .id = ETH_PEER},
	ROW("work", "", "cycles", TP_SETTING_NUMBER, TP_WHEN_IDLE, "0", NULL, 0, 1000000, WORK,
	    "What each packet is made to cost more, as in an application"),
	ROW("tx-choice", "", "", TP_SETTING_CHOICE, TP_WHEN_IDLE, "off", "off|size|hash|both", 0, 0, TX_CHOICE,
	    "Transmit queue of a forwarded packet: apart below 128 octets, by a hash of destination and ports, or "
	    "both; "
	    "wants 2 queues for each receive queue of its peer"),
	ROW("ignore-fcs", "IgnoreFCS", "", TP_SETTING_SWITCH, TP_WHEN_LIVE, "off", NULL, 0, 0, IGNORE_FCS,
	    "Receives frames whose FCS is wrong, too; rx-keep-crc shows it"),
	ROW("wake-on-lan", "*WakeOnMagicPacket", "", TP_SETTING_CHOICE, TP_WHEN_LIVE, "off", "off|magic", 0, 0,
	    WAKE_ON_LAN, "Whether a magic packet wakes the host; kept by the card, where its firmware offers it"),
	ROW("header-split", "*HeaderDataSplit", "", TP_SETTING_SWITCH, TP_WHEN_STOPPED, "off", NULL, 0, 0, HEADER_SPLIT,
	    "Headers of TCP and UDP packets are received into a buffer of their own, payload into the next"),
};

int
settings_port_add(struct app *app)
{
	struct app_settings *s = app->settings;
	int ret = offload_rows(s);
	unsigned int i;

	if (ret < 0)
		return ret;
	s->offload = (struct tp_settings_table){.row = s->offloads, .num = (unsigned int)ret, .ctx = app};
	for (i = 0; i < fwd_num_modes; i++) {
		const size_t at = strlen(s->modes);

		snprintf(s->modes + at, sizeof(s->modes) - at, "%s%s", i == 0 ? "" : "|", fwd_modes[i].name);
	}
	RTE_BUILD_BUG_ON(sizeof(rows) > sizeof(s->ports));
	memcpy(s->ports, rows, sizeof(rows));
	s->ports[MODE].names = s->modes;
	s->port = (struct tp_settings_table){.row = s->ports, .num = RTE_DIM(rows), .ctx = app};
	ret = tp_settings_add(s->reg, &s->port);
	return ret != 0 ? ret : tp_settings_add(s->reg, &s->offload);
}
