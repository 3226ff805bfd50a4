/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Firmware: its memory, its start, its version, what it says about the card [CP 3.2..3.5, 7.3]. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_malloc.h>

#include "core.h"

/* Oldest firmware with all that the Ethernet port needs (DSCP reports among it), and the one recommended. */
#define FW_VERSION(a, b, c) ((uint64_t)(a) << 32 | (uint64_t)(b) << 16 | (c))
#define FW_MIN FW_VERSION(2, 30, 8000)
#define FW_RECOMMENDED FW_VERSION(2, 42, 5000)
#define FW_MAJOR(v) ((unsigned int)((v) >> 32))
#define FW_MINOR(v) ((unsigned int)((v) >> 16 & 0xffff))
#define FW_SUBMINOR(v) ((unsigned int)((v)&0xffff))

#define FW_PIECE (UINT64_C(2) << 20) /* memory is given in pieces of so many bytes */
#define CMD_IF_REV_MIN MLX4_CMD_IF_REV_NEW_PORT
#define CMD_IF_REV_MAX 3u
#define QUERY_TRIES 3u
#define QUERY_TRIES_MANY 10u
#define QUERY_SIZE 0x100u
#define PAGE MLX4_UAR_PAGE_SIZE

int
mlx4_fw_map(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint64_t va, const struct mlx4_dma *d)
{
	uint8_t mbox[MLX4_MAILBOX_SIZE];
	uint64_t at = d->iova, left = d->len, chunk, align;
	uint32_t n = 0;
	int rc;

	memset(mbox, 0, sizeof(mbox));
	while (left != 0) {
		/* Chunks are powers of two, aligned to their size on both sides [CP 3.3]. */
		align = at | va;
		chunk = align == 0 ? UINT64_C(1) << 63 : align & -align;
		while (chunk > left)
			chunk >>= 1;
		prm_set64(mbox + n * MLX4_MAP_ENTRY_SIZE, MLX4_MAP_VA, va);
		prm_set64(mbox + n * MLX4_MAP_ENTRY_SIZE, MLX4_MAP_PA, at | (mlx4_lg(chunk) - mlx4_lg(PAGE)));
		at += chunk;
		left -= chunk;
		if (op == MLX4_CMD_MAP_ICM)
			va += chunk;
		if (++n < MLX4_MAP_ENTRIES_MAX && left != 0)
			continue;
		rc = mlx4_cmd(hca, op, 0, n, mbox, n * MLX4_MAP_ENTRY_SIZE, NULL, 0);
		if (rc != 0)
			return rc;
		n = 0;
	}
	return 0;
}

static int
query_fw(struct mlx4_hca *hca)
{
	struct mlx4_caps *c = &hca->caps;
	uint8_t box[QUERY_SIZE];
	int rc;

	rc = mlx4_cmd(hca, MLX4_CMD_QUERY_FW, 0, 0, NULL, 0, box, sizeof(box));
	if (rc != 0)
		return rc;
	c->fw_major = prm_get(box, MLX4_QFW_MAJOR);
	c->fw_minor = prm_get(box, MLX4_QFW_MINOR);
	c->fw_subminor = prm_get(box, MLX4_QFW_SUBMINOR);
	c->fw_pages = prm_get(box, MLX4_QFW_PAGES);
	c->cmd_if_rev = prm_get(box, MLX4_QFW_CMD_IF_REV);
	c->max_cmds = 1u << RTE_MIN(prm_get(box, MLX4_QFW_LG_MAX_CMD), 16u);
	/* Registers of other BARs are not reachable through the bus; seen cards have all of them in BAR0. */
	if (prm_get(box, MLX4_QFW_CATAS_BAR) == 0) {
		c->catas_off = prm_get64(box, MLX4_QFW_CATAS_OFF);
		c->catas_dwords = prm_get(box, MLX4_QFW_CATAS_SIZE);
	}
	if (prm_get(box, MLX4_QFW_CLOCK_BAR) == 0)
		c->clock_off = prm_get64(box, MLX4_QFW_CLOCK_OFF);
	if (c->catas_off >= MLX4_BAR0_SIZE || (c->catas_off & 3) != 0)
		c->catas_off = 0;
	return 0;
}

static int
check_version(struct mlx4_hca *hca, bool check)
{
	const struct mlx4_caps *c = &hca->caps;
	uint64_t found = FW_VERSION(c->fw_major, c->fw_minor, c->fw_subminor);

	if (c->cmd_if_rev < CMD_IF_REV_MIN || c->cmd_if_rev > CMD_IF_REV_MAX) {
		HCA_LOG(hca, ERR, "firmware %u.%u.%u has command interface revision %u, wanted %u", c->fw_major,
			c->fw_minor, c->fw_subminor, c->cmd_if_rev, CMD_IF_REV_MIN);
		return -ENOTSUP;
	}
	if (check && found < FW_MIN) {
		HCA_LOG(hca, ERR,
			"firmware %u.%u.%u is too old: %u.%u.%u or newer is needed, %u.%u.%u is recommended "
			"(check-fw-version=0 goes on nevertheless)",
			c->fw_major, c->fw_minor, c->fw_subminor, FW_MAJOR(FW_MIN), FW_MINOR(FW_MIN),
			FW_SUBMINOR(FW_MIN), FW_MAJOR(FW_RECOMMENDED), FW_MINOR(FW_RECOMMENDED),
			FW_SUBMINOR(FW_RECOMMENDED));
		return -ENOTSUP;
	}
	if (found < FW_RECOMMENDED)
		HCA_LOG(hca, NOTICE, "firmware %u.%u.%u works, %u.%u.%u is recommended", c->fw_major, c->fw_minor,
			c->fw_subminor, FW_MAJOR(FW_RECOMMENDED), FW_MINOR(FW_RECOMMENDED),
			FW_SUBMINOR(FW_RECOMMENDED));
	return 0;
}

static void
free_area(struct mlx4_hca *hca)
{
	unsigned int i;

	for (i = 0; i < hca->num_fw_area; i++)
		mlx4_dma_free(&hca->fw_area[i]);
	rte_free(hca->fw_area);
	hca->fw_area = NULL;
	hca->num_fw_area = 0;
}

static int
alloc_area(struct mlx4_hca *hca)
{
	uint64_t len = (uint64_t)hca->caps.fw_pages * PAGE, piece;
	unsigned int n = (len + FW_PIECE - 1) / FW_PIECE;
	int rc;

	hca->fw_area = rte_zmalloc_socket("mlx4_fw", (n + 1) * sizeof(*hca->fw_area), 0, hca->numa_node);
	if (hca->fw_area == NULL)
		return -ENOMEM;
	for (; len != 0; len -= piece) {
		piece = RTE_MIN(len, FW_PIECE);
		rc = mlx4_dma_alloc(hca, "the firmware", piece, RTE_MIN(piece & -piece, FW_PIECE), hca->numa_node,
				    &hca->fw_area[hca->num_fw_area]);
		if (rc != 0) {
			free_area(hca);
			return rc;
		}
		hca->num_fw_area++;
	}
	return 0;
}

static int
map_area(struct mlx4_hca *hca)
{
	unsigned int i;
	int rc;

	for (i = 0; i < hca->num_fw_area; i++) {
		rc = mlx4_fw_map(hca, MLX4_CMD_MAP_FA, 0, &hca->fw_area[i]);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
mlx4_fw_start(struct mlx4_hca *hca, bool check)
{
	int rc;

	rc = query_fw(hca);
	if (rc != 0)
		return rc;
	rc = check_version(hca, check);
	if (rc != 0)
		return rc;
	rc = alloc_area(hca);
	if (rc != 0)
		return rc;
	rc = map_area(hca);
	if (rc != 0)
		goto err_map;
	rc = mlx4_cmd(hca, MLX4_CMD_RUN_FW, 0, 0, NULL, 0, NULL, 0);
	if (rc != 0)
		goto err_map;
	return 0;

err_map:
	mlx4_fw_stop(hca);
	return rc;
}

void
mlx4_fw_stop(struct mlx4_hca *hca)
{
	if (mlx4_cmd(hca, MLX4_CMD_UNMAP_FA, 0, 0, NULL, 0, NULL, 0) != 0)
		mlx4_hca_stop_dma(hca);
	free_area(hca);
}

/* Two queries were seen to answer with an empty box now and then [CP U19]: asking again costs nothing. */
static int
query_nonzero(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint32_t in_modifier, uint8_t *box, size_t len)
{
	const unsigned int tries = mlx4_quirk(hca, MLX4_QUIRK_EMPTY_ANSWERS) != 0 ? QUERY_TRIES_MANY : QUERY_TRIES;
	unsigned int i;
	size_t k;
	int rc;

	for (i = 0; i < tries; i++) {
		rc = mlx4_cmd(hca, op, 0, in_modifier, NULL, 0, box, len);
		if (rc != 0)
			return rc;
		for (k = 0; k < len; k++)
			if (box[k] != 0)
				return 0;
	}
	HCA_LOG(hca, ERR, "%s answers with an empty mailbox, %u times", mlx4_cmd_describe(op)->name, tries);
	return -EIO;
}

static int
check_sizes(struct mlx4_hca *hca)
{
	const struct mlx4_caps *c = &hca->caps;
	const struct {
		const char *what;
		uint16_t size;
	} t[] = {{"QP", c->sz_qpc},          {"alternate path", c->sz_altc},
		 {"auxiliary", c->sz_auxc},  {"SRQ", c->sz_srqc},
		 {"CQ", c->sz_cqc},          {"EQ", c->sz_eqc},
		 {"protection", c->sz_cmpt}, {"MTT", c->sz_mtt},
		 {"MPT", c->sz_dmpt}};
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++)
		if (t[i].size == 0 || (t[i].size & (t[i].size - 1)) != 0) {
			HCA_LOG(hca, ERR, "the firmware says that a %s context has %u bytes, wanted a power of two",
				t[i].what, t[i].size);
			return -EIO;
		}
	if (c->num_ports < 1 || c->num_ports > MLX4_MAX_PORTS) {
		HCA_LOG(hca, ERR, "the firmware reports %u ports, wanted 1..%d", c->num_ports, MLX4_MAX_PORTS);
		return -EIO;
	}
	if (!c->dmfs) {
		HCA_LOG(hca, ERR, "the firmware has no device-managed flow steering, which this driver needs");
		return -ENOTSUP;
	}
	return 0;
}

/* Two encodings of one number [CP U1]: the larger is safe, where both are what they are said to be. */
static uint32_t
reserved_eqs(const struct mlx4_hca *hca, const uint8_t *box)
{
	uint32_t num = prm_get(box, MLX4_CAP_NUM_RSVD_EQS), lg = 1u << prm_get(box, MLX4_CAP_LG_RSVD_EQS);

	switch (mlx4_quirk(hca, MLX4_QUIRK_RSVD_EQS)) {
	case 0: return RTE_MAX(num, lg);
	case 1: return num;
	default: return lg;
	}
}

static void
parse_limits(struct mlx4_hca *hca, const uint8_t *box)
{
	struct mlx4_caps *c = &hca->caps;

	c->num_ports = prm_get(box, MLX4_CAP_NUM_PORTS);
	c->flags = prm_get64(box, MLX4_CAP_FLAGS);
	c->rsvd_qps = 1u << prm_get(box, MLX4_CAP_LG_RSVD_QPS);
	c->rsvd_cqs = 1u << prm_get(box, MLX4_CAP_LG_RSVD_CQS);
	c->rsvd_mpts = 1u << prm_get(box, MLX4_CAP_LG_RSVD_MPTS);
	c->rsvd_mtts = 1u << prm_get(box, MLX4_CAP_LG_RSVD_MTTS);
	c->rsvd_srqs = 1u << prm_get(box, MLX4_CAP_LG_RSVD_SRQS);
	c->rsvd_uars = prm_get(box, MLX4_CAP_RSVD_UARS);
	c->rsvd_pds = prm_get(box, MLX4_CAP_RSVD_PDS);
	/* Four EQs share a reserved UAR page. */
	c->rsvd_eqs = RTE_MAX(reserved_eqs(hca, box), 4 * c->rsvd_uars);
	c->sys_eqs = prm_get(box, MLX4_CAP_NUM_SYS_EQS);
	c->max_qps = 1u << prm_get(box, MLX4_CAP_LG_MAX_QPS);
	c->max_cqs = 1u << prm_get(box, MLX4_CAP_LG_MAX_CQS);
	c->max_eqs = 1u << prm_get(box, MLX4_CAP_LG_MAX_EQS);
	c->max_mpts = 1u << RTE_MIN(prm_get(box, MLX4_CAP_LG_MAX_MPTS), 31u);
	c->max_qp_wqes = 1u << RTE_MIN(prm_get(box, MLX4_CAP_LG_MAX_QP_WQES), 31u);
	c->max_srq_wqes = 1u << RTE_MIN(prm_get(box, MLX4_CAP_LG_MAX_SRQ_WQES), 31u);
	c->max_rdma_req = 1u << RTE_MIN(prm_get(box, MLX4_CAP_LG_MAX_RDMA_REQ), 31u);
	c->max_rdma_rsp = 1u << RTE_MIN(prm_get(box, MLX4_CAP_LG_MAX_RDMA_RSP), 31u);
	c->ack_delay = prm_get(box, MLX4_CAP_ACK_DELAY);
	c->lg_max_msg = prm_get(box, MLX4_CAP_LG_MAX_MSG);
	c->max_cqes = 1u << RTE_MIN(prm_get(box, MLX4_CAP_LG_MAX_CQES), 31u);
	c->max_sq_sge = prm_get(box, MLX4_CAP_MAX_SQ_SGE);
	c->max_sq_desc = prm_get(box, MLX4_CAP_MAX_SQ_DESC);
	c->max_rq_sge = prm_get(box, MLX4_CAP_MAX_RQ_SGE);
	c->max_rq_desc = prm_get(box, MLX4_CAP_MAX_RQ_DESC);
	c->max_counters = prm_get(box, MLX4_CAP_MAX_COUNTERS);
	c->max_icm = prm_get64(box, MLX4_CAP_MAX_ICM);
	c->num_uars = (1u << (RTE_MIN(prm_get(box, MLX4_CAP_LG_UAR_MIB), 11u) + 20)) / PAGE;
	c->sz_qpc = prm_get(box, MLX4_CAP_QPC_SZ);
	c->sz_rdmarc = prm_get(box, MLX4_CAP_RDMARC_SZ);
	c->sz_altc = prm_get(box, MLX4_CAP_ALTC_SZ);
	c->sz_auxc = prm_get(box, MLX4_CAP_AUXC_SZ);
	c->sz_srqc = prm_get(box, MLX4_CAP_SRQC_SZ);
	c->sz_cqc = prm_get(box, MLX4_CAP_CQC_SZ);
	c->sz_eqc = prm_get(box, MLX4_CAP_EQC_SZ);
	c->sz_cmpt = prm_get(box, MLX4_CAP_CMPT_SZ);
	c->sz_mtt = prm_get(box, MLX4_CAP_MTT_SZ);
	c->sz_dmpt = prm_get(box, MLX4_CAP_DMPT_SZ);
}

static void
parse_features(struct mlx4_caps *c, const uint8_t *box)
{
	uint32_t lg_gso = prm_get(box, MLX4_CAP_LG_MAX_GSO), lg_rss = prm_get(box, MLX4_CAP_LG_MAX_RSS);

	c->max_gso = lg_gso == 0 ? 0 : 1u << lg_gso;
	c->max_rss = lg_rss == 0 ? 0 : 1u << lg_rss;
	c->rss_toeplitz = prm_get(box, MLX4_CAP_RSS_TOEPLITZ);
	c->rss_xor = prm_get(box, MLX4_CAP_RSS_XOR);
	c->udp_rss = (c->flags >> MLX4_DEV_FLAG_UDP_RSS) & 1;
	c->dmfs = prm_get(box, MLX4_CAP_DMFS);
	c->dmfs_max_qps = prm_get(box, MLX4_CAP_DMFS_MAX_QPS);
	c->bf = prm_get(box, MLX4_CAP_BF);
	c->bf_reg_size = c->bf ? 1u << prm_get(box, MLX4_CAP_LG_BF_REG) : 0;
	c->bf_regs_page = c->bf ? 1u << RTE_MIN(prm_get(box, MLX4_CAP_LG_BF_REGS_PAGE), 12u) : 0;
	c->pfc_counters = prm_get(box, MLX4_CAP_PFC_COUNTERS);
	c->cq_timestamp = prm_get(box, MLX4_CAP_CQ_TIMESTAMP);
	c->ets = prm_get(box, MLX4_CAP_ETS_CFG);
	c->config_dev = prm_get(box, MLX4_CAP_CONFIG_DEV);
	c->vxlan = c->config_dev && prm_get(box, MLX4_CAP_VXLAN);
	c->ignore_fcs = prm_get(box, MLX4_CAP_IGNORE_FCS);
	c->update_qp = prm_get(box, MLX4_CAP_UPDATE_QP);
	c->lb_src_check = prm_get(box, MLX4_CAP_LB_SRC_CHECK);
	c->recover_event = prm_get(box, MLX4_CAP_RECOVER_EVENT);
	c->port_mng_event = (c->flags >> MLX4_DEV_FLAG_PORT_MNG_EV) & 1;
	c->static_rates = (uint16_t)prm_get(box, MLX4_CAP_STAT_RATES);
	c->num_qp_rates = prm_get(box, MLX4_CAP_QP_RATES);
	c->roce = (c->flags >> MLX4_DEV_FLAG_IBOE) & 1;
	c->roce_v2 = c->roce && c->config_dev && prm_get(box, MLX4_CAP_ROCE_V1V2);
	c->qcn = prm_get(box, MLX4_CAP_QCN);
	c->dcqcn = c->roce_v2 && c->qcn;
	c->mw = (c->flags >> MLX4_DEV_FLAG_MW) & 1;
	c->mw2 = c->mw && prm_get(box, MLX4_CAP_MW_2);
	c->mw2b = c->mw2 && prm_get(box, MLX4_CAP_MW_2B);
	c->local_inv = prm_get(box, MLX4_CAP_LOCAL_INV);
	c->fast_reg = prm_get(box, MLX4_CAP_FAST_REG);
	c->beacon = prm_get(box, MLX4_CAP_PORT_BEACON);
	c->eth_speeds = prm_get(box, MLX4_CAP_ETH_PROT_CTRL);
	c->diag_port = prm_get(box, MLX4_CAP_DIAG_PORT);
}

/* The GUID of port 1 is one above the card's [V-6]. Firmware that does not tell leaves 0: unknown. */
int
mlx4_fw_query_guid(struct mlx4_hca *hca)
{
	uint8_t box[QUERY_SIZE];
	uint64_t guid;

	if (mlx4_cmd_try(hca, MLX4_CMD_MOD_STAT_CFG, MLX4_MSC_OPM_QUERY, 1u << MLX4_MSC_PORT_SHIFT, NULL, 0, box,
			 sizeof(box)) != 0)
		return hca->dead ? -EIO : 0;
	guid = (uint64_t)prm_get(box, MLX4_MSC_GUID_HI) << 32 | prm_get(box, MLX4_MSC_GUID_LO);
	hca->node_guid = guid == 0 ? 0 : guid - 1;
	return 0;
}

int
mlx4_fw_query_caps(struct mlx4_hca *hca)
{
	uint8_t box[QUERY_SIZE], page[QUERY_SIZE] = {0};
	int rc;

	/* Pages of 4 KiB; firmware that knows no other size may refuse, and nothing is lost then [CP 7.3 step 8]. */
	prm_set(page, MLX4_MSC_PAGE_MODIFY, 1);
	mlx4_cmd_try(hca, MLX4_CMD_MOD_STAT_CFG, MLX4_MSC_OPM_SET, 0, page, sizeof(page), NULL, 0);
	rc = query_nonzero(hca, MLX4_CMD_QUERY_DEV_CAP, 0, box, sizeof(box));
	if (rc != 0)
		return rc;
	parse_limits(hca, box);
	parse_features(&hca->caps, box);
	if (mlx4_quirk(hca, MLX4_QUIRK_BF_PLACE) != 0)
		hca->caps.bf = false;
	return check_sizes(hca);
}

int
mlx4_fw_check_port(struct mlx4_hca *hca, unsigned int port)
{
	uint8_t box[QUERY_SIZE];

	return query_nonzero(hca, MLX4_CMD_QUERY_PORT, port, box, sizeof(box));
}

int
mlx4_fw_query_board(struct mlx4_hca *hca)
{
	uint8_t box[QUERY_SIZE];
	uint32_t i;
	int rc;

	rc = mlx4_cmd(hca, MLX4_CMD_QUERY_ADAPTER, 0, 0, NULL, 0, box, sizeof(box));
	if (rc != 0)
		return rc;
	/* Each dword of the text is stored with its bytes reversed [CP 3.5]. */
	for (i = 0; i < MLX4_ADAPTER_BOARD_ID_LEN; i++)
		hca->caps.board_id[i] = box[MLX4_ADAPTER_BOARD_ID + (i ^ 3)];
	hca->caps.board_id[MLX4_ADAPTER_BOARD_ID_LEN] = '\0';
	return 0;
}
