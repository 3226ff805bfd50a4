#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test.sh [SUITE...]: builds what the suites need, runs them, ends with "N passed, N failed". A case is one CMocka
# test, or one "ok NAME" / "not ok NAME: reason" / "skip NAME: reason" line of a program.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/common.sh

all="system unit lab fuzz compat lint"
logs=$TP_CACHE/test-logs
passed=0 failed=0 skipped=0

usage() { tp_die "unknown suite '$1'; known: $all"; }

# Counts one program's lines and shows what went wrong. Exit status counts as a case of its own when it says failure
# and no line did.
tally() { # title, exit status, log
	local title=$1 rc=$2 log=$3 ok bad skip
	ok=$(grep -c '^ok ' "$log")
	bad=$(grep -c '^not ok ' "$log")
	skip=$(grep -c '^skip ' "$log")
	if [ "$bad" = 0 ] && { [ "$rc" != 0 ] || [ $((ok + skip)) = 0 ]; }; then
		printf 'not ok %s: exit status %s after %s cases\n' "$title" "$rc" "$ok"
		tail -n 30 "$log" | sed 's/^/    /'
		bad=1
	elif [ "$bad" != 0 ]; then
		grep -A 12 '^not ok ' "$log" | sed "s/^/    /"
		printf '    (log: %s)\n' "$log"
	fi
	grep '^skip ' "$log"
	printf '%s: %s passed, %s failed%s (%s s)\n' "$title" "$ok" "$bad" "$([ "$skip" = 0 ] || printf ', %s skipped' "$skip")" \
		$((SECONDS - program_begun))
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

program_ended() { # title, seconds, exit status
	[ "$3" != 124 ] || printf 'not ok %s: not finished after %s s\n' "$1" "$2" >>"$logs/$1.log"
	tally "$1" "$3" "$logs/$1.log"
}

run_program() { # title, seconds, command...
	local title=$1 limit=$2
	shift 2
	program_begun=$SECONDS
	timeout -k 10 "$limit" "$@" >"$logs/$title.log" 2>&1 </dev/null
	program_ended "$title" "$limit" $?
}

# CMocka's lines "[       OK ] name" and "[  FAILED  ] name" become ours; a test that skips has printed why.
unit_variant() { # name, build directory
	local name=$1 dir=$2 log=$logs/unit-$1.log rc
	program_begun=$SECONDS
	# One at a time: several wait for a model's thread and this may be a small machine.
	ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		meson test -C "$dir" --suite unit --no-rebuild --num-processes 1 --print-errorlogs >"$log.meson" 2>&1
	rc=$?
	sed -n -e 's/^\[       OK \] /ok /p' -e 's/^\[  FAILED  \] \([^:]*\)$/not ok \1: see the log/p' \
		-e '/^skip [^ ]*: /p' "$dir/meson-logs/testlog.txt" |
		awk '/^ok/ || !seen[$0]++' >"$log"
	if [ $rc != 0 ]; then
		grep -q '^not ok' "$log" || printf 'not ok unit-%s: a program failed outside its cases\n' "$name" >>"$log"
		grep -vE '^ *[0-9]+/[0-9]+ .* OK' "$log.meson" | tail -n 60 | sed 's/^/    /'
	fi
	tally "unit-$name" $rc "$log"
}

suite_unit() {
	unit_variant release "$TP_BUILD"
	unit_variant asan "$TP_BUILD_ASAN"
}

programs() { # suite
	local t name
	for t in tests/"$1"/test_*.sh tests/"$1"/test_*.py; do
		[ -x "$t" ] || continue
		name=$(basename "$t")
		run_program "$1-${name%.*}" 600 "$t"
	done
}

suite_system() { programs system; }
# What a guest shows is part of every run.
suite_lab() { run_program lab 1800 scripts/lab.sh; }
suite_compat() { run_program compat 900 scripts/compat.sh; }
# Runs beside others and takes only the time of CPUs that they leave, since nothing in it depends on how fast it is; not
# beside the system tests, some of which look at what CPUs do.
lint='' lint_limit=3600
lint_begin() {
	[ -z "$lint" ] || return
	lint_begun=$SECONDS
	chrt --idle 0 timeout -k 10 $lint_limit scripts/lint.sh >"$logs/lint.log" 2>&1 </dev/null &
	lint=$!
	trap 'kill "$lint" 2>/dev/null' EXIT
}
suite_lint() {
	local rc
	wait "$lint"
	rc=$?
	program_begun=$lint_begun
	program_ended lint $lint_limit $rc
	trap - EXIT
}
# Shorter than by hand, so that all suites together stay below 45 minutes on two cores.
suite_fuzz() { run_program fuzz 900 scripts/fuzz.sh 20; }

suites=${*:-$all}
for s in $suites; do
	case " $all " in
	*" $s "*) ;;
	*) usage "$s" ;;
	esac
done
tp_build
case " $suites " in
*" unit "*) tp_build_asan ;;
esac
mkdir -p "$logs"
export TP_BUILD TP_CACHE TP_PLUGIN TP_ROOT=$PWD
export PATH="$TP_BUILD/apps:$TP_BUILD/apps/triplane:$PATH"
export LD_LIBRARY_PATH="$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
left=$suites
for s in $suites; do
	case $left in
	*system*) ;;
	*lint*) lint_begin ;;
	esac
	left=${left#"$s"} left=${left# }
	printf -- '--- %s\n' "$s"
	begun=$SECONDS
	"suite_$s"
	printf 'suite %s: %s s\n' "$s" $((SECONDS - begun))
done
printf '%s passed, %s failed' "$passed" "$failed"
[ "$skipped" = 0 ] || printf ', %s skipped' "$skipped"
printf '\n'
[ "$failed" = 0 ]
