/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * datapath rx|tx [csum] [bursts]: runs bursts of 32 on fabricated rings and prints how many packets went through. The
 * instructions are counted from outside (callgrind, collecting only inside the burst function); what the card would do
 * happens between the bursts and is not counted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_io.h>

#include "mlx4_prm_wqe.h"

#include "datapath.h"

#define BURST 32
#define DESC 512
#define FRAME 64
#define BUFS 4096
#define CACHE 256

static void
write_cqe(const struct bench_ring *r, uint32_t index, uint8_t op)
{
	struct mlx4_cqe *cqe = (struct mlx4_cqe *)(void *)(r->cqes + (size_t)(index & r->cqmask) * sizeof(*cqe));

	memset(cqe, 0, sizeof(*cqe) - 1);
	cqe->vlan_my_qpn = RTE_BE32(0x40);
	cqe->immed_rss = rte_cpu_to_be_32(0x12345678u + index);
	cqe->status = RTE_BE16(MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK);
	cqe->badfcs_enc = MLX4_CQE_L4_OK;
	cqe->byte_cnt = RTE_BE32(FRAME);
	cqe->wqe_index = rte_cpu_to_be_16((uint16_t)index);
	cqe->checksum = RTE_BE16(MLX4_CQE_CSUM_OK);
	rte_io_wmb();
	cqe->owner_sr_opcode = op | (index & (r->cqmask + 1) ? MLX4_CQE_OWNER : 0);
}

/* Every entry belongs to the card before the first pass. */
static void
init_cq(const struct bench_ring *r)
{
	uint32_t i;

	for (i = 0; i <= r->cqmask; i++)
		r->cqes[i * sizeof(struct mlx4_cqe) + offsetof(struct mlx4_cqe, owner_sr_opcode)] = MLX4_CQE_OWNER;
}

static int
run_rx(const struct bench_ring *r, uint32_t bursts, uint64_t *packets, uint64_t *cycles)
{
	struct rte_mbuf *pkts[BURST];
	uint32_t index = 0, b, i;

	for (b = 0; b < bursts; b++) {
		uint64_t t;
		uint16_t n;

		for (i = 0; i < BURST; i++)
			write_cqe(r, index++, MLX4_CQE_RECV_SEND);
		t = rte_rdtsc_precise();
		n = mlx4_rx_burst(r->queue, pkts, BURST);
		*cycles += rte_rdtsc_precise() - t;
		if (n != BURST || pkts[0]->pkt_len != FRAME || pkts[0]->nb_segs != 1) {
			fprintf(stderr, "burst %u: %u packets of %u bytes, wanted %u of %u\n", b, n,
				n == 0 ? 0 : pkts[0]->pkt_len, BURST, FRAME);
			return -EIO;
		}
		*packets += n;
		rte_pktmbuf_free_bulk(pkts, n);
	}
	return 0;
}

static int
run_tx(const struct bench_ring *r, struct rte_mempool *mp, uint32_t bursts, int csum, uint64_t *packets,
       uint64_t *cycles)
{
	struct rte_mbuf *pkts[BURST];
	uint32_t block = 0, index = 0, b, i;

	for (b = 0; b < bursts; b++) {
		uint64_t t;
		uint16_t n;

		if (rte_pktmbuf_alloc_bulk(mp, pkts, BURST) != 0)
			return -ENOMEM;
		for (i = 0; i < BURST; i++) {
			pkts[i]->data_len = FRAME;
			pkts[i]->pkt_len = FRAME;
			if (csum)
				pkts[i]->ol_flags =
					RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV4;
			pkts[i]->l2_len = 14;
			pkts[i]->l3_len = 20;
		}
		t = rte_rdtsc_precise();
		n = mlx4_tx_burst(r->queue, pkts, BURST);
		*cycles += rte_rdtsc_precise() - t;
		if (n != BURST) {
			fprintf(stderr, "burst %u: %u packets taken, wanted %u\n", b, n, BURST);
			return -EIO;
		}
		*packets += n;
		for (i = 0; i < BURST; i++, block++) {
			const struct mlx4_wqe_ctrl *c =
				(const void *)(r->sq + ((size_t)(block & r->sqmask) << MLX4_LG_TXBB));

			if ((rte_be_to_cpu_32(c->owner_opcode) & MLX4_CTRL_OPCODE_MASK) != MLX4_OP_SEND) {
				fprintf(stderr, "block %u is not a send: 0x%08x\n", block,
					rte_be_to_cpu_32(c->owner_opcode));
				return -EIO;
			}
			if (!!(rte_be_to_cpu_32(c->flags) & MLX4_CTRL_L4_CSUM) != !!csum) {
				fprintf(stderr, "block %u: checksum bits 0x%08x, asked for %d\n", block,
					rte_be_to_cpu_32(c->flags), csum);
				return -EIO;
			}
			if ((rte_be_to_cpu_32(c->flags) & MLX4_CTRL_CQE_MASK) == MLX4_CTRL_CQE)
				write_cqe(r, index++, MLX4_OP_SEND | MLX4_CQE_IS_SEND);
		}
	}
	return 0;
}

int
main(int argc, char **argv)
{
	char *eal[] = {argv[0],
		       (char *)(uintptr_t) "--no-huge",
		       (char *)(uintptr_t) "-m",
		       (char *)(uintptr_t) "128",
		       (char *)(uintptr_t) "--no-shconf",
		       (char *)(uintptr_t) "--no-telemetry",
		       (char *)(uintptr_t) "--no-pci",
		       (char *)(uintptr_t) "--log-level=error",
		       (char *)(uintptr_t) "-l",
		       (char *)(uintptr_t) "0"};
	bool rx = argc > 1 && strcmp(argv[1], "rx") == 0, tx = argc > 1 && strcmp(argv[1], "tx") == 0;
	int csum = argc > 2 ? atoi(argv[2]) : 0;
	uint32_t bursts = argc > 3 ? (uint32_t)atoi(argv[3]) : 4096;
	uint64_t packets = 0, cycles = 0;
	struct rte_mempool *mp;
	struct bench_ring r;
	int rc;

	if (!rx && !tx) {
		fprintf(stderr, "usage: %s rx|tx [csum 0|1] [bursts]\n", argv[0]);
		return 2;
	}
	if (rte_eal_init(RTE_DIM(eal), eal) < 0) {
		fprintf(stderr, "rte_eal_init failed: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	memset(&r, 0, sizeof(r));
	mp = rte_pktmbuf_pool_create("bench", BUFS - 1, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	rc = mp == NULL ? -rte_errno : rx ? bench_rx_queue(mp, DESC, csum, &r) : bench_tx_queue(mp, DESC, csum, &r);
	if (rc == 0) {
		init_cq(&r);
		rc = rx ? run_rx(&r, bursts, &packets, &cycles) : run_tx(&r, mp, bursts, csum, &packets, &cycles);
	}
	if (rc != 0) {
		fprintf(stderr, "%s %s: %s\n", bench_driver, argv[1], strerror(-rc));
		return 1;
	}
	printf("%s %s packets %" PRIu64 " cycles_per_packet %.1f\n", bench_driver, argv[1], packets,
	       (double)cycles / (double)packets);
	return 0;
}
