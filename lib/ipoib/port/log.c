/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The log of lib/ipoib. */
#include "port.h"

RTE_LOG_REGISTER(ipoib_logtype, pmd.net.ipoib, NOTICE);
