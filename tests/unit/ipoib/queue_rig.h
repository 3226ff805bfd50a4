/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port's queues, and a card that keeps to the states of 10.3.1 and may refuse. */
#ifndef IPOIB_QUEUE_RIG_H
#define IPOIB_QUEUE_RIG_H

#include "link_rig.h"
#include "lib/ipoib/port/port.h"

#define QR_RINGS 128u

extern struct rig rig;
extern struct ipoib_port port;
extern struct ipoib_rxq rxq[IPOIB_QUEUES];
extern struct ipoib_txq txq[IPOIB_QUEUES];

/* Rings of a parent's table. */
struct tp_roce_table {
	uint32_t num;
	unsigned int parents;
	enum ibv_qp_state state;
	struct tp_roce_ring ring[QR_RINGS];
};

struct qr_card {
	struct ibv_context ctx;
	struct ibv_pd pd;
	unsigned int pds, cqs, qps, mrs, srqs, tables; /* that there are */
	uint32_t keys;                                 /* given out so far */
	unsigned int fail;                             /* which of the next changes of a queue pair fails, 0: none */
	unsigned int fail_more;                        /* and so many after it */
	unsigned int fail_make;                        /* which of the next objects is refused, 0: none */
	int reg_err;
	uint64_t sent[4];
	unsigned int num_sent, num_done;
	struct tp_roce_rss_caps caps;
	struct tp_roce_table *table; /* of the parent */
	uint8_t key[TP_ROCE_RSS_KEY];
	uint32_t types;
	unsigned int published, drained;
	uint64_t posted[IPOIB_QUEUES];      /* buffer that is in a shared queue, 0: none */
	unsigned int waiting[IPOIB_QUEUES]; /* frames that it has received for a queue */
	unsigned int reaps;                 /* looks for completions until all is sent, 0: never */
};
extern struct qr_card card;

/* Queues of the port, open; the card is as new. */
void qr_open(uint16_t num_rx, uint16_t num_tx);
/* What is left of the card's objects is wrong. */
void qr_close(void);
int qr_teardown(void **state); /* closes; of tests */
/* Nothing is left. */
void qr_nothing(void);

#endif /* IPOIB_QUEUE_RIG_H */
