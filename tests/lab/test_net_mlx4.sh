#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: the guest has two CPUs.
# A second witness: DPDK's own net_mlx4, unmodified, through the guest's kernel driver and libibverbs, moves packets on the
# card: between both ports, spread over queues, and with the Linux stack of the same guest at the other end of the wire.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/share.sh
. "$(dirname "$0")/share.sh"
share=$lab_tmp/share

# Another release's DPDK and rdma-core, unpacked: tests/long/test_net_mlx4_releases.sh.
share_root=${LAB_DPDK:-}

testpmd=$(PATH=$share_root/usr/bin:$PATH command -v dpdk-testpmd) || { printf 'skip net-mlx4: dpdk-testpmd is not installed\n'; exit 0; }
provider=$(find "$share_root/usr/lib" -name 'libmlx4-rdmav*.so' 2>/dev/null | head -n 1)
[ -n "$provider" ] || { printf 'skip net-mlx4: the mlx4 provider of libibverbs is not installed\n'; exit 0; }
if ! { share_add "$share" "$testpmd" "$provider" &&
	share_pmds "$share" librte_mempool_ring.so librte_bus_pci.so librte_net_mlx4.so; }; then
	fail net-mlx4-share "cannot copy the programs and their libraries"
	exit 1
fi

card a || exit
guest a 300 -c 2 -m 1536 -s "$share" "$lab_tmp/a.sock" <<GUEST
$share_run
$guest_waits
mkdir -p /var/run
modprobe mlx4_core log_num_mgm_entry_size=-1; modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs
wait_for [ -e /sys/class/net/eth1 ]
mkdir -p /usr/lib/x86_64-linux-gnu/libibverbs; cp /host/lib/${provider##*/} /usr/lib/x86_64-linux-gnu/libibverbs/
ip link set eth0 up; ip link set eth1 up; net_up eth0 eth1
echo 128 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages
mkfifo /tmp/in
# pmd PORTS OPTION...: starts testpmd on these ports; say COMMAND is what it reads, what it prints goes to /tmp/out
pmd() {
	local ports=\$1
	shift
	(run dpdk-testpmd -l 0,1 --no-telemetry -m 128 --huge-unlink -d /host/lib/librte_mempool_ring.so \
		-d /host/lib/librte_net_mlx4.so -a "0000:01:00.0\$ports" -- -i --total-num-mbufs=8192 "\$@" </tmp/in >/tmp/out 2>&1) & p=\$!
	exec 9>/tmp/in
}
say() { echo "\$*" >&9; }
# what the ports of the card received in all; testpmd's own output comes late
phy() { ethtool -S \$1 | sed -n 's/.*rx_packets_phy: //p'; }
# The kernel's driver reads the card's counters now and then: what was received before must be in before it is marked.
mark() {
	local was=none i=0
	until [ "\$was" = "\$(phy eth0) \$(phy eth1)" ] || [ \$i = 20 ]; do was="\$(phy eth0) \$(phy eth1)"; i=\$((i + 1)); sleep 1; done
	at0=\$(phy eth0) at1=\$(phy eth1)
}
# grown PORT0 PORT1: waits until the ports received so many more since the mark
grown() {
	local i=0
	until [ \$((\$(phy eth0) - at0)) -ge \$1 ] && [ \$((\$(phy eth1) - at1)) -ge \$2 ] || [ \$i = 60 ]; do i=\$((i + 1)); sleep 0.5; done
}
end() {
	say stop; say quit; exec 9>&-
	local i=0
	until grep -q '^Bye' /tmp/out || [ \$i = 40 ]; do i=\$((i + 1)); sleep 0.5; done
	kill -9 \$p 2>/dev/null; wait \$p 2>/dev/null
	awk '/Forward statistics for port/ { p = \$6 } p != "" && /RX-packets/ { print "port", p, "rx", \$2 }
		p != "" && /TX-packets/ { print "port", p, "tx", \$2; p = "" }
		/Forward Stats for RX Port/ { q = \$7 \$8 } q != "" && /RX-packets/ { print "queue", q, "rx", \$2; q = "" }
		/^Bye|mlx4.*(rror|fail)|Segm/' /tmp/out
}
for mode in io mac csum; do
	echo "== \$mode"
	pmd "" --forward-mode=\$mode
	mark; say start tx_first; grown 200 200; end
done
echo "== rss"
# Rings that leave mbufs in the pool: with none, net_mlx4 receives nothing, and flowgen, which sends nothing then, reaps nothing either.
pmd "" --forward-mode=flowgen --rxq=4 --txq=4 --rxd=256 --txd=256 --rss-udp
mark; say start; grown 3000 3000; end
# one port for testpmd; the kernel has the other and is its peer, which sends nothing by itself: frames are counted
echo 1 >/proc/sys/net/ipv6/conf/eth1/disable_ipv6
ip addr add 192.0.2.2/24 dev eth1
ip neigh add 192.0.2.1 lladdr \$(cat /sys/class/net/eth0/address) dev eth1 nud permanent
pmd ,port=0 --forward-mode=icmpecho --nb-cores=1 --no-flush-rx
say start; i=0; until ping -q -c 1 -W 1 192.0.2.1 >/dev/null || [ \$i = 30 ]; do i=\$((i + 1)); done
echo "== icmpecho"
pings 5 192.0.2.1
echo "== icmpecho-large"
pings 3 -s 1400 192.0.2.1
echo "== txonly"
say stop; say set fwd txonly; mark; say start; grown 0 1000; say stop
echo "received \$((\$(phy eth1) - at1))"
echo "== rxonly"
say set fwd rxonly; mark; say start
ping -q -c 20 -i 0.05 -W 1 192.0.2.1 >/dev/null; grown 20 0; sleep 1
end
echo "== clean"
modprobe -r mlx4_ib && modprobe -r mlx4_en && modprobe -r mlx4_core && echo unloaded
echo "== dmesg"
dmesg
GUEST
rc=$?
[ $rc = 0 ] || fail net-mlx4-guest "status $rc: $(tail -n 2 "$lab_tmp/a.err" | tr '\n' ' ')"
for mode in io mac csum; do
	want "net-mlx4-$mode-port0" a $mode '^port 0 rx [1-9][0-9]'
	want "net-mlx4-$mode-port1" a $mode '^port 1 rx [1-9][0-9]'
	want "net-mlx4-$mode-end" a $mode '^Bye'
done
n=$(section a rss | grep -cE '^queue [01]/Queue=[0-3] rx [1-9]')
if [ "$n" = 8 ]; then pass net-mlx4-rss; else fail net-mlx4-rss "$n of 8 queues got packets: $(section a rss | tr '\n' ';')"; fi
want net-mlx4-icmpecho a icmpecho ' 0% packet loss'
want net-mlx4-icmpecho-large a icmpecho-large ' 0% packet loss'
want net-mlx4-txonly a txonly '^received [1-9][0-9][0-9][0-9]'
want net-mlx4-rxonly a rxonly '^port 0 rx 20$'
want net-mlx4-unload a clean '^unloaded$'
no_errors net-mlx4-log a dmesg
card_verdict a net-mlx4
exit $lab_bad
