#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A fabric of one InfiniBand switch and the two ports of a card, managed by OpenSM in the guest that has the card, over
# its stock mlx4_ib: the subnet comes up, the standard tools see it, verbs programs and ib_ipoib talk over it.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

card fabric --port0 ib --port1 ib --ib-speed0 fdr10 --ib-speed1 fdr --wire0 ibswitch:lab/port:1 --wire1 ibswitch:lab/port:4 || exit
if ! guest_start fabric -d "$lab_tmp/fabric.sock"; then
	fail ib-fabric-guest "does not boot: $(tail -n 2 "$lab_tmp/fabric.err" | tr '\n' ' ')"
	exit 1
fi
{
	printf %s "$guest_waits"
	cat <<'GUEST'
modprobe mlx4_core; modprobe mlx4_ib; modprobe ib_umad; modprobe ib_uverbs; modprobe ib_ipoib
wait_for [ -e /sys/class/net/ib1 ]
wait_for [ -e /dev/infiniband/umad1 ]
ip link set lo up
mkdir -p /var/cache/opensm /var/log /etc/opensm
echo "force_log_flush TRUE" >/tmp/opensm.conf
printf 'Default=0x7fff,ipoib:ALL=full;\nlab=0x0007,ipoib:ALL=full;\n' >/tmp/partitions.conf
opensm -B -P /tmp/partitions.conf -F /tmp/opensm.conf -f /tmp/opensm.log -g 0x0002c90300a1b201 >/dev/null 2>&1
wait_for grep 'SUBNET UP' /tmp/opensm.log
ib_up 1 2
echo "== opensm"
grep -E 'SUBNET|ERR' /tmp/opensm.log
echo "== ibstat"
ibstat
echo "== rates"
cat /sys/class/infiniband/mlx4_0/ports/1/rate /sys/class/infiniband/mlx4_0/ports/2/rate
echo "== netdiscover"
ibnetdiscover
echo "== linkinfo"
iblinkinfo
echo "== sminfo"
sminfo
echo "== saquery"
saquery NR
echo "== perfquery"
perfquery -x
echo "== perfquery-switch"
perfquery "$(ibnetdiscover | sed -n 's/^Switch.* lid \([0-9]*\) lmc.*/\1/p')" 1
GUEST
} | guest_exec fabric 450
want ib-subnet-up fabric opensm 'SUBNET UP'
want ib-ibstat-active fabric ibstat 'State: Active'
want ib-ibstat-lid fabric ibstat 'Base lid: [1-9]'
want ib-ibnetdiscover fabric netdiscover 'Switch.*8 "S-0002c905'
want ib-ibnetdiscover-ca fabric netdiscover 'Ca.*2 "H-0002c90300a1b200'
want ib-iblinkinfo-fdr10 fabric linkinfo '4X.*10.0 Gbps \(FDR10\) Active/  LinkUp'
want ib-iblinkinfo-fdr fabric linkinfo '4X.*14.0625 Gbps Active/  LinkUp'
want ib-rate-fdr10 fabric rates '40 Gb/sec \(4X FDR10\)'
want ib-rate-fdr fabric rates '56 Gb/sec \(4X FDR\)'
want ib-sminfo fabric sminfo 'SMINFO_MASTER'
want ib-saquery fabric saquery 'node_guid.*0x0002c90300a1b200'
want ib-perfquery fabric perfquery 'PortXmitPkts:\.*[1-9]'
want ib-perfquery-switch fabric perfquery-switch 'PortRcvPkts:\.*[1-9]'

{
	printf %s "$guest_waits"
	cat <<'GUEST'
echo "== pingpong"
ibv_rc_pingpong -d mlx4_0 -i 1 -n 20 & listens $!; ibv_rc_pingpong -d mlx4_0 -i 2 -n 20 127.0.0.1; echo "status $?"; wait
echo "== pingpong-uc"
ibv_uc_pingpong -d mlx4_0 -i 1 -n 20 & listens $!; ibv_uc_pingpong -d mlx4_0 -i 2 -n 20 127.0.0.1; echo "status $?"; wait
echo "== pingpong-ud"
ibv_ud_pingpong -d mlx4_0 -i 1 -n 20 & listens $!; ibv_ud_pingpong -d mlx4_0 -i 2 -n 20 127.0.0.1; echo "status $?"; wait
echo "== ibping"
ibping -S -C mlx4_0 -P 2 & server=$!
lid=$(cat /sys/class/infiniband/mlx4_0/ports/2/lid)
# It tells nobody that it serves: until one request is answered.
answers() { ibping -C mlx4_0 -P 1 -c 1 $((lid)) | grep ' 0% packet loss'; }
wait_for answers
ibping -C mlx4_0 -P 1 -c 3 $((lid)); kill $server
ip netns add far
echo 0x8007 >/sys/class/net/ib0/create_child
echo 0x8007 >/sys/class/net/ib1/create_child
ip link set ib1.8007 netns far
ip link set ib1 netns far
ip addr add 192.0.2.1/24 dev ib0; ip addr add 2001:db8::1/64 dev ib0 nodad; ip link set ib0 up
ip -n far link set lo up
ip -n far addr add 192.0.2.2/24 dev ib1; ip -n far addr add 2001:db8::2/64 dev ib1 nodad; ip -n far link set ib1 up
wait_for ping -c 1 -W 1 192.0.2.2
wait_for ping -6 -c 1 -W 1 2001:db8::2
echo "== ping"
pings 3 192.0.2.2
echo "== ping-back"
ip netns exec far pings 3 -s 1900 192.0.2.1
echo "== ping6"
pings 3 -6 2001:db8::2
echo "== child"
cat /sys/class/infiniband/mlx4_0/ports/1/pkeys/1
ip addr add 198.51.100.1/24 dev ib0.8007; ip link set ib0.8007 up
ip -n far addr add 198.51.100.2/24 dev ib1.8007; ip -n far link set ib1.8007 up
wait_for ping -c 1 -W 1 198.51.100.2
pings 3 198.51.100.2
echo "== iperf"
far_listens() { wait_for ip netns exec far grep -qs ':1451 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; }
ip netns exec far iperf3 -s -1 >/dev/null & far_listens; iperf3 -c 192.0.2.2 -t 2; echo "status $?"; wait
echo "== iperf-udp"
ip netns exec far iperf3 -s -1 >/dev/null & far_listens; iperf3 -c 192.0.2.2 -u -b 20M -t 2; echo "status $?"; wait
GUEST
} | guest_exec fabric 450
for t in pingpong pingpong-uc pingpong-ud; do want "ib-$t" fabric $t '^status 0$'; done
want ib-ibping fabric ibping '3 packets received|0% packet loss'
want ib-ipoib-ping fabric ping ' 0% packet loss'
want ib-ipoib-ping-back fabric ping-back ' 0% packet loss'
want ib-ipoib-ping6 fabric ping6 ' 0% packet loss'
want ib-ipoib-child-pkey fabric child '^0x8007$'
want ib-ipoib-child fabric child ' 0% packet loss'
want ib-ipoib-iperf fabric iperf '^status 0$'
want ib-ipoib-iperf-udp fabric iperf-udp '^status 0$'

{
	printf %s "$guest_waits"
	cat <<'GUEST'
far_listens() { wait_for ip netns exec far grep -qs ':1451 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; }
echo connected >/sys/class/net/ib0/mode
ip netns exec far sh -c 'echo connected >/sys/class/net/ib1/mode; ip link set ib1 mtu 65520'
ip link set ib0 mtu 65520
wait_for ping -c 1 -W 1 -s 20000 192.0.2.2
echo "== connected"
cat /sys/class/net/ib0/mode
pings 5 -s 20000 192.0.2.2
echo "== connected-iperf"
ip netns exec far iperf3 -s -1 >/dev/null & far_listens; iperf3 -c 192.0.2.2 -t 2; echo "status $?"; wait
echo "== dmesg"
dmesg
GUEST
} | guest_exec fabric 360
want ib-ipoib-connected fabric connected ' 0% packet loss'
want ib-ipoib-connected-iperf fabric connected-iperf '^status 0$'
no_errors ib-fabric-log fabric dmesg
"$lab_scripts/guest.sh" stop "fabric-$$"
guests=()
card_verdict fabric ib-fabric
exit $lab_bad
