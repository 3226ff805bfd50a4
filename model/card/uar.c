/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* UAR pages that live contexts name: the ones whose doorbells are polled. */
#include "ctl.h"

bool
tpm_uar_valid(const struct tp_model *m, uint32_t page)
{
	return page >= MLX4_UAR_EQ_PAGES && page < m->num_uars;
}

static void
uar_list_build(struct tp_model *m)
{
	m->uar_count = 0;
	for (uint32_t i = 0; i < TPM_NUM_UARS; i++)
		if (m->ctl->uar_refs[i] != 0)
			m->uar_list[m->uar_count++] = i;
}

void
tpm_uar_get(struct tp_model *m, uint32_t page)
{
	if (m->ctl->uar_refs[page]++ != 0)
		return;
	uar_list_build(m);
}

void
tpm_uar_put(struct tp_model *m, uint32_t page)
{
	if (--m->ctl->uar_refs[page] != 0)
		return;
	m->ctl->uar_sends[page] = false;
	uar_list_build(m);
}

void
tpm_uar_sends(struct tp_model *m, uint32_t page)
{
	m->ctl->uar_sends[page] = true;
}
