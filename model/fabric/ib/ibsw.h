/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The InfiniBand switch from the inside. Its lock covers everything here; functions are called with it held.
 *
 *   ibsw.c       life, names, settings, the wire between a card and a port
 *   ibsw_fwd.c   forwarding, queues, credits
 *   ibsw_mad.c   datagrams to the switch and through it: directed routes, answers
 *   ibsw_sma.c   subnet management: attributes
 *   ibsw_pcap.c  capture of a port
 */
#ifndef MODEL_FABRIC_IB_IBSW_H
#define MODEL_FABRIC_IB_IBSW_H

#include <pthread.h>
#include <stdio.h>

#include "model/card/model_priv.h"
#include "tp_ibswitch.h"

#define IBSW_VLS 16u
#define IBSW_LIDS 0xc000u  /* of the linear table */
#define IBSW_MLIDS 0x1000u /* of the multicast table, from 0xc000 on */
#define IBSW_DROP 0xffu    /* in the linear table: no way there */
#define IBSW_PKEYS 32u

/* A packet that waits at a port, with its VCRC. */
struct ibsw_packet {
	struct ibsw_packet *next;
	struct tp_frame_seg seg; /* for who takes it */
	uint64_t since_ns;
	uint32_t len;
	uint8_t in; /* port that it came by; 0: the switch's own */
	uint8_t vl; /* that it came in and is charged to */
	uint8_t data[];
};
struct ibsw_list {
	struct ibsw_packet *head, *tail;
};

struct ibsw_port {
	struct tpm_ib ib;
	struct ibsw *sw;
	uint8_t num;
	bool used, link; /* a cable is in it; the card has a link */
	struct ibsw_list q[IBSW_VLS];
	uint32_t next_vl;
	struct ibsw_packet *given;   /* with who took them last */
	uint32_t in_bytes[IBSW_VLS]; /* that came by this port and wait */
	uint64_t not_armed;          /* packets of data that came before a manager armed the port, dropped */
	uint8_t sl2vl[TP_IBSWITCH_PORTS + 1]
		     [IB_SLS / 2]; /* of packets that leave here, by the port that they came by */
	FILE *capture;
};

struct ibsw {
	pthread_mutex_t lock;
	struct ibsw *next; /* in the list of all, with refs under its lock */
	uint32_t refs;
	char name[TP_IBSWITCH_NAME];
	uint64_t guid;
	uint32_t num_ports, credit;
	uint8_t desc[IB_SMP_DATA_SIZE], info[IB_SMP_DATA_SIZE]; /* NodeDescription, SwitchInfo */
	bool changed;                                           /* a port's state, since a manager last looked */
	uint8_t lft[IBSW_LIDS];
	uint64_t mft[IBSW_MLIDS];                     /* bit n: port n */
	struct ibsw_port port[TP_IBSWITCH_PORTS + 1]; /* 0 is the switch itself */
};

/* ibsw_fwd.c */
void ibsw_receive(struct ibsw_port *in, uint64_t now, const struct tp_frame *f);
unsigned int ibsw_take(struct ibsw_port *p, uint64_t now, struct tp_frame *f, unsigned int n);
/* Puts a packet (through the ICRC) of the switch or a directed route into a queue of a port. */
void ibsw_emit(struct ibsw_port *in, struct ibsw_port *out, uint64_t now, const uint8_t *packet, uint32_t len);
bool ibsw_room(struct ibsw_port *p, uint64_t now, uint8_t vl, uint32_t len);
void ibsw_flush(struct ibsw_port *p);
void ibsw_link(struct ibsw_port *p, bool up);

/* ibsw_mad.c */
/* A packet of VL 15, or one for the switch's own LID; packet goes through the ICRC. */
void ibsw_mad(struct ibsw_port *in, uint64_t now, const uint8_t *packet, uint32_t len);

/* ibsw_sma.c */
void ibsw_info_init(struct ibsw *sw);
/* Answers a Get or Set in place; false: the M_Key is wrong. */
bool ibsw_sma(struct ibsw_port *in, uint8_t *mad);

/* ibsw_pcap.c */
int ibsw_capture_open(struct ibsw_port *p, const char *path);
void ibsw_capture(struct ibsw_port *p, uint64_t now, const uint8_t *packet, uint32_t len);

#endif /* MODEL_FABRIC_IB_IBSW_H */
