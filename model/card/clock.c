/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The card's time: that of its caller, or the machine's; and the clock that software reads. */
#include <time.h>

#include "model_priv.h"

#define CLOCK_MASK ((UINT64_C(1) << 48) - 1)
#define NS_PER_US 1000u

void
tpm_clock_read(struct tp_model *m)
{
	struct timespec ts;

	if (m->virtual_time)
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	m->now_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t
tpm_clock_cycles(struct tp_model *m)
{
	tpm_clock_read(m);
	return (m->now_ns / NS_PER_US * TPM_CORE_CLOCK_MHZ + m->now_ns % NS_PER_US * TPM_CORE_CLOCK_MHZ / NS_PER_US) &
	       CLOCK_MASK;
}
