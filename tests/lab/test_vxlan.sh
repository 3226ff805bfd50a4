#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: a busy lcore beside the guest.
# A vxlan interface over the stock kernel's driver in a guest: what the card makes of its large sends, checksums inside and
# outside, passes our driver to a vxlan interface of the host's Linux stack, and tshark looks at each frame on the way.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# By name: the EAL refuses a plugin by path when a folder above it is world-writable.
plugin=librte_net_mlx4_vfio.so
export LD_LIBRARY_PATH=$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ns=labvx$$

for c in ip iperf3 dpdk-testpmd dumpcap tshark; do
	command -v $c >/dev/null || { printf 'skip vxlan: %s is not installed\n' $c; exit 0; }
done
if ! ip netns add "$ns" 2>/dev/null || [ ! -c /dev/net/tun ]; then
	printf 'skip vxlan: network namespaces and TAP devices need root\n'
	exit 0
fi
pids=()
vxlan_end() {
	local p
	for p in ${pids[@]+"${pids[@]}"}; do kill "$p" 2>/dev/null; done
	ip netns del "$ns"
	lab_end
}
trap vxlan_end EXIT
if ! ip -n "$ns" link add vx0 type vxlan id 42 remote 192.0.2.1 dstport 4789 2>/dev/null; then
	printf 'skip vxlan: the kernel of this machine has no vxlan interfaces\n'
	exit 0
fi

card guest --wire0 "dgram:$lab_tmp/w0,$lab_tmp/w1" --guid 0002c90300aa0000 || exit
card host --wire0 "dgram:$lab_tmp/w1,$lab_tmp/w0" --guid 0002c90300bb0000 || exit
# Before testpmd, which takes a CPU from then on.
guest_start guest -d "$lab_tmp/guest.sock" || fail vxlan-boot "$(tail -n 1 "$lab_tmp/guest.err")"
# Standard input stays open: testpmd ends with it.
sleep 900 > >(exec ip netns exec "$ns" dpdk-testpmd --lcores '0@0,1@1' --no-huge -m 256 --no-pci --no-shconf --no-telemetry \
	--file-prefix="$ns" -d "$plugin" --vdev="net_mlx4_user0,socket=$lab_tmp/host.sock" \
	--vdev=net_tap0,iface=lab0 -- -i --auto-start --port-topology=chained --portmask=0x5 \
	--total-num-mbufs=16384 >"$lab_tmp/testpmd.out" 2>&1) &
pids+=($!)
for ((i = 0; i < 600; i++)); do
	grep -q 'testpmd>' "$lab_tmp/testpmd.out" 2>/dev/null && break
	sleep 0.1
done
ip -n "$ns" addr add 192.0.2.2/24 dev lab0
ip -n "$ns" link set lab0 up
ip -n "$ns" addr add 198.51.100.2/24 dev vx0
ip -n "$ns" link set vx0 mtu 1450 up
ip netns exec "$ns" dumpcap -q -i lab0 -w "$lab_tmp/vxlan.pcapng" -f 'udp port 4789' >"$lab_tmp/dumpcap.out" 2>&1 &
dumpcap=$!
pids+=("$dumpcap")
ip netns exec "$ns" iperf3 -s -I "$lab_tmp/iperf3.pid" >"$lab_tmp/iperf3.out" 2>&1 &
pids+=($!)

guest_exec guest 240 <<'GUEST'
begin() { # MGM ENTRY SIZE: the driver with that kind of steering, and a tunnel over it
	modprobe -r mlx4_en; modprobe -r mlx4_core
	modprobe mlx4_core log_num_mgm_entry_size=$1; modprobe mlx4_en
	i=0; until [ -e /sys/class/net/eth0 ] || [ $i -ge 100 ]; do i=$((i + 1)); sleep 0.2; done
	ip addr add 192.0.2.1/24 dev eth0; ip link set eth0 up
	ip link add vx0 type vxlan id 42 remote 192.0.2.2 dstport 4789 dev eth0
	ip addr add 198.51.100.1/24 dev vx0; ip link set vx0 mtu 1450 up
	i=0; until ping -c 1 -W 1 192.0.2.2 >/dev/null || [ $i -ge 60 ]; do i=$((i + 1)); done
}
modprobe vxlan
# Tunnels need steering by rules, which is not the driver's default.
begin -1
echo "== offload"
ethtool -k eth0 | grep udp_tnl
echo "== ping"
pings 5 -s 1400 198.51.100.2
echo "== tcp"
iperf3 -c 198.51.100.2 -n 4M -f m; echo "status $?"
ethtool -S eth0 | grep -E '^ *tso_packets'
echo "== tcp back"
i=0; until iperf3 -c 198.51.100.2 -n 4M -f m -R; do i=$((i + 1)); [ $i -lt 3 ] || break; sleep 1; done
ethtool -S eth0 | grep -E 'rx_csum_good|rx_errors'
ip link del vx0
begin 10
echo "== software"
ethtool -k eth0 | grep udp_tnl
iperf3 -c 198.51.100.2 -n 1M -f m; echo "status $?"
echo "== dmesg"
dmesg
GUEST
rc=$?
[ $rc = 0 ] || fail vxlan-guest "status $rc: $(tail -n 2 "$lab_tmp/guest.err" | tr '\n' ' ')"
kill -INT "$dumpcap" 2>/dev/null
wait "$dumpcap"
frames() { # DISPLAY FILTER: how many frames of the capture are like that
	tshark -r "$lab_tmp/vxlan.pcapng" -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -o tcp.check_checksum:TRUE -Y "$1" 2>/dev/null | wc -l
}
least() { # TEST NUMBER DISPLAY FILTER
	local n
	n=$(frames "$3")
	if [ "$n" -ge "$2" ]; then pass "$1"; else fail "$1" "$n frames like '$3', wanted $2"; fi
}
want vxlan-offload guest offload 'tx-udp_tnl-segmentation: on'
want vxlan-ping guest ping ' 0% packet loss'
want vxlan-tcp guest tcp 'receiver'
want vxlan-tso guest tcp 'tso_packets: [1-9]'
want vxlan-tcp-back guest 'tcp back' 'receiver'
# Without offloads the driver sends what the kernel has cut and summed, and still marks it as a tunnel's.
want vxlan-software-offload guest software 'tx-udp_tnl-segmentation: off'
want vxlan-software-tcp guest software 'receiver'
want vxlan-checksum-rx guest 'tcp back' 'rx_csum_good: [1-9]'
# Both addresses of a frame match: of the packet outside and of the one inside.
least vxlan-inner-good 100 'vxlan.vni == 42 && ip.src == 198.51.100.1 && tcp.len > 1000 && tcp.checksum.status == 1'
least vxlan-back-good 100 'vxlan.vni == 42 && ip.src == 198.51.100.2 && tcp.len > 1000 && tcp.checksum.status == 1'
# Of TCP Linux sends 0xffff where the sum is 0, once in 65536 segments: the same number (RFC 1624), which tshark would have as 0.
bad=$(frames 'vxlan && (ip.checksum.status == 0 || udp.checksum.status == 0 || (tcp.checksum.status == 0 && !tcp.checksum.ffff) || icmp.checksum.status == 0)')
if [ "$bad" = 0 ]; then pass vxlan-no-bad-checksum; else fail vxlan-no-bad-checksum "$bad frames"; fi
no_errors vxlan-log guest dmesg
for m in tcp 'tcp back'; do
	section guest "$m" | sed -n "s/.* \([0-9.]* Mbits\/sec\).*receiver.*/# vxlan: $m \1/p"
done
for p in "${pids[@]}"; do kill "$p" 2>/dev/null; done
card_verdict guest vxlan-guest
card_verdict host vxlan-host
exit $lab_bad
