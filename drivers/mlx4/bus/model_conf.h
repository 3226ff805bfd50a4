/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a card in software is to be, and how it runs. */
#ifndef MLX4_BUS_MODEL_CONF_H
#define MLX4_BUS_MODEL_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/quirk/quirk.h"
#include "tp_model.h"

#define MODEL_ARG_LEN 64
#define MODEL_WIRE_LEN 512 /* of what follows "ethdev:", "switch:" or "ibswitch:" */
#define MODEL_CC_LEN 1024

enum model_wire {
	MODEL_WIRE_DEFAULT,
	MODEL_WIRE_LOOPBACK,
	MODEL_WIRE_CROSS,
	MODEL_WIRE_NONE,
	MODEL_WIRE_ETHDEV,
	MODEL_WIRE_SWITCH,
	MODEL_WIRE_IBSWITCH,
};
enum model_run {
	MODEL_RUN_THREAD,
	MODEL_RUN_SERVICE,
	MODEL_RUN_POLL, /* who polls its rings, and a thread while nobody does */
	MODEL_RUN_STEP
};

struct mlx4_model_conf {
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
	uint32_t breaks[TP_MODEL_PORTS][TP_BREAKS]; /* which one of each kind, 0: none */
	enum model_run run;
	int cpu;
	uint32_t wake_us;
	char quirks[MLX4_QUIRK_TEXT];          /* model-quirks */
	char cc[TP_MODEL_PORTS][MODEL_CC_LEN]; /* cc0 and cc1; "": none */
	char replay[256];                      /* a recording that the firmware answers from; "": none */
};

#endif /* MLX4_BUS_MODEL_CONF_H */
