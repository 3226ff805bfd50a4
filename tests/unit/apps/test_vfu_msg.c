/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The frame of vfio-user messages: which commands there are, how long they may be, what is agreed, what is counted. */
#include "vfu_rig.h"

static struct rig rig;

static int
up(void **state)
{
	(void)state;
	rig_up(&rig);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	rig_down(&rig);
	return 0;
}

/* --- VERSION --- */

#define CAPS(text) "{\"capabilities\":{" text "}}"

static void
capabilities_are_lowered_never_raised(void **state)
{
	static const struct {
		const char *offer;
		unsigned int fds, xfer, maps;
	} row[] = {
		{NULL, 1, 65536, 65535}, /* what a client has that says nothing */
		{"{}", 1, 65536, 65535},
		{"{\"capabilities\":{}}", 1, 65536, 65535},
		{CAPS("\"max_msg_fds\":8,\"max_data_xfer_size\":4096,\"max_dma_maps\":7"), 8, 4096, 7},
		{CAPS("\"max_msg_fds\":15,\"max_data_xfer_size\":65535,\"max_dma_maps\":65534"), 15, 65535, 65534},
		{CAPS("\"max_msg_fds\":17,\"max_data_xfer_size\":65537,\"max_dma_maps\":65536"), 16, 65536, 65535},
		{CAPS("\"max_msg_fds\":16,\"max_data_xfer_size\":1048576"), 16, 65536, 65535},
		{CAPS("\"max_data_xfer_size\":1"), 1, 1, 65535},
		/* Numbers of any length are as large as a number can be. */
		{CAPS("\"max_dma_maps\":18446744073709551616"), 1, 65536, 65535},
		{CAPS("\"max_dma_maps\":18446744073709551615,\"pgsizes\":18446744073709551616"), 1, 65536, 65535},
		{CAPS("\"pgsizes\":4097,\"max_msg_fds\":3"), 3, 65536, 65535},
		{CAPS("\"pgsizes\":99999999999999999999999999999999"), 1, 65536, 65535},
		/* Numbers that no capability has change nothing, and neither do words. */
		{CAPS("\"max_msg_fds\":-3,\"max_dma_maps\":1e3,\"max_data_xfer_size\":1.5"), 1, 65536, 65535},
		{CAPS("\"max_msg_fds\":+4,\"max_dma_maps\":1E3"), 1, 65536, 65535},
		{CAPS("\"max_msg_fds\":true,\"max_dma_maps\":null,\"max_data_xfer_size\":\"9\""), 1, 65536, 65535},
		/* A name that only begins like one, and one that ends like one. */
		{CAPS("\"max_msg_fd\":5,\"max_msg_fdss\":6,\"xmax_msg_fds\":7"), 1, 65536, 65535},
		/* Capabilities have one place. */
		{"{\"max_msg_fds\":5}", 1, 65536, 65535},
		{"{\"other\":{\"max_msg_fds\":5},\"capabilities\":{\"max_dma_maps\":9}}", 1, 65536, 9},
		{"{\"x\":{\"capabilities\":{\"max_msg_fds\":5}}}", 1, 65536, 65535},
		{CAPS("\"y\":{\"max_msg_fds\":5},\"z\":[{\"max_msg_fds\":5}]"), 1, 65536, 65535},
		/* White space is four characters. */
		{" \t\r\n{ \"capabilities\" :\t{ \"max_msg_fds\" :\n5 ,\r\"max_dma_maps\": 6 } } ", 5, 65536, 6},
		{CAPS("\"migration\":{\"pgsize\":4096,\"a\":[1,[],{},\"}\",-0.5e+7,false,true,null]},\"max_msg_fds\":"
		      "2"),
		 2, 65536, 65535},
		{CAPS("\"a\\\"b\\\\\":1,\"max_msg_fds\":2"), 2, 65536, 65535},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		char want[256];
		uint32_t len = (uint32_t)snprintf(want, sizeof(want),
						  "{\"capabilities\":{\"max_msg_fds\":%u,\"max_data_xfer_size\":%u,"
						  "\"max_dma_maps\":%u,\"pgsizes\":4096}}",
						  row[i].fds, row[i].xfer, row[i].maps);

		assert_int_equal(rig_version(&rig, row[i].offer), 0);
		/* The header, version 0.0, and text whose end is the message's. */
		assert_int_equal(rig.reply.len, 16 + 4 + len + 1);
		assert_int_equal(rig_u32(rig.reply.buf + 4), rig.reply.len);
		assert_int_equal(rig_u32(rig.reply.buf + 8), 1);
		assert_int_equal(rig_u32(rig.reply.buf + 16), 0);
		assert_string_equal((const char *)rig.reply.buf + 20, want);
		assert_true(rig.server.version_done);
		assert_false(rig.server.drop);
		assert_int_equal(rig.server.clients, i + 1);
		vfu_detach(&rig.server);
		assert_false(rig.server.version_done);
		assert_int_equal(rig.server.caps.max_msg_fds, 0);
	}
}

static void
doorbells_are_shared_with_who_asks(void **state)
{
	static const struct {
		const char *offer;
		bool shared;
	} row[] = {
		{CAPS("\"triplane_shared_uar\":true"), true},  {CAPS("\"triplane_shared_uar\":false"), false},
		{CAPS("\"triplane_shared_uar\":1"), false},    {CAPS("\"triplane_shared_uar\":\"true\""), false},
		{CAPS("\"triplane_shared\":true"), false},     {"{\"triplane_shared_uar\":true}", false},
		{CAPS("\"triplane_shared_uar\":null"), false},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		assert_int_equal(rig_version(&rig, row[i].offer), 0);
		assert_int_equal(rig.server.caps.shared_uar, row[i].shared);
		assert_int_equal(strstr((const char *)rig.reply.buf + 20, ",\"triplane_shared_uar\":true}}") != NULL,
				 row[i].shared);
		vfu_detach(&rig.server);
	}
}

/* "{"a":{"a": ... 1 ... }}" of so many objects. */
static const char *
nested(unsigned int depth, const char *open, const char *close)
{
	static char text[256];

	text[0] = '\0';
	strcat(text, "{\"x\":");
	for (unsigned int i = 2; i < depth; i++)
		strcat(text, open);
	strcat(text, "1");
	for (unsigned int i = 2; i < depth; i++)
		strcat(text, close);
	strcat(text, "}");
	return text;
}

static void
text_that_is_no_json(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"[]",
		"1",
		"\"a\"",
		"{",
		"}",
		"{}}",
		"{}{}",
		"{},",
		"{,}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{\"a\":1 \"b\":2}",
		"{\"a\" 1}",
		"{a:1}",
		"{'a':1}",
		"{\"a\":tru}",
		"{\"a\":truE}",
		"{\"a\":fals}",
		"{\"a\":nul}",
		"{\"a\":x}",
		"{\"a\":\"\n\"}",
		"{\"a\":\"\x1f\"}",
		"{\"a\":\"b}",
		"{\"a\":\"b\\",
		"{\"a\":\"b\\\"}",
		"{\"a\":[}",
		"{\"a\":[1}",
		"{\"a\":[1,]}",
		"{\"a\":[1 2]}",
		"{\"a\":[,]}",
		"{\"a\":1]",
		"{\"a\v\":1}",
		"\v{}",
	};
	static const char *const good[] = {"{\"a\":\" \"}", "{\"a\":[]}", "{\"a\":[ 1 , 2 ]}", "{\"a\":\"\x7f\"}",
					   "{\"\":1}"};

	(void)state;
	for (unsigned int i = 0; i < COUNT(bad); i++) {
		assert_int_equal(rig_version(&rig, bad[i]), EINVAL);
		/* The two do not understand each other: the client has to go. */
		assert_true(rig.server.drop);
		assert_false(rig.server.version_done);
		assert_int_equal(rig.server.malformed, i + 1);
		vfu_detach(&rig.server);
	}
	for (unsigned int i = 0; i < COUNT(good); i++) {
		assert_int_equal(rig_version(&rig, good[i]), 0);
		vfu_detach(&rig.server);
	}
	/* Values lie eight deep at most: the outermost one is the first, a number inside of seven the eighth. */
	assert_int_equal(rig_version(&rig, nested(8, "{\"x\":", "}")), 0);
	vfu_detach(&rig.server);
	assert_int_equal(rig_version(&rig, nested(9, "{\"x\":", "}")), EINVAL);
	vfu_detach(&rig.server);
	assert_int_equal(rig_version(&rig, nested(8, "[", "]")), 0);
	vfu_detach(&rig.server);
	assert_int_equal(rig_version(&rig, nested(9, "[", "]")), EINVAL);
	assert_int_equal(rig.server.clients, COUNT(good) + 2);
}

static void
text_ends_with_the_message(void **state)
{
	static const struct {
		const char *text;
		uint32_t len;
		uint32_t error;
	} row[] = {
		{"{}\0", 3, 0}, {"{}", 2, EINVAL}, {"{}\0\0", 4, EINVAL}, {"{}\0{}\0", 6, EINVAL}, {"\0", 1, EINVAL},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint8_t msg[16] = {0};

		memcpy(msg + 4, row[i].text, row[i].len);
		rig_send(&rig, 1, 0, msg, 4 + row[i].len, NULL, 0);
		assert_int_equal(rig_u32(rig.reply.buf + 12), row[i].error);
		vfu_detach(&rig.server);
	}
}

/* Keys of any length are read; one longer than all that are known is none of them, however it begins. */
static void
long_names(void **state)
{
	char text[512];

	(void)state;
	for (unsigned int len = 40; len < 60; len++) {
		snprintf(text, sizeof(text), CAPS("\"%0*d\":1,\"max_msg_fds\":7"), (int)len, 0);
		assert_int_equal(rig_version(&rig, text), 0);
		assert_int_equal(rig.server.caps.max_msg_fds, 7);
		vfu_detach(&rig.server);
		snprintf(text, sizeof(text), CAPS("\"a\":\"%0*d\",\"max_msg_fds\":7"), (int)len, 0);
		assert_int_equal(rig_version(&rig, text), 0);
		assert_int_equal(rig.server.caps.max_msg_fds, 7);
		vfu_detach(&rig.server);
	}
}

static void
no_agreement(void **state)
{
	static const struct {
		uint16_t major, minor;
		const char *json;
		uint32_t error;
	} row[] = {
		{1, 0, NULL, ENOTSUP},
		{0xffff, 0, NULL, ENOTSUP},
		{0, 0, CAPS("\"max_data_xfer_size\":0"), ENOTSUP},
		{0, 0, CAPS("\"pgsizes\":0"), ENOTSUP},
		{0, 0, CAPS("\"pgsizes\":8192"), ENOTSUP},
		{0, 0, CAPS("\"pgsizes\":2048"), ENOTSUP},
		{0, 7, CAPS("\"pgsizes\":12288"), 0}, /* a later minor version talks like an earlier one */
		{0, 0xffff, NULL, 0},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint8_t msg[128] = {0};
		uint32_t len = row[i].json == NULL ? 0 : (uint32_t)strlen(row[i].json) + 1;

		memcpy(msg, &row[i].major, 2);
		memcpy(msg + 2, &row[i].minor, 2);
		if (len != 0)
			memcpy(msg + 4, row[i].json, len);
		rig_send(&rig, 1, 0, msg, 4 + len, NULL, 0);
		assert_int_equal(rig_u32(rig.reply.buf + 12), row[i].error);
		assert_int_equal(rig.server.drop, row[i].error != 0);
		assert_int_equal(rig.server.version_done, row[i].error == 0);
		if (row[i].error == 0)
			assert_int_equal(rig_u32(rig.reply.buf + 16), 0);
		vfu_detach(&rig.server);
	}
	assert_int_equal(rig.server.malformed, 0);
}

static void
agreed_once(void **state)
{
	(void)state;
	rig_hello(&rig);
	assert_int_equal(rig_version(&rig, NULL), EINVAL);
	assert_int_equal(rig.server.malformed, 1);
	/* What was agreed holds, and the client stays. */
	assert_false(rig.server.drop);
	assert_true(rig.server.version_done);
	assert_int_equal(rig.server.caps.max_msg_fds, 16);
	assert_int_equal(rig.server.clients, 1);
}

/* --- the frame --- */

/* Commands of the protocol, 0 and 14 being none, with the octets that their payload may have. */
static const struct {
	const char *name;
	uint32_t least, most;
	unsigned int fds;
	uint32_t error; /* of a message of zeroes with the least that it may have */
} commands[18] = {
	[1] = {"VERSION", 4, 4 + 4096, 0, EINVAL},
	[2] = {"DMA_MAP", 32, 32, 1, EINVAL},
	[3] = {"DMA_UNMAP", 24, 24, 0, EINVAL},
	[4] = {"DEVICE_GET_INFO", 16, 16, 0, EINVAL},
	[5] = {"DEVICE_GET_REGION_INFO", 32, 32, 0, EINVAL},
	[6] = {"DEVICE_GET_REGION_IO_FDS", 0, 65536, 0, ENOTSUP},
	[7] = {"DEVICE_GET_IRQ_INFO", 16, 16, 0, EINVAL},
	[8] = {"DEVICE_SET_IRQS", 20, 20 + 128, 16, EINVAL},
	[9] = {"REGION_READ", 16, 16, 0, EINVAL},
	[10] = {"REGION_WRITE", 16, 16 + 65536, 0, EINVAL},
	[11] = {"DMA_READ", 0, 65536, 0, ENOTSUP},
	[12] = {"DMA_WRITE", 0, 65536, 0, ENOTSUP},
	[13] = {"DEVICE_RESET", 0, 0, 0, 0},
	[15] = {"REGION_WRITE_MULTI", 0, 65536, 0, ENOTSUP},
	[16] = {"DEVICE_FEATURE", 0, 65536, 0, ENOTTY},
};

static void
sizes_of_messages(void **state)
{
	static uint8_t data[VFU_MAX_MSG];
	int fds[32];

	(void)state;
	rig_hello(&rig);
	for (uint16_t cmd = 2; cmd < COUNT(commands); cmd++) {
		struct vfu *s = &rig.server;
		uint64_t bad = s->malformed;

		if (commands[cmd].name == NULL) {
			assert_int_equal(rig_ask(&rig, cmd, data, 0, 0), ENOSYS);
			assert_int_equal(s->malformed, bad + 1);
			assert_string_equal(vfu_command_name(cmd), "unknown");
			continue;
		}
		assert_string_equal(vfu_command_name(cmd), commands[cmd].name);
		assert_int_equal(rig_ask(&rig, cmd, data, commands[cmd].least, 0), commands[cmd].error);
		assert_int_equal(s->malformed, bad);
		assert_int_equal(s->requests[cmd], 1);
		assert_int_equal(s->refused[cmd], commands[cmd].error != 0);
		if (commands[cmd].least != 0) {
			assert_int_equal(rig_ask(&rig, cmd, data, commands[cmd].least - 1, 0), EINVAL);
			assert_int_equal(s->malformed, ++bad);
		}
		assert_int_equal(rig_ask(&rig, cmd, data, commands[cmd].most, 0), commands[cmd].error);
		assert_int_equal(s->malformed, bad);
		assert_int_equal(rig_ask(&rig, cmd, data, commands[cmd].most + 1, 0), EINVAL);
		assert_int_equal(s->malformed, bad + 1);
		assert_int_equal(s->requests[cmd], 2);
		/* More descriptors than it takes: refused, and all are closed. */
		for (unsigned int i = 0; i <= commands[cmd].fds; i++)
			fds[i] = dup(0);
		rig_send(&rig, cmd, 0, data, commands[cmd].least, fds, commands[cmd].fds + 1);
		assert_int_equal(rig_u32(rig.reply.buf + 12), EINVAL);
		assert_int_equal(s->malformed, bad + 2);
		assert_int_equal(s->requests[cmd], 2);
		for (unsigned int i = 0; i <= commands[cmd].fds; i++)
			assert_false(rig_is_open(fds[i]));
		/* As many as it takes: its handler says what is wrong. */
		for (unsigned int i = 0; i < commands[cmd].fds; i++)
			fds[i] = dup(0);
		rig_send(&rig, cmd, 0, data, commands[cmd].least, fds, commands[cmd].fds);
		assert_int_equal(s->requests[cmd], 3);
		assert_int_equal(s->malformed, bad + 2);
		for (unsigned int i = 0; i < commands[cmd].fds; i++)
			assert_false(rig_is_open(fds[i]));
	}
	assert_int_equal(rig.server.requests[1], 1);
	assert_int_equal(rig.server.refused[1], 0);
	assert_false(rig.server.drop);
	assert_string_equal(vfu_command_name(1), "VERSION");
	assert_string_equal(vfu_command_name(0), "unknown");
	assert_string_equal(vfu_command_name(UINT32_MAX), "unknown");
}

/* The longest text of a VERSION has 4096 octets with its end. */
static void
size_of_version(void **state)
{
	static uint8_t msg[4 + 4097];

	(void)state;
	memset(msg, ' ', sizeof(msg));
	memset(msg, 0, 4);
	msg[4] = '{';
	msg[5] = '}';
	msg[4 + 4096] = '\0';
	rig_send(&rig, 1, 0, msg, sizeof(msg), NULL, 0);
	assert_int_equal(rig_u32(rig.reply.buf + 12), EINVAL);
	assert_int_equal(rig.server.requests[1], 0);
	msg[4 + 4095] = '\0';
	rig_send(&rig, 1, 0, msg, sizeof(msg) - 1, NULL, 0);
	assert_int_equal(rig_u32(rig.reply.buf + 12), 0);
	vfu_detach(&rig.server);
	rig_send(&rig, 1, 0, msg, 3, NULL, 0);
	assert_int_equal(rig_u32(rig.reply.buf + 12), EINVAL);
	assert_int_equal(rig.server.requests[1], 1);
}

/* Before the two have agreed, everything but VERSION ends the connection, and what is no command is none. */
static void
version_comes_first(void **state)
{
	static const uint8_t data[64];

	(void)state;
	for (uint16_t cmd = 0; cmd < COUNT(commands); cmd++) {
		if (cmd == 1)
			continue;
		assert_int_equal(rig_ask(&rig, cmd, data, commands[cmd].least, 0),
				 commands[cmd].name == NULL ? ENOSYS : EINVAL);
		assert_int_equal(rig.server.drop, commands[cmd].name != NULL);
		if (commands[cmd].name != NULL)
			assert_int_equal(rig.server.requests[cmd], 0);
		rig.server.drop = false;
	}
	assert_int_equal(rig.server.malformed, COUNT(commands) - 1);
	assert_string_equal(rig.said, "unknown (command 17, 0 bytes, 0 descriptors) breaks the protocol");
	assert_int_equal(rig.lines, COUNT(commands) - 1);
}

static void
answers_are_for_commands(void **state)
{
	static const uint8_t data[16] = {16};
	static const struct {
		uint32_t flags;
		bool answered, drop;
	} row[] = {
		{0x00, true, false}, {0x10, false, false}, {0x20, true, false}, {0x01, false, true},
		{0x11, false, true}, {0x02, false, true},  {0x08, false, true}, {0x0f, false, true},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint64_t asked, bad;
		int fd = dup(0);

		rig_hello(&rig);
		asked = rig.server.requests[4];
		bad = rig.server.malformed;
		rig_send(&rig, 4, row[i].flags, data, 16, NULL, 0);
		assert_int_equal(rig.reply.len, row[i].answered ? 32 : 0);
		assert_int_equal(rig.reply.fd, -1);
		assert_int_equal(rig.server.drop, row[i].drop);
		assert_int_equal(rig.server.malformed, bad + row[i].drop);
		assert_int_equal(rig.server.requests[4], asked + !row[i].drop);
		/* Descriptors are closed whatever becomes of the message; -1 is one that somebody took. */
		rig_send(&rig, 4, row[i].flags, data, 16, (int[]){-1, fd}, 2);
		assert_false(rig_is_open(fd));
		vfu_detach(&rig.server);
		assert_false(rig.server.drop);
	}
}

/* --- the device --- */

static void
device_information(void **state)
{
	/* argsz 16; flags: can be reset, PCI; nine regions and five interrupts, as PCI devices have */
	static const uint32_t want[4] = {16, 3, 9, 5};
	uint32_t in[4] = {16, 0, 0, 0};

	(void)state;
	rig_hello(&rig);
	assert_int_equal(rig_ask(&rig, 4, in, 16, 16), 0);
	assert_memory_equal(rig.reply.buf + 16, want, 16);
	in[0] = 1000;
	assert_int_equal(rig_ask(&rig, 4, in, 16, 16), 0);
	assert_memory_equal(rig.reply.buf + 16, want, 16);
	in[0] = 15;
	assert_int_equal(rig_ask(&rig, 4, in, 16, 16), EINVAL);
}

/* The register that is taken by reading it [CP 1.5]: free after a reset. */
static void
reset_is_the_cards(void **state)
{
	(void)state;
	rig_hello(&rig);
	assert_int_equal(tp_model_bar0_read32(rig.model, 0x8069c), 0);
	assert_int_equal(tp_model_bar0_read32(rig.model, 0x8069c), 1);
	assert_int_equal(rig_ask(&rig, 13, NULL, 0, 0), 0);
	assert_int_equal(tp_model_bar0_read32(rig.model, 0x8069c), 0);
	assert_true(rig.server.version_done);
	/* A client that goes leaves the card as if it had never been there. */
	vfu_detach(&rig.server);
	assert_int_equal(tp_model_bar0_read32(rig.model, 0x8069c), 0);
	assert_false(rig.server.version_done);
}

/* The lines of a server without a log go nowhere. */
static void
silent_server(void **state)
{
	(void)state;
	rig.server.log = NULL;
	assert_int_equal(rig_ask(&rig, 4, NULL, 0, 0), EINVAL);
	assert_int_equal(rig.lines, 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(capabilities_are_lowered_never_raised),
		T(doorbells_are_shared_with_who_asks),
		T(text_that_is_no_json),
		T(text_ends_with_the_message),
		T(long_names),
		T(no_agreement),
		T(agreed_once),
		T(sizes_of_messages),
		T(size_of_version),
		T(version_comes_first),
		T(answers_are_for_commands),
		T(device_information),
		T(reset_is_the_cards),
		T(silent_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
