/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Management datagrams of an InfiniBand port beyond the common header: where the fields are (IBTA 1.4, 13.6, 14.2, 15.2). */
#ifndef MAD_AGENT_MAD_FMT_H
#define MAD_AGENT_MAD_FMT_H

#include "lib/roce/wire/mad.h"

#define MAD_QP1_QKEY 0x80010000u
#define MAD_LID_PERMISSIVE 0xffffu
#define MAD_LID_MULTICAST 0xc000u

/* Subnet management (14.2.1); the last four are the directed route's. */
enum smp_at {
	SMP_HOP_POINTER_AT = 6,
	SMP_HOP_COUNT_AT = 7,
	SMP_MKEY_AT = 24,
	SMP_DATA_AT = 64,
	SMP_DR_SLID_AT = 32,
	SMP_DR_DLID_AT = 34,
	SMP_INITIAL_PATH_AT = 128,
	SMP_RETURN_PATH_AT = 192,
};
#define SMP_DATA_LEN 64u
#define SMP_DIRECTION 0x8000u /* in the status: on its way back */
#define SMP_MAX_HOPS 64u

enum smp_attr {
	SMP_ATTR_NOTICE = 0x02,
	SMP_ATTR_NODE_DESC = 0x10,
	SMP_ATTR_NODE_INFO = 0x11,
	SMP_ATTR_SWITCH_INFO = 0x12,
	SMP_ATTR_GUID_INFO = 0x14,
	SMP_ATTR_PORT_INFO = 0x15,
	SMP_ATTR_PKEY_TABLE = 0x16,
	SMP_ATTR_LFT = 0x19,
	SMP_ATTR_MFT = 0x1b,
	SMP_ATTR_SM_INFO = 0x20,
};

/* Reliable multi-packet transfer (13.6.2). */
enum rmpp_at {
	RMPP_VERSION_AT = 24,
	RMPP_TYPE_AT = 25,
	RMPP_FLAGS_AT = 26, /* and the response time above them */
	RMPP_STATUS_AT = 27,
	RMPP_SEGMENT_AT = 28,
	RMPP_LENGTH_AT = 32, /* payload, or the new window's end */
	RMPP_DATA_AT = 36,
};
#define RMPP_VERSION 1u
#define RMPP_NO_RESP_TIME (0x1fu << 3)
enum rmpp_type { RMPP_DATA = 1, RMPP_ACK = 2, RMPP_STOP = 3, RMPP_ABORT = 4 };
enum rmpp_flag { RMPP_ACTIVE = 1, RMPP_FIRST = 2, RMPP_LAST = 4 };
/* 13.6.2.1: 118..127 belong to ABORT, 1 to STOP. */
enum rmpp_status {
	RMPP_ST_BAD_LENGTH = 119,
	RMPP_ST_BAD_TYPE = 121,
	RMPP_ST_WINDOW_SMALL = 122,
	RMPP_ST_SEGMENT_BIG = 123,
	RMPP_ST_ILLEGAL = 124,
	RMPP_ST_VERSION = 125,
	RMPP_ST_RETRIES = 126,
	RMPP_ST_RESOURCES = 1,
};

/* Subnet administration (15.2.1). */
enum sa_at {
	SA_SM_KEY_AT = 36,
	SA_ATTR_OFFSET_AT = 44,
	SA_MASK_AT = 48,
	SA_RECORD_AT = 56,
};
#define SA_RECORD_LEN 200u
enum sa_method { SA_GET_TABLE = 0x12, SA_DELETE = 0x15 };
enum sa_attr {
	SA_ATTR_NODE = 0x11,
	SA_ATTR_PORT_INFO = 0x12,
	SA_ATTR_SM_INFO = 0x18,
	SA_ATTR_PATH = 0x35,
	SA_ATTR_MEMBER = 0x38,
};
#define SA_CLASS_VERSION 2u

/* Managers' and administrators' errors are in the high octet of the status (15.2.2). */
enum sa_status {
	SA_ST_RESOURCES = 0x0100,
	SA_ST_INVALID = 0x0200,
	SA_ST_NO_RECORDS = 0x0300,
	SA_ST_MANY_RECORDS = 0x0400,
	SA_ST_INVALID_GID = 0x0500,
	SA_ST_COMPONENTS = 0x0600,
	SA_ST_DENIED = 0x0700,
};
#define SA_STATUS_CODE 0x7f00u

static inline bool
mad_is_smp(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SMP || mgmt_class == MAD_CLASS_SMP_DIRECTED;
}

/* 13.4.5: an answer has the bit; TrapRepress answers a trap without it. */
static inline bool
mad_is_response(const uint8_t *mad)
{
	return (mad[MAD_METHOD_AT] & MAD_RESPONSE) != 0 || mad[MAD_METHOD_AT] == MAD_TRAP_REPRESS;
}

/* Where the data of a class begin, that is how much of each segment repeats (13.6, 15.2.1, 16.1 to 16.5). */
static inline uint32_t
mad_data_at(uint8_t mgmt_class)
{
	if (mgmt_class == MAD_CLASS_SA)
		return SA_RECORD_AT;
	if (mgmt_class == 0x06 || (mgmt_class >= 0x10 && mgmt_class <= 0x12))
		return 64;
	if (mgmt_class >= 0x30 && mgmt_class <= 0x4f)
		return 40;
	return MAD_DATA_AT;
}

/* Classes whose datagrams have the RMPP header. */
static inline bool
mad_class_has_rmpp(uint8_t mgmt_class)
{
	return mad_data_at(mgmt_class) != MAD_DATA_AT;
}

static inline bool
mad_rmpp_active(const uint8_t *mad)
{
	return mad_class_has_rmpp(mad[MAD_CLASS_AT]) && (mad[RMPP_FLAGS_AT] & RMPP_ACTIVE) != 0;
}

#endif /* MAD_AGENT_MAD_FMT_H */
