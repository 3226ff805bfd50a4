/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What is measured, as tables: families (names, types, units and help of Prometheus' kind), and pages of telemetry whose members
 * become samples of them. Another page is a row of pages[] in table.c with rows of its own, and families in FAMILIES.
 */
#ifndef METRICS_TABLE_H
#define METRICS_TABLE_H

#include <stdbool.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO, METRIC_UNKNOWN };

/*
 * X(identifier, type, name, unit, help). A name ends with its unit; counters get "_total" and information "_info" when they are
 * written.
 */
#define METRIC_FAMILIES(X)                                                                                             \
	X(UP, GAUGE, "dpdk_up", "", "Whether the process answers on its telemetry socket")                             \
	X(PROCESS, INFO, "dpdk_process", "", "A process with DPDK's telemetry")                                        \
	X(COLLECT, GAUGE, "dpdk_collection_duration_seconds", "seconds", "Time that asking the process took")          \
	X(UNANSWERED, GAUGE, "dpdk_collection_unanswered_pages", "pages",                                              \
	  "Questions that the process did not answer this time")                                                       \
	X(PORT, INFO, "dpdk_ethdev", "", "A port of ethdev")                                                           \
	X(PORT_STARTED, GAUGE, "dpdk_ethdev_started", "", "Whether the port is started")                               \
	X(MTU, GAUGE, "dpdk_ethdev_mtu_bytes", "bytes", "Largest payload of a frame")                                  \
	X(LINK, GAUGE, "dpdk_ethdev_link_up", "", "Whether the link is up")                                            \
	X(SPEED, GAUGE, "dpdk_ethdev_link_speed_bytes_per_second", "bytes_per_second",                                 \
	  "Speed of the link, 0 while it is down or not known")                                                        \
	X(RX_PACKETS, COUNTER, "dpdk_ethdev_receive_packets", "packets", "Packets received by the application")        \
	X(TX_PACKETS, COUNTER, "dpdk_ethdev_transmit_packets", "packets", "Packets sent")                              \
	X(RX_BYTES, COUNTER, "dpdk_ethdev_receive_bytes", "bytes", "Octets of the packets received")                   \
	X(TX_BYTES, COUNTER, "dpdk_ethdev_transmit_bytes", "bytes", "Octets of the packets sent")                      \
	X(RX_MISSED, COUNTER, "dpdk_ethdev_receive_missed_packets", "packets",                                         \
	  "Packets that the hardware dropped for want of room in receive queues")                                      \
	X(RX_ERRORS, COUNTER, "dpdk_ethdev_receive_errors", "errors", "Received packets that were damaged")            \
	X(TX_ERRORS, COUNTER, "dpdk_ethdev_transmit_errors", "errors", "Packets that could not be sent")               \
	X(RX_NOMBUF, COUNTER, "dpdk_ethdev_receive_buffer_failures", "failures",                                       \
	  "Times that a receive queue got no buffer of its pool")                                                      \
	X(QRX_PACKETS, COUNTER, "dpdk_ethdev_queue_receive_packets", "packets", "Packets received by a queue")         \
	X(QTX_PACKETS, COUNTER, "dpdk_ethdev_queue_transmit_packets", "packets", "Packets sent by a queue")            \
	X(QRX_BYTES, COUNTER, "dpdk_ethdev_queue_receive_bytes", "bytes", "Octets received by a queue")                \
	X(QTX_BYTES, COUNTER, "dpdk_ethdev_queue_transmit_bytes", "bytes", "Octets sent by a queue")                   \
	X(QRX_ERRORS, COUNTER, "dpdk_ethdev_queue_receive_errors", "errors", "Packets that a queue received damaged")  \
	X(XSTAT, UNKNOWN, "dpdk_ethdev_xstat", "", "An extended statistic of the driver, by its own name")             \
	X(POOL_SIZE, GAUGE, "dpdk_mempool_size_objects", "objects", "Objects that a pool has")                         \
	X(POOL_FREE, GAUGE, "dpdk_mempool_available_objects", "objects",                                               \
	  "Objects of a pool that nobody has, those in caches of lcores among them")                                   \
	X(CARD, INFO, "triplane_port", "", "A port of a ConnectX-3 card")                                              \
	X(CARD_DEAD, GAUGE, "triplane_card_dead", "", "Whether the card stopped answering")                            \
	X(COMMANDS, COUNTER, "triplane_card_commands", "commands", "Firmware commands that the card executed")         \
	X(OBJECTS, GAUGE, "triplane_card_objects", "objects", "Objects of the card that are in use, by kind")          \
	X(RXQ_STARTED, GAUGE, "triplane_receive_queue_started", "", "Whether the queue is started")                    \
	X(RXQ_RING, GAUGE, "triplane_receive_queue_descriptors", "descriptors", "Size of the ring")                    \
	X(RXQ_POSTED, GAUGE, "triplane_receive_queue_posted_buffers", "buffers", "Buffers that the card may fill")     \
	X(RXQ_WAITING, GAUGE, "triplane_receive_queue_waiting_packets", "packets",                                     \
	  "Packets that the application did not take so far")                                                          \
	X(RXQ_PACKETS, COUNTER, "triplane_receive_queue_packets", "packets", "Packets received by the queue")          \
	X(RXQ_NOMBUF, COUNTER, "triplane_receive_queue_buffer_failures", "failures",                                   \
	  "Times that the queue got no buffer of its pool")                                                            \
	X(RXQ_ERRORS, COUNTER, "triplane_receive_queue_errors", "errors", "Packets that the queue received damaged")   \
	X(TXQ_STARTED, GAUGE, "triplane_transmit_queue_started", "", "Whether the queue is started")                   \
	X(TXQ_RING, GAUGE, "triplane_transmit_queue_descriptors", "descriptors", "Size of the ring")                   \
	X(TXQ_USED, GAUGE, "triplane_transmit_queue_used_descriptors", "descriptors",                                  \
	  "Descriptors that the card did not complete so far")                                                         \
	X(TXQ_PACKETS, COUNTER, "triplane_transmit_queue_packets", "packets", "Packets sent by the queue")             \
	X(WIRE_PACKETS, COUNTER, "triplane_port_wire_packets", "packets",                                              \
	  "Frames on the wire as the card counts them, whoever received or sent them")                                 \
	X(WIRE_BYTES, COUNTER, "triplane_port_wire_bytes", "bytes", "Octets of these frames")                          \
	X(DROPS, COUNTER, "triplane_port_dropped_packets", "packets",                                                  \
	  "Packets that were dropped, by direction and cause")                                                         \
	X(DAMAGED, COUNTER, "triplane_port_damaged_frames", "frames", "Frames that arrived damaged, by what is wrong") \
	X(LINK_DOWNS, COUNTER, "triplane_port_link_downs", "", "Times that the link went down")                        \
	X(QP_ERRORS, COUNTER, "triplane_port_queue_failures", "failures", "Queues that the card stopped, by kind")     \
	X(PRIO_PACKETS, COUNTER, "triplane_priority_packets", "packets", "Frames of a priority, by direction")         \
	X(PRIO_BYTES, COUNTER, "triplane_priority_bytes", "bytes", "Octets of a priority, by direction")               \
	X(PRIO_PAUSE, COUNTER, "triplane_priority_pause_frames", "frames", "Pause frames of a priority, by direction") \
	X(PRIO_PAUSED, COUNTER, "triplane_priority_paused_seconds", "seconds",                                         \
	  "Time that pause frames stopped a priority, by their direction")                                             \
	X(PRIO_DISCARDS, COUNTER, "triplane_priority_discarded_packets", "packets",                                    \
	  "Frames of a priority that were not sent")                                                                   \
	X(STALLS, COUNTER, "triplane_stalls", "", "Stalls that the monitors of receive path and classes saw")          \
	X(ALARM, GAUGE, "triplane_port_alarm", "", "Whether a sensor of the port's health is in alarm, by sensor")     \
	X(ALARMS, COUNTER, "triplane_port_alarms", "alarms", "Alarms of the port's health, by sensor")                 \
	X(RESTARTS, COUNTER, "triplane_port_restarts", "restarts",                                                     \
	  "Restarts of the port alone, for its health or on request, by outcome")                                      \
	X(DUMPS, COUNTER, "triplane_port_dumps", "dumps", "Dumps of the port, by outcome")                             \
	X(LOST_EVENTS, COUNTER, "triplane_card_lost_events", "events",                                                 \
	  "Events of the card that no interrupt told of, or that it had no room for")                                  \
	X(TIMEOUTS, COUNTER, "triplane_card_command_timeouts", "timeouts", "Firmware commands that were not answered") \
	X(ROCE, INFO, "triplane_roce", "", "A port that is open for RoCE")                                             \
	X(ROCE_OBJECTS, GAUGE, "triplane_roce_objects", "objects", "Verbs objects in use, by kind")                    \
	X(ROCE_PACKETS, COUNTER, "triplane_roce_packets", "packets", "RoCE packets, by direction")                     \
	X(ROCE_BYTES, COUNTER, "triplane_roce_bytes", "bytes", "Octets of RoCE packets, by direction")                 \
	X(ROCE_EVENTS, COUNTER, "triplane_roce_events", "events",                                                      \
	  "What happened to RoCE: errors, repetitions, connections; by the name that 'show roce stats' has")           \
	X(ROCE_LIMITED, GAUGE, "triplane_roce_limited_queue_pairs", "queue_pairs",                                     \
	  "Queue pairs that congestion control limits now")                                                            \
	X(ROCE_LIMITED_SPEED, GAUGE, "triplane_roce_limited_bytes_per_second", "bytes_per_second",                     \
	  "Rates that congestion control allows these queue pairs, together")                                          \
	X(IPOIB_EVENTS, COUNTER, "triplane_ipoib_events", "events",                                                    \
	  "What happened to IPoIB: drops by cause, and the card's transport; by the name of 'show ipoib counters'")    \
	X(SHARE_GUESTS, GAUGE, "triplane_share_guests", "", "Programs that are connected to shared ports")             \
	X(SHARE_CONNECTED, COUNTER, "triplane_share_connections", "connections", "Programs that ever connected")       \
	X(SHARE_REFUSED, COUNTER, "triplane_share_refused_connections", "connections", "Connections refused")          \
	X(SHARE_CALLS, COUNTER, "triplane_share_calls", "calls", "Calls of these programs")                            \
	X(SHARE_FAILED, COUNTER, "triplane_share_failed_calls", "calls", "Calls that failed")                          \
	X(SHARE_OBJECTS, GAUGE, "triplane_share_objects", "objects", "Verbs objects of these programs")                \
	X(SHARE_MEMORY, GAUGE, "triplane_share_memory_bytes", "bytes", "Their memory, by what it is for")              \
	X(SHARE_LIMITED, COUNTER, "triplane_share_limited_calls", "calls", "Calls that a limit refused, by limit")     \
	X(GUEST, INFO, "triplane_share_guest", "", "A program that is connected to shared ports")                      \
	X(GUEST_OBJECTS, GAUGE, "triplane_share_guest_objects", "objects", "Verbs objects of a program, by kind")      \
	X(GUEST_CALLS, COUNTER, "triplane_share_guest_calls", "calls", "Calls of a program")                           \
	X(GUEST_FAILED, COUNTER, "triplane_share_guest_failed_calls", "calls", "Its calls that failed")                \
	X(KERNEL, INFO, "triplane_kernel_interface", "", "An interface of the kernel beside a port")                   \
	X(KERNEL_UP, GAUGE, "triplane_kernel_interface_up", "", "Whether the interface is up")                         \
	X(KERNEL_PACKETS, COUNTER, "triplane_kernel_interface_packets", "packets",                                     \
	  "Packets between kernel and port, by direction: rx to the kernel, tx from it")                               \
	X(KERNEL_BYTES, COUNTER, "triplane_kernel_interface_bytes", "bytes", "Octets of these packets")                \
	X(KERNEL_DROPS, COUNTER, "triplane_kernel_interface_dropped_packets", "packets", "Packets dropped, by cause")  \
	X(LCORE_CPU, COUNTER, "dpdk_lcore_cpu_seconds", "seconds",                                                     \
	  "Time of CPU that the thread of an lcore used, by the kernel; an lcore that polls uses all of it")           \
	X(LCORE_TIME, COUNTER, "triplane_lcore_seconds", "seconds",                                                    \
	  "Time of a forwarding lcore: busy in rounds that moved packets, idle in others")                             \
	X(LCORE_PACKETS, COUNTER, "triplane_lcore_packets", "packets",                                                 \
	  "Packets that an lcore forwarded, by direction")                                                             \
	X(LCORE_DROPS, COUNTER, "triplane_lcore_dropped_packets", "packets",                                           \
	  "Packets that an lcore received and could not send")                                                         \
	X(LCORE_SLEEPS, COUNTER, "triplane_lcore_sleeps", "sleeps", "Times that an lcore slept")

enum metric_id {
#define METRIC_ID(id, type, name, unit, help) M_##id,
	METRIC_FAMILIES(METRIC_ID)
#undef METRIC_ID
		METRICS
};

struct metric_family {
	const char *name, *unit, *help;
	enum metric_type type;
};

extern const struct metric_family metric_families[METRICS];

/* A member of a page. '#' in a key stands for a number, which becomes the label that is named by number. */
struct metric_row {
	const char *key;
	enum metric_id id;
	const char *label[4]; /* up to two names with their values */
	const char *number;
	double scale;    /* 0: as it is */
	const char *yes; /* of a text: 1 when it is this one, else 0 */
};

/* Where the parameters of a page come from. */
enum metric_each {
	EACH_NONE, /* there are none */
	EACH_LIST, /* one page for each that the page list has */
	EACH_RX,
	EACH_TX, /* "port,queue" for each queue of each port in list */
};

struct metric_page {
	const char *cmd, *list;
	enum metric_each each;
	const char *label; /* of what the list has */
	const struct metric_row *rows;
	unsigned int num_rows;
	enum metric_id
		other; /* other whole numbers become samples of it with the label other_label, unless that is NULL */
	const char *other_label;
	enum metric_id info; /* texts and numbers of this page become labels of one sample, unless info_keys is NULL */
	const char *const *info_keys;
};

extern const struct metric_page metric_pages[];
extern const unsigned int metric_num_pages;
/* Rows of extended statistics, from whichever page. */
extern const struct metric_page metric_xstats;

/* The row of a member; *number: where '#' began in the key, its length in *len. NULL: there is none. */
const struct metric_row *metric_row_of(const struct metric_page *page, const char *key, const char **number, int *len);

#endif /* METRICS_TABLE_H */
