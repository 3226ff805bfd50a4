/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Port 1 on a wire that writes down what leaves, and when; settings by SET_PORT; queues that are kept full. Time is
 * virtual.
 */
#ifndef QOS_RIG_H
#define QOS_RIG_H

#include "dp_rig.h"
#include "mlx4_prm_qos.h"

#define LOG_MAX 65536u
#define AT_ID 14u /* byte of a frame that says who sent it */

struct tap {
	struct tp_wire w;
	struct tp_model *m;
	uint32_t n; /* data frames written down */
	struct {
		uint64_t t;
		uint32_t len;
		uint8_t id;
	} log[LOG_MAX];
	uint64_t octets[16]; /* with FCS, by sender */
	uint32_t frames[16];
	uint32_t controls; /* MAC control frames; the last one: */
	uint8_t control[64];
	uint32_t control_len;
	uint64_t control_t;
};

static inline unsigned int
tap_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	struct tap *t = (struct tap *)w;

	for (unsigned int i = 0; i < n; i++) {
		uint8_t h[64] = {0};

		tpm_frame_copy(&f[i], 0, h, f[i].len < sizeof(h) ? f[i].len : sizeof(h));
		if (h[12] == 0x88 && h[13] == 0x08) {
			t->controls++;
			t->control_t = tpm_now(t->m);
			t->control_len = f[i].len;
			memcpy(t->control, h, sizeof(h));
			continue;
		}
		if (t->n < LOG_MAX) {
			t->log[t->n].t = tpm_now(t->m);
			t->log[t->n].len = f[i].len;
			t->log[t->n++].id = h[AT_ID] & 15;
		}
		t->octets[h[AT_ID] & 15] += f[i].len + 4;
		t->frames[h[AT_ID] & 15]++;
	}
	return n;
}

static inline bool
tap_link(struct tp_wire *w)
{
	(void)w;
	return true;
}

static const struct tp_wire_ops tap_ops = {.name = "tap", .send = tap_send, .link = tap_link};

struct qos_rig {
	struct rig r;
	struct tap tap;
	struct rig_q q[8];
	uint32_t len[8]; /* of the frames of a queue, without FCS */
	unsigned int nq;
	uint64_t now;
};

static inline int
qos_up(struct qos_rig *x, uint32_t rate_mbps)
{
	if (rig_open(&x->r) != 0)
		return -1;
	x->r.m->port[0].qos->rate_kbps = rate_mbps * 1000;
	tpm_sched_update(x->r.m, &x->r.m->port[0]);
	x->r.m->port[0].open = true;
	x->tap.w.ops = &tap_ops;
	x->tap.m = x->r.m;
	x->now = 1000;
	return tp_model_wire_attach(x->r.m, 1, &x->tap.w);
}

/* A send queue of port 1 with frames of len bytes, numbered from 0. */
static inline void
qos_queue(struct qos_rig *x, unsigned int prio, uint32_t len, uint32_t rate_kbps)
{
	static const uint8_t dst[6] = {2, 0, 0, 0, 0, 2};
	unsigned int i = x->nq++;
	struct rig_q *q = &x->q[i];

	rig_qp(&x->r, q, 8 + i, 1, 256, false);
	memset(q->bufs, 0, len);
	memcpy(q->bufs, dst, 6);
	tpm_store16(q->bufs + 12, 0x88b5);
	q->bufs[AT_ID] = (uint8_t)i;
	x->len[i] = len;
	q->qp->prio = (uint8_t)prio;
	q->qp->rate_kbps = rate_kbps;
	tpm_sched_qp(x->r.m, q->qp);
}

/* Posts n frames more, as far as the ring has room. */
static inline void
qos_post(struct qos_rig *x, unsigned int i, uint32_t n)
{
	struct rig_q *q = &x->q[i];

	for (; n != 0 && q->prod - q->qp->sq_head < q->n - 8; n--) {
		rig_data(q, 1, q->bufs, x->len[i]);
		rig_post(q, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC);
	}
	rig_ring(&x->r, q);
}

static inline void
qos_time(struct qos_rig *x, uint64_t ns)
{
	x->now = ns;
	tp_model_set_time(x->r.m, ns);
	while (tp_model_step(x->r.m, 128) != 0)
		continue;
}

/* Runs for ns in steps; fill: the queues of the mask are kept full. */
static inline void
qos_run(struct qos_rig *x, uint64_t ns, uint64_t step, unsigned int fill)
{
	uint64_t end = x->now + ns;

	while (x->now < end) {
		for (unsigned int i = 0; i < x->nq; i++)
			if ((fill >> i & 1) != 0)
				qos_post(x, i, x->q[i].n);
		qos_time(x, x->now + step);
	}
}

static inline uint8_t
qos_set_port(struct qos_rig *x, unsigned int port, uint32_t sel, uint8_t *in)
{
	struct tpm_cmd c = {.in = in, .in_modifier = sel << 8 | port, .op_modifier = MLX4_SET_PORT_OPM_ETH};

	return tpm_cmd_set_port(x->r.m, &c);
}

/* Pause and PFC of a port: what it sends (tx) and what it honours (rx). */
static inline uint8_t
qos_general(struct qos_rig *x, unsigned int port, bool tx_pause, uint8_t tx_pfc, bool rx_pause, uint8_t rx_pfc)
{
	uint8_t in[MLX4_MAILBOX_SIZE] = {0};

	prm_set(in, MLX4_SPG_V_TX_PAUSE, 1);
	prm_set(in, MLX4_SPG_V_RX_PAUSE, 1);
	prm_set(in, MLX4_SPG_TX_PAUSE, tx_pause);
	prm_set(in, MLX4_SPG_TX_PFC, tx_pfc);
	prm_set(in, MLX4_SPG_RX_PAUSE, rx_pause);
	prm_set(in, MLX4_SPG_RX_PFC, rx_pfc);
	return qos_set_port(x, port, MLX4_SET_PORT_GENERAL, in);
}

/* Priority n goes to class n. */
static inline uint8_t
qos_prio2tc(struct qos_rig *x)
{
	uint8_t in[MLX4_MAILBOX_SIZE] = {0x01, 0x23, 0x45, 0x67};

	return qos_set_port(x, 1, MLX4_SET_PORT_PRIO2TC, in);
}

struct qos_entry {
	uint16_t group, share, unit, rate;
};

static inline uint8_t
qos_scheduler(struct qos_rig *x, const struct qos_entry *e, unsigned int n)
{
	uint8_t in[MLX4_MAILBOX_SIZE] = {0};

	for (unsigned int i = 0; i < MLX4_TCS; i++) {
		struct qos_entry v = i < n ? e[i] : (struct qos_entry){15, 0, MLX4_SCHED_UNIT_1G, 0xff};

		prm_set(in + 8 * i, MLX4_SCHED_GROUP, v.group);
		prm_set(in + 8 * i, MLX4_SCHED_BW_PCT, v.share);
		prm_set(in + 8 * i, MLX4_SCHED_RATE_UNIT, v.unit);
		prm_set(in + 8 * i, MLX4_SCHED_RATE, v.rate);
	}
	return qos_set_port(x, 1, MLX4_SET_PORT_SCHEDULER, in);
}

/* A frame in one piece arrives at a port. */
static inline void
qos_arrive(struct qos_rig *x, unsigned int port, const uint8_t *b, uint32_t len)
{
	struct tp_frame_seg seg = {.data = b, .len = len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = len};

	tpm_lock(&x->r.m->lock);
	tp_model_port_receive(x->r.m, port, &f, 1);
	tpm_unlock(&x->r.m->lock);
}

/* A counter of DUMP_ETH_STATS for port; mod: MLX4_STATS_MOD_FLOW and MLX4_STATS_RESET. */
static inline uint64_t
qos_counter(struct qos_rig *x, unsigned int port, uint32_t mod, uint32_t off)
{
	uint8_t out[MLX4_MAILBOX_SIZE];
	struct tpm_cmd c = {.out = out, .in_modifier = mod | port};

	return tpm_cmd_dump_eth_stats(x->r.m, &c) == MLX4_STAT_OK ? prm_get64(out, off) : UINT64_MAX;
}

#endif /* QOS_RIG_H */
