/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A special queue pair of a port, QP0 or QP1, and those that send in its place: rings, buffers, one completion queue. What
 * a packet looks like is the business of qp1.c (Ethernet) and ib.c (InfiniBand).
 */
#ifndef MLX4_VERBS_MAD_H
#define MLX4_VERBS_MAD_H

#include "verbs.h"

#define MLX4_MAD_QKEY 0x80010000u /* of QP1 */
#define MLX4_MAD_UD_SEND 0x64u    /* opcode of a BTH */
#define MLX4_MAD_NEXT_IBA 0x1bu   /* GRH: a BTH follows */
#define MLX4_MAD_HDR_MAX 96u

struct mlx4_mad_end;

struct mlx4_mad_ops {
	const char *what;
	/* What the context of a sender needs beside the common part. */
	void (*context)(const struct mlx4_roce *r, uint8_t *ctx, unsigned int sender);
	/* data: GRH_LEN bytes of network header, then the datagram. The port's thread. */
	void (*receive)(struct mlx4_roce *r, const struct mlx4_cqe *cqe, const uint8_t *data);
};

/* A datagram to be sent: its headers, and what the control segment says of them [DP 3.13]. */
struct mlx4_mad_out {
	uint8_t hdr[MLX4_MAD_HDR_MAX];
	uint32_t len;     /* of hdr */
	uint32_t sched;   /* dword 1, without the size */
	uint32_t flags;   /* dword 2, without the request for a completion */
	rte_be32_t where; /* dword 3 */
	const uint8_t *mad;
};

/* The queue pair qpn receives, and is the first sender; further ones have numbers of their own. */
int mlx4_mad_create(struct mlx4_roce *r, const struct mlx4_mad_ops *ops, uint32_t qpn, unsigned int senders,
		    struct mlx4_mad_end **out);
void mlx4_mad_destroy(struct mlx4_mad_end *g);
unsigned int mlx4_mad_senders(const struct mlx4_mad_end *g);
/* The next packet sequence number. */
uint32_t mlx4_mad_psn(struct mlx4_mad_end *g);
/* Any thread. 0, EAGAIN: no room now. */
int mlx4_mad_post(struct mlx4_mad_end *g, unsigned int sender, const struct mlx4_mad_out *out);
#define MLX4_MAD_POLL_MAX 64u
/* At most max completions; returns how many there were. The port's thread. */
unsigned int mlx4_mad_poll(struct mlx4_mad_end *g, unsigned int max);

#endif /* MLX4_VERBS_MAD_H */
