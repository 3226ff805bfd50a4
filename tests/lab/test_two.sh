#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: two guests.
# Two guests, each with a card of its own, on one switch; both cards are one process. A third port of the switch sees what
# is flooded and nothing else. One guest is killed and comes back: its card serves the new guest.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

card a --wire0 switch:sw0 --wire1 switch:sw0 --guid 0002c90300aa0000 \
	--socket "$lab_tmp/b.sock" --wire0 switch:sw0 --guid 0002c90300bb0000 || exit
up() { # GUEST ADDRESS
	guest_start "$1" -d "$lab_tmp/$1.sock" || fail "two-boot-$1" "$(tail -n 1 "$lab_tmp/$1.err")"
	guest_exec "$1" 60 <<GUEST
$guest_waits
echo "== load"
modprobe mlx4_en; wait_for [ -e /sys/class/net/eth0 ]
ip addr add $2/24 dev eth0; ip link set eth0 up; net_up eth0; ethtool eth0 | grep Link
GUEST
}
# The count of frames at the third port, port 2 of card a; it says nothing itself.
third() { # MARK
	printf 'echo "== %s"\ncat /sys/class/net/eth1/statistics/rx_packets\n' "$1" | guest_exec a 120
	section a "$1"
}
# Both boot at once; a subshell's list of guests is lost.
up a 192.0.2.1 &
boot=$!
guests+=("a-$$")
up b 192.0.2.2
wait $boot
guest_exec a 180 <<GUEST
$guest_waits
echo "== third"
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
echo 1 >/proc/sys/net/ipv6/conf/eth1/disable_ipv6
ip link set eth1 promisc on; ip link set eth1 up; net_up eth1; ethtool eth1 | grep Link
# One for each run: a server does not listen for a moment after one.
iperf3 -s -D; iperf3 -s -D -p 5202
listens \$\$ 1451; listens \$\$ 1452
GUEST
want two-link-third a third 'Link detected: yes'
quiet=$(third 'third before')
printf 'echo "== ping"\npings 5 192.0.2.1\npings 3 -s 1472 -M do 192.0.2.1\n' | guest_exec b 180
want two-ping b ping ' 0% packet loss'
flooded=$(third 'third ping')
if [ "${flooded:-0}" -gt "${quiet:-0}" ]; then pass two-flooded; else fail two-flooded "$quiet, then $flooded frames at the third port"; fi
guest_exec b 360 <<'GUEST'
echo "== tcp"
iperf3 -c 192.0.2.1 -t 2 -f m; echo "status $?"
echo "== tcp back"
iperf3 -c 192.0.2.1 -p 5202 -t 2 -f m -R; echo "status $?"
GUEST
want two-tcp b tcp 'status 0'
want two-tcp-back b 'tcp back' 'status 0'
for m in tcp 'tcp back'; do
	section b "$m" | sed -n "s/.* \([0-9.]* Mbits\/sec\).*receiver.*/# two: $m \1/p"
done
after=$(third 'third after')
# A few ARP requests and router solicitations, among thousands of frames.
if [ $((${after:-9999} - ${flooded:-0})) -lt 50 ]; then
	pass two-unseen
else
	fail two-unseen "$((after - flooded)) frames of TCP at the third port"
fi
pid=$(cat "$LAB_DIR/run/b-$$/pid")
kill -9 "$pid"
for ((i = 0; i < 300; i++)); do
	grep -q 'b.sock: client detached' "$lab_tmp/a.card" && break
	sleep 0.1
done
if grep -q 'b.sock: client detached' "$lab_tmp/a.card"; then pass two-killed; else fail two-killed "the card did not notice"; fi
printf 'echo "== alone"\nping -c 2 -i 0.2 -W 1 192.0.2.2\ntrue\n' | guest_exec a 180
want two-alone a alone "100% packet loss"
up b 192.0.2.2
printf 'echo "== ping again"\npings 5 192.0.2.1\n' | guest_exec b 180
want two-again b 'ping again' ' 0% packet loss'
printf 'echo "== dmesg"\ndmesg\n' | guest_exec a 120
printf 'echo "== dmesg"\ndmesg\n' | guest_exec b 120
no_errors two-log-a a dmesg
no_errors two-log-b b dmesg
for g in "${guests[@]}"; do "$lab_scripts/guest.sh" stop "$g"; done
card_verdict a two
if grep -Eq '^report: switch sw0 port .* drop_(queue_limit|buffer_full|headroom|no_memory|bad_fcs)' "$lab_tmp/a.card"; then
	fail two-no-loss "$(grep -E '^report: switch sw0 port .* drop_' "$lab_tmp/a.card" | tr '\n' ';')"
else
	pass two-no-loss
fi
exit $lab_bad
