/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Who gets which sockets: a file of lines, the first one that fits decides. Its words are those of the messaging accelerator of
 * this card's time:
 *
 *   application-id NAME|* ID|*     what follows is for programs of this name that were started with this TRIPLANE_SOCKETS_ID
 *   use triplane|vma|os ROLE ADDRESS[/LENGTH]|*:PORT[-PORT]|*
 *
 * ROLE is tcp_server (the address that it listens at), tcp_client (the one that it calls), udp_receiver (the one that it is bound
 * to), udp_sender (the one of a datagram), udp_connect (the one that it is connected to).
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sockets.h"

#define RULES 256u

struct rule {
	bool engine;
	enum role role;
	rte_be32_t ip, mask;
	uint16_t first, last;
};

static struct rule rule[RULES];
static unsigned int num_rules;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* NULL, or what is wrong. */
static const char *
address(struct rule *r, char *text)
{
	char *slash = strchr(text, '/'), *end;
	unsigned long len = 32;

	if (strcmp(text, "*") == 0)
		return NULL;
	if (slash != NULL) {
		*slash = '\0';
		len = strtoul(slash + 1, &end, 10);
		if (slash[1] < '0' || slash[1] > '9' || *end != '\0' || len > 32)
			return "the length of a prefix is not 0..32";
	}
	if (inet_pton(AF_INET, text, &r->ip) != 1)
		return "an address is not like 192.0.2.1";
	r->mask = len == 0 ? 0 : rte_cpu_to_be_32(UINT32_MAX << (32 - len));
	r->ip &= r->mask;
	return NULL;
}

static const char *
ports(struct rule *r, const char *text)
{
	unsigned int first, last;
	char more;
	int n;

	r->last = 65535;
	if (strcmp(text, "*") == 0)
		return NULL;
	n = sscanf(text, "%5u-%5u%c", &first, &last, &more);
	if (n == 1 && strchr(text, '-') == NULL && strspn(text, "0123456789") == strlen(text))
		last = first;
	else if (n != 2)
		return "ports are not like 80 or 5000-5010";
	if (first > 65535 || last > 65535 || first > last)
		return "a port is not 0..65535, or the last one comes before the first";
	r->first = (uint16_t)first;
	r->last = (uint16_t)last;
	return NULL;
}

static const char *const roles[] = {
	[TCP_SERVER] = "tcp_server",     [TCP_CLIENT] = "tcp_client",   [UDP_SENDER] = "udp_sender",
	[UDP_RECEIVER] = "udp_receiver", [UDP_CONNECT] = "udp_connect",
};

static const char *
use(char *transport, const char *role, char *where)
{
	struct rule r = {0};
	char *colon = where == NULL ? NULL : strchr(where, ':');
	unsigned int k = 0;
	const char *why;

	if (colon == NULL)
		return "a rule is 'use triplane|os ROLE ADDRESS:PORTS'";
	r.engine = strcmp(transport, "os") != 0;
	if (r.engine && strcmp(transport, "triplane") != 0 && strcmp(transport, "vma") != 0)
		return "who gets it is not triplane, vma or os";
	*colon = '\0';
	why = address(&r, where);
	if (why == NULL)
		why = ports(&r, colon + 1);
	if (why != NULL)
		return why;
	while (k < RTE_DIM(roles) && strcmp(role, roles[k]) != 0)
		k++;
	if (k == RTE_DIM(roles))
		return "a role is not tcp_server, tcp_client, udp_sender, udp_receiver or udp_connect";
	r.role = (enum role)k;
	if (num_rules == RULES)
		return "there are more than 256 rules";
	rule[num_rules++] = r;
	return NULL;
}

static bool
is(const char *pattern, const char *what)
{
	return strcmp(pattern, "*") == 0 || (what != NULL && strcmp(pattern, what) == 0);
}

static const char *
line_of(char *line, bool *ours)
{
	char *save, *word = strtok_r(line, " \t\r\n", &save), *a, *b, *c;

	if (word == NULL || word[0] == '#')
		return NULL;
	a = strtok_r(NULL, " \t\r\n", &save);
	b = strtok_r(NULL, " \t\r\n", &save);
	c = strtok_r(NULL, " \t\r\n", &save);
	if (a == NULL || b == NULL)
		return "a line is not whole";
	if (strcmp(word, "application-id") == 0) {
		*ours = is(a, program_invocation_short_name) && is(b, setting_text(ID_ENV));
		return NULL;
	}
	if (strcmp(word, "use") != 0)
		return "a line begins with neither 'use' nor 'application-id'";
	return *ours ? use(a, b, c) : NULL;
}

static void
load(void)
{
	const char *path = setting_text(RULES_ENV), *why;
	unsigned int number = 0;
	char line[512];
	bool ours = true;
	FILE *file;

	if (path == NULL)
		return;
	file = fopen(path, "re");
	if (file == NULL) {
		say("%s: %s: there are no rules", path, strerror(errno));
		return;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		number++;
		why = line_of(line, &ours);
		if (why != NULL)
			say("%s, line %u: %s; the line is left out", path, number, why);
	}
	fclose(file);
}

bool
rules_engine(enum role role, const struct tcp_addr *addr)
{
	const uint16_t port = rte_be_to_cpu_16(addr->port);

	(void)pthread_once(&once, load);
	for (unsigned int i = 0; i < num_rules; i++) {
		const struct rule *r = &rule[i];

		if (r->role == role && (addr->ip & r->mask) == r->ip && r->first <= port && port <= r->last)
			return r->engine;
	}
	return true;
}
