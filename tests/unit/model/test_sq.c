/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Send WQEs of every form, seen at the other end of the wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"
#include "frames.h"

static const struct mlx4_cqe *
received(struct fix *f, const uint8_t **data, uint32_t *len)
{
	uint32_t i = f->rx.rci & 63;
	const struct mlx4_cqe *c = rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec);

	if (c == NULL)
		return NULL;
	*data = f->rx.bufs + (size_t)i * RIG_BUF;
	*len = rte_be_to_cpu_32(c->byte_cnt);
	return c;
}

static void
one_segment(void **state)
{
	struct fix *f = *state;
	const struct mlx4_cqe *c;
	const uint8_t *d;
	uint32_t len;
	uint8_t *src = f->tx.bufs;

	for (uint32_t n = 60; n < 1500; n += 7) {
		for (uint32_t i = 0; i < n; i++)
			src[i] = (uint8_t)(i * 31 + n);
		memcpy(src, mac2, 6);
		tpm_store16(src + 12, 0x1234);
		rig_data(&f->tx, 1, src, n);
		rig_post(&f->tx, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC | MLX4_CTRL_CQE);
		rig_ring(&f->r, &f->tx);
		tp_model_step(f->r.m, 32);
		c = received(f, &d, &len);
		assert_non_null(c);
		assert_int_equal(len, n);
		assert_memory_equal(d, src, n);
		assert_int_equal(rte_be_to_cpu_16(c->status), 0);
		*f->rx.dbrec = rte_cpu_to_be_32((f->rx.rci + 64) & 0xffff);
		c = rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec);
		assert_non_null(c);
		assert_int_equal(rte_be_to_cpu_16(c->wqe_index), (f->tx.prod - 1) & 0xffff);
		assert_int_equal(c->owner_sr_opcode & 0x7f, MLX4_CQE_IS_SEND | MLX4_OP_SEND);
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* Pieces of odd lengths, checksums inserted into cleared fields: scapy's bytes must come out. */
static void
gather_checksum(void **state)
{
	struct fix *f = *state;
	const uint8_t *frames[] = {frame_udp4, frame_tcp6}, *d;
	const uint32_t lens[] = {sizeof(frame_udp4), sizeof(frame_tcp6)}, csum[] = {40, 70};
	uint32_t len;

	for (unsigned int i = 0; i < 2; i++) {
		const struct mlx4_cqe *c;
		uint8_t *src = f->tx.bufs;
		uint32_t n = lens[i];

		memcpy(src, frames[i], n);
		tpm_store16(src + csum[i], 0xdead);
		if (i == 0)
			tpm_store16(src + 24, 0xbeef);
		rig_data(&f->tx, 1, src, 17);
		rig_data(&f->tx, 2, src + 17, 28);
		rig_data(&f->tx, 3, src + 45, n - 45);
		rig_post(&f->tx, MLX4_OP_SEND, 4,
			 MLX4_CTRL_NO_ICRC | MLX4_CTRL_CQE | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM);
		rig_ring(&f->r, &f->tx);
		tp_model_step(f->r.m, 32);
		c = received(f, &d, &len);
		assert_non_null(c);
		assert_int_equal(len, n < 60 ? 60 : n);
		assert_memory_equal(d, frames[i], n);
		assert_int_equal(rte_be_to_cpu_16(c->checksum), MLX4_CQE_CSUM_OK);
		assert_int_equal(rte_be_to_cpu_16(c->status),
				 i == 0 ? MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK
					: MLX4_CQE_ST_IPV6 | MLX4_CQE_ST_TCP | MLX4_CQE_ST_IP_OK);
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

static void
inline_frame(void **state)
{
	struct fix *f = *state;
	uint8_t *w = rig_wqe(&f->tx);
	const uint8_t *d;
	uint32_t len;

	/* 44 bytes in the first block, the rest in a second segment at the block boundary. */
	prm_set32(w, 16, MLX4_DATA_INLINE | 44);
	memcpy(w + 20, frame_tcp6, 44);
	prm_set32(w, 64, MLX4_DATA_INLINE | (sizeof(frame_tcp6) - 44));
	memcpy(w + 68, frame_tcp6 + 44, sizeof(frame_tcp6) - 44);
	rig_post(&f->tx, MLX4_OP_SEND, 7, MLX4_CTRL_NO_ICRC | MLX4_CTRL_CQE);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_non_null(received(f, &d, &len));
	assert_int_equal(len, sizeof(frame_tcp6));
	assert_memory_equal(d, frame_tcp6, len);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* Inserted by the sender's card, stripped or kept by the receiver's. */
static void
vlan(void **state)
{
	struct fix *f = *state;
	const struct mlx4_cqe *c;
	const uint8_t *d;
	uint32_t len;

	for (unsigned int keep = 0; keep < 2; keep++) {
		f->rx.qp->vlan_keep = keep != 0;
		memcpy(f->tx.bufs, frame_tcp6, sizeof(frame_tcp6));
		rig_data(&f->tx, 1, f->tx.bufs, sizeof(frame_tcp6));
		rig_post(&f->tx, MLX4_OP_SEND, 2 | MLX4_CTRL_INS_CVLAN | 0x6123u << MLX4_CTRL_VLAN_SHIFT,
			 MLX4_CTRL_NO_ICRC | MLX4_CTRL_CQE);
		rig_ring(&f->r, &f->tx);
		tp_model_step(f->r.m, 32);
		c = received(f, &d, &len);
		assert_non_null(c);
		assert_int_equal(rte_be_to_cpu_32(c->vlan_my_qpn), MLX4_CQE_CVLAN | 9);
		assert_int_equal(rte_be_to_cpu_16(c->sl_vid), 0x6123);
		assert_int_equal(rte_be_to_cpu_16(c->checksum), MLX4_CQE_CSUM_OK);
		assert_int_equal(len, sizeof(frame_tcp6) + 4 * keep);
		assert_memory_equal(d, frame_tcp6, 12);
		if (keep != 0)
			assert_int_equal(prm_get32(d, 12), 0x81006123);
		assert_memory_equal(d + 12 + 4 * keep, frame_tcp6 + 12, sizeof(frame_tcp6) - 12);
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* 2500 bytes in segments of 1000: lengths, ids, sequence numbers, flags, checksums. */
static void
lso(void **state)
{
	static const uint8_t hdr[54] = {2,    0, 0,  0, 0,    2,    2,    0,  0,  0,  0,    1,    8,    0,
					0x45, 0, 0,  0, 0xff, 0xff, 0x40, 0,  64, 6,  0,    0,    10,   0,
					0,    1, 10, 0, 0,    2,    0,    80, 0,  81, 0xff, 0xff, 0xff, 0,
					0,    0, 0,  1, 0x50, 0x99, 0x20, 0,  0,  0,  0,    0};
	struct fix *f = *state;
	uint8_t *w = rig_wqe(&f->tx), *pay = f->tx.bufs;
	const uint8_t *d;
	uint32_t len;

	for (uint32_t i = 0; i < 2500; i++)
		pay[i] = (uint8_t)(i * 7);
	prm_set32(w, 16, 1000u << MLX4_LSO_MSS_SHIFT | sizeof(hdr));
	memcpy(w + 20, hdr, sizeof(hdr));
	rig_data(&f->tx, 5, pay, 1234);
	rig_data(&f->tx, 6, pay + 1234, 2500 - 1234);
	rig_post(&f->tx, MLX4_OP_LSO | MLX4_CTRL_RR, 7,
		 MLX4_CTRL_NO_ICRC | MLX4_CTRL_CQE | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t n = i < 2 ? 1000 : 500;

		assert_non_null(received(f, &d, &len));
		assert_int_equal(len, 54 + n);
		assert_int_equal(tpm_load16(d + 16), 40 + n);
		assert_int_equal(tpm_load16(d + 18), (0xffff + i) & 0xffff);
		assert_int_equal(prm_get32(d, 38), 0xffffff00u + i * 1000);
		/* CWR only on the first, FIN and PSH only on the last (0x99: CWR, ACK, PSH, FIN). */
		assert_int_equal(d[47], i == 0 ? 0x90 : i == 2 ? 0x19 : 0x10);
		assert_memory_equal(d + 54, pay + i * 1000, n);
		assert_int_equal(plain_sum(0, d + 14, 20), 0xffff);
		assert_int_equal(plain_sum(plain_sum(6 + 20 + n, d + 26, 8), d + 34, 20 + n), 0xffff);
	}
	assert_null(received(f, &d, &len));
	assert_non_null(rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec));
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_segment, up, down),
		cmocka_unit_test_setup_teardown(gather_checksum, up, down),
		cmocka_unit_test_setup_teardown(inline_frame, up, down),
		cmocka_unit_test_setup_teardown(vlan, up, down),
		cmocka_unit_test_setup_teardown(lso, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
