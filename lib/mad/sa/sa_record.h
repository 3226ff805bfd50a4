/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Records of subnet administration as they lie in a datagram (IBTA 1.4, 15.2.5.16 and 15.2.5.17). */
#ifndef MAD_SA_SA_RECORD_H
#define MAD_SA_SA_RECORD_H

#include "tp_sa.h"

#define SA_PATH_LEN 64u
#define SA_MEMBER_LEN 52u

/* Components of a path record. */
enum sa_path_mask {
	SA_PATH_DGID = 1 << 2,
	SA_PATH_SGID = 1 << 3,
	SA_PATH_DLID = 1 << 4,
	SA_PATH_SLID = 1 << 5,
	SA_PATH_REVERSIBLE = 1 << 11,
	SA_PATH_NUM = 1 << 12,
	SA_PATH_PKEY = 1 << 13,
};

/* num: how many paths are wanted (a request), 0..127. */
void sa_path_put(const struct tp_sa_path *p, uint8_t num, uint8_t record[SA_PATH_LEN]);
void sa_path_take(const uint8_t record[SA_PATH_LEN], struct tp_sa_path *p);
void sa_member_put(const struct tp_sa_member *m, uint8_t record[SA_MEMBER_LEN]);
void sa_member_take(const uint8_t record[SA_MEMBER_LEN], struct tp_sa_member *m);

#endif /* MAD_SA_SA_RECORD_H */
