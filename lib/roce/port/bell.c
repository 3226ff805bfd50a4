/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The descriptor of a queue of events. It has to behave as one that the kernel's driver made: poll() shows whether there
 * is an event, reading waits unless O_NONBLOCK is set, a signal interrupts as SA_RESTART says, and an event that is
 * withdrawn makes it silent again, however many threads are waiting. A pair of sockets does all of that: recv() with
 * MSG_DONTWAIT can take the ring back whatever the flags of the descriptor are, which a pipe or an eventfd cannot.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "front.h"

int
troce_bell_open(struct troce_bell *bell)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return errno;
	bell->fd = fd[0];
	bell->ring_fd = fd[1];
	return 0;
}

void
troce_bell_close(struct troce_bell *bell)
{
	close(bell->fd);
	close(bell->ring_fd);
}

void
troce_bell_ring(struct troce_bell *bell)
{
	const char one = 1;

	/* there are never more octets than threads that wait, so there is room */
	while (send(bell->ring_fd, &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

void
troce_bell_hush(struct troce_bell *bell)
{
	char all[64];

	while (recv(bell->fd, all, sizeof(all), MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}

/*
 * Not only the octet that was read is gone for good when the queue is empty: its event may have been withdrawn, and
 * another one that rang may be what was taken.
 */
void
troce_bell_taken(struct troce_bell *bell, bool empty)
{
	if (empty)
		troce_bell_hush(bell);
	else
		troce_bell_ring(bell);
}

int
troce_bell_wait(struct troce_bell *bell)
{
	char one;
	ssize_t n = read(bell->fd, &one, 1);

	if (n == 1)
		return 0;
	if (n == 0)
		errno = EBADF;
	return -1;
}
