/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Device arguments, each by its own: what a value makes of the card, where its range ends, and which line a wrong one gets. */
#include <errno.h>
#include <stddef.h>

#include "drivers/mlx4/hca/port/type.h"
#include "drivers/mlx4/pmd/model_args.h"
#include "rig.h"
#include "rte_pmd_mlx4.h"

#define GUID UINT64_C(0x0002c90300a1b200) /* of the first card; others are eight apart */

static struct mlx4_model_conf conf;
static struct mlx4_eth_args eth;

static int
parse(const char *text)
{
	memset(&conf, 0x5a, sizeof(conf));
	memset(&eth, 0x5a, sizeof(eth));
	return mlx4_model_args_parse("net_mlx4_model3", text, &conf, &eth);
}

static void
taken(const char *text)
{
	if (parse(text) != 0)
		fail_msg("%s was refused", text);
}

/* --- what is taken ------------------------------------------------------------------------------------------------- */

static void
test_defaults(void **state)
{
	static const char *const none[] = {NULL, ""};
	struct mlx4_model_conf want = {.cpu = -1, .wake_us = 3000, .run = MODEL_RUN_THREAD};
	unsigned int i;

	tp_model_config_default(&want.cfg);
	want.cfg.guid = GUID + 3 * 8;
	for (i = 0; i < RTE_DIM(none); i++) {
		assert_int_equal(parse(none[i]), 0);
		assert_memory_equal(&conf, &want, sizeof(conf));
		assert_true(eth.check_fw && eth.rss_udp && eth.rss_raw_ip);
		assert_false(eth.bf || eth.vmq || eth.mac_loopback);
		assert_int_equal(eth.tx_inline, 0);
		assert_int_equal(eth.port_type[0], MLX4_PORT_WANT_AUTO);
		assert_int_equal(eth.port_type[1], MLX4_PORT_WANT_AUTO);
	}
	/* The number at the end of the name, however long, or none */
	assert_int_equal(mlx4_model_args_parse("net_mlx4_model12", "", &conf, &eth), 0);
	assert_int_equal(conf.cfg.guid, GUID + 12 * 8);
	assert_int_equal(mlx4_model_args_parse("net_mlx4_model", "", &conf, &eth), 0);
	assert_int_equal(conf.cfg.guid, GUID);
	assert_int_equal(mlx4_model_args_parse("7", "", &conf, &eth), 0);
	assert_int_equal(conf.cfg.guid, GUID + 7 * 8);
}

/* A key that sets one number of the card's, at both ends of its range and beyond them. */
static const struct {
	const char *key;
	size_t at;
	unsigned int size;
	uint64_t min, max;
} numbers[] = {
#define CFG(f) offsetof(struct mlx4_model_conf, cfg.f), sizeof(((struct mlx4_model_conf *)0)->cfg.f)
	{"guid", CFG(guid), 1, UINT64_MAX - 8},
	{"ports", CFG(num_ports), 1, 2},
	{"wol", CFG(wol), 0, 1},
	{"rate0", CFG(rate_mbps[0]), 0, 100000},
	{"rate1", CFG(rate_mbps[1]), 0, 100000},
	{"rxbuf", CFG(rxbuf_bytes), 16384, 16777216},
	{"xoff", CFG(xoff_bytes), 1, 524288},
	{"xon", CFG(xon_bytes), 1, 262144},
#undef CFG
	{"cpu", offsetof(struct mlx4_model_conf, cpu), sizeof(int), 0, 1023},
	{"wake-us", offsetof(struct mlx4_model_conf, wake_us), sizeof(uint32_t), 1, 1000000},
};

static uint64_t
number_at(size_t at, unsigned int size)
{
	uint64_t v = 0;

	memcpy(&v, (const uint8_t *)&conf + at, size);
	return v;
}

static void
test_numbers(void **state)
{
	char text[64];
	unsigned int i;

	for (i = 0; i < RTE_DIM(numbers); i++) {
		const uint64_t ends[] = {numbers[i].min, numbers[i].max};
		unsigned int k;

		for (k = 0; k < 2; k++) {
			snprintf(text, sizeof(text), "%s=%" PRIu64, numbers[i].key, ends[k]);
			taken(text);
			assert_int_equal(number_at(numbers[i].at, numbers[i].size), ends[k]);
			snprintf(text, sizeof(text), "%s=0x%" PRIx64, numbers[i].key, ends[k]);
			taken(text);
			assert_int_equal(number_at(numbers[i].at, numbers[i].size), ends[k]);
		}
		snprintf(text, sizeof(text), "%s=%" PRIu64, numbers[i].key, numbers[i].max + 1);
		rig_log_begin();
		assert_int_equal(parse(text), -EINVAL);
		rig_log_one(text, "wanted");
		if (numbers[i].min == 0)
			continue;
		snprintf(text, sizeof(text), "%s=%" PRIu64, numbers[i].key, numbers[i].min - 1);
		rig_log_begin();
		assert_int_equal(parse(text), -EINVAL);
		rig_log_one(text, "wanted");
	}
}

static void
test_cards(void **state)
{
	taken("type=cx3");
	assert_int_equal(conf.cfg.device_id, 0x1003);
	taken("type=cx3pro,fw=1.2.3");
	assert_int_equal(conf.cfg.device_id, 0x1007);
	assert_int_equal(conf.cfg.fw_major, 1);
	assert_int_equal(conf.cfg.fw_minor, 2);
	assert_int_equal(conf.cfg.fw_subminor, 3);
	taken("fw=65535.65535.65535");
	assert_int_equal(conf.cfg.fw_major, 65535);
	assert_int_equal(conf.cfg.fw_minor, 65535);
	assert_int_equal(conf.cfg.fw_subminor, 65535);
	taken("wol=1,run=service");
	assert_true(conf.cfg.wol);
	assert_int_equal(conf.run, MODEL_RUN_SERVICE);
	taken("run=step");
	assert_int_equal(conf.run, MODEL_RUN_STEP);
	taken("run=poll");
	assert_int_equal(conf.run, MODEL_RUN_POLL);
	taken("run=thread");
	assert_int_equal(conf.run, MODEL_RUN_THREAD);
}

static void
test_ports(void **state)
{
	taken("port0=ib,port1=auto,sense0=none,sense1=eth,stored0=ib,stored1=eth");
	assert_int_equal(conf.cfg.port_type[0], TP_PORT_IB);
	assert_int_equal(conf.cfg.port_type[1], TP_PORT_AUTO);
	assert_int_equal(conf.cfg.sense[0], TP_SENSE_NONE);
	assert_int_equal(conf.cfg.sense[1], TP_SENSE_ETH);
	assert_true(conf.cfg.stored_ib[0]);
	assert_false(conf.cfg.stored_ib[1]);
	taken("port0=eth,sense0=wire,sense1=ib,stored0=eth,stored1=ib");
	assert_int_equal(conf.cfg.port_type[0], TP_PORT_ETH);
	assert_int_equal(conf.cfg.sense[0], TP_SENSE_WIRE);
	assert_int_equal(conf.cfg.sense[1], TP_SENSE_IB);
	assert_false(conf.cfg.stored_ib[0]);
	assert_true(conf.cfg.stored_ib[1]);
	taken("ib-speed0=sdr,ib-speed1=fdr");
	assert_int_equal(conf.cfg.ib_speed[0], TP_IB_SDR);
	assert_int_equal(conf.cfg.ib_speed[1], TP_IB_FDR);
	taken("ib-speed0=fdr10,ib-speed1=ddr");
	assert_int_equal(conf.cfg.ib_speed[0], TP_IB_FDR10);
	assert_int_equal(conf.cfg.ib_speed[1], TP_IB_DDR);
}

static void
test_wires(void **state)
{
	char text[600], name[520];

	taken("wire0=loopback,wire1=none");
	assert_int_equal(conf.wire[0].kind, MODEL_WIRE_LOOPBACK);
	assert_int_equal(conf.wire[1].kind, MODEL_WIRE_NONE);
	taken("wire0=cross");
	assert_int_equal(conf.wire[0].kind, MODEL_WIRE_CROSS);
	assert_int_equal(conf.wire[1].kind, MODEL_WIRE_DEFAULT);
	taken("wire1=cross");
	taken("wire0=cross,wire1=cross");
	taken("wire0=ethdev:net_tap0,wire1=switch:s/mtu:9000");
	assert_int_equal(conf.wire[0].kind, MODEL_WIRE_ETHDEV);
	assert_string_equal(conf.wire[0].name, "net_tap0");
	assert_int_equal(conf.wire[1].kind, MODEL_WIRE_SWITCH);
	assert_string_equal(conf.wire[1].name, "s/mtu:9000");
	taken("wire0=ibswitch:a");
	assert_int_equal(conf.wire[0].kind, MODEL_WIRE_IBSWITCH);
	assert_string_equal(conf.wire[0].name, "a");
	/* As long as a name may be, and one more */
	memset(name, 'y', sizeof(name));
	name[511] = '\0';
	snprintf(text, sizeof(text), "wire1=switch:%s", name);
	taken(text);
	assert_string_equal(conf.wire[1].name, name);
	name[511] = 'y';
	name[512] = '\0';
	snprintf(text, sizeof(text), "wire1=switch:%s", name);
	rig_log_begin();
	assert_int_equal(parse(text), -EINVAL);
	rig_log_one("wire1=switch:yyy", "wanted loopback, cross, none, ethdev:NAME");
}

static void
test_impairments(void **state)
{
	const struct tp_impair *i0 = &conf.impair[0].imp, *i1 = &conf.impair[1].imp;

	taken("impair0=drop:1/corrupt:2/dup:3/reorder:4/symbol:6/short:7/delay:5/"
	      "seed:18446744073709551615,impair1=drop:1000000");
	assert_true(conf.impair[0].set && conf.impair[1].set);
	assert_int_equal(i0->drop_ppm, 1);
	assert_int_equal(i0->corrupt_ppm, 2);
	assert_int_equal(i0->dup_ppm, 3);
	assert_int_equal(i0->reorder_ppm, 4);
	assert_int_equal(i0->symbol_ppm, 6);
	assert_int_equal(i0->short_ppm, 7);
	assert_int_equal(i0->delay_us, 5);
	assert_int_equal(i0->seed, UINT64_MAX);
	assert_int_equal(i1->drop_ppm, 1000000);
	assert_int_equal(i1->delay_us, 0);
	taken("impair1=delay:10000000/dup:0x10");
	assert_false(conf.impair[0].set);
	assert_int_equal(i1->delay_us, 10000000);
	assert_int_equal(i1->dup_ppm, 16);
}

static void
test_stored_cc(void **state)
{
	static char text[1100] = "cc1=prio:0";

	taken("cc0=prio:3+4/ai-rate:5/prio:0,cc1=prio:7");
	assert_string_equal(conf.cc[0], "prio:3+4/ai-rate:5/prio:0");
	assert_string_equal(conf.cc[1], "prio:7");
	taken("type=cx3");
	assert_string_equal(conf.cc[0], "");
	memset(text + strlen(text), '/', 4 + 1023 - strlen(text));
	taken(text);
	assert_int_equal(strlen(conf.cc[1]), 1023);
	strcat(text, "/");
	rig_log_begin();
	assert_int_equal(parse(text), -EINVAL);
	rig_log_one("cc1=prio:0", "a shorter list");
}

static void
test_faults(void **state)
{
	taken("fail=INIT_HCA:1:255");
	assert_int_equal(conf.fault.kind, TP_FAULT_STATUS);
	assert_int_equal(conf.fault.opcode, 0x007);
	assert_int_equal(conf.fault.nth, 1);
	assert_int_equal(conf.fault.status, 255);
	taken("fail=0x9:1000000:1");
	assert_int_equal(conf.fault.opcode, 0x009);
	assert_int_equal(conf.fault.nth, 1000000);
	assert_int_equal(conf.fault.status, 1);
	taken("timeout=9:0x10");
	assert_int_equal(conf.fault.kind, TP_FAULT_TIMEOUT);
	assert_int_equal(conf.fault.opcode, 0x009);
	assert_int_equal(conf.fault.nth, 16);
	assert_int_equal(conf.fault.status, 0);
	taken("rubbish=QUERY_FW:2:7");
	assert_int_equal(conf.fault.kind, TP_FAULT_RUBBISH);
	assert_int_equal(conf.fault.status, 7);
	taken("slow=QUERY_FW:2:255");
	assert_int_equal(conf.fault.kind, TP_FAULT_SLOW);
	assert_int_equal(conf.fault.status, 255);
}

static void
test_driver(void **state)
{
	taken("check-fw-version=0,bf=1,tx-inline=104,rss-udp=0,rss-raw-ip=0,rss-or-vmq=vmq,mac-loopback=1,port-type0="
	      "ib,"
	      "port-type1=eth");
	assert_false(eth.check_fw || eth.rss_udp || eth.rss_raw_ip);
	assert_true(eth.bf && eth.vmq && eth.mac_loopback);
	assert_int_equal(eth.tx_inline, 104);
	assert_int_equal(eth.port_type[0], MLX4_PORT_WANT_IB);
	assert_int_equal(eth.port_type[1], MLX4_PORT_WANT_ETH);
	taken("rss-or-vmq=rss,tx-inline=0,port-type0=auto,bf=0,rss-udp=1");
	assert_false(eth.vmq || eth.bf);
	assert_true(eth.rss_udp);
	assert_int_equal(eth.port_type[0], MLX4_PORT_WANT_AUTO);
}

/* Thresholds lie in their buffer: in one that is named, and in that of 524288 octets. */
static void
test_thresholds(void **state)
{
	taken("rxbuf=20000,xoff=20000,xon=20000");
	taken("rxbuf=20000,xon=10000");
	taken("xoff=524288");
	taken("xoff=100,xon=100");
}

/* --- what is refused ----------------------------------------------------------------------------------------------- */

static const struct {
	const char *text, *said, *wanted;
} refused[] = {
	{"type=cx4", "type=cx4", "wanted cx3 or cx3pro"},
	{"fw=1.2", "fw=1.2", "A.B.C"},
	{"fw=1.2.", "fw=1.2.", "A.B.C"},
	{"fw=1.2.3.4", "fw=1.2.3.4", "A.B.C"},
	{"fw=1.2.3x", "fw=1.2.3x", "A.B.C"},
	{"fw=-1.2.3", "fw=-1.2.3", "A.B.C"},
	{"fw=65536.0.0", "65536", "each 0..65535"},
	{"fw=0.65536.0", "65536", "each 0..65535"},
	{"fw=0.0.65536", "65536", "each 0..65535"},
	{"fw=000000000001.2.3.", "fw=0000", "A.B.C"},
	{"ports=2x", "ports=2x", "a number, 1..2"},
	{"ports= 2", "ports=", "a number, 1..2"},
	{"ports=+2", "ports=+2", "a number, 1..2"},
	{"guid=99999999999999999999", "guid=9999", "a number, 1..18446744073709551607"},
	{"port1=x", "port1=x", "eth, ib or auto"},
	{"sense0=x", "sense0=x", "wire, none, eth or ib"},
	{"stored1=auto", "stored1=auto", "eth or ib"},
	{"ib-speed1=edr", "ib-speed1=edr", "sdr, ddr, qdr, fdr10 or fdr"},
	{"wire0=switch:", "wire0=switch:", "switch:NAME"},
	{"wire0=ethdev", "wire0=ethdev", "ethdev:NAME"},
	{"wire1=crosses", "wire1=crosses", "loopback, cross, none"},
	{"impair0=drop:1000001", "drop:1000001", "drop:N with N in 0..1000000, lost packets in a million"},
	{"impair0=delay:10000001", "delay:10000001", "delay:N with N in 0..10000000, microseconds"},
	{"impair0=drop", "impair0=drop", "one of drop:N"},
	{"impair0=drop:", "drop:", "drop:N with N"},
	{"impair0=drop:1x", "drop:1x", "drop:N with N"},
	{"impair0=drop:-1", "drop:-1", "drop:N with N"},
	{"impair0=dro:1", "dro:1", "one of drop:N"},
	{"impair0=drops:1", "drops:1", "one of drop:N"},
	{"impair0=dup:1/x:1", "x:1", "several are joined by '/'"},
	{"impair1=seed:x", "impair1=x", "a number, 0..18446744073709551615"},
	{"impair1=seed", "impair1=seed", "one of drop:N"},
	{"cc0=prio:8", "cc0=prio:8", "prio:PRIO+... with PRIO in 0..7"},
	{"cc1=prio:3/threshold:32", "cc1=threshold:32", "threshold:N with N in 1..31"},
	{"cc0=prio:3/initial-alpha:5", "cc0=initial-alpha:5", "a parameter of the card's congestion control"},
	{"fail=INIT_HCA:1", "fail=INIT_HCA:1", "OPCODE:NTH:STATUS"},
	{"fail=INIT_HCA:1:1:1", "fail=INIT_HCA:1:1:1", "OPCODE:NTH:STATUS"},
	{"fail=INIT_HCA:1:0", "fail=INIT_HCA:1:0", "1..255"},
	{"fail=INIT_HCA:1:256", "fail=INIT_HCA:1:256", "1..255"},
	{"fail=INIT_HCA:1:1x", "fail=INIT_HCA:1:1x", "1..255"},
	{"fail=INIT_HCA:0:1", "fail=INIT_HCA:0:1", "1..1000000"},
	{"fail=INIT_HCA:1000001:1", "1000001", "1..1000000"},
	{"fail=INIT_HCA:-1:1", "fail=INIT_HCA:-1:1", "1..1000000"},
	{"fail=INIT_HCA:1y:1", "fail=INIT_HCA:1y:1", "1..1000000"},
	{"fail=INIT_HCX:1:1", "fail=INIT_HCX:1:1", "a command's name or number"},
	{"fail=0x000:1:1", "fail=0x000:1:1", "a command's name or number"},
	{"fail=7x:1:1", "fail=7x:1:1", "a command's name or number"},
	{"timeout=INIT_HCA", "timeout=INIT_HCA", "OPCODE:NTH, "},
	{"timeout=INIT_HCA:1:1", "timeout=INIT_HCA:1:1", "OPCODE:NTH, "},
	{"rubbish=INIT_HCA:1", "rubbish=INIT_HCA:1", "OPCODE:NTH:SEED, "},
	{"slow=INIT_HCA:1:256", "slow=INIT_HCA:1:256", "1..255 hundredths of a second"},
	{"run=", "run=", "a value"},
	{"run=x", "run=x", "thread, service, poll or step"},
	{"bf=2", "bf=2", "0 or 1"},
	{"bf=01", "bf=01", "0 or 1"},
	{"bf=/", "bf=/", "0 or 1"},
	{"tx-inline=105", "tx-inline=105", "a number, 0..104"},
	{"rss-or-vmq=x", "rss-or-vmq=x", "rss or vmq"},
	{"port-type1=x", "port-type1=x", "eth, ib or auto"},
	{"bf=0,bf=0", "bf=0", "the key once"},
	{"bogus=1", "unknown device argument 'bogus'", " check-fw-version port-type0 "},
	{"bogus=1", "unknown device argument 'bogus'", " run cpu wake-us"},
	/* What no single key can show */
	{"ports=1,wire0=cross", "wire0=cross", "two ports"},
	{"ports=1,wire1=none", "ports=1", "something is said of the second port"},
	{"ports=1,impair1=drop:1", "ports=1", "something is said of the second port"},
	{"ports=1,cc1=prio:3", "ports=1", "something is said of the second port"},
	{"type=cx3,cc1=prio:3", "cc1=prio:3", "a cx3pro with congestion=1"},
	{"congestion=0,cc0=prio:3", "cc0=prio:3", "a cx3pro with congestion=1"},
	{"ports=1,rate1=1", "ports=1", "something is said of the second port"},
	{"wire0=cross,wire1=none", "wire1=(not cross)", "cross on both ports or on none"},
	{"wire0=loopback,wire1=cross", "wire0=(not cross)", "cross on both ports or on none"},
	{"rxbuf=20000,xoff=20001", "xoff=20001", "1..20000, the bytes of a buffer"},
	{"xoff=524289", "xoff=524289", "1..524288, the bytes of a buffer"},
	{"rxbuf=20000,xon=10001", "xon=10001", "1..10000, the bytes of xoff"},
	{"xoff=100,xon=101", "xon=101", "1..100, the bytes of xoff"},
};

static void
test_refused(void **state)
{
	char text[256] = "";
	unsigned int i;

	for (i = 0; i < RTE_DIM(refused); i++) {
		rig_log_begin();
		if (parse(refused[i].text) != -EINVAL)
			fail_msg("%s was taken", refused[i].text);
		rig_log_one(refused[i].said, refused[i].wanted);
	}
	/* More of them than anybody can have meant */
	for (i = 0; i < 33; i++)
		strcat(text, i == 0 ? "bf=0" : ",bf=0");
	rig_log_begin();
	assert_int_equal(parse(text), -EINVAL);
	rig_log_one("device arguments 'bf=0,bf=0", "key=value pairs");
}

/* --- the list of them ---------------------------------------------------------------------------------------------- */

static void
test_list(void **state)
{
	struct rte_pmd_mlx4_arg a;
	unsigned int i;

	assert_int_equal(rte_pmd_mlx4_arg(0, &a), 0);
	assert_string_equal(a.name, "check-fw-version");
	assert_string_equal(a.values, "0 or 1");
	assert_string_equal(a.def, "1");
	assert_string_equal(a.unit, "");
	assert_false(a.model);
	for (i = 0; rte_pmd_mlx4_arg(i, &a) == 0 && !a.model; i++)
		assert_true(strlen(a.help) > 5 && strlen(a.name) > 1);
	assert_string_equal(a.name, "type");
	for (; rte_pmd_mlx4_arg(i, &a) == 0; i++)
		assert_true(a.model);
	assert_string_equal(a.name, "wake-us");
	assert_string_equal(a.def, "3000");
	assert_string_equal(a.unit, "us");
	assert_int_equal(rte_pmd_mlx4_arg(i, &a), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_arg(UINT32_MAX, &a), -ENOENT);
}

/* What a card was made with: what was said, else the default, if there is one. */
static void
test_of_a_card(void **state)
{
	char value[16];

	rig_open("bf=1,rate1=4000");
	assert_int_equal(rte_pmd_mlx4_arg_get(0, "bf", value, sizeof(value)), 0);
	assert_string_equal(value, "1");
	assert_int_equal(rte_pmd_mlx4_arg_get(1, "rate1", value, sizeof(value)), 0);
	assert_string_equal(value, "4000");
	assert_int_equal(rte_pmd_mlx4_arg_get(1, "rate0", value, sizeof(value)), 0);
	assert_string_equal(value, "0");
	assert_int_equal(rte_pmd_mlx4_arg_get(0, "rss-udp", value, 2), 0);
	assert_string_equal(value, "1");
	assert_int_equal(rte_pmd_mlx4_arg_get(1, "rate1", value, 5), 0);
	assert_int_equal(rte_pmd_mlx4_arg_get(1, "rate1", value, 4), -ENOSPC);
	assert_int_equal(rte_pmd_mlx4_arg_get(0, "wire0", value, sizeof(value)), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_arg_get(0, "none", value, sizeof(value)), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_arg_get(7, "bf", value, sizeof(value)), -ENODEV);
	rig_close();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),   cmocka_unit_test(test_numbers), cmocka_unit_test(test_cards),
		cmocka_unit_test(test_ports),      cmocka_unit_test(test_wires),   cmocka_unit_test(test_impairments),
		cmocka_unit_test(test_stored_cc),  cmocka_unit_test(test_faults),  cmocka_unit_test(test_driver),
		cmocka_unit_test(test_thresholds), cmocka_unit_test(test_refused), cmocka_unit_test(test_list),
		cmocka_unit_test(test_of_a_card),
	};

	if (rig_eal("mlx4_args", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-args", tests, NULL, NULL);
}
