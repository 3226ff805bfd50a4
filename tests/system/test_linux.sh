#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The Linux stack at both ends: two network namespaces whose tap interfaces are the wires of one card; the application
# forwards between the ports with checksum offload, or answers by itself. Jumbo frames come over a veth pair, since
# DPDK's tap takes none.
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
	kill -INT "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	pid=
}
cleanup() {
	stop_app
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

# run_app COMMANDS VDEV...
run_app() {
	local commands=$1
	shift
	"$app" --lcores "0@$cpu,1@$cpu" --no-pci --no-huge -m 512 --no-shconf --no-telemetry --file-prefix="tplx$id" \
		"$@" -- -e "$commands" --live 600 >"$work/app" 2>&1 </dev/null &
	pid=$!
}

# Forwarding has begun: what the program has to do with interfaces is done. Its table comes each second.
app_runs() {
	for _ in $(seq 600); do
		grep -q 'second 1' "$work/app" && return 0
		kill -0 "$pid" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# start_app MTU COMMANDS VDEV...: with taps moved into the namespaces and configured.
start_app() {
	local mtu=$1 commands=$2
	shift 2
	run_app "$commands" "$@"
	app_runs || return
	ip netns add "$a" && ip netns add "$b" || return 1
	ip link set tpt0 netns "$a" || return 1
	ip -n "$a" addr add 10.9.0.1/24 dev tpt0
	ip -n "$a" addr add fd00:9::1/64 dev tpt0 nodad
	ip -n "$a" link set tpt0 mtu "$mtu" up
	case "$*" in *net_tap1*)
		ip link set tpt1 netns "$b" || return 1
		ip -n "$b" addr add 10.9.0.2/24 dev tpt1
		ip -n "$b" addr add fd00:9::2/64 dev tpt1 nodad
		ip -n "$b" link set tpt1 mtu "$mtu" up
		;;
	esac
}

# A veth pair of MTU 9000 into a namespace; a pcap port on the near end is the wire.
start_jumbo() {
	ip netns add "$a" || return 1
	ip link add "tpv$id" type veth peer name tpv netns "$a" || return 1
	ip link set "tpv$id" mtu 9000 up
	ip -n "$a" addr add 10.9.0.1/24 dev tpv
	ip -n "$a" addr add fd00:9::1/64 dev tpv nodad
	ip -n "$a" link set tpv mtu 9000 up
	run_app 'port stop all; port config all mtu 9000; port start all; set fwd icmpecho; start' \
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

iperf() {
	ip netns exec "$b" iperf3 -s -1 -D --pidfile "$work/iperf.pid" >/dev/null
	for _ in $(seq 600); do
		grep -q ':5201 ' <<<"$(ip netns exec "$b" ss -ltn)" && break
		sleep 0.1
	done
	# The window is less than a ring holds: a forwarder that waits for a CPU loses nothing.
	ip netns exec "$a" iperf3 -c 10.9.0.2 -n 20M -w 64K -J >"$work/iperf.json" || return 1
	/usr/bin/python3 - "$work/iperf.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))['end']['sum_received']
print('%.1f Mb/s' % (r['bits_per_second'] / 1e6))
sys.exit(0 if r['bytes'] > 1000000 else 1)
PY
}

clean() { # no broken rule and no loss in the model's closing report
	grep -qiE 'violations[^0-9]*[1-9]' "$work/app" && { grep -i violation "$work/app"; return 1; }
	! grep -qiE '(no_wqe|wire_drops|wire drops)[^0-9]*[1-9]' "$work/app"
}

taps="--vdev=net_tap0,iface=tpt0 --vdev=net_tap1,iface=tpt1"
# shellcheck disable=SC2086
if start_app 1500 'set fwd io' $taps \
	--vdev=net_mlx4_model0,wire0=ethdev:net_tap0,wire1=ethdev:net_tap1; then
	check linux-ping 'no answer' ip netns exec "$a" ping -c 5 -i 0.2 -W 2 10.9.0.2
	check linux-ping6 'no answer (neighbour discovery included)' ip netns exec "$a" ping -6 -c 5 -i 0.2 -W 2 fd00:9::2
	check linux-fragments 'no answer to 8000 bytes' ip netns exec "$a" ping -c 3 -i 0.2 -W 2 -s 8000 10.9.0.2
	check linux-iperf3-tcp 'TCP transfer' iperf
	stop_app
	check linux-model-clean 'the model counted something' clean
else
	printf 'not ok linux-forward: the application did not start: %s\n' "$(tail -n 3 "$work/app" | tr '\n' ' ')"
	failed=1
fi
stop_all

if start_app 1500 'set fwd icmpecho' --vdev=net_tap0,iface=tpt0 \
	--vdev=net_mlx4_model0,ports=1,wire0=ethdev:net_tap0; then
	check linux-icmpecho 'no answer' ip netns exec "$a" ping -c 5 -i 0.2 -W 2 10.9.0.7
	check linux-icmpecho-fragments 'no answer to fragments' ip netns exec "$a" ping -c 3 -i 0.2 -W 2 -s 20000 10.9.0.7
	check linux-icmpecho6 'no answer' ip netns exec "$a" ping -6 -c 3 -i 0.2 -W 2 fd00:9::7
else
	printf 'not ok linux-icmpecho: the application did not start: %s\n' "$(tail -n 3 "$work/app" | tr '\n' ' ')"
	failed=1
fi
stop_all

if start_jumbo; then
	check linux-jumbo 'no answer to a frame of 8042 bytes' \
		ip netns exec "$a" ping -c 3 -i 0.2 -W 2 -s 8000 -M 'do' 10.9.0.7
	check linux-jumbo-largest 'no answer to a frame of 9014 bytes' \
		ip netns exec "$a" ping -c 3 -i 0.2 -W 2 -s 8972 -M 'do' 10.9.0.7
	check linux-jumbo-fragments 'no answer to 30000 bytes' ip netns exec "$a" ping -c 3 -i 0.2 -W 2 -s 30000 10.9.0.7
	check linux-jumbo6 'no answer' ip netns exec "$a" ping -6 -c 3 -i 0.2 -W 2 -s 8000 -M 'do' fd00:9::7
	check linux-jumbo6-fragments 'no answer to 30000 bytes' \
		ip netns exec "$a" ping -6 -c 3 -i 0.2 -W 2 -s 30000 fd00:9::7
else
	printf 'not ok linux-jumbo: the application did not start: %s\n' "$(tail -n 3 "$work/app" | tr '\n' ' ')"
	failed=1
fi
stop_all
exit $failed
