/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The command registry: one table of commands serves the interactive line, command files, one-shot commands, help,
 * completion and the generated reference.
 *
 * A command is described by its syntax, a line of tokens:
 *   word              itself
 *   {name:1..512}     a number in that range (decimal, or hexadecimal with 0x)
 *   {name:a|b|c}      one of these words
 *   {name:@set}       one of the words of a set that was registered under that name
 *   {name:port}       a port;  {name:ports}  a list of ports such as 0,2-3, or all
 *   {name:list}       a list of numbers such as 1,4-6
 *   {name:mac} {name:ip4} {name:hex} {name:str}
 *   {name:rest}       the rest of the line; {name:rest=@set}: of which each word may begin as one of a set does
 *   [ ... ]           what may be left out; only at the end of a command, groups may nest
 * Commands that show something take a last word "json".
 */
#ifndef TRIPLANE_CLI_CMD_H
#define TRIPLANE_CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ether.h>

#define CMD_MAX_TOKENS 24 /* of a syntax */
#define CMD_MAX_WORDS 128 /* of a line; what is behind the tokens belongs to {rest} */
#define CMD_MAX_LINE 1024
#define CMD_MAX_LIST 128
#define CMD_MAX_HEX 64

struct cmd_args;

struct cmd {
	const char *topic;                                  /* heading in help */
	const char *syntax;                                 /* see above */
	const char *help;                                   /* one or two sentences */
	int (*run)(void *app, const struct cmd_args *args); /* 0 or a negative errno, after having said why */
	bool shows;                                         /* takes "json" */
};

/* Named words for {name:@set}. */
struct cmd_set {
	const char *name;
	const char *const *words;
	unsigned int n;
};

/* A heading of commands. */
struct cmd_topic {
	const char *name, *text;
};

enum cmd_kind {
	CMD_WORD,
	CMD_NUM,
	CMD_CHOICE,
	CMD_PORT,
	CMD_PORTS,
	CMD_LIST,
	CMD_MAC,
	CMD_IP4,
	CMD_HEX,
	CMD_STR,
	CMD_REST,
};

struct cmd_tok {
	enum cmd_kind kind;
	bool may_stop; /* the line may end before this token */
	const char *name;
	const char *want;  /* words of a choice, text of a range */
	const char *words; /* that those of a rest begin with, separated by '|'; or NULL */
	uint64_t min, max;
};

struct cmd_val {
	const char *text;
	uint64_t num;
	uint32_t list[CMD_MAX_LIST]; /* CMD_PORTS, CMD_LIST */
	unsigned int n;              /* elements of list, octets of hex */
	uint8_t hex[CMD_MAX_HEX];
	struct rte_ether_addr mac;
	uint32_t ip4; /* host order */
};

/* What the tokens of one line meant. */
struct cmd_args {
	const struct cmd_tok *tok;
	unsigned int n;
	bool json;
	struct cmd_val val[CMD_MAX_TOKENS];
};

struct cmd_reg;

/* Lists the ports that exist now. Returns their number. */
typedef unsigned int (*cmd_ports_fn)(void *app, uint32_t ids[CMD_MAX_LIST]);

int cmd_reg_create(void *app, cmd_ports_fn ports, struct cmd_reg **out);
void cmd_reg_free(struct cmd_reg *reg);
/* Sets must be there before the commands that name them. -EINVAL: a syntax is wrong (said on stderr). */
int cmd_reg_set(struct cmd_reg *reg, const struct cmd_set *set);
/* What the index of help says of groups. */
void cmd_reg_topics(struct cmd_reg *reg, const struct cmd_topic *topics, unsigned int n);
int cmd_reg_add(struct cmd_reg *reg, const struct cmd *cmds, unsigned int n);

/*
 * Runs one command. An empty line or a comment is no command and succeeds. Returns 0, -EINVAL with the reason in err
 * when no command was run, or what the command returned, with err empty (it said why itself).
 */
int cmd_run(struct cmd_reg *reg, const char *line, char *err, size_t err_len);

/*
 * What could follow buf: fills words (each up to CMD_WORD_LEN with the end) and says in *typed how many of the last
 * ones describe a value instead of being literal. Returns their number.
 */
#define CMD_WORD_LEN 128
unsigned int cmd_complete(struct cmd_reg *reg, const char *buf, char (*words)[CMD_WORD_LEN], unsigned int max,
			  unsigned int *typed);

/* topic NULL: the groups; else "all", a group, a command by its first words, or the start of a group. -ENOENT: nothing fits. */
int cmd_help(struct cmd_reg *reg, const char *topic, FILE *f);
void cmd_help_markdown(struct cmd_reg *reg, FILE *f);

/* Values by the name in the syntax; for absent ones: false, NULL, the default. */
bool cmd_has(const struct cmd_args *a, const char *name);
const struct cmd_val *cmd_val(const struct cmd_args *a, const char *name);
uint64_t cmd_num(const struct cmd_args *a, const char *name, uint64_t def);
const char *cmd_text(const struct cmd_args *a, const char *name);
bool cmd_is(const struct cmd_args *a, const char *name, const char *word);

/* For cmd_*.c only. */
#define CMD_MAX_CMDS 512
struct cmd_def {
	const struct cmd *cmd;
	struct cmd_tok tok[CMD_MAX_TOKENS];
	unsigned int n;
	char *text; /* storage of the names and words */
};
struct cmd_reg {
	void *app;
	bool json; /* whatever shows something, shows JSON */
	cmd_ports_fn ports;
	struct cmd_def *def[CMD_MAX_CMDS];
	unsigned int num_defs;
	const struct cmd_topic *topic;
	unsigned int num_topics;
	const struct cmd_set *set[32];
	unsigned int num_sets;
};
int cmd_syntax_compile(struct cmd_reg *reg, const struct cmd *cmd, struct cmd_def *def);
unsigned int cmd_split(char *line, char *words[CMD_MAX_WORDS + 1]);
/* 0, or -EINVAL with the reason in err. */
int cmd_parse_value(struct cmd_reg *reg, const struct cmd_tok *tok, const char *text, struct cmd_val *val, char *err,
		    size_t err_len);
/* Calls fn for each of the words separated by '|'. */
bool cmd_word_in(const char *words, const char *word);
const char *cmd_next_word(const char *words, char *buf, size_t len);
void cmd_tok_text(const struct cmd_tok *tok, char *buf, size_t len);

#endif /* TRIPLANE_CLI_CMD_H */
