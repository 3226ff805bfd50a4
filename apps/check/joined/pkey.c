/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the completion of a datagram says of its partition: by datagrams of several partitions between two InfiniBand ports. */
#include <stdatomic.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>

#include "joined.h"

#define WAIT_MS 10000u
#define ANSWER_MS 500u
#define TRIES 5u
#define NAP_US 500u
#define TABLE 128u /* of a port, at most */
#define KEYS (SUBNET_PKEYS + 1u)
#define DEFAULT_KEY 0xffffu
#define KEY_MASK 0x7fffu /* without the bit of membership */

/* A datagram of a vendor's class that nobody answers (IBTA 13.4.2 to 13.4.4). */
#define CLASS 0x0fu
#define METHOD_SEND 0x03u
#define MAD_VERSION_AT 0u
#define MAD_CLASS_AT 1u
#define MAD_CLASS_VERSION_AT 2u
#define MAD_METHOD_AT 3u
#define MAD_MODIFIER_AT 20u
#define NOTHING UINT64_MAX

static const uint16_t keys[KEYS] = {DEFAULT_KEY, 0x8123, 0x8456, 0x8789};

struct listener {
	_Atomic uint64_t got; /* the number of the datagram, and behind it, in 16 bits, the index */
};

static void
on_mad(void *arg, const struct tp_mad_msg *msg)
{
	struct listener *l = arg;
	uint32_t number;

	if (msg->status != 0 || msg->pkt->data[MAD_CLASS_AT] != CLASS || msg->pkt->data[MAD_METHOD_AT] != METHOD_SEND)
		return;
	memcpy(&number, msg->pkt->data + MAD_MODIFIER_AT, sizeof(number));
	atomic_store(&l->got, (uint64_t)rte_be_to_cpu_32(number) << 16 | msg->pkt->pkey_index);
}

/* Its place in a port's table; -1: it is not there. */
static int
place_of(struct subnet *x, unsigned int end, uint16_t key)
{
	struct ibv_context *ctx = tp_mad_service_ctx(x->service[end]);
	const int n = (int)RTE_MIN((unsigned int)x->attr[end].pkey_tbl_len, TABLE);
	__be16 v;
	int i;

	for (i = 0; i < n; i++)
		if (tp_roce_query_pkey(ctx, 1, i, &v) == 0 && ((rte_be_to_cpu_16(v) ^ key) & KEY_MASK) == 0)
			return i;
	return -1;
}

static bool
places(struct subnet *x, int at[2][KEYS])
{
	struct port_limit until = port_in(WAIT_MS);
	unsigned int i, k, n;

	do {
		for (n = i = 0; i < 2; i++)
			for (k = 0; k < KEYS; k++) {
				at[i][k] = place_of(x, i, keys[k]);
				n += at[i][k] >= 0;
			}
		if (n == 2 * KEYS)
			return true;
		rte_delay_us_sleep(NAP_US);
	} while (port_waits(&until));
	return false;
}

/* Sends a datagram in the partition at this place of the sender's table. @return what the receiver reads; -1: it did not come */
static int
read_index(struct subnet *x, struct tp_mad_agent *from, struct listener *l, uint16_t place)
{
	static uint32_t number;
	struct tp_mad_packet to = {
		.qpn = 1, .remote_qpn = 1, .qkey = TP_MAD_QKEY, .dlid = x->attr[1].lid, .pkey_index = place};
	uint8_t mad[TP_MAD_SIZE] = {[MAD_VERSION_AT] = 1,
				    [MAD_CLASS_AT] = CLASS,
				    [MAD_CLASS_VERSION_AT] = 1,
				    [MAD_METHOD_AT] = METHOD_SEND};
	struct port_limit until;
	uint64_t got;
	unsigned int i;
	uint32_t be;

	for (i = 0; i < TRIES; i++) {
		be = rte_cpu_to_be_32(++number);
		memcpy(mad + MAD_MODIFIER_AT, &be, sizeof(be));
		atomic_store(&l->got, NOTHING);
		if (tp_mad_send(from, &to, mad, sizeof(mad), 0, 0) != 0)
			return -1;
		for (until = port_in(ANSWER_MS); port_waits(&until);) {
			got = atomic_load(&l->got);
			if (got != NOTHING && got >> 16 == number)
				return (int)(got & 0xffff);
			rte_delay_us_sleep(NAP_US);
		}
	}
	return -1;
}

static void
judge(struct variants *s, int at[2][KEYS], const int *read)
{
	char text[CK_TEXT / 2] = "";
	unsigned int k, same = 0, came = 0, len = 0;

	for (k = 0; k < KEYS; k++) {
		same += read[k] == at[1][k];
		came += read[k] >= 0;
		len += (unsigned int)snprintf(text + len, sizeof(text) - len, "%s%d at %d", k == 0 ? "" : ", ", read[k],
					      at[1][k]);
	}
	if (came < KEYS)
		variant_open(s, MLX4_QUIRK_PKEY_INDEX,
			     "of datagrams of %u partitions %u came; read as an index: %s (-1: it did not come)", KEYS,
			     came, text);
	else
		variant_found(s, MLX4_QUIRK_PKEY_INDEX, same != KEYS, "certain",
			      "of datagrams of %u partitions the completions say, by their place in the receiver's "
			      "table: %s",
			      KEYS, text);
}

static void
ask(struct variants *s, struct subnet *x)
{
	struct listener l = {.got = NOTHING};
	const struct tp_mad_agent_conf sends = {
		.qpn = 1, .mgmt_class = CLASS, .class_version = 1, .recv = on_mad, .arg = &l};
	struct tp_mad_agent_conf serves = sends;
	struct tp_mad_agent *from = NULL, *to = NULL;
	int at[2][KEYS], read[KEYS], rc;
	unsigned int k;

	if (!places(x, at)) {
		variant_open(s, MLX4_QUIRK_PKEY_INDEX, "the ports did not take %u partitions", KEYS);
		return;
	}
	serves.methods[0] = UINT64_C(1) << METHOD_SEND;
	rc = tp_mad_register(tp_mad_service_mad(x->service[0]), &sends, &from);
	if (rc == 0)
		rc = tp_mad_register(tp_mad_service_mad(x->service[1]), &serves, &to);
	if (rc == 0) {
		ck_step(s->c, "sends datagrams of %u partitions", KEYS);
		for (k = 0; k < KEYS; k++)
			read[k] = read_index(x, from, &l, (uint16_t)at[0][k]);
		judge(s, at, read);
	} else {
		variant_open(s, MLX4_QUIRK_PKEY_INDEX, "no agents: %s", strerror(-rc));
	}
	if (to != NULL)
		tp_mad_unregister(to);
	if (from != NULL)
		tp_mad_unregister(from);
}

void
joined_pkey(struct variants *s)
{
	struct mlx4_quirks q = s->q;
	struct subnet_conf conf = {.args = "port-type0=ib,port-type1=ib", .quirks = &q, .num_pkeys = SUBNET_PKEYS};
	static struct subnet x;
	char why[CK_TEXT];

	if (!s->ib) {
		variant_open(s, MLX4_QUIRK_PKEY_INDEX, "the card has no two ports that may be InfiniBand ones");
		return;
	}
	/* So that the driver reads the completion. */
	q.v[MLX4_QUIRK_PKEY_INDEX] = 0;
	memcpy(conf.pkeys, keys + 1, sizeof(conf.pkeys));
	if (subnet_open(&x, s->c, &conf, why))
		ask(s, &x);
	else
		variant_open(s, MLX4_QUIRK_PKEY_INDEX,
			     "wants two InfiniBand ports with a cable between, and nobody who manages them: %.300s",
			     why);
	subnet_close(&x);
}
