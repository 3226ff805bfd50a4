/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The two ports of a stepped card as InfiniBand ports that a cable joins, and what a subnet manager does to them. */
#ifndef IB_RIG_H
#define IB_RIG_H

#include <errno.h>

#include "tp_mad_port.h"
#include "rig.h"
#include "tp_roce.h"

#define IR_PORTS 2u
#define IR_MEM 16384u
#define IR_QKEY 0x1234u
#define IR_GRH 40u
#define IR_LID(port) (uint16_t)(0x10u * ((port) + 1u))
#define IR_SM_LID 0x77u
#define IR_GUID UINT64_C(0x0002c90300123450)

/* Attributes and methods (14.2.5); offsets within a datagram. */
#define IR_GET 1u
#define IR_SET 2u
#define IR_GET_RESP 0x81u
#define IR_NODE_INFO 0x11u
#define IR_PORT_INFO 0x15u
#define IR_PKEYS 0x16u
#define IR_SM_INFO 0x20u
#define IR_DATA 64u

extern struct ibv_context *ir_ctx[IR_PORTS];
extern struct ibv_pd *ir_pd[IR_PORTS];

/* What setup and teardown functions of cmocka want: a card of two InfiniBand ports, both open, in INIT or DOWN. */
int ir_setup(void **state);
int ir_teardown(void **state);
int ir_setup_active(void **state); /* the same, active */
/* The same with other arguments; teardown asserts that the card has nothing to complain about. */
void ir_open(const char *args);
void ir_close(void);
void ir_run(void);
/* So much time goes by. */
void ir_pass(uint64_t ns);
struct tp_model *ir_model(void);

/* A request to the firmware of a port, as its host; asserts that it is answered. */
void ir_smp(unsigned int port, uint8_t method, uint16_t attr, uint32_t modifier, uint8_t mad[TP_MAD_SIZE]);
void ir_smp_init(uint8_t mad[TP_MAD_SIZE], uint8_t class, uint8_t method, uint16_t attr, uint32_t modifier);
/* Both ports get LIDs, and become active. */
void ir_sweep(void);
void ir_set_pkey(unsigned int port, unsigned int index, uint16_t pkey);
enum ibv_port_state ir_state(unsigned int port);
/* The next event of a port; IBV_EVENT_DEVICE_FATAL: none came. */
enum ibv_event_type ir_event(unsigned int port);
void ir_forget_events(unsigned int port);
/* Until this one comes. */
void ir_expect_event(unsigned int port, enum ibv_event_type type);

/* An end of a connection, or a queue pair of datagrams. */
struct ir_end {
	unsigned int port;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *mem;
};
void ir_end(struct ir_end *e, unsigned int port, enum ibv_qp_type type);
void ir_end_free(struct ir_end *e);
void ir_av(struct ibv_ah_attr *av, unsigned int to, bool grh);
/* INIT, RTR, RTS; av, dest_qpn: of connections. pkey_index: of the port's table. */
void ir_rts(struct ir_end *e, uint16_t pkey_index, const struct ibv_ah_attr *av, uint32_t dest_qpn);
void ir_recv(struct ir_end *e, uint32_t at, uint32_t len);
void ir_send(struct ir_end *e, struct ibv_send_wr *wr, uint32_t at, uint32_t len);
/* The next completion, successful; or that there is none. */
struct ibv_wc ir_wc(struct ir_end *e);
void ir_no_wc(struct ir_end *e);

#endif /* IB_RIG_H */
