/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * What a port of a ConnectX-3 card tells those who look after it: what is in use and how much there is, what the firmware's commands
 * cost, and why a link is down.
 *
 * Every function but one takes the port number of an ethdev of this driver and returns -ENODEV for any other port. All may be
 * called from any thread while the port is open.
 */
#ifndef RTE_PMD_MLX4_REPORT_H
#define RTE_PMD_MLX4_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Firmware commands of one opcode, of a card, since it was opened or since they were set to zero. */
struct rte_pmd_mlx4_command {
	const char *name; /**< stable, such as "QUERY_PORT" */
	uint16_t opcode;  /**< 0x001..0xfff */
	uint64_t count;   /**< that ended, in whatever way */
	uint64_t failed;  /**< of them, those that the firmware refused */
	uint64_t
		unanswered; /**< of them, those without an answer in time, or that ended because the card was given up */
	uint64_t total_ns;  /**< time from the moment at which it was to be given to its end, of all together */
	uint64_t worst_ns;  /**< of the one that took longest */
};

#define RTE_PMD_MLX4_COMMANDS 128u /**< most opcodes */

/**
 * Fills the first @p max of @p list, in the order of opcodes; those that were never given are left out. The ports of a card have the
 * same commands.
 * @return how many there are, or -ENODEV
 */
int rte_pmd_mlx4_commands_get(uint16_t port_id, struct rte_pmd_mlx4_command *list, unsigned int max);

/** Sets them to zero; those that are under way count when they end. @return 0, -ENODEV. */
int rte_pmd_mlx4_commands_reset(uint16_t port_id);

/** One kind of what there is only so much of. */
struct rte_pmd_mlx4_resource {
	const char *name;   /**< stable: "queue-pairs", "completion-queues" ... */
	bool of_card;       /**< the ports of the card share it */
	uint32_t used;      /**< by this process */
	uint32_t limit;     /**< with those that are reserved; 0: there is none of its own */
	uint32_t reserved;  /**< for the firmware, or for who has them whether he uses them or not */
	bool by_port;       /**< of the card, and each object that is a port's is counted for it, too */
	uint32_t port_used; /**< if by_port: of used, those of this port; what no port has is the card's own */
};

#define RTE_PMD_MLX4_RESOURCES 32u /**< most kinds */

/** Fills the first @p max of @p list, always the same kinds in the same order. @return how many there are, or -ENODEV. */
int rte_pmd_mlx4_resources_get(uint16_t port_id, struct rte_pmd_mlx4_resource *list, unsigned int max);

/**
 * The same of the card of an InfiniBand port: the kinds that ports share.
 * @param name as tp_roce_get_device_list() has it, such as "net_mlx4_model0/2"
 * @return how many there are, or -ENODEV: no such port; -EINVAL: no name
 */
int rte_pmd_mlx4_ib_resources_get(const char *name, struct rte_pmd_mlx4_resource *list, unsigned int max);

#define RTE_PMD_MLX4_FILTER_UNICAST 127u
#define RTE_PMD_MLX4_FILTER_MULTICAST 1024u

/** What a port lets in, as the driver has it. */
struct rte_pmd_mlx4_filter {
	bool isolated;       /**< only flow rules say what is received: nothing of the next ones is in force */
	bool promiscuous;    /**< all frames */
	bool all_multicast;  /**< all multicast, since it was asked for */
	bool multicast_over; /**< all multicast, since more addresses are listed than may be */
	bool vlan_filter;    /**< of frames with a tag, those of the VLANs alone; else all */
	uint64_t vlans[64];  /**< bit n % 64 of word n / 64: VLAN n, also while the filter is off */
	uint32_t num_unicast;
	uint32_t num_multicast;                          /**< that are in force */
	uint32_t flow_rules;                             /**< of rte_flow */
	uint32_t groups;                                 /**< of queues, but the default one: each takes its address */
	uint8_t unicast[RTE_PMD_MLX4_FILTER_UNICAST][6]; /**< the port's own first */
	uint8_t multicast[RTE_PMD_MLX4_FILTER_MULTICAST][6];
};

/** Fills @p filter. @return 0, -ENODEV. */
int rte_pmd_mlx4_filter_get(uint16_t port_id, struct rte_pmd_mlx4_filter *filter);

/** Plugs a cable that the card does not support into a model's port. @return 0, -ENODEV, -ENOTSUP (a real card). */
int rte_pmd_mlx4_model_cable_unsupported(uint16_t port_id);

/**
 * Lets the peer of a model's port offer one speed in autonegotiation: 100, 1000, 10000, 20000, 40000 or 56000 Mb/s; 0: whatever the
 * port has. @return 0, -ENODEV, -EINVAL (another number), -ENOTSUP (a real card).
 */
int rte_pmd_mlx4_model_peer_speed(uint16_t port_id, uint32_t mbps);

/** Why a link is up or down: the first of these that is true. */
enum rte_pmd_mlx4_link_reason {
	RTE_PMD_MLX4_LINK_UP,
	RTE_PMD_MLX4_LINK_CARD_DEAD,  /**< the card was given up: `rte_eth_dev_reset()` */
	RTE_PMD_MLX4_LINK_STOPPED,    /**< the port is not started */
	RTE_PMD_MLX4_LINK_SET_DOWN,   /**< rte_eth_dev_set_link_down() */
	RTE_PMD_MLX4_LINK_NO_MODULE,  /**< nothing is plugged in */
	RTE_PMD_MLX4_LINK_BAD_MODULE, /**< the card said that it cannot use what is plugged in */
	RTE_PMD_MLX4_LINK_OTHER_TYPE, /**< the peer speaks InfiniBand */
	RTE_PMD_MLX4_LINK_NO_AGREEMENT, /**< a peer is there, and no speed is common to both, or autonegotiation does not end */
	RTE_PMD_MLX4_LINK_NO_SIGNAL, /**< no peer: it is off, its port is down, or the cable leads nowhere */
	RTE_PMD_MLX4_LINK_REASONS
};

/** The reason's name, the same in all versions, such as "no-module"; "" for no reason. */
const char *rte_pmd_mlx4_link_reason_name(enum rte_pmd_mlx4_link_reason reason);

/** A link as the card has it at this moment. */
struct rte_pmd_mlx4_link {
	enum rte_pmd_mlx4_link_reason reason;
	char text[160];      /**< the reason in words, and what to do */
	uint32_t speed_mbps; /**< 0: down */
	bool autoneg;        /**< it is on */
	bool autoneg_done;   /**< both ends agree */
	uint32_t speeds;     /**< RTE_ETH_LINK_SPEED_* that the port offers; 0: the firmware does not tell */
	uint32_t
		peer_speeds; /**< likewise the peer; 0: there is none, it does not negotiate, or the firmware does not tell */
	bool both_types;      /**< the card's port can be InfiniBand, too: then sensed is known */
	char sensed[16];      /**< what the card sees of the peer: "Ethernet", "InfiniBand", "nothing"; "": not told */
	char module[32];      /**< "QSFP+", "SFP", "none", "unknown (0x18)"; "unreadable": the firmware does not tell */
	char module_text[48]; /**< what the firmware says of a module that it cannot read, else "" */
	char vendor[17], part[17], serial[17]; /**< of the module, "": not known */
	uint64_t downs;                        /**< how often the link went down since the port was made */
	uint64_t bad_modules;                  /**< how often the card said that it cannot use a module */
};

/** Writes RTE_ETH_LINK_SPEED_* as a list in Gb/s, such as "1, 10, 40"; "" for none. @p len: 32 octets are enough. */
void rte_pmd_mlx4_link_speeds_text(uint32_t speeds, char *text, size_t len);

/** Asks the card. @return 0, -ENODEV; what a card that is dead does not tell is empty. */
int rte_pmd_mlx4_link_get(uint16_t port_id, struct rte_pmd_mlx4_link *link);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_MLX4_REPORT_H */
