/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What others ask an InfiniBand port with IPoIB on it for. */
#include <unistd.h>

#include <rte_cycles.h>

#include "device.h"
#include "tp_roce.h"

uint64_t
ipoib_now_ms(void)
{
	return rte_get_timer_cycles() / (rte_get_timer_hz() / 1000);
}

void
ipoib_device_lock(struct ipoib_device *d)
{
	atomic_fetch_add(&d->wanting, 1);
	pthread_mutex_lock(&d->lock);
	atomic_fetch_sub(&d->wanting, 1);
}
void
ipoib_device_unlock(struct ipoib_device *d)
{
	pthread_mutex_unlock(&d->lock);
}
struct ibv_context *
ipoib_device_ctx(struct ipoib_device *d)
{
	return d->ctx;
}
struct tp_sa *
ipoib_device_sa(struct ipoib_device *d)
{
	return tp_mad_service_sa(d->service);
}
const char *
ipoib_device_name(const struct ipoib_device *d)
{
	return d->name;
}

uint64_t
ipoib_device_guid(struct ipoib_device *d)
{
	union ibv_gid gid;

	return tp_roce_query_gid(d->ctx, 1, 0, &gid) == 0 ? rte_be_to_cpu_64(gid.global.interface_id) : 0;
}

/* On any CPU: the thread that calls may be bound to that of an lcore. */
int
ipoib_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	cpu_set_t all;
	int cpu, err = pthread_attr_init(&attr);

	if (err != 0)
		return -err;
	CPU_ZERO(&all);
	for (cpu = 0; cpu < CPU_SETSIZE && cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		CPU_SET(cpu, &all);
	err = pthread_attr_setaffinity_np(&attr, sizeof(all), &all);
	if (err == 0)
		err = pthread_create(thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return -err;
}
