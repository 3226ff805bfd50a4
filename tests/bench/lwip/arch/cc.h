/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What lwIP asks of a platform. */
#ifndef BENCH_LWIP_CC_H
#define BENCH_LWIP_CC_H

#include <stdlib.h>

#define LWIP_RAND() ((unsigned int)rand())

#endif /* BENCH_LWIP_CC_H */
