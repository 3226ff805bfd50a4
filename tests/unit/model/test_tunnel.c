/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames inside frames: checksums both ways, segments and hashes, against frames that scapy built. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"
#include "frames.h"
#include "tunnel_frames.h"

#define INNER_ETH 50u /* of vxlan_tcp4, whose outer headers take so much */
#define INNER_IP (INNER_ETH + 14u)
#define INNER_TCP (INNER_IP + 20u)
#define TCP4_OK (MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_TCP | MLX4_CQE_ST_IP_OK)
#define OUTER4 (MLX4_CQE_TUNNELED | MLX4_CQE_TUNNEL_IPV4)

static int
tunnels_up(void **state)
{
	struct fix *f;
	int rc = up(state);

	f = *state;
	f->r.m->vxlan_port = 4789;
	f->r.m->port[0].tunnels = f->r.m->port[1].tunnels = true;
	f->rx.qp->tunnels = true;
	return rc;
}

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

static const struct mlx4_cqe *
arrives(struct fix *f, const uint8_t *d, uint32_t len)
{
	struct tp_frame_seg seg = {.data = d, .len = len};
	const struct tp_frame frame = {.seg = &seg, .nseg = 1, .len = len};
	const struct mlx4_cqe *c;
	const uint8_t *out;
	uint32_t n;

	assert_int_equal(tp_model_port_receive(f->r.m, 2, &frame, 1), 1);
	c = received(f, &out, &n);
	assert_non_null(c);
	assert_int_equal(n, len);
	assert_memory_equal(out, d, len);
	*f->rx.dbrec = rte_cpu_to_be_32((f->rx.rci + 64) & 0xffff);
	return c;
}

static void
expect(const struct mlx4_cqe *c, uint32_t flags, uint16_t status, bool l4_ok)
{
	assert_int_equal(rte_be_to_cpu_32(c->vlan_my_qpn), flags | 9);
	assert_int_equal(rte_be_to_cpu_16(c->status), status);
	assert_int_equal(c->badfcs_enc, l4_ok ? MLX4_CQE_L4_OK : 0);
	assert_int_equal(rte_be_to_cpu_16(c->checksum), l4_ok ? MLX4_CQE_CSUM_OK : 0);
}

/* The completion's status is the inner frame's, its flags are the outer one's; each checksum is judged alone. */
static void
receive(void **state)
{
	const uint32_t ok = OUTER4 | MLX4_CQE_TUNNEL_IP_OK | MLX4_CQE_TUNNEL_UDP_OK;
	struct fix *f = *state;
	uint8_t d[256];

	expect(arrives(f, vxlan_tcp4, sizeof(vxlan_tcp4)), ok, TCP4_OK, true);
	expect(arrives(f, vxlan6_udp6, sizeof(vxlan6_udp6)),
	       MLX4_CQE_TUNNELED | MLX4_CQE_TUNNEL_IP_OK | MLX4_CQE_TUNNEL_UDP_OK,
	       MLX4_CQE_ST_IPV6 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK, true);
	expect(arrives(f, nvgre_tcp4, sizeof(nvgre_tcp4)), OUTER4 | MLX4_CQE_TUNNEL_IP_OK, TCP4_OK, true);
	expect(arrives(f, ipip_tcp4, sizeof(ipip_tcp4)), 0, MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_IP_OK, false);
	memcpy(d, vxlan_tcp4, sizeof(vxlan_tcp4));
	d[sizeof(vxlan_tcp4) - 1] ^= 1;
	expect(arrives(f, d, sizeof(vxlan_tcp4)), ok, TCP4_OK, false);
	memcpy(d, vxlan_tcp4, sizeof(vxlan_tcp4));
	d[INNER_IP + 5] ^= 1;
	expect(arrives(f, d, sizeof(vxlan_tcp4)), ok, MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_TCP, true);
	memcpy(d, vxlan_tcp4, sizeof(vxlan_tcp4));
	d[19] ^= 1;
	expect(arrives(f, d, sizeof(vxlan_tcp4)), ok & ~MLX4_CQE_TUNNEL_IP_OK, TCP4_OK, true);
	memcpy(d, vxlan_tcp4, sizeof(vxlan_tcp4));
	tpm_store16(d + 40, 0x1234);
	expect(arrives(f, d, sizeof(vxlan_tcp4)), ok & ~MLX4_CQE_TUNNEL_UDP_OK, TCP4_OK, true);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* Options of the outer IPv4 header (RFC 791) move what follows, and are no reason not to look. */
static void
receive_with_options(void **state)
{
	struct fix *f = *state;
	uint8_t d[256];

	memcpy(d, vxlan_tcp4, 34);
	memset(d + 34, 1, 4); /* four that do nothing */
	memcpy(d + 38, vxlan_tcp4 + 34, sizeof(vxlan_tcp4) - 34);
	d[14] = 0x46;
	tpm_store16(d + 16, (uint16_t)(tpm_load16(d + 16) + 4));
	tpm_store16(d + 24, 0);
	tpm_store16(d + 24, (uint16_t)~plain_sum(0, d + 14, 24));
	expect(arrives(f, d, sizeof(vxlan_tcp4) + 4), OUTER4 | MLX4_CQE_TUNNEL_IP_OK | MLX4_CQE_TUNNEL_UDP_OK, TCP4_OK,
	       true);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* A tag of 802.1ad in front of the outer header moves it, and is no reason not to look. */
static void
receive_tagged(void **state)
{
	struct fix *f = *state;
	uint8_t d[256];

	memcpy(d, vxlan_tcp4, 12);
	memcpy(d + 12, "\x88\xa8\x00\x05", 4);
	memcpy(d + 16, vxlan_tcp4 + 12, sizeof(vxlan_tcp4) - 12);
	expect(arrives(f, d, sizeof(vxlan_tcp4) + 4), OUTER4 | MLX4_CQE_TUNNEL_IP_OK | MLX4_CQE_TUNNEL_UDP_OK, TCP4_OK,
	       true);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* A frame is a tunnel's only with the port, the flag and the key of one, and when port and queue are told to look. */
static void
receive_no_tunnel(void **state)
{
	const uint16_t outer = MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK;
	struct fix *f = *state;
	uint8_t d[256];

	memcpy(d, vxlan_tcp4, sizeof(vxlan_tcp4));
	d[42] = 0;
	expect(arrives(f, d, sizeof(vxlan_tcp4)), 0, outer, false);
	memcpy(d, nvgre_tcp4, sizeof(nvgre_tcp4));
	d[34] = 0;
	expect(arrives(f, d, sizeof(nvgre_tcp4)), 0, MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_IP_OK, false);
	/* GRE around something else than Ethernet */
	memcpy(d, nvgre_tcp4, sizeof(nvgre_tcp4));
	tpm_store16(d + 36, 0x0800);
	expect(arrives(f, d, sizeof(nvgre_tcp4)), 0, MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_IP_OK, false);
	f->r.m->vxlan_port = 4790;
	expect(arrives(f, vxlan_tcp4, sizeof(vxlan_tcp4)), 0, outer, false);
	f->r.m->vxlan_port = 4789;
	f->rx.qp->tunnels = false;
	expect(arrives(f, vxlan_tcp4, sizeof(vxlan_tcp4)), 0, outer, false);
	f->rx.qp->tunnels = true;
	f->r.m->port[1].tunnels = false;
	expect(arrives(f, vxlan_tcp4, sizeof(vxlan_tcp4)), 0, outer, false);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* Whatever a frame promises and however short it is, the parser stays inside it. */
static void
cut_frames(void **state)
{
	const uint8_t *frame[] = {vxlan_tcp4, vxlan6_udp6, nvgre_tcp4, ipip_tcp4};
	const uint32_t len[] = {sizeof(vxlan_tcp4), sizeof(vxlan6_udp6), sizeof(nvgre_tcp4), sizeof(ipip_tcp4)};
	struct fix *f = *state;
	struct tpm_pkt outer, inner;

	for (unsigned int i = 0; i < 4; i++) {
		for (uint32_t n = 14; n <= len[i]; n++) {
			uint8_t *d = malloc(n); /* its end is where a sanitizer looks */

			memcpy(d, frame[i], n);
			if (n >= 60)
				tpm_store16(d + (i == 1 ? 18 : 16), (uint16_t)(n - (i == 1 ? 54 : 14)));
			tpm_parse(d, n, n, &outer);
			if (tpm_tunnel_parse(f->r.m, &f->r.m->port[1], d, n, &outer, &inner) != TPM_TUNNEL_NONE &&
			    n != len[i])
				assert_false(inner.len_ok);
			free(d);
		}
	}
}

/* Cleared checksums come out as scapy had them; the outer UDP checksum stays as it was. */
static void
transmit(void **state)
{
	const struct {
		const uint8_t *d;
		uint32_t len, outer_ip, inner_ip, inner_l4, dw0;
	} c[] = {
		{vxlan_tcp4, sizeof(vxlan_tcp4), 24, INNER_IP + 10, INNER_TCP + 16, MLX4_CTRL_IIP | MLX4_CTRL_ILP},
		{vxlan6_udp6, sizeof(vxlan6_udp6), 0, 0, 14 + 40 + 16 + 14 + 40 + 6, MLX4_CTRL_ILP},
		{nvgre_tcp4, sizeof(nvgre_tcp4), 24, 66, 92, MLX4_CTRL_IIP | MLX4_CTRL_ILP},
		{ipip_tcp4, sizeof(ipip_tcp4), 24, 44, 70, MLX4_CTRL_IIP | MLX4_CTRL_ILP},
		/* One of both alone */
		{vxlan_tcp4, sizeof(vxlan_tcp4), 24, INNER_IP + 10, 0, MLX4_CTRL_IIP},
		{vxlan_tcp4, sizeof(vxlan_tcp4), 24, 0, INNER_TCP + 16, MLX4_CTRL_ILP},
	};
	struct fix *f = *state;
	const uint8_t *d;
	uint32_t len;

	for (unsigned int i = 0; i < 6; i++) {
		uint8_t *src = f->tx.bufs;

		memcpy(src, c[i].d, c[i].len);
		if (c[i].outer_ip != 0)
			tpm_store16(src + c[i].outer_ip, 0xdead);
		if (c[i].inner_ip != 0)
			tpm_store16(src + c[i].inner_ip, 0xbeef);
		if (c[i].inner_l4 != 0)
			tpm_store16(src + c[i].inner_l4, 0xcafe);
		rig_data(&f->tx, 1, src, 57);
		rig_data(&f->tx, 2, src + 57, c[i].len - 57);
		rig_post(&f->tx, MLX4_OP_SEND | c[i].dw0, 3, MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM);
		rig_ring(&f->r, &f->tx);
		tp_model_step(f->r.m, 32);
		assert_non_null(received(f, &d, &len));
		assert_int_equal(len, c[i].len);
		assert_memory_equal(d, c[i].d, len);
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* Sums inside a tunnel of a frame that has none, and on a port that does not look. */
static void
transmit_wrong(void **state)
{
	struct fix *f = *state;
	const uint8_t *d;
	uint32_t len;

	memcpy(f->tx.bufs, frame_udp4, sizeof(frame_udp4));
	rig_data(&f->tx, 1, f->tx.bufs, sizeof(frame_udp4));
	rig_post(&f->tx, MLX4_OP_SEND | MLX4_CTRL_ILP, 2, MLX4_CTRL_NO_ICRC);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "wqe-csum"), 1);
	assert_non_null(received(f, &d, &len));
	assert_memory_equal(d, frame_udp4, sizeof(frame_udp4));
	/* Linux's driver says so of frames that it summed itself: they leave as they are. */
	f->r.m->port[0].tunnels = false;
	memcpy(f->tx.bufs, vxlan_tcp4, sizeof(vxlan_tcp4));
	tpm_store16(f->tx.bufs + INNER_TCP + 16, 0xcafe);
	rig_data(&f->tx, 1, f->tx.bufs, sizeof(vxlan_tcp4));
	rig_post(&f->tx, MLX4_OP_SEND | MLX4_CTRL_IIP | MLX4_CTRL_ILP, 2, MLX4_CTRL_NO_ICRC);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(tp_model_violations_total(f->r.m), 1);
	assert_non_null(received(f, &d, &len));
	assert_int_equal(len, sizeof(vxlan_tcp4));
	assert_memory_equal(d, f->tx.bufs, len);
	rig_data(&f->tx, 1, f->tx.bufs, sizeof(vxlan_tcp4));
	rig_post(&f->tx, MLX4_OP_SEND | MLX4_CTRL_ILP, 2, MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "wqe-reserved"), 1);
	assert_int_equal(f->tx.qp->state, MLX4_QP_ERR);
}

/* 2500 bytes in segments of 1000: lengths, identifications and checksums of both frames, the inner sequence number. */
static void
lso(void **state)
{
	struct fix *f = *state;
	uint8_t *w = rig_wqe(&f->tx), *pay = f->tx.bufs;
	const uint32_t hlen = INNER_TCP + 20;
	const uint8_t *d;
	uint32_t len;

	for (uint32_t i = 0; i < 2500; i++)
		pay[i] = (uint8_t)(i * 7);
	prm_set32(w, 16, 1000u << MLX4_LSO_MSS_SHIFT | hlen);
	memcpy(w + 20, vxlan_tcp4, hlen);
	rig_data(&f->tx, 8, pay, 2500);
	rig_post(&f->tx, MLX4_OP_LSO | MLX4_CTRL_RR | MLX4_CTRL_IIP | MLX4_CTRL_ILP, 9,
		 MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t n = i < 2 ? 1000 : 500;

		expect(received(f, &d, &len), OUTER4 | MLX4_CQE_TUNNEL_IP_OK | MLX4_CQE_TUNNEL_UDP_OK, TCP4_OK, true);
		assert_int_equal(len, hlen + n);
		assert_int_equal(tpm_load16(d + 16), len - 14);
		assert_int_equal(tpm_load16(d + 18), 3 + i);
		assert_int_equal(plain_sum(0, d + 14, 20), 0xffff);
		assert_int_equal(tpm_load16(d + 38), len - 34);
		assert_int_equal(tpm_load16(d + 40), 0);
		assert_memory_equal(d + 42, vxlan_tcp4 + 42, INNER_IP - 42);
		assert_int_equal(tpm_load16(d + INNER_IP + 2), 40 + n);
		assert_int_equal(tpm_load16(d + INNER_IP + 4), 7 + i);
		assert_int_equal(plain_sum(0, d + INNER_IP, 20), 0xffff);
		assert_int_equal(prm_get32(d, INNER_TCP + 4), 1000 + i * 1000);
		assert_int_equal(d[INNER_TCP + 13], i == 2 ? 0x18 : 0x10);
		assert_int_equal(plain_sum(plain_sum(6 + 20 + n, d + INNER_IP + 12, 8), d + INNER_TCP, 20 + n), 0xffff);
		assert_memory_equal(d + hlen, pay + i * 1000, n);
	}
	assert_null(received(f, &d, &len));
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* A parent that hashes inner headers gives the hash that Microsoft publishes for the inner addresses and ports. */
static void
inner_hash(void **state)
{
	static const uint8_t ms_key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
					   0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
					   0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
					   0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
	const uint8_t all = MLX4_RSS_F_TCP_IPV4 | MLX4_RSS_F_IPV4;
	struct fix *f = *state;
	struct rig_q parent;

	rig_qp(&f->r, &parent, 10, 2, 16, false);
	parent.qp->is_rss = true;
	parent.qp->rss.fn = MLX4_RSS_FN_TOEPLITZ;
	parent.qp->rss.base_qpn = parent.qp->rss.default_qpn = 9;
	tpm_rss_key(parent.qp, ms_key);
	assert_int_equal(tpm_steer_detach(f->r.m, f->rule), 0);
	assert_int_equal(rig_rule(&f->r, 2, mac2, 10, &f->rule), 0);
	parent.qp->rss.flags = all | MLX4_RSS_F_INNER;
	assert_int_equal(rte_be_to_cpu_32(arrives(f, vxlan_tcp4, sizeof(vxlan_tcp4))->immed_rss), 0x51ccc178);
	assert_int_equal(rte_be_to_cpu_32(arrives(f, nvgre_tcp4, sizeof(nvgre_tcp4))->immed_rss), 0x51ccc178);
	parent.qp->rss.flags = all | MLX4_RSS_F_INNER_IP;
	assert_int_equal(rte_be_to_cpu_32(arrives(f, vxlan_tcp4, sizeof(vxlan_tcp4))->immed_rss), 0x323e8fc2);
	parent.qp->rss.flags = all;
	assert_int_not_equal(rte_be_to_cpu_32(arrives(f, vxlan_tcp4, sizeof(vxlan_tcp4))->immed_rss), 0x51ccc178);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(receive, tunnels_up, down),
		cmocka_unit_test_setup_teardown(receive_with_options, tunnels_up, down),
		cmocka_unit_test_setup_teardown(receive_tagged, tunnels_up, down),
		cmocka_unit_test_setup_teardown(receive_no_tunnel, tunnels_up, down),
		cmocka_unit_test_setup_teardown(cut_frames, tunnels_up, down),
		cmocka_unit_test_setup_teardown(transmit, tunnels_up, down),
		cmocka_unit_test_setup_teardown(transmit_wrong, tunnels_up, down),
		cmocka_unit_test_setup_teardown(lso, tunnels_up, down),
		cmocka_unit_test_setup_teardown(inner_hash, tunnels_up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
