/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A card whose two ports are InfiniBand and joined by the wire of verbs_rig.h; plays the subnet manager too. */
#ifndef IB_RIG_H
#define IB_RIG_H

#include "ib_prm.h"
#include "mlx4_prm_ib.h"
#include "verbs_rig.h"

#define IR_LID1 0x10u
#define IR_LID2 0x20u
#define IR_PREFIX UINT64_C(0xfe80000000000000)
#define IR_GUID UINT64_C(0x0002c90300a1b200) /* of the node; ports follow */
#define IR_ASYNC (VR_ASYNC | UINT64_C(1) << 0x1d)
#define IR_QP0 (VR_SPECIAL + 0) /* of port 1 */
#define IR_QP1 (VR_SPECIAL + 2)
#define IR_WIRE_TAIL 6u /* both CRCs */

/* --- management by the host --- */

/* A datagram in the in mailbox; its data. */
static inline uint8_t *
ir_mad(struct vr *v, uint8_t class, uint8_t method, uint16_t attr, uint32_t mod)
{
	uint8_t *in = card_in(v->c);

	in[0] = 1;
	in[1] = class;
	in[2] = 1;
	in[3] = method;
	in[0x10] = (uint8_t)(attr >> 8);
	in[0x11] = (uint8_t)attr;
	prm_set32(in, 0x14, mod);
	return in + 0x40;
}

/* Hands it to the firmware of a port without keys; the status of the answer. */
static inline int
ir_mad_ifc(struct vr *v, unsigned int port)
{
	assert_int_equal(card_cmd(v->c, MLX4_CMD_MAD_IFC, 3, port, v->c->in, v->c->out), 0);
	assert_int_equal(card_out(v->c)[3], 0x81);
	return (int)(prm_get32(card_out(v->c), 4) >> 16);
}

/* Data of an attribute that is read. */
static inline const uint8_t *
ir_get(struct vr *v, unsigned int port, uint16_t attr, uint32_t mod)
{
	ir_mad(v, 1, 1, attr, mod);
	assert_int_equal(ir_mad_ifc(v, port), 0);
	return card_out(v->c) + 0x40;
}

/* PortInfo as it is, to be changed and set by ir_mad_ifc. */
static inline uint8_t *
ir_port_info(struct vr *v, unsigned int port)
{
	uint8_t was[64];
	uint8_t *d;

	memcpy(was, ir_get(v, port, 0x15, port), sizeof(was));
	d = ir_mad(v, 1, 2, 0x15, port);
	memcpy(d, was, sizeof(was));
	d[32] &= 0xf0; /* no change of the state */
	d[33] &= 0x0f;
	return d;
}

static inline unsigned int
ir_state(struct vr *v, unsigned int port)
{
	return ir_get(v, port, 0x15, port)[32] & 0xfu;
}

static inline int
ir_set_state(struct vr *v, unsigned int port, uint8_t state)
{
	uint8_t *d = ir_port_info(v, port);

	d[32] = (uint8_t)((d[32] & 0xf0) | state);
	return ir_mad_ifc(v, port);
}

static inline void
ir_set_lid(struct vr *v, unsigned int port, uint16_t lid, uint8_t lmc)
{
	uint8_t *d = ir_port_info(v, port);

	d[16] = (uint8_t)(lid >> 8);
	d[17] = (uint8_t)lid;
	d[19] = 1; /* LID of the subnet manager */
	d[34] = lmc;
	assert_int_equal(ir_mad_ifc(v, port), 0);
}

/* --- life --- */

static inline void
ir_events(struct vr *v)
{
	uint32_t of;

	while (vr_event(v, &of) >= 0)
		;
}

/* Two cards' worth of set-up without the subnet manager: ports are in state INIT. */
static inline int
ir_up_init_mode(void **state, unsigned int flags)
{
	struct tp_model_config cfg;

	tp_model_config_default(&cfg);
	cfg.port_type[0] = cfg.port_type[1] = TP_PORT_IB;
	vr_up_config(state, flags, &cfg);
	assert_int_equal(card_cmd(((struct vr *)*state)->c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, IR_ASYNC, 0), 0);
	return 0;
}

static inline int
ir_up_init(void **state)
{
	return ir_up_init_mode(state, CARD_DMFS);
}

/* Both ports active, with LIDs. */
static inline void
ir_activate(struct vr *v)
{
	for (unsigned int p = 1; p <= 2; p++) {
		ir_set_lid(v, p, p == 1 ? IR_LID1 : IR_LID2, 0);
		assert_int_equal(ir_set_state(v, p, 3), 0);
		assert_int_equal(ir_set_state(v, p, 4), 0);
	}
	ir_events(v);
}

static inline int
ir_up(void **state)
{
	ir_up_init(state);
	ir_activate(*state);
	return 0;
}

/* --- queue pairs --- */

static inline struct vr_qp *
ir_qp(struct vr *v, unsigned int port, enum mlx4_qp_service service)
{
	struct vr_qp *q = vr_qp(v, port, service);

	prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_LINK_ETH, 0);
	return q;
}

static inline void
ir_to(struct vr_qp *q, uint16_t lid, uint32_t qpn)
{
	prm_set(q->ctx, MLX4_QPC_REMOTE_QPN, qpn);
	prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_RLID, lid);
}

/* With a GRH to the GID of a port. */
static inline void
ir_to_gid(struct vr_qp *q, unsigned int port)
{
	uint8_t *path = q->ctx + MLX4_QPC_PRI_PATH;

	prm_set(path, MLX4_PATH_GRH, 1);
	prm_set(path, MLX4_PATH_TCLASS, 0x2b);
	prm_set(path, MLX4_PATH_FLOW_LABEL, 0x12345);
	prm_set64(path, MLX4_PATH_RGID, IR_PREFIX);
	prm_set64(path, MLX4_PATH_RGID + 8, IR_GUID + port);
}

static inline void
ir_pair(struct vr *v, enum mlx4_qp_service service, struct vr_qp **a, struct vr_qp **b)
{
	*a = ir_qp(v, 1, service);
	*b = ir_qp(v, 2, service);
	ir_to(*a, IR_LID2, (*b)->qpn);
	ir_to(*b, IR_LID1, (*a)->qpn);
	vr_qp_up(v, *a);
	vr_qp_up(v, *b);
}

/* QP0 (which 0) or QP1 of a port; its MLX WQEs carry whole packets. */
static inline struct vr_qp *
ir_special(struct vr *v, unsigned int port, unsigned int which)
{
	struct vr_qp *q = ir_qp(v, port, MLX4_QP_ST_MLX);

	q->qpn = VR_SPECIAL + 2 * which + port - 1;
	prm_set(q->ctx, MLX4_QPC_LOCAL_QPN, q->qpn);
	prm_set(q->ctx, MLX4_QPC_MTU, 5);
	prm_set(q->ctx, MLX4_QPC_LG_MSG, 11);
	prm_set(q->ctx, MLX4_QPC_QKEY, which == 0 ? 0 : IB_QP1_QKEY);
	vr_qp_up(v, q);
	return q;
}

/* A datagram of len bytes from the beginning of q's memory; group: with a GRH to this MGID. */
static inline void
ir_post_ud(struct vr *v, struct vr_qp *q, uint16_t lid, uint32_t qpn, const uint8_t *gid, uint32_t len)
{
	uint8_t *d = vr_wqe(v, q) + 16;

	memset(d, 0, 48);
	prm_set32(d, 0, CARD_PD);
	d[5] = gid != NULL ? 0x80 : 0;
	d[6] = (uint8_t)(lid >> 8);
	d[7] = (uint8_t)lid;
	d[11] = 9;
	prm_set32(d, 12, 3u << 28 | 0x02b00000 | 0x1234); /* SL 3 */
	if (gid != NULL)
		memcpy(d + 16, gid, 16);
	prm_set32(d, 32, qpn);
	prm_set32(d, 36, VR_QKEY);
	vr_data(v, q, 4, VR_RW_KEY, q->mem, len);
	vr_post(v, q, MLX4_OP_SEND, 5, 0, 0);
}

/* A packet of QP0 or QP1 to a LID: LRH, BTH and DETH inline, 256 bytes from the beginning of q's memory. */
static inline void
ir_post_mad(struct vr *v, struct vr_qp *q, uint16_t lid, uint32_t qpn)
{
	bool mgmt = q->qpn < VR_SPECIAL + 2;
	uint8_t *w = vr_wqe(v, q), *h = w + 20;

	memset(w, 0, 96);
	prm_set32(w, 16, MLX4_DATA_INLINE | 28);
	prm_set(h - 0, IB_LRH_VL, mgmt ? 15 : 0);
	h[1] = 2;
	h[2] = (uint8_t)(lid >> 8);
	h[3] = (uint8_t)lid;
	h[5] = (28 + 256 + 4) / 4;
	if (lid == 0xffff)
		h[6] = h[7] = 0xff;
	h[8] = 0x64;
	h[9] = 0x40;
	h[10] = h[11] = 0xff;
	h[15] = (uint8_t)qpn;
	if (!mgmt)
		prm_set32(h, 20, IB_QP1_QKEY);
	h[27] = mgmt ? 0 : 1;
	prm_set32(w, 48, 256);
	prm_set32(w, 52, VR_RW_KEY);
	prm_set64(w, 56, q->mem);
	prm_set32(w, 64, MLX4_DATA_INLINE | 4);
	vr_post(v, q, MLX4_OP_SEND, 5, (mgmt ? MLX4_MLX_VL15 : 0) | (lid == 0xffff ? MLX4_MLX_SLR : 0),
		(uint32_t)lid << 16);
}

/* --- IP inside of datagrams --- */

#define IR_IP 4u /* behind the type */

/* One's-complement sum of len bytes, by the book (RFC 1071). */
static inline uint32_t
ir_ones(uint32_t sum, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static inline void
ir_put_sum(uint8_t *at, uint32_t sum)
{
	at[0] = (uint8_t)(~sum >> 8);
	at[1] = (uint8_t)~sum;
}

/* Type, IPv4 and UDP of a packet of len octets of IP, sums and all. */
static inline void
ir_ip_packet(uint8_t *p, uint32_t len)
{
	static const uint8_t h[32] = {8,  0, 0, 0, 0x45, 0, 0, 0, 0,    7, 0x40, 0, 64, 17, 0, 0,
				      10, 0, 0, 1, 10,   0, 0, 2, 0x30, 0, 0x30, 1, 0,  0,  0, 0};
	uint8_t pseudo[4] = {0, 17};

	memcpy(p, h, sizeof(h));
	vr_fill(p + 32, len - 28, 9);
	p[IR_IP + 2] = (uint8_t)(len >> 8);
	p[IR_IP + 3] = (uint8_t)len;
	p[IR_IP + 24] = pseudo[2] = (uint8_t)((len - 20) >> 8);
	p[IR_IP + 25] = pseudo[3] = (uint8_t)(len - 20);
	ir_put_sum(p + IR_IP + 10, ir_ones(0, p + IR_IP, 20));
	ir_put_sum(p + IR_IP + 26,
		   ir_ones(ir_ones(ir_ones(0, pseudo, 4), p + IR_IP + 12, 8), p + IR_IP + 20, len - 20));
}

/* --- what is on the wire --- */

static inline const struct vr_frame *
ir_last(struct vr *v, unsigned int port)
{
	assert_true(v->end[port - 1]->sent != 0);
	return &v->end[port - 1]->frame[v->end[port - 1]->sent - 1];
}

/* Independent of the card's own: bit by bit. */
static inline uint16_t
ir_crc16(const uint8_t *p, uint32_t len)
{
	uint16_t r = 0xffff;

	for (; len != 0; p++, len--) {
		r ^= *p;
		for (unsigned int i = 0; i < 8; i++)
			r = (uint16_t)((r & 1) != 0 ? r >> 1 ^ 0xd008 : r >> 1);
	}
	return (uint16_t)~r;
}

static inline uint32_t
ir_crc32(const uint8_t *p, uint32_t len)
{
	uint32_t r = 0xffffffff;

	for (; len != 0; p++, len--) {
		r ^= *p;
		for (unsigned int i = 0; i < 8; i++)
			r = (r & 1) != 0 ? r >> 1 ^ 0xedb88320 : r >> 1;
	}
	return ~r;
}

static inline void
ir_check_crcs(const struct vr_frame *f)
{
	bool grh = (f->data[1] & 3) == 3;
	uint32_t len = f->len - IR_WIRE_TAIL, bth = grh ? 48 : 8, crc;
	uint8_t m[VR_FRAME_MAX];

	memcpy(m, f->data, len);
	m[0] |= 0xf0;
	if (grh) {
		memset(m, 0xff, 8);
		m[8] |= 0x0f;
		memset(m + 9, 0xff, 3);
		m[15] = 0xff;
	}
	m[bth + 4] = 0xff;
	crc = ir_crc32(m, len);
	assert_int_equal(
		f->data[len] | f->data[len + 1] << 8 | f->data[len + 2] << 16 | (uint32_t)f->data[len + 3] << 24, crc);
	assert_int_equal(f->data[len + 4] | f->data[len + 5] << 8, ir_crc16(f->data, len + 4));
	assert_int_equal((f->data[4] & 7) << 8 | f->data[5], (len + 4) / 4);
}

#endif /* IB_RIG_H */
