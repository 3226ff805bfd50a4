/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "page.h"

const char *const sock_count_names[SOCK_COUNTS] = {
	"rx_packets",   "rx_bytes",    "rx_errors",     "rx_waits",    "tx_packets",   "tx_bytes",      "tx_errors",
	"tx_waits",     "rx_drops",    "poll_hits",     "poll_misses", "sleeps",       "os_rx_packets", "os_rx_bytes",
	"os_rx_errors", "os_rx_waits", "os_tx_packets", "os_tx_bytes", "os_tx_errors", "os_tx_waits",
};
const char *const sock_ring_names[SOCK_RING_COUNTS] = {"rx_frames", "tx_frames", "tx_full",          "events",
						       "looks",     "tx_large",  "tx_large_segments"};
const char *const sock_tcp_names[SOCK_TCP_COUNTS] = {"rx_segments", "tx_segments", "retransmits", "rx_out_of_order",
						     "timeouts",    "rx_copied",   "rx_scarce"};

#define LINK "/memfd:" SOCK_STAT_FILE

static void
name_of(int pid, char *name, size_t len)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f == NULL || fgets(name, (int)len, f) == NULL)
		snprintf(name, len, "?");
	if (f != NULL)
		fclose(f);
	for (char *c = name; *c != '\0'; c++) {
		if (*c == '\n')
			*c = '\0';
		else if (!isprint((unsigned char)*c) || *c == '"' || *c == '\\')
			*c = '?';
	}
}

static struct sock_stat *
map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	struct sock_stat *m = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size == (off_t)SOCK_STAT_SIZE && (fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) != 0)
		m = mmap(NULL, SOCK_STAT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return NULL;
	if (__atomic_load_n(&m->magic, __ATOMIC_ACQUIRE) == SOCK_STAT_MAGIC && m->version == SOCK_STAT_VERSION)
		return m;
	munmap(m, SOCK_STAT_SIZE);
	return NULL;
}

static void
take_off(uint64_t *count, const uint64_t *zero, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		count[i] -= zero[i];
}

static struct sock_page *
make(int pid, struct sock_stat *m)
{
	struct sock_page *p = malloc(sizeof(*p));

	if (p == NULL) {
		munmap(m, SOCK_STAT_SIZE);
		return NULL;
	}
	p->map = m;
	memcpy(&p->stat, m, sizeof(p->stat));
	p->stat.pid = pid;
	take_off(p->stat.ring, p->stat.ring_zero, SOCK_RING_COUNTS);
	take_off(p->stat.tcp, p->stat.tcp_zero, SOCK_TCP_COUNTS);
	take_off(p->stat.ended, p->stat.ended_zero, SOCK_COUNTS);
	for (unsigned int i = 0; i < SOCK_STAT_SOCKETS; i++)
		if (p->stat.socket[i].used != 0)
			take_off(p->stat.socket[i].count, p->stat.socket[i].zero, SOCK_COUNTS);
	name_of(pid, p->name, sizeof(p->name));
	return p;
}

static struct sock_stat *
find(int pid)
{
	char dir[64], path[384], to[sizeof(LINK) + 16];
	struct sock_stat *m = NULL;
	struct dirent *e;
	ssize_t n;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", pid);
	d = opendir(dir);
	while (d != NULL && m == NULL && (e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		if (n < (ssize_t)strlen(LINK))
			continue;
		to[n] = '\0';
		if (strcmp(to, LINK) == 0 || strcmp(to, LINK " (deleted)") == 0)
			m = map(path);
	}
	if (d != NULL)
		closedir(d);
	return m;
}

struct sock_page *
sock_page_of(int pid)
{
	struct sock_stat *m = find(pid);

	/* A copy of the descriptor is its parent's. */
	return m == NULL ? NULL : make(pid, m);
}

struct sock_stat *
sock_page_keep(int pid)
{
	return find(pid);
}

void
sock_page_let_go(struct sock_stat *m)
{
	if (m != NULL)
		munmap(m, SOCK_STAT_SIZE);
}

void
sock_page_zero(struct sock_page *p)
{
	struct sock_stat *m = p->map;

	memcpy(m->ring_zero, m->ring, sizeof(m->ring));
	memcpy(m->tcp_zero, m->tcp, sizeof(m->tcp));
	memcpy(m->ended_zero, m->ended, sizeof(m->ended));
	for (unsigned int k = 0; k < SOCK_STAT_SOCKETS; k++)
		if (m->socket[k].used != 0)
			memcpy(m->socket[k].zero, m->socket[k].count, sizeof(m->socket[k].count));
}

void
sock_page_free(struct sock_page *p)
{
	if (p == NULL)
		return;
	munmap(p->map, SOCK_STAT_SIZE);
	free(p);
}

void
sock_page_addr(uint32_t ip, uint16_t port, char text[SOCK_ADDR_LEN])
{
	char a[INET_ADDRSTRLEN];

	if (ip == 0 && port == 0)
		(void)snprintf(text, SOCK_ADDR_LEN, "-");
	else
		(void)snprintf(text, SOCK_ADDR_LEN, "%s:%u", inet_ntop(AF_INET, &ip, a, sizeof(a)), ntohs(port));
}

const char *
sock_page_state(uint32_t state)
{
	static const char *const names[] = {
		[TCP_ESTABLISHED] = "ESTAB",    [TCP_SYN_SENT] = "SYN-SENT",     [TCP_SYN_RECV] = "SYN-RECV",
		[TCP_FIN_WAIT1] = "FIN-WAIT-1", [TCP_FIN_WAIT2] = "FIN-WAIT-2",  [TCP_TIME_WAIT] = "TIME-WAIT",
		[TCP_CLOSE] = "UNCONN",         [TCP_CLOSE_WAIT] = "CLOSE-WAIT", [TCP_LAST_ACK] = "LAST-ACK",
		[TCP_LISTEN] = "LISTEN",        [TCP_CLOSING] = "CLOSING",
	};

	return state < sizeof(names) / sizeof(names[0]) && names[state] != NULL ? names[state] : "UNCONN";
}
