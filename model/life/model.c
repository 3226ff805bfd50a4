/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A card's life: made, reset, destroyed; its lock; its interrupts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/rx/rx.h"
#include "model/cmd/cmd.h"
#include "model/ib/ib.h"
#include "model/port/port.h"
#include "model/qos/qos.h"
#include "model/roce/roce_cc.h"
#include "model/wire/wire.h"
#include "life.h"

#define MAX_FRAME_DEFAULT 1522u /* 1500 bytes of payload, header, one tag, FCS */

void
tp_model_config_default(struct tp_model_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->device_id = MLX4_PCI_DEV_CX3_PRO;
	cfg->fw_major = 2;
	cfg->fw_minor = 42;
	cfg->fw_subminor = 5000;
	cfg->guid = UINT64_C(0x0002c90300a1b200);
	cfg->num_ports = TP_MODEL_PORTS;
	cfg->port_type[0] = TP_PORT_ETH;
	cfg->port_type[1] = TP_PORT_ETH;
}

static bool
cc_valid(const struct tp_model_config *cfg, const char *stored)
{
	struct tp_model_cc_bad bad;

	if (stored == NULL || *stored == '\0')
		return true;
	return cfg->device_id == MLX4_PCI_DEV_CX3_PRO && !cfg->no_congestion && tp_model_cc_check(stored, &bad) == 0;
}

static bool
config_valid(const struct tp_model_config *cfg)
{
	if (cfg->device_id != MLX4_PCI_DEV_CX3 && cfg->device_id != MLX4_PCI_DEV_CX3_PRO)
		return false;
	if (cfg->num_ports < 1 || cfg->num_ports > TP_MODEL_PORTS || cfg->guid == 0)
		return false;
	for (unsigned int i = 0; i < cfg->num_ports; i++)
		if ((unsigned int)cfg->port_type[i] > TP_PORT_AUTO || (unsigned int)cfg->sense[i] > TP_SENSE_IB ||
		    cfg->rate_mbps[i] > TP_RATE_MAX_MBPS || (unsigned int)cfg->ib_speed[i] > TP_IB_FDR ||
		    !cc_valid(cfg, cfg->cc[i]))
			return false;
	return tpm_rxbuf_config_valid(cfg);
}

/* The MAC that a card derives from its GUID: vendor part and the low three bytes, one up per port. */
static uint64_t
port_mac(const struct tp_model_config *cfg, unsigned int port)
{
	return (cfg->guid >> 40) << 24 | ((cfg->guid + port) & 0xffffff);
}

static void
free_all(struct tp_model *m)
{
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		tpm_steer_fini(&m->port[i]);
		tpm_impair_fini(&m->port[i]);
		tpm_qos_fini(&m->port[i]);
		tpm_cc_fini(&m->port[i]);
	}
	tpm_icm_destroy(m->icm);
	if (m->uar != NULL)
		munmap(m->uar, TPM_BAR2_SIZE);
	tpm_watch_fini(m);
	if (m->wake_fd >= 0)
		close(m->wake_fd);
	if (m->uar_fd >= 0)
		close(m->uar_fd);
	free(m->roce_stats);
	free(m->uar_list);
	free(m->win);
	free(m->bar0_misc);
	free(m->cmd_count);
	free(m->ctl);
	free(m);
}

static int
alloc_all(struct tp_model *m)
{
	void *uar;

	m->ctl = calloc(1, sizeof(*m->ctl));
	m->bar0_misc = calloc(1, MLX4_BAR0_SIZE);
	m->cmd_count = calloc(tpm_cmd_info_count, sizeof(*m->cmd_count));
	m->uar_list = calloc(TPM_NUM_UARS, sizeof(*m->uar_list));
	m->icm = tpm_icm_create();
	/* A file, so that a driver in another process can have it too. */
	m->uar_fd = memfd_create("uar", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->uar_fd < 0 || ftruncate(m->uar_fd, TPM_BAR2_SIZE) != 0 ||
	    fcntl(m->uar_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return -ENOMEM;
	uar = mmap(NULL, TPM_BAR2_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, m->uar_fd, 0);
	m->uar = uar == MAP_FAILED ? NULL : uar;
	if (m->ctl == NULL || m->bar0_misc == NULL || m->cmd_count == NULL || m->uar_list == NULL || m->icm == NULL ||
	    m->uar == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		int rc = tpm_steer_init(&m->port[i]);

		if (rc == 0)
			rc = tpm_qos_init(&m->port[i], &m->cfg, i);
		if (rc == 0)
			rc = tpm_cc_init(&m->port[i], m->cfg.cc[i]);
		m->cfg.cc[i] = NULL;
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
tp_model_create(const struct tp_model_config *cfg, struct tp_model **out)
{
	struct mlx4_quirks quirks;
	char err[MLX4_QUIRK_ERR];
	struct tp_model *m;
	int rc;

	mlx4_quirks_default(&quirks);
	if (!config_valid(cfg) || mlx4_quirks_parse(&quirks, cfg->quirks != NULL ? cfg->quirks : "", err) != 0)
		return -EINVAL;
	m = aligned_alloc(64, (sizeof(*m) + 63) & ~(size_t)63);
	if (m == NULL)
		return -ENOMEM;
	memset(m, 0, sizeof(*m));
	m->cfg = *cfg;
	m->cfg.quirks = NULL;
	m->quirks = quirks;
	m->tpt_gen = 1;
	m->port_ops = &tpm_port_ops;
	m->link_ops[false] = &tpm_eth_link_ops;
	m->link_ops[true] = &tpm_ib_link_ops;
	m->uar_fd = -1;
	m->wake_fd = -1;
	m->watch.fd = -1;
	for (unsigned int i = 0; i < MLX4_MSIX_VECTORS; i++)
		m->irq_fd[i] = -1;
	rc = alloc_all(m);
	if (rc != 0) {
		free_all(m);
		return rc;
	}
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		m->port[i].num = i + 1;
		m->port[i].cable = true;
	}
	tpm_reset(m);
	*out = m;
	return 0;
}

void
tp_model_destroy(struct tp_model *m)
{
	if (m == NULL)
		return;
	tp_model_thread_stop(m);
	tpm_hca_stop(m);
	tpm_trace_end(m);
	tpm_replay_end(m);
	for (unsigned int i = 1; i <= TP_MODEL_PORTS; i++)
		tp_model_wire_none(m, i);
	free_all(m);
}

static void
port_reset(struct tp_model *m, struct tpm_port *p)
{
	if (p->steer != NULL)
		tpm_steer_flush(m);
	p->open = false;
	tpm_port_set_link(p, false);
	p->max_frame = MAX_FRAME_DEFAULT;
	p->user_mtu = 0;
	p->ignore_fcs = p->rx_pause = p->tx_pause = p->vlan_filter_on = p->mcast_filter = p->tunnels = false;
	p->rx_pfc = p->tx_pfc = 0;
	tpm_reg_reset(m, p);
	memset(p->prio2tc, 0, sizeof(p->prio2tc));
	memset(p->mac_table, 0, sizeof(p->mac_table));
	memset(p->vlan_table, 0, sizeof(p->vlan_table));
	memset(p->vlan_bitmap, 0, sizeof(p->vlan_bitmap));
	memset(&p->c, 0, sizeof(p->c));
	tpm_ib_reset(m, p);
	tpm_qos_reset(m, p);
	tpm_cc_reset(p);
}

void
tpm_reset(struct tp_model *m)
{
	tpm_hca_stop(m);
	free(m->roce_stats);
	m->roce_stats = NULL;
	tpm_icm_clear(m);
	memset(m->ctl, 0, sizeof(*m->ctl));
	memset(m->hca, 0, sizeof(m->hca));
	memset(m->counter, 0, sizeof(m->counter));
	/* Zeroes without touching its pages, of which a driver uses few. */
	if (fallocate(m->uar_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, TPM_BAR2_SIZE) != 0)
		memset(m->uar, 0, TPM_BAR2_SIZE);
	m->db_messages = false;
	m->fw_pages = m->aux_pages = 0;
	m->icm_size = 0;
	m->vxlan_port = m->roce_port = 0;
	m->special_qp_base = 0;
	memcpy(m->ctl->node_desc, "Triplane ConnectX-3 model", sizeof("Triplane ConnectX-3 model"));
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		struct tpm_port *p = &m->port[i];

		port_reset(m, p);
		p->flushed_sq = p->flushed_rq = 0;
		p->mac = port_mac(&m->cfg, p->num);
		p->ib = m->cfg.port_type[i] == TP_PORT_IB;
	}
	tpm_regs_reset(m);
	tpm_config_reset(m);
	m->state = TPM_SYS_RESET;
	tpm_trace_reset(m);
	tpm_note(m, "reset");
}

void
tp_model_reset(struct tp_model *m)
{
	tpm_lock(&m->lock);
	tpm_reset(m);
	tpm_unlock(&m->lock);
}

void *
tp_model_uar(struct tp_model *m, size_t *len)
{
	if (len != NULL)
		*len = TPM_BAR2_SIZE;
	return m->uar;
}

int
tp_model_uar_fd(struct tp_model *m)
{
	return m->uar_fd;
}

int
tp_model_uar_lend(struct tp_model *m, uint32_t page, int fd)
{
	off_t off = (off_t)page * MLX4_UAR_PAGE_SIZE;
	void *va;

	/* Also of a card that was reset, which has none in use. */
	if (page < MLX4_UAR_EQ_PAGES || page >= TPM_NUM_UARS)
		return -EINVAL;
	tpm_lock(&m->lock);
	va = mmap((uint8_t *)m->uar + off, MLX4_UAR_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		  fd < 0 ? m->uar_fd : fd, off);
	tpm_unlock(&m->lock);
	return va == MAP_FAILED ? -errno : 0;
}

int
tp_model_irq_set(struct tp_model *m, uint32_t vector, int fd)
{
	if (vector >= MLX4_MSIX_VECTORS)
		return -EINVAL;
	tpm_lock(&m->lock);
	m->irq_fd[vector] = fd;
	tpm_unlock(&m->lock);
	return 0;
}

int
tp_model_break(struct tp_model *m, enum tp_break what, unsigned int port, uint32_t nth)
{
	if ((unsigned int)what >= TP_BREAKS || (what != TP_BREAK_IRQ && (port < 1 || port > m->cfg.num_ports)))
		return -EINVAL;
	tpm_lock(&m->lock);
	if (what == TP_BREAK_IRQ)
		m->break_irq = nth;
	else if (what == TP_BREAK_SQ)
		m->port[port - 1].break_sq = nth;
	else
		m->port[port - 1].break_cqe = nth;
	tpm_unlock(&m->lock);
	return 0;
}

int
tp_model_fault(struct tp_model *m, enum tp_fault kind, uint16_t opcode, uint32_t nth, uint8_t status)
{
	if ((unsigned int)kind > TP_FAULT_SLOW || (kind == TP_FAULT_STATUS && nth != 0 && status == 0))
		return -EINVAL;
	if (opcode != 0 && tpm_cmd_index(opcode) < 0)
		return -EINVAL;
	tpm_lock(&m->lock);
	m->fault = (struct tpm_fault){
		.armed = nth != 0, .kind = kind, .opcode = opcode, .countdown = nth, .status = status};
	tpm_unlock(&m->lock);
	return 0;
}
