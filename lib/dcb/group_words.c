/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The words of a group of queues. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qos_priv.h"

#define KEY_FIELD(field) WORD_AT(struct tp_group, field)

static int
mac_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	static const uint8_t none[6];
	struct tp_group *g = obj;
	uint8_t mac[6];
	unsigned int i;

	if (strcmp(value, "none") == 0) {
		memset(g->mac, 0, sizeof(g->mac));
		return 0;
	}
	for (i = 0; i < 18; i++)
		if (i % 3 == 2 ? value[i] != (i == 17 ? '\0' : ':') : !isxdigit((unsigned char)value[i]))
			return word_refuse(key, value, err);
	for (i = 0; i < 6; i++)
		mac[i] = (uint8_t)strtoul(value + 3 * i, NULL, 16);
	if ((mac[0] & 1) != 0 || memcmp(mac, none, sizeof(mac)) == 0)
		return word_refuse(key, value, err);
	memcpy(g->mac, mac, sizeof(mac));
	return 0;
}

static bool
mac_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	static const uint8_t none[6];
	const uint8_t *m = ((const struct tp_group *)obj)->mac;

	(void)key;
	if (memcmp(m, none, sizeof(none)) == 0)
		snprintf(buf, WORDS_VALUE_LEN, "none");
	else
		snprintf(buf, WORDS_VALUE_LEN, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
	return i == 0;
}

static const struct word_name rss_types[] = {
	{"ipv4", TP_RSS_IPV4}, {"tcp4", TP_RSS_TCP4}, {"udp4", TP_RSS_UDP4}, {"ipv6", TP_RSS_IPV6},
	{"tcp6", TP_RSS_TCP6}, {"udp6", TP_RSS_UDP6}, {"all", TP_RSS_ALL},   {NULL, 0},
};

static int
rss_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	char copy[WORDS_VALUE_LEN], *next = copy, *one;
	const struct word_name *t;
	uint32_t rss = 0;

	snprintf(copy, sizeof(copy), "%s", strcmp(value, "none") == 0 ? "" : value);
	while (next != NULL && copy[0] != '\0') {
		one = strsep(&next, ",");
		for (t = rss_types; t->name != NULL && strcmp(t->name, one) != 0; t++)
			;
		if (t->name == NULL)
			return word_refuse(key, value, err);
		rss |= (uint32_t)t->value;
	}
	if (value[0] == '\0')
		return word_refuse(key, value, err);
	((struct tp_group *)obj)->rss = rss;
	return 0;
}

static bool
rss_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const uint32_t rss = ((const struct tp_group *)obj)->rss;
	const struct word_name *t;

	(void)key;
	snprintf(buf, WORDS_VALUE_LEN, "%s", rss == TP_RSS_ALL ? "all" : rss == 0 ? "none" : "");
	for (t = rss_types; rss != TP_RSS_ALL && t->value != TP_RSS_ALL; t++) {
		if ((rss & (uint32_t)t->value) == 0)
			continue;
		strcat(buf, buf[0] == '\0' ? "" : ",");
		strcat(buf, t->name);
	}
	return i == 0;
}

static int
queues_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	struct tp_group *g = obj;
	uint16_t queue[TP_GROUP_QUEUES];
	int n = 0, i, k;

	if (strcmp(value, "none") != 0)
		n = word_list(value, key->min, key->max, queue, TP_GROUP_QUEUES);
	if (n < 0) {
		word_refuse(key, value, err);
		return n;
	}
	for (i = 0; i < n; i++) {
		for (k = 0; k < i; k++) {
			if (queue[i] != queue[k])
				continue;
			word_err(err, "queues: %u is named twice, want each once", queue[i]);
			return -EINVAL;
		}
	}
	memset(g->queue, 0, sizeof(g->queue));
	memcpy(g->queue, queue, (size_t)n * sizeof(queue[0]));
	g->num_queues = (uint16_t)n;
	return 0;
}

static bool
queues_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const struct tp_group *g = obj;

	(void)key;
	word_list_text(g->queue, g->num_queues > TP_GROUP_QUEUES ? TP_GROUP_QUEUES : g->num_queues, false, buf);
	if (g->num_queues == 0)
		snprintf(buf, WORDS_VALUE_LEN, "none");
	return i == 0;
}

static int
mempool_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	struct tp_group *g = obj;
	const size_t len = strlen(value);
	size_t i;

	for (i = 0; i < len; i++)
		if (!isgraph((unsigned char)value[i]) || value[i] == '#')
			return word_refuse(key, value, err);
	if (len >= sizeof(g->mempool))
		return word_refuse(key, value, err);
	memset(g->mempool, 0, sizeof(g->mempool));
	memcpy(g->mempool, value, len);
	return 0;
}

static bool
mempool_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const struct tp_group *g = obj;

	(void)key;
	snprintf(buf, WORDS_VALUE_LEN, "%.*s", (int)sizeof(g->mempool) - 1, g->mempool);
	return i == 0;
}

static int
types_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	uint16_t type[TP_ANTISPOOF_TYPES], all[2 * TP_ANTISPOOF_TYPES];
	struct tp_group *g = obj;
	unsigned int k;
	int n = 0, i;

	if (strcmp(value, "default") != 0)
		n = word_list(value, 0, UINT16_MAX, type, TP_ANTISPOOF_TYPES);
	if (n == -ENOSPC) {
		word_err(err, "ethertypes: '%.40s' has more entries than the table, want at most %u", value,
			 TP_ANTISPOOF_TYPES);
		return -ENOSPC;
	}
	for (i = 0; i < n; i++)
		if (!group_type_allowed(type[i]))
			n = -EINVAL;
	if (n < 0)
		return word_refuse(key, value, err);
	k = group_types_complete(type, (unsigned int)n, all);
	if (k > TP_ANTISPOOF_TYPES) {
		word_err(err, "ethertypes: %u entries, want at most %u; 0x8906 and 0x8914 come together", k,
			 TP_ANTISPOOF_TYPES);
		return -ENOSPC;
	}
	memset(g->type, 0, sizeof(g->type));
	memcpy(g->type, all, k * sizeof(all[0]));
	g->num_types = (uint8_t)k;
	return 0;
}

static bool
types_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const struct tp_group *g = obj;

	(void)key;
	word_list_text(g->type, g->num_types > TP_ANTISPOOF_TYPES ? TP_ANTISPOOF_TYPES : g->num_types, true, buf);
	if (g->num_types == 0)
		snprintf(buf, WORDS_VALUE_LEN, "default");
	return i == 0;
}

static const struct word_name vlans[] = {{"any", TP_VLAN_ANY}, {"none", TP_VLAN_NONE}, {NULL, 0}};
static const struct word_name any[] = {{"any", -1}, {NULL, 0}};
static const struct word_name none[] = {{"none", -1}, {NULL, 0}};
static const struct word_name trusts[] = {{"port", 0}, {"pcp", TP_TRUST_PCP}, {"dscp", TP_TRUST_DSCP}, {NULL, 0}};
static const struct word_name port_off_on[] = {{"port", -1}, {"off", 0}, {"on", 1}, {NULL, 0}};
static const struct word_name waits[] = {{"off", 0}, {"forever", 65535}, {NULL, 0}};

#define SWITCH .names = word_switch

static const struct word_key keys[] = {
	{"default", "", "", "off", "Takes what no other group takes; has no address", SWITCH, KEY_FIELD(is_default)},
	{"mac", "", "", "none", "Unicast destination address", "none or a unicast address such as 02:00:00:00:00:01",
	 .parse = mac_parse, .text = mac_text},
	{"vlan", "*VMQVlanFiltering", "", "any", "VLAN id; none: untagged only; any: the VLAN is not looked at",
	 .names = vlans, .max = 4095, KEY_FIELD(vlan)},
	{"rss", "*RSS", "", "none", "What is spread over the queues; none: all to the first",
	 "none, all or ipv4,tcp4,udp4,ipv6,tcp6,udp6", .parse = rss_parse, .text = rss_text},
	{"flood", "", "", "on", "Broadcast and multicast come too, to the first queue", SWITCH, KEY_FIELD(flood)},
	{"queues", "", "", "none", "Receive queues, and transmit queues of the same numbers",
	 "up to 64 such as 4-7,9 in 0..1023", .max = 1023, .parse = queues_parse, .text = queues_text},
	{"lcore", "*RssBaseProcNumber", "", "any", "Who polls the queues; any: the application decides", .names = any,
	 .max = GROUP_LCORE_MAX, .is_signed = true, KEY_FIELD(lcore)},
	{"mempool", "", "", "", "Name of the pool of the receive buffers; empty: that of the queue's set-up",
	 "up to 31 printable characters", .parse = mempool_parse, .text = mempool_text},
	{"lookahead", "*VMQLookaheadSplit", "octets", "0", "Header octets in a buffer of their own; 0: off",
	 .or_zero = true, .min = GROUP_LOOKAHEAD_MIN, .max = GROUP_LOOKAHEAD_MAX, KEY_FIELD(lookahead)},
	{"prio", "", "", "0", "Priority of transmitted frames", .max = TP_PRIOS - 1, KEY_FIELD(prio)},
	{"tc", "", "", "any", "Class that the priority must be in; any: as the port has it", .names = any,
	 .max = TP_TCS - 1, .is_signed = true, KEY_FIELD(tc)},
	{"dscp", "", "", "none", "DSCP that marks transmitted IP packets", .names = none, .max = TP_DSCPS - 1,
	 .is_signed = true, KEY_FIELD(dscp)},
	{"trust", "", "", "port", "Must equal the port's, of which there is one", .names = trusts, KEY_FIELD(trust)},
	{"pfc", "", "", "port", "Whether the port must have PFC on for the priority, or off", .names = port_off_on,
	 .is_signed = true, KEY_FIELD(pfc)},
	{"dropless", "DelayDropTimeout", "100 us", "off",
	 "How long frames wait for a receive buffer before drops begin", .names = waits, .max = GROUP_DROPLESS_MAX,
	 KEY_FIELD(delay_drop)},
	{"rate", "", "Mb/s", "0", "Transmit limit of each queue; 0: none", .max = QOS_MAX_RATE, KEY_FIELD(rate_mbps)},
	{"hol-lifetime", "TCHeadOfQueueLifeTimeLimit", "us", "0",
	 "Frames that wait longer at the head of the class are dropped; 0: as the port", .or_zero = true,
	 .min = QOS_HOL_MIN, .max = QOS_HOL_MAX, KEY_FIELD(hol_lifetime_us)},
	{"antispoof-mac", "", "", "off", "The source address of transmitted frames must be the group's", SWITCH,
	 KEY_FIELD(antispoof_mac)},
	{"antispoof-type", "", "", "off", "Only the Ethertypes of the table may be sent", SWITCH,
	 KEY_FIELD(antispoof_type)},
	{"ethertypes", "", "", "default",
	 "The table: default is IPv4, ARP, IPv6; 0 allows LLC; 0x8906 and 0x8914 come together",
	 "default or up to 8 of 0, 0x0600..0xffff", .max = UINT16_MAX, .parse = types_parse, .text = types_text},
};

#define NUM_KEYS (sizeof(keys) / sizeof(keys[0]))

int
tp_group_key(unsigned int i, struct tp_qos_key *key)
{
	return word_key_get(keys, NUM_KEYS, i, key);
}

void
tp_group_default(struct tp_group *g)
{
	memset(g, 0, sizeof(*g));
	words_default(keys, NUM_KEYS, g);
}

int
tp_group_word(struct tp_group *g, const char *word, char err[TP_ERR_LEN])
{
	struct tp_group copy;

	return words_take(keys, NUM_KEYS, g, &copy, sizeof(copy), word, err);
}

void
tp_group_print(const struct tp_group *g, bool all, FILE *out)
{
	struct tp_group def;

	tp_group_default(&def);
	words_print(keys, NUM_KEYS, g, &def, all, out);
}

void
tp_group_changes(const struct tp_group *was, const struct tp_group *is, tp_changed_fn changed, void *arg)
{
	words_changes(keys, NUM_KEYS, was, is, changed, arg);
}
