/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What passes a port of the InfiniBand switch, as a file of libpcap's format: link type 197 (ERF), records of type 21
 * (InfiniBand), which is what tshark reads; packets with both CRCs.
 */
#include <errno.h>

#include "model/frame/ib_wire.h"
#include "ibsw.h"

#define MAGIC_NS 0xa1b23c4du
#define LINKTYPE_ERF 197u
#define ERF_HEAD 16u
#define ERF_TYPE_INFINIBAND 21u
#define ERF_VARYING 4u /* flag: records have their own lengths */
#define NS_PER_S 1000000000u

struct head {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, sigfigs, snaplen, linktype;
};

int
ibsw_capture_open(struct ibsw_port *p, const char *path)
{
	const struct head h = {.magic = MAGIC_NS,
			       .major = 2,
			       .minor = 4,
			       .snaplen = ERF_HEAD + TPM_IB_PACKET,
			       .linktype = LINKTYPE_ERF};

	int rc;

	p->capture = fopen(path, "we");
	if (p->capture == NULL)
		return -errno;
	if (fwrite(&h, sizeof(h), 1, p->capture) == 1 && fflush(p->capture) == 0)
		return 0;
	rc = -errno;
	fclose(p->capture);
	p->capture = NULL;
	return rc;
}

void
ibsw_capture(struct ibsw_port *p, uint64_t now, const uint8_t *packet, uint32_t len)
{
	uint32_t s = (uint32_t)(now / NS_PER_S), ns = (uint32_t)(now % NS_PER_S);
	const uint32_t h[4] = {s, ns, ERF_HEAD + len, ERF_HEAD + len};
	uint8_t erf[ERF_HEAD] = {[8] = ERF_TYPE_INFINIBAND, [9] = ERF_VARYING};
	uint64_t stamp = rte_cpu_to_le_64((uint64_t)s << 32 | ((uint64_t)ns << 32) / NS_PER_S);

	if (p->capture == NULL)
		return;
	memcpy(erf, &stamp, sizeof(stamp));
	tpm_store16(erf + 10, (uint16_t)(ERF_HEAD + len));
	tpm_store16(erf + 14, (uint16_t)len);
	/* A disk that is full ends the capture, not the switch. */
	if (fwrite(h, sizeof(h), 1, p->capture) == 1 && fwrite(erf, sizeof(erf), 1, p->capture) == 1 &&
	    fwrite(packet, len, 1, p->capture) == 1 && fflush(p->capture) == 0)
		return;
	fclose(p->capture);
	p->capture = NULL;
}
