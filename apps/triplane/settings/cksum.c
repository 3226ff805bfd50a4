/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of checksums by protocol: in which directions the offloads of a port are used. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/traffic/swap.h"
#include "settings.h"

#define TX 1u
#define RX 2u

static const char *const directions[] = {[0] = "off", [TX] = "tx", [RX] = "rx", [TX | RX] = "both"};

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct app_port *p = &app->port[at->port];
	const uint8_t sum = (uint8_t)row->id;

	if (swap_sums_of(sum, p->info.rx_offload_capa, p->info.tx_offload_capa) == 0)
		return -ENOTSUP;
	snprintf(value, TP_SETTING_VALUE, "%s",
		 directions[((p->sums_tx & sum) != 0 ? TX : 0) | ((p->sums_rx & sum) != 0 ? RX : 0)]);
	return 0;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];
	const uint8_t sum = (uint8_t)row->id;
	unsigned int want = 0;

	if (app->fwd_runs)
		return setting_not_while_forwarding(err);
	while (strcmp(directions[want], value) != 0)
		want++;
	p->sums_tx = want & TX ? p->sums_tx | sum : p->sums_tx & (uint8_t)~sum;
	p->sums_rx = want & RX ? p->sums_rx | sum : p->sums_rx & (uint8_t)~sum;
	return 0;
}

#define ROW(text, vendor_, id_, what)                                                                                  \
	{                                                                                                              \
		.name = text "-cksum", .vendor = vendor_, .unit = "", .def = "both",                                   \
		.help = "Directions in which csum leaves " what                                                        \
			" checksums to the device, where its offload (rx-, tx-) is on; else software makes them",      \
		.names = "off|tx|rx|both", .scope = TP_SCOPE_PORT, .type = TP_SETTING_CHOICE, .when = TP_WHEN_IDLE,    \
		.get = get, .set = set, .id = id_                                                                      \
	}

static const struct tp_setting rows[] = {
	ROW("ipv4", "*IPChecksumOffloadIPv4", SWAP_IPV4, "IPv4 header"),
	ROW("tcp4", "*TCPChecksumOffloadIPv4", SWAP_TCP4, "TCP over IPv4"),
	ROW("udp4", "*UDPChecksumOffloadIPv4", SWAP_UDP4, "UDP over IPv4"),
	ROW("tcp6", "*TCPChecksumOffloadIPv6", SWAP_TCP6, "TCP over IPv6"),
	ROW("udp6", "*UDPChecksumOffloadIPv6", SWAP_UDP6, "UDP over IPv6"),
};

int
settings_cksum_add(struct app *app)
{
	app->settings->cksum = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->cksum);
}
