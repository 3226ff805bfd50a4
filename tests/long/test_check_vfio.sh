#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: the guest has two CPUs.
# Lab: its guests are those of tests/lab.
# Every stage of triplane-check under the kernel's own vfio-pci behind an IOMMU: on a card of two Ethernet ports with a cable
# between them, and on one of two InfiniBand ports. The card is given back reset, and saw no rule broken.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"
# shellcheck source=tests/lab/share.sh
. "$(dirname "$0")/../lab/share.sh"
share=$lab_tmp/share
if ! { share_add "$share" "$TP_BUILD/apps/check/triplane-check" "$TP_BUILD/drivers/mlx4/librte_net_mlx4_vfio.so" &&
	share_pmds "$share" librte_mempool_ring.so librte_bus_pci.so librte_bus_vdev.so; }; then
	fail check-vfio-share "cannot copy the program and its libraries"
	exit 1
fi

# judge LEFT_OUT NUMBER:NAME...: of the report on standard input all stages but these are done, nothing failed, and these passed.
judge() {
	python3 -c '
import json, sys
doc, left, wanted = json.load(sys.stdin), sys.argv[1].split(","), [w.split(":") for w in sys.argv[2:]]
bad = ["%d ended with %s" % (s["number"], s["end"]) for s in doc["stages"] if s["end"] != "done" and s["name"] not in left]
bad += ["%d %s: %s" % (s["number"], c["name"], c["text"]) for s in doc["stages"] for c in s["checks"] if c["result"] == "fail"]
passed = {(str(s["number"]), c["name"]) for s in doc["stages"] for c in s["checks"] if c["result"] == "pass"}
bad += ["%s %s did not pass" % tuple(w) for w in wanted if tuple(w) not in passed]
if doc["verdict"] != "passed" or bad:
    sys.exit("%s: %s" % (doc["verdict"], bad))' "$@"
}

# examine NAME LEFT_OUT NUMBER:NAME... -- CARD OPTION...
examine() {
	local name=$1 left=$2 wanted=() why
	shift 2
	while [ "$1" != -- ]; do wanted+=("$1"); shift; done
	shift
	card "$name" "$@" || return
	guest "$name" 1800 -i -c 2 -m 1536 -s "$share" "$lab_tmp/$name.sock" <<GUEST || fail "$name-guest" "$(tail -n 2 "$lab_tmp/$name.err" | tr '\n' ' ')"
$share_run
mkdir -p /var/run $(pmd_folder)
modprobe vfio-pci; modprobe vfio_iommu_type1
echo 15b3 1007 >/sys/bus/pci/drivers/vfio-pci/new_id; i=0; until [ -e /sys/bus/pci/devices/0000:01:00.0/driver ] || [ \$i = 300 ]; do i=\$((i + 1)); sleep 0.1; done
# In large pages: of small ones the socket of the card takes fewer windows than it would need.
echo 224 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages
ln -s /host/lib/librte_mempool_ring.so $(pmd_folder)/
echo "== check"
(run triplane-check --json /tmp/check.json 0000:01:00.0 2>&1); echo "status \$?"
echo "== json"
cat /tmp/check.json
echo "== dmesg"
dmesg
GUEST
	want "$name-status" "$name" check '^status 0$'
	if why=$(section "$name" json | judge "$left" "${wanted[@]}"); then pass "$name-stages"; else fail "$name-stages" "$why"; fi
	no_errors "$name-log" "$name" dmesg
	card_verdict "$name" "$name"
}

examine ethernet infiniband 0:vfio 0:msix 1:query-fw 3:bring-up 4:queue-3-interrupt 6:large-send-tcp6 7:rate 7:pause 7:pause-by-priority 7:roce-rc-send \
	7:roce-rc-atomic 7:roce-uc-write 7:roce-ud-send 9:reset-in-place --
examine infiniband loopback,cable 0:vfio 3:bring-up 8:subnet 8:ipoib-arp 8:ipoib-datagrams 9:reset-in-place -- --port0 ib --port1 ib
exit $lab_bad
