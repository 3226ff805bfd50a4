#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: two guests.
# Two guests send as fast as they can, by perftest on Linux's mlx4_ib, to a third card that guest b has. They meet at a port of a
# switch of 100 Mb/s, which marks packets that know ECN and pauses who sends. Linux cannot switch congestion control of RoCE on: the
# cards have it stored, of their second ports alone. All else is the same for both ports, each at a switch of its own. Counters
# of the switches and of the cards judge.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

# Rates fall at once and rise slowly: what a receiver says comes when the scheduler lets it.
stored=prio:0/rate-on-first-cnp:40/clamp-target-rate:1/time-reset:20000/byte-reset:0/ai-rate:1/hai-rate:5/min-rate:10/dce-tcp-g:512
stored+=/dce-tcp-rtt:1000/cnp-interval:200
marks=lossless:0/xoff:131072/xon:65536/ecn:20000+60000+1000000/ecn-prio:0
wires() { # WORDS: of the card's two ports
	wire=(--wire0 "switch:off/flow:pause$1" --wire1 "switch:on/flow:pause$1" --rate0 1000 --rate1 1000 --cc1 "$stored")
}
wires "/$marks" && words=("${wire[@]}" --guid 0002c90300aa0000 --socket "$lab_tmp/b.sock")
wires '' && words+=("${wire[@]}" --guid 0002c90300bb0000 --socket "$lab_tmp/c.sock")
wires /rate:100 && words+=("${wire[@]}" --guid 0002c90300cc0000)
card a "${words[@]}" || exit
# Ports are those of their cards; messages are long, so that the guests have little to do.
bw="ib_send_bw -F -e -x 1 -s 1048576 -n 100000 -t 8 -r 16"

up() { # GUEST ADDRESS CARD...
	local guest=$1 address=$2 c cards=()
	shift 2
	for c in "$@"; do cards+=(-d "$lab_tmp/$c.sock"); done
	guest_start "$guest" "${cards[@]}" || fail "cc-boot-$guest" "$(tail -n 1 "$lab_tmp/$guest.err")"
	{
		cat <<-GUEST
			$guest_waits
			modprobe mlx4_core; modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs
			all_there() { [ "\$(ls -d /sys/class/net/*/device | wc -l)" = $((2 * $#)) ]; }
			wait_for all_there
			nets=\$(cd /sys/class/net; for n in */device; do echo \${n%/device}; done)
			for n in \$nets; do ip link set \$n up; done
			ip addr add $address/24 dev eth0
			net_up \$nets; ipv6_ready \$nets
			for p in 1 2; do wait_for grep ACTIVE /sys/class/infiniband/mlx4_$(($# - 1))/ports/\$p/state; done
		GUEST
		cat
	} | guest_exec "$guest" 120
}

# What the cards and switches count now.
facts() {
	local at i
	at=$(stat -c %s "$lab_tmp/a.card")
	kill -USR1 "${card_pid[a]}"
	for ((i = 0; i < 600; i++)); do
		tail -c "+$((at + 1))" "$lab_tmp/a.card" >"$lab_tmp/facts"
		grep -q '^report: end' "$lab_tmp/facts" && return 0
		sleep 0.05
	done
	return 1
}
# The sum of what stands behind NAME in lines that begin so, of a card or of all.
fact() { # CARD|- LINE NAME
	awk -v card="$1" -v line="report: $2 " -v name="^$3\$" '
		$2 == "socket" { on = index($3, "/" card ".sock") }
		(on || card == "-") && index($0, line) == 1 { for (i = 3; i < NF; i++) if ($i ~ name) sum += $(i + 1) }
		END { print sum + 0 }' "$lab_tmp/facts"
}
# Until a card has sent or got so many frames at a port.
until_frames() { # CARD PORT tx_frames|rx_frames NUMBER
	local i
	for ((i = 0; i < 600; i++)); do
		facts && [ "$(fact "$1" "port $2 wire" "$3")" -ge "$4" ] && return 0
		sleep 0.1
	done
	return 1
}

# A guest's program calls its server.
calls() { # GUEST SWITCH PORT ADDRESS TCP-PORT
	guest_exec "$1" 120 <<-GUEST
		$guest_waits
		$bw -i $3 -d mlx4_0 -p $5 $4 >/tmp/$2 2>&1 & pid=\$!
		echo \$pid >/tmp/$2.pid
		called() { grep -Eqs ' [0-9A-F]+:$(printf %X "$5") 01 ' /proc/net/tcp /proc/net/tcp6 || gone \$pid; }
		wait_for called
	GUEST
}

# Both guests send by that port until the third card has got 12000 frames since both do.
declare -A n=()
run() { # SWITCH PORT
	local sw=$1 port=$2 c pids=()
	calls a "$sw" "$port" 192.0.2.2 1850"$port" &
	pids+=($!)
	calls b "$sw" "$port" 127.0.0.1 1860"$port" &
	wait "${pids[@]}" $!
	for c in a b; do until_frames $c "$port" tx_frames 1000; done
	for c in a b; do n[$sw-$c]=$(fact $c "port $port wire" tx_frames); done
	until_frames c "$port" rx_frames $(($(fact c "port $port wire" rx_frames) + 12000))
	for c in a b; do
		n[$sw-$c]=$(($(fact $c "port $port wire" tx_frames) - n[$sw-$c]))
		n[$sw-heard-$c]=$(fact $c "cc port $port" cnps_handled)
		guest_exec $c 120 <<-GUEST
			$guest_waits
			echo "== $sw"
			kill \$(cat /tmp/$sw.pid) && echo "sent until now"
			wait_for gone \$(cat /tmp/$sw.pid)
			cat /tmp/$sw
		GUEST
		want "cc-$sw-$c-sends" $c "$sw" '^sent until now$'
	done
	n[$sw-told]=$(fact c "cc port $port" cnps_sent)
	n[$sw-answered]=$(fact c "cc port $port" marked)
	n[$sw-got]=$(fact c "port $port wire" rx_frames)
	n[$sw-pauses]=$(fact - "switch $sw port" tx_control)
	n[$sw-marks]=$(fact - "switch $sw port" ecn_marks)
	n[$sw-jain]=$(awk -v a="${n[$sw-a]}" -v b="${n[$sw-b]}" 'BEGIN { print (a + b) ? int(1000 * (a + b) ^ 2 / (2 * (a ^ 2 + b ^ 2))) : 0 }')
	n[$sw-lost]=$(fact - "switch $sw port" 'drop_(queue_limit|buffer_full|headroom|no_memory|bad_fcs)')
	echo "# cc: $sw: ${n[$sw-pauses]} pauses in ${n[$sw-got]} frames, ${n[$sw-marks]} marks, ${n[$sw-told]} CNPs; then ${n[$sw-a]} and" \
		"${n[$sw-b]} frames, Jain ${n[$sw-jain]}/1000"
	if [ "${n[$sw-lost]}" = 0 ]; then pass "cc-$sw-no-loss"; else fail "cc-$sw-no-loss" "${n[$sw-lost]} frames"; fi
}

up a 192.0.2.1 a </dev/null &
boot=$!
guests+=("a-$$")
up b 192.0.2.2 b c <<GUEST
for p in 1 2; do for s in 1850 1860; do $bw -i \$p -d mlx4_1 -p \$s\$p >/tmp/\$s\$p 2>&1 & done; done
for s in 18501 18502 18601 18602; do listens \$\$ \$(printf %X \$s); done
GUEST
wait $boot
run off 1
run on 2
check() { # TEST EXPRESSION TEXT
	if (($2)); then pass "cc-$1"; else fail "cc-$1" "$3"; fi
}
off=("${n[off-pauses]}" "${n[off-got]}") on=("${n[on-pauses]}" "${n[on-got]}")
# Without it one frame in fifty is answered by a pause at least; with it a tenth of that at most.
check off-pauses "off[1] > 0 && off[0] * 50 >= off[1]" "${off[0]} pauses in ${off[1]} frames"
check on-pauses "on[1] > 0 && on[0] * off[1] * 10 <= off[0] * on[1]" "${on[0]} pauses in ${on[1]} frames, without ${off[0]} in ${off[1]}"
check on-fair "${n[on-jain]} >= 900" "${n[on-a]} and ${n[on-b]} frames"
# Packets of a port that has nothing stored do not know ECN: nothing is marked, nobody is told.
check off-unmarked "${n[off-marks]} + ${n[off-told]} + ${n[off-heard-a]} + ${n[off-heard-b]} == 0" "${n[off-marks]} marks, ${n[off-told]} CNPs"
check on-marks "${n[on-marks]} >= 100 && ${n[on-answered]} >= 100 && ${n[on-answered]} <= ${n[on-marks]}" "${n[on-answered]} of ${n[on-marks]} marks"
check on-cnps "${n[on-told]} >= 10 && ${n[on-told]} <= ${n[on-answered]} && ${n[on-heard-a]} > 0 && ${n[on-heard-b]} > 0 &&
	${n[on-heard-a]} + ${n[on-heard-b]} <= ${n[on-told]}" "${n[on-told]} CNPs, ${n[on-heard-a]} and ${n[on-heard-b]} heard"
for g in a b; do
	printf 'echo "== dmesg"\ndmesg\n' | guest_exec $g 60
	no_errors cc-log-$g $g dmesg
	"$lab_scripts/guest.sh" stop "$g-$$"
done
card_verdict a cc
exit $lab_bad
