/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_arp.h>
#include <rte_udp.h>

#include "port_rig.h"
#include "drivers/mlx4/verbs/verbs.h"

#define LIMIT_S 60u
#define NAP_US 50u
#define AGAIN_HZ 5u
#define ASK_S 2u
#define BUDGET 64u
#define SWEEP_MS 20u
#define POOL_MBUFS 8191u
#define POOLS 4u
#define FIRST_PORT 5000u

static struct tp_mad_service *service[PR_CARDS][2], *manager_service;
static struct tp_sm *sm;
static struct rte_mempool *pool[POOLS];
static unsigned int pools;
static FILE *log_file;
static char *log_text;
static size_t log_len;

int
pr_eal(const char *prefix)
{
	return rig_eal(prefix, "0");
}

/* --- cards ----------------------------------------------------------------------------------------------------------- */

static void
card_name(unsigned int card, char name[64])
{
	snprintf(name, 64, "net_mlx4_model%u", card);
}

struct tp_model *
pr_model(unsigned int card)
{
	struct mlx4_hca *hca = mlx4_roce_of(tp_mad_service_ctx(service[card][0]))->hca;

	return hca->bus->ops->model(hca->bus);
}

struct tp_mad_service *
pr_service(unsigned int card)
{
	return service[card][0];
}

void
pr_card(unsigned int card, const char *args)
{
	const struct tp_sa_conf sa = {.timeout_ms = TP_SA_TIMEOUT_MS_MIN};
	char name[64], port[80], text[256];
	unsigned int i;

	card_name(card, name);
	snprintf(text, sizeof(text), "run=step,port0=ib,port1=ib,guid=0x%" PRIx64 "%s%s", PR_GUID(card),
		 args[0] == '\0' ? "" : ",", args);
	assert_int_equal(rig_plug(name, text), 0);
	for (i = 0; i < 2; i++) {
		snprintf(port, sizeof(port), "%s/%u", name, i + 1);
		assert_int_equal(tp_mad_service_open(port, &service[card][i]), 0);
		/* What is lost before a subnet has its routes is asked for again soon. */
		assert_int_equal(tp_sa_configure(tp_mad_service_sa(service[card][i]), &sa), 0);
	}
}

void
pr_unplug(void)
{
	char name[64], text[256];
	unsigned int i;

	pr_unmanage();
	for (i = 0; i < PR_CARDS; i++) {
		if (service[i][0] == NULL)
			continue;
		tp_model_last_violation(pr_model(i), text, sizeof(text));
		if (tp_model_violations_total(pr_model(i)) != 0)
			fail_msg("%s", text);
		tp_mad_service_close(service[i][0]);
		tp_mad_service_close(service[i][1]);
		service[i][0] = NULL;
		card_name(i, name);
		rig_unplug(name);
	}
	while (pools != 0)
		rte_mempool_free(pool[--pools]);
}

void
pr_manage(unsigned int card, unsigned int port, const uint16_t *pkeys, unsigned int n)
{
	struct tp_sm_conf conf = {.sweep_ms = SWEEP_MS, .num_pkeys = n};
	char name[64], text[80];

	card_name(card, name);
	snprintf(text, sizeof(text), "%s/%u", name, port);
	assert_int_equal(tp_mad_service_open(text, &manager_service), 0);
	if (n != 0)
		memcpy(conf.pkeys, pkeys, n * sizeof(*pkeys));
	assert_int_equal(tp_sm_create(tp_mad_service_mad(manager_service), &conf, &sm), 0);
}

void
pr_unmanage(void)
{
	if (sm == NULL)
		return;
	tp_sm_destroy(sm);
	tp_mad_service_close(manager_service);
	sm = NULL;
}

struct tp_sm *
pr_sm(void)
{
	return sm;
}

static unsigned int
step(void)
{
	unsigned int i, done = 0;

	for (i = 0; i < PR_CARDS; i++)
		done += service[i][0] != NULL ? tp_model_step(pr_model(i), BUDGET) : 0;
	return done;
}

void
pr_step(void)
{
	unsigned int i;

	for (i = 0; i < 10000 && step() != 0; i++)
		;
}

/* What each port counted: who waited in vain sees where it was lost. */
static void
show_counters(void)
{
	struct rte_eth_xstat_name name[512];
	struct rte_eth_xstat x[512];
	uint16_t port;

	RTE_ETH_FOREACH_DEV(port)
	{
		int n = rte_eth_xstats_get(port, x, RTE_DIM(x));

		if (n > (int)RTE_DIM(x) || rte_eth_xstats_get_names(port, name, RTE_DIM(name)) != n)
			continue;
		for (int i = 0; i < n; i++)
			if (x[i].value != 0)
				fprintf(stderr, "port %u: %s %" PRIu64 "\n", port, name[i].name, x[i].value);
	}
}

void
pr_until(bool (*so)(void *arg), void *arg, const char *what)
{
	uint64_t end = rte_get_timer_cycles() + LIMIT_S * rte_get_timer_hz();

	while (!so(arg)) {
		if (rte_get_timer_cycles() > end) {
			show_counters();
			fail_msg("not within %u s: %s", LIMIT_S, what);
		}
		if (step() == 0)
			usleep(NAP_US);
	}
}

/* --- ports ----------------------------------------------------------------------------------------------------------- */

struct tp_ipoib_info
pr_info(uint16_t port)
{
	struct tp_ipoib_info info;

	assert_int_equal(tp_ipoib_info(port, &info), 0);
	return info;
}

bool
pr_is_up(void *port)
{
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get_nowait(*(uint16_t *)port, &link), 0);
	return link.link_status == RTE_ETH_LINK_UP;
}

void
pr_wait_up(uint16_t port)
{
	pr_until(pr_is_up, &port, "the link is up");
}

struct want {
	uint16_t port;
	enum tp_ipoib_state state;
	const char *name;
	uint64_t value;
};

static bool
in_state(void *arg)
{
	const struct want *w = arg;

	return pr_info(w->port).state == w->state;
}

void
pr_wait_state(uint16_t port, enum tp_ipoib_state state)
{
	struct want w = {.port = port, .state = state};

	pr_until(in_state, &w, tp_ipoib_state_name(state));
}

static bool
has_value(void *arg)
{
	const struct want *w = arg;

	return rig_xstat(w->port, w->name) == w->value;
}

void
pr_wait_xstat(uint16_t port, const char *name, uint64_t value)
{
	struct want w = {.port = port, .name = name, .value = value};

	pr_until(has_value, &w, name);
}

uint16_t
pr_plug(const char *name, const char *args)
{
	uint16_t port;

	assert_int_equal(rig_plug(name, args), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(name, &port), 0);
	return port;
}

void
pr_start(uint16_t port, uint16_t rxq, uint16_t txq, struct rte_mempool *mp)
{
	assert_int_equal(rig_configure(port, rxq, txq, NULL, mp), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
}

struct rte_mempool *
pr_pool(uint32_t room)
{
	char name[32];

	assert_true(pools < POOLS);
	snprintf(name, sizeof(name), "port_rig%u", pools);
	pool[pools] = rte_pktmbuf_pool_create(name, POOL_MBUFS, 0, 0, (uint16_t)room, SOCKET_ID_ANY);
	assert_non_null(pool[pools]);
	return pool[pools++];
}

/* --- frames ---------------------------------------------------------------------------------------------------------- */

static struct rte_mbuf *
frame(const struct rte_ether_addr *src, const struct rte_ether_addr *dst, uint16_t etype, uint16_t octets)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(octets > RTE_MBUF_DEFAULT_DATAROOM - RTE_ETHER_HDR_LEN ? rig_large_pool()
												      : rig_pool());
	struct rte_ether_hdr *h;

	assert_non_null(m);
	h = (struct rte_ether_hdr *)rte_pktmbuf_append(m, (uint16_t)(sizeof(*h) + octets));
	assert_non_null(h);
	*h = (struct rte_ether_hdr){.src_addr = *src, .dst_addr = *dst, .ether_type = rte_cpu_to_be_16(etype)};
	return m;
}

struct rte_mbuf *
pr_udp(const struct rte_ether_addr *src, const struct rte_ether_addr *dst, uint32_t sip, uint32_t dip, uint16_t octets)
{
	struct rte_mbuf *m = frame(src, dst, RTE_ETHER_TYPE_IPV4, octets);
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	uint8_t *payload = (uint8_t *)(udp + 1);
	uint16_t i;

	assert_true(octets >= sizeof(*ip) + sizeof(*udp));
	*ip = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
				    .total_length = rte_cpu_to_be_16(octets),
				    .time_to_live = 64,
				    .next_proto_id = IPPROTO_UDP,
				    .src_addr = rte_cpu_to_be_32(sip),
				    .dst_addr = rte_cpu_to_be_32(dip)};
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	*udp = (struct rte_udp_hdr){.src_port = rte_cpu_to_be_16(FIRST_PORT),
				    .dst_port = rte_cpu_to_be_16(FIRST_PORT + 1),
				    .dgram_len = rte_cpu_to_be_16(octets - sizeof(*ip))};
	for (i = 0; i < octets - sizeof(*ip) - sizeof(*udp); i++)
		payload[i] = (uint8_t)(i * 7 + octets);
	return m;
}

struct rte_mbuf *
pr_arp(uint16_t op, const struct rte_ether_addr *sha, uint32_t sip, const struct rte_ether_addr *tha, uint32_t tip)
{
	const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, none = {{0}};
	struct rte_mbuf *m = frame(sha, tha != NULL ? tha : &all, RTE_ETHER_TYPE_ARP, sizeof(struct rte_arp_hdr));

	*rte_pktmbuf_mtod_offset(m, struct rte_arp_hdr *, sizeof(struct rte_ether_hdr)) =
		(struct rte_arp_hdr){.arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER),
				     .arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4),
				     .arp_hlen = RTE_ETHER_ADDR_LEN,
				     .arp_plen = 4,
				     .arp_opcode = rte_cpu_to_be_16(op),
				     .arp_data = {.arp_sha = *sha,
						  .arp_sip = rte_cpu_to_be_32(sip),
						  .arp_tha = tha != NULL ? *tha : none,
						  .arp_tip = rte_cpu_to_be_32(tip)}};
	return m;
}

struct taking {
	uint16_t port, etype, queue;
	struct rte_mbuf *m;
};

/* A burst takes nothing while the control thread changes what it goes by. */
static bool
given(void *arg)
{
	struct taking *t = arg;

	return rte_eth_tx_burst(t->port, t->queue, &t->m, 1) == 1;
}

void
pr_send(uint16_t port, uint16_t queue, struct rte_mbuf *m)
{
	struct taking t = {.port = port, .queue = queue, .m = m};

	pr_until(given, &t, "a packet is taken");
	pr_step();
}

static bool
taken(void *arg)
{
	struct taking *t = arg;

	for (t->queue = 0; t->queue < rte_eth_devices[t->port].data->nb_rx_queues; t->queue++) {
		while (rte_eth_rx_burst(t->port, t->queue, &t->m, 1) == 1) {
			const struct rte_ether_hdr *h = rte_pktmbuf_mtod(t->m, struct rte_ether_hdr *);

			assert_int_equal(t->m->port, t->port);
			if (h->ether_type == rte_cpu_to_be_16(t->etype))
				return true;
			rte_pktmbuf_free(t->m);
		}
	}
	t->m = NULL;
	return false;
}

struct rte_mbuf *
pr_take(uint16_t port, uint16_t etype, uint16_t *queue)
{
	struct taking t = {.port = port, .etype = etype};

	pr_until(taken, &t, etype == RTE_ETHER_TYPE_ARP ? "an ARP packet comes" : "a packet comes");
	if (queue != NULL)
		*queue = t.queue;
	return t.m;
}

void
pr_expect(uint16_t port, const struct rte_ether_addr *src, const struct rte_ether_addr *dst, uint32_t sip, uint32_t dip,
	  uint16_t octets)
{
	struct rte_mbuf *want = pr_udp(src, dst, sip, dip, octets), *m = pr_take(port, RTE_ETHER_TYPE_IPV4, NULL), *s;
	uint8_t *copy = malloc(want->pkt_len);

	assert_non_null(copy);
	assert_int_equal(m->pkt_len, want->pkt_len);
	for (s = m, octets = 0; s != NULL; octets = (uint16_t)(octets + s->data_len), s = s->next)
		memcpy(copy + octets, rte_pktmbuf_mtod(s, void *), s->data_len);
	assert_memory_equal(copy, rte_pktmbuf_mtod(want, void *), want->pkt_len);
	free(copy);
	rte_pktmbuf_free(want);
	rte_pktmbuf_free(m);
}

unsigned int
pr_by_burst(uint16_t from, uint16_t to, const struct rte_ether_addr *dst, uint32_t sip, uint32_t dip)
{
	const struct rte_ether_addr src = rig_mac(from);
	uint64_t before = rig_xstat(from, "tx_q0_packets");
	unsigned int n = 0;

	do {
		pr_send(from, 0, pr_udp(&src, dst, sip, dip, 60));
		rte_pktmbuf_free(pr_take(to, RTE_ETHER_TYPE_IPV4, NULL));
		n++;
	} while (rig_xstat(from, "tx_q0_packets") == before);
	return n;
}

void
pr_nothing(uint16_t port, uint16_t etype)
{
	struct taking t = {.port = port, .etype = etype};

	pr_step();
	assert_false(taken(&t));
}

/* One who says something until the other one hears it, since what is sent while switches learn is lost. */
struct saying {
	uint16_t from, to, op;
	const struct rte_ether_addr *tha;
	uint32_t sip, tip;
	unsigned int said;
	uint64_t again;
	struct rte_arp_ipv4 heard;
};

static bool
is_heard(void *arg)
{
	struct saying *y = arg;
	struct taking t = {.port = y->to, .etype = RTE_ETHER_TYPE_ARP};
	struct rte_arp_hdr arp;

	if (y->said == 0 || rte_get_timer_cycles() > y->again) {
		const struct rte_ether_addr sha = rig_mac(y->from);
		struct rte_mbuf *m = pr_arp(y->op, &sha, y->sip, y->tha, y->tip);

		y->again = rte_get_timer_cycles() + rte_get_timer_hz() / AGAIN_HZ;
		if (rte_eth_tx_burst(y->from, 0, &m, 1) == 1)
			y->said++;
		else
			rte_pktmbuf_free(m);
	}
	/* Others tell of addresses that have moved. */
	while (taken(&t)) {
		arp = *rte_pktmbuf_mtod_offset(t.m, struct rte_arp_hdr *, sizeof(struct rte_ether_hdr));
		rte_pktmbuf_free(t.m);
		y->heard = arp.arp_data;
		if (arp.arp_opcode == rte_cpu_to_be_16(y->op) && y->heard.arp_sip == rte_cpu_to_be_32(y->sip) &&
		    y->heard.arp_tip == rte_cpu_to_be_32(y->tip))
			return true;
	}
	return false;
}

struct meeting {
	struct saying ask, answer;
	struct rte_ether_addr asker;
	bool heard;
};

/* What was heard first may be from before a port started again, under another name: who gets no answer asks again. */
static bool
is_answered(void *arg)
{
	struct meeting *t = arg;

	if (is_heard(&t->ask)) {
		t->heard = true;
		t->asker = t->ask.heard.arp_sha;
		t->ask.again = rte_get_timer_cycles() + ASK_S * rte_get_timer_hz();
	}
	return t->heard && is_heard(&t->answer);
}

unsigned int
pr_meet(uint16_t a, uint32_t aip, uint16_t b, uint32_t bip, struct rte_ether_addr *b_at_a,
	struct rte_ether_addr *a_at_b)
{
	const struct rte_ether_addr amac = rig_mac(a);
	struct meeting t = {.ask = {.from = a, .to = b, .op = RTE_ARP_OP_REQUEST, .sip = aip, .tip = bip},
			    .answer = {.from = b, .to = a, .op = RTE_ARP_OP_REPLY, .sip = bip, .tip = aip}};

	t.answer.tha = &t.asker;
	pr_until(is_answered, &t, "a request of ARP is heard, and its answer");
	*a_at_b = t.asker;
	assert_memory_equal(&t.answer.heard.arp_tha, &amac, sizeof(amac));
	*b_at_a = t.answer.heard.arp_sha;
	return t.ask.said;
}

/* --- two ports ------------------------------------------------------------------------------------------------------- */

void
pr_open_two(uint16_t *a, uint16_t *b)
{
	pr_card(0, "");
	*a = pr_plug("net_ipoib0", "port=" PR_PORT(1));
	*b = pr_plug("net_ipoib1", "port=" PR_PORT(2));
}

void
pr_close_two(void)
{
	rig_unplug("net_ipoib0");
	rig_unplug("net_ipoib1");
	assert_int_equal(rte_eth_dev_count_avail(), 0);
	pr_unplug();
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

void
pr_both_up(uint16_t a, uint16_t b, uint16_t queues, struct rte_mempool *mp)
{
	pr_start(a, queues, queues, mp);
	pr_start(b, queues, queues, mp);
	pr_wait_up(a);
	pr_wait_up(b);
}

void
pr_start_two(uint16_t a, uint16_t b)
{
	if (sm == NULL)
		pr_manage(0, 1, NULL, 0);
	pr_both_up(a, b, 1, rig_pool());
}

void
pr_exchange(uint16_t a, uint16_t b, uint16_t octets)
{
	const struct rte_ether_addr amac = rig_mac(a), bmac = rig_mac(b);
	struct rte_ether_addr b_at_a, a_at_b;

	pr_meet(a, PR_IP_A, b, PR_IP_B, &b_at_a, &a_at_b);
	pr_send(a, 0, pr_udp(&amac, &b_at_a, PR_IP_A, PR_IP_B, octets));
	pr_expect(b, &a_at_b, &bmac, PR_IP_A, PR_IP_B, octets);
	pr_send(b, 0, pr_udp(&bmac, &a_at_b, PR_IP_B, PR_IP_A, octets));
	pr_expect(a, &b_at_a, &amac, PR_IP_B, PR_IP_A, octets);
}

/* --- log ------------------------------------------------------------------------------------------------------------- */

void
pr_log_begin(void)
{
	log_file = open_memstream(&log_text, &log_len);
	assert_non_null(log_file);
	assert_int_equal(rte_openlog_stream(log_file), 0);
}

static bool
said(void *words)
{
	fflush(log_file);
	return strstr(log_text, words) != NULL;
}

void
pr_log_wait(const char *words)
{
	pr_until(said, (void *)(uintptr_t)words, words);
}

void
pr_log_end(const char *word1, const char *word2)
{
	const char *at;

	rte_openlog_stream(NULL);
	fclose(log_file);
	at = word1 != NULL ? strstr(log_text, word1) : log_text;
	if (at != NULL && word2 != NULL)
		at = strstr(at, word2);
	if (at == NULL)
		fail_msg("wanted '%s' and '%s' in '%s'", word1, word2, log_text);
	free(log_text);
}
