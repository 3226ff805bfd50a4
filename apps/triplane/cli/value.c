/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Values: from the text of one token to its meaning, and what to say when it has none. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

const char *
cmd_next_word(const char *words, char *buf, size_t len)
{
	size_t n = strcspn(words, "|");

	snprintf(buf, len, "%.*s", (int)n, words);
	return words[n] == '|' ? words + n + 1 : NULL;
}

bool
cmd_word_in(const char *words, const char *word)
{
	char one[CMD_WORD_LEN];

	while (words != NULL) {
		words = cmd_next_word(words, one, sizeof(one));
		if (strcmp(one, word) == 0)
			return true;
	}
	return false;
}

void
cmd_tok_text(const struct cmd_tok *tok, char *buf, size_t len)
{
	switch (tok->kind) {
	case CMD_WORD: snprintf(buf, len, "%s", tok->want); break;
	case CMD_NUM: snprintf(buf, len, "<%s: %s>", tok->name, tok->want); break;
	case CMD_CHOICE: snprintf(buf, len, "%s", tok->want); break;
	default: snprintf(buf, len, "<%s: %s>", tok->name, tok->want); break;
	}
}

static int
parse_num(const char *text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	return *end == '\0' && errno == 0 ? 0 : -EINVAL;
}

/* "1,4-6" */
static int
parse_list(const char *text, struct cmd_val *val)
{
	char *end;

	val->n = 0;
	while (1) {
		unsigned long first, last;

		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		errno = 0;
		first = last = strtoul(text, &end, 10);
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return -EINVAL;
			last = strtoul(end + 1, &end, 10);
		}
		if (errno != 0 || first > last || last > UINT32_MAX || last - first >= CMD_MAX_LIST - val->n)
			return -EINVAL;
		for (; first <= last; first++)
			val->list[val->n++] = (uint32_t)first;
		if (*end == '\0')
			return 0;
		if (*end != ',')
			return -EINVAL;
		text = end + 1;
	}
}

static int
parse_hex(const char *text, struct cmd_val *val)
{
	size_t len = strlen(text), i;

	if (len == 0 || len % 2 != 0 || len / 2 > CMD_MAX_HEX || strspn(text, "0123456789abcdefABCDEF") != len)
		return -EINVAL;
	for (i = 0; i < len / 2; i++) {
		char octet[3] = {text[2 * i], text[2 * i + 1], '\0'};

		val->hex[i] = (uint8_t)strtoul(octet, NULL, 16);
	}
	val->n = (unsigned int)(len / 2);
	return 0;
}

static void
describe_ports(const uint32_t *ids, unsigned int n, char *buf, size_t len)
{
	unsigned int i;
	size_t at = 0;

	snprintf(buf, len, "none exist");
	for (i = 0; i < n && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%u", i == 0 ? "" : ",", ids[i]);
}

static int
parse_ports(struct cmd_reg *reg, const struct cmd_tok *tok, const char *text, struct cmd_val *val, char *err,
	    size_t len)
{
	uint32_t ids[CMD_MAX_LIST];
	unsigned int n = reg->ports == NULL ? 0 : reg->ports(reg->app, ids);
	unsigned int i, k;
	char have[256];

	describe_ports(ids, n, have, sizeof(have));
	if (tok->kind == CMD_PORTS && strcmp(text, "all") == 0) {
		if (n == 0) {
			snprintf(err, len,
				 "%s: 'all' names none, the program has no port; want one of a device (-a, --vdev) or "
				 "of 'ipoib add'",
				 tok->name);
			return -EINVAL;
		}
		memcpy(val->list, ids, n * sizeof(ids[0]));
		val->n = n;
		val->num = ids[0];
		return 0;
	}
	if (parse_list(text, val) != 0 || (tok->kind == CMD_PORT && val->n != 1)) {
		snprintf(err, len, "%s: '%s' is not %s (ports: %s)", tok->name, text, tok->want, have);
		return -EINVAL;
	}
	for (i = 0; i < val->n; i++) {
		for (k = 0; k < n && ids[k] != val->list[i]; k++)
			;
		if (k == n) {
			snprintf(err, len, "%s: there is no port %u (ports: %s)", tok->name, val->list[i], have);
			return -EINVAL;
		}
	}
	val->num = val->list[0];
	return 0;
}

int
cmd_parse_value(struct cmd_reg *reg, const struct cmd_tok *tok, const char *text, struct cmd_val *val, char *err,
		size_t err_len)
{
	struct in_addr in;
	int ret = 0;

	val->text = text;
	switch (tok->kind) {
	case CMD_WORD: ret = strcmp(text, tok->want) == 0 ? 0 : -EINVAL; break;
	case CMD_CHOICE: ret = cmd_word_in(tok->want, text) ? 0 : -EINVAL; break;
	case CMD_NUM:
		ret = parse_num(text, &val->num);
		if (ret == 0 && (val->num < tok->min || val->num > tok->max))
			ret = -EINVAL;
		break;
	case CMD_PORT:
	case CMD_PORTS: return parse_ports(reg, tok, text, val, err, err_len);
	case CMD_LIST: ret = parse_list(text, val); break;
	case CMD_MAC: ret = rte_ether_unformat_addr(text, &val->mac) == 0 && strlen(text) == 17 ? 0 : -EINVAL; break;
	case CMD_IP4:
		ret = inet_pton(AF_INET, text, &in) == 1 ? 0 : -EINVAL;
		val->ip4 = ret == 0 ? ntohl(in.s_addr) : 0;
		break;
	case CMD_HEX: ret = parse_hex(text, val); break;
	case CMD_STR:
	case CMD_REST: break;
	}
	if (ret != 0)
		snprintf(err, err_len, "%s: '%s' is not %s%s", tok->name, text,
			 tok->kind == CMD_NUM      ? "a number in "
			 : tok->kind == CMD_CHOICE ? "one of "
						   : "",
			 tok->want);
	return ret;
}

/* A value may be called like a word of its own command ("port mac add {port:port}"): the value is meant. */
const struct cmd_val *
cmd_val(const struct cmd_args *a, const char *name)
{
	const struct cmd_val *word = NULL;
	unsigned int i;

	for (i = 0; i < a->n; i++) {
		if (strcmp(a->tok[i].name, name) != 0)
			continue;
		if (a->tok[i].kind != CMD_WORD)
			return &a->val[i];
		word = &a->val[i];
	}
	return word;
}

bool
cmd_has(const struct cmd_args *a, const char *name)
{
	return cmd_val(a, name) != NULL;
}

uint64_t
cmd_num(const struct cmd_args *a, const char *name, uint64_t def)
{
	const struct cmd_val *v = cmd_val(a, name);

	return v == NULL ? def : v->num;
}

const char *
cmd_text(const struct cmd_args *a, const char *name)
{
	const struct cmd_val *v = cmd_val(a, name);

	return v == NULL ? NULL : v->text;
}

bool
cmd_is(const struct cmd_args *a, const char *name, const char *word)
{
	const char *text = cmd_text(a, name);

	return text != NULL && strcmp(text, word) == 0;
}
