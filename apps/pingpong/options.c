/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options with the letters of rdma-core's ibv_rc_pingpong, ibv_uc_pingpong and ibv_ud_pingpong. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "pingpong.h"

static const char *const types[] = {"RC", "UC", "UD", NULL};

#define AT(f) offsetof(struct pp_conf, f)
static const struct ropt opts[] = {
	{'p', "port", ROPT_U32, AT(tcp_port), 1, 65535, NULL, "N", "TCP port of the exchange (18515)"},
	{'C', "connection", ROPT_WORD, AT(type), 0, 0, types, "TYPE", "RC, UC or UD (RC)"},
	{'s', "size", ROPT_U32, AT(size), 1, 1u << 30, NULL, "N", "bytes of a message (4096; UD: 1024)"},
	{'a', "all", ROPT_FLAG, AT(all), 0, 0, NULL, NULL, "sizes 1, 2, 4 ... 1 MiB (UD: up to the MTU)"},
	{'n', "iters", ROPT_U32, AT(iters), 1, 100000000, NULL, "N", "exchanges (1000)"},
	{'m', "mtu", ROPT_U32, AT(mtu), 256, 4096, NULL, "N", "path MTU 256, 512, 1024, 2048, 4096 (1024)"},
	{'r', "rx-depth", ROPT_U32, AT(rx_depth), 2, 16384, NULL, "N", "receive requests (500)"},
	{'l', "sl", ROPT_U32, AT(sl), 0, 7, NULL, "N", "service level: the priority of packets (0)"},
	{'u', "qp-timeout", ROPT_U32, AT(timeout), 0, 31, NULL, "N", "acknowledge timeout of RC, 4.096 us x 2^N (14)"},
	{0, "tclass", ROPT_U32, AT(tclass), 0, 255, NULL, "N", "traffic class (0)"},
	{'I', "inline", ROPT_U32, AT(inl), 0, 4096, NULL, "N", "messages up to so many bytes inline (64)"},
	{'e', "events", ROPT_FLAG, AT(events), 0, 0, NULL, NULL, "sleep on completion events instead of polling"},
	{'c', "chk", ROPT_FLAG, AT(check), 0, 0, NULL, NULL, "the client checks each byte that comes back"},
	{'H', "histogram", ROPT_FLAG, AT(histogram), 0, 0, NULL, NULL, "print how the times are distributed"},
	{0, "json", ROPT_FLAG, AT(json), 0, 0, NULL, NULL, "print one JSON object a size, and nothing else"},
	{'g', "gid-idx", ROPT_U32, AT(port.gid_index), 0, TP_ROCE_GIDS - 1, NULL, "N", "the same as -x"},
	{'i', "ib-port", ROPT_U32, AT(ib_port), 1, 1, NULL, "N", "accepted; an ethdev is a device of one port"},
	{'h', "help", ROPT_FLAG, AT(help), 0, 0, NULL, NULL, "this text"},
};

void
pp_usage(void)
{
	struct pp_conf conf;
	struct ropt_set sets[] = {{opts, RTE_DIM(opts), &conf}, {rport_opts, rport_nopts, &conf.port}};

	printf("usage: tp_pingpong [EAL arguments] -- [options] [HOST]\n\n"
	       "Sends a message there and back, again and again. Without HOST it waits as the server; HOST is where "
	       "the\n"
	       "server listens for the exchange of addresses, by TCP through the system's own network. The other end "
	       "may\n"
	       "be ibv_rc_pingpong, ibv_uc_pingpong or ibv_ud_pingpong.\n\n");
	ropt_help(sets, RTE_DIM(sets));
}

int
pp_parse(struct pp_conf *conf, int argc, char **argv, char *err, size_t errlen)
{
	struct ropt_set sets[] = {{opts, RTE_DIM(opts), conf}, {rport_opts, rport_nopts, &conf->port}};
	int rest;

	memset(conf, 0, sizeof(*conf));
	rport_conf_init(&conf->port);
	conf->tcp_port = EXCH_PT_PORT;
	conf->iters = 1000;
	conf->mtu = 1024;
	conf->rx_depth = 500;
	conf->inl = 64;
	conf->timeout = 14;
	rest = ropt_parse(sets, RTE_DIM(sets), argc, argv, err, errlen);
	if (rest < 0)
		return rest;
	if (argc - rest > 1) {
		snprintf(err, errlen, "'%s' is one argument too many, a HOST is all", argv[rest + 1]);
		return -EINVAL;
	}
	conf->host = rest < argc ? argv[rest] : NULL;
	if (conf->port.self != 0 && conf->host != NULL) {
		snprintf(err, errlen, "--self has both ends here, '%s' is no host to call", conf->host);
		return -EINVAL;
	}
	if ((conf->mtu & (conf->mtu - 1)) != 0) {
		snprintf(err, errlen, "--mtu: '%u' is not one of 256, 512, 1024, 2048, 4096", conf->mtu);
		return -EINVAL;
	}
	if (conf->size == 0)
		conf->size = conf->type == 2 ? 1024 : 4096;
	if (conf->type == 2 && conf->size > conf->mtu) {
		snprintf(err, errlen, "--size: %u is more than a datagram of this --mtu holds, 1..%u", conf->size,
			 conf->mtu);
		return -EINVAL;
	}
	return 0;
}
