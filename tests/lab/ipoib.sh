# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2154 # lab_tmp and lab_scripts are of lib.sh
# The stock kernel's ib_ipoib in a guest and our IPoIB ports on one InfiniBand switch: two cards in one process, the guest's
# and ours, which triplane drives as its client. Linux stacks at both ends, the host's behind veth pairs; OpenSM runs outside,
# over our port. Sourced after lib.sh by tests that have set ipoib_test, what their cases' names begin with.
: "${ipoib_test:?}"
export LD_LIBRARY_PATH=$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
app=$TP_BUILD/apps/triplane preload=$TP_BUILD/lib/mad/libtp_umad.so
# The Linux stack, and the ends of its wires that triplane has.
ns=ipoib$$ wires=ipoibw$$
our_guid=0002c90300bb0001

for c in ip iperf3 ethtool opensm sminfo; do
	command -v $c >/dev/null || { printf 'skip %s: %s is not installed\n' "$ipoib_test" $c; exit 0; }
done
[ -e "$preload" ] || { printf 'skip %s: no libibumad to stand in for\n' "$ipoib_test"; exit 0; }
if ! ip netns add "$ns" 2>/dev/null || ! ip netns add "$wires"; then
	printf 'skip %s: network namespaces need root\n' "$ipoib_test"
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

ipoib_pass() { pass "$ipoib_test-$1"; }
ipoib_fail() { fail "$ipoib_test-$1" "$2"; }

# --- triplane's console

say() { printf '%s\n' "$*" >&9; }

# ask COMMAND: its answer in JSON.
ask() {
	local n
	n=$(grep -c '^\(triplane> \)*{' "$lab_tmp/triplane.out")
	say "$1 json"
	until_ok 120 more_answers "$n" && grep '^\(triplane> \)*{.*}$' "$lab_tmp/triplane.out" | tail -n 1
}

more_answers() { [ "$(grep -c '^\(triplane> \)*{.*}$' "$lab_tmp/triplane.out")" -gt "$1" ]; }

# counter PORT NAME: of an IPoIB port.
counter() { ask "show ipoib counters $1" | grep -o "\"$2\": *[0-9]*" | grep -o '[0-9]*$'; }

all_up() { [ "$(ask 'show ipoib' | grep -o '"state": *"up"' | wc -l)" = "$ipoib_ports" ]; }

in_group() { # PORT MGID: who has joined to receive
	ask "show ipoib endpoints $1 multicast" | tr '{' '\n' | grep "$2" | grep -Eq '"receives": *(1|true)'
}

# --- the fabric

umad=(env LD_PRELOAD="$preload" TP_UMAD_SOCKET="$lab_tmp/umad.sock" OSM_CACHE_DIR="$lab_tmp" OSM_TMP_DIR="$lab_tmp")

sm_start() {
	"${umad[@]}" opensm -g 0x$our_guid -p 8 -s 2 -t 2000 -P "$lab_tmp/partitions" -F "$lab_tmp/osm.conf" -f "$lab_tmp/osm.log" </dev/null >/dev/null 2>&1 &
	sm=$!
	pids+=("$sm")
}

# ipoib_cards PORTS: both cards on one switch, with one port each or with two; the guest boots, wait for $boot.
ipoib_cards() {
	local theirs=(--ports 1) ours=(--ports 1)
	if [ "$1" = 2 ]; then
		theirs=(--ports 2 --port1 ib --wire1 ibswitch:lab/port:2)
		ours=(--ports 2 --port1 ib --wire1 ibswitch:lab/port:8)
	fi
	card guest --guid 0002c90300aa0000 "${theirs[@]}" --port0 ib --wire0 ibswitch:lab/port:1 \
		--socket "$lab_tmp/ours.sock" --guid 0002c90300bb0000 "${ours[@]}" --port0 ib --wire0 ibswitch:lab/port:7 || exit
	(guest_start guest -w 300 -d "$lab_tmp/guest.sock") &
	boot=$!
	guests+=("guest-$$")
}

# The ethdev of a wire's end. Frames of net_pcap have 16128 octets at most; net_af_packet's places for them fill pages together.
wire_vdev() { # NUMBER MTU
	if [ "$2" -le 9000 ]; then
		echo "net_pcap$1,rx_iface_in=near$1,tx_iface=near$1"
	else
		echo "net_af_packet$1,iface=near$1,framesz=65408,blocksz=$((32 * 65408)),framecnt=128"
	fi
}

# What triplane is told first.
ipoib_first=()

# ipoib_program "OPTION..." VDEV...: triplane on our card with these devices, ipoib_ports of IPoIB, and a subnet manager by it.
ipoib_program() {
	local options=$1 a
	shift
	rm -f "$lab_tmp/say" "$lab_tmp/umad.sock"
	mkfifo "$lab_tmp/say"
	exec 9<>"$lab_tmp/say"
	# shellcheck disable=SC2086 # options
	ip netns exec "$wires" "$app" --no-huge -m 512 --no-shconf --no-telemetry --no-pci --file-prefix="$ns" --lcores "0@$lab_cpus,1@$lab_cpus" \
		--vdev="net_mlx4_user0,socket=$lab_tmp/ours.sock" "$@" -- $options <"$lab_tmp/say" >"$lab_tmp/triplane.out" 2>&1 &
	triplane=$!
	pids+=("$triplane")
	for a in "${ipoib_first[@]}"; do say "$a"; done
	say "set setting program idle-sleep 200"
	say "ib umad on $lab_tmp/umad.sock"
	until_ok 120 test -S "$lab_tmp/umad.sock" || { ipoib_fail triplane "$(tail -n 3 "$lab_tmp/triplane.out" | tr '\n' ';')"; exit 1; }
	printf 'Default=0x7fff,ipoib:ALL=full;\nlab=0x0007,ipoib:ALL=full;\n' >"$lab_tmp/partitions"
	echo 'force_log_flush TRUE' >"$lab_tmp/osm.conf"
	sm_start
}

ipoib_are_up() { # TEST
	if until_ok 240 all_up; then ipoib_pass "$1"; else ipoib_fail "$1" "$(ask 'show ipoib') $(tail -n 2 "$lab_tmp/osm.log")"; fi
}

# A wire between triplane and the host's stack: farN there, with this MTU.
ipoib_wire() { # NUMBER MTU
	local i=$1 mtu=$2
	ip -n "$wires" link add "near$i" mtu $((mtu > 9000 ? mtu : 9000)) type veth peer name "far$i" mtu "$mtu" netns "$ns"
	in_ns ethtool -K "far$i" tx off tso off gso off gro off >/dev/null
	ip netns exec "$wires" ethtool -K "near$i" tx off tso off gso off gro off >/dev/null
	ip netns exec "$wires" sh -c "echo 1 >/proc/sys/net/ipv6/conf/near$i/disable_ipv6"
	ip -n "$wires" link set "near$i" up
}

# The host's ends of so many wires come up, with addresses 10.8.N.1 and fd00:8:N::1. A neighbour that was loaded again has another
# queue pair: the host asks anew after seconds, not after its minute.
ipoib_host_up() { # WIRES
	local i v
	echo 0 | in_ns tee /proc/sys/net/ipv4/icmp_echo_ignore_broadcasts >/dev/null
	in_ns ip link set lo up
	for ((i = 0; i < $1; i++)); do
		in_ns ip addr add 10.8.$i.1/24 dev far$i
		in_ns ip addr add fd00:8:$i::1/64 dev far$i nodad
		for v in ipv4 ipv6; do
			in_ns sysctl -qw net.$v.neigh.far$i.base_reachable_time_ms=2000 net.$v.neigh.far$i.delay_first_probe_time=1
		done
		in_ns ip link set far$i up
	done
}

# ipoib_host MTU "OPTION..." ARGUMENTS...: triplane with an IPoIB port for each of ARGUMENTS, which net_ipoibN has besides its
# port; port N is bridged to the host's interface farN.
ipoib_host() {
	local mtu=$1 options=$2 vdevs=() i=0 a
	shift 2
	ipoib_ports=$#
	for a in "$@"; do
		ipoib_wire $i "$mtu"
		vdevs+=(--vdev="net_ipoib$i,port=net_mlx4_user0/1$a" --vdev="$(wire_vdev $i "$mtu")")
		i=$((i + 1))
	done
	ipoib_program "$options" "${vdevs[@]}"
	ipoib_are_up up
	ipoib_host_up $i
}

# The guest's drivers, and ib0 with its addresses: goes in front of a script for it. Linux 6.12 reads the LID of the subnet manager
# when its SA client begins, and is told of changes once mlx4_ib has asked for events, which is later: on a slow machine a manager
# may set the LID between the two. The SA client sends to LID 0 then, and each join ends with EAGAIN for ever.
# shellcheck disable=SC2034
guest_ib0='is_up() { [ "$(cat /sys/class/net/$1/operstate)" = up ]; }
up_is() { for i in $(seq 300); do is_up $1 && break; sleep 0.1; done; is_up $1; }
modprobe mlx4_core; modprobe mlx4_ib; modprobe ib_umad; modprobe ib_ipoib
for i in $(seq 300); do [ -e /sys/class/net/ib0 ] && break; sleep 0.1; done
ib0_on() { ip addr add 10.8.0.2/24 dev ib0; ip addr add fd00:8:0::2/64 dev ib0 nodad; ip link set ib0 up; up_is ib0; }
ib0_up() {
	ib0_on && return
	echo "mlx4_ib is loaded again: ports $(cat /sys/class/infiniband/mlx4_0/ports/*/state), SM LIDs $(cat /sys/class/infiniband/mlx4_0/ports/*/sm_lid)"
	rmmod ib_ipoib; rmmod mlx4_ib; modprobe mlx4_ib; modprobe ib_ipoib
	ib0_on
}
'
guest_booted() {
	wait "$boot" || { ipoib_fail guest "does not boot: $(tail -n 2 "$lab_tmp/guest.err" | tr '\n' ' ')"; exit 1; }
}

# --- traffic

reaches() { in_ns ping -n -c 1 -W 5 "$@" >/dev/null 2>&1; }

# Four echoes come back, all of them, some time soon; what is lost on the way is the business of the counters.
echoes="ping -n -c 4 -i 0.2 -W 10"
# shellcheck disable=SC2086 # a command with its options
all_back() { in_ns $echoes "$@" >"$lab_tmp/echoes" 2>&1 && grep -q ' 0% packet loss' "$lab_tmp/echoes"; }

pings() { # TEST [OPTION...] ADDRESS: from the host's stack
	local t=$1
	shift
	if until_ok 180 all_back "$@"; then ipoib_pass "$t"; else ipoib_fail "$t" "$(tail -n 3 "$lab_tmp/echoes" | tr '\n' ';')"; fi
}

pings_back() { # TEST [OPTION...] ADDRESS: from the guest's
	local t=$1
	shift
	guest_exec guest 360 <<GUEST
echo '== $t'
for i in 1 2 3 4 5 6; do $echoes $* | tee /tmp/echoes; grep -q ' 0% packet loss' /tmp/echoes && break; done
GUEST
	want "$ipoib_test-$t" guest "$t" ' 0% packet loss'
}

# The guest has a server for tcp().
guest_iperf() {
	guest_exec guest 120 <<'GUEST'
(while :; do iperf3 -s -1; done) >/dev/null 2>&1 &
for i in $(seq 200); do grep -qs ":1451 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && break; sleep 0.1; done
GUEST
}

one_iperf() { in_ns timeout 100 iperf3 -f m "$@" >"$lab_tmp/iperf" 2>&1; }

tcp() { # TEST IPERF3-OPTION...: a server that is busy with the one before refuses
	local t=$1
	shift
	if until_ok 180 one_iperf "$@"; then
		ipoib_pass "$t"
		sed -n "s/.* \([0-9.]* Mbits\/sec\).*receiver.*/# $ipoib_test: $t \1/p" "$lab_tmp/iperf"
	else
		ipoib_fail "$t" "$(tail -n 3 "$lab_tmp/iperf" | tr '\n' ';')"
	fi
}

# --- the end

# The guest goes; its kernel had nothing to complain of.
guest_over() {
	printf 'echo "== dmesg"\ndmesg\n' | guest_exec guest 120
	no_errors "$ipoib_test-log" guest dmesg
	"$lab_scripts/guest.sh" stop "guest-$$"
	guests=()
}

ipoib_program_over() { # TEST
	local rc
	say stop
	say quit
	wait "$triplane"
	rc=$?
	if [ $rc = 0 ]; then ipoib_pass "$1"; else ipoib_fail "$1" "status $rc: $(tail -n 3 "$lab_tmp/triplane.out" | tr '\n' ';')"; fi
}

# triplane and cards go, and are judged.
ipoib_over() {
	ipoib_program_over triplane-end
	card_verdict guest "$ipoib_test"
}
