/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* One round of the card: doorbells, send queues, wires, timers. */
#include "model/cmd/cmd.h"
#include "model/event/event.h"
#include "model/port/port.h"
#include "model/qos/qos.h"
#include "model/roce/roce.h"
#include "model/rx/rx.h"
#include "model/wire/wire.h"

/* Every queue that had work when the round began gets one turn. */
static unsigned int
run_queues(struct tp_model *m, unsigned int budget)
{
	struct tpm_qp_list *l = &m->pending;
	unsigned int done = 0;

	for (uint32_t turns = l->count; turns != 0 && l->head != NULL; turns--) {
		struct tpm_qp *qp = l->head;

		/* To the end first: tpm_sq_run takes it out when it is empty. */
		if (qp->pending_next != NULL) {
			l->head = qp->pending_next;
			l->tail->pending_next = qp;
			l->tail = qp;
			qp->pending_next = NULL;
		}
		done += tpm_sq_run(m, qp, budget);
	}
	return done;
}

static unsigned int
run_ports(struct tp_model *m, unsigned int budget)
{
	unsigned int done = 0;

	m->waits = false;
	for (unsigned int i = 0; i < m->cfg.num_ports; i++) {
		struct tpm_port *p = &m->port[i];

		if (tpm_unlikely(p->tx_managed))
			done += tpm_sched_run(m, p, budget);
		if (tpm_unlikely(p->rx_waits))
			done += tpm_rxbuf_poll(m, p);
		/* What waits at the far end of a link that is down stays there: a replay starts when somebody listens. */
		if (p->link && p->wire != NULL && p->wire->ops->poll != NULL)
			done += p->wire->ops->poll(p->wire, m, p->num, budget);
		if (tpm_unlikely(p->impair != NULL))
			tpm_impair_poll(m, p);
	}
	return done;
}

/* A port whose sends have times. */
static bool
is_paced(const struct tp_model *m)
{
	bool paced = false;

	for (unsigned int i = 0; i < m->cfg.num_ports; i++)
		paced |= m->port[i].tx_managed;
	return paced;
}

/* The lock is held. */
static unsigned int
run_round(struct tp_model *m, unsigned int budget)
{
	unsigned int done;

	tpm_clock_read(m);
	m->st.steps++;
	done = tpm_uar_poll(m);
	/* Who lost its CPU since the clock was read would send before the doorbell rang. */
	if (done != 0 && is_paced(m))
		tpm_clock_read(m);
	if (m->pending.head != NULL)
		done += run_queues(m, budget);
	done += run_ports(m, budget);
	if (m->roce != NULL)
		done += tpm_roce_run(m, budget);
	if (m->num_timers != 0)
		tpm_cq_timers(m);
	if (m->num_stamps != 0)
		tpm_sq_stamp_check(m);
	if (tpm_unlikely(m->trace != NULL))
		tpm_trace_entries(m);
	/* A wire's partner may come and go by itself. */
	for (unsigned int i = 0; i < m->cfg.num_ports; i++)
		if (m->port[i].wire != NULL && (done == 0 || m->st.steps % 64 == 0))
			tpm_port_update_link(m, &m->port[i]);
	if (done == 0)
		m->st.idle_steps++;
	return done;
}

unsigned int
tp_model_step(struct tp_model *m, unsigned int budget)
{
	unsigned int done;

	tpm_lock(&m->lock);
	done = run_round(m, budget);
	tpm_unlock(&m->lock);
	return done;
}

unsigned int
tp_model_poll(struct tp_model *m, unsigned int budget)
{
	unsigned int done;

	atomic_store_explicit(&m->polls, atomic_load_explicit(&m->polls, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (!tpm_trylock(&m->lock))
		return 0;
	done = run_round(m, budget);
	tpm_unlock(&m->lock);
	return done;
}

void
tp_model_set_time(struct tp_model *m, uint64_t ns)
{
	tpm_lock(&m->lock);
	m->virtual_time = true;
	m->now_ns = ns;
	tpm_unlock(&m->lock);
}
