#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The stock kernel's ib_ipoib in a guest against our IPoIB ports in datagram mode: Linux stacks at both ends judge addresses,
# datagrams of the whole MTU, TCP, groups and a partition of its own. OpenSM runs outside over our port, starts again, and
# dies while traffic flows: one in the guest, over the kernel's ib_umad, takes over.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
ipoib_test=ipoib
# shellcheck source=tests/lab/ipoib.sh
. "$(dirname "$0")/ipoib.sh"
guest_guid=0002c90300aa0001

# events PORT: how often the port's subnet, manager or partitions changed.
events() { counter "$1" events; }

more_events() { [ "$(events 0)" -gt "$1" ]; }

master_is() { "${umad[@]}" sminfo 2>/dev/null | grep -q "sm guid 0x${1#000}.*SMINFO_MASTER"; }

# --- cards, our program, the guest, the subnet

ipoib_cards 1
# Port 0 has four queues, so its hardware address is an RSS parent's, and what it sends comes from another queue pair.
ipoib_first=("port stop 0" "port config 0 rxq 4" "port start 0")
ipoib_host 2044 "--mbuf-size 2304" "" ,pkey=0x8007
in_ns ip route add 239.0.0.0/8 dev far0

guest_booted
{
	printf %s "$guest_ib0"
	cat <<'GUEST'
echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts
ib0_up
ip route add 239.0.0.0/8 dev ib0
ip link add link ib0 name ib0.8007 type ipoib pkey 0x8007
ip addr add 10.8.1.2/24 dev ib0.8007; ip addr add fd00:8:1::2/64 dev ib0.8007 nodad; ip link set ib0.8007 up
up_is ib0.8007
echo "== interfaces"
ip -d addr show ib0
ip -d addr show ib0.8007
GUEST
} | guest_exec guest 360
want ipoib-guest-up guest interfaces 'ib0: .*mtu 2044 .*state UP'
want ipoib-guest-child guest interfaces 'ib0\.8007@ib0: .*mtu 2044 .*state UP'

# --- traffic

say start
pings ping 10.8.0.2
pings_back ping-back 10.8.0.1
pings ping6 fd00:8:0::2
pings_back ping6-back fd00:8:0::1
pings long -s 2016 -M "do" 10.8.0.2
pings_back long6-back -s 1996 -M "do" fd00:8:0::1
pings fragments -s 8000 10.8.0.2
pings_back fragments-back -s 8000 10.8.0.1
pings child 10.8.1.2
pings_back child6-back -s 1996 -M "do" fd00:8:1::1

guest_iperf
tcp tcp -c 10.8.0.2 -n 4M
tcp tcp-back -c 10.8.0.2 -n 4M -R
tcp tcp6-child -c fd00:8:1::2 -n 2M
tcp udp -c 10.8.0.2 -u -b 10M -n 500K

# Echoes of both families, three streams and their controls: not all to one queue.
queues=$(ask 'show port xstats 0' | grep -oE '"rx_q[0-3]_packets": *[1-9][0-9]*' | wc -l)
if [ "$queues" -ge 2 ]; then pass ipoib-queues; else fail ipoib-queues "$(ask 'show port xstats 0' | grep -o '"rx_q[0-9]_packets": *[0-9]*' | tr '\n' ' ')"; fi

# A group that the host's stack reports, and one of the guest's; the stack that sends to it learns who answers.
in_ns ip addr add 239.1.2.3/32 dev far0 autojoin
if until_ok 120 in_group 0 ff12401bffff0000000000000f010203; then pass ipoib-joined; else fail ipoib-joined "$(ask 'show ipoib endpoints 0 multicast')"; fi
pings_back group-back 239.1.2.3
want ipoib-group-back-from guest group-back 'from 10\.8\.0\.1'
guest_exec guest 120 <<<'ip addr add 239.3.2.1/32 dev ib0 autojoin; grep -A 9 ib0 /proc/net/igmp'
pings group 239.3.2.1
# Those of IPv6 are ones that routers join (RFC 4291, 2.7.1): an address of the interface, as autojoin wants it, is one that
# Linux answers with once it is no longer tentative, and no stack takes packets from a group.
routes() { echo "echo $1 >/proc/sys/net/ipv6/conf/$2/forwarding"; }
in_ns sh -c "$(routes 1 far0)"
if until_ok 120 in_group 0 ff12601bffff00000000000000000002; then pass ipoib-joined6; else fail ipoib-joined6 "$(ask 'show ipoib endpoints 0 multicast')"; fi
pings_back group6-back -I ib0 ff05::2
want ipoib-group6-back-from guest group6-back 'from (fd00:8::1|fe80::)'
in_ns sh -c "$(routes 0 far0)"
guest_exec guest 120 <<<"$(routes 1 ib0); ip -6 maddr show dev ib0"
pings group6 -I far0 ff05::2

# Nothing was lost on our side that has no good reason: frames that came back, or were sent before a group was joined.
for i in 0 2; do
	lost=$(ask "show ipoib counters $i" | grep -oE '"drop_[a-z_]*": *[1-9][0-9]*' | grep -Ev 'tx_(down|no_member|no_path|no_neighbour)|rx_own' | tr '\n' ' ')
	if [ -z "$lost" ]; then pass "ipoib-no-drops-$i"; else fail "ipoib-no-drops-$i" "$lost"; fi
done

# --- managers come and go while echoes flow

ip netns exec "$ns" ping -n -i 0.2 10.8.0.2 >"$lab_tmp/stream" 2>&1 &
stream=$!
pids+=("$stream")

# changed TEST GUID EVENTS: this one is master, our port has heard of it, and everybody is reached, groups too.
changed() {
	if until_ok 120 master_is "$2" && until_ok 180 more_events "$3" && until_ok 180 all_up; then
		pass "ipoib-$1"
	else
		fail "ipoib-$1" "$("${umad[@]}" sminfo 2>&1 | tail -n 1); $(events 0) events; $(tail -n 2 "$lab_tmp/osm.log" | tr '\n' ';')"
	fi
	if until_ok 180 reaches 239.3.2.1; then pass "ipoib-$1-group"; else fail "ipoib-$1-group" "nobody answers at 239.3.2.1"; fi
	if until_ok 180 reaches -I far0 ff05::2; then pass "ipoib-$1-group6"; else fail "ipoib-$1-group6" "nobody answers at ff05::2"; fi
	pings "$1-ping" 10.8.0.2
	pings_back "$1-ping6-back" fd00:8:1::1
}

before=$(events 0)
kill -INT $sm
wait $sm
sm_start
changed restart $our_guid "$before"

{
	printf "cat >/tmp/partitions <<'END'\n%s\nEND\n" "$(cat "$lab_tmp/partitions")"
	cat <<'GUEST'
mkdir -p /var/cache/opensm
printf 'force_log_flush TRUE\nsminfo_polling_timeout 1000\npolling_retry_number 3\n' >/tmp/osm.conf
opensm -B -p 1 -s 2 -t 2000 -P /tmp/partitions -F /tmp/osm.conf -f /tmp/osm.log -g 0x0002c90300aa0001 >/dev/null 2>&1
for i in $(seq 600); do grep -qs 'Entering STANDBY' /tmp/osm.log && break; sleep 0.1; done
echo "== standby"
grep Entering /tmp/osm.log
GUEST
} | guest_exec guest 270
want ipoib-standby guest standby 'Entering STANDBY'
before=$(events 0)
kill -9 $sm
wait $sm
changed failover $guest_guid "$before"
# A group that only the manager in the guest has ever heard of.
in_ns ip addr add 239.1.2.4/32 dev far0 autojoin
if until_ok 120 in_group 0 ff12401bffff0000000000000f010204; then pass ipoib-failover-joined; else fail ipoib-failover-joined "$(ask 'show ipoib endpoints 0 multicast')"; fi
pings_back failover-group-back 239.1.2.4
before=$(events 0)
sm_start
changed handback $our_guid "$before"
kill -INT $stream
wait $stream
sed -n 's/^\([0-9]*\) packets transmitted, \([0-9]*\) received.*/# ipoib: of \1 echoes \2 came back while managers changed/p' "$lab_tmp/stream"

# --- another interface with the addresses of the one before, and other queue pairs

{
	printf %s "$guest_ib0"
	cat <<'GUEST'
echo "== old"
ip link show ib0 | grep infiniband
rmmod ib_ipoib; modprobe ib_ipoib
ib0_up
echo "== new"
ip link show ib0 | grep infiniband
GUEST
} | guest_exec guest 270
pings reloaded 10.8.0.2
pings reloaded6 fd00:8:0::2
pings_back reloaded-back 10.8.0.1

guest_over
ipoib_over
exit $lab_bad
