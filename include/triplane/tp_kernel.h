/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * The kernel's side of a port: a network interface of the kernel (a TAP) with the port's MAC address, MTU and link. What the
 * application gives it is received there, and what the kernel sends leaves by a transmit queue of the port that is the
 * interface's alone. So addresses, routes, ARP, DHCP, ping and firewalls are the kernel's, on a port that belongs to DPDK. Works
 * with any ethdev port whose frames are Ethernet's.
 *
 * The interface has a thread of its own, which sleeps while there is nothing to do. Large TCP packets and checksums are left to
 * the port where its queue has the offloads; packets whose checksums the port has verified, or that it joined (LRO), are handed
 * over as such.
 *
 * tp_kernel_open(), tp_kernel_close(), tp_kernel_start(), tp_kernel_stop() and tp_kernel_share() are for one control thread;
 * tp_kernel_input() is for any number of threads, between start and stop.
 */
#ifndef TP_KERNEL_H
#define TP_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_KERNEL_NAME 16u     /**< room of an interface's name with its end: IFNAMSIZ of Linux */
#define TP_KERNEL_HELD 2080u   /**< received packets that are on their way to the kernel at most */
#define TP_KERNEL_LARGE 64000u /**< octets of data of a large send at most, which any card cuts */
#define TP_KERNEL_BURST 512u   /**< packets that tp_kernel_input() takes at a time */

/**
 * What the application is asked when somebody changed the interface (ip link set). Each returns 0, and the port is as the
 * interface is now; -EAGAIN: not now, ask again; or another negative errno: the interface is set back, and a line says why. They
 * are called by the interface's thread.
 */
struct tp_kernel_ops {
	/** MTU of the interface, octets behind the Ethernet header. NULL: rte_eth_dev_set_mtu(). */
	int (*mtu)(void *arg, uint16_t mtu);
	/** NULL: rte_eth_dev_default_mac_addr_set(). */
	int (*mac)(void *arg, const struct rte_ether_addr *mac);
	/**
	 * Somebody listens to all frames (tcpdump), or nobody does any more; the answer does not matter, except -EAGAIN.
	 * NULL: rte_eth_promiscuous_enable() and, if the port was not promiscuous before, rte_eth_promiscuous_disable().
	 */
	int (*promiscuous)(void *arg, bool on);
};

struct tp_kernel_conf {
	const char *name;                /**< of the interface, 1..15 characters; NULL: "tp" and the port's number */
	const struct tp_kernel_ops *ops; /**< NULL: all of them NULL */
	void *arg;                       /**< of ops */
};

struct tp_kernel;

/**
 * Whether Linux takes a name: 1..15 characters, no '/', ':', '%' or white space, neither "." nor "..".
 * @return 0, or -EINVAL
 */
int tp_kernel_name_check(const char *name);

/**
 * Makes the interface in the network namespace of the calling thread. It is down, as any new interface, and has no carrier. It
 * goes when it is closed or the process ends, however that ends. It may be moved to another namespace.
 *
 * @param port its MAC address and MTU are the interface's, now and after each change
 * @param conf NULL: defaults
 * @return 0, or a negative errno: ENODEV no such port; EINVAL a wrong name; EEXIST an interface has that name; EPERM the process
 *   lacks CAP_NET_ADMIN; ENOENT or ENODEV /dev/net/tun is not there; ENOMEM; or what the kernel says
 */
int tp_kernel_open(uint16_t port, const struct tp_kernel_conf *conf, struct tp_kernel **k);

/** The interface goes. Nobody may be in tp_kernel_input() any more. NULL: nothing to do. */
void tp_kernel_close(struct tp_kernel *k);

/**
 * Packets go both ways from now on, and the interface has a carrier while the port has a link. The port is started, and somebody
 * polls its receive queues.
 *
 * @param tx_queue a transmit queue of the port that nobody else uses until tp_kernel_stop()
 * @param tx_offloads RTE_ETH_TX_OFFLOAD_*: what that queue was set up with, of the queue and of the port. IPv4, TCP and UDP
 *   checksums together spare the kernel checksums; TCP_TSO and MULTI_SEGS as well spare it TCP's segments
 * @param tx_large octets of data that a large send of that queue may have; 0 and more than TP_KERNEL_LARGE: TP_KERNEL_LARGE
 * @return 0, or -EALREADY; -ENODEV: somebody deleted the interface
 */
int tp_kernel_start(struct tp_kernel *k, uint16_t tx_queue, uint64_t tx_offloads, uint32_t tx_large);

/** The interface loses its carrier. Returns when its thread will use the port no more. Before the port stops. */
void tp_kernel_stop(struct tp_kernel *k);

/**
 * Who gets multicast and broadcast frames: the kernel alone, as at first, or the application as well. Then, and while somebody
 * listens to all frames of the interface, the kernel gets copies, in buffers of the frame's own pool.
 */
void tp_kernel_share(struct tp_kernel *k, bool copies);

/**
 * Takes what is for the kernel out of a burst that a receive queue of the port brought: frames to the port's MAC address,
 * multicast and broadcast. In a callback of rte_eth_add_rx_callback(), or behind rte_eth_rx_burst(). Never waits: what finds no
 * room is dropped and counted.
 *
 * @param pkts the burst; those that are left are moved to its front, in their order
 * @param n how many, up to TP_KERNEL_BURST
 * @return how many are left, which are the caller's
 */
uint16_t tp_kernel_input(struct tp_kernel *k, struct rte_mbuf **pkts, uint16_t n);

/** Reasons for which a packet does not arrive. */
enum tp_kernel_drop {
	TP_KERNEL_RX_FULL,    /**< to the kernel: it was slower than the port */
	TP_KERNEL_RX_DOWN,    /**< to the kernel: the interface is down, or gone */
	TP_KERNEL_RX_NO_MBUF, /**< to the kernel: no buffer for a copy */
	TP_KERNEL_RX_REFUSED, /**< to the kernel: it does not take such a frame */
	TP_KERNEL_TX_DOWN,    /**< from the kernel: the port was stopped or lost its link meanwhile */
	TP_KERNEL_TX_REFUSED, /**< from the kernel: the port's driver cannot send it (rte_eth_tx_prepare()) */
	TP_KERNEL_DROPS
};
/** "rx_full", "rx_down" ... NULL: there is no such reason. */
const char *tp_kernel_drop_name(unsigned int drop);

struct tp_kernel_stats {
	uint64_t rx_packets, rx_octets; /**< that the kernel took; packets as handed over, joined ones are one */
	uint64_t tx_packets, tx_octets; /**< that the port's queue took; large sends are one */
	uint64_t rx_joined, tx_large;   /**< of these, packets that the port joined, and that the port is to cut */
	uint64_t tx_busy;               /**< waits for room in the port's queue */
	uint64_t refused;               /**< changes of the interface that the port does not take */
	uint64_t drop[TP_KERNEL_DROPS];
};
void tp_kernel_stats_get(const struct tp_kernel *k, struct tp_kernel_stats *stats);

/** What there is now. */
struct tp_kernel_info {
	char name[TP_KERNEL_NAME]; /**< also after the interface was renamed */
	uint16_t port, mtu;
	struct rte_ether_addr mac;
	bool gone;        /**< somebody deleted the interface, or its namespace */
	bool runs;        /**< between start and stop */
	bool up;          /**< the interface is up (ip link set up) */
	bool carrier;     /**< it runs, and the port has a link */
	bool promiscuous; /**< somebody listens to all frames */
	bool csum, tso;   /**< checksums and TCP segments are left to the port */
};
void tp_kernel_info_get(const struct tp_kernel *k, struct tp_kernel_info *info);

#ifdef __cplusplus
}
#endif

#endif /* TP_KERNEL_H */
