/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Groups of queues from the inside: group.c has the list and the public functions, card.c puts a change of the list on the
 * card, queue.c does what a group asks of single queues.
 */
#ifndef MLX4_GROUP_GROUP_H
#define MLX4_GROUP_GROUP_H

#include "rte_pmd_mlx4_group.h"
#include "drivers/mlx4/steer/spread.h"

#define MLX4_VID_MASK 0x0fffu

/* Steering rules of a group. */
struct mlx4_group_rules {
	bool up;
	struct rte_ether_addr mac;
	uint16_t vlan;
	bool untagged, flood;
	bool copied; /* flood: by software */
	uint64_t unicast, bcast, mcast;
};

struct mlx4_group {
	struct tp_group conf;
	struct rte_mempool *mp;     /* of conf.mempool, NULL: each queue's own */
	struct mlx4_spread *spread; /* NULL: not on the card */
	struct mlx4_group_rules rules;
	uint16_t turn;                        /* which of the two priorities of a rule is in use */
	struct rte_pmd_mlx4_group_stats past; /* of queues that left */
	struct rte_ring *copies;              /* flood.h; NULL: the card gives them */
	uint64_t flood_drops;
};

struct mlx4_groups {
	unsigned int num;
	struct mlx4_group *g[TP_GROUPS];
	struct mlx4_group *owner[MLX4_ETH_MAX_RXQ];             /* by queue, NULL: in the default set */
	bool treated[MLX4_ETH_MAX_RXQ];                         /* as a group wants it */
	struct rte_pmd_mlx4_group_stats base[MLX4_ETH_MAX_RXQ]; /* counters of a queue when it joined its group */
};

/* --- group.c --- */
int mlx4_groups_create(struct mlx4_eth *eth);
void mlx4_groups_destroy(struct mlx4_eth *eth);
/* -EBUSY: a group needs more receive queues than the port is going to have. */
int mlx4_groups_check_configure(const struct mlx4_eth *eth, uint16_t num_rxq);

/* --- card.c --- */
/* RTE_ETH_RSS_* that a group asks for. */
uint64_t mlx4_group_rss_hf(const struct tp_group *g);
/* Gives the VLANs that groups name to the card, when the port filters by VLAN. */
int mlx4_groups_vlan_apply(struct mlx4_eth *eth);
/* Different queues that get frames. */
uint16_t mlx4_group_used(const struct mlx4_eth *eth, const struct mlx4_group *g);
/*
 * After a change of the list on a started port: g is the group that is new, changed or (gone) removed, before is eth->taken
 * as it was before the change. On failure the card is as it was; the caller restores the list.
 */
int mlx4_group_apply(struct mlx4_eth *eth, struct mlx4_group *g, bool gone, const bool *before, char err[TP_ERR_LEN]);
/* Behind start and before stop of the default set. */
int mlx4_groups_start(struct mlx4_eth *eth);
void mlx4_groups_stop(struct mlx4_eth *eth);

/* --- queue.c --- */
struct mlx4_group *mlx4_group_of(const struct mlx4_eth *eth, uint16_t queue);
/* A queue of a group was started or stopped; what all groups share is another one. */
int mlx4_group_refresh(struct mlx4_eth *eth, uint16_t queue);
int mlx4_groups_refresh(struct mlx4_eth *eth);
/* Owners, pools and counters of the queues follow the list, and so does what struct mlx4_eth knows of groups. */
void mlx4_groups_assign(struct mlx4_eth *eth);
/*
 * Priority, rate, marks, checks and dropless mode of the queues follow the list. group_treat, for one queue, is called
 * with the lock of the port's quality of service.
 */
int mlx4_groups_treat(struct mlx4_eth *eth, char err[TP_ERR_LEN]);
int mlx4_group_treat(struct mlx4_eth *eth, uint16_t queue, char err[TP_ERR_LEN]);
/* The counters of a queue are about to go with it; they are other ones now. */
void mlx4_group_queue_gone(struct mlx4_eth *eth, uint16_t queue);
void mlx4_group_queue_new(struct mlx4_eth *eth, uint16_t queue);
void mlx4_groups_stats_reset(struct mlx4_eth *eth);
void mlx4_group_stats(const struct mlx4_eth *eth, const struct mlx4_group *g, struct rte_pmd_mlx4_group_stats *st);

#endif /* MLX4_GROUP_GROUP_H */
