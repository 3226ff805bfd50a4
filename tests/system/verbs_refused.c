/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * verbs_refused DEVICE: calls each function of <infiniband/verbs.h> that docs/verbs-functions.md says is refused, and prints its name
 * and what it said: "ibv_alloc_dm EOPNOTSUPP". It is linked with Debian's libibverbs and knows nothing of the libraries here.
 */
#include "verbs_end.h"

#define INT(name, ...) tell(#name, name(__VA_ARGS__))
#define PTR(name, ...) tell(#name, name(__VA_ARGS__) == NULL ? errno : 0)

static void
tell(const char *name, int err)
{
	const char *text = err == 0 ? "works" : strerrorname_np(err);

	printf("%s %s\n", name, text == NULL ? "no errno" : text);
	errno = 0;
}

static void
makers(struct ibv_context *ctx, struct ibv_pd *pd)
{
	struct ibv_counters_init_attr counters = {0};
	struct ibv_flow_action_esp_attr esp = {0};
	struct ibv_parent_domain_init_attr parent = {.pd = pd};
	struct ibv_rwq_ind_table_init_attr table = {0};
	struct ibv_xrcd_init_attr xrcd = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1};
	struct ibv_alloc_dm_attr dm = {.length = 64};
	struct ibv_td_init_attr td = {0};
	struct ibv_wq_init_attr wq = {.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = pd};
	struct ibv_qp_open_attr open = {.comp_mask = IBV_QP_OPEN_ATTR_NUM, .qp_num = 1};

	PTR(ibv_alloc_dm, ctx, &dm);
	PTR(ibv_alloc_null_mr, pd);
	PTR(ibv_alloc_parent_domain, ctx, &parent);
	PTR(ibv_alloc_td, ctx, &td);
	PTR(ibv_create_counters, ctx, &counters);
	PTR(ibv_create_flow_action_esp, ctx, &esp);
	PTR(ibv_create_rwq_ind_table, ctx, &table);
	PTR(ibv_create_wq, ctx, &wq);
	PTR(ibv_import_device, 0);
	PTR(ibv_import_dm, ctx, 1);
	PTR(ibv_import_mr, pd, 1);
	PTR(ibv_import_pd, ctx, 1);
	PTR(ibv_open_qp, ctx, &open);
	PTR(ibv_open_xrcd, ctx, &xrcd);
	PTR(ibv_reg_dmabuf_mr, pd, 0, 64, 0, 0, 0);
}

/* What the others make, as a program would have it that makes it up. */
static void
made_up(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_srq *srq, struct ibv_qp *qp)
{
	struct ibv_counter_attach_attr attach = {0};
	struct ibv_flow_action_esp_attr esp = {0};
	struct ibv_counters counters = {.context = ctx};
	struct ibv_flow_action action = {.context = ctx};
	struct ibv_rwq_ind_table table = {.context = ctx};
	struct ibv_flow flow = {.context = ctx};
	struct ibv_dm dm = {.context = ctx};
	struct ibv_td td = {.context = ctx};
	struct ibv_wq wq = {.context = ctx};
	struct ibv_qp_rate_limit_attr limit = {.rate_limit = 1000};
	struct ibv_ops_wr *bad, ops = {0};
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct ibv_wq_attr wq_attr = {0};
	struct ibv_ece ece = {.vendor_id = 0x2c9};
	struct ibv_sge sge = {0};
	uint64_t value;
	uint32_t number;

	INT(ibv_advise_mr, pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1);
	INT(ibv_attach_counters_point_flow, &counters, &attach, &flow);
	INT(ibv_dealloc_td, &td);
	INT(ibv_destroy_counters, &counters);
	INT(ibv_destroy_flow_action, &action);
	INT(ibv_destroy_rwq_ind_table, &table);
	INT(ibv_destroy_wq, &wq);
	INT(ibv_free_dm, &dm);
	INT(ibv_get_srq_num, srq, &number);
	INT(ibv_modify_flow_action_esp, &action, &esp);
	INT(ibv_modify_qp_rate_limit, qp, &limit);
	INT(ibv_modify_wq, &wq, &wq_attr);
	INT(ibv_post_srq_ops, srq, &ops, &bad);
	INT(ibv_query_ece, qp, &ece);
	INT(ibv_query_rt_values_ex, ctx, &values);
	INT(ibv_read_counters, &counters, &value, 1, 0);
	PTR(ibv_reg_dm_mr, pd, &dm, 0, 64, 0);
	INT(ibv_set_ece, qp, &ece);
}

/* They leave as it is what was not imported. */
static bool
unimported(struct ibv_pd *pd, struct ibv_mr *mr)
{
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
	ibv_unimport_dm(NULL);
	return ibv_dealloc_pd(pd) == EBUSY && ibv_dereg_mr(mr) == 0;
}

int
main(int argc, char **argv)
{
	struct ibv_srq_init_attr srq_init = {.attr = {1, 1, 0}};
	struct ibv_qp_init_attr init = {.cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;

	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	ctx = open_device(argv[1]);
	pd = need(ibv_alloc_pd(ctx), "protection domain");
	init.send_cq = init.recv_cq = need(ibv_create_cq(ctx, 4, NULL, NULL, 0), "completion queue");
	srq = need(ibv_create_srq(pd, &srq_init), "shared receive queue");
	qp = need(ibv_create_qp(pd, &init), "queue pair");
	mr = need(ibv_reg_mr(pd, malloc(64), 64, 0), "region");
	makers(ctx, pd);
	made_up(ctx, pd, srq, qp);
	printf("unimported %s\n", unimported(pd, mr) ? "works" : "no");
	done(ibv_destroy_qp(qp), "destroy_qp");
	done(ibv_destroy_srq(srq), "destroy_srq");
	done(ibv_destroy_cq(init.send_cq), "destroy_cq");
	done(ibv_dealloc_pd(pd), "dealloc_pd");
	done(ibv_close_device(ctx), "close_device");
	return 0;
}
