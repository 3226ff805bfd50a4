/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which commands there are, and what goes in and out with them [CP 3.1]. */
#include "cmd.h"

const struct tpm_cmd_info tpm_cmd_info[] = {
#define INFO(name, opc, in, out) {#name, (opc), TPM_ARG_##in, TPM_ARG_##out},
	MLX4_CMD_LIST(INFO)
#undef INFO
};
const unsigned int tpm_cmd_info_count = sizeof(tpm_cmd_info) / sizeof(tpm_cmd_info[0]);

int
tpm_cmd_index(uint16_t opcode)
{
	for (unsigned int i = 0; i < tpm_cmd_info_count; i++)
		if (tpm_cmd_info[i].opcode == opcode)
			return (int)i;
	return -1;
}
