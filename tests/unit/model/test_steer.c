/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Steering: addresses, priorities, masks, defaults, detach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_rig.h"

#include "frames.h"

static const uint8_t mac2[6] = {2, 0, 0, 0, 0, 2}, bcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static struct tpm_steer_hit
look(struct rig *r, const uint8_t *d, uint32_t len)
{
	struct tpm_steer_hit h;
	struct tpm_pkt k;

	tpm_parse(d, len, len, &k);
	tpm_steer_lookup(&r->m->port[0], d, len, &k, &h);
	return h;
}

static void
rules(void **state)
{
	struct rig_q q[4];
	struct rig r;
	uint64_t id, id_all, id_udp;
	uint8_t f[sizeof(frame_udp4)], mbox[112] = {0};
	struct tpm_steer_hit h;

	assert_int_equal(rig_open(&r), 0);
	for (uint32_t i = 0; i < 4; i++)
		rig_qp(&r, &q[i], 8 + i, 1, 16, true);
	memcpy(f, frame_udp4, sizeof(f));
	assert_int_equal(look(&r, f, sizeof(f)).n, 0);
	assert_int_equal(rig_rule(&r, 1, NULL, 8, &id_all), 0);
	assert_int_equal(rig_rule(&r, 1, mac2, 9, &id), 0);
	h = look(&r, f, sizeof(f));
	assert_int_equal(h.n, 1);
	assert_int_equal(h.qpn[0], 9);
	/* UDP to port 2000 in a stronger domain; the mask leaves the low four bits open */
	prm_set(mbox, MLX4_DMFS_PRIORITY, MLX4_DMFS_PRIO_ETHTOOL);
	prm_set(mbox, MLX4_DMFS_PORT, 1);
	prm_set(mbox, MLX4_DMFS_QPN, 10);
	prm_set(mbox + 16, MLX4_SPEC_SIZE, MLX4_SPEC_IPV4_SIZE / 4);
	prm_set(mbox + 16, MLX4_SPEC_ID, MLX4_SPEC_IPV4);
	prm_set(mbox + 16, MLX4_SPEC_IPV4_SRC, 0x0a000000);
	prm_set(mbox + 16, MLX4_SPEC_IPV4_SRC_MASK, 0xffffff00);
	prm_set(mbox + 40, MLX4_SPEC_SIZE, MLX4_SPEC_L4_SIZE / 4);
	prm_set(mbox + 40, MLX4_SPEC_ID, MLX4_SPEC_UDP);
	prm_set(mbox + 40, MLX4_SPEC_L4_DPORT, 2000);
	prm_set(mbox + 40, MLX4_SPEC_L4_DPORT_MASK, 0xfff0);
	assert_int_equal(tpm_steer_attach(r.m, mbox, 16, &id_udp), 0);
	assert_int_equal(look(&r, f, sizeof(f)).qpn[0], 10);
	f[37] ^= 0x0f;
	assert_int_equal(look(&r, f, sizeof(f)).qpn[0], 10);
	f[37] ^= 0x10;
	assert_int_equal(look(&r, f, sizeof(f)).qpn[0], 9);
	f[37] ^= 0x1f;
	assert_int_equal(tpm_steer_detach(r.m, id_udp), 0);
	assert_int_equal(look(&r, f, sizeof(f)).qpn[0], 9);
	assert_int_equal(tpm_steer_detach(r.m, id_udp), MLX4_STAT_BAD_PARAM);
	/* the cache forgets with the rule */
	assert_int_equal(tpm_steer_fast(&r.m->port[0], 0x020000000002), 9);
	assert_int_equal(tpm_steer_detach(r.m, id), 0);
	assert_int_equal(tpm_steer_fast(&r.m->port[0], 0x020000000002), 8);
	/* two QPs listen to broadcast: both get it; other group addresses go to the default */
	assert_int_equal(rig_rule(&r, 1, bcast, 9, &id), 0);
	assert_int_equal(rig_rule(&r, 1, bcast, 11, &id), 0);
	memcpy(f, bcast, 6);
	h = look(&r, f, sizeof(f));
	assert_int_equal(h.n, 2);
	assert_int_equal(h.qpn[0] + h.qpn[1], 20);
	f[5] = 0xfe;
	assert_int_equal(look(&r, f, sizeof(f)).qpn[0], 8);
	memset(mbox, 0, sizeof(mbox));
	prm_set(mbox, MLX4_DMFS_TYPE, MLX4_DMFS_MC_DEFAULT);
	prm_set(mbox, MLX4_DMFS_PORT, 1);
	prm_set(mbox, MLX4_DMFS_QPN, 10);
	assert_int_equal(tpm_steer_attach(r.m, mbox, 4, &id), 0);
	assert_int_equal(look(&r, f, sizeof(f)).qpn[0], 10);
	assert_int_equal(tpm_steer_detach(r.m, id_all), 0);
	f[0] = 0x02;
	assert_int_equal(look(&r, f, sizeof(f)).n, 0);
	assert_int_equal(tp_model_violations_total(r.m), 0);
	rig_close(&r);
}

/* A tunnelled frame: outer Ethernet, IPv4 and UDP to the port, VNI 0x123456, an inner Ethernet header. */
static void
vxlan_frame(uint8_t d[96], uint16_t port)
{
	static const uint8_t inner[6] = {2, 0, 0, 0, 0, 0x77};

	memset(d, 0, 96);
	memcpy(d, frame_udp4, 42);
	d[17] = 96 - 14;
	tpm_store16(d + 36, port);
	tpm_store16(d + 38, 96 - 34);
	d[42] = 0x08;
	prm_set32(d, 46, 0x12345600);
	memcpy(d + 50, inner, 6);
	d[62] = 0x08;
}

/* Rule of Linux for a tunnel [CP 6.3]: outer address, VXLAN, inner address; each part decides, under its mask. */
static void
vxlan(void **state)
{
	struct rig_q q[2];
	struct rig r;
	uint64_t id, id_all;
	uint8_t d[96], mbox[16 + 48 + 16 + 48] = {0};

	assert_int_equal(rig_open(&r), 0);
	tpm_steer_mode(r.m, false);
	r.m->vxlan_port = 4789;
	rig_qp(&r, &q[0], 8, 1, 16, true);
	rig_qp(&r, &q[1], 9, 1, 16, true);
	assert_int_equal(rig_rule(&r, 1, NULL, 8, &id_all), 0);
	mbox[0] = 0x50;
	mbox[7] = 1;
	prm_set32(mbox, 8, 9);
	memcpy(mbox + 16, "\x0c\x00\xe0\x01", 4);
	memcpy(mbox + 16 + 0x0a, mac2, 6);
	memset(mbox + 16 + 0x12, 0xff, 6);
	memcpy(mbox + 64, "\x04\x00\xe0\x08", 4);
	prm_set32(mbox, 64 + 8, 0x12340000);
	prm_set32(mbox, 64 + 12, 0xffff0000);
	memcpy(mbox + 80, "\x0c\x00\xe0\x01", 4);
	memcpy(mbox + 80 + 0x0a, "\x02\x00\x00\x00\x00\x77", 6);
	memset(mbox + 80 + 0x12, 0xff, 6);
	assert_int_equal(tpm_steer_attach(r.m, mbox, sizeof(mbox) / 4, &id), 0);
	vxlan_frame(d, 4789);
	assert_int_equal(look(&r, d, sizeof(d)).qpn[0], 9);
	d[48] ^= 0xff; /* VNI bits that the mask leaves open */
	assert_int_equal(look(&r, d, sizeof(d)).qpn[0], 9);
	d[46] ^= 0x01;
	assert_int_equal(look(&r, d, sizeof(d)).qpn[0], 8);
	vxlan_frame(d, 4789);
	d[55] ^= 0x01; /* the inner address */
	assert_int_equal(look(&r, d, sizeof(d)).qpn[0], 8);
	vxlan_frame(d, 4789);
	d[5] ^= 0x01; /* the outer one */
	assert_int_equal(look(&r, d, sizeof(d)).qpn[0], 8);
	vxlan_frame(d, 4788);
	assert_int_equal(look(&r, d, sizeof(d)).qpn[0], 8);
	/* A frame that ends within the inner header. */
	vxlan_frame(d, 4789);
	assert_int_equal(look(&r, d, 63).qpn[0], 8);
	/* No UDP port was configured: nothing is a tunnel. */
	r.m->vxlan_port = 0;
	tpm_steer_mode(r.m, false);
	vxlan_frame(d, 4789);
	assert_int_equal(look(&r, d, sizeof(d)).qpn[0], 8);
	assert_int_equal(tp_model_violations_total(r.m), 0);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rules), cmocka_unit_test(vxlan)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
