/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Drivers of EAL's buses that open the driver's own bus and do nothing more: what becomes of the card is the stage's to say.
 * They have names of their own, so that the driver itself, which is linked too and may lie in DPDK's folder, is not asked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <bus_pci_driver.h>
#include <bus_vdev_driver.h>

#include "apps/common/eal.h"
#include "card.h"
#include "drivers/mlx4/bus/open.h"
#include "drivers/mlx4/hca/history.h"
#include "drivers/mlx4/pmd/card.h"
#include "drivers/mlx4/pmd/devargs.h"
#include "drivers/mlx4/pmd/model_args.h"

#define MEM_MIB 384u
#define NOBODY "0000:00:00.0" /* a list of allowed devices with nothing of ours: they come when they are asked for */

static struct {
	struct ck *c;
	struct mlx4_bus *bus;
	struct rte_device *dev;
	struct mlx4_model_conf conf;
	bool registered; /* the driver of PCI devices */
} at;

static const struct ck_device *
wanted(void)
{
	return &at.c->o->dev;
}

static int
model_probe(struct rte_vdev_device *vdev)
{
	struct mlx4_eth_args eth;
	int rc;

	at.dev = &vdev->device;
	rc = mlx4_model_args_parse(wanted()->name, wanted()->args, &at.conf, &eth);
	return rc != 0 ? rc : mlx4_bus_model_open(&vdev->device, wanted()->name, &at.conf, &at.bus);
}

static int
user_probe(struct rte_vdev_device *vdev)
{
	at.dev = &vdev->device;
	return mlx4_bus_user_open(&vdev->device, wanted()->name, wanted()->socket, &at.bus);
}

static int
no_remove(struct rte_vdev_device *vdev)
{
	return mlx4_card_remove(&vdev->device);
}

static struct rte_vdev_driver model_driver = {
	.probe = model_probe, .remove = no_remove, .drv_flags = RTE_VDEV_DRV_NEED_IOVA_AS_VA};
static struct rte_vdev_driver user_driver = {
	.probe = user_probe, .remove = no_remove, .drv_flags = RTE_VDEV_DRV_NEED_IOVA_AS_VA};
RTE_PMD_REGISTER_VDEV(check_model, model_driver);
RTE_PMD_REGISTER_VDEV(check_user, user_driver);

static int
pci_probe(struct rte_pci_driver *drv, struct rte_pci_device *pci)
{
	if (at.c == NULL || wanted()->bus != CK_BUS_PCI || strcmp(pci->device.name, wanted()->name) != 0)
		return 1;
	at.dev = &pci->device;
	return mlx4_bus_pci_open(pci, &at.bus);
}

static int
pci_remove(struct rte_pci_device *pci)
{
	return mlx4_card_remove(&pci->device);
}

static const struct rte_pci_id pci_ids[] = {
	{RTE_PCI_DEVICE(MLX4_PCI_VENDOR, MLX4_PCI_DEV_CX3)},
	{RTE_PCI_DEVICE(MLX4_PCI_VENDOR, MLX4_PCI_DEV_CX3_PRO)},
	{.vendor_id = 0},
};

static struct rte_pci_driver pci_driver = {
	.driver = {.name = "check_pci"},
	.id_table = pci_ids,
	.drv_flags = RTE_PCI_DRV_NEED_MAPPING | RTE_PCI_DRV_INTR_LSC,
	.probe = pci_probe,
	.remove = pci_remove,
};

static bool
eal_start(struct ck *c)
{
	static const struct app_eal app = {.name = "triplane-check", .mem_mib = MEM_MIB};
	char name[] = "triplane-check", quiet[] = "--no-telemetry", level[] = "--log-level=lib.eal:error",
	     no_pci[] = "--no-pci", allow[] = "--allow=" NOBODY, iova[] = "--iova-mode=va";
	/* The EAL does not know yet of the card in software, which wants virtual addresses. */
	char *argv[] = {name, quiet, level, c->o->dev.bus == CK_BUS_PCI ? allow : no_pci, iova, NULL};
	const int argc = c->o->dev.bus == CK_BUS_PCI ? 4 : 5;
	char err[APP_EAL_TEXT];
	int rc;

	ck_step(c, "starts the EAL");
	rc = app_eal_start(&app, argc, argv, err);
	if (rc != 0) {
		ck_say(c, CK_FAIL, "eal", "%s", err);
		return false;
	}
	ck_say(c, CK_FOLDER, "", "%s", rte_eal_get_runtime_dir());
	return true;
}

bool
ck_open(struct ck *c)
{
	const struct ck_device *d = &c->o->dev;
	char name[2 * CK_NAME];
	int rc;

	if (at.c == NULL && !eal_start(c))
		return false;
	at.c = c;
	at.bus = NULL;
	ck_step(c, "opens the card");
	switch (d->bus) {
	case CK_BUS_PCI:
		/* Now at the head, also of a driver that came with the EAL's folder; once, or the list would be a circle. */
		if (!at.registered) {
			at.registered = true;
			rte_pci_register(&pci_driver);
			mlx4_pci_to_the_front(&pci_driver);
		}
		snprintf(name, sizeof(name), "%s", d->name);
		break;
	case CK_BUS_MODEL: snprintf(name, sizeof(name), "check_model_%s", d->name); break;
	default: snprintf(name, sizeof(name), "check_user_%s", d->name);
	}
	rc = rte_dev_probe(name);
	c->bus = at.bus;
	if (rc == 0 && at.bus != NULL)
		return true;
	ck_say(c, CK_FAIL, "open", "%s: the card cannot be opened: %s", d->name,
	       rc != 0                ? rte_strerror(-rc)
	       : d->bus == CK_BUS_PCI ? "no driver took it; bound to vfio-pci?"
				      : "no driver took it");
	return false;
}

void
ck_close(struct ck *c)
{
	if (c->bus != NULL)
		c->bus->ops->close(c->bus);
	c->bus = NULL;
	if (at.dev != NULL && at.bus != NULL)
		rte_dev_remove(at.dev);
	at.bus = NULL;
	at.dev = NULL;
}

int
ck_eth_args(struct ck *c, const char *more, struct mlx4_eth_args *args)
{
	const struct mlx4_arg_table table = {mlx4_eth_arg_table, mlx4_num_eth_args, args};
	static struct mlx4_model_conf conf;
	struct mlx4_eth_args first;
	char text[CK_ARGS + 128];
	int rc;

	/* As given, and then those of the stage, which may say the same keys. */
	snprintf(text, sizeof(text), "%s", c->o->dev.args);
	if (c->o->dev.bus == CK_BUS_MODEL) {
		rc = mlx4_model_args_parse(c->o->dev.name, text, &conf, &first);
	} else {
		mlx4_eth_args_default(&first);
		rc = mlx4_devargs_parse(c->o->dev.name, text,
					&(struct mlx4_arg_table){mlx4_eth_arg_table, mlx4_num_eth_args, &first}, 1);
	}
	*args = first;
	if (rc == 0)
		rc = mlx4_devargs_parse(c->o->dev.name, more, &table, 1);
	if (rc != 0)
		ck_say(c, CK_FAIL, "arguments", "'%s' and '%s' are refused", c->o->dev.args, more);
	return rc;
}

struct mlx4_quirks
ck_quirks_given(struct ck *c)
{
	struct mlx4_eth_args args;

	mlx4_eth_args_default(&args);
	(void)ck_eth_args(c, "", &args);
	return args.quirks;
}

struct mlx4_hca *
ck_bare(struct ck *c)
{
	struct mlx4_hca *hca = rte_zmalloc("check_hca", sizeof(*hca), 0);

	if (hca == NULL) {
		ck_say(c, CK_FAIL, "memory", "no memory for the card");
		return NULL;
	}
	hca->bus = c->bus;
	hca->quirks = ck_quirks_given(c);
	rte_spinlock_init(&hca->lock);
	pthread_mutex_init(&hca->shared, NULL);
	if (mlx4_cmd_init(hca) == 0) {
		mlx4_cmd_as_found(hca);
		return hca;
	}
	ck_say(c, CK_FAIL, "memory", "no memory for mailboxes");
	rte_free(hca);
	return NULL;
}

void
ck_bare_end(struct ck *c, struct mlx4_hca *hca, bool reset)
{
	int rc;

	if (reset) {
		ck_step(c, "resets the card");
		rc = mlx4_hca_reset(hca);
		ck_judge(c, rc == 0, "given-back", "%s", rc == 0 ? "the card is reset" : rte_strerror(-rc));
	}
	mlx4_cmd_fini(hca);
	rte_free(hca);
}

/* The card of the ports of this device. */
static struct mlx4_hca *
hca_of(const struct mlx4_bus *bus)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV_OF(id, at.dev)
	{
		struct mlx4_hca *hca = mlx4_eth_of(&rte_eth_devices[id])->hca;

		if (hca->bus == bus)
			return hca;
	}
	return NULL;
}

struct mlx4_hca *
ck_ports(struct ck *c, const char *more)
{
	return ck_ports_as(c, more, NULL);
}

static struct mlx4_hca *
ports_up(struct ck *c, const char *more, const struct mlx4_quirks *q)
{
	struct mlx4_eth_args args;
	struct mlx4_hca *hca;
	int rc;

	if (c->bus == NULL && !ck_open(c))
		return NULL;
	if (ck_eth_args(c, more, &args) != 0)
		return NULL;
	if (q != NULL)
		args.quirks = *q;
	ck_step(c, "brings the card up with its ports");
	rc = mlx4_card_probe(c->bus, &args);
	if (rc != 0) {
		ck_say(c, CK_FAIL, "bring-up", "the card does not come up: %s", rte_strerror(-rc));
		return NULL;
	}
	hca = hca_of(c->bus);
	if (hca == NULL) {
		ck_say(c, CK_SKIP, "ethernet", "the card has no Ethernet port");
		ck_ports_end(c);
		return NULL;
	}
	ck_identities(c, hca);
	return hca;
}

struct mlx4_hca *
ck_ports_as(struct ck *c, const char *more, const struct mlx4_quirks *q)
{
	struct mlx4_hca *hca = ports_up(c, more, q);

	if (hca == NULL)
		ck_close(c);
	return hca;
}

void
ck_ports_end(struct ck *c)
{
	ck_step(c, "closes the ports and resets the card");
	if (at.dev != NULL)
		rte_dev_remove(at.dev);
	at.dev = NULL;
	at.bus = NULL;
	c->bus = NULL;
}

int
ck_port_id(const struct mlx4_hca *hca, unsigned int port)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV_OF(id, at.dev)
	{
		const struct mlx4_eth *eth = mlx4_eth_of(&rte_eth_devices[id]);

		if (eth->hca == hca && eth->port == port)
			return id;
	}
	return -1;
}

void
ck_identities(struct ck *c, const struct mlx4_hca *hca)
{
	unsigned int i;
	uint8_t b[8];

	for (i = 0; hca->node_guid != 0 && i < 4; i++) {
		const uint64_t guid = rte_cpu_to_be_64(hca->node_guid + i);

		ck_identity(c, "guid", &guid, sizeof(guid));
	}
	for (i = 0; i < hca->caps.num_ports && i < MLX4_MAX_PORTS; i++) {
		const uint64_t mac = rte_cpu_to_be_64(hca->port[i].mac);

		memcpy(b, &mac, sizeof(mac));
		if (hca->port[i].mac != 0)
			ck_identity(c, "mac", b + 2, 6);
	}
}

FILE *
ck_keep(struct ck *c, const char *name)
{
	char path[CK_TEXT];

	if (c->o->bundle == NULL || (size_t)snprintf(path, sizeof(path), "%s/%s", c->o->bundle, name) >= sizeof(path))
		return NULL;
	return fopen(path, "we");
}

static void
box(FILE *f, const char *what, const uint8_t *b, unsigned int len)
{
	unsigned int i;

	if (len == 0)
		return;
	/* One line each, so that an address in it stays in one piece. */
	fprintf(f, "  %s ", what);
	for (i = 0; i < len; i++)
		fprintf(f, "%02x", b[i]);
	fputc('\n', f);
}

void
ck_keep_commands(struct ck *c, struct mlx4_hca *hca)
{
	static struct mlx4_cmd_record rec[MLX4_HISTORY];
	unsigned int i, n = mlx4_history_get(hca->history, rec);
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "commands-%s.txt", c->stage->word);
	f = ck_keep(c, name);
	if (f == NULL)
		return;
	for (i = 0; i < n; i++) {
		const struct mlx4_cmd_record *r = &rec[i];
		const struct mlx4_cmd_desc *d = mlx4_cmd_describe(r->opcode);

		fprintf(f,
			"%" PRIu64 " %s (0x%03x) op_modifier %u in_modifier 0x%08x rc %d status 0x%02x %" PRIu64
			" ns\n",
			r->number, d != NULL ? d->name : "?", r->opcode, r->op_modifier, r->in_modifier, r->rc,
			r->status, r->took_ns);
		box(f, "in", r->in, r->in_len);
		box(f, "out", r->out, r->out_len);
	}
	fclose(f);
}

void
ck_judge_model(struct ck *c, const struct mlx4_hca *hca)
{
	struct tp_model *m = hca->bus->ops->model == NULL ? NULL : hca->bus->ops->model(hca->bus);
	char last[256];

	if (m == NULL)
		return;
	tp_model_last_violation(m, last, sizeof(last));
	ck_judge(c, tp_model_violations_total(m) == 0, "rules",
		 "%" PRIu64 " rules of the programming interface broken%s%s", tp_model_violations_total(m),
		 last[0] != '\0' ? ", the last one: " : "", last);
}

static struct {
	bool died;
	void (*next)(struct mlx4_hca *hca);
} watch;

static void
on_dead(struct mlx4_hca *hca)
{
	watch.died = true;
	if (watch.next != NULL)
		watch.next(hca);
}

void
ck_watch(struct mlx4_hca *hca)
{
	watch.died = false;
	watch.next = hca->on_dead;
	hca->on_dead = on_dead;
}

bool
ck_judge_down(struct ck *c, double ms)
{
	return ck_judge(c, !watch.died, "teardown", "%s after %.1f ms",
			watch.died ? "the card did not give back all that it had, and was reset" : "down and reset",
			ms);
}

void
ck_finish(struct ck *c, struct mlx4_hca *hca)
{
	const uint64_t since = rte_get_timer_cycles();

	ck_keep_commands(c, hca);
	ck_judge_model(c, hca);
	ck_judge(c, !hca->dead, "alive", "%s", hca->dead ? "the card was given up" : "it answered to the end");
	ck_watch(hca);
	ck_ports_end(c);
	ck_judge_down(c, (double)(rte_get_timer_cycles() - since) * 1e3 / (double)rte_get_timer_hz());
}
