#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages of 100 octets between lib/tcp and Linux over a TAP that loses 1 % of the frames and reorders 1 %, either way, many
# connections at a time, opened by either end: each octet is compared (tcp_many.c). Ten millions, in half a minute
# where nothing else runs. By hand: TCP_MESSAGES=100000000 TCP_CONNECTIONS=200 TCP_SEED=1 ./tp test long/tcp_many
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. scripts/common.sh
if [ "$(id -u)" != 0 ] || [ ! -e /dev/net/tun ]; then
	echo 'skip tcp-many: network namespaces and taps need root and /dev/net/tun'
	exit 0
fi
ninja -C "$TP_BUILD" tests/long/tcp_many >/dev/null || exit 1
exec "$TP_BUILD/tests/long/tcp_many" "${TCP_MESSAGES:-10000000}" "${TCP_CONNECTIONS:-64}" 100 100 "${TCP_SEED:-$(date +%s)}"
