/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* IPoIB ports and pairs that are made at run time, and the words that they were made with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_string_fns.h>

#include <tp_ipoib.h>

#include "ib.h"
#include "port.h"

static char *made[RTE_MAX_ETHPORTS];

static int
set_word(struct tp_ipoib_conf *conf, const char *name, const char *value)
{
	if (value == NULL)
		return app_err(-EINVAL, "%s without a value, want NAME VALUE", name);
	if (strcmp(name, "port") == 0)
		return app_err(-EINVAL, "port '%s': the port was named before", value);
	if (strcmp(name, "mode") != 0)
		return tp_ipoib_conf_set(conf, name, value) == 0
			       ? 0
			       : app_err(-EINVAL, "no IPoIB port: %s '%s' is refused", name, value);
	conf->connected = strcmp(value, "connected") == 0;
	return conf->connected || strcmp(value, "datagram") == 0
		       ? 0
		       : app_err(-EINVAL, "mode '%s', want datagram or connected", value);
}

/* The rest of a line of words. */
static int
set_words(struct tp_ipoib_conf *conf, char **save)
{
	char *name;
	int ret = 0;

	while (ret == 0 && (name = strtok_r(NULL, " ", save)) != NULL)
		ret = set_word(conf, name, strtok_r(NULL, " ", save));
	return ret;
}

static int
set_device(char device[TP_IPOIB_NAME], const char *word)
{
	if (word == NULL)
		return app_err(-EINVAL, "no InfiniBand port, want CARD/1 or CARD/2");
	return rte_strlcpy(device, word, TP_IPOIB_NAME) < TP_IPOIB_NAME
		       ? 0
		       : app_err(-EINVAL, "device '%s' is longer than %u characters", word, TP_IPOIB_NAME - 1);
}

static int
make_port(char **save, uint16_t *id)
{
	struct tp_ipoib_conf conf = {0};
	int ret = set_device(conf.device, strtok_r(NULL, " ", save));

	if (ret == 0)
		ret = set_words(&conf, save);
	if (ret != 0)
		return ret;
	ret = tp_ipoib_add(&conf, id);
	return ret == 0 ? 0 : app_err(ret, "no IPoIB port on %s: %s", conf.device, strerror(-ret));
}

static int
set_failback(struct tp_ipoib_pair_conf *conf, const char *failback, const char *ms)
{
	unsigned long v;
	char *end;

	if (failback == NULL || (strcmp(failback, "on") != 0 && strcmp(failback, "off") != 0))
		return app_err(-EINVAL, "failback '%s', want on or off", failback != NULL ? failback : "");
	conf->failback = strcmp(failback, "on") == 0;
	v = ms != NULL ? strtoul(ms, &end, 10) : TP_IPOIB_FAILBACK_MS_MAX + 1ul;
	if (v > TP_IPOIB_FAILBACK_MS_MAX || end == ms || *end != '\0')
		return app_err(-EINVAL, "failback after '%s' ms, want 0..%u", ms != NULL ? ms : "",
			       TP_IPOIB_FAILBACK_MS_MAX);
	conf->failback_ms = (uint32_t)v;
	return 0;
}

static int
make_pair(char **save, uint16_t *id)
{
	struct tp_ipoib_pair_conf conf = {0};
	const char *failback;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < TP_IPOIB_PAIR_MEMBERS && ret == 0; i++)
		ret = set_device(conf.device[i], strtok_r(NULL, " ", save));
	if (ret == 0) {
		failback = strtok_r(NULL, " ", save);
		ret = set_failback(&conf, failback, strtok_r(NULL, " ", save));
	}
	if (ret == 0)
		ret = set_words(&conf.port, save);
	if (ret != 0)
		return ret;
	ret = tp_ipoib_pair_add(&conf, id);
	return ret == 0 ? 0 : app_err(ret, "no pair of %s and %s: %s", conf.device[0], conf.device[1], strerror(-ret));
}

int
ib_make(struct app *app, const char *text, uint16_t *id)
{
	char *copy = strdup(text), *keep = strdup(text), *save = NULL;
	const char *kind;
	int ret = -ENOMEM;

	if (copy == NULL || keep == NULL) {
		app_err(ret, "no memory to make a port");
		goto out;
	}
	kind = strtok_r(copy, " ", &save);
	if (kind != NULL && strcmp(kind, "ipoib") == 0)
		ret = make_port(&save, id);
	else if (kind != NULL && strcmp(kind, "pair") == 0)
		ret = make_pair(&save, id);
	else
		ret = app_err(-EINVAL, "'%s', want ipoib or pair first", text);
	if (ret != 0)
		goto out;
	port_add(app, *id);
	ports_topology(app, app->opt.topology);
	ib_made_forget(*id);
	made[*id] = keep;
	keep = NULL;
out:
	free(copy);
	free(keep);
	return ret;
}

const char *
ib_made(uint16_t id)
{
	return made[id];
}

void
ib_made_forget(uint16_t id)
{
	free(made[id]);
	made[id] = NULL;
}
