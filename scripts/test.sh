#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test.sh [--repeat N] [SUITE | SUITE/NAME]...: builds what these need, runs them, ends with "N passed, N failed". A case is
# one CMocka test, or one "ok NAME" / "not ok NAME: reason" / "skip NAME: reason" line of a program.
# test.sh --list [SUITE]...: their names, nothing is run.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/common.sh

all="system unit lab fuzz compat lint"
# Those of "long" run only when they are asked for. What they need and nothing else does, they name: "# Packages: NAME...".
known="$all long"
logs=$TP_CACHE/test-logs
times=$TP_CACHE/test-times # NAME SECONDS: the last time each took here
fuzz_seconds=5
lab_limit=1500 system_limit=1200 long_limit=3600
lanes=$(nproc)
[ "$lanes" -le 2 ] || lanes=2
lanes_most=$((lanes + 3)) # where those leave CPUs idle
passed=0 failed=0 skipped=0

unit_names() {
	python3 - "$TP_BUILD/meson-info/intro-tests.json" <<'PY'
import json, sys
print('\n'.join(sorted(t['name'] for t in json.load(open(sys.argv[1])) if t['suite'] and t['suite'][0].endswith('unit'))))
PY
}

# Names of a suite's programs. Those of unit tests are known once meson has read the tree; nothing is compiled for that.
names_of() { # suite
	local t
	case $1 in
	system | lab | long)
		for t in tests/"$1"/test_*.sh tests/"$1"/test_*.py; do
			[ -e "$t" ] || continue
			t=${t##*/test_}
			printf '%s\n' "${t%.*}"
		done | sort
		;;
	unit) unit_names ;;
	*) "scripts/$1.sh" --list ;;
	esac
}

check_names() { # SUITE or SUITE/NAME...
	local a suite
	for a in "$@"; do
		suite=${a%%/*}
		case " $known " in
		*" $suite "*) ;;
		*) tp_die "unknown suite '$suite'; known: $known" ;;
		esac
		[ "$suite" = unit ] && ! [ -f "$TP_BUILD/build.ninja" ] && { tp_setup; tp_meson "$TP_BUILD" --buildtype=release; }
		[ "$a" = "$suite" ] || grep -qFx -- "${a#*/}" <<<"$(names_of "$suite")" ||
			tp_die "suite $suite has no test '${a#*/}'; its tests: ./tp test --list $suite"
	done
}

# What of a suite was asked for: nothing said means all.
chosen() { # suite
	local a
	for a in $wanted; do
		case $a in
		"$1") names_of "$1"; return ;;
		"$1"/*) printf '%s\n' "${a#*/}" ;;
		esac
	done
}

whole() { case " $wanted " in *" $1 "*) true ;; *) false ;; esac; } # suite

# How long a program took when it ran last: here, or where the table was made.
expected() { # name
	cat scripts/test-times "$times" 2>/dev/null | awk -v n="$1" '$1 == n { s = $2 } END { if (s != "") print s }'
}

clock() { # seconds
	if [ "$1" -lt 100 ]; then printf '%s s' "$1"; else printf '%s min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

# The programs that run, each with the share of the time that it takes: less than all where another runs beside it.
plan() {
	local s n
	for s in $suites; do
		case $s in
		unit) printf 'unit-release 1\nunit-asan 1\n' ;;
		system | lab | long)
			for n in $(chosen "$s"); do
				printf '%s/%s %s\n' "$s" "$n" "$(alone "$s/$n" && echo 1 || echo "$lanes")"
			done
			;;
		*) printf '%s 1\n' "$s" ;;
		esac
	done
}

progress() { # name, seconds
	local want left
	done_count=$((done_count + 1))
	want=$(expected "$1")
	left=$({ cat scripts/test-times "$times" 2>/dev/null; sed 's/^/ran /' "$logs/verdicts"; sed 's/^/plan /' "$logs/plan"; } |
		awk '$1 == "ran" { ran[$2]++; next } $1 != "plan" { took[$1] = $2; next } --ran[$2] < 0 { s += took[$2] / $3 }
			END { printf "%d", s }')
	printf '[%s/%s] %s: %s%s; %s gone, about %s left\n' "$done_count" "$plan_count" "$1" "$(clock "$2")" \
		"${want:+, expected $(clock "$want")}" "$(clock $SECONDS)" "$(clock "$left")"
}

remember() { # name, seconds
	printf '%s %s\n' "$2" "$1" >>"$logs/took"
	# A part of a suite says nothing of the whole.
	case $1 in
	*/*) ;;
	*) whole "${1%%-*}" || return 0 ;;
	esac
	{ grep -vF -- "$1 " "$times" 2>/dev/null; printf '%s %s\n' "$1" "$2"; } >"$times.new"
	mv "$times.new" "$times"
}

# Counts one program's lines and shows what went wrong. Exit status counts as a case of its own when it says failure
# and no line did.
tally() { # name, exit status, log, seconds
	local name=$1 rc=$2 log=$3 took=$4 ok bad skip
	ok=$(grep -c '^ok ' "$log")
	bad=$(grep -c '^not ok ' "$log")
	skip=$(grep -c '^skip ' "$log")
	if [ "$bad" = 0 ] && { [ "$rc" != 0 ] || [ $((ok + skip)) = 0 ]; }; then
		printf 'not ok %s: exit status %s after %s cases\n' "$name" "$rc" "$ok"
		tail -n 30 "$log" | sed 's/^/    /'
		bad=1
	elif [ "$bad" != 0 ]; then
		grep -A 12 '^not ok ' "$log" | sed "s/^/    /"
		printf '    (log: %s)\n' "$log"
	fi
	grep '^skip ' "$log"
	printf '%s: %s passed, %s failed%s\n' "$name" "$ok" "$bad" "$([ "$skip" = 0 ] || printf ', %s skipped' "$skip")"
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
	printf '%s %s\n' "$name" "$bad" >>"$logs/verdicts"
	progress "$name" "$took"
	[ "$bad" != 0 ] || remember "$name" "$took"
}

# Linux 6.13 to 6.18 places the running group anew, and too far in front, each time that its weight changes: one thread of it keeps
# a CPU for seconds, up to a minute, while all others there wait (sched/debug: its vruntime stays behind the average). Sessions
# are groups where the kernel has autogroups. What is begun while these are off is in none.
autogroups=/proc/sys/kernel/sched_autogroup_enabled
autogroups_off() {
	[ "$(cat $autogroups 2>/dev/null)" = 1 ] && echo 0 2>/dev/null >$autogroups || return 0
	trap 'echo 1 >$autogroups' EXIT
}

# Each program has a session of its own, so that all of it can be ended.
run_program() { # name, seconds, command...
	local name=$1 limit=$2 log=$logs/${1/\//-}.log begun=$SECONDS rc
	shift 2
	setsid timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null &
	program_pid=$!
	wait $program_pid
	rc=$?
	program_pid=''
	program_ended "$name" "$limit" $rc $((SECONDS - begun))
}

program_ended() { # name, limit, exit status, seconds
	local name=$1 log=$logs/${1/\//-}.log
	[ "$3" != 124 ] || printf 'not ok %s: not finished after %s s\n' "$name" "$2" >>"$log"
	# of a later run of the same that fails, this one's log remains
	[ "$repeat" = 1 ] || ! grep -q '^not ok ' "$log" || cp "$log" "$log.failed"
	tally "$name" "$3" "$log" "$4"
}

# Most programs leave half of two CPUs idle: they wait for a start, a prompt, a link. So two of them run side by side, with their
# busy lcores on any CPU (TP_LANE; tests/system/tpmd.py). Where a program fills the CPUs or measures them, a line
# "# Alone: WHY" at its head says so, and nothing runs beside it. What two of them leave idle all the same, another one may have:
# it starts after two seconds in which the CPUs had nothing to do for a quarter of their time, so never on a machine that has
# other work.
lane_pid=() lane_name=() lane_begun=()
idle_wanted=25 # percent of all CPUs' time
# What has a session of its own does not hear of Ctrl-C by itself.
program_pid='' fetch_pid='' ahead_pid=''
trap 'kill ${lane_pid[@]+"${lane_pid[@]}"} $program_pid $fetch_pid 2>/dev/null; ahead_end; exit 130' INT TERM

# What can be made ahead of its turn: programs of unit tests and fuzzers, the lab, and the verdicts of clang-tidy, which takes longer
# than any other check where it has looked at no source before, and keeps each that it has reached. While programs of the suites
# system and unit wait, this uses what they leave of the CPUs. It is gone before those that run alone, and before a guest starts.
# What it did not come to is made when it is due.
unit_build() {
	tp_build_also meson-test-prereq
	tp_build_asan
}

ahead_work() { # what of it: build, lab, tidy
	local w
	for w in "$@"; do
		case $w in
		build)
			case " $suites " in *" unit "*) echo "(. scripts/common.sh; $(declare -f unit_build); unit_build)" ;; esac
			case " $suites " in *" fuzz "*) echo 'scripts/fuzz.sh --build' ;; esac
			;;
		lab) case " $suites " in *" lab "*) echo 'scripts/lab.sh --setup' ;; esac ;;
		tidy)
			case " $suites " in *" lint "*) ;; *) continue ;; esac
			case " $(chosen lint | tr '\n' ' ')" in *" tidy "*) echo 'scripts/lint.sh tidy' ;; esac
			;;
		esac
	done
}

ahead_begin() { # what of it
	local work
	work=$(ahead_work "$@")
	[ -n "$work" ] || return 0
	setsid nice -n 19 bash -c "$work" >"$logs/ahead.log" 2>&1 </dev/null &
	ahead_pid=$!
}

# Two of them must not build in one folder.
ahead_end() {
	[ -n "$ahead_pid" ] || return 0
	pkill -TERM -s "$ahead_pid"
	while pkill -0 -s "$ahead_pid"; do sleep 0.1; done
	ahead_pid=''
}

# Sets idle: the percentage of all CPUs' time since the last call in which they had nothing to do.
idle_now() {
	local v i total=0
	read -r -a v </proc/stat
	for ((i = 1; i <= 8; i++)); do total=$((total + ${v[i]:-0})); done
	idle=$((total > idle_total ? 100 * (v[4] - idle_before) / (total - idle_total) : 0))
	idle_total=$total idle_before=${v[4]}
}
idle=0 idle_total=0 idle_before=0

lane_wait() { # limit: until one of them has ended, or two seconds have gone by
	local lane pid rc tick
	sleep 2 &
	tick=$!
	wait -n -p pid "${lane_pid[@]}" $tick
	rc=$?
	if [ "$pid" = $tick ]; then
		idle_now
		return
	fi
	kill $tick
	wait $tick 2>/dev/null
	for lane in "${!lane_pid[@]}"; do
		[ "${lane_pid[$lane]}" = "$pid" ] || continue
		program_ended "${lane_name[$lane]}" "$1" $rc $((SECONDS - lane_begun[lane]))
		unset "lane_pid[$lane]"
	done
}

run_beside() { # name, seconds, command...
	local name=$1 limit=$2 lane=0
	shift 2
	while [ ${#lane_pid[@]} -ge $((idle >= idle_wanted ? lanes_most : lanes)) ]; do lane_wait "$limit"; done
	idle_now
	idle=0
	while [ -n "${lane_pid[$lane]:-}" ]; do lane=$((lane + 1)); done
	lane_name[lane]=$name lane_begun[lane]=$SECONDS
	TP_LANE=$lane setsid timeout -k 10 "$limit" "$@" >"$logs/${name/\//-}.log" 2>&1 </dev/null &
	lane_pid[lane]=$!
}

# CMocka's lines "[       OK ] name", "[  FAILED  ] name" and "[  ERROR   ] name" (of a setup or teardown) become ours; a test
# that skips has printed why.
unit_variant() { # name, build directory
	local name=$1 dir=$2 log=$logs/unit-$1.log rc names=() cpus begun run
	whole unit || mapfile -t names < <(chosen unit)
	cpus=$(nproc)
	begun=$SECONDS
	# Each waits for an interrupt thread a good part of its time. Those that look at a clock or at CPUs are marked in the build
	# files, and run alone.
	run=$(mktemp -d) # EAL's folders, which go with it
	RUNTIME_DIRECTORY=$run ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		meson test -C "$dir" --suite unit --no-rebuild --num-processes $((cpus < 2 ? 2 : 6)) --print-errorlogs \
		${names[@]+"${names[@]}"} >"$log.meson" 2>&1
	rc=$?
	rm -rf "$run"
	sed -n -e 's/^\[       OK \] /ok /p' -e 's/^\[  FAILED  \] \([^:]*\)$/not ok \1: see the log/p' \
		-e 's/^\[  ERROR   \] \([a-z_0-9]*\)$/not ok \1: its setup or teardown, see the log/p' \
		-e '/^skip [^ ]*: /p' "$dir/meson-logs/testlog.txt" |
		awk '/^ok/ || !seen[$0]++' >"$log"
	if [ $rc != 0 ]; then
		grep -q '^not ok' "$log" || printf 'not ok unit-%s: a program failed outside its cases\n' "$name" >>"$log"
		grep -vE '^ *[0-9]+/[0-9]+ .* OK' "$log.meson" | tail -n 60 | sed 's/^/    /'
	fi
	tally "unit-$name" $rc "$log" $((SECONDS - begun))
}

# Nothing that cannot be built is run.
build_when_due() {
	local log=$logs/unit-build.log begun=$SECONDS
	unit_ready=yes
	(unit_build) >"$log" 2>&1 && return
	unit_ready=''
	tally unit-build 1 "$log" $((SECONDS - begun))
}

suite_unit() {
	[ -n "$unit_ready" ] || return 0
	unit_variant release "$TP_BUILD"
	unit_variant asan "$TP_BUILD_ASAN"
}

program_file() { # suite/name
	local f=tests/${1%%/*}/test_${1#*/}
	if [ -e "$f.py" ]; then printf '%s.py' "$f"; else printf '%s.sh' "$f"; fi
}

alone() { grep -q '^# Alone: ' "$(program_file "$1")"; } # suite/name

# In the end little runs by itself then.
longest_first() { # suite
	local name
	for name in $(chosen "$1"); do
		printf '%s %s\n' "$(expected "$1/$name")" "$name"
	done | sort -s -k1,1nr | sed 's/.* //'
}

run_programs() { # suite, seconds
	local n last=()
	for n in $(longest_first "$1"); do
		if alone "$1/$n"; then last+=("$n"); else run_beside "$1/$n" "$2" "$(program_file "$1/$n")"; fi
	done
	while [ ${#lane_pid[@]} != 0 ]; do lane_wait "$2"; done
	ahead_end
	for n in ${last[@]+"${last[@]}"}; do run_program "$1/$n" "$2" "$(program_file "$1/$n")"; done
}

suite_system() { run_programs system $system_limit; }

lab_ready() {
	scripts/lab.sh --setup >"$logs/lab.log" || return
	export LAB_DIR=${LAB_DIR:-$TP_CACHE/lab}
}

suite_long() {
	local n packages=''
	for n in $(chosen long); do packages="$packages $(sed -n 's/^# Packages: //p' "$(program_file "long/$n")")"; done
	for n in $(chosen long); do
		grep -q '^# Lab: ' "$(program_file "long/$n")" || continue
		# Without a lab each of them says so.
		lab_ready || LAB_MISSING=$(sed 's/^skip lab: //' "$logs/lab.log")
		export LAB_MISSING=${LAB_MISSING:-}
		break
	done
	# shellcheck disable=SC2086
	tp_install $packages
	run_programs long $long_limit
}

# What a guest shows is part of every run.
suite_lab() {
	local begun=$SECONDS
	if ! lab_ready; then
		tally lab 0 "$logs/lab.log" $((SECONDS - begun))
		return
	fi
	# Fewer rounds of what is done again and again than by hand.
	export LAB_LOADS=${LAB_LOADS:-4} LAB_ROUNDS=${LAB_ROUNDS:-2}
	lanes_most=$lanes # two guests fill the CPUs
	run_programs lab $lab_limit
}

# A suite whose script knows what may run side by side.
suite_script() { # suite, seconds, argument...
	local suite=$1 limit=$2 names=()
	shift 2
	whole "$suite" || mapfile -t names < <(chosen "$suite")
	run_program "$suite" "$limit" "scripts/$suite.sh" "$@" ${names[@]+"${names[@]}"}
}
suite_fuzz() { suite_script fuzz 1800 $fuzz_seconds; } # by hand it is longer
suite_compat() {
	[ -z "$fetch_pid" ] || wait "$fetch_pid" 2>/dev/null # the shell may have forgotten one that ended long ago
	suite_script compat 1800
}
# By itself: it takes all CPUs, and the other suites wait for guests, threads and timers.
suite_lint() { suite_script lint 3600; }

repeat=1 list='' wanted=
while [ $# -gt 0 ]; do
	case $1 in
	--list) list=yes ;;
	--repeat)
		[[ ${2:-} =~ ^[1-9][0-9]*$ ]] || tp_die "--repeat wants a number of runs, such as 10"
		repeat=$2
		shift
		;;
	-*) tp_die "unknown option '$1'; known: --list, --repeat N" ;;
	*)
		a=${1#tests/} a=${a/\/test_/\/} a=${a%.py} # a file's name does as well
		wanted="$wanted ${a%.sh}"
		;;
	esac
	shift
done
wanted=${wanted:- $all} wanted=${wanted# }
# shellcheck disable=SC2086
check_names $wanted || exit
suites=
for s in $known; do
	case " $wanted" in *" $s/"* | *" $s "* | *" $s") suites="$suites $s" ;; esac
done
if [ -n "$list" ]; then
	for s in $suites; do chosen "$s" | sed "s,^,$s/,"; done
	exit
fi

autogroups_off
tp_build
case " $suites " in *" system "*) tp_build_also benches ;; esac
# Packages of later releases come, or do not, while something else is done.
case " $suites " in
*" compat "*)
	scripts/compat.sh --fetch >/dev/null 2>&1 &
	fetch_pid=$!
	;;
esac
mkdir -p "$logs"
: >"$logs/took"
: >"$logs/verdicts"
for ((i = 0; i < repeat; i++)); do plan; done >"$logs/plan"
plan_count=$(wc -l <"$logs/plan") done_count=0
export TP_BUILD TP_CACHE TP_PLUGIN TP_ROOT=$PWD
export PATH="$TP_BUILD/apps:$TP_BUILD/apps/triplane:$PATH"
export LD_LIBRARY_PATH="$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
for ((i = 0; i < repeat; i++)); do
	for s in $suites; do
		printf -- '--- %s\n' "$s"
		case $s in
		system) ahead_begin build lab tidy ;;
		unit)
			ahead_end
			build_when_due
			ahead_begin tidy
			;;
		*) ahead_end ;;
		esac
		begun=$SECONDS
		"suite_$s"
		printf 'suite %s: %s s\n' "$s" $((SECONDS - begun))
	done
done
[ "$plan_count" -lt 12 ] || {
	printf 'the slowest ten:\n'
	sort -rn "$logs/took" | head -n 10 | awk '{ printf "  %5s s  %s\n", $1, $2 }'
}
[ "$repeat" = 1 ] || {
	printf 'runs that failed:\n'
	awk '{ runs[$1]++; bad[$1] += $2 > 0 } END { for (n in runs) printf "  %s of %s  %s\n", bad[n], runs[n], n }' "$logs/verdicts" | sort -k 4
}
printf '%s passed, %s failed' "$passed" "$failed"
[ "$skipped" = 0 ] || printf ', %s skipped' "$skipped"
printf '\n'
[ "$failed" = 0 ]
