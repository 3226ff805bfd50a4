/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A provider without a home, which remembers what it was told, and a network whose answers the test decides. */
#ifndef ROCE_FAKE_H
#define ROCE_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/roce/net/net.h"
#include "lib/roce/port/provider.h"

#define FAKE_MAX_INLINE 200u
#define FAKE_MAX_WR 500
#define FAKE_MAX_SGE 8
#define FAKE_MAX_RD 12      /* requests of the peer */
#define FAKE_MAX_INIT_RD 10 /* own ones */

/* What the last operations of each kind were given, and what the next one answers. */
struct fake {
	const char *fail_op;     /* this operation fails ... */
	int fail_err;            /* ... with this */
	unsigned int fail_after; /* ... but for so many times before */
	unsigned int calls;      /* since fake_reset() */
	const char *last_op;
	void *last_obj;
	/* modify_qp */
	int mask;
	enum ibv_qp_state from, to;
	bool fails_meanwhile;    /* the queue pair is in ERR when it returns */
	struct ibv_qp_attr seen; /* qp->attr at that moment */
	struct troce_path path;
	struct troce_mr region; /* rereg_mr: as it is to be */
	/* create_cq, modify_cq */
	int vector;
	uint16_t count, period;
	uint32_t srq_limit;                /* create_srq */
	struct rte_ether_addr mac;         /* attach_mcast, detach_mcast */
	uint32_t qpns_back, num_qpns_back; /* release_qpns */
	struct ibv_mw_bind_info bound;
	uint32_t bound_key;
	enum tp_roce_mode best; /* open() lowers the mode to it */
	bool both;              /* the second port is served, too */
	unsigned int progressed;
	uint16_t take;           /* input() takes so many packets */
	unsigned int unresolved; /* so many times path_resolve() says EINPROGRESS */
	int resolve;             /* then this */
	uint16_t fit;            /* troce_mtu_fit() */
	atomic_uint resolves;
	void (*in_progress)(struct troce_dev *dev);
};
extern struct fake fake;
extern uint16_t fake_port, fake_port2; /* ethdevs that are started, of 2 queues each way */

/* telemetry: "--no-telemetry", "--telemetry" */
int fake_eal(const char *telemetry);
void fake_reset(void);
/* Opens the port with conf, NULL: defaults; it must succeed. */
struct ibv_context *fake_open(const struct tp_roce_conf *conf);
void fake_close(struct ibv_context *ctx);
/* How many lines the library logged since fake_reset(), and are these words among them? */
unsigned int fake_lines(void);
bool fake_said(const char *words);

/* The call is refused: errno, exactly one line, and it says these words. Nothing reached the provider. */
#define REFUSED_INT(call, err, words)                                                                                  \
	do {                                                                                                           \
		fake_reset();                                                                                          \
		assert_int_equal((call), (err));                                                                       \
		fake_refused(words, __FILE__, __LINE__);                                                               \
	} while (0)
#define REFUSED_PTR(call, err, words)                                                                                  \
	do {                                                                                                           \
		fake_reset();                                                                                          \
		errno = 0;                                                                                             \
		assert_null((call));                                                                                   \
		assert_int_equal(errno, (err));                                                                        \
		fake_refused(words, __FILE__, __LINE__);                                                               \
	} while (0)
void fake_refused(const char *words, const char *file, int line);

#endif /* ROCE_FAKE_H */
