/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The management queue pairs of an InfiniBand port, and who hears them: a service, or the firmware alone. */
#include "tp_mad_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/roce/wire/mad.h"
#include "verbs.h"

#define CLASS_VERSION 1u     /* of the classes that the firmware serves */
#define ATTR_SM_INFO 0x0020u /* a subnet manager answers it, not the firmware (14.2.5.13) */
#define DR_RETURNING 0x8000u /* status of a directed-route datagram on its way back (14.2.1.2) */
#define CLASSES 2u
#define QPN_MAX 0xffffffu
#define SL_MAX 15u
#define PATH_BITS_MAX 127u

/* Whom messages of a class are for. */
struct class_row {
	uint8_t class;
	void (*input)(struct troce_dev *dev, const struct tp_mad_packet *pkt); /* NULL: the row is free */
};

struct troce_smi {
	struct class_row class[CLASSES];
	pthread_mutex_t control; /* one that comes or goes at a time */
	pthread_mutex_t lock;    /* held while the service is called */
	void (*cb)(void *arg, const struct tp_mad_packet *pkt);
	void *arg;
	uint64_t answered, ignored, lost;
};

static int
smi_init(struct troce_dev *dev)
{
	struct troce_smi *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return ENOMEM;
	pthread_mutex_init(&s->control, NULL);
	pthread_mutex_init(&s->lock, NULL);
	dev->smi = s;
	return 0;
}

static void
smi_fini(struct troce_dev *dev)
{
	struct troce_smi *s = dev->smi;

	if (s->cb != NULL)
		tp_mad_port_set_input(&dev->vctx.context, NULL, NULL);
	dev->smi = NULL;
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->control);
	free(s);
}

static void
smi_stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	struct troce_smi *s = dev->smi;
	uint64_t answered, ignored, lost;

	pthread_mutex_lock(&s->lock);
	answered = s->answered;
	ignored = s->ignored;
	lost = s->lost;
	pthread_mutex_unlock(&s->lock);
	fn(arg, "mads_answered", answered);
	fn(arg, "mads_ignored", ignored);
	fn(arg, "mads_lost", lost);
}

const struct troce_side_ops troce_smi_side = {.init = smi_init, .fini = smi_fini, .stats = smi_stats};

int
troce_mad_class_set(struct troce_dev *dev, uint8_t class,
		    void (*input)(struct troce_dev *dev, const struct tp_mad_packet *pkt))
{
	struct class_row *r = dev->smi->class, *end = r + CLASSES;

	while (r < end && r->input != NULL && r->class != class)
		r++;
	if (r == end)
		return ENOSPC;
	*r = (struct class_row){class, input};
	return 0;
}

static int
ib_check(struct troce_dev *dev)
{
	if (dev->ib != NULL)
		return 0;
	return TROCE_REFUSE(dev, ENOTSUP, "the port is Ethernet; only InfiniBand ports have QP0 and QP1 for services");
}

int
tp_mad_port_set_input(struct ibv_context *ctx, void (*cb)(void *arg, const struct tp_mad_packet *pkt), void *arg)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct troce_smi *s = dev->smi;
	int err = ib_check(dev);

	if (err != 0)
		return err;
	pthread_mutex_lock(&s->control);
	if (cb != NULL && s->cb != NULL)
		err = TROCE_REFUSE(dev, EBUSY, "there is a management service already");
	/* First the queue pair, so that the service can send at once; and it goes when nobody uses it any more. */
	if (err == 0 && cb != NULL)
		err = dev->prov->packet_qp0(dev, true);
	if (err == 0) {
		bool was = s->cb != NULL;

		pthread_mutex_lock(&s->lock);
		s->cb = cb;
		s->arg = arg;
		pthread_mutex_unlock(&s->lock);
		if (cb == NULL && was)
			(void)dev->prov->packet_qp0(dev, false);
	}
	pthread_mutex_unlock(&s->control);
	return err;
}

/* --- out -------------------------------------------------------------------------------------------------------- */

static int
send_check(struct troce_dev *dev, const struct tp_mad_packet *p)
{
	if (p->qpn > 1)
		return TROCE_REFUSE(dev, EINVAL, "a management datagram of QP %u, not 0 or 1", p->qpn);
	if (p->remote_qpn > QPN_MAX)
		return TROCE_REFUSE(dev, EINVAL, "a management datagram to QP 0x%x, not 0..0x%x", p->remote_qpn,
				    QPN_MAX);
	if (p->dlid == 0)
		return TROCE_REFUSE(dev, EINVAL, "a management datagram to LID 0, not 1..0xffff");
	if (p->sl > SL_MAX || p->path_bits > PATH_BITS_MAX)
		return TROCE_REFUSE(dev, EINVAL, "a management datagram with sl %u, path bits %u, not 0..%u, 0..%u",
				    p->sl, p->path_bits, SL_MAX, PATH_BITS_MAX);
	if (p->qpn == 1 && p->pkey_index >= dev->port.pkey_tbl_len)
		return TROCE_REFUSE(dev, EINVAL, "a management datagram with pkey_index %u, not 0..%u", p->pkey_index,
				    dev->port.pkey_tbl_len - 1u);
	return 0;
}

int
tp_mad_port_send(struct ibv_context *ctx, const struct tp_mad_packet *pkt)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err = ib_check(dev);

	if (err == 0)
		err = send_check(dev, pkt);
	return err != 0 ? err : dev->prov->packet_send(dev, pkt);
}

int
tp_mad_port_caps(struct ibv_context *ctx, uint32_t set, uint32_t clear)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err = ib_check(dev);

	if (err != 0)
		return err;
	troce_lock(dev);
	err = dev->prov->port_caps(dev, set, clear);
	troce_unlock(dev);
	return err;
}

/* --- what the firmware answers ---------------------------------------------------------------------------------- */

/* Requests of the two classes that it serves; whoever manages the subnet is asked by SMInfo, and that is software. */
static bool
is_firmware(const uint8_t *mad)
{
	uint8_t class = mad[MAD_CLASS_AT], method = mad[MAD_METHOD_AT];
	bool smp = class == MAD_CLASS_SMP || class == MAD_CLASS_SMP_DIRECTED;

	if (mad[MAD_BASE_VERSION_AT] != MAD_BASE_VERSION)
		return false;
	if (class == MAD_CLASS_PERF)
		return method == MAD_GET || method == MAD_SET;
	if (!smp || ib_get16(mad + MAD_ATTR_AT) == ATTR_SM_INFO)
		return false;
	return method == MAD_GET || method == MAD_SET || method == MAD_TRAP_REPRESS;
}

/* 13.4.7: of another version the firmware need not know anything. */
static void
wrong_version(const struct tp_mad_packet *in, struct tp_mad_packet *out)
{
	memcpy(out->data, in->data, sizeof(out->data));
	out->data[MAD_METHOD_AT] = MAD_GET | MAD_RESPONSE;
	ib_put16(out->data + MAD_STATUS_AT, MAD_BAD_VERSION);
}

/* Back to where it came from. */
static void
address(const struct tp_mad_packet *in, struct tp_mad_packet *out)
{
	struct tp_mad_packet a = *in;

	a.dlid = in->slid;
	a.slid = in->slid == TP_MAD_LID_PERMISSIVE ? TP_MAD_LID_PERMISSIVE : 0;
	if (in->has_grh) {
		a.grh.sgid = in->grh.dgid;
		a.grh.dgid = in->grh.sgid;
	}
	memcpy(a.data, out->data, sizeof(a.data));
	*out = a;
}

int
tp_mad_port_process(struct ibv_context *ctx, const struct tp_mad_packet *in, struct tp_mad_packet *out)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct tp_mad_packet asked = *in;
	int err = ib_check(dev);

	if (err != 0)
		return err;
	if (!is_firmware(asked.data))
		return ENODATA;
	if (asked.data[MAD_CLASS_VERSION_AT] == CLASS_VERSION)
		err = dev->prov->packet_process(dev, &asked, out);
	else
		wrong_version(&asked, out);
	if (err != 0)
		return err;
	if (asked.data[MAD_METHOD_AT] == MAD_TRAP_REPRESS)
		return ENODATA;
	if (asked.data[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED)
		ib_put16(out->data + MAD_STATUS_AT, ib_get16(out->data + MAD_STATUS_AT) | DR_RETURNING);
	address(&asked, out);
	return 0;
}

/* --- in --------------------------------------------------------------------------------------------------------- */

/* Without a service. */
static void
answer(struct troce_dev *dev, const struct tp_mad_packet *pkt)
{
	struct troce_smi *s = dev->smi;
	struct tp_mad_packet out;

	if (pkt->qpn != 1 || tp_mad_port_process(&dev->vctx.context, pkt, &out) != 0)
		s->ignored++;
	else if (tp_mad_port_send(&dev->vctx.context, &out) != 0)
		s->lost++;
	else
		s->answered++;
}

/* The row of a message's class; NULL: the service's. */
static const struct class_row *
row_of(const struct troce_smi *s, const struct tp_mad_packet *pkt)
{
	const uint8_t *mad = pkt->data;

	if (pkt->qpn != 1 || mad[MAD_BASE_VERSION_AT] != MAD_BASE_VERSION || mad[MAD_METHOD_AT] != MAD_SEND)
		return NULL;
	for (const struct class_row *r = s->class; r < s->class + CLASSES; r++) {
		if (r->input != NULL && r->class == mad[MAD_CLASS_AT])
			return r;
	}
	return NULL;
}

void
troce_mad_port_input(struct troce_dev *dev, const struct tp_mad_packet *pkt)
{
	struct troce_smi *s = dev->smi;
	const struct class_row *row = row_of(s, pkt);

	if (row != NULL) {
		row->input(dev, pkt);
		return;
	}
	pthread_mutex_lock(&s->lock);
	if (s->cb != NULL)
		s->cb(s->arg, pkt);
	else
		answer(dev, pkt);
	pthread_mutex_unlock(&s->lock);
}
