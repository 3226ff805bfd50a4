/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports of model cards for the tests of the driver's control side: plug, configure, send, receive. */
#ifndef MLX4_RIG_H
#define MLX4_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "drivers/mlx4/port/port.h"
#include "rte_pmd_mlx4.h"
#include "tp_model.h"

#define RIG_DEV "net_mlx4_model0"
#define RIG_DESC 256
#define RIG_FRAME 60

/* Starts the EAL, without hugepages, with these lcores; see unit_lcores(). */
int rig_eal(const char *prefix, const char *lcores);

int rig_plug(const char *name, const char *args);
void rig_unplug(const char *name);
/* A stepped card with a cross wire, and its removal with a look at what it has to complain about. */
void rig_open(const char *args);
void rig_close(void);
int rig_teardown(void **state); /* closes; of tests */

struct tp_model *rig_model(uint16_t port);
/* Pieces of EAL's memory in use; their bytes depend on what was free when they were made. */
size_t rig_heap(void);
void rig_no_violations(uint16_t port);
/* The next command of port 0's card kills it, and is not waited for as long as others are. */
void rig_kill_card(enum tp_fault kind);
/* Moves the stepped card of a port until it is idle. */
void rig_run(uint16_t port);

/* How many rig_pool() has, when set before EAL starts: each is touched as it is made, which most programs need not wait for. */
extern unsigned int rig_mbufs;
struct rte_mempool *rig_pool(void);       /* 2 KiB mbufs */
struct rte_mempool *rig_large_pool(void); /* 10 KiB mbufs */

/* Configures so many queues each way and sets them up with RIG_DESC descriptors; does not start. */
int rig_configure(uint16_t port, uint16_t rxq, uint16_t txq, const struct rte_eth_conf *conf, struct rte_mempool *mp);
/* The same with assertions, one queue each way unless said, and start. */
void rig_start(uint16_t port, uint16_t queues, const struct rte_eth_conf *conf);
/* Opens a card; port 0 has one queue and the defaults, port 1 these. */
void rig_open_pair(const char *args, uint16_t queues, const struct rte_eth_conf *conf);

/* An mbuf with a frame to dst of len bytes (no FCS), the bytes behind the header counting up. */
struct rte_mbuf *rig_frame(const struct rte_ether_addr *dst, uint16_t len);
/* A UDP (or TCP) frame over IPv4 with these addresses and ports in host order. */
struct rte_mbuf *rig_ipv4(uint8_t proto, uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport);
/* Sends one frame on queue 0, moving the card; asserts that it was taken. */
void rig_send(uint16_t port, struct rte_mbuf *m);
/* Frees what a queue has received, returns how many. */
unsigned int rig_drain(uint16_t port, uint16_t queue);
/* Sends a frame to dst from port 0 and says how many arrived at port 1's queue 0. */
unsigned int rig_reaches(const struct rte_ether_addr *dst);
struct rte_ether_addr rig_mac(uint16_t port);
uint64_t rig_xstat(uint16_t port, const char *name);

/*
 * Whatever has been raised so far was handled: interrupts and alarms have one thread. The second of two alarms, each set
 * when the one before has run, comes in or after the turn that sees the interrupt, and the fourth behind an alarm that its
 * handler set.
 */
void rig_handled(void);
/*
 * The same for events, too: one that was written while the handler was at work on those before waits until the card has
 * seen the doorbell of the event queue.
 */
void rig_settle(uint16_t port);

/*
 * What the driver says meanwhile: rig_log_end waits for the interrupt thread, gives the text, to be freed, and
 * how many lines are the driver's.
 */
void rig_log_begin(void);
char *rig_log_end(unsigned int *lines);
/* Asserts that the driver said one line, with these words. */
void rig_log_one(const char *word1, const char *word2);

#endif /* MLX4_RIG_H */
