/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames that know which queue they are for, and the account of what became of them. Port 0 sends, port 1 has groups. */
#ifndef GROUP_RIG_H
#define GROUP_RIG_H

#include "rig.h"

#define GROUP_DEFAULT_QUEUE 0
#define GROUP_MAX_FRAMES (1u << 17)

/* Set-up and teardown of a test: a stepped card; nothing may be left of it. */
int group_open(void **state);
int group_close(void **state);
/* mbufs for all queues. */
struct rte_mempool *group_pool(void);
/* Starts port 0 with one queue, port 1 with so many. */
void group_start(uint16_t queues, const struct rte_eth_conf *conf);
/* An address by number. */
struct rte_ether_addr group_mac(unsigned int n);
/* A declaration: address n, VLAN, queues first..first + num - 1; no flood, no RSS. */
struct tp_group group_conf(const char *name, unsigned int mac, uint16_t vlan, uint16_t first, uint16_t num);
/* Adds it and asserts how many queues are in use. */
void group_add(const struct tp_group *g, int used);
void group_modify(const struct tp_group *g, int used);
void group_remove(const char *name);
/* Asserts that add refuses g with this error, in a line that has these words, and that nothing has changed. */
void group_refused(const struct tp_group *g, int error, const char *word1, const char *word2);

/* An untagged (vlan 0xffff) or tagged frame to dst whose payload is its number; numbers count from group_account_reset. */
struct rte_mbuf *group_frame(const struct rte_ether_addr *dst, uint16_t vlan, uint32_t *number);
void group_account_reset(void);
/* Sends on queue 0 of port 0 without moving the card further than it has to. */
void group_tx(struct rte_mbuf *m);
/* What a number's frame should come to; asserted when it is received. -1: nobody. */
void group_expect(uint32_t number, int queue);
/* Polls every queue until nothing comes any more; asserts queue and that no number comes twice. Returns frames. */
unsigned int group_poll(void);
/* Frees what a queue of port 1 has, also behind a change of its rings; returns how many. */
unsigned int group_drain(uint16_t queue);
/* Numbers that were expected somewhere and did not come. */
unsigned int group_missing(void);

#endif /* GROUP_RIG_H */
