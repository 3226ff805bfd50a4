/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stages 3 and 9: the card's life. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "card.h"
#include "drivers/mlx4/hca/history.h"

#define SLOW_MS 1000.0

static double
ms_since(uint64_t cycles)
{
	return (double)(rte_get_timer_cycles() - cycles) * 1e3 / (double)rte_get_timer_hz();
}

/* The commands that are remembered, by opcode: how often, how long, and the longest. */
static void
times(struct ck *c, struct mlx4_hca *hca)
{
	static struct mlx4_cmd_record rec[MLX4_HISTORY];
	const unsigned int n = mlx4_history_get(hca->history, rec);
	unsigned int i, k, count;
	double sum, most;

	for (i = 0; i < n; i++) {
		const struct mlx4_cmd_desc *d = mlx4_cmd_describe(rec[i].opcode);

		for (k = 0; k < i && rec[k].opcode != rec[i].opcode; k++)
			;
		if (k < i)
			continue;
		for (k = i, count = 0, sum = most = 0; k < n; k++) {
			if (rec[k].opcode != rec[i].opcode)
				continue;
			count++;
			sum += (double)rec[k].took_ns / 1e6;
			most = RTE_MAX(most, (double)rec[k].took_ns / 1e6);
		}
		ck_say(c, most > SLOW_MS ? CK_WARN : CK_INFO, d != NULL ? d->name : "?",
		       "%u command%s, %.3f ms together, %.3f ms at most", count, count == 1 ? "" : "s", sum, most);
	}
}

static struct mlx4_hca *
up(struct ck *c, const char *name)
{
	const struct mlx4_hca_config cfg = {.check_fw = false, .quirks = ck_quirks_given(c)};
	const uint64_t since = rte_get_timer_cycles();
	struct mlx4_hca *hca = NULL;
	int rc;

	ck_step(c, "brings the card up (reset, RUN_FW, INIT_HCA, event queues)");
	rc = mlx4_hca_open(c->bus, &cfg, &hca);
	if (rc == 0) {
		ck_identities(c, hca);
		ck_say(c, CK_PASS, name, "up after %.1f ms", ms_since(since));
	} else {
		ck_say(c, CK_FAIL, name, "the card does not come up: %s; it was reset again", rte_strerror(-rc));
	}
	return rc == 0 ? hca : NULL;
}

/* The card may have died on the way: then taking it down is a reset, which brings it back. */
static void
down(struct ck *c, struct mlx4_hca *hca)
{
	const uint64_t since = rte_get_timer_cycles();

	ck_step(c, "takes the card down (in reverse order, and a reset)");
	ck_judge_model(c, hca);
	ck_judge(c, !hca->dead, "alive", "%s", hca->dead ? "the card was given up" : "it answered to the end");
	ck_watch(hca);
	mlx4_hca_close(hca);
	ck_judge_down(c, ms_since(since));
}

void
ck_stage_bringup(struct ck *c)
{
	struct mlx4_hca *hca;

	if (!ck_open(c))
		return;
	hca = up(c, "bring-up");
	if (hca != NULL) {
		times(c, hca);
		ck_say(c, CK_INFO, "board", "%s", hca->caps.board_id[0] != '\0' ? hca->caps.board_id : "no name");
		ck_say(c, CK_INFO, "event-queues", "1 for events, %u for completions, %u vectors connected",
		       hca->num_comp_eq, hca->num_vectors);
		ck_keep_commands(c, hca);
		down(c, hca);
	}
	ck_close(c);
}

/* A card that was not reset by who had it last: writes nowhere once the next one has reset it. */
static void
killed(struct ck *c)
{
	int ready[2], status = 0, waited;
	pid_t pid;
	char word;

	if (c->o->dev.bus == CK_BUS_MODEL) {
		ck_say(c, CK_SKIP, "kill",
		       "this card is in the process, and goes with it: a card behind a socket shows it");
		return;
	}
	ck_step(c, "kills a process that has the card");
	if (pipe(ready) != 0) {
		ck_say(c, CK_FAIL, "kill", "pipe: %s", strerror(errno));
		return;
	}
	pid = fork();
	if (pid == 0) {
		struct mlx4_hca *hca;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		hca = ck_open(c) ? up(c, "bring-up-to-kill") : NULL;
		if (hca == NULL || write(ready[1], "u", 1) != 1)
			_exit(EXIT_FAILURE);
		for (;;)
			pause();
	}
	close(ready[1]);
	waited = pid < 0 ? -1 : (int)read(ready[0], &word, 1);
	close(ready[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	ck_judge(c, waited == 1, "kill", "%s",
		 waited == 1 ? "the process was killed with the card up" : "it never had the card");
}

void
ck_stage_life(struct ck *c)
{
	struct mlx4_hca *hca;
	struct mlx4_hca_config cfg = {.check_fw = false};
	uint64_t since;
	int rc;

	/* Before this process has the card, and before it has the EAL. */
	killed(c);
	if (!ck_open(c))
		return;
	hca = up(c, "bring-up-after");
	if (hca != NULL)
		down(c, hca);
	hca = hca != NULL ? up(c, "bring-up-again") : NULL;
	if (hca != NULL) {
		ck_step(c, "resets the card in place, as after a fault of its firmware, and brings it up");
		cfg.quirks = hca->quirks;
		since = rte_get_timer_cycles();
		rc = mlx4_hca_revive(hca, &cfg);
		if (rc == 0)
			ck_say(c, CK_PASS, "reset-in-place", "back after %.1f ms", ms_since(since));
		else
			ck_say(c, CK_FAIL, "reset-in-place", "the card does not come back: %s", rte_strerror(-rc));
		ck_keep_commands(c, hca);
		down(c, hca);
	}
	ck_close(c);
}

void
ck_give_back(struct ck *c)
{
	struct mlx4_hca *hca;

	if (c->o->dev.bus == CK_BUS_MODEL) {
		ck_say(c, CK_INFO, "given-back", "the card was in the process that ended, and is gone with it");
		return;
	}
	if (!ck_open(c))
		return;
	hca = ck_bare(c);
	if (hca != NULL)
		ck_bare_end(c, hca, true);
	ck_close(c);
}
