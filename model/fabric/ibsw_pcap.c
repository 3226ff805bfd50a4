/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What passes a port of the InfiniBand switch, as a file of libpcap's format: link type 247, packets with both CRCs. */
#include <errno.h>

#include "ibsw.h"

#define MAGIC_NS 0xa1b23c4du
#define LINKTYPE_INFINIBAND 247u
#define NS_PER_S 1000000000u

struct head {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, sigfigs, snaplen, linktype;
};

int
ibsw_capture_open(struct ibsw_port *p, const char *path)
{
	const struct head h = {
		.magic = MAGIC_NS, .major = 2, .minor = 4, .snaplen = TPM_IB_PACKET, .linktype = LINKTYPE_INFINIBAND};

	p->capture = fopen(path, "we");
	if (p->capture == NULL)
		return -errno;
	return fwrite(&h, sizeof(h), 1, p->capture) == 1 && fflush(p->capture) == 0 ? 0 : -EIO;
}

void
ibsw_capture(struct ibsw_port *p, uint64_t now, const uint8_t *packet, uint32_t len)
{
	const uint32_t h[4] = {(uint32_t)(now / NS_PER_S), (uint32_t)(now % NS_PER_S), len, len};

	if (p->capture == NULL)
		return;
	/* A disk that is full ends the capture, not the switch. */
	if (fwrite(h, sizeof(h), 1, p->capture) == 1 && fwrite(packet, len, 1, p->capture) == 1 &&
	    fflush(p->capture) == 0)
		return;
	fclose(p->capture);
	p->capture = NULL;
}
