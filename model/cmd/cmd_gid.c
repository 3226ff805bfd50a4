/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The GID table of an Ethernet port: the addresses that its RoCE packets carry [CP 4.3][DP 10.2]. Two commands write the
 * whole of it, one GIDs alone (RoCE v1), the other with a version for each. An entry of zeros is free, whatever its
 * other bytes say: Linux leaves them as they were.
 */
#include <string.h>

#include "cmd.h"

static const uint8_t no_gid[MLX4_GID_SIZE];

/* ::ffff:a.b.c.d */
static bool
gid_is_ipv4(const uint8_t *gid)
{
	return memcmp(gid, no_gid, 10) == 0 && gid[10] == 0xff && gid[11] == 0xff;
}

static uint8_t
gid_check(struct tp_model *m, const struct tpm_port *p, uint32_t i, const uint8_t *gid)
{
	if (gid[0] == 0xff)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "GID %u is a multicast GID", i);
	return MLX4_STAT_OK;
}

uint8_t
tpm_set_gid_table(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	struct tpm_gid *t = m->ctl->port[p->num - 1].gid;

	for (uint32_t i = 0; i < MLX4_GID_ENTRIES; i++) {
		uint8_t st = gid_check(m, p, i, in + i * MLX4_GID_SIZE);

		if (st != MLX4_STAT_OK)
			return st;
	}
	for (uint32_t i = 0; i < MLX4_GID_ENTRIES; i++) {
		memcpy(t[i].gid, in + i * MLX4_GID_SIZE, MLX4_GID_SIZE);
		t[i].version = MLX4_ROCE_V1;
		t[i].valid = memcmp(t[i].gid, no_gid, MLX4_GID_SIZE) != 0;
	}
	return MLX4_STAT_OK;
}

static uint8_t
addr_check(struct tp_model *m, const struct tpm_port *p, uint32_t i, const uint8_t *e)
{
	uint32_t type = prm_get(e, MLX4_ROCE_ADDR_TYPE), version = prm_get(e, MLX4_ROCE_ADDR_VERSION), wanted;
	uint8_t st = gid_check(m, p, i, e);

	if (st != MLX4_STAT_OK || memcmp(e, no_gid, MLX4_GID_SIZE) == 0)
		return st;
	if (version != MLX4_ROCE_V1 && version != MLX4_ROCE_V2)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "GID %u has version %u, wanted %u or %u", i,
				version, MLX4_ROCE_V1, MLX4_ROCE_V2);
	wanted = version == MLX4_ROCE_V2 && !gid_is_ipv4(e) ? MLX4_ROCE_ADDR_IPV6 : 0;
	if (type != wanted)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"GID %u of version %u has address type %u, wanted %u", i, version, type, wanted);
	return MLX4_STAT_OK;
}

uint8_t
tpm_set_roce_addr(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	struct tpm_gid *t = m->ctl->port[p->num - 1].gid;

	if (!tpm_roce_v2(m))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"GIDs with versions, but QUERY_DEV_CAP offers RoCE v1 only");
	for (uint32_t i = 0; i < MLX4_GID_ENTRIES; i++) {
		uint8_t st = addr_check(m, p, i, in + i * MLX4_ROCE_ADDR_SIZE);

		if (st != MLX4_STAT_OK)
			return st;
	}
	for (uint32_t i = 0; i < MLX4_GID_ENTRIES; i++) {
		const uint8_t *e = in + i * MLX4_ROCE_ADDR_SIZE;

		memcpy(t[i].gid, e, MLX4_GID_SIZE);
		t[i].version = (uint8_t)prm_get(e, MLX4_ROCE_ADDR_VERSION);
		t[i].valid = memcmp(e, no_gid, MLX4_GID_SIZE) != 0;
	}
	return MLX4_STAT_OK;
}
