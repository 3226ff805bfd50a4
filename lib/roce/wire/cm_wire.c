/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "cm_wire.h"

#include <errno.h>

/* Byte and bit of the message's data, where bit 7 is a byte's highest. */
#define F(s, byte, msb, bits, member)                                                                                  \
	{                                                                                                              \
		.name = #member, .bit = (byte)*8 + 7 - (msb), .width = (bits), .at = offsetof(struct s, member),       \
		.size = sizeof(((struct s *)0)->member)                                                                \
	}
#define BYTES(s, byte, member)                                                                                         \
	{                                                                                                              \
		.name = #member, .bit = (byte)*8, .width = sizeof(((struct s *)0)->member) * 8,                        \
		.at = offsetof(struct s, member), .size = sizeof(((struct s *)0)->member)                              \
	}

/* The 44 bytes of a path in REQ; LAP has other gaps. */
#define REQ_PATH(member, base)                                                                                         \
	F(cm_req, (base) + 0, 7, 16, member.local_lid), F(cm_req, (base) + 2, 7, 16, member.remote_lid),               \
		BYTES(cm_req, (base) + 4, member.local_gid), BYTES(cm_req, (base) + 20, member.remote_gid),            \
		F(cm_req, (base) + 36, 7, 20, member.flow_label), F(cm_req, (base) + 39, 5, 6, member.rate),           \
		F(cm_req, (base) + 40, 7, 8, member.tclass), F(cm_req, (base) + 41, 7, 8, member.hop_limit),           \
		F(cm_req, (base) + 42, 7, 4, member.sl), F(cm_req, (base) + 42, 3, 1, member.subnet_local),            \
		F(cm_req, (base) + 43, 7, 5, member.ack_timeout)

/* 12.6.5 */
static const struct cm_field req_fields[] = {
	F(cm_req, 0, 7, 32, local_id),
	F(cm_req, 5, 7, 24, vendor_id),
	F(cm_req, 8, 7, 64, service_id),
	F(cm_req, 16, 7, 64, ca_guid),
	F(cm_req, 28, 7, 32, qkey),
	F(cm_req, 32, 7, 24, qpn),
	F(cm_req, 35, 7, 8, resp_res),
	F(cm_req, 36, 7, 24, eecn),
	F(cm_req, 39, 7, 8, init_depth),
	F(cm_req, 40, 7, 24, remote_eecn),
	F(cm_req, 43, 7, 5, remote_timeout),
	F(cm_req, 43, 2, 2, service),
	F(cm_req, 43, 0, 1, flow_control),
	F(cm_req, 44, 7, 24, psn),
	F(cm_req, 47, 7, 5, local_timeout),
	F(cm_req, 47, 2, 3, retry),
	F(cm_req, 48, 7, 16, pkey),
	F(cm_req, 50, 7, 4, mtu),
	F(cm_req, 50, 3, 1, rdc),
	F(cm_req, 50, 2, 3, rnr_retry),
	F(cm_req, 51, 7, 4, max_retries),
	F(cm_req, 51, 3, 1, srq),
	F(cm_req, 51, 2, 3, ext_service),
	REQ_PATH(path, 52),
	REQ_PATH(alt, 96),
	BYTES(cm_req, 140, private_data),
};

/* 12.6.6 */
static const struct cm_field mra_fields[] = {
	F(cm_mra, 0, 7, 32, local_id), F(cm_mra, 4, 7, 32, remote_id),  F(cm_mra, 8, 7, 2, msg),
	F(cm_mra, 9, 7, 5, timeout),   BYTES(cm_mra, 10, private_data),
};

/* 12.6.7 */
static const struct cm_field rej_fields[] = {
	F(cm_rej, 0, 7, 32, local_id),   F(cm_rej, 4, 7, 32, remote_id), F(cm_rej, 8, 7, 2, msg),
	F(cm_rej, 9, 7, 7, ari_len),     F(cm_rej, 10, 7, 16, reason),   BYTES(cm_rej, 12, ari),
	BYTES(cm_rej, 84, private_data),
};

/* 12.6.8 */
static const struct cm_field rep_fields[] = {
	F(cm_rep, 0, 7, 32, local_id),    F(cm_rep, 4, 7, 32, remote_id),    F(cm_rep, 8, 7, 32, qkey),
	F(cm_rep, 12, 7, 24, qpn),        F(cm_rep, 15, 7, 8, vendor_id_h),  F(cm_rep, 16, 7, 24, eecn),
	F(cm_rep, 19, 7, 8, vendor_id_m), F(cm_rep, 20, 7, 24, psn),         F(cm_rep, 23, 7, 8, vendor_id_l),
	F(cm_rep, 24, 7, 8, resp_res),    F(cm_rep, 25, 7, 8, init_depth),   F(cm_rep, 26, 7, 5, ack_delay),
	F(cm_rep, 26, 2, 2, failover),    F(cm_rep, 26, 0, 1, flow_control), F(cm_rep, 27, 7, 3, rnr_retry),
	F(cm_rep, 27, 4, 1, srq),         F(cm_rep, 28, 7, 64, ca_guid),     BYTES(cm_rep, 36, private_data),
};

/* 12.6.9, 12.6.11 */
static const struct cm_field rtu_fields[] = {
	F(cm_rtu, 0, 7, 32, local_id),
	F(cm_rtu, 4, 7, 32, remote_id),
	BYTES(cm_rtu, 8, private_data),
};
static const struct cm_field drep_fields[] = {
	F(cm_drep, 0, 7, 32, local_id),
	F(cm_drep, 4, 7, 32, remote_id),
	BYTES(cm_drep, 8, private_data),
};

/* 12.6.10 */
static const struct cm_field dreq_fields[] = {
	F(cm_dreq, 0, 7, 32, local_id),
	F(cm_dreq, 4, 7, 32, remote_id),
	F(cm_dreq, 8, 7, 24, remote_qpn),
	BYTES(cm_dreq, 12, private_data),
};

/* 12.8.1, 12.8.2 */
static const struct cm_field lap_fields[] = {
	F(cm_lap, 0, 7, 32, local_id),    F(cm_lap, 4, 7, 32, remote_id),        F(cm_lap, 12, 7, 24, remote_qpn),
	F(cm_lap, 15, 7, 5, timeout),     F(cm_lap, 20, 7, 16, alt.local_lid),   F(cm_lap, 22, 7, 16, alt.remote_lid),
	BYTES(cm_lap, 24, alt.local_gid), BYTES(cm_lap, 40, alt.remote_gid),     F(cm_lap, 56, 7, 20, alt.flow_label),
	F(cm_lap, 59, 7, 8, alt.tclass),  F(cm_lap, 60, 7, 8, alt.hop_limit),    F(cm_lap, 61, 5, 6, alt.rate),
	F(cm_lap, 62, 7, 4, alt.sl),      F(cm_lap, 62, 3, 1, alt.subnet_local), F(cm_lap, 63, 7, 5, alt.ack_timeout),
	BYTES(cm_lap, 64, private_data),
};
static const struct cm_field apr_fields[] = {
	F(cm_apr, 0, 7, 32, local_id), F(cm_apr, 4, 7, 32, remote_id), F(cm_apr, 8, 7, 8, info_len),
	F(cm_apr, 9, 7, 8, status),    BYTES(cm_apr, 12, info),        BYTES(cm_apr, 84, private_data),
};

/* 12.11.1, 12.11.2 */
static const struct cm_field sidr_req_fields[] = {
	F(cm_sidr_req, 0, 7, 32, request_id),
	F(cm_sidr_req, 4, 7, 16, pkey),
	F(cm_sidr_req, 8, 7, 64, service_id),
	BYTES(cm_sidr_req, 16, private_data),
};
static const struct cm_field sidr_rep_fields[] = {
	F(cm_sidr_rep, 0, 7, 32, request_id), F(cm_sidr_rep, 4, 7, 8, status),       F(cm_sidr_rep, 5, 7, 8, info_len),
	F(cm_sidr_rep, 8, 7, 24, qpn),        F(cm_sidr_rep, 12, 7, 64, service_id), F(cm_sidr_rep, 20, 7, 32, qkey),
	BYTES(cm_sidr_rep, 24, info),         BYTES(cm_sidr_rep, 96, private_data),
};

#define LAYOUT(m)                                                                                                      \
	{                                                                                                              \
		.name = #m, .struct_size = sizeof(struct cm_##m),                                                      \
		.num_fields = sizeof(m##_fields) / sizeof(m##_fields[0]), .fields = m##_fields                         \
	}
const struct cm_layout cm_layouts[CM_MSGS] = {
	[CM_REQ] = LAYOUT(req),   [CM_MRA] = LAYOUT(mra),           [CM_REJ] = LAYOUT(rej),
	[CM_REP] = LAYOUT(rep),   [CM_RTU] = LAYOUT(rtu),           [CM_DREQ] = LAYOUT(dreq),
	[CM_DREP] = LAYOUT(drep), [CM_SIDR_REQ] = LAYOUT(sidr_req), [CM_SIDR_REP] = LAYOUT(sidr_rep),
	[CM_LAP] = LAYOUT(lap),   [CM_APR] = LAYOUT(apr),
};

/* width bits, of at most 64, from the bit on. */
static uint64_t
bits_get(const uint8_t *d, unsigned int bit, unsigned int width)
{
	uint64_t v = 0;

	while (width != 0) {
		unsigned int in = 8 - bit % 8, n = width < in ? width : in;

		v = v << n | (d[bit / 8] >> (in - n) & ((1u << n) - 1));
		bit += n;
		width -= n;
	}
	return v;
}

/* The bits are 0 before. */
static void
bits_put(uint8_t *d, unsigned int bit, unsigned int width, uint64_t v)
{
	for (; width != 0; bit++) {
		width--;
		d[bit / 8] |= (uint8_t)((v >> width & 1) << (7 - bit % 8));
	}
}

static uint64_t
member_get(const uint8_t *p, unsigned int size)
{
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
	} v = {0};

	memcpy(&v, p, size);
	return size == 1 ? v.u8 : size == 2 ? v.u16 : size == 4 ? v.u32 : v.u64;
}

static void
member_put(uint8_t *p, unsigned int size, uint64_t v)
{
	const uint8_t u8 = (uint8_t)v;
	const uint16_t u16 = (uint16_t)v;
	const uint32_t u32 = (uint32_t)v;

	memcpy(p,
	       size == 1   ? (const void *)&u8
	       : size == 2 ? (const void *)&u16
	       : size == 4 ? (const void *)&u32
			   : &v,
	       size);
}

int
cm_msg_of(const uint8_t mad[MAD_SIZE])
{
	uint16_t attr = ib_get16(mad + MAD_ATTR_AT);

	return attr >= CM_ATTR_FIRST && attr < CM_ATTR_FIRST + CM_MSGS ? attr - (int)CM_ATTR_FIRST : -1;
}

int
cm_put(enum cm_msg msg, const void *in, uint64_t tid, uint8_t mad[MAD_SIZE], const char **field)
{
	const struct cm_layout *l = &cm_layouts[msg];
	uint8_t *d = mad + MAD_DATA_AT;

	mad_init(mad, MAD_CLASS_CM, CM_CLASS_VERSION, MAD_SEND, (uint16_t)(CM_ATTR_FIRST + msg), tid);
	for (unsigned int i = 0; i < l->num_fields; i++) {
		const struct cm_field *f = &l->fields[i];
		const uint8_t *p = (const uint8_t *)in + f->at;
		uint64_t v;

		if (f->width > 64) {
			memcpy(d + f->bit / 8, p, f->size);
			continue;
		}
		v = member_get(p, f->size);
		if (f->width < 64 && v >> f->width != 0) {
			if (field != NULL)
				*field = f->name;
			return -ERANGE;
		}
		bits_put(d, f->bit, f->width, v);
	}
	return 0;
}

void
cm_get(enum cm_msg msg, const uint8_t mad[MAD_SIZE], void *out)
{
	const struct cm_layout *l = &cm_layouts[msg];
	const uint8_t *d = mad + MAD_DATA_AT;

	memset(out, 0, l->struct_size);
	for (unsigned int i = 0; i < l->num_fields; i++) {
		const struct cm_field *f = &l->fields[i];
		uint8_t *p = (uint8_t *)out + f->at;

		if (f->width > 64)
			memcpy(p, d + f->bit / 8, f->size);
		else
			member_put(p, f->size, bits_get(d, f->bit, f->width));
	}
}

/* --- A11 --- */

void
cm_ip_put(const struct cm_ip_hdr *h, uint8_t out[CM_IP_HDR_LEN])
{
	out[0] = 0; /* version 0.0 of the header */
	out[1] = (uint8_t)(h->version << 4);
	ib_put16(out + 2, h->port);
	memcpy(out + 4, h->src, 16);
	memcpy(out + 20, h->dst, 16);
}

bool
cm_ip_get(const uint8_t in[CM_IP_HDR_LEN], struct cm_ip_hdr *h)
{
	h->version = in[1] >> 4;
	h->port = ib_get16(in + 2);
	memcpy(h->src, in + 4, 16);
	memcpy(h->dst, in + 20, 16);
	return in[0] >> 4 == 0 && (h->version == 4 || h->version == 6);
}

const char *
cm_reason_str(uint16_t reason)
{
	static const char *const words[] = {
		[1] = "no queue pair",
		[2] = "no EE context",
		[3] = "no resources",
		[4] = "timeout",
		[5] = "unsupported request",
		[6] = "invalid communication ID",
		[7] = "invalid communication instance",
		[8] = "invalid service ID",
		[9] = "invalid transport service type",
		[10] = "stale connection",
		[11] = "no RDC",
		[12] = "primary remote GID rejected",
		[13] = "primary remote LID rejected",
		[14] = "invalid primary SL",
		[15] = "invalid primary traffic class",
		[16] = "invalid primary hop limit",
		[17] = "invalid primary packet rate",
		[18] = "alternate remote GID rejected",
		[19] = "alternate remote LID rejected",
		[20] = "invalid alternate SL",
		[21] = "invalid alternate traffic class",
		[22] = "invalid alternate hop limit",
		[23] = "invalid alternate packet rate",
		[24] = "CM port redirection",
		[25] = "port redirection",
		[26] = "invalid path MTU",
		[27] = "insufficient responder resources",
		[28] = "rejected by the consumer",
		[29] = "invalid RNR retry count",
		[30] = "duplicate local communication ID",
		[31] = "invalid class version",
		[32] = "invalid primary flow label",
		[33] = "invalid alternate flow label",
		[35] = "vendor option not supported",
	};

	return reason < sizeof(words) / sizeof(words[0]) && words[reason] != NULL ? words[reason] : "unknown";
}
