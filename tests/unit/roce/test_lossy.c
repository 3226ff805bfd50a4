/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Random work over a wire that loses, repeats and reorders, both ways at once: every byte arrives once, in order, and
 * every request completes in order. What is expected is kept by plain copies beside the engine. A seed that fails is run
 * again with less work, to name the smallest case. With two arguments, numbers of seeds and of requests a side, those are
 * run instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rig.h"

/* Memory of a side: what others may read, a counter, and a slot per request on its way. */
#define ROM_LEN 0x20000u
#define COUNTER ROM_LEN
#define SLOT_LEN 0x2000u
#define SLOTS 32u
#define SRC(i) (0x30000u + (i)*SLOT_LEN)  /* sources and READ targets */
#define DST(i) (0x70000u + (i)*SLOT_LEN)  /* targets of the peer's WRITEs */
#define RECV(i) (0xb0000u + (i)*SLOT_LEN) /* receive buffers */
#define MAX_MSG (SLOT_LEN - 64)
#define MAX_REQUESTS 4096u

struct work {
	enum ibv_wr_opcode op;
	uint32_t len, imm, slot, rom;
	uint64_t old; /* what an atomic must bring */
	uint8_t *copy;
};

struct expect {
	struct work *w;
	uint32_t posted, done, limit;
	uint32_t order[MAX_REQUESTS]; /* of messages that take a receive request */
	uint32_t num_order, num_received;
	uint64_t counter; /* of the peer, as this side's atomics left it */
	uint32_t recv_posted;
};

struct trial {
	struct rig r;
	struct expect e[2];
	enum ibv_qp_type type;
	char why[128];
};

static bool
wrong(struct trial *t, const char *fmt, int side, uint32_t i, uint64_t v)
{
	snprintf(t->why, sizeof(t->why), fmt, side, i, (unsigned long long)v);
	return false;
}

static bool
takes_receive(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_SEND_WITH_INV ||
	       op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static enum ibv_wr_opcode
choose(struct rig *r)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND,
						 IBV_WR_SEND_WITH_IMM,
						 IBV_WR_SEND_WITH_INV,
						 IBV_WR_RDMA_WRITE,
						 IBV_WR_RDMA_WRITE_WITH_IMM,
						 IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD,
						 IBV_WR_ATOMIC_CMP_AND_SWP};

	return ops[rig_below(r, 8)];
}

static uint32_t
length(struct rig *r)
{
	switch (rig_below(r, 4)) {
	case 0: return rig_below(r, 8);
	case 1: return rig_below(r, 300);
	default: return rig_below(r, MAX_MSG);
	}
}

/* Splits the list in up to four entries, some of them empty. */
static void
split(struct rig *r, struct rig_side *s, struct tre_wqe *w)
{
	struct tre_sge *g = s->sge[w - s->sq];
	uint32_t n = 1 + rig_below(r, RIG_SGES), left = w->len;
	uint64_t addr = g[0].addr;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t len = i + 1 == n ? left : rig_below(r, left + 1);

		g[i] = (struct tre_sge){.addr = addr, .len = len, .lkey = RIG_LKEY};
		addr += len;
		left -= len;
	}
	w->num_sge = (uint16_t)n;
}

static void
atomic_model(struct expect *e, struct work *k, struct tre_wqe *w, struct rig *r)
{
	k->old = e->counter;
	if (k->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		w->compare_add = rig_random(r);
		e->counter += w->compare_add;
	} else {
		w->compare_add = rig_below(r, 2) ? e->counter : ~e->counter;
		w->swap = rig_random(r);
		if (w->compare_add == e->counter)
			e->counter = w->swap;
	}
	w->remote = rig_addr(COUNTER);
}

static void
post(struct trial *t, int side)
{
	struct rig *r = &t->r;
	struct rig_side *s = &r->side[side];
	struct expect *e = &t->e[side];
	uint32_t id = e->posted, slot = id % SLOTS;
	enum ibv_wr_opcode op = choose(r);
	struct work *k = &e->w[id];
	struct tre_wqe *w;
	bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP;

	if (e->posted - e->done >= SLOTS)
		return;
	k->op = op;
	k->slot = slot;
	k->len = atomic ? 8 : length(r);
	k->imm = op == IBV_WR_SEND_WITH_INV ? RIG_RKEY : (uint32_t)rig_random(r);
	k->rom = rig_below(r, ROM_LEN - k->len);
	w = rig_send(s, op, id, SRC(slot), k->len);
	if (w == NULL)
		return;
	k->copy = malloc(k->len + 1);
	for (uint32_t i = 0; i < k->len; i++)
		k->copy[i] = (uint8_t)rig_random(r);
	w->imm = k->imm;
	w->flags = rig_below(r, 8) == 0 ? IBV_SEND_FENCE : 0;
	split(r, s, w);
	w->remote = rig_addr(DST(slot));
	if (op == IBV_WR_RDMA_READ) {
		w->remote = rig_addr(k->rom);
		memset(s->mem + SRC(slot), 0, k->len);
		memcpy(k->copy, r->side[!side].mem + k->rom, k->len);
	} else if (atomic) {
		atomic_model(e, k, w, r);
	} else {
		memcpy(s->mem + SRC(slot), k->copy, k->len);
	}
	if (takes_receive(op))
		e->order[e->num_order++] = id;
	e->posted++;
}

static bool
check_done(struct trial *t, int side)
{
	struct rig_side *s = &t->r.side[side];
	struct expect *e = &t->e[side];

	while (e->done < s->num_done) {
		uint32_t id = e->done;
		struct work *k = &e->w[id];
		const uint8_t *dst = t->r.side[!side].mem + DST(k->slot);
		uint64_t old;

		if (s->done[id].id != id)
			return wrong(t, "side %d: completion %u has id %llu", side, id, s->done[id].id);
		if (s->done[id].status != IBV_WC_SUCCESS)
			return wrong(t, "side %d: request %u ends with %llu", side, id, s->done[id].status);
		if ((k->op == IBV_WR_RDMA_WRITE || k->op == IBV_WR_RDMA_WRITE_WITH_IMM)) {
			if (memcmp(dst, k->copy, k->len) != 0)
				return wrong(t, "side %d: WRITE %u of %llu bytes did not arrive", side, id, k->len);
			/* Whatever comes again must not write again. */
			memset(t->r.side[!side].mem + DST(k->slot), 0xee, k->len);
		}
		if (k->op == IBV_WR_RDMA_READ && memcmp(s->mem + SRC(k->slot), k->copy, k->len) != 0)
			return wrong(t, "side %d: READ %u of %llu bytes is wrong", side, id, k->len);
		memcpy(&old, s->mem + SRC(k->slot), sizeof(old));
		if ((k->op == IBV_WR_ATOMIC_FETCH_AND_ADD || k->op == IBV_WR_ATOMIC_CMP_AND_SWP) && old != k->old)
			return wrong(t, "side %d: atomic %u brought %llx", side, id, old);
		e->done++;
	}
	return true;
}

static bool
check_got(struct trial *t, int side)
{
	struct rig_side *s = &t->r.side[side];
	struct expect *peer = &t->e[!side];

	while (peer->num_received < s->num_got) {
		const struct rig_got *g = &s->got[peer->num_received];
		uint32_t id = peer->order[peer->num_received];
		const struct work *k = &peer->w[id];
		bool write = k->op == IBV_WR_RDMA_WRITE_WITH_IMM;

		if (g->wc.status != IBV_WC_SUCCESS || g->wc.len != k->len)
			return wrong(t, "side %d: message %u received with length %llu", side, id, g->wc.len);
		if (g->wc.opcode != (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV) ||
		    g->wc.has_imm != (write || k->op == IBV_WR_SEND_WITH_IMM) ||
		    g->wc.invalidated != (k->op == IBV_WR_SEND_WITH_INV) ||
		    ((g->wc.has_imm || g->wc.invalidated) && g->wc.imm != k->imm))
			return wrong(t, "side %d: message %u received as opcode %llu", side, id, g->wc.opcode);
		if (!write && memcmp(s->mem + RECV(g->id % SLOTS), k->copy, k->len) != 0)
			return wrong(t, "side %d: message %u of %llu bytes is damaged", side, id, k->len);
		peer->num_received++;
	}
	return true;
}

/* Receive requests come late now and then, so that the peer is told to wait. */
static void
post_receives(struct trial *t, int side)
{
	struct rig_side *s = &t->r.side[side];
	struct expect *e = &t->e[side];

	while (s->rq_tail - s->rq_head < SLOTS / 2 && rig_below(&t->r, 4) != 0) {
		rig_recv(s, e->recv_posted, RECV(e->recv_posted % SLOTS), SLOT_LEN);
		e->recv_posted++;
	}
}

static bool
intact(struct trial *t)
{
	static const uint8_t scribble[SLOT_LEN] = {[0 ... SLOT_LEN - 1] = 0xee};
	uint64_t v;

	for (int side = 0; side < 2; side++) {
		const struct expect *e = &t->e[side];
		uint32_t last = e->limit > SLOTS ? e->limit - SLOTS : 0;

		for (uint32_t id = last; id < e->limit; id++) {
			const struct work *k = &e->w[id];

			if ((k->op == IBV_WR_RDMA_WRITE || k->op == IBV_WR_RDMA_WRITE_WITH_IMM) &&
			    memcmp(t->r.side[!side].mem + DST(k->slot), scribble, k->len) != 0)
				return wrong(t, "side %d: WRITE %u was executed again (%llu)", side, id, k->len);
		}
		memcpy(&v, t->r.side[!side].mem + COUNTER, sizeof(v));
		if (v != e->counter)
			return wrong(t, "side %d: the counter after %u requests is %llx", side, e->limit, v);
		if (e->num_received != e->num_order)
			return wrong(t, "side %d: %u messages, received %llu", side, e->num_order, e->num_received);
	}
	return true;
}

static bool
trial(struct trial *t, uint64_t seed, uint32_t limit)
{
	struct tre_attr a;
	bool ok = true;
	uint32_t rounds = 0;

	memset(t, 0, sizeof(*t));
	rig_init(&t->r, seed);
	a = rig_attr(IBV_QPT_RC, 256u << rig_below(&t->r, 5));
	a.window = 2 + rig_below(&t->r, 120);
	a.credits = rig_below(&t->r, 2) != 0;
	a.max_rd_atomic = (uint8_t)(1 + rig_below(&t->r, 4));
	a.max_dest_rd_atomic = (uint8_t)(a.max_rd_atomic + rig_below(&t->r, 3));
	rig_connect(&t->r, &a);
	for (int i = 0; i < 2; i++) {
		struct rig_wire *w = &t->r.side[i].out;

		w->drop_ppm = rig_below(&t->r, 50000);
		w->dup_ppm = rig_below(&t->r, 50000);
		w->reorder_ppm = rig_below(&t->r, 2) * rig_below(&t->r, 50000);
		t->e[i].w = calloc(limit, sizeof(struct work));
		t->e[i].limit = limit;
		for (uint32_t b = 0; b < ROM_LEN; b++)
			t->r.side[i].mem[b] = (uint8_t)rig_random(&t->r);
	}
	while (ok && (t->e[0].done < limit || t->e[1].done < limit)) {
		for (int i = 0; i < 2; i++) {
			if (t->e[i].posted < limit)
				post(t, i);
			post_receives(t, i);
		}
		rig_step(&t->r);
		ok = check_done(t, 0) && check_done(t, 1) && check_got(t, 0) && check_got(t, 1);
		if (ok && ++rounds > 2000000)
			ok = wrong(t, "side %d: no end after %u rounds (%llu done)", 0, rounds, t->e[0].done);
	}
	/* What is still on its way must change nothing. */
	rig_run(&t->r, 10000);
	ok = ok && intact(t);
	for (int i = 0; i < 2; i++) {
		for (uint32_t j = 0; j < t->e[i].posted; j++)
			free(t->e[i].w[j].copy);
		free(t->e[i].w);
	}
	return ok;
}

static void
run_seeds(uint64_t first, uint32_t seeds, uint32_t limit)
{
	struct trial *t = malloc(sizeof(*t));
	uint64_t resent = 0, rnr = 0, dropped = 0;

	assert_non_null(t);
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		bool ok = trial(t, seed, limit);

		for (int i = 0; i < 2; i++) {
			resent += t->r.side[i].st.rq_resent;
			rnr += t->r.side[i].st.rs_rnr_nak;
			dropped += t->r.side[i].out.dropped;
		}
		rig_free(&t->r);
		if (!ok) {
			uint32_t n = limit;
			char why[sizeof(t->why)];

			memcpy(why, t->why, sizeof(why));
			while (n > 1 && !trial(t, seed, n / 2)) {
				memcpy(why, t->why, sizeof(why));
				rig_free(&t->r);
				n /= 2;
			}
			rig_free(&t->r);
			free(t);
			fail_msg("seed %llu, %u requests a side: %s", (unsigned long long)seed, n, why);
		}
	}
	free(t);
	/* The wire was as bad as meant. */
	assert_true(dropped != 0 && resent != 0 && rnr != 0);
}

static void
short_runs(void **state)
{
	run_seeds(1, 1000, 40);
}

static void
long_runs(void **state)
{
	run_seeds(1000, 60, 1500);
}

static uint32_t asked_seeds, asked_requests;

static void
asked_runs(void **state)
{
	run_seeds(1, asked_seeds, asked_requests);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest asked[] = {cmocka_unit_test(asked_runs)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_runs),
		cmocka_unit_test(long_runs),
	};

	if (argc == 3) {
		asked_seeds = (uint32_t)strtoul(argv[1], NULL, 10);
		asked_requests = (uint32_t)strtoul(argv[2], NULL, 10);
		if (asked_seeds == 0 || asked_requests == 0 || asked_requests > MAX_REQUESTS) {
			fprintf(stderr, "'%s %s': wanted seeds >= 1, requests a side 1..%u\n", argv[1], argv[2],
				MAX_REQUESTS);
			return 2;
		}
		return cmocka_run_group_tests(asked, NULL, NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
