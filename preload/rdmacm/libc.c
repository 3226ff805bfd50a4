/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Functions of libc that reach the device by its path or by a descriptor. Whatever else they are called for goes on to the
 * next library, at the price of one comparison. They are defined under other names, since libc's headers give some of them
 * names of large files and checks of their own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "rdmacm.h"

#define HOOK(name) __asm__(#name) __attribute__((visibility("default")))
/* The next library's function of that name, which there is. */
#define NEXT(type, name)                                                                                               \
	({                                                                                                             \
		static __typeof__(type) next_fn;                                                                       \
		__typeof__(type) fn = __atomic_load_n(&next_fn, __ATOMIC_RELAXED);                                     \
		if (fn == NULL) {                                                                                      \
			fn = (__typeof__(type))dlsym(RTLD_NEXT, name);                                                 \
			__atomic_store_n(&next_fn, fn, __ATOMIC_RELAXED);                                              \
		}                                                                                                      \
		fn;                                                                                                    \
	})

static inline bool
maybe(int fd)
{
	return __builtin_expect(__atomic_load_n(&file_any, __ATOMIC_RELAXED) != 0, 0) && file_maybe(fd);
}

/* --- open --- */

/* The device's descriptor, or -1 and errno; -2: the path is another one, or nobody shares ports. */
static inline int
device_open(const char *path, int flags)
{
	return path == NULL || strcmp(path, RDMACM_DEVICE) != 0 ? -2 : file_open(flags);
}

static inline mode_t
mode_of(int flags, va_list ap)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

#define OPEN(c_name, name)                                                                                             \
	int c_name(const char *path, int flags, ...) HOOK(name);                                                       \
	int c_name(const char *path, int flags, ...)                                                                   \
	{                                                                                                              \
		int fd = device_open(path, flags);                                                                     \
		mode_t mode;                                                                                           \
		va_list ap;                                                                                            \
                                                                                                                       \
		if (fd != -2)                                                                                          \
			return fd;                                                                                     \
		va_start(ap, flags);                                                                                   \
		mode = mode_of(flags, ap);                                                                             \
		va_end(ap);                                                                                            \
		return NEXT(int (*)(const char *, int, ...), #name)(path, flags, mode);                                \
	}
#define OPENAT(c_name, name)                                                                                           \
	int c_name(int dir, const char *path, int flags, ...) HOOK(name);                                              \
	int c_name(int dir, const char *path, int flags, ...)                                                          \
	{                                                                                                              \
		int fd = device_open(path, flags);                                                                     \
		mode_t mode;                                                                                           \
		va_list ap;                                                                                            \
                                                                                                                       \
		if (fd != -2)                                                                                          \
			return fd;                                                                                     \
		va_start(ap, flags);                                                                                   \
		mode = mode_of(flags, ap);                                                                             \
		va_end(ap);                                                                                            \
		return NEXT(int (*)(int, const char *, int, ...), #name)(dir, path, flags, mode);                      \
	}
/* What _FORTIFY_SOURCE calls: no mode. */
#define OPEN_2(c_name, name)                                                                                           \
	int c_name(const char *path, int flags) HOOK(name);                                                            \
	int c_name(const char *path, int flags)                                                                        \
	{                                                                                                              \
		int fd = device_open(path, flags);                                                                     \
                                                                                                                       \
		return fd != -2 ? fd : NEXT(int (*)(const char *, int), #name)(path, flags);                           \
	}
#define OPENAT_2(c_name, name)                                                                                         \
	int c_name(int dir, const char *path, int flags) HOOK(name);                                                   \
	int c_name(int dir, const char *path, int flags)                                                               \
	{                                                                                                              \
		int fd = device_open(path, flags);                                                                     \
                                                                                                                       \
		return fd != -2 ? fd : NEXT(int (*)(int, const char *, int), #name)(dir, path, flags);                 \
	}

OPEN(hook_open, open)
OPEN(hook_open64, open64)
OPENAT(hook_openat, openat)
OPENAT(hook_openat64, openat64)
OPEN_2(hook_open_2, __open_2)
OPEN_2(hook_open64_2, __open64_2)
OPENAT_2(hook_openat_2, __openat_2)
OPENAT_2(hook_openat64_2, __openat64_2)

/* --- fstat: struct stat and struct stat64 are the same --- */

#define FSTAT(c_name, name)                                                                                            \
	int c_name(int fd, struct stat *st) HOOK(name);                                                                \
	int c_name(int fd, struct stat *st)                                                                            \
	{                                                                                                              \
		struct file_channel channel;                                                                           \
                                                                                                                       \
		if (!maybe(fd) || file_of(fd, &channel) == FILE_OTHER)                                                 \
			return NEXT(int (*)(int, struct stat *), #name)(fd, st);                                       \
		file_stat(st);                                                                                         \
		return 0;                                                                                              \
	}
/* Of programs that were linked with older releases of libc. */
#define FXSTAT(c_name, name)                                                                                           \
	int c_name(int version, int fd, struct stat *st) HOOK(name);                                                   \
	int c_name(int version, int fd, struct stat *st)                                                               \
	{                                                                                                              \
		struct file_channel channel;                                                                           \
                                                                                                                       \
		if (!maybe(fd) || file_of(fd, &channel) == FILE_OTHER)                                                 \
			return NEXT(int (*)(int, int, struct stat *), #name)(version, fd, st);                         \
		file_stat(st);                                                                                         \
		return 0;                                                                                              \
	}

FSTAT(hook_fstat, fstat)
FSTAT(hook_fstat64, fstat64)
FXSTAT(hook_fxstat, __fxstat)
FXSTAT(hook_fxstat64, __fxstat64)

/* --- write --- */

ssize_t hook_write(int fd, const void *buf, size_t len) HOOK(write);
ssize_t
hook_write(int fd, const void *buf, size_t len)
{
	const bool was = maybe(fd);
	enum file_kind kind = FILE_OTHER;
	struct file_channel channel;

	if (was)
		kind = file_of(fd, &channel);
	if (kind == FILE_OTHER && was && !maybe(fd))
		return command_late(buf, len);
	if (kind == FILE_OTHER)
		return NEXT(ssize_t(*)(int, const void *, size_t), "write")(fd, buf, len);
	if (kind == FILE_OURS)
		return command_write(fd, &channel, buf, len);
	errno = EIO;
	return -1;
}

/* --- copies, and the end --- */

int hook_dup(int fd) HOOK(dup);
int
hook_dup(int fd)
{
	int to = NEXT(int (*)(int), "dup")(fd);

	if (maybe(fd) && to >= 0)
		file_copied(fd, to);
	return to;
}

int hook_dup2(int fd, int to) HOOK(dup2);
int
hook_dup2(int fd, int to)
{
	return maybe(fd) || maybe(to) ? file_dup(fd, to, NULL) : NEXT(int (*)(int, int), "dup2")(fd, to);
}

int hook_dup3(int fd, int to, int flags) HOOK(dup3);
int
hook_dup3(int fd, int to, int flags)
{
	return maybe(fd) || maybe(to) ? file_dup(fd, to, &flags) : NEXT(int (*)(int, int, int), "dup3")(fd, to, flags);
}

/* Each argument that there may be is as wide as a pointer. */
#define FCNTL(c_name, name)                                                                                            \
	int c_name(int fd, int cmd, ...) HOOK(name);                                                                   \
	int c_name(int fd, int cmd, ...)                                                                               \
	{                                                                                                              \
		va_list ap;                                                                                            \
		void *arg;                                                                                             \
		int rc;                                                                                                \
                                                                                                                       \
		va_start(ap, cmd);                                                                                     \
		arg = va_arg(ap, void *);                                                                              \
		va_end(ap);                                                                                            \
		rc = NEXT(int (*)(int, int, ...), #name)(fd, cmd, arg);                                                \
		if (maybe(fd) && rc >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC))                                \
			file_copied(fd, rc);                                                                           \
		return rc;                                                                                             \
	}

FCNTL(hook_fcntl, fcntl)
FCNTL(hook_fcntl64, fcntl64)

int hook_close(int fd) HOOK(close);
int
hook_close(int fd)
{
	return maybe(fd) ? file_close(fd) : NEXT(int (*)(int), "close")(fd);
}
