/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Unsigned numbers of telemetry: DPDK has other names for them since 23.03. */
#ifndef ROCE_PORT_TEL_UINT_H
#define ROCE_PORT_TEL_UINT_H

#include <rte_telemetry.h>
#include <rte_version.h>

#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define TEL_UINT RTE_TEL_UINT_VAL
#define tel_dict_uint(d, name, value) rte_tel_data_add_dict_uint((d), (name), (value))
#define tel_array_uint(d, value) rte_tel_data_add_array_uint((d), (value))
#else
#define TEL_UINT RTE_TEL_U64_VAL
#define tel_dict_uint(d, name, value) rte_tel_data_add_dict_u64((d), (name), (value))
#define tel_array_uint(d, value) rte_tel_data_add_array_u64((d), (value))
#endif

#endif /* ROCE_PORT_TEL_UINT_H */
