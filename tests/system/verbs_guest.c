/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * verbs_guest DEVICE DEVICE GID_INDEX MODE ...: a program of libibverbs that is good, or that means no good. It knows where the memory
 * that it shares with the owner of the ports lies from /proc/self/maps alone.
 *
 * steady FILE           exchanges messages until SIGTERM; their number is the first 8 octets of FILE
 * count N               N messages
 * make KIND N           makes up to N queue pairs, completion queues ... on the first device; says how many there are, and why no more
 * doorbells A B C D      rings doorbells of queue pairs A..B and completion queues C..D on all pages of doorbells that it has
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "verbs_pair.h"

#define UAR_PAGE 4096u
#define SEND_DB 0x14u
#define CQ_ARM 0x20u
#define ARM_NEXT (2u << 24)

static volatile sig_atomic_t over;

static void
on_term(int sig)
{
	(void)sig;
	over = 1;
}

static void
print_numbers(const struct pair *p)
{
	/* The card has the number of a completion queue, a program of libibverbs has not. */
	printf("ready %u %u\n", p->e[0].qp->qp_num, p->e[1].qp->qp_num);
	fflush(stdout);
}

static int
steady(struct pair *p, char **arg)
{
	int fd = open(arg[0], O_RDWR | O_CREAT, 0600);
	enum ibv_wc_status status;
	uint64_t *n = MAP_FAILED;
	const char *why = NULL;

	if (fd < 0 || ftruncate(fd, sizeof(*n)) != 0)
		pair_die(arg[0]);
	n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (n == MAP_FAILED)
		pair_die(arg[0]);
	signal(SIGTERM, on_term);
	while (!over && why == NULL) {
		why = pair_exchange(p, &status);
		__atomic_store_n(n, p->sent, __ATOMIC_RELAXED);
		if (p->sent == 1)
			print_numbers(p);
	}
	printf(why == NULL ? "ok %llu\n" : "not ok %llu: %s\n", (unsigned long long)p->sent, why);
	return why != NULL;
}

static int
count(struct pair *p, char **arg)
{
	unsigned long n = strtoul(arg[0], NULL, 10);
	enum ibv_wc_status status;
	const char *why = NULL;

	while (p->sent < n && why == NULL)
		why = pair_exchange(p, &status);
	printf(why == NULL ? "ok %llu\n" : "not ok %llu: %s\n", (unsigned long long)p->sent, why);
	return why != NULL;
}

/* --- as much as there may be --- */

#define REGION 65536u

static void *
make_one(struct end *e, const char *kind)
{
	struct ibv_qp_init_attr qp = {
		.qp_type = IBV_QPT_UD, .send_cq = e->cq, .recv_cq = e->cq, .cap = {1, 1, 1, 1, 0}};
	struct ibv_srq_init_attr srq = {.attr = {1, 1, 0}};
	struct ibv_ah_attr ah = {.is_global = 1,
				 .port_num = 1,
				 .grh = {.dgid = e->gid, .sgid_index = (uint8_t)e->index, .hop_limit = 1}};

	if (strcmp(kind, "qps") == 0)
		return ibv_create_qp(e->pd, &qp);
	if (strcmp(kind, "cqs") == 0)
		return ibv_create_cq(e->ctx, 1000, NULL, NULL, 0);
	if (strcmp(kind, "srqs") == 0)
		return ibv_create_srq(e->pd, &srq);
	if (strcmp(kind, "addresses") == 0)
		return ibv_create_ah(e->pd, &ah);
	if (strcmp(kind, "pds") == 0)
		return ibv_alloc_pd(e->ctx);
	return ibv_reg_mr(e->pd, aligned_alloc(4096, REGION), REGION, IBV_ACCESS_LOCAL_WRITE);
}

static int
make(struct pair *p, char **arg)
{
	unsigned long n = strtoul(arg[1], NULL, 10), made = 0;

	errno = 0;
	while (made < n && make_one(&p->e[0], arg[0]) != NULL)
		made++;
	printf("made %lu: %s\n", made, made == n ? "all" : strerrorname_np(errno));
	return 0;
}

/* --- memory of both processes --- */

struct area {
	uint8_t *at;
	size_t len;
};

/* The next mapping of a file of that name; *next: where to go on. False: there is none left. */
static bool
area_next(FILE *maps, const char *name, struct area *a)
{
	unsigned long from, to;
	char line[512];

	while (fgets(line, sizeof(line), maps) != NULL) {
		if (strstr(line, name) == NULL || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		a->at = (uint8_t *)from;
		a->len = to - from;
		return true;
	}
	return false;
}

/* Whoever polls a page takes the word away. */
static unsigned int
ring(volatile uint32_t *word, uint32_t value)
{
	for (unsigned int i = 0; i < 100000; i++) {
		const struct timespec ts = {0, 100000};

		if (*word == 0) {
			*word = htobe32(value);
			return 1;
		}
		nanosleep(&ts, NULL);
	}
	return 0;
}

#define PAGES 1024u
#define NONE 0xfffffu /* a queue pair that is not there */

/* Pages that the owner looks at: it takes doorbells away. */
static unsigned int
polled(const struct area *a, uint8_t **page)
{
	unsigned int n = 0;

	for (size_t off = 0; off < a->len; off += UAR_PAGE)
		*(volatile uint32_t *)(void *)(a->at + off + SEND_DB) = htobe32(NONE << 8);
	for (unsigned int tries = 0; tries < 1000 && n < 2; tries++) {
		(void)usleep(1000);
		n = 0;
		for (size_t off = 0; off < a->len; off += UAR_PAGE)
			if (*(volatile uint32_t *)(void *)(a->at + off + SEND_DB) == 0 && n < PAGES)
				page[n++] = a->at + off;
	}
	return n;
}

static unsigned int
ring_all(uint8_t *page, const uint32_t *n)
{
	volatile uint32_t *arm = (volatile uint32_t *)(void *)(page + CQ_ARM);
	unsigned int rung = 0;

	for (uint32_t qpn = n[0]; qpn <= n[1]; qpn++)
		rung += ring((volatile uint32_t *)(void *)(page + SEND_DB), qpn << 8);
	for (uint32_t cqn = n[2]; cqn <= n[3]; cqn++)
		rung += ring(arm, ARM_NEXT | cqn);
	return rung;
}

static int
doorbells(struct pair *p, char **arg)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int pages = 0, rung = 0;
	static uint8_t *page[PAGES];
	struct area a;
	uint32_t n[4];

	(void)p;
	for (unsigned int i = 0; i < 4; i++)
		n[i] = (uint32_t)strtoul(arg[i], NULL, 10);
	while (maps != NULL && area_next(maps, "memfd:triplane-doorbells", &a)) {
		unsigned int here = polled(&a, page);

		for (unsigned int i = 0; i < here; i++)
			rung += ring_all(page[i], n);
		pages += here;
	}
	if (maps != NULL)
		fclose(maps);
	printf("ok %u pages, %u doorbells\n", pages, rung);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		int (*run)(struct pair *p, char **arg);
	} mode[] = {{"steady", 1, steady}, {"count", 1, count}, {"make", 2, make}, {"doorbells", 4, doorbells}};
	struct pair p;

	for (size_t i = 0; argc > 4 && i < sizeof(mode) / sizeof(mode[0]); i++) {
		if (strcmp(argv[4], mode[i].name) != 0 || argc != 5 + mode[i].args)
			continue;
		pair_open(&p, (const char *const[]){argv[1], argv[2]}, atoi(argv[3]));
		return mode[i].run(&p, argv + 5);
	}
	fprintf(stderr,
		"usage: verbs_guest DEVICE DEVICE GID_INDEX steady FILE | count N | make KIND N | doorbells A B C D\n");
	return 2;
}
