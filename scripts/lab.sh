#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# lab.sh [NAME...]: the tests in tests/lab, where the stock Linux kernel in a QEMU guest judges the card. All of them,
# or test_NAME.sh. Sets the lab up in LAB_DIR when it is missing; without a network and a lab it is skipped.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/common.sh

export LAB_DIR=${LAB_DIR:-$TP_CACHE/lab} TP_BUILD
mkdir -p "$LAB_DIR" "$TP_CACHE/test-logs"

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
	printf '0 passed, 0 failed\n'
	exit 0
fi

passed=0 failed=0
log_of() { printf '%s/test-logs/lab-%s.log' "$TP_CACHE" "$1"; }

run() { # NAME
	local begun=$SECONDS rc
	timeout -k 20 900 "tests/lab/test_$1.sh" >"$(log_of "$1")" 2>&1 </dev/null
	rc=$?
	printf '# lab-%s: %s s\n' "$1" $((SECONDS - begun))
	return $rc
}

# Counts and shows what a test said.
tally() { # NAME EXIT-STATUS
	local n=$1 rc=$2 log ok bad
	log=$(log_of "$n")
	ok=$(grep -c '^ok ' "$log") bad=$(grep -c '^not ok ' "$log")
	grep -E '^(ok |not ok |skip |# )' "$log"
	if [ "$rc" != 0 ] && [ "$bad" = 0 ]; then
		printf 'not ok lab-%s: exit status %s, see %s\n' "$n" "$rc" "$log"
		bad=1
	fi
	passed=$((passed + ok)) failed=$((failed + bad))
}

# In the test of the core, the driver sleeps a second after each of its many resets of the card, and nothing depends on how
# fast it is: those of ib, which wait for nothing else, go on beside it.
together='' beside=''
[[ " ${names[*]} " != *" core "* || " ${names[*]} " != *" ib "* ]] || together=yes
for n in "${names[@]}"; do
	case $together$n in
	yescore) continue ;;
	yesib)
		run core &
		beside=$!
		;;
	esac
	run "$n"
	tally "$n" $?
	[ -z "$beside" ] || {
		wait "$beside"
		tally core $?
		beside=''
	}
done
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
