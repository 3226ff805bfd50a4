#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Random transfers of lib/tcp in virtual time (tests/unit/tcp/test_scenarios.c), many more than ./tp test makes: so many seeds from
# the first one on, by default 20,000 that depend on the day. By hand: TCP_RIG_SEEDS=100000 TCP_RIG_FIRST=1 ./tp test long/tcp_rig
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. scripts/common.sh
seeds=${TCP_RIG_SEEDS:-20000}
first=${TCP_RIG_FIRST:-$((20000 * ($(date +%s) / 86400)))}
ninja -C "$TP_BUILD" tests/unit/tcp/test_tcp >/dev/null || exit 1
nice -n 19 "$TP_BUILD/tests/unit/tcp/test_tcp" scenarios "$seeds" "$first"
rc=$?
if [ "$rc" = 0 ]; then
	echo "ok tcp-rig ($seeds seeds from $first on)"
else
	echo "not ok tcp-rig: exit status $rc, of $seeds seeds from $first on"
fi
exit "$rc"
