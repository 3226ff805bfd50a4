/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The address table: as many entries as the settings say, chained by hash, and a sweep that frees what is old. */
#include <errno.h>
#include <stdlib.h>

#include "switch.h"

#define PS_PER_S UINT64_C(1000000000000)
#define SWEEPS_PER_AGE 8u

int
sw_mac_init(struct sw_mac_table *t, uint32_t size)
{
	uint32_t buckets = 16;

	while (buckets < size)
		buckets *= 2;
	t->entry = calloc(size, sizeof(*t->entry));
	t->bucket = malloc(buckets * sizeof(*t->bucket));
	if (t->entry == NULL || t->bucket == NULL) {
		sw_mac_fini(t);
		return -ENOMEM;
	}
	t->size = size;
	t->mask = buckets - 1;
	t->sweep_ps = 0;
	memset(t->bucket, 0xff, buckets * sizeof(*t->bucket));
	for (uint32_t i = 0; i < size; i++)
		t->entry[i].next = i + 1 < size ? i + 1 : SW_MAC_NONE;
	t->free = 0;
	return 0;
}

void
sw_mac_fini(struct sw_mac_table *t)
{
	free(t->entry);
	free(t->bucket);
	t->entry = NULL;
	t->bucket = NULL;
}

static uint32_t *
bucket(struct sw_mac_table *t, uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return &t->bucket[(uint32_t)(key >> 40) & t->mask];
}

static bool
too_old(const struct tp_switch *sw, const struct sw_mac *e)
{
	return !e->fixed && sw->now_ps - e->seen_ps >= sw->cfg.mac_age_s * PS_PER_S;
}

/* The link to the entry, or to the end of its chain. */
static uint32_t *
find(struct sw_mac_table *t, uint64_t key)
{
	uint32_t *at = bucket(t, key);

	while (*at != SW_MAC_NONE && t->entry[*at].key != key)
		at = &t->entry[*at].next;
	return at;
}

static void
release(struct tp_switch *sw, uint32_t *at)
{
	struct sw_mac_table *t = &sw->macs;
	uint32_t i = *at;

	*at = t->entry[i].next;
	t->entry[i].next = t->free;
	t->free = i;
	sw->st.macs--;
}

/* NULL when the table is full. */
static struct sw_mac *
insert(struct tp_switch *sw, uint32_t *at, uint64_t key)
{
	struct sw_mac_table *t = &sw->macs;
	uint32_t i = t->free;

	if (i == SW_MAC_NONE)
		return NULL;
	t->free = t->entry[i].next;
	t->entry[i] = (struct sw_mac){.key = key, .next = SW_MAC_NONE};
	*at = i;
	sw->st.macs++;
	return &t->entry[i];
}

void
sw_mac_learn(struct tp_switch *sw, uint64_t key, unsigned int index)
{
	uint32_t *at = find(&sw->macs, key);
	uint64_t port = UINT64_C(1) << index;
	struct sw_mac *e;

	if (*at != SW_MAC_NONE) {
		e = &sw->macs.entry[*at];
		if (e->fixed)
			return;
		if (e->ports != port) {
			e->ports = port;
			sw->st.moved++;
		}
		e->seen_ps = sw->now_ps;
		return;
	}
	e = insert(sw, at, key);
	if (e == NULL) {
		sw->st.not_learnt++;
		return;
	}
	e->ports = port;
	e->seen_ps = sw->now_ps;
	sw->st.learnt++;
}

uint64_t
sw_mac_find(struct tp_switch *sw, uint64_t key)
{
	uint32_t *at = find(&sw->macs, key);

	if (*at == SW_MAC_NONE)
		return 0;
	if (too_old(sw, &sw->macs.entry[*at])) {
		release(sw, at);
		sw->st.aged++;
		return 0;
	}
	return sw->macs.entry[*at].ports;
}

void
sw_mac_age(struct tp_switch *sw)
{
	struct sw_mac_table *t = &sw->macs;

	t->sweep_ps = sw->now_ps + sw->cfg.mac_age_s * PS_PER_S / SWEEPS_PER_AGE;
	if (sw->st.macs == 0)
		return;
	for (uint32_t b = 0; b <= t->mask; b++)
		for (uint32_t *at = &t->bucket[b]; *at != SW_MAC_NONE;) {
			if (!too_old(sw, &t->entry[*at])) {
				at = &t->entry[*at].next;
				continue;
			}
			release(sw, at);
			sw->st.aged++;
		}
}

void
sw_mac_forget(struct tp_switch *sw, unsigned int index, bool fixed)
{
	struct sw_mac_table *t = &sw->macs;
	uint64_t port = UINT64_C(1) << index;

	for (uint32_t b = 0; sw->st.macs != 0 && b <= t->mask; b++)
		for (uint32_t *at = &t->bucket[b]; *at != SW_MAC_NONE;) {
			struct sw_mac *e = &t->entry[*at];

			if ((e->ports & port) == 0 || (e->fixed && !fixed)) {
				at = &e->next;
				continue;
			}
			e->ports &= ~port;
			if (e->ports == 0)
				release(sw, at);
			else
				at = &e->next;
		}
}

int
tp_switch_mac_static(struct tp_switch *sw, uint16_t vid, const uint8_t mac[6], uint64_t ports)
{
	uint64_t key = sw_mac_key(vid, sw_load48(mac)), there = 0;
	struct sw_mac *e = NULL;
	uint32_t *at;
	int rc = 0;

	if (vid >= 4096)
		return -EINVAL;
	pthread_mutex_lock(&sw->lock);
	for (unsigned int i = 0; i < TP_SWITCH_PORTS; i++)
		there |= sw->port[i] != NULL ? UINT64_C(1) << i : 0;
	at = find(&sw->macs, key);
	if (*at != SW_MAC_NONE)
		e = &sw->macs.entry[*at];
	if ((ports & ~there) != 0) {
		rc = -EINVAL;
	} else if (ports == 0) {
		if (e != NULL && e->fixed)
			release(sw, at);
		else
			rc = -ENOENT;
	} else {
		if (e == NULL)
			e = insert(sw, at, key);
		if (e != NULL) {
			e->fixed = true;
			e->ports = ports;
		} else {
			rc = -ENOSPC;
		}
	}
	pthread_mutex_unlock(&sw->lock);
	return rc;
}

uint64_t
tp_switch_mac_lookup(struct tp_switch *sw, uint16_t vid, const uint8_t mac[6])
{
	uint64_t ports;

	pthread_mutex_lock(&sw->lock);
	ports = sw_mac_find(sw, sw_mac_key(vid, sw_load48(mac)));
	pthread_mutex_unlock(&sw->lock);
	return ports;
}
