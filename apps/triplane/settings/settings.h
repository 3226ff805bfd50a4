/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The program's settings: the registry of lib/settings with the rows of the program, its ports, their queues and cards.
 * Commands that change a setting do it through here, so that each is checked by its row and logged.
 */
#ifndef TRIPLANE_SETTINGS_SETTINGS_H
#define TRIPLANE_SETTINGS_SETTINGS_H

#include "lib/settings/settings.h"
#include "lib/settings/declared.h"

#include "apps/triplane/app/app.h"
#include "rte_pmd_mlx4.h"

struct app_settings {
	struct tp_settings *reg;
	struct tp_declared *qos, *group;
	struct tp_settings_table port, offload, wait, reserve, lso, rss, filter, mcast, cksum, qcn, roce, kernel,
		capture, ib, made, program, share, queue, card, health;
	struct tp_setting *offloads, *cards; /* rows made from other tables */
	struct tp_setting ports[16];         /* with the names of the forwarding modes */
	char modes[256];
	/* while a list of changes is made */
	bool stopped, was_started[RTE_MAX_ETHPORTS], was_forwarding;
	uint16_t peer_was[RTE_MAX_ETHPORTS]; /* before the last change of the topology */
	bool in_list;                        /* set while a list is applied, which sets the peers itself */
	/* tune.c: what the profiles changed, with the values before the first of them */
	struct tp_setting_list tuned;
	char profile[32]; /* "": none */
};

int settings_create(struct app *app);
void settings_free(struct app *app);

/* Changes one setting; says why not. at: NULL for the program. */
int setting_set(struct app *app, const struct tp_setting_at *at, const char *name, const char *value);
/* For a row's judge: what its names say is wanted instead. -EINVAL. */
int setting_refuse(const struct tp_setting *row, const char *value, char err[TP_SETTING_ERR]);
/* The same of one that waits for the end of forwarding. -EBUSY. */
int setting_not_while_forwarding(char err[TP_SETTING_ERR]);
/* Runs a command and logs which of the named settings of its port it changed; names ends with NULL. */
int settings_noted(struct app *app, const struct cmd_args *a, const char *const *names,
		   int (*run)(void *, const struct cmd_args *));
/* The same for one setting of the program. */
int settings_noted_program(struct app *app, const struct cmd_args *a, const char *name,
			   int (*run)(void *, const struct cmd_args *));
/* The same of each of the ports of a command. */
int setting_set_ports(struct app *app, const struct cmd_args *a, const char *name, const char *value);
/* Applies a list and empties it; says why not, with path and line where there are some. */
int settings_apply(struct app *app, struct tp_setting_list *l, const char *path);

/*
 * Of a file that is to be applied: makes the ports of ib-ports that are not there, since the file's sections speak of them. Fills
 * new_ports with their numbers. 0, or a negative errno, which was said; then none was made.
 */
int settings_make_ports(struct app *app, const char *path, uint16_t new_ports[RTE_MAX_ETHPORTS], unsigned int *n);
void settings_unmake_ports(struct app *app, const uint16_t *new_ports, unsigned int n);

/* The tables of the files below. */
int settings_port_add(struct app *app);
int settings_wait_add(struct app *app);
int settings_reserve_add(struct app *app);
int settings_lso_add(struct app *app);
int settings_rss_add(struct app *app);
int settings_filter_add(struct app *app);
int settings_mcast_add(struct app *app);
int settings_cksum_add(struct app *app);
int settings_qcn_add(struct app *app);
int settings_program_add(struct app *app);
int settings_share_add(struct app *app);
/* roce_cc.c: the row of congestion control, and changes of it by commands. */
int roce_cc_judge(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR]);
int roce_cc_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE]);
int roce_cc_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
		char err[TP_SETTING_ERR]);
struct roce_cc_word {
	enum { ROCE_CC_ON, ROCE_CC_OFF, ROCE_CC_DEFAULTS, ROCE_CC_RESTORE, ROCE_CC_VARIANT, ROCE_CC_SET } what;
	unsigned int param; /* of SET */
	uint64_t value;     /* of SET and VARIANT */
};
int roce_cc_change(struct app *app, uint16_t port, unsigned int prio, const struct roce_cc_word *w);
/* -1: there is none of this name. */
int roce_cc_param_of(const char *name);
int roce_cc_variant_of(const char *name);
int settings_roce_add(struct app *app);
int settings_kernel_add(struct app *app);
int settings_capture_add(struct app *app);
int settings_ib_add(struct app *app);
int settings_made_add(struct app *app);
int settings_queue_add(struct app *app);
int settings_card_add(struct app *app);

/* By one of the row's names. */
enum app_topology app_topology_of(const char *name);

/* Tells DPDK's telemetry of them, from now on whenever nobody has control. */
void settings_telemetry(struct app *app);

#endif /* TRIPLANE_SETTINGS_SETTINGS_H */
