/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Event queues [CP 5.1, 9]. */
#include <errno.h>
#include <string.h>

#include <rte_io.h>
#include <rte_malloc.h>

#include "core.h"

static uint8_t *
eqe_at(const struct mlx4_eq *eq, uint64_t i)
{
	return (uint8_t *)eq->buf.va + (size_t)(i & (eq->entries - 1)) * MLX4_EQE_SIZE;
}

/* Ours when the owner bit is that of this pass; the card flips it at each wrap [CP 9.1]. */
static bool
eqe_ready(const struct mlx4_eq *eq)
{
	const volatile uint8_t *e = eqe_at(eq, eq->ci);
	bool owner = (e[MLX4_EQE_SIZE - 1] >> 7) & 1;

	return owner == !!(eq->ci & eq->entries);
}

/* Arms too: where doorbells are memory that a card in software looks at, an update alone would hide an arming before. */
static void
eq_doorbell(struct mlx4_eq *eq)
{
	rte_io_wmb();
	*eq->db = rte_cpu_to_be_32(((uint32_t)eq->ci & MLX4_EQ_DB_CI_MASK) | MLX4_EQ_DB_ARM);
	rte_io_wmb();
}

bool
mlx4_eq_waits(struct mlx4_eq *eq, uint64_t *ci)
{
	bool waits;

	rte_spinlock_lock(&eq->lock);
	waits = eqe_ready(eq);
	*ci = eq->ci;
	rte_spinlock_unlock(&eq->lock);
	return waits;
}

unsigned int
mlx4_eq_take(struct mlx4_eq *eq, uint8_t (*eqe)[MLX4_EQE_SIZE], unsigned int n, bool arm, uint64_t *ci)
{
	unsigned int i;

	rte_spinlock_lock(&eq->lock);
	if (ci != NULL)
		*ci = eq->ci;
	for (i = 0; i < n && eqe_ready(eq); i++) {
		rte_io_rmb();
		memcpy(eqe[i], eqe_at(eq, eq->ci), MLX4_EQE_SIZE);
		eq->ci++;
	}
	if (i != 0 || arm)
		eq_doorbell(eq);
	rte_spinlock_unlock(&eq->lock);
	return i;
}

static int
eq_to_hw(struct mlx4_eq *eq, uint8_t lg_page)
{
	uint8_t ctx[MLX4_EQC_SIZE] = {0};

	prm_set(ctx, MLX4_EQC_STATE, eq->always ? MLX4_EQ_STATE_ALWAYS_ARMED : MLX4_EQ_STATE_ARMED);
	prm_set(ctx, MLX4_EQC_OI, eq->always);
	prm_set(ctx, MLX4_EQC_LG_SIZE, mlx4_lg(eq->entries));
	prm_set(ctx, MLX4_EQC_INTR, eq->vector);
	prm_set(ctx, MLX4_EQC_LG_PAGE, lg_page);
	prm_set(ctx, MLX4_EQC_MTT_H, eq->mtt_off >> 32);
	prm_set(ctx, MLX4_EQC_MTT_L, (uint32_t)eq->mtt_off);
	return mlx4_cmd(eq->hca, MLX4_CMD_SW2HW_EQ, 0, eq->eqn, ctx, sizeof(ctx), NULL, 0);
}

static int
eq_create(struct mlx4_hca *hca, uint32_t eqn, uint32_t entries, uint16_t vector, bool always, struct mlx4_eq **out)
{
	struct mlx4_eq *eq = rte_zmalloc_socket("mlx4_eq", sizeof(*eq), 0, hca->numa_node);
	size_t len = (size_t)entries * MLX4_EQE_SIZE;
	uint8_t lg_page;
	uint32_t i;
	int rc;

	if (eq == NULL)
		return -ENOMEM;
	eq->hca = hca;
	eq->eqn = eqn;
	eq->entries = entries;
	eq->vector = vector;
	eq->always = always;
	rte_spinlock_init(&eq->lock);
	eq->db = (volatile rte_be32_t *)(mlx4_uar_addr(hca, eqn / MLX4_EQS_PER_UAR) + MLX4_UAR_EQ_DB +
					 8 * (eqn % MLX4_EQS_PER_UAR));
	rc = mlx4_dma_alloc(hca, "an event queue", len, mlx4_mtt_align(len), hca->numa_node, &eq->buf);
	if (rc != 0)
		goto err_dma;
	/* The card does the same at SW2HW_EQ; no entry may look written before. */
	for (i = 0; i < entries; i++)
		prm_set(eqe_at(eq, i), MLX4_EQE_OWNER, 1);
	rc = mlx4_mtt_map(hca, &eq->buf, len, &eq->mtt_off, &eq->mtt_pages, &lg_page);
	if (rc != 0)
		goto err_mtt;
	rc = eq_to_hw(eq, lg_page);
	if (rc != 0)
		goto err_hw;
	*out = eq;
	return 0;

err_hw:
	if (hca->dead)
		mlx4_hca_stop_dma(hca);
	mlx4_mtt_unmap(hca, eq->mtt_off, eq->mtt_pages);
err_mtt:
	mlx4_dma_free(&eq->buf);
err_dma:
	rte_free(eq);
	return rc;
}

int
mlx4_eq_create(struct mlx4_hca *hca, uint32_t eqn, uint32_t entries, uint16_t vector, struct mlx4_eq **out)
{
	return eq_create(hca, eqn, entries, vector, false, out);
}

int
mlx4_eq_create_always(struct mlx4_hca *hca, uint32_t eqn, uint32_t entries, uint16_t vector, struct mlx4_eq **out)
{
	return eq_create(hca, eqn, entries, vector, true, out);
}

void
mlx4_eq_destroy(struct mlx4_eq *eq)
{
	struct mlx4_hca *hca = eq->hca;

	if (mlx4_cmd(hca, MLX4_CMD_HW2SW_EQ, MLX4_OPM_NO_OUTBOX, eq->eqn, NULL, 0, NULL, 0) != 0)
		mlx4_hca_stop_dma(hca);
	mlx4_mtt_unmap(hca, eq->mtt_off, eq->mtt_pages);
	mlx4_dma_free(&eq->buf);
	rte_free(eq);
}
