/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Our variables, their ranges, and the banner. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/sock/owner.h"

#include "priv.h"

/* Programs (nginx) throw their environment away: it is read before they begin. */
static struct {
	const char *name;
	char *text;
	bool old; /* by a variable of the accelerator */
} settings[] = {
	{.name = PORT_ENV},  {.name = SPIN_ENV}, {.name = LOOKS_ENV}, {.name = MBUFS_ENV},
	{.name = MTU_ENV},   {.name = CC_ENV},   {.name = ECN_ENV},   {.name = WSCALE_ENV},
	{.name = RULES_ENV}, {.name = ID_ENV},   {.name = TRACE_ENV}, {.name = LOG_ENV},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static void __attribute__((constructor)) settings_read(void)
{
	for (unsigned int i = 0; i < SETTINGS; i++) {
		const char *text = getenv(settings[i].name);

		if (text != NULL && text[0] != '\0')
			settings[i].text = strdup(text);
	}
	settings_old();
	(void)owner_path();
}

void
setting_preset(const char *name, const char *text)
{
	for (unsigned int i = 0; i < SETTINGS; i++) {
		if (strcmp(settings[i].name, name) != 0 || settings[i].text != NULL)
			continue;
		settings[i].text = strdup(text);
		settings[i].old = true;
	}
}

const char *
setting_text(const char *name)
{
	for (unsigned int i = 0; i < SETTINGS; i++)
		if (strcmp(settings[i].name, name) == 0)
			return settings[i].text;
	return NULL;
}

static unsigned int
number(const char *name, unsigned int usual, unsigned int min, unsigned int max)
{
	const char *text = setting_text(name);
	char *end;
	unsigned long v;

	if (text == NULL)
		return usual;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (*end == '\0' && errno == 0 && text[0] != '-' && v >= min && v <= max)
		return (unsigned int)v;
	say("%s: '%s' is not a number of %u..%u; %u is taken", name, text, min, max, usual);
	return usual;
}

/* The place of a word in a list that NULL ends, the usual one first. */
static unsigned int
word(const char *name, const char *const words[])
{
	const char *text = setting_text(name);
	char list[64] = "";

	for (unsigned int i = 0; text != NULL && words[i] != NULL; i++) {
		if (strcmp(text, words[i]) == 0)
			return i;
		(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i == 0 ? "" : "|", words[i]);
	}
	if (text != NULL)
		say("%s: '%s' is none of %s; %s is taken", name, text, list, words[0]);
	return 0;
}

/* In the order of enum tcp_cc and enum tcp_ecn. */
static const char *const cc_words[] = {"cubic", "reno", "none", NULL};
static const char *const ecn_words[] = {"passive", "on", "off", NULL};
static const char *const wscale_words[] = {"on", "off", NULL};

static void
banner(void)
{
	say_at(SAY_INFO, "%s has sockets on ports of %s", program_invocation_short_name, owner_path());
	for (unsigned int i = 0; i < SETTINGS; i++)
		if (settings[i].text != NULL)
			say_at(SAY_INFO, "%s=%s%s", settings[i].name, settings[i].text,
			       settings[i].old ? " (by a setting of another name)" : "");
}

void
settings_get(struct sock_settings *s)
{
	const char *trace = setting_text(TRACE_ENV);

	if (trace != NULL && !say_level_is(trace))
		say("%s: '%s' is not a number of 0..6; %d is taken", TRACE_ENV, trace, SAY_WARNING);
	*s = (struct sock_settings){
		.port = number(PORT_ENV, 0, 0, 63),
		.spin = number(SPIN_ENV, 100, 0, SPIN_MAX),
		.looks = number(LOOKS_ENV, 0, 0, LOOKS_MAX),
		.mbufs = number(MBUFS_ENV, 8192, MBUFS_MIN, MBUFS_MAX),
		.mtu = setting_text(MTU_ENV) == NULL ? 0 : number(MTU_ENV, MTU_MAX, MTU_MIN, MTU_MAX),
		.cc = word(CC_ENV, cc_words),
		.ecn = word(ECN_ENV, ecn_words),
		.wscale = word(WSCALE_ENV, wscale_words) == 0,
	};
	settings_old_say();
	banner();
}
