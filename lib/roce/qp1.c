/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Datagrams for QP1 of a port whose connections nobody manages. */
#include "front.h"

void
tp_roce_mad_input(struct tp_roce_dev *dev, const struct tp_roce_mad *mad)
{
	dev->mads_dropped++;
}
