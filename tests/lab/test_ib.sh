#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mlx4_ib of a stock kernel: on Ethernet ports it makes a verbs device whose GIDs follow the addresses of the interfaces
# (RoCE v1, and v2 on a Pro); on InfiniBand ports ibv_devinfo and ibstat agree with the card and the ib_ipoib interface
# appears.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

# roce NAME GIDS CARD OPTION...: the verbs device of two Ethernet ports, where an address makes so many GIDs
roce() {
	local t=$1 n=$2
	shift 2
	card "$t" "$@" || exit
	{
		printf '%sgids=%s\n' "$guest_waits" "$n"
		cat <<'GUEST'
modprobe mlx4_core; modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs
wait_for [ -e /sys/class/net/eth1 ]
ip link set eth0 up; ip link set eth1 up; ip addr add 192.0.2.1/24 dev eth0
net_up eth0 eth1; ib_up 1 2
has_gids() { [ "$(cat /sys/class/infiniband/mlx4_0/ports/1/gids/* 2>/dev/null | grep -c ffff:c000:0201)" = "$1" ]; }
wait_for has_gids "$gids"
echo "== devices"
ls /sys/class/infiniband
echo "== devinfo"
ibv_devinfo -v
echo "== port1"
ibv_devinfo -v -i 1
echo "== port2"
ibv_devinfo -v -i 2
echo "== rdma"
rdma link show
echo "== counters"
cat /sys/class/infiniband/mlx4_0/hw_counters/num_cqovf
echo "== address gone"
ip addr del 192.0.2.1/24 dev eth0; wait_for has_gids 0; ibv_devinfo -v -i 1
echo "== cable"
ip link set eth1 down; wait_for grep DOWN /sys/class/infiniband/mlx4_0/ports/1/state; ibv_devinfo -i 1
echo "== unload"
modprobe -r mlx4_ib && modprobe -r mlx4_en && modprobe -r mlx4_core && echo unloaded
echo "== dmesg"
dmesg
GUEST
	} | guest "$t" 400 "$lab_tmp/$t.sock"
	local rc=$? p
	[ $rc = 0 ] || fail "$t-guest" "status $rc: $(tail -n 2 "$lab_tmp/$t.err" | tr '\n' ' ')"
	want "$t-device" "$t" devices '^mlx4_0$'
	want "$t-guid" "$t" devinfo 'node_guid:.*0002:c903:00a1:b200'
	want "$t-ports" "$t" devinfo 'phys_port_cnt:.*2'
	want "$t-max-qp-wr" "$t" devinfo 'max_qp_wr:.*163[0-9][0-9]'
	want "$t-rss" "$t" devinfo 'max_rwq_indirection_table_size:.*128'
	want "$t-tso" "$t" devinfo 'max_tso:.*131072'
	for p in 1 2; do
		want "$t-port$p-ethernet" "$t" "port$p" 'link_layer:.*Ethernet'
		want "$t-port$p-active" "$t" "port$p" 'state:.*PORT_ACTIVE'
		want "$t-port$p-width" "$t" "port$p" 'active_width:.*4X'
		want "$t-port$p-gid" "$t" "port$p" "GID\\[  0\\]:.*fe80:0000:0000:0000:0202:c9ff:fea1:b20$p, RoCE v1"
	done
	want "$t-gid-ipv4" "$t" port1 '0000:0000:0000:0000:0000:ffff:c000:0201, RoCE v1'
	want "$t-netdev" "$t" rdma 'mlx4_0/2 state ACTIVE .*netdev eth1'
	want "$t-diagnostics" "$t" counters '^0$'
	want "$t-gid-gone" "$t" "address gone" 'GID'
	if grep -q 'c000:0201' <<<"$(section "$t" "address gone")"; then fail "$t-gid-removed" "it is still there"; else pass "$t-gid-removed"; fi
	want "$t-port-down" "$t" cable 'state:.*PORT_DOWN'
	want "$t-unload" "$t" unload '^unloaded$'
	no_errors "$t-log" "$t" dmesg
	card_verdict "$t" "$t"
}

roce roce 2
want roce-v2 roce port1 '::ffff:192.0.2.1, RoCE v2'
roce roce-cx3 1 --type cx3
if grep -q 'RoCE v2' <<<"$(section roce-cx3 devinfo)"; then fail roce-cx3-v1 "a ConnectX-3 offers RoCE v2"; else pass roce-cx3-v1; fi

card ipoib --port0 ib --port1 ib || exit
{
	printf %s "$guest_waits"
	cat <<'GUEST'
modprobe mlx4_core; modprobe mlx4_ib; modprobe ib_umad; modprobe ib_ipoib
wait_for [ -e /sys/class/net/ib1 ]
echo "== types"
cat /sys/bus/pci/devices/0000:01:00.0/mlx4_port1 /sys/bus/pci/devices/0000:01:00.0/mlx4_port2
echo "== interfaces"
ip link show type ipoib
echo "== ibstat"
ibstat
echo "== devinfo"
modprobe ib_uverbs; ibv_devinfo -v
echo "== counters"
cat /sys/class/infiniband/mlx4_0/ports/1/counters/port_xmit_data
echo "== unload"
rmmod ib_ipoib && rmmod mlx4_ib && rmmod mlx4_core && echo unloaded
echo "== dmesg"
dmesg
GUEST
} | guest ipoib 400 "$lab_tmp/ipoib.sock"
rc=$?
[ $rc = 0 ] || fail ipoib-guest "status $rc: $(tail -n 2 "$lab_tmp/ipoib.err" | tr '\n' ' ')"
want ipoib-type ipoib types '^ib$'
want ib-devinfo ipoib devinfo '0002:c903:00a1:b200'
want ib-devinfo-firmware ipoib devinfo 'fw_ver:.*2\.42\.5000'
want ib-devinfo-ports ipoib devinfo 'phys_port_cnt:.*2'
want ib-devinfo-mtu ipoib devinfo 'active_mtu:.*4096'
want ibstat-guid ipoib ibstat 'Port GUID: 0x0002c90300a1b201'
want ib-counters ipoib counters '^0$'
want ipoib-interface ipoib interfaces 'link/infiniband'
want ipoib-unload ipoib unload '^unloaded$'
no_errors ipoib-log ipoib dmesg
card_verdict ipoib ipoib
exit $lab_bad
