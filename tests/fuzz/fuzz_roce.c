/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * RoCE packets from the wire: an input is a list of packets for queue pairs of every service, some of them with requests
 * on their way. Lengths, addresses and the CRC are made right unless the input wants them wrong, and packet numbers are
 * near what the queue waits for, so that packets get as far as they can. No packet is a fault of the card's own software.
 */
#include "bytes.h"
#include "lib/roce/wire/icrc.h"
#include "model/roce/roce.h"
#include "tests/unit/model/verbs_rig.h"

#define MAX_PACKETS 48
#define MAX_TAIL 1100u
#define HDR_V1 54u /* Ethernet and GRH */
#define HDR_V4 42u /* Ethernet, IPv4, UDP */
#define HDR_V6 62u

/* Of the first byte of a record; bits 1:0 are the kind of header, 3: the bytes are a frame. */
#define K_QP(k) ((k) >> 2 & 7)
#define K_BAD 0x20
#define K_TIME 0x40
#define K_POST 0x80

enum { Q_RC, Q_RC_BUSY, Q_UC, Q_UD, Q_QP1, Q_TARGETS }; /* then the multicast QP and one that is not there */

static void
queue_up(struct vr *v, unsigned int kind)
{
	static const enum mlx4_qp_service service[] = {MLX4_QP_ST_RC, MLX4_QP_ST_RC, MLX4_QP_ST_UC, MLX4_QP_ST_UD,
						       MLX4_QP_ST_MLX};
	struct vr_qp *q = vr_qp(v, 1, service[kind]);

	if (kind == Q_QP1) {
		q->qpn = VR_SPECIAL + 2;
		prm_set(q->ctx, MLX4_QPC_LOCAL_QPN, q->qpn);
	}
	vr_to(v, q, 2, 0x123, VR_GID_V4);
	vr_qp_up(v, q);
	for (unsigned int i = 0; i < 8; i++)
		vr_post_recv(v, q, VR_RW_KEY, q->mem, i == 7 ? 64 : 4096);
}

/* Requests of each kind, whose answers the input plays. */
static void
ask(struct vr *v, struct vr_qp *q)
{
	if (q->prod > 128 || vr_state(v, q) != MLX4_QP_RTS)
		return;
	vr_post_send(v, q, q->mem, 100);
	vr_post_rdma(v, q, MLX4_OP_RDMA_READ, q->mem + 4096, 2500, VR_RW_KEY, q->mem);
	vr_remote(v, q, VR_RW_KEY, q->mem);
	memset(vr_wqe(v, q) + 32, 0, 16);
	vr_data(v, q, 3, VR_RW_KEY, q->mem + 8192, 8);
	vr_post(v, q, MLX4_OP_ATOMIC_FA, 4, 0, 0);
}

static uint32_t
psn_near(struct vr *v, unsigned int target, uint8_t opcode, uint8_t delta)
{
	const struct tpm_qp *qp = target < Q_TARGETS ? tpm_qp_get(v->c->m, v->q[target].qpn) : NULL;
	bool answer = (ib_opcodes[opcode].flags & IB_F_RESPONSE) != 0;

	if (qp == NULL || qp->roce == NULL)
		return delta;
	return ((answer ? qp->roce->e.una_psn : qp->roce->e.epsn) + (uint32_t)(int8_t)delta) & IB_PSN_MASK;
}

static void
put16(uint8_t *p, uint32_t n)
{
	p[0] = (uint8_t)(n >> 8);
	p[1] = (uint8_t)n;
}

/* The headers in front of the BTH for len bytes from there on; how long they are. */
static uint32_t
headers(const struct vr *v, unsigned int kind, bool group, uint32_t len, uint8_t *h)
{
	memset(h, 0, HDR_V6);
	memcpy(h, v->mac[0], 6);
	h[0] |= group;
	memcpy(h + 6, v->mac[1], 6);
	put16(h + 12, kind == VR_GID_V1 ? 0x8915 : kind == VR_GID_V4 ? 0x0800 : 0x86dd);
	if (kind == VR_GID_V4) {
		h[14] = 0x45;
		put16(h + 16, 28 + len);
		h[22] = 64;
		h[23] = 17;
		memcpy(h + 26, v->gid[1][kind] + 12, 4);
		memcpy(h + 30, v->gid[0][kind] + 12, 4);
		put16(h + 36, 4791);
		put16(h + 38, 8 + len);
		return HDR_V4;
	}
	h[14] = 0x60;
	put16(h + 18, kind == VR_GID_V1 ? len : len + 8);
	h[20] = kind == VR_GID_V1 ? 0x1b : 17;
	memcpy(h + 22, v->gid[1][kind], 16);
	memcpy(h + 38, v->gid[0][kind], 16);
	put16(h + 56, 4791);
	put16(h + 58, 8 + len);
	return kind == VR_GID_V1 ? HDR_V1 : HDR_V6;
}

static uint32_t
packet(struct vr *v, struct bytes *b, uint8_t k, uint8_t *frame)
{
	static const enum troce_icrc_net net[] = {TROCE_ICRC_GRH, TROCE_ICRC_IPV4_UDP, TROCE_ICRC_IPV6_UDP};
	uint8_t opcode = bytes_u8(b), flags = bytes_u8(b), delta = bytes_u8(b), icrc[4];
	unsigned int target = K_QP(k), kind = k & 3;
	uint32_t tail = bytes_u16(b) % MAX_TAIL, len = 12 + tail + 4;
	uint32_t at = headers(v, kind, target == Q_TARGETS, len, frame);
	uint8_t *bth = frame + at;

	bth[0] = opcode;
	bth[1] = flags;
	put16(bth + 2, 0xffff);
	prm_set32(bth, 4, target < Q_TARGETS ? v->q[target].qpn : target == Q_TARGETS ? 0xffffff : 0x1ff);
	if (target == Q_QP1)
		prm_set32(bth, 4, 1);
	prm_set32(bth, 8, (uint32_t)(flags & 0x40) << 25 | psn_near(v, target, opcode, delta));
	bytes_copy(b, bth + 12, tail);
	troce_icrc_put(troce_crc32(troce_icrc_start(net[kind], frame + 14, bth), bth + 12, tail), icrc);
	memcpy(bth + 12 + tail, icrc, 4);
	if ((k & K_BAD) != 0)
		bth[12 + tail] ^= 1;
	return at + len;
}

static void
record(struct vr *v, struct bytes *b)
{
	uint8_t k = bytes_u8(b), *exact, frame[HDR_V6 + 16 + MAX_TAIL];
	struct tp_frame_seg seg;
	struct tp_frame f = {.seg = &seg, .nseg = 1};

	if ((k & K_POST) != 0)
		ask(v, &v->q[Q_RC_BUSY]);
	if ((k & 3) == 3) {
		f.len = bytes_u16(b) % sizeof(frame);
		bytes_copy(b, frame, f.len);
	} else {
		f.len = packet(v, b, k, frame);
	}
	/* An exact allocation, so that reading one byte too far is seen. */
	exact = malloc(f.len == 0 ? 1 : f.len);
	assert_non_null(exact);
	memcpy(exact, frame, f.len);
	seg = (struct tp_frame_seg){.data = exact, .len = f.len};
	(void)tp_model_port_receive(v->c->m, 1, &f, 1);
	free(exact);
	if ((k & K_TIME) != 0)
		tp_model_set_time(v->c->m, v->now += 5000000);
	for (unsigned int i = 0; i < 4; i++)
		tp_model_step(v->c->m, 8);
	for (unsigned int i = 0; i < v->n; i++)
		while (vr_poll_cq(v, &v->q[i]) != NULL)
			;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	struct vr *v;
	void *state;

	vr_up(&state);
	v = state;
	for (unsigned int p = 1; p <= 2; p++)
		assert_int_equal(tp_model_wire_loopback(v->c->m, p), 0);
	v->end[0] = v->end[1] = NULL;
	for (unsigned int i = 0; i < Q_TARGETS; i++)
		queue_up(v, i);
	ask(v, &v->q[Q_RC_BUSY]);
	tp_model_step(v->c->m, 8);
	for (unsigned int i = 0; i < MAX_PACKETS && b.left != 0; i++)
		record(v, &b);
	card_expect_clean(v->c);
	vr_down(&state);
	return 0;
}
