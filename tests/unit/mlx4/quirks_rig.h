/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A card of a variant under a driver that was told of it, or was not. */
#ifndef MLX4_QUIRKS_RIG_H
#define MLX4_QUIRKS_RIG_H

#include <stdlib.h>

#include "rig.h"

/* Arguments of a card of this variant. */
static inline const char *
args_of(const char *quirk, bool told, const char *more)
{
	static char text[200];

	snprintf(text, sizeof(text), "%s%smodel-quirks=%s%s%s", more, more[0] != '\0' ? "," : "", quirk,
		 told ? ",quirks=" : "", told ? quirk : "");
	return text;
}

/* Takes the card away, which found nothing to complain about when the driver was told. */
static inline void
away(bool told)
{
	unsigned int lines;

	if (told) {
		rig_close();
		return;
	}
	rig_log_begin();
	rig_unplug(RIG_DEV);
	free(rig_log_end(&lines));
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

/* Frames that came through, of one from port 0 to port 1. */
static inline unsigned int
passes(void)
{
	struct rte_ether_addr mac = rig_mac(1);

	return rig_reaches(&mac);
}

#endif /* MLX4_QUIRKS_RIG_H */
