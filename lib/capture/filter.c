/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Filters of libpcap's compiler, and packets as they would be on the wire: in one piece, with their tag. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "capture_priv.h"

#define ADDRESSES (2u * RTE_ETHER_ADDR_LEN)

struct cap_filter {
	struct bpf_program prog;
};

int
cap_filter_make(const char *text, struct cap_filter **out, char err[TP_CAPTURE_ERR])
{
	struct cap_filter *f;
	pcap_t *p;

	*out = NULL;
	if (text[0] == '\0')
		return 0;
	f = calloc(1, sizeof(*f));
	p = pcap_open_dead(DLT_EN10MB, TP_CAPTURE_OCTETS_MAX);
	if (f == NULL || p == NULL) {
		snprintf(err, TP_CAPTURE_ERR, "filter '%.40s': no memory", text);
		free(f);
		if (p != NULL)
			pcap_close(p);
		return -ENOMEM;
	}
	if (pcap_compile(p, &f->prog, text, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		snprintf(err, TP_CAPTURE_ERR, "filter '%.200s': %.200s", text, pcap_geterr(p));
		pcap_close(p);
		free(f);
		return -EINVAL;
	}
	pcap_close(p);
	*out = f;
	return 0;
}

void
cap_filter_free(struct cap_filter *f)
{
	if (f == NULL)
		return;
	pcap_freecode(&f->prog);
	free(f);
}

static void
copy_from(uint8_t *to, const struct rte_mbuf *m, uint32_t from, uint32_t octets)
{
	const void *at = rte_pktmbuf_read(m, from, octets, to);

	if (at != NULL && at != to)
		rte_memcpy(to, at, octets);
}

void
cap_copy(uint8_t *to, const struct rte_mbuf *m, uint32_t octets, bool tag)
{
	const rte_be16_t vlan[2] = {RTE_BE16(RTE_ETHER_TYPE_VLAN), rte_cpu_to_be_16(m->vlan_tci)};

	if (!tag || octets < ADDRESSES + sizeof(vlan)) {
		copy_from(to, m, 0, octets);
		return;
	}
	copy_from(to, m, 0, ADDRESSES);
	memcpy(to + ADDRESSES, vlan, sizeof(vlan));
	copy_from(to + ADDRESSES + sizeof(vlan), m, ADDRESSES, octets - ADDRESSES - (uint32_t)sizeof(vlan));
}

static bool
matches(const struct cap_filter *f, const uint8_t *data, uint32_t kept, uint32_t len)
{
	const struct pcap_pkthdr h = {.caplen = kept, .len = len};

	return pcap_offline_filter(&f->prog, &h, data) != 0;
}

/* One that lies in pieces. */
static __rte_noinline bool
matches_copy(const struct cap_filter *f, const struct rte_mbuf *m, bool tag)
{
	const uint32_t len = m->pkt_len + (tag ? RTE_VLAN_HLEN : 0), kept = RTE_MIN(len, TP_CAPTURE_OCTETS_MAX);
	uint8_t data[TP_CAPTURE_OCTETS_MAX];

	cap_copy(data, m, kept, tag);
	return matches(f, data, kept, len);
}

bool
cap_filter_match(const struct cap_filter *f, const struct rte_mbuf *m, bool tag)
{
	if (tag || m->nb_segs > 1)
		return matches_copy(f, m, tag);
	return matches(f, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len);
}
