/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A failover pair on ports of two cards at a switch, and a third port as its neighbour. */
#ifndef IPOIB_PAIR_RIG_H
#define IPOIB_PAIR_RIG_H

#include "port_rig.h"

#define IP_A PR_IP_A
#define IP_B PR_IP_B
#define PRIMARY PR_PORT(1)
#define BACKUP "net_mlx4_model1/1"
#define BOTH "primary=" PRIMARY ",backup=" BACKUP

/* What the neighbour makes of the GUIDs (docs/ipoib.md). */
extern const struct rte_ether_addr primary_mac, backup_mac;
extern uint16_t pair, peer;
extern struct tp_ipoib_pair_info begin; /* as pair_all_up() left it */

/* Cards, manager and neighbour; the same and a pair; their end, with a look at what is left. */
int pair_setup_cards(void **state);
int pair_setup(void **state);
int pair_teardown(void **state);
/* net_ib_pair0 with these arguments beside its ports. */
void pair_plug(const char *args);
struct tp_ipoib_pair_info pair_info(void);
void pair_wait_carries(unsigned int member);
/* Of the pair that was started. */
void pair_members_up(void);
/* All start; the primary port carries. */
void pair_all_up(uint16_t queues);
/* A port that is up may be asked for once the pair has seen that it is. */
void pair_make_active(unsigned int member);
/* Both ways, with the neighbour's name for who carries; the application sees one MAC and one port. */
void pair_exchange(const struct rte_ether_addr *want);

#endif /* IPOIB_PAIR_RIG_H */
