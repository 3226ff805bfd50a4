#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh [SECONDS [TARGET...]]: each libFuzzer target for SECONDS (60) under address and undefined-behaviour
# sanitizers, two at a time. Inputs that made new ground are kept in the cache folder for the next run.
# fuzz.sh --list: the targets. fuzz.sh --build: builds them, no more.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/common.sh
all="share tcp cmd wqe frame cqe vfu qos settings lldp roce roce_net mad ibmad ipoib ipoib_core udp"
[ "${1:-}" != --list ] || { tr ' ' '\n' <<<"$all"; exit; }
only_build=''
[ "${1:-}" != --build ] || { only_build=yes; shift; }
seconds=${1:-60}
[ $# = 0 ] || shift
targets=${*:-$all}
build=$TP_BUILD_ASAN
corpus=$TP_CACHE/fuzz
tp_meson_asan
# shellcheck disable=SC2046,SC2086
ninja -k 0 -C "$build" $(printf 'tests/fuzz/fuzz_%s ' $targets) >"$build.log" 2>&1 || {
	printf 'not ok fuzz-build: see %s\n' "$build.log"
	grep -E 'error' "$build.log" | head -n 5
}
[ -z "$only_build" ] || exit 0
mkdir -p "$corpus"
/usr/bin/python3 tests/fuzz/seeds.py "$corpus/seeds" 2>"$corpus/seeds.log" || tp_say "no seeds; see $corpus/seeds.log"

one() { # target
	local t=$1 log=$corpus/$1.log runs seconds=$seconds
	# An input is a connection with threads and commands of its own, or one with its whole life.
	case $t in share | tcp) [ "$seconds" -ge 10 ] || seconds=10 ;; esac
	[ -x "$build/tests/fuzz/fuzz_$t" ] || return 1
	mkdir -p "$corpus/$t" "$corpus/found" "$corpus/seeds/$t"
	if UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$build/tests/fuzz/fuzz_$t" -max_total_time="$seconds" \
		-timeout=10 -max_len=4096 -len_control=10 -rss_limit_mb=3000 -artifact_prefix="$corpus/found/$t-" -print_final_stats=1 \
		"$corpus/$t" "$corpus/seeds/$t" >"$log" 2>&1; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		printf 'ok fuzz-%s (%s s, %s inputs)\n' "$t" "$seconds" "$runs"
	else
		printf 'not ok fuzz-%s: %s; log %s\n' "$t" \
			"$(grep -m 1 -E 'SUMMARY|runtime error|ERROR: libFuzzer|mbuf' "$log" | cut -c1-200)" "$log"
		return 1
	fi
}

status=0
running=0
one_ended() {
	wait -n || status=1
	running=$((running - 1))
}
for t in $targets; do
	one "$t" &
	running=$((running + 1))
	[ $running -lt 2 ] || one_ended
done
while [ $running -gt 0 ]; do one_ended; done
exit $status
