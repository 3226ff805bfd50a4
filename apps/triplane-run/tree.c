/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What /sys/class/infiniband and /dev/infiniband show of the owner's devices. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/share/name.h"
#include "run.h"

#define SYS "/sys/class"
#define IEEE_VENDOR 0x2c9u /* of the maker of these cards, as verbs say it */
#define PCI_VENDOR 0x15b3u /* the same, as PCI does */
#define ABI_VERBS "6"      /* of the kernel's interfaces, whose place this is */
#define ABI_MAD "5"

/* A place in the tree; the first thing that goes wrong stays. */
struct node {
	char path[512];
	int err;
};

static void enter(struct node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void
enter(struct node *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(n->path, sizeof(n->path), fmt, ap);
	va_end(ap);
	if (n->err == 0 && mkdir(n->path, 0755) != 0 && errno != EEXIST)
		n->err = errno;
}

static void put(struct node *n, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void
put(struct node *n, const char *name, const char *fmt, ...)
{
	char path[640];
	va_list ap;
	int fd;

	if (n->err != 0)
		return;
	snprintf(path, sizeof(path), "%s/%s", n->path, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);
	va_start(ap, fmt);
	if (fd < 0 || vdprintf(fd, fmt, ap) < 0)
		n->err = errno;
	va_end(ap);
	if (fd >= 0)
		close(fd);
}

static void
guid(struct node *n, const char *name, __be64 value)
{
	const uint64_t v = be64toh(value);

	put(n, name, "%04x:%04x:%04x:%04x\n", (unsigned int)(v >> 48), (unsigned int)(v >> 32 & 0xffff),
	    (unsigned int)(v >> 16 & 0xffff), (unsigned int)(v & 0xffff));
}

/* --- ports --------------------------------------------------------------------------------------------------------- */

static const char *
state(enum ibv_port_state s)
{
	static const char *const name[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};

	return s <= IBV_PORT_ACTIVE_DEFER ? name[s] : "<unknown>";
}

/* IBTA 1.3, 14.2.5.6: PortPhysicalState */
static const char *
phys_state(unsigned int s)
{
	static const char *const name[] = {
		"<unknown>",         "Sleep",   "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
		"LinkErrorRecovery", "Phy Test"};

	return s < sizeof(name) / sizeof(name[0]) ? name[s] : name[0];
}

/* As it is written for links: tenths of a Gbit/s of a lane, and what it is called. */
static void
rate(struct node *n, const struct ibv_port_attr *a)
{
	static const struct {
		unsigned int code, tenths;
		const char *name;
	} speed[] = {{1, 25, " SDR"},    {2, 50, " DDR"},   {4, 100, " QDR"},
		     {8, 100, " FDR10"}, {16, 140, " FDR"}, {32, 250, " EDR"}};
	const unsigned int lanes = a->active_width == 8 ? 12 : a->active_width == 2 ? 4 : a->active_width == 4 ? 8 : 1;
	unsigned int i = 0, tenths;

	while (i + 1 < sizeof(speed) / sizeof(speed[0]) && speed[i].code != a->active_speed)
		i++;
	tenths = speed[i].tenths * lanes;
	put(n, "rate", tenths % 10 == 0 ? "%u Gb/sec (%uX%s)\n" : "%u.5 Gb/sec (%uX%s)\n", tenths / 10, lanes,
	    speed[i].name);
}

static void
gids(struct node *port, int fd, const struct share_hello *h, int len)
{
	struct node list = {.err = port->err}, types = list, ndevs = list;

	enter(&list, "%s/gids", port->path);
	enter(&types, "%s/gid_attrs", port->path);
	enter(&types, "%s/gid_attrs/types", port->path);
	enter(&ndevs, "%s/gid_attrs/ndevs", port->path);
	for (int i = 0; i < len; i++) {
		struct share_msg m = {.gid = {.index = (uint32_t)i}};
		bool there = run_ask(fd, SHARE_QUERY_GID, &m) == 0;
		const uint8_t *g = m.gid.entry.gid.raw;
		static const uint8_t none[16];
		char name[16], text[64];
		size_t used = 0;

		if (!there)
			g = none;
		for (unsigned int k = 0; k < 16; k += 2)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%02x%02x", k == 0 ? "" : ":",
						 g[k], g[k + 1]);
		snprintf(name, sizeof(name), "%d", i);
		put(&list, name, "%s\n", text);
		if (!there)
			continue;
		put(&types, name, m.gid.entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2\n" : "IB/RoCE v1\n");
		if (!h->infiniband)
			put(&ndevs, name, "%s\n", h->name);
	}
	port->err = list.err != 0 ? list.err : types.err != 0 ? types.err : ndevs.err;
}

static void
pkeys(struct node *port, int fd, int len)
{
	struct node list = {.err = port->err};

	enter(&list, "%s/pkeys", port->path);
	for (int i = 0; i < len; i++) {
		struct share_msg m = {.pkey = {.index = (uint32_t)i}};
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		if (run_ask(fd, SHARE_QUERY_PKEY, &m) == 0)
			put(&list, name, "0x%04x\n", ntohs((uint16_t)m.pkey.pkey));
	}
	port->err = list.err;
}

static void
one_port(struct node *dev, int fd, const struct share_hello *h)
{
	struct node port = {.err = dev->err};
	struct share_msg m = {0};
	struct ibv_port_attr a;

	if (port.err == 0)
		port.err = run_ask(fd, SHARE_QUERY_PORT, &m);
	a = m.port;
	enter(&port, "%s/ports", dev->path);
	enter(&port, "%s/ports/1", dev->path);
	put(&port, "state", "%u: %s\n", a.state, state(a.state));
	put(&port, "phys_state", "%u: %s\n", a.phys_state, phys_state(a.phys_state));
	rate(&port, &a);
	put(&port, "link_layer", a.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet\n" : "InfiniBand\n");
	put(&port, "lid", "0x%x\n", a.lid);
	put(&port, "lid_mask_count", "%u\n", a.lmc);
	put(&port, "sm_lid", "0x%x\n", a.sm_lid);
	put(&port, "sm_sl", "%u\n", a.sm_sl);
	put(&port, "cap_mask", "0x%08x\n", a.port_cap_flags);
	gids(&port, fd, h, a.gid_tbl_len);
	pkeys(&port, fd, a.pkey_tbl_len);
	dev->err = port.err;
}

/* --- counters ------------------------------------------------------------------------------------------------------ */

/* Where something is already, it is no longer than what is written now, but when a counter began again. 0 or errno. */
static int
count(int port, const char *name, uint64_t value)
{
	const int fd = openat(port, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
	char text[32];
	int len = snprintf(text, sizeof(text), "%" PRIu64 "\n", value), err = 0;
	struct stat st;

	if (fd < 0)
		return errno;
	if (pwrite(fd, text, (size_t)len, 0) != len || fstat(fd, &st) != 0 ||
	    (st.st_size > len && ftruncate(fd, len) != 0))
		err = errno;
	close(fd);
	return err;
}

int
run_tree_counters(int fd, const char *owner, int port)
{
	struct share_msg m = {0};
	uint32_t first = 0;
	int err = 0;

	do {
		m = (struct share_msg){.counters = {.first = first}};
		memcpy(m.counters.device, owner, sizeof(m.counters.device));
		err = run_ask(fd, SHARE_COUNTERS, &m);
		for (uint32_t i = 0; err == 0 && i < m.counters.num; i++)
			err = count(port, m.counters.one[i].name, m.counters.one[i].value);
		first += m.counters.num;
	} while (err == 0 && m.counters.num != 0);
	return err;
}

int
run_tree_port(const char *name)
{
	char at[256];

	snprintf(at, sizeof(at), SYS "/infiniband/%s/ports/1", name);
	return open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void
counters(struct node *dev, int fd, const struct share_hello *h, const char *owner)
{
	struct node n = {.err = dev->err};
	int port;

	enter(&n, SYS "/infiniband/%s/ports/1/counters", h->name);
	enter(&n, SYS "/infiniband/%s/ports/1/hw_counters", h->name);
	port = run_tree_port(h->name);
	if (n.err == 0)
		n.err = port < 0 ? errno : run_tree_counters(fd, owner, port);
	if (port >= 0)
		close(port);
	dev->err = n.err;
}

/* --- devices ------------------------------------------------------------------------------------------------------- */

/* The kernel's form of all CPUs: 32 of them a word, the highest first. */
static void
cpus(struct node *n, const char *name)
{
	const long all = sysconf(_SC_NPROCESSORS_CONF);
	const long words = (all + 31) / 32;
	char text[4096];
	size_t used = 0;

	for (long w = words - 1; w >= 0 && used < sizeof(text) - 16; w--) {
		const long bits = all - w * 32;

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%08x", used == 0 ? "" : ",",
					 bits >= 32 ? UINT32_MAX : (1u << bits) - 1);
	}
	put(n, name, "%s\n", text);
}

/*
 * What it is plugged in as; the owner's process is where its memory is, not this machine's node. A device in software is in no slot:
 * as with a kernel's, there is no such folder.
 */
static void
pci(const char *at, struct node *dev, const struct ibv_device_attr *a)
{
	struct node n = {.err = dev->err};

	if (a->vendor_id != IEEE_VENDOR)
		return;
	enter(&n, "%s/device", at);
	put(&n, "vendor", "0x%04x\n", PCI_VENDOR);
	put(&n, "device", "0x%04x\n", a->vendor_part_id);
	put(&n, "numa_node", "-1\n");
	cpus(&n, "local_cpus");
	dev->err = n.err;
}

/* Programs look whether a device of characters is there. One behind which there is nothing refuses what is written to it. */
static void
node(struct node *n, const char *name)
{
	char path[1024];

	put(n, name, "%s", "");
	snprintf(path, sizeof(path), "%s/%s", n->path, name);
	if (n->err == 0 && mount("/dev/full", path, NULL, MS_BIND, NULL) != 0)
		n->err = errno;
}

static void
verbs(struct node *dev, const struct share_hello *h, const struct ibv_device_attr *a)
{
	struct node n = {.err = dev->err};
	char at[256];

	snprintf(at, sizeof(at), SYS "/infiniband_verbs/uverbs%u", h->ibdev);
	enter(&n, "%s", at);
	put(&n, "ibdev", "%s\n", h->name);
	put(&n, "abi_version", "1\n");
	pci(at, &n, a);
	enter(&n, "/dev/infiniband");
	snprintf(at, sizeof(at), "uverbs%u", h->ibdev);
	node(&n, at);
	dev->err = n.err;
}

/* fd: to the owner, for this device alone; it gets the name that programs see. 0 or errno. */
static int
device(int fd, struct share_hello *h)
{
	struct share_msg m = {0};
	struct ibv_device_attr a;
	struct node dev = {0};
	char at[256], owner[IBV_SYSFS_NAME_MAX], board[sizeof(m.open.board_id)];

	memcpy(owner, h->name, sizeof(owner));
	memcpy(m.open.name, owner, sizeof(m.open.name));
	dev.err = run_ask(fd, SHARE_OPEN, &m);
	share_name(h->name, owner, h->ibdev, getenv(SHARE_NAMES_ENV));
	a = m.open.attr;
	memcpy(board, m.open.board_id, sizeof(board));
	snprintf(at, sizeof(at), SYS "/infiniband/%s", h->name);
	enter(&dev, "%s", at);
	guid(&dev, "node_guid", a.node_guid);
	guid(&dev, "sys_image_guid", a.sys_image_guid);
	put(&dev, "fw_ver", "%s\n", a.fw_ver);
	put(&dev, "hw_rev", "%x\n", a.hw_ver);
	if (a.vendor_id == IEEE_VENDOR)
		put(&dev, "hca_type", "MT%u\n", a.vendor_part_id);
	if (board[0] != '\0')
		put(&dev, "board_id", "%s\n", board);
	put(&dev, "node_type", "1: CA\n");
	put(&dev, "node_desc", "%s\n", h->name);
	pci(at, &dev, &a);
	one_port(&dev, fd, h);
	counters(&dev, fd, h, owner);
	verbs(&dev, h, &a);
	return dev.err;
}

int
run_tree(const char *at)
{
	struct node n = {0};
	struct share_hello h;
	int err;

	enter(&n, SYS "/infiniband");
	enter(&n, SYS "/infiniband_mad");
	put(&n, "abi_version", ABI_MAD "\n");
	enter(&n, SYS "/infiniband_verbs");
	put(&n, "abi_version", ABI_VERBS "\n");
	enter(&n, "/dev/infiniband");
	for (uint32_t i = 0; n.err == 0; i++) {
		int fd = run_call(at);

		if (fd < 0)
			return EIO;
		err = run_hello(fd, at, i, &h);
		if (err == 0)
			n.err = device(fd, &h);
		close(fd);
		if (err != 0)
			return err == ENOENT ? 0 : err;
	}
	return n.err;
}
