/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the two ends of a test tell each other over TCP, in the formats of the programs that people know: the ping-pong
 * programs of rdma-core and perftest. Pure functions on bytes.
 */
#ifndef ROCE_EXCH_H
#define ROCE_EXCH_H

#include <stdint.h>

#include <infiniband/verbs.h>

/* A queue pair and the memory behind it, as the other end needs it. */
struct rdest {
	uint32_t lid, qpn, psn;
	union ibv_gid gid;
	/* perftest's */
	uint32_t out_reads, rkey, srqn;
	uint64_t vaddr;
};

#define EXCH_PP_LEN 52u     /* LID:QPN:PSN:GID in hexadecimal digits, and the zero byte */
#define EXCH_PP_DONE "done" /* the caller's last word, with its zero byte */
#define EXCH_PT_LEN 108u    /* a destination with GID, and the zero byte */
#define EXCH_PT_VERSION_LEN 16u
#define EXCH_PT_PORT 18515u
/* From 6.28 on perftest compares all parameters in a structure of its own memory layout; below it does not. */
#define EXCH_PT_VERSION "6.10"
#define EXCH_PT_OLDEST 5.70 /* that perftest talks to */

void exch_pp_put(char out[EXCH_PP_LEN], const struct rdest *d);
/* @return 0, -EPROTO: not of this form. */
int exch_pp_get(const char in[EXCH_PP_LEN], struct rdest *d);

void exch_pt_put(char out[EXCH_PT_LEN], const struct rdest *d);
int exch_pt_get(const char in[EXCH_PT_LEN], struct rdest *d);

/* On a connection of RDMA CM (perftest's -R) it is numbers in network order, and no text. */
#define EXCH_CM_LEN 56u
void exch_cm_put(uint8_t out[EXCH_CM_LEN], const struct rdest *d);
void exch_cm_get(const uint8_t in[EXCH_CM_LEN], struct rdest *d);

/* A bandwidth report, in the unit that was asked for. */
struct rreport {
	uint64_t size, iters;
	double peak, avg, rate;
};
#define EXCH_PT_REPORT_LEN 40u
void exch_pt_report_put(uint8_t out[EXCH_PT_REPORT_LEN], const struct rreport *r);
void exch_pt_report_get(const uint8_t in[EXCH_PT_REPORT_LEN], struct rreport *r);

#endif /* ROCE_EXCH_H */
