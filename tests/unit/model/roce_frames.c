/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * roce_frames FILE: what two ports of a card say to each other over RoCE v1, v2/IPv4 and v2/IPv6, as a capture for other
 * people's dissectors: every service and operation, payloads of all pad lengths, a tag, a NAK.
 */
#include <stdio.h>

#include "verbs_rig.h"

static const uint8_t pcap_head[24] = {0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4, [18] = 1, [23] = 1}; /* Ethernet */

static int
save(const struct vr *v, FILE *f)
{
	for (unsigned int port = 0; port < 2; port++) {
		for (uint32_t i = 0; i < v->end[port]->sent; i++) {
			const struct vr_frame *e = &v->end[port]->frame[i];
			uint8_t head[16] = {0};

			prm_set32(head, 8, e->len);
			prm_set32(head, 12, e->len);
			if (fwrite(head, sizeof(head), 1, f) != 1 || fwrite(e->data, e->len, 1, f) != 1)
				return -1;
		}
	}
	return 0;
}

static void
connected(struct vr *v, unsigned int gid, bool tag)
{
	struct vr_qp *a = vr_qp(v, 1, MLX4_QP_ST_RC), *b = vr_qp(v, 2, MLX4_QP_ST_RC);

	vr_to(v, a, 2, b->qpn, gid);
	vr_to(v, b, 1, a->qpn, gid);
	prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_FORCE_VLAN, tag);
	prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_VLAN_INDEX, 3);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	for (uint32_t len = 1; len <= 4; len++)
		vr_exchange(v, a, b, len);
	vr_exchange(v, b, a, 3001);
	vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 2049, VR_RW_KEY, b->mem);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 8);
	vr_remote(v, a, VR_RW_KEY, b->mem);
	vr_data(v, a, 2, VR_RW_KEY, a->mem, 7);
	vr_post(v, a, MLX4_OP_RDMA_WRITE_IMM, 3, 0, 5);
	vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem, 3002, VR_RW_KEY, b->mem);
	for (unsigned int i = 0; i < 2; i++) {
		vr_remote(v, a, VR_RW_KEY, b->mem);
		memset(vr_wqe(v, a) + 32, 1, 16);
		vr_data(v, a, 3, VR_RW_KEY, a->mem, 8);
		vr_post(v, a, i == 0 ? MLX4_OP_ATOMIC_FA : MLX4_OP_ATOMIC_CS, 4, 0, 0);
	}
	vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 8, CARD_KEY, b->mem); /* refused */
	vr_step(v);
}

static void
unconnected(struct vr *v, unsigned int gid)
{
	struct vr_qp *a, *b;

	vr_pair(v, MLX4_QP_ST_UC, gid, &a, &b);
	vr_exchange(v, a, b, 1030);
	vr_pair(v, MLX4_QP_ST_UD, gid, &a, &b);
	for (uint32_t len = 5; len <= 8; len++) {
		vr_post_recv(v, b, VR_RW_KEY, b->mem, 100);
		vr_post_ud(v, a, 2, b->qpn, gid, len == 8 ? 0x2007 : 0xffff, len);
		vr_step(v);
	}
}

int
main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "wb") : NULL;
	int rc = f == NULL || fwrite(pcap_head, sizeof(pcap_head), 1, f) != 1;

	for (unsigned int gid = 0; gid < VR_GIDS && rc == 0; gid++) {
		void *state;

		vr_up(&state);
		connected(state, gid, gid == VR_GID_V4);
		unconnected(state, gid);
		rc = save(state, f);
		vr_down(&state);
	}
	if (f == NULL || fclose(f) != 0 || rc != 0) {
		fprintf(stderr, "usage: roce_frames FILE (a file that can be written)\n");
		return 2;
	}
	return 0;
}
