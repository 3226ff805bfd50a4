/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the ports of the card process are plugged into. At the far end of a wire over sockets is a socket of this program,
 * at that of a TAP device a packet socket, in a namespace of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "apps/triplane-hca/hca.h"
#include "apps/triplane-hca/wire_fd.h"
#include "model/card/model_priv.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define WAIT_S 60 /* for what takes a tenth of a second */

static struct tp_model *model;
static char folder[64], near[96], far[96], error[HCA_TEXT];

static int
up_with(uint8_t ports)
{
	struct tp_model_config cfg;

	tp_model_config_default(&cfg);
	cfg.num_ports = ports;
	assert_int_equal(tp_model_create(&cfg, &model), 0);
	strcpy(folder, "/tmp/triplane-wires.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(near, sizeof(near), "%s/near", folder);
	snprintf(far, sizeof(far), "%s/far", folder);
	error[0] = '\0';
	return 0;
}

static int
up(void **state)
{
	(void)state;
	return up_with(2);
}

static int
down(void **state)
{
	(void)state;
	tp_model_destroy(model);
	unlink(near);
	unlink(far);
	rmdir(folder);
	return 0;
}

static int
attach(const char *wire0, const char *wire1)
{
	struct hca_card c = {.wire = {wire0, wire1}};

	c.cfg.num_ports = model->cfg.num_ports;
	error[0] = '\0';
	return hca_attach_wires(model, &c, false, error);
}

static const char *
wire_of(unsigned int port)
{
	struct tp_model_stats st;

	tp_model_get_stats(model, &st);
	return st.port[port].wire;
}

static void
words_of_wires(void **state)
{
	static const struct {
		uint8_t ports;
		const char *word[2], *wire[2]; /* NULL: not said; of the first card's ports */
	} row[] = {
		{2, {NULL, NULL}, {"cross", "cross"}},
		{2, {"cross", "cross"}, {"cross", "cross"}},
		{2, {"cross", NULL}, {"cross", "cross"}},
		{2, {NULL, "cross"}, {"cross", "cross"}},
		{2, {"loopback", NULL}, {"loopback", "none"}},
		{2, {NULL, "loopback"}, {"none", "loopback"}},
		{2, {"loopback", "loopback"}, {"loopback", "loopback"}},
		{2, {"none", "loopback"}, {"none", "loopback"}},
		{2, {"switch:wires", "switch:wires/rate:100"}, {"switch", "switch"}},
		{2, {"ibswitch:wires", NULL}, {"ibswitch", "none"}},
		{1, {NULL, NULL}, {"loopback", "none"}},
		{1, {"loopback", NULL}, {"loopback", "none"}},
		{1, {"none", NULL}, {"none", "none"}},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		up_with(row[i].ports);
		assert_int_equal(attach(row[i].word[0], row[i].word[1]), 0);
		for (unsigned int p = 0; p < row[i].ports; p++)
			assert_string_equal(wire_of(p), row[i].wire[p]);
		down(NULL);
	}
}

#define WANTED "wanted cross, loopback, none, tap:NAME, dgram:LOCAL,REMOTE, switch:NAME, ibswitch:NAME or ethdev:NAME"

static void
words_that_are_none(void **state)
{
	static const struct {
		uint8_t ports;
		const char *word[2];
		int rc;
		const char *error;
	} row[] = {
		{2, {"crossed", NULL}, -EINVAL, "--wire0 'crossed': " WANTED},
		{2, {NULL, ""}, -EINVAL, "--wire1 '': " WANTED},
		{2, {"loopback", "tap"}, -EINVAL, "--wire1 'tap': " WANTED},
		{2, {"tap:", NULL}, -EINVAL, "--wire0 'tap:': " WANTED},
		{2, {"tap:0123456789abcdef", NULL}, -EINVAL, "--wire0 'tap:0123456789abcdef': " WANTED},
		{2, {"dgram:/x", NULL}, -EINVAL, "--wire0 'dgram:/x': " WANTED},
		{2, {"dgram:,/x", NULL}, -EINVAL, "--wire0 'dgram:,/x': " WANTED},
		{2, {"dgram:/x,", NULL}, -EINVAL, "--wire0 'dgram:/x,': " WANTED},
		{2,
		 {"dgram:/no/such/folder/a,/b", NULL},
		 -ENOENT,
		 "--wire0 'dgram:/no/such/folder/a,/b': No such file or directory"},
		{2, {NULL, "dgram:/,/b"}, -EEXIST, "--wire1 'dgram:/,/b': File exists"},
		{2, {"ethdev:net_null0", NULL}, -EINVAL, "--wire0 'ethdev:net_null0': no DPDK port without --eal"},
		{2,
		 {"switch:a b", NULL},
		 -EINVAL,
		 "--wire0 'switch:a b': switch 'a b': wanted a name of 1..31 letters, digits, '.', '_', '-'"},
		{2,
		 {"switch:wires/rate:x", NULL},
		 -EINVAL,
		 "--wire0 'switch:wires/rate:x': 'rate:x': wanted rate:Mb/s, 1..1000000, or 0: not paced"},
		{2,
		 {"cross", "loopback"},
		 -EINVAL,
		 "wires 'cross' and 'loopback': cross joins both ports of a two-port card"},
		{2, {"none", "cross"}, -EINVAL, "wires 'none' and 'cross': cross joins both ports of a two-port card"},
		{1, {"cross", NULL}, -EINVAL, "wires 'cross' and 'cross': cross joins both ports of a two-port card"},
		{1, {NULL, "loopback"}, -EINVAL, "--wire1 'loopback': the card has one port; wanted --ports 2"},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		up_with(row[i].ports);
		assert_int_equal(attach(row[i].word[0], row[i].word[1]), row[i].rc);
		assert_string_equal(error, row[i].error);
		down(NULL);
	}
}

/* --- datagram sockets --- */

static struct tp_wire *
wire(void)
{
	return model->port[0].wire;
}

static void
address(struct sockaddr_un *sa, const char *path)
{
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	strcpy(sa->sun_path, path);
}

static int
partner(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa;

	address(&sa, far);
	assert_int_equal(bind(fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	address(&sa, near);
	assert_int_equal(connect(fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

/* The wire looks for its partner now and then. */
static bool
link_comes(void)
{
	time_t end = time(NULL) + WAIT_S;

	while (!wire()->ops->link(wire()))
		if (time(NULL) > end)
			return false;
	return true;
}

static uint64_t
came(void)
{
	struct tp_model_stats st;

	/* The port is not open, so each frame that a wire brings is counted there. */
	tp_model_get_stats(model, &st);
	return st.port[0].rx_link_down;
}

static struct tp_frame
frame(struct tp_frame_seg *seg, uint16_t nseg, uint16_t flags)
{
	struct tp_frame f = {.seg = seg, .nseg = nseg, .flags = flags};

	for (unsigned int i = 0; i < nseg; i++)
		f.len += seg[i].len;
	return f;
}

static void
over_sockets(void **state)
{
	static uint8_t big[16385];
	struct tp_frame_seg seg[3] = {
		{(const uint8_t *)"first ", 6}, {(const uint8_t *)"second ", 7}, {(const uint8_t *)"third", 5}};
	const struct tp_frame f[3] = {frame(seg, 3, 0), frame(seg, 1, TP_FRAME_BAD_FCS), frame(seg + 1, 1, 0)};
	char spec[200], got[64];
	int fd;

	(void)state;
	snprintf(spec, sizeof(spec), "dgram:%s,%s", near, far);
	assert_int_equal(attach(spec, NULL), 0);
	assert_string_equal(wire_of(0), "dgram");
	/* Nobody is there. */
	assert_false(wire()->ops->link(wire()));
	assert_int_equal(wire()->ops->send(wire(), f, 3), 0);
	fd = partner();
	assert_true(link_comes());
	/* A damaged frame gets no further; the others are one message each, however many pieces they have. */
	assert_int_equal(wire()->ops->send(wire(), f, 3), 3);
	assert_int_equal(recv(fd, got, sizeof(got), 0), 18);
	assert_memory_equal(got, "first second third", 18);
	assert_int_equal(recv(fd, got, sizeof(got), 0), 7);
	assert_memory_equal(got, "second ", 7);
	assert_int_equal(recv(fd, got, sizeof(got), 0), -1);
	/* Up to 32 at a time, and no more than the caller wants. */
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(send(fd, "0123456789", 10, 0), 10);
	assert_int_equal(wire()->ops->poll(wire(), model, 1, 3), 3);
	assert_int_equal(came(), 3);
	assert_int_equal(wire()->ops->poll(wire(), model, 1, 100), 7);
	assert_int_equal(came(), 10);
	assert_int_equal(wire()->ops->poll(wire(), model, 1, 100), 0);
	/* What is longer than a frame can be, and what is empty, is none. 16384 octets are the longest. */
	assert_int_equal(send(fd, big, 16385, 0), 16385);
	assert_int_equal(send(fd, big, 0, 0), 0);
	assert_int_equal(send(fd, big, 16384, 0), 16384);
	assert_int_equal(wire()->ops->poll(wire(), model, 1, 100), 3);
	assert_int_equal(came(), 11);
	/* A partner that went: what is sent is not taken, and the link goes. */
	close(fd);
	unlink(far);
	assert_int_equal(wire()->ops->send(wire(), f, 3), 0);
	for (time_t end = time(NULL) + WAIT_S; wire()->ops->link(wire());)
		assert_true(time(NULL) <= end);
	/* The name goes with the wire. */
	assert_int_equal(access(near, F_OK), 0);
	assert_int_equal(tp_model_wire_none(model, 1), 0);
	assert_int_equal(access(near, F_OK), -1);
}

/* As many as a turn takes; the partner's socket holds no more than ten at a time, unless it is not one of this kind. */
static void
a_turn_of_32(void **state)
{
	unsigned int sent = 0, turns = 0, n;
	char spec[200];
	int fd;

	(void)state;
	snprintf(spec, sizeof(spec), "dgram:%s,%s", near, far);
	assert_int_equal(attach(spec, NULL), 0);
	fd = partner();
	assert_true(link_comes());
	while (sent < 40 && send(fd, "frame", 5, 0) == 5)
		sent++;
	while ((n = wire()->ops->poll(wire(), model, 1, 1000)) != 0) {
		assert_true(n <= 32);
		turns++;
	}
	assert_int_equal(came(), sent);
	assert_int_equal(turns, (sent + 31) / 32);
	close(fd);
}

static void
names_of_sockets(void **state)
{
	struct tp_wire *w = NULL;
	struct sockaddr_un sa;
	char path[160];
	int fd;

	(void)state;
	/* A socket that a program left is taken over, a file is not. */
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	address(&sa, near);
	assert_int_equal(bind(fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	close(fd);
	assert_int_equal(wire_dgram_create(near, far, &w), 0);
	w->ops->destroy(w);
	fd = open(near, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(wire_dgram_create(near, far, &w), -EEXIST);
	unlink(near);
	/* Names have 107 characters. */
	snprintf(path, sizeof(path), "%s/%0*d", folder, (int)(107 - strlen(folder) - 1), 0);
	assert_int_equal(strlen(path), 107);
	assert_int_equal(wire_dgram_create(path, path, &w), 0);
	w->ops->destroy(w);
	strcat(path, "0");
	assert_int_equal(wire_dgram_create(path, far, &w), -EINVAL);
	assert_int_equal(wire_dgram_create(near, path, &w), -EINVAL);
	assert_int_equal(wire_dgram_create("", far, &w), -EINVAL);
	assert_int_equal(wire_dgram_create(near, "", &w), -EINVAL);
}

/* --- TAP --- */

static void
over_a_tap_device(void **state)
{
	static const uint8_t broadcast[62] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5, 'a'};
	struct tp_frame_seg seg[2] = {{broadcast, 15}, {broadcast + 15, 45}}, bad[1] = {{broadcast, 61}},
			    other[1] = {{broadcast, 62}};
	const struct tp_frame f[3] = {frame(seg, 2, 0), frame(bad, 1, TP_FRAME_BAD_FCS), frame(other, 1, 0)};
	struct sockaddr_ll ll = {.sll_family = AF_PACKET, .sll_protocol = htons(0x88b5)};
	struct ifreq ifr = {.ifr_name = "tpwire0"};
	struct timeval limit = {.tv_sec = WAIT_S};
	uint8_t got[100];
	int fd, s;

	(void)state;
	if (unshare(CLONE_NEWNET) != 0 || access("/dev/net/tun", R_OK | W_OK) != 0) {
		printf("skip over_a_tap_device: no network namespace, or no /dev/net/tun: %s\n", strerror(errno));
		skip();
	}
	/* The stack would say something of itself as soon as the interface is up. */
	fd = open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY);
	if (fd >= 0) {
		(void)!write(fd, "1", 1);
		close(fd);
	}
	assert_int_equal(attach("tap:tpwire0", NULL), 0);
	assert_string_equal(wire_of(0), "tap");
	assert_true(wire()->ops->link(wire()));
	assert_true(if_nametoindex("tpwire0") != 0);
	/* Until the interface is up nothing is taken. */
	assert_int_equal(wire()->ops->send(wire(), f, 3), 0);
	s = socket(AF_PACKET, SOCK_RAW, htons(0x88b5));
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(ioctl(s, SIOCGIFFLAGS, &ifr), 0);
	ifr.ifr_flags |= IFF_UP;
	assert_int_equal(ioctl(s, SIOCSIFFLAGS, &ifr), 0);
	ll.sll_ifindex = (int)if_nametoindex("tpwire0");
	assert_int_equal(bind(s, (const struct sockaddr *)&ll, sizeof(ll)), 0);
	assert_int_equal(wire()->ops->send(wire(), f, 3), 3);
	/* The damaged one, of 61 octets, is not among them. */
	assert_int_equal(recv(s, got, sizeof(got), 0), 60);
	assert_memory_equal(got, broadcast, 60);
	assert_int_equal(recv(s, got, sizeof(got), 0), 62);
	while (wire()->ops->poll(wire(), model, 1, 8) != 0)
		;
	down(NULL);
	assert_int_equal(if_nametoindex("tpwire0"), 0);
	close(s);
	up_with(2);
	assert_int_equal(attach("tap:tpwire1", NULL), 0);
	strcpy(ifr.ifr_name, "tpwire1");
	s = socket(AF_PACKET, SOCK_RAW, htons(0x88b5));
	assert_int_equal(ioctl(s, SIOCGIFFLAGS, &ifr), 0);
	ifr.ifr_flags |= IFF_UP;
	assert_int_equal(ioctl(s, SIOCSIFFLAGS, &ifr), 0);
	ll.sll_ifindex = (int)if_nametoindex("tpwire1");
	assert_int_equal(bind(s, (const struct sockaddr *)&ll, sizeof(ll)), 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(send(s, broadcast, 60, 0), 60);
	assert_int_equal(wire()->ops->poll(wire(), model, 1, 2), 2);
	assert_int_equal(came(), 2);
	assert_int_equal(wire()->ops->poll(wire(), model, 1, 2), 1);
	assert_int_equal(wire()->ops->poll(wire(), model, 1, 2), 0);
	assert_int_equal(came(), 3);
	/* A device that another has is not shared. */
	{
		struct tp_wire *w = NULL;

		assert_int_equal(wire_tap_create("tpwire1", &w), -EBUSY);
		assert_int_equal(wire_tap_create("", &w), -EINVAL);
		assert_int_equal(wire_tap_create("0123456789abcdef", &w), -EINVAL);
		assert_int_equal(wire_tap_create("0123456789abcde", &w), 0);
		w->ops->destroy(w);
	}
	close(s);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_wires),
		cmocka_unit_test(words_that_are_none),
		T(over_sockets),
		T(a_turn_of_32),
		T(names_of_sockets),
		T(over_a_tap_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
