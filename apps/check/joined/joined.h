/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Two Ethernet ports that a cable joins: of one card, or one here and one at a reflector; two InfiniBand ports that a cable
 * joins.
 */
#ifndef CHECK_JOINED_H
#define CHECK_JOINED_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_pmd_mlx4_qos.h>
#include <tp_ipoib.h>
#include <tp_mad_service.h>
#include <tp_sm.h>

#include "apps/check/stage/port.h"
#include "apps/check/stage/variants.h"

#define PAIR_QUEUES 3u /* of each port: plain frames, RoCE's own, a queue with a priority */
#define PAIR_ROCE 1u   /* its queue */
#define PAIR_PRIO 2u   /* the other one */
#define PAIR_FLOW 3u   /* its priority */
#define PAUSE_LONGEST 0xffffu
#define PAUSE_TRY_MS 60000u /* on a busy machine few tries tell */

#define SUBNET_PKEYS 3u

/* --- pair.c ---------------------------------------------------------------------------------------------------------- */

struct pair {
	struct ck *c;
	struct mlx4_hca *hca;
	struct port p[2];
};

/*
 * Brings the card up as q says (NULL: as the user says) with both ports, and looks whether what one sends reaches the other.
 * false: why is the text; the card is closed.
 */
bool pair_open(struct pair *x, struct ck *c, const struct mlx4_quirks *q, char why[CK_TEXT]);
/* With ck_finish() when judged, else without a word. */
void pair_close(struct pair *x, bool judged);
/* A frame of so many octets from one port to another; it came, and is the same. */
bool pair_frame(struct port *from, struct port *to, uint16_t queue, uint32_t len);

/*
 * As many as one thread sends and receives, in turn, to dst, which is the receiver or sends them back to it. The sender waits
 * for the receiver, so that between two ports nothing may be lost.
 */
void pair_rate(struct ck *c, struct port *from, struct port *to, const struct rte_ether_addr *dst, uint32_t len,
	       const char *name);

/* --- pause.c --------------------------------------------------------------------------------------------------------- */

/* A pause frame (IEEE 802.3 annex 31B), or one of priorities (802.1Q clause 36), bit n: priority n. */
void pause_make(struct frame *f, const uint8_t src[6], uint8_t prios, uint16_t quanta);
/* How long the longest pause lasts at most, in cycles of the timer: its quanta are of 512 bits. */
uint64_t pause_lasts(const struct port *p);
bool pause_declare(struct port *p, const struct tp_qos_port *q, char err[TP_ERR_LEN]);
/*
 * The first port honours pauses of priority PAIR_FLOW, and its queue PAIR_PRIO has that priority. Whether a frame of that queue
 * stays while frames of another queue pass, and comes when the pause ends. -1: frames were lost.
 */
int pause_holds(struct pair *x, bool by_priority);
/* Stage 7. */
void pause_stage(struct pair *x);

/* --- roce.c ---------------------------------------------------------------------------------------------------------- */

struct ibv_context;
struct rte_mbuf;

#define ROCE_MEM (256u * 1024u)

/* What an end tells the other one. */
struct roce_addr {
	uint32_t qpn, psn, rkey;
	uint64_t addr; /* of its memory */
	uint8_t gid[16];
};

/* A port that is open for RoCE, with memory and one queue pair at a time. */
struct roce_end {
	struct ck *c;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	uint8_t *mem; /* ROCE_MEM octets */
	uint8_t gid_index;
	struct roce_addr own, peer;
	int type;
};

struct roce_conf {
	uint8_t host;  /* the last octet of the address, in a network for measurements (RFC 2544) */
	uint16_t vlan; /* 0: none */
	/* Gets frames that are not for RoCE, whose mbufs it takes. NULL: they are dropped. */
	void (*rest)(void *arg, struct rte_mbuf **m, uint16_t n);
	void *arg;
};
/* false: said under name. */
bool roce_open(struct roce_end *e, struct port *p, const struct roce_conf *conf, const char *name);
void roce_close(struct roce_end *e);
/* IBV_QPT_*; a queue pair in INIT with receive requests, own is filled in; then the way to the other end, which is driven, too. */
bool roce_create(struct roce_end *e, int type);
bool roce_connect(struct roce_end *e, const struct roce_addr *peer, struct roce_end *other);
void roce_destroy(struct roce_end *e);
/* Drives the port; who reflects sends back what came. @return how much */
unsigned int roce_serve(struct roce_end *e);
/* The tests of a type of queue pair, which is connected to one that reflects. */
void roce_far(struct roce_end *e);
const char *roce_kind(int type);
/* Stage 7. */
void roce_stage(struct pair *x);
/* As pair_frame(), as a message over a connection between the ports; len up to a quarter of ROCE_MEM. */
bool roce_message(struct roce_end *from, struct roce_end *to, uint32_t len);
bool roce_both(struct roce_end *a, struct roce_end *b, int type);

/* --- wire.c: what a check and a reflector tell each other, in frames of their own type -------------------------------- */

enum wire_op {
	WIRE_HELLO = 1, /* to all: is a reflector there? */
	WIRE_HERE,
	WIRE_JOIN, /* a queue pair of this type at this address wants one at the other end */
	WIRE_JOINED,
	WIRE_LEAVE,
	WIRE_LEFT,
	WIRE_ECHO_PRIO, /* to be sent back by the queue with priority PAIR_FLOW */
};

struct wire {
	uint8_t op;
	uint8_t status;  /* of an answer: 0 done, else a positive errno */
	uint8_t type;    /* of a queue pair */
	uint32_t number; /* of a question; its answer has the same */
	struct roce_addr roce;
};
/* len: of the frame, 60 and more. */
void wire_make(struct frame *f, const uint8_t dst[6], const uint8_t src[6], const struct wire *w, uint32_t len);
/* false: a frame of another kind. */
bool wire_parse(const uint8_t *b, uint32_t len, struct wire *w);

/* --- far.c ------------------------------------------------------------------------------------------------------------ */

/* Stage 7 with a reflector. false: none answers at any port. */
bool far_stage(struct ck *c);

/* --- subnet.c -------------------------------------------------------------------------------------------------------- */

/* All zero: the card as the user says, the default partition alone. */
struct subnet_conf {
	const char *args;                 /* more device arguments, NULL: none */
	const struct mlx4_quirks *quirks; /* NULL: as the user says */
	unsigned int num_pkeys;           /* partitions beside the default one */
	uint16_t pkeys[SUBNET_PKEYS];     /* with the bit of membership */
};

/* Two InfiniBand ports of a card that a cable joins and nobody else manages. */
struct subnet {
	struct ck *c;
	char name[2][TP_IPOIB_NAME];
	struct tp_mad_service *service[2];
	struct ibv_port_attr attr[2]; /* when both were active */
	struct tp_sm *sm;
	bool up;
};

/* Opens the card and manages its ports. false: why is the text. Either way subnet_close() follows. */
bool subnet_open(struct subnet *x, struct ck *c, const struct subnet_conf *conf, char why[CK_TEXT]);
/* Ends it, and closes the card. */
void subnet_close(struct subnet *x);

/* --- ipoib.c ---------------------------------------------------------------------------------------------------------- */

/* Stage 8, where two InfiniBand ports are joined and nobody manages them. It opens the card and closes it. */
void ipoib_stage(struct ck *c);

/* --- variants.c, pkey.c ---------------------------------------------------------------------------------------------- */

/* Stage 10, with a cable. They open the card and close it. */
void joined_variants(struct variants *s);
void joined_pkey(struct variants *s);

#endif /* CHECK_JOINED_H */
