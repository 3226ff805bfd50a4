#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dpdk-sdk.sh DIR PACKAGE LOG: puts DPDK's driver headers into DIR/include, taken from the source package of the
# version of PACKAGE that is installed. With SDK_SUITE the headers are those of another Debian release, and its
# development package and libraries are unpacked into DIR/root as well, with pkg-config files that point there; when
# no source package can be had, TP_DPDK_GIT may name a git clone of DPDK whose release tags then serve.
set -euo pipefail
dir=$1 package=$2 log=$3
suite=${SDK_SUITE:-}
# shellcheck source=scripts/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"
headers="lib/ethdev/ethdev_driver.h lib/ethdev/ethdev_pci.h lib/ethdev/ethdev_vdev.h lib/ethdev/rte_tm_driver.h
	lib/ethdev/rte_flow_driver.h lib/eal/include/dev_driver.h	drivers/bus/pci/bus_pci_driver.h drivers/bus/vdev/bus_vdev_driver.h"

source_headers() { # version
	# shellcheck disable=SC2086
	deb_source_files "$dir" "dpdk=$1" "$suite" "$dir/src" $headers || return 1
	mkdir -p "$dir/include"
	# shellcheck disable=SC2086
	(cd "$dir/src" && cp $headers "$dir/include/") || return 1
	rm -rf "$dir/src"
}

# The driver headers of the tag of this version, or of the newest of its stable series (stable releases keep the ABI).
git_headers() { # upstream version
	local tag series h
	[ -n "${TP_DPDK_GIT:-}" ] || return 1
	series=$(printf '%s' "$1" | cut -d. -f1,2)
	tag=$(git --git-dir="$TP_DPDK_GIT" tag -l "v$1")
	[ -n "$tag" ] || tag=$(git --git-dir="$TP_DPDK_GIT" tag -l "v$series" "v$series.*" | grep -v rc | sort -V | tail -n 1)
	[ -n "$tag" ] || return 1
	printf 'headers of tag %s for version %s\n' "$tag" "$1"
	mkdir -p "$dir/include"
	for h in $headers; do
		git --git-dir="$TP_DPDK_GIT" show "$tag:$h" >"$dir/include/$(basename "$h")" || return 1
	done
}

# The libraries that libdpdk's pkg-config file names, and the buses that it leaves out.
wanted_packages() {
	local names
	names=$(sed -n 's/^Libs://p' "$dir/root/usr/lib/$arch/pkgconfig/libdpdk-libs.pc" | grep -o 'lrte_[a-z0-9_]*')
	deb_apt "$dir" apt-cache depends libdpdk-dev | sed -n 's/.*Depends: \(librte-.*\)/\1/p' |
		awk -v names="$names lrte_bus_vdev lrte_bus_pci lrte_mempool_ring" '
			BEGIN { n = split(names, a); for (i = 1; i <= n; i++) { sub(/^l/, "", a[i]); want[a[i]] = 1 } }
			{ s = $1; sub(/^lib/, "", s); gsub(/-/, "_", s); t = s; sub(/_?[0-9]+$/, "", t); if (t in want) print $1 }'
}

unpack() { # package...
	(cd "$dir/apt" && deb_apt "$dir" apt-get download "$@") || return 1
	local f
	for f in "$dir"/apt/*.deb; do
		dpkg-deb -x "$f" "$dir/root" || return 1
		rm -f "$f"
	done
}

other_release() {
	local pc
	arch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	rm -rf "$dir/root"
	deb_sources "$dir" deb "$suite" && deb_apt "$dir" apt-get update || return 1
	version=$(deb_apt "$dir" apt-cache show libdpdk-dev | sed -n 's/^Version: //p' | sed -n 1p)
	[ -n "$version" ] || { printf '%s has no libdpdk-dev\n' "$suite" >&2; return 1; }
	unpack "libdpdk-dev=$version" || return 1
	# shellcheck disable=SC2046
	unpack $(wanted_packages) || return 1
	for pc in "$dir/root/usr/lib/$arch/pkgconfig"/libdpdk*.pc; do
		sed -i -e "s|^prefix=.*|prefix=$dir/root/usr|" -e '/^Requires.private:.*/d' -e '/^Libs.private:.*/d' "$pc"
	done
	source_headers "$version" || git_headers "${version%%-*}" || return 1
	printf '%s\n' "$version" >"$dir/package-version"
}

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
rm -rf "$dir/include"
if [ -n "$suite" ]; then
	other_release >>"$log" 2>&1
else
	source_headers "${SDK_VERSION:-$(dpkg-query -W -f '${Version}' "$package")}" >>"$log" 2>&1
fi
