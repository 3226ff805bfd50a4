/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_ib_path ROUNDS LEN [WIRE]: what the model's path costs a datagram of IPoIB of LEN octets of IP: send WQE, wire, receive WQE,
 * CQE, on one thread and without software on top. WIRE "cross", as without it, is the card's own, and datagrams stay what they are;
 * by "other" they are packets, whose CRCs the receiver verifies. Under "valgrind --tool=callgrind --toggle-collect=tp_model_step" it
 * counts instructions.
 */
#include <stdio.h>

#include "tests/unit/model/ib_rig.h"

#define BURST (1u << VR_LG_RQ)
#define PART (VR_BUF / BURST)
#define STRIDES 2u /* of a WQE */

/* To the other port, at once. */
struct other {
	struct tp_wire w;
	struct tp_model *m;
	unsigned int to;
};

static unsigned int
other_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	const struct other *o = (const struct other *)w;

	return tp_model_port_receive(o->m, o->to, f, n);
}

static bool
other_link(struct tp_wire *w)
{
	(void)w;
	return true;
}

static const struct tp_wire_ops other_ops = {.name = "other", .send = other_send, .link = other_link};

static int
join(struct tp_model *m, bool other)
{
	static struct other o[2];

	if (!other)
		return tp_model_wire_cross(m);
	for (unsigned int i = 0; i < 2; i++) {
		o[i] = (struct other){.w.ops = &other_ops, .m = m, .to = 2 - i};
		if (tp_model_wire_attach(m, i + 1, &o[i].w) != 0)
			return -1;
	}
	return 0;
}

/* The rig's, but for the owner bit of the pass over the ring. */
static void
post(struct vr *v, struct vr_qp *a, uint32_t i, uint32_t qpn, uint32_t len)
{
	uint32_t pass = (a->prod >> VR_LG_SQ & 1) != 0 ? MLX4_CTRL_OWN : 0;
	uint8_t *w = vr_wqe(v, a);

	ir_post_ud(v, a, IR_LID2, qpn, NULL, len);
	prm_set64(w, 72, a->mem + i * PART);
	prm_set32(w, 8, i == BURST - 1 ? MLX4_CTRL_CQE : 0);
	prm_set32(w, 0, MLX4_OP_SEND | pass);
}

int
main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, got = 0;
	uint32_t len = argc > 2 ? (uint32_t)atoi(argv[2]) : 46;
	struct vr_qp *a, *b;
	void *state;
	struct vr *v;

	if (len < 28 || len > PART - 64) {
		fprintf(stderr, "length %u: wanted 28..%u\n", len, PART - 64);
		return 2;
	}
	ir_up(&state);
	v = state;
	a = ir_qp(v, 1, MLX4_QP_ST_UD);
	b = ir_qp(v, 2, MLX4_QP_ST_UD);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	if (join(v->c->m, argc > 3 && strcmp(argv[3], "other") == 0) != 0)
		return 1;
	for (uint32_t i = 0; i < BURST; i++)
		ir_ip_packet(vr_mem(v, a) + i * PART, len);
	for (unsigned long k = 0; k < rounds; k++) {
		for (uint32_t i = 0; i < BURST; i++) {
			vr_post_recv(v, b, VR_RW_KEY, b->mem + i * PART, PART);
			post(v, a, i, b->qpn, IR_IP + len);
		}
		tp_model_step(v->c->m, BURST);
		while (vr_poll_cq(v, b) != NULL)
			got++;
		while (vr_poll_cq(v, a) != NULL)
			continue;
	}
	printf("packets %lu\n", got);
	if (got != rounds * BURST || tp_model_violations_total(v->c->m) != 0) {
		fprintf(stderr, "%lu packets arrived, wanted %lu\n", got, rounds * BURST);
		return 1;
	}
	vr_down(&state);
	return 0;
}
