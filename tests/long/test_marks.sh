#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alone: its guests fill the CPUs.
# Lab: its guests are those of tests/lab.
# Two Linux guests on a switch that marks (ECN) and pauses: both ports of one write to the only one of the other, over RoCE v2. Priority
# 0 is held back by pauses alone; for priority 3 the cards have congestion control stored, of which Linux knows nothing. What is
# marked and paused, the switch counts; the rates are perftest's.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

seconds=6 line=1000 slow=400
marks="lossless:0+3/trust:dscp/flow:pause/xoff:60000/xon:30000/ecn:15000+60000+100000/ecn-prio:3"
card a --wire0 "switch:sw0/$marks" --wire1 switch:sw0/trust:dscp/flow:pause --rate0 $line --rate1 $line --cc-prios0 8 --cc-prios1 8 \
	--guid 0002c90300aa0000 \
	--socket "$lab_tmp/b.sock" --wire0 "switch:sw0/trust:dscp/flow:pause/rate:$slow" --cc-prios0 8 --guid 0002c90300bb0000 || exit
guest_start a -m 512 -d "$lab_tmp/a.sock" &
boot=$!
guests+=("a-$$")
guest_start b -m 512 -d "$lab_tmp/b.sock" || fail marks-boot-b "$(tail -n 1 "$lab_tmp/b.err")"
wait $boot || fail marks-boot-a "$(tail -n 1 "$lab_tmp/a.err")"

setup() { # GUEST ADDRESS ADDRESS2 DEVICE2 HEX PORT2 HEX2: of both the addresses, and the GIDs
	guest_exec "$1" 120 <<GUEST
$guest_waits
modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs
wait_for [ -e /sys/class/net/eth0 ]; wait_for [ -e /sys/class/infiniband/mlx4_0 ]
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
ip link set lo up
ip link set eth0 up; ip addr add $2/24 dev eth0
ip link set $4 up; ip addr add $3/24 dev $4
net_up eth0 $4
cat >/bin/gid <<'GID'
#!/bin/sh
# gid PORT ADDRESS: the index of the GID of an IPv4 address in hexadecimal, RoCE v2
i=0 p=/sys/class/infiniband/mlx4_0/ports/\$1
while [ \$i -lt 16 ]; do
	case \$(cat "\$p/gids/\$i")\$(cat "\$p/gid_attrs/types/\$i" 2>/dev/null) in
	0000:0000:0000:0000:0000:ffff:\$2*v2) echo "\$i"; exit ;;
	esac
	i=\$((i + 1))
done
GID
chmod +x /bin/gid
echo "== gids"
for g in "1 \$(gid 1 $5)" "$6 \$(gid $6 $7)"; do echo "port \$g"; done
GUEST
}
setup a 192.0.2.1 198.51.100.1 eth1 c000:0201 2 c633:6401
setup b 192.0.2.2 198.51.100.2 eth0 c000:0202 1 c633:6402
for g in a b; do
	if [ "$(section $g gids | grep -c '^port [12] [0-9]')" = 2 ]; then pass marks-gids-$g; else fail marks-gids-$g "$(section $g gids | tr '\n' ';')"; fi
done

# What the switch counts so far: pauses that it sent to both senders, marks, and what it dropped.
counters() { # FILE
	local was i
	was=$(grep -c '^report: switch sw0 queued_frames' "$lab_tmp/a.card")
	kill -USR1 "${card_pid[a]}"
	for ((i = 0; i < 600; i++)); do
		[ "$(grep -c '^report: switch sw0 queued_frames' "$lab_tmp/a.card")" -gt "$was" ] && break
		sleep 0.1
	done
	sed -n 's/^report: switch sw0 //p' "$lab_tmp/a.card" | awk '{ v[substr($0, 1, length($0) - length($NF) - 1)] = $NF }
		END { for (k in v) { if (k ~ /^port [12] .*tx_pause_frames$/) pauses += v[k]; if (k ~ /ecn_marks$/) marks += v[k];
			if (k ~ /drop_(queue_limit|buffer_full|headroom|no_memory)/) drops += v[k] }
			printf "%d %d %d\n", pauses, marks, drops }'
}

# flows NAME SL DSCP: both at once for some seconds.
flows() {
	guest_exec b 180 <<GUEST &
echo "== $1"
for n in 1 2; do
	[ \$n = 1 ] && g=\$(gid 1 c000:0202) || g=\$(gid 1 c633:6402)
	timeout 120 ib_write_bw -d mlx4_0 -i 1 -x \$g -u 18 -F -D $seconds -s 65536 -S $2 --tclass=$(($3 * 4)) -p \$((18514 + n)) >/tmp/s\$n 2>&1 &
done
$guest_waits
listens \$\$ 4853; listens \$\$ 4854
echo "serves $1"
wait
cat /tmp/s1 /tmp/s2
GUEST
	local pid=$!
	guest_says b "serves $1" 120
	guest_exec a 180 <<GUEST
echo "== $1"
timeout 120 ib_write_bw -d mlx4_0 -i 1 -x \$(gid 1 c000:0201) -u 18 -F -D $seconds -s 65536 -S $2 --tclass=$(($3 * 4)) -p 18515 192.0.2.2 >/tmp/c1 2>&1 &
timeout 120 ib_write_bw -d mlx4_0 -i 2 -x \$(gid 2 c633:6401) -u 18 -F -D $seconds -s 65536 -S $2 --tclass=$(($3 * 4)) -p 18516 198.51.100.2 >/tmp/c2 2>&1
wait
for n in 1 2; do sed -n "s/^ *65536 .* \([0-9.]*\) *\([0-9.]*\)\$/flow \$n \1/p" /tmp/c\$n; grep -q '^ *65536 ' /tmp/c\$n || cat /tmp/c\$n; done
GUEST
	wait $pid
}

read -r pauses0 marks0 _ < <(counters)
flows off 0 0
read -r pauses1 marks1 _ < <(counters)
flows on 3 24
read -r pauses2 marks2 drops < <(counters)

fair() { section a "$1" | awk '/^flow [12] [0-9]/ { s += $3; q += $3 * $3; n++ } END { printf "%d %.3f %.0f", n, q ? s * s / (2 * q) : 0, s * 8.388608 }'; }
for m in off on; do
	read -r n jain mbps < <(fair $m)
	printf '# marks: %s: %s Mb/s, fairness %s\n' $m "$mbps" "$jain"
	if [ "$n" = 2 ] && awk "BEGIN { exit !($jain >= 0.9) }"; then pass marks-$m-fair; else fail marks-$m-fair "$n flows, fairness $jain: $(section a $m | tail -n 4 | tr '\n' ';')"; fi
	if [ "${mbps:-0}" -ge $((slow / 2)) ]; then pass marks-$m-full; else fail marks-$m-full "$mbps Mb/s of $slow"; fi
done
off=$((pauses1 - pauses0)) on=$((pauses2 - pauses1))
printf '# marks: pauses %d without, %d with congestion control; %d marks\n' $off $on $((marks2 - marks1))
if [ $off -ge 20 ] && [ $((on * 5)) -le $off ]; then pass marks-pauses; else fail marks-pauses "$off without, $on with congestion control"; fi
if [ "$marks1" = "$marks0" ] && [ $((marks2 - marks1)) -gt 0 ]; then
	pass marks-marked
else
	fail marks-marked "$((marks1 - marks0)) marks of priority 0, $((marks2 - marks1)) of priority 3"
fi
if [ "$drops" = 0 ]; then pass marks-no-loss; else fail marks-no-loss "$drops frames"; fi
for g in "${guests[@]}"; do "$lab_scripts/guest.sh" stop "$g"; done
card_verdict a marks
exit $lab_bad
