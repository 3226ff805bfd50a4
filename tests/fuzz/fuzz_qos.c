/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Configuration files of ports and groups. What was read is judged and printed; what was printed must be taken again
 * and print the same. A refusal is one line.
 */
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include "tp_qos.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tp_qos_limits limits = {.max_tc = 8,
					    .speed_mbps = 40000,
					    .pfc = true,
					    .ets = true,
					    .dscp = true,
					    .delay_drop = true,
					    .max_groups = 127,
					    .max_rx_queues = 128};

static void
must(bool ok)
{
	if (!ok)
		abort();
}

static void
one_line(int ret, const char *err)
{
	must(ret == 0 || (err[0] != '\0' && strchr(err, '\n') == NULL && strlen(err) < TP_ERR_LEN));
}

/* Calls fn with each line of a text. */
static void
each_line(char *text, void *obj, int (*fn)(void *obj, const char *word))
{
	char *save = NULL, *line;

	for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
		must(fn(obj, line) == 0);
}

static int
port_line(void *obj, const char *word)
{
	char err[TP_ERR_LEN];

	return tp_qos_port_word(obj, word, err);
}

static int
group_line(void *obj, const char *word)
{
	char err[TP_ERR_LEN];

	return tp_group_word(obj, word, err);
}

static int
take_port(void *arg, uint16_t port, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	struct tp_qos_port again;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)arg, (void)port;
	must(f != NULL);
	one_line(tp_qos_port_check(q, &limits, err), err);
	tp_qos_port_print(q, port % 2 == 0, f);
	must(fclose(f) == 0);
	tp_qos_port_default(&again);
	each_line(text, &again, port_line);
	must(memcmp(&again, q, sizeof(again)) == 0);
	free(text);
	return 0;
}

static int
take_group(void *arg, uint16_t port, const struct tp_group *g, char err[TP_ERR_LEN])
{
	struct tp_qos_port *q = arg;
	struct tp_group again;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	must(f != NULL);
	one_line(tp_group_check(g, q, &limits, err), err);
	tp_group_print(g, port % 2 == 0, f);
	must(fclose(f) == 0);
	tp_group_default(&again);
	memcpy(again.name, g->name, sizeof(again.name));
	each_line(text, &again, group_line);
	must(memcmp(&again, g, sizeof(again)) == 0);
	free(text);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tp_qos_file_ops ops = {take_port, take_group, NULL};
	static char path[32];
	static int fd = -1;
	struct tp_qos_port q;
	char err[512];
	int ret;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		must(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	tp_qos_port_default(&q);
	must(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	ret = tp_qos_file_read(path, &ops, &q, err, sizeof(err));
	must(ret == 0 || (strncmp(err, path, strlen(path)) == 0 && strchr(err, '\n') == NULL));
	return 0;
}
