/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 10: which card it is, in the points that sources leave open. What is found is kept for the probes behind it. */
#ifndef CHECK_VARIANTS_H
#define CHECK_VARIANTS_H

#include "port.h"

struct variants {
	struct ck *c;
	struct mlx4_quirks q; /* as found so far */
	uint64_t done;        /* bit n: said of id n */
	bool ib;              /* both ports can be InfiniBand ones, and the user does not want others */
};

/* found.c. v: 0 is a. sure: "certain" or "likely". */
void variant_found(struct variants *s, enum mlx4_quirk_id id, unsigned int v, const char *sure, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void variant_open(struct variants *s, enum mlx4_quirk_id id, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* variants_loop.c; the bus is closed when it returns. */
void variants_by_frames(struct variants *s);
/* tunnel.c: on a port that loops back inside the card; on the second port, which p becomes. */
void variants_tunnels(struct variants *s, struct port *p, struct mlx4_hca *hca);
void variants_counter(struct variants *s, struct mlx4_hca *hca, struct port *p);

#endif /* CHECK_VARIANTS_H */
