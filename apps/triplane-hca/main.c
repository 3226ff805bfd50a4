/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * triplane-hca: cards as a process of their own. One thread serves all sockets; each card has a thread while it has a
 * client: without one it is in reset, and nothing that it could do would show.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rte_eal.h>

#include "apps/common/eal.h"
#include "hca.h"

struct card {
	const struct hca_card *opt;
	char prefix[HCA_TEXT]; /* of its lines, when there are several cards */
	struct tp_model *m;
	FILE *trace;
	bool serving; /* s is ready */
	struct vfu s;
	struct vfu_conn c;
};

struct hca {
	struct hca_options o;
	struct card *card[HCA_CARDS];
	unsigned int num; /* cards that were made */
};

static void
log_line(void *arg, const char *line)
{
	const struct card *k = arg;

	printf("triplane-hca: %s%s\n", k == NULL ? "" : k->prefix, line);
	fflush(stdout);
}

static void
card_line(void *arg, enum tp_model_line kind, const char *line)
{
	static const char *const word[] = {
		[TP_LINE_NOTE] = "",
		[TP_LINE_VIOLATION] = "violation: ",
		[TP_LINE_ADVICE] = "advice: ",
	};
	const struct card *k = arg;

	printf("triplane-hca: %scard: %s%s\n", k->prefix, word[kind], line);
	fflush(stdout);
}

static void
report(const struct hca *h)
{
	for (unsigned int i = 0; i < h->num; i++) {
		if (h->num > 1)
			printf("report: socket %s\n", h->card[i]->opt->socket);
		hca_report(stdout, h->card[i]->m, &h->card[i]->s);
	}
	hca_report_switches(stdout);
	printf("report: end\n");
	fflush(stdout);
}

/* True when the process is to end. */
static bool
take_signal(int fd, const struct hca *h)
{
	struct signalfd_siginfo si;

	if (read(fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return false;
	if (si.ssi_signo != SIGUSR1)
		return true;
	report(h);
	return false;
}

static void
take_client(struct card *k)
{
	int rc;

	vfu_accept(&k->s, &k->c);
	if (k->c.fd < 0)
		return;
	rc = tp_model_thread_start(k->m, k->opt->cpu, k->opt->wake_us);
	if (rc == 0)
		return;
	vfu_log(&k->s, "the card's thread does not start: %s", strerror(rc < 0 ? -rc : rc));
	vfu_hangup(&k->s, &k->c, "the card does not run");
}

static void
serve_card(struct card *k)
{
	if (k->c.fd < 0)
		take_client(k);
	else if (!vfu_input(&k->s, &k->c))
		tp_model_thread_stop(k->m);
}

static void
serve(struct hca *h, int sig_fd)
{
	for (;;) {
		struct pollfd pfd[HCA_CARDS + 1] = {{.fd = sig_fd, .events = POLLIN}};

		/* While a client is there, the next one waits in the socket's backlog. */
		for (unsigned int i = 0; i < h->num; i++) {
			const struct vfu_conn *c = &h->card[i]->c;

			pfd[i + 1] = (struct pollfd){.fd = c->fd >= 0 ? c->fd : c->listen_fd, .events = POLLIN};
		}
		if (poll(pfd, h->num + 1, -1) < 0 && errno != EINTR)
			break;
		if ((pfd[0].revents & POLLIN) != 0 && take_signal(sig_fd, h))
			break;
		for (unsigned int i = 0; i < h->num; i++)
			if (pfd[i + 1].revents != 0)
				serve_card(h->card[i]);
	}
	for (unsigned int i = 0; i < h->num; i++) {
		struct card *k = h->card[i];

		if (k->c.fd >= 0)
			vfu_hangup(&k->s, &k->c, "the card is going away");
		tp_model_thread_stop(k->m);
	}
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

static void
card_free(struct card *k)
{
	if (k->serving) {
		if (k->c.listen_fd >= 0) {
			close(k->c.listen_fd);
			unlink(k->opt->socket);
		}
		vfu_fini(&k->s);
	}
	tp_model_destroy(k->m);
	if (k->trace != NULL && k->trace != stdout)
		fclose(k->trace);
	free(k);
}

static int
open_trace(struct card *k, char error[HCA_TEXT])
{
	const char *name = k->opt->trace;

	if (name == NULL)
		return 0;
	k->trace = strcmp(name, "-") == 0 ? stdout : fopen(name, "w");
	if (k->trace == NULL) {
		int rc = -errno;

		snprintf(error, HCA_TEXT, "--trace '%.100s': %s", name, strerror(-rc));
		return rc;
	}
	tp_model_trace(k->m, k->trace);
	return 0;
}

static int
open_replay(struct card *k, char error[HCA_TEXT])
{
	char why[256];
	int rc;

	if (k->opt->replay == NULL)
		return 0;
	rc = tp_model_replay(k->m, k->opt->replay, why);
	if (rc != 0)
		snprintf(error, HCA_TEXT, "--replay %.230s", why);
	return rc;
}

/* Why nobody can be served at a path, and what to do. */
static const char *
socket_fault(int rc)
{
	switch (rc) {
	case -EADDRINUSE: return "another process serves that path; end it, or give another path";
	case -EEXIST: return "a file is there that is no socket; remove it, or give another path";
	case -ENAMETOOLONG: return "the path is too long; wanted at most 107 bytes";
	case -ENOENT: return "its directory does not exist; make it, or give another path";
	case -EACCES: return "this user may not make it there; give another path";
	default: return strerror(-rc);
	}
}

static int
listen_at(struct card *k, char error[HCA_TEXT])
{
	int rc = vfu_init(&k->s, k->m, log_line, k);

	if (rc != 0)
		return rc;
	k->serving = true;
	rc = vfu_listen(&k->c, k->opt->socket);
	if (rc != 0)
		snprintf(error, HCA_TEXT, "--socket '%.100s': %s", k->opt->socket, socket_fault(rc));
	return rc;
}

/* A card with its wires and its socket; what was made of it belongs to h also after an error. */
static int
card_make(struct hca *h, const struct hca_card *opt, char error[HCA_TEXT])
{
	struct card *k = calloc(1, sizeof(*k));
	int rc;

	snprintf(error, HCA_TEXT, "no memory for a card");
	if (k == NULL)
		return -ENOMEM;
	k->opt = opt;
	if (h->o.num_cards > 1)
		snprintf(k->prefix, sizeof(k->prefix), "%s: ", opt->socket);
	rc = tp_model_create(&opt->cfg, &k->m);
	if (rc != 0) {
		snprintf(error, HCA_TEXT, "the card cannot be made: %s", strerror(-rc));
		free(k);
		return rc;
	}
	h->card[h->num++] = k;
	tp_model_set_log(k->m, card_line, k);
	rc = hca_attach_wires(k->m, opt, h->o.eal != NULL, error);
	if (rc == 0)
		rc = open_replay(k, error);
	if (rc == 0)
		rc = open_trace(k, error);
	return rc != 0 ? rc : listen_at(k, error);
}

int
main(int argc, char **argv)
{
	static struct hca h;
	int rc = hca_parse(&h.o, argc, argv), sig_fd;
	bool eal = false;

	if (rc != 0) {
		if (rc < 0)
			fprintf(stderr, "triplane-hca: %s\n", h.o.error);
		hca_options_free(&h.o);
		return rc < 0 ? 2 : 0;
	}
	sig_fd = signals();
	if (h.o.eal != NULL) {
		rc = hca_eal_start(h.o.eal, h.o.error);
		eal = rc == 0;
	}
	for (unsigned int i = 0; rc == 0 && i < h.o.num_cards; i++)
		rc = card_make(&h, &h.o.card[i], h.o.error);
	if (rc == 0) {
		log_line(NULL, "ready");
		serve(&h, sig_fd);
		report(&h);
	} else {
		fprintf(stderr, "triplane-hca: %s\n", h.o.error);
	}
	for (unsigned int i = 0; i < h.num; i++)
		card_free(h.card[i]);
	if (eal)
		app_eal_end();
	hca_options_free(&h.o);
	close(sig_fd);
	return rc == 0 ? 0 : 1;
}
