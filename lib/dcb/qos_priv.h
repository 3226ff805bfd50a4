/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ranges that the words and the judgement of a whole share. */
#ifndef TP_QOS_PRIV_H
#define TP_QOS_PRIV_H

#include "words.h"

#define QOS_MAX_RATE 56000u /* Mb/s, the fastest port */
#define QOS_STALL_MIN 10u   /* ms */
#define QOS_STALL_MAX 60000u
#define QOS_HOL_MIN 100u /* us */
#define QOS_HOL_MAX 10000000u
#define QOS_STALL_COUNT_MAX 255u
#define QOS_MAX_VID 4095u
#define GROUP_LOOKAHEAD_MIN 32u /* octets */
#define GROUP_LOOKAHEAD_MAX 1024u
#define GROUP_LCORE_MAX 251u
#define GROUP_DROPLESS_MAX 65535u /* for ever */

/* 0, or -EINVAL with err naming key, value and range. */
int qos_check_rate(const char *key, uint32_t mbps, const struct tp_qos_limits *lim, char *err);
int qos_check_range(const char *key, uint32_t v, bool or_zero, uint32_t min, uint32_t max, const char *unit, char *err);

/* One Ethertype of the anti-spoof table. */
bool group_type_allowed(uint16_t type);
/* Without doubles and with what an entry brings with it. Returns the number of entries. */
unsigned int group_types_complete(const uint16_t *type, unsigned int n, uint16_t out[2 * TP_ANTISPOOF_TYPES]);

#endif /* TP_QOS_PRIV_H */
