/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Pings over connections of RDMA CM, as rping does; see docs/roce.md. */
#include <stdio.h>

#include "rping.h"

#define EXIT_USAGE 2

int
main(int argc, char **argv)
{
	struct rping_conf conf;
	char err[512], **own;
	int n;

	rend_program = "tp_rping";
	n = rend_args(&argc, argv, &own);
	if (rping_parse(&conf, n, own, err, sizeof(err)) != 0) {
		rend_fail(0, "%s", err);
		return EXIT_USAGE;
	}
	if (conf.help != 0) {
		rping_usage();
		return 0;
	}
	if (rend_eal(&conf.port, argc, argv) != 0)
		return EXIT_USAGE;
	setvbuf(stdout, NULL, _IOLBF, 0);
	return rend_run(&conf.port, conf.client != 0 ? "" : NULL, 0, rping_run, &conf);
}
