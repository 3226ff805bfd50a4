/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A stack's connections by their addresses, in memory of its home's that may outlive the program: who speaks for a program that is gone
 * finds there whose peers believe in a connection. Addresses and ports are in network order. Knows no DPDK.
 */
#ifndef TCP_NOTE_H
#define TCP_NOTE_H

#include <stdint.h>

struct tcp_note {
	uint32_t local_ip, remote_ip;
	uint16_t local_port, remote_port; /* local_port 0: there is none */
};

struct tcp_notes {
	uint32_t end; /* places from here on were never used */
	struct tcp_note at[];
};

#endif /* TCP_NOTE_H */
