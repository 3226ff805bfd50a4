/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The stages in their order: what each does, and what it disturbs. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

const struct ck_stage ck_stages[CK_STAGES + 1] = {
	{"machine", "Machine",
	 "reads what the kernel says of IOMMU, VFIO, group, memory of the card, MSI-X, PCIe link, hugepages and limits",
	 "nothing", false, ck_stage_machine},
	{"identity", "Identity of card and firmware",
	 "reads configuration space, vital product data and registers, and asks the firmware who it is (QUERY_FW)",
	 "nothing; the card is not reset", false, ck_stage_identity},
	{"capabilities", "Capabilities",
	 "resets the card, starts its firmware and compares each field of QUERY_DEV_CAP with what the driver relies on",
	 "the card forgets what it was told before; it is reset at the end", true, ck_stage_caps},
	{"bringup", "Bring-up",
	 "brings the card up and takes it down as the driver does, and times each kind of command", "as before", true,
	 ck_stage_bringup},
	{"interrupts", "Interrupts",
	 "has the card end commands by event, and asks each receive queue for an interrupt by a frame looped inside "
	 "the "
	 "card",
	 "as before; frames with this port's own address may leave the port", true, ck_stage_interrupts},
	{"ports", "Ports", "brings each Ethernet port up and reads link, module, speed and counters",
	 "the peer sees the link come up and go", true, ck_stage_ports},
	{"loopback", "One port alone, looped inside the card",
	 "sends frames of each kind to the port's own address and judges the bytes that come back: sizes, segments, "
	 "inline "
	 "data, "
	 "checksums, large sends, VLAN tags, RSS, steering",
	 "the peer may see some hundred frames to an address that is not its own", true, ck_stage_loop},
	{"cable", "Two ports joined by a cable",
	 "sends frames from each port to the other, measures rates and round trips, has the second port pause the "
	 "first, and joins queue pairs of RoCE; left out when what the first port sends does not reach the second",
	 "a peer that is there instead sees a frame; a switch between sees pause frames", true, ck_stage_cable},
	{"infiniband", "InfiniBand ports",
	 "asks each InfiniBand port by management datagrams who it is and how its link is; where a cable joins two "
	 "that nobody manages, it runs a subnet manager and sends IP over InfiniBand; left out when there is none",
	 "a subnet manager sees the port come up and go; ports without one get LIDs", true, ck_stage_infiniband},
	{"life", "Teardown, death and reset",
	 "brings the card up and down again, kills a process that has it, and brings it back in place by its reset",
	 "as before; the card writes to no memory of the process that was killed", true, ck_stage_life},
	{"variants", "What sources leave open",
	 "asks the card which variant of each point of docs/fidelity.md it is: by commands, by frames looped "
	 "inside it, and by frames between two ports, if a cable joins them, as Ethernet and as InfiniBand",
	 "as before; commands in a form that this card may refuse; the second port's link goes for a moment; ports "
	 "that "
	 "can be both are InfiniBand ones for a while",
	 true, ck_stage_variants},
	[CK_REFLECTOR] =
		{"reflector", "The other end of a cable",
		 "brings each Ethernet port up and sends back frames and RoCE messages of a check at the other end",
		 "frames of other programs are not looked at; the card is reset at the end", true, ck_stage_reflect,
		 true},
};

int
ck_stage_find(const char *word)
{
	unsigned int i;
	char *end;
	unsigned long v = strtoul(word, &end, 10);

	if (end != word && *end == '\0' && word[0] != '-' && word[0] != '+')
		return v < CK_STAGES ? (int)v : -1;
	for (i = 0; i < CK_STAGES; i++)
		if (strcmp(ck_stages[i].word, word) == 0)
			return (int)i;
	return -1;
}
