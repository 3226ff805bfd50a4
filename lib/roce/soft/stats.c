/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters of a port: the engine's by cause, under the names that a card's have, and the provider's own. */
#include "sw.h"

#define KBPS_PER_MBPS 1000u

struct counter {
	const char *name;
	size_t at;
};

#define ENGINE(text, field)                                                                                            \
	{                                                                                                              \
		.name = text, .at = offsetof(struct rsw_dev, st.field)                                                 \
	}
#define OWN(text, field)                                                                                               \
	{                                                                                                              \
		.name = text, .at = offsetof(struct rsw_dev, sw.field)                                                 \
	}

static const struct counter counters[] = {
	ENGINE("tx_packets", tx_packets),
	ENGINE("tx_bytes", tx_bytes),
	ENGINE("rx_packets", rx_packets),
	ENGINE("rx_bytes", rx_bytes),
	ENGINE("req_length_errors", rq_len_err),
	ENGINE("req_qp_operation_errors", rq_op_err),
	ENGINE("req_protection_errors", rq_prot_err),
	ENGINE("req_flushed", rq_flush_err),
	ENGINE("req_bind_errors", rq_bind_err),
	ENGINE("req_remote_invalid_requests", rq_remote_invalid),
	ENGINE("req_remote_access_errors", rq_remote_access),
	ENGINE("req_remote_operation_errors", rq_remote_op),
	ENGINE("req_rnr_naks", rq_rnr_nak),
	ENGINE("req_out_of_order", rq_out_of_order),
	ENGINE("req_timeouts", rq_timeout),
	ENGINE("req_retries_exceeded", rq_retry_exceeded),
	ENGINE("req_rnr_retries_exceeded", rq_rnr_exceeded),
	ENGINE("req_bad_responses", rq_bad_response),
	ENGINE("req_unexpected_responses", rq_ghost),
	ENGINE("req_resent", rq_resent),
	ENGINE("resp_length_errors", rs_len_err),
	ENGINE("resp_qp_operation_errors", rs_op_err),
	ENGINE("resp_protection_errors", rs_prot_err),
	ENGINE("resp_flushed", rs_flush_err),
	ENGINE("resp_invalid_requests", rs_remote_invalid),
	ENGINE("resp_access_errors", rs_remote_access),
	ENGINE("resp_remote_operation_errors", rs_remote_op),
	ENGINE("resp_rnr_naks", rs_rnr_nak),
	ENGINE("resp_out_of_order", rs_out_of_order),
	ENGINE("resp_duplicates", rs_duplicate),
	ENGINE("resp_uc_dropped", rs_uc_discarded),
	ENGINE("resp_ud_dropped", rs_ud_discarded),
	ENGINE("bad_qkeys", rs_bad_qkey),
	ENGINE("bad_pkeys", rs_bad_pkey),
	ENGINE("bad_opcodes", rs_bad_opcode),
	ENGINE("malformed_transport", rs_malformed),
	ENGINE("cnps", cnp),
	OWN("guest_bad_requests", guest_bad_wqe),
	OWN("invalid_qp", rx_no_qp),
	OWN("bad_icrc", rx_bad_icrc),
	OWN("malformed", rx_malformed),
	OWN("bad_ip_checksum", rx_bad_ip),
	OWN("bad_udp_checksum", rx_bad_udp),
	OWN("ip_options", rx_ip_options),
	OWN("ip_fragments", rx_fragments),
	OWN("bad_address", rx_bad_address),
	OWN("bad_multicast", rx_no_group),
	OWN("multicast_received", rx_groups),
	OWN("ecn_marked", rx_ecn),
	OWN("cc_marked", cc_marks),
	OWN("cc_cnps_sent", cc_cnps_sent),
	OWN("cc_cnps_handled", cc_cnps_handled),
	OWN("cc_cnps_ignored", cc_cnps_ignored),
	OWN("cc_limited_qps", cc_limited),
	OWN("mads_received", rx_mads),
	OWN("mads_overflowed", rx_mad_dropped),
	OWN("mads_sent", tx_mads),
	OWN("no_source_address", tx_no_gid),
	OWN("tx_no_mbuf", tx_no_mbuf),
	OWN("tx_queue_full", tx_full),
	OWN("looped", looped),
	OWN("lane_passed", passed),
	OWN("lane_drops", pass_full),
	OWN("cq_overflows", cq_overruns),
	OWN("srq_limits", srq_limits),
	{.name = "refused_work_requests", .at = offsetof(struct rsw_dev, refused)},
};

/* Of all lanes. */
static uint64_t
sum(const struct rsw_dev *d, size_t at)
{
	uint64_t v = 0;

	for (uint16_t i = 0; i < d->num_lanes; i++)
		v += __atomic_load_n((const uint64_t *)(const void *)((const uint8_t *)d->lanes[i] + at),
				     __ATOMIC_RELAXED);
	return v;
}

int
rsw_stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	const struct rsw_dev *d = dev->home;

	for (unsigned int i = 0; i < RTE_DIM(counters); i++)
		fn(arg, counters[i].name, sum(d, counters[i].at));
	fn(arg, "cc_limited_mbps", sum(d, offsetof(struct rsw_dev, sw.cc_kbps)) / KBPS_PER_MBPS);
	return 0;
}
