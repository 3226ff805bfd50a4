/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Commands: an input is a list of commands with their modifiers, parameters and mailbox contents, given to a card
 * through the HCR in any bring-up state. Whatever comes, the card answers with a status and stays inside its windows.
 */
#include "bytes.h"
#include "tests/unit/model/harness.h"

#define MAX_COMMANDS 24

static const uint16_t opcodes[] = {
#define OPCODE(name, opc, in, out) opc,
	MLX4_CMD_LIST(OPCODE)
#undef OPCODE
		0x000,
	0xfff,
};

/* Most numbers of a real driver are small or are those of the objects that exist. */
static uint32_t
likely_number(struct bytes *b)
{
	static const uint32_t known[] = {0, 1, 2, CARD_EQN, CARD_CQN, CARD_QPN, CARD_MPT, CARD_SRQN, CARD_UAR};
	uint8_t kind = bytes_u8(b);

	if (kind < 192)
		return known[kind % (sizeof(known) / sizeof(known[0]))] + (kind >> 6);
	return bytes_u32(b);
}

/* A context that the card would take, so that small changes go deep. */
static void
start_mailbox(struct card *c, uint8_t kind, uint8_t *in)
{
	switch (kind & 7) {
	case 1: card_cq_ctx(c, in, CARD_IOVA + 0x100000, 6, CARD_EQN, CARD_IOVA + 0x200000); break;
	case 2: card_qp_ctx(c, in, CARD_QPN, 1, CARD_IOVA + 0x110000, 4, 4, 4, CARD_IOVA + 0x200040); break;
	case 3: card_mr_ctx(c, in, CARD_KEY, CARD_IOVA, CARD_MEM_SIZE, true); break;
	case 4: card_eq_ctx(c, in, CARD_IOVA + 0x120000, 6, 0); break;
	case 5: card_fill_init_hca(c, in, CARD_DMFS); break;
	default: break;
	}
}

static void
one_command(struct card *c, struct bytes *b, bool booted)
{
	uint16_t op = opcodes[bytes_u8(b) % (sizeof(opcodes) / sizeof(opcodes[0]))];
	uint8_t how = bytes_u8(b), op_mod = bytes_u8(b) & 0xf, patches = bytes_u8(b) & 0xf;
	uint32_t in_mod = likely_number(b);
	uint8_t *in = card_in(c);
	uint64_t in_param = c->in, out_param = c->out;

	if (booted)
		start_mailbox(c, how, in);
	while (patches-- != 0) {
		uint16_t off = bytes_u16(b) % MLX4_MAILBOX_SIZE;
		uint8_t len = bytes_u8(b) & 31;

		bytes_copy(b, in + off, len < MLX4_MAILBOX_SIZE - off ? len : MLX4_MAILBOX_SIZE - off);
	}
	if (how & 0x40)
		in_param = (uint64_t)bytes_u32(b) << 32 | bytes_u32(b);
	if (how & 0x80)
		out_param = (uint64_t)bytes_u32(b) << 32 | bytes_u32(b);
	(void)card_cmd(c, op, op_mod, in_mod, in_param, out_param);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	struct card *c = card_new(NULL);
	uint8_t state = bytes_u8(&b);
	unsigned int i;

	if (state & 3) {
		card_boot(c, state & 4 ? CARD_DMFS : 0);
		if (state & 2)
			card_objects(c);
	}
	for (i = 0; i < MAX_COMMANDS && b.left != 0; i++) {
		one_command(c, &b, (state & 3) != 0);
		tp_model_step(c->m, 8);
	}
	card_free(c);
	return 0;
}
