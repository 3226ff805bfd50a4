/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* TLVs of LLDP (IEEE 802.1AB-2016, 8.4): a header of 7 bits type and 9 bits length, then information. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tp_lldp.h"

#define HDR_LEN 2u
#define INFO_MAX 511u

/* Subtypes of 8.5.2.2 and 8.5.3.2. */
#define CHASSIS_MAC 4
#define CHASSIS_ADDR 5
#define PORT_MAC 3
#define PORT_ADDR 4
#define FAMILY_IPV4 1
#define FAMILY_IPV6 2

int
tp_lldp_tlv_next(const uint8_t *buf, size_t len, size_t *at, struct tp_lldp_tlv *tlv)
{
	const uint8_t *p = buf + *at;
	size_t left = len - *at;

	if (left == 0)
		return 0;
	if (left < HDR_LEN)
		return -EBADMSG;
	tlv->type = p[0] >> 1;
	tlv->len = (uint16_t)((p[0] & 1) << 8 | p[1]);
	tlv->info = p + HDR_LEN;
	if (tlv->len > left - HDR_LEN)
		return -EBADMSG;
	*at += HDR_LEN + tlv->len;
	return tlv->type != TP_LLDP_END;
}

size_t
tp_lldp_tlv_put(uint8_t *to, size_t room, uint8_t type, const void *info, size_t len)
{
	if (len > INFO_MAX || room < HDR_LEN + len)
		return 0;
	to[0] = (uint8_t)(type << 1 | len >> 8);
	to[1] = (uint8_t)len;
	if (info != NULL && len != 0)
		memcpy(to + HDR_LEN, info, len);
	return HDR_LEN + len;
}

bool
tp_lldp_find(const struct tp_lldp_neighbour *n, uint8_t type, struct tp_lldp_tlv *tlv)
{
	size_t at = 0;

	while (tp_lldp_tlv_next(n->pdu, n->pdu_len, &at, tlv) > 0)
		if (tlv->type == type)
			return true;
	return false;
}

static void
hex_text(const uint8_t *p, size_t n, char sep, char *to, size_t size)
{
	size_t i, k = 0;

	to[0] = '\0';
	for (i = 0; i < n && k + 4 <= size; i++) {
		if (i != 0 && sep != '\0')
			to[k++] = sep;
		k += (size_t)snprintf(to + k, size - k, "%02x", p[i]);
	}
}

void
tp_lldp_id_text(uint8_t type, const struct tp_lldp_tlv *tlv, char *to, size_t size)
{
	uint8_t mac = type == TP_LLDP_CHASSIS ? CHASSIS_MAC : PORT_MAC;
	uint8_t addr = type == TP_LLDP_CHASSIS ? CHASSIS_ADDR : PORT_ADDR;
	size_t i, n = tlv->len == 0 ? 0 : tlv->len - 1u;
	const uint8_t *v = tlv->info + 1;

	to[0] = '\0';
	if (n == 0)
		return;
	if (tlv->info[0] == mac && n == 6) {
		hex_text(v, n, ':', to, size);
		return;
	}
	if (tlv->info[0] == addr && ((v[0] == FAMILY_IPV4 && n == 5) || (v[0] == FAMILY_IPV6 && n == 17))) {
		(void)inet_ntop(v[0] == FAMILY_IPV4 ? AF_INET : AF_INET6, v + 1, to, (socklen_t)size);
		return;
	}
	for (i = 0; i < n && v[i] >= 0x20 && v[i] < 0x7f; i++)
		;
	if (i == n && n < size) {
		memcpy(to, v, n);
		to[n] = '\0';
	} else {
		hex_text(v, n, '\0', to, size);
	}
}
