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
/* True when a port of another driver is to be left out: nobody asked for it by number. */
bool qos_skip(const struct cmd_args *a, int ret);
/* Calls take with each word of a text until one is refused. */
int qos_words(const char *text, int (*take)(void *obj, const char *word, char err[TP_ERR_LEN]), void *obj,
	      char err[TP_ERR_LEN], char notice[TP_ERR_LEN]);

#endif /* TRI_CMD_QOS_H */
