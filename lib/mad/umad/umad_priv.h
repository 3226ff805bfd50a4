/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The server's parts: umad.c (sockets and questions), umad_data.c (datagrams), umad_issm.c (who is a subnet manager). */
#ifndef MAD_UMAD_UMAD_PRIV_H
#define MAD_UMAD_UMAD_PRIV_H

#include <sys/queue.h>
#include <sys/types.h>
#include <sys/un.h>

#include "tp_mad.h"
#include "tp_umad.h"
#include "umad_proto.h"

struct umad_client;
struct umad_agent {
	struct umad_client *client;
	struct tp_mad_agent *agent; /* NULL: free */
	uint32_t id;
};

struct lent_port {
	struct tp_umad_port p;
	char ca[TP_UMAD_NAME];
	uint32_t num;
	char fifo[sizeof(((struct sockaddr_un *)0)->sun_path) + 48];
	int fifo_fd; /* -1: nobody has it open */
};

struct umad_client {
	TAILQ_ENTRY(umad_client) next;
	struct tp_umad *umad;
	int ask_fd, data_fd;
	struct lent_port *port; /* NULL: none open */
	struct umad_agent agent[TP_UMAD_AGENTS];
};

struct tp_umad {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int fd;
	TAILQ_HEAD(, umad_client) clients;
	unsigned int num_clients, num_ports;
	struct lent_port port[TP_UMAD_PORTS];
	struct tp_umad_stats stats;
	uint64_t issm_ns;
	uint8_t *buf; /* of one message */
};

/* --- umad.c --- */
/* Removes what an earlier server left; -EEXIST: something of another type is there, which is not ours to remove. */
int umad_clear(const char *path, mode_t type);

/* --- umad_data.c --- */
/* An agent of a client got something. */
void umad_to_program(void *arg, const struct tp_mad_msg *msg);
/* All that a program sent. false: its connection is over. */
bool umad_from_program(struct umad_client *c, unsigned int *done);

/* --- umad_issm.c --- */
int umad_issm_open(struct tp_umad *u, struct lent_port *p);
void umad_issm_close(struct lent_port *p);
/*
 * A program that has opened the file finds the port changed in all that it asks afterwards, as with a kernel, where the
 * call changes it: looked before each of its datagrams. What ends is found by umad_issm_poll().
 */
void umad_issm_look(struct tp_umad *u);
void umad_issm_poll(struct tp_umad *u);

#endif /* MAD_UMAD_UMAD_PRIV_H */
