/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control of queue pairs of an Ethernet port. The notification point answers marked packets, one CNP to a
 * sender in an interval. The reaction point gives a queue pair a limiter with the first CNP, and takes it back when
 * the rate is the line's again. A CNP for a queue pair of datagrams does not say which of its destinations is meant: it
 * limits them all, by the parameters of the priority of the last datagram.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/qos/qos.h"
#include "mlx4_prm_cc_words.h"
#include "roce_cc.h"

#define ECN_MASK 3u
#define ECT0 2u
#define CNP_DATA 16u /* reserved octets behind the BTH (A17.9.3) */
#define CNP_TTL 64u
#define PKEY_DEFAULT 0xffffu
#define AVERAGE_SHIFT 3u
#define KBPS_PER_MBPS 1000u

/* --- settings ---------------------------------------------------------------------------------------------- */

static void
values_put(uint8_t *set, const struct mlx4_cc_value *v, unsigned int n, const struct tcc_conf *conf)
{
	for (unsigned int i = 0; i < n; i++) {
		int param = tcc_param_find(v[i].word);

		if (param >= 0)
			prm_set(set, v[i].field, (uint32_t)tcc_param_get(conf, (unsigned int)param));
	}
}

static void
values_get(const uint8_t *set, const struct mlx4_cc_value *v, unsigned int n, struct tcc_conf *conf)
{
	for (unsigned int i = 0; i < n; i++) {
		int param = tcc_param_find(v[i].word);

		if (param >= 0)
			tcc_param_set(conf, (unsigned int)param, prm_get(set, v[i].field));
	}
}

#define NUM(a) (sizeof(a) / sizeof((a)[0]))

static uint32_t
line_mbps(const struct tpm_port *p)
{
	return p->qos->rate_kbps != 0 ? p->qos->rate_kbps / KBPS_PER_MBPS : TPM_SPEED_MBPS;
}

/* 802.1Qau: parameters of the mailbox that tpm_cn_config() knows. */
static const struct {
	uint32_t field;
	size_t off;
} qau_fields[] = {
#define QAU(field, member) {field, offsetof(struct tqau_conf, member)},
	MLX4_CC_QAU_MEMBERS(QAU)
#undef QAU
};

static uint32_t *
qau_at(struct tqau_conf *c, unsigned int i)
{
	return (uint32_t *)(void *)((uint8_t *)c + qau_fields[i].off);
}

static void
qau_load(struct tp_model *m, struct tpm_port *p, unsigned int prio)
{
	const uint8_t *set = p->cc->prio[prio].set[MLX4_CC_QAU];
	uint32_t flags = prm_get32(set, MLX4_CC_FLAGS);
	struct tqau_conf conf = {.line_rate = line_mbps(p), .keep_target = (flags & MLX4_CC_QAU_KEEP_TARGET) != 0};

	for (unsigned int i = 0; i < NUM(qau_fields); i++)
		*qau_at(&conf, i) = prm_get(set, qau_fields[i].field);
	tpm_cn_config(m, p, prio, &conf, (flags & MLX4_CC_QAU_ENABLE) != 0, (flags & MLX4_CC_QAU_TAG) != 0);
}

void
tpm_cc_defaults(struct tpm_port *p, unsigned int prio, unsigned int algorithm)
{
	uint8_t *set = p->cc->prio[prio].set[algorithm];
	struct tcc_conf conf;
	uint32_t flags = 0;

	memset(set, 0, MLX4_CC_RP_SIZE);
	tcc_conf_default(&conf, (enum tcc_variant)p->cc->prio[prio].variant, line_mbps(p));
	if (algorithm == MLX4_CC_RP) {
		values_put(set, rp_values, NUM(rp_values), &conf);
		for (unsigned int i = 0; i < NUM(rp_flags); i++)
			if (tcc_param_get(&conf, (unsigned int)tcc_param_find(rp_flags[i].word)) != 0)
				flags |= rp_flags[i].flag;
		prm_set32(set, MLX4_CC_FLAGS, flags);
	} else if (algorithm == MLX4_CC_NP) {
		values_put(set, np_values, NUM(np_values), &conf);
	} else {
		struct tqau_conf qau;

		tqau_conf_default(&qau, line_mbps(p));
		prm_set(set, MLX4_CC_QAU_RPS, 1);
		for (unsigned int i = 0; i < NUM(qau_fields); i++)
			prm_set(set, qau_fields[i].field, *qau_at(&qau, i));
	}
}

void
tpm_cc_general_defaults(struct tpm_cc *cc)
{
	memset(cc->general, 0, sizeof(cc->general));
	prm_set(cc->general, MLX4_CC_GENERAL_OPCODE, IB_OPCODE_CNP);
}

static void
bit_set(uint8_t *mask, unsigned int prio, bool on)
{
	*mask = (uint8_t)((*mask & ~(1u << prio)) | (uint32_t)on << prio);
}

/* The sets of a priority as what packets ask for. */
static void
load(struct tpm_port *p, unsigned int prio)
{
	struct tpm_cc *cc = p->cc;
	struct tpm_cc_prio *c = &cc->prio[prio];
	uint32_t rp = prm_get32(c->set[MLX4_CC_RP], MLX4_CC_FLAGS), np = prm_get32(c->set[MLX4_CC_NP], MLX4_CC_FLAGS);

	tcc_conf_default(&c->conf, (enum tcc_variant)c->variant, line_mbps(p));
	values_get(c->set[MLX4_CC_RP], rp_values, NUM(rp_values), &c->conf);
	values_get(c->set[MLX4_CC_NP], np_values, NUM(np_values), &c->conf);
	for (unsigned int i = 0; i < NUM(rp_flags); i++)
		tcc_param_set(&c->conf, (unsigned int)tcc_param_find(rp_flags[i].word), (rp & rp_flags[i].flag) != 0);
	/* The card has no such parameter: its CNPs have the priority that is set. */
	c->conf.cnp_prio_mode = false;
	bit_set(&cc->rp, prio, (rp & MLX4_CC_RP_CNP) != 0);
	bit_set(&cc->np, prio, (np & MLX4_CC_NP_ECN) != 0);
	bit_set(&cc->ect[IBV_QPT_RC], prio, (rp & MLX4_CC_RP_FORCE_RC) != 0);
	bit_set(&cc->ect[IBV_QPT_UC], prio, (rp & MLX4_CC_RP_FORCE_UC) != 0);
	bit_set(&cc->ect[IBV_QPT_UD], prio, (rp & MLX4_CC_RP_FORCE_UD) != 0);
}

int
tpm_cc_init(struct tpm_port *p, const char *stored)
{
	p->cc = calloc(1, sizeof(*p->cc));
	if (p->cc == NULL)
		return -ENOMEM;
	if (stored == NULL || *stored == '\0')
		return 0;
	p->cc->stored = strdup(stored);
	return p->cc->stored == NULL ? -ENOMEM : 0;
}

void
tpm_cc_fini(struct tpm_port *p)
{
	if (p->cc != NULL)
		free(p->cc->stored);
	free(p->cc);
	p->cc = NULL;
}

void
tpm_cc_reset(struct tpm_port *p)
{
	struct tpm_cc *cc = p->cc;
	char *stored = cc->stored;

	memset(cc, 0, sizeof(*cc));
	cc->stored = stored;
	for (unsigned int i = 0; i < MLX4_PRIOS; i++)
		for (unsigned int a = 0; a < MLX4_CC_ALGORITHMS; a++)
			tpm_cc_defaults(p, i, a);
	tpm_cc_stored_apply(p);
	for (unsigned int i = 0; i < MLX4_PRIOS; i++)
		load(p, i);
	tpm_cc_general_defaults(cc);
}

/* --- limiters ---------------------------------------------------------------------------------------------- */

static struct tpm_cc_prio *
of_limiter(const struct tpm_roce *r)
{
	return &r->m->port[r->port - 1].cc->prio[r->limit_prio];
}

void
tpm_cc_release(struct tpm_roce *r)
{
	struct tpm_cc_prio *c;

	if (!r->limited)
		return;
	c = of_limiter(r);
	c->limiters--;
	c->limited_ns += tpm_now(r->m) - r->limited_since;
	r->limited = false;
	r->rp = (struct tcc_rp){.send_at = r->rp.send_at};
}

/* Time may have brought it back to the rate of the line. */
static void
settle(struct tpm_roce *r)
{
	if (!r->rp.limited)
		tpm_cc_release(r);
}

uint32_t
tpm_cc_limiters(struct tp_model *m, struct tpm_port *p, unsigned int prio, uint64_t *kbps, uint64_t *lived_ns)
{
	const struct tpm_cc_prio *c = &p->cc->prio[prio];

	*kbps = 0;
	*lived_ns = 0;
	for (struct tpm_roce *r = m->roce; r != NULL; r = r->next) {
		uint32_t rate;

		if (!r->limited || r->port != p->num || r->limit_prio != prio)
			continue;
		rate = tcc_rp_rate(&r->rp, &c->conf, tpm_now(m));
		settle(r);
		if (!r->limited)
			continue;
		*kbps += rate;
		*lived_ns += tpm_now(m) - r->limited_since;
	}
	*lived_ns += c->limited_ns;
	return c->limiters;
}

int
tp_model_get_cc(struct tp_model *m, unsigned int port, struct tp_model_cc cc[8])
{
	struct tpm_port *p;

	if (port < 1 || port > m->cfg.num_ports)
		return -EINVAL;
	p = &m->port[port - 1];
	tpm_lock(&m->lock);
	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		const struct tpm_cc_prio *c = &p->cc->prio[i];
		uint64_t kbps, lived;

		cc[i] = (struct tp_model_cc){.marked = c->marked,
					     .cnps_sent = c->cnps,
					     .marks_ignored = c->ignored_marks,
					     .cnps_handled = c->handled,
					     .cnps_ignored = c->ignored_cnps};
		cc[i].limited_qps = tpm_cc_limiters(m, p, i, &kbps, &lived);
		cc[i].limited_mbps = kbps / KBPS_PER_MBPS;
	}
	tpm_unlock(&m->lock);
	return 0;
}

void
tpm_cc_changed(struct tp_model *m, struct tpm_port *p, unsigned int prio)
{
	load(p, prio);
	qau_load(m, p, prio);
	if ((p->cc->rp >> prio & 1) != 0)
		return;
	for (struct tpm_roce *r = m->roce; r != NULL; r = r->next)
		if (r->port == p->num && r->limit_prio == prio)
			tpm_cc_release(r);
}

bool
tpm_cc_may_send(struct tpm_roce *r, uint32_t bytes)
{
	const struct tcc_conf *conf = &of_limiter(r)->conf;
	uint64_t now = tpm_now(r->m);

	if (tcc_rp_next(&r->rp, conf, now) > now)
		return false;
	tcc_rp_sent(&r->rp, conf, bytes + TPM_FCS_LEN, now);
	settle(r);
	return true;
}

/* --- reaction point ------------------------------------------------------------------------------------------ */

static uint32_t
in_range(uint64_t kbps)
{
	return kbps < UINT32_MAX ? (uint32_t)kbps : UINT32_MAX;
}

/* What the counters say of the rates of all limiters. */
static void
rates_note(struct tp_model *m, struct tpm_port *p, unsigned int prio)
{
	struct tpm_cc_prio *c = &p->cc->prio[prio];
	uint64_t kbps, lived;
	uint32_t total;

	(void)tpm_cc_limiters(m, p, prio, &kbps, &lived);
	total = in_range(kbps);
	if (c->handled == 1 || total < c->least_kbps)
		c->least_kbps = total;
	if (total > c->greatest_kbps)
		c->greatest_kbps = total;
	if (c->handled == 1)
		c->average_kbps = total;
	else
		c->average_kbps += (total >> AVERAGE_SHIFT) - (c->average_kbps >> AVERAGE_SHIFT);
}

void
tpm_cc_congested(struct tre_qp *e, const struct tre_in *in, uint64_t now)
{
	const struct tpm_roce_rx *rx = in->home;
	struct tpm_roce *r = e->home;
	struct tpm_port *p = &r->m->port[r->port - 1];
	uint8_t prio = r->limited ? r->limit_prio : e->a.type == IBV_QPT_UD ? r->dgram_prio : r->path.prio;
	struct tpm_cc_prio *c = &p->cc->prio[prio];

	/* RoCE v1 has none. */
	if ((p->cc->rp >> prio & 1) == 0 || p->ib || rx->v1 || (e->a.type != IBV_QPT_UD && !r->path.v2) ||
	    (e->state != IBV_QPS_RTS && e->state != IBV_QPS_SQD) || !tcc_rp_cnp(&r->rp, &c->conf, now)) {
		c->ignored_cnps++;
		return;
	}
	c->handled++;
	if (!r->limited) {
		r->limited = true;
		r->limited_since = now;
		r->limit_prio = prio;
		if (++c->limiters > c->most_limiters)
			c->most_limiters = c->limiters;
	}
	rates_note(r->m, p, prio);
}

void
tpm_cc_lost(struct tpm_port *p, const struct tpm_pkt *k, const uint8_t *h, const uint8_t *packet)
{
	if (ib_bth_opcode(packet) == IB_OPCODE_CNP)
		p->cc->prio[tpm_qos_rx_prio(p, k, h)].ignored_cnps++;
}

/* --- notification point -------------------------------------------------------------------------------------- */

static bool
within(const struct tpm_roce *r, const struct tcc_conf *conf)
{
	return r->np.told && tpm_now(r->m) - r->np.last < (uint64_t)conf->cnp_interval * 1000;
}

uint32_t
tpm_cc_injectors(const struct tp_model *m, const struct tpm_port *p, unsigned int prio)
{
	uint32_t n = tcc_np_told(&p->cc->flows, (uint8_t)prio, tpm_now(m));

	for (const struct tpm_roce *r = m->roce; r != NULL; r = r->next)
		n += r->port == p->num && r->np_prio == prio && within(r, &p->cc->prio[prio].conf);
	return n;
}

/* An address of the IP header as a GID; of IPv4 it is at v4, of IPv6 at v6. */
static void
gid_of(const struct tpm_cc_marked *in, uint32_t v4, uint32_t v6, uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (in->v4) {
		memcpy(gid, mapped, sizeof(mapped));
		memcpy(gid + sizeof(mapped), in->net + v4, 4);
	} else {
		memcpy(gid, in->net + v6, 16);
	}
}

static void
source(const struct tpm_cc_marked *in, uint8_t gid[16])
{
	gid_of(in, 12, 8, gid);
}

/* Back to where the packet came from. */
static void
path_back(const struct tcc_conf *conf, const struct tpm_cc_marked *in, struct tpm_roce_path *to, struct tpm_gid *from)
{
	*to = (struct tpm_roce_path){.tclass = (uint8_t)(conf->cnp_dscp << 2 | ECT0),
				     .hop_limit = CNP_TTL,
				     .prio = conf->cnp_802p_prio,
				     .udp_port = tpm_load16(in->h + in->k->l4),
				     .vid = in->k->cvlan ? in->k->tci & 0xfff : TPM_ROCE_NO_VLAN,
				     .v2 = true};
	*from = (struct tpm_gid){.version = MLX4_ROCE_V2, .valid = true};
	memcpy(to->dmac, in->h + TPM_ETH_ALEN, TPM_ETH_ALEN);
	source(in, to->dgid);
	gid_of(in, 16, 24, from->gid);
}

/* Whose queue pair is told; false: the packet does not say. */
static bool
sender(const struct tpm_qp *qp, const struct tpm_cc_marked *in, uint32_t *qpn)
{
	const struct ib_opcode *o = &ib_opcodes[ib_bth_opcode(in->packet)];

	*qpn = qp->roce->e.a.dest_qpn;
	if (qp->roce->e.a.type != IBV_QPT_UD)
		return true;
	if (o->deth == 0 || in->len < o->hlen)
		return false;
	*qpn = ib_get24(in->packet + o->deth + 5);
	return true;
}

/* Is it told now? Who has a peer has one sender, of datagrams each has its own interval. */
static bool
due(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tpm_cc_marked *in, unsigned int prio,
    uint32_t qpn)
{
	uint32_t interval = p->cc->prio[prio].conf.cnp_interval;
	struct tcc_np_flow f = {.from = qpn, .to = qp->qpn};

	if (qp->roce->e.a.type != IBV_QPT_UD)
		return tcc_np_mark(&qp->roce->np, interval, tpm_now(m));
	source(in, f.addr);
	return tcc_np_mark_flow(&p->cc->flows, &f, (uint8_t)prio, interval, tpm_now(m));
}

static void
answer(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tpm_cc_marked *in, unsigned int prio,
       uint32_t qpn)
{
	static const uint8_t zeros[CNP_DATA];
	struct tre_out out = {.hlen = IB_BTH_LEN,
			      .iov = {{.iov_base = (void *)(uintptr_t)zeros, .iov_len = CNP_DATA}},
			      .num_iov = 1,
			      .len = CNP_DATA};
	struct tpm_cc_prio *c = &p->cc->prio[prio];
	struct tpm_roce_path to;
	struct tpm_gid from;
	uint32_t flows;

	path_back(&c->conf, in, &to, &from);
	ib_bth_put(out.hdr, (uint8_t)prm_get(p->cc->general, MLX4_CC_GENERAL_OPCODE), false, 0, PKEY_DEFAULT, qpn,
		   false, 0);
	out.hdr[1] = 0; /* no MigReq, which other packets have */
	/* The CRC takes this octet for ones, whatever it says. */
	out.hdr[4] = IB_BTH_BECN;
	qp->roce->np_prio = (uint8_t)prio;
	c->cnps++;
	flows = tpm_cc_injectors(m, p, prio);
	if (flows > c->most_flows)
		c->most_flows = flows;
	tpm_roce_emit(qp->roce, &to, &from, &out);
}

void
tpm_cc_marked(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tpm_cc_marked *in)
{
	unsigned int prio = tpm_qos_rx_prio(p, in->k, in->h);
	struct tpm_cc_prio *c = &p->cc->prio[prio];
	uint32_t qpn;

	/*
	 * A CNP that was marked itself asks for nothing, and RoCE v1 has no CNPs. A priority that is paused sends none now: the
	 * next mark asks again.
	 */
	if ((p->cc->np >> prio & 1) == 0 || in->v1 || ib_bth_opcode(in->packet) == IB_OPCODE_CNP ||
	    !sender(qp, in, &qpn) || (p->qos->paused >> c->conf.cnp_802p_prio & 1) != 0) {
		c->ignored_marks++;
		return;
	}
	c->marked++;
	if (due(m, p, qp, in, prio, qpn))
		answer(m, p, qp, in, prio, qpn);
}
