/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port's quality of service as a whole: what excludes what, and what the rules say of a frame. */
#include <errno.h>
#include <string.h>

#include "qos_priv.h"

#define PROTO_TCP 6u
#define PROTO_UDP 17u

#define RATE_STEP 100u
#define RATE_STEP_HIGH 1000u
#define RATE_LAST_LOW 25500u /* 255 steps of 100 Mb/s */

uint32_t
tp_qos_rate_round(uint32_t mbps)
{
	if (mbps == 0)
		return 0;
	if (mbps < RATE_STEP)
		return RATE_STEP;
	if (mbps < RATE_LAST_LOW)
		return mbps - mbps % RATE_STEP;
	if (mbps < 26 * RATE_STEP_HIGH)
		return RATE_LAST_LOW;
	return mbps - mbps % RATE_STEP_HIGH;
}

int
qos_check_rate(const char *key, uint32_t mbps, const struct tp_qos_limits *lim, char *err)
{
	const uint32_t max = lim->speed_mbps != 0 ? lim->speed_mbps : QOS_MAX_RATE;

	if (mbps <= max)
		return 0;
	word_err(err, "%s: %u, want 0 or 1..%u Mb/s%s", key, mbps, max,
		 lim->speed_mbps != 0 ? ", the port's speed" : "");
	return -EINVAL;
}

int
qos_check_range(const char *key, uint32_t v, bool or_zero, uint32_t min, uint32_t max, const char *unit, char *err)
{
	if ((v >= min && v <= max) || (or_zero && v == 0))
		return 0;
	word_err(err, "%s: %u, want %s%u..%u%s%s", key, v, or_zero ? "0 or " : "", min, max, unit[0] == '\0' ? "" : " ",
		 unit);
	return -EINVAL;
}

static int
check_pause(const struct tp_qos_port *q, const struct tp_qos_limits *lim, char *err)
{
	const bool rx = q->rx_pause && q->rx_pfc != 0, tx = q->tx_pause && q->tx_pfc != 0;

	if (rx || tx) {
		word_err(err,
			 "%s-pause: on, want off, or %s-pfc=none instead of mask 0x%02x: one direction has one kind of "
			 "pause",
			 rx ? "rx" : "tx", rx ? "rx" : "tx", rx ? q->rx_pfc : q->tx_pfc);
		return -EINVAL;
	}
	if ((q->rx_pfc | q->tx_pfc) != 0 && !lim->pfc) {
		word_err(err, "pfc: mask 0x%02x, want none: the port has no priority flow control",
			 q->rx_pfc | q->tx_pfc);
		return -ENOTSUP;
	}
	return 0;
}

/* A pause stops a class; in a class of both kinds it would stop the priorities that may lose frames too. */
static int
check_lossless(const char *key, const struct tp_qos_port *q, uint8_t pfc, char *err)
{
	unsigned int i, k;

	for (i = 0; i < TP_PRIOS; i++)
		for (k = 0; k < TP_PRIOS; k++)
			if (q->prio_tc[i] != q->prio_tc[0])
				goto divided;
	return 0;
divided:
	for (i = 0; i < TP_PRIOS; i++) {
		for (k = 0; k < TP_PRIOS; k++) {
			if (q->prio_tc[i] != q->prio_tc[k] || (pfc >> i & 1) == 0 || (pfc >> k & 1) != 0)
				continue;
			word_err(err,
				 "%s: priority %u, want also %u or another class: class %u is lossy by priority %u",
				 key, i, k, q->prio_tc[i], k);
			return -EINVAL;
		}
	}
	return 0;
}

static int
check_class(const struct tp_qos_port *q, unsigned int i, const struct tp_qos_limits *lim, char *err)
{
	const struct tp_qos_tc *tc = &q->tc[i];

	if (tc->tsa != TP_TSA_STRICT && tc->tsa != TP_TSA_ETS) {
		word_err(err, "tc: class %u has algorithm %u, want 0 (strict) or 2 (ets)", i, tc->tsa);
		return -EINVAL;
	}
	if (tc->tsa == TP_TSA_STRICT && tc->bw_pct != 0) {
		word_err(err, "tc: class %u is strict with a share of %u %%, want 0 or ets", i, tc->bw_pct);
		return -EINVAL;
	}
	if (i >= lim->max_tc && (tc->tsa != TP_TSA_STRICT || tc->rate_mbps != 0)) {
		word_err(err, "tc: class %u, want 0..%u", i, lim->max_tc - 1);
		return -EINVAL;
	}
	if ((tc->tsa == TP_TSA_ETS || tc->rate_mbps != 0) && !lim->ets) {
		word_err(err, "tc: class %u has %s, want strict without a rate: the port has no scheduler", i,
			 tc->rate_mbps != 0 ? "a rate" : "a share");
		return -ENOTSUP;
	}
	return qos_check_rate("tc-rate", tc->rate_mbps, lim, err);
}

static int
check_classes(const struct tp_qos_port *q, const struct tp_qos_limits *lim, char *err)
{
	unsigned int i, sum = 0, ets = 0;
	int ret = 0;

	for (i = 0; i < TP_PRIOS; i++) {
		if (q->prio_tc[i] < lim->max_tc)
			continue;
		word_err(err, "prio-tc: class %u of priority %u, want 0..%u", q->prio_tc[i], i, lim->max_tc - 1);
		return -EINVAL;
	}
	for (i = 0; i < TP_TCS && ret == 0; i++) {
		ret = check_class(q, i, lim, err);
		ets += q->tc[i].tsa == TP_TSA_ETS;
		sum += q->tc[i].bw_pct;
	}
	if (ret == 0 && ets != 0 && sum != 100) {
		word_err(err,
			 "tc: the shares of the ets classes add up to %u %%, want 100, or strict classes (tc=N:strict)",
			 sum);
		return -EINVAL;
	}
	return ret;
}

static int
check_dscp(const struct tp_qos_port *q, const struct tp_qos_limits *lim, char *err)
{
	const bool dscp = q->trust == TP_TRUST_DSCP;
	unsigned int i;
	int ret = 0;

	if (q->trust != TP_TRUST_PCP && !dscp) {
		word_err(err, "trust: %u, want 1 (pcp) or 2 (dscp)", q->trust);
		return -EINVAL;
	}
	if ((dscp || q->dscp_ets || q->dscp_pfc) && !lim->dscp) {
		word_err(err, "%s, want %s: the port has no priority by DSCP",
			 dscp          ? "trust: dscp"
			 : q->dscp_ets ? "dscp-ets: on"
				       : "dscp-pfc: on",
			 dscp ? "pcp" : "off");
		return -ENOTSUP;
	}
	for (i = 0; i < TP_PRIOS && ret == 0; i++)
		ret = qos_check_range("tx-dscp", q->tx_dscp[i], false, 0, TP_DSCPS - 1, "", err);
	if (ret == 0)
		ret = qos_check_range("dscp-gfc", q->dscp_gfc, false, 0, TP_DSCPS - 1, "", err);
	if (ret == 0)
		ret = qos_check_range("untagged-prio", q->untagged_prio, false, 0, TP_PRIOS - 1, "", err);
	if (ret != 0 || !q->dscp_pfc || (dscp && q->tx_untag_priority && q->rx_untagged_lossless))
		return ret;
	word_err(err, "dscp-pfc: on, want off or %s with it",
		 !dscp                   ? "trust=dscp"
		 : !q->tx_untag_priority ? "tx-untag-priority=on"
					 : "rx-untagged-lossless=on");
	return -EINVAL;
}

static int
check_tags(const struct tp_qos_port *q, char *err)
{
	if (q->tag_untagged > (TP_TAG_PRIO | TP_TAG_VLAN)) {
		word_err(err, "tag-untagged: %u, want 0..%u", q->tag_untagged, TP_TAG_PRIO | TP_TAG_VLAN);
		return -EINVAL;
	}
	if (q->tag_untagged == TP_TAG_PRIO && q->tx_untag_priority) {
		word_err(err, "tag-untagged: priority, want none, vlan or both while tx-untag-priority is on");
		return -EINVAL;
	}
	return qos_check_range("port-vlan", q->port_vlan, false, 0, QOS_MAX_VID, "", err);
}

static int
check_timers(const struct tp_qos_port *q, char *err)
{
	int ret = qos_check_range("rx-stall-timeout", q->rx_stall_ms, true, QOS_STALL_MIN, QOS_STALL_MAX, "ms", err);

	if (ret != 0)
		return ret;
	if (q->rx_stall_minor_ms != 0 && q->rx_stall_minor_ms >= q->rx_stall_ms) {
		if (q->rx_stall_ms == 0)
			word_err(err, "rx-stall-minor: %u, want 0 while rx-stall-timeout is 0", q->rx_stall_minor_ms);
		else
			word_err(err, "rx-stall-minor: %u, want 0..%u ms, below rx-stall-timeout", q->rx_stall_minor_ms,
				 q->rx_stall_ms - 1);
		return -EINVAL;
	}
	ret = qos_check_range("hol-lifetime", q->hol_lifetime_us, true, QOS_HOL_MIN, QOS_HOL_MAX, "us", err);
	return ret != 0 ? ret
			: qos_check_range("stall-count", q->hol_stall_count, false, 1, QOS_STALL_COUNT_MAX, "drops",
					  err);
}

static int
check_rule(const struct tp_qos_port *q, unsigned int i, char *err)
{
	const struct tp_qos_rule *r = &q->rule[i];
	const bool ports = r->match >= TP_MATCH_TCP_PORT;

	if (r->match > TP_MATCH_RDMA)
		word_err(err, "rule %u: match %u, want 0..%u", i, r->match, TP_MATCH_RDMA);
	else if (r->prio >= TP_PRIOS)
		word_err(err, "rule %u: priority %u, want 0..7", i, r->prio);
	else if (r->dscp < -1 || r->dscp >= TP_DSCPS)
		word_err(err, "rule %u: DSCP %d, want 0..63, or -1 for none", i, r->dscp);
	else if (ports && (r->lo == 0 || r->lo > r->hi))
		word_err(err, "rule %u: ports %u-%u, want 1..65535, the lower first", i, r->lo, r->hi);
	else if (r->match == TP_MATCH_DEFAULT && i + 1 < q->num_rules)
		word_err(err, "rule %u: default takes every frame, want it as the last of %u rules", i, q->num_rules);
	else
		return 0;
	return -EINVAL;
}

static int
check_rules(const struct tp_qos_port *q, char *err)
{
	unsigned int i;
	int ret = 0;

	if (q->num_rules > TP_QOS_RULES) {
		word_err(err, "rule: %u rules, want 0..%u", q->num_rules, TP_QOS_RULES);
		return -EINVAL;
	}
	for (i = 0; i < q->num_rules && ret == 0; i++)
		ret = check_rule(q, i, err);
	return ret;
}

int
tp_qos_port_check(const struct tp_qos_port *q, const struct tp_qos_limits *lim, char err[TP_ERR_LEN])
{
	int ret;

	err[0] = '\0';
	ret = check_pause(q, lim, err);
	if (ret == 0)
		ret = check_classes(q, lim, err);
	if (ret == 0)
		ret = check_lossless("rx-pfc", q, q->rx_pfc, err);
	if (ret == 0)
		ret = check_lossless("tx-pfc", q, q->tx_pfc, err);
	if (ret == 0)
		ret = check_dscp(q, lim, err);
	if (ret == 0)
		ret = check_tags(q, err);
	if (ret == 0)
		ret = check_timers(q, err);
	return ret != 0 ? ret : check_rules(q, err);
}

void
tp_qos_classes_make(const struct tp_qos_port *q, struct tp_qos_classes *c)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < q->num_rules; i++) {
		const struct tp_qos_rule *r = &q->rule[i];
		uint16_t lo = r->lo, hi = r->hi;
		uint8_t proto = PROTO_UDP;

		switch (r->match) {
		case TP_MATCH_DEFAULT: proto = 0; break;
		case TP_MATCH_TCP: proto = PROTO_TCP; /* fall through */
		case TP_MATCH_UDP:
			lo = 0;
			hi = UINT16_MAX;
			break;
		case TP_MATCH_TCP_PORT: proto = PROTO_TCP; break;
		case TP_MATCH_UDP_PORT: break;
		default:
			if (lo > 1 || hi < UINT16_MAX)
				continue;
			lo = hi = TP_ROCE_PORT;
			break;
		}
		c->rule[c->n].lo = lo;
		c->rule[c->n].span = (uint16_t)(hi - lo);
		c->rule[c->n].proto = proto;
		c->rule[c->n].prio = r->prio;
		c->rule[c->n++].dscp = r->dscp;
	}
}

int8_t
tp_qos_mark(const struct tp_qos_port *q, uint8_t prio)
{
	if (!q->mark_dscp)
		return -1;
	return (int8_t)(q->rx_pause || q->tx_pause ? q->dscp_gfc : q->tx_dscp[prio]);
}

static bool
matches_roce(const struct tp_qos_rule *r, bool v2, uint16_t service)
{
	switch (r->match) {
	case TP_MATCH_DEFAULT: return true;
	case TP_MATCH_UDP: return v2;
	case TP_MATCH_UDP_PORT: return v2 && r->lo <= TP_ROCE_PORT && TP_ROCE_PORT <= r->hi;
	case TP_MATCH_RDMA: return (r->lo <= 1 && r->hi == UINT16_MAX) || (r->lo <= service && service <= r->hi);
	default: return false;
	}
}

bool
tp_qos_service(const struct tp_qos_port *q, bool v2, uint16_t service, uint8_t *prio, int8_t *dscp)
{
	uint32_t i;

	for (i = 0; i < q->num_rules && !matches_roce(&q->rule[i], v2, service); i++)
		;
	if (i == q->num_rules)
		return false;
	*prio = q->rule[i].prio;
	*dscp = q->rule[i].dscp >= 0 ? q->rule[i].dscp : tp_qos_mark(q, *prio);
	if (q->dscp_ets && *dscp >= 0)
		*prio = (uint8_t)(*dscp / TP_PRIOS);
	return true;
}
