/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Addresses of IP behind the port, and whose they are. */
#include "core.h"

static struct ipoib_local *
local_find(struct ipoib_core *c, const uint8_t ip[16])
{
	unsigned int i;

	for (i = 0; c->num_locals != 0 && i < IPOIB_LOCALS; i++) {
		if (c->local[i].valid && memcmp(c->local[i].ip, ip, 16) == 0)
			return &c->local[i];
	}
	return NULL;
}

/* Addresses that say nothing about their owner's place. */
static bool
local_worth(const uint8_t ip[16])
{
	static const uint8_t zero[16], zero4[16] = {[10] = 0xff, [11] = 0xff};

	return memcmp(ip, zero, 16) != 0 && memcmp(ip, zero4, 16) != 0 && ip[0] != 0xff;
}

void
ipoib_local_seen(struct ipoib_core *c, const uint8_t ip[16], const struct rte_ether_addr *mac)
{
	struct ipoib_local *l = local_find(c, ip);
	unsigned int i;

	if (l == NULL) {
		if (!local_worth(ip) || !rte_is_valid_assigned_ether_addr(mac))
			return;
		for (i = 0; i < IPOIB_LOCALS && c->local[i].valid; i++)
			;
		if (i == IPOIB_LOCALS)
			return;
		l = &c->local[i];
		*l = (struct ipoib_local){.valid = true};
		memcpy(l->ip, ip, 16);
		c->num_locals++;
		c->dirty = true;
	}
	if (!rte_is_same_ether_addr(&l->mac, mac))
		c->dirty = true;
	l->mac = *mac;
	l->touched = 1;
}

void
ipoib_local_router(struct ipoib_core *c, const uint8_t ip[16], bool router)
{
	struct ipoib_local *l = local_find(c, ip);

	if (l != NULL)
		l->router = router;
}

const struct rte_ether_addr *
ipoib_local_mac(struct ipoib_core *c, const uint8_t ip[16])
{
	struct ipoib_local *l = local_find(c, ip);

	if (l == NULL)
		return &c->mac;
	l->touched = 1;
	return &l->mac;
}

bool
ipoib_local_has(const struct ipoib_core *c, const struct rte_ether_addr *mac)
{
	unsigned int i;

	if (rte_is_same_ether_addr(mac, &c->mac))
		return true;
	for (i = 0; c->num_locals != 0 && i < IPOIB_LOCALS; i++) {
		if (c->local[i].valid && rte_is_same_ether_addr(&c->local[i].mac, mac))
			return true;
	}
	return false;
}

void
ipoib_locals_age(struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_LOCALS; i++) {
		struct ipoib_local *l = &c->local[i];

		if (!l->valid)
			continue;
		l->idle = l->touched != 0 ? 0 : l->idle + 1;
		l->touched = 0;
		if (l->idle < c->conf.age)
			continue;
		l->valid = false;
		c->num_locals--;
		c->stats.aged++;
		c->dirty = true;
	}
}
