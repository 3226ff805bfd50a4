/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Ports in secondary processes. Queues and what they point to are memory that all processes of a program have at one
 * address, and so are the doorbell pages when the secondary could map them there: bursts run in any process. The card itself
 * is the primary's alone: what reads or changes it, a secondary asks the primary for, by EAL's messages, or refuses.
 */
#ifndef MLX4_PORT_SHARE_H
#define MLX4_PORT_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include <rte_dev.h>
#include <rte_eal.h>

#include "compat.h"
#include "port.h"

#define MLX4_SHARE_NAME "mlx4_vfio" /* of the messages */
#define MLX4_SHARE_STRUCTS 3u       /* that processes share: of ports, of receive and of transmit queues */

enum mlx4_ask_what {
	MLX4_ASK_SEAT,  /* ports of the card "device", and where its doorbell pages are */
	MLX4_ASK_LINK,  /* brings the link state in the shared data up to date */
	MLX4_ASK_STATS, /* struct mlx4_stats_box */
	MLX4_ASK_STATS_RESET,
	MLX4_ASK_XSTATS, /* all of them, struct rte_eth_xstat */
	MLX4_ASK_CLOCK,  /* uint64_t */
};

struct mlx4_ask {
	uint32_t what;
	uint16_t port_id;
	uint32_t size[MLX4_SHARE_STRUCTS]; /* of the shared structs: both ends must be one build */
	char device[RTE_DEV_NAME_MAX_LEN];
};

/* What there is to tell beyond this is in a file that comes with it. */
struct mlx4_answer {
	int32_t rc;
	uint32_t len;  /* bytes in the file */
	uint8_t ports; /* bit n: the card's port n + 1 is an ethdev */
	uint64_t uar, uar_len, uar_off;
};
_Static_assert(sizeof(struct mlx4_ask) <= RTE_MP_MAX_PARAM_LEN && sizeof(struct mlx4_answer) <= RTE_MP_MAX_PARAM_LEN,
	       "both fit a message of the EAL");

/* Of the shared structs, by who includes the headers of queues. */
#define MLX4_SHARE_SIZES                                                                                               \
	(const uint32_t[])                                                                                             \
	{                                                                                                              \
		sizeof(struct mlx4_eth), sizeof(struct mlx4_rxq), sizeof(struct mlx4_txq)                              \
	}
void mlx4_ask_init(struct mlx4_ask *ask, enum mlx4_ask_what what, uint16_t port_id,
		   const uint32_t size[MLX4_SHARE_STRUCTS]);

/* --- share.c: the primary --- */
/* Secondary processes are answered from now on, if they have the same sizes. 0 or negative errno. */
int mlx4_share_open(const uint32_t size[MLX4_SHARE_STRUCTS]);
/* They may ask for this port. */
void mlx4_share_show(struct rte_eth_dev *dev);
/* After the return nobody asks for it any more, nor is a question for it still being answered. */
void mlx4_share_hide(struct rte_eth_dev *dev);

/* --- secondary/attach.c: a secondary --- */
/*
 * Attaches all Ethernet ports that the primary has of a card. uar: where this process's EAL has mapped its doorbell pages;
 * NULL: they are mapped here.
 */
int mlx4_second_attach(struct rte_device *device, const char *name, const void *uar);
/* Lets go of them; the primary keeps its own. */
int mlx4_second_detach(struct rte_device *device);

/*
 * Asks the primary. Up to len bytes of what it tells go to out, or the file is kept in *fd. 0 or negative errno, its own or
 * the primary's.
 */
int mlx4_second_ask(const struct mlx4_ask *ask, struct mlx4_answer *answer, void *out, size_t len, int *fd);

/* What this process has of a port, and with the card's last port the doorbell pages. */
void mlx4_second_release(struct rte_eth_dev *dev);
/* Reinstalls the burst functions that rte_eth_dev_stop() removed. */
void mlx4_second_poll(struct rte_eth_dev *dev);
/* The primary still has the port that was attached. */
bool mlx4_second_alive(const struct rte_eth_dev *dev);

/* secondary/ops.c */
extern const struct eth_dev_ops mlx4_second_ops;

/* --- secondary/burst.c: queues in a secondary --- */
struct mlx4_ends;
/* What this process's bursts of a port need; NULL: no memory. */
struct mlx4_ends *mlx4_ends_create(const struct rte_eth_dev *dev);
void mlx4_ends_free(struct mlx4_ends *ends);
bool mlx4_ends_alive(const struct mlx4_ends *ends);
/* Lets the application poll. */
void mlx4_ends_show(struct rte_eth_dev *dev, struct mlx4_ends *ends);

#endif /* MLX4_PORT_SHARE_H */
