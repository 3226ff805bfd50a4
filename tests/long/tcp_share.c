/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * tcp_share drop|mark FIRST-S SECONDS [WORD=N...]: a flow of lib/tcp and one of Linux, both CUBIC, share a bottleneck that this
 * program is: a rate, a queue that drops what it has no room for, and a threshold from which on it marks (RFC 3168), then a way.
 * What leaves the bottleneck is counted for each, after the first seconds. Linux's sender and the receiver of both are in network
 * namespaces of their own, behind a TAP each.
 *
 * Words: rate (kbit/s), rtt (ms), queue and threshold (octets), ours, linux (ms: when each begins), reno (1: of both).
 */
#include <poll.h>
#include <signal.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <rte_ip.h>

#include "lib/tcp/tcp.h"
#include "tcp_relay.h"

#define SINK RTE_IPV4(10, 78, 0, 1)
#define OWN RTE_IPV4(10, 78, 0, 2)
#define LINUX_IP RTE_IPV4(10, 78, 0, 3)
#define SINK_PORT 5001
#define TAP_FRAMES 256

enum { US, LINUX };

static const char *const who[] = {"ours", "Linux"};

static struct {
	uint64_t rate_kbit, rtt_ms, queue, threshold, begins_ms[2];
	bool reno, mark;
} set = {20000, 20, 50000, 12500, {0, 0}, false, false};

struct frame {
	struct frame *next;
	uint64_t at;
	int to; /* a TAP, or -1: us */
	uint16_t len;
	uint8_t data[];
};

/* Frames leave in their order. */
struct queue {
	struct frame *head, **tail;
};

static struct {
	int sink, sender; /* TAPs */
	struct rte_ether_addr sink_mac, sender_mac;
	struct rte_mempool *pool;
	struct tcp_stack *s;
	struct queue there, back;
	uint64_t busy_until;
	uint64_t octets[2], dropped[2], marked[2];
} w;

static const struct rte_ether_addr own_mac = {{0x02, 0x54, 0x50, 0, 0, 1}};

static void
later(struct queue *q, const uint8_t *p, uint16_t len, int to, uint64_t at)
{
	struct frame *f = malloc(sizeof(*f) + len);

	if (f == NULL)
		relay_die("malloc");
	*f = (struct frame){.at = at, .to = to, .len = len};
	memcpy(f->data, p, len);
	*q->tail = f;
	q->tail = &f->next;
}

/* RFC 3168 5, RFC 1624 */
static bool
marked(uint8_t *ip)
{
	uint32_t sum;

	if ((ip[1] & 3) == 0)
		return false;
	sum = (uint32_t)(ip[10] << 8 | ip[11]) + (ip[1] & 3) + 0xffff - 3;
	sum = (sum & 0xffff) + (sum >> 16);
	ip[1] |= 3;
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
	return true;
}

/* The bottleneck. */
static void
to_sink(const uint8_t *p, uint16_t len, int from)
{
	static uint8_t copy[RELAY_FRAME_MAX];
	const uint64_t now = relay_us(), start = RTE_MAX(w.busy_until, now);
	const uint64_t waiting = (start - now) * set.rate_kbit / 8000;

	if (waiting + len > set.queue) {
		w.dropped[from]++;
		return;
	}
	memcpy(copy, p, len);
	if (set.mark && waiting > set.threshold && marked(copy + 14))
		w.marked[from]++;
	w.busy_until = start + (uint64_t)len * 8000 / set.rate_kbit;
	w.octets[from] += len;
	later(&w.there, copy, len, w.sink, w.busy_until + set.rtt_ms * 500);
}

static void
arrive(struct queue *q, uint64_t now)
{
	struct rte_mbuf *m;
	struct frame *f;

	while ((f = q->head) != NULL && f->at <= now) {
		q->head = f->next;
		if (q->head == NULL)
			q->tail = &q->head;
		if (f->to >= 0) {
			if (write(f->to, f->data, f->len) != f->len && errno != EAGAIN && errno != ENOBUFS)
				relay_die("write to a TAP");
		} else if ((m = rte_pktmbuf_alloc(w.pool)) != NULL) {
			memcpy(rte_pktmbuf_append(m, f->len), f->data, f->len);
			tcp_input(w.s, &m, 1, now);
		}
		free(f);
	}
}

static bool
is_tcp(const uint8_t *p, ssize_t len)
{
	return len >= 54 && len <= (ssize_t)RELAY_FRAME_MAX && p[12] == 8 && p[13] == 0 && p[23] == IPPROTO_TCP;
}

static void
from_taps(void)
{
	static uint8_t buf[RELAY_FRAME_MAX];
	const rte_be32_t own = rte_cpu_to_be_32(OWN);
	ssize_t n;
	int i;

	for (i = 0; i < TAP_FRAMES && (n = read(w.sender, buf, sizeof(buf))) > 0; i++)
		if (is_tcp(buf, n))
			to_sink(buf, (uint16_t)n, LINUX);
	for (i = 0; i < TAP_FRAMES && (n = read(w.sink, buf, sizeof(buf))) > 0; i++)
		if (is_tcp(buf, n))
			later(&w.back, buf, (uint16_t)n, memcmp(buf + 30, &own, 4) == 0 ? -1 : w.sender,
			      relay_us() + set.rtt_ms * 500);
}

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	static uint8_t buf[RELAY_FRAME_MAX];
	uint16_t i;

	(void)home;
	for (i = 0; i < n; i++) {
		to_sink(rte_pktmbuf_read(m[i], 0, m[i]->pkt_len, buf), (uint16_t)m[i]->pkt_len, US);
		rte_pktmbuf_free(m[i]);
	}
	return n;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	(void)home, (void)local, (void)remote;
	*path = (struct tcp_path){.src = own_mac, .dst = w.sink_mac, .local = rte_cpu_to_be_32(OWN), .mtu = 1500};
	return 0;
}

static bool
home_local(void *home, rte_be32_t ip)
{
	(void)home;
	return ip == rte_cpu_to_be_32(OWN);
}

static void
home_event(void *home, struct tcp_conn *conn, void *user, unsigned int events)
{
	(void)home, (void)conn, (void)user, (void)events;
}

static uint32_t
home_random(void *home)
{
	(void)home;
	return (uint32_t)random() << 1 ^ (uint32_t)random();
}

/* --- Linux's processes, which end with their parent --- */

static pid_t
process(void)
{
	const pid_t child = fork();

	if (child < 0)
		relay_die("fork");
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static pid_t
sink_process(void)
{
	struct sockaddr at = relay_addr(SINK, SINK_PORT);
	static char buf[1 << 16];
	struct pollfd p[3];
	nfds_t i, n = 1;
	pid_t child;

	p[0] = (struct pollfd){socket(AF_INET, SOCK_STREAM, 0), POLLIN, 0};
	if (bind(p[0].fd, &at, sizeof(at)) != 0 || listen(p[0].fd, 4) != 0)
		relay_die("listen");
	child = process();
	if (child != 0) {
		close(p[0].fd);
		return child;
	}
	for (;;) {
		if (poll(p, n, -1) < 0)
			_exit(1);
		for (i = 1; i < n; i++)
			if (p[i].revents != 0 && read(p[i].fd, buf, sizeof(buf)) <= 0)
				_exit(0);
		if (p[0].revents != 0 && n < RTE_DIM(p))
			p[n++] = (struct pollfd){accept(p[0].fd, NULL, NULL), POLLIN, 0};
	}
}

static pid_t
sender_process(void)
{
	const char *cc = set.reno ? "reno" : "cubic";
	struct sockaddr to = relay_addr(SINK, SINK_PORT);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	static char buf[1 << 16];
	pid_t child;

	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)) != 0) {
		printf("skip tcp-share: this kernel has no %s: %s\n", cc, strerror(errno));
		exit(0);
	}
	child = process();
	if (child != 0) {
		close(fd);
		return child;
	}
	usleep((useconds_t)set.begins_ms[LINUX] * 1000);
	if (connect(fd, &to, sizeof(to)) != 0)
		_exit(1);
	while (write(fd, buf, sizeof(buf)) > 0)
		;
	_exit(0);
}

/* Of the sender's namespace. */
static unsigned long long
sender_counter(pid_t sender, const char *file, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)sender, file);
	return (unsigned long long)relay_counter(path, name);
}

/* --- ours --- */

static struct tcp_conn *
our_connect(void)
{
	const struct tcp_addr to = {rte_cpu_to_be_32(SINK), RTE_BE16(SINK_PORT)};
	struct tcp_conn *c;
	int err;

	c = tcp_connect(w.s, NULL, &to, NULL, &err);
	if (c == NULL)
		relay_die("tcp_connect");
	return c;
}

static void
our_data(struct tcp_conn *c)
{
	static uint8_t data[1 << 16];
	const struct iovec iov = {data, sizeof(data)};

	if (tcp_state(c) == TCP_ESTABLISHED)
		while (tcp_send(c, &iov, 1, 0) > 0)
			;
	if (tcp_state(c) == TCP_CLOSE) {
		errno = tcp_error(c);
		relay_die("our connection");
	}
}

static void
run_until(struct tcp_conn **c, uint64_t begun, uint64_t end)
{
	uint64_t now, at;

	while ((now = relay_us()) < end) {
		struct pollfd p[2] = {{w.sender, POLLIN, 0}, {w.sink, POLLIN, 0}};
		struct timespec t = {0, 5000000};

		if (*c == NULL && now >= begun + set.begins_ms[US] * 1000)
			*c = our_connect();
		from_taps();
		arrive(&w.there, now);
		arrive(&w.back, now);
		if (*c != NULL)
			our_data(*c);
		tcp_run(w.s, now);
		at = tcp_deadline(w.s);
		if (w.there.head != NULL)
			at = RTE_MIN(at, w.there.head->at);
		if (w.back.head != NULL)
			at = RTE_MIN(at, w.back.head->at);
		now = relay_us();
		if (at < now + 5000)
			t.tv_nsec = at <= now ? 0 : (long)(at - now) * 1000;
		ppoll(p, 2, &t, NULL);
	}
}

static void
read_words(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t *to;
	} words[] = {{"rate", &set.rate_kbit},      {"rtt", &set.rtt_ms},         {"queue", &set.queue},
		     {"threshold", &set.threshold}, {"ours", &set.begins_ms[US]}, {"linux", &set.begins_ms[LINUX]}};
	int i;
	size_t k;

	set.mark = strcmp(argv[1], "mark") == 0;
	for (i = 4; i < argc; i++) {
		const char *v = strchr(argv[i], '=');
		const size_t len = v == NULL ? 0 : (size_t)(v - argv[i]);

		set.reno |= strcmp(argv[i], "reno=1") == 0;
		for (k = 0; k < RTE_DIM(words); k++)
			if (v != NULL && strlen(words[k].name) == len && strncmp(argv[i], words[k].name, len) == 0)
				*words[k].to = strtoull(v + 1, NULL, 10);
	}
}

int
main(int argc, char **argv)
{
	static const struct tcp_home ops = {home_tx, home_path, home_local, home_event, home_random, NULL};
	struct tcp_conf conf = {0};
	struct tcp_info info = {0};
	struct tcp_conn *c = NULL;
	uint64_t begun, first, seconds, i, before[2], from[2];
	double share;
	pid_t child[2];
	int err, k;

	if (argc < 4) {
		fprintf(stderr, "usage: tcp_share drop|mark FIRST-S SECONDS [WORD=N...]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_words(argc, argv);
	first = strtoull(argv[2], NULL, 10);
	seconds = strtoull(argv[3], NULL, 10);
	w.there.tail = &w.there.head;
	w.back.tail = &w.back.head;

	w.sink = relay_tap(SINK, &w.sink_mac);
	relay_neighbour(OWN, &own_mac);
	relay_setting("tcp_ecn", set.mark ? "1" : "0");
	/* The sender's address there is known when its TAP is. */
	child[0] = sink_process();
	k = open("/proc/self/ns/net", O_RDONLY);
	w.sender = relay_tap(LINUX_IP, &w.sender_mac);
	relay_neighbour(SINK, &w.sink_mac);
	relay_setting("tcp_ecn", set.mark ? "1" : "0");
	child[1] = sender_process();
	if (setns(k, CLONE_NEWNET) != 0)
		relay_die("setns");
	relay_neighbour(LINUX_IP, &w.sender_mac);
	close(k);

	/* A router that waits for a CPU is another router. Where this is refused, a busy machine tells so by the rate. */
	prctl(PR_SET_TIMERSLACK, 1);
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1});
	w.pool = relay_pool(8191);
	conf.pool = w.pool;
	conf.cc = set.reno ? TCP_CC_RENO : TCP_CC_CUBIC;
	conf.ecn = set.mark ? TCP_ECN_ON : TCP_ECN_OFF;
	begun = relay_us();
	w.s = tcp_stack_create(&conf, &ops, NULL, begun, &err);
	if (w.s == NULL)
		relay_die("stack");
	run_until(&c, begun, begun + first * 1000000);
	for (k = 0; k < 2; k++)
		from[k] = w.octets[k];
	printf("#   s     ours    Linux  kbit/s; our window in segments, the slow start's end\n");
	for (i = 1; i <= seconds; i++) {
		memcpy(before, w.octets, sizeof(before));
		run_until(&c, begun, begun + (first + i) * 1000000);
		tcp_info_get(c, &info);
		printf("# %3lu %8llu %8llu  %5u %5d\n", first + i,
		       (unsigned long long)(w.octets[US] - before[US]) / 125,
		       (unsigned long long)(w.octets[LINUX] - before[LINUX]) / 125, info.tcpi_snd_cwnd,
		       (int)info.tcpi_snd_ssthresh);
	}
	for (k = 0; k < 2; k++)
		printf("# %s: %.2f Mbit/s, %llu dropped, %llu marked\n", who[k],
		       (double)(w.octets[k] - from[k]) * 8e-6 / (double)seconds, (unsigned long long)w.dropped[k],
		       (unsigned long long)w.marked[k]);
	share = (double)(w.octets[US] - from[US]) / (double)RTE_MAX(w.octets[LINUX] - from[LINUX], UINT64_C(1));
	printf("# ours: %llu sent again, %llu recoveries, %llu time-outs, %llu spurious, round trip %u us\n",
	       (unsigned long long)tcp_stats(w.s)->retransmits, (unsigned long long)tcp_stats(w.s)->fast_retransmits,
	       (unsigned long long)tcp_stats(w.s)->timeouts, (unsigned long long)tcp_stats(w.s)->spurious,
	       info.tcpi_rtt);
	printf("# Linux: %llu sent again, %llu recoveries, %llu time-outs, %llu spurious\n",
	       sender_counter(child[1], "snmp", "RetransSegs"), sender_counter(child[1], "netstat", "TCPSackRecovery"),
	       sender_counter(child[1], "netstat", "TCPTimeouts"), sender_counter(child[1], "netstat", "TCPDSACKRecv"));
	for (k = 0; k < 2; k++) {
		kill(child[k], SIGKILL);
		waitpid(child[k], NULL, 0);
	}
	tcp_stack_destroy(w.s);
	printf("share %.2f: ours, of Linux's; %lu marks, %lu drops; %.2f of the rate\n", share,
	       w.marked[US] + w.marked[LINUX], w.dropped[US] + w.dropped[LINUX],
	       (double)(w.octets[US] + w.octets[LINUX] - from[US] - from[LINUX]) * 8e-3 /
		       ((double)seconds * (double)set.rate_kbit));
	return 0;
}
