/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * An IPoIB interface among neighbours, an administrator and a connection manager that say anything at any time: frames and
 * packets of any length, records answered late, twice, out of order or to nobody, private data of any octets, connections
 * that end at once, a port that comes and goes. Whatever they say, each packet, address handle, group and connection is
 * accounted for at the end.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_eal.h>

#include "bytes.h"
#include "lib/ipoib/iface/carry.h"
#include "lib/ipoib/iface/conn.h"
#include "lib/ipoib/iface/view.h"
#include "tests/unit/eal.h"

#define MBUFS 1023
#define PEERS 4
#define QUESTIONS 64
#define CONNS 64
#define STEPS 400
#define ROOM 4352

#define MUST(x)                                                                                                        \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                              \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

struct question {
	bool path;
	uint32_t token;
	uint8_t dgid[16];
	struct tp_sa_member want;
};

static struct world {
	struct ipoib_core core;
	struct bytes in;
	uint64_t now;
	struct question ask[QUESTIONS];
	unsigned int asks;
	struct ipoib_conn *conn[CONNS]; /* asked for, there or closing */
	unsigned int conns;
	int ahs, attached;
} w;
static struct rte_mempool *pool;

/* --- what the interface asks ------------------------------------------------------------------------------------------- */

/* A full list forgets the oldest question, as an administrator does. */
static struct question *
question(uint32_t token, bool path)
{
	if (w.asks == QUESTIONS)
		memmove(&w.ask[0], &w.ask[1], sizeof(w.ask[0]) * --w.asks);
	w.ask[w.asks] = (struct question){.path = path, .token = token};
	return &w.ask[w.asks++];
}

static int
io_path(void *arg, const uint8_t dgid[16], uint32_t token)
{
	(void)arg;
	if (bytes_u8(&w.in) == 0xff)
		return -ENOMEM;
	memcpy(question(token, true)->dgid, dgid, 16);
	return 0;
}

static int
io_join(void *arg, const struct tp_sa_member *want, uint64_t mask, uint32_t token)
{
	(void)arg, (void)mask;
	if (bytes_u8(&w.in) == 0xff)
		return -ENOMEM;
	question(token, false)->want = *want;
	return 0;
}

static void
io_leave(void *arg, const uint8_t mgid[16], uint8_t join_state)
{
	(void)arg, (void)mgid, (void)join_state;
}

static int
io_attach(void *arg, const uint8_t mgid[16], uint16_t mlid)
{
	(void)arg, (void)mgid, (void)mlid;
	if (bytes_u8(&w.in) == 0xff)
		return -ENOMEM;
	w.attached++;
	return 0;
}

static void
io_detach(void *arg, const uint8_t mgid[16], uint16_t mlid)
{
	(void)arg, (void)mgid, (void)mlid;
	MUST(w.attached-- > 0);
}

static struct ibv_ah *
io_ah_create(void *arg, const struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah;

	(void)arg, (void)attr;
	if (bytes_u8(&w.in) == 0xff)
		return NULL;
	ah = calloc(1, sizeof(*ah));
	w.ahs += ah != NULL;
	return ah;
}

static void
io_ah_retire(void *arg, struct ibv_ah *ah)
{
	(void)arg;
	w.ahs--;
	free(ah);
}

static void
io_retire(void *arg, void *memory)
{
	(void)arg;
	free(memory);
}

static void
io_send(void *arg, struct ibv_ah *ah, uint32_t qpn, struct rte_mbuf *m)
{
	(void)arg;
	MUST(qpn <= 0xffffff && m->pkt_len >= IPOIB_ENCAP_LEN && m->pkt_len <= w.core.mtu + IPOIB_ENCAP_LEN);
	memset(ah, 0, sizeof(*ah)); /* it is there still */
	rte_pktmbuf_free(m);
}

static void
io_deliver(void *arg, struct rte_mbuf *m)
{
	(void)arg;
	MUST(m->pkt_len >= RTE_ETHER_HDR_LEN && rte_mbuf_check(m, 1, &(const char *){NULL}) == 0);
	rte_pktmbuf_free(m);
}

static void
io_link(void *arg, const struct tp_sa_member *broadcast)
{
	(void)arg;
	MUST(w.core.up == (broadcast != NULL));
}

static int
io_conn_open(void *arg, struct ipoib_conn *conn)
{
	(void)arg;
	if (w.conns == CONNS || bytes_u8(&w.in) == 0xff)
		return -ENOMEM;
	w.conn[w.conns++] = conn;
	return 0;
}

static void
io_conn_close(void *arg, struct ipoib_conn *conn)
{
	(void)arg;
	MUST(conn->closing);
}

static void
io_conn_send(void *arg, struct ipoib_conn *conn, struct rte_mbuf *m)
{
	(void)arg;
	MUST(conn->up && !conn->closing && !conn->passive && m->pkt_len <= conn->mtu + IPOIB_ENCAP_LEN);
	rte_pktmbuf_free(m);
}

/* --- what comes to it ---------------------------------------------------------------------------------------------------- */

/* Few neighbours, so that they are met again. */
static struct ipoib_hw
hw_of(uint8_t who)
{
	uint8_t gid[16] = {0xfe, 0x80, [8] = 0xf4, 0x52, 0x14, [15] = 1};
	struct ipoib_hw hw;

	gid[15] = (uint8_t)(1 + who % PEERS);
	ipoib_hw_set(&hw, (who & 0x80) != 0 ? IPOIB_HW_RC : 0, 0x48 + (who >> 4 & 3), gid);
	return hw;
}

/* Headers of IP that pass the first look, with what the interface looks for behind them. */
static void
make_ip(uint8_t *p, uint32_t len, uint16_t etype, uint8_t kind)
{
	static const uint8_t v4[] = {IPPROTO_UDP, IPPROTO_IGMP, IPPROTO_TCP, IPPROTO_ICMP};
	static const uint8_t nd[] = {133, 134, 135, 136, 137, 131, 143, 128};

	if (etype == RTE_ETHER_TYPE_IPV4 && len >= 28) {
		p[0] = 0x45;
		ib_put16(p + 2, (uint16_t)len);
		ib_put16(p + 6, 0);
		p[9] = v4[kind & 3];
		if (p[9] == IPPROTO_UDP) {
			ib_put16(p + 20, 68);
			ib_put16(p + 22, 67);
			ib_put16(p + 24, (uint16_t)(len - 20));
		}
	} else if (etype == RTE_ETHER_TYPE_IPV6 && len >= 64) {
		p[0] = 0x60;
		ib_put16(p + 4, (uint16_t)(len - 40));
		p[6] = IPPROTO_ICMPV6;
		p[7] = 255;
		p[40] = nd[kind & 7];
	} else if (etype == RTE_ETHER_TYPE_ARP && len >= 28) {
		memcpy(p, (const uint8_t[]){0, 1, 8, 0, 6, 4, 0, 1}, 8);
	}
}

static struct rte_mbuf *
packet(uint32_t head)
{
	static const uint16_t etypes[] = {RTE_ETHER_TYPE_IPV4, RTE_ETHER_TYPE_IPV6, RTE_ETHER_TYPE_ARP, 0x8035};
	const uint8_t kind = bytes_u8(&w.in);
	const uint16_t etype = etypes[kind & 3];
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint32_t len = bytes_u16(&w.in) % ((kind & 4) != 0 ? ROOM - head : 256);
	uint8_t *p;

	MUST(m != NULL);
	p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(head + len));
	MUST(p != NULL);
	memset(p, 0, head + len);
	ib_put16(p + (head == RTE_ETHER_HDR_LEN ? head - 2 : head - IPOIB_ENCAP_LEN), etype);
	bytes_copy(&w.in, p + head, len < 128 ? len : 128);
	if ((kind & 8) != 0)
		make_ip(p + head, len, etype, kind >> 4);
	return m;
}

/* From the application, most often to a neighbour that is known. */
static void
send_frame(void)
{
	const uint8_t to = bytes_u8(&w.in);
	struct rte_mbuf *m = packet(RTE_ETHER_HDR_LEN);
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
	unsigned int i, k = 0;

	memset(p, to < 0x20 ? 0xff : to, RTE_ETHER_ADDR_LEN);
	for (i = 0; i < IPOIB_REMOTES && k <= to; i++)
		if (w.core.remote[i] != NULL && k++ == (to & 0x0f))
			memcpy(p, &w.core.remote[i]->mac, RTE_ETHER_ADDR_LEN);
	memcpy(p + RTE_ETHER_ADDR_LEN, &w.core.mac, RTE_ETHER_ADDR_LEN);
	if ((to & 0x10) != 0)
		p[11] ^= 1;
	/* The card would write the checksum, so nobody looks at it. */
	if ((to & 0x40) != 0)
		m->ol_flags = RTE_MBUF_F_TX_TCP_CKSUM;
	ipoib_core_tx(&w.core, m);
}

/* An ARP packet as a neighbour writes it, which gives it a name. */
static void
arp_from(struct rte_mbuf *m, const struct ipoib_hw *from)
{
	static const uint8_t head[8] = {0, IPOIB_HW_TYPE, 8, 0, IPOIB_HW_LEN, 4, 0, 2};
	uint8_t *p = rte_pktmbuf_mtod_offset(m, uint8_t *, IB_GRH_LEN);
	const struct ipoib_hw own = ipoib_own_hw(&w.core);

	if (m->data_len < IB_GRH_LEN + IPOIB_ENCAP_LEN + 56)
		return;
	ib_put16(p, RTE_ETHER_TYPE_ARP);
	p += IPOIB_ENCAP_LEN;
	memcpy(p, head, sizeof(head));
	memcpy(p + 8, from, IPOIB_HW_LEN);
	memcpy(p + 32, &own, IPOIB_HW_LEN);
}

static void
receive(void)
{
	const uint8_t who = bytes_u8(&w.in), how = bytes_u8(&w.in);
	const struct ipoib_hw from = hw_of(who);
	struct ipoib_meta meta = {
		.qpn = ipoib_hw_qpn(&from), .slid = (uint16_t)(1 + who % PEERS), .grh = (how & 1) != 0};
	struct rte_mbuf *m;

	if ((how & 2) != 0)
		meta = (struct ipoib_meta){.by_conn = 1 + who % CONNS};
	m = packet(IB_GRH_LEN + IPOIB_ENCAP_LEN);
	if (meta.grh)
		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, 8), ipoib_hw_gid(&from), 16);
	if ((how & 4) != 0)
		arp_from(m, &from);
	else if ((how & 0x38) == 8)
		rte_pktmbuf_trim(m, (uint16_t)RTE_MIN(m->data_len - IB_GRH_LEN, (uint32_t)how));
	ipoib_core_rx(&w.core, m, &meta);
}

static void
answer_path(const struct question *q, uint32_t token, int status)
{
	struct tp_sa_path p;

	bytes_copy(&w.in, &p, sizeof(p));
	memcpy(p.dgid.raw, q->dgid, 16);
	ipoib_core_path(&w.core, token, status, &p);
}

static void
answer_join(const struct question *q, uint32_t token, int status, bool honest)
{
	struct tp_sa_member m = q->want;

	if (honest) {
		m.mlid = (uint16_t)(0xc000 | bytes_u8(&w.in));
		m.mtu = IBV_MTU_2048;
		m.qkey = 0x0b1b;
	} else {
		bytes_copy(&w.in, &m, sizeof(m));
	}
	ipoib_core_member(&w.core, token, status, &m);
}

/* Any question under way, or one that nobody asked. */
static void
answer(void)
{
	const uint8_t which = bytes_u8(&w.in), how = bytes_u8(&w.in);
	const int status = (how & 0x30) == 0x30 ? -ETIMEDOUT : 0;
	struct question q = {.path = (how & 1) != 0, .token = bytes_u16(&w.in)};
	unsigned int i = w.asks == 0 ? 0 : which % w.asks;

	if (w.asks != 0 && (how & 2) == 0) {
		q = w.ask[i];
		/* Else it is answered again. */
		if ((how & 4) == 0)
			memmove(&w.ask[i], &w.ask[i + 1], sizeof(q) * (--w.asks - i));
	}
	if (q.path)
		answer_path(&q, q.token, status);
	else
		answer_join(&q, q.token, status, (how & 8) == 0);
}

/* A peer's request. */
static void
request(void)
{
	const uint8_t who = bytes_u8(&w.in);
	struct ipoib_hw hw = hw_of(who);
	uint8_t data[IPOIB_CM_DATA];
	struct ipoib_conn *conn;
	uint32_t qpn, mtu;

	bytes_copy(&w.in, data, sizeof(data));
	if (!ipoib_cm_data_get(data, &qpn, &mtu) || w.conns == CONNS)
		return;
	ipoib_hw_set(&hw, IPOIB_HW_RC, qpn, ipoib_hw_gid(&hw));
	conn = ipoib_conn_request(&w.core, &hw, mtu);
	if (conn == NULL)
		return;
	w.conn[w.conns++] = conn;
	ipoib_conn_up(&w.core, conn, 1 + who % CONNS, mtu);
}

/* What a connection was told: an answer to our request, or its end. */
static void
tell_conn(void)
{
	const uint8_t which = bytes_u8(&w.in), what = bytes_u8(&w.in);
	unsigned int i = w.conns == 0 ? 0 : which % w.conns;
	struct ipoib_conn *conn = w.conns == 0 ? NULL : w.conn[i];
	uint8_t data[IPOIB_CM_DATA];
	uint32_t qpn, mtu;

	if (conn == NULL)
		return;
	if (conn->closing) {
		w.conn[i] = w.conn[--w.conns];
		ipoib_conn_gone(&w.core, conn);
		return;
	}
	bytes_copy(&w.in, data, sizeof(data));
	if (!conn->up && (what & 1) != 0 && ipoib_cm_data_get(data, &qpn, &mtu))
		ipoib_conn_up(&w.core, conn, 1 + which % CONNS, mtu);
	else
		ipoib_conn_over(&w.core, conn, (what & 2) != 0);
}

static void
place(bool active)
{
	struct ipoib_place p = {.active = active, .lid = active ? 0x10 : 0, .qpn = 0x48};
	const struct ipoib_hw own = hw_of(PEERS - 1);

	if (active && bytes_u8(&w.in) == 0xff)
		p.lid = bytes_u16(&w.in);
	memcpy(p.gid, ipoib_hw_gid(&own), sizeof(p.gid));
	ipoib_core_place(&w.core, &p);
}

/* As most ports do: the administrator answers what it is asked. */
static void
come_up(void)
{
	place(true);
	while (w.asks != 0) {
		const struct question q = w.ask[--w.asks];

		answer_join(&q, q.token, 0, true);
	}
}

/* The snapshot holds who is known, and nobody who is not. */
static void
look(void)
{
	struct ipoib_view *v = ipoib_view_make(&w.core);
	unsigned int i;

	MUST(v != NULL);
	for (i = 0; i < IPOIB_REMOTES; i++) {
		const struct ipoib_remote *r = w.core.remote[i];
		const struct ipoib_tx_ent *e;
		uint64_t mac = 0;

		if (r == NULL)
			continue;
		memcpy(&mac, &r->mac, sizeof(r->mac));
		e = ipoib_view_tx(v, mac);
		MUST(e == NULL || r->ah != NULL);
	}
	free(v);
}

/* What a failover pair takes along comes back, later, to a port with other neighbours. */
static void
carry(void)
{
	struct ipoib_carry *y = ipoib_carry_take(&w.core);

	MUST(y != NULL);
	ipoib_carry_leave(&w.core);
	receive();
	ipoib_carry_neighbours(&w.core, y);
	ipoib_carry_give(&w.core, y);
	ipoib_carry_free(y);
}

static void
step(void)
{
	const uint8_t what = bytes_u8(&w.in);
	struct rte_ether_addr macs[2];

	switch (what % 14) {
	case 0:
	case 1: send_frame(); break;
	case 2:
	case 3: receive(); break;
	case 4:
	case 5: answer(); break;
	case 6: request(); break;
	case 7: tell_conn(); break;
	case 8:
		w.now += bytes_u16(&w.in);
		ipoib_core_tick(&w.core, w.now);
		break;
	case 9: place((bytes_u8(&w.in) & 3) != 0); break;
	case 10: ipoib_core_renew(&w.core); break;
	case 11: ipoib_core_mode(&w.core, (what & 0x80) != 0, (what & 0x40) != 0); break;
	case 12: carry(); break;
	default:
		bytes_copy(&w.in, macs, sizeof(macs));
		ipoib_core_mac_groups(&w.core, macs, what & 1);
		look();
		break;
	}
}

/* Not with the first input, whose time is limited. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	MUST(unit_eal("fuzz", "64", NULL) >= 0);
	pool = rte_pktmbuf_pool_create("ipoib", MBUFS, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM, 0);
	MUST(pool != NULL);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ipoib_io io = {
		.path = io_path,
		.join = io_join,
		.leave = io_leave,
		.attach = io_attach,
		.detach = io_detach,
		.ah_create = io_ah_create,
		.ah_retire = io_ah_retire,
		.retire = io_retire,
		.send = io_send,
		.deliver = io_deliver,
		.link = io_link,
		.conn_open = io_conn_open,
		.conn_close = io_conn_close,
		.conn_send = io_conn_send,
	};
	struct ipoib_core_conf conf = {
		.pkey = 0xffff,
		.scope = 2,
		.cm_mtu = IPOIB_CM_MTU_MAX,
		.age_interval_ms = 60000,
		.age = 5,
		.monitor_ms = 30000,
		.query_runs = 3,
		.leave_runs = 2,
	};
	unsigned int steps;
	uint8_t how;

	memset(&w, 0, sizeof(w));
	w.in = (struct bytes){data, size};
	w.now = 1000;
	how = bytes_u8(&w.in);
	conf.connected = (how & 1) != 0;
	ipoib_core_init(&w.core, &conf, &io, pool, UINT64_C(0xf452140000000004), NULL, 2044);
	ipoib_core_tick(&w.core, w.now);
	if ((how & 2) == 0)
		come_up();
	for (steps = 0; w.in.left != 0 && steps < STEPS; steps++)
		step();
	ipoib_core_fini(&w.core);
	while (w.conns != 0) {
		MUST(w.conn[w.conns - 1]->closing);
		ipoib_conn_gone(&w.core, w.conn[--w.conns]);
	}
	MUST(w.core.num_conns == 0 && w.ahs == 0 && w.attached == 0 && rte_mempool_avail_count(pool) == MBUFS);
	return 0;
}
