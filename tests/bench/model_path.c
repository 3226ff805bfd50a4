/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * model_path ROUNDS [LEN [RINGS [RULES]]]: what the model's path costs a frame: send WQE, cross wire, receive WQE, CQE, on one thread
 * and without software on top. With a number of rings, flows that the card spreads over them by RSS. With a number of rules, each
 * names addresses and a UDP port, as those of programs of sockets do, frames go to all of these in turns, and the card writes the
 * checksums. Under "valgrind --tool=callgrind --toggle-collect=tp_model_step" it counts instructions.
 */
#include <stdio.h>
#include <time.h>

#define RIG_MEM (80u << 20)
#include "tests/unit/model/dp_rig.h"

#define RING 512u
#define BURST 64u
#define RINGS 64u
#define TX_QP 0x3eu
#define PARENT_QP 0x3fu
#define FIRST_QP 0x80u /* of the rings */
#define FIRST_PORT 2000u

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* An IPv4/UDP frame of len bytes with both checksums. */
static void
make_frame(uint8_t *d, uint32_t len, uint16_t flow)
{
	static const uint8_t head[42] = {2, 0, 0, 0,  0,  2, 2, 0,  0, 0, 0, 1,  8, 0, 0x45, 0, 0, 0, 0,
					 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,    0, 9, 0, 9};
	struct tp_frame_seg seg = {.data = d, .len = len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = len};

	memset(d, 0x5a, len);
	memcpy(d, head, sizeof(head));
	tpm_store16(d + 16, (uint16_t)(len - 14));
	tpm_store16(d + 34, flow);
	tpm_store16(d + 38, (uint16_t)(len - 34));
	tpm_csum_insert(&f, d, len, MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM);
}

/* Rules above the one of the address, each of a port. */
static void
make_rules(struct rig *r, const uint8_t mac[6], uint32_t qpn, uint16_t rules)
{
	uint8_t mbox[128] = {0}, *s = mbox + MLX4_DMFS_CTRL_SIZE, *ip = s + MLX4_SPEC_ETH_SIZE,
		*l4 = ip + MLX4_SPEC_IPV4_SIZE;
	uint64_t id;

	prm_set(mbox, MLX4_DMFS_PRIORITY, MLX4_DMFS_PRIO_USER);
	prm_set(mbox, MLX4_DMFS_PORT, 2);
	prm_set(mbox, MLX4_DMFS_QPN, qpn);
	prm_set(s, MLX4_SPEC_SIZE, MLX4_SPEC_ETH_SIZE / 4);
	prm_set(s, MLX4_SPEC_ID, MLX4_SPEC_ETH);
	memcpy(s + MLX4_SPEC_ETH_DMAC, mac, 6);
	memset(s + MLX4_SPEC_ETH_DMAC_MASK, 0xff, 6);
	prm_set(ip, MLX4_SPEC_SIZE, MLX4_SPEC_IPV4_SIZE / 4);
	prm_set(ip, MLX4_SPEC_ID, MLX4_SPEC_IPV4);
	prm_set(ip, MLX4_SPEC_IPV4_DST, 0x0a000002);
	prm_set(ip, MLX4_SPEC_IPV4_DST_MASK, UINT32_MAX);
	prm_set(l4, MLX4_SPEC_SIZE, MLX4_SPEC_L4_SIZE / 4);
	prm_set(l4, MLX4_SPEC_ID, MLX4_SPEC_UDP);
	prm_set(l4, MLX4_SPEC_L4_DPORT_MASK, UINT16_MAX);
	for (uint16_t i = 0; i < rules; i++) {
		prm_set(l4, MLX4_SPEC_L4_DPORT, FIRST_PORT + i);
		(void)tpm_steer_attach(r->m, mbox, (uint32_t)(l4 + MLX4_SPEC_L4_SIZE - mbox) / 4, &id);
	}
}

/* An RSS parent of UDP ports over the rings. */
static void
make_parent(struct tpm_qp *qp, unsigned int rings)
{
	uint8_t key[MLX4_RSS_KEY_SIZE];

	qp->is_rss = true;
	qp->rss.lg_rings = (uint8_t)__builtin_ctz(rings);
	qp->rss.base_qpn = qp->rss.base_qpn_udp = qp->rss.default_qpn = FIRST_QP;
	qp->rss.fn = MLX4_RSS_FN_TOEPLITZ;
	qp->rss.flags = MLX4_RSS_F_IPV4 | MLX4_RSS_F_UDP_IPV4;
	for (unsigned int i = 0; i < MLX4_RSS_KEY_SIZE; i++)
		key[i] = (uint8_t)(i * 37 + 11);
	tpm_rss_key(qp, key);
}

int
main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 200000, got = 0, inside = 0, t0, t1, t;
	uint32_t len = argc > 2 ? (uint32_t)atoi(argv[2]) : 60;
	unsigned int rings = argc > 3 ? (unsigned int)atoi(argv[3]) : 1,
		     rules = argc > 4 ? (unsigned int)atoi(argv[4]) : 0;
	const uint32_t csum = rules != 0 ? MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM : 0;
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
	static struct rig_q rx[RINGS];
	uint16_t posted[RINGS];
	struct rig_q tx, parent;
	char name[32];
	struct rig r;
	uint64_t id;

	if (rings == 0 || rings > RINGS || (rings & (rings - 1)) != 0) {
		fprintf(stderr, "rings %u: wanted a power of two, 1..%u\n", rings, RINGS);
		return 2;
	}
	if (rules > 10000) {
		fprintf(stderr, "rules %u: wanted 0..10000\n", rules);
		return 2;
	}
	snprintf(name, sizeof(name),
		 rules != 0   ? "%u_B_by_%u_rules"
		 : rings == 1 ? "%u_B"
			      : "%u_B_over_%u_rings",
		 len, rules != 0 ? rules : rings);
	if (rig_open(&r) != 0)
		return 1;
	rig_qp(&r, &tx, TX_QP, 1, RING, false);
	for (unsigned int i = 0; i < rings; i++) {
		rig_qp(&r, &rx[i], FIRST_QP + i, 2, RING, true);
		/* As drivers have them. */
		rx[i].qp->has_sq = r.m->ctl->uar_sends[rx[i].qp->uar] = false;
		posted[i] = RING;
	}
	if (rings > 1) {
		rig_qp(&r, &parent, PARENT_QP, 2, RING, false);
		make_parent(parent.qp, rings);
	}
	rig_up(&r);
	rig_rule(&r, 2, mac, rings > 1 ? PARENT_QP : FIRST_QP, &id);
	make_rules(&r, mac, rings > 1 ? PARENT_QP : FIRST_QP, (uint16_t)rules);
	for (uint32_t i = 0; i < RING; i++) {
		make_frame(tx.bufs + (size_t)i * RIG_BUF, len, (uint16_t)(9 + i * 7));
		if (rules != 0)
			tpm_store16(tx.bufs + (size_t)i * RIG_BUF + 36, (uint16_t)(FIRST_PORT + i % rules));
	}
	t0 = now_ns();
	for (uint64_t k = 0; k < rounds; k++) {
		for (unsigned int i = 0; i < BURST; i++) {
			rig_data(&tx, 1, tx.bufs + (size_t)(tx.prod % RING) * RIG_BUF, len);
			rig_post(&tx, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC | csum | (i == BURST - 1 ? MLX4_CTRL_CQE : 0));
		}
		rig_ring(&r, &tx);
		t1 = now_ns();
		tp_model_step(r.m, BURST);
		inside += now_ns() - t1;
		for (unsigned int i = 0; i < rings; i++) {
			while (rig_poll(rx[i].rcq, RING, &rx[i].rci, rx[i].rcq_rec) != NULL) {
				got++;
				posted[i]++;
			}
			*rx[i].dbrec = rte_cpu_to_be_32(posted[i]);
		}
		while (rig_poll(tx.scq, RING, &tx.sci, tx.scq_rec) != NULL)
			continue;
	}
	t = now_ns() - t0;
	printf("model %s frames/s %.2f Mpps\n", name, (double)got * 1e3 / (double)t);
	printf("model %s inside_model %.1f ns/frame\n", name, (double)inside / (double)got);
	printf("model %s violations %llu rules\n", name, (unsigned long long)tp_model_violations_total(r.m));
	printf("packets %llu\n", (unsigned long long)got);
	if (got != rounds * BURST)
		fprintf(stderr, "%llu frames arrived, wanted %llu\n", (unsigned long long)got,
			(unsigned long long)(rounds * BURST));
	rig_close(&r);
	return got == rounds * BURST ? 0 : 1;
}
