/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card as a home of the transport engine (lib/roce): what RC, UC and UD queue pairs of an Ethernet port do. WQEs are
 * taken from the ring into slots that the engine works on; memory is reached by keys; packets are RoCE frames.
 */
#ifndef MODEL_ROCE_ROCE_H
#define MODEL_ROCE_ROCE_H

#include "lib/roce/cc/cc.h"
#include "lib/roce/engine/engine.h"
#include "model/queue/queue.h"

#define TPM_ROCE_LG_SLOTS 5u
#define TPM_ROCE_SLOTS (1u << TPM_ROCE_LG_SLOTS)
#define TPM_ROCE_PACKET 4608u /* the longest packet: headers, 4096 bytes, CRC */
#define TPM_ROCE_HDR 128u     /* Ethernet, tag, GRH or IP and UDP, BTH and what follows it */

/* How a packet finds its way: of the QP's path, or of a UD request. */
struct tpm_roce_path {
	uint8_t dmac[6], dgid[16];
	uint8_t sgid_index, tclass, hop_limit, prio;
	uint32_t flow_label;
	uint16_t udp_port; /* source */
	uint16_t vid;      /* TPM_ROCE_NO_VLAN: no tag */
	bool v2;
	/* InfiniBand */
	uint16_t dlid;
	uint8_t sl, path_bits;
	bool grh, loop; /* loop: never to the wire */
};
#define TPM_ROCE_NO_VLAN 0xffffu

/* A send WQE on its way. */
struct tpm_roce_slot {
	struct tre_sge sge[TPM_MAX_SQ_SGE];
	uint8_t data[MLX4_SEND_WQE_MAX]; /* inline */
	struct tpm_roce_path path;       /* UD */
	uint16_t index;
	uint8_t opcode;
	bool signaled;
	enum ibv_wc_status status; /* it cannot be sent, for this reason */
};

/* A large send of datagrams that is being cut. */
struct tpm_roce_lso {
	bool active; /* segments are left */
	uint32_t mss, hlen, off, index;
	uint8_t hdr[MLX4_SEND_WQE_MAX]; /* with the four bytes in front of IP */
	struct tpm_pkt k;               /* of the headers, behind an Ethernet header */
	struct tre_wqe data;            /* the payload */
	struct tpm_roce_slot slot;      /* as the WQE says; its list is that of data */
};

/* What a received packet brings besides itself. */
struct tpm_roce_rx {
	uint8_t smac[6];
	uint16_t tci; /* of the tag, 0: none */
	bool tagged, v1;
	uint8_t grh[40]; /* as UD receivers get it */
	/* InfiniBand */
	bool ib, no_grh;
	uint16_t slid;
	uint8_t sl, path_bits, pkey_index;
	uint32_t status; /* of IP inside, the completion's dword at 0x10; 0: not looked at */
	uint16_t csum;
};

struct tpm_ib_kinds;

struct tpm_roce {
	struct tre_qp e;
	struct tp_model *m;
	struct tpm_qp *qp;
	struct tpm_roce *next; /* in the model's list of live ones */
	struct tpm_roce_path path;
	struct tre_wqe sq[TPM_ROCE_SLOTS];
	struct tpm_roce_slot slot[TPM_ROCE_SLOTS];
	/* The receive WQE at hand. */
	struct tre_sge rq_sge[TPM_MAX_RQ_SGE];
	struct tre_rwqe rwqe;
	uint8_t port; /* that counts it */
	bool tell_drained;
	bool taken;                 /* it is one of a shared receive queue */
	bool running;               /* the engine works on it: what it sends to itself waits */
	bool stuck;                 /* had its turn on a managed port and could send nothing, in this round */
	uint32_t sent;              /* packets of its last turn */
	uint32_t late;              /* length of the packet that waits, 0: none */
	uint8_t *stage;             /* where datagrams with offloads are built, of all slots; NULL: none was */
	struct tpm_ib_kinds *kinds; /* of packets of IP that came in datagrams (ib_in.c); NULL: none did */
	struct tpm_roce_lso lso;
	uint8_t late_packet[TPM_ROCE_PACKET];
	struct tpm_roce_rx late_rx;
	uint8_t bounce[TPM_ROCE_PACKET];
	/* Congestion control (roce_cc.h): its limiter, and when it told its peer of marks. */
	struct tcc_rp rp;
	struct tcc_np np;
	uint64_t limited_since;
	uint8_t limit_prio, np_prio, dgram_prio;
	bool limited;
};

/* --- life (roce.c); called by commands ---------------------------------------------------------------------- */

/* Does the QP send by the engine? */
static inline bool
tpm_roce_serves(const struct tpm_qp *qp)
{
	return qp->service == MLX4_QP_ST_RC || qp->service == MLX4_QP_ST_UC || qp->service == MLX4_QP_ST_UD;
}
/* Adds up what queue pairs of a port (0: of every port) counted since reset. */
void tpm_roce_stats(const struct tp_model *m, unsigned int port, struct tre_stats *st);
/* After a transition to state; 0 or -ENOMEM. */
int tpm_roce_state(struct tp_model *m, struct tpm_qp *qp, uint8_t state);
void tpm_roce_free(struct tp_model *m, struct tpm_qp *qp);
/* Answers what was received, by budget packets at most. */
void tpm_roce_answer(struct tp_model *m, struct tpm_qp *qp, unsigned int budget);
/* What the transport knows better than the context that software wrote: where it stands. */
void tpm_roce_save(const struct tpm_qp *qp, uint8_t *ctx);
/* Reads WQEs into slots and sends; returns what was done, *idle: nothing more is posted. */
unsigned int tpm_roce_send(struct tp_model *m, struct tpm_qp *qp, unsigned int budget, bool *idle);
/* May a turn bring anything? Not while every slot waits for an answer. */
bool tpm_roce_ready(const struct tpm_qp *qp);
/* After a turn on a managed port, in which so many WQEs were read: what was done, WQEs or packets. */
unsigned int tpm_roce_served(struct tpm_qp *qp, unsigned int wqes);
/* The completion of a send that went well, of a WQE with this index. */
void tpm_roce_sent(struct tpm_roce *r, uint16_t index, uint8_t opcode, uint32_t bytes);
/* Software asked to be told when the send queue has drained: by event, now if nothing is on its way. */
void tpm_roce_drained(struct tp_model *m, struct tpm_qp *qp);
/* A packet for the QP, whose CRC is good; len from the BTH through the pad. */
void tpm_roce_deliver(struct tp_model *m, struct tpm_qp *qp, const uint8_t *packet, uint32_t len,
		      const struct tpm_roce_rx *rx);
/* Answers, timers, what waits for either. */
unsigned int tpm_roce_run(struct tp_model *m, unsigned int budget);

/* --- WQEs (roce_wqe.c) --------------------------------------------------------------------------------------- */

/* The WQE at head into the next slot; *strides: its size. One that cannot be sent ends with its status in its turn. */
void tpm_roce_fetch(struct tp_model *m, struct tpm_roce *r, uint32_t head, uint32_t *strides);
/* The address of a datagram on InfiniBand [DP 10.1] */
void tpm_roce_ib_address(const uint8_t *d, struct tpm_roce_path *path);
/* The next segment of the large send that is under way into the next slot. */
void tpm_roce_segment(struct tpm_roce *r);
/* The receive WQE of n elements at w as a list. */
void tpm_roce_list(struct tpm_roce *r, const uint8_t *w, unsigned int n);

/* --- offloads of datagrams that carry IP (roce_ipoib.c); their status: why a request cannot be done ---------------- */

/* What a completion says of a datagram of len bytes, its dword at 0x10; *csum: its checksum field. 0: it is not of IP. */
uint32_t tpm_ipoib_status(const uint8_t *d, uint32_t len, uint16_t *csum);
/* The ring QPN that an RSS parent gives such a datagram. */
uint32_t tpm_ipoib_ring(const struct tp_model *m, const struct tpm_qp *parent, const uint8_t *d, uint32_t len);
/* Puts in the checksums that the flags (MLX4_CTRL_*_CSUM) ask for. */
enum ibv_wc_status tpm_ipoib_checksum(struct tpm_roce *r, struct tre_wqe *w, struct tpm_roce_slot *s, uint32_t flags);
/* Begins a large send, of which w and s hold address and payload, and makes its first segment. */
enum ibv_wc_status tpm_ipoib_lso(struct tpm_roce *r, struct tre_wqe *w, struct tpm_roce_slot *s,
				 const struct tpm_roce_lso *l);
/* The next segment, while r->lso.active. */
enum ibv_wc_status tpm_ipoib_segment(struct tpm_roce *r, struct tre_wqe *w, struct tpm_roce_slot *s);

/* --- keys (roce_key.c) ---------------------------------------------------------------------------------------- */

/* Bytes of the segment of a request that stays in the card: fast register, local invalidate; 0 for NOP. */
uint32_t tpm_roce_local_size(uint8_t opcode);
int tpm_roce_local(struct tre_qp *e, const struct tre_wqe *w);
/* The entry behind a key that the card owns, or NULL; a region or a window, in any state. */
uint8_t *tpm_roce_entry(struct tp_model *m, uint32_t key);
int tpm_roce_invalidate(struct tre_qp *e, uint32_t key);

/* --- windows (roce_win.c) ------------------------------------------------------------------------------------- */

/* Takes a window off its region; nothing when it is not bound, or no window. */
void tpm_window_unbind(struct tp_model *m, uint8_t *mpt);
/* The bind-window segment of a request; 0, or a negative status. */
int tpm_roce_bind(struct tpm_roce *r, const uint8_t *seg);
/* A window of type 2 becomes free. */
int tpm_roce_window_free(struct tpm_roce *r, uint8_t *mpt);
/*
 * Is [*va, *va + len) open through this window, with this right (TPM_ACC_*)? Then *key, *va and the right to ask for
 * become those of its region.
 */
bool tpm_roce_window(struct tpm_roce *r, uint32_t *key, uint64_t *va, uint32_t len, uint32_t access);

/* --- memory (roce_mem.c) -------------------------------------------------------------------------------------- */

int tpm_roce_gather(struct tre_qp *e, const struct tre_wqe *w, uint32_t off, uint32_t len, struct iovec *iov);
int tpm_roce_scatter_wqe(struct tre_qp *e, const struct tre_wqe *w, uint32_t off, const void *data, uint32_t len);
int tpm_roce_scatter_recv(struct tre_qp *e, const struct tre_rwqe *w, uint32_t off, const void *data, uint32_t len);
int tpm_roce_remote_check(struct tre_qp *e, uint32_t rkey, uint64_t va, uint32_t len, int access);
int tpm_roce_remote_write(struct tre_qp *e, uint32_t rkey, uint64_t va, const void *data, uint32_t len);
int tpm_roce_remote_read(struct tre_qp *e, uint32_t rkey, uint64_t va, uint32_t len, struct iovec *iov);
int tpm_roce_remote_atomic(struct tre_qp *e, uint32_t rkey, uint64_t va, enum tre_atomic op, uint64_t compare_add,
			   uint64_t swap, uint64_t *old);

/* --- packets (roce_net.c) ------------------------------------------------------------------------------------- */

extern const struct tpm_link_ops tpm_eth_link_ops;
struct tpm_gid;
/* Sends the packet from this address, as the queue pair's: it waits for nothing. */
void tpm_roce_emit(struct tpm_roce *r, const struct tpm_roce_path *path, const struct tpm_gid *src,
		   struct tre_out *out);
/* A frame of the port: true when it was RoCE for one of the port's addresses, and dealt with. */
bool tpm_roce_receive(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, const uint8_t *h, uint32_t hlen,
		      const struct tpm_pkt *k);

/* --- WQEs that no transport executes (roce_mlx.c) -------------------------------------------------------------- */

/* Executes a WQE of QP0 or QP1, and of a verbs QP. */
bool tpm_wqe_mlx(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head);
bool tpm_wqe_verbs(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head);
/* A packet of QP1 of an Ethernet port. */
bool tpm_roce_mlx(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head);

#endif /* MODEL_ROCE_ROCE_H */
