/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* An experiment as its file describes it: switches, hosts, links, flows, and what is measured. docs/fabric.md has the grammar. */
#ifndef FABRIC_SCENE_H
#define FABRIC_SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/roce/cc/cc.h"
#include "lib/roce/cc/qau.h"

#define SCENE_NAME 32u
#define SCENE_TEXT 256u
#define SCENE_MAX_SWITCHES 64u
#define SCENE_MAX_HOSTS 4096u
#define SCENE_MAX_LINKS 1024u
#define SCENE_MAX_FLOWS 16384u

struct scene_switch {
	char name[SCENE_NAME];
	char words[SCENE_TEXT]; /* as tp_switch_word() takes them */
	unsigned int line;
};

struct scene_host {
	char name[SCENE_NAME];
	uint32_t sw; /* index */
	uint32_t rate_mbps, delay_ns;
};

/* Between two switches. */
struct scene_link {
	uint32_t a, b;
	uint32_t rate_mbps, delay_ns;
};

struct scene_flow {
	char name[SCENE_NAME];
	uint32_t from, to;
	uint64_t start_ns, stop_ns, bytes; /* bytes of payload; UINT64_MAX: no end */
	uint32_t payload;
	uint8_t prio;
};

struct scene {
	struct scene_switch *sw;
	struct scene_host *host;
	struct scene_link *link;
	struct scene_flow *flow;
	uint32_t num_sw, num_hosts, num_links, num_flows;
	struct tcc_conf cc; /* line_rate is each host's own */
	bool cc_on;
	struct tqau_conf qau; /* likewise */
	bool qau_on;
	uint64_t time_ns, from_ns, to_ns, sample_ns;
	uint64_t seed;
};

/* -D NAME=VALUE of the command line: more than what the file sets. */
struct scene_define {
	const char *name, *value;
};

/* Reads a scene. 0, or -1 with a line in err that names the file's line. */
int scene_read(struct scene *s, FILE *f, const char *name, const struct scene_define *def, unsigned int num_def,
	       char err[SCENE_TEXT]);
void scene_free(struct scene *s);

#endif /* FABRIC_SCENE_H */
