/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A program with two ports of two receive queues, whose settings are plain memory that the tests look into. */
#ifndef SETTINGS_FAKE_H
#define SETTINGS_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/settings/settings.h"
#include "lib/settings/declared.h"

#define FAKE_PORTS 2
#define FAKE_EVENTS 64
#define FAKE_MTU_LIVE 2000

struct fake {
	struct tp_settings *s;
	struct tp_declared *declared;
	struct tp_qos_port qos[FAKE_PORTS];
	char burst[16], name[64];
	struct {
		char ring[16], queues[16], promisc[16], mode[16], mtu[16];
		char wait[4][16]; /* of the queues */
	} port[FAKE_PORTS];
	bool running, started; /* forwarding, ports */
	unsigned int stops, goes, sets, qos_sets;
	unsigned int fail_go; /* this many calls fail */
	const char *fail_set; /* a value that no setter takes */
	bool silent;          /* changes are not noted */
	unsigned int events;
	char event[FAKE_EVENTS][128]; /* "port 0: ring: 512 -> 1024" */
};

int fake_setup(void **state);
int fake_teardown(void **state);
/* As "port 0". */
struct tp_setting_at fake_at(const char *text);
/* Sets, and asserts what it answers. */
void fake_set(struct fake *f, const char *at, const char *name, const char *value, int ret, const char *word1,
	      const char *word2);

#endif /* SETTINGS_FAKE_H */
