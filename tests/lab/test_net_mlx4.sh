#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A second witness: DPDK's own net_mlx4, through the guest's kernel driver and libibverbs, moves packets on the card.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/share.sh
. "$(dirname "$0")/share.sh"
share=$lab_tmp/share

testpmd=$(command -v dpdk-testpmd) || { printf 'skip net-mlx4: dpdk-testpmd is not installed\n'; exit 0; }
provider=$(find /usr/lib -name 'libmlx4-rdmav*.so' 2>/dev/null | head -n 1)
[ -n "$provider" ] || { printf 'skip net-mlx4: the mlx4 provider of libibverbs is not installed\n'; exit 0; }
if ! { share_add "$share" "$testpmd" "$provider" &&
	share_pmds "$share" librte_mempool_ring.so librte_bus_pci.so librte_net_mlx4.so; }; then
	fail net-mlx4-share "cannot copy the programs and their libraries"
	exit 1
fi

card a || exit
guest a 120 -c 2 -m 1536 -s "$share" "$lab_tmp/a.sock" <<GUEST
$share_run
mkdir -p /var/run
modprobe mlx4_core log_num_mgm_entry_size=-1; modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs; sleep 2
mkdir -p /usr/lib/x86_64-linux-gnu/libibverbs; cp /host/lib/${provider##*/} /usr/lib/x86_64-linux-gnu/libibverbs/
ip link set eth0 up; ip link set eth1 up; sleep 1
echo "== devices"
ls /sys/class/infiniband | wc -l
echo 128 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages
echo "== testpmd"
(run dpdk-testpmd -l 0,1 --no-telemetry -m 128 --huge-unlink -d /host/lib/librte_mempool_ring.so -d /host/lib/librte_net_mlx4.so -- \
	--total-num-mbufs=8192 --forward-mode=io --tx-first --stats-period 1 >/tmp/out 2>&1) & p=\$!
sleep 8; kill -INT \$p; wait \$p; echo "status \$?"
cat /tmp/out | tail -n 60
echo "== dmesg"
dmesg
GUEST
rc=$?
[ $rc = 0 ] || fail net-mlx4-guest "status $rc: $(tail -n 2 "$lab_tmp/a.err" | tr '\n' ' ')"
if section a devices | grep -qx 0; then
	printf 'skip net-mlx4: the card offers no RoCE, without which mlx4_ib makes no verbs device for Ethernet ports\n'
	card_verdict a net-mlx4
	exit $lab_bad
fi
want net-mlx4-traffic a testpmd 'RX-packets: [1-9][0-9]{2}'
want net-mlx4-end a testpmd '^Bye'
no_errors net-mlx4-log a dmesg
card_verdict a net-mlx4
exit $lab_bad
