/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options with the letters of rping. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "rping.h"

#define AT(f) offsetof(struct rping_conf, f)
static const struct ropt opts[] = {
	{'s', "server", ROPT_FLAG, AT(server), 0, 0, NULL, NULL, "be the server"},
	{'c', "client", ROPT_FLAG, AT(client), 0, 0, NULL, NULL, "be the client"},
	{'a', "address", ROPT_STR, AT(addr), 0, 0, NULL, "IP", "client: whom to call; server: where to listen (all)"},
	{'I', "source", ROPT_STR, AT(source), 0, 0, NULL, "IP", "client: address to call from"},
	{'p', "port", ROPT_U32, AT(tcp_port), 1, 65535, NULL, "N", "port of the connection (7174)"},
	{'P', "persistent", ROPT_FLAG, AT(persistent), 0, 0, NULL, NULL,
	 "server: serve many clients, one after or beside another"},
	{'S', "size", ROPT_U32, AT(size), RPING_MIN_SIZE, RPING_MAX_SIZE, NULL, "N", "bytes of a ping (64)"},
	{'C', "count", ROPT_U32, AT(count), 1, 0xffffffff, NULL, "N", "pings (until a signal)"},
	{'v', "verbose", ROPT_FLAG, AT(verbose), 0, 0, NULL, NULL, "print what is sent"},
	{'V', "validate", ROPT_FLAG, AT(validate), 0, 0, NULL, NULL, "compare what comes back"},
	{'d', "debug", ROPT_FLAG, AT(debug), 0, 0, NULL, NULL, "print each event and completion"},
	{'h', "help", ROPT_FLAG, AT(help), 0, 0, NULL, NULL, "this text"},
};

void
rping_usage(void)
{
	struct rping_conf conf;
	struct ropt_set sets[] = {{opts, RTE_DIM(opts), &conf}, {rport_opts, rport_nopts, &conf.port}};

	printf("usage: tp_rping [EAL arguments] -- -s [options]\n"
	       "       tp_rping [EAL arguments] -- -c -a IP [options]\n\n"
	       "Pings over a connection of RDMA CM; the other end may be rping. (-d is for debug here; --ib-dev names "
	       "a port.)\n\n");
	ropt_help(sets, RTE_DIM(sets));
}

static int
refuse(char *err, size_t errlen, const char *what, const char *value)
{
	snprintf(err, errlen, "%s '%s'", what, value);
	return -EINVAL;
}

int
rping_parse(struct rping_conf *conf, int argc, char **argv, char *err, size_t errlen)
{
	struct ropt_set sets[] = {{opts, RTE_DIM(opts), conf}, {rport_opts, rport_nopts, &conf->port}};
	struct sockaddr_storage a;
	unsigned int prefix;
	int rest;

	memset(conf, 0, sizeof(*conf));
	rport_conf_init(&conf->port);
	conf->tcp_port = RPING_PORT;
	conf->size = 64;
	rest = ropt_parse(sets, RTE_DIM(sets), argc, argv, err, errlen);
	if (rest < 0)
		return rest;
	if (rest < argc)
		return refuse(err, errlen, "no argument is expected behind the options, found", argv[rest]);
	if (conf->help != 0)
		return 0;
	if (conf->port.self == 0 && conf->server + conf->client != 1)
		return refuse(err, errlen, "either -s or -c, found", conf->server != 0 ? "both" : "neither");
	if (conf->client != 0 && conf->addr == NULL)
		return refuse(err, errlen, "-c needs the server's address:", "-a IP");
	if (conf->addr != NULL && (strchr(conf->addr, '/') != NULL || rport_addr_parse(conf->addr, &a, &prefix) != 0))
		return refuse(err, errlen, "-a: no IPv4 or IPv6 address:", conf->addr);
	if (conf->source != NULL &&
	    (strchr(conf->source, '/') != NULL || rport_addr_parse(conf->source, &a, &prefix) != 0))
		return refuse(err, errlen, "-I: no IPv4 or IPv6 address:", conf->source);
	if (conf->port.self != 0 && conf->count == 0)
		return refuse(err, errlen, "--self needs a number of pings:", "-C N");
	if (conf->port.self != 0 && conf->port.self_addr[0] == NULL)
		return refuse(err, errlen, "--self needs the server's address:", "--self-addr IP/LEN");
	return 0;
}
