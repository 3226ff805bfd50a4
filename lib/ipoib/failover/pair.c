/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The thread of a pair: looks at its ports and moves the traffic. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_string_fns.h>

#include "lib/ipoib/iface/carry.h"
#include "pair.h"

#define LOOK_MS 100 /* without a call; notices and failback are due at some time */

static void
ring(struct ipoib_pair *p)
{
	uint64_t one = 1;

	/* Full is rung. */
	if (write(p->bell, &one, sizeof(one)) < 0)
		return;
}

/* In the control thread of a member's device, with its lock held. */
static int
member_changed(uint16_t port_id, enum rte_eth_event_type event, void *arg, void *ret)
{
	(void)port_id;
	(void)event;
	(void)ret;
	ring(arg);
	return 0;
}

static struct ipoib_port *
member(const struct ipoib_pair *p, unsigned int i)
{
	return ipoib_port_of(p->member[i]);
}

static bool
member_up(const struct ipoib_pair *p, unsigned int i)
{
	struct ipoib_port *m = member(p, i);
	bool up;

	ipoib_device_lock(m->device);
	up = m->started && m->core.up;
	ipoib_device_unlock(m->device);
	return up;
}

static const char *
device_of(const struct ipoib_pair *p, unsigned int i)
{
	return member(p, i)->conf.device;
}

static struct ipoib_carry *
take(struct ipoib_port *from)
{
	struct ipoib_carry *y;

	ipoib_device_lock(from->device);
	y = ipoib_carry_take(&from->core);
	ipoib_device_unlock(from->device);
	if (y == NULL)
		IPOIB_LOG(ERR, "port %u: no memory to carry neighbours and groups over", from->port_id);
	return y;
}

/* The other port has the traffic from now on. */
static void
take_over(struct ipoib_pair *p, unsigned int to)
{
	struct ipoib_port *new = member(p, to), *old = member(p, to ^ 1);
	struct ipoib_carry *y = take(old);

	if (y != NULL) {
		ipoib_device_lock(new->device);
		ipoib_carry_give(&new->core, y);
		ipoib_device_unlock(new->device);
		ipoib_carry_free(y);
	}
	rte_eth_dev_set_mc_addr_list(p->member[to], p->mcast, p->num_mcast);
	atomic_store(&p->active, to);
	rte_eth_dev_set_mc_addr_list(p->member[to ^ 1], p->mcast, 0);
	ipoib_device_lock(old->device);
	ipoib_carry_leave(&old->core);
	ipoib_device_unlock(old->device);
}

/* What came through the other port since the traffic moved is learned before, since its answers go by this one. */
static void
notify(struct ipoib_pair *p)
{
	unsigned int active = p->state.active;
	struct ipoib_port *m = member(p, active);
	struct ipoib_carry *y = take(member(p, active ^ 1));

	ipoib_device_lock(m->device);
	if (y != NULL)
		ipoib_carry_neighbours(&m->core, y);
	p->announced += ipoib_announce(&m->core);
	ipoib_device_unlock(m->device);
	ipoib_carry_free(y);
}

/* The application sees the link and the MTU of the port that carries. True: the link is another one than before. */
static bool
link_changed(struct ipoib_pair *p)
{
	struct rte_eth_link link, was;

	rte_eth_linkstatus_get(p->eth, &was);
	if (rte_eth_link_get_nowait(p->member[p->state.active], &link) != 0)
		memset(&link, 0, sizeof(link));
	(void)rte_eth_dev_get_mtu(p->member[p->state.active], &p->eth->data->mtu);
	rte_eth_linkstatus_set(p->eth, &link);
	return was.link_status != link.link_status;
}

static void
moved(struct ipoib_pair *p, enum ipoib_pair_why why)
{
	unsigned int to = p->state.active;
	const char *from = device_of(p, to ^ 1);

	take_over(p, to);
	p->failovers += why == IPOIB_PAIR_FAILOVER;
	p->failbacks += why == IPOIB_PAIR_FAILBACK;
	p->asked += why == IPOIB_PAIR_ASKED;
	if (why == IPOIB_PAIR_FAILOVER)
		IPOIB_LOG(NOTICE, "[ipoib-failover] port %u: %s is not up, %s takes over", p->port_id, from,
			  device_of(p, to));
	else if (why == IPOIB_PAIR_FAILBACK)
		IPOIB_LOG(NOTICE, "[ipoib-failback] port %u: %s is up again and takes over from %s", p->port_id,
			  device_of(p, to), from);
	else
		IPOIB_LOG(NOTICE, "[ipoib-moved] port %u: %s takes over from %s, as asked", p->port_id,
			  device_of(p, to), from);
}

/* With the pair's lock. True: the application is to be told of the link. */
static bool
look(struct ipoib_pair *p)
{
	const bool up[IPOIB_PAIR_MEMBERS] = {member_up(p, 0), member_up(p, 1)};
	uint64_t now = ipoib_now_ms();
	enum ipoib_pair_why why = ipoib_pair_step(&p->state, up, now);

	if (why != IPOIB_PAIR_STAY)
		moved(p, why);
	if (ipoib_pair_notice(&p->state, now))
		notify(p);
	return link_changed(p);
}

static void *
run(void *arg)
{
	struct ipoib_pair *p = arg;
	struct pollfd fd = {.fd = p->bell, .events = POLLIN};
	uint64_t rung;

	while (!atomic_load(&p->stop)) {
		bool tell;

		pthread_mutex_lock(&p->lock);
		tell = look(p);
		pthread_mutex_unlock(&p->lock);
		if (tell && p->eth->data->dev_conf.intr_conf.lsc != 0)
			rte_eth_dev_callback_process(p->eth, RTE_ETH_EVENT_INTR_LSC, NULL);
		if (poll(&fd, 1, LOOK_MS) > 0 && read(p->bell, &rung, sizeof(rung)) < 0)
			continue;
	}
	return NULL;
}

/* DHCP knows the host by the primary port's GUID, whichever carries. */
static void
same_guid(struct ipoib_pair *p)
{
	struct ipoib_port *backup = member(p, 1);
	uint64_t guid = ipoib_device_guid(member(p, 0)->device);

	ipoib_device_lock(backup->device);
	backup->core.guid = guid;
	ipoib_device_unlock(backup->device);
}

int
ipoib_pair_run(struct ipoib_pair *p)
{
	int ret;

	same_guid(p);
	ipoib_pair_reset(&p->state, p->failback, p->failback_ms);
	atomic_store(&p->active, 0);
	atomic_store(&p->stop, false);
	rte_eth_dev_set_mc_addr_list(p->member[0], p->mcast, p->num_mcast);
	rte_eth_dev_set_mc_addr_list(p->member[1], p->mcast, 0);
	ret = ipoib_thread_start(&p->thread, run, p);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&p->lock);
	p->started = true;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

void
ipoib_pair_halt(struct ipoib_pair *p)
{
	pthread_mutex_lock(&p->lock);
	p->started = false;
	pthread_mutex_unlock(&p->lock);
	atomic_store(&p->stop, true);
	ring(p);
	pthread_join(p->thread, NULL);
}

int
ipoib_pair_listen(struct ipoib_pair *p)
{
	unsigned int i;
	int ret = 0;

	p->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->bell < 0)
		return -errno;
	for (i = 0; i < IPOIB_PAIR_MEMBERS && ret == 0; i++)
		ret = rte_eth_dev_callback_register(p->member[i], RTE_ETH_EVENT_INTR_LSC, member_changed, p);
	if (ret != 0)
		ipoib_pair_unlisten(p);
	return ret;
}

void
ipoib_pair_unlisten(struct ipoib_pair *p)
{
	unsigned int i;

	for (i = 0; i < IPOIB_PAIR_MEMBERS; i++) {
		/* It may be at work. */
		while (rte_eth_dev_callback_unregister(p->member[i], RTE_ETH_EVENT_INTR_LSC, member_changed, p) ==
		       -EAGAIN)
			rte_delay_us_sleep(1);
	}
	close(p->bell);
}

/* --- for everybody --------------------------------------------------------------------------------------------------- */

struct ipoib_pair *
ipoib_pair_of(uint16_t port_id)
{
	struct rte_eth_dev *eth;

	if (!rte_eth_dev_is_valid_port(port_id))
		return NULL;
	eth = &rte_eth_devices[port_id];
	return eth->dev_ops == &ipoib_pair_ops ? eth->data->dev_private : NULL;
}

int
tp_ipoib_pair_set_active(uint16_t port_id, unsigned int to)
{
	struct ipoib_pair *p = ipoib_pair_of(port_id);
	unsigned int was;
	int ret = -ENETDOWN;

	if (p == NULL)
		return -ENODEV;
	if (to >= IPOIB_PAIR_MEMBERS) {
		IPOIB_LOG(ERR, "port %u: member %u of a pair is not in 0..1", port_id, to);
		return -EINVAL;
	}
	pthread_mutex_lock(&p->lock);
	was = p->state.active;
	if (p->started)
		ret = ipoib_pair_ask(&p->state, to, ipoib_now_ms());
	if (ret == 0 && p->state.active != was)
		moved(p, IPOIB_PAIR_ASKED);
	if (ret != 0)
		IPOIB_LOG(ERR, "port %u: %s is not up, %s goes on", port_id, device_of(p, to), device_of(p, was));
	pthread_mutex_unlock(&p->lock);
	ring(p);
	return ret;
}

int
tp_ipoib_pair_info(uint16_t port_id, struct tp_ipoib_pair_info *info)
{
	struct ipoib_pair *p = ipoib_pair_of(port_id);

	if (p == NULL)
		return -ENODEV;
	memset(info, 0, sizeof(*info));
	rte_strlcpy(info->name, p->eth->data->name, sizeof(info->name));
	memcpy(info->member, p->member, sizeof(info->member));
	pthread_mutex_lock(&p->lock);
	info->active = p->state.active;
	info->up = p->started && p->state.up[p->state.active];
	info->ports_up = p->started ? (uint64_t)p->state.up[0] + p->state.up[1] : 0;
	info->failback = p->failback;
	info->failback_ms = p->failback_ms;
	info->kept = p->state.kept;
	info->failovers = p->failovers;
	info->failbacks = p->failbacks;
	info->asked = p->asked;
	info->announced = p->announced;
	info->standby_dropped = ipoib_pair_dropped(p);
	pthread_mutex_unlock(&p->lock);
	return 0;
}
