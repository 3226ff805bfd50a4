/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Names of devices on the guest's side. */
#ifndef SHARE_NAME_H
#define SHARE_NAME_H

#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#define SHARE_NAMES_ENV "TRIPLANE_NAMES" /* "short": names of at most SHARE_SHORT octets, as UCX wants them */
#define SHARE_SHORT 15u

/**
 * The name that programs see.
 *
 * @param name of the owner
 * @param index the number that the owner gave it for as long as the owner lives
 * @param names of SHARE_NAMES_ENV, NULL: not set
 */
static inline void
share_name(char out[IBV_SYSFS_NAME_MAX], const char *name, uint32_t index, const char *names)
{
	const bool cut = names != NULL && strcmp(names, "short") == 0;

	/* What kind of device DPDK found says little to a program of libibverbs. */
	if (cut && strncmp(name, "net_", 4) == 0)
		name += 4;
	if (cut && strlen(name) > SHARE_SHORT)
		snprintf(out, IBV_SYSFS_NAME_MAX, "mlx4_%u", index);
	else
		snprintf(out, IBV_SYSFS_NAME_MAX, "%.*s", IBV_SYSFS_NAME_MAX - 1, name);
	/* The port of a card: a kernel's device is a folder of that name. */
	for (char *slash = strchr(out, '/'); slash != NULL; slash = strchr(slash, '/'))
		*slash = '_';
}

#endif /* SHARE_NAME_H */
