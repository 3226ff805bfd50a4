/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What an InfiniBand port remembers (ib.h has what is done with it). */
#ifndef MODEL_CARD_IB_STATE_H
#define MODEL_CARD_IB_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "ib_prm.h"

#define TPM_IB_GUIDS 128u
#define TPM_IB_PKEYS 128u

/* What a port of a card or switch counts; bytes with LRH and both CRCs. */
struct tpm_ib_counters {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	uint64_t tx_mcast, rx_mcast; /* packets, of the above */
	uint64_t rcv_errors, xmit_discards, vl15_dropped, link_downed, relay_errors, rcv_constraint, xmit_constraint;
	uint64_t xmit_wait;
};

/* The two attributes that show counters are set to 0 apart: what each had then. */
struct tpm_ib_pm {
	struct tpm_ib_counters c, base, base_ext;
};

/* An InfiniBand port's state; live in a card from power-on on. */
struct tpm_ib {
	uint8_t info[IB_SMP_DATA_SIZE]; /* PortInfo: what does not follow from other things */
	bool fdr10, fdr10_enabled;      /* which no PortInfo has room for: the port can, and a manager lets it */
	bool fdr10_active;
	uint64_t guid[TPM_IB_GUIDS];
	uint16_t pkey[TPM_IB_PKEYS];
	uint16_t num_pkeys; /* that the port has: 1..TPM_IB_PKEYS, a multiple of a block */
	uint8_t sl2vl[IB_SLS / 2];
	uint8_t vlarb[IB_VLARB_BLOCKS][IB_VLARB_SIZE];
	uint8_t state; /* enum ib_port_state */
	bool disabled; /* by a subnet manager */
	bool retrain;  /* the link goes down for a moment */
	uint16_t lid;  /* of info, as are the next */
	uint8_t lmc;
	uint32_t mtu; /* of the link, bytes */
	struct tpm_ib_pm pm;
	uint64_t pkey_bad, qkey_bad;
};

#endif /* MODEL_CARD_IB_STATE_H */
