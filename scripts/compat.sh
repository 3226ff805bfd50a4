#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compiles and links the whole tree (without tests) against the DPDK of later Debian releases, unpacked into a folder:
# nothing is installed. Fetched once, offline afterwards. Prints one ok / not ok / skip line a release. Where TP_DPDK_GIT
# names a clone of DPDK, its newest release is built from source, the libraries alone that the tree needs, and tried, too.
# compat.sh [--list | --fetch | NAME...]: the releases' names; fetches them and builds nothing; or only these releases.
# What cannot be fetched is not tried again for an hour.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/common.sh

# DPDK series and the Debian release that has it
releases="24.11:trixie 25.11:forky"
newest=
if [ -n "${TP_DPDK_GIT:-}" ]; then
	newest=$(git --git-dir="$TP_DPDK_GIT" tag -l 'v[0-9][0-9].[0-9][0-9]' | sort -V | tail -n 1)
	newest=${newest#v}
	case " $releases" in
	*" $newest:"*) ;;
	*) releases="$releases${newest:+ $newest:git}" ;;
	esac
fi
names=$(for r in $releases; do printf 'dpdk-%s\n' "${r%%:*}"; done)
status=0
[ "${1:-}" != --list ] || { printf '%s\n' "$names"; exit; }
fetch_only=
[ "${1:-}" != --fetch ] || { fetch_only=yes; shift; }
wanted=${*:-$names}

fetched() { # folder
	local h
	[ -s "$1/package-version" ] || return 1
	# Public ones in some releases, and all of them where it was built here.
	for h in ethdev_driver.h rte_tm_driver.h rte_flow_driver.h; do
		[ -n "$(find "$1/include" "$1/root/usr/include" -name "$h" 2>/dev/null)" ] || return 1
	done
}

# A release that no Debian has: from the source of a tag, into the same places as packages are.
from_source() { # folder series
	local dir=$1 lib src=$1/src out=$1/build
	lib=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	dir=$(cd "$dir" && pwd)
	rm -rf "$src" "$out" "$dir/root" "$dir/include"
	mkdir -p "$src"
	git --git-dir="$TP_DPDK_GIT" archive "v$2" | tar -x -C "$src" || return 1
	# Debian's python3 has the modules that its build wants, whatever another one has.
	PATH=/usr/bin:$PATH meson setup "$out" "$src" --buildtype=plain -Doptimization=0 -Dtests=false -Dplatform=generic \
		-Denable_driver_sdk=true -Denable_libs=pdump -Denable_drivers=bus/pci,bus/vdev,mempool/ring -Ddisable_apps='*' \
		--prefix="$dir/root/usr" --libdir="$lib" || return 1
	PATH=/usr/bin:$PATH ninja -C "$out" install || return 1
	rm -rf "$src" "$out"
	printf '%s, built from source\n' "$2" >"$dir/package-version"
}

fetch() { # folder suite log series
	[ -z "$(find "$1/cannot" -mmin -60 2>/dev/null)" ] || return 1
	rm -f "$1/cannot"
	if [ "$2" = git ]; then
		from_source "$1" "$4" >>"$3" 2>&1 && return
	else
		SDK_SUITE=$2 scripts/dpdk-sdk.sh "$1" libdpdk-dev "$3" && return
	fi
	touch "$1/cannot"
	return 1
}

try() { # name folder
	local name=$1 dir=$2 build=$TP_CACHE/build-$1 arch pc
	arch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	pc=$dir/root/usr/lib/$arch/pkgconfig
	rm -rf "$build"
	# Libraries of a newer release want symbols of its C library: only our own undefined symbols are an error.
	# It is compiled and linked, not run: the least optimisation that folds its constants will do.
	PKG_CONFIG_PATH=$pc meson setup "$build" --buildtype=plain -Doptimization=1 -Db_ndebug=true -Dtests=false -Ddriver_sdk="$dir/include" \
		-Dc_link_args=-Wl,--allow-shlib-undefined >"$build.log" 2>&1 &&
		ninja -C "$build" >>"$build.log" 2>&1
}

for r in $releases; do
	series=${r%%:*} suite=${r##*:}
	name=dpdk-$series
	grep -qwF -- "$name" <<<"$wanted" || continue
	dir=$TP_CACHE/$name
	mkdir -p "$dir"
	if ! fetched "$dir" && ! fetch "$dir" "$suite" "$dir/fetch.log" "$series"; then
		[ -z "$fetch_only" ] || continue
		why=$(grep -E '^(E|Err)' "$dir/fetch.log" | tail -n 1 | cut -c1-160)
		printf 'skip compat-%s: its packages were never fetched and cannot be now: %s\n' "$name" \
			"${why:-see $dir/fetch.log}"
		continue
	fi
	[ -z "$fetch_only" ] || continue
	if try "$name" "$dir"; then
		printf 'ok compat-%s (%s)\n' "$name" "$(cat "$dir/package-version")"
	else
		printf 'not ok compat-%s: see %s\n' "$name" "$TP_CACHE/build-$name.log"
		grep -E 'error|undefined|ERROR' "$TP_CACHE/build-$name.log" | head -n 20
		status=1
	fi
done
exit $status
