/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The switch from the inside. Its lock covers everything here; functions of this header are called with it held.
 *
 *   switch.c        life, names, ports, settings
 *   switch_in.c     ingress: priority, addresses, where to
 *   switch_buf.c    the buffer: charging, dropping, pause thresholds
 *   switch_cn.c     congestion notification to sources of frames (802.1Qau)
 *   switch_out.c    egress: scheduler and pacing
 *   switch_pause.c  pause frames, both ways
 *   switch_mac.c    the address table
 *   switch_words.c  settings as text
 *   switch_stats.c  counters
 *   switch_wire.c   the wire between a card and a port
 */
#ifndef MODEL_FABRIC_ETH_SWITCH_H
#define MODEL_FABRIC_ETH_SWITCH_H

#include <pthread.h>

#include "lib/roce/cc/qau.h"
#include "model/frame/frame.h"
#include "tp_switch.h"

/* Preamble, start delimiter and gap of a frame on a link, and its FCS (IEEE 802.3, 1 and 4.4) */
#define SW_LINE_OVERHEAD 24u
#define SW_FCS 4u
#define SW_PAUSE_LEN 60u
#define SW_PAUSE_QUANTUM_BITS 512u
#define SW_UNPACED_MBPS 40000u /* whose bit times pause quanta are on a port without a rate */
#define SW_HEAD 64u            /* bytes of a frame that are looked at */
#define SW_CLASSES 3u          /* sizes of buffers */
#define SW_COST_SHIFT 10u      /* picoseconds per byte are kept with so many more bits */
#define SW_CREDIT_BYTES 16384u /* that a class with a rate may catch up */

enum sw_charge { SW_RESERVE, SW_SHARED, SW_HEADROOM };

struct sw_buf {
	struct sw_buf *next;
	struct tp_frame_seg seg; /* for who takes it */
	uint64_t at_ps, seq;     /* when it came; order of all frames */
	uint32_t len;
	uint8_t in; /* index of the ingress port */
	uint8_t prio;
	uint8_t tc;     /* class that it is charged to */
	uint8_t charge; /* enum sw_charge */
	uint8_t size_class;
	uint8_t data[];
};

struct sw_list {
	struct sw_buf *head, *tail;
};

/* What came by a port in a priority and waits somewhere. */
struct sw_ingress {
	uint32_t bytes, headroom; /* bytes: with headroom */
	bool xoff;
	uint64_t xoff_ps; /* since when */
};

struct sw_class {
	uint32_t bytes, reserve, shared; /* charged to it */
	uint8_t prios;                   /* that are mapped to it */
	bool strict;
	uint64_t tag;       /* start tag of its next frame (start-time fair queueing) */
	uint32_t tag_cost;  /* per byte: the inverse of the weight */
	uint64_t rate_cost; /* ps per byte << SW_COST_SHIFT, 0: no limit */
	uint64_t next_ps;   /* by its rate */
	uint64_t credit_ps;
};

struct tp_switch_port {
	struct tp_switch *sw;
	uint8_t index;
	bool link;
	struct tp_switch_port_config cfg;
	/* egress */
	uint8_t busy; /* bit n: something waits in priority n */
	struct sw_list q[TP_SWITCH_PRIOS];
	struct sw_class tc[TP_SWITCH_PRIOS];
	uint64_t virtual_time;  /* start tag of the last frame with a share */
	uint64_t line_cost;     /* ps per byte << SW_COST_SHIFT, 0: not paced */
	uint64_t free_ps;       /* the line is busy until then */
	struct sw_buf *current; /* on the line */
	struct sw_list given;   /* with who took them last */
	/* pause */
	uint64_t quantum_ps;
	uint64_t paused_until[TP_SWITCH_PRIOS], paused_since[TP_SWITCH_PRIOS];
	uint8_t paused;     /* bit n: paused_until[n] was in the future when last looked at */
	uint8_t told;       /* priorities that the sender was told to pause */
	uint64_t repeat_ps; /* when it is told again */
	bool pause_due;     /* something to tell */
	uint64_t rx_pause_ps[TP_SWITCH_PRIOS], tx_pause_ps[TP_SWITCH_PRIOS]; /* of pauses that ended */
	uint8_t pause_frame[SW_PAUSE_LEN];
	struct tp_frame_seg pause_seg;
	/* ingress */
	struct sw_ingress in[TP_SWITCH_PRIOS];
	uint64_t out_bytes[TP_SWITCH_PRIOS], out_frames[TP_SWITCH_PRIOS]; /* what waits to leave */
	struct tqau_cp cn[TP_SWITCH_PRIOS];
	struct tp_switch_port_stats st;
};

#define SW_MAC_NONE UINT32_MAX
struct sw_mac {
	uint64_t key; /* VID << 48 | address */
	uint64_t ports;
	uint64_t seen_ps;
	uint32_t next;
	bool fixed;
};
struct sw_mac_table {
	struct sw_mac *entry;
	uint32_t *bucket;
	uint32_t mask, size, free;
	uint64_t sweep_ps;
};

struct tp_switch {
	pthread_mutex_t lock;
	char name[TP_SWITCH_NAME];
	struct tp_switch_config cfg;
	struct tp_switch *next; /* in the list of all */
	uint32_t refs;          /* handles and ports; under the list's lock */
	struct tp_switch_port *port[TP_SWITCH_PORTS];
	uint64_t up;                       /* bit n: port n + 1 has a link */
	uint64_t changed;                  /* likewise: next_ps may be another than when it was looked at */
	uint64_t timed;                    /* likewise: next_ps is a time */
	uint64_t next_ps[TP_SWITCH_PORTS]; /* when each gives a frame, for tp_switch_next() */
	uint32_t num_ports;
	bool started;
	uint64_t base_ns, now_ps;
	uint64_t seq, rng;
	/* buffer */
	uint64_t shared_size, alpha; /* alpha: with 10 more bits */
	uint64_t used, shared_used, reserve_used, headroom_used, queued;
	struct sw_buf *spare[SW_CLASSES];
	struct sw_mac_table macs;
	struct tp_switch_stats st;
};

/* What ingress found out about a frame. */
struct sw_key {
	uint64_t dst, src; /* addresses as numbers */
	uint16_t vid, etype;
	uint8_t prio;
	uint8_t l3;   /* offset of an IPv4 or IPv6 header, 0: none */
	uint8_t cn;   /* offset of a CN-TAG, 0: none */
	uint8_t msdu; /* offset of the type behind all tags */
};

/* switch.c */
int sw_config_apply(struct tp_switch *sw, const struct tp_switch_config *cfg, char err[TP_SWITCH_TEXT]);
int sw_port_config_apply(struct tp_switch_port *p, const struct tp_switch_port_config *cfg, char err[TP_SWITCH_TEXT]);
/* Time as given, from the first call on. Picoseconds of 64 bits last for 213 days. */
void sw_time(struct tp_switch *sw, uint64_t now_ns);

/* switch_buf.c */
/* Sizes of the pools by settings and ports; -ENOSPC with a line when they do not fit. */
int sw_pools(const struct tp_switch_config *cfg, uint32_t ports, uint64_t *shared, char err[TP_SWITCH_TEXT]);
/* A copy of the frame in a queue of the port, or a drop that is counted. */
void sw_enqueue(struct tp_switch_port *in, struct tp_switch_port *out, const struct tp_frame *f,
		const struct sw_key *k);
/* The buffer's bytes are free again; pause ends where it may. */
void sw_uncharge(struct tp_switch *sw, struct tp_switch_port *out, const struct sw_buf *b);
void sw_buf_free(struct tp_switch *sw, struct sw_buf *b);
/* Drops all that waits at a port. */
void sw_flush(struct tp_switch_port *p, enum tp_switch_drop why);
void sw_buf_fini(struct tp_switch *sw);

/* switch_cn.c */
/* A frame that came by the port in waits at out: its source may have to hear that it is too fast. */
void sw_cn_frame(struct tp_switch_port *in, struct tp_switch_port *out, const struct sw_buf *b, const struct sw_key *k);
void sw_own_mac(const struct tp_switch_port *p, uint8_t mac[TPM_ETH_ALEN]);

/* switch_out.c */
void sw_port_rates(struct tp_switch_port *p);

/* switch_pause.c */
void sw_pause_receive(struct tp_switch_port *p, const uint8_t *h, uint32_t len);
void sw_pause_link(struct tp_switch_port *p);
/* Ends pauses whose time is over at t_ps. */
void sw_pause_expire(struct tp_switch_port *p, uint64_t t_ps);
/* Builds the frame that the port owes its sender; false: none. */
bool sw_pause_due(struct tp_switch_port *p, struct tp_frame *f);
void sw_xoff(struct tp_switch_port *p, unsigned int prio);
void sw_xon(struct tp_switch_port *p, unsigned int prio);
enum tp_switch_flow sw_flow(const struct tp_switch_port *p);

/* switch_mac.c */
int sw_mac_init(struct sw_mac_table *t, uint32_t size);
void sw_mac_fini(struct sw_mac_table *t);
void sw_mac_learn(struct tp_switch *sw, uint64_t key, unsigned int index);
uint64_t sw_mac_find(struct tp_switch *sw, uint64_t key);
/* Forgets what was learnt of a port; fixed: also what was set. */
void sw_mac_forget(struct tp_switch *sw, unsigned int index, bool fixed);
void sw_mac_age(struct tp_switch *sw);

static inline uint64_t
sw_mac_key(uint16_t vid, uint64_t mac)
{
	return (uint64_t)vid << 48 | mac;
}

static inline uint64_t
sw_load48(const uint8_t *p)
{
	return (uint64_t)tpm_load16(p) << 32 | (uint64_t)tpm_load16(p + 2) << 16 | tpm_load16(p + 4);
}

/* What a port has to send, or when it may, is not as before. */
static inline void
sw_changed(const struct tp_switch_port *p)
{
	p->sw->changed |= UINT64_C(1) << p->index;
}

static inline void
sw_append(struct sw_list *l, struct sw_buf *b)
{
	b->next = NULL;
	if (l->tail != NULL)
		l->tail->next = b;
	else
		l->head = b;
	l->tail = b;
}

#endif /* MODEL_FABRIC_ETH_SWITCH_H */
