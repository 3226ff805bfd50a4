/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Writes what ports of the InfiniBand model put on a wire to a pcap file of link type 197 (ERF), for tests/system/test_ib_wire.py. */
#include <stdio.h>

#include "ib_rig.h"

static const uint32_t pcap_head[6] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 65535, 197};

static int
save(const struct vr *v, FILE *f)
{
	for (unsigned int e = 0; e < 2; e++)
		for (uint32_t i = 0; i < v->end[e]->sent; i++) {
			const struct vr_frame *r = &v->end[e]->frame[i];
			const uint32_t head[4] = {i, e, 16 + r->len, 16 + r->len};
			uint8_t erf[16] = {[4] = (uint8_t)i, [8] = 21, [9] = 4};

			prm_set(erf, PRM_H(10, 15, 0), 16 + r->len);
			prm_set(erf, PRM_H(14, 15, 0), r->len);
			if (fwrite(head, sizeof(head), 1, f) != 1 || fwrite(erf, sizeof(erf), 1, f) != 1 ||
			    fwrite(r->data, r->len, 1, f) != 1)
				return -1;
		}
	return 0;
}

static void
connected(struct vr *v, bool grh)
{
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_RC), *b = ir_qp(v, 2, MLX4_QP_ST_RC);

	ir_to(a, IR_LID2, b->qpn);
	ir_to(b, IR_LID1, a->qpn);
	if (grh) {
		ir_to_gid(a, 2);
		ir_to_gid(b, 1);
	}
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	for (uint32_t len = 1; len <= 4; len++)
		vr_exchange(v, a, b, len);
	vr_exchange(v, b, a, 3001);
	vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 2049, VR_RW_KEY, b->mem);
	vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem, 3002, VR_RW_KEY, b->mem);
	vr_remote(v, a, VR_RW_KEY, b->mem);
	memset(vr_wqe(v, a) + 32, 1, 16);
	vr_data(v, a, 3, VR_RW_KEY, a->mem, 8);
	vr_post(v, a, MLX4_OP_ATOMIC_FA, 4, 0, 0);
	vr_step(v);
}

static void
datagrams(struct vr *v)
{
	static const uint8_t group[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1};
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *b = ir_qp(v, 2, MLX4_QP_ST_UD);

	vr_qp_up(v, a);
	vr_qp_up(v, b);
	for (uint32_t len = 5; len <= 8; len++)
		ir_post_ud(v, a, len == 8 ? 0xc001 : IR_LID2, len == 8 ? 0xffffff : b->qpn, len == 8 ? group : NULL,
			   len);
	vr_step(v);
}

/* A directed route to the firmware behind the wire, which answers; and a datagram from QP1. */
static void
management(struct vr *v)
{
	struct vr_qp *q = ir_special(v, 1, 0), *gsi = ir_special(v, 1, 1);
	uint8_t *mad = vr_mem(v, q);

	mad[0] = mad[2] = mad[3] = mad[6] = mad[7] = mad[0x81] = 1;
	mad[1] = 0x81;
	mad[0x11] = 0x15;
	memset(mad + 0x20, 0xff, 4);
	ir_post_mad(v, q, 0xffff, 0);
	memcpy(vr_mem(v, gsi), "\x01\x04\x01\x01", 4);
	vr_mem(v, gsi)[0x11] = 0x12;
	ir_post_mad(v, gsi, IR_LID2, 1);
	vr_step(v);
}

int
main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "wb") : NULL;
	int rc = f == NULL || fwrite(pcap_head, sizeof(pcap_head), 1, f) != 1;
	void *state;

	if (rc == 0) {
		ir_up(&state);
		connected(state, false);
		connected(state, true);
		datagrams(state);
		management(state);
		rc = save(state, f);
		vr_down(&state);
	}
	if (f == NULL || fclose(f) != 0 || rc != 0) {
		fprintf(stderr, "usage: ib_frames FILE (a file that can be written)\n");
		return 2;
	}
	return 0;
}
