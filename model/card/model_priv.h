/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card from the inside. One struct tp_model is one card; its lock (a fair ticket lock) covers everything here.
 *
 * Who owns what:
 *   config.c regs.c        configuration space; BAR0 registers, semaphores, reset, HCR
 *   cmd*.c                 command dispatch and handlers (cmd_icm, cmd_obj, cmd_qp, cmd_port ...)
 *   dma.c icm.c tpt.c      DMA windows; ICM page table; MPT/MTT translation and its caches
 *   eq.c cq.c              event and completion rings
 *   sq.c rq.c              send and receive queues at run time
 *   offload.c parse.c rss.c steer.c port.c   what happens to a frame
 *   sched.c pause.c rxbuf.c delay.c cmd_qos.c   quality of service (qos.h)
 *   ib*.c                  InfiniBand ports (ib.h)
 *   wire*.c run.c          wires; doorbell polling, time, thread
 *   violation.c            rules and their counters
 */
#ifndef TPM_MODEL_PRIV_H
#define TPM_MODEL_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include "ib_state.h"
#include "mlx4_prm.h"
#include "mlx4_prm_cmd.h"
#include "mlx4_prm_ctx.h"
#include "mlx4_prm_regs.h"
#include "mlx4_prm_wqe.h"
#include "tp_model.h"
#include "violation.h"

#define tpm_likely(x) __builtin_expect(!!(x), 1)
#define tpm_unlikely(x) __builtin_expect(!!(x), 0)

/* --- what this card is ------------------------------------------------------------------------------------ */

#define TPM_LG_UAR_MIB 2u /* 4 MiB of UARs: 1024 pages */
#define TPM_NUM_UARS ((1u << (TPM_LG_UAR_MIB + 20u)) / MLX4_UAR_PAGE_SIZE)
#define TPM_BAR2_SIZE (2u * TPM_NUM_UARS * MLX4_UAR_PAGE_SIZE)
#define TPM_LG_BF_REG 9u
#define TPM_LG_BF_REGS_PAGE 3u
#define TPM_LG_RSVD_QPS 6u
#define TPM_LG_RSVD_SRQS 6u
#define TPM_LG_RSVD_CQS 7u
#define TPM_LG_RSVD_MPTS 8u
#define TPM_LG_RSVD_MTTS 0u
#define TPM_NUM_RSVD_EQS 4u
#define TPM_RSVD_UARS 1u
#define TPM_RSVD_PDS 4u
#define TPM_LG_MAX_QPS 19u
#define TPM_LG_MAX_SRQS 17u
#define TPM_LG_MAX_CQS 17u
#define TPM_LG_MAX_EQS 9u
#define TPM_LG_MAX_MPTS 20u
#define TPM_LG_MAX_MTTS 31u
#define TPM_LG_MAX_QP_WQES 14u
#define TPM_LG_MAX_CQES 22u
#define TPM_LG_MAX_EQES 22u
#define TPM_LG_MAX_RSS 7u
#define TPM_LG_MAX_GSO 17u
#define TPM_MAX_SQ_SGE 62u
#define TPM_MAX_RQ_SGE 32u
#define TPM_MAX_RQ_DESC 512u
#define TPM_LG_PORT_MACS 7u
#define TPM_LG_PORT_VLANS 7u
#define TPM_ETH_MTU_MAX 9600u /* QUERY_PORT: L3 MTU */
#define TPM_FW_PAGES 1024u
#define TPM_MAX_COUNTERS 256u /* the last is the sink */
#define TPM_MAX_ICM (UINT64_C(1) << 40)
#define TPM_CLOCK_OFF 0x1f0a0u /* free-running clock in BAR0, reported by QUERY_FW */
#define TPM_CORE_CLOCK_MHZ 427u
#define TPM_MAX_RULES (1u << 17)
#define TPM_MAX_TIMERS 256u

enum tpm_sys_state {
	TPM_SYS_RESET, /* after power-on or reset: QUERY_FW, MAP_FA, RUN_FW only */
	TPM_SYS_FW,    /* firmware runs */
	TPM_SYS_HCA,   /* INIT_HCA done */
	TPM_SYS_DEAD,  /* catastrophic error: only a reset helps */
};

/* --- locks ------------------------------------------------------------------------------------------------ */

/* Fair, so that a control call gets in between two rounds of a busy runner. */
struct tpm_lock {
	atomic_uint next, owner;
};
void tpm_lock(struct tpm_lock *l);
void tpm_unlock(struct tpm_lock *l);

/* --- DMA windows and translation -------------------------------------------------------------------------- */

struct tpm_window {
	uint64_t iova, len;
	uint8_t *host;
	uint32_t prot;
};

/*
 * One translated stretch: card addresses [lo, hi) seen through a key (or raw) are host memory. Valid while gen equals
 * the card's tpt_gen, which every command that may change a translation and every window change increments.
 */
struct tpm_tlb_line {
	uint64_t lo, hi;
	uint8_t *host;
	uint32_t key, gen;
	uint32_t access; /* TPM_ACC_* granted */
};
#define TPM_TLB_LINES 16u
struct tpm_tlb {
	struct tpm_tlb_line line[TPM_TLB_LINES];
};
#define TPM_ACC_LR 1u /* local read: the card reads for a send */
#define TPM_ACC_LW 2u /* local write: the card scatters */
#define TPM_ACC_RR 4u
#define TPM_ACC_RW 8u
#define TPM_ACC_ATOMIC 16u

/* Why a translation failed: decides syndrome and violation. */
enum tpm_xlat_err {
	TPM_XLAT_OK,
	TPM_XLAT_KEY, /* no such key, stale key byte, wrong state */
	TPM_XLAT_PD,
	TPM_XLAT_BOUNDS,
	TPM_XLAT_ACCESS,
	TPM_XLAT_MTT, /* MTT entry not present, or not mapped in ICM */
	TPM_XLAT_DMA, /* outside the DMA windows */
};

/*
 * Raw DMA (mailboxes, doorbell records, ICM backing): host pointer of [iova, iova + len) inside one window, or NULL
 * after a "dma-unmapped" violation naming what.
 */
uint8_t *tpm_dma(struct tp_model *m, uint64_t iova, uint64_t len, uint32_t prot, const char *what);
/* As tpm_dma without a violation; *avail says how much of it is contiguous. */
uint8_t *tpm_dma_probe(struct tp_model *m, uint64_t iova, uint64_t len, uint32_t prot, uint64_t *avail);

/*
 * Host pointer of [va, va + *len) under a memory key; *len is cut to what is contiguous on the host (at least one
 * byte). Fills the TLB line. err says why not.
 */
uint8_t *tpm_mr_translate(struct tp_model *m, struct tpm_tlb *tlb, uint32_t key, uint32_t pd, uint64_t va,
			  uint32_t *len, uint32_t access, enum tpm_xlat_err *err);

/* Takes a window off its region; nothing when it is not bound, or no window (roce_win.c). */
void tpm_window_unbind(struct tp_model *m, uint8_t *mpt);

/* A queue's buffer: a run of MTT entries. Resolved when used and when tpt_gen moved. */
struct tpm_ring {
	uint8_t *flat;     /* whole buffer when its pages are contiguous on the host */
	uint8_t **page;    /* else one pointer per page */
	uint64_t mtt_off;  /* byte offset of the first entry from the MTT base */
	uint32_t page_off; /* bytes into the first page */
	uint32_t size;     /* bytes */
	uint32_t gen;
	uint8_t lg_page; /* of page[]: pages are resolved in units of at most 4 KiB ... */
	uint8_t mtt_lg;  /* ... an MTT entry covers this many bytes (lg) */
	bool valid;      /* resolved and all pages reachable */
};
int tpm_ring_init(struct tp_model *m, struct tpm_ring *r, uint64_t mtt_off, uint8_t lg_page, uint32_t page_off,
		  uint32_t size);
void tpm_ring_fini(struct tpm_ring *r);
/* (Re)translates; 0 or -EFAULT after a violation that names what and num. */
int tpm_ring_resolve(struct tp_model *m, struct tpm_ring *r, const char *what, uint32_t num);

/* Pointer to off; the caller never asks for a piece that crosses a page (entries are aligned powers of two). */
static inline uint8_t *
tpm_ring_at(const struct tpm_ring *r, uint32_t off)
{
	if (tpm_likely(r->flat != NULL))
		return r->flat + off;
	off += r->page_off;
	return r->page[off >> r->lg_page] + (off & ((1u << r->lg_page) - 1));
}

/* ICM: page table from ICM address to host memory, 4 KiB pages. */
struct tpm_icm;
uint8_t *tpm_icm_at(struct tp_model *m, uint64_t icm_addr, uint32_t len, const char *what); /* NULL + violation */

/* --- queues ----------------------------------------------------------------------------------------------- */

#define TPM_CQS_LEFT 16u

struct tpm_eq {
	struct tpm_ring ring;
	uint32_t eqn, lg_size, pi, ci;
	uint16_t vector;
	uint8_t state; /* enum mlx4_eq_state */
	uint8_t status;
	bool ec, oi;
};

struct tpm_cq {
	/* read or written for every completion */
	struct tpm_ring ring;
	uint32_t mask; /* entries - 1 */
	uint32_t pi, ci;
	uint8_t lg_stride; /* lg bytes of an entry: 5 or 6 (or the stride mode's) */
	uint8_t cqe_off;   /* of the 32-byte CQE in its entry */
	uint8_t arm;       /* enum mlx4_cq_state */
	uint8_t oi;
	rte_be32_t *dbrec; /* host pointer, NULL when gen moved and not looked up again */
	uint32_t dbrec_gen;
	uint32_t armed_ci;
	/* moderation */
	uint16_t mod_count, mod_period_us, pending;
	bool stamp; /* entries carry the time */
	uint64_t pending_since_ns;
	/* control */
	uint64_t dbrec_addr;
	uint32_t cqn, eqn, uar, last_notified, solicited_pi;
	uint8_t arm_sn, status; /* arm_sn: the last one that was answered with an event */
	uint8_t arm_sn_asked;
	bool cc;
	uint32_t refs; /* QPs that use it */
};

/* When a limited thing is free again: ns + rem / kbps */
struct tpm_pace {
	uint64_t ns;
	uint32_t rem;
};

struct tpm_qp;
/* QPs that have work, in the order of their turns; a QP is in one list at most. */
struct tpm_qp_list {
	struct tpm_qp *head, *tail;
	uint32_t count;
};

struct tpm_qp {
	/* send queue */
	struct tpm_ring ring; /* RQ and SQ share one buffer */
	uint32_t sq_off, rq_off;
	uint32_t sq_mask;   /* strides - 1 */
	uint32_t sq_head;   /* running counter in strides */
	uint32_t last_turn; /* WQEs that the last turn of the send queue found */
	uint8_t sq_lg_stride, rq_lg_stride;
	uint8_t state;   /* enum mlx4_qp_state */
	uint8_t service; /* enum mlx4_qp_service */
	uint8_t port;    /* 1..2 from the schedule queue */
	bool eth;        /* raw Ethernet */
	bool is_rss, vlan_keep, fcs_keep, no_prefetch;
	bool tunnels; /* receives tunnelled frames as such */
	bool has_sq, has_rq;
	uint8_t prio; /* 0..7 from the schedule queue */
	struct tpm_cq *scq, *rcq;
	struct tpm_tlb tlb;
	/* receive queue */
	uint32_t rq_mask, rq_head; /* rq_head: running counter of consumed WQEs */
	uint16_t rq_tail;          /* last value read from the doorbell record */
	rte_be32_t *dbrec;
	uint32_t dbrec_gen;
	/* what the checks remember */
	int64_t run_ahead;   /* WQEs executed less doorbells rung */
	uint32_t stamp_head; /* sq_head when the queue went idle */
	uint64_t stamp_since_ns;
	uint32_t stamp_off; /* of the block that the first look found, or 0 */
	bool stamp_due, stamp_listed;
	/* control */
	uint32_t qpn, pd, uar;
	uint64_t dbrec_addr;
	struct tpm_srq *srq;   /* that it receives from, or NULL */
	struct tpm_roce *roce; /* its transport, or NULL */
	uint8_t counter;       /* interface counter index */
	bool lb_check_mc, lb_check_uc;
	struct tpm_qp_list *pending; /* where it waits for its turn: a doorbell was seen and WQEs may be left */
	struct tpm_qp *pending_next;
	/* quality of service */
	uint8_t rated_port;   /* whose scheduler knows its rate, 0: none */
	uint16_t delay_drop;  /* units of 100 us that a frame waits for a receive WQE */
	bool delay_runs;      /* a frame waits since ... */
	uint32_t rate_kbps;   /* 0: no limit */
	uint64_t delay_since; /* ... then */
	struct tpm_pace pace;
	/* RSS parent */
	struct {
		uint32_t base_qpn, default_qpn, base_qpn_udp;
		uint8_t lg_rings, fn, flags;
		uint8_t key[MLX4_RSS_KEY_SIZE];
		struct tpm_rss_tables *tables; /* of the key */
	} rss;
	uint8_t ctx[MLX4_QPC_SIZE]; /* as software last wrote it */
};

struct tpm_srq {
	uint8_t ctx[MLX4_SRQC_SIZE];
	struct tpm_ring ring;
	uint32_t mask, max_sge; /* entries - 1; elements of a WQE */
	uint16_t head;          /* entry that is next */
	uint16_t taken;         /* running counter of consumed WQEs */
	uint8_t lg_stride;
	uint32_t srqn;
	uint32_t refs; /* QPs that use it */
};

/* --- ports ------------------------------------------------------------------------------------------------ */

struct tpm_port_counters {
	/* per priority 0..7, 8 = untagged, 9 = loopback (tx only) */
	uint64_t rx_size[MLX4_STATS_SIZE_BLOCKS][9], rx_bcast[9], rx_mcast[9], rx_ucast[9], rx_oct[9], rx_frames[9];
	uint64_t tx_size[MLX4_STATS_SIZE_BLOCKS][10], tx_bcast[10], tx_mcast[10], tx_ucast[10], tx_oct[10],
		tx_frames[10];
	uint64_t rx_tagged[9], tx_tagged[10];
	uint64_t rx_control, rx_in_range, rx_out_range, rx_too_long;
	uint32_t rx_jabber, rx_crc, rx_runt, rx_short, rx_drop, rx_overflow, rx_length, tx_drop;
};

struct tpm_if_counter {
	uint64_t rx_frames, rx_bytes, tx_frames, tx_bytes;
};

struct tpm_impair_state;
struct tpm_roce;
struct tpm_qos;
struct tpm_steer; /* rules and their lookup, per port */

struct tpm_port {
	unsigned int num;  /* 1..2 */
	bool ib;           /* type in force */
	bool open;         /* INIT_PORT */
	uint64_t wol;      /* MLX4_WOL_* */
	uint32_t beacon_s; /* the light blinks for so long since it was asked for, to find the port by */
	bool cable, link;  /* cable plugged; link as last announced */
	uint64_t mac;
	uint32_t max_frame; /* with header, tags and FCS */
	uint32_t user_mtu;
	uint8_t rx_csum_mode; /* CONFIG_DEV: bit 0 checksum values for frames that are not TCP/UDP */
	bool ignore_fcs, rx_pause, tx_pause, vlan_filter_on;
	uint8_t rx_pfc, tx_pfc;
	bool tunnels;        /* the parser looks for frames inside frames */
	bool tx_managed;     /* the scheduler decides what is sent next */
	bool rx_waits;       /* frames wait in the receive buffers */
	struct tpm_qos *qos; /* qos.h */
	uint8_t prio2tc[8];
	uint64_t mac_table[MLX4_MAC_TABLE_ENTRIES];
	uint32_t vlan_table[MLX4_VLAN_TABLE_ENTRIES];
	uint32_t vlan_bitmap[4096 / 32]; /* VID v is bit v % 32 of word v / 32 */
	bool mcast_filter;
	struct tpm_steer *steer;
	struct tp_wire *wire;
	struct tpm_impair_state *impair;
	struct tpm_port_counters c;
	uint64_t wire_drops, rx_no_rule, rx_vlan_filtered, rx_no_wqe, rx_too_long, rx_bad_fcs, rx_link_down;
	uint64_t tx_no_transport;        /* sends of verbs QPs that went nowhere */
	bool mirrored;                   /* there is a rule that copies what it receives or sends */
	uint32_t roce_qps;               /* QPs with a transport: frames are looked at for RoCE */
	uint64_t flushed_sq, flushed_rq; /* WQEs that ended with "flushed" without having been looked at */
	uint64_t roce_tx, roce_rx, roce_bad_icrc, roce_no_qp, roce_no_gid, roce_malformed;
	struct tpm_ib ibp; /* of an InfiniBand port (ib.h) */
};

/* --- the card --------------------------------------------------------------------------------------------- */

struct tpm_fault {
	bool armed;
	enum tp_fault kind;
	uint16_t opcode;
	uint32_t countdown;
	uint8_t status;
};

struct tp_model {
	struct tpm_lock lock;
	struct tp_model_config cfg;
	enum tpm_sys_state state;

	/* BAR2: polled doorbell words */
	uint8_t *uar;
	int uar_fd;
	bool db_messages;                                  /* doorbells came as messages since the last reset */
	atomic_uint_least64_t uar_used[TPM_NUM_UARS / 64]; /* pages that a live context names: the ones to poll */
	uint32_t *uar_list;                                /* the same as a list, for the runner */
	uint32_t uar_count;
	struct tpm_qp_list pending; /* QPs of ports that no scheduler manages */
	bool waits;                 /* something waits for time or for software: do not sleep long */
	uint32_t timer_cqn[TPM_MAX_TIMERS], num_timers; /* CQs whose moderation period runs */
	uint32_t stamp_qpn[TPM_MAX_TIMERS], num_stamps; /* send queues that went idle and are to be looked at */

	/* translation */
	uint32_t tpt_gen; /* starts at 1; 0 marks an empty TLB line */
	struct tpm_window *win;
	uint32_t num_win, cap_win;
	struct tpm_icm *icm;
	uint64_t qpc_base, srqc_base, cqc_base, eqc_base, dmpt_base, mtt_base;
	uint32_t lg_qps, lg_srqs, lg_cqs, lg_eqs, lg_mpts;
	uint32_t num_uars;
	uint32_t cq_left[TPM_CQS_LEFT]; /* see tpm_cq_left(); 0: none */
	uint32_t num_cqs_left;
	bool cqe64, eqe64, dmfs;
	uint8_t cqe_lg_stride, cqe_off, eqe_lg_stride, eqe_off;
	uint8_t hca[MLX4_HCA_SIZE]; /* INIT_HCA as given, for QUERY_HCA */

	/* objects by number, sized at INIT_HCA */
	struct tpm_qp **qp;
	struct tpm_cq **cq;
	struct tpm_eq **eq;
	struct tpm_srq **srq;
	struct tpm_roce *roce;        /* list of live transports */
	struct tre_stats *roce_stats; /* of each port, NULL: no transport was ever used */
	uint32_t event_eq[64];        /* EQN that MAP_EQ gave each event type, or UINT32_MAX */
	int irq_fd[MLX4_MSIX_VECTORS];

	struct tpm_port port[TP_MODEL_PORTS];
	struct tpm_if_counter counter[TPM_MAX_COUNTERS];
	uint16_t vxlan_port, roce_port;
	uint32_t special_qp_base;
	uint64_t next_rule_id;

	/* commands */
	uint8_t hcr[MLX4_HCR_SIZE];
	uint32_t hcr_busy_reads; /* reads of the control dword that still show GO */
	uint32_t hcr_result;     /* control dword to show then */
	bool owned, reset_sem;
	uint8_t pci_cfg[4096];
	uint8_t *bar0_misc; /* MSI-X table and PBA, catastrophic buffer, scratch */
	struct tpm_fault fault;
	uint64_t *cmd_count; /* per entry of MLX4_CMD_LIST */
	uint32_t fw_pages, aux_pages;
	uint64_t icm_size;
	struct tpm_ctl *ctl; /* what only the control side looks at (ctl.h) */

	/* time and running */
	bool virtual_time;
	uint64_t now_ns;
	pthread_t thread;
	atomic_bool thread_on, thread_stop;
	uint32_t wake_max_us;

	/* watching */
	uint64_t violation[TPM_V_COUNT];
	char last_violation[256];
	tp_model_log_fn log;
	FILE *trace; /* commands as text, NULL: none */
	void *log_arg;
	struct tp_model_stats st;
};

/* A rule was broken: counts it, keeps the text, logs a line. obj/num name the object ("QP", 0x48). */
void tpm_violate(struct tp_model *m, enum tpm_violation v, const char *obj, uint32_t num, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void tpm_note(struct tp_model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- commands (cmd.c) ------------------------------------------------------------------------------------- */

struct tpm_cmd {
	uint64_t in_param, out_param;
	uint32_t in_modifier;
	uint16_t opcode;
	uint8_t op_modifier;
	uint8_t *in, *out; /* mailboxes, already translated; NULL when the command has none */
	uint64_t imm;      /* immediate result */
	bool has_imm;      /* of a command that may have one */
};
typedef uint8_t (*tpm_cmd_fn)(struct tp_model *m, struct tpm_cmd *c); /* returns enum mlx4_cmd_status */

/* Runs what is in the HCR. */
void tpm_cmd_execute(struct tp_model *m);

/* --- events (eq.c) ---------------------------------------------------------------------------------------- */

/* Writes an EQE (owner set by this function) and fires the vector if the EQ is armed. */
/* Doorbells of the event queues of one UAR page. */
unsigned int tpm_uar_poll_eqs(struct tp_model *m, uint32_t page);
void tpm_eqe_write(struct tp_model *m, struct tpm_eq *eq, const uint8_t eqe[MLX4_EQE_SIZE]);
/* To the EQ that MAP_EQ gave the type; dropped when none has it. */
void tpm_event(struct tp_model *m, uint8_t type, const uint8_t eqe[MLX4_EQE_SIZE]);
void tpm_event_qp(struct tp_model *m, uint8_t type, uint32_t qpn);
void tpm_event_srq(struct tp_model *m, uint8_t type, uint32_t srqn);
void tpm_event_cq_error(struct tp_model *m, uint32_t cqn, uint8_t syndrome);
void tpm_event_port(struct tp_model *m, unsigned int port, uint8_t subtype);
void tpm_eq_doorbell(struct tp_model *m, uint32_t eqn, uint32_t val);

/* --- completions (cq.c) ----------------------------------------------------------------------------------- */

/* Arm doorbell: hi/lo are the two dwords as numbers; page is the UAR page that was written. */
void tpm_cq_doorbell(struct tp_model *m, uint32_t page, uint32_t hi, uint32_t lo);
/* Slow part of a completion: overrun, wrap of the cached consumer index. False: no room, the CQ is in error. */
bool tpm_cq_room(struct tp_model *m, struct tpm_cq *cq);
/* After one or more CQEs: event and moderation. */
void tpm_cq_notify(struct tp_model *m, struct tpm_cq *cq, bool solicited);
void tpm_cq_timers(struct tp_model *m);

/* The slot of the next CQE, or NULL when the CQ is full or unreachable. */
static inline struct mlx4_cqe *
tpm_cqe_next(struct tp_model *m, struct tpm_cq *cq)
{
	if (tpm_unlikely(cq->pi - cq->ci > cq->mask || cq->ring.gen != m->tpt_gen) && !tpm_cq_room(m, cq))
		return NULL;
	return (struct mlx4_cqe *)(tpm_ring_at(&cq->ring, (cq->pi & cq->mask) << cq->lg_stride) + cq->cqe_off);
}

/* Hands the CQE to software: everything else must be written before. op: opcode and MLX4_CQE_IS_SEND. */
static inline void
tpm_cqe_commit(struct tpm_cq *cq, struct mlx4_cqe *cqe, uint8_t op)
{
	uint8_t owner = (cq->pi & (cq->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;

	__atomic_store_n(&cqe->owner_sr_opcode, (uint8_t)(op | owner), __ATOMIC_RELEASE);
	cq->pi++;
}

/* The time as the card's clock has it, in cycles. */
uint64_t tpm_clock_cycles(struct tp_model *m);
/* The time goes into an entry of an Ethernet queue pair, over its VLAN and its reserved bytes [DP 6.2]. */
void tpm_cqe_stamp(struct tp_model *m, struct mlx4_cqe *cqe);

/* --- queue pairs at run time ------------------------------------------------------------------------------ */

/* Send doorbell for qpn written to UAR page. */
void tpm_sq_doorbell(struct tp_model *m, uint32_t page, uint32_t qpn);
/* BlueFlame copy of len bytes at page. */
void tpm_bf_doorbell(struct tp_model *m, uint32_t page, const uint8_t *wqe, uint32_t len);
/* Executes up to budget WQEs; returns how many. */
unsigned int tpm_sq_run(struct tp_model *m, struct tpm_qp *qp, unsigned int budget);
/* To the error state: every outstanding WQE is completed with a flush error. */
void tpm_qp_to_error(struct tp_model *m, struct tpm_qp *qp);
/* Takes the QP out of the pending list (before reset or destruction). */
void tpm_qp_forget(struct tp_model *m, struct tpm_qp *qp);

/* --- steering (steer.c), rules of one port ---------------------------------------------------------------- */

int tpm_steer_init(struct tpm_port *p);
void tpm_steer_fini(struct tpm_port *p);
/* QP_FLOW_STEERING_ATTACH with its mailbox of ndwords; gives the rule id. Returns a command status. */
uint8_t tpm_steer_attach(struct tp_model *m, const uint8_t *mbox, uint32_t ndwords, uint64_t *id);
uint8_t tpm_steer_detach(struct tp_model *m, uint64_t id);
void tpm_steer_flush(struct tp_model *m);
/* Who decides from now on: the group table (true) or rules. */
void tpm_steer_mode(struct tp_model *m, bool by_group);

/* --- ports (port.c) --------------------------------------------------------------------------------------- */

void tpm_port_reset(struct tp_model *m, struct tpm_port *p);
/* Looks at cable, wire and INIT_PORT; announces a change by event. */
void tpm_port_update_link(struct tp_model *m, struct tpm_port *p);
/* Does the port's end of the link send light? */
static inline bool
tpm_port_lit(const struct tpm_port *p)
{
	return p->open && p->cable && !(p->ib && (p->ibp.disabled || p->ibp.retrain));
}
/* Is the wire one for what the port speaks? */
static inline bool
tpm_wire_fits(const struct tpm_port *p)
{
	enum tp_wire_media media = p->wire->ops->media;

	return media == TP_WIRE_ANY || (media == TP_WIRE_IB) == p->ib;
}
/* What the far end of a port's wire speaks; TP_SENSE_NONE: nobody there, or undecided. */
enum tp_sense tpm_wire_sense(const struct tpm_port *p);
/* Changes the link without an event; the wire is told. */
void tpm_port_set_link(struct tpm_port *p, bool up);
/* Frees what an impaired wire holds back, and the impairment. */
void tpm_impair_fini(struct tpm_port *p);
/* Frames leave the port. */
void tpm_port_send(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n);

static inline uint64_t
tpm_now(const struct tp_model *m)
{
	return m->now_ns;
}

#endif /* TPM_MODEL_PRIV_H */
