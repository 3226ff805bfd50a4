#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mlx4_ib of a stock kernel: next to Ethernet ports of a card that offers no RoCE it loads and makes no device; on
# InfiniBand ports ibv_devinfo and ibstat agree with the card and the ib_ipoib interface appears.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

card eth || exit
guest eth 90 "$lab_tmp/eth.sock" <<'GUEST'
modprobe mlx4_core; modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs; sleep 2
echo "== devices"
ls /sys/class/infiniband
echo "== devinfo"
ibv_devinfo -v
echo "== unload"
modprobe -r mlx4_ib && modprobe -r mlx4_en && modprobe -r mlx4_core && echo unloaded
echo "== dmesg"
dmesg
GUEST
rc=$?
[ $rc = 0 ] || fail ib-guest "status $rc: $(tail -n 2 "$lab_tmp/eth.err" | tr '\n' ' ')"
want ib-no-roce eth devinfo 'No IB devices found'
want ib-unload eth unload '^unloaded$'
no_errors ib-log eth dmesg
card_verdict eth ib

card ipoib --port0 ib --port1 ib || exit
guest ipoib 90 "$lab_tmp/ipoib.sock" <<'GUEST'
modprobe mlx4_core; modprobe mlx4_ib; modprobe ib_umad; modprobe ib_ipoib; sleep 2
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
