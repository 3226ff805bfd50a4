/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The captures of all ports: start, stop, and what they have so far. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf_dyn.h>
#include <rte_telemetry.h>

#include "lib/roce/port/tel_uint.h"
#include "capture_priv.h"

#define MEMORY_MOST (UINT64_C(1) << 30) /* octets of a ring */
#define TAGS (2u * RTE_VLAN_HLEN)

RTE_LOG_REGISTER(cap_logtype, triplane.capture, NOTICE);

/* One that has ended is kept for what is in memory. */
static struct tp_capture *captures[RTE_MAX_ETHPORTS][TP_CAPTURE_KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
cap_stats(const struct tp_capture *c, struct tp_capture_stats *st)
{
	cap_hooks_sum(c, st);
	if (c->kind != TP_CAPTURE_FILE)
		return;
	st->packets = __atomic_load_n(&c->file.packets, __ATOMIC_RELAXED);
	st->octets = __atomic_load_n(&c->file.octets, __ATOMIC_RELAXED);
	st->lost += __atomic_load_n(&c->file.missing, __ATOMIC_RELAXED);
}

/* --- life -------------------------------------------------------------------------------------------------------------- */

/* Received packets carry the card's time if the port was told to; sent ones never do. */
static void
find_stamps(struct tp_capture *c)
{
	uint64_t now;
	int flag;

	c->stamp_flag = 0;
	c->stamp_off = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, NULL);
	flag = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, NULL);
	if (c->stamp_off >= 0 && flag >= 0 && rte_eth_read_clock(c->port, &now) == 0)
		c->stamp_flag = RTE_BIT64(flag);
}

static bool
stamps(uint16_t port)
{
	struct rte_eth_conf conf;

	return rte_eth_dev_conf_get(port, &conf) == 0 && (conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
}

/* Octets of a packet that are kept: of the port's frames now, or as many as are wanted. */
static uint32_t
octets_kept(const struct tp_capture_conf *conf, uint16_t port)
{
	uint32_t octets = conf->octets;
	uint16_t mtu = 0;

	(void)rte_eth_dev_get_mtu(port, &mtu);
	if (octets == 0)
		octets = RTE_MAX(mtu + RTE_ETHER_HDR_LEN + TAGS + RTE_ETHER_CRC_LEN, TP_CAPTURE_OCTETS_MIN);
	return conf->snap == 0 ? octets : RTE_MIN(octets, conf->snap);
}

static int
check_port(uint16_t port, const struct tp_capture_conf *conf, uint32_t *keep, char err[TP_CAPTURE_ERR])
{
	struct rte_eth_dev_info info;
	unsigned int most;

	if (!rte_eth_dev_is_valid_port(port) || rte_eth_dev_info_get(port, &info) != 0) {
		snprintf(err, TP_CAPTURE_ERR, "port %u: there is none", port);
		return -ENODEV;
	}
	most = RTE_MAX((conf->direction & TP_CAPTURE_IN) != 0 ? info.nb_rx_queues : 0,
		       (conf->direction & TP_CAPTURE_OUT) != 0 ? info.nb_tx_queues : 0);
	if (conf->queue != TP_CAPTURE_ALL && conf->queue >= most) {
		snprintf(err, TP_CAPTURE_ERR, "port %u: queue %u, it has %u", port, conf->queue, most);
		return -EINVAL;
	}
	*keep = octets_kept(conf, port);
	if ((uint64_t)*keep * conf->packets > MEMORY_MOST) {
		snprintf(err, TP_CAPTURE_ERR, "ring %u*%u, want at most 1 GiB", *keep, conf->packets);
		return -EINVAL;
	}
	return 0;
}

static void
capture_free(struct tp_capture *c)
{
	cap_ring_free(&c->ring);
	cap_filter_free(c->filter);
	free(c);
}

static int
begin_file(struct tp_capture *c, char err[TP_CAPTURE_ERR])
{
	int ret = cap_file_open(&c->file, c->conf.file, err);

	if (ret != 0)
		return ret;
	cap_file_head(&c->file, c->port, &c->conf, c->keep, c->stamp_flag != 0 && stamps(c->port));
	cap_file_flush(&c->file);
	ret = -c->file.error;
	if (ret == 0)
		ret = cap_writer_start(c);
	if (ret == 0)
		return 0;
	snprintf(err, TP_CAPTURE_ERR, "%.300s: %s", c->conf.file, strerror(-ret));
	cap_file_close(&c->file);
	return ret;
}

static void
end_file(struct tp_capture *c)
{
	cap_writer_stop(c);
	(void)cap_file_close(&c->file);
}

static int
begin(struct tp_capture *c, char err[TP_CAPTURE_ERR])
{
	int ret = cap_ring_init(&c->ring, c->keep, c->conf.packets, c->kind == TP_CAPTURE_MEMORY);

	if (ret != 0) {
		snprintf(err, TP_CAPTURE_ERR, "ring %u*%u: no memory", c->keep, c->conf.packets);
		return ret;
	}
	find_stamps(c);
	cap_clock_init(&c->clock, c->port, c->stamp_flag != 0);
	c->began = cap_clock_now(&c->clock);
	ret = c->kind == TP_CAPTURE_FILE ? begin_file(c, err) : 0;
	if (ret != 0)
		return ret;
	ret = cap_hook_all(c);
	if (ret == 0)
		return 0;
	snprintf(err, TP_CAPTURE_ERR, "port %u: its packets cannot be looked at: %s", c->port, strerror(-ret));
	cap_unhook_all(c);
	if (c->kind == TP_CAPTURE_FILE)
		end_file(c);
	return ret;
}

static int
start_locked(uint16_t port, enum tp_capture_kind kind, const struct tp_capture_conf *conf, char err[TP_CAPTURE_ERR])
{
	struct tp_capture *c, **at = &captures[port][kind];
	int ret;

	if (*at != NULL && (*at)->running) {
		snprintf(err, TP_CAPTURE_ERR, "port %u: a capture of this kind runs; stop it first", port);
		return -EBUSY;
	}
	c = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN(sizeof(*c), RTE_CACHE_LINE_SIZE));
	if (c == NULL) {
		snprintf(err, TP_CAPTURE_ERR, "port %u: no memory", port);
		return -ENOMEM;
	}
	memset(c, 0, sizeof(*c));
	c->port = port;
	c->kind = kind;
	c->conf = *conf;
	SLIST_INIT(&c->hooks);
	ret = check_port(port, conf, &c->keep, err);
	if (ret == 0)
		ret = cap_filter_make(conf->filter, &c->filter, err);
	if (ret == 0)
		ret = begin(c, err);
	if (ret != 0) {
		capture_free(c);
		return ret;
	}
	c->running = true;
	if (*at != NULL)
		capture_free(*at);
	*at = c;
	return 0;
}

int
tp_capture_start(uint16_t port, enum tp_capture_kind kind, const struct tp_capture_conf *conf, char err[TP_CAPTURE_ERR])
{
	int ret = cap_conf_check(kind, conf, err);

	if (ret == 0 && port >= RTE_MAX_ETHPORTS) {
		snprintf(err, TP_CAPTURE_ERR, "port %u: there is none", port);
		ret = -ENODEV;
	}
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&lock);
	ret = start_locked(port, kind, conf, err);
	pthread_mutex_unlock(&lock);
	return ret;
}

/* NULL: none. With the lock. */
static struct tp_capture *
find(uint16_t port, enum tp_capture_kind kind, bool running)
{
	struct tp_capture *c = port < RTE_MAX_ETHPORTS ? captures[port][kind] : NULL;

	return c != NULL && (c->running || !running) ? c : NULL;
}

static int
stop_locked(struct tp_capture *c, struct tp_capture_stats *st, char err[TP_CAPTURE_ERR])
{
	int error = 0;

	cap_unhook_all(c);
	c->running = false;
	if (c->kind == TP_CAPTURE_FILE) {
		cap_writer_stop(c);
		error = cap_file_close(&c->file);
	}
	cap_stats(c, st);
	if (error != 0)
		snprintf(err, TP_CAPTURE_ERR, "%.300s: %s; %" PRIu64 " packets are in it, %" PRIu64 " are not",
			 c->conf.file, strerror(error), st->packets, st->lost);
	if (c->kind == TP_CAPTURE_FILE) {
		captures[c->port][c->kind] = NULL;
		capture_free(c);
	}
	return -error;
}

int
tp_capture_stop(uint16_t port, enum tp_capture_kind kind, struct tp_capture_stats *stats, char err[TP_CAPTURE_ERR])
{
	struct tp_capture_stats st;
	struct tp_capture *c;
	int ret = -ENOENT;

	pthread_mutex_lock(&lock);
	c = find(port, kind, true);
	if (c != NULL)
		ret = stop_locked(c, &st, err);
	else
		snprintf(err, TP_CAPTURE_ERR, "port %u: no capture runs", port);
	pthread_mutex_unlock(&lock);
	if (c != NULL && stats != NULL)
		*stats = st;
	return ret;
}

int
tp_capture_info_get(uint16_t port, enum tp_capture_kind kind, struct tp_capture_info *info)
{
	const struct tp_capture *c;

	pthread_mutex_lock(&lock);
	c = find(port, kind, false);
	if (c != NULL) {
		info->running = c->running;
		info->card_time = c->stamp_flag != 0 && stamps(port);
		info->error = __atomic_load_n(&c->failed, __ATOMIC_ACQUIRE) ? c->file.error : 0;
		info->conf = c->conf;
		info->octets = c->keep;
		cap_stats(c, &info->stats);
	}
	pthread_mutex_unlock(&lock);
	return c != NULL ? 0 : -ENOENT;
}

int
tp_capture_collect(uint16_t port, const char *file, uint64_t *packets, char err[TP_CAPTURE_ERR])
{
	struct tp_capture *c;
	struct cap_file f;
	uint64_t n = 0;
	int ret = -ENOENT;

	pthread_mutex_lock(&lock);
	c = find(port, TP_CAPTURE_MEMORY, false);
	if (c != NULL)
		ret = cap_file_open(&f, file, err);
	else
		snprintf(err, TP_CAPTURE_ERR, "port %u: nothing was captured in memory", port);
	if (ret == 0) {
		if (c->running)
			cap_clock_tick(&c->clock);
		cap_file_head(&f, port, &c->conf, c->keep, c->stamp_flag != 0 && stamps(port));
		n = cap_write_memory(c, &f);
		ret = -cap_file_close(&f);
		if (ret != 0)
			snprintf(err, TP_CAPTURE_ERR, "%s: %s", file, strerror(-ret));
	}
	pthread_mutex_unlock(&lock);
	if (packets != NULL)
		*packets = n;
	return ret;
}

/* --- what becomes of ports ------------------------------------------------------------------------------------------- */

void
tp_capture_refresh(uint16_t port)
{
	unsigned int kind;
	int ret;

	pthread_mutex_lock(&lock);
	for (kind = 0; kind < TP_CAPTURE_KINDS; kind++) {
		struct tp_capture *c = find(port, kind, true);

		if (c == NULL)
			continue;
		find_stamps(c);
		ret = cap_hook_all(c);
		if (ret != 0)
			CAP_LOG(ERR, "port %u: its new queues cannot be looked at: %s\n", port, strerror(-ret));
	}
	pthread_mutex_unlock(&lock);
}

void
tp_capture_forget(uint16_t port)
{
	struct tp_capture_stats st;
	char err[TP_CAPTURE_ERR];
	unsigned int kind;

	pthread_mutex_lock(&lock);
	for (kind = 0; kind < TP_CAPTURE_KINDS; kind++) {
		struct tp_capture *c = find(port, kind, false);

		if (c == NULL)
			continue;
		if (c->running && stop_locked(c, &st, err) != 0)
			CAP_LOG(ERR, "port %u: %s\n", port, err);
		/* One to a file is gone with its stop. */
		c = captures[port][kind];
		captures[port][kind] = NULL;
		if (c != NULL)
			capture_free(c);
	}
	cap_hooks_free();
	pthread_mutex_unlock(&lock);
}

void
tp_capture_quiet(void)
{
	pthread_mutex_lock(&lock);
	cap_hooks_free();
	pthread_mutex_unlock(&lock);
}

/* --- telemetry ------------------------------------------------------------------------------------------------------- */

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	uint16_t port;

	(void)cmd, (void)params;
	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	pthread_mutex_lock(&lock);
	for (port = 0; port < RTE_MAX_ETHPORTS; port++)
		if (find(port, TP_CAPTURE_FILE, false) != NULL || find(port, TP_CAPTURE_MEMORY, false) != NULL)
			rte_tel_data_add_array_int(d, port);
	pthread_mutex_unlock(&lock);
	return 0;
}

static void
tell(struct rte_tel_data *d, const char *kind, const struct tp_capture_info *i)
{
	const struct {
		const char *name;
		uint64_t value;
	} count[] = {{"running", i->running},       {"seen", i->stats.seen},     {"filtered", i->stats.filtered},
		     {"packets", i->stats.packets}, {"octets", i->stats.octets}, {"lost", i->stats.lost},
		     {"error", (uint64_t)i->error}, {"card_time", i->card_time}};
	char key[64], text[RTE_TEL_MAX_STRING_LEN];
	unsigned int k;

	for (k = 0; k < RTE_DIM(count); k++) {
		snprintf(key, sizeof(key), "%s_%s", kind, count[k].name);
		tel_dict_uint(d, key, count[k].value);
	}
	if (i->conf.file[0] == '\0')
		return;
	snprintf(text, sizeof(text), "%.100s", i->conf.file);
	rte_tel_data_add_dict_string(d, "file", text);
}

static int
tell_port(const char *cmd, const char *params, struct rte_tel_data *d)
{
	static const char *const names[] = {[TP_CAPTURE_FILE] = "file", [TP_CAPTURE_MEMORY] = "memory"};
	struct tp_capture_info i;
	unsigned long port;
	unsigned int kind;
	char *end;

	(void)cmd;
	if (params == NULL || *params == '\0')
		return -EINVAL;
	port = strtoul(params, &end, 10);
	if (*end != '\0' || port >= RTE_MAX_ETHPORTS)
		return -EINVAL;
	rte_tel_data_start_dict(d);
	for (kind = 0; kind < TP_CAPTURE_KINDS; kind++)
		if (tp_capture_info_get((uint16_t)port, kind, &i) == 0)
			tell(d, names[kind], &i);
	return 0;
}

RTE_INIT(capture_telemetry)
{
	rte_telemetry_register_cmd("/triplane/capture/list", list, "Ports that have captures");
	rte_telemetry_register_cmd("/triplane/capture/info", tell_port, "Captures of a port. Parameter: port");
}
