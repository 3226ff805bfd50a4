/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The kernel's side of a port, inside. One thread an interface (thread.c) has the TAP (tap.c), the port's transmit queue and what
 * is known of the interface (link.c); it alone writes to these parts. Pollers of the port reach it by a ring (input.c), the
 * control thread by commands (kernel.c).
 */
#ifndef TP_KERNEL_PRIV_H
#define TP_KERNEL_PRIV_H

#include <pthread.h>
#include <sys/queue.h>

#include <linux/virtio_net.h>

#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "tp_kernel.h"

#define TPK_RING 2048u /* packets on their way to the kernel: buffers of the port's pool */
#define TPK_BURST 32u  /* packets in one direction before the other one has its turn */
#define TPK_ROOM 4096u /* of a buffer for packets from the kernel */
#define TPK_SEGS 17u   /* buffers of the longest packet: 64 KiB and its headers */
#define TPK_MBUFS 2047u

extern int tpk_logtype;
#define TPK_LOG(level, ...) rte_log(RTE_LOG_##level, (uint32_t)tpk_logtype, "kernel: " __VA_ARGS__)

/* What pollers do with a frame beside looking at its address. */
#define TPK_COPIES 1u /* multicast and broadcast are the application's, too */
#define TPK_ALL 2u    /* somebody listens to all frames */
#define TPK_DOWN 4u   /* nobody is there */

/* What the kernel says of the interface. */
struct tpk_link {
	uint32_t mtu, flags, promiscuity;
	struct rte_ether_addr mac;
};

struct tp_kernel {
	/* for pollers */
	uint64_t mac; /* as it stands in frames, two zero octets behind it */
	uint32_t how; /* TPK_* */
	int wake;     /* eventfd */
	struct rte_ring *ring;
	uint32_t sleeps; /* the thread: it wants to be woken */
	bool look_now;   /* somebody saw a change */

	/* the control thread's, until the other thread answers */
	pthread_mutex_t lock __rte_cache_aligned;
	pthread_cond_t answered;
	unsigned int asked, answers;
	bool want_runs, quit;
	uint32_t want_large;
	uint16_t want_queue;
	uint64_t want_offloads;
	pthread_t thread;
	TAILQ_ENTRY(tp_kernel) next;

	/* the interface's thread */
	uint16_t port, tx_queue __rte_cache_aligned;
	const struct tp_kernel_ops *ops;
	void *ops_arg;
	int tap, news, ask; /* news, ask: netlink sockets in the interface's namespace, -1: none */
	unsigned int index; /* of the interface there */
	char name[TP_KERNEL_NAME];
	bool shut_out; /* of the interface's namespace */
	bool runs, gone, carrier, look_soon, csum, tso, prepares, was_promiscuous;
	uint16_t mtu, port_mtu; /* that both have, and the port's at the last look */
	struct rte_ether_addr now, port_mac;
	struct rte_mempool *pool;
	struct rte_mbuf *spare[TPK_SEGS]; /* that the next packet is read into */
	unsigned int num_spare;
	bool starved;                       /* the pool had too few for the next packet */
	struct rte_mbuf *unsent[TPK_BURST]; /* that found no room in the queue */
	uint16_t num_unsent, first_unsent;
	struct tp_kernel_stats count; /* read by others: each value is whole */
};

static inline void
tpk_count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* --- tap.c: all return 0 or a negative errno --- */

/* Makes the interface. */
int tpk_tap_open(const char *name, int *tap);
int tpk_tap_name(int tap, char name[TP_KERNEL_NAME]);
int tpk_tap_carrier(int tap, bool on);
int tpk_tap_mac(int tap, const struct rte_ether_addr *mac);
/* What the interface's packets may leave to the port: checksums, segments of TCP. */
int tpk_tap_offload(int tap, bool csum, bool tso);
/* Network namespace of the interface, as a descriptor. */
int tpk_tap_netns(int tap);
/* Reads a packet into mbufs of room octets; its length, 0: there is none, or a negative errno. */
int tpk_tap_read(int tap, struct virtio_net_hdr *h, struct rte_mbuf *const *mbuf, unsigned int n);
int tpk_tap_write(int tap, const struct virtio_net_hdr *h, const struct rte_mbuf *m);

/* --- frame.c: what is left undone of a packet, as both sides say it --- */

/* Of a packet that the kernel sends: flags and lengths for the port. -EPROTO: it asks for what no port does. */
int tpk_frame_tx(struct rte_mbuf *m, const struct virtio_net_hdr *h);
/* Of a packet that the port received and nobody else has: the header for the kernel; changes the packet. */
int tpk_frame_rx(struct rte_mbuf **m, struct virtio_net_hdr *h);

/* --- link.c: the interface in its namespace --- */

/* Goes to the namespace where the interface is now. */
int tpk_link_open(struct tp_kernel *k);
void tpk_link_close(struct tp_kernel *k);
int tpk_link_get(struct tp_kernel *k, struct tpk_link *l);
int tpk_link_mtu(struct tp_kernel *k, uint16_t mtu);
int tpk_link_gso(struct tp_kernel *k, uint32_t max);

/* --- follow.c: each side follows the other --- */

void tpk_follow(struct tp_kernel *k);

/* --- thread.c --- */

void *tpk_run(void *arg);
void tpk_wake(const struct tp_kernel *k);

#endif /* TP_KERNEL_PRIV_H */
