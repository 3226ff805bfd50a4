#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The stock kernel's ib_ipoib in a guest against our IPoIB port in connected mode (RFC 4755): packets of the whole MTU of 65520
# that triplane answers itself; packets of 65028 octets and TCP both ways between Linux stacks, either side without connections,
# modes that change and interfaces that go while traffic flows.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
ipoib_test=ipoib-cm
# shellcheck source=tests/lab/ipoib.sh
. "$(dirname "$0")/ipoib.sh"

# --- connections

# conns: those that our port has, "OUT IN"; in datagram mode it has none.
conns() {
	ask 'show ipoib' | sed -e 's/.*"mode":"datagram".*/0 0/' -e 's/.*"connections_out":\([0-9]*\).*"connections_in":\([0-9]*\).*/\1 \2/'
}

conns_are() { [ "$(conns)" = "$1" ]; }

has_conns() { # TEST "OUT IN" [SECONDS]
	if until_ok "${3:-30}" conns_are "$2"; then ipoib_pass "$1"; else ipoib_fail "$1" "connections are $(conns), want $2"; fi
}

# What went by connections so far, for went().
mark() { sent=$(counter 0 tx_conn_packets) received=$(counter 0 rx_conn_packets); }

# went TEST SENT RECEIVED: since mark() at least so many packets went by connections and came; 0: none did.
went() {
	local s=$(($(counter 0 tx_conn_packets) - sent)) r=$(($(counter 0 rx_conn_packets) - received))
	if { if [ "$2" = 0 ]; then [ $s = 0 ]; else [ $s -ge "$2" ]; fi; } && { if [ "$3" = 0 ]; then [ $r = 0 ]; else [ $r -ge "$3" ]; fi; }; then
		ipoib_pass "$1"
	else
		ipoib_fail "$1" "$s packets went by connections, $r came; want $2 and $3 (0: none)"
	fi
}

# no_drops TEST: our port dropped nothing that has no good reason.
no_drops() {
	local lost
	lost=$(ask "show ipoib counters 0" | grep -oE '"drop_[a-z_]*": *[1-9][0-9]*' | grep -Ev 'tx_(down|no_member|no_path|no_neighbour)|rx_own' | tr '\n' ' ')
	if [ -z "$lost" ]; then ipoib_pass "$1"; else ipoib_fail "$1" "$lost"; fi
}

# --- modes

our_mode_is() { ask 'show ipoib' | grep -q "\"mode\": *\"$1\""; }

# ours MODE MTU: of our port, and of the host's interface behind it.
ours() {
	say "ipoib set 0 mode $1"
	until_ok 120 our_mode_is "$1" || ipoib_fail "ours-$1" "$(ask 'show ipoib')"
	in_ns ip link set far0 mtu "$2"
	in_ns ip route flush cache
}

# theirs MODE MTU: of the guest's interface.
theirs() {
	guest_exec guest 180 <<GUEST
echo '== theirs-$1'
echo $1 >/sys/class/net/ib0/mode
ip link set ib0 mtu $2
ip route flush cache
cat /sys/class/net/ib0/mode; ip link show ib0
GUEST
}

# --- what flows all the time

tcp_acked() { in_ns ss -tinH state established dst 10.8.0.2 | grep -o 'bytes_acked:[0-9]*' | awk -F: '{ n += $2 } END { print n + 0 }'; }

tcp_start() {
	ip netns exec "$ns" iperf3 -c 10.8.0.2 -M 1400 -b 2M -t 3600 -i 5 >"$lab_tmp/iperf" 2>&1 &
	stream_tcp=$!
	pids+=("$stream_tcp")
}

# A server that is busy with the one before refuses.
tcp_flows() {
	kill -0 "$stream_tcp" 2>/dev/null || tcp_start
	[ "$(tcp_acked)" -gt 100000 ]
}

tcp_went_on() { [ "$(tcp_acked)" -gt "$1" ]; } # OCTETS

stream_start() {
	ip netns exec "$ns" ping -n -i 0.1 10.8.0.2 >"$lab_tmp/stream" 2>&1 &
	stream=$!
	pids+=("$stream")
}

stream_end() { # WHILE: says how many came back
	kill -INT "$stream"
	wait "$stream"
	sed -n "s/^\([0-9]*\) packets transmitted, \([0-9]*\) received.*/# $ipoib_test: of \1 echoes \2 came back while $1/p" "$lab_tmp/stream"
}

# --- cards, our program, the guest, the subnet

ipoib_cards 1
guest_booted

# --- the whole MTU: no host stack carries it behind a wire of Ethernet, so triplane answers, in buffers of the usual size

ipoib_ports=1
ipoib_program "--total-num-mbufs 8192" --vdev=net_ipoib0,port=net_mlx4_user0/1,connected=1
ipoib_are_up whole-up
say "set fwd icmpecho"
say start
{
	printf %s "$guest_ib0"
	cat <<'GUEST'
ib0_up
GUEST
} | guest_exec guest 360
theirs connected 65520
want ipoib-cm-guest-connected guest theirs-connected '^connected$'
want ipoib-cm-guest-mtu guest theirs-connected 'ib0: .*mtu 65520 .*state UP'
pings_back whole-ping 10.8.0.1
# Nobody has reported the group that IPv6 asks in, so the guest is told.
guest_exec guest 120 <<'GUEST'
ip -6 neigh replace fd00:8:0::1 lladdr "$(ip neigh show 10.8.0.1 dev ib0 | sed 's/.*lladdr \([0-9a-f:]*\).*/\1/')" dev ib0
GUEST
pings_back whole-ping6 fd00:8:0::1
has_conns whole-conns "1 1"

# whole TEST ADDRESS OCTETS: ten echoes with so many octets of data, none cut, come back as long as they went; each went by a
# connection, there and back, and the guest's interface counted as many octets of IP. One octet more the guest does not send.
whole() {
	local t=$1 s r octets dir
	mark
	guest_exec guest 360 <<GUEST
echo '== $t'
octets() { cat /sys/class/net/ib0/statistics/\$1_bytes; }
tx=\$(octets tx) rx=\$(octets rx)
pings 10 -n -M do -s $3 $2
echo "octets tx \$((\$(octets tx) - tx)) rx \$((\$(octets rx) - rx))"
echo '== $t-longer'
ping -n -c 2 -i 0.2 -W 1 -M do -s $(($3 + 1)) $2 2>&1
GUEST
	want "ipoib-cm-$t" guest "$t" '10 packets transmitted, 10 received, 0% packet loss'
	if [ "$(section guest "$t" | grep -c "^$(($3 + 8)) bytes from ")" = 10 ]; then
		ipoib_pass "$t-length"
	else
		ipoib_fail "$t-length" "$(section guest "$t" | tail -n 4 | tr '\n' ';')"
	fi
	s=$(($(counter 0 tx_conn_packets) - sent)) r=$(($(counter 0 rx_conn_packets) - received))
	if [ $s = 10 ] && [ $r = 10 ]; then ipoib_pass "$t-conn"; else ipoib_fail "$t-conn" "$s packets went by connections, $r came, want 10"; fi
	for dir in tx rx; do
		octets=$(section guest "$t" | sed -n "s/^octets.* $dir \([0-9]*\).*/\1/p")
		if [ "${octets:-0}" -ge 655200 ]; then ipoib_pass "$t-$dir"; else ipoib_fail "$t-$dir" "$octets octets, want 10 times 65520"; fi
	done
	want "ipoib-cm-$t-longer" guest "$t-longer" '[Mm]essage too long'
	want "ipoib-cm-$t-longer-none" guest "$t-longer" ' 0 received'
}

whole whole 10.8.0.1 65492
whole whole6 fd00:8:0::1 65472
no_drops whole-no-drops
guest_exec guest 180 <<<'ip link set ib0 down; ip neigh flush all'
ipoib_program_over whole-end
kill -INT "$sm"
wait "$sm"

# --- Linux stacks at both ends

# What comes from the host has one buffer, so these are as long as they can be.
ipoib_host 65280 "--mbuf-size 65535 --total-num-mbufs 3072" ,connected=1
guest_exec guest 180 <<<"$guest_ib0 ip addr flush dev ib0; ib0_up"

# --- both have connections

say start
pings ping 10.8.0.2
pings_back ping-back 10.8.0.1
pings ping6 fd00:8:0::2
has_conns both "1 1"
mark
pings long -s 65000 -M "do" 10.8.0.2
pings_back long-back -s 65000 -M "do" 10.8.0.1
pings long6 -s 65000 fd00:8:0::2
pings_back long6-back -s 65000 fd00:8:0::1
went both-used 16 16
guest_iperf
mark
tcp tcp -c 10.8.0.2 -n 16M
tcp tcp-back -c 10.8.0.2 -n 16M -R
tcp tcp6 -c fd00:8:0::2 -n 16M
# Of less than 64 KB each: 16 MB are more than 256.
went tcp-used 512 256
no_drops no-drops

# --- one side has none, and both again, while packets flow that every mode takes

# TCP at a rate that fills no queue and leaves a slow guest time for its programs: one that looks for the limit makes others
# lose packets at it, long ones first, and a guest whose CPU only receives answers nobody.
stream_start
tcp_start
until_ok 180 tcp_flows || ipoib_fail switched-tcp-begun "$(tail -n 3 "$lab_tmp/iperf" | tr '\n' ';')"

# Linux takes connections in either mode, and says so in its address; in this one it asks for none.
theirs datagram 2044
has_conns guest-datagram "1 0" 60
pings guest-datagram-ping 10.8.0.2
mark
pings guest-datagram-long -s 65000 10.8.0.2
pings_back guest-datagram-long-back -s 65000 10.8.0.1
went guest-datagram-used 4 0

theirs connected 65520
has_conns guest-connected "1 1" 60
pings guest-connected-long -s 65000 -M "do" 10.8.0.2

ours datagram 2044
has_conns ours-datagram "0 0"
pings ours-datagram-ping 10.8.0.2
mark
# Of IPv6, as net_af_packet puts IPv4 together again that the host's stack sends in parts.
pings ours-datagram-long -s 8000 fd00:8:0::2
pings_back ours-datagram-long-back -s 8000 fd00:8:0::1
went ours-datagram-used 0 0

ours connected 65280
has_conns ours-connected "1 1" 90
pings ours-connected-long -s 65000 -M "do" 10.8.0.2
pings_back ours-connected-long-back -s 65000 10.8.0.1

stream_end "modes changed"
# The connection from before the first change still carries what the guest acknowledges.
acked_before=$(tcp_acked)
if until_ok 180 tcp_went_on $((acked_before + 500000)); then
	ipoib_pass switched-tcp
else
	ipoib_fail switched-tcp "$(tcp_acked) octets acknowledged, $acked_before when the modes had changed; $(tail -n 3 "$lab_tmp/iperf" | tr '\n' ';')"
fi
kill "$stream_tcp"

# --- the guest's interface goes and comes again

stream_start
guest_exec guest 180 <<<'ip link set ib0 down'
has_conns down "0 0" 60
guest_exec guest 180 <<<"$guest_ib0 ip addr flush dev ib0; ib0_up"
pings up 10.8.0.2
has_conns up-conns "1 1" 60
pings up-long -s 65000 -M "do" 10.8.0.2
guest_exec guest 270 <<<"$guest_ib0 rmmod ib_ipoib; modprobe ib_ipoib; ib0_up"
theirs connected 65520
pings reloaded 10.8.0.2
has_conns reloaded-conns "1 1" 90
pings reloaded-long -s 65000 -M "do" 10.8.0.2
pings_back reloaded-long-back -s 65000 -M "do" 10.8.0.1
stream_end "the interface was down and loaded again"

# --- it dies without a word: what is sent goes on until nobody acknowledges

# Either side may have given up its connection while the stream went, as after an error, and makes a new one with its next packet.
pings alive 10.8.0.2
has_conns alive-conns "1 1" 90
guest_over
in_ns ping -n -i 0.2 -c 20 -W 1 10.8.0.2 >/dev/null 2>&1
has_conns dead "0 1" 60
ipoib_over
exit $lab_bad
