/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What all libraries that are preloaded ask the owner of the ports by. */
#ifndef PRELOAD_SOCK_OWNER_H
#define PRELOAD_SOCK_OWNER_H

#include "lib/share/proto.h"

/* A new connection; -1 and errno. */
int owner_connect(void);
/* What is asked for becomes its answer. 0 or a positive errno; EIO: the owner is gone. fds: of the answer, -1 for none. */
int owner_ask(int fd, struct share_msg *m, const int *send, unsigned int num_send, int *fds, unsigned int num_fds);

#endif /* PRELOAD_SOCK_OWNER_H */
