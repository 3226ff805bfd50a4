#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The Linux stack at both ends: two network namespaces whose tap interfaces are the wires of one card; the application
# forwards between the ports, as it is or with checksums that the card makes anew, or answers by itself. Jumbo frames come over
# a veth pair, since DPDK's tap takes none.
set -uo pipefail
id=$$
a=tpa$id b=tpb$id
app=$TP_BUILD/apps/triplane
cpu=$(PYTHONPATH=tests/system /usr/bin/python3 -c 'import tpmd; print(tpmd.cpu(0))')
work=$(mktemp -d)
failed=0
pid=

stop_app() {
	[ -n "$pid" ] || return 0
	! kill -0 "$pid" 2>/dev/null || echo quit >&9
	wait "$pid" 2>/dev/null
	pid=
}
cleanup() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null
	[ -z "${server:-}" ] || kill "$server" 2>/dev/null
	ip netns del "$a" 2>/dev/null
	ip netns del "$b" 2>/dev/null
	ip link del "tpv$id" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT

check() { # name, reason when it failed, command...
	local name=$1 reason=$2
	shift 2
	if "$@" >"$work/out" 2>&1; then
		printf 'ok %s\n' "$name"
	else
		printf 'not ok %s: %s: %s\n' "$name" "$reason" "$(tail -n 3 "$work/out" | tr '\n' ' ')"
		failed=1
	fi
}

if [ "$(id -u)" != 0 ] || [ ! -c /dev/net/tun ]; then
	printf 'skip linux: network namespaces and taps need root and /dev/net/tun\n'
	exit 0
fi

# What the program is told while it runs.
mkfifo "$work/say" && exec 9<>"$work/say" || exit 1

# run_app COMMANDS VDEV...: it forwards after them.
run_app() {
	local commands=$1
	shift
	"$app" --lcores "0@$cpu,1@$cpu" --no-pci --no-huge -m 512 --no-shconf --no-telemetry --file-prefix="tplx$id" \
		"$@" -- -e "set setting program idle-sleep 200; $commands; start live 1" --interactive >"$work/app" 2>&1 <"$work/say" &
	pid=$!
}

# What the card's ports have counted, each name summed up.
counted() { # PORTS NAME...
	local n ports=$1
	shift
	n=$(grep -c '{"ports".*}$' "$work/app")
	echo "show model $ports json" >&9
	for _ in $(seq 600); do
		[ "$(grep -c '{"ports".*}$' "$work/app")" -gt "$n" ] && break
		sleep 0.1
	done
	grep -o '{"ports".*}$' "$work/app" | tail -n 1 | /usr/bin/python3 -c '
import json, sys
ports = json.load(sys.stdin)["ports"]
print(*(sum(p[n] for p in ports) for n in sys.argv[1:]))' "$@"
}

# Forwarding has begun: what the program has to do with interfaces is done.
app_runs() {
	for _ in $(seq 600); do
		grep -q 'second 1' "$work/app" && return 0
		kill -0 "$pid" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# patient SPACE INTERFACE: its kernel asks for neighbours for two minutes, not for three seconds, as long as the program may stand still.
patient() {
	ip netns exec "$1" sysctl -qw "net.ipv4.neigh.$2.mcast_solicit=120" "net.ipv6.neigh.$2.mcast_solicit=120"
}

# start_app MTU COMMANDS VDEV...: with taps moved into the namespaces and configured.
start_app() {
	local mtu=$1 commands=$2
	shift 2
	run_app "$commands" "$@"
	app_runs || return
	ip netns add "$a" && ip netns add "$b" || return 1
	ip link set tpt0 netns "$a" && patient "$a" tpt0 || return 1
	ip -n "$a" addr add 10.9.0.1/24 dev tpt0
	ip -n "$a" addr add fd00:9::1/64 dev tpt0 nodad
	ip -n "$a" link set tpt0 mtu "$mtu" up
	case "$*" in *net_tap1*)
		ip link set tpt1 netns "$b" && patient "$b" tpt1 || return 1
		ip -n "$b" addr add 10.9.0.2/24 dev tpt1
		ip -n "$b" addr add fd00:9::2/64 dev tpt1 nodad
		ip -n "$b" link set tpt1 mtu "$mtu" up
		;;
	esac
}

# A veth pair of MTU 9000 into a namespace; a pcap port on the near end is the wire.
start_jumbo() {
	ip netns add "$a" || return 1
	ip link add "tpv$id" type veth peer name tpv netns "$a" && patient "$a" tpv || return 1
	ip link set "tpv$id" mtu 9000 up
	ip -n "$a" addr add 10.9.0.1/24 dev tpv
	ip -n "$a" addr add fd00:9::1/64 dev tpv nodad
	ip -n "$a" link set tpv mtu 9000 up
	run_app 'port stop all; port config all mtu 9000; port start all; set fwd icmpecho' \
		--vdev="net_pcap0,rx_iface_in=tpv$id,tx_iface=tpv$id" \
		--vdev=net_mlx4_model0,ports=1,wire0=ethdev:net_pcap0
	app_runs
}

stop_all() {
	stop_app
	ip netns del "$a" 2>/dev/null
	ip netns del "$b" 2>/dev/null
	ip link del "tpv$id" 2>/dev/null
}

iperf() { # ADDRESS: 20 MiB to it
	ip netns exec "$b" iperf3 -s -1 -D --pidfile "$work/iperf.pid" >/dev/null
	for _ in $(seq 600); do
		grep -q ':5201 ' <<<"$(ip netns exec "$b" ss -ltn)" && break
		sleep 0.1
	done
	# The window is less than a ring holds: a forwarder that waits for a CPU loses nothing.
	ip netns exec "$a" iperf3 -c "$1" -n 20M -w 64K -J >"$work/iperf.json" || return 1
	/usr/bin/python3 - "$work/iperf.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))['end']['sum_received']
print('%.1f Mb/s' % (r['bits_per_second'] / 1e6))
sys.exit(0 if r['bytes'] > 1000000 else 1)
PY
}

losses() { counted 2,3 wire_drops rx_no_wqe violations; }

# Nothing was lost since both stacks had answered, and no rule was broken.
clean() {
	local now
	now=$(losses)
	echo "lost on wires, for want of buffers, broken rules: $lost, then $now"
	[ "$now" = "$lost" ] && [ "${now##* }" = 0 ]
}

# The card made the checksums: 20 MiB are 14364 segments of 1460 octets over IPv4, and 14564 of 1440 over IPv6.
sums_are_the_cards() {
	local ip l4
	read -r ip l4 <<<"$(counted 3 tx_ip_sums tx_l4_sums)"
	echo "checksums of IPv4: $ip, of TCP and UDP: $l4"
	[ "$ip" -ge 14364 ] && [ "$l4" -ge $((14364 + 14564)) ]
}

taps="--vdev=net_tap0,iface=tpt0 --vdev=net_tap1,iface=tpt1"
# shellcheck disable=SC2086
if start_app 1500 'set fwd io' $taps \
	--vdev=net_mlx4_model0,wire0=ethdev:net_tap0,wire1=ethdev:net_tap1; then
	check linux-ping 'no answer' ip netns exec "$a" ping -c 5 -i 0.2 -w 60 10.9.0.2
	check linux-ping6 'no answer (neighbour discovery included)' ip netns exec "$a" ping -6 -c 5 -i 0.2 -w 60 fd00:9::2
	lost=$(losses)
	check linux-fragments 'no answer to 8000 bytes' ip netns exec "$a" ping -c 3 -i 0.2 -w 60 -s 8000 10.9.0.2
	check linux-iperf3-tcp 'TCP transfer' iperf 10.9.0.2
	check linux-model-clean 'the model counted something' clean
else
	printf 'not ok linux-forward: the application did not start: %s\n' "$(tail -n 3 "$work/app" | tr '\n' ' ')"
	failed=1
fi
stop_all

offloads='port stop all'
for o in ipv4 tcp udp; do offloads="$offloads; port config all tx_offload ${o}_cksum on"; done
# shellcheck disable=SC2086
if start_app 1500 "$offloads; port start all; set fwd csum" $taps \
	--vdev=net_mlx4_model0,wire0=ethdev:net_tap0,wire1=ethdev:net_tap1; then
	check linux-csum-ping 'no answer' ip netns exec "$a" ping -c 5 -i 0.2 -w 60 10.9.0.2
	check linux-csum-ping6 'no answer' ip netns exec "$a" ping -6 -c 5 -i 0.2 -w 60 fd00:9::2
	check linux-csum-fragments 'no answer to 8000 bytes' ip netns exec "$a" ping -c 3 -i 0.2 -w 60 -s 8000 10.9.0.2
	check linux-csum-tcp 'TCP transfer' iperf 10.9.0.2
	check linux-csum-tcp6 'TCP transfer' iperf fd00:9::2
	check linux-csum-by-the-card 'too few checksums of the card' sums_are_the_cards
else
	printf 'not ok linux-csum: the application did not start: %s\n' "$(tail -n 3 "$work/app" | tr '\n' ' ')"
	failed=1
fi
stop_all

if start_app 1500 'set fwd icmpecho' --vdev=net_tap0,iface=tpt0 \
	--vdev=net_mlx4_model0,ports=1,wire0=ethdev:net_tap0; then
	check linux-icmpecho 'no answer' ip netns exec "$a" ping -c 5 -i 0.2 -w 60 10.9.0.7
	check linux-icmpecho-fragments 'no answer to fragments' ip netns exec "$a" ping -c 3 -i 0.2 -w 60 -s 20000 10.9.0.7
	check linux-icmpecho6 'no answer' ip netns exec "$a" ping -6 -c 3 -i 0.2 -w 60 fd00:9::7
else
	printf 'not ok linux-icmpecho: the application did not start: %s\n' "$(tail -n 3 "$work/app" | tr '\n' ' ')"
	failed=1
fi
stop_all

if start_jumbo; then
	check linux-jumbo 'no answer to a frame of 8042 bytes' \
		ip netns exec "$a" ping -c 3 -i 0.2 -w 60 -s 8000 -M 'do' 10.9.0.7
	check linux-jumbo-largest 'no answer to a frame of 9014 bytes' \
		ip netns exec "$a" ping -c 3 -i 0.2 -w 60 -s 8972 -M 'do' 10.9.0.7
	check linux-jumbo-fragments 'no answer to 30000 bytes' ip netns exec "$a" ping -c 3 -i 0.2 -w 60 -s 30000 10.9.0.7
	check linux-jumbo6 'no answer' ip netns exec "$a" ping -6 -c 3 -i 0.2 -w 60 -s 8000 -M 'do' fd00:9::7
	check linux-jumbo6-fragments 'no answer to 30000 bytes' \
		ip netns exec "$a" ping -6 -c 3 -i 0.2 -w 60 -s 30000 fd00:9::7
else
	printf 'not ok linux-jumbo: the application did not start: %s\n' "$(tail -n 3 "$work/app" | tr '\n' ' ')"
	failed=1
fi
stop_all
exit $failed
