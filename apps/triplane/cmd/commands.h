/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The tables of commands, one file each group, and what the program itself asks of them. */
#ifndef TRIPLANE_CMD_COMMANDS_H
#define TRIPLANE_CMD_COMMANDS_H

#include "apps/triplane/app/app.h"

int cmd_general_register(struct app *app);
int cmd_port_register(struct app *app);
int cmd_port_filter_register(struct app *app);
int cmd_fwd_register(struct app *app);
int cmd_show_register(struct app *app);
int cmd_perf_register(struct app *app);
int cmd_rss_register(struct app *app);
int cmd_flow_register(struct app *app);
int cmd_device_register(struct app *app);
int cmd_dcbx_register(struct app *app);
int cmd_qos_register(struct app *app);
int cmd_roce_register(struct app *app);
int cmd_roce_qp_register(struct app *app);
int cmd_share_register(struct app *app);
int cmd_ib_register(struct app *app);
int cmd_ib_show_register(struct app *app);
int cmd_sm_register(struct app *app);
int cmd_ipoib_register(struct app *app);
int cmd_ipoib_pair_register(struct app *app);
int cmd_switch_register(struct app *app);
int cmd_settings_register(struct app *app);
int cmd_tune_register(struct app *app);

/* cmd_ipoib_pair.c: the IPoIB port that carries for a pair; another port itself. */
uint16_t ipoib_pair_carrier(uint16_t id);
/* cmd_perf.c: /triplane/perf of DPDK's telemetry. */
void perf_telemetry(struct app *app);
/* cmd_settings.c: the tables of the reference. */
void settings_markdown(const struct app *app, FILE *f);

#endif /* TRIPLANE_CMD_COMMANDS_H */
