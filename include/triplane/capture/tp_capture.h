/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Captures of Ethernet ports of any driver: what passes their queues goes to a pcapng file that Wireshark opens, or to a
 * ring in memory that keeps the last packets and is read when it is wanted. A port may have one capture of each kind.
 *
 * Threads that poll the port copy packets into a ring, by callbacks of ethdev that exist only while a capture runs; they never
 * wait. A thread of the capture writes the file. What finds no room is counted, in the file as well.
 *
 * Packets are seen as the program has them: on reception after the driver, and on transmission before it. So checksums and
 * segments that are left to the card are not yet made, and what a full transmit ring refused is in the file, too. A VLAN tag
 * that is beside the packet is put into the copy.
 *
 * All functions are for control threads, any of them. The port must not be closed while one of them runs.
 */
#ifndef TP_CAPTURE_H
#define TP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_CAPTURE_ERR 512u             /**< room of a line of refusal */
#define TP_CAPTURE_TEXT 512u            /**< room of a path, and of a filter, with its end */
#define TP_CAPTURE_WORDS 1200u          /**< room of all words of a capture, with their end */
#define TP_CAPTURE_ALL UINT16_MAX       /**< of queues */
#define TP_CAPTURE_OCTETS_MIN 64u       /**< of a packet that are kept */
#define TP_CAPTURE_OCTETS_MAX 65536u    /**< of a packet that are kept */
#define TP_CAPTURE_PACKETS_MIN 64u      /**< that wait */
#define TP_CAPTURE_PACKETS_MAX 1048576u /**< that wait */

enum tp_capture_kind {
	TP_CAPTURE_FILE,   /**< packets go to a file */
	TP_CAPTURE_MEMORY, /**< the last packets are kept until tp_capture_collect() */
	TP_CAPTURE_KINDS
};

/** Directions, as bits. */
enum tp_capture_direction { TP_CAPTURE_IN = 1, TP_CAPTURE_OUT = 2, TP_CAPTURE_BOTH = 3 };

/** What is captured, and how. tp_capture_conf_default() fills it. */
struct tp_capture_conf {
	char file[TP_CAPTURE_TEXT];   /**< that is made, or overwritten; "" of memory */
	char filter[TP_CAPTURE_TEXT]; /**< of libpcap's language (pcap-filter(7)); "": all packets */
	uint8_t direction;            /**< enum tp_capture_direction */
	bool no_rss;                  /**< only what was received without an RSS hash; direction is TP_CAPTURE_IN */
	uint16_t queue;               /**< of each direction; TP_CAPTURE_ALL */
	uint32_t snap;    /**< octets of a packet that are kept, 64..65536; 0: as many as the ring has room for */
	uint32_t octets;  /**< room for a packet, 64..65536; 0: the port's largest frame now */
	uint32_t packets; /**< that the ring has room for, a power of two, 64..1048576 */
};

/** File: both directions, all queues, 4096 packets. Memory: what is received without a hash, 1024 packets of 128 octets. */
void tp_capture_conf_default(enum tp_capture_kind kind, struct tp_capture_conf *conf);

/**
 * Reads words: FILE (of a file; a path with a / in it) and then any of "direction in|out|both", "queue N|all", "rss any|none", "snap OCTETS",
 * "ring OCTETS*PACKETS", and at last "filter EXPRESSION". Of memory, "on" alone is the default.
 * @param[out] err one line, when they are wrong
 * @return 0, -EINVAL
 */
int tp_capture_conf_parse(enum tp_capture_kind kind, const char *words, struct tp_capture_conf *conf,
			  char err[TP_CAPTURE_ERR]);
/** The other way round: the words that are not defaults. */
void tp_capture_conf_text(enum tp_capture_kind kind, const struct tp_capture_conf *conf, char words[TP_CAPTURE_WORDS]);

struct tp_capture_stats {
	uint64_t seen;     /**< packets of these queues and directions */
	uint64_t filtered; /**< of these, that the filter left out */
	uint64_t packets;  /**< that are in the file, or have been put into memory */
	uint64_t octets;   /**< of these that were kept */
	uint64_t lost;     /**< that found no room, or could not be written */
};

struct tp_capture_info {
	bool running;
	bool card_time;              /**< received packets have the time of the card's clock */
	int error;                   /**< of the file, an errno: nothing was written since. 0: none */
	struct tp_capture_conf conf; /**< as it was asked for */
	uint32_t octets;             /**< of a packet that are kept at most */
	struct tp_capture_stats stats;
};

/**
 * Begins a capture, also while packets flow. The queues that the port has are looked at; see tp_capture_refresh().
 * @return 0, or a negative errno with a line in err: ENODEV no such port; EINVAL a value, the filter, or the port is not
 *   configured; EBUSY one of this kind runs, or another one writes to the file; ENOMEM; or what open() says
 */
int tp_capture_start(uint16_t port, enum tp_capture_kind kind, const struct tp_capture_conf *conf,
		     char err[TP_CAPTURE_ERR]);

/**
 * Ends it. A file is complete when this returns; what is in memory stays until the next start.
 * @param[out] stats NULL: not wanted
 * @return 0; -ENOENT none runs; a negative errno with a line in err: not all packets could be written
 */
int tp_capture_stop(uint16_t port, enum tp_capture_kind kind, struct tp_capture_stats *stats, char err[TP_CAPTURE_ERR]);

/** @return 0; -ENOENT: the port has no capture of this kind, and nothing in memory. */
int tp_capture_info_get(uint16_t port, enum tp_capture_kind kind, struct tp_capture_info *info);

/**
 * Writes what is in memory to a file, while the capture runs or after it.
 * @param[out] packets that were written, NULL: not wanted
 * @return 0; -ENOENT nothing was captured; or a negative errno with a line in err
 */
int tp_capture_collect(uint16_t port, const char *file, uint64_t *packets, char err[TP_CAPTURE_ERR]);

/** The port was configured: captures of all its queues see the new ones, too. Nobody polls it. */
void tp_capture_refresh(uint16_t port);

/** The port goes: ends its captures. Nobody polls it. */
void tp_capture_forget(uint16_t port);

/** No thread is in a burst of any port: frees what those might have looked at when captures ended. */
void tp_capture_quiet(void);

#ifdef __cplusplus
}
#endif

#endif /* TP_CAPTURE_H */
