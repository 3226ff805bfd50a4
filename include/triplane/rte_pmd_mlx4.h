/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * What a ConnectX-3 port offers beyond the ethdev API.
 *
 * Every function takes the port number of an ethdev of this driver and returns -ENODEV for any other port. All may be
 * called from any thread, but not while the port is configured, started, stopped, reset or closed; none may be called from a datapath burst.
 */
#ifndef RTE_PMD_MLX4_H
#define RTE_PMD_MLX4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rte_pmd_mlx4_group.h"
#include "rte_pmd_mlx4_qos.h"
#include "rte_pmd_mlx4_tx.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RTE_PMD_MLX4_QUIRKS 512
#define RTE_PMD_MLX4_QUIRK_VARIANTS 3

/** Device report of one port (in the manner of the vendor's vstat). */
struct rte_pmd_mlx4_device {
	char name[64];       /**< where the card is: PCI address or device name */
	char bus[16];        /**< "pci", "model" */
	uint16_t device_id;  /**< PCI device id */
	char fw_version[32]; /**< such as "2.42.5000" */
	char board_id[20];
	uint64_t node_guid;   /**< G */
	uint64_t port_guid;   /**< G + port */
	uint64_t system_guid; /**< G + 3 */
	uint8_t port;         /**< 1..2 on the card */
	uint8_t num_ports;
	char link_layer[16]; /**< "Ethernet" or "InfiniBand" */
	char state[16];      /**< DOWN, INITIALIZED, ARMED, ACTIVE */
	char phys_state[16]; /**< Disabled, Polling, LinkUp */
	uint32_t speed_mbps; /**< official speed, 0 when the link is down */
	uint16_t max_mtu;    /**< bytes, largest the port takes */
	uint16_t active_mtu; /**< bytes */
	uint8_t mac[6];
	uint16_t lid, sm_lid;                     /**< InfiniBand only, else 0 */
	char width[8];                            /**< lanes: "1X", "4X", "none" when the link is down */
	char roce_mode[16];                       /**< what is open on the card's own transport: "off", "v1", "v2" */
	uint16_t num_gids, num_pkeys;             /**< places of the tables, 0: RoCE is not open */
	uint32_t qps, max_qps, cqs, max_cqs, eqs; /**< in use and limits */
	uint32_t srqs, max_srqs, mrs, max_mrs;    /**< the same; mrs: entries of the memory protection table */
	uint32_t mtts, max_mtts, pds, max_pds;    /**< the same: entries of the translation table, protection domains */
	uint64_t commands;                        /**< firmware commands executed */
	bool wake_on_lan;                         /**< the firmware offers it for this port */
	bool wake_on_lan_set;                     /**< a magic packet wakes the host */
	char quirks[RTE_PMD_MLX4_QUIRKS];         /**< variants that are not the default: "F-12:b,F-40:b"; "" */
	bool dead;                                /**< the card stopped answering or reported a fatal error */
};

/** Fills @p info. @return 0, -ENODEV, -EIO (the card does not answer). */
int rte_pmd_mlx4_device_get(uint16_t port_id, struct rte_pmd_mlx4_device *info);

/** An entry of a port's GID table (IBTA, annex A17). */
struct rte_pmd_mlx4_gid {
	uint8_t gid[16];      /**< in network order */
	uint8_t roce_version; /**< 1 or 2 */
};

/**
 * GID number @p i, 0 .. num_gids - 1, of a port on which the card's own RoCE is open.
 * @return 0, -ENODEV, -ENODATA (the place is empty), -ENOENT (there is no such place)
 */
int rte_pmd_mlx4_gid_get(uint16_t port_id, unsigned int i, struct rte_pmd_mlx4_gid *gid);

/** P_Key number @p i, 0 .. num_pkeys - 1, likewise. @return 0, -ENODEV, -ENOENT (there is no such place) */
int rte_pmd_mlx4_pkey_get(uint16_t port_id, unsigned int i, uint16_t *pkey);

/**
 * A point on which sources about the card are unsure (docs/fidelity.md). The driver takes the card for one of the variants: for
 * that of the arguments quirks and quirks-file, else for the default.
 */
struct rte_pmd_mlx4_quirk {
	const char *id;   /**< "F-12" */
	const char *what; /**< the question */
	const char
		*variant[RTE_PMD_MLX4_QUIRK_VARIANTS]; /**< what a card of variant a, b, c does; NULL: there is none */
	const char *shows;                             /**< what is seen when the card is another one */
	const char *found;                             /**< what it takes to tell the variants apart */
	char def;                                      /**< letter of the default, from a on */
};

/** Point number @p i, in the order of their ids. @return 0, -ENOENT past the last. */
int rte_pmd_mlx4_quirk(unsigned int i, struct rte_pmd_mlx4_quirk *quirk);

/** What a port's card is taken for in point number @p i. @return 'a'.., -ENODEV, -ENOENT past the last. */
int rte_pmd_mlx4_quirk_get(uint16_t port_id, unsigned int i);

/** One device argument: what may follow --vdev=NAME, or -a ADDRESS, as name=value. */
struct rte_pmd_mlx4_arg {
	const char *name;
	const char *values; /**< what may stand on the right, such as "0..104" */
	const char *unit;   /**< "" */
	const char *def;    /**< "": depends on others, or there is none */
	const char *help;   /**< a sentence without its full stop */
	bool model;         /**< of cards in software only */
};

/** Argument number @p i: first those that all cards take. @return 0, -ENOENT past the last. */
int rte_pmd_mlx4_arg(unsigned int i, struct rte_pmd_mlx4_arg *arg);

/**
 * What a port's card was made with.
 * @param[out] value the argument as it was given, else its default
 * @return 0, -ENODEV, -ENOTSUP (this card does not take it, or it was not given and has no default), -ENOENT (no such
 *         argument), -ENOSPC
 */
int rte_pmd_mlx4_arg_get(uint16_t port_id, const char *name, char *value, size_t len);

/**
 * Receives frames whose FCS is wrong (IEEE 802.3, 3.2.9), too, or has the port drop and count them, as it does at first. Nothing in
 * an mbuf marks them; with RTE_ETH_RX_OFFLOAD_KEEP_CRC their FCS stands behind their data. May be called from any thread while
 * the port is open; stays over stop and start.
 * @return 0, -ENODEV (not a port of this driver), -ENOTSUP (the firmware cannot), or an error of the card, and nothing changed
 */
int rte_pmd_mlx4_ignore_fcs_set(uint16_t port_id, bool on);

/** Which it is; any thread. @return 0, -ENODEV, -ENOTSUP as above. */
int rte_pmd_mlx4_ignore_fcs_get(uint16_t port_id, bool *on);

/**
 * Has packets received with their headers in one mbuf and their payload in the next, or not, as at first. Split are TCP and UDP
 * over IPv4 and IPv6 with payload, whose headers are in the first buffer; fragments, tunnels and other packets stay whole, and so
 * do, counted (rx_header_split_nombuf), those for whose headers there is no buffer. Headers are copied into a buffer of the same
 * pool, whose first mbuf has all that is known of the packet. Live; any thread; stays over stop and start.
 * @return 0, -ENODEV (not a port of this driver)
 */
int rte_pmd_mlx4_header_split_set(uint16_t port_id, bool on);

/** Which it is; any thread. @return 0, -ENODEV. */
int rte_pmd_mlx4_header_split_get(uint16_t port_id, bool *on);

#define RTE_PMD_MLX4_MCAST_SIZE_MIN 64u
#define RTE_PMD_MLX4_MCAST_SIZE_MAX 1024u
#define RTE_PMD_MLX4_MCAST_SIZE 128u /**< at first */

/** The multicast list of a port, which rte_eth_dev_set_mc_addr_list() fills. */
struct rte_pmd_mlx4_mcast {
	uint32_t size;   /**< addresses that it may hold */
	uint32_t listed; /**< addresses that the application listed */
	bool overflow;   /**< these are more: the port receives all multicast */
};

/** Fills @p mcast; any thread. @return 0, -ENODEV (not a port of this driver). */
int rte_pmd_mlx4_mcast_get(uint16_t port_id, struct rte_pmd_mlx4_mcast *mcast);

/**
 * Sets how many addresses the multicast list of a port may hold. A longer list makes the port receive all multicast, until it fits
 * again. Live, without a gap for listed addresses; any thread; stays over stop and start.
 * @param size RTE_PMD_MLX4_MCAST_SIZE_MIN .. RTE_PMD_MLX4_MCAST_SIZE_MAX
 * @param[out] err one line that names the value and what is wanted, when refused
 * @return 0, -ENODEV (not a port of this driver), -EINVAL, or an error of the card, and nothing changed
 */
int rte_pmd_mlx4_mcast_size_set(uint16_t port_id, uint32_t size, char err[TP_ERR_LEN]);

/**
 * Has a magic packet to this port wake the host, or not. The card keeps it when the port is closed, so that it holds while the
 * host sleeps.
 * @return 0, -ENODEV (not a port of this driver), -ENOTSUP (the firmware does not offer it), or an error of the card; -EIO
 *         also when the firmware took it and says something else
 */
int rte_pmd_mlx4_wake_on_lan_set(uint16_t port_id, bool on);

/** What the firmware says. @return 0, -ENODEV, -ENOTSUP as above, or an error of the card. */
int rte_pmd_mlx4_wake_on_lan_get(uint16_t port_id, bool *on);

/**
 * The UDP port of VXLAN that was given by rte_eth_dev_udp_tunnel_port_add(), 0: none. Any thread.
 * @return 0, -ENODEV (not a port of this driver), -ENOTSUP (the card knows no tunnels)
 */
int rte_pmd_mlx4_vxlan_port_get(uint16_t port_id, uint16_t *udp_port);

/* --- health ------------------------------------------------------------------------------------------------ */

/** What is watched of a port; bits of masks. */
#define RTE_PMD_MLX4_SENSOR_TX_STUCK 0x8u       /**< frames wait, and the card does not go on with their queue */
#define RTE_PMD_MLX4_SENSOR_TX_COMPLETION 0x10u /**< the card sent frames, and their completions do not come */
#define RTE_PMD_MLX4_SENSOR_RX_COMPLETION 0x40u /**< received frames wait, and nobody takes them */
#define RTE_PMD_MLX4_SENSOR_RX_ERROR 0x10000u   /**< a receive queue failed */
#define RTE_PMD_MLX4_SENSOR_TX_ERROR 0x20000u   /**< a transmit queue failed */
#define RTE_PMD_MLX4_SENSOR_COMMAND 0x40000u    /**< a firmware command was not answered: the card is given up */
#define RTE_PMD_MLX4_SENSOR_EVENT 0x80000u      /**< an event of which no interrupt told, or that had no room */
#define RTE_PMD_MLX4_SENSORS 7u
#define RTE_PMD_MLX4_SENSOR_ALL 0xf0058u

#define RTE_PMD_MLX4_PATH 256
#define RTE_PMD_MLX4_DUMP_PATH 512 /**< of a dump, which is a folder below that */

/** How a port is watched. */
struct rte_pmd_mlx4_health_conf {
	uint32_t period_s; /**< between two looks: 1..3600, 4 at first; 0: never */
	uint32_t
		checks; /**< looks without progress that make an alarm: 1..1000, 4 at first; twice that for TX_COMPLETION */
	uint32_t restart_mask;             /**< sensors whose alarm restarts the port; at first all */
	uint32_t dump_mask;                /**< sensors whose alarm writes a dump; at first none */
	char dump_path[RTE_PMD_MLX4_PATH]; /**< the folder of dumps; "/var/tmp/triplane-dumps" at first */
};

/** @return 0, -ENODEV. */
int rte_pmd_mlx4_health_conf_get(uint16_t port_id, struct rte_pmd_mlx4_health_conf *conf);

/**
 * From now on; what was counted towards an alarm stays. Any thread.
 * @param[out] err one line that names the value and what is wanted, when refused
 * @return 0, -ENODEV, -EINVAL, and nothing changed
 */
int rte_pmd_mlx4_health_conf_set(uint16_t port_id, const struct rte_pmd_mlx4_health_conf *conf, char err[TP_ERR_LEN]);

/** One sensor. */
struct rte_pmd_mlx4_sensor {
	const char *name; /**< stable, such as "tx-stuck" */
	const char *text; /**< what it finds, a line */
	uint32_t bit;
	uint32_t idle;   /**< looks in a row without progress, of the worst queue */
	uint32_t limit;  /**< looks that make an alarm; 1: at once */
	uint16_t queue;  /**< of the last alarm */
	bool alarm;      /**< since the last alarm nothing has moved */
	uint64_t alarms; /**< since the port was made */
};

/** What the watch has found. */
struct rte_pmd_mlx4_health {
	struct rte_pmd_mlx4_sensor sensor[RTE_PMD_MLX4_SENSORS]; /**< in the order of their bits */
	uint32_t alarms;                                         /**< bits of sensors that are in alarm */
	uint64_t looks;                                          /**< how often it was looked at the port */
	uint64_t restarts, restarts_failed, restarts_refused;    /**< refused: nobody polled the queue that waits */
	uint64_t dumps, dumps_failed;
	uint64_t lost_events;  /**< of the card */
	uint64_t cmd_timeouts; /**< of the card */
	char last[256];        /**< the last alarm in words, "": none */
};

/** @return 0, -ENODEV. */
int rte_pmd_mlx4_health_get(uint16_t port_id, struct rte_pmd_mlx4_health *health);

/**
 * Stops and starts a port alone, while its queues may be polled: bursts find nothing and take nothing meanwhile, which is told by
 * RTE_ETH_EVENT_ERR_RECOVERING, and RTE_ETH_EVENT_RECOVERY_SUCCESS or _FAILED. What waits in its rings is lost and counted
 * (rx_stop_drops, tx_stop_drops). Rules, addresses and settings stay. Not from an event function.
 * @param[out] err one line, when refused or failed
 * @return 0, -ENODEV, -EINVAL (not started), -EIO (the card was given up), or an error of the card: then the port is stopped
 */
int rte_pmd_mlx4_restart(uint16_t port_id, char err[TP_ERR_LEN]);

/**
 * Writes what is known of a port at this moment as a folder dmn-DEVICE-eth-command-REASON--TIME (UTC): dump.txt for people and
 * dump.json for programs, of the same content. Packets flow meanwhile. The first 8 dumps of a folder stay, and 128 at most. Any
 * thread; a card that was given up is dumped without its own view.
 * @param folder where, NULL: the port's dump_path; made when it is not there
 * @param reason a word for the name, NULL: "request"
 * @param[out] path of the dump
 * @param[out] err one line, when it failed; then nothing of it is there
 * @return 0, -ENODEV, -EINVAL (folder), -ENOSPC, -EACCES or what else the file system says, -ENOMEM
 */
int rte_pmd_mlx4_dump(uint16_t port_id, const char *folder, const char *reason, char path[RTE_PMD_MLX4_DUMP_PATH],
		      char err[TP_ERR_LEN]);

/** State of the software model behind a port. */
struct rte_pmd_mlx4_model {
	char wire[64]; /**< name of the port's wire */
	bool link_up;
	uint64_t violations;      /**< rules of the programming interface that were broken, all together */
	char last_violation[256]; /**< text of the last one, "" when there was none */
	uint64_t advice;          /**< how often advice was not followed: rules that a card does not insist on */
	char last_advice[256];    /**< text of the last time, "" when there was none */
	uint64_t commands, commands_failed, events, interrupts, doorbells, bf_doorbells;
	uint64_t steps, idle_steps, sleeps;
	uint64_t icm_pages, fw_pages, aux_pages, dma_windows, dma_bytes_mapped;
	uint32_t qps, cqs, eqs, mpts, rules;
	uint64_t tx_frames, tx_bytes, rx_frames, rx_bytes;
	uint64_t tx_ip_sums, tx_l4_sums; /**< frames whose checksum the card made; segments one by one */
	uint64_t wire_drops, impair_drops, impair_corrupts, impair_dups, impair_reorders;
	uint64_t rx_no_rule, rx_vlan_filtered, rx_no_wqe, rx_too_long, rx_bad_fcs, rx_link_down;
};

/** Fills @p info. @return 0, -ENODEV, -ENOTSUP (a real card). */
int rte_pmd_mlx4_model_get(uint16_t port_id, struct rte_pmd_mlx4_model *info);

/** Number of rules that the model checks. */
unsigned int rte_pmd_mlx4_model_rules(void);

/**
 * One rule.
 * @param i 0..rte_pmd_mlx4_model_rules() - 1
 * @param[out] name stable name, such as "wqe-lkey"
 * @param[out] text what the rule asks for
 * @param[out] count how often it was broken
 * @return 0, -ENODEV, -ENOTSUP, -EINVAL (no such rule)
 */
int rte_pmd_mlx4_model_violation(uint16_t port_id, unsigned int i, const char **name, const char **text,
				 uint64_t *count);

/** @return 1 when rule @p i is advice, which counts as no violation; 0 when it is none; -EINVAL (no such rule) */
int rte_pmd_mlx4_model_is_advice(unsigned int i);

/** Plugs the cable of a model's port in or out. @return 0, -ENODEV, -ENOTSUP. */
int rte_pmd_mlx4_model_cable(uint16_t port_id, bool plugged);

/** What a model's card does no more, though it answers. */
enum rte_pmd_mlx4_break {
	RTE_PMD_MLX4_BREAK_SQ, /**< the queue that gets the port's nth send doorbell sends nothing until it is stopped */
	RTE_PMD_MLX4_BREAK_CQE, /**< the port's nth completion of a send does not come */
	RTE_PMD_MLX4_BREAK_IRQ, /**< no interrupt tells of the card's nth event, but for ends of commands */
};
/** Hits once, counted from now on; @p nth 0 disarms. @return 0, -ENODEV, -ENOTSUP, -EINVAL (no such kind). */
int rte_pmd_mlx4_model_break(uint16_t port_id, enum rte_pmd_mlx4_break what, uint32_t nth);

#define RTE_PMD_MLX4_SWITCH_NAME 32

/**
 * Names of the switches that ports of models in this process are plugged into (wireN=switch:NAME), sorted.
 * @return how many there are; the first @p max were written.
 */
unsigned int rte_pmd_mlx4_switch_list(char names[][RTE_PMD_MLX4_SWITCH_NAME], unsigned int max);

/**
 * A counter: of the switch (port 0, prio -1), of its port 1..64 (prio -1), or of a port's priority 0..7. Bytes are
 * without FCS, times in ns.
 */
typedef void (*rte_pmd_mlx4_switch_fn)(void *arg, unsigned int port, int prio, const char *name, uint64_t value);

/** Calls @p fn for each counter, in that order; counters of priorities that are 0 are left out. @return 0, -ENOENT. */
int rte_pmd_mlx4_switch_counters(const char *name, rte_pmd_mlx4_switch_fn fn, void *arg);

/**
 * Changes a setting while frames pass.
 * @param port 0 for a setting of the switch, 1..64 for one of a port
 * @param word "KEY:VALUE" as in wireN=switch:NAME/KEY:VALUE
 * @param[out] err one line that names the value and what is wanted, when refused
 * @return 0, -ENOENT (no such switch, port or key), -EINVAL, -ENOSPC (does not fit into the buffer)
 */
int rte_pmd_mlx4_switch_set(const char *name, unsigned int port, const char *word, char *err, size_t err_len);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_MLX4_H */
