#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck source=tests/lab/common.sh
# shellcheck disable=SC2086,SC2015,SC2054,SC1007,SC2002,SC2046,SC2012 # lists and numbers split on purpose; die does not come back
# A guest that speaks RoCE v2 with Linux's software RDMA (rdma_rxe) on an
# Ethernet link: the peer that a device on the other end of the link is tried
# against.
#
#   rxe-peer.sh start NAME LOCAL REMOTE ADDRESS/LENGTH [MTU]
#       boots guest NAME with one Ethernet card and the RDMA device rxe0 on it.
#       The wire is a pair of UNIX datagram sockets, one Ethernet frame (without
#       its checksum) in each datagram: the guest's end is bound to the path
#       LOCAL and sends to REMOTE, which need not exist yet. Afterwards use
#       "guest.sh exec NAME ..." and "guest.sh stop NAME".
#   rxe-peer.sh selftest
#       two such guests on one wire: ping, ibv_rc_pingpong, rping and latency
. "$(dirname "$0")/common.sh"
guest=$lab_src/guest.sh

start() { # start NAME LOCAL REMOTE ADDRESS/LENGTH [MTU]
    local name=$1 local_=$2 remote=$3 addr=$4 mtu=${5:-1500}
    # AF_UNIX paths are at most 107 bytes
    [ ${#local_} -le 107 ] && [ ${#remote} -le 107 ] || die $LAB_BROKEN "a socket path of the wire is longer than 107 characters"
    rm -f "$local_"
    "$guest" start "$name" -n "dgram,local.type=unix,local.path=$local_,remote.type=unix,remote.path=$remote" || return
    "$guest" exec "$name" -t 60 <<GUEST || { "$guest" stop "$name"; die $LAB_BROKEN "no RDMA device in guest $name"; }
set -e
modprobe virtio_net
i=0
while [ ! -e /sys/class/net/eth0 ]; do i=\$((i + 1)); [ \$i -lt 50 ]; sleep 0.2; done
ip link set eth0 mtu $mtu
ip addr add $addr dev eth0
ip link set eth0 up
modprobe rdma_rxe
modprobe rdma_ucm
modprobe ib_umad
rdma link add rxe0 type rxe netdev eth0
i=0
until grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state; do i=\$((i + 1)); [ \$i -lt 50 ]; sleep 0.2; done
for g in 0 1 2 3 4 5; do
    f=/sys/class/infiniband/rxe0/ports/1
    t=\$(cat \$f/gid_attrs/types/\$g 2>/dev/null) || continue
    echo "gid \$g \$(cat \$f/gids/\$g) \$t"
done
GUEST
}

case ${1:-} in
start)
    [ $# -ge 5 ] || die $LAB_BROKEN "see the head of $0"
    lab_ready
    shift
    start "$@"
    ;;
selftest)
    lab_ready
    d=$(mktemp -d /tmp/wire.XXXXXX) || exit $LAB_BROKEN
    trap '"$guest" stop rxe-a; "$guest" stop rxe-b; rm -rf "$d"' EXIT
    trap 'exit 130' INT TERM
    start rxe-a "$d/a" "$d/b" 192.0.2.1/24 || exit
    start rxe-b "$d/b" "$d/a" 192.0.2.2/24 || exit
    "$guest" exec rxe-a 'ping -c 3 -i 0.2 192.0.2.2' || die 1 "the wire carries nothing"
    # index 1 is the IPv4 GID (0 is made from the MAC address)
    "$guest" exec rxe-a -t 20 'ibv_rc_pingpong -e -d rxe0 -g 1 -n 1000 -s 1024 >/tmp/pp 2>&1 & sleep 1'
    "$guest" exec rxe-b -t 60 'ibv_rc_pingpong -e -d rxe0 -g 1 -n 1000 -s 1024 192.0.2.1' || die 1 "ibv_rc_pingpong failed"
    "$guest" exec rxe-a -t 20 'rping -s -a 192.0.2.1 -C 10 >/tmp/rping 2>&1 & sleep 1'
    "$guest" exec rxe-b -t 60 'rping -c -a 192.0.2.1 -C 10 -v | tail -n 2' || die 1 "rping failed"
    for t in ib_send_lat ib_write_lat ib_read_lat; do
        "$guest" exec rxe-a -t 20 "$t -d rxe0 -x 1 -n 1000 -s 64 >/tmp/$t 2>&1 & sleep 1"
        "$guest" exec rxe-b -t 60 "$t -d rxe0 -x 1 -n 1000 -s 64 192.0.2.1 | grep -A1 bytes" || die 1 "$t failed"
    done
    say "rxe works"
    ;;
*) die $LAB_BROKEN "see the head of $0" ;;
esac
