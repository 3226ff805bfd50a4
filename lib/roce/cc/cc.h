/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control of RoCEv2 queue pairs (DCQCN: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
 * SIGCOMM 2015) as code on numbers: no packets, no clock, no thread. Time is an argument, in ns, and never goes back.
 *
 * The notification point (NP) asks by tcc_np_mark() whether a packet that was marked is answered by a congestion
 * notification packet (CNP). The reaction point (RP) tells tcc_rp_cnp() of each CNP, asks tcc_rp_next() when the next packet
 * may go, and tells tcc_rp_sent() of it. A queue pair has no timer: what its timers would have done is done when it is asked
 * next, in the order in which it was due.
 *
 * Rates are kb/s. The words of the parameters are those of the vendor's tool.
 */
#ifndef ROCE_CC_CC_H
#define ROCE_CC_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCC_NEVER UINT64_MAX
#define TCC_ALPHA_ONE (1u << 30)

/* Published algorithms differ in these points; a variant is a set of them. */
enum tcc_variant {
	TCC_CARD,   /* parameters of the card: what its vendor's manual says */
	TCC_PAPER,  /* the paper's text */
	TCC_VENDOR, /* as simulators of later cards have it: increase by time alone, decrease checked every period */
	TCC_VARIANTS,
};

struct tcc_conf {
	uint8_t variant; /* enum tcc_variant */
	bool clamp_target_rate, clamp_target_rate_after_time_inc;
	bool disable_hai_stage;              /* what would be a hyper increase is an additive one */
	uint8_t threshold;                   /* stages of fast recovery, 1..31 */
	uint8_t alpha_to_rate_shift;         /* 0..11: a decrease takes alpha * 2^10 / 2^shift of the rate */
	uint8_t min_dec_fac;                 /* percent of the rate that one decrease leaves at least, 0..100 */
	uint16_t dce_tcp_g;                  /* gain of alpha, 1/1024, 0..1023 */
	uint16_t initial_alpha;              /* alpha at the first CNP, 1/1024, 0..1024 */
	uint32_t time_reset;                 /* us between two stages of time; 0: none */
	uint32_t dce_tcp_rtt;                /* us between two updates of alpha; 0: only CNPs change it */
	uint32_t rate_reduce_monitor_period; /* us within which one decrease is made */
	uint32_t byte_reset;                 /* 64 bytes between two stages of bytes; 0: none */
	uint32_t ai_rate, hai_rate;          /* Mb/s that an additive and a hyper increase adds to the target */
	uint32_t min_rate;                   /* Mb/s, 0..line; line: no control */
	uint32_t max_rate;                   /* Mb/s where a limit begins and ends, 0..line; 0: the line's */
	uint32_t rate_on_first_cnp;          /* Mb/s, 0..line; 0: as any other */
	uint32_t line_rate;                  /* Mb/s */
	/* of the notification point */
	uint32_t cnp_interval; /* us between two CNPs of a flow; 0: one for each mark */
	uint8_t cnp_dscp, cnp_802p_prio;
	bool cnp_prio_mode; /* CNPs have the priority of what was marked */
};

/* A queue pair. All 0: not limited. */
struct tcc_rp {
	uint64_t time_due;     /* next stage of time */
	uint64_t alpha_from;   /* since when alpha was not updated */
	uint64_t decreased;    /* last decrease; TCC_VENDOR: last check for one before the CNP that waits */
	uint64_t bytes;        /* since the last stage of bytes */
	uint64_t send_at;      /* when the line of this queue pair is free */
	uint32_t rate, target; /* kb/s */
	uint32_t alpha;        /* TCC_ALPHA_ONE: 1 */
	uint8_t time_stage, byte_stage;
	bool limited;
	bool cnp_in_tick; /* since alpha_from */
	bool pending;     /* TCC_VENDOR: a CNP waits for the next check */
	bool had_cnp;     /* ever: alpha of TCC_VENDOR begins but once */
};

/* A flow at its receiver. All 0: nothing was marked. */
struct tcc_np {
	uint64_t last;
	bool told;
};

/* A flow of datagrams: each packet alone says whose it is. */
struct tcc_np_flow {
	uint8_t addr[16];  /* the sender's, as a GID */
	uint32_t from, to; /* queue pairs */
};

struct tcc_np_place {
	struct tcc_np_flow flow;
	uint64_t until; /* it is told nothing before */
	uint8_t prio;
};

#define TCC_NP_FLOWS 256u

/* Flows of datagrams at a receiver that were told something just now. All 0: none. */
struct tcc_np_flows {
	struct tcc_np_place place[TCC_NP_FLOWS];
};

/* The defaults of a variant: those of the card's manual, or the paper's table. */
void tcc_conf_default(struct tcc_conf *c, enum tcc_variant v, uint32_t line_mbps);

/* The line has another rate: parameters that are rates are at most that. */
void tcc_conf_line(struct tcc_conf *c, uint32_t line_mbps);

/* "card", "paper", "vendor-hpcc". */
const char *tcc_variant_name(enum tcc_variant v);
/* TCC_VARIANTS: none has this name. "vendor" is the last one, too. */
enum tcc_variant tcc_variant_find(const char *name);

/* A CNP came. false: it changes nothing, as min_rate is the line rate, or max_rate. */
bool tcc_rp_cnp(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now);

/* When a packet may go: now or later. Of a queue pair that is not limited: now. */
uint64_t tcc_rp_next(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now);

/* A packet of so many bytes went. */
void tcc_rp_sent(struct tcc_rp *rp, const struct tcc_conf *c, uint32_t bytes, uint64_t now);

/* The rate by now in kb/s; that of the line when nothing limits. */
uint32_t tcc_rp_rate(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now);

/* alpha by now, TCC_ALPHA_ONE: 1. */
uint32_t tcc_rp_alpha(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now);

/* A packet of a flow came marked: is a CNP sent? At most one in interval_us. */
static inline bool
tcc_np_mark(struct tcc_np *np, uint32_t interval_us, uint64_t now)
{
	if (np->told && now - np->last < (uint64_t)interval_us * 1000)
		return false;
	np->told = true;
	np->last = now;
	return true;
}

/*
 * The same for a flow of datagrams. false also where all places that it may have are taken: its next mark asks again. prio is what
 * tcc_np_told() counts by; it makes no other flow.
 */
bool tcc_np_mark_flow(struct tcc_np_flows *t, const struct tcc_np_flow *f, uint8_t prio, uint32_t interval_us,
		      uint64_t now);

/* Flows of datagrams that were told something, by a mark of this priority, less than their interval ago. */
uint32_t tcc_np_told(const struct tcc_np_flows *t, uint8_t prio, uint64_t now);

/* --- parameters as words ------------------------------------------------------------------------------------ */

struct tcc_param {
	const char *name;
	const char *ofed; /* as the vendor's driver for Linux calls it; "": it has it not */
	const char *unit;
	uint64_t min, max;
	bool line; /* max is the line rate, if that is less: what is above is set to it */
};

/* Parameter i of both points; NULL behind the last. */
const struct tcc_param *tcc_param(unsigned int i);
uint64_t tcc_param_get(const struct tcc_conf *c, unsigned int i);
/* 0; 1: it was above the line rate and is the line rate now; -ERANGE. */
int tcc_param_set(struct tcc_conf *c, unsigned int i, uint64_t value);
/* Whatever the value is, as a card says it. */
void tcc_param_force(struct tcc_conf *c, unsigned int i, uint64_t value);
/* By either name; -1: no parameter has it. */
int tcc_param_find(const char *name);

#endif /* ROCE_CC_CC_H */
