/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Points on which public sources about the card are unsure, as switches. An id is that of docs/fidelity.md. A variant says what a
 * card does: the driver that has it expects such a card, the model that has it is such a card. Text and numbers only.
 */
#ifndef LIB_QUIRK_QUIRK_H
#define LIB_QUIRK_QUIRK_H

#include <stddef.h>
#include <stdint.h>

enum mlx4_quirk_id {
	MLX4_QUIRK_RSVD_EQS,
	MLX4_QUIRK_QP_TO_RESET,
	MLX4_QUIRK_SPECIAL_QPS,
	MLX4_QUIRK_WOL_GROUP,
	MLX4_QUIRK_RESET_VALUE,
	MLX4_QUIRK_COUNTER_PLACE,
	MLX4_QUIRK_VLAN_PLACE,
	MLX4_QUIRK_RESIZE_MBOX,
	MLX4_QUIRK_RESIZE_OWNER,
	MLX4_QUIRK_EVENT_PORT,
	MLX4_QUIRK_TOGGLE,
	MLX4_QUIRK_ERR_MBOX,
	MLX4_QUIRK_PKEY_INDEX,
	MLX4_QUIRK_BF_PLACE,
	MLX4_QUIRK_EMPTY_ANSWERS,
	MLX4_QUIRK_RULE_ORDER,
	MLX4_QUIRK_RULE_NO_ADDRESS,
	MLX4_QUIRK_RULE_L4,
	MLX4_QUIRK_TUNNEL_SUMS,
	MLX4_QUIRK_INNER_RSS,
	MLX4_QUIRK_SHARES,
	MLX4_QUIRK_GROUP_ORDER,
	MLX4_QUIRK_FORCE_PRIO,
	MLX4_QUIRK_SHORT_FRAMES,
	MLX4_QUIRKS
};

#define MLX4_QUIRK_VARIANTS 3u /* a..c */
#define MLX4_QUIRK_ERR 256u    /* of the text of a refusal */
#define MLX4_QUIRK_TEXT 512u   /* of all that is not at its default */

/* What it takes to see which variant a card is. */
enum mlx4_quirk_found {
	MLX4_QUIRK_BY_COMMANDS, /* firmware commands and registers alone */
	MLX4_QUIRK_BY_LOOP,     /* frames that one port sends to itself inside the card */
	MLX4_QUIRK_BY_CABLE,    /* a far end: two ports joined, or another machine */
	MLX4_QUIRK_BY_NOTHING,
};

struct mlx4_quirk {
	const char *id;                           /* "F-12" */
	const char *what;                         /* the question */
	const char *variant[MLX4_QUIRK_VARIANTS]; /* what a card of variant a, b.. does; NULL: there is none */
	const char *shows;                        /* what is seen when card and driver differ */
	uint8_t def;                              /* 0: a */
	uint8_t found;                            /* enum mlx4_quirk_found */
};

/* A variant for each. */
struct mlx4_quirks {
	uint8_t v[MLX4_QUIRKS]; /* 0: a */
	uint64_t listed;        /* bit n: given by mlx4_quirks_parse(); a file does not change it */
};

const struct mlx4_quirk *mlx4_quirk_get(unsigned int i); /* NULL: i is MLX4_QUIRKS or more */
int mlx4_quirk_find(const char *id);                     /* enum mlx4_quirk_id, or -1 */
unsigned int mlx4_quirk_variants(unsigned int i);        /* how many it has */
const char *mlx4_quirk_found_text(uint8_t found);

void mlx4_quirks_default(struct mlx4_quirks *q);
/* "F-12:b,F-40:c", also with '/' between; "": none. 0, or -EINVAL with a text, and *q is as it was. */
int mlx4_quirks_parse(struct mlx4_quirks *q, const char *text, char err[MLX4_QUIRK_ERR]);
/* The same, one a line; '#' begins a comment. 0, -EINVAL, or what opening and reading says. */
int mlx4_quirks_load(struct mlx4_quirks *q, const char *path, char err[MLX4_QUIRK_ERR]);
/* Those that are not at their default, as mlx4_quirks_parse() takes them; sep stands between two. Returns how many. */
unsigned int mlx4_quirks_text(const struct mlx4_quirks *q, char sep, char text[MLX4_QUIRK_TEXT]);

#endif /* LIB_QUIRK_QUIRK_H */
