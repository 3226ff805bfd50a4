/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What looks into a buffer: always the form with a P_Key index, which libibumad uses where the kernel offers it. */
#include <stddef.h>

#include <infiniband/umad.h>

size_t
umad_size(void)
{
	return sizeof(struct ib_user_mad);
}

void *
umad_get_mad(void *umad)
{
	return ((struct ib_user_mad *)umad)->data;
}

int
umad_set_pkey(void *umad, int pkey_index)
{
	((struct ib_user_mad *)umad)->addr.pkey_index = (uint16_t)pkey_index;
	return 0;
}

int
umad_get_pkey(void *umad)
{
	return ((struct ib_user_mad *)umad)->addr.pkey_index;
}
