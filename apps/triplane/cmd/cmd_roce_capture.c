/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Captures of RoCE ports to files that Wireshark opens (O-5). */
#include <errno.h>
#include <string.h>

#include "apps/triplane/port/roce.h"
#include "commands.h"

static int
do_start(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	const struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	struct roce_port *r = roce_open_of(&app->port[p->id]);
	int ret;

	if (r == NULL)
		return -ENETDOWN;
	ret = tp_roce_capture_start(r->ctx, cmd_text(a, "file"), (uint32_t)cmd_num(a, "snaplen", 0));
	if (ret == 0)
		return 0;
	if (ret == EBUSY)
		return app_err(-EBUSY, "port %u: a capture runs; 'roce capture stop %u' first", p->id, p->id);
	return app_err(-ret, "port %u: %s: %s", p->id, cmd_text(a, "file"), strerror(ret));
}

static int
do_stop(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	const struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	struct roce_port *r = roce_open_of(&app->port[p->id]);
	uint64_t captured, lost;
	struct out o;
	int ret;

	if (r == NULL)
		return -ENETDOWN;
	ret = tp_roce_capture_stop(r->ctx, &captured, &lost);
	if (ret == ENOENT)
		return app_err(-ENOENT, "port %u: no capture runs; 'roce capture start %u FILE' begins one", p->id,
			       p->id);
	out_init(&o, stdout, app->json || a->json);
	out_u64(&o, "packets", captured);
	out_u64(&o, "lost", lost);
	out_done(&o);
	return ret == 0 ? 0 : app_err(-ret, "port %u: the capture is not whole: %s", p->id, strerror(ret));
}

static const struct cmd table[] = {
	{"RoCE", "roce capture start {port:port} {file:str} [{snaplen:64..4352}]",
	 "Writes the RoCE packets that a port sends and receives to a pcapng file, or so many octets of each, until "
	 "stopped or the port is.",
	 do_start, false},
	{"RoCE", "roce capture stop {port:port}",
	 "Ends it, and shows how many packets are in the file and how many came too fast.", do_stop, true},
};

int
cmd_roce_capture_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
