/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive-side scaling: which ring of an RSS parent takes a frame [DP 8.2]. */
#include <rte_thash.h>

#include "datapath.h"

#define TUPLE_MAX 9u /* two IPv6 addresses and the ports */

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
	if (!*ports && (fl & (v4 ? MLX4_RSS_F_IPV4 : MLX4_RSS_F_IPV6)) == 0)
		return 0;
	return v4 ? 2 : 8;
}

uint32_t
tpm_rss_select(const struct tp_model *m, const struct tpm_qp *q, const uint8_t *hdr, const struct tpm_pkt *k,
	       uint32_t *hash)
{
	uint32_t key[MLX4_RSS_KEY_SIZE / 4]; /* aligned */
	uint32_t tuple[TUPLE_MAX], h = 0, base = q->rss.base_qpn;
	unsigned int n;
	bool ports;

	*hash = 0;
	n = tuple_kind(m, q, k, &ports);
	if (n == 0)
		return q->rss.default_qpn;
	for (unsigned int i = 0; i < n; i++)
		tuple[i] = prm_get32(hdr, k->l3 + (n == 2 ? 12u : 8u) + 4u * i);
	if (ports) {
		tuple[n++] = prm_get32(hdr, k->l4);
		if ((k->status & MLX4_CQE_ST_UDP) != 0)
			base = q->rss.base_qpn_udp;
	}
	if (q->rss.fn == MLX4_RSS_FN_TOEPLITZ) {
		memcpy(key, q->rss.key, sizeof(key));
		h = rte_softrss(tuple, n, (const uint8_t *)key);
	} else {
		/* The card's fold is not published: all bytes of the tuple xored [DP 8.2, U] */
		for (unsigned int i = 0; i < n; i++)
			h ^= tuple[i];
		h ^= h >> 16;
		h = (h ^ h >> 8) & 0xff;
	}
	*hash = h;
	return base + (h & ((1u << q->rss.lg_rings) - 1));
}
