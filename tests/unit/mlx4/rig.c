/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include <rte_interrupts.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "rig.h"
#include "tests/unit/eal.h"

#define DEATH_MS 200u /* how long a command is waited for that a dead card never answers */

#define LARGE_POOL_SIZE 1023
#define LARGE_ROOM (10 * 1024 + RTE_PKTMBUF_HEADROOM)
#define RUN_BUDGET 64
#define RUN_MAX 10000

static FILE *log_file;
static char *log_text;
static size_t log_len;

/* A turn of the interrupt thread. */
static struct {
	struct rte_intr_handle *intr;
	int fd;
	sem_t seen;
} turn = {.fd = -1};

static void
turned(void *arg)
{
	uint64_t n;

	if (read(turn.fd, &n, sizeof(n)) == sizeof(n))
		sem_post(&turn.seen);
}

static void
turn_begin(void)
{
	assert_int_equal(sem_init(&turn.seen, 0, 0), 0);
	turn.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	assert_true(turn.fd >= 0);
	turn.intr = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	assert_non_null(turn.intr);
	assert_int_equal(rte_intr_fd_set(turn.intr, turn.fd) | rte_intr_type_set(turn.intr, RTE_INTR_HANDLE_EXT), 0);
	assert_int_equal(rte_intr_callback_register(turn.intr, turned, NULL), 0);
}

int
rig_eal(const char *prefix, const char *lcores)
{
	static char arg[8][64];
	char *argv[RTE_DIM(arg) + 3] = {NULL};
	const char *const fixed[] = {"test", "--no-huge", "-m", "512", "--no-shconf", "--no-telemetry", "--no-pci"};
	unsigned int n, i;

	for (n = 0; n < RTE_DIM(fixed); n++)
		snprintf(arg[n], sizeof(arg[n]), "%s", fixed[n]);
	snprintf(arg[n++], sizeof(arg[0]), "--file-prefix=%s", prefix);
	for (i = 0; i < n; i++)
		argv[i] = arg[i];
	argv[n++] = (char *)(uintptr_t) "--lcores";
	argv[n++] = unit_lcores(lcores);
	if (rte_eal_init((int)n, argv) < 0)
		return -1;
	turn_begin(); /* before anybody counts file descriptors */
	return 0;
}

int
rig_plug(const char *name, const char *args)
{
	return rte_eal_hotplug_add("vdev", name, args);
}

void
rig_unplug(const char *name)
{
	assert_int_equal(rte_eal_hotplug_remove("vdev", name), 0);
}

void
rig_open(const char *args)
{
	char text[256];

	snprintf(text, sizeof(text), "run=step%s%s", args[0] == '\0' ? "" : ",", args);
	assert_int_equal(rig_plug(RIG_DEV, text), 0);
}

void
rig_close(void)
{
	rig_no_violations(0);
	rig_unplug(RIG_DEV);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

int
rig_teardown(void **state)
{
	rig_close();
	return 0;
}

struct tp_model *
rig_model(uint16_t port)
{
	struct mlx4_eth *eth = rte_eth_devices[port].data->dev_private;

	return eth->hca->bus->ops->model(eth->hca->bus);
}

size_t
rig_heap(void)
{
	struct rte_malloc_socket_stats st;

	assert_int_equal(rte_malloc_get_socket_stats(0, &st), 0);
	return st.alloc_count;
}

void
rig_no_violations(uint16_t port)
{
	struct rte_pmd_mlx4_model m;

	assert_int_equal(rte_pmd_mlx4_model_get(port, &m), 0);
	if (m.violations == 0 && m.advice == 0)
		return;
	if (log_file != NULL)
		fflush(log_file);
	fail_msg("%s %s\n%s", m.last_violation, m.last_advice, log_file == NULL ? "" : log_text);
}

void
rig_run(uint16_t port)
{
	unsigned int i;

	for (i = 0; i < RUN_MAX && tp_model_step(rig_model(port), RUN_BUDGET) != 0; i++)
		;
	assert_true(i < RUN_MAX);
}

unsigned int rig_mbufs = 8191;

struct rte_mempool *
rig_pool(void)
{
	static struct rte_mempool *mp;

	if (mp == NULL)
		mp = rte_pktmbuf_pool_create("rig", rig_mbufs, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(mp);
	return mp;
}

struct rte_mempool *
rig_large_pool(void)
{
	static struct rte_mempool *mp;

	if (mp == NULL)
		mp = rte_pktmbuf_pool_create("rig_large", LARGE_POOL_SIZE, 0, 0, LARGE_ROOM, SOCKET_ID_ANY);
	assert_non_null(mp);
	return mp;
}

int
rig_configure(uint16_t port, uint16_t rxq, uint16_t txq, const struct rte_eth_conf *conf, struct rte_mempool *mp)
{
	static const struct rte_eth_conf plain;
	uint16_t i;
	int rc;

	rc = rte_eth_dev_configure(port, rxq, txq, conf == NULL ? &plain : conf);
	for (i = 0; rc == 0 && i < rxq; i++)
		rc = rte_eth_rx_queue_setup(port, i, RIG_DESC, SOCKET_ID_ANY, NULL, mp);
	for (i = 0; rc == 0 && i < txq; i++)
		rc = rte_eth_tx_queue_setup(port, i, RIG_DESC, SOCKET_ID_ANY, NULL);
	return rc;
}

void
rig_start(uint16_t port, uint16_t queues, const struct rte_eth_conf *conf)
{
	assert_int_equal(rig_configure(port, queues, queues, conf, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
}

void
rig_open_pair(const char *args, uint16_t queues, const struct rte_eth_conf *conf)
{
	rig_open(args);
	rig_start(0, 1, NULL);
	rig_start(1, queues, conf);
}

struct rte_mbuf *
rig_frame(const struct rte_ether_addr *dst, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(len > RTE_MBUF_DEFAULT_DATAROOM ? rig_large_pool() : rig_pool());
	struct rte_ether_hdr *h;
	uint8_t *p;
	uint16_t i;

	assert_non_null(m);
	p = (uint8_t *)rte_pktmbuf_append(m, len);
	assert_non_null(p);
	for (i = 0; i < len; i++)
		p[i] = (uint8_t)i;
	h = (struct rte_ether_hdr *)p;
	h->dst_addr = *dst;
	h->src_addr = (struct rte_ether_addr){{0x02, 0, 0, 0, 0, 0x77}};
	h->ether_type = rte_cpu_to_be_16(0x88b5); /* for experiments */
	return m;
}

struct rte_mbuf *
rig_ipv4(uint8_t proto, uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport)
{
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&mac, 80);
	struct rte_ether_hdr *h = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(h + 1);
	struct rte_udp_hdr *l4 = (struct rte_udp_hdr *)(ip + 1);

	h->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	memset(ip, 0, m->data_len - sizeof(*h));
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16(m->data_len - sizeof(*h));
	ip->time_to_live = 64;
	ip->next_proto_id = proto;
	ip->src_addr = rte_cpu_to_be_32(src);
	ip->dst_addr = rte_cpu_to_be_32(dst);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	/* The ports are at the same place in both protocols. */
	l4->src_port = rte_cpu_to_be_16(sport);
	l4->dst_port = rte_cpu_to_be_16(dport);
	if (proto == IPPROTO_TCP)
		((struct rte_tcp_hdr *)l4)->data_off = 5 << 4;
	else
		l4->dgram_len = rte_cpu_to_be_16(m->data_len - sizeof(*h) - sizeof(*ip));
	return m;
}

void
rig_send(uint16_t port, struct rte_mbuf *m)
{
	assert_int_equal(rte_eth_tx_burst(port, 0, &m, 1), 1);
	rig_run(port);
}

unsigned int
rig_drain(uint16_t port, uint16_t queue)
{
	struct rte_mbuf *m[32];
	unsigned int n, sum = 0;

	while ((n = rte_eth_rx_burst(port, queue, m, RTE_DIM(m))) != 0) {
		rte_pktmbuf_free_bulk(m, n);
		sum += n;
	}
	return sum;
}

unsigned int
rig_reaches(const struct rte_ether_addr *dst)
{
	rig_send(0, rig_frame(dst, RIG_FRAME));
	return rig_drain(1, 0);
}

struct rte_ether_addr
rig_mac(uint16_t port)
{
	struct rte_ether_addr mac;

	assert_int_equal(rte_eth_macaddr_get(port, &mac), 0);
	return mac;
}

uint64_t
rig_xstat(uint16_t port, const char *name)
{
	uint64_t id, v;

	if (rte_eth_xstats_get_id_by_name(port, name, &id) != 0)
		fail_msg("no counter %s", name);
	assert_int_equal(rte_eth_xstats_get_by_id(port, &id, &v, 1), 1);
	return v;
}

/*
 * The thread sees what is there at a turn's begin, in no order, so the second of ours comes after all that was there before. Two
 * more are for handlers that make work for it. Alarms would not do: it may take one after another in a single turn.
 */
void
rig_handled(void)
{
	const uint64_t one = 1;
	unsigned int i;

	if (turn.fd < 0)
		turn_begin();
	for (i = 0; i < 4; i++) {
		assert_int_equal(write(turn.fd, &one, sizeof(one)), sizeof(one));
		while (sem_wait(&turn.seen) != 0)
			assert_int_equal(errno, EINTR);
	}
}

void
rig_settle(uint16_t port)
{
	rig_handled();
	rig_run(port);
	rig_handled();
}

void
rig_log_begin(void)
{
	log_file = open_memstream(&log_text, &log_len);
	assert_non_null(log_file);
	assert_int_equal(rte_openlog_stream(log_file), 0);
}

char *
rig_log_end(unsigned int *lines)
{
	const char *p;

	rig_handled();
	rte_openlog_stream(NULL);
	/* A thread that took the file before is done with it. */
	rig_handled();
	fclose(log_file);
	log_file = NULL;
	*lines = 0;
	for (p = log_text; (p = strstr(p, "mlx4: ")) != NULL; p = strchr(p, '\n'))
		*lines += p == log_text || p[-1] == '\n';
	return log_text;
}

void
rig_log_one(const char *word1, const char *word2)
{
	unsigned int lines;
	char *text = rig_log_end(&lines);

	if (lines != 1 || strstr(text, word1) == NULL || strstr(text, word2) == NULL)
		fail_msg("%u lines, wanted one with \"%s\" and \"%s\":\n%s", lines, word1, word2, text);
	free(text);
}

void
rig_kill_card(enum tp_fault kind)
{
	struct mlx4_bus *bus = ((struct mlx4_eth *)rte_eth_devices[0].data->dev_private)->hca->bus;
	uint32_t patience = bus->cmd_timeout_ms;
	struct rte_eth_stats st;

	/* It cannot be a command that is merely slow. */
	bus->cmd_timeout_ms = DEATH_MS;
	tp_model_fault(rig_model(0), kind, 0, 1, 0);
	assert_true(rte_eth_stats_get(0, &st) < 0);
	bus->cmd_timeout_ms = patience;
}
