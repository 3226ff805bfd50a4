/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A stage's way to the card: by the driver's bus alone, with the core above it, or as ports of ethdev. */
#ifndef CHECK_CARD_H
#define CHECK_CARD_H

#include <rte_ether.h>

#include "apps/check/check.h"
#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/port/port.h"

/* Starts the EAL and opens the bus. false: it could not, and that was said. */
bool ck_open(struct ck *c);
/* The bus is closed; the card as it was left. */
void ck_close(struct ck *c);
/* What the card was asked to be, with more arguments behind, such as "bf=1". 0 or a negative errno, which was said. */
int ck_eth_args(struct ck *c, const char *more, struct mlx4_eth_args *args);

/* Which card the user says that it is. */
struct mlx4_quirks ck_quirks_given(struct ck *c);

/* Commands by polling, before anything else; the card as it was found. NULL: said. */
struct mlx4_hca *ck_bare(struct ck *c);
/* Resets the card if reset, and ends what ck_bare() made. */
void ck_bare_end(struct ck *c, struct mlx4_hca *hca, bool reset);

/* Opens the card, unless it is, with its ports, as a program has it. NULL: said, and it is closed. The bus belongs to it. */
struct mlx4_hca *ck_ports(struct ck *c, const char *more);
/* The same of a card that is expected to be this one. */
struct mlx4_hca *ck_ports_as(struct ck *c, const char *more, const struct mlx4_quirks *q);
/* Closes the ports and with them the card, which is reset, and its bus. */
void ck_ports_end(struct ck *c);
/* From now on it is noted when the card is given up; what then became of taking it down. */
void ck_watch(struct mlx4_hca *hca);
bool ck_judge_down(struct ck *c, double ms);
/* Keeps its commands, says whether it answered to the end, and does that. */
void ck_finish(struct ck *c, struct mlx4_hca *hca);
/* Of port 1 or 2, -1: it is none of ethdev. */
int ck_port_id(const struct mlx4_hca *hca, unsigned int port);

/* Tells the identities that follow from a GUID: of the card, its ports and the system, and their addresses. */
void ck_identities(struct ck *c, const struct mlx4_hca *hca);
/* Writes the last commands into the bundle, if there is one. */
void ck_keep_commands(struct ck *c, struct mlx4_hca *hca);
/* A file of the bundle to be written, NULL: there is none, or it cannot be written. */
FILE *ck_keep(struct ck *c, const char *name);
/* What the model in this process has to complain of; nothing of a real card. */
void ck_judge_model(struct ck *c, const struct mlx4_hca *hca);

#endif /* CHECK_CARD_H */
