/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "explain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT 512

struct teller {
	finding_fn fn;
	void *arg;
	unsigned int n;
};

static void __attribute__((format(printf, 4, 5)))
tell(struct teller *t, const char *kind, const char *object, const char *fmt, ...)
{
	char text[TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t->fn(t->arg, kind, object, text);
	t->n++;
}

#define EACH(e, list) for ((e) = (list) != NULL ? (list)->child : NULL; (e) != NULL; (e) = (e)->next)

/* "for 5 looks" of the watch, where it has counted some. */
static const char *
looks(const struct json *j, const char *key, char buf[64])
{
	uint64_t n = json_num(j, key, 0);

	buf[0] = '\0';
	if (n != 0)
		snprintf(buf, 64, ", seen at %" PRIu64 " looks in a row", n);
	return buf;
}

/* --- the card ---------------------------------------------------------------------------------------------- */

static void
explain_card(struct teller *t, const struct json *d)
{
	const struct json *regs = json_get(d, "registers"), *r;
	const struct json *objects = json_get(d, "objects");

	if (json_bool(d, "card_given_up"))
		tell(t, "card-given-up", "card",
		     "the driver gave the card up: it did not answer, or reported a fatal error; only a reset of its "
		     "ports brings it back");
	EACH(r, regs)
	if (r->key != NULL && strncmp(r->key, "error_buffer_", 13) == 0 && json_num(regs, r->key, 0) != 0) {
		tell(t, "fatal-error", "card", "its error buffer is not empty: %s is %s", r->key,
		     r->type == JSON_STRING ? r->text : "?");
		break;
	}
	if (json_num(objects, "command_timeouts", 0) != 0)
		tell(t, "command-timeout", "card", "%" PRIu64 " firmware commands were never answered",
		     json_num(objects, "command_timeouts", 0));
	if (json_num(objects, "lost_events", 0) != 0)
		tell(t, "lost-event", "card", "of %" PRIu64 " events nobody was told in time",
		     json_num(objects, "lost_events", 0));
	if (!json_bool(d, "started"))
		tell(t, "port-stopped", "port", "the port is not started");
	else if (!json_bool(d, "link_up"))
		tell(t, "link-down", "port", "the link is down: nothing is sent or received");
}

/* --- queues ------------------------------------------------------------------------------------------------ */

static void
explain_pair(struct teller *t, const char *queue, const struct json *p)
{
	const struct json *cq = json_get(p, "cq");
	uint64_t used = json_num(p, "blocks_in_use", 0), to_send = json_num(p, "card_has_to_send", 0);
	uint64_t done = json_num(cq, "waiting", 0), asked = json_num(p, "completions_asked", 0);
	char name[128], seen[64];

	snprintf(name, sizeof(name), "%s, priority %" PRIu64, queue, json_num(p, "priority", 0));
	if (json_bool(p, "failed"))
		tell(t, "queue-failed", name, "its queue pair went to the error state; %" PRIu64 " blocks wait in it",
		     used);
	else if (to_send != 0)
		tell(t, "waits-for-card", name,
		     "%" PRIu64 " blocks wait for the card, which stands at %s while the program has posted up to %s%s",
		     to_send, json_str(p, "card_sent_to", "?"), json_str(p, "posted_to", "?"),
		     looks(p, "looks_without_sending", seen));
	if (json_num(p, "looks_without_completion", 0) != 0 && asked != 0 && done == 0)
		tell(t, "completion-missing", name,
		     "the card sent all up to %s, but %" PRIu64
		     " completions that were asked for did not come%s: %" PRIu64 " blocks wait for them",
		     json_str(p, "card_sent_to", "?"), asked, looks(p, "looks_without_completion", seen), used);
	else if (done != 0)
		tell(t, "waits-for-sender", name,
		     "%" PRIu64 " completions wait until the program sends again; %" PRIu64
		     " blocks are not given back",
		     done, used);
	if (json_num(cq, "card_status", 0) != 0)
		tell(t, "cq-failed", name, "the card says of its completion queue: status %" PRIu64,
		     json_num(cq, "card_status", 0));
}

static void
explain_tx(struct teller *t, const struct json *d)
{
	const struct json *q, *p;
	char name[64];

	EACH(q, json_get(d, "tx_queues"))
	{
		snprintf(name, sizeof(name), "tx queue %" PRIu64, json_num(q, "queue", 0));
		EACH(p, json_get(q, "pairs"))
		explain_pair(t, name, p);
	}
}

static void
explain_set(struct teller *t, const char *name, const struct json *q, const struct json *s)
{
	const struct json *r;
	char seen[64];
	uint64_t waiting = json_num(json_get(s, "cq"), "waiting", 0), empty = 0, rings = 0;

	if (json_num(json_get(s, "cq"), "card_status", 0) != 0)
		tell(t, "cq-failed", name, "the card says of its completion queue: status %" PRIu64,
		     json_num(json_get(s, "cq"), "card_status", 0));
	if (waiting != 0)
		tell(t, "waits-for-poller", name, "%" PRIu64 " packets wait for the program to take them%s%s", waiting,
		     looks(q, "looks_without_taking", seen),
		     json_bool(q, "waits_for_interrupt") ? "; it waits for an interrupt" : "");
	EACH(r, json_get(s, "rings"))
	{
		rings++;
		empty += json_num(r, "buffers", 1) == 0;
	}
	if (empty != 0)
		tell(t, "no-buffers", name,
		     "%" PRIu64 " of %" PRIu64
		     " rings have no buffers: the card waits for the program, whose pool has %" PRIu64,
		     empty, rings, json_num(q, "pool_available", 0));
}

static void
explain_rx(struct teller *t, const struct json *d)
{
	const struct json *q, *s;
	char name[64];

	EACH(q, json_get(d, "rx_queues"))
	{
		snprintf(name, sizeof(name), "rx queue %" PRIu64, json_num(q, "queue", 0));
		EACH(s, json_get(q, "sets"))
		explain_set(t, name, q, s);
	}
}

static void
explain_eqs(struct teller *t, const struct json *d)
{
	const struct json *e;
	char name[64];

	EACH(e, json_get(d, "event_queues"))
	{
		const bool async = strcmp(json_str(e, "kind", ""), "asynchronous") == 0;

		snprintf(name, sizeof(name), "event queue %" PRIu64, json_num(e, "eq", 0));
		if (async && json_bool(e, "entry_waits"))
			tell(t, "waits-for-interrupt", name,
			     "an event waits at %s for the interrupt thread: it is busy, or was not told",
			     json_str(e, "driver_consumer", "?"));
		if (json_num(e, "card_status", 0) != 0)
			tell(t, "eq-failed", name, "the card says of it: status %" PRIu64,
			     json_num(e, "card_status", 0));
	}
}

/* --- commands, differences --------------------------------------------------------------------------------- */

static void
explain_commands(struct teller *t, const struct json *d)
{
	const struct json *c, *rc;
	char name[128];

	EACH(c, json_get(d, "commands"))
	{
		rc = json_get(c, "rc");
		if (rc == NULL || rc->number == 0)
			continue;
		snprintf(name, sizeof(name), "command %" PRIu64 ", %.64s", json_num(c, "number", 0),
			 json_str(c, "command", "?"));
		tell(t, "command-failed", name, "in_modifier %s: %s (status %s)", json_str(c, "in_modifier", "?"),
		     json_str(c, "answer", "?"), json_str(c, "status", "?"));
	}
}

/* The place of a value, from the root on: "tx_queues 0 pairs 0 qp state". */
static void
differences(struct teller *t, const struct json *j, const char *path)
{
	char here[TEXT], number[32];
	const struct json *c;
	unsigned int i = 0;

	if (json_bool(j, "differs")) {
		tell(t, "differs", path, "the driver believes %" PRIu64 ", the card says %" PRIu64,
		     json_num(j, "driver", 0), json_num(j, "card", 0));
		return;
	}
	if (j->type != JSON_OBJECT && j->type != JSON_ARRAY)
		return;
	EACH(c, j)
	{
		snprintf(number, sizeof(number), "%u", i++);
		snprintf(here, sizeof(here), "%.400s%s%.64s", path, path[0] != '\0' ? " " : "",
			 c->key != NULL ? c->key : number);
		differences(t, c, here);
	}
}

unsigned int
explain(const struct json *dump, finding_fn fn, void *arg)
{
	struct teller t = {.fn = fn, .arg = arg};

	explain_card(&t, dump);
	explain_tx(&t, dump);
	explain_rx(&t, dump);
	explain_eqs(&t, dump);
	differences(&t, dump, "");
	explain_commands(&t, dump);
	return t.n;
}

void
kinds(void (*fn)(const char *kind, const char *text))
{
	static const struct {
		const char *kind, *text;
	} all[] = {
		{"card-given-up", "the card did not answer, or reported a fatal error"},
		{"fatal-error", "the card's error buffer is not empty"},
		{"command-timeout", "firmware commands were never answered"},
		{"lost-event", "of events nobody was told in time"},
		{"port-stopped", "the port is not started"},
		{"link-down", "the link is down"},
		{"queue-failed", "a queue pair is in the error state"},
		{"waits-for-card", "a transmit queue waits for the card to send"},
		{"completion-missing", "the card sent, and did not say so"},
		{"waits-for-sender", "completions wait until the program sends again; usual for an idle queue"},
		{"cq-failed", "the card gave a completion queue up"},
		{"waits-for-poller", "packets wait for the program to take them"},
		{"no-buffers", "the card waits for receive buffers"},
		{"waits-for-interrupt", "an event waits for the interrupt thread"},
		{"eq-failed", "the card gave an event queue up"},
		{"differs", "the driver believes one thing, the card says another"},
		{"command-failed", "a firmware command was refused, or not answered"},
	};
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fn(all[i].kind, all[i].text);
}
