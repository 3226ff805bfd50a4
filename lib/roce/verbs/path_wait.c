/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The path of an address vector, when the neighbour has to be asked first. */
#include <errno.h>

#include "lib/roce/net/net.h"
#include "verbs.h"

#define WAIT_NS (3ull * 1000 * 1000 * 1000)

int
troce_path_wait(struct troce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport, uint16_t service,
		struct troce_path *path)
{
	uint64_t until = troce_now_ns(dev) + WAIT_NS;

	if (dev->ib != NULL)
		return troce_ib_path(dev, av, path);
	for (;;) {
		int err = troce_path_resolve(dev, av, sport, service, path);

		if (err != EINPROGRESS)
			return err;
		if (troce_let_work(dev) != 0)
			return TROCE_REFUSE(dev, EAGAIN,
					    "the destination is being asked for its MAC; call again when the port "
					    "has received more");
		if (troce_now_ns(dev) >= until)
			return TROCE_REFUSE(dev, EHOSTUNREACH,
					    "no answer about the destination within 3 s; does a thread call "
					    "tp_roce_progress()?");
	}
}
