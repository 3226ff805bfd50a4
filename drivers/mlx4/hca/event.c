/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Who hears what the card has to say [CP 9.3, 9.4].
 *
 * The asynchronous EQ is read by the interrupt thread and by threads that wait for a command. The latter must not run
 * event functions, because they may hold what those need: they put other events on a short list and ask the
 * interrupt thread, by an alarm, to go through it. Another alarm looks at the catastrophic error buffer now and then,
 * since a card in trouble may not be able to tell [CP 1.8].
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>

#include "core.h"

#define ASYNC_ENTRIES 512u
#define COMP_ENTRIES 256u
#define RX_EQS_MAX ((unsigned int)(MLX4_MAX_PORTS * MLX4_RX_EQS_PORT))
#define VERBS_ENTRIES 1024u /* no fewer than queues that a port can have: each tells once until it is armed again */
#define TAKE_MAX 32u
#define DEFERRED_MAX 64u
#define CATAS_PERIOD_US 1000000u
#define EVENT_NAP_US 20u
/* Alarms behind each other after which the interrupt thread has seen each interrupt that was raised before the first. */
#define OVERDUE_TURNS 4u

/* Events that this driver can act on; others would only fill the queue [CP 9.3]. */
#define EVENT_BIT(e) (UINT64_C(1) << (e))
#define ASYNC_MASK                                                                                                     \
	(EVENT_BIT(MLX4_EVENT_CQ_ERROR) | EVENT_BIT(MLX4_EVENT_WQ_CATAS) | EVENT_BIT(MLX4_EVENT_LOCAL_CATAS) |         \
	 EVENT_BIT(MLX4_EVENT_PORT_CHANGE) | EVENT_BIT(MLX4_EVENT_CMD) | EVENT_BIT(MLX4_EVENT_ECC) |                   \
	 EVENT_BIT(MLX4_EVENT_WQ_INVAL_REQ) | EVENT_BIT(MLX4_EVENT_WQ_ACCESS) | EVENT_BIT(MLX4_EVENT_FATAL_WARNING) |  \
	 EVENT_BIT(MLX4_EVENT_COMM_EST) | EVENT_BIT(MLX4_EVENT_SQ_DRAINED) | EVENT_BIT(MLX4_EVENT_SRQ_CATAS) |         \
	 EVENT_BIT(MLX4_EVENT_SRQ_LAST_WQE) | EVENT_BIT(MLX4_EVENT_SRQ_LIMIT))

struct mlx4_events {
	struct mlx4_hca *hca;
	rte_spinlock_t lock; /* the list */
	struct {
		uint8_t eqe[MLX4_EQE_SIZE];
		uint64_t seq;
	} deferred[DEFERRED_MAX];
	unsigned int num;
	uint64_t lost;
	bool running; /* alarms may be set */
	bool told_dead;
	bool overdue; /* on_overdue() is on its way */
	uint64_t overdue_ci;
	uint32_t overdue_turns;
};

static void
tell_ports(struct mlx4_hca *hca, unsigned int port, const struct mlx4_async_event *e)
{
	unsigned int i;

	for (i = 0; i < MLX4_MAX_PORTS * MLX4_CLIENTS; i++) {
		unsigned int p = i / MLX4_CLIENTS + 1, c = i % MLX4_CLIENTS;
		mlx4_event_fn fn;
		void *arg;

		if (port != 0 && port != p)
			continue;
		rte_spinlock_lock(&hca->lock);
		fn = hca->event[p - 1][c].fn;
		arg = hca->event[p - 1][c].arg;
		if (fn != NULL)
			hca->event[p - 1][c].busy++;
		rte_spinlock_unlock(&hca->lock);
		if (fn == NULL)
			continue;
		fn(hca, p, e, arg);
		rte_spinlock_lock(&hca->lock);
		hca->event[p - 1][c].busy--;
		rte_spinlock_unlock(&hca->lock);
	}
}

static void
dispatch(struct mlx4_hca *hca, const uint8_t *eqe, uint64_t seq)
{
	uint32_t port_field = mlx4_quirk(hca, MLX4_QUIRK_EVENT_PORT) == 0 ? MLX4_EQE_PORT : MLX4_EQE_PORT_2007;
	uint8_t type = prm_get(eqe, MLX4_EQE_TYPE), sub = prm_get(eqe, MLX4_EQE_SUBTYPE);
	const struct mlx4_async_event e = {.eqe = eqe, .seq = seq, .type = type};

	switch (type) {
	case MLX4_EVENT_PORT_CHANGE: tell_ports(hca, prm_get(eqe, port_field), &e); return;
	case MLX4_EVENT_PORT_MNG: tell_ports(hca, prm_get(eqe, MLX4_EQE_MNG_PORT), &e); return;
	case MLX4_EVENT_CQ_ERROR:
		HCA_LOG(hca, ERR, "[cq-failed] CQ 0x%x failed: %s", prm_get(eqe, MLX4_EQE_CQN),
			prm_get(eqe, MLX4_EQE_CQ_SYNDROME) == MLX4_CQ_ERR_OVERRUN ? "overrun" : "access violation");
		break;
	case MLX4_EVENT_WQ_CATAS:
	case MLX4_EVENT_WQ_INVAL_REQ:
	case MLX4_EVENT_WQ_ACCESS:
		__atomic_add_fetch(&hca->qp_errors, 1, __ATOMIC_RELAXED);
		HCA_LOG(hca, ERR, "[qp-failed] QP 0x%x went to the error state: %s", prm_get(eqe, MLX4_EQE_QPN),
			type == MLX4_EVENT_WQ_CATAS       ? "work queue error"
			: type == MLX4_EVENT_WQ_INVAL_REQ ? "invalid request"
							  : "access violation");
		break;
	case MLX4_EVENT_SRQ_CATAS:
		HCA_LOG(hca, ERR, "[srq-failed] SRQ 0x%x went to the error state", prm_get(eqe, MLX4_EQE_SRQN));
		break;
	case MLX4_EVENT_COMM_EST:
	case MLX4_EVENT_SQ_DRAINED:
	case MLX4_EVENT_SRQ_LAST_WQE:
	case MLX4_EVENT_SRQ_LIMIT: break;
	case MLX4_EVENT_RECOVERABLE:
		/* Who owns the queue knows more to say. */
		if (sub == MLX4_EQE_RECOVERABLE_DELAY_DROP) {
			tell_ports(hca, prm_get(eqe, MLX4_EQE_MNG_PORT), &e);
			return;
		}
		if (sub == MLX4_EQE_RECOVERABLE_BAD_CABLE || sub == MLX4_EQE_RECOVERABLE_UNSUPPORTED_CABLE) {
			HCA_LOG(hca, WARNING, "[module-unusable] port %u: the card %s what is plugged in",
				prm_get(eqe, MLX4_EQE_MNG_PORT),
				sub == MLX4_EQE_RECOVERABLE_BAD_CABLE ? "finds a fault in" : "does not support");
			tell_ports(hca, prm_get(eqe, MLX4_EQE_MNG_PORT), &e);
			return;
		}
		HCA_LOG(hca, WARNING, "[card-error] port %u: recoverable error, sub-type 0x%02x",
			prm_get(eqe, MLX4_EQE_MNG_PORT), sub);
		break;
	case MLX4_EVENT_LOCAL_CATAS: mlx4_hca_mark_dead(hca, "it reports a fatal error"); return;
	case MLX4_EVENT_FATAL_WARNING: HCA_LOG(hca, WARNING, "[card-hot] the card warns of its temperature"); break;
	default: HCA_LOG(hca, INFO, "event 0x%02x, sub-type 0x%02x", type, sub); return;
	}
	tell_ports(hca, 0, &e);
}

static void
run_deferred(struct mlx4_events *ev)
{
	uint8_t eqe[MLX4_EQE_SIZE];
	uint64_t lost, seq;

	for (;;) {
		rte_spinlock_lock(&ev->lock);
		lost = ev->lost;
		ev->lost = 0;
		if (ev->num == 0) {
			rte_spinlock_unlock(&ev->lock);
			break;
		}
		memcpy(eqe, ev->deferred[0].eqe, sizeof(eqe));
		seq = ev->deferred[0].seq;
		memmove(&ev->deferred[0], &ev->deferred[1], --ev->num * sizeof(ev->deferred[0]));
		rte_spinlock_unlock(&ev->lock);
		dispatch(ev->hca, eqe, seq);
	}
	if (lost != 0)
		__atomic_add_fetch(&ev->hca->lost_events, lost, __ATOMIC_RELAXED);
	if (lost != 0)
		HCA_LOG(ev->hca, WARNING, "[events-lost] %" PRIu64 " events were lost, more than %u at a time", lost,
			DEFERRED_MAX);
}

/* In the interrupt thread, as soon as it can: what others left to it. */
static void
on_kick(void *arg)
{
	struct mlx4_events *ev = arg;
	uint8_t eqe[MLX4_EQE_SIZE] = {0};
	const struct mlx4_async_event e = {.eqe = eqe, .type = MLX4_EVENT_LOCAL_CATAS};

	run_deferred(ev);
	if (!ev->hca->dead || ev->told_dead)
		return;
	ev->told_dead = true;
	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_LOCAL_CATAS);
	tell_ports(ev->hca, 0, &e);
}

static void
on_watch(void *arg)
{
	struct mlx4_events *ev = arg;

	if (ev->hca->dead)
		return;
	if (mlx4_hca_catas(ev->hca))
		mlx4_hca_mark_dead(ev->hca, "it reports a fatal error in its error buffer");
	else if (ev->running)
		rte_eal_alarm_set(CATAS_PERIOD_US, on_watch, ev);
}

static void
kick(struct mlx4_events *ev)
{
	if (ev->running)
		rte_eal_alarm_set(1, on_kick, ev);
}

/* From now on the event functions of the ports may be told that the card died; no earlier. */
static void
events_dead(struct mlx4_hca *hca)
{
	if (hca->events != NULL)
		kick(hca->events);
}

static void
defer(struct mlx4_events *ev, const uint8_t *eqe, uint64_t seq)
{
	rte_spinlock_lock(&ev->lock);
	if (ev->num < DEFERRED_MAX) {
		memcpy(ev->deferred[ev->num].eqe, eqe, MLX4_EQE_SIZE);
		ev->deferred[ev->num++].seq = seq;
	} else {
		ev->lost++;
	}
	rte_spinlock_unlock(&ev->lock);
}

void
mlx4_events_poll_cmd(struct mlx4_hca *hca)
{
	uint8_t eqe[TAKE_MAX][MLX4_EQE_SIZE];
	unsigned int i, n, deferred = 0;
	uint64_t ci;

	n = mlx4_eq_take(hca->async_eq, eqe, TAKE_MAX, false, &ci);
	for (i = 0; i < n; i++) {
		if (prm_get(eqe[i], MLX4_EQE_TYPE) == MLX4_EVENT_CMD) {
			mlx4_cmd_completed(hca, eqe[i]);
		} else {
			defer(hca->events, eqe[i], ci + i);
			deferred++;
		}
	}
	if (deferred != 0)
		kick(hca->events);
}

static void
take_events(struct mlx4_hca *hca)
{
	uint8_t eqe[TAKE_MAX][MLX4_EQE_SIZE];
	unsigned int i, n;
	uint64_t ci;

	run_deferred(hca->events);
	do {
		n = mlx4_eq_take(hca->async_eq, eqe, TAKE_MAX, true, &ci);
		/*
		 * Commands first. What is told of the others may wait for a lock of the application, or of bonding, and
		 * who has that may be waiting for its command. One that is done later is found by who waits for it
		 * (mlx4_events_poll_cmd).
		 */
		for (i = 0; i < n; i++)
			if (prm_get(eqe[i], MLX4_EQE_TYPE) == MLX4_EVENT_CMD)
				mlx4_cmd_completed(hca, eqe[i]);
		for (i = 0; i < n; i++)
			if (prm_get(eqe[i], MLX4_EQE_TYPE) != MLX4_EVENT_CMD)
				dispatch(hca, eqe[i], ci + i);
	} while (n != 0);
}

static void
on_interrupt(void *arg)
{
	struct mlx4_hca *hca = arg;

	if (hca->bus->ops->irq_ack != NULL)
		hca->bus->ops->irq_ack(hca->bus);
	take_events(hca);
}

/*
 * An entry waits that was there before. This runs in the interrupt thread: when it comes again and again and that entry still
 * waits, the thread was not busy but not told.
 */
static void
on_overdue(void *arg)
{
	struct mlx4_events *ev = arg;
	struct mlx4_hca *hca = ev->hca;
	uint64_t ci;

	if (ev->running && !hca->dead && mlx4_eq_waits(hca->async_eq, &ci) && ci == ev->overdue_ci) {
		if (++ev->overdue_turns < OVERDUE_TURNS && rte_eal_alarm_set(1, on_overdue, ev) == 0)
			return;
		__atomic_add_fetch(&hca->lost_events, 1, __ATOMIC_RELAXED);
		HCA_LOG(hca, WARNING, "[event-late] an event waited in EQ %u at 0x%x, and no interrupt told of it",
			hca->async_eq->eqn, (uint32_t)ci);
		take_events(hca);
	}
	__atomic_store_n(&ev->overdue, false, __ATOMIC_RELEASE);
}

void
mlx4_events_check(struct mlx4_hca *hca)
{
	struct mlx4_events *ev = hca->events;
	uint64_t ci;

	if (ev == NULL || !ev->running || hca->dead || !mlx4_eq_waits(hca->async_eq, &ci) ||
	    __atomic_exchange_n(&ev->overdue, true, __ATOMIC_ACQUIRE))
		return;
	ev->overdue_ci = ci;
	ev->overdue_turns = 0;
	if (rte_eal_alarm_set(1, on_overdue, ev) != 0)
		__atomic_store_n(&ev->overdue, false, __ATOMIC_RELEASE);
}

uint64_t
mlx4_events_seq(struct mlx4_hca *hca)
{
	uint64_t ci = 0;

	/* Where commands are polled for, nobody may have looked into the EQ since the last one. */
	while (hca->events != NULL && mlx4_eq_waits(hca->async_eq, &ci))
		mlx4_events_poll_cmd(hca);
	return ci;
}

void
mlx4_hca_on_event(struct mlx4_hca *hca, unsigned int port, enum mlx4_client client, mlx4_event_fn fn, void *arg)
{
	rte_spinlock_lock(&hca->lock);
	hca->event[port - 1][client].fn = fn;
	hca->event[port - 1][client].arg = arg;
	/* The old function may be at work; what it uses is freed when this returns. */
	while (fn == NULL && hca->event[port - 1][client].busy != 0) {
		rte_spinlock_unlock(&hca->lock);
		rte_delay_us_sleep(EVENT_NAP_US);
		rte_spinlock_lock(&hca->lock);
	}
	rte_spinlock_unlock(&hca->lock);
}

void
mlx4_comp_eq_rearm(struct mlx4_hca *hca, unsigned int vector, mlx4_cq_event_fn fn, void *arg)
{
	uint8_t eqe[TAKE_MAX][MLX4_EQE_SIZE];
	unsigned int i, n;

	do {
		n = mlx4_eq_take(hca->comp_eq[vector], eqe, TAKE_MAX, true, NULL);
		for (i = 0; i < n; i++)
			if (prm_get(eqe[i], MLX4_EQE_TYPE) == MLX4_EVENT_COMP)
				fn(arg, prm_get(eqe[i], MLX4_EQE_CQN));
	} while (n != 0);
}

static void
comp_eqs_destroy(struct mlx4_hca *hca)
{
	while (hca->num_comp_eq > 0)
		mlx4_eq_destroy(hca->comp_eq[--hca->num_comp_eq]);
	rte_free(hca->comp_eq);
	hca->comp_eq = NULL;
}

static bool
has_verbs(const struct mlx4_hca *hca)
{
	bool ib = false;
	unsigned int i;

	for (i = 0; i < hca->caps.num_ports; i++)
		ib |= hca->port[i].type_ib;
	return ib || hca->caps.roce;
}

/* One for the verbs queues of each port, where there are enough; behind them one for each receive vector. */
static int
comp_eqs_create(struct mlx4_hca *hca, uint32_t first_eqn, unsigned int n)
{
	unsigned int verbs = has_verbs(hca) && n > hca->caps.num_ports ? hca->caps.num_ports : 0, i;
	int rc;

	mlx4_own_eqs_init(hca, first_eqn + RTE_MIN(n, RX_EQS_MAX + verbs), n - RTE_MIN(n, RX_EQS_MAX + verbs));
	n = RTE_MIN(n, RX_EQS_MAX + verbs);
	hca->num_verbs_eq = verbs;

	hca->comp_eq = rte_zmalloc_socket("mlx4_eq", (n + 1) * sizeof(struct mlx4_eq *), 0, hca->numa_node);
	if (hca->comp_eq == NULL)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		rc = mlx4_eq_create(hca, first_eqn + i, i < verbs ? VERBS_ENTRIES : COMP_ENTRIES, i + 1,
				    &hca->comp_eq[i]);
		if (rc != 0) {
			comp_eqs_destroy(hca);
			return rc;
		}
		hca->num_comp_eq++;
	}
	return 0;
}

static int
map_events(struct mlx4_hca *hca, bool map)
{
	uint64_t mask = ASYNC_MASK;

	mask |= hca->caps.recover_event ? EVENT_BIT(MLX4_EVENT_RECOVERABLE) : 0;
	mask |= hca->caps.port_mng_event ? EVENT_BIT(MLX4_EVENT_PORT_MNG) : 0;
	return mlx4_cmd_imm(hca, MLX4_CMD_MAP_EQ, 0, hca->async_eq->eqn | (map ? 0 : MLX4_MAP_EQ_UNMAP), mask, NULL);
}

/* First EQN that is ours and how many; firmware that shares EQs out tells by a command [CP 9.1]. */
static int
eq_range(struct mlx4_hca *hca, uint32_t *first, uint32_t *num)
{
	uint32_t end = RTE_MIN(mlx4_icm_num_eqs(hca), MLX4_UAR_EQ_PAGES * MLX4_EQS_PER_UAR);
	uint8_t box[MLX4_QFUNC_SIZE];
	int rc;

	*first = hca->caps.rsvd_eqs;
	if (hca->caps.sys_eqs != 0) {
		rc = mlx4_cmd(hca, MLX4_CMD_QUERY_FUNC, 0, 0, NULL, 0, box, sizeof(box));
		if (rc != 0)
			return rc;
		*first = prm_get(box, MLX4_QFUNC_RSVD_EQS);
		end = RTE_MIN(end, prm_get(box, MLX4_QFUNC_MAX_EQ) + 1);
	}
	if (*first >= end) {
		HCA_LOG(hca, ERR, "no event queue is left: the first free one is %u, the limit %u", *first, end);
		return -ENOSPC;
	}
	*num = end - *first;
	return 0;
}

static int
vectors_connect(struct mlx4_hca *hca, unsigned int n)
{
	int rc = hca->bus->ops->irq_setup(hca->bus, n);

	if (rc == 0)
		hca->num_vectors = n;
	else
		HCA_LOG(hca, ERR, "cannot connect %u MSI-X vectors: %s", n, rte_strerror(-rc));
	return rc;
}

int
mlx4_rx_vectors_connect(struct mlx4_hca *hca)
{
	int rc = 0;

	pthread_mutex_lock(&hca->shared);
	if (hca->num_vectors < 1 + hca->num_comp_eq)
		rc = vectors_connect(hca, 1 + hca->num_comp_eq);
	pthread_mutex_unlock(&hca->shared);
	return rc;
}

static int
irq_start(struct mlx4_hca *hca)
{
	struct mlx4_bus *bus = hca->bus;
	int rc;

	rc = vectors_connect(hca, 1 + hca->num_verbs_eq);
	if (rc != 0)
		return rc;
	rc = rte_intr_callback_register(bus->intr, on_interrupt, hca);
	if (rc != 0) {
		HCA_LOG(hca, ERR, "cannot register the interrupt handler: %s", rte_strerror(-rc));
		bus->ops->irq_setup(bus, 0);
		return rc;
	}
	return 0;
}

static void
irq_stop(struct mlx4_hca *hca)
{
	rte_intr_callback_unregister_sync(hca->bus->intr, on_interrupt, hca);
	hca->bus->ops->irq_setup(hca->bus, 0);
	hca->num_vectors = 0;
}

int
mlx4_events_start(struct mlx4_hca *hca)
{
	struct mlx4_events *ev = rte_zmalloc_socket("mlx4_events", sizeof(*ev), 0, hca->numa_node);
	uint32_t first, num;
	int rc;

	if (ev == NULL)
		return -ENOMEM;
	ev->hca = hca;
	rte_spinlock_init(&ev->lock);
	hca->events = ev;
	hca->on_dead = events_dead;
	rc = eq_range(hca, &first, &num);
	if (rc != 0)
		goto err_range;
	num = RTE_MIN(num, hca->bus->max_vectors);
	rc = mlx4_eq_create(hca, first, ASYNC_ENTRIES, 0, &hca->async_eq);
	if (rc != 0)
		goto err_range;
	rc = comp_eqs_create(hca, first + 1, num - 1);
	if (rc != 0)
		goto err_comp;
	rc = irq_start(hca);
	if (rc != 0)
		goto err_irq;
	rc = map_events(hca, true);
	if (rc != 0)
		goto err_map;
	ev->running = true;
	rte_eal_alarm_set(CATAS_PERIOD_US, on_watch, ev);
	return 0;

err_map:
	irq_stop(hca);
err_irq:
	comp_eqs_destroy(hca);
err_comp:
	mlx4_eq_destroy(hca->async_eq);
	hca->async_eq = NULL;
err_range:
	hca->events = NULL;
	rte_free(ev);
	return rc;
}

void
mlx4_events_stop(struct mlx4_hca *hca)
{
	struct mlx4_events *ev = hca->events;

	if (map_events(hca, false) != 0)
		mlx4_hca_stop_dma(hca);
	ev->running = false;
	irq_stop(hca);
	rte_eal_alarm_cancel(on_watch, ev);
	rte_eal_alarm_cancel(on_kick, ev);
	rte_eal_alarm_cancel(on_overdue, ev);
	mlx4_own_eqs_destroy(hca);
	comp_eqs_destroy(hca);
	mlx4_eq_destroy(hca->async_eq);
	hca->async_eq = NULL;
	hca->events = NULL;
	rte_free(ev);
}
