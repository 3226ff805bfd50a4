/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Arguments of a port: iface=NAME, gso=auto|on|off, qdisc_bypass=0|1. */
#include <errno.h>
#include <string.h>

#include <rte_kvargs.h>

#include "packet.h"

/* Which of the words is it? */
static int
word(const char *key, const char *value, const char *const *words, int n, int *which)
{
	char all[64] = "";

	for (*which = 0; *which < n; (*which)++)
		if (strcmp(value, words[*which]) == 0)
			return 0;
	for (int i = 0; i < n; i++) {
		strcat(all, i == 0 ? "" : ", ");
		strcat(all, words[i]);
	}
	PKT_LOG(ERR, "%s '%s' is none of %s\n", key, value, all);
	return -EINVAL;
}

static int
parse_one(const char *key, const char *value, void *arg)
{
	static const char *const gso[] = {[PKT_GSO_AUTO] = "auto", [PKT_GSO_ON] = "on", [PKT_GSO_OFF] = "off"};
	static const char *const bypass[] = {"0", "1"};
	struct pkt_port *port = arg;
	int which = 0, ret;

	if (value == NULL)
		value = "";
	if (strcmp(key, "iface") == 0) {
		if (strlen(value) >= sizeof(port->iface)) {
			PKT_LOG(ERR, "iface '%s' is longer than %zu characters\n", value, sizeof(port->iface) - 1);
			return -EINVAL;
		}
		strcpy(port->iface, value);
		return 0;
	}
	if (strcmp(key, "gso") == 0) {
		ret = word(key, value, gso, RTE_DIM(gso), &which);
		port->gso = (enum pkt_gso)which;
		return ret;
	}
	if (strcmp(key, "qdisc_bypass") == 0) {
		ret = word(key, value, bypass, RTE_DIM(bypass), &which);
		port->bypass = which != 0;
		return ret;
	}
	PKT_LOG(ERR, "argument '%s' is not known, want one of iface, gso, qdisc_bypass\n", key);
	return -EINVAL;
}

int
pkt_conf_parse(const char *text, struct pkt_port *port)
{
	struct rte_kvargs *kv = rte_kvargs_parse(text == NULL ? "" : text, NULL);
	int ret;

	if (kv == NULL) {
		PKT_LOG(ERR, "arguments '%s' are not KEY=VALUE,...\n", text);
		return -EINVAL;
	}
	ret = rte_kvargs_process(kv, NULL, parse_one, port);
	rte_kvargs_free(kv);
	if (ret == 0 && port->iface[0] == '\0') {
		PKT_LOG(ERR, "no interface: iface=NAME is needed\n");
		ret = -EINVAL;
	}
	return ret != 0 ? -EINVAL : 0;
}
