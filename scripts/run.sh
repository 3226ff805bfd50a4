#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Starts triplane from the build. Without arguments: ten seconds of 64-byte packets over a two-port model card, from
# one port and back from the other. Arguments are passed through instead.
set -euo pipefail
TP_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$TP_ROOT"
. scripts/common.sh

HUGE_PAGES=512
HUGE_DIR=/sys/kernel/mm/hugepages/hugepages-2048kB

app=$TP_BUILD/apps/triplane
[ -x "$app" ] || tp_die "'$app' does not exist; build it first: ./tp build"

if [ $# -gt 0 ]; then
	exec "$app" "$@"
fi

# Pages that this script reserved it gives back.
reserved=0
release() {
	[ "$reserved" = 0 ] || echo 0 2>/dev/null >"$HUGE_DIR/nr_hugepages" || true
}
trap release EXIT

if [ -r "$HUGE_DIR/nr_hugepages" ] && [ "$(cat "$HUGE_DIR/nr_hugepages")" = 0 ] && [ -w "$HUGE_DIR/nr_hugepages" ]; then
	if echo "$HUGE_PAGES" 2>/dev/null >"$HUGE_DIR/nr_hugepages"; then reserved=1; fi
fi

# The first CPU forwards (the main lcore only sleeps and prints), the last one is the card. The program says which memory
# it takes.
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
forwards=${cpus%%[-,]*} card=${cpus##*[-,]}
"$app" --lcores "0@$forwards,1@$forwards" --no-pci --no-telemetry --log-level='*:error' \
	--vdev="net_mlx4_model0,wire0=cross,wire1=cross,cpu=$card" -- \
	-e 'set fwd flowgen 0; set fwd macswap 1; set peer 1 1; set txpkts 60; wait link up all 5' --live 10
