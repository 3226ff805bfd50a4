/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Failover pairs: one ethdev on two InfiniBand ports, of which one carries. When that is not up (its link, its state, its
 * partition), the other one takes over what the application sends and receives, with neighbours, addresses and groups, and
 * tells the neighbours. Made by `--vdev=net_ib_pair0,primary=net_mlx4_model0/1,backup=net_mlx4_model0/2` or at run time.
 *
 * Errors: functions give 0 or a negative errno; a refusal is one line in the log. Threads: any.
 */
#ifndef TP_IPOIB_PAIR_H
#define TP_IPOIB_PAIR_H

#include "tp_ipoib.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TP_IPOIB_PAIR_MEMBERS 2u   /**< 0 is the primary one, 1 the backup */
#define TP_IPOIB_FAILBACK_MS 1000u /**< default */
#define TP_IPOIB_FAILBACK_MS_MAX 600000u

/** What a pair is made with. */
struct tp_ipoib_pair_conf {
	char device[TP_IPOIB_PAIR_MEMBERS][TP_IPOIB_NAME]; /**< two InfiniBand ports */
	struct tp_ipoib_conf port;                         /**< of both; its device is not used */
	bool failback;        /**< the primary port gets the traffic back when it is up again */
	uint32_t failback_ms; /**< and has been for so long, 0..TP_IPOIB_FAILBACK_MS_MAX */
};

/**
 * Makes a pair, an ethdev net_ib_pairN; its two ports are ethdevs that belong to it.
 * @param[out] port_id
 * @return 0; -EINVAL a value out of its range or one port twice, and what tp_ipoib_add() returns.
 */
int tp_ipoib_pair_add(const struct tp_ipoib_pair_conf *conf, uint16_t *port_id);
/** Takes a stopped pair away, and its two ports. @return 0, -ENODEV, -EBUSY it is started. */
int tp_ipoib_pair_rem(uint16_t port_id);
/**
 * Makes a port the one that carries, until it goes down.
 * @param member 0: the primary one, 1: the backup.
 * @return 0; -ENODEV no pair, -EINVAL no such member, -ENETDOWN that port is not up.
 */
int tp_ipoib_pair_set_active(uint16_t port_id, unsigned int member);

/** A pair as it is. */
struct tp_ipoib_pair_info {
	char name[TP_IPOIB_NAME];
	uint16_t member[TP_IPOIB_PAIR_MEMBERS]; /**< port ids, for tp_ipoib_info() and its like */
	unsigned int active;
	bool up; /**< the one that carries is up */
	bool failback;
	bool kept; /**< the active one was asked for: no failback from it */
	uint32_t failback_ms;
	uint64_t failovers;       /**< moves because the active port was not up any more */
	uint64_t failbacks;       /**< moves back to the primary port */
	uint64_t asked;           /**< moves by tp_ipoib_pair_set_active() */
	uint64_t announced;       /**< addresses told to neighbours, each several times a move */
	uint64_t standby_dropped; /**< frames of groups that the other port received, too */
};
/** @return 0, -ENODEV: no pair. */
int tp_ipoib_pair_info(uint16_t port_id, struct tp_ipoib_pair_info *info);

#ifdef __cplusplus
}
#endif

#endif /* TP_IPOIB_PAIR_H */
