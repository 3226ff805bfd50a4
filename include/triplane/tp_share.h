/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Ports that this process has open for RoCE or InfiniBand (tp_roce.h), shared with programs of libibverbs and librdmacm:
 * unmodified programs that preload libtriplane-verbs.so and libtriplane-rdmacm.so, or run by triplane-run, find the ports as
 * devices. Control calls go over a Unix socket. Queues lie in memory of both processes, so that work requests and completions
 * need no call.
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

/** What there can be only so much of: connections of all programs, all others of each connection. */
enum tp_share_limit {
	TP_SHARE_CONNECTIONS, /**< 1..TP_SHARE_GUESTS; 64 */
	TP_SHARE_OBJECTS,     /**< of all kinds, 1..1048576; 65536 */
	TP_SHARE_QPS,         /**< queue pairs, 1..1048576; 65536, as the next ones */
	TP_SHARE_CQS,
	TP_SHARE_SRQS,
	TP_SHARE_REGIONS,
	TP_SHARE_AHS,
	TP_SHARE_QUEUE_BYTES,  /**< memory of queues, 1..2^40; 256 MiB */
	TP_SHARE_REGION_BYTES, /**< memory of registered regions, 1..2^50; 64 GiB */
	TP_SHARE_LIMITS
};
/** "connections", "objects", "queue-pairs" ... NULL: there is no such limit. */
const char *tp_share_limit_name(unsigned int limit);
/** Default and largest value; the smallest is 1. limit < TP_SHARE_LIMITS. */
void tp_share_limit_range(enum tp_share_limit limit, uint64_t *def, uint64_t *max);

#define TP_SHARE_MODE 0600u /**< who may call: the owner's user */

struct tp_share_conf {
	const char *path;                /**< NULL: TP_SHARE_PATH, whose folder is made */
	uint64_t limit[TP_SHARE_LIMITS]; /**< 0: the default */
	mode_t mode; /**< of the socket, such as 0660; 0: TP_SHARE_MODE. Who may write to it may call */
	/** Of the socket, its name or number; who is in it may have raw packet queue pairs. NULL: that of the process, without these. */
	const char *group;
};

struct tp_share;

/**
 * Shares all ports that are open, and those that will be.
 * @param conf NULL: all defaults
 * @return 0, or a negative errno: EINVAL a value out of its range, ENOENT no such group, ENAMETOOLONG, EADDRINUSE another
 *   process serves that socket, EEXIST something that is no socket has that name, ENOMEM, or what bind(2) says.
 */
int tp_share_start(const struct tp_share_conf *conf, struct tp_share **share);
/** Guests lose their devices. When it returns, nothing of theirs is left. NULL: nothing to do. */
void tp_share_stop(struct tp_share *share);
/**
 * Other limits, mode and group from now on; who has more than a limit keeps it. conf->path does not matter.
 * @return 0, or what tp_share_start() says of them; then nothing has changed. ENOENT: there is no such group.
 */
int tp_share_change(struct tp_share *share, const struct tp_share_conf *conf);

struct tp_share_stats {
	unsigned int guests;         /**< connected now, with a device open */
	uint64_t connected, refused; /**< connections so far; those that found no room or spoke another version */
	uint64_t calls, failed;      /**< control calls; those that were refused */
	uint64_t calls_per_s;        /**< of all guests now, in the last whole second */
	uint64_t unsaid;             /**< refusals that have no line in the log, since there were too many */
	unsigned int objects;        /**< of all guests now */
	unsigned int ids;            /**< of connections, which are objects, too */
	uint64_t ring_bytes, region_bytes;
	uint64_t limited[TP_SHARE_LIMITS]; /**< what a limit refused */
};
void tp_share_stats_get(struct tp_share *share, struct tp_share_stats *stats);

/** One connection: an open device, or what a program has of connection management. */
struct tp_share_guest {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	char device[64]; /**< "rdma_cm": of connection management */
	unsigned int qps, cqs, srqs, mrs, ahs, ids;
	unsigned int listening; /**< of ids, those that wait for requests */
	uint64_t ring_bytes, region_bytes, calls, failed, calls_per_s;
};
/** @return how many there are; the first max of them are in guest. */
unsigned int tp_share_guests_get(struct tp_share *share, struct tp_share_guest *guest, unsigned int max);

#ifdef __cplusplus
}
#endif

#endif /* TP_SHARE_H */
