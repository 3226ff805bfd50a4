/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Doorbells. In process the UAR pages are memory that is polled: a word is taken with an atomic exchange for 0, so that
 * a write between two looks is never lost; 0 is no doorbell that means anything (QP 0 does not send this way, an arm
 * has a command, an EQ index of 0 without arming says what the next one says again). Behind a transport each write
 * arrives as a message.
 */
#include <errno.h>

#include "model/event/event.h"
#include "queue.h"

#define BF_HALF (1u << (TPM_LG_BF_REG - 1))
#define BF_HALVES (MLX4_UAR_PAGE_SIZE / BF_HALF)
#define SEND_DB_RSVD 0xffu
/* With more pages than these, one that no send queue names is looked at for sends, which would be wrong, in one of so many rounds. */
#define FEW_PAGES 32u
#define TURNS 16u
/* A copy is looked at when its last bytes had time to arrive behind its first. */
#define BF_LOOKS 3u

static void
send_db(struct tp_model *m, uint32_t page, uint32_t v)
{
	if ((v & SEND_DB_RSVD) != 0)
		tpm_violate(m, TPM_V_DB_RSVD, "QP", v >> 8, "send doorbell 0x%08x, wanted bits 7:0 to be 0", v);
	tpm_sq_doorbell(m, page, v >> 8);
}

static uint64_t
take64(uint8_t *at)
{
	uint64_t *w = (uint64_t *)(void *)at;

	if (__atomic_load_n(w, __ATOMIC_RELAXED) == 0)
		return 0;
	return rte_be_to_cpu_64(__atomic_exchange_n(w, 0, __ATOMIC_ACQ_REL));
}

/*
 * Whoever writes a copy may lose its CPU in the middle of it, where it then looks the same for long. What differs from the ring
 * gets this time; who writes and steps the card in one thread has written all.
 */
#define BF_PART_NS UINT64_C(2000000000)
static bool
may_go_on(struct tp_model *m, const uint8_t *at)
{
	if (m->virtual_time || (!atomic_load_explicit(&m->thread_on, memory_order_relaxed) &&
				atomic_load_explicit(&m->polls, memory_order_relaxed) == 0))
		return false;
	/*
	 * One after the other: the time of one that is wrong ends whatever else is written. One whose page is not polled any more
	 * has no end.
	 */
	if (m->bf_part == NULL || (m->bf_part != at && tpm_now(m) - m->bf_part_ns >= 2 * BF_PART_NS)) {
		m->bf_part = at;
		m->bf_part_ns = tpm_now(m);
	}
	return m->bf_part != at || tpm_now(m) - m->bf_part_ns < BF_PART_NS;
}

/* Software writes a copy in ascending order: it is whole when two looks at it in a row show the same. */
static unsigned int
poll_bf_half(struct tp_model *m, uint32_t page, uint8_t *at)
{
	uint64_t first = __atomic_load_n((uint64_t *)(void *)at, __ATOMIC_ACQUIRE);
	uint8_t a[BF_HALF], b[BF_HALF];

	if (first == 0)
		return 0;
	memcpy(b, at, BF_HALF);
	for (unsigned int i = 0; i < BF_LOOKS; i++) {
		memcpy(a, b, BF_HALF);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		memcpy(b, at, BF_HALF);
		if (memcmp(a, b, BF_HALF) != 0)
			return 0;
	}
	if (tpm_unlikely(!tpm_bf_whole(m, a, BF_HALF)) && may_go_on(m, at))
		return 0;
	if (m->bf_part == at)
		m->bf_part = NULL;
	if (!__atomic_compare_exchange_n((uint64_t *)(void *)at, &first, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return 0;
	tpm_bf_doorbell(m, page, a, BF_HALF);
	return 1;
}

static inline unsigned int
look_at_half(struct tp_model *m, uint32_t page, uint8_t *at)
{
	return tpm_likely(__atomic_load_n((uint64_t *)(void *)at, __ATOMIC_RELAXED) == 0) ? 0
											  : poll_bf_half(m, page, at);
}

/* Both halves of the page's first register each time, those of the others in turn. */
static inline unsigned int
poll_bf(struct tp_model *m, uint32_t page)
{
	uint8_t *base = m->uar + (size_t)(TPM_NUM_UARS + page) * MLX4_UAR_PAGE_SIZE;
	unsigned int turn = 2 + (unsigned int)(m->st.steps % (BF_HALVES - 2));

	return look_at_half(m, page, base) + look_at_half(m, page, base + BF_HALF) +
	       look_at_half(m, page, base + turn * BF_HALF);
}

unsigned int
tpm_uar_poll(struct tp_model *m)
{
	const bool few = m->uar_count <= FEW_PAGES;
	unsigned int done = 0;
	bool sends;

	for (uint32_t i = 0; i < m->uar_count; i++) {
		uint32_t page = m->uar_list[i], v;
		uint8_t *base = m->uar + (size_t)page * MLX4_UAR_PAGE_SIZE;
		uint64_t arm;

		if (page < MLX4_UAR_EQ_PAGES) {
			if (tpm_unlikely(tpm_uar_eqs_rung(base)))
				done += tpm_uar_poll_eqs(m, page);
			continue;
		}
		sends = few || m->ctl->uar_sends[page] || (m->st.steps + page) % TURNS == 0;
		v = sends ? tpm_db_take(base + MLX4_UAR_SEND_DB) : 0;
		if (v != 0) {
			send_db(m, page, v);
			done++;
		}
		arm = take64(base + MLX4_UAR_CQ_ARM);
		if (arm != 0) {
			tpm_cq_doorbell(m, page, (uint32_t)(arm >> 32), (uint32_t)arm);
			done++;
		}
		if (sends)
			done += poll_bf(m, page);
	}
	return done;
}

int
tp_model_uar_write(struct tp_model *m, uint32_t off, const void *buf, uint32_t len)
{
	uint32_t page = off / MLX4_UAR_PAGE_SIZE, in = off % MLX4_UAR_PAGE_SIZE;
	int rc = 0;

	if (off >= TPM_BAR2_SIZE || len > MLX4_UAR_PAGE_SIZE - in)
		return -EINVAL;
	tpm_lock(&m->lock);
	m->db_messages = true;
	if (page >= TPM_NUM_UARS && len >= MLX4_TXBB_SIZE && len <= BF_HALF)
		tpm_bf_doorbell(m, page - TPM_NUM_UARS, buf, len);
	else if (page < TPM_NUM_UARS && in == MLX4_UAR_SEND_DB && len == 4)
		send_db(m, page, prm_get32(buf, 0));
	else if (page < TPM_NUM_UARS && in == MLX4_UAR_CQ_ARM && len == 8)
		tpm_cq_doorbell(m, page, prm_get32(buf, 0), prm_get32(buf, 4));
	else if (page < MLX4_UAR_EQ_PAGES && in >= MLX4_UAR_EQ_DB && in < MLX4_UAR_EQ_DB + 8 * MLX4_EQS_PER_UAR &&
		 in % 8 == 0 && (len == 4 || len == 8))
		tpm_eq_doorbell(m, page * MLX4_EQS_PER_UAR + (in - MLX4_UAR_EQ_DB) / 8, prm_get32(buf, 0));
	else
		rc = -EINVAL;
	tpm_unlock(&m->lock);
	return rc;
}
