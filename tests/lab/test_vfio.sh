#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Our driver in the guest, on the card bound to the kernel's own vfio-pci behind an IOMMU: unmodified testpmd forwards,
# is killed under traffic and started again; each time it comes up, and no DMA goes where the IOMMU has no window.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/share.sh
. "$(dirname "$0")/share.sh"
rounds=${LAB_ROUNDS:-10}
share=$lab_tmp/share

testpmd=$(command -v dpdk-testpmd) || { printf 'skip vfio: dpdk-testpmd is not installed\n'; exit 0; }
if ! { share_add "$share" "$testpmd" "$TP_BUILD/apps/triplane" "$TP_BUILD/drivers/mlx4/librte_net_mlx4_vfio.so" &&
	share_pmds "$share" librte_mempool_ring.so librte_bus_pci.so librte_bus_vdev.so; }; then
	fail vfio-share "cannot copy the programs and their libraries"
	exit 1
fi

card a || exit
guest a 400 -i -c 2 -m 1536 -s "$share" "$lab_tmp/a.sock" <<GUEST
$share_run
mkdir -p /var/run
echo "== bind"
modprobe vfio-pci; modprobe vfio_iommu_type1
echo 15b3 1007 >/sys/bus/pci/drivers/vfio-pci/new_id; sleep 1
readlink /sys/bus/pci/devices/0000:01:00.0/driver
readlink /sys/bus/pci/devices/0000:01:00.0/iommu_group
echo 160 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages
eal="--file-prefix=lab --no-telemetry -d /host/lib/librte_mempool_ring.so -d /host/lib/librte_net_mlx4_vfio.so -a 0000:01:00.0"
echo "== rounds"
i=0
while [ \$i -lt $rounds ]; do
	rm -f /tmp/out
	(run dpdk-testpmd -l 0,1 \$eal --huge-unlink -m 192 -- --total-num-mbufs=8192 --forward-mode=io --tx-first --stats-period 1 >/tmp/out 2>&1) &
	p=\$!
	j=0
	until grep -q 'RX-packets: *[1-9][0-9][0-9]' /tmp/out; do j=\$((j + 1)); [ \$j -lt 100 ] || break; sleep 0.2; done
	[ \$j -lt 100 ] || { echo "round \$i: no traffic"; tail -n 20 /tmp/out; break; }
	kill -9 \$p; wait \$p 2>/dev/null
	i=\$((i + 1))
done
echo "killed and started \$i times"
echo "== clean"
(run dpdk-testpmd -l 0,1 \$eal --huge-unlink -m 192 -- --total-num-mbufs=8192 --forward-mode=mac --tx-first --stats-period 1 >/tmp/out 2>&1) & p=\$!
sleep 6; kill -INT \$p; wait \$p; echo "status \$?"
grep -E 'TX-packets|mlx4|Bye' /tmp/out | tail -n 12
echo "== triplane"
(run triplane -l 0,1 \$eal --huge-unlink -m 192 -- -e 'set fwd flowgen 0; set fwd macswap 1; wait link up all 5' --live 3); echo "status \$?"
echo "== dmesg"
dmesg
GUEST
rc=$?
[ $rc = 0 ] || fail vfio-guest "status $rc: $(tail -n 2 "$lab_tmp/a.err" | tr '\n' ' ')"
want vfio-bound a bind 'vfio-pci'
want vfio-killed a rounds "^killed and started $rounds times"
want vfio-clean a clean '^Bye'
want vfio-triplane a triplane '^status 0$'
no_errors vfio-log a dmesg
card_verdict a vfio
exit $lab_bad
