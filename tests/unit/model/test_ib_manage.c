/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Management of InfiniBand ports, attribute by attribute: counters (IBTA 16.1.3.5, 16.1.4.11), PortInfo (14.2.5.6), keys and
 * tables, the speed that a link trains at. Datagrams are bytes.
 */
#include "harness.h"

#include <string.h>

#include "ib_prm.h"
#include "model/ib/ib.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static uint8_t mad[256];

static uint8_t *
question(uint8_t class, uint8_t method, uint16_t attr, uint32_t mod)
{
	memset(mad, 0, sizeof(mad));
	mad[0] = 1;
	mad[1] = class;
	mad[2] = 1;
	mad[3] = method;
	mad[0x10] = (uint8_t)(attr >> 8);
	mad[0x11] = (uint8_t)attr;
	prm_set32(mad, 0x14, mod);
	return mad + 0x40;
}

static uint16_t
status(void)
{
	return (uint16_t)(mad[4] << 8 | mad[5]);
}

/* --- counters --- */

static struct tpm_ib_pm port[3];

static uint16_t
pm(uint8_t method, uint16_t attr, uint8_t which, uint16_t select)
{
	struct tpm_ib_pm *const p[3] = {&port[0], NULL, &port[2]};
	uint8_t *d = question(4, method, attr, 0);

	d[1] = which;
	d[2] = (uint8_t)(select >> 8);
	d[3] = (uint8_t)select;
	memset(d + 4, 0xee, 0xbc);
	tpm_ib_pm(p, 3, mad);
	assert_int_equal(mad[3], 0x81);
	return status();
}

static void
fill_counters(struct tpm_ib_counters *c)
{
	*c = (struct tpm_ib_counters){.link_downed = 1,
				      .rcv_errors = 2,
				      .relay_errors = 3,
				      .xmit_discards = 4,
				      .xmit_constraint = 5,
				      .rcv_constraint = 6,
				      .vl15_dropped = 7,
				      .tx_bytes = 4 * 8 + 3,
				      .rx_bytes = 4 * 9,
				      .tx_packets = 100,
				      .rx_packets = 200,
				      .tx_mcast = 11,
				      .rx_mcast = 12,
				      .xmit_wait = 13};
}

static void
counters_have_their_places(void **state)
{
	uint8_t want[0xc0] = {0};

	(void)state;
	memset(port, 0, sizeof(port));
	fill_counters(&port[2].c);
	assert_int_equal(pm(1, 0x12, 3, 0), 0);
	want[1] = 3;
	want[7] = 1;
	want[9] = 2;
	want[13] = 3;
	want[15] = 4;
	want[16] = 5;
	want[17] = 6;
	want[23] = 7;
	want[27] = 8; /* words of four octets */
	want[31] = 9;
	want[35] = 100;
	want[39] = 200;
	want[43] = 13;
	assert_memory_equal(mad + 0x40, want, sizeof(want));
	memset(want + 4, 0, sizeof(want) - 4);
	prm_set64(want, 8, 8);
	prm_set64(want, 16, 9);
	prm_set64(want, 24, 100);
	prm_set64(want, 32, 200);
	prm_set64(want, 40, 89);
	prm_set64(want, 48, 188);
	prm_set64(want, 56, 11);
	prm_set64(want, 64, 12);
	assert_int_equal(pm(1, 0x1d, 3, 0), 0);
	assert_memory_equal(mad + 0x40, want, sizeof(want));
	/* All ports: sums; one that there is not has nothing to say. */
	fill_counters(&port[0].c);
	assert_int_equal(pm(1, 0x1d, 0xff, 0), 0);
	assert_int_equal(prm_get64(mad, 0x40 + 24), 200);
	assert_int_equal(pm(1, 0x12, 0xff, 0), 0);
	assert_int_equal(prm_get32(mad, 0x40 + 32), 200);
	assert_int_equal(mad[0x40 + 7], 2);
	for (unsigned int i = 0; i < 2; i++) {
		static const uint8_t none[] = {0, 2, 4, 0xfe};

		for (unsigned int k = 0; k < COUNT(none); k++)
			assert_int_equal(pm(1, i == 0 ? 0x12 : 0x1d, none[k], 0), 0x1c);
	}
}

/* What is full stays full. */
static void
counters_that_are_full(void **state)
{
	static const struct {
		size_t off;
		uint32_t at, octets;
		uint64_t max;
	} row[] = {
		{offsetof(struct tpm_ib_counters, link_downed), 7, 1, 0xff},
		{offsetof(struct tpm_ib_counters, rcv_errors), 8, 2, 0xffff},
		{offsetof(struct tpm_ib_counters, xmit_constraint), 16, 1, 0xff},
		{offsetof(struct tpm_ib_counters, tx_packets), 32, 4, 0xffffffff},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++)
		for (unsigned int over = 0; over < 3; over++) {
			uint64_t v = row[i].max - 1 + over, got = 0;

			memset(port, 0, sizeof(port));
			memcpy((uint8_t *)&port[0].c + row[i].off, &v, 8);
			assert_int_equal(pm(1, 0x12, 1, 0), 0);
			for (uint32_t k = 0; k < row[i].octets; k++)
				got = got << 8 | mad[0x40 + row[i].at + k];
			assert_int_equal(got, over == 0 ? row[i].max - 1 : row[i].max);
		}
}

/* A Set clears the counters that it selects; the two attributes are cleared apart. */
static void
counters_are_cleared(void **state)
{
	/* bit of the mask, octet that tells of it */
	static const struct {
		uint16_t select;
		uint8_t at;
	} row[] = {{0x0004, 7},  {0x0008, 9},  {0x0020, 13}, {0x0040, 15}, {0x0080, 16}, {0x0100, 17},
		   {0x0800, 23}, {0x1000, 27}, {0x2000, 31}, {0x4000, 35}, {0x8000, 39}};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		memset(port, 0, sizeof(port));
		fill_counters(&port[0].c);
		assert_int_equal(pm(2, 0x12, 1, row[i].select), 0);
		assert_int_equal(pm(1, 0x12, 1, 0), 0);
		for (unsigned int k = 0; k < COUNT(row); k++)
			assert_int_equal(mad[0x40 + row[k].at] == 0, k == i);
		/* Waiting has no bit of its own: it goes with what was discarded. */
		assert_int_equal(mad[0x40 + 43], row[i].select == 0x0040 ? 0 : 13);
		/* It counts on from there. */
		port[0].c.tx_packets += 3;
		assert_int_equal(pm(1, 0x12, 1, 0), 0);
		assert_int_equal(mad[0x40 + 35], row[i].select == 0x4000 ? 3 : 103);
		assert_int_equal(pm(1, 0x1d, 1, 0), 0);
		assert_int_equal(mad[0x40 + 31], 103);
	}
	/* A bit of what the port does not count clears nothing. */
	memset(port, 0, sizeof(port));
	fill_counters(&port[0].c);
	assert_int_equal(pm(2, 0x12, 1, 0x0001), 0);
	assert_int_equal(pm(1, 0x12, 1, 0), 0);
	assert_int_equal(mad[0x40 + 43], 13);
	fill_counters(&port[2].c);
	assert_int_equal(pm(2, 0x1d, 0xff, 0), 0);
	assert_int_equal(pm(1, 0x1d, 0xff, 0), 0);
	assert_int_equal(mad[0x40 + 31], 0);
	assert_int_equal(pm(1, 0x12, 3, 0), 0);
	assert_int_equal(mad[0x40 + 35], 100);
}

static void
class_information(void **state)
{
	uint8_t want[0xc0] = {1, 1, 3, 0, 0, 0, 0, 0x12};

	(void)state;
	assert_int_equal(pm(1, 0x01, 0, 0), 0);
	assert_memory_equal(mad + 0x40, want, sizeof(want));
	assert_int_equal(pm(2, 0x01, 0, 0), 0x0c);
	assert_int_equal(pm(1, 0x13, 1, 0), 0x0c);
	/* Other versions of class or datagram. */
	for (unsigned int i = 0; i < 2; i++) {
		struct tpm_ib_pm *const p[1] = {&port[0]};

		question(4, 1, 0x12, 0)[1] = 1;
		mad[i == 0 ? 0 : 2] = 2;
		tpm_ib_pm(p, 1, mad);
		assert_int_equal(status(), 0x04);
	}
}

/* A channel adapter's own port is "all of them". */
static void
counters_of_an_adapter(void **state)
{
	struct card *c = *state;

	for (unsigned int i = 0; i < 2; i++)
		c->m->port[i].ibp.pm.c.tx_packets = 10 + i;
	for (unsigned int from = 0; from < 2; from++)
		for (unsigned int i = 1; i <= 3; i++) {
			uint8_t *d = question(4, 1, 0x12, 0);

			d[1] = (uint8_t)(i == 3 ? 0xff : i);
			tpm_ib_pma(c->m, &c->m->port[from], mad);
			assert_int_equal(status(), 0);
			assert_int_equal(d[35], i == 3 ? 10 + from : 9 + i);
		}
}

/* --- speeds --- */

static void
words_of_speeds(void **state)
{
	static const struct {
		const char *word;
		enum tp_ib_speed speed;
	} row[] = {{"sdr", TP_IB_SDR},           {"ddr", TP_IB_DDR},
		   {"qdr", TP_IB_QDR},           {"fdr10", TP_IB_FDR10},
		   {"fdr", TP_IB_FDR},           {"", TP_IB_SPEED_DEFAULT},
		   {"edr", TP_IB_SPEED_DEFAULT}, {"fdr1", TP_IB_SPEED_DEFAULT},
		   {"SDR", TP_IB_SPEED_DEFAULT}};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++)
		assert_int_equal(tp_model_ib_speed(row[i].word), row[i].speed);
}

/* LinkSpeedSupported and Enabled are bits of SDR, DDR, QDR; FDR has fields of its own, FDR10 an attribute of the vendor's. */
static void
speeds_of_links(void **state)
{
	static const struct {
		enum tp_ib_speed top, partner;
		/* supported and active in PortInfo, of the extended speeds, and FDR10 */
		uint8_t supported, active, ext, ext_active;
		bool fdr10, fdr10_active;
	} row[] = {
		{TP_IB_SDR, TP_IB_FDR, 1, 1, 0, 0, false, false}, {TP_IB_DDR, TP_IB_FDR, 3, 2, 0, 0, false, false},
		{TP_IB_QDR, TP_IB_FDR, 7, 4, 0, 0, false, false}, {TP_IB_FDR10, TP_IB_FDR, 7, 4, 0, 0, true, true},
		{TP_IB_FDR, TP_IB_FDR, 7, 4, 1, 1, true, false},  {TP_IB_FDR, TP_IB_FDR10, 7, 4, 1, 0, true, true},
		{TP_IB_FDR, TP_IB_QDR, 7, 4, 1, 0, true, false},  {TP_IB_FDR, TP_IB_DDR, 7, 2, 1, 0, true, false},
		{TP_IB_FDR, TP_IB_SDR, 7, 1, 1, 0, true, false},  {TP_IB_QDR, TP_IB_DDR, 7, 2, 0, 0, false, false},
	};
	struct tpm_ib a, b;
	uint8_t ext[64];

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		tpm_ib_init(&a, 1, row[i].top);
		tpm_ib_init(&b, 2, row[i].partner);
		tpm_ib_train(&a, tpm_ib_speeds(&b));
		assert_int_equal(a.info[32] >> 4, row[i].supported);
		assert_int_equal(a.info[35], row[i].active << 4 | row[i].supported);
		assert_int_equal(a.info[62], row[i].ext_active << 4 | row[i].ext);
		assert_int_equal(a.info[63], row[i].ext);
		tpm_ib_ext_info(&a, false, ext);
		assert_int_equal(ext[7], row[i].fdr10);
		assert_int_equal(ext[11], row[i].fdr10);
		assert_int_equal(ext[15], row[i].fdr10_active);
	}
	/* Nothing in common: SDR, which every port can. */
	tpm_ib_init(&a, 1, TP_IB_FDR);
	tpm_ib_train(&a, 0);
	assert_int_equal(a.info[35] >> 4, 1);
	/* A manager turns FDR10 off, if it says that it means it. */
	memset(ext, 0, sizeof(ext));
	tpm_ib_ext_info(&a, true, ext);
	assert_true(a.fdr10_enabled);
	assert_int_equal(ext[11], 1);
	memset(ext, 0, sizeof(ext));
	ext[3] = 1;
	tpm_ib_ext_info(&a, true, ext);
	assert_false(a.fdr10_enabled);
	assert_int_equal(ext[7], 1);
	assert_int_equal(ext[11], 0);
	memset(ext, 0, sizeof(ext));
	ext[3] = 1;
	ext[11] = 1;
	tpm_ib_ext_info(&a, true, ext);
	assert_true(a.fdr10_enabled);
}

/* --- PortInfo --- */

static void
settings_of_a_port(void **state)
{
	static const struct {
		enum ib_port_state now;
		uint8_t at, value;
		bool valid;
	} row[] = {
		{IB_PORT_INIT, 32, 0, true},     {IB_PORT_INIT, 32, 1, true},     {IB_PORT_INIT, 32, 2, false},
		{IB_PORT_INIT, 32, 3, true},     {IB_PORT_INIT, 32, 4, false},    {IB_PORT_INIT, 32, 5, false},
		{IB_PORT_ARMED, 32, 3, true},    {IB_PORT_ARMED, 32, 4, true},    {IB_PORT_ACTIVE, 32, 3, false},
		{IB_PORT_ACTIVE, 32, 4, true},   {IB_PORT_DOWN, 32, 3, false},    {IB_PORT_DOWN, 32, 4, false},
		{IB_PORT_DOWN, 32, 1, true},     {IB_PORT_INIT, 16, 0xbf, true},  {IB_PORT_INIT, 16, 0xc0, false},
		{IB_PORT_INIT, 18, 0xbf, true},  {IB_PORT_INIT, 18, 0xc0, false}, {IB_PORT_INIT, 36, 0x50, true},
		{IB_PORT_INIT, 36, 0x60, false}, {IB_PORT_INIT, 43, 0x40, true},  {IB_PORT_INIT, 43, 0x50, false},
	};
	/* LIDs and their LMC: that many low bits are 0. */
	static const struct {
		uint8_t lid, lmc;
		bool valid;
	} lids[] = {{1, 0, true}, {1, 1, false},   {2, 1, true},    {2, 2, false},
		    {4, 2, true}, {0x80, 7, true}, {0xc0, 7, false}};
	struct tpm_ib ib;
	uint8_t d[64];

	(void)state;
	tpm_ib_init(&ib, 1, TP_IB_QDR);
	for (unsigned int i = 0; i < COUNT(row); i++) {
		memset(d, 0, sizeof(d));
		ib.state = row[i].now;
		d[row[i].at] = row[i].value;
		if (tpm_ib_info_valid(&ib, d) != row[i].valid)
			fail_msg("state %u, octet %u: %u", row[i].now, row[i].at, row[i].value);
	}
	for (unsigned int i = 0; i < COUNT(lids); i++) {
		memset(d, 0, sizeof(d));
		d[17] = lids[i].lid;
		d[34] = lids[i].lmc;
		assert_int_equal(tpm_ib_info_valid(&ib, d), lids[i].valid);
	}
}

static void
settings_that_are_kept(void **state)
{
	struct tpm_ib ib;
	uint8_t d[64] = {0}, was[64];

	(void)state;
	tpm_ib_init(&ib, 1, TP_IB_FDR);
	ib.pkey_bad = ib.qkey_bad = 9;
	memcpy(was, ib.info, 64);
	/* 0 leaves MTU, lanes, and what is enabled as they are; the others are what they are told. */
	prm_set64(d, 0, 0x1122334455667788);
	prm_set64(d, 8, 0xfec0000000000001);
	memcpy(d + 16, "\0\x14\0\x05", 4);
	d[27] = 7;
	d[34] = 0x82;
	d[36] = 3;
	d[38] = 9;
	d[47] = d[49] = 1;
	d[51] = 18;
	d[53] = 0x88;
	tpm_ib_info_apply(&ib, d);
	assert_memory_equal(ib.info, d, 20);
	assert_int_equal(ib.info[27], 7);
	assert_int_equal(ib.info[34], 0x82);
	assert_int_equal(ib.info[36], 0x53);
	assert_int_equal(ib.info[38], 9);
	assert_int_equal(ib.info[51], 18);
	assert_int_equal(ib.info[53], 0x88);
	assert_int_equal(ib.info[43] >> 4, 4);
	assert_int_equal(ib.info[29], was[29]);
	assert_int_equal(ib.info[35], was[35]);
	assert_int_equal(ib.info[63], was[63]);
	assert_int_equal(ib.info[33] & 0xf, 2);
	assert_int_equal(ib.lid, 0x14);
	assert_int_equal(ib.lmc, 2);
	assert_int_equal(ib.mtu, 4096);
	assert_int_equal(ib.pkey_bad, 9);
	assert_int_equal(ib.qkey_bad, 9);
	/* Values, of which only what the port supports is enabled; violations are cleared by 0. */
	d[29] = 0xff;
	d[35] = 0x0b;
	d[36] = 0x43;
	d[43] = 0x20;
	d[63] = 3;
	d[47] = 0;
	tpm_ib_info_apply(&ib, d);
	assert_int_equal(ib.info[29], 3);
	assert_int_equal(ib.info[35] & 0xf, 3);
	assert_int_equal(ib.info[36], 0x43);
	assert_int_equal(ib.mtu, 2048);
	assert_int_equal(ib.info[43] >> 4, 2);
	assert_int_equal(ib.info[63], 1);
	assert_int_equal(ib.pkey_bad, 0);
	assert_int_equal(ib.qkey_bad, 9);
	d[49] = 0;
	tpm_ib_info_apply(&ib, d);
	assert_int_equal(ib.qkey_bad, 0);
}

/* With a key of its own a port answers those who know it; reading may be free. */
static void
keys_of_managers(void **state)
{
	static const struct {
		uint64_t key, given;
		uint8_t protect;
		bool reads, good;
	} row[] = {
		{0, 0, 3, false, true},  {0, 5, 3, false, true}, {5, 5, 3, false, true},
		{5, 6, 0, false, false}, {5, 6, 0, true, true},  {5, 6, 1, true, true},
		{5, 6, 2, true, false},  {5, 6, 3, true, false}, {5, 0, 3, true, false},
	};
	struct tpm_ib ib;

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		tpm_ib_init(&ib, 1, TP_IB_QDR);
		prm_set64(ib.info, 0, row[i].key);
		ib.info[34] = (uint8_t)(row[i].protect << 6);
		question(1, 1, 0x15, 1);
		prm_set64(mad, 0x18, row[i].given);
		assert_int_equal(tpm_ib_mkey_good(&ib, mad, row[i].reads), row[i].good);
		/* Those who do not are counted, up to what the counter holds. */
		assert_int_equal(ib.info[45], !row[i].good);
		ib.info[44] = ib.info[45] = 0xff;
		tpm_ib_mkey_good(&ib, mad, row[i].reads);
		assert_int_equal(ib.info[44] << 8 | ib.info[45], 0xffff);
	}
}

static uint16_t
ask(struct card *c, uint8_t method, uint16_t attr, uint32_t mod)
{
	uint8_t data[64];

	memcpy(data, mad + 0x40, 64);
	memcpy(question(1, method, attr, mod), data, 64);
	assert_true(tpm_ib_sma(c->m, &c->m->port[0], mad, true));
	assert_int_equal(mad[3], 0x81);
	return status();
}

static void
attributes_and_their_blocks(void **state)
{
	static const struct {
		uint16_t attr;
		uint32_t mod;
		uint16_t get, set;
	} row[] = {
		{0x10, 0, 0, 0},        {0x11, 0, 0, 0x0c},    {0x14, 0, 0, 0},       {0x14, 15, 0, 0},
		{0x14, 16, 0x1c, 0x1c}, {0x16, 0, 0, 0},       {0x16, 3, 0, 0},       {0x16, 4, 0x1c, 0x1c},
		{0x17, 0, 0, 0},        {0x18, 0x10000, 0, 0}, {0x18, 0x40000, 0, 0}, {0x18, 0x50000, 0x1c, 0x1c},
		{0x18, 0, 0x1c, 0x1c},  {0x12, 0, 0x0c, 0x0c}, {0xff90, 0, 0, 0},     {0x20, 0, 0x0c, 0x0c},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		memset(mad + 0x40, 0, 64);
		if (ask(c, 1, row[i].attr, row[i].mod) != row[i].get)
			fail_msg("get 0x%x 0x%x: 0x%x", row[i].attr, row[i].mod, status());
		if (ask(c, 2, row[i].attr, row[i].mod) != row[i].set)
			fail_msg("set 0x%x 0x%x: 0x%x", row[i].attr, row[i].mod, status());
	}
	for (unsigned int i = 0; i < 2; i++) {
		question(1, 1, 0x10, 0);
		mad[i == 0 ? 0 : 2] = 2;
		assert_true(tpm_ib_sma(c->m, &c->m->port[0], mad, true));
		assert_int_equal(status(), 0x04);
	}
	/* A key that is wrong gets no answer; who checks it himself need not. */
	prm_set64(c->m->port[0].ibp.info, 0, 77);
	c->m->port[0].ibp.info[34] = 0xc0;
	question(1, 1, 0x10, 0);
	assert_false(tpm_ib_sma(c->m, &c->m->port[0], mad, true));
	assert_true(tpm_ib_sma(c->m, &c->m->port[0], mad, false));
	prm_set64(c->m->port[0].ibp.info, 0, 0);
}

/* Blocks of eight GUIDs, of which the first one is the card's own; a table of lanes; each is read as it was written. */
static void
tables_are_kept(void **state)
{
	struct card *c = *state;
	uint8_t want[64];

	for (unsigned int i = 0; i < 64; i++)
		want[i] = (uint8_t)(i + 1);
	for (uint32_t block = 0; block < 16; block += 15) {
		memcpy(mad + 0x40, want, 64);
		assert_int_equal(ask(c, 2, 0x14, block), 0);
		assert_int_equal(ask(c, 1, 0x14, block), 0);
		if (block == 0)
			assert_memory_equal(mad + 0x40, "\0\x02\xc9\x03\0\xa1\xb2\x01", 8);
		else
			assert_memory_equal(mad + 0x40, want, 8);
		assert_memory_equal(mad + 0x48, want + 8, 56);
	}
	memcpy(mad + 0x40, want, 64);
	assert_int_equal(ask(c, 2, 0x17, 0), 0);
	assert_int_equal(ask(c, 1, 0x17, 0), 0);
	assert_memory_equal(mad + 0x40, want, 8);
	assert_int_equal(mad[0x48], 0);
	for (uint32_t which = 1; which <= 4; which++) {
		memcpy(mad + 0x40, want, 64);
		mad[0x40] = (uint8_t)(0x40 + which);
		assert_int_equal(ask(c, 2, 0x18, which << 16), 0);
	}
	for (uint32_t which = 1; which <= 4; which++) {
		assert_int_equal(ask(c, 1, 0x18, which << 16), 0);
		assert_int_equal(mad[0x40], 0x40 + which);
		assert_memory_equal(mad + 0x41, want + 1, 63);
	}
	memcpy(mad + 0x40, want, 64);
	assert_int_equal(ask(c, 2, 0x10, 0), 0);
	assert_int_equal(ask(c, 1, 0x10, 0), 0);
	assert_memory_equal(mad + 0x40, want, 64);
}

static int
setup_ib(void **state)
{
	struct tp_model_config cfg;
	struct card *c;

	tp_model_config_default(&cfg);
	cfg.port_type[0] = cfg.port_type[1] = TP_PORT_IB;
	c = card_new(&cfg);
	card_boot(c, CARD_DMFS);
	*state = c;
	return 0;
}

int
main(void)
{
#define IB(f) cmocka_unit_test_setup_teardown(f, setup_ib, teardown_card)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_have_their_places),
		cmocka_unit_test(counters_that_are_full),
		cmocka_unit_test(counters_are_cleared),
		cmocka_unit_test(class_information),
		IB(counters_of_an_adapter),
		cmocka_unit_test(words_of_speeds),
		cmocka_unit_test(speeds_of_links),
		cmocka_unit_test(settings_of_a_port),
		cmocka_unit_test(settings_that_are_kept),
		cmocka_unit_test(keys_of_managers),
		IB(attributes_and_their_blocks),
		IB(tables_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
