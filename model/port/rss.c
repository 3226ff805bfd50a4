/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive-side scaling: which ring of an RSS parent takes a frame [DP 8.2]. The Toeplitz hash is linear, so that it is
 * the exclusive or of one table entry for each byte of the tuple; the tables belong to the key.
 */
#include <stdlib.h>

#include <rte_thash.h>

#include "port.h"

#define TUPLE_MAX 9u  /* two IPv6 addresses and the ports */
#define IPV4_ADDRS 8u /* octets; the ports follow when the header has no options */
#define IPV6_ADDRS 32u

static_assert(TPM_RSS_TUPLE == 4 * TUPLE_MAX, "the longest tuple");

/* The 32 bits of the key from this one on. */
static uint32_t
key_window(const uint8_t *key, unsigned int bit)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < 5; i++)
		v = v << 8 | (bit / 8 + i < MLX4_RSS_KEY_SIZE ? key[bit / 8 + i] : 0);
	return (uint32_t)(v >> (8 - bit % 8));
}

void
tpm_rss_key(struct tpm_qp *qp, const uint8_t key[MLX4_RSS_KEY_SIZE])
{
	struct tpm_rss_tables *t = qp->rss.tables;

	if (t != NULL && memcmp(qp->rss.key, key, MLX4_RSS_KEY_SIZE) == 0)
		return;
	memcpy(qp->rss.key, key, MLX4_RSS_KEY_SIZE);
	if (t == NULL) {
		t = malloc(sizeof(*t));
		qp->rss.tables = t; /* without memory each hash is computed by hand */
	}
	for (unsigned int i = 0; t != NULL && i < TPM_RSS_TUPLE; i++) {
		t->byte[i][0] = 0;
		for (unsigned int b = 0; b < 8; b++) {
			const uint32_t w = key_window(qp->rss.key, 8 * i + 7 - b);

			for (unsigned int v = 0; v < 1u << b; v++)
				t->byte[i][1u << b | v] = t->byte[i][v] ^ w;
		}
	}
}

void
tpm_rss_unload(struct tpm_qp *qp)
{
	free(qp->rss.tables);
	qp->rss.tables = NULL;
}

/* Which fields of the frame count: 0 none, else dwords of addresses; *ports: the ports as well. */
static unsigned int
tuple_kind(const struct tp_model *m, const struct tpm_qp *q, const struct tpm_pkt *k, bool *ports)
{
	bool v4 = k->etype == TPM_ETYPE_IPV4, tcp = (k->status & MLX4_CQE_ST_TCP) != 0;
	uint8_t fl = q->rss.flags;

	*ports = false;
	if (!k->len_ok || (k->frag && prm_get(m->hca, MLX4_HCA_F_RSS_IP_FRAG) == 0))
		return 0;
	if (tcp)
		*ports = (fl & (v4 ? MLX4_RSS_F_TCP_IPV4 : MLX4_RSS_F_TCP_IPV6)) != 0;
	else if ((k->status & MLX4_CQE_ST_UDP) != 0)
		*ports = (fl & (v4 ? MLX4_RSS_F_UDP_IPV4 : MLX4_RSS_F_UDP_IPV6)) != 0;
	if ((fl & MLX4_RSS_F_INNER_IP) == MLX4_RSS_F_INNER_IP && tpm_quirk(m, MLX4_QUIRK_INNER_RSS) == 0)
		*ports = false;
	if (!*ports && (fl & (v4 ? MLX4_RSS_F_IPV4 : MLX4_RSS_F_IPV6)) == 0)
		return 0;
	return v4 ? 2 : 8;
}

static uint32_t
toeplitz(const struct tpm_qp *q, const uint8_t *addrs, unsigned int n, const uint8_t *ports, unsigned int n_ports)
{
	const struct tpm_rss_tables *t = q->rss.tables;
	uint32_t h;

	if (tpm_unlikely(t == NULL)) {
		uint32_t key[MLX4_RSS_KEY_SIZE / 4], tuple[TUPLE_MAX]; /* aligned */

		memcpy(key, q->rss.key, sizeof(key));
		for (unsigned int i = 0; i < n / 4; i++)
			tuple[i] = prm_get32(addrs, 4 * i);
		if (n_ports != 0)
			tuple[n / 4] = prm_get32(ports, 0);
		return rte_softrss(tuple, (n + n_ports) / 4, (const uint8_t *)key);
	}
	h = tpm_rss_toeplitz(t, addrs, n);
	for (unsigned int i = 0; i < n_ports; i++)
		h ^= t->byte[n + i][ports[i]];
	return h;
}

/* The card's fold is not published: all bytes of the tuple xored [DP 8.2, U] */
static uint32_t
fold(const uint8_t *addrs, unsigned int n, const uint8_t *ports, unsigned int n_ports)
{
	uint32_t h = n_ports != 0 ? prm_get32(ports, 0) : 0;

	for (unsigned int i = 0; i < n; i += 4)
		h ^= prm_get32(addrs, i);
	h ^= h >> 16;
	return (h ^ h >> 8) & 0xff;
}

static inline uint32_t
ring_of(const struct tpm_qp *q, uint32_t base, const uint8_t *addrs, unsigned int n, const uint8_t *ports,
	unsigned int n_ports, uint32_t *hash)
{
	*hash = tpm_likely(q->rss.fn == MLX4_RSS_FN_TOEPLITZ) ? toeplitz(q, addrs, n, ports, n_ports)
							      : fold(addrs, n, ports, n_ports);
	return base + (*hash & ((1u << q->rss.lg_rings) - 1));
}

uint32_t
tpm_rss_select(const struct tp_model *m, const struct tpm_qp *q, const uint8_t *hdr, const struct tpm_pkt *k,
	       uint32_t *hash)
{
	unsigned int n;
	bool ports;

	*hash = 0;
	n = tuple_kind(m, q, k, &ports);
	if (n == 0)
		return q->rss.default_qpn;
	return ring_of(q, ports && (k->status & MLX4_CQE_ST_UDP) != 0 ? q->rss.base_qpn_udp : q->rss.base_qpn,
		       hdr + k->l3 + (n == 2 ? 12u : 8u), 4 * n, hdr + k->l4, ports ? 4 : 0, hash);
}

/* The first ring for frames of a kind whose addresses and ports are hashed; false: others decide. */
static inline bool
hashed(const struct tpm_qp *q, const struct tpm_alike *a, uint32_t *base)
{
	const uint8_t fl = q->rss.flags;

	if ((fl & a->rss) == 0 || (fl & MLX4_RSS_F_INNER) != 0)
		return false;
	*base = (a->rss & (MLX4_RSS_F_UDP_IPV4 | MLX4_RSS_F_UDP_IPV6)) != 0 ? q->rss.base_qpn_udp : q->rss.base_qpn;
	return true;
}

bool
tpm_rss_select_alike(const struct tpm_qp *q, const struct tpm_alike *a, const uint8_t *d, uint32_t *child,
		     uint32_t *hash)
{
	uint32_t base;

	if (!hashed(q, a, &base))
		return false;
	*child = a->v4 ? ring_of(q, base, d + a->from, IPV4_ADDRS, d + a->from + IPV4_ADDRS, 4, hash)
		       : ring_of(q, base, d + a->from, IPV6_ADDRS, d + a->from + IPV6_ADDRS, 4, hash);
	return true;
}

void
tpm_rss_way(const struct tpm_qp *q, const struct tpm_alike *a, struct tpm_rss_way *way)
{
	way->kind = a;
	way->tables = q->rss.fn == MLX4_RSS_FN_TOEPLITZ && hashed(q, a, &way->base) ? q->rss.tables : NULL;
	way->mask = (1u << q->rss.lg_rings) - 1;
	way->from = a->from;
	way->v4 = a->v4;
}
