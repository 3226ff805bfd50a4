/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A subnet manager says what it is by keeping a file of the port open. Here it is a FIFO: it can be opened for writing only
 * while somebody reads it, and tells when the last reader has gone, however that went.
 */
#include "umad_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS (10ull * 1000 * 1000)

int
umad_issm_open(struct tp_umad *u, struct lent_port *p)
{
	int err;

	p->fifo_fd = -1;
	snprintf(p->fifo, sizeof(p->fifo), UMAD_PROTO_ISSM, u->path, p->ca, p->num);
	err = umad_clear(p->fifo, S_IFIFO);
	if (err != 0)
		return err;
	return mkfifo(p->fifo, 0600) == 0 ? 0 : -errno;
}

static void
look(struct lent_port *p)
{
	struct pollfd pfd = {.fd = p->fifo_fd};

	if (p->fifo_fd < 0) {
		p->fifo_fd = open(p->fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (p->fifo_fd >= 0 && p->p.issm != NULL)
			p->p.issm(p->p.arg, true);
		return;
	}
	if (poll(&pfd, 1, 0) != 1 || (pfd.revents & POLLERR) == 0)
		return;
	close(p->fifo_fd);
	p->fifo_fd = -1;
	if (p->p.issm != NULL)
		p->p.issm(p->p.arg, false);
}

void
umad_issm_close(struct lent_port *p)
{
	if (p->fifo_fd >= 0) {
		close(p->fifo_fd);
		if (p->p.issm != NULL)
			p->p.issm(p->p.arg, false);
	}
	p->fifo_fd = -1;
	unlink(p->fifo);
}

void
umad_issm_look(struct tp_umad *u)
{
	for (unsigned int i = 0; i < u->num_ports; i++)
		look(&u->port[i]);
}

void
umad_issm_poll(struct tp_umad *u)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
	if (now - u->issm_ns < LOOK_NS)
		return;
	u->issm_ns = now;
	umad_issm_look(u);
}
