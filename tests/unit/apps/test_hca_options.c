/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The words of triplane-hca's command line: what each sets, its range, and what is said of a wrong one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/triplane-hca/hca.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct hca_options options;
static char *kept;

/* One blank between words; quotes are none of its business. */
static int
parse(const char *line)
{
	static char program[] = "triplane-hca";
	char *argv[64] = {program};
	int argc = 1;

	free(kept);
	kept = strdup(line);
	for (char *w = strtok(kept, " "); w != NULL; w = strtok(NULL, " "))
		argv[argc++] = w;
	return hca_parse(&options, argc, argv);
}

static int
down(void **state)
{
	(void)state;
	hca_options_free(&options);
	free(kept);
	kept = NULL;
	return 0;
}

static void
a_card_without_words(void **state)
{
	const struct hca_card *c = &options.card[0];

	(void)state;
	assert_int_equal(parse("--socket /run/a"), 0);
	assert_int_equal(options.num_cards, 1);
	assert_string_equal(c->socket, "/run/a");
	assert_null(c->wire[0]);
	assert_null(c->wire[1]);
	assert_null(c->trace);
	assert_null(options.eal);
	assert_int_equal(c->cpu, -1);
	assert_int_equal(c->wake_us, 50);
	assert_int_equal(c->cfg.device_id, 0x1007);
	assert_int_equal(c->cfg.fw_major, 2);
	assert_int_equal(c->cfg.fw_minor, 42);
	assert_int_equal(c->cfg.fw_subminor, 5000);
	assert_int_equal(c->cfg.num_ports, 2);
	assert_int_equal(c->cfg.port_type[0], TP_PORT_ETH);
	assert_int_equal(c->cfg.rxbuf_bytes, 0);
	assert_false(c->cfg.wol);
}

/* What a card is after all words, each with another value than it has without. */
static void
assert_all_words(const struct hca_card *c)
{
	assert_int_equal(c->cfg.device_id, 0x1003);
	assert_int_equal(c->cfg.fw_major, 1);
	assert_int_equal(c->cfg.fw_minor, 65535);
	assert_int_equal(c->cfg.fw_subminor, 3);
	assert_true(c->cfg.guid == UINT64_C(0x0002c903000abcd0));
	assert_int_equal(c->cfg.num_ports, 1);
	assert_int_equal(c->cfg.port_type[0], TP_PORT_IB);
	assert_int_equal(c->cfg.port_type[1], TP_PORT_AUTO);
	assert_string_equal(c->wire[0], "tap:a,b");
	assert_string_equal(c->wire[1], "none");
	assert_int_equal(c->cfg.ib_speed[0], TP_IB_FDR10);
	assert_int_equal(c->cfg.ib_speed[1], TP_IB_SDR);
	assert_int_equal(c->cfg.rate_mbps[0], 100000);
	assert_int_equal(c->cfg.rate_mbps[1], 7);
	assert_int_equal(c->cfg.rxbuf_bytes, 16384);
	assert_int_equal(c->cfg.xoff_bytes, 16384);
	assert_int_equal(c->cfg.xon_bytes, 1);
	assert_true(c->cfg.wol);
	assert_string_equal(c->trace, "-");
	assert_int_equal(c->cpu, 1023);
	assert_int_equal(c->wake_us, 1000000);
}

static void
every_word(void **state)
{
	(void)state;
	assert_int_equal(
		parse("--socket s --type cx3 --fw 1.65535.3 --guid 2c903000abcd0 --ports 1 --port0 ib --port1 auto "
		      "--wire0 tap:a,b --wire1 none --ib-speed0 fdr10 --ib-speed1 sdr --rate0 100000 --rate1 7 "
		      "--rxbuf 16384 --xoff 16384 --xon 1 --wol 1 --trace - --cpu 1023 --wake-us 1000000 "
		      "--eal --no-huge"),
		0);
	assert_all_words(&options.card[0]);
	assert_string_equal(options.eal, "--no-huge");
	hca_options_free(&options);
	assert_int_equal(options.num_cards, 0);
	/* The same in one word; a value may have commas, but none before NAME=. */
	assert_int_equal(
		parse("--card socket=s,type=cx3,fw=1.65535.3,guid=2c903000abcd0,ports=1,port0=ib,port1=auto,"
		      "wire0=tap:a,b,wire1=none,ib-speed0=fdr10,ib-speed1=sdr,rate0=100000,rate1=7,rxbuf=16384,"
		      "xoff=16384,xon=1,wol=1,trace=-,cpu=1023,wake-us=1000000"),
		0);
	assert_all_words(&options.card[0]);
	assert_string_equal(options.card[0].socket, "s");
	assert_int_equal(options.num_cards, 1);
}

static void
values_and_ranges(void **state)
{
	static const struct {
		const char *words;
		const char *error; /* NULL: taken */
	} row[] = {
		{"--type cx3pro", NULL},
		{"--type cx4", "--type 'cx4': wanted cx3 or cx3pro"},
		{"--type cx3p", "--type 'cx3p': wanted cx3 or cx3pro"},
		{"--fw 0.0.0", NULL},
		{"--fw 65535.65535.65535", NULL},
		{"--fw 65536.0.0", "--fw '65536.0.0': wanted three numbers 0..65535, such as 2.42.5000"},
		{"--fw 0.65536.0", "--fw '0.65536.0': wanted three numbers 0..65535, such as 2.42.5000"},
		{"--fw 0.0.65536", "--fw '0.0.65536': wanted three numbers 0..65535, such as 2.42.5000"},
		{"--fw 2.42", "--fw '2.42': wanted three numbers 0..65535, such as 2.42.5000"},
		{"--fw 2.42.1x", "--fw '2.42.1x': wanted three numbers 0..65535, such as 2.42.5000"},
		{"--guid ffffffffffffffff", NULL},
		{"--guid 1", NULL},
		{"--guid 0", "--guid '0': wanted hexadecimal 1..ffffffffffffffff"},
		{"--guid 10000000000000000", "--guid '10000000000000000': wanted hexadecimal 1..ffffffffffffffff"},
		{"--guid g", "--guid 'g': wanted hexadecimal 1..ffffffffffffffff"},
		{"--ports 0", "--ports '0': wanted 1..2"},
		{"--ports 2", NULL},
		{"--ports 3", "--ports '3': wanted 1..2"},
		{"--ports 1x", "--ports '1x': wanted 1..2"},
		{"--port0 eth", NULL},
		{"--port0 ethernet", "--port0 'ethernet': wanted eth, ib or auto"},
		{"--port1 x", "--port1 'x': wanted eth, ib or auto"},
		{"--ib-speed0 fdr", NULL},
		{"--ib-speed0 edr", "--ib-speed0 'edr': wanted sdr, ddr, qdr, fdr10 or fdr"},
		{"--ib-speed1 10", "--ib-speed1 '10': wanted sdr, ddr, qdr, fdr10 or fdr"},
		{"--rate0 0", NULL},
		{"--cc0 prio:0+3/ai-rate:1 --cc1 prio:7", NULL},
		{"--cc0 prio:9", "--cc0 'prio:9': wanted prio:PRIO+... with PRIO in 0..7"},
		{"--cc1 prio:3/ai-rate:0", "--cc1 'ai-rate:0': wanted ai-rate:N with N in 1..4294967295 Mb/s"},
		{"--type cx3 --cc1 prio:3", "--cc1 'prio:3': wanted --type cx3pro"},
		{"--ports 1 --cc1 prio:3", "--cc1 'prio:3': wanted --ports 2"},
		{"--rate0 100001", "--rate0 '100001': wanted 0..100000"},
		{"--rate1 -1", "--rate1 '-1': wanted 0..100000"},
		{"--rate1 100001", "--rate1 '100001': wanted 0..100000"},
		{"--rxbuf 16383", "--rxbuf '16383': wanted 16384..16777216"},
		{"--rxbuf 16777216 --xoff 16777216", NULL},
		{"--rxbuf 16777217", "--rxbuf '16777217': wanted 16384..16777216"},
		{"--xoff 0", "--xoff '0': wanted 1..16777216"},
		{"--xoff 524288", NULL},
		{"--xoff 524289", "--xoff '524289': wanted 1..524288, the bytes of rxbuf"},
		{"--xoff 16777217", "--xoff '16777217': wanted 1..16777216"},
		{"--rxbuf 20000 --xoff 20001", "--xoff '20001': wanted 1..20000, the bytes of rxbuf"},
		{"--xon 0", "--xon '0': wanted 1..16777216"},
		{"--xon 262144", NULL}, /* without xoff: half of the buffer */
		{"--xon 262145", "--xon '262145': wanted 1..262144, the bytes of xoff"},
		{"--rxbuf 20000 --xon 10001", "--xon '10001': wanted 1..10000, the bytes of xoff"},
		{"--xoff 100 --xon 100", NULL},
		{"--xoff 100 --xon 101", "--xon '101': wanted 1..100, the bytes of xoff"},
		{"--xon 16777217", "--xon '16777217': wanted 1..16777216"},
		{"--wol 0", NULL},
		{"--wol 2", "--wol '2': wanted 0..1"},
		{"--cpu 0", NULL},
		{"--cpu 1024", "--cpu '1024': wanted 0..1023"},
		{"--wake-us 1", NULL},
		{"--wake-us 0", "--wake-us '0': wanted 1..1000000"},
		{"--wake-us 1000001", "--wake-us '1000001': wanted 1..1000000"},
		{"--wake-us 1.5", "--wake-us '1.5': wanted 1..1000000"},
		{"--nonsense", "unknown option or missing value; see --help"},
		{"--wol", "unknown option or missing value; see --help"},
		{"word", "-- 'word': wanted options only; see --help"},
		{"--eal a --eal b", "--eal 'b': wanted it once"},
		{"--card type=cx3", "--socket PATH is missing; see --help"},
		{"--card socket=t,socket=u", "--card 'socket=u': wanted one socket for a card"},
		{"--card socket=t,card=u", "--card 'card=u': wanted OPTION=VALUE with an option of a card; see --help"},
		{"--card socket=t,eal=u", "--card 'eal=u': wanted OPTION=VALUE with an option of a card; see --help"},
		{"--card socket=t,help=u", "--card 'help=u': wanted OPTION=VALUE with an option of a card; see --help"},
		{"--card socket", "--card 'socket': wanted OPTION=VALUE with an option of a card; see --help"},
		{"--card =x", "--card '=x': wanted OPTION=VALUE with an option of a card; see --help"},
		{"--card socke=x", "--card 'socke=x': wanted OPTION=VALUE with an option of a card; see --help"},
		{"--card sockets=x", "--card 'sockets=x': wanted OPTION=VALUE with an option of a card; see --help"},
		{"--card socket=t,ports=3", "--ports '3': wanted 1..2"},
		{"--card socket=t,wol=1", NULL},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		char line[160];
		int rc;

		snprintf(line, sizeof(line), "--socket s %s", row[i].words);
		rc = parse(line);
		assert_int_equal(rc, row[i].error == NULL ? 0 : -1);
		assert_string_equal(options.error, row[i].error == NULL ? "" : row[i].error);
		hca_options_free(&options);
	}
	assert_int_equal(parse("--type cx3"), -1);
	assert_string_equal(options.error, "--socket PATH is missing; see --help");
	hca_options_free(&options);
	assert_int_equal(parse(""), -1);
	assert_string_equal(options.error, "--socket PATH is missing; see --help");
}

/* A socket or a card more begins the next one; each has a GUID of its own, with room for those of its ports. */
static void
several_cards(void **state)
{
	char line[600] = "";

	(void)state;
	assert_int_equal(parse("--type cx3 --socket a --socket b --ports 1 --card socket=c,wire0=dgram:x,y --socket d"),
			 0);
	assert_int_equal(options.num_cards, 4);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(options.card[i].socket[0], 'a' + i);
		assert_int_equal(options.card[i].cfg.device_id, i == 0 ? 0x1003 : 0x1007);
		assert_int_equal(options.card[i].cfg.num_ports, i == 1 ? 1 : 2);
		assert_int_equal(options.card[i].cfg.guid - options.card[0].cfg.guid, 8 * i);
		assert_int_equal(options.card[i].wake_us, 50);
		assert_int_equal(options.card[i].cpu, -1);
	}
	assert_string_equal(options.card[2].wire[0], "dgram:x,y");
	assert_null(options.card[3].wire[0]);
	hca_options_free(&options);
	/* The rule of thresholds holds for each. */
	assert_int_equal(parse("--socket a --xoff 100 --xon 101 --socket b"), -1);
	assert_string_equal(options.error, "--xon '101': wanted 1..100, the bytes of xoff");
	hca_options_free(&options);
	for (unsigned int i = 0; i < 16; i++)
		strcat(line, i % 2 == 0 ? "--socket a " : "--card socket=b ");
	assert_int_equal(parse(line), 0);
	assert_int_equal(options.num_cards, 16);
	hca_options_free(&options);
	strcat(line, "--socket c");
	assert_int_equal(parse(line), -1);
	assert_string_equal(options.error, "--socket: wanted at most 16 cards");
	hca_options_free(&options);
	strcpy(line + strlen(line) - strlen("--socket c"), "--card socket=c");
	assert_int_equal(parse(line), -1);
	assert_string_equal(options.error, "--socket: wanted at most 16 cards");
}

/* Help goes to standard output and names every option. */
static void
help(void **state)
{
	static const char *const names[] = {"socket",    "type",  "fw",  "guid", "ports",   "port0", "wire0",
					    "ib-speed0", "rate0", "cc0", "cc1",  "rxbuf",   "xoff",  "xon",
					    "wol",       "trace", "eal", "cpu",  "wake-us", "card"};
	char text[8192] = "", word[32];
	int pipes[2], out = dup(1);
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	fflush(stdout);
	dup2(pipes[1], 1);
	assert_int_equal(parse("--help"), 1);
	fflush(stdout);
	dup2(out, 1);
	close(out);
	close(pipes[1]);
	n = read(pipes[0], text, sizeof(text) - 1);
	close(pipes[0]);
	assert_true(n > 0);
	for (unsigned int i = 0; i < COUNT(names); i++) {
		snprintf(word, sizeof(word), "--%s", names[i]);
		assert_non_null(strstr(text, word));
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_teardown(f, down)
	const struct CMUnitTest tests[] = {
		T(a_card_without_words), T(every_word), T(values_and_ranges), T(several_cards), T(help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
