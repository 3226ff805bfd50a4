/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The pages of a process become samples. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metrics.h"

#define ITEMS 1024u      /* ports, connections, lcores of a process that are asked for */
#define QUEUES 1024u     /* of a port */
#define XSTATS_EACH 200u /* as /mlx4/xstats has in an answer */
#define XSTATS_MOST 65536u
#define ITEM_LEN 64u
#define NS_MS 1000000ull

struct walk {
	struct tel tel;
	struct metrics *p;
	bool xstats;
};

/* What a list has, as the questions behind it are asked. */
struct items {
	char (*item)[ITEM_LEN];
	unsigned int num;
};

/* --- samples ----------------------------------------------------------------------------------------------------------- */

const char *
metric_label_of(const struct metric *m, const char *name)
{
	unsigned int i;

	for (i = 0; i < m->num_labels; i++)
		if (strcmp(m->label[i].name, name) == 0)
			return m->label[i].value;
	return NULL;
}

double
metric_value(const struct metric *m)
{
	return m->scaled ? m->real : (double)m->whole;
}

/* NULL: no memory. */
static struct metric *
sample(struct metrics *p, enum metric_id id)
{
	struct metric *more;

	if (p->num == p->room) {
		more = realloc(p->sample, (p->room == 0 ? 256 : 2 * (size_t)p->room) * sizeof(*more));
		if (more == NULL)
			return NULL;
		p->sample = more;
		p->room = p->room == 0 ? 256 : 2 * p->room;
	}
	p->sample[p->num] = (struct metric){.id = id};
	return &p->sample[p->num++];
}

static void
label(struct metric *m, const char *name, const char *value, int len)
{
	char *text = m == NULL || m->num_labels == METRIC_INFO_LABELS ? NULL : strndup(value, (size_t)len);

	if (text != NULL)
		m->label[m->num_labels++] = (struct metric_label){name, text};
}

static void
drop_last(struct metrics *p)
{
	struct metric *m = &p->sample[--p->num];

	while (m->num_labels > 0)
		free(m->label[--m->num_labels].value);
}

/* One that has the same labels becomes the sum of both. */
static void
join(struct metrics *p)
{
	struct metric *m = &p->sample[p->num - 1], *before = m - 1;
	unsigned int i;

	if (p->num < 2 || before->id != m->id || before->num_labels != m->num_labels || m->scaled)
		return;
	for (i = 0; i < m->num_labels; i++)
		if (before->label[i].name != m->label[i].name || strcmp(before->label[i].value, m->label[i].value) != 0)
			return;
	before->whole += m->whole;
	drop_last(p);
}

/* What stands in front of the labels of a row: the item of the list, and the queue. */
struct where {
	const char *name[2], *value[2];
};

static struct metric *
place(struct metrics *p, enum metric_id id, const struct where *at)
{
	struct metric *m = sample(p, id);
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (at->name[i] != NULL)
			label(m, at->name[i], at->value[i], (int)strlen(at->value[i]));
	return m;
}

static bool
value_of(struct metric *m, const struct metric_row *row, const struct mj *v)
{
	if (row->yes != NULL) {
		m->whole = v->kind == MJ_STRING && strcasecmp(v->text, row->yes) == 0;
		return v->kind == MJ_STRING;
	}
	/* Some releases have numbers for what others have words for. */
	if (v->kind == MJ_TRUE || v->kind == MJ_FALSE) {
		m->whole = v->kind == MJ_TRUE;
		return true;
	}
	if (v->kind == MJ_NUMBER && row->scale != 0) {
		m->scaled = true;
		m->real = v->num * row->scale;
		return true;
	}
	m->whole = v->whole;
	return v->kind == MJ_NUMBER && v->is_whole;
}

static void
one(struct metrics *p, const struct metric_row *row, const struct mj *v, const struct where *at, const char *number,
    int len)
{
	struct metric *m = place(p, row->id, at);
	unsigned int i;

	if (m == NULL)
		return;
	if (number != NULL && row->number != NULL)
		label(m, row->number, number, len);
	for (i = 0; i < 4 && row->label[i] != NULL; i += 2)
		label(m, row->label[i], row->label[i + 1], (int)strlen(row->label[i + 1]));
	if (value_of(m, row, v))
		join(p);
	else
		drop_last(p);
}

/* A list of numbers, one for each queue. */
static void
queues(struct metrics *p, const struct metric_row *row, const struct mj *list, const struct where *at,
       unsigned int most)
{
	const struct mj *v = list->first;
	struct where each = *at;
	char number[16];
	unsigned int i;

	each.name[1] = "queue";
	each.value[1] = number;
	for (i = 0; v != NULL && i < most; i++, v = v->next) {
		snprintf(number, sizeof(number), "%u", i);
		one(p, row, v, &each, NULL, 0);
	}
}

static bool
is_key(const char *const *keys, const char *key)
{
	for (; keys != NULL && *keys != NULL; keys++)
		if (strcmp(*keys, key) == 0)
			return true;
	return false;
}

static void
info(struct metrics *p, const struct metric_page *page, const struct mj *answer, const struct where *at)
{
	struct metric *m = place(p, page->info, at);
	const char *const *key;
	const struct mj *v;

	if (m == NULL)
		return;
	m->whole = 1;
	for (key = page->info_keys; *key != NULL; key++) {
		v = mj_get(answer, *key);
		if (v != NULL && (v->kind == MJ_STRING || v->kind == MJ_NUMBER))
			label(m, strcmp(*key, "name") == 0 ? "device" : *key, v->text, (int)v->len);
	}
}

/* The members of an answer. num_queues: those that lists of the page mean. */
static void
members(struct walk *w, const struct metric_page *page, const struct mj *answer, const struct where *at,
	unsigned int num_queues)
{
	const struct metric_row *row;
	const struct mj *v;
	const char *number;
	int len;

	if (page->info_keys != NULL)
		info(w->p, page, answer, at);
	for (v = answer->kind == MJ_OBJECT ? answer->first : NULL; v != NULL; v = v->next) {
		row = metric_row_of(page, v->key, &number, &len);
		if (row != NULL && v->kind == MJ_ARRAY) {
			queues(w->p, row, v, at, num_queues);
		} else if (row != NULL) {
			one(w->p, row, v, at, number, len);
		} else if (page->other_label != NULL && v->kind == MJ_NUMBER && v->is_whole &&
			   !is_key(page->info_keys, v->key)) {
			const struct metric_row other = {.id = page->other, .label = {page->other_label, v->key}};

			one(w->p, &other, v, at, NULL, 0);
		}
	}
}

/* --- questions --------------------------------------------------------------------------------------------------------- */

/* Nobody answers any more: the rest is not asked. */
static bool
lost(const struct walk *w)
{
	return w->p->err != 0;
}

static const struct mj *
ask(struct walk *w, const char *question)
{
	const struct mj *v;
	int err;

	if (lost(w))
		return NULL;
	v = tel_ask(&w->tel, &err, "%s", question);
	if (err == -ENODATA)
		return NULL;
	if (err != 0)
		w->p->unanswered++;
	/* What answers to another question, or not at all, is no longer in step. */
	if (err != 0 && err != -ENAMETOOLONG)
		w->p->err = err;
	return v;
}

static void
list(struct walk *w, const char *question, struct items *l)
{
	const struct mj *v = ask(w, question);

	l->num = 0;
	l->item = v == NULL || v->kind != MJ_ARRAY ? NULL : calloc(ITEMS, sizeof(l->item[0]));
	for (v = l->item == NULL ? NULL : v->first; v != NULL && l->num < ITEMS; v = v->next)
		if ((v->kind == MJ_STRING || v->kind == MJ_NUMBER) && v->len < ITEM_LEN)
			snprintf(l->item[l->num++], ITEM_LEN, "%.*s", (int)v->len, v->text);
}

/* Receive and transmit queues of a port. */
static void
port_queues(struct walk *w, const char *port, unsigned int num[2])
{
	char question[2 * ITEM_LEN];
	const struct mj *v;

	snprintf(question, sizeof(question), "/ethdev/info,%s", port);
	v = ask(w, question);
	num[0] = (unsigned int)mj_uint(v, "nb_rx_queues", 0);
	num[1] = (unsigned int)mj_uint(v, "nb_tx_queues", 0);
}

static void
item(struct walk *w, const struct metric_page *page, const char *name)
{
	struct where at = {{page->label, NULL}, {name, NULL}};
	unsigned int num[2] = {0, 0}, q, n;
	char question[2 * ITEM_LEN], number[16];
	const struct mj *v;

	if (page->each != EACH_LIST || strcmp(page->cmd, "/ethdev/stats") == 0)
		port_queues(w, name, num);
	if (page->each == EACH_LIST) {
		snprintf(question, sizeof(question), "%s,%s", page->cmd, name);
		v = ask(w, question);
		if (v != NULL)
			members(w, page, v, &at, num[0] > num[1] ? num[0] : num[1]);
		return;
	}
	n = num[page->each == EACH_RX ? 0 : 1];
	at.name[1] = "queue";
	at.value[1] = number;
	for (q = 0; q < n && q < QUEUES && !lost(w); q++) {
		snprintf(number, sizeof(number), "%u", q);
		snprintf(question, sizeof(question), "%s,%s,%u", page->cmd, name, q);
		v = ask(w, question);
		if (v != NULL)
			members(w, page, v, &at, 0);
	}
}

static void
page(struct walk *w, const struct metric_page *pg)
{
	static const struct where nowhere = {{NULL, NULL}, {NULL, NULL}};
	const struct mj *v;
	struct items l;
	unsigned int i;

	if (pg->each == EACH_NONE) {
		v = ask(w, pg->cmd);
		if (v != NULL)
			members(w, pg, v, &nowhere, 0);
		return;
	}
	list(w, pg->list, &l);
	for (i = 0; i < l.num && !lost(w); i++)
		item(w, pg, l.item[i]);
	free(l.item);
}

/* An answer of ethdev's has 256 at most, and the rest is lost without a word; our ports have them in parts. */
static void
xstats_of(struct walk *w, const char *port, bool parts)
{
	const struct where at = {{"port", NULL}, {port, NULL}};
	struct metric_page pg = metric_xstats;
	char question[2 * ITEM_LEN];
	unsigned int from = 0, got;
	const struct mj *v;

	if (!w->xstats)
		pg.other_label = NULL;
	do {
		if (parts)
			snprintf(question, sizeof(question), "/mlx4/xstats,%s,%u", port, from);
		else
			snprintf(question, sizeof(question), "/ethdev/xstats,%s", port);
		v = ask(w, question);
		got = v == NULL ? 0 : v->len;
		if (v != NULL)
			members(w, &pg, v, &at, 0);
		from += got;
	} while (parts && got == XSTATS_EACH && from < XSTATS_MOST);
}

static bool
has(const struct items *l, const char *name)
{
	unsigned int i;

	for (i = 0; i < l->num; i++)
		if (strcmp(l->item[i], name) == 0)
			return true;
	return false;
}

static void
xstats(struct walk *w, bool parts)
{
	struct items ports, ours = {NULL, 0};
	unsigned int i;

	list(w, "/ethdev/list", &ports);
	if (parts)
		list(w, "/mlx4/list", &ours);
	for (i = 0; i < ports.num && !lost(w); i++)
		xstats_of(w, ports.item[i], has(&ours, ports.item[i]));
	free(ports.item);
	free(ours.item);
}

static void
tell_process(struct metrics *p)
{
	static const struct where nowhere = {{NULL, NULL}, {NULL, NULL}};
	struct metric *m = place(p, M_UP, &nowhere);
	char pid[16];

	if (m != NULL)
		m->whole = p->err == 0;
	m = place(p, M_COLLECT, &nowhere);
	if (m != NULL) {
		m->scaled = true;
		m->real = (double)(p->ended - p->began) / 1e9;
	}
	m = place(p, M_UNANSWERED, &nowhere);
	if (m != NULL)
		m->whole = p->unanswered;
	if (p->version[0] == '\0')
		return;
	m = place(p, M_PROCESS, &nowhere);
	if (m == NULL)
		return;
	m->whole = 1;
	snprintf(pid, sizeof(pid), "%d", (int)p->pid);
	label(m, "pid", pid, (int)strlen(pid));
	label(m, "version", p->version, (int)strlen(p->version));
}

/* The lcore's number by the thread's name, which depends on the release of DPDK. 0: it is none. */
static size_t
lcore_name(const char *comm, const char **number)
{
	static const char *const names[] = {"lcore-worker-", "rte-worker-", "dpdk-worker"};
	unsigned int i;
	size_t n;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		n = strlen(names[i]);
		if (strncmp(comm, names[i], n) != 0)
			continue;
		*number = comm + n;
		n = strspn(*number, "0123456789");
		return (*number)[n] == '\0' ? n : 0;
	}
	return 0;
}

/* Ticks of a thread; its name in comm. False: it ended meanwhile. */
static bool
thread_ticks(pid_t pid, const char *task, char comm[64], unsigned long long *ticks)
{
	unsigned long long user, system;
	char path[320], text[1024], *open, *end;
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, task);
	f = fopen(path, "r");
	ok = f != NULL && fgets(text, sizeof(text), f) != NULL;
	if (f != NULL)
		fclose(f);
	open = ok ? strchr(text, '(') : NULL;
	end = ok ? strrchr(text, ')') : NULL;
	if (open == NULL || end == NULL || end < open ||
	    sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
		return false;
	snprintf(comm, 64, "%.*s", (int)(end - open - 1), open + 1);
	*ticks = user + system;
	return true;
}

static void
tell_threads(struct metrics *p)
{
	static const struct where nowhere = {{NULL, NULL}, {NULL, NULL}};
	const double hz = (double)sysconf(_SC_CLK_TCK);
	const char *number = "main";
	unsigned long long ticks;
	const struct dirent *e;
	char path[64], comm[64];
	struct metric *m;
	size_t len;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.' || !thread_ticks(p->pid, e->d_name, comm, &ticks))
			continue;
		len = lcore_name(comm, &number);
		if (len == 0 && atoi(e->d_name) == (int)p->pid) {
			number = "main";
			len = strlen(number);
		}
		m = len == 0 ? NULL : place(p, M_LCORE_CPU, &nowhere);
		if (m == NULL)
			continue;
		m->scaled = true;
		m->real = (double)ticks / hz;
		label(m, "lcore", number, (int)len);
	}
	if (d != NULL)
		closedir(d);
}

struct job {
	struct metrics *p;
	const struct metrics_where *where;
	pthread_t thread;
	bool runs;
};

static void *
collect(void *arg)
{
	struct job *j = arg;
	struct metrics *p = j->p;
	struct walk w = {.p = p, .xstats = j->where->xstats};
	struct items pages;
	unsigned int i;

	p->began = tel_now();
	p->err = tel_open(&w.tel, p->path, p->began + j->where->timeout_ms * NS_MS);
	if (p->err == 0) {
		p->pid = w.tel.pid;
		memcpy(p->version, w.tel.version, sizeof(p->version));
		list(&w, "/", &pages);
		for (i = 0; i < metric_num_pages && !lost(&w); i++)
			if (has(&pages, metric_pages[i].cmd))
				page(&w, &metric_pages[i]);
		xstats(&w, has(&pages, "/mlx4/xstats"));
		free(pages.item);
		if (w.tel.here)
			tell_threads(p);
		tel_close(&w.tel);
	}
	p->ended = tel_now();
	tell_process(p);
	return NULL;
}

void
metrics_free(struct metrics *p)
{
	while (p->num > 0)
		drop_last(p);
	free(p->sample);
	p->sample = NULL;
	p->room = 0;
}

/* Whether somebody named it, who wants to hear that it is down. */
static bool
named(const struct metrics_where *w, const struct metrics *p)
{
	unsigned int i;

	for (i = 0; i < w->num_sockets; i++)
		if (strcmp(w->socket[i], p->path) == 0)
			return true;
	return false;
}

int
metrics_collect(const struct metrics_where *w, struct metrics p[METRICS_PROCESSES])
{
	unsigned int n = metrics_find(w, p), i, kept = 0;
	struct job job[METRICS_PROCESSES];

	for (i = 0; i < n; i++) {
		job[i] = (struct job){.p = &p[i], .where = w};
		job[i].runs = pthread_create(&job[i].thread, NULL, collect, &job[i]) == 0;
	}
	for (i = 0; i < n; i++) {
		if (job[i].runs)
			pthread_join(job[i].thread, NULL);
		else
			collect(&job[i]);
	}
	for (i = 0; i < n; i++) {
		if ((p[i].err == -ECONNREFUSED || p[i].err == -ENOENT) && !named(w, &p[i]))
			metrics_free(&p[i]);
		else if (kept++ != i)
			p[kept - 1] = p[i];
	}
	return (int)kept;
}
