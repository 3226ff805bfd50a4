/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The HCA core from the inside: what its files share with each other and with nobody else. */
#ifndef MLX4_HCA_CORE_H
#define MLX4_HCA_CORE_H

#include <rte_common.h>

#include "drivers/mlx4/bus/trace.h"
#include "hca.h"

/* One line that names the card first. */
#define HCA_LOG(hca, level, fmt, ...) MLX4_LOG(level, "%s: " fmt, (hca)->bus->where, ##__VA_ARGS__)

static inline uint32_t
mlx4_lg(uint64_t v)
{
	return v == 0 ? 0 : 63 - __builtin_clzll(v);
}

/* Smallest n with 1 << n >= v. */
static inline uint32_t
mlx4_lg_up(uint64_t v)
{
	return v <= 1 ? 0 : mlx4_lg(v - 1) + 1;
}

static inline uint32_t
mlx4_reg_read(struct mlx4_hca *hca, uint32_t off)
{
	const uint32_t val = hca->bus->ops->read32(hca->bus, off);

	mlx4_trace_reg(hca->trace, "read", off, val);
	return val;
}

static inline void
mlx4_reg_write(struct mlx4_hca *hca, uint32_t off, uint32_t val)
{
	mlx4_trace_reg(hca->trace, "write", off, val);
	hca->bus->ops->write32(hca->bus, off, val);
}

/* --- health.c --- */
/* Reads the catastrophic error buffer; true when the card reports a fatal error. */
bool mlx4_hca_catas(struct mlx4_hca *hca);
/* The card does not obey any more: from now on commands fail at once. Any thread. */
void mlx4_hca_mark_dead(struct mlx4_hca *hca, const char *why);

#define MLX4_PDS_END 32768u /* protection domains, of 2^17 that a key can name */

/* --- numbers.c: ranges of object numbers --- */
int mlx4_numbers_create(const char *what, uint32_t first, uint32_t end, int numa_node, struct mlx4_numbers **out);
void mlx4_numbers_destroy(struct mlx4_numbers *n);
/*
 * Takes `count` consecutive free numbers. The first is a multiple of `align` (a power of two); no number has a bit of
 * `clear` set; `top` searches from the end. -ENOSPC.
 */
int mlx4_numbers_get(struct mlx4_numbers *n, uint32_t count, uint32_t align, uint32_t clear, bool top, uint32_t *base);
/* One of the last window numbers, each in its turn, so that one that was given back rests; another one when all are taken. */
int mlx4_numbers_cycle(struct mlx4_numbers *n, uint32_t window, uint32_t clear, uint32_t *number);
void mlx4_numbers_put(struct mlx4_numbers *n, uint32_t base, uint32_t count);
uint32_t mlx4_numbers_used(const struct mlx4_numbers *n);
/* Numbers that were taken are a port's (1..MLX4_MAX_PORTS) until they are given back; they may be already. */
void mlx4_numbers_belong(struct mlx4_numbers *n, uint32_t base, uint32_t count, unsigned int port);
uint32_t mlx4_numbers_used_by(const struct mlx4_numbers *n, unsigned int port);

/* --- reset.c --- */
/* Waits for the reset semaphore, resets, waits until the card answers [CP 1.4]. */
int mlx4_hca_reset(struct mlx4_hca *hca);
/*
 * A card that kept an object it was told to give back may still write to the object's memory: resets it, so that the
 * memory can be freed. Nothing to do when that happened before.
 */
void mlx4_hca_stop_dma(struct mlx4_hca *hca);

/* --- cmd.c --- */
struct mlx4_cmd_desc {
	const char *name;
	uint16_t opcode;
	uint8_t in, out; /* enum mlx4_cmd_kind */
};
enum mlx4_cmd_kind { MLX4_KIND_NONE, MLX4_KIND_IMM, MLX4_KIND_MBOX, MLX4_KIND_MAYBE };
/* NULL: no such opcode. */
const struct mlx4_cmd_desc *mlx4_cmd_describe(uint16_t opcode);
const char *mlx4_cmd_status_text(uint8_t status);
/* As mlx4_cmd, for what not every firmware knows: a refusal is only noted. */
int mlx4_cmd_try(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint8_t op_modifier, uint32_t in_modifier,
		 const void *in, size_t in_len, void *out, size_t out_len);
/* A mailbox in, an immediate result out. */
int mlx4_cmd_mbox_imm(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint8_t op_modifier, uint32_t in_modifier,
		      const void *in, size_t in_len, uint64_t *out);
int mlx4_cmd_init(struct mlx4_hca *hca);
void mlx4_cmd_fini(struct mlx4_hca *hca);
/* The card was marked dead: on return no thread gives it a command that had not seen that. */
void mlx4_cmd_quiesce(struct mlx4_hca *hca);
/* The card was reset: commands are polled again, from the first one on. None may be under way. */
void mlx4_cmd_after_reset(struct mlx4_hca *hca);
/* The card was not reset: goes on with the toggle bit that it shows. */
void mlx4_cmd_as_found(struct mlx4_hca *hca);
/* After the asynchronous EQ works: completions come as events, several commands may be under way. poll looks for them now. */
int mlx4_cmd_use_events(struct mlx4_hca *hca, void (*poll)(struct mlx4_hca *hca));
void mlx4_cmd_use_polling(struct mlx4_hca *hca);
/* From the asynchronous EQ. */
void mlx4_cmd_completed(struct mlx4_hca *hca, const uint8_t *eqe);
uint64_t mlx4_cmd_count(const struct mlx4_hca *hca);

/* --- fw.c --- */
int mlx4_fw_start(struct mlx4_hca *hca, bool check);
void mlx4_fw_stop(struct mlx4_hca *hca);
int mlx4_fw_query_caps(struct mlx4_hca *hca);
/* QUERY_PORT has an answer that is more than zeros. */
int mlx4_fw_check_port(struct mlx4_hca *hca, unsigned int port);
int mlx4_fw_query_guid(struct mlx4_hca *hca);
int mlx4_fw_query_board(struct mlx4_hca *hca);
/* MAP_FA, MAP_ICM or MAP_ICM_AUX of one piece of memory; va is 0 for the areas that have no address. */
int mlx4_fw_map(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint64_t va, const struct mlx4_dma *d);

/* --- icm.c --- */
int mlx4_icm_create(struct mlx4_hca *hca);
void mlx4_icm_destroy(struct mlx4_hca *hca);
int mlx4_icm_init_hca(struct mlx4_hca *hca);
uint32_t mlx4_icm_num_qps(const struct mlx4_hca *hca);
uint32_t mlx4_icm_num_cqs(const struct mlx4_hca *hca);
uint32_t mlx4_icm_num_srqs(const struct mlx4_hca *hca);
uint32_t mlx4_icm_num_eqs(const struct mlx4_hca *hca);
uint32_t mlx4_icm_num_mpts(const struct mlx4_hca *hca);
uint32_t mlx4_icm_num_mtts(const struct mlx4_hca *hca);
/* The card reads translation entries from host memory when it uses them [CP 5.9], so no command writes them. */
rte_be64_t *mlx4_icm_mtt(const struct mlx4_hca *hca, uint32_t index);

/* --- mr.c --- */
/* Translation entries for a ring of len bytes at d's start; lg_page is lg bytes - 12. */
int mlx4_mtt_map(struct mlx4_hca *hca, const struct mlx4_dma *d, size_t len, uint64_t *mtt_off, uint32_t *pages,
		 uint8_t *lg_page);
void mlx4_mtt_unmap(struct mlx4_hca *hca, uint64_t mtt_off, uint32_t pages);
/* Entries that their owner fills in; *first: the number of the first one. */
int mlx4_mtt_get(struct mlx4_hca *hca, uint32_t n, uint32_t *first);
/* What a ring's memory must be aligned to for that. */
size_t mlx4_mtt_align(size_t len);
int mlx4_mr_create_pa(struct mlx4_hca *hca);
void mlx4_mr_destroy_pa(struct mlx4_hca *hca);

/* --- eq.c --- */
struct mlx4_eq {
	struct mlx4_hca *hca;
	struct mlx4_dma buf;
	uint64_t mtt_off;
	uint32_t mtt_pages;
	uint32_t eqn, entries;
	uint64_t ci;     /* entries taken so far */
	uint16_t vector; /* MSI-X table index */
	bool always;     /* each entry interrupts, and nobody reads them */
	volatile rte_be32_t *db;
	rte_spinlock_t lock; /* ci and the entries */
};
int mlx4_eq_create(struct mlx4_hca *hca, uint32_t eqn, uint32_t entries, uint16_t vector, struct mlx4_eq **out);
/* Each entry interrupts, whether those before it were read or not: it is never armed, and may overrun [CP 5.1]. */
int mlx4_eq_create_always(struct mlx4_hca *hca, uint32_t eqn, uint32_t entries, uint16_t vector, struct mlx4_eq **out);
void mlx4_eq_destroy(struct mlx4_eq *eq);
/* An entry is there that nobody has taken. *ci: the number of the next entry, counted from 0, whether it is there or not. */
bool mlx4_eq_waits(struct mlx4_eq *eq, uint64_t *ci);
/*
 * Copies up to n entries out and tells the card, which arms the EQ; arm: even when there was none. Returns how many. *ci: the
 * number of the first, counted from 0; NULL: it is not wanted.
 */
unsigned int mlx4_eq_take(struct mlx4_eq *eq, uint8_t (*eqe)[MLX4_EQE_SIZE], unsigned int n, bool arm, uint64_t *ci);

/* --- own_eq.c: vectors of other processes --- */
void mlx4_own_eqs_init(struct mlx4_hca *hca, uint32_t first_eqn, unsigned int n);
/* All of them, whoever has them. */
void mlx4_own_eqs_destroy(struct mlx4_hca *hca);
/* The EQ of a vector, also of one that mlx4_own_vector_get() gave; below 0: the asynchronous one. NULL: no such vector. */
struct mlx4_eq *mlx4_eq_of(const struct mlx4_hca *hca, int vector);

/* --- event.c: the asynchronous EQ, the completion EQs and who hears of them --- */
int mlx4_events_start(struct mlx4_hca *hca);
void mlx4_events_stop(struct mlx4_hca *hca);
/* Looks for command completions now; other events are left to the interrupt thread. */
void mlx4_events_poll_cmd(struct mlx4_hca *hca);

/* --- port/set_port.c --- */
#define MLX4_SPG_SIZE 0x24u /* of a SET_PORT GENERAL mailbox */
int mlx4_set_port(struct mlx4_hca *hca, unsigned int port, enum mlx4_set_port_sel sel, const void *box, size_t len);
/* The fields of pause frames in a SET_PORT GENERAL mailbox. */
void mlx4_pause_fill(uint8_t *box, const struct mlx4_pause *pause);

/* --- uar.c --- */
int mlx4_uars_init(struct mlx4_hca *hca);
void mlx4_uars_fini(struct mlx4_hca *hca);

/* --- qp.c --- */
int mlx4_special_qps_create(struct mlx4_hca *hca);
void mlx4_special_qps_destroy(struct mlx4_hca *hca);
/* Both rings in one buffer, the one with the larger stride first [DP 4.1]; the doorbell record behind them. */
int mlx4_qp_rings_alloc(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, const char *what, size_t sq_len,
			size_t rq_len, bool rq_first, int numa_node, struct mlx4_qp *qp, uint8_t *lg_page);
/* The interface counter of a port in a context. True: it has one of its own. */
bool mlx4_qp_counter(struct mlx4_hca *hca, uint8_t *ctx, unsigned int port);

/* --- qp_update.c --- */
/* 2ERR_QP and RTS2SQD_QP, of whose mailbox, if there is one, the card reads nothing. */
int mlx4_qp_cmd_no_context(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint32_t in_modifier);

#endif /* MLX4_HCA_CORE_H */
