#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compiles and links the whole tree (without tests) against the DPDK of later Debian releases, unpacked into a folder:
# nothing is installed. Fetched once, offline afterwards. Prints one ok / not ok / skip line a release. Where TP_DPDK_GIT names a git
# clone of DPDK, the newest release in it is built and tried, too, as dpdk-git.
# compat.sh [--list | --fetch | NAME...]: the releases' names; fetches them and builds nothing; or only these releases.
# What cannot be fetched is not tried again for an hour.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/common.sh

# DPDK series and the Debian release that has it
releases="24.11:trixie 25.11:forky"
newest=
[ -z "${TP_DPDK_GIT:-}" ] || newest=$(git --git-dir="$TP_DPDK_GIT" tag -l 'v[0-9]*' | grep -v rc | sort -V | tail -n 1)
[ -z "$newest" ] || releases="$releases git:$newest"
names=$(for r in $releases; do printf 'dpdk-%s\n' "${r%%:*}"; done)
status=0
[ "${1:-}" != --list ] || { printf '%s\n' "$names"; exit; }
fetch_only=
[ "${1:-}" != --fetch ] || { fetch_only=yes; shift; }
wanted=${*:-$names}

fetched() { # folder
	local h
	if [ "${1##*/}" = dpdk-git ]; then
		[ "$(cut -d' ' -f1 "$1/package-version" 2>/dev/null)" = "${newest#v}" ]
		return
	fi
	[ -s "$1/package-version" ] && [ -f "$1/include/ethdev_driver.h" ] || return 1
	# Public ones in some releases.
	for h in rte_tm_driver.h rte_flow_driver.h; do
		[ -f "$1/include/$h" ] || [ -f "$1/root/usr/include/dpdk/$h" ] || return 1
	done
}

fetch() { # folder suite log
	if [ "${1##*/}" = dpdk-git ]; then
		scripts/dpdk-git.sh "$1" "$2" >"$3" 2>&1
		return
	fi
	[ -z "$(find "$1/cannot" -mmin -60 2>/dev/null)" ] || [ -n "$newest" ] || return 1
	rm -f "$1/cannot"
	SDK_SUITE=$2 scripts/dpdk-sdk.sh "$1" libdpdk-dev "$3" && return
	touch "$1/cannot"
	return 1
}

try() { # name folder
	local name=$1 dir=$2 build=$TP_CACHE/build-$1 arch pc
	arch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	pc=$dir/root/usr/lib/$arch/pkgconfig
	rm -rf "$build"
	# Libraries of a newer release want symbols of its C library: only our own undefined symbols are an error.
	# It is compiled and linked, not run, so that there are no manual pages: the least optimisation that folds its constants will do.
	PKG_CONFIG_PATH=$pc meson setup "$build" --buildtype=plain -Doptimization=1 -Db_ndebug=true -Dtests=false -Dman=disabled -Ddriver_sdk="$dir/include" \
		-Dc_link_args=-Wl,--allow-shlib-undefined >"$build.log" 2>&1 &&
		ninja -C "$build" >>"$build.log" 2>&1
}

for r in $releases; do
	series=${r%%:*} suite=${r##*:}
	name=dpdk-$series
	grep -qwF -- "$name" <<<"$wanted" || continue
	dir=$TP_CACHE/$name
	mkdir -p "$dir"
	if ! fetched "$dir" && ! fetch "$dir" "$suite" "$dir/fetch.log"; then
		[ -z "$fetch_only" ] || continue
		why=$(grep -E '^(E|Err)|ERROR|FAILED' "$dir/fetch.log" | tail -n 1 | cut -c1-160)
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
