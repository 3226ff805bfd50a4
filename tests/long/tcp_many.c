/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * tcp_many MESSAGES [CONNECTIONS [LOSS [REORDER [SEED]]]]: messages of 100 octets between lib/tcp and Linux over a TAP that
 * loses and reorders so many of 10000 frames, either way. So many connections are open at a time; each carries 5000 messages
 * each way and ends, half of them opened by either end. Each octet is compared with what its place says.
 */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/tcp/tcp.h"
#include "tcp_many.h"
#include "tcp_relay.h"

#define SLOTS 4096u
#define LATE_MAX 64u
#define TAP_FRAMES 1024
#define PATIENCE_S 300u /* without a message, or an end: a time-out that was doubled often is two minutes */

static uint32_t loss, reorder;

/* --- the wire --- */

struct late {
	uint16_t len;
	uint8_t behind; /* so many frames of its connection */
	uint64_t until;
	uint8_t data[RELAY_FRAME_MAX];
};

static struct {
	int fd;
	struct rte_mempool *pool;
	struct tcp_stack *s;
	struct rte_ether_addr peer_mac;
	struct late *late[2][SLOTS];   /* by direction and connection; NULL: none */
	uint16_t waiting[2][LATE_MAX]; /* which there are */
	uint32_t num_waiting[2];
	struct rte_mbuf *in[32];
	uint16_t num_in;
	uint64_t random, frames, lost, reordered;
} w;

static const struct rte_ether_addr own_mac = {{0x02, 0x54, 0x50, 0, 0, 1}};

static bool
chance(uint32_t of_10000)
{
	w.random = mix(w.random + UINT64_C(0x9e3779b97f4a7c15));
	return w.random % 10000 < of_10000;
}

static void
flush_in(void)
{
	if (w.num_in != 0)
		tcp_input(w.s, w.in, w.num_in, relay_us());
	w.num_in = 0;
}

static void
deliver(const uint8_t *p, uint16_t len, bool to_us)
{
	struct rte_mbuf *m;

	if (!to_us) {
		if (write(w.fd, p, len) != len && errno != EAGAIN && errno != ENOBUFS)
			relay_die("write to the TAP");
		return;
	}
	m = rte_pktmbuf_alloc(w.pool);
	if (m == NULL) {
		wrong(US, "no mbuf for what comes");
		return;
	}
	memcpy(rte_pktmbuf_append(m, len), p, len);
	w.in[w.num_in++] = m;
	if (w.num_in == RTE_DIM(w.in))
		flush_in();
}

static void
release(uint32_t i, bool to_us)
{
	const uint16_t slot = w.waiting[to_us][i];
	struct late *l = w.late[to_us][slot];

	w.waiting[to_us][i] = w.waiting[to_us][--w.num_waiting[to_us]];
	w.late[to_us][slot] = NULL;
	deliver(l->data, l->len, to_us);
	free(l);
}

/* A frame that is late goes behind the next ones of its connection, or waits for two milliseconds. */
static void
wire(const uint8_t *p, uint16_t len, bool to_us)
{
	const uint16_t slot = (uint16_t)(((p[34] ^ p[36]) << 8 | (p[35] ^ p[37])) % SLOTS);
	struct late *l;
	uint32_t i;

	if (len < 54 || p[12] != 8 || p[13] != 0 || p[23] != IPPROTO_TCP)
		return;
	w.frames++;
	if (chance(loss)) {
		w.lost++;
		return;
	}
	l = w.late[to_us][slot];
	if (l == NULL && w.num_waiting[to_us] < LATE_MAX && chance(reorder)) {
		l = malloc(sizeof(*l));
		if (l == NULL)
			relay_die("malloc");
		w.reordered++;
		l->len = len;
		l->behind = (uint8_t)(1 + w.random / 10000 % 6);
		l->until = relay_us() + 2000;
		memcpy(l->data, p, len);
		w.late[to_us][slot] = l;
		w.waiting[to_us][w.num_waiting[to_us]++] = slot;
		return;
	}
	deliver(p, len, to_us);
	if (l == NULL || --l->behind != 0)
		return;
	for (i = 0; w.waiting[to_us][i] != slot; i++)
		;
	release(i, to_us);
}

static uint64_t
late_until(bool to_us, uint64_t now)
{
	uint64_t first = TCP_NEVER;
	uint32_t i;

	for (i = 0; i < w.num_waiting[to_us];) {
		const struct late *l = w.late[to_us][w.waiting[to_us][i]];

		if (l->until <= now) {
			release(i, to_us);
			continue;
		}
		first = RTE_MIN(first, l->until);
		i++;
	}
	return first;
}

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	static uint8_t buf[RELAY_FRAME_MAX];
	uint16_t i;

	(void)home;
	for (i = 0; i < n; i++) {
		wire(rte_pktmbuf_read(m[i], 0, m[i]->pkt_len, buf), (uint16_t)m[i]->pkt_len, false);
		rte_pktmbuf_free(m[i]);
	}
	return n;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	(void)home, (void)local, (void)remote;
	*path = (struct tcp_path){.src = own_mac, .dst = w.peer_mac, .local = rte_cpu_to_be_32(OWN), .mtu = 1500};
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
	(void)home, (void)conn, (void)events;
	if (user != NULL)
		((struct flow *)user)->ready = true;
}

static uint32_t
home_random(void *home)
{
	(void)home;
	chance(0);
	return (uint32_t)(w.random >> 16);
}

/* --- our end --- */

static struct flow flows[OPEN_MAX];

static void
our_flow(struct flow *f, struct tcp_conn *c, bool opener, uint32_t id)
{
	*f = (struct flow){
		.c = c, .used = true, .opener = opener, .known = opener, .id = id, .random = id, .ready = true};
	tcp_opt_set(c, IPPROTO_TCP, TCP_NODELAY, (id & 4) != 0);
}

static void
our_call(uint32_t id)
{
	const struct tcp_addr to = {rte_cpu_to_be_32(PEER), RTE_BE16(PEER_PORT)};
	struct flow *f = free_flow(flows);
	struct tcp_conn *c;
	int err;

	c = tcp_connect(w.s, NULL, &to, f, &err);
	if (c == NULL) {
		errno = -err;
		relay_die("tcp_connect");
	}
	our_flow(f, c, true, id);
}

static bool
our_recv(struct flow *f)
{
	static uint8_t data[65536];
	const struct iovec iov = {data, sizeof(data)};
	ssize_t n;

	while (!f->end) {
		if (!f->known) {
			uint32_t id;
			const struct iovec first = {&id, sizeof(id)};

			n = tcp_recv(f->c, &first, 1, MSG_PEEK);
			if (n < (ssize_t)sizeof(id))
				return n > 0 || n == -EAGAIN;
			if (!introduced(f, US, id))
				return false;
		}
		n = tcp_recv(f->c, &iov, 1, 0);
		if (n == -EAGAIN)
			return true;
		if (n < 0) {
			wrong(US, "connection %u: recv: %s", f->id, strerror((int)-n));
			return false;
		}
		f->end = n == 0;
		if (!received(f, US, data, (size_t)n))
			return false;
	}
	return true;
}

static bool
our_send(struct flow *f)
{
	uint8_t data[BURST * MESSAGE];
	struct iovec iov = {data, 0};
	ssize_t n;

	while (f->known && f->sent < OCTETS) {
		iov.iov_len = next_burst(f);
		content(f->id, US, f->sent, data, iov.iov_len);
		n = tcp_send(f->c, &iov, 1, 0);
		f->ready = n == -ENOBUFS;
		if (n == -EAGAIN || n == -ENOBUFS)
			return true;
		if (n < 0) {
			wrong(US, "connection %u: send: %s", f->id, strerror((int)-n));
			return false;
		}
		f->sent += (uint64_t)n;
	}
	if (f->known && !f->shut) {
		tcp_shutdown(f->c, SHUT_WR);
		f->shut = true;
	}
	return true;
}

/* What has events; connections that have ended and that may begin. */
static void
our_work(struct tcp_conn *listener)
{
	static uint32_t next, open;
	struct tcp_conn *c;
	struct flow *f;
	int state;

	for (; open < open_flows / 2 && next < total_flows; open++, next += 2)
		our_call(next);
	while ((f = free_flow(flows)) != NULL && (c = tcp_accept(listener, f)) != NULL)
		our_flow(f, c, false, 0);
	for (f = flows; f < flows + OPEN_MAX; f++) {
		if (!f->used || !f->ready)
			continue;
		f->ready = false;
		state = tcp_state(f->c);
		if (state == TCP_SYN_SENT || state == TCP_SYN_RECV)
			continue;
		if (!our_recv(f) || !our_send(f)) {
			wrong(US, "connection %u in state %d: error %d", f->id, state, tcp_error(f->c));
			return;
		}
		if (!f->end || !f->shut)
			continue;
		if (f->got != OCTETS)
			wrong(US, "connection %u: ended after %llu octets", f->id, (unsigned long long)f->got);
		shared->flows[US]++;
		open -= f->opener;
		tcp_close(f->c);
		f->used = false;
	}
}

static void
our_end(void)
{
	const struct tcp_addr at = {0, RTE_BE16(OWN_PORT)};
	uint64_t now = relay_us(), last = 0, quiet = now, told = now;
	struct tcp_conn *listener;
	static uint8_t buf[RELAY_FRAME_MAX];
	ssize_t n = 0;
	int err, i;

	listener = tcp_listen(w.s, &at, OPEN_MAX, NULL, &err);
	if (listener == NULL)
		relay_die("tcp_listen");
	while ((shared->flows[US] < total_flows || shared->flows[LINUX] < total_flows || tcp_unacked(w.s) != 0) &&
	       shared->wrong[US][0] == 0 && shared->wrong[LINUX][0] == 0) {
		const uint64_t messages = shared->messages[US] + shared->messages[LINUX],
			       done = messages + shared->flows[US] + shared->flows[LINUX];
		struct pollfd p = {w.fd, POLLIN, 0};
		struct timespec t = {0, 20000000};
		uint64_t due;

		for (i = 0; i < TAP_FRAMES && (n = read(w.fd, buf, sizeof(buf))) > 0; i++)
			wire(buf, (uint16_t)n, true);
		now = relay_us();
		due = RTE_MIN(late_until(true, now), late_until(false, now));
		flush_in();
		our_work(listener);
		tcp_run(w.s, relay_us());
		if (done != last) {
			last = done;
			quiet = now;
		}
		if (now > quiet + PATIENCE_S * 1000000)
			wrong(US, "no message and no end for %u s", PATIENCE_S);
		if (now > told + 60 * 1000000) {
			printf("# %llu messages\n", (unsigned long long)messages);
			fflush(stdout);
			told = now;
		}
		if (i == TAP_FRAMES)
			continue;
		due = RTE_MIN(due, tcp_deadline(w.s));
		now = relay_us();
		if (due < now + 20000)
			t.tv_nsec = due <= now ? 0 : (long)(due - now) * 1000;
		ppoll(&p, 1, &t, NULL);
	}
	tcp_close(listener);
}

/* --- what came of it --- */

static int
verdict(double seconds)
{
	/* Linux counts SYN that come late to a connection among errors, and as challenges; where it is about to end, as these alone. */
	const uint64_t want = (uint64_t)total_flows * EACH, bad_sums = relay_counter("/proc/net/snmp", "InCsumErrors"),
		       errors = relay_counter("/proc/net/snmp", "InErrs"),
		       malformed = errors - RTE_MIN(errors, relay_counter("/proc/net/netstat", "TCPSYNChallenge"));
	const struct tcp_stats *t = tcp_stats(w.s);
	uint32_t i, once = 0;

	for (i = 0; i < total_flows; i++)
		once += shared->seen[i] == 1;
	printf("# %llu messages to us, %llu to Linux, %u connections, %u at a time, %.1f s\n",
	       (unsigned long long)shared->messages[US], (unsigned long long)shared->messages[LINUX], total_flows,
	       open_flows, seconds);
	printf("# %llu frames, %llu lost, %llu late\n", (unsigned long long)w.frames, (unsigned long long)w.lost,
	       (unsigned long long)w.reordered);
	printf("# ours: %llu sent again, %llu recoveries, %llu time-outs, %llu tail probes, %llu spurious\n",
	       (unsigned long long)t->retransmits, (unsigned long long)t->fast_retransmits,
	       (unsigned long long)t->timeouts, (unsigned long long)t->tail_probes, (unsigned long long)t->spurious);
	printf("# Linux: %llu sent again, %llu time-outs, %llu tail probes, %llu spurious\n",
	       (unsigned long long)relay_counter("/proc/net/snmp", "RetransSegs"),
	       (unsigned long long)relay_counter("/proc/net/netstat", "TCPTimeouts"),
	       (unsigned long long)relay_counter("/proc/net/netstat", "TCPLossProbes"),
	       (unsigned long long)relay_counter("/proc/net/netstat", "TCPDSACKRecv"));
	for (i = 0; i < 2; i++)
		if (shared->wrong[i][0] != 0)
			printf("not ok tcp-many: %s: %s\n", i == US ? "ours" : "Linux", shared->wrong[i]);
	if (shared->wrong[US][0] != 0 || shared->wrong[LINUX][0] != 0)
		return 1;
	if (shared->messages[US] != want || shared->messages[LINUX] != want || once != total_flows) {
		printf("not ok tcp-many: wanted %llu messages each way, %u connections once each, had %u\n",
		       (unsigned long long)want, total_flows, once);
		return 1;
	}
	if (bad_sums != 0 || malformed != 0 || t->rx_checksum != 0 || t->rx_malformed != 0) {
		printf("not ok tcp-many: segments with errors: Linux has %llu by sum, %llu in all; ours %llu, %llu\n",
		       (unsigned long long)bad_sums, (unsigned long long)malformed, (unsigned long long)t->rx_checksum,
		       (unsigned long long)t->rx_malformed);
		return 1;
	}
	if ((loss != 0 && w.lost == 0) || (reorder != 0 && w.reordered == 0)) {
		printf("not ok tcp-many: nothing was lost, or late\n");
		return 1;
	}
	printf("ok tcp-many\n");
	return 0;
}

static uint32_t
argument(int argc, char **argv, int i, uint32_t otherwise)
{
	return argc > i ? (uint32_t)strtoul(argv[i], NULL, 10) : otherwise;
}

int
main(int argc, char **argv)
{
	static const struct tcp_home ops = {home_tx, home_path, home_local, home_event, home_random, NULL};
	struct tcp_conf conf = {.sndbuf = 65536, .rcvbuf = 262144};
	struct sockaddr at = relay_addr(PEER, PEER_PORT);
	int listener, status = 0, err, rc;
	uint64_t begun;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: tcp_many MESSAGES [CONNECTIONS [LOSS [REORDER [SEED]]]]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Each has as many of either direction. */
	total_flows = (uint32_t)RTE_MAX((strtoull(argv[1], NULL, 10) + 2 * EACH - 1) / (2 * EACH), UINT64_C(2));
	open_flows = RTE_MIN(RTE_MAX(argument(argc, argv, 2, 64), 2u), OPEN_MAX / 2);
	loss = argument(argc, argv, 3, 100);
	reorder = argument(argc, argv, 4, 100);
	seed = argument(argc, argv, 5, 1);
	shared = mmap(NULL, sizeof(*shared) + total_flows, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		relay_die("mmap");
	w.fd = relay_tap(PEER, &w.peer_mac);
	relay_neighbour(OWN, &own_mac);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(listener, &at, sizeof(at)) != 0 || listen(listener, OPEN_MAX) != 0)
		relay_die("listen");
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		linux_end(listener);
		_exit(0);
	}
	close(listener);
	w.random = seed;
	w.pool = relay_pool(32767);
	conf.pool = w.pool;
	begun = relay_us();
	w.s = tcp_stack_create(&conf, &ops, NULL, begun, &err);
	if (w.s == NULL)
		relay_die("stack");
	our_end();
	if (shared->wrong[US][0] != 0)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	if (status != 0 && shared->wrong[US][0] == 0)
		wrong(LINUX, "its process ended with status %d", status);
	rc = verdict((double)(relay_us() - begun) / 1e6);
	tcp_stack_destroy(w.s);
	return rc;
}
