/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Delay drop: how long a frame waits for a receive WQE. The time runs from when a frame first finds none, and starts again
 * with each frame that is delivered. When it is over the queue drops, as others do, until software arms it again [U].
 */
#include "model/event/event.h"
#include "qos.h"

#define UNIT_NS (MLX4_DELAY_DROP_UNIT_US * UINT64_C(1000))
#define FW(a, b, c) ((uint64_t)(a) << 32 | (uint64_t)(b) << 16 | (c))

bool
tpm_delay_offered(const struct tp_model *m)
{
	return FW(m->cfg.fw_major, m->cfg.fw_minor, m->cfg.fw_subminor) >= FW(2, 31, 5050);
}

void
tpm_delay_start(const struct tp_model *m, struct tpm_qp *qp)
{
	if (qp->delay_runs)
		return;
	qp->delay_runs = true;
	qp->delay_since = tpm_now(m);
}

static void
expired(struct tp_model *m, const struct tpm_port *p, struct tpm_qp *qp)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	tpm_note(m, "port %u: QP 0x%x dropped after %u units of %u us without a receive WQE", p->num, qp->qpn,
		 qp->delay_drop, MLX4_DELAY_DROP_UNIT_US);
	qp->delay_drop = 0;
	qp->delay_runs = false;
	prm_set(qp->ctx, MLX4_QPC_DELAY_DROP, 0);
	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_RECOVERABLE);
	prm_set(eqe, MLX4_EQE_SUBTYPE, MLX4_EQE_RECOVERABLE_DELAY_DROP);
	prm_set(eqe, MLX4_EQE_MNG_PORT, p->num);
	prm_set(eqe, MLX4_EQE_DELAY_DROP_QPN, qp->qpn);
	tpm_event(m, MLX4_EVENT_RECOVERABLE, eqe);
}

bool
tpm_delay_waits(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp)
{
	if (qp->delay_drop == 0)
		return false;
	tpm_delay_start(m, qp);
	if (qp->delay_drop == MLX4_DELAY_DROP_FOREVER || tpm_now(m) - qp->delay_since < qp->delay_drop * UNIT_NS)
		return true;
	expired(m, p, qp);
	return false;
}
