/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A bad wire, seeded: what arrives at a port is dropped, damaged, cut, doubled, swapped with its successor or held back.
 * The same seed and the same frames give the same result.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/rx/rx.h"
#include "wire.h"

#define PPM TPM_PPM
#define DELAY_MAX_US 10000000u
#define HELD_MAX 65536u
#define REORDER_WAIT_NS 1000000u /* a frame that waits for a successor to be swapped with waits no longer */

struct tpm_impair_state {
	struct tp_impair cfg;
	uint64_t rng;
	struct tpm_held_list late; /* in order of due_ns */
	struct tpm_held *swap;     /* waits for its successor */
};

static bool
toss(struct tpm_impair_state *s, uint32_t ppm)
{
	return ppm != 0 && tpm_toss(&s->rng, ppm);
}

static void
deliver(struct tp_model *m, struct tpm_port *p, const struct tpm_held *h)
{
	struct tp_frame_seg seg = {.data = h->data, .len = h->len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .flags = h->flags, .len = h->len};

	tpm_port_rx(m, p, &f, 1, NULL);
}

/* Now, or when its time has come. Takes h. */
static void
forward(struct tp_model *m, struct tpm_port *p, struct tpm_held *h)
{
	struct tpm_impair_state *s = p->impair;

	if (s->cfg.delay_us == 0) {
		deliver(m, p, h);
		free(h);
		return;
	}
	if (s->late.count >= HELD_MAX) {
		m->st.port[p->num - 1].impair_drops++;
		free(h);
		return;
	}
	h->due_ns = tpm_now(m) + (uint64_t)s->cfg.delay_us * 1000;
	tpm_held_add(&s->late, h);
}

static void
release_swap(struct tp_model *m, struct tpm_port *p)
{
	struct tpm_held *h = p->impair->swap;

	p->impair->swap = NULL;
	if (h != NULL)
		forward(m, p, h);
}

static void
impair_one(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f)
{
	struct tpm_impair_state *s = p->impair;
	bool drop = toss(s, s->cfg.drop_ppm), corrupt = toss(s, s->cfg.corrupt_ppm), dup = toss(s, s->cfg.dup_ppm),
	     reorder = toss(s, s->cfg.reorder_ppm), symbol = toss(s, s->cfg.symbol_ppm),
	     cut = toss(s, s->cfg.short_ppm);
	struct tpm_held *h = drop ? NULL : tpm_hold(f), *copy;

	if (h == NULL) {
		m->st.port[p->num - 1].impair_drops++;
		return;
	}
	if (corrupt && h->len != 0) {
		uint64_t bit = tpm_random(&s->rng) % ((uint64_t)h->len * 8);

		h->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		/* The checksums of the sender's hardware are not those of these bytes, nor is the FCS. */
		h->flags = TP_FRAME_BAD_FCS;
		m->st.port[p->num - 1].impair_corrupts++;
	}
	/* Where there is no code of Ethernet's, the packet is damaged. */
	if (symbol)
		h->flags |= TPM_FRAME_CODE | TP_FRAME_BAD_FCS;
	if (cut) {
		uint32_t len = TPM_ETH_HLEN + (uint32_t)(tpm_random(&s->rng) % (TPM_ETH_ZLEN - TPM_ETH_HLEN));

		h->len = RTE_MIN(h->len, len);
		h->flags |= TPM_FRAME_SHORT;
		h->flags &= (uint16_t)~TPM_FRAME_CRC_OK;
	}
	if (reorder && s->swap == NULL) {
		h->due_ns = tpm_now(m) + REORDER_WAIT_NS;
		s->swap = h;
		m->st.port[p->num - 1].impair_reorders++;
		return;
	}
	copy = dup ? malloc(sizeof(*h) + h->len) : NULL;
	if (copy != NULL) {
		memcpy(copy, h, sizeof(*h) + h->len);
		m->st.port[p->num - 1].impair_dups++;
		forward(m, p, copy);
	}
	forward(m, p, h);
	release_swap(m, p);
}

void
tpm_port_arrive(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n)
{
	if (tpm_likely(p->impair == NULL)) {
		tpm_port_rx(m, p, f, n, NULL);
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		impair_one(m, p, &f[i]);
}

void
tpm_impair_poll(struct tp_model *m, struct tpm_port *p)
{
	struct tpm_impair_state *s = p->impair;

	if (s->swap != NULL && s->swap->due_ns <= tpm_now(m))
		release_swap(m, p);
	while (s->late.head != NULL && s->late.head->due_ns <= tpm_now(m)) {
		struct tpm_held *h = tpm_held_take(&s->late);

		deliver(m, p, h);
		free(h);
	}
}

void
tpm_impair_fini(struct tpm_port *p)
{
	struct tpm_impair_state *s = p->impair;

	p->impair = NULL;
	if (s == NULL)
		return;
	tpm_held_clear(&s->late);
	free(s->swap);
	free(s);
}

int
tp_model_impair(struct tp_model *m, unsigned int port, const struct tp_impair *imp)
{
	struct tpm_impair_state *s = NULL;

	if (port < 1 || port > TP_MODEL_PORTS || imp->drop_ppm > PPM || imp->corrupt_ppm > PPM || imp->dup_ppm > PPM ||
	    imp->reorder_ppm > PPM || imp->symbol_ppm > PPM || imp->short_ppm > PPM || imp->delay_us > DELAY_MAX_US)
		return -EINVAL;
	if ((imp->drop_ppm | imp->corrupt_ppm | imp->dup_ppm | imp->reorder_ppm | imp->symbol_ppm | imp->short_ppm |
	     imp->delay_us) != 0) {
		s = calloc(1, sizeof(*s));
		if (s == NULL)
			return -ENOMEM;
		s->cfg = *imp;
		s->rng = imp->seed;
	}
	tpm_lock(&m->lock);
	tpm_impair_fini(&m->port[port - 1]);
	m->port[port - 1].impair = s;
	tpm_unlock(&m->lock);
	return 0;
}
