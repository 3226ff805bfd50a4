/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life of an interface, and what others may know of it. */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_malloc.h>
#include <rte_telemetry.h>

#include "lib/roce/port/tel_uint.h"
#include "lib/txq/pool.h"
#include "kernel_priv.h"

RTE_LOG_REGISTER(tpk_logtype, triplane.kernel, NOTICE);

static TAILQ_HEAD(, tp_kernel) all = TAILQ_HEAD_INITIALIZER(all);
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

int
tp_kernel_name_check(const char *name)
{
	const size_t len = strlen(name);
	size_t i;

	if (len == 0 || len >= TP_KERNEL_NAME || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EINVAL;
	for (i = 0; i < len; i++)
		if (strchr("/:%", name[i]) != NULL || isspace((unsigned char)name[i]) ||
		    iscntrl((unsigned char)name[i]))
			return -EINVAL;
	return 0;
}

/* --- life --- */

static int
link_event(uint16_t port, enum rte_eth_event_type type, void *arg, void *out)
{
	struct tp_kernel *k = arg;

	(void)port, (void)type, (void)out;
	__atomic_store_n(&k->look_now, true, __ATOMIC_RELAXED);
	tpk_wake(k);
	return 0;
}

static struct txq_pools pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

static struct rte_mempool *
pool_create(const char *name, int socket)
{
	struct rte_mempool *mp;

	pthread_mutex_lock(&pools_lock);
	mp = txq_pool_create(&pools, name, TPK_MBUFS, 0, TPK_ROOM + RTE_PKTMBUF_HEADROOM, socket);
	pthread_mutex_unlock(&pools_lock);
	return mp;
}

static void
pool_free(struct rte_mempool *mp)
{
	pthread_mutex_lock(&pools_lock);
	txq_pool_free(&pools, mp);
	pthread_mutex_unlock(&pools_lock);
}

static void
release(struct tp_kernel *k)
{
	tpk_link_close(k);
	if (k->tap >= 0)
		close(k->tap);
	if (k->wake >= 0)
		close(k->wake);
	rte_pktmbuf_free_bulk(k->spare, k->num_spare);
	rte_ring_free(k->ring);
	pool_free(k->pool);
	pthread_cond_destroy(&k->answered);
	pthread_mutex_destroy(&k->lock);
	rte_free(k);
}

static int
make_memory(struct tp_kernel *k)
{
	const int socket = rte_eth_dev_socket_id(k->port);
	char name[RTE_RING_NAMESIZE];

	k->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->wake < 0)
		return -errno;
	snprintf(name, sizeof(name), "kernel_%u_%d", k->port, k->wake);
	k->ring = rte_ring_create(name, TPK_RING, socket, RING_F_SC_DEQ);
	if (k->ring == NULL)
		return -ENOMEM;
	k->pool = pool_create(name, socket);
	return k->pool == NULL ? -ENOMEM : 0;
}

/* The interface as the port is now. */
static int
make_interface(struct tp_kernel *k, const char *name)
{
	struct tpk_link l;
	int ret = tpk_tap_open(name, &k->tap);

	if (ret != 0)
		return ret;
	(void)tpk_tap_carrier(k->tap, false);
	ret = tpk_link_open(k);
	if (ret == 0)
		ret = tpk_link_get(k, &l);
	if (ret != 0)
		return ret;
	k->mtu = (uint16_t)l.mtu;
	tpk_follow(k);
	return k->port_mtu == 0 ? -ENODEV : 0;
}

/* On any CPU: the thread that calls may be bound to that of an lcore. */
static int
make_thread(struct tp_kernel *k)
{
	pthread_attr_t attr;
	cpu_set_t cpus;
	int cpu, err = pthread_attr_init(&attr);

	if (err != 0)
		return -err;
	CPU_ZERO(&cpus);
	for (cpu = 0; cpu < CPU_SETSIZE && cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		CPU_SET(cpu, &cpus);
	err = pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	if (err == 0)
		err = pthread_create(&k->thread, &attr, tpk_run, k);
	pthread_attr_destroy(&attr);
	if (err == 0)
		(void)pthread_setname_np(k->thread, "tp-kernel");
	return -err;
}

int
tp_kernel_open(uint16_t port, const struct tp_kernel_conf *conf, struct tp_kernel **out)
{
	char name[TP_KERNEL_NAME];
	struct tp_kernel *k;
	int ret;

	if (!rte_eth_dev_is_valid_port(port))
		return -ENODEV;
	if (conf != NULL && conf->name != NULL) {
		if (tp_kernel_name_check(conf->name) != 0)
			return -EINVAL;
		snprintf(name, sizeof(name), "%s", conf->name);
	} else {
		snprintf(name, sizeof(name), "tp%u", port);
	}
	k = rte_zmalloc("kernel", sizeof(*k), RTE_CACHE_LINE_SIZE);
	if (k == NULL)
		return -ENOMEM;
	k->port = port;
	k->ops = conf != NULL ? conf->ops : NULL;
	k->ops_arg = conf != NULL ? conf->arg : NULL;
	k->tap = k->news = k->ask = -1;
	k->how = TPK_DOWN;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->answered, NULL);
	ret = make_memory(k);
	if (ret == 0)
		ret = make_interface(k, name);
	if (ret == 0)
		ret = make_thread(k);
	if (ret != 0) {
		release(k);
		return ret;
	}
	(void)rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_LSC, link_event, k);
	pthread_mutex_lock(&all_lock);
	TAILQ_INSERT_TAIL(&all, k, next);
	pthread_mutex_unlock(&all_lock);
	*out = k;
	return 0;
}

void
tp_kernel_close(struct tp_kernel *k)
{
	if (k == NULL)
		return;
	pthread_mutex_lock(&all_lock);
	TAILQ_REMOVE(&all, k, next);
	pthread_mutex_unlock(&all_lock);
	/* Refused while it is called. */
	while (rte_eth_dev_callback_unregister(k->port, RTE_ETH_EVENT_INTR_LSC, link_event, k) == -EAGAIN)
		sched_yield();
	tp_kernel_stop(k);
	pthread_mutex_lock(&k->lock);
	k->quit = true;
	pthread_mutex_unlock(&k->lock);
	tpk_wake(k);
	pthread_join(k->thread, NULL);
	release(k);
}

static void
command(struct tp_kernel *k, bool run)
{
	pthread_mutex_lock(&k->lock);
	k->want_runs = run;
	k->asked++;
	tpk_wake(k);
	while (k->answers != k->asked)
		pthread_cond_wait(&k->answered, &k->lock);
	pthread_mutex_unlock(&k->lock);
}

int
tp_kernel_start(struct tp_kernel *k, uint16_t tx_queue, uint64_t tx_offloads, uint32_t tx_large)
{
	if (__atomic_load_n(&k->gone, __ATOMIC_RELAXED))
		return -ENODEV;
	if (k->want_runs)
		return -EALREADY;
	k->want_queue = tx_queue;
	k->want_offloads = tx_offloads;
	k->want_large = tx_large == 0 ? TP_KERNEL_LARGE : RTE_MIN(tx_large, TP_KERNEL_LARGE);
	command(k, true);
	return 0;
}

void
tp_kernel_stop(struct tp_kernel *k)
{
	if (k->want_runs)
		command(k, false);
}

void
tp_kernel_share(struct tp_kernel *k, bool copies)
{
	if (copies)
		__atomic_fetch_or(&k->how, TPK_COPIES, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&k->how, ~TPK_COPIES, __ATOMIC_RELAXED);
}

/* --- what there is ------------------------------------------------------------------------------------------------ */

static const char *const drop_names[TP_KERNEL_DROPS] = {
	[TP_KERNEL_RX_FULL] = "rx_full",       [TP_KERNEL_RX_DOWN] = "rx_down", [TP_KERNEL_RX_NO_MBUF] = "rx_no_mbuf",
	[TP_KERNEL_RX_REFUSED] = "rx_refused", [TP_KERNEL_TX_DOWN] = "tx_down", [TP_KERNEL_TX_REFUSED] = "tx_refused",
};

const char *
tp_kernel_drop_name(unsigned int drop)
{
	return drop < TP_KERNEL_DROPS ? drop_names[drop] : NULL;
}

void
tp_kernel_stats_get(const struct tp_kernel *k, struct tp_kernel_stats *stats)
{
	RTE_BUILD_BUG_ON(sizeof(*stats) % sizeof(uint64_t) != 0);
	const uint64_t *from = (const uint64_t *)&k->count;
	uint64_t *to = (uint64_t *)stats;
	unsigned int i;

	for (i = 0; i < sizeof(*stats) / sizeof(*to); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void
tp_kernel_info_get(const struct tp_kernel *k, struct tp_kernel_info *info)
{
	const uint64_t mac = __atomic_load_n(&k->mac, __ATOMIC_RELAXED);
	const uint32_t how = __atomic_load_n(&k->how, __ATOMIC_RELAXED);

	memset(info, 0, sizeof(*info));
	if (tpk_tap_name(k->tap, info->name) != 0)
		snprintf(info->name, sizeof(info->name), "%s", k->name);
	info->port = k->port;
	info->mtu = __atomic_load_n(&k->mtu, __ATOMIC_RELAXED);
	memcpy(&info->mac, &mac, sizeof(info->mac));
	info->gone = __atomic_load_n(&k->gone, __ATOMIC_RELAXED);
	info->runs = __atomic_load_n(&k->runs, __ATOMIC_RELAXED);
	info->up = (how & TPK_DOWN) == 0;
	info->carrier = __atomic_load_n(&k->carrier, __ATOMIC_RELAXED);
	info->promiscuous = (how & TPK_ALL) != 0;
	info->csum = __atomic_load_n(&k->csum, __ATOMIC_RELAXED);
	info->tso = __atomic_load_n(&k->tso, __ATOMIC_RELAXED);
}

/* --- telemetry --- */

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct tp_kernel *k;

	(void)cmd, (void)params;
	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	pthread_mutex_lock(&all_lock);
	TAILQ_FOREACH(k, &all, next)
	rte_tel_data_add_array_int(d, k->port);
	pthread_mutex_unlock(&all_lock);
	return 0;
}

static const char *
yes_or_no(bool yes)
{
	return yes ? "yes" : "no";
}

static void
tell(const struct tp_kernel *k, struct rte_tel_data *d)
{
	struct tp_kernel_stats st;
	struct tp_kernel_info in;
	unsigned int i;

	tp_kernel_info_get(k, &in);
	tp_kernel_stats_get(k, &st);
	rte_tel_data_add_dict_string(d, "name", in.name);
	rte_tel_data_add_dict_int(d, "mtu", in.mtu);
	rte_tel_data_add_dict_string(d, "up", yes_or_no(in.up));
	rte_tel_data_add_dict_string(d, "carrier", yes_or_no(in.carrier));
	rte_tel_data_add_dict_string(d, "gone", yes_or_no(in.gone));
	tel_dict_uint(d, "rx_packets", st.rx_packets);
	tel_dict_uint(d, "rx_octets", st.rx_octets);
	tel_dict_uint(d, "rx_joined", st.rx_joined);
	tel_dict_uint(d, "tx_packets", st.tx_packets);
	tel_dict_uint(d, "tx_octets", st.tx_octets);
	tel_dict_uint(d, "tx_large", st.tx_large);
	tel_dict_uint(d, "tx_busy", st.tx_busy);
	tel_dict_uint(d, "refused", st.refused);
	for (i = 0; i < TP_KERNEL_DROPS; i++)
		tel_dict_uint(d, drop_names[i], st.drop[i]);
}

static int
info(const char *cmd, const char *params, struct rte_tel_data *d)
{
	char *end;
	const unsigned long port = params == NULL ? 0 : strtoul(params, &end, 10);
	int ret = -ENOENT;
	struct tp_kernel *k;

	(void)cmd;
	if (params == NULL || end == params || *end != '\0')
		return -EINVAL;
	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&all_lock);
	TAILQ_FOREACH(k, &all, next)
	if (k->port == port && ret != 0) {
		tell(k, d);
		ret = 0;
	}
	pthread_mutex_unlock(&all_lock);
	return ret;
}

RTE_INIT(kernel_telemetry)
{
	rte_telemetry_register_cmd("/triplane/kernel/list", list, "Ports that have an interface of the kernel");
	rte_telemetry_register_cmd("/triplane/kernel/info", info, "The interface of a port. Parameter: port");
}
