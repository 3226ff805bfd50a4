/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model_priv.h"

static const struct {
	const char *name, *text;
	enum tp_rule_class class;
} rules[TPM_V_COUNT] = {
#define RULE(e, c, n, t) [TPM_V_##e] = {n, t, TP_RULE_##c},
	TPM_VIOLATIONS(RULE)
#undef RULE
};

void
tpm_violate(struct tp_model *m, enum tpm_violation v, const char *obj, uint32_t num, const char *fmt, ...)
{
	char *last = m->last_broken[rules[v].class];
	size_t len = sizeof(m->last_broken[0]);
	va_list ap;
	int n;

	m->violation[v]++;
	n = snprintf(last, len, "%s: %s 0x%x: ", rules[v].name, obj, num);
	va_start(ap, fmt);
	if (n > 0 && (size_t)n < len)
		vsnprintf(last + n, len - (size_t)n, fmt, ap);
	va_end(ap);
	if (m->log != NULL)
		m->log(m->log_arg, rules[v].class == TP_RULE_ADVICE ? TP_LINE_ADVICE : TP_LINE_VIOLATION, last);
}

void
tpm_note(struct tp_model *m, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (m->log == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	m->log(m->log_arg, TP_LINE_NOTE, line);
}

unsigned int
tp_model_violation_count(void)
{
	return TPM_V_COUNT;
}

const char *
tp_model_violation_name(unsigned int i)
{
	return i < TPM_V_COUNT ? rules[i].name : NULL;
}

const char *
tp_model_violation_text(unsigned int i)
{
	return i < TPM_V_COUNT ? rules[i].text : NULL;
}

enum tp_rule_class
tp_model_violation_class(unsigned int i)
{
	return i < TPM_V_COUNT ? rules[i].class : TP_RULE_VIOLATION;
}

int
tp_model_violation_by_name(const char *name)
{
	for (int i = 0; i < TPM_V_COUNT; i++)
		if (strcmp(rules[i].name, name) == 0)
			return i;
	return -1;
}

uint64_t
tp_model_violations(struct tp_model *m, unsigned int i)
{
	uint64_t n;

	if (i >= TPM_V_COUNT)
		return 0;
	tpm_lock(&m->lock);
	n = m->violation[i];
	tpm_unlock(&m->lock);
	return n;
}

static uint64_t
total(struct tp_model *m, enum tp_rule_class class)
{
	uint64_t n = 0;

	tpm_lock(&m->lock);
	for (unsigned int i = 0; i < TPM_V_COUNT; i++)
		if (rules[i].class == class)
			n += m->violation[i];
	tpm_unlock(&m->lock);
	return n;
}

uint64_t
tp_model_violations_total(struct tp_model *m)
{
	return total(m, TP_RULE_VIOLATION);
}

uint64_t
tp_model_advice_total(struct tp_model *m)
{
	return total(m, TP_RULE_ADVICE);
}

static void
last_of(struct tp_model *m, enum tp_rule_class class, char *buf, size_t len)
{
	if (len == 0)
		return;
	tpm_lock(&m->lock);
	snprintf(buf, len, "%s", m->last_broken[class]);
	tpm_unlock(&m->lock);
}

void
tp_model_last_violation(struct tp_model *m, char *buf, size_t len)
{
	last_of(m, TP_RULE_VIOLATION, buf, len);
}

void
tp_model_last_advice(struct tp_model *m, char *buf, size_t len)
{
	last_of(m, TP_RULE_ADVICE, buf, len);
}

void
tp_model_set_log(struct tp_model *m, tp_model_log_fn fn, void *arg)
{
	tpm_lock(&m->lock);
	m->log = fn;
	m->log_arg = arg;
	tpm_unlock(&m->lock);
}
