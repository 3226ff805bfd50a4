/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The owner's side: who listens, who is connected, what they have. */
#ifndef SHARE_PRIV_H
#define SHARE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/un.h>

#include "lib/thread/ctrl_thread.h"
#include "lib/roce/port/front.h"

#include "proto.h"
#include "tp_share.h"

#define SHARE_FDS SHARE_PIECES /* of a message */

enum share_kind {
	SHARE_FREE,
	SHARE_PD,
	SHARE_MR,
	SHARE_MW,
	SHARE_CHANNEL,
	SHARE_CQ,
	SHARE_SRQ,
	SHARE_QP,
	SHARE_AH,
	SHARE_EVENTS, /* an event channel of connections */
	SHARE_ID,
	SHARE_JOINED, /* a multicast group that an id is in */
	SHARE_FLOW,
	SHARE_KINDS
};

/* Where the events of completion queues go. */
struct share_channel {
	int fd;
	unsigned int cqs;
};
/* A group that a queue pair listens to. */
struct share_group {
	SLIST_ENTRY(share_group) next;
	union ibv_gid gid;
	uint16_t lid;
};

/* The guest's word for it, its events so far, and whose it is. */
struct share_joined {
	LIST_ENTRY(share_joined) next;
	struct share_obj *id;
	uint64_t uid, serial;
	uint32_t handle, reported;
	struct sockaddr_storage addr;
};

/* An object of a guest; its number is its place in the table, from 1 on. */
struct share_obj {
	enum share_kind kind;
	void *obj; /* of verbs or tp_rdma.h; struct share_channel, struct share_joined */
	union {
		struct {
			void *va; /* the region's memory here, whole pages */
			size_t len;
		} mr;
		struct {
			struct share_channel *channel;
			atomic_uint owed; /* events that found no room */
		} cq;
		struct {
			SLIST_HEAD(, share_group) groups;
		} qp;
		struct {
			uint64_t uid; /* the guest's word for it, 0: has none yet */
			uint32_t handle;
			uint32_t events;   /* the channel's handle */
			uint32_t reported; /* events that were fetched */
			uint32_t unread;   /* asked for since the guest last fetched one */
			bool listens;
			LIST_HEAD(, share_joined) joined;
		} id;
	};
};

/* Memory that the guest has, too, given away by pages. */
struct share_chunk {
	int fd;
	bool told; /* the guest has the descriptor */
	uint8_t *va;
	size_t len;
	uint8_t *used; /* of each page */
};

struct share_guest {
	struct troce_guest g; /* first */
	struct tp_share *share;
	TAILQ_ENTRY(share_guest) next;
	int fd;
	int wake;      /* an event is owed */
	int vector_fd; /* that the card's vector for this guest makes readable; -1: it has none */
	int pid, uid, gid;
	struct sock_stat *sockets; /* what its program says of its sockets, NULL: nothing */
	bool sockets_looked;
	struct troce_dev *dev; /* NULL: nothing is open */
	struct ibv_context *ctx;
	bool cm;         /* has event channels; dev is NULL */
	uint64_t serial; /* of groups */
	int async_fd;
	atomic_bool async_lost;
	struct share_obj **obj;
	uint32_t num_obj;
	struct share_chunk *chunk;
	uint32_t num_chunks;
	/* Written by the guest's thread alone, read by who asks how much there is. */
	_Atomic uint64_t ring_bytes, region_bytes;
	atomic_uint count[SHARE_KINDS], listening;
	uint64_t calls, failed;        /* with these, under the lock of share */
	uint64_t id;                   /* of no other connection of this process */
	time_t second;                 /* whose calls are counted */
	uint64_t in_second, in_last;   /* calls of it, and of the one before */
	char name[IBV_SYSFS_NAME_MAX]; /* of the device, empty: none was opened */
	pthread_mutex_t arena;         /* of chunk */
};

/* What is said of guests. */
struct share_say {
	pthread_mutex_t lock;
	uint32_t room; /* for so many lines */
	time_t since, told;
	uint64_t unsaid, unsaid_ever;
};

struct tp_share {
	struct sockaddr_un addr;
	_Atomic uint64_t limit[TP_SHARE_LIMITS], limited[TP_SHARE_LIMITS];
	int fd;
	int stop;              /* readable: the listener ends */
	_Atomic int64_t group; /* that was chosen for the socket, -1: none was */
	pthread_t listener;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t gone;
	TAILQ_HEAD(, share_guest) guests;
	unsigned int num_guests;
	struct tp_share_stats stats; /* of those that are gone */
	LIST_ENTRY(tp_share) tel;
	struct share_say say;
};

/* A question, which becomes its answer; descriptors that come belong to the one who handles it, what goes out is closed. */
struct share_call {
	struct share_msg *m;
	int in[SHARE_FDS], out[SHARE_FDS];
	unsigned int num_in, num_out;
	bool close_out[SHARE_FDS];
};

/* --- guest.c --- */
ctrl_thread_end share_guest_main(void *arg);
/* 0: the device has what guests need; EOPNOTSUPP, or why it has not now. */
int share_can(struct troce_dev *dev, struct troce_view_uars *v);
/* Its connection ends; the thread gives back what it has. */
void share_guest_leave(struct troce_guest *g);

/* Of a clock that goes on, not exact. */
time_t share_now_s(void);
/* Calls a second; the lock of share is held. */
void share_rate_count(struct share_guest *s);
uint64_t share_rate(const struct share_guest *s);

/* --- say.c --- */
void share_say_init(struct share_say *y);
/* Around what a thread does for a guest: its lines are written as long as there is room, and counted. begin's value goes to end. */
struct troce_talk share_talk_begin(struct share_say *y);
void share_talk_end(struct share_say *y, struct troce_talk begun, bool refused);
void share_say_end(struct share_say *y);

/* --- telemetry.c --- */
void share_tel_add(struct tp_share *h);
void share_tel_del(struct tp_share *h);
/* Guests that have a device, of all sharings of this process. */
void share_tel_each(void (*fn)(const struct share_guest *s, void *arg), void *arg);

/* --- ended.c --- */
/* The guest steers frames to itself: its program may have connections of TCP. */
void share_sockets_note(struct share_guest *s);
/* It is gone, and what it had was given back: peers of connections that it had not ended hear of it. */
void share_sockets_end(struct share_guest *s);

/* --- limits.c --- */
/* Values that are left out, and those that are not possible. 0 or -EINVAL and a line. */
int share_limits_check(struct tp_share_conf *conf);
void share_limits_set(struct tp_share *h, const struct tp_share_conf *conf);
/* 0: the guest, which has so much of it, may have more; ENOMEM, counted, and a line. */
int share_limit(struct share_guest *s, enum tp_share_limit limit, uint64_t have, uint64_t more);
/*
 * A descriptor that was just made, which this connection would keep: 0; EMFILE, and a line: the process has not enough left for
 * what it does itself.
 */
int share_fd_room(const struct share_guest *s, int fd);
/* Who may call at the socket. 0 or a negative errno. */
int share_door(struct tp_share *h, const struct tp_share_conf *conf);

/* --- table.c --- */
/* A free place; 0: the guest has as many as it may have, or there is no memory. */
uint32_t share_obj_new(struct share_guest *s, enum share_kind kind, void *obj);
/* The object of that kind, NULL: there is none of that number. */
struct share_obj *share_obj_of(const struct share_guest *s, enum share_kind kind, uint32_t handle);
void share_obj_drop(struct share_guest *s, uint32_t handle);
/* Room for another one of that kind. 0 or ENOMEM, and a line. */
int share_obj_room(struct share_guest *s, enum share_kind kind);

/* --- arena.c --- */
void *share_mem_get(struct troce_guest *g, size_t len, size_t align);
void share_mem_put(struct troce_guest *g, void *mem, size_t len);
/* What the guest must know to find a piece of memory; the descriptor, if it has none, goes with the answer. */
void share_mem_tell(struct share_guest *s, const void *mem, struct share_mem *tell, struct share_call *c);
/* A sealed file of zeros, so that nobody makes it shorter or longer: its descriptor, or a negative errno. */
int share_file(const char *name, size_t len);
void share_arena_free(struct share_guest *s);
/* Address space for len bytes at the same place in 2 MiB as like; NULL: none. */
void *share_space(size_t len, uint64_t like);

/* --- cm.c, cm_cmd.c --- */
/* The number of a device of that name, the same as long as the process lives. */
uint32_t share_ibdev(const char *name);

/* --- ops.c, ops_queue.c, ops_mem.c, counters.c: 0 or a positive errno --- */
typedef int (*share_op_fn)(struct share_guest *s, struct share_call *c);
int share_do_alloc_pd(struct share_guest *s, struct share_call *c);
int share_do_dealloc_pd(struct share_guest *s, struct share_call *c);
int share_do_reg_mr(struct share_guest *s, struct share_call *c);
int share_do_rereg_mr(struct share_guest *s, struct share_call *c);
int share_do_dereg_mr(struct share_guest *s, struct share_call *c);
int share_do_alloc_mw(struct share_guest *s, struct share_call *c);
int share_do_dealloc_mw(struct share_guest *s, struct share_call *c);
int share_do_own_vector(struct share_guest *s, struct share_call *c);
int share_do_create_channel(struct share_guest *s, struct share_call *c);
int share_do_destroy_channel(struct share_guest *s, struct share_call *c);
int share_do_create_cq(struct share_guest *s, struct share_call *c);
int share_do_modify_cq(struct share_guest *s, struct share_call *c);
int share_do_resize_cq(struct share_guest *s, struct share_call *c);
int share_do_destroy_cq(struct share_guest *s, struct share_call *c);
int share_do_create_srq(struct share_guest *s, struct share_call *c);
int share_do_modify_srq(struct share_guest *s, struct share_call *c);
int share_do_query_srq(struct share_guest *s, struct share_call *c);
int share_do_destroy_srq(struct share_guest *s, struct share_call *c);
int share_do_create_qp(struct share_guest *s, struct share_call *c);
int share_do_modify_qp(struct share_guest *s, struct share_call *c);
int share_do_query_qp(struct share_guest *s, struct share_call *c);
int share_do_destroy_qp(struct share_guest *s, struct share_call *c);
int share_do_create_ah(struct share_guest *s, struct share_call *c);
int share_do_destroy_ah(struct share_guest *s, struct share_call *c);
int share_do_resolve(struct share_guest *s, struct share_call *c);
int share_do_attach_mcast(struct share_guest *s, struct share_call *c);
int share_do_detach_mcast(struct share_guest *s, struct share_call *c);
int share_do_cm_open(struct share_guest *s, struct share_call *c);
int share_do_cm_close(struct share_guest *s, struct share_call *c);
int share_do_cm_command(struct share_guest *s, struct share_call *c);
int share_do_create_flow(struct share_guest *s, struct share_call *c);
int share_do_destroy_flow(struct share_guest *s, struct share_call *c);
int share_do_counters(struct share_guest *s, struct share_call *c);

/* Each frees what it holds; in table.c's order. */
/* With its queues gone. */
void share_vector_put(struct share_guest *s);
/* Raw packet queue pairs, and what goes with them, are not everybody's. 0 or EPERM, and a line. */
int share_may_have_frames(const struct share_guest *s);

void share_free_mr(struct share_guest *s, struct share_obj *o);
void share_free_qp(struct share_guest *s, struct share_obj *o);
void share_free_cq(struct share_guest *s, struct share_obj *o);
void share_free_channel(struct share_guest *s, struct share_obj *o);
void share_free_events(struct share_guest *s, struct share_obj *o);
void share_free_id(struct share_guest *s, struct share_obj *o);
void share_free_joined(struct share_guest *s, struct share_obj *o);

#endif /* SHARE_PRIV_H */
