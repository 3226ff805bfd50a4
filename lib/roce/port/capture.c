/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The RoCE packets of a port as a pcapng file (O-5). Whoever sees packets copies them into a ring; a thread of its own writes
 * them. What comes faster than it writes is counted as lost. Nothing of this is there while no capture runs, but a flag.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netinet/in.h>

#include <rte_ip.h>
#include <rte_pcapng.h>
#include <rte_ring.h>
#include <rte_udp.h>
#include <rte_version.h>

#include "front.h"

#define PACKETS 1023u /* that wait for the file */
#define BURST 32u
#define SNAP_MIN 64u
#define SNAP_MAX (4096u + 256u) /* the largest RoCE frame, with some room */
#define IDLE_US 500
#define ETHERTYPE_V1 0x8915u

struct troce_capture {
	rte_pcapng_t *file;
	struct rte_mempool *pool;
	struct rte_ring *ring;
	pthread_t writer;
	atomic_bool stop;
	uint32_t snaplen;
	bool failed; /* writing */
	uint64_t captured, lost;
};

/* --- what differs between DPDK 22.11, 24.11, 25.11 and 26.07 ------------------------------------------------------ */

#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
#define LINK_TYPE DLT_EN10MB,
#else
#define LINK_TYPE
#endif

static rte_pcapng_t *
file_open(int fd, uint16_t port_id)
{
	rte_pcapng_t *file = rte_pcapng_fdopen(fd, NULL, NULL, "Triplane " TRIPLANE_VERSION, NULL);

#if RTE_VERSION >= RTE_VERSION_NUM(23, 7, 0, 0)
	if (file != NULL && rte_pcapng_add_interface(file, port_id, LINK_TYPE NULL, NULL, NULL) < 0) {
		rte_pcapng_close(file);
		file = NULL;
	}
#else
	RTE_SET_USED(port_id); /* all ports are in the file */
#endif
	return file;
}

static struct rte_mbuf *
file_copy(const struct troce_capture *c, const struct troce_dev *dev, const struct rte_mbuf *m, bool out)
{
	const enum rte_pcapng_direction dir = out ? RTE_PCAPNG_DIRECTION_OUT : RTE_PCAPNG_DIRECTION_IN;
	const uint32_t queue = out ? dev->conf.tx_queue : dev->conf.rx_queue;

#if RTE_VERSION >= RTE_VERSION_NUM(23, 7, 0, 0)
	return rte_pcapng_copy(dev->port_id, queue, m, c->pool, c->snaplen, dir, NULL);
#else
	return rte_pcapng_copy(dev->port_id, queue, m, c->pool, c->snaplen, rte_get_tsc_cycles(), dir);
#endif
}

/* --- from the port's thread --------------------------------------------------------------------------------------- */

static bool
is_roce(const struct rte_mbuf *m, uint16_t udp_port)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t off = 2 * RTE_ETHER_ADDR_LEN;
	uint16_t type;

	if (m->data_len < off + 6)
		return false;
	type = (uint16_t)(p[off] << 8 | p[off + 1]);
	if (type == RTE_ETHER_TYPE_VLAN) {
		off += sizeof(struct rte_vlan_hdr);
		type = (uint16_t)(p[off] << 8 | p[off + 1]);
	}
	off += sizeof(type);
	if (type == ETHERTYPE_V1)
		return true;
	if (type == RTE_ETHER_TYPE_IPV4 && m->data_len >= off + sizeof(struct rte_ipv4_hdr) &&
	    p[off + 9] == IPPROTO_UDP)
		off += (p[off] & 0xfu) * 4u;
	else if (type == RTE_ETHER_TYPE_IPV6 && m->data_len >= off + sizeof(struct rte_ipv6_hdr) &&
		 p[off + 6] == IPPROTO_UDP)
		off += sizeof(struct rte_ipv6_hdr);
	else
		return false;
	return m->data_len >= off + sizeof(struct rte_udp_hdr) && (p[off + 2] << 8 | p[off + 3]) == udp_port;
}

void
troce_capture_put(struct troce_dev *dev, struct rte_mbuf *const *pkts, unsigned int n, bool out)
{
	struct troce_capture *c;
	struct rte_mbuf *copy;
	unsigned int i;

	pthread_mutex_lock(&dev->capture_lock);
	c = dev->capture;
	for (i = 0; c != NULL && i < n; i++) {
		if (!is_roce(pkts[i], dev->conf.udp_port))
			continue;
		copy = file_copy(c, dev, pkts[i], out);
		if (copy != NULL && rte_ring_enqueue(c->ring, copy) == 0) {
			c->captured++;
			continue;
		}
		rte_pktmbuf_free(copy);
		c->lost++;
	}
	pthread_mutex_unlock(&dev->capture_lock);
}

/* --- the writer ---------------------------------------------------------------------------------------------------- */

static void *
writer(void *arg)
{
	struct troce_capture *c = arg;
	struct rte_mbuf *pkts[BURST];
	bool stop;
	unsigned int n;

	do {
		/* Asked for before the ring is looked at: what is in it then is written. */
		stop = atomic_load(&c->stop);
		while ((n = rte_ring_dequeue_burst(c->ring, (void **)pkts, BURST, NULL)) != 0)
			if (rte_pcapng_write_packets(c->file, pkts, (uint16_t)n) < 0)
				c->failed = true;
		usleep(stop ? 0 : IDLE_US);
	} while (!stop);
	return NULL;
}

/* --- control ------------------------------------------------------------------------------------------------------- */

static void
capture_free(struct troce_capture *c)
{
	if (c->file != NULL)
		rte_pcapng_close(c->file);
	rte_ring_free(c->ring);
	rte_mempool_free(c->pool);
	free(c);
}

/* What a capture is made of, but its thread. NULL: errno */
static struct troce_capture *
capture_alloc(struct troce_dev *dev, const char *path, uint32_t snaplen)
{
	struct troce_capture *c = calloc(1, sizeof(*c));
	char name[RTE_RING_NAMESIZE];
	int fd;

	if (c == NULL)
		return NULL;
	c->snaplen = snaplen;
	snprintf(name, sizeof(name), "tp_capture_%u", dev->port_id);
	c->ring = rte_ring_create(name, PACKETS + 1, dev->numa_node, RING_F_SP_ENQ | RING_F_SC_DEQ);
	c->pool = rte_pktmbuf_pool_create(name, PACKETS, 0, 0, (uint16_t)rte_pcapng_mbuf_size(snaplen), dev->numa_node);
	if (c->ring == NULL || c->pool == NULL) {
		capture_free(c);
		errno = ENOMEM;
		return NULL;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	c->file = fd >= 0 ? file_open(fd, dev->port_id) : NULL;
	if (c->file == NULL) {
		int err = fd >= 0 ? EIO : errno;

		if (fd >= 0)
			close(fd);
		capture_free(c);
		errno = err;
		return NULL;
	}
	return c;
}

/* Asks the home to show its packets, if the library does not see them. */
static int
show(struct troce_dev *dev, bool on)
{
	return dev->prov->capture != NULL ? dev->prov->capture(dev, on) : 0;
}

/* With the port's lock. */
static int
start_locked(struct troce_dev *dev, const char *path, uint32_t snaplen)
{
	struct troce_capture *c;
	int err;

	if (dev->capture != NULL)
		return TROCE_REFUSE(dev, EBUSY, "a capture runs already");
	c = capture_alloc(dev, path, snaplen);
	if (c == NULL) {
		err = errno;
		return TROCE_REFUSE(dev, err, "capture to %s: %s", path, strerror(err));
	}
	err = show(dev, true);
	if (err != 0) {
		capture_free(c);
		return TROCE_REFUSE(dev, err, "%s cannot show its packets: %s", dev->prov->name, strerror(err));
	}
	err = pthread_create(&c->writer, NULL, writer, c);
	if (err != 0) {
		(void)show(dev, false);
		capture_free(c);
		return TROCE_REFUSE(dev, err, "capture: %s", strerror(err));
	}
	(void)pthread_setname_np(c->writer, "roce-capture");
	pthread_mutex_lock(&dev->capture_lock);
	dev->capture = c;
	pthread_mutex_unlock(&dev->capture_lock);
	atomic_store(&dev->capturing, true);
	return 0;
}

int
tp_roce_capture_start(struct ibv_context *ctx, const char *file, uint32_t snaplen)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err;

	if (dev->ib != NULL)
		return TROCE_REFUSE(dev, ENOTSUP, "capture: an InfiniBand port shows no packets");
	if (file == NULL)
		return TROCE_REFUSE(dev, EINVAL, "capture: no file is named");
	if (snaplen == 0)
		snaplen = SNAP_MAX;
	if (snaplen < SNAP_MIN || snaplen > SNAP_MAX)
		return TROCE_REFUSE(dev, EINVAL, "capture: snaplen %u is not 0 or %u..%u", snaplen, SNAP_MIN, SNAP_MAX);
	troce_lock(dev);
	err = start_locked(dev, file, snaplen);
	troce_unlock(dev);
	return err;
}

int
tp_roce_capture_stop(struct ibv_context *ctx, uint64_t *captured, uint64_t *lost)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct troce_capture *c;
	int err = 0;

	troce_lock(dev);
	/* The home may have some left to show. */
	if (dev->capture != NULL)
		(void)show(dev, false);
	atomic_store(&dev->capturing, false);
	pthread_mutex_lock(&dev->capture_lock);
	c = dev->capture;
	dev->capture = NULL;
	pthread_mutex_unlock(&dev->capture_lock);
	troce_unlock(dev);
	if (c == NULL)
		return ENOENT;
	atomic_store(&c->stop, true);
	pthread_join(c->writer, NULL);
	if (captured != NULL)
		*captured = c->captured;
	if (lost != NULL)
		*lost = c->lost;
	if (c->failed)
		err = TROCE_REFUSE(dev, EIO, "capture: not all packets could be written");
	capture_free(c);
	return err;
}
