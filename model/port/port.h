/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port: RSS, steering, its link, what leaves. */
#ifndef MODEL_PORT_PORT_H
#define MODEL_PORT_PORT_H

#include "model/frame/alike.h"
#include "model/card/ctl.h"

/* --- RSS (rss.c) ------------------------------------------------------------------------------------------ */

/* Gives a parent its key. */
void tpm_rss_key(struct tpm_qp *parent, const uint8_t key[MLX4_RSS_KEY_SIZE]);
/* Frees what tpm_rss_key() made. */
void tpm_rss_unload(struct tpm_qp *parent);
/* The ring QPN that the parent gives the frame, and the hash it reports (0: not hashed). */
uint32_t tpm_rss_select(const struct tp_model *m, const struct tpm_qp *parent, const uint8_t *hdr,
			const struct tpm_pkt *k, uint32_t *hash);
/* The same of a frame of this kind without a parser, when addresses and ports are hashed. false: look closer. */
bool tpm_rss_select_alike(const struct tpm_qp *parent, const struct tpm_alike *a, const uint8_t *d, uint32_t *child,
			  uint32_t *hash);

#define TPM_RSS_V4 12u    /* octets of addresses and ports */
#define TPM_RSS_TUPLE 36u /* the same of IPv6, and no more are hashed */

/* The Toeplitz hash is linear: the exclusive or of one entry for each octet of the tuple. */
struct tpm_rss_tables {
	uint32_t byte[TPM_RSS_TUPLE][256];
};

/* How a parent hashes all frames of a kind. */
struct tpm_rss_way {
	const struct tpm_alike *kind;
	const struct tpm_rss_tables *tables; /* NULL: not addresses and ports, or not so */
	uint32_t base, mask;                 /* the number of the first ring; bits of the hash that are added */
	uint16_t from;                       /* where the tuple begins */
	bool v4;
};
/* With tables it stands for tpm_rss_select_alike(). */
void tpm_rss_way(const struct tpm_qp *parent, const struct tpm_alike *a, struct tpm_rss_way *way);

static inline uint32_t
tpm_rss_toeplitz(const struct tpm_rss_tables *t, const uint8_t *tuple, unsigned int n)
{
	uint32_t h = 0;

	for (unsigned int i = 0; i < n; i++)
		h ^= t->byte[i][tuple[i]];
	return h;
}

/* Of a frame of the kind that begins at d. */
static inline uint32_t
tpm_rss_hash(const struct tpm_rss_way *way, const uint8_t *d)
{
	return tpm_likely(way->v4) ? tpm_rss_toeplitz(way->tables, d + way->from, TPM_RSS_V4)
				   : tpm_rss_toeplitz(way->tables, d + way->from, TPM_RSS_TUPLE);
}

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
/* QPs that are attached to a multicast GID; allow_lb and by_rule say nothing. */
void tpm_steer_group(struct tpm_port *p, const uint8_t *gid, struct tpm_steer_hit *hit);
/* QPs that get a copy of all that the port receives, or (sent) sends. */
void tpm_steer_mirror(struct tpm_port *p, bool sent, struct tpm_steer_hit *hit);
/* The same by QP numbers that are computed (steer_calc.c), for Ethernet. */
void tpm_calc_lookup(struct tp_model *m, const struct tpm_port *p, const uint8_t *h, const struct tpm_pkt *k,
		     struct tpm_steer_hit *hit);
/* The same of the group table (steer_group.c). */
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
struct tpm_flow_line;
struct tpm_steer_cache {
	uint32_t gen;               /* moves with every change of a rule; 0 marks an empty line */
	bool flows;                 /* rules decide, and look at more than the address */
	struct tpm_flow_line *flow; /* steer_flow.c; NULL: nothing is remembered yet */
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

/* The same of a frame to which TPM_ALIKE_PARSE does not apply, of IPv4, by all that rules may look at (steer_flow.c). */
uint32_t tpm_steer_flow(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f);

/* --- steering (steer.c), rules of one port ---------------------------------------------------------------- */

int tpm_steer_init(struct tpm_port *p);
void tpm_steer_fini(struct tpm_port *p);
/* QP_FLOW_STEERING_ATTACH with its mailbox of ndwords; gives the rule id. Returns a command status. */
uint8_t tpm_steer_attach(struct tp_model *m, const uint8_t *mbox, uint32_t ndwords, uint64_t *id);
uint8_t tpm_steer_detach(struct tp_model *m, uint64_t id);
void tpm_steer_flush(struct tp_model *m);
/* Who decides from now on; groups of InfiniBand and RoCE are in the group table in both modes without rules. */
enum tpm_steer_by {
	TPM_STEER_BY_RULES,
	TPM_STEER_BY_GROUPS,
	TPM_STEER_BY_CALC,
};
void tpm_steer_mode(struct tp_model *m, enum tpm_steer_by by);

/* Bucket of a group's key, of MLX4_MCG_KEY_SIZE bytes. */
uint32_t tpm_group_hash(const struct tp_model *m, const uint8_t *key);

/* --- ports (port.c) --------------------------------------------------------------------------------------- */

/* Derives the link from cable, wire and INIT_PORT; announces a change by event. */
void tpm_port_update_link(struct tp_model *m, struct tpm_port *p);
/* The operations of what the port speaks. */
static inline const struct tpm_link_ops *
tpm_link(const struct tp_model *m, const struct tpm_port *p)
{
	return m->link_ops[p->ib];
}
/* Does the port's end of the link send light? */
static inline bool
tpm_port_lit(const struct tpm_port *p)
{
	return p->open && p->cable && !p->cable_bad && (p->ib || !p->no_mode) &&
	       !(p->ib && (p->ibp.disabled || p->ibp.retrain));
}
/* Is the wire one for what the port speaks? */
static inline bool
tpm_wire_fits(const struct tpm_port *p)
{
	enum tp_wire_media media = p->wire->ops->media;

	return media == TP_WIRE_ANY || (media == TP_WIRE_IB) == p->ib;
}
/* Changes the link without an event; the wire is told. */
void tpm_port_set_link(struct tpm_port *p, bool up);
/* Frames leave the port. */
void tpm_port_send(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n);
/* Counts a frame that stayed inside the card. */
void tpm_port_count_loop(struct tpm_port *p, const struct tp_frame *f);
/* cable.c: fills the data of a datagram that asks for the EEPROM of what is plugged in; enum mlx4_cable_status. */
uint8_t tpm_cable_get(const struct tp_model *m, const struct tpm_port *p, uint8_t *mad);

#endif /* MODEL_PORT_PORT_H */
