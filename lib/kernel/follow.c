/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * MTU, MAC address and link of both sides. Who changed since the last look wins, the port before the interface; what the port
 * refuses, the interface gets back.
 */
#include <errno.h>
#include <string.h>

#include <net/if.h>

#include "kernel_priv.h"

static void
told(struct tp_kernel *k, const char *what, const char *value, int ret)
{
	if (ret == 0) {
		TPK_LOG(NOTICE, "[kernel-followed] port %u: %s %s, as interface %s has it\n", k->port, what, value,
			k->name);
		return;
	}
	tpk_count(&k->count.refused, 1);
	TPK_LOG(WARNING,
		"[kernel-refused] port %u: %s %s of interface %s is not the port's (%s); the interface is set back\n",
		k->port, what, value, k->name, strerror(-ret));
}

static void
put_mtu(struct tp_kernel *k)
{
	int ret = tpk_link_mtu(k, k->mtu);

	if (ret != 0)
		TPK_LOG(ERR, "interface %s: MTU %u, as port %u has it: %s\n", k->name, k->mtu, k->port, strerror(-ret));
}

static void
follow_mtu(struct tp_kernel *k, const struct tpk_link *l)
{
	char value[16];
	uint16_t mtu;
	int ret;

	if (rte_eth_dev_get_mtu(k->port, &mtu) != 0)
		return;
	if (mtu != k->port_mtu) {
		k->port_mtu = k->mtu = mtu;
		if (l->mtu != mtu)
			put_mtu(k);
		return;
	}
	if (l->mtu == k->mtu)
		return;
	if (l->mtu > UINT16_MAX)
		ret = -EINVAL;
	else if (k->ops != NULL && k->ops->mtu != NULL)
		ret = k->ops->mtu(k->ops_arg, (uint16_t)l->mtu);
	else
		ret = rte_eth_dev_set_mtu(k->port, (uint16_t)l->mtu);
	if (ret == -EAGAIN) {
		k->look_soon = true;
		return;
	}
	snprintf(value, sizeof(value), "%u", l->mtu);
	told(k, "MTU", value, ret);
	if (ret == 0)
		k->port_mtu = k->mtu = (uint16_t)l->mtu;
	else
		put_mtu(k);
}

static void
take_mac(struct tp_kernel *k, const struct rte_ether_addr *mac)
{
	uint64_t word = 0;

	k->now = *mac;
	memcpy(&word, mac, sizeof(*mac));
	__atomic_store_n(&k->mac, word, __ATOMIC_RELAXED);
}

static void
put_mac(struct tp_kernel *k)
{
	int ret = tpk_tap_mac(k->tap, &k->now);

	if (ret != 0)
		TPK_LOG(ERR, "interface %s: MAC address " RTE_ETHER_ADDR_PRT_FMT ", as port %u has it: %s\n", k->name,
			RTE_ETHER_ADDR_BYTES(&k->now), k->port, strerror(-ret));
}

static void
follow_mac(struct tp_kernel *k, const struct tpk_link *l)
{
	char value[RTE_ETHER_ADDR_FMT_SIZE];
	struct rte_ether_addr mac = l->mac;
	int ret;

	if (rte_eth_macaddr_get(k->port, &mac) != 0)
		return;
	if (!rte_is_same_ether_addr(&mac, &k->port_mac)) {
		k->port_mac = mac;
		take_mac(k, &mac);
		if (!rte_is_same_ether_addr(&mac, &l->mac))
			put_mac(k);
		return;
	}
	if (rte_is_same_ether_addr(&l->mac, &k->now))
		return;
	mac = l->mac;
	ret = k->ops != NULL && k->ops->mac != NULL ? k->ops->mac(k->ops_arg, &mac)
						    : rte_eth_dev_default_mac_addr_set(k->port, &mac);
	if (ret == -EAGAIN) {
		k->look_soon = true;
		return;
	}
	rte_ether_format_addr(value, sizeof(value), &mac);
	told(k, "MAC address", value, ret);
	if (ret == 0) {
		k->port_mac = mac;
		take_mac(k, &mac);
	} else {
		put_mac(k);
	}
}

static void
put_how(struct tp_kernel *k, uint32_t bit, bool on)
{
	if (on)
		__atomic_fetch_or(&k->how, bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&k->how, ~bit, __ATOMIC_RELAXED);
}

static int
promiscuous(struct tp_kernel *k, bool on)
{
	if (k->ops != NULL && k->ops->promiscuous != NULL)
		return k->ops->promiscuous(k->ops_arg, on);
	if (on)
		k->was_promiscuous = rte_eth_promiscuous_get(k->port) == 1;
	else if (!k->was_promiscuous)
		return rte_eth_promiscuous_disable(k->port);
	return on ? rte_eth_promiscuous_enable(k->port) : 0;
}

static void
follow_flags(struct tp_kernel *k, const struct tpk_link *l)
{
	const bool all = l->promiscuity != 0, was = (k->how & TPK_ALL) != 0;

	put_how(k, TPK_DOWN, (l->flags & IFF_UP) == 0);
	if (all == was)
		return;
	if (promiscuous(k, all) == -EAGAIN)
		k->look_soon = true;
	else
		put_how(k, TPK_ALL, all);
}

static void
follow_link(struct tp_kernel *k)
{
	struct rte_eth_link link = {.link_status = RTE_ETH_LINK_DOWN};
	bool on = k->runs && rte_eth_link_get_nowait(k->port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;

	if (on == k->carrier)
		return;
	(void)tpk_tap_carrier(k->tap, on);
	__atomic_store_n(&k->carrier, on, __ATOMIC_RELAXED);
}

/* Somebody deleted it, or its namespace. */
static void
lost(struct tp_kernel *k)
{
	TPK_LOG(ERR, "interface %s of port %u was deleted\n", k->name, k->port);
	put_how(k, TPK_DOWN, true);
	tpk_link_close(k);
	__atomic_store_n(&k->carrier, false, __ATOMIC_RELAXED);
	__atomic_store_n(&k->gone, true, __ATOMIC_RELAXED);
}

/* Renamed, or in another namespace: it is looked for there. */
static bool
find(struct tp_kernel *k, struct tpk_link *l)
{
	char name[TP_KERNEL_NAME];

	if (k->ask >= 0 && tpk_tap_name(k->tap, name) == 0 && strcmp(name, k->name) == 0 && tpk_link_get(k, l) == 0)
		return true;
	if (tpk_link_open(k) != 0)
		return false;
	k->look_soon = tpk_link_get(k, l) != 0;
	return !k->look_soon;
}

void
tpk_follow(struct tp_kernel *k)
{
	char name[TP_KERNEL_NAME];
	struct tpk_link l;

	k->look_soon = false;
	if (k->gone)
		return;
	if (tpk_tap_name(k->tap, name) != 0) {
		lost(k);
		return;
	}
	if (find(k, &l)) {
		follow_mtu(k, &l);
		follow_mac(k, &l);
		follow_flags(k, &l);
	} else {
		/* It may be up. */
		put_how(k, TPK_DOWN, false);
	}
	follow_link(k);
}
