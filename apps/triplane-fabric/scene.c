/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The file of an experiment: a line is a thing; $NAME stands for what was set, h[1..8] for eight names. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static void *
grow(void *list, uint32_t *num, size_t size, uint32_t max)
{
	uint32_t n = *num;
	void *p = list;

	if (n == max)
		return NULL;
	/* At powers of two. */
	if ((n & (n - 1)) == 0)
		p = realloc(list, (n == 0 ? 1 : (size_t)n * 2) * size);
	if (p == NULL)
		return NULL;
	memset((char *)p + n * size, 0, size);
	(*num)++;
	return p;
}

static int
find_switch(struct reader *r, const char *name, uint32_t *out)
{
	for (uint32_t i = 0; i < r->s->num_sw; i++)
		if (strcmp(r->s->sw[i].name, name) == 0) {
			*out = i;
			return 0;
		}
	return rd_fault(r, "there is no switch '%s'", name);
}

static int
find_host(struct reader *r, const char *name, uint32_t *out)
{
	for (uint32_t i = 0; i < r->s->num_hosts; i++)
		if (strcmp(r->s->host[i].name, name) == 0) {
			*out = i;
			return 0;
		}
	return rd_fault(r, "there is no host '%s'", name);
}

/* --- lines ------------------------------------------------------------------------------------------------------ */

static int
read_set(struct reader *r)
{
	char value[SCENE_TEXT] = "";

	for (unsigned int i = 2; i < r->num_words; i++) {
		if (strlen(value) + strlen(r->word[i]) + 2 > sizeof(value))
			return rd_fault(r, "set %s: the value is longer than %zu", r->word[1], sizeof(value) - 1);
		if (i > 2)
			strcat(value, " ");
		strcat(value, r->word[i]);
	}
	return rd_set(r, r->word[1], value, false);
}

static int
read_switch(struct reader *r)
{
	struct scene *s = r->s;
	struct scene_switch *sw;
	struct range g;
	void *p;

	if (rd_range(r, r->word[1], &g) != 0)
		return -1;
	for (uint32_t i = 0; i < g.count; i++) {
		p = grow(s->sw, &s->num_sw, sizeof(*sw), SCENE_MAX_SWITCHES);
		if (p == NULL)
			return rd_fault(r, "switch %s: at most %u", r->word[1], SCENE_MAX_SWITCHES);
		s->sw = p;
		sw = &s->sw[s->num_sw - 1];
		rd_name(&g, i, sw->name);
		sw->line = r->line;
		for (unsigned int w = 2; w < r->num_words; w++) {
			if (strlen(sw->words) + strlen(r->word[w]) + 2 > sizeof(sw->words))
				return rd_fault(r, "switch %s: its words are longer than %zu", sw->name,
						sizeof(sw->words) - 1);
			strcat(strcat(sw->words, r->word[w]), " ");
		}
	}
	return 0;
}

/* rate: and delay: of a cable, from word i on. */
static int
read_cable(struct reader *r, unsigned int i, uint32_t *rate, uint32_t *delay)
{
	uint64_t v;

	*rate = 40000;
	*delay = 1000;
	for (; i < r->num_words; i++) {
		const char *t;

		if ((t = rd_value(r->word[i], "rate")) != NULL) {
			if (rd_number(r, "rate", t, 1, 1000000, &v) != 0)
				return -1;
			*rate = (uint32_t)v;
		} else if ((t = rd_value(r->word[i], "delay")) != NULL) {
			if (rd_duration(r, "delay", t, &v) != 0)
				return -1;
			if (v > 1000000000)
				return rd_fault(r, "delay '%s': wanted at most 1s", t);
			*delay = (uint32_t)v;
		} else {
			return rd_fault(r, "'%s': wanted rate:MBPS or delay:TIME", r->word[i]);
		}
	}
	return 0;
}

static int
read_host(struct reader *r)
{
	struct scene *s = r->s;
	char name[SCENE_NAME], sw[SCENE_NAME];
	struct range g, at;
	struct scene_host h;
	void *p;

	memset(&h, 0, sizeof(h));
	if (r->num_words < 3)
		return rd_fault(r, "host: wanted a name and a switch");
	if (rd_range(r, r->word[1], &g) != 0 || rd_range(r, r->word[2], &at) != 0 ||
	    read_cable(r, 3, &h.rate_mbps, &h.delay_ns) != 0)
		return -1;
	for (uint32_t i = 0; i < g.count; i++) {
		rd_name(&g, i, name);
		rd_name(&at, i, sw);
		if (find_switch(r, sw, &h.sw) != 0)
			return -1;
		for (uint32_t k = 0; k < s->num_hosts; k++)
			if (strcmp(s->host[k].name, name) == 0)
				return rd_fault(r, "host '%s' is there twice", name);
		p = grow(s->host, &s->num_hosts, sizeof(h), SCENE_MAX_HOSTS);
		if (p == NULL)
			return rd_fault(r, "host %s: at most %u", name, SCENE_MAX_HOSTS);
		s->host = p;
		s->host[s->num_hosts - 1] = h;
		strcpy(s->host[s->num_hosts - 1].name, name);
	}
	return 0;
}

static bool
is_linked(const struct scene *s, uint32_t since, const struct scene_link *l)
{
	for (uint32_t i = since; i < s->num_links; i++)
		if ((s->link[i].a == l->a && s->link[i].b == l->b) || (s->link[i].a == l->b && s->link[i].b == l->a))
			return true;
	return false;
}

/* Each switch of the first word with each other one of the second, by one cable. */
static int
read_link(struct reader *r)
{
	struct scene *s = r->s;
	uint32_t since = s->num_links;
	char name[SCENE_NAME];
	struct scene_link l;
	struct range a, b;
	void *p;

	memset(&l, 0, sizeof(l));
	if (r->num_words < 3)
		return rd_fault(r, "link: wanted two switches");
	if (rd_range(r, r->word[1], &a) != 0 || rd_range(r, r->word[2], &b) != 0 ||
	    read_cable(r, 3, &l.rate_mbps, &l.delay_ns) != 0)
		return -1;
	for (uint32_t i = 0; i < a.count; i++)
		for (uint32_t k = 0; k < b.count; k++) {
			rd_name(&a, i, name);
			if (find_switch(r, name, &l.a) != 0)
				return -1;
			rd_name(&b, k, name);
			if (find_switch(r, name, &l.b) != 0)
				return -1;
			if (l.a == l.b || is_linked(s, since, &l))
				continue;
			p = grow(s->link, &s->num_links, sizeof(l), SCENE_MAX_LINKS);
			if (p == NULL)
				return rd_fault(r, "link: at most %u", SCENE_MAX_LINKS);
			s->link = p;
			s->link[s->num_links - 1] = l;
		}
	return s->num_links != since ? 0 : rd_fault(r, "link: both ends are '%s'", r->word[1]);
}

static int
flow_word(struct reader *r, struct scene_flow *f, uint32_t *shift, const char *word)
{
	const char *t;
	uint64_t v;

	if ((t = rd_value(word, "start")) != NULL)
		return rd_duration(r, "start", t, &f->start_ns);
	if ((t = rd_value(word, "stop")) != NULL)
		return rd_duration(r, "stop", t, &f->stop_ns);
	if ((t = rd_value(word, "bytes")) != NULL)
		return rd_number(r, "bytes", t, 1, UINT64_MAX - 1, &f->bytes);
	if ((t = rd_value(word, "prio")) != NULL) {
		if (rd_number(r, "prio", t, 0, 7, &v) != 0)
			return -1;
		f->prio = (uint8_t)v;
		return 0;
	}
	if ((t = rd_value(word, "payload")) != NULL) {
		if (rd_number(r, "payload", t, 4, 4096, &v) != 0)
			return -1;
		if (v % 4 != 0)
			return rd_fault(r, "payload '%s': wanted a multiple of 4", t);
		f->payload = (uint32_t)v;
		return 0;
	}
	if ((t = rd_value(word, "shift")) != NULL) {
		if (rd_number(r, "shift", t, 0, SCENE_MAX_HOSTS, &v) != 0)
			return -1;
		*shift = (uint32_t)v;
		return 0;
	}
	return rd_fault(r, "'%s': wanted start:TIME, stop:TIME, bytes:N, prio:N, payload:N or shift:N", word);
}

static int
read_flow(struct reader *r)
{
	struct scene_flow f = {.stop_ns = UINT64_MAX, .bytes = UINT64_MAX, .payload = 1000, .prio = 3};
	struct range g, from, to;
	char name[SCENE_NAME];
	struct scene *s = r->s;
	uint32_t shift = 0;
	void *p;

	if (r->num_words < 4)
		return rd_fault(r, "flow: wanted a name, the host that sends and the one that receives");
	if (rd_range(r, r->word[1], &g) != 0 || rd_range(r, r->word[2], &from) != 0 ||
	    rd_range(r, r->word[3], &to) != 0)
		return -1;
	for (unsigned int i = 4; i < r->num_words; i++)
		if (flow_word(r, &f, &shift, r->word[i]) != 0)
			return -1;
	for (uint32_t i = 0; i < g.count; i++) {
		rd_name(&from, i, name);
		if (find_host(r, name, &f.from) != 0)
			return -1;
		rd_name(&to, i + shift, name);
		if (find_host(r, name, &f.to) != 0)
			return -1;
		rd_name(&g, i, f.name);
		if (f.from == f.to)
			return rd_fault(r, "flow %s: host '%s' sends to itself", f.name, name);
		p = grow(s->flow, &s->num_flows, sizeof(f), SCENE_MAX_FLOWS);
		if (p == NULL)
			return rd_fault(r, "flow %s: at most %u", f.name, SCENE_MAX_FLOWS);
		s->flow = p;
		s->flow[s->num_flows - 1] = f;
	}
	return 0;
}

static int
cc_word(struct reader *r, const char *word)
{
	const char *colon = strchr(word, ':');
	char name[SCENE_TEXT];
	const struct tcc_param *p;
	uint64_t v;
	int i;

	snprintf(name, sizeof(name), "%.*s", colon != NULL ? (int)(colon - word) : 0, word);
	i = tcc_param_find(name);
	if (colon == NULL || i < 0)
		return rd_fault(r, "cc: '%s': wanted a parameter, such as ai-rate:40", word);
	p = tcc_param((unsigned int)i);
	if (rd_number(r, name, colon + 1, p->min, p->line ? r->s->cc.line_rate : p->max, &v) != 0)
		return -1;
	tcc_param_set(&r->s->cc, (unsigned int)i, v);
	return 0;
}

/* 802.1Qau: the names of its managed objects. */
static int
read_qau(struct reader *r)
{
	struct tqau_conf *c = &r->s->qau;
	const struct {
		const char *key;
		uint32_t *at;
		uint64_t min, max;
	} words[] = {{"time-reset", &c->time_reset, 0, 10000000},
		     {"byte-reset", &c->byte_reset, 0, 1u << 30},
		     {"threshold", &c->threshold, 1, 31},
		     {"max-rate", &c->max_rate, 0, 1000000},
		     {"ai-rate", &c->ai_rate, 0, 1000000},
		     {"hai-rate", &c->hai_rate, 0, 1000000},
		     {"gd", &c->gd, 0, 31},
		     {"min-dec-fac", &c->min_dec_fac, 0, 100},
		     {"min-rate", &c->min_rate, 0, 1000000}};
	const unsigned int n = sizeof(words) / sizeof(words[0]);
	const char *value = NULL;
	unsigned int k;
	uint64_t v;

	tqau_conf_default(c, 1000000);
	for (unsigned int i = 2; i < r->num_words; i++) {
		for (k = 0; k < n && (value = rd_value(r->word[i], words[k].key)) == NULL; k++)
			;
		if (k == n)
			return rd_fault(r, "cc: '%s': wanted a parameter of qau, such as ai-rate:5", r->word[i]);
		if (rd_number(r, words[k].key, value, words[k].min, words[k].max, &v) != 0)
			return -1;
		*words[k].at = (uint32_t)v;
	}
	return 0;
}

static int
read_cc(struct reader *r)
{
	enum tcc_variant v;

	r->s->qau_on = strcmp(r->word[1], "qau") == 0;
	r->s->cc_on = strcmp(r->word[1], "off") != 0 && !r->s->qau_on;
	if (r->s->qau_on)
		return read_qau(r);
	if (r->s->cc_on) {
		v = tcc_variant_find(r->word[1]);
		if (v == TCC_VARIANTS)
			return rd_fault(r, "cc '%s': wanted off, paper, card, vendor-hpcc or qau", r->word[1]);
		tcc_conf_default(&r->s->cc, v, 1000000);
	}
	for (unsigned int i = 2; i < r->num_words; i++)
		if (cc_word(r, r->word[i]) != 0)
			return -1;
	return 0;
}

static int
read_time(struct reader *r)
{
	return rd_duration(r, "time", r->word[1], &r->s->time_ns);
}

static int
read_measure(struct reader *r)
{
	if (r->num_words != 3)
		return rd_fault(r, "measure: wanted two times, such as 10ms 20ms");
	return rd_duration(r, "measure", r->word[1], &r->s->from_ns) != 0 ||
			       rd_duration(r, "measure", r->word[2], &r->s->to_ns) != 0
		       ? -1
		       : 0;
}

static int
read_sample(struct reader *r)
{
	if (rd_duration(r, "sample", r->word[1], &r->s->sample_ns) != 0)
		return -1;
	return r->s->sample_ns >= 1000 ? 0 : rd_fault(r, "sample '%s': wanted at least 1us", r->word[1]);
}

static int
read_seed(struct reader *r)
{
	return rd_number(r, "seed", r->word[1], 0, UINT64_MAX, &r->s->seed);
}

static const struct {
	const char *word;
	int (*read)(struct reader *r);
} lines[] = {{"set", read_set},       {"switch", read_switch}, {"host", read_host}, {"link", read_link},
	     {"flow", read_flow},     {"cc", read_cc},         {"time", read_time}, {"measure", read_measure},
	     {"sample", read_sample}, {"seed", read_seed}};

static int
read_line(struct reader *r, const char *raw)
{
	char text[LINE_MAX_LEN], *save = NULL;

	if (rd_expand(r, raw, text) != 0)
		return -1;
	r->num_words = 0;
	for (char *w = strtok_r(text, " \t\r\n", &save); w != NULL; w = strtok_r(NULL, " \t\r\n", &save)) {
		if (r->num_words == MAX_WORDS)
			return rd_fault(r, "more than %u words", MAX_WORDS);
		r->word[r->num_words++] = w;
	}
	if (r->num_words == 0)
		return 0;
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strcmp(r->word[0], lines[i].word) == 0)
			return r->num_words < 2 ? rd_fault(r, "%s: wanted more words", r->word[0]) : lines[i].read(r);
	return rd_fault(r, "'%s': wanted set, switch, host, link, flow, cc, time, measure, sample or seed", r->word[0]);
}

static int
check(struct reader *r)
{
	struct scene *s = r->s;

	if (s->num_flows == 0)
		return rd_fault(r, "there is no flow");
	if (s->time_ns == 0)
		return rd_fault(r, "time: wanted more than 0");
	if (s->to_ns == 0) {
		s->from_ns = s->time_ns / 2;
		s->to_ns = s->time_ns;
	}
	if (s->from_ns >= s->to_ns || s->to_ns > s->time_ns)
		return rd_fault(r, "measure: wanted two times in order, within the %" PRIu64 " us of time",
				s->time_ns / 1000);
	if (s->time_ns / s->sample_ns > 1000000)
		return rd_fault(r, "sample: wanted at most 1000000 of them, %" PRIu64 " us or more",
				s->time_ns / 1000000000 + 1);
	return 0;
}

int
scene_read(struct scene *s, FILE *f, const char *name, const struct scene_define *def, unsigned int num_def,
	   char err[SCENE_TEXT])
{
	struct reader r = {.s = s, .file = name, .err = err};
	char raw[LINE_MAX_LEN];

	*s = (struct scene){.time_ns = 20000000, .sample_ns = 100000, .seed = 1};
	tcc_conf_default(&s->cc, TCC_PAPER, 1000000);
	s->cc_on = true;
	for (unsigned int i = 0; i < num_def; i++)
		if (rd_set(&r, def[i].name, def[i].value, true) != 0)
			return -1;
	while (fgets(raw, sizeof(raw), f) != NULL) {
		r.line++;
		if (strchr(raw, '\n') == NULL && !feof(f))
			return rd_fault(&r, "the line is longer than %u", LINE_MAX_LEN - 2);
		if (read_line(&r, raw) != 0)
			return -1;
	}
	return check(&r);
}

void
scene_free(struct scene *s)
{
	free(s->sw);
	free(s->host);
	free(s->link);
	free(s->flow);
	*s = (struct scene){0};
}
