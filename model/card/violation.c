/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model_priv.h"

static const struct {
	const char *name, *text;
} rules[TPM_V_COUNT] = {
#define RULE(e, n, t) [TPM_V_##e] = {n, t},
	TPM_VIOLATIONS(RULE)
#undef RULE
};

void
tpm_violate(struct tp_model *m, enum tpm_violation v, const char *obj, uint32_t num, const char *fmt, ...)
{
	va_list ap;
	int n;

	m->violation[v]++;
	n = snprintf(m->last_violation, sizeof(m->last_violation), "%s: %s 0x%x: ", rules[v].name, obj, num);
	va_start(ap, fmt);
	if (n > 0 && (size_t)n < sizeof(m->last_violation))
		vsnprintf(m->last_violation + n, sizeof(m->last_violation) - (size_t)n, fmt, ap);
	va_end(ap);
	if (m->log != NULL)
		m->log(m->log_arg, 1, m->last_violation);
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
	m->log(m->log_arg, 0, line);
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

uint64_t
tp_model_violations_total(struct tp_model *m)
{
	uint64_t n = 0;

	tpm_lock(&m->lock);
	for (unsigned int i = 0; i < TPM_V_COUNT; i++)
		n += m->violation[i];
	tpm_unlock(&m->lock);
	return n;
}

void
tp_model_last_violation(struct tp_model *m, char *buf, size_t len)
{
	if (len == 0)
		return;
	tpm_lock(&m->lock);
	snprintf(buf, len, "%s", m->last_violation);
	tpm_unlock(&m->lock);
}

void
tp_model_set_log(struct tp_model *m, tp_model_log_fn fn, void *arg)
{
	tpm_lock(&m->lock);
	m->log = fn;
	m->log_arg = arg;
	tpm_unlock(&m->lock);
}
