/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* InfiniBand packets on a wire, from the LRH through the VCRC: checks, CRCs, counters. */
#ifndef MODEL_FRAME_IB_WIRE_H
#define MODEL_FRAME_IB_WIRE_H

#include "frame.h"
#include "mlx4_prm_ib.h"

#define TPM_IB_PACKET 4400u /* the longest: headers, 4096 bytes, both CRCs */

static inline bool
tpm_ib_is_mcast(uint16_t lid)
{
	return lid >= IB_LID_MCAST && lid != IB_LID_PERMISSIVE;
}

uint16_t tpm_ib_vcrc(const struct tp_frame *f, uint32_t len);
/* Register of the ICRC behind the BTH; lrh: start of the packet. */
uint32_t tpm_ib_icrc_start(const uint8_t *lrh);
/* Puts ICRC and VCRC behind len bytes; icrc: the first is there already. The whole length. */
uint32_t tpm_ib_seal(uint8_t *packet, uint32_t len, bool icrc);
/*
 * A packet that came, in one piece: in its own memory, or gathered into buf. NULL: damaged, or its lengths do not
 * agree. *len goes through the ICRC.
 */
const uint8_t *tpm_ib_open(const struct tp_frame *f, uint8_t *buf, uint32_t *len);
/* Of len octets, through the ICRC: the VCRC behind them, the ICRC at their end; both at once. */
bool tpm_ib_vcrc_good(const uint8_t *packet, uint32_t len);
bool tpm_ib_icrc_good(const uint8_t *packet, uint32_t len);
bool tpm_ib_crcs_good(const uint8_t *packet, uint32_t len);

static inline uint32_t
tpm_ib_bth(const uint8_t *packet)
{
	return IB_LRH_SIZE + (prm_get(packet, IB_LRH_LNH) == IB_LNH_GRH ? 40u : 0u);
}

static inline void
tpm_ib_count_tx(struct tpm_ib_counters *c, uint32_t len, bool mcast)
{
	c->tx_packets++;
	c->tx_bytes += len;
	c->tx_mcast += mcast;
}

static inline void
tpm_ib_count_rx(struct tpm_ib_counters *c, uint32_t len, bool mcast)
{
	c->rx_packets++;
	c->rx_bytes += len;
	c->rx_mcast += mcast;
}

#endif /* MODEL_FRAME_IB_WIRE_H */
