/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the kernel tells of a card. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <net/if.h>

#include "mlx4_prm_regs.h"
#include "vfio.h"

#define DEVICE "/sys/bus/pci/devices/%s"
#define CLASS_BRIDGE 0x06

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int
not_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Names of a folder in order. @return how many, 0 also without the folder */
static unsigned int
names_of(const char *path, struct dirent ***list)
{
	int n = scandir(path, list, not_hidden, by_name);

	if (n < 0)
		*list = NULL;
	return n < 0 ? 0 : (unsigned int)n;
}

static void
names_free(struct dirent **list, unsigned int n)
{
	while (n > 0)
		free(list[--n]);
	free(list);
}

const char *
vfio_name(const struct vfio_card *c)
{
	if (c->vendor != MLX4_PCI_VENDOR)
		return NULL;
	switch (c->device) {
	case MLX4_PCI_DEV_CX3: return "ConnectX-3";
	case MLX4_PCI_DEV_CX3_PRO: return "ConnectX-3 Pro";
	case MLX4_PCI_DEV_CX3_VF: return "virtual function of a ConnectX-3";
	default: return NULL;
	}
}

bool
vfio_is_vf(const struct vfio_card *c)
{
	return c->device == MLX4_PCI_DEV_CX3_VF;
}

bool
vfio_driver(const char *driver)
{
	return strcmp(driver, "vfio-pci") == 0 || strcmp(driver, "uio_pci_generic") == 0 ||
	       strcmp(driver, "igb_uio") == 0;
}

bool
vfio_no_iommu(void)
{
	char text[VFIO_TEXT];

	return root_read(text, root_path("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode")) == 0 &&
	       text[0] == 'Y';
}

const char *
vfio_file(const struct vfio_card *c)
{
	char name[VFIO_TEXT];

	root_read(name, root_path(DEVICE "/iommu_group/name", c->addr));
	return root_path("/dev/vfio/%s%ld", strcmp(name, "vfio-noiommu") == 0 ? "noiommu-" : "", c->group);
}

bool
vfio_addr(char addr[16], const char *text)
{
	unsigned int domain = 0, bus, dev, fn;
	char rest;

	if (sscanf(text, "%x:%x:%x.%x%c", &domain, &bus, &dev, &fn, &rest) != 4 &&
	    (domain = 0, sscanf(text, "%x:%x.%x%c", &bus, &dev, &fn, &rest) != 3))
		return false;
	return domain <= 0xffff && bus <= 0xff && dev <= 0x1f && fn <= 7 &&
	       snprintf(addr, 16, "%04x:%02x:%02x.%x", domain, bus, dev, fn) == 12;
}

static void
read_nets(struct vfio_card *c)
{
	struct dirent **list;
	unsigned int i, n = names_of(root_path(DEVICE "/net", c->addr), &list);

	for (i = 0; i < n && c->num_nets < VFIO_NETS; i++) {
		struct vfio_net *net = &c->net[c->num_nets++];

		snprintf(net->name, sizeof(net->name), "%.31s", list[i]->d_name);
		net->up = (root_number(root_path(DEVICE "/net/%s/flags", c->addr, list[i]->d_name), 0) & IFF_UP) != 0;
	}
	names_free(list, n);
}

/* The kernel's driver shows it with its RDMA device; VFIO shows nothing. */
static void
read_firmware(struct vfio_card *c)
{
	struct dirent **list;
	unsigned int n = names_of(root_path(DEVICE "/infiniband", c->addr), &list);
	char text[VFIO_TEXT];

	if (n > 0 && root_read(text, root_path(DEVICE "/infiniband/%s/fw_ver", c->addr, list[0]->d_name)) == 0)
		snprintf(c->fw, sizeof(c->fw), "%.31s", text);
	names_free(list, n);
}

/* Of the group: a bridge, and who has no driver or one of VFIO, is in nobody's way. */
static void
read_mates(struct vfio_card *c)
{
	struct dirent **list;
	unsigned int i, n = names_of(root_path(DEVICE "/iommu_group/devices", c->addr), &list);
	char driver[VFIO_TEXT];

	for (i = 0; i < n && c->num_mates < VFIO_MATES; i++) {
		const char *other = list[i]->d_name;
		struct vfio_mate *m = &c->mate[c->num_mates];

		root_link(driver, root_path(DEVICE "/driver", other));
		if (strcmp(other, c->addr) == 0 || driver[0] == '\0' || vfio_driver(driver) ||
		    root_number(root_path(DEVICE "/class", other), 0) >> 16 == CLASS_BRIDGE)
			continue;
		snprintf(m->addr, sizeof(m->addr), "%.15s", other);
		snprintf(m->driver, sizeof(m->driver), "%.63s", driver);
		c->num_mates++;
	}
	names_free(list, n);
}

int
vfio_card_read(struct vfio_card *c, const char *addr)
{
	char text[VFIO_TEXT], *end;
	long vendor;

	memset(c, 0, sizeof(*c));
	snprintf(c->addr, sizeof(c->addr), "%.15s", addr);
	vendor = root_number(root_path(DEVICE "/vendor", addr), -1);
	if (vendor < 0)
		return -ENODEV;
	c->vendor = (uint16_t)vendor;
	c->device = (uint16_t)root_number(root_path(DEVICE "/device", addr), 0);
	c->numa = root_number(root_path(DEVICE "/numa_node", addr), -1);
	root_link(text, root_path(DEVICE "/driver", addr));
	snprintf(c->driver, sizeof(c->driver), "%.63s", text);
	root_link(text, root_path(DEVICE "/iommu_group", addr));
	c->group = strtol(text, &end, 10);
	if (end == text)
		c->group = -1;
	read_nets(c);
	read_firmware(c);
	read_mates(c);
	return 0;
}

unsigned int
vfio_cards(struct vfio_card card[VFIO_CARDS])
{
	struct dirent **list;
	unsigned int i, num = 0, n = names_of(root_path("/sys/bus/pci/devices"), &list);

	for (i = 0; i < n && num < VFIO_CARDS; i++)
		if (vfio_card_read(&card[num], list[i]->d_name) == 0 && vfio_name(&card[num]) != NULL)
			num++;
	names_free(list, n);
	return num;
}
