/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What all packets of an InfiniBand port have in common: lanes, headers, keys of partitions, whose they are. */
#include "model/frame/ib_wire.h"
#include "model/port/port.h"
#include "ib.h"

#define NEXT_IBA 0x1bu /* GRH: a BTH follows */

uint8_t
tpm_ib_vl_of(const struct tpm_ib *ib, uint8_t sl)
{
	return ib->sl2vl[sl / 2] >> (sl % 2 == 0 ? 4 : 0) & 0xf;
}

bool
tpm_ib_room(const struct tpm_port *p, uint8_t vl, uint32_t len)
{
	return p->wire == NULL || p->wire->ops->room == NULL || p->wire->ops->room(p->wire, vl, len);
}

void
tpm_ib_send(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n, uint8_t vl, bool mcast)
{
	/* Before a port is active only management leaves it. */
	bool may = p->link && (vl == IB_VL_MGMT ? p->ibp.state >= IB_PORT_INIT : p->ibp.state == IB_PORT_ACTIVE);
	unsigned int sent = may ? p->wire->ops->send(p->wire, f, n) : 0;

	if (may)
		p->wire_drops += n - sent;
	p->ibp.pm.c.xmit_discards += n - sent;
	for (unsigned int i = 0; i < sent; i++) {
		tpm_ib_count_tx(&p->ibp.pm.c, f[i].len, mcast);
		/* What the scheduler of a port with a rate charges for. */
		m->st.port[p->num - 1].tx_bytes += f[i].len;
	}
	m->st.port[p->num - 1].tx_frames += sent;
}

struct tpm_qp *
tpm_ib_special(const struct tp_model *m, const struct tpm_port *p, unsigned int which)
{
	struct tpm_qp *qp = m->special_qp_base == 0 ? NULL : tpm_qp_get(m, m->special_qp_base + 2 * which + p->num - 1);

	return qp != NULL && qp->roce != NULL && qp->port == p->num && tpm_qp_can_receive(qp) ? qp : NULL;
}

static void
put_grh(const struct tpm_ib *ib, const struct tpm_roce_path *path, uint32_t len, uint8_t *h)
{
	prm_set32(h, 0, 6u << 28 | (uint32_t)path->tclass << 20 | (path->flow_label & 0xfffff));
	tpm_store16(h + 4, (uint16_t)len);
	h[6] = NEXT_IBA;
	h[7] = path->hop_limit;
	prm_set64(h, 8, prm_get64(ib->info, IB_PI_GID_PREFIX));
	prm_set64(h, 16, ib->guid[path->sgid_index % TPM_IB_GUIDS]);
	memcpy(h + 24, path->dgid, 16);
}

uint8_t *
tpm_ib_put_headers(const struct tpm_ib *ib, const struct tpm_roce_path *path, uint8_t vl, uint32_t len, uint8_t *h)
{
	uint32_t all = IB_LRH_SIZE + (path->grh ? IB_GRH_LEN : 0) + len;

	memset(h, 0, IB_LRH_SIZE);
	prm_set(h, IB_LRH_VL, vl);
	prm_set(h, IB_LRH_SL, path->sl);
	prm_set(h, IB_LRH_LNH, path->grh ? IB_LNH_GRH : IB_LNH_BTH);
	prm_set(h, IB_LRH_DLID, path->dlid);
	prm_set(h, IB_LRH_WORDS, all / 4);
	prm_set(h, IB_LRH_SLID, ib->lid | (path->path_bits & ((1u << ib->lmc) - 1)));
	h += IB_LRH_SIZE;
	if (!path->grh)
		return h;
	put_grh(ib, path, len, h);
	return h + IB_GRH_LEN;
}

uint16_t
tpm_ib_pkey_of(const struct tpm_ib *ib, const struct tpm_qp *qp)
{
	return ib->pkey[prm_get(qp->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX) % TPM_IB_PKEYS];
}

bool
tpm_ib_pkey_fits(const struct tpm_ib *ib, uint16_t key, uint32_t at)
{
	return at < TPM_IB_PKEYS && ib_pkey_match(key, ib->pkey[at]);
}

struct tpm_qp *
tpm_ib_destination(struct tp_model *m, const struct tpm_port *p, uint32_t qpn)
{
	struct tpm_qp *qp;

	if (qpn <= 1)
		return tpm_ib_special(m, p, qpn);
	qp = tpm_qp_get(m, qpn);
	return qp != NULL && qp->roce != NULL && qp->port == p->num && qp->service != MLX4_QP_ST_MLX &&
			       tpm_qp_can_receive(qp)
		       ? qp
		       : NULL;
}
