/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control that a port has stored: "prio:PRIO+.../NAME:VALUE/...". It is on for the priorities of each "prio:", with
 * the values behind it. Only what a set of CONGESTION_CTRL has a place for can be stored; and "variant:NAME", which is the algorithm
 * of the firmware, of those priorities, or of all in front of the first "prio:". It brings defaults of its own, so that it stands in front
 * of their values.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "mlx4_prm_cc_words.h"
#include "roce_cc.h"

#define TEXT_MAX 1024u
/* What is on, is on as the vendor's driver switches it: datagrams do not say ECT(0). */
#define RP_ON (MLX4_CC_RP_CNP | MLX4_CC_RP_FORCE_RC | MLX4_CC_RP_FORCE_UC)

#define NUM(a) (sizeof(a) / sizeof((a)[0]))

/* Where a word of lib/roce/cc stands: a field of a set, or a flag of the reaction point; algorithm 0: the card has it not. */
struct place {
	uint32_t algorithm, field, flag;
};

static struct place
place_of(const char *word)
{
	for (unsigned int i = 0; i < NUM(rp_values); i++)
		if (strcmp(rp_values[i].word, word) == 0)
			return (struct place){.algorithm = MLX4_CC_RP, .field = rp_values[i].field};
	for (unsigned int i = 0; i < NUM(np_values); i++)
		if (strcmp(np_values[i].word, word) == 0)
			return (struct place){.algorithm = MLX4_CC_NP, .field = np_values[i].field};
	for (unsigned int i = 0; i < NUM(rp_flags); i++)
		if (strcmp(rp_flags[i].word, word) == 0)
			return (struct place){.algorithm = MLX4_CC_RP, .flag = rp_flags[i].flag};
	return (struct place){0};
}

static int
refuse(struct tp_model_cc_bad *bad, const char *item, const char *wanted)
{
	snprintf(bad->item, sizeof(bad->item), "%.63s", item);
	snprintf(bad->wanted, sizeof(bad->wanted), "%s", wanted);
	return -EINVAL;
}

/* "0+3"; a set may be stored for each once. */
static int
prios(const char *item, const char *list, uint8_t *mask, uint8_t *taken, struct tp_model_cc_bad *bad)
{
	*mask = 0;
	for (const char *c = list;; c += 2) {
		uint8_t bit = *c >= '0' && *c < '0' + (int)MLX4_PRIOS ? (uint8_t)(1u << (*c - '0')) : 0;

		if (bit == 0 || (c[1] != '\0' && c[1] != '+'))
			return refuse(bad, item, "prio:PRIO+... with PRIO in 0..7");
		if ((*taken & bit) != 0)
			return refuse(bad, item, "each priority once");
		*taken |= bit;
		*mask |= bit;
		if (c[1] == '\0')
			return 0;
	}
}

static int
number(const char *item, const char *name, const char *text, const struct tcc_param *p, uint32_t *value,
       struct tp_model_cc_bad *bad)
{
	uint64_t max = p->line ? UINT32_MAX : p->max, v;
	char wanted[sizeof(bad->wanted)], *end;

	errno = 0;
	v = strtoull(text, &end, 0);
	*value = (uint32_t)v;
	if (errno == 0 && isdigit((unsigned char)*text) && *end == '\0' && v >= p->min && v <= max)
		return 0;
	snprintf(wanted, sizeof(wanted), "%s:N with N in %" PRIu64 "..%" PRIu64 "%s%s", name, p->min, max,
		 p->unit[0] != '\0' ? " " : "", p->unit);
	return refuse(bad, item, wanted);
}

static void
put(struct tpm_cc *cc, uint8_t mask, const struct place *at, uint32_t value)
{
	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		uint8_t *set = cc->prio[i].set[at->algorithm];
		uint32_t flags = prm_get32(set, MLX4_CC_FLAGS);

		if ((mask >> i & 1) == 0)
			continue;
		if (at->flag == 0)
			prm_set(set, at->field, value);
		else
			prm_set32(set, MLX4_CC_FLAGS, value != 0 ? flags | at->flag : flags & ~at->flag);
	}
}

static void
switch_on(struct tpm_cc *cc, uint8_t mask)
{
	put(cc, mask, &(struct place){.algorithm = MLX4_CC_RP, .flag = RP_ON}, 1);
	put(cc, mask, &(struct place){.algorithm = MLX4_CC_NP, .flag = MLX4_CC_NP_ECN}, 1);
}

/* on: priorities among mask that are. */
static void
take_variant(struct tpm_port *p, uint8_t mask, uint8_t on, enum tcc_variant v)
{
	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		if ((mask >> i & 1) == 0)
			continue;
		p->cc->prio[i].variant = (uint8_t)v;
		tpm_cc_defaults(p, i, MLX4_CC_RP);
		tpm_cc_defaults(p, i, MLX4_CC_NP);
	}
	switch_on(p->cc, on);
}

/* p NULL: checked alone. */
static int
walk(const char *stored, struct tpm_port *p, struct tp_model_cc_bad *bad)
{
	char text[TEXT_MAX], item[TEXT_MAX], *save = NULL, *name;
	uint8_t mask = 0, taken = 0;
	bool variant = false, values = false;
	int rc = 0;

	if ((size_t)snprintf(text, sizeof(text), "%s", stored) >= sizeof(text))
		return refuse(bad, stored, "a shorter list");
	for (name = strtok_r(text, "/", &save); rc == 0 && name != NULL; name = strtok_r(NULL, "/", &save)) {
		char *value = strchr(name, ':');
		struct place at;
		uint32_t v = 0;
		int param;

		snprintf(item, sizeof(item), "%s", name);
		if (value != NULL)
			*value++ = '\0';
		if (value != NULL && strcmp(name, "prio") == 0) {
			rc = prios(item, value, &mask, &taken, bad);
			values = false;
			if (rc == 0 && p != NULL)
				switch_on(p->cc, mask);
			continue;
		}
		if (value != NULL && strcmp(name, "variant") == 0) {
			enum tcc_variant of = tcc_variant_find(value);

			if (of == TCC_VARIANTS)
				return refuse(bad, item, "variant:card, variant:paper or variant:vendor-hpcc");
			if (values)
				return refuse(bad, item, "it in front of values, as it brings its own");
			if (p != NULL)
				take_variant(p, mask != 0 ? mask : UINT8_MAX, mask, of);
			variant = true;
			continue;
		}
		at = place_of(name);
		param = tcc_param_find(name);
		if (value == NULL || at.algorithm == 0 || param < 0)
			return refuse(bad, item,
				      "prio:PRIO+... or NAME:VALUE with a parameter of the card's congestion control");
		if (mask == 0)
			return refuse(bad, item, "prio:PRIO+... in front of it");
		rc = number(item, name, value, tcc_param((unsigned int)param), &v, bad);
		values = true;
		if (rc == 0 && p != NULL)
			put(p->cc, mask, &at, v);
	}
	return rc != 0 || taken != 0 || variant ? rc : refuse(bad, stored, "prio:PRIO+.../NAME:VALUE/...");
}

int
tp_model_cc_check(const char *text, struct tp_model_cc_bad *bad)
{
	return walk(text, NULL, bad);
}

void
tpm_cc_stored_apply(struct tpm_port *p)
{
	struct tp_model_cc_bad bad;

	/* It was checked when the card was made. */
	if (p->cc->stored != NULL)
		(void)walk(p->cc->stored, p, &bad);
}
