/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Quantized congestion notification (IEEE 802.1Qau, in 802.1Q clauses 30 to 33) as code on numbers, as cc.h has DCQCN. A congestion
 * point samples the frames that come to its queue. When the queue is too long or grows it sends a congestion notification message
 * (CNM) to a frame's source, whose reaction point lowers the rate of the flow and raises it again by stages of bytes and time.
 */
#ifndef ROCE_CC_QAU_H
#define ROCE_CC_QAU_H

#include <stdbool.h>
#include <stdint.h>

/* --- on the wire ------------------------------------------------------------------------------------------------- */

#define TQAU_ETYPE_TAG 0x22e9u /* CN-TAG: this type, and two octets that name the flow at its source */
#define TQAU_ETYPE_CNM 0x22e7u
#define TQAU_TAG_LEN 4u
#define TQAU_CNM_LEN 24u /* without the octets of the sampled frame */
#define TQAU_MSDU_MAX 64u
#define TQAU_FB_MAX 63u

struct tqau_cnm {
	uint8_t fb; /* QntzFb, 0..63 */
	uint64_t cpid;
	int32_t qoff, qdelta; /* octets */
	uint8_t prio;         /* of the sampled frame */
	uint8_t dst[6];
	uint16_t msdu_len;
};

/* The message behind its type. */
void tqau_cnm_put(uint8_t out[TQAU_CNM_LEN], const struct tqau_cnm *m);
/* false: too short, or of another version. */
bool tqau_cnm_get(const uint8_t *in, uint32_t len, struct tqau_cnm *m);

/* --- congestion point ------------------------------------------------------------------------------------------------ */

struct tqau_cp {
	uint32_t old; /* depth at the last sample */
	int64_t left; /* octets to the next one */
};

/*
 * A frame of len octets came to a queue that holds depth with it. true: a CNM is due, with fb, qoff and qdelta of m set. qeq: the depth
 * that is wanted; base: octets between two samples while there is no congestion; jitter: 0..1023, by which that is spread by 15 %.
 */
bool tqau_cp_frame(struct tqau_cp *cp, uint32_t depth, uint32_t len, uint32_t qeq, uint32_t base, uint32_t jitter,
		   struct tqau_cnm *m);

/* --- reaction point -------------------------------------------------------------------------------------------------- */

/* The names of 802.1Q's managed objects. */
struct tqau_conf {
	uint32_t time_reset;        /* us of a stage of time; 0: none */
	uint32_t byte_reset;        /* octets of a stage of bytes; 0: none */
	uint32_t threshold;         /* stages of fast recovery */
	uint32_t max_rate;          /* Mb/s where the limit ends; 0: the line's */
	uint32_t ai_rate, hai_rate; /* Mb/s */
	uint32_t gd;                /* a CNM takes QntzFb / 2^gd of the rate */
	uint32_t min_dec_fac;       /* percent of the rate that one CNM leaves at least */
	uint32_t min_rate;          /* Mb/s */
	uint32_t line_rate;         /* Mb/s */
	bool keep_target;           /* a target far above the rate stays */
};

/* All 0: not limited. */
struct tqau_rp {
	uint64_t time_due, send_at;
	int64_t left;          /* octets of the stage */
	uint32_t rate, target; /* kb/s */
	uint8_t time_stage, byte_stage;
	bool limited;
};

/* The defaults of the standard. */
void tqau_conf_default(struct tqau_conf *c, uint32_t line_mbps);
/* false: it asks for nothing. */
bool tqau_rp_cnm(struct tqau_rp *rp, const struct tqau_conf *c, unsigned int fb, uint64_t now);
/* When a frame may go: now or later. */
uint64_t tqau_rp_next(struct tqau_rp *rp, const struct tqau_conf *c, uint64_t now);
/* A frame of so many octets, with its FCS, went. */
void tqau_rp_sent(struct tqau_rp *rp, const struct tqau_conf *c, uint32_t bytes, uint64_t now);
/* kb/s by now; that of the line when nothing limits. */
uint32_t tqau_rp_rate(struct tqau_rp *rp, const struct tqau_conf *c, uint64_t now);

#endif /* ROCE_CC_QAU_H */
