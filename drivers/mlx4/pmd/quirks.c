/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Points on which sources about the card are unsure, for those who want to show them. */
#include <assert.h>
#include <errno.h>

#include "drivers/mlx4/port/port.h"
#include "rte_pmd_mlx4.h"

static_assert(RTE_PMD_MLX4_QUIRK_VARIANTS == MLX4_QUIRK_VARIANTS, "one number of variants");
static_assert(RTE_PMD_MLX4_QUIRKS == MLX4_QUIRK_TEXT, "one length of lists");

int
rte_pmd_mlx4_quirk(unsigned int i, struct rte_pmd_mlx4_quirk *quirk)
{
	const struct mlx4_quirk *q = mlx4_quirk_get(i);
	unsigned int v;

	if (q == NULL)
		return -ENOENT;
	*quirk = (struct rte_pmd_mlx4_quirk){.id = q->id,
					     .what = q->what,
					     .shows = q->shows,
					     .found = mlx4_quirk_found_text(q->found),
					     .def = (char)('a' + q->def)};
	for (v = 0; v < MLX4_QUIRK_VARIANTS; v++)
		quirk->variant[v] = q->variant[v];
	return 0;
}

int
rte_pmd_mlx4_quirk_get(uint16_t port_id, unsigned int i)
{
	const struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	return i < MLX4_QUIRKS ? 'a' + eth->hca->quirks.v[i] : -ENOENT;
}
