/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The far end of stage 7: each Ethernet port sends back what a check at the other end of its cable sends. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include <rte_cycles.h>

#include <infiniband/verbs.h>

#include "joined.h"

#define NAP_US 20u
#define TRIES 1000u
#define IDLE 64u /* turns before a nap */
#define HOST 11u

static volatile sig_atomic_t over;

static void
on_term(int sig)
{
	(void)sig;
	over = 1;
}

struct mirror {
	struct ck *c;
	struct port p;
	struct roce_end roce;
	bool has_roce, joining;
	uint64_t frames, messages;
	struct wire join; /* is to be done */
	uint8_t who[6];   /* for whom */
	bool wanted;
};

static void
send_all(struct mirror *r, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	uint16_t sent = 0;
	unsigned int t;

	for (t = 0; sent < n && t < TRIES; t++) {
		sent += rte_eth_tx_burst(r->p.id, queue, m + sent, n - sent);
		if (sent < n)
			rte_delay_us_sleep(NAP_US);
	}
	r->frames += sent;
	while (sent < n)
		rte_pktmbuf_free(m[sent++]);
}

static void
answer(struct mirror *r, const uint8_t dst[6], const struct wire *w)
{
	static struct frame f;

	wire_make(&f, dst, r->p.mac.addr_bytes, w, 0);
	port_send(&r->p, 0, port_mbuf(&r->p, &f, NULL, 0));
}

/* false: the frame is to go back as it is. */
static bool
told(struct mirror *r, const uint8_t *b, uint32_t len, uint16_t *queue)
{
	struct wire w;

	if (!wire_parse(b, len, &w))
		return false;
	switch (w.op) {
	case WIRE_HELLO:
		w.op = WIRE_HERE;
		answer(r, b + 6, &w);
		return true;
	case WIRE_JOIN:
		/* Not here: it waits for answers, which come this way. */
		r->join = w;
		memcpy(r->who, b + 6, sizeof(r->who));
		r->wanted = true;
		return true;
	case WIRE_LEAVE:
		if (r->has_roce && !r->joining)
			roce_destroy(&r->roce);
		w.op = WIRE_LEFT;
		answer(r, b + 6, &w);
		return true;
	case WIRE_ECHO_PRIO: *queue = PAIR_PRIO; return false;
	default: return true;
	}
}

static void
frames(void *arg, struct rte_mbuf **m, uint16_t n)
{
	struct mirror *r = arg;
	struct rte_mbuf *back[64];
	uint16_t i, k = 0, queue;

	for (i = 0; i < n; i++) {
		uint8_t *b = rte_pktmbuf_mtod(m[i], uint8_t *);
		const bool ours = m[i]->data_len >= 60 && b[12] == FRAME_TEST >> 8 && b[13] == (FRAME_TEST & 0xff);

		queue = 0;
		if (!ours || told(r, b, m[i]->data_len, &queue) || (b[0] & 1) != 0) {
			rte_pktmbuf_free(m[i]);
			continue;
		}
		memcpy(b, b + 6, 6);
		memcpy(b + 6, r->p.mac.addr_bytes, 6);
		if (queue != 0) {
			send_all(r, queue, &m[i], 1);
			continue;
		}
		back[k++] = m[i];
		if (k == RTE_DIM(back)) {
			send_all(r, 0, back, k);
			k = 0;
		}
	}
	send_all(r, 0, back, k);
}

static void
join(struct mirror *r)
{
	struct wire w = r->join;

	r->wanted = false;
	r->joining = true;
	if (!r->has_roce)
		w.status = ENOTSUP;
	else if ((w.type != IBV_QPT_RC && w.type != IBV_QPT_UC && w.type != IBV_QPT_UD) ||
		 !roce_create(&r->roce, w.type) || !roce_connect(&r->roce, &w.roce, NULL))
		w.status = EIO;
	r->joining = false;
	w.op = WIRE_JOINED;
	if (w.status == 0)
		w.roce = r->roce.own;
	answer(r, r->who, &w);
}

/* @return something went back */
static bool
turn(struct mirror *r)
{
	const uint64_t before = r->frames + r->messages;
	struct rte_mbuf *m[32];
	uint16_t q, n;

	if (r->has_roce)
		r->messages += roce_serve(&r->roce);
	else
		for (q = 0; q < PAIR_QUEUES; q++) {
			n = rte_eth_rx_burst(r->p.id, q, m, RTE_DIM(m));
			frames(r, m, n);
		}
	if (r->wanted)
		join(r);
	return r->frames + r->messages != before;
}

static bool
begin(struct mirror *r, struct ck *c, struct mlx4_hca *hca, unsigned int port)
{
	const struct roce_conf conf = {.host = (uint8_t)(HOST + port), .rest = frames, .arg = r};
	const int id = ck_port_id(hca, port);
	struct tp_qos_port q;
	char name[16], err[TP_ERR_LEN] = "";
	const uint8_t *a;

	snprintf(name, sizeof(name), "port-%u", port);
	r->c = c;
	if (id < 0 || !port_start(&r->p, c, (uint16_t)id, PAIR_QUEUES, NULL))
		return false;
	tp_qos_port_default(&q);
	q.rx_pfc = 1u << PAIR_FLOW;
	if (!pause_declare(&r->p, &q, err))
		ck_say(c, CK_WARN, name, "pauses of priorities are not honoured: %.200s", err);
	r->has_roce = roce_open(&r->roce, &r->p, &conf, name);
	a = r->p.mac.addr_bytes;
	ck_identity(c, "mac", a, 6);
	ck_say(c, CK_INFO, name, "reflects at %02x:%02x:%02x:%02x:%02x:%02x%s", a[0], a[1], a[2], a[3], a[4], a[5],
	       r->has_roce ? ", with queue pairs of RoCE" : "");
	return true;
}

void
ck_stage_reflect(struct ck *c)
{
	const struct sigaction act = {.sa_handler = on_term};
	static struct mirror r[MLX4_MAX_PORTS];
	struct mlx4_hca *hca;
	unsigned int i, n = 0, idle;
	char name[16];

	sigaction(SIGTERM, &act, NULL);
	hca = ck_ports(c, "");
	if (hca == NULL)
		return;
	for (i = 0; i < hca->caps.num_ports; i++)
		n += begin(&r[i], c, hca, i + 1);
	ck_step(c, "reflects");
	for (idle = 0; n != 0 && over == 0; idle++) {
		for (i = 0; i < hca->caps.num_ports; i++)
			if (r[i].p.started && turn(&r[i]))
				idle = 0;
		if (idle >= IDLE)
			rte_delay_us_sleep(NAP_US);
	}
	for (i = 0; i < hca->caps.num_ports; i++) {
		snprintf(name, sizeof(name), "port-%u", i + 1);
		if (r[i].p.started)
			ck_say(c, CK_INFO, name, "%" PRIu64 " frames and %" PRIu64 " messages went back", r[i].frames,
			       r[i].messages);
		if (r[i].has_roce)
			roce_close(&r[i].roce);
		port_end(&r[i].p);
	}
	ck_finish(c, hca);
}
