/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What every test program does: EAL, signals, one end or both. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "apps/common/eal.h"
#include "end.h"

/* One port with its queues and the messages of a usual test; what each further lane takes. */
#define MEM_MIB 256u
#define LANE_MIB 48u

const char *rend_program = "roce";
static volatile sig_atomic_t signalled;
/* An end of --self that failed leaves the other one waiting. */
static atomic_bool failed;

static void
on_signal(int sig)
{
	(void)sig;
	signalled = 1;
}

bool
rend_stopping(void)
{
	return signalled != 0 || atomic_load_explicit(&failed, memory_order_relaxed);
}

int
rend_fail(int err, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", rend_program, line);
	return err > 0 ? -err : err;
}

int
rend_args(int *argc, char **argv, char ***own)
{
	int i, n;

	for (i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++)
		;
	n = *argc - i;
	/* Without "--" this is where the list ends, and nobody looks for its end any more. */
	argv[i] = argv[0];
	*own = &argv[i];
	*argc = i;
	return n == 0 ? 1 : n;
}

int
rend_eal(const struct rport_conf *conf, int argc, char **argv)
{
	const unsigned int ends = conf->self != 0 ? 2 : 1;
	const struct app_eal eal = {.name = rend_program,
				    .mem_mib = ends * (MEM_MIB + LANE_MIB * (conf->lanes - 1)),
				    .busy = ends * conf->lanes};
	struct sigaction sa = {.sa_handler = on_signal};
	char error[APP_EAL_TEXT];
	int rc;

	rc = app_eal_start(&eal, argc, argv, error);
	if (rc < 0)
		return rend_fail(rc, "%s", error);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
	return 0;
}

struct launch {
	int (*fn)(struct rend *);
	struct rend end;
};

static int
run_end(void *arg)
{
	struct launch *l = arg;
	int rc = l->fn(&l->end);

	if (rc != 0)
		atomic_store(&failed, true);
	return rc;
}

/* Each lane but an end's first has an lcore, and so has the server beside a client, with its first lane. */
static int
give_lcores(const struct rport_conf *conf, struct rend *here, struct rend *there)
{
	struct rend *const ends[] = {here, there};
	const unsigned int num = conf->self != 0 ? 2 : 1, want = conf->lanes * num;
	unsigned int lcore = rte_get_main_lcore(), worker = (unsigned int)-1;

	if (rte_lcore_count() < want)
		return rend_fail(EINVAL, "%s %u needs %u lcores, there are %u: -l 0-%u or --lcores before the \"--\"",
				 conf->self != 0 ? "--self with --lanes" : "--lanes", conf->lanes, want,
				 rte_lcore_count(), want - 1);
	for (unsigned int e = 0; e < num; e++)
		for (unsigned int i = 0; i < conf->lanes; i++) {
			ends[e]->lcore[i] = lcore;
			lcore = worker = rte_get_next_lcore(worker, 1, 0);
		}
	return 0;
}

/* The server on another lcore, the client here; a pair of sockets between them. */
static int
run_both(struct launch *client, struct launch *server)
{
	const unsigned int lcore = server->end.lcore[0];
	int pair[2], rc, other;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
		return rend_fail(errno, "no socket pair: %s", strerror(errno));
	client->end.sock = pair[0];
	server->end.sock = pair[1];
	rc = rte_eal_remote_launch(run_end, server, lcore);
	if (rc != 0)
		return rend_fail(-rc, "lcore %u is busy", lcore);
	rc = run_end(client);
	other = rte_eal_wait_lcore(lcore);
	return rc != 0 ? rc : other;
}

int
rend_run(const struct rport_conf *conf, const char *host, uint16_t tcp_port, int (*fn)(struct rend *), void *arg)
{
	struct launch here = {.fn = fn}, there = {.fn = fn};
	bool clean;
	int rc;

	here.end = (struct rend){
		.server = host == NULL && conf->self == 0, .host = host, .tcp_port = tcp_port, .sock = -1, .arg = arg};
	there.end = (struct rend){.server = true, .quiet = true, .sock = -1, .arg = arg};
	rc = give_lcores(conf, &here.end, &there.end);
	/* Both are started before either is waited for: the link of a cable needs both of its ends. */
	if (rc == 0)
		rc = rport_start(&here.end.port, conf, 0);
	if (rc == 0 && conf->self != 0)
		rc = rport_start(&there.end.port, conf, 1);
	if (rc == 0)
		rc = rport_open(&here.end.port, conf, 0);
	if (rc == 0 && conf->self != 0)
		rc = rport_open(&there.end.port, conf, 1);
	if (rc == 0)
		rc = conf->self != 0 ? run_both(&here, &there) : run_end(&here);
	clean = rport_close(&there.end.port);
	clean = rport_close(&here.end.port) && clean;
	rend_hangup(&there.end);
	rend_hangup(&here.end);
	if (clean) {
		app_eal_end();
		return rc == 0 ? 0 : 1;
	}
	/* The interrupt thread still serves a port: nothing may be taken down under it. */
	fflush(NULL);
	app_eal_remove_folder();
	_exit(rc == 0 ? 0 : 1);
}
