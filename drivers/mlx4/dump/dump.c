/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is in a dump, in the order of its sections. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_devargs.h>
#include <rte_errno.h>

#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/hca/history.h"
#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/steer/spread.h"
#include "dump.h"

#define FORMAT 1u /* of the JSON, one more with each change that programs would stumble over */
#define REGS_MAX 256u

struct request {
	const char *source, *reason;
	uint64_t at_us;
};

/* Dumps of this process are written one by one. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static uint64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void
dump_head(struct mlx4_eth *eth, const struct request *r, struct mlx4_dump_out *o)
{
	const struct mlx4_hca *hca = eth->hca;
	const struct rte_eth_dev_data *data = eth->dev->data;
	char text[64], quirks[MLX4_QUIRK_TEXT];

	mlx4_dump_u64(o, "format", FORMAT);
	mlx4_dump_time(o, "time", r->at_us);
	mlx4_dump_str(o, "source", r->source);
	mlx4_dump_str(o, "reason", r->reason);
	mlx4_dump_str(o, "device", hca->bus->where);
	mlx4_dump_str(o, "bus", hca->bus->ops->name);
	mlx4_dump_hex(o, "device_id", hca->bus->device_id);
	snprintf(text, sizeof(text), "%u.%u.%u", hca->caps.fw_major, hca->caps.fw_minor, hca->caps.fw_subminor);
	mlx4_dump_str(o, "firmware", text);
	mlx4_dump_str(o, "board", hca->caps.board_id);
	mlx4_quirks_text(&hca->quirks, ',', quirks);
	mlx4_dump_str(o, "quirks", quirks);
	mlx4_dump_u64(o, "port", data->port_id);
	mlx4_dump_u64(o, "card_port", eth->port);
	mlx4_dump_bool(o, "card_given_up", hca->dead);
	mlx4_dump_bool(o, "started", data->dev_started);
	mlx4_dump_bool(o, "link_up", data->dev_link.link_status == RTE_ETH_LINK_UP);
	mlx4_dump_u64(o, "speed_mbps", data->dev_link.link_speed);
}

static void
dump_registers(struct mlx4_eth *eth, struct mlx4_dump_out *o)
{
	uint32_t words[REGS_MAX], i;
	struct rte_dev_reg_info regs = {.data = words, .length = REGS_MAX};
	char key[32];

	mlx4_dump_object(o, "registers");
	if (eth->dev->dev_ops->get_reg(eth->dev, &regs) == 0)
		for (i = 0; i < regs.length; i++) {
			const bool hcr = i < MLX4_HCR_SIZE / 4;

			snprintf(key, sizeof(key), "%s_%02x", hcr ? "hcr" : "error_buffer",
				 4 * (hcr ? i : i - MLX4_HCR_SIZE / 4));
			mlx4_dump_hex(o, key, words[i]);
		}
	mlx4_dump_end(o);
}

static void
dump_command(const struct mlx4_cmd_record *r, struct mlx4_dump_out *o)
{
	const struct mlx4_cmd_desc *desc = mlx4_cmd_describe(r->opcode);

	mlx4_dump_item(o, "number", r->number);
	mlx4_dump_time(o, "time", r->at_us);
	mlx4_dump_str(o, "command", desc != NULL ? desc->name : "unknown");
	mlx4_dump_hex(o, "opcode", r->opcode);
	mlx4_dump_u64(o, "op_modifier", r->op_modifier);
	mlx4_dump_hex(o, "in_modifier", r->in_modifier);
	mlx4_dump_hex(o, "status", r->status);
	mlx4_dump_str(o, "answer",
		      r->rc == 0       ? "done"
		      : r->status != 0 ? mlx4_cmd_status_text(r->status)
				       : "none in time, or the card was given up");
	mlx4_dump_int(o, "rc", r->rc);
	mlx4_dump_u64(o, "took_us", r->took_ns / 1000);
	if (r->in_imm != 0)
		mlx4_dump_hex(o, "in", r->in_imm);
	if (r->out_imm != 0)
		mlx4_dump_hex(o, "out", r->out_imm);
	if (r->in_len != 0)
		mlx4_dump_bytes(o, "in_mailbox", r->in, r->in_len);
	if (r->out_len != 0)
		mlx4_dump_bytes(o, "out_mailbox", r->out, r->out_len);
	mlx4_dump_end(o);
}

static void
dump_commands(const struct mlx4_cmd_record *record, unsigned int n, struct mlx4_dump_out *o)
{
	unsigned int i;

	mlx4_dump_array(o, "commands");
	for (i = 0; i < n; i++)
		dump_command(&record[i], o);
	mlx4_dump_end(o);
}

/* --- steering and objects ---------------------------------------------------------------------------------- */

static void
dump_mac(struct mlx4_dump_out *o, const struct rte_ether_addr *mac)
{
	char text[RTE_ETHER_ADDR_FMT_SIZE];

	rte_ether_format_addr(text, sizeof(text), mac);
	mlx4_dump_str(o, NULL, text);
}

static void
dump_rule(struct mlx4_dump_out *o, const char *key, uint64_t rule)
{
	if (rule != MLX4_NO_RULE)
		mlx4_dump_hex(o, key, rule);
}

static void
dump_steering(const struct mlx4_eth *eth, struct mlx4_dump_out *o)
{
	const struct rte_eth_dev_data *data = eth->dev->data;
	uint32_t i;

	mlx4_dump_object(o, "steering");
	mlx4_dump_hex(o, "target_qp", eth->target_qpn);
	mlx4_dump_bool(o, "promiscuous", eth->promisc);
	mlx4_dump_bool(o, "all_multicast", eth->allmulti);
	mlx4_dump_bool(o, "multicast_overflow", eth->mc_overflow);
	dump_rule(o, "promiscuous_rule", eth->rule_promisc);
	dump_rule(o, "all_multicast_rule", eth->rule_allmulti);
	dump_rule(o, "broadcast_rule", eth->rule_bcast);
	mlx4_dump_array(o, "addresses");
	for (i = 0; i < MLX4_ETH_MAX_UC_MACS; i++)
		if (!rte_is_zero_ether_addr(&data->mac_addrs[i]))
			dump_mac(o, &data->mac_addrs[i]);
	mlx4_dump_end(o);
	mlx4_dump_array(o, "multicast");
	for (i = 0; i < eth->num_mc; i++)
		dump_mac(o, &eth->mc[i]);
	mlx4_dump_end(o);
	mlx4_dump_array(o, "vlans");
	for (i = 0; i < 4096; i++)
		if ((eth->vlan_filter[i / 32] >> (i % 32) & 1) != 0)
			mlx4_dump_u64(o, NULL, i);
	mlx4_dump_end(o);
	if (eth->rss != NULL) {
		mlx4_dump_object(o, "rss");
		mlx4_dump_u64(o, "rings", eth->rss->conf.table);
		mlx4_dump_hex(o, "base_qp", eth->rss->base_qpn);
		mlx4_dump_bool(o, "parent", eth->rss->has_parent);
		mlx4_dump_hex(o, "types", eth->rss->conf.flags);
		mlx4_dump_array(o, "queue_of_ring");
		for (i = 0; i < eth->rss->conf.table; i++)
			mlx4_dump_u64(o, NULL, eth->rss->conf.queue[i]);
		mlx4_dump_end(o);
		mlx4_dump_end(o);
	}
	mlx4_dump_end(o);
}

static void
dump_objects(struct mlx4_hca *hca, struct mlx4_dump_out *o)
{
	struct mlx4_limits used, most;
	uint64_t commands;
	uint32_t eqs;

	mlx4_hca_usage(hca, &used, &eqs, &commands);
	mlx4_hca_limits(hca, &most);
	mlx4_dump_object(o, "objects");
#define USED(field)                                                                                                    \
	mlx4_dump_u64(o, #field, used.field);                                                                          \
	mlx4_dump_u64(o, "max_" #field, most.field)
	USED(qps);
	USED(cqs);
	USED(srqs);
	USED(keys);
	USED(pds);
	USED(mtts);
#undef USED
	mlx4_dump_u64(o, "eqs", eqs);
	mlx4_dump_u64(o, "commands", commands);
	mlx4_dump_u64(o, "queue_pair_errors", hca->qp_errors);
	mlx4_dump_u64(o, "lost_events", hca->lost_events);
	mlx4_dump_u64(o, "command_timeouts", hca->cmd_timeouts);
	mlx4_dump_end(o);
}

/* --- counters, settings, log ------------------------------------------------------------------------------- */

static int
dump_counters(struct rte_eth_dev *dev, struct mlx4_dump_out *o)
{
	int n = dev->dev_ops->xstats_get_names(dev, NULL, 0), i;
	struct rte_eth_xstat_name *names = calloc((size_t)n, sizeof(*names));
	struct rte_eth_xstat *values = calloc((size_t)n, sizeof(*values));

	if (names == NULL || values == NULL) {
		free(names);
		free(values);
		return -ENOMEM;
	}
	mlx4_dump_object(o, "counters");
	if (!mlx4_eth_of(dev)->hca->dead && dev->dev_ops->xstats_get_names(dev, names, (unsigned int)n) == n &&
	    dev->dev_ops->xstats_get(dev, values, (unsigned int)n) == n)
		for (i = 0; i < n; i++)
			mlx4_dump_u64(o, names[i].name, values[i].value);
	mlx4_dump_end(o);
	free(names);
	free(values);
	return 0;
}

static int
dump_settings(const struct mlx4_eth *eth, struct mlx4_dump_out *o)
{
	const struct rte_eth_dev_data *data = eth->dev->data;
	const struct rte_devargs *given = eth->dev->device->devargs;
	char *words = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&words, &len);

	if (f == NULL)
		return -ENOMEM;
	tp_qos_port_print(&eth->qos->conf, true, f);
	if (fclose(f) != 0) {
		free(words);
		return -ENOMEM;
	}
	mlx4_dump_object(o, "settings");
	mlx4_dump_str(o, "arguments", given != NULL && given->args != NULL ? given->args : "");
	mlx4_dump_u64(o, "mtu", eth->mtu);
	mlx4_dump_u64(o, "rx_queues", data->nb_rx_queues);
	mlx4_dump_u64(o, "tx_queues", data->nb_tx_queues);
	mlx4_dump_hex(o, "rx_offloads", data->dev_conf.rxmode.offloads);
	mlx4_dump_hex(o, "tx_offloads", data->dev_conf.txmode.offloads);
	mlx4_dump_hex(o, "rss_types", eth->rss_hf);
	mlx4_dump_bool(o, "ignore_fcs", eth->ignore_fcs);
	mlx4_dump_bool(o, "tunnels", eth->tunnels);
	mlx4_dump_lines(o, "declaration", words);
	mlx4_dump_end(o);
	free(words);
	return 0;
}

static int
dump_log(struct mlx4_dump_out *o)
{
	struct mlx4_log_line *line = calloc(MLX4_LOG_KEPT, sizeof(*line));
	unsigned int i, n;

	if (line == NULL)
		return -ENOMEM;
	n = mlx4_log_get(line);
	mlx4_dump_array(o, "log");
	for (i = 0; i < n; i++) {
		mlx4_dump_object(o, NULL);
		mlx4_dump_time(o, "time", line[i].at_us);
		mlx4_dump_u64(o, "level", line[i].level);
		mlx4_dump_str(o, "line", line[i].text);
		mlx4_dump_end(o);
	}
	mlx4_dump_end(o);
	free(line);
	return 0;
}

/* --- the whole --------------------------------------------------------------------------------------------- */

/* The commands of before, since this gives many of its own. */
static int
dump_all(struct mlx4_eth *eth, const struct request *r, struct mlx4_dump_out *o)
{
	struct mlx4_cmd_record *record = calloc(MLX4_HISTORY, sizeof(*record));
	unsigned int n;
	int rc;

	if (record == NULL)
		return -ENOMEM;
	n = mlx4_history_get(eth->hca->history, record);
	mlx4_dump_begin(o);
	dump_head(eth, r, o);
	dump_registers(eth, o);
	mlx4_dump_eqs(eth->hca, o);
	mlx4_dump_queues(eth, o);
	dump_steering(eth, o);
	dump_objects(eth->hca, o);
	dump_commands(record, n, o);
	free(record);
	rc = mlx4_dump_rules(eth, o);
	if (rc == 0)
		rc = dump_counters(eth->dev, o);
	if (rc == 0)
		rc = dump_settings(eth, o);
	if (rc == 0)
		rc = dump_log(o);
	mlx4_dump_u64(o, "differences", o->differences);
	mlx4_dump_done(o);
	return rc;
}

/* What was not written shows when a file is closed. */
static int
finish(FILE *f, int rc)
{
	const bool bad = ferror(f) != 0;
	int err = bad ? EIO : 0;

	if (fflush(f) != 0)
		err = errno;
	if (fclose(f) != 0 && err == 0)
		err = errno;
	return rc != 0 ? rc : -err;
}

static int
write_files(struct mlx4_eth *eth, struct mlx4_dump_folder *f, const struct request *r, char err[TP_ERR_LEN])
{
	struct mlx4_dump_out o = {0};
	int rc;

	o.text = mlx4_dump_folder_file(f, "dump.txt", err);
	if (o.text == NULL)
		return -EIO;
	o.json = mlx4_dump_folder_file(f, "dump.json", err);
	if (o.json == NULL) {
		fclose(o.text);
		return -EIO;
	}
	errno = 0;
	rc = dump_all(eth, r, &o);
	rc = finish(o.text, rc);
	rc = finish(o.json, rc);
	if (rc != 0)
		snprintf(err, TP_ERR_LEN, "cannot write a dump to %.80s: %.40s", f->base, rte_strerror(-rc));
	return rc;
}

int
mlx4_dump(struct mlx4_eth *eth, const char *base, const char *source, const char *reason,
	  char path[RTE_PMD_MLX4_DUMP_PATH], char err[TP_ERR_LEN])
{
	struct request r = {source, reason, now_us()};
	time_t s = (time_t)(r.at_us / 1000000);
	char device[128], day[32], time_text[64];
	struct mlx4_dump_folder f;
	struct tm tm;
	int rc;

	gmtime_r(&s, &tm);
	strftime(day, sizeof(day), "%Y%m%dT%H%M%S", &tm);
	snprintf(time_text, sizeof(time_text), "%s.%06uZ", day, (unsigned int)(r.at_us % 1000000));
	snprintf(device, sizeof(device), "%.100s_p%u", eth->hca->bus->where, eth->port - 1);
	pthread_mutex_lock(&writing);
	rc = mlx4_dump_folder_begin(&f, base, device, source, reason, time_text, err);
	if (rc == 0) {
		rc = write_files(eth, &f, &r, err);
		rc = mlx4_dump_folder_end(&f, rc, err);
	}
	pthread_mutex_unlock(&writing);
	if (rc == 0)
		snprintf(path, RTE_PMD_MLX4_DUMP_PATH, "%s/%s", f.base, f.name);
	return rc;
}
