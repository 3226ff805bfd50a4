#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# flaky.sh [--load] [--stall] N SUITE/NAME...: runs each of these N times, one after the other, and prints a table: name, runs,
# failures, median and longest seconds. --load keeps two CPUs busy meanwhile; --stall has processes and threads of the test stand
# still now and then, for up to two seconds (scripts/stall.py). A suite's name means all of its programs. The log of each run that
# failed stays in the cache folder (.tp/flaky), with --stall also when who stood still.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/common.sh

usage() { tp_die "usage: scripts/flaky.sh [--load] [--stall] N SUITE/NAME... (system, unit and lab; names: ./tp test --list)"; }
load='' stall='' runs='' wanted=()
while [ $# -gt 0 ]; do
	case $1 in
	--load) load=yes ;;
	--stall) stall=yes ;;
	-*) usage ;;
	*) if [ -z "$runs" ]; then runs=$1; else wanted+=("$1"); fi ;;
	esac
	shift
done
if ! [[ $runs =~ ^[1-9][0-9]*$ ]] || [ ${#wanted[@]} = 0 ]; then usage; fi
names=$(scripts/test.sh --list "${wanted[@]}") || exit

logs=$TP_CACHE/flaky
mkdir -p "$logs"
export TP_BUILD TP_CACHE TP_PLUGIN TP_ROOT=$PWD LAB_DIR=${LAB_DIR:-$TP_CACHE/lab}
export PATH="$TP_BUILD/apps:$TP_BUILD/apps/triplane:$PATH"
export LD_LIBRARY_PATH="$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ -x "$TP_BUILD/apps/triplane" ] || tp_die "nothing is built in $TP_BUILD; build it first: ./tp build"

busy=()
over() {
	[ ${#busy[@]} = 0 ] || kill "${busy[@]}" 2>/dev/null
	[[ $stall != [0-9]* ]] || kill "$stall" 2>/dev/null
	busy=()
}
trap over EXIT
trap 'exit 130' INT TERM
if [ -n "$load" ]; then
	for _ in 1 2; do
		(while :; do :; done) &
		busy+=($!)
	done
fi

one() { # SUITE/NAME
	local suite=${1%%/*} name=${1#*/} t
	case $suite in
	system | lab)
		t=tests/$suite/test_$name.sh
		[ -e "$t" ] || t=${t%.sh}.py
		timeout -k 10 900 "$t"
		;;
	unit) meson test -C "$TP_BUILD" --suite unit --no-rebuild --num-processes 1 --print-errorlogs "$name" ;;
	*) timeout -k 10 900 "scripts/$suite.sh" "$name" ;;
	esac
}

case " ${names//$'\n'/ }" in
*" lab/"*) scripts/lab.sh --setup || exit 1 ;;
esac
printf '%-32s %5s %8s %8s %8s\n' name runs failures median longest
status=0
for n in $names; do
	bad=0 took=()
	for ((i = 1; i <= runs; i++)); do
		log=$logs/${n/\//-}.$i.log
		begun=$SECONDS
		if [ -n "$stall" ]; then
			scripts/stall.py $$ 2>"$log.stalls" &
			stall=$!
		fi
		one "$n" >"$log" 2>&1 </dev/null
		rc=$?
		[ -z "$stall" ] || { kill "$stall" && wait "$stall"; } 2>/dev/null
		took+=($((SECONDS - begun)))
		if [ $rc != 0 ] || grep -q '^not ok ' "$log"; then
			bad=$((bad + 1)) status=1
		else
			rm -f "$log" "$log.stalls"
		fi
	done
	mapfile -t took < <(printf '%s\n' "${took[@]}" | sort -n)
	printf '%-32s %5s %8s %8s %8s\n' "$n" "$runs" "$bad" "${took[$((runs / 2))]}" "${took[-1]}"
done
exit $status
