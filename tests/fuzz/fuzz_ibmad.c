/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Management datagrams of an InfiniBand port: agents, directed routes, RMPP, the client of the administrator and the small
 * manager. An input is a list of records: datagrams whose header is often right, answers to what was asked, whose content the
 * input says, calls of the client, time. At the end everybody lets go; each call that was taken must have been told once.
 */
#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "lib/mad/agent/mad_fmt.h"
#include "tp_mad.h"
#include "tp_sa.h"
#include "tp_sm.h"

#define MAX_RECORDS 400
#define KEPT 16u
#define CALLS 256u
#define GUID 0x0002c90300000001ull
#define LID 0x10u
#define OTHER 0x20u /* the administrator's LID, unless we are it */
#define MS 1000000ull

static struct {
	struct tp_mad *mad;
	uint64_t now;
	struct tp_mad_packet sent[KEPT]; /* the last ones */
	unsigned int num_sent;
	uint16_t sm_lid;
	unsigned int told[CALLS], num_calls;
	struct tp_mad_agent *echo;
} r;

/* --- the port ------------------------------------------------------------------------------------------------------ */

static int
port_send(void *home, const struct tp_mad_packet *pkt)
{
	(void)home;
	r.sent[r.num_sent++ % KEPT] = *pkt;
	/* Sometimes there is no room. */
	return r.num_sent % 64 == 63 ? -EAGAIN : 0;
}

static int
port_process(void *home, const struct tp_mad_packet *in, struct tp_mad_packet *out)
{
	uint8_t *d = out->data + SMP_DATA_AT;
	uint16_t attr = ib_get16(in->data + MAD_ATTR_AT);

	(void)home;
	if (in->data[MAD_METHOD_AT] == MAD_TRAP_REPRESS)
		return 0;
	if (!mad_is_smp(in->data[MAD_CLASS_AT]))
		return -ENODATA;
	memcpy(out->data, in->data, MAD_SIZE);
	out->data[MAD_METHOD_AT] = MAD_GET | MAD_RESPONSE;
	ib_put16(out->data + MAD_STATUS_AT, 0);
	if (in->data[MAD_METHOD_AT] == MAD_SET)
		return 1;
	memset(d, 0, SMP_DATA_LEN);
	if (attr == SMP_ATTR_NODE_INFO) {
		d[2] = d[3] = d[36] = 1;
		ib_put64(d + 12, GUID - 1);
		ib_put64(d + 20, GUID);
	} else if (attr == SMP_ATTR_PORT_INFO) {
		d[31] = 2;
		d[32] = 2;
		d[35] = 0x44;
		d[36] = 0x40;
		d[41] = 5;
	}
	return 1;
}

static void
port_state(void *home, struct tp_mad_port_state *st)
{
	(void)home;
	*st = (struct tp_mad_port_state){.lid = LID, .sm_lid = r.sm_lid, .port_num = 1, .active = true};
	ib_put64(st->gid.raw, 0xfe80000000000000ull);
	ib_put64(st->gid.raw + 8, GUID);
}

static uint64_t
port_now(void *home)
{
	(void)home;
	return r.now;
}

static void
progress(uint64_t ns)
{
	r.now += ns;
	for (unsigned int i = 0; i < 64 && tp_mad_progress(r.mad) != 0; i++)
		;
}

/* --- who uses it --------------------------------------------------------------------------------------------------- */

/* Answers what it is asked, now and then with more than it was asked. */
static void
echo(void *arg, const struct tp_mad_msg *msg)
{
	struct tp_mad_packet to;

	(void)arg;
	if (msg->status != 0 || mad_is_response(msg->data))
		return;
	tp_mad_reply_to(msg->pkt, &to);
	to.data[MAD_METHOD_AT] |= MAD_RESPONSE;
	if (msg->len > MAD_SIZE) {
		uint8_t *copy = malloc(msg->len);

		memcpy(copy, msg->data, msg->len);
		copy[MAD_METHOD_AT] |= MAD_RESPONSE;
		(void)tp_mad_send(r.echo, &to, copy, msg->len, 0, 2);
		free(copy);
	} else {
		(void)tp_mad_send(r.echo, &to, to.data, MAD_SIZE, 0, 2);
	}
}

static void
told(void *arg)
{
	++*(unsigned int *)arg;
}

static void
path_told(void *arg, int status, const struct tp_sa_path *path)
{
	(void)path;
	told(arg);
	if (status == 0 && path == NULL)
		abort();
}

static void
member_told(void *arg, int status, const struct tp_sa_member *m)
{
	(void)m;
	told(arg);
	if (status == 0 && m == NULL)
		abort();
}

/* Every record can be read. */
static void
records_told(void *arg, int status, const uint8_t *records, uint32_t stride, uint32_t n)
{
	static volatile uint8_t last;

	(void)status;
	told(arg);
	if (n != 0 && stride != 0)
		last = records[stride * n - 1];
	(void)last;
}

static void
call(struct bytes *b, struct tp_sa *sa)
{
	struct tp_sa_member m = {.join_state = 1};
	unsigned int *arg = &r.told[r.num_calls];
	uint8_t what = bytes_u8(b), rec[SA_RECORD_LEN];
	union ibv_gid gid = {.raw = {0xff, 0x12, 0x40, 0x1b}};
	int err = -1;

	gid.raw[15] = bytes_u8(b) % 8;
	if (r.num_calls == CALLS)
		return;
	m.mgid = gid;
	switch (what & 7) {
	case 0:
	case 1: err = tp_sa_path(sa, &gid, bytes_u16(b), path_told, arg); break;
	case 2: err = tp_sa_join(sa, &m, bytes_u32(b), member_told, arg); break;
	case 3: err = tp_sa_leave(sa, &gid, 1, member_told, arg); break;
	case 4:
		bytes_copy(b, rec, 16);
		err = tp_sa_request(sa, what & 8 ? SA_GET_TABLE : MAD_GET, bytes_u8(b), what, rec, 16, records_told,
				    arg);
		break;
	case 5: tp_sa_forget(sa, what & 8 ? NULL : &gid); break;
	case 6: tp_sa_event(sa, (enum ibv_event_type)(bytes_u8(b) % 20)); break;
	default: r.sm_lid = what & 8 ? OTHER : LID; break;
	}
	r.num_calls += err == 0;
	if (err != 0 && *arg != 0)
		abort();
}

/* --- datagrams ------------------------------------------------------------------------------------------------------ */

static const uint8_t classes[] = {MAD_CLASS_SMP, MAD_CLASS_SMP_DIRECTED, MAD_CLASS_SA, MAD_CLASS_PERF, 0x32, 0x06,
				  0x0a};
static const uint8_t methods[] = {MAD_GET, MAD_SET, MAD_TRAP, MAD_TRAP_REPRESS, SA_GET_TABLE, SA_DELETE, 0x81,
				  0x92,    0x95,    0x03};
static const uint8_t attrs[] = {0x01, 0x02, 0x10, 0x11, 0x12, 0x15, 0x16, 0x18, 0x20, 0x35, 0x38, 0x14};

/* A header that makes sense, then the input's octets; each part may be the input's whole. */
static void
message(struct bytes *b, uint8_t k)
{
	struct tp_mad_packet pkt = {.slid = OTHER, .dlid = LID, .remote_qpn = 1, .qkey = MAD_QP1_QKEY};
	uint8_t *m = pkt.data, *at = m + MAD_DATA_AT;

	mad_init(m, classes[bytes_u8(b) % sizeof(classes)], 1, methods[bytes_u8(b) % sizeof(methods)],
		 attrs[bytes_u8(b) % sizeof(attrs)], bytes_u8(b));
	m[MAD_CLASS_VERSION_AT] = m[MAD_CLASS_AT] == MAD_CLASS_SA ? 2 : 1;
	ib_put32(m + MAD_ATTR_MOD_AT, bytes_u8(b));
	if (m[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED) {
		m[SMP_HOP_POINTER_AT] = m[SMP_HOP_COUNT_AT] = 1 + bytes_u8(b) % 3;
		ib_put32(m + SMP_DR_SLID_AT, UINT32_MAX);
		at = m + SMP_DATA_AT;
	} else if (m[MAD_CLASS_AT] == MAD_CLASS_SA) {
		bytes_copy(b, m + RMPP_VERSION_AT, 12);
		at = m + SA_SM_KEY_AT;
	}
	bytes_copy(b, at, bytes_u8(b) % (size_t)(MAD_SIZE - (at - m)));
	if ((k & 0x80) != 0)
		bytes_copy(b, m, 40);
	pkt.qpn = mad_is_smp(m[MAD_CLASS_AT]) ? 0 : 1;
	pkt.qpn ^= (k & 0x40) != 0;
	tp_mad_input(r.mad, &pkt);
}

/* An answer to one of the last datagrams that left; its record or attribute is the input's. */
static void
reply(struct bytes *b, uint8_t k)
{
	struct tp_mad_packet pkt = r.sent[(r.num_sent - 1 - bytes_u8(b) % 4) % KEPT];
	uint8_t *m = pkt.data;
	bool smp = mad_is_smp(m[MAD_CLASS_AT]);
	uint32_t at = smp ? SMP_DATA_AT : m[MAD_CLASS_AT] == MAD_CLASS_SA ? SA_RECORD_AT : MAD_DATA_AT;

	if (r.num_sent == 0)
		return;
	m[MAD_METHOD_AT] = m[MAD_METHOD_AT] == MAD_SET ? MAD_GET | MAD_RESPONSE : m[MAD_METHOD_AT] ^ MAD_RESPONSE;
	if (m[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED) {
		m[MAD_STATUS_AT] |= SMP_DIRECTION >> 8;
		m[SMP_HOP_POINTER_AT] = 1;
	}
	if ((k & 0x40) != 0 && m[MAD_CLASS_AT] == MAD_CLASS_SA)
		bytes_copy(b, m + RMPP_VERSION_AT, 12);
	if ((k & 0x80) != 0)
		m[MAD_STATUS_AT + 1] = bytes_u8(b);
	ib_put16(m + SA_ATTR_OFFSET_AT, smp ? ib_get16(m + SA_ATTR_OFFSET_AT) : bytes_u8(b) % 32);
	bytes_copy(b, m + at, bytes_u8(b) % 65);
	pkt.slid = pkt.dlid;
	pkt.dlid = LID;
	tp_mad_input(r.mad, &pkt);
}

static void
record(struct bytes *b, struct tp_sa *sa, struct tp_sm *sm)
{
	uint8_t k = bytes_u8(b);
	struct tp_mad_packet pkt = {.slid = OTHER};
	uint16_t keys[4];

	switch (k & 7) {
	case 0:
	case 1: message(b, k); break;
	case 2:
	case 3: reply(b, k); break;
	case 4: call(b, sa); break;
	case 5:
		bytes_copy(b, pkt.data, MAD_SIZE);
		pkt.qpn = k >> 7;
		tp_mad_input(r.mad, &pkt);
		break;
	case 6:
		bytes_copy(b, keys, sizeof(keys));
		if (sm != NULL)
			(void)tp_sm_partitions(sm, keys, k >> 5 & 3);
		break;
	default: progress((uint64_t)(k >> 3) * 20 * MS); return;
	}
	progress(1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tp_mad_ops ops = {port_send, port_process, port_state, port_now};
	const struct tp_mad_agent_conf conf = {.qpn = 1,
					       .mgmt_class = 0x32,
					       .class_version = 1,
					       .methods = {1u << MAD_GET | 1u << MAD_SEND, 0},
					       .rmpp_version = RMPP_VERSION,
					       .recv = echo};
	struct bytes b = {data, size};
	struct tp_sm *sm = NULL;
	struct tp_sm_stats st;
	struct tp_sa *sa;
	uint8_t how = bytes_u8(&b);

	memset(&r, 0, sizeof(r));
	r.now = 1;
	r.sm_lid = how & 1 ? LID : OTHER;
	r.mad = tp_mad_create(&ops, NULL);
	if (r.mad == NULL || tp_sa_create(r.mad, NULL, &sa) != 0 || tp_mad_register(r.mad, &conf, &r.echo) != 0)
		abort();
	if ((how & 1) != 0 && tp_sm_create(r.mad, NULL, &sm) != 0)
		abort();
	for (unsigned int i = 0; i < MAX_RECORDS && b.left != 0; i++)
		record(&b, sa, sm);
	if (sm != NULL)
		tp_sm_stats_get(sm, &st);
	tp_sm_destroy(sm);
	/* Longer than all tries of a request last. */
	for (unsigned int i = 0; i < 20; i++)
		progress(1000 * MS);
	tp_sa_destroy(sa);
	for (unsigned int i = 0; i < r.num_calls; i++) {
		if (r.told[i] != 1)
			abort();
	}
	tp_mad_destroy(r.mad);
	return 0;
}
