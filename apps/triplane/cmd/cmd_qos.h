/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue policies on the command line: what the tables of ports, groups and files share. */
#ifndef TRIPLANE_CMD_CMD_QOS_H
#define TRIPLANE_CMD_CMD_QOS_H

#include "apps/triplane/app/app.h"
#include "rte_pmd_mlx4.h"
#include "rte_pmd_mlx4_qos.h"

/* An error line for what a function of the driver answered; names the port's driver when it is another one. Returns ret. */
int qos_err(uint16_t port, const char *what, int ret, const char *err);
/* Calls show for each of the ports of a show command, i counts them. */
int qos_show(struct app *app, const struct cmd_args *a, const char *what,
	     int (*show)(uint16_t port, unsigned int i, void *arg, struct out *o), void *arg);
/* Calls take with each word of a text until one is refused. */
int qos_words(const char *text, int (*take)(void *obj, const char *word, char err[TP_ERR_LEN]), void *obj,
	      char err[TP_ERR_LEN], char notice[TP_ERR_LEN]);

/* The keys of words as a set that completes them: "KEY=". */
#define QOS_KEYS_MAX 64
struct qos_keys {
	char text[QOS_KEYS_MAX][48];
	const char *words[QOS_KEYS_MAX];
	struct cmd_set set;
};
int qos_keys_register(struct app *app, struct qos_keys *keys, const char *name,
		      int (*get)(unsigned int i, struct tp_qos_key *key));

/* cmd_qos_register calls the others. */
int cmd_qos_file_register(struct app *app);
int cmd_group_register(struct app *app);

#endif /* TRIPLANE_CMD_CMD_QOS_H */
