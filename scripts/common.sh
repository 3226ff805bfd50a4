# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Set-up and build steps shared by tp and the scripts it starts. Sourced, with the project root as directory.

TP_CACHE=${TP_CACHE:-$PWD/.tp}
TP_BUILD=${TP_BUILD:-$PWD/build}
TP_BUILD_ASAN=${TP_BUILD_ASAN:-$PWD/build-asan}
TP_PLUGIN=librte_net_mlx4_vfio.so

# What a build needs, and what the tests and benchmarks add (peers and oracles).
TP_PACKAGES_BUILD="gcc libc6-dev ccache meson ninja-build pkg-config libdpdk-dev dpdk dpkg-dev libpcap-dev libcmocka-dev
	libibverbs-dev librdmacm-dev libibumad-dev zlib1g-dev help2man"
TP_PACKAGES_TEST="dpdk-dev clang-14 clang-format-14 clang-tidy-14 clang-format clang-tidy libclang-rt-14-dev valgrind tshark
	python3-scapy lldpad lldpd python3-pyelftools iproute2 iperf3 iputils-ping ethtool procps shellcheck expect
	sockperf qperf ucx-utils libfabric-bin ibverbs-utils rdmacm-utils perftest busybox opensm infiniband-diags dnsmasq-base udhcpc
	python3-pyverbs man-db curl socat redis-server bind9-dnsutils prometheus tmux
	liblwip-dev libslirp-dev"

# What was compiled once is not compiled again, in another clone of the tree neither: names of folders do not count, and
# precompiled headers are what their sources say. TP_CCACHE=off does without.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
[ "${TP_CCACHE:-on}" != off ] || export CCACHE_DISABLE=1

tp_say() { printf 'tp: %s\n' "$*" >&2; }
tp_die() { printf 'tp: %s\n' "$*" >&2; exit 1; }

# A package whose triggers wait, since another apt-get is at work, is there as well.
tp_missing_packages() {
	local p
	for p in "$@"; do
		case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) in
		installed | triggers-pending | triggers-awaited) ;;
		*) printf '%s ' "$p" ;;
		esac
	done
}

tp_need_root() {
	[ "$(id -u)" = 0 ] || tp_die "needs root to $1; run it once as root: ./tp setup"
}

tp_install() { # package...
	local missing policy=/usr/sbin/policy-rc.d ours='' rc=0
	missing=$(tp_missing_packages "$@")
	[ -n "$missing" ] || return 0
	command -v apt-get >/dev/null || tp_die "these packages are missing and there is no apt-get: $missing"
	tp_need_root "install packages: $missing"
	tp_say "installing: $missing"
	# tshark asks about capture privileges otherwise
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q update >"$TP_CACHE/apt.log" 2>&1 ||
		tp_die "apt-get update failed (no network?); see $TP_CACHE/apt.log; still missing: $missing"
	# Servers among them are started by who needs them, not by their packages.
	[ -e "$policy" ] || { printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy" && ours=yes; }
	# Another apt-get, such as that of unattended upgrades, may be at work: it ends.
	# shellcheck disable=SC2086
	apt-get -qy -o DPkg::Lock::Timeout=600 install --no-install-recommends $missing >>"$TP_CACHE/apt.log" 2>&1 || rc=$?
	[ -z "$ours" ] || rm "$policy"
	[ "$rc" = 0 ] || tp_die "apt-get install failed; see $TP_CACHE/apt.log; wanted: $missing"
}

# shellcheck disable=SC2086
tp_install_packages() { tp_install $TP_PACKAGES_BUILD $TP_PACKAGES_TEST; }

# Debian's libdpdk-dev lacks the driver headers; take them from the source package of the installed version.
tp_driver_headers() {
	local version dir
	dir=$TP_CACHE/dpdk-sdk
	if ! pkg-config --exists libdpdk; then
		tp_die "pkg-config does not find libdpdk; install libdpdk-dev or set PKG_CONFIG_PATH"
	fi
	version=$(pkg-config --modversion libdpdk)
	if [ -f "$(pkg-config --variable=includedir libdpdk)/ethdev_driver.h" ] ||
		[ -f "$(pkg-config --variable=includedir libdpdk)/dpdk/ethdev_driver.h" ]; then
		return 0
	fi
	[ "$(cat "$dir/version" 2>/dev/null)" = "$version" ] && return 0
	tp_say "fetching the driver headers of DPDK $version from Debian's source package"
	scripts/dpdk-sdk.sh "$dir" libdpdk-dev "$TP_CACHE/apt.log" ||
		tp_die "could not get DPDK's driver headers; see $TP_CACHE/apt.log"
	printf '%s\n' "$version" >"$dir/version"
}

tp_setup() {
	mkdir -p "$TP_CACHE" 2>/dev/null ||
		tp_die "$TP_CACHE cannot be made by $(id -un): run as $(stat -c %U "$(dirname "$TP_CACHE")"), or TP_CACHE=\$HOME/triplane-cache TP_BUILD=\$HOME/triplane-build ./tp ..."
	tp_install_packages
	tp_driver_headers
}

# Who may not write a build uses it as it is, if that is what the sources say: ninja looks and writes nothing.
tp_build_is_ours() { # build directory, targets
	local dir=$1 place=$1
	shift
	[ -e "$place" ] || place=$(dirname "$place")
	[ ! -w "$place" ] || return 0
	if [ -f "$dir/build.ninja" ] && ninja -C "$dir" -n "$@" 2>/dev/null | grep -q 'no work to do'; then return 1; fi
	tp_die "$place belongs to $(stat -c %U "$place") and has no build of these sources: run as $(stat -c %U "$place"), or TP_BUILD=\$HOME/triplane-build ./tp ..."
}

tp_meson() { # build directory, meson options
	local dir=$1
	shift
	if [ ! -f "$dir/build.ninja" ]; then
		meson setup "$dir" "$@" -Ddriver_sdk="$TP_CACHE/dpdk-sdk/include" >"$dir.log" 2>&1 ||
			{ tail -n 20 "$dir.log" >&2; tp_die "meson setup of $dir failed; see $dir.log"; }
	fi
}

tp_ninja() { # build directory, targets
	local dir=$1
	shift
	ninja -C "$dir" "$@" >"$dir.log" 2>&1 || { grep -v '^\[' "$dir.log" | tail -n 60 >&2; tp_die "build failed; see $dir.log"; }
}

tp_build() {
	tp_setup
	tp_build_is_ours "$TP_BUILD" || return 0
	tp_meson "$TP_BUILD" --buildtype=release
	tp_ninja "$TP_BUILD"
}

# What ./tp build leaves out: "benches", or "meson-test-prereq", the unit tests.
tp_build_also() {
	tp_build_is_ours "$TP_BUILD" "$1" || return 0
	tp_ninja "$TP_BUILD" "$1"
}

# The build with sanitizers, which unit tests and fuzzers share. Lines of a report need no more than their tables, and
# gold links their programs in half the time.
tp_meson_asan() {
	tp_setup
	CC="ccache clang-14" CC_LD=gold tp_meson "$TP_BUILD_ASAN" --buildtype=plain -Doptimization=1 \
		-Dc_args="-gline-tables-only -Xclang -fno-pch-timestamp" \
		-Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true
	grep -q fuzz_cmd "$TP_BUILD_ASAN/build.ninja" || meson configure "$TP_BUILD_ASAN" -Dfuzz=true
}

# clang notes in a precompiled header where it was made, and refuses it when that is gone. One out of ccache may be of a clone
# that was deleted: it is made anew, here.
tp_pch_here() { # build directory
	local f from
	for f in $(ninja -C "$1" -t targets all | sed -n 's/^\(.*\.pch\): .*/\1/p'); do
		ninja -C "$1" "$f" >/dev/null 2>&1 || continue
		from=$(grep -a -o -m1 '/[[:print:]]*/include/pch/dpdk\.h' "$1/$f" | head -n 1)
		[ -z "$from" ] || [ -e "$from" ] || { rm "$1/$f"; CCACHE_RECACHE=1 ninja -C "$1" "$f" >/dev/null 2>&1; }
	done
}

# What unit tests need, no more.
tp_build_asan() {
	tp_meson_asan
	tp_pch_here "$TP_BUILD_ASAN"
	tp_ninja "$TP_BUILD_ASAN" meson-test-prereq
}

# The programs, the libraries that they and others load, and what pkg-config says of them.
tp_print_env() {
	local apps=$TP_BUILD/apps
	cat <<ENV
export PATH="$apps:$apps/triplane-hca:$apps/triplane-fabric:$apps/inspect:$apps/check:$apps/replay:$apps/exporter:$apps/top:$apps/sockstat:$apps/pingpong:$apps/perf:$apps/tp_rping:$TP_BUILD/examples:\$PATH"
export LD_LIBRARY_PATH="$TP_BUILD/drivers/mlx4:$TP_BUILD/lib/so\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export PKG_CONFIG_PATH="$TP_BUILD/meson-uninstalled\${PKG_CONFIG_PATH:+:\$PKG_CONFIG_PATH}"
export TRIPLANE_PLUGIN=$TP_PLUGIN
ENV
}
