/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Interrupts of the card behind vfio-user: what may be connected and raised. */
#include <sys/eventfd.h>

#include "model/card/model_priv.h"
#include "vfu_greeted.h"

#define VECTORS 128u

static void
interrupt_kinds(void **state)
{
	/* INTx: event fd, may be masked, masks itself. MSI-X: event fd, set up as a whole. The others: a card has none. */
	static const uint32_t want[5][2] = {{7, 1}, {0, 0}, {9, VECTORS}, {0, 0}, {0, 0}};
	uint32_t in[4] = {16};

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		in[2] = i;
		assert_int_equal(rig_ask(&rig, 7, in, 16, 16), 0);
		assert_memory_equal(payload(), ((uint32_t[4]){16, want[i][0], i, want[i][1]}), 16);
	}
	in[2] = 5;
	assert_int_equal(rig_ask(&rig, 7, in, 16, 16), EINVAL);
	in[2] = 2;
	in[0] = 15;
	assert_int_equal(rig_ask(&rig, 7, in, 16, 16), EINVAL);
	in[0] = 17;
	assert_int_equal(rig_ask(&rig, 7, in, 16, 16), 0);
	assert_int_equal(rig_u32(payload()), 16);
}

static uint32_t
irqs(uint32_t flags, uint32_t index, uint32_t start, uint32_t count, const char *which, uint32_t octets, int *fds,
     unsigned int nfds)
{
	uint32_t set[5] = {20 + octets, flags, index, start, count};
	uint8_t in[20 + 256];

	memcpy(in, set, 20);
	if (octets != 0)
		memcpy(in + 20, which, octets);
	rig_send(&rig, 8, 0, in, 20 + octets, fds, nfds);
	return rig_u32(rig.reply.buf + 12);
}

/* How often the event was signalled since the last look. */
static uint64_t
taken(int fd)
{
	uint64_t n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

#define NONE_TRIGGER 0x21u
#define BOOL_TRIGGER 0x22u
#define EVENTFD_TRIGGER 0x24u

static void
requests_that_make_no_sense(void **state)
{
	static const struct {
		uint32_t flags, index, start, count, octets, error;
	} row[] = {
		{0x21, 2, 0, 1, 0, 0},
		{0x20, 2, 0, 1, 0, EINVAL}, /* no data, and each two kinds of it */
		{0x23, 2, 0, 1, 1, EINVAL},
		{0x25, 2, 0, 1, 0, EINVAL},
		{0x26, 2, 0, 1, 1, EINVAL},
		{0x27, 2, 0, 1, 1, EINVAL},
		{0x01, 0, 0, 1, 0, EINVAL}, /* no action, and each two */
		{0x19, 0, 0, 1, 0, EINVAL},
		{0x29, 0, 0, 1, 0, EINVAL},
		{0x31, 0, 0, 1, 0, EINVAL},
		{0x39, 0, 0, 1, 0, EINVAL},
		{0x61, 2, 0, 1, 0, EINVAL}, /* unknown flags */
		{0x80000021, 2, 0, 1, 0, EINVAL},
		{0x09, 0, 0, 1, 0, 0}, /* INTx may be masked, MSI-X not */
		{0x11, 0, 0, 1, 0, 0},
		{0x0a, 0, 0, 1, 1, 0},
		{0x09, 2, 0, 1, 0, EINVAL},
		{0x11, 2, 0, 1, 0, EINVAL},
		{0x21, 2, 127, 1, 0, 0}, /* ranges */
		{0x21, 2, 0, 128, 0, 0},
		{0x21, 2, 1, 128, 0, EINVAL},
		{0x21, 2, 127, 2, 0, EINVAL},
		{0x21, 2, 128, 1, 0, EINVAL},
		{0x21, 2, 129, 0, 0, EINVAL},
		{0x21, 2, 2, UINT32_MAX, 0, EINVAL},
		{0x21, 0, 0, 2, 0, EINVAL},
		{0x21, 0, 1, 1, 0, EINVAL},
		{0x21, 1, 0, 1, 0, EINVAL},
		{0x21, 4, 0, 1, 0, EINVAL},
		{0x21, 5, 0, 0, 0, EINVAL},
		{0x21, 2, 0, 0, 0, 0}, /* nothing at all: everything off */
		{0x21, 2, 1, 0, 0, EINVAL},
		{0x22, 2, 0, 0, 0, EINVAL},
		{0x24, 2, 0, 0, 0, EINVAL},
		{0x22, 2, 0, 3, 3, 0}, /* an octet for each, and for nothing else */
		{0x22, 2, 0, 3, 2, EINVAL},
		{0x22, 2, 0, 3, 4, EINVAL},
		{0x21, 2, 0, 3, 3, EINVAL},
		{0x21, 2, 0, 3, 1, EINVAL},
	};
	uint32_t set[5] = {19, 0x21, 2, 0, 1};
	int fd;

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++)
		assert_int_equal(irqs(row[i].flags, row[i].index, row[i].start, row[i].count, "\0\0\0\0", row[i].octets,
				      NULL, 0),
				 row[i].error);
	rig_send(&rig, 8, 0, set, 20, NULL, 0);
	assert_int_equal(rig_u32(rig.reply.buf + 12), EINVAL);
	/* Descriptors come with the kind of data that they are. */
	for (uint32_t kind = 1; kind <= 4; kind *= 2) {
		fd = eventfd(0, 0);
		assert_int_equal(irqs(0x20 | kind, 2, 0, 1, "\0", kind == 2, &fd, 1), kind == 4 ? 0 : EINVAL);
	}
	assert_int_equal(rig.server.malformed, 0);
}

static void
vectors_are_connected_and_raised(void **state)
{
	int fds[4], own[4], other;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		own[i] = eventfd(0, EFD_NONBLOCK);
		fds[i] = dup(own[i]);
	}
	assert_int_equal(irqs(EVENTFD_TRIGGER, 2, 124, 4, NULL, 0, fds, 4), 0);
	for (unsigned int i = 0; i < 4; i++) {
		/* Taken over, and the card knows them. */
		assert_int_equal(fds[i], -1);
		assert_true(rig_is_open(rig.server.msix[124 + i]));
		assert_int_equal(rig.model->irq_fd[124 + i], rig.server.msix[124 + i]);
		/* The card must never wait for a client that does not read. */
		assert_true((fcntl(rig.server.msix[124 + i], F_GETFL) & O_NONBLOCK) != 0);
	}
	assert_int_equal(rig.server.msix[123], -1);
	assert_int_equal(irqs(BOOL_TRIGGER, 2, 124, 4, "\1\0\0\xff", 4, NULL, 0), 0);
	assert_int_equal(taken(own[0]), 1);
	assert_int_equal(taken(own[1]), 0);
	assert_int_equal(taken(own[2]), 0);
	assert_int_equal(taken(own[3]), 1);
	assert_int_equal(irqs(NONE_TRIGGER, 2, 125, 2, NULL, 0, NULL, 0), 0);
	assert_int_equal(irqs(NONE_TRIGGER, 2, 0, VECTORS, NULL, 0, NULL, 0), 0);
	assert_int_equal(taken(own[0]), 1);
	assert_int_equal(taken(own[1]), 2);
	assert_int_equal(taken(own[2]), 2);
	assert_int_equal(taken(own[3]), 1);
	/* Another one in the place of the first, and none for the second. */
	other = rig.server.msix[124];
	fds[0] = eventfd(0, 0);
	assert_int_equal(irqs(EVENTFD_TRIGGER, 2, 124, 1, NULL, 0, fds, 1), 0);
	assert_int_equal(irqs(NONE_TRIGGER, 2, 124, 1, NULL, 0, NULL, 0), 0);
	assert_int_equal(taken(own[0]), 0);
	assert_int_equal(taken(rig.server.msix[124]), 1);
	assert_true(rig.server.msix[124] != other || rig_is_open(other));
	other = rig.server.msix[125];
	assert_int_equal(irqs(EVENTFD_TRIGGER, 2, 125, 1, NULL, 0, NULL, 0), 0);
	assert_false(rig_is_open(other));
	assert_int_equal(rig.server.msix[125], -1);
	assert_int_equal(rig.model->irq_fd[125], -1);
	assert_true(rig.server.msix[126] >= 0);
	/* A counter that is full is an interrupt that waits: nothing to say. */
	assert_int_equal(write(own[2], &(uint64_t){UINT64_MAX - 1}, 8), 8);
	assert_int_equal(irqs(NONE_TRIGGER, 2, 126, 1, NULL, 0, NULL, 0), 0);
	assert_int_equal(rig.lines, 0);
	/* All off. */
	other = rig.server.msix[127];
	assert_int_equal(irqs(NONE_TRIGGER, 2, 0, 0, NULL, 0, NULL, 0), 0);
	assert_false(rig_is_open(other));
	for (unsigned int i = 0; i < VECTORS; i++) {
		assert_int_equal(rig.server.msix[i], -1);
		assert_int_equal(rig.model->irq_fd[i], -1);
	}
	for (unsigned int i = 0; i < 4; i++)
		close(own[i]);
}

/* All descriptors of a message are event fds and one for each vector, or nothing changes. */
static void
descriptors_that_are_no_events(void **state)
{
	int pipes[2], fds[3];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	fds[0] = eventfd(0, 0);
	fds[1] = pipes[1];
	assert_int_equal(irqs(EVENTFD_TRIGGER, 2, 0, 2, NULL, 0, fds, 2), EINVAL);
	assert_int_equal(rig.server.msix[0], -1);
	assert_false(rig_is_open(fds[0]));
	assert_false(rig_is_open(pipes[1]));
	for (unsigned int i = 0; i < 3; i++)
		fds[i] = eventfd(0, 0);
	assert_int_equal(irqs(EVENTFD_TRIGGER, 2, 0, 2, NULL, 0, fds, 3), EINVAL);
	for (unsigned int i = 0; i < 3; i++)
		fds[i] = eventfd(0, 0);
	assert_int_equal(irqs(EVENTFD_TRIGGER, 2, 0, 4, NULL, 0, fds, 3), EINVAL);
	for (unsigned int i = 0; i < 3; i++)
		assert_false(rig_is_open(fds[i]));
	assert_int_equal(rig.server.msix[0], -1);
	close(pipes[0]);
}

/* INTx can be set up; a client's test of its own wires raises it, the card never does. */
static void
the_pin(void **state)
{
	int own = eventfd(0, EFD_NONBLOCK), fd = dup(own), was;

	(void)state;
	assert_int_equal(rig.server.intx, -1);
	assert_int_equal(irqs(NONE_TRIGGER, 0, 0, 1, NULL, 0, NULL, 0), 0);
	assert_int_equal(irqs(EVENTFD_TRIGGER, 0, 0, 1, NULL, 0, &fd, 1), 0);
	was = rig.server.intx;
	assert_true(rig_is_open(was));
	assert_int_equal(irqs(NONE_TRIGGER, 0, 0, 1, NULL, 0, NULL, 0), 0);
	assert_int_equal(taken(own), 1);
	assert_int_equal(irqs(BOOL_TRIGGER, 0, 0, 1, "\0", 1, NULL, 0), 0);
	assert_int_equal(taken(own), 0);
	/* MSI-X off leaves it; its own off does not. */
	assert_int_equal(irqs(NONE_TRIGGER, 2, 0, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(rig.server.intx, was);
	assert_int_equal(irqs(NONE_TRIGGER, 0, 0, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(rig.server.intx, -1);
	assert_false(rig_is_open(was));
	close(own);
}

static void
who_goes_leaves_no_events(void **state)
{
	int fds[2] = {eventfd(0, 0), eventfd(0, 0)}, msix, intx;

	(void)state;
	assert_int_equal(irqs(EVENTFD_TRIGGER, 2, 5, 1, NULL, 0, fds, 1), 0);
	assert_int_equal(irqs(EVENTFD_TRIGGER, 0, 0, 1, NULL, 0, fds + 1, 1), 0);
	msix = rig.server.msix[5];
	intx = rig.server.intx;
	vfu_detach(&rig.server);
	assert_false(rig_is_open(msix));
	assert_false(rig_is_open(intx));
	assert_int_equal(rig.server.msix[5], -1);
	assert_int_equal(rig.server.intx, -1);
	assert_int_equal(rig.model->irq_fd[5], -1);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(interrupt_kinds),
		T(requests_that_make_no_sense),
		T(vectors_are_connected_and_raised),
		T(descriptors_that_are_no_events),
		T(the_pin),
		T(who_goes_leaves_no_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
