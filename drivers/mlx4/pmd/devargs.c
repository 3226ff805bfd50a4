/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Device arguments: parsing, and those that every bus has. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_kvargs.h>

#include "devargs.h"
#include "drivers/mlx4/health/health.h"
#include "drivers/mlx4/hca/port/type.h"
#include "drivers/mlx4/tx/queue.h"

#define SENSOR_BITS "bits of 0xf0058"

int
mlx4_arg_refuse(const char *dev, const char *key, const char *value, const char *wanted)
{
	MLX4_LOG(ERR, "%s: %s=%s: wanted %s", dev, key, value, wanted);
	return -EINVAL;
}

int
mlx4_arg_number(const char *dev, const char *key, const char *value, uint64_t min, uint64_t max, uint64_t *out)
{
	char wanted[64], *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(value, &end, 0);
	if (errno != 0 || !isdigit((unsigned char)value[0]) || *end != '\0' || v < min || v > max) {
		snprintf(wanted, sizeof(wanted), "a number, %" PRIu64 "..%" PRIu64, min, max);
		return mlx4_arg_refuse(dev, key, value, wanted);
	}
	*out = v;
	return 0;
}

const char mlx4_quirk_values[] = "ID:VARIANT, several are joined by ',' or '/'";

static bool
is_list(const char *key)
{
	return strcmp(key, "quirks") == 0 || strcmp(key, "model-quirks") == 0;
}

bool
mlx4_arg_continues(const struct rte_kvargs *kv, unsigned int i)
{
	while (i > 0 && kv->pairs[i].value == NULL)
		i--;
	return kv->pairs[i].value != NULL && is_list(kv->pairs[i].key);
}

int
mlx4_arg_list(const struct rte_kvargs *kv, unsigned int i, char list[MLX4_ARG_LIST])
{
	size_t len = (size_t)snprintf(list, MLX4_ARG_LIST, "%s", kv->pairs[i].value);

	while (++i < kv->count && kv->pairs[i].value == NULL && len < MLX4_ARG_LIST)
		len += (size_t)snprintf(list + len, MLX4_ARG_LIST - len, ",%s", kv->pairs[i].key);
	return len < MLX4_ARG_LIST ? 0 : -ENOSPC;
}

static const struct mlx4_arg *
find(const struct mlx4_arg_table *tables, unsigned int n, const char *key, void **obj)
{
	unsigned int t, i;

	for (t = 0; t < n; t++)
		for (i = 0; i < tables[t].num; i++)
			if (strcmp(tables[t].args[i].key, key) == 0) {
				*obj = (uint8_t *)tables[t].obj + tables[t].args[i].off;
				return &tables[t].args[i];
			}
	return NULL;
}

static int
refuse_key(const char *dev, const struct mlx4_arg_table *tables, unsigned int n, const char *key)
{
	char known[1024] = "";
	size_t len = 0;
	unsigned int t, i;

	for (t = 0; t < n; t++)
		for (i = 0; i < tables[t].num && len < sizeof(known) - 1; i++)
			len += snprintf(known + len, sizeof(known) - len, " %s", tables[t].args[i].key);
	MLX4_LOG(ERR, "%s: unknown device argument '%s'; known:%s", dev, key, known);
	return -EINVAL;
}

int
mlx4_devargs_parse(const char *dev, const char *text, const struct mlx4_arg_table *tables, unsigned int n)
{
	struct rte_kvargs *kv;
	unsigned int i;
	int rc = 0;

	if (text == NULL || text[0] == '\0')
		return 0;
	kv = rte_kvargs_parse(text, NULL);
	if (kv == NULL) {
		MLX4_LOG(ERR, "%s: device arguments '%s': wanted key=value pairs, separated by commas", dev, text);
		return -EINVAL;
	}
	for (i = 0; rc == 0 && i < kv->count; i++) {
		const char *key = kv->pairs[i].key, *value = kv->pairs[i].value;
		char list[MLX4_ARG_LIST];
		const struct mlx4_arg *a;
		void *obj;

		/* What follows a comma of a list has no key. */
		if (value == NULL && mlx4_arg_continues(kv, i))
			continue;
		a = find(tables, n, key, &obj);
		if (a == NULL)
			rc = refuse_key(dev, tables, n, key);
		else if (rte_kvargs_count(kv, key) > 1)
			rc = mlx4_arg_refuse(dev, key, value == NULL ? "" : value, "the key once");
		else if (value == NULL || value[0] == '\0')
			rc = mlx4_arg_refuse(dev, key, "", "a value");
		else if (is_list(key) && mlx4_arg_list(kv, i, list) < 0)
			rc = mlx4_arg_refuse(dev, key, value, "a shorter list");
		else
			rc = a->parse(dev, key, is_list(key) ? list : value, obj);
	}
	rte_kvargs_free(kv);
	return rc;
}

static int
parse_bool(const char *dev, const char *key, const char *value, void *arg)
{
	bool *b = arg;

	if ((value[0] != '0' && value[0] != '1') || value[1] != '\0')
		return mlx4_arg_refuse(dev, key, value, "0 or 1");
	*b = value[0] == '1';
	return 0;
}

static int
parse_inline(const char *dev, const char *key, const char *value, void *arg)
{
	uint16_t *len = arg;
	uint64_t v;
	int rc;

	rc = mlx4_arg_number(dev, key, value, 0, MLX4_TX_INLINE_MAX, &v);
	if (rc == 0)
		*len = v;
	return rc;
}

/* Who comes first when a port has both: RSS over all queues without a group, or groups, with one queue for the rest. */
static int
parse_preference(const char *dev, const char *key, const char *value, void *arg)
{
	bool *vmq = arg;

	*vmq = strcmp(value, "vmq") == 0;
	return *vmq || strcmp(value, "rss") == 0 ? 0 : mlx4_arg_refuse(dev, key, value, "rss or vmq");
}

/* Keys end in the number of the port, from 0. */
static int
parse_port_type(const char *dev, const char *key, const char *value, void *arg)
{
	uint8_t *want = arg;

	for (*want = 0; *want < MLX4_PORT_WANTS; (*want)++)
		if (strcmp(value, mlx4_port_want_names[*want]) == 0)
			return 0;
	return mlx4_arg_refuse(dev, key, value, "eth, ib or auto");
}

static int
parse_period(const char *dev, const char *key, const char *value, void *arg)
{
	uint64_t v;
	int rc = mlx4_arg_number(dev, key, value, 0, MLX4_HEALTH_PERIOD_MAX, &v);

	if (rc == 0)
		*(uint32_t *)arg = (uint32_t)v;
	return rc;
}

static int
parse_checks(const char *dev, const char *key, const char *value, void *arg)
{
	uint64_t v;
	int rc = mlx4_arg_number(dev, key, value, 1, MLX4_HEALTH_CHECKS_MAX, &v);

	if (rc == 0)
		*(uint32_t *)arg = (uint32_t)v;
	return rc;
}

static int
parse_sensors(const char *dev, const char *key, const char *value, void *arg)
{
	uint64_t v;
	int rc = mlx4_arg_number(dev, key, value, 0, UINT32_MAX, &v);

	if (rc == 0 && (v & ~(uint64_t)RTE_PMD_MLX4_SENSOR_ALL) != 0)
		return mlx4_arg_refuse(dev, key, value, SENSOR_BITS);
	if (rc == 0)
		*(uint32_t *)arg = (uint32_t)v;
	return rc;
}

static int
parse_path(const char *dev, const char *key, const char *value, void *arg)
{
	if (value[0] != '/' || strlen(value) >= RTE_PMD_MLX4_PATH)
		return mlx4_arg_refuse(dev, key, value, "a path that begins with /, of up to 255 octets");
	snprintf(arg, RTE_PMD_MLX4_PATH, "%s", value);
	return 0;
}

static int
parse_quirks(const char *dev, const char *key, const char *value, void *arg)
{
	char err[MLX4_QUIRK_ERR];
	int rc = mlx4_quirks_parse(arg, value, err);

	if (rc != 0)
		MLX4_LOG(ERR, "%s: %s=%s: %s", dev, key, value, err);
	return rc;
}

static int
parse_quirks_file(const char *dev, const char *key, const char *value, void *arg)
{
	char err[MLX4_QUIRK_ERR];
	int rc = mlx4_quirks_load(arg, value, err);

	if (rc != 0)
		MLX4_LOG(ERR, "%s: %s=%s: %s", dev, key, value, err);
	return rc;
}

#define ARG(key, parse, field, values, unit, def, help)                                                                \
	{                                                                                                              \
		key, parse, offsetof(struct mlx4_eth_args, field), values, unit, def, help                             \
	}

const struct mlx4_arg mlx4_eth_arg_table[] = {
	ARG("check-fw-version", parse_bool, check_fw, "0 or 1", "", "1", "Refuses firmware below 2.30.8000"),
	ARG("port-type0", parse_port_type, port_type[0], "eth, ib or auto", "", "auto",
	    "What the first port is; auto: what the wire says at start, else what the card has stored"),
	ARG("port-type1", parse_port_type, port_type[1], "eth, ib or auto", "", "auto", "What the second port is"),
	ARG("bf", parse_bool, bf, "0 or 1", "", "0", "BlueFlame: a single small WQE goes with its doorbell"),
	ARG("tx-inline", parse_inline, tx_inline, "0..104", "octets", "0", "Frames up to so many go into the WQE"),
	ARG("rss-udp", parse_bool, rss_udp, "0 or 1", "", "1", "Hashes UDP ports"),
	ARG("rss-raw-ip", parse_bool, rss_raw_ip, "0 or 1", "", "1", "Hashes addresses of other IP packets"),
	ARG("rss-or-vmq", parse_preference, vmq, "rss or vmq", "", "rss",
	    "What no group takes: over all queues without a group, or to one of them"),
	ARG("mac-loopback", parse_bool, mac_loopback, "0 or 1", "", "0",
	    "Lets the card loop frames to its own addresses back"),
	ARG("health-time", parse_period, health.period_s, "0..3600", "s", "4",
	    "Time between two looks at the health of ports; 0: none"),
	ARG("health-checks", parse_checks, health.checks, "1..1000", "looks", "4",
	    "Looks without progress that make an alarm; twice that for completions of sends"),
	ARG("health-restart", parse_sensors, health.restart_mask, SENSOR_BITS, "", "0xf0058",
	    "Sensors whose alarm restarts the port"),
	ARG("health-dump", parse_sensors, health.dump_mask, SENSOR_BITS, "", "0", "Sensors whose alarm writes a dump"),
	ARG("dump-path", parse_path, health.dump_path, "a path that begins with /", "", "/var/tmp/triplane-dumps",
	    "The folder of dumps"),
	ARG("quirks", parse_quirks, quirks, mlx4_quirk_values, "", "",
	    "What the card does otherwise than is assumed where sources are unsure; see 'show quirks'"),
	ARG("quirks-file", parse_quirks_file, quirks, "a path", "", "",
	    "A file of the same, one a line; quirks= goes before it"),
	ARG("trace", parse_path, trace, "a path that begins with /", "", "",
	    "A file that takes all that is done to the card: commands, registers, the first entries of queues"),
};
const unsigned int mlx4_num_eth_args = RTE_DIM(mlx4_eth_arg_table);

void
mlx4_eth_args_default(struct mlx4_eth_args *a)
{
	memset(a, 0, sizeof(*a));
	a->check_fw = true;
	a->rss_udp = true;
	a->rss_raw_ip = true;
	mlx4_health_default(&a->health);
	mlx4_quirks_default(&a->quirks);
}
