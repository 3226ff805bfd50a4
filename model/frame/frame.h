/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the files of the data path share: parsed frames, checksums, the receive path, bursts of sends. */
#ifndef TPM_DATAPATH_H
#define TPM_DATAPATH_H

#include "model_priv.h"

#define TPM_ETH_HLEN 14u
#define TPM_ETH_ALEN 6u
#define TPM_VLAN_HLEN 4u
#define TPM_FCS_LEN 4u
#define TPM_ETH_ZLEN 60u /* shortest frame on a wire, without FCS */
#define TPM_ETYPE_IPV4 0x0800u
#define TPM_ETYPE_IPV6 0x86ddu
#define TPM_ETYPE_CVLAN 0x8100u
#define TPM_ETYPE_SVLAN 0x88a8u
#define TPM_PROTO_TCP 6u
#define TPM_PROTO_UDP 17u

/* Flags of a frame inside the card, above those of tp_model.h */
#define TPM_FRAME_IP_OK 0x100u /* the sender's hardware computed the IPv4 header checksum of this very frame ... */
#define TPM_FRAME_L4_OK 0x200u /* ... and its TCP/UDP checksum */
#define TPM_FRAME_LOOP 0x400u  /* looped inside the card, never on a wire */

/* splitmix64: short, seedable, good enough for coin tosses. */
static inline uint64_t
tpm_random(uint64_t *s)
{
	uint64_t z = *s += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* True in ppm of a million tosses. */
#define TPM_PPM 1000000u
static inline bool
tpm_toss(uint64_t *s, uint64_t ppm)
{
	return (tpm_random(s) >> 32) * TPM_PPM >> 32 < ppm;
}

/* --- parsing ---------------------------------------------------------------------------------------------- */

#define TPM_PARSE_MAX 256u /* headers beyond this are not looked at */

struct tpm_pkt {
	uint16_t etype;    /* behind the tags */
	uint16_t tci;      /* of the outer C-tag */
	uint16_t status;   /* MLX4_CQE_ST_* without IP_OK */
	uint16_t l3, l4;   /* offsets, 0: none */
	uint32_t l4_len;   /* bytes that the IP header promises behind l4 */
	uint8_t proto;     /* what follows the IP headers, 0: none */
	uint8_t tags;      /* VLAN tags of any kind */
	uint8_t enc;       /* MLX4_CQE_LLC, MLX4_CQE_SNAP */
	uint8_t ext;       /* MLX4_CQE_EXT_* */
	bool cvlan;        /* the outer tag is a C-tag */
	bool frag, len_ok; /* len_ok: version and lengths of the IP header fit the frame */
};

/* hdr: the first hlen bytes (all of it, or TPM_PARSE_MAX) of a frame of len bytes. */
void tpm_parse(const uint8_t *hdr, uint32_t hlen, uint32_t len, struct tpm_pkt *k);
/* The part of it from the IP header on: etype and l3 are known. */
void tpm_parse_ip(const uint8_t *hdr, uint32_t hlen, uint32_t len, struct tpm_pkt *k);
/* The first bytes of a frame, contiguous: its own first piece, or gathered into buf. */
const uint8_t *tpm_frame_head(const struct tp_frame *f, uint8_t buf[TPM_PARSE_MAX], uint32_t *hlen);
/* Copies len bytes from off. */
void tpm_frame_copy(const struct tp_frame *f, uint32_t off, uint8_t *dst, uint32_t len);

static inline uint16_t
tpm_load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void
tpm_store16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* --- checksums and segmentation (offload.c) ---------------------------------------------------------------- */

/* One's-complement sums are kept as host-order words over memory order: only tpm_csum_fold knows the difference. */
static inline uint64_t
tpm_csum_add(uint64_t sum, uint64_t v)
{
	sum += v;
	return sum + (sum < v);
}

static inline __attribute__((always_inline)) uint64_t
tpm_csum_bytes(uint64_t sum, const uint8_t *p, uint32_t len)
{
	uint64_t v64;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&v64, p, 8);
		sum = tpm_csum_add(sum, v64);
	}
	if ((len & 4) != 0) {
		uint32_t v32;

		memcpy(&v32, p, 4);
		sum = tpm_csum_add(sum, v32);
		p += 4;
	}
	if ((len & 2) != 0) {
		uint16_t v16;

		memcpy(&v16, p, 2);
		sum = tpm_csum_add(sum, v16);
		p += 2;
	}
	if ((len & 1) != 0)
		sum = tpm_csum_add(sum, rte_le_to_cpu_16(*p));
	return sum;
}

/* The sum as the 16-bit number that its two bytes in memory order are. */
static inline uint16_t
tpm_csum_fold(uint64_t sum)
{
	uint32_t s32 = (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);

	/* Adding the halves crosswise leaves the end-around carry in the upper half. */
	return rte_be_to_cpu_16((uint16_t)((s32 + (s32 << 16 | s32 >> 16)) >> 16));
}

/* Sum of len bytes of a frame from off, whatever its pieces. */
uint64_t tpm_csum_frame(const struct tp_frame *f, uint32_t off, uint32_t len);
uint64_t tpm_csum_pseudo(const uint8_t *hdr, const struct tpm_pkt *k, uint32_t l4_len);
/* True when the frame's TCP/UDP checksum was computed and is right. A UDP checksum of 0 was not computed. */
bool tpm_csum_l4_good(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *k);
/* Value of the CQE's checksum field for other frames [DP 8.4] */
uint16_t tpm_csum_partial(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *k);
/* True when the IP header of k is right; of IPv4 with its checksum, which the sender's hardware may vouch for. */
bool tpm_csum_ip_good(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *k);
/* Writes the checksums of one IP header and what follows it. False: k has no such header. */
bool tpm_csum_insert_at(const struct tp_frame *f, uint8_t *hdr, const struct tpm_pkt *k, bool ip, bool l4);
/* Writes the checksums that ctrl_flags (MLX4_CTRL_*_CSUM) ask for into hdr, which is the frame's first piece. */
bool tpm_csum_insert(const struct tp_frame *f, uint8_t *hdr, uint32_t hlen, uint32_t ctrl_flags);
uint32_t tpm_crc32(uint32_t crc, const uint8_t *p, uint32_t len);
uint32_t tpm_frame_fcs(const struct tp_frame *f);
#define TPM_ICRC_LEN 4u
/* The invariant CRC, as it lies on the wire, of a RoCE frame whose last bytes are the room for it; false: no RoCE. */
bool tpm_icrc(const struct tp_frame *f, uint8_t icrc[TPM_ICRC_LEN]);
/* Turns a copy of the LSO header template into the header of one segment. */
void tpm_lso_header(uint8_t *hdr, const struct tpm_pkt *k, uint32_t hlen, uint32_t off, uint32_t len, uint32_t index,
		    bool last);
/* Writes length and identification of an IP header, and the length of UDP behind it, for the index-th segment. */
void tpm_lso_lengths(uint8_t *hdr, const struct tpm_pkt *k, uint32_t frame_len, uint32_t index);

/* --- tunnels (tunnel.c) ------------------------------------------------------------------------------------ */

enum tpm_tunnel { TPM_TUNNEL_NONE, TPM_TUNNEL_VXLAN, TPM_TUNNEL_NVGRE, TPM_TUNNEL_IPIP };

/*
 * The frame inside a tunnel; offsets of inner count from the first byte of the outer one. NONE, with inner not written: it
 * has none, or the port does not look.
 */
enum tpm_tunnel tpm_tunnel_parse(const struct tp_model *m, const struct tpm_port *p, const uint8_t *hdr, uint32_t hlen,
				 const struct tpm_pkt *outer, struct tpm_pkt *inner);
/* A frame in one piece that may be a tunnel's; false is certain. */
bool tpm_tunnel_maybe(const struct tp_model *m, const struct tp_frame *f);
/* tpm_csum_insert for WQEs with MLX4_CTRL_IIP or MLX4_CTRL_ILP in control dword 0. */
bool tpm_tunnel_insert(const struct tp_model *m, const struct tpm_port *p, const struct tp_frame *f, uint8_t *hdr,
		       uint32_t hlen, uint32_t dw0, uint32_t ctrl_flags);
/* What a CQE's first dword says of the outer headers. */
uint32_t tpm_tunnel_status(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *outer);

/* --- RSS (rss.c) ------------------------------------------------------------------------------------------ */

/* A parent gets a key; when the parent goes. */
void tpm_rss_key(struct tpm_qp *parent, const uint8_t key[MLX4_RSS_KEY_SIZE]);
void tpm_rss_unload(struct tpm_qp *parent);
/* The common frame: TCP or UDP over IPv4, hashed with its ports, seen without a parser. false: look closer. */
bool tpm_rss_select_ipv4(const struct tpm_qp *parent, const uint8_t *d, uint32_t len, uint32_t *child, uint32_t *hash);

/* The ring QPN that the parent gives the frame, and the hash it reports (0: not hashed). */
uint32_t tpm_rss_select(const struct tp_model *m, const struct tpm_qp *parent, const uint8_t *hdr,
			const struct tpm_pkt *k, uint32_t *hash);

/* --- steering (steer.c) ----------------------------------------------------------------------------------- */

#define TPM_STEER_MAX_QPS 64u

struct tpm_steer_hit {
	uint32_t qpn[TPM_STEER_MAX_QPS];
	uint32_t n;
	bool by_rule;  /* not a default or sniffer */
	bool allow_lb; /* of the first rule */
};
/* Every QPN that gets the frame. */
void tpm_steer_lookup(struct tpm_port *p, const uint8_t *hdr, uint32_t hlen, const struct tpm_pkt *k,
		      struct tpm_steer_hit *hit);
/* The group table's answer (steer_group.c). */
/* QPs that are attached to a multicast GID; allow_lb and by_rule say nothing. */
void tpm_steer_group(struct tpm_port *p, const uint8_t *gid, struct tpm_steer_hit *hit);
/* QPs that get a copy of all that the port receives, or (sent) sends. */
void tpm_steer_mirror(struct tpm_port *p, bool sent, struct tpm_steer_hit *hit);
void tpm_group_lookup_ib(struct tp_model *m, const uint8_t *gid, struct tpm_steer_hit *hit);
void tpm_group_lookup(struct tp_model *m, const struct tpm_port *p, const uint8_t *h, const struct tpm_pkt *k,
		      struct tpm_steer_hit *hit);
/* The answer for untagged frames to this address when one QP gets them all and the address alone decides. */
#define TPM_STEER_SLOW UINT32_MAX
uint32_t tpm_steer_fast_miss(struct tpm_port *p, uint64_t dmac_key);

#define TPM_STEER_CACHE 64u
struct tpm_steer_line {
	uint64_t key; /* destination address as it lies in memory, in the low 48 bits */
	uint32_t qpn, gen;
};
struct tpm_steer_cache {
	uint32_t gen; /* moves with every change of a rule; 0 marks an empty line */
	struct tpm_steer_line line[TPM_STEER_CACHE];
};

static inline uint32_t
tpm_steer_fast(struct tpm_port *p, uint64_t key)
{
	/* The cache is the first member of struct tpm_steer. */
	struct tpm_steer_cache *c = (struct tpm_steer_cache *)p->steer;
	struct tpm_steer_line *l = &c->line[(key >> 40 ^ key >> 24) % TPM_STEER_CACHE];

	if (tpm_likely(l->key == key && l->gen == c->gen))
		return l->qpn;
	return tpm_steer_fast_miss(p, key);
}

/* Fetches a line to write it: without the plain prefetch's second trip for ownership. A no-op where unknown. */
static inline void
tpm_prefetchw(const void *p)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const volatile char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* --- receive (rq.c) --------------------------------------------------------------------------------------- */

#define TPM_BURST 32u

/* Frames arrive at a port from its wire (after impairment) or from inside the card; from: the sending QP or NULL. */
void tpm_port_rx(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n,
		 const struct tpm_qp *from);
/* Copies for those who watch the port; only while p->mirrored. */
void tpm_port_mirror(struct tp_model *m, struct tpm_port *p, bool sent, const struct tp_frame *f, unsigned int n);
/* The same for what comes over a wire: impairment first. */
void tpm_port_arrive(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n);
/* Plain frames, each in one piece, for one QP. */
struct tpm_rx_run {
	struct tpm_qp *qp;
	unsigned int n;
	const struct tp_frame *f[TPM_BURST];
	uint32_t hash[TPM_BURST];
};
void tpm_rx_run_flush(struct tp_model *m, struct tpm_port *p, struct tpm_rx_run *r);
/* Any frame for a QP; waits when the QP says so and has no receive WQE, or behind others that do. */
void tpm_receive_slow(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *in,
		      uint32_t hash);
/* The same without waiting: false when there is no receive WQE. */
bool tpm_receive_now(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *in,
		     uint32_t hash);
/* Flushes what is posted to a QP's receive queue. */
void tpm_rq_flush(struct tp_model *m, struct tpm_qp *qp);

/* The TLB line that tpm_mr_translate uses. */
static inline uint32_t
tpm_tlb_slot(uint32_t key, uint64_t va)
{
	return (uint32_t)((va >> 21 ^ key >> 8) % TPM_TLB_LINES);
}

static inline struct tpm_qp *
tpm_qp_get(const struct tp_model *m, uint32_t qpn)
{
	return m->qp != NULL && qpn < 1u << m->lg_qps ? m->qp[qpn] : NULL;
}

static inline bool
tpm_qp_can_receive(const struct tpm_qp *qp)
{
	return qp->state >= MLX4_QP_RTR && qp->state != MLX4_QP_ERR;
}

/* Writes an error CQE. False when the CQ takes none. */
bool tpm_cqe_error(struct tp_model *m, struct tpm_cq *cq, uint32_t qpn, uint16_t index, uint8_t syndrome, bool send);

/* The receive WQE that is next of a QP's own queue, NULL: none. */
const uint8_t *tpm_rq_peek(struct tp_model *m, struct tpm_qp *qp);
/* Shared receive queues (srq.c): the list of the WQE that is next, taken off; its entry. NULL: none. */
int tpm_srq_open(struct tp_model *m, struct tpm_srq *srq);
const uint8_t *tpm_srq_take(struct tp_model *m, struct tpm_srq *srq, uint64_t *entry);

/* --- send (sq.c, sq_wqe.c, sq_lso.c) ------------------------------------------------------------------------ */

#define TPM_TX_SEGS 256u
#define TPM_TX_ARENA 16384u

/* A burst of frames on its way out; the arena holds what the card wrote itself (headers, tags, inline data). */
struct tpm_tx {
	struct tp_model *m;
	struct tpm_qp *qp;
	struct tpm_port *p;
	unsigned int n, nseg, ncqe;
	uint32_t used;
	uint32_t fail_strides; /* how far the WQE at hand reaches */
	uint32_t plain_room;   /* lengths from the shortest frame on that a plain WQE may have */
	uint64_t bytes;        /* of the frames in the burst */
	bool wait;             /* the far end has no room for the packet of the WQE at hand: it stays */
	struct tp_frame f[TPM_BURST];
	struct tp_frame_seg seg[TPM_TX_SEGS];
	struct {
		uint16_t index;
		uint8_t opcode;
	} cqe[TPM_BURST];
	uint8_t arena[TPM_TX_ARENA];
};
/* Sends what was gathered, completes it. */
void tpm_tx_flush(struct tpm_tx *t);
/* Executes one WQE of any form, with every check; *strides says how far it reaches. False: it waits, or the QP is in error. */
bool tpm_wqe_execute(struct tpm_tx *t, uint32_t head, uint32_t *strides);
/* Executes the LSO WQE in w (ds units, checked); false after an error completion. */
bool tpm_wqe_lso(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head);
/* Executes a WQE of a QP that is not raw Ethernet (sq_ib.c): of QP0 or QP1, and of a verbs QP. */
bool tpm_wqe_mlx(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head);
bool tpm_wqe_verbs(struct tpm_tx *t, const uint8_t *w, uint32_t head);
/* All segments behind the control segment as pieces of a frame; false after tpm_wqe_fail. */
bool tpm_wqe_pieces(struct tpm_tx *t, uint32_t head, const uint8_t *w, uint32_t ds, struct tp_frame_seg *out,
		    unsigned int max, unsigned int *n, uint32_t *len);
/* Ends the WQE at head with an error that is nobody's mistake. Always false. */
bool tpm_wqe_end(struct tpm_tx *t, uint32_t head, uint8_t syndrome);
/* Ends the WQE at head with an error and takes the QP down. Always false. */
bool tpm_wqe_fail(struct tpm_tx *t, uint32_t head, uint8_t syndrome, enum tpm_violation v, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* One data segment of a send as frame pieces; false after tpm_wqe_fail. */
bool tpm_wqe_gather(struct tpm_tx *t, uint32_t head, unsigned int index, const uint8_t *seg, struct tp_frame_seg *out,
		    unsigned int max, unsigned int *n, uint32_t *len);
/* Room of len bytes in the arena; the caller made sure that there is some. */
static inline uint8_t *
tpm_tx_arena(struct tpm_tx *t, uint32_t len)
{
	uint8_t *p = t->arena + t->used;

	t->used += len;
	return p;
}
/* The violation and syndrome that a failed translation stands for. */
enum tpm_violation tpm_xlat_violation(enum tpm_xlat_err err);
const char *tpm_xlat_text(enum tpm_xlat_err err);
/* Takes a QP to the error state because of what a WQE did; counts nothing. */
void tpm_sq_flush(struct tp_model *m, struct tpm_qp *qp);
/* A queue that was stopped goes on with what was posted meanwhile. */
void tpm_sq_resume(struct tp_model *m, struct tpm_qp *qp);
/* Looks for blocks behind idle send queues that look posted [DP 4.3] */
void tpm_sq_stamp_check(struct tp_model *m);
bool tpm_sq_head_posted(const struct tpm_qp *qp, uint32_t head);

/* --- frames that wait (held.c) ------------------------------------------------------------------------------- */

/* A copy of a frame, in one piece. */
struct tpm_held {
	struct tpm_held *next;
	uint64_t due_ns;
	uint32_t len;
	uint16_t flags;
	/* of receive buffers: whose space it takes, and the queue that it is for */
	uint8_t pool;
	uint32_t qpn, hash;
	uint8_t data[];
};
struct tpm_held_list {
	struct tpm_held *head, *tail;
	uint32_t count;
};
/* NULL when there is no memory. */
struct tpm_held *tpm_hold(const struct tp_frame *f);
void tpm_held_add(struct tpm_held_list *l, struct tpm_held *h);
/* Takes the first one out. */
struct tpm_held *tpm_held_take(struct tpm_held_list *l);
void tpm_held_clear(struct tpm_held_list *l);

/* --- ports and wires --------------------------------------------------------------------------------------- */

/* Counts a frame that stayed inside the card. */
void tpm_port_count_loop(struct tpm_port *p, const struct tp_frame *f);
void tpm_impair_poll(struct tp_model *m, struct tpm_port *p);
void tpm_wire_detach(struct tpm_port *p);

/* Polls the doorbell words of the pages in use; how many were rung. */
unsigned int tpm_uar_poll(struct tp_model *m);

/* Histogram block of a frame, flen with FCS [DP 13.1] */
static inline unsigned int
tpm_size_block(const struct tpm_port *p, uint32_t flen)
{
	if (tpm_likely(flen <= 64))
		return 0;
	if (flen < 1024)
		return (unsigned int)(31 - __builtin_clz(flen)) - 5;
	if (flen <= 1518)
		return 5;
	if (flen <= 1522)
		return 6;
	if (flen <= 1548)
		return 7;
	return flen <= p->max_frame ? 8 : 9;
}

#endif /* TPM_DATAPATH_H */
