/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Lends the management of InfiniBand ports to programs written for libibumad (OpenSM, the diagnostic tools): a Unix socket, to
 * which the preload library libtp_umad.so connects them. Agents, times and RMPP are the port's management service's; a program
 * that ends takes its agents with it.
 *
 * Errors are negative errno. Threads: one at a time calls a server.
 */
#ifndef TP_UMAD_H
#define TP_UMAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tp_mad.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TP_UMAD_PORTS 16u
#define TP_UMAD_CLIENTS 64u
#define TP_UMAD_AGENTS 32u /**< of a program's open port */

struct tp_umad;
struct umad_proto_port;

/** A port that is lent. */
struct tp_umad_port {
	struct tp_mad *mad;
	/** What programs are told of it; its name and number must stay the same. */
	void (*describe)(void *arg, struct umad_proto_port *port);
	/** A subnet manager runs on it, or does no more; may be NULL. */
	void (*issm)(void *arg, bool on);
	void *arg;
};

struct tp_umad_stats {
	uint64_t clients, opened, to_programs, from_programs;
	uint64_t dropped; /**< a program did not read, or the message is too long for its socket */
	uint64_t refused; /**< what a program asked for and could not have */
};

/**
 * Listens at path, which must not exist (a socket that nobody serves any more is taken over).
 * @return 0; -EADDRINUSE somebody serves it, -EEXIST a file of another kind is there, -ENAMETOOLONG, -EINVAL, -ENOMEM, or
 *   what the system said.
 */
int tp_umad_create(const char *path, struct tp_umad **umad);
/** Ports must be there still: their agents are taken back. */
void tp_umad_destroy(struct tp_umad *umad);
/** @return 0, -ENOSPC, -EEXIST such a port is lent already, or a file has the name of its FIFO. */
int tp_umad_add(struct tp_umad *umad, const struct tp_umad_port *port);
/** Looks after programs. @param wait_us for them, at most; 0: not at all. @return how much was done. */
unsigned int tp_umad_progress(struct tp_umad *umad, unsigned int wait_us);
void tp_umad_stats_get(const struct tp_umad *umad, struct tp_umad_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* TP_UMAD_H */
