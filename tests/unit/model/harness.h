/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Plays a driver against a card: host memory behind one DMA window, commands through the HCR by polling, a small static
 * ICM layout, and contexts written field by field. Nothing here looks inside the card.
 *
 *	struct card *c = card_new(NULL);	power-on state
 *	card_boot(c, CARD_DMFS);		up to INIT_HCA
 *	card_objects(c);			the EQ, CQ and MR that most tests need
 *	card_free(c);
 *
 * Includes what CMocka wants before its own header.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mlx4_prm.h"
#include "mlx4_prm_cmd.h"
#include "mlx4_prm_ctx.h"
#include "mlx4_prm_regs.h"
#include "mlx4_prm_wqe.h"
#include "tp_model.h"

#define CARD_MEM_SIZE (64u << 20)
#define CARD_IOVA UINT64_C(0x10000000)
#define CARD_PAGE 4096u

/* lg counts of the harness's INIT_HCA */
#define CARD_LG_QPS 9u
#define CARD_LG_SRQS 7u
#define CARD_LG_CQS 9u
#define CARD_LG_EQS 5u
#define CARD_LG_MPTS 10u
#define CARD_LG_MTTS 14u
#define CARD_LG_MCGS 10u
#define CARD_LG_MCG_ENTRY 7u

/* First numbers that are not reserved, by QUERY_DEV_CAP */
#define CARD_EQN 4u
#define CARD_CQN 128u
#define CARD_QPN 64u
#define CARD_MPT 256u
#define CARD_SRQN 64u
#define CARD_UAR 128u
#define CARD_PD 7u
#define CARD_KEY ((CARD_MPT << 8) | 0x5au) /* of card_objects' memory region: all of the arena, at its DMA addresses */

enum { CARD_DMFS = 1, CARD_CQE64 = 2, CARD_EQE64 = 4, CARD_GROUPS = 8 }; /* for card_boot */

struct card {
	struct tp_model *m;
	uint8_t *mem; /* host view of [CARD_IOVA, +CARD_MEM_SIZE) */
	uint64_t used;
	uint64_t in, out; /* mailboxes */
	uint64_t imm;     /* immediate result of the last command */
	uint32_t toggle;
	uint64_t icm_size, mtt_base, mtt_next; /* mtt_next: byte offset */
	uint64_t mtt_mem, eqc_mem, qpc_mem, cqc_mem, dmpt_mem;
	uint64_t eq_buf, cq_buf, cq_dbrec; /* of card_objects */
	int irq_fd;                        /* vector 0 */
	unsigned int flags;
	uint32_t cqe_size, cqe_off, eqe_size, eqe_off;
};

struct card *card_new(const struct tp_model_config *cfg);
void card_free(struct card *c);
/* Host memory, zeroed; align is a power of two. */
uint64_t card_alloc(struct card *c, uint64_t len, uint64_t align);
uint8_t *card_ptr(struct card *c, uint64_t iova);

/* The in mailbox, zeroed, and the out mailbox. */
uint8_t *card_in(struct card *c);
uint8_t *card_out(struct card *c);
/* Runs a command by polling; its status, or -1 when GO stays set. */
int card_cmd(struct card *c, uint16_t op, uint8_t op_mod, uint32_t in_mod, uint64_t in_param, uint64_t out_param);
int card_cmd_in(struct card *c, uint16_t op, uint8_t op_mod, uint32_t in_mod);  /* with the in mailbox */
int card_cmd_out(struct card *c, uint16_t op, uint8_t op_mod, uint32_t in_mod); /* with the out mailbox */
int card_cmd_none(struct card *c, uint16_t op, uint8_t op_mod, uint32_t in_mod);

/* Bring-up in pieces, each 0 or the status of the command that failed. */
int card_start_fw(struct card *c);
int card_map(struct card *c, uint16_t op, uint64_t va, uint64_t iova, uint64_t pages);
int card_init_hca(struct card *c, unsigned int flags);
void card_fill_init_hca(struct card *c, uint8_t *in, unsigned int flags);
void card_boot(struct card *c, unsigned int flags);
int card_shutdown(struct card *c);

/* Makes MTT entries for [iova, +pages), one per 4 KiB, written in place as drivers do; the byte offset of the first. */
uint64_t card_mtt(struct card *c, uint64_t iova, uint32_t pages);

/* Contexts with the usual values; callers change fields before the command. */
void card_eq_ctx(struct card *c, uint8_t *ctx, uint64_t buf, uint32_t lg, uint32_t vector);
void card_cq_ctx(struct card *c, uint8_t *ctx, uint64_t buf, uint32_t lg, uint32_t eqn, uint64_t dbrec);
void card_mr_ctx(struct card *c, uint8_t *ctx, uint32_t key, uint64_t va, uint64_t len, bool pa);
/* Raw Ethernet QP on port: send ring of 2^lg_sq 64-byte strides, then receive ring; lg 0: none of that kind. */
void card_qp_ctx(struct card *c, uint8_t *ctx, uint32_t qpn, unsigned int port, uint64_t buf, uint32_t lg_sq,
		 uint32_t lg_rq, uint32_t lg_rq_stride, uint64_t dbrec);
uint32_t card_qp_buf_size(uint32_t lg_sq, uint32_t lg_rq, uint32_t lg_rq_stride);
/* Takes a QP whose context is given through RST, INIT, RTR, RTS; the first status that is not OK. */
int card_qp_up(struct card *c, uint32_t qpn, const uint8_t *ctx);
int card_qp_step(struct card *c, uint16_t op, uint32_t qpn, const uint8_t *ctx);

/* EQ CARD_EQN (256 entries, vector 0), CQ CARD_CQN (256 entries), memory region CARD_KEY. */
void card_objects(struct card *c);

/* How often a rule was broken; fails the test for a name that does not exist. */
uint64_t card_violations(struct card *c, const char *name);
/* That rule was broken n times in all and no other one. */
void card_expect(struct card *c, const char *name, uint64_t n);
/* No rule was broken. */
void card_expect_clean(struct card *c);

/* CMocka fixtures: a card in power-on state; one after INIT_HCA with steering rules; the same with objects. */
int setup_power_on(void **state);
int setup_booted(void **state);
int setup_objects(void **state);
int teardown_card(void **state);

#endif /* HARNESS_H */
