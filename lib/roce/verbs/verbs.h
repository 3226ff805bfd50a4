/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Shared by the files that implement verbs, and with those above them. */
#ifndef ROCE_VERBS_VERBS_H
#define ROCE_VERBS_VERBS_H

#include "lib/roce/port/front.h"

/* --- path_wait.c ------------------------------------------------------------------------------------------------ */

/*
 * The path of an address vector, waiting for the neighbour (see tp_roce_modify_qp). Without the port's lock.
 * 0, EINVAL, EHOSTUNREACH, EAGAIN: the calling thread is the one that would have to receive the answer.
 */
int troce_path_wait(struct troce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport, uint16_t service,
		    struct troce_path *path);

/* --- ib.c, mad_port.c: ports of InfiniBand ---------------------------------------------------------------------- */

/* What an address vector with LIDs says. 0, EINVAL with a line that names the attribute. */
int troce_ib_path(struct troce_dev *dev, const struct ibv_ah_attr *av, struct troce_path *path);
/* As tp_roce_init_ah_from_wc(). */
int troce_ib_av_from_wc(struct troce_dev *dev, uint8_t port, const struct ibv_wc *wc, const struct ibv_grh *grh,
			struct ibv_ah_attr *attr);

extern const struct troce_side_ops troce_smi_side;
/*
 * Datagrams that send a message of the class to QP1 go to input, not to the management service; NULL: to that again. Of a
 * port of InfiniBand, while no datagram can come. The port's thread calls it, without a lock. 0, ENOSPC.
 */
int troce_mad_class_set(struct troce_dev *dev, uint8_t class,
			void (*input)(struct troce_dev *dev, const struct tp_mad_packet *pkt));

/* --- cq.c ------------------------------------------------------------------------------------------------------- */

struct troce_cq_more {
	struct ibv_comp_channel *channel;
	int vector;
	void *context;
	struct troce_guest *guest;
	bool events; /* of a guest: the queue may be armed */
	bool own;    /* its completions are told by the guest's own vector, which it has */
};
struct ibv_cq *troce_cq_make(struct ibv_context *ctx, int cqe, const struct troce_cq_more *more);

/* --- srq.c, mem.c ----------------------------------------------------------------------------------------------- */

/* As tp_roce_create_srq(); guest NULL: this process's. */
struct ibv_srq *troce_srq_make(struct ibv_pd *pd, struct ibv_srq_init_attr *init, struct troce_guest *guest);
/* As tp_roce_reg_mr_iova(), of memory that was opened by the provider's mem_open. */
struct ibv_mr *troce_mr_opened(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access);
/* As tp_roce_rereg_mr(), but a positive errno; of to those fields that flags names: v.pd; v.addr, v.length, iova; access. */
int troce_mr_change(struct ibv_mr *mr, int flags, const struct troce_mr *to);

/* --- qp.c ------------------------------------------------------------------------------------------------------- */

/* What a queue pair has besides its attributes: qpn of a ring, the others have none. */
struct troce_qp_more {
	uint16_t max_tso_header;
	enum troce_qp_role role;
	uint32_t qpn;
	struct troce_guest *guest;
};
struct ibv_qp *troce_qp_make(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, const struct troce_qp_more *more);

/* --- channel.c -------------------------------------------------------------------------------------------------- */

void troce_channel_discard(struct troce_cq *cq);

#endif /* ROCE_VERBS_VERBS_H */
