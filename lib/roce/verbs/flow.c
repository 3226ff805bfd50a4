/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Steering rules: which frames a raw packet queue pair receives. */
#include <errno.h>

#include "lib/roce/port/front.h"
#include "qp_attr.h"

#define PRIORITY_MAX 4095u

static const struct {
	enum ibv_flow_spec_type type;
	uint16_t size;
} known[] = {
	{IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth)},
	{IBV_FLOW_SPEC_IPV4, sizeof(struct ibv_flow_spec_ipv4)},
	{IBV_FLOW_SPEC_IPV4_EXT, sizeof(struct ibv_flow_spec_ipv4_ext)},
	{IBV_FLOW_SPEC_TCP, sizeof(struct ibv_flow_spec_tcp_udp)},
	{IBV_FLOW_SPEC_UDP, sizeof(struct ibv_flow_spec_tcp_udp)},
};

/* The size of a specification of this type, 0: it is not known. */
static uint16_t
spec_size(enum ibv_flow_spec_type type)
{
	for (unsigned int i = 0; i < RTE_DIM(known); i++) {
		if (known[i].type == type)
			return known[i].size;
	}
	return 0;
}

/* All of them lie within the size that attr says. */
static int
specs_check(struct troce_dev *dev, const struct ibv_flow_attr *a)
{
	size_t at = sizeof(*a);

	for (unsigned int i = 0; i < a->num_of_specs; i++) {
		struct ibv_flow_spec_eth s;
		uint16_t size;

		if (at + offsetof(struct ibv_flow_spec_eth, val) > a->size)
			return TROCE_REFUSE(dev, EINVAL, "a rule of %u octets ends before specification %u of %u",
					    a->size, i, a->num_of_specs);
		memcpy(&s, (const uint8_t *)a + at, offsetof(struct ibv_flow_spec_eth, val));
		size = spec_size(s.type);
		if (size == 0)
			return TROCE_REFUSE(dev, EOPNOTSUPP,
					    "specification %u has type 0x%x, none of 0x%x (Ethernet), 0x%x or 0x%x "
					    "(IPv4), 0x%x (TCP), 0x%x (UDP)",
					    i, (unsigned int)s.type, IBV_FLOW_SPEC_ETH, IBV_FLOW_SPEC_IPV4,
					    IBV_FLOW_SPEC_IPV4_EXT, IBV_FLOW_SPEC_TCP, IBV_FLOW_SPEC_UDP);
		if (s.size != size || at + size > a->size)
			return TROCE_REFUSE(
				dev, EINVAL,
				"specification %u of type 0x%x has %u octets, wanted %u; the rule has %zu left", i,
				(unsigned int)s.type, s.size, size, a->size - at);
		at += size;
	}
	return 0;
}

static int
check(struct troce_dev *dev, const struct troce_qp *qp, const struct ibv_flow_attr *a)
{
	if (qp->v.qp_type != IBV_QPT_RAW_PACKET)
		return TROCE_REFUSE(dev, EINVAL,
				    "queue pair 0x%x: steering rules are those of raw packets (type %d), not type %d",
				    qp->v.qp_num, IBV_QPT_RAW_PACKET, (int)qp->v.qp_type);
	/* A card knows no queue pair before that. */
	if (qp->v.state == IBV_QPS_RESET)
		return TROCE_REFUSE(dev, EINVAL,
				    "queue pair 0x%x in RESET: a steering rule wants INIT or a later state",
				    qp->v.qp_num);
	if (a->comp_mask != 0)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: comp_mask 0x%x of a rule is not 0", qp->v.qp_num,
				    a->comp_mask);
	if (a->type != IBV_FLOW_ATTR_NORMAL)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "queue pair 0x%x: rule type %d is not %d (normal)", qp->v.qp_num,
				    (int)a->type, IBV_FLOW_ATTR_NORMAL);
	if (a->flags != 0)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "queue pair 0x%x: flags 0x%x of a rule are not 0", qp->v.qp_num,
				    a->flags);
	if (a->port != 1)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: port %u of a rule is not in 1..1", qp->v.qp_num,
				    a->port);
	if (a->priority > PRIORITY_MAX)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: priority %u of a rule is not in 0..%u", qp->v.qp_num,
				    a->priority, PRIORITY_MAX);
	return specs_check(dev, a);
}

struct ibv_flow *
tp_roce_create_flow(struct ibv_qp *ibqp, struct ibv_flow_attr *attr)
{
	struct troce_qp *qp = (struct troce_qp *)ibqp;
	struct troce_dev *dev = troce_dev_of(ibqp->context);
	struct troce_flow *flow = NULL;
	int err;

	troce_lock(dev);
	err = check(dev, qp, attr);
	if (err != 0)
		goto out;
	flow = troce_obj_alloc(dev, dev->prov->flow_size, sizeof(*flow));
	if (flow == NULL) {
		err = ENOMEM;
		goto out;
	}
	flow->v.context = ibqp->context;
	flow->qp = qp;
	err = dev->prov->create_flow(flow, attr);
	if (err == 0)
		qp->refs++;
out:
	troce_unlock(dev);
	return troce_made(flow, err);
}

int
tp_roce_destroy_flow(struct ibv_flow *ibflow)
{
	struct troce_flow *flow = (struct troce_flow *)ibflow;
	struct troce_dev *dev = troce_dev_of(ibflow->context);
	int err;

	troce_lock(dev);
	err = dev->prov->destroy_flow(flow);
	if (err == 0)
		flow->qp->refs--;
	troce_unlock(dev);
	return troce_gone(flow, err);
}
