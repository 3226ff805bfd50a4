/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 0: what the machine has for a card. Files are read, and nothing else is done. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <sys/utsname.h>

#include "apps/triplane/vfio/vfio.h"
#include "apps/check/check.h"
#include "mlx4_prm_regs.h"

#define DEVICE "/sys/bus/pci/devices/%s"
#define BAR_REGS 0u
#define BAR_UAR 2u
#define CFG_LEN 256u
#define CAP_ID_MSIX 0x11u
#define LINE 1024

/* Sentences as "triplane status" says them: "  WHAT: SENTENCE". */
static unsigned int
sentences(struct ck *c, enum ck_kind kind, char *text)
{
	char *save = NULL, *line, *colon;
	unsigned int n = 0;

	for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save), n++) {
		line += strspn(line, " ");
		/* An address has colons, too. */
		colon = strstr(line, ": ");
		if (colon == NULL)
			continue;
		*colon = '\0';
		ck_say(c, kind, line, "%s", colon + 2);
	}
	return n;
}

static void
judgements(struct ck *c, const struct vfio_card *card)
{
	char *miss = NULL, *better = NULL;
	size_t len[2];
	FILE *m = open_memstream(&miss, &len[0]), *b = open_memstream(&better, &len[1]);

	if (m == NULL || b == NULL) {
		ck_say(c, CK_FAIL, "memory", "%s", strerror(ENOMEM));
	} else if (card != NULL) {
		vfio_judge(card, m, b);
	} else {
		vfio_judge_pages(b);
	}
	if (m != NULL)
		fclose(m);
	if (b != NULL)
		fclose(b);
	if (card != NULL && miss != NULL && sentences(c, CK_FAIL, miss) == 0)
		ck_say(c, CK_PASS, "vfio", "a program can have the card: IOMMU, group, driver and files are there");
	if (better != NULL && sentences(c, CK_WARN, better) == 0)
		ck_say(c, CK_PASS, "hugepages", "enough are free");
	free(miss);
	free(better);
}

static bool
attribute(char text[VFIO_TEXT], const char *addr, const char *name)
{
	return root_read(text, root_path(DEVICE "/%s", addr, name)) == 0 && text[0] != '\0';
}

/* A link that trained below what both ends can is slower, and works. */
static void
pcie_link(struct ck *c, const char *addr)
{
	char width[VFIO_TEXT], speed[VFIO_TEXT], max_width[VFIO_TEXT], max_speed[VFIO_TEXT];

	if (!attribute(width, addr, "current_link_width") || !attribute(speed, addr, "current_link_speed") ||
	    !attribute(max_width, addr, "max_link_width") || !attribute(max_speed, addr, "max_link_speed")) {
		ck_say(c, CK_SKIP, "pcie-link", "the kernel does not say how the link trained");
		return;
	}
	if (strcmp(width, max_width) == 0 && strcmp(speed, max_speed) == 0)
		ck_say(c, CK_PASS, "pcie-link", "x%.32s at %.64s, the most that the card can", width, speed);
	else
		ck_say(c, CK_WARN, "pcie-link",
		       "x%.32s at %.64s; the card can x%.32s at %.64s: look at slot, riser and the machine's setup",
		       width, speed, max_width, max_speed);
}

static void
bars(struct ck *c, const char *addr)
{
	uint64_t first[6] = {0}, last[6] = {0}, flags, len;
	FILE *f = fopen(root_path(DEVICE "/resource", addr), "re");
	char line[LINE];
	unsigned int i;

	if (f == NULL) {
		ck_say(c, CK_FAIL, "bars", "the kernel does not say where the card's memory is: %s", strerror(errno));
		return;
	}
	for (i = 0; i < 6 && fgets(line, sizeof(line), f) != NULL; i++)
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64, &first[i], &last[i], &flags) != 3)
			break;
	fclose(f);
	len = first[BAR_REGS] == 0 ? 0 : last[BAR_REGS] - first[BAR_REGS] + 1;
	ck_judge(c, len >= MLX4_BAR0_SIZE, "bar-registers", "BAR0 has %" PRIu64 " KiB, wanted %u at least", len >> 10,
		 MLX4_BAR0_SIZE >> 10);
	len = first[BAR_UAR] == 0 ? 0 : last[BAR_UAR] - first[BAR_UAR] + 1;
	ck_judge(c, len >= UINT64_C(1) << 20, "bar-doorbells", "BAR2 has %" PRIu64 " MiB, wanted 1 at least",
		 len >> 20);
}

static void
msix(struct ck *c, const char *addr)
{
	uint8_t cfg[CFG_LEN] = {0};
	FILE *f = fopen(root_path(DEVICE "/config", addr), "re");
	size_t n = f == NULL ? 0 : fread(cfg, 1, sizeof(cfg), f);
	unsigned int at, hops, vectors;

	if (f != NULL)
		fclose(f);
	if (n <= 64) {
		ck_say(c, CK_SKIP, "msix", "this user sees %zu octets of the configuration space only", n);
		return;
	}
	for (at = cfg[0x34] & ~3u, hops = 0; at >= 0x40 && at + 4 <= n && hops < 48; at = cfg[at + 1] & ~3u, hops++) {
		if (cfg[at] != CAP_ID_MSIX)
			continue;
		vectors = ((cfg[at + 2] | (unsigned int)cfg[at + 3] << 8) & 0x7ff) + 1;
		ck_judge(c, vectors >= 4, "msix", "%u vectors, wanted 4 at least: one for events, others for queues",
			 vectors);
		return;
	}
	ck_say(c, CK_FAIL, "msix", "the card has no MSI-X, and VFIO has no other interrupts of it");
}

void
ck_stage_machine(struct ck *c)
{
	const struct ck_device *d = &c->o->dev;
	static struct vfio_card card;
	struct utsname u;
	struct stat st;

	ck_step(c, "reads files of the machine");
	if (uname(&u) == 0)
		ck_say(c, CK_INFO, "kernel", "%s %s, %s", u.sysname, u.release, u.machine);
	if (d->bus == CK_BUS_USER) {
		const bool there = stat(d->socket, &st) == 0 && S_ISSOCK(st.st_mode);

		ck_judge(c, there, "socket", "%s %s", d->socket, there ? "is a socket" : "is no socket");
	}
	if (d->bus != CK_BUS_PCI) {
		ck_say(c, CK_SKIP, "vfio", "a card in software needs no slot, no IOMMU and no VFIO");
		judgements(c, NULL);
		return;
	}
	if (vfio_card_read(&card, d->name) != 0) {
		ck_say(c, CK_FAIL, "device", "%s: there is no such PCI device; 'triplane status' lists cards", d->name);
		return;
	}
	if (!ck_judge(c, vfio_name(&card) != NULL, "device", "%s is %04x:%04x, %s", d->name, card.vendor, card.device,
		      vfio_name(&card) != NULL ? vfio_name(&card) : "no ConnectX-3"))
		return;
	ck_say(c, CK_INFO, "driver", "%s", card.driver[0] == '\0' ? "none" : card.driver);
	if (card.numa >= 0)
		ck_say(c, CK_INFO, "numa", "node %ld", card.numa);
	judgements(c, &card);
	bars(c, d->name);
	msix(c, d->name);
	pcie_link(c, d->name);
}
