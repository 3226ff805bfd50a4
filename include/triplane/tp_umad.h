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

#ifdef __cplusplus
extern "C" {
#endif

#define TP_UMAD_PATH "/run/triplane-umad.sock" /**< where the preload library looks for a server, unless it is told */
#define TP_UMAD_NAME 20u                       /**< octets of a name, with the 0 at its end */
#define TP_UMAD_PKEYS 128u                     /**< of a port's table */
#define TP_UMAD_PORTS 16u
#define TP_UMAD_CLIENTS 64u
#define TP_UMAD_AGENTS 32u /**< of a program's open port */

struct tp_mad;
struct tp_umad;

/** A port as programs of libibumad see it, in host order. */
struct tp_umad_desc {
	char ca[TP_UMAD_NAME];
	uint32_t port, ports; /**< which, and how many the adapter has */
	uint32_t lid, lmc, sm_lid, sm_sl, state, phys_state, rate, capmask;
	uint64_t gid_prefix, port_guid, node_guid, system_guid;
	uint32_t num_pkeys, pad;
	char fw_ver[TP_UMAD_NAME], hw_ver[TP_UMAD_NAME];
	char ca_type[40];
	uint16_t pkeys[TP_UMAD_PKEYS];
};

/** A port that is lent. */
struct tp_umad_port {
	struct tp_mad *mad;
	/** What programs are told of it; its name and number must stay the same. */
	void (*describe)(void *arg, struct tp_umad_desc *port);
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
