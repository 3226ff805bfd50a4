/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The transmit half of an LLDP agent (IEEE 802.1AB-2016): the transmit state machine of 9.2.8, the transmit timer state
 * machine of 9.2.9. Counters that the standard decrements each second are kept as moments.
 */
#include <errno.h>
#include <string.h>

#include "lldp.h"

#define SEC_MS 1000u
#define CHASSIS_MAC 4
#define PORT_MAC 3
#define CAP_STATION 0x0080u /* 8.5.8.1: station only */

static const uint8_t nearest_bridge[6] = LLDP_NEAREST_BRIDGE;

void
tp_lldp_conf_default(struct tp_lldp_conf *c, const uint8_t mac[6])
{
	memset(c, 0, sizeof(*c));
	memcpy(c->mac, mac, 6);
	c->chassis.subtype = CHASSIS_MAC;
	c->port.subtype = PORT_MAC;
	c->chassis.len = c->port.len = 6;
	memcpy(c->chassis.value, mac, 6);
	memcpy(c->port.value, mac, 6);
	c->tx_interval_s = 30;
	c->tx_hold = 4;
	c->fast_interval_s = 1;
	c->fast_count = 4;
	c->credit_max = 5;
	c->reinit_s = 2;
}

static bool
in_range(unsigned int v, unsigned int min, unsigned int max)
{
	return v >= min && v <= max;
}

int
tp_lldp_init(struct tp_lldp *a, const struct tp_lldp_conf *c, const struct tp_lldp_client *client)
{
	if (c->chassis.len == 0 || c->port.len == 0 || !in_range(c->tx_interval_s, 1, 3600) ||
	    !in_range(c->tx_hold, 1, 100) || !in_range(c->fast_interval_s, 1, 3600) || !in_range(c->fast_count, 1, 8) ||
	    !in_range(c->credit_max, 1, 10) || !in_range(c->reinit_s, 1, 10) ||
	    memchr(c->port_desc, '\0', sizeof(c->port_desc)) == NULL ||
	    memchr(c->sys_name, '\0', sizeof(c->sys_name)) == NULL)
		return -EINVAL;
	memset(a, 0, sizeof(*a));
	a->conf = *c;
	if (client != NULL)
		a->client = *client;
	return 0;
}

static bool
may_send(const struct tp_lldp *a)
{
	return a->admin == TP_LLDP_RX_TX || a->admin == TP_LLDP_TX_ONLY;
}

void
tp_lldp_admin_set(struct tp_lldp *a, enum tp_lldp_admin admin)
{
	a->admin = admin;
	if (admin != TP_LLDP_RX_TX && admin != TP_LLDP_RX_ONLY)
		lldp_rx_forget(a);
}

void
tp_lldp_port_set(struct tp_lldp *a, bool enabled)
{
	a->port_enabled = enabled;
	if (!enabled)
		a->tx_state = TP_LLDP_TX_INITIALIZE;
}

void
tp_lldp_local_changed(struct tp_lldp *a)
{
	a->local_change = true;
}

static size_t
put_id(uint8_t *to, uint8_t type, const struct tp_lldp_id *id)
{
	uint8_t info[1 + TP_LLDP_ID_MAX];

	info[0] = id->subtype;
	memcpy(info + 1, id->value, id->len);
	return tp_lldp_tlv_put(to, 2 + sizeof(info), type, info, 1u + id->len);
}

/* mibConstrInfoLLDPDU, mibConstrShutdownLLDPDU: TTL 0 makes the latter (9.2.7.2, 9.2.7.3). */
static size_t
build(const struct tp_lldp *a, uint16_t ttl, uint8_t *frame)
{
	const uint8_t ttl_info[2] = {(uint8_t)(ttl >> 8), (uint8_t)ttl};
	const uint8_t caps[4] = {CAP_STATION >> 8, CAP_STATION & 0xff, CAP_STATION >> 8, CAP_STATION & 0xff};
	const size_t end = TP_LLDP_MAX_FRAME - 2; /* the End TLV has its place */
	size_t n;

	memcpy(frame, nearest_bridge, 6);
	memcpy(frame + 6, a->conf.mac, 6);
	frame[12] = TP_LLDP_ETHERTYPE >> 8;
	frame[13] = TP_LLDP_ETHERTYPE & 0xff;
	n = LLDP_ETH_LEN;
	n += put_id(frame + n, TP_LLDP_CHASSIS, &a->conf.chassis);
	n += put_id(frame + n, TP_LLDP_PORT, &a->conf.port);
	n += tp_lldp_tlv_put(frame + n, end - n, TP_LLDP_TTL, ttl_info, sizeof(ttl_info));
	if (ttl != 0) {
		const char *desc = a->conf.port_desc, *name = a->conf.sys_name;

		if (desc[0] != '\0')
			n += tp_lldp_tlv_put(frame + n, end - n, TP_LLDP_PORT_DESC, desc, strlen(desc));
		if (name[0] != '\0')
			n += tp_lldp_tlv_put(frame + n, end - n, TP_LLDP_SYS_NAME, name, strlen(name));
		n += tp_lldp_tlv_put(frame + n, end - n, TP_LLDP_CAPS, caps, sizeof(caps));
		if (a->client.build != NULL)
			n += a->client.build(a->client.arg, frame + n, end - n);
	}
	return n + tp_lldp_tlv_put(frame + n, 2, TP_LLDP_END, NULL, 0);
}

/* TX_TIMER_INITIALIZE, then at once TX_TIMER_EXPIRES by txTTR = 0. */
static void
timer_start(struct tp_lldp *a, uint64_t now)
{
	a->tx_state = TP_LLDP_TX_IDLE;
	a->tx_now = a->local_change = a->new_neighbour = false;
	a->fast = 0;
	a->credit = a->conf.credit_max;
	a->credit_ms = now;
	a->tx_due_ms = now;
}

static void
timer_signal(struct tp_lldp *a, uint64_t now)
{
	a->tx_now = true;
	a->local_change = false;
	a->tx_due_ms = now + (uint64_t)SEC_MS * (a->fast > 0 ? a->conf.fast_interval_s : a->conf.tx_interval_s);
}

static void
timer_expires(struct tp_lldp *a, uint64_t now)
{
	if (a->fast > 0)
		a->fast--;
	timer_signal(a, now);
}

static void
timer_run(struct tp_lldp *a, uint64_t now)
{
	uint64_t ticks = (now - a->credit_ms) / SEC_MS;

	a->credit_ms += ticks * SEC_MS;
	a->credit = ticks >= a->conf.credit_max ? a->conf.credit_max : (uint8_t)(a->credit + ticks);
	if (a->credit > a->conf.credit_max)
		a->credit = a->conf.credit_max;
	if (a->new_neighbour) { /* TX_FAST_START */
		a->new_neighbour = false;
		if (a->fast == 0)
			a->fast = a->conf.fast_count;
		timer_expires(a, now);
	}
	if (a->local_change)
		timer_signal(a, now);
	if (now >= a->tx_due_ms)
		timer_expires(a, now);
}

static size_t
send_info(struct tp_lldp *a, uint8_t *frame)
{
	uint32_t ttl = (uint32_t)a->conf.tx_interval_s * a->conf.tx_hold + 1; /* txTTL, 9.2.5.22 */

	a->credit--;
	a->tx_now = false;
	a->stats.tx_frames++;
	return build(a, (uint16_t)(ttl > UINT16_MAX ? UINT16_MAX : ttl), frame);
}

static size_t
send_shutdown(struct tp_lldp *a, uint64_t now, uint8_t *frame)
{
	a->tx_state = TP_LLDP_TX_SHUTDOWN;
	a->shutdown_until_ms = now + (uint64_t)SEC_MS * a->conf.reinit_s;
	a->stats.tx_frames++;
	return build(a, 0, frame);
}

size_t
tp_lldp_poll(struct tp_lldp *a, uint64_t now, uint8_t frame[TP_LLDP_MAX_FRAME])
{
	lldp_rx_age(a, now);
	if (!a->port_enabled)
		return 0;
	if (a->tx_state == TP_LLDP_TX_SHUTDOWN && now >= a->shutdown_until_ms)
		a->tx_state = TP_LLDP_TX_INITIALIZE;
	if (a->tx_state == TP_LLDP_TX_INITIALIZE && may_send(a))
		timer_start(a, now);
	if (a->tx_state != TP_LLDP_TX_IDLE)
		return 0;
	if (!may_send(a))
		return send_shutdown(a, now, frame);
	timer_run(a, now);
	return a->tx_now && a->credit > 0 ? send_info(a, frame) : 0;
}

static uint64_t
tx_next(const struct tp_lldp *a)
{
	if (!a->port_enabled)
		return TP_LLDP_NEVER;
	switch (a->tx_state) {
	case TP_LLDP_TX_INITIALIZE: return may_send(a) ? 0 : TP_LLDP_NEVER;
	case TP_LLDP_TX_SHUTDOWN: return a->shutdown_until_ms;
	case TP_LLDP_TX_IDLE: break;
	}
	if (!may_send(a) || a->local_change || a->new_neighbour)
		return 0;
	if (a->tx_now)
		return a->credit > 0 ? 0 : a->credit_ms + SEC_MS;
	return a->tx_due_ms;
}

uint64_t
tp_lldp_next(const struct tp_lldp *a)
{
	uint64_t tx = tx_next(a), rx = lldp_rx_next(a);

	return tx < rx ? tx : rx;
}
