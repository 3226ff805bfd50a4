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

memory=(--no-huge -m 512 --no-shconf)
if [ -r "$HUGE_DIR/nr_hugepages" ]; then
	if [ "$(cat "$HUGE_DIR/nr_hugepages")" = 0 ] && [ -w "$HUGE_DIR/nr_hugepages" ]; then
		if echo "$HUGE_PAGES" 2>/dev/null >"$HUGE_DIR/nr_hugepages"; then reserved=1; fi
	fi
	# less than half of them would not hold the packet buffers
	if [ "$(cat "$HUGE_DIR/free_hugepages")" -ge $((HUGE_PAGES / 2)) ]; then
		memory=(--in-memory --huge-unlink)
	fi
fi
if [ "${memory[0]}" = --in-memory ]; then
	tp_say "memory: 2 MiB hugepages"
else
	tp_say "memory: --no-huge (no free 2 MiB hugepages; as root they are reserved when there are none)"
fi

# CPU 0 forwards (the main lcore only sleeps and prints), CPU 1 is the card.
cpus=$(nproc)
model_cpu=$((cpus > 1 ? 1 : 0))
"$app" --lcores '0@0,1@0' --no-pci "${memory[@]}" --no-telemetry --file-prefix="triplane$$" --log-level='*:error' \
	--vdev="net_mlx4_model0,wire0=cross,wire1=cross,cpu=$model_cpu" -- \
	-e 'set fwd flowgen 0; set fwd macswap 1; set peer 1 1; set txpkts 60; wait link up all 5' --live 10
