/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Plots as SVG. */
#ifndef COMMON_PLOT_H
#define COMMON_PLOT_H

/* Where an axis ends: 1, 2 or 5 by a power of ten, v or more. */
double plot_round_up(double v);

#endif /* COMMON_PLOT_H */
