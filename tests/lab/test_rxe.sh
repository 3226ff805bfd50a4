#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: a busy lcore beside the guest.
# Linux's own software RDMA (rdma_rxe, in a guest) and RoCE in software on an AF_PACKET port of the host talk to each
# other, then rdma_rxe and the transport of a card whose wire is that port: rdma-core's ping-pongs and perftest on one
# side, our programs on the other, each side server and client; IPv4, IPv6, a VLAN, every byte checked, frames lost. A
# bridge joins the guest's TAP with the port; the host's own address on it carries the programs' exchange by TCP. In the end perftest
# itself is on our side, too, on the port that a triplane shares.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/owner.sh
. "$(dirname "$0")/owner.sh"
export LD_LIBRARY_PATH=$TP_BUILD/lib/so:$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ns=rxe$$
host_pid=
# The port of the programs: EAL's arguments, and the programs' own.
port_eal=(--lcores 0@0 "--vdev=net_af_packet0,iface=v1") port_opt=()

for c in ip dpdk-testpmd; do
	command -v $c >/dev/null || { printf 'skip rxe: %s is not installed\n' $c; exit 0; }
done
if ! ip netns add "$ns" 2>/dev/null || [ ! -c /dev/net/tun ]; then
	printf 'skip rxe: network namespaces and TAP devices need root\n'
	exit 0
fi
rxe_end() {
	[ -z "$host_pid" ] || kill "$host_pid" 2>/dev/null
	owner_kill
	lab_end
	ip netns del "$ns"
}
trap rxe_end EXIT

in_ns() { ip netns exec "$ns" "$@"; }

wires() {
	in_ns ip link set lo up &&
		in_ns ip link add br0 type bridge stp_state 0 forward_delay 0 &&
		in_ns ip tuntap add t0 mode tap &&
		in_ns ip link add v0 type veth peer name v1 &&
		in_ns ip link set t0 master br0 && in_ns ip link set v0 master br0 || return
	# The port's interface belongs to the port alone.
	in_ns sh -c 'echo 1 >/proc/sys/net/ipv6/conf/v1/disable_ipv6'
	for i in t0 v0 v1 br0; do in_ns ip link set $i up || return; done
	in_ns ip addr add 192.0.2.254/24 dev br0
}

# The host's program on the port, or on the one that is shared, in the background; then host_wait.
host() { # NAME PROGRAM OPTION...
	local out=$lab_tmp/$1.host dir=perf prog=$2
	[ "$prog" != tp_pingpong ] || dir=pingpong
	shift 2
	if [[ $prog = ib_* ]]; then
		"${owner_run[@]}" "$prog" "${perf_opt[@]}" "$@" >"$out" 2>&1 &
		host_pid=$!
		return
	fi
	# Its arguments say which test of tp_perf runs; the name of the program does, as perftest's does.
	in_ns bash -c 'exec -a "$0" "$@"' "$prog" "$TP_BUILD/apps/$dir/$([ $dir = perf ] && echo tp_perf || echo tp_pingpong)" --no-huge \
		-m 256 --no-shconf --no-telemetry --no-pci --file-prefix="$ns" "${port_eal[@]}" -- \
		"${port_opt[@]}" "$@" >"$out" 2>&1 &
	host_pid=$!
}

host_wait() { # SECONDS
	local i rc
	for ((i = 0; i < $1 * 5; i++)); do
		kill -0 "$host_pid" 2>/dev/null || break
		sleep 0.2
	done
	kill "$host_pid" 2>/dev/null
	wait "$host_pid"
	rc=$?
	host_pid=
	return $rc
}

# Until the host's program listens: TCP port 18515 in state LISTEN.
host_listens() {
	local i
	for ((i = 0; i < 600; i++)); do
		in_ns grep -qs ':4853 0*:0000 0A' /proc/net/tcp /proc/net/tcp6 && return 0
		sleep 0.1
	done
	return 1
}

say_why() { # NAME
	fail "$1" "host: $(grep -v '^EAL' "$lab_tmp/$1.host" | tail -n 3 | tr '\n' ';') guest: $(tail -n 3 "$lab_tmp/guest.out" | tr '\n' ';')"
}

# The guest calls us: its program with its arguments, then ours.
called() { # NAME GUEST-COMMAND HOST-PROGRAM OPTION...
	local name=$1 cmd=$2 grc
	shift 2
	host "$name" "$@"
	host_listens
	guest_exec guest 200 <<<"$cmd 192.0.2.254"
	grc=$?
	if host_wait 100 && [ $grc = 0 ]; then pass "$name"; else say_why "$name"; fi
}

# We call the guest.
calls() { # NAME GUEST-COMMAND HOST-PROGRAM OPTION...
	local name=$1 cmd=$2 rc
	shift 2
	guest_exec guest 270 <<<"$cmd >/tmp/server 2>&1 & i=0; until grep -qs ':4853 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; do i=\$((i + 1)); [ \$i -lt 600 ] || break; sleep 0.1; done"
	host "$name" "$@" 192.0.2.2
	host_wait 200
	rc=$?
	guest_exec guest 300 <<<'wait; cat /tmp/server' || rc=1
	if [ $rc = 0 ]; then pass "$name"; else say_why "$name"; fi
}

# Both by RDMA CM, without the host's own address: the guest calls the port of our program.
called_cm() { # NAME GUEST-COMMAND HOST-PROGRAM OPTION...
	local name=$1 cmd=$2 grc i
	shift 2
	host "$name" "$@" -R
	for ((i = 0; i < 600; i++)); do
		grep -qs '^waiting for a call to port' "$lab_tmp/$name.host" && break
		sleep 0.1
	done
	guest_exec guest 200 <<<"$cmd -R 192.0.2.1"
	grc=$?
	if host_wait 100 && [ $grc = 0 ]; then pass "$name"; else say_why "$name"; fi
}

calls_cm() { # NAME GUEST-COMMAND HOST-PROGRAM OPTION...
	local name=$1 cmd=$2 rc
	shift 2
	guest_exec guest 270 <<<"$guest_waits
$cmd -R >/tmp/server 2>&1 &
cm_listens \$!"
	host "$name" "$@" -R 192.0.2.2
	host_wait 200
	rc=$?
	guest_exec guest 300 <<<'wait; cat /tmp/server' || rc=1
	if [ $rc = 0 ]; then pass "$name"; else say_why "$name"; fi
}

wires || { printf 'skip rxe: no bridge, veth or TAP in this kernel\n'; exit 0; }
# In the namespace of the wires, where its TAP is.
in_ns "$lab_scripts/guest.sh" start "guest-$$" -n tap,ifname=t0,script=no,downscript=no 2>"$lab_tmp/guest.err" || {
	fail rxe-guest "$(tail -n 2 "$lab_tmp/guest.err" | tr '\n' ' ')"
	exit 1
}
guests+=("guest-$$")
guest_exec guest 270 <<'GUEST' || { fail rxe-guest "$(tail -n 2 "$lab_tmp/guest.err" "$lab_tmp/guest.out" | tr '\n' ' ')"; exit 1; }
set -e
modprobe virtio_net
i=0; while [ ! -e /sys/class/net/eth0 ]; do i=$((i + 1)); [ $i -lt 300 ]; sleep 0.2; done
ip addr add 192.0.2.2/24 dev eth0
ip addr add 2001:db8::2/64 dev eth0 nodad
ip link set eth0 up
modprobe 8021q
ip link add link eth0 name eth0.7 type vlan id 7
ip addr add 198.51.100.2/24 dev eth0.7
ip link set eth0.7 up
modprobe rdma_rxe
modprobe rdma_ucm
rdma link add rxe0 type rxe netdev eth0
i=0; until grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state; do i=$((i + 1)); [ $i -lt 300 ]; sleep 0.2; done
i=0; until grep -qs 'c633:6402' /sys/class/infiniband/rxe0/ports/1/gids/* && grep -qs '2001:0db8' /sys/class/infiniband/rxe0/ports/1/gids/*; do i=$((i + 1)); [ $i -lt 300 ] || break; sleep 0.1; done
echo "== gids"
for g in 0 1 2 3 4 5 6 7; do
	f=/sys/class/infiniband/rxe0/ports/1
	t=$(cat $f/gid_attrs/types/$g 2>/dev/null) || continue
	echo "$g $(cat $f/gids/$g) $t"
done
GUEST
gid() { section guest gids | awk -v g="$1" '$2 == g { print $1; exit }'; }
v4=$(gid 0000:0000:0000:0000:0000:ffff:c000:0202)
v6=$(gid 2001:0db8:0000:0000:0000:0000:0000:0002)
tag=$(gid 0000:0000:0000:0000:0000:ffff:c633:6402)

# The guest may be slow; who waits for it tries again after a second, seven times.
port_opt=(-u 18)
a4='--addr 192.0.2.1/24' a6='--addr 2001:db8::1/64'
# Perftest waits a second for an acknowledgement (-u 18): when rdma_rxe tries again while a late one comes in, it may send
# a message that is acknowledged whole once more, empty and with the number of its successor, which no peer can mend.
# shellcheck disable=SC2086 # lists of options
{
	called rxe-rc-called "ibv_rc_pingpong -d rxe0 -g $v4 -c -n 200 -s 4099" tp_pingpong $a4 -n 200 -s 4099
	calls rxe-rc-calls "ibv_rc_pingpong -d rxe0 -g $v4 -n 200 -s 65536" tp_pingpong $a4 -c -n 200 -s 65536
	called rxe-rc-ipv6-called "ibv_rc_pingpong -d rxe0 -g $v6 -c -n 200 -s 3001" tp_pingpong $a6 -n 200 -s 3001
	calls rxe-rc-ipv6-calls "ibv_rc_pingpong -d rxe0 -g $v6 -n 200 -s 1" tp_pingpong $a6 -c -n 200 -s 1
	called rxe-uc-called "ibv_uc_pingpong -d rxe0 -g $v4 -n 50 -s 1024" tp_pingpong $a4 -C UC -n 50 -s 1024
	called rxe-ud-called "ibv_ud_pingpong -d rxe0 -g $v4 -n 50 -s 1000" tp_pingpong $a4 -C UD -n 50 -s 1000
	calls rxe-ud-calls "ibv_ud_pingpong -d rxe0 -g $v4 -n 50 -s 1000" tp_pingpong $a4 -C UD -n 50 -s 1000
	called rxe-ud-ipv6-called "ibv_ud_pingpong -d rxe0 -g $v6 -n 50 -s 77" tp_pingpong $a6 -C UD -n 50 -s 77
	called rxe-rc-events "ibv_rc_pingpong -d rxe0 -g $v4 -e -n 100 -s 512" tp_pingpong $a4 -n 100 -s 512
	called rxe-rc-small-mtu "ibv_rc_pingpong -d rxe0 -g $v4 -m 256 -c -n 100 -s 4000" tp_pingpong $a4 -m 256 -n 100 -s 4000
	if [ -n "$tag" ]; then
		called rxe-rc-vlan "ibv_rc_pingpong -d rxe0 -g $tag -c -n 100 -s 2000" tp_pingpong --addr 198.51.100.1/24 --vlan 7 \
			-n 100 -s 2000
	else
		fail rxe-rc-vlan "the guest has no GID on its VLAN: $(section guest gids | tr '\n' ';')"
	fi
	called rxe-send-bw "ib_send_bw -d rxe0 -x $v6 -u 18 -F -n 200 -s 8192" tp_send_bw $a6 -n 200 -s 8192
	called rxe-write-bw "ib_write_bw -d rxe0 -x $v4 -u 18 -F -n 200 -s 65536 -q 4" tp_write_bw $a4 -n 200 -s 65536 -q 4
	calls rxe-read-lat "ib_read_lat -d rxe0 -x $v4 -u 18 -F -n 100 -s 4096" tp_read_lat $a4 -n 100 -s 4096
	called_cm rxe-cm-send-bw "ib_send_bw -d rxe0 -u 18 -F -n 100 -s 4096 -q 2" tp_send_bw $a4 -n 100 -s 4096 -q 2
	called_cm rxe-cm-write-lat "ib_write_lat -d rxe0 -u 18 -F -n 50 -s 64" tp_write_lat $a4 -n 50 -s 64
	called_cm rxe-cm-read-bw "ib_read_bw -d rxe0 -u 18 -F -n 50 -s 8192" tp_read_bw $a4 -n 50 -s 8192
	calls_cm rxe-cm-calls-write-bw "ib_write_bw -d rxe0 -u 18 -F -n 100 -s 65536 -q 2" tp_write_bw $a4 -n 100 -s 65536 -q 2
	calls_cm rxe-cm-calls-atomic "ib_atomic_lat -d rxe0 -u 18 -F -n 50" tp_atomic_lat $a4 -n 50
	# The card: nothing but its wire is the port of before.
	port_eal=(--lcores 0@0 "--vdev=net_af_packet0,iface=v1" -d librte_net_mlx4_vfio.so
		"--vdev=net_mlx4_model0,ports=1,wire0=ethdev:net_af_packet0")
	port_opt=(-d net_mlx4_model0_p0 -u 18)
	called rxe-card-rc-called "ibv_rc_pingpong -d rxe0 -g $v4 -c -n 200 -s 4099" tp_pingpong $a4 -n 200 -s 4099
	calls rxe-card-rc-calls "ibv_rc_pingpong -d rxe0 -g $v4 -n 200 -s 65536" tp_pingpong $a4 -c -n 200 -s 65536
	called rxe-card-rc-ipv6 "ibv_rc_pingpong -d rxe0 -g $v6 -c -n 200 -s 3001" tp_pingpong $a6 -n 200 -s 3001
	called rxe-card-uc "ibv_uc_pingpong -d rxe0 -g $v4 -n 50 -s 1024" tp_pingpong $a4 -C UC -n 50 -s 1024
	called rxe-card-ud "ibv_ud_pingpong -d rxe0 -g $v4 -n 50 -s 1000" tp_pingpong $a4 -C UD -n 50 -s 1000
	calls rxe-card-ud-ipv6 "ibv_ud_pingpong -d rxe0 -g $v6 -n 50 -s 77" tp_pingpong $a6 -C UD -n 50 -s 77
	called rxe-card-small-mtu "ibv_rc_pingpong -d rxe0 -g $v4 -m 256 -c -n 100 -s 4000" tp_pingpong $a4 -m 256 -n 100 -s 4000
	[ -z "$tag" ] || called rxe-card-vlan "ibv_rc_pingpong -d rxe0 -g $tag -c -n 100 -s 2000" tp_pingpong \
		--addr 198.51.100.1/24 --vlan 7 -n 100 -s 2000
	called rxe-card-write-bw "ib_write_bw -d rxe0 -x $v4 -u 18 -F -n 200 -s 65536 -q 4" tp_write_bw $a4 -n 200 -s 65536 -q 4
	calls rxe-card-read-lat "ib_read_lat -d rxe0 -x $v4 -u 18 -F -n 100 -s 4096" tp_read_lat $a4 -n 100 -s 4096
	calls rxe-card-atomic "ib_atomic_lat -d rxe0 -x $v4 -u 18 -F -n 50" tp_atomic_lat $a4 -n 50
	called_cm rxe-card-cm-called-send-bw "ib_send_bw -d rxe0 -u 18 -F -n 100 -s 4096 -q 3" tp_send_bw $a4 -n 100 -s 4096 -q 3
	called_cm rxe-card-cm-called-write-lat "ib_write_lat -d rxe0 -u 18 -F -n 50 -s 64" tp_write_lat $a4 -n 50 -s 64
	calls_cm rxe-card-cm-send-bw "ib_send_bw -d rxe0 -u 18 -F -n 100 -s 4096 -q 3" tp_send_bw $a4 -n 100 -s 4096 -q 3
	if grep -qs 'model: ' "$lab_tmp"/rxe-card-*.host; then
		fail rxe-card-no-violation "$(grep -hs 'model: ' "$lab_tmp"/rxe-card-*.host | head -n 2 | tr '\n' ';')"
	else
		pass rxe-card-no-violation
	fi
	port_eal=(--lcores 0@0 "--vdev=net_af_packet0,iface=v1") port_opt=()
	# Perftest on both sides. Of lat the guest calls, of bw we do.
	owner_space=(ip netns exec "$ns")
	perf_opt=(-d net_af_packet0 -x 3 -u 18 -F)
	if owner_start net_af_packet0 --vdev=net_af_packet0,iface=v1,qpairs=2 <<<$'roce 0 on\nroce addr add 0 192.0.2.1/24'; then
		for t in send write read atomic; do
			# As many under way as both have room for, which perftest does not ask.
			case $t in read | atomic) o='-o 16' ;; *) o= ;; esac
			called rxe-shared-$t-lat "ib_${t}_lat -d rxe0 -x $v4 -u 18 -F -n 50 $o" ib_${t}_lat -n 50 $o
			calls rxe-shared-$t-bw "ib_${t}_bw -d rxe0 -x $v4 -u 18 -F -n 100 $o" ib_${t}_bw -n 100 $o
		done
	fi
	owner_verdict rxe
	# One in twenty of the guest's packets is lost: requests, answers and acknowledgements.
	guest_exec guest 120 <<<'modprobe sch_netem && tc qdisc add dev eth0 root netem loss 5%' || fail rxe-netem "no sch_netem in the guest"
	called rxe-loss-rc "ibv_rc_pingpong -d rxe0 -g $v4 -c -n 100 -s 8192" tp_pingpong $a4 -n 100 -s 8192
	called rxe-loss-read "ib_read_bw -d rxe0 -x $v4 -u 18 -F -n 50 -s 16384" tp_read_bw $a4 -n 50 -s 16384
	calls rxe-loss-atomic "ib_atomic_lat -d rxe0 -x $v4 -u 18 -F -n 50" tp_atomic_lat $a4 -n 50
}
guest_exec guest 120 <<'GUEST'
echo "== dmesg"
dmesg
echo "== counters"
grep -H . /sys/class/infiniband/rxe0/ports/1/hw_counters/*
GUEST
no_rxe_errors=$(section guest dmesg | grep -E 'rxe|BUG|WARNING|Call Trace' | grep -Ei 'bad|err|warn|BUG|Call Trace' | grep -v 'failed to create')
if [ -z "$no_rxe_errors" ]; then pass rxe-log; else fail rxe-log "$(head -n 3 <<<"$no_rxe_errors" | tr '\n' ';')"; fi
exit $lab_bad
