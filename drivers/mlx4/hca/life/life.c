/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A card's life: reset, ownership, bring-up [CP 7.3], teardown in exact reverse [CP 7.4], reset.
 *
 * A process that died leaves a card that still writes to memory it was given; so the reset comes before anything else,
 * and a card that does not take part in its teardown is reset before its memory is freed.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include <rte_malloc.h>

#include "drivers/mlx4/hca/fw_needs.h"
#include "drivers/mlx4/hca/core.h"

/* The open cards of this process, to refuse two with one GUID. */
static TAILQ_HEAD(, mlx4_hca) open_hcas = TAILQ_HEAD_INITIALIZER(open_hcas);
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

/* Two ways to the same card, or two cards with one address block, would disturb each other. */
static int
enlist(struct mlx4_hca *hca)
{
	struct mlx4_hca *other;

	pthread_mutex_lock(&open_lock);
	TAILQ_FOREACH(other, &open_hcas, next)
	{
		if (hca->node_guid == 0 || other->node_guid != hca->node_guid)
			continue;
		pthread_mutex_unlock(&open_lock);
		HCA_LOG(hca, ERR, "its GUID 0x%016" PRIx64 " is that of %s, which is open; GUIDs must differ",
			hca->node_guid, other->bus->where);
		/* Not EEXIST: to the EAL that says that this device is attached already. */
		return -EADDRINUSE;
	}
	TAILQ_INSERT_TAIL(&open_hcas, hca, next);
	pthread_mutex_unlock(&open_lock);
	return 0;
}

static void
delist(struct mlx4_hca *hca)
{
	pthread_mutex_lock(&open_lock);
	TAILQ_REMOVE(&open_hcas, hca, next);
	pthread_mutex_unlock(&open_lock);
}

/* After its reset the card belongs to nobody; the first read takes it [CP 1.5]. */
static int
take_ownership(struct mlx4_hca *hca)
{
	if (mlx4_reg_read(hca, MLX4_REG_OWNERSHIP) == 0)
		return 0;
	HCA_LOG(hca, ERR, "the card is owned by another driver");
	return -EBUSY;
}

static int
numbers_init(struct mlx4_hca *hca)
{
	const struct mlx4_caps *c = &hca->caps;
	int node = hca->numa_node, rc;

	rc = mlx4_numbers_create("QPNs", c->rsvd_qps, mlx4_icm_num_qps(hca), node, &hca->qpns);
	if (rc == 0)
		rc = mlx4_numbers_create("CQNs", c->rsvd_cqs, mlx4_icm_num_cqs(hca), node, &hca->cqns);
	if (rc == 0)
		rc = mlx4_numbers_create("SRQNs", c->rsvd_srqs, mlx4_icm_num_srqs(hca), node, &hca->srqns);
	/* One is the core's own. */
	if (rc == 0)
		rc = mlx4_numbers_create("protection domains", c->rsvd_pds + 1, MLX4_PDS_END, node, &hca->pds);
	if (rc == 0)
		rc = mlx4_numbers_create("MPTs", c->rsvd_mpts, mlx4_icm_num_mpts(hca), node, &hca->mpts);
	if (rc == 0)
		rc = mlx4_numbers_create("MTT entries", c->rsvd_mtts, mlx4_icm_num_mtts(hca), node, &hca->mtts);
	if (rc == 0)
		rc = mlx4_uars_init(hca);
	hca->pd = c->rsvd_pds;
	return rc;
}

static void
numbers_fini(struct mlx4_hca *hca)
{
	mlx4_uars_fini(hca);
	mlx4_numbers_destroy(hca->mtts);
	mlx4_numbers_destroy(hca->mpts);
	mlx4_numbers_destroy(hca->pds);
	mlx4_numbers_destroy(hca->srqns);
	mlx4_numbers_destroy(hca->cqns);
	mlx4_numbers_destroy(hca->qpns);
	hca->mtts = hca->mpts = hca->pds = hca->srqns = hca->cqns = hca->qpns = NULL;
}

static void
close_hca(struct mlx4_hca *hca)
{
	if (mlx4_cmd(hca, MLX4_CMD_CLOSE_HCA, 0, 0, NULL, 0, NULL, 0) != 0)
		mlx4_hca_stop_dma(hca);
}

static int
query_ports(struct mlx4_hca *hca)
{
	unsigned int p;
	int rc = 0;

	for (p = 1; rc == 0 && p <= hca->caps.num_ports; p++) {
		rc = mlx4_fw_check_port(hca, p);
		if (rc == 0)
			rc = mlx4_port_query(hca, p, &hca->port[p - 1]);
	}
	return rc;
}

/* From RUN_FW to a card that takes queues. */
static int
bring_up(struct mlx4_hca *hca, const struct mlx4_hca_config *cfg)
{
	int rc;

	rc = mlx4_fw_start(hca, cfg->check_fw);
	if (rc != 0)
		return rc;
	rc = mlx4_fw_query_caps(hca);
	if (rc == 0)
		rc = query_ports(hca);
	if (rc == 0)
		rc = mlx4_fw_query_guid(hca);
	if (rc != 0)
		goto err_caps;
	mlx4_fw_limit(hca, cfg->check_fw);
	rc = enlist(hca);
	if (rc != 0)
		goto err_caps;
	rc = mlx4_icm_create(hca);
	if (rc != 0)
		goto err_icm;
	rc = mlx4_icm_init_hca(hca);
	if (rc != 0)
		goto err_init_hca;
	rc = mlx4_fw_query_board(hca);
	if (rc != 0)
		goto err_board;
	rc = numbers_init(hca);
	if (rc != 0)
		goto err_numbers;
	rc = mlx4_events_start(hca);
	if (rc != 0)
		goto err_numbers;
	if (!cfg->poll_cmd)
		rc = mlx4_cmd_use_events(hca, mlx4_events_poll_cmd);
	if (rc != 0)
		goto err_events;
	rc = mlx4_special_qps_create(hca);
	if (rc != 0)
		goto err_special;
	rc = mlx4_mr_create_pa(hca);
	if (rc != 0)
		goto err_mr;
	return 0;

err_mr:
	mlx4_special_qps_destroy(hca);
err_special:
	mlx4_cmd_use_polling(hca);
err_events:
	mlx4_events_stop(hca);
err_numbers:
	numbers_fini(hca);
err_board:
	close_hca(hca);
err_init_hca:
	mlx4_icm_destroy(hca);
err_icm:
	delist(hca);
err_caps:
	mlx4_fw_stop(hca);
	return rc;
}

static void
bring_down(struct mlx4_hca *hca)
{
	unsigned int port;

	for (port = 1; port <= hca->caps.num_ports; port++)
		mlx4_port_close(hca, port);
	mlx4_mr_destroy_pa(hca);
	mlx4_special_qps_destroy(hca);
	mlx4_cmd_use_polling(hca);
	mlx4_events_stop(hca);
	close_hca(hca);
	numbers_fini(hca);
	mlx4_icm_destroy(hca);
	delist(hca);
	mlx4_fw_stop(hca);
}

int
mlx4_hca_open(struct mlx4_bus *bus, const struct mlx4_hca_config *cfg, struct mlx4_hca **out)
{
	struct mlx4_hca *hca = rte_zmalloc_socket("mlx4_hca", sizeof(*hca), 0, bus->numa_node);
	int rc;

	if (hca == NULL)
		return -ENOMEM;
	hca->bus = bus;
	hca->quirks = cfg->quirks;
	hca->numa_node = bus->numa_node < 0 ? 0 : bus->numa_node;
	rte_spinlock_init(&hca->lock);
	pthread_mutex_init(&hca->shared, NULL);
	rc = mlx4_trace_open(cfg->trace != NULL ? cfg->trace : "", bus->where, &hca->trace);
	if (rc != 0)
		goto err_trace;
	rc = mlx4_hca_reset(hca);
	if (rc != 0)
		goto err_reset;
	rc = take_ownership(hca);
	if (rc != 0)
		goto err_reset;
	rc = mlx4_cmd_init(hca);
	if (rc != 0)
		goto err_cmd;
	rc = bring_up(hca, cfg);
	if (rc != 0)
		goto err_up;
	hca->up = true;
	HCA_LOG(hca, INFO, "device 0x%04x, firmware %u.%u.%u, board %s, GUID 0x%016" PRIx64 ", %u port(s)",
		bus->device_id, hca->caps.fw_major, hca->caps.fw_minor, hca->caps.fw_subminor, hca->caps.board_id,
		hca->node_guid, hca->caps.num_ports);
	*out = hca;
	return 0;

err_up:
	/* The card may write to the mailboxes until it is reset. */
	mlx4_hca_reset(hca);
	mlx4_cmd_fini(hca);
	mlx4_trace_close(hca->trace);
	rte_free(hca);
	return rc;
err_cmd:
	mlx4_reg_write(hca, MLX4_REG_OWNERSHIP, 0);
err_reset:
	mlx4_trace_close(hca->trace);
err_trace:
	rte_free(hca);
	return rc;
}

int
mlx4_hca_revive(struct mlx4_hca *hca, const struct mlx4_hca_config *cfg)
{
	int rc;

	if (hca->up)
		bring_down(hca);
	hca->up = false;
	rc = mlx4_hca_reset(hca);
	if (rc == 0)
		rc = take_ownership(hca);
	if (rc != 0)
		return rc;
	memset(&hca->caps, 0, sizeof(hca->caps));
	memset(&hca->tunnel, 0, sizeof(hca->tunnel));
	mlx4_cmd_after_reset(hca);
	hca->dead = false;
	hca->quiet = false;
	rc = bring_up(hca, cfg);
	if (rc != 0) {
		mlx4_hca_mark_dead(hca, "it could not be brought up after its reset");
		mlx4_hca_reset(hca);
		return rc;
	}
	hca->up = true;
	HCA_LOG(hca, NOTICE, "[card-back] the card is back after its reset");
	return 0;
}

void
mlx4_hca_close(struct mlx4_hca *hca)
{
	if (hca->up)
		bring_down(hca);
	/* Gives the ownership back, too. A card that is gone was waited for already: its program may be about to end. */
	if (!hca->gone)
		mlx4_hca_reset(hca);
	mlx4_cmd_fini(hca);
	mlx4_trace_close(hca->trace);
	rte_free(hca);
}

void
mlx4_hca_put(struct mlx4_hca *hca)
{
	struct mlx4_bus *bus = hca->bus;

	if (--hca->refs != 0)
		return;
	mlx4_hca_close(hca);
	bus->ops->close(bus);
}
