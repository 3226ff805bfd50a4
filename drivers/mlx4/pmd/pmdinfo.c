/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What dpdk-pmdinfo shows of the plugin; the format is DPDK's, one JSON object in a string with a known prefix. */
#include <rte_common.h>

extern const char mlx4_pmd_info[];
const char mlx4_pmd_info[] __attribute__((used)) =
	"PMD_INFO_STRING= {\"name\" : \"net_mlx4_vfio\", \"kmod\" : \"* vfio-pci\", "
	"\"pci_ids\" : [[5555, 4099, 65535, 65535], [5555, 4100, 65535, 65535], [5555, 4103, 65535, 65535]]}";
