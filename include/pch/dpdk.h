/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers of other projects that most sources of a large library include. They take longer to read than the sources
 * take to compile, so meson has them precompiled once for each such library (c_pch). A source includes what it needs
 * all the same: clang-tidy reads each without this file.
 */
#ifndef TRIPLANE_PCH_DPDK_H
#define TRIPLANE_PCH_DPDK_H

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_io.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_net.h>
#include <rte_ring.h>

#include <infiniband/verbs.h>

#endif
