/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>

static int
rig_send(void *home, const struct tp_mad_packet *pkt)
{
	struct rig_port *p = home;
	struct rig *r = p->rig;
	unsigned int to = RIG_PORTS;

	if (p->full)
		return -EAGAIN;
	if (p->dead)
		return -EIO;
	r->sent++;
	if (r->logged < sizeof(r->log) / sizeof(r->log[0]))
		r->log[r->logged++] = *pkt;
	for (unsigned int i = 0; i < RIG_PORTS; i++) {
		if (r->port[i].state.lid == pkt->dlid || (pkt->dlid == MAD_LID_PERMISSIVE && i != p->index))
			to = i;
	}
	if (to == RIG_PORTS || (r->lose != NULL && r->lose(r, pkt)))
		return 0;
	assert_true(r->num < sizeof(r->wire) / sizeof(r->wire[0]));
	unsigned int at = (r->head + r->num++) % (sizeof(r->wire) / sizeof(r->wire[0]));

	r->wire[at].pkt = *pkt;
	r->wire[at].pkt.slid = pkt->dlid == MAD_LID_PERMISSIVE ? MAD_LID_PERMISSIVE : p->state.lid;
	r->wire[at].pkt.remote_qpn = pkt->qpn;
	r->wire[at].to = to;
	return 0;
}

static int
rig_process(void *home, const struct tp_mad_packet *in, struct tp_mad_packet *out)
{
	struct rig_port *p = home;

	p->fw_calls++;
	p->fw_in = *in;
	if (in->data[MAD_METHOD_AT] == MAD_TRAP_REPRESS)
		return 0;
	if (in->data[MAD_METHOD_AT] != MAD_GET)
		return -ENODATA;
	if (mad_is_smp(in->data[MAD_CLASS_AT])) {
		if (ib_get16(in->data + MAD_ATTR_AT) != SMP_ATTR_NODE_DESC)
			return -ENODATA;
		memcpy(out->data, in->data, MAD_SIZE);
		memcpy(out->data + SMP_DATA_AT, "rig ", 4);
		out->data[SMP_DATA_AT + 4] = (uint8_t)('0' + p->index);
	} else if (ib_get16(in->data + MAD_ATTR_AT) == MAD_ATTR_PORT_COUNTERS) {
		memcpy(out->data, in->data, MAD_SIZE);
		ib_put32(out->data + MAD_PMA_DATA_AT + 24, 1234);
	} else {
		return -ENODATA;
	}
	out->data[MAD_METHOD_AT] = MAD_GET | MAD_RESPONSE;
	return 1;
}

static void
rig_port_state(void *home, struct tp_mad_port_state *state)
{
	*state = ((struct rig_port *)home)->state;
}

static uint64_t
rig_now(void *home)
{
	return ((struct rig_port *)home)->rig->now;
}

void
rig_up(struct rig *r)
{
	static const struct tp_mad_ops ops = {rig_send, rig_process, rig_port_state, rig_now};

	memset(r, 0, sizeof(*r));
	r->now = 1;
	for (unsigned int i = 0; i < RIG_PORTS; i++) {
		struct rig_port *p = &r->port[i];

		p->rig = r;
		p->index = i;
		p->state = (struct tp_mad_port_state){
			.lid = (uint16_t)((i + 1) << 4), .sm_lid = 0x20, .port_num = (uint8_t)(i + 1), .active = true};
		ib_put64(p->state.gid.raw, 0xfe80000000000000ull);
		ib_put64(p->state.gid.raw + 8, 0x0002c90300000001ull + i);
		p->mad = tp_mad_create(&ops, p);
		assert_non_null(p->mad);
	}
}

void
rig_down(struct rig *r)
{
	for (unsigned int i = 0; i < RIG_PORTS; i++)
		tp_mad_destroy(r->port[i].mad);
}

static unsigned int
step(struct rig *r)
{
	unsigned int done = 0;

	while (r->num != 0) {
		struct tp_mad_packet pkt = r->wire[r->head].pkt;
		unsigned int to = r->wire[r->head].to;

		r->head = (r->head + 1) % (sizeof(r->wire) / sizeof(r->wire[0]));
		r->num--;
		done++;
		tp_mad_input(r->port[to].mad, &pkt);
	}
	for (unsigned int i = 0; i < RIG_PORTS; i++)
		done += tp_mad_progress(r->port[i].mad);
	return done;
}

void
rig_run(struct rig *r, uint64_t ns)
{
	uint64_t until = r->now + ns;

	for (;;) {
		uint64_t due = until;
		unsigned int quiet = 0;

		while (quiet++ < 10000 && step(r) != 0)
			;
		assert_true(quiet < 10000);
		for (unsigned int i = 0; i < RIG_PORTS; i++) {
			uint64_t d = tp_mad_deadline(r->port[i].mad);

			if (d < due)
				due = d;
		}
		/* A port without room tries again and again; that is no time. */
		if (due <= r->now)
			due = r->now + RIG_MS;
		if (due >= until) {
			r->now = until;
			while (step(r) != 0)
				;
			return;
		}
		r->now = due;
	}
}

static void
hear(void *arg, const struct tp_mad_msg *msg)
{
	struct heard *h = arg;

	if (h->num < 64) {
		h->status[h->num] = msg->status;
		h->pkt[h->num] = *msg->pkt;
	}
	h->num++;
	free(h->data);
	h->data = malloc(msg->len);
	memcpy(h->data, msg->data, msg->len);
	h->len = msg->len;
	if (h->echo && msg->status == 0 && !mad_is_response(msg->data)) {
		struct tp_mad_packet to;

		tp_mad_reply_to(msg->pkt, &to);
		to.data[MAD_METHOD_AT] = MAD_GET | MAD_RESPONSE;
		assert_int_equal(tp_mad_send(h->agent, &to, to.data, MAD_SIZE, 0, 0), 0);
	}
}

struct tp_mad_agent *
rig_agent(struct rig *r, unsigned int port, uint8_t mgmt_class, uint8_t version, uint64_t methods0, uint64_t methods1,
	  struct heard *h)
{
	struct tp_mad_agent_conf c = {.qpn = mad_is_smp(mgmt_class) ? 0 : 1,
				      .mgmt_class = mgmt_class,
				      .class_version = version,
				      .methods = {methods0, methods1},
				      .rmpp_version = mad_class_has_rmpp(mgmt_class),
				      .recv = hear,
				      .arg = h};

	memset(h, 0, sizeof(*h));
	assert_int_equal(tp_mad_register(r->port[port].mad, &c, &h->agent), 0);
	return h->agent;
}

void
heard_free(struct heard *h)
{
	free(h->data);
	h->data = NULL;
}

struct tp_mad_packet
rig_to(const struct rig *r, unsigned int port)
{
	return (struct tp_mad_packet){.remote_qpn = 1, .qkey = MAD_QP1_QKEY, .dlid = r->port[port].state.lid};
}
