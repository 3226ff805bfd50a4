#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck source=tests/lab/common.sh
# shellcheck disable=SC2086,SC2015,SC2054,SC1007,SC2002,SC2046,SC2012 # lists and numbers split on purpose; die does not come back
# Makes the lab in $LAB_DIR: QEMU with the vfio-user client, a stock Debian
# kernel, and a small guest with RDMA tools. Needs no root and installs nothing
# on the host; a second run does nothing unless a setting or a script changed.
#
#   LAB_DIR           where the lab goes (must be set)
#   LAB_SUITE         Debian suite of the guest's tools       (trixie)
#   LAB_QEMU_SUITE    Debian suite of QEMU, 10.1 or later     (trixie-backports)
#   LAB_KERNEL_SUITE  Debian suite of the kernel              (trixie)
#   LAB_MODULES       extra kernel modules, by name           ()
#   LAB_PACKAGES      extra guest packages                    ()
#   LAB_TOOLS         extra programs of those packages, paths (usr/bin/...)
#   LAB_MIRROR        Debian mirror; found in the host's apt settings if unset
set -o pipefail
. "$(dirname "$0")/common.sh"

suite=${LAB_SUITE:-trixie}
qemu_suite=${LAB_QEMU_SUITE:-trixie-backports}
kernel_suite=${LAB_KERNEL_SUITE:-trixie}

# Not busybox-static: that one's shell, env, ... run its own small ip, ping, ...
# even where PATH has the real ones.
packages="qemu-system-x86 zstd busybox dash kmod iproute2 ethtool pciutils iputils-ping
  tcpdump iperf3 ibverbs-providers ibverbs-utils rdmacm-utils infiniband-diags perftest opensm
  python3 python3-pyverbs ipxe
  ${LAB_PACKAGES:-}"

# Paths in root/ that go into the guest, with the libraries they need.
tools="usr/bin/busybox usr/bin/dash usr/bin/ip usr/bin/rdma usr/bin/tc usr/bin/devlink usr/bin/ethtool
  usr/sbin/dcb usr/bin/dcb usr/bin/iperf3
  usr/sbin/ip usr/sbin/rdma usr/sbin/tc usr/sbin/devlink usr/sbin/ethtool
  usr/bin/lspci usr/bin/setpci usr/bin/ping usr/bin/tcpdump
  usr/bin/ibv_devices usr/bin/ibv_devinfo usr/bin/ibv_rc_pingpong
  usr/bin/ibv_uc_pingpong usr/bin/ibv_ud_pingpong usr/bin/ibv_srq_pingpong
  usr/bin/rping usr/bin/ucmatose usr/bin/udaddy usr/bin/rdma_server usr/bin/rdma_client
  usr/bin/ib_send_lat usr/bin/ib_send_bw usr/bin/ib_write_lat usr/bin/ib_write_bw
  usr/bin/ib_read_lat usr/bin/ib_read_bw usr/bin/ib_atomic_lat usr/bin/ib_atomic_bw usr/bin/raw_ethernet_bw
  usr/sbin/ibstat usr/sbin/saquery usr/sbin/smpquery usr/sbin/perfquery usr/sbin/ibportstate
  usr/sbin/opensm usr/sbin/ibnetdiscover usr/sbin/iblinkinfo usr/sbin/ibping usr/sbin/sminfo
  ${LAB_TOOLS:-}"

modules="mlx4_core mlx4_en mlx4_ib ib_ipoib ib_umad ib_uverbs rdma_ucm rdma_rxe
  crc32_generic crc32_pclmul
  virtio_pci virtio_net virtio_console virtio_rng virtio_blk 9p 9pnet_virtio
  veth dummy tun bridge 8021q bonding vxlan af_packet sch_netem sch_tbf sch_red
  vfio-pci vfio_iommu_type1 uio_pci_generic virtio_iommu
  ${LAB_MODULES:-}"

for c in apt-get:apt apt-cache:apt dpkg-deb:dpkg xz:xz-utils gzip:gzip find:findutils awk:mawk; do
    need "${c%%:*}" "${c##*:}"
done

[ "$(dpkg --print-architecture)" = amd64 ] || die $LAB_BROKEN "the lab is for amd64 hosts only"

need flock util-linux
exec {lock}>"$LAB_DIR/lock"
flock "$lock" # a second setup of the same lab waits for the first

# One line that changes when anything that shapes the lab does.
stamp=$( (echo "$suite $qemu_suite $kernel_suite" $packages $tools $modules; cat "$0" "$lab_src"/guest/*) | cksum)
if [ "$(cat "$LAB_DIR/stamp" 2>/dev/null)" = "$stamp" ]; then
    say "already set up in $LAB_DIR"
    exit 0
fi
rm -f "$LAB_DIR/stamp"

# --- where packages come from: whatever mirror the host itself uses
mirror=${LAB_MIRROR:-}
if [ -z "$mirror" ]; then
    # lines such as 'URI/dists/SUITE/InRelease' FILE SIZE; nothing is fetched
    mirror=$(apt-get update --print-uris 2>/dev/null | sed -n "s#^'\([^']*\)/dists/[^']*'.*#\1#p" |
        awk '!/security/ && /debian/ { print; exit }')
fi
[ -n "$mirror" ] || die $LAB_BROKEN "no Debian mirror in the host's apt settings; set LAB_MIRROR"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -s "$keyring" ] || die $LAB_BROKEN "$keyring is missing: install the Debian package debian-archive-keyring"

apt=$LAB_DIR/apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
for s in "$suite" "$qemu_suite" "$kernel_suite"; do
    echo "deb [signed-by=$keyring] $mirror $s main"
done | sort -u >"$apt/sources.list"
{
    printf 'Package: *\nPin: release n=%s\nPin-Priority: 900\n\n' "$suite"
    printf 'Package: qemu-* seabios ipxe-qemu\nPin: release n=%s\nPin-Priority: 990\n\n' "$qemu_suite"
    printf 'Package: linux-image-*\nPin: release n=%s\nPin-Priority: 990\n' "$kernel_suite"
} >"$apt/preferences"
cat >"$apt/apt.conf" <<CONF
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "$apt/preferences";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "";
APT::Install-Recommends "false";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
Acquire::Retries "3";
CONF
export APT_CONFIG=$apt/apt.conf

quietly() { # quietly WHAT COMMAND...: its output is shown only when it fails
    local what=$1
    shift
    if ! "$@" >"$LAB_DIR/setup.log" 2>&1; then
        tail -n 20 "$LAB_DIR/setup.log" >&2
        die $LAB_BROKEN "$what failed (see $LAB_DIR/setup.log)"
    fi
}

say "package lists"
quietly "apt-get update" apt-get update
# A suite that the mirror lacks is only a warning to apt.
for s in "$suite" "$qemu_suite" "$kernel_suite"; do
    ls "$apt/state/lists/"*"_dists_${s}_main_binary-amd64_Packages"* >/dev/null 2>&1 ||
        die $LAB_BROKEN "the mirror has no package list for the suite '$s'"
done

say "downloading QEMU and the guest's tools"
rm -f "$apt/cache/archives/"*.deb
quietly "the download of the packages" apt-get -y --download-only install $packages

say "unpacking them"
rm -rf "$LAB_DIR/root"
mkdir -p "$LAB_DIR/root/usr/bin" "$LAB_DIR/root/usr/sbin" "$LAB_DIR/root/usr/lib" "$LAB_DIR/root/usr/lib64"
# Some packages still ship files in /bin, /sbin or /lib.
for d in bin sbin lib lib64; do ln -s "usr/$d" "$LAB_DIR/root/$d"; done
for deb in "$apt/cache/archives/"*.deb; do
    # not "dpkg-deb -x": it would replace the links made above
    dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$LAB_DIR/root" ||
        die $LAB_BROKEN "cannot unpack $(basename "$deb")"
done
version=$(in_root qemu-system-x86_64 --version 2>&1 | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p')
[ -n "$version" ] || die $LAB_BROKEN "the unpacked QEMU does not run"
grep -q '"vfio-user-pci"' <<<"$(in_root qemu-system-x86_64 -device help 2>/dev/null)" ||
    die $LAB_BROKEN "QEMU $version of $qemu_suite has no vfio-user-pci device (10.1 or later is needed)"
say "QEMU $version"

# --- the kernel
kpkg=$(apt-cache depends --no-recommends --no-suggests linux-image-amd64 2>/dev/null |
    awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ { print $2; exit }')
[ -n "$kpkg" ] || die $LAB_BROKEN "no kernel package found in the suite '$kernel_suite'"
say "kernel package $kpkg"
# Newer kernels have their image, their modules and the list of what is built in in packages of their own.
parts=$(apt-cache depends --no-recommends --no-suggests "$kpkg" 2>/dev/null |
    awk '$1 == "Depends:" && $2 ~ /^linux-(base|binary|modules)-[0-9]/ { print $2 }')
rm -f "$apt/"linux-{image,base,binary,modules}-*.deb
rm -rf "$LAB_DIR/kernel"
mkdir -p "$LAB_DIR/kernel"
for p in "$kpkg" $parts; do
    (cd "$apt" && quietly "the download of $p" apt-get download "$p") || exit $LAB_BROKEN
    dpkg-deb --fsys-tarfile "$apt/$p"_*.deb | tar -x -C "$LAB_DIR/kernel" || die $LAB_BROKEN "cannot unpack $p"
done
if [ ! -d "$LAB_DIR/kernel/boot" ]; then
    mkdir "$LAB_DIR/kernel/boot"
    for p in "$LAB_DIR/kernel/usr/lib/modules/"*/vmlinuz; do
        mv "$p" "$LAB_DIR/kernel/boot/vmlinuz-$(basename "$(dirname "$p")")" || die $LAB_BROKEN "no image in" $parts
    done
fi
ln -s "$(cd "$LAB_DIR/kernel" && ls boot/vmlinuz-*)" "$LAB_DIR/kernel/vmlinuz"
kver=$(basename "$(ls -d "$LAB_DIR/kernel/boot/vmlinuz-"*)")
kver=${kver#vmlinuz-}
# Unpacked here, which an emulated CPU takes seconds to do at each boot. The header (Documentation/arch/x86/boot.rst) says
# where the packed image lies; the last 4 of its octets are the size of what it holds.
image=$LAB_DIR/kernel/boot/vmlinuz-$kver
word() { od -A n -t "u$2" -j "$1" -N "$2" "$image" | tr -d ' '; }
at=$((($(word 497 1) + 1) * 512 + $(word 584 4)))
if (set +o pipefail && tail -c +$((at + 1)) "$image" | head -c $(($(word 588 4) - 4)) | in_root zstd -dcq) \
    >"$LAB_DIR/kernel/vmlinux" 2>/dev/null && [ "$(head -c 4 "$LAB_DIR/kernel/vmlinux" | tail -c 3)" = ELF ]; then
    ln -sfn vmlinux "$LAB_DIR/kernel/vmlinuz"
else
    say "note: the kernel is packed in another way than zstd; the guest unpacks it"
fi

# --- the guest's files
say "building the guest"
g=$LAB_DIR/guest
rm -rf "$g"
mkdir -p "$g"/{bin,sbin,usr/bin,usr/sbin,usr/share/misc,lib64,etc,proc,sys,dev,run,tmp,root,host,job,var/tmp} \
    "$g/lib/modules/$kver" "$g/usr/lib/x86_64-linux-gnu"
[ -x "$LAB_DIR/root/usr/bin/busybox" ] || die $LAB_BROKEN "no busybox"
for a in $(in_root busybox --list); do
    [ "$a" = busybox ] || ln -s /usr/bin/busybox "$g/bin/$a"
done
ln -s /usr/bin/busybox "$g/sbin/modprobe"

lib=$LAB_DIR/root/usr/lib/x86_64-linux-gnu
add_libs() { # the libraries of an ELF file, next to the loader
    local l
    "$lib/ld-linux-x86-64.so.2" --library-path "$lib" --list "$1" 2>/dev/null |
        sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | while read -r l; do
            [ -e "$g/usr/lib/x86_64-linux-gnu/$(basename "$l")" ] || cp -L "$l" "$g/usr/lib/x86_64-linux-gnu/"
        done
}
for t in $tools; do
    [ -e "$LAB_DIR/root/$t" ] || continue
    [ -e "$g/$t" ] && continue
    rm -f "$g/bin/$(basename "$t")"
    cp -L "$LAB_DIR/root/$t" "$g/$t"
    add_libs "$LAB_DIR/root/$t"
done
ln -sf ../usr/bin/dash "$g/bin/sh"
for t in usr/bin/dash usr/bin/ibv_devinfo usr/bin/ibv_rc_pingpong usr/bin/rdma usr/bin/ip; do
    [ -e "$g/$t" ] || [ -e "$g/${t/bin/sbin}" ] || die $LAB_BROKEN "$t is in none of the packages"
done
ln -s ../usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$g/lib64/ld-linux-x86-64.so.2"
cp -L "$lib/ld-linux-x86-64.so.2" "$g/usr/lib/x86_64-linux-gnu/"
ln -s ../usr/lib/x86_64-linux-gnu "$g/lib/x86_64-linux-gnu"
# glibc loads this one by name when a thread ends
cp -L "$lib/libgcc_s.so.1" "$g/usr/lib/x86_64-linux-gnu/" || die $LAB_BROKEN "no libgcc_s.so.1"
# Only the user-space drivers of the cards the lab is about.
mkdir -p "$g/etc/libibverbs.d" "$g/usr/lib/x86_64-linux-gnu/libibverbs"
for p in mlx4 rxe; do
    cp "$LAB_DIR/root/etc/libibverbs.d/$p.driver" "$g/etc/libibverbs.d/" || die $LAB_BROKEN "no $p provider"
    for f in "$lib/libibverbs/lib$p-"*.so; do
        cp -L "$f" "$g/usr/lib/x86_64-linux-gnu/libibverbs/"
        add_libs "$f"
    done
done
echo 'root:x:0:0:root:/root:/bin/sh' >"$g/etc/passwd"
printf 'root:x:0:\nrdma:x:100:\n' >"$g/etc/group"
printf '127.0.0.1 localhost\n' >"$g/etc/hosts"
echo 'hosts: files' >"$g/etc/nsswitch.conf"
cp "$LAB_DIR/root/usr/share/misc/pci.ids" "$g/usr/share/misc/" 2>/dev/null

# Modules: each wanted one and all that it depends on, uncompressed because
# an emulated CPU takes long to do that.
kroot=$(dirname "$(find "$LAB_DIR/kernel" -path "*/modules/$kver/kernel" -type d | head -n 1)")
[ -d "$kroot/kernel" ] || die $LAB_BROKEN "no modules in $kpkg"
find "$kroot/kernel" -name '*.ko' -o -name '*.ko.xz' -o -name '*.ko.zst' -o -name '*.ko.gz' >"$LAB_DIR/kernel/list"
wanted=$modules
done_=" "
missing=
while [ -n "${wanted// /}" ]; do
    next=
    for m in $wanted; do
        m=${m//-/_}
        case $done_ in *" $m "*) continue ;; esac
        done_="$done_$m "
        f=$(awk -F/ -v m="$m" '{ n = $NF; sub(/\.ko(\..*)?$/, "", n); gsub(/-/, "_", n); if (n == m) { print; exit } }' "$LAB_DIR/kernel/list")
        if [ -z "$f" ]; then
            grep -q "/$m\.ko" <<<"$(sed 's/-/_/g' "$kroot/modules.builtin")" || missing="$missing $m"
            continue
        fi
        out=$g/lib/modules/$kver/kernel/$(basename "${f%.ko*}").ko
        mkdir -p "$(dirname "$out")"
        case $f in
        *.xz) xz -dc "$f" >"$out" ;;
        *.zst) zstd -dcq "$f" >"$out" ;;
        *.gz) gzip -dc "$f" >"$out" ;;
        *) cp "$f" "$out" ;;
        esac || die $LAB_BROKEN "cannot unpack the module $m"
        next="$next $(tr '\0' '\n' <"$out" | sed -n -e 's/^depends=//p' -e 's/^softdep=[a-z]*: *//p' | tr ',' ' ')"
    done
    wanted=$next
done
[ -z "$missing" ] || say "note: this kernel has no module" $missing
cp "$kroot/modules.builtin" "$kroot/modules.order" "$g/lib/modules/$kver/" 2>/dev/null
in_root kmod --version >/dev/null 2>&1 || die $LAB_BROKEN "the unpacked kmod does not run"
ln -sf kmod "$LAB_DIR/root/usr/bin/depmod"
quietly depmod bash -c "exec -a depmod '$lib/ld-linux-x86-64.so.2' --argv0 depmod --library-path '$lib' '$LAB_DIR/root/usr/bin/kmod' -b '$g' '$kver'"

# Python with rdma-core's binding and its test suite, for a guest that gets the folder as /host: too much for the
# initrd. Compiled here, which an emulated CPU takes minutes to do.
say "rdma-core's test suite"
py=$LAB_DIR/pyverbs
rm -rf "$py"
mkdir -p "$py/bin" "$py/lib/pyverbs"
cp -L "$LAB_DIR/root/usr/bin/python3" "$py/bin/" || die $LAB_BROKEN "no python3"
pyver=$(basename "$(readlink -f "$LAB_DIR/root/usr/bin/python3")")
cp -r "$LAB_DIR/root/usr/lib/$pyver" "$py/lib/" || die $LAB_BROKEN "no library of $pyver"
cp "$LAB_DIR/root/usr/lib/python3/dist-packages/pyverbs/"*.py "$LAB_DIR/root/usr/lib/python3/dist-packages/pyverbs/"*.so "$py/lib/pyverbs/"
cp -r "$LAB_DIR/root/usr/lib/python3/dist-packages/pyverbs/providers" "$py/lib/pyverbs/"
cp -r "$LAB_DIR/root/usr/share/doc/rdma-core/tests" "$py/" || die $LAB_BROKEN "python3-pyverbs comes without its tests"
gzip -d "$py/tests/"*.gz
find "$py" -name '*.so' -o -path "$py/bin/*" | while read -r f; do
    "$lib/ld-linux-x86-64.so.2" --library-path "$lib" --list "$f" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'
done | sort -u | while read -r f; do
    [ -e "$g/usr/lib/x86_64-linux-gnu/$(basename "$f")" ] || cp -L "$f" "$py/lib/"
done
PYTHONHOME=$py in_root python3 -m compileall -q "$py/lib" "$py/tests" >/dev/null

cp "$lab_src/guest/init" "$g/init" && chmod 755 "$g/init"
for f in pings host_share; do cp "$lab_src/guest/$f" "$g/usr/bin/$f" && chmod 755 "$g/usr/bin/$f"; done
# Not packed, for the same reason.
(cd "$g" && find . | in_root busybox cpio -o -H newc -R 0:0 2>/dev/null) >"$LAB_DIR/initrd.new" ||
    die $LAB_BROKEN "cannot pack the guest"
mv "$LAB_DIR/initrd.new" "$LAB_DIR/initrd"
rm -f "$apt/cache/archives/"*.deb "$apt/"linux-{image,base,binary,modules}-*.deb
# what the guest does not use is not worth keeping
rm -rf "$kroot/kernel" "$LAB_DIR/root/usr/share/doc" "$LAB_DIR/root/usr/share/man" "$LAB_DIR/root/usr/share/locale" "$LAB_DIR/root/usr/share/perl"
printf '%s\n' "$stamp" >"$LAB_DIR/stamp"
say "ready: QEMU $version, Linux $kver, $(du -sh "$LAB_DIR" 2>/dev/null | cut -f1) in $LAB_DIR"
