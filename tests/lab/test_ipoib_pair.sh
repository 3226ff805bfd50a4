#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Cables are taken out between the stock kernel's ib_ipoib in a guest and our IPoIB ports, while echoes and TCP flow: first those of
# our failover pair, of which the kernel is the peer, then those of the kernel's bond of two interfaces, of which we are. What
# is lost is counted. OpenSM runs over the port of ours whose cable stays.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
ipoib_test=ipoib-pair
# shellcheck source=tests/lab/ipoib.sh
. "$(dirname "$0")/ipoib.sh"
command -v ibportstate >/dev/null || { printf 'skip ipoib-pair: ibportstate is not installed\n'; exit 0; }
our_guid=0002c90300bb0002

# --- the switch's ports: 1 and 2 are the guest's, 7 and 8 ours

find_switch() {
	switch=$("${umad[@]}" ibnetdiscover -C net_mlx4_user0 -P 2 2>/dev/null | sed -n 's/.* base port 0 lid \([0-9]*\) .*/\1/p')
	[ -n "$switch" ]
}

port_set() { "${umad[@]}" ibportstate -C net_mlx4_user0 -P 2 "$switch" "$1" "$2" >"$lab_tmp/portstate" 2>&1; }

cable() { # PORT {enable|disable}
	if ! { until_ok 180 find_switch && until_ok 120 port_set "$1" "$2"; }; then ipoib_fail "cable-$1" "$(tail -n 1 "$lab_tmp/portstate")"; fi
}

# --- who carries

both_up() { ask 'show ipoib pair' | grep '"primary_state": *"up"' | grep -q '"backup_state": *"up"'; }

we_carry_by() { ask 'show ipoib pair' | grep "\"active\": *\"$1\"" | grep -Eq '"up": *(1|true)'; }

# they_carry_by TEST-INTERFACE
they_carry_by() {
	guest_exec guest 180 <<GUEST
echo '== $1'
n=0; until [ "\$(cat /sys/class/net/bond0/bonding/active_slave)" = ${1##*-} ]; do n=\$((n + 1)); [ \$n -lt 500 ] || break; sleep 0.1; done
cat /sys/class/net/bond0/bonding/active_slave
GUEST
	want "ipoib-pair-$1" guest "$1" "^${1##*-}\$"
}

known_as() { in_ns ip neigh show "$1" | grep -q "$2"; }

# --- streams: echoes ten times a second both ways, and what was lost of them

stream_begin() {
	ip netns exec "$ns" ping -n -i 0.1 10.8.0.2 >"$lab_tmp/stream" 2>&1 &
	stream=$!
	pids+=("$stream")
	guest_exec guest 120 <<<'ping -n -i 0.1 10.8.0.1 >/tmp/stream 2>&1 & echo $! >/tmp/stream.pid'
}

# Most came back, and the figures are shown.
judge_stream() { # TEST TEXT
	local s r
	read -r s r <<<"$(sed -n 's/^\([0-9]*\) packets transmitted, \([0-9]*\) received.*/\1 \2/p' <<<"$2")"
	if [ "${s:-0}" -ge 20 ] && [ "$r" -ge $((s / 2)) ]; then ipoib_pass "$1"; else ipoib_fail "$1" "$(tail -n 3 <<<"$2" | tr '\n' ';')"; fi
	printf '# ipoib-pair: %s: of %s echoes %s came back\n' "$1" "${s:-0}" "${r:-0}"
}

stream_end() { # TEST
	kill -INT "$stream"
	wait "$stream"
	guest_exec guest 120 <<GUEST
echo '== $1'
p=\$(cat /tmp/stream.pid); kill -INT \$p; n=0
until grep -q 'packets transmitted' /tmp/stream || [ \$n -ge 600 ]; do n=\$((n + 1)); sleep 0.1; done
grep -q 'packets transmitted' /tmp/stream || { grep -E 'State|Sig' /proc/\$p/status; cat /proc/\$p/wchan; echo; }
tail -n 3 /tmp/stream
GUEST
	judge_stream "$1" "$(cat "$lab_tmp/stream")"
	judge_stream "$1-back" "$(section guest "$1")"
}

# TCP for some seconds, which must outlive what happens once it flows.
tcp_begin() {
	local before
	before=$(in_ns cat /sys/class/net/far0/statistics/tx_packets)
	(until_ok 180 one_iperf -c 10.8.0.2 -t 8 -b 4M) &
	tcp=$!
	until_ok 180 flows "$before" || ipoib_fail tcp-flows "$(tail -n 1 "$lab_tmp/iperf")"
}

flows() { [ "$(in_ns cat /sys/class/net/far0/statistics/tx_packets)" -gt $(($1 + 500)) ]; }

tcp_end() { # TEST
	if wait "$tcp"; then ipoib_pass "$1"; else ipoib_fail "$1" "$(tail -n 3 "$lab_tmp/iperf" | tr '\n' ';')"; fi
}

# --- cards, our program, the guest, the subnet

ipoib_cards 2
ipoib_wire 0 2044
ipoib_program "--mbuf-size 2304" --vdev=net_ib_pair0,primary=net_mlx4_user0/1,backup=net_mlx4_user0/2,failback=1 --vdev="$(wire_vdev 0 2044)"
if until_ok 240 both_up; then ipoib_pass up; else ipoib_fail up "$(ask 'show ipoib pair')"; fi
ipoib_host_up 1
guest_booted
printf '%sib0_up\n' "$guest_ib0" | guest_exec guest 360
say start
pings ping 10.8.0.2
pings_back ping-back 10.8.0.1
guest_iperf
if until_ok 120 we_carry_by primary; then ipoib_pass primary; else ipoib_fail primary "$(ask 'show ipoib pair')"; fi

# --- ours: the primary port's cable, out and in again

stream_begin
tcp_begin
cable 7 disable
if until_ok 180 we_carry_by backup; then ipoib_pass moved; else ipoib_fail moved "$(ask 'show ipoib pair')"; fi
pings moved-ping 10.8.0.2
pings moved-ping6 fd00:8:0::2
pings_back moved-ping-back 10.8.0.1
tcp_end moved-tcp
cable 7 enable
if until_ok 120 we_carry_by primary; then ipoib_pass failed-back; else ipoib_fail failed-back "$(ask 'show ipoib pair')"; fi
pings failed-back-ping 10.8.0.2
pings_back failed-back-ping6-back fd00:8:0::1
stream_end echoes

# --- the guest's: an active-backup bond, which has the hardware address of the interface that carries

{
	printf %s "$guest_ib0"
	cat <<'GUEST'
for i in 0 1; do ip addr flush dev ib$i; ip link set ib$i down; done
modprobe bonding max_bonds=0
ip link add bond0 type bond mode active-backup miimon 100
ip link set ib0 master bond0; ip link set ib1 master bond0
echo ib0 >/sys/class/net/bond0/bonding/primary
ip addr add 10.8.0.2/24 dev bond0; ip addr add fd00:8:0::2/64 dev bond0 nodad; ip link set bond0 up
up_is ib0; up_is ib1; up_is bond0
GUEST
} | guest_exec guest 360
they_carry_by bond-ib0
pings bond-ping 10.8.0.2
if until_ok 120 known_as 10.8.0.2 00:02:ca:aa:00:01; then ipoib_pass bond-known; else ipoib_fail bond-known "$(in_ns ip neigh)"; fi
stream_begin
tcp_begin
cable 1 disable
they_carry_by bond-moved-ib1
# By what the bond says of itself: nobody here has asked.
if until_ok 120 known_as 10.8.0.2 00:02:ca:aa:00:02; then ipoib_pass bond-moved-known; else ipoib_fail bond-moved-known "$(in_ns ip neigh)"; fi
pings bond-moved-ping 10.8.0.2
pings_back bond-moved-ping-back 10.8.0.1
tcp_end bond-moved-tcp
cable 1 enable
they_carry_by bond-back-ib0
if until_ok 120 known_as 10.8.0.2 00:02:ca:aa:00:01; then ipoib_pass bond-back-known; else ipoib_fail bond-back-known "$(in_ns ip neigh)"; fi
pings bond-back-ping6 fd00:8:0::2
stream_end bond-echoes

guest_over
ipoib_over
exit $lab_bad
