/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What commands of InfiniBand make, as settings of the program: ports lent to programs, subnet managers, times of subnet
 * administration, IPoIB ports and pairs. Each value is a list that says all there is of its kind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_string_fns.h>

#include "apps/triplane/port/ib.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/app/share.h"
#include "settings.h"

#define NONE "none"
#define PORTS "ib-ports"

static void
append(char value[TP_SETTING_VALUE], size_t *at, const char *sep, const char *text)
{
	if (*at < TP_SETTING_VALUE)
		*at += (size_t)snprintf(value + *at, TP_SETTING_VALUE - *at, "%s%s", *at == 0 ? "" : sep, text);
}

/* Calls fn with each entry of a list; its answer other than 0 ends it. */
static int
each(const char *value, const char *sep, int (*fn)(void *arg, char *entry), void *arg)
{
	char *copy, *next, *one;
	int ret = 0;

	if (strcmp(value, NONE) == 0)
		return 0;
	copy = next = strdup(value);
	if (copy == NULL)
		return -ENOMEM;
	while (ret == 0 && (one = strsep(&next, sep)) != NULL)
		ret = fn(arg, one);
	free(copy);
	return ret;
}

static int
failed(const struct tp_setting *row, const char *value, int ret, char err[TP_SETTING_ERR])
{
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "%s: '%.120s': %s", row->name, value, strerror(-ret));
	return ret;
}

/* --- ports lent to programs ------------------------------------------------------------------------------------- */

static int
judge_path(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	const bool path = strchr(value, '/') != NULL && strlen(value) <= 107;

	return path || strcmp(value, NONE) == 0 ? 0 : setting_refuse(row, value, err);
}

static int
lent_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const char *path = ib_lent_path();

	(void)ctx, (void)row, (void)at;
	snprintf(value, TP_SETTING_VALUE, "%s", path[0] != '\0' ? path : NONE);
	return 0;
}

static int
lent_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	 char err[TP_SETTING_ERR])
{
	(void)ctx, (void)at;
	/* Programs that have it open keep it. */
	if (strcmp(value, ib_lent_path()) == 0)
		return 0;
	ib_stop();
	return failed(row, value, strcmp(value, NONE) == 0 ? 0 : ib_lend(value), err);
}

/* --- ports shared with programs --------------------------------------------------------------------------------- */

static int
shared_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const char *path = share_path();

	(void)ctx, (void)row, (void)at;
	snprintf(value, TP_SETTING_VALUE, "%s", path[0] != '\0' ? path : NONE);
	return 0;
}

static int
shared_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	   char err[TP_SETTING_ERR])
{
	(void)ctx, (void)at;
	/* Programs that use it go on. */
	if (strcmp(value, share_path()) == 0)
		return 0;
	share_off();
	return failed(row, value, strcmp(value, NONE) == 0 ? 0 : share_on(value), err);
}

/* --- subnet managers ---------------------------------------------------------------------------------------------- */

/* "CARD/1 PRIORITY [P_KEY ...]" */
struct manager {
	char device[64];
	uint8_t priority;
	char keys[CMD_MAX_LINE];
};

struct managers {
	struct manager m[IB_MANAGERS];
	unsigned int n;
};

static int
add_manager(void *arg, char *entry)
{
	struct managers *all = arg;
	struct manager *m = &all->m[all->n];
	uint16_t keys[TP_SM_PKEYS];
	const char *device = strsep(&entry, " "), *priority = strsep(&entry, " ");
	unsigned long v;
	unsigned int n;
	char *end;

	if (all->n == IB_MANAGERS || priority == NULL || strchr(device, '/') == NULL ||
	    rte_strlcpy(m->device, device, sizeof(m->device)) >= sizeof(m->device))
		return -EINVAL;
	v = strtoul(priority, &end, 10);
	if (end == priority || *end != '\0' || v > 15)
		return -EINVAL;
	for (unsigned int i = 0; i < all->n; i++)
		if (strcmp(all->m[i].device, device) == 0)
			return -EEXIST;
	m->priority = (uint8_t)v;
	(void)rte_strlcpy(m->keys, entry != NULL ? entry : NONE, sizeof(m->keys));
	all->n++;
	return ib_sm_keys(m->keys, keys, &n);
}

static struct managers *
managers_of(const char *value)
{
	struct managers *all = calloc(1, sizeof(*all));

	if (all != NULL && each(value, ",", add_manager, all) == 0)
		return all;
	free(all);
	return NULL;
}

static int
judge_managers(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct managers *all = managers_of(value);

	if (all == NULL)
		return setting_refuse(row, value, err);
	free(all);
	return 0;
}

static void
keys_text(const struct ib_manager *m, char *text, size_t len)
{
	size_t at = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < m->num_keys && at < len; i++)
		at += (size_t)snprintf(text + at, len - at, "%s0x%04x", i == 0 ? "" : " ", m->key[i]);
}

static int
managers_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	char keys[TP_SM_PKEYS * 8], text[sizeof(keys) + 96];
	const struct ib_manager *m;
	size_t len = 0;

	(void)ctx, (void)row, (void)at;
	for (unsigned int i = 0; (m = ib_manager(i)) != NULL; i++) {
		if (m->sm == NULL)
			continue;
		keys_text(m, keys, sizeof(keys));
		snprintf(text, sizeof(text), "%s %u%s%s", m->device, m->priority, keys[0] != '\0' ? " " : "", keys);
		append(value, &len, ",", text);
	}
	if (len == 0)
		snprintf(value, TP_SETTING_VALUE, NONE);
	return len < TP_SETTING_VALUE ? 0 : -E2BIG;
}

static const struct manager *
wanted(const struct managers *all, const struct ib_manager *m)
{
	for (unsigned int i = 0; i < all->n; i++)
		if (strcmp(all->m[i].device, m->device) == 0 && all->m[i].priority == m->priority)
			return &all->m[i];
	return NULL;
}

static bool
runs(const struct manager *want)
{
	const struct ib_manager *m;

	for (unsigned int i = 0; (m = ib_manager(i)) != NULL; i++)
		if (m->sm != NULL && strcmp(m->device, want->device) == 0)
			return true;
	return false;
}

/* Those that stay are not started again. */
static int
managers_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	     char err[TP_SETTING_ERR])
{
	struct managers *all = managers_of(value);
	const struct ib_manager *m;
	unsigned int i;
	int ret = all != NULL ? 0 : -ENOMEM;

	(void)ctx, (void)at;
	for (i = 0; ret == 0 && (m = ib_manager(i)) != NULL; i++)
		if (m->sm != NULL && wanted(all, m) == NULL)
			ret = ib_sm_off(m->device);
	for (i = 0; ret == 0 && i < all->n; i++) {
		if (!runs(&all->m[i]))
			ret = ib_sm_on(all->m[i].device, all->m[i].priority);
		if (ret == 0)
			ret = ib_sm_partitions(all->m[i].device, all->m[i].keys);
	}
	free(all);
	return failed(row, value, ret, err);
}

/* --- times of subnet administration --------------------------------------------------------------------------------- */

/* "CARD/1 MS RETRIES" */
static int
take_times(char *entry, char device[64], uint32_t *ms, uint32_t *retries)
{
	char end;

	return sscanf(entry, "%63s %u %u %c", device, ms, retries, &end) == 3 && strchr(device, '/') != NULL &&
			       *ms >= TP_SA_TIMEOUT_MS_MIN && *ms <= TP_SA_TIMEOUT_MS_MAX &&
			       *retries >= TP_SA_RETRIES_MIN && *retries <= TP_SA_RETRIES_MAX
		       ? 0
		       : -EINVAL;
}

static int
check_times(void *arg, char *entry)
{
	uint32_t ms, retries;
	char device[64];

	(void)arg;
	return take_times(entry, device, &ms, &retries);
}

static int
set_times(void *arg, char *entry)
{
	uint32_t ms, retries;
	char device[64];
	int ret = take_times(entry, device, &ms, &retries);

	(void)arg;
	return ret != 0 ? ret : ib_sa_times(device, ms, retries);
}

static int
judge_times(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	return each(value, ",", check_times, NULL) == 0 ? 0 : setting_refuse(row, value, err);
}

static int
times_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct ib_client *c;
	struct tp_sa_conf conf;
	char text[128];
	size_t len = 0;

	(void)ctx, (void)row, (void)at;
	for (unsigned int i = 0; (c = ib_client(i)) != NULL; i++) {
		if (c->service == NULL)
			continue;
		tp_sa_conf_get(tp_mad_service_sa(c->service), &conf);
		if (conf.timeout_ms == TP_SA_TIMEOUT_MS && conf.retries == TP_SA_RETRIES)
			continue;
		snprintf(text, sizeof(text), "%s %u %u", c->device, conf.timeout_ms, conf.retries);
		append(value, &len, ",", text);
	}
	if (len == 0)
		snprintf(value, TP_SETTING_VALUE, NONE);
	return 0;
}

/* Ports that are not named get the defaults again. */
static int
times_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	  char err[TP_SETTING_ERR])
{
	const struct ib_client *c;
	int ret = 0;

	(void)ctx, (void)at;
	for (unsigned int i = 0; ret == 0 && (c = ib_client(i)) != NULL; i++)
		if (c->service != NULL)
			ret = ib_sa_times(c->device, TP_SA_TIMEOUT_MS, TP_SA_RETRIES);
	return failed(row, value, ret != 0 ? ret : each(value, ",", set_times, NULL), err);
}

/* --- IPoIB ports and pairs ------------------------------------------------------------------------------------------- */

/* "4 ipoib CARD/1 ..." : the port's number and what ib_make() takes. */
struct maker {
	struct app *app;
	bool wanted[RTE_MAX_ETHPORTS]; /* with the same words */
	uint16_t *new_ports;
	unsigned int n;
	int last; /* number before, -1: none */
};

static int
number_of(char *entry, const char **words)
{
	char *end;
	const unsigned long id = strtoul(entry, &end, 10);

	*words = end;
	if (end == entry || *end != ' ' || id >= RTE_MAX_ETHPORTS)
		return -EINVAL;
	*words += 1;
	return (int)id;
}

static int
check_port(void *arg, char *entry)
{
	struct maker *m = arg;
	const char *words;
	const int id = number_of(entry, &words);

	if (id <= m->last || (strncmp(words, "ipoib ", 6) != 0 && strncmp(words, "pair ", 5) != 0))
		return -EINVAL;
	m->last = id;
	return 0;
}

static int
judge_ports(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct maker m = {.last = -1};

	return each(value, ";", check_port, &m) == 0 ? 0 : setting_refuse(row, value, err);
}

static int
ports_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	char text[CMD_MAX_LINE + 16];
	size_t len = 0;

	(void)ctx, (void)row, (void)at;
	for (uint16_t id = 0; id < RTE_MAX_ETHPORTS; id++) {
		if (ib_made(id) == NULL)
			continue;
		snprintf(text, sizeof(text), "%u %s", id, ib_made(id));
		append(value, &len, ";", text);
	}
	if (len == 0)
		snprintf(value, TP_SETTING_VALUE, NONE);
	return len < TP_SETTING_VALUE ? 0 : -E2BIG;
}

static int
want_port(void *arg, char *entry)
{
	struct maker *m = arg;
	const char *words;
	const int id = number_of(entry, &words);

	m->wanted[id] = ib_made((uint16_t)id) != NULL && strcmp(ib_made((uint16_t)id), words) == 0;
	return 0;
}

/* A port that would get another number is none of the list's: its sections would be another port's. */
static int
make_port(void *arg, char *entry)
{
	struct maker *m = arg;
	const char *words;
	const int want = number_of(entry, &words);
	uint16_t id;
	int ret;

	if (m->wanted[want])
		return 0;
	ret = ib_make(m->app, words, &id);
	if (ret != 0)
		return ret;
	m->new_ports[m->n++] = id;
	return id == want ? 0
			  : app_err(-EADDRINUSE, "port %d: '%s' would be port %u: ports before it differ", want, words,
				    id);
}

void
settings_unmake_ports(struct app *app, const uint16_t *new_ports, unsigned int n)
{
	while (n > 0)
		(void)port_close(app, &app->port[new_ports[--n]]);
}

/* None of them, or all. */
static int
make_ports(struct app *app, const char *value, uint16_t new_ports[RTE_MAX_ETHPORTS], unsigned int *n)
{
	struct maker m = {.app = app, .new_ports = new_ports, .last = -1};
	int ret = each(value, ";", want_port, &m);

	if (ret == 0)
		ret = each(value, ";", make_port, &m);
	*n = m.n;
	if (ret == 0)
		return 0;
	settings_unmake_ports(app, new_ports, m.n);
	*n = 0;
	return ret;
}

static int
ports_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	  char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct maker m = {.app = app, .last = -1};
	uint16_t new_ports[RTE_MAX_ETHPORTS];
	unsigned int n;
	int ret = each(value, ";", want_port, &m);

	(void)at;
	if (app->fwd_runs)
		return setting_not_while_forwarding(err);
	for (uint16_t id = 0; ret == 0 && id < RTE_MAX_ETHPORTS; id++)
		if (ib_made(id) != NULL && !m.wanted[id])
			ret = port_close(app, &app->port[id]);
	return failed(row, value, ret != 0 ? ret : make_ports(app, value, new_ports, &n), err);
}

static void
unheard(void *arg, const char *text)
{
	(void)arg, (void)text;
}

/* What is wrong in the file is said by those who read it next. */
int
settings_make_ports(struct app *app, const char *path, uint16_t new_ports[RTE_MAX_ETHPORTS], unsigned int *n)
{
	struct tp_setting_list l = {0};
	int ret = 0;

	*n = 0;
	(void)tp_settings_read(app->settings->reg, path, false, &l, unheard, NULL);
	for (unsigned int i = 0; i < l.num; i++)
		if (strcmp(l.change[i].row->name, PORTS) == 0)
			ret = make_ports(app, l.change[i].value, new_ports, n);
	tp_setting_list_free(&l);
	return ret;
}

/* --- rows --------------------------------------------------------------------------------------------------------------- */

#define ROW(text, what, when_, judge_, names_, help_)                                                                  \
	{                                                                                                              \
		.name = text, .vendor = "", .unit = "", .def = NONE, .help = help_, .names = names_,                   \
		.scope = TP_SCOPE_PROGRAM, .type = TP_SETTING_TEXT, .when = when_, .get = what##_get,                  \
		.set = what##_set, .judge = judge_                                                                     \
	}

static const struct tp_setting rows[] = {
	ROW("ib-umad", lent, TP_WHEN_LIVE, judge_path, NONE " or a path with a / in it, of at most 107 characters",
	    "Socket at which the management of InfiniBand ports is lent to programs of libibumad"),
	ROW("share", shared, TP_WHEN_LIVE, judge_path, NONE " or a path with a / in it, of at most 107 characters",
	    "Socket at which ports are shared with programs of libibverbs and librdmacm"),
	ROW("ib-managers", managers, TP_WHEN_LIVE, judge_managers,
	    NONE " or CARD/PORT PRIORITY [P_KEY ...] of each, such as net_mlx4_model0/1 3 0x8005, with commas between",
	    "Subnet managers of the program: InfiniBand port, priority 0..15, partitions beside the default one"),
	ROW("ib-sa", times, TP_WHEN_LIVE, judge_times,
	    NONE " or CARD/PORT MS RETRIES of each, 250..60000 and 1..64, such as net_mlx4_model0/1 500 4",
	    "Times of subnet administration of InfiniBand ports; others have 1000 ms and 10 retries"),
	ROW(PORTS, ports, TP_WHEN_IDLE, judge_ports,
	    NONE " or NUMBER ipoib ... and NUMBER pair ... in the order of numbers, with semicolons between",
	    "IPoIB ports and pairs that were made at run time: the port's number, and the words that it was made with"),
};

int
settings_made_add(struct app *app)
{
	app->settings->made = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->made);
}
