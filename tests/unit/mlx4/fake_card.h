/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A card that knows nothing: it keeps each command as the driver wrote it into the registers and the mailbox, and answers
 * what the test laid down. So the bytes of a command are compared with those of the reference, and not with what the model
 * makes of them.
 */
#ifndef MLX4_FAKE_CARD_H
#define MLX4_FAKE_CARD_H

#include "drivers/mlx4/hca/core.h"
#include "rig.h"

#define FAKE_CMDS 512u
#define FAKE_ANSWERS 64u
#define FAKE_WRITES 16u
#define FAKE_RULES 400u
#define FAKE_ALWAYS UINT32_MAX

/* The seven dwords of the HCR, what they say, and the mailbox; zeros for none. */
struct fake_cmd {
	uint32_t hcr[7];
	uint16_t op;
	uint8_t op_modifier;
	uint32_t in_modifier;
	uint64_t in_param;
	uint8_t box[MLX4_MAILBOX_SIZE];
};

struct fake_answer {
	uint16_t op;
	uint32_t in_modifier; /* FAKE_ALWAYS: any */
	uint32_t times;       /* FAKE_ALWAYS: each time */
	uint8_t status;
	uint64_t imm;
	bool silent; /* none at all */
	uint8_t box[0x200];
};

/* A steering rule as it was given; id 0: none. */
struct fake_rule {
	uint64_t id;
	uint8_t box[64];
};

struct fake_card {
	struct mlx4_bus bus;
	struct mlx4_hca hca;
	uint8_t *uar;
	uint32_t hcr[7];
	uint32_t sem, owner, catas; /* what the registers read as */
	uint32_t sem_reads;         /* the semaphore is free after so many reads */
	bool catas_frees;           /* who finds the error buffer filled finds the command registers free behind that */
	unsigned int refuse_at;     /* the nth command from now on is refused, 0: none */
	unsigned int resets, irqs;
	uint32_t written[FAKE_WRITES]; /* offsets of the last writes of registers, in their order */
	unsigned int num_written;
	struct fake_answer answer[FAKE_ANSWERS];
	unsigned int num_answers;
	struct fake_cmd *cmd;
	unsigned int num_cmds;
	/* Attached and not detached; without an answer laid down each has another id. */
	struct fake_rule rule[FAKE_RULES];
	uint64_t rule_ids;
	struct rte_device dev;
	pthread_mutex_t lock; /* of the completions of commands that are told by events */
	uint8_t eqe[64][MLX4_EQE_SIZE];
	unsigned int num_eqes, most_eqes;
	int irq_setup_rc;
	bool any_modifier; /* commands are not looked at for modifiers that they have not */
	size_t heap;
};

/* With a command interface; the rest of hca is zeros, but for limits of the size that cards have. */
void fake_open(struct fake_card *c);
void fake_close(struct fake_card *c);
/*
 * The same with ICM, few numbers of each kind (QPs from 0x40, CQs 0x80..0xff, SRQs 0x40..0x7f, MPTs 0x100..0x10f, MTTs from 0x10 to
 * 0xfff, protection domains 5 and 6; 4 is the core's), an asynchronous event queue 0x28 and one for vector 0, 0x2a. close
 * asserts that each number came back, and all memory.
 */
void fake_open_with_numbers(struct fake_card *c);
void fake_close_with_numbers(struct fake_card *c);
/* A translation entry; so many from first on, one for each page, and none behind them. */
uint64_t fake_mtt(const struct fake_card *c, uint32_t i);
void fake_mtts_are(const struct fake_card *c, uint32_t first, uint32_t n, uint64_t page, uint64_t iova);
/* Forgets what commands there were. */
void fake_forget(struct fake_card *c);
/* The next answer to commands of this kind; of several the first that is not used up. */
struct fake_answer *fake_answer(struct fake_card *c, uint16_t op, uint32_t times);
void fake_refuse(struct fake_card *c, uint16_t op, uint32_t times, uint8_t status);
/* The last command, which has to be this one. */
const struct fake_cmd *fake_last(const struct fake_card *c, uint16_t op);
/* How many of this kind there were; the nth of them, from 0 on. */
unsigned int fake_count(const struct fake_card *c, uint16_t op);
const struct fake_cmd *fake_nth(const struct fake_card *c, uint16_t op, unsigned int nth);

/* A dword of a mailbox that is not zero. */
struct fake_dword {
	uint16_t off;
	uint32_t value;
};
void fake_bytes_are(const uint8_t *box, size_t len, const struct fake_dword *want, unsigned int n);
/* The mailbox has these dwords, and zeros elsewhere. */
#define FAKE_BOX(cmd, ...)                                                                                             \
	fake_bytes_are((cmd)->box, sizeof((cmd)->box), (const struct fake_dword[]){__VA_ARGS__},                       \
		       RTE_DIM(((const struct fake_dword[]){__VA_ARGS__})))

/* How many rules there are; whether one of them is this, with all other fields zero. The address NULL: no specification. */
unsigned int fake_rules(const struct fake_card *c);
bool fake_has_rule(const struct fake_card *c, uint32_t kind, const struct rte_ether_addr *mac, uint32_t vlan,
		   uint32_t qpn);
/* Completions that wait, told to the command interface; a function for mlx4_cmd_use_events(). */
void fake_complete(struct mlx4_hca *hca);

#endif /* MLX4_FAKE_CARD_H */
