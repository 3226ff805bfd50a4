/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * CONGESTION_CTRL (0x68): parameters and counters of congestion control, by port and priority.
 *
 * A set of parameters begins with a mask: a flag or value is looked at only when its bit is set. Flags have their bits in
 * the mask's high dword, at the places that they have in the flags; values have theirs in the low one.
 */
#ifndef MLX4_PRM_CC_H
#define MLX4_PRM_CC_H

#include "mlx4_prm.h"

/* In-modifier */
#define MLX4_CC_PORT(mod) ((mod)&0xffu)
#define MLX4_CC_PRIOS(mod) ((mod) >> 8 & 0xffu)
#define MLX4_CC_ALGORITHM(mod) ((mod) >> 16 & 0xffu)
#define MLX4_CC_CLEAR (1u << 31) /* with parameters: the defaults [U]; with counters: they start again */
#define MLX4_CC_MOD(port, prios, algorithm) ((uint32_t)(port) | (uint32_t)(prios) << 8 | (uint32_t)(algorithm) << 16)

#define MLX4_CC_QAU 0u /* reaction point of 802.1Qau */
#define MLX4_CC_RP 1u  /* reaction point of RoCE ECN */
#define MLX4_CC_NP 2u  /* notification point */
#define MLX4_CC_ALGORITHMS 3u

/* Op-modifier */
#define MLX4_CC_GET 0u
#define MLX4_CC_STATS 1u
#define MLX4_CC_GET_GENERAL 2u /* of the notification point, of all ports */
#define MLX4_CC_SET 4u
#define MLX4_CC_SET_GENERAL 5u

/* Any set of parameters */
#define MLX4_CC_FLAG_MASK 0x00u
#define MLX4_CC_VALUE_MASK 0x04u
#define MLX4_CC_FLAGS 0x0cu
#define MLX4_CC_QAU_SIZE 0x100u
#define MLX4_CC_RP_SIZE 0x108u
#define MLX4_CC_NP_SIZE 0x100u
#define MLX4_CC_GENERAL_SIZE 0x40u

#define MLX4_CC_QAU_ENABLE (1u << 31)
#define MLX4_CC_QAU_TAG (1u << 30)
#define MLX4_CC_QAU_KEEP_TARGET                                                                                        \
	(1u << 22) /* "disable 32.14.4e" [U]: a target far above the rate stays; of all priorities */
/* Flags that are words, too: X(flag, "word") */
#define MLX4_CC_QAU_WORDS(X)                                                                                           \
	X(MLX4_CC_QAU_ENABLE, "rpg_enable")                                                                            \
	X(MLX4_CC_QAU_TAG, "cn_tag")                                                                                   \
	X(MLX4_CC_QAU_KEEP_TARGET, "disable_32_14_4e")
#define MLX4_CC_RP_CNP (1u << 31) /* CNPs are heard */
#define MLX4_CC_RP_FAST_RISE (1u << 29)
#define MLX4_CC_RP_CLAMP (1u << 27)
#define MLX4_CC_RP_FORCE_UD (1u << 26) /* packets of that service say ECT(0) */
#define MLX4_CC_RP_FORCE_UC (1u << 25)
#define MLX4_CC_RP_FORCE_RC (1u << 24)
#define MLX4_CC_RP_CLAMP_AFTER (1u << 23)
#define MLX4_CC_RP_NO_HAI (1u << 17)
#define MLX4_CC_NP_ECN (1u << 31) /* marked packets are answered */
#define MLX4_CC_NP_RATE_LIMIT (1u << 30)
#define MLX4_CC_GENERAL_CATCH_LIMIT (1u << 31)
#define MLX4_CC_GENERAL_VLAN (1u << 30)
#define MLX4_CC_GENERAL_IPV6 (1u << 29)

/* X(field, "word of lib/roce/cc" or "", bit of the mask); of 802.1Qau the words are those of netlink DCB */
#define MLX4_CC_QAU_VALUES(X)                                                                                          \
	X(PRM_D(0x10, 31, 0), "rppp_max_rps", 31)                                                                      \
	X(PRM_D(0x14, 31, 0), "rpg_time_reset", 30)                                                                    \
	X(PRM_D(0x18, 31, 0), "rpg_byte_reset", 29)                                                                    \
	X(PRM_D(0x1c, 31, 0), "rpg_threshold", 28)                                                                     \
	X(PRM_D(0x20, 31, 0), "rpg_max_rate", 27)                                                                      \
	X(PRM_D(0x24, 31, 0), "rpg_ai_rate", 26)                                                                       \
	X(PRM_D(0x28, 31, 0), "rpg_hai_rate", 25)                                                                      \
	X(PRM_D(0x2c, 31, 0), "rpg_gd", 24)                                                                            \
	X(PRM_D(0x30, 31, 0), "rpg_min_dec_fac", 23)                                                                   \
	X(PRM_D(0x34, 31, 0), "rpg_min_rate", 22)
#define MLX4_CC_QAU_RPS PRM_D(0x10, 31, 0)
/* Those that are a member of struct tqau_conf: X(field, member) */
#define MLX4_CC_QAU_MEMBERS(X)                                                                                         \
	X(PRM_D(0x14, 31, 0), time_reset)                                                                              \
	X(PRM_D(0x18, 31, 0), byte_reset)                                                                              \
	X(PRM_D(0x1c, 31, 0), threshold)                                                                               \
	X(PRM_D(0x20, 31, 0), max_rate)                                                                                \
	X(PRM_D(0x24, 31, 0), ai_rate)                                                                                 \
	X(PRM_D(0x28, 31, 0), hai_rate)                                                                                \
	X(PRM_D(0x2c, 31, 0), gd)                                                                                      \
	X(PRM_D(0x30, 31, 0), min_dec_fac)                                                                             \
	X(PRM_D(0x34, 31, 0), min_rate)
#define MLX4_CC_RP_VALUES(X)                                                                                           \
	X(PRM_D(0x14, 31, 0), "time-reset", 30)                                                                        \
	X(PRM_D(0x18, 31, 0), "byte-reset", 29)                                                                        \
	X(PRM_D(0x1c, 31, 0), "threshold", 28)                                                                         \
	X(PRM_D(0x20, 31, 0), "max-rate", 27)                                                                          \
	X(PRM_D(0x24, 31, 0), "ai-rate", 26)                                                                           \
	X(PRM_D(0x28, 31, 0), "hai-rate", 25)                                                                          \
	X(PRM_D(0x2c, 31, 0), "alpha-to-rate-shift", 24)                                                               \
	X(PRM_D(0x30, 31, 0), "min-dec-fac", 23)                                                                       \
	X(PRM_D(0x34, 31, 0), "min-rate", 22)                                                                          \
	X(PRM_D(0x38, 31, 0), "", 21) /* max_time_rise */                                                              \
	X(PRM_D(0x3c, 31, 0), "", 20) /* max_byte_rise */                                                              \
	X(PRM_D(0x48, 31, 0), "", 17) /* alpha_to_rate_coeff */                                                        \
	X(PRM_D(0x4c, 31, 0), "", 16) /* marked_ratio_multiplier */                                                    \
	X(PRM_D(0x50, 31, 0), "", 15) /* marked_ratio_shift */                                                         \
	X(PRM_D(0x54, 31, 0), "rate-on-first-cnp", 14)                                                                 \
	X(PRM_D(0x58, 31, 0), "dce-tcp-g", 13)                                                                         \
	X(PRM_D(0x5c, 31, 0), "dce-tcp-rtt", 12)
#define MLX4_CC_NP_VALUES(X)                                                                                           \
	X(PRM_D(0x10, 31, 0), "", 31) /* num_injector */                                                               \
	X(PRM_D(0x14, 31, 0), "cnp-interval", 30)                                                                      \
	X(PRM_D(0x18, 13, 8), "cnp-dscp", 26)                                                                          \
	X(PRM_D(0x18, 2, 0), "cnp-802p-prio", 27)                                                                      \
	X(PRM_D(0x1c, 31, 0), "", 28) /* num_congestion_cycles_to_keep */
#define MLX4_CC_GENERAL_VALUES(X)                                                                                      \
	X(PRM_D(0x10, 31, 0), "", 31)     /* max_time_between_ecn_catches */                                           \
	X(PRM_D(0x14, 31, 0), "", 30)     /* min_lossless_buffer_for_ecn_catches */                                    \
	X(MLX4_CC_GENERAL_OPCODE, "", 28) /* of the BTH of CNPs */                                                     \
	X(PRM_D(0x1c, 31, 0), "", 29)     /* min_lossy_buffer_for_ecn_catches */
#define MLX4_CC_GENERAL_OPCODE PRM_D(0x18, 7, 0)

/* Flags that are words, too: X(flag, "word") */
#define MLX4_CC_RP_WORDS(X)                                                                                            \
	X(MLX4_CC_RP_CLAMP, "clamp-target-rate")                                                                       \
	X(MLX4_CC_RP_CLAMP_AFTER, "clamp-target-rate-after-time-inc")                                                  \
	X(MLX4_CC_RP_NO_HAI, "disable-hai-stage")

/* A set of values as a table. */
struct mlx4_cc_value {
	uint32_t field;
	const char *word; /* "": lib/roce/cc has none */
	uint8_t bit;      /* of the mask */
};
#define MLX4_CC_VALUE(field, word, bit) {field, word, bit},

/* Counters: a block of each priority, general ones behind them. */
#define MLX4_CC_STATS_BLOCK 0x40u
#define MLX4_CC_STATS_SIZE 0x400u
#define MLX4_CC_RP_CENTISECONDS 0x00u /* be64: how long limiters lived, in 1/100 s */
#define MLX4_CC_RP_IGNORED PRM_D(0x0c, 31, 0)
#define MLX4_CC_RP_LIMITERS PRM_D(0x10, 31, 0)      /* now */
#define MLX4_CC_RP_RATE_AVERAGE PRM_D(0x14, 31, 0)  /* of all limiters together, Mb/s [U] */
#define MLX4_CC_RP_LIMITER_INDEX PRM_D(0x18, 31, 0) /* the highest that was in use */
#define MLX4_CC_RP_DROPPED PRM_D(0x1c, 31, 0)       /* the firmware was busy */
#define MLX4_CC_RP_RATE PRM_D(0x20, 31, 0)
#define MLX4_CC_RP_HANDLED PRM_D(0x24, 31, 0)
#define MLX4_CC_RP_RATE_MIN PRM_D(0x28, 31, 0)
#define MLX4_CC_RP_RATE_MAX PRM_D(0x2c, 31, 0)
/* Of 802.1Qau: the same places, and */
#define MLX4_CC_QAU_CREATED PRM_D(0x10, 31, 0)       /* reaction points that there were */
#define MLX4_CC_NP_IGNORED 0x08u                     /* be64: marked packets that were not answered for */
#define MLX4_CC_NP_INJECTORS PRM_D(0x10, 31, 0)      /* flows within their interval */
#define MLX4_CC_NP_LOW_BUFFER PRM_D(0x14, 31, 0)     /* how often it was off, since receive buffers were scarce */
#define MLX4_CC_NP_LOW_BUFFER_US 0x18u               /* be64 */
#define MLX4_CC_NP_INJECTOR_INDEX PRM_D(0x20, 31, 0) /* the highest that was in use */
#define MLX4_CC_NP_MARKED PRM_D(0x24, 31, 0)
#define MLX4_CC_NP_SENT PRM_D(0x28, 31, 0)

#endif /* MLX4_PRM_CC_H */
