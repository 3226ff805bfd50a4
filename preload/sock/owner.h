/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What all libraries that are preloaded, and who starts programs with them, ask the owner of the ports by. */
#ifndef PRELOAD_SOCK_OWNER_H
#define PRELOAD_SOCK_OWNER_H

#include "lib/share/proto.h"

/* Where the owner listens: SHARE_ENV of the environment as it was when first asked, SHARE_SOCKET when it was not set or empty. */
const char *owner_path(void);
/* A new connection to who listens there; -1 and errno, ENAMETOOLONG: no socket has such a name. */
int owner_connect(const char *path);
/* What is asked for becomes its answer. 0 or a positive errno; EIO: the owner is gone. fds: of the answer, -1 for none. */
int owner_ask(int fd, struct share_msg *m, const int *send, unsigned int num_send, int *fds, unsigned int num_fds);

#endif /* PRELOAD_SOCK_OWNER_H */
