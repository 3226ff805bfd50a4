/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * "triplane status", "bind" and "unbind": which driver of the kernel has a card, and what a program needs to have it by VFIO.
 * Everything is read from sysfs, procfs and /dev below one root.
 */
#ifndef TRIPLANE_VFIO_H
#define TRIPLANE_VFIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define VFIO_CARDS 32
#define VFIO_TEXT 256
#define VFIO_MATES 16
#define VFIO_NETS 8

/* Runs argv, whose first word is one of the three. 0, 1: not all is there, or it could not be done; 2: wrong arguments. */
int vfio_command(int argc, char **argv);

/* --- the root ------------------------------------------------------------------------------------------------------ */

void root_set(const char *dir);
bool root_is_real(void);
/* The path of what is there, in a buffer that the next call but three takes again. */
const char *root_path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* One line of a file, without its end. 0 or a negative errno. */
int root_read(char text[VFIO_TEXT], const char *path);
int root_write(const char *path, const char *text);
long root_number(const char *path, long other);
/* The last part of where a link leads, "" for none. */
void root_link(char name[VFIO_TEXT], const char *path);

/* --- cards --------------------------------------------------------------------------------------------------------- */

struct vfio_net {
	char name[32];
	bool up;
};

/* Another function of the same IOMMU group that must leave the kernel's drivers, too. */
struct vfio_mate {
	char addr[16], driver[64];
};

struct vfio_card {
	char addr[16];
	uint16_t vendor, device;
	char driver[64]; /* "": none */
	long numa;       /* -1: the machine has one node */
	long group;      /* of the IOMMU, -1: none */
	char fw[32];     /* "": nobody says */
	struct vfio_net net[VFIO_NETS];
	unsigned int num_nets;
	struct vfio_mate mate[VFIO_MATES];
	unsigned int num_mates;
};

/* @return how many there are */
unsigned int vfio_cards(struct vfio_card card[VFIO_CARDS]);
/* addr as in sysfs. 0, -ENODEV: no such device. */
int vfio_card_read(struct vfio_card *c, const char *addr);
/* "0000:03:00.0" or "03:00.0" as in sysfs; false: it is neither. */
bool vfio_addr(char addr[16], const char *text);
/* "ConnectX-3 Pro", or NULL: no card of this driver. */
const char *vfio_name(const struct vfio_card *c);
bool vfio_is_vf(const struct vfio_card *c);
/* Whether this driver hands a function to user space. */
bool vfio_driver(const char *driver);
/* The file by which a program has the card; with an IOMMU, or without one where the kernel was told that this is allowed. */
const char *vfio_file(const struct vfio_card *c);
bool vfio_no_iommu(void);

/* --- the commands -------------------------------------------------------------------------------------------------- */

/* Cards of these addresses, or all. What vfio_command() returns. */
int vfio_status(char addr[][16], unsigned int n);

/*
 * What a program that wants this card is missing, and what would be better, a line "  WHAT: SENTENCE" each. @return how much is
 * missing
 */
unsigned int vfio_judge(const struct vfio_card *card, FILE *miss, FILE *better);
/* The same of hugepages alone, where there is no card. */
void vfio_judge_pages(FILE *better);

struct vfio_how {
	const char *owner; /* of the file, "USER" or "USER:GROUP", or NULL */
	bool force;
};
int vfio_bind(const char *addr, const struct vfio_how *how);
int vfio_unbind(const char *addr);
/* Prints "triplane: error: " and this line. @return 1 */
int vfio_fault(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* TRIPLANE_VFIO_H */
