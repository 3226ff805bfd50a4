/* SPDX-License-Identifier: BSD-3-Clause */
/* What most unit tests include, precompiled once a program (c_pch); see include/pch/dpdk.h. */
#ifndef UNIT_PCH_H
#define UNIT_PCH_H

#include "../../../include/pch/dpdk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
