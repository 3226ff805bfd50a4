#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: a busy lcore beside the guest.
# The stock kernel's driver in a guest talks to the host's Linux stack through our driver: two cards joined by a wire of
# datagram sockets; the guest has one, on the host unmodified testpmd moves packets between the other and a TAP device.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# By name: the EAL refuses a plugin by path when a folder above it is world-writable.
plugin=librte_net_mlx4_vfio.so
export LD_LIBRARY_PATH=$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ns=lab$$

for c in ip iperf3 dpdk-testpmd; do
	command -v $c >/dev/null || { printf 'skip peer: %s is not installed\n' $c; exit 0; }
done
if ! ip netns add "$ns" 2>/dev/null || [ ! -c /dev/net/tun ]; then
	printf 'skip peer: network namespaces and TAP devices need root\n'
	exit 0
fi
peer_end() {
	local p
	for p in ${pids[@]+"${pids[@]}"}; do kill "$p" 2>/dev/null; done
	ip netns del "$ns"
	lab_end
}
pids=()
trap peer_end EXIT

card guest --wire0 "dgram:$lab_tmp/w0,$lab_tmp/w1" --guid 0002c90300aa0000 || exit
card host --wire0 "dgram:$lab_tmp/w1,$lab_tmp/w0" --guid 0002c90300bb0000 || exit
# Standard input stays open: testpmd ends with it.
sleep 600 > >(exec ip netns exec "$ns" dpdk-testpmd --lcores '0@0,1@1' --no-huge -m 256 --no-pci --no-shconf --no-telemetry \
	--file-prefix="$ns" -d "$plugin" --vdev="net_mlx4_user0,socket=$lab_tmp/host.sock" \
	--vdev=net_tap0,iface=lab0 -- -i --no-mlockall --auto-start --port-topology=chained --portmask=0x5 \
	--total-num-mbufs=16384 >"$lab_tmp/testpmd.out" 2>&1) &
pids+=($!)
for ((i = 0; i < 600; i++)); do
	grep -q 'testpmd>' "$lab_tmp/testpmd.out" 2>/dev/null && break
	sleep 0.1
done
ip netns exec "$ns" ip addr add 192.0.2.2/24 dev lab0 2>/dev/null
ip netns exec "$ns" ip link set lab0 up
ip netns exec "$ns" iperf3 -s -I "$lab_tmp/iperf3.pid" >"$lab_tmp/iperf3a.out" 2>&1 &
pids+=($!)

{
	printf %s "$guest_waits"
	cat <<'GUEST'
modprobe mlx4_en; wait_for [ -e /sys/class/net/eth0 ]
ip addr add 192.0.2.1/24 dev eth0; ip link set eth0 up
net_up eth0; ipv6_ready eth0; wait_for ping -c 1 -W 1 192.0.2.2
echo "== link"
ethtool eth0
echo "== ping"
pings 5 192.0.2.2
pings 3 -s 1472 -M do 192.0.2.2
echo "== ping6"
pings 3 ff02::1%eth0
echo "== tcp"
ethtool -k eth0 | grep -E 'tcp-segmentation|^tx-check|^rx-check'
iperf3 -c 192.0.2.2 -t 2 -f m; echo "status $?"
ethtool -S eth0 | grep -E 'tso_packets|rx_csum_good|tx_chksum'
echo "== tcp back"
i=0; until iperf3 -c 192.0.2.2 -t 2 -f m -R; do i=$((i + 1)); [ $i -lt 5 ] || break; sleep 1; done
ethtool -S eth0 | grep -E 'rx_csum_good|rx_errors'
echo "== dmesg"
dmesg
GUEST
} | guest guest 400 "$lab_tmp/guest.sock"
rc=$?
[ $rc = 0 ] || fail peer-guest "status $rc: $(tail -n 2 "$lab_tmp/guest.err" | tr '\n' ' ')"
want peer-link guest link 'Link detected: yes'
want peer-ping guest ping ' 0% packet loss'
want peer-tcp guest tcp 'receiver'
want peer-tso guest tcp 'tso_packets: [1-9]'
want peer-checksum-tx guest tcp 'tx_chksum_offload: [1-9]'
want peer-tcp-back guest 'tcp back' 'receiver'
want peer-checksum-rx guest 'tcp back' 'rx_csum_good: [1-9]'
no_errors peer-log guest dmesg
for m in tcp 'tcp back'; do
	section guest "$m" | sed -n "s/.* \([0-9.]* Mbits\/sec\).*receiver.*/# peer: $m \1/p"
done
for p in "${pids[@]}"; do kill "$p" 2>/dev/null; done
card_verdict guest peer-guest
card_verdict host peer-host
exit $lab_bad
