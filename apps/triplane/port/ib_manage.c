/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Subnet managers of this program, and the times of its clients of subnet administration. */
#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_string_fns.h>

#include "ib.h"

static struct ib_manager managers[IB_MANAGERS];
static struct ib_client clients[IB_MANAGERS];

int
ib_service_open(const char *device, struct tp_mad_service **service)
{
	int err = tp_mad_service_open(device, service);

	if (err == -ENODEV)
		return app_err(err, "no InfiniBand port %s; 'show ib' lists them", device);
	return err == 0 ? 0 : app_err(err, "%s: its management is not ours: %s", device, strerror(-err));
}

/* --- managers ------------------------------------------------------------------------------------------------- */

const struct ib_manager *
ib_manager(unsigned int i)
{
	return i < IB_MANAGERS ? &managers[i] : NULL;
}

static struct ib_manager *
find(const char *device)
{
	for (unsigned int i = 0; i < IB_MANAGERS; i++) {
		if (managers[i].sm != NULL && strcmp(managers[i].device, device) == 0)
			return &managers[i];
	}
	return NULL;
}

static struct ib_manager *
unused(void)
{
	for (unsigned int i = 0; i < IB_MANAGERS; i++) {
		if (managers[i].sm == NULL)
			return &managers[i];
	}
	return NULL;
}

static void
end(struct ib_manager *m)
{
	tp_sm_destroy(m->sm);
	tp_mad_service_issm(m->service, false);
	tp_mad_service_close(m->service);
	memset(m, 0, sizeof(*m));
}

int
ib_sm_on(const char *device, uint8_t priority)
{
	const struct tp_sm_conf conf = {.priority = priority};
	struct ib_manager *m = unused();
	int err;

	if (find(device) != NULL)
		return app_err(-EALREADY, "%s has a subnet manager already; 'ib sm off %s' first", device, device);
	if (m == NULL)
		return app_err(-ENOSPC, "%u subnet managers run, which is the limit", IB_MANAGERS);
	err = ib_service_open(device, &m->service);
	if (err != 0)
		return err;
	err = tp_sm_create(tp_mad_service_mad(m->service), &conf, &m->sm);
	if (err != 0) {
		tp_mad_service_close(m->service);
		return app_err(err, "%s: no subnet manager: %s", device,
			       err == -EBUSY ? "another one, such as OpenSM, runs on this port" : strerror(-err));
	}
	tp_mad_service_issm(m->service, true);
	(void)rte_strlcpy(m->device, device, sizeof(m->device));
	m->priority = priority;
	return 0;
}

int
ib_sm_off(const char *device)
{
	struct ib_manager *m = find(device);

	if (m == NULL)
		return app_err(-ENOENT, "%s has no subnet manager of this program", device);
	end(m);
	return 0;
}

void
ib_sm_stop(void)
{
	for (unsigned int i = 0; i < IB_MANAGERS; i++) {
		if (managers[i].sm != NULL)
			end(&managers[i]);
	}
}

int
ib_sm_keys(const char *text, uint16_t keys[TP_SM_PKEYS], unsigned int *n)
{
	char buf[CMD_MAX_LINE], *save = NULL;

	*n = 0;
	(void)rte_strlcpy(buf, text, sizeof(buf));
	if (strcmp(buf, "none") == 0)
		return 0;
	for (char *word = strtok_r(buf, " ,", &save); word != NULL; word = strtok_r(NULL, " ,", &save)) {
		unsigned long key;
		char *rest;

		errno = 0;
		key = strtoul(word, &rest, 0);
		if (errno != 0 || *rest != '\0' || key > UINT16_MAX || (key & 0x7fff) == 0 || (key & 0x7fff) == 0x7fff)
			return app_err(
				-EINVAL,
				"P_Key '%s': wanted 0x0001..0x7ffe (limited members) or 0x8001..0xfffe (full ones)",
				word);
		if (*n == TP_SM_PKEYS - 1)
			return app_err(-EINVAL, "more than %u P_Keys beside the default one", TP_SM_PKEYS - 1);
		keys[(*n)++] = (uint16_t)key;
	}
	return 0;
}

int
ib_sm_partitions(const char *device, const char *text)
{
	struct ib_manager *m = find(device);
	uint16_t keys[TP_SM_PKEYS];
	unsigned int n;
	int err;

	if (m == NULL)
		return app_err(-ENOENT, "%s has no subnet manager of this program; 'ib sm on %s' first", device,
			       device);
	err = ib_sm_keys(text, keys, &n);
	if (err != 0)
		return err;
	err = tp_sm_partitions(m->sm, keys, n);
	if (err != 0)
		return app_err(err, "P_Keys '%s': one is named twice", text);
	memcpy(m->key, keys, n * sizeof(keys[0]));
	m->num_keys = n;
	return 0;
}

/* --- clients of subnet administration --------------------------------------------------------------------------- */

const struct ib_client *
ib_client(unsigned int i)
{
	return i < IB_MANAGERS ? &clients[i] : NULL;
}

void
ib_sa_stop(void)
{
	for (unsigned int i = 0; i < IB_MANAGERS; i++) {
		if (clients[i].service != NULL)
			tp_mad_service_close(clients[i].service);
		clients[i].service = NULL;
	}
}

static int
keep(const char *device, struct tp_mad_service *service)
{
	struct ib_client *c = NULL;

	for (unsigned int i = 0; i < IB_MANAGERS; i++) {
		if (clients[i].service == service)
			return -EALREADY;
		if (clients[i].service == NULL && c == NULL)
			c = &clients[i];
	}
	if (c == NULL)
		return -ENOSPC;
	(void)rte_strlcpy(c->device, device, sizeof(c->device));
	c->service = service;
	return 0;
}

int
ib_sa_times(const char *device, uint32_t timeout_ms, uint32_t retries)
{
	struct tp_mad_service *service;
	struct tp_sa_conf conf;
	int err = ib_service_open(device, &service);

	if (err != 0)
		return err;
	tp_sa_conf_get(tp_mad_service_sa(service), &conf);
	conf.timeout_ms = timeout_ms != 0 ? timeout_ms : conf.timeout_ms;
	conf.retries = retries != 0 ? retries : conf.retries;
	err = keep(device, service);
	if (err == -ENOSPC)
		app_err(err, "the times of %u ports are set, which is the limit", IB_MANAGERS);
	else
		(void)tp_sa_configure(tp_mad_service_sa(service), &conf);
	if (err != 0)
		tp_mad_service_close(service);
	return err == -ENOSPC ? err : 0;
}
