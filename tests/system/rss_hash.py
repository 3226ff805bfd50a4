# SPDX-License-Identifier: BSD-3-Clause
"""Which queue RSS has for a flow: a Toeplitz hash as Microsoft's text defines it, for tests to judge by."""
import ipaddress
import struct

# Of Microsoft's verification suite.
KEY = bytes.fromhex('6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa')


def toeplitz(key, data):
    window, h = int.from_bytes(key, 'big'), 0
    for i, octet in enumerate(data):
        for bit in range(8):
            if octet & 0x80 >> bit:
                h ^= window >> len(key) * 8 - 32 - 8 * i - bit & 0xffffffff
    return h


def tuple_of(src, sport, dst, dport, ports=True):
    data = ipaddress.ip_address(src).packed + ipaddress.ip_address(dst).packed
    return data + struct.pack('!HH', sport, dport) if ports else data
