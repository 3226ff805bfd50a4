/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "plot.h"

double
plot_round_up(double v)
{
	double unit = 1e-3;

	while (unit * 10 < v)
		unit *= 10;
	return v <= unit ? unit : v <= unit * 2 ? unit * 2 : v <= unit * 5 ? unit * 5 : unit * 10;
}
