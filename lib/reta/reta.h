/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What ethdevs with receive-side scaling have in common: the indirection table, and what an application may ask for. */
#ifndef RETA_RETA_H
#define RETA_RETA_H

#include <rte_ethdev.h>

#define RETA_MAX 128u        /* entries */
#define RETA_RSS_KEY_LEN 40u /* octets of a Toeplitz key */

/** The key of the published verification vectors. */
extern const uint8_t reta_rss_default_key[RETA_RSS_KEY_LEN];

/** Whose messages they are. */
struct reta_who {
	const char *driver;
	uint16_t port_id;
	int logtype;
};

/**
 * A table of shares for n queues that differ by one part in eight at most; n of them when that is a power of two.
 * @param[out] table room for size entries, size a power of two
 * @return its entries, a power of two; with more than size queues it has the first ones.
 */
uint16_t reta_even(uint16_t *table, const uint16_t *queue, uint16_t n, uint16_t size);
/** After how many entries, a power of two, a table of size entries repeats; size: it does not. */
uint16_t reta_period(const uint16_t *table, uint16_t size);

/**
 * What rte_eth_dev_rss_reta_update() asks for; table: of size entries, unchanged after a refusal.
 * @return 0, -EINVAL: another size, or a queue that is not below queues.
 */
int reta_set(const struct reta_who *who, uint16_t *table, uint16_t size, uint16_t queues,
	     const struct rte_eth_rss_reta_entry64 *conf, uint16_t conf_size);
/** What rte_eth_dev_rss_reta_query() asks for. @return 0, -EINVAL: another size. */
int reta_get(const struct reta_who *who, const uint16_t *table, uint16_t size, struct rte_eth_rss_reta_entry64 *conf,
	     uint16_t conf_size);
/** Types that are all of known, and a key of the right length or none. @return 0, -EINVAL. */
int reta_rss_check(const struct reta_who *who, const struct rte_eth_rss_conf *conf, uint64_t known);

#endif /* RETA_RETA_H */
