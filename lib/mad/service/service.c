/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The home of a management service on an open port. What it knows of the port the firmware says, in datagrams. */
#include "service_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>

/* How long the firmware's word is good; a Set through this service ends it at once. */
#define FRESH_NS (100ull * 1000 * 1000)
#define CAP_IS_SM (1u << 1)
#define CAP_EXT_SPEEDS (1u << 14)
#define PKEYS_BLOCK 32u

static TAILQ_HEAD(, tp_mad_service) services = TAILQ_HEAD_INITIALIZER(services);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t
now_ns(void *home)
{
	struct timespec ts;

	(void)home;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* --- what the firmware says -------------------------------------------------------------------------------------- */

static int
get(struct tp_mad_service *s, uint16_t attr, uint32_t mod, uint8_t data[SMP_DATA_LEN])
{
	struct tp_mad_packet in = {.qpn = 0}, out;
	int err;

	mad_init(in.data, MAD_CLASS_SMP, 1, MAD_GET, attr, 1);
	ib_put32(in.data + MAD_ATTR_MOD_AT, mod);
	err = tp_mad_port_process(s->ctx, &in, &out);
	if (err != 0)
		return -err;
	if (ib_get16(out.data + MAD_STATUS_AT) != 0)
		return -EIO;
	memcpy(data, out.data + SMP_DATA_AT, SMP_DATA_LEN);
	return 0;
}

/* The last word stays when the card is gone. */
static void
refresh(struct tp_mad_service *s)
{
	uint8_t pi[SMP_DATA_LEN];
	uint64_t now = now_ns(s);

	if (now < s->fresh_until)
		return;
	if (get(s, SMP_ATTR_PORT_INFO, 0, pi) == 0)
		memcpy(s->port_info, pi, sizeof(pi));
	s->fresh_until = now + FRESH_NS;
}

static void
port_state(void *home, struct tp_mad_port_state *st)
{
	struct tp_mad_service *s = home;
	const uint8_t *pi = s->port_info;

	tp_mad_lock(s->mad);
	refresh(s);
	st->lid = ib_get16(pi + 16);
	st->sm_lid = ib_get16(pi + 18);
	st->lmc = pi[34] & 7;
	st->sm_sl = pi[36] & 0xf;
	st->port_num = s->node_info[36];
	st->active = (pi[32] & 0xf) == 4;
	memcpy(st->gid.raw, pi + 8, 8);
	memcpy(st->gid.raw + 8, s->node_info + 20, 8);
	tp_mad_unlock(s->mad);
}

/* --- operations -------------------------------------------------------------------------------------------------- */

static int
transmit(void *home, const struct tp_mad_packet *pkt)
{
	struct tp_mad_service *s = home;

	return -tp_mad_port_send(s->ctx, pkt);
}

static int
process(void *home, const struct tp_mad_packet *in, struct tp_mad_packet *out)
{
	struct tp_mad_service *s = home;
	int err = tp_mad_port_process(s->ctx, in, out);

	s->fresh_until = 0;
	if (err == 0)
		return 1;
	/* Nobody else has to do with what silences a trap, and malformed datagrams have no answer. */
	return in->data[MAD_METHOD_AT] == MAD_TRAP_REPRESS || err == EINVAL ? 0 : -err;
}

static void
input(void *arg, const struct tp_mad_packet *pkt)
{
	struct mad_service_input *in = &((struct tp_mad_service *)arg)->in;

	pthread_mutex_lock(&in->lock);
	if (in->num == MAD_SERVICE_INPUT)
		in->dropped++;
	else
		in->pkt[(in->head + in->num++) % MAD_SERVICE_INPUT] = *pkt;
	pthread_mutex_unlock(&in->lock);
}

static bool
take(struct mad_service_input *in, struct tp_mad_packet *pkt)
{
	bool any;

	pthread_mutex_lock(&in->lock);
	any = in->num != 0;
	if (any) {
		*pkt = in->pkt[in->head];
		in->head = (in->head + 1) % MAD_SERVICE_INPUT;
		in->num--;
	}
	pthread_mutex_unlock(&in->lock);
	return any;
}

/* --- life ------------------------------------------------------------------------------------------------------ */

static int
start(struct tp_mad_service *s)
{
	static const struct tp_mad_ops ops = {transmit, process, port_state, now_ns};
	int err = get(s, SMP_ATTR_NODE_INFO, 0, s->node_info);

	if (err != 0)
		return err;
	s->mad = tp_mad_create(&ops, s);
	if (s->mad == NULL)
		return -ENOMEM;
	err = tp_sa_create(s->mad, NULL, &s->sa);
	if (err == 0)
		err = -tp_mad_port_set_input(s->ctx, input, s);
	if (err == 0)
		return 0;
	if (s->sa != NULL)
		tp_sa_destroy(s->sa);
	tp_mad_destroy(s->mad);
	return err;
}

struct tp_mad_service *
mad_service_find(const char *device)
{
	struct tp_mad_service *s;

	TAILQ_FOREACH(s, &services, next)
	{
		if (strcmp(s->ctx->device->name, device) == 0)
			break;
	}
	return s;
}

int
mad_service_new(struct ibv_context *ctx, struct tp_mad_service **service)
{
	struct tp_mad_service *s = calloc(1, sizeof(*s));
	int err;

	if (s == NULL)
		return -ENOMEM;
	s->ctx = ctx;
	pthread_mutex_init(&s->in.lock, NULL);
	err = start(s);
	if (err != 0) {
		pthread_mutex_destroy(&s->in.lock);
		free(s);
		return err;
	}
	s->refs = 1;
	TAILQ_INSERT_TAIL(&services, s, next);
	*service = s;
	return 0;
}

void
mad_service_free(struct tp_mad_service *s)
{
	TAILQ_REMOVE(&services, s, next);
	(void)tp_mad_port_set_input(s->ctx, NULL, NULL);
	if (s->managers != 0)
		(void)tp_mad_port_caps(s->ctx, 0, CAP_IS_SM);
	tp_sa_destroy(s->sa);
	tp_mad_destroy(s->mad);
	pthread_mutex_destroy(&s->in.lock);
	free(s);
}

void
mad_services_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
mad_services_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

struct ibv_context *
tp_mad_service_ctx(struct tp_mad_service *s)
{
	return s->ctx;
}

struct tp_mad *
tp_mad_service_mad(struct tp_mad_service *s)
{
	return s->mad;
}

struct tp_sa *
tp_mad_service_sa(struct tp_mad_service *s)
{
	return s->sa;
}

uint64_t
tp_mad_service_dropped(struct tp_mad_service *s)
{
	uint64_t n;

	pthread_mutex_lock(&s->in.lock);
	n = s->in.dropped;
	pthread_mutex_unlock(&s->in.lock);
	return n;
}

unsigned int
mad_service_progress(struct tp_mad_service *s)
{
	struct tp_mad_packet pkt;
	unsigned int n = 0;

	while (n < MAD_SERVICE_INPUT && take(&s->in, &pkt)) {
		tp_mad_input(s->mad, &pkt);
		n++;
	}
	return n + tp_mad_progress(s->mad);
}

/* --- for programs ------------------------------------------------------------------------------------------------ */

/* Gb/s of a link, as the kernel counts: lanes by the speed of one (14.2.5.6). */
static uint32_t
rate(const uint8_t *pi)
{
	uint32_t lanes = pi[31] == 8 ? 12 : pi[31] == 4 ? 8 : pi[31] == 2 ? 4 : 1, speed = pi[35] >> 4;
	uint32_t ext = (ib_get32(pi + 20) & CAP_EXT_SPEEDS) != 0 ? pi[62] >> 4 : 0;

	if (ext != 0)
		return lanes * (ext == 2 ? 25 : 14);
	return lanes * 5 * (speed == 4 ? 2 : speed == 2 ? 1 : 0) + (speed == 1 ? lanes * 5 / 2 : 0);
}

static void
pkeys(struct tp_mad_service *s, struct tp_umad_desc *p)
{
	uint8_t block[SMP_DATA_LEN] = {0};
	uint32_t num = RTE_MIN((uint32_t)ib_get16(s->node_info + 28), TP_UMAD_PKEYS);

	p->num_pkeys = num;
	for (uint32_t i = 0; i < num; i++) {
		if (i % PKEYS_BLOCK == 0 && get(s, SMP_ATTR_PKEY_TABLE, i / PKEYS_BLOCK, block) != 0)
			return;
		p->pkeys[i] = ib_get16(block + i % PKEYS_BLOCK * 2);
	}
}

void
tp_mad_service_describe(void *service, struct tp_umad_desc *p)
{
	struct tp_mad_service *s = service;
	const char *name = s->ctx->device->name;
	const uint8_t *ni = s->node_info, *pi = s->port_info;
	struct ibv_device_attr attr;

	memset(p, 0, sizeof(*p));
	tp_mad_lock(s->mad);
	s->fresh_until = 0;
	refresh(s);
	/* A card's ports are devices of their own here, NAME/PORT; to programs they are ports of one adapter. */
	snprintf(p->ca, sizeof(p->ca), "%.*s", (int)strcspn(name, "/"), name);
	p->port = ni[36];
	p->ports = ni[3];
	p->node_guid = ib_get64(ni + 12);
	p->system_guid = ib_get64(ni + 4);
	p->port_guid = ib_get64(ni + 20);
	p->gid_prefix = ib_get64(pi + 8);
	p->lid = ib_get16(pi + 16);
	p->sm_lid = ib_get16(pi + 18);
	p->capmask = ib_get32(pi + 20);
	p->state = pi[32] & 0xf;
	p->phys_state = pi[33] >> 4;
	p->lmc = pi[34] & 7;
	p->sm_sl = pi[36] & 0xf;
	p->rate = rate(pi);
	pkeys(s, p);
	snprintf(p->ca_type, sizeof(p->ca_type), "MT%u", ib_get16(ni + 30));
	snprintf(p->hw_ver, sizeof(p->hw_ver), "%x", ib_get32(ni + 32));
	if (tp_roce_query_device(s->ctx, &attr) == 0)
		snprintf(p->fw_ver, sizeof(p->fw_ver), "%.*s", (int)sizeof(p->fw_ver) - 1, attr.fw_ver);
	tp_mad_unlock(s->mad);
}

void
tp_mad_service_issm(void *service, bool on)
{
	struct tp_mad_service *s = service;

	tp_mad_lock(s->mad);
	s->managers = on ? s->managers + 1 : s->managers - 1;
	if (s->managers == (on ? 1 : 0))
		(void)tp_mad_port_caps(s->ctx, on ? CAP_IS_SM : 0, on ? 0 : CAP_IS_SM);
	tp_mad_unlock(s->mad);
}
