/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Plays a scene in virtual time. Switches are those of the card's model (tp_switch.h); hosts send RDMA WRITEs by RoCEv2 as
 * fast as congestion control, their line and pauses allow, and answer marked packets by CNPs.
 *
 *   sim.c     life, events, what is measured
 *   host.c    a host: its line, pauses, reaction and notification point
 *   net.c     switches, cables and the ways through them
 *   frame.c   the frames
 *   heap.c    events by time
 */
#ifndef FABRIC_SIM_H
#define FABRIC_SIM_H

#include "scene.h"
#include "tp_switch.h"

#define SIM_FRAME_MAX 4224u
#define SIM_NEVER UINT64_MAX
#define SIM_OVERHEAD 24u /* preamble, gap and FCS of a frame on a line */
#define SIM_PRIOS 8u

/* A frame on a cable that ends at a switch. */
struct sim_pkt {
	struct sim_pkt *next;
	uint32_t len;
	uint8_t data[SIM_FRAME_MAX];
};

enum sim_kind { SIM_HOST, SIM_SWITCH, SIM_TO_SWITCH, SIM_TO_HOST, SIM_SAMPLE, SIM_QUEUES };

struct sim_event {
	uint64_t at;
	uint32_t kind, what; /* index of a host, switch, port or flow */
	union {
		struct sim_pkt *pkt;
		struct {
			uint32_t flow;
			uint16_t bytes; /* payload */
			bool ce, cnp, good;
			uint8_t prio;
		} rx;
		uint16_t pause[SIM_PRIOS]; /* quanta + 1; 0: says nothing */
		struct {
			uint32_t flow;
			uint8_t fb;
		} cnm;
	} u;
	bool is_pause, is_cnm;
};

struct sim_key {
	uint64_t at, seq;
	uint32_t place; /* of the event */
};

struct sim_heap {
	struct sim_key *key;
	struct sim_event *e;
	uint32_t num, room;
	uint64_t seq;
};

/* A cable's end at a switch, and what is at its other one. */
struct sim_port {
	struct tp_switch_port *p;
	uint32_t sw;   /* index */
	uint32_t peer; /* index of a port or of a host */
	bool peer_host;
	uint32_t delay_ns;
	uint64_t next; /* when a frame leaves */
	/* measured */
	float *series;    /* bytes that wait, by sample */
	uint32_t *depths; /* of the window, by SIM_QUEUE_NS */
	uint32_t num_depths;
	uint64_t peak, pauses, marks, paused_ns;
	struct tp_switch_port_stats from, to;
};

struct sim_flow {
	const struct scene_flow *f;
	struct tcc_rp rp;
	struct tcc_np np;
	struct tqau_rp qau;
	uint64_t left; /* bytes of payload */
	uint32_t psn;
	uint8_t head[64];
	uint32_t hlen;
	/* measured */
	uint64_t rx_bytes, rx_before, rx_packets, rx_marked, rx_bad, tx_packets, cnps, cnps_ignored, from_bytes,
		to_bytes;
	uint64_t first_cnp, done;
	float *rate, *goodput; /* Gb/s by sample */
};

struct sim_cnp {
	uint32_t flow;
	struct sim_cnp *next;
};

struct sim_host {
	const struct scene_host *h;
	struct tcc_conf cc;
	struct tqau_conf qau;
	uint32_t port;            /* where it is plugged in */
	uint64_t line_free, wake; /* wake: when its event is due */
	uint64_t paused_until[SIM_PRIOS];
	uint64_t paused_ns;
	uint32_t *flow, num_flows, turn;
	struct sim_cnp *cnp, **cnp_tail;
};

struct sim {
	const struct scene *s;
	uint64_t now;
	struct sim_heap heap;
	struct tp_switch **sw;
	uint64_t *sw_due;
	uint32_t (*sw_port)[TP_SWITCH_PORTS]; /* index of each port of a switch, by its number less 1 */
	struct sim_port *port;
	uint32_t num_ports;
	struct sim_host *host;
	struct sim_flow *flow;
	struct sim_pkt *spare;
	uint32_t samples, sampled;
	float *pauses; /* frames that switches sent, by sample */
	uint64_t pauses_before;
	uint64_t frames, events;
	FILE *pcap;
};

#define SIM_QUEUE_NS 5000u

/* 0, or -1 with a line in err. pcap: what reaches hosts is written there, NULL: nowhere. */
int sim_init(struct sim *m, const struct scene *s, FILE *pcap, char err[SCENE_TEXT]);
/* 0, or -1: no memory. */
int sim_run(struct sim *m);
void sim_fini(struct sim *m);

/* heap.c */
int sim_push(struct sim *m, const struct sim_event *e);
bool sim_pop(struct sim *m, struct sim_event *e);

/* net.c */
int sim_net_init(struct sim *m, char err[SCENE_TEXT]);
void sim_net_fini(struct sim *m);
int sim_net_arrive(struct sim *m, uint32_t port, struct sim_pkt *pkt);
int sim_net_switch(struct sim *m, uint32_t sw);
struct sim_pkt *sim_pkt_get(struct sim *m);

/* host.c */
int sim_host_init(struct sim *m);
int sim_host_wake(struct sim *m, uint32_t host, uint64_t at);
int sim_host_send(struct sim *m, uint32_t host);
int sim_host_receive(struct sim *m, const struct sim_event *e);

/* frame.c */
void sim_frame_head(struct sim_flow *f, uint32_t index, bool ect);
uint32_t sim_frame_data(struct sim_flow *f, struct sim_pkt *pkt);
/* Puts a CN-TAG with this flow into a frame. */
uint32_t sim_frame_tag(struct sim_pkt *pkt, uint32_t flow);
uint8_t sim_cnp_prio(const struct sim *m, uint32_t flow);
uint32_t sim_frame_cnp(const struct sim *m, uint32_t flow, struct sim_pkt *pkt);
void sim_frame_mac(uint32_t host, uint8_t mac[6]);
/* What a frame is for its host; false: nothing of ours. */
bool sim_frame_read(const uint8_t *h, uint32_t len, struct sim_event *e);
void sim_pcap_open(FILE *f);
void sim_pcap_write(FILE *f, uint64_t now, const uint8_t *h, uint32_t len);

#endif /* FABRIC_SIM_H */
