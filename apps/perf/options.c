/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options with perftest's names, and what they mean for each other. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "perf.h"

#define DEF_MARGIN_PART 4u /* of the duration is warm-up, and as much is cool-down */
#define CQ_MOD 100u
#define CQ_MOD_LARGE 8192u /* above, each message is signalled: else the last ones would be waited for too long */

static const char *const types[] = {"RC", "UC", "UD", NULL};
static const char *const atomics[] = {"CMP_AND_SWAP", "FETCH_AND_ADD", NULL};
static const char *const outputs[] = {"full", "bandwidth", "message_rate", "latency", NULL};

#define AT(f) offsetof(struct perf_conf, f)
#define FLAG(letter, name, field, help)                                                                                \
	{                                                                                                              \
		letter, name, ROPT_FLAG, AT(field), 0, 0, NULL, NULL, help                                             \
	}
#define NUM(letter, name, field, lo, hi, help)                                                                         \
	{                                                                                                              \
		letter, name, ROPT_U32, AT(field), lo, hi, NULL, "N", help                                             \
	}
#define WORD(letter, name, field, words, help)                                                                         \
	{                                                                                                              \
		letter, name, ROPT_WORD, AT(field), 0, 0, words, "WORD", help                                          \
	}
static const struct ropt opts[] = {
	FLAG('a', "all", all, "sizes 2, 4, 8 ... 8388608 (UD: up to the MTU)"),
	WORD('A', "atomic_type", atomic, atomics, "CMP_AND_SWAP or FETCH_AND_ADD (FETCH_AND_ADD)"),
	FLAG('b', "bidirectional", bidir, "both ends send"),
	WORD('c', "connection", type, types, "RC, UC or UD (RC)"),
	FLAG('C', "report-cycles", cycles, "latency in TSC cycles"),
	NUM('D', "duration", duration, 1, 86400, "seconds to run, instead of a number of messages"),
	FLAG('e', "events", events, "sleep on completion events instead of polling"),
	NUM('f', "margin", margin, 0, 43200, "seconds at either end of a duration that are not measured (a quarter)"),
	FLAG('F', "CPU-freq", cpu_freq, "accepted; time is taken from the TSC"),
	FLAG('h', "help", help, "this text"),
	FLAG('H', "report-histogram", histogram, "print how the times are distributed"),
	NUM('i', "ib-port", ib_port, 1, 1, "accepted; an ethdev is a device of one port"),
	NUM('I', "inline_size", inl, 0, 1024,
	    "messages up to so many bytes inline (latency: 220, as far as there is room)"),
	NUM('l', "post_list", post_list, 1, 512, "requests a post (1)"),
	NUM('m', "mtu", mtu, 256, 4096, "path MTU 256, 512, 1024, 2048, 4096 (the port's)"),
	NUM('n', "iters", iters, 5, 100000000, "messages of a queue pair (1000; write_bw: 5000)"),
	FLAG('N', "noPeak", no_peak, "no peak bandwidth"),
	NUM('o', "outs", outs, 1, 16, "reads or atomics under way (what the port can)"),
	NUM('p', "port", tcp_port, 1, 65535, "TCP port of the exchange (18515)"),
	NUM('q', "qp", qps, 1, 16384, "queue pairs (1)"),
	NUM('Q', "cq-mod", cq_mod, 1, 1024, "messages a completion (100; 1 above 8192 bytes)"),
	NUM('r', "rx-depth", rx_depth, 1, 16384, "receive requests (512)"),
	FLAG('R', "rdma_cm", rdma_cm,
	     "RDMA CM connects the queue pairs and carries the exchange; HOST is an address of the other port"),
	NUM('s', "size", size, 1, PERF_MAX_SIZE, "bytes of a message (bandwidth 65536, latency 2)"),
	NUM('S', "sl", sl, 0, 7, "service level: the priority of packets (0)"),
	NUM('t', "tx-depth", tx_depth, 1, 15000, "send requests (128)"),
	NUM('u', "qp-timeout", timeout, 0, 31, "acknowledge timeout, 4.096 us x 2^N (14)"),
	FLAG('U', "report-unsorted", unsorted, "print each time"),
	FLAG('V', "version", version, "print the version"),
	NUM('w', "limit_bw", min_bw, 0, 4000000, "fail below this average bandwidth"),
	NUM('y', "limit_msgrate", min_rate, 0, 4000, "fail below this message rate in Mpps"),
	FLAG(0, "use-srq", srq, "one shared receive queue"),
	NUM(0, "lanes", port.lanes, 1, TP_ROCE_LANES,
	    "in software: lcores that share the queue pairs of a bandwidth test, 1, 2, 4, 8 or 16 (1)"),
	NUM(0, "retry_count", retry, 0, 7, "transport retries (7)"),
	NUM(0, "tclass", tclass, 0, 255, "traffic class (0)"),
	NUM(0, "latency_gap", gap_us, 0, 1000000, "microseconds between messages of a latency test (0)"),
	FLAG(0, "report_gbits", gbits, "Gb/sec instead of MB/sec"),
	FLAG(0, "report-both", both, "bidirectional: also each direction"),
	WORD(0, "output", output, outputs, "only this number: bandwidth, message_rate, latency"),
	FLAG(0, "json", json, "one JSON object a size, and nothing else"),
	NUM(0, "interval", interval, 10, 60000,
	    "milliseconds; bandwidth over time: a line each, with what congestion control allows"),
	{0, "plot", ROPT_STR, AT(plot), 0, 0, NULL, "FILE", "write that as a picture (SVG)"},
};

void
perf_usage(void)
{
	struct perf_conf conf;
	struct ropt_set sets[] = {{opts, RTE_DIM(opts), &conf}, {rport_opts, rport_nopts, &conf.port}};

	printf("usage: tp_{send,write,read,atomic}_{bw,lat} [EAL arguments] -- [options] [HOST]\n"
	       "       tp_perf [EAL arguments] -- {send,write,read,atomic}_{bw,lat} [options] [HOST]\n\n"
	       "Without HOST it waits as the server; HOST is where the server listens for the exchange of addresses, "
	       "by TCP\n"
	       "through the system's own network. The other end may be the program of perftest of that name.\n\n");
	ropt_help(sets, RTE_DIM(sets));
}

static int
refuse(char *err, size_t errlen, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, errlen, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* "tp_write_lat", "/usr/bin/tp_write_lat", "write_lat" */
static int
set_test(struct perf_conf *conf, const char *name)
{
	static const char *const verbs[] = {"send", "write", "read", "atomic"};
	const char *slash = strrchr(name, '/');
	unsigned int i;
	size_t len;

	name = slash == NULL ? name : slash + 1;
	if (strncmp(name, "tp_", 3) == 0)
		name += 3;
	for (i = 0; i < RTE_DIM(verbs); i++) {
		len = strlen(verbs[i]);
		if (strncmp(name, verbs[i], len) != 0)
			continue;
		conf->verb = i;
		conf->lat = strcmp(name + len, "_lat") == 0;
		return conf->lat || strcmp(name + len, "_bw") == 0 ? 0 : -EINVAL;
	}
	return -EINVAL;
}

/* Values that the user left to the test. */
static void
defaults(struct perf_conf *c)
{
	if (c->size == PERF_AUTO)
		c->size = c->verb == PERF_ATOMIC ? 8 : c->lat ? 2 : 65536;
	if (c->iters == PERF_AUTO)
		c->iters = !c->lat && c->verb == PERF_WRITE ? 5000 : 1000;
	if (c->margin == PERF_AUTO)
		c->margin = c->duration / DEF_MARGIN_PART;
	if (c->tx_depth == PERF_AUTO)
		c->tx_depth = 128;
	if (c->cq_mod == PERF_AUTO)
		c->cq_mod = c->size > CQ_MOD_LARGE && c->type != 2 && c->all == 0 ? 1 : CQ_MOD;
	if (c->cq_mod > c->tx_depth)
		c->cq_mod = c->tx_depth;
	/* A datagram that finds no receive request is gone: there must be one for each, as far as there is room. */
	if (c->rx_depth == PERF_AUTO)
		c->rx_depth = c->type == 0 || c->iters < 512 ? 512 : RTE_MIN(c->iters, 8192u);
}

static int
check_lanes(const struct perf_conf *c, char *err, size_t errlen)
{
	const uint32_t lanes = c->port.lanes;

	if ((lanes & (lanes - 1)) != 0)
		return refuse(err, errlen, "--lanes: '%u' is not one of 1, 2, 4, 8, 16", lanes);
	if (lanes == 1)
		return 0;
	if (c->lat)
		return refuse(err, errlen, "--lanes: a latency test has one queue pair, and so one lane, not %u",
			      lanes);
	if (c->qps % lanes != 0)
		return refuse(err, errlen, "--qp: %u queue pairs are not shared alike by %u lanes", c->qps, lanes);
	if (c->srq != 0)
		return refuse(err, errlen, "--use-srq: a shared receive queue is of one lane, not %u", lanes);
	if (c->events != 0)
		return refuse(err, errlen, "--events: %u lanes poll", lanes);
	return 0;
}

static int
check(const struct perf_conf *c, char *err, size_t errlen)
{
	if (c->type == 2 && c->verb != PERF_SEND)
		return refuse(err, errlen, "--connection: 'UD' can only send");
	if (c->type == 1 && c->verb > PERF_WRITE)
		return refuse(err, errlen, "--connection: 'UC' can only send and write");
	if (c->verb == PERF_ATOMIC && c->size != 8)
		return refuse(err, errlen, "--size: %u is not the size of an atomic, 8", c->size);
	if (c->verb == PERF_ATOMIC && c->all != 0)
		return refuse(err, errlen, "--all: an atomic has one size, 8");
	if (c->lat && c->bidir != 0)
		return refuse(err, errlen, "--bidirectional: a latency test has both directions already");
	if (c->lat && c->qps > 1)
		return refuse(err, errlen, "--qp: a latency test has one queue pair, not %u", c->qps);
	if (c->lat && c->post_list > 1)
		return refuse(err, errlen, "--post_list: a latency test posts one request at a time, not %u",
			      c->post_list);
	if (c->lat && c->interval != 0)
		return refuse(err, errlen, "--interval: a latency test has no bandwidth");
	if (c->plot != NULL && c->interval == 0)
		return refuse(err, errlen, "--plot: wants --interval, as in --interval 100");
	if (c->interval != 0 && c->output != PERF_OUT_FULL)
		return refuse(err, errlen, "--interval: not with --output %s, which is one number", outputs[c->output]);
	if (c->duration != 0 && c->all != 0)
		return refuse(err, errlen, "--all: not with --duration");
	if (c->duration != 0 && 2 * c->margin >= c->duration)
		return refuse(err, errlen, "--margin: %u s at either end leave nothing of %u s", c->margin,
			      c->duration);
	if (c->post_list > c->tx_depth)
		return refuse(err, errlen, "--post_list: %u requests do not fit into --tx-depth %u", c->post_list,
			      c->tx_depth);
	if (c->srq != 0 && c->verb != PERF_SEND)
		return refuse(err, errlen, "--use-srq: only a send test receives");
	if (c->srq != 0 && c->qps > c->rx_depth)
		return refuse(err, errlen, "--qp: %u queue pairs need as many receive requests, --rx-depth is %u",
			      c->qps, c->rx_depth);
	if (c->mtu != 0 && (c->mtu & (c->mtu - 1)) != 0)
		return refuse(err, errlen, "--mtu: '%u' is not one of 256, 512, 1024, 2048, 4096", c->mtu);
	if (check_lanes(c, err, errlen) != 0)
		return -EINVAL;
	if (c->rdma_cm != 0 && c->type != 0)
		return refuse(err, errlen, "--rdma_cm: connects RC only");
	if (c->rdma_cm != 0 && c->sl != 0)
		return refuse(err, errlen, "--sl: with --rdma_cm the priority follows from --tclass, not from %u",
			      c->sl);
	if (c->rdma_cm != 0 && c->mtu != 0)
		return refuse(err, errlen, "--mtu: with --rdma_cm the path MTU is what both ports can, not %u", c->mtu);
	if (c->rdma_cm != 0 && c->port.self != 0 && c->port.self_addr[0] == NULL)
		return refuse(err, errlen, "--rdma_cm: with --self it calls --self-addr, as in 192.0.2.2/24");
	if (c->port.self != 0 && c->host != NULL)
		return refuse(err, errlen, "--self has both ends here, '%s' is no host to call", c->host);
	return 0;
}

int
perf_parse(struct perf_conf *conf, int argc, char **argv, char *err, size_t errlen)
{
	struct ropt_set sets[] = {{opts, RTE_DIM(opts), conf}, {rport_opts, rport_nopts, &conf->port}};
	bool named, help = false;
	int rest, i;

	memset(conf, 0, sizeof(*conf));
	rport_conf_init(&conf->port);
	conf->tcp_port = EXCH_PT_PORT;
	conf->size = conf->iters = conf->margin = conf->tx_depth = conf->rx_depth = PERF_AUTO;
	conf->inl = conf->cq_mod = conf->outs = PERF_AUTO;
	conf->qps = conf->post_list = 1;
	conf->timeout = 14;
	conf->retry = 7;
	conf->atomic = 1;
	named = set_test(conf, argv[0]) == 0;
	for (i = 1; i < argc; i++)
		help = help || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
	if (!named && !help) {
		if (argc < 2 || set_test(conf, argv[1]) != 0)
			return refuse(err, errlen, "'%s' is no test: {send,write,read,atomic}_{bw,lat}",
				      argc < 2 ? "" : argv[1]);
		argc--;
		argv++;
	}
	rest = ropt_parse(sets, RTE_DIM(sets), argc, argv, err, errlen);
	if (rest < 0)
		return rest;
	if (argc - rest > 1)
		return refuse(err, errlen, "'%s' is one argument too many, a HOST is all", argv[rest + 1]);
	conf->host = rest < argc ? argv[rest] : NULL;
	defaults(conf);
	return conf->help != 0 ? 0 : check(conf, err, errlen);
}

enum ibv_qp_type
perf_qp_type(const struct perf_conf *conf)
{
	static const enum ibv_qp_type of[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

	return of[conf->type];
}
