/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stddef.h>
#include <string.h>

#include "table.h"

#define DIM(a) (sizeof(a) / sizeof((a)[0]))

const struct metric_family metric_families[METRICS] = {
#define METRIC_ROW(id, type, name, unit, help) [M_##id] = {name, unit, help, METRIC_##type},
	METRIC_FAMILIES(METRIC_ROW)};

#define RX                                                                                                             \
	{                                                                                                              \
		"direction", "rx"                                                                                      \
	}
#define TX                                                                                                             \
	{                                                                                                              \
		"direction", "tx"                                                                                      \
	}
#define DROP(dir, cause)                                                                                               \
	{                                                                                                              \
		"direction", dir, "cause", cause                                                                       \
	}
#define KIND(kind)                                                                                                     \
	{                                                                                                              \
		"kind", kind                                                                                           \
	}

static const struct metric_row ethdev_info[] = {
	{"dev_started", M_PORT_STARTED},
	{"mtu", M_MTU},
};
static const char *const ethdev_keys[] = {"name", "mac_addr", NULL};

static const struct metric_row ethdev_link[] = {
	{"status", M_LINK, .yes = "UP"},
	{"speed", M_SPEED, .scale = 125000},
};

static const struct metric_row ethdev_stats[] = {
	{"ipackets", M_RX_PACKETS},    {"opackets", M_TX_PACKETS}, {"ibytes", M_RX_BYTES},
	{"obytes", M_TX_BYTES},        {"imissed", M_RX_MISSED},   {"ierrors", M_RX_ERRORS},
	{"oerrors", M_TX_ERRORS},      {"rx_nombuf", M_RX_NOMBUF}, {"q_ipackets", M_QRX_PACKETS},
	{"q_opackets", M_QTX_PACKETS}, {"q_ibytes", M_QRX_BYTES},  {"q_obytes", M_QTX_BYTES},
	{"q_errors", M_QRX_ERRORS},
};

static const struct metric_row xstats[] = {
	{"rx_port_packets", M_WIRE_PACKETS, RX},
	{"tx_port_packets", M_WIRE_PACKETS, TX},
	{"rx_port_bytes", M_WIRE_BYTES, RX},
	{"tx_port_bytes", M_WIRE_BYTES, TX},
	{"rx_port_discards", M_DROPS, DROP("rx", "no_buffer")},
	{"rx_port_overflow_discards", M_DROPS, DROP("rx", "port_buffer_full")},
	{"rx_port_length_discards", M_DROPS, DROP("rx", "length")},
	{"rx_stop_drops", M_DROPS, DROP("rx", "queue_stopped")},
	{"tx_port_discards", M_DROPS, DROP("tx", "card")},
	{"tx_spoof_mac_drops", M_DROPS, DROP("tx", "spoofed_address")},
	{"tx_spoof_type_drops", M_DROPS, DROP("tx", "forbidden_ethertype")},
	{"tx_stop_drops", M_DROPS, DROP("tx", "queue_stopped")},
	{"rx_port_in_range_length_errors", M_DAMAGED, KIND("length_field")},
	{"rx_port_out_of_range_length_errors", M_DAMAGED, KIND("length_field_range")},
	{"rx_port_too_long_errors", M_DAMAGED, KIND("too_long")},
	{"rx_port_symbol_errors", M_DAMAGED, KIND("symbol")},
	{"rx_port_jabber_errors", M_DAMAGED, KIND("jabber")},
	{"rx_port_crc_errors", M_DAMAGED, KIND("crc")},
	{"rx_port_runt_errors", M_DAMAGED, KIND("runt")},
	{"rx_port_short_errors", M_DAMAGED, KIND("short")},
	{"link_down_events", M_LINK_DOWNS},
	{"tx_queue_failures", M_QP_ERRORS, KIND("transmit_queue")},
	{"device_qp_errors", M_QP_ERRORS, KIND("queue_pair_of_card")},
	{"rx_prio#_packets", M_PRIO_PACKETS, RX, "priority"},
	{"tx_prio#_packets", M_PRIO_PACKETS, TX, "priority"},
	{"rx_prio#_bytes", M_PRIO_BYTES, RX, "priority"},
	{"tx_prio#_bytes", M_PRIO_BYTES, TX, "priority"},
	{"rx_prio#_pause", M_PRIO_PAUSE, RX, "priority"},
	{"tx_prio#_pause", M_PRIO_PAUSE, TX, "priority"},
	{"rx_prio#_pause_us", M_PRIO_PAUSED, RX, "priority", 1e-6},
	{"tx_prio#_pause_us", M_PRIO_PAUSED, TX, "priority", 1e-6},
	{"tx_prio#_discards", M_PRIO_DISCARDS, {NULL}, "priority"},
	{"rx_stall_minor", M_STALLS, KIND("receive_minor")},
	{"rx_stall_critical", M_STALLS, KIND("receive_critical")},
	{"tx_tc#_stalls", M_STALLS, KIND("transmit_class"), "class"},
	{"tx_tc#_lifetime_drops", M_DROPS, DROP("tx", "lifetime"), "class"},
};

static const struct metric_row mempool[] = {
	{"size", M_POOL_SIZE},
	{"common_pool_count", M_POOL_FREE},
	/* added to the one before: both are of one family without another label */
	{"total_cache_count", M_POOL_FREE},
};

static const struct metric_row card[] = {
	{"dead", M_CARD_DEAD},
	{"commands", M_COMMANDS},
	{"qps", M_OBJECTS, KIND("qp")},
	{"cqs", M_OBJECTS, KIND("cq")},
	{"srqs", M_OBJECTS, KIND("srq")},
	{"mrs", M_OBJECTS, KIND("mr")},
	{"mtts", M_OBJECTS, KIND("mtt")},
	{"pds", M_OBJECTS, KIND("pd")},
	{"eqs", M_OBJECTS, KIND("eq")},
};
static const char *const card_keys[] = {"name",           "bus",       "firmware", "board", "link_layer", "state",
					"physical_state", "roce_mode", NULL};

#define SENSOR(name)                                                                                                   \
	{name "_alarm", M_ALARM, {"sensor", name}},                                                                    \
	{                                                                                                              \
		name "_alarms", M_ALARMS,                                                                              \
		{                                                                                                      \
			"sensor", name                                                                                 \
		}                                                                                                      \
	}
#define OUTCOME(outcome)                                                                                               \
	{                                                                                                              \
		"outcome", outcome                                                                                     \
	}
static const struct metric_row health[] = {
	SENSOR("tx_stuck"),
	SENSOR("tx_completion"),
	SENSOR("rx_completion"),
	SENSOR("rx_error"),
	SENSOR("tx_error"),
	SENSOR("command"),
	SENSOR("event"),
	{"restarts", M_RESTARTS, OUTCOME("done")},
	{"restarts_failed", M_RESTARTS, OUTCOME("failed")},
	{"restarts_refused", M_RESTARTS, OUTCOME("refused")},
	{"dumps", M_DUMPS, OUTCOME("done")},
	{"dumps_failed", M_DUMPS, OUTCOME("failed")},
	{"lost_events", M_LOST_EVENTS},
	{"command_timeouts", M_TIMEOUTS},
};

static const struct metric_row rxq[] = {
	{"started", M_RXQ_STARTED}, {"descriptors", M_RXQ_RING}, {"posted", M_RXQ_POSTED}, {"waiting", M_RXQ_WAITING},
	{"packets", M_RXQ_PACKETS}, {"nombuf", M_RXQ_NOMBUF},    {"errors", M_RXQ_ERRORS},
};
static const struct metric_row txq[] = {
	{"started", M_TXQ_STARTED},
	{"descriptors", M_TXQ_RING},
	{"used", M_TXQ_USED},
	{"packets", M_TXQ_PACKETS},
};

static const struct metric_row roce_info[] = {
	{"qps", M_ROCE_OBJECTS, KIND("qp")},   {"cqs", M_ROCE_OBJECTS, KIND("cq")},
	{"srqs", M_ROCE_OBJECTS, KIND("srq")}, {"ahs", M_ROCE_OBJECTS, KIND("ah")},
	{"mrs", M_ROCE_OBJECTS, KIND("mr")},   {"mws", M_ROCE_OBJECTS, KIND("mw")},
	{"pds", M_ROCE_OBJECTS, KIND("pd")},   {"channels", M_ROCE_OBJECTS, KIND("channel")},
};
static const char *const roce_keys[] = {"device", "provider", NULL};
static const struct metric_row roce_stats[] = {
	{"rx_packets", M_ROCE_PACKETS, RX},
	{"tx_packets", M_ROCE_PACKETS, TX},
	{"rx_bytes", M_ROCE_BYTES, RX},
	{"tx_bytes", M_ROCE_BYTES, TX},
	/* the page's only figures that fall */
	{"cc_limited_qps", M_ROCE_LIMITED},
	{"cc_limited_mbps", M_ROCE_LIMITED_SPEED, .scale = 125000},
};

static const struct metric_row share[] = {
	{"guests", M_SHARE_GUESTS},
	{"connected", M_SHARE_CONNECTED},
	{"refused", M_SHARE_REFUSED},
	{"calls", M_SHARE_CALLS},
	{"failed", M_SHARE_FAILED},
	{"objects", M_SHARE_OBJECTS},
	{"ring_bytes", M_SHARE_MEMORY, {"use", "rings"}},
	{"region_bytes", M_SHARE_MEMORY, {"use", "regions"}},
	{"limited_*", M_SHARE_LIMITED, {NULL}, "limit"},
};
static const struct metric_row guest[] = {
	{"qps", M_GUEST_OBJECTS, KIND("qp")},
	{"cqs", M_GUEST_OBJECTS, KIND("cq")},
	{"srqs", M_GUEST_OBJECTS, KIND("srq")},
	{"mrs", M_GUEST_OBJECTS, KIND("mr")},
	{"ids", M_GUEST_OBJECTS, KIND("cm_id")},
	{"calls", M_GUEST_CALLS},
	{"failed", M_GUEST_FAILED},
};
static const char *const guest_keys[] = {"device", "pid", "uid", NULL};

static const struct metric_row kernel[] = {
	{"up", M_KERNEL_UP, .yes = "yes"},
	{"rx_packets", M_KERNEL_PACKETS, RX},
	{"tx_packets", M_KERNEL_PACKETS, TX},
	{"rx_octets", M_KERNEL_BYTES, RX},
	{"tx_octets", M_KERNEL_BYTES, TX},
	{"rx_full", M_KERNEL_DROPS, DROP("rx", "full")},
	{"rx_down", M_KERNEL_DROPS, DROP("rx", "down")},
	{"rx_no_mbuf", M_KERNEL_DROPS, DROP("rx", "no_mbuf")},
	{"rx_refused", M_KERNEL_DROPS, DROP("rx", "refused")},
	{"tx_down", M_KERNEL_DROPS, DROP("tx", "down")},
	{"tx_refused", M_KERNEL_DROPS, DROP("tx", "refused")},
};
static const char *const kernel_keys[] = {"name", NULL};

static const struct metric_row lcore[] = {
	{"busy_us", M_LCORE_TIME, {"state", "busy"}, NULL, 1e-6},
	{"idle_us", M_LCORE_TIME, {"state", "idle"}, NULL, 1e-6},
	{"rx_packets", M_LCORE_PACKETS, RX},
	{"tx_packets", M_LCORE_PACKETS, TX},
	{"dropped", M_LCORE_DROPS},
	{"sleeps", M_LCORE_SLEEPS},
};

#define ROWS(rows) rows, DIM(rows)

const struct metric_page metric_xstats = {NULL, NULL, EACH_NONE, NULL, ROWS(xstats), M_XSTAT, "name", 0, NULL};

const struct metric_page metric_pages[] = {
	{"/ethdev/info", "/ethdev/list", EACH_LIST, "port", ROWS(ethdev_info), .info = M_PORT,
	 .info_keys = ethdev_keys},
	{"/ethdev/link_status", "/ethdev/list", EACH_LIST, "port", ROWS(ethdev_link)},
	{"/ethdev/stats", "/ethdev/list", EACH_LIST, "port", ROWS(ethdev_stats)},
	{"/mlx4/info", "/mlx4/list", EACH_LIST, "port", ROWS(card), .info = M_CARD, .info_keys = card_keys},
	{"/mlx4/health", "/mlx4/list", EACH_LIST, "port", ROWS(health)},
	{"/mlx4/rxq", "/mlx4/list", EACH_RX, "port", ROWS(rxq)},
	{"/mlx4/txq", "/mlx4/list", EACH_TX, "port", ROWS(txq)},
	{"/mempool/info", "/mempool/list", EACH_LIST, "pool", ROWS(mempool)},
	{"/triplane/roce/info", "/triplane/roce/list", EACH_LIST, "port", ROWS(roce_info), .info = M_ROCE,
	 .info_keys = roce_keys},
	{"/triplane/roce/stats", "/triplane/roce/list", EACH_LIST, "port", ROWS(roce_stats), M_ROCE_EVENTS, "event"},
	{"/triplane/ipoib/counters", "/triplane/ipoib/list", EACH_LIST, "port", NULL, 0, M_IPOIB_EVENTS, "event"},
	{"/triplane/share/stats", NULL, EACH_NONE, NULL, ROWS(share)},
	{"/triplane/share/info", "/triplane/share/list", EACH_LIST, "guest", ROWS(guest), .info = M_GUEST,
	 .info_keys = guest_keys},
	{"/triplane/kernel/info", "/triplane/kernel/list", EACH_LIST, "port", ROWS(kernel), .info = M_KERNEL,
	 .info_keys = kernel_keys},
	{"/triplane/lcore", "/triplane/lcores", EACH_LIST, "lcore", ROWS(lcore)},
};
const unsigned int metric_num_pages = DIM(metric_pages);

/* '#': digits; '*' at the end: whatever follows. */
static bool
fits(const char *form, const char *key, const char **number, int *len)
{
	const size_t before = strcspn(form, "#*");
	size_t n;

	if (strncmp(form, key, before) != 0)
		return false;
	if (form[before] == '\0')
		return key[before] == '\0';
	n = form[before] == '*' ? strlen(key + before) : strspn(key + before, "0123456789");
	*number = key + before;
	*len = (int)n;
	return n != 0 && strcmp(form + before + 1, key + before + n) == 0;
}

const struct metric_row *
metric_row_of(const struct metric_page *page, const char *key, const char **number, int *len)
{
	unsigned int i;

	*number = NULL;
	for (i = 0; i < page->num_rows; i++)
		if (fits(page->rows[i].key, key, number, len))
			return &page->rows[i];
	return NULL;
}
