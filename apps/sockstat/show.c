/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters as text, and as JSON. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "sockstat.h"

static const struct sock_page *
same(const struct programs *all, int pid)
{
	for (unsigned int i = 0; all != NULL && i < all->num; i++)
		if (all->one[i]->stat.pid == pid)
			return all->one[i];
	return NULL;
}

/* Less what it was, unless it began since, or was set to zero. */
static uint64_t
less(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* What a place was before, NULL: another socket's, or none. */
static const uint64_t *
count_before(const struct sock_page *b, unsigned int i, const struct sock_stat_socket *t)
{
	const struct sock_stat_socket *was = b == NULL ? NULL : &b->stat.socket[i];

	return was != NULL && was->used != 0 && was->fd == t->fd ? was->count : NULL;
}

/* --- text --- */

static void
text_counts(const char *what, const char *const *name, const uint64_t *now, const uint64_t *before, unsigned int n)
{
	printf("  %s:", what);
	for (unsigned int i = 0; i < n; i++)
		printf(" %s %" PRIu64, name[i], less(now[i], before == NULL ? 0 : before[i]));
	putchar('\n');
}

static uint64_t
kb(uint64_t bytes)
{
	return (bytes + 512) / 1024;
}

static void
text_row(const char *fd, const char *type, const char *whose, const char *local, const char *remote, const uint64_t *c)
{
	printf("  %5s %-4s %-6s %-21s %-21s %10" PRIu64 " %9" PRIu64 " %6" PRIu64 " %10" PRIu64 " %9" PRIu64
	       " %6" PRIu64 " %8" PRIu64 " %8" PRIu64 " %9" PRIu64 " %8" PRIu64 " %9" PRIu64 " %8" PRIu64 "\n",
	       fd, type, whose, local, remote, c[SOCK_RX_PACKETS], kb(c[SOCK_RX_BYTES]),
	       c[SOCK_RX_ERRORS] + c[SOCK_RX_DROPS], c[SOCK_TX_PACKETS], kb(c[SOCK_TX_BYTES]), c[SOCK_TX_ERRORS],
	       c[SOCK_POLL_HITS], c[SOCK_POLL_MISSES], c[SOCK_OS_RX_PACKETS], kb(c[SOCK_OS_RX_BYTES]),
	       c[SOCK_OS_TX_PACKETS], kb(c[SOCK_OS_TX_BYTES]));
}

static void
difference(const uint64_t *now, const uint64_t *before, uint64_t *out)
{
	for (unsigned int i = 0; i < SOCK_COUNTS; i++)
		out[i] = less(now[i], before == NULL ? 0 : before[i]);
}

static void
text_sockets(const struct sock_page *p, const struct sock_page *b)
{
	char local[32], remote[32], fd[16];
	uint64_t c[SOCK_COUNTS];

	printf("  %5s %-4s %-6s %-21s %-21s %10s %9s %6s %10s %9s %6s %8s %8s %9s %8s %9s %8s\n", "fd", "type", "whose",
	       "local", "remote", "rx", "rx-KB", "rx-err", "tx", "tx-KB", "tx-err", "hits", "misses", "os-rx",
	       "os-rx-KB", "os-tx", "os-tx-KB");
	for (unsigned int i = 0; i < SOCK_STAT_SOCKETS; i++) {
		const struct sock_stat_socket *t = &p->stat.socket[i];

		if (t->used == 0)
			continue;
		sock_page_addr(t->local_ip, t->local_port, local);
		sock_page_addr(t->remote_ip, t->remote_port, remote);
		snprintf(fd, sizeof(fd), "%d", t->fd);
		difference(t->count, count_before(b, i, t), c);
		text_row(fd, t->type == SOCK_DGRAM ? "udp" : "tcp", t->engine ? "port" : "os", local,
			 t->listens ? "(listens)" : remote, c);
	}
	difference(p->stat.ended, b == NULL ? NULL : b->stat.ended, c);
	text_row("-", "", "closed", "", "", c);
}

static void
text_program(const struct sock_page *p, const struct sock_page *b)
{
	char a[INET_ADDRSTRLEN];

	printf("process %d (%s), port %u, looks for %u us, %u frames\n", p->stat.pid, p->name, p->stat.port,
	       p->stat.spin_us, p->stat.mbufs);
	text_counts("rings", sock_ring_names, p->stat.ring, b == NULL ? NULL : b->stat.ring, SOCK_RING_COUNTS);
	text_counts("tcp", sock_tcp_names, p->stat.tcp, b == NULL ? NULL : b->stat.tcp, SOCK_TCP_COUNTS);
	for (unsigned int i = 0; i < SOCK_STAT_GROUPS; i++)
		if (p->stat.group[i] != 0)
			printf("  group: %s\n", inet_ntop(AF_INET, &p->stat.group[i], a, sizeof(a)));
	text_sockets(p, b);
}

/* --- JSON --- */

static void
json_counts(const char *what, const char *const *name, const uint64_t *now, const uint64_t *before, unsigned int n)
{
	printf("\"%s\":{", what);
	for (unsigned int i = 0; i < n; i++)
		printf("%s\"%s\":%" PRIu64, i == 0 ? "" : ",", name[i], less(now[i], before == NULL ? 0 : before[i]));
	putchar('}');
}

static void
json_sockets(const struct sock_page *p, const struct sock_page *b)
{
	char local[32], remote[32];
	bool first = true;

	printf(",\"sockets\":[");
	for (unsigned int i = 0; i < SOCK_STAT_SOCKETS; i++) {
		const struct sock_stat_socket *t = &p->stat.socket[i];

		if (t->used == 0)
			continue;
		sock_page_addr(t->local_ip, t->local_port, local);
		sock_page_addr(t->remote_ip, t->remote_port, remote);
		printf("%s{\"fd\":%d,\"type\":\"%s\",\"whose\":\"%s\",\"state\":\"%s\",\"listens\":%s,\"local\":\"%s\","
		       "\"remote\":\"%"
		       "s\",",
		       first ? "" : ",", t->fd, t->type == SOCK_DGRAM ? "udp" : "tcp", t->engine ? "port" : "os",
		       sock_page_state(t->state), t->listens ? "true" : "false", local, remote);
		json_counts("counts", sock_count_names, t->count, count_before(b, i, t), SOCK_COUNTS);
		putchar('}');
		first = false;
	}
	putchar(']');
}

static void
json_program(const struct sock_page *p, const struct sock_page *b)
{
	char a[INET_ADDRSTRLEN];
	bool first = true;

	printf("{\"pid\":%d,\"name\":\"%s\",\"port\":%u,\"spin_us\":%u,\"mbufs\":%u,\"unlisted\":%u,", p->stat.pid,
	       p->name, p->stat.port, p->stat.spin_us, p->stat.mbufs, p->stat.unlisted);
	json_counts("rings", sock_ring_names, p->stat.ring, b == NULL ? NULL : b->stat.ring, SOCK_RING_COUNTS);
	putchar(',');
	json_counts("tcp", sock_tcp_names, p->stat.tcp, b == NULL ? NULL : b->stat.tcp, SOCK_TCP_COUNTS);
	putchar(',');
	json_counts("closed", sock_count_names, p->stat.ended, b == NULL ? NULL : b->stat.ended, SOCK_COUNTS);
	printf(",\"groups\":[");
	for (unsigned int i = 0; i < SOCK_STAT_GROUPS; i++) {
		if (p->stat.group[i] == 0)
			continue;
		printf("%s\"%s\"", first ? "" : ",", inet_ntop(AF_INET, &p->stat.group[i], a, sizeof(a)));
		first = false;
	}
	putchar(']');
	json_sockets(p, b);
	putchar('}');
}

void
show(const struct options *o, const struct programs *now, const struct programs *before)
{
	if (o->json)
		printf("{\"programs\":[");
	for (unsigned int i = 0; i < now->num; i++) {
		const struct sock_page *p = now->one[i], *b = same(before, p->stat.pid);

		if (o->json && i != 0)
			putchar(',');
		if (o->json)
			json_program(p, b);
		else
			text_program(p, b);
	}
	if (o->json)
		puts("]}");
	fflush(stdout);
}
