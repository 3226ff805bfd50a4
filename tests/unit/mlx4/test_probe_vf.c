/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the driver of PCI functions says to a device that it does not take. */
#include <errno.h>

#include <bus_pci_driver.h>

#include "rig.h"

RTE_TAILQ_HEAD(drivers, rte_pci_driver);

/* The bus shows its list to drivers only: one that stands behind all others finds them. */
static struct rte_pci_driver last = {.driver.name = "behind_all"};

static struct rte_pci_driver *
driver_named(const char *name)
{
	struct rte_pci_driver *d;

	for (d = TAILQ_PREV(&last, drivers, next); d != NULL && strcmp(d->driver.name, name) != 0;
	     d = TAILQ_PREV(d, drivers, next))
		;
	return d;
}

static int
setup(void **state)
{
	rte_pci_register(&last);
	*state = driver_named("net_mlx4_vfio");
	return *state == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	rte_pci_unregister(&last);
	return 0;
}

/* It is ours by its id, so that no other driver gets it, and refused by name: an error ends the search, more than 0 would not. */
static void
test_virtual_function(void **state)
{
	struct rte_pci_driver *driver = *state;
	struct rte_pci_device vf = {.device.name = "0000:03:00.1", .id = {.vendor_id = 0x15b3, .device_id = 0x1004}};
	const struct rte_pci_id *id;

	for (id = driver->id_table; id->vendor_id != 0 && id->device_id != vf.id.device_id; id++)
		;
	assert_int_equal(id->vendor_id, 0x15b3);
	rig_log_begin();
	assert_int_equal(driver->probe(driver, &vf), -ENOTSUP);
	rig_log_one("0000:03:00.1: device 0x1004 is a virtual function", "wanted a physical one (0x1003 or 0x1007)");
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_virtual_function, setup, teardown),
	};

	if (rig_eal("mlx4probe", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
