/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The home of a service on a port that the test plays: what the firmware says of it, what comes in, who is told, who ends it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>

#include "lib/mad/service/service_priv.h"
#include "tp_mad_port.h"
#include "tp_roce.h"
#include "tests/unit/eal.h"

#define NS_100_MS 100000000ull

/* --- a port ---------------------------------------------------------------------------------------------------------------- */

static struct {
	uint8_t node_info[64], port_info[64];
	unsigned int asked;                                       /* of the firmware */
	int process_err, input_err, send_err, status, open_errno; /* positive errno */
	unsigned int sent, caps_calls, closed;
	struct tp_mad_packet last;
	uint32_t caps_set, caps_clear;
	void (*input)(void *arg, const struct tp_mad_packet *pkt);
	void *arg;
	atomic_int events, acked; /* that are there; that were seen */
} port;
static struct ibv_device device = {.name = "card/1"};
static struct ibv_context ctx = {.device = &device};

int
tp_mad_port_process(struct ibv_context *c, const struct tp_mad_packet *in, struct tp_mad_packet *out)
{
	uint16_t attr = ib_get16(in->data + MAD_ATTR_AT);
	uint32_t mod = ib_get32(in->data + MAD_ATTR_MOD_AT);

	assert_ptr_equal(c, &ctx);
	port.asked++;
	if (port.process_err != 0)
		return port.process_err;
	memcpy(out->data, in->data, MAD_SIZE);
	out->data[MAD_METHOD_AT] = MAD_GET | MAD_RESPONSE;
	ib_put16(out->data + MAD_STATUS_AT, (uint16_t)port.status);
	if (attr == SMP_ATTR_NODE_INFO)
		memcpy(out->data + SMP_DATA_AT, port.node_info, 64);
	else if (attr == SMP_ATTR_PORT_INFO)
		memcpy(out->data + SMP_DATA_AT, port.port_info, 64);
	for (uint32_t i = 0; attr == SMP_ATTR_PKEY_TABLE && i < 32; i++)
		ib_put16(out->data + SMP_DATA_AT + 2 * i, (uint16_t)(0x8100 + 32 * mod + i));
	return 0;
}

int
tp_mad_port_send(struct ibv_context *c, const struct tp_mad_packet *pkt)
{
	assert_ptr_equal(c, &ctx);
	port.sent++;
	port.last = *pkt;
	return port.send_err;
}

int
tp_mad_port_set_input(struct ibv_context *c, void (*cb)(void *arg, const struct tp_mad_packet *pkt), void *arg)
{
	assert_ptr_equal(c, &ctx);
	if (port.input_err != 0)
		return port.input_err;
	port.input = cb;
	port.arg = arg;
	return 0;
}

int
tp_mad_port_caps(struct ibv_context *c, uint32_t set, uint32_t clear)
{
	assert_ptr_equal(c, &ctx);
	port.caps_calls++;
	port.caps_set = set;
	port.caps_clear = clear;
	return 0;
}

int
tp_roce_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
	assert_ptr_equal(c, &ctx);
	memset(attr, 0, sizeof(*attr));
	memcpy(attr->fw_ver, "2.42.5000-of-a-card-with-a-long-version", 40);
	return 0;
}

struct ibv_context *
tp_roce_open_ib(const char *name, const struct tp_roce_conf *conf)
{
	assert_null(conf);
	errno = port.open_errno;
	return strcmp(name, device.name) == 0 ? &ctx : NULL;
}

int
tp_roce_close_device(struct ibv_context *c)
{
	assert_ptr_equal(c, &ctx);
	port.closed++;
	return 0;
}

unsigned int
tp_roce_progress(struct ibv_context *c)
{
	assert_ptr_equal(c, &ctx);
	return 0;
}

int
tp_roce_get_async_event(struct ibv_context *c, struct ibv_async_event *event)
{
	assert_ptr_equal(c, &ctx);
	if (atomic_load(&port.events) == 0)
		return EAGAIN;
	atomic_fetch_sub(&port.events, 1);
	event->event_type = IBV_EVENT_LID_CHANGE;
	return 0;
}

void
tp_roce_ack_async_event(struct ibv_async_event *event)
{
	assert_int_equal(event->event_type, IBV_EVENT_LID_CHANGE);
	atomic_fetch_add(&port.acked, 1);
}

/* NodeInfo and PortInfo as 14.2.5.3 and 14.2.5.6 have them. */
static int
port_up(void **state)
{
	uint8_t *ni = port.node_info, *pi = port.port_info;
	int fd[2];

	(void)state;
	memset(&port, 0, sizeof(port));
	ni[2] = 1;
	ni[3] = 2;
	ib_put64(ni + 4, 0x0002c90300111110ull);
	ib_put64(ni + 12, 0x0002c90300222220ull);
	ib_put64(ni + 20, 0x0002c90300333332ull);
	ib_put16(ni + 28, 40);
	ib_put16(ni + 30, 4099);
	ib_put32(ni + 32, 0x1a);
	ni[36] = 2;
	ib_put64(pi + 8, 0xfe80000000000000ull);
	ib_put16(pi + 16, 0x1234);
	ib_put16(pi + 18, 0x5678);
	ib_put32(pi + 20, 0x0251486a);
	pi[31] = 2;
	pi[32] = 0x54;
	pi[33] = 0x52;
	pi[34] = 0xc5;
	pi[35] = 0x44;
	pi[36] = 0x4b;
	assert_int_equal(pipe(fd), 0);
	close(fd[1]);
	ctx.async_fd = fd[0];
	return 0;
}

static int
port_down(void **state)
{
	(void)state;
	close(ctx.async_fd);
	return 0;
}

static struct tp_mad_service *
service(void)
{
	struct tp_mad_service *s = NULL;

	assert_int_equal(mad_service_new(&ctx, &s), 0);
	assert_non_null(port.input);
	return s;
}

static uint64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* --- what it is ---------------------------------------------------------------------------------------------------------------- */

static void
described_to_programs(void **state)
{
	static const struct {
		uint16_t cap;
		uint32_t num;
	} tables[] = {{1, 1}, {40, 40}, {64, 64}, {128, 128}, {200, 128}};
	struct tp_umad_desc d;

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		struct tp_mad_service *s;

		ib_put16(port.node_info + 28, tables[i].cap);
		s = service();
		memset(&d, 0xff, sizeof(d));
		tp_mad_service_describe(s, &d);
		assert_int_equal(d.num_pkeys, tables[i].num);
		for (unsigned int k = 0; k < TP_UMAD_PKEYS; k++)
			assert_int_equal(d.pkeys[k], k < tables[i].num ? 0x8100 + k : 0);
		mad_service_free(s);
	}
	/* Ports of a card are devices of their own, and to programs one adapter's. */
	assert_string_equal(d.ca, "card");
	assert_int_equal(d.port, 2);
	assert_int_equal(d.ports, 2);
	assert_int_equal(d.system_guid, 0x0002c90300111110ull);
	assert_int_equal(d.node_guid, 0x0002c90300222220ull);
	assert_int_equal(d.port_guid, 0x0002c90300333332ull);
	assert_int_equal(d.gid_prefix, 0xfe80000000000000ull);
	assert_int_equal(d.lid, 0x1234);
	assert_int_equal(d.sm_lid, 0x5678);
	assert_int_equal(d.capmask, 0x0251486a);
	assert_int_equal(d.state, 4);
	assert_int_equal(d.phys_state, 5);
	assert_int_equal(d.lmc, 5);
	assert_int_equal(d.sm_sl, 11);
	assert_int_equal(d.rate, 40);
	assert_string_equal(d.ca_type, "MT4099");
	assert_string_equal(d.hw_ver, "1a");
	assert_string_equal(d.fw_ver, "2.42.5000-of-a-card"); /* as much as there is room for */
}

/* As Linux says it in whole Gb/s: lanes by 2.5, 5 and 10, or, where the port has extended speeds, by 14 and 25. */
static void
rates(void **state)
{
	static const struct {
		uint8_t width, speed, ext;
		bool has_ext;
		uint32_t rate;
	} row[] = {
		{1, 1, 0, false, 2},  {2, 1, 0, false, 10}, {4, 1, 0, false, 20}, {8, 1, 0, false, 30},
		{1, 2, 0, false, 5},  {2, 2, 0, false, 20}, {4, 2, 0, false, 40}, {8, 2, 0, false, 60},
		{1, 4, 0, false, 10}, {2, 4, 0, false, 40}, {4, 4, 0, false, 80}, {8, 4, 0, false, 120},
		{1, 4, 1, true, 14},  {2, 4, 1, true, 56},  {8, 4, 1, true, 168}, {2, 4, 2, true, 100},
		{2, 4, 1, false, 40}, {2, 4, 0, true, 40},  {8, 4, 2, true, 300},
	};
	struct tp_mad_service *s = service();
	struct tp_umad_desc d;

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		port.port_info[31] = row[i].width;
		port.port_info[35] = (uint8_t)(row[i].speed << 4 | 0xf);
		port.port_info[62] = (uint8_t)(row[i].ext << 4 | 0xf);
		ib_put32(port.port_info + 20, row[i].has_ext ? 1u << 14 : ~(1u << 14));
		tp_mad_service_describe(s, &d);
		assert_int_equal(d.rate, row[i].rate);
	}
	mad_service_free(s);
}

/* What agents are told of the port is the firmware's word, for a tenth of a second or until something was set. */
static void
the_firmwares_word(void **state)
{
	struct tp_mad_service *s = service();
	struct tp_mad_port_state st;
	uint64_t begun, ended;
	unsigned int asked;

	(void)state;
	tp_mad_port_state_get(s->mad, &st);
	assert_int_equal(st.lid, 0x1234);
	assert_int_equal(st.sm_lid, 0x5678);
	assert_int_equal(st.lmc, 5);
	assert_int_equal(st.sm_sl, 11);
	assert_int_equal(st.port_num, 2);
	assert_true(st.active);
	assert_int_equal(ib_get64(st.gid.raw), 0xfe80000000000000ull);
	assert_int_equal(ib_get64(st.gid.raw + 8), 0x0002c90300333332ull);
	/* Not asked again at once; a try that took longer says nothing. */
	do {
		s->fresh_until = 0;
		begun = now();
		tp_mad_port_state_get(s->mad, &st);
		asked = port.asked;
		tp_mad_port_state_get(s->mad, &st);
		ended = now();
	} while (ended - begun >= NS_100_MS);
	assert_int_equal(port.asked, asked);
	assert_in_range(s->fresh_until, begun + NS_100_MS, ended + NS_100_MS);
	s->fresh_until = 0;
	port.port_info[32] = 0x52;
	ib_put16(port.port_info + 16, 0x99);
	tp_mad_port_state_get(s->mad, &st);
	assert_int_equal(st.lid, 0x99);
	assert_false(st.active);
	/* The last word stays, when there is no other. */
	for (unsigned int i = 0; i < 2; i++) {
		port.process_err = i == 0 ? EIO : 0;
		port.status = i == 0 ? 0 : MAD_BAD_VALUE;
		ib_put16(port.port_info + 16, 0x11);
		s->fresh_until = 0;
		tp_mad_port_state_get(s->mad, &st);
		assert_int_equal(st.lid, 0x99);
	}
	mad_service_free(s);
}

/* --- what comes ------------------------------------------------------------------------------------------------------------------- */

static void
question(struct tp_mad_packet *p, uint8_t method, uint32_t tid)
{
	*p = (struct tp_mad_packet){.qpn = 0, .slid = 0x20, .dlid = 0x1234};
	mad_init(p->data, MAD_CLASS_SMP, 1, method, SMP_ATTR_PORT_INFO, tid);
}

/* The firmware's answer goes back; what it refuses is refused for all, what it calls malformed has no answer. */
static void
the_firmware_answers(void **state)
{
	static const struct {
		uint8_t method;
		int err;
		unsigned int sent;
		uint16_t status;
	} row[] = {
		{MAD_GET, 0, 1, 0},
		{MAD_SET, 0, 1, 0},
		{MAD_GET, EINVAL, 0, 0},
		{MAD_GET, ENODATA, 1, MAD_BAD_METHOD_ATTR},
		{MAD_GET, EIO, 1, MAD_BAD_METHOD_ATTR},
		{MAD_TRAP_REPRESS, ENODATA, 0, 0},
	};
	struct tp_mad_service *s = service();
	struct tp_mad_packet p;

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		port.process_err = row[i].err;
		port.sent = 0;
		question(&p, row[i].method, 0x70 + i);
		port.input(port.arg, &p);
		assert_int_equal(port.sent, 0); /* not in the receiver's call */
		assert_int_equal(mad_service_progress(s), 1);
		assert_int_equal(port.sent, row[i].sent);
		if (port.sent != 0) {
			assert_int_equal(port.last.dlid, 0x20);
			assert_int_equal(ib_get16(port.last.data + MAD_STATUS_AT), row[i].status);
			assert_int_equal(ib_get32(port.last.data + MAD_TID_AT + 4), 0x70 + i);
		}
		/* It may have changed the port. */
		assert_int_equal(s->fresh_until, 0);
	}
	mad_service_free(s);
}

/* 512 datagrams wait in their order; what comes then is counted. What cannot be sent for lack of room is sent later. */
static void
what_waits(void **state)
{
	struct tp_mad_service *s = service();
	struct tp_mad_packet p;

	(void)state;
	for (unsigned int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 515; i++) {
			question(&p, MAD_GET, i);
			port.input(port.arg, &p);
		}
		assert_int_equal(tp_mad_service_dropped(s), 3 * (round + 1));
		port.sent = 0;
		assert_int_equal(mad_service_progress(s), 512);
		assert_int_equal(port.sent, 512);
		assert_int_equal(ib_get32(port.last.data + MAD_TID_AT + 4), 511);
		assert_int_equal(mad_service_progress(s), 0);
		/* The ring begins somewhere else the next time. */
		for (uint32_t i = 0; i < 300; i++)
			port.input(port.arg, &p);
		assert_int_equal(mad_service_progress(s), 300);
	}
	port.send_err = EAGAIN;
	port.input(port.arg, &p);
	(void)mad_service_progress(s);
	port.send_err = 0;
	port.sent = 0;
	(void)mad_service_progress(s);
	assert_int_equal(port.sent, 1);
	mad_service_free(s);
}

/* "Is a subnet manager" is bit 1 of the capabilities, while at least one says so, also when the service ends before. */
static void
managers_are_counted(void **state)
{
	static const struct {
		bool on;
		unsigned int calls;
		uint32_t set, clear;
	} row[] = {{true, 1, 2, 0}, {true, 1, 2, 0}, {false, 1, 2, 0}, {false, 2, 0, 2}, {true, 3, 2, 0}};
	struct tp_mad_service *s = service();

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		tp_mad_service_issm(s, row[i].on);
		assert_int_equal(port.caps_calls, row[i].calls);
		assert_int_equal(port.caps_set, row[i].set);
		assert_int_equal(port.caps_clear, row[i].clear);
	}
	mad_service_free(s);
	assert_int_equal(port.caps_calls, 4);
	assert_int_equal(port.caps_clear, 2);
	assert_null(port.input);
	s = service();
	mad_service_free(s);
	assert_int_equal(port.caps_calls, 4);
}

/* --- life ---------------------------------------------------------------------------------------------------------------------- */

static void
a_start_that_fails(void **state)
{
	struct tp_mad_service *s = NULL;

	(void)state;
	port.process_err = ENOTSUP;
	assert_int_equal(mad_service_new(&ctx, &s), -ENOTSUP);
	assert_int_equal(tp_mad_service_open("card/1", &s), -ENOTSUP);
	assert_int_equal(port.closed, 1);
	port.process_err = 0;
	port.status = MAD_BAD_VALUE;
	assert_int_equal(mad_service_new(&ctx, &s), -EIO);
	port.status = 0;
	port.input_err = EBUSY;
	assert_int_equal(mad_service_new(&ctx, &s), -EBUSY);
	port.input_err = 0;
	port.open_errno = ENODEV;
	assert_int_equal(tp_mad_service_open("card/3", &s), -ENODEV);
	port.open_errno = 0;
	assert_int_equal(tp_mad_service_open("card/3", &s), -EIO);
	assert_null(mad_service_find("card/1"));
	assert_int_equal(port.closed, 1);
}

static atomic_uint told[3];
static struct tp_mad_service *shared;

static void
listener(void *arg, const struct ibv_async_event *event)
{
	unsigned int i = (unsigned int)(uintptr_t)arg;

	assert_int_equal(event->event_type, IBV_EVENT_LID_CHANGE);
	assert_int_equal(shared->fresh_until, 0);
	atomic_fetch_add(&told[i], 1);
	/* The last one that came is told first, and takes itself away. */
	if (i == 2)
		tp_mad_service_unlisten(shared, listener, arg);
}

static void
other(void *arg, const struct ibv_async_event *event)
{
	(void)arg, (void)event;
}

static void
event_comes(void)
{
	int acked = atomic_load(&port.acked);

	atomic_fetch_add(&port.events, 1);
	for (unsigned int i = 0; i < 60000 && atomic_load(&port.acked) == acked; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&port.acked), acked + 1);
}

/* All who open a port share its service, and hear of its events; with the last one it ends. */
static void
shared_by_all(void **state)
{
	struct tp_mad_service *again;

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		atomic_store(&told[i], 0);
	assert_int_equal(tp_mad_service_open("card/1", &shared), 0);
	assert_int_equal(tp_mad_service_open("card/1", &again), 0);
	assert_ptr_equal(shared, again);
	assert_ptr_equal(tp_mad_service_ctx(shared), &ctx);
	assert_non_null(tp_mad_service_sa(shared));
	assert_non_null(tp_mad_service_mad(shared));
	assert_int_equal(fcntl(ctx.async_fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	for (uintptr_t i = 0; i < 3; i++)
		assert_int_equal(tp_mad_service_listen(shared, listener, (void *)i), 0);
	event_comes();
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(atomic_load(&told[i]), 1);
	/* Only who is meant is taken away: this function with this argument. */
	tp_mad_service_unlisten(shared, other, (void *)1);
	tp_mad_service_unlisten(shared, listener, (void *)7);
	tp_mad_service_unlisten(shared, listener, (void *)0);
	event_comes();
	assert_int_equal(atomic_load(&told[0]), 1);
	assert_int_equal(atomic_load(&told[1]), 2);
	assert_int_equal(atomic_load(&told[2]), 1);
	/* Who listens twice ends once. */
	assert_int_equal(tp_mad_service_listen(shared, listener, (void *)1), 0);
	assert_int_equal(tp_mad_service_listen(shared, other, NULL), 0);
	event_comes();
	assert_int_equal(atomic_load(&told[1]), 4);
	tp_mad_service_unlisten(shared, listener, (void *)1);
	event_comes();
	assert_int_equal(atomic_load(&told[1]), 5);
	tp_mad_service_unlisten(shared, other, NULL);
	for (unsigned int i = 1; i < TP_MAD_LISTENERS; i++)
		assert_int_equal(tp_mad_service_listen(shared, other, NULL), 0);
	assert_int_equal(tp_mad_service_listen(shared, other, NULL), -ENOSPC);
	tp_mad_service_close(shared);
	assert_int_equal(port.closed, 0);
	event_comes();
	assert_int_equal(atomic_load(&told[1]), 6);
	tp_mad_service_close(shared);
	assert_int_equal(port.closed, 1);
	assert_null(port.input);
	assert_null(mad_service_find("card/1"));
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, port_up, port_down)
	const struct CMUnitTest tests[] = {
		T(described_to_programs), T(rates),         T(the_firmwares_word),
		T(the_firmware_answers),  T(what_waits),    T(managers_are_counted),
		T(a_start_that_fails),    T(shared_by_all),
	};

	/* Whose threads for control the service's is one of. */
	assert_true(unit_eal("test", "16", NULL) >= 0);
	return cmocka_run_group_tests_name("service of a port", tests, NULL, NULL);
}
