/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Vital product data (PCI 3.0, appendix I). */
#ifndef CHECK_VPD_H
#define CHECK_VPD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Tells the name ("ID") and each field whose text can be shown. key: two letters.
 * @return 0; -EINVAL: it is no list of resources; -EBADMSG: the checksum of its read-only part is wrong
 */
int vpd_parse(const uint8_t *data, size_t len, void (*fn)(void *arg, const char *key, const char *text, size_t len),
	      void *arg);

#endif /* CHECK_VPD_H */
