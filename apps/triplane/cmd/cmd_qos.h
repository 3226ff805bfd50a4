/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue policies on the command line: what the tables of ports, groups and files share. */
#ifndef TRI_CMD_QOS_H
#define TRI_CMD_QOS_H

#include "app.h"
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

/* The group of that name. 0, -ENOENT, -ENODEV. */
int group_find(uint16_t port, const char *name, struct tp_group *g);
/*
 * After a change of groups. A queue goes over to its new rings, and gives the old ones back, when it is polled and has
 * no frames left; while nobody polls it, this does, and takes no frame.
 */
void group_settle(struct app *app, uint16_t port);

/* cmd_qos_register calls the others. */
int cmd_qos_file_register(struct app *app);
int cmd_group_register(struct app *app);

#endif /* TRI_CMD_QOS_H */
