/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is said when a rule is refused. */
#include "flow.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#define REFUSAL_LEN 160

int
mlx4_flow_refuse(struct rte_flow_error *e, int code, enum rte_flow_error_type type, const void *cause,
		 const char *format, ...)
{
	static _Thread_local char text[REFUSAL_LEN];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return rte_flow_error_set(e, code, type, cause, text);
}

static const char *
name_of(enum rte_flow_conv_op op, const char *what, int type, char *out)
{
	char name[32];
	char *c;

	if (rte_flow_conv(op, name, sizeof(name), (const void *)(intptr_t)type, NULL) <= 0) {
		snprintf(out, MLX4_FLOW_NAME, "%s type %d", what, type);
		return out;
	}
	for (c = name; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	snprintf(out, MLX4_FLOW_NAME, "%s %s (type %d)", what, name, type);
	return out;
}

const char *
mlx4_flow_item_name(int type, char name[MLX4_FLOW_NAME])
{
	return name_of(RTE_FLOW_CONV_OP_ITEM_NAME, "item", type, name);
}

const char *
mlx4_flow_action_name(int type, char name[MLX4_FLOW_NAME])
{
	return name_of(RTE_FLOW_CONV_OP_ACTION_NAME, "action", type, name);
}
