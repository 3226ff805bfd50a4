/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Device arguments of a card in software. */
#ifndef MLX4_MODEL_ARGS_H
#define MLX4_MODEL_ARGS_H

#include "devargs.h"
#include "tp_model.h"

#define MODEL_ARG_LEN 64
#define MODEL_WIRE_LEN 512 /* of what follows "ethdev:", "switch:" or "ibswitch:" */

enum model_wire {
	MODEL_WIRE_DEFAULT,
	MODEL_WIRE_LOOPBACK,
	MODEL_WIRE_CROSS,
	MODEL_WIRE_NONE,
	MODEL_WIRE_ETHDEV,
	MODEL_WIRE_SWITCH,
	MODEL_WIRE_IBSWITCH,
};
enum model_run { MODEL_RUN_THREAD, MODEL_RUN_SERVICE, MODEL_RUN_STEP };

struct model_args {
	struct tp_model_config cfg;
	struct {
		enum model_wire kind;
		char name[MODEL_WIRE_LEN];
	} wire[TP_MODEL_PORTS];
	struct {
		struct tp_impair imp;
		bool set;
	} impair[TP_MODEL_PORTS];
	struct {
		enum tp_fault kind;
		uint16_t opcode;
		uint32_t nth;
		uint8_t status;
	} fault;
	enum model_run run;
	int cpu;
	uint32_t wake_us;
};

/* dev: the device's name; its number makes GUIDs differ. 0 or -EINVAL after one line. */
int model_args_parse(const char *dev, const char *text, struct model_args *m, struct mlx4_eth_args *eth);

#endif /* MLX4_MODEL_ARGS_H */
