#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The stock kernel's ib_ipoib in a guest and our IPoIB ports on one InfiniBand switch: two cards in one process, the guest's
# and ours, which triplane drives as its client. Linux stacks at both ends, the host's behind veth pairs, judge addresses,
# datagrams of the whole MTU, TCP, groups and a partition of its own. OpenSM runs outside over our port, starts again, and
# dies while traffic flows: one in the guest, over the kernel's ib_umad, takes over.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
export LD_LIBRARY_PATH=$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
app=$TP_BUILD/apps/triplane preload=$TP_BUILD/lib/mad/libtp_umad.so
# The Linux stack, and the ends of its wires that triplane has.
ns=ipoib$$ wires=ipoibw$$
guest_guid=0002c90300aa0001 our_guid=0002c90300bb0001

for c in ip iperf3 ethtool opensm sminfo; do
	command -v $c >/dev/null || { printf 'skip ipoib: %s is not installed\n' $c; exit 0; }
done
[ -e "$preload" ] || { printf 'skip ipoib: no libibumad to stand in for\n'; exit 0; }
if ! ip netns add "$ns" 2>/dev/null || ! ip netns add "$wires"; then
	printf 'skip ipoib: network namespaces need root\n'
	exit 0
fi
pids=()
ipoib_end() {
	local p
	for p in ${pids[@]+"${pids[@]}"}; do kill "$p" 2>/dev/null; done
	lab_end
	ip netns del "$ns"
	ip netns del "$wires"
}
trap ipoib_end EXIT

# --- what the test is made of

in_ns() { ip netns exec "$ns" "$@"; }

# until_ok SECONDS COMMAND...: until it succeeds.
until_ok() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

say() { printf '%s\n' "$*" >&9; }

# ask COMMAND: its answer in JSON.
ask() {
	local n
	n=$(grep -c '^\(triplane> \)*{' "$lab_tmp/triplane.out")
	say "$1 json"
	until_ok 30 more_answers "$n" && grep '^\(triplane> \)*{.*}$' "$lab_tmp/triplane.out" | tail -n 1
}

more_answers() { [ "$(grep -c '^\(triplane> \)*{.*}$' "$lab_tmp/triplane.out")" -gt "$1" ]; }

ports_up() { [ "$(ask 'show ipoib' | grep -o '"state": *"up"' | wc -l)" = 2 ]; }

in_group() { # PORT MGID: who has joined to receive
	ask "show ipoib endpoints $1 multicast" | tr '{' '\n' | grep "$2" | grep -Eq '"receives": *(1|true)'
}

umad=(env LD_PRELOAD="$preload" TP_UMAD_SOCKET="$lab_tmp/umad.sock" OSM_CACHE_DIR="$lab_tmp" OSM_TMP_DIR="$lab_tmp")

sm_start() {
	"${umad[@]}" opensm -g 0x$our_guid -p 8 -s 2 -t 2000 -P "$lab_tmp/partitions" -F "$lab_tmp/osm.conf" -f "$lab_tmp/osm.log" </dev/null >/dev/null 2>&1 &
	sm=$!
	pids+=("$sm")
}

# events PORT: how often the port's subnet, manager or partitions changed.
events() { ask "show ipoib counters $1" | grep -o '"events": *[0-9]*' | grep -o '[0-9]*$'; }

more_events() { [ "$(events 0)" -gt "$1" ]; }

reaches() { in_ns ping -n -c 1 -W 5 "$1" >/dev/null 2>&1; }

master_is() { "${umad[@]}" sminfo 2>/dev/null | grep -q "sm guid 0x${1#000}.*SMINFO_MASTER"; }

# Four echoes come back, all of them, some time soon; what is lost on the way is the business of the counters.
echoes="ping -n -c 4 -i 0.2 -W 10"
# shellcheck disable=SC2086 # a command with its options
all_back() { in_ns $echoes "$@" >"$lab_tmp/echoes" 2>&1 && grep -q ' 0% packet loss' "$lab_tmp/echoes"; }

pings() { # TEST [OPTION...] ADDRESS: from the host's stack
	local t=$1
	shift
	if until_ok 60 all_back "$@"; then pass "ipoib-$t"; else fail "ipoib-$t" "$(tail -n 3 "$lab_tmp/echoes" | tr '\n' ';')"; fi
}

pings_back() { # TEST [OPTION...] ADDRESS: from the guest's
	local t=$1
	shift
	guest_exec guest 120 <<GUEST
echo '== $t'
for i in 1 2 3 4 5 6; do $echoes $* | tee /tmp/echoes; grep -q ' 0% packet loss' /tmp/echoes && break; done
GUEST
	want "ipoib-$t" guest "$t" ' 0% packet loss'
}

# --- cards, our program, the guest, the subnet

card guest --guid 0002c90300aa0000 --ports 1 --port0 ib --wire0 ibswitch:lab/port:1 \
	--socket "$lab_tmp/ours.sock" --guid 0002c90300bb0000 --ports 1 --port0 ib --wire0 ibswitch:lab/port:7 || exit
(guest_start guest -w 300 -d "$lab_tmp/guest.sock") &
boot=$!
guests+=("guest-$$")

vdevs=(--vdev="net_mlx4_user0,socket=$lab_tmp/ours.sock")
for i in 0 1; do
	ip -n "$wires" link add near$i type veth peer name far$i netns "$ns"
	in_ns ethtool -K far$i tx off tso off gso off >/dev/null
	ip netns exec "$wires" sh -c "echo 1 >/proc/sys/net/ipv6/conf/near$i/disable_ipv6"
	ip -n "$wires" link set near$i mtu 9000 up
	vdevs+=(--vdev="net_ipoib$i,port=net_mlx4_user0/1$([ $i = 0 ] || echo ,pkey=0x8007)"
		--vdev="net_pcap$i,rx_iface_in=near$i,tx_iface=near$i")
done
mkfifo "$lab_tmp/say"
exec 9<>"$lab_tmp/say"
ip netns exec "$wires" "$app" --no-huge -m 512 --no-shconf --no-telemetry --no-pci --file-prefix="$ns" --lcores 0@0,1@0 \
	"${vdevs[@]}" -- --mbuf-size 2304 <"$lab_tmp/say" >"$lab_tmp/triplane.out" 2>&1 &
triplane=$!
pids+=("$triplane")
say "ib umad on $lab_tmp/umad.sock"
until_ok 30 test -S "$lab_tmp/umad.sock" || { fail ipoib-triplane "$(tail -n 3 "$lab_tmp/triplane.out" | tr '\n' ';')"; exit 1; }
printf 'Default=0x7fff,ipoib:ALL=full;\nlab=0x0007,ipoib:ALL=full;\n' >"$lab_tmp/partitions"
echo 'force_log_flush TRUE' >"$lab_tmp/osm.conf"
sm_start
if until_ok 90 ports_up; then pass ipoib-up; else fail ipoib-up "$(ask 'show ipoib') $(tail -n 2 "$lab_tmp/osm.log")"; fi
echo 0 | in_ns tee /proc/sys/net/ipv4/icmp_echo_ignore_broadcasts >/dev/null
in_ns ip link set lo up
for i in 0 1; do
	in_ns ip addr add 10.8.$i.1/24 dev far$i
	in_ns ip addr add fd00:8:$i::1/64 dev far$i nodad
	in_ns ip link set far$i mtu 2044 up
done
in_ns ip route add 239.0.0.0/8 dev far0

wait $boot || { fail ipoib-guest "does not boot: $(tail -n 2 "$lab_tmp/guest.err" | tr '\n' ' ')"; exit 1; }
guest_exec guest 120 <<'GUEST'
modprobe mlx4_core; modprobe mlx4_ib; modprobe ib_umad; modprobe ib_ipoib
for i in $(seq 300); do [ -e /sys/class/net/ib0 ] && break; sleep 0.1; done
echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts
ip addr add 10.8.0.2/24 dev ib0; ip addr add fd00:8:0::2/64 dev ib0 nodad; ip link set ib0 up
ip route add 239.0.0.0/8 dev ib0
for i in $(seq 300); do [ "$(cat /sys/class/net/ib0/operstate)" = up ] && break; sleep 0.1; done
ip link add link ib0 name ib0.8007 type ipoib pkey 0x8007
ip addr add 10.8.1.2/24 dev ib0.8007; ip addr add fd00:8:1::2/64 dev ib0.8007 nodad; ip link set ib0.8007 up
for i in $(seq 300); do [ "$(cat /sys/class/net/ib0.8007/operstate)" = up ] && break; sleep 0.1; done
echo "== interfaces"
ip -d addr show ib0
ip -d addr show ib0.8007
GUEST
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

guest_exec guest 30 <<'GUEST'
(while :; do iperf3 -s -1; done) >/dev/null 2>&1 &
for i in $(seq 200); do grep -qs ":1451 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && break; sleep 0.1; done
GUEST
one_iperf() { in_ns timeout 100 iperf3 -f m "$@" >"$lab_tmp/iperf" 2>&1; }
tcp() { # TEST IPERF3-OPTION...: a server that is busy with the one before refuses
	local t=$1
	shift
	if until_ok 60 one_iperf "$@"; then
		pass "ipoib-$t"
		sed -n "s/.* \([0-9.]* Mbits\/sec\).*receiver.*/# ipoib: $t \1/p" "$lab_tmp/iperf"
	else
		fail "ipoib-$t" "$(tail -n 3 "$lab_tmp/iperf" | tr '\n' ';')"
	fi
}
tcp tcp -c 10.8.0.2 -n 4M
tcp tcp-back -c 10.8.0.2 -n 4M -R
tcp tcp6-child -c fd00:8:1::2 -n 2M
tcp udp -c 10.8.0.2 -u -b 10M -n 500K

# A group that the host's stack reports, and one of the guest's; the stack that sends to it learns who answers.
in_ns ip addr add 239.1.2.3/32 dev far0 autojoin
if until_ok 30 in_group 0 ff12401bffff0000000000000f010203; then pass ipoib-joined; else fail ipoib-joined "$(ask 'show ipoib endpoints 0 multicast')"; fi
pings_back group-back 239.1.2.3
want ipoib-group-back-from guest group-back 'from 10\.8\.0\.1'
guest_exec guest 30 <<<'ip addr add 239.3.2.1/32 dev ib0 autojoin; grep -A 9 ib0 /proc/net/igmp'
pings group 239.3.2.1

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
	if until_ok 120 master_is "$2" && until_ok 60 more_events "$3" && until_ok 60 ports_up; then
		pass "ipoib-$1"
	else
		fail "ipoib-$1" "$("${umad[@]}" sminfo 2>&1 | tail -n 1); $(events 0) events; $(tail -n 2 "$lab_tmp/osm.log" | tr '\n' ';')"
	fi
	if until_ok 60 reaches 239.3.2.1; then pass "ipoib-$1-group"; else fail "ipoib-$1-group" "nobody answers at 239.3.2.1"; fi
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
} | guest_exec guest 90
want ipoib-standby guest standby 'Entering STANDBY'
before=$(events 0)
kill -9 $sm
wait $sm
changed failover $guest_guid "$before"
# A group that only the manager in the guest has ever heard of.
in_ns ip addr add 239.1.2.4/32 dev far0 autojoin
if until_ok 30 in_group 0 ff12401bffff0000000000000f010204; then pass ipoib-failover-joined; else fail ipoib-failover-joined "$(ask 'show ipoib endpoints 0 multicast')"; fi
pings_back failover-group-back 239.1.2.4
before=$(events 0)
sm_start
changed handback $our_guid "$before"
kill -INT $stream
wait $stream
sed -n 's/^\([0-9]*\) packets transmitted, \([0-9]*\) received.*/# ipoib: of \1 echoes \2 came back while managers changed/p' "$lab_tmp/stream"

# --- another interface with the addresses of the one before, and other queue pairs

guest_exec guest 90 <<'GUEST'
echo "== old"
ip link show ib0 | grep infiniband
rmmod ib_ipoib; modprobe ib_ipoib
ip addr add 10.8.0.2/24 dev ib0; ip addr add fd00:8:0::2/64 dev ib0 nodad; ip link set ib0 up
for i in $(seq 300); do [ "$(cat /sys/class/net/ib0/operstate)" = up ] && break; sleep 0.1; done
echo "== new"
ip link show ib0 | grep infiniband
GUEST
pings reloaded 10.8.0.2
pings reloaded6 fd00:8:0::2
pings_back reloaded-back 10.8.0.1

printf 'echo "== dmesg"\ndmesg\n' | guest_exec guest 30
no_errors ipoib-log guest dmesg
"$lab_scripts/guest.sh" stop "guest-$$"
guests=()
say stop
say quit
wait $triplane
rc=$?
if [ $rc = 0 ]; then pass ipoib-triplane-end; else fail ipoib-triplane-end "status $rc: $(tail -n 3 "$lab_tmp/triplane.out" | tr '\n' ';')"; fi
card_verdict guest ipoib
exit $lab_bad
