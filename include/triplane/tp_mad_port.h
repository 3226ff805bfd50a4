/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * The management queue pairs of an InfiniBand port (10.2.7, chapters 13 and 14), for a management service: datagrams of QP0
 * and QP1 as they are, and the firmware that answers for the port.
 *
 * A port without a service lets its firmware answer subnet management from the wire; QP1 answers performance management by
 * the firmware, too. With a service (tp_mad_port_set_input()) the port has a QP0, and every datagram of both goes to the service,
 * connection management apart, which lib/roce has itself: what is the firmware's to answer the service gives to
 * tp_mad_port_process(), as Linux does.
 */
#ifndef TP_MAD_PORT_H
#define TP_MAD_PORT_H

#include "tp_roce.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TP_MAD_SIZE 256u
#define TP_MAD_LID_PERMISSIVE 0xffffu
#define TP_MAD_QKEY 0x80010000u /**< of QP1, well-known (9.6.1.1); QP0 has none */

/** A management datagram with its addresses. */
struct tp_mad_packet {
	uint32_t qpn;        /**< ours: 0 or 1 */
	uint32_t remote_qpn; /**< the peer's: 24 bits; 0 on QP0 */
	uint32_t qkey;       /**< sent on QP1; came in: TP_MAD_QKEY, as the card takes no other */
	/**
	 * Came in: the sender's LID. To be sent: TP_MAD_LID_PERMISSIVE (directed routes), any other value stands for the
	 * port's own LID with path_bits.
	 */
	uint16_t slid;
	/** To be sent: the receiver's LID. Came in: the port's LID with path_bits, as the card tells only these. */
	uint16_t dlid;
	uint16_t pkey_index; /**< of the port's table; QP0 uses none */
	uint8_t sl;          /**< 0..15 */
	uint8_t path_bits;   /**< of our LID, 0..127 */
	bool has_grh;
	struct ibv_grh grh; /**< as on the wire; sent: version, length and next header are filled in */
	uint8_t data[TP_MAD_SIZE];
};

/**
 * Sends a datagram. QP0 sends on VL 15 and needs a service. Any thread.
 * @return 0; EAGAIN: no room now, call tp_roce_progress() and try again; EINVAL a value out of its range; EIO the card is gone;
 *   ENOTSUP the port is not InfiniBand, or QP0 without a service.
 */
int tp_mad_port_send(struct ibv_context *ctx, const struct tp_mad_packet *pkt);

/**
 * The service's input. cb is called by tp_roce_progress() of the port, in its thread; it may send and process, it may not
 * close the port. No lock is held that sending or processing takes, so both may be done under a lock that cb takes. NULL ends the service, after which cb is not called any more; not from within cb.
 * @return 0; EBUSY another service has the port; ENOTSUP the port is not InfiniBand; ENOMEM or EIO: no QP0.
 */
int tp_mad_port_set_input(struct ibv_context *ctx, void (*cb)(void *arg, const struct tp_mad_packet *pkt), void *arg);

/**
 * The firmware's answer to a datagram for this port: requests of subnet management (LID routed, or a directed route that ends
 * here) and performance management. A Set takes effect. Any thread.
 * @param in as it came in; one of the host's own has slid and dlid 0, and no key of the subnet manager is asked for
 * @param[out] out the answer, addressed back to the sender; may be in
 * @return 0; ENODATA: it is nothing that the firmware answers, or (TrapRepress) it took it without an answer; EINVAL the
 *   firmware calls it malformed; EIO the card is gone; ENOTSUP the port is not InfiniBand.
 */
int tp_mad_port_process(struct ibv_context *ctx, const struct tp_mad_packet *in, struct tp_mad_packet *out);

/**
 * Bits of the port's capability mask (PortInfo), such as bit 1, "is a subnet manager", while one runs here.
 * @return 0, EIO, ENOTSUP the port is not InfiniBand.
 */
int tp_mad_port_caps(struct ibv_context *ctx, uint32_t set, uint32_t clear);

#ifdef __cplusplus
}
#endif

#endif /* TP_MAD_PORT_H */
