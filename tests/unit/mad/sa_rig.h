/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The client of subnet administration against an administrator that a test plays: octets as 15.2.5.16 and 15.2.5.17 have
 * them, answers out of order, late, wrong, or none.
 */
#ifndef MAD_SA_RIG_H
#define MAD_SA_RIG_H

#include "rig.h"

#include <errno.h>
#include <stdlib.h>

#include "tp_sa.h"

#define PKEY 0xffffu

extern struct rig r;
extern struct tp_sa *sa;
/* What the administrator was asked. */
extern struct tp_mad_agent *admin;
extern struct tp_mad_packet asked[256];
extern unsigned int num_asked;
extern bool answering; /* each question for a path, at once */

struct told {
	unsigned int num;
	int status;
	struct tp_sa_path path;
	struct tp_sa_member member;
	uint32_t records, stride;
	uint8_t first[64];
	unsigned int order;  /* the how manieth of all */
	bool again;          /* asks at once again */
	const void *cancels; /* what he waits for is given up when this one is told */
};
extern unsigned int tellings;

union ibv_gid gid(uint8_t n);
void answer(const struct tp_mad_packet *q, uint16_t status, const uint8_t *record, uint32_t len);
/* A path to whom was asked for: its LID is the last octet. */
void answer_path(const struct tp_mad_packet *q);
void on_path(void *arg, int status, const struct tp_sa_path *path);
void on_member(void *arg, int status, const struct tp_sa_member *m);
void on_records(void *arg, int status, const uint8_t *records, uint32_t stride, uint32_t n);
int up(void **state);
int down(void **state);

#endif /* MAD_SA_RIG_H */
