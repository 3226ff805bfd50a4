/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef SOCK_PROG_H
#define SOCK_PROG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

void tell(const char *what, long rc);
void fatal(const char *what) __attribute__((noreturn));
int make(int type);
int meet(bool calls);
const struct sockaddr_in *peer(void);
int listening(void);
void put_all(int fd, const void *data, size_t len);
void get_all(int fd, void *data, size_t len);
void together(int fd);

/* --- sock_cases.c --- */
void case_nonblock(bool calls);
void case_flags(bool calls);
void case_options(bool calls);
void case_ends(bool calls);
void case_refused(bool calls);
void case_signals(bool calls);
void case_epoll(bool calls);
void case_select(bool calls);
void case_fds(bool calls);
void case_fork(bool calls);
void case_halves(bool calls);

/* --- sock_last.c --- */
void case_last(bool calls);
void case_shut(bool calls);

#endif /* SOCK_PROG_H */
