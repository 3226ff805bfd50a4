/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From a port to receive queues. */
#ifndef MODEL_RX_RX_H
#define MODEL_RX_RX_H

#include "model/frame/frame.h"

/* Frames arrive at a port from its wire (after impairment) or from inside the card; from: the sending QP or NULL. */
void tpm_port_rx(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n,
		 const struct tpm_qp *from);
/* Copies for those who watch the port; only while p->mirrored. */
void tpm_port_mirror(struct tp_model *m, struct tpm_port *p, bool sent, const struct tp_frame *f, unsigned int n);
extern const struct tpm_port_ops tpm_port_ops;
/*
 * Delivers waiting frames whose queue has a receive WQE again, and tells the peer how full the buffers are. Returns how
 * many frames left the buffers (rx_wait.c).
 */
unsigned int tpm_rxbuf_poll(struct tp_model *m, struct tpm_port *p);

#endif /* MODEL_RX_RX_H */
