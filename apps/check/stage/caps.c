/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 2: what the card says that it can, field by field, against what the driver relies on. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>

#include "card.h"

/* A field and its range. */
struct cap {
	const char *name;
	uint32_t field;
	uint32_t min, max;
	bool power; /* of two */
	const char *why;
};
#define CAP(f, min, max, why)                                                                                          \
	{                                                                                                              \
#f, MLX4_CAP_##f, min, max, false, why                                                                 \
	}
#define SIZE(f, min, max)                                                                                              \
	{                                                                                                              \
#f, MLX4_CAP_##f, min, max, true, "octets of a context in the card's memory, a power of two"           \
	}

static const struct cap caps[] = {
	CAP(NUM_PORTS, 1, MLX4_MAX_PORTS, "ports"),
	CAP(LG_MAX_QPS, 8, 24, "queue pairs have numbers of 24 bits"),
	CAP(LG_RSVD_QPS, 0, 15, "the firmware's own queue pairs"),
	CAP(LG_MAX_CQS, 6, 24, "completion queues have numbers of 24 bits"),
	CAP(LG_RSVD_CQS, 0, 15, "the firmware's own"),
	CAP(LG_MAX_SRQS, 0, 24, "shared receive queues"),
	CAP(LG_MAX_EQS, 3, 15, "event queues: one of events, one of each port at least"),
	CAP(NUM_SYS_EQS, 0, 4095, "event queues that the firmware shares out; 0: all"),
	CAP(LG_MAX_EQES, 8, 31, "entries of an event queue"),
	CAP(LG_MAX_CQES, 10, 31, "entries of a completion queue"),
	CAP(LG_MAX_QP_WQES, 10, 31, "blocks of a queue"),
	CAP(LG_MAX_SRQ_WQES, 8, 31, "work requests of a shared receive queue"),
	CAP(LG_MAX_MPTS, 8, 31, "memory keys"),
	CAP(LG_RSVD_MPTS, 0, 15, "the firmware's own"),
	CAP(LG_MAX_MTT_SEGS, 8, 63, "translation entries"),
	CAP(LG_RSVD_MTTS, 0, 15, "the firmware's own"),
	CAP(LG_UAR_MIB, 0, 11, "memory of doorbells, MiB"),
	CAP(RSVD_UARS, 0, 15, "pages of doorbells that are the firmware's own"),
	CAP(LG_MIN_PAGE, 0, 12, "the least page, which is to have 4 KiB at most"),
	CAP(RSVD_PDS, 0, 15, "protection domains that are the firmware's own"),
	CAP(MAX_SQ_SGE, 4, 255, "segments of a send"),
	CAP(MAX_SQ_DESC, 128, 65535, "octets of a send work request"),
	CAP(MAX_RQ_SGE, 1, 255, "segments of a receive buffer"),
	CAP(MAX_RQ_DESC, 16, 65535, "octets of a receive work request"),
	CAP(LG_MAX_GSO, 0, 31, "octets of a large send; 0: none"),
	CAP(RSS_TOEPLITZ, 1, 1, "the Toeplitz hash"),
	CAP(LG_MAX_RSS, 1, 15, "rings of an RSS table"),
	CAP(DMFS, 1, 1, "steering by rules"),
	CAP(DMFS_MAX_QPS, 1, 255, "queue pairs that a rule reaches"),
	CAP(MAX_COUNTERS, 0, UINT32_MAX, "interface counters"),
	CAP(LG_MAX_MSG, 20, 31, "octets of a message"),
	CAP(LG_MAX_RDMA_REQ, 0, 31, "reads that a queue pair starts"),
	CAP(LG_MAX_RDMA_RSP, 0, 31, "reads that a queue pair answers"),
	CAP(ACK_DELAY, 0, 31, "the card's own delay of an acknowledge"),
	CAP(BF, 0, 1, "BlueFlame"),
	CAP(LG_BF_REG, 0, 12, "octets of a BlueFlame register"),
	SIZE(QPC_SZ, 64, 4096),
	SIZE(RDMARC_SZ, 16, 4096),
	SIZE(ALTC_SZ, 16, 4096),
	SIZE(AUXC_SZ, 1, 4096),
	SIZE(SRQC_SZ, 16, 4096),
	SIZE(CQC_SZ, 16, 4096),
	SIZE(EQC_SZ, 16, 4096),
	SIZE(CMPT_SZ, 16, 4096),
	SIZE(MTT_SZ, 8, 8),
	SIZE(DMPT_SZ, 16, 4096),
};

/* What is offered, and not asked for. */
static const struct {
	const char *name;
	uint32_t field;
} features[] = {
	{"XOR hash", MLX4_CAP_RSS_XOR},
	{"completion time stamps", MLX4_CAP_CQ_TIMESTAMP},
	{"flow-control counters", MLX4_CAP_PFC_COUNTERS},
	{"live changes of queue pairs", MLX4_CAP_UPDATE_QP},
	{"frames with a bad FCS", MLX4_CAP_IGNORE_FCS},
	{"ETS", MLX4_CAP_ETS_CFG},
	{"CONFIG_DEV", MLX4_CAP_CONFIG_DEV},
	{"VXLAN", MLX4_CAP_VXLAN},
	{"RoCE v2", MLX4_CAP_ROCE_V1V2},
	{"memory windows of type 2", MLX4_CAP_MW_2},
	{"fast registration", MLX4_CAP_FAST_REG},
	{"recoverable error events", MLX4_CAP_RECOVER_EVENT},
	{"counters of a port's transport", MLX4_CAP_DIAG_PORT},
	{"module and link registers", MLX4_CAP_ETH_PROT_CTRL},
};

static void
fields(struct ck *c, const uint8_t *box)
{
	char text[CK_TEXT] = "";
	size_t n = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(caps); i++) {
		const struct cap *p = &caps[i];
		const uint32_t v = prm_get(box, p->field);
		const bool ok = v >= p->min && v <= p->max && (!p->power || (v & (v - 1)) == 0);

		if (p->min == p->max)
			ck_judge(c, ok, p->name, "%u, wanted %u: %s", v, p->min, p->why);
		else
			ck_judge(c, ok, p->name, "%u, wanted %u..%u: %s", v, p->min, p->max, p->why);
	}
	for (i = 0; i < RTE_DIM(features); i++)
		if (prm_get(box, features[i].field) != 0 && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n != 0 ? ", " : "", features[i].name);
	ck_say(c, CK_INFO, "features", "%s", text);
	ck_say(c, CK_INFO, "flags", "0x%016" PRIx64, prm_get64(box, MLX4_CAP_FLAGS));
	i = prm_get(box, MLX4_CAP_NUM_RSVD_EQS);
	ck_say(c, CK_INFO, "reserved-eqs",
	       "0x18 says %u, 0x1e says %u, %u reserved pages of doorbells have %u; the driver takes the largest", i,
	       1u << prm_get(box, MLX4_CAP_LG_RSVD_EQS), prm_get(box, MLX4_CAP_RSVD_UARS),
	       4 * prm_get(box, MLX4_CAP_RSVD_UARS));
	ck_judge(c, prm_get64(box, MLX4_CAP_MAX_ICM) >= UINT64_C(64) << 20, "MAX_ICM",
		 "%" PRIu64 " MiB, wanted 64 at least", prm_get64(box, MLX4_CAP_MAX_ICM) >> 20);
}

static void
ports(struct ck *c, struct mlx4_hca *hca, unsigned int n)
{
	struct mlx4_port_info p;
	unsigned int i;
	char name[16];
	int rc;

	for (i = 1; i <= n && i <= MLX4_MAX_PORTS; i++) {
		snprintf(name, sizeof(name), "port-%u", i);
		ck_step(c, "asks QUERY_PORT of port %u", i);
		rc = mlx4_port_query(hca, i, &p);
		hca->port[i - 1] = p;
		if (rc != 0)
			ck_say(c, CK_FAIL, name, "QUERY_PORT: %s", rte_strerror(-rc));
		else if (!p.type_eth)
			ck_say(c, CK_INFO, name, "InfiniBand alone");
		else
			ck_judge(c, p.mac != 0 && (p.mac >> 40 & 1) == 0 && p.eth_mtu >= 1500, name,
				 "Ethernet%s, MTU %u, 1 << %u addresses, 1 << %u VLANs; wanted an address of one card "
				 "and an "
				 "MTU of 1500 at least",
				 p.type_ib ? " or InfiniBand" : "", p.eth_mtu, p.lg_macs, p.lg_vlans);
	}
}

static void
ask(struct ck *c, struct mlx4_hca *hca)
{
	uint8_t box[MLX4_CAP_SIZE];
	FILE *f;
	int rc;

	ck_step(c, "asks MOD_STAT_CFG for the GUID");
	if (mlx4_fw_query_guid(hca) == 0)
		ck_identities(c, hca);
	ck_step(c, "asks QUERY_DEV_CAP");
	rc = mlx4_cmd(hca, MLX4_CMD_QUERY_DEV_CAP, 0, 0, NULL, 0, box, sizeof(box));
	if (!ck_judge(c, rc == 0, "query-dev-cap", "%s", rc == 0 ? "answers" : rte_strerror(-rc)))
		return;
	fields(c, box);
	ports(c, hca, prm_get(box, MLX4_CAP_NUM_PORTS));
	f = ck_keep(c, "dev-cap.bin");
	if (f != NULL) {
		fwrite(box, 1, sizeof(box), f);
		fclose(f);
	}
}

void
ck_stage_caps(struct ck *c)
{
	struct mlx4_hca *hca;
	int rc;

	if (!ck_open(c))
		return;
	hca = ck_bare(c);
	if (hca == NULL) {
		ck_close(c);
		return;
	}
	ck_step(c, "resets the card");
	rc = mlx4_hca_reset(hca);
	mlx4_cmd_after_reset(hca);
	if (ck_judge(c, rc == 0, "reset", "%s", rc == 0 ? "the card answers again" : rte_strerror(-rc))) {
		ck_step(c, "takes ownership");
		if (ck_judge(c, mlx4_reg_read(hca, MLX4_REG_OWNERSHIP) == 0, "ownership", "wanted 0: it is nobody's")) {
			ck_step(c, "starts the firmware (QUERY_FW, MAP_FA, RUN_FW)");
			rc = mlx4_fw_start(hca, false);
			if (ck_judge(c, rc == 0, "run-fw", "%s", rc == 0 ? "the firmware runs" : rte_strerror(-rc))) {
				ask(c, hca);
				ck_step(c, "takes the firmware's memory back");
				mlx4_fw_stop(hca);
			}
		}
	}
	ck_keep_commands(c, hca);
	ck_judge_model(c, hca);
	ck_bare_end(c, hca, true);
	ck_close(c);
}
