/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card from the inside. One struct tp_model is one card; its lock (a fair ticket lock) covers everything here.
 *
 * Each folder of model/ has a header with its calls; docs/architecture.md has their floors. A call up goes through one of
 * the three tables here: struct tpm_qp_ops, struct tpm_link_ops, struct tpm_port_ops.
 */
#ifndef MODEL_CARD_MODEL_PRIV_H
#define MODEL_CARD_MODEL_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include "ib_state.h"
#include "lib/quirk/quirk.h"
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
#define TPM_MAX_RSS (1u << TPM_LG_MAX_RSS)
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
	atomic_uint next, owner, sleepers;
};
void tpm_lock(struct tpm_lock *l);
void tpm_unlock(struct tpm_lock *l);
bool tpm_trylock(struct tpm_lock *l); /* false: somebody has it, or waits for it */

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
/* --- queues ----------------------------------------------------------------------------------------------- */

#define TPM_CQS_LEFT 16u

struct tpm_eq {
	struct tpm_ring ring;
	uint32_t eqn, lg_size, pi, ci;
	uint16_t vector;
	uint8_t state; /* enum mlx4_eq_state */
	uint8_t status;
	bool ec, oi;
	bool loses; /* broken on request: its next interrupt does not come */
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
struct tpm_tx;
/*
 * What a queue pair does, by its service. Lower floors call a queue pair through this table: they know neither the
 * transport nor the send queue.
 */
struct tpm_qp_ops {
	/* Executes up to budget WQEs; returns how many. */
	unsigned int (*run)(struct tp_model *m, struct tpm_qp *qp, unsigned int budget);
	/* Sends through the transport, which the QP has; *idle: nothing more is posted. NULL: WQEs become frames. */
	unsigned int (*send)(struct tp_model *m, struct tpm_qp *qp, unsigned int budget, bool *idle);
	/* Executes one checked WQE of a QP that is not raw Ethernet. */
	bool (*wqe)(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head);
	/* May a turn bring anything? */
	bool (*ready)(const struct tpm_qp *qp);
	/* After a turn on a managed port, in which so many WQEs were read: what was done, WQEs or packets. */
	unsigned int (*served)(struct tpm_qp *qp, unsigned int wqes);
	/* The transport follows a transition; 0 or -ENOMEM. */
	int (*state)(struct tp_model *m, struct tpm_qp *qp, uint8_t state);
	/* To the error state: flushes what is posted. */
	void (*flush)(struct tp_model *m, struct tpm_qp *qp);
};

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
	bool stuck;   /* broken on request: executes nothing */
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
	const struct tpm_qp_ops *ops; /* of its service */
	struct tpm_srq *srq;          /* that it receives from, or NULL */
	struct tpm_roce *roce;        /* its transport, or NULL */
	uint8_t counter;              /* interface counter index */
	bool lb_check_mc, lb_check_uc;
	uint8_t rx_run;              /* of the burst at hand, if that one is of this QP: else it is of another burst */
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
	uint64_t rx_control, rx_in_range, rx_out_range, rx_too_long, rx_pcs;
	uint32_t rx_jabber, rx_crc, rx_runt, rx_short, rx_drop, rx_overflow, rx_length, tx_drop;
};

struct tpm_if_counter {
	uint64_t rx_frames, rx_bytes, tx_frames, tx_bytes;
};

struct tpm_impair_state;
struct tpm_roce;
struct tpm_qos;
struct tpm_cc;
struct tpm_steer; /* rules and their lookup, per port */

struct tpm_port;
struct tpm_roce_path;
struct tre_qp;
struct tre_out;

/* What an Ethernet and an InfiniBand link do differently. */
struct tpm_link_ops {
	/* Tells software that the link came up or went down. */
	void (*changed)(struct tp_model *m, struct tpm_port *p, bool up);
	/* The path in a QP's context. */
	void (*path_of_qp)(const struct tp_model *m, const struct tpm_qp *qp, struct tpm_roce_path *path);
	/* A packet of the transport leaves; false: it has to wait. */
	bool (*xmit)(struct tre_qp *e, struct tre_out *out);
	/*
	 * Sends plain datagrams from where the send queue of a QP stands that has nothing under way; returns how many, at most
	 * budget. What it leaves is the transport's. NULL: all is.
	 */
	unsigned int (*datagrams)(struct tp_model *m, struct tpm_qp *qp, unsigned int budget);
	/* Executes a send WQE of QP0 or QP1, whose packets software built. */
	bool (*mlx)(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head);
};

/* The way back into the card: frames of the port's own QPs that it receives itself. */
struct tpm_port_ops {
	/* Frames of the QP from turn round inside the card. */
	void (*deliver)(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n,
			const struct tpm_qp *from);
	/* Copies for those who watch what the port sends. */
	void (*mirror)(struct tp_model *m, struct tpm_port *p, bool sent, const struct tp_frame *f, unsigned int n);
	/* Frames on their way out, of which some get a CN-TAG. Returns how many the wire took. */
	unsigned int (*send_tagged)(struct tpm_port *p, const struct tp_frame *f, unsigned int n);
};

struct tpm_port {
	unsigned int num;             /* 1..2 */
	uint32_t break_sq, break_cqe; /* doorbells, completions until one is lost; 0: none is */
	bool ib;                      /* type in force */
	bool open;                    /* INIT_PORT */
	uint64_t wol;                 /* MLX4_WOL_* */
	uint32_t beacon_s;            /* the light blinks for so long since it was asked for, to find the port by */
	bool cable, link;             /* cable plugged; link as last announced */
	bool cable_bad;               /* the card cannot use it */
	bool no_mode;                 /* its speeds are none of the peer's */
	uint32_t eth_modes_off;       /* PTYS: what it has and must not use */
	uint32_t peer_modes;          /* what the peer offers; 0: whatever the wire carries */
	uint64_t mac;
	uint32_t max_frame; /* with header, tags and FCS */
	uint32_t user_mtu;
	uint8_t rx_csum_mode; /* CONFIG_DEV: bit 0 checksum values for frames that are not TCP/UDP */
	bool ignore_fcs, rx_pause, tx_pause, vlan_filter_on;
	uint8_t rx_pfc, tx_pfc;
	bool tunnels;        /* the parser looks for frames inside frames */
	bool tx_managed;     /* the scheduler decides what is sent next */
	bool cn_tags;        /* frames of some priorities have a CN-TAG */
	bool rx_waits;       /* frames wait in the receive buffers */
	struct tpm_qos *qos; /* qos.h */
	struct tpm_cc *cc;   /* roce_cc.h */
	uint8_t prio2tc[8];
	uint64_t mac_table[MLX4_MAC_TABLE_ENTRIES];
	uint32_t vlan_table[MLX4_VLAN_TABLE_ENTRIES];
	uint32_t vlan_bitmap[4096 / 32]; /* VID v is bit v % 32 of word v / 32 */
	bool mcast_filter;
	struct tpm_steer *steer;
	struct tp_wire *wire;
	struct tpm_port *direct; /* the card's other port, when the wire leads straight to it; NULL */
	struct tpm_impair_state *impair;
	struct tpm_port_counters c;
	uint64_t tx_ip_sums, tx_l4_sums; /* frames with checksums that a WQE asked for */
	uint64_t wire_drops, rx_no_rule, rx_vlan_filtered, rx_no_wqe, rx_too_long, rx_bad_fcs, rx_link_down;
	uint64_t tx_no_transport;        /* sends of verbs QPs that went nowhere */
	bool mirrored;                   /* there is a rule that copies what it receives or sends */
	uint32_t roce_qps;               /* QPs with a transport: frames are looked at for RoCE */
	uint64_t flushed_sq, flushed_rq; /* WQEs that ended with "flushed" without having been looked at */
	uint64_t roce_tx, roce_rx, roce_bad_icrc, roce_no_qp, roce_no_gid, roce_no_group, roce_malformed;
	struct tpm_ib ibp;           /* of an InfiniBand port (ib.h) */
	uint8_t rx_run[TPM_MAX_RSS]; /* rx_run of rings, by their numbers */
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
	struct mlx4_quirks quirks; /* as cfg.quirks said */
	enum tpm_sys_state state;

	/* BAR2: polled doorbell words */
	uint8_t *uar;
	int uar_fd;
	bool db_messages;   /* doorbells came as messages since the last reset */
	uint32_t *uar_list; /* pages that a live context names: the ones to poll */
	uint32_t uar_count;
	const uint8_t *bf_part; /* a register whose copy is not whole, NULL: none is known; since when */
	uint64_t bf_part_ns;
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
	const struct tpm_port_ops *port_ops;
	const struct tpm_link_ops *link_ops[2]; /* of Ethernet and InfiniBand: tpm_link() */
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
	uint32_t break_irq;  /* events until one raises no interrupt, 0: none does */
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
	atomic_uint polls;       /* calls of tp_model_poll, about: of several threads one may be lost */
	atomic_uint wakes;       /* calls of tp_model_wake */
	atomic_bool thread_nap;  /* the thread sleeps, or is about to: wakes tells it */
	atomic_bool thread_deep; /* ... for so long that who sends wakes it */
	int wake_fd;             /* eventfd that ends its sleep, -1: it never ran */
	struct {
		int fd; /* userfaultfd, -1: none */
		uint8_t *uar;
		atomic_bool on;
		struct tpm_lock lock; /* of protecting and the opposite */
		atomic_bool armed;    /* pages [first, end) are protected */
		uint32_t first, end;
		atomic_ullong arms, wakes;
	} watch; /* doorbells that wake it (watch.c) */

	/* watching */
	uint64_t violation[TPM_V_COUNT];
	char last_broken[2][256]; /* by enum tp_rule_class */
	tp_model_log_fn log;
	FILE *trace;               /* commands as text, NULL: none */
	struct tpm_traced *traced; /* queues whose first entries go there, too */
	struct tpm_replay *replay; /* a recording that the firmware answers from; NULL: none */
	void *log_arg;
	struct tp_model_stats st;
};

/* The variant that this card is, 0: a. */
static inline uint8_t
tpm_quirk(const struct tp_model *m, enum mlx4_quirk_id id)
{
	return m->quirks.v[id];
}

/* A rule was broken: counts it, keeps the text, logs a line. obj/num name the object ("QP", 0x48). */
void tpm_violate(struct tp_model *m, enum tpm_violation v, const char *obj, uint32_t num, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void tpm_note(struct tp_model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- queue pairs by number --------------------------------------------------------------------------------- */

/* The place of a QP number: its low bits. Those above are software's, and part of the number all the same. */
static inline uint32_t
tpm_qp_place(const struct tp_model *m, uint32_t qpn)
{
	return qpn & ((1u << m->lg_qps) - 1);
}

static inline struct tpm_qp *
tpm_qp_get(const struct tp_model *m, uint32_t qpn)
{
	struct tpm_qp *qp = m->qp != NULL ? m->qp[tpm_qp_place(m, qpn)] : NULL;

	return qp != NULL && qp->qpn == qpn ? qp : NULL;
}

static inline bool
tpm_qp_can_receive(const struct tpm_qp *qp)
{
	return qp->state >= MLX4_QP_RTR && qp->state != MLX4_QP_ERR;
}

/* --- time (clock.c) --------------------------------------------------------------------------------------- */

/* Takes the time from the machine, unless the caller gives it. */
void tpm_clock_read(struct tp_model *m);
/* The time as the card's clock has it, in cycles. */
uint64_t tpm_clock_cycles(struct tp_model *m);

static inline uint64_t
tpm_now(const struct tp_model *m)
{
	return m->now_ns;
}

#endif /* MODEL_CARD_MODEL_PRIV_H */
