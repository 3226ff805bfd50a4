/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * rte_flow from the inside: items.c turns a pattern into the specifications of a steering rule, actions.c the actions into
 * a fate, target.c makes the rings that a fate needs, flow.c has the list of rules and the operations, error.c says what is
 * refused.
 *
 * A flow rule never targets the rings of the port's RSS set, which other settings rebuild: it gets rings of its own
 * (rx/sides.h). All rules of the same fate share them. The ring that a frame comes through tells its rule; that is what mark
 * and count are made of.
 */
#ifndef MLX4_FLOW_FLOW_H
#define MLX4_FLOW_FLOW_H

#include <rte_flow_driver.h>

#include "drivers/mlx4/rx/sides.h"
#include "drivers/mlx4/steer/spread.h"

/* The low 12 bits of a rule's priority are its place; each has a second one, for the successor of a rule that moves. */
#define MLX4_FLOW_PRIO_MAX 2047u
/* Ethernet, IPv4, TCP or UDP, VXLAN, Ethernet inside. */
#define MLX4_FLOW_SPECS_MAX (2 * MLX4_SPEC_ETH_SIZE + MLX4_SPEC_IPV4_SIZE + MLX4_SPEC_L4_SIZE + MLX4_SPEC_VXLAN_SIZE)

/* Specifications as the card takes them; what is behind len is zero. */
struct mlx4_flow_match {
	uint16_t len;
	uint8_t spec[MLX4_FLOW_SPECS_MAX];
};

/* What happens to frames. */
struct mlx4_flow_fate {
	uint16_t n; /* entries of queue, 0: the frames are dropped */
	uint16_t queue[MLX4_ETH_RETA_MAX];
	uint8_t hash; /* MLX4_RSS_F_* */
	bool xor_hash, mark, count;
	uint64_t ol_flags; /* of the mbufs, beside what is usual */
	uint32_t mark_id;
	uint8_t key[MLX4_RSS_KEY_SIZE];
};

struct mlx4_flow_rings {
	struct mlx4_spread *spread;
	uint16_t n;
	struct {
		uint16_t queue;
		struct mlx4_rx_side *side;
	} at[];
};

/* A fate that rules have. */
struct mlx4_flow_target {
	TAILQ_ENTRY(mlx4_flow_target) next;
	unsigned int refs; /* rules */
	struct mlx4_flow_fate fate;
	struct mlx4_flow_rings *rings;     /* NULL: frames are dropped, or the port is stopped */
	struct mlx4_rx_total past;         /* through rings that are gone */
	uint64_t seen_packets, seen_bytes; /* at the last reset of the counters */
};

struct rte_flow {
	TAILQ_ENTRY(rte_flow) next;
	uint16_t prio;
	uint16_t turn; /* which of the two places is in use */
	struct mlx4_flow_match match;
	struct mlx4_flow_target *target;
	uint64_t id, next_id; /* of the card's rule and of its successor, MLX4_NO_RULE: none */
};

struct mlx4_flows {
	TAILQ_HEAD(, rte_flow) list;
	TAILQ_HEAD(, mlx4_flow_target) targets;
	bool up; /* the rules are on the card */
};

/* --- flow.c, all with the port's control lock --- */
int mlx4_flows_create(struct mlx4_eth *eth);
void mlx4_flows_destroy(struct mlx4_eth *eth);
int mlx4_flow_ops_get(struct rte_eth_dev *dev, const struct rte_flow_ops **ops);
/* -EBUSY: a rule names a receive queue that the port is not going to have. */
int mlx4_flows_check_configure(const struct mlx4_eth *eth, uint16_t num_rxq);
/* Behind start and before stop of the queues; rules outlive a stop. */
int mlx4_flows_start(struct mlx4_eth *eth);
void mlx4_flows_stop(struct mlx4_eth *eth);
/* Queues were started or stopped, or have other buffers: rules go over to new rings. On failure all is as it was. */
int mlx4_flows_refresh(struct mlx4_eth *eth);

/* --- error.c --- */
/* Fills an error and returns -code. The text is the thread's, good until its next refusal. */
int mlx4_flow_refuse(struct rte_flow_error *e, int code, enum rte_flow_error_type type, const void *cause,
		     const char *format, ...) __rte_format_printf(5, 6);

/*
 * A type of item or action for a message: in small letters, as others name it, with its number; of one that DPDK has no name for
 * the number alone.
 */
#define MLX4_FLOW_NAME 64u
const char *mlx4_flow_item_name(int type, char name[MLX4_FLOW_NAME]);
const char *mlx4_flow_action_name(int type, char name[MLX4_FLOW_NAME]);

/* --- items.c, actions.c: 0 or a negative errno with the error filled --- */
int mlx4_flow_match(const struct mlx4_eth *eth, const struct rte_flow_item *items, struct mlx4_flow_match *m,
		    struct rte_flow_error *e);
int mlx4_flow_fate(const struct mlx4_eth *eth, const struct rte_flow_action *actions, struct mlx4_flow_fate *f,
		   struct rte_flow_error *e);

/* --- target.c: of a port that is started --- */
/* Rings for the queues of the target that are started; *out NULL: there are none. -ENOMEM, -ENOSPC or the card's errors. */
int mlx4_flow_rings_build(struct mlx4_eth *eth, struct mlx4_flow_target *t, struct mlx4_flow_rings **out);
/* No rule names them any more; what they received is still given to the application. NULL is nothing. */
void mlx4_flow_rings_retire(struct mlx4_eth *eth, struct mlx4_flow_rings *r);
/* The rings are what the target should have. */
bool mlx4_flow_rings_fit(const struct mlx4_eth *eth, const struct mlx4_flow_target *t);
/* The QPN for rules to these rings, or to the queue without buffers; that has to be there. */
uint32_t mlx4_flow_rings_qpn(const struct mlx4_eth *eth, const struct mlx4_flow_rings *r);
/* What came through the target's rings since it is there. */
void mlx4_flow_target_count(const struct mlx4_eth *eth, const struct mlx4_flow_target *t, uint64_t *packets,
			    uint64_t *bytes);

#endif /* MLX4_FLOW_FLOW_H */
