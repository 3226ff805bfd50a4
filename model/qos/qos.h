/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Quality of service of a port: who sends next, who is paused, what waits for a receive WQE.
 *
 * A port whose settings are all at their defaults knows nothing of this: its queues are in the card's own list and its
 * flags tx_managed and rx_waits are false. Settings, limits and a received pause put its queues into lists of the
 * scheduler, one a priority.
 */
#ifndef MODEL_QOS_QOS_H
#define MODEL_QOS_QOS_H

#include "lib/roce/cc/qau.h"
#include "model/frame/frame.h"
#include "mlx4_prm_qos.h"

#define TPM_GROUPS 16u
#define TPM_ETYPE_MAC_CONTROL 0x8808u
#define TPM_SPEED_MBPS 40000u /* of a port that is not paced: what QUERY_PORT says */

/* Rate limits of QPs, as QUERY_DEV_CAP offers them: 1 Mb/s .. 40 Gb/s [CP 3.4, 5.12] */
#define TPM_QP_RATES 128u
#define TPM_RATE_MIN_UNIT 2u
#define TPM_RATE_MIN_VAL 1u
#define TPM_RATE_MAX_UNIT 3u
#define TPM_RATE_MAX_VAL 40u

/* Whose space in the receive buffers a frame takes: a lossless priority's, that under global pause, the lossy one */
#define TPM_POOL_GLOBAL 8u
#define TPM_POOL_LOSSY 9u
#define TPM_POOLS 10u

/* One traffic class of a port. */
struct tpm_class {
	uint8_t group;  /* the lower goes first */
	uint8_t weight; /* share in its group, in percent, at least 1 */
	bool active;    /* takes part in its group's sharing */
	bool backlog;   /* its queues have work */
	uint32_t rate_kbps;
	struct tpm_pace pace;
	uint64_t served; /* bytes by weight: the class of its group with the least is next */
};

/* Pause of one priority in one direction, as DUMP_ETH_STATS tells it. */
struct tpm_flow {
	uint64_t frames, transitions, paused_ns;
	uint64_t since; /* start of the pause that runs */
	bool on;
};

/* Reaction point of 802.1Qau of a priority. */
struct tpm_cn_prio {
	struct tqau_conf conf;
	struct tqau_rp rp;
	uint64_t since, limited_ns; /* of the limit that is, of those that ended */
	uint32_t created, handled, ignored, average_kbps, least_kbps, greatest_kbps;
};

struct tpm_cn {
	uint8_t on, tags, limited; /* priorities that listen; whose frames have a tag; that have a limit now */
	struct tpm_cn_prio prio[MLX4_PRIOS];
};

struct tpm_qos {
	/* transmit */
	struct tpm_qp_list queue[MLX4_PRIOS];
	uint8_t next_prio[MLX4_TCS]; /* of a class: whose turn it is */
	struct tpm_class tc[MLX4_TCS];
	uint64_t group_served[TPM_GROUPS]; /* of what was sent last */
	uint32_t rate_kbps;                /* of the link, 0: not paced */
	uint32_t rated_qps;
	struct tpm_pace link; /* free again; the scheduler's own clock, which follows the card's */
	uint64_t idle; /* when something that waited for time might go, as nothing else could; 0: something could */
	struct tpm_cn cn;
	/* pause received */
	uint64_t until[MLX4_PRIOS]; /* when it ends */
	uint8_t paused;             /* priorities that it holds back */
	struct tpm_flow rx[MLX4_PRIOS], tx[MLX4_PRIOS];
	/* receive: the priority of a frame ... */
	uint8_t trust, untagged_prio;
	bool untagged_lossless;
	uint8_t dscp_prio[64];
	/* ... and the buffers; sizes in bytes of each */
	uint32_t rx_size, rx_xoff, rx_xon;
	uint32_t rx_fill[TPM_POOLS];
	struct tpm_held_list rx_held[MLX4_PRIOS];
	uint64_t rx_overflow[MLX4_PRIOS];
	uint16_t stopped;            /* pools for which the peer was paused, bit n */
	uint64_t refresh[TPM_POOLS]; /* when it is told again */
};

/* --- scheduler (sched.c) --- */

/* 0 or -ENOMEM. */
int tpm_qos_init(struct tpm_port *p, const struct tp_model_config *cfg, unsigned int i);
void tpm_qos_fini(struct tpm_port *p);
/* Settings as after a reset. */
void tpm_qos_reset(struct tp_model *m, struct tpm_port *p);
void tpm_list_add(struct tpm_qp_list *l, struct tpm_qp *qp);
void tpm_list_del(struct tpm_qp *qp);
/* A queue of a managed port has work. */
void tpm_sched_add(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp);
/* Settings changed: is the port managed? Moves its queues where they belong. */
void tpm_sched_update(struct tp_model *m, struct tpm_port *p);
/* The QP's port, priority or rate may have changed. */
void tpm_sched_qp(struct tp_model *m, struct tpm_qp *qp);
/* The QP goes. */
void tpm_sched_qp_gone(struct tp_model *m, struct tpm_qp *qp);
/* Sends what may be sent by now, at most budget WQEs; returns how many. */
unsigned int tpm_sched_run(struct tp_model *m, struct tpm_port *p, unsigned int budget);

/* --- pause frames (pause.c) --- */

/* A MAC control frame came over the wire; h: its first hlen bytes. */
void tpm_pause_rx(struct tp_model *m, struct tpm_port *p, const uint8_t *h, uint32_t hlen);
/* Ends pauses whose time is over. */
void tpm_pause_expire(struct tp_model *m, struct tpm_port *p);
/* The port does not honour some priorities any more. */
void tpm_pause_config(struct tp_model *m, struct tpm_port *p);
/* Length of so many quanta, in ns. */
uint64_t tpm_quanta_ns(const struct tpm_port *p, uint32_t quanta);
/* Time that a flow was paused, with the pause that runs, in us. */
uint64_t tpm_flow_us(const struct tp_model *m, const struct tpm_flow *f);
void tpm_flow_start(struct tpm_flow *f, uint64_t at);
void tpm_flow_stop(struct tpm_flow *f, uint64_t at);
/* Sends a pause frame for the priorities of the vector, or for all (global); 0 quanta: go on. */
void tpm_pause_send(struct tp_model *m, struct tpm_port *p, bool global, uint8_t vector, uint16_t quanta);

/* 01:80:c2:00:00:01 and the type of MAC control */
static inline bool
tpm_is_mac_control(const uint8_t *h)
{
	static const uint8_t dst[TPM_ETH_ALEN] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

	return memcmp(h, dst, sizeof(dst)) == 0 && tpm_load16(h + 12) == TPM_ETYPE_MAC_CONTROL;
}

/* --- congestion notification (cn.c) --- */

#define TPM_CN_SEGS 64u /* pieces of a frame with a tag */

/* Parameters of a priority, whether CNMs are heard, and whether its frames have a CN-TAG. */
void tpm_cn_config(struct tp_model *m, struct tpm_port *p, unsigned int prio, const struct tqau_conf *conf, bool on,
		   bool tag);
/* kb/s that a priority is limited to; 0: it is not. How long it was limited, all in all. */
uint32_t tpm_cn_rate(struct tp_model *m, struct tpm_port *p, unsigned int prio);
uint64_t tpm_cn_lived(const struct tp_model *m, const struct tpm_port *p, unsigned int prio);
/* A limited priority sent so much at that time. */
void tpm_cn_sent(struct tp_model *m, struct tpm_port *p, unsigned int prio, uint32_t bytes, uint64_t at);
/* Is the frame a CNM, which was heard? tag: where a CN-TAG of another frame is, 0: nowhere. */
bool tpm_cn_rx(struct tp_model *m, struct tpm_port *p, const uint8_t *h, uint32_t hlen, uint32_t *tag);
/* The frame without that tag, in pieces of it. */
void tpm_cn_strip(const struct tp_frame *f, uint32_t tag, struct tp_frame_seg seg[TPM_CN_SEGS], struct tp_frame *out);
/* The frame with a tag, if its priority has one. */
bool tpm_cn_tag(const struct tpm_port *p, const struct tp_frame *f, uint8_t tag[TQAU_TAG_LEN],
		struct tp_frame_seg seg[TPM_CN_SEGS], struct tp_frame *out);

/* --- receive buffers (rxbuf.c) --- */

/* The priority of a received frame, by what the port trusts. */
unsigned int tpm_qos_rx_prio(const struct tpm_port *p, const struct tpm_pkt *k, const uint8_t *h);
bool tpm_rxbuf_config_valid(const struct tp_model_config *cfg);
void tpm_rxbuf_init(struct tpm_port *p, const struct tp_model_config *cfg);
void tpm_rxbuf_reset(struct tpm_port *p);
/* Must the frame queue up behind others of its priority? */
bool tpm_rxbuf_behind(const struct tpm_port *p, const struct tp_frame *f);
/* The frame waits for qp; false: its buffer is full and it is lost. */
bool tpm_rxbuf_put(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *f, uint32_t hash);
/* The first frame leaves its buffer. */
void tpm_rxbuf_take(struct tpm_qos *q, struct tpm_held_list *l);
/* Tells the peer how full the buffers are. */
void tpm_rxbuf_check(struct tp_model *m, struct tpm_port *p);
/* Whether pause frames are sent may have changed. */
void tpm_rxbuf_config(struct tp_model *m, struct tpm_port *p);
/* What waits for the QP is dropped. */
void tpm_rxbuf_forget(struct tp_model *m, const struct tpm_qp *qp);

/* --- how long a frame waits (delay.c) --- */

/* Has the firmware delay drop? */
bool tpm_delay_offered(const struct tp_model *m);
/* A frame at the head finds no receive WQE from now on. */
void tpm_delay_start(const struct tp_model *m, struct tpm_qp *qp);
/* Does it go on waiting? When the time is over the QP drops from now on, and says so. */
bool tpm_delay_waits(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp);

#endif /* MODEL_QOS_QOS_H */
