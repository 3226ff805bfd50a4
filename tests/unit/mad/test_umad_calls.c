/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A program of libibumad whose calls the preload library takes, as libibumad's manual pages say them; a thread serves it. */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "tp_umad.h"

#define M(method) (1ull << (method))
#define VENDOR 0x0a
#define WAIT_MS 20000 /* for what must come */

static struct rig r;
static struct tp_umad *u;
static char dir[32], path[64];
static pthread_t server;
static pthread_mutex_t rig_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ends;
static atomic_uint state_of[3], issm_calls;
static atomic_bool issm_on;

/* The ports 1 and 2 of "card", and the one of "other". */
static void
describe(void *arg, struct tp_umad_desc *d)
{
	unsigned int i = (unsigned int)(uintptr_t)arg;

	snprintf(d->ca, sizeof(d->ca), "%s", i < 2 ? "card" : "other");
	d->port = i < 2 ? i + 1 : 1;
	d->ports = i < 2 ? 2 : 1;
	d->lid = 0x10 * (i + 1);
	d->lmc = i + 1;
	d->sm_lid = 0x123;
	d->sm_sl = 7;
	d->state = state_of[i];
	d->phys_state = 5;
	d->rate = 40 + i;
	d->capmask = 0x02510868 + i;
	d->gid_prefix = 0xfe80000000000000ull;
	d->node_guid = 0x0002c90300a1b200ull;
	d->system_guid = 0x0002c90300a1b203ull;
	d->port_guid = d->node_guid + i + 1;
	d->num_pkeys = 3;
	d->pkeys[0] = 0xffff;
	d->pkeys[1] = 0x8123;
	snprintf(d->fw_ver, sizeof(d->fw_ver), "2.42.5000");
	snprintf(d->hw_ver, sizeof(d->hw_ver), "a0");
	snprintf(d->ca_type, sizeof(d->ca_type), "MT4099");
}

static void
issm(void *arg, bool on)
{
	assert_null(arg);
	issm_on = on;
	issm_calls++;
}

static void *
serve(void *arg)
{
	(void)arg;
	while (!ends) {
		pthread_mutex_lock(&rig_lock);
		tp_umad_progress(u, 1000);
		rig_run(&r, RIG_MS);
		pthread_mutex_unlock(&rig_lock);
	}
	return NULL;
}

static int
up(void **state)
{
	(void)state;
	rig_up(&r);
	ends = issm_on = false;
	issm_calls = 0;
	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = 2;
	strcpy(dir, "/tmp/tpumadXXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(setenv("TP_UMAD_SOCKET", path, 1), 0);
	assert_int_equal(tp_umad_create(path, &u), 0);
	for (unsigned int i = 0; i < 3; i++) {
		const struct tp_umad_port port = {.mad = r.port[i % 2].mad,
						  .describe = describe,
						  .issm = i == 0 ? issm : NULL,
						  .arg = (void *)(uintptr_t)i};

		assert_int_equal(tp_umad_add(u, &port), 0);
	}
	return pthread_create(&server, NULL, serve, NULL);
}

static void
end_server(void)
{
	ends = true;
	pthread_join(server, NULL);
	tp_umad_destroy(u);
	u = NULL;
}

static int
down(void **state)
{
	(void)state;
	if (u != NULL)
		end_server();
	rig_down(&r);
	return rmdir(dir);
}

/* An error is said twice: as what is returned, and in errno. */
static void
assert_fails(int got, int err)
{
	assert_int_equal(got, -err);
	assert_int_equal(errno, err);
}

/* --- adapters and ports ----------------------------------------------------------------------------------------------------- */

static void
adapters_by_name(void **state)
{
	char cas[4][UMAD_CA_NAME_LEN];
	struct umad_device_node *list;

	(void)state;
	assert_int_equal(umad_init(), 0);
	memset(cas, 0xee, sizeof(cas));
	assert_int_equal(umad_get_cas_names(cas, 4), 2);
	assert_string_equal(cas[0], "card");
	assert_string_equal(cas[1], "other");
	assert_int_equal((uint8_t)cas[2][0], 0xee);
	memset(cas, 0xee, sizeof(cas));
	assert_int_equal(umad_get_cas_names(cas, 1), 1);
	assert_string_equal(cas[0], "card");
	assert_int_equal((uint8_t)cas[1][0], 0xee);
	errno = 7;
	list = umad_get_ca_device_list();
	assert_int_equal(errno, 0);
	assert_non_null(list);
	assert_int_equal(umad_sort_ca_device_list(&list, 0), 0);
	assert_string_equal(list->ca_name, "card");
	assert_string_equal(list->next->ca_name, "other");
	assert_null(list->next->next);
	umad_free_ca_device_list(list);
	assert_int_equal(umad_done(), 0);
}

static void
assert_port(const umad_port_t *p, unsigned int i)
{
	assert_string_equal(p->ca_name, i < 2 ? "card" : "other");
	assert_int_equal(p->portnum, i < 2 ? i + 1 : 1);
	assert_int_equal(p->base_lid, 0x10 * (i + 1));
	assert_int_equal(p->lmc, i + 1);
	assert_int_equal(p->sm_lid, 0x123);
	assert_int_equal(p->sm_sl, 7);
	assert_int_equal(p->state, state_of[i]);
	assert_int_equal(p->phys_state, 5);
	assert_int_equal(p->rate, 40 + i);
	assert_int_equal(p->capmask, htobe32(0x02510868 + i));
	assert_int_equal(p->gid_prefix, htobe64(0xfe80000000000000ull));
	assert_int_equal(p->port_guid, htobe64(0x0002c90300a1b201ull + i));
	assert_string_equal(p->link_layer, "InfiniBand");
	assert_int_equal(p->pkeys_size, 3);
	assert_int_equal(p->pkeys[0], 0xffff);
	assert_int_equal(p->pkeys[1], 0x8123);
	assert_int_equal(p->pkeys[2], 0);
}

static void
adapters_in_full(void **state)
{
	__be64 guid[4];
	umad_ca_t ca;

	(void)state;
	assert_int_equal(umad_get_ca("card", &ca), 0);
	assert_string_equal(ca.ca_name, "card");
	assert_int_equal(ca.node_type, 1);
	assert_int_equal(ca.numports, 2);
	assert_string_equal(ca.fw_ver, "2.42.5000");
	assert_string_equal(ca.hw_ver, "a0");
	assert_string_equal(ca.ca_type, "MT4099");
	assert_int_equal(ca.node_guid, htobe64(0x0002c90300a1b200ull));
	assert_int_equal(ca.system_guid, htobe64(0x0002c90300a1b203ull));
	for (unsigned int p = 0; p < UMAD_CA_MAX_PORTS; p++) {
		assert_int_equal(ca.ports[p] != NULL, p == 1 || p == 2);
		if (ca.ports[p] != NULL)
			assert_port(ca.ports[p], p - 1);
	}
	assert_int_equal(umad_release_ca(&ca), 0);
	for (unsigned int p = 0; p < UMAD_CA_MAX_PORTS; p++)
		assert_null(ca.ports[p]);
	assert_int_equal(umad_get_ca("other", &ca), 0);
	assert_int_equal(ca.numports, 1);
	assert_port(ca.ports[1], 2);
	umad_release_ca(&ca);
	/* Without a name: that of the port that is best. */
	state_of[2] = 3;
	assert_int_equal(umad_get_ca(NULL, &ca), 0);
	assert_string_equal(ca.ca_name, "other");
	assert_null(ca.ports[2]);
	umad_release_ca(&ca);
	assert_fails(umad_get_ca("car", &ca), ENODEV);
	/* GUIDs by port number: an adapter has no port 0. */
	memset(guid, 0xee, sizeof(guid));
	assert_int_equal(umad_get_ca_portguids("card", guid, 3), 3);
	assert_int_equal(guid[0], 0);
	assert_int_equal(guid[1], htobe64(0x0002c90300a1b201ull));
	assert_int_equal(guid[2], htobe64(0x0002c90300a1b202ull));
	assert_int_equal((uint8_t)guid[3], 0xee);
	assert_int_equal(umad_get_ca_portguids("card", guid, 2), -ENOMEM);
	assert_int_equal(umad_get_ca_portguids("card", NULL, 0), 0);
	assert_int_equal(umad_get_ca_portguids("car", guid, 3), -ENODEV);
}

/* Number 0 is the port that is most ready, of equals the first. */
static void
ports_are_picked(void **state)
{
	static const struct {
		const char *ca;
		int num, found; /* found: -1 none */
		unsigned int state_of[3];
	} row[] = {
		{"card", 1, 0, {1, 4, 4}},  {"card", 2, 1, {4, 1, 4}},   {"card", 0, 1, {3, 4, 4}},
		{"card", 0, 0, {4, 4, 4}},  {"other", 0, 2, {4, 4, 1}},  {NULL, 0, 2, {3, 2, 4}},
		{NULL, 2, 1, {4, 1, 4}},    {NULL, 0, 0, {2, 2, 2}},     {"card", 3, -1, {4, 4, 4}},
		{"none", 0, -1, {4, 4, 4}}, {"other", 2, -1, {4, 4, 4}},
	};
	char name[128], want[128];
	umad_port_t p;

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		for (unsigned int k = 0; k < 3; k++)
			state_of[k] = row[i].state_of[k];
		if (row[i].found < 0) {
			assert_fails(umad_get_port(row[i].ca, row[i].num, &p), ENODEV);
			assert_fails(umad_get_issm_path(row[i].ca, row[i].num, name, sizeof(name)), ENODEV);
			continue;
		}
		assert_int_equal(umad_get_port(row[i].ca, row[i].num, &p), 0);
		assert_port(&p, (unsigned int)row[i].found);
		assert_int_equal(umad_release_port(&p), 0);
		assert_null(p.pkeys);
		assert_int_equal(p.pkeys_size, 0);
		assert_int_equal(umad_get_issm_path(row[i].ca, row[i].num, name, sizeof(name)), 0);
		snprintf(want, sizeof(want), "%s.issm-%s-%u", path, row[i].found < 2 ? "card" : "other",
			 row[i].found == 1 ? 2u : 1u);
		assert_string_equal(name, want);
	}
}

/* A manager holds its port's file open; the server looks by itself, though nothing is sent. */
static void
managers_are_seen(void **state)
{
	char name[128];

	(void)state;
	assert_int_equal(umad_get_issm_path("card", 1, name, sizeof(name)), 0);
	for (unsigned int i = 0; i < 4; i++) {
		int fd = i % 2 == 0 ? open(name, O_RDONLY | O_NONBLOCK) : -1;

		for (unsigned int ms = 0; issm_calls <= i && ms < WAIT_MS; ms += 5)
			(void)poll(NULL, 0, 5);
		/* Open until it was seen. */
		if (fd >= 0)
			close(fd);
		assert_int_equal(issm_calls, i + 1);
		assert_int_equal(issm_on, i % 2 == 0);
	}
}

/* --- open ports ----------------------------------------------------------------------------------------------------------------- */

struct both {
	struct ib_user_mad um;
	uint8_t mad[MAD_SIZE];
};

static void
ports_open_and_close(void **state)
{
	int a, b;

	(void)state;
	assert_fails(umad_open_port("none", 1), ENODEV);
	assert_fails(umad_open_port(NULL, 7), ENODEV);
	assert_fails(umad_open_port("card", 3), EINVAL);
	a = umad_open_port("card", 1);
	b = umad_open_port("other", 0);
	assert_true(a >= 0 && b >= 0 && a != b);
	assert_int_equal(umad_get_fd(a), a);
	assert_int_equal(umad_get_fd(b), b);
	assert_int_equal(umad_get_fd(1000), -EINVAL);
	assert_int_equal(umad_register(b, VENDOR, 1, 0, NULL), 0);
	assert_int_equal(umad_close_port(a), 0);
	assert_int_equal(umad_close_port(a), -EINVAL);
	assert_int_equal(umad_get_fd(a), -EINVAL);
	/* The other one goes on. */
	assert_int_equal(umad_get_fd(b), b);
	assert_int_equal(umad_register(b, VENDOR, 1, 0, NULL), 1);
	assert_int_equal(umad_close_port(b), 0);
}

static void
agents_register(void **state)
{
	long gets[16 / sizeof(long)] = {0};
	uint8_t oui[3] = {0x00, 0x14, 0x05};
	struct umad_reg_attr attr = {.mgmt_class = VENDOR, .mgmt_class_version = 1, .method_mask = {M(MAD_SET), 0}};
	uint32_t id = 99;
	int fd = umad_open_port("card", 1);

	(void)state;
	gets[0] = 1L << MAD_GET;
	assert_true(fd >= 0);
	assert_int_equal(umad_register(fd, VENDOR, 1, 0, gets), 0);
	assert_fails(umad_register(fd, VENDOR, 1, 0, gets), EPERM);  /* taken */
	assert_fails(umad_register(fd, VENDOR, 1, 1, NULL), EINVAL); /* has no segments */
	assert_fails(umad_register(1000, VENDOR, 1, 0, NULL), EINVAL);
	assert_int_equal(umad_register(fd, VENDOR, 2, 0, gets), 1);
	assert_int_equal(umad_register(fd, 3, 2, 1, NULL), 2);
	assert_fails(umad_register_oui(fd, 0x2f, 0, oui, gets), EINVAL);
	assert_fails(umad_register_oui(fd, 0x50, 0, oui, gets), EINVAL);
	assert_int_equal(umad_register_oui(fd, 0x30, 0, oui, gets), 3);
	assert_int_equal(umad_register_oui(fd, 0x4f, 0, oui, gets), 4);
	assert_fails(umad_register_oui(fd, 0x4f, 0, oui, gets), EPERM);
	oui[1] = 0x15;
	assert_int_equal(umad_register_oui(fd, 0x4f, 0, oui, gets), 5);
	/* The later call says errors as they are. */
	assert_int_equal(umad_register2(fd, NULL, &id), EINVAL);
	assert_int_equal(umad_register2(fd, &attr, NULL), EINVAL);
	attr.flags = 2;
	assert_int_equal(umad_register2(fd, &attr, &id), EINVAL);
	assert_int_equal(attr.flags, UMAD_USER_RMPP); /* what it would take */
	attr.rmpp_version = 1;
	assert_int_equal(umad_register2(fd, &attr, &id), 0);
	assert_int_equal(id, 6);
	attr.flags = 0;
	attr.rmpp_version = 0;
	assert_int_equal(umad_register2(fd, &attr, &id), EBUSY);
	assert_int_equal(umad_register2(1000, &attr, &id), EINVAL);
	attr.method_mask[0] = 0;
	attr.method_mask[1] = 1;
	assert_int_equal(umad_register2(fd, &attr, &id), 0);
	assert_int_equal(id, 7);
	assert_int_equal(umad_unregister(fd, 0), 0);
	assert_fails(umad_unregister(fd, 0), EINVAL);
	assert_fails(umad_unregister(1000, 1), EINVAL);
	assert_int_equal(umad_register(fd, VENDOR, 1, 0, gets), 0);
	assert_int_equal(umad_close_port(fd), 0);
}

/* A request by LID to the adapter's second port; its answer. */
static void
datagrams_go_and_come(void **state)
{
	struct both out = {.um = {.addr = {.lid = htobe16(0x20)}}}, got;
	int fd = umad_open_port("card", 1), id, len;

	(void)state;
	assert_int_equal(umad_size(), sizeof(struct ib_user_mad));
	assert_ptr_equal(umad_get_mad(&out), out.mad);
	assert_int_equal(umad_set_pkey(&out, 0x10102), 0);
	assert_int_equal(umad_get_pkey(&out), 0x0102);
	assert_int_equal(out.um.addr.pkey_index, 0x0102);
	assert_int_equal(umad_set_pkey(&out, 0), 0);
	assert_int_equal(umad_register(fd, VENDOR, 1, 0, NULL), 0);
	id = umad_register(fd, MAD_CLASS_SMP, 1, 0, NULL);
	assert_int_equal(id, 1);
	/* Nothing is there yet. */
	len = MAD_SIZE;
	assert_fails(umad_poll(fd, 5), ETIMEDOUT);
	assert_fails(umad_poll(1 << 20, 5), EIO); /* no descriptor that is open */
	assert_fails(umad_recv(fd, &got, &len, 5), ETIMEDOUT);
	assert_fails(umad_recv(fd, &got, &len, 0), EWOULDBLOCK);
	assert_fails(umad_recv(fd, NULL, &len, 0), EINVAL);
	assert_fails(umad_recv(fd, &got, NULL, 0), EINVAL);
	len = -1;
	assert_fails(umad_recv(fd, &got, &len, 0), EINVAL);
	mad_init(out.mad, MAD_CLASS_SMP, 1, MAD_GET, SMP_ATTR_NODE_DESC, 0x99);
	assert_fails(umad_send(fd, -1, &out, MAD_SIZE, 1000, 0), EINVAL);
	assert_fails(umad_send(fd, id, &out, -1, 1000, 0), EINVAL);
	assert_int_equal(umad_send(fd, id, &out, MAD_SIZE, WAIT_MS, 3), 0);
	assert_int_equal(umad_poll(fd, WAIT_MS), 0);
	/* Into a buffer that is too small it does not come, but says how long it is. */
	len = MAD_SIZE - 1;
	assert_fails(umad_recv(fd, &got, &len, WAIT_MS), ENOSPC);
	assert_int_equal(len, MAD_SIZE);
	memset(&got, 0xee, sizeof(got));
	assert_int_equal(umad_recv(fd, &got, &len, WAIT_MS), id);
	assert_int_equal(len, MAD_SIZE);
	assert_int_equal(got.um.status, 0);
	assert_int_equal(be16toh(got.um.addr.lid), 0x20);
	assert_int_equal(got.mad[MAD_METHOD_AT], 0x81);
	assert_memory_equal(got.mad + SMP_DATA_AT, "rig 1", 5);
	assert_fails(umad_recv(fd, &got, &len, 0), EWOULDBLOCK);
	assert_int_equal(umad_close_port(fd), 0);
}

/* Nobody has that LID: after the tries that were asked for, the header comes back. */
static void
requests_run_out_of_time(void **state)
{
	struct both out = {.um = {.addr = {.lid = htobe16(0x30), .qpn = htobe32(1)}}}, got;
	int fd = umad_open_port("card", 1), len = MAD_SIZE, id;
	uint64_t sent;

	(void)state;
	(void)umad_register(fd, VENDOR, 1, 0, NULL);
	id = umad_register(fd, VENDOR, 1, 0, NULL);
	mad_init(out.mad, VENDOR, 1, MAD_GET, 7, 0x99);
	assert_int_equal(umad_send(fd, id, &out, MAD_SIZE, 10, 2), 0);
	memset(&got, 0xee, sizeof(got));
	assert_int_equal(umad_recv(fd, &got, &len, WAIT_MS), id);
	assert_int_equal(got.um.status, ETIMEDOUT);
	assert_int_equal(len, 24);
	assert_int_equal(be16toh(got.um.addr.lid), 0x30);
	pthread_mutex_lock(&rig_lock);
	sent = r.sent;
	pthread_mutex_unlock(&rig_lock);
	assert_int_equal(sent, 3);
	assert_int_equal(umad_close_port(fd), 0);
	errno = 0;
	assert_fails(umad_send(fd, id, &out, MAD_SIZE, 10, 2), EIO);
}

static uint64_t
ms_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Calls fail, those in a loop slowly: what waits does so for as long as it wanted. */
static void
the_server_goes(void **state)
{
	struct both out = {.um = {.addr = {.lid = htobe16(0x20)}}};
	int fd = umad_open_port("card", 1), len = MAD_SIZE;
	char cas[4][UMAD_CA_NAME_LEN], name[128];
	uint64_t since;
	umad_port_t p;
	umad_ca_t ca;

	(void)state;
	assert_int_equal(umad_register(fd, VENDOR, 1, 0, NULL), 0);
	end_server();
	assert_int_equal(umad_get_cas_names(cas, 4), 0);
	assert_null(umad_get_ca_device_list());
	assert_int_equal(errno, 0);
	assert_fails(umad_get_ca("card", &ca), ENODEV);
	assert_fails(umad_get_port("card", 1, &p), ENODEV);
	assert_fails(umad_get_issm_path("card", 1, name, sizeof(name)), ENODEV);
	assert_fails(umad_open_port("card", 1), ENODEV);
	assert_fails(umad_register(fd, VENDOR, 1, 0, NULL), EPERM);
	assert_fails(umad_unregister(fd, 0), EINVAL);
	since = ms_now();
	assert_fails(umad_recv(fd, &out, &len, 60), EIO);
	assert_in_range(ms_now() - since, 59, UINT64_MAX);
	assert_fails(umad_recv(fd, &out, &len, 0), EIO);
	since = ms_now();
	assert_fails(umad_send(fd, 0, &out, MAD_SIZE, 10, 0), EIO);
	assert_in_range(ms_now() - since, 99, UINT64_MAX);
	assert_int_equal(umad_close_port(fd), 0);
	/* No socket has such a path. */
	memset(name, 'a', sizeof(name));
	name[127] = '\0';
	assert_int_equal(setenv("TP_UMAD_SOCKET", name, 1), 0);
	assert_int_equal(umad_get_cas_names(cas, 4), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(adapters_by_name),      T(adapters_in_full),         T(ports_are_picked),
		T(ports_open_and_close),  T(managers_are_seen),        T(agents_register),
		T(datagrams_go_and_come), T(requests_run_out_of_time), T(the_server_goes),
	};

	return cmocka_run_group_tests_name("calls of libibumad", tests, NULL, NULL);
}
