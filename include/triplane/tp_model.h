/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * A ConnectX-3 / ConnectX-3 Pro in software.
 *
 * The model implements the device side of the programming reference: configuration space, BAR0, UAR pages, firmware
 * commands, queues, ports. It knows no driver. Software reaches it only through what a real card offers: register
 * accesses, doorbells in the UAR memory, DMA to windows that were opened for it, and interrupts.
 *
 * Threads: every function takes the card's own lock unless its comment says otherwise, so calls may come from any
 * thread. One runner at a time moves the card's queues: the caller (tp_model_step), the card's own thread
 * (tp_model_thread_start), a loop of somebody else's that calls tp_model_step, or who polls the card's rings (tp_model_poll).
 *
 * Errors are negative errno values.
 */
#ifndef TP_MODEL_H
#define TP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_MODEL_PORTS 2

struct tp_model;
struct tp_wire;

enum tp_port_type {
	TP_PORT_ETH,
	TP_PORT_IB,
	TP_PORT_AUTO, /**< can be both: SET_PORT decides */
};

/** What SENSE_PORT reports of a plugged cable of a port that can be both. */
enum tp_sense {
	TP_SENSE_WIRE, /**< what the far end of its wire speaks; nothing when that has not decided either */
	TP_SENSE_NONE,
	TP_SENSE_ETH,
	TP_SENSE_IB,
};

/** Speeds of an InfiniBand link of four lanes, with the signalling rate of a lane [IBA 5.1]. */
enum tp_ib_speed {
	TP_IB_SPEED_DEFAULT, /**< QDR */
	TP_IB_SDR,           /**< 2.5 Gb/s */
	TP_IB_DDR,           /**< 5 */
	TP_IB_QDR,           /**< 10 */
	TP_IB_FDR10,         /**< 10.3125, coded 64b/66b */
	TP_IB_FDR,           /**< 14.0625 */
};
/** sdr, ddr, qdr, fdr10 or fdr; TP_IB_SPEED_DEFAULT: none of them. */
enum tp_ib_speed tp_model_ib_speed(const char *word);

struct tp_model_config {
	uint16_t device_id; /**< MLX4_PCI_DEV_CX3 or MLX4_PCI_DEV_CX3_PRO */
	uint16_t fw_major, fw_minor, fw_subminor;
	uint64_t guid;     /**< node GUID G; ports G+1, G+2; system image G+3 */
	uint8_t num_ports; /**< 1..2 */
	enum tp_port_type port_type[TP_MODEL_PORTS];
	enum tp_sense sense[TP_MODEL_PORTS];
	bool stored_ib[TP_MODEL_PORTS]; /**< what QUERY_PORT suggests for a port that can be both; false: Ethernet */
	bool wol;                       /**< offers wake-on-LAN: set and told, nobody is woken */
	bool no_congestion;             /**< offers no congestion control (CONGESTION_CTRL) */
	uint16_t cmd_latency_reads;     /**< GO stays set for so many reads of the HCR (0: done at once) */
	/** The highest speed that an InfiniBand port trains at; it takes the highest that its partner and both managers enable. */
	enum tp_ib_speed ib_speed[TP_MODEL_PORTS];
	uint32_t rate_mbps[TP_MODEL_PORTS]; /**< what a port sends at most, 0: as fast as it can, ..TP_RATE_MAX_MBPS */
	/**
	 * Receive buffers of a port, in bytes with FCS: each lossless priority has one, all lossy ones share one, and under
	 * global pause there is one for all. TP_RXBUF_MIN..TP_RXBUF_MAX, 0: 524288. A lossless one that fills up to xoff
	 * (0: half) pauses the sender until it is down to xon (0: a quarter, xoff at most).
	 */
	uint32_t rxbuf_bytes, xoff_bytes, xon_bytes;
	/**
	 * What the card does otherwise than is assumed where sources are unsure: "F-12:b,F-40:b", of the table in
	 * docs/fidelity.md; NULL or "": nothing. Copied.
	 */
	const char *quirks;
	/**
	 * Congestion control of RoCE v2 that a port has stored, as an administrator put it into the card's flash:
	 * "prio:PRIO+.../NAME:VALUE/...", names as those of `roce cc`. It is on for these priorities, with these values, after each
	 * reset; another "prio:" begins others. ConnectX-3 Pro alone. NULL or "": none. Copied.
	 */
	const char *cc[TP_MODEL_PORTS];
};
#define TP_RATE_MAX_MBPS 100000u
#define TP_RXBUF_MIN 16384u
#define TP_RXBUF_DEFAULT 524288u
#define TP_RXBUF_MAX 16777216u

/** A word that cannot be stored, and what it could be. */
struct tp_model_cc_bad {
	char item[64], wanted[128];
};
/** Can a port store this, as a member of struct tp_model_config has it? 0, or -EINVAL and *bad. */
int tp_model_cc_check(const char *text, struct tp_model_cc_bad *bad);

/** Fills *cfg with the defaults: ConnectX-3 Pro, firmware 2.42.5000, two Ethernet ports, GUID 0x0002c90300a1b200. */
void tp_model_config_default(struct tp_model_config *cfg);

/**
 * Makes a card in its power-on state. Returns 0, -EINVAL (a field out of range; the reason goes to the log) or
 * -ENOMEM.
 */
int tp_model_create(const struct tp_model_config *cfg, struct tp_model **out);

/** Stops the card's thread if it runs and frees everything. Wires are destroyed with it. */
void tp_model_destroy(struct tp_model *m);

/* --- what a host sees of the card ------------------------------------------------------------------------- */

/** Configuration space, little-endian as PCI defines it; off + len <= 4096. */
int tp_model_cfg_read(struct tp_model *m, uint32_t off, void *buf, uint32_t len);
int tp_model_cfg_write(struct tp_model *m, uint32_t off, const void *buf, uint32_t len);

/**
 * BAR0 dword accesses; off is a multiple of 4 below MLX4_BAR0_SIZE. The value is the number that the big-endian
 * dword holds. A read may have side effects (semaphores). An access outside reads 0xffffffff and is a violation.
 */
uint32_t tp_model_bar0_read32(struct tp_model *m, uint32_t off);
void tp_model_bar0_write32(struct tp_model *m, uint32_t off, uint32_t val);

/**
 * BAR2 as plain memory that the card polls: UAR pages, then as many BlueFlame pages. Writers are exact as long as
 * one queue at a time writes a page's doorbell words. Not locked.
 */
void *tp_model_uar(struct tp_model *m, size_t *len);
/** The same memory as a file, for a driver in another process. Stays the card's. */
int tp_model_uar_fd(struct tp_model *m);
/**
 * UAR page `page` is, from now on, what file fd has at the place that the page has in this memory: who has that file, and not the
 * card's, writes doorbells into this page and no other. fd -1: it is the card's own again. Pages of event queues stay the card's.
 * The descriptor stays the caller's. 0, -EINVAL: no such page; what mmap(2) says.
 */
int tp_model_uar_lend(struct tp_model *m, uint32_t page, int fd);

/** A doorbell write that arrives as a message: exact for any sharing of pages. len is 4, 8, or a BlueFlame copy. */
int tp_model_uar_write(struct tp_model *m, uint32_t off, const void *buf, uint32_t len);

/** DMA windows, as an IOMMU would open them. prot: 1 the card may read, 2 it may write. Windows may not overlap. */
#define TP_DMA_READ 1u
#define TP_DMA_WRITE 2u
int tp_model_dma_map(struct tp_model *m, uint64_t iova, uint64_t len, void *host, uint32_t prot);
/** Closes what is open in [iova, iova + len). After the return the card does not touch that memory any more. */
int tp_model_dma_unmap(struct tp_model *m, uint64_t iova, uint64_t len);

/** MSI-X: signals the eventfd when the vector fires; fd -1 disconnects. Returns -EINVAL for a vector >= 128. */
int tp_model_irq_set(struct tp_model *m, uint32_t vector, int fd);

/** Function-level reset: as a write of the reset register. */
void tp_model_reset(struct tp_model *m);

/* --- running ---------------------------------------------------------------------------------------------- */

/**
 * One round over doorbells, queues, wires and timers. Returns the number of things done (0: idle). budget bounds the
 * frames moved per queue and round.
 */
unsigned int tp_model_step(struct tp_model *m, unsigned int budget);

/**
 * The same for who polls rings of the card and runs it, too: does not wait, and does nothing while another thread has the card.
 * While such calls come often, four in a millisecond or more, a thread of the card (tp_model_thread_start) stands back; it takes
 * over again within 1 ms (or wake_max_us, if that is less) after they ended.
 */
unsigned int tp_model_poll(struct tp_model *m, unsigned int budget);
/** The caller polls no more for a while: a thread of the card takes over now, and does not sleep on. Any thread; takes no lock. */
void tp_model_wake(struct tp_model *m);
/**
 * The caller is about to ring a doorbell: a thread of the card that sleeps for long gets up meanwhile, so that the doorbell does not
 * have to wake it. Cheap while the card is awake. Any thread; waits for no lock of the card.
 */
void tp_model_rouse(struct tp_model *m);

/**
 * Doorbells that this process writes wake a card that sleeps: uar is where it has mapped the file of tp_model_uar_fd(), as a
 * whole. Before tp_model_thread_start(). What other processes write is seen when the sleep ends. 0, -EBUSY, or what
 * userfaultfd(2) says, which not every kernel offers: then every doorbell waits for the end of the sleep.
 */
int tp_model_watch(struct tp_model *m, void *uar);
/** No more; before a part of that mapping is replaced or unmapped. Any thread. */
void tp_model_unwatch(struct tp_model *m);

/** Virtual time: the card's clock shows what was set here instead of the monotonic clock. */
void tp_model_set_time(struct tp_model *m, uint64_t ns);

/**
 * The card's own thread; cpu -1: not pinned. An idle card sleeps: wake_max_us bounds how late it sees a doorbell
 * after a quiet time (1..1000000). Returns -EBUSY when it runs already, -EINVAL, or what pthread_create says.
 */
int tp_model_thread_start(struct tp_model *m, int cpu, uint32_t wake_max_us);
void tp_model_thread_stop(struct tp_model *m);

/* --- wires ------------------------------------------------------------------------------------------------ */

/** A frame in flight: nseg pieces, len bytes without FCS. Pieces are valid during the call only. */
#define TP_FRAME_SEGS 64
struct tp_frame_seg {
	const uint8_t *data;
	uint32_t len;
};
struct tp_frame {
	struct tp_frame_seg *seg;
	uint16_t nseg;
	uint16_t flags; /**< TP_FRAME_* */
	uint32_t len;
};
#define TP_FRAME_BAD_FCS 1u /**< damaged on the wire */

/**
 * A wire's operations; called with the card's lock held, by the runner.
 * send: the port sends n frames; returns how many the wire took (the rest is lost and counted as wire drops).
 * poll: brings frames that arrived, by tp_model_port_receive; returns how many.
 * link: true when there is a partner.
 * carrier: the port's own end of the link came up or went down; may be absent.
 * train: an InfiniBand port offers speeds, bit n is enum tp_ib_speed n; returns those that the far end has enabled, too.
 * Absent: all. Called before carrier.
 * room: may a packet of len bytes in this virtual lane of an InfiniBand link be sent now? Absent: always.
 */
enum tp_wire_media {
	TP_WIRE_ANY, /**< whatever its ends speak */
	TP_WIRE_ETH,
	TP_WIRE_IB, /**< packets from the LRH through the VCRC */
};
struct tp_wire_ops {
	const char *name;
	enum tp_wire_media media; /**< a port that speaks another has no link */
	unsigned int (*send)(struct tp_wire *w, const struct tp_frame *f, unsigned int n);
	unsigned int (*poll)(struct tp_wire *w, struct tp_model *m, unsigned int port, unsigned int budget);
	bool (*link)(struct tp_wire *w);
	void (*carrier)(struct tp_wire *w, bool up);
	uint32_t (*train)(struct tp_wire *w, uint32_t speeds);
	bool (*room)(struct tp_wire *w, uint8_t vl, uint32_t len);
	void (*destroy)(struct tp_wire *w);
};
struct tp_wire {
	const struct tp_wire_ops *ops;
};

/**
 * Built-in wires, attached to port 1..2. loopback: what the port sends it receives. cross: to the card's other port
 * (both ports are attached at once). none: no partner, link down.
 */
int tp_model_wire_loopback(struct tp_model *m, unsigned int port);
int tp_model_wire_cross(struct tp_model *m);
int tp_model_wire_none(struct tp_model *m, unsigned int port);
/** Any other wire; the card owns it from now on and destroys it with the port's next wire. */
int tp_model_wire_attach(struct tp_model *m, unsigned int port, struct tp_wire *w);

/** For wires: frames arrive at the port. Called by the runner from poll. Returns how many the port took in. */
unsigned int tp_model_port_receive(struct tp_model *m, unsigned int port, const struct tp_frame *f, unsigned int n);

/**
 * Seeded impairment of what arrives at a port; probabilities in parts per million, 0..1000000. corrupt: a wrong bit. symbol:
 * octets that are none, which the line's code shows (PCS error). short: the sender's frame is shorter than 64 octets, and its
 * FCS is that of these. The last two are an Ethernet port's; to an InfiniBand port such a packet is a damaged one.
 */
struct tp_impair {
	uint32_t drop_ppm, corrupt_ppm, dup_ppm, reorder_ppm, symbol_ppm, short_ppm;
	uint32_t delay_us; /**< 0..10000000 */
	uint64_t seed;
};
int tp_model_impair(struct tp_model *m, unsigned int port, const struct tp_impair *imp);

/** Plugs the cable of a port in or out, whatever the wire says. */
int tp_model_cable(struct tp_model *m, unsigned int port, bool plugged);
/** Plugs one in that the card does not support: it says so by an event, and there is no link until another one is plugged in. */
int tp_model_cable_unsupported(struct tp_model *m, unsigned int port);
/**
 * Lets the peer of an Ethernet port offer one speed in autonegotiation: 100, 1000, 10000, 20000, 40000 or 56000 Mb/s. There is no
 * link while the port has no speed in common with it. 0: the peer has whatever the port has, as at the start.
 */
int tp_model_peer_speed(struct tp_model *m, unsigned int port, uint32_t mbps);

/* --- faults ----------------------------------------------------------------------------------------------- */

enum tp_fault {
	TP_FAULT_STATUS,  /**< the command ends with a status */
	TP_FAULT_TIMEOUT, /**< the command never ends: GO stays set */
	TP_FAULT_CATAS,   /**< the card reports a catastrophic error when the command arrives */
	TP_FAULT_RUBBISH, /**< the command does what it should and answers at random, with status OK */
	TP_FAULT_SLOW,    /**< the whole card stands still for a while, then the command ends as it should */
};
/**
 * The nth (from 1; 0 disarms) command with this opcode (0: any opcode) from now on fails. status: a command status
 * 1..255, for TP_FAULT_STATUS; the seed, for TP_FAULT_RUBBISH; hundredths of a second, for TP_FAULT_SLOW.
 */
int tp_model_fault(struct tp_model *m, enum tp_fault kind, uint16_t opcode, uint32_t nth, uint8_t status);

/** What a card that answers its commands does no more. */
enum tp_break {
	TP_BREAK_SQ,  /**< the send queue that gets the port's nth doorbell executes nothing until it is reset */
	TP_BREAK_CQE, /**< the port's nth completion of a send is not written */
	TP_BREAK_IRQ, /**< of the card's nth event that is no command's end no interrupt tells; it is in its queue */
	TP_BREAKS
};
/**
 * Counted from now on; nth 0 disarms. Each hits once.
 * @param port 1..2; of TP_BREAK_IRQ any
 * @return 0, -EINVAL (what, port)
 */
int tp_model_break(struct tp_model *m, enum tp_break what, unsigned int port, uint32_t nth);

/* --- watching --------------------------------------------------------------------------------------------- */

/**
 * Rules of the programming interface that software broke, by stable name. A violation is what a card answers with an error,
 * silence or wrong data. Advice is what the reference asks for and a card does without, as it does for a shipping driver.
 */
enum tp_rule_class {
	TP_RULE_VIOLATION,
	TP_RULE_ADVICE,
};
unsigned int tp_model_violation_count(void);         /**< number of rules known, of both classes */
const char *tp_model_violation_name(unsigned int i); /**< such as "wqe-lkey-invalid"; NULL: no such rule */
const char *tp_model_violation_text(unsigned int i); /**< one line: what the rule asks for; NULL: no such rule */
enum tp_rule_class tp_model_violation_class(unsigned int i);
uint64_t tp_model_violations(struct tp_model *m, unsigned int i); /**< how often rule i was broken */
uint64_t tp_model_violations_total(struct tp_model *m);           /**< all violations, without advice */
uint64_t tp_model_advice_total(struct tp_model *m);               /**< how often advice was not followed */
/** Text of the last violation, or of the last advice, with object and values; "" when there was none. */
void tp_model_last_violation(struct tp_model *m, char *buf, size_t len);
void tp_model_last_advice(struct tp_model *m, char *buf, size_t len);
int tp_model_violation_by_name(const char *name); /**< index or -1 */

/** Every broken rule and notable event as a line; NULL: silent. Called with the card's lock held. */
enum tp_model_line {
	TP_LINE_NOTE,
	TP_LINE_VIOLATION,
	TP_LINE_ADVICE,
};
typedef void (*tp_model_log_fn)(void *arg, enum tp_model_line kind, const char *line);
void tp_model_set_log(struct tp_model *m, tp_model_log_fn fn, void *arg);

/**
 * Every command with its mailboxes, in dumps of four dwords a line, so that traces of two drivers can be compared, and the first 16
 * entries of each ring (docs/traces.md); NULL: off. The stream stays the caller's.
 */
void tp_model_trace(struct tp_model *m, FILE *f);

/**
 * The firmware answers as a recorded one did (docs/traces.md): what a card says about itself (QUERY_FW, QUERY_DEV_CAP,
 * QUERY_ADAPTER, QUERY_PORT, QUERY_FUNC) comes out of the file, the next answer to the same question each time and the last one
 * again behind it, and what was refused there is refused. All else is the card's own. Returns 0, or a negative errno with the
 * reason in err.
 */
int tp_model_replay(struct tp_model *m, const char *path, char err[256]);
/** How many commands were answered so since the card was made, and how many questions about itself the recording does not have. */
void tp_model_replay_count(struct tp_model *m, uint64_t *answered, uint64_t *unknown);

struct tp_model_stats {
	uint64_t commands, commands_failed, events, interrupts, doorbells, bf_doorbells, steps, idle_steps, sleeps;
	uint64_t icm_pages, fw_pages, aux_pages, dma_windows, dma_bytes_mapped;
	uint64_t watch_arms,
		watch_wakes; /* times that doorbells were made to end a sleep (tp_model_watch), and that they did, or tp_model_rouse() */
	uint32_t qps, cqs, eqs, mpts, rules;
	struct {
		uint64_t tx_frames, tx_bytes, rx_frames, rx_bytes;
		uint64_t tx_ip_sums, tx_l4_sums; /**< frames whose checksum the card made; segments one by one */
		uint64_t wire_drops, impair_drops, impair_corrupts, impair_dups, impair_reorders;
		uint64_t rx_no_rule, rx_vlan_filtered, rx_no_wqe, rx_too_long, rx_bad_fcs, rx_link_down;
		uint64_t tx_no_transport;  /**< sends of an InfiniBand port, or back into it: nobody is there */
		uint64_t roce_tx, roce_rx; /**< packets of the transport */
		uint64_t roce_bad_icrc, roce_no_qp, roce_no_gid, roce_malformed; /**< ... that were dropped */
		const char *wire;
		uint32_t beacon_s; /**< seconds that the light was told to blink */
		bool link_up;
	} port[TP_MODEL_PORTS];
};
void tp_model_get_stats(struct tp_model *m, struct tp_model_stats *st);

/**
 * Quality of service of port 1..2. Masks: bit n is priority n. Times are in us. The frames of a global pause are counted
 * at priority 0, as the card's own counters do.
 */
struct tp_model_qos {
	bool tx_managed;        /**< the scheduler is at work: a class, a rate or a pause asks for it */
	uint8_t tx_paused;      /**< priorities that a received pause holds back */
	uint32_t tx_queues[8];  /**< queues with work of each priority, as far as the scheduler has them */
	uint8_t rx_paused;      /**< priorities for which the port paused its peer */
	uint32_t rx_waiting[8]; /**< frames that wait for a receive WQE, or behind others that do */
	uint32_t rx_lossless_fill[8],
		rx_lossy_fill;   /**< bytes that they take; under global pause all are in the first */
	uint64_t rx_overflow[8]; /**< frames that found their buffer full */
	struct {
		uint64_t frames, paused_us, transitions;
	} rx_pause[8], tx_pause[8];
};
/** -EINVAL: no such port. */
int tp_model_get_qos(struct tp_model *m, unsigned int port, struct tp_model_qos *q);

/** Congestion control of RoCE v2, of a priority: what its two points counted since the reset, and what is limited now. */
struct tp_model_cc {
	uint32_t marked, cnps_sent; /**< marked packets that were answered for, CNPs that answered them */
	uint64_t marks_ignored;
	uint32_t cnps_handled, cnps_ignored; /**< CNPs that limited a queue pair, and others */
	uint32_t limited_qps;
	uint64_t limited_mbps; /**< of all of them together */
};
/** cc: of each priority. -EINVAL: no such port. */
int tp_model_get_cc(struct tp_model *m, unsigned int port, struct tp_model_cc cc[8]);

/** How often each command was executed: writes "NAME count" pairs through fn. */
void tp_model_each_command(struct tp_model *m, void (*fn)(void *arg, const char *name, uint64_t count), void *arg);

#ifdef __cplusplus
}
#endif

#endif /* TP_MODEL_H */
