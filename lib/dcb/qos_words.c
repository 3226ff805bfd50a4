/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The words of a port's quality of service. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qos_priv.h"

#define KEY_FIELD(field) WORD_AT(struct tp_qos_port, field)

/* --- lists of priorities --- */

static int
mask_parse(const struct word_key *key, const char *value, uint8_t *mask, char *err)
{
	uint16_t prio[TP_PRIOS];
	int i, n = 0;

	*mask = strcmp(value, "all") == 0 ? 0xff : 0;
	if (*mask == 0 && strcmp(value, "none") != 0)
		n = word_list(value, 0, TP_PRIOS - 1, prio, TP_PRIOS);
	if (n < 0)
		return word_refuse(key, value, err);
	for (i = 0; i < n; i++)
		*mask |= (uint8_t)(1u << prio[i]);
	return 0;
}

static int
pfc_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	return mask_parse(key, value, (uint8_t *)obj + key->offset, err);
}

static bool
pfc_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const uint8_t mask = *((const uint8_t *)obj + key->offset);
	uint16_t prio[TP_PRIOS];
	unsigned int p, n = 0;

	for (p = 0; p < TP_PRIOS; p++)
		if ((mask >> p & 1) != 0)
			prio[n++] = (uint16_t)p;
	word_list_text(prio, n, false, buf);
	if (n == 0 || n == TP_PRIOS)
		snprintf(buf, WORDS_VALUE_LEN, "%s", n == 0 ? "none" : "all");
	return i == 0;
}

/* --- one number a priority --- */

static int
eight_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	uint8_t *at = (uint8_t *)obj + key->offset;
	uint16_t v[TP_PRIOS];
	unsigned int i;

	if (word_list(value, key->min, key->max, v, TP_PRIOS) != TP_PRIOS)
		return word_refuse(key, value, err);
	for (i = 0; i < TP_PRIOS; i++)
		at[i] = (uint8_t)v[i];
	return 0;
}

static bool
eight_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const uint8_t *at = (const uint8_t *)obj + key->offset;

	snprintf(buf, WORDS_VALUE_LEN, "%u,%u,%u,%u,%u,%u,%u,%u", at[0], at[1], at[2], at[3], at[4], at[5], at[6],
		 at[7]);
	return i == 0;
}

/* --- words that set two keys at once; what they set is printed by those --- */

static bool
no_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	(void)obj, (void)key, (void)i, (void)buf;
	return false;
}

static int
pause_both_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	const bool on = strcmp(value, "on") == 0 || strcmp(value, "1") == 0;
	struct tp_qos_port *q = obj;

	if (!on && strcmp(value, "off") != 0 && strcmp(value, "0") != 0)
		return word_refuse(key, value, err);
	q->rx_pause = q->tx_pause = on;
	return 0;
}

static int
pfc_both_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	struct tp_qos_port *q = obj;
	uint8_t mask;
	int ret = mask_parse(key, value, &mask, err);

	if (ret == 0)
		q->rx_pfc = q->tx_pfc = mask;
	return ret;
}

/* --- classes --- */

/* Cuts "A:B:C" at the colons into at most max parts. Returns their number, 0: too many or too long. */
static unsigned int
cut(const char *value, char *copy, char *part[], unsigned int max)
{
	unsigned int n = 0;
	char *next = copy;

	snprintf(copy, WORDS_VALUE_LEN, "%s", value);
	while (next != NULL) {
		if (n == max)
			return 0;
		part[n++] = next;
		next = strchr(next, ':');
		if (next != NULL)
			*next++ = '\0';
	}
	return n;
}

static bool
number_in(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	return word_number(text, out) == 0 && *out >= min && *out <= max;
}

static int
tc_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	struct tp_qos_port *q = obj;
	char copy[WORDS_VALUE_LEN], *part[3];
	unsigned int n = cut(value, copy, part, 3);
	uint16_t tc[TP_TCS];
	uint32_t share = 0;
	int i, num;
	bool ets;

	num = n < 2 ? -EINVAL : word_list(part[0], 0, TP_TCS - 1, tc, TP_TCS);
	if (num < 0)
		return word_refuse(key, value, err);
	ets = strcmp(part[1], "ets") == 0;
	if (!ets && strcmp(part[1], "strict") != 0)
		return word_refuse(key, value, err);
	if (n != (ets ? 3 : 2) || (ets && !number_in(part[2], 0, 100, &share)))
		return word_refuse(key, value, err);
	for (i = 0; i < num; i++) {
		q->tc[tc[i]].tsa = ets ? TP_TSA_ETS : TP_TSA_STRICT;
		q->tc[tc[i]].bw_pct = (uint8_t)share;
	}
	return 0;
}

static bool
tc_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const struct tp_qos_port *q = obj;

	(void)key;
	if (i >= TP_TCS)
		return false;
	if (q->tc[i].tsa == TP_TSA_ETS)
		snprintf(buf, WORDS_VALUE_LEN, "%u:ets:%u", i, q->tc[i].bw_pct);
	else
		snprintf(buf, WORDS_VALUE_LEN, "%u:strict", i);
	return true;
}

/* Shares of class 0, 1, ... in turn; classes that are not named stay. */
static int
shares_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	char copy[WORDS_VALUE_LEN], *next = copy, *one;
	struct tp_qos_port *q = obj;
	uint32_t share;
	unsigned int i;

	snprintf(copy, sizeof(copy), "%s", value);
	for (i = 0; next != NULL; i++) {
		one = strsep(&next, ",");
		share = 0;
		if (i == TP_TCS || (strcmp(one, "strict") != 0 && !number_in(one, 0, 100, &share)))
			return word_refuse(key, value, err);
		q->tc[i].tsa = strcmp(one, "strict") == 0 ? TP_TSA_STRICT : TP_TSA_ETS;
		q->tc[i].bw_pct = (uint8_t)share;
	}
	return 0;
}

static int
rate_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	struct tp_qos_port *q = obj;
	char copy[WORDS_VALUE_LEN], *part[2];
	uint16_t tc[TP_TCS];
	int i, num = -EINVAL;
	uint32_t rate;

	if (cut(value, copy, part, 2) == 2)
		num = word_list(part[0], 0, TP_TCS - 1, tc, TP_TCS);
	if (num < 0 || !number_in(part[1], 0, QOS_MAX_RATE, &rate))
		return word_refuse(key, value, err);
	for (i = 0; i < num; i++)
		q->tc[tc[i]].rate_mbps = rate;
	return 0;
}

static bool
rate_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const struct tp_qos_port *q = obj;

	(void)key;
	if (i >= TP_TCS)
		return false;
	snprintf(buf, WORDS_VALUE_LEN, "%u:%u", i, q->tc[i].rate_mbps);
	return true;
}

/* --- the default priority: an illegal value is not refused, it falls back --- */

static int
untagged_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	struct tp_qos_port *q = obj;
	uint32_t prio;

	if (number_in(value, key->min, key->max, &prio)) {
		q->untagged_prio = (uint8_t)prio;
		return 0;
	}
	q->untagged_prio = 0;
	word_err(err, "%s: '%.40s' is not in %u..%u, the default %s is taken", key->name, value, key->min, key->max,
		 key->def);
	return 0;
}

static bool
untagged_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	(void)key;
	snprintf(buf, WORDS_VALUE_LEN, "%u", ((const struct tp_qos_port *)obj)->untagged_prio);
	return i == 0;
}

/* --- rules --- */

static const struct {
	const char *name;
	uint8_t any, ports; /* enum tp_qos_match; ports 0: has none */
} matches[] = {
	{"default", TP_MATCH_DEFAULT, 0},
	{"tcp", TP_MATCH_TCP, TP_MATCH_TCP_PORT},
	{"udp", TP_MATCH_UDP, TP_MATCH_UDP_PORT},
	{"rdma", TP_MATCH_RDMA, TP_MATCH_RDMA},
};

#define NUM_MATCHES (sizeof(matches) / sizeof(matches[0]))

/* "*", "4791" or "4791-4800" */
static bool
ports_parse(char *text, struct tp_qos_rule *r)
{
	char *dash = strchr(text, '-');
	uint32_t lo, hi;

	if (strcmp(text, "*") == 0) {
		r->lo = r->match == TP_MATCH_RDMA ? 1 : 0;
		r->hi = r->match == TP_MATCH_RDMA ? UINT16_MAX : 0;
		return true;
	}
	if (dash != NULL)
		*dash++ = '\0';
	if (!number_in(text, 1, UINT16_MAX, &lo) || !number_in(dash == NULL ? text : dash, lo, UINT16_MAX, &hi))
		return false;
	r->lo = (uint16_t)lo;
	r->hi = (uint16_t)hi;
	return true;
}

static bool
rule_parse(const char *value, struct tp_qos_rule *r)
{
	char copy[WORDS_VALUE_LEN], *part[4];
	unsigned int i, n = cut(value, copy, part, 4);
	uint32_t prio, dscp;

	memset(r, 0, sizeof(*r));
	for (i = 0; n >= 3 && i < NUM_MATCHES && strcmp(matches[i].name, part[0]) != 0; i++)
		;
	if (n < 3 || i == NUM_MATCHES)
		return false;
	r->match = strcmp(part[1], "*") == 0 ? matches[i].any : matches[i].ports;
	if ((r->match == TP_MATCH_DEFAULT && strcmp(part[1], "*") != 0) || !ports_parse(part[1], r) ||
	    !number_in(part[2], 0, TP_PRIOS - 1, &prio))
		return false;
	r->prio = (uint8_t)prio;
	r->dscp = -1;
	if (n == 3)
		return true;
	if (!number_in(part[3], 0, TP_DSCPS - 1, &dscp))
		return false;
	r->dscp = (int8_t)dscp;
	return true;
}

static int
rules_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	struct tp_qos_port *q = obj;
	struct tp_qos_rule rule;

	if (strcmp(value, "none") == 0) {
		memset(q->rule, 0, sizeof(q->rule));
		q->num_rules = 0;
		return 0;
	}
	if (!rule_parse(value, &rule))
		return word_refuse(key, value, err);
	if (q->num_rules >= TP_QOS_RULES) {
		word_err(err, "rule: '%.40s' is number %u, want at most %u", value, q->num_rules + 1, TP_QOS_RULES);
		return -ENOSPC;
	}
	q->rule[q->num_rules++] = rule;
	return 0;
}

static bool
rules_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const struct tp_qos_port *q = obj;
	const struct tp_qos_rule *r = &q->rule[i];
	char ports[16] = "*";
	unsigned int m;

	(void)key;
	if (q->num_rules == 0)
		snprintf(buf, WORDS_VALUE_LEN, "none");
	if (i >= q->num_rules)
		return i == 0;
	for (m = 0; m + 1 < NUM_MATCHES && matches[m].any != r->match && matches[m].ports != r->match; m++)
		;
	if (r->match >= TP_MATCH_TCP_PORT)
		snprintf(ports, sizeof(ports), r->lo == r->hi ? "%u" : "%u-%u", r->lo, r->hi);
	if (r->dscp >= 0)
		snprintf(buf, WORDS_VALUE_LEN, "%s:%s:%u:%d", matches[m].name, ports, r->prio, r->dscp);
	else
		snprintf(buf, WORDS_VALUE_LEN, "%s:%s:%u", matches[m].name, ports, r->prio);
	return true;
}

/* --- the table --- */

#define PRIO_LIST "none, all or priorities such as 3,4 in 0..7"
#define SWITCH .names = word_switch

static const struct word_name trusts[] = {{"pcp", TP_TRUST_PCP}, {"dscp", TP_TRUST_DSCP}, {NULL, 0}};

static const struct word_name taggings[] = {
	{"none", 0}, {"priority", TP_TAG_PRIO}, {"vlan", TP_TAG_VLAN}, {"both", TP_TAG_PRIO | TP_TAG_VLAN}, {NULL, 0},
};

static const struct word_key keys[] = {
	{"pause", "*FlowControl", "", "", "rx-pause and tx-pause together", SWITCH, .parse = pause_both_parse,
	 .text = no_text},
	{"rx-pause", "", "", "off", "Pause frames (802.3x) stop the transmitter", SWITCH, KEY_FIELD(rx_pause)},
	{"tx-pause", "", "", "off", "A full receive buffer sends pause frames", SWITCH, KEY_FIELD(tx_pause)},
	{"pfc", "", "", "", "rx-pfc and tx-pfc together", PRIO_LIST, .max = TP_PRIOS - 1, .parse = pfc_both_parse,
	 .text = no_text},
	{"rx-pfc", "PerPriTxPause", "", "none", "Priorities whose pause frames (802.1Qbb) stop the transmitter",
	 PRIO_LIST, .max = TP_PRIOS - 1, .parse = pfc_parse, .text = pfc_text, KEY_FIELD(rx_pfc)},
	{"tx-pfc", "PerPriRxPause", "", "none", "Priorities that are paused when their receive buffer is full",
	 PRIO_LIST, .max = TP_PRIOS - 1, .parse = pfc_parse, .text = pfc_text, KEY_FIELD(tx_pfc)},
	{"prio-tc", "", "", "0,0,0,0,0,0,0,0", "Class of priority 0, 1, ... 7", "8 classes in 0..7", .max = TP_TCS - 1,
	 .parse = eight_parse, .text = eight_text, KEY_FIELD(prio_tc)},
	{"tc", "", "%", "0-7:strict", "How a class is scheduled; the shares of ets classes add up to 100",
	 "TCS:strict or TCS:ets:SHARE, TCS of 0..7, SHARE 0..100", .max = 100, .parse = tc_parse, .text = tc_text},
	{"tc-bw", "", "%", "", "Shares of class 0, 1, ..., which become ets classes, or strict",
	 "up to 8 of 0..100 or strict", .max = 100, .parse = shares_parse, .text = no_text},
	{"tc-rate", "", "Mb/s", "0-7:0", "Limit of a class, rounded down to 100 Mb/s, above 25500 to 1000; 0: none",
	 "TCS:RATE, TCS of 0..7, RATE 0..56000", .max = QOS_MAX_RATE, .parse = rate_parse, .text = rate_text},
	{"trust", "", "", "pcp", "Where a received frame's priority comes from", .names = trusts, KEY_FIELD(trust)},
	{"tx-dscp", "PriorityToDscpMappingTable_<ID>", "", "0,1,2,3,4,5,6,7", "DSCP that marks priority 0, 1, ... 7",
	 "8 DSCPs in 0..63", .max = TP_DSCPS - 1, .parse = eight_parse, .text = eight_text, KEY_FIELD(tx_dscp)},
	{"mark-dscp", "", "", "off", "Marks transmitted IP packets by tx-dscp, or dscp-gfc", SWITCH,
	 KEY_FIELD(mark_dscp)},
	{"tx-untag-priority", "TxUntagPriority", "", "off", "No tag on frames that would carry a priority only", SWITCH,
	 KEY_FIELD(tx_untag_priority)},
	{"tag-untagged", "*PriorityVLANTag", "", "none",
	 "Tag of all frames sent without one: with their priority, the port-vlan, both; none: of priorities not 0 only",
	 .names = taggings, KEY_FIELD(tag_untagged)},
	{"port-vlan", "", "", "0", "VLAN id that tag-untagged gives", .max = QOS_MAX_VID, KEY_FIELD(port_vlan)},
	{"rx-untagged-lossless", "RxUntaggedMapToLossless", "", "off", "Untagged frames may use lossless buffers",
	 SWITCH, KEY_FIELD(rx_untagged_lossless)},
	{"dscp-ets", "DscpBasedEtsEnabled", "", "off",
	 "IP packets are sent at the priority of the DSCP that they leave with, DSCP / 8", SWITCH, KEY_FIELD(dscp_ets)},
	{"dscp-pfc", "DscpBasedPfcEnabled", "", "off",
	 "PFC by DSCP: insists on trust=dscp, tx-untag-priority and rx-untagged-lossless", SWITCH, KEY_FIELD(dscp_pfc)},
	{"dscp-gfc", "DscpForGlobalFlowControl", "", "26", "Instead of tx-dscp while rx-pause or tx-pause is on",
	 .max = TP_DSCPS - 1, KEY_FIELD(dscp_gfc)},
	{"untagged-prio", "DefaultUntaggedPriority", "", "0",
	 "Priority of untagged frames; an illegal value falls back to the default", .max = TP_PRIOS - 1,
	 .parse = untagged_parse, .text = untagged_text},
	{"rx-stall-timeout", "DeviceRxStallTimeout", "ms", "0",
	 "Receiving that stands still for so long switches pause generation off; 0: not watched", .or_zero = true,
	 .min = QOS_STALL_MIN, .max = QOS_STALL_MAX, KEY_FIELD(rx_stall_ms)},
	{"rx-stall-minor", "DeviceRxStallWatermark", "ms", "0",
	 "Counts a minor stall after so long, below rx-stall-timeout; 0: half of it", .max = QOS_STALL_MAX - 1,
	 KEY_FIELD(rx_stall_minor_ms)},
	{"hol-lifetime", "TCHeadOfQueueLifeTimeLimit", "us", "0",
	 "Frames that wait longer at the head of a class are dropped; 0: never", .or_zero = true, .min = QOS_HOL_MIN,
	 .max = QOS_HOL_MAX, KEY_FIELD(hol_lifetime_us)},
	{"stall-count", "TCStallCount", "drops", "7", "Drops in a row after which a class counts as stalled", .min = 1,
	 .max = QOS_STALL_COUNT_MAX, KEY_FIELD(hol_stall_count)},
	{"rule", "", "", "none", "Priority and DSCP by protocol and destination port; the first that matches decides",
	 "none or KIND:PORTS:PRIO[:DSCP] of default|tcp|udp|rdma, *|1..65535, 0..7, 0..63", .max = UINT16_MAX,
	 .parse = rules_parse, .text = rules_text},
};

#define NUM_KEYS (sizeof(keys) / sizeof(keys[0]))

int
tp_qos_port_key(unsigned int i, struct tp_qos_key *key)
{
	return word_key_get(keys, NUM_KEYS, i, key);
}

void
tp_qos_port_default(struct tp_qos_port *q)
{
	memset(q, 0, sizeof(*q));
	words_default(keys, NUM_KEYS, q);
}

int
tp_qos_port_word(struct tp_qos_port *q, const char *word, char err[TP_ERR_LEN])
{
	struct tp_qos_port copy;

	return words_take(keys, NUM_KEYS, q, &copy, sizeof(copy), word, err);
}

void
tp_qos_port_print(const struct tp_qos_port *q, bool all, FILE *out)
{
	struct tp_qos_port def;

	tp_qos_port_default(&def);
	words_print(keys, NUM_KEYS, q, &def, all, out);
}

void
tp_qos_port_changes(const struct tp_qos_port *was, const struct tp_qos_port *is, tp_changed_fn changed, void *arg)
{
	words_changes(keys, NUM_KEYS, was, is, changed, arg);
}
