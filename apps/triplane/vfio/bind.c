/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * From a driver of the kernel to VFIO and back. driver_override is of one device, unlike new_id, which would take all cards of
 * that kind, also those that come later.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

#include "vfio.h"

#define DRIVER "vfio-pci"
#define DRIVERS "/sys/bus/pci/drivers/%s"
#define DEVICE "/sys/bus/pci/devices/%s"
#define WAIT_MS 20000u     /* mlx4_core needs seconds, and more on a busy machine */
#define WAIT_VFIO_MS 5000u /* vfio-pci has nothing to bring up */
#define STEP_MS 20u

/* The module of a driver, unless the driver is there. */
static void
load_module(const char *name)
{
	pid_t pid;

	if (access(root_path(DRIVERS, name), F_OK) == 0 || !root_is_real())
		return;
	pid = fork();
	if (pid == 0) {
		execlp("modprobe", "modprobe", name, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void
pause_ms(unsigned int ms)
{
	struct timespec t = {.tv_nsec = (long)ms * 1000000};

	nanosleep(&t, NULL);
}

/* Until the device has this driver, or any when it is NULL, or none when it is "". */
static bool
wait_driver(const char *addr, const char *driver, unsigned int wait_ms)
{
	char now[VFIO_TEXT];
	unsigned int ms;

	for (ms = 0; ms < wait_ms; ms += STEP_MS) {
		root_link(now, root_path(DEVICE "/driver", addr));
		if (driver == NULL ? now[0] != '\0' : strcmp(now, driver) == 0)
			return true;
		pause_ms(STEP_MS);
	}
	return false;
}

/* What the kernel would not write is said. */
static int
put(const char *path, const char *text)
{
	int rc = root_write(path, text);

	if (rc == 0)
		return 0;
	return rc == -EACCES || rc == -EPERM ? vfio_fault("%s: %s: run this as root", path, strerror(-rc))
					     : vfio_fault("%s: %s", path, strerror(-rc));
}

static int
leave(const struct vfio_card *c)
{
	if (c->driver[0] == '\0')
		return 0;
	if (put(root_path(DEVICE "/driver/unbind", c->addr), c->addr) != 0)
		return 1;
	return wait_driver(c->addr, "", WAIT_MS) ? 0 : vfio_fault("%s: %s does not let it go", c->addr, c->driver);
}

static int
owner_ids(const char *owner, uid_t *uid, gid_t *gid)
{
	char user[VFIO_TEXT];
	const char *colon = strchr(owner, ':');
	struct passwd *pw;
	struct group *gr;

	snprintf(user, sizeof(user), "%.255s", owner);
	user[strcspn(user, ":")] = '\0';
	pw = getpwnam(user);
	gr = colon == NULL ? NULL : getgrnam(colon + 1);
	if (pw == NULL)
		return vfio_fault("--owner: there is no user '%s'", user);
	if (colon != NULL && gr == NULL)
		return vfio_fault("--owner: there is no group '%s'", colon + 1);
	*uid = pw->pw_uid;
	*gid = gr == NULL ? pw->pw_gid : gr->gr_gid;
	return 0;
}

static int
give(const struct vfio_card *c, const char *owner)
{
	uid_t uid = (uid_t)-1; /* chown leaves it as it is */
	gid_t gid = (gid_t)-1;
	unsigned int ms;

	if (owner_ids(owner, &uid, &gid) != 0)
		return 1;
	for (ms = 0; ms < WAIT_MS && access(vfio_file(c), F_OK) != 0; ms += STEP_MS)
		pause_ms(STEP_MS);
	return chown(vfio_file(c), uid, gid) == 0 ? 0 : vfio_fault("%s: %s", vfio_file(c), strerror(errno));
}

/* What speaks against it; 0: nothing, or it is forced. */
static int
may_bind(const struct vfio_card *c, const struct vfio_how *how)
{
	unsigned int i;

	if (vfio_name(c) == NULL)
		return vfio_fault("%s: PCI %04x:%04x is no ConnectX-3", c->addr, c->vendor, c->device);
	if (vfio_is_vf(c))
		return vfio_fault("%s: a virtual function, which the driver does not take", c->addr);
	for (i = 0; i < c->num_nets && !how->force; i++)
		if (c->net[i].up)
			return vfio_fault("%s: interface %s is up, the machine may be reached by it: 'ip link set %s "
					  "down', or --force",
					  c->addr, c->net[i].name, c->net[i].name);
	if (c->group < 0 && !vfio_no_iommu())
		return vfio_fault("%s: no IOMMU group: VFIO cannot take it; 'triplane status' says what is missing",
				  c->addr);
	if (c->num_mates > 0 && !how->force)
		return vfio_fault("%s: %s shares IOMMU group %ld and is bound to %s: no program gets the group like "
				  "this: unbind that one first, or --force",
				  c->addr, c->mate[0].addr, c->group, c->mate[0].driver);
	return 0;
}

/* As it was before. */
static int
back(const struct vfio_card *c)
{
	root_write(root_path(DEVICE "/driver_override", c->addr), "\n");
	root_write(root_path("/sys/bus/pci/drivers_probe"), c->addr);
	if (c->driver[0] != '\0' && !wait_driver(c->addr, c->driver, WAIT_MS))
		vfio_fault("%s: %s does not take it back; dmesg says why", c->addr, c->driver);
	return 1;
}

int
vfio_bind(const char *addr, const struct vfio_how *how)
{
	struct vfio_card c;
	uid_t uid;
	gid_t gid;

	if (vfio_card_read(&c, addr) != 0)
		return vfio_fault("%s: there is no such PCI device", addr);
	if (may_bind(&c, how) != 0 || (how->owner != NULL && owner_ids(how->owner, &uid, &gid) != 0))
		return 1;
	if (strcmp(c.driver, DRIVER) != 0) {
		load_module(DRIVER);
		if (access(root_path(DRIVERS, DRIVER), F_OK) != 0)
			return vfio_fault("%s: this kernel has no " DRIVER ": modprobe " DRIVER, addr);
		if (put(root_path(DEVICE "/driver_override", addr), DRIVER) != 0)
			return 1;
		if (leave(&c) != 0 || put(root_path("/sys/bus/pci/drivers_probe"), addr) != 0)
			return back(&c);
		if (!wait_driver(addr, DRIVER, WAIT_VFIO_MS)) {
			vfio_fault("%s: " DRIVER " does not take it; dmesg says why", addr);
			return back(&c);
		}
		vfio_card_read(&c, addr);
	}
	if (how->owner != NULL && give(&c, how->owner) != 0)
		return 1;
	printf("%s: bound to " DRIVER "\n", addr);
	return 0;
}

/* A process that has this file open: unbinding would wait for its end. 0: none. */
static pid_t
holder(const char *file, char name[VFIO_TEXT])
{
	char where[PATH_MAX];
	DIR *proc = opendir(root_path("/proc")), *d;
	struct dirent *p, *e;
	pid_t found = 0;
	ssize_t n;

	while (proc != NULL && found == 0 && (p = readdir(proc)) != NULL) {
		if (!isdigit((unsigned char)p->d_name[0]) || (d = opendir(root_path("/proc/%s/fd", p->d_name))) == NULL)
			continue;
		while (found == 0 && (e = readdir(d)) != NULL) {
			n = readlinkat(dirfd(d), e->d_name, where, sizeof(where) - 1);
			where[n > 0 ? n : 0] = '\0';
			if (n > 0 && strcmp(where, file) == 0)
				found = (pid_t)strtol(p->d_name, NULL, 10);
		}
		closedir(d);
		root_read(name, root_path("/proc/%s/comm", p->d_name));
	}
	if (proc != NULL)
		closedir(proc);
	return found;
}

int
vfio_unbind(const char *addr)
{
	char name[VFIO_TEXT], file[PATH_MAX];
	struct vfio_card c;
	pid_t pid;

	if (vfio_card_read(&c, addr) != 0)
		return vfio_fault("%s: there is no such PCI device", addr);
	if (vfio_name(&c) == NULL)
		return vfio_fault("%s: PCI %04x:%04x is no ConnectX-3", addr, c.vendor, c.device);
	if (c.driver[0] != '\0' && !vfio_driver(c.driver)) {
		printf("%s: bound to %s\n", addr, c.driver);
		return 0;
	}
	snprintf(file, sizeof(file), "%s", vfio_file(&c));
	pid = c.group < 0 ? 0 : holder(file, name);
	if (pid != 0)
		return vfio_fault("%s: process %ld (%s) has it: end that first", addr, (long)pid, name);
	load_module("mlx4_core");
	if (put(root_path(DEVICE "/driver_override", addr), "\n") != 0 || leave(&c) != 0 ||
	    put(root_path("/sys/bus/pci/drivers_probe"), addr) != 0)
		return 1;
	if (access(root_path(DRIVERS, "mlx4_core"), F_OK) != 0) {
		printf("%s: bound to no driver: this kernel has no mlx4_core\n", addr);
		return 0;
	}
	if (!wait_driver(addr, NULL, WAIT_MS))
		return vfio_fault("%s: no driver of the kernel takes it; dmesg says why", addr);
	vfio_card_read(&c, addr);
	printf("%s: bound to %s\n", addr, c.driver);
	return 0;
}
