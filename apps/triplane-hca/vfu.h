/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card behind a vfio-user socket.
 *
 * One struct vfu is one card's server side for one client at a time. Messages enter through vfu_handle, which knows no
 * socket, so that tests and the fuzzer feed it bytes; vfu_sock.c is the transport. What a client may touch is what it
 * gave: its DMA windows (vfu_dma.c), its event fds (vfu_irq.c), the card's registers (vfu_region.c).
 */
#ifndef VFU_H
#define VFU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlx4_prm_regs.h"
#include "tp_model.h"
#include "vfio_user.h"

#define VFU_BF_MAX 256u /* half a BlueFlame register of the card */
#define VFU_BF_SLOTS 16u

struct vfu_file;
struct vfu_window {
	uint64_t iova, len;
	struct vfu_file *file;
};

/* What the client said in VERSION. */
struct vfu_caps {
	uint64_t max_msg_fds, max_data_xfer_size, max_dma_maps, pgsizes;
	bool shared_uar;
};

/* A BlueFlame copy on its way: it comes in pieces, since a message carries at most one CPU store. */
struct vfu_bf {
	uint32_t base, got; /* got 0: slot is free */
	uint8_t copy[VFU_BF_MAX];
};

struct vfu {
	struct tp_model *model;
	bool version_done;
	bool drop;        /* the client is to be disconnected once the reply is out */
	atomic_bool lost; /* the client cut a file short that the card had mapped */
	struct vfu_caps caps;
	struct vfu_window *win; /* sorted by iova */
	uint32_t num_win, cap_win;
	int msix[MLX4_MSIX_VECTORS]; /* event fds, -1: none */
	int intx;
	struct vfu_bf bf[VFU_BF_SLOTS];
	uint32_t bf_next;
	void (*log)(void *arg, const char *line);
	void *log_arg;
	/* counters, over all clients */
	uint64_t requests[VFU_COMMANDS], refused[VFU_COMMANDS];
	uint64_t malformed; /* messages whose frame or fields break the protocol */
	uint64_t clients;
};

/* The model stays the caller's. All servers of a process belong to one thread (they share SIGBUS). Errors: -ENOMEM. */
int vfu_init(struct vfu *s, struct tp_model *m, void (*log)(void *arg, const char *line), void *arg);
/* Ends the client and gives everything back. */
void vfu_fini(struct vfu *s);
/* The client is gone: resets the card, closes its windows and event fds. */
void vfu_detach(struct vfu *s);

/* A reply on its way out; fd is given with it and stays the server's. */
struct vfu_reply {
	uint8_t buf[VFU_MAX_MSG];
	uint32_t len; /* 0: no reply */
	int fd;
};

/*
 * Handles one message: hdr->size - sizeof(*hdr) bytes at data, at most VFU_MAX_MSG in all, and nfds descriptors, which
 * are closed or taken over. Afterwards s->drop says whether the client has to go.
 */
void vfu_handle(struct vfu *s, const struct vfu_header *hdr, const uint8_t *data, int *fds, unsigned int nfds,
		struct vfu_reply *rp);
const char *vfu_command_name(unsigned int cmd);
/* Tells the caller of vfu_init() what happened, in one line (log.c). */
void vfu_log(struct vfu *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- one message's parts, for the handlers --- */

struct vfu_request {
	const uint8_t *data;
	uint32_t len;
	int *fds; /* a handler that keeps one sets it to -1 */
	unsigned int nfds;
};
/* Space of the reply's payload. */
static inline uint8_t *
vfu_payload(struct vfu_reply *rp)
{
	return rp->buf + sizeof(struct vfu_header);
}

/* Handlers: 0 and *len bytes of payload, or negative errno; -EPROTO counts the message as malformed. */
int vfu_dma_map(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len);
int vfu_dma_unmap(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len);
int vfu_irq_info(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len);
int vfu_irq_set(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len);
int vfu_region_info(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len);
int vfu_region_read(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len);
int vfu_region_write(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len);

/* --- DMA windows (vfu_dma.c) --- */
int vfu_dma_init(void);
void vfu_dma_fini(void);
void vfu_dma_close_all(struct vfu *s);
/* True once after the client cut a file short that the card had mapped. */
bool vfu_dma_lost(struct vfu *s);

/* --- interrupts (vfu_irq.c) --- */
void vfu_irq_close_all(struct vfu *s);

/* --- capabilities (vfu_json.c): text[0..len), 0 or -EPROTO --- */
int vfu_json_caps(const char *text, size_t len, struct vfu_caps *caps);

/* --- transport (vfu_sock.c) --- */
struct vfu_conn {
	int listen_fd, fd;
	struct vfu_header hdr;
	uint32_t got; /* bytes of the message so far, header included */
	uint8_t data[VFU_MAX_MSG];
	int fds[VFU_MAX_FDS];
	unsigned int nfds;
	struct vfu_reply reply;
};
/* Listens at the path, in place of a socket nobody serves any more. Negative errno. */
int vfu_listen(struct vfu_conn *c, const char *path);
void vfu_accept(struct vfu *s, struct vfu_conn *c);
/* Takes what the socket has; false: the client is gone and was detached. */
bool vfu_input(struct vfu *s, struct vfu_conn *c);
void vfu_hangup(struct vfu *s, struct vfu_conn *c, const char *why);

#endif /* VFU_H */
