/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "vfio.h"

#define EXIT_USAGE 2

static const char usage[] =
	"usage: triplane status [OPTION]... [ADDRESS]...\n"
	"       triplane bind [OPTION]... ADDRESS...\n"
	"       triplane unbind [OPTION]... ADDRESS...\n"
	"\n"
	"status shows the ConnectX-3 cards of this machine, or these, with what a program needs to have them by VFIO: "
	"driver,\n"
	"IOMMU and its groups, firmware, files of VFIO, hugepages, locked memory. It says what is missing and what "
	"helps.\n"
	"bind takes cards from the kernel's driver to vfio-pci, unbind gives them back. An ADDRESS is as in "
	"0000:03:00.0.\n"
	"\n"
	"  --owner USER[:GROUP]   bind: who may open the card from now on, besides root\n"
	"  --force                bind: also with an interface that is up, or with neighbours in the IOMMU group\n"
	"  --sysroot DIR          looks at sys, proc and dev in this folder; no module is loaded then\n"
	"  --help                 this text\n"
	"\n"
	"Exit code: 0 done, or all is there; 1 something is missing or could not be done; 2 wrong arguments.\n";

static int
wrong(const char *what, const char *word, const char *wanted)
{
	vfio_fault("%s '%s': wanted %s", what, word, wanted);
	return EXIT_USAGE;
}

static int
run(const char *verb, char addr[][16], unsigned int n, const struct vfio_how *how)
{
	unsigned int i;
	int rc = 0;

	if (strcmp(verb, "status") == 0)
		return vfio_status(addr, n);
	for (i = 0; i < n; i++)
		if ((strcmp(verb, "bind") == 0 ? vfio_bind(addr[i], how) : vfio_unbind(addr[i])) != 0)
			rc = 1;
	return rc;
}

int
vfio_command(int argc, char **argv)
{
	static const struct option longs[] = {
		{"owner", required_argument, NULL, 'o'},
		{"force", no_argument, NULL, 'f'},
		{"sysroot", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	static char addr[VFIO_CARDS][16];
	struct vfio_how how = {NULL, false};
	const bool binds = strcmp(argv[0], "bind") == 0;
	unsigned int n = 0;
	int c;

	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'o': how.owner = optarg; break;
		case 'f': how.force = true; break;
		case 's': root_set(optarg); break;
		case 'h': fputs(usage, stdout); return 0;
		default: return wrong(argv[0], argv[optind - 1], "an option of 'triplane bind --help' with its value");
		}
	}
	if (!binds && (how.owner != NULL || how.force))
		return wrong(argv[0], how.owner != NULL ? "--owner" : "--force", "it with bind alone");
	for (; optind < argc; optind++) {
		if (n == VFIO_CARDS)
			return wrong(argv[0], argv[optind], "at most 32 addresses");
		if (!vfio_addr(addr[n++], argv[optind]))
			return wrong(argv[0], argv[optind], "an address such as 0000:03:00.0");
	}
	if (n == 0 && strcmp(argv[0], "status") != 0)
		return wrong(argv[0], "", "the address of a card, such as 0000:03:00.0; 'triplane status' shows them");
	return run(argv[0], addr, n, &how);
}
