/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* RSS against the vectors that Microsoft publishes for the Toeplitz hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/reta/toeplitz_vectors.h"
#include "dp_rig.h"

#include <arpa/inet.h>

/* A TCP or UDP frame of the vector; returns its length. */
static uint32_t
build(uint8_t *d, unsigned int i, uint8_t proto)
{
	bool v6 = strchr(toeplitz_vec[i].src, ':') != NULL;
	uint8_t *ip = d + 14, *l4 = ip + (v6 ? 40 : 20);

	memset(d, 0, 128);
	tpm_store16(d + 12, v6 ? TPM_ETYPE_IPV6 : TPM_ETYPE_IPV4);
	if (v6) {
		ip[0] = 0x60;
		tpm_store16(ip + 4, 40);
		ip[6] = proto;
		inet_pton(AF_INET6, toeplitz_vec[i].src, ip + 8);
		inet_pton(AF_INET6, toeplitz_vec[i].dst, ip + 24);
	} else {
		ip[0] = 0x45;
		tpm_store16(ip + 2, 60);
		ip[9] = proto;
		inet_pton(AF_INET, toeplitz_vec[i].src, ip + 12);
		inet_pton(AF_INET, toeplitz_vec[i].dst, ip + 16);
	}
	tpm_store16(l4, toeplitz_vec[i].sport);
	tpm_store16(l4 + 2, toeplitz_vec[i].dport);
	return (uint32_t)(l4 - d) + 40;
}

static uint32_t
select_ring(const struct tp_model *m, const struct tpm_qp *q, unsigned int i, uint8_t proto, uint32_t *hash)
{
	uint8_t d[128];
	uint32_t len = build(d, i, proto);
	struct tpm_pkt k;

	tpm_parse(d, len, len, &k);
	return tpm_rss_select(m, q, d, &k, hash);
}

static void
vectors(bool tables)
{
	struct tp_model *m = calloc(1, sizeof(*m));
	struct tpm_qp *q = calloc(1, sizeof(*q));
	uint32_t hash;

	q->rss.fn = MLX4_RSS_FN_TOEPLITZ;
	q->rss.lg_rings = 3;
	q->rss.base_qpn = 0x100;
	q->rss.base_qpn_udp = 0x200;
	q->rss.default_qpn = 0x77;
	if (tables)
		tpm_rss_key(q, toeplitz_key);
	else
		memcpy(q->rss.key, toeplitz_key, sizeof(toeplitz_key));
	assert_true(tables == (q->rss.tables != NULL));
	for (unsigned int i = 0; i < RTE_DIM(toeplitz_vec); i++) {
		q->rss.flags = MLX4_RSS_F_IPV4 | MLX4_RSS_F_IPV6;
		assert_int_equal(select_ring(m, q, i, TPM_PROTO_TCP, &hash), 0x100 + (toeplitz_vec[i].ip & 7));
		assert_int_equal(hash, toeplitz_vec[i].ip);
		q->rss.flags = MLX4_RSS_F_TCP_IPV4 | MLX4_RSS_F_TCP_IPV6 | MLX4_RSS_F_UDP_IPV4 | MLX4_RSS_F_UDP_IPV6;
		assert_int_equal(select_ring(m, q, i, TPM_PROTO_TCP, &hash), 0x100 + (toeplitz_vec[i].l4 & 7));
		assert_int_equal(hash, toeplitz_vec[i].l4);
		assert_int_equal(select_ring(m, q, i, TPM_PROTO_UDP, &hash), 0x200 + (toeplitz_vec[i].l4 & 7));
		assert_int_equal(hash, toeplitz_vec[i].l4);
		q->rss.flags = 0;
		assert_int_equal(select_ring(m, q, i, TPM_PROTO_UDP, &hash), 0x77);
		assert_int_equal(hash, 0);
	}
	tpm_rss_unload(q);
	free(q);
	free(m);
}

static void
toeplitz_vectors(void **state)
{
	vectors(true);
}

/* Where there is no memory for tables. */
static void
toeplitz_by_hand(void **state)
{
	vectors(false);
}

/* The road for frames of one kind takes the frames of the vectors, and whatever it takes it judges as the parser's does. */
static void
without_parser(void **state)
{
	struct tp_model *m = calloc(1, sizeof(*m));
	struct tpm_qp *q = calloc(1, sizeof(*q));
	uint32_t hash, fast_hash, child, fast_child, len, taken = 0, left = 0;
	struct tp_frame_seg seg;
	struct tp_frame f = {.seg = &seg, .nseg = 1};
	struct tpm_alike a;
	uint8_t d[128];
	struct tpm_pkt k;

	q->rss.fn = MLX4_RSS_FN_TOEPLITZ;
	q->rss.lg_rings = 5;
	q->rss.base_qpn = 0x100;
	q->rss.base_qpn_udp = 0x200;
	q->rss.default_qpn = 0x77;
	tpm_rss_key(q, toeplitz_key);
	srand(7);
	for (unsigned int round = 0; round < 20000; round++) {
		len = build(d, (unsigned int)rand() % 5, rand() % 2 ? TPM_PROTO_TCP : TPM_PROTO_UDP);
		tpm_store16(d + len - 36, 40); /* UDP's length, most often */
		for (unsigned int i = (unsigned int)rand() % 3; i > 0; i--)
			d[12 + rand() % 26] = (uint8_t)(rand() % 3 == 0 ? rand() : rand() % 2);
		len -= rand() % 4 == 0 ? (uint32_t)rand() % 60 : 0;
		q->rss.flags = (uint8_t)rand();
		tpm_parse(d, len, len, &k);
		child = tpm_rss_select(m, q, d, &k, &hash);
		seg = (struct tp_frame_seg){.data = d, .len = len};
		f.len = len;
		tpm_alike_make(&a, &f);
		assert_true(tpm_is_alike(&a, &f, d));
		if (tpm_rss_select_alike(q, &a, d, &fast_child, &fast_hash)) {
			assert_int_equal(fast_child, child);
			assert_int_equal(fast_hash, hash);
			taken++;
		} else {
			left++;
		}
	}
	assert_true(taken > 2000 && left > 2000);
	tpm_rss_unload(q);
	free(q);
	free(m);
}

static void
fragments(void **state)
{
	struct tp_model *m = calloc(1, sizeof(*m));
	struct tpm_qp *q = calloc(1, sizeof(*q));
	struct tpm_pkt k;
	uint8_t d[128];
	uint32_t hash, len = build(d, 0, TPM_PROTO_TCP);

	q->rss.fn = MLX4_RSS_FN_TOEPLITZ;
	q->rss.flags = MLX4_RSS_F_TCP_IPV4 | MLX4_RSS_F_IPV4;
	q->rss.default_qpn = 0x77;
	tpm_rss_key(q, toeplitz_key);
	d[14 + 6] = 0x20;
	tpm_parse(d, len, len, &k);
	assert_int_equal(tpm_rss_select(m, q, d, &k, &hash), 0x77);
	prm_set(m->hca, MLX4_HCA_F_RSS_IP_FRAG, 1);
	tpm_rss_select(m, q, d, &k, &hash);
	assert_int_equal(hash, toeplitz_vec[0].ip);
	tpm_rss_unload(q);
	free(q);
	free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(toeplitz_vectors),
		cmocka_unit_test(toeplitz_by_hand),
		cmocka_unit_test(without_parser),
		cmocka_unit_test(fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
