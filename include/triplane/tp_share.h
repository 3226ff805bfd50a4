/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Ports that this process has open for RoCE or InfiniBand (tp_roce.h), shared with programs of libibverbs and librdmacm:
 * unmodified programs that preload libtriplane-verbs.so and libtriplane-rdmacm.so, or run by triplane-run, find the ports as
 * devices. Control calls go over a Unix socket.
 * Queues lie in memory of both processes, so that work requests and completions need no call.
 *
 * A port is shared from when it is opened until it is closed. When it closes, its guests get IBV_EVENT_DEVICE_FATAL, their
 * requests end "flushed in error", and what they had is given back.
 */
#ifndef TP_SHARE_H
#define TP_SHARE_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_SHARE_PATH "/run/triplane/share" /**< where guests look, unless TRIPLANE_SHARE names another socket */
#define TP_SHARE_GUESTS 256u /**< most connections: open devices of all guests, and one for each of librdmacm */

/** Limits of each connection; 0 stands for the default. */
struct tp_share_conf {
	const char *path;      /**< NULL: TP_SHARE_PATH, whose folder is made */
	unsigned int guests;   /**< connections, 1..TP_SHARE_GUESTS; 64 */
	unsigned int objects;  /**< of all kinds, 1..1048576; 65536 */
	uint64_t ring_bytes;   /**< memory of queues; 256 MiB */
	uint64_t region_bytes; /**< memory of registered regions; 64 GiB */
};

struct tp_share;

/**
 * Shares all ports that are open, and those that will be.
 * @param conf NULL: all defaults
 * @return 0, or a negative errno: EINVAL a value out of its range, ENAMETOOLONG, EADDRINUSE another process serves that socket,
 *   EEXIST something that is no socket has that name, ENOMEM, or what bind(2) says.
 */
int tp_share_start(const struct tp_share_conf *conf, struct tp_share **share);
/** Guests lose their devices. When it returns, nothing of theirs is left. NULL: nothing to do. */
void tp_share_stop(struct tp_share *share);

struct tp_share_stats {
	unsigned int guests;         /**< connected now, with a device open */
	uint64_t connected, refused; /**< connections so far; those that found no room or spoke another version */
	uint64_t calls, failed;      /**< control calls; those that were refused */
	unsigned int objects;        /**< of all guests now */
	unsigned int ids;            /**< of connections, which are objects, too */
	uint64_t ring_bytes, region_bytes;
};
void tp_share_stats_get(struct tp_share *share, struct tp_share_stats *stats);

/** One connection: an open device, or what a program has of connection management. */
struct tp_share_guest {
	pid_t pid;
	uid_t uid;
	char device[64]; /**< "rdma_cm": of connection management */
	unsigned int qps, cqs, srqs, mrs, ids;
	unsigned int listening; /**< of ids, those that wait for requests */
	uint64_t ring_bytes, region_bytes, calls, failed;
};
/** @return how many there are; the first max of them are in guest. */
unsigned int tp_share_guests_get(struct tp_share *share, struct tp_share_guest *guest, unsigned int max);

#ifdef __cplusplus
}
#endif

#endif /* TP_SHARE_H */
