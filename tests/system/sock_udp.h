/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef SOCK_UDP_H
#define SOCK_UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

extern struct sockaddr_in where; /* the server */
extern struct sockaddr_in peer;  /* the other end */
extern int fd;
extern char text[2048];

void tell(const char *what, long rc);
void fatal(const char *what) __attribute__((noreturn));
int make(int type);
void put(int s, const struct sockaddr_in *to, const char *data, size_t len);
ssize_t take(void);
void meet(bool calls);
bool is(const struct sockaddr_in *a, const struct sockaddr_in *b);
void on(const char *what, int level, int name, int value);

/* --- sock_udp_more.c --- */
void case_flags(bool calls);
void case_beside(bool calls);
void case_options(bool calls);
void case_drops(bool calls);
void case_groups(bool calls);

#endif /* SOCK_UDP_H */
