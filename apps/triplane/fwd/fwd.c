/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Who forwards what: streams from the settings, lcores for the streams, start and stop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "apps/common/eal.h"
#include "apps/triplane/port/dcbx.h"
#include "apps/triplane/port/kernel.h"
#include "fwd.h"
#include "guest.h"
#include "apps/triplane/port/roce.h"
#include "apps/triplane/traffic/swap.h"
#include "capture/tp_capture.h"
#include "live.h"

/* What an application would do with its packets. */
static void
work(uint64_t cycles)
{
	uint64_t end = rte_rdtsc() + cycles;

	while (rte_rdtsc() < end)
		rte_pause();
}

/* One call of a stream's mode, and where its cycles went. Whether something came. */
static __rte_always_inline bool
one_call(struct fwd_stream *s, uint64_t *last)
{
	uint64_t now, full = s->stats.tx_full;
	unsigned int n = s->mode->round(s);

	if (unlikely(s->work != 0) && n > 0)
		work((uint64_t)n * s->work);
	now = rte_rdtsc();
	stat_add(&s->stats.polls, 1);
	if (n > 0) {
		stat_add(&s->stats.bursts, 1);
		stat_add(&s->stats.cycles, now - *last);
	} else {
		stat_add(&s->stats.idle_cycles, now - *last);
	}
	if (unlikely(s->stats.tx_full != full))
		stat_add(&s->stats.full_cycles, now - *last);
	*last = now;
	return n > 0;
}

/*
 * With one burst a stream and round, a queue gets no more of an lcore than its share, however little there is in the others:
 * what one flow brings to one of four queues would be lost at a quarter of the rate that the lcore can do. So a stream whose
 * burst came full is called again, as often as would make up for the others being empty, up to a bound that keeps
 * the others from waiting long. Whether something came.
 */
static __rte_always_inline bool
one_round(struct fwd_lcore *lc, uint64_t *last)
{
	unsigned int i, most = RTE_MIN(lc->num, FWD_AGAIN_MAX);
	bool any = false;

	for (i = 0; i < lc->num; i++) {
		struct fwd_stream *s = lc->stream[i];
		unsigned int calls = s->mode->generates ? 1 : most;
		uint64_t full;

		do {
			full = s->stats.rx_full;
			any |= one_call(s, last);
		} while (--calls != 0 && s->stats.rx_full != full);
	}
	stat_add(&lc->rounds, 1);
	return any;
}

static inline uint32_t
called(const struct fwd_lcore *lc)
{
	return __atomic_load_n(&lc->call, __ATOMIC_ACQUIRE);
}

/* The streams that it has from now on (home.c). */
static void
take_list(struct fwd_lcore *lc)
{
	const uint32_t given = __atomic_load_n(&lc->lists_given, __ATOMIC_ACQUIRE);

	if (given == lc->lists_taken)
		return;
	lc->stream = lc->next;
	lc->num = lc->next_num;
	__atomic_store_n(&lc->lists_taken, given, __ATOMIC_RELEASE);
}

static int
lcore_main(void *arg)
{
	struct fwd_lcore *lc = arg;
	uint64_t last = rte_rdtsc();
	struct fwd_wait *w;
	uint32_t look, us, idle = 0;

	__atomic_store_n(&lc->tid, rte_gettid(), __ATOMIC_RELAXED);
	while (called(lc) != FWD_STOP) {
		look = FWD_LOOK;
		__atomic_compare_exchange_n(&lc->call, &look, FWD_GO, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
		take_list(lc);
		w = fwd_may_wait(lc) ? fwd_wait_begin(lc) : NULL;
		us = w == NULL ? fwd_idle_us(lc) : 0;
		if (us != 0) {
			while (called(lc) == FWD_GO)
				fwd_idle_round(lc, us, one_round(lc, &last), &idle);
			continue;
		}
		if (w == NULL) {
			while (called(lc) == FWD_GO)
				one_round(lc, &last);
			continue;
		}
		while (called(lc) == FWD_GO) {
			one_round(lc, &last);
			fwd_wait_round(lc, w);
		}
		fwd_wait_end(lc, w);
	}
	return 0;
}

void
fwd_idle_sleep_set(struct app *app, uint32_t us)
{
	unsigned int i;

	app->idle_sleep = us;
	if (!app->fwd_runs)
		return;
	__atomic_store_n(&app->fwd->idle_sleep, us, __ATOMIC_RELAXED);
	for (i = 0; i < app->fwd->num_lcores; i++)
		fwd_lcore_look(&app->fwd->lcore[i]);
}

void
fwd_wait_set(struct app *app, struct app_port *p, const struct rxwait_conf *c)
{
	unsigned int i;

	if (!app->fwd_runs) {
		p->wait = *c;
		return;
	}
	pthread_mutex_lock(&app->fwd->conf_lock);
	p->wait = *c;
	pthread_mutex_unlock(&app->fwd->conf_lock);
	for (i = 0; i < app->fwd->num_lcores; i++)
		fwd_lcore_look(&app->fwd->lcore[i]);
}

/* A generator has a stream for each transmit queue, and one that frees what comes for each receive queue beyond them. */
static unsigned int
port_streams(const struct app_port *p)
{
	const struct fwd_mode *m = &fwd_modes[p->mode];

	if (!m->generates)
		return p->rxq;
	return m->deaf ? p->txq : RTE_MAX(p->rxq, p->txq);
}

static unsigned int
count_streams(const struct app *app)
{
	unsigned int i, n = 0;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		const struct app_port *p = &app->port[i];

		if (p->present && p->started)
			n += port_streams(p) + (p->burst_buffer ? p->rxq : 0) + (p->dcbx != NULL) +
			     (p->roce != NULL && p->roce->ctx != NULL);
	}
	return n;
}

/* A frame that is larger than the MTU can leave only as a large send. */
static int
stream_lro(struct fwd_stream *s, const struct app_port *p, const struct app_port *out)
{
	s->relays_lro = s->has_rx && s->mode->sends && !s->mode->generates && s->frags == NULL &&
			(p->rx_offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO) != 0;
	if (s->relays_lro && (out->tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO) == 0)
		return app_err(
			-EINVAL,
			"port %u joins TCP segments (tcp_lro), which port %u can send only with tx_offload tcp_tso",
			p->id, out->id);
	s->prepare |= s->relays_lro;
	return 0;
}

/* Between a group of queues and its guest frames go as they are. */
static int
stream_of_guest(struct app *app, struct fwd_stream *s, const struct app_port *p, uint16_t q)
{
	const struct app_port *out = &app->port[s->tx_port];

	s->mode = &fwd_modes[fwd_mode_by_name("io")];
	s->burst = app->burst;
	s->rx_port = p->id;
	s->rx_queue = q;
	s->has_rx = true;
	s->tx_offloads = out->tx_offloads;
	if (stream_lro(s, p, out) != 0)
		return -EINVAL;
	if (!out->started)
		return app_err(
			-ENETDOWN,
			"port %u forwards to port %u, which is not started; 'port start %u', or 'set peer %u PORT'",
			p->id, s->tx_port, s->tx_port, p->id);
	if (s->tx_queue >= out->txq)
		return app_err(-EINVAL,
			       "port %u queue %u forwards to transmit queue %u of port %u, which has %u; set-up with "
			       "more of them",
			       p->id, q, s->tx_queue, s->tx_port, out->txq);
	return 0;
}

/* The transmit queues of the port that sends are divided evenly among the receive queues of the one that receives. */
static int
stream_choice(struct fwd_stream *s, const struct app_port *p, const struct app_port *out)
{
	const uint16_t each = out->txq / RTE_MAX(p->rxq, 1u);
	char err[128];
	int ret;

	if (out->tx_choice == 0 || !s->mode->sends || s->mode->generates)
		return 0;
	if (each < 2)
		return app_err(
			-EINVAL,
			"port %u: tx-choice wants 2 or more transmit queues for each receive queue of port %u: %u, it "
			"has %u; --txq %u, or 'port stop %u; port config %u txq %u; port start %u'",
			out->id, p->id, 2u * p->rxq, out->txq, 2u * p->rxq, out->id, out->id, 2u * p->rxq, out->id);
	s->tx_queue = (uint16_t)(s->rx_queue * each);
	ret = tp_txq_init(&s->choice, out->tx_choice, out->id, s->tx_queue, RTE_MIN(each, TP_TXQ_MOST), err,
			  sizeof(err));
	s->choice.prepare = s->prepare;
	return ret != 0 ? app_err(ret, "port %u: tx-choice: %s", out->id, err) : 0;
}

static int
stream_init(struct app *app, struct fwd_stream *s, const struct app_port *p, uint16_t q)
{
	const struct app_port *out;
	int ret;

	memset(s, 0, sizeof(*s));
	s->port = p;
	s->roce = p->roce != NULL && p->roce->ctx != NULL ? p->roce : NULL;
	if (guest_route(app, p->id, q, &s->tx_port, &s->tx_queue))
		return stream_of_guest(app, s, p, q);
	s->mode = &fwd_modes[p->mode];
	if (s->mode->generates && q >= p->txq)
		s->mode = &fwd_modes[fwd_mode_by_name("rxonly")];
	s->burst = app->burst;
	s->work = p->work;
	s->rx_port = p->id;
	s->rx_queue = q;
	s->has_rx = q < p->rxq;
	if (s->mode->deaf && p->kernel != NULL)
		return app_err(-EINVAL,
			       "port %u: mode %s receives nothing, also for its kernel interface; 'set fwd flowgen %u' "
			       "sends and receives, or 'kernel %u off'",
			       p->id, s->mode->name, p->id, p->id);
	s->tx_port = s->mode->to_self ? p->id : p->peer;
	out = &app->port[s->tx_port];
	if (s->mode->sends && (!out->present || !out->started))
		return app_err(
			-ENETDOWN,
			"port %u forwards to port %u, which is not started; 'port start %u', or 'set peer %u PORT'",
			p->id, s->tx_port, s->tx_port, p->id);
	if (s->mode->sends && out->txq == 0)
		return app_err(-EINVAL,
			       "port %u forwards to port %u, which has no transmit queue; 'port config %u txq 1' while "
			       "it is stopped",
			       p->id, s->tx_port, s->tx_port);
	s->tx_queue = s->mode->sends ? (uint16_t)(q % out->txq) : 0;
	s->tx_sums = swap_sums_of(out->sums_tx, 0, out->tx_offloads);
	s->rx_sums = swap_sums_of(p->sums_rx, p->rx_offloads, 0);
	s->tx_offloads = out->tx_offloads;
	s->prepare = strcmp(s->mode->name, "csum") == 0;
	rte_eth_macaddr_get(s->tx_port, &s->src);
	s->dst = app->port[s->tx_port].eth_peer;
	if (strcmp(s->mode->name, "icmpecho") == 0) {
		s->frags = rte_zmalloc("echo", sizeof(*s->frags), RTE_CACHE_LINE_SIZE);
		if (s->frags == NULL)
			return app_err(-ENOMEM, "port %u: no memory for the table of fragments", p->id);
	}
	ret = stream_lro(s, p, out);
	if (ret == 0)
		ret = stream_choice(s, p, out);
	if (ret != 0)
		return ret;
	return s->mode->generates ? fwd_gen_init(app, s) : 0;
}

static int
add_stream(struct app *app, struct fwd *fwd, const struct app_port *p, uint16_t q)
{
	struct fwd_stream *s = &fwd->stream[fwd->num_streams++];
	int ret = stream_init(app, s, p, q);

	/* a generator frees what it receives, nothing waits for it */
	if (ret != 0 || !p->burst_buffer || fwd_modes[p->mode].generates)
		return ret;
	ret = fwd_reserve_make(s, &fwd->stream[fwd->num_streams]);
	fwd->num_streams += ret == 0;
	return ret;
}

void
fwd_free(struct fwd *fwd)
{
	unsigned int i;

	if (fwd == NULL)
		return;
	for (i = 0; i < fwd->num_streams; i++) {
		fwd_gen_free(&fwd->stream[i]);
		fwd_reserve_free(&fwd->stream[i]);
		rte_free(fwd->stream[i].frags);
	}
	for (i = 0; i < fwd->num_lcores; i++)
		free(fwd->lcore[i].stream);
	free(fwd->zero);
	rte_free(fwd->stream);
	rte_free(fwd);
}

/* Queue by queue over all ports, so that the lcores get ports evenly. */
int
fwd_plan(struct app *app, struct fwd **out)
{
	unsigned int max = count_streams(app), i;
	struct fwd *fwd;
	uint16_t q;
	int ret = 0;

	if (max == 0)
		return app_err(-ENODEV, "nothing to forward: no port is started (see 'show port info all')");
	if (app->num_cores == 0)
		return app_err(-EINVAL,
			       "no forwarding lcore: EAL gave %u, want 2 or more; --lcores '0@0,1@0' puts both on "
			       "one CPU",
			       rte_lcore_count());
	fwd = rte_zmalloc("fwd", sizeof(*fwd), RTE_CACHE_LINE_SIZE);
	if (fwd == NULL)
		return app_err(-ENOMEM, "no memory for forwarding");
	fwd->stream = rte_zmalloc("streams", max * sizeof(fwd->stream[0]), RTE_CACHE_LINE_SIZE);
	if (fwd->stream == NULL) {
		rte_free(fwd);
		return app_err(-ENOMEM, "no memory for %u streams", max);
	}
	fwd->idle_sleep = app->idle_sleep;
	for (q = 0; q < APP_MAX_QUEUES && ret == 0; q++) {
		for (i = 0; i < RTE_MAX_ETHPORTS && ret == 0; i++) {
			const struct app_port *p = &app->port[i];

			if (p->present && p->started && q < port_streams(p))
				ret = add_stream(app, fwd, p, q);
		}
	}
	for (i = 0; i < RTE_MAX_ETHPORTS && ret == 0; i++)
		if (app->port[i].dcbx != NULL)
			dcbx_stream_init(&fwd->stream[fwd->num_streams++], &app->port[i]);
	for (i = 0; i < RTE_MAX_ETHPORTS && ret == 0; i++)
		if (app->port[i].roce != NULL && app->port[i].roce->ctx != NULL)
			roce_stream_init(&fwd->stream[fwd->num_streams++], &app->port[i]);
	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present && app->port[i].started)
			fwd_groups_want(fwd, (uint16_t)i, NULL);
	if (ret == 0)
		ret = fwd_assign(fwd, app->cores, app->num_cores);
	if (ret != 0) {
		fwd_free(fwd);
		return ret;
	}
	*out = fwd;
	return 0;
}

/* A bridge passes multicast and broadcast on, whoever else has them; packets of the other modes end here. */
static bool
shares_groups(const struct app_port *p)
{
	const struct fwd_mode *m = &fwd_modes[p->mode];

	return m->sends && !m->to_self;
}

int
fwd_start(struct app *app)
{
	struct fwd *fwd;
	unsigned int i;
	int ret;

	if (app->fwd_runs)
		return app_err(-EBUSY, "forwarding runs already");
	ret = fwd_plan(app, &fwd);
	if (ret != 0)
		return ret;
	ret = roce_hook_all(app);
	if (ret == 0) {
		ret = kernel_hook_all(app, shares_groups);
		if (ret != 0)
			roce_unhook_all(app);
	}
	if (ret != 0) {
		fwd_free(fwd);
		return ret;
	}
	dcbx_ticks(app, false);
	pthread_mutex_lock(&app->fwd_lock);
	fwd_free(app->fwd);
	app->fwd = fwd;
	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present)
			live_totals(fwd, (uint16_t)i, &fwd->base[i]);
	pthread_mutex_init(&fwd->conf_lock, NULL);
	fwd->start_tsc = rte_rdtsc();
	app->fwd_runs = true;
	pthread_mutex_unlock(&app->fwd_lock);
	for (i = 0; i < fwd->num_lcores; i++) {
		ret = fwd->lcore[i].num == 0 ? 0 : fwd_lcore_start(fwd, &fwd->lcore[i]);
		if (ret != 0) {
			fwd_stop(app);
			return ret;
		}
	}
	return 0;
}

int
fwd_lcore_start(struct fwd *fwd, struct fwd_lcore *lc)
{
	int ret;

	lc->conf_lock = &fwd->conf_lock;
	lc->idle_sleep = &fwd->idle_sleep;
	__atomic_store_n(&lc->call, FWD_GO, __ATOMIC_RELEASE);
	app_cpu_take(lc->id);
	ret = rte_eal_remote_launch(lcore_main, lc, lc->id);
	if (ret == 0)
		return 0;
	app_cpu_give(lc->id);
	return app_err(ret, "lcore %u does not start: %s", lc->id, rte_strerror(-ret));
}

void
fwd_lcore_stop(struct fwd_lcore *lc)
{
	__atomic_store_n(&lc->call, FWD_STOP, __ATOMIC_RELEASE);
	rte_eal_wait_lcore(lc->id);
	app_cpu_give(lc->id);
}

void
fwd_lcore_look(struct fwd_lcore *lc)
{
	uint32_t go = FWD_GO;

	__atomic_compare_exchange_n(&lc->call, &go, FWD_LOOK, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void
fwd_stop(struct app *app)
{
	unsigned int i;

	if (!app->fwd_runs)
		return;
	if (app->fwd->catcher != NULL) {
		__atomic_store_n(&app->fwd->catcher->call, FWD_STOP, __ATOMIC_RELEASE);
		rte_eal_wait_lcore(app->fwd->catcher->id);
		fwd_reserve_drain(app->fwd);
	}
	for (i = 0; i < app->fwd->num_lcores; i++)
		__atomic_store_n(&app->fwd->lcore[i].call, FWD_STOP, __ATOMIC_RELEASE);
	for (i = 0; i < app->fwd->num_lcores; i++)
		if (app->fwd->lcore[i].num != 0)
			fwd_lcore_stop(&app->fwd->lcore[i]);
	pthread_mutex_lock(&app->fwd_lock);
	app->fwd->stop_tsc = rte_rdtsc();
	app->fwd_runs = false;
	pthread_mutex_unlock(&app->fwd_lock);
	kernel_unhook_all(app);
	roce_unhook_all(app);
	tp_capture_quiet();
	dcbx_ticks(app, true);
	for (i = 0; i < app->fwd->num_streams; i++) {
		fwd_gen_free(&app->fwd->stream[i]);
		fwd_reserve_free(&app->fwd->stream[i]);
	}
}
