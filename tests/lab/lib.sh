# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the lab's tests: cards, guests, and what is asked of their output. A test prints "ok NAME", "not ok NAME:
# reason" or "skip NAME: reason" lines. Sourced; TP_BUILD and LAB_DIR come from scripts/lab.sh.
set -uo pipefail
lab_scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# A test of another suite is run all the same; why there is no lab.
if [ -n "${LAB_MISSING:-}" ]; then
	lab_test=${0##*/test_}
	printf 'skip %s: %s\n' "${lab_test%.sh}" "$LAB_MISSING"
	exit 0
fi
: "${LAB_DIR:?start lab tests with ./tp lab}" "${TP_BUILD:?start lab tests with ./tp lab}"
export LAB_DIR

lab_tmp=$(mktemp -d "${TMPDIR:-/tmp}/lab.XXXXXX") || exit 1
lab_bad=0
declare -A card_pid=()
guests=()

lab_end() {
	local g c
	for g in ${guests[@]+"${guests[@]}"}; do "$lab_scripts/guest.sh" stop "$g"; done
	for c in "${!card_pid[@]}"; do kill "${card_pid[$c]}" 2>/dev/null; done
	if [ "$lab_bad" = 0 ]; then rm -rf "$lab_tmp"; else printf '# logs: %s\n' "$lab_tmp"; fi
}
trap lab_end EXIT
# For --lcores "0@$lab_cpus": another test may run beside this one, so a busy lcore takes whichever CPU idles.
# shellcheck disable=SC2034
lab_cpus=$(/usr/bin/python3 -c 'import os; print("(%s)" % ",".join(map(str, sorted(os.sched_getaffinity(0)))))')
trap 'exit 130' INT TERM

pass() { printf 'ok %s\n' "$1"; }
fail() { # NAME REASON
	printf 'not ok %s: %s\n' "$1" "$2"
	lab_bad=1
}

# card NAME [OPTION...]: starts a card; its socket is $lab_tmp/NAME.sock, what it says goes to NAME.card.
card() {
	local name=$1 i
	shift
	"$TP_BUILD/apps/triplane-hca/triplane-hca" --socket "$lab_tmp/$name.sock" "$@" >"$lab_tmp/$name.card" 2>&1 &
	card_pid[$name]=$!
	for ((i = 0; i < 600; i++)); do
		grep -qs ready "$lab_tmp/$name.card" && return 0
		kill -0 "${card_pid[$name]}" 2>/dev/null || break
		sleep 0.1
	done
	fail "card-$name" "not ready: $(tail -n 1 "$lab_tmp/$name.card")"
	return 1
}

# Ends a card, or the cards of one process, and judges what they saw: no rule broken, no bad message, no advice that was not
# followed but what is named; of a name with a ? behind it chance decides.
card_verdict() { # CARD TEST [ADVICE...]
	local log=$lab_tmp/$1.card test=$2 n advised wanted=()
	kill "${card_pid[$1]}"
	wait "${card_pid[$1]}"
	unset "card_pid[$1]"
	shift 2
	n=$(sed -n 's/^report: violations //p' "$log" | sort -n | tail -n 1)
	if [ "$n" = 0 ] && grep -q '^report: malformed 0$' "$log" && ! grep -q '^report: malformed [1-9]' "$log"; then
		pass "$test-no-violation"
	else
		fail "$test-no-violation" "${n:-no report}: $(grep -E '^report: (violation |last|malformed)' "$log" | tr '\n' ';')"
	fi
	advised=$(sed -n 's/^report: advised \([^ ]*\) .*/\1/p' "$log" | sort -u)
	for n in "$@"; do
		case $n in
		*\?) advised=$(grep -vFx -- "${n%?}" <<<"$advised") ;;
		*) wanted+=("$n") ;;
		esac
	done
	if [ "$advised" = "$([ ${#wanted[@]} = 0 ] || printf '%s\n' "${wanted[@]}" | sort -u)" ]; then
		pass "$test-advice"
	else
		fail "$test-advice" "$(tr '\n' ' ' <<<"${advised:-none}")not followed, wanted ${*:-none}: $(grep '^report: last advice' "$log" | tr '\n' ';')"
	fi
}

# guest NAME SECONDS [boot.sh option...]: boots a guest, runs standard input in it, keeps the output in NAME.out.
guest() {
	local name=$1 secs=$2
	shift 2
	LAB_NAME=$name-$$ "$lab_scripts/boot.sh" -t "$secs" "$@" >"$lab_tmp/$name.out" 2>"$lab_tmp/$name.err"
}

guest_start() { # NAME [guest.sh start option...]
	local name=$1
	shift
	"$lab_scripts/guest.sh" start "$name-$$" "$@" 2>>"$lab_tmp/$name.err" || return
	guests+=("$name-$$")
}

guest_exec() { # NAME SECONDS: the script is on standard input, its output is added to NAME.out
	"$lab_scripts/guest.sh" exec "$1-$$" -t "$2" >>"$lab_tmp/$1.out" 2>>"$lab_tmp/$1.err"
}

# guest_says NAME LINE SECONDS: waits for a line of the script that runs in the guest now.
guest_says() {
	local i
	for ((i = 0; i < $3 * 10; i++)); do
		grep -Fqxs -- "$2" "$LAB_DIR/run/$1-$$/out.log" && return 0
		sleep 0.1
	done
	return 1
}

# Waits for a guest's script, to go in front of it. Each ends after two minutes or a little more: what comes next shows that it did
# not come true.
#   wait_for COMMAND...   until it succeeds
#   net_up IF...          until the interfaces are there and have a carrier
#   ipv6_ready IF...      until their link-local addresses are unique (RFC 4862, 5.4)
#   ib_up PORT...         until these ports of mlx4_0 are active
#   listens PID [PORT]    until a server takes calls on a TCP port (hexadecimal; that of verbs programs), or PID has ended
#   cm_listens PID        the same for rdma_cm
# shellcheck disable=SC2034
guest_waits='wait_for() { local n=0; until "$@" >/dev/null 2>&1; do n=$((n + 1)); [ $n -lt 1200 ] || return 1; sleep 0.1; done; }
has_carrier() { [ "$(cat /sys/class/net/$1/carrier)" = 1 ]; }
net_up() { local i; for i in "$@"; do wait_for has_carrier $i; done; }
is_unique() { ip -6 addr show dev $1 scope link | grep inet6 && ! ip -6 addr show dev $1 scope link | grep tentative; }
ipv6_ready() { local i; for i in "$@"; do wait_for is_unique $i; done; }
ib_up() { local i; for i in "$@"; do wait_for grep ACTIVE /sys/class/infiniband/mlx4_0/ports/$i/state; done; }
gone() { ! kill -0 $1; }
serves() { grep -qs ":$2 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 || gone $1; }
listens() { wait_for serves $1 ${2:-4853}; }
cm_serves() { rdma resource show cm_id | grep LISTEN || gone $1; }
cm_listens() { wait_for cm_serves $1; }
'

# Until somebody listens on a TCP port of this machine, or PID has ended.
tcp_listens() { # PORT PID
	local hex i
	hex=$(printf %04X "$1")
	for ((i = 0; i < 300; i++)); do
		grep -Eqs ":$hex 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && return 0
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# Lines between "== MARK" and the next mark of a guest's output.
section() { # GUEST MARK
	awk -v m="== $2" '$0 == m { on = 1; next } /^== / { on = 0 } on' "$lab_tmp/$1.out"
}

# want TEST GUEST MARK PATTERN: the section has a line like that.
want() {
	local text
	text=$(section "$2" "$3")
	if grep -Eq -- "$4" <<<"$text"; then
		pass "$1"
	else
		fail "$1" "no line like '$4' in: $(tail -n 4 <<<"$text" | tr '\n' ';')"
	fi
}

# The kernel log has no complaint of the driver beyond what the test allows.
no_errors() { # TEST GUEST MARK [ALLOWED PATTERN]
	local text
	text=$(section "$2" "$3" | grep -E 'mlx4|BUG|WARNING|Call Trace|DMAR' | grep -Ei 'error|fail|warn|timed? ?out|unable|BUG|Call Trace|Mad Status|fault|didn|cannot|could not' |
		grep -Ev -- "${4:-^never$}")
	if [ -z "$text" ]; then pass "$1"; else fail "$1" "$(head -n 3 <<<"$text" | tr '\n' ';')"; fi
}
