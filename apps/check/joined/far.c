/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 7 with a reflector at the other end of the cable. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>

#include <infiniband/verbs.h>

#include "joined.h"
#include "tp_roce.h"

#define HELLOS 4u
#define HELLO_MS 300u
#define JOIN_MS 12000u
#define LINK_MS 8000u
#define WAIT_MS 5000u
#define NAP_US 20u
#define TRIPS 200u
#define TRIES 64u
#define PASSING 3u
#define HELD 500u
#define HOST 1u

struct far {
	struct ck *c;
	struct port p;
	struct roce_end e;
	struct rte_ether_addr peer;
	uint32_t number;  /* of the last question */
	struct wire last; /* its answer */
	bool answered;
};

/* --- questions -------------------------------------------------------------------------------------------------------- */

static void
heard(void *arg, struct rte_mbuf **m, uint16_t n)
{
	struct far *f = arg;
	struct wire w;
	uint16_t i;

	for (i = 0; i < n; i++) {
		const uint8_t *b = rte_pktmbuf_mtod(m[i], const uint8_t *);

		if (wire_parse(b, m[i]->data_len, &w) && w.number == f->number &&
		    (w.op == WIRE_HERE || w.op == WIRE_JOINED || w.op == WIRE_LEFT)) {
			f->last = w;
			f->answered = true;
			memcpy(f->peer.addr_bytes, b + 6, 6);
		}
		rte_pktmbuf_free(m[i]);
	}
}

static bool
ask(struct far *f, const uint8_t dst[6], struct wire *w, uint64_t ms)
{
	struct port_limit until = port_in(ms);
	static struct frame frame;
	struct rte_mbuf *m[32];
	uint16_t q;

	w->number = ++f->number;
	f->answered = false;
	wire_make(&frame, dst, f->p.mac.addr_bytes, w, 0);
	if (!port_send(&f->p, 0, port_mbuf(&f->p, &frame, NULL, 0)))
		return false;
	while (!f->answered && port_waits(&until)) {
		if (f->e.ctx != NULL)
			tp_roce_progress(f->e.ctx);
		else
			for (q = 0; q < PAIR_QUEUES; q++)
				heard(f, m, rte_eth_rx_burst(f->p.id, q, m, RTE_DIM(m)));
		if (!f->answered)
			rte_delay_us_sleep(NAP_US);
	}
	return f->answered;
}

/* --- frames ------------------------------------------------------------------------------------------------------------ */

/* It comes back with the addresses the other way round. */
static bool
echoes(struct far *f, uint32_t len)
{
	struct frame_spec s;
	static struct frame a;
	bool came;

	memcpy(f->p.from, f->p.mac.addr_bytes, 6);
	s = port_spec(&f->p, &f->peer, FRAME_TEST);
	s.payload = len - 14;
	frame_make(&a, &s);
	if (!port_send(&f->p, 0, port_mbuf(&f->p, &a, NULL, 0)))
		return false;
	memcpy(a.b, f->p.mac.addr_bytes, 6);
	memcpy(a.b + 6, f->peer.addr_bytes, 6);
	memcpy(f->p.from, f->peer.addr_bytes, 6);
	/* An answer to an earlier question may come late. */
	came = port_comes(&f->p, &a) != NULL;
	memcpy(f->p.from, f->p.mac.addr_bytes, 6);
	return came;
}

static void
sizes(struct far *f)
{
	static const uint16_t lens[] = {60, 64, 128, 256, 512, 1024, 1514};
	unsigned int i, good = 0;

	ck_step(f->c, "sends frames of %zu sizes to the reflector", RTE_DIM(lens));
	for (i = 0; i < RTE_DIM(lens); i++)
		good += echoes(f, lens[i]);
	ck_judge(f->c, good == RTE_DIM(lens), "there-and-back", "%u of %zu frames came back unchanged", good,
		 RTE_DIM(lens));
}

static void
round_trips(struct far *f)
{
	uint64_t least = UINT64_MAX, sum = 0, since, took;
	unsigned int i;

	ck_step(f->c, "measures %u round trips", TRIPS);
	for (i = 0; i < TRIPS; i++) {
		since = rte_get_timer_cycles();
		if (!echoes(f, 64)) {
			ck_say(f->c, CK_FAIL, "round-trips", "frame %u did not come back", i);
			return;
		}
		took = rte_get_timer_cycles() - since;
		least = RTE_MIN(least, took);
		sum += took;
	}
	ck_say(f->c, CK_PASS, "round-trips",
	       "%u of 64 octets: %.1f us on average, %.1f us at least, with naps at both ends", TRIPS,
	       (double)sum / TRIPS * 1e6 / (double)rte_get_timer_hz(),
	       (double)least * 1e6 / (double)rte_get_timer_hz());
}

/* --- pauses: those that this port sends hold what the reflector sends ---------------------------------------------------- */

static bool
tell(struct far *f, uint16_t quanta)
{
	static struct frame a;

	pause_make(&a, f->p.mac.addr_bytes, 1u << PAIR_FLOW, quanta);
	return port_send(&f->p, 0, port_mbuf(&f->p, &a, NULL, 0));
}

static bool
post(struct far *f, uint32_t len)
{
	const struct wire w = {.op = WIRE_ECHO_PRIO};
	struct frame_spec s = port_spec(&f->p, &f->peer, FRAME_TEST);
	static struct frame a;

	s.payload = len - 14;
	if (len >= HELD)
		wire_make(&a, f->peer.addr_bytes, f->p.mac.addr_bytes, &w, len);
	else
		frame_make(&a, &s);
	return port_send(&f->p, 0, port_mbuf(&f->p, &a, NULL, 0));
}

/* Looks until a frame of this length came, or (len 0) the one that is held. */
static bool
until_came(struct far *f, uint32_t len, bool *held)
{
	struct port_limit until = port_in(WAIT_MS);
	struct rte_mbuf *m[16];
	bool passed = false;
	uint16_t q, n, i;

	do {
		if (len != 0 && !tell(f, PAUSE_LONGEST))
			return false;
		for (q = 0; q < PAIR_QUEUES; q++) {
			n = rte_eth_rx_burst(f->p.id, q, m, RTE_DIM(m));
			for (i = 0; i < n; i++) {
				*held = *held || m[i]->pkt_len >= HELD;
				passed = passed || m[i]->pkt_len == len;
				rte_pktmbuf_free(m[i]);
			}
		}
		if (len != 0 ? passed : *held)
			return true;
		rte_delay_us_sleep(NAP_US);
	} while (port_waits(&until));
	return false;
}

static void
pauses(struct far *f)
{
	const uint64_t lasts = pause_lasts(&f->p);
	struct port_limit until = port_in(PAUSE_TRY_MS);
	unsigned int tries = 0, i;
	bool held = false, lost = false;

	ck_step(f->c, "pauses the reflector");
	while (tries < TRIES && !held && !lost && port_waits(&until)) {
		uint64_t slowest = 0;
		bool early = false;

		lost = !tell(f, PAUSE_LONGEST) || !post(f, HELD);
		for (i = 0; i < PASSING && !early && !lost; i++) {
			const uint64_t begun = rte_get_timer_cycles();

			lost = !post(f, 100 + i) || !until_came(f, 100 + i, &early);
			slowest = RTE_MAX(slowest, rte_get_timer_cycles() - begun);
		}
		held = !early && !lost;
		lost = !tell(f, 0) || (!early && !until_came(f, 0, &early)) || lost;
		/* As in pause_holds(). */
		tries += slowest < lasts;
	}
	ck_judge(f->c, held && !lost, "pause-by-priority", "%s",
		 lost   ? "frames were lost"
		 : held ? "the reflector's frame was held while others passed, and came when the pause ended"
			: "the reflector's frame was not held in any of the tries (wanted: it is)");
}

/* --- RoCE -------------------------------------------------------------------------------------------------------------- */

static void
queue_pairs(struct far *f)
{
	static const uint8_t types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	const struct roce_conf conf = {.host = HOST, .rest = heard, .arg = f};
	struct wire w;
	char name[32];
	unsigned int i;

	if (!roce_open(&f->e, &f->p, &conf, "roce"))
		return;
	for (i = 0; i < RTE_DIM(types); i++) {
		snprintf(name, sizeof(name), "roce-%s", roce_kind(types[i]));
		ck_step(f->c, "joins a queue pair with the reflector's (%s)", name);
		if (!roce_create(&f->e, types[i])) {
			ck_say(f->c, CK_FAIL, name, "no queue pair: %s", strerror(errno));
			continue;
		}
		w = (struct wire){.op = WIRE_JOIN, .type = types[i], .roce = f->e.own};
		if (!ask(f, f->peer.addr_bytes, &w, JOIN_MS)) {
			ck_say(f->c, CK_FAIL, name, "the reflector does not answer");
			break;
		}
		if (f->last.status == ENOTSUP) {
			ck_say(f->c, CK_SKIP, name, "the reflector has no queue pairs");
			break;
		}
		if (f->last.status != 0 || !roce_connect(&f->e, &f->last.roce, NULL))
			ck_say(f->c, CK_FAIL, name, "queue pairs cannot be joined: %s",
			       strerror(f->last.status != 0 ? f->last.status : errno));
		else
			roce_far(&f->e);
		w = (struct wire){.op = WIRE_LEAVE};
		ask(f, f->peer.addr_bytes, &w, WAIT_MS);
	}
	roce_close(&f->e);
}

/* --- the stage ---------------------------------------------------------------------------------------------------------- */

static bool
found(struct far *f)
{
	static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct port_limit until = port_in(f->c->o->dev.bus == CK_BUS_PCI ? LINK_MS : 0);
	struct rte_eth_link l = {.link_status = RTE_ETH_LINK_DOWN};
	struct wire w = {.op = WIRE_HELLO};
	unsigned int i;

	while (rte_eth_link_get_nowait(f->p.id, &l) == 0 && l.link_status == RTE_ETH_LINK_DOWN && port_waits(&until))
		rte_delay_us_sleep(20000);
	ck_step(f->c, "looks for a reflector at port %u", f->p.id);
	for (i = 0; i < HELLOS && l.link_status == RTE_ETH_LINK_UP; i++)
		if (ask(f, all, &w, HELLO_MS))
			return true;
	return false;
}

static void
with(struct far *f, unsigned int port)
{
	const uint8_t *a = f->peer.addr_bytes;

	ck_identity(f->c, "mac", a, 6);
	ck_say(f->c, CK_PASS, "reflector", "port %u has one, %02x:%02x:%02x:%02x:%02x:%02x", port, a[0], a[1], a[2],
	       a[3], a[4], a[5]);
	port_capture(&f->p, f->c, "cable.pcap");
	sizes(f);
	pair_rate(f->c, &f->p, &f->p, &f->peer, 1514, "rate");
	pair_rate(f->c, &f->p, &f->p, &f->peer, 60, "rate-small");
	round_trips(f);
	pauses(f);
	queue_pairs(f);
}

bool
far_stage(struct ck *c)
{
	struct far f;
	struct mlx4_hca *hca;
	unsigned int port;
	bool is = false;
	int id;

	hca = ck_ports(c, "");
	if (hca == NULL)
		return false;
	for (port = 1; port <= hca->caps.num_ports && !is; port++) {
		memset(&f, 0, sizeof(f));
		f.c = c;
		id = ck_port_id(hca, port);
		if (id < 0 || !port_start(&f.p, c, (uint16_t)id, PAIR_QUEUES, NULL))
			continue;
		is = found(&f);
		if (is)
			with(&f, port);
		port_end(&f.p);
	}
	ck_finish(c, hca);
	return is;
}
