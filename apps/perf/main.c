/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Measures RoCE as perftest does; see docs/roce.md. */
#include <stdio.h>
#include <string.h>

#include "perf.h"

#define EXIT_USAGE 2

int
main(int argc, char **argv)
{
	struct perf_conf conf;
	char err[512], **own;
	int n;

	rend_program = strrchr(argv[0], '/') == NULL ? argv[0] : strrchr(argv[0], '/') + 1;
	n = rend_args(&argc, argv, &own);
	if (perf_parse(&conf, n, own, err, sizeof(err)) != 0) {
		rend_fail(0, "%s", err);
		return EXIT_USAGE;
	}
	if (conf.help != 0) {
		perf_usage();
		return 0;
	}
	if (conf.version != 0) {
		printf("Version: %s\n", TRIPLANE_VERSION);
		return 0;
	}
	if (rend_eal(&conf.port, argc, argv) != 0)
		return EXIT_USAGE;
	setvbuf(stdout, NULL, _IOLBF, 0);
	return rend_run(&conf.port, conf.host, (uint16_t)conf.tcp_port, perf_run, &conf);
}
