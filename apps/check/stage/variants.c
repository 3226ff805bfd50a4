/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* By registers and commands, in the order in which a card is brought up. */
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "apps/check/joined/joined.h"
#include "drivers/mlx4/hca/port/qos.h"
#include "drivers/mlx4/hca/port/type.h"
#include "variants.h"

#define QUERIES 12u
#define EMPTY_FEW 2u
#define EQS_MOST 128u
#define ENTRIES 64u

/* Ownership is taken by reading it, and free after a reset: that tells whether one happened. */
static bool
reset_value(struct variants *s, struct mlx4_hca *hca)
{
	static const uint32_t value[] = {MLX4_RESET_VALUE, MLX4_RESET_VALUE_SWAPPED, MLX4_RESET_VALUE_BOTH};
	unsigned int v;

	ck_step(s->c, "looks which value the reset register takes");
	(void)mlx4_reg_read(hca, MLX4_REG_RESET_SEM);
	for (v = 0; v < RTE_DIM(value); v++) {
		(void)mlx4_reg_read(hca, MLX4_REG_OWNERSHIP);
		if (mlx4_reg_read(hca, MLX4_REG_OWNERSHIP) == 0) {
			variant_open(s, MLX4_QUIRK_RESET_VALUE,
				     "ownership cannot be taken, so nothing tells of a reset");
			return false;
		}
		mlx4_reg_write(hca, MLX4_REG_RESET, value[v]);
		if (s->c->bus->reset_wait_us != 0)
			rte_delay_us_sleep(s->c->bus->reset_wait_us);
		if (s->c->bus->ops->reset_done(s->c->bus) == 0 && mlx4_reg_read(hca, MLX4_REG_OWNERSHIP) == 0) {
			variant_found(s, MLX4_QUIRK_RESET_VALUE, v, "certain",
				      "ownership was free again behind 0x%08x%s", value[v],
				      v == 0 ? "" : ", and not behind the values before it");
			hca->quirks = s->q;
			return true;
		}
	}
	variant_open(s, MLX4_QUIRK_RESET_VALUE, "no value resets the card");
	return false;
}

/* The first command behind a reset has the bit set; GO alone says that it has ended. */
static bool
toggle(struct variants *s, struct mlx4_hca *hca)
{
	uint8_t box[MLX4_QFW_SIZE];
	uint32_t ctrl;
	int rc;

	ck_step(s->c, "looks at the toggle bit");
	mlx4_cmd_after_reset(hca);
	hca->quirks.v[MLX4_QUIRK_TOGGLE] = 1;
	rc = mlx4_cmd(hca, MLX4_CMD_QUERY_FW, 0, 0, NULL, 0, box, sizeof(box));
	ctrl = mlx4_reg_read(hca, MLX4_REG_HCR + MLX4_HCR_CTRL);
	if (rc != 0) {
		variant_open(s, MLX4_QUIRK_TOGGLE, "QUERY_FW: %s", rte_strerror(-rc));
		return false;
	}
	variant_found(s, MLX4_QUIRK_TOGGLE, (ctrl & MLX4_HCR_TOGGLE) == 0, "certain",
		      "QUERY_FW was given with the bit set, and the register says 0x%08x behind it", ctrl);
	hca->quirks = s->q;
	return true;
}

static bool
empty(const uint8_t *box, size_t len)
{
	size_t i;

	for (i = 0; i < len && box[i] == 0; i++)
		;
	return i == len;
}

/* A count that can be one: a reserved page of doorbells has four. */
static bool
count_of_eqs(uint32_t n, uint32_t pages)
{
	return n % MLX4_EQS_PER_UAR == 0 && n >= MLX4_EQS_PER_UAR * pages && n <= EQS_MOST;
}

static void
reserved_eqs(struct variants *s, const uint8_t *box)
{
	const uint32_t count = prm_get(box, MLX4_CAP_NUM_RSVD_EQS), lg = 1u << prm_get(box, MLX4_CAP_LG_RSVD_EQS);
	const uint32_t pages = prm_get(box, MLX4_CAP_RSVD_UARS);
	const bool one = count_of_eqs(count, pages), other = count_of_eqs(lg, pages);

	if (count == lg)
		variant_found(s, MLX4_QUIRK_RSVD_EQS, 0, "certain", "both say %u", count);
	else if (one != other)
		variant_found(s, MLX4_QUIRK_RSVD_EQS, one ? 1 : 2, "likely",
			      "0x18 says %u, 0x1e %u; with %u reserved pages of doorbells only %u can be a count",
			      count, lg, pages, one ? count : lg);
	else
		variant_open(s, MLX4_QUIRK_RSVD_EQS, "0x18 says %u, 0x1e %u, and %s can be a count", count, lg,
			     one ? "either" : "neither");
}

static void
capabilities(struct variants *s, struct mlx4_hca *hca)
{
	uint8_t box[MLX4_CAP_SIZE];
	unsigned int n;
	int rc = 0;

	ck_step(s->c, "asks QUERY_DEV_CAP until it answers");
	for (n = 0; n < QUERIES; n++) {
		rc = mlx4_cmd(hca, MLX4_CMD_QUERY_DEV_CAP, 0, 0, NULL, 0, box, sizeof(box));
		if (rc != 0 || !empty(box, sizeof(box)))
			break;
	}
	if (rc != 0 || n == QUERIES) {
		variant_open(s, MLX4_QUIRK_EMPTY_ANSWERS, "QUERY_DEV_CAP: %s",
			     rc != 0 ? rte_strerror(-rc) : "never answers with more than zeros");
		return;
	}
	variant_found(s, MLX4_QUIRK_EMPTY_ANSWERS, n > EMPTY_FEW, n == 0 ? "likely" : "certain",
		      "%u empty answers of QUERY_DEV_CAP before the first one that is not", n);
	reserved_eqs(s, box);
}

static bool
by_registers(struct variants *s)
{
	struct mlx4_hca *hca = ck_bare(s->c);
	bool ok = false;
	int rc;

	if (hca == NULL)
		return false;
	hca->quirks = s->q;
	if (reset_value(s, hca) && toggle(s, hca)) {
		ck_step(s->c, "starts the firmware");
		rc = mlx4_fw_start(hca, false);
		if (rc == 0) {
			capabilities(s, hca);
			mlx4_fw_stop(hca);
		}
		ok = ck_judge(s->c, rc == 0 && !hca->dead, "firmware", "%s", rc == 0 ? "ran" : rte_strerror(-rc));
	}
	ck_keep_commands(s->c, hca);
	ck_bare_end(s->c, hca, true);
	return ok;
}

/* The first command that a card may refuse on its way up, with all before it known. */
static struct mlx4_hca *
up(struct variants *s)
{
	struct mlx4_hca_config cfg = {.check_fw = false};
	struct mlx4_hca *hca;
	unsigned int v;
	int rc = 0;

	for (v = 0; v < mlx4_quirk_variants(MLX4_QUIRK_SPECIAL_QPS); v++) {
		ck_step(s->c, "brings the card up with CONF_SPECIAL_QP %u", v);
		cfg.quirks = s->q;
		cfg.quirks.v[MLX4_QUIRK_SPECIAL_QPS] = (uint8_t)v;
		rc = mlx4_hca_open(s->c->bus, &cfg, &hca);
		if (rc != 0)
			continue;
		variant_found(s, MLX4_QUIRK_SPECIAL_QPS, v, "certain", "the card comes up with op_modifier %u%s", v,
			      v == 0 ? "" : ", and not with 0");
		return hca;
	}
	variant_open(s, MLX4_QUIRK_SPECIAL_QPS, "the card comes up with neither: %s", rte_strerror(-rc));
	return NULL;
}

/* Which of two forms of a command a card takes; the second is tried when it refuses the first. */
static void
either(struct variants *s, enum mlx4_quirk_id id, const char *what, int first, int second)
{
	if (first == 0)
		variant_found(s, id, 0, "certain", "%s was taken", what);
	else if (second == 0)
		variant_found(s, id, 1, "certain", "%s was refused (%s), the other form taken", what,
			      rte_strerror(-first));
	else
		variant_open(s, id, "%s: %s, and the other form: %s", what, rte_strerror(-first),
			     rte_strerror(-second));
}

static void
queue_pair(struct variants *s, struct mlx4_hca *hca, struct mlx4_qp *qp)
{
	static const uint8_t box[MLX4_QP_MBOX_CTX + MLX4_QPC_SIZE];
	int first, second = 0;

	first = mlx4_cmd_try(hca, MLX4_CMD_2ERR_QP, 0, qp->qpn, NULL, 0, NULL, 0);
	if (first != 0)
		second = mlx4_cmd_try(hca, MLX4_CMD_2ERR_QP, 0, qp->qpn, box, sizeof(box), NULL, 0);
	either(s, MLX4_QUIRK_ERR_MBOX, "2ERR_QP without a mailbox", first, second);
	first = mlx4_cmd_try(hca, MLX4_CMD_2RST_QP, MLX4_2RST_ANY, qp->qpn, NULL, 0, NULL, 0);
	if (first != 0)
		second = mlx4_cmd_try(hca, MLX4_CMD_2RST_QP, MLX4_2RST_ANY_NO_OUTBOX, qp->qpn, NULL, 0, NULL, 0);
	either(s, MLX4_QUIRK_QP_TO_RESET, "2RST_QP with op_modifier 2", first, first == 0 ? 0 : second);
	hca->quirks = s->q;
	qp->state = MLX4_QP_RST;
}

static void
completion_ring(struct variants *s, struct mlx4_hca *hca, struct mlx4_cq *cq)
{
	struct mlx4_dma old;
	unsigned int i, marked = 0;
	int first, second = 0;
	bool first_marked;

	first = mlx4_cq_resize(hca, NULL, 2 * ENTRIES, hca->numa_node, cq, &old);
	if (first != 0) {
		hca->quirks.v[MLX4_QUIRK_RESIZE_MBOX] = 1;
		second = mlx4_cq_resize(hca, NULL, 2 * ENTRIES, hca->numa_node, cq, &old);
	}
	either(s, MLX4_QUIRK_RESIZE_MBOX, "MODIFY_CQ with the layout of a context", first, second);
	hca->quirks = s->q;
	if (first != 0 && second != 0)
		return;
	/*
	 * Software marked all of the new ring as not complete in the first pass. The entry that ended the old ring has number 0, so
	 * the new ring begins with number 1, and its entry 0 comes first in the second pass, with the other mark.
	 */
	for (i = 0; i < cq->entries; i++)
		marked += (cq->cqes[i].owner_sr_opcode & MLX4_CQE_OWNER) != 0;
	first_marked = (cq->cqes[0].owner_sr_opcode & MLX4_CQE_OWNER) != 0;
	if (marked == cq->entries || (marked == cq->entries - 1 && !first_marked))
		variant_found(s, MLX4_QUIRK_RESIZE_OWNER, first_marked, "certain",
			      "%u of %u entries of a new ring have the owner bit that software gave them%s", marked,
			      cq->entries,
			      first_marked ? "" : "; entry 0, which comes first in the second pass, has the other");
	else
		variant_open(s, MLX4_QUIRK_RESIZE_OWNER, "%u of %u entries have the owner bit", marked, cq->entries);
	mlx4_cq_drop(cq, &old);
}

static void
objects(struct variants *s, struct mlx4_hca *hca)
{
	static struct mlx4_cq cq;
	static struct mlx4_qp qp;
	struct mlx4_qp_attr attr = {
		.port = 1, .rq_entries = ENTRIES, .rq_stride = MLX4_DS_SIZE, .scq = &cq, .rcq = &cq};
	uint32_t qpn;
	int rc;

	ck_step(s->c, "makes a completion queue and a queue pair, and tries commands on them");
	rc = mlx4_uar_alloc(hca, &attr.uar);
	if (rc != 0)
		goto out;
	rc = mlx4_cq_create(hca, ENTRIES, attr.uar, -1, hca->numa_node, &cq);
	if (rc != 0)
		goto err_uar;
	completion_ring(s, hca, &cq);
	rc = mlx4_qpn_reserve(hca, 1, 1, false, &qpn);
	if (rc != 0)
		goto err_cq;
	rc = mlx4_qp_create(hca, qpn, &attr, &qp);
	if (rc != 0)
		goto err_qpn;
	rc = mlx4_qp_start(hca, &qp);
	if (rc == 0)
		queue_pair(s, hca, &qp);
	mlx4_qp_destroy(hca, &qp);
err_qpn:
	mlx4_qpn_release(hca, qpn, 1);
err_cq:
	/* Of a card that took neither form of a command a queue pair may still use it: it is reset in a moment. */
	(void)mlx4_cq_destroy(hca, &cq);
err_uar:
	mlx4_uar_free(hca, attr.uar);
out:
	ck_judge(s->c, rc == 0, "objects", "%s", rc == 0 ? "were made" : rte_strerror(-rc));
}

static void
shares(struct variants *s, struct mlx4_hca *hca)
{
	struct mlx4_sched_tc tc[MLX4_TCS] = {{.group = MLX4_SCHED_GROUP_ETS, .share = 100}};
	int first, second = 0;
	unsigned int i;

	if (!hca->caps.ets || !hca->port[0].type_eth) {
		variant_open(s, MLX4_QUIRK_SHARES, "the first port has no scheduler");
		return;
	}
	ck_step(s->c, "gives classes a share of 0 %%");
	for (i = 1; i < MLX4_TCS; i++)
		tc[i].group = MLX4_SCHED_GROUP_ETS;
	first = mlx4_port_scheduler(hca, 1, tc);
	if (first != 0) {
		hca->quirks.v[MLX4_QUIRK_SHARES] = 1;
		tc[0].share = 100 - (MLX4_TCS - 1);
		second = mlx4_port_scheduler(hca, 1, tc);
	}
	either(s, MLX4_QUIRK_SHARES, "SET_PORT SCHEDULER with classes of 0 %", first, second);
	hca->quirks = s->q;
}

static bool
can_be_ib(struct ck *c, const struct mlx4_hca *hca)
{
	struct mlx4_eth_args args;
	unsigned int i;

	if (ck_eth_args(c, "", &args) != 0 || hca->caps.num_ports < MLX4_MAX_PORTS)
		return false;
	for (i = 0; i < MLX4_MAX_PORTS && hca->port[i].type_ib && args.port_type[i] != MLX4_PORT_WANT_ETH; i++)
		;
	return i == MLX4_MAX_PORTS;
}

static void
rest(struct variants *s)
{
	unsigned int i;

	for (i = 0; i < MLX4_QUIRKS; i++)
		if ((s->done >> i & 1) == 0)
			variant_open(s, (enum mlx4_quirk_id)i, "not decided: can be seen %s, and no probe looks there",
				     mlx4_quirk_found_text(mlx4_quirk_get(i)->found));
}

void
ck_stage_variants(struct ck *c)
{
	struct variants s = {.c = c};
	struct mlx4_hca *hca = NULL;
	bool known;

	mlx4_quirks_default(&s.q);
	if (!ck_open(c))
		return;
	known = by_registers(&s);
	if (known)
		hca = up(&s);
	if (hca != NULL) {
		ck_identities(c, hca);
		shares(&s, hca);
		objects(&s, hca);
		s.ib = can_be_ib(c, hca);
		ck_step(c, "takes the card down");
		mlx4_hca_close(hca);
		variants_by_frames(&s);
		joined_variants(&s);
		joined_pkey(&s);
	} else {
		ck_close(c);
	}
	rest(&s);
}
