/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port without a home: its provider takes GID tables or refuses them, events and lines of the log are kept. */
#ifndef NET_PORT_H
#define NET_PORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/roce/net/net_priv.h"

struct net_port {
	struct troce_dev dev;
	struct troce_gid table[TP_ROCE_GIDS]; /* as the provider has it */
	unsigned int tables, events;
	int refuse; /* what the provider's next answers are */
	/* The port's only rule: of version 2, for one service (0: of no connection); prio 0xff: there is none */
	uint16_t rule_service;
	uint8_t rule_prio;
	int8_t rule_dscp;
};

extern struct net_port np;

static inline struct ibv_context *
np_ctx(void)
{
	return &np.dev.vctx.context;
}

/* A port with this MAC; mode TP_ROCE_V2 and so on. 0 or an errno */
int np_open(enum tp_roce_mode mode, const char *mac);
void np_close(void);
/* "192.0.2.1/24", "2001:db8::1/64"; VLAN */
int np_add(const char *addr, uint16_t vlan);
int np_del(const char *addr);
struct sockaddr *np_sockaddr(const char *addr);
union ibv_gid np_gid(const char *addr);
struct rte_ether_addr np_mac(const char *mac);
/* The lines since the last call; static */
const char *np_log(void);
/* Exactly one line, which has all words in it (until NULL) */
void np_assert_line(const char *word, ...) __attribute__((sentinel));

#endif /* NET_PORT_H */
