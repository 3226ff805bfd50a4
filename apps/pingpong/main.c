/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Round trips of messages between queue pairs, and how long they take; see docs/roce.md. */
#include <stdio.h>

#include "pingpong.h"

#define EXIT_USAGE 2

int
main(int argc, char **argv)
{
	struct pp_conf conf;
	char err[512], **own;
	int n;

	rend_program = "tp_pingpong";
	n = rend_args(&argc, argv, &own);
	if (pp_parse(&conf, n, own, err, sizeof(err)) != 0) {
		rend_fail(0, "%s", err);
		return EXIT_USAGE;
	}
	if (conf.help != 0) {
		pp_usage();
		return 0;
	}
	if (rend_eal(&conf.port, argc, argv) != 0)
		return EXIT_USAGE;
	setvbuf(stdout, NULL, _IOLBF, 0);
	return rend_run(&conf.port, conf.host, (uint16_t)conf.tcp_port, pp_run, &conf);
}
