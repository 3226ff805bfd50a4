/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The bus "model": a card in software, in this process. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sys/mman.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>
#include <rte_service.h>
#include <rte_service_component.h>

#include <dev_driver.h>

#include "lib/thread/ctrl_thread.h"
#include "log.h"
#include "mlx4_prm_regs.h"
#include "model.h"
#include "open.h"
#include "tp_ibswitch.h"
#include "tp_model_dpdk.h"
#include "tp_switch.h"
#include "uar_map.h"

/* The model answers within the write that gives the command; what takes longer was told to time out. */
#define MODEL_CMD_TIMEOUT_MS 2000u
#define MODEL_STEP_BUDGET 64u

static struct model_bus *
to_model(struct mlx4_bus *bus)
{
	return (struct model_bus *)bus;
}

static uint32_t
model_read32(struct mlx4_bus *bus, uint32_t off)
{
	return tp_model_bar0_read32(to_model(bus)->model, off);
}

static void
model_write32(struct mlx4_bus *bus, uint32_t off, uint32_t val)
{
	tp_model_bar0_write32(to_model(bus)->model, off, val);
}

static int
model_cfg_read(struct mlx4_bus *bus, uint32_t off, void *buf, uint32_t len)
{
	return tp_model_cfg_read(to_model(bus)->model, off, buf, len);
}

static int
model_cfg_write(struct mlx4_bus *bus, uint32_t off, const void *buf, uint32_t len)
{
	return tp_model_cfg_write(to_model(bus)->model, off, buf, len);
}

static int
model_reset_done(struct mlx4_bus *bus)
{
	uint16_t vendor = 0;
	int rc = model_cfg_read(bus, 0, &vendor, sizeof(vendor));

	return rc != 0 ? rc : rte_le_to_cpu_16(vendor) == MLX4_PCI_VENDOR ? 0 : -ETIMEDOUT;
}

static int
model_dma_map(struct mlx4_bus *bus, void *addr, uint64_t iova, size_t len)
{
	return tp_model_dma_map(to_model(bus)->model, iova, len, addr, TP_DMA_READ | TP_DMA_WRITE);
}

static int
model_dma_unmap(struct mlx4_bus *bus, void *addr, uint64_t iova, size_t len)
{
	return tp_model_dma_unmap(to_model(bus)->model, iova, len);
}

/* All but the first n. */
static void
irq_disconnect(struct model_bus *b, unsigned int n)
{
	unsigned int i;

	for (i = n; i < b->irq.num; i++)
		tp_model_irq_set(b->model, i, -1);
	mlx4_irq_fds_close(&b->irq, b->bus.intr, n);
}

static int
model_irq_setup(struct mlx4_bus *bus, unsigned int n)
{
	struct model_bus *b = to_model(bus);
	unsigned int old = b->irq.num, i;
	int rc;

	if (n == 0) {
		irq_disconnect(b, 0);
		return 0;
	}
	rc = mlx4_irq_fds_open(&b->irq, bus->intr, n);
	for (i = old; rc == 0 && i < n; i++)
		rc = tp_model_irq_set(b->model, i, b->irq.fd[i]);
	if (rc != 0)
		irq_disconnect(b, old);
	return rc;
}

static void
model_irq_ack(struct mlx4_bus *bus)
{
	mlx4_irq_fds_ack(&to_model(bus)->irq);
}

static int
model_uar_lend(struct mlx4_bus *bus, uint32_t off, int fd)
{
	int rc;

	tp_model_unwatch(to_model(bus)->model);
	rc = tp_model_uar_lend(to_model(bus)->model, off / MLX4_UAR_PAGE_SIZE, fd);

	if (rc != 0)
		return rc;
	/* This process sees the same page as the card. */
	return mmap((void *)(uintptr_t)(bus->uar + off), MLX4_UAR_PAGE_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd < 0 ? bus->share_fd : fd, (off_t)off) == MAP_FAILED
		       ? -errno
		       : 0;
}

static int
model_irq_lend(struct mlx4_bus *bus, unsigned int vector, int fd)
{
	return tp_model_irq_set(to_model(bus)->model, vector, fd);
}

static struct tp_model *
model_of(struct mlx4_bus *bus)
{
	return to_model(bus)->model;
}

static void
run_stop(struct model_bus *b)
{
	if (b->has_service) {
		rte_service_component_runstate_set(b->service, 0);
		rte_service_runstate_set(b->service, 0);
		while (rte_service_may_be_active(b->service) == 1)
			rte_delay_us_sleep(10);
		rte_service_component_unregister(b->service);
		b->has_service = false;
	}
	tp_model_thread_stop(b->model);
}

static void
uar_unmap(struct model_bus *b)
{
	tp_model_unwatch(b->model);
	munmap((void *)(uintptr_t)b->bus.uar, b->bus.uar_len);
}

static void
model_close(struct mlx4_bus *bus)
{
	struct model_bus *b = to_model(bus);

	run_stop(b);
	irq_disconnect(b, 0);
	mlx4_model_mem_stop(b);
	uar_unmap(b);
	tp_model_destroy(b->model);
	rte_intr_instance_free(bus->intr);
	rte_free(b);
}

static const struct mlx4_bus_ops model_ops = {
	.name = "model",
	.read32 = model_read32,
	.write32 = model_write32,
	.cfg_read = model_cfg_read,
	.cfg_write = model_cfg_write,
	.reset_done = model_reset_done,
	.dma_map = model_dma_map,
	.dma_unmap = model_dma_unmap,
	.irq_setup = model_irq_setup,
	.irq_ack = model_irq_ack,
	.uar_lend = model_uar_lend,
	.irq_lend = model_irq_lend,
	.join = mlx4_model_join,
	.leave = mlx4_model_leave,
	.close = model_close,
	.model = model_of,
};

#define LINES 100u /* of broken rules at once; then so many a second */
#define LINES_A_SECOND 5u

/*
 * Programs on shared ports may break a rule with every work request. The counters have all of them, the log has the first, and how
 * many it has not. The model's lock is held.
 */
static bool
may_say(struct model_bus *b)
{
	uint64_t now = rte_get_timer_cycles(), hz = RTE_MAX(rte_get_timer_hz(), UINT64_C(1));

	if (b->lines_since == 0) {
		b->lines_since = now;
		b->lines = LINES;
	}
	if (now - b->lines_since >= hz) {
		b->lines = (uint32_t)RTE_MIN((uint64_t)LINES, b->lines + (now - b->lines_since) / hz * LINES_A_SECOND);
		b->lines_since = now;
		if (b->unsaid != 0)
			mlx4_log(RTE_LOG_WARNING,
				 "mlx4: %s: model: %" PRIu64 " more lines of broken rules were not said\n", b->name,
				 b->unsaid);
		b->unsaid = 0;
	}
	if (b->lines == 0) {
		b->unsaid++;
		return false;
	}
	b->lines--;
	return true;
}

static void
on_model_line(void *arg, enum tp_model_line kind, const char *line)
{
	struct model_bus *b = arg;

	if (kind != TP_LINE_NOTE && !may_say(b))
		return;
	mlx4_log(kind != TP_LINE_NOTE ? RTE_LOG_WARNING : RTE_LOG_DEBUG, "mlx4: %s: model: %s\n", b->name, line);
}

static int
wire_ethdev(struct model_bus *b, unsigned int port, char *err, size_t errlen)
{
	struct tp_wire *w;
	int rc = tp_wire_ethdev_create(b->conf.wire[port].name, &w, err, errlen);

	if (rc != 0)
		return rc;
	rc = tp_model_wire_attach(b->model, port + 1, w);
	if (rc != 0)
		w->ops->destroy(w);
	return rc;
}

static int
wire_one(struct model_bus *b, unsigned int port)
{
	static const char *const wire_name[] = {
		[MODEL_WIRE_ETHDEV] = "ethdev", [MODEL_WIRE_SWITCH] = "switch", [MODEL_WIRE_IBSWITCH] = "ibswitch"};
	enum model_wire kind = b->conf.wire[port].kind;
	char err[TP_SWITCH_TEXT] = "";
	int rc;

	if (kind == MODEL_WIRE_DEFAULT)
		kind = MODEL_WIRE_LOOPBACK;
	if (kind == MODEL_WIRE_NONE)
		return tp_model_wire_none(b->model, port + 1);
	if (kind == MODEL_WIRE_LOOPBACK)
		return tp_model_wire_loopback(b->model, port + 1);
	if (kind == MODEL_WIRE_SWITCH)
		rc = tp_model_wire_switch(b->model, port + 1, b->conf.wire[port].name, err);
	else if (kind == MODEL_WIRE_IBSWITCH)
		rc = tp_model_wire_ibswitch(b->model, port + 1, b->conf.wire[port].name, err);
	else
		rc = wire_ethdev(b, port, err, sizeof(err));
	if (rc != 0)
		MLX4_LOG(ERR, "%s: wire%u=%s:%s: %s", b->name, port, wire_name[kind], b->conf.wire[port].name, err);
	return rc;
}

static int
wire_all(struct model_bus *b)
{
	unsigned int p, n = b->conf.cfg.num_ports;
	bool cross =
		n == 2 && (b->conf.wire[0].kind == MODEL_WIRE_CROSS || b->conf.wire[1].kind == MODEL_WIRE_CROSS ||
			   (b->conf.wire[0].kind == MODEL_WIRE_DEFAULT && b->conf.wire[1].kind == MODEL_WIRE_DEFAULT));
	int rc = cross ? tp_model_wire_cross(b->model) : 0;

	for (p = 0; rc == 0 && p < n; p++) {
		if (!cross)
			rc = wire_one(b, p);
		if (rc == 0 && b->conf.impair[p].set)
			rc = tp_model_impair(b->model, p + 1, &b->conf.impair[p].imp);
	}
	return rc;
}

static int
break_all(struct model_bus *b)
{
	unsigned int p, k;
	int rc = 0;

	for (p = 0; p < b->conf.cfg.num_ports; p++)
		for (k = 0; k < TP_BREAKS && rc == 0; k++)
			if (b->conf.breaks[p][k] != 0)
				rc = tp_model_break(b->model, (enum tp_break)k, p + 1, b->conf.breaks[p][k]);
	return rc;
}

static int32_t
service_step(void *arg)
{
	return tp_model_step(arg, MODEL_STEP_BUDGET) != 0 ? 0 : -EAGAIN;
}

static int
service_start(struct model_bus *b)
{
	struct rte_service_spec spec = {
		.callback = service_step,
		.callback_userdata = b->model,
		.socket_id = b->bus.numa_node,
	};
	uint32_t core[RTE_MAX_LCORE];
	int rc;

	if (rte_service_lcore_list(core, RTE_DIM(core)) < 1) {
		MLX4_LOG(ERR, "%s: run=service: no service core; give one with -S or -s, or use run=thread", b->name);
		return -EINVAL;
	}
	snprintf(spec.name, sizeof(spec.name), "%.*s", (int)sizeof(spec.name) - 1, b->name);
	rc = rte_service_component_register(&spec, &b->service);
	if (rc != 0) {
		MLX4_LOG(ERR, "%s: cannot register the service: %s", b->name, rte_strerror(-rc));
		return rc;
	}
	b->has_service = true;
	rte_service_component_runstate_set(b->service, 1);
	rte_service_runstate_set(b->service, 1);
	/* Nobody else gives a core to a service that was added after start-up. */
	rte_service_map_lcore_set(b->service, core[0], 1);
	rte_service_lcore_start(core[0]);
	return 0;
}

struct starter {
	struct model_bus *b;
	int rc;
};

/* The card's thread has the CPUs of who starts it. */
static ctrl_thread_end
start_here(void *arg)
{
	struct starter *s = arg;

	s->rc = tp_model_thread_start(s->b->model, s->b->conf.cpu, s->b->conf.wake_us);
	return 0;
}

/* EAL probes devices on the main lcore, which may poll for ever: there the card would get what that lcore leaves of its CPU. */
static int
thread_start(struct model_bus *b)
{
	struct starter s = {.b = b};
	pthread_t tid;
	int err;

	if (b->conf.cpu >= 0)
		return tp_model_thread_start(b->model, b->conf.cpu, b->conf.wake_us);
	err = ctrl_thread_create(&tid, "mlx4-start", start_here, &s);
	if (err != 0)
		return -err;
	pthread_join(tid, NULL);
	return s.rc;
}

static int
run_start(struct model_bus *b)
{
	int rc = 0;

	if (b->conf.run == MODEL_RUN_SERVICE)
		return service_start(b);
	/* Where the kernel has no such thing, the card wakes up now and then. */
	if (b->conf.run != MODEL_RUN_STEP) {
		rc = tp_model_watch(b->model, (void *)(uintptr_t)b->bus.uar);
		if (rc != 0)
			MLX4_LOG(DEBUG, "%s: doorbells do not wake the card: %s", b->name, rte_strerror(-rc));
		rc = 0;
	}
	if (b->conf.run == MODEL_RUN_THREAD || b->conf.run == MODEL_RUN_POLL)
		rc = thread_start(b);
	if (rc != 0)
		MLX4_LOG(ERR, "%s: cannot run the card (cpu %d): %s", b->name, b->conf.cpu, rte_strerror(-rc));
	return rc;
}

static int
bus_init(struct model_bus *b, struct rte_device *dev)
{
	struct mlx4_bus *bus = &b->bus;

	bus->ops = &model_ops;
	bus->device_id = b->conf.cfg.device_id;
	bus->numa_node = dev->numa_node < 0 ? (int)rte_socket_id() : dev->numa_node;
	if (bus->numa_node < 0)
		bus->numa_node = 0;
	bus->max_vectors = MLX4_MSIX_VECTORS;
	bus->cmd_timeout_ms = MODEL_CMD_TIMEOUT_MS;
	bus->stepped = b->conf.run == MODEL_RUN_STEP;
	bus->polled = b->conf.run == MODEL_RUN_POLL ? &mlx4_model_polled : NULL;
	bus->dev = dev;
	bus->where = b->name;
	tp_model_uar(b->model, &bus->uar_len);
	bus->share_fd = tp_model_uar_fd(b->model);
	bus->uar = mlx4_uar_map(bus->share_fd, 0, bus->uar_len);
	if (bus->uar == NULL)
		return -rte_errno;
	bus->intr = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (bus->intr == NULL) {
		uar_unmap(b);
		return -ENOMEM;
	}
	rte_intr_fd_set(bus->intr, -1);
	rte_intr_type_set(bus->intr, RTE_INTR_HANDLE_EXT);
	return 0;
}

static int
replay(struct model_bus *b)
{
	char err[256];
	int rc;

	if (b->conf.replay[0] == '\0')
		return 0;
	rc = tp_model_replay(b->model, b->conf.replay, err);
	if (rc != 0)
		MLX4_LOG(ERR, "%s: replay=%s", b->name, err);
	return rc;
}

int
mlx4_bus_model_open(struct rte_device *dev, const char *name, const struct mlx4_model_conf *conf, struct mlx4_bus **out)
{
	struct model_bus *b = rte_zmalloc("mlx4_model", sizeof(*b), 0);
	int rc;

	if (b == NULL)
		return -ENOMEM;
	snprintf(b->name, sizeof(b->name), "%s", name);
	b->conf = *conf;
	b->conf.cfg.quirks = b->conf.quirks;
	for (unsigned int p = 0; p < TP_MODEL_PORTS; p++)
		b->conf.cfg.cc[p] = b->conf.cc[p];
	rc = tp_model_create(&b->conf.cfg, &b->model);
	if (rc != 0) {
		MLX4_LOG(ERR, "%s: cannot make the card: %s", b->name, rte_strerror(-rc));
		goto err_model;
	}
	tp_model_set_log(b->model, on_model_line, b);
	rc = replay(b);
	if (rc == 0)
		rc = bus_init(b, dev);
	if (rc != 0)
		goto err_bus;
	rc = mlx4_model_mem_start(b);
	if (rc != 0)
		goto err_mem;
	rc = wire_all(b);
	if (rc == 0 && b->conf.fault.nth != 0)
		rc = tp_model_fault(b->model, b->conf.fault.kind, b->conf.fault.opcode, b->conf.fault.nth,
				    b->conf.fault.status);
	if (rc == 0)
		rc = break_all(b);
	if (rc == 0)
		rc = run_start(b);
	if (rc != 0)
		goto err_run;
	*out = &b->bus;
	return 0;

err_run:
	mlx4_model_mem_stop(b);
err_mem:
	rte_intr_instance_free(b->bus.intr);
	uar_unmap(b);
err_bus:
	tp_model_destroy(b->model);
err_model:
	rte_free(b);
	return rc;
}
