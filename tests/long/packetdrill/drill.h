/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The engine as packetdrill plays scripts to it: one stack, its clock, and what waits. */
#ifndef LONG_PACKETDRILL_DRILL_H
#define LONG_PACKETDRILL_DRILL_H

#include "interface.h"
#include "lib/tcp/tcp.h"

/* --- drill.c --- */

/* The script's words, as --so_flags has them; ends the program where one is unknown. */
void drill_open(const char *words);
void drill_free(void *own);
int drill_netdev_send(void *own, const void *p, size_t n);
int drill_netdev_receive(void *own, void *p, size_t *n, long long *at_us);
int drill_usleep(void *own, useconds_t us);
int drill_gettimeofday(void *own, struct timeval *t, struct timezone *tz);

/* Around each call: takes the lock and sets the engine's clock; sends what is due and wakes who waited for it. */
struct tcp_stack *drill_enter(void);
void drill_leave(void);
/*
 * Between them: waits until done() is true, or the time has come. Script time stands still meanwhile where another thread moves it
 * on, and this one does where it is packetdrill's own. False: the time came.
 */
bool drill_wait(bool (*done)(void *arg), void *arg, uint64_t until);
uint64_t drill_now(void);

/* --- calls.c --- */
void calls_fill(struct packetdrill_interface *ifc);

#endif /* LONG_PACKETDRILL_DRILL_H */
