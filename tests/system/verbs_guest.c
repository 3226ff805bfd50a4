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
 * random SECONDS SEED   writes random octets into all memory that it shares with the owner, beside messages
 * deaf N                is told of completions in N <= 400 queues, and reads that in the end only
 * fatal                 waits for the end of the owner; what is asked of a device that is gone must be refused, and no thread stays
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs_pair.h"

#define UAR_PAGE 4096u
#define SEND_DB 0x14u
#define CQ_ARM 0x20u
#define ARM_NEXT (2u << 24)

static volatile sig_atomic_t over;
static const char *devices[2];

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
		die(errno, arg[0]);
	n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (n == MAP_FAILED)
		die(errno, arg[0]);
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

/* Pages that the owner looks at, two of a device: it takes doorbells away. */
static unsigned int
polled(const struct area *a, uint8_t **page)
{
	time_t end = time(NULL) + LIMIT_S;
	unsigned int n = 0;

	for (size_t off = 0; off < a->len; off += UAR_PAGE)
		*(volatile uint32_t *)(void *)(a->at + off + SEND_DB) = htobe32(NONE << 8);
	while (n < 2 && time(NULL) <= end) {
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

/* --- random octets --- */

static uint64_t seed;

static uint64_t
rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

#define AREAS 64u

static unsigned int
areas(struct area *a)
{
	static const char *const name[] = {"memfd:triplane-doorbells", "memfd:triplane-queues"};
	unsigned int n = 0;

	for (unsigned int i = 0; i < 2; i++) {
		FILE *maps = fopen("/proc/self/maps", "r");

		while (maps != NULL && n < AREAS && area_next(maps, name[i], &a[n]))
			n++;
		if (maps != NULL)
			fclose(maps);
	}
	return n;
}

/* A word somewhere: any, a small one, or one with one bit changed; pages of queues from their beginning, where the rings are. */
static void
scribble(const struct area *a)
{
	size_t span = a->len < 65536 || rnd() % 4 == 0 ? a->len : 65536;
	volatile uint32_t *w = (volatile uint32_t *)(void *)(a->at + (rnd() % (span / 4)) * 4);

	switch (rnd() % 4) {
	case 0: *w = (uint32_t)rnd(); break;
	case 1: *w = htobe32((uint32_t)(rnd() % 8192)); break;
	case 2: *w ^= 1u << rnd() % 32; break;
	default: *w = htobe32((uint32_t)(rnd() % 8192) << 8); break;
	}
}

/* Doorbells of the pages that are polled, so that what was written is looked at. */
static void
knock(struct pair *p, uint8_t *const *page, unsigned int pages)
{
	uint8_t *at = page[rnd() % pages];
	uint32_t qpn = p->e[rnd() % 2].qp->qp_num;

	*(volatile uint32_t *)(void *)(at + SEND_DB) = htobe32(qpn << 8);
}

static int
random_octets(struct pair *p, char **arg)
{
	const char *const *name = devices;
	time_t end = time(NULL) + atoi(arg[0]);
	unsigned long rounds = 0, words = 0;

	seed = strtoull(arg[1], NULL, 10) * 2654435761u + 1;
	while (time(NULL) < end) {
		static uint8_t *page[PAGES];
		unsigned int n, pages = 0;
		struct area a[AREAS];

		n = areas(a);
		for (unsigned int i = 0; i < n && pages < PAGES - 4; i++)
			if (a[i].len == PAGES * UAR_PAGE)
				pages += polled(&a[i], page + pages);
		/* Something to be read by who runs the queues. */
		for (unsigned int i = 0; i < 4; i++) {
			(void)pair_receive(&p->e[0], i);
			(void)pair_receive(&p->e[1], i);
			(void)pair_send(&p->e[i & 1], i);
		}
		for (unsigned int i = 0; i < 20000 && n != 0; i++) {
			scribble(&a[rnd() % n]);
			if (pages != 0 && i % 16 == 0)
				knock(p, page, pages);
			words++;
		}
		/* What it has may be ruined by now: it begins anew. */
		for (unsigned int i = 0; i < 2; i++) {
			(void)ibv_destroy_qp(p->e[i].qp);
			(void)ibv_destroy_cq(p->e[i].cq);
			(void)ibv_close_device(p->e[i].ctx);
		}
		pair_open(p, name, p->e[0].index);
		rounds++;
	}
	printf("ok %lu rounds, %lu words\n", rounds, words);
	return 0;
}

/* --- events that nobody reads, and an owner that ends --- */

/* A queue on the program's channel, with a completion of which the channel is told. */
static struct ibv_cq *
tell_of_one(struct end *e, unsigned long id)
{
	struct ibv_cq *cq = ibv_create_cq(e->ctx, 1, (void *)id, e->channel, 0);
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct end other = *e;

	other.qp = cq == NULL ? NULL : ibv_create_qp(e->pd, &init);
	if (other.qp == NULL ||
	    ibv_modify_qp(other.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) != 0)
		die(errno, "queue");
	attr.qp_state = IBV_QPS_ERR;
	if (pair_receive(&other, 0) != 0 || ibv_req_notify_cq(cq, 0) != 0 ||
	    ibv_modify_qp(other.qp, &attr, IBV_QP_STATE) != 0)
		die(errno, "flush");
	return cq;
}

#define QUEUES 400u

/* More events than the channel has room for; it looks at them in the end, and each queue must be there once. */
static int
deaf(struct pair *p, char **arg)
{
	unsigned long n = strtoul(arg[0], NULL, 10), events = 0;
	struct end *e = &p->e[0];
	struct pollfd fd = {.fd = e->channel->fd, .events = POLLIN};
	static bool told[QUEUES];
	enum ibv_wc_status status;
	const char *why = NULL;
	struct ibv_cq *cq;
	void *context;

	for (unsigned long i = 0; i < n && i < QUEUES; i++)
		(void)tell_of_one(e, i);
	while (events < n && why == NULL && poll(&fd, 1, LIMIT_S * 1000) > 0) {
		unsigned long id;

		if (ibv_get_cq_event(e->channel, &cq, &context) != 0)
			die(errno, "event");
		ibv_ack_cq_events(cq, 1);
		id = (unsigned long)context;
		if (id >= n || told[id])
			why = "an event of a queue that was not armed, or was told of already";
		else
			told[id] = true;
		events++;
	}
	if (why == NULL && events != n)
		why = "events are missing";
	if (why == NULL)
		why = pair_exchange(p, &status);
	printf(why == NULL ? "ok %lu\n" : "not ok %lu: %s\n", events, why);
	return why != NULL;
}

/* No thread is left that watches the owner: it could spin. */
static bool
is_alone(void)
{
	time_t end = time(NULL) + LIMIT_S;
	unsigned int threads;

	do {
		DIR *d = need(opendir("/proc/self/task"), "threads");
		const struct dirent *f;

		for (threads = 0; (f = readdir(d)) != NULL;)
			threads += f->d_name[0] != '.';
		closedir(d);
		(void)usleep(1000);
	} while (threads != 1 && time(NULL) <= end);
	return threads == 1;
}

static const char *
gone(struct end *e)
{
	struct pollfd fd = {.fd = e->ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	if (poll(&fd, 1, LIMIT_S * 1000) <= 0 || ibv_get_async_event(e->ctx, &event) != 0)
		return "no asynchronous event";
	ibv_ack_async_event(&event);
	if (event.event_type != IBV_EVENT_DEVICE_FATAL)
		return ibv_event_type_str(event.event_type);
	if (pair_send(e, 0) != EIO)
		return "post_send is not refused with EIO";
	errno = 0;
	if (ibv_alloc_pd(e->ctx) != NULL || errno != EIO)
		return "alloc_pd is not refused with EIO";
	return NULL;
}

static int
fatal(struct pair *p, char **arg)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	const char *why = NULL;

	(void)arg;
	while (why == NULL) {
		why = pair_exchange(p, &status);
		if (p->sent == 1)
			print_numbers(p);
	}
	/* What was posted ends in error, or is refused, whichever comes first. */
	if (status != IBV_WC_WR_FLUSH_ERR && strncmp(why, "post_", 5) != 0) {
		printf("not ok ended by: %s\n", why);
		return 1;
	}
	why = gone(&p->e[0]);
	if (why == NULL)
		why = gone(&p->e[1]);
	if (why == NULL && !is_alone())
		why = "a thread is left";
	for (unsigned int i = 0; i < 2 && why == NULL; i++)
		if (ibv_destroy_qp(p->e[i].qp) != 0 || ibv_destroy_cq(p->e[i].cq) != 0 ||
		    ibv_dereg_mr(p->e[i].mr) != 0 || ibv_destroy_comp_channel(p->e[i].channel) != 0 ||
		    ibv_dealloc_pd(p->e[i].pd) != 0 || ibv_close_device(p->e[i].ctx) != 0)
			why = "what it had is not taken back";
	printf(why == NULL ? "ok\n" : "not ok %s\n", why);
	return why != NULL;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		int (*run)(struct pair *p, char **arg);
	} mode[] = {{"steady", 1, steady},        {"count", 1, count}, {"make", 2, make},  {"doorbells", 4, doorbells},
		    {"random", 2, random_octets}, {"deaf", 1, deaf},   {"fatal", 0, fatal}};
	struct pair p;

	for (size_t i = 0; argc > 4 && i < sizeof(mode) / sizeof(mode[0]); i++) {
		if (strcmp(argv[4], mode[i].name) != 0 || argc != 5 + mode[i].args)
			continue;
		devices[0] = argv[1];
		devices[1] = argv[2];
		pair_open(&p, devices, atoi(argv[3]));
		return mode[i].run(&p, argv + 5);
	}
	fprintf(stderr,
		"usage: verbs_guest DEVICE DEVICE GID_INDEX steady FILE | count N | make KIND N | doorbells A B C D | "
		"random SECONDS SEED | deaf N | fatal\n");
	return 2;
}
