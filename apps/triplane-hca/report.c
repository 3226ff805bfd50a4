/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the card process counted, one fact a line. */
#include <inttypes.h>

#include "hca.h"
#include "tp_ibswitch.h"
#include "tp_switch.h"

static void
command_line(void *arg, const char *name, uint64_t count)
{
	if (count != 0)
		fprintf(arg, "report: command %s %" PRIu64 "\n", name, count);
}

/* The rules of one class that were broken, each as "WORD NAME COUNT". */
static void
report_rules(FILE *f, struct tp_model *m, enum tp_rule_class class, const char *word)
{
	for (unsigned int i = 0; i < tp_model_violation_count(); i++)
		if (tp_model_violation_class(i) == class && tp_model_violations(m, i) != 0)
			fprintf(f, "report: %s %s %" PRIu64 " (%s)\n", word, tp_model_violation_name(i),
				tp_model_violations(m, i), tp_model_violation_text(i));
}

static void
report_last(FILE *f, const char *word, const char *last)
{
	if (last[0] != '\0')
		fprintf(f, "report: last %s: %s\n", word, last);
}

static void
report_violations(FILE *f, struct tp_model *m)
{
	char last[HCA_TEXT];

	fprintf(f, "report: violations %" PRIu64 "\n", tp_model_violations_total(m));
	report_rules(f, m, TP_RULE_VIOLATION, "violation");
	tp_model_last_violation(m, last, sizeof(last));
	report_last(f, "violation", last);
	fprintf(f, "report: advice %" PRIu64 "\n", tp_model_advice_total(m));
	report_rules(f, m, TP_RULE_ADVICE, "advised");
	tp_model_last_advice(m, last, sizeof(last));
	report_last(f, "advice", last);
}

static void
report_ports(FILE *f, const struct tp_model_stats *st)
{
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++)
		fprintf(f,
			"report: port %u wire %s link %s tx_frames %" PRIu64 " tx_bytes %" PRIu64 " rx_frames %" PRIu64
			" rx_bytes %" PRIu64 " wire_drops %" PRIu64 " rx_no_rule %" PRIu64 " rx_vlan_filtered %" PRIu64
			" rx_no_wqe %" PRIu64 " rx_too_long %" PRIu64 " tx_no_transport %" PRIu64 "\n"
			"report: port %u roce tx %" PRIu64 " rx %" PRIu64 " bad_icrc %" PRIu64 " no_qp %" PRIu64
			" no_gid %" PRIu64 " malformed %" PRIu64 "\n",
			i + 1, st->port[i].wire != NULL ? st->port[i].wire : "none",
			st->port[i].link_up ? "up" : "down", st->port[i].tx_frames, st->port[i].tx_bytes,
			st->port[i].rx_frames, st->port[i].rx_bytes, st->port[i].wire_drops, st->port[i].rx_no_rule,
			st->port[i].rx_vlan_filtered, st->port[i].rx_no_wqe, st->port[i].rx_too_long,
			st->port[i].tx_no_transport, i + 1, st->port[i].roce_tx, st->port[i].roce_rx,
			st->port[i].roce_bad_icrc, st->port[i].roce_no_qp, st->port[i].roce_no_gid,
			st->port[i].roce_malformed);
}

/* Of a port whose quality of service did anything: per priority, what was paused, what waits, what was lost. */
static void
report_qos(FILE *f, struct tp_model *m, unsigned int port)
{
	struct tp_model_qos q;

	if (tp_model_get_qos(m, port, &q) != 0)
		return;
	for (unsigned int i = 0; i < 8; i++) {
		if ((q.rx_pause[i].frames | q.tx_pause[i].frames | q.rx_waiting[i] | q.rx_overflow[i]) == 0)
			continue;
		fprintf(f,
			"report: qos port %u priority %u tx_paused %u rx_paused %u rx_pause_frames %" PRIu64
			" rx_pause_us %" PRIu64 " tx_pause_frames %" PRIu64 " tx_pause_us %" PRIu64
			" waiting %u overflow %" PRIu64 "\n",
			port, i, q.tx_paused >> i & 1, q.rx_paused >> i & 1, q.rx_pause[i].frames,
			q.rx_pause[i].paused_us, q.tx_pause[i].frames, q.tx_pause[i].paused_us, q.rx_waiting[i],
			q.rx_overflow[i]);
	}
}

/* Of a port whose congestion control had something to do: per priority, of both points. */
static void
report_cc(FILE *f, struct tp_model *m, unsigned int port)
{
	struct tp_model_cc cc[8];

	if (tp_model_get_cc(m, port, cc) != 0)
		return;
	for (unsigned int i = 0; i < 8; i++) {
		const struct tp_model_cc *c = &cc[i];

		if ((c->marked | c->marks_ignored | c->cnps_handled | c->cnps_ignored | c->limited_qps) == 0)
			continue;
		fprintf(f,
			"report: cc port %u priority %u marked %u marks_ignored %" PRIu64
			" cnps_sent %u cnps_handled %u "
			"cnps_ignored %u limited_qps %u limited_mbps %" PRIu64 "\n",
			port, i, c->marked, c->marks_ignored, c->cnps_sent, c->cnps_handled, c->cnps_ignored,
			c->limited_qps, c->limited_mbps);
	}
}

void
hca_report(FILE *f, struct tp_model *m, const struct vfu *s)
{
	struct tp_model_stats st;

	tp_model_get_stats(m, &st);
	report_violations(f, m);
	fprintf(f,
		"report: card commands %" PRIu64 " commands_failed %" PRIu64 " events %" PRIu64 " interrupts %" PRIu64
		" doorbells %" PRIu64 " bf_doorbells %" PRIu64 " dma_windows %" PRIu64 " dma_bytes_mapped %" PRIu64
		" icm_pages %" PRIu64 " qps %u cqs %u eqs %u mpts %u rules %u\n",
		st.commands, st.commands_failed, st.events, st.interrupts, st.doorbells, st.bf_doorbells,
		st.dma_windows, st.dma_bytes_mapped, st.icm_pages, st.qps, st.cqs, st.eqs, st.mpts, st.rules);
	report_ports(f, &st);
	for (unsigned int i = 1; i <= TP_MODEL_PORTS; i++)
		report_qos(f, m, i);
	for (unsigned int i = 1; i <= TP_MODEL_PORTS; i++)
		report_cc(f, m, i);
	tp_model_each_command(m, command_line, f);
	fprintf(f, "report: clients %" PRIu64 "\nreport: malformed %" PRIu64 "\n", s->clients, s->malformed);
	for (unsigned int i = 0; i < VFU_COMMANDS; i++)
		if (s->requests[i] != 0)
			fprintf(f, "report: message %s %" PRIu64 " refused %" PRIu64 "\n", vfu_command_name(i),
				s->requests[i], s->refused[i]);
}

struct switch_line {
	FILE *f;
	const char *name;
};

static void
switch_counter(void *arg, unsigned int port, int prio, const char *name, uint64_t value)
{
	const struct switch_line *l = arg;

	fprintf(l->f, "report: switch %s", l->name);
	if (port != 0)
		fprintf(l->f, " port %u", port);
	if (prio >= 0)
		fprintf(l->f, " prio %d", prio);
	fprintf(l->f, " %s %" PRIu64 "\n", name, value);
}

static void
ib_counter(void *arg, const char *name, uint64_t value)
{
	const struct switch_line *l = arg;

	fprintf(l->f, "report: ibswitch %s %s %" PRIu64 "\n", l->name, name, value);
}

static void
report_ibswitches(FILE *f)
{
	char names[2 * HCA_CARDS][TP_IBSWITCH_NAME];
	unsigned int n = tp_ibswitch_list(names, 2 * HCA_CARDS);

	for (unsigned int i = 0; i < n && i < 2 * HCA_CARDS; i++)
		tp_ibswitch_each_counter(names[i], ib_counter, &(struct switch_line){f, names[i]});
}

void
hca_report_switches(FILE *f)
{
	char names[2 * HCA_CARDS][TP_SWITCH_NAME];
	unsigned int n = tp_switch_list(names, 2 * HCA_CARDS);

	for (unsigned int i = 0; i < n && i < 2 * HCA_CARDS; i++) {
		struct tp_switch *sw = tp_switch_find(names[i]);

		if (sw == NULL)
			continue;
		tp_switch_each_counter(sw, switch_counter, &(struct switch_line){f, names[i]});
		tp_switch_put(sw);
	}
	report_ibswitches(f);
}
