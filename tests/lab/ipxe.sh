# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2154 # lab_tmp and lab_scripts are of lib.sh
# iPXE's own driver of the card, and what a machine that it starts boots from. Sourced after lib.sh by tests that have set ipxe_net,
# the first three numbers of a network, and have ns, the namespace of the servers, and pids, which they end.
: "${ipxe_net:?}"
# shellcheck source=tests/lab/common.sh
. "$lab_scripts/common.sh"
www=$lab_tmp/www root=$LAB_DIR/root/usr

# --- what is served: a kernel, a root file system that says what it finds, and a file

mkdir -p "$www" "$lab_tmp/root"/{bin,dev,proc,lib64,usr/lib/x86_64-linux-gnu}
ln -s "$LAB_DIR/kernel/boot/vmlinuz-"* "$www/linux"
head -c 300000 /dev/urandom >"$www/blob"
cp "$LAB_DIR/guest/usr/bin/busybox" "$lab_tmp/root/bin/"
cp "$LAB_DIR/guest/usr/lib/x86_64-linux-gnu"/{ld-linux-x86-64.so.2,libc.so.6,libresolv.so.2} "$lab_tmp/root/usr/lib/x86_64-linux-gnu/"
ln -s ../usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$lab_tmp/root/lib64/"
ln -s busybox "$lab_tmp/root/bin/sh"
cat >"$lab_tmp/root/init" <<'INIT'
#!/bin/sh
busybox mount -t proc proc /proc
echo "booted $(busybox uname -r)"
echo "blob $(busybox sha256sum </blob)"
busybox poweroff -f
INIT
chmod 755 "$lab_tmp/root/init"
(cd "$lab_tmp/root" && find . | in_root busybox cpio -o -H newc -R 0:0 2>/dev/null | gzip -1) >"$www/initrd"
cat >"$lab_tmp/script" <<IPXE
#!ipxe
dhcp net0 || goto failed
ifstat net0
ping -c 3 $ipxe_net.1 || goto failed
kernel http://$ipxe_net.1/linux console=ttyS0 quiet panic=-1 random.trust_cpu=on no_timer_check || goto failed
initrd http://$ipxe_net.1/initrd || goto failed
initrd http://$ipxe_net.1/blob /blob || goto failed
boot
:failed
echo lab: failed
IPXE

# served NAME INTERFACE: servers run on an interface of the namespace that has the first address of the network.
served() {
	# Its answer is asked for until it runs.
	ip netns exec "$ns" dnsmasq -k -p 0 --user=root -i "$2" -z --dhcp-range="$ipxe_net.50,$ipxe_net.60,1h" --no-ping \
		--dhcp-leasefile="$lab_tmp/$1.leases" --conf-file=/dev/null --pid-file= >"$lab_tmp/$1.dnsmasq" 2>&1 &
	servers=($!)
	# Unbuffered, since its first line says that it listens.
	(cd "$www" && exec ip netns exec "$ns" python3 -u -m http.server --bind "$ipxe_net.1" 80) >"$lab_tmp/$1.http" 2>&1 &
	servers+=($!)
	pids+=("${servers[@]}")
	wait_for_line "$lab_tmp/$1.http" 'Serving HTTP' 30 && return
	fail "ipxe-$1-server" "$(tail -n 2 "$lab_tmp/$1.http" "$lab_tmp/$1.dnsmasq" | tr '\n' ';')"
	exit 1
}

wait_for_line() { # FILE PATTERN SECONDS
	local i
	for ((i = 0; i < $3 * 10; i++)); do
		grep -Eqs -- "$2" "$1" && return 0
		sleep 0.1
	done
	return 1
}

# ipxe_boot NAME SOCKET: a machine with the card as its only device starts iPXE with the script. It ends when the kernel, which was
# booted, turns it off, or the script has failed; after three minutes at the latest.
ipxe_boot() {
	local i
	QEMU_MODULE_DIR=$root/lib/x86_64-linux-gnu/qemu "$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" \
		--library-path "$root/lib/x86_64-linux-gnu" "$root/bin/qemu-system-x86_64" -nodefaults -no-user-config -no-reboot \
		-display none -L "$root/share/qemu" -L "$root/share/seabios" -L "$root/lib/ipxe/qemu" -accel tcg -cpu max \
		-object memory-backend-memfd,id=ram,size=512M,share=on -machine q35,memory-backend=ram,graphics=off,vmport=off \
		-kernel "$root/lib/ipxe/ipxe.lkrn" -initrd "$lab_tmp/script" \
		-chardev "file,id=con,path=$lab_tmp/$1.console" -serial chardev:con \
		-device "{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\"path\":\"$2\"}}" \
		</dev/null >"$lab_tmp/$1.qemu" 2>&1 &
	pids+=($!)
	for ((i = 0; i < 1800; i++)); do
		kill -0 $! 2>/dev/null || break
		grep -Eqs 'lab: failed|No bootable device|Kernel panic' "$lab_tmp/$1.console" && break
		sleep 0.1
	done
	kill $! 2>/dev/null
	wait $!
	# Without carriage returns and what moves the cursor.
	{ echo "== console"; tr -d '\r' <"$lab_tmp/$1.console" | sed -E 's/\x1b(\[[0-9;?]*[a-zA-Z]|c)//g'; } >"$lab_tmp/$1.out"
}

# ipxe_judged NAME DRIVER MAC SOCKET: boots over the card and looks at what iPXE and the kernel said. MAC: of the lease, a pattern.
ipxe_judged() {
	local t=$1 sum
	ipxe_boot "$t" "$4"
	want "ipxe-$t-driver" "$t" console "^net0: [0-9a-f:]* using $2"
	want "ipxe-$t-dhcp" "$t" console 'Configuring \(net0 .*ok'
	if grep -Eq " $3 ${ipxe_net//./\\.}\." "$lab_tmp/$t.leases"; then pass "ipxe-$t-lease"; else fail "ipxe-$t-lease" "$(tail -n 2 "$lab_tmp/$t.leases" "$lab_tmp/$t.dnsmasq" | tr '\n' ';')"; fi
	want "ipxe-$t-ping" "$t" console "64 bytes from ${ipxe_net//./\\.}\\.1: seq=3"
	want "ipxe-$t-http" "$t" console "http://${ipxe_net//./\\.}\\.1/blob\\.\\.\\. ok"
	want "ipxe-$t-boot" "$t" console "^booted $(readlink -f "$www/linux" | sed 's/.*vmlinuz-//; s/[.+]/\\&/g')\$"
	sum=$(sha256sum <"$www/blob")
	want "ipxe-$t-octets" "$t" console "^blob ${sum% -}"
	kill "${servers[@]}"
}

# What the driver does on every port, and each time that it opens one. The upper bits of its QP numbers are random, or 0, and its send
# queue rests for seconds where the guest is slow.
# shellcheck disable=SC2034
ipxe_always=(reset-semaphore steering-entry event-mask command-outbox 'qp-number?' 'wqe-stamp-data?')
