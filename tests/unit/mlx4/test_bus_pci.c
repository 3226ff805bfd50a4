/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The bus of a real card over files in the place of its PCI function: registers, configuration space over a reset, vectors. */
#include <errno.h>
#include <stdlib.h>

#include <sys/mman.h>
#include <unistd.h>

#include <bus_pci_driver.h>
#include <rte_interrupts.h>

#include "drivers/mlx4/bus/open.h"
#include "rig.h"

#define REGS_LEN 0x100000u

static uint8_t *regs, uar[8192];
static struct rte_pci_device pci;
static struct mlx4_bus *bus;
static int cfg;
static size_t heap;

/* The configuration space of a card, each byte of its head another one; memory and bus mastering are off. */
static void
cfg_fill(void)
{
	uint8_t d[256];
	unsigned int i;

	for (i = 0; i < sizeof(d); i++)
		d[i] = (uint8_t)(i + 1);
	d[0] = 0xb3, d[1] = 0x15, d[4] = 0x40, d[5] = 0x01;
	assert_int_equal(pwrite(cfg, d, sizeof(d), 0), sizeof(d));
}

static int
setup(void **state)
{
	heap = rig_heap();
	cfg = memfd_create("cfg", MFD_CLOEXEC);
	regs = aligned_alloc(4096, REGS_LEN);
	assert_true(cfg >= 0 && regs != NULL);
	memset(regs, 0, REGS_LEN);
	cfg_fill();
	memset(&pci, 0, sizeof(pci));
	pci.kdrv = RTE_PCI_KDRV_UIO_GENERIC;
	pci.device.name = "0000:03:00.0";
	pci.device.numa_node = 0;
	pci.id.device_id = 0x1007;
	pci.mem_resource[0] = (struct rte_mem_resource){.len = REGS_LEN, .addr = regs};
	pci.mem_resource[2] = (struct rte_mem_resource){.len = sizeof(uar), .addr = uar};
	pci.intr_handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	assert_non_null(pci.intr_handle);
	assert_int_equal(rte_intr_event_list_update(pci.intr_handle, 64), 0);
	rte_intr_type_set(pci.intr_handle, RTE_INTR_HANDLE_VDEV);
	rte_intr_dev_fd_set(pci.intr_handle, cfg);
	rte_intr_fd_set(pci.intr_handle, memfd_create("irq", MFD_CLOEXEC));
	bus = NULL;
	return 0;
}

static int
teardown(void **state)
{
	if (bus != NULL)
		bus->ops->close(bus);
	close(rte_intr_fd_get(pci.intr_handle));
	rte_intr_instance_free(pci.intr_handle);
	close(cfg);
	free(regs);
	assert_int_equal(rig_heap(), heap);
	return 0;
}

static void
test_open(void **state)
{
	uint8_t d[256];

	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), 0);
	assert_string_equal(bus->ops->name, "pci");
	assert_ptr_equal(bus->uar, uar);
	assert_int_equal(bus->uar_len, sizeof(uar));
	assert_int_equal(bus->share_fd, -1);
	assert_int_equal(bus->device_id, 0x1007);
	assert_int_equal(bus->max_vectors, 128);
	assert_int_equal(bus->reset_wait_us, 1000000);
	assert_int_equal(bus->cmd_timeout_ms, 60000);
	assert_string_equal(bus->where, "0000:03:00.0");
	/* Memory and bus mastering are on, and what else was there stays. */
	assert_int_equal(pread(cfg, d, sizeof(d), 0), sizeof(d));
	assert_int_equal(d[4], 0x46);
	assert_int_equal(d[5], 0x01);
	assert_int_equal(d[6], 7);
	assert_int_equal(d[3], 4);
}

/* Registers are big-endian dwords. */
static void
test_registers(void **state)
{
	static const uint8_t want[8] = {0, 0, 0, 0, 0x12, 0x34, 0x56, 0x78};

	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), 0);
	bus->ops->write32(bus, 0x80684, 0x12345678);
	assert_memory_equal(regs + 0x80680, want, sizeof(want));
	assert_int_equal(regs[0x80688], 0);
	regs[0xf0010] = 0xca, regs[0xf0011] = 0xfe, regs[0xf0012] = 0xba, regs[0xf0013] = 0xbe;
	assert_int_equal(bus->ops->read32(bus, 0xf0010), 0xcafebabe);
}

static void
test_bars(void **state)
{
	rig_log_begin();
	pci.mem_resource[0].len = REGS_LEN - 1;
	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), -ENODEV);
	rig_log_one("0000:03:00.0: BAR0 has 1048575 bytes and BAR2 8192", "wanted 1048576");
	pci.mem_resource[0].len = REGS_LEN;
	pci.mem_resource[0].addr = NULL;
	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), -ENODEV);
	pci.mem_resource[0].addr = regs;
	pci.mem_resource[2].addr = NULL;
	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), -ENODEV);
	pci.mem_resource[2].addr = uar;
	/* A configuration space that ends too early for what is kept of it. */
	assert_int_equal(ftruncate(cfg, 0x71), 0);
	rig_log_begin();
	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), -EIO);
	rig_log_one("cannot read the configuration space", "0000:03:00.0");
	assert_int_equal(ftruncate(cfg, 0x63), 0);
	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), -EIO);
	assert_int_equal(ftruncate(cfg, 0x3f), 0);
	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), -EIO);
	assert_int_equal(ftruncate(cfg, 0x72), 0);
	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), 0);
}

/* A reset clears the head, and the control registers of device and link in the PCI Express capability: they come back. */
static void
test_reset(void **state)
{
	uint8_t before[256], after[256], zeros[256] = {0};
	unsigned int i;

	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), 0);
	assert_int_equal(pread(cfg, before, sizeof(before), 0), sizeof(before));
	zeros[0] = 0xb3, zeros[1] = 0x15;
	assert_int_equal(pwrite(cfg, zeros, sizeof(zeros), 0), sizeof(zeros));
	assert_int_equal(bus->ops->reset_done(bus), 0);
	assert_int_equal(pread(cfg, after, sizeof(after), 0), sizeof(after));
	for (i = 0; i < sizeof(after); i++) {
		bool kept = i < 64 || i == 0x68 || i == 0x69 || i == 0x70 || i == 0x71;

		/* The status beside COMMAND is not written. */
		if (i == 6 || i == 7)
			kept = false;
		if (after[i] != (kept ? before[i] : 0))
			fail_msg("byte 0x%02x is 0x%02x", i, after[i]);
	}
	/* Nobody answers. */
	memset(zeros, 0xff, 2);
	assert_int_equal(pwrite(cfg, zeros, 2, 0), 2);
	assert_int_equal(bus->ops->reset_done(bus), -ETIMEDOUT);
	assert_int_equal(ftruncate(cfg, 1), 0);
	assert_int_equal(bus->ops->reset_done(bus), -ETIMEDOUT);
}

static void
test_config(void **state)
{
	uint32_t v = 0x44332211;

	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), 0);
	assert_int_equal(bus->ops->cfg_write(bus, 0x50, &v, 4), 0);
	v = 0;
	assert_int_equal(bus->ops->cfg_read(bus, 0x51, &v, 2), 0);
	assert_int_equal(v, 0x3322);
	assert_int_equal(bus->ops->cfg_read(bus, 254, &v, 4), -EIO);
}

static unsigned int
fds(void)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < 256; i++)
		n += lseek(i, 0, SEEK_CUR) >= 0 || errno != EBADF;
	return n;
}

/* Event fds beside the first vector's: as many as were asked for; those that are there keep theirs, and are told of the change. */
static void
test_vectors(void **state)
{
	struct rte_intr_handle *h = pci.intr_handle;
	unsigned int before = fds(), i;
	uint64_t one;
	int first;

	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), 0);
	assert_int_equal(bus->ops->irq_setup(bus, 1), 0);
	assert_int_equal(rte_intr_nb_efd_get(h), 0);
	assert_int_equal(fds(), before);
	assert_int_equal(bus->ops->irq_setup(bus, 4), 0);
	assert_int_equal(rte_intr_nb_efd_get(h), 3);
	assert_int_equal(rte_intr_max_intr_get(h), 4);
	assert_int_equal(fds(), before + 3);
	first = rte_intr_efds_index_get(h, 0);
	/* Nobody waited yet. */
	assert_true(read(first, &one, sizeof(one)) < 0);
	assert_int_equal(bus->ops->irq_setup(bus, 6), 0);
	assert_int_equal(rte_intr_nb_efd_get(h), 5);
	assert_int_equal(rte_intr_efds_index_get(h, 0), first);
	assert_int_equal(fds(), before + 5);
	for (i = 0; i < 5; i++) {
		ssize_t n = read(rte_intr_efds_index_get(h, (int)i), &one, sizeof(one));

		assert_int_equal(n == sizeof(one), i < 3);
	}
	assert_int_equal(lseek(rte_intr_fd_get(h), 0, SEEK_END), sizeof(one));
	for (i = 0; i < 5; i++)
		close(rte_intr_efds_index_get(h, (int)i));
	assert_int_equal(bus->ops->irq_setup(bus, 0), 0);
	rte_intr_nb_efd_set(h, 0);
}

/* More than there is room for: as before. */
static void
test_too_many_vectors(void **state)
{
	struct rte_intr_handle *h = pci.intr_handle;
	unsigned int before = fds();

	assert_int_equal(mlx4_bus_pci_open(&pci, &bus), 0);
	assert_int_equal(bus->ops->irq_setup(bus, 3), 0);
	assert_int_equal(bus->ops->irq_setup(bus, 67), -ENOSPC);
	assert_int_equal(rte_intr_nb_efd_get(h), 2);
	assert_int_equal(fds(), before + 2);
	close(rte_intr_efds_index_get(h, 0));
	close(rte_intr_efds_index_get(h, 1));
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_open),    T(test_registers),        T(test_bars), T(test_reset), T(test_config),
		T(test_vectors), T(test_too_many_vectors),
	};

	if (rig_eal("mlx4pci", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
