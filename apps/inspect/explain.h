/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a dump means: what differs, and what waits for what. */
#ifndef INSPECT_EXPLAIN_H
#define INSPECT_EXPLAIN_H

#include "json.h"

/* kind: a stable word, such as "waits-for-card"; object: such as "tx queue 0". */
typedef void (*finding_fn)(void *arg, const char *kind, const char *object, const char *text);

/* Calls fn for each finding, the gravest kinds first; how many there are. */
unsigned int explain(const struct json *dump, finding_fn fn, void *arg);

/* Calls fn for each kind, in the order of findings. */
void kinds(void (*fn)(const char *kind, const char *text));

#endif /* INSPECT_EXPLAIN_H */
