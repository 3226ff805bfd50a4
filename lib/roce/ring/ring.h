/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Rings as the card lays them out, for a home in software that reads what another process writes there. The writer may change
 * them at any moment: each entry is copied once, and nothing of it is believed. Of rings themselves only what is said here is
 * known, which is the reader's own.
 */
#ifndef ROCE_RING_RING_H
#define ROCE_RING_RING_H

#include "lib/roce/engine/engine.h"

#include "mlx4_prm_regs.h"
#include "mlx4_prm_wqe.h"

/* A send queue; entries are a power of two of 64 bytes or more. */
struct troce_ring_sq {
	const uint8_t *base;
	uint32_t mask; /* entries - 1 */
	uint8_t lg_stride;
	enum ibv_qp_type type;
	uint32_t max_sge, max_inline; /* of a request; room for either is the caller's */
};

/* What a send request says besides what the engine has of it. */
struct troce_ring_more {
	bool signaled;
	enum ibv_wr_opcode opcode;
	enum ibv_wc_opcode done;        /* as its completion names it */
	uint8_t dgram[MLX4_DGRAM_SIZE]; /* UD: its address */
	/* IBV_WR_BIND_MW; the key is in tre_wqe.rkey */
	uint32_t lkey;
	struct ibv_mw_bind_info bind; /* mr is NULL */
};

/* The request at a running index is there: its owner bit is that of this pass [DP 4.2]. */
bool troce_ring_send_ready(const struct troce_ring_sq *sq, uint32_t at);

/*
 * Reads it. w: what the engine must know, TRE_WR_LOCAL what concerns keys alone; data: max_sge elements or max_inline bytes,
 * which w names. False: it is no request that this type of queue pair may have.
 */
bool troce_ring_send(const struct troce_ring_sq *sq, uint32_t at, struct tre_wqe *w, uint8_t *data,
		     struct troce_ring_more *more);

/* A receive request's list, of at most max elements [DP 5.1]; returns how many there are, *len: their bytes. */
uint32_t troce_ring_list(const uint8_t *wqe, uint32_t max, struct tre_sge *sge, uint32_t *len);

/* A completion of the request at that index [DP 6.2, 6.4]; the owner bit, of running number at in entries, comes last. */
void troce_ring_cqe(struct mlx4_cqe *cqe, const struct ibv_wc *wc, uint16_t index, bool owner);

#endif /* ROCE_RING_RING_H */
