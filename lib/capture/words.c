/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a capture is, as words. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture_priv.h"

#define FILE_PACKETS 4096u
#define MEMORY_PACKETS 1024u
#define MEMORY_OCTETS 128u
#define ON "on"
#define FILTER "filter"
#define DIGITS "0123456789"

void
tp_capture_conf_default(enum tp_capture_kind kind, struct tp_capture_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->direction = TP_CAPTURE_BOTH;
	conf->queue = TP_CAPTURE_ALL;
	conf->packets = FILE_PACKETS;
	if (kind != TP_CAPTURE_MEMORY)
		return;
	conf->direction = TP_CAPTURE_IN;
	conf->no_rss = true;
	conf->octets = MEMORY_OCTETS;
	conf->packets = MEMORY_PACKETS;
}

/* --- numbers --------------------------------------------------------------------------------------------------------- */

static bool
number(const char *text, size_t len, uint64_t min, uint64_t max, uint64_t *v)
{
	if (len == 0 || len > 9 || strspn(text, DIGITS) < len)
		return false;
	*v = strtoul(text, NULL, 10);
	return *v >= min && *v <= max;
}

static int
refuse(char err[TP_CAPTURE_ERR], const char *key, const char *value, const char *want)
{
	snprintf(err, TP_CAPTURE_ERR, "%s '%.80s', want %s", key, value, want);
	return -EINVAL;
}

#define OCTETS_TEXT "64..65536"
#define PACKETS_TEXT "a power of two of 64..1048576"
static_assert(TP_CAPTURE_OCTETS_MIN == 64 && TP_CAPTURE_OCTETS_MAX == 65536, "as texts say");
static_assert(TP_CAPTURE_PACKETS_MIN == 64 && TP_CAPTURE_PACKETS_MAX == 1048576, "as texts say");

static int
direction(struct tp_capture_conf *c, const char *v, char err[TP_CAPTURE_ERR])
{
	static const char *const names[] = {
		[TP_CAPTURE_IN] = "in", [TP_CAPTURE_OUT] = "out", [TP_CAPTURE_BOTH] = "both"};
	unsigned int i;

	for (i = TP_CAPTURE_IN; i < RTE_DIM(names); i++)
		if (strcmp(v, names[i]) == 0) {
			c->direction = (uint8_t)i;
			return 0;
		}
	return refuse(err, "direction", v, "in, out or both");
}

static int
queue(struct tp_capture_conf *c, const char *v, char err[TP_CAPTURE_ERR])
{
	uint64_t n;

	if (strcmp(v, "all") == 0)
		n = TP_CAPTURE_ALL;
	else if (!number(v, strlen(v), 0, RTE_MAX_QUEUES_PER_PORT - 1, &n))
		return refuse(err, "queue", v, "0..1023 or all");
	c->queue = (uint16_t)n;
	return 0;
}

static int
rss(struct tp_capture_conf *c, const char *v, char err[TP_CAPTURE_ERR])
{
	c->no_rss = strcmp(v, "none") == 0;
	return c->no_rss || strcmp(v, "any") == 0 ? 0 : refuse(err, "rss", v, "any, or none: packets without a hash");
}

static int
snap(struct tp_capture_conf *c, const char *v, char err[TP_CAPTURE_ERR])
{
	uint64_t n;

	if (!number(v, strlen(v), TP_CAPTURE_OCTETS_MIN, TP_CAPTURE_OCTETS_MAX, &n))
		return refuse(err, "snap", v, OCTETS_TEXT " octets");
	c->snap = (uint32_t)n;
	return 0;
}

static int
ring(struct tp_capture_conf *c, const char *v, char err[TP_CAPTURE_ERR])
{
	const char *star = strchr(v, '*');
	uint64_t octets, packets;

	if (star == NULL || !number(v, (size_t)(star - v), 0, TP_CAPTURE_OCTETS_MAX, &octets) ||
	    (octets != 0 && octets < TP_CAPTURE_OCTETS_MIN) ||
	    !number(star + 1, strlen(star + 1), TP_CAPTURE_PACKETS_MIN, TP_CAPTURE_PACKETS_MAX, &packets) ||
	    !rte_is_power_of_2((uint32_t)packets))
		return refuse(err, "ring", v,
			      "OCTETS*PACKETS as in 2048*4096: " OCTETS_TEXT
			      " octets, or 0 for the port's largest frame, " PACKETS_TEXT " packets");
	c->octets = (uint32_t)octets;
	c->packets = (uint32_t)packets;
	return 0;
}

static const struct {
	const char *name;
	int (*read)(struct tp_capture_conf *c, const char *value, char err[TP_CAPTURE_ERR]);
} keys[] = {{"direction", direction}, {"queue", queue}, {"rss", rss}, {"snap", snap}, {"ring", ring}};

/* --- words ----------------------------------------------------------------------------------------------------------- */

/* The next word of the text; "": there is none. False: it has no room. */
static bool
word(const char **text, char *buf, size_t room)
{
	size_t len;

	*text += strspn(*text, " \t");
	len = strcspn(*text, " \t");
	snprintf(buf, room, "%.*s", (int)len, *text);
	*text += len;
	return len < room;
}

static int
read_key(struct tp_capture_conf *conf, const char *key, const char **text, char err[TP_CAPTURE_ERR])
{
	char value[64];
	unsigned int i;

	for (i = 0; i < RTE_DIM(keys); i++) {
		if (strcmp(key, keys[i].name) != 0)
			continue;
		if (!word(text, value, sizeof(value)) || value[0] == '\0')
			return refuse(err, key, value, "a value behind it");
		return keys[i].read(conf, value, err);
	}
	snprintf(err, TP_CAPTURE_ERR, "'%.80s', want direction, queue, rss, snap, ring or filter", key);
	return -EINVAL;
}

static int
read_filter(struct tp_capture_conf *conf, const char *text, char err[TP_CAPTURE_ERR])
{
	struct cap_filter *f;
	size_t len;
	int ret;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len > 0 && strchr(" \t", text[len - 1]) != NULL)
		len--;
	if (len == 0 || len >= sizeof(conf->filter))
		return refuse(err, FILTER, text, "an expression of at most 511 characters behind it");
	snprintf(conf->filter, sizeof(conf->filter), "%.*s", (int)len, text);
	ret = cap_filter_make(conf->filter, &f, err);
	cap_filter_free(f);
	return ret;
}

int
cap_conf_check(enum tp_capture_kind kind, const struct tp_capture_conf *c, char err[TP_CAPTURE_ERR])
{
	char text[64];

	if ((c->file[0] == '\0') != (kind == TP_CAPTURE_MEMORY)) {
		snprintf(err, TP_CAPTURE_ERR, kind == TP_CAPTURE_MEMORY ? "memory has no file" : "no file is named");
		return -EINVAL;
	}
	if (c->direction < TP_CAPTURE_IN || c->direction > TP_CAPTURE_BOTH) {
		snprintf(text, sizeof(text), "%u", c->direction);
		return refuse(err, "direction", text, "1..3");
	}
	if (c->no_rss && c->direction != TP_CAPTURE_IN)
		return refuse(err, "rss", "none", "'direction in' with it: what is sent has no hash");
	snprintf(text, sizeof(text), "%u*%u", c->octets, c->packets);
	if ((c->octets != 0 && (c->octets < TP_CAPTURE_OCTETS_MIN || c->octets > TP_CAPTURE_OCTETS_MAX)) ||
	    c->packets < TP_CAPTURE_PACKETS_MIN || c->packets > TP_CAPTURE_PACKETS_MAX ||
	    !rte_is_power_of_2(c->packets))
		return refuse(err, "ring", text, "0 or " OCTETS_TEXT " octets, " PACKETS_TEXT " packets");
	snprintf(text, sizeof(text), "%u", c->snap);
	if (c->snap != 0 && (c->snap < TP_CAPTURE_OCTETS_MIN || c->snap > TP_CAPTURE_OCTETS_MAX))
		return refuse(err, "snap", text, OCTETS_TEXT " octets");
	if (c->octets != 0 && c->snap > c->octets) {
		snprintf(err, TP_CAPTURE_ERR, "snap %u, want at most the %u octets that the ring has for a packet",
			 c->snap, c->octets);
		return -EINVAL;
	}
	return 0;
}

int
tp_capture_conf_parse(enum tp_capture_kind kind, const char *words, struct tp_capture_conf *conf,
		      char err[TP_CAPTURE_ERR])
{
	char key[32];
	int ret = 0;

	tp_capture_conf_default(kind, conf);
	if (kind == TP_CAPTURE_FILE && !word(&words, conf->file, sizeof(conf->file)))
		return refuse(err, "file", conf->file, "a path of at most 511 characters");
	/* Another word, or a number, is none by mistake. */
	if (kind == TP_CAPTURE_FILE && conf->file[0] != '\0' && strchr(conf->file, '/') == NULL) {
		snprintf(err, TP_CAPTURE_ERR, "'%.80s', want a path with a / in it", conf->file);
		return -EINVAL;
	}
	while (ret == 0) {
		(void)word(&words, key, sizeof(key));
		if (key[0] == '\0')
			return cap_conf_check(kind, conf, err);
		if (strcmp(key, FILTER) == 0) {
			ret = read_filter(conf, words, err);
			words = "";
		} else if (kind != TP_CAPTURE_MEMORY || strcmp(key, ON) != 0) {
			ret = read_key(conf, key, &words, err);
		}
	}
	return ret;
}

void
tp_capture_conf_text(enum tp_capture_kind kind, const struct tp_capture_conf *conf, char words[TP_CAPTURE_WORDS])
{
	static const char *const names[] = {"none", "in", "out", "both"};
	struct tp_capture_conf def;
	size_t n;

	tp_capture_conf_default(kind, &def);
	n = (size_t)snprintf(words, TP_CAPTURE_WORDS, "%s", kind == TP_CAPTURE_MEMORY ? ON : conf->file);
	if (conf->direction != def.direction)
		n += (size_t)snprintf(words + n, TP_CAPTURE_WORDS - n, " direction %s", names[conf->direction & 3]);
	if (conf->queue != def.queue)
		n += (size_t)snprintf(words + n, TP_CAPTURE_WORDS - n, " queue %u", conf->queue);
	if (conf->no_rss != def.no_rss)
		n += (size_t)snprintf(words + n, TP_CAPTURE_WORDS - n, " rss %s", conf->no_rss ? "none" : "any");
	if (conf->snap != def.snap)
		n += (size_t)snprintf(words + n, TP_CAPTURE_WORDS - n, " snap %u", conf->snap);
	if (conf->octets != def.octets || conf->packets != def.packets)
		n += (size_t)snprintf(words + n, TP_CAPTURE_WORDS - n, " ring %u*%u", conf->octets, conf->packets);
	if (conf->filter[0] != '\0')
		snprintf(words + n, TP_CAPTURE_WORDS - n, " " FILTER " %s", conf->filter);
}
