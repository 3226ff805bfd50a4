#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The card's transport under the kernel's mlx4_ib and libmlx4: the ping-pong programs of rdma-core between the two ports
# of one card, over RoCE v1 and v2, with data checked where the program can.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

card verbs || exit
guest verbs 240 "$lab_tmp/verbs.sock" <<'GUEST'
modprobe mlx4_core; modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs; sleep 2
ip link set lo up; ip link set eth0 up; ip link set eth1 up; sleep 3
# pingpong TITLE PROGRAM GID OPTION...: port 1 serves, port 2 calls
pingpong() {
	local title=$1 prog=$2 gid=$3
	shift 3
	echo "== $title"
	timeout 40 "$prog" -d mlx4_0 -i 1 -g "$gid" "$@" >/tmp/server 2>&1 &
	local pid=$!
	sleep 1
	timeout 40 "$prog" -d mlx4_0 -i 2 -g "$gid" "$@" 127.0.0.1 2>&1
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
echo "== dmesg"
dmesg
GUEST
rc=$?
[ $rc = 0 ] || fail verbs-guest "status $rc: $(tail -n 2 "$lab_tmp/verbs.err" | tr '\n' ' ')"
for gid in 0 1; do
	for t in rc rc-event rc-large uc ud srq; do
		want "verbs-$t-v$((gid + 1))" verbs "$t$gid" '^client status 0$'
		want "verbs-$t-v$((gid + 1))-server" verbs "$t$gid" '^server status 0$'
		want "verbs-$t-v$((gid + 1))-done" verbs "$t$gid" 'iters in'
	done
done
no_errors verbs-log verbs dmesg
card_verdict verbs verbs
