/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* triplane-hca: the card as a process of its own. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "hca.h"

static void
log_line(void *arg, const char *line)
{
	printf("triplane-hca: %s\n", line);
	fflush(stdout);
}

static void
card_line(void *arg, int is_violation, const char *line)
{
	printf("triplane-hca: card: %s%s\n", is_violation != 0 ? "violation: " : "", line);
	fflush(stdout);
}

/* True when the process is to end. */
static bool
take_signal(int fd, struct tp_model *m, const struct vfu *s)
{
	struct signalfd_siginfo si;

	if (read(fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return false;
	if (si.ssi_signo != SIGUSR1)
		return true;
	hca_report(stdout, m, s);
	return false;
}

static void
serve(struct vfu *s, struct vfu_conn *c, int sig_fd)
{
	for (;;) {
		/* While a client is there, the next one waits in the socket's backlog. */
		struct pollfd pfd[2] = {{.fd = sig_fd, .events = POLLIN},
					{.fd = c->fd >= 0 ? c->fd : c->listen_fd, .events = POLLIN}};

		if (poll(pfd, 2, -1) < 0 && errno != EINTR)
			break;
		if ((pfd[0].revents & POLLIN) != 0 && take_signal(sig_fd, s->model, s))
			break;
		if (pfd[1].revents == 0)
			continue;
		if (c->fd < 0)
			vfu_accept(s, c);
		else
			vfu_input(s, c);
	}
	if (c->fd >= 0)
		vfu_hangup(s, c, "the card is going away");
}

static int
signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	/* Before any thread starts, so that all of them leave these to the descriptor. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int
run(const struct hca_options *o, struct tp_model *m, int sig_fd)
{
	struct vfu_conn *c = calloc(1, sizeof(*c));
	struct vfu *s = calloc(1, sizeof(*s));
	int rc = -ENOMEM;

	if (c == NULL || s == NULL)
		goto out;
	rc = vfu_init(s, m, log_line, NULL);
	if (rc != 0)
		goto out;
	rc = vfu_listen(c, o->socket);
	if (rc != 0) {
		fprintf(stderr,
			"triplane-hca: --socket '%s': %s; wanted a path of at most 107 bytes that can be made\n",
			o->socket, strerror(-rc));
		goto out_vfu;
	}
	rc = tp_model_thread_start(m, o->cpu, o->wake_us);
	if (rc != 0) {
		fprintf(stderr, "triplane-hca: the card's thread does not start: %s\n", strerror(rc < 0 ? -rc : rc));
		goto out_socket;
	}
	log_line(NULL, "ready");
	serve(s, c, sig_fd);
	tp_model_thread_stop(m);
	hca_report(stdout, m, s);
out_socket:
	close(c->listen_fd);
	unlink(o->socket);
out_vfu:
	vfu_fini(s);
out:
	free(s);
	free(c);
	return rc;
}

int
main(int argc, char **argv)
{
	static struct hca_options o;
	struct tp_model *m;
	FILE *trace = NULL;
	int rc, sig_fd;

	rc = hca_parse(&o, argc, argv);
	if (rc != 0) {
		if (rc < 0)
			fprintf(stderr, "triplane-hca: %s\n", o.error);
		return rc < 0 ? 2 : 0;
	}
	sig_fd = signals();
	rc = tp_model_create(&o.card, &m);
	if (rc != 0) {
		fprintf(stderr, "triplane-hca: the card cannot be made: %s\n", strerror(-rc));
		return 1;
	}
	tp_model_set_log(m, card_line, NULL);
	rc = hca_attach_wires(m, &o, o.error);
	if (rc != 0)
		fprintf(stderr, "triplane-hca: %s\n", o.error);
	if (rc == 0 && o.trace != NULL) {
		trace = strcmp(o.trace, "-") == 0 ? stdout : fopen(o.trace, "w");
		if (trace == NULL) {
			rc = -errno;
			fprintf(stderr, "triplane-hca: --trace '%s': %s\n", o.trace, strerror(errno));
		}
		tp_model_trace(m, trace);
	}
	if (rc == 0)
		rc = run(&o, m, sig_fd);
	tp_model_destroy(m);
	if (trace != NULL && trace != stdout)
		fclose(trace);
	close(sig_fd);
	return rc == 0 ? 0 : 1;
}
