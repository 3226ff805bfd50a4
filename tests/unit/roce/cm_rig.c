/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "cm_rig.h"

/* Managers may send from any queue pair. */
#define RIG_FROM_QPN 0x20au

int troce_logtype;
__thread struct troce_talk troce_talk;

static struct rig *the_rig;

uint64_t
rig_random(struct rig *r)
{
	r->rng ^= r->rng << 13;
	r->rng ^= r->rng >> 7;
	r->rng ^= r->rng << 17;
	return r->rng;
}

struct troce_path
rig_path(unsigned int from)
{
	struct troce_path p = {.type = IBV_GID_TYPE_ROCE_V2, .hop_limit = 16, .vlan = TP_ROCE_NO_VLAN};

	memcpy(p.sgid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01", 16);
	p.dgid = p.sgid;
	p.sgid.raw[15] = (uint8_t)(1 + from);
	p.dgid.raw[15] = (uint8_t)(2 - from);
	return p;
}

struct cm_req
rig_req(uint32_t qpn)
{
	struct cm_req r = {.service_id = RIG_SERVICE,
			   .qpn = qpn,
			   .resp_res = 4,
			   .init_depth = 4,
			   .remote_timeout = 18,
			   .local_timeout = 18,
			   .retry = 7,
			   .rnr_retry = 7,
			   .pkey = 0xffff,
			   .mtu = IBV_MTU_1024,
			   .max_retries = 15};

	r.path.ack_timeout = 15;
	return r;
}

static void
fly(struct rig *r, unsigned int to, const struct troce_mad *mad)
{
	struct rig_flight *f;

	assert_true(r->flights < RIG_FLIGHT);
	f = &r->flight[r->flights++];
	f->at = r->now + 10000 + (r->delay_ms == 0 ? 0 : rig_random(r) % (r->delay_ms * RIG_MS));
	f->to = to;
	f->mad = *mad;
	f->mad.path = rig_path(to);
	f->mad.remote_qpn = RIG_FROM_QPN;
}

static void
on_send(void *home, const struct troce_mad *mad)
{
	struct rig_end *e = home;
	struct rig *r = the_rig;

	assert_int_equal(mad->remote_qpn, 1);
	e->sent[e->sents++ % RIG_LOG] = *mad;
	if (r->cut || rig_random(r) % 100 < r->lose)
		return;
	do {
		fly(r, 1 - e->which, mad);
	} while (rig_random(r) % 100 < r->repeat);
}

static uint16_t
on_service(void *home, const struct tcm_ask *ask, void **owner)
{
	struct rig_end *e = home;

	*owner = e;
	if (e->refuse != 0)
		return e->refuse;
	if (ask->service_id != RIG_SERVICE)
		return ask->dgram ? CM_SIDR_UNSUPPORTED : CM_REJ_SERVICE_ID;
	return 0;
}

static void
on_event(void *home, const struct tcm_event *ev)
{
	struct rig_end *e = home;
	unsigned int i = e->evs++ % RIG_LOG;

	e->ev[i] = *ev;
	e->count[ev->type]++;
	if (ev->msg != NULL) {
		e->msg[i] = *ev->msg;
		e->ev[i].msg = &e->msg[i];
	}
	if (e->on_event != NULL)
		e->on_event(e, ev);
}

static const struct tcm_ops ops = {.send = on_send, .service = on_service, .event = on_event};

void
rig_up(struct rig *r, uint64_t seed)
{
	memset(r, 0, sizeof(*r));
	the_rig = r;
	r->rng = seed * 0x9e3779b97f4a7c15ull | 1;
	for (unsigned int i = 0; i < 2; i++) {
		const struct tcm_conf conf = {
			.ca_guid = 0x0002c90300000001 + i, .seed = seed + i, .mtu_max = IBV_MTU_2048};

		r->end[i].which = i;
		assert_int_equal(tcm_init(&r->end[i].cm, &ops, &r->end[i], &conf), 0);
		tcm_clock(&r->end[i].cm, 0);
	}
}

void
rig_down(struct rig *r)
{
	tcm_fini(&r->end[0].cm);
	tcm_fini(&r->end[1].cm);
}

static void
clock_to(struct rig *r, uint64_t t)
{
	r->now = t;
	tcm_clock(&r->end[0].cm, t);
	tcm_clock(&r->end[1].cm, t);
}

void
rig_run(struct rig *r, uint64_t ns)
{
	uint64_t until = r->now + ns;

	for (;;) {
		uint64_t next = until + 1;
		unsigned int f = 0;

		for (unsigned int i = 0; i < r->flights; i++)
			if (r->flight[i].at < next) {
				next = r->flight[i].at;
				f = i + 1;
			}
		for (unsigned int i = 0; i < 2; i++)
			if (tcm_deadline(&r->end[i].cm) < next) {
				next = tcm_deadline(&r->end[i].cm);
				f = 0;
			}
		if (next > until)
			break;
		clock_to(r, next > r->now ? next : r->now);
		if (f != 0) {
			struct rig_flight got = r->flight[f - 1];

			r->flight[f - 1] = r->flight[--r->flights];
			tcm_input(&r->end[got.to].cm, &got.mad);
		} else {
			assert_true(tcm_run(&r->end[0].cm) + tcm_run(&r->end[1].cm) > 0);
		}
	}
	clock_to(r, until);
}

void
rig_inject(struct rig *r, unsigned int to, enum cm_msg msg, const void *m, uint64_t tid)
{
	struct troce_mad mad = {.path = rig_path(to), .remote_qpn = RIG_FROM_QPN};

	assert_int_equal(cm_put(msg, m, tid, mad.data, NULL), 0);
	tcm_input(&r->end[to].cm, &mad);
}

const struct tcm_event *
rig_last(const struct rig_end *e)
{
	assert_int_not_equal(e->evs, 0);
	return &e->ev[(e->evs - 1) % RIG_LOG];
}

int
rig_sent(const struct rig_end *e, union cm_any *msg)
{
	const uint8_t *data;
	int type;

	if (e->sents == 0)
		return -1;
	data = e->sent[(e->sents - 1) % RIG_LOG].data;
	type = cm_msg_of(data);
	if (msg != NULL)
		cm_get((enum cm_msg)type, data, msg);
	return type;
}
