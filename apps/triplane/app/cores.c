/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The lcores that forward. */
#include <errno.h>
#include <string.h>

#include <rte_lcore.h>

#include "app.h"

int
app_set_cores(struct app *app, const uint32_t *ids, unsigned int n, char *err, size_t len)
{
	unsigned int i, k;

	for (i = 0; i < n; i++) {
		if (ids[i] >= RTE_MAX_LCORE || !rte_lcore_is_enabled(ids[i])) {
			snprintf(err, len,
				 "lcore %u is not among those that EAL was given; --lcores or -l gives it more",
				 ids[i]);
			return -EINVAL;
		}
		if (ids[i] == rte_get_main_lcore()) {
			snprintf(err, len, "lcore %u is the main lcore, which takes commands; want another", ids[i]);
			return -EINVAL;
		}
		for (k = 0; k < i; k++) {
			if (ids[k] != ids[i])
				continue;
			snprintf(err, len, "lcore %u is in the list twice", ids[i]);
			return -EINVAL;
		}
	}
	memcpy(app->cores, ids, n * sizeof(ids[0]));
	app->num_cores = n;
	return 0;
}

unsigned int
app_all_cores(uint32_t ids[RTE_MAX_LCORE])
{
	unsigned int id, n = 0;

	RTE_LCORE_FOREACH_WORKER(id)
	/* service cores run somebody else's work */
	if (rte_eal_lcore_role(id) == ROLE_RTE)
		ids[n++] = id;
	return n;
}
