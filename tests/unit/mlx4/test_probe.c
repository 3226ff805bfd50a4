/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which devices the drivers take, and what they say to the others; this program asks the PCI driver in its bus's place. */
#include <errno.h>
#include <sys/mman.h>

#include <bus_pci_driver.h>
#include <rte_devargs.h>
#include <rte_errno.h>

#include "drivers/mlx4/bus/open.h"
#include "drivers/mlx4/port/compat.h"
#include "rig.h"

static struct rte_pci_driver *pci;

/* The bus's list of drivers; one is in it before any other. */
static RTE_TAILQ_HEAD(, MLX4_PCI_LIST_TAG) drivers = TAILQ_HEAD_INITIALIZER(drivers);
static struct rte_pci_driver earlier;

void
rte_pci_register(struct rte_pci_driver *driver)
{
	if (TAILQ_EMPTY(&drivers))
		TAILQ_INSERT_TAIL(&drivers, MLX4_PCI_LIST_OF(&earlier), next);
	TAILQ_INSERT_TAIL(&drivers, MLX4_PCI_LIST_OF(driver), next);
	if (driver->driver.name != NULL && strcmp(driver->driver.name, "net_mlx4_vfio") == 0)
		pci = driver;
}

/* At the end of the program, those of DPDK's drivers that it has loaded. */
void
rte_pci_unregister(struct rte_pci_driver *driver)
{
}

/* ConnectX-3, its virtual function, ConnectX-3 Pro; with BARs that are mapped, and link interrupts. */
static void
test_pci_ids(void **state)
{
	static const uint16_t ids[] = {0x1003, 0x1004, 0x1007};
	unsigned int i;

	assert_non_null(pci);
	assert_ptr_equal(TAILQ_FIRST(&drivers), MLX4_PCI_LIST_OF(pci));
	assert_int_equal(pci->drv_flags, RTE_PCI_DRV_NEED_MAPPING | RTE_PCI_DRV_INTR_LSC);
	for (i = 0; i < RTE_DIM(ids); i++) {
		assert_int_equal(pci->id_table[i].vendor_id, 0x15b3);
		assert_int_equal(pci->id_table[i].device_id, ids[i]);
		assert_int_equal(pci->id_table[i].subsystem_vendor_id, RTE_PCI_ANY_ID);
	}
	assert_int_equal(pci->id_table[i].vendor_id, 0);
}

static void
test_pci_refusals(void **state)
{
	static char bad[] = "bf=3", name[] = "0000:01:00.0";
	struct rte_devargs args = {.args = bad};
	struct rte_pci_device dev = {.id = {.vendor_id = 0x15b3, .device_id = 0x1004}};

	dev.device.name = name;
	rig_log_begin();
	assert_int_equal(pci->probe(pci, &dev), -ENOTSUP);
	rig_log_one("0000:01:00.0: device 0x1004 is a virtual function", "a physical one (0x1003 or 0x1007)");
	dev.id.device_id = 0x1007;
	dev.device.devargs = &args;
	rig_log_begin();
	assert_int_equal(pci->probe(pci, &dev), -EINVAL);
	rig_log_one("0000:01:00.0: bf=3", "0 or 1");
	/* A card in software has arguments that this one has not. */
	snprintf(bad, sizeof(bad), "fw=1");
	rig_log_begin();
	assert_int_equal(pci->probe(pci, &dev), -EINVAL);
	rig_log_one("unknown device argument 'fw'", "mac-loopback");
}

static void
user(const char *args, const char *said, const char *wanted)
{
	rig_log_begin();
	assert_int_not_equal(rte_eal_hotplug_add("vdev", "net_mlx4_user0", args), 0);
	rig_log_one(said, wanted);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

/* A card behind a socket: a path, no longer than the address of one. */
static void
test_user_arguments(void **state)
{
	char path[160] = "socket=", *at = path + strlen(path);

	user("", "net_mlx4_user0: socket=PATH is missing", "vfio-user socket");
	user("bf=1", "net_mlx4_user0: socket=PATH is missing", "vfio-user socket");
	user("socket=", "socket=", "a value");
	user("socket=/tmp/x,bf=3", "bf=3", "0 or 1");
	user("socket=/tmp/x,fw=1.2.3", "unknown device argument 'fw'", " socket");
	memset(at, 'y', MLX4_USER_PATH_LEN);
	user(path, "socket=yyy", "the path of a vfio-user socket");
	at[MLX4_USER_PATH_LEN - 1] = '\0';
	user(path, "net_mlx4_user0", "yyyy");
}

/* Memory of the application, for a card that has an Ethernet port to find it by, in windows that do not overlap. */
static void
test_dma(void **state)
{
	const size_t len = 1u << 21;
	struct rte_device *dev;
	uint8_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(mem != MAP_FAILED);
	assert_int_equal(rte_extmem_register(mem, len, NULL, 0, 4096), 0);
	rig_open("");
	dev = rte_eth_devices[0].device;
	assert_int_equal(rte_dev_dma_map(dev, mem, (uintptr_t)mem, len), 0);
	rte_errno = 0;
	assert_int_equal(rte_dev_dma_map(dev, mem, (uintptr_t)mem, len), -1);
	assert_int_not_equal(rte_errno, 0);
	assert_true(rte_errno > 0);
	assert_int_equal(rte_dev_dma_unmap(dev, mem, (uintptr_t)mem, len), 0);
	assert_int_equal(rte_eth_dev_close(0), 0);
	assert_int_equal(rte_dev_dma_map(dev, mem, (uintptr_t)mem, len), 0);
	assert_int_equal(rte_dev_dma_unmap(dev, mem, (uintptr_t)mem, len), 0);
	rig_unplug(RIG_DEV);
	assert_int_equal(rte_extmem_unregister(mem, len), 0);
	munmap(mem, len);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pci_ids),
		cmocka_unit_test(test_pci_refusals),
		cmocka_unit_test(test_user_arguments),
		cmocka_unit_test(test_dma),
	};

	if (rig_eal("mlx4_probe", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-probe", tests, NULL, NULL);
}
