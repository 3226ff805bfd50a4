/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The report of the card process: each counter under its name, one fact a line, and nothing of what did not happen. */
#include <stdlib.h>

#include "apps/triplane-hca/hca.h"
#include "model/qos/qos.h"
#include "model/roce/roce_cc.h"
#include "tp_ibswitch.h"
#include "tp_switch.h"
#include "vfu_rig.h"

static struct rig rig;
static char *text;

static int
up(void **state)
{
	(void)state;
	rig_up(&rig);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	rig_down(&rig);
	free(text);
	text = NULL;
	return 0;
}

static const char *
report(bool switches)
{
	size_t len;
	FILE *f;

	free(text);
	text = NULL;
	f = open_memstream(&text, &len);
	assert_non_null(f);
	if (switches)
		hca_report_switches(f);
	else
		hca_report(f, rig.model, &rig.server);
	fclose(f);
	return text;
}

static void
nothing_happened(void **state)
{
	(void)state;
	tp_model_wire_none(rig.model, 1);
	tp_model_wire_none(rig.model, 2);
	assert_string_equal(report(false), "report: violations 0\nreport: advice 0\n"
					   "report: card commands 0 commands_failed 0 events 0 interrupts 0 doorbells "
					   "0 bf_doorbells 0 dma_windows 0 "
					   "dma_bytes_mapped 0 icm_pages 0 qps 0 cqs 0 eqs 0 mpts 0 rules 0\n"
					   "report: port 1 wire none link down tx_frames 0 tx_bytes 0 rx_frames 0 "
					   "rx_bytes 0 wire_drops 0 rx_no_rule 0 "
					   "rx_vlan_filtered 0 rx_no_wqe 0 rx_too_long 0 tx_no_transport 0\n"
					   "report: port 1 roce tx 0 rx 0 bad_icrc 0 no_qp 0 no_gid 0 malformed 0\n"
					   "report: port 2 wire none link down tx_frames 0 tx_bytes 0 rx_frames 0 "
					   "rx_bytes 0 wire_drops 0 rx_no_rule 0 "
					   "rx_vlan_filtered 0 rx_no_wqe 0 rx_too_long 0 tx_no_transport 0\n"
					   "report: port 2 roce tx 0 rx 0 bad_icrc 0 no_qp 0 no_gid 0 malformed 0\n"
					   "report: clients 0\nreport: malformed 0\n");
}

/* Every counter has a number of its own. */
static void
every_counter(void **state)
{
	struct tpm_port *p = &rig.model->port[1];

	(void)state;
	tp_model_wire_none(rig.model, 1);
	tp_model_wire_loopback(rig.model, 2);
	rig.model->st.commands = 11;
	rig.model->st.commands_failed = 12;
	rig.model->st.events = 13;
	rig.model->st.interrupts = 14;
	rig.model->st.doorbells = 15;
	rig.model->st.bf_doorbells = 16;
	rig.model->st.icm_pages = 19;
	rig.model->st.mpts = 23;
	rig.model->st.rules = 24;
	p->link = true;
	p->c.tx_frames[0] = 31;
	p->c.tx_oct[0] = 32;
	p->c.rx_frames[0] = 33;
	p->c.rx_oct[0] = 34;
	p->wire_drops = 35;
	p->rx_no_rule = 36;
	p->rx_vlan_filtered = 37;
	p->rx_no_wqe = 38;
	p->rx_too_long = 39;
	p->tx_no_transport = 40;
	p->roce_tx = 41;
	p->roce_rx = 42;
	p->roce_bad_icrc = 43;
	p->roce_no_qp = 44;
	p->roce_no_gid = 45;
	p->roce_malformed = 46;
	rig.model->cmd_count[0] = 47;
	rig.server.clients = 51;
	rig.server.malformed = 52;
	rig.server.requests[1] = 53;
	rig.server.refused[1] = 54;
	rig.server.requests[16] = 55;
	rig.server.refused[2] = 56; /* without a request: not said */
	report(false);
	assert_non_null(strstr(
		text,
		"report: card commands 11 commands_failed 12 events 13 interrupts 14 doorbells 15 bf_doorbells 16 "
		"dma_windows 0 dma_bytes_mapped 0 icm_pages 19 qps 0 cqs 0 eqs 0 mpts 23 rules 24\n"));
	assert_non_null(strstr(text,
			       "report: port 2 wire loopback link up tx_frames 31 tx_bytes 32 rx_frames 33 rx_bytes 34 "
			       "wire_drops 35 rx_no_rule 36 rx_vlan_filtered 37 rx_no_wqe 38 rx_too_long 39 "
			       "tx_no_transport 40\n"
			       "report: port 2 roce tx 41 rx 42 bad_icrc 43 no_qp 44 no_gid 45 malformed 46\n"));
	assert_non_null(strstr(text,
			       "report: command QUERY_DEV_CAP 47\nreport: clients 51\nreport: malformed 52\n"
			       "report: message VERSION 53 refused 54\nreport: message DEVICE_FEATURE 55 refused 0\n"));
	assert_null(strstr(text, "DMA_MAP"));
	assert_null(strstr(text, "report: qos"));
	assert_null(strstr(text, "command QUERY_FW"));
	p->link = false;
}

/* A priority to which something happened, and no other. */
static void
priorities(void **state)
{
	struct tpm_qos *q = rig.model->port[0].qos;

	(void)state;
	tp_model_set_time(rig.model, 0);
	q->rx[3] = (struct tpm_flow){.frames = 1, .paused_ns = 2000};
	q->tx[4] = (struct tpm_flow){.frames = 3, .paused_ns = 4000};
	q->rx_overflow[5] = 6;
	q->rx_held[6].count = 7;
	q->paused = 1u << 3 | 1u << 7;
	q->stopped = 1u << 4;
	report(false);
	assert_non_null(strstr(text,
			       "report: qos port 1 priority 3 tx_paused 1 rx_paused 0 rx_pause_frames 1 rx_pause_us 2 "
			       "tx_pause_frames 0 tx_pause_us 0 waiting 0 overflow 0\n"
			       "report: qos port 1 priority 4 tx_paused 0 rx_paused 1 rx_pause_frames 0 rx_pause_us 0 "
			       "tx_pause_frames 3 tx_pause_us 4 waiting 0 overflow 0\n"
			       "report: qos port 1 priority 5 tx_paused 0 rx_paused 0 rx_pause_frames 0 rx_pause_us 0 "
			       "tx_pause_frames 0 tx_pause_us 0 waiting 0 overflow 6\n"
			       "report: qos port 1 priority 6 tx_paused 0 rx_paused 0 rx_pause_frames 0 rx_pause_us 0 "
			       "tx_pause_frames 0 tx_pause_us 0 waiting 7 overflow 0\n"
			       "report: clients 0\n"));
	assert_null(strstr(text, "priority 7"));
	assert_null(strstr(text, "qos port 2"));
	q->rx_held[6].count = 0;
}

/* Congestion control of a priority for which it did anything. */
static void
congestion(void **state)
{
	struct tpm_cc *cc = rig.model->port[1].cc;

	(void)state;
	cc->prio[3].marked = 1;
	cc->prio[3].ignored_marks = 2;
	cc->prio[3].cnps = 3;
	cc->prio[3].handled = 4;
	cc->prio[3].ignored_cnps = 5;
	cc->prio[3].limiters = 6;
	cc->prio[7].ignored_cnps = 7;
	report(false);
	assert_non_null(strstr(text, "report: cc port 2 priority 3 marked 1 marks_ignored 2 cnps_sent 3 cnps_handled 4 "
				     "cnps_ignored 5 limited_qps 6 limited_mbps 0\n"
				     "report: cc port 2 priority 7 marked 0 marks_ignored 0 cnps_sent 0 cnps_handled 0 "
				     "cnps_ignored 7 limited_qps 0 limited_mbps 0\nreport: clients"));
	assert_null(strstr(text, "cc port 1"));
}

static void
broken_rules(void **state)
{
	int rule = tp_model_violation_by_name("bar-range");
	char want[512];

	(void)state;
	assert_true(rule >= 0);
	assert_int_equal(tp_model_bar0_read32(rig.model, 2), UINT32_MAX);
	assert_int_equal(tp_model_bar0_read32(rig.model, 6), UINT32_MAX);
	report(false);
	snprintf(want, sizeof(want), "report: violations 2\nreport: violation bar-range 2 (%s)\n",
		 tp_model_violation_text((unsigned int)rule));
	assert_memory_equal(text, want, strlen(want));
	assert_non_null(strstr(text, "\nreport: last violation: bar-range: BAR0 read 0x6: "));
	assert_non_null(strstr(text, "\nreport: advice 0\nreport: card"));
	assert_null(strstr(text, "advised"));
	/* Advice is not counted with them. */
	tpm_violate(rig.model, TPM_V_MCG_ENTRY, "table", 1, "too small");
	report(false);
	if (tp_model_violation_class(TPM_V_MCG_ENTRY) == TP_RULE_ADVICE) {
		assert_memory_equal(text, want, strlen(want));
		snprintf(want, sizeof(want),
			 "\nreport: advice 1\nreport: advised %s 1 (%s)\nreport: last advice: %s: table 0x1: too "
			 "small\n",
			 tp_model_violation_name(TPM_V_MCG_ENTRY), tp_model_violation_text(TPM_V_MCG_ENTRY),
			 tp_model_violation_name(TPM_V_MCG_ENTRY));
		assert_non_null(strstr(text, want));
	} else {
		fail_msg("the rule of small group entries is no advice any more: take another");
	}
}

static void
switches(void **state)
{
	static const uint8_t broadcast[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
	struct tp_frame_seg seg = {broadcast, 60};
	const struct tp_frame f = {.seg = &seg, .nseg = 1, .len = 60};
	struct tp_switch_port *port[2];
	struct tp_switch *sw;
	char why[TP_SWITCH_TEXT];

	(void)state;
	assert_string_equal(report(true), "");
	assert_int_equal(tp_switch_get("beta", &sw), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_switch_port_add(sw, &port[i], why), 0);
		tp_switch_port_link(port[i], true);
	}
	tp_switch_put(sw);
	tp_switch_port_send(port[0], 1000, &f, 1);
	report(true);
	assert_non_null(strstr(
		text, "report: switch beta ports 2\nreport: switch beta macs 1\nreport: switch beta learnt 1\n"));
	assert_non_null(strstr(text, "report: switch beta flooded 1\n"));
	assert_non_null(strstr(text, "report: switch beta port 1 link_up 1\nreport: switch beta port 1 rx_control 0\n"
				     "report: switch beta port 1 tx_control 0\n"
				     "report: switch beta port 1 prio 0 rx_frames 1\n"
				     "report: switch beta port 1 prio 0 rx_bytes 60\n"));
	assert_non_null(strstr(text, "report: switch beta port 2 prio 0 out_frames 1\n"));
	/* InfiniBand's come behind. */
	assert_int_equal(tp_model_wire_ibswitch(rig.model, 1, "gamma", why), 0);
	report(true);
	assert_non_null(strstr(text, "report: switch beta port 2 prio 0 out_frames 1\n"));
	assert_non_null(strstr(text, "report: ibswitch gamma "));
	assert_true(strstr(text, "report: ibswitch") > strstr(text, "report: switch beta port 2"));
	for (unsigned int i = 0; i < 2; i++)
		tp_switch_port_remove(port[i]);
	assert_int_equal(tp_model_wire_none(rig.model, 1), 0);
	assert_string_equal(report(true), "");
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(nothing_happened), T(every_counter), T(priorities), T(congestion), T(broken_rules), T(switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
