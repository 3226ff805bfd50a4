#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# lab.sh [NAME...]: the tests in tests/lab, where the stock Linux kernel in a QEMU guest judges the card. All of them,
# or test_NAME.sh. Sets the lab up in LAB_DIR when it is missing; without a network and a lab it is skipped.
# lab.sh --setup: only that; status 1 and a skip line when there is no lab.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/common.sh

export LAB_DIR=${LAB_DIR:-$TP_CACHE/lab} TP_BUILD
mkdir -p "$LAB_DIR" "$TP_CACHE/test-logs"

setup=''
[ "${1:-}" != --setup ] || { setup=only; shift; }
names=("$@")
if [ ${#names[@]} = 0 ]; then
	for t in tests/lab/test_*.sh; do
		t=${t##*/test_}
		names+=("${t%.sh}")
	done
fi
known=(tests/lab/test_*.sh)
known=("${known[@]#tests/lab/test_}")
for n in "${names[@]}"; do
	[ -x "tests/lab/test_$n.sh" ] || tp_die "no lab test '$n'; known: ${known[*]%.sh}"
done

if ! tests/lab/setup.sh >"$LAB_DIR.log" 2>&1; then
	# An older lab is as good as none: its tools may not be those that the tests want.
	printf 'skip lab: %s\n' "$(tail -n 1 "$LAB_DIR.log")"
	[ -z "$setup" ] || exit 1
	printf '0 passed, 0 failed\n'
	exit 0
fi
tests/lab/guest.sh freeze usual || tp_die "the lab's guest does not start"
[ -z "$setup" ] || exit 0

passed=0 failed=0
for n in "${names[@]}"; do
	log=$TP_CACHE/test-logs/lab-$n.log
	begun=$SECONDS
	timeout -k 20 900 "tests/lab/test_$n.sh" >"$log" 2>&1 </dev/null
	rc=$?
	printf '# lab-%s: %s s\n' "$n" $((SECONDS - begun))
	ok=$(grep -c '^ok ' "$log") bad=$(grep -c '^not ok ' "$log")
	grep -E '^(ok |not ok |skip |# )' "$log"
	if [ $rc != 0 ] && [ "$bad" = 0 ]; then
		printf 'not ok lab-%s: exit status %s, see %s\n' "$n" "$rc" "$log"
		bad=1
	fi
	passed=$((passed + ok)) failed=$((failed + bad))
done
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
