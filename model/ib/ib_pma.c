/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Performance management of cards and switches: counters of ports, read and set to 0 [WF 9.4]. */
#include "ib.h"

#define RESP_TIME 0x12u

/* A counter: where it is kept, and where the attributes show it. */
static const struct item {
	size_t off;
	uint32_t field;  /* of PortCounters */
	uint16_t select; /* its bit there, 0: it has none */
	uint8_t shift;   /* words of 4 bytes instead of bytes */
} items[] = {
#define C(name) offsetof(struct tpm_ib_counters, name)
	{C(link_downed), IB_PM_LINK_DOWNED, 0x0004, 0},
	{C(rcv_errors), IB_PM_RCV_ERRORS, 0x0008, 0},
	{C(relay_errors), IB_PM_RELAY_ERRORS, 0x0020, 0},
	{C(xmit_discards), IB_PM_XMIT_DISCARDS, 0x0040, 0},
	{C(xmit_constraint), IB_PM_XMIT_CONSTRAINT, 0x0080, 0},
	{C(rcv_constraint), IB_PM_RCV_CONSTRAINT, 0x0100, 0},
	{C(vl15_dropped), IB_PM_VL15_DROPPED, 0x0800, 0},
	{C(tx_bytes), IB_PM_XMIT_DATA, 0x1000, 2},
	{C(rx_bytes), IB_PM_RCV_DATA, 0x2000, 2},
	{C(tx_packets), IB_PM_XMIT_PACKETS, 0x4000, 0},
	{C(rx_packets), IB_PM_RCV_PACKETS, 0x8000, 0},
	{C(xmit_wait), IB_PM_XMIT_WAIT, 0, 0},
};
#define ITEMS (sizeof(items) / sizeof(items[0]))

static uint64_t
value(const struct tpm_ib_counters *c, size_t off)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)c + off, sizeof(v));
	return v;
}

static uint64_t
since(const struct tpm_ib_pm *pm, const struct tpm_ib_counters *base, size_t off)
{
	return value(&pm->c, off) - value(base, off);
}

/* Adds a port's counters to the data; what is full stays full. */
static void
get_counters(const struct tpm_ib_pm *pm, uint8_t *mad)
{
	for (unsigned int i = 0; i < ITEMS; i++) {
		uint64_t v = prm_get(mad, items[i].field) + (since(pm, &pm->base, items[i].off) >> items[i].shift);

		prm_set(mad, items[i].field, v < PRM_MAX(items[i].field) ? (uint32_t)v : PRM_MAX(items[i].field));
	}
}

static void
get_extended(const struct tpm_ib_pm *pm, uint8_t *mad)
{
	uint64_t tx = since(pm, &pm->base_ext, C(tx_packets)), rx = since(pm, &pm->base_ext, C(rx_packets)),
		 tx_mc = since(pm, &pm->base_ext, C(tx_mcast)), rx_mc = since(pm, &pm->base_ext, C(rx_mcast));
	const uint64_t v[] = {since(pm, &pm->base_ext, C(tx_bytes)) >> 2,
			      since(pm, &pm->base_ext, C(rx_bytes)) >> 2,
			      tx,
			      rx,
			      tx - tx_mc,
			      rx - rx_mc,
			      tx_mc,
			      rx_mc};

	for (unsigned int i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		prm_set64(mad, IB_PM_EXT + 8 * i, prm_get64(mad, IB_PM_EXT + 8 * i) + v[i]);
}

static void
clear_counters(struct tpm_ib_pm *pm, uint32_t select)
{
	for (unsigned int i = 0; i < ITEMS; i++)
		/* What has no bit of its own goes with the errors that traffic makes. */
		if ((select & (items[i].select != 0 ? items[i].select : 0x0040)) != 0)
			memcpy((uint8_t *)&pm->base + items[i].off, (const uint8_t *)&pm->c + items[i].off,
			       sizeof(uint64_t));
}
#undef C

static uint16_t
counters(struct tpm_ib_pm *const *pm, unsigned int n, uint8_t *mad, bool ext)
{
	uint32_t port = prm_get(mad, IB_PM_PORT), select = prm_get(mad, IB_PM_SELECT);
	bool set = prm_get(mad, IB_MAD_METHOD) == IB_METHOD_SET, any = false;

	if (!set)
		memset(mad + IB_SMP_DATA + 4, 0, IB_MAD_SIZE - IB_SMP_DATA - 4);
	for (unsigned int i = 0; i < n; i++) {
		if (pm[i] == NULL || (port != i + 1 && port != IB_PM_ALL_PORTS))
			continue;
		any = true;
		if (set && ext)
			pm[i]->base_ext = pm[i]->c;
		else if (set)
			clear_counters(pm[i], select);
		else if (ext)
			get_extended(pm[i], mad);
		else
			get_counters(pm[i], mad);
	}
	return any ? 0 : IB_MAD_S_BAD_VALUE;
}

void
tpm_ib_pm(struct tpm_ib_pm *const *pm, unsigned int n, uint8_t *mad)
{
	uint32_t attr = prm_get(mad, IB_MAD_ATTR);
	uint16_t st = IB_MAD_S_BAD_ATTR;

	if (prm_get(mad, IB_MAD_CLASS_VERSION) != 1 || prm_get(mad, IB_MAD_BASE_VERSION) != 1) {
		st = IB_MAD_S_BAD_VERSION;
	} else if (attr == IB_PM_COUNTERS || attr == IB_PM_COUNTERS_EXT) {
		st = counters(pm, n, mad, attr == IB_PM_COUNTERS_EXT);
	} else if (attr == IB_ATTR_CLASS_INFO && prm_get(mad, IB_MAD_METHOD) == IB_METHOD_GET) {
		memset(mad + IB_SMP_DATA, 0, IB_MAD_SIZE - IB_SMP_DATA);
		mad[IB_SMP_DATA] = mad[IB_SMP_DATA + 1] = 1; /* base and class version */
		prm_set(mad, IB_PM_CAP, IB_PM_CAP_ALL_PORTS | IB_PM_CAP_EXT);
		mad[IB_SMP_DATA + 7] = RESP_TIME;
		st = 0;
	}
	prm_set(mad, IB_MAD_METHOD, IB_METHOD_GET | IB_METHOD_RESP);
	prm_set(mad, IB_MAD_STATUS, st);
}

void
tpm_ib_pma(struct tp_model *m, struct tpm_port *p, uint8_t *mad)
{
	struct tpm_ib_pm *pm[TP_MODEL_PORTS] = {NULL};

	/* A channel adapter answers for the port that was asked; "all" means that one too. */
	for (unsigned int i = 0; i < m->cfg.num_ports; i++)
		if (prm_get(mad, IB_PM_PORT) != IB_PM_ALL_PORTS || p->num == i + 1)
			pm[i] = &m->port[i].ibp.pm;
	tpm_ib_pm(pm, TP_MODEL_PORTS, mad);
}
