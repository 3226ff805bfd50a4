/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Single queues of a ConnectX-3 port: how full they are, while others poll them, and when they interrupt.
 *
 * The functions may be called from any thread, also while the port is started or stopped, but not while it is closed.
 * Bursts know nothing of them: figures are of one moment and may be off by the burst that runs.
 */
#ifndef RTE_PMD_MLX4_QUEUE_H
#define RTE_PMD_MLX4_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tp_qos.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A receive queue at one moment. */
struct rte_pmd_mlx4_rx_load {
	bool started;
	uint16_t descriptors; /**< of the ring, or of each ring where the queue has several */
	uint32_t posted;      /**< buffers that the card has, frames that wait to be taken among them */
	uint32_t waiting;     /**< frames that wait to be taken */
	uint64_t packets;     /**< since the last reset of the counters, as the next ones */
	uint64_t nombuf;      /**< descriptors that were not refilled at once since the pool was empty */
	uint64_t errors;      /**< frames that came with an error */
	int numa_node;        /**< of the ring's memory, -1: any */
};

/** A transmit queue at one moment. */
struct rte_pmd_mlx4_tx_load {
	bool started;
	uint16_t descriptors;
	uint32_t used;    /**< blocks of 64 bytes of the ring that are posted and not freed yet */
	uint32_t room;    /**< such blocks that can be in use at once */
	uint64_t packets; /**< handed to the card since the last reset of the counters */
	int numa_node;    /**< of the ring's memory, -1: any */
};

/** Fills @p load. @return 0, -ENODEV (not a port of this driver), -EINVAL (the queue is not set up). */
int rte_pmd_mlx4_rx_load_get(uint16_t port_id, uint16_t queue, struct rte_pmd_mlx4_rx_load *load);

/** Fills @p load. @return 0, -ENODEV (not a port of this driver), -EINVAL (the queue is not set up). */
int rte_pmd_mlx4_tx_load_get(uint16_t port_id, uint16_t queue, struct rte_pmd_mlx4_tx_load *load);

/** What a port has counted since it was configured, whatever rte_eth_stats_reset() did; as the fields of rte_eth_stats. */
struct rte_pmd_mlx4_totals {
	uint64_t rx_packets, rx_bytes, rx_missed, rx_nombuf, rx_errors;
	uint64_t tx_packets, tx_bytes, tx_errors;
};

/**
 * Fills @p totals. A queue that is set up again begins at zero.
 * @return 0, -ENODEV (not a port of this driver), or an error of the card
 */
int rte_pmd_mlx4_totals_get(uint16_t port_id, struct rte_pmd_mlx4_totals *totals);

/**
 * Fills @p totals with what the port's queues have counted themselves, in software: it costs the card no command. What the card
 * alone knows, as rx_missed, is missing.
 * @return 0, -ENODEV (not a port of this driver)
 */
int rte_pmd_mlx4_queue_totals_get(uint16_t port_id, struct rte_pmd_mlx4_totals *totals);

/**
 * Moderates the receive interrupts of a queue: an interrupt that is enabled comes with the completion number @p count since
 * it was enabled or @p us after the first one, whichever is first. It stays over stop and start of port and queue, and ends
 * when the queue is set up again. The values of a new queue are 0.
 * @param count completions; 0: only the time counts
 * @param us microseconds; 0: no interrupt waits, whatever the count
 * @return 0, -ENODEV (not a port of this driver), -EINVAL (the queue is not set up), -ENOTSUP (the port was not configured
 *         with receive interrupts), or an error of the card, and the old values hold
 */
int rte_pmd_mlx4_rx_moderation_set(uint16_t port_id, uint16_t queue, uint16_t count, uint16_t us);

/** The values in force. @return 0, -ENODEV, -EINVAL. */
int rte_pmd_mlx4_rx_moderation_get(uint16_t port_id, uint16_t queue, uint16_t *count, uint16_t *us);

/** Protocols of a frame, of the inner headers where the card looked into a tunnel. A fragment has no transport. */
enum rte_pmd_mlx4_rx_proto {
	RTE_PMD_MLX4_RX_IPV4,
	RTE_PMD_MLX4_RX_IPV4_TCP,
	RTE_PMD_MLX4_RX_IPV4_UDP,
	RTE_PMD_MLX4_RX_IPV6,
	RTE_PMD_MLX4_RX_IPV6_TCP,
	RTE_PMD_MLX4_RX_IPV6_UDP,
	RTE_PMD_MLX4_RX_OTHER,
	RTE_PMD_MLX4_RX_PROTOS
};

/** What kinds of frames a receive queue has had while its port counted, each segment by itself that TCP_LRO joins. */
struct rte_pmd_mlx4_rx_kinds {
	/** [1: spread by a hash, 0: not][1: in a tunnel that the card looked into, 0: not][protocols] */
	uint64_t packets[2][2][RTE_PMD_MLX4_RX_PROTOS];
	bool counting; /**< the port counts now */
};

/**
 * Begins or ends to count frames by kind on all receive queues of a port, live; bursts that do not count have no cost of it.
 * Counters stay until rte_eth_stats_reset() or until the port is closed.
 * @return 0, -ENODEV (not a port of this driver), -ENOMEM
 */
int rte_pmd_mlx4_rx_kinds_count(uint16_t port_id, bool on);

/** Fills @p kinds. @return 0, -ENODEV (not a port of this driver), -EINVAL (the queue is not set up). */
int rte_pmd_mlx4_rx_kinds_get(uint16_t port_id, uint16_t queue, struct rte_pmd_mlx4_rx_kinds *kinds);

/** Octets of a port's RSS key. */
#define RTE_PMD_MLX4_RSS_KEY_LEN 40u

/**
 * Fills a Toeplitz key that sends both directions of a flow to the same queue: 0x6d5a over and over (Woo and Park, "Scalable TCP
 * Session Monitoring with Symmetric Receive-side Scaling", 2012). Hashes have at most 16 significant bits then. Give it to
 * rte_eth_dev_rss_hash_update(). Any thread.
 * @param len octets of @p key: even, RTE_PMD_MLX4_RSS_KEY_LEN or more
 * @return 0, -EINVAL
 */
int rte_pmd_mlx4_rss_key_symmetric(uint8_t *key, size_t len);

/**
 * Which queue gets the frames that RSS has no hash of: no IP, fragments, types that are off. 0, at first: the one of the
 * indirection table's first entry; so does a queue that the table does not name, until it does. Live; stays over stop, start and
 * configuration. Groups have queues of their own for such frames.
 * @param queue below the number of receive queues, while the port is stopped 0..255
 * @param[out] err one line that names the value and what is wanted, when refused
 * @return 0, -ENODEV (not a port of this driver), -EINVAL, or what kept the table from being made anew, and nothing changed
 */
int rte_pmd_mlx4_rss_default_queue_set(uint16_t port_id, uint16_t queue, char err[TP_ERR_LEN]);

/** What was asked for. @return 0, -ENODEV. */
int rte_pmd_mlx4_rss_default_queue_get(uint16_t port_id, uint16_t *queue);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_MLX4_QUEUE_H */
