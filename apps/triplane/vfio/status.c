/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What there is, what is missing before a program can have a card, and what helps. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include "vfio.h"

#define NEED_MIB 512u /* what triplane takes at first */
#define FW_LEAST "2.30.8000"
#define HUGE "/sys/kernel/mm/hugepages"
#define NODE_HUGE "/sys/devices/system/node/node%ld/hugepages"

/* Sentences are said after the facts: what is missing first, then what would be better. */
struct said {
	char *text;
	size_t len;
	FILE *f;
	unsigned int n;
};

static bool
older(const char *version, const char *least)
{
	unsigned int a[3], b[3], i;

	if (sscanf(version, "%u.%u.%u", &a[0], &a[1], &a[2]) != 3 ||
	    sscanf(least, "%u.%u.%u", &b[0], &b[1], &b[2]) != 3)
		return false;
	for (i = 0; i < 2 && a[i] == b[i]; i++)
		;
	return a[i] < b[i];
}

static void
missing(struct said *s, const char *about)
{
	s->n++;
	fprintf(s->f, "  %s: ", about);
}

static bool
no_groups(void)
{
	DIR *d = opendir(root_path("/sys/kernel/iommu_groups"));
	struct dirent *e;
	bool none = true;

	while (d != NULL && (e = readdir(d)) != NULL)
		none = none && e->d_name[0] == '.';
	if (d != NULL)
		closedir(d);
	return none;
}

/* --- a card -------------------------------------------------------------------------------------------------------- */

static void
show_group(const struct vfio_card *c)
{
	unsigned int i;

	if (c->group < 0) {
		printf("  IOMMU group: none\n");
		return;
	}
	printf("  IOMMU group: %ld", c->group);
	for (i = 0; i < c->num_mates; i++)
		printf("%s %s (%s)", i == 0 ? ", with" : ",", c->mate[i].addr, c->mate[i].driver);
	printf("\n");
}

static void
show_card(const struct vfio_card *c)
{
	unsigned int i;

	printf("%s %s (%04x:%04x)", c->addr, vfio_name(c), c->vendor, c->device);
	if (c->numa >= 0)
		printf(", NUMA node %ld", c->numa);
	printf("\n  driver: %s\n", c->driver[0] == '\0' ? "none" : c->driver);
	for (i = 0; i < c->num_nets; i++)
		printf("%s %s (%s)%s", i == 0 ? "  interfaces:" : ",", c->net[i].name, c->net[i].up ? "up" : "down",
		       i + 1 == c->num_nets ? "\n" : "");
	if (c->fw[0] != '\0')
		printf("  firmware: %s\n", c->fw);
	show_group(c);
}

static void
judge_group(const struct vfio_card *c, struct said *s)
{
	unsigned int i;

	if (c->group < 0 && no_groups()) {
		missing(s, c->addr);
		fprintf(s->f,
			"no IOMMU is on: switch it on in the machine's setup (VT-d, AMD-Vi) and boot the kernel with "
			"intel_iommu=on iommu=pt (AMD: iommu=pt)\n");
	} else if (c->group < 0) {
		missing(s, c->addr);
		fprintf(s->f, "the IOMMU has no group for this slot: use another slot\n");
	}
	for (i = 0; i < c->num_mates; i++) {
		missing(s, c->addr);
		fprintf(s->f, "%s shares IOMMU group %ld and is bound to %s: bind it to vfio-pci, too, or unbind it\n",
			c->mate[i].addr, c->group, c->mate[i].driver);
	}
}

static void
judge_file(const struct vfio_card *c, struct said *s)
{
	const char *path[] = {root_path("/dev/vfio/vfio"), vfio_file(c)};
	struct stat st;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (stat(path[i], &st) != 0) {
			missing(s, c->addr);
			fprintf(s->f, "%s: %s: in a container, hand it in\n", path[i], strerror(errno));
		} else if (faccessat(AT_FDCWD, path[i], R_OK | W_OK, AT_EACCESS) != 0) {
			missing(s, c->addr);
			fprintf(s->f,
				"user %u may not open %s (owner %u, mode %03o): as root, 'triplane bind %s --owner "
				"USER'\n",
				(unsigned int)geteuid(), path[i], (unsigned int)st.st_uid,
				(unsigned int)st.st_mode & 0777, c->addr);
		}
	}
}

static void
judge_card(const struct vfio_card *c, struct said *s)
{
	if (vfio_is_vf(c)) {
		missing(s, c->addr);
		fprintf(s->f, "a virtual function, which the driver does not take: use the card itself\n");
		return;
	}
	if (c->fw[0] != '\0' && older(c->fw, FW_LEAST)) {
		missing(s, c->addr);
		fprintf(s->f,
			"firmware %s is older than " FW_LEAST ": update it (mstflint), or give check-fw-version=0\n",
			c->fw);
	}
	if (!vfio_no_iommu() || c->group >= 0)
		judge_group(c, s);
	if (!vfio_driver(c->driver)) {
		missing(s, c->addr);
		fprintf(s->f, "bound to %s: 'triplane bind %s' as root\n",
			c->driver[0] == '\0' ? "no driver" : c->driver, c->addr);
	} else if (strcmp(c->driver, "vfio-pci") == 0 && c->group >= 0) {
		judge_file(c, s);
	}
}

/* --- the machine --------------------------------------------------------------------------------------------------- */

/* Of one size, in the whole machine or on a node. */
static unsigned long
free_mib(const char *folder, unsigned long kib)
{
	long pages = root_number(root_path("%s/hugepages-%lukB/free_hugepages", folder, kib), 0);

	return pages <= 0 ? 0 : (unsigned long)pages * kib / 1024;
}

static unsigned long
all_free_mib(const char *folder, bool show)
{
	DIR *d = opendir(root_path("%s", folder));
	unsigned long kib, sum = 0;
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (sscanf(e->d_name, "hugepages-%lukB", &kib) != 1)
			continue;
		sum += free_mib(folder, kib);
		if (show)
			printf("hugepages of %lu MiB: %lu MiB free of %lu MiB\n", kib / 1024, free_mib(folder, kib),
			       (unsigned long)root_number(root_path("%s/%s/nr_hugepages", folder, e->d_name), 0) * kib /
				       1024);
	}
	if (d != NULL)
		closedir(d);
	return sum;
}

static void
judge_pages(const struct vfio_card *card, unsigned int n, struct said *better, bool show)
{
	unsigned long sum = all_free_mib(HUGE, show);
	char folder[VFIO_TEXT];
	unsigned int i;

	if (sum < NEED_MIB) {
		missing(better, "hugepages");
		fprintf(better->f,
			"%lu MiB are free, %u are wanted: echo %u >%s/hugepages-2048kB/nr_hugepages; without them "
			"programs take "
			"ordinary pages\n",
			sum, NEED_MIB, NEED_MIB / 2, HUGE);
		return;
	}
	for (i = 0; i < n; i++) {
		snprintf(folder, sizeof(folder), NODE_HUGE, card[i].numa);
		if (card[i].numa < 0 || access(root_path("%s", folder), F_OK) != 0 ||
		    all_free_mib(folder, false) >= NEED_MIB)
			continue;
		missing(better, card[i].addr);
		fprintf(better->f,
			"%lu MiB of hugepages are free on its NUMA node %ld, %u are wanted: echo %u "
			">/sys/devices/system/node/node%ld/hugepages/hugepages-2048kB/nr_hugepages\n",
			all_free_mib(folder, false), card[i].numa, NEED_MIB, NEED_MIB / 2, card[i].numa);
	}
}

/* VFIO pins what the card may reach. */
static void
judge_lock(struct said *s, bool show)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_MEMLOCK, &r) != 0 || geteuid() == 0)
		return;
	if (show && r.rlim_cur == RLIM_INFINITY)
		printf("locked memory: unlimited\n");
	else if (show)
		printf("locked memory: %lu MiB\n", (unsigned long)r.rlim_cur >> 20);
	if (r.rlim_cur != RLIM_INFINITY && r.rlim_cur >> 20 < NEED_MIB) {
		missing(s, "locked memory");
		fprintf(s->f,
			"user %u may lock %lu KiB, %u MiB are wanted: LimitMEMLOCK=infinity of a unit, 'ulimit -l', or "
			"/etc/security/limits.conf\n",
			(unsigned int)geteuid(), (unsigned long)r.rlim_cur >> 10, NEED_MIB);
	}
}

static void
no_module(struct said *s)
{
	missing(s, "vfio-pci");
	fprintf(s->f, "the module is not loaded: modprobe vfio-pci ('triplane bind' does it)\n");
}

static void
judge_module(struct said *s)
{
	const bool there = access(root_path("/sys/bus/pci/drivers/vfio-pci"), F_OK) == 0;

	printf("vfio-pci: %s\n", there ? "loaded" : "not loaded");
	printf("IOMMU: %s\n", !no_groups() ? "on" : vfio_no_iommu() ? "off, and VFIO may do without" : "off");
	if (!there)
		no_module(s);
}

unsigned int
vfio_judge(const struct vfio_card *card, FILE *miss, FILE *better)
{
	struct said m = {.f = miss}, b = {.f = better};

	judge_card(card, &m);
	if (access(root_path("/sys/bus/pci/drivers/vfio-pci"), F_OK) != 0)
		no_module(&m);
	judge_pages(card, 1, &b, false);
	judge_lock(&m, false);
	return m.n;
}

void
vfio_judge_pages(FILE *better)
{
	struct said b = {.f = better};

	judge_pages(NULL, 0, &b, false);
}

static void
say(const char *head, struct said *s)
{
	fclose(s->f);
	if (s->n > 0)
		printf("%s\n%s", head, s->text);
	free(s->text);
}

int
vfio_status(char addr[][16], unsigned int n)
{
	static struct vfio_card card[VFIO_CARDS];
	struct said miss = {0}, better = {0};
	unsigned int i, num = n;

	for (i = 0; i < n; i++)
		if (vfio_card_read(&card[i], addr[i]) != 0 || vfio_name(&card[i]) == NULL)
			return vfio_fault("%s: %s", addr[i],
					  card[i].vendor == 0 ? "there is no such PCI device" : "it is no ConnectX-3");
	if (n == 0)
		num = vfio_cards(card);
	if (num == 0)
		return vfio_fault("this machine has no ConnectX-3 (PCI 15b3:1003, 15b3:1007); --vdev=net_mlx4_model0 "
				  "is one in software");
	miss.f = open_memstream(&miss.text, &miss.len);
	better.f = open_memstream(&better.text, &better.len);
	if (miss.f == NULL || better.f == NULL)
		return vfio_fault("no memory");
	for (i = 0; i < num; i++) {
		show_card(&card[i]);
		judge_card(&card[i], &miss);
	}
	judge_module(&miss);
	judge_pages(card, num, &better, true);
	judge_lock(&miss, true);
	say("missing:", &miss);
	say("better:", &better);
	printf("%s\n", miss.n == 0 ? "ready" : "not ready");
	return miss.n == 0 ? 0 : 1;
}
