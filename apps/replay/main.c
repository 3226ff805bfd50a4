/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* triplane-replay: a recording of a card against the card in software; see docs/traces.md. */
#include <stdlib.h>

#include "mlx4_prm_cmd.h"
#include "replay.h"

/* Where nobody said otherwise, the card in software is as the recorded one says that it is. */
static void
follow(struct rp_options *o, const struct trace *t)
{
	unsigned int i, n;

	for (i = 0; i < t->num; i++) {
		const struct trace_cmd *c = &t->cmd[i];

		if (c->out == NULL || c->status != MLX4_STAT_OK)
			continue;
		if (c->opcode == MLX4_CMD_QUERY_FW && !o->firmware) {
			o->cfg.fw_major = (uint16_t)prm_get(c->out, MLX4_QFW_MAJOR);
			o->cfg.fw_minor = (uint16_t)prm_get(c->out, MLX4_QFW_MINOR);
			o->cfg.fw_subminor = (uint16_t)prm_get(c->out, MLX4_QFW_SUBMINOR);
			o->firmware = true;
		}
		n = c->opcode == MLX4_CMD_QUERY_DEV_CAP ? prm_get(c->out, MLX4_CAP_NUM_PORTS) : 0;
		if (n >= 1 && n <= TP_MODEL_PORTS && !o->ports) {
			o->cfg.num_ports = (uint8_t)n;
			o->ports = true;
		}
	}
}

static void
report(const struct rp_options *o, const struct trace *t, const struct rp_sums *s)
{
	if (o->max != 0 && s->lines > o->max)
		printf("%u differences more; --max 0 prints all\n", s->lines - o->max);
	printf("%s: %u commands, %u answers compared, %u apart as traffic changes them%s, %u unanswered; %u lines of "
	       "registers and "
	       "queues\n",
	       o->path, s->commands, s->compared, s->apart, s->apart != 0 ? " (--all)" : "", s->unanswered, t->others);
	if (s->differ == 0)
		printf("no answer differs\n");
	else
		printf("%u answers differ, in %u places\n", s->differ, s->lines);
}

int
main(int argc, char **argv)
{
	static struct rp_options o;
	struct rp_sums s = {0};
	char err[RP_TEXT];
	struct trace t;
	int rc;

	if (rp_options(&o, argc, argv, err) != 0) {
		fprintf(stderr, "triplane-replay: error: %s\n", err);
		return RP_EXIT_USAGE;
	}
	if (o.help) {
		rp_usage();
		return EXIT_SUCCESS;
	}
	if (o.version) {
		printf("triplane-replay %s\n", TRIPLANE_VERSION);
		return EXIT_SUCCESS;
	}
	if (trace_load(&t, o.path, err) != 0) {
		fprintf(stderr, "triplane-replay: error: %s\n", err);
		return EXIT_FAILURE;
	}
	follow(&o, &t);
	rc = rp_play(&o, &t, &s, err);
	if (rc != 0)
		fprintf(stderr, "triplane-replay: error: %s\n", err);
	else
		report(&o, &t, &s);
	trace_free(&t);
	return rc == 0 && s.differ == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
