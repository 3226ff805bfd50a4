/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a connection tells of itself, and its options. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tcp_priv.h"

int
tcp_state(const struct tcp_conn *c)
{
	return c->n.state;
}

void
tcp_addrs(const struct tcp_conn *c, struct tcp_addr *local, struct tcp_addr *remote)
{
	*local = (struct tcp_addr){c->n.laddr, c->n.lport};
	*remote = (struct tcp_addr){c->n.raddr, c->n.rport};
}

uint32_t
tcp_readable(const struct tcp_conn *c)
{
	return c->rcv_queued;
}

uint32_t
tcp_writable(const struct tcp_conn *c)
{
	return tcp_room(c);
}

void
tcp_info_get(const struct tcp_conn *c, struct tcp_info *info)
{
	const uint32_t mss = RTE_MAX(c->mss, (uint16_t)1);

	*info = (struct tcp_info){
		.tcpi_state = c->n.state,
		.tcpi_ca_state = c->phase == TCP_PH_OPEN   ? TCP_CA_Open
				 : c->phase == TCP_PH_LOSS ? TCP_CA_Loss
							   : TCP_CA_Recovery,
		.tcpi_retransmits = c->retries,
		.tcpi_probes = c->keep_sent,
		.tcpi_backoff = c->backoff,
		.tcpi_options = (uint8_t)((c->opt_ts ? TCPI_OPT_TIMESTAMPS : 0) | (c->opt_sack ? TCPI_OPT_SACK : 0) |
					  (c->opt_wscale ? TCPI_OPT_WSCALE : 0) | (c->opt_ecn ? TCPI_OPT_ECN : 0)),
		.tcpi_snd_wscale = c->snd_wscale,
		.tcpi_rcv_wscale = c->rcv_wscale,
		.tcpi_rto = (uint32_t)tcp_rto(c),
		.tcpi_ato = c->s->conf.delack_ms * 1000,
		.tcpi_snd_mss = c->mss,
		.tcpi_rcv_mss = c->mss,
		.tcpi_unacked = (tcp_flight(c) + mss - 1) / mss,
		.tcpi_sacked = (c->sacked + mss - 1) / mss,
		.tcpi_lost = (c->lost + mss - 1) / mss,
		.tcpi_last_data_recv = (uint32_t)((c->s->now - c->heard_us) / TCP_US_PER_MS),
		.tcpi_last_ack_recv = (uint32_t)((c->s->now - c->heard_us) / TCP_US_PER_MS),
		.tcpi_pmtu = c->mtu,
		.tcpi_rtt = c->srtt8 >> 3,
		.tcpi_rttvar = c->rttvar4 >> 2,
		.tcpi_snd_ssthresh = c->ssthresh / mss,
		.tcpi_snd_cwnd = c->cwnd / mss,
		.tcpi_advmss = tcp_mss_ours(c->mtu_path, c->mss_set),
		.tcpi_rcv_space = c->rcvbuf,
	};
}

/* How an option is kept. */
static int
set_flag(struct tcp_conn *c, int name, int value)
{
	if (value != 0 && value != 1)
		return -EINVAL;
	switch (name) {
	case TCP_NODELAY:
		c->nodelay = value;
		c->push = value != 0 &&
			  c->unsent != NULL; /* also what TCP_CORK and MSG_MORE hold back, as tcp(7) has it */
		break;
	case TCP_CORK: c->cork = value; break;
	default: c->quickack = value; break;
	}
	if (c->n.state != TCP_LISTEN)
		tcp_dirty(c);
	return 0;
}

static int
set_socket(struct tcp_conn *c, int name, int value)
{
	const bool buffer = value >= (int)TCP_BUF_MIN && value <= (int)TCP_BUF_MAX;

	switch (name) {
	case SO_KEEPALIVE:
		if (value != 0 && value != 1)
			return -EINVAL;
		c->keepalive = value;
		if (value != 0 && c->hashed && c->n.state >= TCP_ESTABLISHED && c->n.state != TCP_SYN_SENT)
			tcp_timer(c, TCP_T_KEEP, c->s->now + c->keep_idle_s * TCP_US_PER_S);
		return 0;
	case SO_SNDBUF:
		if (!buffer)
			return -EINVAL;
		c->sndbuf = (uint32_t)value;
		return 0;
	case SO_RCVBUF:
		if (!buffer)
			return -EINVAL;
		c->rcvbuf = (uint32_t)value;
		return 0;
	default: return -ENOPROTOOPT;
	}
}

static int
set_number(int value, int low, int high, void *to, size_t size)
{
	const uint32_t v = (uint32_t)value;

	if (value < low || value > high)
		return -EINVAL;
	memcpy(to, &v, size);
	return 0;
}

int
tcp_opt_set(struct tcp_conn *c, int level, int name, int value)
{
	int rc;

	if (level == SOL_SOCKET)
		return set_socket(c, name, value);
	if (level != IPPROTO_TCP)
		return -ENOPROTOOPT;
	switch (name) {
	case TCP_NODELAY:
	case TCP_CORK:
	case TCP_QUICKACK: return set_flag(c, name, value);
	case TCP_MAXSEG:
		if (c->n.state != TCP_LISTEN && !c->syn_out)
			return -EISCONN;
		return set_number(value, 536, TCP_MSS_MAX, &c->mss_set, sizeof(c->mss_set));
	case TCP_KEEPIDLE:
		rc = set_number(value, 1, 32767, &c->keep_idle_s, sizeof(c->keep_idle_s));
		if (rc == 0 && c->keepalive)
			set_socket(c, SO_KEEPALIVE, 1);
		return rc;
	case TCP_KEEPINTVL: return set_number(value, 1, 32767, &c->keep_intvl_s, sizeof(c->keep_intvl_s));
	case TCP_KEEPCNT: return set_number(value, 1, 127, &c->keep_cnt, sizeof(c->keep_cnt));
	case TCP_USER_TIMEOUT: return set_number(value, 0, INT32_MAX, &c->user_timeout_ms, sizeof(c->user_timeout_ms));
	case TCP_LINGER2: return set_number(value, 1, 3600, &c->linger2_s, sizeof(c->linger2_s));
	default: return -ENOPROTOOPT;
	}
}

int
tcp_opt_get(const struct tcp_conn *c, int level, int name, int *value)
{
	if (level == SOL_SOCKET) {
		switch (name) {
		case SO_KEEPALIVE: *value = c->keepalive; return 0;
		case SO_SNDBUF: *value = (int)c->sndbuf; return 0;
		case SO_RCVBUF: *value = (int)c->rcvbuf; return 0;
		default: return -ENOPROTOOPT;
		}
	}
	if (level != IPPROTO_TCP)
		return -ENOPROTOOPT;
	switch (name) {
	case TCP_NODELAY: *value = c->nodelay; return 0;
	case TCP_CORK: *value = c->cork; return 0;
	case TCP_QUICKACK: *value = c->quickack; return 0;
	case TCP_MAXSEG: *value = c->mss != 0 ? c->mss : c->mss_set != 0 ? c->mss_set : (int)TCP_MSS_DEFAULT; return 0;
	case TCP_KEEPIDLE: *value = c->keep_idle_s; return 0;
	case TCP_KEEPINTVL: *value = c->keep_intvl_s; return 0;
	case TCP_KEEPCNT: *value = c->keep_cnt; return 0;
	case TCP_USER_TIMEOUT: *value = (int)c->user_timeout_ms; return 0;
	case TCP_LINGER2: *value = c->linger2_s; return 0;
	default: return -ENOPROTOOPT;
	}
}

int
tcp_cc_set(struct tcp_conn *c, enum tcp_cc cc)
{
	if (cc > TCP_CC_NONE)
		return -EINVAL;
	c->cc = (uint8_t)cc;
	tcp_ecn_start(c);
	if (c->n.state != TCP_ESTABLISHED && c->n.state != TCP_CLOSE_WAIT)
		return 0;
	/* A loss that is being repaired counts for the new one, too; cwnd stays what the repair made it. */
	if (c->phase == TCP_PH_OPEN)
		tcp_cc_start(c);
	else
		tcp_cc_loss(c, tcp_flight(c));
	return 0;
}
