#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: its guests fill the CPUs.
# Lab: its guests are those of tests/lab.
# Congestion control of RoCE in software on the path of a real kernel: two interfaces meet at a bridge in a namespace of its own, whose
# port to the second one is slow and marks (tbf, and RED with ECN). What is dropped and marked, the kernel counts.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"
# shellcheck source=tests/lab/share.sh
. "$(dirname "$0")/../lab/share.sh"
share=$lab_tmp/share
if ! { share_add "$share" "$TP_BUILD/apps/triplane" && share_pmds "$share" librte_mempool_ring.so librte_bus_vdev.so librte_net_af_packet.so; }; then
	fail red-share "cannot copy the programs and their libraries"
	exit 1
fi

guest a 600 -c 2 -m 1024 -s "$share" - <<GUEST
$share_run
mkdir -p /var/run /tmp
modprobe veth; modprobe sch_tbf; modprobe sch_red; modprobe af_packet
ip netns add router || exit
in_router() { ip netns exec router "\$@"; }
in_router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
for i in 0 1; do
	ip link add host\$i type veth peer name port\$i netns router
	ip -n router addr add 192.0.\$((i + 2)).254/24 dev port\$i
	# What the kernel itself would say on them is none of this.
	echo 1 >/proc/sys/net/ipv6/conf/host\$i/disable_ipv6
	ip link set host\$i up
	ip -n router link set port\$i up
done
$guest_waits
net_up host0 host1
slow() {
	in_router tc qdisc replace dev port1 root handle 1: tbf rate 40mbit burst 8kb limit 1mb
	in_router tc qdisc replace dev port1 parent 1:1 handle 10: red limit 200000 min 10000 max 40000 avpkt 1100 burst 20 probability 0.2 bandwidth 40mbit ecn
}
# The kernel spreads what comes over as many queues as there are for sending: two, one of them RoCE's.
# Queue pairs come one after the other. What one may have on its way is a third of the queue, and there are four.
talk() {
	for p in 0 1; do
		echo "set roce \$p prio 0"
		echo "roce \$p on v2 sw"
		echo "roce addr add \$p 192.0.\$((p + 2)).1/24"
		echo "roce gateway \$p 192.0.\$((p + 2)).254"
		echo "set fwd rxonly \$p"
		for set in $(printf '"%s" ' 'initial-alpha 1023' 'rate-on-first-cnp 20' 'clamp-target-rate 1' 'time-reset 100000' 'byte-reset 0' 'ai-rate 1' \
			'hai-rate 2' 'min-rate 4' 'dce-tcp-rtt 100000' 'rate-reduce-monitor-period 4000' 'cnp-interval 400'); do echo "roce cc \$p 0 set \$set"; done
		echo "roce cc \$p 0 \$1"
	done
	echo start
	for q in 0 1 2 3; do
		echo "roce qp create 0 rc 16384 4"
		echo "roce qp create 1 rc 16384 4"
		echo "roce qp pair 0 \$q 1 \$q"
	done
	for q in 0 1 2 3; do
		echo "roce traffic start 0 \$q write 16384 0 300"
		sleep 1
	done
	for q in 0 1 2 3; do echo "roce traffic wait 0 \$q 120"; done
	echo "show roce stats 0"
	echo "show roce stats 1"
	echo quit
}
for cc in off on; do
	slow
	echo "== \$cc"
	talk \$cc | (run triplane -l 0,1 --no-huge -m 256 --no-telemetry -d /host/lib/librte_mempool_ring.so -d /host/lib/librte_net_af_packet.so \
		--vdev=net_af_packet0,iface=host0,qpairs=2 --vdev=net_af_packet1,iface=host1,qpairs=2 -- --rxq 2 -i 2>&1)
	echo "status \$?"
	echo "== kernel-\$cc"
	in_router tc -s qdisc show dev port1
	in_router tc qdisc del dev port1 root
done
GUEST
rc=$?
[ $rc = 0 ] || fail red-guest "status $rc: $(tail -n 2 "$lab_tmp/a.err" | tr '\n' ' ')"

counted() { section a "$1" | grep -o "$2 *[0-9]*" | grep -o '[0-9]*$' | sort -n | tail -n 1; } # MARK PATTERN: the largest
lost=$(counted kernel-off 'early') kept=$(counted kernel-on 'dropped') marks=$(counted kernel-on 'marked') seen=$(counted on 'ecn_marked:')
if [ "${lost:-0}" -ge 300 ]; then pass red-off-loses; else fail red-off-loses "dropped: ${lost:-no figure}"; fi
if [ "$kept" = 0 ]; then pass red-on-loses-nothing; else fail red-on-loses-nothing "dropped: ${kept:-no figure}, without: $lost"; fi
if [ "${marks:-0}" -ge 10 ] && [ "$marks" = "$seen" ]; then
	pass red-marks
else
	fail red-marks "the kernel marked ${marks:-no figure}, the receiver saw ${seen:-no figure}"
fi
want red-not-timed-out a on 'req_timeouts: 0$'
want red-cnps a on 'cc_cnps_handled: [1-9]'
want red-all-sent a on '^status 0$'
exit $lab_bad
