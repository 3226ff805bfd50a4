/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "sa_rig.h"

#define M(method) (1ull << (method))

struct rig r;
struct tp_sa *sa;
/* What the administrator was asked. */
struct tp_mad_agent *admin;
struct tp_mad_packet asked[256];
unsigned int num_asked;
bool answering;

unsigned int tellings;

union ibv_gid
gid(uint8_t n)
{
	union ibv_gid g = {.raw = {0xfe, 0x80}};

	g.raw[15] = n;
	return g;
}

void
answer(const struct tp_mad_packet *q, uint16_t status, const uint8_t *record, uint32_t len)
{
	struct tp_mad_packet to;

	tp_mad_reply_to(q, &to);
	to.data[MAD_METHOD_AT] = q->data[MAD_METHOD_AT] == MAD_SET ? 0x81 : q->data[MAD_METHOD_AT] | 0x80;
	ib_put16(to.data + MAD_STATUS_AT, status);
	if (len != 0)
		memcpy(to.data + 56, record, len);
	assert_int_equal(tp_mad_send(admin, &to, to.data, MAD_SIZE, 0, 0), 0);
}

/* A path to whom was asked for: its LID is the last octet. */
void
answer_path(const struct tp_mad_packet *q)
{
	uint8_t rec[64];

	memcpy(rec, q->data + 56, 64);
	ib_put16(rec + 40, rec[23]);
	ib_put16(rec + 42, 0x10);
	rec[53] = 3;
	rec[54] = 0x84; /* exactly 2048 */
	rec[55] = 0x87; /* exactly 40 Gb/s */
	rec[56] = 0x92;
	answer(q, 0, rec, 64);
}

static void
hear(void *arg, const struct tp_mad_msg *msg)
{
	(void)arg;
	if (msg->status != 0)
		return;
	asked[num_asked++ % 256] = *msg->pkt;
	if (answering)
		answer_path(msg->pkt);
}

void
on_path(void *arg, int status, const struct tp_sa_path *path)
{
	struct told *t = arg;

	t->num++;
	t->status = status;
	t->order = ++tellings;
	if (path != NULL)
		t->path = *path;
	if (t->cancels != NULL)
		assert_int_equal(tp_sa_cancel(sa, t->cancels), 1);
	if (t->again && t->num < 50)
		assert_int_equal(tp_sa_path(sa, &path->dgid, PKEY, on_path, arg), 0);
}

void
on_member(void *arg, int status, const struct tp_sa_member *m)
{
	struct told *t = arg;

	t->num++;
	t->status = status;
	t->order = ++tellings;
	if (m != NULL)
		t->member = *m;
}

void
on_records(void *arg, int status, const uint8_t *records, uint32_t stride, uint32_t n)
{
	struct told *t = arg;

	t->num++;
	t->status = status;
	t->records = n;
	t->stride = stride;
	if (n != 0)
		memcpy(t->first, records, stride < sizeof(t->first) ? stride : sizeof(t->first));
}

int
up(void **state)
{
	struct tp_mad_agent_conf c = {.qpn = 1,
				      .mgmt_class = MAD_CLASS_SA,
				      .class_version = 2,
				      .rmpp_version = 1,
				      .methods = {M(MAD_GET) | M(MAD_SET) | M(SA_GET_TABLE) | M(SA_DELETE), 0},
				      .recv = hear};

	(void)state;
	rig_up(&r);
	num_asked = tellings = 0;
	answering = true;
	assert_int_equal(tp_mad_register(r.port[1].mad, &c, &admin), 0);
	assert_int_equal(tp_sa_create(r.port[0].mad, NULL, &sa), 0);
	return 0;
}

int
down(void **state)
{
	(void)state;
	if (sa != NULL)
		tp_sa_destroy(sa);
	sa = NULL;
	rig_down(&r);
	return 0;
}
