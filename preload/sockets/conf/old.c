/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Variables of the accelerator of this card's time: each sets one of ours, in our units. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

extern char **environ;

#define OLD "VMA_"

enum kind { TEXT, LEVEL, LOOKS, MICROSECONDS, FRAMES, MTU, MSS, SCALE, CC };

static const struct old {
	const char *name, *ours;
	enum kind kind;
	long low, high; /* of numbers, as the accelerator has them */
} olds[] = {
	{"VMA_TRACELEVEL", TRACE_ENV, LEVEL, 0, 6},
	{"VMA_LOG_FILE", LOG_ENV, TEXT, 0, 0},
	{"VMA_CONFIG_FILE", RULES_ENV, TEXT, 0, 0},
	{"VMA_APPLICATION_ID", ID_ENV, TEXT, 0, 0},
	{"VMA_SELECT_POLL", SPIN_ENV, MICROSECONDS, -1, 100000000},
	{"VMA_RX_POLL", LOOKS_ENV, LOOKS, -1, LOOKS_MAX},
	{"VMA_RX_BUFS", MBUFS_ENV, FRAMES, 0, 100000000},
	{"VMA_MSS", MTU_ENV, MSS, 0, 9560},
	{"VMA_MTU", MTU_ENV, MTU, 0, MTU_MAX},
	{"VMA_WINDOW_SCALING", WSCALE_ENV, SCALE, -2, 14},
	{"VMA_TCP_CC_ALGO", CC_ENV, CC, 0, 2},
};
#define OLDS (sizeof(olds) / sizeof(olds[0]))

static bool wrong[OLDS];

static void
preset_number(const char *name, long v)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%ld", v);
	setting_preset(name, text);
}

static long
within(long v, long low, long high)
{
	return v < low ? low : v > high ? high : v;
}

/* In the order of the accelerator's numbers. */
static const char *const ccs[] = {"reno", "cubic", "none"};

static void
take_number(const struct old *o, long v)
{
	switch (o->kind) {
	case LOOKS:
		/* -1: without end, which is as long as a call looks here. */
		if (v == 0)
			setting_preset(SPIN_ENV, "0");
		else
			preset_number(SPIN_ENV, SPIN_MAX);
		if (v > 0)
			preset_number(o->ours, v);
		break;
	case MICROSECONDS: preset_number(o->ours, v < 0 ? (long)SPIN_MAX : within(v, 0, SPIN_MAX)); break;
	case FRAMES: preset_number(o->ours, within(v, MBUFS_MIN, MBUFS_MAX)); break;
	case MTU:
		if (v != 0)
			preset_number(o->ours, within(v, MTU_MIN, MTU_MAX));
		break;
	case MSS:
		if (v != 0)
			preset_number(o->ours, within(v + 40, MTU_MIN, MTU_MAX));
		break;
	case SCALE: setting_preset(o->ours, v == -1 ? "off" : "on"); break;
	case CC: setting_preset(o->ours, ccs[v]); break;
	case TEXT:
	case LEVEL: break;
	}
}

/* False: it means nothing. */
static bool
take(const struct old *o, const char *text)
{
	char *end;
	long v;

	if (o->kind == TEXT || (o->kind == LEVEL && say_level_is(text))) {
		setting_preset(o->ours, text);
		return true;
	}
	errno = 0;
	v = strtol(text, &end, 10);
	if (o->kind == LEVEL || end == text || *end != '\0' || errno != 0 || v < o->low || v > o->high)
		return false;
	take_number(o, v);
	return true;
}

void
settings_old(void)
{
	for (unsigned int i = 0; i < OLDS; i++) {
		const char *text = getenv(olds[i].name);

		wrong[i] = text != NULL && text[0] != '\0' && !take(&olds[i], text);
	}
}

static bool
known(const char *name, size_t len)
{
	for (unsigned int i = 0; i < OLDS; i++)
		if (strlen(olds[i].name) == len && strncmp(olds[i].name, name, len) == 0)
			return true;
	return false;
}

void
settings_old_say(void)
{
	for (unsigned int i = 0; i < OLDS; i++) {
		if (wrong[i] && olds[i].kind == LEVEL)
			say("%s is none of 0..6; it is left out", olds[i].name);
		else if (wrong[i])
			say("%s is not a number of %ld..%ld; it is left out", olds[i].name, olds[i].low, olds[i].high);
	}
	for (char **e = environ; e != NULL && *e != NULL; e++) {
		const size_t len = strcspn(*e, "=");

		if (strncmp(*e, OLD, strlen(OLD)) == 0 && !known(*e, len))
			say_at(SAY_INFO, "%.*s means nothing here", (int)len, *e);
	}
}
