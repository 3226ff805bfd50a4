#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mlx4_en of a stock kernel: every part of an Ethernet port that ethtool and ip reach, and traffic between the ports.
# Twice: the kernel steers by multicast groups by default (log_num_mgm_entry_size=10), and by rules with -1.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

run() { # TEST STEERING MBPS
	local t=$1
	card "$t" --wol 1 --rate0 "$3" || exit
	guest "$t" 400 -c 2 "$lab_tmp/$t.sock" <<GUEST
$guest_waits
in_b() { ip netns exec b "\$@"; }
modprobe mlx4_core log_num_mgm_entry_size=$2
modprobe mlx4_en
modprobe 8021q
wait_for [ -e /sys/class/net/eth1 ]
ip netns add b
ip link set eth1 netns b
ip link set eth0 up
ip netns exec b ip link set eth1 up
ip addr add 192.0.2.1/24 dev eth0
ip netns exec b ip addr add 192.0.2.2/24 dev eth1
net_up eth0; ipv6_ready eth0
wait_for in_b sh -c 'ip -6 addr show dev eth1 scope link | grep inet6 | grep -v tentative'
wait_for ping -c 1 -W 1 192.0.2.2
echo "== link"
ethtool eth0
ip -br link show eth0
echo "== ping"
pings 5 192.0.2.2
echo "== ping6"
a=\$(ip netns exec b ip -6 -br addr show eth1 | sed 's/.*\(fe80[^/]*\).*/\1/')
pings 3 "\$a%eth0"
for o in i k g l S a x; do
	echo "== ethtool -\$o"
	ethtool -\$o eth0; echo "status \$?"
done
echo "== pause"
ethtool -A eth0 rx off tx off; echo "status \$?"; ethtool -a eth0
echo "== ring"
ethtool -G eth0 rx 512 tx 512; echo "status \$?"; ethtool -g eth0
echo "== channels"
ethtool -L eth0 rx 1 tx 1; echo "status \$?"; ethtool -L eth0 rx 2 tx 2; echo "status \$?"; ethtool -l eth0
echo "== mtu"
ip link set eth0 mtu 9000; echo "status \$?"; ip netns exec b ip link set eth1 mtu 9000
wait_for ping -c 1 -W 1 192.0.2.2; pings 3 -s 8972 -M do 192.0.2.2
echo "== vlan"
ip link add link eth0 name eth0.7 type vlan id 7; ip addr add 198.51.100.1/24 dev eth0.7; ip link set eth0.7 up
ip netns exec b sh -c 'ip link add link eth1 name eth1.7 type vlan id 7; ip addr add 198.51.100.2/24 dev eth1.7; ip link set eth1.7 up'
wait_for ping -c 1 -W 1 198.51.100.2; pings 3 198.51.100.2
echo "== multicast"
ip maddr add 01:00:5e:01:02:03 dev eth0; ip link set eth0 promisc on; ip link set eth0 allmulticast on
ip link show eth0; ip link set eth0 promisc off; ip link set eth0 allmulticast off
pings 2 192.0.2.2
echo "== wol"
ethtool -s eth0 wol g; echo "status \$?"; ethtool eth0 | grep Wake-on
echo "== wol other"
ip netns exec b ethtool eth1 | grep Wake-on
echo "== wol off"
ethtool -s eth0 wol d; echo "status \$?"; ethtool eth0 | grep Wake-on
echo "== wol refused"
ethtool -s eth0 wol u; echo "status \$?"
echo "== dcb"
dcb ets show dev eth0; echo "status \$?"
dcb pfc set dev eth0 prio-pfc 3:on; echo "status \$?"; dcb pfc show dev eth0
echo "== iperf3"
ip netns exec b iperf3 -s -D -1 -I /tmp/iperf3.pid >/tmp/iperf3.log 2>&1
wait_for in_b grep -qs ':1451 0*:0000 0A' /proc/net/tcp /proc/net/tcp6
iperf3 -c 192.0.2.2 -t 2 -f m; echo "status \$?"
echo "== selftest"
ethtool -t eth0 online; echo "status \$?"
echo "== selftest offline"
ethtool -t eth0 offline; echo "status \$?"
echo "== cable"
ip netns exec b ip link set eth1 down; wait_for grep -x 0 /sys/class/net/eth0/carrier; ip -br link show eth0
ip netns exec b ip link set eth1 up; net_up eth0; ip -br link show eth0
echo "== unload"
modprobe -r mlx4_en && modprobe -r mlx4_core && echo unloaded
echo "== dmesg"
dmesg
GUEST
	local rc=$?
	[ $rc = 0 ] || fail "$t-guest" "status $rc: $(tail -n 2 "$lab_tmp/$t.err" | tr '\n' ' ')"
	want "$t-link" "$t" link 'Link detected: yes'
	want "$t-speed" "$t" link "Speed: ${3}Mb/s"
	want "$t-ping" "$t" ping ' 0% packet loss'
	want "$t-ping6" "$t" ping6 ' 0% packet loss'
	want "$t-driver" "$t" "ethtool -i" 'firmware-version: 2.42.5000'
	want "$t-features" "$t" "ethtool -k" '^tcp-segmentation-offload: on'
	want "$t-statistics" "$t" "ethtool -S" 'rx_packets_phy: [1-9]'
	want "$t-hash" "$t" "ethtool -x" 'toeplitz: on'
	want "$t-pause" "$t" pause '^RX:.*off'
	want "$t-ring" "$t" ring 'RX:[[:space:]]+512'
	want "$t-channels" "$t" channels 'RX:[[:space:]]+2'
	want "$t-jumbo" "$t" mtu ' 0% packet loss'
	want "$t-vlan" "$t" vlan ' 0% packet loss'
	want "$t-promiscuous" "$t" multicast 'PROMISC'
	want "$t-after-promiscuous" "$t" multicast ' 0% packet loss'
	want "$t-wol-offered" "$t" link 'Supports Wake-on: g'
	want "$t-wol" "$t" wol '^[[:space:]]*Wake-on: g'
	want "$t-wol-other-port" "$t" "wol other" '^[[:space:]]*Wake-on: d'
	want "$t-wol-off" "$t" "wol off" '^[[:space:]]*Wake-on: d'
	want "$t-wol-refused" "$t" "wol refused" 'status [1-9]'
	want "$t-pfc" "$t" dcb '3:on'
	want "$t-iperf3" "$t" iperf3 'receiver'
	section "$t" iperf3 | sed -n "s/.* \([0-9.]* Mbits\/sec\).*receiver.*/# $t: iperf3 port to port \1/p"
	want "$t-selftest" "$t" selftest 'result is PASS'
	want "$t-selftest-offline" "$t" "selftest offline" 'result is PASS'
	want "$t-cable" "$t" cable 'eth0 +DOWN'
	want "$t-unload" "$t" unload '^unloaded$'
	no_errors "$t-log" "$t" dmesg
	card_verdict "$t" "$t"
}

run en -1 40000
run en-default 10 56000
exit $lab_bad
