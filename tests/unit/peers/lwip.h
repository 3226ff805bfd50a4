/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * lwIP in a module of its own, since its functions have the names of ours: the table is all that is seen of it. Its time is
 * what time() says.
 */
#ifndef PEERS_LWIP_H
#define PEERS_LWIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LWIP_MODULE_TABLE "lwip_module"

struct lwip_conn;

/* Addresses are in network order, ports in the host's. */
struct lwip_module {
	/* Once. out() gets frames, which have no Ethernet addresses. */
	void (*start)(uint32_t ip, void (*out)(void *arg, const uint8_t *frame, uint32_t len), void *arg);
	void (*input)(const uint8_t *frame, uint32_t len);
	/* Timers end; the time never goes back. */
	void (*time)(uint64_t now_us);
	/* NULL: it has no memory. */
	struct lwip_conn *(*connect)(uint32_t ip, uint16_t port);
	/* In place of the port before. */
	bool (*listen)(uint16_t port);
	/* The one that came last, NULL: none since the last call. */
	struct lwip_conn *(*accepted)(void);
	bool (*open)(const struct lwip_conn *c);
	/* Octets that were taken. */
	size_t (*send)(struct lwip_conn *c, const void *data, size_t len);
	/* Octets that were there. */
	size_t (*recv)(struct lwip_conn *c, void *data, size_t len);
	/* Nothing comes any more, and all was read. */
	bool (*end)(const struct lwip_conn *c);
	/* 0, or lwIP's negative error that ended it. */
	int (*error)(const struct lwip_conn *c);
	/* FIN, behind what was sent; it goes on reading. */
	void (*shut)(struct lwip_conn *c);
	/* Both give the handle back. */
	void (*close)(struct lwip_conn *c);
	void (*abort)(struct lwip_conn *c);
	/* Connections of any state but TIME-WAIT that it has. */
	uint32_t (*conns)(void);
	uint32_t (*time_waits)(void);
	int refused, reset; /* its errors for RST, before the connection is there and after */
};

#endif /* PEERS_LWIP_H */
