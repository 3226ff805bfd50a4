/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Counters of a port under the names that a kernel's files have: what went over the wire, as the port says it to performance
 * management, and (hw_counters) those of its transport, whose names are tp_roce_stats()'s.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/roce/wire/mad.h"
#include "lib/roce/wire/wire.h"
#include "tp_mad_port.h"

#include "share_priv.h"

#define PERF_VERSION 1u

/* Those that the guest asked for, of all that are told. */
struct part {
	struct share_counters *r;
	const char *folder;
	uint32_t at;
	int err;
};

static void
tell(void *arg, const char *name, uint64_t value)
{
	struct part *p = arg;
	struct share_counters *r = p->r;

	if (p->at++ < r->first || r->num == SHARE_COUNTERS_NUM)
		return;
	snprintf(r->one[r->num].name, SHARE_COUNTER_NAME, "%s/%s", p->folder, name);
	r->one[r->num++].value = value;
}

/* Data is counted in words of four octets (16.1.3.5), here as there. */
static int
of_ethernet(const struct troce_dev *dev, struct part *p)
{
	struct mad_port_counters k;
	int err = troce_traffic(dev, &k);

	if (err != 0)
		return err;
	tell(p, "port_xmit_data", k.tx_bytes / 4);
	tell(p, "port_rcv_data", k.rx_bytes / 4);
	tell(p, "port_xmit_packets", k.tx_packets);
	tell(p, "port_rcv_packets", k.rx_packets);
	tell(p, "port_rcv_errors", k.rx_errors);
	tell(p, "port_xmit_discards", k.tx_discards);
	return 0;
}

/* Where PortCounters and PortCountersExtended (16.1.3.5, 16.1.4.11) have them: octets from the data on, and bits. */
static const struct pma_field {
	const char *name;
	uint8_t at, bits, shift;
} errors[] =
	{
		{"symbol_error", 4, 16, 0},
		{"link_error_recovery", 6, 8, 0},
		{"link_downed", 7, 8, 0},
		{"port_rcv_errors", 8, 16, 0},
		{"port_rcv_remote_physical_errors", 10, 16, 0},
		{"port_rcv_switch_relay_errors", 12, 16, 0},
		{"port_xmit_discards", 14, 16, 0},
		{"port_xmit_constraint_errors", 16, 8, 0},
		{"port_rcv_constraint_errors", 17, 8, 0},
		{"local_link_integrity_errors", 19, 4, 4},
		{"excessive_buffer_overrun_errors", 19, 4, 0},
		{"VL15_dropped", 22, 16, 0},
		{"port_xmit_wait", 40, 32, 0},
},
  traffic[] = {
	  {"port_xmit_data", 8, 64, 0},          {"port_rcv_data", 16, 64, 0},
	  {"port_xmit_packets", 24, 64, 0},      {"port_rcv_packets", 32, 64, 0},
	  {"unicast_xmit_packets", 40, 64, 0},   {"unicast_rcv_packets", 48, 64, 0},
	  {"multicast_xmit_packets", 56, 64, 0}, {"multicast_rcv_packets", 64, 64, 0},
};

static uint64_t
field(const uint8_t *data, const struct pma_field *f)
{
	const uint8_t *d = data + f->at;

	switch (f->bits) {
	case 64: return ib_get64(d);
	case 32: return ib_get32(d);
	case 16: return ib_get16(d);
	case 8: return *d;
	default: return (uint64_t)(*d >> f->shift) & ((1u << f->bits) - 1);
	}
}

/* What the port's own firmware answers. */
static int
ask_pma(struct troce_dev *dev, uint16_t attr, const struct pma_field *f, unsigned int num, struct part *p)
{
	struct tp_mad_packet mad = {.qpn = 1, .remote_qpn = 1};
	int err;

	mad_init(mad.data, MAD_CLASS_PERF, PERF_VERSION, MAD_GET, attr, 1);
	mad.data[MAD_PMA_DATA_AT + 1] = 1; /* the port */
	err = tp_mad_port_process(&dev->vctx.context, &mad, &mad);
	if (err != 0)
		return err;
	if ((ib_get16(mad.data + MAD_STATUS_AT) & 0x7fff) != MAD_OK)
		return EOPNOTSUPP;
	for (unsigned int i = 0; i < num; i++)
		tell(p, f[i].name, field(mad.data + MAD_PMA_DATA_AT, &f[i]));
	return 0;
}

static int
of_infiniband(struct troce_dev *dev, struct part *p)
{
	int err = ask_pma(dev, MAD_ATTR_PORT_COUNTERS, errors, RTE_DIM(errors), p);

	return err != 0 ? err : ask_pma(dev, MAD_ATTR_PORT_COUNTERS_EXT, traffic, RTE_DIM(traffic), p);
}

/* Holds a port open while it is asked: a card answers when it likes, and others want the list of ports meanwhile. */
struct hold {
	struct troce_guest g;
	const char *device;
	struct troce_dev *dev;
};

static void
hears_nothing(struct troce_guest *g, enum ibv_event_type type, void *obj)
{
	(void)g;
	(void)type;
	(void)obj;
}

/* It leaves by itself, soon. */
static void
leaves(struct troce_guest *g)
{
	(void)g;
}

static void
hold(struct troce_dev *dev, void *arg)
{
	struct hold *h = arg;

	if (h->dev == NULL && strcmp(dev->vctx.context.device->name, h->device) == 0 &&
	    troce_guest_add(dev, &h->g) == 0)
		h->dev = dev;
}

static void
of(struct troce_dev *dev, struct part *p)
{
	p->folder = "counters";
	p->err = dev->ib != NULL ? of_infiniband(dev, p) : of_ethernet(dev, p);
	if (p->err != 0)
		return;
	p->folder = "hw_counters";
	p->err = tp_roce_home_stats(&dev->vctx.context, tell, p);
	if (p->err == ENOTSUP)
		p->err = 0;
}

int
share_do_counters(struct share_guest *s, struct share_call *c)
{
	struct part p = {.r = &c->m->counters};
	struct hold h = {.g = {.async = hears_nothing, .leave = leaves}, .device = p.r->device};

	(void)s;
	p.r->device[sizeof(p.r->device) - 1] = '\0';
	p.r->num = 0;
	troce_open_all(hold, &h);
	if (h.dev == NULL)
		return ENODEV;
	of(h.dev, &p);
	troce_guest_del(h.dev, &h.g);
	return p.err;
}
