/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * One connection of lib/tcp with a TAP as its wire: what comes by standard input is sent, what arrives goes to standard
 * output, and counters go to standard error at the end. The kernel at the other side of the TAP is the peer.
 *
 *   tcp_tap TAP OWN-IP PEER-IP listen|connect PORT [loss=N] [reorder=N] [mark=N] [mtu=N] [rcvbuf=N] [ecn=N] [stay=FD]
 *           [NAME...]
 *
 * loss, reorder, mark (by ECN): of 10000 frames, either way. NAME: no_sack, no_timestamps, no_wscale, reno, no_icmp (none arrives).
 * stay: when all is told, the TAP stays until this descriptor ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ip.h>

#include "lib/tcp/tcp.h"

#define ROOM 65536u
#define FRAME_MAX 10240u
#define TAP_FRAMES 1024 /* that wait in a TAP, and some */
#define PATIENCE_S 60u  /* without a sign of the peer */

static const struct rte_ether_addr own_mac = {{0x02, 0x54, 0x50, 0, 0, 1}};

struct late {
	uint8_t data[FRAME_MAX];
	ssize_t len;
	bool to_us;
};

static struct {
	int fd;
	rte_be32_t ip;
	struct rte_ether_addr peer_mac;
	uint16_t mtu;
	uint32_t loss, reorder, mark;
	bool no_icmp;
	int stay;
	uint64_t random;
	struct rte_mempool *pool;
	struct late late[2]; /* by direction: it goes behind the next frame */
} w;

static void
die(const char *what)
{
	fprintf(stderr, "tcp_tap: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint32_t
next_random(void)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return (uint32_t)(w.random >> 16);
}

static bool
chance(uint32_t of_10000)
{
	return of_10000 != 0 && next_random() % 10000 < of_10000;
}

/* A copy, as a router marks it (RFC 3168 5); the sum by RFC 1624. */
static const uint8_t *
marked(const uint8_t *p, ssize_t len)
{
	static uint8_t copy[FRAME_MAX];
	uint32_t sum;

	memcpy(copy, p, (size_t)len);
	sum = (uint32_t)(copy[24] << 8 | copy[25]) + (copy[15] & 3) + 0xffff - 3;
	sum = (sum & 0xffff) + (sum >> 16);
	copy[15] |= 3;
	copy[24] = (uint8_t)(sum >> 8);
	copy[25] = (uint8_t)sum;
	return copy;
}

/* Gives a frame to pass(), later, or not at all. */
static void
wire(const uint8_t *p, ssize_t len, bool to_us, void (*pass)(const uint8_t *p, ssize_t len, void *arg), void *arg)
{
	struct late *late = &w.late[to_us];

	if (chance(w.loss) || (w.no_icmp && p[23] == IPPROTO_ICMP))
		return;
	if (p[12] == 8 && p[13] == 0 && (p[15] & 3) != 0 && chance(w.mark))
		p = marked(p, len);
	if (late->len == 0 && chance(w.reorder)) {
		memcpy(late->data, p, (size_t)len);
		late->len = len;
		return;
	}
	pass(p, len, arg);
	if (late->len != 0) {
		pass(late->data, late->len, arg);
		late->len = 0;
	}
}

static void
to_tap(const uint8_t *p, ssize_t len, void *arg)
{
	(void)arg;
	if (write(w.fd, p, (size_t)len) != len && errno != EIO)
		die("write to the TAP");
}

static void
to_stack(const uint8_t *p, ssize_t len, void *arg)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w.pool);
	char *to = m == NULL ? NULL : rte_pktmbuf_append(m, (uint16_t)len);

	if (to == NULL) {
		rte_pktmbuf_free(m);
		return;
	}
	memcpy(to, p, (size_t)len);
	tcp_input(arg, &m, 1, now_us());
}

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	static uint8_t buf[FRAME_MAX];
	uint16_t i;

	(void)home;
	for (i = 0; i < n; i++) {
		const void *p = rte_pktmbuf_read(m[i], 0, m[i]->pkt_len, buf);

		wire(p, (ssize_t)m[i]->pkt_len, false, to_tap, NULL);
		rte_pktmbuf_free(m[i]);
	}
	return n;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	(void)home, (void)local, (void)remote;
	*path = (struct tcp_path){.src = own_mac, .dst = w.peer_mac, .local = w.ip, .mtu = w.mtu};
	return 0;
}

static bool
home_local(void *home, rte_be32_t ip)
{
	(void)home;
	return ip == w.ip;
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
	return next_random();
}

static void
tap_open(const char *name)
{
	struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	const int s = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	w.fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	if (w.fd < 0 || ioctl(w.fd, TUNSETIFF, &r) != 0 || ioctl(s, SIOCGIFHWADDR, &r) != 0)
		die(name);
	memcpy(&w.peer_mac, r.ifr_hwaddr.sa_data, sizeof(w.peer_mac));
	close(s);
}

static void
read_words(int argc, char **argv, struct tcp_conf *conf)
{
	int i;

	for (i = 6; i < argc; i++) {
		const char *v = strchr(argv[i], '=');
		const uint32_t n = v == NULL ? 0 : (uint32_t)strtoul(v + 1, NULL, 10);

		if (strncmp(argv[i], "loss=", 5) == 0) {
			w.loss = n;
		} else if (strncmp(argv[i], "reorder=", 8) == 0) {
			w.reorder = n;
		} else if (strncmp(argv[i], "mark=", 5) == 0) {
			w.mark = n;
		} else if (strncmp(argv[i], "ecn=", 4) == 0) {
			conf->ecn = (enum tcp_ecn)n;
		} else if (strncmp(argv[i], "stay=", 5) == 0) {
			w.stay = (int)n;
		} else if (strcmp(argv[i], "no_icmp") == 0) {
			w.no_icmp = true;
		} else if (strncmp(argv[i], "mtu=", 4) == 0) {
			w.mtu = (uint16_t)n;
		} else if (strncmp(argv[i], "rcvbuf=", 7) == 0) {
			conf->rcvbuf = n;
		} else if (strcmp(argv[i], "no_sack") == 0) {
			conf->no_sack = true;
		} else if (strcmp(argv[i], "no_timestamps") == 0) {
			conf->no_timestamps = true;
		} else if (strcmp(argv[i], "no_wscale") == 0) {
			conf->no_wscale = true;
		} else if (strcmp(argv[i], "reno") == 0) {
			conf->cc = TCP_CC_RENO;
		} else {
			fprintf(stderr, "tcp_tap: unknown word '%s'\n", argv[i]);
			exit(2);
		}
	}
}

/* What has come by standard input and not gone yet. */
static uint8_t in[ROOM], out[ROOM];
static size_t in_len;
static bool in_end, shut, eof;

static void
application(struct tcp_conn *c)
{
	ssize_t n;

	while (!eof) {
		const struct iovec iov = {out, sizeof(out)};

		n = tcp_recv(c, &iov, 1, 0);
		if (n <= 0) {
			if (n < 0 && n != -EAGAIN) {
				errno = (int)-n;
				die("recv");
			}
			eof = n == 0;
			break;
		}
		if (write(STDOUT_FILENO, out, (size_t)n) != n)
			die("write");
	}
	if (in_len < sizeof(in) && !in_end) {
		n = read(STDIN_FILENO, in + in_len, sizeof(in) - in_len);
		if (n < 0 && errno != EAGAIN)
			die("read");
		in_end = n == 0;
		in_len += n > 0 ? (size_t)n : 0;
	}
	if (in_len != 0) {
		const struct iovec iov = {in, in_len};

		n = tcp_send(c, &iov, 1, 0);
		if (n > 0) {
			memmove(in, in + n, in_len - (size_t)n);
			in_len -= (size_t)n;
		} else if (n != -EAGAIN && n != -ENOBUFS) {
			errno = (int)-n;
			die("send");
		}
	}
	if (in_end && in_len == 0 && !shut) {
		if (tcp_shutdown(c, SHUT_WR) != 0)
			die("shutdown");
		shut = true;
	}
}

static void
from_tap(struct tcp_stack *s)
{
	static uint8_t buf[FRAME_MAX];
	ssize_t n;
	int i;

	/* All that a TAP holds, so that no timer ends while the answer lies here. */
	for (i = 0; i < TAP_FRAMES && (n = read(w.fd, buf, sizeof(buf))) > 0; i++)
		wire(buf, n, true, to_stack, s);
}

static void
wait_for(const struct tcp_stack *s, const struct tcp_conn *c)
{
	const uint64_t at = tcp_deadline(s), now = now_us();
	struct pollfd p[2] = {{w.fd, POLLIN, 0}, {-1, POLLIN, 0}};
	struct timespec t = {0, 20000000};

	if (c != NULL && tcp_writable(c) != 0 && in_len < sizeof(in) && !in_end)
		p[1].fd = STDIN_FILENO;
	if (at < now + 20000)
		t.tv_nsec = at <= now ? 0 : (long)(at - now) * 1000;
	ppoll(p, 2, &t, NULL);
}

static void
report(const struct tcp_stack *s, const struct tcp_info *i)
{
	const struct tcp_stats *t = tcp_stats(s);

	fprintf(stderr,
		"rx_segments=%lu tx_segments=%lu rx_bytes=%lu tx_bytes=%lu retransmits=%lu fast_retransmits=%lu "
		"tail_probes=%lu timeouts=%lu rx_checksum=%lu rx_malformed=%lu snd_mss=%u snd_wscale=%u rcv_wscale=%u "
		"options=%u rtt=%u pmtu=%u rx_ce=%lu ecn_cuts=%lu rx_icmp_mtu=%lu mtu_black_holes=%lu mtu_probes=%lu "
		"mtu_probes_lost=%lu\n",
		t->rx_segments, t->tx_segments, t->rx_bytes, t->tx_bytes, t->retransmits, t->fast_retransmits,
		t->tail_probes, t->timeouts, t->rx_checksum, t->rx_malformed, i->tcpi_snd_mss, i->tcpi_snd_wscale,
		i->tcpi_rcv_wscale, i->tcpi_options, i->tcpi_rtt, i->tcpi_pmtu, t->rx_ce, t->ecn_cuts, t->rx_icmp_mtu,
		t->mtu_black_holes, t->mtu_probes, t->mtu_probes_lost);
}

static void
eal_start(void)
{
	char *eal[] = {(char *)(uintptr_t) "tcp_tap",     (char *)(uintptr_t) "--no-huge",
		       (char *)(uintptr_t) "-m",          (char *)(uintptr_t) "128",
		       (char *)(uintptr_t) "--no-shconf", (char *)(uintptr_t) "--no-telemetry",
		       (char *)(uintptr_t) "--no-pci",    (char *)(uintptr_t) "--log-level=error"};

	if (rte_eal_init(RTE_DIM(eal), eal) < 0)
		die("EAL");
	w.pool = rte_pktmbuf_pool_create("pool", 8191, 0, 0, FRAME_MAX, 0);
	if (w.pool == NULL)
		die("pool");
}

int
main(int argc, char **argv)
{
	static const struct tcp_home ops = {home_tx, home_path, home_local, home_event, home_random};
	struct tcp_conf conf = {.time_wait_ms = 100};
	struct tcp_conn *listener = NULL, *c = NULL;
	struct tcp_info info = {0};
	struct tcp_addr at = {0};
	struct tcp_stack *s;
	uint64_t quiet;
	uint64_t seen = 0;
	bool known = false, closed = false;
	int err;

	if (argc < 6) {
		fprintf(stderr, "usage: tcp_tap TAP OWN-IP PEER-IP listen|connect PORT [WORD...]\n");
		return 2;
	}
	w.mtu = 1500;
	w.random = now_us() | 1;
	read_words(argc, argv, &conf);
	w.ip = inet_addr(argv[2]);
	tap_open(argv[1]);
	eal_start();
	conf.pool = w.pool;
	s = tcp_stack_create(&conf, &ops, NULL, now_us(), &err);
	if (s == NULL)
		die("stack");
	at.port = htons((uint16_t)atoi(argv[5]));
	/* The test gives the TAP its address first. */
	fprintf(stderr, "ready\n");
	if (read(STDIN_FILENO, in, 1) != 1)
		die("no start");
	if (strcmp(argv[4], "listen") == 0) {
		listener = tcp_listen(s, &at, 1, NULL, &err);
	} else {
		at.ip = inet_addr(argv[3]);
		c = tcp_connect(s, NULL, &at, NULL, &err);
	}
	if (listener == NULL && c == NULL)
		die("open");
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	quiet = now_us();
	while (!closed || tcp_conns(s) != 0) {
		from_tap(s);
		if (c == NULL && !closed)
			c = tcp_accept(listener, NULL);
		if (c != NULL && !known) {
			const int state = tcp_state(c);

			if (state == TCP_CLOSE) {
				errno = tcp_error(c);
				die("connect");
			}
			known = state != TCP_SYN_SENT && state != TCP_SYN_RECV;
		}
		if (known && c != NULL) {
			application(c);
			tcp_info_get(c, &info);
			if (eof && shut) {
				tcp_close(c);
				/* It is the stack's now. */
				c = NULL;
				closed = true;
			}
		}
		tcp_run(s, now_us());
		if (tcp_stats(s)->rx_segments != seen) {
			seen = tcp_stats(s)->rx_segments;
			quiet = now_us();
		}
		if (now_us() > quiet + PATIENCE_S * 1000000) {
			errno = ETIMEDOUT;
			die(closed ? "the connection does not end" : "no word from the peer");
		}
		wait_for(s, known ? c : NULL);
	}
	report(s, &info);
	close(STDOUT_FILENO);
	if (w.stay > 0 && read(w.stay, in, 1) != 0)
		die("stay");
	tcp_stack_destroy(s);
	return 0;
}
