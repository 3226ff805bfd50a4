/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Parts of the model that need DPDK.
 */
#ifndef TP_MODEL_DPDK_H
#define TP_MODEL_DPDK_H

#include <stddef.h>

#include "tp_model.h"

/**
 * A wire over an ethdev (tap, pcap, af_packet, memif ...) that exists, is not started and belongs to nobody: the wire
 * owns it from now on, configures one receive and one transmit queue, and starts it in promiscuous mode. Destroying
 * the wire stops the ethdev and gives it back.
 *
 * Returns 0, -ENODEV (no such name), -EBUSY (owned or started), -ENOMEM, or what the ethdev says; then err holds one
 * line that names the ethdev and the reason.
 */
int tp_wire_ethdev_create(const char *name, struct tp_wire **out, char *err, size_t errlen);

#endif /* TP_MODEL_DPDK_H */
