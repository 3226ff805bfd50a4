/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control of a port, by priority: what the firmware does with marked packets and CNPs of RoCE v2. The
 * formulas are those of lib/roce/cc. 802.1Qau has its parameters here; model/qos/cn.c follows them.
 */
#ifndef MODEL_ROCE_ROCE_CC_H
#define MODEL_ROCE_ROCE_CC_H

#include "lib/roce/cc/cc.h"
#include "mlx4_prm_cc.h"
#include "mlx4_prm_qos.h"
#include "roce.h"

struct tpm_cc_prio {
	struct tcc_conf conf;
	uint8_t variant;                                  /* enum tcc_variant, of the firmware */
	uint8_t set[MLX4_CC_ALGORITHMS][MLX4_CC_RP_SIZE]; /* as the commands have them */
	/* reaction point */
	uint64_t limited_ns; /* lives of limiters that ended */
	uint32_t ignored_cnps, handled, limiters, most_limiters;
	uint32_t total_kbps, average_kbps, least_kbps, greatest_kbps; /* of all limiters, at CNPs */
	/* notification point */
	uint64_t ignored_marks;
	uint32_t marked, cnps, most_flows;
};

struct tpm_cc {
	char *stored; /* as configured, NULL: nothing */
	struct tpm_cc_prio prio[MLX4_PRIOS];
	uint8_t general[MLX4_CC_GENERAL_SIZE];
	uint8_t ect[IBV_QPT_UD + 1]; /* by type of queue pair: priorities whose packets say ECT(0) */
	uint8_t rp, np;              /* priorities with a point that listens */
	struct tcc_np_flows flows;   /* of datagrams that were told of marks */
};

/* --- settings (roce_cc.c) --- */

/* stored: what the port has after each reset, "" or NULL: nothing. 0 or -ENOMEM. */
int tpm_cc_init(struct tpm_port *p, const char *stored);
void tpm_cc_fini(struct tpm_port *p);
/* As after a reset. */
void tpm_cc_reset(struct tpm_port *p);
/* What is stored goes into the sets of its priorities (roce_cc_stored.c). */
void tpm_cc_stored_apply(struct tpm_port *p);
/* Parameters of a priority changed. */
void tpm_cc_changed(struct tp_model *m, struct tpm_port *p, unsigned int prio);
/* The defaults of an algorithm as a set of parameters. */
void tpm_cc_defaults(struct tpm_port *p, unsigned int prio, unsigned int algorithm);
void tpm_cc_general_defaults(struct tpm_cc *cc);
/* The flows of a priority that are limited, or within the time between two CNPs: how many, and their rate in kb/s. */
uint32_t tpm_cc_limiters(struct tp_model *m, struct tpm_port *p, unsigned int prio, uint64_t *kbps, uint64_t *lived_ns);
uint32_t tpm_cc_injectors(const struct tp_model *m, const struct tpm_port *p, unsigned int prio);

/* --- packets --- */

/* May this packet of so many bytes go by now? */
bool tpm_cc_may_send(struct tpm_roce *r, uint32_t bytes);
/* A CNP for a queue pair. */
void tpm_cc_congested(struct tre_qp *e, const struct tre_in *in, uint64_t now);
/* A marked packet for a queue pair that receives: answered, by a packet back to where it came from. */
struct tpm_cc_marked {
	const uint8_t *h, *net, *packet; /* of the frame: all, from layer 3 on; from the BTH on */
	uint32_t len;                    /* of packet, without CRC */
	const struct tpm_pkt *k;
	bool v4, v1;
};
void tpm_cc_marked(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tpm_cc_marked *in);
/* A packet for a queue pair that does not receive: CNPs are counted, by the priority of the packet. */
void tpm_cc_lost(struct tpm_port *p, const struct tpm_pkt *k, const uint8_t *h, const uint8_t *packet);
/* The queue pair stops sending, or goes. */
void tpm_cc_release(struct tpm_roce *r);

static inline bool
tpm_cc_says_ect(const struct tpm_port *p, enum ibv_qp_type type, const struct tpm_roce_path *path)
{
	return (p->cc->ect[type] >> path->prio & 1) != 0;
}

#endif /* MODEL_ROCE_ROCE_CC_H */
