#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two guests, each with a card of its own, on one wire. One is killed and comes back: its card serves the new guest.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

card a --wire0 "dgram:$lab_tmp/wa,$lab_tmp/wb" --guid 0002c90300aa0000 || exit
card b --wire0 "dgram:$lab_tmp/wb,$lab_tmp/wa" --guid 0002c90300bb0000 || exit
up() { # GUEST ADDRESS
	guest_start "$1" -m 512 -d "$lab_tmp/$1.sock" || fail "two-boot-$1" "$(tail -n 1 "$lab_tmp/$1.err")"
	guest_exec "$1" 60 <<GUEST
echo "== load"
modprobe mlx4_en; sleep 1; ip addr add $2/24 dev eth0; ip link set eth0 up; sleep 2; ethtool eth0 | grep Link
GUEST
}
up a 192.0.2.1
up b 192.0.2.2
printf 'echo "== ping"\nping -c 5 -i 0.2 192.0.2.2\nethtool eth0 | grep Link\n' | guest_exec a 60
want two-ping a ping ' 0% packet loss'
pid=$(cat "$LAB_DIR/run/b-$$/pid")
kill -9 "$pid"
sleep 2
if grep -q 'client detached' "$lab_tmp/b.card"; then pass two-killed; else fail two-killed "the card did not notice"; fi
printf 'echo "== alone"\nping -c 2 -i 0.2 -W 1 192.0.2.2\ntrue\n' | guest_exec a 60
want two-alone a alone "100% packet loss"
up b 192.0.2.2
printf 'echo "== ping again"\nping -c 5 -i 0.2 192.0.2.1\n' | guest_exec b 60
want two-again b 'ping again' ' 0% packet loss'
printf 'echo "== dmesg"\ndmesg\n' | guest_exec a 30
printf 'echo "== dmesg"\ndmesg\n' | guest_exec b 30
no_errors two-log-a a dmesg
no_errors two-log-b b dmesg
for g in "${guests[@]}"; do "$lab_scripts/guest.sh" stop "$g"; done
card_verdict a two-a
card_verdict b two-b
exit $lab_bad
