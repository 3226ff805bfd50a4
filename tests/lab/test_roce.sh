#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Our RoCE programs and Linux's: two cards joined by a wire of datagram sockets. The guest has one, and on it the kernel's
# mlx4_ib, then without it soft-RoCE (rdma_rxe) on the kernel's Ethernet driver, for connections; test_rxe.sh has the rest; on the host our program has the other one,
# as a home of queue pairs, or as an Ethernet port for RoCE in software. What the ends tell each other by TCP goes through
# QEMU's own network. Either end is the server, and checks the data where its program can. Perftest itself is on both sides of
# another wire, a TAP device, beyond which a triplane shares its card.
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/owner.sh
. "$(dirname "$0")/owner.sh"
export LD_LIBRARY_PATH=$TP_BUILD/drivers/mlx4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
tcp=$((20000 + $$ % 20000)) # the guest's port 18515 on the host; the next ones are the host's own

# ours NAME PROVIDER PROGRAM OPTION...: runs a program of ours, or with the provider "shared" any on the shared port; its output
# is NAME.ours, its status the last line.
ours() {
	local name=$1 provider=$2 program=$3 dir addrs=(--addr 192.0.2.2/24 --addr 2001:db8::2/64)
	shift 3
	if [ "$provider" = shared ]; then
		timeout -k 5 240 "${owner_run[@]}" "$program" "$@" >"$lab_tmp/$name.ours" 2>&1
		echo "status $?" >>"$lab_tmp/$name.ours"
		return
	fi
	case " $* " in *" --addr "*) addrs=() ;; esac
	case $program in
	tp_pingpong) dir=pingpong ;;
	tp_rping) dir=tp_rping ;;
	*) dir=perf ;;
	esac
	# A guest without hardware virtualization may do nothing for long: 1 s before what is not acknowledged is sent again.
	[ "$program" = tp_rping ] || set -- -u 18 "$@"
	timeout -k 5 240 "$TP_BUILD/apps/$dir/$program" --lcores "0@$lab_cpus" --no-huge -m 256 --no-pci --no-shconf --no-telemetry \
		--log-level=lib.eal:error --file-prefix="lab$$$name" --vdev="net_mlx4_user0,socket=$lab_tmp/host.sock" -- \
		--provider "$provider" ${addrs[@]+"${addrs[@]}"} "$@" >"$lab_tmp/$name.ours" 2>&1
	echo "status $?" >>"$lab_tmp/$name.ours"
}

# ours_ok NAME PATTERN: our end ended well and printed a line like that.
ours_ok() {
	if grep -q '^status 0$' "$lab_tmp/$1.ours" && grep -Eq -- "$2" "$lab_tmp/$1.ours"; then
		pass "roce-$1"
	else
		fail "roce-$1" "$(grep -v '^---' "$lab_tmp/$1.ours" | tail -n 4 | tr '\n' ';')$(grep -h ' key 0x' "$lab_tmp"/*.card | tail -n 2)"
	fi
}

# ours_says NAME PATTERN PID: waits for a line of ours.
ours_says() {
	local i
	for ((i = 0; i < 600; i++)); do
		grep -Eqs -- "$2" "$lab_tmp/$1.ours" && return 0
		kill -0 "$3" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# In the guest: its end is the server for ours that calls, or calls ours. CONDITION, when given, says that it serves:
# then the guest says so too.
theirs() { # NAME COMMAND [CONDITION]
	guest_exec guest 240 <<-GUEST
		echo "== $1"
		${3:+(i=0; until $3 || [ \$i = 600 ]; do i=\$((i + 1)); sleep 0.1; done; echo "serves $1") &}
		timeout 200 $2
		echo "status \$?"
	GUEST
}

# calls NAME PROVIDER "OUR PROGRAM AND OPTIONS" "THEIR PROGRAM AND OPTIONS" PATTERN: we are the client
calls() {
	local pid
	theirs "$1" "$4" "grep -qs ':4853 0*:0000 0A' /proc/net/tcp /proc/net/tcp6" &
	pid=$!
	guest_says guest "serves $1" 60
	# shellcheck disable=SC2086 # a list
	ours "$1" "$2" $3 -p "$tcp" 127.0.0.1
	wait $pid
	ours_ok "$1" "$5"
	want "roce-$1-linux" guest "$1" '^status 0$'
}

# serves NAME PROVIDER "OURS" "THEIRS" PATTERN: they are the client
serves() {
	local pid
	# shellcheck disable=SC2086 # a list
	ours "$1" "$2" $3 -p "$((tcp + 1))" &
	pid=$!
	tcp_listens $((tcp + 1)) $pid
	theirs "$1" "$4 -p $((tcp + 1)) 10.0.2.2"
	wait $pid
	ours_ok "$1" "$5"
	want "roce-$1-linux" guest "$1" '^status 0$'
}

tap=rs$$
if [ -c /dev/net/tun ] && ip tuntap add "$tap" mode tap 2>/dev/null; then
	trap 'owner_kill; lab_end; ip link del "$tap"' EXIT
	echo 1 >"/proc/sys/net/ipv6/conf/$tap/disable_ipv6"
	ip link set "$tap" up
	wire1=tap:$tap
else
	wire1=none
fi
card guest --wire0 "dgram:$lab_tmp/w0,$lab_tmp/w1" --wire1 "$wire1" --guid 0002c90300aa0000 || exit
card host --wire0 "dgram:$lab_tmp/w1,$lab_tmp/w0" --guid 0002c90300bb0000 || exit
if ! guest_start guest -d "$lab_tmp/guest.sock" -n "user,hostfwd=tcp:127.0.0.1:$tcp-:18515"; then
	fail roce-guest "does not boot: $(tail -n 2 "$lab_tmp/guest.err" | tr '\n' ' ')"
	exit 1
fi
{
	printf %s "$guest_waits"
	cat <<'GUEST'
modprobe mlx4_core; modprobe mlx4_en; modprobe mlx4_ib; modprobe ib_uverbs; modprobe rdma_ucm; modprobe 8021q
modprobe virtio_net; modprobe rdma_rxe
# QEMU's own interface and the card's two
all_there() { [ "$(ls -d /sys/class/net/*/device | wc -l)" = 3 ]; }
wait_for all_there
ip link set lo up
for d in /sys/class/net/*; do
	n=${d##*/}
	case $(readlink "$d/device/driver" 2>/dev/null) in
	*virtio_net) ip link set "$n" up; ip addr add 10.0.2.15/24 dev "$n" ;;
	*mlx4_core)
		if [ "$(cat "$d/dev_port")" = 1 ]; then
			ip link set "$n" up
			ip addr add 203.0.113.1/24 dev "$n"
			continue
		fi
		echo "$n" >/tmp/eth
		ip link set "$n" up
		ip addr add 192.0.2.1/24 dev "$n"
		ip addr add 2001:db8::1/64 dev "$n" nodad
		ip link add link "$n" name vlan7 type vlan id 7
		ip link set vlan7 up
		ip addr add 198.51.100.1/24 dev vlan7
		;;
	esac
done
cat >/bin/gid <<'GID'
#!/bin/sh
# gid DEVICE [ADDRESS [TYPE [PORT]]]: the index of the GID of an IPv4 address in hexadecimal, RoCE v2 unless said otherwise.
i=0 p=/sys/class/infiniband/$1/ports/${4:-1}
while t=$(cat "$p/gid_attrs/types/$i" 2>/dev/null) || [ $i -lt 4 ]; do
	case $(cat "$p/gids/$i")$t in
	0000:0000:0000:0000:0000:ffff:${2:-c000:0201}*${3:-v2}) echo "$i"; exit ;;
	esac
	i=$((i + 1))
done
GID
chmod +x /bin/gid
cat >/bin/all-gids <<'GIDS'
#!/bin/sh
# all-gids DEVICE: whether those that the tests use are there.
[ -n "$(gid "$1")" ] && [ -n "$(cat "/sys/class/infiniband/$1/ports/1/gids/"* 2>/dev/null | grep 2001:0db8)" ] || exit 1
[ "$1" != mlx4_0 ] || { [ -n "$(gid "$1" c000:0201 v1)" ] && [ -n "$(gid "$1" c633:6401)" ] && [ -n "$(gid "$1" cb00:7101 v2 2)" ]; }
GIDS
chmod +x /bin/all-gids
ib_up 1
wait_for all-gids mlx4_0
echo "== mlx4"
rdma link
echo "gid $(gid mlx4_0)"
GUEST
} | guest_exec guest 270
want roce-mlx4 guest mlx4 'link mlx4_0/1 state ACTIVE'

# The tests of one provider against one of Linux's.
judge() { # PROVIDER DEVICE
	local t=$1-$2 dev="-d $2 -i 1 -x \$(gid $2)" pp="-d $2 -i 1 -g \$(gid $2)"
	calls "$t-rc" "$1" "tp_pingpong -n 50 -c" "ibv_rc_pingpong $pp -n 50" 'iters in'
	serves "$t-rc-back" "$1" "tp_pingpong -n 50 -s 8192" "ibv_rc_pingpong $pp -n 50 -s 8192 -c" 'iters in'
	calls "$t-uc" "$1" "tp_pingpong -n 50 -c -C UC" "ibv_uc_pingpong $pp -n 50" 'iters in'
	calls "$t-ud" "$1" "tp_pingpong -n 50 -c -C UD" "ibv_ud_pingpong $pp -n 50 -s 1024" 'iters in'
	calls "$t-send-bw" "$1" "tp_send_bw -n 100 -s 4096" "ib_send_bw $dev -u 18 -F -n 100 -s 4096" '^ 4096 '
	serves "$t-send-bw-back" "$1" "tp_send_bw -n 100 -s 4096" "ib_send_bw $dev -u 18 -F -n 100 -s 4096" '^ 4096 '
	calls "$t-write-lat" "$1" "tp_write_lat -n 50 -s 64" "ib_write_lat $dev -u 18 -F -n 50 -s 64" '^ 64 '
	serves "$t-read-bw" "$1" "tp_read_bw -n 50 -s 8192" "ib_read_bw $dev -u 18 -F -n 50 -s 8192" '^ 8192 '
	calls "$t-atomic-lat" "$1" "tp_atomic_lat -n 50" "ib_atomic_lat $dev -u 18 -F -n 50" '^ 8 '
}

# What else a ping-pong has: the first version of RoCE, a VLAN, completion events; messages of
# several packets.
cases() { # PROVIDER DEVICE
	local t=$1-$2 pp="-d $2 -i 1"
	serves "$t-v1" "$1" "tp_pingpong --mode v1 -n 50 -s 2000" "ibv_rc_pingpong $pp -g \$(gid $2 c000:0201 v1) -n 50 -s 2000 -c" 'iters in'
	serves "$t-vlan" "$1" "tp_pingpong --addr 198.51.100.2/24 --vlan 7 -n 50 -s 2000" \
		"ibv_rc_pingpong $pp -g \$(gid $2 c633:6401) -n 50 -s 2000 -c" 'iters in'
	serves "$t-events" "$1" "tp_pingpong -e -n 50 -s 512" "ibv_rc_pingpong $pp -g \$(gid $2) -e -n 50 -s 512 -c" 'iters in'
	serves "$t-write-bw-qps" "$1" "tp_write_bw -n 50 -s 65536 -q 4" "ib_write_bw -d $2 -i 1 -x \$(gid $2) -u 18 -F -n 50 -s 65536 -q 4" '^ 65536 '
}

# rping either way round, over IPv4 and IPv6; it needs nothing but its connection.
pings() { # PROVIDER DEVICE
	local t=$1-$2-rping pid net
	for net in 192.0.2. 2001:db8::; do
		theirs "$t-$net" "rping -s -a ${net}1 -C 5 -S 1000 -V" "rdma resource show cm_id | grep -q LISTEN" &
		pid=$!
		guest_says guest "serves $t-$net" 60
		ours "$t-$net" "$1" tp_rping -c -a "${net}1" -C 5 -S 1000 -V
		wait $pid
		ours_ok "$t-$net" '5 pings of 1000 bytes'
		want "roce-$t-$net-linux" guest "$t-$net" '^status 0$'
		ours "$t-$net-back" "$1" tp_rping -s -v -a "${net}2" &
		pid=$!
		ours_says "$t-$net-back" '^listening' $pid
		theirs "$t-$net-back" "rping -c -a ${net}2 -C 5 -S 1000 -V"
		wait $pid
		ours_ok "$t-$net-back" '^status 0$'
		want "roce-$t-$net-back-linux" guest "$t-$net-back" '^status 0$'
	done
}

# Perftest of both sides, each kind once; of lat the guest calls, of bw we do. The card of ours is that of the shared port.
shared() {
	local t ours="-d net_mlx4_model0_p0 -x 3 -u 18 -F -n 50" theirs="-d mlx4_0 -i 2 -x \$(gid mlx4_0 cb00:7101 v2 2) -u 18 -F -n 50"
	if owner_start net_mlx4_model0_p0 --vdev=net_af_packet0,iface="$tap" \
		--vdev=net_mlx4_model0,ports=1,wire0=ethdev:net_af_packet0 <<<$'roce 1 on\nroce addr add 1 203.0.113.2/24'; then
		for t in send write read atomic; do
			serves "shared-$t-lat" shared "ib_${t}_lat $ours" "ib_${t}_lat $theirs" 'remote address: .* QPN'
			calls "shared-$t-bw" shared "ib_${t}_bw $ours" "ib_${t}_bw $theirs" '^ [0-9]+ +50 '
		done
	fi
	owner_verdict roce-shared
}

judge sw mlx4_0
pings sw mlx4_0
judge mlx4 mlx4_0
pings mlx4 mlx4_0
cases mlx4 mlx4_0
if [ "$wire1" = none ]; then printf 'skip roce-shared: TAP devices need root\n'; else shared; fi
# The card's own RoCE takes the packets that soft-RoCE is to have.
{
	printf %s "$guest_waits"
	cat <<'GUEST'
modprobe -r mlx4_ib
rdma link add rxe0 type rxe netdev "$(cat /tmp/eth)"
wait_for grep ACTIVE /sys/class/infiniband/rxe0/ports/1/state
wait_for all-gids rxe0
echo "== rxe"
rdma link
echo "gid $(gid rxe0)"
GUEST
} | guest_exec guest 180
want roce-rxe guest rxe 'link rxe0/1 state ACTIVE'
pings sw rxe0
pings mlx4 rxe0
guest_exec guest 120 <<'GUEST'
echo "== dmesg"
dmesg
GUEST
no_errors roce-log guest dmesg
"$lab_scripts/guest.sh" stop "guest-$$"
guests=()
card_verdict guest roce-guest
card_verdict host roce-host
exit $lab_bad
