/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * DCBX over an ethdev.
 *
 * Threads. tp_dcbx_input and a hooked receive queue may run on any lcore. tp_dcbx_poll runs on the lcore that owns the
 * transmit queue given at attach; it costs two loads and a comparison while nothing is due. tp_dcbx_apply, which may
 * take as long as the port's control operations, and everything else run on control threads; attach, hook, unhook and
 * detach while no lcore polls the port.
 */
#ifndef TP_DCBX_PORT_H
#define TP_DCBX_PORT_H

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "tp_dcbx.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tp_dcbx_port;

struct tp_dcbx_attach {
	uint16_t port_id, tx_queue;
	struct rte_mempool *pool;        /**< for frames to send: at least 1 buffer of 1514 octets and the headroom */
	const struct tp_qos_ops *ops;    /**< the port's settings; NULL: it has none, nothing is applied */
	uint16_t tx_interval_s, tx_hold; /**< of LLDP, 0: the standard's 30 and 4; 1..3600, 1..100 */
};

/** State of an agent, a copy. */
struct tp_dcbx_report {
	bool on, willing, link;
	struct tp_dcbx dcbx;      /**< to be read only */
	uint64_t rx_lost;         /**< LLDP frames that came faster than the agent was polled */
	uint64_t tx_lost;         /**< frames without a buffer */
	uint64_t applied;         /**< times that settings were given to the port */
	uint64_t refused;         /**< times that the port refused a peer's settings */
	uint32_t apps_unruled;    /**< applications in use that have no rule on the port */
	char refusal[TP_ERR_LEN]; /**< the port's words at the last refusal, "" */
};

/**
 * Makes an agent for a port, off, with the port's address and settings as the local ones.
 * @return 0; -EINVAL: an interval out of its range; -ENODEV: no such port; -ENOMEM; what ops returned
 */
int tp_dcbx_attach(const struct tp_dcbx_attach *args, struct tp_dcbx_port **out);

/** Says good-bye to peers (shutdown LLDPDU), gives the port its local settings back and frees the agent. NULL is fine. */
void tp_dcbx_detach(struct tp_dcbx_port *p);

/** On or off, willing or not; frames go out by the next polls. */
void tp_dcbx_port_set(struct tp_dcbx_port *p, bool on, bool willing);

/** The administrator's settings, beside which a peer's are in force. set: 0, or the port's refusal in err. */
void tp_dcbx_port_local_get(struct tp_dcbx_port *p, struct tp_qos_port *q);
int tp_dcbx_port_local_set(struct tp_dcbx_port *p, const struct tp_qos_port *q, char err[TP_ERR_LEN]);

/** Takes LLDP frames out of what all receive queues of the port give, while the agent is on. @return 0 or -ENOMEM */
int tp_dcbx_hook(struct tp_dcbx_port *p);
void tp_dcbx_unhook(struct tp_dcbx_port *p);

/** Is this frame for an agent? Contiguous headers assumed, as drivers give them. */
static inline bool
tp_dcbx_is_lldp(const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	static const struct rte_ether_addr nearest_bridge = {{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}};

	return unlikely(eth->ether_type == RTE_BE16(TP_LLDP_ETHERTYPE)) &&
	       rte_is_same_ether_addr(&eth->dst_addr, &nearest_bridge) && m->data_len >= sizeof(*eth);
}

/** Gives a frame to the agent, which frees it. */
void tp_dcbx_input(struct tp_dcbx_port *p, struct rte_mbuf *m);

/** Frames in, time, frames out. tsc is rte_rdtsc's. @return true: settings changed, tp_dcbx_apply is wanted */
bool tp_dcbx_poll(struct tp_dcbx_port *p, uint64_t tsc);

/**
 * Gives the port the settings in use, if they changed. A peer's feature that the port refuses is left out and marked.
 * @return 0, or the port's refusal of its own local settings
 */
int tp_dcbx_apply(struct tp_dcbx_port *p);

void tp_dcbx_report(struct tp_dcbx_port *p, struct tp_dcbx_report *r);

#ifdef __cplusplus
}
#endif

#endif /* TP_DCBX_PORT_H */
