/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef PINGPONG_H
#define PINGPONG_H

#include "apps/roce_common/end.h"

struct pp_conf {
	struct rport_conf port;
	uint32_t tcp_port, size, iters, mtu, rx_depth, sl, tclass, timeout, inl, type;
	uint32_t all, events, check, histogram, json, help, ib_port;
	const char *host; /* NULL: server */
};

/* argv without EAL's. @return 0, -EINVAL with a line in err. */
int pp_parse(struct pp_conf *conf, int argc, char **argv, char *err, size_t errlen);
void pp_usage(void);
/* The test of one end. */
int pp_run(struct rend *e);

#endif /* PINGPONG_H */
