/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Messages of connection management as they lie on a wire (IBTA 1.4, chapter 12), and the header that connections between
 * IP addresses carry in their private data (annex A11). Each message is a struct of numbers and a table of where their
 * bits are; one encoder and one decoder serve them all.
 */
#ifndef ROCE_WIRE_CM_WIRE_H
#define ROCE_WIRE_CM_WIRE_H

#include <stddef.h>

#include "mad.h"

#define CM_CLASS_VERSION 2u
#define CM_DATA_LEN (MAD_SIZE - MAD_DATA_AT)

/* Bytes of private data a message has room for. */
#define CM_REQ_PRIVATE 92u
#define CM_MRA_PRIVATE 222u
#define CM_REJ_PRIVATE 148u
#define CM_REP_PRIVATE 196u
#define CM_RTU_PRIVATE 224u
#define CM_DREQ_PRIVATE 220u
#define CM_DREP_PRIVATE 224u
#define CM_LAP_PRIVATE 168u
#define CM_APR_PRIVATE 148u
#define CM_SIDR_REQ_PRIVATE 216u
#define CM_SIDR_REP_PRIVATE 136u
#define CM_ARI_LEN 72u /* additional information of REJ, APR and SIDR_REP */

enum cm_msg {
	CM_REQ,
	CM_MRA,
	CM_REJ,
	CM_REP,
	CM_RTU,
	CM_DREQ,
	CM_DREP,
	CM_SIDR_REQ,
	CM_SIDR_REP,
	CM_LAP,
	CM_APR,
	CM_MSGS
};
#define CM_ATTR_FIRST 0x0010u /* attribute id of CM_REQ; the others follow */

/* A path in REQ and LAP (12.6.5, 12.6.6) */
struct cm_path {
	uint16_t local_lid, remote_lid;
	uint8_t local_gid[16], remote_gid[16];
	uint32_t flow_label;
	uint8_t rate, tclass, hop_limit, sl, subnet_local, ack_timeout;
};

struct cm_req {
	uint32_t local_id, vendor_id;
	uint64_t service_id, ca_guid;
	uint32_t qkey, qpn, eecn, remote_eecn, psn;
	uint8_t resp_res, init_depth, remote_timeout, service, flow_control, local_timeout, retry, mtu, rdc, rnr_retry;
	uint8_t max_retries, srq, ext_service;
	uint16_t pkey;
	struct cm_path path, alt;
	uint8_t private_data[CM_REQ_PRIVATE];
};

struct cm_mra {
	uint32_t local_id, remote_id;
	uint8_t msg, timeout;
	uint8_t private_data[CM_MRA_PRIVATE];
};

struct cm_rej {
	uint32_t local_id, remote_id;
	uint8_t msg, ari_len;
	uint16_t reason;
	uint8_t ari[CM_ARI_LEN];
	uint8_t private_data[CM_REJ_PRIVATE];
};

struct cm_rep {
	uint32_t local_id, remote_id, qkey, qpn, eecn, psn;
	uint8_t vendor_id_h, vendor_id_m, vendor_id_l;
	uint8_t resp_res, init_depth, ack_delay, failover, flow_control, rnr_retry, srq;
	uint64_t ca_guid;
	uint8_t private_data[CM_REP_PRIVATE];
};

struct cm_rtu {
	uint32_t local_id, remote_id;
	uint8_t private_data[CM_RTU_PRIVATE];
};

struct cm_dreq {
	uint32_t local_id, remote_id, remote_qpn;
	uint8_t private_data[CM_DREQ_PRIVATE];
};

struct cm_drep {
	uint32_t local_id, remote_id;
	uint8_t private_data[CM_DREP_PRIVATE];
};

struct cm_lap {
	uint32_t local_id, remote_id, remote_qpn;
	uint8_t timeout;
	struct cm_path alt;
	uint8_t private_data[CM_LAP_PRIVATE];
};

struct cm_apr {
	uint32_t local_id, remote_id;
	uint8_t info_len, status;
	uint8_t info[CM_ARI_LEN];
	uint8_t private_data[CM_APR_PRIVATE];
};

struct cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
	uint8_t private_data[CM_SIDR_REQ_PRIVATE];
};

struct cm_sidr_rep {
	uint32_t request_id, qpn, qkey;
	uint8_t status, info_len;
	uint64_t service_id;
	uint8_t info[CM_ARI_LEN];
	uint8_t private_data[CM_SIDR_REP_PRIVATE];
};

/* Room for any message. */
union cm_any {
	struct cm_req req;
	struct cm_mra mra;
	struct cm_rej rej;
	struct cm_rep rep;
	struct cm_rtu rtu;
	struct cm_dreq dreq;
	struct cm_drep drep;
	struct cm_lap lap;
	struct cm_apr apr;
	struct cm_sidr_req sidr_req;
	struct cm_sidr_rep sidr_rep;
};

/* Transport services of REQ (12.7.11) */
enum cm_service { CM_SERVICE_RC, CM_SERVICE_UC, CM_SERVICE_RD, CM_SERVICE_EXT };

/* What MRA and REJ are about (12.6.6, 12.6.7) */
enum cm_about { CM_ABOUT_REQ, CM_ABOUT_REP, CM_ABOUT_OTHER };

/* Reasons of REJ (12.6.7.2) that are sent or acted on */
enum cm_reason {
	CM_REJ_NO_QP = 1,
	CM_REJ_NO_RESOURCES = 3,
	CM_REJ_TIMEOUT = 4,
	CM_REJ_UNSUPPORTED = 5,
	CM_REJ_COMM_ID = 6,
	CM_REJ_SERVICE_ID = 8,
	CM_REJ_SERVICE_TYPE = 9,
	CM_REJ_STALE = 10,
	CM_REJ_GID = 12,
	CM_REJ_MTU = 26,
	CM_REJ_RESP_RES = 27,
	CM_REJ_CONSUMER = 28,
	CM_REJ_CLASS_VERSION = 31,
	CM_REJ_VENDOR_OPTION = 35, /* of enhanced connections (ECE), IBTA 1.4 */
};
/* Its words; "unknown" for what the standard does not name. */
const char *cm_reason_str(uint16_t reason);

enum cm_sidr_status {
	CM_SIDR_OK,
	CM_SIDR_UNSUPPORTED,
	CM_SIDR_REJECT,
	CM_SIDR_NO_QP,
	CM_SIDR_REDIRECT,
	CM_SIDR_VERSION
};
enum cm_apr_status { CM_APR_OK, CM_APR_COMM_ID, CM_APR_UNSUPPORTED };

/* Where a number of a message is: bits from the start of the message's data, highest first. */
struct cm_field {
	const char *name;
	uint16_t bit, width; /* above 64: bytes */
	uint16_t at, size;   /* of the struct's member */
};
struct cm_layout {
	const char *name;
	uint16_t struct_size, num_fields;
	const struct cm_field *fields;
};
extern const struct cm_layout cm_layouts[CM_MSGS];

/* Which message a datagram of the class is; -1: none. */
int cm_msg_of(const uint8_t mad[MAD_SIZE]);
/* Makes the datagram of a message. 0; -ERANGE: a number is too long for its field, whose name is *field (may be NULL). */
int cm_put(enum cm_msg msg, const void *in, uint64_t tid, uint8_t mad[MAD_SIZE], const char **field);
/* Takes a datagram apart; any bytes may come. */
void cm_get(enum cm_msg msg, const uint8_t mad[MAD_SIZE], void *out);

/* --- connections between IP addresses (annex A11) --- */

#define CM_IP_HDR_LEN 36u
#define CM_IP_SERVICE_PREFIX 0x0000000001000000ull /* then the protocol, then the port */
#define CM_IP_SERVICE(ps, port) ((uint64_t)(ps) << 16 | (port))

struct cm_ip_hdr {
	uint8_t version; /* 4 or 6 */
	uint16_t port;   /* of the source, as a number */
	uint8_t src[16]; /* IPv4: the last four bytes, the others 0 */
	uint8_t dst[16];
};
void cm_ip_put(const struct cm_ip_hdr *h, uint8_t out[CM_IP_HDR_LEN]);
/* false: another version of the header, or of IP. */
bool cm_ip_get(const uint8_t in[CM_IP_HDR_LEN], struct cm_ip_hdr *h);

/* Time of a 5-bit code, 4.096 us * 2^code, in nanoseconds. */
static inline uint64_t
cm_time_ns(uint8_t code)
{
	return 4096ull << (code & 31);
}

#endif /* ROCE_WIRE_CM_WIRE_H */
