/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Between the files of DCBX. */
#ifndef DCBX_H
#define DCBX_H

#include "tp_dcbx.h"

/* judge and build of struct tp_lldp_client; arg is a struct tp_dcbx. */
enum tp_lldp_verdict dcbx_judge(void *arg, const struct tp_lldp_tlv *tlv, uint32_t *seen);
size_t dcbx_build(void *arg, uint8_t *to, size_t room);

#endif /* DCBX_H */
