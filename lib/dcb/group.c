/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A group of queues as a whole: against the port, and beside the port's other groups. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "qos_priv.h"

#define ETHERTYPE_MIN 0x600u
#define TYPE_FCOE 0x8906u
#define TYPE_FIP 0x8914u

static const uint16_t default_types[] = {0x0800, 0x0806, 0x86dd};

bool
group_type_allowed(uint16_t type)
{
	return type == 0 || type >= ETHERTYPE_MIN;
}

/* FCoE does not start without its initialisation protocol, which has a type of its own. */
static uint16_t
partner(uint16_t type)
{
	return type == TYPE_FCOE ? TYPE_FIP : type == TYPE_FIP ? TYPE_FCOE : type;
}

static bool
has_type(const uint16_t *type, unsigned int n, uint16_t wanted)
{
	while (n > 0)
		if (type[--n] == wanted)
			return true;
	return false;
}

unsigned int
group_types_complete(const uint16_t *type, unsigned int n, uint16_t out[2 * TP_ANTISPOOF_TYPES])
{
	unsigned int i, k = 0;

	for (i = 0; i < n; i++) {
		if (!has_type(out, k, type[i]))
			out[k++] = type[i];
		if (!has_type(out, k, partner(type[i])))
			out[k++] = partner(type[i]);
	}
	return k;
}

unsigned int
tp_group_types(const struct tp_group *g, uint16_t type[TP_ANTISPOOF_TYPES])
{
	const unsigned int defaults = sizeof(default_types) / sizeof(default_types[0]);
	uint16_t all[2 * TP_ANTISPOOF_TYPES];
	unsigned int n = g->num_types > TP_ANTISPOOF_TYPES ? TP_ANTISPOOF_TYPES : g->num_types;

	n = n == 0 ? group_types_complete(default_types, defaults, all) : group_types_complete(g->type, n, all);
	n = n > TP_ANTISPOOF_TYPES ? TP_ANTISPOOF_TYPES : n;
	memcpy(type, all, n * sizeof(type[0]));
	return n;
}

int
tp_group_name(struct tp_group *g, const char *name, char err[TP_ERR_LEN])
{
	const size_t len = strlen(name);
	size_t i = 0;

	err[0] = '\0';
	while (i < len && (isalnum((unsigned char)name[i]) || name[i] == '-' || name[i] == '_'))
		i++;
	if (len == 0 || len >= TP_GROUP_NAME || i != len) {
		word_err(err, "name: '%.40s', want 1..%u letters, digits, '-', '_'", name, TP_GROUP_NAME - 1);
		return -EINVAL;
	}
	memset(g->name, 0, sizeof(g->name));
	memcpy(g->name, name, len);
	return 0;
}

static void
mac_text(const uint8_t *mac, char buf[18])
{
	snprintf(buf, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static int
check_address(const struct tp_group *g, char *err)
{
	static const uint8_t none[6];
	const bool zero = memcmp(g->mac, none, sizeof(none)) == 0;
	char mac[18];

	mac_text(g->mac, mac);
	if (g->is_default && !zero)
		word_err(err, "mac: %s, want none: the default group takes what no other group takes", mac);
	else if (g->is_default && g->vlan != TP_VLAN_ANY)
		word_err(err, "vlan: %u, want any in the default group", g->vlan);
	else if (!g->is_default && (zero || (g->mac[0] & 1) != 0))
		word_err(err, "mac: %s, want a unicast address other than zero, or default=on", mac);
	else if (g->vlan > 4095 && g->vlan != TP_VLAN_ANY && g->vlan != TP_VLAN_NONE)
		word_err(err, "vlan: %u, want any, none or 0..4095", g->vlan);
	else if ((g->rss & ~TP_RSS_ALL) != 0)
		word_err(err, "rss: 0x%x, want bits of 0x%x", g->rss, TP_RSS_ALL);
	else
		return 0;
	return -EINVAL;
}

static int
check_queues(const struct tp_group *g, const struct tp_qos_limits *lim, char *err)
{
	unsigned int i, k;

	if (g->num_queues == 0 || g->num_queues > TP_GROUP_QUEUES) {
		word_err(err, "queues: %u of them, want 1..%u", g->num_queues, TP_GROUP_QUEUES);
		return -EINVAL;
	}
	for (i = 0; i < g->num_queues; i++) {
		if (lim->max_rx_queues == 0 || g->queue[i] >= lim->max_rx_queues) {
			word_err(err, "queues: %u, want below %u, the port's receive queues", g->queue[i],
				 lim->max_rx_queues);
			return -EINVAL;
		}
		for (k = 0; k < i; k++) {
			if (g->queue[k] != g->queue[i])
				continue;
			word_err(err, "queues: %u is named twice, want each once", g->queue[i]);
			return -EINVAL;
		}
	}
	if (g->lcore < -1 || g->lcore > (int)GROUP_LCORE_MAX) {
		word_err(err, "lcore: %d, want any or 0..%u", g->lcore, GROUP_LCORE_MAX);
		return -EINVAL;
	}
	if (memchr(g->mempool, '\0', sizeof(g->mempool)) == NULL) {
		word_err(err, "mempool: a name without end, want at most %zu characters", sizeof(g->mempool) - 1);
		return -EINVAL;
	}
	return qos_check_range("lookahead", g->lookahead, true, GROUP_LOOKAHEAD_MIN, GROUP_LOOKAHEAD_MAX, "octets",
			       err);
}

static int
check_class(const struct tp_group *g, const struct tp_qos_port *q, const struct tp_qos_limits *lim, char *err)
{
	int ret = qos_check_range("prio", g->prio, false, 0, TP_PRIOS - 1, "", err);

	if (ret != 0)
		return ret;
	if (g->tc < -1 || g->tc >= (int)lim->max_tc)
		word_err(err, "tc: %d, want any or 0..%u", g->tc, lim->max_tc - 1);
	else if (g->tc >= 0 && (unsigned int)g->tc != q->prio_tc[g->prio])
		word_err(err, "tc: %d, want any or %u: the port has priority %u there", g->tc, q->prio_tc[g->prio],
			 g->prio);
	else if (g->dscp < -1 || g->dscp >= TP_DSCPS)
		word_err(err, "dscp: %d, want none or 0..%u", g->dscp, TP_DSCPS - 1);
	else if (g->trust > TP_TRUST_DSCP)
		word_err(err, "trust: %u, want 0 (port), 1 (pcp) or 2 (dscp)", g->trust);
	else if (g->trust != 0 && g->trust != q->trust)
		word_err(err, "trust: %s, want port or %s: a port has one for all groups",
			 g->trust == TP_TRUST_PCP ? "pcp" : "dscp", q->trust == TP_TRUST_PCP ? "pcp" : "dscp");
	else
		return 0;
	return -EINVAL;
}

/* What waits for a receive buffer needs somebody who stops the sender, else it stands in the way of the others. */
static int
check_lossless(const struct tp_group *g, const struct tp_qos_port *q, const struct tp_qos_limits *lim, char *err)
{
	const bool pfc = ((q->rx_pfc | q->tx_pfc) >> g->prio & 1) != 0;

	if (g->pfc < -1 || g->pfc > 1)
		word_err(err, "pfc: %d, want -1 (port), 0 (off) or 1 (on)", g->pfc);
	else if (g->pfc == 1 && !pfc)
		word_err(err, "pfc: on, want port or off: the port has no PFC on priority %u, a lossy one", g->prio);
	else if (g->pfc == 0 && pfc)
		word_err(err, "pfc: off, want port or on: the port has PFC on priority %u", g->prio);
	else if (g->delay_drop > GROUP_DROPLESS_MAX)
		word_err(err, "dropless: %u, want 0..%u units of 100 us", g->delay_drop, GROUP_DROPLESS_MAX);
	else if (g->delay_drop != 0 && (g->pfc == 0 || (q->tx_pfc != 0 && (q->tx_pfc >> g->prio & 1) == 0)))
		word_err(err, "dropless: %u, want 0 or tx-pfc on priority %u, which is lossy", g->delay_drop, g->prio);
	else if (g->delay_drop == 0 || lim->delay_drop)
		return 0;
	else {
		word_err(err,
			 "dropless: %u, want 0: the port's queues cannot wait (firmware from 2.31.5050, no InfiniBand "
			 "port)",
			 g->delay_drop);
		return -ENOTSUP;
	}
	return -EINVAL;
}

static int
check_antispoof(const struct tp_group *g, char *err)
{
	uint16_t all[2 * TP_ANTISPOOF_TYPES];
	unsigned int i, n;

	if (g->antispoof_mac && g->is_default) {
		word_err(err, "antispoof-mac: on, want off: the default group has no address");
		return -EINVAL;
	}
	n = g->num_types > TP_ANTISPOOF_TYPES ? g->num_types : group_types_complete(g->type, g->num_types, all);
	if (n > TP_ANTISPOOF_TYPES) {
		word_err(err, "ethertypes: %u entries, want at most %u; 0x8906 and 0x8914 come together", n,
			 TP_ANTISPOOF_TYPES);
		return -EINVAL;
	}
	for (i = 0; i < g->num_types; i++) {
		if (!group_type_allowed(g->type[i])) {
			word_err(err, "ethertypes: 0x%04x, want 0 (LLC) or 0x0600..0xffff", g->type[i]);
			return -EINVAL;
		}
		if (has_type(g->type, i, g->type[i])) {
			word_err(err, "ethertypes: 0x%04x is named twice, want each once", g->type[i]);
			return -EINVAL;
		}
	}
	return 0;
}

int
tp_group_check(const struct tp_group *g, const struct tp_qos_port *q, const struct tp_qos_limits *lim,
	       char err[TP_ERR_LEN])
{
	char name[TP_GROUP_NAME + 1] = "";
	struct tp_group scratch;
	int ret;

	memcpy(name, g->name, TP_GROUP_NAME);
	ret = tp_group_name(&scratch, name, err);
	if (ret == 0)
		ret = check_address(g, err);
	if (ret == 0)
		ret = check_queues(g, lim, err);
	if (ret == 0)
		ret = check_class(g, q, lim, err);
	if (ret == 0)
		ret = check_lossless(g, q, lim, err);
	if (ret == 0)
		ret = qos_check_rate("rate", g->rate_mbps, lim, err);
	if (ret == 0)
		ret = qos_check_range("hol-lifetime", g->hol_lifetime_us, true, QOS_HOL_MIN, QOS_HOL_MAX, "us", err);
	return ret != 0 ? ret : check_antispoof(g, err);
}

static int
check_beside(const struct tp_group *g, const struct tp_group *o, char *err)
{
	unsigned int i, k;
	char mac[18];

	if (strcmp(g->name, o->name) == 0) {
		word_err(err, "name: '%s' is taken, want one that no group of the port has", g->name);
		return -EEXIST;
	}
	if (g->is_default && o->is_default) {
		word_err(err, "default: on, want off: group '%s' is the default", o->name);
		return -EEXIST;
	}
	if (!g->is_default && !o->is_default && memcmp(g->mac, o->mac, sizeof(g->mac)) == 0 && g->vlan == o->vlan) {
		mac_text(g->mac, mac);
		word_err(err, "mac: %s with this vlan is group '%s', want another: one address is one group", mac,
			 o->name);
		return -EEXIST;
	}
	for (i = 0; i < g->num_queues; i++) {
		for (k = 0; k < o->num_queues; k++) {
			if (g->queue[i] != o->queue[k])
				continue;
			word_err(err, "queues: %u belongs to group '%s', want one that no group has", g->queue[i],
				 o->name);
			return -EBUSY;
		}
	}
	return 0;
}

int
tp_group_check_others(const struct tp_group *g, const struct tp_group *const others[], unsigned int n,
		      const struct tp_qos_limits *lim, char err[TP_ERR_LEN])
{
	unsigned int i;
	int ret = 0;

	err[0] = '\0';
	for (i = 0; i < n && ret == 0; i++)
		ret = check_beside(g, others[i], err);
	if (ret == 0 && n >= lim->max_groups) {
		word_err(err, "group '%s' is number %u, want at most %u on a port", g->name, n + 1, lim->max_groups);
		return -ENOSPC;
	}
	return ret;
}
