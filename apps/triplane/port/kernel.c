/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "port.h"
#include "roce.h"
#include "rte_pmd_mlx4_group.h"
#include "rte_pmd_mlx4_tx.h"

#define TX_OFFLOADS                                                                                                    \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |                 \
	 RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS)

struct rte_eth_txconf
kernel_txconf(const struct app_port *p)
{
	struct rte_eth_txconf conf = p->info.default_txconf;

	conf.offloads = p->info.tx_queue_offload_capa & TX_OFFLOADS;
	p->kernel->tx_offloads = conf.offloads | p->tx_offloads;
	return conf;
}

/* --- what the interface wants, in its thread --- */

static int
want_mtu(void *arg, uint16_t mtu)
{
	const struct kernel_port *kp = arg;
	struct app_port *p = &kp->app->port[kp->id];
	char err[256];
	int ret;

	/* A command that runs may be waiting for this thread. */
	if (!app_control_ask(0))
		return -EAGAIN;
	ret = port_mtu_put(p, mtu, err, sizeof(err));
	app_control_give();
	return ret != 0 ? app_err(ret, "%s", err) : 0;
}

static int
want_mac(void *arg, const struct rte_ether_addr *mac)
{
	const struct kernel_port *kp = arg;
	int ret;

	if (!app_control_ask(0))
		return -EAGAIN;
	ret = rte_eth_dev_default_mac_addr_set(kp->id, (struct rte_ether_addr *)(uintptr_t)mac);
	app_control_give();
	return ret;
}

static int
want_all(void *arg, bool on)
{
	struct kernel_port *kp = arg;
	struct app_port *p = &kp->app->port[kp->id];
	int ret;

	if (!app_control_ask(0))
		return -EAGAIN;
	kp->all = on;
	ret = port_promisc_put(p, p->promisc);
	app_control_give();
	return ret;
}

/* --- life --- */

static const char *
reason(int err)
{
	switch (err) {
	case -EEXIST: return "an interface of that name is there already; want another name";
	case -EINVAL: return "want 1..15 characters without '/', ':', '%' and spaces";
	case -EPERM: return "making an interface wants CAP_NET_ADMIN, as root has it";
	case -ENOENT: return "/dev/net/tun is not there; 'modprobe tun'";
	default: return strerror(-err);
	}
}

int
kernel_make(struct app *app, struct app_port *p, const char *name, char *err, size_t len)
{
	static const struct tp_kernel_ops ops = {.mtu = want_mtu, .mac = want_mac, .promiscuous = want_all};
	struct kernel_port *kp = calloc(1, sizeof(*kp));
	const struct tp_kernel_conf conf = {.name = name, .ops = &ops, .arg = kp};
	int ret = -ENOMEM;

	if (kp != NULL) {
		kp->app = app;
		kp->id = p->id;
		ret = tp_kernel_open(p->id, &conf, &kp->k);
	}
	if (ret != 0) {
		free(kp);
		snprintf(err, len, "port %u: kernel interface '%.40s': %s", p->id, name, reason(ret));
		return ret;
	}
	snprintf(kp->name, sizeof(kp->name), "%s", name);
	kernel_unmake(p);
	p->kernel = kp;
	p->dirty = true;
	return 0;
}

void
kernel_unmake(struct app_port *p)
{
	if (p->kernel == NULL)
		return;
	tp_kernel_close(p->kernel->k);
	free(p->kernel);
	p->kernel = NULL;
	p->dirty = true;
}

/* --- while forwarding runs --- */

static uint16_t
take(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct kernel_port *kp = arg;

	(void)port, (void)max;
	if (n == 0 || __atomic_load_n(&kp->passes[queue], __ATOMIC_RELAXED))
		return n;
	return tp_kernel_input(kp->k, pkts, n);
}

void
kernel_groups(struct app_port *p)
{
	bool passes[APP_MAX_QUEUES] = {0};
	struct tp_group g;
	unsigned int i, q;

	if (p->kernel == NULL)
		return;
	for (i = 0; rte_pmd_mlx4_group_get(p->id, i, &g) == 0; i++)
		for (q = 0; q < g.num_queues; q++)
			if (g.queue[q] < APP_MAX_QUEUES)
				passes[g.queue[q]] = true;
	for (q = 0; q < APP_MAX_QUEUES; q++)
		__atomic_store_n(&p->kernel->passes[q], passes[q], __ATOMIC_RELAXED);
}

/* Limits of large sends that the user set: those of the kernel are no others. How much data one may have. */
static uint32_t
large(const struct app_port *p, uint64_t *offloads)
{
	struct rte_pmd_mlx4_lso lso;
	uint16_t mtu = 0;

	if (rte_pmd_mlx4_lso_get(p->id, &lso) != 0)
		return 0;
	(void)rte_eth_dev_get_mtu(p->id, &mtu);
	if (lso.min_segments > RTE_PMD_MLX4_LSO_SEGMENTS_MIN || !lso.tcp_options || !lso.ip_options ||
	    lso.size < mtu + RTE_PMD_MLX4_LSO_OVER_MTU)
		*offloads &= ~RTE_ETH_TX_OFFLOAD_TCP_TSO;
	return lso.size;
}

static int
hook(struct app_port *p, bool shares)
{
	struct kernel_port *kp = p->kernel;
	uint64_t offloads = kp->tx_offloads;
	const uint32_t most = large(p, &offloads);
	uint16_t q;
	int ret;

	kernel_groups(p);
	tp_kernel_share(kp->k, shares);
	ret = tp_kernel_start(kp->k, (uint16_t)(p->txq + roce_txq(p)), offloads, most);
	if (ret != 0)
		return app_err(ret,
			       "port %u: its kernel interface %s was deleted; 'kernel %u off' and 'kernel %u on' make "
			       "it again",
			       p->id, kp->name, p->id, p->id);
	for (q = 0; q < p->rxq; q++) {
		kp->hook[q] = rte_eth_add_rx_callback(p->id, q, take, kp);
		if (kp->hook[q] == NULL)
			return app_err(-rte_errno, "port %u: frames for the kernel cannot be looked for: %s", p->id,
				       rte_strerror(rte_errno));
	}
	return 0;
}

static void
unhook(const struct app_port *p)
{
	struct kernel_port *kp = p->kernel;
	uint16_t q;

	for (q = 0; q < APP_MAX_QUEUES; q++) {
		if (kp->hook[q] == NULL)
			continue;
		(void)rte_eth_remove_rx_callback(p->id, q, kp->hook[q]);
		rte_free((void *)(uintptr_t)kp->hook[q]);
		kp->hook[q] = NULL;
	}
	tp_kernel_stop(kp->k);
}

int
kernel_hook_all(struct app *app, bool (*shares)(const struct app_port *p))
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < RTE_MAX_ETHPORTS && ret == 0; i++)
		if (app->port[i].kernel != NULL && app->port[i].started)
			ret = hook(&app->port[i], shares(&app->port[i]));
	if (ret != 0)
		kernel_unhook_all(app);
	return ret;
}

void
kernel_unhook_all(struct app *app)
{
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].kernel != NULL)
			unhook(&app->port[i]);
}
