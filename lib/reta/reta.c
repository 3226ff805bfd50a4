/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "reta.h"

#define LOG(who, fmt, ...)                                                                                             \
	rte_log(RTE_LOG_ERR, (who)->logtype, "%s: port %u: " fmt "\n", (who)->driver, (who)->port_id, ##__VA_ARGS__)
/* Shares of a table for a count that is no power of two differ by at most one part in this. */
#define EVENNESS 8u

const uint8_t reta_rss_default_key[RETA_RSS_KEY_LEN] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

uint16_t
reta_even(uint16_t *table, const uint16_t *queue, uint16_t n, uint16_t size)
{
	uint16_t len, i;

	n = RTE_MIN(n, size);
	len = n;
	if (n != 0 && !rte_is_power_of_2(n))
		len = (uint16_t)RTE_MIN(rte_align32pow2(EVENNESS * n), (uint32_t)size);
	for (i = 0; i < len; i++)
		table[i] = queue[i % n];
	return len;
}

uint16_t
reta_period(const uint16_t *table, uint16_t size)
{
	uint16_t period, i;

	for (period = 1; period < size; period <<= 1) {
		for (i = period; i < size; i++)
			if (table[i] != table[i - period])
				break;
		if (i >= size)
			break;
	}
	return period;
}

static int
size_check(const struct reta_who *who, uint16_t size, uint16_t conf_size)
{
	if (conf_size == size)
		return 0;
	LOG(who, "indirection table of %u entries, this port has %u", conf_size, size);
	return -EINVAL;
}

int
reta_set(const struct reta_who *who, uint16_t *table, uint16_t size, uint16_t queues,
	 const struct rte_eth_rss_reta_entry64 *conf, uint16_t conf_size)
{
	int ret = size_check(who, size, conf_size);
	uint16_t next[RETA_MAX], i;

	if (ret != 0)
		return ret;
	memcpy(next, table, size * sizeof(*table));
	for (i = 0; i < size; i++) {
		const struct rte_eth_rss_reta_entry64 *group = &conf[i / RTE_ETH_RETA_GROUP_SIZE];
		uint16_t q = group->reta[i % RTE_ETH_RETA_GROUP_SIZE];

		if (!(group->mask & RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE)))
			continue;
		if (q >= queues) {
			LOG(who, "entry %u names queue %u, allowed are 0..%u", i, q, queues - 1);
			return -EINVAL;
		}
		next[i] = q;
	}
	memcpy(table, next, size * sizeof(*table));
	return 0;
}

int
reta_get(const struct reta_who *who, const uint16_t *table, uint16_t size, struct rte_eth_rss_reta_entry64 *conf,
	 uint16_t conf_size)
{
	int ret = size_check(who, size, conf_size);
	uint16_t i;

	for (i = 0; ret == 0 && i < size; i++)
		if (conf[i / RTE_ETH_RETA_GROUP_SIZE].mask & RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE))
			conf[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = table[i];
	return ret;
}

int
reta_rss_check(const struct reta_who *who, const struct rte_eth_rss_conf *conf, uint64_t known)
{
	if (conf->rss_hf & ~known) {
		LOG(who, "RSS types 0x%" PRIx64 " are not supported, supported are 0x%" PRIx64, conf->rss_hf & ~known,
		    known);
		return -EINVAL;
	}
	if (conf->rss_key != NULL && conf->rss_key_len != 0 && conf->rss_key_len != RETA_RSS_KEY_LEN) {
		LOG(who, "RSS key of %u bytes, %u are needed", conf->rss_key_len, RETA_RSS_KEY_LEN);
		return -EINVAL;
	}
	return 0;
}
