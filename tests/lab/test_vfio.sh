#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: the guest has two CPUs.
# Our driver in the guest, on the card bound to the kernel's own vfio-pci behind an IOMMU: unmodified testpmd forwards,
# is killed under traffic and started again; each time it comes up, and no DMA goes where the IOMMU has no window. A second process
# sends by queues of its own. Interrupts of the kernel's vfio-pci wake an lcore of triplane that sleeps until something comes.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/share.sh
. "$(dirname "$0")/share.sh"
rounds=${LAB_ROUNDS:-10}

share=$lab_tmp/share

if ! { testpmd=$(command -v dpdk-testpmd) && info=$(command -v dpdk-proc-info); }; then
	printf 'skip vfio: dpdk-testpmd or dpdk-proc-info is not installed\n'
	exit 0
fi
if ! { share_add "$share" "$testpmd" "$info" "$TP_BUILD/apps/triplane" "$TP_BUILD/drivers/mlx4/librte_net_mlx4_vfio.so" &&
	share_pmds "$share" librte_mempool_ring.so librte_mempool_stack.so librte_bus_pci.so librte_bus_vdev.so; }; then
	fail vfio-share "cannot copy the programs and their libraries"
	exit 1
fi

card a || exit
guest a 1200 -i -c 2 -m 1536 -s "$share" "$lab_tmp/a.sock" <<GUEST
$share_run
mkdir -p /var/run
echo "== bind"
modprobe vfio-pci; modprobe vfio_iommu_type1
echo 15b3 1007 >/sys/bus/pci/drivers/vfio-pci/new_id; i=0; until [ -e /sys/bus/pci/devices/0000:01:00.0/driver ] || [ \$i = 300 ]; do i=\$((i + 1)); sleep 0.1; done
readlink /sys/bus/pci/devices/0000:01:00.0/driver
readlink /sys/bus/pci/devices/0000:01:00.0/iommu_group
echo 160 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages
eal="--file-prefix=lab --no-telemetry -d /host/lib/librte_mempool_ring.so -d /host/lib/librte_net_mlx4_vfio.so -a 0000:01:00.0"
# Waits for a line in what testpmd says.
said() { j=0; until grep -qs "\$1" \${2:-/tmp/out}; do j=\$((j + 1)); [ \$j -lt 900 ] || { tail -n 20 /tmp/out; return 1; }; sleep 0.2; done; }
echo "== rounds"
i=0
while [ \$i -lt $rounds ]; do
	rm -f /tmp/out
	(run dpdk-testpmd -l 0,1 \$eal --huge-unlink -m 192 -- --total-num-mbufs=8192 --forward-mode=io --tx-first --stats-period 1 >/tmp/out 2>&1) & p=\$!
	said 'RX-packets: *[1-9][0-9][0-9]'
	ok=\$?
	kill -9 \$p; wait \$p 2>/dev/null
	[ \$ok = 0 ] || { echo "round \$i: no traffic"; break; }
	i=\$((i + 1))
done
echo "killed and started \$i times"
echo "== clean"
rm -f /tmp/out
(run dpdk-testpmd -l 0,1 \$eal --huge-unlink -m 192 -- --total-num-mbufs=8192 --forward-mode=mac --tx-first --stats-period 1 >/tmp/out 2>&1) & p=\$!
said 'RX-packets: *[1-9]'
kill -INT \$p; wait \$p; echo "status \$?"
grep -E 'TX-packets|mlx4|Bye' /tmp/out | tail -n 12
echo "== secondary"
# Processes share memory at the same addresses.
echo 0 >/proc/sys/kernel/randomize_va_space
# Of this kind of pool a process that is killed leaves nothing half done.
more="\$eal -d /host/lib/librte_mempool_stack.so --mbuf-pool-ops-name=lf_stack"
two="--lcores 0@0,1@0 \$more"
queues="--total-num-mbufs=8192 --rxq=2 --txq=2 --num-procs=2 --stats-period 1"
# What a port has counted at most, and waiting for more than it was.
most() { grep -o "\$1-packets: *[0-9]*" /tmp/out | sort -k 2 -n | sed -n '\$s/.* //p'; }
more_of() { j=0; until [ "\$(most \$1)" -gt \$((\$2 + 1000)) ]; do j=\$((j + 1)); [ \$j -lt 900 ] || return; sleep 0.2; done; echo "more \$1"; }
rm -f /tmp/out
(run dpdk-testpmd \$two --proc-type=primary -m 192 -- \$queues --proc-id=0 --forward-mode=rxonly >/tmp/out 2>&1) & p=\$!
said TX-packets
for i in 1 2; do
	rm -f /tmp/out2
	(run dpdk-testpmd --lcores 2@1,3@1 \$more --proc-type=secondary -- \$queues --proc-id=1 --forward-mode=txonly --txonly-multi-flow >/tmp/out2 2>&1) & q=\$!
	# Not before it forwards: EAL starts with a lock of all processes, which would be left with one that is killed then.
	said 'txonly packet forwarding' /tmp/out2
	before=\$(most TX)
	more_of TX \$before || tail -n 20 /tmp/out2
	kill -9 \$q; wait \$q 2>/dev/null
	echo "killed \$i"
done
more_of RX 0
(run dpdk-proc-info \$more -- -p 1 --xstats >/tmp/info 2>&1); grep -E 'tx_q[01]_packets: ' /tmp/info || tail -n 20 /tmp/info
kill -INT \$p; wait \$p; echo "primary \$?"
echo "== triplane"
(run triplane -l 0,1 \$eal --huge-unlink -m 192 -- -e 'set fwd flowgen 0; set fwd macswap 1; wait link up all 60' --live 3); echo "status \$?"
echo "== interrupts"
# The kernel's own count of each vector of the card, and those that grew.
vectors() { awk '/vfio-msix/ { print \$NF, \$2 + \$3 }' /proc/interrupts; }
grown() { vectors | awk -v what=\$2 'NR == FNR { was[\$1] = \$2; next } \$2 != was[\$1] { print what, \$1, "grew by", \$2 - was[\$1] }' \$1 -; }
mkfifo /tmp/lines
(run triplane --lcores 0@0,1@0,2@1 \$eal --huge-unlink -m 192 -- </tmp/lines >/tmp/out 2>&1) & p=\$!
exec 3>/tmp/lines
# How often the lcore that receives on port 1 has slept, and was woken, once the first or the second is so many.
now() { sed -n '/^{"running"/s/.*"lcore":2,"rounds":[0-9]*,"sleeps":\([0-9]*\),"interrupts":\([0-9]*\),.*"rx_port":1,.*/sleeps=\1 woken=\2/p' /tmp/out | tail -n 1; }
until_is() { sleeps=0 woken=0 j=0; until [ \$((\$1)) -ge \$2 ]; do j=\$((j + 1)); [ \$j -lt 300 ] || { tail -n 5 /tmp/out; return 1; }; echo 'show fwd json' >&3; sleep 0.5; eval "\$(now)"; done; }
completion() { printf 'set setting %s rx-completion '"\$1"'\n' 0 1 >&3; }
completion interrupt
printf '%s\n' 'set fwd rxonly' 'wait link up all 60' start >&3
until_is sleeps 3; vectors >/tmp/vectors
until_is sleeps \$((sleeps + 5)) && echo "idle: woken \$woken"
grown /tmp/vectors idle
# Each packet costs its sender a while, so that the receiver sleeps between them.
printf '%s\n' stop 'set fwd flowgen 0' 'set work 1000000 0' start >&3
until_is woken 20 && echo "busy: woken"
grown /tmp/vectors busy
# What is under way when it stops is received afterwards.
completion polling
printf '%s\n' stop 'set fwd rxonly 0' start >&3
counts() { sed -n '/^{"ports"/s/.*"port":0,[^}]*"tx_packets":\([0-9]*\).*"port":1,"rx_packets":\([0-9]*\),[^}]*"rx_missed":\([0-9]*\).*/sent=\1 came=\$((\2 + \3))/p' /tmp/out | tail -n 1; }
sent=0 came=1 j=0; until [ \$sent = \$came ] || [ \$j = 300 ]; do j=\$((j + 1)); echo 'show port stats all json' >&3; sleep 0.5; eval "\$(counts)"; done
echo "sent \$sent, received \$came"
printf '%s\n' stop quit >&3
wait \$p; echo "status \$?"; exec 3>&-
echo "== dmesg"
dmesg
GUEST
rc=$?
[ $rc = 0 ] || fail vfio-guest "status $rc: $(tail -n 2 "$lab_tmp/a.err" | tr '\n' ' ')"
want vfio-bound a bind 'vfio-pci'
want vfio-killed a rounds "^killed and started $rounds times"
want vfio-clean a clean '^Bye'
want vfio-secondary-sends a secondary '^more TX$'
want vfio-secondary-killed a secondary '^killed 2$'
want vfio-secondary-beside a secondary '^more RX$'
want vfio-secondary-queue a secondary '^tx_q1_packets: [1-9]'
want vfio-secondary-alone a secondary '^tx_q0_packets: 0'
want vfio-secondary-primary a secondary '^primary 0$'
want vfio-triplane a triplane '^status 0$'
want vfio-interrupts-idle a interrupts '^idle: woken 0$'
quiet=$(section a interrupts | grep '^idle vfio-msix')
if [ -z "$quiet" ]; then pass vfio-interrupts-none; else fail vfio-interrupts-none "$quiet"; fi
want vfio-interrupts-wake a interrupts '^busy: woken$'
want vfio-interrupts-kernel a interrupts '^busy vfio-msix.[1-9][0-9]*..0000:01:00.0. grew by [1-9][0-9]'
read -r _ sent _ came <<<"$(section a interrupts | grep '^sent')"
if [ "${sent%,}" = "$came" ] && [ "${came:-0}" -gt 20 ]; then pass vfio-interrupts-all; else fail vfio-interrupts-all "sent ${sent:-none} received $came"; fi
want vfio-interrupts-ends a interrupts '^status 0$'
no_errors vfio-log a dmesg
card_verdict a vfio
exit $lab_bad
