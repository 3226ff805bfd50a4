#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rdma-core's own test suite (Debian's python3-pyverbs) in the guest, on mlx4_ib and the card's transport: each of its
# tests is one here. What it skips must be for a reason that is known: things that this generation of cards or its Linux
# driver has not. Before it, the kernel's driver takes time stamps by the card's clock.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

card pyverbs || exit
{
	printf %s "$guest_waits"
	cat <<'GUEST'
modprobe mlx4_core; modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs; modprobe rdma_ucm
wait_for [ -e /sys/class/net/eth1 ]
ip link set eth0 up; ip link set eth1 up
net_up eth0 eth1; ipv6_ready eth0 eth1; ib_up 1 2
ip addr add 192.0.2.1/24 dev eth0
echo "== clock"
cat /sys/class/ptp/*/clock_name
ethtool -T eth0
echo "== stamps"
timeout 60 tcpdump -Z root -i eth1 -j adapter_unsynced --time-stamp-precision=nano -tt -n arp -c 3 2>/tmp/tcpdump &
wait_for grep listening /tmp/tcpdump
# The stamps make the driver start the port again: until what the other port sends comes in.
arrives() {
	local n=$(cat /sys/class/net/eth1/statistics/rx_packets)
	ping -c 1 -W 1 ff02::1%eth0
	[ "$(cat /sys/class/net/eth1/statistics/rx_packets)" -gt "$n" ]
}
wait_for arrives
ping -c 3 192.0.2.77
wait %1
net_up eth0 eth1; ib_up 1 2
echo "== run"
echo 16 >/proc/sys/vm/nr_hugepages
cp -r /host/lib /host/bin /host/tests /tmp/
cd /tmp
# tests of other makers' cards
rm -f tests/test_mlx5* tests/test_efa* tests/test_cuda*
cat >suite.py <<'PY'
GUEST
	cat "$lab_scripts/../system/pyverbs_suite.py"
	cat <<'GUEST'
PY
PYTHONHOME=/tmp PYTHONPATH=/tmp/lib LD_LIBRARY_PATH=/tmp/lib PYTHONDONTWRITEBYTECODE=1 \
	/tmp/bin/python3 suite.py /tmp - --dev mlx4_0 --port 1 --gid 1 2>&1
echo "== dmesg"
dmesg
GUEST
} | guest pyverbs 500 -m 1536 -s "$LAB_DIR/pyverbs" "$lab_tmp/pyverbs.sock"
rc=$?
[ $rc = 0 ] || fail pyverbs-guest "status $rc: $(tail -n 2 "$lab_tmp/pyverbs.err" | tr '\n' ' ')"
want ptp-clock pyverbs clock '^mlx4 ptp$'
want ptp-hardware pyverbs clock 'hardware-raw-clock'
# Three requests, a second apart; the clock counts from the start of the card.
stamps=$(section pyverbs stamps | awk '/ARP, Request/ { if (n++) printf "%d\n", ($1 - t) * 1000; t = $1 }')
if [ "$(wc -w <<<"$stamps")" = 2 ] && [ -z "$(awk '$1 < 700 || $1 > 1500' <<<"$stamps")" ]; then
	pass rx-timestamps
else
	fail rx-timestamps "wanted three stamps a second apart: $(section pyverbs stamps | tail -n 12 | tr '\n' ';')"
fi

# What neither this generation of cards nor its driver in Linux and rdma-core offers.
known='Device memory is not|ODP is not|No ODP caps|Extended QP is not|Extended CQ is not|Create XRCD is not|Parent Domain is not
renderD128 is not|additional access flags|Ipv6Spec|Ipv4ExtSpec|WQN must be aligned|Flow creation is not|support UDP with RoCEv2
SRQ resize is not'
known=$(tr '\n' '|' <<<"$known" | sed 's/|$//')
while read -r word name why; do
	name=pyverbs-${name##*.}
	case $word in
	ok) pass "$name" ;;
	fail) fail "$name" "$why" ;;
	skip) if grep -Eq "$known" <<<"$why"; then
		printf '# %s is not for this card: %s\n' "$name" "$why"
	else
		fail "$name" "skipped: $why"
	fi ;;
	esac
done < <(section pyverbs run | sed -n 's/^RESULT //p')
n=$(section pyverbs run | grep -c '^RESULT ok')
if [ "$n" -ge 85 ]; then pass pyverbs-count; else fail pyverbs-count "$n tests passed, wanted at least 85: $(section pyverbs run | tail -n 3 | tr '\n' ';')"; fi
# What tests/system/test_pyverbs.py says that it passes more than.
most=$(sed -n 's/^LAB = \([0-9]*\).*/\1/p' "$lab_scripts/../system/test_pyverbs.py")
if [ "$n" -le "${most:-0}" ]; then pass pyverbs-most; else fail pyverbs-most "$n tests passed, tests/system/test_pyverbs.py says $most"; fi
no_errors pyverbs-log pyverbs dmesg
card_verdict pyverbs pyverbs
