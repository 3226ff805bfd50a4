/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>

#define POOL_MBUFS 8192u
#define DESC 256u
#define WAIT_MS 5000u
#define LOOK_MS 50u /* a look takes no longer by itself */
#define NAP_US 50u
#define FRAME_MIN 60u
#define BURST 32u
#define PCAP_FRAMES 4096u

void
port_capture(struct port *p, struct ck *c, const char *name)
{
	const uint32_t head[] = {0xa1b2c3d4u, 2u | 4u << 16, 0, 0, 65535, 1};

	p->pcap = ck_keep(c, name);
	if (p->pcap != NULL)
		fwrite(head, sizeof(head), 1, p->pcap);
}

static void
pcap_add(struct port *p, const struct port_got *g)
{
	const uint32_t head[] = {0, p->captured, g->len, g->len};

	if (p->pcap == NULL || p->captured == PCAP_FRAMES)
		return;
	p->captured++;
	fwrite(head, sizeof(head), 1, p->pcap);
	fwrite(g->b, 1, g->len, p->pcap);
}

static bool
refused(struct port *p, const char *what, int rc)
{
	ck_say(p->c, CK_FAIL, "start", "port %u: %s: %s", mlx4_eth_of(&rte_eth_devices[p->id])->port, what,
	       rte_strerror(-rc));
	return false;
}

static bool
prepare(struct port *p)
{
	char name[32];

	if (p->got == NULL)
		p->got = malloc(PORT_GOT * sizeof(*p->got));
	if (p->pool == NULL) {
		snprintf(name, sizeof(name), "check_%u", p->id);
		p->pool = rte_pktmbuf_pool_create(name, POOL_MBUFS, 128, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	}
	return p->got != NULL && p->pool != NULL;
}

bool
port_start(struct port *p, struct ck *c, uint16_t id, uint16_t queues, const struct rte_eth_conf *conf)
{
	static const uint8_t from[6] = {0x02, 0x54, 0x50, 0x43, 0x4b, 0x00};
	const struct rte_eth_conf none = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE}};
	uint16_t q;
	int rc;

	p->c = c;
	p->id = id;
	p->queues = queues;
	memcpy(p->from, from, sizeof(from));
	p->from[5] = (uint8_t)id;
	if (p->mark == 0)
		p->mark = 0x1000;
	if (!prepare(p))
		return refused(p, "buffers", -ENOMEM);
	ck_step(c, "configures and starts port %u with %u queues", id, queues);
	rc = rte_eth_dev_configure(id, queues, queues, conf != NULL ? conf : &none);
	if (rc != 0)
		return refused(p, "configuration", rc);
	for (q = 0; q < queues && rc == 0; q++) {
		rc = rte_eth_rx_queue_setup(id, q, DESC, SOCKET_ID_ANY, NULL, p->pool);
		if (rc == 0)
			rc = rte_eth_tx_queue_setup(id, q, DESC, SOCKET_ID_ANY, NULL);
	}
	if (rc != 0)
		return refused(p, "queues", rc);
	rc = rte_eth_dev_start(id);
	if (rc != 0)
		return refused(p, "start", rc);
	p->started = true;
	return rte_eth_macaddr_get(id, &p->mac) == 0;
}

void
port_stop(struct port *p)
{
	if (p->started)
		rte_eth_dev_stop(p->id);
	p->started = false;
}

void
port_end(struct port *p)
{
	port_stop(p);
	if (p->pcap != NULL)
		fclose(p->pcap);
	p->pcap = NULL;
	/* The pool stays: queues that are set up refer to it until the port is closed. */
	free(p->got);
	p->got = NULL;
}

struct rte_mbuf *
port_mbuf(struct port *p, const struct frame *f, const uint16_t *piece, unsigned int n)
{
	struct rte_mbuf *first = NULL, *m;
	uint32_t at = 0, len, i;

	for (i = 0; at < f->len; i++, at += len) {
		len = RTE_MIN(f->len - at, i < n ? piece[i] : 1024u);
		m = rte_pktmbuf_alloc(p->pool);
		if (m == NULL) {
			rte_pktmbuf_free(first);
			return NULL;
		}
		memcpy(rte_pktmbuf_mtod(m, void *), f->b + at, len);
		m->data_len = (uint16_t)len;
		m->pkt_len = len;
		if (first == NULL)
			first = m;
		else if (rte_pktmbuf_chain(first, m) != 0) {
			rte_pktmbuf_free(m);
			rte_pktmbuf_free(first);
			return NULL;
		}
	}
	if (first != NULL) {
		first->l2_len = f->l2_len;
		first->l3_len = f->l3_len;
		first->l4_len = f->l4_len;
	}
	return first;
}

struct port_limit
port_in(uint64_t ms)
{
	return (struct port_limit){.left = rte_get_timer_hz() / 1000 * ms, .last = rte_get_timer_cycles()};
}

bool
port_waits(struct port_limit *l)
{
	const uint64_t now = rte_get_timer_cycles(), most = rte_get_timer_hz() / 1000 * LOOK_MS;
	const uint64_t took = RTE_MIN(now - l->last, most);

	l->last = now;
	l->left -= RTE_MIN(l->left, took);
	return l->left != 0;
}

bool
port_send(struct port *p, uint16_t queue, struct rte_mbuf *m)
{
	struct port_limit until = port_in(WAIT_MS);

	if (m == NULL)
		return false;
	if (rte_eth_tx_prepare(p->id, queue, &m, 1) == 1)
		do {
			if (rte_eth_tx_burst(p->id, queue, &m, 1) == 1)
				return true;
			rte_delay_us_sleep(NAP_US);
		} while (port_waits(&until));
	rte_pktmbuf_free(m);
	return false;
}

static void
keep(struct port *p, uint16_t queue, const struct rte_mbuf *m)
{
	struct port_got *g = &p->got[p->num];
	const uint8_t *b;

	if (m->pkt_len > sizeof(g->b) || m->pkt_len < 14)
		return;
	b = rte_pktmbuf_read(m, 0, m->pkt_len, g->b);
	if (b == NULL || memcmp(b + 6, p->from, 6) != 0)
		return;
	if (b != g->b)
		memcpy(g->b, b, m->pkt_len);
	g->len = m->pkt_len;
	g->queue = queue;
	g->ol_flags = m->ol_flags;
	g->hash = m->hash.rss;
	g->ptype = m->packet_type;
	g->tci = m->vlan_tci;
	g->segs = m->nb_segs;
	pcap_add(p, g);
	p->num++;
}

/* One look at each queue. */
static void
look(struct port *p)
{
	struct rte_mbuf *m[BURST];
	uint16_t q, n, i;

	for (q = 0; q < p->queues; q++) {
		n = rte_eth_rx_burst(p->id, q, m, BURST);
		for (i = 0; i < n; i++) {
			if (p->num < PORT_GOT)
				keep(p, q, m[i]);
			rte_pktmbuf_free(m[i]);
		}
	}
}

unsigned int
port_wait(struct port *p, unsigned int want)
{
	struct port_limit until = port_in(WAIT_MS);

	p->num = 0;
	while (p->num < want && port_waits(&until)) {
		const unsigned int before = p->num;

		look(p);
		if (p->num != before)
			until = port_in(WAIT_MS);
		else
			rte_delay_us_sleep(NAP_US);
	}
	return p->num;
}

const struct port_got *
port_comes(struct port *p, const struct frame *f)
{
	struct port_limit until = port_in(WAIT_MS);
	unsigned int i;

	do {
		p->num = 0;
		look(p);
		for (i = 0; i < p->num; i++)
			if (port_same(&p->got[i], f))
				return &p->got[i];
		if (p->num == 0)
			rte_delay_us_sleep(NAP_US);
	} while (port_waits(&until));
	return NULL;
}

bool
port_until(struct port *p, bool (*last)(const struct port_got *g))
{
	struct port_limit until = port_in(WAIT_MS);
	unsigned int seen = 0;

	p->num = 0;
	while (port_waits(&until)) {
		look(p);
		for (; seen < p->num; seen++) {
			if (!last(&p->got[seen]))
				continue;
			/* What came before it may lie in a queue that was looked at earlier. */
			look(p);
			return true;
		}
		rte_delay_us_sleep(NAP_US);
	}
	return false;
}

struct frame_spec
port_spec(struct port *p, const struct rte_ether_addr *dst, uint16_t type)
{
	struct frame_spec s = {.type = type, .mark = p->mark, .sport = 4000, .dport = 5000, .proto = FRAME_UDP};
	static const uint8_t v4[2][4] = {{192, 0, 2, 1}, {192, 0, 2, 2}};
	static const uint8_t v6[2][16] = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}, {0x20, 0x01, 0x0d, 0xb8, [15] = 2}};

	p->mark += 0x101;
	memcpy(s.dst, dst, 6);
	memcpy(s.src, p->from, 6);
	if (type == FRAME_IPV6) {
		memcpy(s.ip_src, v6[0], 16);
		memcpy(s.ip_dst, v6[1], 16);
	} else {
		memcpy(s.ip_src, v4[0], 4);
		memcpy(s.ip_dst, v4[1], 4);
	}
	return s;
}

const struct port_got *
port_echo(struct port *p, const char *name, const struct frame *f, uint64_t ol_flags, uint16_t tci)
{
	struct rte_mbuf *m = port_mbuf(p, f, NULL, 0);

	if (m != NULL) {
		m->ol_flags |= ol_flags;
		m->vlan_tci = tci;
	}
	if (!port_send(p, 0, m)) {
		ck_say(p->c, CK_FAIL, name, "a frame of %u octets was not taken for sending", f->len);
		return NULL;
	}
	if (port_wait(p, 1) == 1)
		return &p->got[0];
	ck_say(p->c, CK_FAIL, name, "a frame of %u octets did not come back within %u s", f->len, WAIT_MS / 1000);
	return NULL;
}

bool
port_same(const struct port_got *g, const struct frame *f)
{
	return (g->len == f->len || (f->len < FRAME_MIN && g->len == FRAME_MIN)) && memcmp(g->b, f->b, f->len) == 0;
}
