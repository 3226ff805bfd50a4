/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Points on which sources about the card are unsure: which there are, and what a port's card is taken for. */
#include <errno.h>

#include "rte_pmd_mlx4.h"
#include "watch.h"

static void
show_one(struct out *o, const struct rte_pmd_mlx4_quirk *q, int variant)
{
	char name[2] = "", now[2] = {(char)variant, '\0'}, def[2] = {q->def, '\0'};
	unsigned int v;

	out_object(o, q->id);
	out_str(o, "what", q->what);
	if (variant != 0)
		out_str(o, "variant", now);
	out_str(o, "default", def);
	for (v = 0; v < RTE_PMD_MLX4_QUIRK_VARIANTS && q->variant[v] != NULL; v++) {
		name[0] = (char)('a' + v);
		out_str(o, name, q->variant[v]);
	}
	out_str(o, "shows", q->shows);
	out_str(o, "found", q->found);
	out_end(o);
}

/* Of a port, or of none: the table alone. */
static int
show(struct app *app, const struct cmd_args *a, int port)
{
	struct rte_pmd_mlx4_quirk q;
	struct out o;
	unsigned int i;

	if (port >= 0 && rte_pmd_mlx4_quirk_get((uint16_t)port, 0) < 0)
		return app_err(-ENOTSUP, "port %d: this is for ports of the mlx4_vfio driver", port);
	out_init(&o, stdout, app->json || a->json);
	for (i = 0; rte_pmd_mlx4_quirk(i, &q) == 0; i++)
		show_one(&o, &q, port < 0 ? 0 : rte_pmd_mlx4_quirk_get((uint16_t)port, i));
	out_done(&o);
	return 0;
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	return show(arg, a, -1);
}

static int
do_show_port(void *arg, const struct cmd_args *a)
{
	return show(arg, a, (int)cmd_num(a, "port", 0));
}

static const struct cmd table[] = {
	{"Card", "show quirks",
	 "Shows the points on which sources about the card are unsure: the variants, what shows when the card is "
	 "another "
	 "one. The device arguments quirks and quirks-file choose.",
	 do_show, true},
	{"Card", "show quirks {port:port}", "The same with what a port's card is taken for.", do_show_port, true},
};

int
cmd_quirks_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
