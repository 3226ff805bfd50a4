/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the path to the peer can take: how much at a time, in packets of which size, how long it is. */
#ifndef TCP_PATH_PATH_H
#define TCP_PATH_PATH_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_conn;
struct tcp_seg;
struct tcp_stack;
struct tcp_tseg;

/* --- cc.c: congestion control --- */
void tcp_cc_start(struct tcp_conn *c);
/* RFC 6928 */
uint32_t tcp_cc_initial(const struct tcp_conn *c);
/* rtt: us that the acknowledgement tells, 0: nothing. */
void tcp_cc_acked(struct tcp_conn *c, uint32_t bytes, uint32_t rtt);
/* Nothing was lost, but the window is as large as it should be: the first slow start is over. */
void tcp_cc_full(struct tcp_conn *c);
/* A loss, or a mark of ECN, of so many bytes that were out: sets ssthresh. */
void tcp_cc_loss(struct tcp_conn *c, uint32_t flight);

/* --- hystart.c: how the first slow start ends (RFC 9406) --- */
/* What cwnd grows by. */
uint32_t tcp_hystart(struct tcp_conn *c, uint32_t bytes, uint32_t rtt);

/* --- ecn.c (RFC 3168) --- */
/* What the peer's SYN says. */
void tcp_ecn_syn(struct tcp_conn *c, const struct tcp_seg *g);
/* The ECN field of new data follows the congestion control. */
void tcp_ecn_start(struct tcp_conn *c);
/* Data that is acceptable. */
void tcp_ecn_data(struct tcp_conn *c, const struct tcp_seg *g);
/* An acknowledgement of acked octets tells of a mark. */
void tcp_ecn_told(struct tcp_conn *c, uint32_t acked);

/* --- pmtu.c (RFC 1191, 4821) --- */
/* The path can take so much, and no more; false: that is nothing new. */
bool tcp_pmtu_told(struct tcp_conn *c, uint16_t mtu);
/* Nothing came through for so long: perhaps the packets are too large. */
void tcp_pmtu_timeout(struct tcp_conn *c);
/* The home told another MTU. */
void tcp_pmtu_path(struct tcp_conn *c, uint16_t mtu);
/* Tries a larger packet, if it is time and there is data for it; true: it waits for room, and new data with it. */
bool tcp_pmtu_probe(struct tcp_conn *c);
/* More was acknowledged, or t is lost, while a probe is out. */
void tcp_pmtu_acked(struct tcp_conn *c);
void tcp_pmtu_lost(struct tcp_conn *c, const struct tcp_tseg *t);
/* All that is lost is a probe. */
bool tcp_pmtu_alone(struct tcp_conn *c);

/* --- rtt.c --- */
void tcp_rtt_sample(struct tcp_conn *c, uint32_t us);
uint64_t tcp_rto(const struct tcp_conn *c);
/* That, but not beyond the user time-out (RFC 5482). */
uint64_t tcp_rtx_after(const struct tcp_conn *c);
/* The retransmission timer, or the tail probe's, from now on; or none. */
void tcp_rtx_arm(struct tcp_conn *c);
/* When the retransmission timer of what is out ends: it runs since the oldest was sent, or anything was acknowledged (6298 5). */
uint64_t tcp_rto_ends(const struct tcp_conn *c);
/* RFC 8985 7.2: how long after the last transmission the tail is probed, us, unless the former comes first. */
uint32_t tcp_probe_after(const struct tcp_conn *c);

/* --- icmp.c --- */
/* A packet of ICMP; the header of IP is whole. */
void tcp_icmp_input(struct tcp_stack *s, const struct tcp_seg *g);

#endif /* TCP_PATH_PATH_H */
