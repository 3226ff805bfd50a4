#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Linux's dcb tools and ours on one wire: what the guest sets arrives in the card as it should; an application of ours that
# receives nothing pauses the guest's driver by PFC, and lets it go on when it receives again, without a loss. 802.1Qau, which no
# tool of iproute2 knows, is set and read by a program that speaks the kernel's netlink itself. By its second port the guest sends
# through a switch whose port to our application has 1 Mb/s: the switch tells it so, and the kernel's counters say what the card did.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
export LD_LIBRARY_PATH=$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

dcb_end() {
	exec 9>&-
	[ -z "${app:-}" ] || kill "$app" 2>/dev/null
	lab_end
}
trap dcb_end EXIT

card guest --wire0 "dgram:$lab_tmp/w0,$lab_tmp/w1" --guid 0002c90300aa0000 --rate0 100 --trace "$lab_tmp/guest.trace" \
	--wire1 switch:qcn/cn-prio:0/cn:26000+30000 --rate1 1000 \
	--socket "$lab_tmp/host.sock" --wire0 "dgram:$lab_tmp/w1,$lab_tmp/w0" --guid 0002c90300bb0000 --rate0 100 \
	--wire1 switch:qcn/rate:1 || exit

# Commands go to our application through a pipe that stays open.
mkfifo "$lab_tmp/commands"
"$TP_BUILD/apps/triplane" --lcores "0@$lab_cpus,1@$lab_cpus" --no-huge -m 256 --no-pci --no-shconf --no-telemetry --log-level='*:error' \
	--file-prefix="dcb$$" --vdev="net_mlx4_user0,socket=$lab_tmp/host.sock" -- \
	<"$lab_tmp/commands" >"$lab_tmp/app.out" 2>&1 &
app=$!
exec 9>"$lab_tmp/commands"
say() { printf '%s\n' "$@" >&9; }
# counter NAME: of the application's port, as it was shown last.
counter() { grep '^{"ports"' "$lab_tmp/app.out" | tail -n 1 | sed "s/.*\"$1\": *\([0-9]*\).*/\1/"; }
# in_guest MARK NAME: a counter of ethtool in a section.
in_guest() { section guest "$1" | sed -n "s/^ *$2: //p"; }
# mailbox TEST IN_MODIFIER LINES [COMMAND]: the guest's driver gave the card's port 1 this mailbox, which the card took.
mailbox() {
	if awk -v m="in_modifier $2 " -v want="$3" -v cmd="${4:-SET_PORT}" '
		/ INPUT:/ { on = index($0, cmd) && index($0, m); text = ""; next }
		/ OUTPUT: status 0x0$/ { if (on && text == want) found = 1; on = 0; next }
		on { text = text (text == "" ? "" : "|") $0 }
		END { exit !found }' "$lab_tmp/guest.trace"; then
		pass "$1"
	else
		fail "$1" "no ${4:-SET_PORT} $2 with $3"
	fi
}
say "set qos 0 pfc=all rx-untagged-lossless=on" "group add 0 all default=on queues=0 dropless=forever" "set fwd rxonly 0" "set fwd rxonly 1"

guest_start guest -s "$LAB_DIR/pyverbs" -d "$lab_tmp/guest.sock" || fail dcb-boot "$(tail -n 1 "$lab_tmp/guest.err")"
counters='ethtool -S eth0 | grep -E "tx_packets|tx_timeout|rx_pause"'
{
	printf %s "$guest_waits"
	cat <<'GUEST'
echo "== load"
modprobe mlx4_en; wait_for [ -e /sys/class/net/eth0 ]; echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6; ip addr add 192.0.2.1/24 dev eth0; ip link set eth0 up; net_up eth0; ethtool eth0 | grep Link
ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev eth0 nud permanent
echo "== ets"
dcb ets set dev eth0 prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7; echo "status $?"
dcb ets set dev eth0 tc-tsa 0:ets 1:ets 2:ets 3:strict 4:strict 5:strict 6:strict 7:strict tc-bw 0:50 1:30 2:20 3:0 4:0 5:0 6:0 7:0
echo "status $?"
dcb ets show dev eth0
echo "== pfc"
dcb pfc set dev eth0 prio-pfc all:off 3:on; echo "status $?"
dcb pfc set dev eth0 prio-pfc all:on; echo "status $?"
dcb pfc show dev eth0
echo "== app"
dcb app add dev eth0 dscp-prio 26:3; echo "status $?"; dcb app show dev eth0
GUEST
} | guest_exec guest 270
{
	printf %s "$guest_waits"
	cat <<'GUEST'
cat >/tmp/qcn.py <<'PY'
# What the kernel says of an interface in RTM_GETDCB (linux/dcbnl.h), QCN and its counters as eight words a line: before and behind setting
# the further arguments, NAME=PRIO:VALUE, beside what is set. With an address instead: when datagrams to it have moved both counters of
# priority 0, after two minutes at most.
import socket, struct, sys, time
DEV = sys.argv[1]
NAMES = 'rpg_enable rppp_max_rps rpg_time_reset rpg_byte_reset rpg_threshold rpg_max_rate rpg_ai_rate rpg_hai_rate rpg_gd rpg_min_dec_fac rpg_min_rate cndd_state'.split()
QCN, STATS = struct.Struct('=8B88I'), struct.Struct('=8Q8I')

def attr(kind, data):
    return struct.pack('=HH', 4 + len(data), kind) + data + bytes(-len(data) % 4)

def attrs(data):
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from('=HH', data)
        found[kind & 0x3fff] = data[4:size]
        data = data[(size + 3) & ~3:]
    return found

def ask(kind, cmd, more=b''):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        body = struct.pack('=BBH', 0, cmd, 0) + attr(1, DEV.encode() + b'\0') + more
        s.send(struct.pack('=IHHII', 16 + len(body), kind, 1, 1, 0) + body)
        answer = s.recv(65536)
    if struct.unpack_from('=H', answer, 4)[0] == 2:
        raise OSError(-struct.unpack_from('=i', answer, 16)[0], 'netlink')
    return attrs(answer[20:])

def get():
    ieee = attrs(ask(78, 21)[13])
    v = QCN.unpack(ieee[8])
    return [list(v[8 * i:8 * i + 8]) for i in range(len(NAMES))], STATS.unpack(ieee[9])

def show():
    rows, stats = get()
    for name, row in zip(NAMES, rows):
        print(name, *row)
    print('centiseconds', *stats[:8])
    print('created', *stats[8:])
    return rows

if '=' not in sys.argv[2]:
    end, stats = time.monotonic() + 120, get()[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        while not (stats[0] and stats[8]) and time.monotonic() < end:
            for _ in range(100):
                s.sendto(bytes(1400), (sys.argv[2], 9))
            stats = get()[1]
    print('==', DEV, 'congested')
    show()
    sys.exit()
print('==', DEV, 'before')
rows = show()
for word in sys.argv[2:]:
    name, prio, value = word.replace('=', ':').split(':')
    rows[NAMES.index(name)][int(prio)] = int(value)
answer = ask(79, 20, attr(13, attr(8, QCN.pack(*[v for r in rows for v in r]))))
print('==', DEV, 'qcn')
print('status', struct.unpack('=b', answer[13][:1])[0])
show()
PY
qcn() { PYTHONHOME=/host PYTHONPATH=/host/lib LD_LIBRARY_PATH=/host/lib PYTHONDONTWRITEBYTECODE=1 /host/bin/python3 -S /tmp/qcn.py "$@"; }
qcn eth0 rpg_enable=5:1 rppp_max_rps=5:2 rpg_time_reset=5:16000 rpg_byte_reset=5:151000 rpg_threshold=5:6 rpg_max_rate=5:9000 rpg_ai_rate=5:7 \
	rpg_hai_rate=5:60 rpg_gd=5:8 rpg_min_dec_fac=5:40 rpg_min_rate=5:12 rpg_ai_rate=2:9
# All that the kernel sends by its second port has priority 0. A reaction point lives for some twenty stages of a second.
echo 1 >/proc/sys/net/ipv6/conf/eth1/disable_ipv6; ip addr add 198.51.100.1/24 dev eth1; ip link set eth1 up; net_up eth1
ip neigh add 198.51.100.2 lladdr 02:00:00:00:00:33 dev eth1 nud permanent
qcn eth1 rpg_enable=0:1 rpg_time_reset=0:1000000 rpg_byte_reset=0:0
qcn eth1 198.51.100.2
GUEST
} | guest_exec guest 360
say "port config 0 promisc on"
# For the guest: until its port sends nothing for a second, and was paused so often or more.
settled='n() { ethtool -S eth0 | sed -n "s/^ *$1: //p"; }
settled() { a=; for i in $(seq 60); do b=$(n tx_packets_phy); [ "$a" != "$b" ] || [ "$(n rx_pause_prio_0)" -lt $1 ] || break; a=$b; sleep 1; done; }'
guest_exec guest 360 <<GUEST
echo "== before"
$counters
ping -f -l 3000 -c 3000 -W 1 -s 1400 192.0.2.2 >/dev/null 2>&1 &
$settled
settled 1
echo "== paused"
$counters
# Pauses are said again and again.
was=\$(n rx_pause_prio_0); for i in \$(seq 60); do sleep 1; [ "\$(n rx_pause_prio_0)" = "\$was" ] || break; done
echo "== still"
$counters
n tx_packets_phy >/tmp/still
GUEST
say start
guest_exec guest 360 <<GUEST
$guest_waits
$settled
sends_again() { [ "\$(n tx_packets_phy)" -gt "\$(cat /tmp/still)" ]; }
wait_for sends_again
killall ping
settled 0
echo "== resumed"
$counters
echo "== dmesg"
dmesg
GUEST
say stop "show port xstats 0 json"
for ((i = 0; i < 600; i++)); do
	[ -n "$(counter rx_good_packets)" ] && break
	sleep 0.1
done

want dcb-link guest load 'Link detected: yes'
# By hand from the reference: class n of priority n; groups and shares, ETS in group 7, strict classes by their number.
mailbox dcb-prio-tc 0x801 '000: 01234567 00000000 00000000 00000000'
mailbox dcb-ets 0x901 "000: 00070032 000400ff 0007001e 000400ff|010: 00070014 000400ff 00040064 000400ff|\
020: 00030064 000400ff 00020064 000400ff|030: 00010064 000400ff 00000064 000400ff"
mailbox dcb-pfc-one 0x1 '000: 00000017 200005f6 00080000 00080000'
mailbox dcb-pfc-all 0x1 '000: 00000017 200005f6 00ff0000 00ff0000'
want dcb-app guest app 'dscp-prio 26:3'
# By hand from the reference: what is to be set by the mask (both flags, ten values), flags, values in their order. What is not set is as it was.
mailbox dcb-qcn 0x2001 "000: c0000000 ffc00000 00000000 80000000|010: 00000002 00003e80 00024dd8 00000006|\
020: 00002328 00000007 0000003c 00000008|030: 00000028 0000000c 00000000 00000000" CONGESTION_CTRL
want dcb-qcn-status guest 'eth0 qcn' '^status 0$'
for row in 'rpg_enable 1' 'rppp_max_rps 2' 'rpg_time_reset 16000' 'rpg_byte_reset 151000' 'rpg_threshold 6' 'rpg_max_rate 9000' 'rpg_ai_rate 7' \
	'rpg_hai_rate 60' 'rpg_gd 8' 'rpg_min_dec_fac 40' 'rpg_min_rate 12'; do
	read -ra was < <(section guest 'eth0 before' | grep "^${row% *} ")
	was[6]=${row#* }
	[ "${row% *}" != rpg_ai_rate ] || was[3]=9
	want "dcb-qcn-read-${row% *}" guest 'eth0 qcn' "^${was[*]}\$"
done
# No congestion, no reaction point.
want dcb-qcn-counters guest 'eth0 qcn' '^created 0 0 0 0 0 0 0 0$'
want dcb-qcn-quiet guest 'eth1 qcn' '^created 0 0 0 0 0 0 0 0$'
# Behind it there was one, of the priority that it was set for, and it lived; other priorities and the other port had none.
want dcb-qcn-created guest 'eth1 congested' '^created [1-9][0-9]* 0 0 0 0 0 0 0$'
want dcb-qcn-centiseconds guest 'eth1 congested' '^centiseconds [1-9][0-9]* 0 0 0 0 0 0 0$'
sent=$(in_guest paused tx_packets_phy)
if [ "$(in_guest paused rx_pause_prio_0)" -gt 0 ] && [ "$(in_guest still rx_pause_prio_0)" -gt "$(in_guest paused rx_pause_prio_0)" ]; then
	pass dcb-pause-counted
else
	fail dcb-pause-counted "$(in_guest paused rx_pause_prio_0), then $(in_guest still rx_pause_prio_0) pause frames"
fi
if [ "$(in_guest before tx_packets_phy)" -lt "$sent" ] && [ "$(in_guest still tx_packets_phy)" = "$sent" ]; then
	pass dcb-sends-stop
else
	fail dcb-sends-stop "$sent, then $(in_guest still tx_packets_phy) frames left the guest's port"
fi
sent=$(in_guest resumed tx_packets_phy)
if [ "$sent" -gt "$(in_guest still tx_packets_phy)" ]; then pass dcb-sends-again; else fail dcb-sends-again "still at $sent"; fi
if [ "$(counter rx_good_packets)" = "$sent" ]; then
	pass dcb-no-loss
else
	fail dcb-no-loss "$sent frames sent, $(counter rx_good_packets) received"
fi
# Both ends of the wire count the same pauses.
if [ "$(counter tx_prio0_pause)" = "$(in_guest resumed rx_pause_prio_0)" ] && [ "$(in_guest resumed rx_pause_prio_3)" = 0 ]; then
	pass dcb-both-count
else
	fail dcb-both-count "$(counter tx_prio0_pause) sent, $(in_guest resumed rx_pause_prio_0) received"
fi
want dcb-no-timeout guest resumed 'tx_timeout: 0'
no_errors dcb-log guest dmesg
for g in "${guests[@]}"; do "$lab_scripts/guest.sh" stop "$g"; done
say quit
wait "$app"
app=
card_verdict guest dcb
# Who told it so.
messages=$(sed -n 's/^report: switch qcn port .* cn_messages //p' "$lab_tmp/guest.card" | sort -n | tail -n 1)
if [ "${messages:-0}" -ge 1 ]; then pass dcb-qcn-messages; else fail dcb-qcn-messages "${messages:-none}"; fi
exit $lab_bad
