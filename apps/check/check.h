/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * triplane-check: the staged acceptance test of a card. The program itself never touches the card: each stage is a process of its
 * own, which tells by records what it finds. So a card that hangs a stage, or kills it, cannot keep the program from going on,
 * giving the card back, and saying what happened.
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CK_TEXT 512
#define CK_NAME 64
#define CK_ARGS 2048
#define CK_STAGES 11u
#define CK_REFLECTOR CK_STAGES
#define CK_EXIT_USAGE 2

/* --- what is wanted: options.c ---------------------------------------- */

enum ck_bus { CK_BUS_PCI, CK_BUS_MODEL, CK_BUS_USER };

struct ck_device {
	enum ck_bus bus;
	char name[CK_NAME]; /* PCI address, or of the virtual device */
	char socket[108];   /* of a card in another process */
	char args[CK_ARGS]; /* other device arguments */
};

struct ck_options {
	struct ck_device dev;
	uint32_t stages; /* bit n: stage n */
	bool read_only, plan, anonymous, help, version, reflector;
	const char *json, *html, *bundle, *quirks, *sysroot;
	unsigned int limit_s; /* of a stage; of the reflector, which goes on so long */
};

/* 0, or -1 and a line in err. */
int ck_options(struct ck_options *o, int argc, char **argv, char err[CK_TEXT]);
void ck_usage(void);

/* --- what is found: report/record.c ---------------------------------------- */

enum ck_kind {
	CK_PASS,
	CK_INFO, /* a fact that nobody judges */
	CK_FIND, /* name: an id of docs/fidelity.md; text: the variant that the card shows, and why */
	CK_SKIP, /* was not looked at, and why */
	CK_WARN, /* works, and could be better */
	CK_FAIL,
	CK_KINDS,           /* those before are results */
	CK_STEP = CK_KINDS, /* what is done now */
	CK_ID,              /* name: "mac", "guid", "serial"; text: its octets in hex */
	CK_FOLDER,          /* text: the EAL's, to be removed when the process is killed */
	CK_DONE,            /* the stage came to its end */
	CK_ALL
};
/* "pass" */
const char *ck_kind_word(enum ck_kind kind);

struct ck_record {
	enum ck_kind kind;
	char name[CK_NAME], text[CK_TEXT];
};

/* What a card says may be any octets: in place of those that are no text there is a space or '?'. */
void ck_printable(char *s);
/* A line with its end; its fields are printable. */
void ck_record_format(char line[CK_NAME + CK_TEXT + 16], const struct ck_record *r);
/* Of a line without its end. 0, -EINVAL: it is none. */
int ck_record_parse(const char *line, struct ck_record *r);

/* --- identities: report/scrub.c ---------------------------------------- */

#define CK_SECRETS 32u

/* An identity of the card. */
struct ck_secret {
	char kind[16]; /* "mac", "guid", "serial" */
	uint8_t octets[64];
	unsigned int len;
};
/*
 * Overwrites octets and hex digits of these, of any case and with ':', '-', '.' or ' ' between octets, by zeros; a serial number
 * by 'x'. Lengths stay. @return how many were there
 */
unsigned int ck_scrub(uint8_t *data, size_t len, const struct ck_secret *s, unsigned int n);
/* From a record; false: no hex. */
bool ck_secret_of(struct ck_secret *s, const struct ck_record *r);

/* --- the report: the folder report ---------------------------------------- */

struct ck_stage;

enum ck_end {
	CK_END_LEFT_OUT,
	CK_END_DONE,
	CK_END_DIED,    /* of a signal, or it exited early */
	CK_END_TIMEOUT, /* was killed */
	CK_END_STOPPED, /* by the user */
};

struct ck_list {
	struct ck_record *r;
	unsigned int num, room;
};

struct ck_outcome {
	const struct ck_stage *stage;
	enum ck_end end;
	char why[CK_TEXT]; /* it was left out; how it ended */
	double seconds;
	struct ck_list found;
	struct ck_list log; /* what driver and EAL said; texts alone */
	bool given_back;    /* after a bad end: the card was reset by another process */
};

struct ck_report {
	const struct ck_options *o;
	struct ck_outcome stage[CK_STAGES];
	unsigned int num;
	char made[32];
	unsigned int count[CK_KINDS];
	struct ck_secret secret[CK_SECRETS];
	unsigned int num_secrets;
};

/* With --anonymous identities that are known go out of a record; of all there are. */
void ck_report_hide(const struct ck_report *r, struct ck_record *one);
void ck_report_hide_all(struct ck_report *r);

int ck_list_add(struct ck_list *l, const struct ck_record *r);
void ck_list_free(struct ck_list *l);
/* Counts the results of all stages; a stage without its end is a failure. @return whether nothing failed */
bool ck_report_count(struct ck_report *r);
void ck_report_free(struct ck_report *r);

/* The plan: what each stage does, and what it disturbs. */
void ck_text_plan(FILE *f, const struct ck_options *o);
void ck_text_head(FILE *f, const struct ck_stage *s);
void ck_text_record(FILE *f, const struct ck_record *r);
void ck_text_tail(FILE *f, const struct ck_outcome *s);
void ck_text_sum(FILE *f, const struct ck_report *r);
/* All of it again, as it was printed. */
void ck_text(FILE *f, const struct ck_report *r);
void ck_json(FILE *f, const struct ck_report *r);
void ck_page(FILE *f, const struct ck_report *r);
/* What quirks-file= of the driver takes. */
void ck_quirks(FILE *f, const struct ck_report *r);
/* Writes a file by one of these. 0 or a negative errno. */
int ck_write(const char *path, void (*fn)(FILE *f, const struct ck_report *r), const struct ck_report *r);

/* --- the bundle: report/bundle.c ---------------------------------------- */

/* Makes the folder, which must not be there or be empty. 0 or a negative errno. */
int ck_bundle_begin(const struct ck_options *o);
/* Adds the reports, removes what is to be removed, and says what in removed.txt. 0 or a negative errno. */
int ck_bundle_end(const struct ck_report *r);

/* --- stages: stages.c, run.c, say.c, the folder stage ---------------------------------------- */

/* In the process of a stage. */
struct ck {
	int fd;
	const struct ck_options *o;
	const struct ck_stage *stage;
	struct mlx4_bus *bus;
};

struct ck_stage {
	const char *word, *title;
	const char *does, *disturbs;
	bool lasts; /* changes what stays until the card is reset: not with --read-only */
	void (*run)(struct ck *c);
	bool serves; /* goes on until it is told to end, by SIGTERM */
};
/* The last one is none: it is the far end of another check. */
extern const struct ck_stage ck_stages[CK_STAGES + 1];
/* The number of a stage by its number or word, -1: there is none. */
int ck_stage_find(const char *word);

/* Runs what is wanted and prints it: the stages, or the reflector. */
void ck_run(struct ck_report *r);

void ck_say(struct ck *c, enum ck_kind kind, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* CK_PASS or CK_FAIL. @return ok */
bool ck_judge(struct ck *c, bool ok, const char *name, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
#define ck_step(c, ...) ck_say(c, CK_STEP, "", __VA_ARGS__)
void ck_identity(struct ck *c, const char *kind, const void *octets, unsigned int len);

void ck_stage_machine(struct ck *c);
void ck_stage_identity(struct ck *c);
void ck_stage_caps(struct ck *c);
void ck_stage_bringup(struct ck *c);
void ck_stage_interrupts(struct ck *c);
void ck_stage_ports(struct ck *c);
void ck_stage_loop(struct ck *c);
void ck_stage_cable(struct ck *c);
void ck_stage_infiniband(struct ck *c);
void ck_stage_life(struct ck *c);
void ck_stage_variants(struct ck *c);
void ck_stage_reflect(struct ck *c);
/* After a stage with a bad end: resets the card. */
void ck_give_back(struct ck *c);

#endif /* CHECK_CHECK_H */
