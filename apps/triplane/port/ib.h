/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Management of the InfiniBand ports of this program: lent to programs of libibumad by a thread that serves a socket. */
#ifndef TRIPLANE_PORT_IB_H
#define TRIPLANE_PORT_IB_H

#include <tp_ipoib.h>
#include <tp_mad_service.h>
#include <tp_sa.h>
#include <tp_sm.h>
#include <tp_umad.h>

#include "apps/triplane/app/app.h"
#include "apps/triplane/cli/out.h"

struct cmd_args;

/* Names of the InfiniBand ports, max at most. Returns how many there are. */
unsigned int ib_devices(char (*names)[64], unsigned int max);
/*
 * A list of one entry a port, or of the one that the command names as "device". The first error, which was said; the others are
 * shown all the same.
 */
int ib_show_each(struct app *app, const struct cmd_args *a, const char *list,
		 int (*show)(struct out *o, struct app *app, const char *device));
/* Lends all of them at a socket, while they are not lent. 0 or a negative errno, which was said. */
int ib_lend(const char *path);
/* What serves programs; NULL: nothing is lent. */
struct tp_umad *ib_lent(void);
/* A lent port's management, else NULL. */
struct tp_mad_service *ib_service(const char *device);
/* Takes back what is lent. */
void ib_stop(void);
/* The socket of what is lent; "": nothing is. */
const char *ib_lent_path(void);

/* --- ib_manage.c --------------------------------------------------------------------------------------------------- */

#define IB_MANAGERS 16u

/* A subnet manager of this program; a port has one at most. */
struct ib_manager {
	char device[64];
	struct tp_mad_service *service;
	struct tp_sm *sm; /* NULL: the place is free */
	uint8_t priority;
	uint16_t key[TP_SM_PKEYS]; /* given to all ports beside the default one */
	unsigned int num_keys;
};
/* Place i; NULL past the last. */
const struct ib_manager *ib_manager(unsigned int i);
/* These say why not. */
int ib_sm_on(const char *device, uint8_t priority);
int ib_sm_off(const char *device);
/* keys between blanks or commas, or none. */
int ib_sm_partitions(const char *device, const char *keys);
int ib_sm_keys(const char *text, uint16_t keys[TP_SM_PKEYS], unsigned int *n);
void ib_sm_stop(void);

/* A port whose times of subnet administration were set: the service that has them lives as long as the program. */
struct ib_client {
	char device[64];
	struct tp_mad_service *service; /* NULL: the place is free */
};
const struct ib_client *ib_client(unsigned int i);
/* 0 keeps a time. 0 or a negative errno, which was said. */
int ib_sa_times(const char *device, uint32_t timeout_ms, uint32_t retries);
void ib_sa_stop(void);
/* A port's management, opened. 0 or a negative errno, which was said. */
int ib_service_open(const char *device, struct tp_mad_service **service);

/* --- ib_made.c ------------------------------------------------------------------------------------------------------ */

/*
 * Makes an IPoIB port or a pair: "ipoib DEVICE [NAME VALUE ...]", "pair PRIMARY BACKUP on|off MS [NAME VALUE ...]" (failback and
 * its delay). 0 and its port, or a negative errno, which was said.
 */
int ib_make(struct app *app, const char *text, uint16_t *id);
/* What a port was made with by ib_make(); NULL: it was not. */
const char *ib_made(uint16_t id);
/* A port is closed. */
void ib_made_forget(uint16_t id);

#endif /* TRIPLANE_PORT_IB_H */
