/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The table. Its texts are those of docs/fidelity.md, which a test compares. */
#include "quirk.h"

#include <string.h>

static const struct mlx4_quirk table[MLX4_QUIRKS] = {
	[MLX4_QUIRK_RSVD_EQS] = {"F-1",
				 "Number of reserved EQs in QUERY_DEV_CAP",
				 {"0x18 is the count, 0x1e its lg; the driver takes the larger",
				  "0x18 is the count, 0x1e means something else",
				  "0x1e is the lg, 0x18 means something else"},
				 "Bring-up ends with \"no event queue is left\", or SW2HW_EQ with BAD_INDEX",
				 0,
				 MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_QP_TO_RESET] = {"F-2",
				    "op_modifier of 2RST_QP",
				    {"2, or any", "3"},
				    "2RST_QP ends with BAD_PARAM",
				    0,
				    MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_SPECIAL_QPS] = {"F-3",
				    "op_modifier of CONF_SPECIAL_QP",
				    {"0, or any", "1"},
				    "CONF_SPECIAL_QP ends with BAD_PARAM: the card cannot be brought up",
				    0,
				    MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_WOL_GROUP] = {"F-10",
				  "MOD_STAT_CFG group 5, with the wake-on-LAN flags of QUERY_DEV_CAP",
				  {"wake-on-LAN", "something else: wake-on-LAN is not offered"},
				  "What was set is not read again",
				  0,
				  MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_RESET_VALUE] = {"F-11",
				    "Value that the reset register takes",
				    {"0x00000001", "0x01000000", "0x00000003"},
				    "The reset semaphore stays taken: the next bring-up finds it held",
				    0,
				    MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_COUNTER_PLACE] = {"F-12",
				      "Place of the counter index in the address path",
				      {"octet 0x04", "octet 0x24"},
				      "QUERY_IF_STAT of the second port's counter stays 0 while it sends",
				      0,
				      MLX4_QUIRK_BY_LOOP},
	[MLX4_QUIRK_VLAN_PLACE] = {"F-13",
				   "Place of the VLAN index in the address path",
				   {"octet 0x21", "octet 0x25"},
				   "Packets of a queue pair in a VLAN leave without tag, or with another",
				   0,
				   MLX4_QUIRK_BY_CABLE},
	[MLX4_QUIRK_RESIZE_MBOX] = {"F-14",
				    "Layout of the mailbox that resizes a CQ",
				    {"that of a CQ context: MTT address at 0x1b and 0x1c",
				     "MTT address at 0x17 and 0x18"},
				    "MODIFY_CQ ends with BAD_PARAM or ICM_ERROR, or completions stay away",
				    0,
				    MLX4_QUIRK_BY_LOOP},
	[MLX4_QUIRK_RESIZE_OWNER] = {"F-15",
				     "Owner bits of the entries of a CQ's new ring",
				     {"the card writes them, for the pass in which each entry comes first",
				      "the card leaves them as software wrote them"},
				     "Entries look complete before they are: completions behind a resize are not found",
				     0,
				     MLX4_QUIRK_BY_LOOP},
	[MLX4_QUIRK_EVENT_PORT] = {"F-16",
				   "Port field of the port-change event",
				   {"bits 31:28", "bits 29:28, those above mean something else"},
				   "Link changes reach no port",
				   0,
				   MLX4_QUIRK_BY_CABLE},
	[MLX4_QUIRK_TOGGLE] = {"F-24",
			       "Toggle bit of the HCR",
			       {"shows that of the last command", "is not kept: GO alone counts"},
			       "The first command is not answered",
			       0,
			       MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_ERR_MBOX] = {"F-25",
				 "Input mailbox of 2ERR_QP and RTS2SQD_QP",
				 {"none is needed", "one is needed, its contents are not looked at"},
				 "2ERR_QP ends with BAD_PARAM",
				 0,
				 MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_PKEY_INDEX] = {"F-29",
				   "P_Key index of a received datagram, in QP1's completions",
				   {"low bits of CQE dword 1", "not in the CQE: that of the queue pair"},
				   "Messages of a partition are answered in another one",
				   0,
				   MLX4_QUIRK_BY_CABLE},
	[MLX4_QUIRK_BF_PLACE] = {"F-31",
				 "Place of the BlueFlame pages in BAR2",
				 {"behind the UAR pages", "elsewhere: BlueFlame is not used"},
				 "With bf=1 nothing is sent",
				 0,
				 MLX4_QUIRK_BY_LOOP},
	[MLX4_QUIRK_EMPTY_ANSWERS] = {"F-33",
				      "Empty answers of QUERY_DEV_CAP and QUERY_PORT",
				      {"two at most, behind each other", "up to nine"},
				      "Bring-up ends with \"answers with an empty mailbox\"",
				      0,
				      MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_RULE_ORDER] = {"F-38",
				   "Which of two steering rules of a domain takes a frame",
				   {"the one with the lower priority number", "the one with the higher number"},
				   "A frame goes to the queue of the rule with the other priority",
				   0,
				   MLX4_QUIRK_BY_LOOP},
	[MLX4_QUIRK_RULE_NO_ADDRESS] = {"F-40",
					"Steering rules that name no destination address",
					{"an Ethernet specification with masks 0",
					 "no Ethernet specification; one that compares nothing is refused"},
					"QP_FLOW_STEERING_ATTACH ends with BAD_PARAM",
					0,
					MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_RULE_L4] = {"F-41",
				"TCP and UDP specifications without one of IPv4",
				{"take IPv4 and IPv6", "take IPv4 alone: a rule for others is refused by the driver"},
				"A rule for TCP over IPv6 takes no frame",
				0,
				MLX4_QUIRK_BY_LOOP},
	[MLX4_QUIRK_TUNNEL_SUMS] = {"F-51",
				    "CQE bits 31 and 26 of a tunnelled frame",
				    {"checksums of the outer headers; status has the inner ones",
				     "checksums of the inner headers; status has the outer ones"},
				    "A frame with a wrong inner checksum is reported as one with a wrong outer one",
				    0,
				    MLX4_QUIRK_BY_LOOP},
	[MLX4_QUIRK_INNER_RSS] = {"F-56",
				  "RSS flags that hash inner headers",
				  {"0x80", "0xc0"},
				  "Tunnelled flows between two hosts come by one queue",
				  0,
				  MLX4_QUIRK_BY_LOOP},
	[MLX4_QUIRK_SHARES] = {"F-69",
			       "Shares of SET_PORT SCHEDULER",
			       {"0..100 %, in the ETS group 100 together",
				"1..100 %, of which classes of 1 % may be too many"},
			       "SET_PORT SCHEDULER with a class of 0 % ends with BAD_PARAM",
			       0,
			       MLX4_QUIRK_BY_COMMANDS},
	[MLX4_QUIRK_GROUP_ORDER] = {"F-70",
				    "Order of the scheduler's groups",
				    {"the lower number first", "the higher number first"},
				    "The lowest strict class goes first",
				    0,
				    MLX4_QUIRK_BY_CABLE},
	[MLX4_QUIRK_FORCE_PRIO] = {"F-82",
				   "Priority of a send queue",
				   {"that of the scheduling queue",
				    "that of the scheduling queue with the bit \"force priority\", else 0"},
				   "Frames of a queue with a priority are counted and paused with priority 0",
				   0,
				   MLX4_QUIRK_BY_CABLE},
	[MLX4_QUIRK_SHORT_FRAMES] = {"F-88",
				     "Counters of a frame shorter than 64 octets with a bad FCS",
				     {"RRUNT", "RRUNT and RCRC"},
				     "One frame counts as two errors",
				     0,
				     MLX4_QUIRK_BY_CABLE},
};

static const char *const found_text[] = {
	[MLX4_QUIRK_BY_COMMANDS] = "by commands and registers",
	[MLX4_QUIRK_BY_LOOP] = "by frames inside the card",
	[MLX4_QUIRK_BY_CABLE] = "with a cable",
	[MLX4_QUIRK_BY_NOTHING] = "not",
};

const struct mlx4_quirk *
mlx4_quirk_get(unsigned int i)
{
	return i < MLX4_QUIRKS ? &table[i] : NULL;
}

int
mlx4_quirk_find(const char *id)
{
	int i;

	for (i = 0; i < MLX4_QUIRKS; i++)
		if (strcmp(table[i].id, id) == 0)
			return i;
	return -1;
}

unsigned int
mlx4_quirk_variants(unsigned int i)
{
	unsigned int n = 0;

	while (n < MLX4_QUIRK_VARIANTS && table[i].variant[n] != NULL)
		n++;
	return n;
}

const char *
mlx4_quirk_found_text(uint8_t found)
{
	return found < sizeof(found_text) / sizeof(found_text[0]) ? found_text[found] : "";
}

void
mlx4_quirks_default(struct mlx4_quirks *q)
{
	unsigned int i;

	q->listed = 0;
	for (i = 0; i < MLX4_QUIRKS; i++)
		q->v[i] = table[i].def;
}
