/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The interface's thread: packets both ways, a look at both sides now and then, sleep. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel_priv.h"

#define LOOK_MS 200      /* between two looks at what nobody tells of */
#define SOON_MS 20       /* until a look that somebody had no time for is made again */
#define BUSY_NS 50000    /* until a full queue or an empty pool is tried again */
#define BUSY_MOST 2000u  /* times; then its packets are lost */
#define STALE_MOST 4096u /* packets that may wait in the kernel */

void
tpk_wake(const struct tp_kernel *k)
{
	const uint64_t one = 1;

	while (write(k->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* --- to the kernel --- */

/* Whether there may be more. */
static bool
to_kernel(struct tp_kernel *k)
{
	struct rte_mbuf *pkts[TPK_BURST];
	struct virtio_net_hdr h;
	uint64_t packets = 0, octets = 0, joined = 0;
	unsigned int i, n = rte_ring_sc_dequeue_burst(k->ring, (void **)pkts, TPK_BURST, NULL);
	int ret;

	if (n == 0)
		return false;
	for (i = 0; i < n; i++) {
		const uint32_t len = pkts[i]->pkt_len;

		ret = tpk_frame_rx(&pkts[i], &h);
		if (ret == 0)
			ret = tpk_tap_write(k->tap, &h, pkts[i]);
		if (ret != 0) {
			tpk_count(&k->count.drop[ret == -EIO || ret == -EBADFD ? TP_KERNEL_RX_DOWN
									       : TP_KERNEL_RX_REFUSED],
				  1);
			continue;
		}
		packets++;
		octets += len;
		joined += h.gso_type != VIRTIO_NET_HDR_GSO_NONE;
	}
	rte_pktmbuf_free_bulk(pkts, n);
	tpk_count(&k->count.rx_packets, packets);
	tpk_count(&k->count.rx_octets, octets);
	tpk_count(&k->count.rx_joined, joined);
	return n == TPK_BURST;
}

/* --- from the kernel --- */

/* Buffers for the longest packet; false: there are too few now, and the packets wait in the kernel. */
static bool
spare(struct tp_kernel *k)
{
	const unsigned int want = TPK_SEGS - k->num_spare;

	if (want == 0)
		return true;
	if (rte_pktmbuf_alloc_bulk(k->pool, &k->spare[k->num_spare], want) != 0)
		return false;
	k->num_spare = TPK_SEGS;
	return true;
}

/* The first len octets of the spare buffers as one packet. */
static struct rte_mbuf *
chain(struct tp_kernel *k, uint32_t len)
{
	struct rte_mbuf *head = k->spare[0], *m = head;
	unsigned int n = 1;

	head->pkt_len = len;
	for (;; n++) {
		m->data_len = (uint16_t)RTE_MIN(len, (uint32_t)rte_pktmbuf_tailroom(m));
		len -= m->data_len;
		if (len == 0)
			break;
		m->next = k->spare[n];
		m = m->next;
	}
	head->nb_segs = (uint16_t)n;
	k->num_spare -= n;
	memmove(k->spare, &k->spare[n], k->num_spare * sizeof(k->spare[0]));
	return head;
}

/* What the driver cannot send is lost; n becomes the number of the others. */
static uint16_t
prepare(struct tp_kernel *k, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t done = 0, ok;

	while (k->prepares && done < n) {
		ok = rte_eth_tx_prepare(k->port, k->tx_queue, &pkts[done], (uint16_t)(n - done));
		done = (uint16_t)(done + ok);
		if (done == n)
			break;
		tpk_count(&k->count.drop[TP_KERNEL_TX_REFUSED], 1);
		rte_pktmbuf_free(pkts[done]);
		n--;
		memmove(&pkts[done], &pkts[done + 1], (size_t)(n - done) * sizeof(pkts[0]));
	}
	return n;
}

/* Whether all went. */
static bool
send_unsent(struct tp_kernel *k)
{
	struct rte_mbuf **pkts = &k->unsent[k->first_unsent];
	const uint16_t n = k->num_unsent;
	uint64_t octets = 0, large = 0;
	uint32_t len[TPK_BURST];
	uint16_t i, sent;

	/* They are the card's once they are sent. */
	for (i = 0; i < n; i++)
		len[i] = pkts[i]->pkt_len | ((pkts[i]->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 ? 1u << 31 : 0);
	sent = rte_eth_tx_burst(k->port, k->tx_queue, pkts, n);
	for (i = 0; i < sent; i++) {
		octets += len[i] & ~(1u << 31);
		large += len[i] >> 31;
	}
	tpk_count(&k->count.tx_packets, sent);
	tpk_count(&k->count.tx_octets, octets);
	tpk_count(&k->count.tx_large, large);
	k->first_unsent = (uint16_t)(k->first_unsent + sent);
	k->num_unsent = (uint16_t)(n - sent);
	return sent == n;
}

static void
drop_unsent(struct tp_kernel *k)
{
	tpk_count(&k->count.drop[TP_KERNEL_TX_DOWN], k->num_unsent);
	rte_pktmbuf_free_bulk(&k->unsent[k->first_unsent], k->num_unsent);
	k->num_unsent = 0;
}

/* Whether there may be more. */
static bool
from_kernel(struct tp_kernel *k)
{
	struct virtio_net_hdr h;
	uint16_t n = 0;
	int len = 1, turns;

	for (turns = 0; turns < (int)TPK_BURST && len != 0; turns++) {
		k->starved = !spare(k);
		if (k->starved)
			break;
		len = tpk_tap_read(k->tap, &h, k->spare, TPK_SEGS);
		if (len == -EBADFD || len == -EIO) {
			__atomic_store_n(&k->look_now, true, __ATOMIC_RELAXED);
			break;
		}
		if (len <= 0) {
			tpk_count(&k->count.drop[TP_KERNEL_TX_REFUSED], len != 0);
			continue;
		}
		k->unsent[n] = chain(k, (uint32_t)len);
		if (tpk_frame_tx(k->unsent[n], &h) == 0) {
			n++;
			continue;
		}
		rte_pktmbuf_free(k->unsent[n]);
		tpk_count(&k->count.drop[TP_KERNEL_TX_REFUSED], 1);
	}
	k->first_unsent = 0;
	k->num_unsent = prepare(k, k->unsent, n);
	if (!k->carrier)
		drop_unsent(k);
	return k->num_unsent != 0 && send_unsent(k) && turns == (int)TPK_BURST;
}

/* --- commands --- */

static void
begin(struct tp_kernel *k)
{
	const uint64_t sums =
		RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	const uint64_t segs = RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS;

	k->tx_queue = k->want_queue;
	k->csum = (k->want_offloads & sums) == sums;
	k->tso = k->csum && (k->want_offloads & segs) == segs;
	k->prepares = k->csum;
	(void)tpk_tap_offload(k->tap, k->csum, k->tso);
	(void)tpk_link_gso(k, k->want_large);
	__atomic_store_n(&k->runs, true, __ATOMIC_RELAXED);
}

/* What waits on either side would be late. */
static void
end(struct tp_kernel *k)
{
	struct virtio_net_hdr h;
	unsigned int i;

	while (to_kernel(k))
		;
	drop_unsent(k);
	for (i = 0; i < STALE_MOST && spare(k) && tpk_tap_read(k->tap, &h, k->spare, TPK_SEGS) > 0; i++)
		tpk_count(&k->count.drop[TP_KERNEL_TX_DOWN], 1);
	__atomic_store_n(&k->runs, false, __ATOMIC_RELAXED);
}

/* What the control thread wants; true: the end. */
static bool
commands(struct tp_kernel *k)
{
	bool quit;

	pthread_mutex_lock(&k->lock);
	quit = k->quit;
	if (k->asked != k->answers) {
		if (k->want_runs != k->runs) {
			(k->want_runs ? begin : end)(k);
			tpk_follow(k);
		}
		k->answers = k->asked;
		pthread_cond_signal(&k->answered);
	}
	pthread_mutex_unlock(&k->lock);
	return quit;
}

/* --- the thread --- */

/* Sleeps until there is something to do; whether it is time for a look. */
static bool
wait(struct tp_kernel *k, bool more, uint64_t next_look)
{
	const uint64_t now = rte_get_timer_cycles(), hz = rte_get_timer_hz();
	const bool late = k->runs && (k->num_unsent != 0 || k->starved); /* what the kernel has must wait */
	struct pollfd fds[3] = {{.fd = k->wake, .events = POLLIN},
				{.fd = k->news, .events = POLLIN},
				{.fd = k->runs && !late && !k->gone ? k->tap : -1, .events = POLLIN}};
	struct timespec t = {0};
	uint64_t drop[512], ns;
	bool told;

	if (now < next_look && !more) {
		ns = (uint64_t)((double)(next_look - now) * 1e9 / (double)hz);
		if (late)
			ns = RTE_MIN(ns, (uint64_t)BUSY_NS);
		t.tv_nsec = (long)RTE_MIN(ns, UINT64_C(999999999));
		__atomic_store_n(&k->sleeps, 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (!rte_ring_empty(k->ring))
			t.tv_nsec = 0;
	}
	(void)ppoll(fds, RTE_DIM(fds), &t, NULL);
	__atomic_store_n(&k->sleeps, 0, __ATOMIC_RELAXED);
	if (fds[0].revents != 0)
		(void)!read(k->wake, drop, sizeof(drop[0]));
	told = fds[1].revents != 0;
	/* One look covers all that was said so far, also what did not fit into the socket's buffer. */
	while (told && (recv(k->news, drop, sizeof(drop), MSG_DONTWAIT) > 0 || errno == ENOBUFS))
		;
	return told || now >= next_look;
}

void *
tpk_run(void *arg)
{
	struct tp_kernel *k = arg;
	const uint64_t ms = rte_get_timer_hz() / 1000;
	uint64_t next_look = 0;
	unsigned int busy = 0;
	bool more = false;

	while (!commands(k)) {
		if (wait(k, more, next_look) || __atomic_exchange_n(&k->look_now, false, __ATOMIC_RELAXED)) {
			tpk_follow(k);
			next_look = rte_get_timer_cycles() + ms * (k->look_soon ? SOON_MS : LOOK_MS);
		}
		more = to_kernel(k);
		if (!k->runs || k->gone)
			continue;
		if (k->num_unsent == 0 || send_unsent(k)) {
			busy = 0;
			more |= from_kernel(k);
			continue;
		}
		tpk_count(&k->count.tx_busy, 1);
		if (!k->carrier || ++busy > BUSY_MOST)
			drop_unsent(k);
	}
	while (to_kernel(k))
		;
	return NULL;
}
