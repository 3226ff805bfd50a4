#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The card's transport under the kernel's mlx4_ib and libmlx4: the ping-pong programs of rdma-core and perftest between
# the two ports of one card, over RoCE v1 and v2, with data checked where the program can; connections by rdma_cm, whose
# messages go through QP1, on one port and from one network namespace to another.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

card verbs || exit
{
	printf %s "$guest_waits"
	cat <<'GUEST'
modprobe mlx4_core; modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs; modprobe rdma_ucm
wait_for [ -e /sys/class/net/eth1 ]
ip link set lo up; ip link set eth0 up; ip link set eth1 up
net_up eth0 eth1; ipv6_ready eth0 eth1; ib_up 1 2
# pingpong TITLE PROGRAM GID OPTION...: port 1 serves, port 2 calls
pingpong() {
	local title=$1 prog=$2 gid=$3
	shift 3
	both "$title" "$prog -d mlx4_0 -i 1 -g $gid $*" "$prog -d mlx4_0 -i 2 -g $gid $* 127.0.0.1"
}
# perf TITLE PROGRAM OPTION...: the same with perftest, over RoCE v2
perf() {
	local title=$1 prog=$2
	shift 2
	both "$title" "$prog -d mlx4_0 -i 1 -x 1 -F $*" "$prog -d mlx4_0 -i 2 -x 1 -F $* 127.0.0.1"
}
# both TITLE SERVER CLIENT
both() {
	echo "== $1"
	timeout 40 $2 >/tmp/server 2>&1 &
	local pid=$!
	case $2 in
	*rping* | *udaddy*) cm_listens $pid ;;
	*) listens $pid ;;
	esac
	timeout 40 $3 2>&1
	echo "client status $?"
	wait $pid
	echo "server status $?"
	cat /tmp/server
}
for gid in 0 1; do
	pingpong rc$gid ibv_rc_pingpong $gid -n 200 -c
	pingpong rc-event$gid ibv_rc_pingpong $gid -n 50 -e
	pingpong rc-large$gid ibv_rc_pingpong $gid -n 20 -s 1048576 -m 1024 -c
	pingpong uc$gid ibv_uc_pingpong $gid -n 200
	pingpong ud$gid ibv_ud_pingpong $gid -n 200
	pingpong srq$gid ibv_srq_pingpong $gid -n 200 -q 4
done
perf send-bw ib_send_bw -n 100 -s 4096
perf send-bw-ud ib_send_bw -n 100 -s 1024 -c UD
# A group of datagram queue pairs, on both ports
perf mcast ib_send_bw -n 100 -s 1024 -c UD -g
perf write-lat ib_write_lat -n 100 -s 64
perf read-bw ib_read_bw -n 50 -s 8192
perf atomic-lat ib_atomic_lat -n 50
ip addr add 192.0.2.1/24 dev eth0
both rping-own "rping -s -a 192.0.2.1 -C 5 -V" "rping -c -a 192.0.2.1 -C 5 -V"
# mlx4_ib knows its ports in the first namespace only; a VLAN of one may go elsewhere.
modprobe 8021q
ip netns add far
far="ip netns exec far"
ip link add link eth0 name near0 type vlan id 7
ip link add link eth1 name far0 type vlan id 7
ip link set far0 netns far
$far ip link set lo up; $far ip link set far0 up; $far ip addr add 198.51.100.2/24 dev far0
ip link set near0 up; ip addr add 198.51.100.1/24 dev near0
wait_for $far ping -c 1 -W 1 198.51.100.1
both rping "$far rping -s -a 198.51.100.2 -C 5 -S 1000 -V" "rping -c -a 198.51.100.2 -C 5 -S 1000 -V"
both udaddy "$far udaddy -b 198.51.100.2 -C 10" "udaddy -s 198.51.100.2 -C 10"
echo "== counters"
for i in 1 2; do
	grep . /sys/class/infiniband/mlx4_0/ports/$i/hw_counters/rq_num_* /sys/class/infiniband/mlx4_0/ports/$i/hw_counters/sq_num_*
done
echo "== dmesg"
dmesg
GUEST
} | guest verbs 400 -c 2 "$lab_tmp/verbs.sock"
rc=$?
[ $rc = 0 ] || fail verbs-guest "status $rc: $(tail -n 2 "$lab_tmp/verbs.err" | tr '\n' ' ')"
for gid in 0 1; do
	for t in rc rc-event rc-large uc ud srq; do
		want "verbs-$t-v$((gid + 1))" verbs "$t$gid" '^client status 0$'
		want "verbs-$t-v$((gid + 1))-server" verbs "$t$gid" '^server status 0$'
		want "verbs-$t-v$((gid + 1))-done" verbs "$t$gid" 'iters in'
	done
done
for t in send-bw send-bw-ud mcast write-lat read-bw atomic-lat rping-own rping udaddy; do
	want "verbs-$t" verbs "$t" '^client status 0$'
	want "verbs-$t-server" verbs "$t" '^server status 0$'
done
want verbs-counters verbs counters 'ports/2/hw_counters/sq_num_rnr:'
no_errors verbs-log verbs dmesg
card_verdict verbs verbs
