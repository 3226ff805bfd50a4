/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Two InfiniBand ports that a cable joins, and a subnet manager of ours at the first one. */
#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "drivers/mlx4/pmd/card.h"
#include "joined.h"

#define LINK_MS 5000u
#define WAIT_MS 30000u
#define NAP_US 1000u
#define SWEEP_MS 100u
#define PHYS_LINK_UP 5 /* PortInfo (IBTA 14.2.5.6) */

static unsigned int
find(struct subnet *x)
{
	struct ibv_device **list;
	unsigned int n = 0;
	int i, num = 0;

	list = tp_roce_get_device_list(&num);
	for (i = 0; list != NULL && i < num; i++)
		if (strchr(list[i]->name, '/') != NULL && n < 2)
			snprintf(x->name[n++], sizeof(x->name[0]), "%s", list[i]->name);
	if (list != NULL)
		tp_roce_free_device_list(list);
	return n;
}

static bool
wait_for(struct subnet *x, bool (*is)(const struct ibv_port_attr *a), uint64_t ms)
{
	struct port_limit until = port_in(ms);
	unsigned int i, n;

	do {
		for (i = n = 0; i < 2; i++)
			n += tp_roce_query_port(tp_mad_service_ctx(x->service[i]), 1, &x->attr[i]) == 0 &&
			     is(&x->attr[i]);
		if (n == 2)
			return true;
		rte_delay_us_sleep(NAP_US);
	} while (port_waits(&until));
	return false;
}

static bool
linked(const struct ibv_port_attr *a)
{
	return a->phys_state == PHYS_LINK_UP;
}

static bool
active(const struct ibv_port_attr *a)
{
	return a->state == IBV_PORT_ACTIVE && a->lid != 0;
}

static bool
managed(struct subnet *x, const struct tp_sm_conf *conf, char why[CK_TEXT])
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < 2 && rc == 0; i++)
		rc = tp_mad_service_open(x->name[i], &x->service[i]);
	if (rc != 0) {
		snprintf(why, CK_TEXT, "a port's management cannot be opened: %s", rte_strerror(-rc));
		return false;
	}
	snprintf(why, CK_TEXT, "not both ports have a link");
	if (!wait_for(x, linked, LINK_MS))
		return false;
	snprintf(why, CK_TEXT, "LID %u manages them already", x->attr[0].sm_lid);
	if (x->attr[0].sm_lid != 0 || x->attr[0].state == IBV_PORT_ACTIVE)
		return false;
	ck_step(x->c, "runs a subnet manager at the first port");
	rc = tp_sm_create(tp_mad_service_mad(x->service[0]), conf, &x->sm);
	if (rc != 0) {
		snprintf(why, CK_TEXT, "no subnet manager: %s", rte_strerror(-rc));
		return false;
	}
	tp_mad_service_issm(x->service[0], true);
	if (wait_for(x, active, WAIT_MS) && x->attr[0].lid != x->attr[1].lid)
		return true;
	snprintf(why, CK_TEXT, "LIDs %u and %u, states %d and %d: wanted two different ones, both active (4)",
		 x->attr[0].lid, x->attr[1].lid, (int)x->attr[0].state, (int)x->attr[1].state);
	return false;
}

bool
subnet_open(struct subnet *x, struct ck *c, const struct subnet_conf *conf, char why[CK_TEXT])
{
	struct tp_sm_conf sm = {.sweep_ms = SWEEP_MS, .num_pkeys = conf->num_pkeys};
	struct mlx4_eth_args args;
	int rc;

	memset(x, 0, sizeof(*x));
	x->c = c;
	memcpy(sm.pkeys, conf->pkeys, sizeof(conf->pkeys));
	snprintf(why, CK_TEXT, "the card cannot be opened");
	if (!ck_open(c))
		return false;
	snprintf(why, CK_TEXT, "arguments are refused");
	if (ck_eth_args(c, conf->args != NULL ? conf->args : "", &args) != 0) {
		ck_close(c);
		return false;
	}
	if (conf->quirks != NULL)
		args.quirks = *conf->quirks;
	ck_step(c, "brings the card up with its InfiniBand ports");
	rc = mlx4_card_probe(c->bus, &args);
	if (rc != 0) {
		snprintf(why, CK_TEXT, "the card does not come up: %s", rte_strerror(-rc));
		ck_close(c);
		return false;
	}
	x->up = true;
	snprintf(why, CK_TEXT, "the library has no two InfiniBand ports");
	return find(x) == 2 && managed(x, &sm, why);
}

void
subnet_close(struct subnet *x)
{
	unsigned int i;

	if (x->sm != NULL) {
		tp_sm_destroy(x->sm);
		tp_mad_service_issm(x->service[0], false);
	}
	for (i = 0; i < 2; i++)
		if (x->service[i] != NULL)
			tp_mad_service_close(x->service[i]);
	if (x->up)
		ck_ports_end(x->c);
	x->up = false;
}
