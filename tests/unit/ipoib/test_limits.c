/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How many IPoIB ports an InfiniBand port and a card have, on cards whose subnet never comes up. */
#include <errno.h>

#include "link_rig.h"
#include "lib/ipoib/port/port.h"
#include "tp_mad_service.h"

#define PKEY 0x8001u

int ipoib_logtype;

/* --- a card without a subnet -------------------------------------------------------------------------------------------- */

static char service;

int
tp_mad_service_open(const char *device, struct tp_mad_service **s)
{
	*s = (struct tp_mad_service *)&service;
	return strncmp(device, "none", 4) == 0 ? -ENODEV : 0;
}

void
tp_mad_service_close(struct tp_mad_service *s)
{
	assert_ptr_equal(s, &service);
}

struct ibv_context *
tp_mad_service_ctx(struct tp_mad_service *s)
{
	assert_ptr_equal(s, &service);
	return NULL;
}

struct tp_sa *
tp_mad_service_sa(struct tp_mad_service *s)
{
	assert_ptr_equal(s, &service);
	return NULL;
}

int
tp_mad_service_listen(struct tp_mad_service *s, tp_mad_event_cb cb, void *arg)
{
	(void)s, (void)cb, (void)arg;
	return 0;
}

void
tp_mad_service_unlisten(struct tp_mad_service *s, tp_mad_event_cb cb, const void *arg)
{
	(void)s, (void)cb, (void)arg;
}

int
tp_roce_query_port(struct ibv_context *ctx, uint8_t num, struct ibv_port_attr *attr)
{
	(void)ctx, (void)num;
	memset(attr, 0, sizeof(*attr));
	return 0;
}

int
tp_roce_query_gid(struct ibv_context *ctx, uint8_t num, int index, union ibv_gid *gid)
{
	(void)ctx, (void)num, (void)index;
	memset(gid, 0, sizeof(*gid));
	return 0;
}

/* Ports that are not started take part in nothing of this. */
int
tp_roce_query_pkey(struct ibv_context *ctx, uint8_t num, int index, __be16 *pkey)
{
	(void)ctx, (void)num, (void)index, (void)pkey;
	return EINVAL;
}

unsigned int
ipoib_io_work(struct ipoib_port *p)
{
	(void)p;
	return 0;
}

void
ipoib_publish(struct ipoib_port *p, struct ipoib_view *v)
{
	(void)p, (void)v;
}

void
ipoib_retired_free(struct ipoib_port *p)
{
	(void)p;
}

bool
ipoib_queues_broken(const struct ipoib_port *p)
{
	(void)p;
	return false;
}

int
ipoib_queues_ready(struct ipoib_port *p)
{
	(void)p;
	return -EIO;
}

void
ipoib_queues_reset(struct ipoib_port *p)
{
	(void)p;
}

/* --- the limits ----------------------------------------------------------------------------------------------------------- */

static const char *const names[] = {"card0/1", "card0/2", "card1/1", "card01/1"};
#define DEVICES RTE_DIM(names)
static struct ipoib_device *device[DEVICES];
static struct rig rig; /* what runs DPDK's clock */
static struct ipoib_port port[DEVICES][TP_IPOIB_PORTS_PER_PORT + 1];

static int
begin(void **state)
{
	(void)state;
	rig_open(&rig);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static int
setup(void **state)
{
	unsigned int i, k;
	int err;

	(void)state;
	memset(port, 0, sizeof(port));
	for (i = 0; i < DEVICES; i++) {
		device[i] = ipoib_device_get(names[i], &err);
		assert_int_equal(err, 0);
		assert_non_null(device[i]);
		for (k = 0; k < RTE_DIM(port[i]); k++)
			port[i][k].conf.pkey = (uint16_t)(PKEY + k);
	}
	return 0;
}

static int
teardown(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < DEVICES; i++)
		ipoib_device_put(device[i]);
	return 0;
}

static void
fill(unsigned int i, unsigned int n)
{
	unsigned int k;

	for (k = 0; k < n; k++)
		assert_int_equal(ipoib_device_add(device[i], &port[i][k]), 0);
}

static void
empty(unsigned int i, unsigned int n)
{
	unsigned int k;

	for (k = 0; k < n; k++)
		ipoib_device_del(device[i], &port[i][k]);
}

static void
thirty_two_of_a_port(void **state)
{
	struct ipoib_port *more = &port[0][TP_IPOIB_PORTS_PER_PORT];

	(void)state;
	assert_int_equal(TP_IPOIB_PORTS_PER_PORT, 32);
	fill(0, TP_IPOIB_PORTS_PER_PORT);
	assert_int_equal(ipoib_device_add(device[0], more), -ENOSPC);
	/* The place of one that went. */
	ipoib_device_del(device[0], &port[0][3]);
	assert_int_equal(ipoib_device_add(device[0], more), 0);
	assert_int_equal(ipoib_device_add(device[0], &port[0][3]), -ENOSPC);
	ipoib_device_del(device[0], more);
	assert_int_equal(ipoib_device_add(device[0], &port[0][3]), 0);
	empty(0, TP_IPOIB_PORTS_PER_PORT);
}

/* Another card has its own, also one whose name begins alike; with two ports only a third one is in need of this limit. */
static void
sixty_four_of_a_card(void **state)
{
	struct ipoib_device *third;
	unsigned int i;
	int err;

	(void)state;
	assert_int_equal(TP_IPOIB_PORTS_PER_CARD, 64);
	for (i = 0; i < DEVICES; i++)
		fill(i, TP_IPOIB_PORTS_PER_PORT);
	for (i = 0; i < DEVICES; i++)
		assert_int_equal(ipoib_device_add(device[i], &port[i][TP_IPOIB_PORTS_PER_PORT]), -ENOSPC);
	third = ipoib_device_get("card0/3", &err);
	assert_non_null(third);
	assert_int_equal(ipoib_device_add(third, &port[0][TP_IPOIB_PORTS_PER_PORT]), -ENOSPC);
	ipoib_device_put(third);
	for (i = 0; i < DEVICES; i++)
		empty(i, TP_IPOIB_PORTS_PER_PORT);
}

/* Full and partial members are of one partition. */
static void
one_of_a_partition(void **state)
{
	(void)state;
	fill(0, 1);
	port[0][1].conf.pkey = PKEY;
	assert_int_equal(ipoib_device_add(device[0], &port[0][1]), -EEXIST);
	port[0][1].conf.pkey = PKEY & IB_PKEY_MASK;
	assert_int_equal(ipoib_device_add(device[0], &port[0][1]), -EEXIST);
	/* The other port of the card is in another subnet. */
	assert_int_equal(ipoib_device_add(device[1], &port[1][0]), 0);
	/* All other 15 bits tell partitions apart. */
	port[0][1].conf.pkey = PKEY | 0x4000;
	assert_int_equal(ipoib_device_add(device[0], &port[0][1]), 0);
	empty(0, 2);
	empty(1, 1);
}

static void
no_device(void **state)
{
	struct ipoib_device *d;
	int err;

	(void)state;
	assert_null(ipoib_device_get("none/1", &err));
	assert_int_equal(err, -ENODEV);
	d = ipoib_device_get(names[0], &err);
	assert_ptr_equal(d, device[0]);
	ipoib_device_put(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(thirty_two_of_a_port, setup, teardown),
		cmocka_unit_test_setup_teardown(sixty_four_of_a_card, setup, teardown),
		cmocka_unit_test_setup_teardown(one_of_a_partition, setup, teardown),
		cmocka_unit_test_setup_teardown(no_device, setup, teardown),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
